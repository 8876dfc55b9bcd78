//! Writes the faces of an evaluated mesh with their state lines, and loose edges and points.

use super::prepare::{ObjNumbers, Prepared};
use super::values::ObjAttribute;
use crate::elements::{CornerForms, state_name, state_number};
use crate::text::{MATERIAL, ObjHeld, ObjText, SMOOTHING};
use polyhaul_model::error::Result;
use polyhaul_model::names;
use polyhaul_model::options::{Dialect, Smoothing};
use polyhaul_model::{Domain, NONE, Run};
use polyhaul_pipeline::out::Out;
use polyhaul_text::format::Page;
use std::ops::Range;

/// State of a face, or the state that the lines so far set; `None` if the object does not set it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ObjSaid {
    smoothing: Option<u32>,
    /// Index of the group, or [`NONE`].
    group: Option<u32>,
    /// Material: the index of a slot of the object, or the value of a run of the mesh.
    material: Option<i32>,
}

/// State at the start of an object, before any state line.
const NOTHING: ObjSaid = ObjSaid { smoothing: None, group: None, material: None };

/// A slot that no object has.
const NO_SLOT: i32 = -1;

/// Returns the states in effect after an object, as in [`ObjHeld::values`]; `None` for states that it leaves as they
/// are.
pub(super) fn values_after(text: &ObjText<'_>, prepared: &Prepared<'_>) -> [Option<u32>; 3] {
    let writer = FaceWriter::new(text, prepared);
    let mesh = prepared.mesh;
    let material_value = |has_material: bool| Some(if has_material { 0 } else { NONE });
    let mut values = [None; 3];
    if let Some(last) = mesh.faces.len().checked_sub(1) {
        let last = prepared.face(last);
        let has_material = writer.material(last).is_some_and(|material| !writer.material_name(material).is_empty());
        values = ObjHeld::default().values.map(Some);
        values[SMOOTHING] = writer.smoothing(last).or(values[SMOOTHING]);
        values[MATERIAL] = material_value(has_material);
    } else if writer.sets_material_of_others() && !(mesh.lines.is_empty() && mesh.points.is_empty()) {
        values[MATERIAL] = material_value(writer.slot_of_others() != NO_SLOT);
    }
    values
}

/// Writes faces `range`, counted in output order.
pub(super) fn faces(text: &ObjText<'_>, prepared: &Prepared<'_>, range: Range<usize>, out: &mut Out) -> Result<()> {
    let writer = FaceWriter::new(text, prepared);
    let mut corners = ObjFacesCorners::default();
    let mut said = match range.start {
        0 => NOTHING,
        start => writer.state(prepared.face(start - 1)),
    };
    let mut at = range.start;
    let mut next = writer.state(prepared.face(at));
    if at == 0 {
        writer.end_inherited(next, out)?;
    }
    while at < range.end {
        writer.say(next, said, out)?;
        said = next;
        // Write all consecutive faces that have the same state.
        out.format(|page| {
            while at < range.end && next == said {
                if !writer.face(page, prepared.face(at), &mut corners) {
                    return false;
                }
                at += 1;
                if at < range.end {
                    next = writer.state(prepared.face(at));
                }
            }
            true
        })?;
    }
    Ok(())
}

struct FaceWriter<'a> {
    text: &'a ObjText<'a>,
    prepared: &'a Prepared<'a>,
    // Slices, because each access to an `Array` is a call.
    offsets: &'a [u32],
    corner_positions: &'a [u32],
    smooth: &'a [u8],
    slots: &'a [i32],
    uvs: ObjAttribute<'a, 2>,
    normals: ObjAttribute<'a, 3>,
    forms: CornerForms<'a>,
    has_vertex_groups: bool,
    /// Whether some corners may lack a uv or a normal that other corners have.
    may_miss: bool,
}

/// Indices of a face's corners, in output order.
#[derive(Default)]
struct ObjFacesCorners {
    positions: Vec<u32>,
    uvs: Vec<u32>,
    normals: Vec<u32>,
}

impl<'a> FaceWriter<'a> {
    fn new(text: &'a ObjText<'a>, prepared: &'a Prepared<'a>) -> Self {
        let mesh = prepared.mesh;
        FaceWriter {
            text,
            prepared,
            offsets: &mesh.faces.offsets,
            corner_positions: &mesh.faces.corner_positions,
            smooth: &mesh.face_smooth,
            slots: &mesh.face_materials,
            uvs: prepared.uv_values(),
            normals: prepared.normal_values(text).attribute,
            forms: CornerForms::new(b"f", prepared.bases.map(|base| base.wrapping_add(1))),
            may_miss: mesh.uv_domain == Domain::Indexed && !mesh.uvs.is_empty()
                || mesh.normal_domain == Domain::Indexed && !mesh.normals.is_empty(),
            has_vertex_groups: text.options.own.vertex_groups && mesh.group_runs.is_empty(),
        }
    }

