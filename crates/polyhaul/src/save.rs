//! Writing a scene: the file, the material library beside it, and what their names are.

use crate::Output;
use crate::format::Format;
use crate::ops;
use crate::options;
use crate::options::WriteOptions;
use crate::outputs::{Written, file_of, put_in_place};
use crate::references;
use crate::references::{Need, Relinker};
use crate::report::{Clock, Report};
use crate::{save_pbrt, tables};
use polyhaul_bytes::Codec;
use polyhaul_bytes::{FileOptions, Sink};
use polyhaul_insight::Moved;
use polyhaul_mesh::check;
use polyhaul_mesh::options::Placement;
use polyhaul_mesh::transform::UNMOVED;
use polyhaul_mesh::triangulate::triangulate_scene_as_blender;
use polyhaul_mesh::{mtl, obj, parts, ply, stl};
use polyhaul_model::copy;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result, try_push};
use polyhaul_model::limits::Limits;
use polyhaul_model::names;
use polyhaul_model::render::Render;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Material, Mesh, Object, Scene, SourceFolder, Table};
use polyhaul_pbrt::flatten::{check_elements, flatten_named};
use polyhaul_pbrt::options::Instances;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::run::{Phase, span};
use polyhaul_pipeline::write::{Compression, Writing};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Writes a scene.
///
/// A borrowed scene may have been made by anybody and is checked; an owned one was just read.
pub(crate) fn save(scene: Cow<'_, Scene>, output: Output, options: &WriteOptions) -> Result<Report> {
    if let Cow::Borrowed(scene) = scene {
        check::scene(scene, &options.run)?;
    }
    let (mut report, mut warnings) = (Report::default(), Warnings::default());
    let format = format_of(&output, options)?;
    if format == Format::Pbrt {
        return save_pbrt::save_pbrt(scene, output, options);
    }
    let scene = match scene.render {
        Some(_) => Cow::Owned(report.phase("flatten", || flat_to_write(scene, options, &mut warnings))?),
        None => scene,
    };
    report.warnings.extend(warnings);
    report.warnings.refuse_losses(options.strict)?;
    let (scene, looks) = Looks::split(scene);
    let placement = placement(format, &scene, options);
    note_cut_faces(format, &scene, &output, &mut report.warnings);
    let scene = match changes_model(&scene, &placement)? {
        true => report.phase("prepare", || prepare(scene, format, &placement, options))?,
        false => scene,
    };
    if let Some(kind) = format.table() {
        report.extend(tables::save_scene((&scene, looks.materials.len()), (format, kind), output, options)?);
        return Ok(report);
    }
    let clock = Clock::start("write");
    // What of writing has no name of its own.
    let _span = span(Phase::Format);
    let placed = (&*scene, looks.materials.len(), &placement);
    let links = Relinker::new(&output, options)?;
    match format {
        Format::Obj => write_obj(&scene, &looks, (output, links), options, &mut report)?,
        Format::Ply => {
            write_parts(placed, (format, output, links), (options, &options.ply), &mut report, ply::write_scene)?;
        }
        Format::Stl => write_parts(placed, (format, output, links), (options, &options.stl), &mut report, stl::write)?,
        _ => return Err(Error::new(ErrorKind::Internal, "a format reached the wrong writer")),
    }
    clock.stop(&mut report);
    Ok(report)
}

/// Writes tables, with what stands before them: comments, whose names of files are relative to a folder, and remarks
/// about the object.
pub(crate) fn save_ply_tables(
    (tables, folder): (&[Table], &SourceFolder),
    [comments, infos]: [&[String]; 2],
    output: Output,
    options: &WriteOptions,
) -> Result<Report> {
    let (mut report, clock) = (Report::default(), Clock::start("write"));
    let _span = span(Phase::Format);
    ply::note_remarks([comments, infos], &name_of(&output), &mut report.warnings);
    let mut links = Relinker::new(&output, options)?;
    let comments = links.comments(comments, folder)?;
    let copies = links.finish(&mut report.warnings)?;
    write_with(copies, output, Some(Format::Ply), options, &mut report, |writing, _, _| {
        ply::write_tables(tables, [&comments, infos], &options.ply, &options.run, writing)
    })?;
    clock.stop(&mut report);
    Ok(report)
}

