//! How to read and write: structs whose zeros are the defaults.

use crate::callbacks;
use crate::error::{guard, ph_status};
use crate::raw::{self, Record, handle, usage};
use crate::source::ph_input;
use polyhaul::options::{
    Axes, Axis, Cancel, Compression, Digits, ImageReadOptions, Instances, Limits, OnError, ReadOptions, RunOptions,
    Throttle, WriteOptions,
};
use polyhaul::{Error, Format, Result};
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::time::Duration;

/// A file format; 0 infers it from the file name, and when reading also from the content.
pub type ph_format = u32;

/// According to the name and the content.
pub const PH_FORMAT_AUTO: ph_format = 0;
/// Wavefront OBJ, with its material library.
pub const PH_FORMAT_OBJ: ph_format = 1;
/// PLY.
pub const PH_FORMAT_PLY: ph_format = 2;
/// STL.
pub const PH_FORMAT_STL: ph_format = 3;
/// pbrt-v4 scenes.
pub const PH_FORMAT_PBRT: ph_format = 4;
/// Numbers parted by commas.
pub const PH_FORMAT_CSV: ph_format = 5;
/// Numbers parted by tabs.
pub const PH_FORMAT_TSV: ph_format = 6;
/// Numbers separated by blanks, or as the first rows suggest.
pub const PH_FORMAT_TXT: ph_format = 7;
/// Points as lines of x, y, z and more.
pub const PH_FORMAT_XYZ: ph_format = 8;
/// Points after a line with their count.
pub const PH_FORMAT_PTS: ph_format = 9;
/// An array of numpy.
pub const PH_FORMAT_NPY: ph_format = 10;
/// TGA.
pub const PH_FORMAT_TGA: ph_format = 11;
/// Radiance HDR.
pub const PH_FORMAT_HDR: ph_format = 12;
/// PNG.
pub const PH_FORMAT_PNG: ph_format = 13;
/// JPEG.
pub const PH_FORMAT_JPEG: ph_format = 14;
/// OpenEXR.
pub const PH_FORMAT_EXR: ph_format = 15;
/// Windows bitmaps; read only.
pub const PH_FORMAT_BMP: ph_format = 16;
/// Photoshop documents; read only.
pub const PH_FORMAT_PSD: ph_format = 17;
/// DDS textures.
pub const PH_FORMAT_DDS: ph_format = 18;
/// KTX 2 textures.
pub const PH_FORMAT_KTX2: ph_format = 19;
/// OFF, the object file format of Geomview.
pub const PH_FORMAT_OFF: ph_format = 20;
/// glTF 2.0, as .glb or, by the name of the output, as .gltf.
pub const PH_FORMAT_GLB: ph_format = 21;
/// SPZ, compressed Gaussian splats.
pub const PH_FORMAT_SPZ: ph_format = 22;
/// Gaussian splats as rows of 32 bytes.
pub const PH_FORMAT_SPLAT: ph_format = 23;
/// Compressed PLY, Gaussian splats as integers.
pub const PH_FORMAT_COMPRESSED_PLY: ph_format = 24;
/// SOG, Gaussian splats as images; it is read-only.
pub const PH_FORMAT_SOG: ph_format = 25;

/// The formats in the order of their numbers, which never change: that of the registry, which grows at its end.
const FORMATS: &[Format] = &Format::ALL;

/// The direction of an axis; 0 means the default.
pub type ph_axis = u32;

/// Along x.
pub const PH_AXIS_X: ph_axis = 1;
/// Along y.
pub const PH_AXIS_Y: ph_axis = 2;
/// Along z.
pub const PH_AXIS_Z: ph_axis = 3;
/// Against x.
pub const PH_AXIS_NEGATIVE_X: ph_axis = 4;
/// Against y.
pub const PH_AXIS_NEGATIVE_Y: ph_axis = 5;
/// Against z.
pub const PH_AXIS_NEGATIVE_Z: ph_axis = 6;

const AXES: [Axis; 6] = [Axis::X, Axis::Y, Axis::Z, Axis::NegativeX, Axis::NegativeY, Axis::NegativeZ];

/// How a file is compressed.
pub type ph_compression = u32;

