//! Morton order of splats, so that the splats of a chunk are in a small volume.

use polyhaul_model::Bounds;
use polyhaul_model::error::{Error, Result};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;

/// Bits per coordinate: three coordinates take 63 bits.
const BITS: u32 = 21;
/// Number of runs to sort in parallel, independent of the number of threads.
const PIECES: usize = 16;

/// Morton code and index of a splat. The index breaks ties, so that the order does not depend on the number of threads.
type PlaceKey = (u64, u32);

/// Returns the indices of positions in Morton order; positions with equal codes stay in order. NaN and -inf count as
/// the minimum, +inf as the maximum.
pub(super) fn by_place(positions: &[[f32; 3]], run: &RunOptions) -> Result<Vec<u32>> {
    let bounds = Bounds::of(positions).unwrap_or(Bounds { min: [0.0; 3], max: [0.0; 3] });
    let mut keys: Vec<PlaceKey> = Vec::new();
    keys.try_reserve_exact(positions.len()).map_err(|_| Error::memory("the order of splats"))?;
    keys.resize(positions.len(), (0, 0));
    let piece = positions.len().div_ceil(PIECES).max(1);
    let threads = run.worker_threads();
    let pieces = keys.chunks_mut(piece).zip(positions.chunks(piece)).enumerate();
    try_for_each_item(
        threads,
        &run.cancel,
        pieces,
        || (),
        |(), (number, (keys, positions))| {
            let numbers = (number * piece) as u32..;
            for ((key, position), number) in keys.iter_mut().zip(positions).zip(numbers) {
                *key = (place(position, &bounds), number);
            }
            keys.sort_unstable();
            Ok(())
        },
    )?;
    let keys = merged(keys, piece, run)?;
    let mut order = Vec::new();
    order.try_reserve_exact(keys.len()).map_err(|_| Error::memory("the order of splats"))?;
    order.extend(keys.into_iter().map(|(_, number)| number));
    Ok(order)
}

/// Merges sorted runs pairwise.
fn merged(mut keys: Vec<PlaceKey>, mut piece: usize, run: &RunOptions) -> Result<Vec<PlaceKey>> {
    let mut other: Vec<PlaceKey> = Vec::new();
    other.try_reserve_exact(keys.len()).map_err(|_| Error::memory("the order of splats"))?;
    other.resize(keys.len(), (0, 0));
    while piece < keys.len() {
        let pairs = keys.chunks(2 * piece).zip(other.chunks_mut(2 * piece));
        try_for_each_item(
            run.worker_threads(),
            &run.cancel,
            pairs,
            || (),
            |(), (pair, out)| {
                let (a, b) = pair.split_at(piece.min(pair.len()));
                merge(a, b, out);
                Ok(())
            },
        )?;
        std::mem::swap(&mut keys, &mut other);
        piece *= 2;
    }
    Ok(keys)
}

fn merge<'a>(mut a: &'a [PlaceKey], mut b: &'a [PlaceKey], out: &mut [PlaceKey]) {
    for place in out {
        let is_first = match (a.first(), b.first()) {
            (Some(x), Some(y)) => x <= y,
            (x, _) => x.is_some(),
        };
        let from = if is_first { &mut a } else { &mut b };
        if let Some((key, rest)) = from.split_first() {
            *place = *key;
            *from = rest;
        }
    }
}

/// Computes the Morton code: the interleaved bits of the coordinates, z highest.
fn place(position: &[f32; 3], bounds: &Bounds) -> u64 {
    let max_code = f64::from((1u32 << BITS) - 1);
    let bits = |axis: usize| {
        // In double precision, since the difference of two f32s can be infinite.
        let min = f64::from(bounds.min[axis]);
        let max = f64::from(bounds.max[axis]);
        let part = if max > min { (f64::from(position[axis]) - min) / (max - min) } else { 0.0 };
        spread((part.clamp(0.0, 1.0) * max_code) as u64)
    };
    bits(2) << 2 | bits(1) << 1 | bits(0)
}

/// Inserts two zeros after each of the lowest 21 bits.
fn spread(mut bits: u64) -> u64 {
    bits &= 0x1f_ffff;
    for (shift, mask) in [
        (32, 0x001f_0000_0000_ffff),
        (16, 0x001f_0000_ff00_00ff),
        (8, 0x100f_00f0_0f00_f00f),
        (4, 0x10c3_0c30_c30c_30c3),
        (2, 0x1249_2492_4924_9249),
    ] {
        bits = (bits | bits << shift) & mask;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_spread() {
        for bit in 0..BITS {
            assert_eq!(spread(1 << bit), 1 << (3 * bit), "{bit}");
        }
    }

    #[test]
    fn the_order_is_that_of_the_places_for_any_threads() {
        let number = |i: usize| (i as f32 * 0.37).sin();
        let mut positions: Vec<[f32; 3]> = (0..5000).map(|i| [number(i), number(i / 3), number(7 * i)]).collect();
        positions.extend_from_within(..100);
        positions[17][1] = f32::NAN;
        let bounds = Bounds::of(&positions).unwrap();
        let mut expected: Vec<u32> = (0..positions.len() as u32).collect();
        expected.sort_by_key(|&number| place(&positions[number as usize], &bounds));
        for threads in [1, 3] {
            let run = RunOptions::default().with_threads(Some(threads));
            assert_eq!(by_place(&positions, &run).unwrap(), expected);
        }
        assert!(by_place(&[], &RunOptions::default()).unwrap().is_empty());
    }
}
