//! Pixels of four bytes in sRGB as vectors of light, each by a few loads of whole vectors.
//!
//! The values equal the ones of `samples`, to the last bit.

use crate::samples::BYTES;
use std::sync::LazyLock;

/// Tables of vectors. The three colors share one: loading a vector that starts `n` elements earlier moves its value `n`
/// elements later.
pub(super) struct MipmapLights {
    /// The bits of a color's light after three zeros, and zeros.
    colors: [[u32; 8]; 256],
    /// Three zeros, and the bits of alpha from 0 to 1.
    alphas: [[u32; 4]; 256],
    /// The factors of a pixel that is weighted by its alpha.
    weights: [[f32; 4]; 256],
    /// Each number four times.
    shares: [[f32; 4]; 256],
}

/// Made on first use.
pub(super) static LIGHTS: LazyLock<MipmapLights> = LazyLock::new(|| {
    let mut tables = MipmapLights {
        colors: [[0; 8]; 256],
        alphas: [[0; 4]; 256],
        weights: [[1.0; 4]; 256],
        shares: std::array::from_fn(|number| [number as f32; 4]),
    };
    for (code, (light, alpha)) in BYTES.light.into_iter().zip(BYTES.plain).enumerate() {
        tables.colors[code][3] = light.to_bits();
        tables.alphas[code][3] = alpha.to_bits();
        tables.weights[code][..3].fill(super::weight(alpha));
    }
    tables
});

impl MipmapLights {
    /// The bits of the light of the colors, and of nothing.
    #[inline(always)]
    fn light(&self, [r, g, b, _]: [u8; 4]) -> [u32; 4] {
        let [r, g, b] = [r, g, b].map(|code| &self.colors[usize::from(code)]);
        std::array::from_fn(|at| r[3 + at] | g[2 + at] | b[1 + at])
    }

    /// Light of the colors, and alpha.
    #[inline(always)]
    pub(super) fn pixel(&self, pixel: [u8; 4]) -> [f32; 4] {
        let light = self.light(pixel);
        let alpha = &self.alphas[usize::from(pixel[3])];
        std::array::from_fn(|at| f32::from_bits(light[at] | alpha[at]))
    }

    /// The mean of the light of four pixels, weighted by their alpha.
    #[inline(always)]
    pub(super) fn mean(&self, four: [&[u8; 4]; 4]) -> [f32; 4] {
        let alphas = four.map(|pixel| pixel[3]);
        let [a, b, c, d] = four.map(|pixel| self.light(*pixel).map(f32::from_bits));
        // Most pixels have the same alpha as their neighbors. If it is 0, all of them count equally.
        if alphas == [alphas[0]; 4] {
            return std::array::from_fn(|at| ((a[at] + b[at]) + (c[at] + d[at])) * 0.25);
        }
        let [of_a, of_b, of_c, of_d] = alphas.map(|alpha| &self.shares[usize::from(alpha)]);
        std::array::from_fn(|at| {
            let by = 1.0 / ((of_a[at] + of_b[at]) + (of_c[at] + of_d[at]));
            ((a[at] * of_a[at] + b[at] * of_b[at]) + (c[at] * of_c[at] + d[at] * of_d[at])) * by
        })
    }

    /// The same with colors weighted by alpha.
    #[inline(always)]
    pub(super) fn weighted(&self, pixel: [u8; 4]) -> [f32; 4] {
        let light = self.pixel(pixel);
        let weights = &self.weights[usize::from(pixel[3])];
        std::array::from_fn(|at| light[at] * weights[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_channel_has_its_place() {
        let pixel = [10, 100, 200, 77];
        let [r, g, b] = [10, 100, 200].map(|code: usize| BYTES.light[code]);
        let alpha = 77.0 / 255.0_f32;
        let by = 77.0 / 255.0 + super::super::TRACE;
        assert_eq!(LIGHTS.pixel(pixel), [r, g, b, alpha]);
        assert_eq!(LIGHTS.weighted(pixel), [r * by, g * by, b * by, alpha]);
    }
}
