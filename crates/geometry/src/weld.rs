//! Welding: replaces the three index streams of face corners with a single index stream. Vertices are the distinct
//! combinations of position, uv and normal.
//!
//! Corners are split into chunks. In each chunk, corners are first matched with recent corners, and the remaining
//! corners are sorted into shards by position range. Each shard is processed by one thread, which walks its corners in
//! order, with a short chain of the (uv, normal) pairs seen at each position, and stores the first equal corner for
//! each corner. Counting these first corners then numbers the vertices in corner order, so the result does not depend
//! on the number of threads. Only indices are compared, never values: equal positions with different indices stay
//! separate.
//!
//! Invariant between the steps: an entry of `firsts` is the corner itself, or an earlier equal corner. That corner may
//! in turn refer to the first equal corner, so numbering follows at most two links.

use polyhaul_model::error::{Error, ErrorKind, Result, planted};
use polyhaul_model::{Elements, Mesh, NONE};
use polyhaul_pipeline::arrays::{as_atomics, check_streams, gather, out_of_range, split, zeroed};
use polyhaul_pipeline::options::{Cancel, RunOptions};
use polyhaul_pipeline::parallel::{for_each_item, try_for_each_item};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

/// Corners per chunk: as many as 16-bit offsets allow, so that each shard receives a good share of them.
const CHUNK_CORNERS: usize = 1 << 16;
/// Target number of corners or positions per shard: enough shards for many threads, but few enough that a mesh in
/// random order does not load each cache line once per shard.
const SHARD_CORNERS: usize = 1 << 16;
const MAX_SHARDS: usize = 256;
/// Number of slots for recent corners, indexed by the low bits of the position. They take 16 KiB, to stay in the L1
/// cache.
const RECENT: usize = 1 << 13;
/// Maximum length of the chain of pairs at one position. Further pairs go into a hash map, so that a position with a
/// million corners takes linear time, too.
const CHAIN: usize = 12;

/// Result of [`weld`]: a vertex buffer, as indices into the arrays of the mesh, and an index buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Welded {
    /// Per vertex: the index of its position.
    pub vertex_positions: Vec<u32>,
    /// Per vertex: the index of its uv, or [`NONE`]. Empty if no corner of the mesh has a uv.
    pub vertex_uvs: Vec<u32>,
    /// Per vertex: the index of its normal, or [`NONE`]. Empty if no corner of the mesh has a normal.
    pub vertex_normals: Vec<u32>,
    /// Per face corner: its vertex.
    pub corner_vertices: Vec<u32>,
}

/// Welds the separate index streams of the faces into a vertex buffer with a single index.
///
/// Vertices are numbered by the first corner that uses them. A missing uv or normal ([`NONE`]) is compared like any
/// other index.
///
/// Time is linear in corners and positions, regardless of the number of corners per position. Beyond the result, memory
/// use is 2.1 bytes per corner and, per thread, one shard, which is 1/256 of a large mesh: 4 bytes per position and 16
/// per vertex, 60 for a vertex beyond the first 12 at its position.
///
/// # Errors
///
/// [`ErrorKind::Usage`] for an index out of range or streams of different lengths, [`ErrorKind::Limit`] for more than
/// 2^32 - 2 corners, [`ErrorKind::Memory`], [`ErrorKind::Cancelled`].
///
/// # Examples
///
/// ```
/// use polyhaul_model::{Elements, Mesh};
/// use polyhaul_pipeline::options::RunOptions;
///
/// let mesh = Mesh {
///     positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].into(),
///     uvs: vec![[0.0, 0.0], [1.0, 1.0]].into(),
///     faces: Elements {
///         offsets: vec![0, 3, 6].into(),
///         corner_positions: vec![0, 1, 2, 2, 1, 0].into(),
///         corner_uvs: vec![0, 0, 0, 0, 1, 0].into(),
///         ..Elements::default()
///     },
///     ..Mesh::default()
/// };
/// let welded = polyhaul_geometry::weld::weld(&mesh, &RunOptions::default())?;
/// assert_eq!(welded.corner_vertices, [0, 1, 2, 2, 3, 0]);
/// assert_eq!(welded.vertex_positions, [0, 1, 2, 1]);
/// assert_eq!(welded.vertex_uvs, [0, 0, 0, 1]);
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn weld(mesh: &Mesh, options: &RunOptions) -> Result<Welded> {
    check_streams(&mesh.faces)?;
    let counts = [mesh.positions.len(), mesh.uvs.len(), mesh.normals.len()];
    let Elements { corner_positions, corner_uvs, corner_normals, .. } = &mesh.faces;
    let corners = WeldCorners::new([corner_positions, corner_uvs, corner_normals], counts)?;
    let cut = WeldCut::new(corners.count(), counts[0], options);
    let mut firsts = zeroed(corners.count(), "corner vertices")?;
    let sorted = Sorted::new(&corners, &cut, &mut firsts)?;
    find_first_corners(&corners, &cut, &sorted, as_atomics(&mut firsts))?;
    let numbers = WeldNumbers::new(&firsts, sorted.offsets, &cut)?;
    numbers.finish(firsts, &corners, &cut)
}

