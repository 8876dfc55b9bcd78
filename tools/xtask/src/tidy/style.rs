//! Finds coding habits that hurt readability (see Style in CONTRIBUTING.md), in tests too.

use super::tokens::{Code, TokenKind};
use super::{Finding, Tree};

/// Kind of habit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    TupleBinding,
    TupleAssignment,
    TupleParameter,
    VagueLocal,
    VaguePattern,
    VagueParameter,
    MostLeast,
    Begin,
}

impl Kind {
    /// Returns the recommended alternative.
    fn instead(self) -> &'static str {
        match self {
            Kind::TupleBinding => "`let (a, b) = (x, y);` is two bindings: one per line",
            Kind::TupleAssignment => "one assignment per line",
            Kind::TupleParameter => "separate parameters, or a struct with a name",
            Kind::VagueLocal => "names say what a local holds",
            Kind::VaguePattern => "names say what a pattern binds",
            Kind::VagueParameter => "names say what a parameter is for",
            Kind::MostLeast => "constants start with MAX_ or MIN_",
            Kind::Begin => "names have `start`",
        }
    }
}

/// Names that do not describe a value.
const VAGUE: &[&str] =
    &["found", "known", "kept", "own", "some", "one", "asked", "wanted", "told", "most", "least", "done", "all", "it"];

/// Methods defined by serde_json.
const FORMATTER: &[&str] = &["begin_array", "begin_array_value", "begin_object_key", "begin_object_value"];

/// Location of a habit.
struct Place<'a> {
    kind: Kind,
    path: &'a str,
    line: usize,
}

/// Rule: none of the habits.
pub(super) fn habits(tree: &Tree, findings: &mut Vec<Finding>) {
    let places = places(tree);
    findings.extend(places.iter().map(|place| Finding::new(place.path, place.line, place.kind.instead())));
}

fn places<'a>(tree: &Tree<'a>) -> Vec<Place<'a>> {
    let mut places = Vec::new();
    for file in tree.rust() {
        let code = file.code();
        let mut scan = Scan { code, hits: Vec::new() };
        scan.file();
        places.extend(scan.hits.iter().map(|(kind, at)| Place { kind: *kind, path: file.path, line: code.line(*at) }));
    }
    places
}

/// Habits of one file: their kinds, and the indices of their tokens.
struct Scan<'a, 't> {
    code: Code<'a, 't>,
    hits: Vec<(Kind, usize)>,
}

impl Scan<'_, '_> {
    fn file(&mut self) {
        let code = self.code;
        for index in 0..code.len() {
            match code.first(index) {
                b'l' if code.is(index, "let") => self.binding(index),
                b'f' if code.is(index, "fn") && code.is_word(index + 1) => self.function(index),
                b'f' if code.is(index, "for") => self.loop_pattern(index),
                b'|' if starts_closure(code, index) => self.closure(index),
                b'(' => self.assignment(index),
                b'=' if code.is(index, "=>") => self.arm(index),
                b'c' | b's' if code.is(index, "const") || code.is(index, "static") => self.constant(index),
                b's' | b'e' | b'u' if matches!(code.text(index), "struct" | "enum" | "union") => self.fields(index),
                _ => {}
            }
        }
    }

    fn hit(&mut self, kind: Kind, at: usize) {
        self.hits.push((kind, at));
    }

    /// Adds the names that the pattern from `start` to `end` binds, if they are vague or use `begin`.
    fn pattern(&mut self, start: usize, end: usize, kind: Kind) {
        for at in start..end {
            if !self.code.is_word(at) || self.code.is(at + 1, "::") || self.code.is(at + 1, "(") {
                continue;
            }
            let name = self.code.text(at);
            // In `field: pattern`, `field` is not a binding.
            let is_field = self.code.is(at + 1, ":") && at + 1 < end;
            if VAGUE.contains(&name) && !is_field {
                self.hit(kind, at);
            }
            if is_begin(name) && !is_field {
                self.hit(Kind::Begin, at);
            }
        }
    }

    fn binding(&mut self, index: usize) {
        let code = self.code;
        let start = index + 1;
        let mut end = start;
        while end < code.len() && !matches!(code.text(end), "=" | ";" | ":" | "in") {
            end = code.partner(end).max(end) + 1;
        }
        let name = if code.is(start, "mut") { start + 1 } else { start };
        let kind = if name + 1 == end { Kind::VagueLocal } else { Kind::VaguePattern };
        self.pattern(start, end, kind);
        while end < code.len() && !matches!(code.first(end), b'=' | b';') {
            end = code.partner(end).max(end) + 1;
        }
        if code.is(start, "(") && code.is(end, "=") && is_tuple(code, end + 1) && ends_tuple(code, end + 1) {
            self.hit(Kind::TupleBinding, index);
        }
    }

