//! Collects the half-edges of faces, called sides, sorted by shard of the lower position. Positions are numbered as in
//! `places`: equal positions have the same number.
//!
//! Positions are split into ranges, called shards, and faces into chunks. The half-edges of each chunk are counted
//! first, so that a counting sort can write all of them into one shared array.

use super::places::SurfacePlaces;
use polyhaul_model::Elements;
use polyhaul_model::error::Result;
use polyhaul_pipeline::arrays::{split, zeroed};
use polyhaul_pipeline::options::{Cancel, RunOptions};
use polyhaul_pipeline::parallel::try_for_each_item;
use std::ops::Range;

/// Faces per chunk: their half-edges fit in the L2 cache. Small in tests, to get many chunks, shards and rounds.
const CHUNK_FACES: usize = if cfg!(test) { 1 << 4 } else { 1 << 14 };
/// Minimum number of positions per shard: its edges fit in the L2 cache.
const SHARD_POSITIONS: usize = if cfg!(test) { 1 << 3 } else { 1 << 12 };
/// Limits the memory for counts: each chunk has a count per shard.
const MAX_SHARDS: usize = 256;
/// Target number of half-edges sorted per round: 24 MiB. It is higher if the surface would otherwise need more than
/// about [`MAX_ROUNDS`] rounds.
const ROUND_SIDES: usize = if cfg!(test) { 1 << 5 } else { 1 << 21 };
const MAX_ROUNDS: usize = 4;

/// A half-edge of a face.
#[derive(Clone, Copy)]
pub(super) struct Side {
    /// Start position.
    pub(super) from: u32,
    /// End position.
    pub(super) to: u32,
    /// Whether it is the key of its face in the search for duplicates: faces with the same positions, in the same or
    /// opposite order, have the same key.
    pub(super) is_key: bool,
}

/// A half-edge in sorted form: lower position, higher position, and a tag with its face and flags.
pub(super) type SortedSide = [u32; 3];

impl Side {
    #[inline]
    fn low(self) -> u32 {
        self.from.min(self.to)
    }

    #[inline]
    pub(super) fn shard(self, cut: &SurfaceCut<'_>) -> usize {
        (self.low() >> cut.shard_shift) as usize
    }

    #[inline]
    fn sorted(self, face: u32) -> SortedSide {
        let is_backward = self.from > self.to;
        [self.low(), self.from.max(self.to), face << 2 | u32::from(self.is_key) << 1 | u32::from(is_backward)]
    }
}

/// Faces whose corners are resolved to numbered positions.
pub(super) struct SurfaceFaces<'a> {
    pub(super) offsets: &'a [u32],
    corners: &'a [u32],
    numbers: Option<&'a [u32]>,
    start: u32,
    /// Number of distinct positions.
    pub(super) places: usize,
    /// Index of the first face.
    pub(super) first: u32,
}

impl<'a> SurfaceFaces<'a> {
    pub(super) fn new(faces: &'a Elements, range: Range<usize>, places: &'a SurfacePlaces) -> SurfaceFaces<'a> {
        // Borrowed as slices, because a shared `Array` calls its owner at each access.
        let offsets = &faces.offsets[range.start..=range.end];
        SurfaceFaces {
            offsets,
            corners: &faces.corner_positions[..],
            numbers: places.numbers(),
            start: places.start(),
            places: places.count(),
            first: range.start as u32,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the positions of a face, as stored.
    #[inline]
    pub(super) fn corners(&self, face: usize) -> &'a [u32] {
        &self.corners[self.offsets[face] as usize..self.offsets[face + 1] as usize]
    }

    #[inline]
    pub(super) fn place(&self, position: u32) -> u32 {
        let at = position - self.start;
        self.numbers.map_or(at, |numbers| numbers[at as usize])
    }

