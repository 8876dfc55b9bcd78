//! Floats of 16 bits (IEEE 754 binary16).

/// The number that 16 bits mean: exact, and the bits of what is no number stay.
#[inline]
pub(super) fn to_float(bits: u16) -> f32 {
    /// What moves the exponent from a bias of 15 to one of 127.
    const REBIAS: f32 = f32::from_bits((127 + 127 - 15) << 23);
    /// What the largest exponent becomes then.
    const INFINITE: f32 = f32::from_bits((127 + 16) << 23);
    let magnitude = f32::from_bits(u32::from(bits & 0x7FFF) << 13) * REBIAS;
    let infinite = if magnitude >= INFINITE { 0xFF << 23 } else { 0 };
    f32::from_bits(magnitude.to_bits() | infinite | u32::from(bits & 0x8000) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_are_what_they_mean() {
        for bits in 0..=u16::MAX {
            let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
            let magnitude = match exponent {
                0 => fraction * 2_f64.powi(-24),
                31 if fraction == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
            };
            let wanted = if bits >> 15 == 1 { -magnitude } else { magnitude } as f32;
            let found = to_float(bits);
            assert!(found == wanted || found.is_nan() && wanted.is_nan(), "{bits:04x}");
            assert_eq!(found.is_sign_negative(), bits >> 15 == 1, "{bits:04x}");
            if found.is_nan() {
                assert_eq!(found.to_bits() >> 13 & 1023, u32::from(bits) & 1023, "{bits:04x}");
            }
        }
    }
}
