//! One normal and one uv per vertex, where corners have more.
//!
//! An OFF vertex has one value of each attribute, so a position whose corners differ becomes several vertices.
//! Positions keep their numbers and the values of their first corner; the other combinations follow after all
//! positions. So references to positions (lines, points) remain valid, and loose positions stay.
//! [`polyhaul_geometry::vertices`] distinguishes the vertices.

use polyhaul_geometry::corners::face_of_corners;
use polyhaul_geometry::vertices::{Vertices, VerticesStream};
use polyhaul_model::error::Result;
use polyhaul_model::options::SceneWriteOptions;
use polyhaul_model::{Domain, Mesh, NONE};
use polyhaul_pipeline::options::RunOptions;

/// The vertices of a mesh whose corners have their own normals or uvs.
pub(super) struct OffSplit {
    /// The position of each vertex past the positions.
    pub(super) more: Vec<u32>,
    /// Per vertex the index of its normal, [`NONE`] for none; empty if normals are not per corner.
    pub(super) normals: Vec<u32>,
    /// The same for uvs.
    pub(super) uvs: Vec<u32>,
    /// Per corner: its vertex.
    pub(super) corners: Vec<u32>,
}

/// An attribute of corners.
#[derive(Clone, Copy)]
struct CornerSource<'a> {
    /// The keys that distinguish corners.
    stream: VerticesStream<'a>,
    /// Per corner the index of its value; `None` if it is the corner's own.
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

    /// Returns the index of each vertex's value; `first` has the first corner of each.
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
    /// `None` where each position has one of each already.
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

/// Whether a mesh has normals that vertices can have, and they are asked for.
pub(super) fn has_vertex_normals(mesh: &Mesh, options: &SceneWriteOptions) -> bool {
    options.normals && !mesh.normals.is_empty() && mesh.normal_domain != Domain::Face
}
