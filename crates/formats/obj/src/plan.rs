//! Plans the order of writing: pieces of one kind each, divided into chunks of about equal size.
//!
//! The plan depends only on the scene and the options, so chunk boundaries and state lines do not depend on threads. It
//! contains no text: the writer formats the pieces.

use super::text::{GROUP, ObjHeld, ObjWritten};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::options::{FormatOptions, ObjWriteOptions};
use polyhaul_model::{Counts, Elements, Material, Mesh, NONE, Object, ObjectKind, Run, Scene};
use polyhaul_pipeline::arrays::partition_point;
use polyhaul_spill::paced;
use std::ops::Range;

/// Consecutive elements of one kind in one object.
#[derive(Clone, Debug)]
pub(super) struct ObjPlanPiece {
    pub(super) kind: PieceKind,
    pub(super) object: u32,
    /// Range in the arrays of the object's mesh.
    pub(super) range: Range<u32>,
    /// Estimated bytes per element or, for faces and lines, per corner.
    cost: u32,
    /// Total cost of all pieces before this one.
    start: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// The line that declares the object.
    Header,
    Positions,
    Normals,
    Uvs,
    Faces,
    Lines,
    Points,
    Curves,
    /// State lines after the last element of a mesh.
    Trailing,
}

impl PieceKind {
    /// Returns the key that locates runs among the elements of this kind, if state lines can occur between these
    /// elements.
    fn key(self) -> Option<ObjKey> {
        match self {
            PieceKind::Faces => Some(|at| at.faces),
            PieceKind::Lines => Some(|at| at.lines),
            PieceKind::Points => Some(|at| at.points),
            _ => None,
        }
    }
}

/// Offsets from a mesh's indices to the file's indices, which start at 1 and continue through the file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bases {
    /// Offsets to add to a mesh's indices of positions, UVs and normals. The sums wrap.
    pub(super) add: [u32; 3],
}

/// Stands for a group of another mesh, because groups are numbered per mesh.
const OTHER_GROUP: u32 = NONE - 1;

/// A value that no run has.
const UNKNOWN: u32 = NONE - 2;

/// Returns the runs of a mesh in the order of [`ObjHeld`]: smoothing, groups, materials.
pub(super) fn state_runs(mesh: &Mesh) -> [&[Run]; 3] {
    [&mesh.smoothing_runs, &mesh.group_runs, &mesh.material_runs]
}

/// The plan of an object. It is small, because there may be very many.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjPlanned {
    pub(super) bases: Bases,
    /// State before the first element of the object, including the effect of its header.
    pub(super) entering: ObjHeld,
    /// Whether this is the last object.
    pub(super) is_last: bool,
}

/// An object with its plan.
#[derive(Clone, Copy)]
pub(super) struct ObjSection<'a> {
    pub(super) object: &'a Object,
    pub(super) mesh: &'a Mesh,
    pub(super) planned: ObjPlanned,
}

