//! Parses one statement in any notation: the slow path, which has all rules and all error messages.

use super::parsed::{ElementKind, EventKind, ObjComplaint, ObjParsed, ObjSegment, ObjStream, Relative};
use super::tokens::{ObjChunkText, ObjLine, ObjToken, ObjTokens, unescaped};
use polyhaul_model::Counts;
use polyhaul_model::error::{Result, try_push};
use polyhaul_model::warnings::{Weight, counted};
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::place::excerpt;
use polyhaul_text::parse::number::{self, IntegerError};

/// A statement being parsed.
pub(super) struct Statement<'a, 'o> {
    pub(super) text: ObjChunkText<'a>,
    pub(super) line: ObjLine,
    pub(super) options: &'a ParseOptions,
    pub(super) out: &'o mut ObjParsed,
}

/// A fault that makes the whole statement invalid.
struct ObjBroken {
    token: ObjToken,
    message: String,
    expected: &'static str,
}

/// Lengths of the arrays of values and of relative indices before a statement.
struct ElementMarks {
    values: usize,
    relatives: usize,
}

type ObjStatementParse<T> = std::result::Result<T, ObjBroken>;

/// Keywords that are not supported, each of which is skipped with a warning: free-form geometry and display attributes.
const NOT_READ: [&[u8]; 32] = [
    b"vp",
    b"curv2",
    b"surf",
    b"trim",
    b"hole",
    b"scrv",
    b"sp",
    b"con",
    b"bmat",
    b"step",
    b"ctech",
    b"stech",
    b"res",
    b"bsp",
    b"bzp",
    b"cdc",
    b"cdp",
    b"mg",
    b"bevel",
    b"c_interp",
    b"d_interp",
    b"lod",
    b"shadow_obj",
    b"trace_obj",
    b"maplib",
    b"usemap",
    b"call",
    b"csh",
    b"csh-",
    b"polymaterial",
    b"cylinder",
    b"sphere",
];

/// Returns whether a word is an OBJ keyword, supported or not.
fn is_keyword(word: &[u8]) -> bool {
    const READ: [&[u8]; 17] = [
        b"v", b"vt", b"vn", b"f", b"fo", b"l", b"p", b"o", b"g", b"usemtl", b"mtllib", b"s", b"cstype", b"deg",
        b"curv", b"parm", b"end",
    ];
    READ.contains(&word) || NOT_READ.contains(&word)
}

impl Statement<'_, '_> {
    /// Parses the statement into `out`, including complaints. Fails only if out of memory.
    pub(super) fn parse(mut self) -> Result<()> {
        let mut tokens = self.line.tokens(self.text.padded);
        let Some(word) = tokens.next_word() else { return Ok(()) };
        let keyword = tokens.text(&word);
        let outcome = match keyword {
            b"v" => self.vertex(tokens)?,
            b"vt" => self.uv(tokens)?,
            b"vn" => self.normal(tokens)?,
            b"f" | b"fo" => self.element(ElementKind::Face, tokens)?,
            b"l" => self.element(ElementKind::Line, tokens)?,
            b"p" => self.element(ElementKind::Point, tokens)?,
            b"o" => self.named(EventKind::Object, word, tokens)?,
            b"g" => self.named(EventKind::Group, word, tokens)?,
            b"usemtl" => self.named(EventKind::Material, word, tokens)?,
            b"mtllib" => self.named(EventKind::Library, word, tokens)?,
            b"s" => self.smoothing(word, tokens)?,
            b"cstype" => self.named(EventKind::CurveType, word, tokens)?,
            b"deg" => self.named(EventKind::Degree, word, tokens)?,
            b"curv" => self.named(EventKind::CurveBody, word, tokens)?,
            b"parm" => self.named(EventKind::Knots, word, tokens)?,
            b"end" => self.named(EventKind::CurveEnd, word, tokens)?,
            b"#MRGB" => self.named(EventKind::Polypaint, word, tokens)?,
            [b'#', ..] => self.comment(word)?,
            other => self.unknown(word, other)?,
        };
        self.out.has_known_keyword |= is_keyword(keyword);
        if outcome.is_err() && !self.options.raises() {
            self.keep_number(keyword)?;
        }
        self.close(outcome)
    }

