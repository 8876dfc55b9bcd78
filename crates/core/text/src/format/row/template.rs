//! Parses both template notations into texts and conversions.

use super::build::FormatBuilder;
use super::column::ValueType;
use super::error::{TemplateError, TemplateProblem};
use super::spec::{ConversionSpec, PrintfDialect};

/// Parses a `printf` template, in which `%` conversions refer to the columns in order.
pub(super) fn printf(template: &[u8], columns: &[ValueType], builder: &mut FormatBuilder) -> Result<(), TemplateError> {
    let mut offset = 0;
    let mut column = 0;
    while let Some(length) = template[offset..].iter().position(|&byte| byte == b'%') {
        builder.text(&template[offset..offset + length]).map_err(|problem| problem.at(offset, length))?;
        let percent = offset + length;
        if template.get(percent + 1) == Some(&b'%') {
            builder.text(b"%").map_err(|problem| problem.at(percent, 2))?;
            offset = percent + 2;
            continue;
        }
        let (spec, after) = ConversionSpec::parse(template, percent + 1)?;
        let error = |problem: TemplateProblem| problem.at(percent, after - percent);
        let kind = *columns.get(column).ok_or_else(|| error(TemplateProblem::TooFewColumns))?;
        builder.value(column, kind, spec).map_err(error)?;
        offset = after;
        column += 1;
    }
    builder.text(&template[offset..]).map_err(|problem| problem.at(offset, template.len() - offset))?;
    if columns.len() > column { Err(TemplateProblem::TooManyColumns.at(template.len(), 0)) } else { Ok(()) }
}

/// Parses a template with `{name}` and `{name:spec}`. `field` looks up the column of a name.
pub(super) fn fields(
    template: &str,
    mut field: impl FnMut(&str) -> Option<(usize, ValueType)>,
    builder: &mut FormatBuilder,
) -> Result<(), TemplateError> {
    let mut offset = 0;
    while let Some(length) = template[offset..].find(['{', '}']) {
        let brace = offset + length;
        builder.text(&template.as_bytes()[offset..brace]).map_err(|problem| problem.at(offset, length))?;
        let rest = &template[brace..];
        if let Some(text) = ["{{", "}}"].into_iter().find(|&text| rest.starts_with(text)) {
            builder.text(&text.as_bytes()[..1]).map_err(|problem| problem.at(brace, 2))?;
            offset = brace + 2;
            continue;
        }
        let inner = rest.strip_prefix('{').ok_or(TemplateProblem::UnmatchedBrace.at(brace, 1))?;
        let end = inner.find('}').ok_or(TemplateProblem::UnmatchedBrace.at(brace, rest.len()))?;
        field_text(&inner[..end], brace + 1, &mut field, builder)?;
        offset = brace + 1 + end + 1;
    }
    builder.text(&template.as_bytes()[offset..]).map_err(|problem| problem.at(offset, template.len() - offset))
}

/// Parses the text between two braces, which starts at `offset`.
fn field_text(
    inner: &str,
    offset: usize,
    field: &mut impl FnMut(&str) -> Option<(usize, ValueType)>,
    builder: &mut FormatBuilder,
) -> Result<(), TemplateError> {
    let (name, form) = inner.split_once(':').unwrap_or((inner, ""));
    let (column, kind) = field(name).ok_or(TemplateProblem::UnknownField.at(offset, name.len()))?;
    let start = offset + name.len() + 1;
    let error = |problem: TemplateProblem| problem.at(start, form.len());
    if let Some((yes, no)) = form.split_once('/') {
        if kind != ValueType::Bool {
            return Err(error(TemplateProblem::NotABool(kind)));
        }
        if no.contains('/') {
            return Err(error(TemplateProblem::TwoTexts));
        }
        return builder.choice(column, [no.as_bytes(), yes.as_bytes()]).map_err(error);
    }
    if form.is_empty() {
        return builder.value(column, kind, ConversionSpec::AS_IS).map_err(|problem| problem.at(offset, inner.len()));
    }
    let parsed = ConversionSpec::parse(form.as_bytes(), 0);
    let (spec, after) = parsed
        .map_err(|parse_error: TemplateError| TemplateError { offset: start + parse_error.offset, ..parse_error })?;
    if after < form.len() {
        return Err(TemplateProblem::UnknownConversion.at(start + after, form.len() - after));
    }
    builder.value(column, kind, spec).map_err(error)
}

impl TemplateProblem {
    pub(super) fn at(self, offset: usize, length: usize) -> TemplateError {
        TemplateError { offset, length, problem: self }
    }
}

/// Dialect of templates with named fields.
pub(super) const FIELDS_DIALECT: PrintfDialect = PrintfDialect::C;
