//! Results of reading a sample: how two of them are compared, and the rules that all of them follow.

use polyhaul::model::{ChannelSamples, Image, Samples as Pixels, Scene, Table, Texture};
use polyhaul::report::Report;
use polyhaul::{Error, ErrorKind, Tables};
use polyhaul_testkit::scene::broken_rule;
use polyhaul_testkit::summary::hash;
use std::fmt::Debug;

/// The kind of content to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    Scene,
    Tables,
    /// A text table as one array.
    Array,
    Image,
    Texture,
}

impl Reading {
    pub const ALL: [Reading; 5] = [Reading::Scene, Reading::Tables, Reading::Array, Reading::Image, Reading::Texture];
}

/// Content of a file.
#[derive(Debug)]
pub enum Content {
    Scene(Scene),
    Tables(Tables),
    Array(polyhaul::TableArray),
    Image(Image),
    Texture(Texture),
}

/// Result of a read.
#[derive(Debug)]
pub struct Outcome {
    pub content: Result<Content, Error>,
    /// Warnings as text; empty if the read failed.
    pub warnings: String,
    /// Size of the content in memory.
    pub content_bytes: u64,
    /// Name of the file in messages, and the name that replaces it in comparisons.
    pub names: Option<[String; 2]>,
}

/// Maximum length of an error message.
const MAX_MESSAGE_BYTES: usize = 2000;

impl Outcome {
    pub fn new(result: Result<(Content, Report), Error>, names: Option<[String; 2]>) -> Outcome {
        let (content, warnings) = match result {
            Ok((content, report)) => (Ok(content), format!("\n{:?}", report.warnings)),
            Err(error) => (Err(error), String::new()),
        };
        let content_bytes = content.as_ref().map_or(0, Content::heap_bytes);
        Outcome { content, warnings, content_bytes, names }
    }

    pub fn error(&self) -> Option<&Error> {
        self.content.as_ref().err()
    }

    /// Text of everything that two reads of the same bytes must agree on.
    pub fn text(&self) -> String {
        let text = match &self.content {
            Ok(content) => content.text() + &self.warnings,
            Err(error) => format!("{:?} {:?}", error.kind(), error.diagnostic()),
        };
        self.renamed(&text)
    }

    fn renamed(&self, text: &str) -> String {
        match &self.names {
            Some([name, common_name]) => text.replace(name, common_name),
            None => text.to_owned(),
        }
    }

    /// Whether both reads have the same result.
    fn is_same(&self, other: &Outcome) -> bool {
        match (&self.content, &other.content) {
            // Large render scenes are compared by content, whatever pieces they were read in.
            (Ok(Content::Scene(one)), Ok(Content::Scene(two))) if one.render.is_some() => {
                one == two && self.renamed(&self.warnings) == other.renamed(&other.warnings)
            }
            (Err(one), Err(two)) if self.names.is_none() => {
                one.kind() == two.kind() && one.diagnostic() == two.diagnostic()
            }
            _ => self.text() == other.text(),
        }
    }

    /// Describes the first difference from another result; `None` if they are equal.
    pub fn difference(&self, other: &Outcome) -> Option<String> {
        const CONTEXT_BYTES: usize = 200;
        if self.is_same(other) {
            return None;
        }
        let [left, right] = [self, other].map(|outcome| outcome.text().into_bytes());
        let start =
            left.iter().zip(&right).take_while(|(left, right)| left == right).count().saturating_sub(CONTEXT_BYTES);
        let shown = |text: &[u8]| {
            let end = text.len().min(start + 2 * CONTEXT_BYTES);
            String::from_utf8_lossy(text.get(start..end).unwrap_or_default()).into_owned()
        };
        Some(format!("at byte {start}:\n{}\n--- not\n{}", shown(&left), shown(&right)))
    }

    /// Describes a rule that this result breaks, if any, whatever the bytes were.
    pub fn broken_rule(&self) -> Option<String> {
        match &self.content {
            Ok(content) => content.broken_rule(),
            Err(error) => broken_error(error),
        }
    }
}

/// Rules of errors: they blame the file, and the message is short.
fn broken_error(error: &Error) -> Option<String> {
    let rule = match error.kind() {
        ErrorKind::Internal | ErrorKind::Memory | ErrorKind::Host | ErrorKind::Cancelled => "is not the file's fault",
        _ if error.to_string().len() > MAX_MESSAGE_BYTES => "is too long",
        _ => return None,
    };
    Some(format!("the error {rule}: {:?} {error}", error.kind()))
}

