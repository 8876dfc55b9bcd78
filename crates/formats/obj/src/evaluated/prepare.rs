//! Prepares an object before its text is formatted: indices of its UVs and normals, face order, smoothing groups.

use super::values::{Normals, Numbering, ObjAttribute, Rounding, normals, number_normals, number_uvs, uvs};
use super::{faces, smoothing};
use crate::text::{ObjText, ObjWritten};
use polyhaul_geometry::dedup::{Dedup, Unique};
use polyhaul_geometry::frame::Frame;
use polyhaul_model::error::Result;
use polyhaul_model::options::Smoothing;
use polyhaul_model::{Axes, Mesh, Object, Scene};
use polyhaul_pipeline::options::Cancel;
use polyhaul_pipeline::parallel::try_for_each_item;
use std::sync::atomic::{AtomicU8, Ordering};

/// Corners per parallel step when marking used positions.
const PIECE: usize = 1 << 16;

/// Minimum number of slots for which sorting is faster than one pass per slot.
const MANY_SLOTS: u32 = 8;

/// An object ready to be written.
pub(super) struct Prepared<'a> {
    pub(super) object: &'a Object,
    pub(super) mesh: &'a Mesh,
    pub(super) frame: Frame,
    pub(super) numbers: ObjNumbers,
    /// Offsets to add to indices of positions, UVs and normals.
    pub(super) bases: [u32; 3],
    /// States in effect before the object, as in [`ObjHeld::values`](crate::text::ObjHeld::values).
    pub(super) before: [u32; 3],
    /// States in effect after the object; `None` for states that it leaves as they are.
    after: [Option<u32>; 3],
}

/// Results for one object; the memory is reused.
#[derive(Default)]
pub(super) struct ObjNumbers {
    pub(super) uvs: Unique,
    pub(super) normals: Unique,
    /// Nonzero for positions that a face uses; empty if this is not needed.
    used: Vec<AtomicU8>,
    /// Faces sorted by material slot; empty if they already are sorted.
    pub(super) order: Vec<u32>,
    /// Smoothing group of each face; empty if on/off flags are written.
    pub(super) smoothing: Vec<u32>,
}

/// Context for preparing objects.
#[derive(Clone, Copy)]
pub(super) struct Preparing<'a> {
    pub(super) scene: &'a Scene,
    pub(super) text: &'a ObjText<'a>,
    pub(super) cancel: &'a Cancel,
}

impl<'a> Prepared<'a> {
    /// Prepares an object with `threads` threads; reuses the memory of `numbers`.
    pub(super) fn new(
        object: &'a Object,
        preparing: &Preparing<'a>,
        threads: usize,
        dedup: &mut Dedup,
        numbers: ObjNumbers,
    ) -> Result<Prepared<'a>> {
        let Preparing { scene, text, cancel } = preparing;
        let options = text.options;
        let mesh = &scene.meshes[object.mesh];
        let frame = Frame::new(object, scene.axes, &options.scene.placement(Some(Axes::OBJ))?)?;
        let mut prepared = Prepared { object, mesh, frame, numbers, bases: [0; 3], before: [0; 3], after: [None; 3] };
        // Taken out of `prepared`, from which values are borrowed while these are computed.
        let mut uvs = emptied(&mut prepared.numbers.uvs);
        let mut normals = emptied(&mut prepared.numbers.normals);
        if prepared.uv_values().wants_used() || prepared.normal_values(text).attribute.wants_used() {
            find_used(mesh, threads, cancel, &mut prepared.numbers.used)?;
        }
        if options.scene.normals {
            number_normals(&prepared.normal_values(text), Numbering { dedup, threads, cancel, out: &mut normals })?;
        }
        if options.scene.uv {
            number_uvs(prepared.uv_values(), Numbering { dedup, threads, cancel, out: &mut uvs })?;
        }
        let numbers = &mut prepared.numbers;
        numbers.uvs = uvs;
        numbers.normals = normals;
        numbers.order.clear();
        if options.own.materials {
            order_by_slot(&mesh.face_materials, &mut numbers.order)?;
        }
        numbers.smoothing.clear();
        if matches!(options.own.smoothing, Smoothing::Groups | Smoothing::BitFlags) {
            numbers.smoothing = smoothing::groups(mesh, options.own.smoothing == Smoothing::BitFlags)?;
        }
        prepared.after = faces::values_after(text, &prepared);
        Ok(prepared)
    }

    /// Places the object after the objects in `written`, and adds it to them.
    pub(super) fn place(&mut self, written: &mut ObjWritten) -> Result<()> {
        // The counts fit in 32 bits: `add` checked them when it added the previous object.
        self.bases = written.counts.map(|count| count as u32);
        self.before = written.held.values;
        for (value, after) in written.held.values.iter_mut().zip(self.after) {
            *value = after.unwrap_or(*value);
        }
        written.add(self.counts())
    }

    /// The UVs of the object.
    pub(super) fn uv_values(&self) -> ObjAttribute<'_, 2> {
        uvs(self.mesh).with_used(&self.numbers.used)
    }

    /// The normals of the object.
    pub(super) fn normal_values(&self, text: &ObjText<'_>) -> Normals<'_> {
        let attribute = normals(self.mesh).with_used(&self.numbers.used);
        Normals { attribute, frame: self.frame, rounding: Rounding::new(text.digits.normals) }
    }

    /// Returns how many positions, UVs and normals the object adds to the file.
    pub(super) fn counts(&self) -> [usize; 3] {
        [self.mesh.positions.len(), self.numbers.uvs.first.len(), self.numbers.normals.first.len()]
    }

    /// Returns the face at position `at` in output order.
    #[inline]
    pub(super) fn face(&self, at: usize) -> usize {
        self.numbers.order.get(at).map_or(at, |&face| face as usize)
    }
}

/// Returns empty results that reuse the memory of earlier results.
fn emptied(numbers: &mut Unique) -> Unique {
    let mut numbers = std::mem::take(numbers);
    numbers.first.clear();
    numbers.of_item.clear();
    numbers
}

/// Marks each position that a face uses.
fn find_used(mesh: &Mesh, threads: usize, cancel: &Cancel, used: &mut Vec<AtomicU8>) -> Result<()> {
    used.clear();
    used.try_reserve_exact(mesh.positions.len())?;
    used.resize_with(mesh.positions.len(), || AtomicU8::new(0));
    try_for_each_item(
        threads,
        cancel,
        mesh.faces.corner_positions.chunks(PIECE),
        || (),
        |(), positions| {
            positions.iter().for_each(|&position| used[position as usize].store(1, Ordering::Relaxed));
            Ok(())
        },
    )
}

/// Sorts the faces by slot, and keeps the order of faces with the same slot. Leaves `order` empty if they are already
/// sorted.
fn order_by_slot(slots: &[i32], order: &mut Vec<u32>) -> Result<()> {
    if slots.is_sorted() {
        return Ok(());
    }
    order.try_reserve_exact(slots.len())?;
    let (low, high) = slots.iter().fold((i32::MAX, i32::MIN), |(low, high), &slot| (low.min(slot), high.max(slot)));
    if high.abs_diff(low) < MANY_SLOTS {
        // One pass over all faces for each slot.
        for value in low..=high {
            order.extend((0..).zip(slots).filter(|(_, slot)| **slot == value).map(|(face, _)| face));
        }
    } else {
        order.extend(0..slots.len() as u32);
        // Pairs of slot and face are unique, so an unstable sort has the same result as a stable one.
        order.sort_unstable_by_key(|&face| (slots[face as usize], face));
    }
    Ok(())
}
