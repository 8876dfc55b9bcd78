//! Weighted sums of rows, for both directions of a filter.
//!
//! Terms are added in the order of the weights, and products are not fused with additions, so every instruction set
//! produces the same floats. Independent of pixels and edges.

use polyhaul_text::cpu::Level;

/// Number of samples summed up together, in 8 registers. With fewer, each addition would wait for the previous one.
const TILE: usize = 32;
#[cfg(target_arch = "x86_64")]
const TILE_AVX2: usize = 64;

/// Sets `sum` to the weighted sum of one row per weight; row `n` starts at `starts[n]` in `from`.
pub(super) fn mix(level: Level, from: &[f32], starts: &[usize], weights: &[f32], sum: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if level.min(Level::best()) >= Level::Avx2 {
        // SAFETY: `Level::best()` bounds the level, so the CPU has AVX2.
        return unsafe { mix_avx2(from, starts, weights, sum) };
    }
    let _ = level;
    mix_tiles::<TILE>(from, starts, weights, sum);
}

/// Same as [`mix_tiles`], compiled for registers of 8 floats.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn mix_avx2(from: &[f32], starts: &[usize], weights: &[f32], sum: &mut [f32]) {
    mix_tiles::<TILE_AVX2>(from, starts, weights, sum);
}

#[inline(always)]
fn mix_tiles<const TILE: usize>(from: &[f32], starts: &[usize], weights: &[f32], sum: &mut [f32]) {
    let (tiles, rest) = sum.as_chunks_mut::<TILE>();
    let tiled = tiles.len() * TILE;
    for (number, tile) in tiles.iter_mut().enumerate() {
        let mut total = [0.0; TILE];
        for (&start, &weight) in starts.iter().zip(weights) {
            let Some(values) = from[start + number * TILE..].first_chunk::<TILE>() else { return };
            total.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        }
        *tile = total;
    }
    rest.fill(0.0);
    for (&start, &weight) in starts.iter().zip(weights) {
        rest.iter_mut().zip(&from[start + tiled..]).for_each(|(sum, value)| *sum += weight * value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_the_same_in_all_instruction_sets() {
        let from: Vec<f32> = (0..3000).map(|at| (at as f32 * 0.7).sin()).collect();
        let starts = [5, 0, 900, 901, 1700];
        let weights = [0.3, -0.1, 0.7, 1e-3, 0.2];
        for count in [0, 1, 31, 32, 33, 64, 100, 1024] {
            let expected: Vec<u32> = (0..count)
                .map(|at| starts.iter().zip(weights).fold(0.0, |sum, (start, weight)| sum + weight * from[start + at]))
                .map(f32::to_bits)
                .collect();
            for level in Level::all() {
                let mut sum = vec![7.0; count];
                mix(level, &from, &starts, &weights, &mut sum);
                assert_eq!(sum.into_iter().map(f32::to_bits).collect::<Vec<_>>(), expected, "{level:?} {count}");
            }
        }
    }
}