/// As [`flat`], where all that instances show will be written.
fn flat_to_write(scene: Cow<'_, Scene>, options: &WriteOptions, warnings: &mut Warnings) -> Result<Scene> {
    let flat = flat(scene, (options.instances, &options.limits), warnings)?;
    check_elements(&flat, &options.limits)?;
    Ok(flat)
}

/// The meshes of a scene for a renderer; what is not a mesh, and what MTL cannot express, is dropped with a
/// warning.
pub(crate) fn flat(
    scene: Cow<'_, Scene>,
    (instances, limits): (Instances, &Limits),
    warnings: &mut Warnings,
) -> Result<Scene> {
    let folder = scene.folder.clone();
    let (render, meshes) = match &scene {
        Cow::Owned(_) => {
            let mut scene = scene.into_owned();
            (Cow::Owned(scene.render.take().unwrap_or_default()), scene.meshes)
        }
        Cow::Borrowed(scene) => {
            let Some(render) = &scene.render else { return copy::scene(scene) };
            (Cow::Borrowed(render), copy::scene(scene)?.meshes)
        }
    };
    note_left_out_of_render(&render, warnings);
    let mut name_of = |included: &str, name: &str| references::from_scene_folder(&folder, included, name);
    let mut flat = flatten_named(&render, meshes, (instances, limits), &mut name_of)?;
    flat.scene.folder = folder;
    note_left_out_of_flat(&flat, warnings);
    Ok(flat.scene)
}

/// Shapes, arrays and textures that became something else or nothing when a scene for a renderer became one of meshes.
fn note_left_out_of_flat(flat: &ops::Flat, warnings: &mut Warnings) {
    for (class, count) in &flat.left_out {
        let message = format!("shapes of class `{class}` are not meshes: {count} dropped");
        warnings.push_many("left-out-shapes", *count, Diagnostic::new(message));
    }
    let message = format!("subdivision surfaces became their control meshes: {}", flat.subdivided);
    warnings.push_many("changed-shapes", flat.subdivided, Diagnostic::new(message));
    for (name, count) in &flat.left_out_arrays {
        let message = format!("a mesh cannot store the `{name}` arrays of some shapes: {count} dropped");
        warnings.push_many("left-out-columns", *count, Diagnostic::new(message));
    }
    for (what, count) in &flat.left_out_textures {
        let message = format!("dropped textures that MTL cannot express: {count} {what}");
        warnings.push_many("left-out-textures", *count, Diagnostic::new(message));
    }
}

/// What scenes of meshes do not store of one for a renderer, shapes, materials and textures apart.
fn note_left_out_of_render(render: &Render, warnings: &mut Warnings) {
    let settings = [&render.film, &render.filter, &render.sampler, &render.integrator, &render.accelerator];
    let settings = settings.into_iter().flatten().count() + render.options.len();
    let moving = render.shapes().filter(|shape| shape.motion().is_animated()).count()
        + render.instances().filter(|instance| instance.motion.is_animated()).count();
    let kinds = [
        ("left-out-lights", "lights", (render.lights.len() + render.area_lights.len()) as u64),
        ("left-out-cameras", "cameras", u64::from(render.camera.is_some())),
        ("left-out-settings", "renderer settings", settings as u64),
        ("left-out-media", "media", render.media.len() as u64),
        ("left-out-motion", "motion (objects keep their first position)", moving as u64),
    ];
    parts::note_left_out("a mesh scene", kinds, "", warnings);
}

/// Warns of polygons that become triangles because the format has nothing else.
fn note_cut_faces(format: Format, scene: &Scene, output: &Output, warnings: &mut Warnings) {
    if format != Format::Stl {
        return;
    }
    let polygons =
        |mesh: &Mesh| mesh.faces.offsets.windows(2).filter(|face| face[1].wrapping_sub(face[0]) != 3).count();
    let count = scene.meshes.iter().map(|mesh| polygons(mesh) as u64).sum();
    let message = format!("{} stores only triangles: {count} polygons were triangulated", format.name());
    let place = Place { file: name_of(output).into(), ..Place::default() };
    warnings.push_many("changed-faces", count, Diagnostic { place, ..Diagnostic::new(message) });
}

