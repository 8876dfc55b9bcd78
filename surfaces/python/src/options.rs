//! Options as Python gives them: dicts whose values `surfaces/python/polyhaul/_options.py` has checked.

use polyhaul::model::{Bounds, Scalar};
use polyhaul::options::{
    Axes, Axis, Codec, ColumnName, ColumnTypes, Compression, Delimiter, Dialect, Digits, GltfInstances,
    GltfWriteOptions, ImageReadOptions, ImageWriteOptions, Instances, Limits, MissingValue, ObjWriteOptions, OnError,
    PbrtMeshes, PbrtWriteOptions, Placement, PlyEncoding, PlyWriteOptions, PngLevel, RowOptions, RunOptions, Smoothing,
    SplatWriteOptions, StlReadOptions, StlWriteOptions, TableHeader, TableReadOptions, TableWriteOptions, Throttle,
};
use polyhaul::{Format, ReadOptions, WriteOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::time::Duration;

/// The options shared by reading and writing.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Run {
    format: Option<String>,
    threads: Option<usize>,
    memory_limit: Option<u64>,
    /// Bytes per second.
    rate: Option<u64>,
    /// Seconds.
    latency: Option<f64>,
}

/// How to read.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Read {
    run: Run,
    warn: bool,
    strict: bool,
    allow_outside: bool,
    load_materials: bool,
    load_meshes: bool,
    limits: [u64; 17],
    weld: bool,
    /// The layer and the part of a file of images.
    image: (Option<String>, Option<String>),
    /// How the text of a table is read; `None` for the defaults.
    table: Option<Table>,
    /// Which rows are kept; `None` for all.
    rows: Option<Rows>,
    /// Called with the names of files that the scene refers to, if set.
    pub(crate) resolver: Option<Py<PyAny>>,
}

/// Which rows are kept.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Rows {
    /// All of these are true.
    filters: Vec<String>,
    /// The smallest and the largest position.
    bounds: Option<[[f32; 3]; 2]>,
    every: u64,
    sample: Option<u64>,
    transform: Option<[[f64; 4]; 4]>,
    /// The element of a PLY file that the rows are in.
    element: Option<String>,
}

/// How to write.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Write {
    run: Run,
    compression: Option<String>,
    level: Option<i32>,
    durable: bool,
    strict: bool,
    copy_assets: bool,
    obj: Obj,
    bytes: Bytes,
    gltf: Gltf,
    splats: SplatStyle,
    pbrt: Pbrt,
    /// How the text of a table is written; `None` for the defaults.
    table: Option<Style>,
    /// How an image is written; `None` for the defaults.
    image: Option<Pixels>,
}

/// How PLY and STL are written, where it is not as OBJ.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Bytes {
    /// Whether the axes of the file were set: those of OBJ's options.
    turns: bool,
    ascii: bool,
    big_endian: bool,
    float_colors: bool,
    /// Whether files follow Blender's habits.
    is_blenders: bool,
    digits: Option<u8>,
}

/// How glTF is written.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Gltf {
    /// `gpu` or `nodes`; `None` for the default.
    instances: Option<String>,
    quantize: bool,
    meshopt: bool,
}

/// How Gaussian splats are written.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct SplatStyle {
    version: u8,
    level: i32,
    degree: u8,
    keep_order: bool,
}

/// How pbrt is written.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Pbrt {
    compact: bool,
    /// `inline` or `ply`; `None` for the default.
    meshes: Option<String>,
    /// The least vertices of meshes that become PLY files.
    mesh_vertices: u64,
    parts: usize,
}

/// How an image is written.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Pixels {
    rle: bool,
    /// `fast`, `balanced` or `best`.
    png_level: String,
    quality: u8,
    exr_float: bool,
    ktx2_zstd_level: Option<i32>,
}

/// How the text of a table is read.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Table {
    delimiter: Option<u8>,
    comment: Option<String>,
    header: Option<bool>,
    skip_lines: u64,
    max_rows: Option<u64>,
    columns: Option<Vec<Place>>,
    /// One type for all columns.
    every: Option<String>,
    /// A type for each column.
    each: Option<Vec<Option<String>>>,
    missing: Option<f64>,
}

