//! Rules shared by subcommands with several inputs: the selection of inputs, the outputs allowed, and the exit code.
//!
//! Nothing is read except the member lists of archives and the start of files that may be prose.

use crate::args::many::FindArgs;
use crate::exit::{DONE, FAILED, PARTLY};
use crate::format;
use crate::session::Session;
use polyhaul::inspect;
use polyhaul::many::{self, FindOptions, Source};
use polyhaul::place::{self, PlaceKind, is_url};
use polyhaul::{Error, ErrorKind, Format, ReadOptions, Result};
use polyhaul_fault::planted;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Lists the input files, and the files in input folders that pass `is_included`. Fails if there are none.
pub fn find(
    inputs: &[PathBuf],
    args: &FindArgs,
    options: FindOptions,
    is_included: impl Fn(Format) -> bool,
) -> Result<Vec<Source>> {
    check_streams(inputs)?;
    let sources = many::find(inputs, &options, is_included)?;
    if sources.is_empty() { Err(none_found(inputs, args)) } else { Ok(sources) }
}

/// Like [`find`], but replaces archives that have several members with the members that pass `is_included`. Fails if
/// none does.
pub fn find_all(
    inputs: &[PathBuf],
    args: &FindArgs,
    options: &ReadOptions,
    is_included: impl Fn(Format) -> bool,
) -> Result<Vec<Source>> {
    let is_member = |path: &PathBuf| Format::of_path(path).is_none_or(&is_included);
    let mut sources = Vec::new();
    for source in find(inputs, args, args.options()?, &is_included)? {
        // Keep an archive that cannot be opened: reading it reports the error.
        let members =
            if format::is_stream(&source.path) { Ok(Vec::new()) } else { inspect::members(&source.path, options) };
        match members {
            Ok(members) if !members.is_empty() => {
                sources.extend(members.into_iter().filter(is_member).map(source_of));
            }
            _ => sources.push(source),
        }
    }
    if sources.is_empty() { Err(none_found(inputs, args)) } else { Ok(sources) }
}

fn source_of(path: PathBuf) -> Source {
    let name = path.file_name().unwrap_or_default().into();
    Source { path, name, found: None }
}

/// The error for inputs that contain no files to process.
pub fn none_found(inputs: &[PathBuf], args: &FindArgs) -> Error {
    let shown: Vec<_> = inputs.iter().map(|input| format!("`{}`", place::shown(input))).collect();
    let error = Error::new(ErrorKind::Usage, format!("no files found in {}", shown.join(", ")));
    error.with_hint(match (args.recursive, args.include.is_empty()) {
        (false, _) => "use `--recursive` to search subfolders too",
        (true, true) => "use `--include PATTERN` for files without a known extension",
        (true, false) => "a pattern with a slash is matched against the path relative to the folder",
    })
}

/// Creates the parent folders of outputs.
pub fn create_folders<'a>(outputs: impl Iterator<Item = &'a Path>) -> Result<()> {
    let mut folders: BTreeSet<&Path> = BTreeSet::new();
    folders.extend(outputs.filter_map(Path::parent).filter(|folder| !folder.as_os_str().is_empty() && !is_url(folder)));
    folders.into_iter().try_for_each(|folder| {
        std::fs::create_dir_all(folder).map_err(|e| Error::io("create", &folder.display().to_string(), e))
    })
}

/// Whether the output cannot be a folder: it is a stream or a file, or nothing exists there and it is named like a
/// file.
pub fn is_no_folder(output: &Path) -> bool {
    format::is_stream(output) || is_file_by(output, |path| place::find(path).map(|info| info.kind))
}

/// Whether the output is a file, or would be by its name if nothing exists there. Calls `find` only once, since another
/// process may create the folder in between.
fn is_file_by(output: &Path, find: impl FnOnce(&Path) -> std::io::Result<PlaceKind>) -> bool {
    let is_named_like_file = || Format::of_path(output).is_some();
    if is_url(output) {
        return !place::is_folder(output) && is_named_like_file();
    }
    match find(output) {
        Ok(kind) => kind != PlaceKind::Folder,
        Err(_) => is_named_like_file(),
    }
}

/// Whether outputs are written to a folder: there are several inputs or an input folder, or the output is a folder or
/// ends with a slash.
pub fn is_folder(inputs: &[PathBuf], output: &Path) -> bool {
    let is_folder = place::is_folder(output) && Format::of_path(output).is_none();
    let ends_in_slash = output.to_string_lossy().ends_with(std::path::is_separator);
    inputs.len() > 1 || inputs.iter().any(|input| place::is_folder(input)) || is_folder || ends_in_slash
}

/// Fails if standard input is given more than once, since it can be read only once.
pub fn check_streams(inputs: &[PathBuf]) -> Result<()> {
    let streams = inputs.iter().filter(|path| format::is_stream(path)).count();
    if streams < 2 {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Usage, "standard input (-) is given more than once");
    Err(error.with_hint("use ./- for a file with that name"))
}

/// The exit code after `failed` of `total` inputs failed; `error` is the last failure or the reason for stopping early.
pub fn exit_code(session: &Session, failed: usize, total: usize, error: Option<&Error>) -> u8 {
    let cancelled = error.is_some_and(|error| error.kind() == ErrorKind::Cancelled);
    match failed {
        _ if cancelled => session.exit_code(error),
        0 => DONE,
        1 if total == 1 => session.exit_code(error).max(FAILED),
        _ if failed == total || planted("exit-partly") => FAILED,
        _ => PARTLY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Shards may start together with a new folder, which one of them creates right after another one looked it up.
    #[test]
    fn an_output_is_looked_up_once() {
        let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let is_created = Cell::new(false);
        let find = |_: &Path| if is_created.replace(true) { Ok(PlaceKind::Folder) } else { Err(missing()) };
        assert!(!is_file_by(Path::new("out/r1"), find));
        assert!(is_created.get() && !is_file_by(Path::new("out/r1"), find));
        for (name, kind, is_file) in [
            ("out", PlaceKind::File, true),
            ("out", PlaceKind::Special, true),
            ("out.ply", PlaceKind::Folder, false),
            ("out.ply", PlaceKind::File, true),
        ] {
            assert_eq!(is_file_by(Path::new(name), |_| Ok(kind)), is_file, "{name}");
        }
        assert!(is_file_by(Path::new("out.ply"), |_| Err(missing())));
        assert!(is_file_by(Path::new("s3://bucket/out.ply"), |_| unreachable!("URLs are judged by their text")));
        assert!(!is_file_by(Path::new("s3://bucket/out/"), |_| unreachable!("URLs are judged by their text")));
    }
}