/// What is done to a scene before it is written. Faces that are triangles already need no cutting.
fn placement(format: Format, scene: &Scene, options: &WriteOptions) -> Placement {
    let is_cut = |mesh: &Mesh| mesh.faces.offsets.windows(2).all(|face| face[1].wrapping_sub(face[0]) == 3);
    let has_polygons = || !scene.meshes.iter().all(is_cut);
    match format {
        Format::Obj => options.obj.placement(),
        Format::Ply => {
            let wanted = options.ply.placement.export_triangulated_mesh;
            Placement { export_triangulated_mesh: wanted && has_polygons(), ..options.ply.placement }
        }
        Format::Stl => Placement { export_triangulated_mesh: has_polygons(), ..options.stl.placement },
        // Tables have no faces.
        _ => Placement { export_triangulated_mesh: false, ..options.table.placement },
    }
}

/// The part of a scene that nothing here changes, so that it is never copied.
struct Looks<'a> {
    materials: Cow<'a, [Material]>,
    libraries: Cow<'a, [String]>,
}

impl<'a> Looks<'a> {
    fn split(scene: Cow<'a, Scene>) -> (Cow<'a, Scene>, Looks<'a>) {
        match scene {
            Cow::Borrowed(scene) => {
                let (materials, libraries) = (&scene.materials, &scene.material_libraries);
                (
                    Cow::Borrowed(scene),
                    Looks { materials: Cow::Borrowed(materials), libraries: Cow::Borrowed(libraries) },
                )
            }
            Cow::Owned(mut scene) => {
                let materials = Cow::Owned(std::mem::take(&mut scene.materials));
                let libraries = Cow::Owned(std::mem::take(&mut scene.material_libraries));
                (Cow::Owned(scene), Looks { materials, libraries })
            }
        }
    }
}

pub(crate) fn format_of(output: &Output, options: &WriteOptions) -> Result<Format> {
    match (options.format, output) {
        (Some(format), _) => Ok(format),
        (None, Output::Path(path)) => Format::of_path(path).ok_or_else(|| {
            let message = format!("cannot infer the output format from `{}`", path.display());
            Error::new(ErrorKind::Usage, message).with_hint(format!(
                "use a name that ends in .{}, or specify the format, as in --to obj",
                Format::ALL.map(Format::name).join(", .")
            ))
        }),
        (None, Output::Host(_, name)) => Ok(Format::of_path(Path::new(name)).unwrap_or(Format::Obj)),
        (None, _) => Ok(Format::Obj),
    }
}

/// Whether the options ask for other arrays than the caller's. Those of evaluated objects are turned
/// while they are written.
fn changes_model(scene: &Scene, placement: &Placement) -> Result<bool> {
    let turns = placement.axes.is_some_and(|axes| axes != scene.axes) || placement.global_scale != 1.0;
    let as_read = || Ok::<_, Error>(scene.evaluated_meshes(&scene.objects)?.contains(&false));
    Ok(placement.export_triangulated_mesh || turns && as_read()?)
}

/// Applies what changes the model before it is written, to a copy where the caller keeps the scene.
fn prepare<'a>(
    scene: Cow<'a, Scene>,
    format: Format,
    placement: &Placement,
    options: &WriteOptions,
) -> Result<Cow<'a, Scene>> {
    let mut scene = match scene {
        Cow::Owned(scene) => scene,
        Cow::Borrowed(scene) => copy::scene(scene)?,
    };
    // Each mesh of a scene without objects is one.
    if let Cow::Owned(objects) = scene.listed_objects()? {
        scene.objects = objects;
    }
    let flags = scene.evaluated_meshes(&scene.objects)?;
    for object in &mut scene.objects {
        if flags[object.mesh] {
            // Triangles have no domains any more; this keeps the object what it is.
            object.transform.get_or_insert(UNMOVED);
        }
    }
    if placement.export_triangulated_mesh {
        match format {
            Format::Obj => triangulate_scene_as_blender(&mut scene, &options.run)?,
            _ => ops::triangulate_scene(&mut scene, &options.run)?,
        }
    }
    let mut kept = Vec::new();
    for (number, _) in flags.iter().enumerate().filter(|(_, is_evaluated)| **is_evaluated) {
        try_push(&mut kept, (number, std::mem::take(&mut scene.meshes[number])), "the scene")?;
    }
    let axes = scene.axes;
    ops::transform_axes(&mut scene, placement.axes.unwrap_or(axes), placement.global_scale, &options.run)?;
    scene.axes = axes;
    for (number, mesh) in kept {
        scene.meshes[number] = mesh;
    }
    Ok(Cow::Owned(scene))
}

