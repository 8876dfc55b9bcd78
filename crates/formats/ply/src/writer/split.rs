//! Splits vertices whose corners have different uvs or normals.
//!
//! A PLY vertex has one value per attribute, so a position whose corners differ becomes several vertices. Positions
//! keep their indices and the values of their first corner; the other combinations follow after all positions. So
//! references to positions (from lines, points or the caller) remain valid, and loose positions are kept. In Blender's
//! dialect, vertices are numbered by their first corners instead.

use super::tables::longest;
use polyhaul_geometry::corners::{corner_uvs, face_of_corners};
use polyhaul_geometry::vertices::{Vertices, VerticesStream};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::options::{Dialect, FormatOptions, PlyWriteOptions};
use polyhaul_model::{Array, Column, Domain, Mesh, NONE};
use polyhaul_pipeline::arrays::zeroed;
use polyhaul_pipeline::options::RunOptions;

/// The vertices of a mesh whose corners have their own uvs or normals.
#[derive(Default)]
pub(super) struct PlySplit {
    /// Number of leading vertices that are the positions themselves.
    pub(super) own: usize,
    /// Position index of each vertex after them.
    pub(super) more: Vec<u32>,
    /// Vertex indices of lines; empty if they equal the position indices.
    pub(super) lines: Vec<u32>,
    /// Uvs of the vertices.
    pub(super) uvs: PlyValues,
    /// Normals of the vertices.
    pub(super) normals: PlyValues,
    /// Index of the first corner of each vertex.
    first: Vec<u32>,
    /// Vertex index of each corner.
    pub(super) corners: Vec<u32>,
    /// For each vertex column, the offsets of the vertices' lists if it holds lists.
    pub(super) lists: Vec<Option<Vec<u32>>>,
}

/// Location of an attribute's values.
#[derive(Default)]
pub(super) enum PlyValues {
    /// Not determined by corners.
    #[default]
    Nothing,
    /// At the first corner of each vertex.
    AtCorners,
    /// Index per vertex; [`NONE`] if it has no value.
    Listed(Vec<u32>),
}

/// A per-corner attribute: the keys that distinguish corners, and the value indices.
struct PlySource<'a> {
    stream: VerticesStream<'a>,
    /// Index of each corner's value; `None` if each corner has its own.
    places: Option<&'a [u32]>,
}

impl<'a> PlySource<'a> {
    const NOTHING: PlySource<'static> = PlySource { stream: VerticesStream::Nothing, places: None };

    fn from_domain(
        domain: Domain,
        per_corner: VerticesStream<'a>,
        listed: &'a [u32],
        of_face: &'a [u32],
    ) -> PlySource<'a> {
        match domain {
            Domain::Indexed => PlySource { stream: VerticesStream::Listed(listed), places: Some(listed) },
            Domain::Face => PlySource { stream: VerticesStream::Listed(of_face), places: Some(of_face) },
            Domain::Corner => PlySource { stream: per_corner, places: None },
            Domain::Vertex => PlySource::NOTHING,
        }
    }

    /// Returns whether corners have no such attribute.
    fn is_nothing(&self) -> bool {
        matches!(self.stream, VerticesStream::Nothing | VerticesStream::Listed([]))
    }

    fn values(&self, first: &[u32]) -> Result<PlyValues> {
        let Some(places) = self.places else {
            return Ok(if self.is_nothing() { PlyValues::Nothing } else { PlyValues::AtCorners });
        };
        let mut values = Vec::new();
        values.try_reserve_exact(first.len())?;
        values.extend(first.iter().map(|&corner| places.get(corner as usize).copied().unwrap_or(NONE)));
        Ok(if places.is_empty() { PlyValues::Nothing } else { PlyValues::Listed(values) })
    }
}

