//! A slow OBJ reader that is easy to trust: it works line by line, with `str::parse` and minimal state. It has no
//! chunks or threads, and rejects everything unknown.
//!
//! Written from the documentation of the format, independently of the reader that it checks.

use polyhaul::model::{Elements, Mesh, NONE, ObjectKind, Run, Scene};
use std::fmt::Debug;

/// Counts of positions, uvs, normals, faces, lines and points.
pub type Totals = [usize; 6];

/// Content of a file.
#[derive(Debug, Default)]
pub struct Naive {
    /// Coordinates.
    pub positions: Vec<[f32; 3]>,
    /// Weight of each position, if it has one.
    pub weights: Vec<Option<f32>>,
    /// RGBA color of each position, if it has one.
    pub colors: Vec<Option<[f32; 4]>>,
    /// The first two coordinates of each uv.
    pub uvs: Vec<[f32; 2]>,
    /// Third coordinate of each uv, if it has one.
    pub depths: Vec<Option<f32>>,
    /// Normal vectors.
    pub normals: Vec<[f32; 3]>,
    /// Faces, lines, points.
    pub elements: [Vec<Element>; 3],
    /// Sections started by `o` and `g`, in order.
    pub sections: Vec<Section>,
    now: Attributes,
    open_group: Option<(Totals, String)>,
}

/// State of `usemtl`, `g` and `s` at an element.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes {
    /// The text after `usemtl`.
    pub material: Option<String>,
    /// The text after `g`, unless it is empty.
    pub group: Option<String>,
    /// The number after `s`.
    pub smoothing: Option<u32>,
}

/// A face, line or point.
#[derive(Clone, Debug)]
pub struct Element {
    /// 0-based indices of position, uv and normal of each corner.
    pub corners: Vec<[Option<u64>; 3]>,
    /// State when the element was declared.
    pub attributes: Attributes,
}

/// A named section.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Statement that declared it.
    pub kind: ObjectKind,
    /// Totals at its start and at its end.
    pub range: (Totals, Totals),
}

/// Splits text into logical lines: lines joined by a backslash become one, separated by a space.
pub fn logical_lines(text: &[u8]) -> Vec<Vec<u8>> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut lines = Vec::new();
    let mut line = Vec::new();
    let mut is_joined = false;
    let mut at = 0;
    while at < text.len() {
        let newline = match &text[at..] {
            [b'\r', b'\n', ..] => 2,
            [b'\r' | b'\n', ..] => 1,
            _ => 0,
        };
        if newline == 0 {
            line.push(text[at]);
        } else if line.last() == Some(&b'\\')
            && text[at - 1] == b'\\'
            && (is_joined || !is_comment(&line) || !starts_statement(&text[at + newline..]))
        {
            line.pop();
            line.push(b' ');
            is_joined = true;
        } else {
            lines.push(std::mem::take(&mut line));
            is_joined = false;
        }
        at += newline.max(1);
    }
    if line.last() == Some(&b'\\') {
        line.pop();
    }
    lines.push(line);
    lines
}

fn is_comment(line: &[u8]) -> bool {
    words(line).first().is_some_and(|word| word[0] == b'#')
}

/// Returns whether `text`, which follows a comment that ends in a backslash, starts with a blank line, another comment
/// or a common statement: the comment then ends at the backslash.
fn starts_statement(text: &[u8]) -> bool {
    let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(text.len());
    let usual = "v vt vn vp f l p o g s usemtl mtllib usemap cstype curv curv2 surf parm";
    match words(&text[..end]).first() {
        None => true,
        Some(word) if *word == b"\\" => {
            let size = if text[end..].starts_with(b"\r\n") { 2 } else { 1 };
            starts_statement(text.get(end + size..).unwrap_or_default())
        }
        Some(word) => {
            let word = word.strip_suffix(b"\\").unwrap_or(word);
            word[0] == b'#' || usual.split(' ').any(|keyword| keyword.as_bytes() == word)
        }
    }
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0B | 0x0C)
}

fn words(line: &[u8]) -> Vec<&[u8]> {
    let words = line.split(is_blank).filter(|word| !word.is_empty());
    words.collect()
}

/// Returns the words after the keyword, up to a comment.
fn values(line: &[u8]) -> Vec<&[u8]> {
    let mut values = Vec::new();
    for word in words(line).into_iter().skip(1) {
        let comment = (0..word.len()).find(|&at| {
            let is_number = at > 0 && word[at - 1] == b'.' && word.get(at + 1).is_some_and(u8::is_ascii_uppercase);
            word[at] == b'#' && !is_number
        });
        if comment != Some(0) {
            values.push(&word[..comment.unwrap_or(word.len())]);
        }
        if comment.is_some() {
            break;
        }
    }
    values
}

