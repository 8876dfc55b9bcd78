//! Writes a pbrt scene, possibly as several files: the main text, imported parts, and meshes.
//!
//! All files are written as temporary files and renamed once the last one is complete, the main file last. A failure
//! before the renames leaves everything unchanged. A failure during the renames preserves the old main file and removes
//! new files. Parts and meshes that already replaced files of the same name stay, as if the process had been killed at
//! that point: the folder then has the old main file with some new parts, each of them complete. The new scene never
//! exists without all its files.
//!
//! `polyhaul-pbrt` formats the text; the caller provides the writer of mesh files.

use crate::input::Output;
use crate::ops::{MeshOps, SceneOps};
use crate::options::{Strictness, WriteOptions};
use crate::outputs::{Written, compression_of, file_of, moved, name_of, open, put_in_place};
use crate::precise::{self, PreciseScene, PreciseTarget};
use crate::references::Relinker;
use crate::report::{Clock, Report};
use crate::{ops, references};
use polyhaul_bytes::Codec;
use polyhaul_bytes::Sink;
use polyhaul_geometry::linear::IDENTITY64;
use polyhaul_geometry::losses::triangulated;
use polyhaul_geometry::parts;
use polyhaul_insight::Moved;
use polyhaul_model::copy;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, try_push};
use polyhaul_model::options::{FormatOptions, PbrtMeshes, Placement, PlyWriteOptions, SceneWriteOptions};
use polyhaul_model::render::RenamedFiles;
use polyhaul_model::render::Render;
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{Domain, Mesh, Scene};
use polyhaul_pbrt::writer::from_meshes;
use polyhaul_pbrt::writer::{PbrtPlan, Split, meshes};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_pipeline::run::{Phase, span};
use polyhaul_pipeline::write::Writing;
use polyhaul_spill::paced;
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Writes a mesh to a PLY file.
pub(crate) type WriteMesh =
    fn(&parts::PartsJob<'_, PlyWriteOptions>, &mut Writing<'_, '_>, &mut Warnings) -> Result<()>;

/// Writes a scene as pbrt. `write_ply` writes meshes that become files.
pub(crate) fn save(
    scene: Cow<'_, Scene>,
    output: Output,
    options: &WriteOptions,
    write_ply: WriteMesh,
) -> Result<Report> {
    let mut report = Report::of_writing("pbrt");
    let scene = match (options.scene.instances.expands(), options.pbrt.meshes) {
        (false, PbrtMeshes::Keep | PbrtMeshes::Ply { .. }) => scene,
        _ => changed(scene, options, &mut report)?,
    };
    let (scene, options) = placed(scene, &output, options, &mut report)?;
    let options = &*options;
    let files = Files::new(&output, options)?;
    let mut links = Relinker::new(&output, options)?;
    if let Some(names) = files.as_ref() {
        links.reserve_prefix(&format!("{}-", names.stem));
    }
    let render = match &scene.render {
        Some(render) => Cow::Borrowed(&**render),
        None => {
            let polygons =
                |mesh: &Mesh| mesh.faces.offsets.windows(2).filter(|face| face[1].wrapping_sub(face[0]) != 3).count();
            let count = paced(&scene.meshes).map(|mesh| polygons(mesh) as u64).sum();
            let message = triangulated("pbrt", count);
            report.warnings.push_many("changed-faces", count, Diagnostic::new(message));
            let made = report.phase("prepare", || {
                let prepared = prepared(&scene, &options.run)?;
                let materials = links.materials(&scene.materials, &scene.folder)?;
                from_meshes(&prepared, &prepared.listed_objects()?, &materials, &options.run)
            })?;
            report.warnings.extend(made.1);
            Cow::Owned(made.0)
        }
    };
    let clock = Clock::start("write");
    let _span = span(Phase::Format);
    let renamed = match &scene.render {
        Some(_) => links.render(&render, &scene.folder)?,
        // File names in materials were already rewritten.
        None => RenamedFiles::default(),
    };
    let mut taken = references::taken(&render, &renamed)?;
    taken.extend(links.taken().iter().cloned());
    let names = files.mesh_names(&render, &taken, options)?;
    let mut complete = links.finish(&mut report.warnings)?;
    let folder = files.as_ref().map(|files| files.path.clone()).unwrap_or_default();
    let mesh_files = MeshFiles { folder: &folder, options, write_ply };
    mesh_files.write_all(&render, &names, &mut complete, &mut report)?;
    report.warnings.refuse_losses(options.strictness())?;
    let split = Split { meshes: &names, parts: options.pbrt.parts, renamed: &renamed };
    let plan = PbrtPlan::new(&render, split, |number| files.name(&format!("part-{}", number + 1), "pbrt"))?;
    for (number, name) in plan.parts().iter().enumerate() {
        let path = folder.with_file_name(name);
        let written = write_file(&plan, Some(number), Output::Path(path), options, &mut report)?;
        try_push(&mut complete, written, "the plan")?;
    }
    let written = write_file(&plan, None, output, options, &mut report)?;
    try_push(&mut complete, written, "the plan")?;
    put_in_place(complete, &mut report)?;
    clock.stop(&mut report);
    Ok(report)
}

/// Places a scene of meshes in single precision. If coordinates need more, they are relative to an origin that is added
/// to the object transforms.
fn placed<'a>(
    scene: Cow<'a, Scene>,
    output: &Output,
    options: &'a WriteOptions,
    report: &mut Report,
) -> Result<(Cow<'a, Scene>, Cow<'a, WriteOptions>)> {
    if scene.render.is_some() {
        return Ok((scene, Cow::Borrowed(options)));
    }
    let target = PreciseTarget { output: &name_of(output), keeps_doubles: false, has_origin: true };
    let precise = precise::place(scene, Placement::default(), options, target, &mut report.warnings)?;
    let PreciseScene { mut scene, options, origin, .. } = precise;
    if origin != [0.0; 3] {
        for object in &mut scene.to_mut().objects {
            let matrix = object.transform.get_or_insert(IDENTITY64);
            matrix.iter_mut().zip(origin).for_each(|(row, origin)| row[3] += origin);
        }
    }
    Ok((scene, options))
}

