//! Options for writing glTF.

crate::options! {
    /// Options for writing glTF.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct GltfWriteOptions in "gltf" {
        /// Embed images in `.glb` files. PNG and JPEG files are embedded unchanged; other images are converted to PNG.
        /// Images that are not embedded are referred to by name.
        pub embed_images: bool = true, with_embed_images => [glb];
        /// Store positions, UVs from 0 to 1 and colors in 16 bits, and normals in 8 bits (`KHR_mesh_quantization`). A
        /// position changes by at most 1/131068 of the longest side of its object's bounding box.
        pub quantize: bool = false, with_quantize => [glb];
        /// Compress vertices, indices and instances (`EXT_meshopt_compression`). Needs the feature `meshopt`.
        pub meshopt: bool = false, with_meshopt => [glb];
    }
}
