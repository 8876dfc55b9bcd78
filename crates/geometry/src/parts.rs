//! Flattens a scene into a sequence of mesh parts, for formats without objects.
//!
//! Objects read from a file are sections of one mesh, whose positions are written once, with the first section. An
//! object from a host program contributes its whole mesh, transformed. No geometry is copied.

use crate::flat::spans;
use crate::frame::Frame;
use crate::linear::IDENTITY64;
use crate::losses::LeftOut;
use crate::transform::check_scale;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::options::{Dialect, FormatOptions, Placement};
use polyhaul_model::severity::Strictness;
use polyhaul_model::{Column, Material, Mesh, NONE, Object, Scene};
use polyhaul_pipeline::arrays::{PIECE, as_atomics, zeroed};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::for_each_item;
use polyhaul_spill::paced;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// The input of a writer and its warning settings.
pub struct PartsJob<'a, O> {
    /// The scene that the parts belong to.
    pub scene: &'a Scene,
    /// The parts, in output order.
    pub parts: &'a [Part<'a>],
    /// The scene's comments.
    pub comments: &'a [String],
    /// The materials. PLY writes their textures; other formats drop them with a warning.
    pub materials: &'a [Material],
    /// Name of the output in messages.
    pub output: &'a str,
    /// The scene options and the options of the format.
    pub options: FormatOptions<'a, O>,
    /// Options for running the job.
    pub run: &'a RunOptions,
    /// The losses that are errors. They are checked before the first byte is written.
    pub strict: Strictness,
}

/// A range of faces and lines of a mesh, with a transform.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The mesh that the ranges refer to.
    pub mesh: &'a Mesh,
    /// Index of the mesh in the scene.
    pub number: usize,
    /// The object of the part.
    pub object: &'a Object,
    /// The transform, or `None` if it has no effect.
    pub frame: Option<Frame>,
    /// Range of faces of the mesh.
    pub faces: Range<usize>,
    /// Range of lines of the mesh.
    pub lines: Range<usize>,
    /// Index of the part that writes the positions: this part or an earlier part.
    pub home: usize,
}

