//! Divides the text of objects into pages: several small objects per page, or several pages per large object.

use super::prepare::{ObjNumbers, Prepared, Preparing};
use super::{faces, weight};
use crate::plan::curve_positions;
use crate::text::{ObjText, ObjWritten, rows};
use polyhaul_geometry::dedup::Dedup;
use polyhaul_model::error::{Result, try_push};
use polyhaul_model::names;
use polyhaul_model::options::Digits;
use polyhaul_model::{Object, ObjectKind};
use polyhaul_pipeline::arrays::partition_point;
use polyhaul_pipeline::out::Out;
use polyhaul_pipeline::write::Pages;
use polyhaul_spill::paced;
use std::ops::Range;

/// Number of rows to compute before formatting them: they stay in the L1 cache.
const ROWS: usize = 256;

/// Kinds of consecutive lines in the text of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ObjPagesKind {
    Header,
    Curves,
    Positions,
    Normals,
    Uvs,
    Faces,
    Lines,
    Points,
}

/// Context for the text of an object.
#[derive(Clone, Copy)]
struct ObjectText<'a> {
    text: &'a ObjText<'a>,
    prepared: &'a Prepared<'a>,
}

impl ObjectText<'_> {
    /// Sections of the text, in order: the kind, the number of elements, and the estimated bytes of each element or,
    /// for unsorted faces, of each corner.
    fn kinds(&self) -> [(ObjPagesKind, usize, u64); 8] {
        let Prepared { mesh, object, numbers, .. } = self.prepared;
        let options = self.text.options;
        let [positions, uvs, normals] = self.prepared.counts();
        let is_named = object.kind != ObjectKind::Unnamed;
        let name_bytes = (object.name.len() + object.mesh_name.len()) as u64 + 8;
        // The positions of curves are written together with the curves.
        let curves = if options.own.curves { mesh.curves.len() } else { 0 };
        let corner = 8 * (1 + u64::from(uvs > 0) + u64::from(normals > 0));
        let faces = mesh.faces.len();
        // Sorted faces are assumed to have the same number of corners.
        let face = if numbers.order.is_empty() {
            corner
        } else {
            2 + corner * mesh.faces.corner_positions.len().div_ceil(faces.max(1)) as u64
        };
        [
            (ObjPagesKind::Header, usize::from(is_named), name_bytes),
            (ObjPagesKind::Curves, curves, 4096),
            (ObjPagesKind::Positions, if curves > 0 { 0 } else { positions }, 32),
            (ObjPagesKind::Normals, normals, 24),
            (ObjPagesKind::Uvs, uvs, 24),
            (ObjPagesKind::Faces, faces, face),
            (ObjPagesKind::Lines, mesh.lines.len(), 18),
            (ObjPagesKind::Points, mesh.points.len(), 12),
        ]
    }

    /// Writes a range of elements of one kind.
    fn write(&self, kind: ObjPagesKind, range: Range<usize>, out: &mut Out) -> Result<()> {
        match kind {
            ObjPagesKind::Header => self.header(out),
            ObjPagesKind::Curves => range.into_iter().try_for_each(|curve| self.curve(curve, out)),
            ObjPagesKind::Positions => self.positions(range, out),
            ObjPagesKind::Normals => self.normals(range, out),
            ObjPagesKind::Uvs => self.uvs(range, out),
            ObjPagesKind::Faces => faces::faces(self.text, self.prepared, range, out),
            ObjPagesKind::Lines => faces::lines(self.text, self.prepared, range, out),
            ObjPagesKind::Points => faces::points(self.text, self.prepared, range, out),
        }
    }

    fn header(&self, out: &mut Out) -> Result<()> {
        let object = self.prepared.object;
        let groups = self.text.options.own.object_groups;
        let is_curve = !self.prepared.mesh.curves.is_empty();
        // Blender keeps blanks in curve names.
        let name = if is_curve { names::written(&object.name) } else { names::joined(&object.name) };
        out.whole(|page| {
            page.bytes(if groups || object.kind == ObjectKind::Group { b"g " } else { b"o " });
            page.bytes(name.as_bytes());
            if groups && !is_curve {
                page.byte(b'_');
                page.bytes(names::joined(&object.mesh_name).as_bytes());
            }
            page.byte(b'\n');
        })
    }

    fn curve(&self, index: usize, out: &mut Out) -> Result<()> {
        let positions = curve_positions(self.prepared.object, self.prepared.mesh, index);
        let count = positions.end.wrapping_add(self.prepared.bases[0] + 1);
        let curve = &self.prepared.mesh.curves[index];
        self.text.curve_head(curve, out)?;
        self.positions(positions.start as usize..positions.end as usize, out)?;
        self.text.curve_body(curve, self.prepared.bases[0].wrapping_add(1), count, out)
    }

    fn positions(&self, range: Range<usize>, out: &mut Out) -> Result<()> {
        let mesh = self.prepared.mesh;
        if mesh.is_exact() {
            // Already in the file's coordinates: see `polyhaul_geometry::exact`.
            return self.text.positions(mesh, range, out);
        }
        let frame = &self.prepared.frame;
        if mesh.position_weights.is_empty() && !self.text.has_colors(mesh) {
            let digits = self.text.digits.positions;
            let positions = mesh.positions.as_slice();
            return in_batches(out, b"v ", digits, range, |index| frame.position(positions[index]), |_| {});
        }
        range
            .into_iter()
            .try_for_each(|index| self.text.position(mesh, index, frame.position(mesh.positions[index]), out))
    }

    fn normals(&self, range: Range<usize>, out: &mut Out) -> Result<()> {
        let normals = self.prepared.normal_values(self.text);
        let first = self.prepared.numbers.normals.first.as_slice();
        let value = |index: usize| normals.attribute.value(first[index] as usize).unwrap_or_default();
        let digits = self.text.digits.normals;
        in_batches(out, b"vn ", digits, range, value, |batch| normals.write(batch))
    }

    fn uvs(&self, range: Range<usize>, out: &mut Out) -> Result<()> {
        let uvs = self.prepared.uv_values();
        let value = |index: usize| uvs.value(self.prepared.numbers.uvs.first[index] as usize).unwrap_or_default();
        in_batches(out, b"vt ", self.text.digits.uvs, range, value, |_| {})
    }
}

