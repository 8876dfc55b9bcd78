//! Converts every good file to every format and back: differences must be expected for the pair, and cause a warning.

use super::refused;
use polyhaul::diff::Difference;
use polyhaul::options::{Digits, Limits, RunOptions, SceneWriteOptions};
use polyhaul::{Format, Input, ReadOptions, Report, WriteOptions};
use polyhaul_testkit::corpus::{Folder, Sample, samples};
use polyhaul_testkit::losses::faults;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Scene and table formats. A new format must be added to `losses` in the test kit.
const FORMATS: [&str; 16] = [
    "obj",
    "ply",
    "stl",
    "pbrt",
    "csv",
    "tsv",
    "txt",
    "xyz",
    "pts",
    "npy",
    "off",
    "glb",
    "spz",
    "splat",
    "compressed.ply",
    "sog",
];
/// Larger files take longer and reveal no more.
const MAX_BYTES: u64 = 20_000;

/// Outcomes of the conversions of a pair.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    exact: u32,
    warned: u32,
    silent: u32,
    refused: u32,
}

/// Losses and warnings of a conversion; `None` if it was rejected.
pub type Done = Option<(Vec<Difference>, Report)>;

/// A file to convert.
struct Source {
    name: String,
    bytes: Vec<u8>,
    open: Box<dyn Fn() -> Input>,
}

impl Source {
    fn new(name: &str, bytes: Vec<u8>, open: impl Fn() -> Input + 'static) -> Source {
        Source { name: name.into(), bytes, open: Box::new(open) }
    }
}

impl Tally {
    /// Counts a conversion with its number of faults.
    pub fn count(&mut self, converted: &Done, faults: usize) {
        *match converted {
            None => &mut self.refused,
            _ if faults > 0 => &mut self.silent,
            Some((differences, report)) if differences.is_empty() && report.warnings.is_empty() => &mut self.exact,
            Some(_) => &mut self.warned,
        } += 1;
    }
}

