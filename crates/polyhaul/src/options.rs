//! What a caller can ask for when reading and writing, with the defaults.

pub use polyhaul_bytes::{Codec, Throttle};
pub use polyhaul_image::options::{ImageReadOptions, ImageWriteOptions, PngLevel};
pub use polyhaul_mesh::options::{
    ColumnName, ColumnTypes, Delimiter, Digits, MissingValue, ObjWriteOptions, Placement, PlyEncoding, PlyWriteOptions,
    Smoothing, StlReadOptions, StlWriteOptions, TableHeader, TableReadOptions, TableWriteOptions,
};
pub use polyhaul_model::limits::{FaultPolicy, Limits, OnError};
pub use polyhaul_model::{Axes, Axis};
#[cfg(feature = "pbrt")]
pub use polyhaul_pbrt::options::{Instances, PbrtMeshes, PbrtWriteOptions};
pub use polyhaul_pipeline::options::{Cancel, ParseOptions, Progress, RunOptions, RunTasks, ThreadPool};
use std::sync::Arc;

polyhaul_model::options! {
    /// How to read.
    #[derive(Clone, Debug)]
    pub struct ReadOptions {
        /// The format; found by the file's name, or by its content where that says nothing, when `None`.
        pub format: Option<crate::format::Format> = None, with_format;
        /// Threads, memory, cancellation, progress.
        pub run: RunOptions = RunOptions::default(), with_run;
        /// What to do with data that breaks its format's rules.
        pub on_error: OnError = OnError::Raise, with_on_error;
        /// Treat warnings as errors.
        pub strict: bool = false, with_strict;
        /// What the data may ask for.
        pub limits: Limits = Limits::default(), with_limits;
        /// Whether files that a scene refers to may lie outside of the scene's folder.
        pub allow_outside: bool = false, with_allow_outside;
        /// Whether to read the material libraries that a scene names.
        pub load_materials: bool = true, with_load_materials;
        /// Whether to read the meshes that shapes of a scene name (pbrt). Otherwise only their names are kept.
        pub load_meshes: bool = true, with_load_meshes;
        /// Who is asked for the files that a scene refers to, before the file system is.
        pub resolver: Option<Resolve> = None, with_resolver;
        /// How STL is read.
        pub stl: StlReadOptions = StlReadOptions::default(), with_stl;
        /// How tables of numbers are read.
        pub table: TableReadOptions = TableReadOptions::default(), with_table;
        /// Which image is read of a file that holds many.
        pub image: ImageReadOptions = ImageReadOptions::default(), with_image;
    }
}

/// A callback that is asked by name for every file that a scene refers to: what it gives is read in place of a file
/// beside the scene. `None` means that the name is not its business: then the file is looked for beside the scene,
/// where that is a file.
///
/// The name is as the scene has it, and may be hostile. An error ends the reading with
/// [`crate::ErrorKind::Host`], and is in [`crate::Error::io_error`] as it came; so are the errors of a reader that
/// it gives. A path that it gives must be that of a regular file, but may lie anywhere.
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

/// What a [`Resolve`] answers: what is to be read for a name, or `None` for a name that is not its business.
pub type Resolved = std::io::Result<Option<crate::input::Input>>;

/// How a file is compressed. Levels are on the codec's own scale (gzip 1 to 12, zstd 1 to 22, lz4 has one); `None` is a
/// fast one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// As the target's name says (`.gz`, `.bgz`, `.zst`, `.lz4`), at this level. A level is an error where the name
    /// says nothing.
    ByName(Option<i32>),
    /// Not at all, whatever the name says.
    None,
    /// By this codec at this level, whatever the name says.
    By(Codec, Option<i32>),
}

/// As the target's name says.
impl Default for Compression {
    fn default() -> Self {
        Compression::ByName(None)
    }
}

/// By the codec, at a fast level.
impl From<Codec> for Compression {
    fn from(codec: Codec) -> Self {
        Compression::By(codec, None)
    }
}

polyhaul_model::options! {
    /// How to write.
    #[derive(Clone, Debug)]
    pub struct WriteOptions {
        /// The format; found by name when `None`.
        pub format: Option<crate::format::Format> = None, with_format;
        /// Threads, memory, cancellation, progress.
        pub run: RunOptions = RunOptions::default(), with_run;
        /// Make an error of each warning that writing gives, such as that for a part of the model that the format
        /// cannot store. An old file stays as it was. The kind is
        /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
        pub strict: bool = false, with_strict;
        /// How the file is compressed (as its name says).
        pub compression: Compression = Compression::default(), with_compression;
        /// Make the file durable: fsync the file, rename it, fsync the folder.
        pub durable: bool = false, with_durable;
        /// What the scene may ask for; of these the limits on instances count. A conversion takes those of the options
        /// for reading.
        pub limits: Limits = Limits::default(), with_limits;
        /// Copy the files that the asset refers to (textures, meshes, spectra) into the output's folder, and refer to
        /// the copies. The copies appear first, the main file last; no existing file is replaced. Files outside the
        /// source's folder are copied only if [`ReadOptions::allow_outside`] was set when it was read.
        pub copy_assets: bool = false, with_copy_assets;
        /// What becomes of the instances of a scene for a renderer (as the format can).
        #[cfg(feature = "pbrt")]
        pub instances: Instances = Instances::default(), with_instances;
        /// How OBJ is written.
        pub obj: ObjWriteOptions = ObjWriteOptions::default(), with_obj;
        /// How PLY is written.
        pub ply: PlyWriteOptions = PlyWriteOptions::default(), with_ply;
        /// How STL is written.
        pub stl: StlWriteOptions = StlWriteOptions::default(), with_stl;
        /// How tables of numbers are written.
        pub table: TableWriteOptions = TableWriteOptions::default(), with_table;
        /// How pbrt scenes are written.
        #[cfg(feature = "pbrt")]
        pub pbrt: PbrtWriteOptions = PbrtWriteOptions::default(), with_pbrt;
        /// How images are written.
        pub image: ImageWriteOptions = ImageWriteOptions::default(), with_image;
    }
}

impl WriteOptions {
    /// The same options with these digits for every number that is written as text, whatever the format: positions,
    /// uvs, normals and colours of OBJ, floats of PLY, STL and tables. Digits of single attributes or columns are set
    /// after it.
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

impl ReadOptions {
    /// Whether a broken statement ends the reading.
    pub(crate) fn raises(&self) -> bool {
        self.faults().raises()
    }

    /// Those that the reader of every format takes.
    pub(crate) fn parse_options(&self) -> ParseOptions {
        ParseOptions { run: self.run.clone(), limits: self.limits, faults: self.faults(), own: () }
    }

    /// What to do with faults in the data.
    pub(crate) fn faults(&self) -> FaultPolicy {
        FaultPolicy { on_error: self.on_error, strict: self.strict }
    }
}

impl std::fmt::Debug for Resolve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Resolve")
    }
}
