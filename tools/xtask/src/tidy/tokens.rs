//! Tokenizes Rust source: omits comments, keeps strings and characters as single tokens, and matches brackets.
//!
//! Rules about code read tokens instead of lines. The scanner accepts any text and never fails; for text that the
//! compiler would reject, tokens are merely useless. Loops are plain because `xtask` is built without optimization.

/// Kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    /// Identifiers and keywords.
    Word,
    Lifetime,
    Number,
    /// Strings, bytes and characters, with their quotes.
    Literal,
    /// Brackets, operators and punctuation: single characters, except [`JOINED`].
    Symbol,
}

/// A token, as a range of the text.
#[derive(Clone, Copy)]
pub(super) struct Token {
    kind: TokenKind,
    start: u32,
    end: u32,
    /// Line number, from 1.
    line: u32,
    /// Index of the matching bracket; the token's own index if it is not a bracket or has no match.
    partner: u32,
    /// Whether the token is in an item of `#[cfg(test)]`.
    is_test: bool,
}

/// Multi-character symbols. Other symbols, such as `+=` and `>>`, are one token per character.
const JOINED: &[&[u8]] = &[b"..=", b"::", b"->", b"=>", b"==", b"!=", b"<=", b">=", b"&&", b"||", b".."];

/// Tokens of a file, with its text.
#[derive(Clone, Copy)]
pub(super) struct Code<'a, 't> {
    text: &'a str,
    tokens: &'t [Token],
}

impl<'a, 't> Code<'a, 't> {
    pub(super) fn new(text: &'a str, tokens: &'t [Token]) -> Code<'a, 't> {
        Code { text, tokens }
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the text of a token; empty past the end.
    pub(super) fn text(&self, index: usize) -> &'a str {
        match self.tokens.get(index) {
            Some(token) => &self.text[token.start as usize..token.end as usize],
            None => "",
        }
    }

    /// Returns the first byte of a token, or 0 past the end. Much faster than [`Code::text`].
    pub(super) fn first(&self, index: usize) -> u8 {
        if index < self.tokens.len() { self.text.as_bytes()[self.tokens[index].start as usize] } else { 0 }
    }

    pub(super) fn is(&self, index: usize, text: &str) -> bool {
        self.first(index) == text.as_bytes()[0] && self.text(index) == text
    }

    pub(super) fn is_kind(&self, index: usize, kind: TokenKind) -> bool {
        index < self.tokens.len() && self.tokens[index].kind == kind
    }

    pub(super) fn is_word(&self, index: usize) -> bool {
        self.is_kind(index, TokenKind::Word)
    }

    /// Returns the offset after a token, or 0 past the end.
    pub(super) fn end(&self, index: usize) -> usize {
        self.tokens.get(index).map_or(0, |token| token.end as usize)
    }

    pub(super) fn line(&self, index: usize) -> usize {
        self.tokens.get(index).map_or(0, |token| token.line as usize)
    }

    /// Returns the index of the matching bracket; `index` itself if there is none.
    pub(super) fn partner(&self, index: usize) -> usize {
        self.tokens.get(index).map_or(index, |token| token.partner as usize)
    }

    pub(super) fn is_test(&self, index: usize) -> bool {
        index < self.tokens.len() && self.tokens[index].is_test
    }

    /// Returns the first index, starting at `index`, that is outside of `#[cfg(test)]`.
    pub(super) fn skip_test(&self, mut index: usize) -> usize {
        while self.is_test(index) {
            index += 1;
        }
        index
    }
}

/// Splits Rust source into tokens.
pub(super) fn scan(text: &str) -> Vec<Token> {
    let mut scanner =
        Scanner { bytes: text.as_bytes(), offset: 0, line: 1, tokens: Vec::with_capacity(text.len() / 4) };
    while scanner.offset < scanner.bytes.len() {
        scanner.step();
    }
    let mut tokens = scanner.tokens;
    pair_brackets(text.as_bytes(), &mut tokens);
    mark_tests(text, &mut tokens);
    tokens
}

struct Scanner<'a> {
    bytes: &'a [u8],
    offset: usize,
    line: u32,
    tokens: Vec<Token>,
}

