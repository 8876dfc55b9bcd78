//! The final arrays of a mesh, into which the values of chunks are copied.

use super::parsed::{ElementKind, ObjParsed, ObjParsedCorners, ObjStream};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Counts, Elements, Mesh, NONE};
use polyhaul_pipeline::column::Column;
use polyhaul_pipeline::consumer::{MeshConsumer, MeshPiece, PieceFaces};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The arrays of a mesh while chunks fill them.
pub(super) struct ObjColumns {
    positions: Column<[f32; 3]>,
    /// Empty unless double precision is requested.
    exact: Column<[f64; 3]>,
    weights: Sparse<f32>,
    colors: Sparse<[f32; 4]>,
    uvs: Column<[f32; 2]>,
    uv_depths: Sparse<f32>,
    normals: Column<[f32; 3]>,
    elements: [ElementColumns; 3],
}

struct ElementColumns {
    offsets: Column<u32>,
    positions: Column<u32>,
    uvs: Sparse<u32>,
    normals: Sparse<u32>,
}

/// A column that starts with the first chunk that needs it. Gaps before and after are filled with `missing`.
struct Sparse<T> {
    column: Column<T>,
    missing: T,
    /// Number of reserved slots. It changes only in the ordered step.
    placed: AtomicUsize,
}

/// A chunk's range in a [`Sparse`] column, and the gap before the range that must be filled.
#[derive(Clone, Debug, Default)]
struct SparsePlace {
    gap: Range<usize>,
    range: Range<usize>,
}

/// A chunk's ranges in all columns.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjPlaces {
    pub(super) start: Counts,
    pub(super) end: Counts,
    pub(super) corners_start: [u32; 3],
    pub(super) corners_end: [u32; 3],
    /// Number of line endings before the chunk.
    pub(super) first_line: u64,
    weights: SparsePlace,
    colors: SparsePlace,
    uv_depths: SparsePlace,
    corner_uvs: [SparsePlace; 3],
    corner_normals: [SparsePlace; 3],
}

impl ObjPlaces {
    /// Computes the counts before and after a chunk, without reserving slots.
    pub(super) fn ends(start: Counts, corners: [u32; 3], parsed: &ObjParsed) -> Result<ObjPlaces> {
        let overflow = || Error::new(ErrorKind::Limit, "more than 2^32 - 2 elements of one kind");
        let end = start.checked_add(parsed.counts()).ok_or_else(overflow)?;
        let mut corners_end = corners;
        for (corner, elements) in corners_end.iter_mut().zip(&parsed.elements) {
            *corner = corner.checked_add(elements.corner_count() as u32).ok_or_else(overflow)?;
        }
        Ok(ObjPlaces { start, end, corners_start: corners, corners_end, ..ObjPlaces::default() })
    }

    /// Returns the counts of positions, UVs and normals at the end of the chunk.
    pub(super) fn counts_at_end(&self) -> [u32; 3] {
        [self.end.positions, self.end.uvs, self.end.normals]
    }
}

impl<T: Copy + Send> Sparse<T> {
    fn new(name: &'static str, missing: T) -> Sparse<T> {
        Sparse { column: Column::new(name), missing, placed: AtomicUsize::new(0) }
    }

    /// Reserves `range` and the gap before it if `is_needed` or if an earlier chunk used the column.
    fn place(&self, range: Range<usize>, is_needed: bool) -> Result<SparsePlace> {
        let placed = self.placed.load(Ordering::Relaxed);
        if range.is_empty() || !is_needed && placed == 0 {
            return Ok(SparsePlace::default());
        }
        self.column.reserve(range.end)?;
        self.placed.store(range.end, Ordering::Relaxed);
        Ok(SparsePlace { gap: placed..range.start, range })
    }

    /// Fills the gap with `missing`, and the chunk's range with `fill`, which must initialize every slot.
    ///
    /// # Safety
    /// No other thread uses the slots of `place`: [`Sparse::place`] returned it to the caller's chunk.
    unsafe fn write(&self, place: &SparsePlace, fill: impl FnOnce(&mut [MaybeUninit<T>])) -> Result<()> {
        // SAFETY: only the caller uses the gap and the range, by this function's contract.
        unsafe {
            self.column.fill(place.gap.clone(), self.missing)?;
            self.column.write(place.range.clone(), fill)
        }
    }

    /// Returns the finished array. It is empty if no chunk needed it; otherwise its length is `total`.
    ///
    /// # Safety
    /// All reserved slots were written.
    unsafe fn finish(self, total: usize) -> Result<Vec<T>> {
        let placed = self.placed.into_inner();
        if placed == 0 {
            return Ok(Vec::new());
        }
        self.column.reserve(total)?;
        // SAFETY: `self` is owned, so no other thread uses it. All slots up to `placed` were written, by this
        // function's contract, and the rest is filled here.
        unsafe {
            self.column.fill(placed..total, self.missing)?;
            Ok(self.column.finish(total))
        }
    }
}

