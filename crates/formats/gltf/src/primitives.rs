//! Converts primitive topologies: triangles, strips and fans to faces; segments, loops and strips to polylines; and
//! points.
//!
//! Source: section 3.7.2.1 of the specification.

use crate::document::mode;
use crate::log::over_limit;
use polyhaul_model::Elements;
use polyhaul_model::error::{Error, Result};

/// Topology of a primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GltfTopology {
    Points,
    /// Separate segments of two vertices.
    Lines,
    /// A single polyline.
    Strip {
        is_closed: bool,
    },
    Triangles,
    TriangleStrip,
    TriangleFan,
}

impl GltfTopology {
    /// Converts a mode number. Returns `None` if it is unknown.
    pub(crate) fn from_mode(number: u32) -> Option<GltfTopology> {
        Some(match number {
            mode::POINTS => GltfTopology::Points,
            mode::LINES => GltfTopology::Lines,
            mode::LINE_LOOP => GltfTopology::Strip { is_closed: true },
            mode::LINE_STRIP => GltfTopology::Strip { is_closed: false },
            mode::TRIANGLES => GltfTopology::Triangles,
            mode::TRIANGLE_STRIP => GltfTopology::TriangleStrip,
            mode::TRIANGLE_FAN => GltfTopology::TriangleFan,
            _ => return None,
        })
    }

    pub(crate) fn has_faces(self) -> bool {
        matches!(self, GltfTopology::Triangles | GltfTopology::TriangleStrip | GltfTopology::TriangleFan)
    }

    /// Returns the number of trailing indices, out of `count` indices, that belong to no element.
    pub(crate) fn excess(self, count: usize) -> usize {
        match self {
            GltfTopology::Points => 0,
            GltfTopology::Lines => count % 2,
            GltfTopology::Triangles => count % 3,
            GltfTopology::Strip { .. } if count < 2 => count,
            GltfTopology::TriangleStrip | GltfTopology::TriangleFan if count < 3 => count,
            _ => 0,
        }
    }
}

/// Appends the corners of the triangles, for a topology with faces. In strips and fans, skips degenerate triangles
/// (with a repeated vertex), which only serve to join strips.
pub(crate) fn triangles(topology: GltfTopology, vertices: &[u32], out: &mut Vec<u32>) -> Result<()> {
    if topology == GltfTopology::Triangles {
        out.try_reserve(vertices.len()).map_err(|_| Error::memory("faces"))?;
        out.extend_from_slice(vertices);
        return Ok(());
    }
    let capacity = vertices.len().saturating_sub(2).saturating_mul(3);
    out.try_reserve(capacity).map_err(|_| Error::memory("faces"))?;
    let first = vertices.first().copied().unwrap_or(0);
    for (number, triple) in vertices.windows(3).enumerate() {
        let [a, b, c] = match (topology, triple) {
            // In the order of the specification: vertices i + 1, i + 2 and 0.
            (GltfTopology::TriangleFan, &[_, b, c]) => [b, c, first],
            // Every other triangle of a strip has the opposite winding.
            (_, &[a, b, c]) if number % 2 == 0 => [a, b, c],
            (_, &[a, b, c]) => [a, c, b],
            _ => continue,
        };
        if a != b && b != c && c != a {
            out.extend([a, b, c]);
        }
    }
    Ok(())
}

/// Appends the end offsets of `count` elements that have `size` corners each.
pub(crate) fn append_ends(elements: &mut Elements, count: usize, size: usize, limit: u64) -> Result<()> {
    let offsets = elements.offsets.to_mut()?;
    offsets.try_reserve(count.saturating_add(1)).map_err(|_| Error::memory("elements"))?;
    if count == 0 {
        return Ok(());
    }
    if offsets.is_empty() {
        offsets.push(0);
    }
    let start = offsets.last().copied().unwrap_or(0);
    if u64::from(start) + count as u64 * size as u64 > limit {
        return Err(over_limit("the corners of faces and lines", limit, "elements"));
    }
    offsets.extend((1..=count as u32).map(|number| start + number * size as u32));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corners(topology: GltfTopology, vertices: &[u32]) -> Vec<u32> {
        let mut out = Vec::new();
        triangles(topology, vertices, &mut out).unwrap();
        out
    }

    #[test]
    fn strips_and_fans_keep_their_winding() {
        assert_eq!(corners(GltfTopology::TriangleStrip, &[0, 1, 2, 3, 4]), [0, 1, 2, 1, 3, 2, 2, 3, 4]);
        assert_eq!(corners(GltfTopology::TriangleFan, &[9, 1, 2, 3]), [1, 2, 9, 2, 3, 9]);
        // Two strips, joined by repeated vertices.
        assert_eq!(corners(GltfTopology::TriangleStrip, &[0, 1, 2, 2, 5, 5, 6, 7]), [0, 1, 2, 5, 7, 6]);
        for count in 0..3 {
            assert!(corners(GltfTopology::TriangleStrip, &[0, 1, 2][..count]).is_empty());
        }
    }

    #[test]
    fn excess_and_ends() {
        let excess = |topology: GltfTopology| [0, 1, 2, 3, 4].map(|count| topology.excess(count));
        assert_eq!(excess(GltfTopology::Triangles), [0, 1, 2, 0, 1]);
        assert_eq!(excess(GltfTopology::Lines), [0, 1, 0, 1, 0]);
        assert_eq!(excess(GltfTopology::Strip { is_closed: true }), [0, 1, 0, 0, 0]);
        assert_eq!(excess(GltfTopology::TriangleFan), [0, 1, 2, 0, 0]);
        let mut elements = Elements::default();
        append_ends(&mut elements, 0, 3, 100).unwrap();
        assert!(elements.offsets.is_empty());
        append_ends(&mut elements, 2, 3, 100).unwrap();
        append_ends(&mut elements, 1, 4, 10).unwrap();
        assert_eq!(elements.offsets, [0, 3, 6, 10]);
        assert!(append_ends(&mut elements, 1, 1, 10).is_err());
    }
}
