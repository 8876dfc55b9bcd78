//! Writes an OBJ file and the material library next to it, and chooses the names of the library and its materials.

use crate::input::Output;
use crate::mesh_job::{Looks, MeshJob};
use crate::options::WriteOptions;
use crate::outputs::{Written, compression_of, file_of, moved, name_of, open, put_in_place};
use crate::references::{Need, Relinker};
use polyhaul_bytes::place::{self, PlaceInfo};
use polyhaul_bytes::{Codec, FileOptions, Sink, Source};
use polyhaul_insight::Moved;
use polyhaul_model::error::{Diagnostic, Error, Place, Result, try_push};
use polyhaul_model::names::{self, DistinctNames};
use polyhaul_model::options::{Dialect, FormatOptions};
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{Material, Object, Scene};
use polyhaul_obj::{self as obj, mtl};
use polyhaul_pipeline::write::Writing;
use polyhaul_spill::paced;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Writes the scene and its material library.
pub(crate) fn write(job: MeshJob<'_>) -> Result<()> {
    let MeshJob { scene, looks, output, mut links, options, report, format, .. } = job;
    let originals = &looks.materials;
    let looks = &Looks { materials: distinct_names(scene, originals)?, libraries: looks.libraries.clone() };
    let defined = definitions(scene, &looks.materials)?;
    let library = Library::from_scene(scene, looks, &defined, &output, options, &mut links)?;
    let mut files = links.finish(&mut report.warnings)?;
    let compression = compression_of(&output, options)?;
    let file_options = options.file_options();
    if options.obj.materials && file_of(&output).is_none() {
        note_lost_library(looks, &output, &mut report.warnings);
    } else if options.obj.materials && options.scene.dialect == Dialect::Common {
        note_unused(looks, &defined, &output, &mut report.warnings);
    }
    let format_options = FormatOptions { scene: &options.scene, own: &options.obj };
    let output_name = name_of(&output);
    let materials = [originals, &*looks.materials];
    obj::note_left_out(scene, materials, format_options, &options.run, &output_name, &mut report.warnings)?;
    report.warnings.refuse_losses(options.strictness())?;
    let (sink, name) = open(output, file_options, &options.run)?;
    let line = library.as_ref().map(|library| library.name.as_str());
    let mut writing = Writing::new(sink, compression, &options.run)?;
    obj::write(scene, &looks.materials, line, format_options, &options.run, &mut writing)?;
    report.threads = writing.threads();
    let moved = moved(&writing, Some(format.name()), compression, options);
    let scene = writing.finish()?.complete().map_err(|e| Error::io("write", &name, e))?;
    if let Some(Library { file: Some((path, bytes)), .. }) = library {
        let library = write_library(&path, &bytes, file_options.with_part(true), options)?;
        try_push(&mut files, library, "the plan")?;
    }
    try_push(&mut files, Written::new(name, scene, moved), "the plan")?;
    put_in_place(files, report)
}

/// Warns that material definitions are dropped, because a stream has no second file for the library.
fn note_lost_library(looks: &Looks<'_>, output: &Output, warnings: &mut Warnings) {
    let count = looks.materials.iter().filter(|material| !material.missing).count() as u64;
    let materials = counted(count, ["material", "materials"]);
    let message =
        format!("dropped {materials}: a material library cannot be written next to standard output or another stream");
    let hint = Some("write to a file: the material library is written next to it".to_owned());
    let place = Place { file: name_of(output).into(), ..Place::default() };
    warnings.push_many("left-out-materials", count, Diagnostic { place, hint, ..Diagnostic::new(message) });
}

/// Warns about unused definitions, which are dropped as in Blender.
fn note_unused(looks: &Looks<'_>, defined: &[Cow<'_, Material>], output: &Output, warnings: &mut Warnings) {
    let defined: HashSet<&str> = defined.iter().map(|material| &*material.name).collect();
    let is_unused = |material: &&Material| !material.missing && !defined.contains(&*names::joined(&material.name));
    let unused: Vec<&str> = looks.materials.iter().filter(is_unused).map(|material| &*material.name).collect();
    let count = unused.len() as u64;
    let words = ["unused material was dropped", "unused materials were dropped"];
    let message = format!("{}: {}", counted(count, words), names::listed_of(&unused, count));
    let place = Place { file: name_of(output).into(), ..Place::default() };
    warnings.push_many("left-out-materials", count, Diagnostic { place, ..Diagnostic::new(message) });
}

