//! Computes totals over the rows of a library; callers format them.

use crate::hash::{ByHash, name_hash};
use crate::log::read_rows;
use crate::row::Row;
use polyhaul::Result;
use polyhaul_bytes::hash::xxh3_64;
use polyhaul_fault::planted;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// Maximum number of slow assets to list.
const SLOWEST: usize = 10;
/// Maximum number of failed assets to list per kind of error.
const EXAMPLES: usize = 20;
/// Number of intervals in [`Summary::rates`].
const INTERVALS: usize = 60;

/// Totals over the rows of a library.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Number of assets whose last attempt succeeded.
    pub done: u64,
    /// Number of assets whose last attempt failed.
    pub failed: u64,
    /// Total number of attempts.
    pub attempts: u64,
    /// Total source size of the assets in [`Summary::done`], in bytes.
    pub bytes_in: u64,
    /// Total output size of the assets in [`Summary::done`], in bytes.
    pub bytes_out: u64,
    /// Total duration of all attempts in seconds, summed over all workers.
    pub worker_seconds: f64,
    /// Start of the first attempt and end of the last attempt, in seconds since 1970.
    pub span: Option<(f64, f64)>,
    /// The ten successful attempts that took longest, slowest first.
    pub slowest: Vec<SlowAsset>,
    /// Assets whose last attempt failed, grouped by kind of error, most frequent first.
    pub errors: Vec<ErrorGroup>,
    /// Number of warnings of successful attempts by kind.
    #[serde(skip)]
    pub warnings: BTreeMap<String, u64>,
    /// Number of successful attempts by bottleneck.
    pub verdicts: BTreeMap<String, u64>,
    /// Source bytes processed per second, in 60 equal intervals of [`Summary::span`]. An attempt counts toward the
    /// interval in which it finished. Empty if all attempts took no time.
    pub rates: Vec<f64>,
    /// Paths of PNG files among the outputs, for thumbnails, relative to the output folder.
    #[serde(skip)]
    pub pictures: Vec<String>,
    /// Number of damaged lines in the log.
    pub damaged_lines: u64,
}

/// A successful attempt in [`Summary::slowest`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowAsset {
    /// Asset name.
    pub asset: String,
    /// Duration in seconds.
    pub seconds: f64,
    /// Source size in bytes.
    pub bytes: u64,
}

/// Assets that failed with the same kind of error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorGroup {
    /// Kind of error.
    pub kind: String,
    /// Number of assets.
    pub count: u64,
    /// Up to 20 of these assets: the asset's name, and the error message with its location.
    pub examples: Vec<(String, String)>,
}

/// The last row of an asset: an attempt or a removal.
#[derive(Default)]
struct Last {
    attempt: u32,
    /// Whether the attempt succeeded. If false and `kind` is 0, the row records a removal: the source is gone.
    is_done: bool,
    /// One-based index of the error's group, or 0 without an error.
    kind: u32,
    bytes_in: u64,
    bytes_out: u64,
}

impl Summary {
    /// Computes the totals from the log of a library, with at most `max_pictures` paths in [`Summary::pictures`].
    ///
    /// # Errors
    /// [`polyhaul::ErrorKind::Io`] if the log cannot be read.
    pub fn read(outputs: &Path, max_pictures: usize) -> Result<Summary> {
        let mut sum = Summary::default();
        let mut kinds = Vec::new();
        let mut last = ByHash::<Last>::default();
        let mut seen = HashSet::new();
        let mut times = Vec::new();
        let damage = read_rows(outputs, &mut |json| {
            let Some(row) = Row::parse(json) else { return Ok(false) };
            let asset = name_hash(&row.asset);
            // Logs are ordered by start time, and the clock of one machine may be ahead of the others.
            let is_last = planted("summary-last") || last.get(&asset).is_none_or(|last| row.attempt >= last.attempt);
            if row.pruned {
                if is_last {
                    last.insert(asset, Last { attempt: row.attempt, ..Last::default() });
                }
            // A row may be passed more than once (see `read_rows`).
            } else if seen.insert(xxh3_64(json.as_bytes())) {
                times.push((row.started + row.seconds, row.source_bytes));
                sum.add(&row, max_pictures);
                if is_last {
                    last.insert(asset, Last::from_row(&row, &mut kinds));
                }
            }
            Ok(true)
        })?;
        sum.add_lasts(&last, kinds);
        sum.add_rates(&times);
        sum.damaged_lines = damage.lines;
        Ok(sum)
    }

