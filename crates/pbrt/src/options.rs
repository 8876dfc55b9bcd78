//! How pbrt scenes are written.

polyhaul_model::options! {
    /// How pbrt scenes are written.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PbrtWriteOptions {
        /// Without indentation, and a thing on a line.
        pub compact: bool = false, with_compact;
        /// Where the arrays of meshes go (they stay where they are).
        pub meshes: PbrtMeshes = PbrtMeshes::default(), with_meshes;
        /// About how many files shapes and instances are spread over, all about as long, which the main one imports.
        /// Less than 2 (the default) makes one file. What has a name stays in the main file, which takes its place when
        /// all parts and meshes have theirs.
        pub parts: usize = 0, with_parts;
    }
}

/// What becomes of the instances of a scene for a renderer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Instances {
    /// As the format can: pbrt keeps them, the others get each as an object of its own.
    #[default]
    AsFormat,
    /// Each instance becomes shapes or objects of its own, where it stands.
    Flatten,
    /// Each definition stands once, under its name and where it was defined. Instances are left out.
    Once,
}

/// Where the arrays of meshes go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PbrtMeshes {
    /// They stay where they are: in the text, or in the files that the scene names.
    #[default]
    Keep,
    /// Into the text, those of files that were read too. What is no mesh of triangles or of quads alone stays.
    Inline,
    /// Into PLY files beside the scene, with triangles of at least so many vertices. The scene's own files stay.
    Ply {
        /// The least vertices.
        vertices: u64,
    },
}
