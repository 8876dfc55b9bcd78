//! The unique edges of a mesh.

use crate::corners::check_offsets;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::{Elements, Mesh, NONE};
use polyhaul_pipeline::arrays::zeroed;
use std::collections::HashMap;

/// Maximum number of edges per position that are searched linearly. Further edges go into a hash map, so that a fan
/// around one position does not take quadratic time.
const LONGEST: usize = 24;

/// The edges of a mesh, and the edge that starts at each corner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    /// The two positions of each edge, the lower index first. Edges of lines come first, followed by the other edges of
    /// faces, in the order of their first corners.
    pub positions: Vec<[u32; 2]>,
    /// Per face corner: the edge to the next corner of its face, or [`NONE`] if both have the same position.
    pub corner_edges: Vec<u32>,
}

/// Returns the unique edges of lines and faces. Degenerate edges, which start and end at the same position, are
/// omitted.
///
/// # Errors
///
/// [`polyhaul_model::error::ErrorKind::Usage`] if an offset or index is out of range;
/// [`polyhaul_model::error::ErrorKind::Limit`] for more edges than 32-bit indices can address;
/// [`polyhaul_model::error::ErrorKind::Memory`].
///
/// # Examples
///
/// ```
/// use polyhaul_model::{Elements, Mesh};
///
/// let faces = Elements {
///     offsets: vec![0, 3, 6].into(),
///     corner_positions: vec![0, 1, 2, 2, 1, 3].into(),
///     ..Elements::default()
/// };
/// let mesh = Mesh { positions: vec![[0.0; 3]; 4].into(), faces, ..Mesh::default() };
/// let edges = polyhaul_geometry::edges::edges(&mesh)?;
/// assert_eq!(edges.positions, [[0, 1], [1, 2], [0, 2], [1, 3], [2, 3]]);
/// assert_eq!(edges.corner_edges, [0, 1, 2, 1, 3, 4]);
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn edges(mesh: &Mesh) -> Result<Edges> {
    check_offsets(&mesh.faces)?;
    let corners = mesh.faces.corner_positions.len();
    // In a closed surface, each edge has two faces. The lists grow for meshes with more edges.
    let mut table = EdgeTable::new(mesh.positions.len(), corners / 2 + mesh.lines.corner_positions.len())?;
    for line in polygons(&mesh.lines) {
        for pair in line?.windows(2) {
            table.edge(pair[0], pair[1])?;
        }
    }
    let mut corner_edges: Vec<u32> = zeroed(corners, "edges")?;
    let mut rest = &mut corner_edges[..];
    for face in polygons(&mesh.faces) {
        let face = face?;
        let face_edges = rest.split_off_mut(..face.len()).unwrap_or_default();
        let next = face.iter().cycle().skip(1);
        for ((edge, &corner), &next) in face_edges.iter_mut().zip(face).zip(next) {
            *edge = table.edge(corner, next)?;
        }
    }
    Ok(Edges { positions: table.edges, corner_edges })
}

/// Iterates over the position indices of each element.
fn polygons(elements: &Elements) -> impl Iterator<Item = Result<&[u32]>> {
    // Borrowed as a slice, because a shared `Array` calls its owner at each access.
    let corner_positions = &elements.corner_positions[..];
    elements.offsets.windows(2).map(|ends| {
        let polygon = corner_positions.get(ends[0] as usize..ends[1] as usize);
        polygon.ok_or_else(|| Error::new(ErrorKind::Usage, format!("invalid offsets: {} follows {}", ends[1], ends[0])))
    })
}

/// The edges found so far, in linked lists: each position has a list of the edges of which it is the lower index.
/// Consecutive faces share positions in most meshes, so these lists stay in the cache, unlike a hash table of all edges
/// (compared with Blender in tools/bench/python/inside.py).
struct EdgeTable {
    edges: Vec<[u32; 2]>,
    /// Per position: the latest edge in its list.
    last: Vec<u32>,
    /// Per edge: the previous edge in its list.
    before: Vec<u32>,
    /// Edges beyond the first [`LONGEST`] of a position.
    more: HashMap<[u32; 2], u32>,
}