/// The name of an output, as far as it has one.
pub(crate) fn name_of(output: &Output) -> Cow<'_, str> {
    match output {
        Output::Path(path) => path.to_string_lossy(),
        Output::Writer(_, name) | Output::Host(_, name) => name.into(),
        Output::Stdout => "standard output".into(),
    }
}

/// How the output is to be compressed.
pub(crate) fn compression_of(output: &Output, options: &WriteOptions) -> Result<Option<Compression>> {
    let name = match output {
        // Only the end of the name counts: what is no UTF-8 may stand before it.
        Output::Path(path) => path.file_name().unwrap_or_default().to_string_lossy(),
        output => name_of(output),
    };
    let (codec, level) = match (options.compression, Codec::of_name(&name)) {
        (options::Compression::None, _) => return Ok(None),
        (options::Compression::By(codec, level), _) => (codec, level),
        (options::Compression::ByName(level), Some((codec, _))) => (codec, level),
        (options::Compression::ByName(None), None) => return Ok(None),
        (options::Compression::ByName(Some(_)), None) => {
            let error = Error::new(ErrorKind::Usage, "a compression level was given, but the output is not compressed");
            return Err(error.with_hint(
                "choose a codec (--compress gzip, zstd or lz4), or use a name that ends in .gz, .zst or .lz4",
            ));
        }
    };
    match level {
        Some(level) if !codec.levels().contains(&level) => Err(no_level(codec, level)),
        level => Ok(Some(Compression { codec, level })),
    }
}

/// That an output can be compressed as the options say.
pub(crate) fn check_compression(output: &Output, options: &WriteOptions) -> Result<()> {
    compression_of(output, options).map(drop)
}

fn no_level(codec: Codec, level: i32) -> Error {
    let levels = codec.levels();
    let hint = match (levels.start(), levels.end()) {
        (first, last) if first == last => format!("{codec} has only one level; omit the level"),
        (first, last) => format!("choose a level from {first} (fastest) to {last} (smallest)"),
    };
    Error::new(ErrorKind::Usage, format!("{codec} has no level {level}")).with_hint(hint)
}

/// Where an output's bytes go, no faster than `run` says, and what messages call it.
pub(crate) fn open(output: Output, options: FileOptions, run: &RunOptions) -> Result<(Sink<'static>, String)> {
    let (sink, name) = match output {
        Output::Path(path) => {
            let name = path.display().to_string();
            let sink = Sink::file_until(&path, options, run.cancel.flag());
            (sink.map_err(|e| Error::io("creating", &name, e))?, name)
        }
        Output::Stdout => {
            (Sink::stdout().map_err(|e| Error::io("opening", "standard output", e))?, "standard output".into())
        }
        Output::Writer(writer, name) => (Sink::writer(writer, name.clone()), name),
        Output::Host(host, name) => (Sink::host(host, name.clone()), name),
    };
    Ok((run.paced_sink(sink), name))
}

/// How what `writing` wrote is noted, when it is known how many bytes it came to.
pub(crate) fn moved(
    writing: &Writing<'_, '_>,
    format: Option<Format>,
    compression: Option<Compression>,
    options: &WriteOptions,
) -> Moved {
    let mut moved = Moved::default().durable(options.durable);
    moved.format = format.map(Format::name);
    moved.codec = compression.map(|it| it.codec);
    moved.plain_bytes = writing.written();
    moved
}

