//! The parts of a scene that are drawn, and the numbers of their triangles, lines and points: the payloads of samples.
//!
//! Nothing here knows pixels or colors.

use crate::frame::PAYLOAD_BITS;
use crate::vector::{Vector, wide};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::{Bounds, Elements, Mesh, Object, Scene};
use std::collections::HashMap;
use std::ops::Range;

/// What a part consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    Faces,
    Lines,
    /// Points of the mesh by their index.
    Points,
    /// All positions: a mesh without elements is a point cloud.
    Positions,
}

/// Elements of a mesh that are drawn the same way.
#[derive(Clone, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) mesh: &'a Mesh,
    pub(crate) object: Option<&'a Object>,
    pub(crate) kind: PartKind,
    pub(crate) elements: Range<usize>,
    /// The payload of corner or point 0 of the mesh, though it may not belong to the part.
    base: u64,
}

/// All parts of a scene.
pub(crate) struct Parts<'a> {
    pub(crate) parts: Vec<Part<'a>>,
    /// The first payload of each part.
    firsts: Vec<u64>,
}

impl<'a> Parts<'a> {
    /// # Errors
    /// [`ErrorKind::Limit`] for 2^40 corners.
    pub(crate) fn from_scene(scene: &'a Scene) -> Result<Parts<'a>> {
        let mut parts = Parts { parts: Vec::new(), firsts: Vec::new() };
        let mut next = 0;
        let moved = scene.objects.iter().any(|object| object.transform.is_some());
        if moved {
            for object in &scene.objects {
                let Some(mesh) = scene.meshes.get(object.mesh) else { continue };
                let (start, end) = (object.start, object.end);
                let ranges = [start.faces..end.faces, start.lines..end.lines, start.points..end.points];
                parts.add(
                    mesh,
                    Some(object),
                    ranges.map(|range| range.start as usize..range.end as usize),
                    &mut next,
                )?;
            }
        } else {
            for mesh in &scene.meshes {
                let ranges = [0..mesh.faces.len(), 0..mesh.lines.len(), 0..mesh.points.len()];
                parts.add(mesh, None, ranges, &mut next)?;
            }
        }
        Ok(parts)
    }

    fn add(
        &mut self,
        mesh: &'a Mesh,
        object: Option<&'a Object>,
        [faces, lines, points]: [Range<usize>; 3],
        next: &mut u64,
    ) -> Result<()> {
        let is_cloud = mesh.faces.is_empty() && mesh.lines.is_empty() && mesh.points.is_empty();
        let positions = if is_cloud { 0..mesh.positions.len() } else { 0..0 };
        let kinds = [
            (PartKind::Faces, faces),
            (PartKind::Lines, lines),
            (PartKind::Points, points),
            (PartKind::Positions, positions),
        ];
        for (kind, elements) in kinds.into_iter().filter(|(_, elements)| !elements.is_empty()) {
            let corners = match kind {
                PartKind::Faces => corners(&mesh.faces, &elements),
                PartKind::Lines => corners(&mesh.lines, &elements),
                PartKind::Points | PartKind::Positions => elements.clone(),
            };
            if *next + corners.len() as u64 >= 1 << PAYLOAD_BITS {
                return Err(Error::new(ErrorKind::Limit, "a picture can show at most 10^12 corners"));
            }
            try_push(&mut self.firsts, *next, "a picture")?;
            let base = next.wrapping_sub(corners.start as u64);
            try_push(&mut self.parts, Part { mesh, object, kind, elements, base }, "a picture")?;
            *next += corners.len() as u64;
        }
        Ok(())
    }

    /// The part of a payload, and the corner or point that it stands for.
    pub(crate) fn find(&self, payload: u64) -> Option<(&Part<'a>, usize)> {
        let part = self.parts.get(self.firsts.partition_point(|&first| first <= payload).checked_sub(1)?)?;
        Some((part, payload.wrapping_sub(part.base) as usize))
    }

    /// The box around all positions of the meshes that are drawn; `None` if there are none.
    pub(crate) fn bounds(&self) -> Option<Bounds> {
        // A mesh may have a million instances.
        let mut known: HashMap<*const Mesh, Option<Bounds>> = HashMap::new();
        let boxes = self.parts.iter().filter_map(|part| {
            let bounds = *known.entry(part.mesh).or_insert_with(|| part.mesh.bounds());
            bounds.map(|bounds| part.moved_bounds(bounds))
        });
        boxes.reduce(Bounds::union)
    }
}

/// The corners of some elements.
fn corners(elements: &Elements, range: &Range<usize>) -> Range<usize> {
    let at = |index: usize| elements.offsets.get(index).map_or(0, |&offset| offset as usize);
    at(range.start)..at(range.end)
}

impl Part<'_> {
    /// The payload of a corner or a point.
    #[inline]
    pub(crate) fn payload(&self, index: usize) -> u64 {
        self.base.wrapping_add(index as u64)
    }

