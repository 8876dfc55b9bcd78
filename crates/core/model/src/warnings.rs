//! Warnings about repaired, skipped, dropped or missing data. All are counted by kind, but only a limited number are
//! kept with their locations.
//!
//! The limit keeps a malicious file from filling memory with warnings.

use crate::error::{Diagnostic, ErrorKind, Result, Warning, planted, try_push};
use crate::limits::{FaultPolicy, OnError};
use crate::severity::{Severity, Strictness, severity};
use std::collections::BTreeMap;

pub use crate::severity::kind_words;

/// Number of warnings to keep with their locations. After these, only the first [`KEPT_PER_KIND`] of each kind are
/// kept.
pub const KEPT: usize = 1000;

/// Number of warnings of each kind that are always kept.
pub const KEPT_PER_KIND: usize = 3;

/// Returns whether a chunk of a file keeps another warning, of kind `code`. `codes` contains the kinds of the warnings
/// that the chunk has already kept. The warning is kept if it is among the first [`KEPT`] of the chunk, or the first
/// [`KEPT_PER_KIND`] of its kind in the chunk. Keeping fewer could lose a warning that [`Warnings`] keeps for the whole
/// file.
pub fn is_kept<'a>(codes: impl ExactSizeIterator<Item = &'a str>, code: &str) -> bool {
    codes.len() < KEPT || codes.filter(|other| *other == code).take(KEPT_PER_KIND).count() < KEPT_PER_KIND
}

/// Formats a count with thousands separators: `1,234`.
pub fn with_separators(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count for a message, with thousands separators from 10,000: `9999`, `1,234,567`. Indices, sizes, limits
/// and numbers that a file declares have no separators, so that they can be searched for and passed to options.
pub fn grouped(count: u64) -> String {
    if count < 10_000 { count.to_string() } else { with_separators(count) }
}

/// Formats a count as in [`grouped`], with its noun and verb: `words` has the singular, then the plural.
///
/// ```
/// use polyhaul_model::warnings::counted;
/// let words = ["material was dropped", "materials were dropped"];
/// assert_eq!([1, 2].map(|count| counted(count, words)), ["1 material was dropped", "2 materials were dropped"]);
/// ```
pub fn counted(count: u64, words: [&str; 2]) -> String {
    format!("{} {}", grouped(count), words[usize::from(count != 1)])
}

/// The severity of a problem in a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Repaired: a warning.
    Note,
    /// Skipped: an error unless the caller chose [`OnError::Warn`].
    Broken,
    /// Always an error.
    Limit,
}

/// A log of warnings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings {
    kept: Vec<Warning>,
    counts: BTreeMap<&'static str, u64>,
    /// The same counts by kind and severity.
    severities: BTreeMap<(&'static str, Severity), u64>,
    /// The format being written, which affects severities; empty while reading.
    target: &'static str,
}

impl Warnings {
    /// Creates the log of a writer. `target` is the name of its format.
    pub fn for_target(target: &'static str) -> Warnings {
        let target = if planted("severity-target") { "" } else { target };
        Warnings { target, ..Warnings::default() }
    }

    /// Adds a warning. If there is no memory for it, it is only counted.
    pub fn push(&mut self, code: &'static str, diagnostic: Diagnostic) {
        self.push_many(code, 1, diagnostic);
    }

    /// Adds `count` warnings of one kind that share one message.
    pub fn push_many(&mut self, code: &'static str, count: u64, diagnostic: Diagnostic) {
        let is_swapped = planted("severity-cell") && (code, self.target) == ("left-out-uvs", "stl");
        let severity = if is_swapped { Severity::Loss } else { severity(code, self.target) };
        self.push_many_as(code, severity, count, diagnostic);
    }

    /// Like [`Warnings::push`], for a kind whose severity depends on the size of the change.
    pub fn push_as(&mut self, code: &'static str, severity: Severity, diagnostic: Diagnostic) {
        self.push_many_as(code, severity, 1, diagnostic);
    }

    /// Like [`Warnings::push_many`], for a kind whose severity depends on the size of the change.
    pub fn push_many_as(&mut self, code: &'static str, severity: Severity, count: u64, diagnostic: Diagnostic) {
        if count > 0 {
            let _counted_only = self.try_add(Warning { code, severity, diagnostic, count });
        }
    }

    /// Adds a warning. Fails if there is no memory to keep it, but still counts it.
    fn try_add(&mut self, warning: Warning) -> Result<()> {
        let before = self.counts.get(warning.code).copied().unwrap_or(0);
        self.add_count(warning.code, warning.severity, warning.count);
        self.keep(warning, before)
    }

    fn add_count(&mut self, code: &'static str, severity: Severity, count: u64) {
        *self.counts.entry(code).or_default() += count;
        *self.severities.entry((code, severity)).or_default() += count << u32::from(planted("warning-twice"));
    }