impl Welded {
    /// Returns the number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.vertex_positions.len()
    }

    /// Returns the position of each vertex.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] if `mesh` is not the mesh that was welded, [`ErrorKind::Memory`].
    pub fn positions(&self, mesh: &Mesh, options: &RunOptions) -> Result<Vec<[f32; 3]>> {
        gather(options.worker_threads(), &mesh.positions, &self.vertex_positions, [f32::NAN; 3])
    }

    /// Returns the position of each vertex in double precision. Empty if the mesh has no double-precision positions.
    ///
    /// # Errors
    ///
    /// See [`Welded::positions`].
    pub fn exact_positions(&self, mesh: &Mesh, options: &RunOptions) -> Result<Vec<[f64; 3]>> {
        let numbers = if mesh.is_exact() { &self.vertex_positions[..] } else { &[] };
        gather(options.worker_threads(), &mesh.exact_positions, numbers, [f64::NAN; 3])
    }

    /// Returns the uv of each vertex, or `missing` for vertices without a uv. Empty if no corner of the mesh has a uv.
    ///
    /// # Errors
    ///
    /// See [`Welded::positions`].
    pub fn uvs(&self, mesh: &Mesh, missing: [f32; 2], options: &RunOptions) -> Result<Vec<[f32; 2]>> {
        gather(options.worker_threads(), &mesh.uvs, &self.vertex_uvs, missing)
    }

    /// Returns the normal of each vertex, or `missing` for vertices without a normal. Empty if no corner has a normal.
    ///
    /// # Errors
    ///
    /// See [`Welded::positions`].
    pub fn normals(&self, mesh: &Mesh, missing: [f32; 3], options: &RunOptions) -> Result<Vec<[f32; 3]>> {
        gather(options.worker_threads(), &mesh.normals, &self.vertex_normals, missing)
    }

    /// Returns the color of each vertex. Empty if the mesh has no colors.
    ///
    /// # Errors
    ///
    /// See [`Welded::positions`].
    pub fn colors(&self, mesh: &Mesh, options: &RunOptions) -> Result<Vec<[f32; 4]>> {
        if mesh.colors.is_empty() {
            return Ok(Vec::new());
        }
        gather(options.worker_threads(), &mesh.colors, &self.vertex_positions, [f32::NAN; 4])
    }
}

/// The index streams and the lengths of the arrays they refer to.
struct WeldCorners<'a> {
    counts: [usize; 3],
    positions: &'a [u32],
    uvs: &'a [u32],
    normals: &'a [u32],
}

