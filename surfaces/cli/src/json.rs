//! The JSON object that `--json` prints.
//!
//! Every subcommand prints the same keys after its own. If a key of the subcommand has the name of a shared key, only
//! the subcommand's is printed. Sizes are in bytes, times in seconds; unknown values are `null`.

use crate::judge::Judged;
use crate::{hint, human, peak};
use polyhaul::error::{Diagnostic, Place};
use polyhaul::measure::Container;
use polyhaul::printable::is_active;
use polyhaul::severity::Severity;
use polyhaul::{Error, Report, report, warnings};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Version of the keys. It increases if a key is renamed or removed, or its meaning changes, but not for new keys
/// (`docs/policy.md`).
const SCHEMA: u32 = 1;

/// The keys of a subcommand, as the text of an object. All that follows is compiled once instead of for each
/// subcommand.
pub struct JsonDetails(String);

/// The first keys of each document.
#[derive(Serialize)]
struct JsonStart<'a> {
    command: &'a str,
    schema: u32,
}

/// The keys that all subcommands share.
#[derive(Serialize)]
struct SharedKeys<'a> {
    bytes_in: u64,
    plain_bytes_in: u64,
    bytes_out: u64,
    copied_files: u64,
    copied_bytes: u64,
    moved_in: Vec<JsonMoved>,
    moved_out: Vec<JsonMoved>,
    seconds: f64,
    phases: Vec<JsonPhase>,
    peak_bytes: Option<u64>,
    spilled_bytes: u64,
    threads: usize,
    container: Option<JsonContainer>,
    warnings: JsonWarnings<'a>,
    verdict: Option<Judged>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<JsonFailure>,
}

#[derive(Serialize)]
struct JsonPhase {
    name: &'static str,
    seconds: f64,
}

/// The limits of the container in which the process runs, or `null` without limits.
#[derive(Serialize)]
struct JsonContainer {
    cores: Option<f64>,
    memory_bytes: Option<u64>,
}

/// Bytes moved in one format and codec.
#[derive(Serialize)]
struct JsonMoved {
    format: Option<&'static str>,
    codec: Option<String>,
    bytes: u64,
    plain_bytes: u64,
}

/// Keys of every input in the array `files` of `info`, `validate` and `check`.
#[derive(Serialize)]
pub struct JsonInput<'a> {
    codec: Option<String>,
    /// The size of the file, without files it references.
    file_bytes: Option<u64>,
    bytes_in: u64,
    plain_bytes_in: u64,
    warnings: JsonWarnings<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<JsonFailure>,
}

impl<'a> JsonInput<'a> {
    pub fn new(path: &Path, report: &'a Report, error: Option<&Error>) -> JsonInput<'a> {
        JsonInput {
            codec: codec(report),
            file_bytes: human::file_bytes(path),
            bytes_in: report.bytes_in,
            plain_bytes_in: report.plain_bytes_in,
            warnings: JsonWarnings::new(&report.warnings),
            error: error.map(JsonFailure::new),
        }
    }
}

/// The warnings of one file, or of the run.
#[derive(Serialize)]
pub struct JsonWarnings<'a> {
    total: u64,
    counts: &'a BTreeMap<&'static str, u64>,
    /// The number of warnings of each severity.
    severities: BTreeMap<&'static str, u64>,
    listed: Vec<JsonListed<'a>>,
}

#[derive(Serialize)]
struct JsonListed<'a> {
    code: &'a str,
    severity: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    names: &'a [String],
    #[serde(flatten)]
    place: At,
}

#[derive(Serialize)]
struct At {
    file: String,
    line: Option<u64>,
    column: Option<u64>,
    offset: Option<u64>,
}

#[derive(Serialize)]
pub struct JsonFailure {
    kind: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    #[serde(flatten)]
    place: At,
    expected: Option<String>,
    hint: Option<String>,
}

/// The cause of an I/O error: the name of its `std::io::ErrorKind`, such as `NotFound`.
pub fn cause(error: &Error) -> Option<String> {
    error.io_error().map(|error| format!("{:?}", error.kind()))
}

impl JsonDetails {
    pub fn new<T: Serialize>(details: Option<T>) -> JsonDetails {
        JsonDetails(serde_json::to_string(&details).unwrap_or_default())
    }

