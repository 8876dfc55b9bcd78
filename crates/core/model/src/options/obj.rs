//! Options for reading and writing OBJ.

use super::{Digits, Placement};
use crate::{Axes, Axis};

crate::options! {
    /// Options for reading OBJ.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ObjReadOptions {
        /// The text is a part of a file, from the beginning of a line on, so corners may refer to vertices in other
        /// parts. Their indices are those of the whole file, and it is up to the caller to check them. What needs the
        /// parts before it is an error ([`Unsupported`](crate::error::ErrorKind::Unsupported)): indices that
        /// count backwards, polypaint and curves.
        pub is_part: bool = false, with_is_part;
    }
}

/// The meaning of `s` for faces.
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

crate::options! {
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
        Placement::default()
            .with_axes(Some(Axes { forward: self.forward_axis, up: self.up_axis }))
            .with_global_scale(self.global_scale)
            .with_export_triangulated_mesh(self.export_triangulated_mesh)
    }
}
