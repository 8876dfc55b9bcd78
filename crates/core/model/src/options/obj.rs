//! Options for writing OBJ.

use super::{Digits, SceneWriteOptions};

crate::options! {
    /// Options for writing OBJ. The defaults are those of Blender's exporter. With [`super::Dialect::Blender`], files
    /// written by Blender are reproduced byte for byte, except for comments.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ObjWriteOptions in "obj" {
        /// Decimal places of positions. Defaults to `digits`, or 6.
        pub position_digits: Option<Digits> = None, with_position_digits => [obj];
        /// Decimal places of UVs. Defaults to `digits`, or 6.
        pub uv_digits: Option<Digits> = None, with_uv_digits => [obj];
        /// Decimal places of normals. Defaults to `digits`, or 4.
        pub normal_digits: Option<Digits> = None, with_normal_digits => [obj];
        /// Decimal places of vertex colors. Defaults to `digits`, or 4.
        pub color_digits: Option<Digits> = None, with_color_digits => [obj];
        /// Write materials and the material library.
        pub materials: bool = true, with_materials => [obj], alias "export_materials";
        /// Write the PBR extensions of materials.
        pub pbr_extensions: bool = true, with_pbr_extensions => [obj], alias "export_pbr_extensions";
        /// Write `g NAME` instead of `o NAME`.
        pub object_groups: bool = false, with_object_groups => [obj], alias "export_object_groups";
        /// Write `g OBJECT_MATERIAL` before each `usemtl`.
        pub material_groups: bool = false, with_material_groups => [obj], alias "export_material_groups";
        /// Write face groups (`g`).
        pub groups: bool = true, with_groups => [obj], alias "export_groups";
        /// Write the vertex group that has the most weight on each face (`g`).
        pub vertex_groups: bool = false, with_vertex_groups => [obj], alias "export_vertex_groups";
        /// Values of `s` statements.
        pub smoothing: Smoothing = Smoothing::Flags, with_smoothing => [obj];
        /// Write free-form curves.
        pub curves: bool = true, with_curves => [obj], alias "export_curves";
    }
}

impl ObjWriteOptions {
    /// Whether the digits of positions are set.
    pub fn sets_position_digits(&self, scene: &SceneWriteOptions) -> bool {
        self.position_digits.or(scene.digits).is_some()
    }

    /// The digits of positions, UVs, normals and colors.
    pub fn all_digits(&self, scene: &SceneWriteOptions) -> [Digits; 4] {
        let digits = [(self.position_digits, 6), (self.uv_digits, 6), (self.normal_digits, 4), (self.color_digits, 4)];
        digits.map(|(digits, places)| digits.or(scene.digits).unwrap_or(Digits::Fixed(places)))
    }
}

crate::choices! {
    /// Values of `s` statements, which mark smooth faces.
    pub enum Smoothing = Flags {
        /// No `s` statements.
        "none" => None,
        /// 1 for smooth, 0 for flat faces.
        "flags" => Flags,
        /// The number of the smoothing group: smooth faces connected across edges that are not sharp.
        "groups" => Groups,
        /// As `groups`, but with one bit per group; groups that do not touch may share a bit.
        "bitflags" => BitFlags,
    }
}