    /// Adds a placeholder value for a skipped line, so that the indices of later lines do not change.
    fn keep_number(&mut self, keyword: &[u8]) -> Result<()> {
        let (stream, index) = match keyword {
            b"v" => {
                let index = self.out.positions.len();
                self.out.positions.push([f32::NAN; 3])?;
                if self.options.precision.has_doubles() {
                    self.out.exact.push([f64::NAN; 3])?;
                }
                (ObjStream::Position, index)
            }
            b"vt" => {
                let index = self.out.uvs.len();
                self.out.uvs.push([f32::NAN; 2])?;
                (ObjStream::Uv, index)
            }
            b"vn" => {
                let index = self.out.normals.len();
                self.out.normals.push([f32::NAN; 3])?;
                (ObjStream::Normal, index)
            }
            _ => return Ok(()),
        };
        try_push(&mut self.out.skipped, (stream, index as u32), "statements")
    }

    /// Like [`Statement::parse`], but for a line that starts with `word`, the keyword of `kind`.
    pub(super) fn parse_name(mut self, kind: EventKind, word: ObjToken) -> Result<()> {
        let tokens = ObjLine { start: word.end, ..self.line }.tokens(self.text.padded);
        let outcome = self.named(kind, word, tokens)?;
        self.close(outcome)
    }

    fn close(&mut self, outcome: ObjStatementParse<()>) -> Result<()> {
        match outcome {
            Ok(()) => Ok(()),
            Err(broken) => self.complain(Weight::Broken, "malformed", broken),
        }
    }

    fn vertex(&mut self, tokens: ObjTokens<'_>) -> Result<ObjStatementParse<()>> {
        const EXPECTED: &str = "x y z, optionally followed by w, r g b, or r g b a";
        // A copy, because the numbers are read a second time in double precision.
        let words = tokens;
        let (values, count) = match self.floats::<7>(tokens, 3, EXPECTED)? {
            Ok(numbers) => numbers,
            Err(broken) => return Ok(Err(broken)),
        };
        if count == 5 {
            return Ok(Err(broken(tokens.end(), "a vertex cannot have 5 numbers", EXPECTED)));
        }
        if self.out.group_pending {
            let at = self.out.counts();
            self.out.positions_follow(at, self.line.start - self.text.start)?;
        }
        let index = self.out.positions.len() as u32;
        if count == 4 {
            try_push(&mut self.out.weights, (index, values[3]), "statements")?;
        } else if count >= 6 {
            let alpha = if count == 7 { values[6] } else { 1.0 };
            try_push(&mut self.out.colors, (index, [values[3], values[4], values[5], alpha]), "statements")?;
        }
        self.out.positions.push([values[0], values[1], values[2]])?;
        self.exact_position(words)?;
        Ok(Ok(()))
    }

    /// Records the precision that a position loses as 32-bit floats, and stores it in double precision if requested.
    fn exact_position(&mut self, words: ObjTokens<'_>) -> Result<()> {
        let mut exact = [0.0; 3];
        let mut words = words;
        for (value, token) in exact.iter_mut().zip(std::iter::from_fn(|| words.next_number())) {
            let text = &self.text.padded[token];
            self.out.loss.add(text);
            *value = number::f64(text).or_else(|| number::msvc_special(text)).unwrap_or(f64::NAN);
        }
        if self.options.precision.has_doubles() { self.out.exact.push(exact) } else { Ok(()) }
    }