/// Returns the text after the keyword, decoded as Latin-1 if it is not UTF-8.
fn name(line: &[u8]) -> String {
    let start = line.iter().position(|b| !is_blank(b)).unwrap_or(0);
    let rest = &line[start..];
    let keyword = rest.iter().position(is_blank).unwrap_or(rest.len());
    let rest = rest[keyword..].iter().skip_while(|b| is_blank(b));
    let mut rest: Vec<u8> = rest.copied().collect();
    while rest.last().is_some_and(is_blank) {
        rest.pop();
    }
    String::from_utf8(rest).unwrap_or_else(|e| e.as_bytes().iter().map(|&b| char::from(b)).collect())
}

fn parse<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Counts the declared elements of each kind, valid or not, except faces and lines with too few corners.
pub fn declared(text: &[u8]) -> Totals {
    let mut totals = Totals::default();
    for line in logical_lines(text) {
        let words = words(&line);
        match words.first().copied().unwrap_or_default() {
            b"v" => totals[0] += 1,
            b"vt" => totals[1] += 1,
            b"vn" => totals[2] += 1,
            b"f" | b"fo" => totals[3] += usize::from(values(&line).len() >= 3),
            b"l" => totals[4] += usize::from(values(&line).len() >= 2),
            b"p" => totals[5] += values(&line).len(),
            _ => {}
        }
    }
    totals
}

/// Parses OBJ text. Returns `None` if anything in it is invalid or unsupported.
pub fn read(text: &[u8]) -> Option<Naive> {
    let mut naive = Naive::default();
    for line in logical_lines(text) {
        naive.statement(&line)?;
    }
    let totals = naive.totals();
    match naive.sections.last_mut() {
        Some(last) => last.range.1 = totals,
        None if totals != Totals::default() => naive.section(String::new(), ObjectKind::Unnamed, Totals::default()),
        None => {}
    }
    if let Some(last) = naive.sections.last_mut() {
        last.range.1 = totals;
    }
    let limits = [totals[0] as u64, totals[1] as u64, totals[2] as u64];
    let mut corners = naive.elements.iter().flatten().flat_map(|e| &e.corners);
    let inside =
        |corner: &[Option<u64>; 3]| corner.iter().zip(limits).all(|(index, limit)| index.is_none_or(|i| i < limit));
    corners.all(inside).then_some(naive)
}

impl Naive {
    /// Returns the number of elements of each kind.
    pub fn totals(&self) -> Totals {
        let [faces, lines, points] = &self.elements;
        [self.positions.len(), self.uvs.len(), self.normals.len(), faces.len(), lines.len(), points.len()]
    }

    fn statement(&mut self, line: &[u8]) -> Option<()> {
        let words = words(line);
        match words.first().copied().unwrap_or(b"#") {
            [b'#', ..] | b"mtllib" => {}
            b"v" => self.position(&floats(line)?)?,
            b"vt" => self.uv(&floats(line)?)?,
            b"vn" => self.normals.push(floats(line)?.try_into().ok()?),
            b"f" => self.element(0, 3, line)?,
            b"l" => self.element(1, 2, line)?,
            b"p" => self.element(2, 1, line)?,
            b"o" => {
                self.section(name(line), ObjectKind::Object, self.totals());
                self.open_group = None;
            }
            b"g" => {
                let name = name(line);
                self.now.group = Some(name.clone()).filter(|name| !name.is_empty());
                self.open_group = Some((self.totals(), name));
            }
            b"usemtl" => self.now.material = Some(name(line)),
            b"s" => {
                self.now.smoothing = Some(match values(line).first().copied()? {
                    b"off" => 0,
                    b"on" => 1,
                    number => parse(number)?,
                });
            }
            _ => return None,
        }
        Some(())
    }

    /// Ends the previous section and starts a new one. Elements before the first section get an unnamed section.
    fn section(&mut self, name: String, kind: ObjectKind, at: Totals) {
        match self.sections.last_mut() {
            Some(last) => last.range.1 = at,
            None if at != Totals::default() => self.sections.push(Section {
                name: String::new(),
                kind: ObjectKind::Unnamed,
                range: (Totals::default(), at),
            }),
            None => {}
        }
        let range = (at, at);
        self.sections.push(Section { name, kind, range });
    }

