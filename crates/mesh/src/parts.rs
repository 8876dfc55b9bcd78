//! What a scene is for formats that have no objects: parts of meshes, one after another.
//!
//! Objects that are as they were read are sections of a mesh, whose positions come once, with the first of
//! them. An object out of a program brings its mesh along, wherever it stands in the scene. Nothing is copied.

use crate::frame::Frame;
use crate::options::Placement;
use crate::transform::{UNMOVED, check_scale};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result, try_push};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Mesh, Object, Scene};
use polyhaul_pipeline::options::RunOptions;
use std::ops::Range;

/// What is written, and where warnings go.
pub struct PartsJob<'a, O> {
    /// The scene that the parts belong to.
    pub scene: &'a Scene,
    /// The parts in their order.
    pub parts: &'a [Part<'a>],
    /// What the scene's comments become.
    pub comments: &'a [String],
    /// How many materials there are, none of which are written.
    pub materials: usize,
    /// What messages call the output.
    pub output: &'a str,
    /// The format's own.
    pub options: &'a O,
    /// How to run.
    pub run: &'a RunOptions,
    /// Whether a loss is an error, which comes before the first byte.
    pub strict: bool,
}

/// Faces and lines of a mesh, and where they stand.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The mesh with its arrays.
    pub mesh: &'a Mesh,
    /// Which mesh of the scene it is.
    pub(crate) number: usize,
    /// The object that the part is.
    pub object: &'a Object,
    /// Where it stands; `None` where that changes nothing.
    pub frame: Option<Frame>,
    /// Which faces of the mesh.
    pub faces: Range<usize>,
    /// Which lines of the mesh.
    pub lines: Range<usize>,
    /// The part that has its positions: itself, or an earlier one.
    pub(crate) home: usize,
}

/// The parts of a scene that was prepared for writing; `evaluated` says of each mesh whether its objects have frames.
pub fn parts<'a>(
    scene: &'a Scene,
    objects: &'a [Object],
    evaluated: &[bool],
    placement: &Placement,
) -> Result<Vec<Part<'a>>> {
    check_scale(placement.global_scale)?;
    let mut homes: Vec<Option<usize>> = Vec::new();
    homes.try_reserve_exact(scene.meshes.len())?;
    homes.resize(scene.meshes.len(), None);
    let mut parts = Vec::new();
    for object in objects {
        let (Some(mesh), Some(home)) = (scene.meshes.get(object.mesh), homes.get_mut(object.mesh)) else {
            return Err(wrong(object, "refers to a mesh that the scene does not have"));
        };
        let counts = mesh.counts().to_array();
        let (start, end) = (object.start.to_array(), object.end.to_array());
        if start.iter().zip(end).zip(counts).any(|((&start, end), count)| start > end || end > count) {
            return Err(wrong(object, "is a section that its mesh does not have"));
        }
        let has_frame = evaluated.get(object.mesh).copied().unwrap_or(false);
        let home = if has_frame { parts.len() } else { *home.get_or_insert(parts.len()) };
        let part = Part {
            mesh,
            number: object.mesh,
            object,
            frame: if has_frame { frame(object, scene, placement)? } else { None },
            faces: object.start.faces as usize..object.end.faces as usize,
            lines: object.start.lines as usize..object.end.lines as usize,
            home,
        };
        try_push(&mut parts, part, "the plan")?;
    }
    Ok(parts)
}

/// Where an object stands, if that changes anything: what is not moved keeps its bits.
fn frame(object: &Object, scene: &Scene, placement: &Placement) -> Result<Option<Frame>> {
    let stays = object.transform.is_none_or(|transform| transform == UNMOVED);
    if stays && placement.global_scale == 1.0 && placement.axes.is_none_or(|axes| axes == scene.axes) {
        return Ok(None);
    }
    Frame::new(object, scene.axes, placement).map(Some)
}

fn wrong(object: &Object, what: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("object `{}` {what}", object.name))
}

/// Warns of what a format cannot store: a code, what it is, and how many there are.
pub fn note_left_out(
    format: &str,
    kinds: impl IntoIterator<Item = (&'static str, &'static str, u64)>,
    output: &str,
    warnings: &mut Warnings,
) {
    for (code, what, count) in kinds {
        let message = format!("{format} cannot store {what}: {count} dropped");
        let place = Place { file: output.into(), ..Place::default() };
        warnings.push_many(code, count, Diagnostic { place, ..Diagnostic::new(message) });
    }
}

/// How many vertices no face has.
pub fn loose_vertices(mesh: &Mesh) -> Result<u64> {
    let mut used: Vec<u64> = Vec::new();
    used.try_reserve_exact(mesh.positions.len().div_ceil(64)).map_err(|_| Error::memory("the plan"))?;
    used.resize(mesh.positions.len().div_ceil(64), 0);
    for &corner in mesh.faces.corner_positions.iter() {
        if let Some(word) = used.get_mut(corner as usize / 64) {
            *word |= 1 << (corner % 64);
        }
    }
    let count: u64 = used.iter().map(|word| u64::from(word.count_ones())).sum();
    Ok((mesh.positions.len() as u64).saturating_sub(count))
}

/// What none of PLY, STL and tables can store.
pub(crate) fn homeless(parts: &[Part<'_>], materials: usize) -> [(&'static str, &'static str, u64); 8] {
    let sum = |count: fn(&Mesh) -> usize| -> u64 { homes(parts).map(|part| count(part.mesh) as u64).sum() };
    [
        ("left-out-materials", "materials", materials as u64),
        ("left-out-groups", "face groups", sum(|mesh| mesh.groups.len())),
        ("left-out-smoothing", "smoothing", sum(|mesh| mesh.smoothing_runs.len().max(mesh.face_smooth.len()))),
        ("left-out-sharp-edges", "sharp edges", sum(|mesh| mesh.sharp_edges.len())),
        ("left-out-vertex-groups", "vertex groups", sum(|mesh| mesh.vertex_groups.len())),
        ("left-out-points", "point elements (their vertices stay)", sum(|mesh| mesh.points.len())),
        ("left-out-curves", "free-form curves", sum(|mesh| mesh.curves.len())),
        ("left-out-weights", "position weights", sum(|mesh| mesh.position_weights.len())),
    ]
}

/// How many objects have names.
pub(crate) fn named(parts: &[Part<'_>]) -> u64 {
    parts.iter().filter(|part| !part.object.name.is_empty()).count() as u64
}

/// The parts that have positions of their own.
pub fn homes<'p, 'a>(parts: &'p [Part<'a>]) -> impl Iterator<Item = &'p Part<'a>> {
    parts.iter().enumerate().filter(|(place, part)| part.home == *place).map(|(_, part)| part)
}

/// Whether a colour's value from 0 to 1 lies so far from a byte that it had more digits than one.
pub(crate) fn is_between_bytes(value: f32) -> bool {
    let scaled = value * 255.0;
    (0.0..=255.0).contains(&scaled) && (scaled - scaled.round()).abs() > 0.05
}
