//! Options for reading and writing, with their defaults.

use crate::format::Format;
use polyhaul_bytes::{ArchiveCache, FileOptions};
pub use polyhaul_bytes::{Codec, Throttle};
pub use polyhaul_model::limits::{FaultPolicy, Limits, OnError};
use polyhaul_model::options::FormatOptions;
pub use polyhaul_model::options::{
    ColumnName, ColumnTypes, Delimiter, Dialect, Digits, GltfWriteOptions, ImageReadOptions, ImageWriteOptions,
    Instances, MissingValue, ObjWriteOptions, OptionChoice, OptionGroup, OptionKind, OptionRow, OptionValue, Origin,
    PbrtMeshes, PbrtWriteOptions, PlyWriteOptions, PngLevel, SceneWriteOptions, SetError, Smoothing, SplatReadOptions,
    SplatWriteOptions, SpzAxes, StlReadOptions, TableHeader, TableReadOptions, TableWriteOptions,
};
pub use polyhaul_model::severity::{KindSet, Strict, Strictness};
pub use polyhaul_model::{Axes, Axis, Precision};
pub use polyhaul_pipeline::options::{Cancel, ParseOptions, Progress, RunOptions, RunTasks, ThreadPool};
use polyhaul_pipeline::precision::PrecisionPass;
pub use polyhaul_scan::{Expression, RowOptions};
use std::sync::Arc;

polyhaul_model::options! {
    /// Options for reading.
    #[derive(Clone, Debug)]
    pub struct ReadOptions {
        /// The format; if absent, it is inferred from the file name or, failing that, from the content.
        pub format: Option<Format> = None, with_format => [], alias "from";
        /// Threads, memory, cancellation, progress.
        pub run: RunOptions = RunOptions::default(), with_run => group;
        /// What to do with data that breaks its format's rules.
        pub on_error: OnError = OnError::Raise, with_on_error => [];
        /// Treat losses and faults as errors; with `all`, notes too.
        pub strict: Strict = Strict::Off, with_strict into => [];
        /// Kinds of warnings to accept despite `strict`.
        pub allow: KindSet = KindSet::default(), with_allow => [];
        /// The name of the format that a conversion writes, which decides on severities.
        #[doc(hidden)]
        pub target: &'static str = "", with_target;
        /// Whether to check also for problems that affect only programs that use the content; set by validation.
        #[doc(hidden)]
        pub is_thorough: bool = false, with_thorough;
        /// Read only the first rows of an image, with about this many pixels: for previews.
        #[doc(hidden)]
        pub first_pixels: Option<u64> = None, with_first_pixels;
        /// Resource limits, such as maximum sizes and counts.
        pub limits: Limits = Limits::default(), with_limits => group;
        /// The precision of positions. By default, 32-bit floats; 64-bit floats for files that would otherwise lose
        /// digits, such as georeferenced ones.
        pub precision: Precision = Precision::Auto, with_precision => [];
        /// Which pass over the input this is.
        #[doc(hidden)]
        pub precision_pass: PrecisionPass = PrecisionPass::default(), with_precision_pass;
        /// Read and copy files outside the scene's folder too.
        pub allow_outside: bool = false, with_allow_outside => [];
        /// Read the material libraries that a scene refers to.
        pub load_materials: bool = true, with_load_materials => [obj];
        /// Read the mesh files that a scene refers to. For files that are not read, only the names are kept.
        pub load_meshes: bool = true, with_load_meshes => [pbrt], alias "no_lazy";
        /// A callback that supplies the files that a scene refers to; it is tried before the file system.
        pub resolver: Option<Resolve> = None, with_resolver;
        /// The input is a part of an OBJ file: see `polyhaul_obj::read_part`. For the workers of a browser.
        #[doc(hidden)]
        pub is_obj_part: bool = false, with_obj_part;
        /// The archive whose members are read sequentially.
        #[doc(hidden)]
        pub archives: ArchiveCache = ArchiveCache::default(), with_archives;
        /// Options for reading STL.
        pub stl: StlReadOptions = StlReadOptions::default(), with_stl => group;
        /// Options for reading Gaussian splats.
        pub splats: SplatReadOptions = SplatReadOptions::default(), with_splats => group;
        /// Options for reading numeric tables.
        pub table: TableReadOptions = TableReadOptions::default(), with_table => group;
        /// Which rows of a table, or vertices of a mesh, to keep. Faces, lines and edges whose vertices are not all
        /// kept are removed; the indices of the others are updated.
        pub rows: RowOptions = RowOptions::default(), with_rows => group;
        /// Which image to read from a file that contains several.
        pub image: ImageReadOptions = ImageReadOptions::default(), with_image => group;
    }
}

