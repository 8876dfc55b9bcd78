//! Generates OBJ text of any size: a plain grid, many small objects, adversarial shapes, and random statements of all
//! kinds. The same arguments yield the same bytes on every machine.

use crate::random::Random;
use std::io::{self, Write};

/// Quads per row of a grid.
const COLUMNS: u64 = 500;

/// Writes one mesh of at least `bytes` bytes, row by row: positions, uvs and normals with 6 digits, and quads that use
/// all three. Returns the number of positions and of faces.
pub fn grid(bytes: u64, out: &mut dyn Write) -> io::Result<(u64, u64)> {
    let mut text = String::new();
    let mut written = 0;
    let mut rows = 0;
    out.write_all(b"o grid\n")?;
    while written < bytes {
        text.clear();
        grid_row(rows, &mut text);
        out.write_all(text.as_bytes())?;
        written += text.len() as u64;
        rows += 1;
    }
    Ok((rows * (COLUMNS + 1), rows.saturating_sub(1) * COLUMNS))
}

fn grid_row(row: u64, text: &mut String) {
    use std::fmt::Write;
    for column in 0..=COLUMNS {
        let wave = (row * 7919 + column * 104_729) % 1_000_000;
        let x = column % 100;
        let y = row % 1000;
        let _ = writeln!(text, "v {x}.{wave:06} -{y}.{:06} 0.{wave:06}", 999_999 - wave);
        let _ = writeln!(text, "vt 0.{wave:06} 0.{:06}\nvn 0.{wave:06} 0.000000 -1.000000", 999_999 - wave);
    }
    for column in (0..COLUMNS).filter(|_| row > 0) {
        let a = (row - 1) * (COLUMNS + 1) + column + 1;
        let b = row * (COLUMNS + 1) + column + 1;
        let c = b + 1;
        let d = a + 1;
        let _ = writeln!(text, "f {a}/{a}/{a} {b}/{b}/{b} {c}/{c}/{c} {d}/{d}/{d}");
    }
}

/// Writes `count` objects of one quad each; material and smoothing change with every object.
pub fn objects(count: u64, out: &mut dyn Write) -> io::Result<()> {
    for index in 0..count {
        writeln!(out, "o object_{index}")?;
        for corner in 0..4 {
            writeln!(out, "v {}.5 {index}.25 {}", corner % 2, corner / 2)?;
        }
        writeln!(out, "usemtl material_{}\ns {}\nf -4 -3 -1 -2", index % 97, index % 2)?;
    }
    Ok(())
}

