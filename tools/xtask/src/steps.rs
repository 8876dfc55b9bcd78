//! Steps of `cargo xtask test` and parts of `cargo xtask nightly`: runs them, counts tests, and prints the final table.
//!
//! Steps run sequentially and continue after a failure, so that one run shows all failures. A step whose tool is
//! missing is skipped with a note. The last line is the sum of all tests: `N passed, N failed, N skipped`.

use crate::term;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Number of tests by outcome.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

/// Test results so far.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) totals: Totals,
    /// Names of failed tests for the summary, since their output may be thousands of lines up.
    pub(crate) failures: Vec<String>,
}

/// Outcome of a step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ok,
    Failed,
    /// Skipped for this reason.
    Skipped(String),
}

impl Outcome {
    /// Converts the success of a command.
    pub(crate) fn of(is_ok: bool) -> Outcome {
        if is_ok { Outcome::Ok } else { Outcome::Failed }
    }

    /// Runs the next step if this one did not fail.
    pub(crate) fn and(self, next: impl FnOnce() -> Outcome) -> Outcome {
        if self == Outcome::Failed { self } else { next() }
    }

    /// Text in the table.
    fn text(&self) -> String {
        match self {
            Outcome::Ok => "ok".into(),
            Outcome::Failed => "FAILED".into(),
            Outcome::Skipped(reason) => format!("skipped: {reason}"),
        }
    }
}

/// A line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
    pub(crate) elapsed: Duration,
    /// CPU seconds of this process and its children, or `None` if the system does not report them.
    pub(crate) cpu_seconds: Option<f64>,
    /// Whether the results come from the cache.
    pub(crate) is_remembered: bool,
}

/// Results of the steps so far.
#[derive(Default)]
pub(crate) struct Run {
    pub(crate) rows: Vec<Row>,
    pub(crate) tally: Tally,
}

/// Runs a single step.
pub(crate) fn single(name: &str, step: impl FnOnce(&mut Tally) -> Outcome) -> ExitCode {
    let mut run = Run::default();
    run.step(name, step);
    run.finish()
}

impl Run {
    /// Runs a step under its heading and adds its line to the table; returns the line.
    pub(crate) fn step(&mut self, name: &str, body: impl FnOnce(&mut Tally) -> Outcome) -> &Row {
        term::out(format!("\n== {name}\n"));
        let start = Instant::now();
        let cpu_start = cpu_seconds();
        let outcome = body(&mut self.tally);
        if outcome != Outcome::Ok {
            term::out(format!("{name}: {}\n", outcome.text()));
        }
        let cpu_seconds = cpu_start.zip(cpu_seconds()).map(|(start, end)| end - start);
        let row = Row { name: name.into(), outcome, elapsed: start.elapsed(), cpu_seconds, is_remembered: false };
        self.rows.push(row);
        &self.rows[self.rows.len() - 1]
    }

