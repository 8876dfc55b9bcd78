//! Options for writing glTF.

crate::options! {
    /// Options for writing glTF.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct GltfWriteOptions in "gltf" {
        /// Store images in `.glb` files, and not their names. PNG and JPEG files stay as they are, others become PNG.
        pub embed_images: bool = true, with_embed_images => [glb];
        /// Store positions, uvs from 0 to 1 and colors in 16 bits, and normals in 8 bits (`KHR_mesh_quantization`). A
        /// position changes by at most 1/65534 of half the longest side of its object's box.
        pub quantize: bool = false, with_quantize => [glb];
        /// Compress vertices, indices and instances (`EXT_meshopt_compression`). Needs the feature `meshopt`.
        pub meshopt: bool = false, with_meshopt => [glb];
    }
}
