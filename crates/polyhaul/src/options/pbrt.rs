//! How pbrt scenes are written.

/// How pbrt scenes are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PbrtStyle {
    /// Without indentation, and a thing on a line.
    pub compact: bool,
    /// Where the arrays of meshes go (into the text).
    pub meshes: PbrtMeshes,
    /// About how many files shapes and instances are spread over, all about as long, which the main one imports. Less
    /// than 2 (the default) makes one file. What has a name stays in the main file.
    pub parts: usize,
}

/// Where the arrays of meshes go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PbrtMeshes {
    /// Into the text.
    #[default]
    Inline,
    /// Into PLY files beside the scene, with triangles of at least so many vertices.
    Ply {
        /// The least vertices.
        vertices: u64,
    },
}
