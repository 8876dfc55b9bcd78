//! A view of a Rust file that rules can search without being fooled: code without comments and
//! strings, comments without code, and tokens with their lines. Knows no grammar beyond tokens,
//! braces, paths and `#[cfg(test)]`.

use std::ops::{Range, RangeInclusive};

/// The view of one file. `code` and `comments` have the file's length and line breaks, with spaces
/// for the rest.
pub(super) struct Rust {
    pub(super) code: String,
    pub(super) comments: String,
    tokens: Vec<Token>,
    test_lines: Vec<RangeInclusive<usize>>,
    /// Names in `#[cfg(test)] mod name;`.
    pub(super) test_modules: Vec<String>,
}

/// A name, a number, `::` or a single sign.
struct Token {
    bytes: Range<usize>,
    line: usize,
}

/// A path such as `crate::model::Mesh`, with the groups of a `use` written out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodePath {
    pub(super) segments: Vec<String>,
    /// The line of the last segment.
    pub(super) line: usize,
    /// The token at which the path starts.
    pub(super) token: usize,
}

impl Rust {
    /// Looks through the text of a file once.
    pub(super) fn new(text: &str) -> Rust {
        let kinds = kinds(text);
        let code = keep(text, &kinds, Kind::Code);
        let comments = keep(text, &kinds, Kind::Comment);
        let tokens = tokens(&code);
        let mut rust = Rust { code, comments, tokens, test_lines: Vec::new(), test_modules: Vec::new() };
        rust.find_tests();
        rust
    }

    /// The text of token `index`, or "" past the end.
    pub(super) fn token(&self, index: usize) -> &str {
        self.tokens.get(index).map_or("", |token| &self.code[token.bytes.clone()])
    }

    /// The line of token `index`, from 1.
    pub(super) fn line(&self, index: usize) -> usize {
        self.tokens.get(index).map_or(1, |token| token.line)
    }

    /// Every token's index.
    pub(super) fn indices(&self) -> Range<usize> {
        0..self.tokens.len()
    }

    /// Whether the tokens from `index` on are `wanted`.
    pub(super) fn starts(&self, index: usize, wanted: &[&str]) -> bool {
        wanted.iter().enumerate().all(|(offset, want)| self.token(index + offset) == *want)
    }

