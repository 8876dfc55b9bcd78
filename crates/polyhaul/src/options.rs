//! What a caller can ask for when reading and writing, with the defaults.

mod image;
mod pbrt;
mod table;

pub use crate::model::{Axes, Axis};
pub use image::{ImageReadOptions, ImageStyle, PngLevel};
pub use pbrt::{Instances, PbrtMeshes, PbrtStyle};
use polyhaul_bytes::trace::{self, Trace};
pub use polyhaul_bytes::{Codec, Throttle};
use polyhaul_bytes::{Sink, Source};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
pub use table::{ColumnName, Delimiter, Header, Missing, TableOptions, TableStyle, Types};

/// How to read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The format; found by the file's name, or by its content where that says nothing, when `None`.
    pub format: Option<crate::Format>,
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

/// How STL is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StlReadOptions {
    /// Make positions with the same coordinates one. Otherwise each triangle has three of its own, as in the file.
    pub weld: bool,
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
pub type Resolved = std::io::Result<Option<crate::Input>>;

/// What reading does when data breaks the rules of its format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Stop with the first error, by position.
    #[default]
    Raise,
    /// Leave the broken statement out, count it as a warning, and go on.
    Warn,
}

/// The caller's caps. Passing one is an error that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest logical line, in bytes (default 256 MiB, at most 1 GiB); of pbrt, the longest text from one line
    /// that begins with a directive to the next. It counts on top of the memory limit.
    pub line_bytes: u64,
    /// The longest name of an object, group, material or file, in bytes (default 64 KiB).
    pub name_bytes: u64,
    /// The most elements of each kind (default 2^32 - 2, which the index type sets).
    pub elements: u64,
    /// The maximum number of objects, and of distinct groups, that an OBJ file declares (default 1,000,000). An empty
    /// object takes about 250 bytes of memory.
    pub objects: u64,
    /// The maximum number of materials that an OBJ file uses, or a material library defines (default 100,000). A
    /// material takes about 700 bytes of memory.
    pub materials: u64,
    /// The maximum pixels of an image, or of all pictures of a texture (default 2^28: 16,384 x 16,384). Of an image
    /// with more than four channels each four count as a picture.
    pub pixels: u64,
    /// The maximum bytes of pixels per byte of a compressed image file, checked for images that take more than 512 MiB
    /// in memory (default 100).
    pub image_ratio: u64,
    /// The most columns of a table (default 100,000).
    pub columns: u64,
    /// The most elements and properties, in all, that the header of a PLY file declares (default 10,000). A few hundred
    /// bytes belong to each.
    pub properties: u64,
    /// The longest header of a PLY or EXR file, in bytes (default 8 MiB).
    pub header_bytes: u64,
    /// The most files that one scene may refer to (default 10,000). Of pbrt each Include and Import counts, also of a
    /// file that was there before: it is read each time.
    pub files: u64,
    /// Max bytes of text that a pbrt scene may read again, decompressed: of each Include and Import of a file that was
    /// read before (default 256 MiB). The scene's files, each once, may always be read as often again.
    pub included_bytes: u64,
    /// Max vertices, and max faces, that the instances of a scene may multiply its meshes to where a format without
    /// instances is written (default 1,000,000,000). Meshes that are not repeated do not count.
    pub instanced_elements: u64,
    /// Max objects that the instances of a scene may multiply to where they become objects or shapes of their own
    /// (default 10,000,000).
    pub instanced_objects: u64,
    /// The largest file that a scene refers to, in bytes, plain where it is compressed (default 64 MiB).
    pub referenced_file_bytes: u64,
    /// The most plain bytes that a compressed input may unpack to (default: no limit).
    pub decompressed_bytes: u64,
    /// The most plain bytes per compressed byte, looked at once 64 MiB came out (default 2000, which no gzip and
    /// no lz4 can reach).
    pub decompressed_ratio: u64,
}

