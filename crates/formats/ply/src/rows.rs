//! Shared parts of reading rows in any encoding: targets, outcomes and errors for [`super::binary`] and
//! [`super::text`].

use super::delivery::PlyPieces;
use super::header::{EDGE_ENDS, Element};
use super::sink::{Check, Flaw, FlawKind, PlyChecked, PlySink, SinkFound};
use polyhaul_model::Scalar;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Excerpt, Place, Result, elements_hint, limit_hint};
use polyhaul_model::names;
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_text::parse::number;
use std::ops::Range;

/// Outcome of reading an element's rows.
#[derive(Clone, Debug, Default)]
pub(super) struct PlyOutcome {
    /// Total number of values of each list.
    pub(super) totals: Vec<u64>,
    /// Whether rows have flaws that were only reported as warnings: the caller drops these rows.
    pub(super) broken: bool,
    /// Whether a number was rounded.
    pub(super) rounded: bool,
    /// Skipped rows in ascending order; zeros and empty lists take their place.
    pub(super) left_out: Vec<u64>,
    /// Number of rows found, if the file ends before the last row.
    pub(super) row_count: Option<u64>,
}

/// An element and the sink for its rows.
#[derive(Clone, Copy)]
pub(super) struct PlyRowsTarget<'a> {
    pub(super) element: &'a Element,
    pub(super) sink: &'a PlySink,
    /// If present, receives the rows as faces instead of the sink.
    pub(super) pieces: Option<PlyPieces<'a>>,
}

impl PlyOutcome {
    pub(super) fn new(sink: &PlySink) -> Result<PlyOutcome> {
        let mut totals = Vec::new();
        totals.try_reserve_exact(sink.lists.len())?;
        totals.resize(sink.lists.len(), 0);
        Ok(PlyOutcome { totals, ..PlyOutcome::default() })
    }

    /// Reports the findings of publishing a block, in row order. `place` returns the location of a flaw.
    pub(super) fn file(
        &mut self,
        target: PlyRowsTarget<'_>,
        findings: &SinkFound,
        options: &ParseOptions,
        warnings: &mut Warnings,
        mut place: impl FnMut(&Flaw) -> (Place, Option<Excerpt>),
    ) -> Result<()> {
        self.rounded |= findings.rounded;
        let Some(check) = &target.sink.check else { return Ok(()) };
        for flaw in &findings.flaws {
            self.broken = true;
            // The flaws of a skipped row are those of the zeros in its place.
            if self.left_out.binary_search(&flaw.row).is_ok() {
                continue;
            }
            let (place, excerpt) = place(flaw);
            let diagnostic = Diagnostic { place, excerpt, ..target.describe(check, flaw) };
            match flaw.kind {
                FlawKind::Index(_) => warnings.broken(options.faults, "index-out-of-range", diagnostic)?,
                FlawKind::Short(_) => warnings.note(options.faults, "short-face", diagnostic)?,
            }
        }
        for (code, count) in ["index-out-of-range", "short-face"].into_iter().zip(findings.more) {
            if count > 0 {
                warnings.count(code, count);
            }
        }
        Ok(())
    }
}

impl PlyRowsTarget<'_> {
    /// Describes a flaw in a row.
    fn describe(&self, check: &Check, flaw: &Flaw) -> Diagnostic {
        let name = names::shown(&self.element.name);
        let row = flaw.row;
        match flaw.kind {
            FlawKind::Short(count) => {
                let corners = counted(count.into(), ["corner", "corners"]);
                let message = format!("skipped row {row} of `{name}`: it has {corners}");
                Diagnostic { expected: Some("at least 3".into()), ..Diagnostic::new(message) }
            }
            FlawKind::Index(value) => {
                let message = match shown(value, check) {
                    Some(value) => format!("row {row} of `{name}`: vertex {value} does not exist"),
                    None => format!("row {row} of `{name}`: this vertex does not exist"),
                };
                match check.limit {
                    0 => Diagnostic::new(message + ": the file has no vertices"),
                    1 => Diagnostic { expected: Some("index 0".into()), ..Diagnostic::new(message) },
                    limit => {
                        let expected = Some(format!("an index from 0 to {}", limit - 1));
                        Diagnostic { expected, ..Diagnostic::new(message) }
                    }
                }
            }
        }
    }

    /// Error for a file that ends after `rows` complete rows.
    pub(super) fn truncated(&self, rows: u64, place: Place) -> Error {
        let Element { name, count, .. } = self.element;
        let message = format!("unexpected end of file in `{}`: found {rows} of {count} rows", names::shown(name));
        Diagnostic { place, ..Diagnostic::new(message) }.into_error(ErrorKind::Malformed)
    }

    /// Error for a list property with too many values in total.
    pub(super) fn too_many_values(&self, row: u64, limit: u64, place: Place) -> Error {
        let name = names::shown(&self.element.name);
        let message =
            format!("up to row {row}, the lists of `{name}` have more values than the limit `elements` ({limit})");
        let hint = elements_hint(limit);
        Diagnostic { place, hint, ..Diagnostic::new(message) }.into_error(ErrorKind::Limit)
    }

    /// Error for a row longer than the limit.
    pub(super) fn too_long(&self, row: u64, limit: u64, place: Place) -> Error {
        let name = names::shown(&self.element.name);
        let message = format!("row {row} of `{name}` is longer than the limit `line_bytes` ({limit} bytes)");
        let error = Diagnostic { place, ..Diagnostic::new(message) }.into_error(ErrorKind::Limit);
        error.with_hint(limit_hint("line_bytes") + " (at most 1 GiB)")
    }

    /// Name of the property of list `list`.
    pub(super) fn list_name(&self, list: usize) -> &str {
        let lists = self.element.properties.iter().filter(|property| property.count.is_some());
        lists.map(|property| property.name.as_str()).nth(list).unwrap_or("")
    }

    /// Returns the word at which a row has a flaw. `words` starts with the row's first word.
    pub(super) fn word_of<'t>(
        &self,
        flaw: &Flaw,
        words: &mut impl Iterator<Item = Range<usize>>,
        text: impl Fn(Range<usize>) -> &'t [u8],
    ) -> Option<Range<usize>> {
        let check = self.sink.check.as_ref()?;
        let whole = flaw.item == u32::MAX;
        let mut lists = 0;
        for property in &self.element.properties {
            match (check.of, property.count) {
                (PlyChecked::Pairs(_), None) if EDGE_ENDS.get(flaw.item as usize) == Some(&&*property.name) => {
                    return words.next();
                }
                (PlyChecked::List(list), Some(_)) if list == lists => {
                    return words.nth(if whole { 0 } else { 1 + flaw.item as usize });
                }
                (_, Some(_)) => {
                    let count = number::u64(text(words.next()?)).unwrap_or(0);
                    words.take(usize::try_from(count).ok()?).for_each(drop);
                    lists += 1;
                }
                (_, None) => drop(words.next()),
            }
        }
        None
    }
}

/// Returns an index as written in the file, if it can be recovered.
fn shown(value: u32, check: &Check) -> Option<i64> {
    match (check.scalar, value) {
        (Scalar::I32, value) => Some(i64::from(value as i32)),
        (Scalar::U32, value) => Some(i64::from(value)),
        (_, u32::MAX) => Some(-1),
        (_, value) => (value != u32::MAX - 1).then_some(i64::from(value)),
    }
}