impl ObjSection<'_> {
    /// Returns the range of positions that are written together with a curve.
    pub(super) fn curve_positions(&self, curve: usize) -> Range<u32> {
        curve_positions(self.object, self.mesh, curve)
    }

    /// Fails if a curve uses positions that do not precede it in the file.
    fn check_curves(&self) -> Result<()> {
        for curve in self.object.start.curves as usize..self.object.end.curves as usize {
            let written = self.curve_positions(curve).end;
            if self.mesh.curves[curve].control_points.iter().any(|&point| point >= written) {
                let message = format!("curve {curve} of object `{}` uses positions defined after it", self.object.name);
                return Err(Error::new(ErrorKind::Usage, message));
            }
        }
        Ok(())
    }

    /// Returns the state after the object's faces.
    pub(super) fn after_faces(&self) -> ObjHeld {
        match self.object.end.faces {
            end if end > self.object.start.faces => ObjHeld::at(self.mesh, |at| at.faces, end - 1),
            _ => self.planned.entering,
        }
    }

    /// Returns the state after the object's lines.
    pub(super) fn after_lines(&self) -> ObjHeld {
        match self.object.end.lines {
            end if end > self.object.start.lines => ObjHeld::at(self.mesh, |at| at.lines, end - 1),
            _ => self.after_faces(),
        }
    }

    /// Returns the state after the object's points.
    fn after_points(&self) -> ObjHeld {
        match self.object.end.points {
            end if end > self.object.start.points => ObjHeld::at(self.mesh, |at| at.points, end - 1),
            _ => self.after_lines(),
        }
    }

    /// Returns the state after the whole object.
    fn after(&self) -> ObjHeld {
        let mut held = self.after_points();
        if let Some(trailing) = self.trailing() {
            for (state, runs) in state_runs(self.mesh).into_iter().enumerate() {
                if let Some(last) = trailing[state].clone().last() {
                    held.runs[state] = Some(last);
                    held.values[state] = runs[last as usize].value;
                }
            }
        }
        held
    }

    /// Returns the runs after the last element, if this is the last object and it ends at the end of its mesh. Before
    /// another object, they would be read back as part of that object.
    pub(super) fn trailing(&self) -> Option<[Range<u32>; 3]> {
        let end = self.object.end;
        if !self.planned.is_last || end != self.mesh.counts() {
            return None;
        }
        let now = self.after_points();
        let mut trailing = [0..0, 0..0, 0..0];
        for (state, runs) in state_runs(self.mesh).into_iter().enumerate() {
            let last = runs.len() as u32;
            if runs.last().is_some_and(|run| run.at.same_elements(end)) && now.runs[state] != Some(last - 1) {
                trailing[state] = since(runs, last - 1, now.runs[state])..last;
            }
        }
        trailing.iter().any(|runs| !runs.is_empty()).then_some(trailing)
    }

    /// Returns the group statements directly before the group statement that is the object's header.
    pub(super) fn groups_before_header(&self) -> &[Run] {
        match header_run(self.object, self.mesh) {
            Some(header) => {
                let start = self.object.start;
                let first =
                    self.mesh.group_runs[..header].partition_point(|run| run.at != start && run.at.precedes(start));
                &self.mesh.group_runs[first..header]
            }
            None => &[],
        }
    }
}

/// Returns the first of the consecutive runs that end with `run` and have no element between them, excluding runs up to
/// `written`.
pub(super) fn since(runs: &[Run], run: u32, written: Option<u32>) -> u32 {
    let at = runs[run as usize].at;
    let mut first = run;
    while first > 0 && written != Some(first - 1) && runs[first as usize - 1].at.same_elements(at) {
        first -= 1;
    }
    first
}

/// Returns the run for the group statement that is an object's header.
fn header_run(object: &Object, mesh: &Mesh) -> Option<usize> {
    if object.kind != ObjectKind::Group {
        return None;
    }
    let last = mesh.group_runs.partition_point(|run| run.at.precedes(object.start)).checked_sub(1)?;
    (mesh.group_runs[last].at == object.start).then_some(last)
}

/// Returns the range of positions that are written with a curve of an object: the positions up to the next curve.
pub(super) fn curve_positions(object: &Object, mesh: &Mesh, curve: usize) -> Range<u32> {
    let start_of = |curve: usize| mesh.curves[curve].at.positions.clamp(object.start.positions, object.end.positions);
    let start = if curve == object.start.curves as usize { object.start.positions } else { start_of(curve) };
    let is_last = curve + 1 == object.end.curves as usize;
    start..if is_last { object.end.positions } else { start_of(curve + 1).max(start) }
}

pub(super) struct ObjPlan<'a> {
    scene: &'a Scene,
    options: FormatOptions<'a, ObjWriteOptions>,
    objects: &'a [Object],
    planned: Vec<ObjPlanned>,
    /// Total cost of the objects before each object, followed by the total of all objects.
    starts: Vec<u64>,
    /// For each mesh, the size of the names in its state lines before each run.
    names: Vec<NameCosts>,
    written: ObjWritten,
}

/// Bytes of a mesh's group and material lines before each run, because names can be longer than everything else.
struct NameCosts {
    groups: Vec<u64>,
    materials: Vec<u64>,
}

impl NameCosts {
    fn new(mesh: &Mesh, materials: &[Material]) -> Result<NameCosts> {
        let group = |run: &Run| 3 + mesh.groups.get(run.value as usize).map_or(0, String::len);
        // The name may occur twice: in `usemtl` and, with `material_groups`, in a group line.
        let material = |run: &Run| 8 + materials.get(run.value as usize).map_or(0, |material| 2 * material.name.len());
        Ok(NameCosts { groups: sums(&mesh.group_runs, group)?, materials: sums(&mesh.material_runs, material)? })
    }
}

/// Returns the sums of `size` before each run, followed by the total.
fn sums(runs: &[Run], size: impl Fn(&Run) -> usize) -> Result<Vec<u64>> {
    let mut result = Vec::new();
    result.try_reserve_exact(runs.len() + 1).map_err(|_| Error::memory("the plan"))?;
    let mut sum = 0;
    result.push(sum);
    for run in runs {
        sum += size(run) as u64;
        result.push(sum);
    }
    Ok(result)
}