    /// Prints the table, then the sum of all tests as the last line.
    pub(crate) fn finish(&self) -> ExitCode {
        term::out(format!("\n== summary\n{}", table(&self.rows)));
        // nextest lists a failed test twice.
        for name in self.tally.failures.iter().collect::<BTreeSet<_>>() {
            term::out(format!("failed: {name}\n"));
        }
        let Totals { passed, failed, skipped } = self.tally.totals;
        term::out(format!("{passed} passed, {failed} failed, {skipped} skipped\n"));
        let has_failed_step = self.rows.iter().any(|row| row.outcome == Outcome::Failed);
        if has_failed_step || failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// Formats one line per step: name, seconds, CPU seconds, outcome. The last line is their sum.
fn table(rows: &[Row]) -> String {
    let line = |name: &str, elapsed: Duration, cpu_seconds: Option<f64>, text: &str| {
        let cpu = cpu_seconds.map_or_else(|| "-".into(), |seconds| format!("{seconds:.1}"));
        let columns = format!("{name:<28} {:>7.1} s {cpu:>7} CPU-s  {text}", elapsed.as_secs_f64());
        format!("{}\n", columns.trim_end())
    };
    let mut text: String = rows
        .iter()
        .map(|row| {
            let note = if row.is_remembered { " (remembered: its inputs are unchanged)" } else { "" };
            line(&row.name, row.elapsed, row.cpu_seconds, &format!("{}{note}", row.outcome.text()))
        })
        .collect();
    let ran = || rows.iter().filter(|row| !row.is_remembered);
    if ran().count() > 1 {
        text.push_str(&line("sum", ran().map(|row| row.elapsed).sum(), ran().map(|row| row.cpu_seconds).sum(), ""));
    }
    text
}

/// Returns the CPU seconds of this process and of the children it has waited for.
pub(crate) fn cpu_seconds() -> Option<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The program name in parentheses may contain spaces, and is field 2. utime, stime, cutime and cstime are fields 14
    // to 17 (man 5 proc_pid_stat).
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks: Vec<f64> = fields.split(' ').skip(11).take(4).filter_map(|field| field.parse().ok()).collect();
    (ticks.len() == 4).then(|| ticks.iter().sum::<f64>() / TICKS_PER_SECOND)
}

/// The stream on which a program reports its progress.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Output,
    Error,
}

/// Runs `cargo test` and adds up the reported results.
pub(crate) fn counted(command: &mut Command, tally: &mut Tally) -> Outcome {
    counted_from(Stream::Output, command, tally)
}

/// Runs `cargo test` or `cargo nextest run`, which reports on `stream`, and adds up the results.
pub(crate) fn counted_from(stream: Stream, command: &mut Command, tally: &mut Tally) -> Outcome {
    let mut sum = Totals::default();
    let is_ok = each_line(stream, command, |line| {
        sum.add(parse_result(line).or_else(|| parse_nextest_summary(line)).unwrap_or_default());
        tally.failures.extend(parse_failure(line).or_else(|| parse_nextest_failure(line)));
    });
    // A binary that failed to build or was killed reports no results: count it as one failure.
    sum.failed = sum.failed.max(u64::from(!is_ok));
    tally.totals.add(sum);
    Outcome::of(is_ok)
}

/// Runs `command`, forwards one of its output streams and calls `show` with each line; returns whether it succeeded.
pub(crate) fn each_line(stream: Stream, command: &mut Command, mut show: impl FnMut(&str)) -> bool {
    match stream {
        Stream::Output => command.stdout(Stdio::piped()),
        Stream::Error => command.stderr(Stdio::piped()),
    };
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    let output = child.stdout.take().map(|output| Box::new(output) as Box<dyn Read>);
    let output = output.or_else(|| child.stderr.take().map(|output| Box::new(output) as Box<dyn Read>));
    for line in output.into_iter().flat_map(|output| BufReader::new(output).split(b'\n')).map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        term::out(format!("{line}\n"));
        show(&line);
    }
    child.wait().is_ok_and(|status| status.success())
}

impl Totals {
    pub(crate) fn add(&mut self, other: Totals) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// Subtracts `earlier`.
    pub(crate) fn since(self, earlier: Totals) -> Totals {
        Totals {
            passed: self.passed - earlier.passed,
            failed: self.failed - earlier.failed,
            skipped: self.skipped - earlier.skipped,
        }
    }
}

/// Parses the name in a line `test parse::tests::empty ... FAILED`.
pub(crate) fn parse_failure(line: &str) -> Option<String> {
    Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.into())
}

/// Parses a line `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
pub(crate) fn parse_result(line: &str) -> Option<Totals> {
    let (_, counts) = line.strip_prefix("test result:")?.split_once(". ")?;
    let count = |word: &str| {
        let part = counts.split(';').map(str::trim).find_map(|part| part.strip_suffix(word))?;
        part.trim().parse().ok()
    };
    Some(Totals { passed: count("passed")?, failed: count("failed")?, skipped: count("ignored")? })
}

