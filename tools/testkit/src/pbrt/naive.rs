//! Slow reader that counts the content of generated scenes: tokens, directives with operands, and scenes over several
//! files. Implements only the grammar, and shares no code with the generator.

use polyhaul_bytes::DecompressLimits;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Directives, the number of their operands, and whether parameters follow.
const DIRECTIVES: [(&str, usize, bool); 29] = [
    ("AttributeBegin", 0, false),
    ("AttributeEnd", 0, false),
    ("Camera", 1, true),
    ("ConcatTransform", 18, false),
    ("CoordinateSystem", 1, false),
    ("Film", 1, true),
    ("Import", 1, false),
    ("Include", 1, false),
    ("Integrator", 1, true),
    ("LightSource", 1, true),
    ("LookAt", 9, false),
    ("MakeNamedMaterial", 1, true),
    ("MakeNamedMedium", 1, true),
    ("Material", 1, true),
    ("MediumInterface", 2, false),
    ("NamedMaterial", 1, false),
    ("ObjectBegin", 1, false),
    ("ObjectEnd", 0, false),
    ("ObjectInstance", 1, false),
    ("Option", 2, false),
    ("PixelFilter", 1, true),
    ("Rotate", 4, false),
    ("Sampler", 1, true),
    ("Scale", 3, false),
    ("Shape", 1, true),
    ("Texture", 3, true),
    ("Transform", 18, false),
    ("Translate", 3, false),
    ("WorldBegin", 0, false),
];

/// A directive with its operands and parameters: type, name, values.
pub(super) struct Statement {
    pub(super) name: String,
    pub(super) words: Vec<String>,
    pub(super) parameters: Vec<(String, Vec<String>)>,
}

impl Statement {
    /// Returns the values of a parameter, or an empty slice if it is absent.
    pub(super) fn values(&self, name: &str) -> &[String] {
        self.parameters.iter().find(|(key, _)| key == name).map_or(&[], |(_, values)| values)
    }

    fn string(&self) -> &str {
        self.words.first().map_or("", |word| word.trim_matches('"'))
    }
}

/// Splits text into tokens; strings keep their quotes. Returns `None` for an unclosed string.
pub(super) fn tokens(text: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(text).ok()?;
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '[' | ']' => 1,
            '"' => string_length(rest)?,
            _ => rest.find([' ', '\t', '\r', '\n', '"', '[', ']']).unwrap_or(rest.len()),
        };
        if first != '#' {
            words.push(rest[..length].to_owned());
        }
        rest = rest[length..].trim_start();
    }
    Some(words)
}

/// Returns the length in bytes of the string at the start of `rest`.
fn string_length(rest: &str) -> Option<usize> {
    let mut escaped = false;
    for (index, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(index + 1),
            _ => {}
        }
    }
    None
}

/// Parses the directives of a text. Returns `None` if it violates the grammar.
pub(super) fn statements(text: &[u8]) -> Option<Vec<Statement>> {
    let mut tokens = tokens(text)?.into_iter().peekable();
    let mut directives = Vec::new();
    while let Some(name) = tokens.next() {
        let (_, words, with_parameters) = DIRECTIVES.iter().find(|(directive, ..)| *directive == name)?;
        let words: Vec<String> = tokens.by_ref().take(*words).collect();
        if words.len() == 18 && [&words[0], &words[17]] != ["[", "]"] {
            return None;
        }
        let mut parameters = Vec::new();
        while let Some(declared) = tokens.next_if(|token| *with_parameters && token.starts_with('"')) {
            let values = values(&mut tokens)?;
            let (kind, name) = declared.trim_matches('"').split_once(' ')?;
            values.iter().all(|value| is_value(kind, value)).then_some(())?;
            parameters.push((name.to_owned(), values));
        }
        directives.push(Statement { name, words, parameters });
    }
    Some(directives)
}

/// Parses a value or a closed list of values.
fn values(tokens: &mut impl Iterator<Item = String>) -> Option<Vec<String>> {
    let first = tokens.next()?;
    if first != "[" {
        return Some(vec![first]);
    }
    let mut values = Vec::new();
    loop {
        match tokens.next()? {
            token if token == "]" => return Some(values),
            token => values.push(token),
        }
    }
}

fn is_value(kind: &str, value: &str) -> bool {
    match kind {
        "string" | "texture" => value.starts_with('"'),
        "bool" => value == "true" || value == "false",
        "integer" => value.parse::<i32>().is_ok(),
        _ => value.parse::<f32>().is_ok_and(f32::is_finite),
    }
}