/// Text that is expensive for a careless reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The plain grid, as a baseline.
    Grid,
    /// One face with very many corners.
    LongFace,
    /// One face with very many corners, each followed by an escaped newline.
    Continuations,
    /// One long comment.
    LongComment,
    /// One number with many digits.
    LongNumber,
    /// A group per face.
    Groups,
    /// Empty groups.
    EmptyGroups,
    /// A material per face.
    Materials,
    /// Empty objects.
    Objects,
    /// Empty smoothing groups.
    Smoothing,
    /// Missing material libraries.
    Libraries,
    /// Negative indices.
    Relative,
    /// All faces before all positions.
    Forward,
    /// Unknown statements.
    Unknown,
    /// Statements that the reader skips.
    NotRead,
    /// Non-finite numbers.
    NotFinite,
    /// Faces whose corners have different sets of indices.
    MixedCorners,
    /// Slashes without an index.
    EmptyIndices,
    /// Names that are not UTF-8.
    Latin1Names,
    /// Short comments.
    Comments,
    /// Empty lines.
    Blank,
    /// CR line ends.
    CarriageReturns,
    /// Curves.
    Curves,
    /// Colors in comments (`#MRGB`).
    Paint,
    /// Points.
    Points,
    /// Faces with two corners.
    BrokenFaces,
    /// Faces with indices out of range.
    OutOfRange,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Shape; 27] = [
        Shape::Grid,
        Shape::LongFace,
        Shape::Continuations,
        Shape::LongComment,
        Shape::LongNumber,
        Shape::Groups,
        Shape::EmptyGroups,
        Shape::Materials,
        Shape::Objects,
        Shape::Smoothing,
        Shape::Libraries,
        Shape::Relative,
        Shape::Forward,
        Shape::Unknown,
        Shape::NotRead,
        Shape::NotFinite,
        Shape::MixedCorners,
        Shape::EmptyIndices,
        Shape::Latin1Names,
        Shape::Comments,
        Shape::Blank,
        Shape::CarriageReturns,
        Shape::Curves,
        Shape::Paint,
        Shape::Points,
        Shape::BrokenFaces,
        Shape::OutOfRange,
    ];

    /// Generates about `bytes` bytes of text.
    pub fn text(self, bytes: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes + 64);
        let start: &[u8] = match self {
            Shape::Grid | Shape::Forward => b"",
            Shape::LongFace | Shape::Continuations => b"v 0 0 0\nf 1 1 1",
            Shape::LongComment => b"#",
            Shape::LongNumber => b"v 0 0 0.",
            _ => b"v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\n",
        };
        out.extend_from_slice(start);
        if self == Shape::Grid {
            // Writing to a vector cannot fail.
            let _ = grid(bytes as u64, &mut out);
        }
        let mut count = 0;
        while out.len() < bytes {
            self.unit(count, &mut out);
            count += 1;
        }
        if self == Shape::Forward {
            (0..count + 3).for_each(|_| out.extend_from_slice(b"v 0 0 0\n"));
        }
        out.push(b'\n');
        out
    }

    /// Appends unit `i` of the repeated part.
    fn unit(self, i: usize, out: &mut Vec<u8>) {
        let numbered = match self {
            Shape::Groups => format!("g group{i}\nf 1 2 3\n"),
            Shape::EmptyGroups => format!("g group{i}\n"),
            Shape::Materials => format!("usemtl m{i}\nf 1 2 3\n"),
            Shape::Objects => format!("o {i}\n"),
            Shape::Smoothing => format!("s {i}\n"),
            Shape::Libraries => format!("mtllib {i}.mtl\n"),
            Shape::Forward => format!("f {} {} {}\n", i + 1, i + 2, i + 3),
            _ => String::new(),
        };
        out.extend_from_slice(numbered.as_bytes());
        let fixed: &[u8] = match self {
            Shape::LongFace => b" 1",
            Shape::Continuations => b" 1\\\n",
            Shape::LongComment => b" comment",
            Shape::LongNumber => b"0",
            Shape::Relative => b"f -1 -2 -3\n",
            Shape::Unknown => b"x\n",
            Shape::NotRead => b"vp 1\n",
            Shape::NotFinite => b"v nan inf 1e99\n",
            Shape::MixedCorners => b"f 1/1 2 3\n",
            Shape::EmptyIndices => b"f 1/ 2/ 3/\n",
            Shape::Latin1Names => b"o \xff\n",
            Shape::Comments => b"#\n",
            Shape::Blank => b"\n",
            Shape::CarriageReturns => b"v 0 0 0\r",
            Shape::Curves => b"cstype bspline\ndeg 1\ncurv 0 1 1 2\nparm u 0 0 1 1\nend\n",
            Shape::Paint => b"#MRGB ffff0000\n",
            Shape::Points => b"p 1 1\n",
            Shape::BrokenFaces => b"f 1 2\n",
            Shape::OutOfRange => b"f 9 9 9\n",
            _ => b"",
        };
        out.extend_from_slice(fixed);
    }
}

/// Generates valid OBJ text with `statements` random statements of all common kinds and notations.
pub fn random(random: &mut Random, statements: usize) -> Vec<u8> {
    let mut text = Text { random, out: Vec::new(), counts: [0; 3], needed: [0; 3] };
    for _ in 0..statements {
        text.statement();
    }
    for stream in 0..3 {
        while text.counts[stream] < text.needed[stream] {
            text.values(stream);
        }
    }
    text.out
}

/// Generates valid OBJ text with `runs` runs of similar lines, as programs write them: positions with weights and
/// colors, uvs with two or three numbers, numbers in one notation, faces with either positive or negative indices.
pub fn runs(random: &mut Random, runs: usize) -> Vec<u8> {
    let mut text = Text { random, out: Vec::new(), counts: [0; 3], needed: [0; 3] };
    for _ in 0..runs {
        let lines = 1 + text.random.below(150);
        match text.random.below(6) {
            stream @ 0..3 => text.rows(stream, lines),
            3..5 if text.counts[0] > 0 => text.faces(lines),
            _ => {
                let line = *text.random.pick(&["g a\n", "o b\n", "usemtl c\n", "s 1\n", "# d\n", "\n"]);
                text.put(line);
            }
        }
    }
    text.out
}

