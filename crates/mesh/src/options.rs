//! How the formats of meshes are read and written.

mod table;

pub use table::{ColumnName, Delimiter, Header, Missing, TableOptions, TableStyle, Types};

use polyhaul_model::{Axes, Axis};

/// How STL is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StlReadOptions {
    /// Make positions with the same coordinates one. Otherwise each triangle has three of its own, as in the file.
    pub weld: bool,
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

impl PlyOptions {
    /// Whether anything is asked for but how numbers are stored: axes, scale, triangles, parts to leave out.
    pub fn wants_mesh(&self) -> bool {
        let PlyOptions { encoding, digits, .. } = *self;
        *self != PlyOptions { encoding, digits, ..PlyOptions::default() }
    }
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
