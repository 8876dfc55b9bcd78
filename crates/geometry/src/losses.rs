//! Warnings about data that a format drops or changes, worded the same for all writers.
//!
//! A warning lists the names of the affected items, up to a limit.

use polyhaul_model::error::{Diagnostic, Place};
use polyhaul_model::names::{MAX_LISTED, listed_of};
use polyhaul_model::warnings::{Warnings, counted};

/// Data of one kind that a format cannot store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Warning code.
    pub code: &'static str,
    /// Singular and plural nouns for messages, such as `material` and `materials`.
    pub nouns: [&'static str; 2],
    /// Number of dropped items; 0 for no warning.
    pub count: u64,
    /// Names of the first few items.
    pub names: Vec<String>,
}

impl LeftOut {
    /// Creates an entry for data without names.
    pub fn new(code: &'static str, nouns: [&'static str; 2], count: u64) -> LeftOut {
        LeftOut { code, nouns, count, names: Vec::new() }
    }

    /// Creates an entry for data with these names. Empty names are only counted.
    pub fn named<'n>(
        code: &'static str,
        nouns: [&'static str; 2],
        names: impl IntoIterator<Item = &'n str>,
    ) -> LeftOut {
        let mut left_out = LeftOut::new(code, nouns, 0);
        names.into_iter().for_each(|name| left_out.add(name));
        left_out
    }

    /// Adds an item. If its name is empty, it is only counted.
    pub fn add(&mut self, name: &str) {
        self.count += 1;
        if self.names.len() < MAX_LISTED && !name.is_empty() {
            self.names.push(name.to_owned());
        }
    }

    /// Returns the names as the end of a message, or an empty string if there are none.
    pub fn listed(&self) -> String {
        if self.names.is_empty() { String::new() } else { format!(": {}", listed_of(&self.names, self.count)) }
    }

    /// Adds a warning with this message, unless the count is 0.
    pub fn note(self, message: String, output: &str, warnings: &mut Warnings) {
        let place = Place { file: output.into(), ..Place::default() };
        let diagnostic = Diagnostic { place, names: self.names, ..Diagnostic::new(message) };
        warnings.push_many(self.code, self.count, diagnostic);
    }

    fn message(&self, reason: &str) -> String {
        format!("dropped {}{reason}{}", counted(self.count, self.nouns), self.listed())
    }
}

impl From<(&'static str, [&'static str; 2], u64)> for LeftOut {
    fn from(kind: (&'static str, [&'static str; 2], u64)) -> LeftOut {
        let (code, nouns, count) = kind;
        LeftOut::new(code, nouns, count)
    }
}

/// Warns about data that a format cannot store.
pub fn note_left_out(
    format: &str,
    kinds: impl IntoIterator<Item = impl Into<LeftOut>>,
    output: &str,
    warnings: &mut Warnings,
) {
    note_dropped(&format!(", which {format} cannot store"), kinds, output, warnings);
}

/// Warns about dropped data. `reason` is the rest of the message, with its punctuation, such as `, which STL cannot
/// store`.
pub fn note_dropped(
    reason: &str,
    kinds: impl IntoIterator<Item = impl Into<LeftOut>>,
    output: &str,
    warnings: &mut Warnings,
) {
    // Called for each mesh, of which there may be millions without losses: they need no message.
    for left_out in kinds.into_iter().map(Into::<LeftOut>::into).filter(|left_out| left_out.count > 0) {
        let message = left_out.message(reason);
        left_out.note(message, output, warnings);
    }
}

/// Words for [`note_changed`] about comments in which control characters were replaced.
pub const CHANGED_REMARKS: [&str; 2] = [
    "comment had control characters, which were replaced by `_`",
    "comments had control characters, which were replaced by `_`",
];

/// Warns about changed data. Each kind has a code, the message in singular and in plural, a count, and an optional
/// hint.
pub fn note_changed<'w>(
    kinds: impl IntoIterator<Item = (&'static str, [&'w str; 2], u64, Option<&'static str>)>,
    output: &str,
    warnings: &mut Warnings,
) {
    for (code, words, count, hint) in kinds.into_iter().filter(|(_, _, count, _)| *count > 0) {
        let place = Place { file: output.into(), ..Place::default() };
        let hint = hint.map(String::from);
        warnings.push_many(code, count, Diagnostic { place, hint, ..Diagnostic::new(counted(count, words)) });
    }
}

/// Adds a warning whose message covers `count` items.
pub fn note(output: &str, code: &'static str, count: u64, message: String, warnings: &mut Warnings) {
    let place = Place { file: output.into(), ..Place::default() };
    warnings.push_many(code, count, Diagnostic { place, ..Diagnostic::new(message) });
}

/// Returns the message about triangulated polygons.
pub fn triangulated(format: &str, count: u64) -> String {
    format!("triangulated {}, because {format} stores only triangles", counted(count, ["polygon", "polygons"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(warnings: &Warnings) -> Vec<&str> {
        warnings.kept().iter().map(|warning| &*warning.diagnostic.message).collect()
    }

    #[test]
    fn losses_name_the_first_few() {
        let mut warnings = Warnings::for_target("stl");
        let many: Vec<String> = (0..MAX_LISTED + 3).map(|number| format!("m{number}")).collect();
        let kinds = [
            LeftOut::named("left-out-materials", ["material", "materials"], ["wood", "glass"]),
            LeftOut::named("left-out-names", ["object name", "object names"], many.iter().map(String::as_str)),
            LeftOut::new("left-out-uvs", ["UV", "UVs"], 14),
            LeftOut::new("left-out-normals", ["normal", "normals"], 1),
            LeftOut::new("left-out-lines", ["line", "lines"], 0),
        ];
        note_left_out("STL", kinds, "a.stl", &mut warnings);
        let names = "`m0`, `m1`, `m2`, `m3`, `m4`, `m5`, `m6`, `m7` and 3 more";
        let expected = [
            "dropped 2 materials, which STL cannot store: `wood`, `glass`".to_owned(),
            format!("dropped 11 object names, which STL cannot store: {names}"),
            "dropped 14 UVs, which STL cannot store".to_owned(),
            "dropped 1 normal, which STL cannot store".to_owned(),
        ];
        assert_eq!(messages(&warnings), expected);
        let named: Vec<usize> = warnings.kept().iter().map(|warning| warning.diagnostic.names.len()).collect();
        assert_eq!(named, [2, MAX_LISTED, 0, 0]);
    }

    #[test]
    fn words_agree_with_their_number() {
        let mut warnings = Warnings::for_target("glb");
        let words = ["normal was scaled", "normals were scaled"];
        note_changed([("changed-normals", words, 1, None), ("changed-normals", words, 2, None)], "", &mut warnings);
        assert_eq!(messages(&warnings), ["1 normal was scaled", "2 normals were scaled"]);
        assert_eq!(triangulated("STL", 1), "triangulated 1 polygon, because STL stores only triangles");
        assert_eq!(triangulated("STL", 12_345), "triangulated 12,345 polygons, because STL stores only triangles");
    }
}
