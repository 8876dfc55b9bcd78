//! Options as Python gives them: dicts whose values `python/polyhaul/_options.py` has checked.

use polyhaul::options::{Axis, Codec, Compression, Digits, Limits, ObjOptions, OnError, RunOptions, Smoothing};
use polyhaul::{Format, ReadOptions, WriteOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What reading and writing share.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Run {
    format: Option<String>,
    threads: Option<usize>,
    memory_limit: Option<u64>,
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
    limits: [u64; 7],
    /// Asked by name for the files that the scene refers to, where there is one.
    pub(crate) resolver: Option<Py<PyAny>>,
}

/// How to write.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Write {
    run: Run,
    compression: Option<String>,
    level: Option<i32>,
    durable: bool,
    obj: Obj,
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
    /// As the library takes them.
    pub(crate) fn options(&self) -> RunOptions {
        let mut options = RunOptions { threads: self.threads, ..RunOptions::default() };
        options.memory_limit = self.memory_limit.unwrap_or(options.memory_limit);
        options
    }

    fn format(&self) -> PyResult<Option<Format>> {
        let Some(name) = self.format.as_deref() else { return Ok(None) };
        let format = Format::named(name);
        format.map(Some).ok_or_else(|| PyValueError::new_err(format!("there is no format {name:?}")))
    }
}

impl Read {
    /// As the library takes them, without the resolver: that needs a job.
    pub(crate) fn options(&self) -> PyResult<ReadOptions> {
        let [line_bytes, name_bytes, elements, files, referenced_file_bytes, decompressed_bytes, decompressed_ratio] =
            self.limits;
        Ok(ReadOptions {
            format: self.run.format()?,
            run: self.run.options(),
            on_error: if self.warn { OnError::Warn } else { OnError::Raise },
            strict: self.strict,
            limits: Limits {
                line_bytes,
                name_bytes,
                elements,
                files,
                referenced_file_bytes,
                decompressed_bytes,
                decompressed_ratio,
                ..Limits::default()
            },
            allow_outside: self.allow_outside,
            load_materials: self.load_materials,
            resolver: None,
            ..ReadOptions::default()
        })
    }
}

impl Write {
    /// As the library takes them.
    pub(crate) fn options(&self) -> PyResult<WriteOptions> {
        Ok(WriteOptions {
            format: self.run.format()?,
            run: self.run.options(),
            compression: match self.compression.as_deref().map(codec).transpose()? {
                Some(codec) => Compression::By(codec, self.level),
                None => Compression::ByName(self.level),
            },
            durable: self.durable,
            obj: self.obj.options()?,
            ..WriteOptions::default()
        })
    }
}

impl Obj {
    fn options(&self) -> PyResult<ObjOptions> {
        let [position_digits, uv_digits, normal_digits, color_digits] =
            self.digits.map(|digits| digits.map_or(Digits::Shortest, Digits::Fixed));
        Ok(ObjOptions {
            position_digits,
            uv_digits,
            normal_digits,
            color_digits,
            forward_axis: axis(&self.forward_axis)?,
            up_axis: axis(&self.up_axis)?,
            global_scale: self.global_scale,
            export_uv: self.export_uv,
            export_normals: self.export_normals,
            export_colors: self.export_colors,
            export_materials: self.export_materials,
            export_pbr_extensions: self.export_pbr_extensions,
            export_triangulated_mesh: self.export_triangulated_mesh,
            export_object_groups: self.export_object_groups,
            export_material_groups: self.export_material_groups,
            export_groups: self.export_groups,
            export_vertex_groups: self.export_vertex_groups,
            export_smooth_groups: self.export_smoothing,
            smoothing: match (self.export_smooth_groups, self.smooth_group_bitflags) {
                (false, _) => Smoothing::Flags,
                (true, false) => Smoothing::Groups,
                (true, true) => Smoothing::BitFlags,
            },
            export_curves: self.export_curves,
        })
    }
}

/// The codec of this name.
fn codec(name: &str) -> PyResult<Codec> {
    match name {
        "gzip" => Ok(Codec::Gzip),
        "zstd" => Ok(Codec::Zstd),
        "lz4" => Ok(Codec::Lz4),
        _ => Err(PyValueError::new_err(format!("there is no compression {name:?}"))),
    }
}

/// The axes, and what Blender calls them.
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
    known.ok_or_else(|| PyValueError::new_err(format!("there is no axis {name:?}")))
}

/// What Blender calls the axis.
pub(crate) fn axis_name(axis: Axis) -> Option<&'static str> {
    AXES.iter().find(|(known, _)| *known == axis).map(|(_, name)| *name)
}
