//! Filter weights for downsampling in one direction.
//!
//! The window and its parameters follow the NVIDIA Texture Tools (`KaiserFilter`: width 3, alpha 4, stretch 1),
//! computed with James F. Kaiser's formula; weights are averaged over the width of a pixel.

use super::{MipmapEdges, MipmapFilter};
use polyhaul_model::error::{Error, Result, try_push};
use std::f64::consts::PI;
use std::ops::Range;

/// Radius of the filter, in output pixels.
const KAISER_WIDTH: f64 = 3.0;
/// Shape parameter of the Kaiser window.
const KAISER_ALPHA: f64 = 4.0;
/// Number of samples per input pixel for averaging its weight.
const MEAN_OF: usize = 32;

/// The weights of a filter in one direction.
pub(super) struct MipmapKernel {
    /// Number of input pixels.
    from: usize,
    edges: MipmapEdges,
    /// Per distinct output pixel: the first contributing input pixel, which may be beyond the edge.
    starts: Vec<isize>,
    /// `taps` weights per distinct output pixel, and the number of used weights, without leading and trailing zeros.
    weights: Vec<f32>,
    counts: Vec<usize>,
    taps: usize,
    /// Number of input pixels after which the weights repeat.
    step: isize,
}

impl MipmapKernel {
    /// Computes the weights for downsampling `from` pixels to `to`.
    pub(super) fn new(from: usize, to: usize, filter: MipmapFilter, edges: MipmapEdges) -> Result<MipmapKernel> {
        let is_kaiser = filter == MipmapFilter::Kaiser && from > to;
        let scale = from as f64 / to.max(1) as f64;
        let taps = match is_kaiser {
            // One more, because the window may start inside a pixel.
            true => (2.0 * KAISER_WIDTH * scale).ceil() as usize + 1,
            false if from == to => 1,
            false => {
                if from.is_multiple_of(to) {
                    from / to
                } else {
                    // The area of an output pixel may cover parts of an input pixel at both ends.
                    from / to + 2
                }
            }
        };
        // Pixels n and n + to / common have the same weights: halving an even size needs only one set.
        let common = common_divisor(from, to).max(1);
        let distinct = to / common;
        let step = (from / common) as isize;
        let mut kernel =
            MipmapKernel { from, edges, starts: Vec::new(), weights: Vec::new(), counts: Vec::new(), taps, step };
        let room = distinct.checked_mul(taps).ok_or_else(|| Error::memory("the weights of a filter"))?;
        kernel.weights.try_reserve_exact(room).map_err(|_| Error::memory("the weights of a filter"))?;
        for number in 0..distinct {
            let (start, weights) = if is_kaiser { kaiser(number, scale, taps) } else { mean(number, from, to, taps) };
            let is_none = |weight: &&f32| **weight == 0.0;
            let before = weights.iter().take_while(is_none).count();
            let behind = weights[before..].iter().rev().take_while(is_none).count();
            let counting = &weights[before..taps - behind];
            try_push(&mut kernel.starts, start + before as isize, "the weights of a filter")?;
            try_push(&mut kernel.counts, counting.len(), "the weights of a filter")?;
            kernel.weights.extend_from_slice(counting);
            kernel.weights.resize((number + 1) * taps, 0.0);
        }
        Ok(kernel)
    }

    /// Returns the first contributing input pixel of an output pixel, and the weights starting at that pixel.
    pub(super) fn taps(&self, number: usize) -> (isize, &[f32]) {
        let first = number % self.starts.len();
        (self.start(number), &self.weights[first * self.taps..][..self.counts[first]])
    }

    fn start(&self, number: usize) -> isize {
        self.starts[number % self.starts.len()] + (number / self.starts.len()) as isize * self.step
    }

    /// Returns the range of input pixels that contribute to these output pixels, including pixels beyond the edges.
    pub(super) fn reach(&self, numbers: Range<usize>) -> Range<isize> {
        match numbers.end.checked_sub(1) {
            Some(last) if last >= numbers.start => self.start(numbers.start)..self.start(last) + self.taps as isize,
            _ => 0..0,
        }
    }

    /// Returns the step between output pixels, if all of them share their weights.
    pub(super) fn common_step(&self) -> Option<usize> {
        (self.starts.len() == 1).then_some(self.step as usize)
    }

    /// Returns the maximum number of weights per output pixel.
    pub(super) fn max_taps(&self) -> usize {
        self.taps
    }

    /// Returns the number of input pixels.
    pub(super) fn from(&self) -> usize {
        self.from
    }

    /// Maps an input pixel beyond the edges to a pixel inside.
    pub(super) fn place(&self, at: isize) -> usize {
        match self.edges {
            MipmapEdges::Clamp => at.clamp(0, self.from as isize - 1) as usize,
            MipmapEdges::Wrap => at.rem_euclid(self.from as isize) as usize,
        }
    }
}

/// Returns the exact coverage of input pixels by output pixel `number` (box filter).
fn mean(number: usize, from: usize, to: usize, taps: usize) -> (isize, Vec<f32>) {
    // Integer units of 1 / `to` input pixels, so that shares are exact.
    let start = number as u128 * from as u128;
    let end = (number as u128 + 1) * from as u128;
    let first = (start / to as u128) as usize;
    let share = |pixel: usize| {
        let left = pixel as u128 * to as u128;
        let right = (pixel as u128 + 1) * to as u128;
        (right.min(end).saturating_sub(left.max(start)) as f64 / from as f64) as f32
    };
    (first as isize, (first..first + taps).map(share).collect())
}