/// Inferred from the name of the output.
pub const PH_COMPRESSION_BY_NAME: ph_compression = 0;
/// Not at all.
pub const PH_COMPRESSION_NONE: ph_compression = 1;
/// gzip, levels 1 to 12.
pub const PH_COMPRESSION_GZIP: ph_compression = 2;
/// zstd, levels 1 to 22.
pub const PH_COMPRESSION_ZSTD: ph_compression = 3;
/// lz4; it has one level.
pub const PH_COMPRESSION_LZ4: ph_compression = 4;

/// How glTF stores objects that share a mesh.
pub type ph_gltf_instances = u8;

/// As instances if no name is lost by that, else as nodes.
pub const PH_GLTF_INSTANCES_AUTO: ph_gltf_instances = 0;
/// As instances, whatever their names are.
pub const PH_GLTF_INSTANCES_GPU: ph_gltf_instances = 1;
/// As a node each.
pub const PH_GLTF_INSTANCES_NODES: ph_gltf_instances = 2;

/// How numbers become text: 0 for the format's default, PH_DIGITS_SHORTEST, or PH_DIGITS_FIXED plus 0 to 12.
pub type ph_digits = u32;

/// The fewest digits that read back as the same number.
pub const PH_DIGITS_SHORTEST: ph_digits = 1;
/// Plus a number from 0 to 12: this many digits after the point, as by `%.Nf`.
pub const PH_DIGITS_FIXED: ph_digits = 256;

/// Called every few megabytes with the number of bytes done and the total (PH_UNKNOWN if unknown). It is
/// called from threads of the job, one call at a time, and `done` never goes back. Short jobs may not call it at all.
///
/// Returns 0 to continue; anything else cancels the job, like ph_cancel_request with the flag of its options.
pub type ph_progress_fn = Option<unsafe extern "C" fn(user: *mut c_void, done: u64, total: u64) -> i32>;

/// Called with the name of each file that a scene refers to (material libraries, included files, meshes), before the
/// file system is searched. It may be called from any thread of the job.
///
/// `name` comes from the scene unchanged and may be hostile; it is valid until the call returns. `answer` is zeroed,
/// with its size set.
///
/// Returns 0 after filling in `answer`; a positive number to decline: then the file is searched next to the scene, if
/// the scene is a file; a negative number for an error (PH_ERROR_HOST).
pub type ph_resolve_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, name: *const c_char, answer: *mut ph_input) -> i32>;

/// A task for a thread pool to run. It does not throw.
pub type ph_task_fn = Option<unsafe extern "C" fn(context: *mut c_void, index: usize)>;

/// The host's own threads: it runs `task(context, index)` for every index below `count`, in any order, in
/// parallel or one after another, and returns when all are done. A task may call the pool again.
///
/// The result does not depend on how many of them run at once. The calling thread does the tasks that the pool skips; a
/// call of `task` after the pool returned does nothing, or helps with later work.
pub type ph_pool_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, count: usize, task: ph_task_fn, context: *mut c_void)>;

/// Limits on what the data may request. 0 is the default; exceeding a limit is PH_ERROR_LIMIT, and the message names
/// it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_limits {
    /// The longest line, in bytes (default 256 MiB).
    pub line_bytes: u64,
    /// The longest name of an object, group, material or file, in bytes (default 64 KiB).
    pub name_bytes: u64,
    /// The most elements of each kind (default 2^32 - 2).
    pub elements: u64,
    /// The maximum pixels of an image (default 2^28).
    pub pixels: u64,
    /// The most columns of a table (default 100,000).
    pub columns: u64,
    /// The most elements and properties of a PLY header (default 10,000).
    pub properties: u64,
    /// The longest header of a PLY file, in bytes (default 8 MiB).
    pub header_bytes: u64,
    /// The maximum number of files that one scene may refer to (default 10,000).
    pub files: u64,
    /// The largest file that a scene refers to, in plain bytes (default 64 MiB).
    pub referenced_file_bytes: u64,
    /// The maximum number of plain bytes that a compressed input may expand to (default: no limit).
    pub decompressed_bytes: u64,
    /// The maximum number of plain bytes per compressed byte, checked after 64 MiB of output (default 2000).
    pub decompressed_ratio: u64,
    /// The maximum bytes of pixels per byte of a compressed image file, for images of more than 512 MiB (default 100).
    pub image_ratio: u64,
}