/// A column of a file.
#[derive(FromPyObject)]
enum Place {
    Index(usize),
    Name(String),
}

/// How the text of a table is written.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Style {
    delimiter: Option<u8>,
    header: Option<bool>,
    comment: String,
    digits: Option<u8>,
    /// Digits of each column, if they differ.
    column_digits: Vec<Option<u8>>,
    nan: String,
    csv_safe: bool,
}

/// How OBJ is written.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Obj {
    digits: [Option<u8>; 4],
    forward_axis: String,
    up_axis: String,
    global_scale: f32,
    export_uv: bool,
    export_normals: bool,
    export_colors: bool,
    export_materials: bool,
    export_pbr_extensions: bool,
    export_triangulated_mesh: bool,
    export_object_groups: bool,
    export_material_groups: bool,
    export_groups: bool,
    export_vertex_groups: bool,
    export_smoothing: bool,
    export_smooth_groups: bool,
    smooth_group_bitflags: bool,
    export_curves: bool,
}

impl Run {
    /// In the library's form.
    pub(crate) fn options(&self) -> RunOptions {
        let mut options = RunOptions::default().with_threads(self.threads);
        options.memory_limit = self.memory_limit.unwrap_or(options.memory_limit);
        options
    }

    /// The throttle for reading or writing.
    fn throttle(&self) -> Option<Throttle> {
        let is_asked_for = self.rate.is_some() || self.latency.is_some();
        let latency = self.latency.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        is_asked_for.then(|| Throttle::new(self.rate, latency.unwrap_or_default()))
    }

    fn format(&self) -> PyResult<Option<Format>> {
        let Some(name) = self.format.as_deref() else { return Ok(None) };
        let format = Format::named(name);
        format.map(Some).ok_or_else(|| PyValueError::new_err(format!("unknown format {name:?}")))
    }
}

impl Read {
    /// The memory limit, if one was given.
    pub(crate) fn memory_limit(&self) -> Option<u64> {
        self.run.memory_limit
    }

    /// In the library's form, without the resolver, which needs a job.
    pub(crate) fn options(&self) -> PyResult<ReadOptions> {
        let [
            line_bytes,
            name_bytes,
            elements,
            objects,
            materials,
            pixels,
            image_ratio,
            columns,
            properties,
            header_bytes,
            files,
            referenced_file_bytes,
            decompressed_bytes,
            decompressed_ratio,
            included_bytes,
            instanced_elements,
            instanced_objects,
        ] = self.limits;
        Ok(ReadOptions::default()
            .with_format(self.run.format()?)
            .with_run(self.run.options().with_read_throttle(self.run.throttle()))
            .with_on_error(if self.warn { OnError::Warn } else { OnError::Raise })
            .with_strict(self.strict)
            .with_limits(
                Limits::default()
                    .with_line_bytes(line_bytes)
                    .with_name_bytes(name_bytes)
                    .with_elements(elements)
                    .with_objects(objects)
                    .with_materials(materials)
                    .with_pixels(pixels)
                    .with_image_ratio(image_ratio)
                    .with_columns(columns)
                    .with_properties(properties)
                    .with_header_bytes(header_bytes)
                    .with_files(files)
                    .with_referenced_file_bytes(referenced_file_bytes)
                    .with_decompressed_bytes(decompressed_bytes)
                    .with_decompressed_ratio(decompressed_ratio)
                    .with_included_bytes(included_bytes)
                    .with_instanced_elements(instanced_elements)
                    .with_instanced_objects(instanced_objects),
            )
            .with_allow_outside(self.allow_outside)
            .with_load_materials(self.load_materials)
            .with_load_meshes(self.load_meshes)
            .with_resolver(None)
            .with_stl(StlReadOptions::default().with_weld(self.weld))
            .with_image(ImageReadOptions::default().with_layer(self.image.0.clone()).with_part(self.image.1.clone()))
            .with_table(self.table_options()?)
            .with_rows(self.rows.as_ref().map_or_else(|| Ok(RowOptions::default()), Rows::options)?))
    }

