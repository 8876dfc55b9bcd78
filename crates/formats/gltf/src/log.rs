//! Collects the warnings of the reader and creates its errors, with the name of the file.
//!
//! Messages name the JSON property, such as `accessors[3].bufferView`. Losses are counted by kind, and the first few of
//! each kind have messages.

use polyhaul_geometry::losses::LeftOut;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result, elements_hint, limit_hint, try_push};
use polyhaul_model::limits::FaultPolicy;
use polyhaul_model::names::MAX_LISTED;
use polyhaul_model::warnings::{Warnings, counted};
use std::sync::Arc;

/// Creates the error for data that violates the specification.
pub(crate) fn malformed(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Malformed, message)
}

/// Creates the error for data that requires an unsupported feature.
pub(crate) fn unsupported(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}

/// Creates the error for data that exceeds the limit `name`. `what` is a plural noun phrase, such as `the objects of
/// the scene`.
pub(crate) fn over_limit(what: &str, limit: u64, name: &str) -> Error {
    let message = format!("{what} exceed the limit `{name}` ({limit})");
    let hint = if name == "elements" { elements_hint(limit) } else { Some(limit_hint(name)) };
    Diagnostic { hint, ..Diagnostic::new(message) }.into_error(ErrorKind::Limit)
}

/// Warnings of a file.
pub(crate) struct GltfLog {
    file: Arc<str>,
    pub(crate) faults: FaultPolicy,
    warnings: Warnings,
    losses: Vec<Loss>,
}

/// Losses of one kind: data that the model cannot represent.
struct Loss {
    code: &'static str,
    /// Messages of the first losses, each with the number of items that it covers.
    kept: Vec<(u64, Diagnostic)>,
    /// Number of other items, which have no messages.
    rest: u64,
}

impl GltfLog {
    pub(crate) fn new(file: &str, faults: FaultPolicy) -> GltfLog {
        GltfLog { file: file.into(), faults, warnings: Warnings::default(), losses: Vec::new() }
    }

    /// Warns about a repaired value. Fails if [`GltfLog::faults`] refuses the warning.
    pub(crate) fn note(&mut self, code: &'static str, message: String) -> Result<()> {
        let diagnostic = self.diagnostic(message);
        self.warnings.note(self.faults, code, diagnostic)
    }

    /// Turns an error about malformed data into a warning if faults are skipped. Returns any other error.
    pub(crate) fn skip(&mut self, code: &'static str, error: Error) -> Result<()> {
        if error.kind() != ErrorKind::Malformed || self.faults.raises() {
            return Err(error);
        }
        let diagnostic = self.diagnostic(error.diagnostic().message.clone());
        self.warnings.broken(self.faults, code, diagnostic)
    }

    /// Warns that `count` transforms were rounded to 32-bit floats, as a loss or as a note.
    pub(crate) fn rounded(&mut self, faults: FaultPolicy, is_loss: bool, count: u64, message: String) -> Result<()> {
        let diagnostic = self.diagnostic(message);
        self.warnings.rounded(faults, is_loss, count, diagnostic)
    }

    /// Counts valid data that the model cannot represent.
    pub(crate) fn lose(&mut self, code: &'static str, count: u64, message: impl FnOnce() -> String) -> Result<()> {
        self.lose_about(code, count, message, None)
    }

    /// Counts valid data that the model cannot represent, with the name of the affected item.
    pub(crate) fn lose_about(
        &mut self,
        code: &'static str,
        count: u64,
        message: impl FnOnce() -> String,
        subject: Option<&str>,
    ) -> Result<()> {
        self.keep(code, count, |log| {
            let diagnostic = log.diagnostic(message());
            if let Some(subject) = subject { diagnostic.about(subject) } else { diagnostic }
        })
    }

    /// Counts a loss. Stores its message if it is among the first of its kind.
    fn keep(&mut self, code: &'static str, count: u64, describe: impl FnOnce(&GltfLog) -> Diagnostic) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        // A linear search, because there is one entry per kind of loss, however many losses there are.
        let existing = self.losses.iter().position(|loss| loss.code == code);
        let number = existing.unwrap_or(self.losses.len());
        if existing.is_none() {
            try_push(&mut self.losses, Loss { code, kept: Vec::new(), rest: 0 }, "warnings")?;
        }
        if self.losses[number].kept.len() == MAX_LISTED {
            self.losses[number].rest = self.losses[number].rest.saturating_add(count);
            return Ok(());
        }
        // Created only for losses that are kept, because a file may have very many.
        let diagnostic = describe(self);
        try_push(&mut self.losses[number].kept, (count, diagnostic), "warnings")
    }

