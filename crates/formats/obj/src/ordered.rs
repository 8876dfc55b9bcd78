//! Context of a statement that is processed in file order: its text, location, limits and warnings.

use super::parsed::ObjEvent;
use polyhaul_model::Counts;
use polyhaul_model::error::{Diagnostic, ErrorKind, Excerpt, Place, Result, limit_hint, try_string};
use polyhaul_model::limits::Limits;
use polyhaul_model::names;
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::place::Placer;

/// A name in the file, and its location.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The name as written in the file.
    pub name: String,
    place: Place,
    excerpt: Option<Excerpt>,
}

impl Reference {
    /// Creates a diagnostic that points at the name.
    pub fn diagnostic(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic { place: self.place.clone(), excerpt: self.excerpt.clone(), ..Diagnostic::new(message) }
    }
}

/// A statement with its context.
pub(super) struct OrderedStatement<'a, 'p> {
    pub(super) event: &'a ObjEvent,
    pub(super) name: &'a [u8],
    pub(super) at: Counts,
    pub(super) placer: &'a mut Placer<'p>,
    pub(super) options: &'a ParseOptions,
    pub(super) warnings: &'a mut Warnings,
}

/// Maximum number of references that keep their line for messages.
const EXCERPTS: usize = 100;

impl<'a> OrderedStatement<'a, '_> {
    /// Decodes the statement's text.
    pub(super) fn decoded(&mut self) -> Result<std::borrow::Cow<'a, str>> {
        // Only invalid names are located: locating every statement would dominate the time of the ordered step.
        match std::str::from_utf8(self.name) {
            Ok(name) => Ok(name.into()),
            Err(_) => names::decode(self.name, &self.place(), self.options.faults, self.warnings),
        }
    }

    fn place(&mut self) -> Place {
        self.placer.place(self.event.token.0)
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// Creates a reference to the name, which is reference number `count` of its kind.
    pub(super) fn reference(&mut self, name: &str, count: usize) -> Result<Reference> {
        let excerpt = (count < EXCERPTS).then(|| self.placer.excerpt(self.event.token));
        Ok(Reference { name: try_string(name)?, place: self.place(), excerpt })
    }

    pub(super) fn diagnostic(&mut self, message: impl Into<String>, expected: Option<&str>) -> Diagnostic {
        Diagnostic {
            expected: expected.map(str::to_owned),
            place: self.place(),
            excerpt: Some(self.placer.excerpt(self.event.token)),
            ..Diagnostic::new(message)
        }
    }

    /// Fails if one more object or material, in addition to `count`, exceeds the limit.
    pub(super) fn check_count(&mut self, limit_name: &str, count: usize, limit: u64) -> Result<()> {
        if (count as u64) < limit {
            return Ok(());
        }
        let what = if limit_name == "objects" { "objects or groups" } else { limit_name };
        let error = self
            .diagnostic(format!("more {what} than the limit `{limit_name}` ({limit})"), None)
            .into_error(ErrorKind::Limit);
        Err(error.with_hint(limit_hint(limit_name)))
    }

    /// Reports that the statement is skipped.
    pub(super) fn broken(&mut self, message: &str, expected: Option<&str>) -> Result<()> {
        let what = self.diagnostic(message, expected);
        self.warnings.broken(self.options.faults, "malformed", what)
    }

    /// Warns that the statement is unsupported or was repaired.
    pub(super) fn note(&mut self, code: &'static str, message: &str) -> Result<()> {
        let what = self.diagnostic(message, None);
        self.warnings.note(self.options.faults, code, what)
    }
}
