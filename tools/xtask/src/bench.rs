//! `cargo xtask bench`: compares polyhaul with other readers and writers, and with the limits of the machine.
//!
//! Every contestant is a separate process, so that peak memory is measured per contestant; the contestants alternate in
//! rounds, so that a slow moment of the machine affects all of them. The measured programs are in `tools/bench`, a
//! separate workspace; the measurements are listed in `tools/bench/plan.toml`, which [`plan`] reads. See [`build`] and
//! [`python`] for building, [`runs`] for the rounds, [`sweeps`] for sweeps, [`record`] for the record, [`machine`] for
//! the machine. Exits with 0 unless a measurement could not run.

mod build;
mod images;
mod machine;
mod plan;
mod python;
mod record;
mod runs;
mod sweeps;

use crate::{root, term, usage_error};
use plan::{PLAN, Part, Place};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Size of the large inputs in records.
const MEGABYTES: u64 = 300;
/// Default number of runs of each contestant.
const ROUNDS: usize = 5;

/// Values of `--level`.
const LEVELS: [&str; 4] = ["portable", "vector", "avx2", "avx512"];

/// Command line options.
#[derive(Debug)]
struct Options {
    /// Whether to only print the README's tables.
    readme: bool,
    /// Parts to measure, in order.
    parts: Vec<&'static Part>,
    megabytes: u64,
    rounds: usize,
    /// Folder of inputs and outputs.
    data: Option<PathBuf>,
    /// Folder of the record.
    record: Option<PathBuf>,
    install_peers: bool,
    /// Folder of prebuilt peer programs.
    programs: Option<PathBuf>,
    /// Earlier build of `bench-obj`, measured in alternation with the current build.
    before: Option<PathBuf>,
    /// Instruction set that polyhaul is limited to.
    level: Option<String>,
}

/// Measures, or prints the README's tables from the latest records.
pub(crate) fn main(args: &[&str]) -> ExitCode {
    let Some(options) = parse(args) else {
        return usage_error();
    };
    let result = if options.readme {
        record::readme(&record_folder(&options)).map(|table| {
            term::out(table);
            true
        })
    } else {
        measure(&options)
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            term::err(format!("bench: {message}\n"));
            ExitCode::FAILURE
        }
    }
}

fn parse(args: &[&str]) -> Option<Options> {
    let mut options = Options {
        readme: false,
        parts: Vec::new(),
        megabytes: MEGABYTES,
        rounds: ROUNDS,
        data: None,
        record: None,
        install_peers: false,
        programs: None,
        before: None,
        level: None,
    };
    let mut without = Vec::new();
    let mut rest = args.iter();
    while let Some(&arg) = rest.next() {
        match arg {
            "--readme" => options.readme = true,
            "--without" => without.push(plan::part(rest.next()?)?),
            "--programs" => options.programs = Some(std::path::absolute(rest.next()?).ok()?),
            "--before" => options.before = Some(std::path::absolute(rest.next()?).ok()?),
            "--level" => options.level = Some(rest.next().filter(|level| LEVELS.contains(level))?.to_string()),
            "--install-peers" => options.install_peers = true,
            "--size" => options.megabytes = rest.next()?.parse().ok().filter(|&size| size > 0)?,
            "--rounds" => options.rounds = rest.next()?.parse().ok().filter(|&count| count > 0)?,
            "--data" => options.data = Some(std::path::absolute(rest.next()?).ok()?),
            "--record" => options.record = Some(std::path::absolute(rest.next()?).ok()?),
            name => options.parts.push(plan::part(name)?),
        }
    }
    options.parts = chosen(&options.parts, &without);
    Some(options)
}

/// Returns the parts in `only`, or all parts if it is empty, except the parts in `without`, in the order of the plan.
fn chosen(only: &[&Part], without: &[&Part]) -> Vec<&'static Part> {
    let has = |parts: &[&Part], part: &Part| parts.iter().any(|other| other.name == part.name);
    let is_chosen = |part: &&Part| (only.is_empty() || has(only, part)) && !has(without, part);
    PLAN.part.iter().filter(is_chosen).collect()
}

/// Suffix of a record's file name, which lists its parts unless it has all of them.
fn suffix(parts: &[&Part]) -> String {
    let has_all = parts.len() == PLAN.part.len();
    parts.iter().filter(|_| !has_all).map(|part| format!("-{}", part.name)).collect()
}

fn data_folder(options: &Options) -> PathBuf {
    let default = || root::root().join("target").join("bench-data");
    options.data.clone().unwrap_or_else(default)
}

