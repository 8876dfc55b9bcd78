//! Compressed PLY: Gaussian splats quantized to integers, in chunks of 256 splats that share value ranges.
//!
//! PlayCanvas tools write it as `NAME.compressed.ply`. It is PLY with only these elements (source: splat-transform,
//! <https://github.com/playcanvas/splat-transform>):
//!
//! | element | properties |
//! |---|---|
//! | `chunk` | f32s: `min_x` to `max_z`, `min_scale_x` to `max_scale_z`, and in most files `min_r` to `max_b` |
//! | `vertex` | u32s: `packed_position`, `packed_rotation`, `packed_scale`, `packed_color` |
//! | `sh`, optional | u8s: `f_rest_0` to `f_rest_N`, channel by channel |
//!
//! The components of positions and scales have 11, 10 and 11 bits, with x in the highest bits, as fractions of their
//! chunk's range. Colors are four bytes, the last of which is the opacity. A rotation is the index of its largest
//! component (w, x, y, z) in two bits, and the other components in ten bits each, from -√½ to √½. A coefficient of
//! spherical harmonics is a byte, from -4 to 4.
//!
//! `read`: tables to splats. `write`: splats to pages. `order`: Morton order.

mod order;
mod read;
mod write;

pub(super) use read::{is_packed, read};
pub use write::write;

/// Splats per chunk.
const CHUNK: usize = 256;
/// Properties of a chunk, in order; files may lack the colors.
const RANGES: [&str; 18] = [
    "min_x",
    "min_y",
    "min_z",
    "max_x",
    "max_y",
    "max_z",
    "min_scale_x",
    "min_scale_y",
    "min_scale_z",
    "max_scale_x",
    "max_scale_y",
    "max_scale_z",
    "min_r",
    "min_g",
    "min_b",
    "max_r",
    "max_g",
    "max_b",
];
/// Number of range properties that every file has.
const FEWEST_RANGES: usize = 12;
/// Properties of a splat.
const PACKED: [&str; 4] = ["packed_position", "packed_rotation", "packed_scale", "packed_color"];
/// Bits and shifts of the components of positions and scales.
const TRIPLE: [(u32, u32); 3] = [(11, 21), (10, 11), (11, 0)];
/// Maximum magnitude of a quaternion component that is not the largest.
const LARGEST_OTHER: f32 = std::f32::consts::FRAC_1_SQRT_2;
/// Maximum magnitude of a coefficient of spherical harmonics.
const LARGEST_HARMONIC: f32 = 4.0;
