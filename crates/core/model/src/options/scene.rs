//! Options that several formats share.

use crate::Axes;

crate::options! {
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

/// The number of digits in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// This many digits after the point, 0 to 12: the bytes of C's `%.Nf`.
    Fixed(u8),
    /// The fewest digits that read back as the same number.
    Shortest,
}
