//! Tasks and rows: the input and output of a worker, one JSON object per line.

use polyhaul::place;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

/// One attempt at an asset, to be made by a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its number in this run, repeated in its row.
    pub id: u64,
    /// The asset's name: its path below the folder it was found in.
    pub asset: String,
    /// The path or URL to read.
    pub source: String,
    /// The path or URL to write.
    pub output: String,
    /// The folder or URL of all outputs.
    pub folder: String,
    /// The number of this attempt, starting at 1.
    pub attempt: u32,
    /// The maximum number of threads.
    pub threads: usize,
    /// The size of the source in bytes, from the listing.
    pub bytes: u64,
    /// Its ETag or modification time, from the listing. If the source changes later, the next run converts it again.
    pub version: String,
    /// The hash of the options, in hexadecimal digits.
    pub options: String,
    /// The memory limit of the worker in bytes; `None` for no limit.
    pub memory: Option<u64>,
    /// The time limit in seconds, after which the worker is killed; `None` for no limit.
    pub timeout: Option<f64>,
}

/// The result of one attempt at an asset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// The number of the task in its run.
    pub id: u64,
    /// The asset's name.
    pub asset: String,
    /// The number of the attempt, starting at 1.
    pub attempt: u32,
    /// The path or URL of the source, without credentials.
    pub source: String,
    /// An ETag or modification time that changes with the source's content.
    pub source_version: String,
    /// The size of the source in bytes.
    pub source_bytes: u64,
    /// A hash of the options, in hexadecimal digits.
    pub options: String,
    /// The files written, the converted asset first. Empty if the attempt failed.
    pub outputs: Vec<RowOutput>,
    /// The start time, in seconds since 1970.
    pub started: f64,
    /// The duration in seconds.
    pub seconds: f64,
    /// Seconds by phase: `read`, `transform`, `write`.
    pub phases: BTreeMap<String, f64>,
    /// The bottleneck, in words; `None` if unknown.
    pub verdict: Option<String>,
    /// The worker's peak memory during the attempt, in bytes; `None` if the system does not report it.
    pub peak_bytes: Option<u64>,
    /// The number of warnings by kind.
    pub warnings: BTreeMap<String, u64>,
    /// Why it failed; `None` if it succeeded.
    pub error: Option<RowError>,
    /// The process that made the attempt, as `HOST:PID`.
    pub worker: String,
    /// Whether this is no attempt: the source was gone, and the outputs were removed. Earlier rows of the asset are
    /// history then.
    #[serde(skip_serializing_if = "is_false")]
    pub pruned: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the interface of serde")]
fn is_false(value: &bool) -> bool {
    !value
}

/// An output file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowOutput {
    /// Its path relative to the output folder, with slashes.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// XXH3 of its content (128 bits), in hexadecimal digits.
    pub hash: String,
}

/// Why an attempt failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RowError {
    /// The kind: a name of [`polyhaul::ErrorKind`], `crash`, `asset-memory`, `asset-timeout`, or `engine` if a task of
    /// an engine failed as a whole.
    pub kind: String,
    /// The message.
    pub message: String,
    /// For an error of kind `io`, the name of its `std::io::ErrorKind`, such as `NotFound`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The file with the error.
    pub file: Option<String>,
    /// The line in that file, starting at 1.
    pub line: Option<u64>,
    /// The column in that line, starting at 1.
    pub column: Option<u64>,
    /// The byte offset in that file.
    pub offset: Option<u64>,
}

impl Row {
    /// Parses a line of a log; `None` if it is not a row.
    pub(crate) fn parse(json: &str) -> Option<Row> {
        serde_json::from_str(json).ok().filter(|row: &Row| !row.asset.is_empty())
    }

    /// Creates a row for a task whose worker failed to write one.
    pub fn failed(task: &Task, kind: &str, message: impl Into<String>) -> Row {
        let error = RowError { kind: kind.into(), message: message.into(), ..RowError::default() };
        Row { error: Some(error), ..Row::new(task) }
    }

    /// Creates a row with the fields that are known before the attempt.
    pub fn new(task: &Task) -> Row {
        Row {
            id: task.id,
            asset: task.asset.clone(),
            attempt: task.attempt,
            source: place::shown(Path::new(&task.source)),
            source_bytes: task.bytes,
            source_version: task.version.clone(),
            options: task.options.clone(),
            ..Row::default()
        }
    }
}

/// The part of a row that a run needs while it is in progress.
#[derive(Clone, Debug, Deserialize)]
pub struct RowNote {
    /// See [`Row::id`].
    pub id: u64,
    /// See [`Row::asset`].
    pub asset: String,
    /// See [`Row::seconds`].
    pub seconds: f64,
    /// See [`Row::error`].
    pub error: Option<RowError>,
}

impl RowError {
    /// The message with its location: `chair.obj:7:3: expected 3 numbers`.
    pub fn in_words(&self) -> String {
        let mut place = self.file.clone().unwrap_or_default();
        for number in [self.line, self.column].into_iter().flatten() {
            place.push_str(&format!(":{number}"));
        }
        if place.is_empty() { self.message.clone() } else { format!("{place}: {}", self.message) }
    }
}

/// The part of a row that is needed to find finished assets, borrowed from the line: each run may read a million of
/// them when it starts.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RowHeader<'a> {
    /// See [`Row::asset`].
    #[serde(borrow)]
    pub asset: Cow<'a, str>,
    /// See [`Row::attempt`].
    pub attempt: u32,
    /// See [`Row::source`].
    #[serde(borrow)]
    pub source: Cow<'a, str>,
    /// See [`Row::source_version`].
    #[serde(borrow)]
    pub source_version: Cow<'a, str>,
    /// See [`Row::source_bytes`].
    pub source_bytes: u64,
    /// See [`Row::options`].
    #[serde(borrow)]
    pub options: Cow<'a, str>,
    /// See [`Row::outputs`].
    #[serde(borrow)]
    pub outputs: Vec<OutputHeader<'a>>,
    /// See [`Row::started`].
    pub started: f64,
    /// See [`Row::seconds`].
    pub seconds: f64,
    /// See [`Row::error`].
    #[serde(borrow)]
    pub error: Option<ErrorHeader<'a>>,
    /// See [`Row::pruned`].
    pub pruned: bool,
}

impl<'a> RowHeader<'a> {
    /// Parses a line of a log; `None` if it is not a row.
    pub(crate) fn parse(json: &'a str) -> Option<RowHeader<'a>> {
        serde_json::from_str(json).ok().filter(|row: &RowHeader<'_>| !row.asset.is_empty())
    }
}

/// The part of a [`RowOutput`] that is needed to check that the output still exists.
#[derive(Debug, Deserialize)]
pub struct OutputHeader<'a> {
    /// See [`RowOutput::path`].
    #[serde(borrow)]
    pub path: Cow<'a, str>,
    /// See [`RowOutput::bytes`].
    pub bytes: u64,
}

/// The part of a [`RowError`] that is needed for counting.
#[derive(Debug, Deserialize)]
pub struct ErrorHeader<'a> {
    /// See [`RowError::kind`].
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// See [`RowError::message`].
    #[serde(borrow)]
    pub message: Cow<'a, str>,
    /// See [`RowError::line`].
    #[serde(default)]
    pub line: Option<u64>,
}