impl EdgeTable {
    fn new(positions: usize, edges: usize) -> Result<EdgeTable> {
        let mut table = EdgeTable { edges: Vec::new(), last: Vec::new(), before: Vec::new(), more: HashMap::new() };
        table.last.try_reserve_exact(positions)?;
        table.last.resize(positions, NONE);
        table.edges.try_reserve_exact(edges)?;
        table.before.try_reserve_exact(edges)?;
        Ok(table)
    }

    /// Returns the index of an edge, and adds the edge if it is new. Returns [`NONE`] for a degenerate edge.
    fn edge(&mut self, a: u32, b: u32) -> Result<u32> {
        let edge = [a.min(b), a.max(b)];
        // The second index is the higher one, so it is checked for both.
        if edge[1] as usize >= self.last.len() {
            let index = edge[1];
            let count = self.last.len();
            let message = format!("a face or line has position {index}, but the mesh has {count} positions");
            return Err(Error::new(ErrorKind::Usage, message));
        }
        if a == b {
            return Ok(NONE);
        }
        let first = self.last[edge[0] as usize];
        let mut at = first;
        let mut length = 0;
        while at != NONE {
            if self.edges[at as usize][1] == edge[1] {
                return Ok(at);
            }
            at = self.before[at as usize];
            length += 1;
        }
        let next = u32::try_from(self.edges.len()).ok().filter(|&next| next != NONE);
        let next = next.ok_or_else(|| Error::new(ErrorKind::Limit, "a mesh can have at most 2^32 - 1 edges"))?;
        if length < LONGEST {
            self.last[edge[0] as usize] = next;
        } else if let Some(&number) = self.more.get(&edge) {
            return Ok(number);
        } else {
            self.more.try_reserve(1)?;
            self.more.insert(edge, next);
        }
        try_push(&mut self.edges, edge, "edges")?;
        // Edges in `more` are in no list, but need an entry here, too, to keep both arrays parallel.
        try_push(&mut self.before, first, "edges")?;
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mesh(positions: usize, offsets: Vec<u32>, corners: Vec<u32>) -> Mesh {
        let faces = Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() };
        Mesh { positions: vec![[0.0; 3]; positions].into(), faces, ..Mesh::default() }
    }

    #[test]
    fn a_fan_has_each_edge_once() {
        let count = 10_000;
        let corners = (1..count).flat_map(|at| [0, at, at % (count - 1) + 1]).collect();
        let fan = mesh(count as usize, (0..count).map(|face| face * 3).collect(), corners);
        let edges = edges(&fan).unwrap();
        assert_eq!(edges.positions.len(), 2 * (count as usize - 1));
        let mut sorted = edges.positions.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), edges.positions.len());
        for (face, face_edges) in fan.faces.corner_positions.chunks(3).zip(edges.corner_edges.chunks(3)) {
            for (at, &edge) in face_edges.iter().enumerate() {
                let a = face[at];
                let b = face[(at + 1) % 3];
                assert_eq!(edges.positions[edge as usize], [a.min(b), a.max(b)]);
            }
        }
    }

    #[test]
    fn lines_come_first_and_degenerate_edges_are_left_out() {
        let mut mesh = mesh(4, vec![0, 3], vec![0, 1, 1]);
        mesh.lines =
            Elements { offsets: vec![0, 3].into(), corner_positions: vec![3, 2, 1].into(), ..Elements::default() };
        let edges = edges(&mesh).unwrap();
        assert_eq!(edges.positions, [[2, 3], [1, 2], [0, 1]]);
        assert_eq!(edges.corner_edges, [2, NONE, 2]);
    }

    #[test]
    fn indices_out_of_range_are_errors() {
        assert_eq!(edges(&mesh(2, vec![0, 3], vec![0, 1, 2])).unwrap_err().kind(), ErrorKind::Usage);
        assert_eq!(edges(&mesh(0, vec![0, 3], vec![NONE, 1, 2])).unwrap_err().kind(), ErrorKind::Usage);
        for offsets in [vec![0, 3, 9], vec![0, 6, 3], vec![1, 6], vec![0, 3], vec![]] {
            assert_eq!(edges(&mesh(3, offsets, vec![0, 1, 2, 2, 1, 0])).unwrap_err().kind(), ErrorKind::Usage);
        }
    }
}
