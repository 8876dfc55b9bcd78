//! The scene to write, with its options.

use crate::looks::GltfImages;
use polyhaul_geometry::parts::Part;
use polyhaul_model::options::{GltfWriteOptions, Instances};
use polyhaul_model::severity::Strictness;
use polyhaul_model::{Material, Scene};
use polyhaul_pipeline::options::RunOptions;

/// A scene to write as glTF. If it has Gaussian splats, y is up already: see [`polyhaul_model::splats::AXES`].
pub struct GltfJob<'a> {
    /// The scene that the parts belong to; its faces are triangles.
    pub scene: &'a Scene,
    /// Its objects.
    pub parts: &'a [Part<'a>],
    /// For each mesh, whether it is evaluated.
    pub evaluated: &'a [bool],
    /// Its materials, with files named relative to the output.
    pub materials: &'a [Material],
    /// The images of the materials to embed.
    pub images: &'a GltfImages,
    /// Where the origin of the scene is: the translation of a root node, unless it is 0.
    pub origin: [f64; 3],
    /// The name of the output, for messages.
    pub output: &'a str,
    /// The format's own options.
    pub options: &'a GltfWriteOptions,
    /// How objects that share a mesh are written.
    pub instances: Instances,
    /// The highest degree of spherical harmonics of Gaussian splats; glTF stores 3.
    pub harmonics_degree: u8,
    /// Options for running the job.
    pub run: &'a RunOptions,
    /// Whether a loss is an error, returned before the first byte is written.
    pub strict: Strictness,
}
