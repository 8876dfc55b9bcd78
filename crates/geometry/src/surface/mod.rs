//! Finds defects of the surface that the faces of a mesh form, and measures it.
//!
//! Positions are first numbered so that equal positions have the same number (`places`). A pass over chunks of faces
//! sums up areas and volumes and counts half-edges per range of positions, called a shard (`faces`). Further passes
//! sort the half-edges by shard, a few shards at a time to bound memory (`sides`). Each shard is processed by one
//! thread, which groups its half-edges into edges (`edges`) and joins components without locks (`components`). Chunks
//! and shards depend only on the mesh, and their results are added in order, so neither lists nor sums depend on the
//! number of threads.

mod components;
mod edges;
mod faces;
mod places;
mod sides;
#[cfg(test)]
mod tests;

use crate::linear::{Vector, add, dot};
use components::Components;
use edges::{EdgeFindings, find_edges};
pub(crate) use faces::area_vector;
use faces::{FaceSums, add_up};
pub(crate) use places::SurfacePlaces;
use polyhaul_model::error::{Error, ErrorKind, Result, try_copy};
use polyhaul_model::{Bounds, Elements, Mesh};
use polyhaul_pipeline::arrays::{out_of_range, zeroed};
use polyhaul_pipeline::options::RunOptions;
use sides::{SideCounts, SurfaceCut, SurfaceFaces};
use std::ops::Range;

/// Limit on the number of faces per check: face indices are packed with two flags.
const MAX_FACES: usize = 1 << 30;
/// Maximum index span, in positions per corner. If faces exceed it, their positions are renumbered first.
/// Otherwise, a few faces of a large mesh would need memory for all positions between their lowest and highest index.
const MAX_SPAN: usize = 8;

/// The positions of a mesh that count as one position of its surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SurfacePositions {
    /// Equal positions are merged, as if the mesh were welded: files duplicate positions at seams of uvs and normals,
    /// where the surface is not open. NaN is unequal to everything.
    #[default]
    Merged,
    /// Positions are distinct, as stored.
    Stored,
}

/// The result of [`check_surface`].
///
/// Edges are pairs of positions, sorted by their lower, then by their higher position. Of equal positions, the first in
/// the index range of the faces is listed. Faces are listed in ascending order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// The number of faces.
    pub faces: u64,
    /// The number of distinct positions used by faces with at least three distinct positions.
    pub positions: u64,
    /// The number of distinct edges of these faces.
    pub edges: u64,
    /// The number of connected components of these faces. Components share no position.
    pub components: u64,
    /// Edges used once, in the direction of their face.
    pub open_edges: Vec<[u32; 2]>,
    /// Edges used more than twice, the lower position first.
    pub non_manifold_edges: Vec<[u32; 2]>,
    /// Edges that two faces use in the same direction, which is the listed direction: one of the faces is flipped.
    pub flipped_edges: Vec<[u32; 2]>,
    /// Faces with the same positions as an earlier face, in the same or opposite order.
    pub duplicate_faces: Vec<u32>,
    /// Faces that use a position more than once, or whose area is zero, infinite or NaN.
    pub degenerate_faces: Vec<u32>,
    /// The total area of the faces. The area of a polygon is the area of its projection along its mean normal.
    pub area: f64,
    /// The enclosed volume; negative if faces are oriented inward. If the surface is not closed, the volume of the
    /// cones from the origin to the faces.
    pub volume: f64,
    /// Positions minus edges plus faces, counting only faces with at least three distinct positions.
    pub euler_number: i64,
    /// The bounding box of the finite positions, or `None` if there are none.
    pub bounds: Option<Bounds<f64>>,
}