impl Text<'_> {
    fn rows(&mut self, stream: usize, lines: usize) {
        let counts: &[usize] = [&[3, 3, 4, 6, 7][..], &[2, 3], &[3]][stream];
        let count = *self.random.pick(counts);
        let notation = self.random.below(5);
        let newline = *self.random.pick(&["\n", "\r\n"]);
        for _ in 0..lines {
            self.put(["v", "vt", "vn"][stream]);
            for _ in 0..count {
                let value = (self.random.bits() >> 11) as f64 / f64::powi(2.0, 52) - 1.0;
                // An occasional different notation interrupts the run.
                let notation = if self.random.once_in(200) { self.random.below(5) } else { notation };
                self.put(&match notation {
                    0 => format!(" {value:.6}"),
                    1 => format!(" {:.3}", value * 1000.0),
                    2 => format!("  {value}"),
                    3 => format!("\t{value:.9e}"),
                    _ => format!(" {value:.15}"),
                });
            }
            self.put(newline);
            self.counts[stream] += 1;
        }
    }

    fn faces(&mut self, lines: usize) {
        let is_negative = self.random.once_in(2);
        let streams: &[usize] = match self.counts {
            [_, 0, 0] => &[0],
            [_, 0, _] => &[0, 2],
            [_, _, 0] => &[0, 1],
            _ => [&[0][..], &[0, 1], &[0, 2], &[0, 1, 2]][self.random.below(4)],
        };
        let corners = 3 + self.random.below(3);
        for _ in 0..lines {
            self.put("f");
            for _ in 0..corners + usize::from(self.random.once_in(20)) {
                for (at, &stream) in streams.iter().enumerate() {
                    let index = 1 + self.random.below(self.counts[stream]);
                    let joint = if at == 0 {
                        " "
                    } else if streams == [0, 2] {
                        "//"
                    } else {
                        "/"
                    };
                    self.put(joint);
                    self.put(&format!("{}{index}", if is_negative { "-" } else { "" }));
                }
            }
            self.put("\n");
        }
    }
}

/// Random text under construction.
struct Text<'r> {
    random: &'r mut Random,
    out: Vec<u8>,
    /// Counts of positions, uvs and normals so far.
    counts: [usize; 3],
    /// Counts of positions, uvs and normals that the indices of the elements so far require.
    needed: [usize; 3],
}

impl Text<'_> {
    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn statement(&mut self) {
        match self.random.below(30) {
            0..8 => self.values(0),
            8..11 => self.values(1),
            11..14 => self.values(2),
            14..20 => self.element("f", 3),
            20 => self.element("l", 2),
            21 => self.element("p", 1),
            22 => self.named("o"),
            23 => self.named("g"),
            24 => self.named("usemtl"),
            25 => self.named("mtllib"),
            26 => {
                self.keyword("s");
                let value = *self.random.pick(&["off", "on", "0", "1", "7", "4294967295"]);
                self.put(value);
                self.end(true);
            }
            27 => {
                let comment = *self.random.pick(&["#", "# v 1 2", "   # f 1", "#o x \\\n and 9 9 9", "#\u{e9}"]);
                self.put(comment);
                self.newline();
            }
            _ => {
                let blank = *self.random.pick(&["", "  ", "\t", " \x0b\x0c"]);
                self.put(blank);
                self.newline();
            }
        }
    }

    /// Writes an optional indent, a keyword and white space.
    fn keyword(&mut self, keyword: &str) {
        let indent = *self.random.pick(&["", "", "", "", " ", "\t "]);
        self.put(indent);
        self.put(keyword);
        self.space();
    }

    fn space(&mut self) {
        let plain = !self.random.once_in(12);
        let space = if plain {
            " "
        } else {
            *self.random.pick(&["  ", "\t", " \\\n", "\\\n ", " \\\r\n\t", "\\\r", "\\\n\\\n", "\x0b"])
        };
        self.put(space);
    }

    fn newline(&mut self) {
        // An LF right after an escaped CR would be part of the escape.
        self.put(if self.out.ends_with(b"\r") { " " } else { "" });
        let newline = *self.random.pick(&["\n", "\n", "\n", "\n", "\n", "\r\n", "\r"]);
        self.put(newline);
    }

    /// Ends a statement, optionally with a comment.
    fn end(&mut self, comments: bool) {
        if self.random.once_in(10) {
            let rest = *self.random.pick(&[" ", "\t", "  ", " # end", " #1 2 3", " \\\n"]);
            self.put(if comments { rest } else { " " });
        }
        self.newline();
    }

    /// Writes a position, uv or normal.
    fn values(&mut self, stream: usize) {
        self.keyword(["v", "vt", "vn"][stream]);
        let counts: &[usize] = [&[3, 3, 3, 3, 3, 3, 4, 6, 7][..], &[2, 2, 2, 2, 1, 3], &[3]][stream];
        let count = *self.random.pick(counts);
        for index in 0..count {
            if index > 0 {
                self.space();
            }
            let number = number(self.random);
            self.put(&number);
        }
        self.end(true);
        self.counts[stream] += 1;
    }

    fn element(&mut self, keyword: &str, min_corners: usize) {
        self.keyword(keyword);
        let long = self.random.once_in(15);
        let corners = min_corners + self.random.below(if long { 90 } else { 3 });
        let mixed = self.random.once_in(12);
        let mut form = self.random.below(4);
        for corner in 0..corners {
            if corner > 0 {
                self.space();
            }
            form = if mixed { self.random.below(5) } else { form };
            self.corner(match keyword {
                "f" => form,
                "l" => form % 2,
                _ => 0,
            });
        }
        self.end(true);
    }

    /// Writes a corner: `1`, `1/1`, `1//1`, `1/1/1` or `1/`.
    fn corner(&mut self, form: usize) {
        let streams: &[usize] = [&[0][..], &[0, 1], &[0, 2], &[0, 1, 2], &[0]][form];
        for &stream in streams {
            let joint = match (form, stream) {
                (_, 0) => "",
                (2, _) => "//",
                _ => "/",
            };
            let index = self.index(stream);
            self.put(&format!("{joint}{index}"));
        }
        self.put(if form == 4 { "/" } else { "" });
    }

    fn index(&mut self, stream: usize) -> String {
        let count = self.counts[stream];
        match self.random.below(10) {
            0..3 if count > 0 => format!("-{}", 1 + self.random.below(count)),
            3 | 4 => {
                let index = 1 + count + self.random.below(3);
                self.needed[stream] = self.needed[stream].max(index);
                index.to_string()
            }
            5 if count > 0 => format!("00{}", 1 + self.random.below(count)),
            6 if count > 0 => format!("+{}", 1 + self.random.below(count)),
            _ => {
                let index = 1 + self.random.below(count.max(1));
                self.needed[stream] = self.needed[stream].max(index);
                index.to_string()
            }
        }
    }

    fn named(&mut self, keyword: &str) {
        const NAMES: [&[u8]; 12] = [
            b"a",
            b"b",
            b"two words",
            b"c#d",
            b"# e",
            b"tab\there",
            "\u{43e}\u{431}\u{44a}".as_bytes(),
            b"latin \xe9",
            b"latin \xe9",
            b"back\\slash",
            b"join\\\ned",
            b"off",
        ];
        self.keyword(keyword);
        if self.random.once_in(12) && keyword != "mtllib" {
            return self.newline();
        }
        let name = *self.random.pick(&NAMES);
        self.out.extend_from_slice(name);
        self.end(false);
    }
}