/// How to read. All zeros, except for `struct_size`, are the defaults; so is a null pointer to it.
///
///     ph_read_options options = {.struct_size = sizeof options};
///     options.threads = 4;
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_read_options {
    /// `sizeof(ph_read_options)`.
    pub struct_size: usize,
    /// The format; PH_FORMAT_AUTO detects it.
    pub format: ph_format,
    /// Threads, up to 1024; 0 for all cores that the process may use. With a pool: how many tasks it receives.
    pub threads: u32,
    /// Memory for work in flight, in bytes (default 64 MiB), in addition to the loaded data.
    pub memory_limit: u64,
    /// Cancels the job from another thread. May be null.
    pub cancel: *const ph_cancel,
    /// See ph_progress_fn. May be null.
    pub progress: ph_progress_fn,
    /// Passed to `progress`.
    pub progress_user: *mut c_void,
    /// See ph_pool_fn. Null for threads of polyhaul's own, which end with the job.
    pub pool: ph_pool_fn,
    /// Passed to `pool`.
    pub pool_user: *mut c_void,
    /// See ph_resolve_fn. May be null.
    pub resolve: ph_resolve_fn,
    /// Passed to `resolve`.
    pub resolve_user: *mut c_void,
    /// Skip malformed data, count it as a warning in the report, and continue.
    pub skip_broken: u8,
    /// Make warnings errors.
    pub strict: u8,
    /// Also read referenced files outside the scene's folder.
    pub allow_outside: u8,
    /// Do not read the material libraries that a scene names.
    pub skip_materials: u8,
    /// Make positions of STL with the same coordinates one.
    pub weld: u8,
    /// Zeros.
    pub reserved: [u8; 3],
    /// Limits on what the data may request.
    pub limits: ph_limits,
    /// Read at most this many bytes per second in all files of the job, counting compressed bytes; 0 for no limit.
    pub bytes_per_second: u64,
    /// The minimum latency of each read call in nanoseconds, in addition to the time of its bytes; calls of several
    /// threads wait in parallel.
    pub latency_ns: u64,
    /// Like `limits`: the maximum number of objects, and of distinct groups, that an OBJ file declares; 0 for the
    /// default (1,000,000).
    pub max_objects: u64,
    /// Like `limits`: the maximum number of materials that an OBJ file uses, or a material library defines; 0 for the
    /// default (100,000).
    pub max_materials: u64,
    /// Like `limits`: the maximum bytes of text that a pbrt scene includes repeatedly; 0 for the default (256 MiB).
    pub max_included_bytes: u64,
    /// Like `limits`: the maximum number of vertices, and of faces, that instances expand to in a file; 0 for the
    /// default (10^9).
    pub max_instanced_elements: u64,
    /// Like `limits`: the maximum number of objects that instances expand to; 0 for the default (10^7).
    pub max_instanced_objects: u64,
    /// Read only the channels of this layer or view of an EXR file, in UTF-8. May be null.
    pub layer: *const c_char,
    /// Read this part of an EXR file: its name, number (from 0) or view, in UTF-8. Null for the first one with colors.
    pub part: *const c_char,
}

