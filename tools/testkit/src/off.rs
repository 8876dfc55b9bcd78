//! Generates random valid OFF text: every keyword, number notation, kind of face and line layout.

use crate::generate;
use crate::random::Random;

/// Generates OFF text with at most `max_bytes` vertices, and at most as many faces.
///
/// Reading must succeed, possibly with warnings about faces without corners and about face colors. The same generator
/// state yields the same bytes on every machine.
pub fn random(random: &mut Random, max_bytes: usize) -> Vec<u8> {
    let end: &str = random.pick::<&str>(&["\n", "\n", "\r\n", "\r"]);
    let mut text = OffText { out: String::new(), end, random };
    let keyword =
        *text.random.pick(&["OFF", "OFF", "COFF", "NOFF", "CNOFF", "STOFF", "STCNOFF", "NCOFF", "NCSTOFF", ""]);
    let vertices = text.random.below(max_bytes + 1);
    let faces = text.random.below(max_bytes + 1);
    text.header(keyword, vertices, faces);
    let has_bytes = text.random.once_in(2);
    for _ in 0..vertices {
        text.vertex(keyword, has_bytes);
    }
    for _ in 0..faces {
        text.face(vertices);
    }
    if text.random.once_in(2) {
        // The final line break is optional.
        text.out.truncate(text.out.trim_end_matches(['\r', '\n']).len());
    }
    text.out.into_bytes()
}

/// OFF text under construction.
struct OffText<'r> {
    out: String,
    /// Line end.
    end: &'r str,
    random: &'r mut Random,
}

impl OffText<'_> {
    fn header(&mut self, keyword: &str, vertices: usize, faces: usize) {
        self.gap();
        let edges = *self.random.pick(&["", " 0", " -1", " 12"]);
        let counts = format!("{vertices} {faces}{edges}");
        match self.random.below(4) {
            _ if keyword.is_empty() => self.line(&counts),
            0 => self.line(&format!("{keyword}{counts}")),
            1 => self.line(&format!("{keyword}\t{counts}")),
            _ => {
                self.line(keyword);
                self.line(&counts);
            }
        }
    }

    fn vertex(&mut self, keyword: &str, has_bytes: bool) {
        let mut words = self.numbers(3);
        let color = keyword.find('C');
        let normal = keyword.find('N');
        let color_words = if color.is_some() { self.color(has_bytes) } else { Vec::new() };
        let normal_words = if normal.is_some() { self.numbers(3) } else { Vec::new() };
        // In Geomview's `CN`, normals come first; in MeshLab's `NC`, colors do.
        if normal < color {
            words.extend(color_words.into_iter().chain(normal_words))
        } else {
            words.extend(normal_words.into_iter().chain(color_words))
        }
        if keyword.contains("ST") {
            words.extend(self.numbers(2));
        }
        self.row(&words);
    }

    fn face(&mut self, vertices: usize) {
        let max_corners = if vertices == 0 { 1 } else { 7 };
        let count = if self.random.once_in(3) { self.random.below(max_corners) } else { 3.min(max_corners - 1) };
        let mut words = vec![count.to_string()];
        words.extend((0..count).map(|_| self.random.below(vertices).to_string()));
        if self.random.once_in(6) {
            words.push((*self.random.pick(&["7", "255 0 1", ".5 1 0.25", "1 0 0 1e-3"])).to_owned());
        }
        self.row(&words);
    }

    fn numbers(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| generate::number(self.random)).collect()
    }

    fn color(&mut self, has_bytes: bool) -> Vec<String> {
        let count = 3 + self.random.below(2);
        let channel = |random: &mut Random| {
            if has_bytes { random.below(256).to_string() } else { format!("0.{}", random.below(1000)) }
        };
        (0..count).map(|_| channel(self.random)).collect()
    }

    fn row(&mut self, words: &[String]) {
        let blank = *self.random.pick(&[" ", " ", " ", "\t", "  "]);
        let indent = if self.random.once_in(9) { " " } else { "" };
        self.line(&format!("{indent}{}", words.join(blank)));
    }

    fn line(&mut self, line: &str) {
        self.out += line;
        self.out += *self.random.pick(&["", "", "", "", "", "", "", " ", " # a/b 1 2", "#3"]);
        self.out += self.end;
        self.gap();
    }

    /// Writes blank lines and comments.
    fn gap(&mut self) {
        while self.random.once_in(9) {
            self.out += *self.random.pick(&["", " ", "# 1 2 3", "#", "\t# \\"]);
            self.out += self.end;
        }
    }
}
