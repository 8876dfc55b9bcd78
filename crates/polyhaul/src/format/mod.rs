//! Identity of formats: names, extensions, kind of content, signature, and files inside their files.
//!
//! The lower half of the registry: independent of how formats are read and written, which is in `registry`. The rows
//! are in `formats`.

mod signature;

use polyhaul_bytes::Codec;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::ParseOptions;
use signature::{Looks, Strength};
use std::fmt;
use std::path::Path;

pub(crate) use signature::{HEAD_BYTES, Head};

/// A file format.
///
/// Each format is a constant: `Format::Obj`, `Format::Ply`. [`Format::named`] and [`Format::of_path`] find formats by
/// name and by path.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Format(u8);

/// Identity of a format.
struct FormatRow {
    /// Name, also its extension.
    name: &'static str,
    /// Other extensions.
    other_names: &'static [&'static str],
    /// File name of the scene's main file, if an archive of several files is one scene.
    main_file: Option<&'static str>,
    kind: FormatKind,
    /// Whether it stores several named tables.
    has_elements: bool,
    /// Cargo feature that enables it, if it is disabled in this build.
    missing_feature: Option<&'static str>,
    /// Recognition by content.
    looks: Looks,
    inner_files: Option<InnerFiles>,
    /// Whether files with its extension often contain prose, such as `license.txt`.
    is_often_prose: bool,
    /// The name for an asset split into several files, if any: see [`Format::split_name`].
    split_name: Option<&'static str>,
}

/// The kind of content of a format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormatKind {
    Scene,
    /// Only a table of numbers.
    Table,
    Image,
    /// Images with mip levels, layers and faces; each can also be read as an image.
    Texture,
}

/// Reads a range of a neighboring file, given the file's name, an offset and a number of bytes.
pub(crate) type ReadRange<'f> = dyn FnMut(&str, u64, usize) -> Result<Vec<u8>> + 'f;

/// Files inside the files of a format, named after the containing file: `chair.glb#image0.png`.
#[derive(Clone, Copy)]
pub(crate) struct InnerFiles {
    /// Splits a name into the file's name and the index of the file inside it. Returns `None` for other names.
    pub(crate) split_name: fn(&str) -> Option<(&str, usize)>,
    /// Reads the file with an index, up to a maximum size; [`ReadRange`] reads neighboring files.
    pub(crate) read: fn(Bytes<'_>, usize, &ParseOptions, u64, &mut ReadRange<'_>) -> Result<Vec<u8>>,
}