/// How to run: shared by reading and writing.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Worker threads; all cores that the process may use when `None`.
    pub threads: Option<usize>,
    /// Memory for work in flight, in bytes (default 64 MiB). The model's arrays come on top. A compressed input
    /// that needs a window of more than this is refused.
    pub memory_limit: u64,
    /// About how many bytes of text a chunk has; chosen by measurement when `None`. No result depends
    /// on it. Of compressed files with many members each member is a chunk.
    pub chunk_bytes: Option<usize>,
    /// Ask for a stop.
    pub cancel: Cancel,
    /// Called now and then from a worker thread. Of a compressed input it counts compressed bytes.
    pub progress: Option<Progress>,
    /// Who runs the workers of reading, writing and converting; threads of our own, started for the job, when `None`.
    pub pool: Option<ThreadPool>,
    /// Records what the job did when, if somebody asks (nobody). Of a conversion it is that of the options for reading.
    pub trace: Option<Trace>,
    /// Read as from a slower device: everything that is opened shares this rate, files that a scene names included.
    /// Of what is compressed that is the rate of the compressed bytes. No result depends on it, and a job that is
    /// cancelled is not held up by it.
    ///
    /// ```
    /// use polyhaul::options::{RunOptions, Throttle};
    /// use polyhaul::{Input, ReadOptions, load};
    /// use std::time::{Duration, Instant};
    ///
    /// let slow = Throttle::new(Some(10_000_000), Duration::from_micros(100));
    /// let run = RunOptions { read_throttle: Some(slow), ..RunOptions::default() };
    /// let options = ReadOptions { run, ..ReadOptions::default() };
    /// let (text, begin) = (b"v 0 0 0\n".repeat(10_000), Instant::now());
    /// let loaded = load(Input::Memory(text, "points.obj".into()), &options)?;
    /// assert_eq!(loaded.scene.meshes[0].positions.len(), 10_000);
    /// assert!(begin.elapsed() >= Duration::from_millis(8));
    /// # Ok::<(), polyhaul::Error>(())
    /// ```
    pub read_throttle: Option<Throttle>,
    /// Write as to a slower device, likewise.
    pub write_throttle: Option<Throttle>,
}

/// A flag that stops a job: clone it, keep one, call [`Cancel::cancel`].
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

/// A progress callback: bytes done, and bytes in all where that is known.
#[derive(Clone)]
pub struct Progress(pub Arc<dyn Fn(u64, Option<u64>) + Send + Sync>);

impl Progress {
    /// Tells the caller, in time that is its own.
    pub(crate) fn tell(&self, done: u64, all: Option<u64>) {
        let _span = trace::callback();
        (self.0)(done, all);
    }
}

/// The caller's own threads: called with a count and a task, it runs the task for every index below the count, in any
/// order, side by side or one after another, and returns when all are done. Nothing depends on how many of them run at
/// once; a task must not be left waiting for one behind it.
///
/// A task that the pool leaves out is done by whoever called it, and its panics come out there.
///
/// ```
/// use polyhaul::options::{RunOptions, ThreadPool};
/// use polyhaul::{Input, ReadOptions, load};
/// use std::sync::Arc;
///
/// let alone = ThreadPool(Arc::new(|count, task| (0..count).for_each(task)));
/// let run = RunOptions { threads: Some(4), pool: Some(alone), ..RunOptions::default() };
/// let options = ReadOptions { run, ..ReadOptions::default() };
/// let text = b"v 0 0 0\n".repeat(1000);
/// let loaded = load(Input::Memory(text, "points.obj".into()), &options)?;
/// assert_eq!(loaded.scene.meshes[0].positions.len(), 1000);
/// # Ok::<(), polyhaul::Error>(())
/// ```
#[derive(Clone)]
pub struct ThreadPool(pub Arc<RunTasks>);

/// What a [`ThreadPool`] is called with: a count, and a task that takes an index.
pub type RunTasks = dyn Fn(usize, &(dyn Fn(usize) + Sync)) + Send + Sync;

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
    pub format: Option<crate::Format>,
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

