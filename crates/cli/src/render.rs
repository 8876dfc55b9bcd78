//! Errors and warnings as a good compiler shows them: the place, the line, a caret, what would help.
//!
//! Pure: a diagnostic goes in, coloured text comes out. Whatever a file put into a message is made
//! safe for a terminal here.

use crate::human;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use polyhaul::error::{Diagnostic, Excerpt, Place, Warning};
use polyhaul::warnings::Warnings;
use std::ops::Range;

/// How many warnings are shown before they are only counted.
pub const SHOWN: usize = 20;

/// An error.
pub fn error(diagnostic: &Diagnostic) -> String {
    diagnose(Level::ERROR, None, diagnostic)
}

/// A warning, with its code.
pub fn warning(warning: &Warning) -> String {
    diagnose(Level::WARNING, Some(warning.code), &warning.diagnostic)
}

/// The first warnings, and the number of all where there are more. The one that `stop` says too is
/// shown as that error.
pub fn warnings(warnings: &Warnings, shown: usize, stop: Option<&Diagnostic>) -> String {
    let show = |one: &Warning| match stop {
        Some(diagnostic) if same(&one.diagnostic, diagnostic) => error(diagnostic),
        _ => warning(one),
    };
    let mut text: String = warnings.kept().iter().take(shown).map(show).collect();
    let more = warnings.total().saturating_sub(warnings.kept().len().min(shown) as u64);
    if more > 0 {
        let counts = counts(warnings);
        let message = format!("{} more; in all: {counts}", human::plural(more, "warning"));
        text.push_str(&diagnose(Level::WARNING, None, &Diagnostic::new(message)));
    }
    text
}

/// Whether two diagnostics say the same about the same place.
pub fn same(one: &Diagnostic, other: &Diagnostic) -> bool {
    one.message == other.message && one.place == other.place
}

/// How many warnings there are of each kind: `3 missing-material, 1 unknown-statement`.
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

/// The short form, for what has no line: the place stands before the message.
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

/// The form of a compiler: title, place, line, caret and label, hint.
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
        Some(hint) => group.element(Level::HELP.message(human::safe(hint))),
        None => group,
    }
}

fn render(group: Group<'_>) -> String {
    let mut text = Renderer::styled().render(&[group]);
    text.push('\n');
    text
}

/// Puts ` --> file:line:column` under the title. The renderer would count the column itself, from
/// the start of the excerpt; but an excerpt of a long line starts somewhere inside.
fn insert_place(rendered: &str, place: &Place) -> String {
    let (title, rest) = rendered.split_once('\n').unwrap_or((rendered, ""));
    let indent = place.line.map_or(0, |line| line.to_string().len());
    let (bold_blue, reset) = ("\u{1b}[1m\u{1b}[94m", "\u{1b}[0m");
    let place = human::safe(&place.to_string());
    format!("{title}\n{:indent$}{bold_blue}-->{reset} {place}\n{rest}", "")
}

/// The marked range, moved inside the text and onto borders of characters.
fn inside(text: &str, marked: &Range<usize>) -> Range<usize> {
    let floor = |index: usize| (0..=index.min(text.len())).rfind(|&i| text.is_char_boundary(i)).unwrap_or(0);
    let start = floor(marked.start);
    start..floor(marked.end).max(start)
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
