//! Options for writing pbrt scenes.

use super::value::{OptionKind, OptionValue};

crate::options! {
    /// Options for writing pbrt scenes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PbrtWriteOptions in "pbrt" {
        /// Write one item per line without indentation.
        pub compact: bool = false, with_compact => [pbrt];
        /// Where the arrays of meshes are stored: in the text, or in PLY files next to the scene.
        pub meshes: PbrtMeshes = PbrtMeshes::Keep, with_meshes => [pbrt];
        /// Split the scene into about this many files of equal size, imported by the main file. Named items stay in the
        /// main file, which is written last. With 0 or 1, the scene is a single file.
        pub parts: usize = 0, with_parts => [pbrt] in 0..=5000;
    }
}

/// Where to put the arrays of meshes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PbrtMeshes {
    /// Unchanged: in the text, or in the files that the scene refers to.
    #[default]
    Keep,
    /// In the text, including the arrays of mesh files that were read. Mesh files whose faces are neither all
    /// triangles nor all quads stay files.
    Inline,
    /// In PLY files next to the scene, for triangle meshes with at least this many vertices. Mesh files that the scene
    /// refers to stay.
    Ply {
        /// The minimum number of vertices.
        vertices: u64,
    },
}

impl OptionValue for PbrtMeshes {
    const KIND: OptionKind = OptionKind::Special {
        name: "Meshes",
        expected: "keep, inline, ply or ply:N, where N is the minimum number of vertices",
        words: &["keep", "inline", "ply"],
    };

    fn parse(text: &str) -> Result<PbrtMeshes, String> {
        match text.split_once(':').map_or((text, None), |(word, count)| (word, Some(count.parse()))) {
            ("keep", None) => Ok(PbrtMeshes::Keep),
            ("inline", None) => Ok(PbrtMeshes::Inline),
            ("ply", None) => Ok(PbrtMeshes::Ply { vertices: 0 }),
            ("ply", Some(Ok(vertices))) => Ok(PbrtMeshes::Ply { vertices }),
            _ => Err(format!("expected {}", Self::KIND.expected())),
        }
    }

    fn print(&self) -> String {
        match self {
            PbrtMeshes::Keep => "keep".into(),
            PbrtMeshes::Inline => "inline".into(),
            PbrtMeshes::Ply { vertices: 0 } => "ply".into(),
            PbrtMeshes::Ply { vertices } => format!("ply:{vertices}"),
        }
    }
}