/// Checks the surface that a range of a mesh's faces forms for open and non-manifold edges and for flipped, duplicate
/// and degenerate faces, and measures it.
///
/// Faces with fewer than three distinct positions are listed as degenerate and have no edges, so that the faces on both
/// sides of a collapsed triangle are neighbors.
///
/// Time is linear in corners and positions for typical meshes. Beyond the result, memory use is 8 bytes per position,
/// the memory for numbering positions ([`crate::dedup::Dedup`]), and 3 to 12 bytes per corner.
///
/// # Errors
///
/// [`ErrorKind::Usage`] for an index out of range, [`ErrorKind::Limit`] for 2^30 faces or more, [`ErrorKind::Memory`],
/// [`ErrorKind::Cancelled`].
///
/// # Examples
///
/// ```
/// use polyhaul_geometry::surface::{SurfacePositions, check_surface};
/// use polyhaul_model::{Elements, Mesh};
/// use polyhaul_pipeline::options::RunOptions;
///
/// // A tetrahedron without its last face.
/// let faces = Elements {
///     offsets: vec![0, 3, 6, 9].into(),
///     corner_positions: vec![0, 2, 1, 0, 1, 3, 1, 2, 3].into(),
///     ..Elements::default()
/// };
/// let positions = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].into();
/// let mesh = Mesh { positions, faces, ..Mesh::default() };
/// let surface = check_surface(&mesh, 0..3, SurfacePositions::Merged, &RunOptions::default())?;
/// assert_eq!(surface.open_edges, [[0, 2], [3, 0], [2, 3]]);
/// assert!(!surface.is_watertight() && surface.is_consistent());
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn check_surface(mesh: &Mesh, faces: Range<usize>, which: SurfacePositions, run: &RunOptions) -> Result<Surface> {
    check_range(&mesh.faces, &faces)?;
    let Some(span) = index_span(mesh, &faces)? else { return Ok(Surface::default()) };
    let corners = mesh.faces.offsets[faces.end] - mesh.faces.offsets[faces.start];
    if span.len() / MAX_SPAN <= corners as usize {
        return check(mesh, faces, span, which, run);
    }
    let (compact, positions) = compacted(mesh, &faces)?;
    let mut surface = check(&compact, 0..faces.len(), 0..positions.len(), which, run)?;
    for edges in [&mut surface.open_edges, &mut surface.non_manifold_edges, &mut surface.flipped_edges] {
        edges.as_flattened_mut().iter_mut().for_each(|position| *position = positions[*position as usize]);
    }
    for list in [&mut surface.duplicate_faces, &mut surface.degenerate_faces] {
        list.iter_mut().for_each(|face| *face += faces.start as u32);
    }
    Ok(surface)
}

/// Checks faces whose positions lie in `span`.
fn check(
    mesh: &Mesh,
    range: Range<usize>,
    span: Range<usize>,
    which: SurfacePositions,
    run: &RunOptions,
) -> Result<Surface> {
    let places = SurfacePlaces::new(mesh, span, which, run)?;
    let faces = SurfaceFaces::new(&mesh.faces, range, &places);
    let cut = SurfaceCut::new(&faces, run);
    let mut parents = zeroed(places.count(), "components")?;
    let components = Components::new(&mut parents);
    let mut counts = SideCounts::new(&cut)?;
    let sums = add_up(mesh, places.center(), &faces, &cut, &components, &mut counts)?;
    let findings = find_edges(&faces, &cut, &counts, &components)?;
    let mut surface = Surface { faces: faces.len() as u64, ..Surface::default() };
    surface.add_edges(findings, &places)?;
    [surface.positions, surface.components] = components.counts();
    surface.add_faces(sums, places.center())?;
    surface.bounds = places.bounds;
    Ok(surface)
}

/// Fails unless the faces exist and their offsets ascend and are within the corners.
fn check_range(faces: &Elements, range: &Range<usize>) -> Result<()> {
    if range.len() >= MAX_FACES {
        return Err(Error::new(ErrorKind::Limit, "a surface can have at most 2^30 - 1 faces"));
    }
    if range.is_empty() {
        return Ok(());
    }
    match faces.offsets.get(range.start..=range.end) {
        Some(offsets) if offsets.is_sorted() && offsets[range.len()] as usize <= faces.corner_positions.len() => Ok(()),
        Some(_) => Err(Error::new(ErrorKind::Usage, "face offsets must ascend to the number of corners")),
        None => {
            let message = format!("the mesh has {} faces, so {range:?} is out of range", faces.len());
            Err(Error::new(ErrorKind::Usage, message))
        }
    }
}

/// Returns the range of the position indices that `faces` use, or `None` if they have no corners.
fn index_span(mesh: &Mesh, faces: &Range<usize>) -> Result<Option<Range<usize>>> {
    let offsets = &mesh.faces.offsets[..];
    if faces.is_empty() {
        return Ok(None);
    }
    let first = offsets[faces.start] as usize;
    let corners = &mesh.faces.corner_positions[first..offsets[faces.end] as usize];
    let low = corners.iter().copied().min();
    let high = corners.iter().copied().max();
    let Some((low, high)) = low.zip(high) else { return Ok(None) };
    if high as usize >= mesh.positions.len() {
        let at = corners.iter().position(|&corner| corner == high).unwrap_or(0);
        return Err(out_of_range(first + at, "position", high, mesh.positions.len()));
    }
    Ok(Some(low as usize..high as usize + 1))
}