    fn table_options(&self) -> PyResult<TableReadOptions> {
        let options = self.table.as_ref().map_or_else(|| Ok(TableReadOptions::default()), Table::options)?;
        Ok(options.with_element(self.rows.as_ref().and_then(|rows| rows.element.clone())))
    }
}

impl Rows {
    /// In the library's form. Filters were checked when they were given.
    fn options(&self) -> PyResult<RowOptions> {
        let options = RowOptions::default()
            .with_bounds(self.bounds.map(|[min, max]| Bounds { min, max }))
            .with_every(self.every)
            .with_sample(self.sample)
            .with_transform(self.transform);
        let mut filters = self.filters.iter();
        filters
            .try_fold(options, |options, text| options.and_filter(text.parse()?))
            .map_err(|error: polyhaul::Error| PyValueError::new_err(error.to_string()))
    }
}

impl SplatStyle {
    fn options(&self) -> SplatWriteOptions {
        SplatWriteOptions::default()
            .with_spz_version(self.version)
            .with_spz_level(Some(self.level))
            .with_harmonics_degree(self.degree)
            .with_keep_order(self.keep_order)
    }
}

impl Write {
    /// In the library's form.
    pub(crate) fn options(&self) -> PyResult<WriteOptions> {
        Ok(WriteOptions::default()
            .with_format(self.run.format()?)
            .with_run(self.run.options().with_write_throttle(self.run.throttle()))
            .with_compression(self.compression()?)
            .with_durable(self.durable)
            .with_strict(self.strict)
            .with_limits(Limits::default())
            .with_copy_assets(self.copy_assets)
            .with_instances(Instances::AsFormat)
            .with_obj(self.obj.options()?)
            .with_ply(self.ply()?)
            .with_stl(self.stl()?)
            .with_gltf(self.gltf.style()?.placed(self.placement()?))
            .with_splats(self.splats.options())
            .with_table(self.table(self.placement()?))
            .with_pbrt(self.pbrt.style()?)
            .with_image(self.image.as_ref().map_or_else(|| Ok(ImageWriteOptions::default()), Pixels::style)?))
    }

    fn compression(&self) -> PyResult<Compression> {
        Ok(match self.compression.as_deref() {
            None => Compression::ByName(self.level),
            Some("none") => Compression::None,
            Some(name) => Compression::By(codec(name)?, self.level),
        })
    }

    fn ply(&self) -> PyResult<PlyWriteOptions> {
        Ok(PlyWriteOptions::default()
            .with_placement(self.placement()?)
            .with_encoding(match (self.bytes.ascii, self.bytes.big_endian) {
                (true, _) => PlyEncoding::Ascii,
                (false, true) => PlyEncoding::BigEndian,
                (false, false) => PlyEncoding::LittleEndian,
            })
            .with_digits(digits(self.bytes.digits))
            .with_export_uv(self.obj.export_uv)
            .with_export_normals(self.obj.export_normals)
            .with_export_colors(self.obj.export_colors)
            .with_float_colors(self.bytes.float_colors))
    }

    fn table(&self, placement: Placement) -> TableWriteOptions {
        let style = self.table.as_ref().map_or_else(TableWriteOptions::default, Style::options);
        style.with_placement(placement)
    }

    fn stl(&self) -> PyResult<StlWriteOptions> {
        let Bytes { ascii, digits: places, .. } = self.bytes;
        Ok(StlWriteOptions::default().with_placement(self.placement()?).with_ascii(ascii).with_digits(digits(places)))
    }

