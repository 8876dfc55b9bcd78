//! Validates an input: collects all warnings from reading, makes additional checks, and determines whether a normal
//! read would fail.
//!
//! Reads the input to the end and collects every warning. If there are any, reads it again and stops at the first
//! error, so no separate list of serious warnings is needed.

use super::faces::FaceNumbering;
use super::{RenderInventory, faces, textures};
use crate::input::Input;
use crate::load::{Content, ContentShape, load_as};
use crate::open::Opened;
use crate::options::{ReadOptions, Strict};
use crate::report::Report;
use polyhaul_geometry::splat_motion::has_splats;
use polyhaul_geometry::splat_shape::{self, BrokenSplat};
use polyhaul_model::Scene;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result};
use polyhaul_model::limits::OnError;
use polyhaul_model::severity::Severity;
use polyhaul_model::splats::HARMONICS;
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_pipeline::crew::within;
use std::borrow::Cow;

/// The result of validating an input.
#[derive(Clone, Debug)]
pub struct Validation {
    /// The report of the read. Its warnings are all problems found: first the warnings from reading, in file order,
    /// then warnings about faces, Gaussian splats and referenced files.
    pub report: Report,
    /// The error, if any, that would stop a read with [`OnError::Raise`]. It is also among the warnings, except for
    /// errors that always stop reading, such as an exceeded limit; nothing else is reported then.
    pub error: Option<Error>,
    /// Whether the file follows the rules of its format: a read succeeds, and no warning is a [`Severity::Fault`].
    /// Content that polyhaul cannot represent, and other losses, do not make it invalid.
    pub valid: bool,
}

/// Reads an input to the end and lists every problem with its location.
///
/// In addition to the warnings from reading, reports `degenerate-face` (a face uses a position twice), `broken-splats`
/// (Gaussian splats have values that no splat format can store) and `incomplete-harmonics` (a set of spherical
/// harmonics is incomplete). If the input is a file or there is a resolver, also reports `missing-texture` (a texture
/// was not found relative to the scene or its material libraries), `outside-texture` (a texture is outside the scene's
/// folder), `irregular-texture` (a texture is not a regular file) and `unchecked-texture` (more than
/// [`crate::options::Limits::files`] files to look up).
///
/// An input with problems is read twice. An input that can be read only once (standard input, a pipe,
/// [`Input::Reader`]) is therefore buffered in memory, without decompressing it. `options.on_error` and
/// `options.strict` are ignored.
///
/// ```
/// use polyhaul::{Input, ReadOptions, inspect};
///
/// let text = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 2\nf 1 2 x\nf 1 2 9\n".to_vec();
/// let input = Input::Memory(text, "broken.obj".into());
/// let validation = inspect::validate(input, &ReadOptions::default())?;
/// assert!(!validation.valid);
/// assert_eq!(validation.error.unwrap().place().line, Some(5));
/// let complaints = validation.report.warnings;
/// assert_eq!(complaints.kept()[0].diagnostic.place.line, Some(5));
/// assert_eq!(complaints.kept()[1].diagnostic.place.line, Some(6));
/// assert_eq!(complaints.counts()["degenerate-face"], 1);
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// Only if the data could not be checked: the input cannot be opened or read, its format is unknown, memory ran out, or
/// the job was cancelled.
pub fn validate(input: impl Into<Input>, options: &ReadOptions) -> Result<Validation> {
    within(&options.run, || check(input.into(), options))
}

fn check(input: Input, options: &ReadOptions) -> Result<Validation> {
    let input = Opened::new(input, options)?.kept(&options.run.cancel)?;
    let lenient = ReadOptions { on_error: OnError::Warn, strict: Strict::Off, is_thorough: true, ..options.clone() };
    let (mut read, mut report) = match judged(load_as(&input, &lenient, &ContentShape::from_format))? {
        Ok(loaded) => loaded,
        Err(error) => {
            let valid = !is_fault(&error);
            return Ok(Validation { report: Report::default(), error: Some(error), valid });
        }
    };
    let doubtful = !report.warnings.is_empty();
    if let Content::Scene(scene) = &read.content {
        let numbering = if read.format.name() == "obj" { FaceNumbering::FromOne } else { FaceNumbering::FromZero };
        faces::check(scene, numbering, input.name(), &options.run.cancel, &mut report.warnings)?;
        check_splats(scene, input.name(), options, &mut report.warnings)?;
        textures::check(scene, input.near(), input.name(), options, &mut report.warnings)?;
        if let Some(mut inventory) = RenderInventory::from_scene(scene)?
            && let Some(render) = &scene.render
            && let Some(files) = read.details.files.take()
        {
            inventory.look_around(render, files, input.near(), input.name(), options, &mut report.warnings)?;
        }
    }
    // Free the scene before reading again; two scenes would need twice the memory.
    drop(read);
    let plain = ReadOptions { on_error: OnError::Raise, ..lenient };
    let error = if doubtful { judged(load_as(&input, &plain, &ContentShape::from_format))?.err() } else { None };
    let valid = !error.as_ref().is_some_and(is_fault) && report.warnings.total_of(Severity::Fault) == 0;
    Ok(Validation { report, error, valid })
}

