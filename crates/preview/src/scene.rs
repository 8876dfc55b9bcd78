//! Splits a scene into drawable parts and assigns payloads to their triangles, lines and points.
//!
//! Rasterization and shading are elsewhere: [`crate::draw`], [`crate::shade`].

use crate::frame::PAYLOAD_BITS;
use crate::smooth::SmoothNormals;
use crate::thin::Density;
use polyhaul_geometry::exact::rounded;
use polyhaul_geometry::linear::{Vector, cross, dot, wide};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::{Bounds, Domain, Elements, Mesh, NONE, Object, Run, Scene, Values};
use std::collections::HashMap;
use std::ops::Range;

/// The kind of a part's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    Faces,
    Lines,
    /// Points by index into `mesh.points`.
    Points,
    /// All positions: a mesh without elements is drawn as a point cloud.
    Positions,
}

/// A range of elements of one kind, in one mesh, with one transform.
#[derive(Clone, Debug)]
pub(crate) struct ScenePart<'a> {
    pub(crate) mesh: &'a Mesh,
    /// Transform to scene space, or `None` for the identity.
    pub(crate) place: Option<AffineRows>,
    /// Material slots of the object, if any.
    pub(crate) slots: Option<&'a [Option<usize>]>,
    /// Line width per position: the vertex column `width`.
    pub(crate) widths: Option<&'a [f32]>,
    pub(crate) kind: PartKind,
    pub(crate) elements: Range<usize>,
    /// Level of detail.
    pub(crate) density: Density,
    /// The payload of corner or point 0 of the mesh, extrapolated if the part does not contain it; wraps around below
    /// 0.
    base: u64,
}

/// An affine transform: three rows, the fourth is 0 0 0 1.
pub(crate) type AffineRows = [[f32; 4]; 3];

/// The parts of a scene.
#[derive(Default)]
pub(crate) struct SceneParts<'a> {
    pub(crate) parts: Vec<ScenePart<'a>>,
    /// First payload of each part, ascending.
    firsts: Vec<u64>,
    /// Normals computed from smoothing groups, keyed by the mesh's address.
    smooth: HashMap<usize, SmoothNormals>,
}

impl<'a> SceneParts<'a> {
    /// Collects the parts of all objects if one has a transform or material slots, otherwise of all meshes.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for 2^40 corners or more.
    pub(crate) fn from_scene(scene: &'a Scene) -> Result<SceneParts<'a>> {
        let mut parts = SceneParts::default();
        let mut next = 0;
        let by_object = |object: &Object| object.transform.is_some() || object.materials.is_some();
        if scene.objects.iter().any(by_object) {
            for object in &scene.objects {
                parts.add_object(scene, object, &mut next)?;
            }
        } else {
            for mesh in &scene.meshes {
                let ranges = [0..mesh.faces.len(), 0..mesh.lines.len(), 0..mesh.points.len()];
                parts.add(mesh, None, ranges, &mut next)?;
            }
        }
        for mesh in &scene.meshes {
            if let Some(normals) = SmoothNormals::new(mesh)? {
                parts.smooth.insert(std::ptr::from_ref(mesh).addr(), normals);
            }
        }
        Ok(parts)
    }

    /// The normal of a face corner computed from smoothing groups.
    pub(crate) fn smooth_normal(&self, part: &ScenePart<'_>, face: usize, corner: usize) -> Option<[f32; 3]> {
        self.smooth.get(&std::ptr::from_ref(part.mesh).addr())?.normal(part.mesh, face, corner)
    }

    /// Collects the parts of ranges of objects. Also returns the range of parts of each range of objects.
    ///
    /// # Errors
    /// As for [`SceneParts::from_scene`].
    pub(crate) fn from_objects(
        scene: &'a Scene,
        ranges: &[Range<usize>],
    ) -> Result<(SceneParts<'a>, Vec<Range<usize>>)> {
        let mut parts = SceneParts::default();
        let mut next = 0;
        let mut parts_of_ranges = Vec::new();
        parts_of_ranges.try_reserve_exact(ranges.len())?;
        for range in ranges {
            let first = parts.parts.len();
            for object in scene.objects.get(range.clone()).unwrap_or_default() {
                parts.add_object(scene, object, &mut next)?;
            }
            parts_of_ranges.push(first..parts.parts.len());
        }
        Ok((parts, parts_of_ranges))
    }

    /// Copies ranges of parts, and applies a transform to each range.
    ///
    /// # Errors
    /// As for [`SceneParts::from_scene`].
    pub(crate) fn placed(&self, placed: impl Iterator<Item = (Range<usize>, AffineRows)>) -> Result<SceneParts<'a>> {
        let mut parts = SceneParts::default();
        let mut next = 0u64;
        for (range, place) in placed {
            for part in self.parts.get(range).unwrap_or_default() {
                let corners = part.corners();
                let base = next.wrapping_sub(corners.start as u64);
                try_push(&mut parts.firsts, next, "a picture")?;
                try_push(&mut parts.parts, ScenePart { base, ..part.placed(&place) }, "a picture")?;
                next += corners.len() as u64;
            }
        }
        Ok(parts)
    }