/// Selects the count that locates a run among the elements of a kind.
pub(super) type ObjKey = fn(&Counts) -> u32;

/// Returns the run in effect at element `index`.
pub(super) fn held(runs: &[Run], key: ObjKey, index: u32) -> Option<u32> {
    runs.partition_point(|run| key(&run.at) <= index).checked_sub(1).map(|run| run as u32)
}

impl ObjHeld {
    /// Returns the state at element `index`.
    pub(super) fn at(mesh: &Mesh, key: ObjKey, index: u32) -> ObjHeld {
        let mut result = ObjHeld::default();
        for (state, runs) in state_runs(mesh).into_iter().enumerate() {
            result.runs[state] = held(runs, key, index);
            if let Some(run) = result.runs[state] {
                result.values[state] = runs[run as usize].value;
            }
        }
        result
    }

    /// Returns the state after an object's header, which may be a group statement.
    fn after_header(mut self, object: &Object, mesh: &Mesh) -> ObjHeld {
        if object.kind == ObjectKind::Group {
            let header = header_run(object, mesh);
            self.runs[GROUP] = header.map(|run| run as u32);
            self.values[GROUP] = header.map_or(OTHER_GROUP, |run| mesh.group_runs[run].value);
        }
        self
    }

    /// Returns a state that no element has, so that all state lines are written before the next element.
    pub(super) fn unknown() -> ObjHeld {
        ObjHeld { runs: [None; 3], values: [UNKNOWN; 3] }
    }

    /// Converts the state for use with another mesh.
    fn in_another_mesh(mut self) -> ObjHeld {
        self.runs = [None; 3];
        if self.values[GROUP] != NONE {
            self.values[GROUP] = OTHER_GROUP;
        }
        self
    }
}