/// Number of mutated files made from each file.
pub fn mutants() -> u64 {
    std::env::var("POLYHAUL_MUTANTS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

fn run_options() -> RunOptions {
    RunOptions::default().with_threads(Some(1))
}

pub fn reading() -> ReadOptions {
    let limits = Limits::default().with_elements(1 << 20).with_pixels(1 << 20);
    ReadOptions::default().with_run(run_options()).with_allow_outside(true).with_limits(limits)
}

fn writing(to: Format) -> WriteOptions {
    WriteOptions::default()
        .with_format(Some(to))
        .with_run(run_options())
        .with_scene(SceneWriteOptions::default().with_digits(Some(Digits::Shortest)))
}

/// Converts a file and compares; `None` if it cannot be read or converted.
pub fn convert_and_compare(source: &dyn Fn() -> Input, to: Format, folder: &Folder) -> Done {
    for name in folder.names() {
        let _ = std::fs::remove_file(folder.join(&name));
    }
    let target = folder.join(&format!("out.{}", to.name()));
    let report = polyhaul::Reader::new(source())
        .options(&reading())
        .convert(polyhaul::Writer::new(&target).options(&writing(to)))
        .ok()?;
    match polyhaul::diff(source(), Input::Path(target), &reading(), 0.0) {
        Ok(comparison) => Some((comparison.differences, report)),
        // A file that cannot be read as a scene may still be a table.
        Err(_) if polyhaul::diff(source(), source(), &reading(), 0.0).is_err() => None,
        Err(_) if polyhaul::Reader::new(source()).options(&reading()).scene().is_err() => None,
        Err(error) => {
            let message = format!("what was written cannot be read or compared: {error}");
            Some((vec![Difference { what: "file", message, count: 1, largest: None, place: None }], report))
        }
    }
}

fn all_samples(from: &str) -> Vec<Sample> {
    if from == "compressed.ply" {
        // These are PLY files, whose elements are tables; they are compared as scenes elsewhere.
        return Vec::new();
    }
    let folder = if ["csv", "tsv", "txt", "xyz", "pts", "npy"].contains(&from) { "table" } else { from };
    // Files with embedded images can only be compared by path.
    let files = ["good", "inside"].into_iter().flat_map(|part| samples(&format!("{folder}/{part}"), from));
    files.filter(|sample| sample.size <= MAX_BYTES).collect()
}

/// Whether a good file cannot be converted to its own format: SOG is read-only, parts of scenes are not scenes, and
/// missing values are rejected.
fn is_refused(name: &str) -> bool {
    const PARTS: [&str; 5] = ["01_included", "08_worldend", "geometry/", "missing.tsv", ".sog"];
    PARTS.iter().any(|part| name.contains(part))
}

/// Pseudorandom numbers from a seed.
pub fn next(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize
}

/// Changes a few bytes, mostly to characters of numbers and names.
fn mutated(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut seed = seed;
    if bytes.is_empty() {
        return bytes;
    }
    for _ in 0..1 + next(&mut seed) % 3 {
        let at = next(&mut seed) % bytes.len();
        let new = b"0123456789-.e# \n,\t\"=\0abxyzrgb"[next(&mut seed) % 29];
        match next(&mut seed) % 3 {
            0 => bytes.insert(at, new),
            1 if bytes.len() > 1 => drop(bytes.remove(at)),
            _ => bytes[at] = new,
        }
    }
    bytes
}

/// Writes a line for each pair of formats, and the total.
pub fn write_tallies(file: &str, [from_names, to_names]: [&[&str]; 2], tallies: &BTreeMap<(usize, usize), Tally>) {
    let mut text = String::from("from to: exact warned silent refused\n");
    let mut sum = Tally::default();
    for ((from, to), tally) in tallies {
        let Tally { exact, warned, silent, refused } = tally;
        let _ = writeln!(text, "{} {}: {exact} {warned} {silent} {refused}", from_names[*from], to_names[*to]);
        sum.exact += exact;
        sum.warned += warned;
        sum.silent += silent;
        sum.refused += refused;
    }
    let Tally { exact, warned, silent, refused } = sum;
    let _ = writeln!(text, "all: {exact} carry everything, {warned} warn, {silent} lose in silence, {refused} refused");
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(file), text).unwrap();
}

/// Asserts that no faults were found.
#[track_caller]
pub fn none_wrong(wrong: &[String]) {
    let first = wrong.iter().take(400).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} losses in silence:\n{first}", wrong.len());
}

#[test]
fn no_conversion_loses_in_silence() {
    let folder = Folder::new("losses").unwrap();
    let mut tallies = BTreeMap::<(usize, usize), Tally>::new();
    let mut wrong = Vec::new();
    for (from_number, from) in FORMATS.into_iter().enumerate() {
        for sample in all_samples(from) {
            let bytes = sample.bytes();
            let path = sample.path.clone();
            let mut sources = vec![Source::new(&sample.name, bytes.clone(), move || Input::Path(path.clone()))];
            for seed in 0..mutants() {
                let changed = mutated(&bytes, seed + sample.size);
                let name = format!("{} mutated by {}", sample.name, seed + sample.size);
                let input_name = format!("x.{from}");
                let shared = changed.clone();
                sources.push(Source::new(&name, changed, move || Input::Memory(shared.clone(), input_name.clone())));
            }
            for (number, Source { name, bytes, open }) in sources.iter().enumerate() {
                for (to_number, to) in FORMATS.into_iter().enumerate() {
                    let compared = convert_and_compare(open, Format::named(to).unwrap(), &folder);
                    let path = folder.join(&format!("out.{to}"));
                    if number == 0 && from == to && compared.is_none() && !is_refused(name) {
                        wrong.push(format!("{name} is not read, or not written again"));
                    }
                    let faults = compared
                        .as_ref()
                        .map(|(differences, report)| {
                            let refused = refused::faults(from, to, bytes, &path, report);
                            [faults(from, to, differences, report), refused].concat()
                        })
                        .unwrap_or_default();
                    if number == 0 {
                        tallies.entry((from_number, to_number)).or_default().count(&compared, faults.len());
                    }
                    wrong.extend(faults.into_iter().map(|fault| format!("{name} to {to}: {fault}")));
                }
            }
        }
    }
    write_tallies("losses.txt", [&FORMATS, &FORMATS], &tallies);
    none_wrong(&wrong);
}