    fn add_object(&mut self, scene: &'a Scene, object: &'a Object, next: &mut u64) -> Result<()> {
        let Some(mesh) = scene.meshes.get(object.mesh) else { return Ok(()) };
        let start = object.start;
        let end = object.end;
        let ranges = [start.faces..end.faces, start.lines..end.lines, start.points..end.points];
        // Clamped: an object may refer to elements that do not exist.
        let counts = [mesh.faces.len(), mesh.lines.len(), mesh.points.len()];
        let elements = std::array::from_fn(|kind| {
            let end = (ranges[kind].end as usize).min(counts[kind]);
            (ranges[kind].start as usize).min(end)..end
        });
        self.add(mesh, Some(object), elements, next)
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
            let place = object.and_then(|object| object.transform.as_ref()).map(rounded).map(|[x, y, z, _]| [x, y, z]);
            let widths = mesh.vertex_columns.iter().find(|column| column.name == "width");
            let widths = widths.and_then(|column| match &column.values {
                Values::F32(widths) => Some(&widths[..]),
                _ => None,
            });
            let slots = object.and_then(|object| object.materials.as_deref());
            let density = Density::WHOLE;
            let part = ScenePart { mesh, place, slots, widths, kind, elements, density, base };
            try_push(&mut self.parts, part, "a picture")?;
            *next += corners.len() as u64;
        }
        Ok(())
    }

    /// Upper bound of all payloads, exclusive.
    pub(crate) fn count(&self) -> u64 {
        let last = self.parts.last().map_or(0, |part| part.base.wrapping_add(part.corners().end as u64));
        last.max(self.firsts.last().copied().unwrap_or(0))
    }

    /// The part that contains a payload, and the corner or point index.
    pub(crate) fn find(&self, payload: u64) -> Option<(&ScenePart<'a>, usize)> {
        let part = self.parts.get(self.firsts.partition_point(|&first| first <= payload).checked_sub(1)?)?;
        Some((part, payload.wrapping_sub(part.base) as usize))
    }

    /// Bounding box of the drawn meshes, or `None` if there are no positions.
    pub(crate) fn bounds(&self) -> Option<Bounds> {
        // Cached, since a mesh may have a million instances.
        let mut bounds_of_meshes: HashMap<*const Mesh, Option<Bounds>> = HashMap::new();
        let boxes = self.parts.iter().filter_map(|part| {
            let bounds = *bounds_of_meshes.entry(part.mesh).or_insert_with(|| part.mesh.bounds());
            bounds.map(|bounds| part.moved_bounds(bounds))
        });
        boxes.reduce(Bounds::union)
    }
}

/// The corner range of an element range.
fn corners(elements: &Elements, range: &Range<usize>) -> Range<usize> {
    let at = |index: usize| elements.offsets.get(index).map_or(0, |&offset| offset as usize);
    at(range.start)..at(range.end)
}

impl<'a> ScenePart<'a> {
    /// Range of its corners, or of its points.
    pub(crate) fn corners(&self) -> Range<usize> {
        match self.kind {
            PartKind::Faces => corners(&self.mesh.faces, &self.elements),
            PartKind::Lines => corners(&self.mesh.lines, &self.elements),
            PartKind::Points | PartKind::Positions => self.elements.clone(),
        }
    }

    /// Payload of a corner or point.
    #[inline]
    pub(crate) fn payload(&self, index: usize) -> u64 {
        self.base.wrapping_add(index as u64)
    }

    /// Scene-space position by index; NaN if out of range.
    #[inline]
    pub(crate) fn position(&self, index: usize) -> [f32; 3] {
        let position = self.mesh.positions.get(index).copied().unwrap_or([f32::NAN; 3]);
        match &self.place {
            None => position,
            Some(place) => moved(place, position),
        }
    }

    /// Scene-space position of a face or line corner.
    #[inline]
    pub(crate) fn corner(&self, corner: usize) -> [f32; 3] {
        let elements = if self.kind == PartKind::Lines { &self.mesh.lines } else { &self.mesh.faces };
        self.position(elements.corner_positions.get(corner).map_or(usize::MAX, |&index| index as usize))
    }

    /// Half the line width at a corner, in scene space.
    #[inline]
    pub(crate) fn radius(&self, corner: usize) -> f32 {
        let index = self.mesh.lines.corner_positions.get(corner).map_or(usize::MAX, |&index| index as usize);
        let width = self.widths.and_then(|widths| widths.get(index)).copied().unwrap_or(0.0);
        0.5 * width * self.scale()
    }

