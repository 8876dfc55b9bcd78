//! Collects the paths in Rust code: imports, and qualified paths elsewhere.

use super::tokens::Code;

/// An imported name: `use a::{b as c}` has the path a, b and the name c.
pub(super) struct Import<'a> {
    pub(super) path: Vec<&'a str>,
    /// Name in this module; `*` for all names of `path`.
    pub(super) name: &'a str,
    /// Whether it is re-exported with `pub` or `pub(…)`.
    pub(super) is_public: bool,
    /// Index of the token `use`.
    pub(super) token: usize,
}

/// A path of at least two segments outside of imports.
pub(super) struct QualifiedPath<'a> {
    pub(super) segments: Vec<&'a str>,
    /// Index of the first segment.
    pub(super) token: usize,
}

/// All paths of a file.
pub(super) struct Paths<'a> {
    pub(super) imports: Vec<Import<'a>>,
    pub(super) qualified: Vec<QualifiedPath<'a>>,
}

/// Collects the paths of a file, including those in tests.
pub(super) fn collect<'a>(code: Code<'a, '_>) -> Paths<'a> {
    let mut paths = Paths { imports: Vec::new(), qualified: Vec::new() };
    let mut index = 0;
    while index < code.len() {
        // `use<'a>` lists what an opaque type captures.
        if code.first(index) == b'u' && code.is(index, "use") && !code.is(index + 1, "<") {
            index = collect_import(code, index, &mut paths.imports);
        } else if code.first(index + 1) == b':' && code.is_word(index) && code.is(index + 1, "::") {
            index = collect_qualified(code, index, &mut paths.qualified);
        } else {
            index += 1;
        }
    }
    paths
}

/// Adds the imports of one `use` and returns the index after it.
fn collect_import<'a>(code: Code<'a, '_>, start: usize, imports: &mut Vec<Import<'a>>) -> usize {
    let is_public = start > 0 && (code.is(start - 1, "pub") || code.is(code.partner(start - 1).wrapping_sub(1), "pub"));
    let mut tree = ImportTree { code, start, is_public, imports };
    let end = tree.branch(start + 1, &[]);
    end.max(start + 1)
}

struct ImportTree<'a, 'b> {
    code: Code<'a, 'b>,
    start: usize,
    is_public: bool,
    imports: &'b mut Vec<Import<'a>>,
}

impl<'a> ImportTree<'a, '_> {
    /// Adds the names of one branch below `prefix`, and returns the index after it.
    fn branch(&mut self, mut index: usize, prefix: &[&'a str]) -> usize {
        let mut path = prefix.to_vec();
        loop {
            match self.code.text(index) {
                "::" => index += 1,
                "{" => {
                    let end = self.code.partner(index);
                    index += 1;
                    while index < end {
                        index = self.branch(index, &path).max(index + 1);
                        if self.code.is(index, ",") {
                            index += 1;
                        }
                    }
                    return end + 1;
                }
                "*" => {
                    self.push(path, "*");
                    return index + 1;
                }
                "as" => {
                    let name = self.code.text(index + 1);
                    self.push(path, name);
                    return index + 2;
                }
                segment if self.code.is_word(index) => {
                    path.push(segment);
                    index += 1;
                }
                _ => {
                    self.finish(path, prefix);
                    return index;
                }
            }
        }
    }

    /// Adds a path without `as`. `a::{self}` imports `a` itself.
    fn finish(&mut self, mut path: Vec<&'a str>, prefix: &[&'a str]) {
        if path.len() == prefix.len() {
            return;
        }
        if path.len() > 1 && path.last() == Some(&"self") {
            path.pop();
        }
        if let Some(name) = path.last().copied() {
            self.push(path, name);
        }
    }

    fn push(&mut self, mut path: Vec<&'a str>, name: &'a str) {
        if path.len() > 1 && path.last() == Some(&"self") {
            path.pop();
        }
        self.imports.push(Import { path, name, is_public: self.is_public, token: self.start });
    }
}

/// Adds the path that starts at `start` and returns the index after it.
fn collect_qualified<'a>(code: Code<'a, '_>, start: usize, qualified: &mut Vec<QualifiedPath<'a>>) -> usize {
    let mut segments = vec![code.text(start)];
    let mut index = start + 1;
    while code.is(index, "::") && code.is_word(index + 1) {
        segments.push(code.text(index + 1));
        index += 2;
    }
    // After `>`, the path continues a type; after a turbofish, it starts with the type's arguments.
    let continues = start > 0 && code.is(start - 1, "::");
    if segments.len() > 1 && !continues {
        qualified.push(QualifiedPath { segments, token: start });
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tokens;

    #[test]
    fn imports_are_expanded() {
        let text = "pub(crate) use a::{b, c::{self, d as e}, f::*}; fn x() -> impl I + use<'_> { use ::g::h; }";
        let tokens = tokens::scan(text);
        let paths = collect(Code::new(text, &tokens));
        let imports: Vec<String> = paths
            .imports
            .iter()
            .map(|import| {
                format!("{}={}{}", import.name, import.path.join("::"), if import.is_public { "!" } else { "" })
            })
            .collect();
        assert_eq!(imports, ["b=a::b!", "c=a::c!", "e=a::c::d!", "*=a::f!", "h=g::h"]);
    }

    #[test]
    fn qualified_paths_are_found() {
        let text = "let x: a::B<c::D> = <E as f::G>::h(i::j::<k::L>(), $crate::m::N, O::p); // q::r\n\"s::t\";";
        let tokens = tokens::scan(text);
        let paths = collect(Code::new(text, &tokens));
        let qualified: Vec<String> = paths.qualified.iter().map(|path| path.segments.join("::")).collect();
        assert_eq!(qualified, ["a::B", "c::D", "f::G", "i::j", "k::L", "crate::m::N", "O::p"]);
    }
}
