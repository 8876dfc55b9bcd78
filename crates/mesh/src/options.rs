//! Options for reading and writing the mesh formats.

mod table;

pub use table::{ColumnName, ColumnTypes, Delimiter, MissingValue, TableHeader, TableReadOptions, TableWriteOptions};

use polyhaul_model::{Axes, Axis};

polyhaul_model::options! {
    /// Options for reading OBJ.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ObjReadOptions {
        /// The text is a part of a file, from the beginning of a line on, so corners may refer to vertices in other
        /// parts. Their indices are those of the whole file, and it is up to the caller to check them. What needs the
        /// parts before it is an error ([`Unsupported`](polyhaul_model::error::ErrorKind::Unsupported)): indices that
        /// count backwards, polypaint and curves.
        pub is_part: bool = false, with_is_part;
    }
}

polyhaul_model::options! {
    /// Options for reading STL.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StlReadOptions {
        /// Merge positions with the same coordinates. Otherwise each triangle has three of its own, as in the file.
        pub weld: bool = false, with_weld;
    }
}

polyhaul_model::options! {
    /// The transformation of a scene when it is written.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Placement {
        /// The axes of the file; `None` (the default) leaves coordinates unchanged.
        pub axes: Option<Axes> = None, with_axes;
        /// Multiplies positions (1).
        pub global_scale: f32 = 1.0, with_global_scale;
        /// Cut faces into triangles.
        pub export_triangulated_mesh: bool = false, with_export_triangulated_mesh;
        /// The conventions of PLY and STL files.
        pub dialect: Dialect = Dialect::Common, with_dialect;
    }
}

/// The conventions of PLY and STL files, where the formats leave a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// Those of most programs. In PLY, each position keeps its number as a vertex; further vertices of a position
    /// follow after all positions; indices are `int`; colors have an alpha if it is not 1 everywhere, and follow the
    /// uvs. Faces of mirrored objects are turned around, so that their front stays outside.
    #[default]
    Common,
    /// Those of Blender. Binary files have its bytes, except for comments, polygons with five or more corners, and
    /// names with spaces. In PLY, where corners have uvs, vertices are in the order of the first corners that use
    /// them, and positions without faces follow; indices of faces are `uint`; colors always have an alpha, are rounded
    /// down, and precede the uvs; they are 0 for meshes without any, if others have some. In STL, normals are computed,
    /// and text is one solid without a name. Faces of mirrored objects are turned around in STL alone.
    Blender,
}

polyhaul_model::options! {
    /// Options for writing PLY.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PlyWriteOptions {
        /// Axes, scale, triangles.
        pub placement: Placement = Placement::default(), with_placement;
        /// The encoding of numbers (little-endian).
        pub encoding: PlyEncoding = PlyEncoding::default(), with_encoding;
        /// Digits of floats in text (the fewest that read back as the same number).
        pub digits: Digits = Digits::Shortest, with_digits;
        /// Write uvs, as `s` and `t`.
        pub export_uv: bool = true, with_export_uv;
        /// Write normals, as `nx`, `ny` and `nz`.
        pub export_normals: bool = true, with_export_normals;
        /// Write vertex colors, if any, as `red`, `green`, `blue` and, unless it is 1 everywhere, `alpha`.
        pub export_colors: bool = true, with_export_colors;
        /// Write colors as floats from 0 to 1 instead of bytes.
        pub float_colors: bool = false, with_float_colors;
    }
}

impl PlyWriteOptions {
    /// Whether anything is asked for but how numbers are stored: axes, scale, triangles, parts to leave out.
    pub fn wants_mesh(&self) -> bool {
        let PlyWriteOptions { encoding, digits, .. } = *self;
        *self != PlyWriteOptions { encoding, digits, ..PlyWriteOptions::default() }
    }
}

/// The encoding of numbers in a PLY file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlyEncoding {
    /// Text.
    Ascii,
    /// Binary, lowest byte first.
    #[default]
    LittleEndian,
    /// Binary, highest byte first.
    BigEndian,
}

