//! `polyhaul limits`: shows the maximum rates of this machine and one of its disks.
//!
//! The library measures and stores the figures (`polyhaul::measure`). This module formats them, and measures again if
//! the machine is busy; figures of a busy machine are not stored without `--force`.

use crate::args::limits::LimitsArgs;
use crate::exit::{DONE, FAILED};
use crate::progress::Bar;
use crate::session::{JsonTo, Session};
use crate::{console, human};
use polyhaul::measure;
use polyhaul::report::Ceilings;
use polyhaul::{Report, Result};
use serde::Serialize;
use std::time::SystemTime;

/// Age in days above which to advise measuring again.
const OLD_DAYS: u64 = 90;

/// The figures to show.
struct LimitsShown {
    ceilings: Ceilings,
    /// Whether the figures were just measured rather than loaded.
    is_new: bool,
    /// The reason for not storing the figures.
    not_kept: Option<String>,
}

/// Maximum number of measurements on a busy machine.
const ATTEMPTS: usize = 2;

/// Shows the stored figures, or measures them.
pub fn run(session: &Session, args: &LimitsArgs) -> u8 {
    if args.forget {
        return forget(session, args);
    }
    let mut report = Report::default();
    match look_or_measure(session, args, &mut report) {
        Ok(shown) => {
            if !session.everywhere.json && !console::result(&table(&shown)) {
                return FAILED;
            }
            session.show_work(&report);
            let details = LimitsDetails::new(args, &shown);
            session.finish("limits", Some(details), &report, (DONE, None), JsonTo::Stdout)
        }
        Err(error) => session.fail("limits", &error, JsonTo::Stdout),
    }
}

fn look_or_measure(session: &Session, args: &LimitsArgs, report: &mut Report) -> Result<LimitsShown> {
    if let Some(ceilings) = measure::kept(&args.folder).filter(|_| !args.again) {
        return Ok(LimitsShown { ceilings, is_new: false, not_kept: None });
    }
    // Signals wait for the running step, so that no file is left behind.
    let _hold = session.signals().hold()?;
    let bar = Bar::figures("measuring".into(), !session.everywhere.quiet && !session.everywhere.no_progress);
    let cancel = session.signals().cancel();
    let options = args.options().with_cancel(cancel).with_progress(bar.callback());
    let measured = report.phase("measure", || settled(args.force, || measure::ceilings(&args.folder, &options)));
    let ceilings = measured?;
    report.threads = ceilings.cores;
    drop(bar);
    // The figures are worth showing even if they cannot be stored.
    let not_kept = match refusal(&ceilings, args.force) {
        Some(why) => Some(why),
        None => match measure::keep(&ceilings) {
            Ok(Some(_)) => None,
            Ok(None) => Some("no cache folder is set in the environment".to_owned()),
            Err(error) => Some(error.to_string()),
        },
    };
    Ok(LimitsShown { ceilings, is_new: true, not_kept })
}

/// Measures up to [`ATTEMPTS`] times until the machine is quiet, and returns the figures with the least other load.
fn settled(force: bool, mut measure: impl FnMut() -> Result<Ceilings>) -> Result<Ceilings> {
    let mut best = measure()?;
    for _ in 1..ATTEMPTS {
        if force || best.is_quiet() {
            break;
        }
        let next = measure()?;
        if next.other_load < best.other_load {
            best = next;
        }
    }
    if !best.is_quiet() {
        best.notes.push(format!("other programs used {} during the measurement", load(&best)));
    }
    Ok(best)
}

/// The reason not to store the figures: later jobs would be compared with a busy machine.
fn refusal(ceilings: &Ceilings, force: bool) -> Option<String> {
    let is_refused = !force && !ceilings.is_quiet();
    is_refused.then(|| "the machine was busy; run again when it is idle, or use `--force`".to_owned())
}

/// The load of other programs: `0.9 of 2 cores`.
fn load(ceilings: &Ceilings) -> String {
    format!("{:.1} of {}", ceilings.other_load, human::plural(ceilings.cores as u64, "core"))
}

/// Removes the stored figures.
fn forget(session: &Session, args: &LimitsArgs) -> u8 {
    let forgotten = match measure::forget(&args.folder) {
        Ok(forgotten) => forgotten,
        Err(error) => return session.fail("limits", &error, JsonTo::Stdout),
    };
    let words = if forgotten { "deleted\n" } else { "no saved figures for this machine and disk\n" };
    if !session.everywhere.json && !console::result(words) {
        return FAILED;
    }
    let details = serde_json::json!({ "folder": args.folder.display().to_string(), "forgotten": forgotten });
    session.finish("limits", Some(details), &Report::default(), (DONE, None), JsonTo::Stdout)
}

