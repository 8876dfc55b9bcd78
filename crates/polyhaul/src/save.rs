//! Writing a scene: the file, the material library beside it, and what their names are.

use crate::error::{Error, ErrorKind, Result};
use crate::formats::{Format, mtl, obj};
use crate::model::{Material, Scene};
use crate::ops;
use crate::options::{Axis, ObjOptions, WriteOptions};
use crate::report::{Phase, Report};
use crate::Output;
use polyhaul_bytes::{FileOptions, Sink};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Writes a scene.
pub(crate) fn save(scene: Cow<'_, Scene>, output: Output, options: &WriteOptions) -> Result<Report> {
    let mut report = Report::default();
    let format = format_of(&output, options)?;
    let scene = match changes_model(&options.obj) {
        true => report.phase("prepare", || prepare(scene, options))?,
        false => scene,
    };
    let start = Instant::now();
    match format {
        Format::Obj => write_obj(&scene, output, options, &mut report)?,
    }
    report.phases.push(Phase { name: "write", elapsed: start.elapsed() });
    Ok(report)
}

fn format_of(output: &Output, options: &WriteOptions) -> Result<Format> {
    match (options.format, output) {
        (Some(format), _) => Ok(format),
        (None, Output::Path(path)) => Format::of_path(path).ok_or_else(|| {
            let message = format!("{}: this name says no format that polyhaul writes", path.display());
            Error::new(ErrorKind::Usage, message).with_hint("give it the extension .obj, or say the format with --to obj")
        }),
        (None, _) => Ok(Format::Obj),
    }
}

/// The axes of an OBJ file where nobody says otherwise: forward, up.
const OBJ_AXES: (Axis, Axis) = (Axis::NegativeZ, Axis::Y);

/// Whether the options ask for another model than the caller's.
fn changes_model(obj: &ObjOptions) -> bool {
    (obj.forward_axis, obj.up_axis) != OBJ_AXES || obj.global_scale != 1.0 || obj.export_triangulated_mesh
}

/// Applies what changes the model before it is written, to a copy where the caller keeps the scene.
fn prepare<'a>(mut scene: Cow<'a, Scene>, options: &WriteOptions) -> Result<Cow<'a, Scene>> {
    let obj = &options.obj;
    let axes = (obj.forward_axis, obj.up_axis);
    ops::transform_axes(scene.to_mut(), OBJ_AXES, axes, obj.global_scale, &options.run)?;
    if obj.export_triangulated_mesh {
        ops::triangulate_scene(scene.to_mut(), &options.run)?;
    }
    Ok(scene)
}

fn write_obj(scene: &Scene, output: Output, options: &WriteOptions, report: &mut Report) -> Result<()> {
    let library = Library::of(scene, &output, options);
    let file_options = FileOptions::default().with_durable(options.durable);
    let (mut sink, name) = match output {
        Output::Path(path) => {
            let name = path.display().to_string();
            (Sink::file(&path, file_options).map_err(|e| Error::io("creating", &name, e))?, name)
        }
        Output::Stdout => (Sink::stdout().map_err(|e| Error::io("opening", "standard output", e))?, "standard output".into()),
        Output::Writer(writer, name) => (Sink::writer(writer, name.clone()), name),
    };
    let failed = |e| Error::io("writing", &name, e);
    let line = library.as_ref().map(|library| library.name.as_str());
    let mut write = |bytes: &[u8]| sink.write_all(bytes).map_err(failed);
    report.threads = obj::write(scene, line, &options.obj, &options.run, &mut write)?;
    // Both files are complete before either takes its place.
    let beside = match library {
        Some(Library { file: Some((path, bytes)), .. }) => Some(write_library(&path, &bytes, file_options)?),
        _ => None,
    };
    if let Some((sink, path)) = beside {
        report.bytes_out += sink.finish().map_err(|e| Error::io("writing", &path, e))?.counters.bytes;
    }
    report.bytes_out += sink.finish().map_err(failed)?.counters.bytes;
    Ok(())
}

fn write_library(path: &Path, bytes: &[u8], options: FileOptions) -> Result<(Sink<'static>, String)> {
    let name = path.display().to_string();
    let failed = |e| Error::io("writing", &name, e);
    let mut sink = Sink::file(path, options).map_err(failed)?;
    sink.write_all(bytes).map_err(failed)?;
    Ok((sink, name))
}

/// The material library of a scene that is written.
struct Library {
    /// What the `mtllib` line says.
    name: String,
    /// Where it goes and what is in it; `None` where there is nothing to write or no folder.
    file: Option<(PathBuf, Vec<u8>)>,
}

impl Library {
    /// The library keeps the name that the scene's file gave it, if it is one plain name and no
    /// other file would be overwritten; otherwise it takes the name of the file that is written.
    fn of(scene: &Scene, output: &Output, options: &WriteOptions) -> Option<Library> {
        let mut defined: Vec<&Material> = scene.materials.iter().filter(|material| !material.missing).collect();
        // Blender writes materials in the order of their names.
        defined.sort_by(|a, b| a.name.cmp(&b.name));
        let names = &scene.material_libraries;
        if !options.obj.export_materials || names.is_empty() && defined.is_empty() {
            return None;
        }
        let Output::Path(path) = output else {
            return (!names.is_empty()).then(|| Library { name: names.join(" "), file: None });
        };
        if defined.is_empty() && !names.iter().all(|name| is_plain(name)) {
            return Some(Library { name: names.join(" "), file: None });
        }
        let own = path.with_extension("mtl");
        let own_name = own.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let bytes = mtl::write(defined.iter().copied(), &options.obj);
        let kept = match names.as_slice() {
            [name] if is_plain(name) => {
                let place = path.with_file_name(name);
                let free = *name == own_name || !place.exists() || std::fs::read(&place).is_ok_and(|old| old == bytes);
                free.then(|| (name.clone(), place))
            }
            _ => None,
        };
        let (name, place) = kept.unwrap_or((own_name, own));
        // A library that could not be read is named, but not replaced by an empty one.
        let nothing = defined.is_empty() && scene.materials.iter().any(|material| material.missing && !material.name.is_empty());
        Some(Library { name, file: (!nothing).then_some((place, bytes)) })
    }
}

/// A file name without a folder.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\', ':']) && name != "." && name != ".."
}