    fn position(&mut self, numbers: &[f32]) -> Option<()> {
        let at = self.totals();
        if let Some((group_at, name)) = self.open_group.take() {
            let right_before = group_at == at && !name.is_empty();
            let last = self.sections.last();
            let fresh = last.is_some_and(|s| s.kind == ObjectKind::Object && s.range.0 == at);
            if right_before && !fresh {
                self.section(name, ObjectKind::Group, at);
            }
        }
        let (weight, color) = match *numbers {
            [_, _, _] => (None, None),
            [_, _, _, w] => (Some(w), None),
            [_, _, _, r, g, b] => (None, Some([r, g, b, 1.0])),
            [_, _, _, r, g, b, a] => (None, Some([r, g, b, a])),
            _ => return None,
        };
        self.positions.push([numbers[0], numbers[1], numbers[2]]);
        self.weights.push(weight);
        self.colors.push(color);
        Some(())
    }

    fn uv(&mut self, numbers: &[f32]) -> Option<()> {
        let (uv, depth) = match *numbers {
            [u] => ([u, 0.0], None),
            [u, v] => ([u, v], None),
            [u, v, w] => ([u, v], Some(w)),
            _ => return None,
        };
        self.uvs.push(uv);
        self.depths.push(depth);
        Some(())
    }

    fn element(&mut self, kind: usize, min_corners: usize, line: &[u8]) -> Option<()> {
        let totals = self.totals();
        let corners = values(line).into_iter().map(|word| corner(word, totals));
        let corners = corners.collect::<Option<Vec<_>>>()?;
        if corners.len() < min_corners {
            return None;
        }
        let attributes = self.now.clone();
        let each = if kind == 2 { 1 } else { corners.len() };
        for corners in corners.chunks(each) {
            self.elements[kind].push(Element { corners: corners.to_vec(), attributes: attributes.clone() });
        }
        Some(())
    }
}

fn floats(line: &[u8]) -> Option<Vec<f32>> {
    values(line).into_iter().map(parse).collect()
}

fn corner(word: &[u8], totals: Totals) -> Option<[Option<u64>; 3]> {
    let parts: Vec<&[u8]> = word.split(|&byte| byte == b'/').collect();
    let mut corner = [None; 3];
    if parts.len() > 3 || parts[0].is_empty() {
        return None;
    }
    for (stream, part) in parts.into_iter().enumerate().filter(|(_, part)| !part.is_empty()) {
        let count = totals[stream] as i64;
        corner[stream] = match parse::<i64>(part)? {
            index @ 1.. => Some(index as u64 - 1),
            0 => return None,
            index if -index <= count => Some((count + index) as u64),
            _ => return None,
        };
    }
    Some(corner)
}

/// Describes the first difference between this reader's result and a scene. Returns `None` if they are equal.
pub fn difference(naive: &Naive, scene: &Scene) -> Option<String> {
    let [mesh] = scene.meshes.as_slice() else {
        return Some(format!("{} meshes", scene.meshes.len()));
    };
    let differs = |what: &str, left: String, right: String| {
        (left != right).then(|| format!("{what}: naive {left}, polyhaul {right}"))
    };
    let sections: Vec<Section> = scene.objects.iter().map(section_of).collect();
    differs("positions", bits(&naive.positions), bits(&mesh.positions))
        .or_else(|| differs("uvs", bits(&naive.uvs), bits(&mesh.uvs)))
        .or_else(|| differs("normals", bits(&naive.normals), bits(&mesh.normals)))
        .or_else(|| differs("weights", optional(&naive.weights, 1.0), flat(&mesh.position_weights)))
        .or_else(|| differs("colors", optional_rows(&naive.colors), bits(&mesh.colors)))
        .or_else(|| differs("depths", optional(&naive.depths, 0.0), flat(&mesh.uv_depths)))
        .or_else(|| elements_differ(naive, mesh, scene))
        .or_else(|| differs("sections", format!("{:?}", naive.sections), format!("{sections:?}")))
}

fn section_of(object: &polyhaul::model::Object) -> Section {
    let totals = |counts: polyhaul::model::Counts| std::array::from_fn(|i| counts.to_array()[i] as usize);
    Section { name: object.name.clone(), kind: object.kind, range: (totals(object.start), totals(object.end)) }
}

/// Formats the bits of floats; all NaNs are equal.
fn bits<const N: usize>(rows: &[[f32; N]]) -> String {
    let bits = |value: &f32| if value.is_nan() { u32::MAX } else { value.to_bits() };
    let rows: Vec<Vec<u32>> = rows.iter().map(|row| row.iter().map(bits).collect()).collect();
    format!("{rows:08x?}")
}