impl<'a> WeldCorners<'a> {
    fn new([positions, uvs, normals]: [&'a [u32]; 3], counts: [usize; 3]) -> Result<Self> {
        if positions.len() >= NONE as usize {
            return Err(Error::new(ErrorKind::Limit, "a mesh can have at most 2^32 - 2 corners"));
        }
        Ok(WeldCorners { counts, positions, uvs, normals })
    }

    fn count(&self) -> usize {
        self.positions.len()
    }

    /// Returns the uv and normal indices of a corner.
    fn pair(&self, corner: usize) -> (u32, u32) {
        let at = |stream: &[u32]| stream.get(corner).copied().unwrap_or(NONE);
        (at(self.uvs), if planted("weld-normals") { NONE } else { at(self.normals) })
    }

    /// Fails if an index in a chunk is out of range. Checks positions first, then uvs, then normals; the error names
    /// the first such index.
    fn check(&self, chunk: std::ops::Range<usize>) -> Result<()> {
        let streams = [self.positions, self.uvs, self.normals];
        let named = streams.into_iter().zip(self.counts).zip(["position", "UV", "normal"]);
        for ((stream, count), what) in named {
            let part = stream.get(chunk.clone()).unwrap_or(&[]);
            // Where NONE is allowed, the shift wraps it to 0 and increments all other indices, so that one maximum
            // checks all of them. The loop is branch-free, so that it is vectorized.
            let shift = u32::from(what != "position");
            let worst = part.iter().fold(0, |worst, index| index.wrapping_add(shift).max(worst));
            let limit = count + shift as usize;
            if !part.is_empty() && worst as usize >= limit {
                let is_bad = |index: &u32| index.wrapping_add(shift) as usize >= limit;
                let first = part.iter().position(is_bad).unwrap_or(0);
                return Err(out_of_range(chunk.start + first, what, part[first], count));
            }
        }
        Ok(())
    }
}

/// Partition of the work into chunks and shards. It does not affect the result.
struct WeldCut<'a> {
    threads: usize,
    cancel: &'a Cancel,
    chunk_shift: u32,
    /// Right shift from a position to its shard.
    shard_shift: u32,
    shards: usize,
}

impl<'a> WeldCut<'a> {
    fn new(corners: usize, positions: usize, options: &'a RunOptions) -> Self {
        let chunk_corners = match options.chunk_bytes {
            // A corner has three 4-byte indices. A chunk has at most 2^16 corners, for 16-bit offsets, and a power of
            // two, for shifts.
            Some(bytes) => (bytes / 12).clamp(64, 1 << 16).next_power_of_two(),
            None => CHUNK_CORNERS,
        };
        let max_shards = corners.max(positions).div_ceil(SHARD_CORNERS).clamp(1, MAX_SHARDS);
        let shard_positions = positions.div_ceil(max_shards).max(1).next_power_of_two();
        WeldCut {
            threads: options.worker_threads(),
            cancel: &options.cancel,
            chunk_shift: chunk_corners.ilog2(),
            shard_shift: shard_positions.ilog2(),
            shards: positions.div_ceil(shard_positions).max(1),
        }
    }

    fn chunk_corners(&self) -> usize {
        1 << self.chunk_shift
    }

    fn chunk(&self, index: usize, corners: usize) -> std::ops::Range<usize> {
        let start = index << self.chunk_shift;
        start..corners.min(start + self.chunk_corners())
    }
}

/// The corners of each chunk without a recent match, sorted by shard, then by corner.
struct Sorted {
    /// Offsets of the corners within their chunk. The entries after a chunk's last shard are unused.
    offsets: Vec<u16>,
    /// End of each shard's corners in the chunk: `shards` entries per chunk.
    ends: Vec<u32>,
}