    fn uv(&mut self, tokens: ObjTokens<'_>) -> Result<ObjStatementParse<()>> {
        let (values, count) = match self.floats::<3>(tokens, 1, "u, or u v, or u v w")? {
            Ok(numbers) => numbers,
            Err(broken) => return Ok(Err(broken)),
        };
        if count == 3 {
            let index = self.out.uvs.len() as u32;
            try_push(&mut self.out.uv_depths, (index, values[2]), "statements")?;
        }
        self.out.uvs.push([values[0], values[1]])?;
        Ok(Ok(()))
    }

    fn normal(&mut self, tokens: ObjTokens<'_>) -> Result<ObjStatementParse<()>> {
        match self.floats::<3>(tokens, 3, "x y z")? {
            Ok((values, _)) => self.out.normals.push(values).map(Ok),
            Err(broken) => Ok(Err(broken)),
        }
    }

    /// Parses `min_count` to `N` numbers. Fails if there are more, except that rows of three drop them with a warning.
    fn floats<const N: usize>(
        &mut self,
        mut tokens: ObjTokens<'_>,
        min_count: usize,
        expected: &'static str,
    ) -> Result<ObjStatementParse<([f32; N], usize)>> {
        let mut values = [0.0; N];
        let mut count = 0;
        while let Some(token) = tokens.next_number() {
            if count == N && N == 3 {
                self.note("extra-value", token, "more than three numbers: the rest were dropped")?;
                break;
            }
            if count == N {
                return Ok(Err(broken(token, "too many numbers", expected)));
            }
            let text = &self.text.padded[token.clone()];
            let special = || number::msvc_special(text).map(|value| value as f32);
            let Some(value) = number::f32(text).or_else(special) else {
                let message = format!("`{}` is not a number", shown(text));
                return Ok(Err(ObjBroken { token, message, expected }));
            };
            if !value.is_finite() {
                // Words such as `nan`, `Infinity` and `1.#INF` contain an `n`; numbers do not.
                let is_word = text.iter().any(|byte| byte.eq_ignore_ascii_case(&b'n'));
                let fault = if is_word { "is not finite" } else { "is too large for a 32-bit float; read as infinity" };
                let message = format!("`{}` {fault}", shown(text));
                self.note("non-finite", token, message)?;
            }
            values[count] = value;
            count += 1;
        }
        if count < min_count {
            let message = format!("the statement has {}", counted(count as u64, ["number", "numbers"]));
            return Ok(Err(ObjBroken { token: tokens.end(), message, expected }));
        }
        Ok(Ok((values, count)))
    }

    fn smoothing(&mut self, word: ObjToken, mut tokens: ObjTokens<'_>) -> Result<ObjStatementParse<()>> {
        const EXPECTED: &str = "an integer, or `off`";
        let Some(token) = tokens.next() else {
            return Ok(Err(broken(tokens.end(), "missing smoothing group", EXPECTED)));
        };
        let value = match &self.text.padded[token.clone()] {
            b"off" => 0,
            b"on" => 1,
            text => match number::u64(text).ok().and_then(|value| u32::try_from(value).ok()) {
                Some(value) => value,
                None => {
                    let message = format!("invalid smoothing group `{}`", shown(text));
                    return Ok(Err(ObjBroken { token, message, expected: EXPECTED }));
                }
            },
        };
        self.out.event(EventKind::Smoothing(value), b"", local(self.text, &word))?;
        Ok(Ok(()))
    }