/// What is done to a scene on its way into a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// The axes that the file is to have; `None` (the default) leaves coordinates as they are.
    pub axes: Option<Axes>,
    /// Multiplies positions (1).
    pub global_scale: f32,
    /// Cut faces into triangles.
    pub export_triangulated_mesh: bool,
}

/// How PLY is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlyOptions {
    /// Axes, scale, triangles.
    pub placement: Placement,
    /// How numbers are stored (little-endian).
    pub encoding: PlyEncoding,
    /// Digits of floats in text (the fewest that read back as the same number).
    pub digits: Digits,
    /// Write uvs, as `s` and `t`.
    pub export_uv: bool,
    /// Write normals, as `nx`, `ny` and `nz`.
    pub export_normals: bool,
    /// Write vertex colours where there are any, as `red`, `green`, `blue` and, where it is not 1 for all, `alpha`.
    pub export_colors: bool,
    /// Write colours as floats from 0 to 1 and not as bytes.
    pub float_colors: bool,
}

/// How numbers are stored in a PLY file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlyEncoding {
    /// As text.
    Ascii,
    /// As bytes, the lowest first.
    #[default]
    LittleEndian,
    /// As bytes, the highest first.
    BigEndian,
}

/// How STL is written. Faces always become triangles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StlOptions {
    /// Axes and scale.
    pub placement: Placement,
    /// Write text and not 50 bytes per triangle.
    pub ascii: bool,
    /// Digits of numbers in text (the fewest that read back as the same number).
    pub digits: Digits,
}

/// How numbers become text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// This many digits after the point, 0 to 12: the bytes of C's `%.Nf`.
    Fixed(u8),
    /// The fewest digits that read back as the same number.
    Shortest,
}

/// What `s` says of a face.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Smoothing {
    /// 1 for smooth, 0 for flat.
    #[default]
    Flags,
    /// The number of its smoothing group: smooth faces that hang together over edges that are not
    /// sharp.
    Groups,
    /// A bit that no other group at the same positions has.
    BitFlags,
}

/// How OBJ is written. The defaults are Blender's dialect: what Blender wrote comes back byte for byte.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjOptions {
    /// Digits of positions (6).
    pub position_digits: Digits,
    /// Digits of uvs (6).
    pub uv_digits: Digits,
    /// Digits of normals (4).
    pub normal_digits: Digits,
    /// Digits of colours (4).
    pub color_digits: Digits,
    /// The axis that faces forward (-Z, as in the files that Blender writes by default).
    pub forward_axis: Axis,
    /// The axis that points up (Y).
    pub up_axis: Axis,
    /// Multiplies positions (1).
    pub global_scale: f32,
    /// Write uvs.
    pub export_uv: bool,
    /// Write normals.
    pub export_normals: bool,
    /// Write vertex colours where there are any.
    pub export_colors: bool,
    /// Write `usemtl` and the material library.
    pub export_materials: bool,
    /// Write the PBR extensions of materials.
    pub export_pbr_extensions: bool,
    /// Cut faces into triangles.
    pub export_triangulated_mesh: bool,
    /// Write `g NAME` in place of `o NAME`.
    pub export_object_groups: bool,
    /// Write `g OBJECT_MATERIAL` before each `usemtl`.
    pub export_material_groups: bool,
    /// Write the groups that faces are in (`g`).
    pub export_groups: bool,
    /// Write the vertex group that each face is in for the most part (`g`), of meshes that have such.
    pub export_vertex_groups: bool,
    /// Write smoothing (`s`).
    pub export_smooth_groups: bool,
    /// What `s` says of faces that are smooth or flat.
    pub smoothing: Smoothing,
    /// Write free-form curves.
    pub export_curves: bool,
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
        self.strict || self.on_error == OnError::Raise
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            line_bytes: 256 << 20,
            name_bytes: 64 << 10,
            elements: u64::from(u32::MAX) - 1,
            objects: 1_000_000,
            materials: 100_000,
            pixels: 1 << 28,
            image_ratio: 100,
            columns: 100_000,
            properties: 10_000,
            header_bytes: 8 << 20,
            files: 10_000,
            included_bytes: 256 << 20,
            instanced_elements: 1_000_000_000,
            instanced_objects: 10_000_000,
            referenced_file_bytes: 64 << 20,
            decompressed_bytes: u64::MAX,
            decompressed_ratio: 2000,
        }
    }
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            threads: None,
            memory_limit: 64 << 20,
            chunk_bytes: None,
            cancel: Cancel::default(),
            progress: None,
            pool: None,
            trace: None,
            read_throttle: None,
            write_throttle: None,
        }
    }
}

