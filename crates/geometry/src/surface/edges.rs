//! Groups the half-edges of a shard into edges and finds the faulty edges. Positions are numbered as in `places`: equal
//! positions have the same number.

use super::components::Components;
use super::sides::{SideCounts, SortedSide, SortedSides, SurfaceCut, SurfaceFaces};
use polyhaul_model::error::{Result, planted, try_push};
use polyhaul_pipeline::arrays::grow_exact;
use polyhaul_pipeline::parallel::try_for_each_item;

/// Maximum number of half-edges at a position for insertion sort.
const FEW: usize = 16;
/// Flags in the tag of a half-edge: whether it is the key of its face, and whether it goes from the higher to the lower
/// position.
const IS_KEY: u64 = 2;
const IS_BACKWARD: u64 = 1;

/// The findings in a shard. Edges are pairs of positions.
#[derive(Clone, Default)]
pub(super) struct EdgeFindings {
    pub(super) edges: u64,
    pub(super) open: Vec<[u32; 2]>,
    pub(super) non_manifold: Vec<[u32; 2]>,
    pub(super) flipped: Vec<[u32; 2]>,
    pub(super) duplicates: Vec<u32>,
}

/// Finds the edges of all shards and joins the components that they connect.
pub(super) fn find_edges(
    faces: &SurfaceFaces<'_>,
    cut: &SurfaceCut<'_>,
    counts: &SideCounts,
    components: &Components<'_>,
) -> Result<Vec<EdgeFindings>> {
    let mut findings = Vec::new();
    findings.try_reserve_exact(cut.shards)?;
    findings.resize(cut.shards, EdgeFindings::default());
    let mut sides = SortedSides::new(counts);
    for shards in counts.rounds() {
        sides.sort(faces, cut, shards.clone())?;
        let work = shards.clone().zip(&mut findings[shards]);
        try_for_each_item(cut.threads, cut.cancel, work, ShardScratch::default, |scratch, (shard, findings)| {
            let first = (shard << cut.shard_shift) as u32;
            scratch.sort(first, 1 << cut.shard_shift, sides.of_shard(shard))?;
            scratch.each_position(first, |position, sides| findings.add_position(position, sides, faces, components))
        })?;
    }
    Ok(findings)
}

/// Scratch memory of a thread for the half-edges of a shard, sorted by lower position.
#[derive(Default)]
struct ShardScratch {
    /// Per position of the shard: end of its half-edges.
    ends: Vec<u32>,
    /// The higher position in the upper 32 bits, the tag in the lower 32 bits.
    sides: Vec<u64>,
}

impl ShardScratch {
    /// Sorts the half-edges by lower position with a counting sort.
    fn sort<'s>(
        &mut self,
        first: u32,
        places: usize,
        pieces: impl Iterator<Item = &'s [SortedSide]> + Clone,
    ) -> Result<()> {
        self.ends.clear();
        grow_exact(&mut self.ends, places, "edges")?;
        for side in pieces.clone().flatten() {
            self.ends[(side[0] - first) as usize] += 1;
        }
        let mut start = 0;
        for end in &mut self.ends {
            start += std::mem::replace(end, start);
        }
        grow_exact(&mut self.sides, start as usize, "edges")?;
        for &[low, high, tag] in pieces.flatten() {
            let next = &mut self.ends[(low - first) as usize];
            self.sides[*next as usize] = u64::from(high) << 32 | u64::from(tag);
            *next += 1;
        }
        Ok(())
    }

    /// Calls `see` with each position that has half-edges, and its sorted half-edges.
    fn each_position(&mut self, first: u32, mut see: impl FnMut(u32, &[u64]) -> Result<()>) -> Result<()> {
        let mut rest = &mut self.sides[..];
        let mut start = 0;
        for (&end, place) in self.ends.iter().zip(first..) {
            let sides = rest.split_off_mut(..(end - start) as usize).unwrap_or_default();
            start = end;
            if !sides.is_empty() {
                sort(sides);
                see(place, sides)?;
            }
        }
        Ok(())
    }
}

/// Sorts the half-edges at a position, typically six.
#[inline]
fn sort(sides: &mut [u64]) {
    if sides.len() > FEW {
        return sides.sort_unstable();
    }
    for end in 1..sides.len() {
        let side = sides[end];
        let mut at = end;
        while at > 0 && sides[at - 1] > side {
            sides[at] = sides[at - 1];
            at -= 1;
        }
        sides[at] = side;
    }
}

impl EdgeFindings {
    /// Adds the edges from a position to higher positions.
    #[inline]
    fn add_position(
        &mut self,
        place: u32,
        sides: &[u64],
        faces: &SurfaceFaces<'_>,
        components: &Components<'_>,
    ) -> Result<()> {
        let mut joined = place;
        for edge in sides.chunk_by(|a, b| a >> 32 == b >> 32) {
            let other = (edge[0] >> 32) as u32;
            self.edges += 1;
            // Starts at the result of the previous join, which is near the root, to keep the search short.
            joined = components.join(joined, other);
            let directed = if edge[0] & IS_BACKWARD == 0 { [place, other] } else { [other, place] };
            match edge {
                [_] => try_push(&mut self.open, directed, "open edges")?,
                // Used once in each direction: a regular edge.
                [a, b] if (a ^ b) & IS_BACKWARD != 0 => {}
                [_, _] => try_push(&mut self.flipped, directed, "flipped edges")?,
                _ if planted("edge-manifold") => {}
                _ => try_push(&mut self.non_manifold, [place, other], "non-manifold edges")?,
            }
            // Duplicate faces have the same key, so this edge is the key of both.
            if edge.iter().filter(|&side| side & IS_KEY != 0).nth(1).is_some() {
                self.add_duplicates(edge, faces)?;
            }
        }
        Ok(())
    }

    /// Compares the faces whose key is this edge.
    #[cold]
    fn add_duplicates(&mut self, edge: &[u64], faces: &SurfaceFaces<'_>) -> Result<()> {
        let mut candidates = Vec::new();
        candidates.try_reserve_exact(edge.len())?;
        candidates.extend(edge.iter().filter(|&side| side & IS_KEY != 0).map(|&side| side as u32 >> 2));
        let cycle = |face: u32| faces.cycle(face as usize);
        // Equal faces are sorted by index, so that the first of them is not listed.
        candidates.sort_unstable_by(|&a, &b| cycle(a).cmp(cycle(b)).then(a.cmp(&b)));
        for pair in candidates.windows(2).filter(|pair| cycle(pair[0]).eq(cycle(pair[1]))) {
            try_push(&mut self.duplicates, faces.first + pair[1], "duplicate faces")?;
        }
        Ok(())
    }
}