    /// Records a statement that is processed later, in file order. Its text is kept unchanged.
    fn named(&mut self, kind: EventKind, word: ObjToken, tokens: ObjTokens<'_>) -> Result<ObjStatementParse<()>> {
        self.out.group_pending |= kind == EventKind::Group;
        let rest = tokens.rest();
        let name = unescaped(&self.text.padded[rest.clone()])?;
        let is_name = matches!(kind, EventKind::Object | EventKind::Group | EventKind::Material);
        if is_name && name.len() as u64 > self.options.limits.name_bytes {
            let message =
                format!("name is longer than the limit `name_bytes` ({} bytes)", self.options.limits.name_bytes);
            let what = ObjBroken { token: rest.start..rest.start + 1, message, expected: "" };
            return self.complain(Weight::Limit, "limit", what).map(Ok);
        }
        if let Some(nul) = memchr::memchr(0, &name) {
            let at = (rest.start + nul).min(rest.end);
            return Ok(Err(broken(at..at + 1, "NUL byte in name", "text")));
        }
        let token = if rest.is_empty() { word } else { rest };
        self.out.event(kind, &name, local(self.text, &token))?;
        Ok(Ok(()))
    }

    fn comment(&mut self, word: ObjToken) -> Result<ObjStatementParse<()>> {
        if self.line.continued {
            // If the line ends directly after a backslash, `ObjLine::find` has not joined the next line to it.
            let is_alone = self.text.padded.get(self.line.end..self.line.next).is_some_and(|end| !end.is_empty())
                && self.text.padded[self.line.end - 1] == b'\\';
            let message = if is_alone {
                "backslash at the end of a comment: the next line is read as a statement"
            } else {
                "backslash at the end of a comment: the next line is part of it"
            };
            self.note("continued-comment", word, message)?;
        }
        Ok(Ok(()))
    }

    fn unknown(&mut self, word: ObjToken, text: &[u8]) -> Result<ObjStatementParse<()>> {
        if NOT_READ.contains(&text) {
            let message = format!("`{}` is not supported; statement skipped", shown(text));
            return self.note("unsupported-statement", word, message).map(Ok);
        }
        // ZBrush ends its files with NUL bytes, and DOS programs end them with Ctrl-Z.
        if text.iter().all(|&byte| matches!(byte, 0 | 0x1a)) {
            return Ok(Ok(()));
        }
        // Some programs start remarks with a dollar sign.
        if text[0] == b'$' {
            let message = format!("`{}` does not start a statement; line skipped", shown(text));
            return self.note("unknown-statement", word, message).map(Ok);
        }
        let plausible = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if text[0].is_ascii_alphabetic() && text.len() <= 40 && text.iter().copied().all(plausible) {
            let message = format!("unknown statement `{}`; skipped", shown(text));
            return self.note("unknown-statement", word, message).map(Ok);
        }
        if text.iter().any(|&byte| byte < b' ') {
            return Ok(Err(broken(
                word,
                "binary data instead of text",
                "a keyword such as v, vt, vn, f, o, g, s or usemtl",
            )));
        }
        Ok(Err(broken(word, "not an OBJ statement", "a keyword such as v, vt, vn, f, o, g, s or usemtl")))
    }

    fn note(&mut self, code: &'static str, token: ObjToken, message: impl Into<String>) -> Result<()> {
        let what = ObjBroken { token, message: message.into(), expected: "" };
        self.complain(Weight::Note, code, what)
    }

    fn complain(&mut self, weight: Weight, code: &'static str, what: ObjBroken) -> Result<()> {
        let token = local(self.text, &what.token);
        let complaint = ObjComplaint {
            weight,
            code,
            message: what.message,
            expected: (!what.expected.is_empty()).then_some(what.expected),
            hint: None,
            token,
            excerpt: excerpt(self.text.bytes(), token),
        };
        self.out.complain(complaint, self.options)
    }
}

/// Parses faces, lines and points.
impl Statement<'_, '_> {
    /// Parses an element with its corners, each `v`, `v/vt`, `v//vn` or `v/vt/vn`.
    fn element(&mut self, kind: ElementKind, tokens: ObjTokens<'_>) -> Result<ObjStatementParse<()>> {
        let before = self.element_marks(kind);
        let outcome = self.corners(kind, tokens)?;
        match outcome {
            Ok(true) => self.out.group_pending = false,
            Ok(false) | Err(_) => self.forget(kind, before),
        }
        Ok(outcome.map(drop))
    }