/// How to write. All zeros, except for `struct_size`, are the defaults; so is a null pointer to it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_write_options {
    /// `sizeof(ph_write_options)`.
    pub struct_size: usize,
    /// The format; PH_FORMAT_AUTO infers it from the name of the output.
    pub format: ph_format,
    /// As in ph_read_options.
    pub threads: u32,
    /// As in ph_read_options.
    pub memory_limit: u64,
    /// Cancels the job from another thread. May be null.
    pub cancel: *const ph_cancel,
    /// See ph_progress_fn. May be null.
    pub progress: ph_progress_fn,
    /// Passed to `progress`.
    pub progress_user: *mut c_void,
    /// As in ph_read_options. ph_convert uses that of the options for reading.
    pub pool: ph_pool_fn,
    /// Passed to `pool`.
    pub pool_user: *mut c_void,
    /// How the file is compressed.
    pub compression: ph_compression,
    /// The level of the codec; 0 for a fast one.
    pub compression_level: i32,
    /// Digits of numbers in text.
    pub digits: ph_digits,
    /// The axis of the file that faces forward (default for OBJ: -z; for others: as in the scene).
    pub forward_axis: ph_axis,
    /// The axis of the file that points up (default for OBJ: y; for others: as in the scene). Both axes are set, or
    /// none.
    pub up_axis: ph_axis,
    /// Multiplies positions; 0 means 1.
    pub scale: f32,
    /// Write the file and its folder through to the disk before the call returns.
    pub durable: u8,
    /// Cut faces into triangles.
    pub triangulate: u8,
    /// PLY and STL: write text.
    pub ascii: u8,
    /// Leave out normals (OBJ, PLY, OFF).
    pub skip_normals: u8,
    /// Leave out uvs (OBJ, PLY, OFF).
    pub skip_uvs: u8,
    /// Leave out colors of vertices (OBJ, PLY, OFF).
    pub skip_colors: u8,
    /// Leave out materials and the material library (OBJ).
    pub skip_materials: u8,
    /// TGA: runs of equal pixels as packets.
    pub tga_rle: u8,
    /// Write at most this many bytes per second, counting compressed bytes; 0 for no limit.
    pub bytes_per_second: u64,
    /// The minimum latency of each write call in nanoseconds, in addition to the time of its bytes.
    pub latency_ns: u64,
    /// Turn warnings of writing into errors (PH_ERROR_UNSUPPORTED). In ph_convert, `strict` of the options for reading
    /// is for warnings of reading.
    pub strict: u8,
    /// Copy the files that the asset refers to (textures, meshes, spectra) into the output's folder, and refer to the
    /// copies. No existing file is replaced; files outside the asset's folder are copied only if it was read with
    /// `allow_outside`.
    pub copy_assets: u8,
    /// glTF: how objects that share a mesh are stored.
    pub gltf_instances: ph_gltf_instances,
    /// glTF: positions, uvs and colors in 16 bits, normals in 8 bits.
    pub gltf_quantize: u8,
    /// glTF: compress vertices and indices; needs a library that was built with the feature `meshopt`
    /// (PH_ERROR_UNSUPPORTED).
    pub gltf_meshopt: u8,
    /// Zeros.
    pub reserved: [u8; 3],
}

// SAFETY: `repr(C)`, `struct_size` first, then numbers, pointers, and functions as `Option`, of which null is `None`:
// what C puts there are values.
unsafe impl Record for ph_read_options {
    const NAME: &'static str = "ph_read_options";
}

// SAFETY: as for `ph_read_options`.
unsafe impl Record for ph_write_options {
    const NAME: &'static str = "ph_write_options";
}

/// A flag that stops jobs. A flag may be used by any number of them; once set, it stays set.
pub struct ph_cancel(Cancel);

/// Makes a flag, which ph_cancel_free frees.
#[unsafe(no_mangle)]
pub extern "C" fn ph_cancel_new(cancel: Option<&mut MaybeUninit<*mut ph_cancel>>) -> ph_status {
    guard(|| {
        raw::Out::new(cancel)?.give(ph_cancel(Cancel::default()));
        Ok(())
    })
}

/// Asks all jobs with this flag to stop: they return PH_ERROR_CANCELLED soon, and the files they were writing are
/// unchanged. May be called from any thread, and from a signal handler.
#[unsafe(no_mangle)]
pub extern "C" fn ph_cancel_request(cancel: Option<&ph_cancel>) -> ph_status {
    match cancel {
        Some(ph_cancel(flag)) => {
            flag.cancel();
            crate::error::PH_OK
        }
        None => guard(|| handle(cancel, "the flag").map(drop)),
    }
}

/// Frees a flag; null does nothing. Running jobs continue.
#[unsafe(no_mangle)]
pub extern "C" fn ph_cancel_free(cancel: Option<Box<ph_cancel>>) {
    crate::error::free(cancel);
}

