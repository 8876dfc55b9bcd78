//! Converts vertex colors: linear in glTF, sRGB in the model, as in OBJ and PLY files.
//!
//! The transfer functions are in `polyhaul_model::srgb`, which images use as well.

use polyhaul_model::srgb;
use std::sync::LazyLock;

/// Linear values of the 256 sRGB bytes. Most colors originate from bytes, for which a look-up in this table replaces a
/// power function.
static LINEAR_OF_BYTE: LazyLock<[f32; 256]> =
    LazyLock::new(|| std::array::from_fn(|byte| exact_linear(byte as f32 / 255.0)));

/// Converts an sRGB value, clamped to the range 0 to 1, to linear.
pub(crate) fn linear(value: f32) -> f32 {
    let byte = (value.clamp(0.0, 1.0) * 255.0).round();
    // The comparison also excludes NaN and values that were clamped, so the index is the byte of `value` itself.
    if byte / 255.0 == value { LINEAR_OF_BYTE[byte as usize] } else { exact_linear(value.clamp(0.0, 1.0)) }
}

fn exact_linear(value: f32) -> f32 {
    srgb::light(f64::from(value)) as f32
}

/// Converts a linear value, clamped to the range 0 to 1, to sRGB. A value that was converted from a byte yields exactly
/// that byte again.
pub(crate) fn screen(value: f32) -> f32 {
    let value = f64::from(value.clamp(0.0, 1.0));
    let exact = srgb::code(value);
    let byte = ((exact * 255.0).round() / 255.0) as f32;
    if linear(byte) == value as f32 { byte } else { exact as f32 }
}

/// Returns whether a color is stored without clamping: all values are from 0 to 1, and none is NaN.
pub(crate) fn is_in_range(color: &[f32; 4]) -> bool {
    color.iter().all(|value| (0.0..=1.0).contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_a_round_trip() {
        for byte in 0..=255_u8 {
            let value = f32::from(byte) / 255.0;
            assert_eq!(screen(linear(value)), value);
        }
        assert_eq!([linear(0.0), linear(1.0), linear(2.0), linear(-1.0)], [0.0, 1.0, 1.0, 0.0]);
        assert!((linear(0.5) - 0.214_041).abs() < 1e-6 && (screen(0.214_041) - 0.5).abs() < 1e-6);
    }
}
