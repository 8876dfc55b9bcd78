//! Options for reading and writing, with their defaults.

use polyhaul_bytes::FileOptions;
pub use polyhaul_bytes::{Codec, Throttle};
pub use polyhaul_model::limits::{FaultPolicy, Limits, OnError};
pub use polyhaul_model::options::{
    ColumnName, ColumnTypes, Delimiter, Dialect, Digits, GltfInstances, GltfWriteOptions, ImageReadOptions,
    ImageWriteOptions, Instances, MissingValue, ObjReadOptions, ObjWriteOptions, PbrtMeshes, PbrtWriteOptions,
    Placement, PlyEncoding, PlyWriteOptions, PngLevel, Smoothing, SplatWriteOptions, StlReadOptions, StlWriteOptions,
    TableHeader, TableReadOptions, TableWriteOptions,
};
pub use polyhaul_model::{Axes, Axis};
pub use polyhaul_pipeline::options::{Cancel, ParseOptions, Progress, RunOptions, RunTasks, ThreadPool};
pub use polyhaul_scan::{Expression, RowOptions};
use std::sync::Arc;

polyhaul_model::options! {
    /// Options for reading.
    #[derive(Clone, Debug)]
    pub struct ReadOptions {
        /// The format. `None` infers it from the file name or, failing that, from the content.
        pub format: Option<crate::format::Format> = None, with_format;
        /// Threads, memory, cancellation, progress.
        pub run: RunOptions = RunOptions::default(), with_run;
        /// What to do with data that breaks its format's rules.
        pub on_error: OnError = OnError::Raise, with_on_error;
        /// Treat warnings as errors.
        pub strict: bool = false, with_strict;
        /// Limits on what the data may request, such as sizes and counts.
        pub limits: Limits = Limits::default(), with_limits;
        /// Whether a scene may refer to files outside its own folder.
        pub allow_outside: bool = false, with_allow_outside;
        /// Whether to read the material libraries that a scene refers to.
        pub load_materials: bool = true, with_load_materials;
        /// Whether to read the mesh files that a pbrt scene refers to. If not, only their names are kept.
        pub load_meshes: bool = true, with_load_meshes;
        /// A callback that supplies the files that a scene refers to; it is tried before the file system.
        pub resolver: Option<Resolve> = None, with_resolver;
        /// Options for reading OBJ.
        pub obj: ObjReadOptions = ObjReadOptions::default(), with_obj;
        /// Options for reading STL.
        pub stl: StlReadOptions = StlReadOptions::default(), with_stl;
        /// Options for reading numeric tables.
        pub table: TableReadOptions = TableReadOptions::default(), with_table;
        /// Which rows of a table, or vertices of a mesh, to keep. Faces, lines and edges whose vertices are not all
        /// kept go, and the others are renumbered.
        pub rows: RowOptions = RowOptions::default(), with_rows;
        /// Which image to read from a file that contains several.
        pub image: ImageReadOptions = ImageReadOptions::default(), with_image;
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

/// How a file is compressed. Levels use the codec's own scale (gzip 1 to 12, zstd 1 to 22, lz4 has a single level);
/// `None` selects a fast level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Inferred from the output's extension (`.gz`, `.bgz`, `.zst`, `.lz4`), at this level. Giving a level is an error
    /// if the name has no such extension.
    ByName(Option<i32>),
    /// Uncompressed, regardless of the name.
    None,
    /// This codec at this level, regardless of the name.
    By(Codec, Option<i32>),
}

/// Inferred from the output's name.
impl Default for Compression {
    fn default() -> Self {
        Compression::ByName(None)
    }
}

/// This codec, at a fast level.
impl From<Codec> for Compression {
    fn from(codec: Codec) -> Self {
        Compression::By(codec, None)
    }
}

polyhaul_model::options! {
    /// Options for writing.
    #[derive(Clone, Debug)]
    pub struct WriteOptions {
        /// The format. `None` infers it from the output's name.
        pub format: Option<crate::format::Format> = None, with_format;
        /// Threads, memory, cancellation, progress.
        pub run: RunOptions = RunOptions::default(), with_run;
        /// Treat every warning from writing as an error, such as the warning about a part of the model that the format
        /// cannot store. An existing file is left untouched. The kind is
        /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
        pub strict: bool = false, with_strict;
        /// How to compress the file (by default, inferred from its name).
        pub compression: Compression = Compression::default(), with_compression;
        /// Make the file durable: fsync the file, rename it, fsync the folder.
        pub durable: bool = false, with_durable;
        /// Hash what is written: see [`FileWritten::hash`](crate::report::FileWritten::hash).
        pub hash: bool = false, with_hash;
        /// Limits on the scene; only the limits on instances apply here. A conversion uses the limits from the read
        /// options.
        pub limits: Limits = Limits::default(), with_limits;
        /// Copy the files that the asset refers to (textures, meshes, spectra) into the output's folder, and refer to
        /// the copies. The copies are written first and the main file last; copies never overwrite existing files.
        /// Files outside the source's folder are copied only if the asset was read with [`ReadOptions::allow_outside`].
        pub copy_assets: bool = false, with_copy_assets;
        /// How to write the instances of a renderer scene (by default, as the format allows).
        pub instances: Instances = Instances::default(), with_instances;
        /// Options for writing OBJ.
        pub obj: ObjWriteOptions = ObjWriteOptions::default(), with_obj;
        /// Options for writing PLY.
        pub ply: PlyWriteOptions = PlyWriteOptions::default(), with_ply;
        /// Options for writing STL.
        pub stl: StlWriteOptions = StlWriteOptions::default(), with_stl;
        /// Options for writing Gaussian splats.
        pub splats: SplatWriteOptions = SplatWriteOptions::default(), with_splats;
        /// Options for writing glTF.
        pub gltf: GltfWriteOptions = GltfWriteOptions::default(), with_gltf;
        /// Options for writing numeric tables.
        pub table: TableWriteOptions = TableWriteOptions::default(), with_table;
        /// Options for writing pbrt scenes.
        pub pbrt: PbrtWriteOptions = PbrtWriteOptions::default(), with_pbrt;
        /// Options for writing images.
        pub image: ImageWriteOptions = ImageWriteOptions::default(), with_image;
    }
}

impl WriteOptions {
    /// Sets the digits for every number written as text, whatever the format: positions, uvs, normals and colors in
    /// OBJ, and floats in PLY, STL and tables. To override the digits of a single attribute or column, set them after
    /// calling this method.
    ///
    /// ```
    /// use polyhaul::WriteOptions;
    /// use polyhaul::options::Digits;
    ///
    /// let options = WriteOptions::default().with_digits(Digits::Fixed(3));
    /// assert_eq!((options.obj.normal_digits, options.table.digits), (Digits::Fixed(3), Digits::Fixed(3)));
    /// ```
    #[must_use]
    pub fn with_digits(mut self, digits: Digits) -> Self {
        let ObjWriteOptions { position_digits, uv_digits, normal_digits, color_digits, .. } = &mut self.obj;
        for place in [position_digits, uv_digits, normal_digits, color_digits] {
            *place = digits;
        }
        (self.ply.digits, self.stl.digits, self.table.digits) = (digits, digits, digits);
        self.table.column_digits.clear();
        self
    }
}

impl WriteOptions {
    /// How files are written.
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
        ParseOptions { run: self.run.clone(), limits: self.limits, faults: self.faults(), own: () }
    }

    /// What to do about invalid data.
    pub(crate) fn faults(&self) -> FaultPolicy {
        FaultPolicy { on_error: self.on_error, strict: self.strict }
    }
}

impl std::fmt::Debug for Resolve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Resolve")
    }
}