/// The value for a number of the header; `None` for 0.
fn numbered<T: Copy>(all: &[T], number: u32, what: &str) -> Result<Option<T>> {
    match number.checked_sub(1).map(|index| all.get(index as usize)) {
        None => Ok(None),
        Some(Some(&value)) => Ok(Some(value)),
        Some(None) => Err(usage(format!("{number} is not a valid {what}"))),
    }
}

/// An axis; `None` for 0.
pub(crate) fn axis(number: ph_axis) -> Result<Option<Axis>> {
    numbered(&AXES, number, "axis (PH_AXIS_)")
}

/// The number of an axis.
pub(crate) fn axis_number(axis: Axis) -> ph_axis {
    AXES.iter().position(|&known| known == axis).map_or(0, |index| index as u32 + 1)
}

/// Two axes, if they are given.
pub(crate) fn axes(forward: ph_axis, up: ph_axis) -> Result<Option<Axes>> {
    match (axis(forward)?, axis(up)?) {
        (Some(forward), Some(up)) => Ok(Some(Axes { forward, up })),
        (None, None) => Ok(None),
        _ => Err(usage("only one of the two axes is set")),
    }
}

fn format(number: ph_format) -> Result<Option<Format>> {
    numbered(FORMATS, number, "format (PH_FORMAT_)")
}

/// The options shared by reading and writing.
struct Run {
    threads: u32,
    memory_limit: u64,
    cancel: *const ph_cancel,
    progress: (ph_progress_fn, *mut c_void),
    pool: (ph_pool_fn, *mut c_void),
}

impl Run {
    /// In the library's form.
    ///
    /// # Safety
    /// `cancel` is null, or points to a flag that lives through the call.
    unsafe fn options(self) -> RunOptions {
        let mut options = RunOptions::default();
        if self.threads > 0 {
            options.threads = Some(self.threads as usize);
        }
        set(&mut options.memory_limit, self.memory_limit);
        // SAFETY: `cancel` is null or points to a living flag, this function's condition; the flag is only shared, and
        // cloned here.
        if let Some(ph_cancel(flag)) = unsafe { self.cancel.as_ref() } {
            options.cancel = flag.clone();
        }
        options.progress = callbacks::progress(self.progress.0, self.progress.1, &options.cancel);
        options.pool = callbacks::pool(self.pool.0, self.pool.1);
        options
    }
}

/// Sets a value unless it is 0.
fn set(place: &mut u64, value: u64) {
    if value > 0 {
        *place = value;
    }
}

/// How to read.
///
/// # Safety
/// `given` is null or valid as [`ph_read_options`] says, until the job is over.
pub(crate) unsafe fn read(given: *const ph_read_options) -> Result<ReadOptions> {
    // SAFETY: `given` is null or has `struct_size` bytes, a part of this function's condition.
    let Some(given) = unsafe { raw::take(given) }? else { return Ok(ReadOptions::default()) };
    let run = Run {
        threads: given.threads,
        memory_limit: given.memory_limit,
        cancel: given.cancel,
        progress: (given.progress, given.progress_user),
        pool: (given.pool, given.pool_user),
    };
    let mut options = ReadOptions::default()
        .with_format(format(given.format)?)
        // SAFETY: the caller's promise.
        .with_run(unsafe { run.options() })
        .with_on_error(if given.skip_broken != 0 { OnError::Warn } else { OnError::Raise })
        .with_strict(given.strict != 0)
        .with_limits(limits(&given.limits))
        .with_allow_outside(given.allow_outside != 0)
        .with_load_materials(given.skip_materials == 0)
        .with_resolver(callbacks::resolver(given.resolve, given.resolve_user));
    set(&mut options.limits.objects, given.max_objects);
    set(&mut options.limits.materials, given.max_materials);
    set(&mut options.limits.included_bytes, given.max_included_bytes);
    set(&mut options.limits.instanced_elements, given.max_instanced_elements);
    set(&mut options.limits.instanced_objects, given.max_instanced_objects);
    options.stl.weld = given.weld != 0;
    // SAFETY: `layer` and `part` of valid options are null or end with a zero byte; both are copied below.
    let [layer, part] = unsafe { [raw::text(given.layer, "the layer")?, raw::text(given.part, "the part")?] };
    let [layer, part] = [layer, part].map(|name| (!name.is_empty()).then(|| name.to_owned()));
    options.image = ImageReadOptions::default().with_layer(layer).with_part(part);
    options.run.read_throttle = throttle(given.bytes_per_second, given.latency_ns);
    Ok(options)
}

