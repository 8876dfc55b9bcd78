//! Runs all contestants in rounds, each at most once per round; keeps all results.

use super::plan::{Contestant, Group, Part, Place};
use crate::term;
use serde::de::DeserializeOwned;
use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// Number of unmeasured runs of a group's limits before its first round.
const WARM_UPS: usize = 4;

/// Time limit of a measurement: a contestant that exceeds it is killed and drops out. Some peers have hung.
const LONGEST: Duration = Duration::from_secs(240);
/// Polling interval for running processes.
const LOOK: Duration = Duration::from_millis(20);

/// A measurement, as reported by its process.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct Sample {
    pub(super) seconds: f64,
    pub(super) cpu_seconds: f64,
    /// Bytes written, or size of the input file, if reported.
    pub(super) bytes: Option<u64>,
    pub(super) peak_rss_bytes: u64,
    pub(super) positions: Option<u64>,
    pub(super) faces: Option<u64>,
    /// Part of the peak memory that does not depend on work in flight, if reported: the arrays of the model, and the
    /// process before the work.
    pub(super) base_bytes: Option<u64>,
    /// Whether the written data equals the input.
    pub(super) identical: Option<bool>,
}

/// Results of a contestant.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) samples: Vec<Sample>,
    /// Reason for dropping out.
    pub(super) failure: Option<String>,
}

/// Results of a group.
#[derive(Serialize)]
pub(super) struct Outcome {
    #[serde(flatten)]
    pub(super) group: Group,
    pub(super) rows: Vec<Row>,
}

/// Result of a number kernel.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Kernel {
    pub(super) group: String,
    pub(super) name: String,
    /// Nanoseconds per value, record or kilobyte: minimum and median of all rounds.
    pub(super) ns: f64,
    pub(super) median_ns: f64,
    /// `yes`, `no`, or `other` for a kernel with a different job.
    pub(super) agrees: String,
}

impl Kernel {
    /// Restores the spaces in names, which are printed as underscores.
    fn spaced(self) -> Kernel {
        let [group, name, agrees] = [self.group, self.name, self.agrees].map(|text| text.replace('_', " "));
        Kernel { group, name, agrees, ..self }
    }
}

impl Row {
    pub(super) fn least_seconds(&self) -> Option<f64> {
        self.samples.iter().map(|sample| sample.seconds).reduce(f64::min)
    }

    pub(super) fn median_seconds(&self) -> Option<f64> {
        median(self.samples.iter().map(|sample| sample.seconds))
    }

    /// Returns the 90th percentile: 9 of 10 rounds were at most this slow.
    pub(super) fn late_seconds(&self) -> Option<f64> {
        let mut seconds: Vec<f64> = self.samples.iter().map(|sample| sample.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        seconds.get((9 * seconds.len()).div_ceil(10).saturating_sub(1)).copied()
    }

    pub(super) fn least_cpu_seconds(&self) -> Option<f64> {
        self.samples.iter().map(|sample| sample.cpu_seconds).reduce(f64::min)
    }

    /// Returns the maximum of all rounds.
    pub(super) fn peak_bytes(&self) -> Option<u64> {
        self.samples.iter().map(|sample| sample.peak_rss_bytes).max()
    }

    /// Returns the maximum of peak memory minus [`Sample::base_bytes`].
    pub(super) fn extra_bytes(&self) -> Option<u64> {
        let above = |sample: &Sample| Some(sample.peak_rss_bytes.saturating_sub(sample.base_bytes?));
        self.samples.iter().filter_map(above).max()
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Row", 5)?;
        fields.serialize_field("name", self.name)?;
        fields.serialize_field("failure", &self.failure)?;
        fields.serialize_field("least_seconds", &self.least_seconds())?;
        fields.serialize_field("median_seconds", &self.median_seconds())?;
        fields.serialize_field("samples", &self.samples)?;
        fields.end()
    }
}

impl Outcome {
    pub(super) fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Returns the minimum time of a contestant.
    pub(super) fn seconds(&self, name: &str) -> Option<f64> {
        self.row(name)?.least_seconds()
    }