    fn add(&mut self, row: &Row, max_pictures: usize) {
        self.attempts += 1;
        self.worker_seconds += row.seconds;
        let (start, end) = self.span.unwrap_or((row.started, row.started));
        self.span = Some((start.min(row.started), end.max(row.started + row.seconds)));
        if row.error.is_some() {
            return;
        }
        for (kind, count) in &row.warnings {
            *self.warnings.entry(kind.clone()).or_default() += count;
        }
        if let Some(verdict) = &row.verdict {
            *self.verdicts.entry(verdict.clone()).or_default() += 1;
        }
        for picture in row.outputs.iter().map(|output| &output.path).filter(|path| path.ends_with(".png")) {
            // Each attempt to convert an asset writes the same picture.
            if self.pictures.len() < max_pictures && !self.pictures.contains(picture) {
                self.pictures.push(picture.clone());
            }
        }
        if self.slowest.len() < SLOWEST || self.slowest.last().is_some_and(|slow| slow.seconds < row.seconds) {
            let slow = SlowAsset { asset: row.asset.clone(), seconds: row.seconds, bytes: row.source_bytes };
            // Inserted behind rows of the same duration, so that the earlier row stays if only one of them fits.
            let place = self.slowest.partition_point(|other| other.seconds >= row.seconds);
            self.slowest.insert(place, slow);
            self.slowest.truncate(SLOWEST);
        }
    }

    fn add_lasts(&mut self, last: &ByHash<Last>, mut kinds: Vec<ErrorGroup>) {
        for last in last.values() {
            match last.kind {
                0 if !last.is_done => {}
                0 => {
                    self.done += 1;
                    self.bytes_in += last.bytes_in;
                    self.bytes_out += last.bytes_out;
                }
                kind => {
                    self.failed += 1;
                    kinds[kind as usize - 1].count += 1;
                }
            }
        }
        let kind_of = |asset: &String| last.get(&name_hash(asset)).map_or(0, |last| last.kind);
        for (mut group, kind) in kinds.into_iter().zip(1..).filter(|(group, _)| group.count > 0) {
            group.examples.retain(|(asset, _)| kind_of(asset) == kind);
            group.examples.truncate(EXAMPLES);
            self.errors.push(group);
        }
        self.errors.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.kind.cmp(&b.kind)));
    }

    /// Computes the bytes per second in each interval from the end and the source size of each attempt. An attempt
    /// counts toward the interval in which it finished.
    fn add_rates(&mut self, ends: &[(f64, u64)]) {
        let Some((start, end)) = self.span.filter(|(start, end)| end > start) else { return };
        let step = (end - start) / INTERVALS as f64;
        self.rates = vec![0.0; INTERVALS];
        for (at, bytes) in ends {
            let interval = ((at - start) / step) as usize;
            // The last attempt ends exactly at the end of the last interval.
            self.rates[interval.min(INTERVALS - 1)] += *bytes as f64 / step;
        }
    }
}

