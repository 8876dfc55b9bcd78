//! Prepares a scene for its format and writes it. All scenes are written through this module.
//!
//! `outputs` opens files and streams; `registry` lists the writer of each format.

use crate::flat;
use crate::format::Format;
use crate::images::convert_image;
use crate::input::Output;
use crate::mesh_job::{Looks, MeshJob};
use crate::options::WriteOptions;
use crate::outputs::{format_of, name_of};
use crate::precise::{self, PreciseScene, PreciseTarget};
use crate::references::Relinker;
use crate::registry::{MeshWriter, SceneWriter};
use crate::report::{Clock, Report};
use crate::surface;
use polyhaul_geometry::check;
use polyhaul_geometry::linear::IDENTITY64;
use polyhaul_geometry::losses::triangulated;
use polyhaul_geometry::splat_placement::SplatPlacement;
use polyhaul_geometry::splat_shape;
use polyhaul_geometry::transform::transform_meshes;
use polyhaul_model::copy;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result, try_push};
use polyhaul_model::options::Placement;
use polyhaul_model::severity::{Severity, severity};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Mesh, Scene};
use polyhaul_pipeline::run::{Phase, span};
use polyhaul_spill::paced;
use std::borrow::Cow;

/// Writes a scene. Checks a borrowed scene, which may come from anywhere; an owned scene was just read.
pub(crate) fn save(scene: Cow<'_, Scene>, output: Output, options: &WriteOptions) -> Result<Report> {
    if let Cow::Borrowed(scene) = scene {
        check::scene(scene, &options.run)?;
    }
    let format = format_of(&output, options)?;
    let mut report = Report::of_writing(format.name());
    if matches!(scene, Cow::Borrowed(_)) && options.obj.materials && !is_geometry(format) {
        note_missing_slots(&scene, &name_of(&output), &mut report.warnings);
    }
    surface::note(&scene.materials, format, &name_of(&output), &mut report.warnings);
    let writer = match format.writers().scene {
        Some(SceneWriter::Render(save)) => {
            report.warnings.refuse_losses(options.strictness())?;
            let mut written = save(scene, output, options)?;
            report.warnings.extend(std::mem::take(&mut written.warnings));
            return Ok(Report { warnings: report.warnings, ..written });
        }
        Some(SceneWriter::Meshes(writer)) => writer,
        None => return Err(no_scene(format)),
    };
    let scene = flatten(scene, format, options, &mut report)?;
    let (scene, mut looks) = Looks::split(scene);
    let scene = match writer.splat_degree {
        Some(max_degree) => complete_splats(scene, format, max_degree, &output, options, &mut report)?,
        None => scene,
    };
    surface::remove_maps(&mut looks.materials, format);
    let placement = (writer.placement)(&scene, options)?;
    let (scene, placement) = place_splats(scene, &writer, placement, options, &mut report)?;
    let target = PreciseTarget {
        output: &name_of(&output),
        keeps_doubles: (writer.keeps_doubles)(options),
        has_origin: writer.has_origin,
    };
    let precise = precise::place(scene, placement, options, target, &mut report.warnings)?;
    let PreciseScene { scene, options, placement, origin } = precise;
    let options = &*options;
    if writer.only_triangles {
        note_cut_faces(format, &scene, &output, &mut report.warnings);
    }
    let scene = prepare(scene, &writer, &placement, options, &mut report)?;
    let clock = Clock::start("write");
    // Work outside a more specific span counts as formatting.
    let _span = span(Phase::Format);
    let links = Relinker::new(&output, options)?;
    (writer.write)(MeshJob {
        scene: &scene,
        looks: &looks,
        placement: &placement,
        origin,
        format,
        output,
        links,
        options,
        convert_image,
        report: &mut report,
    })?;
    clock.stop(&mut report);
    Ok(report)
}

/// Whether dropping materials is only a note for this format, since nobody expects it to store them.
fn is_geometry(format: Format) -> bool {
    severity("left-out-materials", format.name()) == Severity::Note
}