    /// `(a, b) = (x, y);`
    fn assignment(&mut self, index: usize) {
        let code = self.code;
        let equals = code.partner(index) + 1;
        let is_statement = index > 0 && matches!(code.first(index - 1), b';' | b'{' | b'}');
        if is_statement && code.is(equals, "=") && is_tuple(code, index) && is_tuple(code, equals + 1) {
            self.hit(Kind::TupleAssignment, index);
        }
    }

    fn function(&mut self, index: usize) {
        let code = self.code;
        if is_begin(code.text(index + 1)) {
            self.hit(Kind::Begin, index + 1);
        }
        let mut open = index + 2;
        let mut depth = 0;
        while open < code.len() && (depth > 0 || code.first(open) != b'(') {
            depth += angle(code, open);
            open += 1;
        }
        let mut at = open + 1;
        while at < code.partner(open) {
            let end = parameter_end(code, at, code.partner(open));
            let colon = (at..end).find(|at| code.is(*at, ":")).unwrap_or(at);
            let pattern = if code.is(at, "&") { at + 1 } else { at };
            if is_tuple(code, pattern) {
                self.hit(Kind::TupleParameter, at);
            }
            self.pattern(at, colon, Kind::VagueParameter);
            at = end + 1;
        }
    }

    fn closure(&mut self, index: usize) {
        let code = self.code;
        let mut at = index + 1;
        while at < code.len() && code.first(at) != b'|' {
            let end = parameter_end(code, at, code.len());
            let mut colon = at;
            while colon < end && !code.is(colon, ":") {
                colon = code.partner(colon).max(colon) + 1;
            }
            self.pattern(at, colon.min(end), Kind::VagueLocal);
            at = if code.is(end, ",") { end + 1 } else { end };
        }
    }

    /// `for pattern in`, but not `impl Trait for Type` or `for<'a>`.
    fn loop_pattern(&mut self, index: usize) {
        let mut end = index + 1;
        while end < self.code.len() && !matches!(self.code.text(end), "in" | "<" | "{" | ";" | "::") {
            end = self.code.partner(end).max(end) + 1;
        }
        if self.code.is(end, "in") {
            self.pattern(index + 1, end, Kind::VaguePattern);
        }
    }

    /// `name =>` and `Some(name) =>`.
    fn arm(&mut self, index: usize) {
        let code = self.code;
        let mut name = index.wrapping_sub(1);
        let mut start = name;
        if code.is(name, ")") {
            // Path of a variant.
            start = code.partner(name).wrapping_sub(1);
            while code.is(start.wrapping_sub(1), "::") {
                start -= 2;
            }
            name -= 1;
        }
        let is_pattern = matches!(code.first(start.wrapping_sub(1)), b'{' | b'}' | b',' | b'|' | b'(' | b'&');
        if is_pattern && code.is_word(name) {
            self.pattern(name, name + 1, Kind::VaguePattern);
        }
    }

    fn constant(&mut self, index: usize) {
        let name = if self.code.is(index + 1, "mut") { index + 2 } else { index + 1 };
        let text = self.code.text(name);
        if text.starts_with("MOST_") || text.starts_with("LEAST_") {
            self.hit(Kind::MostLeast, name);
        }
        if text.starts_with("BEGIN_") {
            self.hit(Kind::Begin, name);
        }
    }

    fn fields(&mut self, index: usize) {
        let code = self.code;
        let mut open = index + 2;
        while open < code.len() && !matches!(code.first(open), b'{' | b'(' | b';') {
            open += 1;
        }
        for at in open..code.partner(open) {
            if code.is(at + 1, ":") && is_begin(code.text(at)) {
                self.hit(Kind::Begin, at);
            }
        }
    }
}

/// Returns whether a name uses `begin` instead of `start`. Names that end in `_begin` are allowed: `attribute_begin` is
/// a pbrt keyword.
fn is_begin(name: &str) -> bool {
    let starts = name.starts_with("begin_") || name.starts_with("begins_");
    matches!(name, "begin" | "begins") || starts && !FORMATTER.contains(&name)
}

/// Returns whether `|` at `index` opens the parameters of a closure, and is not an operator or part of a pattern.
fn starts_closure(code: Code<'_, '_>, index: usize) -> bool {
    if index == 0 || !code.is(index, "|") {
        return false;
    }
    if code.is_kind(index - 1, TokenKind::Word) {
        return matches!(code.text(index - 1), "move" | "return" | "else" | "in" | "break");
    }
    matches!(code.text(index - 1), "(" | "," | "=" | "=>" | "{" | ";" | "&&" | "||" | ":" | "[" | "&")
}

