//! Options of the writer.

use super::Placement;
use crate::Axes;

/// How objects that share a mesh are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GltfInstances {
    /// As instances of one node (`EXT_mesh_gpu_instancing`) if no name is lost by that: if objects have the same name,
    /// like the instances of a pbrt scene, or the names `NAME_0`, `NAME_1`, `NAME_2`, which readers give to instances.
    /// Other objects are nodes.
    #[default]
    Auto,
    /// As instances of one node, whatever their names are.
    Gpu,
    /// As a node each, for readers that do not know the extension.
    Nodes,
}

crate::options! {
    /// Options for writing glTF.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct GltfWriteOptions {
        /// Axes and scale. By default, scenes are turned to the axes of glTF: up is Y, and models look along Z.
        pub placement: Placement = Placement::default().with_axes(Some(Axes::OBJ)), with_placement;
        /// Store images in `.glb` files, and not their names: PNG and JPEG files as they are, others as PNG.
        pub embed_images: bool = true, with_embed_images;
        /// How to store objects that share a mesh.
        pub instances: GltfInstances = GltfInstances::Auto, with_instances;
        /// Store positions, uvs from 0 to 1 and colors in 16 bits, and normals in 8 bits (`KHR_mesh_quantization`). A
        /// position changes by at most 1/65534 of half the longest side of its object's box.
        pub quantize: bool = false, with_quantize;
        /// Compress vertices, indices and instances (`EXT_meshopt_compression`). Needs the feature `meshopt`.
        pub meshopt: bool = false, with_meshopt;
    }
}

impl GltfWriteOptions {
    /// The same options with another placement, whose axes are those of glTF if it has none.
    #[must_use]
    pub fn placed(self, placement: Placement) -> Self {
        self.with_placement(placement.with_axes(placement.axes.or(Some(Axes::OBJ))))
    }
}
