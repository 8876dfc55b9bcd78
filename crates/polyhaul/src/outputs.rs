//! Outputs: destinations, compression, and atomic replacement of several files.
//!
//! All files are written as temporary files, then renamed, the main file last. A failure before the renames leaves the
//! disk unchanged; a failure during the renames removes new files and preserves the old main file. The content of files
//! is up to `save`, `obj`, `pbrt` and `references`.

use crate::format::{Format, only_reads};
use crate::input::Output;
use crate::options::{self, WriteOptions};
use crate::report::{FileWritten, Report};
use polyhaul_bytes::place;
use polyhaul_bytes::{Codec, Complete, FileOptions, Sink};
use polyhaul_insight::Moved;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::write::{Compression, Writing};
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A complete temporary file, before its rename.
pub(crate) struct Written {
    /// Name for messages.
    pub(crate) name: String,
    pub(crate) file: Complete,
    /// Its entry in the report.
    pub(crate) moved: Moved,
    /// Its path, if it must not replace an existing file.
    pub(crate) is_new_at: Option<PathBuf>,
    /// Whether it is a copy of a referenced file.
    pub(crate) is_copy: bool,
}

impl Written {
    /// A file that may replace an existing file.
    pub(crate) fn new(name: String, file: Complete, moved: Moved) -> Written {
        Written { name, file, moved, is_new_at: None, is_copy: false }
    }
}

/// The output's path if it is, or will be, a regular file, so that other files can be written next to it. `None` for
/// streams, devices and pipes.
pub(crate) fn file_of(output: &Output) -> Option<&Path> {
    match output {
        Output::Path(path) if path.metadata().map_or(true, |metadata| metadata.is_file()) => Some(path),
        _ => None,
    }
}

/// Renames all files in order, and adds them to the report.
pub(crate) fn put_in_place(complete: Vec<Written>, report: &mut Report) -> Result<()> {
    let mut notes = Vec::new();
    let mut files = Vec::new();
    notes.try_reserve_exact(complete.len())?;
    files.try_reserve_exact(complete.len())?;
    report.files.try_reserve(complete.len())?;
    for Written { name, file, moved, is_new_at, is_copy } in complete {
        if is_new_at.is_some_and(|path| path.symlink_metadata().is_ok()) {
            let exists = io::Error::new(io::ErrorKind::AlreadyExists, "another program created a file with this name");
            return Err(Error::io("write", &name, exists));
        }
        notes.push((name, moved, is_copy));
        files.push(file);
    }
    let finished = Complete::put_all_in_place(files).map_err(|(number, error)| {
        let name = notes.get(number).map_or("the scene", |(name, ..)| name);
        Error::io("write", name, error)
    })?;
    let is_beside = |moved: &Moved, is_copy: bool| is_copy || moved.format == Some("mtl");
    // The asset itself comes first in the report.
    for beside in [false, true] {
        for ((name, moved, is_copy), file) in notes.iter().zip(&finished) {
            if is_beside(moved, *is_copy) == beside {
                let path = name.clone();
                let bytes = file.counters.bytes;
                report.files.push(FileWritten { path, bytes, hash: file.hash });
                report.copied_files += u64::from(*is_copy);
                report.copied_bytes += if *is_copy { file.counters.bytes } else { 0 };
                report.note_written(moved.clone(), file.counters.bytes);
            }
        }
    }
    Ok(())
}

/// Name of an output, for messages.
pub(crate) fn name_of(output: &Output) -> Cow<'_, str> {
    match output {
        Output::Path(path) if place::is_url(path) => place::shown(path).into(),
        Output::Path(path) => path.to_string_lossy(),
        Output::Writer(_, name) | Output::Host(_, name) => name.into(),
        Output::Stdout => "standard output".into(),
    }
}

/// Error for a compression level without compression.
fn level_of_nothing() -> Error {
    let error = Error::new(ErrorKind::Usage, "a compression level is set, but the output is not compressed");
    error.with_hint("choose a codec (--compress gzip, zstd or lz4), or use a name that ends in .gz, .zst or .lz4")
}

/// Compression of the output, from the options and its name.
pub(crate) fn compression_of(output: &Output, options: &WriteOptions) -> Result<Option<Compression>> {
    let name = match output {
        // Only the end of the name matters: bytes that are not UTF-8 may precede it.
        Output::Path(path) => path.file_name().unwrap_or_default().to_string_lossy(),
        output => name_of(output),
    };
    let codec = match (options.compression, Codec::of_name(&name)) {
        (options::Compression::None, _) if options.level.is_some() => return Err(level_of_nothing()),
        (options::Compression::None, _) => return Ok(None),
        (options::Compression::Gzip, _) => Codec::Gzip,
        (options::Compression::Zstd, _) => Codec::Zstd,
        (options::Compression::Lz4, _) => Codec::Lz4,
        (options::Compression::Auto, Some((codec, _))) => codec,
        (options::Compression::Auto, None) if options.level.is_none() => return Ok(None),
        (options::Compression::Auto, None) => return Err(level_of_nothing()),
    };
    match options.level {
        Some(level) if !codec.levels().contains(&level) => Err(no_level(codec, level)),
        level => Ok(Some(Compression { codec, level })),
    }
}

/// Checks that an output supports the compression in the options.
pub(crate) fn check_compression(output: &Output, options: &WriteOptions) -> Result<()> {
    compression_of(output, options).map(drop)
}

