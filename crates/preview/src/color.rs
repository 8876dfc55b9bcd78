//! Color conversion between sRGB and linear light, and distinct colors for IDs.
//!
//! Holds only the functions that shading needs; image conversion is in the `polyhaul-image` crate.

use std::sync::LazyLock;

/// A linear color for an ID; consecutive IDs get different colors.
pub(crate) fn id_color(number: u32) -> [f32; 3] {
    // Fibonacci hashing: 2^32 divided by the golden ratio.
    let mixed = number.wrapping_add(1).wrapping_mul(0x9E37_79B1);
    [mixed >> 24, mixed >> 16 & 0xFF, mixed >> 8 & 0xFF].map(|byte| linear_of(0.25 + 0.75 * byte as f32 / 255.0))
}

/// Decodes an sRGB value to linear light (IEC 61966-2-1).
pub(crate) fn linear_of(value: f32) -> f32 {
    let value = value.clamp(0.0, 1.0);
    if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

pub(crate) fn linear(byte: u8) -> f32 {
    // A table lookup takes a nanosecond, `powf` fifty.
    static TABLE: LazyLock<[f32; 256]> = LazyLock::new(|| std::array::from_fn(|byte| linear_of(byte as f32 / 255.0)));
    TABLE[usize::from(byte)]
}

/// Encodes linear light as an sRGB byte.
pub(crate) fn encoded(value: f32) -> u8 {
    (255.0 * encoded_part(value)).round() as u8
}

/// Encodes linear light as an sRGB value from 0 to 1.
pub(crate) fn encoded_part(value: f32) -> f32 {
    let value = value.clamp(0.0, 1.0);
    if value <= 0.003_130_8 { 12.92 * value } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_encoded_as_they_were() {
        assert!((0..=255u8).all(|byte| encoded(linear(byte)) == byte));
        assert_eq!((encoded(-1.0), encoded(2.0), encoded(f32::NAN)), (0, 255, 0));
    }
}