/// Writes a library, to be renamed into place together with the scene.
fn write_library(path: &Path, bytes: &[u8], file: FileOptions, options: &WriteOptions) -> Result<Written> {
    let name = path.display().to_string();
    let failed = |e| Error::io("write", &name, e);
    let file = Sink::file_until(path, file, options.run.cancel.flag()).map_err(failed)?;
    let mut sink = options.run.paced_sink(file);
    sink.write_all(bytes).map_err(failed)?;
    let complete = sink.complete().map_err(failed)?;
    let moved = Moved::new("mtl", 0).durable(options.durable);
    Ok(Written::new(name, complete, moved))
}

/// The material library of a scene to write.
struct Library {
    /// The name in the `mtllib` line.
    name: String,
    /// Its path and content, or `None` if there is nothing to write, or no folder to write to.
    file: Option<(PathBuf, Vec<u8>)>,
}

impl Library {
    /// Keeps the library name from the scene's file if it is a plain file name and would not overwrite another file;
    /// otherwise derives it from the output's name.
    fn from_scene(
        scene: &Scene,
        looks: &Looks<'_>,
        defined: &[Cow<'_, Material>],
        output: &Output,
        options: &WriteOptions,
        links: &mut Relinker<'_>,
    ) -> Result<Option<Library>> {
        let names: &[String] = &looks.libraries;
        // Blender writes a library even if no material is defined.
        let is_blender = options.scene.dialect == Dialect::Blender;
        let has_slots = is_blender && paced(&scene.objects).any(|object| object.materials.is_some());
        if !options.obj.materials || names.is_empty() && defined.is_empty() && !has_slots {
            return Ok(None);
        }
        let Some(path) = file_of(output) else {
            return Ok((!names.is_empty()).then(|| Library { name: listed(names), file: None }));
        };
        let default_path = library_beside(path);
        let named_path = match names {
            [name] if is_plain(name) => Some(path.with_file_name(name)),
            _ => None,
        };
        for place in named_path.iter().chain([&default_path]) {
            links.reserve(&place.file_name().unwrap_or_default().to_string_lossy());
        }
        // A library that could not be read is still referred to, rather than replaced by an empty library.
        let missing = looks.materials.iter().any(|material| material.missing && !material.name.is_empty());
        let file_name = |place: &Path| place.file_name().map(|name| name.to_string_lossy().into_owned());
        if defined.is_empty() && missing {
            let mut linked = Vec::new();
            for name in names {
                let new = links.relink(&scene.folder, "", name, Need::Library)?;
                try_push(&mut linked, new.unwrap_or_else(|| name.clone()), "names")?;
            }
            let name = if names.is_empty() { file_name(&default_path).unwrap_or_default() } else { listed(&linked) };
            return Ok(Some(Library { name, file: None }));
        }
        let mut linked = Vec::new();
        for material in defined {
            try_push(&mut linked, links.material(material, &scene.folder)?, "the material library")?;
        }
        let format_options = FormatOptions { scene: &options.scene, own: &options.obj };
        let bytes = mtl::write(linked.iter().map(Cow::as_ref), format_options)?;
        let place = named_path
            .filter(|place| place != path && (*place == default_path || is_free(place, &bytes)))
            .unwrap_or(default_path);
        let name = file_name(&place).unwrap_or_default();
        Ok(Some(Library { name, file: Some((place, bytes)) }))
    }
}

/// Makes material names unique as written: spaces may become `_`, and unnamed materials get a name.
fn distinct_names<'a>(scene: &Scene, materials: &'a [Material]) -> Result<Cow<'a, [Material]>> {
    let has_evaluated = scene.evaluated_meshes(&scene.objects)?.contains(&true);
    let written = |name: &str| if has_evaluated { names::joined(name) } else { names::written(name) }.into_owned();
    let mut taken = DistinctNames::default();
    let mut first_of: HashMap<String, usize> = HashMap::new();
    let mut renamed: Vec<(usize, String)> = Vec::new();
    for (number, material) in materials.iter().enumerate() {
        let Material { name, missing, .. } = material;
        if name.is_empty() && *missing {
            continue;
        }
        let own_name = if name.is_empty() { "material".to_owned() } else { written(name) };
        if first_of.get(&own_name).is_some_and(|&first| materials[first] == *material) {
            continue;
        }
        let new_name = taken.distinct(&own_name)?;
        if new_name != own_name || name.is_empty() {
            try_push(&mut renamed, (number, new_name), "names")?;
        }
        first_of.try_reserve(1).map_err(|_| Error::memory("names"))?;
        first_of.entry(own_name).or_insert(number);
    }
    if renamed.is_empty() {
        return Ok(Cow::Borrowed(materials));
    }
    let mut distinct = try_clone(materials)?;
    for (number, name) in renamed {
        distinct[number].name = name;
    }
    Ok(Cow::Owned(distinct))
}