    /// Calls `see` with each half-edge of a face with at least three distinct positions, except half-edges of zero
    /// length.
    #[inline]
    pub(super) fn each_side(&self, face: usize, scratch: &mut FaceScratch, mut see: impl FnMut(Side)) -> PlaceUses {
        match *self.corners(face) {
            [a, b, c] => {
                let [a, b, c] = [a, b, c].map(|corner| self.place(corner));
                if a == b || b == c || a == c {
                    return PlaceUses::Few;
                }
                // The key is the half-edge between the two lowest positions, which does not touch the highest position.
                see(Side { from: a, to: b, is_key: c > a && c > b });
                see(Side { from: b, to: c, is_key: a > b && a > c });
                see(Side { from: c, to: a, is_key: b > c && b > a });
                PlaceUses::Once
            }
            [a, b, c, d] => {
                let places @ [a, b, c, d] = [a, b, c, d].map(|corner| self.place(corner));
                if a == b || b == c || c == d || d == a || a == c || b == d {
                    return scratch.each_side(&places, see);
                }
                each_side_between(&places, key_side(&places), &mut see);
                PlaceUses::Once
            }
            ref corners => {
                // Moved out, because `FaceScratch::each_side` borrows all of `scratch`.
                let mut places = std::mem::take(&mut scratch.places);
                places.clear();
                places.extend(corners.iter().map(|&corner| self.place(corner)));
                let uses = scratch.each_side(&places, see);
                scratch.places = places;
                uses
            }
        }
    }

    /// Returns the positions of a face that uses each position once, in canonical order: from the lowest position
    /// toward the lower of its neighbors. The result is equal for faces with the same positions in the same or opposite
    /// order.
    pub(super) fn cycle(&self, face: usize) -> impl Iterator<Item = u32> {
        let corners = self.corners(face);
        let count = corners.len();
        let at = move |offset: usize| self.place(corners[offset % count]);
        let lowest = (0..count).min_by_key(|&offset| at(offset)).unwrap_or(0);
        let is_forward = at(lowest + 1) < at(lowest + count - 1);
        (0..count).map(move |offset| at(if is_forward { lowest + offset } else { lowest + count - offset }))
    }
}

/// Returns the index of the half-edge between the lowest position and the lower of its neighbors.
#[inline]
fn key_side(places: &[u32]) -> usize {
    let last = places.len() - 1;
    let lowest = (0..=last).fold(0, |lowest, at| if places[at] < places[lowest] { at } else { lowest });
    let before = if lowest == 0 { last } else { lowest - 1 };
    let after = if lowest == last { 0 } else { lowest + 1 };
    if places[after] < places[before] { lowest } else { before }
}

#[inline]
fn each_side_between(places: &[u32], key_side: usize, see: &mut impl FnMut(Side)) {
    let next = places.iter().skip(1).chain(places.first());
    for (at, (&from, &to)) in places.iter().zip(next).enumerate() {
        see(Side { from, to, is_key: at == key_side });
    }
}

/// The number of distinct positions of a face, and whether it repeats any.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceUses {
    /// Fewer than three distinct positions.
    Few,
    /// At least three positions, each used once.
    Once,
    /// At least three distinct positions, some of them used more than once.
    Repeated,
}

/// Scratch memory of a thread for the positions of a face.
#[derive(Default)]
pub(super) struct FaceScratch {
    places: Vec<u32>,
    distinct: Vec<u32>,
}

impl FaceScratch {
    /// Same as [`SurfaceFaces::each_side`], for the positions of a face of any size.
    fn each_side(&mut self, places: &[u32], mut see: impl FnMut(Side)) -> PlaceUses {
        let distinct = &mut self.distinct;
        distinct.clear();
        distinct.extend_from_slice(places);
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() < 3 {
            return PlaceUses::Few;
        }
        if distinct.len() == places.len() {
            each_side_between(places, key_side(places), &mut see);
            return PlaceUses::Once;
        }
        // Without a key, such faces are never compared: `SurfaceFaces::cycle` requires that each position is used once.
        let no_key = usize::MAX;
        each_side_between(places, no_key, &mut |side: Side| {
            if side.from != side.to {
                see(side)
            }
        });
        PlaceUses::Repeated
    }
}

/// Partition of the work into chunks and shards. It does not affect the result.
pub(super) struct SurfaceCut<'a> {
    pub(super) threads: usize,
    pub(super) cancel: &'a Cancel,
    faces: usize,
    /// Right shift from a position to its shard.
    pub(super) shard_shift: u32,
    pub(super) shards: usize,
}

impl<'a> SurfaceCut<'a> {
    pub(super) fn new(faces: &SurfaceFaces<'_>, run: &'a RunOptions) -> SurfaceCut<'a> {
        let shard = faces.places.div_ceil(MAX_SHARDS).next_power_of_two().max(SHARD_POSITIONS);
        SurfaceCut {
            threads: run.worker_threads(),
            cancel: &run.cancel,
            faces: faces.len(),
            shard_shift: shard.ilog2(),
            shards: faces.places.div_ceil(shard).max(1),
        }
    }

    /// Returns the ranges of faces that form chunks.
    pub(super) fn chunks(&self) -> impl ExactSizeIterator<Item = Range<usize>> + Send + use<> {
        let faces = self.faces;
        (0..faces.div_ceil(CHUNK_FACES)).map(move |chunk| {
            let start = chunk * CHUNK_FACES;
            start..faces.min(start + CHUNK_FACES)
        })
    }
}

