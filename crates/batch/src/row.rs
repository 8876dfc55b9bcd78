//! Tasks and rows: what a worker gets and what it returns, one JSON object per line each.

use polyhaul::place;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

/// One attempt at an asset, to be made by a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its number in this run; its row has the same.
    pub id: u64,
    /// The asset's name: its path below the folder it was found in.
    pub asset: String,
    /// The path or URL to read.
    pub source: String,
    /// The path or URL to write.
    pub output: String,
    /// The folder or URL of all outputs.
    pub folder: String,
    /// Which attempt this is, from 1 on.
    pub attempt: u32,
    /// How many threads may work on it.
    pub threads: usize,
    /// The size of the source in bytes, as it was listed.
    pub bytes: u64,
    /// Its tag or time, as it was listed: a source that changes afterwards is another one for the next run.
    pub version: String,
    /// The hash of the options, in hexadecimal digits.
    pub options: String,
    /// Bytes of memory after which the worker gives up; `None` if it may take what there is.
    pub memory: Option<u64>,
    /// Seconds after which the worker is ended.
    pub timeout: Option<f64>,
}

/// What became of one attempt at an asset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// The number of the task, in the run that made it.
    pub id: u64,
    /// The asset's name.
    pub asset: String,
    /// Which attempt it was, from 1 on.
    pub attempt: u32,
    /// What was read: a path or a URL, without credentials.
    pub source: String,
    /// A tag or a time that changes with the source's content.
    pub source_version: String,
    /// The size of the source in bytes.
    pub source_bytes: u64,
    /// A hash of the options, in hexadecimal digits.
    pub options: String,
    /// The files that were written, the asset itself first. Empty if the attempt failed.
    pub outputs: Vec<RowOutput>,
    /// When it began, in seconds since 1970.
    pub started: f64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The same by phase: `read`, `transform`, `write`.
    pub phases: BTreeMap<String, f64>,
    /// What limited it, in words.
    pub verdict: Option<String>,
    /// The most memory that its worker had meanwhile, in bytes; `None` if the system does not say.
    pub peak_bytes: Option<u64>,
    /// How many warnings there were, by kind.
    pub warnings: BTreeMap<String, u64>,
    /// Why it failed; `None` if it succeeded.
    pub error: Option<RowError>,
    /// Which process did it.
    pub worker: String,
}

/// A file that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowOutput {
    /// Its path below the outputs' folder, with slashes.
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
    /// The kind: those of [`polyhaul::ErrorKind`], and `crash`, `asset-memory`, `asset-timeout`.
    pub kind: String,
    /// The message.
    pub message: String,
    /// The file in which it was found.
    pub file: Option<String>,
    /// The line in it, from 1 on.
    pub line: Option<u64>,
    /// The column in that line, from 1 on.
    pub column: Option<u64>,
    /// The place in bytes from the beginning.
    pub offset: Option<u64>,
}

impl Row {
    /// The row of a task that failed without one of its own.
    pub fn failed(task: &Task, kind: &str, message: impl Into<String>) -> Row {
        let error = RowError { kind: kind.into(), message: message.into(), ..RowError::default() };
        Row { error: Some(error), ..Row::new(task) }
    }

    /// What the row of a task has whatever becomes of it.
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

/// The part of a row that a run looks at while it goes on.
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
    /// The message with its place: `chair.obj:7:3: expected 3 numbers`.
    pub fn in_words(&self) -> String {
        let mut place = self.file.clone().unwrap_or_default();
        for number in [self.line, self.column].into_iter().flatten() {
            place.push_str(&format!(":{number}"));
        }
        if place.is_empty() { self.message.clone() } else { format!("{place}: {}", self.message) }
    }
}

/// The part of a row that tells what is done, without copies: a million of them are read at every start.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RowHeader<'a> {
    /// See [`Row::asset`].
    #[serde(borrow)]
    pub asset: Cow<'a, str>,
    /// See [`Row::attempt`].
    pub attempt: u32,
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
}

/// The part of a [`RowOutput`] that is compared.
#[derive(Debug, Deserialize)]
pub struct OutputHeader<'a> {
    /// See [`RowOutput::path`].
    #[serde(borrow)]
    pub path: Cow<'a, str>,
    /// See [`RowOutput::bytes`].
    pub bytes: u64,
}

/// The part of a [`RowError`] that is counted.
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
