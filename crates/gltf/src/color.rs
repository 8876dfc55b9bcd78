//! Colors of vertices: linear in glTF, and as on a screen (sRGB) in the model, like those of OBJ and PLY files.
//!
//! Source: IEC 61966-2-1.

use std::sync::LazyLock;

/// The linear values of bytes, of which most colors are made.
static OF_BYTES: LazyLock<[f32; 256]> = LazyLock::new(|| std::array::from_fn(|byte| exact_linear(byte as f32 / 255.0)));

/// The linear value of an sRGB value; both from 0 to 1.
pub(crate) fn linear(value: f32) -> f32 {
    let byte = (value.clamp(0.0, 1.0) * 255.0).round();
    if byte / 255.0 == value { OF_BYTES[byte as usize] } else { exact_linear(value.clamp(0.0, 1.0)) }
}

fn exact_linear(value: f32) -> f32 {
    let value = f64::from(value);
    (if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }) as f32
}

/// The sRGB value of a linear value; both from 0 to 1. A value that a byte became is that of the byte again.
pub(crate) fn screen(value: f32) -> f32 {
    let value = f64::from(value.clamp(0.0, 1.0));
    let exact = if value <= 0.003_130_8 { value * 12.92 } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 };
    let byte = ((exact * 255.0).round() / 255.0) as f32;
    if linear(byte) == value as f32 { byte } else { exact as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_the_way_there_and_back() {
        for byte in 0..=255_u8 {
            let value = f32::from(byte) / 255.0;
            assert_eq!(screen(linear(value)), value);
        }
        assert_eq!([linear(0.0), linear(1.0), linear(2.0), linear(-1.0)], [0.0, 1.0, 1.0, 0.0]);
        assert!((linear(0.5) - 0.214_041).abs() < 1e-6 && (screen(0.214_041) - 0.5).abs() < 1e-6);
    }
}