impl<'a> ObjPlan<'a> {
    /// Plans the objects of a scene; `written` describes the objects before them.
    pub(super) fn new(
        scene: &'a Scene,
        objects: &'a [Object],
        materials: &[Material],
        options: FormatOptions<'a, ObjWriteOptions>,
        mut written: ObjWritten,
    ) -> Result<ObjPlan<'a>> {
        let mut names = Vec::new();
        for mesh in paced(&scene.meshes) {
            try_push(&mut names, NameCosts::new(mesh, materials)?, "the plan")?;
        }
        let tiled = tiled_meshes(scene, objects)?;
        let mut plan = ObjPlan { scene, options, objects, planned: Vec::new(), starts: Vec::new(), names, written };
        let count = objects.len();
        plan.planned.try_reserve_exact(count).map_err(|_| Error::memory("the plan"))?;
        plan.starts.try_reserve_exact(count + 1).map_err(|_| Error::memory("the plan"))?;
        plan.starts.push(0);
        let mut mesh_before = None;
        for (number, object) in paced(objects).enumerate() {
            if !tiled[object.mesh] {
                check_self_contained(&scene.meshes[object.mesh], object)?;
            }
            if mesh_before.replace(object.mesh) != Some(object.mesh) {
                written.held = written.held.in_another_mesh();
            }
            let bases = bases(object, options, &mut written)?;
            let entering = written.held.after_header(object, &scene.meshes[object.mesh]);
            plan.planned.push(ObjPlanned { bases, entering, is_last: number + 1 == count });
            let section = plan.section(number as u32);
            section.check_curves()?;
            written.held = section.after();
            let cost = plan.pieces(number as u32).last().map_or(0, |piece| piece.start + plan.cost_of(piece));
            plan.starts.push(cost.max(plan.starts[number]));
        }
        plan.written = written;
        Ok(plan)
    }

    /// Returns the counts and the state after these objects.
    pub(super) fn written(&self) -> ObjWritten {
        self.written
    }

    /// Returns an object together with its plan.
    pub(super) fn section(&self, number: u32) -> ObjSection<'_> {
        let object = &self.objects[number as usize];
        ObjSection { object, mesh: &self.scene.meshes[object.mesh], planned: self.planned[number as usize] }
    }

    /// Returns the pieces of an object, in order. Some may be empty.
    fn pieces(&self, number: u32) -> [ObjPlanPiece; 9] {
        let section = self.section(number);
        let ObjSection { object, mesh, .. } = section;
        let Object { start, end, kind, .. } = object;
        let options = self.options;
        let range_if = |is_written: bool, range: Range<u32>| if is_written { range } else { 0..0 };
        // The positions of curves are written together with the curves.
        let has_curves = options.own.curves && end.curves > start.curves;
        let header_bytes = (object.name.len() as u32).saturating_add(8);
        let parts = [
            (PieceKind::Header, range_if(*kind != ObjectKind::Unnamed, 0..1), header_bytes),
            (PieceKind::Curves, range_if(has_curves, start.curves..end.curves), 4096),
            (PieceKind::Positions, range_if(!has_curves, start.positions..end.positions), 32),
            (PieceKind::Normals, range_if(options.scene.normals, start.normals..end.normals), 24),
            (PieceKind::Uvs, range_if(options.scene.uv, start.uvs..end.uvs), 24),
            (PieceKind::Faces, start.faces..end.faces, bytes_per_corner(&mesh.faces)),
            (PieceKind::Lines, start.lines..end.lines, bytes_per_corner(&mesh.lines)),
            (PieceKind::Points, start.points..end.points, 12),
            (PieceKind::Trailing, range_if(section.trailing().is_some(), 0..1), 64),
        ];
        let mut at = self.starts[number as usize];
        parts.map(|(kind, range, cost)| {
            let piece = ObjPlanPiece { kind, object: number, range, cost, start: at };
            at += self.cost_of(&piece);
            piece
        })
    }

    fn cost_of(&self, piece: &ObjPlanPiece) -> u64 {
        if piece.range.is_empty() { 0 } else { self.cost_before(piece, piece.range.end) }
    }

    /// Estimates the bytes of a piece before its element `index`. Corners and names are counted exactly, so that an
    /// element with very many corners gets a chunk of its own.
    fn cost_before(&self, piece: &ObjPlanPiece, index: u32) -> u64 {
        let object = &self.objects[piece.object as usize];
        let mesh = &self.scene.meshes[object.mesh];
        let count = u64::from(index - piece.range.start);
        let corners = |elements: &Elements| {
            let at = |index: u32| u64::from(elements.offsets[index as usize]);
            8 * count + u64::from(piece.cost) * (at(index) - at(piece.range.start))
        };
        let elements = match piece.kind {
            PieceKind::Faces => corners(&mesh.faces),
            PieceKind::Lines => corners(&mesh.lines),
            _ => count * u64::from(piece.cost),
        };
        elements + piece.kind.key().map_or(0, |key| self.names_between(object, key, piece.range.start, index))
    }

    /// Returns the size of the state lines before the elements `from..to` of a kind.
    fn names_between(&self, object: &Object, key: ObjKey, from: u32, to: u32) -> u64 {
        let mesh = &self.scene.meshes[object.mesh];
        let names = &self.names[object.mesh];
        let between = |runs: &[Run], sums: &[u64]| {
            let first = runs.partition_point(|run| key(&run.at) < from);
            let last = runs.partition_point(|run| key(&run.at) < to);
            (sums[last] - sums[first], (last - first) as u64)
        };
        let (groups, _) = between(&mesh.group_runs, &names.groups);
        let (materials, count) = between(&mesh.material_runs, &names.materials);
        let object_names = if self.options.own.material_groups { count * object.name.len() as u64 } else { 0 };
        groups + materials + object_names
    }

    /// Returns the elements of a piece whose starts are in a range of costs.
    fn part(&self, piece: &ObjPlanPiece, share: &Range<u64>) -> Option<ObjPlanPiece> {
        let elements = piece.range.start as usize..piece.range.end as usize;
        let first_at = |cost: u64| {
            let is_before = |index| piece.start + self.cost_before(piece, index as u32) < cost;
            partition_point(elements.clone(), is_before) as u32
        };
        let range = first_at(share.start)..first_at(share.end);
        (range.start < range.end).then(|| ObjPlanPiece { range, ..piece.clone() })
    }

    /// Estimated text bytes.
    pub(super) fn cost(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Returns the pieces, or the parts of pieces, in chunk `number`, with a cost of `chunk_cost` per chunk.
    pub(super) fn chunk(&self, number: u64, chunk_cost: u64) -> impl Iterator<Item = ObjPlanPiece> {
        let share = number.saturating_mul(chunk_cost)..(number + 1).saturating_mul(chunk_cost);
        // The last object that starts before the chunk may extend into it.
        let first = self.starts.partition_point(|&start| start < share.start).saturating_sub(1);
        let end = share.end;
        let objects = (first..self.objects.len()).take_while(move |&object| self.starts[object] < end);
        let pieces = objects.flat_map(|object| self.pieces(object as u32));
        pieces.filter_map(move |piece| self.part(&piece, &share))
    }
}