/// A callback that is called with the name of every file that a scene refers to. The input it returns is read instead
/// of the file on disk. If it returns `None`, the file is looked up relative to the scene, provided that the scene
/// itself is a file.
///
/// The name is passed exactly as it appears in the scene, and may be malicious. If the callback returns an error, or a
/// reader that it returned fails, reading stops with [`crate::ErrorKind::Host`]; [`crate::Error::io_error`] returns the
/// original error. A returned path must name a regular file, but may be anywhere.
///
/// ```
/// use polyhaul::options::Resolve;
/// use polyhaul::{Input, ReadOptions, Reader};
/// use std::sync::Arc;
///
/// let paint = |name: &str| match name {
///     "paint.mtl" => Ok(Some(Input::Memory(b"newmtl red\nKd 1 0 0\n".to_vec(), name.into()))),
///     _ => Ok(None),
/// };
/// let options = ReadOptions::default().with_resolver(Some(Resolve(Arc::new(paint))));
/// let text = b"mtllib paint.mtl\nusemtl red\n".to_vec();
/// let loaded = Reader::new(Input::Memory(text, "scene.obj".into())).options(&options).scene()?;
/// assert!(!loaded.value.materials[0].missing);
/// # Ok::<(), polyhaul::Error>(())
/// ```
#[derive(Clone)]
pub struct Resolve(pub Arc<dyn Fn(&str) -> Resolved + Send + Sync>);

/// The result of a [`Resolve`] callback: the input to read for a name, or `None` if it does not handle that name.
pub type Resolved = std::io::Result<Option<crate::input::Input>>;

polyhaul_model::choices! {
    /// How a file is compressed.
    pub enum Compression = Auto {
        /// Inferred from the output's extension: `.gz`, `.bgz`, `.zst`, `.lz4`.
        "auto" => Auto,
        /// Uncompressed, regardless of the name.
        "none" => None,
        /// gzip, the most widely supported.
        "gzip" | "gz" => Gzip,
        /// zstd, smaller and faster than gzip.
        "zstd" | "zst" => Zstd,
        /// lz4, the fastest.
        "lz4" => Lz4,
    }
}

impl Compression {
    /// The codec that is used regardless of the name, if any.
    pub fn codec(self) -> Option<Codec> {
        match self {
            Compression::Auto | Compression::None => None,
            Compression::Gzip => Some(Codec::Gzip),
            Compression::Zstd => Some(Codec::Zstd),
            Compression::Lz4 => Some(Codec::Lz4),
        }
    }
}

/// This codec, regardless of the name.
impl From<Codec> for Compression {
    fn from(codec: Codec) -> Self {
        match codec {
            Codec::Gzip => Compression::Gzip,
            Codec::Zstd => Compression::Zstd,
            _ => Compression::Lz4,
        }
    }
}

impl Format {
    /// Whether this format is among the names in a row of the table of options. An empty list stands for all formats.
    pub fn is_among(self, names: &[&str]) -> bool {
        let is_one = |name: &&str| match *name {
            "images" => self.is_image(),
            "tables" => self.is_table(),
            name => self.name().replace('.', "_") == name,
        };
        names.is_empty() || names.iter().any(is_one)
    }
}

impl OptionValue for Format {
    const KIND: OptionKind = OptionKind::Special { name: "Format", expected: "the name of a format", words: &[] };

    fn parse(text: &str) -> Result<Format, String> {
        let names = || Format::ALL.map(Format::name).join(", ");
        Format::named(text).ok_or_else(|| format!("expected one of {}", names()))
    }

    fn print(&self) -> String {
        self.name().into()
    }
}