/// Reports Gaussian splats that cannot be drawn or converted.
fn check_splats(scene: &Scene, file: &str, options: &ReadOptions, warnings: &mut Warnings) -> Result<()> {
    if !scene.meshes.iter().any(has_splats) {
        return Ok(());
    }
    // Additions and rounding by conversions are not faults of the file.
    let scene = match splat_shape::complete(Cow::Borrowed(scene), file, &mut Warnings::default()) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            warnings.push("incomplete-harmonics", complaint(error.to_string(), file));
            return Ok(());
        }
        scene => scene?,
    };
    for mesh in &scene.meshes {
        let broken = splat_shape::broken(mesh, HARMONICS.len() - 1, &options.run)?;
        let Some(BrokenSplat { splat, column }) = broken.first() else { continue };
        let what = counted(broken.len() as u64, ["splat has a value", "splats have values"]);
        let message = format!("{what} that no splat format can store (first: `{column}` of splat {splat})");
        warnings.push_many("broken-splats", broken.len() as u64, complaint(message, file));
    }
    Ok(())
}

/// Separates errors about the data (inner result) from all other errors.
fn judged<T>(result: Result<T>) -> Result<Result<T>> {
    match result {
        Err(error) if !is_verdict(error.kind()) => Err(error),
        verdict => Ok(verdict),
    }
}

fn is_verdict(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Malformed | ErrorKind::Limit | ErrorKind::Unsupported)
}

/// Whether an error is a fault of the file, rather than content that polyhaul cannot represent.
fn is_fault(error: &Error) -> bool {
    error.kind() != ErrorKind::Unsupported
}

/// A warning about the whole file, without a line number: the model does not store line numbers.
pub(super) fn complaint(message: String, file: &str) -> Diagnostic {
    Diagnostic { place: Place { file: file.into(), ..Place::default() }, ..Diagnostic::new(message) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    const BROKEN: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nwhat 1\nf 1 2 3\nf 1 x 3\nf 3 3 1\n";

    fn memory(text: &str) -> Input {
        Input::Memory(text.into(), "a.obj".into())
    }

    fn check(text: &str) -> Validation {
        validate(memory(text), &ReadOptions::default()).unwrap()
    }

    #[test]
    fn the_error_is_that_of_a_plain_read() {
        let validation = check(BROKEN);
        let error = validation.error.unwrap();
        let plain = crate::Reader::new(memory(BROKEN)).scene().unwrap_err();
        assert_eq!((error.kind(), error.diagnostic()), (plain.kind(), plain.diagnostic()));
        assert_eq!((error.place().line, validation.valid), (Some(6), false));
        let lines: Vec<_> = validation.report.warnings.kept().iter().map(|w| w.diagnostic.place.line).collect();
        assert_eq!(lines, [Some(4), Some(6), None]);
    }

    #[test]
    fn faults_alone_make_a_file_invalid() {
        let folded = "v 0 0 0\nv 1 0 0\nf 1 2 2\n";
        let strict = ReadOptions::default().with_strict(true);
        for (text, is_valid) in [(folded.to_owned(), true), (format!("{folded}what 1\n"), false)] {
            let lenient = check(&text);
            let strictly = validate(memory(&text), &strict).unwrap();
            assert_eq!((lenient.valid, strictly.valid), (is_valid, is_valid));
            assert!(lenient.error.is_none() && strictly.error.is_none());
            assert_eq!(strictly.report.warnings, lenient.report.warnings);
        }
    }

    #[test]
    fn a_stream_gives_what_memory_gives() {
        // More than one step of reading into memory.
        let long = "# fill\n".repeat(200_000) + BROKEN;
        let stream = Input::Reader(Box::new(std::io::Cursor::new(long.clone())), "a.obj".into());
        let streamed = validate(stream, &ReadOptions::default()).unwrap();
        let held = check(&long);
        assert_eq!(streamed.report.warnings, held.report.warnings);
        assert_eq!(streamed.error.map(|e| e.diagnostic().clone()), held.error.map(|e| e.diagnostic().clone()));
        assert_eq!(streamed.report.bytes_in, held.report.bytes_in);
    }

    #[test]
    fn a_limit_is_a_verdict_and_what_cannot_be_read_is_none() {
        let mut options = ReadOptions::default();
        options.limits.elements = 2;
        let error = validate(memory(BROKEN), &options).unwrap().error.unwrap();
        assert_eq!(error.kind(), ErrorKind::Limit);
        let error = validate(Input::Path("no such file.obj".into()), &ReadOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        options.run.cancel.cancel();
        assert_eq!(validate(memory(BROKEN), &options).unwrap_err().kind(), ErrorKind::Cancelled);
        let endless = Input::Reader(Box::new(std::io::repeat(b'#')), "a.obj".into());
        assert_eq!(validate(endless, &options).unwrap_err().kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn a_sound_input_is_read_once() {
        let read = |text: &str| {
            let calls = Arc::new(AtomicU64::new(0));
            let counted = calls.clone();
            let mut options = ReadOptions::default();
            let count = move |_, _| {
                counted.fetch_add(1, Ordering::Relaxed);
            };
            options.run.progress = Some(polyhaul_pipeline::options::Progress(Arc::new(count)));
            validate(memory(text), &options).unwrap();
            calls.load(Ordering::Relaxed)
        };
        let fill = "# fill\n".repeat(800_000);
        assert_eq!((read(&fill), read(&(fill.clone() + "f 1 2\n"))), (1, 2));
    }
}
