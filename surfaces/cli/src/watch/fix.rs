//! What `polyhaul watch --fix` tries, and what it achieved: small reads that are answered from memory, or another
//! allocator.
//!
//! `recorder/cure.c` of `polyhaul-watch` answers reads. `linux` runs the program again for each remedy, and `verify`
//! compares what it writes.

use crate::args::watch::WatchArgs;
use crate::watch::rule::RemedyRule;
use crate::{file, human};
use polyhaul::Result;
use polyhaul_watch::cure::{AsideReason, CuredFile};
use polyhaul_watch::report::Watched;
use polyhaul_watch::trace::{End, Seen, Wanted};
use polyhaul_watch::verdict::{WatchVerdict, is_allocator};
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Where systems have libraries, and the names of allocators with less contention than those of C libraries.
const FOLDERS: [&str; 6] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib", "/lib"];
const ALLOCATORS: [&str; 3] = ["libmimalloc.so.2", "libjemalloc.so.2", "libtcmalloc_minimal.so.4"];

/// A remedy that makes a program faster by less than this factor is not recommended.
const WORTH_FACTOR: f64 = 1.05;

/// What to try in a run.
#[derive(Clone, Debug, Default)]
pub struct Remedy {
    /// Paths of the files whose small reads are answered from memory.
    cured: Vec<String>,
    /// An allocator to preload.
    allocator: Option<PathBuf>,
}

impl Remedy {
    /// A request for a run with the remedy.
    pub fn request(&self, request: &Wanted) -> Wanted {
        Wanted { cured: self.cured.clone(), library: self.allocator.clone(), profile: false, ..request.clone() }
    }
}

/// The remedies for what was observed, each for a run.
pub fn remedies(watched: &Watched) -> Vec<Remedy> {
    let cured = small_reads(watched);
    let allocators = if needs_allocator(watched) { installed() } else { Vec::new() };
    let is_alone = allocators.is_empty() && !cured.is_empty();
    let without = is_alone.then(|| Remedy { cured: cured.clone(), allocator: None });
    let with = allocators.into_iter().map(|path| Remedy { cured: cured.clone(), allocator: Some(path) });
    without.into_iter().chain(with).collect()
}

fn small_reads(watched: &Watched) -> Vec<String> {
    let here = std::env::current_dir().unwrap_or_default();
    let rows = watched.files.iter().filter(|row| row.needs_cure());
    rows.map(|row| here.join(&row.file).to_string_lossy().into_owned()).collect()
}

/// Whether threads wait for a lock of the allocator.
fn needs_allocator(watched: &Watched) -> bool {
    matches!(&watched.verdict, WatchVerdict::Lock { function, .. } if is_allocator(function))
}

/// The allocators that are installed, without those that the program has already.
fn installed() -> Vec<PathBuf> {
    let preloaded = std::env::var("LD_PRELOAD").unwrap_or_default();
    let find = |name: &&str| FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists());
    ALLOCATORS.iter().filter(|name| !preloaded.contains(**name)).filter_map(find).collect()
}

/// The runs with remedies beside the first one.
#[derive(Serialize)]
pub struct Fixed {
    /// Seconds of the first run.
    seconds_before: f64,
    /// The fastest run.
    #[serde(flatten)]
    best: FixedRun,
    /// The other runs.
    tried: Vec<FixedRun>,
}

/// A run with a remedy.
#[derive(Serialize)]
pub struct FixedRun {
    /// Seconds of the run.
    seconds_after: f64,
    /// The allocator that was preloaded.
    allocator: Option<PathBuf>,
    /// Exit code or signal, if it is another one than that of the first run.
    other_end: Option<String>,
    /// What was answered, by file.
    files: Vec<CuredFile>,
    /// Files to verify that have another content than after the first run.
    changed: Vec<PathBuf>,
}