/// Estimated bytes of a corner, at 8 bytes per index.
fn bytes_per_corner(elements: &Elements) -> u32 {
    8 * (1 + u32::from(!elements.corner_uvs.is_empty()) + u32::from(!elements.corner_normals.is_empty()))
}

/// Computes the offsets from an object's indices to the file's indices, and adds the object's counts to `written`.
///
/// If the objects of a mesh cover it completely, its arrays are written once and in order, and any object can use all
/// of them. Otherwise each object can use only its own elements.
fn bases(object: &Object, options: FormatOptions<'_, ObjWriteOptions>, written: &mut ObjWritten) -> Result<Bases> {
    let start = streams(object.start);
    let end = streams(object.end);
    let exported = [true, options.scene.uv, options.scene.normals];
    // Wraps if the mesh has more values before the object than the file has; adding a mesh's index wraps back.
    let add = std::array::from_fn(|i| (written.counts[i] as u32).wrapping_sub(start[i]).wrapping_add(1));
    written.add(std::array::from_fn(|i| if exported[i] { (end[i] - start[i]) as usize } else { 0 }))?;
    Ok(Bases { add })
}

fn streams(counts: Counts) -> [u32; 3] {
    [counts.positions, counts.uvs, counts.normals]
}

/// Returns for each mesh whether its objects cover it in order and without gaps.
fn tiled_meshes(scene: &Scene, objects: &[Object]) -> Result<Vec<bool>> {
    let mut next = vec![Some((Counts::default(), false)); scene.meshes.len()];
    let mut last = None;
    for object in objects {
        let Some(mesh) = scene.meshes.get(object.mesh) else {
            let message =
                format!("object `{}` refers to mesh {}, which the scene does not have", object.name, object.mesh);
            return Err(Error::new(ErrorKind::Usage, message));
        };
        let start = object.start.to_array();
        let end = object.end.to_array();
        let counts = mesh.counts().to_array();
        if start.iter().zip(end).zip(counts).any(|((&start, end), count)| start > end || end > count) {
            let message = format!("object `{}` refers to a section that does not exist in its mesh", object.name);
            return Err(Error::new(ErrorKind::Usage, message));
        }
        let slot = &mut next[object.mesh];
        // Objects of a mesh must be consecutive, because another mesh between them would break the numbering.
        let together = last == Some(object.mesh) || *slot == Some((Counts::default(), false));
        *slot = slot.filter(|(at, _)| *at == object.start && together).map(|_| (object.end, true));
        last = Some(object.mesh);
    }
    let covers = |(slot, mesh): (&Option<(Counts, bool)>, &Mesh)| slot.is_some_and(|(at, _)| at == mesh.counts());
    Ok(next.iter().zip(&scene.meshes).map(covers).collect())
}

/// Fails if an object uses elements outside its ranges, for a mesh that is not completely covered by its objects.
fn check_self_contained(mesh: &Mesh, object: &Object) -> Result<()> {
    let inside = |indices: &[u32], corners: Range<usize>, range: Range<u32>| {
        indices.get(corners).is_none_or(|indices| indices.iter().all(|i| *i == NONE || range.contains(i)))
    };
    let start = object.start;
    let end = object.end;
    let curves = &mesh.curves[start.curves as usize..end.curves as usize];
    let own_positions = start.positions..end.positions;
    let mut right = curves.iter().all(|curve| curve.control_points.iter().all(|i| own_positions.contains(i)));
    right &= mesh.points[start.points as usize..end.points as usize]
        .iter()
        .all(|i| (start.positions..end.positions).contains(i));
    for (elements, range) in [(&mesh.faces, start.faces..end.faces), (&mesh.lines, start.lines..end.lines)] {
        let first = elements.offsets.get(range.start as usize).map_or(0, |&at| at as usize);
        let last = elements.offsets.get(range.end as usize).map_or(first, |&at| at as usize);
        right &= inside(&elements.corner_positions, first..last, start.positions..end.positions)
            && inside(&elements.corner_uvs, first..last, start.uvs..end.uvs)
            && inside(&elements.corner_normals, first..last, start.normals..end.normals);
    }
    if right {
        return Ok(());
    }
    let message = format!("object `{}` uses elements of its mesh that belong to another object", object.name);
    Err(Error::new(ErrorKind::Usage, message)
        .with_hint("sort the objects of each mesh so that together they cover it without gaps"))
}
