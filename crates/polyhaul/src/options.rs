//! What a caller can ask for when reading and writing, with the defaults.

pub use polyhaul_bytes::{Codec, Throttle};
pub use polyhaul_image::options::{ImageReadOptions, ImageStyle, PngLevel};
pub use polyhaul_mesh::options::{
    ColumnName, Delimiter, Digits, Header, Missing, ObjOptions, Placement, PlyEncoding, PlyOptions, Smoothing,
    StlOptions, StlReadOptions, TableOptions, TableStyle, Types,
};
pub use polyhaul_model::limits::{FaultPolicy, Limits, OnError};
pub use polyhaul_model::{Axes, Axis};
pub use polyhaul_pbrt::options::{Instances, PbrtMeshes, PbrtStyle};
pub use polyhaul_pipeline::options::{Cancel, ParseOptions, Progress, RunOptions, RunTasks, ThreadPool};
use std::sync::Arc;

/// How to read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The format; found by the file's name, or by its content where that says nothing, when `None`.
    pub format: Option<crate::format::Format>,
    /// Threads, memory, cancellation, progress.
    pub run: RunOptions,
    /// What to do with data that breaks its format's rules.
    pub on_error: OnError,
    /// Treat warnings as errors.
    pub strict: bool,
    /// What the data may ask for.
    pub limits: Limits,
    /// Whether files that a scene refers to may lie outside of the scene's folder.
    pub allow_outside: bool,
    /// Whether to read the material libraries that a scene names.
    pub load_materials: bool,
    /// Whether to read the meshes that shapes of a scene name (pbrt). Otherwise only their names are kept.
    pub load_meshes: bool,
    /// Who is asked for the files that a scene refers to, before the file system is.
    pub resolver: Option<Resolve>,
    /// How STL is read.
    pub stl: StlReadOptions,
    /// How tables of numbers are read.
    pub table: TableOptions,
    /// Which image is read of a file that holds many.
    pub image: ImageReadOptions,
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
/// use polyhaul::{Input, ReadOptions, load};
/// use std::sync::Arc;
///
/// let paint = |name: &str| match name {
///     "paint.mtl" => Ok(Some(Input::Memory(b"newmtl red\nKd 1 0 0\n".to_vec(), name.into()))),
///     _ => Ok(None),
/// };
/// let options = ReadOptions { resolver: Some(Resolve(Arc::new(paint))), ..ReadOptions::default() };
/// let text = b"mtllib paint.mtl\nusemtl red\n".to_vec();
/// let loaded = load(Input::Memory(text, "scene.obj".into()), &options)?;
/// assert!(!loaded.scene.materials[0].missing);
/// # Ok::<(), polyhaul::Error>(())
/// ```
#[derive(Clone)]
pub struct Resolve(pub Arc<dyn Fn(&str) -> Resolved + Send + Sync>);

/// What a [`Resolve`] answers: what is to be read for a name, or `None` for a name that is not its business.
pub type Resolved = std::io::Result<Option<crate::input::Input>>;

/// How a file is compressed. Levels are on the codec's own scale (gzip 1 to 12, zstd 1 to 22, lz4 has one); `None` is a
/// fast one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// How to write.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// The format; found by name when `None`.
    pub format: Option<crate::format::Format>,
    /// Threads, memory, cancellation, progress.
    pub run: RunOptions,
    /// Make an error of each warning that writing gives, such as that for a part of the model that the format cannot
    /// store. An old file stays as it was. The kind is [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
    pub strict: bool,
    /// How the file is compressed (as its name says).
    pub compression: Compression,
    /// Make the file durable: fsync the file, rename it, fsync the folder.
    pub durable: bool,
    /// What the scene may ask for; of these the limits on instances count. A conversion takes those of the options for
    /// reading.
    pub limits: Limits,
    /// Copy the files that the asset refers to (textures, meshes, spectra) into the output's folder, and refer to the
    /// copies. The copies appear first, the main file last; no existing file is replaced. Files outside the source's
    /// folder are copied only if [`ReadOptions::allow_outside`] was set when it was read.
    pub copy_assets: bool,
    /// What becomes of the instances of a scene for a renderer (as the format can).
    pub instances: Instances,
    /// How OBJ is written.
    pub obj: ObjOptions,
    /// How PLY is written.
    pub ply: PlyOptions,
    /// How STL is written.
    pub stl: StlOptions,
    /// How tables of numbers are written.
    pub table: TableStyle,
    /// How pbrt scenes are written.
    pub pbrt: PbrtStyle,
    /// How images are written.
    pub image: ImageStyle,
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
        let ObjOptions { position_digits, uv_digits, normal_digits, color_digits, .. } = &mut self.obj;
        for place in [position_digits, uv_digits, normal_digits, color_digits] {
            *place = digits;
        }
        (self.ply.digits, self.stl.digits, self.table.digits) = (digits, digits, digits);
        self.table.column_digits.clear();
        self
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            format: None,
            run: RunOptions::default(),
            on_error: OnError::Raise,
            strict: false,
            limits: Limits::default(),
            allow_outside: false,
            load_materials: true,
            load_meshes: true,
            resolver: None,
            stl: StlReadOptions::default(),
            table: TableOptions::default(),
            image: ImageReadOptions::default(),
        }
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