polyhaul_model::options! {
    /// Options for writing STL. Faces always become triangles.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct StlWriteOptions {
        /// Axes and scale.
        pub placement: Placement = Placement::default(), with_placement;
        /// Write text and not 50 bytes per triangle.
        pub ascii: bool = false, with_ascii;
        /// Digits of numbers in text (the fewest that read back as the same number).
        pub digits: Digits = Digits::Shortest, with_digits;
    }
}

polyhaul_model::options! {
    /// Options for writing Gaussian splats: SPZ, `.splat` and compressed PLY.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SplatWriteOptions {
        /// The version of SPZ files, 2 to 4 (3).
        pub spz_version: u8 = 3, with_spz_version;
        /// The level of compression of SPZ files: of gzip, 1 to 12, or in version 4 of zstd, 1 to 22 (a fast one).
        pub spz_level: Option<i32> = None, with_spz_level;
        /// The highest degree of spherical harmonics to write, 0 to 4 (as many as the format stores).
        pub harmonics_degree: u8 = 4, with_harmonics_degree;
        /// Keep the order of the splats in compressed PLY. By default they are sorted by place, which makes positions,
        /// scales and colors more precise, because 256 splats in a row share their ranges.
        pub keep_order: bool = false, with_keep_order;
    }
}

/// The number of digits in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Digits {
    /// This many digits after the point, 0 to 12: the bytes of C's `%.Nf`.
    Fixed(u8),
    /// The fewest digits that read back as the same number.
    Shortest,
}

/// The meaning of `s` for faces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
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

polyhaul_model::options! {
    /// Options for writing OBJ. The defaults are Blender's dialect: files written by Blender are reproduced byte for
    /// byte.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ObjWriteOptions {
        /// Digits of positions (6).
        pub position_digits: Digits = Digits::Fixed(6), with_position_digits;
        /// Digits of uvs (6).
        pub uv_digits: Digits = Digits::Fixed(6), with_uv_digits;
        /// Digits of normals (4).
        pub normal_digits: Digits = Digits::Fixed(4), with_normal_digits;
        /// Digits of colors (4).
        pub color_digits: Digits = Digits::Fixed(4), with_color_digits;
        /// The axis that faces forward (-Z, as in the files that Blender writes by default).
        pub forward_axis: Axis = Axis::NegativeZ, with_forward_axis;
        /// The axis that points up (Y).
        pub up_axis: Axis = Axis::Y, with_up_axis;
        /// Multiplies positions (1).
        pub global_scale: f32 = 1.0, with_global_scale;
        /// Write uvs.
        pub export_uv: bool = true, with_export_uv;
        /// Write normals.
        pub export_normals: bool = true, with_export_normals;
        /// Write vertex colors, if any.
        pub export_colors: bool = true, with_export_colors;
        /// Write `usemtl` and the material library.
        pub export_materials: bool = true, with_export_materials;
        /// Write the PBR extensions of materials.
        pub export_pbr_extensions: bool = true, with_export_pbr_extensions;
        /// Cut faces into triangles.
        pub export_triangulated_mesh: bool = false, with_export_triangulated_mesh;
        /// Write `g NAME` in place of `o NAME`.
        pub export_object_groups: bool = false, with_export_object_groups;
        /// Write `g OBJECT_MATERIAL` before each `usemtl`.
        pub export_material_groups: bool = false, with_export_material_groups;
        /// Write the groups that faces are in (`g`).
        pub export_groups: bool = true, with_export_groups;
        /// Write the vertex group that each face is in for the most part (`g`), of meshes that have such.
        pub export_vertex_groups: bool = false, with_export_vertex_groups;
        /// Write smoothing (`s`).
        pub export_smooth_groups: bool = true, with_export_smooth_groups;
        /// The form of `s` statements for smooth and flat faces.
        pub smoothing: Smoothing = Smoothing::Flags, with_smoothing;
        /// Write free-form curves.
        pub export_curves: bool = true, with_export_curves;
    }
}

impl ObjWriteOptions {
    /// Axes, scale, triangles.
    pub fn placement(&self) -> Placement {
        Placement {
            axes: Some(Axes { forward: self.forward_axis, up: self.up_axis }),
            global_scale: self.global_scale,
            export_triangulated_mesh: self.export_triangulated_mesh,
            ..Placement::default()
        }
    }
}