    /// Writes a face. Returns `false` if it does not fit.
    #[inline]
    fn face(&self, page: &mut Page<'_>, face: usize, corners: &mut ObjFacesCorners) -> bool {
        if self.may_miss {
            return self.face_with_gaps(page, face, corners);
        }
        let ObjNumbers { uvs, normals, .. } = &self.prepared.numbers;
        let Range { start, end } = self.corners(face);
        // Mirroring reverses all corners except the first.
        let corner = |at: usize| if self.prepared.frame.is_mirrored && at > 0 { end - at } else { start + at };
        let position = |at| self.corner_positions[corner(at)];
        let uv = |at| self.uvs.number(&uvs.of_item, face, corner(at));
        let normal = |at| self.normals.number(&normals.of_item, face, corner(at));
        let has_uvs = !uvs.first.is_empty();
        let has_normals = !normals.first.is_empty();
        self.forms.complete(page, end - start, position, has_uvs.then_some(uv), has_normals.then_some(normal))
    }

    /// Like [`FaceWriter::face`], for faces whose corners may lack a uv or a normal.
    fn face_with_gaps(&self, page: &mut Page<'_>, face: usize, corners: &mut ObjFacesCorners) -> bool {
        let Prepared { frame, numbers: ObjNumbers { uvs, normals, .. }, .. } = self.prepared;
        let range = self.corners(face);
        corners.positions.clear();
        corners.uvs.clear();
        corners.normals.clear();
        corners.positions.extend_from_slice(&self.corner_positions[range.clone()]);
        if !uvs.first.is_empty() {
            corners.uvs.extend(range.clone().map(|corner| self.uvs.number(&uvs.of_item, face, corner)));
        }
        if !normals.first.is_empty() {
            corners.normals.extend(range.map(|corner| self.normals.number(&normals.of_item, face, corner)));
        }
        if frame.is_mirrored {
            // Mirroring reverses all corners except the first.
            for stream in [&mut corners.positions, &mut corners.uvs, &mut corners.normals] {
                stream.get_mut(1..).unwrap_or_default().reverse();
            }
        }
        self.forms.line(page, &corners.positions, &corners.uvs, &corners.normals)
    }

    #[inline]
    fn corners(&self, face: usize) -> Range<usize> {
        self.offsets[face] as usize..self.offsets[face + 1] as usize
    }

    /// Returns the state of a face.
    #[inline]
    fn state(&self, face: usize) -> ObjSaid {
        ObjSaid { smoothing: self.smoothing(face), group: self.group(face), material: self.material(face) }
    }

    fn smoothing(&self, face: usize) -> Option<u32> {
        let Prepared { mesh, numbers: ObjNumbers { smoothing, .. }, .. } = self.prepared;
        if self.text.options.own.smoothing == Smoothing::None {
            return None;
        }
        // Same as `Mesh::smoothing_group`, but reads the slice directly, because this runs for each face.
        let flag = || self.smooth.get(face).map(|&smooth| u32::from(smooth != 0));
        smoothing.get(face).copied().or_else(flag).or_else(|| Run::at_face(&mesh.smoothing_runs, face))
    }

    fn material(&self, face: usize) -> Option<i32> {
        let Prepared { mesh, object, .. } = self.prepared;
        match &object.materials {
            Some(slots) if slots.is_empty() => None,
            Some(_) => Some(self.slots.get(face).copied().unwrap_or(0)),
            None => Run::at_face(&mesh.material_runs, face).map(|material| material as i32),
        }
    }

    /// Returns the vertex group with the largest sum of weights over the corners; on ties, the first of these groups.
    /// If corners are members of groups, but only with weight 0, returns the first group of the mesh, as in Blender.
    fn group(&self, face: usize) -> Option<u32> {
        let Prepared { mesh, .. } = self.prepared;
        if !self.has_vertex_groups {
            let is_due = self.text.options.own.groups && !self.text.options.own.object_groups;
            return Run::at_face(&mesh.group_runs, face).filter(|_| is_due);
        }
        let positions = &self.corner_positions[self.corners(face)];
        let mut best = (NONE, 0.0f32);
        for (number, group) in mesh.vertex_groups.iter().enumerate() {
            let weights = positions.iter().map(|&position| group.weights[position as usize]);
            let mut members = weights.filter(|weight| !weight.is_nan()).peekable();
            if best.0 == NONE && members.peek().is_some() {
                best.0 = 0;
            }
            let sum = members.fold(0.0, |sum: f32, weight| sum + weight);
            if sum > best.1 {
                best = (number as u32, sum);
            }
        }
        Some(best.0)
    }