impl Last {
    fn from_row(row: &Row, kinds: &mut Vec<ErrorGroup>) -> Last {
        let bytes_out = row.outputs.iter().map(|output| output.bytes).sum();
        let last =
            Last { attempt: row.attempt, is_done: row.error.is_none(), kind: 0, bytes_in: row.source_bytes, bytes_out };
        let Some(error) = &row.error else { return last };
        let position = kinds.iter().position(|kind| kind.kind == error.kind);
        let number = position.unwrap_or(kinds.len());
        if position.is_none() {
            kinds.push(ErrorGroup { kind: error.kind.clone(), count: 0, examples: Vec::new() });
        }
        let examples = &mut kinds[number].examples;
        let words = error.in_words();
        if let Some((_, earlier)) = examples.iter_mut().find(|(asset, _)| *asset == row.asset) {
            *earlier = words;
        // Keep spares: some of these assets may succeed later.
        } else if examples.len() < 4 * EXAMPLES {
            examples.push((row.asset.clone(), words));
        }
        Last { kind: number as u32 + 1, ..last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{RowError, RowOutput};
    use crate::{DoneRow, LogWriter};

    fn row(asset: &str, at: f64, error: Option<&str>) -> Row {
        let error = error.map(|kind| RowError { kind: kind.into(), line: Some(7), ..RowError::default() });
        let outputs = if error.is_none() { vec![RowOutput { bytes: 5, ..RowOutput::default() }] } else { Vec::new() };
        let started = 1000.0 + at;
        let seconds = 1.0 + at;
        let source_bytes = 100;
        Row { asset: asset.into(), started, seconds, source_bytes, error, outputs, attempt: 1, ..Row::default() }
    }

    #[test]
    fn the_last_attempt_counts() {
        let folder = std::env::temp_dir().join(format!("polyhaul-batch-summary-{}", std::process::id()));
        let mut log = LogWriter::create(&folder).unwrap();
        let rows = [
            row("a", 0.0, None),
            row("b", 1.0, Some("io")),
            row("c", 2.0, Some("format")),
            row("c", 2.0, Some("io")),
            row("b", 3.0, None),
            row("c", 2.5, Some("io")),
        ];
        for row in rows {
            log.append(&[DoneRow::Made(Box::new(row))]).unwrap();
        }
        log.finish().unwrap();
        let sum = Summary::read(&folder, 0).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!((sum.done, sum.failed, sum.attempts, sum.bytes_in, sum.bytes_out), (2, 1, 6, 200, 10));
        assert_eq!(sum.errors.len(), 1);
        let examples: Vec<_> = sum.errors[0].examples.iter().map(|(asset, _)| asset.as_str()).collect();
        assert_eq!((sum.errors[0].count, &examples[..]), (1, &["c"][..]));
        assert_eq!(sum.slowest[0].asset, "b");
        assert_eq!(sum.span, Some((1000.0, 1007.0)));
        let moved: f64 = sum.rates.iter().sum::<f64>() * 7.0 / INTERVALS as f64;
        assert!((moved - 600.0).abs() < 1e-6);
    }

    #[test]
    fn pictures_of_repeated_attempts_are_listed_once() {
        let mut sum = Summary::default();
        let output = |path: &str| RowOutput { path: path.into(), ..RowOutput::default() };
        for picture in ["a.png", "b.png", "a.png", "c.png", "d.png"] {
            sum.add(&Row { outputs: vec![output("a.obj"), output(picture)], ..row("a", 0.0, None) }, 3);
        }
        assert_eq!(sum.pictures, ["a.png", "b.png", "c.png"]);
    }

    #[test]
    fn rows_of_clocks_that_are_behind_do_not_undo_later_attempts() {
        let folder = std::env::temp_dir().join(format!("polyhaul-batch-clocks-{}", std::process::id()));
        let mut log = LogWriter::create(&folder).unwrap();
        let pruned = Row { attempt: 2, pruned: true, ..row("a", 1.0, None) };
        for row in [row("a", 0.0, None), Row { attempt: 3, ..row("a", 2.0, None) }, pruned] {
            log.append(&[DoneRow::Made(Box::new(row))]).unwrap();
        }
        log.finish().unwrap();
        let sum = Summary::read(&folder, 0).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!((sum.done, sum.failed), (1, 0));
    }
}