/// Copies materials.
fn try_clone(materials: &[Material]) -> Result<Vec<Material>> {
    let mut copies = Vec::new();
    copies.try_reserve_exact(materials.len())?;
    copies.extend(materials.iter().cloned());
    Ok(copies)
}

/// Formats names for an `mtllib` line. Empty names would leave spaces that readers drop (found by fuzzing).
fn listed(names: &[String]) -> String {
    names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Materials to define in the library, sorted by name as in Blender: the materials in slots of evaluated objects, under
/// the names that these objects use, and all other materials if any object is not evaluated.
fn definitions<'a>(scene: &Scene, materials: &'a [Material]) -> Result<Vec<Cow<'a, Material>>> {
    let flags = scene.evaluated_meshes(&scene.objects)?;
    let as_read = scene.objects.is_empty() || !paced(&scene.objects).all(|object| flags[object.mesh]);
    let mut in_slots = Vec::new();
    in_slots.try_reserve_exact(materials.len())?;
    in_slots.resize(materials.len(), false);
    for object in paced(&scene.objects).filter(|object| flags[object.mesh]) {
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

/// Marks the materials of an evaluated object: all its slots, used by a face or not, as in Blender; without slots, the
/// materials of its faces.
fn mark_used(scene: &Scene, object: &Object, used: &mut [bool]) {
    let Some(mesh) = scene.meshes.get(object.mesh) else { return };
    let mut mark = |place: Option<usize>| {
        if let Some(used) = place.and_then(|place| used.get_mut(place)) {
            *used = true;
        }
    };
    match &object.materials {
        Some(slots) => slots.iter().for_each(|&slot| mark(slot)),
        None => mesh.material_runs.iter().for_each(|run| mark(Some(run.value as usize))),
    }
}

/// Path of a file's library: the same name with the extension `.mtl`, without the extension of a codec.
fn library_beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if Codec::of_name(&name).is_some() && path.extension().is_some() {
        return library_beside(&path.with_extension(""));
    }
    let path_of_mtl = path.with_extension("mtl");
    if path_of_mtl != path {
        return path_of_mtl;
    }
    let mut name = path_of_mtl.into_os_string();
    name.push(".mtl");
    name.into()
}

/// Whether a name is a plain file name of a material library. The name comes from a file, so it must not be able to
/// overwrite anything else, such as a program's settings.
fn is_plain(name: &str) -> bool {
    let is_library = name.to_ascii_lowercase().ends_with(".mtl");
    let is_findable = name.len() <= 255 && name.trim() == name;
    is_library
        && is_findable
        && !name.starts_with('.')
        && !name.contains(|c: char| matches!(c, '/' | '\\' | ':') || c.is_control())
}

/// Whether `path` may be written: there is no file with this name, or it has the same bytes.
fn is_free(path: &Path, bytes: &[u8]) -> bool {
    if place::is_url(path) {
        let is_same = |info: PlaceInfo| info.bytes == Some(bytes.len() as u64) && holds(path, bytes).unwrap_or(false);
        return place::find(path).map_or(true, is_same);
    }
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => {
            metadata.is_file() && metadata.len() == bytes.len() as u64 && holds(path, bytes).unwrap_or(false)
        }
        Err(_) => true,
    }
}

/// Whether the file has these bytes. Uses a small buffer, since a larger allocation might fail.
fn holds(path: &Path, mut bytes: &[u8]) -> std::io::Result<bool> {
    let source = Source::open_regular(path)?;
    let mut block = [0; 512];
    loop {
        let count = source.read_next(&mut block)?;
        match bytes.split_at_checked(count) {
            Some(([], rest)) => return Ok(rest.is_empty()),
            Some((same, rest)) if same == &block[..count] => bytes = rest,
            _ => return Ok(false),
        }
    }
}