impl ElementColumns {
    fn new() -> ElementColumns {
        ElementColumns {
            offsets: Column::new("element offsets"),
            positions: Column::new("corners"),
            uvs: Sparse::new("corner uvs", NONE),
            normals: Sparse::new("corner normals", NONE),
        }
    }

    /// # Safety
    /// All reserved slots were written, for `rows` rows and `corners` corners.
    unsafe fn finish(self, rows: u32, corners: u32, has_offsets: bool) -> Result<Elements> {
        let offsets = if rows > 0 && has_offsets { rows as usize + 1 } else { 0 };
        // SAFETY: slots were reserved for all corners and rows, and for the 0 before the first row; all were written,
        // by this function's contract.
        unsafe {
            Ok(Elements {
                offsets: self.offsets.finish(offsets).into(),
                corner_positions: self.positions.finish(corners as usize).into(),
                corner_uvs: self.uvs.finish(corners as usize)?.into(),
                corner_normals: self.normals.finish(corners as usize)?.into(),
            })
        }
    }
}

impl ObjColumns {
    pub(super) fn new() -> ObjColumns {
        ObjColumns {
            positions: Column::new("positions"),
            exact: Column::new("exact positions"),
            weights: Sparse::new("position weights", 1.0),
            colors: Sparse::new("colors", [f32::NAN; 4]),
            uvs: Column::new("uvs"),
            uv_depths: Sparse::new("uv depths", 0.0),
            normals: Column::new("normals"),
            elements: std::array::from_fn(|_| ElementColumns::new()),
        }
    }

    /// Reserves the positions of a chunk, in a pass that keeps only positions.
    pub(super) fn place_positions(&self, start: Counts, corners: [u32; 3], parsed: &ObjParsed) -> Result<ObjPlaces> {
        let places = ObjPlaces::ends(start, corners, parsed)?;
        self.positions.reserve(places.end.positions as usize)?;
        Ok(places)
    }

    /// Copies a chunk's positions into their range.
    pub(super) fn publish_positions(&self, parsed: &ObjParsed, places: &ObjPlaces) -> Result<()> {
        // SAFETY: `ObjColumns::place_positions`, called in order, reserved this range for this chunk alone.
        unsafe { self.positions.copy(places.start.positions as usize, parsed.positions.as_slice()) }
    }

    /// Returns the positions.
    ///
    /// # Safety
    /// Every placed chunk was published.
    pub(super) unsafe fn into_positions(self, counts: Counts) -> Vec<[f32; 3]> {
        // SAFETY: by this function's contract.
        unsafe { self.positions.finish(counts.positions as usize) }
    }

    /// Reserves a chunk's ranges. Must be called in file order, after limits have been checked.
    pub(super) fn place(&self, start: Counts, corners: [u32; 3], parsed: &ObjParsed) -> Result<ObjPlaces> {
        let ObjPlaces { end, corners_end, .. } = ObjPlaces::ends(start, corners, parsed)?;
        self.positions.reserve(end.positions as usize)?;
        if parsed.exact.len() > 0 {
            self.exact.reserve(end.positions as usize)?;
        }
        self.uvs.reserve(end.uvs as usize)?;
        self.normals.reserve(end.normals as usize)?;
        let positions = start.positions as usize..end.positions as usize;
        let uvs = start.uvs as usize..end.uvs as usize;
        let mut places = ObjPlaces {
            start,
            end,
            corners_start: corners,
            corners_end,
            weights: self.weights.place(positions.clone(), !parsed.weights.is_empty())?,
            colors: self.colors.place(positions, !parsed.colors.is_empty())?,
            uv_depths: self.uv_depths.place(uvs, !parsed.uv_depths.is_empty())?,
            ..ObjPlaces::default()
        };
        for kind in ElementKind::ALL {
            self.place_elements(kind, parsed, &mut places)?;
        }
        Ok(places)
    }

    fn place_elements(&self, kind: ElementKind, parsed: &ObjParsed, places: &mut ObjPlaces) -> Result<()> {
        let k = kind as usize;
        let columns = &self.elements[k];
        let corners = &parsed.elements[k];
        let range = places.corners_start[k] as usize..places.corners_end[k] as usize;
        columns.positions.reserve(range.end)?;
        if kind != ElementKind::Point {
            let rows = [places.end.faces, places.end.lines][k] as usize;
            columns.offsets.reserve(rows + 1)?;
        }
        places.corner_uvs[k] = columns.uvs.place(range.clone(), corners.has(ObjStream::Uv))?;
        places.corner_normals[k] = columns.normals.place(range, corners.has(ObjStream::Normal))?;
        Ok(())
    }