/// An error if a stop was requested too late to be noticed: the result is not wanted any more.
pub(crate) fn not_cancelled(options: &ReadOptions) -> Result<()> {
    if options.run.cancel.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
}

/// The throttle for reading or writing; `None` if both are 0.
fn throttle(bytes_per_second: u64, latency_ns: u64) -> Option<Throttle> {
    let is_asked_for = bytes_per_second > 0 || latency_ns > 0;
    is_asked_for.then(|| Throttle::new(Some(bytes_per_second), Duration::from_nanos(latency_ns)))
}

fn limits(given: &ph_limits) -> Limits {
    let mut limits = Limits::default();
    let places = [
        (&mut limits.line_bytes, given.line_bytes),
        (&mut limits.name_bytes, given.name_bytes),
        (&mut limits.elements, given.elements),
        (&mut limits.pixels, given.pixels),
        (&mut limits.columns, given.columns),
        (&mut limits.properties, given.properties),
        (&mut limits.header_bytes, given.header_bytes),
        (&mut limits.files, given.files),
        (&mut limits.referenced_file_bytes, given.referenced_file_bytes),
        (&mut limits.decompressed_bytes, given.decompressed_bytes),
        (&mut limits.decompressed_ratio, given.decompressed_ratio),
        (&mut limits.image_ratio, given.image_ratio),
    ];
    for (place, value) in places {
        set(place, value);
    }
    limits
}

/// How to write.
///
/// # Safety
/// `given` is null or valid as [`ph_write_options`] says, until the job is over.
pub(crate) unsafe fn write(given: *const ph_write_options) -> Result<WriteOptions> {
    // SAFETY: `given` is null or has `struct_size` bytes, a part of this function's condition.
    let Some(given) = unsafe { raw::take(given) }? else { return Ok(WriteOptions::default()) };
    let run = Run {
        threads: given.threads,
        memory_limit: given.memory_limit,
        cancel: given.cancel,
        progress: (given.progress, given.progress_user),
        pool: (given.pool, given.pool_user),
    };
    let mut options = WriteOptions::default()
        .with_format(format(given.format)?)
        // SAFETY: the caller's promise.
        .with_run(unsafe { run.options() })
        .with_compression(compression(given.compression)?)
        .with_level((given.compression_level != 0).then_some(given.compression_level))
        .with_durable(given.durable != 0)
        .with_strict(given.strict != 0)
        .with_copy_assets(given.copy_assets != 0);
    options.scene.digits = digits(given.digits)?;
    if let Some(axes) = axes(given.forward_axis, given.up_axis)? {
        options.scene = options.scene.with_forward_axis(Some(axes.forward)).with_up_axis(Some(axes.up));
    }
    options.scene.global_scale = if given.scale == 0.0 { 1.0 } else { given.scale };
    options.scene.triangulate = given.triangulate != 0;
    options.scene.normals = given.skip_normals == 0;
    options.scene.uv = given.skip_uvs == 0;
    options.scene.colors = given.skip_colors == 0;
    options.scene.ascii = given.ascii != 0;
    options.scene.instances = instances(given.gltf_instances)?;
    options.obj.materials = given.skip_materials == 0;
    options.image.rle = given.tga_rle != 0;
    options.gltf.quantize = given.gltf_quantize != 0;
    options.gltf.meshopt = given.gltf_meshopt != 0;
    options.run.write_throttle = throttle(given.bytes_per_second, given.latency_ns);
    Ok(options)
}

fn instances(instances: ph_gltf_instances) -> Result<Instances> {
    match instances {
        PH_GLTF_INSTANCES_AUTO => Ok(Instances::Auto),
        PH_GLTF_INSTANCES_GPU => Ok(Instances::Gpu),
        PH_GLTF_INSTANCES_NODES => Ok(Instances::Nodes),
        other => Err(usage(format!("{other} is not a use of instances (PH_GLTF_INSTANCES_)"))),
    }
}