    /// Whether `line` lies in a `#[cfg(test)]` item.
    pub(super) fn is_test(&self, line: usize) -> bool {
        self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// The first `{` or `;` from `index` on that no bracket holds: where an item's head ends.
    pub(super) fn head_end(&self, index: usize) -> Option<usize> {
        let mut depth = 0_isize;
        (index..self.tokens.len()).find(|&i| {
            match self.token(i) {
                "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                "{" | ";" => return depth <= 0,
                _ => {}
            }
            false
        })
    }

    /// The `}` that closes the `{` at `open`.
    pub(super) fn close(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        (open..self.tokens.len()).find(|&i| {
            match self.token(i) {
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        })
    }

    /// How many `mod name { … }` of this file hold token `index`.
    pub(super) fn inline_modules(&self, index: usize) -> usize {
        let opens = (0..index).filter(|&i| self.token(i) == "mod" && self.token(i + 2) == "{");
        opens.filter(|&i| self.close(i + 2).is_some_and(|close| close > index)).count()
    }

    /// Every path in the file that starts with one of `roots`, in code that is not under
    /// `#[cfg(test)]`.
    pub(super) fn paths(&self, roots: &[&str]) -> Vec<CodePath> {
        let is_start = |&i: &usize| {
            let begins = roots.contains(&self.token(i)) && self.token(i + 1) == "::";
            begins && (i == 0 || !self.continues_path(i)) && !self.is_test(self.line(i))
        };
        let (mut paths, mut after) = (Vec::new(), 0);
        for start in self.indices().filter(is_start) {
            // `thread` in `std::{thread::spawn}` is no second path.
            if start >= after {
                after = self.expand(start, start, &mut Vec::new(), &mut paths);
            }
        }
        paths
    }

    /// Whether the token before `index` makes it a later segment, as `b` in `a::b`. A leading `::a`
    /// starts a path.
    fn continues_path(&self, index: usize) -> bool {
        let is_name = |text: &str| text.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        self.token(index - 1) == "::" && index >= 2 && is_name(self.token(index - 2))
    }

    /// Adds the paths that begin with `prefix` and go on at token `i`; returns the token after
    /// them.
    fn expand(&self, start: usize, mut i: usize, prefix: &mut Vec<String>, paths: &mut Vec<CodePath>) -> usize {
        let depth = prefix.len();
        loop {
            match self.token(i) {
                "{" => {
                    i = self.expand_group(start, i + 1, prefix, paths);
                    break;
                }
                segment => prefix.push(segment.into()),
            }
            if self.token(i + 1) != "::" || !goes_on(self.token(i + 2)) {
                paths.push(CodePath { segments: prefix.clone(), line: self.line(i), token: start });
                i += 1;
                break;
            }
            i += 2;
        }
        prefix.truncate(depth);
        i
    }

    /// The inside of a `use` group, up to and with its `}`; returns the token after it.
    fn expand_group(&self, start: usize, mut i: usize, prefix: &mut Vec<String>, paths: &mut Vec<CodePath>) -> usize {
        while i < self.tokens.len() && self.token(i) != "}" {
            i = self.expand(start, i, prefix, paths);
            while i < self.tokens.len() && !matches!(self.token(i), "," | "}") {
                i += 1; // `as name`
            }
            if self.token(i) == "," {
                i += 1;
            }
        }
        i + 1
    }

    /// Notes what only tests compile: marked items, or the whole file.
    fn find_tests(&mut self) {
        if (0..self.tokens.len()).any(|i| self.starts(i, &["#", "!", "[", "cfg", "(", "test", ")", "]"])) {
            self.test_lines.push(1..=usize::MAX);
        }
        for i in 0..self.tokens.len() {
            let plain = self.starts(i, &["#", "[", "cfg", "(", "test", ")", "]"]);
            if plain || self.starts(i, &["#", "[", "cfg", "(", "all", "(", "test", ","]) {
                self.add_test_item(i);
            }
        }
    }

    /// Notes the item under the `#[cfg(test)]` at token `attribute`, to its end.
    fn add_test_item(&mut self, attribute: usize) {
        let Some(end) = self.head_end(attribute) else {
            return;
        };
        if self.token(end) == ";" {
            if self.token(end - 2) == "mod" {
                self.test_modules.push(self.token(end - 1).into());
            }
            self.test_lines.push(self.line(attribute)..=self.line(end));
        } else if let Some(close) = self.close(end) {
            self.test_lines.push(self.line(attribute)..=self.line(close));
        }
    }
}

/// Whether a path goes on with this token: a name, a glob or a group. (`<` is a turbofish.)
fn goes_on(token: &str) -> bool {
    matches!(token, "{" | "*") || token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// What a byte belongs to. The quotes of a string count as code, what is between them does not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Quoted,
}

/// The text with a space for each byte that is not of the wanted kind. Line breaks stay.
fn keep(text: &str, kinds: &[Kind], wanted: Kind) -> String {
    let kept = text.bytes().zip(kinds).map(|(byte, kind)| if *kind == wanted || byte == b'\n' { byte } else { b' ' });
    // A character has one kind throughout, so what is kept is still UTF-8.
    String::from_utf8_lossy(&kept.collect::<Vec<u8>>()).into_owned()
}

/// The kind of every byte. One pass; each literal or comment is skipped as a whole.
fn kinds(text: &str) -> Vec<Kind> {
    let bytes = text.as_bytes();
    let mut kinds = vec![Kind::Code; bytes.len()];
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (skip, kind, length) = match rest {
            [b'/', b'/', ..] => (0, Kind::Comment, line_length(rest)),
            [b'/', b'*', ..] => (0, Kind::Comment, block_comment_length(rest)),
            [b'"', ..] => (1, Kind::Quoted, string_length(rest)),
            [b'r', ..] if !joins(bytes, at) && raw_hashes(rest).is_some() => raw_string(rest),
            [b'\'', ..] => (1, Kind::Quoted, char_length(rest)),
            _ => (0, Kind::Code, 1),
        };
        kinds[at + skip..(at + length).min(bytes.len())].fill(kind);
        if kind == Kind::Quoted && length > skip {
            kinds[(at + length - 1).min(bytes.len() - 1)] = Kind::Code;
        }
        at += length;
    }
    kinds
}

/// Whether the byte at `at` goes on a name: `r` in `for "x"` is no raw string. (`br"…"` and `cr"…"`
/// are.)
fn joins(bytes: &[u8], at: usize) -> bool {
    let name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let before = |steps: usize| at.checked_sub(steps).map(|i| bytes[i]);
    match before(1) {
        Some(b'b' | b'c') => before(2).is_some_and(name),
        Some(byte) => name(byte),
        None => false,
    }
}

/// The length of a `//` comment without its line break.
fn line_length(rest: &[u8]) -> usize {
    rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
}

/// The length of a `/* … */` comment; these nest.
fn block_comment_length(rest: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a string literal with its quotes.
fn string_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != b'"' {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// The number of `#` where `rest` begins a raw string. (`r#type` is a name.)
fn raw_hashes(rest: &[u8]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|&&byte| byte == b'#').count();
    (rest.get(1 + hashes) == Some(&b'"')).then_some(hashes)
}

/// Where the inside of a raw string begins, its kind, and the length of the whole literal.
fn raw_string(rest: &[u8]) -> (usize, Kind, usize) {
    let hashes = raw_hashes(rest).unwrap_or(0);
    let start = hashes + 2;
    let mut end = b"\"".to_vec();
    end.resize(hashes + 1, b'#');
    let inside = rest[start..].windows(end.len()).position(|window| window == end);
    (start, Kind::Quoted, inside.map_or(rest.len(), |length| start + length + end.len()))
}

/// The length of a character literal, or 1 for the quote of a lifetime.
fn char_length(rest: &[u8]) -> usize {
    match rest {
        [_, b'\\', _, tail @ ..] => tail.iter().position(|&byte| byte == b'\'').map_or(1, |length| length + 4),
        [_, first, ..] => {
            let width = if *first < 0x80 { 1 } else { first.leading_ones() as usize };
            if rest.get(1 + width) == Some(&b'\'') { width + 2 } else { 1 }
        }
        _ => 1,
    }
}

/// Splits masked code into tokens. A line break ends a token, so none spans two lines.
fn tokens(code: &str) -> Vec<Token> {
    let name = |c: char| c.is_alphanumeric() || c == '_';
    let (mut tokens, mut line, mut at) = (Vec::new(), 1, 0);
    while let Some(first) = code[at..].chars().next() {
        let rest = &code[at..];
        let length = match first {
            c if name(c) => rest.find(|c| !name(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            c => c.len_utf8(),
        };
        if first == '\n' {
            line += 1;
        } else if !first.is_whitespace() {
            tokens.push(Token { bytes: at..at + length, line });
        }
        at += length;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_leave_the_code() {
        let source =
            "a(\"x // \\\" y\"); // unsafe {\n/* /* p */ q */ b(r#\"un\"wrap\"#, 'z', '\\'', '\"', 'é'); &'a c\n";
        let rust = Rust::new(source);
        for hidden in ["x", "y", "unsafe", "p", "q", "un", "wrap", "z", "é"] {
            assert!(!rust.code.contains(hidden), "{hidden}: {}", rust.code);
        }
        assert!(rust.code.contains("&'a c") && rust.comments.contains("// unsafe {"));
        assert_eq!(rust.code.len(), source.len());
    }

    #[test]
    fn raw_byte_strings_and_raw_names_are_told_apart() {
        let rust = Rust::new("br\"un\\\" ; r#type ; for\"wrap\" ; b'\\x41' ; end");
        assert!(rust.code.contains("r#type") && rust.code.contains("end"), "{}", rust.code);
        assert!(!rust.code.contains("un") && !rust.code.contains("wrap"), "{}", rust.code);
    }

    #[test]
    fn a_use_group_is_written_out() {
        let rust =
            Rust::new("use crate::{error::Error, model::{self, Mesh as M}, options::*};\nlet x = crate::f::<T>(1);");
        let paths: Vec<String> = rust.paths(&["crate"]).iter().map(|path| path.segments.join("::")).collect();
        assert_eq!(
            paths,
            ["crate::error::Error", "crate::model::self", "crate::model::Mesh", "crate::options::*", "crate::f"]
        );
    }

    #[test]
    fn a_path_starts_at_its_root_alone() {
        let rust = Rust::new("polyhaul::crate_x::a; x::std::b; ::std::c; std::d; fn e() -> ::std::f {}");
        let paths: Vec<String> = rust.paths(&["std"]).iter().map(|path| path.segments.join("::")).collect();
        assert_eq!(paths, ["std::c", "std::d", "std::f"]);
    }

    #[test]
    fn test_items_are_known_by_line() {
        let rust =
            Rust::new("fn a() {}\n#[cfg(test)]\nmod tests {\n  fn b() {}\n}\nfn c() {}\n#[cfg(test)]\nmod far;\n");
        let lines: Vec<usize> = (1..=8).filter(|&line| rust.is_test(line)).collect();
        assert_eq!(lines, [2, 3, 4, 5, 7, 8]);
        assert_eq!(rust.test_modules, ["far"]);
    }
}