    /// Returns the data rate in bytes of the input per second.
    pub(super) fn rate(&self, row: &Row) -> Option<f64> {
        Some(self.group.input.bytes as f64 / row.least_seconds()?)
    }
}

/// Runs all rounds of a group. A contestant that fails is skipped in later rounds.
pub(super) fn run(group: Group, rounds: usize) -> Result<Outcome, String> {
    warm(&group);
    let new_row = |contestant: &Contestant| Row { name: contestant.name, ..Row::default() };
    let mut rows: Vec<Row> = group.contestants.iter().map(new_row).collect();
    let mut residents: Vec<Option<Resident>> = group.contestants.iter().map(|_| None).collect();
    for round in 0..rounds {
        term::out(format!("{}: round {} of {rounds}\n", group.key, round + 1));
        let mut turns: Vec<_> = group.contestants.iter().zip(&mut rows).zip(&mut residents).collect();
        // Alternate the order: after a contestant that frees much memory, the next one may wait for the host to return
        // it. The same program took 0.14 s or 0.33 s for 300 MB depending only on its position.
        if round % 2 == 1 {
            turns.reverse();
        }
        for ((contestant, row), resident) in turns {
            if row.failure.is_some() || round >= contestant.rounds {
                continue;
            }
            let result =
                if contestant.resident { Resident::measure(resident, contestant) } else { measure(contestant) };
            match result {
                Ok(sample) => row.samples.push(sample),
                Err(why) => {
                    term::err(format!("{}: {}: {why}\n", group.key, row.name));
                    row.failure = Some(why);
                }
            }
        }
    }
    Ok(Outcome { group, rows })
}

/// Runs the limits without keeping results, to load the input into the page cache and to let a virtual machine get its
/// memory back from its host, which slows down first runs. Failures will show up in the measured rounds.
fn warm(group: &Group) {
    for _ in 0..WARM_UPS {
        for contestant in group.contestants.iter().filter(|contestant| contestant.name.starts_with("limit")) {
            let _ = measure(contestant);
        }
    }
}

/// A process that keeps its data loaded, and measures once for each input line.
struct Resident {
    child: Child,
    /// Dropped to end the process.
    orders: Option<ChildStdin>,
    /// Lines of its output.
    results: Receiver<String>,
}

impl Resident {
    /// Measures a round, starting the process in the first round. Excludes loading the data, and counts the second of
    /// two consecutive runs: a virtual machine returns unused memory to its host, and the first use of it afterwards is
    /// slow (a plain write took 0.06 s or 0.8 s, depending on the previous contestant).
    fn measure(resident: &mut Option<Resident>, contestant: &Contestant) -> Result<Sample, String> {
        let mut held = match resident.take() {
            Some(held) => held,
            None => Resident::start(contestant).map_err(|error| error.to_string())?,
        };
        held.round(LONGEST)?;
        let sample = held.round(LONGEST)?;
        *resident = Some(held);
        Ok(sample)
    }

    fn start(contestant: &Contestant) -> std::io::Result<Resident> {
        let mut command = program(contestant);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let orders = child.stdin.take();
        let output = child.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
        let (sender, results) = channel();
        spawn(move || BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Ok(Resident { child, orders, results })
    }

    fn round(&mut self, longest: Duration) -> Result<Sample, String> {
        if let Some(orders) = &mut self.orders {
            orders.write_all(b"again\n").map_err(|error| error.to_string())?;
        }
        let end = Instant::now() + longest;
        loop {
            let line = match self.results.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => line,
                Err(_) => return Err(self.silent(longest)),
            };
            if let Some(sample) = line.strip_prefix("bench ").and_then(fields) {
                return Ok(sample);
            }
            if let Some(why) = line.strip_prefix("failed ") {
                return Err(why.trim().into());
            }
        }
    }

    /// Explains the missing output, and kills the process if it still runs.
    fn silent(&mut self, longest: Duration) -> String {
        match status(&mut self.child, LOOK) {
            Ok(Some(_)) => "it ended without a result".into(),
            Ok(None) => too_long(longest),
            Err(error) => error.to_string(),
        }
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        self.orders = None;
        let _ = status(&mut self.child, LONGEST);
    }
}

/// Waits for a process; kills it after `longest` and returns `None`.
fn status(child: &mut Child, longest: Duration) -> std::io::Result<Option<ExitStatus>> {
    let end = Instant::now() + longest;
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(Some(status)),
            None if Instant::now() >= end => break,
            None => sleep(LOOK),
        }
    }
    child.kill()?;
    child.wait().map(|_| None)
}

fn too_long(longest: Duration) -> String {
    format!("it took longer than {} s", longest.as_secs_f32())
}

/// Creates the command of a contestant.
fn program(contestant: &Contestant) -> Command {
    let mut command = Command::new(&contestant.command[0]);
    command.args(&contestant.command[1..]);
    command
}

fn measure(contestant: &Contestant) -> Result<Sample, String> {
    measure_within(contestant, LONGEST)
}

fn measure_within(contestant: &Contestant, longest: Duration) -> Result<Sample, String> {
    let mut command = program(contestant);
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| error.to_string())?;
    let output = all_of(child.stdout.take());
    let errors = all_of(child.stderr.take());
    let Some(status) = status(&mut child, longest).map_err(|error| error.to_string())? else {
        return Err(too_long(longest));
    };
    if !status.success() {
        let text = errors.recv().unwrap_or_default();
        let last = text.lines().rfind(|line| !line.trim().is_empty());
        return Err(last.map_or_else(|| status.to_string(), String::from));
    }
    let text = output.recv().unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("bench "));
    line.and_then(fields).ok_or("it printed no result".into())
}

/// Reads a pipe to its end on another thread.
fn all_of(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, text) = channel();
    spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        sender.send(String::from_utf8_lossy(&bytes).into_owned())
    });
    text
}