fn compression(codec: ph_compression) -> Result<Compression> {
    match codec {
        PH_COMPRESSION_BY_NAME => Ok(Compression::Auto),
        PH_COMPRESSION_NONE => Ok(Compression::None),
        PH_COMPRESSION_GZIP => Ok(Compression::Gzip),
        PH_COMPRESSION_ZSTD => Ok(Compression::Zstd),
        PH_COMPRESSION_LZ4 => Ok(Compression::Lz4),
        other => Err(usage(format!("{other} is not a compression (PH_COMPRESSION_)"))),
    }
}

fn digits(digits: ph_digits) -> Result<Option<Digits>> {
    match digits {
        0 => Ok(None),
        PH_DIGITS_SHORTEST => Ok(Some(Digits::Shortest)),
        PH_DIGITS_FIXED..=268 => Ok(Some(Digits::Fixed((digits - PH_DIGITS_FIXED) as u8))),
        other => Err(usage(format!("{other} is not a digits mode (PH_DIGITS_)"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_its_number() {
        assert!(Format::ALL.iter().all(|format| FORMATS.contains(format)));
        assert_eq!((format(PH_FORMAT_AUTO).ok(), format(PH_FORMAT_OBJ).ok()), (Some(None), Some(Some(Format::Obj))));
        assert_eq!(format(PH_FORMAT_OFF).ok(), Some(Some(Format::Off)));
        assert_eq!(format(PH_FORMAT_GLB).ok(), Some(Some(Format::Glb)));
        assert_eq!(format(PH_FORMAT_SPZ).ok(), Some(Some(Format::Spz)));
        assert_eq!(format(PH_FORMAT_SPLAT).ok(), Some(Some(Format::Splat)));
        assert_eq!(format(PH_FORMAT_COMPRESSED_PLY).ok(), Some(Some(Format::CompressedPly)));
        assert_eq!(format(PH_FORMAT_SOG).ok(), Some(Some(Format::Sog)));
        assert_eq!(FORMATS.len() as u32, PH_FORMAT_SOG);
        assert!(format(PH_FORMAT_SOG + 1).is_err());
    }

    #[test]
    fn zeros_are_the_defaults() {
        // SAFETY: all zeros are values of these structs: see `Record`.
        let (mut reading, mut writing): (ph_read_options, ph_write_options) = unsafe { std::mem::zeroed() };
        reading.struct_size = size_of::<ph_read_options>();
        writing.struct_size = size_of::<ph_write_options>();
        // SAFETY: the structs are whole.
        let (read, write) = unsafe { (read(&raw const reading), write(&raw const writing)) };
        assert_eq!(format!("{:?}", read.ok()), format!("{:?}", Some(ReadOptions::default())));
        assert_eq!(format!("{:?}", write.ok()), format!("{:?}", Some(WriteOptions::default())));
    }

    #[test]
    fn rates_and_latencies_go_where_they_belong() {
        assert!(throttle(0, 0).is_none());
        // SAFETY: all zeros are values of these structs: see `Record`.
        let (mut reading, mut writing): (ph_read_options, ph_write_options) = unsafe { std::mem::zeroed() };
        (reading.struct_size, reading.bytes_per_second) = (size_of::<ph_read_options>(), 5_000_000);
        (writing.struct_size, writing.latency_ns) = (size_of::<ph_write_options>(), 7_000);
        // SAFETY: the structs are whole.
        let (read, write) = unsafe { (read(&raw const reading), write(&raw const writing)) };
        let (read, write) = (read.ok().unwrap().run, write.ok().unwrap().run);
        assert!(read.write_throttle.is_none() && write.read_throttle.is_none());
        let of = |throttle: Option<Throttle>| throttle.map(|it| (it.bytes_per_second(), it.latency().as_nanos()));
        assert_eq!(of(read.read_throttle), Some((Some(5_000_000), 0)));
        assert_eq!(of(write.write_throttle), Some((None, 7_000)));
    }
}