    /// Ends the smoothing and the material of earlier objects, if the first face of this object has none.
    fn end_inherited(&self, first: ObjSaid, out: &mut Out) -> Result<()> {
        let options = self.text.options;
        // Blender writes no such lines.
        if options.scene.dialect == Dialect::Blender {
            return Ok(());
        }
        let is_inherited = |state: usize| self.prepared.before[state] != ObjHeld::default().values[state];
        if first.smoothing.is_none() && is_inherited(SMOOTHING) && options.own.smoothing != Smoothing::None {
            out.whole(|page| state_number(page, b"s ", 0))?;
        }
        if first.material.is_none() && is_inherited(MATERIAL) {
            self.say_material(NO_SLOT, out)?;
        }
        Ok(())
    }

    /// Writes a state line for each state that changed.
    fn say(&self, next: ObjSaid, said: ObjSaid, out: &mut Out) -> Result<()> {
        if let Some(value) = next.smoothing
            && next.smoothing != said.smoothing
        {
            out.whole(|page| state_number(page, b"s ", value))?;
        }
        if let Some(group) = next.group
            && next.group != said.group
        {
            out.whole(|page| state_name(page, b"g", self.group_name(group), false))?;
        }
        if let Some(material) = next.material
            && next.material != said.material
        {
            self.say_material(material, out)?;
        }
        Ok(())
    }

    fn group_name(&self, group: u32) -> &str {
        let mesh = self.prepared.mesh;
        let name = if self.has_vertex_groups {
            mesh.vertex_groups.get(group as usize).map(|group| &group.name)
        } else {
            mesh.groups.get(group as usize)
        };
        name.map_or("off", String::as_str)
    }

    /// Returns the name of a material; empty if there is no material.
    fn material_name(&self, material: i32) -> &'a str {
        let slot = usize::try_from(material).ok();
        let place = match &self.prepared.object.materials {
            Some(slots) => slot.and_then(|slot| *slots.get(slot)?),
            None => slot,
        };
        let material = place.and_then(|place| self.text.materials.get(place));
        material.map_or("", |material| &material.name)
    }

    /// Returns whether lines and points set a material: only without faces, and not in Blender's dialect.
    fn sets_material_of_others(&self) -> bool {
        self.prepared.mesh.faces.is_empty() && self.text.options.scene.dialect != Dialect::Blender
    }

    /// Returns the slot of lines and points without faces: the first slot, as in the glTF reader, or [`NO_SLOT`].
    fn slot_of_others(&self) -> i32 {
        let has_slots = self.prepared.object.materials.is_some();
        if has_slots && !self.material_name(0).is_empty() { 0 } else { NO_SLOT }
    }

    /// Writes the material of lines and points without faces, or ends the material of earlier objects.
    fn say_material_of_others(&self, out: &mut Out) -> Result<()> {
        let slot = self.slot_of_others();
        let is_inherited = self.prepared.before[MATERIAL] != NONE;
        if self.sets_material_of_others() && (slot != NO_SLOT || is_inherited) {
            self.say_material(slot, out)?;
        }
        Ok(())
    }

    fn say_material(&self, material: i32, out: &mut Out) -> Result<()> {
        let options = self.text.options.own;
        let name = names::joined(self.material_name(material));
        if options.material_groups {
            let group = format!("{}_{name}", names::joined(&self.prepared.object.name));
            out.whole(|page| state_name(page, b"g", &group, false))?;
        }
        if let Some(name) = self.text.stated_material(&name).filter(|_| options.materials) {
            out.whole(|page| state_name(page, b"usemtl", name, false))?;
        }
        Ok(())
    }
}

/// Writes loose edges `range` as `l` elements.
pub(super) fn lines(text: &ObjText<'_>, prepared: &Prepared<'_>, range: Range<usize>, out: &mut Out) -> Result<()> {
    if range.start == 0 {
        FaceWriter::new(text, prepared).say_material_of_others(out)?;
    }
    let forms = CornerForms::new(b"l", prepared.bases.map(|base| base.wrapping_add(1)));
    let lines = &prepared.mesh.lines;
    range.into_iter().try_for_each(|line| {
        let positions = &lines.corner_positions[lines.corners(line)];
        out.format(|page| forms.line(page, positions, &[], &[]))
    })
}

/// Writes loose points `range` as `p` elements.
pub(super) fn points(text: &ObjText<'_>, prepared: &Prepared<'_>, range: Range<usize>, out: &mut Out) -> Result<()> {
    if range.start == 0 && prepared.mesh.lines.is_empty() {
        FaceWriter::new(text, prepared).say_material_of_others(out)?;
    }
    let base = prepared.bases[0].wrapping_add(1);
    prepared.mesh.points[range]
        .iter()
        .try_for_each(|point| out.whole(|page| state_number(page, b"p ", point.wrapping_add(base))))
}
