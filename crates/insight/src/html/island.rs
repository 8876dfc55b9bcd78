//! Serializes chart data for `page.js` as flat arrays of numbers, for compactness.
//!
//! Times are integers relative to the start of the recording. File names are shortened, and dropped if they would
//! dominate the page. Nothing is drawn here.

use super::HtmlJob;
use crate::json::Json;
use crate::shown::{Bar, MAX_LEVELS, MAX_ROWS, What, is_program};
use crate::words::{phase_words, plain};
use polyhaul_trace::{Lane, Phase, Recording, Sample};

/// Maximum length of a file name in characters, and total length in bytes after which further names are dropped.
const NAME_CHARS: usize = 80;
const NAMES_CHARS: usize = 150_000;
/// Maximum number of samples on a page.
const MAX_SAMPLES: usize = 1500;
/// Maximum number of sections on a page.
const MAX_SECTIONS: usize = 500;

/// Chart data of a page, as JSON.
pub(super) fn island(job: &HtmlJob<'_>) -> String {
    let unit_ns = unit(job.extent.length_ns());
    let mut names = Names::default();
    let mut json = Json::new();
    json.object(|json| {
        json.key("unit").integer(unit_ns);
        json.key("length").number(job.extent.length_ns() as f64 / unit_ns as f64);
        json.key("wanted").integer(usable_cores(job) as u64);
        words(json, job.recording);
        json.key("rows").array(|json| {
            job.rows.rows.iter().for_each(|bars| row(json, job, bars, unit_ns, &mut names));
        });
        json.key("files").array(|json| names.list.iter().for_each(|name| json.string(name)));
        sections(json, job, unit_ns);
        steps(json, job, unit_ns);
        samples(json, job, unit_ns);
        json.key("ceilings").array(|json| ceilings(json, job));
    });
    json.take()
}

/// The number of cores that the job could use: the chart of cores reaches at least this far.
fn usable_cores(job: &HtmlJob<'_>) -> usize {
    let threads = job.recording.wanted_threads;
    job.ceilings.map(|ceilings| ceilings.cores).filter(|cores| *cores > 0).map_or(threads, |cores| threads.min(cores))
}

/// Time unit in nanoseconds: a power of ten that limits the longest time to eight digits.
fn unit(length_ns: u64) -> u64 {
    (0..20).map_while(|power| 10_u64.checked_pow(power)).find(|unit| length_ns / unit < 100_000_000).unwrap_or(1)
}

fn words(json: &mut Json, recording: &Recording) {
    json.key("names").array(|json| {
        let rows = recording.threads.len().min(MAX_ROWS);
        (0..rows).for_each(|row| json.string(&recording.thread_name(row).chars().map(plain).collect::<String>()));
    });
    json.key("phases").array(|json| Phase::ALL.iter().for_each(|phase| json.string(phase_words(*phase))));
    let indices = |json: &mut Json, is: fn(Phase) -> bool| {
        Phase::ALL.iter().filter(|phase| is(**phase)).for_each(|phase| json.integer(*phase as u64));
    };
    json.key("io").array(|json| indices(json, Phase::is_io));
    json.key("waits").array(|json| indices(json, Phase::is_wait));
    // Threads of programs have no roles.
    let lanes: &[Lane] = if is_program(recording) { &[] } else { &Lane::ALL };
    json.key("lanes").array(|json| lanes.iter().for_each(|lane| json.string(lane.name())));
}

/// The bars of a thread: an array per level, with five numbers per bar. These are the time since the end of the
/// previous bar; the length; phase + 32 * lane, + 128 if merged; the file, or the percentage covered; and the number of
/// bytes, chunk number or number of spans. Files and chunks are numbered from 1; 0 means none.
fn row(json: &mut Json, job: &HtmlJob<'_>, bars: &[Bar], unit_ns: u64, names: &mut Names) {
    let units = |at_ns: u64| at_ns.saturating_sub(job.extent.start_ns) / unit_ns;
    json.array(|json| {
        for level in 0..MAX_LEVELS {
            let mut last = 0;
            json.array(|json| {
                for bar in bars.iter().filter(|bar| bar.level == level) {
                    let start = units(bar.start_ns);
                    let end = units(bar.end_ns);
                    let kind = bar.phase as u64 + 32 * bar.lane as u64;
                    let (kind, about, value) = match bar.what {
                        What::Call(bytes, file) => (kind, file.map_or(0, |file| names.number(job, file)), bytes),
                        What::Chunk(number) => (kind, 0, number.map_or(0, |number| number.saturating_add(1))),
                        What::Merged(spans, covered) => (kind + 128, (100.0 * covered) as u64, spans),
                    };
                    let apart = [start.saturating_sub(last), end.saturating_sub(start), kind, about, value];
                    apart.into_iter().for_each(|number| json.integer(number));
                    last = end;
                }
            });
        }
    });
}

