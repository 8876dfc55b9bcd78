//! What is written, in order: pieces of one kind each, cut into chunks of about equal size.
//!
//! The plan is made from the scene and the options alone, so chunk borders and state lines do not
//! depend on threads. It holds no text but names: [`super::writer`] formats the pieces.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Counts, Mesh, NONE, Object, ObjectKind, Run, Scene};
use crate::options::ObjOptions;
use std::ops::Range;

/// Elements of one kind that stand together, of one object.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) kind: PieceKind,
    pub(super) object: u32,
    /// Indices into the arrays of the object's mesh.
    pub(super) range: Range<u32>,
    /// About how many bytes an element takes.
    cost: u32,
    /// The cost of all pieces before this one.
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
}

/// How an object's indices become those of the file: 1 and up, over the whole file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bases {
    /// What is added to an index of the mesh: positions, uvs, normals. Wraps.
    pub(super) add: [u32; 3],
}

/// The state that holds when something is written: which run of each kind, as indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) smoothing: Option<u32>,
    pub(super) group: Option<u32>,
    pub(super) material: Option<u32>,
}

/// An object as it is written.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) object: Object,
    pub(super) bases: Bases,
    /// What holds before its first element.
    pub(super) entering: Held,
    /// What holds after its faces, and after its lines.
    pub(super) after_faces: Held,
    pub(super) after_lines: Held,
}

pub(super) struct Plan {
    pub(super) objects: Vec<Planned>,
    pub(super) pieces: Vec<Piece>,
    total: u64,
}

/// Which count of a run places it among the elements of a kind.
pub(super) type Key = fn(&Counts) -> u32;

/// The run that holds for element `index`.
pub(super) fn held(runs: &[Run], key: Key, index: u32) -> Option<u32> {
    runs.partition_point(|run| key(&run.at) <= index).checked_sub(1).map(|run| run as u32)
}

impl Held {
    fn at(mesh: &Mesh, key: Key, index: u32) -> Held {
        Held {
            smoothing: held(&mesh.smoothing_runs, key, index),
            group: held(&mesh.group_runs, key, index),
            material: held(&mesh.material_runs, key, index),
        }
    }
}

impl Plan {
    /// The pieces of a scene.
    pub(super) fn new(scene: &Scene, options: &ObjOptions) -> Result<Plan> {
        let mut plan = Plan { objects: Vec::new(), pieces: Vec::new(), total: 0 };
        let mut written = [0u64; 3];
        let mut held = Held::default();
        let mut mesh_before = None;
        for (object, add) in objects_with_bases(scene, options, &mut written)? {
            let mesh = &scene.meshes[object.mesh];
            if mesh_before.replace(object.mesh) != Some(object.mesh) {
                // Runs are numbered per mesh: nothing holds over from another.
                held = Held::default();
            }
            let mut planned =
                Planned { object, bases: Bases { add }, entering: held, after_faces: held, after_lines: held };
            let Object { start, end, .. } = planned.object;
            if end.faces > start.faces {
                planned.after_faces = Held::at(mesh, |at| at.faces, end.faces - 1);
            }
            planned.after_lines = planned.after_faces;
            if end.lines > start.lines {
                planned.after_lines = Held::at(mesh, |at| at.lines, end.lines - 1);
            }
            held = planned.after_lines;
            if end.points > start.points {
                held = Held::at(mesh, |at| at.points, end.points - 1);
            }
            plan.push_object(planned, mesh, options)?;
        }
        Ok(plan)
    }

    fn push_object(&mut self, planned: Planned, mesh: &Mesh, options: &ObjOptions) -> Result<()> {
        let Object { start, end, kind, .. } = planned.object;
        let name_bytes = planned.object.name.len() as u32 + 8;
        let has_curves = options.export_curves && end.curves > start.curves;
        let uvs = if options.export_uv { start.uvs..end.uvs } else { 0..0 };
        let normals = if options.export_normals { start.normals..end.normals } else { 0..0 };
        // The positions of a curve are written inside of it.
        let positions = if has_curves { 0..0 } else { start.positions..end.positions };
        let curves = if has_curves { start.curves..end.curves } else { 0..0 };
        let streams = 1 + u32::from(!mesh.faces.corner_uvs.is_empty()) + u32::from(!mesh.faces.corner_normals.is_empty());
        let per_face = |elements: &crate::model::Elements| {
            let average = elements.corner_positions.len().div_ceil(elements.len().max(1)) as u32;
            8 + average.saturating_mul(8 * streams)
        };
        self.objects.try_reserve(1).map_err(|_| Error::memory("the plan"))?;
        self.objects.push(planned);
        if kind != ObjectKind::Unnamed {
            self.push(PieceKind::Header, 0..1, name_bytes)?;
        }
        self.push(PieceKind::Curves, curves, 4096)?;
        self.push(PieceKind::Positions, positions, 32)?;
        self.push(PieceKind::Normals, normals, 24)?;
        self.push(PieceKind::Uvs, uvs, 24)?;
        self.push(PieceKind::Faces, start.faces..end.faces, per_face(&mesh.faces))?;
        self.push(PieceKind::Lines, start.lines..end.lines, per_face(&mesh.lines))?;
        self.push(PieceKind::Points, start.points..end.points, 12)
    }