/// Returns the parts of a scene that was prepared for writing. `evaluated` contains a flag per mesh
/// ([`Scene::evaluated_meshes`]): each object of an evaluated mesh writes the whole mesh with its own transform.
pub fn parts<'a>(
    scene: &'a Scene,
    objects: &'a [Object],
    evaluated: &[bool],
    placement: &Placement,
) -> Result<Vec<Part<'a>>> {
    check_scale(placement.scale)?;
    let mut homes: Vec<Option<usize>> = Vec::new();
    homes.try_reserve_exact(scene.meshes.len())?;
    homes.resize(scene.meshes.len(), None);
    let mut parts = Vec::new();
    for object in objects {
        let Some(mesh) = scene.meshes.get(object.mesh) else {
            return Err(wrong(object, "has a mesh index out of range"));
        };
        let home = &mut homes[object.mesh];
        let counts = mesh.counts().to_array();
        let start = object.start.to_array();
        let end = object.end.to_array();
        if start.iter().zip(end).zip(counts).any(|((&start, end), count)| start > end || end > count) {
            return Err(wrong(object, "has a section outside its mesh"));
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

/// Divides `faces` of a part into runs with the same material. Calls `see` with each run's material, an index into the
/// scene's materials or `None` for no material, and with the run's length.
pub fn each_material(part: &Part<'_>, faces: Range<usize>, mut see: impl FnMut(Option<usize>, usize)) {
    let Some(slots) = &part.object.materials else {
        return spans(&part.mesh.material_runs, faces).for_each(|(material, count)| {
            see((material != NONE).then_some(material as usize), count);
        });
    };
    let material = |slot: i32| usize::try_from(slot).ok().and_then(|slot| slots.get(slot).copied().flatten());
    match part.mesh.face_materials.get(faces.clone()) {
        // An empty range of an empty array is `Some`, too.
        Some(numbers) if !part.mesh.face_materials.is_empty() => {
            numbers.chunk_by(|a, b| a == b).for_each(|same| see(material(same[0]), same.len()));
        }
        // Without per-face materials, all faces use the first slot.
        _ => see(material(0), faces.len()),
    }
}

/// Returns, for each of `count` materials, whether any face uses it.
pub fn used_materials(parts: &[Part<'_>], count: usize) -> Result<Vec<bool>> {
    let mut used = Vec::new();
    used.try_reserve_exact(count)?;
    used.resize(count, false);
    // Without faces, `each_material` could still report the first slot.
    for part in paced(parts).filter(|part| !part.faces.is_empty()) {
        each_material(part, part.faces.clone(), |material, _| {
            if let Some(used) = material.and_then(|material| used.get_mut(material)) {
                *used = true;
            }
        });
    }
    Ok(used)
}

/// Returns the frame of an object, or `None` if it changes nothing, so that values stay bit-identical.
fn frame(object: &Object, scene: &Scene, placement: &Placement) -> Result<Option<Frame>> {
    let stays = object.transform.is_none_or(|transform| transform == IDENTITY64);
    // Blender applies identity transforms, too, which normalizes normals.
    let stays = stays && placement.dialect == Dialect::Common;
    if stays && placement.scale == 1.0 && placement.axes.is_none_or(|axes| axes == scene.axes) {
        return Ok(None);
    }
    Frame::new(object, scene.axes, placement).map(Some)
}

fn wrong(object: &Object, what: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("object `{}` {what}", object.name))
}

/// Returns the number of vertices that no face uses.
pub fn loose_vertices(mesh: &Mesh, threads: usize) -> Result<u64> {
    unused_vertices(mesh, &[&mesh.faces.corner_positions], threads)
}

/// Returns the number of vertices that none of `lists` refers to.
pub fn unused_vertices(mesh: &Mesh, lists: &[&[u32]], threads: usize) -> Result<u64> {
    let used = used_vertices(mesh, lists, threads)?;
    let count: u64 = used.iter().map(|word| u64::from(word.count_ones())).sum();
    Ok((mesh.positions.len() as u64).saturating_sub(count))
}

/// Returns one bit for each vertex, 32 bits per number: 1 if any of `lists` refers to the vertex.
pub fn used_vertices(mesh: &Mesh, lists: &[&[u32]], threads: usize) -> Result<Vec<u32>> {
    let mut used: Vec<u32> = zeroed(mesh.positions.len().div_ceil(32), "the plan")?;
    let bits = as_atomics(&mut used);
    let mark = |(): &mut (), corners: &[u32]| {
        for &corner in corners {
            let word = bits.get(corner as usize / 32);
            let bit = 1 << (corner % 32);
            // Most bits are already set, and a load is cheaper than an atomic write.
            if let Some(word) = word.filter(|word| word.load(Ordering::Relaxed) & bit == 0) {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    };
    for_each_item(threads, lists.iter().flat_map(|list| list.chunks(PIECE)), || (), mark);
    Ok(used)
}

/// Returns the losses common to the formats without objects: PLY, STL, OFF, splats and tables.
pub fn homeless(parts: &[Part<'_>], materials: &[Material]) -> [LeftOut; 8] {
    let sum = |count: fn(&Mesh) -> usize| -> u64 { homes(parts).map(|part| count(part.mesh) as u64).sum() };
    let names = materials.iter().map(|material| material.name.as_str());
    let groups = homes(parts).flat_map(|part| part.mesh.groups.iter().map(String::as_str));
    let vertex_groups = homes(parts).flat_map(|part| part.mesh.vertex_groups.iter().map(|group| group.name.as_str()));
    let smoothing = sum(|mesh| mesh.smoothing_runs.len().max(mesh.face_smooth.len()));
    let points = ["point element", "point elements"];
    let weights = ["position weight", "position weights"];
    [
        LeftOut::named("left-out-materials", ["material", "materials"], names),
        LeftOut::named("left-out-groups", ["face group", "face groups"], groups),
        LeftOut::new("left-out-smoothing", ["smoothing setting", "smoothing settings"], smoothing),
        LeftOut::new("left-out-sharp-edges", ["sharp edge", "sharp edges"], sum(|mesh| mesh.sharp_edges.len())),
        LeftOut::named("left-out-vertex-groups", ["vertex group", "vertex groups"], vertex_groups),
        LeftOut::new("left-out-points", points, sum(|mesh| mesh.points.len())),
        LeftOut::new("left-out-curves", ["free-form curve", "free-form curves"], sum(|mesh| mesh.curves.len())),
        LeftOut::new("left-out-weights", weights, sum(|mesh| mesh.position_weights.len())),
    ]
}

/// Nouns for the third coordinates of UVs in messages.
pub const THIRD_COORDINATES: [&str; 2] = ["`w` coordinate of a UV", "`w` coordinates of UVs"];

/// Returns the loss of object names, for reporting.
pub fn named(parts: &[Part<'_>]) -> LeftOut {
    let names = paced(parts).map(|part| part.object.name.as_str()).filter(|name| !name.is_empty());
    LeftOut::named("left-out-names", ["object name", "object names"], names)
}

/// Returns the loss of vertex and face columns, except columns for which `is_kept` returns true, for reporting.
pub fn columns<'m>(meshes: impl Iterator<Item = &'m Mesh>, is_kept: impl Fn(&Column) -> bool) -> LeftOut {
    let columns = meshes.flat_map(|mesh| mesh.vertex_columns.iter().chain(&mesh.face_columns));
    let names = columns.filter(|column| !is_kept(column)).map(|column| column.name.as_str());
    LeftOut::named("left-out-columns", ["vertex or face column", "vertex and face columns"], names)
}

/// Returns the loss of a scene's tables, for reporting.
pub fn tables(scene: &Scene) -> LeftOut {
    let names = scene.tables.iter().map(|table| table.name.as_str());
    LeftOut::named("left-out-tables", ["table", "tables"], names)
}

/// Returns the parts that write positions.
pub fn homes<'p, 'a>(parts: &'p [Part<'a>]) -> impl Iterator<Item = &'p Part<'a>> + Clone {
    paced(parts).enumerate().filter(|(place, part)| part.home == *place).map(|(_, part)| part)
}

/// Returns whether a color value from 0 to 1 is too far from a multiple of 1/255 to originate from a byte.
pub fn is_between_bytes(value: f32) -> bool {
    let scaled = value * 255.0;
    (0.0..=255.0).contains(&scaled) && (scaled - scaled.round()).abs() > 0.05
}
