//! Job files: TOML with the long options of `polyhaul batch` as keys.
//!
//! `to = "ply"` stands for `--to=ply`, `triangulate = true` for `--triangulate`, `uv = false` for `--no-uv`, and an
//! array for a repeated option. `triangulate = false` and `uv = true` are the defaults.
//! Underscores may replace dashes; tables only group options. The options replace `--job FILE` before arguments are
//! parsed, so workers on other machines do not need the file.

use crate::manual;
use clap::Arg;
use polyhaul::error::{Diagnostic, Place};
use polyhaul::{Error, ErrorKind, Result};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use toml::{Table, Value};

/// Replaces `--job FILE` in a command line with the options of the file. On error, also returns the original arguments.
pub fn with_job(words: Vec<OsString>) -> std::result::Result<Vec<OsString>, (Vec<OsString>, Error)> {
    if !words.iter().any(|word| word == "batch") {
        return Ok(words);
    }
    let equals = |word: &OsStr| word.to_str().and_then(|word| word.strip_prefix("--job=")).map(OsString::from);
    let Some(at) = words.iter().position(|word| word == "--job" || equals(word).is_some()) else { return Ok(words) };
    let (file, end) = match equals(&words[at]) {
        Some(file) => (file, at + 1),
        None if at + 1 < words.len() => (words[at + 1].clone(), at + 2),
        // The argument parser reports the missing value.
        None => return Ok(words),
    };
    match options(Path::new(&file)) {
        Ok(options) => Ok([&words[..at], &options, &words[end..]].concat()),
        Err(error) => Err((words, error)),
    }
}

/// Reads the options of a job file as command-line arguments.
fn options(path: &Path) -> Result<Vec<OsString>> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Error::io("read", &shown, error))?;
    let table: Table = toml::from_str(&text).map_err(|error| {
        let line = error.span().map(|span| 1 + text[..span.start].matches('\n').count() as u64);
        let place = Place { file: shown.as_str().into(), line, ..Place::default() };
        Diagnostic { place, ..Diagnostic::new(error.message()) }.into_error(ErrorKind::Usage)
    })?;
    let mut words = Vec::new();
    add(&table, &shown, &mut words)?;
    Ok(words)
}

fn add(table: &Table, shown: &str, words: &mut Vec<OsString>) -> Result<()> {
    for (key, value) in table {
        let name = key.replace('_', "-");
        if matches!(name.as_str(), "job" | "worker" | "agent" | "output") {
            return Err(Error::new(ErrorKind::Usage, format!("{shown}: `{key}` cannot be set in a job file")));
        }
        match value {
            Value::Table(group) => add(group, shown, words)?,
            Value::Array(values) => values.iter().try_for_each(|value| one(&name, value, shown, words))?,
            value => one(&name, value, shown, words)?,
        }
    }
    Ok(())
}

fn one(name: &str, value: &Value, shown: &str, words: &mut Vec<OsString>) -> Result<()> {
    let word = match value {
        Value::Boolean(is_on) => match switch(name, *is_on) {
            Some(word) => word,
            None => return Ok(()),
        },
        Value::String(text) => format!("--{name}={text}"),
        Value::Integer(number) => format!("--{name}={number}"),
        Value::Float(number) => format!("--{name}={number}"),
        _ => return Err(Error::new(ErrorKind::Usage, format!("{shown}: `{name}` has a value of an unsupported type"))),
    };
    words.push(word.into());
    Ok(())
}

/// Returns the argument that switches an option on or off, or nothing if that is the default.
fn switch(name: &str, is_on: bool) -> Option<String> {
    let command = manual::command();
    let batch = command.find_subcommand("batch")?;
    let has = |long: &str| {
        let is_named = |argument: &Arg| {
            let aliases = argument.get_all_aliases().unwrap_or_default();
            argument.get_long() == Some(long) || aliases.contains(&long)
        };
        batch.get_arguments().chain(command.get_arguments()).any(is_named)
    };
    let negative = format!("no-{name}");
    let opposite = match name.strip_prefix("no-") {
        // The option `no_lazy` has only the flag `--lazy`.
        Some(positive) if !has(name) => positive,
        _ => negative.as_str(),
    };
    match (is_on, has(name), has(opposite)) {
        (false, _, true) => Some(format!("--{opposite}")),
        (false, true, false) | (true, false, true) => None,
        // The argument parser reports unknown options.
        (true, true, _) | (_, false, false) => Some(format!("--{name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> std::result::Result<Vec<String>, String> {
        let path = std::env::temp_dir().join(format!("polyhaul-job-{}-{}.toml", std::process::id(), text.len()));
        std::fs::write(&path, text).unwrap();
        let words = ["polyhaul", "batch", "in", "--job", path.to_str().unwrap(), "--json"].map(OsString::from).to_vec();
        let result = with_job(words);
        std::fs::remove_file(&path).unwrap();
        match result {
            Ok(words) => Ok(words[3..].iter().map(|word| word.to_string_lossy().into_owned()).collect()),
            Err((_, error)) => Err(error.to_string()),
        }
    }

    #[test]
    fn options_take_the_place_of_their_file() {
        let text = "to = 'ply'\nforce = false\ninclude = ['*.obj', '*.stl']\n[write]\ncopy_assets = true\nlevel = 3\n";
        let expected = ["--include=*.obj", "--include=*.stl", "--to=ply", "--copy-assets", "--level=3", "--json"];
        assert_eq!(words(text).unwrap(), expected);
        assert_eq!(words("uv = false\nno_uv = false\nuvv = false\n").unwrap(), ["--no-uv", "--uvv", "--json"]);
        let text = "uv = true\nno_uv = true\nuvv = true\nquiet = false\n";
        assert_eq!(words(text).unwrap(), ["--no-uv", "--uvv", "--json"]);
    }

    #[test]
    fn aliases_are_switched_like_names() {
        assert_eq!(words("export_uv = false\nno_lazy = false\n").unwrap(), ["--no-export-uv", "--lazy", "--json"]);
        assert_eq!(words("export_uv = true\nno_lazy = true\nforce = true\n").unwrap(), ["--force", "--json"]);
    }

    #[test]
    fn errors_have_their_place() {
        assert!(words("to = 'ply'\n=\n").unwrap_err().contains(".toml:2"));
        assert!(words("worker = true\n").unwrap_err().contains("cannot be set in a job file"));
        assert!(words("to = 1979-05-27\n").unwrap_err().contains("unsupported type"));
    }
}