impl FixedRun {
    /// Compares a run with one without the remedy.
    pub fn new(before: &Watched, remedy: Remedy, after: Seen, changed: Vec<PathBuf>) -> FixedRun {
        let (end, is_other) = match after.end {
            End::Code(code) => (format!("exit code {code}"), before.exit_code != Some(code)),
            End::Signal(signal) => (format!("signal {signal}"), before.signal != Some(signal)),
        };
        FixedRun {
            seconds_after: after.run_ns as f64 / 1e9,
            allocator: remedy.allocator,
            other_end: is_other.then_some(end),
            files: after.cures,
            changed,
        }
    }

    /// Whether it did the same as the first run.
    fn is_right(&self) -> bool {
        self.other_end.is_none() && self.changed.is_empty()
    }
}

impl Fixed {
    /// Finds the fastest run that did the same as the first; `None` without runs.
    pub fn new(seconds_before: f64, mut runs: Vec<FixedRun>) -> Option<Fixed> {
        runs.sort_by(|left, right| {
            let by_seconds = left.seconds_after.total_cmp(&right.seconds_after);
            right.is_right().cmp(&left.is_right()).then(by_seconds)
        });
        let mut runs = runs.into_iter();
        let best = runs.next()?;
        Some(Fixed { seconds_before, best, tried: runs.collect() })
    }

    /// Whether the fastest run is worth it.
    fn is_better(&self) -> bool {
        self.seconds_before >= WORTH_FACTOR * self.best.seconds_after && self.best.is_right()
    }

    /// Whether a run wrote other bytes than the first one.
    pub fn is_changed(&self) -> bool {
        std::iter::once(&self.best).chain(&self.tried).any(|run| !run.changed.is_empty())
    }
}

/// Writes a rule for the best remedy. Returns a line for the report.
pub fn save(path: &Path, args: &WatchArgs, fixed: Option<&Fixed>) -> Result<String> {
    let program = args.command.first();
    let fixed = fixed.filter(|fixed| fixed.is_better());
    let Some((fixed, program)) = fixed.zip(program) else {
        return Ok(format!("{} was not written: no remedy helped\n", human::path(path)));
    };
    let best = &fixed.best;
    let answered = best.files.iter().filter(|file| file.answered > 0);
    let files = answered.map(|file| file.file.clone()).collect();
    let rule = RemedyRule::new(program, files, best.allocator.clone(), [fixed.seconds_before, best.seconds_after]);
    file::write(path, rule.text().as_bytes())?;
    Ok(format!("to keep it, use `polyhaul run --rule {}`\n", human::path(path)))
}

/// Formats the comparison; `None` if nothing was tried.
pub fn text(watched: &Watched, fixed: Option<&Fixed>) -> String {
    match fixed {
        Some(fixed) => comparison(fixed),
        None if needs_allocator(watched) => {
            format!("\nnothing to try: none of {} is installed\n", ALLOCATORS.join(", "))
        }
        None => "\nnothing to fix: no files read in many small calls, and no waits for an allocator\n".into(),
    }
}

fn comparison(fixed: &Fixed) -> String {
    let before = fixed.seconds_before;
    let after = fixed.best.seconds_after;
    let factor = before / after.max(1e-9);
    let [before, after] = [before, after].map(human::seconds);
    let with = fixed.best.allocator.as_deref().map_or_else(String::new, |path| format!(" with {}", file_name(path)));
    let is_better = fixed.is_better();
    let mut text = if is_better {
        format!("\nfixed: {after} instead of {before}, {factor:.1}× faster{with} (both recorded)\n")
    } else if fixed.best.is_right() {
        format!("\nno improvement: {after} instead of {before}{with} (both recorded)\n")
    } else {
        format!("\nnot fixed: {after} instead of {before}{with} (both recorded), but the runs differ\n")
    };
    if let Some(path) = fixed.best.allocator.as_deref().filter(|_| is_better) {
        let _ = writeln!(text, "  to keep it, set LD_PRELOAD={}", human::safe(&path.to_string_lossy()));
    }
    text.push_str(&details(&fixed.best));
    for run in &fixed.tried {
        let name = run.allocator.as_deref().map_or_else(String::new, file_name);
        let _ = writeln!(text, "  {name}: {}", human::seconds(run.seconds_after));
        text.push_str(&details(run));
    }
    text
}