/// Expands instances and inlines meshes, if the options require that. Copies a borrowed scene before changing it.
fn changed<'a>(scene: Cow<'a, Scene>, options: &WriteOptions, report: &mut Report) -> Result<Cow<'a, Scene>> {
    let expands = options.scene.instances.expands();
    let inlines = options.pbrt.meshes == PbrtMeshes::Inline;
    if !scene
        .render
        .as_ref()
        .is_some_and(|render| expands && !render.objects.is_empty() || inlines && !render.meshes.is_empty())
    {
        return Ok(scene);
    }
    let mut scene = match scene {
        Cow::Owned(scene) => scene,
        Cow::Borrowed(scene) => match &scene.render {
            Some(render) => Scene { render: Some(Box::new(copy::render(render)?)), ..copy::scene(scene)? },
            None => return Ok(Cow::Borrowed(scene)),
        },
    };
    if let Some(render) = &mut scene.render {
        report.phase("flatten", || ops::expand(render, options.scene.instances, &options.limits))?;
        if inlines {
            let left = ops::inline_meshes(render, &scene.meshes)?;
            let words = [
                "mesh that cannot be written inline was left in its PLY file",
                "meshes that cannot be written inline were left in their PLY files",
            ];
            let message = counted(left, words);
            report.warnings.push_many("left-in-files", left, Diagnostic::new(message));
        }
    }
    Ok(Cow::Owned(scene))
}

/// Converts a scene to triangles with indexed attributes; copies it without materials if necessary.
fn prepared<'a>(scene: &'a Scene, run: &RunOptions) -> Result<Cow<'a, Scene>> {
    let is_plain = |mesh: &Mesh| {
        mesh.faces.offsets.windows(2).all(|face| face[1].wrapping_sub(face[0]) == 3)
            && [mesh.uv_domain, mesh.normal_domain] == [Domain::Indexed; 2]
    };
    if paced(&scene.meshes).all(is_plain) {
        return Ok(Cow::Borrowed(scene));
    }
    let mut scene = copy::scene(scene)?;
    for mesh in paced(&mut scene.meshes) {
        mesh.index_attributes_with(run)?;
    }
    if scene.objects.is_empty() {
        scene.objects = scene.listed_objects()?.into_owned();
    }
    scene.triangulate_with(run)?;
    Ok(Cow::Owned(scene))
}

/// Base name of the files next to a scene.
struct Names {
    path: PathBuf,
    stem: String,
    /// Extension of the codec, such as `.gz`; empty without compression.
    suffix: String,
}

/// Names the files next to the scene, if any.
struct Files(Option<Names>);

impl Files {
    fn new(output: &Output, options: &WriteOptions) -> Result<Files> {
        if !matches!(options.pbrt.meshes, PbrtMeshes::Ply { .. }) && options.pbrt.parts < 2 {
            return Ok(Files(None));
        }
        let Some(path) = file_of(output) else {
            let message = "a scene with several files cannot be written to a stream";
            return Err(
                Error::new(ErrorKind::Usage, message).with_hint("write to a file: the others are written next to it")
            );
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let plain = Codec::of_name(&name).map_or(&*name, |(_, plain)| plain);
        let suffix = name[plain.len()..].to_owned();
        let stem = Path::new(plain).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Files(Some(Names { path: path.to_path_buf(), stem, suffix })))
    }

    fn as_ref(&self) -> Option<&Names> {
        self.0.as_ref()
    }

    fn name(&self, what: &str, extension: &str) -> String {
        self.0.as_ref().map_or(String::new(), |Names { stem, suffix, .. }| format!("{stem}-{what}.{extension}{suffix}"))
    }