fn kaiser(number: usize, scale: f64, taps: usize) -> (isize, Vec<f32>) {
    let center = (number as f64 + 0.5) * scale;
    let start = (center - KAISER_WIDTH * scale).floor() as isize;
    let peak = bessel(KAISER_ALPHA);
    let weight = |pixel: isize| -> f64 {
        let at = |sample: usize| (pixel as f64 + (sample as f64 + 0.5) / MEAN_OF as f64 - center) / scale;
        (0..MEAN_OF).map(|sample| windowed(at(sample), peak)).sum()
    };
    let weights: Vec<f64> = (start..start + taps as isize).map(weight).collect();
    // Normalized, so that constant areas stay constant.
    let sum: f64 = weights.iter().sum();
    (start, weights.into_iter().map(|weight| (weight / sum) as f32).collect())
}

/// Evaluates the windowed sinc at `x` output pixels from its center; `peak` is the Bessel function at the center.
fn windowed(x: f64, peak: f64) -> f64 {
    let part = x / KAISER_WIDTH;
    let rest = 1.0 - part * part;
    if rest < 0.0 {
        return 0.0;
    }
    let sinc = if x.abs() < 1e-9 { 1.0 } else { (PI * x).sin() / (PI * x) };
    sinc * bessel(KAISER_ALPHA * rest.sqrt()) / peak
}

/// Evaluates the modified Bessel function of the first kind of order 0 with its power series.
fn bessel(x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let mut sum = 1.0;
    let mut term = 1.0;
    for k in 1..32 {
        term *= quarter / f64::from(k * k);
        sum += term;
        if term < sum * f64::EPSILON / 4.0 {
            break;
        }
    }
    sum
}

fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(from: usize, to: usize, filter: MipmapFilter) -> Vec<(isize, Vec<f32>)> {
        let kernel = MipmapKernel::new(from, to, filter, MipmapEdges::Clamp).unwrap();
        (0..to).map(|number| kernel.taps(number)).map(|(start, weights)| (start, weights.to_vec())).collect()
    }

    #[test]
    fn boxes_by_hand() {
        assert_eq!(weights(4, 2, MipmapFilter::Box), [(0, vec![0.5, 0.5]), (2, vec![0.5, 0.5])]);
        assert_eq!(weights(1, 1, MipmapFilter::Box), [(0, vec![1.0])]);
        let third = 1.0 / 3.0;
        assert_eq!(weights(3, 1, MipmapFilter::Box), [(0, vec![third; 3])]);
        assert_eq!(weights(5, 2, MipmapFilter::Box), [(0, vec![0.4, 0.4, 0.2]), (2, vec![0.2, 0.4, 0.4])]);
    }

    #[test]
    fn repeated_weights_match_the_weights_of_each_pixel() {
        for (from, to) in [(16, 8), (64, 32), (17, 8), (3, 1), (70, 35), (9, 9)] {
            let scale = from as f64 / to as f64;
            let kernel = MipmapKernel::new(from, to, MipmapFilter::Kaiser, MipmapEdges::Clamp).unwrap();
            for number in (0..to).filter(|_| from > to) {
                let (start, expected) = kaiser(number, scale, kernel.taps);
                let (first, weights) = kernel.taps(number);
                assert!(weights.iter().all(|weight| *weight != 0.0), "{from} {to} {number}");
                for (at, expected) in (start..).zip(expected) {
                    let weight = usize::try_from(at - first).ok().and_then(|at| weights.get(at)).unwrap_or(&0.0);
                    assert!((weight - expected).abs() < 1e-7, "{from} {to} {number}: {weight} {expected}");
                }
                assert!(kernel.reach(number..number + 1).start == first);
            }
            assert_eq!(kernel.reach(to..to), 0..0);
        }
    }

    #[test]
    fn every_pixel_counts_the_same_in_all() {
        for from in 2..70 {
            let mut counts = vec![0.0; from];
            for (start, weights) in weights(from, from / 2, MipmapFilter::Box) {
                for (at, weight) in (start..).zip(weights) {
                    if weight > 0.0 {
                        counts[at as usize] += weight;
                    }
                }
            }
            let each = (from / 2) as f32 / from as f32;
            assert!(counts.iter().all(|count| (count - each).abs() < 1e-6), "{from}: {counts:?}");
        }
    }

    #[test]
    fn the_window_is_kaisers() {
        let windowed = |x| windowed(x, bessel(KAISER_ALPHA));
        assert!((windowed(0.0) - 1.0).abs() < 1e-12);
        assert!(windowed(1.0).abs() < 1e-12 && windowed(3.01) == 0.0);
        // I0(4) and I0(2), from tables of the function.
        assert!((bessel(4.0) - 11.301_921_952_136_33).abs() < 1e-9);
        assert!((bessel(2.0) - 2.279_585_302_336_067).abs() < 1e-12);
        for (_, weights) in weights(16, 8, MipmapFilter::Kaiser) {
            assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-6);
            assert!(weights.iter().any(|weight| *weight < -0.01));
        }
    }

    #[test]
    fn beyond_the_edges() {
        let kernel = |edges| MipmapKernel::new(8, 4, MipmapFilter::Kaiser, edges).unwrap();
        assert_eq!([-3, 9, 4].map(|at| kernel(MipmapEdges::Clamp).place(at)), [0, 7, 4]);
        assert_eq!([-3, 9, 4].map(|at| kernel(MipmapEdges::Wrap).place(at)), [5, 1, 4]);
    }
}