/// Per chunk, a row with the end of each shard's half-edges, preceded by a 0.
pub(super) struct SideCounts {
    ends: Vec<u32>,
    width: usize,
}

impl SideCounts {
    pub(super) fn new(cut: &SurfaceCut<'_>) -> Result<SideCounts> {
        let width = cut.shards + 1;
        Ok(SideCounts { ends: zeroed(cut.chunks().len() * width, "side counts")?, width })
    }

    /// Returns the rows, to be filled with counts.
    pub(super) fn rows_mut(&mut self) -> impl Iterator<Item = &mut [u32]> + Send {
        self.ends.chunks_mut(self.width)
    }

    fn rows(&self) -> impl Iterator<Item = &[u32]> + Send + Clone {
        self.ends.chunks(self.width)
    }

    /// Returns the ranges of shards to sort per round.
    pub(super) fn rounds(&self) -> Vec<Range<usize>> {
        let shards = self.width - 1;
        let count = |shard: usize| -> usize { self.rows().map(|row| (row[shard + 1] - row[shard]) as usize).sum() };
        let side_count: usize = self.rows().map(|row| row[shards] as usize).sum();
        let max_sides = ROUND_SIDES.max(side_count.div_ceil(MAX_ROUNDS));
        let mut rounds = Vec::new();
        let mut start = 0;
        let mut sides = 0;
        for shard in 0..shards {
            let more = count(shard);
            if sides + more > max_sides && shard > start {
                rounds.push(start..shard);
                start = shard;
                sides = 0;
            }
            sides += more;
        }
        rounds.push(start..shards);
        rounds
    }
}

/// The half-edges of a range of shards, by chunk, then by shard.
pub(super) struct SortedSides<'a> {
    counts: &'a SideCounts,
    shards: Range<usize>,
    sides: Vec<SortedSide>,
}

impl<'a> SortedSides<'a> {
    pub(super) fn new(counts: &'a SideCounts) -> SortedSides<'a> {
        SortedSides { counts, shards: 0..0, sides: Vec::new() }
    }

    /// Sorts the half-edges of a range of shards, and replaces the previously sorted half-edges.
    pub(super) fn sort(&mut self, faces: &SurfaceFaces<'_>, cut: &SurfaceCut<'_>, shards: Range<usize>) -> Result<()> {
        let lengths = self.counts.rows().map(|row| (row[shards.end] - row[shards.start]) as usize);
        let count = lengths.clone().sum();
        if count > self.sides.len() {
            // Freed first, so that the old and the new memory are not needed at the same time.
            self.sides = Vec::new();
            self.sides = zeroed(count, "face sides")?;
        }
        let places = split(&mut self.sides, lengths).zip(self.counts.rows()).zip(cut.chunks());
        let scratch = <(Vec<u32>, FaceScratch)>::default;
        // Consecutive faces share positions in most meshes, so most chunks have no half-edges in a round.
        let places = places.filter(|((sides, _), _)| !sides.is_empty());
        try_for_each_item(cut.threads, cut.cancel, places, scratch, |scratch, ((sides, row), chunk)| {
            let (next, scratch) = scratch;
            next.clear();
            next.extend(row[shards.clone()].iter().map(|end| end - row[shards.start]));
            for face in chunk {
                faces.each_side(face, scratch, |side| {
                    // The difference wraps for earlier shards, so half-edges of all other rounds are skipped.
                    if let Some(next) = next.get_mut(side.shard(cut).wrapping_sub(shards.start)) {
                        sides[*next as usize] = side.sorted(face as u32);
                        *next += 1;
                    }
                });
            }
            Ok(())
        })?;
        self.shards = shards;
        Ok(())
    }

    /// Returns the half-edges of a shard, in one piece per chunk.
    pub(super) fn of_shard(&self, shard: usize) -> impl Iterator<Item = &[SortedSide]> + Clone {
        let first = self.shards.start;
        let end = self.shards.end;
        let mut start = 0;
        self.counts.rows().map(move |row| {
            let piece = start + (row[shard] - row[first]) as usize..start + (row[shard + 1] - row[first]) as usize;
            start += (row[end] - row[first]) as usize;
            &self.sides[piece]
        })
    }
}
