//! The registry of formats: a row for each, in `formats`.
//!
//! A row has the names of a format, its kind of content, its signature, and how it is read and written. Adding a format
//! means a folder with its code and a row; it is named nowhere else. Operations on every input and output are in
//! `load`, `save`, `images` and `tables`; nothing here opens a file.

mod formats;

use crate::format::Format;
use crate::image_job::{Held, Log};
use crate::input::Output;
use crate::loaded::Tables;
use crate::mesh_job::MeshJob;
use crate::options::WriteOptions;
use crate::read_job::ReadJob;
use crate::report::Report;
use crate::table_job::TablesJob;
use crate::table_parts::{BegunParts, PartsJob};
use formats::ROWS;
use polyhaul_bytes::Codec;
use polyhaul_image::samples::SampleType;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::options::Placement;
use polyhaul_model::{Image, Scene, Texture};
use polyhaul_pipeline::consumer::MeshConsumer;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::table_parts::TableSource;
use polyhaul_pipeline::write::Writing;
use polyhaul_table::TableFormat;
use std::borrow::Cow;
use std::fmt;
use std::path::Path;

/// The properties of a format, and how it is read and written.
pub(crate) struct FormatRow {
    /// Its name, which is its extension too.
    name: &'static str,
    /// Other extensions.
    other_names: &'static [&'static str],
    /// The name of the file that names all others, where an archive of them is one scene.
    main_file: Option<&'static str>,
    kind: FormatKind,
    /// The feature of this crate that reads and writes it, if it is not enabled.
    missing_feature: Option<&'static str>,
    /// Whether a source looks like it.
    looks: Looks,
    read: Readers,
    write: Writers,
}

/// The kind of content of a format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormatKind {
    Scene,
    /// Only a table of numbers.
    Table(TableFormat),
    Image,
    /// Images with mip levels, layers and faces; each can also be read as an image.
    Texture,
}

/// How many bytes of a source are examined.
pub(crate) const HEAD_BYTES: usize = 1024;

/// The first bytes of a source, and its size, if known.
pub(crate) struct Head<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) size: Option<u64>,
}

impl<'a> Head<'a> {
    /// The bytes as text, without a byte order mark.
    fn text(&self) -> &'a [u8] {
        self.bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(self.bytes)
    }
}