/// Whole days since the measurement.
fn age_days(ceilings: &Ceilings) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    now.saturating_sub(ceilings.measured_unix_s) / 86_400
}

/// Formats the table for people.
fn table(shown: &LimitsShown) -> String {
    let LimitsShown { ceilings, is_new, not_kept } = shown;
    let date = human::day(ceilings.measured_unix_s);
    let age = age_days(ceilings);
    let when = match (is_new, age) {
        (true, _) => "now".to_owned(),
        (false, 0) => "less than a day ago".to_owned(),
        (false, age) => format!("{} ago", human::plural(age, "day")),
    };
    let mut text = format!("machine   {}\n", human::safe(&ceilings.machine));
    text.push_str(&format!("disk      {}\nmeasured  {date}, {when}\n", human::safe(&ceilings.disk)));
    for (head, rows) in groups(ceilings) {
        text.push_str(&format!("\n{head}\n"));
        for (name, value) in rows {
            text.push_str(&format!("  {name:<26}{value:>14}\n"));
        }
    }
    let old = (age > OLD_DAYS).then(|| "these figures are old; use `--again` to measure again".to_owned());
    let not_kept = not_kept.as_ref().map(|why| format!("not saved: {why}"));
    for (index, note) in ceilings.notes.iter().chain(&old).chain(&not_kept).enumerate() {
        text.push_str(if index == 0 { "\n" } else { "" });
        text.push_str(&format!("note: {}\n", human::safe(note)));
    }
    text
}