    /// Keeps a warning if it is among the first overall or among the first of its kind. `before` is the number of
    /// earlier warnings of its kind. The result does not depend on how warnings are split into logs.
    fn keep(&mut self, warning: Warning, before: u64) -> Result<()> {
        if self.kept.len() < KEPT || before < KEPT_PER_KIND as u64 {
            return try_push(&mut self.kept, warning, "warnings");
        }
        Ok(())
    }

    /// Counts further warnings of a kind without keeping them. They get the highest severity of the earlier warnings
    /// or, if there are none, the default severity of the kind.
    pub fn count(&mut self, code: &'static str, count: u64) {
        let kind = (code, Severity::Note)..=(code, Severity::Fault);
        let last = self.severities.range(kind).next_back().map(|((_, severity), _)| *severity);
        self.add_count(code, last.unwrap_or_else(|| severity(code, self.target)), count);
    }

    /// Adds a warning about a repair, or fails if `strict` turns the warning into an error.
    pub fn note(&mut self, faults: FaultPolicy, code: &'static str, diagnostic: Diagnostic) -> Result<()> {
        self.note_as(faults, code, severity(code, faults.target), diagnostic)
    }

    /// Like [`Warnings::note`], for a kind whose severity depends on the size of the change.
    pub fn note_as(
        &mut self,
        faults: FaultPolicy,
        code: &'static str,
        severity: Severity,
        diagnostic: Diagnostic,
    ) -> Result<()> {
        if faults.strict.refuses(code, severity) {
            return Err(diagnostic.into_error(ErrorKind::Malformed));
        }
        self.try_add(Warning { code, severity, diagnostic, count: 1 })
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
        if count > 0 && faults.refuses(code) {
            return Err(first.into_error(ErrorKind::Unsupported));
        }
        self.note_many(faults, code, count, first)
    }

    /// Adds a warning that `count` coordinates were rounded to 32-bit floats, as a loss or a note.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if `strict` turns the warning into an error.
    pub fn rounded(&mut self, faults: FaultPolicy, is_loss: bool, count: u64, diagnostic: Diagnostic) -> Result<()> {
        const CODE: &str = "rounded";
        let severity = if is_loss { Severity::Loss } else { Severity::Note };
        if count > 0 && faults.strict.refuses(CODE, severity) {
            return Err(diagnostic.into_error(ErrorKind::Unsupported));
        }
        self.push_many_as(CODE, severity, count, diagnostic);
        Ok(())
    }

    /// Handles a malformed statement: returns an error or, with [`OnError::Warn`], adds a warning, and the caller skips
    /// the statement.
    pub fn broken(&mut self, faults: FaultPolicy, code: &'static str, diagnostic: Diagnostic) -> Result<()> {
        match faults.on_error {
            OnError::Warn => self.note(faults, code, diagnostic),
            OnError::Raise => Err(diagnostic.into_error(ErrorKind::Malformed)),
        }
    }

    /// Returns the first kept warning that `strict` turns into an error.
    pub fn first_refused(&self, strict: Strictness) -> Option<&Warning> {
        self.kept.iter().find(|warning| strict.refuses(warning.code, warning.severity))
    }

    /// Fails if writing caused any warnings that `strict` turns into errors.
    ///
    /// Called when the plan is complete, before the first byte is written, and again before the output file is
    /// replaced. Losses depend only on the model, so the error is the same for any number of threads.
    pub fn refuse_losses(&self, strict: impl Into<Strictness>) -> Result<()> {
        let strict = strict.into();
        let mut refused: BTreeMap<&str, u64> = BTreeMap::new();
        for ((code, severity), count) in &self.severities {
            if strict.refuses(code, *severity) {
                *refused.entry(code).or_default() += count;
            }
        }
        let Some((first_code, _)) = refused.first_key_value().filter(|_| !planted("strict-losses")) else {
            return Ok(());
        };
        let first = self.first_refused(strict);
        // If there was no memory to keep the warning, only its kind is known.
        let kept_code = first.map_or(*first_code, |first| first.code);
        let mut diagnostic = first.map_or_else(|| Diagnostic::new(*first_code), |first| first.diagnostic.clone());
        let others: Vec<String> = refused
            .iter()
            .filter(|(code, _)| **code != kept_code)
            .map(|(code, count)| format!("{code}: {}", grouped(*count)))
            .collect();
        if !others.is_empty() {
            diagnostic.message.push_str(&format!(" (also {})", others.join(", ")));
        }
        let is_warning = format!("without `--strict` this is a warning; `--allow {kept_code}` accepts it");
        diagnostic.hint = Some(match diagnostic.hint {
            Some(remedy) => format!("{remedy}; {is_warning}"),
            None => is_warning,
        });
        Err(diagnostic.into_error(ErrorKind::Unsupported))
    }

    /// Returns the kept warnings in file order: the first [`KEPT`], and the first few of each kind.
    pub fn kept(&self) -> &[Warning] {
        &self.kept
    }