    /// The transformation of a scene whose coordinates stay unless axes are given.
    fn placement(&self) -> PyResult<Placement> {
        let axes = Axes { forward: axis(&self.obj.forward_axis)?, up: axis(&self.obj.up_axis)? };
        Ok(Placement::default()
            .with_axes(self.bytes.turns.then_some(axes))
            .with_global_scale(self.obj.global_scale)
            .with_export_triangulated_mesh(self.obj.export_triangulated_mesh)
            .with_dialect(if self.bytes.is_blenders { Dialect::Blender } else { Dialect::Common }))
    }
}

impl Gltf {
    fn style(&self) -> PyResult<GltfWriteOptions> {
        let instances = match self.instances.as_deref() {
            None => GltfInstances::Auto,
            Some("gpu") => GltfInstances::Gpu,
            Some("nodes") => GltfInstances::Nodes,
            Some(name) => return Err(PyValueError::new_err(format!("unknown value {name:?} of instances"))),
        };
        let options = GltfWriteOptions::default().with_instances(instances);
        Ok(options.with_quantize(self.quantize).with_meshopt(self.meshopt))
    }
}

impl Pbrt {
    fn style(&self) -> PyResult<PbrtWriteOptions> {
        let meshes = match self.meshes.as_deref() {
            None => PbrtMeshes::default(),
            Some("inline") => PbrtMeshes::Inline,
            Some("ply") => PbrtMeshes::Ply { vertices: self.mesh_vertices },
            Some(name) => return Err(PyValueError::new_err(format!("unknown value {name:?} of meshes"))),
        };
        Ok(PbrtWriteOptions::default().with_compact(self.compact).with_meshes(meshes).with_parts(self.parts))
    }
}

impl Table {
    fn options(&self) -> PyResult<TableReadOptions> {
        let place = |place: &Place| match place {
            Place::Index(index) => ColumnName::Index(*index),
            Place::Name(name) => ColumnName::Name(name.clone()),
        };
        let each = |types: &Vec<Option<String>>| {
            types
                .iter()
                .map(|name| name.as_deref().map(scalar).transpose())
                .collect::<PyResult<_>>()
                .map(ColumnTypes::Each)
        };
        let every = self.every.as_deref().map(|name| scalar(name).map(ColumnTypes::All));
        Ok(TableReadOptions::default()
            .with_delimiter(
                self.delimiter.map(|byte| if byte == b' ' { Delimiter::Blanks } else { Delimiter::Byte(byte) }),
            )
            .with_comment(self.comment.clone())
            .with_header(match self.header {
                None => TableHeader::Auto,
                Some(true) => TableHeader::Present,
                Some(false) => TableHeader::Absent,
            })
            .with_skip_lines(self.skip_lines)
            .with_max_rows(self.max_rows)
            .with_element(None)
            .with_columns(self.columns.as_ref().map(|columns| columns.iter().map(place).collect()))
            .with_types(every.or_else(|| self.each.as_ref().map(each)).transpose()?.unwrap_or_default())
            .with_missing(match self.missing {
                None => MissingValue::Error,
                Some(value) if value.is_nan() => MissingValue::Nan,
                Some(value) => MissingValue::Value(value),
            }))
    }
}

impl Style {
    fn options(&self) -> TableWriteOptions {
        TableWriteOptions::default()
            .with_delimiter(self.delimiter)
            .with_header(self.header)
            .with_comment(self.comment.clone())
            .with_digits(digits(self.digits))
            .with_column_digits(self.column_digits.iter().copied().map(digits).collect())
            .with_nan(self.nan.clone())
            .with_csv_safe(self.csv_safe)
    }
}

fn digits(places: Option<u8>) -> Digits {
    places.map_or(Digits::Shortest, Digits::Fixed)
}