    /// The keys and their values; none if there are no details.
    fn keys(&self) -> serde_json::Map<String, serde_json::Value> {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

/// Formats the object of a subcommand as one line.
pub fn document(
    command: &str,
    details: &JsonDetails,
    seconds: f64,
    report: &Report,
    verdict: Option<Judged>,
    error: Option<&Error>,
) -> String {
    let phase = |phase: &polyhaul::report::Phase| JsonPhase { name: phase.name, seconds: phase.elapsed.as_secs_f64() };
    let shared = SharedKeys {
        bytes_in: report.bytes_in,
        plain_bytes_in: report.plain_bytes_in,
        bytes_out: report.bytes_out,
        copied_files: report.copied_files,
        copied_bytes: report.copied_bytes,
        moved_in: report.reads.iter().map(JsonMoved::from).collect(),
        moved_out: report.writes.iter().map(JsonMoved::from).collect(),
        seconds,
        phases: report.phases.iter().map(phase).collect(),
        peak_bytes: peak::bytes(),
        spilled_bytes: report.spilled_bytes,
        threads: report.threads,
        container: JsonContainer::new(Container::this()),
        warnings: JsonWarnings::new(&report.warnings),
        verdict,
        error: error.map(JsonFailure::new),
    };
    let specific = details.keys();
    let mut shared = JsonDetails::new(Some(shared)).keys();
    shared.retain(|key, _| !specific.contains_key(key) && key != "command");
    let objects = [
        JsonDetails::new(Some(JsonStart { command, schema: SCHEMA })).0,
        details.0.clone(),
        JsonDetails::new(Some(shared)).0,
    ];
    let members = objects.iter().filter_map(|object| object.strip_prefix('{')?.strip_suffix('}'));
    let members: Vec<_> = members.filter(|members| !members.is_empty()).collect();
    ended(format!("{{{}}}", members.join(",")))
}

/// Formats the object for invalid arguments: the parser's message and tip, for the subcommand if it is known.
pub fn usage(message: &str, command: Option<&str>) -> String {
    let message = message.trim_end().strip_prefix("error: ").unwrap_or(message).trim_end();
    let mut parts = message.split("\n\n").map(str::trim);
    let hint = |part: &str| part.strip_prefix("tip: ").map(str::to_owned);
    let message = parts.next().unwrap_or_default().lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let diagnostic = Diagnostic { hint: parts.find_map(hint), ..Diagnostic::new(message) };
    let error = JsonFailure::from_kind("usage", &diagnostic);
    line(&serde_json::json!({ "command": command, "schema": SCHEMA, "error": error }))
}

/// The codec of the input, if it is compressed.
pub fn codec(report: &Report) -> Option<String> {
    report.codec.map(|codec| codec.to_string())
}

pub fn line(value: &impl Serialize) -> String {
    ended(serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}")))
}

/// Ends the line, with its active characters escaped: they occur only in strings, where that preserves the meaning.
fn ended(mut text: String) -> String {
    if text.contains(is_active) {
        let escaped = |c: char| if is_active(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
        text = text.chars().map(escaped).collect();
    }
    text.push('\n');
    text
}

impl JsonContainer {
    fn new(container: Container) -> Option<JsonContainer> {
        let Container { cores, memory_bytes, .. } = container;
        (cores.is_some() || memory_bytes.is_some()).then_some(JsonContainer { cores, memory_bytes })
    }
}

impl From<&report::Moved> for JsonMoved {
    fn from(moved: &report::Moved) -> JsonMoved {
        let &report::Moved { format, codec, bytes, plain_bytes, .. } = moved;
        JsonMoved { format, codec: codec.map(|codec| codec.to_string()), bytes, plain_bytes }
    }
}

impl<'a> JsonWarnings<'a> {
    pub fn new(log: &'a warnings::Warnings) -> Self {
        let listed = log.kept().iter().map(|warning| JsonListed {
            code: warning.code,
            severity: warning.severity.name(),
            message: &warning.diagnostic.message,
            subject: warning.subject(),
            names: &warning.diagnostic.names,
            place: At::new(&warning.diagnostic.place),
        });
        let mut severities = BTreeMap::new();
        severities.extend(Severity::ALL.map(|severity| (severity.name(), log.total_of(severity))));
        JsonWarnings { total: log.total(), counts: log.counts(), severities, listed: listed.collect() }
    }
}

impl At {
    fn new(place: &Place) -> At {
        At { file: place.file.to_string(), line: place.line, column: place.column, offset: place.offset }
    }
}

impl JsonFailure {
    pub fn new(error: &Error) -> JsonFailure {
        JsonFailure { cause: cause(error), ..JsonFailure::from_kind(error.kind().name(), error.diagnostic()) }
    }

    fn from_kind(kind: &'static str, diagnostic: &Diagnostic) -> JsonFailure {
        JsonFailure {
            kind,
            message: diagnostic.message.clone(),
            cause: None,
            place: At::new(&diagnostic.place),
            expected: diagnostic.expected.clone(),
            hint: diagnostic.hint.as_deref().map(hint::with_flag),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul::ErrorKind;
    use serde_json::{Value, json};

    fn parsed(text: &str) -> Value {
        assert_eq!(text.matches('\n').count(), 1);
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_document_has_the_shared_keys_and_its_own() {
        let mut report = Report { bytes_in: 7, threads: 2, ..Report::default() };
        let place = Place { file: "a.obj".into(), line: Some(3), column: None, offset: Some(9) };
        let subject = Some("mat_1".to_owned());
        let names = vec!["a".to_owned(), "b".to_owned()];
        report.warnings.push("bad-value", Diagnostic { place, subject, names, ..Diagnostic::new("is odd") });
        report.phase("read", || ());
        let value = parsed(&document("info", &JsonDetails::new(Some(json!({"faces": 1}))), 0.5, &report, None, None));
        assert_eq!((&value["faces"], &value["schema"]), (&json!(1), &json!(SCHEMA)));
        assert_eq!((&value["bytes_in"], &value["seconds"]), (&json!(7), &json!(0.5)));
        assert_eq!(value["phases"][0]["name"], "read");
        assert_eq!(value["warnings"]["counts"], json!({"bad-value": 1}));
        assert_eq!(value["warnings"]["severities"], json!({"note": 0, "loss": 0, "fault": 1}));
        let listed = json!({"code": "bad-value", "severity": "fault", "message": "is odd", "subject": "mat_1", "names": ["a", "b"], "file": "a.obj", "line": 3, "column": null, "offset": 9});
        assert_eq!(value["warnings"]["listed"], json!([listed]));
        assert!(value.get("error").is_none());
    }

    #[test]
    fn a_key_of_the_subcommand_replaces_the_shared_one() {
        let details = json!({"bytes_in": 8, "warnings": {"total": 3}, "seconds": null});
        let text = document("batch", &JsonDetails::new(Some(details)), 0.5, &Report::default(), None, None);
        for key in ["command", "schema", "bytes_in", "bytes_out", "warnings", "seconds", "threads"] {
            assert_eq!(text.matches(&format!("\"{key}\":")).count(), 1, "{text}");
        }
        let value = parsed(&text);
        assert_eq!((&value["bytes_in"], &value["warnings"]["total"]), (&json!(8), &json!(3)));
        assert!(value["seconds"].is_null());
    }

    #[test]
    fn errors_are_objects_too() {
        let error = Error::new(ErrorKind::Limit, "too long").with_hint("raise it");
        let value =
            parsed(&document("convert", &JsonDetails::new(None::<()>), 0.0, &Report::default(), None, Some(&error)));
        assert_eq!((&value["error"]["kind"], &value["error"]["hint"]), (&json!("limit"), &json!("raise it")));
        assert_eq!(value["warnings"]["total"], 0);
        let text = usage("error: \u{9b}31m\u{202e}\u{1b}", None);
        assert!(text.is_ascii() && parsed(&text)["error"]["message"] == "\u{9b}31m\u{202e}\u{1b}", "{text}");
        let value = parsed(&usage("error: unknown option\n\n  tip: use -x\n\nUsage: x\n", Some("info")));
        assert_eq!(value["error"]["message"], "unknown option");
        assert_eq!((&value["error"]["hint"], &value["command"]), (&json!("use -x"), &json!("info")));
        assert!(parsed(&usage("error: no", None))["command"].is_null());
    }
}