impl Sorted {
    /// Sorts all chunks, and sets `firsts` for corners with a recent match.
    fn new(corners: &WeldCorners, cut: &WeldCut, firsts: &mut [u32]) -> Result<Sorted> {
        let count = corners.count();
        let mut offsets = zeroed(count, "sorted corners")?;
        let mut ends = zeroed(count.div_ceil(cut.chunk_corners()) * cut.shards, "shard borders")?;
        let chunks = offsets.chunks_mut(cut.chunk_corners()).zip(ends.chunks_mut(cut.shards));
        let chunks = chunks.zip(firsts.chunks_mut(cut.chunk_corners())).enumerate();
        let scratch = || (Vec::new(), Vec::new());
        try_for_each_item(cut.threads, cut.cancel, chunks, scratch, |scratch, (index, ((offsets, ends), firsts))| {
            let chunk = cut.chunk(index, count);
            corners.check(chunk.clone())?;
            let (recent, new) = scratch;
            recent.try_reserve_exact(RECENT - recent.len())?;
            recent.resize(RECENT, 0);
            new.clear();
            new.try_reserve_exact(cut.chunk_corners())?;
            find_recent(corners, chunk.start, firsts, recent, new);
            sort_chunk(&corners.positions[chunk], new, cut.shard_shift, offsets, ends);
            Ok(())
        })?;
        Ok(Sorted { offsets, ends })
    }

    /// Returns the corners of a shard, in order.
    fn shard(&self, shard: usize, cut: &WeldCut) -> impl Iterator<Item = usize> {
        let ends = self.ends.chunks(cut.shards);
        let chunks = self.offsets.chunks(cut.chunk_corners()).zip(ends).enumerate();
        let shift = cut.chunk_shift;
        chunks.flat_map(move |(chunk, (offsets, ends))| {
            let start = if shard == 0 { 0 } else { ends[shard - 1] as usize };
            offsets[start..ends[shard] as usize].iter().map(move |&o| (chunk << shift) + usize::from(o))
        })
    }

    fn shard_corners(&self, shard: usize, cut: &WeldCut) -> usize {
        let corners = |ends: &[u32]| ends[shard] - if shard == 0 { 0 } else { ends[shard - 1] };
        self.ends.chunks(cut.shards).map(|ends| corners(ends) as usize).sum()
    }
}

/// Matches each corner of a chunk with recent corners, and collects the corners without a match in `new`.
///
/// Three quarters of the corners of a typical mesh match here, so few are sorted.
fn find_recent(corners: &WeldCorners, start: usize, firsts: &mut [u32], recent: &mut [u16], new: &mut Vec<u16>) {
    // Unset slots refer to the first corner of the chunk, which is harmless: candidates are compared before use.
    recent.fill(0);
    new.clear();
    for (offset, first) in firsts.iter_mut().enumerate() {
        let corner = start + offset;
        let position = corners.positions[corner];
        let place = &mut recent[position as usize % RECENT];
        let like = start + usize::from(*place);
        // At the first corner of a chunk, an unset slot refers to the corner itself, which is new.
        if like < corner && corners.positions[like] == position && corners.pair(like) == corners.pair(corner) {
            *first = like as u32;
        } else {
            *place = offset as u16;
            new.push(offset as u16);
        }
    }
}

/// Sorts the corners in `new` by shard with a stable counting sort.
fn sort_chunk(positions: &[u32], new: &[u16], shard_shift: u32, sorted: &mut [u16], ends: &mut [u32]) {
    let shard = |offset: u16| (positions[usize::from(offset)] >> shard_shift) as usize;
    for &offset in new {
        ends[shard(offset)] += 1;
    }
    let mut start = 0;
    for end in ends.iter_mut() {
        start += std::mem::replace(end, start);
    }
    for &offset in new {
        let place = &mut ends[shard(offset)];
        sorted[*place as usize] = offset;
        *place += 1;
    }
}

/// Stores for each sorted corner the first corner with the same position, uv and normal.
fn find_first_corners(corners: &WeldCorners, cut: &WeldCut, sorted: &Sorted, firsts: &[AtomicU32]) -> Result<()> {
    try_for_each_item(cut.threads, cut.cancel, 0..cut.shards, Shard::default, |seen, shard| {
        let start = shard << cut.shard_shift;
        let positions = (corners.counts[0] - start).min(1 << cut.shard_shift);
        seen.clear(positions, sorted.shard_corners(shard, cut))?;
        for corner in sorted.shard(shard, cut) {
            let position = corners.positions[corner] as usize - start;
            let first = seen.first(position, corners.pair(corner), corner as u32)?;
            // Relaxed: each corner is in one shard, and `firsts` is read after the threads have been joined.
            firsts[corner].store(first, Ordering::Relaxed);
        }
        Ok(())
    })
}

