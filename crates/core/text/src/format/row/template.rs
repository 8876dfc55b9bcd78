//! The two notations of templates, split into texts and conversions of columns.

use super::build::Builder;
use super::column::Kind;
use super::error::{Problem, TemplateError};
use super::spec::{Dialect, Spec};

/// `printf`: `%` conversions, one for each column in order.
pub(super) fn printf(template: &[u8], columns: &[Kind], builder: &mut Builder) -> Result<(), TemplateError> {
    let (mut at, mut column) = (0, 0);
    while let Some(length) = template[at..].iter().position(|&byte| byte == b'%') {
        builder.text(&template[at..at + length]).map_err(|problem| problem.at(at, length))?;
        let percent = at + length;
        if template.get(percent + 1) == Some(&b'%') {
            builder.text(b"%").map_err(|problem| problem.at(percent, 2))?;
            at = percent + 2;
            continue;
        }
        let (spec, after) = Spec::parse(template, percent + 1)?;
        let place = |problem: Problem| problem.at(percent, after - percent);
        let kind = *columns.get(column).ok_or_else(|| place(Problem::TooFewColumns))?;
        builder.value(column, kind, spec).map_err(place)?;
        (at, column) = (after, column + 1);
    }
    builder.text(&template[at..]).map_err(|problem| problem.at(at, template.len() - at))?;
    if columns.len() > column { Err(Problem::TooManyColumns.at(template.len(), 0)) } else { Ok(()) }
}

/// `{name}` and `{name:spec}`, with fields that the caller finds.
pub(super) fn fields(
    template: &str,
    mut field: impl FnMut(&str) -> Option<(usize, Kind)>,
    builder: &mut Builder,
) -> Result<(), TemplateError> {
    let mut at = 0;
    while let Some(length) = template[at..].find(['{', '}']) {
        let brace = at + length;
        builder.text(&template.as_bytes()[at..brace]).map_err(|problem| problem.at(at, length))?;
        let rest = &template[brace..];
        if let Some(text) = ["{{", "}}"].into_iter().find(|&text| rest.starts_with(text)) {
            builder.text(&text.as_bytes()[..1]).map_err(|problem| problem.at(brace, 2))?;
            at = brace + 2;
            continue;
        }
        let inner = rest.strip_prefix('{').ok_or(Problem::UnmatchedBrace.at(brace, 1))?;
        let end = inner.find('}').ok_or(Problem::UnmatchedBrace.at(brace, rest.len()))?;
        one_field(&inner[..end], brace + 1, &mut field, builder)?;
        at = brace + 1 + end + 1;
    }
    builder.text(&template.as_bytes()[at..]).map_err(|problem| problem.at(at, template.len() - at))
}

/// The text between two braces, the first of which ends at `offset`.
fn one_field(
    inner: &str,
    offset: usize,
    field: &mut impl FnMut(&str) -> Option<(usize, Kind)>,
    builder: &mut Builder,
) -> Result<(), TemplateError> {
    let (name, form) = inner.split_once(':').unwrap_or((inner, ""));
    let (column, kind) = field(name).ok_or(Problem::UnknownField.at(offset, name.len()))?;
    let start = offset + name.len() + 1;
    let place = |problem: Problem| problem.at(start, form.len());
    if let Some((yes, no)) = form.split_once('/') {
        if kind != Kind::Bool {
            return Err(place(Problem::NotABool(kind)));
        }
        if no.contains('/') {
            return Err(place(Problem::TwoTexts));
        }
        return builder.choice(column, [no.as_bytes(), yes.as_bytes()]).map_err(place);
    }
    if form.is_empty() {
        return builder.value(column, kind, Spec::AS_IS).map_err(|problem| problem.at(offset, inner.len()));
    }
    let parsed = Spec::parse(form.as_bytes(), 0);
    let (spec, after) = parsed.map_err(|error| TemplateError { offset: start + error.offset, ..error })?;
    if after < form.len() {
        return Err(Problem::UnknownConversion.at(start + after, form.len() - after));
    }
    builder.value(column, kind, spec).map_err(place)
}

impl Problem {
    pub(super) fn at(self, offset: usize, length: usize) -> TemplateError {
        TemplateError { offset, length, problem: self }
    }
}

/// Whose habits the second notation has: its texts are this crate's own.
pub(super) const OF_FIELDS: Dialect = Dialect::C;