polyhaul_model::options! {
    /// Options for writing.
    #[derive(Clone, Debug)]
    pub struct WriteOptions {
        /// The format; if absent, it is inferred from the output's name.
        pub format: Option<Format> = None, with_format => [], alias "to";
        /// Threads, memory, cancellation, progress.
        pub run: RunOptions = RunOptions::default(), with_run => group;
        /// Treat losses as errors, such as data that the format could store but the writer drops; with `all`, notes
        /// too, such as data that the format cannot store. An existing file is left untouched. The kind of the error is
        /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
        pub strict: Strict = Strict::Off, with_strict into => [];
        /// Kinds of warnings to accept despite `strict`.
        pub allow: KindSet = KindSet::default(), with_allow => [];
        /// The compression of the output. By default it is inferred from the extension: .gz, .zst, .lz4.
        pub compression: Compression = Compression::Auto, with_compression => [], alias "compress";
        /// The compression level: gzip 1 to 12, zstd 1 to 22; lz4 has a single level. By default a fast one.
        pub level: Option<i32> = None, with_level => [] in 1..=22;
        /// Sync the file and its folder to disk before returning.
        pub durable: bool = false, with_durable => [];
        /// Hash the output: see [`FileWritten::hash`](crate::report::FileWritten::hash).
        pub hash: bool = false, with_hash;
        /// What to do about splats that no splat format can store because a value is not finite: fail, or drop them
        /// with a warning. A conversion uses the read options.
        pub on_error: OnError = OnError::Raise, with_on_error;
        /// Limits on the scene; only the limits on instances apply here. A conversion uses the limits from the read
        /// options.
        pub limits: Limits = Limits::default(), with_limits;
        /// Copy the files that the asset refers to (textures, meshes, spectra) into the output's folder, and refer to
        /// the copies. The copies are written first and the main file last; copies never overwrite existing files.
        /// Files outside the source's folder are copied only if the asset was read with `allow_outside`.
        pub copy_assets: bool = false, with_copy_assets => [];
        /// Options for writing scenes, whatever the format.
        pub scene: SceneWriteOptions = SceneWriteOptions::default(), with_scene => group;
        /// Options for writing OBJ.
        pub obj: ObjWriteOptions = ObjWriteOptions::default(), with_obj => group;
        /// Options for writing PLY.
        pub ply: PlyWriteOptions = PlyWriteOptions::default(), with_ply => group;
        /// Options for writing Gaussian splats.
        pub splats: SplatWriteOptions = SplatWriteOptions::default(), with_splats => group;
        /// Options for writing glTF.
        pub gltf: GltfWriteOptions = GltfWriteOptions::default(), with_gltf => group;
        /// Options for writing numeric tables.
        pub table: TableWriteOptions = TableWriteOptions::default(), with_table => group;
        /// Options for writing pbrt scenes.
        pub pbrt: PbrtWriteOptions = PbrtWriteOptions::default(), with_pbrt => group;
        /// Options for writing images.
        pub image: ImageWriteOptions = ImageWriteOptions::default(), with_image => group;
    }
}

impl WriteOptions {
    /// The options of tables.
    pub(crate) fn table_style(&self) -> FormatOptions<'_, TableWriteOptions> {
        FormatOptions { scene: &self.scene, own: &self.table }
    }

    /// The options of PLY.
    #[cfg(feature = "ply")]
    pub(crate) fn ply_style(&self) -> FormatOptions<'_, PlyWriteOptions> {
        FormatOptions { scene: &self.scene, own: &self.ply }
    }

    /// Which warnings are errors.
    pub(crate) fn strictness(&self) -> Strictness {
        Strictness { level: self.strict, allow: self.allow }
    }

    /// The options of the file itself: syncing and hashing.
    pub(crate) fn file_options(&self) -> FileOptions {
        FileOptions::default().with_durable(self.durable).with_hash(self.hash)
    }
}

impl ReadOptions {
    /// Whether a malformed statement stops reading with an error.
    pub(crate) fn raises(&self) -> bool {
        self.faults().raises()
    }

    /// The options shared by the readers of all formats.
    pub(crate) fn parse_options(&self) -> ParseOptions {
        let precision = PrecisionPass { precision: self.precision, ..self.precision_pass };
        let run = self.run.clone();
        let first_pixels = self.first_pixels;
        ParseOptions { run, limits: self.limits, faults: self.faults(), precision, first_pixels, own: () }
    }

    /// Which warnings are errors.
    pub(crate) fn strictness(&self) -> Strictness {
        Strictness { level: self.strict, allow: self.allow }
    }

    /// What to do about invalid data.
    pub(crate) fn faults(&self) -> FaultPolicy {
        FaultPolicy {
            on_error: self.on_error,
            strict: self.strictness(),
            target: self.target,
            is_thorough: self.is_thorough,
        }
    }
}

impl std::fmt::Debug for Resolve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Resolve")
    }
}