/// Writes what is one file; `write` gets the name of the output.
pub(crate) fn write_to(
    output: Output,
    format: Option<Format>,
    options: &WriteOptions,
    report: &mut Report,
    write: impl FnOnce(&mut Writing<'_, '_>, &str, &mut Warnings) -> Result<()>,
) -> Result<()> {
    write_with(Vec::new(), output, format, options, report, write)
}

/// The same; other files, which it refers to, take their places before it.
pub(crate) fn write_with(
    mut files: Vec<Written>,
    output: Output,
    format: Option<Format>,
    options: &WriteOptions,
    report: &mut Report,
    write: impl FnOnce(&mut Writing<'_, '_>, &str, &mut Warnings) -> Result<()>,
) -> Result<()> {
    report.warnings.refuse_losses(options.strict)?;
    let compression = compression_of(&output, options)?;
    let (sink, name) = open(output, FileOptions::default().with_durable(options.durable), &options.run)?;
    let mut writing = Writing::new(sink, compression, &options.run)?;
    write(&mut writing, &name, &mut report.warnings)?;
    report.warnings.refuse_losses(options.strict)?;
    report.threads = writing.threads();
    let moved = moved(&writing, format, compression, options);
    let file = writing.finish()?.complete().map_err(|e| Error::io("writing", &name, e))?;
    try_push(&mut files, Written::new(name, file, moved), "the plan")?;
    put_in_place(files, report)
}

