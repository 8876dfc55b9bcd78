//! Options for reading and writing images and textures.

crate::options! {
    /// How to read an image. From a file that holds several (OpenEXR), the first one with full color is read by
    /// default, together with every other channel of its part.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ImageReadOptions in "image" {
        /// Read only the channels of this layer or view: `diffuse` for `diffuse.R`, `diffuse.G` and `diffuse.B`. If no
        /// channel has such a layer, the part with that name or view is read.
        pub layer: Option<String> = None, with_layer => [exr];
        /// Read this part, by its name, its number (from 0) or its view. By default the first part with colors.
        pub part: Option<String> = None, with_part => [exr];
        /// Apply the EXIF orientation. By default pixels are kept as stored, with a warning.
        pub orient: bool = false, with_orient => [jpg, png];
    }
}

crate::options! {
    /// Options for writing an image or a texture.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ImageWriteOptions in "image" {
        /// Use run-length encoding, which is smaller and slower.
        pub rle: bool = false, with_rle => [tga];
        /// Compression effort for PNG. The pixels are the same at every level.
        pub png_level: PngLevel = PngLevel::Balanced, with_png_level => [png];
        /// JPEG quality, from 1 (small) to 100 (nearly lossless). At 90 and above, chroma has full resolution
        /// (4:4:4). Below 90, it has half the resolution in each direction (4:2:0).
        pub quality: u8 = 90, with_quality => [jpg] in 1..=100;
        /// Write 32-bit floats unchanged instead of rounding them to 16 bits.
        pub exr_float: bool = false, with_exr_float => [exr];
        /// The zstd level for compressing each mip level, from 1 (fast) to 22 (small), or 0 for no compression.
        pub zstd_level: i32 = 3, with_zstd_level => [ktx2] in 0..=22;
    }
}

crate::choices! {
    /// The compression effort for PNG. The pixels are the same at every level.
    pub enum PngLevel = Balanced {
        /// Fast, slightly larger files.
        "fast" => Fast,
        /// Balance of speed and size.
        "balanced" => Balanced,
        /// Slow, small files.
        "best" => Best,
    }
}
