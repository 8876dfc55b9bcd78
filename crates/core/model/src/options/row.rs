//! Rows of the table of options, and setting options by name.

use super::value::{OptionChoice, OptionKind};
use std::fmt;

/// One option: what every surface needs to offer it.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionRow {
    /// The name, such as `smoothing`. It is unique among the options that are not limits.
    pub name: &'static str,
    /// The group, such as `obj`; empty for options that several formats share.
    pub group: &'static str,
    /// Another name that is accepted, such as Blender's; empty if there is none.
    pub alias: &'static str,
    /// The kind of its values.
    pub kind: OptionKind,
    /// The default, as text that [`OptionGroup::set`] accepts.
    pub default: String,
    /// The documentation: lines of Markdown. The first sentence says what the option does.
    pub docs: &'static str,
    /// Names of the formats that it applies to; empty for all. `images` and `tables` stand for all of their kind.
    pub formats: &'static [&'static str],
}

impl OptionRow {
    /// The full name, such as `obj.smoothing`.
    pub fn full_name(&self) -> String {
        if self.group.is_empty() { self.name.into() } else { format!("{}.{}", self.group, self.name) }
    }

    /// Whether this row is the option of a group by its declared name.
    #[doc(hidden)]
    pub fn is(&self, group: &str, name: &str) -> bool {
        self.name == name && self.group == group
    }

    /// Whether `name` refers to this option: by its name, its full name or its alias. Limits have full names only.
    pub fn is_named(&self, name: &str) -> bool {
        match name.split_once('.') {
            Some((group, name)) => self.is(group, name),
            None => self.group != "limits" && (self.name == name || self.alias == name),
        }
    }

    /// The first sentence of the documentation, without its full stop.
    pub fn summary(&self) -> String {
        first_sentence(self.docs)
    }

    /// The documentation after its first sentence, on one line.
    pub fn details(&self) -> String {
        one_line(self.docs).split_once(". ").map_or(String::new(), |(_, details)| details.to_owned())
    }
}

impl OptionChoice {
    /// The first sentence of the documentation, without its full stop.
    pub fn summary(&self) -> String {
        first_sentence(self.docs)
    }
}

/// The first sentence of documentation, without its full stop.
fn first_sentence(docs: &str) -> String {
    let line = one_line(docs);
    line.split_once(". ").map_or(line.trim_end_matches('.'), |(first, _)| first).to_owned()
}

/// The words of documentation, on one line.
fn one_line(docs: &str) -> String {
    let lines: Vec<&str> = docs.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" ")
}

/// A struct of options that people set by name.
pub trait OptionGroup {
    /// The group in the full names of these options; empty if several formats share them.
    const GROUP: &str;

    /// The rows of the options, in the order of declaration.
    fn rows() -> Vec<OptionRow>;

    /// The value of an option of this group as text.
    #[doc(hidden)]
    fn value(&self, row: &OptionRow) -> Option<String>;

    /// Sets an option of this group; `None` if the option is in another group.
    #[doc(hidden)]
    fn set_value(&mut self, row: &OptionRow, text: &str) -> Option<Result<(), String>>;

    /// The row of an option by its name, full name or alias.
    fn row(name: &str) -> Option<OptionRow> {
        Self::rows().into_iter().find(|row| row.is_named(name))
    }

    /// The value of an option as text; `None` if there is no such option.
    fn get(&self, name: &str) -> Option<String> {
        self.value(&Self::row(name)?)
    }

    /// Sets an option from text. Nothing changes in case of an error.
    ///
    /// # Errors
    /// [`SetError`] if there is no such option, or the text is not a value of it.
    fn set(&mut self, name: &str, text: &str) -> Result<(), SetError> {
        let error = |reason| SetError { name: name.into(), text: text.into(), reason };
        let row = Self::row(name).ok_or_else(|| error(None))?;
        match self.set_value(&row, text) {
            Some(Ok(())) => Ok(()),
            // Of a number that its type cannot hold, the range says more than the type.
            Some(Err(_)) if matches!(row.kind, OptionKind::Integer(_, max) if max < u64::MAX as i128) => {
                Err(error(Some(format!("expected {}", row.kind.expected()))))
            }
            Some(Err(expected)) => Err(error(Some(expected))),
            None => Err(error(None)),
        }
    }
}

/// Why an option could not be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetError {
    /// The name that was given.
    pub name: String,
    /// The value that was given.
    pub text: String,
    /// What was expected instead; `None` if there is no option of this name.
    pub reason: Option<String>,
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Some(expected) => write!(f, "{} is {}; {expected}", self.name, self.text),
            None => write!(f, "unknown option `{}`", self.name),
        }
    }
}

impl std::error::Error for SetError {}
