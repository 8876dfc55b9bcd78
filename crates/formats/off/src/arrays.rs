//! The final arrays for the rows of an OFF file, and the scene built from them.
//!
//! Slots are reserved in file order; chunks fill them in parallel.

use super::header::{OffForm, OffHeader};
use super::rows::{NO_ALPHA, OffRows};
use polyhaul_model::error::{Result, try_push};
use polyhaul_model::{Bounds, Domain, Elements, Mesh, Object, ObjectKind, Scene};
use polyhaul_pipeline::arrays::{PIECE, multiples};
use polyhaul_pipeline::column::Column;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::for_each_item;
use std::ops::Range;

/// If any color value is at least this, all color values are from 0 to 255, otherwise from 0 to 1.
pub(super) const MIN_BYTE_COLOR: f32 = 2.0;

/// Destination of a file's rows.
pub(super) struct OffArrays {
    positions: Column<[f32; 3]>,
    /// Positions in double precision, if the file has them.
    exact: Column<[f64; 3]>,
    normals: Column<[f32; 3]>,
    colors: Column<[f32; 4]>,
    uvs: Column<[f32; 2]>,
    /// A leading 0, followed by the end of each face's corners in `corners`.
    offsets: Column<u32>,
    corners: Column<u32>,
    lines: Column<[u32; 2]>,
    points: Column<u32>,
}

/// Numbers of elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OffCounts {
    pub(super) vertices: usize,
    pub(super) faces: usize,
    pub(super) corners: usize,
    pub(super) lines: usize,
    pub(super) points: usize,
}

impl OffCounts {
    /// Returns these counts plus the counts of a chunk.
    pub(super) fn with(self, rows: &OffRows) -> OffCounts {
        OffCounts {
            vertices: self.vertices + rows.vertices,
            faces: self.faces + rows.ends.len(),
            corners: self.corners + rows.corners.len(),
            lines: self.lines + rows.lines.len(),
            points: self.points + rows.points.len(),
        }
    }
}

/// Properties of a file's colors.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OffColors {
    /// Whether color values are from 0 to 255.
    pub(super) are_bytes: bool,
    /// Whether any color lacks alpha.
    pub(super) lack_alpha: bool,
}

impl OffArrays {
    pub(super) fn new() -> OffArrays {
        OffArrays {
            positions: Column::new("positions"),
            exact: Column::new("exact positions"),
            normals: Column::new("normals"),
            colors: Column::new("colors"),
            uvs: Column::new("uvs"),
            offsets: Column::new("faces"),
            corners: Column::new("corners"),
            lines: Column::new("lines"),
            points: Column::new("points"),
        }
    }

    /// Reserves slots for the declared vertices and for the declared faces, unless a text of `size` bytes is too short
    /// for them: each number takes at least two bytes.
    pub(super) fn expect(&self, header: &OffHeader, size: u64) -> Result<()> {
        let min_vertex_bytes = header.vertices.saturating_mul(2 * header.form.least_width() as u64);
        // One more byte, because no white space needs to follow the last number.
        let Some(rest) = size.checked_add(1).and_then(|size| size.checked_sub(min_vertex_bytes)) else { return Ok(()) };
        self.reserve_vertices(header.form, header.vertices as usize)?;
        // Faces with three corners take at least 8 bytes, as in `3 0 1 2` with its line ending.
        if header.faces > 0 && header.faces.saturating_mul(8) <= rest {
            self.offsets.reserve(header.faces as usize + 1)?;
        }
        Ok(())
    }

    fn reserve_vertices(&self, form: OffForm, count: usize) -> Result<()> {
        self.positions.reserve(count)?;
        if form.has_normals {
            self.normals.reserve(count)?;
        }
        if form.has_colors {
            self.colors.reserve(count)?;
        }
        if form.has_uvs {
            self.uvs.reserve(count)?;
        }
        Ok(())
    }

    /// Reserves slots up to these counts.
    pub(super) fn reserve(&self, form: OffForm, counts: OffCounts) -> Result<()> {
        self.reserve_vertices(form, counts.vertices)?;
        if counts.faces > 0 {
            self.offsets.reserve(counts.faces + 1)?;
        }
        self.corners.reserve(counts.corners)?;
        self.lines.reserve(counts.lines)?;
        self.points.reserve(counts.points)
    }

