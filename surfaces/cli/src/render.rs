//! Formats errors and warnings like a compiler: place, line, caret, hint.
//!
//! Pure functions from diagnostics to colored text. Text from files is made safe for terminals here.

use crate::args::WarningsShown;
use crate::{hint, human};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use polyhaul::error::{Diagnostic, Excerpt, Place, Warning};
use polyhaul::severity::Severity;
use polyhaul::warnings::{KEPT_PER_KIND, Warnings, kind_words};
use std::collections::BTreeMap;
use std::ops::Range;

/// Maximum number of warnings per kind to show in full; the other warnings are summarized.
const FULL: usize = KEPT_PER_KIND;

/// Maximum number of names in a summary of warnings.
const NAMED: usize = 5;

/// Formats an error.
pub fn error(diagnostic: &Diagnostic) -> String {
    diagnose(Level::ERROR, None, diagnostic)
}

/// Formats a warning, with its code.
pub fn warning(warning: &Warning) -> String {
    diagnose(level(warning.severity), Some(warning.code), &warning.diagnostic)
}

/// The display level of a severity.
fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Note => Level::NOTE,
        Severity::Loss | Severity::Fault => Level::WARNING,
    }
}

/// Formats the warnings: all that are kept, or the first of each kind and a summary line for the rest. A warning that
/// equals the error `stop` is shown as that error.
pub fn warnings(warnings: &Warnings, shown: WarningsShown, stop: Option<&Diagnostic>) -> String {
    let full = if shown == WarningsShown::All { usize::MAX } else { FULL };
    let mut kinds: BTreeMap<&str, KindShown<'_>> = BTreeMap::new();
    let mut text = String::new();
    for warning in warnings.kept() {
        let kind = kinds.entry(warning.code).or_default();
        kind.seen += 1;
        kind.severity = kind.severity.max(warning.severity);
        if kind.seen > full {
            kind.names.extend(warning.subject());
            continue;
        }
        kind.covered += warning.count;
        text.push_str(&match stop {
            Some(diagnostic) if same(&warning.diagnostic, diagnostic) => error(diagnostic),
            _ => self::warning(warning),
        });
    }
    text + &sums(warnings, &kinds, full)
}

/// Statistics on the warnings of one kind.
#[derive(Default)]
struct KindShown<'w> {
    /// Number of kept warnings so far.
    seen: usize,
    /// Number of occurrences that the warnings shown in full stand for.
    covered: u64,
    /// The highest severity.
    severity: Severity,
    /// The subjects of the warnings not shown in full.
    names: Vec<&'w str>,
}

/// Formats a summary line for each kind with warnings that were not shown in full.
fn sums(warnings: &Warnings, kinds: &BTreeMap<&str, KindShown<'_>>, full: usize) -> String {
    let more = |(code, &count): (&&'static str, &u64)| {
        let kind = kinds.get(code);
        let more = count.saturating_sub(kind.map_or(0, |kind| kind.covered));
        let words = kind_words(code, more);
        let names = kind.map_or(String::new(), |kind| names(&kind.names));
        let line = || Diagnostic::new(format!("{} more {words}{names}", human::count(more)));
        (more > 0).then(|| (level(kind.map_or(Severity::Loss, |kind| kind.severity)), line()))
    };
    let mut lines: Vec<_> = warnings.counts().iter().filter_map(more).collect();
    if let Some((_, last)) = lines.last_mut()
        && kinds.values().any(|kind| kind.seen > full)
    {
        last.hint = Some("use `--warnings all` to show every warning".to_owned());
    }
    lines.into_iter().map(|(level, line)| diagnose(level, None, &line)).collect()
}

/// The first distinct names: `: mat_14, mat_17, ...`.
fn names(names: &[&str]) -> String {
    let mut few: Vec<&str> = Vec::new();
    for name in names {
        if few.len() > NAMED {
            break;
        }
        if !few.contains(name) {
            few.push(name);
        }
    }
    if few.len() > NAMED {
        few[NAMED] = "...";
    }
    if few.is_empty() { String::new() } else { format!(": {}", few.join(", ")) }
}