    /// Selects the shapes whose meshes become files, with their file names.
    fn mesh_names(
        &self,
        render: &Render,
        taken: &HashSet<String>,
        options: &WriteOptions,
    ) -> Result<Vec<(u32, String)>> {
        let PbrtMeshes::Ply { vertices } = options.pbrt.meshes else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        let mut number = 0;
        for shape in meshes::movable(render, vertices)? {
            let name = loop {
                number += 1;
                let name = self.name(&format!("mesh-{number}"), "ply");
                if !taken.contains(&name.to_lowercase()) {
                    break name;
                }
            };
            try_push(&mut names, (shape, name), "the plan")?;
        }
        Ok(names)
    }
}

/// Writes mesh files next to the scene.
struct MeshFiles<'a> {
    /// Path of the scene; the mesh files are in the same folder.
    folder: &'a Path,
    options: &'a WriteOptions,
    write_ply: WriteMesh,
}

impl MeshFiles<'_> {
    /// Writes the mesh files: many in parallel, one thread each; a few sequentially, with all threads.
    fn write_all(
        &self,
        render: &Render,
        names: &[(u32, String)],
        complete: &mut Vec<Written>,
        report: &mut Report,
    ) -> Result<()> {
        let options = self.options;
        let threads = options.run.worker_threads();
        let together = if names.len() >= threads { threads } else { 1 };
        let run = options
            .run
            .clone()
            .with_threads(Some(threads / together))
            .with_memory_limit(options.run.memory_limit / together as u64)
            .with_progress(None);
        // Reserved before the parallel loop, so that no push below can fail.
        complete.try_reserve(names.len())?;
        let mut written_files = Vec::new();
        written_files.try_reserve_exact(names.len())?;
        let written_files = Mutex::new(written_files);
        let cancel = &options.run.cancel;
        try_for_each_item(
            together,
            cancel,
            names.iter().enumerate(),
            || (),
            |(), (number, (shape, name))| {
                let path = self.folder.with_file_name(name);
                let (written, warnings) = self.write_mesh(render, *shape as usize, &path, &run)?;
                written_files.lock().unwrap_or_else(PoisonError::into_inner).push((number, written, warnings));
                Ok(())
            },
        )?;
        // Restore the order, since files finish in any order.
        let mut written_files = written_files.into_inner().unwrap_or_else(PoisonError::into_inner);
        written_files.sort_unstable_by_key(|(number, ..)| *number);
        for (_, written, warnings) in written_files {
            complete.push(written);
            report.warnings.extend(warnings);
        }
        Ok(())
    }

    fn write_mesh(&self, render: &Render, shape: usize, path: &Path, run: &RunOptions) -> Result<(Written, Warnings)> {
        let options = self.options;
        let mut warnings = Warnings::for_target("pbrt");
        let mesh = render.shape(shape).map(|shape| meshes::mesh(&shape)).transpose()?.unwrap_or_default();
        let scene = Scene { meshes: vec![mesh], ..Scene::default() };
        let objects = scene.listed_objects()?;
        let evaluated = scene.evaluated_meshes(&objects)?;
        // Ignores options for standalone meshes: these files must have the same content as the text.
        let style = SceneWriteOptions::default().with_ascii(options.scene.ascii);
        let ply_options = FormatOptions { scene: &style, own: &options.ply };
        let parts = parts::parts(&scene, &objects, &evaluated, &Placement::default())?;
        let output = path.display().to_string();
        // Losses are checked for all meshes together, because files finish in any order.
        let comments = &[][..];
        let strict = Strictness::default();
        let scene = &scene;
        let parts = &parts;
        let job = parts::PartsJob {
            scene,
            parts,
            comments,
            materials: &[],
            output: &output,
            options: ply_options,
            run,
            strict,
        };
        let compression = compression_of(&Output::Path(path.into()), options)?;
        let mut writing = Writing::new(file(path, options)?, compression, run)?;
        (self.write_ply)(&job, &mut writing, &mut warnings)?;
        let moved = moved(&writing, Some("ply"), compression, options);
        Ok((finish(writing, output, moved)?, warnings))
    }
}

fn file(path: &Path, options: &WriteOptions) -> Result<Sink<'static>> {
    let file = options.file_options().with_part(true);
    let sink = Sink::file_until(path, file, options.run.cancel.flag())
        .map_err(|e| Error::io("create", &path.display().to_string(), e))?;
    Ok(options.run.paced_sink(sink))
}

fn finish(writing: Writing<'_, '_>, name: String, moved: Moved) -> Result<Written> {
    let file = writing.finish()?.complete().map_err(|e| Error::io("write", &name, e))?;
    Ok(Written::new(name, file, moved))
}

/// Writes the main file or a part.
fn write_file(
    plan: &PbrtPlan<'_>,
    part: Option<usize>,
    output: Output,
    options: &WriteOptions,
    report: &mut Report,
) -> Result<Written> {
    let compression = compression_of(&output, options)?;
    let file = options.file_options().with_part(part.is_some());
    let (sink, name) = open(output, file, &options.run)?;
    let mut writing = Writing::new(sink, compression, &options.run)?;
    plan.write(part, options.pbrt.compact, &options.run, &mut writing)?;
    report.threads = report.threads.max(writing.threads());
    let moved = moved(&writing, Some("pbrt"), compression, options);
    finish(writing, name, moved)
}
