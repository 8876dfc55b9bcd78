//! Options for writing PLY and OFF.

use super::{Digits, Placement};

crate::options! {
    /// Options for writing PLY.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PlyWriteOptions {
        /// Axes, scale, triangles.
        pub placement: Placement = Placement::default(), with_placement;
        /// The encoding of numbers (little-endian).
        pub encoding: PlyEncoding = PlyEncoding::default(), with_encoding;
        /// Digits of floats in text (the fewest that read back as the same number).
        pub digits: Digits = Digits::Shortest, with_digits;
        /// Write uvs, as `s` and `t`.
        pub export_uv: bool = true, with_export_uv;
        /// Write normals, as `nx`, `ny` and `nz`.
        pub export_normals: bool = true, with_export_normals;
        /// Write vertex colors, if any, as `red`, `green`, `blue` and, unless it is 1 everywhere, `alpha`.
        pub export_colors: bool = true, with_export_colors;
        /// Write colors as floats from 0 to 1 instead of bytes.
        pub float_colors: bool = false, with_float_colors;
    }
}

impl PlyWriteOptions {
    /// Whether anything is asked for but how numbers are stored: axes, scale, triangles, parts to leave out.
    pub fn wants_mesh(&self) -> bool {
        let PlyWriteOptions { encoding, digits, .. } = *self;
        *self != PlyWriteOptions { encoding, digits, ..PlyWriteOptions::default() }
    }
}

/// The encoding of numbers in a PLY file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlyEncoding {
    /// Text.
    Ascii,
    /// Binary, lowest byte first.
    #[default]
    LittleEndian,
    /// Binary, highest byte first.
    BigEndian,
}
