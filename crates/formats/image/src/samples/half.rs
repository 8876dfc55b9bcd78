//! Conversion of half floats (IEEE 754 binary16).

/// Converts a half to a float: exact, including the bits of NaN.
#[inline]
pub(crate) fn of_half(bits: u16) -> f32 {
    /// Changes the exponent bias from 15 to 127.
    const REBIAS: f32 = f32::from_bits((127 + 127 - 15) << 23);
    /// The smallest value of an infinite or NaN half after rebiasing.
    const INFINITE: f32 = f32::from_bits((127 + 16) << 23);
    // The product is exact, even for subnormal halves, which are normal floats.
    let magnitude = f32::from_bits(u32::from(bits & 0x7FFF) << 13) * REBIAS;
    let infinite = if magnitude >= INFINITE { 0xFF << 23 } else { 0 };
    f32::from_bits(magnitude.to_bits() | infinite | u32::from(bits & 0x8000) << 16)
}

/// Rounds to the nearest half, at most 65,504 in magnitude; 0 for NaN.
pub(crate) fn to_half(value: f32) -> u16 {
    let sign = if value < 0.0 { 0x8000 } else { 0 };
    let size = if value.is_nan() { 0.0 } else { value.abs().min(65504.0) };
    let bits = size.to_bits();
    if size < 6.103_515_6e-5 {
        // Subnormal halves are multiples of 2^-24.
        return sign | (f64::from(size) * f64::from(1 << 24)).round_ties_even() as u16;
    }
    // Changes the exponent bias from 127 to 15. Adding just under half of the last place rounds to nearest; adding the
    // last kept bit rounds ties to even. A carry into the exponent is correct.
    let rounded = bits - (112 << 23) + 0xFFF + (bits >> 13 & 1);
    sign | (rounded >> 13) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_has_its_value() {
        for bits in 0..=u16::MAX {
            let exponent = i32::from(bits >> 10 & 31);
            let fraction = f64::from(bits & 1023);
            let magnitude = match exponent {
                0 => fraction * 2_f64.powi(-24),
                31 if fraction == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
            };
            let expected = if bits >> 15 == 1 { -magnitude } else { magnitude } as f32;
            let value = of_half(bits);
            assert!(value == expected || value.is_nan() && expected.is_nan(), "{bits:04x}");
            assert_eq!(value.is_sign_negative(), bits >> 15 == 1, "{bits:04x}");
            if value.is_nan() {
                assert_eq!(value.to_bits() >> 13 & 1023, u32::from(bits) & 1023, "{bits:04x}");
            }
        }
    }

    #[test]
    fn halves_are_the_nearest() {
        for bits in 0..0x7C00_u16 {
            let exponent = i32::from(bits >> 10);
            let digits = f64::from(bits & 0x3FF);
            let value = match exponent {
                0 => digits * 2_f64.powi(-24),
                _ => (1024.0 + digits) * 2_f64.powi(exponent - 25),
            };
            assert_eq!(to_half(value as f32), bits);
            let step = 2_f64.powi(exponent.max(1) - 25);
            if bits < 0x7BFF {
                let above = (value + step / 2.0) as f32;
                let even = bits + (bits & 1);
                assert_eq!(
                    [to_half(above.next_down()), to_half(above), to_half(above.next_up())],
                    [bits, even, bits + 1]
                );
            }
        }
        let wild = [f32::NAN, f32::NEG_INFINITY, -1.0, f32::INFINITY, 1e9];
        assert_eq!(wild.map(to_half), [0, 0xFBFF, 0xBC00, 0x7BFF, 0x7BFF]);
    }

    #[test]
    fn halves_by_hand() {
        for (half, float) in [
            (0, 0.0),
            (0x8000, -0.0),
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x3555, 0.333_251_95),
            (0x7BFF, 65_504.0),
            (1, 5.960_464_5e-8),
            (0x03FF, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x7C00, f32::INFINITY),
        ] {
            assert_eq!(of_half(half).to_bits(), f32::to_bits(float), "{half:#x}");
        }
        assert!(of_half(0x7C01).is_nan());
    }
}