    /// Maximum half width of its lines, in scene space.
    pub(crate) fn widest(&self) -> f32 {
        let widths = self.widths.filter(|_| self.kind == PartKind::Lines).unwrap_or_default();
        0.5 * self.scale() * widths.iter().copied().filter(|width| width.is_finite()).fold(0.0, f32::max)
    }

    /// Position index of a point.
    #[inline]
    pub(crate) fn point(&self, index: usize) -> usize {
        match self.kind {
            PartKind::Points => self.mesh.points.get(index).map_or(usize::MAX, |&index| index as usize),
            _ => index,
        }
    }

    /// The face that contains a corner: its index and first corner.
    pub(crate) fn face_of(&self, corner: usize) -> (usize, usize) {
        let offsets = &self.mesh.faces.offsets;
        let face = offsets.partition_point(|&first| first as usize <= corner).saturating_sub(1);
        (face, offsets.get(face).map_or(0, |&first| first as usize))
    }

    /// Material index of a face.
    pub(crate) fn material(&self, face: usize) -> Option<usize> {
        if let Some(slots) = self.slots {
            let slot = self.mesh.face_materials.get(face).copied().unwrap_or(0);
            return usize::try_from(slot).ok().and_then(|slot| *slots.get(slot)?);
        }
        let run = Run::at_face(&self.mesh.material_runs, face);
        run.filter(|&value| value != NONE).map(|value| value as usize)
    }

    /// Texture coordinates of three face corners, or `None` if a corner has none.
    pub(crate) fn corner_uvs(&self, corners: [usize; 3]) -> Option<[[f32; 2]; 3]> {
        let mesh = self.mesh;
        let uv = |corner: usize| {
            let index = match mesh.uv_domain {
                Domain::Indexed => *mesh.faces.corner_uvs.get(corner).filter(|&&index| index != NONE)? as usize,
                Domain::Corner => corner,
                Domain::Vertex => *mesh.faces.corner_positions.get(corner)? as usize,
                Domain::Face => return None,
            };
            mesh.uvs.get(index).copied()
        };
        let [a, b, c] = corners.map(uv);
        Some([a?, b?, c?])
    }

    /// Transforms a normal to scene space. The length changes.
    pub(crate) fn direction(&self, normal: [f32; 3]) -> Vector {
        let normal = wide(normal);
        let Some(rows) = &self.place else { return normal };
        // Uses the cofactor matrix: it equals the inverse transpose times the determinant, but also exists for singular
        // matrices.
        let [a, b, c] = [0, 1, 2].map(|row| [rows[row][0], rows[row][1], rows[row][2]].map(f64::from));
        let cofactors = [cross(b, c), cross(c, a), cross(a, b)];
        cofactors.map(|row| dot(row, normal))
    }

    /// Approximate maximum scale factor of the transform: its longest column.
    pub(crate) fn scale(&self) -> f32 {
        let Some(rows) = &self.place else { return 1.0 };
        let length = |column: usize| rows.iter().map(|row| row[column] * row[column]).sum::<f32>().sqrt();
        length(0).max(length(1)).max(length(2))
    }

    /// A copy with another transform applied on top.
    pub(crate) fn placed(&self, outer: &AffineRows) -> ScenePart<'a> {
        let place = self.place.as_ref().map_or(*outer, |inner| multiplied(outer, inner));
        ScenePart { place: Some(place), elements: self.elements.clone(), ..*self }
    }

    pub(crate) fn moved_bounds(&self, bounds: Bounds) -> Bounds {
        self.place.as_ref().map_or(bounds, |place| moved_box(place, bounds))
    }
}

/// Applies a transform to a position.
#[inline]
pub(crate) fn moved(place: &AffineRows, [x, y, z]: [f32; 3]) -> [f32; 3] {
    place.map(|[a, b, c, d]| a * x + b * y + c * z + d)
}

/// Bounding box of a transformed box, computed from its center and half extents.
pub(crate) fn moved_box(place: &AffineRows, Bounds { min, max }: Bounds) -> Bounds {
    // Halved first, because sums of large coordinates overflow.
    let middle = moved(place, std::array::from_fn(|axis| 0.5 * min[axis] + 0.5 * max[axis]));
    let half: [f32; 3] = std::array::from_fn(|axis| 0.5 * max[axis] - 0.5 * min[axis]);
    let reach = place.map(|[a, b, c, _]| a.abs() * half[0] + b.abs() * half[1] + c.abs() * half[2]);
    Bounds {
        min: std::array::from_fn(|axis| middle[axis] - reach[axis]),
        max: std::array::from_fn(|axis| middle[axis] + reach[axis]),
    }
}

/// Matrix product: `inner` is applied first.
fn multiplied(outer: &AffineRows, inner: &AffineRows) -> AffineRows {
    outer.map(|row| {
        std::array::from_fn(|column| {
            let sum: f32 = (0..3).map(|at| row[at] * inner[at][column]).sum();
            sum + if column == 3 { row[3] } else { 0.0 }
        })
    })
}