/// Whether two diagnostics have equal messages and places.
pub fn same(a: &Diagnostic, b: &Diagnostic) -> bool {
    a.message == b.message && a.place == b.place
}

/// Formats the number of warnings per kind: `3 missing-material, 1 unknown-statement`.
pub fn counts(warnings: &Warnings) -> String {
    let each = warnings.counts().iter().map(|(code, n)| format!("{} {code}", human::count(*n)));
    each.collect::<Vec<_>>().join(", ")
}

fn diagnose(level: Level<'_>, code: Option<&str>, diagnostic: &Diagnostic) -> String {
    match &diagnostic.excerpt {
        Some(excerpt) => with_line(level, code, diagnostic, excerpt),
        None => without_line(level, code, diagnostic),
    }
}

/// The short form for diagnostics without an excerpt: the place precedes the message.
fn without_line(level: Level<'_>, code: Option<&str>, diagnostic: &Diagnostic) -> String {
    let message = human::safe(&diagnostic.message);
    let title = match human::safe(&diagnostic.place.to_string()).as_str() {
        "" => message,
        place => format!("{place}: {message}"),
    };
    let mut group = Group::with_title(titled(level, code, title));
    if let Some(expected) = &diagnostic.expected {
        group = group.element(Level::NOTE.message(format!("expected {}", human::safe(expected))));
    }
    render(with_hint(group, diagnostic))
}

/// The long form: title, place, excerpt with caret and label, hint.
fn with_line(level: Level<'_>, code: Option<&str>, diagnostic: &Diagnostic, excerpt: &Excerpt) -> String {
    let text = excerpt.text.replace(['\n', '\r'], " ");
    let mark = AnnotationKind::Primary.span(inside(&text, &excerpt.marked));
    let label = diagnostic.expected.as_ref().map(|expected| format!("expected {}", human::safe(expected)));
    let place = &diagnostic.place;
    let snippet = Snippet::source(text)
        .line_start(place.line.unwrap_or(1) as usize)
        .line_numbering(place.line.is_some())
        .annotation(mark.label(label));
    let group = titled(level, code, human::safe(&diagnostic.message)).element(snippet);
    insert_place(&render(with_hint(group, diagnostic)), place)
}

fn titled<'a>(level: Level<'a>, code: Option<&'a str>, title: String) -> annotate_snippets::Title<'a> {
    let title = level.primary_title(title);
    match code {
        Some(code) => title.id(code),
        None => title,
    }
}

fn with_hint<'a>(group: Group<'a>, diagnostic: &Diagnostic) -> Group<'a> {
    match &diagnostic.hint {
        Some(hint) => group.element(Level::HELP.message(human::safe(&hint::with_flag(hint)))),
        None => group,
    }
}

fn render(group: Group<'_>) -> String {
    let mut text = Renderer::styled().render(&[group]);
    text.push('\n');
    text
}

/// Inserts ` --> file:line:column` below the title. The renderer would count columns from the start of the excerpt, but
/// the excerpt of a long line starts in the middle of the line.
fn insert_place(rendered: &str, place: &Place) -> String {
    let (title, rest) = rendered.split_once('\n').unwrap_or((rendered, ""));
    let indent = place.line.map_or(0, |line| line.to_string().len());
    let bold_blue = "\u{1b}[1m\u{1b}[94m";
    let reset = "\u{1b}[0m";
    let place = human::safe(&place.to_string());
    format!("{title}\n{:indent$}{bold_blue}-->{reset} {place}\n{rest}", "")
}

/// Clamps the marked range to the text, on character boundaries.
fn inside(text: &str, marked: &Range<usize>) -> Range<usize> {
    let floor = |index: usize| (0..=index.min(text.len())).rfind(|&i| text.is_char_boundary(i)).unwrap_or(0);
    let start = floor(marked.start);
    start..floor(marked.end).max(start)
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