    fn element_marks(&self, kind: ElementKind) -> ElementMarks {
        ElementMarks { values: self.out.elements[kind as usize].values.len(), relatives: self.out.relatives.len() }
    }

    /// Removes the values of an invalid statement.
    fn forget(&mut self, kind: ElementKind, marks: ElementMarks) {
        self.out.elements[kind as usize].values.truncate(marks.values);
        self.out.relatives.truncate(marks.relatives);
    }

    /// Parses corners. Returns whether the element has enough of them.
    fn corners(&mut self, kind: ElementKind, mut tokens: ObjTokens<'_>) -> Result<ObjStatementParse<bool>> {
        let (min_count, expected) = match kind {
            ElementKind::Face => (3, "at least three corners, each v, v/vt, v//vn or v/vt/vn"),
            ElementKind::Line => (2, "at least two corners, each v or v/vt"),
            ElementKind::Point => (1, "one or more position indices"),
        };
        let at = self.out.counts();
        // Without a slash, there are only positions: a third of the values, which saves time on long lines.
        let has_slash = memchr::memchr(b'/', &self.text.padded[self.line.start..self.line.end]).is_some();
        let stride = if has_slash { 3 } else { 1 };
        let mut count = 0u32;
        let mut has = None::<[bool; 3]>;
        let mut mixed = None;
        let mut empty = None;
        while let Some(token) = tokens.next_number() {
            let corner_has = match self.corner(kind, token.clone(), at, stride, &mut empty)? {
                Ok(has) => has,
                Err(broken) => return Ok(Err(broken)),
            };
            let before = *has.get_or_insert(corner_has);
            if before != corner_has {
                mixed.get_or_insert(token);
                has = Some([true, before[1] | corner_has[1], before[2] | corner_has[2]]);
            }
            count += 1;
        }
        let [_, has_uv, has_normal] = has.unwrap_or_default();
        if kind == ElementKind::Line && has_normal {
            return Ok(Err(broken(tokens.end(), "corner of a line has a normal index", expected)));
        }
        if kind == ElementKind::Point && (has_uv || has_normal) {
            return Ok(Err(broken(tokens.end(), "point has a UV or normal index", expected)));
        }
        if count < min_count {
            let noun = match kind {
                ElementKind::Point => {
                    let message = "point without a position index".to_owned();
                    return Ok(Err(ObjBroken { token: tokens.end(), message, expected }));
                }
                ElementKind::Face => "face",
                ElementKind::Line => "line",
            };
            let corners = counted(count.into(), ["corner", "corners"]);
            let message = format!("skipped a {noun} with {corners}; expected at least {min_count}");
            self.note("short-face", tokens.end(), message)?;
            return Ok(Ok(false));
        }
        if let Some(token) = empty {
            self.note("empty-index", token, "no index after `/`; read as absent")?;
        }
        if let Some(token) = mixed {
            self.note("mixed-corners", token, "the corners of this element have different kinds of indices")?;
        }
        self.close_element(kind, count, stride as u32, has.unwrap_or_default())?;
        Ok(Ok(true))
    }

    /// Parses one corner. Adds `stride` values, and returns which indices the corner has.
    fn corner(
        &mut self,
        kind: ElementKind,
        token: ObjToken,
        at: Counts,
        stride: usize,
        empty: &mut Option<ObjToken>,
    ) -> Result<ObjStatementParse<[bool; 3]>> {
        let text = &self.text.padded[token.clone()];
        let mut parts = [0..0, 0..0, 0..0];
        let mut start = token.start;
        let mut count = 0;
        for part in text.split(|&byte| byte == b'/') {
            if count == 3 {
                return Ok(Err(broken(token, "corner has more than three indices", "v, v/vt, v//vn or v/vt/vn")));
            }
            parts[count] = start..start + part.len();
            start += part.len() + 1;
            count += 1;
        }
        if parts[0].is_empty() {
            return Ok(Err(broken(token, "corner without a position index", "an index")));
        }
        if parts[count - 1].is_empty() {
            empty.get_or_insert(token);
        }
        let has = parts.clone().map(|part| !part.is_empty());
        for (stream, part) in ObjStream::ALL.into_iter().zip(parts).take(stride) {
            let value = if part.is_empty() {
                0
            } else {
                match self.index(kind, stream, part, at)? {
                    Ok(value) => value,
                    Err(broken) => return Ok(Err(broken)),
                }
            };
            self.out.elements[kind as usize].values.push(value)?;
        }
        Ok(Ok(has))
    }