/// Copies faces into a new mesh with only the positions that they use. Returns the new mesh, and the index in `mesh` of
/// each of its positions.
fn compacted(mesh: &Mesh, faces: &Range<usize>) -> Result<(Mesh, Vec<u32>)> {
    let offsets = &mesh.faces.offsets[faces.start..=faces.end];
    let first = offsets[0];
    let corners = &mesh.faces.corner_positions[first as usize..offsets[faces.len()] as usize];
    let mut used = try_copy(corners, "positions of faces")?;
    used.sort_unstable();
    used.dedup();
    let rank = |corner: &u32| used.partition_point(|position| position < corner) as u32;
    let elements = Elements {
        offsets: offsets.iter().map(|offset| offset - first).collect(),
        corner_positions: corners.iter().map(rank).collect(),
        ..Elements::default()
    };
    let compact = Mesh {
        positions: used.iter().map(|&position| mesh.positions[position as usize]).collect(),
        exact_positions: used.iter().filter_map(|&at| mesh.exact_positions.get(at as usize).copied()).collect(),
        faces: elements,
        ..Mesh::default()
    };
    Ok((compact, used))
}

impl Surface {
    /// Returns whether the surface is closed: it has edges, and each of them is used exactly twice.
    pub fn is_watertight(&self) -> bool {
        self.edges > 0 && self.open_edges.is_empty() && self.non_manifold_edges.is_empty()
    }

    /// Returns whether the two faces at each edge have the same orientation.
    pub fn is_consistent(&self) -> bool {
        self.flipped_edges.is_empty()
    }

    /// Returns whether the surface encloses a volume: it is watertight and consistent.
    pub fn is_solid(&self) -> bool {
        self.is_watertight() && self.is_consistent()
    }

    /// Returns whether no defects are listed.
    pub fn is_clean(&self) -> bool {
        let edges = [&self.open_edges, &self.non_manifold_edges, &self.flipped_edges];
        let faces = [&self.duplicate_faces, &self.degenerate_faces];
        edges.iter().all(|edges| edges.is_empty()) && faces.iter().all(|faces| faces.is_empty())
    }

    fn add_edges(&mut self, findings: Vec<EdgeFindings>, places: &SurfacePlaces) -> Result<()> {
        for shard in findings {
            self.edges += shard.edges;
            append(&mut self.open_edges, &shard.open)?;
            append(&mut self.non_manifold_edges, &shard.non_manifold)?;
            append(&mut self.flipped_edges, &shard.flipped)?;
            append(&mut self.duplicate_faces, &shard.duplicates)?;
        }
        for edges in [&mut self.open_edges, &mut self.non_manifold_edges, &mut self.flipped_edges] {
            edges.as_flattened_mut().iter_mut().for_each(|place| *place = places.position(*place));
        }
        self.duplicate_faces.sort_unstable();
        Ok(())
    }

    fn add_faces(&mut self, sums: Vec<FaceSums>, center: Vector) -> Result<()> {
        let mut vector = [0.0; 3];
        let mut covering = 0;
        let mut is_closed = self.is_solid();
        for chunk in sums {
            self.area += chunk.area;
            self.volume += chunk.volume;
            vector = add(vector, chunk.vector);
            covering += chunk.covering;
            is_closed &= !chunk.is_partial;
            append(&mut self.degenerate_faces, &chunk.degenerate)?;
        }
        self.euler_number = self.positions as i64 - self.edges as i64 + covering as i64;
        self.volume /= 6.0;
        // Chunk volumes are relative to the center. The area vectors of a closed surface cancel, so for closed surfaces
        // the term would add only rounding errors.
        if !is_closed {
            self.volume += dot(vector, center) / 3.0;
        }
        Ok(())
    }
}

fn append<T: Copy>(list: &mut Vec<T>, more: &[T]) -> Result<()> {
    list.try_reserve(more.len()).map_err(|_| Error::memory("lists of edges and faces"))?;
    list.extend_from_slice(more);
    Ok(())
}