/// Parses nextest's last line: `Summary [ 5.0s] 4 tests run: 2 passed (1 slow), 1 failed, 1 timed out, 3 skipped`.
fn parse_nextest_summary(line: &str) -> Option<Totals> {
    let (_, counts) = line.trim_start().strip_prefix("Summary [")?.split_once(" run: ")?;
    let mut sum = Totals::default();
    for part in counts.split(", ") {
        let (count, word) = part.split_once(' ')?;
        let count: u64 = count.parse().ok()?;
        // Some words are followed by details such as `(1 slow, 1 flaky)`.
        match word.split(" (").next()? {
            "passed" => sum.passed += count,
            "failed" | "exec failed" | "timed out" => sum.failed += count,
            "skipped" => sum.skipped += count,
            _ => {}
        }
    }
    Some(sum)
}

/// Parses the name in nextest's `FAIL [ 0.005s] (3/9) polyhaul::all ply::text::empty`; the count may be missing.
fn parse_nextest_failure(line: &str) -> Option<String> {
    let (status, rest) = line.trim_start().split_once(" [")?;
    let is_failure = matches!(status, "FAIL" | "TIMEOUT") || status.starts_with("SIG") || status.starts_with("ABORT");
    let (_, name) = rest.split_once("] ").filter(|_| is_failure)?;
    let name = name.trim_start();
    let name = name.strip_prefix('(').and_then(|rest| rest.split_once(") ")).map_or(name, |(_, name)| name);
    Some(name.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_test_binaries_are_read() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s";
        assert_eq!(parse_result(line), Some(Totals { passed: 12, failed: 3, skipped: 1 }));
        assert_eq!(parse_result("test tidy::tests::ok ... ok"), None);
        assert_eq!(parse_failure("test a::b ... FAILED"), Some("a::b".into()));
        assert_eq!(parse_failure("test a::b ... ok"), None);
        assert_eq!(parse_result("test result: something else. 1 passed"), None);
    }
    #[test]
    fn results_of_nextest_are_read() {
        let sum = |passed, failed, skipped| Some(Totals { passed, failed, skipped });
        assert_eq!(parse_nextest_summary("     Summary [   5.0s] 3 tests run: 3 passed, 0 skipped"), sum(3, 0, 0));
        let line =
            "     Summary [  61.2s] 9/12 tests run: 5 passed (1 slow, 1 flaky), 3 failed, 1 timed out, 4 skipped";
        assert_eq!(parse_nextest_summary(line), sum(5, 4, 4));
        assert_eq!(parse_nextest_summary("test result: ok. 3 passed"), None);
        let name = Some("polyhaul::all ply::empty".into());
        assert_eq!(parse_nextest_failure("        FAIL [   0.005s] (3/14) polyhaul::all ply::empty"), name);
        assert_eq!(parse_nextest_failure("     SIGKILL [   0.005s] polyhaul::all ply::empty"), name);
        assert_eq!(parse_nextest_failure("        PASS [   0.005s] polyhaul::all ply::empty"), None);
    }

    #[test]
    fn the_table_has_a_line_for_each_step() {
        let row = |name: &str, outcome, millis, cpu_seconds, is_remembered| Row {
            name: name.into(),
            outcome,
            elapsed: Duration::from_millis(millis),
            cpu_seconds,
            is_remembered,
        };
        let rows = [
            row("tests", Outcome::Ok, 1540, Some(2.5), false),
            row("clippy", Outcome::Skipped("not installed".into()), 0, Some(0.0), false),
            row("docs", Outcome::Ok, 9000, None, true),
        ];
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = table(&rows).lines().map(words).collect();
        let expected = [
            "tests 1.5 s 2.5 CPU-s ok",
            "clippy 0.0 s 0.0 CPU-s skipped: not installed",
            "docs 9.0 s - CPU-s ok (remembered: its inputs are unchanged)",
            "sum 1.5 s 2.5 CPU-s",
        ];
        assert_eq!(lines, expected);
    }
}