/// The rows under each heading.
fn groups(ceilings: &Ceilings) -> [(&'static str, Vec<(String, String)>); 5] {
    let row = |name: &str, value: String| (name.to_owned(), value);
    let cold = ceilings.cold_read.map_or("-".to_owned(), rate);
    let disk = vec![
        row("cold read, all cores", cold),
        row("cached read, one core", rate(ceilings.cached_read)),
        row("cached read, all cores", rate(ceilings.cached_read_all)),
        row("write", rate(ceilings.write)),
        row("write and sync", rate(ceilings.write_sync)),
        row("3-byte read", format!("{:.0} ns", ceilings.small_read_ns)),
    ];
    let sizes = ceilings.writes.iter().flat_map(|size| {
        let of = human::bytes(size.bytes);
        [(format!("write {of}"), rate(size.write)), (format!("write and sync {of}"), rate(size.write_sync))]
    });
    let memory = vec![row("copy", rate(ceilings.copy)), row("fresh memory", rate(ceilings.fresh_memory))];
    let cores = vec![
        row("usable", ceilings.cores.to_string()),
        row("in parallel", format!("{:.2}", ceilings.cores_side_by_side)),
    ];
    let kernels = ceilings.kernels.iter().map(|kernel| (kernel.name.clone(), rate(kernel.rate)));
    [
        ("disk", disk),
        ("files by size", sizes.collect()),
        ("memory, one core", memory),
        ("cores", cores),
        ("parsing, writing and codecs, one core", kernels.collect()),
    ]
}

fn rate(bytes_per_second: f64) -> String {
    human::rate(bytes_per_second.round() as u64, 1.0)
}

/// The additional fields for `--json`.
#[derive(Serialize)]
struct LimitsDetails {
    folder: String,
    machine: String,
    disk: String,
    measured_unix_s: u64,
    age_days: u64,
    /// Whether this run measured the figures.
    is_new: bool,
    /// Whether the figures are stored for later runs.
    is_kept: bool,
    cores: usize,
    cores_side_by_side: f64,
    /// Cores used by other programs during the measurement.
    other_load: f64,
    small_read_ns: f64,
    bytes_per_second: Rates,
    writes: Vec<LimitsSize>,
    kernels: Vec<LimitsNamed>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Rates {
    cold_read: Option<f64>,
    cached_read: f64,
    cached_read_all: f64,
    write: f64,
    write_sync: f64,
    copy: f64,
    fresh_memory: f64,
}

/// Rates of writing files of one size.
#[derive(Serialize)]
struct LimitsSize {
    bytes: u64,
    write_bytes_per_second: f64,
    write_sync_bytes_per_second: f64,
}

#[derive(Serialize)]
struct LimitsNamed {
    name: String,
    bytes_per_second: f64,
}

impl LimitsDetails {
    fn new(args: &LimitsArgs, shown: &LimitsShown) -> LimitsDetails {
        let LimitsShown { ceilings, is_new, not_kept } = shown;
        let size = |size: &polyhaul::report::Written| LimitsSize {
            bytes: size.bytes,
            write_bytes_per_second: size.write,
            write_sync_bytes_per_second: size.write_sync,
        };
        let named = |kernel: &polyhaul::report::Kernel| LimitsNamed {
            name: kernel.name.clone(),
            bytes_per_second: kernel.rate,
        };
        LimitsDetails {
            folder: args.folder.display().to_string(),
            machine: ceilings.machine.clone(),
            disk: ceilings.disk.clone(),
            measured_unix_s: ceilings.measured_unix_s,
            age_days: age_days(ceilings),
            is_new: *is_new,
            is_kept: not_kept.is_none(),
            cores: ceilings.cores,
            cores_side_by_side: ceilings.cores_side_by_side,
            other_load: ceilings.other_load,
            small_read_ns: ceilings.small_read_ns,
            bytes_per_second: Rates {
                cold_read: ceilings.cold_read,
                cached_read: ceilings.cached_read,
                cached_read_all: ceilings.cached_read_all,
                write: ceilings.write,
                write_sync: ceilings.write_sync,
                copy: ceilings.copy,
                fresh_memory: ceilings.fresh_memory,
            },
            writes: ceilings.writes.iter().map(size).collect(),
            kernels: ceilings.kernels.iter().map(named).collect(),
            notes: ceilings.notes.iter().chain(not_kept).cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of a machine with two cores and this load by other programs.
    fn beside(other_load: f64) -> Ceilings {
        let mut ceilings = Ceilings::default();
        ceilings.cores = 2;
        ceilings.other_load = other_load;
        ceilings
    }

    /// The figures that are used, and the number of attempts.
    fn attempts(loads: &[f64], force: bool) -> (Ceilings, usize) {
        let mut count = 0;
        let measure = || {
            count += 1;
            Ok(beside(loads[count - 1]))
        };
        (settled(force, measure).unwrap(), count)
    }

    #[test]
    fn a_busy_machine_is_measured_again_and_its_figures_are_not_saved() {
        let (quiet, count) = attempts(&[0.1], false);
        assert_eq!((count, refusal(&quiet, false), quiet.notes.len()), (1, None, 0));
        let (later, count) = attempts(&[0.9, 0.05], false);
        assert_eq!((count, later.other_load, refusal(&later, false)), (2, 0.05, None));
        let (busy, count) = attempts(&[0.9, 1.2], false);
        assert_eq!(
            (count, busy.other_load, &*busy.notes),
            (2, 0.9, &["other programs used 0.9 of 2 cores during the measurement".to_owned()][..])
        );
        assert!(refusal(&busy, false).unwrap().contains("--force"));
        // With --force there is only one attempt, and the note is kept.
        let (forced, count) = attempts(&[0.9], true);
        assert_eq!((count, refusal(&forced, true), forced.notes.len()), (1, None, 1));
        assert_eq!(
            settled(false, || Err(polyhaul::Error::cancelled())).unwrap_err().kind(),
            polyhaul::ErrorKind::Cancelled
        );
    }

    #[test]
    fn old_figures_and_those_that_are_not_kept_are_noted() {
        let shown = |measured_unix_s, not_kept: Option<&str>| {
            let mut ceilings = Ceilings::default();
            ceilings.measured_unix_s = measured_unix_s;
            ceilings.cached_read = 8.5e9;
            table(&LimitsShown { ceilings, is_new: false, not_kept: not_kept.map(Into::into) })
        };
        let old = shown(86_400, None);
        assert!(
            old.contains("measured  1970-01-02, ") && old.contains("note: these figures are old; use `--again`"),
            "{old}"
        );
        assert!(old.contains("  cached read, one core         8,500 MB/s\n"), "{old}");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        let new = shown(now, Some("no room"));
        assert!(new.contains("less than a day ago") && !new.contains("are old"), "{new}");
        assert!(new.ends_with("\nnote: not saved: no room\n"), "{new}");
    }
}
