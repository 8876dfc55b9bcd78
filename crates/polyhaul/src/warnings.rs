//! What was repaired, skipped or missing: counted by kind always, kept with its place up to a cap.
//!
//! The cap keeps a hostile file from filling the memory with its own complaints.

use crate::error::{Diagnostic, ErrorKind, Result, Warning, try_push};
use crate::options::{OnError, ReadOptions};
use std::collections::BTreeMap;

/// How many warnings are kept with their places.
pub const KEPT: usize = 1000;

/// How much a complaint about a text weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// Repaired: a warning.
    Note,
    /// Left out: an error, unless the caller asked to go on.
    Broken,
    /// Always an error.
    Limit,
}

/// A log of warnings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings {
    kept: Vec<Warning>,
    counts: BTreeMap<&'static str, u64>,
}

impl Warnings {
    /// Adds one. Where there is no memory for its place it is counted all the same.
    pub fn push(&mut self, code: &'static str, diagnostic: Diagnostic) {
        let _counted_only = self.try_add(code, diagnostic);
    }

    /// Adds one; a lack of memory for its place is an error.
    fn try_add(&mut self, code: &'static str, diagnostic: Diagnostic) -> Result<()> {
        *self.counts.entry(code).or_default() += 1;
        match self.kept.len() < KEPT {
            true => try_push(&mut self.kept, Warning { code, diagnostic }, "warnings"),
            false => Ok(()),
        }
    }

    /// Adds many of one kind of which only the first has a place.
    pub fn push_many(&mut self, code: &'static str, count: u64, first: Diagnostic) {
        if count > 0 {
            self.push(code, first);
            *self.counts.entry(code).or_default() += count - 1;
        }
    }

    /// Counts more of a kind, without keeping them.
    pub(crate) fn count(&mut self, code: &'static str, count: u64) {
        *self.counts.entry(code).or_default() += count;
    }

    /// A thing that is repaired and noted; with `strict` it is the error.
    pub fn note(&mut self, options: &ReadOptions, code: &'static str, diagnostic: Diagnostic) -> Result<()> {
        if options.strict {
            return Err(diagnostic.into_error(ErrorKind::Malformed));
        }
        self.try_add(code, diagnostic)
    }

    /// A broken statement: the error, or with [`OnError::Warn`] a warning, and it is left out.
    pub fn broken(&mut self, options: &ReadOptions, code: &'static str, diagnostic: Diagnostic) -> Result<()> {
        match options.on_error {
            OnError::Warn if !options.strict => self.try_add(code, diagnostic),
            _ => Err(diagnostic.into_error(ErrorKind::Malformed)),
        }
    }

    /// The warnings that were kept, in the order of the data: the first [`KEPT`].
    pub fn kept(&self) -> &[Warning] {
        &self.kept
    }

    /// How many there were of each kind.
    pub fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Appends another log. Those for whose places there is no memory are counted all the same.
    pub fn extend(&mut self, other: Warnings) {
        let room = KEPT - self.kept.len().min(KEPT);
        let added = room.min(other.kept.len());
        if self.kept.try_reserve(added).is_ok() {
            self.kept.extend(other.kept.into_iter().take(added));
        }
        for (code, count) in other.counts {
            *self.counts.entry(code).or_default() += count;
        }
    }
}
