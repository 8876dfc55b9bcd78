//! Rounds: every contestant once, then every contestant again; what each left is kept.

use super::build::Tools;
use super::plan::{Contestant, Group};
use crate::term;
use std::process::Command;

/// Unmeasured runs of a group's limits before its first round.
const WARM_UPS: usize = 4;

/// One measurement, as its process told it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sample {
    pub(super) seconds: f64,
    pub(super) cpu_seconds: f64,
    pub(super) bytes: u64,
    pub(super) peak_rss_bytes: u64,
    pub(super) positions: Option<u64>,
    pub(super) faces: Option<u64>,
    /// The bytes of the model's arrays, where the contestant can tell.
    pub(super) model_bytes: Option<u64>,
    /// Whether what was written is what had been read.
    pub(super) identical: Option<bool>,
}

/// A contestant's results.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) samples: Vec<Sample>,
    /// Why it dropped out.
    pub(super) failure: Option<String>,
}

/// A group's results.
pub(super) struct Outcome {
    pub(super) group: Group,
    pub(super) rows: Vec<Row>,
}

/// A number kernel's result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kernel {
    pub(super) group: String,
    pub(super) name: String,
    /// Nanoseconds per value: the least and the median of all rounds.
    pub(super) ns: f64,
    pub(super) median_ns: f64,
    /// `yes`, `no`, or `other` where it does another job.
    pub(super) agrees: String,
}

impl Row {
    pub(super) fn least_seconds(&self) -> Option<f64> {
        self.samples.iter().map(|sample| sample.seconds).reduce(f64::min)
    }

    pub(super) fn median_seconds(&self) -> Option<f64> {
        let mut seconds: Vec<f64> = self.samples.iter().map(|sample| sample.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        seconds.get(seconds.len() / 2).copied()
    }

    pub(super) fn least_cpu_seconds(&self) -> Option<f64> {
        self.samples.iter().map(|sample| sample.cpu_seconds).reduce(f64::min)
    }

    /// The most of all rounds, and so for the next.
    pub(super) fn peak_bytes(&self) -> Option<u64> {
        self.samples.iter().map(|sample| sample.peak_rss_bytes).max()
    }

    /// Peak memory without the model's own arrays.
    pub(super) fn extra_bytes(&self) -> Option<u64> {
        let above = |sample: &Sample| match sample.model_bytes {
            Some(model) if model > 0 => Some(sample.peak_rss_bytes.saturating_sub(model)),
            _ => None,
        };
        self.samples.iter().filter_map(above).max()
    }

    /// Bytes per second.
    pub(super) fn rate(&self) -> Option<f64> {
        Some(self.samples.first()?.bytes as f64 / self.least_seconds()?)
    }
}

impl Outcome {
    pub(super) fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// The least time of a contestant.
    pub(super) fn seconds(&self, name: &str) -> Option<f64> {
        self.row(name)?.least_seconds()
    }
}

/// Runs all rounds of a group. A contestant that fails takes no part in later rounds.
pub(super) fn run(group: Group, rounds: usize) -> Result<Outcome, String> {
    warm(&group)?;
    let new_row = |contestant: &Contestant| Row { name: contestant.name, ..Row::default() };
    let mut rows: Vec<Row> = group.contestants.iter().map(new_row).collect();
    for round in 1..=rounds {
        term::out(format!("{}: round {round} of {rounds}\n", group.key));
        for (contestant, row) in group.contestants.iter().zip(&mut rows) {
            if row.failure.is_some() {
                continue;
            }
            match measure(contestant) {
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

/// Runs the limits without keeping their results: the input gets into the page cache, and a virtual
/// machine gets its memory back from its host, which made first runs up to ten times as slow.
fn warm(group: &Group) -> Result<(), String> {
    for _ in 0..WARM_UPS {
        for contestant in group.contestants.iter().filter(|contestant| contestant.name.starts_with("limit")) {
            measure(contestant)?;
        }
    }
    Ok(())
}

fn measure(contestant: &Contestant) -> Result<Sample, String> {
    let mut command = Command::new(&contestant.command[0]);
    command.args(&contestant.command[1..]);
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text.lines().rfind(|line| !line.trim().is_empty());
        return Err(last.map_or_else(|| output.status.to_string(), String::from));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.starts_with("bench "));
    line.and_then(sample).ok_or("it printed no result".into())
}

/// The value of `name=value` in a line of such pairs.
pub(super) fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let pairs = line.split_whitespace().filter_map(|word| word.split_once('='));
    pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

fn sample(line: &str) -> Option<Sample> {
    let number = |name| field(line, name)?.parse::<f64>().ok();
    let count = |name| field(line, name)?.parse::<u64>().ok();
    Some(Sample {
        seconds: number("seconds")?,
        cpu_seconds: number("cpu_seconds")?,
        bytes: count("bytes")?,
        peak_rss_bytes: count("peak_rss_bytes")?,
        positions: count("positions"),
        faces: count("faces"),
        model_bytes: count("model_bytes"),
        identical: count("identical").map(|value| value == 1),
    })
}

/// Compares the number kernels, all in one process.
pub(super) fn numbers(tools: &Tools, rounds: usize) -> Result<Vec<Kernel>, String> {
    term::out(format!("numbers: {rounds} rounds\n"));
    let mut words = tools.prefix.clone();
    words.extend([tools.bench.clone().into(), "numbers".into()]);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg(rounds.to_string());
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(kernel).collect())
}

fn kernel(line: &str) -> Option<Kernel> {
    let line = line.strip_prefix("numbers ")?;
    let text = |name| Some(field(line, name)?.replace('_', " "));
    Some(Kernel {
        group: text("group")?,
        name: text("name")?,
        ns: field(line, "ns")?.parse().ok()?,
        median_ns: field(line, "median_ns")?.parse().ok()?,
        agrees: text("agrees")?,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A row of made-up measurements.
    pub(crate) fn row(name: &'static str, seconds: &[f64], peak: u64, model: u64) -> Row {
        let sample = |&seconds: &f64| Sample {
            seconds,
            cpu_seconds: seconds,
            bytes: 1000,
            peak_rss_bytes: peak,
            positions: Some(4),
            faces: Some(1),
            model_bytes: Some(model),
            identical: Some(true),
        };
        Row { name, samples: seconds.iter().map(sample).collect(), failure: None }
    }

    #[test]
    fn a_line_of_results_is_read() {
        let line = "bench seconds=0.25 cpu_seconds=0.5 peak_rss_bytes=4096 bytes=10 faces=3";
        let found = sample(line).unwrap();
        assert_eq!((found.seconds, found.cpu_seconds), (0.25, 0.5));
        assert_eq!((found.faces, found.positions, found.identical), (Some(3), None, None));
        assert_eq!(sample("bench seconds=0.25"), None);
        let line = "numbers group=a_b name=c_d ns=1.5 median_ns=2 agrees=yes";
        assert_eq!(kernel(line).unwrap().name, "c d");
    }

    #[test]
    fn rows_tell_least_median_and_memory() {
        let row = row("a", &[3.0, 1.0, 2.0], 100, 60);
        assert_eq!((row.least_seconds(), row.median_seconds()), (Some(1.0), Some(2.0)));
        assert_eq!((row.extra_bytes(), row.rate()), (Some(40), Some(1000.0)));
        assert_eq!(Row::default().median_seconds(), None);
    }
}