fn file_name(path: &Path) -> String {
    human::safe(&path.file_name().unwrap_or_default().to_string_lossy())
}

/// What differs in a run, and what was answered.
fn details(run: &FixedRun) -> String {
    let mut text = String::new();
    if let Some(end) = &run.other_end {
        let _ = writeln!(text, "  the run ended differently: {end}");
    }
    for path in &run.changed {
        let _ = writeln!(text, "  {} differs from the first run", human::safe(&path.to_string_lossy()));
    }
    for CuredFile { file, answered, bytes, asides } in &run.files {
        let calls = human::plural(*answered, "read or seek").replace("read or seeks", "reads and seeks");
        let moved = human::bytes(*bytes);
        let _ = writeln!(text, "  {}: {calls} ({moved}) answered from memory", human::safe(file));
        for aside in asides {
            let times = if aside.times > 1 { format!(" ({} times)", human::count(aside.times)) } else { String::new() };
            let _ = writeln!(text, "    stopped{times}: {}", reason(aside.reason));
        }
    }
    text
}

fn reason(reason: AsideReason) -> &'static str {
    match reason {
        AsideReason::Shared => "another process may use its position",
        AsideReason::Written => "it is also opened for writing",
        AsideReason::Changed => "another program changed it",
        AsideReason::Controlled => "a call needs its position in the kernel",
        AsideReason::FileSystem => "its file system may change it without a call",
        AsideReason::Crowded => "over 32 files are read at a time",
        AsideReason::Unseen => "the program can make calls that are not seen",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_watch::cure::Aside;

    fn with(allocator: &str, seconds_after: f64, changed: &[&str]) -> FixedRun {
        let allocator = Some(PathBuf::from("/usr/lib").join(allocator));
        let changed = changed.iter().map(PathBuf::from).collect();
        FixedRun { seconds_after, allocator, other_end: None, files: Vec::new(), changed }
    }

    #[test]
    fn the_fastest_run_that_does_the_same_is_recommended() {
        let runs = vec![with("a.so", 0.05, &["out.bin"]), with("b.so", 0.2, &[]), with("c.so", 0.1, &[])];
        let fixed = Fixed::new(0.5, runs).unwrap();
        let expected = "\nfixed: 0.10 s instead of 0.50 s, 5.0× faster with c.so (both recorded)\n  \
                        to keep it, set LD_PRELOAD=/usr/lib/c.so\n  b.so: 0.20 s\n  a.so: 50.0 ms\n  \
                        out.bin differs from the first run\n";
        assert!(comparison(&fixed) == expected && fixed.is_changed(), "{}", comparison(&fixed));
        let mut slower = with("a.so", 0.49, &[]);
        slower.other_end = Some("signal 11".into());
        let fixed = Fixed::new(0.5, vec![slower]).unwrap();
        let expected = "\nnot fixed: 0.49 s instead of 0.50 s with a.so (both recorded), but the runs differ\n  \
                        the run ended differently: signal 11\n";
        assert!(comparison(&fixed) == expected && !fixed.is_changed(), "{}", comparison(&fixed));
        assert!(Fixed::new(0.5, Vec::new()).is_none());
    }

    #[test]
    fn both_runs_are_told() {
        let asides =
            vec![Aside { reason: AsideReason::Shared, times: 2 }, Aside { reason: AsideReason::Written, times: 1 }];
        let file = CuredFile { file: "part.tga".into(), answered: 786_419, bytes: 786_432, asides };
        let other_end = None;
        let best = FixedRun { seconds_after: 0.03, allocator: None, other_end, files: vec![file], changed: Vec::new() };
        let fixed = Fixed { seconds_before: 0.3, best, tried: Vec::new() };
        let expected = "\nfixed: 30.0 ms instead of 0.30 s, 10.0× faster (both recorded)\n  \
                        part.tga: 786,419 reads and seeks (786.4 kB) answered from memory\n    \
                        stopped (2 times): another process may use its position\n    \
                        stopped: it is also opened for writing\n";
        assert_eq!(comparison(&fixed), expected);
    }
}