fn flat(values: &[f32]) -> String {
    bits(&values.iter().map(|&value| [value]).collect::<Vec<_>>())
}

fn optional(values: &[Option<f32>], missing: f32) -> String {
    let any = values.iter().any(Option::is_some);
    let padded = values.iter().map(|value| [value.unwrap_or(missing)]);
    bits(&padded.filter(|_| any).collect::<Vec<_>>())
}

fn optional_rows(values: &[Option<[f32; 4]>]) -> String {
    let any = values.iter().any(Option::is_some);
    let padded = values.iter().map(|value| value.unwrap_or([f32::NAN; 4]));
    bits(&padded.filter(|_| any).collect::<Vec<_>>())
}

fn elements_differ(naive: &Naive, mesh: &Mesh, scene: &Scene) -> Option<String> {
    let points = Elements {
        offsets: (0..=mesh.points.len() as u32).collect(),
        corner_positions: mesh.points.clone(),
        ..Elements::default()
    };
    let kinds = [("face", &mesh.faces, 3), ("line", &mesh.lines, 4), ("point", &points, 5)];
    for ((what, elements, kind), expected) in kinds.into_iter().zip(&naive.elements) {
        if elements.len() != expected.len() {
            return Some(format!("{} {what}s, not {}", elements.len(), expected.len()));
        }
        for (index, element) in expected.iter().enumerate() {
            let streams = if kind == 5 { 1 } else { 3 };
            let corners = corners_of(elements, index);
            let expected: Vec<_> =
                element.corners.iter().map(|c| std::array::from_fn(|s| c[s].filter(|_| s < streams))).collect();
            let attributes = attributes_of(mesh, scene, kind, index);
            if expected != corners || attributes != element.attributes {
                return Some(format!(
                    "{what} {index}: {corners:?} {attributes:?}, not {expected:?} {:?}",
                    element.attributes
                ));
            }
        }
    }
    None
}

fn corners_of(elements: &Elements, index: usize) -> Vec<[Option<u64>; 3]> {
    let get = |stream: &[u32], corner: usize| stream.get(corner).filter(|&&i| i != NONE).map(|&i| u64::from(i));
    let corners = elements.corners(index);
    corners
        .map(|corner| {
            [
                get(&elements.corner_positions, corner),
                get(&elements.corner_uvs, corner),
                get(&elements.corner_normals, corner),
            ]
        })
        .collect()
}

/// Looks up the attributes of element `index` of a kind in the runs.
fn attributes_of(mesh: &Mesh, scene: &Scene, kind: usize, index: usize) -> Attributes {
    let value = |runs: &[Run]| {
        let begun = runs.iter().rev().find(|run| run.at.to_array()[kind] as usize <= index);
        begun.map(|run| run.value)
    };
    Attributes {
        material: value(&mesh.material_runs).map(|v| scene.materials[v as usize].name.clone()),
        group: value(&mesh.group_runs).filter(|&v| v != NONE).map(|v| mesh.groups[v as usize].clone()),
        smoothing: value(&mesh.smoothing_runs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_by_backslashes() {
        let lines = logical_lines(b"a\\\nb\r\nc\rd\\\r\ne\\");
        assert_eq!(lines, [b"a b".to_vec(), b"c".to_vec(), b"d e".to_vec()]);
        assert_eq!(declared(b"v 1 2 3\n f 1\\\n 2 3\np 1 2 # 3\nv\n"), [2, 0, 0, 1, 0, 2]);
    }

    #[test]
    fn a_small_file_is_read() {
        let text = b"v 0 0 0\nv 1 0 0 .5\nv 0 1 0\nvt 1\nusemtl a b\nf 1/1 2/-1 -1/1\ng x\nv 1 1 1\n";
        let naive = read(text).unwrap();
        assert_eq!(naive.totals(), [4, 1, 0, 1, 0, 0]);
        assert_eq!(naive.weights[1], Some(0.5));
        let face = &naive.elements[0][0];
        assert_eq!(face.corners, [0, 1, 2].map(|p| [Some(p), Some(0), None]));
        assert_eq!(face.attributes.material.as_deref(), Some("a b"));
        assert_eq!(naive.sections.len(), 2);
        assert!(read(b"v 1 2\n").is_none() && read(b"v 0 0 0\np 2\n").is_none());
    }
}