/// Deserializes a line of `name=value` pairs.
pub(super) fn fields<T: DeserializeOwned>(line: &str) -> Option<T> {
    let value = |name: &str, text: &str| match name {
        "identical" => (text == "1").into(),
        _ => text.parse::<serde_json::Number>().map_or_else(|_| text.into(), Value::Number),
    };
    let pairs = line.split_whitespace().filter_map(|word| word.split_once('='));
    let object: Map<_, _> = pairs.map(|(name, text)| (name.to_owned(), value(name, text))).collect();
    serde_json::from_value(object.into()).ok()
}

/// Returns the median, or the larger of two middle values. Returns `None` without values.
pub(super) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Returns the output of a program, or an error if it fails.
pub(super) fn output(words: &[OsString]) -> Result<String, String> {
    let (program, args) = words.split_first().ok_or("a program is not here")?;
    let output = Command::new(program).args(args).output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// Compares the kernels of a part in one process.
pub(super) fn kernels(part: &Part, place: &Place, rounds: usize) -> Result<Vec<Kernel>, String> {
    let Some(command) = &part.kernels else { return Ok(Vec::new()) };
    let rounds = rounds * part.turns;
    let words = place.fill(command, &[])?.unwrap_or_default();
    term::out(format!("{}: {rounds} rounds\n", part.name));
    let text = output(&[&place.tools.prefix[..], &words, &[rounds.to_string().into()]].concat())?;
    Ok(text.lines().filter_map(kernel).collect())
}

fn kernel(line: &str) -> Option<Kernel> {
    fields(line.strip_prefix("numbers ")?).map(Kernel::spaced)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Fabricates a row of measurements.
    pub(crate) fn row(name: &'static str, seconds: &[f64], peak: u64, base: u64) -> Row {
        let sample = |&seconds: &f64| Sample {
            seconds,
            cpu_seconds: seconds,
            peak_rss_bytes: peak,
            positions: Some(4),
            faces: Some(1),
            bytes: Some(1000),
            base_bytes: Some(base),
            identical: Some(true),
        };
        Row { name, samples: seconds.iter().map(sample).collect(), failure: None }
    }

    #[test]
    fn a_line_of_results_is_read() {
        let line = "bench seconds=0.25 cpu_seconds=0.5 peak_rss_bytes=4096 bytes=10 faces=3";
        let sample: Sample = fields(line).unwrap();
        assert_eq!((sample.seconds, sample.cpu_seconds), (0.25, 0.5));
        assert_eq!((sample.faces, sample.positions, sample.identical), (Some(3), None, None));
        assert_eq!(fields::<Sample>("bench seconds=0.25"), None);
        let line = "numbers group=a_b name=c_d ns=1.5 median_ns=2 agrees=yes";
        assert_eq!(kernel(line).unwrap().name, "c d");
    }

    #[test]
    #[cfg(unix)]
    fn a_resident_is_started_once_and_the_second_of_two_runs_counts() {
        let script = "i=0; while read line; do i=$((i+1)); echo talk; echo bench seconds=$i cpu_seconds=0 \
                      peak_rss_bytes=1; done";
        let mut group = super::super::plan::tests::group("k");
        group.contestants = vec![resident(script), resident("read line; echo failed other bytes"), resident("true")];
        let outcome = run(group, 3).unwrap();
        assert_eq!(outcome.rows[0].samples.iter().map(|s| s.seconds).collect::<Vec<_>>(), [2.0, 4.0, 6.0]);
        assert_eq!(outcome.rows[1].failure.as_deref(), Some("other bytes"));
        assert!(outcome.rows[2].failure.is_some());
    }

    #[test]
    #[cfg(unix)]
    fn who_takes_too_long_is_ended() {
        let longest = Duration::from_millis(50);
        let error = measure_within(&resident("echo some; sleep 1000"), longest).unwrap_err();
        assert_eq!(error, "it took longer than 0.05 s");
        let error = measure_within(&resident("echo some; echo why >&2; exit 3"), LONGEST).unwrap_err();
        assert_eq!(error, "why");
        let mut held = Resident::start(&resident("read line; exec sleep 1000")).unwrap();
        assert_eq!(held.round(longest).unwrap_err(), "it took longer than 0.05 s");
        assert!(held.child.try_wait().unwrap().is_some());
    }

    #[cfg(unix)]
    fn resident(script: &str) -> Contestant {
        let command = ["sh", "-c", script].map(Into::into).to_vec();
        Contestant { name: "a", command, resident: true, rounds: usize::MAX }
    }

    #[test]
    fn rows_have_percentiles_and_memory() {
        let three = row("a", &[3.0, 1.0, 2.0], 100, 60);
        assert_eq!((three.least_seconds(), three.median_seconds()), (Some(1.0), Some(2.0)));
        assert_eq!(three.extra_bytes(), Some(40));
        assert_eq!((Row::default().median_seconds(), Row::default().late_seconds()), (None, None));
        let late = |rounds: u32| row("a", &(1..=rounds).map(f64::from).collect::<Vec<_>>(), 100, 60).late_seconds();
        assert_eq!([1, 5, 10, 20].map(late), [Some(1.0), Some(5.0), Some(9.0), Some(18.0)]);
    }
}