    /// Counts dropped items, such as cameras, and stores the names of the first few.
    pub(crate) fn lose_named<'n>(
        &mut self,
        code: &'static str,
        words: [&str; 2],
        names: impl IntoIterator<Item = Option<&'n str>>,
    ) -> Result<()> {
        let left_out = LeftOut::named(code, [""; 2], names.into_iter().map(Option::unwrap_or_default));
        let message = counted(left_out.count, words) + &left_out.listed();
        self.keep(code, left_out.count, |log| Diagnostic { names: left_out.names, ..log.diagnostic(message) })
    }

    /// Returns all warnings, with losses last.
    pub(crate) fn finish(mut self) -> Result<Warnings> {
        for Loss { code, kept, rest } in self.losses {
            for (count, diagnostic) in kept {
                self.warnings.note_dropped(self.faults, code, count, diagnostic)?;
            }
            if rest > 0 {
                self.warnings.count(code, rest);
            }
        }
        Ok(self.warnings)
    }

    fn diagnostic(&self, message: String) -> Diagnostic {
        Diagnostic { place: self.place(), ..Diagnostic::new(message) }
    }

    fn place(&self) -> Place {
        Place { file: self.file.clone(), ..Place::default() }
    }
}

/// Adds the name of the file to an error that has none.
pub(crate) fn located(error: Error, file: &str) -> Error {
    // Errors of other kinds, such as out of memory or cancellation, are not about the file.
    let is_ours =
        matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Unsupported | ErrorKind::Limit | ErrorKind::Io);
    if !is_ours || !error.place().file.is_empty() || error.io_error().is_some() {
        return error;
    }
    let place = Place { file: file.into(), ..error.place().clone() };
    Diagnostic { place, ..error.diagnostic().clone() }.into_error(error.kind())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_name_the_first_few() {
        let mut log = GltfLog::new("a.glb", FaultPolicy::default());
        let words = ["camera was dropped", "cameras were dropped"];
        log.lose_named("left-out-cameras", words, [Some("eye"), None, Some("top")]).unwrap();
        for number in 0..20 {
            log.lose("left-out-morph-targets", 2, || format!("meshes[{number}]: morph targets were dropped")).unwrap();
        }
        let warnings = log.finish().unwrap();
        let messages: Vec<_> = warnings.kept().iter().map(|warning| &*warning.diagnostic.message).collect();
        assert_eq!(messages.len(), 1 + MAX_LISTED);
        assert_eq!(messages[0], "3 cameras were dropped: `eye`, `top` and 1 more");
        assert_eq!(messages[2], "meshes[1]: morph targets were dropped");
        assert_eq!((warnings.counts()["left-out-cameras"], warnings.counts()["left-out-morph-targets"]), (3, 40));
    }

    #[test]
    fn losses_are_counted_by_kind_and_errors_get_a_place() {
        let mut log = GltfLog::new("a.glb", FaultPolicy::default());
        log.lose("left-out-skins", 2, || "first".into()).unwrap();
        log.lose("left-out-skins", 3, || "second".into()).unwrap();
        log.lose("left-out-cameras", 0, || "none".into()).unwrap();
        let warnings = log.finish().unwrap();
        assert_eq!((warnings.total(), warnings.kept()[0].diagnostic.to_string()), (5, "a.glb: first".into()));
        assert_eq!(located(malformed("x"), "a.glb").to_string(), "a.glb: x");
        let error = located(over_limit("6 objects", 5, "objects"), "a.glb");
        assert!(
            error.diagnostic().hint.is_some() && error.to_string() == "a.glb: 6 objects exceed the limit `objects` (5)"
        );
    }

    #[test]
    fn losses_are_errors_with_strict() {
        let mut log = GltfLog::new("a.glb", FaultPolicy { strict: true.into(), ..FaultPolicy::default() });
        log.lose("left-out-skins", 1, || "skins".into()).unwrap();
        assert_eq!(log.finish().unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