    /// Appends a piece of the last object.
    fn push(&mut self, kind: PieceKind, range: Range<u32>, cost: u32) -> Result<()> {
        if range.start < range.end {
            self.pieces.try_reserve(1).map_err(|_| Error::memory("the plan"))?;
            let object = self.objects.len() as u32 - 1;
            let size = u64::from(range.end - range.start) * u64::from(cost);
            self.pieces.push(Piece { kind, object, range, cost, start: self.total });
            self.total += size;
        }
        Ok(())
    }

    /// About how many bytes the text takes.
    pub(super) fn cost(&self) -> u64 {
        self.total
    }

    /// The parts of pieces that lie in the share of chunk `number` when a chunk takes `chunk_cost`.
    pub(super) fn chunk(&self, number: u64, chunk_cost: u64) -> impl Iterator<Item = Piece> {
        let share = number.saturating_mul(chunk_cost)..(number + 1).saturating_mul(chunk_cost);
        let first = self.pieces.partition_point(|piece| piece.end() <= share.start);
        let pieces = self.pieces[first..].iter().take_while(move |piece| piece.start < share.end);
        pieces.filter_map(move |piece| piece.part(share.start, share.end))
    }
}

impl Piece {
    fn end(&self) -> u64 {
        self.start + u64::from(self.range.end - self.range.start) * u64::from(self.cost)
    }

    /// The elements that begin in the share.
    fn part(&self, from: u64, to: u64) -> Option<Piece> {
        let element = |at: u64| {
            let offset = at.saturating_sub(self.start).div_ceil(u64::from(self.cost));
            self.range.start + offset.min(u64::from(self.range.end - self.range.start)) as u32
        };
        let range = element(from)..element(to);
        (range.start < range.end).then(|| Piece { range, ..self.clone() })
    }
}

/// The objects in order, each with what turns its indices into the file's.
///
/// Where the objects of a mesh cover it from end to end, its arrays are written once and keep their
/// order, and any object may use any of it. Otherwise each object brings its own elements along.
fn objects_with_bases(scene: &Scene, options: &ObjOptions, written: &mut [u64; 3]) -> Result<Vec<(Object, [u32; 3])>> {
    let whole = |(mesh, arrays): (usize, &Mesh)| Object {
        kind: ObjectKind::Unnamed,
        mesh,
        end: arrays.counts(),
        ..Object::default()
    };
    let objects: Vec<Object> = match scene.objects.is_empty() {
        true => scene.meshes.iter().enumerate().map(whole).collect(),
        false => scene.objects.clone(),
    };
    let tiled = tiled_meshes(scene, &objects)?;
    let mut result = Vec::new();
    result.try_reserve(objects.len()).map_err(|_| Error::memory("the plan"))?;
    for object in objects {
        let (start, end) = (streams(object.start), streams(object.end));
        let exported = [true, options.export_uv, options.export_normals];
        let add = std::array::from_fn(|i| (written[i] as u32).wrapping_sub(start[i]).wrapping_add(1));
        if !tiled[object.mesh] {
            check_self_contained(&scene.meshes[object.mesh], &object)?;
        }
        for i in 0..3 {
            written[i] += if exported[i] { u64::from(end[i] - start[i]) } else { 0 };
        }
        if written.iter().any(|&count| count >= u64::from(NONE)) {
            return Err(Error::new(ErrorKind::Limit, "OBJ files of more than 2^32 - 2 positions, uvs or normals are not written"));
        }
        result.push((object, add));
    }
    Ok(result)
}

fn streams(counts: Counts) -> [u32; 3] {
    [counts.positions, counts.uvs, counts.normals]
}

/// For each mesh, whether its objects follow one another without gap from its begin to its end.
fn tiled_meshes(scene: &Scene, objects: &[Object]) -> Result<Vec<bool>> {
    let mut next = vec![Some((Counts::default(), false)); scene.meshes.len()];
    let mut last = None;
    for object in objects {
        let Some(mesh) = scene.meshes.get(object.mesh) else {
            let message = format!("object `{}` refers to mesh {}, which the scene does not have", object.name, object.mesh);
            return Err(Error::new(ErrorKind::Usage, message));
        };
        let (start, end, counts) = (object.start.to_array(), object.end.to_array(), mesh.counts().to_array());
        if start.iter().zip(end).zip(counts).any(|((&start, end), count)| start > end || end > count) {
            let message = format!("object `{}` is a section that its mesh does not have", object.name);
            return Err(Error::new(ErrorKind::Usage, message));
        }
        let slot = &mut next[object.mesh];
        // Sections of a mesh stand together: another mesh between them would break the numbering.
        let together = last == Some(object.mesh) || *slot == Some((Counts::default(), false));
        *slot = slot.filter(|(at, _)| *at == object.start && together).map(|_| (object.end, true));
        last = Some(object.mesh);
    }
    let covers = |(slot, mesh): (&Option<(Counts, bool)>, &Mesh)| slot.is_some_and(|(at, _)| at == mesh.counts());
    Ok(next.iter().zip(&scene.meshes).map(covers).collect())
}

/// An object that is written on its own may use its own elements only.
fn check_self_contained(mesh: &Mesh, object: &Object) -> Result<()> {
    let inside = |indices: &[u32], corners: Range<usize>, range: Range<u32>| {
        indices.get(corners).is_none_or(|indices| indices.iter().all(|i| *i == NONE || range.contains(i)))
    };
    let (start, end) = (object.start, object.end);
    let mut right = mesh.points[start.points as usize..end.points as usize]
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
    Err(Error::new(ErrorKind::Usage, message).with_hint("let the objects of a mesh follow one another from its begin to its end"))
}