/// Formats a random number in one of the notations that files use.
pub fn number(random: &mut Random) -> String {
    let sign = *random.pick(&["", "", "", "-", "-", "+"]);
    let whole = random.below(1000);
    let part = random.below(1_000_000);
    let digits = random.bits();
    sign.to_owned()
        + &match random.below(16) {
            0..7 => format!("{whole}.{part:06}"),
            7 => format!("{whole}"),
            8 => format!(".{part}"),
            9 => format!("{whole}."),
            10 => format!("{whole}e{}", random.below(40)),
            11 => format!("{part}.{digits}E-{}", random.below(60)),
            12 => format!("0.{digits}{digits}"),
            13 => format!("{}", f32::from_bits(digits as u32 & 0x7F7F_FFFF)),
            14 => format!("{digits}e+{:02}", random.below(25)),
            _ => (*random.pick(&["0", "1e-46", "1e39", "nan", "inf", "16777217", "0.00000000000000000000001"]))
                .to_owned(),
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive;

    #[test]
    fn the_grid_has_what_it_says() {
        let mut text = Vec::new();
        let (positions, faces) = grid(300_000, &mut text).unwrap();
        assert!((300_000..400_000).contains(&text.len()));
        let naive = naive::read(&text).unwrap();
        let positions = positions as usize;
        let faces = faces as usize;
        assert_eq!(naive.totals(), [positions, positions, positions, faces, 0, 0]);
        text.clear();
        objects(10, &mut text).unwrap();
        assert_eq!(naive::read(&text).unwrap().sections.len(), 10);
    }

    #[test]
    fn shapes_have_about_the_size_asked_for() {
        for shape in Shape::ALL.into_iter().filter(|s| !matches!(s, Shape::Grid | Shape::Forward)) {
            let size = shape.text(5000).len();
            assert!((5000..5200).contains(&size), "{shape:?} {size}");
        }
    }

    #[test]
    fn random_text_has_no_fault() {
        let mut source = Random::new(1);
        for _ in 0..200 {
            let text = random(&mut source, 40);
            let lossy = String::from_utf8_lossy(&text);
            assert!(naive::read(&text).is_some(), "{lossy}");
        }
    }
}