/// Returns the folder of the record: inside the folder of the data for trials that are smaller or shorter than records
/// require.
fn record_folder(options: &Options) -> PathBuf {
    let trial = options.megabytes != MEGABYTES || options.rounds < ROUNDS;
    let default = || if trial { data_folder(options).join("record") } else { root::root().join("tools/bench/record") };
    options.record.clone().unwrap_or_else(default)
}

/// Measures, prints and records. Returns `false` if a contestant failed.
fn measure(options: &Options) -> Result<bool, String> {
    let data = data_folder(options);
    make_folder(&data.join("out"))?;
    let mut tools = build::tools(&options.parts, options.install_peers, options.programs.as_deref())?;
    if let Some(level) = &options.level {
        tools.prefix.splice(0..0, ["env".into(), format!("POLYHAUL_BENCH_LEVEL={level}").into()]);
    }
    let place = Place { tools: &tools, data: &data, megabytes: options.megabytes, before: options.before.as_deref() };
    let mut outcomes = Vec::new();
    let mut kernels = Vec::new();
    let mut pictures = Vec::new();
    let mut sweeps = Vec::new();
    for part in &options.parts {
        match part.name.as_str() {
            "images" => pictures = images::run(part, &place, options.rounds)?,
            "sweeps" => sweeps = sweeps::run(&place)?,
            _ => kernels.extend(runs::kernels(part, &place, options.rounds)?),
        }
        for group in place.groups(part)? {
            outcomes.push(runs::run(group, options.rounds)?);
        }
    }
    let record = record::Record {
        machine: machine::Machine::this(&tools),
        rounds: options.rounds,
        notes: tools.notes,
        peers: tools.peers,
        outcomes,
        kernels,
        pictures,
        sweeps,
    };
    keep(&record, options)?;
    let failed = |row: &runs::Row| row.failure.is_some();
    Ok(!record.outcomes.iter().flat_map(|outcome| &outcome.rows).any(failed))
}

/// Writes the files of a record, and prints it.
fn keep(record: &record::Record, options: &Options) -> Result<(), String> {
    let folder = record_folder(options);
    make_folder(&folder)?;
    let level = options.level.iter().map(|level| format!("-{level}")).collect::<String>();
    let name = record.name(&(suffix(&options.parts) + &level));
    let text = record.markdown();
    write(&folder.join(format!("{name}.md")), &text)?;
    write(&folder.join(format!("{name}.json")), &record.json())?;
    for sweep in &record.sweeps {
        write(&folder.join(format!("{name}-{}.svg", sweep.key)), &sweep.chart)?;
    }
    term::out(format!("\n{text}\nrecord: {}\n", folder.join(name).display()));
    Ok(())
}

fn make_folder(path: &Path) -> Result<(), String> {
    std::fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let options = parse(&[]).unwrap();
        assert_eq!((options.megabytes, options.rounds), (MEGABYTES, ROUNDS));
        assert_eq!(options.parts.len(), PLAN.part.len());
        assert!(record_folder(&options).ends_with("tools/bench/record"));
        let options = parse(&["numbers", "--rounds", "2"]).unwrap();
        assert_eq!((options.parts.len(), options.parts[0].name.as_str(), options.rounds), (1, "numbers", 2));
        assert!(record_folder(&options).ends_with("bench-data/record"));
        assert!(parse(&["--install-peers"]).unwrap().install_peers);
        for wrong in [&["--size"][..], &["--size", "0"], &["--rounds", "x"], &["y"], &["--without", "y"]] {
            assert!(parse(wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn parts_are_chosen_and_left_out() {
        let named = |names: &[&str]| names.iter().map(|name| plan::part(name).unwrap()).collect::<Vec<_>>();
        assert_eq!(chosen(&[], &[]).len(), PLAN.part.len());
        let two = chosen(&named(&["numbers", "obj"]), &[]);
        assert_eq!(two.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), ["obj", "numbers"]);
        assert_eq!(suffix(&two), "-obj-numbers");
        assert_eq!(chosen(&[], &named(&["blender"])).len(), PLAN.part.len() - 1);
        assert_eq!(suffix(&chosen(&[], &[])), "");
        assert!(plan::part("gzip").is_some() && plan::part("zip").is_none());
    }

    #[test]
    fn benchmarks_are_built_as_what_is_shipped() {
        let profile = |manifest: &str, name: &str| -> Vec<String> {
            let text = std::fs::read_to_string(root::root().join(manifest)).unwrap();
            let lines = text.lines().skip_while(|line| *line != name);
            let section = lines.skip(1).take_while(|line| !line.starts_with('['));
            let keys =
                section.filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("inherits"));
            keys.map(String::from).collect()
        };
        let shipped = profile("Cargo.toml", "[profile.dist]");
        assert!(!shipped.is_empty());
        assert_eq!(shipped, profile("tools/bench/Cargo.toml", "[profile.release]"));
    }
}