/// Returns whether parentheses at `index` directly enclose a comma.
fn is_tuple(code: Code<'_, '_>, index: usize) -> bool {
    let end = code.partner(index);
    let mut at = index + 1;
    while code.first(index) == b'(' && at < end {
        if code.first(at) == b',' {
            return true;
        }
        at = code.partner(at).max(at) + 1;
    }
    false
}

/// Returns whether the tuple at `index` ends its expression.
fn ends_tuple(code: Code<'_, '_>, index: usize) -> bool {
    matches!(code.text(code.partner(index) + 1), ";" | "else" | "{" | "&&")
}

/// Returns 1 for an opening angle bracket, -1 for a closing angle bracket, and 0 for anything else.
fn angle(code: Code<'_, '_>, index: usize) -> i32 {
    i32::from(code.first(index) == b'<') - i32::from(code.is(index, ">"))
}

/// Returns the end of the parameter at `start`: a comma, `|` or `end`.
fn parameter_end(code: Code<'_, '_>, start: usize, end: usize) -> usize {
    let mut at = start;
    let mut depth = 0;
    while at < end {
        depth += angle(code, at);
        if depth <= 0 && matches!(code.first(at), b',' | b'|') {
            return at;
        }
        at = code.partner(at).max(at) + 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::super::with_tree;
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        with_tree(&[("a.rs", text)], |tree| places(tree).iter().map(|place| place.kind).collect())
    }

    #[test]
    fn each_habit_is_found() {
        let planted: [(Kind, &[&str]); 8] = [
            (
                Kind::TupleBinding,
                &[
                    "let (a, b) = (x, y);",
                    "let (mut a, b): (u8, Vec<u8>) = (\n f(1), 2\n);",
                    "let (Some(a), b) = (x, y) else { return };",
                    "if let (Some(a), Some(b)) = (x, y) { c() }",
                ],
            ),
            (Kind::TupleAssignment, &["a(); (b, c) = (1, 2);", "{ (self.a, b[1]) = (c, d()); }"]),
            (
                Kind::TupleParameter,
                &["fn a<F: Fn(u8) -> u8>(b: Vec<(u8, u8)>, (c, d): (u8, u8)) {}", "fn a(&(b, c): &(u8, u8)) {}"],
            ),
            (
                Kind::VagueLocal,
                &[
                    "let found = a();",
                    "let mut all: Vec<u8> = b;",
                    "a.map(|it| b)",
                    "a.fold(b, move |c, (_, own): (u8, u8)| d)",
                    "let a = |&most: &u8| b | c;",
                ],
            ),
            (
                Kind::VaguePattern,
                &[
                    "let Some(found) = a() else { return };",
                    "for it in a {}",
                    "match a { Some(told) => 1, _ => 2 }",
                    "if let A { b: Some(kept) } = c {}",
                ],
            ),
            (
                Kind::VagueParameter,
                &["fn a(&self, own: &[u8], b: Map<u8, u8>) {}", "fn a(b: Map<C, D>, mut all: u8) {}"],
            ),
            (Kind::MostLeast, &["const MOST_BYTES: usize = 1;", "pub static LEAST_BITS: u8 = 1;"]),
            (
                Kind::Begin,
                &[
                    "fn begins_as_obj() {}",
                    "let begin = 1;",
                    "struct A { pub begin: usize }",
                    "fn a(begin: usize) {}",
                    "a.map(|begin_bit| b)",
                ],
            ),
        ];
        for (kind, texts) in planted {
            for text in texts {
                assert_eq!(kinds(text), [kind], "{text}");
            }
        }
    }

    #[test]
    fn good_code_passes() {
        let passing = [
            "let (a, b) = c.split_at(1);",
            "let (a, b) = (c(), d()).swap();",
            "let a = (b, c);",
            "let (a, b) = (if c { d } else { e });",
            "// let (a, b) = (c, d);",
            "a(\"let found = 1;\", 'l');",
            "a.map(|(b, c)| b + c)",
            "let A { found: b } = c;",
            "match a { B | C => d.all(e), F { .. } | G => all::h() }",
            "impl A for it {}",
            "match a { _ if b(own, most) => 1, c if known => 2 }",
            "fn a((): &(), b: (u8, u8)) -> (u8, u8) {}",
            "let attribute_begin = a.begin();",
            "fn begin_object_key() {}",
            "self.found = a; b.all(|c| c)",
        ];
        for text in passing {
            assert_eq!(kinds(text), [], "{text}");
        }
    }

    #[test]
    fn every_place_is_a_finding() {
        let text = "let (a, b) = (c, d);\nlet (a, b) = (c, d);\nlet it = 1;\n";
        with_tree(&[("a.rs", text)], |tree| {
            let mut findings = Vec::new();
            habits(tree, &mut findings);
            assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [1, 2, 3]);
        });
    }
}