    /// Copies a chunk's values into their ranges. Returns the largest index of each stream, 1-based.
    pub(super) fn publish(&self, parsed: &ObjParsed, places: &ObjPlaces) -> Result<[u32; 3]> {
        // SAFETY: `ObjColumns::place`, called in order, reserved `places` for this chunk alone; the parsed arrays are
        // as long as their ranges.
        unsafe {
            self.positions.copy(places.start.positions as usize, parsed.positions.as_slice())?;
            self.exact.copy(places.start.positions as usize, parsed.exact.as_slice())?;
            self.uvs.copy(places.start.uvs as usize, parsed.uvs.as_slice())?;
            self.normals.copy(places.start.normals as usize, parsed.normals.as_slice())?;
            self.weights.write(&places.weights, |slots| scatter(slots, 1.0, &parsed.weights))?;
            self.colors.write(&places.colors, |slots| scatter(slots, [f32::NAN; 4], &parsed.colors))?;
            self.uv_depths.write(&places.uv_depths, |slots| scatter(slots, 0.0, &parsed.uv_depths))?;
        }
        let mut largest = [0; 3];
        for kind in ElementKind::ALL {
            let largest_of_kind = self.publish_elements(kind, parsed, places)?;
            largest = std::array::from_fn(|stream| largest_of_kind[stream].max(largest[stream]));
        }
        Ok(largest)
    }

    /// Copies the elements of one kind. Returns the largest index of each stream, 1-based.
    fn publish_elements(&self, kind: ElementKind, parsed: &ObjParsed, places: &ObjPlaces) -> Result<[u32; 3]> {
        let k = kind as usize;
        let columns = &self.elements[k];
        let corners = &parsed.elements[k];
        let start = places.corners_start[k] as usize;
        let range = start..places.corners_end[k] as usize;
        let mut largest = [0; 3];
        // SAFETY: `ObjColumns::place`, called in order, reserved these ranges for this chunk alone. The slot before the
        // first row belongs to the only chunk whose rows start at 0.
        unsafe {
            if kind != ElementKind::Point && corners.rows() > 0 {
                let first_row = [places.start.faces, places.start.lines][k] as usize;
                let rows = first_row + 1..first_row + 1 + corners.rows();
                columns.offsets.write(rows, |slots| write_offsets(slots, corners, start as u32))?;
                if first_row == 0 {
                    columns.offsets.fill(0..1, 0)?;
                }
            }
            let [positions, uvs, normals] = &mut largest;
            columns.positions.write(range, |slots| *positions = write_stream(slots, corners, ObjStream::Position))?;
            columns.uvs.write(&places.corner_uvs[k], |slots| *uvs = write_stream(slots, corners, ObjStream::Uv))?;
            let place = &places.corner_normals[k];
            columns.normals.write(place, |slots| *normals = write_stream(slots, corners, ObjStream::Normal))?;
        }
        Ok(largest)
    }

    /// Takes the array of positions in double precision.
    ///
    /// # Safety
    /// Every placed chunk was published, with doubles.
    pub(super) unsafe fn take_exact(&mut self, counts: Counts) -> Vec<[f64; 3]> {
        let exact = std::mem::replace(&mut self.exact, Column::new("exact positions"));
        // SAFETY: by this function's contract.
        unsafe { exact.finish(counts.positions as usize) }
    }

    /// Returns the mesh.
    ///
    /// # Safety
    /// Every placed chunk was published.
    pub(super) unsafe fn finish(self, counts: Counts, corners: [u32; 3]) -> Result<Mesh> {
        let [faces, lines, points] = self.elements;
        let positions = counts.positions as usize;
        let uvs = counts.uvs as usize;
        // SAFETY: `counts` and `corners` are the sums of all reserved ranges, all of which were written, by this
        // function's contract.
        unsafe {
            Ok(Mesh {
                positions: self.positions.finish(positions).into(),
                position_weights: self.weights.finish(positions)?.into(),
                colors: self.colors.finish(positions)?.into(),
                uvs: self.uvs.finish(uvs).into(),
                uv_depths: self.uv_depths.finish(uvs)?.into(),
                normals: self.normals.finish(counts.normals as usize).into(),
                faces: faces.finish(counts.faces, corners[0], true)?,
                lines: lines.finish(counts.lines, corners[1], true)?,
                points: points.finish(counts.points, corners[2], false)?.corner_positions,
                ..Mesh::default()
            })
        }
    }
}

/// Buffers for a chunk's faces, to be sent to a consumer.
#[derive(Default)]
pub(super) struct ObjPieceFaces {
    offsets: Vec<u32>,
    corners: Vec<u32>,
}

