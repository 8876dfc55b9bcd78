//! Converts 8-bit sRGB pixels with alpha to vectors of linear light with a few vector loads.
//!
//! The values equal those of `samples`, bit for bit.

use crate::samples::BYTES;
use std::sync::LazyLock;

/// Lookup tables of vectors. The three colors share one table: loading `n` elements earlier moves the value `n` lanes
/// to the right.
pub(super) struct MipmapLights {
    /// Three zeros, the bits of a color's light, and zeros.
    colors: [[u32; 8]; 256],
    /// Three zeros, and the bits of alpha from 0 to 1.
    alphas: [[u32; 4]; 256],
    /// Factors for weighting a pixel by its alpha.
    weights: [[f32; 4]; 256],
    /// Each byte as a float in all four lanes.
    shares: [[f32; 4]; 256],
}

/// Built on first use.
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
    /// Returns the bits of the light of the colors; the last lane is 0.
    #[inline(always)]
    fn light(&self, [r, g, b, _]: [u8; 4]) -> [u32; 4] {
        let [r, g, b] = [r, g, b].map(|code| &self.colors[usize::from(code)]);
        std::array::from_fn(|at| r[3 + at] | g[2 + at] | b[1 + at])
    }

    /// Converts a pixel: light of the colors, and alpha.
    #[inline(always)]
    pub(super) fn pixel(&self, pixel: [u8; 4]) -> [f32; 4] {
        let light = self.light(pixel);
        let alpha = &self.alphas[usize::from(pixel[3])];
        std::array::from_fn(|at| f32::from_bits(light[at] | alpha[at]))
    }

    /// Averages the light of four pixels, weighted by alpha.
    #[inline(always)]
    pub(super) fn mean(&self, four: [&[u8; 4]; 4]) -> [f32; 4] {
        let alphas = four.map(|pixel| pixel[3]);
        let [a, b, c, d] = four.map(|pixel| self.light(*pixel).map(f32::from_bits));
        // Most pixels have the same alpha as their neighbors. This also covers an alpha of 0, with equal weights.
        if alphas == [alphas[0]; 4] {
            return std::array::from_fn(|at| ((a[at] + b[at]) + (c[at] + d[at])) * 0.25);
        }
        let [of_a, of_b, of_c, of_d] = alphas.map(|alpha| &self.shares[usize::from(alpha)]);
        std::array::from_fn(|at| {
            let by = 1.0 / ((of_a[at] + of_b[at]) + (of_c[at] + of_d[at]));
            ((a[at] * of_a[at] + b[at] * of_b[at]) + (c[at] * of_c[at] + d[at] * of_d[at])) * by
        })
    }

    /// Converts a pixel, with colors weighted by alpha.
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
