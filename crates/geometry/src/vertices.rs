//! Splits positions into vertices: one per position, and more for a position whose corners differ in other attributes.
//!
//! Nearly all corners equal the first corner at their position. This corner is therefore found first, and the other
//! corners are compared with it, in two passes over chunks of corners. Only corners that differ are deduplicated. The
//! result does not depend on the number of threads. For one vertex per combination, numbered by corners, see
//! `crate::weld`.

use crate::dedup::{Unique, number_joined, prefetch};
use polyhaul_model::NONE;
use polyhaul_model::error::{Error, ErrorKind, Result, planted};
use polyhaul_pipeline::arrays::{out_of_range, split, zeroed};
use polyhaul_pipeline::options::{Cancel, RunOptions};
use polyhaul_pipeline::parallel::try_for_each_item;

/// Corners per parallel step.
const CHUNK: usize = 1 << 16;
/// Prefetch distance in corners.
const AHEAD: usize = 32;

/// Corner data besides positions. Values are compared as numbers: 0 equals -0, and NaN is unequal to everything.
#[derive(Clone, Copy)]
pub enum VerticesStream<'a> {
    /// No data: all corners are equal.
    Nothing,
    /// One index per corner.
    Listed(&'a [u32]),
    /// Two floats per corner.
    Pairs(&'a [[f32; 2]]),
    /// Three floats per corner.
    Triples(&'a [[f32; 3]]),
}

/// Vertices: one per position, with the index of the position, followed by the vertices added for corners that differ.
#[derive(Debug, Default, PartialEq)]
pub struct Vertices {
    /// Per vertex: its first corner, or [`NONE`] for a position without corners.
    pub first: Vec<u32>,
    /// Per added vertex: its position.
    pub more: Vec<u32>,
    /// Per corner: its vertex.
    pub of_corner: Vec<u32>,
}

impl Vertices {
    /// Computes the vertices of corners that refer to `positions` positions. Each stream has a value per corner.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a position out of range, [`ErrorKind::Limit`] for more vertices than 32-bit indices can
    /// address, [`ErrorKind::Memory`], [`ErrorKind::Cancelled`].
    pub fn from_corners(
        corners: &[u32],
        positions: usize,
        streams: [VerticesStream<'_>; 2],
        run: &RunOptions,
    ) -> Result<Vertices> {
        if corners.len() >= NONE as usize {
            return Err(Error::new(ErrorKind::Limit, "a mesh can have at most 2^32 - 2 corners"));
        }
        let job = VerticesJob { corners, positions, streams, threads: run.worker_threads(), cancel: &run.cancel };
        let mut first = job.firsts()?;
        let (mut of_corner, odd_counts) = job.compare(&first)?;
        let odd = job.list(&of_corner, &odd_counts)?;
        let unique = job.tell_apart(&odd)?;
        let vertices = positions + unique.first.len();
        if vertices >= NONE as usize {
            return Err(Error::new(ErrorKind::Limit, "the mesh would need more than 2^32 - 2 vertices"));
        }
        job.number(&mut of_corner, &odd_counts, &unique.of_item)?;
        let mut more = Vec::new();
        more.try_reserve_exact(unique.first.len())?;
        first.try_reserve_exact(unique.first.len())?;
        for &item in &unique.first {
            let corner = odd[item as usize];
            first.push(corner);
            more.push(corners[corner as usize]);
        }
        Ok(Vertices { first, more, of_corner })
    }
}

impl VerticesStream<'_> {
    #[inline]
    fn same(self, a: usize, b: usize) -> bool {
        match self {
            VerticesStream::Nothing => true,
            VerticesStream::Listed(values) => values[a] == values[b],
            VerticesStream::Pairs(values) => values[a] == values[b],
            VerticesStream::Triples(values) => values[a] == values[b],
        }
    }

    #[inline]
    fn prefetch(self, corner: usize) {
        match self {
            VerticesStream::Nothing => {}
            VerticesStream::Listed(values) => prefetch(values, corner),
            VerticesStream::Pairs(values) => prefetch(values, corner),
            VerticesStream::Triples(values) => prefetch(values, corner),
        }
    }

    /// Returns the number of components per value.
    fn parts(self) -> usize {
        match self {
            VerticesStream::Nothing => 0,
            VerticesStream::Listed(_) => 1,
            VerticesStream::Pairs(_) => 2,
            VerticesStream::Triples(_) => 3,
        }
    }

    /// Returns a component of a corner's value as bits, or `None` for NaN, which is unequal to everything.
    #[inline]
    fn part(self, corner: usize, part: usize) -> Option<u32> {
        let value = match self {
            VerticesStream::Nothing => return Some(0),
            VerticesStream::Listed(values) => return Some(values[corner]),
            VerticesStream::Pairs(values) => values[corner][part],
            VerticesStream::Triples(values) => values[corner][part],
        };
        // Adding 0 turns -0 into 0.
        if value.is_nan() { None } else { Some((value + 0.0).to_bits()) }
    }
}

struct VerticesJob<'a> {
    corners: &'a [u32],
    positions: usize,
    streams: [VerticesStream<'a>; 2],
    threads: usize,
    cancel: &'a Cancel,
}

impl VerticesJob<'_> {
    /// Returns the first corner at each position, storing in reverse order so that the first corner wins.
    /// Single-threaded, since more threads would need atomic minima.
    fn firsts(&self) -> Result<Vec<u32>> {
        let mut firsts: Vec<u32> = zeroed(self.positions, "vertices")?;
        firsts.fill(NONE);
        for (corner, &position) in self.corners.iter().enumerate().rev() {
            let Some(place) = firsts.get_mut(position as usize) else {
                return Err(out_of_range(corner, "position", position, self.positions));
            };
            *place = corner as u32;
        }
        Ok(firsts)
    }

    /// Returns two lists. The first contains each corner's position if the corner equals the first corner at that
    /// position, and [`NONE`] otherwise. The second contains the number of [`NONE`] entries in each chunk.
    fn compare(&self, firsts: &[u32]) -> Result<(Vec<u32>, Vec<u32>)> {
        let mut of_corner = zeroed(self.corners.len(), "corners")?;
        let mut odd_counts = zeroed(self.corners.len().div_ceil(CHUNK), "corners")?;
        let chunks = of_corner.chunks_mut(CHUNK).zip(self.corners.chunks(CHUNK)).zip(&mut odd_counts);
        self.for_each(chunks.enumerate(), |(index, ((of_corner, chunk), odd_count))| {
            let start = index * CHUNK;
            let [uvs, normals] = self.streams;
            for (offset, (vertex, &position)) in of_corner.iter_mut().zip(chunk).enumerate() {
                // Prefetches the index of the first corner, and later its values.
                if let Some(&ahead) = chunk.get(offset + 2 * AHEAD) {
                    prefetch(firsts, ahead as usize);
                }
                if let Some(&ahead) = chunk.get(offset + AHEAD) {
                    let first = firsts[ahead as usize] as usize;
                    uvs.prefetch(first);
                    normals.prefetch(first);
                }
                let first = firsts[position as usize] as usize;
                let corner = start + offset;
                let is_same = first == corner
                    || uvs.same(first, corner) && (normals.same(first, corner) || planted("split-normals"));
                *vertex = if is_same { position } else { NONE };
                *odd_count += u32::from(!is_same);
            }
            Ok(())
        })?;
        Ok((of_corner, odd_counts))
    }

    /// Lists the corners that differ from the first corner at their position.
    fn list(&self, of_corner: &[u32], odd_counts: &[u32]) -> Result<Vec<u32>> {
        let mut odd = zeroed(odd_counts.iter().map(|&count| count as usize).sum(), "vertices")?;
        let lists = split(&mut odd, odd_counts.iter().map(|&count| count as usize));
        self.for_each(lists.zip(of_corner.chunks(CHUNK)).enumerate(), |(index, (list, chunk))| {
            let mut places = list.iter_mut();
            for (&vertex, corner) in chunk.iter().zip((index * CHUNK) as u32..) {
                if vertex == NONE
                    && let Some(place) = places.next()
                {
                    *place = corner;
                }
            }
            Ok(())
        })?;
        Ok(odd)
    }

    /// Deduplicates the corners that differ from the first corner at their position.
    fn tell_apart(&self, odd: &[u32]) -> Result<Unique> {
        let mut unique = Unique { first: Vec::new(), of_item: zeroed(odd.len(), "vertices")? };
        self.for_each(unique.of_item.chunks_mut(CHUNK).zip(odd.chunks(CHUNK)), |(places, odd)| {
            for (place, &corner) in places.iter_mut().zip(odd) {
                *place = self.corners[corner as usize];
            }
            Ok(())
        })?;
        let mut count = self.positions;
        for stream in self.streams {
            for part in 0..stream.parts() {
                let part_of = |item: usize| stream.part(odd[item] as usize, part);
                unique = number_joined(&unique.of_item, count, part_of, self.threads, self.cancel)?;
                count = unique.first.len();
            }
        }
        Ok(unique)
    }

    /// Assigns vertex numbers to the corners that differ from the first corner at their position.
    fn number(&self, of_corner: &mut [u32], odd_counts: &[u32], numbers: &[u32]) -> Result<()> {
        let mut rest = numbers;
        let odd_numbers = odd_counts.iter().map(|&count| rest.split_off(..count as usize).unwrap_or_default());
        let chunks = of_corner.chunks_mut(CHUNK).zip(odd_numbers).filter(|(_, numbers)| !numbers.is_empty());
        self.for_each(chunks, |(of_corner, numbers)| {
            let mut numbers = numbers.iter();
            for vertex in of_corner.iter_mut().filter(|vertex| **vertex == NONE) {
                *vertex = numbers.next().map_or(NONE, |number| self.positions as u32 + number);
            }
            Ok(())
        })
    }

    fn for_each<I>(&self, items: I, work: impl Fn(I::Item) -> Result<()> + Sync) -> Result<()>
    where
        I: Iterator<Item: Send> + Send,
    {
        try_for_each_item(self.threads, self.cancel, items, || (), |(), item| work(item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn from_corners(
        corners: &[u32],
        positions: usize,
        streams: [VerticesStream<'_>; 2],
        threads: usize,
    ) -> Result<Vertices> {
        Vertices::from_corners(corners, positions, streams, &RunOptions::default().with_threads(Some(threads)))
    }

    #[test]
    fn positions_keep_their_places_and_others_come_behind() {
        let uvs = [[0.0, 1.0], [5.0, 5.0], [-0.0, 1.0], [2.0, 2.0], [f32::NAN, 0.0], [f32::NAN, 0.0], [2.0, 2.0]];
        let corners = [2, 0, 2, 2, 3, 3, 2];
        for threads in [1, 3] {
            let vertices =
                from_corners(&corners, 4, [VerticesStream::Pairs(&uvs), VerticesStream::Nothing], threads).unwrap();
            assert_eq!(vertices.first, [1, NONE, 0, 4, 3, 5]);
            assert_eq!(vertices.more, [2, 3]);
            assert_eq!(vertices.of_corner, [2, 0, 2, 4, 3, 5, 4]);
        }
        assert_eq!(from_corners(&[], 0, [VerticesStream::Nothing; 2], 2).unwrap(), Vertices::default());
        let error = from_corners(&[0, 7], 3, [VerticesStream::Nothing; 2], 2).unwrap_err();
        assert_eq!(error.diagnostic().message, "corner 1 has position 7, but the mesh has 3 positions");
    }

    /// A naive implementation with a map, one corner at a time.
    fn naive(corners: &[u32], positions: usize, uvs: &[[f32; 2]], normals: &[[f32; 3]]) -> Vertices {
        let mut vertices = Vertices { first: vec![NONE; positions], ..Vertices::default() };
        let mut numbers = HashMap::new();
        for (corner, &position) in corners.iter().enumerate() {
            let key = (position, uvs[corner].map(f32::to_bits), normals[corner].map(f32::to_bits));
            let number = *numbers.entry(key).or_insert_with(|| {
                if vertices.first[position as usize] == NONE {
                    vertices.first[position as usize] = corner as u32;
                    return position;
                }
                vertices.first.push(corner as u32);
                vertices.more.push(position);
                vertices.first.len() as u32 - 1
            });
            vertices.of_corner.push(number);
        }
        vertices
    }

    #[test]
    fn vertices_are_those_of_a_map() {
        let mut state = 1u64;
        let mut below = move |limit: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % limit
        };
        for (kinds, positions) in [(1, 60_000), (2, 50_000), (9, 3_000), (60, 300), (100_000, 1)] {
            let count = 3 * CHUNK + 77;
            let corners: Vec<u32> = (0..count).map(|_| below(positions) as u32).collect();
            let uvs: Vec<[f32; 2]> = (0..count).map(|_| [0, 1].map(|_| below(kinds) as f32 + 1.0)).collect();
            let normals: Vec<[f32; 3]> = (0..count).map(|_| [0, 1, 2].map(|_| below(2) as f32 + 1.0)).collect();
            let expected = naive(&corners, positions as usize, &uvs, &normals);
            for threads in [1, 2, 7] {
                let streams = [VerticesStream::Pairs(&uvs), VerticesStream::Triples(&normals)];
                assert!(
                    from_corners(&corners, positions as usize, streams, threads).unwrap() == expected,
                    "{kinds} {threads}"
                );
            }
        }
    }
}