impl ObjPieceFaces {
    /// Sends a chunk's faces to the consumer. Returns the largest index of each stream, 1-based. `first_face` is the
    /// number of faces before the chunk.
    pub(super) fn hand_over(
        &mut self,
        faces: &ObjParsedCorners,
        first_face: u32,
        positions: &[[f32; 3]],
        consumer: &dyn MeshConsumer,
    ) -> Result<[u32; 3]> {
        let ObjPieceFaces { offsets, corners } = self;
        let rows = faces.rows();
        let count = faces.corner_count();
        for (room, size) in [(&mut *offsets, rows + 1), (&mut *corners, count)] {
            room.clear();
            room.try_reserve(size)?;
        }
        offsets.push(0);
        write_offsets(&mut offsets.spare_capacity_mut()[..rows], faces, 0);
        let largest = write_stream(&mut corners.spare_capacity_mut()[..count], faces, ObjStream::Position);
        // SAFETY: both functions initialize every slot they get, and as many slots were reserved.
        unsafe {
            offsets.set_len(rows + 1);
            corners.set_len(count);
        }
        let lists = PieceFaces::Lists { offsets, corners };
        let first_face = u64::from(first_face);
        consumer.take(&MeshPiece { first_face, positions, faces: lists, ..MeshPiece::default() })?;
        Ok([largest, faces.largest(ObjStream::Uv), faces.largest(ObjStream::Normal)])
    }
}

impl ObjParsedCorners {
    /// Returns the largest index of a stream, 1-based.
    fn largest(&self, stream: ObjStream) -> u32 {
        let mut values = self.values.as_slice();
        let mut largest = 0;
        for segment in &self.segments {
            let (segment_values, rest) = values.split_at(segment.values as usize);
            values = rest;
            if segment.has[stream as usize] {
                let stride = usize::from(segment.stride);
                // The minimum only keeps the index in bounds: with a stride of 2, there are no normals.
                let groups = segment_values.chunks_exact(stride).map(|group| group[(stream as usize).min(stride - 1)]);
                largest = groups.fold(largest, u32::max);
            }
        }
        largest
    }
}

/// Fills all slots with `missing`, then writes the given values.
fn scatter<T: Copy>(slots: &mut [MaybeUninit<T>], missing: T, values: &[(u32, T)]) {
    slots.fill(MaybeUninit::new(missing));
    for &(index, value) in values {
        if let Some(slot) = slots.get_mut(index as usize) {
            slot.write(value);
        }
    }
}

/// Writes the end of each row, counted in corners.
fn write_offsets(slots: &mut [MaybeUninit<u32>], corners: &ObjParsedCorners, mut corner: u32) {
    let mut slots = slots.iter_mut();
    let mut ends = corners.row_ends.as_slice().iter();
    for segment in &corners.segments {
        let rows = ends.by_ref().take(segment.rows as usize).zip(slots.by_ref());
        let base = corner;
        // One loop per stride: division by a constant compiles to a multiplication.
        match segment.stride {
            1 => rows.for_each(|(end, slot)| _ = slot.write(base + end)),
            2 => rows.for_each(|(end, slot)| _ = slot.write(base + end / 2)),
            _ => rows.for_each(|(end, slot)| _ = slot.write(base + end / 3)),
        }
        corner += segment.values / u32::from(segment.stride);
    }
}

/// Writes one stream of indices, 0-based. Returns its largest index, 1-based.
fn write_stream(mut slots: &mut [MaybeUninit<u32>], corners: &ObjParsedCorners, stream: ObjStream) -> u32 {
    let mut values = corners.values.as_slice();
    let mut largest = 0;
    for segment in &corners.segments {
        let stride = usize::from(segment.stride);
        let (segment_values, rest) = values.split_at(segment.values as usize);
        let (places, later) = slots.split_at_mut(segment_values.len() / stride);
        values = rest;
        slots = later;
        largest = largest.max(match (stride, segment.has[stream as usize]) {
            (_, false) => {
                places.fill(MaybeUninit::new(NONE));
                0
            }
            (1, _) => pick::<1>(places, segment_values, stream as usize),
            (2, _) => pick::<2>(places, segment_values, stream as usize),
            _ => pick::<3>(places, segment_values, stream as usize),
        });
    }
    largest
}

/// Writes every `S`-th value, starting at value `first`, minus 1. Returns the largest value.
fn pick<const S: usize>(slots: &mut [MaybeUninit<u32>], values: &[u32], first: usize) -> u32 {
    let mut largest = 0;
    for (slot, group) in slots.iter_mut().zip(values.chunks_exact(S)) {
        let value = group[first.min(S - 1)];
        largest = largest.max(value);
        slot.write(value.wrapping_sub(1));
    }
    largest
}