impl Obj {
    fn options(&self) -> PyResult<ObjWriteOptions> {
        let [position_digits, uv_digits, normal_digits, color_digits] = self.digits.map(digits);
        Ok(ObjWriteOptions::default()
            .with_position_digits(position_digits)
            .with_uv_digits(uv_digits)
            .with_normal_digits(normal_digits)
            .with_color_digits(color_digits)
            .with_forward_axis(axis(&self.forward_axis)?)
            .with_up_axis(axis(&self.up_axis)?)
            .with_global_scale(self.global_scale)
            .with_export_uv(self.export_uv)
            .with_export_normals(self.export_normals)
            .with_export_colors(self.export_colors)
            .with_export_materials(self.export_materials)
            .with_export_pbr_extensions(self.export_pbr_extensions)
            .with_export_triangulated_mesh(self.export_triangulated_mesh)
            .with_export_object_groups(self.export_object_groups)
            .with_export_material_groups(self.export_material_groups)
            .with_export_groups(self.export_groups)
            .with_export_vertex_groups(self.export_vertex_groups)
            .with_export_smooth_groups(self.export_smoothing)
            .with_smoothing(match (self.export_smooth_groups, self.smooth_group_bitflags) {
                (false, _) => Smoothing::Flags,
                (true, false) => Smoothing::Groups,
                (true, true) => Smoothing::BitFlags,
            })
            .with_export_curves(self.export_curves))
    }
}

impl Pixels {
    fn style(&self) -> PyResult<ImageWriteOptions> {
        let png_level = match self.png_level.as_str() {
            "fast" => PngLevel::Fast,
            "balanced" => PngLevel::Balanced,
            "best" => PngLevel::Best,
            name => return Err(PyValueError::new_err(format!("unknown PNG level {name:?}"))),
        };
        let Pixels { rle: tga_rle, quality: jpeg_quality, exr_float, ktx2_zstd_level, .. } = *self;
        Ok(ImageWriteOptions::default()
            .with_tga_rle(tga_rle)
            .with_png_level(png_level)
            .with_jpeg_quality(jpeg_quality)
            .with_exr_float(exr_float)
            .with_ktx2_zstd_level(ktx2_zstd_level))
    }
}

/// The types of numbers, and their names in numpy.
const SCALARS: [(Scalar, &str); 10] = [
    (Scalar::I8, "i1"),
    (Scalar::U8, "u1"),
    (Scalar::I16, "i2"),
    (Scalar::U16, "u2"),
    (Scalar::I32, "i4"),
    (Scalar::U32, "u4"),
    (Scalar::I64, "i8"),
    (Scalar::U64, "u8"),
    (Scalar::F32, "f4"),
    (Scalar::F64, "f8"),
];

/// The type that numpy calls by this name.
fn scalar(name: &str) -> PyResult<Scalar> {
    let known = SCALARS.iter().find(|(_, known)| *known == name).map(|(scalar, _)| *scalar);
    known.ok_or_else(|| PyValueError::new_err(format!("unknown type {name:?}")))
}

/// The type's name in numpy.
pub(crate) fn scalar_name(scalar: Scalar) -> &'static str {
    SCALARS.iter().find(|(known, _)| *known == scalar).map_or("", |(_, name)| name)
}

/// The codec of this name.
fn codec(name: &str) -> PyResult<Codec> {
    match name {
        "gzip" => Ok(Codec::Gzip),
        "zstd" => Ok(Codec::Zstd),
        "lz4" => Ok(Codec::Lz4),
        _ => Err(PyValueError::new_err(format!("unknown compression {name:?}"))),
    }
}

/// The axes, and their names in Blender.
const AXES: [(Axis, &str); 6] = [
    (Axis::X, "X"),
    (Axis::Y, "Y"),
    (Axis::Z, "Z"),
    (Axis::NegativeX, "NEGATIVE_X"),
    (Axis::NegativeY, "NEGATIVE_Y"),
    (Axis::NegativeZ, "NEGATIVE_Z"),
];

/// The axis that Blender calls by this name.
pub(crate) fn axis(name: &str) -> PyResult<Axis> {
    let known = AXES.iter().find(|(_, known)| *known == name).map(|(axis, _)| *axis);
    known.ok_or_else(|| PyValueError::new_err(format!("unknown axis {name:?}")))
}

/// The axis's name in Blender.
pub(crate) fn axis_name(axis: Axis) -> Option<&'static str> {
    AXES.iter().find(|(known, _)| *known == axis).map(|(_, name)| *name)
}