/// File names referenced by bars.
#[derive(Default)]
struct Names {
    list: Vec<String>,
    numbers: std::collections::HashMap<u32, u64>,
    chars: usize,
}

impl Names {
    /// One-based index of a file's name; 0 if the limit is reached.
    fn number(&mut self, job: &HtmlJob<'_>, file: u32) -> u64 {
        if let Some(number) = self.numbers.get(&file) {
            return *number;
        }
        let Some(used) = job.recording.files.get(file as usize).filter(|_| self.chars < NAMES_CHARS) else { return 0 };
        let name: String = shortened(&used.name, NAME_CHARS).chars().map(plain).collect();
        self.chars += name.len();
        self.list.push(name);
        self.numbers.insert(file, self.list.len() as u64);
        self.list.len() as u64
    }
}

/// The end of a name, which is more informative than its start.
pub(super) fn shortened(name: &str, max_chars: usize) -> String {
    let chars = name.chars().count();
    if chars <= max_chars {
        return name.to_owned();
    }
    std::iter::once('…').chain(name.chars().skip(chars + 1 - max_chars)).collect()
}

fn sections(json: &mut Json, job: &HtmlJob<'_>, unit_ns: u64) {
    json.key("sections").array(|json| {
        for section in job.recording.sections.iter().take(MAX_SECTIONS) {
            json.array(|json| {
                json.string(section.name);
                for at_ns in [section.start_ns, section.end_ns] {
                    json.integer(at_ns.saturating_sub(job.extent.start_ns) / unit_ns);
                }
            });
        }
    });
}

fn steps(json: &mut Json, job: &HtmlJob<'_>, unit_ns: u64) {
    let steps = &job.steps;
    let list = |json: &mut Json, values: &[f64], scale: f64| {
        let is_any = values.iter().any(|value| *value > 0.0);
        let values = values.iter().filter(|_| is_any);
        json.array(|json| values.for_each(|value| json.integer((value * scale).round() as u64)));
    };
    json.key("steps").object(|json| {
        json.key("step").number(steps.step_ns as f64 / unit_ns as f64);
        list(json.key("read"), &steps.read_bytes, 1.0);
        list(json.key("write"), &steps.written_bytes, 1.0);
        list(json.key("computing"), &steps.computing, 100.0);
        list(json.key("calling"), &steps.calling, 100.0);
    });
}

/// Writes samples, thinned to [`MAX_SAMPLES`]. Counters are cumulative, so thinning loses no totals; for memory the
/// maximum is kept.
fn samples(json: &mut Json, job: &HtmlJob<'_>, unit_ns: u64) {
    let recorded = &job.recording.samples;
    let mut thinned = Vec::new();
    for group in recorded.chunks(recorded.len().div_ceil(MAX_SAMPLES).max(1)) {
        let resident_bytes = group.iter().map(|sample| sample.resident_bytes).max().unwrap_or_default();
        thinned.extend(group.last().map(|last| (*last, resident_bytes)));
    }
    let list = |json: &mut Json, of: &dyn Fn(&Sample) -> u64| {
        json.array(|json| thinned.iter().for_each(|(sample, _)| json.integer(of(sample))));
    };
    let first = recorded.first().copied().unwrap_or_default();
    json.key("samples").object(|json| {
        list(json.key("at"), &|sample| sample.at_ns.saturating_sub(job.extent.start_ns) / unit_ns);
        list(json.key("cpu"), &|sample| sample.cpu_ns.saturating_sub(first.cpu_ns) / unit_ns);
        list(json.key("read"), &|sample| sample.disk_read_bytes.saturating_sub(first.disk_read_bytes));
        list(json.key("write"), &|sample| sample.disk_write_bytes.saturating_sub(first.disk_write_bytes));
        json.key("memory").array(|json| thinned.iter().for_each(|(_, resident_bytes)| json.integer(*resident_bytes)));
    });
}

/// Ceilings, drawn as dashed lines: chart, name, bytes per second.
fn ceilings(json: &mut Json, job: &HtmlJob<'_>) {
    let Some(ceilings) = job.ceilings else { return };
    for (chart, is_output) in [("read", false), ("write", true)] {
        for (name, rate) in ceilings.lines(is_output) {
            json.array(|json| {
                json.string(chart);
                json.string(name);
                json.number(rate.round());
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_nine_digits_at_most() {
        assert_eq!([unit(1), unit(99_999_999), unit(100_000_000), unit(10_000_000_000)], [1, 1, 10, 1000]);
        assert_eq!(unit(u64::MAX), 1_000_000_000_000);
    }

    #[test]
    fn long_names_keep_their_end() {
        assert_eq!([shortened("abc", 3), shortened("abcd", 3), shortened("", 3)], ["abc", "…cd", ""]);
    }
}