impl Default for Placement {
    fn default() -> Self {
        Placement { axes: None, global_scale: 1.0, export_triangulated_mesh: false }
    }
}

impl Default for PlyOptions {
    fn default() -> Self {
        PlyOptions {
            placement: Placement::default(),
            encoding: PlyEncoding::default(),
            digits: Digits::Shortest,
            export_uv: true,
            export_normals: true,
            export_colors: true,
            float_colors: false,
        }
    }
}

impl Default for StlOptions {
    fn default() -> Self {
        StlOptions { placement: Placement::default(), ascii: false, digits: Digits::Shortest }
    }
}

impl ObjOptions {
    /// Axes, scale, triangles.
    pub fn placement(&self) -> Placement {
        Placement {
            axes: Some(Axes { forward: self.forward_axis, up: self.up_axis }),
            global_scale: self.global_scale,
            export_triangulated_mesh: self.export_triangulated_mesh,
        }
    }
}

impl Default for ObjOptions {
    fn default() -> Self {
        ObjOptions {
            position_digits: Digits::Fixed(6),
            uv_digits: Digits::Fixed(6),
            normal_digits: Digits::Fixed(4),
            color_digits: Digits::Fixed(4),
            forward_axis: Axis::NegativeZ,
            up_axis: Axis::Y,
            global_scale: 1.0,
            export_uv: true,
            export_normals: true,
            export_colors: true,
            export_materials: true,
            export_pbr_extensions: true,
            export_triangulated_mesh: false,
            export_object_groups: false,
            export_material_groups: false,
            export_groups: true,
            export_vertex_groups: false,
            export_smooth_groups: true,
            smoothing: Smoothing::Flags,
            export_curves: true,
        }
    }
}

impl RunOptions {
    /// The threads to use: what was asked for, or as many as the process may run side by side
    /// (which respects CPU affinity and, on Linux, control groups). From 1 to 1024.
    pub fn worker_threads(&self) -> usize {
        // Asked once: on Linux the system's answer takes reading several files, and scenes of
        // thousands of meshes would ask for each of them.
        static AVAILABLE: OnceLock<usize> = OnceLock::new();
        let available = || *AVAILABLE.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
        self.threads.unwrap_or_else(available).clamp(1, 1024)
    }

    /// What was opened for reading, as fast as it may be read.
    pub(crate) fn paced_source<'a>(&self, source: Source<'a>) -> Source<'a> {
        match &self.read_throttle {
            Some(throttle) => source.throttled(&throttle.until(self.cancel.flag())),
            None => source,
        }
    }

    /// What was opened for writing, as fast as it may be written.
    pub(crate) fn paced_sink<'a>(&self, sink: Sink<'a>) -> Sink<'a> {
        match &self.write_throttle {
            Some(throttle) => sink.throttled(&throttle.until(self.cancel.flag())),
            None => sink,
        }
    }
}

impl Cancel {
    /// Ask for a stop; it takes effect at the next chunk.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for signal handlers.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }
}

impl std::fmt::Debug for Resolve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Resolve")
    }
}

impl std::fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ThreadPool")
    }
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Progress")
    }
}