    /// The position with an index in the mesh, as it is in the scene; NaN if there is none.
    #[inline]
    pub(crate) fn position(&self, index: usize) -> [f32; 3] {
        let position = self.mesh.positions.get(index).copied().unwrap_or([f32::NAN; 3]);
        match self.object.and_then(|object| object.transform.as_ref()) {
            None => position,
            Some(rows) => {
                let row = |row: usize| {
                    let [a, b, c, d] = rows[row];
                    a * position[0] + b * position[1] + c * position[2] + d
                };
                [row(0), row(1), row(2)]
            }
        }
    }

    /// The position of a corner of faces or lines.
    #[inline]
    pub(crate) fn corner(&self, corner: usize) -> [f32; 3] {
        let elements = if self.kind == PartKind::Lines { &self.mesh.lines } else { &self.mesh.faces };
        self.position(elements.corner_positions.get(corner).map_or(usize::MAX, |&index| index as usize))
    }

    /// The index of the position of a point.
    #[inline]
    pub(crate) fn point(&self, index: usize) -> usize {
        match self.kind {
            PartKind::Points => self.mesh.points.get(index).map_or(usize::MAX, |&index| index as usize),
            _ => index,
        }
    }

    /// The face of a corner: its index, and its first corner.
    pub(crate) fn face_of(&self, corner: usize) -> (usize, usize) {
        let offsets = &self.mesh.faces.offsets;
        let face = offsets.partition_point(|&first| first as usize <= corner).saturating_sub(1);
        (face, offsets.get(face).map_or(0, |&first| first as usize))
    }

    /// A normal, or another direction, as it is in the scene: it stays perpendicular to its surface.
    pub(crate) fn direction(&self, normal: [f32; 3]) -> Vector {
        let normal = wide(normal);
        let Some(rows) = self.object.and_then(|object| object.transform.as_ref()) else { return normal };
        // By the cofactors of the matrix: its inverse transposed, times its determinant.
        let [a, b, c] = [0, 1, 2].map(|row| [rows[row][0], rows[row][1], rows[row][2]].map(f64::from));
        let cofactors = [crate::vector::cross(b, c), crate::vector::cross(c, a), crate::vector::cross(a, b)];
        cofactors.map(|row| crate::vector::dot(row, normal))
    }

    fn moved_bounds(&self, bounds: Bounds) -> Bounds {
        let corner = |number: usize| {
            let pick = |axis: usize| if number >> axis & 1 == 0 { bounds.min[axis] } else { bounds.max[axis] };
            [pick(0), pick(1), pick(2)]
        };
        let Some(rows) = self.object.and_then(|object| object.transform.as_ref()) else { return bounds };
        let moved = |[x, y, z]: [f32; 3]| {
            let row = |row: usize| rows[row][0] * x + rows[row][1] * y + rows[row][2] * z + rows[row][3];
            [row(0), row(1), row(2)]
        };
        let point = |at: [f32; 3]| Bounds { min: at, max: at };
        (1..8).map(|number| point(moved(corner(number)))).fold(point(moved(corner(0))), Bounds::union)
    }
}