/// The pairs seen at each position of a shard.
#[derive(Default)]
struct Shard {
    /// Per position: the newest link of its chain, or [`NONE`].
    heads: Vec<u32>,
    links: Vec<Link>,
    /// The first corner of each pair that did not fit in a chain, keyed by position and pair.
    overflow: HashMap<(u32, u32, u32), u32>,
}

#[derive(Clone, Copy)]
struct Link {
    pair: (u32, u32),
    corner: u32,
    next: u32,
}

impl Shard {
    fn clear(&mut self, positions: usize, corners: usize) -> Result<()> {
        let memory = |_| Error::memory("a shard of vertices");
        self.heads.clear();
        self.heads.try_reserve(positions).map_err(memory)?;
        self.heads.resize(positions, NONE);
        self.links.clear();
        // `first` pushes without reserving: at most one link per corner, and `CHAIN` per position.
        self.links.try_reserve(corners.min(positions * CHAIN)).map_err(memory)?;
        if !self.overflow.is_empty() {
            self.overflow = HashMap::new();
        }
        Ok(())
    }

    /// Returns the first corner with this pair at this position. If there is none yet, this is `corner`.
    #[inline]
    fn first(&mut self, position: usize, pair: (u32, u32), corner: u32) -> Result<u32> {
        let head = self.heads[position];
        let mut next = head;
        for _ in 0..CHAIN {
            // [`NONE`] is beyond all links, so the bounds check also finds the end of the chain.
            let Some(link) = self.links.get(next as usize) else {
                self.heads[position] = self.links.len() as u32;
                self.links.push(Link { pair, corner, next: head });
                return Ok(corner);
            };
            if link.pair == pair {
                return Ok(link.corner);
            }
            next = link.next;
        }
        self.first_in_overflow((position as u32, pair.0, pair.1), corner)
    }

    #[cold]
    fn first_in_overflow(&mut self, key: (u32, u32, u32), corner: u32) -> Result<u32> {
        self.overflow.try_reserve(1).map_err(|_| Error::memory("vertices of one position"))?;
        Ok(*self.overflow.entry(key).or_insert(corner))
    }
}

/// Prefix sums that number the first corners.
struct WeldNumbers {
    /// Per corner: number of first corners before it in its chunk.
    in_chunk: Vec<u16>,
    /// Per chunk: number of first corners before it. The last entry is the total number of first corners.
    chunks: Vec<u32>,
    chunk_shift: u32,
}

impl WeldNumbers {
    /// Counts the first corners. `in_chunk` provides memory for one number per corner.
    fn new(firsts: &[u32], mut in_chunk: Vec<u16>, cut: &WeldCut) -> Result<WeldNumbers> {
        let mut chunks = zeroed(firsts.len().div_ceil(cut.chunk_corners()) + 1, "vertex numbers")?;
        let items = firsts.chunks(cut.chunk_corners()).zip(in_chunk.chunks_mut(cut.chunk_corners()));
        let items = items.zip(&mut chunks).enumerate();
        for_each_item(
            cut.threads,
            items,
            || (),
            |(), (index, ((firsts, numbers), total))| {
                let start = (index << cut.chunk_shift) as u32;
                let mut count = 0;
                for ((first, number), corner) in firsts.iter().zip(numbers).zip(start..) {
                    // Fits: fewer than 2^16 corners precede this one in its chunk.
                    *number = count as u16;
                    count += u32::from(*first == corner);
                }
                *total = count;
            },
        );
        let mut sum = 0;
        for chunk in &mut chunks {
            sum += std::mem::replace(chunk, sum);
        }
        Ok(WeldNumbers { in_chunk, chunks, chunk_shift: cut.chunk_shift })
    }

    /// Returns the vertex of a first corner.
    fn vertex_of(&self, corner: usize) -> u32 {
        self.chunks[corner >> self.chunk_shift] + u32::from(self.in_chunk[corner])
    }