    /// Parses one index and returns its 1-based value. If it is negative, records a [`Relative`] and returns a
    /// placeholder.
    fn index(
        &mut self,
        kind: ElementKind,
        stream: ObjStream,
        part: ObjToken,
        at: Counts,
    ) -> Result<ObjStatementParse<u32>> {
        const EXPECTED: &str = "an index: 1, 2, ..., or -1, -2, ... to count backwards";
        let text = &self.text.padded[part.clone()];
        let value = match number::i64(text) {
            Ok(value) => value,
            Err(IntegerError::Malformed) => {
                let message = format!("invalid index `{}`", shown(text));
                return Ok(Err(ObjBroken { token: part, message, expected: EXPECTED }));
            }
            // Reported below as out of range.
            Err(IntegerError::Overflow) => i64::MAX,
        };
        if value == 0 {
            return Ok(Err(broken(part, "index 0: indices start at 1", EXPECTED)));
        }
        // The two largest values are reserved, for a missing index and for an index before the start of the file.
        if value.unsigned_abs() >= u64::from(u32::MAX) - 1 {
            let message = format!("index {} is out of range", shown(text));
            return Ok(Err(ObjBroken { token: part, message, expected: "an index from -(2^32 - 3) to 2^32 - 3" }));
        }
        if value > 0 {
            return Ok(Ok(value as u32));
        }
        let count = [at.positions, at.uvs, at.normals][stream as usize];
        let relative = Relative {
            kind,
            stream,
            value: self.out.elements[kind as usize].values.len() as u32,
            local: i64::from(count) + value + 1,
            token: local(self.text, &part),
        };
        try_push(&mut self.out.relatives, relative, "statements")?;
        // A placeholder that does not mean "none"; it is replaced when the chunk is placed.
        Ok(Ok(1))
    }

    /// Completes an element with the corners that were just added. Each point of a statement is a separate element.
    fn close_element(&mut self, kind: ElementKind, count: u32, stride: u32, has: [bool; 3]) -> Result<()> {
        let elements = &mut self.out.elements[kind as usize];
        let line_offset = (self.line.start - self.text.start) as u32;
        let (rows, each) = if kind == ElementKind::Point { (count, stride) } else { (1, stride * count) };
        for row in 1..=rows {
            elements.row_ends.push(row * each)?;
        }
        let segment = ObjSegment { stride: stride as u8, has, rows, values: stride * count, line_offset };
        try_push(&mut elements.segments, segment, "elements")
    }
}

fn broken(token: ObjToken, message: &str, expected: &'static str) -> ObjBroken {
    ObjBroken { token, message: message.to_owned(), expected }
}

/// Location of a token in the chunk's text: offset and length.
fn local(text: ObjChunkText<'_>, token: &ObjToken) -> (u32, u32) {
    ((token.start - text.start.min(token.start)) as u32, token.len() as u32)
}

/// Formats a token for messages, shortened and printable.
fn shown(token: &[u8]) -> String {
    let text: String =
        String::from_utf8_lossy(&token[..token.len().min(40)]).chars().flat_map(char::escape_debug).collect();
    if token.len() > 40 { format!("{text}...") } else { text }
}
