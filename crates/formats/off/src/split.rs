//! Splits vertices whose corners have different normals or uvs.
//!
//! An OFF vertex has one value per attribute, so a position whose corners differ becomes several vertices. Each
//! position keeps its index and the values of its first corner; vertices with other combinations of values follow after
//! all positions. So references to positions (from lines and points) remain valid, and positions without corners are
//! kept. [`polyhaul_geometry::vertices`] determines the distinct vertices.

use polyhaul_geometry::corners::face_of_corners;
use polyhaul_geometry::vertices::{Vertices, VerticesStream};
use polyhaul_model::error::Result;
use polyhaul_model::options::SceneWriteOptions;
use polyhaul_model::{Domain, Mesh, NONE};
use polyhaul_pipeline::options::RunOptions;

/// The vertices of a mesh that has per-corner normals or uvs.
pub(super) struct OffSplit {
    /// Position index of each vertex that was added after the positions.
    pub(super) more: Vec<u32>,
    /// Index of each vertex's normal, or [`NONE`]; empty if normals are not per corner.
    pub(super) normals: Vec<u32>,
    /// Index of each vertex's uv, or [`NONE`]; empty if uvs are not per corner.
    pub(super) uvs: Vec<u32>,
    /// Vertex index of each corner.
    pub(super) corners: Vec<u32>,
}

/// A per-corner attribute.
#[derive(Clone, Copy)]
struct CornerSource<'a> {
    /// Keys that distinguish corners.
    stream: VerticesStream<'a>,
    /// Index of each corner's value; `None` if each corner has its own value.
    places: Option<&'a [u32]>,
}

impl<'a> CornerSource<'a> {
    fn of(
        domain: Domain,
        by_corner: VerticesStream<'a>,
        listed: &'a [u32],
        of_face: &'a [u32],
    ) -> Option<CornerSource<'a>> {
        let listed = match domain {
            Domain::Vertex => return None,
            Domain::Corner => return Some(CornerSource { stream: by_corner, places: None }),
            Domain::Indexed => listed,
            Domain::Face => of_face,
        };
        (!listed.is_empty()).then_some(CornerSource { stream: VerticesStream::Listed(listed), places: Some(listed) })
    }

    /// Returns the index of each vertex's value. `first` has the first corner of each vertex.
    fn places(self, first: &[u32]) -> Result<Vec<u32>> {
        let mut places = Vec::new();
        places.try_reserve_exact(first.len())?;
        match self.places {
            Some(listed) => {
                places.extend(first.iter().map(|&corner| listed.get(corner as usize).copied().unwrap_or(NONE)))
            }
            None => places.extend_from_slice(first),
        }
        Ok(places)
    }
}

impl OffSplit {
    /// Splits the vertices of a mesh. Returns `None` if neither normals nor uvs are per corner.
    pub(super) fn of(mesh: &Mesh, options: &SceneWriteOptions, run: &RunOptions) -> Result<Option<OffSplit>> {
        let faces = &mesh.faces;
        let has_normals = has_vertex_normals(mesh, options);
        let has_uvs = options.uv && !mesh.uvs.is_empty();
        let of_face = if has_uvs && mesh.uv_domain == Domain::Face { face_of_corners(faces)? } else { Vec::new() };
        let normals =
            CornerSource::of(mesh.normal_domain, VerticesStream::Triples(&mesh.normals), &faces.corner_normals, &[]);
        let uvs = CornerSource::of(mesh.uv_domain, VerticesStream::Pairs(&mesh.uvs), &faces.corner_uvs, &of_face);
        let normals = normals.filter(|_| has_normals);
        let uvs = uvs.filter(|_| has_uvs);
        if normals.is_none() && uvs.is_none() {
            return Ok(None);
        }
        let streams = [uvs, normals].map(|source| source.map_or(VerticesStream::Nothing, |source| source.stream));
        let vertices = Vertices::from_corners(&faces.corner_positions, mesh.positions.len(), streams, run)?;
        let places =
            |source: Option<CornerSource<'_>>| source.map_or(Ok(Vec::new()), |source| source.places(&vertices.first));
        let normals = places(normals)?;
        let uvs = places(uvs)?;
        Ok(Some(OffSplit { more: vertices.more, normals, uvs, corners: vertices.of_corner }))
    }
}

/// Whether normals are requested and the mesh has normals other than face normals.
pub(super) fn has_vertex_normals(mesh: &Mesh, options: &SceneWriteOptions) -> bool {
    options.normals && !mesh.normals.is_empty() && mesh.normal_domain != Domain::Face
}