fn no_level(codec: Codec, level: i32) -> Error {
    let levels = codec.levels();
    let hint = match (levels.start(), levels.end()) {
        (first, last) if first == last => format!("{codec} has only one level; omit the level"),
        (first, last) => format!("choose a level from {first} (fastest) to {last} (smallest)"),
    };
    Error::new(ErrorKind::Usage, format!("{codec} has no level {level}")).with_hint(hint)
}

/// Opens an output, limited to the rate in `run`; also returns its name for messages.
pub(crate) fn open(output: Output, options: FileOptions, run: &RunOptions) -> Result<(Sink<'static>, String)> {
    let (sink, name) = match output {
        Output::Path(path) => {
            let name = place::shown(&path);
            let sink = Sink::file_until(&path, options, run.cancel.flag());
            (sink.map_err(|e| Error::io("create", &name, e))?, name)
        }
        Output::Stdout => {
            (Sink::stdout().map_err(|e| Error::io("open", "standard output", e))?, "standard output".into())
        }
        Output::Writer(writer, name) => (Sink::writer(writer, name.clone()), name),
        Output::Host(host, name) => (Sink::host(host, name.clone()), name),
    };
    Ok((run.paced_sink(sink), name))
}

/// Report entry for the bytes written by `writing`.
pub(crate) fn moved(
    writing: &Writing<'_, '_>,
    format: Option<&'static str>,
    compression: Option<Compression>,
    options: &WriteOptions,
) -> Moved {
    let mut moved = Moved::default().durable(options.durable);
    moved.format = format;
    moved.codec = compression.map(|compression| compression.codec);
    moved.plain_bytes = writing.written();
    moved
}

/// Writes a single file; `write` receives the name of the output.
pub(crate) fn write_to(
    output: Output,
    format: Option<&'static str>,
    options: &WriteOptions,
    report: &mut Report,
    write: impl FnOnce(&mut Writing<'_, '_>, &str, &mut Warnings) -> Result<()>,
) -> Result<()> {
    write_with(Vec::new(), output, format, options, report, write)
}

/// Like [`write_to`], but first renames `files`, which the output refers to.
pub(crate) fn write_with(
    files: Vec<Written>,
    output: Output,
    format: Option<&'static str>,
    options: &WriteOptions,
    report: &mut Report,
    write: impl FnOnce(&mut Writing<'_, '_>, &str, &mut Warnings) -> Result<()>,
) -> Result<()> {
    let mut opening = Opening::new(files, output, format, options, report)?;
    write(&mut opening.writing, &opening.name, &mut report.warnings)?;
    opening.finish(report)
}

/// An open output.
pub(crate) struct Opening<'o> {
    pub(crate) writing: Writing<'static, 'o>,
    name: String,
    /// Files to rename before the output.
    files: Vec<Written>,
    format: Option<&'static str>,
    compression: Option<Compression>,
    options: &'o WriteOptions,
}

impl<'o> Opening<'o> {
    /// Opens an output, unless the report contains losses that the options refuse.
    pub(crate) fn new(
        files: Vec<Written>,
        output: Output,
        format: Option<&'static str>,
        options: &'o WriteOptions,
        report: &Report,
    ) -> Result<Opening<'o>> {
        report.warnings.refuse_losses(options.strictness())?;
        let compression = compression_of(&output, options)?;
        let (sink, name) = open(output, options.file_options(), &options.run)?;
        let writing = Writing::new(sink, compression, &options.run)?;
        Ok(Opening { writing, name, files, format, compression, options })
    }

    /// Finishes the output and renames it into place.
    pub(crate) fn finish(self, report: &mut Report) -> Result<()> {
        let Opening { writing, name, mut files, format, compression, options } = self;
        report.warnings.refuse_losses(options.strictness())?;
        report.threads = writing.threads();
        let moved = moved(&writing, format, compression, options);
        let file = writing.finish()?.complete().map_err(|e| Error::io("write", &name, e))?;
        try_push(&mut files, Written::new(name, file, moved), "the plan")?;
        put_in_place(files, report)
    }
}

/// Format of an output: from the options, from its name, or the default.
pub(crate) fn format_of(output: &Output, options: &WriteOptions) -> Result<Format> {
    if cfg!(not(feature = "writing")) {
        return Err(only_reads());
    }
    requested_format(output, options)?.built()
}

fn requested_format(output: &Output, options: &WriteOptions) -> Result<Format> {
    match (options.format, output) {
        (Some(format), _) => Ok(format),
        (None, Output::Path(path)) => Format::of_path(path).ok_or_else(|| {
            let message = format!("cannot infer the output format from `{}`", path.display());
            Error::new(ErrorKind::Usage, message).with_hint(format!(
                "use a name that ends in .{}, or specify the format, as in `--to obj`",
                Format::ALL.map(Format::name).join(", .")
            ))
        }),
        (None, Output::Host(_, name)) => Ok(Format::of_path(Path::new(name)).unwrap_or(Format::DEFAULT)),
        (None, _) => Ok(Format::DEFAULT),
    }
}

/// Returns the bytes that `write` writes to an output with this name, and the result of `write`.
pub(crate) fn write_to_memory<T>(name: &str, write: impl FnOnce(Output) -> Result<T>) -> Result<(Vec<u8>, T)> {
    let collected = Collected::default();
    let result = write(Output::Writer(Box::new(collected.clone()), name.into()))?;
    let bytes = std::mem::take(&mut *collected.0.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((bytes, result))
}

/// A writer whose bytes outlive it.
#[derive(Clone, Default)]
struct Collected(Arc<Mutex<Vec<u8>>>);

impl io::Write for Collected {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut collected = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        collected.try_reserve(bytes.len()).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        collected.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
