//! Tasks and rows: input and output of a worker, one JSON object per line.

use polyhaul::place;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

/// One attempt to convert an asset, as sent to a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Number of the task in its run, repeated in its row.
    pub id: u64,
    /// Asset name: path of the source relative to the folder in which it was found.
    pub asset: String,
    /// Path or URL to read.
    pub source: String,
    /// Path or URL to write.
    pub output: String,
    /// Folder or URL of all outputs.
    pub folder: String,
    /// Attempt number, from 1.
    pub attempt: u32,
    /// Maximum number of threads.
    pub threads: usize,
    /// Source size in bytes, from the listing.
    pub bytes: u64,
    /// ETag or modification time of the source, from the listing. If the source changes later, the next run converts it
    /// again.
    pub version: String,
    /// Options hash, hexadecimal.
    pub options: String,
    /// Memory limit of the worker in bytes, or `None` for no limit.
    pub memory: Option<u64>,
    /// Time limit in seconds, after which the worker is killed, or `None` for no limit.
    pub timeout: Option<f64>,
}

/// The result of one attempt to convert an asset, or the record of a removal (see [`Row::pruned`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// See [`Task::id`].
    pub id: u64,
    /// Asset name.
    pub asset: String,
    /// Attempt number, from 1.
    pub attempt: u32,
    /// Path or URL of the source, without credentials.
    pub source: String,
    /// ETag or modification time of the source, which changes with its content.
    pub source_version: String,
    /// Source size in bytes.
    pub source_bytes: u64,
    /// Options hash, hexadecimal.
    pub options: String,
    /// Files written, the converted asset first. Empty if the attempt failed.
    pub outputs: Vec<RowOutput>,
    /// Start time in seconds since 1970.
    pub started: f64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Seconds by phase: `read`, `transform`, `write`.
    pub phases: BTreeMap<String, f64>,
    /// Bottleneck in words, or `None` if unknown.
    pub verdict: Option<String>,
    /// Peak memory of the worker during the attempt in bytes, or `None` if the system does not report it.
    pub peak_bytes: Option<u64>,
    /// Number of warnings by kind.
    pub warnings: BTreeMap<String, u64>,
    /// Error of a failed attempt, or `None` on success.
    pub error: Option<RowError>,
    /// Process that made the attempt, as `HOST:PID`; empty if unknown.
    pub worker: String,
    /// Whether this records a removal instead of an attempt: the source was gone, and the outputs were removed. It
    /// supersedes earlier rows of the asset.
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
    /// Path relative to the output folder, with forward slashes.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// 128-bit XXH3 of the content, hexadecimal.
    pub hash: String,
}

/// Error of a failed attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RowError {
    /// Kind: the name of a [`polyhaul::ErrorKind`], `crash`, `asset-memory`, `asset-timeout`, or `engine` if an engine
    /// could not run the task.
    pub kind: String,
    /// Error message, without the location.
    pub message: String,
    /// Name of the `std::io::ErrorKind` if the kind is `io`, such as `NotFound`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// File with the error.
    pub file: Option<String>,
    /// Line in that file, from 1.
    pub line: Option<u64>,
    /// Column in that line, from 1.
    pub column: Option<u64>,
    /// Byte offset in that file.
    pub offset: Option<u64>,
}

impl Row {
    /// Parses the JSON of a log line. Returns `None` if it is not a row.
    pub(crate) fn parse(json: &str) -> Option<Row> {
        serde_json::from_str(json).ok().filter(|row: &Row| !row.asset.is_empty())
    }

    /// Creates the row of a failed attempt, for example for a worker that died before it wrote a row.
    pub fn failed(task: &Task, kind: &str, message: impl Into<String>) -> Row {
        let error = RowError { kind: kind.into(), message: message.into(), ..RowError::default() };
        Row { error: Some(error), ..Row::new(task) }
    }

    /// Creates a row with the fields known before the attempt.
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

/// The fields of a new row that a run needs.
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
    /// Returns the message with its location: `chair.obj:7:3: expected 3 numbers`.
    pub fn in_words(&self) -> String {
        let mut place = self.file.clone().unwrap_or_default();
        for number in [self.line, self.column].into_iter().flatten() {
            place.push_str(&format!(":{number}"));
        }
        if place.is_empty() { self.message.clone() } else { format!("{place}: {}", self.message) }
    }
}

/// The fields of a row needed to find finished assets, borrowed from the line: a run may read a million rows when it
/// starts.
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
    /// Parses the JSON of a log line. Returns `None` if it is not a row.
    pub(crate) fn parse(json: &'a str) -> Option<RowHeader<'a>> {
        serde_json::from_str(json).ok().filter(|row: &RowHeader<'_>| !row.asset.is_empty())
    }
}

/// The fields of a [`RowOutput`] needed to check that the output exists.
#[derive(Debug, Deserialize)]
pub struct OutputHeader<'a> {
    /// See [`RowOutput::path`].
    #[serde(borrow)]
    pub path: Cow<'a, str>,
    /// See [`RowOutput::bytes`].
    pub bytes: u64,
}

/// The fields of a [`RowError`] needed for statistics.
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
