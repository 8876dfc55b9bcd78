//! Options for reading and writing images and textures, and their defaults.

crate::options! {
    /// Which image to read from a file that holds several (OpenEXR). By default the first one with full color, together
    /// with every other channel of its part.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ImageReadOptions {
        /// The layer or view whose channels are read: `diffuse` for `diffuse.R`, `diffuse.G` and `diffuse.B`. Where no
        /// channel has such a layer, the part of that name or view.
        pub layer: Option<String> = None, with_layer;
        /// The part, by its name, its number (from 0) or its view.
        pub part: Option<String> = None, with_part;
    }
}

crate::options! {
    /// Options for writing an image or a texture.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ImageWriteOptions {
        /// TGA: runs of equal pixels as packets (RLE), which is smaller and slower (default: off).
        pub tga_rle: bool = false, with_tga_rle;
        /// PNG: how hard it is packed.
        pub png_level: PngLevel = PngLevel::default(), with_png_level;
        /// JPEG: the quality, 1 (small) to 100 (nearly exact). From 90 on, colors are stored at full resolution
        /// (4:4:4), below that at half the resolution in each direction (4:2:0) (default: 90).
        pub jpeg_quality: u8 = 90, with_jpeg_quality;
        /// OpenEXR: floats of 32 bits, as they are, and not of 16, to which they are rounded (default: off).
        pub exr_float: bool = false, with_exr_float;
        /// KTX 2: the zstd level, 1 (fast) to 22 (small), for compressing each mip level; `None`: uncompressed
        /// (default: 3).
        pub ktx2_zstd_level: Option<i32> = Some(3), with_ktx2_zstd_level;
    }
}

/// How much effort to spend on compressing a PNG. The pixels are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PngLevel {
    /// Fast, and somewhat larger.
    Fast,
    /// Neither.
    #[default]
    Balanced,
    /// Small, and slow.
    Best,
}