    /// Returns the number of warnings of each kind.
    pub fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }

    /// Returns the number of warnings of each kind and severity.
    pub fn severities(&self) -> &BTreeMap<(&'static str, Severity), u64> {
        &self.severities
    }

    /// Returns the number of warnings of a severity.
    pub fn total_of(&self, severity: Severity) -> u64 {
        self.severities.iter().filter(|((_, other), _)| *other == severity).map(|(_, count)| count).sum()
    }

    /// Returns the total number of warnings.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Returns whether there were no warnings.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Appends another log. Warnings for which there is no memory are only counted.
    pub fn extend(&mut self, other: Warnings) {
        let mut before = self.counts.clone();
        for warning in other.kept {
            let count_of_kind = before.entry(warning.code).or_default();
            let earlier = *count_of_kind;
            *count_of_kind += warning.count;
            let _counted_only = self.keep(warning, earlier);
        }
        for ((code, severity), count) in other.severities.into_iter().skip(planted("warning-dropped").into()) {
            self.add_count(code, severity, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OptionValue;
    use crate::severity::{KindSet, Strict};

    fn numbered(log: &mut Warnings, code: &'static str, count: usize) {
        (0..count).for_each(|number| log.push(code, Diagnostic::new(number.to_string())));
    }

    #[test]
    fn the_first_of_each_kind_are_kept_however_many_come_before() {
        let mut whole = Warnings::default();
        numbered(&mut whole, "unknown-statement", KEPT + 10);
        numbered(&mut whole, "missing-material", 5);
        assert_eq!((whole.kept().len(), whole.total()), (KEPT + KEPT_PER_KIND, KEPT as u64 + 15));
        let rare: Vec<_> =
            whole.kept()[KEPT..].iter().map(|warning| (warning.code, warning.diagnostic.message.as_str())).collect();
        assert_eq!(rare, [("missing-material", "0"), ("missing-material", "1"), ("missing-material", "2")]);
        // The same with separate logs, in order.
        let mut first = Warnings::default();
        numbered(&mut first, "unknown-statement", KEPT + 10);
        let mut second = Warnings::default();
        numbered(&mut second, "missing-material", 5);
        first.extend(second);
        assert_eq!(first, whole);
    }

    #[test]
    fn large_counts_have_separators() {
        let counts = [0, 1, 9_999, 10_000, 1_691_654, u64::MAX].map(grouped);
        assert_eq!(counts, ["0", "1", "9999", "10,000", "1,691,654", "18,446,744,073,709,551,615"]);
        assert_eq!([1, 999, 1_000, 123_456].map(with_separators), ["1", "999", "1,000", "123,456"]);
        let words = ["polygon was", "polygons were"];
        assert_eq!(counted(1_691_654, words), "1,691,654 polygons were");
    }

    #[test]
    fn one_message_may_stand_for_many() {
        let mut log = Warnings::default();
        log.push_many("left-out-normals", 226, Diagnostic::new("226 normals dropped"));
        assert_eq!((log.kept()[0].count, log.total()), (226, 226));
    }

    #[test]
    fn severities_follow_the_target() {
        let mut log = Warnings::for_target("stl");
        log.push_many("left-out-uvs", 14, Diagnostic::new("14 UVs dropped"));
        log.push_as("rounded", Severity::Loss, Diagnostic::new("rounded by 1 m"));
        log.push_as("rounded", Severity::Note, Diagnostic::new("rounded by 1 nm"));
        log.count("left-out-uvs", 2);
        let mut whole = Warnings::default();
        whole.extend(log);
        assert_eq!(Severity::ALL.map(|severity| whole.total_of(severity)), [17, 1, 0]);
        assert_eq!((whole.counts()["left-out-uvs"], whole.counts()["rounded"]), (16, 2));
        let error = whole.refuse_losses(true).unwrap_err();
        assert_eq!(error.diagnostic().message, "rounded by 1 m");
        let error = whole.refuse_losses(Strict::All).unwrap_err();
        assert_eq!(error.diagnostic().message, "14 UVs dropped (also rounded: 2)");
        let allow = KindSet::parse("rounded").unwrap();
        whole.refuse_losses(Strictness { level: Strict::Losses, allow }).unwrap();
    }

    #[test]
    fn reading_refuses_what_the_target_would_lose() {
        let policy =
            |target| FaultPolicy { on_error: OnError::Warn, strict: true.into(), target, ..FaultPolicy::default() };
        let mut log = Warnings::default();
        let mut drop_culling =
            |target| log.note_dropped(policy(target), "left-out-culling", 1, Diagnostic::new("hidden"));
        assert!(drop_culling("").is_err() && drop_culling("glb").is_err());
        drop_culling("stl").unwrap();
        assert!(log.broken(policy("stl"), "bad-value", Diagnostic::new("x")).is_err());
        let allow = KindSet::parse("bad-value").unwrap();
        let strict = Strictness { level: Strict::Losses, allow };
        log.broken(FaultPolicy { strict, ..policy("stl") }, "bad-value", Diagnostic::new("x")).unwrap();
    }
}