/// How a format is recognized by its first bytes.
pub(crate) enum Looks {
    /// Not at all.
    Unknown,
    /// By a signature; stronger ones are tried first.
    Signature(Strength, fn(&Head<'_>) -> bool),
    /// By its words; `None` if there are only blank lines and comments. They are weak evidence if the name suggests
    /// otherwise.
    Words(fn(&[u8]) -> Option<bool>),
}

/// How reliable a signature is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strength {
    /// Tried before those that examine text and sizes.
    Strong,
    Usual,
    /// A few bytes in a narrow range.
    Weak,
}

impl Strength {
    /// In the order in which signatures are tried.
    const ALL: [Strength; 3] = [Strength::Strong, Strength::Usual, Strength::Weak];
}

/// Reads a mesh piece by piece; `false` if this file must be read as a scene.
pub(crate) type PiecesReader = fn(&mut ReadJob<'_>, &dyn MeshConsumer) -> Result<bool>;

/// Reads tables part by part, of about so many bytes, with a function that returns how many threads it had, or `None`
/// to have the file read as a whole. Returns `false` if this file must be.
pub(crate) type PartsReader =
    fn(&mut ReadJob<'_>, usize, &mut dyn FnMut(&dyn TableSource) -> Result<Option<usize>>) -> Result<bool>;

/// How a format is read, for each kind of content that it has.
pub(crate) struct Readers {
    pub(crate) scene: Option<fn(&mut ReadJob<'_>) -> Result<Scene>>,
    /// Reads a mesh piece by piece.
    pub(crate) pieces: Option<PiecesReader>,
    pub(crate) tables: Option<fn(&mut ReadJob<'_>) -> Result<Tables>>,
    /// Reads tables part by part.
    pub(crate) parts: Option<PartsReader>,
    pub(crate) image: Option<fn(&mut ReadJob<'_>) -> Result<Image>>,
    pub(crate) texture: Option<fn(&mut ReadJob<'_>) -> Result<Texture>>,
    /// Whether layers and parts of an image can be chosen.
    pub(crate) has_layers: bool,
    /// Whether pixels take several times as much memory as in the file.
    pub(crate) is_packed: bool,
}

/// How a format is written, for each kind of content that it holds.
pub(crate) struct Writers {
    pub(crate) scene: Option<SceneWriter>,
    /// How splats are packed while they are read from a table.
    #[cfg(feature = "splat")]
    pub(crate) packing: Option<polyhaul_splat::packer::SplatPacking>,
    pub(crate) tables: Option<TablesWriter>,
    pub(crate) image: Option<ImageWriter>,
    pub(crate) texture: Option<TextureWriter>,
}

/// Writes a texture.
pub(crate) type TextureWriter = fn(&Texture, &WriteOptions, &mut Writing<'_, '_>) -> Result<()>;

/// Writes scenes.
#[derive(Clone, Copy)]
pub(crate) enum SceneWriter {
    /// Scenes for a renderer as they are.
    Render(fn(Cow<'_, Scene>, Output, &WriteOptions) -> Result<Report>),
    Meshes(MeshWriter),
}

/// Writes meshes, objects and materials.
#[derive(Clone, Copy)]
pub(crate) struct MeshWriter {
    /// Changes to a scene before that: axes, scale, triangles.
    pub(crate) placement: fn(&Scene, &WriteOptions) -> Result<Placement>,
    /// Whether it stores triangles alone.
    pub(crate) only_triangles: bool,
    /// Whether it stores transforms of Gaussian splats, which have y up there.
    pub(crate) has_upright_splats: bool,
    /// How faces are triangulated if requested.
    pub(crate) triangulate: fn(&mut Scene, &Placement, &RunOptions) -> Result<()>,
    pub(crate) write: fn(MeshJob<'_>) -> Result<()>,
}

/// Writes tables.
#[derive(Clone, Copy)]
pub(crate) struct TablesWriter {
    /// Whether the options request something that only a mesh has.
    pub(crate) wants_mesh: fn(&WriteOptions) -> bool,
    pub(crate) write: fn(TablesJob<'_>) -> Result<()>,
    /// Begins a file that is written part by part.
    pub(crate) begin_parts: for<'o> fn(PartsJob<'_, 'o>) -> Result<BegunParts<'o>>,
}

/// Writes images.
#[derive(Clone, Copy)]
pub(crate) struct ImageWriter {
    /// The samples and channels that an image is converted to.
    pub(crate) held: fn(&Image) -> Held,
    /// Warns about what it cannot store of a converted image, which had samples of this type.
    pub(crate) note: fn(&mut Log<'_>, &Image, SampleType, &WriteOptions) -> Result<()>,
    /// Whether it stores channels and attributes by name.
    pub(crate) has_names: bool,
    /// Whether all pixels are approximate anyway.
    pub(crate) is_lossy: bool,
    pub(crate) write: fn(&Image, &WriteOptions, &mut Writing<'_, '_>) -> Result<()>,
}

const NO_READERS: Readers = Readers {
    scene: None,
    pieces: None,
    tables: None,
    parts: None,
    image: None,
    texture: None,
    has_layers: false,
    is_packed: false,
};
/// A writer without warnings of its own; rows override what the format holds and how it is written.
const IMAGE_WRITER: ImageWriter = ImageWriter {
    held: Held::integers,
    note: |_, _, _, _| Ok(()),
    has_names: false,
    is_lossy: false,
    write: |_, _, _| Err(Error::new(ErrorKind::Internal, "a row has no writer")),
};
const NO_WRITERS: Writers = Writers {
    scene: None,
    #[cfg(feature = "splat")]
    packing: None,
    tables: None,
    image: None,
    texture: None,
};

/// The error of calls that need the feature `writing`, in a build without it.
pub(crate) fn only_reads() -> Error {
    let error = Error::new(ErrorKind::Unsupported, "this build of polyhaul only reads whole files");
    error.with_hint("enable the feature `writing` of the crate polyhaul")
}

impl Format {
    fn entry(self) -> &'static FormatRow {
        &ROWS[self.row()]
    }

    /// The format's name, which is also its extension.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Alternative names, which are also extensions.
    pub fn other_names(self) -> &'static [&'static str] {
        self.entry().other_names
    }

    /// Finds a format by name, ignoring case.
    pub fn named(name: &str) -> Option<Format> {
        let is_named = |format: &Format| {
            let others = format.other_names().iter().copied();
            others.chain([format.name()]).any(|own| own.eq_ignore_ascii_case(name))
        };
        Format::ALL.into_iter().find(is_named)
    }

    /// Infers the format from a file name's extension, which may be followed by that of a codec (`.gz`, `.zst`,
    /// `.lz4`).
    pub fn of_path(path: &Path) -> Option<Format> {
        // Only the end counts: bytes that are not UTF-8 may precede it.
        let name = path.file_name()?.to_string_lossy();
        let plain = Codec::of_name(&name).map_or(&*name, |(_, plain)| plain);
        let (rest, extension) = plain.rsplit_once('.')?;
        // Some names of formats have two parts, as in `scan.compressed.ply`.
        let longer = rest.rsplit_once('.').and_then(|(rest, _)| Format::named(plain.get(rest.len() + 1..)?));
        longer.or_else(|| Format::named(extension).filter(|_| !rest.is_empty()))
    }

    /// Whether a file in an archive is the main one of a scene, by its name.
    pub(crate) fn is_main_file(path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some() && Format::ALL.into_iter().any(|format| format.entry().main_file == name)
    }

    /// The kind of content.
    pub(crate) fn kind(self) -> FormatKind {
        self.entry().kind
    }

    /// Whether this build supports the format, that is, whether its Cargo feature is enabled.
    pub fn is_built(self) -> bool {
        self.entry().missing_feature.is_none()
    }

    /// The same format, if it is enabled in this build.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`], with the name of the missing feature, if it is not.
    pub(crate) fn built(self) -> Result<Format> {
        let Some(feature) = self.entry().missing_feature else { return Ok(self) };
        let message = format!("this build of polyhaul does not support {}", self.name());
        let hint = format!("enable the feature `{feature}` of the crate polyhaul");
        Err(Error::new(ErrorKind::Unsupported, message).with_hint(hint))
    }

    /// How it is read.
    pub(crate) fn readers(self) -> &'static Readers {
        &self.entry().read
    }

    /// How it is written.
    pub(crate) fn writers(self) -> &'static Writers {
        &self.entry().write
    }

    /// Whether scenes, tables or images can be written in this format. Textures are written by [`crate::textures`].
    pub fn is_written(self) -> bool {
        let Writers { scene, tables, image, .. } = self.writers();
        scene.is_some() || tables.is_some() || image.is_some()
    }

    /// Whether its kind of content can be converted to another format, which is written.
    pub fn converts_to(self, to: Format) -> bool {
        self.is_image() == to.is_image() && to.is_written()
    }

    /// Whether it holds an image.
    pub fn is_image(self) -> bool {
        matches!(self.kind(), FormatKind::Image | FormatKind::Texture)
    }

    /// Whether it holds textures: images with mip levels, layers and faces.
    pub fn is_texture(self) -> bool {
        self.kind() == FormatKind::Texture
    }

    /// Whether it holds tables: plain tables of numbers, or those with named elements.
    pub(crate) fn has_tables(self) -> bool {
        self.readers().tables.is_some()
    }

    /// Whether it holds several tables, by name.
    pub(crate) fn has_elements(self) -> bool {
        self.has_tables() && self.table().is_none()
    }

    /// Which tables of numbers it holds, if it holds such alone.
    pub(crate) fn table(self) -> Option<TableFormat> {
        match self.kind() {
            FormatKind::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The names of formats, for messages: `tga, hdr and png`.
    pub(crate) fn listed(is_listed: impl Fn(Format) -> bool) -> String {
        let names: Vec<&str> = Format::ALL.into_iter().filter(|&it| is_listed(it)).map(Format::name).collect();
        match names.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            _ => names.concat(),
        }
    }

    /// The format that a source looks like by its signature.
    pub(crate) fn of_content(head: &Head<'_>) -> Option<Format> {
        Format::with_signatures().find(|(_, looks)| looks(head)).map(|(format, _)| format)
    }

    /// The formats that have signatures, the strongest first.
    fn with_signatures() -> impl Iterator<Item = (Format, fn(&Head<'_>) -> bool)> {
        let of = |wanted| {
            Format::ALL.into_iter().filter_map(move |format| match format.entry().looks {
                Looks::Signature(strength, looks) if strength == wanted => Some((format, looks)),
                _ => None,
            })
        };
        Strength::ALL.into_iter().flat_map(of)
    }

    /// The format that the words of a text look like; `Err` with a possible one if there are only blank lines and
    /// comments.
    pub(crate) fn of_words(text: &[u8]) -> Option<std::result::Result<Format, Format>> {
        let head = Head { bytes: text, size: None };
        Format::ALL.into_iter().find_map(|format| match format.entry().looks {
            Looks::Words(looks) => match looks(head.text()) {
                Some(true) => Some(Ok(format)),
                Some(false) => None,
                None => Some(Err(format)),
            },
            _ => None,
        })
    }

    /// The formats that are recognized by content, for messages; those recognized by words only without an extension.
    pub(crate) fn recognized(with_words: bool) -> String {
        let has_words = |format: &Format| with_words && matches!(format.entry().looks, Looks::Words(_));
        let by_words = Format::ALL.into_iter().filter(has_words);
        let names = by_words.chain(Format::with_signatures().map(|(format, _)| format)).map(Format::name);
        names.collect::<Vec<_>>().join(", ")
    }
}

impl Format {
    /// The error for requesting a texture from a format without any.
    pub(crate) fn no_texture(self) -> Error {
        let error = Error::new(ErrorKind::Usage, format!("{} is not a texture format", self.name()));
        error.with_hint(format!("texture formats are {}", Format::listed(Format::is_texture)))
    }
    /// The error where an image is wanted, and the format has none.
    pub(crate) fn no_image(self) -> Error {
        let error = Error::new(ErrorKind::Usage, format!("{} is not an image format", self.name()));
        let images = Format::ALL.into_iter().filter(|format| format.is_image()).map(Format::name);
        error.with_hint(format!("image formats are {}", images.collect::<Vec<_>>().join(", ")))
    }
    /// The error where something else is wanted of an image.
    pub(crate) fn only_image(self) -> Error {
        let error = Error::new(ErrorKind::Usage, format!("{} stores an image, not a scene or a table", self.name()));
        error.with_hint("read it as an image, or convert it to an image format")
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(bytes: &[u8], size: Option<u64>) -> Option<Format> {
        Format::of_content(&Head { bytes, size })
    }

    #[test]
    fn first_bytes_tell_formats() {
        let texts: [(&[u8], Option<Format>); 16] = [
            (b"# a scene\n\r\nLookAt 0 0 0", Some(Format::Pbrt)),
            (b"\xEF\xBB\xBFFilm\"rgb\"", Some(Format::Pbrt)),
            (b"# a scene", None),
            (b"Films \"rgb\"", None),
            (b"ply\nformat", Some(Format::Ply)),
            (b"ply\r", Some(Format::Ply)),
            (b"plywood 3\n", None),
            (b"ply", None),
            (b"\x93NUMPY\x01\x00", Some(Format::Npy)),
            (b"\x93NUMP", None),
            (b"solid\nendsolid\n", Some(Format::Stl)),
            (b"\xEF\xBB\xBF SOLID a\n", Some(Format::Stl)),
            (b"solidity,x\n1,2\n", None),
            (b"solid\0", None),
            (b"v 0 0 0\n", None),
            (b"", None),
        ];
        for (text, wanted) in texts {
            assert_eq!(format(text, None), wanted, "{text:?}");
            assert_eq!(format(text, Some(text.len() as u64)), wanted, "{text:?}");
        }
    }

    #[test]
    fn binary_stl_is_told_by_its_size() {
        let mut file = [7; 134];
        file[80..84].copy_from_slice(&1u32.to_le_bytes());
        assert_eq!(format(&file, Some(134)), Some(Format::Stl));
        assert_eq!([format(&file, Some(133)), format(&file, None), format(&file[..83], Some(83))], [None; 3]);
        file[80..84].copy_from_slice(&0u32.to_le_bytes());
        assert_eq!(format(&file[..84], Some(84)), Some(Format::Stl));
    }

    #[test]
    #[cfg(unix)]
    fn names_need_not_be_text() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let path = |name: &'static [u8]| Path::new(OsStr::from_bytes(name));
        for name in [&b"a\xff.obj"[..], b"\xff.OBJ.gz", b"\xff/a.obj"] {
            assert_eq!(Format::of_path(path(name)), Some(Format::Obj));
        }
        assert_eq!(Format::of_path(path(b"a.ob\xff")), None);
    }
}
