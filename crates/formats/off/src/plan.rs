//! Plans the rows of an OFF file, piece by piece: where each line comes from, and its values.
//!
//! A piece is the vertices, faces, lines or points of a part. `writer` formats the text.

use super::header::OffForm;
use super::losses::color_byte;
use super::split::OffSplit;
use polyhaul_geometry::dedup::BATCH;
use polyhaul_geometry::parts::Part;
use polyhaul_model::{Domain, Elements, NONE};
use polyhaul_pipeline::arrays::partition_point;
use std::ops::Range;

/// Rows of one kind from the same arrays.
pub(super) struct OffPiece<'a> {
    pub(super) source: OffSource<'a>,
    pub(super) rows: usize,
    /// Estimated bytes of text before the piece.
    pub(super) start: u64,
}

/// Where rows come from. `base` is the index of the part's first vertex in the file.
#[derive(Clone, Copy)]
pub(super) enum OffSource<'a> {
    Vertices(OffVertices<'a>),
    /// Faces. `offsets` delimits the corners of each face.
    Faces {
        offsets: &'a [u32],
        corners: &'a [u32],
        base: u32,
        is_mirrored: bool,
    },
    /// Edges of polylines. `offsets` delimits the corners of each polyline.
    Edges {
        offsets: &'a [u32],
        corners: &'a [u32],
        base: u32,
    },
    Points {
        points: &'a [u32],
        base: u32,
    },
}

/// The vertices of a part.
#[derive(Clone, Copy)]
pub(super) struct OffVertices<'a> {
    pub(super) part: &'a Part<'a>,
    pub(super) split: Option<&'a OffSplit>,
    /// Layout of a row.
    pub(super) form: OffForm,
    /// Whether colors are written as 0 to 255.
    pub(super) as_bytes: bool,
}

/// Estimated bytes of a number, including its separator.
const NUMBER_BYTES: u64 = 10;
/// Estimated bytes of an index, including its separator.
const INDEX_BYTES: u64 = 8;

impl OffPiece<'_> {
    /// Estimates the bytes of text before a row.
    pub(super) fn cost_before(&self, row: usize) -> u64 {
        let row = row as u64;
        match &self.source {
            OffSource::Vertices(vertices) => row * NUMBER_BYTES * vertices.form.width() as u64,
            OffSource::Faces { offsets, .. } => {
                let place = |row: usize| offsets.get(row).map_or(0, |&offset| u64::from(offset));
                2 * row + INDEX_BYTES * (place(row as usize) - place(0))
            }
            OffSource::Edges { .. } => row * (2 + 2 * INDEX_BYTES),
            OffSource::Points { .. } => row * (2 + INDEX_BYTES),
        }
    }

    pub(super) fn end(&self) -> u64 {
        self.start + self.cost_before(self.rows)
    }

    /// Returns the first row that starts at or after `cost`.
    pub(super) fn first_at(&self, cost: u64) -> usize {
        partition_point(0..self.rows, |row| self.start + self.cost_before(row) < cost)
    }
}

/// Returns the offsets of a range of elements.
pub(super) fn offsets_of(elements: &Elements, range: Range<usize>) -> &[u32] {
    elements.offsets.get(range.start..=range.end).unwrap_or_default()
}

impl OffVertices<'_> {
    /// Returns the number of vertices.
    pub(super) fn count(&self) -> usize {
        self.part.mesh.positions.len() + self.split.map_or(0, |split| split.more.len())
    }

    /// Fills `out` with the numbers of vertices, row by row.
    pub(super) fn fill(&self, rows: Range<usize>, out: &mut [f32]) {
        let mesh = self.part.mesh;
        let width = self.form.width();
        for (row, place) in rows.clone().zip(out.chunks_exact_mut(width)) {
            let position = mesh.positions.get(self.position(row)).copied().unwrap_or_default();
            let position = self.part.frame.map_or(position, |frame| frame.position(position));
            place[..3].copy_from_slice(&position);
        }
        if self.form.has_normals {
            self.fill_normals(rows.clone(), out);
        }
        if self.form.has_colors {
            self.fill_colors(rows.clone(), out);
        }
        if self.form.has_uvs {
            let at = self.form.uv();
            for (row, place) in rows.zip(out.chunks_exact_mut(width)) {
                let listed = self.split.map_or(&[][..], |split| &split.uvs);
                let uv = self.value(row, mesh.uv_domain, listed).and_then(|place| mesh.uvs.get(place));
                place[at..at + 2].copy_from_slice(uv.unwrap_or(&[0.0; 2]));
            }
        }
    }

    /// Returns the position of a vertex in double precision.
    pub(super) fn exact_position(&self, row: usize) -> [f64; 3] {
        self.part.mesh.exact_position(self.position(row)).unwrap_or_default()
    }

    /// Returns the position index of a vertex.
    fn position(&self, row: usize) -> usize {
        let more = row.checked_sub(self.part.mesh.positions.len());
        more.and_then(|more| self.split?.more.get(more)).map_or(row, |&position| position as usize)
    }

    /// Returns the index of a vertex's value. It is the position index if values are per position, and otherwise comes
    /// from `listed`; `None` if the vertex has no value.
    fn value(&self, row: usize, domain: Domain, listed: &[u32]) -> Option<usize> {
        match domain {
            Domain::Vertex => Some(self.position(row)),
            _ => listed.get(row).filter(|place| **place != NONE).map(|&place| place as usize),
        }
    }

    fn fill_normals(&self, rows: Range<usize>, out: &mut [f32]) {
        let mesh = self.part.mesh;
        let width = self.form.width();
        let at = self.form.normal();
        let listed = self.split.map_or(&[][..], |split| &split.normals);
        let normal = |row| self.value(row, mesh.normal_domain, listed).and_then(|place| mesh.normals.get(place));
        let Some(frame) = &self.part.frame else {
            for (row, place) in rows.zip(out.chunks_exact_mut(width)) {
                place[at..at + 3].copy_from_slice(normal(row).unwrap_or(&[0.0; 3]));
            }
            return;
        };
        let mut batch = [[0.0; 3]; BATCH];
        let mut lanes = [[0.0; BATCH]; 3];
        for (out, start) in out.chunks_mut(width * BATCH).zip(rows.clone().step_by(BATCH)) {
            let places = batch.iter_mut().zip(start..rows.end);
            places.for_each(|(place, row)| *place = normal(row).copied().unwrap_or_default());
            frame.normals(&batch, &mut lanes);
            for (item, place) in out.chunks_exact_mut(width).enumerate() {
                place[at..at + 3].copy_from_slice(&[lanes[0][item], lanes[1][item], lanes[2][item]]);
            }
        }
    }

    fn fill_colors(&self, rows: Range<usize>, out: &mut [f32]) {
        let mesh = self.part.mesh;
        let at = self.form.color();
        for (row, place) in rows.zip(out.chunks_exact_mut(self.form.width())) {
            let color = mesh.colors.get(self.position(row)).copied().unwrap_or([1.0; 4]);
            let color = color.map(|channel| if channel.is_nan() { 1.0 } else { channel.clamp(0.0, 1.0) });
            let written = if self.as_bytes { color.map(|channel| f32::from(color_byte(channel))) } else { color };
            place[at..at + 4].copy_from_slice(&written);
        }
    }
}
