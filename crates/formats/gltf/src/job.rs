//! Input of the writer: a scene and its options.

use crate::looks::GltfImages;
use polyhaul_geometry::parts::Part;
use polyhaul_model::options::{GltfWriteOptions, Instances};
use polyhaul_model::severity::Strictness;
use polyhaul_model::{Material, Scene};
use polyhaul_pipeline::options::RunOptions;

/// A scene to write as glTF. Gaussian splats must already be Y-up: see [`polyhaul_model::splats::AXES`].
pub struct GltfJob<'a> {
    /// Scene that the parts belong to. Its faces must be triangles.
    pub scene: &'a Scene,
    /// Objects to write.
    pub parts: &'a [Part<'a>],
    /// For each mesh of the scene, whether it is evaluated.
    pub evaluated: &'a [bool],
    /// Materials of the scene; texture files are relative to the output.
    pub materials: &'a [Material],
    /// Images of the materials to embed.
    pub images: &'a GltfImages,
    /// Origin of the scene. Unless it is 0, it is written as the translation of a root node.
    pub origin: [f64; 3],
    /// Name of the output, for messages.
    pub output: &'a str,
    /// Options specific to glTF.
    pub options: &'a GltfWriteOptions,
    /// Representation of objects that share a mesh.
    pub instances: Instances,
    /// Maximum degree of spherical harmonics of Gaussian splats. glTF stores degrees up to 3.
    pub harmonics_degree: u8,
    /// Options for running the job.
    pub run: &'a RunOptions,
    /// Losses to treat as errors before the first byte is written.
    pub strict: Strictness,
}
