//! Warnings about anything repaired, skipped, dropped or missing. All are counted by kind; their locations are kept up
//! to a limit.
//!
//! The limit keeps a malicious file from filling memory with warnings.

use crate::error::{Diagnostic, ErrorKind, Result, Warning, try_push};
use crate::limits::{FaultPolicy, OnError};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The number of warnings kept with their locations. Beyond this, only the first [`KEPT_PER_KIND`] of each kind are
/// kept.
pub const KEPT: usize = 1000;

/// The number of warnings of each kind that are always kept.
pub const KEPT_PER_KIND: usize = 3;

/// Whether a part of a file that already keeps complaints of the kinds `codes` also keeps one of kind `code`: if it is
/// among the first [`KEPT`] of the part, or the first [`KEPT_PER_KIND`] of its kind there. A part that keeps
/// fewer would lose what [`Warnings`] keeps of the whole file.
pub fn is_kept<'a>(codes: impl ExactSizeIterator<Item = &'a str>, code: &str) -> bool {
    codes.len() < KEPT || codes.filter(|other| *other == code).take(KEPT_PER_KIND).count() < KEPT_PER_KIND
}

/// The severity of a problem in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Repaired: a warning.
    Note,
    /// Skipped: an error, unless the caller asked to continue.
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
    /// Adds a warning. If there is no memory to keep it, it is still counted.
    pub fn push(&mut self, code: &'static str, diagnostic: Diagnostic) {
        let _counted_only = self.try_add(code, diagnostic);
    }

    /// Adds a warning, with an error if there is no memory to keep it.
    fn try_add(&mut self, code: &'static str, diagnostic: Diagnostic) -> Result<()> {
        self.try_add_many(code, 1, diagnostic)
    }

    fn try_add_many(&mut self, code: &'static str, count: u64, diagnostic: Diagnostic) -> Result<()> {
        let before = *self.counts.entry(code).and_modify(|sum| *sum += count).or_insert(count) - count;
        self.keep(Warning { code, diagnostic, count }, before)
    }

    /// Keeps a warning that is among the first overall or of its kind, given the number `before` it of its kind. The
    /// result does not depend on how warnings are divided into logs.
    fn keep(&mut self, warning: Warning, before: u64) -> Result<()> {
        if self.kept.len() < KEPT || before < KEPT_PER_KIND as u64 {
            return try_push(&mut self.kept, warning, "warnings");
        }
        Ok(())
    }

    /// Adds `count` warnings of one kind, covered by a single message.
    pub fn push_many(&mut self, code: &'static str, count: u64, diagnostic: Diagnostic) {
        if count > 0 {
            let _counted_only = self.try_add_many(code, count, diagnostic);
        }
    }

    /// Counts further warnings of a kind without keeping them.
    pub fn count(&mut self, code: &'static str, count: u64) {
        *self.counts.entry(code).or_default() += count;
    }

    /// Adds a warning about something repaired; with `strict`, returns it as an error.
    pub fn note(&mut self, faults: FaultPolicy, code: &'static str, diagnostic: Diagnostic) -> Result<()> {
        if faults.strict {
            return Err(diagnostic.into_error(ErrorKind::Malformed));
        }
        self.try_add(code, diagnostic)
    }

    /// Like [`Warnings::note`], for `count` problems of one kind, of which only the first has a location.
    pub fn note_many(&mut self, faults: FaultPolicy, code: &'static str, count: u64, first: Diagnostic) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        self.note(faults, code, first)?;
        self.count(code, count - 1);
        Ok(())
    }

    /// Like [`Warnings::note_many`], for valid data that the model cannot represent: with `strict`, the error is
    /// `Unsupported`, not `Malformed`.
    pub fn note_dropped(
        &mut self,
        faults: FaultPolicy,
        code: &'static str,
        count: u64,
        first: Diagnostic,
    ) -> Result<()> {
        if faults.strict && count > 0 {
            return Err(first.into_error(ErrorKind::Unsupported));
        }
        self.note_many(faults, code, count, first)
    }

    /// Adds a warning that `count` coordinates were rounded to 32-bit floats: a loss, which is an error with `strict`, or
    /// a note.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a loss in strict mode.
    pub fn rounded(&mut self, faults: FaultPolicy, is_loss: bool, count: u64, diagnostic: Diagnostic) -> Result<()> {
        if faults.strict && is_loss && count > 0 {
            return Err(diagnostic.into_error(ErrorKind::Unsupported));
        }
        self.push_many("rounded", count, diagnostic);
        Ok(())
    }

    /// Handles a malformed statement: returns an error or, with [`OnError::Warn`], adds a warning and skips the
    /// statement.
    pub fn broken(&mut self, faults: FaultPolicy, code: &'static str, diagnostic: Diagnostic) -> Result<()> {
        match faults.on_error {
            OnError::Warn if !faults.strict => self.try_add(code, diagnostic),
            _ => Err(diagnostic.into_error(ErrorKind::Malformed)),
        }
    }

    /// Returns an error if `strict` is set and writing produced any warnings.
    ///
    /// Called when the plan is complete and before the first byte is written, and again before a file is put in place:
    /// losses depend on the model only, so the error is the same for any number of threads.
    pub fn refuse_losses(&self, strict: bool) -> Result<()> {
        if !strict || self.is_empty() {
            return Ok(());
        }
        let mut diagnostic = self.kept.first().map_or_else(Diagnostic::default, |first| first.diagnostic.clone());
        let first = self.kept.first().map(|first| first.code);
        let others = self.counts.iter().filter(|(code, _)| Some(**code) != first);
        let others: Vec<String> = others.map(|(code, count)| format!("{code}: {count}")).collect();
        if !others.is_empty() {
            diagnostic.message.push_str(&format!(" (also {})", others.join(", ")));
        }
        let is_warning = "without --strict this is a warning";
        diagnostic.hint = Some(match diagnostic.hint {
            Some(remedy) => format!("{remedy}; {is_warning}"),
            None => is_warning.into(),
        });
        Err(diagnostic.into_error(ErrorKind::Unsupported))
    }

    /// The warnings that were kept, in file order: the first [`KEPT`], and the first few of each kind.
    pub fn kept(&self) -> &[Warning] {
        &self.kept
    }

    /// The number of warnings of each kind.
    pub fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }

    /// The total number of warnings.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Whether there were no warnings.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Appends another log. If there is no memory to keep a warning, it is still counted.
    pub fn extend(&mut self, other: Warnings) {
        let mut before = self.counts.clone();
        for warning in other.kept {
            let count_of_kind = before.entry(warning.code).or_default();
            let earlier = *count_of_kind;
            *count_of_kind += warning.count;
            let _counted_only = self.keep(warning, earlier);
        }
        for (code, count) in other.counts {
            *self.counts.entry(code).or_default() += count;
        }
    }
}

