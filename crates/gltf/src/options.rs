//! Options of the writer.

use polyhaul_mesh::options::Placement;
use polyhaul_model::Axes;

polyhaul_model::options! {
    /// Options for writing glTF.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct GltfWriteOptions {
        /// Axes and scale. By default, scenes are turned to the axes of glTF: up is Y, and models look along Z.
        pub placement: Placement = Placement::default().with_axes(Some(Axes::OBJ)), with_placement;
        /// Store images in `.glb` files, and not their names: PNG and JPEG files as they are, others as PNG.
        pub embed_images: bool = true, with_embed_images;
    }
}

impl GltfWriteOptions {
    /// The same options with another placement, whose axes are those of glTF if it has none.
    #[must_use]
    pub fn placed(self, placement: Placement) -> Self {
        self.with_placement(placement.with_axes(placement.axes.or(Some(Axes::OBJ))))
    }
}
