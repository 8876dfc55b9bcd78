//! Numbers positions so that equal positions have the same number, called their place.

use super::SurfacePositions;
use crate::clean::mixed;
use crate::dedup::{BATCH, Dedup, DedupKey, Items, Unique, number_joined};
use crate::linear::{Vector, add, scale};
use polyhaul_model::error::Result;
use polyhaul_model::{Bounds, Mesh};
use polyhaul_pipeline::arrays::zeroed;
use polyhaul_pipeline::options::RunOptions;
use std::ops::Range;

/// Place numbers of a range of positions, in the order of the first position at each place.
pub(crate) struct SurfacePlaces {
    /// First position of the range.
    start: u32,
    /// Place numbers and the first position of each place, relative to the start; `None` if all positions are distinct.
    unique: Option<Unique>,
    count: usize,
    /// Bounding box of the finite positions.
    pub(super) bounds: Option<Bounds<f64>>,
}

impl SurfacePlaces {
    pub(crate) fn new(
        mesh: &Mesh,
        span: Range<usize>,
        which: SurfacePositions,
        run: &RunOptions,
    ) -> Result<SurfacePlaces> {
        let start = span.start as u32;
        let count = span.len();
        let exact = mesh.exact_positions.get(span.clone()).filter(|exact| !exact.is_empty());
        let single = &mesh.positions[span];
        let bounds = match exact {
            Some(exact) => Bounds::of_exact(exact),
            None => Bounds::of(single).map(Bounds::widened),
        };
        // Turns -0 into 0.
        let bounds = bounds.map(|bounds| Bounds { min: add(bounds.min, [0.0; 3]), max: add(bounds.max, [0.0; 3]) });
        let unique = match (which, exact) {
            (SurfacePositions::Stored, _) => None,
            (SurfacePositions::Merged, Some(exact)) => numbered(exact, run)?,
            (SurfacePositions::Merged, None) => numbered(single, run)?,
        };
        let count = unique.as_ref().map_or(count, |unique| unique.first.len());
        Ok(SurfacePlaces { start, unique, count, bounds })
    }

    /// Returns the number of places.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the place of each position, relative to the start, or `None` if each position is a place of its own.
    pub(crate) fn numbers(&self) -> Option<&[u32]> {
        self.unique.as_ref().map(|unique| &unique.of_item[..])
    }

    /// Returns the first position of the range.
    pub(super) fn start(&self) -> u32 {
        self.start
    }

    /// Returns the first position at a place.
    pub(super) fn position(&self, place: u32) -> u32 {
        self.start + self.unique.as_ref().map_or(place, |unique| unique.first[place as usize])
    }

    /// Returns the center of the bounding box, or the origin if there is no bounding box.
    pub(super) fn center(&self) -> Vector {
        // Halved before adding: the sum of two large coordinates could overflow.
        let center = self.bounds.map(|bounds| add(scale(bounds.min, 0.5), scale(bounds.max, 0.5)));
        center.unwrap_or_default()
    }
}

/// A position compared by bits.
pub(super) trait PlaceCoordinates: Copy + Sync {
    /// Returns the bits of a coordinate, or `None` for NaN. 0 and -0 have the same bits.
    fn bits(self, axis: usize) -> Option<u64>;
}

impl PlaceCoordinates for [f32; 3] {
    #[inline]
    fn bits(self, axis: usize) -> Option<u64> {
        // Adding 0 turns -0 into 0.
        (!self[axis].is_nan()).then(|| u64::from((self[axis] + 0.0).to_bits()))
    }
}

impl PlaceCoordinates for [f64; 3] {
    #[inline]
    fn bits(self, axis: usize) -> Option<u64> {
        (!self[axis].is_nan()).then(|| (self[axis] + 0.0).to_bits())
    }
}

/// Positions keyed by a hash of their coordinates.
struct Hashed<'a, T>(&'a [T]);

impl<T: PlaceCoordinates> Items for Hashed<'_, T> {
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn keys(&self, start: usize, offsets: &[u16], keys: &mut [DedupKey; BATCH]) {
        for (key, &offset) in keys.iter_mut().zip(offsets) {
            let row = self.0[start + usize::from(offset)];
            *key = match (row.bits(0), row.bits(1), row.bits(2)) {
                (Some(x), Some(y), Some(z)) => DedupKey::Value(x ^ mixed(y ^ mixed(z))),
                _ => DedupKey::Alone,
            };
        }
    }

    fn hint(&self, _item: usize) -> usize {
        0
    }

    fn hint_count(&self) -> usize {
        0
    }

    fn surely_same(&self, _a: usize, _b: usize) -> bool {
        false
    }
}

/// Numbers positions so that equal positions have the same number. Returns `None` if all positions are distinct.
///
/// Positions are numbered by a 64-bit hash in one round, then compared with the first position of the same hash. A
/// mismatch is a hash collision, by chance (1 in 2^64) or by malice. Only then are positions numbered exactly, in one
/// round per 32 bits.
fn numbered<T: PlaceCoordinates>(rows: &[T], run: &RunOptions) -> Result<Option<Unique>> {
    let mut unique = Unique::default();
    Dedup::new().run(&Hashed(rows), run.worker_threads(), &run.cancel, &mut unique)?;
    if unique.first.len() == rows.len() {
        return Ok(None);
    }
    let is_same = |row: &T, number: u32| {
        let first = rows[unique.first[number as usize] as usize];
        (0..3).all(|axis| first.bits(axis) == row.bits(axis))
    };
    if rows.iter().zip(&unique.of_item).all(|(row, &number)| is_same(row, number)) {
        return Ok(Some(unique));
    }
    exactly_numbered(rows, run).map(Some)
}

#[cold]
pub(super) fn exactly_numbered<T: PlaceCoordinates>(rows: &[T], run: &RunOptions) -> Result<Unique> {
    let first = zeroed(1, "value indices")?;
    // Before the first round, all positions have the same number, 0.
    let unique = Unique { first, of_item: zeroed(rows.len(), "value indices")? };
    (0..6).try_fold(unique, |unique, part| {
        let bits = |item: usize| rows[item].bits(part / 2).map(|bits| (bits >> (32 * (part % 2))) as u32);
        number_joined(&unique.of_item, unique.first.len(), bits, run.worker_threads(), &run.cancel)
    })
}