/// Writes a scene in a format that has no objects; `own` are the format's options.
fn write_parts<O>(
    (scene, materials, placement): (&Scene, usize, &Placement),
    (format, output, mut links): (Format, Output, Relinker<'_>),
    (options, own): (&WriteOptions, &O),
    report: &mut Report,
    write: impl FnOnce(&parts::Job<'_, O>, &mut Writing<'_, '_>, &mut Warnings) -> Result<()>,
) -> Result<()> {
    let objects = scene.listed_objects()?;
    let evaluated = scene.evaluated_meshes(&objects)?;
    let parts = parts::parts(scene, &objects, &evaluated, placement)?;
    let comments = match format {
        Format::Ply => links.comments(&scene.comments, &scene.folder)?,
        _ => Cow::Borrowed(&scene.comments[..]),
    };
    let copies = links.finish(&mut report.warnings)?;
    write_with(copies, output, Some(format), options, report, |writing, output, warnings| {
        let (comments, run, strict) = (&*comments, &options.run, options.strict);
        let job = parts::Job { scene, parts: &parts, comments, materials, output, options: own, run, strict };
        write(&job, writing, warnings)
    })
}

fn write_obj(
    scene: &Scene,
    looks: &Looks<'_>,
    (output, mut links): (Output, Relinker<'_>),
    options: &WriteOptions,
    report: &mut Report,
) -> Result<()> {
    let library = Library::of(scene, looks, &output, options, &mut links)?;
    let mut files = links.finish(&mut report.warnings)?;
    let compression = compression_of(&output, options)?;
    let file_options = FileOptions::default().with_durable(options.durable);
    if options.obj.export_materials && file_of(&output).is_none() {
        note_lost_library(looks, &output, &mut report.warnings);
    }
    let (own, output_name) = ((&options.obj, &options.run), name_of(&output));
    obj::note_left_out((scene, &looks.materials), own, &output_name, &mut report.warnings)?;
    report.warnings.refuse_losses(options.strict)?;
    let (sink, name) = open(output, file_options, &options.run)?;
    let line = library.as_ref().map(|library| library.name.as_str());
    let mut writing = Writing::new(sink, compression, &options.run)?;
    obj::write(scene, &looks.materials, line, &options.obj, &options.run, &mut writing)?;
    report.threads = writing.threads();
    let moved = moved(&writing, Some(Format::Obj), compression, options);
    let scene = writing.finish()?.complete().map_err(|e| Error::io("writing", &name, e))?;
    if let Some(Library { file: Some((path, bytes)), .. }) = library {
        let library = write_library(&path, &bytes, file_options.with_part(true), options)?;
        try_push(&mut files, library, "the plan")?;
    }
    try_push(&mut files, Written::new(name, scene, moved), "the plan")?;
    put_in_place(files, report)
}

/// Warns that definitions of materials are dropped: the library would be a second file.
fn note_lost_library(looks: &Looks<'_>, output: &Output, warnings: &mut Warnings) {
    let count = looks.materials.iter().filter(|material| !material.missing).count() as u64;
    let message = format!("a stream cannot store the material library: {count} materials dropped");
    let hint = Some("write to a file, and the library appears beside it".to_owned());
    let place = Place { file: name_of(output).into(), ..Place::default() };
    warnings.push_many("left-out-materials", count, Diagnostic { place, hint, ..Diagnostic::new(message) });
}

/// Writes a library that takes its place with the scene.
fn write_library(path: &Path, bytes: &[u8], file: FileOptions, options: &WriteOptions) -> Result<Written> {
    let name = path.display().to_string();
    let failed = |e| Error::io("writing", &name, e);
    let file = Sink::file_until(path, file, options.run.cancel.flag()).map_err(failed)?;
    let mut sink = options.run.paced_sink(file);
    sink.write_all(bytes).map_err(failed)?;
    let complete = sink.complete().map_err(failed)?;
    let moved = Moved::new("mtl", 0).durable(options.durable);
    Ok(Written::new(name, complete, moved))
}

/// The material library of a scene that is written.
struct Library {
    /// What the `mtllib` line says.
    name: String,
    /// Where it goes and what is in it; `None` where there is nothing to write or no folder.
    file: Option<(PathBuf, Vec<u8>)>,
}

impl Library {
    /// The library keeps the name that the scene's file gave it, if that is a plain one and no other
    /// file would be overwritten; otherwise it takes the name of the file that is written.
    fn of(
        scene: &Scene,
        looks: &Looks<'_>,
        output: &Output,
        options: &WriteOptions,
        links: &mut Relinker<'_>,
    ) -> Result<Option<Library>> {
        let defined = definitions(scene, &looks.materials)?;
        let names: &[String] = &looks.libraries;
        let has_slots = scene.objects.iter().any(|object| object.materials.is_some());
        if !options.obj.export_materials || names.is_empty() && defined.is_empty() && !has_slots {
            return Ok(None);
        }
        let Some(path) = file_of(output) else {
            return Ok((!names.is_empty()).then(|| Library { name: listed(names), file: None }));
        };
        let own = library_beside(path);
        let kept = match names {
            [name] if is_plain(name) => Some(path.with_file_name(name)),
            _ => None,
        };
        for place in kept.iter().chain([&own]) {
            links.reserve(&place.file_name().unwrap_or_default().to_string_lossy());
        }
        // A library that could not be read is still referred to, and not replaced by an empty one.
        let missing = looks.materials.iter().any(|material| material.missing && !material.name.is_empty());
        let file_name = |place: &Path| place.file_name().map(|name| name.to_string_lossy().into_owned());
        if defined.is_empty() && missing {
            let mut linked = Vec::new();
            for name in names {
                let new = links.relink(&scene.folder, "", name, Need::Library)?;
                try_push(&mut linked, new.unwrap_or_else(|| name.clone()), "names")?;
            }
            let name = if names.is_empty() { file_name(&own).unwrap_or_default() } else { listed(&linked) };
            return Ok(Some(Library { name, file: None }));
        }
        let mut linked = Vec::new();
        for material in &defined {
            try_push(&mut linked, links.material(material, &scene.folder)?, "the material library")?;
        }
        let bytes = mtl::write(linked.iter().map(Cow::as_ref), &options.obj)?;
        let place = kept.filter(|place| place != path && (*place == own || is_free(place, &bytes))).unwrap_or(own);
        let name = file_name(&place).unwrap_or_default();
        Ok(Some(Library { name, file: Some((place, bytes)) }))
    }
}

/// Names as an `mtllib` line lists them. Empty ones would leave spaces that no reader keeps (found by fuzzing).
fn listed(names: &[String]) -> String {
    names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The materials of the library, in the order of their names, as Blender has them: those that slots
/// in use name, under the names that evaluated objects give them, and all others where objects are as
/// they were read.
fn definitions<'a>(scene: &Scene, materials: &'a [Material]) -> Result<Vec<Cow<'a, Material>>> {
    let flags = scene.evaluated_meshes(&scene.objects)?;
    let as_read = scene.objects.is_empty() || !scene.objects.iter().all(|object| flags[object.mesh]);
    let mut in_slots = Vec::new();
    in_slots.try_reserve_exact(materials.len())?;
    in_slots.resize(materials.len(), false);
    for object in scene.objects.iter().filter(|object| flags[object.mesh]) {
        mark_used(scene, object, &mut in_slots);
    }
    let mut defined: Vec<Cow<'a, Material>> = Vec::new();
    for (material, in_slot) in materials.iter().zip(in_slots).filter(|(material, _)| !material.missing) {
        let joined = names::joined(&material.name);
        let same = joined == material.name.as_str();
        if as_read || in_slot && same {
            try_push(&mut defined, Cow::Borrowed(material), "the material library")?;
        }
        if in_slot && !same {
            let renamed = Material { name: joined.into_owned(), ..material.clone() };
            try_push(&mut defined, Cow::Owned(renamed), "the material library")?;
        }
    }
    defined.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    defined.dedup_by(|a, b| a.name == b.name);
    Ok(defined)
}

/// Marks the materials that the faces of an evaluated object have.
fn mark_used(scene: &Scene, object: &Object, used: &mut [bool]) {
    let Some(mesh) = scene.meshes.get(object.mesh) else { return };
    let mut mark = |place: Option<usize>| {
        if let Some(used) = place.and_then(|place| used.get_mut(place)) {
            *used = true;
        }
    };
    let slots = object.materials.as_deref().unwrap_or_default();
    let slot = |slot: i32| usize::try_from(slot).ok().and_then(|slot| *slots.get(slot)?);
    match mesh.face_materials.is_empty() {
        true if mesh.faces.is_empty() => {}
        true => mark(slot(0)),
        false => mesh.face_materials.chunk_by(|a, b| a == b).for_each(|faces| mark(slot(faces[0]))),
    }
    if object.materials.is_none() {
        mesh.material_runs.iter().for_each(|run| mark(Some(run.value as usize)));
    }
}

/// The library of a file: the same name with the extension `.mtl`, and without that of a codec.
fn library_beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if Codec::of_name(&name).is_some() && path.extension().is_some() {
        return library_beside(&path.with_extension(""));
    }
    let own = path.with_extension("mtl");
    if own != path {
        return own;
    }
    let mut name = own.into_os_string();
    name.push(".mtl");
    name.into()
}

/// A file name without a folder that can only be a material library. It comes out of a file, so it
/// must not be able to name anything else, such as a program's settings.
fn is_plain(name: &str) -> bool {
    let is_library = name.to_ascii_lowercase().ends_with(".mtl");
    let is_findable = name.len() <= 255 && name.trim() == name;
    is_library
        && is_findable
        && !name.starts_with('.')
        && !name.contains(|c: char| matches!(c, '/' | '\\' | ':') || c.is_control())
}

/// Whether `place` may be written: there is nothing, or the same bytes already.
fn is_free(place: &Path, bytes: &[u8]) -> bool {
    match std::fs::symlink_metadata(place) {
        Ok(found) => found.is_file() && found.len() == bytes.len() as u64 && holds(place, bytes).unwrap_or(false),
        Err(_) => true,
    }
}

/// Whether the file holds these bytes. Reads block by block: nothing that may lack memory.
fn holds(place: &Path, mut bytes: &[u8]) -> std::io::Result<bool> {
    let mut file = std::fs::File::open(place)?;
    let mut block = [0; 512];
    loop {
        let count = std::io::Read::read(&mut file, &mut block)?;
        match bytes.split_at_checked(count) {
            Some(([], rest)) => return Ok(rest.is_empty()),
            Some((same, rest)) if same == &block[..count] => bytes = rest,
            _ => return Ok(false),
        }
    }
}