    /// Fills the slots of a chunk. They follow the slots of the elements counted in `before`.
    ///
    /// # Safety
    /// [`OffArrays::reserve`] reserved the slots, and only the caller's chunk uses them.
    pub(super) unsafe fn publish(&self, form: OffForm, before: OffCounts, rows: &OffRows) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe {
            self.publish_vertices(form, before.vertices..before.vertices + rows.vertices, rows)?;
            // The chunk with the first face also writes the leading 0.
            if before.faces == 0 && !rows.ends.is_empty() {
                self.offsets.fill(0..1, 0)?;
            }
            let base = before.corners as u32;
            let ends = before.faces + 1..before.faces + 1 + rows.ends.len();
            self.offsets.write(ends, |slots| {
                for (slot, end) in slots.iter_mut().zip(&rows.ends) {
                    slot.write(base + end);
                }
            })?;
            self.corners.copy(before.corners, &rows.corners)?;
            self.lines.copy(before.lines, &rows.lines)?;
            self.points.copy(before.points, &rows.points)
        }
    }

    /// # Safety
    /// As for [`OffArrays::publish`].
    unsafe fn publish_vertices(&self, form: OffForm, places: Range<usize>, rows: &OffRows) -> Result<()> {
        let values = rows.values(form);
        let width = form.width();
        if !rows.exact().is_empty() {
            self.exact.reserve(places.end)?;
        }
        // SAFETY: by this function's contract.
        unsafe {
            self.exact.copy(places.start, rows.exact())?;
            if width == 3 {
                // Without other attributes, the numbers are the positions as they are.
                return self.positions.copy(places.start, values.as_chunks().0);
            }
            take(&self.positions, places.clone(), values, width, 0)?;
            if form.has_normals {
                take(&self.normals, places.clone(), values, width, form.normal())?;
            }
            if form.has_colors {
                take(&self.colors, places.clone(), values, width, form.color())?;
            }
            if form.has_uvs {
                take(&self.uvs, places, values, width, form.uv())?;
            }
        }
        Ok(())
    }

    /// Returns the bounds of the positions.
    ///
    /// # Safety
    /// All slots before `count` were filled.
    pub(super) unsafe fn bounds(&mut self, count: usize) -> Option<Bounds> {
        // SAFETY: by this function's contract.
        Bounds::of(unsafe { self.positions.written(count) })
    }

    /// Adds the mesh to a scene, with positions in double precision if `is_exact`.
    ///
    /// # Safety
    /// All slots before `counts` were filled, with doubles if `is_exact`.
    pub(super) unsafe fn finish(
        self,
        form: OffForm,
        colors: OffColors,
        counts: OffCounts,
        is_exact: bool,
        run: &RunOptions,
        scene: &mut Scene,
    ) -> Result<()> {
        let has_vertices = counts.vertices > 0;
        let mut mesh = Mesh::default();
        // SAFETY: by this function's contract.
        unsafe {
            mesh.positions = self.positions.finish(counts.vertices).into();
            if is_exact {
                mesh.exact_positions = self.exact.finish(counts.vertices).into();
            }
            if form.has_normals && has_vertices {
                mesh.normals = self.normals.finish(counts.vertices).into();
                mesh.normal_domain = Domain::Vertex;
            }
            if form.has_colors {
                let mut values = self.colors.finish(counts.vertices);
                settle_colors(&mut values, colors, run);
                mesh.colors = values.into();
            }
            if form.has_uvs && has_vertices {
                mesh.uvs = self.uvs.finish(counts.vertices).into();
                mesh.uv_domain = Domain::Vertex;
            }
            if counts.faces > 0 {
                mesh.faces.offsets = self.offsets.finish(counts.faces + 1).into();
                mesh.faces.corner_positions = self.corners.finish(counts.corners).into();
            }
            if counts.lines > 0 {
                let corners = self.lines.finish(counts.lines).into_flattened();
                let offsets = multiples(counts.lines + 1, 2, run.worker_threads())?;
                mesh.lines =
                    Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() };
            }
            mesh.points = self.points.finish(counts.points).into();
        }
        let end = mesh.counts();
        if end != Default::default() {
            let object = Object { kind: ObjectKind::Unnamed, end, ..Object::default() };
            try_push(&mut scene.objects, object, "objects")?;
        }
        try_push(&mut scene.meshes, mesh, "meshes")
    }
}

/// Copies `N` numbers of each row, starting at index `at`. All rows have `width` numbers.
///
/// # Safety
/// As for [`OffArrays::publish`].
unsafe fn take<const N: usize>(
    column: &Column<[f32; N]>,
    places: Range<usize>,
    values: &[f32],
    width: usize,
    at: usize,
) -> Result<()> {
    let vectors = values.chunks_exact(width).filter_map(|row| row.get(at..)?.first_chunk::<N>());
    // SAFETY: no other thread uses these slots, by this function's contract; there is a row for each slot.
    unsafe {
        column.write(places, |slots| {
            for (slot, vector) in slots.iter_mut().zip(vectors) {
                slot.write(*vector);
            }
        })
    }
}

/// Scales all colors from the range 0 to 255 to the range 0 to 1, and sets missing alpha to 1.
fn settle_colors(colors: &mut [[f32; 4]], kinds: OffColors, run: &RunOptions) {
    if !kinds.are_bytes && !kinds.lack_alpha {
        return;
    }
    let work = |(): &mut (), colors: &mut [[f32; 4]]| {
        for color in colors {
            // Compared before the division, which need not preserve the bits of a NaN.
            let is_missing = color[3].to_bits() == NO_ALPHA.to_bits();
            if kinds.are_bytes {
                *color = color.map(|value| value / 255.0);
            }
            if is_missing {
                color[3] = 1.0;
            }
        }
    };
    for_each_item(run.worker_threads(), colors.chunks_mut(PIECE), || (), work);
}