/// Warns about faces with a material slot that their object lacks. A negative slot means no material.
fn note_missing_slots(scene: &Scene, output: &str, warnings: &mut Warnings) {
    // Computed once per mesh: many objects may share a mesh.
    let max_slot = |mesh: &Mesh| mesh.face_materials.iter().fold(-1, |max, slot| max.max(*slot));
    let max_slots: Vec<i32> = paced(&scene.meshes).map(max_slot).collect();
    for object in paced(&scene.objects) {
        // Objects without materials still have slot 0.
        let slot_count = object.materials.as_ref().map_or(0, Vec::len).max(1);
        let max_slot = max_slots.get(object.mesh).and_then(|slot| usize::try_from(*slot).ok());
        if let Some(max_slot) = max_slot.filter(|slot| *slot >= slot_count) {
            let name = &object.name;
            let message = format!("faces of object `{name}` use material slot {max_slot}, which has no material");
            let place = Place { file: output.into(), ..Place::default() };
            let hint = "pass a material, or `None`, for each slot".to_owned();
            warnings.push("missing-slot", Diagnostic { place, hint: Some(hint), ..Diagnostic::new(message) });
        }
    }
}

/// Converts a renderer scene to meshes; returns other scenes unchanged.
fn flatten<'a>(
    scene: Cow<'a, Scene>,
    format: Format,
    options: &WriteOptions,
    report: &mut Report,
) -> Result<Cow<'a, Scene>> {
    let scene = match scene.render {
        Some(_) => {
            let mut warnings = Warnings::for_target(format.name());
            let flat = report.phase("flatten", || flat::to_write(scene, options, &mut warnings))?;
            report.warnings.extend(warnings);
            Cow::Owned(flat)
        }
        None => scene,
    };
    report.warnings.refuse_losses(options.strictness())?;
    Ok(scene)
}

/// Completes the columns of splats as 32-bit floats, and drops splats that no splat format can store.
fn complete_splats<'a>(
    scene: Cow<'a, Scene>,
    format: Format,
    max_degree: usize,
    output: &Output,
    options: &WriteOptions,
    report: &mut Report,
) -> Result<Cow<'a, Scene>> {
    let degree = max_degree.min(usize::from(options.splats.sh_degree));
    let mut warnings = Warnings::for_target(format.name());
    let file = &name_of(output);
    let mut scene = splat_shape::complete(scene, file, &mut warnings)?;
    let mut broken: Vec<u64> = Vec::new();
    let mut first_vertex = 0;
    for mesh in paced(&scene.meshes) {
        let of_mesh = splat_shape::broken(mesh, degree, &options.run)?;
        if let Some(first) = of_mesh.first() {
            splat_shape::note_broken(first, of_mesh.len() as u64, options.on_error, file, &mut warnings)?;
        }
        broken.try_reserve(of_mesh.len())?;
        broken.extend(of_mesh.iter().map(|broken| first_vertex + broken.splat as u64));
        first_vertex += mesh.positions.len() as u64;
    }
    warnings.refuse_losses(options.strictness())?;
    report.warnings.extend(warnings);
    if !broken.is_empty() {
        let mut owned = match scene {
            Cow::Owned(scene) => scene,
            Cow::Borrowed(scene) => copy::scene(scene)?,
        };
        let mut next = broken.iter().peekable();
        polyhaul_scan::mesh::keep_vertices(&mut owned, |vertex| next.next_if_eq(&&vertex).is_none())?;
        scene = Cow::Owned(owned);
    }
    Ok(scene)
}

/// Transforms splats to the axes and scale of `placement`, if necessary. Returns the placement that remains to be
/// applied.
fn place_splats<'a>(
    scene: Cow<'a, Scene>,
    writer: &MeshWriter,
    placement: Placement,
    options: &WriteOptions,
    report: &mut Report,
) -> Result<(Cow<'a, Scene>, Placement)> {
    let places = SplatPlacement { placement: &placement, is_upright: writer.has_upright_splats };
    if !places.changes(&scene) {
        return Ok((scene, placement));
    }
    report.phase("prepare", || places.apply(scene, &options.run))
}