macro_rules! format_identities {
    ($($(#[$docs:meta])+ $name:ident = $row:expr, $feature:literal {
        $($field:ident: $value:expr,)*
    } => {
        $($handler_field:ident: $handler:expr,)*
    })+) => {
        enum Position {
            $($name,)+
        }

        #[allow(non_upper_case_globals, reason = "they are used like the variants of an enum")]
        impl Format {
            $($(#[$docs])+ pub const $name: Format = Format(Position::$name as u8);)+

            /// All formats, including those not enabled in this build.
            pub const ALL: [Format; ROWS.len()] = [$(Format::$name,)+];
        }

        static ROWS: [FormatRow; [$(Position::$name,)+].len()] = [$(
            #[cfg(feature = $feature)]
            FormatRow { $($field: $value,)* ..$row },
            #[cfg(not(feature = $feature))]
            FormatRow { missing_feature: Some($feature), ..$row },
        )+];
    };
}

format_rows!(format_identities);

/// Defaults of a row: not recognized by content.
const fn row(name: &'static str, kind: FormatKind) -> FormatRow {
    FormatRow {
        name,
        other_names: &[],
        main_file: None,
        kind,
        has_elements: false,
        missing_feature: None,
        looks: Looks::Unknown,
        inner_files: None,
        is_often_prose: false,
        split_name: None,
    }
}

impl Format {
    /// Output format if the name has no known extension.
    pub(crate) const DEFAULT: Format = Format::ALL[0];

    /// Index of its row.
    pub(crate) const fn row(self) -> usize {
        self.0 as usize
    }

    fn entry(self) -> &'static FormatRow {
        &ROWS[self.row()]
    }

    /// The format's name, which is also its extension.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// The name as messages write it: `STL`, `glTF`, `.splat`.
    pub(crate) fn title(self) -> String {
        match self.name() {
            "glb" => "glTF".into(),
            "jpg" => "JPEG".into(),
            "ktx2" => "KTX2".into(),
            "pbrt" => "pbrt".into(),
            "splat" => ".splat".into(),
            "compressed.ply" => "compressed PLY".into(),
            name => name.to_uppercase(),
        }
    }

    /// Whether files with its extension often contain prose.
    pub(crate) fn is_often_prose(self) -> bool {
        self.entry().is_often_prose
    }

    /// The name for an asset split into several files, if any: `gltf`, while a `glb` is a single file.
    pub fn split_name(self) -> Option<&'static str> {
        self.entry().split_name
    }

    /// Alternative names, which are also extensions.
    pub fn other_names(self) -> &'static [&'static str] {
        self.entry().other_names
    }

    /// Finds a format by name, ignoring case.
    pub fn named(name: &str) -> Option<Format> {
        let is_named = |format: &Format| {
            let others = format.other_names().iter().copied();
            others.chain([format.name()]).any(|own_name| own_name.eq_ignore_ascii_case(name))
        };
        Format::ALL.into_iter().find(is_named)
    }

    /// Infers the format from a file name's extension, which may be followed by the extension of a codec (`.gz`,
    /// `.zst`, `.lz4`).
    pub fn of_path(path: &Path) -> Option<Format> {
        // Only the end counts: bytes that are not UTF-8 may precede it.
        let name = path.file_name()?.to_string_lossy();
        let plain = Codec::of_name(&name).map_or(&*name, |(_, plain)| plain);
        let (rest, extension) = plain.rsplit_once('.')?;
        // Some names of formats have two parts, as in `scan.compressed.ply`.
        let longer = rest.rsplit_once('.').and_then(|(rest, _)| Format::named(plain.get(rest.len() + 1..)?));
        longer.or_else(|| Format::named(extension).filter(|_| !rest.is_empty()))
    }

    /// Whether a file in an archive is the main file of a scene, judging by its name.
    pub(crate) fn is_main_file(path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some() && Format::ALL.into_iter().any(|format| format.entry().main_file == name)
    }

    /// Kind of content.
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

    /// Whether it stores an image or a texture.
    pub fn is_image(self) -> bool {
        matches!(self.kind(), FormatKind::Image | FormatKind::Texture)
    }

    /// Whether it stores textures: images with mip levels, layers and faces.
    pub fn is_texture(self) -> bool {
        self.kind() == FormatKind::Texture
    }

    /// Whether it stores a scene.
    pub(crate) fn is_scene(self) -> bool {
        self.kind() == FormatKind::Scene
    }

    /// Whether it stores tables: a single table of numbers, or named elements.
    pub(crate) fn has_tables(self) -> bool {
        self.is_built() && (self.is_table() || self.has_elements())
    }

    /// Whether it stores several named tables.
    pub(crate) fn has_elements(self) -> bool {
        self.is_built() && self.entry().has_elements
    }

    /// Whether it only stores a single table of numbers.
    pub(crate) fn is_table(self) -> bool {
        self.kind() == FormatKind::Table
    }

    /// Access to the files inside its files, if it has any.
    pub(crate) fn inner_files(self) -> Option<InnerFiles> {
        self.entry().inner_files
    }

    /// Lists formats in messages: `tga, hdr and png`.
    pub(crate) fn listed(is_listed: impl Fn(Format) -> bool) -> String {
        let names: Vec<&str> = Format::ALL.into_iter().filter(|&format| is_listed(format)).map(Format::name).collect();
        match names.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            _ => names.concat(),
        }
    }

    /// The format whose signature matches a source.
    pub(crate) fn of_content(head: &Head<'_>) -> Option<Format> {
        Format::with_signatures().find(|(_, looks)| looks(head)).map(|(format, _)| format)
    }

    /// Formats with signatures, strongest first.
    fn with_signatures() -> impl Iterator<Item = (Format, fn(&Head<'_>) -> bool)> {
        let of = |expected| {
            Format::ALL.into_iter().filter_map(move |format| match format.entry().looks {
                Looks::Signature(strength, looks) if strength == expected => Some((format, looks)),
                _ => None,
            })
        };
        Strength::ALL.into_iter().flat_map(of)
    }

    /// The format whose keywords match a text; `Err` with a possible format if there are only blank lines and comments.
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

    /// Lists the formats recognized by content, for messages. Formats recognized by keywords are included only if
    /// `with_words` is set.
    pub(crate) fn recognized(with_words: bool) -> String {
        let has_words = |format: &Format| with_words && matches!(format.entry().looks, Looks::Words(_));
        let by_words = Format::ALL.into_iter().filter(has_words);
        let names = by_words.chain(Format::with_signatures().map(|(format, _)| format)).map(Format::name);
        names.collect::<Vec<_>>().join(", ")
    }
}

impl Format {
    /// Error for requesting a texture from a format that stores none.
    pub(crate) fn no_texture(self) -> Error {
        let error = Error::new(ErrorKind::Usage, format!("{} is not a texture format", self.name()));
        error.with_hint(format!("texture formats are {}", Format::listed(Format::is_texture)))
    }
    /// Error for requesting an image from a format that stores none.
    pub(crate) fn no_image(self) -> Error {
        let error = Error::new(ErrorKind::Usage, format!("{} is not an image format", self.name()));
        let images = Format::ALL.into_iter().filter(|format| format.is_image()).map(Format::name);
        error.with_hint(format!("image formats are {}", images.collect::<Vec<_>>().join(", ")))
    }
    /// Error for requesting other content from an image format.
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

/// Error for calls that need the `writing` feature, in builds without it.
pub(crate) fn only_reads() -> Error {
    let error = Error::new(ErrorKind::Unsupported, "this build of polyhaul only reads whole files");
    error.with_hint("enable the feature `writing` of the crate polyhaul")
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
        for (text, expected) in texts {
            assert_eq!(format(text, None), expected, "{text:?}");
            assert_eq!(format(text, Some(text.len() as u64)), expected, "{text:?}");
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
