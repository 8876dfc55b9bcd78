//! Quantizes single values of SPZ, and restores them.

use super::turn;
use crate::pages::byte;
use crate::records::ByteTable;
use polyhaul_model::splats::{logit_of, unit_quaternion};
use std::f32::consts::FRAC_1_SQRT_2;

/// Maximum number of fractional bits in a 24-bit position.
pub(super) const MAX_FRACTIONAL_BITS: u8 = 24;
/// Maximum and minimum integer for a position.
const MAX_POSITION: f32 = 8_388_607.0;
const MIN_POSITION: f32 = -8_388_608.0;
/// Maximum magnitude of a rotation component, which has 9 bits.
const MAX_PART: u32 = (1 << 9) - 1;

pub(super) fn opacities() -> ByteTable {
    std::array::from_fn(|byte| logit_of(byte as f32 / 255.0))
}

pub(super) fn colors() -> ByteTable {
    // 0.15 is the color scale of the format: a byte covers harmonics of -3.3 to 3.3, in steps of 1/38.
    std::array::from_fn(|byte| (byte as f32 / 255.0 - 0.5) / 0.15)
}

pub(super) fn scales() -> ByteTable {
    // Logarithms from -10 to 5.94 in steps of 1/16: standard deviations from 0.000045 to 379.
    std::array::from_fn(|byte| byte as f32 / 16.0 - 10.0)
}

pub(super) fn harmonics(sign: f32) -> ByteTable {
    // Adding 0 turns -0 into 0.
    std::array::from_fn(|byte| sign * (byte as f32 - 128.0) / 128.0 + 0.0)
}

/// Quantizes a constant harmonic. Also returns 1 if it was clamped, otherwise 0.
pub(super) fn color(harmonic: f32) -> (u8, u64) {
    byte(harmonic * (0.15 * 255.0) + 127.5)
}

/// Quantizes the logarithm of a scale. Also returns 1 if it was clamped, otherwise 0.
pub(super) fn scale(logarithm: f32) -> (u8, u64) {
    byte((logarithm + 10.0) * 16.0)
}

/// Quantizes a harmonic to one of `steps` levels, a power of two. Also returns 1 if it was clamped, otherwise 0.
pub(super) fn harmonic(value: f32, steps: u32) -> (u8, u64) {
    // NaN is not in the range, so it is counted too; `byte` turns it into 0.
    let is_cut = !(-1.0..=1.0).contains(&value);
    let (byte, _) = byte(value * 128.0 + 128.0);
    let width = 256 / steps;
    // Round to the nearest level.
    let rounded = (u32::from(byte) + width / 2) & !(width - 1);
    // The highest level, 256, does not fit in a byte.
    (rounded.min(255) as u8, u64::from(is_cut))
}

/// Quantizes `value * scale` to 24 bits. Also returns 1 if it was clamped, otherwise 0.
pub(super) fn coordinate(value: f32, scale: f32) -> ([u8; 3], u64) {
    let scaled = value * scale;
    let is_cut = !(MIN_POSITION..=MAX_POSITION).contains(&scaled);
    // Round half away from zero: the cast truncates.
    let rounded = (scaled + 0.5f32.copysign(scaled)).clamp(MIN_POSITION, MAX_POSITION) as i32;
    let [a, b, c, _] = rounded.to_le_bytes();
    ([a, b, c], u64::from(is_cut))
}

/// Converts 24 bits to an integer.
pub(super) fn integer([a, b, c]: [u8; 3]) -> i32 {
    // The shift extends the sign.
    i32::from_le_bytes([0, a, b, c]) >> 8
}

/// Converts a half (IEEE 754 binary16) to a float.
pub(super) fn half(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15);
    let exponent = u32::from(bits >> 10 & 31);
    let fraction = u32::from(bits & 1023);
    let size = match exponent {
        // Subnormal numbers are multiples of 2^-24.
        0 => fraction as f32 / 16_777_216.0,
        31 => f32::from_bits(255 << 23 | fraction << 13),
        // 112 is the difference between the exponent biases, 127 and 15; the fractions have 23 and 10 bits.
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    if sign == 1 { -size } else { size }
}

/// Normalizes a quaternion and converts it to SPZ's axes: x, y, z, w.
fn turned([w, x, y, z]: [f32; 4]) -> [f32; 4] {
    let [_, a, b, c] = turn::ROTATION;
    let [w, x, y, z] = unit_quaternion([w, a * x, b * y, c * z]);
    [x, y, z, w]
}

/// Converts a quaternion x, y, z, w to PLY's axes.
fn unturned([x, y, z, w]: [f32; 4]) -> [f32; 4] {
    let [_, a, b, c] = turn::ROTATION;
    [w, a * x, b * y, c * z]
}