/// Returns the error for a format that cannot be written as a scene.
fn no_scene(format: Format) -> Error {
    if format.is_image() {
        let error = Error::new(ErrorKind::Usage, format!("{} stores an image, not a scene or a table", format.name()));
        return error.with_hint("write it as an image");
    }
    Error::new(ErrorKind::Usage, format!("{} is read-only", format.name()))
}

/// Warns about polygons that are triangulated because the format stores only triangles.
fn note_cut_faces(format: Format, scene: &Scene, output: &Output, warnings: &mut Warnings) {
    let polygons =
        |mesh: &Mesh| mesh.faces.offsets.windows(2).filter(|face| face[1].wrapping_sub(face[0]) != 3).count();
    let count = paced(&scene.meshes).map(|mesh| polygons(mesh) as u64).sum();
    let message = triangulated(&format.title(), count);
    let place = Place { file: name_of(output).into(), ..Place::default() };
    warnings.push_many("changed-faces", count, Diagnostic { place, ..Diagnostic::new(message) });
}

/// Whether the scene's arrays must be changed before they are written. Axes and scale do not change the arrays of
/// evaluated objects, which are transformed while they are written.
fn changes_model(scene: &Scene, placement: &Placement) -> Result<bool> {
    let turns = placement.axes.is_some_and(|axes| axes != scene.axes) || placement.scale != 1.0;
    let as_read = || Ok::<_, Error>(scene.evaluated_meshes(&scene.objects)?.contains(&false));
    Ok(placement.triangulate || turns && as_read()?)
}

/// Triangulates and transforms the scene before it is written, if necessary.
fn prepare<'a>(
    scene: Cow<'a, Scene>,
    writer: &MeshWriter,
    placement: &Placement,
    options: &WriteOptions,
    report: &mut Report,
) -> Result<Cow<'a, Scene>> {
    if !changes_model(&scene, placement)? {
        return Ok(scene);
    }
    report.phase("prepare", || change(scene, writer, placement, options))
}

/// Triangulates and transforms a scene. Copies a borrowed scene first.
fn change<'a>(
    scene: Cow<'a, Scene>,
    writer: &MeshWriter,
    placement: &Placement,
    options: &WriteOptions,
) -> Result<Cow<'a, Scene>> {
    let mut scene = match scene {
        Cow::Owned(scene) => scene,
        Cow::Borrowed(scene) => copy::scene(scene)?,
    };
    // Without objects, each mesh is an object.
    if let Cow::Owned(objects) = scene.listed_objects()? {
        scene.objects = objects;
    }
    let flags = scene.evaluated_meshes(&scene.objects)?;
    for object in paced(&mut scene.objects) {
        if flags[object.mesh] {
            // Triangles no longer have domains; the transform keeps marking the object as evaluated.
            object.transform.get_or_insert(IDENTITY64);
        }
    }
    if placement.triangulate {
        (writer.triangulate)(&mut scene, placement, &options.run)?;
    }
    // Evaluated meshes are taken out, because they are transformed while they are written.
    let mut unmoved_meshes = Vec::new();
    for (number, _) in flags.iter().enumerate().filter(|(_, is_evaluated)| **is_evaluated) {
        try_push(&mut unmoved_meshes, (number, std::mem::take(&mut scene.meshes[number])), "the scene")?;
    }
    let axes = scene.axes;
    transform_meshes(&mut scene, placement.axes.unwrap_or(axes), placement.scale, &options.run)?;
    // `Frame` converts evaluated meshes, which still have the old axes.
    scene.axes = axes;
    for (number, mesh) in unmoved_meshes {
        scene.meshes[number] = mesh;
    }
    Ok(Cow::Owned(scene))
}
