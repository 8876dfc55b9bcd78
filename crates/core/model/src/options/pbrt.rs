//! Options for writing pbrt scenes.

crate::options! {
    /// Options for writing pbrt scenes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PbrtWriteOptions {
        /// Without indentation, and a thing on a line.
        pub compact: bool = false, with_compact;
        /// Where to put the arrays of meshes (they stay where they are).
        pub meshes: PbrtMeshes = PbrtMeshes::default(), with_meshes;
        /// The approximate number of files over which to spread shapes and instances, all about as long, which the main
        /// one imports. Less than 2 (the default) makes one file. Everything with a name stays in the main file, which
        /// is put in place after all parts and meshes.
        pub parts: usize = 0, with_parts;
    }
}

/// How to convert the instances of a scene for a renderer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instances {
    /// As the format allows: pbrt and glTF keep them, for the others each becomes a separate object.
    #[default]
    AsFormat,
    /// Each instance becomes separate shapes or objects, at its place.
    Flatten,
    /// Each definition appears once, under its name and where it was defined. Instances are dropped.
    Once,
}

/// Where to put the arrays of meshes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PbrtMeshes {
    /// They stay where they are: in the text, or in the files that the scene names.
    #[default]
    Keep,
    /// Into the text, including those of files that were read. Meshes with faces other than only triangles or only
    /// quads stay.
    Inline,
    /// Into PLY files next to the scene, for triangles with at least this many vertices. The scene's own files stay.
    Ply {
        /// The least vertices.
        vertices: u64,
    },
}