/// Packs a rotation without its largest component, which the other components determine.
pub(super) fn long_rotation(quaternion: [f32; 4]) -> [u8; 4] {
    let parts = turned(quaternion);
    let largest = (1..4).fold(0, |best: usize, at| if parts[at].abs() > parts[best].abs() { at } else { best });
    // A quaternion and its negative are the same rotation, so the largest component is stored as positive.
    let is_negative = parts[largest] < 0.0;
    let others = (0..4).filter(|at| *at != largest).map(|at| parts[at]);
    // Three shifts by 10 bits leave the index in the two highest bits.
    let packed = others.fold(largest as u32, |packed, part| {
        // Only the largest component of a unit quaternion can exceed 1/√2, so the 9 bits cover no larger values.
        let size = (MAX_PART as f32 * (part.abs() / FRAC_1_SQRT_2) + 0.5) as u32;
        packed << 10 | u32::from((part < 0.0) != is_negative) << 9 | size.min(MAX_PART)
    });
    packed.to_le_bytes()
}

/// Unpacks a 4-byte rotation: w, x, y, z.
pub(super) fn of_long_rotation(bytes: [u8; 4]) -> [f32; 4] {
    let packed = u32::from_le_bytes(bytes);
    let largest = (packed >> 30) as usize;
    let others = [20, 10, 0].map(|shift| {
        let size = (packed >> shift & MAX_PART) as f32 / MAX_PART as f32 * FRAC_1_SQRT_2;
        if packed >> shift >> 9 & 1 == 1 { -size } else { size }
    });
    let square: f32 = others.iter().map(|part| part * part).sum();
    let mut parts = [(1.0 - square).max(0.0).sqrt(); 4];
    (0..4).filter(|at| *at != largest).zip(others).for_each(|(at, part)| parts[at] = part);
    unturned(parts)
}

/// Packs a rotation as x, y, z. Negates it if w is negative, since readers assume a positive w.
pub(super) fn short_rotation(quaternion: [f32; 4]) -> [u8; 3] {
    let [x, y, z, w] = turned(quaternion);
    let sign = if w < 0.0 { -1.0 } else { 1.0 };
    [x, y, z].map(|part| byte(127.5 * sign * part + 127.5).0)
}

/// Unpacks a 3-byte rotation: w, x, y, z.
pub(super) fn of_short_rotation(bytes: [u8; 3]) -> [f32; 4] {
    let [x, y, z] = bytes.map(|byte| f32::from(byte) / 127.5 - 1.0);
    let w = (1.0 - (x * x + y * y + z * z)).max(0.0).sqrt();
    unturned([x, y, z, w])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_are_close_after_packing() {
        let angle = |a: [f32; 4], b: [f32; 4]| 1.0 - a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>().abs();
        for step in 0..2000 {
            let part = |of: f32| (step as f32 * of).sin();
            let quaternion = unit_quaternion([part(0.7), part(1.3), part(2.1), part(3.7)]);
            assert!(angle(quaternion, of_long_rotation(long_rotation(quaternion))) < 4e-6, "{quaternion:?}");
            assert!(angle(quaternion, of_short_rotation(short_rotation(quaternion))) < 8e-3, "{quaternion:?}");
        }
    }

    #[test]
    fn coordinates_are_rounded_and_cut() {
        for (value, expected, cut) in [
            (1.0, 4096, 0),
            (-1.0, -4096, 0),
            (0.000_1, 0, 0),
            (0.000_13, 1, 0),
            (-2048.0, -8_388_608, 0),
            (3000.0, 8_388_607, 1),
            (f32::NEG_INFINITY, -8_388_608, 1),
            (f32::NAN, 0, 1),
        ] {
            let (bytes, is_cut) = coordinate(value, 4096.0);
            assert_eq!((integer(bytes), is_cut), (expected, cut), "{value}");
        }
    }

    #[test]
    fn harmonics_have_few_steps_and_0_is_one() {
        assert_eq!(harmonic(0.0, 32), (128, 0));
        assert_eq!(harmonic(0.03, 32), (136, 0));
        assert_eq!(harmonic(0.03, 16), (128, 0));
        assert_eq!(harmonic(1.0, 16), (255, 0));
        assert_eq!(harmonic(-1.0, 16), (0, 0));
        assert_eq!(harmonic(3.0, 16), (255, 1));
        let table = harmonics(-1.0);
        assert_eq!((table[128], table[0]), (0.0, 1.0));
    }

    #[test]
    fn halves_are_floats() {
        for (bits, expected) in [(0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_95), (1, 5.960_464_5e-8), (0, 0.0)] {
            assert_eq!(half(bits), expected);
        }
        assert!(half(0x7c00).is_infinite() && half(0x7e00).is_nan());
    }
}