impl Content {
    /// All values, bit by bit; image samples are hashed.
    fn text(&self) -> String {
        match self {
            Content::Scene(scene) => format!("{scene:?}"),
            Content::Tables(tables) => format!("{tables:?}"),
            Content::Array(array) => format!("{array:?}"),
            Content::Image(image) => image_text(image),
            Content::Texture(texture) => {
                let hashes: Vec<u64> = texture.levels.iter().map(|level| hash_bytes(level)).collect();
                let header = Texture { levels: Vec::new(), ..texture.clone() };
                format!("{header:?} {hashes:x?}")
            }
        }
    }

    fn broken_rule(&self) -> Option<String> {
        match self {
            Content::Scene(scene) => broken_scene(scene),
            Content::Tables(tables) => tables.tables.iter().find_map(broken_table),
            Content::Array(array) => {
                let is_whole = array.values.len() == array.row_count * array.column_count;
                (!is_whole).then(|| format!("{} values in {} rows", array.values.len(), array.row_count))
            }
            Content::Image(image) => broken_image(image),
            Content::Texture(texture) => broken_texture(texture),
        }
    }

    /// The number of rows of each kind, or the size of an image or a texture, for comparisons with a prefix.
    pub fn counts(&self) -> Vec<u64> {
        match self {
            Content::Scene(scene) => match &scene.render {
                Some(render) => vec![render.shape_count() as u64],
                None => scene.totals().to_vec(),
            },
            Content::Tables(tables) => tables.tables.iter().map(|table| table.row_count as u64).collect(),
            Content::Array(array) => vec![array.row_count as u64],
            Content::Image(image) => vec![image.width as u64, image.height as u64],
            Content::Texture(texture) => vec![texture.width as u64, texture.height as u64, texture.levels.len() as u64],
        }
    }

    fn heap_bytes(&self) -> u64 {
        match self {
            Content::Scene(scene) => scene.meshes.iter().map(polyhaul::model::Mesh::heap_bytes).sum(),
            Content::Tables(tables) => tables.tables.iter().map(Table::heap_bytes).sum(),
            Content::Array(array) => array.values.heap_bytes(),
            Content::Image(image) => match &image.samples {
                Pixels::U8(samples) => samples.heap_bytes(),
                Pixels::U16(samples) => samples.heap_bytes(),
                Pixels::F32(samples) => samples.heap_bytes(),
            },
            Content::Texture(texture) => texture.levels.iter().map(|level| level.heap_bytes()).sum(),
        }
    }
}

fn broken_scene(scene: &Scene) -> Option<String> {
    let column = |mesh: &polyhaul::model::Mesh| {
        let mut vertex_columns = mesh.vertex_columns.iter();
        let broken = vertex_columns.find(|column| !column.is_whole(mesh.positions.len()));
        broken.map(|column| format!("the column `{}` has not one row per vertex", column.name))
    };
    broken_rule(scene)
        .or_else(|| scene.meshes.iter().find_map(column))
        .or_else(|| scene.tables.iter().find_map(broken_table))
}

fn broken_table(table: &Table) -> Option<String> {
    let broken = table.columns.iter().find(|column| !column.is_whole(table.row_count));
    broken.map(|column| format!("the column `{}` has not {} rows", column.name, table.row_count))
}

fn broken_image(image: &Image) -> Option<String> {
    let count = image.samples.len();
    (image.sample_count() != Some(count)).then(|| format!("{count} samples, not {:?}", image.sample_count()))
}

fn broken_texture(texture: &Texture) -> Option<String> {
    let mut levels = texture.levels.iter().enumerate();
    let broken = levels.find(|(number, level)| texture.level_bytes(*number) != Some(level.len()));
    broken.map(|(number, level)| format!("level {number} has {} bytes", level.len()))
}

fn image_text(image: &Image) -> String {
    let channel = |samples: &ChannelSamples| hash_debug(samples);
    let extra: Vec<u64> = image.extra.iter().map(|extra| channel(&extra.samples)).collect();
    let samples = match &image.samples {
        Pixels::U8(samples) => hash_bytes(samples),
        Pixels::U16(samples) => hash(samples.iter().map(|&sample| u64::from(sample))),
        Pixels::F32(samples) => hash(samples.iter().map(|sample| u64::from(sample.to_bits()))),
    };
    let names: Vec<&String> = image.extra.iter().map(|extra| &extra.name).collect();
    let Image { width, height, channels, color_space, premultiplied, stored, attributes, .. } = image;
    format!(
        "{width} {height} {channels:?} {color_space:?} {premultiplied} {stored:?} {attributes:?} {samples:x} \
         {names:?} {extra:x?}"
    )
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    hash(words.chain(rest.iter().map(|&byte| u64::from(byte))))
}

fn hash_debug(value: &impl Debug) -> u64 {
    hash_bytes(format!("{value:?}").as_bytes())
}