/// The subjects of warnings of each kind, singular and plural.
const KINDS: [(&str, [&str; 2]); 49] = [
    ("bad-number", ["invalid number", "invalid numbers"]),
    ("bad-value", ["invalid value", "invalid values"]),
    ("broken-facet", ["invalid facet", "invalid facets"]),
    ("broken-mesh", ["invalid mesh file", "invalid mesh files"]),
    ("changed-samples", ["approximate sample", "approximate samples"]),
    ("conflicting-opacity", ["conflicting opacity", "conflicting opacities"]),
    ("continued-comment", ["continued comment", "continued comments"]),
    ("cut-samples", ["clamped sample", "clamped samples"]),
    ("degenerate-face", ["degenerate face", "degenerate faces"]),
    ("duplicate-material", ["duplicate material", "duplicate materials"]),
    ("element-left-out", ["dropped element", "dropped elements"]),
    ("empty-index", ["missing index", "missing indices"]),
    ("empty-solid", ["empty solid", "empty solids"]),
    ("extra-data", ["piece of extra data", "pieces of extra data"]),
    ("extra-value", ["extra value", "extra values"]),
    ("index-out-of-range", ["index out of range", "indices out of range"]),
    ("mismatched-scopes", ["mismatched scope", "mismatched scopes"]),
    ("missing-coordinate-system", ["undefined coordinate system", "undefined coordinate systems"]),
    ("missing-file", ["unreadable file", "unreadable files"]),
    ("missing-library", ["unreadable material library", "unreadable material libraries"]),
    ("missing-material", ["undefined material", "undefined materials"]),
    ("missing-mesh", ["missing mesh", "missing meshes"]),
    ("missing-name", ["missing name", "missing names"]),
    ("missing-object", ["undefined object", "undefined objects"]),
    ("missing-parameter", ["missing parameter", "missing parameters"]),
    ("missing-texture", ["missing texture", "missing textures"]),
    ("missing-value", ["missing value", "missing values"]),
    ("mixed-corners", ["element with mixed corners", "elements with mixed corners"]),
    ("nested-object", ["nested object", "nested objects"]),
    ("non-finite", ["number that is not finite", "numbers that are not finite"]),
    ("out-of-range", ["value out of range", "values out of range"]),
    ("outside-mesh", ["mesh outside the scene's folder", "meshes outside the scene's folder"]),
    ("outside-reference", ["reference outside the scene's folder", "references outside the scene's folder"]),
    ("outside-texture", ["texture outside the scene's folder", "textures outside the scene's folder"]),
    ("ragged-row", ["row of a different length", "rows of a different length"]),
    ("repeated-parameter", ["repeated parameter", "repeated parameters"]),
    ("repeated-statement", ["repeated statement", "repeated statements"]),
    ("short-face", ["face with fewer than 3 corners", "faces with fewer than 3 corners"]),
    ("unchecked-mesh", ["unchecked mesh", "unchecked meshes"]),
    ("unchecked-texture", ["unchecked texture", "unchecked textures"]),
    ("unclosed-quote", ["unclosed quote", "unclosed quotes"]),
    ("unknown-color-space", ["unknown color space", "unknown color spaces"]),
    ("unknown-directive", ["unknown directive", "unknown directives"]),
    ("unknown-option", ["unknown option", "unknown options"]),
    ("unknown-statement", ["unknown statement", "unknown statements"]),
    ("unmatched-end", ["unmatched end", "unmatched ends"]),
    ("unsupported-statement", ["unsupported statement", "unsupported statements"]),
    ("wrong-block", ["misplaced directive", "misplaced directives"]),
    ("wrong-count", ["wrong number of values", "wrong numbers of values"]),
];