/// Content of a scene.
#[derive(Debug, Default)]
pub(super) struct NaiveContents {
    pub(super) directives: BTreeMap<String, u64>,
    pub(super) shapes: BTreeMap<String, u64>,
    pub(super) positions: u64,
    pub(super) unique_triangles: u64,
    pub(super) instanced_triangles: u64,
    pub(super) curve_points: u64,
    pub(super) texture_files: BTreeSet<String>,
    /// Size of each text file in bytes.
    pub(super) text_bytes: BTreeMap<String, u64>,
    pub(super) ply_files: BTreeSet<String>,
    /// Number of definitions of each material, texture and object.
    names: BTreeMap<(&'static str, String), u64>,
    blocks: i64,
    object: Option<String>,
}

/// Reads a scene whose text files are all in `folder`. Panics if it is invalid.
pub(super) fn read(folder: &Path, main: &str) -> NaiveContents {
    let mut contents = NaiveContents::default();
    contents.file(folder, main);
    assert_eq!((contents.blocks, &contents.object), (0, &None), "blocks are closed");
    contents
}

impl NaiveContents {
    fn file(&mut self, folder: &Path, name: &str) {
        let text = plain(&folder.join(name));
        self.text_bytes.insert(name.into(), text.len() as u64);
        for statement in statements(&text).unwrap_or_else(|| panic!("{name} breaks the grammar")) {
            *self.directives.entry(statement.name.clone()).or_default() += 1;
            self.statement(folder, &statement);
        }
    }

    fn statement(&mut self, folder: &Path, statement: &Statement) {
        let word = statement.string();
        match statement.name.as_str() {
            "AttributeBegin" => self.blocks += 1,
            "AttributeEnd" => self.blocks -= 1,
            "Include" | "Import" => self.file(folder, word),
            "Texture" => {
                self.define("texture", word, 0);
                self.texture_files.extend(statement.values("filename").iter().cloned());
            }
            "MakeNamedMaterial" => {
                self.define("material", word, 0);
                statement.values("reflectance").iter().for_each(|name| self.use_of("texture", name));
            }
            "NamedMaterial" => self.use_of("material", word),
            "ObjectBegin" => {
                self.define("object", word, 0);
                assert_eq!(self.object.replace(word.into()), None, "no object is in another");
            }
            "ObjectEnd" => assert!(self.object.take().is_some()),
            "ObjectInstance" => {
                self.use_of("object", word);
                self.instanced_triangles += self.names[&("object", word.to_owned())];
            }
            "Shape" => self.shape(folder, statement),
            _ => {}
        }
        assert!(self.blocks >= 0, "a block ends that nothing began");
    }

    fn define(&mut self, kind: &'static str, name: &str, triangles: u64) {
        assert_eq!(self.names.insert((kind, name.into()), triangles), None, "{kind} {name} stands there twice");
    }

    fn use_of(&self, kind: &'static str, name: &str) {
        let name = name.trim_matches('"').to_owned();
        assert!(self.names.contains_key(&(kind, name.clone())), "there is no {kind} {name}");
    }

    fn shape(&mut self, folder: &Path, statement: &Statement) {
        let kind = statement.string();
        *self.shapes.entry(kind.into()).or_default() += 1;
        let (positions, triangles) = match kind {
            "trianglemesh" => mesh(statement),
            "plymesh" => self.ply(folder, statement.values("filename")[0].trim_matches('"')),
            "curve" => {
                self.curve_points += statement.values("P").len() as u64 / 3;
                (0, 0)
            }
            _ => (0, 0),
        };
        self.positions += positions;
        self.unique_triangles += triangles;
        match &self.object {
            Some(name) => *self.names.entry(("object", name.clone())).or_default() += triangles,
            None => self.instanced_triangles += triangles,
        }
    }

    fn ply(&mut self, folder: &Path, name: &str) -> (u64, u64) {
        self.ply_files.insert(name.into());
        let bytes = plain(&folder.join(name));
        let end = bytes.windows(11).position(|window| window == b"end_header\n").unwrap() + 11;
        let header = String::from_utf8_lossy(&bytes[..end]);
        let count = |name: &str| -> u64 {
            let line = header.lines().find_map(|line| line.strip_prefix(&format!("element {name} ")));
            line.unwrap().parse().unwrap()
        };
        let positions = count("vertex");
        let triangles = count("face");
        assert_eq!((bytes.len() - end) as u64, positions * 32 + triangles * 13, "{name}");
        for face in bytes[end + positions as usize * 32..].chunks(13) {
            assert_eq!(face[0], 3);
            let indices = face[1..].chunks(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()));
            assert!(indices.into_iter().all(|index| u64::from(index) < positions), "{name}");
        }
        (positions, triangles)
    }
}

/// Returns the number of positions and triangles of an inline mesh.
fn mesh(statement: &Statement) -> (u64, u64) {
    let count = |name: &str, width: usize| {
        let values = statement.values(name);
        assert_eq!(values.len() % width, 0, "{name}");
        values.len() / width
    };
    let positions = count("P", 3);
    let triangles = count("indices", 3);
    assert!([0, positions].contains(&count("N", 3)) && [0, positions].contains(&count("uv", 2)));
    let mut indices = statement.values("indices").iter().map(|index| index.parse::<usize>().unwrap());
    assert!(indices.all(|index| index < positions));
    (positions as u64, triangles as u64)
}

/// Reads a file, decompressed.
fn plain(path: &Path) -> Vec<u8> {
    let source = polyhaul_bytes::Source::open(path).unwrap();
    let (bytes, wrong) = crate::packed::unpack(source, &DecompressLimits::default(), 1 << 16);
    assert_eq!(wrong, None, "{}", path.display());
    bytes
}