    /// Replaces first corners with vertices, and collects the indices of each vertex.
    fn finish(&self, mut firsts: Vec<u32>, corners: &WeldCorners, cut: &WeldCut) -> Result<Welded> {
        let count = self.chunks.last().map_or(0, |&count| count as usize);
        let stream = |from: &[u32]| zeroed(if from.is_empty() { 0 } else { count }, "vertices");
        let mut vertex_positions = stream(corners.positions)?;
        let mut vertex_uvs = stream(corners.uvs)?;
        let mut vertex_normals = stream(corners.normals)?;
        let lengths = || self.chunks.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        let vertices = split(&mut vertex_positions, lengths())
            .zip(split(&mut vertex_uvs, lengths()))
            .zip(split(&mut vertex_normals, lengths()));
        let chunks = firsts.chunks_mut(cut.chunk_corners()).zip(vertices).enumerate();
        for_each_item(
            cut.threads,
            chunks,
            || (),
            |(), (index, (chunk, ((positions, uvs), normals)))| {
                let start = index << cut.chunk_shift;
                let mut vertex = 0;
                for offset in 0..chunk.len() {
                    let corner = start + offset;
                    let first = chunk[offset] as usize;
                    chunk[offset] = match first.checked_sub(start) {
                        // An earlier corner of this chunk already has its vertex.
                        Some(first) if first < offset => chunk[first],
                        _ => self.vertex_of(first),
                    };
                    if first == corner {
                        positions[vertex] = corners.positions[corner];
                        let pair = corners.pair(corner);
                        uvs.get_mut(vertex).into_iter().for_each(|uv| *uv = pair.0);
                        normals.get_mut(vertex).into_iter().for_each(|normal| *normal = pair.1);
                        vertex += 1;
                    }
                }
            },
        );
        Ok(Welded { vertex_positions, vertex_uvs, vertex_normals, corner_vertices: firsts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pseudorandom number generator.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *state >> 33
    }

    fn mesh(streams: [Vec<u32>; 3], counts: [usize; 3]) -> Mesh {
        let [corner_positions, corner_uvs, corner_normals] = streams;
        Mesh {
            positions: vec![[0.0; 3]; counts[0]].into(),
            uvs: vec![[0.0; 2]; counts[1]].into(),
            normals: vec![[0.0; 3]; counts[2]].into(),
            faces: Elements {
                offsets: Vec::new().into(),
                corner_positions: corner_positions.into(),
                corner_uvs: corner_uvs.into(),
                corner_normals: corner_normals.into(),
            },
            ..Mesh::default()
        }
    }

    /// Corners that ascend through the positions with some disorder, as in real meshes.
    fn disordered(corners: usize, counts: [usize; 3], spread: u64) -> Mesh {
        let mut state = 7;
        let mut stream = |count: usize, none: bool| -> Vec<u32> {
            if count == 0 {
                return Vec::new();
            }
            let index = |i| (i as u64 * count as u64 / corners as u64 + random(&mut state) % spread) % count as u64;
            let stream = (0..corners).map(index).map(|i| if none && i % 5 == 0 { NONE } else { i as u32 });
            stream.collect()
        };
        let streams = [stream(counts[0], false), stream(counts[1], true), stream(counts[2], true)];
        mesh(streams, counts)
    }

    fn naive(mesh: &Mesh) -> Welded {
        let mut seen = HashMap::new();
        let mut welded = Welded::default();
        let faces = &mesh.faces;
        for (corner, &position) in faces.corner_positions.iter().enumerate() {
            let uv = faces.corner_uvs.get(corner);
            let normal = faces.corner_normals.get(corner);
            let next = seen.len() as u32;
            let vertex = *seen.entry((position, uv, normal)).or_insert_with(|| {
                welded.vertex_positions.push(position);
                welded.vertex_uvs.extend(uv);
                welded.vertex_normals.extend(normal);
                next
            });
            welded.corner_vertices.push(vertex);
        }
        welded
    }

    fn options(threads: usize, chunk_bytes: Option<usize>) -> RunOptions {
        RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(chunk_bytes)
    }

    #[test]
    fn welding_is_the_same_as_one_hash_map() {
        let meshes = [
            disordered(0, [0, 0, 0], 1),
            disordered(1, [1, 1, 1], 1),
            disordered(70_001, [20_000, 5_000, 300], 40),
            disordered(70_001, [20_000, 0, 3], 20_000),
            disordered(40_000, [100_000, 7, 0], 100_000),
            disordered(40_000, [3, 40_000, 40_000], 40_000),
            disordered(5_000, [1, 1, 1], 1),
        ];
        for mesh in &meshes {
            let expected = naive(mesh);
            for threads in [1, 2, 3, 7, 64] {
                for chunk_bytes in [None, Some(1), Some(20_000)] {
                    assert!(weld(mesh, &options(threads, chunk_bytes)).unwrap() == expected);
                }
            }
        }
    }

    #[test]
    fn an_index_out_of_range_is_an_error_at_the_first_corner() {
        let good = || disordered(70_000, [20_000, 5_000, 300], 40);
        let spoil = |which: usize, corner: usize, value: u32| {
            let mut mesh = good();
            let faces = &mut mesh.faces;
            let streams = [&mut faces.corner_positions, &mut faces.corner_uvs, &mut faces.corner_normals];
            streams.into_iter().nth(which).unwrap().to_mut().unwrap()[corner] = value;
            mesh.faces.corner_positions.to_mut().unwrap()[69_999] = 20_000;
            mesh
        };
        for (which, corner, value, what) in [
            (0, 66_000, 20_000, "corner 66000 has position 20000, but the mesh has 20000 positions"),
            (0, 0, NONE, "corner 0 has position NONE, but the mesh has 20000 positions"),
            (1, 40_000, 5_000, "corner 40000 has UV 5000, but the mesh has 5000 UVs"),
            (2, 40_001, NONE - 1, "corner 40001 has normal 4294967294, but the mesh has 300 normals"),
        ] {
            for threads in [1, 2, 3, 7, 64] {
                let error = weld(&spoil(which, corner, value), &options(threads, None)).unwrap_err();
                assert_eq!((error.kind(), error.diagnostic().message.as_str()), (ErrorKind::Usage, what));
            }
        }
    }

    #[test]
    fn streams_of_different_lengths_are_an_error() {
        let mut mesh = disordered(10, [3, 3, 3], 3);
        mesh.faces.corner_normals.to_mut().unwrap().pop();
        assert_eq!(weld(&mesh, &options(1, None)).unwrap_err().kind(), ErrorKind::Usage);
    }

    #[test]
    fn a_cancelled_weld_is_an_error() {
        let options = options(2, None);
        options.cancel.cancel();
        let error = weld(&disordered(10, [3, 3, 3], 3), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn values_are_gathered_per_vertex() {
        let mut mesh = mesh([vec![1, 0, 1], vec![NONE, 0, NONE], vec![]], [2, 1, 0]);
        mesh.positions = vec![[1.0; 3], [2.0; 3]].into();
        mesh.colors = vec![[0.1; 4], [0.2; 4]].into();
        mesh.uvs = vec![[0.5, 0.25]].into();
        let options = options(2, None);
        let welded = weld(&mesh, &options).unwrap();
        assert_eq!(welded.vertex_count(), 2);
        assert_eq!(welded.positions(&mesh, &options).unwrap(), [[2.0; 3], [1.0; 3]]);
        assert_eq!(welded.uvs(&mesh, [7.0; 2], &options).unwrap(), [[7.0; 2], [0.5, 0.25]]);
        assert!(welded.normals(&mesh, [0.0; 3], &options).unwrap().is_empty());
        assert_eq!(welded.colors(&mesh, &options).unwrap(), [[0.2; 4], [0.1; 4]]);
        assert_eq!(welded.colors(&Mesh::default(), &options).unwrap(), [[0.0; 4]; 0]);
        assert_eq!(welded.positions(&Mesh::default(), &options).unwrap_err().kind(), ErrorKind::Usage);
    }
}
