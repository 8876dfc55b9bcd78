//! Writes objects the way Blender writes evaluated meshes: transformed, with deduplicated UVs and normals, and faces
//! sorted by material slot.
//!
//! Numbering continues through the file, so an object's faces can be written only after the values of all earlier
//! objects have been counted. Small objects are prepared in parallel, numbered in order, and written in parallel. A
//! large object is prepared by all threads, then written in pages; it needs 4 bytes per corner for UVs and 4 for
//! normals.
//!
//! `geometry::frame`: object transforms. `values`: UVs and normals. `prepare`: indices and orders. `smoothing`:
//! smoothing groups. `pages`: division of the text into pages. `faces`: faces and their state lines.

mod faces;
mod pages;
mod prepare;
mod smoothing;
mod values;

use super::text::ObjHeld;
use super::text::{ObjText, ObjWritten, chunk_bytes, slot_bytes};
use pages::{LargePages, SmallPages};
use polyhaul_geometry::dedup::Dedup;
use polyhaul_geometry::transform::check_scale;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Mesh, Object, Scene};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::write::Writing;
use polyhaul_spill::paced;
use prepare::{ObjNumbers, Prepared, Preparing};

/// Minimum weight of objects that all threads prepare together. Smaller objects are a part of a page, which is in
/// memory as a whole.
const LARGE: usize = 1 << 17;
/// Weight of a page of small objects: about as much text as in other pages.
const PAGE: usize = 1 << 13;
/// Memory budget per unit of a page's weight: text, indices and deduplication tables.
const UNIT_BYTES: usize = 128;

/// Writes objects; `written` describes the objects before them.
pub fn write(
    scene: &Scene,
    objects: &[Object],
    text: &ObjText<'_>,
    run: &RunOptions,
    mut written: ObjWritten,
    writing: &mut Writing<'_, '_>,
) -> Result<ObjWritten> {
    check_scale(text.options.scene.global_scale)?;
    paced(objects).try_for_each(|object| check_whole(scene, object))?;
    let preparing = Preparing { scene, text, cancel: &run.cancel };
    let is_large = |object: &Object| weight(&scene.meshes[object.mesh]) >= LARGE;
    // Each large object is a batch of its own.
    for batch in objects.chunk_by(|a, b| !is_large(a) && !is_large(b)) {
        match batch {
            [object] if is_large(object) => write_large(object, &preparing, run, &mut written, writing)?,
            _ => {
                let largest = batch.iter().map(|object| weight(&scene.meshes[object.mesh])).max().unwrap_or(0);
                let pages = SmallPages::new(preparing, batch, PAGE)?;
                writing.pages(&pages, &mut written, pages.count(), UNIT_BYTES * (largest + PAGE))?;
            }
        }
    }
    // The state lines in effect belong to these objects, so the next object must set its whole state.
    written.held = ObjHeld::unknown();
    Ok(written)
}

/// Amount of work for a mesh: the length of its longest array.
fn weight(mesh: &Mesh) -> usize {
    let others = [mesh.positions.len(), mesh.lines.corner_positions.len(), mesh.points.len()];
    others.into_iter().fold(mesh.faces.corner_positions.len(), usize::max)
}

fn write_large(
    object: &Object,
    preparing: &Preparing<'_>,
    run: &RunOptions,
    written: &mut ObjWritten,
    writing: &mut Writing<'_, '_>,
) -> Result<()> {
    let mut dedup = Dedup::new();
    let mut prepared = Prepared::new(object, preparing, run.worker_threads(), &mut dedup, ObjNumbers::default())?;
    // The tables are no longer needed, and writing pages needs memory.
    drop(dedup);
    prepared.place(written)?;
    let pages = LargePages::new(&prepared, preparing.text, chunk_bytes(run))?;
    writing.pages(&pages, &mut (), pages.count(), slot_bytes(chunk_bytes(run)))
}

/// Fails if an object is only a section of its mesh: values are deduplicated per mesh, so sections would not match.
fn check_whole(scene: &Scene, object: &Object) -> Result<()> {
    let Some(mesh) = scene.meshes.get(object.mesh) else {
        return Err(object.no_such_mesh());
    };
    if object.start == Default::default() && object.end == mesh.counts() {
        return Ok(());
    }
    let message = format!("object `{}` has a transform, material slots or attributes", object.name);
    Err(Error::new(ErrorKind::Usage, format!("{message}, but covers only a section of its mesh")))
}