/// Writes a line per row, in batches. `row` computes a row, `finish` completes a batch.
fn in_batches<const N: usize>(
    out: &mut Out,
    prefix: &[u8],
    digits: Digits,
    range: Range<usize>,
    row: impl Fn(usize) -> [f32; N],
    finish: impl Fn(&mut [[f32; N]]),
) -> Result<()> {
    let mut batch = [[0.0; N]; ROWS];
    for start in range.clone().step_by(ROWS) {
        let indices = start..range.end.min(start + ROWS);
        let count = indices.len();
        batch.iter_mut().zip(indices).for_each(|(place, index)| *place = row(index));
        finish(&mut batch[..count]);
        rows(out, prefix, digits, &batch[..count])?;
    }
    Ok(())
}

/// Pages of several small objects, which are prepared, then numbered in order, then written.
pub(super) struct SmallPages<'a> {
    preparing: Preparing<'a>,
    objects: &'a [Object],
    /// Index of the first object of each page.
    starts: Vec<usize>,
}

/// A page of small objects in flight.
pub(super) struct SmallSlot<'a> {
    objects: &'a [Object],
    prepared: Vec<Prepared<'a>>,
    spare: Vec<ObjNumbers>,
    dedup: Dedup,
    out: Out,
}

impl<'a> SmallPages<'a> {
    /// Groups objects into pages that weigh at least `page`.
    pub(super) fn new(preparing: Preparing<'a>, objects: &'a [Object], page: usize) -> Result<Self> {
        let mut starts = Vec::new();
        // The first object starts a page.
        let mut sum = usize::MAX;
        for (number, object) in paced(objects).enumerate() {
            if sum >= page {
                try_push(&mut starts, number, "the plan")?;
                sum = 0;
            }
            // Even an empty object has a line.
            sum += 1 + weight(&preparing.scene.meshes[object.mesh]);
        }
        Ok(SmallPages { preparing, objects, starts })
    }

    /// Number of pages.
    pub(super) fn count(&self) -> u64 {
        self.starts.len() as u64
    }
}

impl<'a> Pages for SmallPages<'a> {
    type Slot = SmallSlot<'a>;
    type State = ObjWritten;

    fn prepares(&self) -> bool {
        true
    }

    fn slot(&self) -> Result<Self::Slot> {
        Ok(SmallSlot {
            objects: &[],
            prepared: Vec::new(),
            spare: Vec::new(),
            dedup: Dedup::new(),
            out: Out::default(),
        })
    }

    fn take(&self, number: u64, slot: &mut Self::Slot) -> Result<bool> {
        let Some(&start) = usize::try_from(number).ok().and_then(|number| self.starts.get(number)) else {
            return Ok(false);
        };
        let end = self.starts.get(number as usize + 1).copied().unwrap_or(self.objects.len());
        slot.objects = &self.objects[start..end];
        slot.out.clear();
        for used in slot.prepared.drain(..) {
            try_push(&mut slot.spare, used.numbers, "the objects")?;
        }
        Ok(true)
    }