impl PlySplit {
    /// Splits the vertices of a mesh. Returns `None` if neither uvs nor normals depend on the corner.
    pub(super) fn from_mesh(
        mesh: &Mesh,
        options: FormatOptions<'_, PlyWriteOptions>,
        run: &RunOptions,
    ) -> Result<Option<PlySplit>> {
        let faces = &mesh.faces;
        let has_uvs = options.scene.uv && !mesh.uvs.is_empty();
        let has_normals = options.scene.normals && !mesh.normals.is_empty() && mesh.normal_domain != Domain::Face;
        let of_face = if has_uvs && mesh.uv_domain == Domain::Face { face_of_corners(faces)? } else { Vec::new() };
        let is_blenders = options.scene.dialect == Dialect::Blender;
        // Blender merges equal uvs, even if they have different indices or belong to different faces.
        let places = match mesh.uv_domain {
            Domain::Indexed => &faces.corner_uvs[..],
            _ => &of_face,
        };
        let values = if has_uvs && is_blenders && !places.is_empty() { corner_uvs(mesh, [0.0; 2], run)? } else { None };
        let uvs = if let Some(values) = &values {
            PlySource { stream: VerticesStream::Pairs(values), places: Some(places) }
        } else if has_uvs {
            PlySource::from_domain(mesh.uv_domain, VerticesStream::Pairs(&mesh.uvs), &faces.corner_uvs, &of_face)
        } else {
            PlySource::NOTHING
        };
        let normals = if has_normals {
            PlySource::from_domain(
                mesh.normal_domain,
                VerticesStream::Triples(&mesh.normals),
                &faces.corner_normals,
                &[],
            )
        } else {
            PlySource::NOTHING
        };
        if uvs.is_nothing() && normals.is_nothing() {
            return Ok(None);
        }
        let streams =
            [&uvs, &normals].map(|source| if source.is_nothing() { VerticesStream::Nothing } else { source.stream });
        let vertices = Vertices::from_corners(&faces.corner_positions, mesh.positions.len(), streams, run)?;
        let Vertices { first, more, of_corner: corners } = vertices;
        let mut split = PlySplit { own: mesh.positions.len(), more, first, corners, ..PlySplit::default() };
        if is_blenders && !uvs.is_nothing() {
            split.number_by_corners(mesh)?;
        }
        split.uvs = uvs.values(&split.first)?;
        split.normals = normals.values(&split.first)?;
        for column in &mesh.vertex_columns {
            let offsets = column.offsets.as_ref().map(|offsets| split.offsets(offsets)).transpose()?;
            try_push(&mut split.lists, offsets, "vertices")?;
        }
        Ok(Some(split))
    }

    /// Returns the index of each vertex's value; empty if there are no values.
    pub(super) fn places<'a>(&'a self, values: &'a PlyValues) -> &'a [u32] {
        match values {
            PlyValues::Nothing => &[],
            PlyValues::AtCorners => &self.first,
            PlyValues::Listed(places) => places,
        }
    }

    /// Returns the offsets of the vertices' lists, given the offsets of the positions' lists.
    fn offsets(&self, offsets: &[u32]) -> Result<Vec<u32>> {
        let mut result = Vec::new();
        result.try_reserve_exact(self.own + 1 + self.more.len())?;
        result.extend_from_slice(offsets.get(..=self.own).unwrap_or(offsets));
        let mut end = result.last().map_or(0, |&end| u64::from(end));
        for &position in &self.more {
            let place = position as usize;
            end += u64::from(longest(offsets.get(place..=place + 1).unwrap_or_default()));
            // If `end` does not fit, the result is discarded below.
            result.push(end as u32);
        }
        if end < u64::from(NONE) {
            Ok(result)
        } else {
            Err(Error::new(ErrorKind::Limit, "the lists of split vertices have more than 2^32 - 2 numbers"))
        }
    }

    /// Number of vertices.
    pub(super) fn count(&self) -> usize {
        self.own + self.more.len()
    }

    /// Renumbers the vertices in the order of their first corners. Positions without corners follow.
    fn number_by_corners(&mut self, mesh: &Mesh) -> Result<()> {
        let count = self.count();
        let mut numbers: Vec<u32> = zeroed(count, "vertices")?;
        let mut positions = Vec::new();
        let mut first = Vec::new();
        positions.try_reserve_exact(count)?;
        first.try_reserve_exact(count)?;
        for (corner, (vertex, &position)) in (0..).zip(self.corners.iter_mut().zip(&mesh.faces.corner_positions[..])) {
            let number = &mut numbers[*vertex as usize];
            if self.first[*vertex as usize] == corner {
                *number = first.len() as u32;
                positions.push(position);
                first.push(corner);
            }
            *vertex = *number;
        }
        for (position, number) in numbers[..self.own].iter_mut().enumerate() {
            if self.first[position] == NONE {
                *number = first.len() as u32;
                positions.push(position as u32);
                first.push(NONE);
            }
        }
        self.lines.try_reserve_exact(mesh.lines.corner_positions.len())?;
        let number = |position: &u32| numbers.get(*position as usize).copied().unwrap_or(NONE);
        self.lines.extend(mesh.lines.corner_positions.iter().map(number));
        self.own = 0;
        self.more = positions;
        self.first = first;
        Ok(())
    }
}

/// Returns the offsets of a column's lists, one list per vertex.
pub(super) fn list_offsets<'a>(split: Option<&'a PlySplit>, place: usize, column: &'a Column) -> &'a [u32] {
    let offsets = column.offsets.as_ref().map_or(&[][..], Array::as_slice);
    split.and_then(|split| split.lists.get(place)?.as_deref()).unwrap_or(offsets)
}