/// Describes `count` warnings of a kind: `undefined materials`. Kinds without a description are named: `` `tga-alpha`
/// warnings ``.
pub fn kind_words(code: &str, count: u64) -> Cow<'static, str> {
    let is_many = count != 1;
    match KINDS.iter().find(|(kind, _)| *kind == code) {
        Some((_, words)) => Cow::Borrowed(words[usize::from(is_many)]),
        None => Cow::Owned(format!("`{code}` warning{}", if is_many { "s" } else { "" })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(log: &mut Warnings, code: &'static str, count: usize) {
        (0..count).for_each(|number| log.push(code, Diagnostic::new(number.to_string())));
    }

    #[test]
    fn the_first_of_each_kind_are_kept_however_many_come_before() {
        let mut whole = Warnings::default();
        numbered(&mut whole, "common", KEPT + 10);
        numbered(&mut whole, "rare", 5);
        assert_eq!((whole.kept().len(), whole.total()), (KEPT + KEPT_PER_KIND, KEPT as u64 + 15));
        let rare: Vec<_> =
            whole.kept()[KEPT..].iter().map(|warning| (warning.code, warning.diagnostic.message.as_str())).collect();
        assert_eq!(rare, [("rare", "0"), ("rare", "1"), ("rare", "2")]);
        // The same from separate logs, in order.
        let mut first = Warnings::default();
        numbered(&mut first, "common", KEPT + 10);
        let mut second = Warnings::default();
        numbered(&mut second, "rare", 5);
        first.extend(second);
        assert_eq!(first, whole);
    }

    #[test]
    fn one_message_may_stand_for_many() {
        let mut log = Warnings::default();
        log.push_many("left-out-normals", 226, Diagnostic::new("226 normals dropped"));
        assert_eq!((log.kept()[0].count, log.total()), (226, 226));
    }

    #[test]
    fn kinds_have_words() {
        assert_eq!(kind_words("missing-material", 1), "undefined material");
        assert_eq!(kind_words("missing-material", 60), "undefined materials");
        assert_eq!(kind_words("tga-alpha", 2), "`tga-alpha` warnings");
        assert!(KINDS.is_sorted_by_key(|(code, _)| *code));
    }
}