    fn prepare(&self, slot: &mut Self::Slot) -> Result<()> {
        let SmallSlot { objects, prepared, spare, dedup, .. } = slot;
        paced(objects.iter()).try_for_each(|object| {
            let numbers = spare.pop().unwrap_or_default();
            try_push(prepared, Prepared::new(object, &self.preparing, 1, dedup, numbers)?, "the objects")
        })
    }

    fn format(&self, slot: &mut Self::Slot) -> Result<()> {
        let SmallSlot { prepared, out, .. } = slot;
        prepared.iter().try_for_each(|prepared| {
            let object = ObjectText { text: self.preparing.text, prepared };
            object
                .kinds()
                .into_iter()
                .filter(|(_, count, _)| *count > 0)
                .try_for_each(|(kind, count, _)| object.write(kind, 0..count, out))
        })
    }

    fn order(&self, written: &mut ObjWritten, slot: &mut Self::Slot) -> Result<()> {
        slot.prepared.iter_mut().try_for_each(|prepared| prepared.place(written))
    }

    fn bytes<'b>(&'b self, slot: &'b Self::Slot) -> &'b [u8] {
        slot.out.text()
    }
}

/// Pages of about equal size for an object that all threads prepared.
pub(super) struct LargePages<'a> {
    object: ObjectText<'a>,
    pieces: Vec<ObjPagesPiece>,
    cost: u64,
    page_cost: u64,
}

/// All elements of one kind.
#[derive(Clone, Debug)]
struct ObjPagesPiece {
    kind: ObjPagesKind,
    count: usize,
    /// Estimated bytes per element or, for unsorted faces, per corner.
    unit: u64,
    /// Total cost of all pieces before this one.
    start: u64,
}

impl<'a> LargePages<'a> {
    pub(super) fn new(prepared: &'a Prepared<'a>, text: &'a ObjText<'a>, page_bytes: usize) -> Result<Self> {
        let object = ObjectText { text, prepared };
        let mut pages = LargePages { object, pieces: Vec::new(), cost: 0, page_cost: page_bytes as u64 };
        for (kind, count, unit) in object.kinds().into_iter().filter(|(_, count, _)| *count > 0) {
            let piece = ObjPagesPiece { kind, count, unit, start: pages.cost };
            pages.cost += pages.cost_before(&piece, count);
            try_push(&mut pages.pieces, piece, "the plan")?;
        }
        Ok(pages)
    }

    /// Estimated bytes of a piece before its element `index`.
    fn cost_before(&self, piece: &ObjPagesPiece, index: usize) -> u64 {
        let Prepared { mesh, numbers, .. } = self.object.prepared;
        match piece.kind {
            ObjPagesKind::Faces if numbers.order.is_empty() => {
                2 * index as u64 + piece.unit * u64::from(mesh.faces.offsets[index])
            }
            _ => index as u64 * piece.unit,
        }
    }

    /// Number of pages.
    pub(super) fn count(&self) -> u64 {
        self.cost.div_ceil(self.page_cost)
    }

    /// Returns the first element of a piece that starts at or after `cost`.
    fn first_at(&self, piece: &ObjPagesPiece, cost: u64) -> usize {
        partition_point(0..piece.count, |index| piece.start + self.cost_before(piece, index) < cost)
    }
}

/// A page in flight.
#[derive(Default)]
pub(super) struct LargeSlot {
    number: u64,
    out: Out,
}

impl Pages for LargePages<'_> {
    type Slot = LargeSlot;
    type State = ();

    fn slot(&self) -> Result<LargeSlot> {
        Ok(LargeSlot::default())
    }

    fn take(&self, number: u64, slot: &mut LargeSlot) -> Result<bool> {
        slot.number = number;
        slot.out.clear();
        Ok(number.saturating_mul(self.page_cost) < self.cost)
    }

    fn format(&self, slot: &mut LargeSlot) -> Result<()> {
        let share = slot.number * self.page_cost..(slot.number + 1).saturating_mul(self.page_cost);
        self.pieces.iter().try_for_each(|piece| {
            let range = self.first_at(piece, share.start)..self.first_at(piece, share.end);
            if range.is_empty() { Ok(()) } else { self.object.write(piece.kind, range, &mut slot.out) }
        })
    }

    fn bytes<'a>(&'a self, slot: &'a LargeSlot) -> &'a [u8] {
        slot.out.text()
    }
}