impl Scanner<'_> {
    /// Returns the byte `ahead` bytes after the current one, or 0 past the end.
    fn peek(&self, ahead: usize) -> u8 {
        let index = self.offset + ahead;
        if index < self.bytes.len() { self.bytes[index] } else { 0 }
    }

    fn push(&mut self, kind: TokenKind, start: usize, line: u32) {
        let index = self.tokens.len() as u32;
        let end = self.offset as u32;
        self.tokens.push(Token { kind, start: start as u32, end, line, partner: index, is_test: false });
    }

    /// Skips whitespace or a comment, or adds one token.
    fn step(&mut self) {
        let start = self.offset;
        let line = self.line;
        match self.bytes[start] {
            b'\n' => {
                self.line += 1;
                self.offset += 1;
            }
            b' ' | b'\t' | b'\r' => self.offset += 1,
            b'/' if self.peek(1) == b'/' => self.skip_line(),
            b'/' if self.peek(1) == b'*' => self.skip_block(),
            b'"' => {
                self.offset += 1;
                self.finish_quoted(b'"');
                self.push(TokenKind::Literal, start, line);
            }
            b'\'' => {
                let kind = self.quote();
                self.push(kind, start, line);
            }
            b'0'..=b'9' => {
                self.number();
                self.push(TokenKind::Number, start, line);
            }
            byte if is_word_byte(byte) => {
                let kind = self.word();
                self.push(kind, start, line);
            }
            _ => {
                self.offset += self.symbol_len();
                self.push(TokenKind::Symbol, start, line);
            }
        }
    }

    fn skip_line(&mut self) {
        while self.offset < self.bytes.len() && self.bytes[self.offset] != b'\n' {
            self.offset += 1;
        }
    }

    /// Skips a block comment, which may be nested.
    fn skip_block(&mut self) {
        let mut depth = 0;
        while self.offset < self.bytes.len() {
            match (self.bytes[self.offset], self.peek(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.offset += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.offset += 2;
                    if depth == 0 {
                        return;
                    }
                }
                (byte, _) => {
                    self.line += u32::from(byte == b'\n');
                    self.offset += 1;
                }
            }
        }
    }

    /// Moves past the closing quote of a string or character with escapes.
    fn finish_quoted(&mut self, quote: u8) {
        while self.offset < self.bytes.len() {
            let byte = self.bytes[self.offset];
            self.line += u32::from(byte == b'\n');
            if byte == b'\\' {
                self.line += u32::from(self.peek(1) == b'\n');
                self.offset += 1;
            }
            self.offset += 1;
            if byte == quote {
                break;
            }
        }
        self.offset = self.offset.min(self.bytes.len());
    }

    /// Moves past a character or a lifetime, which start with the same quote.
    fn quote(&mut self) -> TokenKind {
        let first = self.peek(1);
        let char_bytes = match first {
            0..=0x7f => 1,
            0x80..=0xdf => 2,
            0xe0..=0xef => 3,
            _ => 4,
        };
        if first == b'\\' || self.peek(1 + char_bytes) == b'\'' {
            self.offset += 1;
            self.finish_quoted(b'\'');
            return TokenKind::Literal;
        }
        self.offset += 1;
        self.skip_word();
        TokenKind::Lifetime
    }

    fn skip_word(&mut self) {
        while self.offset < self.bytes.len() && is_word_byte(self.bytes[self.offset]) {
            self.offset += 1;
        }
    }

    /// Moves past a word, or past the string or character that it prefixes.
    fn word(&mut self) -> TokenKind {
        let start = self.offset;
        self.skip_word();
        let prefix = &self.bytes[start..self.offset];
        let is_raw = matches!(prefix, b"r" | b"br" | b"cr");
        match self.peek(0) {
            b'"' if is_raw => self.finish_raw(0),
            b'"' if matches!(prefix, b"b" | b"c") => {
                self.offset += 1;
                self.finish_quoted(b'"');
            }
            b'\'' if prefix == b"b" => {
                self.offset += 1;
                self.finish_quoted(b'\'');
            }
            b'#' if is_raw => {
                let mut hashes = 0;
                while self.peek(hashes) == b'#' {
                    hashes += 1;
                }
                if self.peek(hashes) != b'"' {
                    // A raw identifier: `r#type`.
                    self.offset += 1;
                    self.skip_word();
                    return TokenKind::Word;
                }
                self.offset += hashes;
                self.finish_raw(hashes);
            }
            _ => return TokenKind::Word,
        }
        TokenKind::Literal
    }

    /// Moves past a raw string, from its opening quote.
    fn finish_raw(&mut self, hashes: usize) {
        self.offset += 1;
        while self.offset < self.bytes.len() {
            let byte = self.bytes[self.offset];
            self.line += u32::from(byte == b'\n');
            self.offset += 1;
            if byte == b'"' {
                let mut count = 0;
                while count < hashes && self.peek(count) == b'#' {
                    count += 1;
                }
                if count == hashes {
                    self.offset += hashes;
                    return;
                }
            }
        }
    }

    /// Moves past a number. In `1..2` and `1.max(2)`, the point is not part of it.
    fn number(&mut self) {
        let is_hex = self.peek(0) == b'0' && self.peek(1) == b'x';
        loop {
            let before = self.offset;
            self.skip_word();
            let has_exponent = !is_hex && self.offset > before && matches!(self.bytes[self.offset - 1], b'e' | b'E');
            let next = self.peek(1);
            match self.peek(0) {
                b'+' | b'-' if has_exponent && next.is_ascii_digit() => self.offset += 1,
                b'.' if next != b'.' && (next.is_ascii_digit() || !is_word_byte(next)) => self.offset += 1,
                _ => return,
            }
        }
    }

    fn symbol_len(&self) -> usize {
        // Fast path: most symbols are followed by something that cannot continue them.
        if !matches!(self.peek(1), b'.' | b':' | b'>' | b'=' | b'&' | b'|') {
            return 1;
        }
        for symbol in JOINED {
            if self.bytes[self.offset..].starts_with(symbol) {
                return symbol.len();
            }
        }
        1
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn pair_brackets(bytes: &[u8], tokens: &mut [Token]) {
    let mut open = Vec::new();
    for index in 0..tokens.len() {
        if tokens[index].kind != TokenKind::Symbol {
            continue;
        }
        match bytes[tokens[index].start as usize] {
            b'(' | b'[' | b'{' => open.push(index),
            b')' | b']' | b'}' => {
                if let Some(partner) = open.pop() {
                    let partner: usize = partner;
                    tokens[partner].partner = index as u32;
                    tokens[index].partner = partner as u32;
                }
            }
            _ => {}
        }
    }
}

/// Marks the items after `#[cfg(test)]`, including their attributes.
fn mark_tests(text: &str, tokens: &mut [Token]) {
    let mut index = 0;
    while index < tokens.len() {
        let end = test_item_end(Code { text, tokens }, index);
        for token in &mut tokens[index..end] {
            token.is_test = true;
        }
        index = end.max(index + 1);
    }
}

/// Returns the end of the item whose attribute `#[cfg(test)]` starts at `index`; `index` if there is none.
fn test_item_end(code: Code<'_, '_>, index: usize) -> usize {
    if code.first(index) != b'#' || !code.is(index + 1, "[") || !code.is(index + 2, "cfg") {
        return index;
    }
    let attribute_end = code.partner(index + 1);
    // `any(test, unix)` is also built without tests; in `all(test, unix)`, the word follows `(`.
    let is_test = (index..attribute_end)
        .any(|at| code.is(at, "test") && code.is(at - 1, "(") && !code.is(at - 2, "any") && !code.is(at - 2, "not"));
    if !is_test {
        return index;
    }
    let mut end = attribute_end + 1;
    // A comma ends a field or a variant, and separates the parameters of a generic item.
    let mut is_item = false;
    while end < code.len() {
        is_item = is_item || matches!(code.text(end), "fn" | "impl" | "struct" | "enum" | "trait" | "type" | "use");
        match code.first(end) {
            b'{' => return code.partner(end) + 1,
            b';' => return end + 1,
            b',' if !is_item => return end + 1,
            b'(' | b'[' => end = code.partner(end).max(end) + 1,
            b'}' => return end,
            _ => end += 1,
        }
    }
    end.min(code.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        let tokens = scan(text);
        let code = Code::new(text, &tokens);
        (0..code.len()).map(|index| code.text(index)).collect()
    }

    #[test]
    fn comments_are_skipped_and_literals_are_single_tokens() {
        let text = "a /* b /* c */ d */ // e\n\"f \\\" // g\" r#\"h \" i\"# b'\\'' 'j' 'k '\\u{1F}' 'é' br\"l\" r#type";
        let literals = ["\"f \\\" // g\"", "r#\"h \" i\"#", "b'\\''", "'j'"];
        let rest = ["'k", "'\\u{1F}'", "'é'", "br\"l\"", "r#type"];
        assert_eq!(texts(text), [&["a"][..], &literals, &rest].concat());
    }

    #[test]
    fn numbers_and_symbols_are_separated() {
        assert_eq!(
            texts("1..2 1.5e-3f32 0xe+1 t.0.1 1.max(2)").join(" "),
            "1 .. 2 1.5e-3f32 0xe + 1 t . 0.1 1 . max ( 2 )"
        );
        assert_eq!(texts("a::b->c..=d||e<=f>>g").join(" "), "a :: b -> c ..= d || e <= f > > g");
    }

    #[test]
    fn brackets_have_partners_and_lines_are_counted() {
        let text = "f(\n\"\n\\\n\", [1])\n";
        let tokens = scan(text);
        let code = Code::new(text, &tokens);
        assert_eq!([code.partner(1), code.partner(4), code.partner(7), code.partner(2)], [7, 6, 1, 2]);
        assert_eq!([code.line(0), code.line(2), code.line(4)], [1, 2, 4]);
    }

    #[test]
    fn items_of_tests_are_marked() {
        let text = "#[cfg(test)] #[path = \"b.rs\"] mod a; fn b() {} #[cfg(all(test, unix))] mod c { d } #[cfg(any(test, unix))] e();";
        let tokens = scan(text);
        let code = Code::new(text, &tokens);
        let product: Vec<&str> =
            (0..code.len()).filter(|index| !code.is_test(*index)).map(|index| code.text(index)).collect();
        assert_eq!(product.join(" "), "fn b ( ) { } # [ cfg ( any ( test , unix ) ) ] e ( ) ;");
    }

    #[test]
    fn no_text_makes_it_fail() {
        for text in ["\"", "'", "r#\"", "/*", "b'", "'\\", "}", "(]", "#[cfg(test)]", "#[cfg(test)] mod a {", "1e", "é"]
        {
            scan(text);
        }
    }
}
