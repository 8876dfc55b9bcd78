//! Writes glTF: a single `.glb` file, or a `.gltf` file and its buffer next to it.

use super::embed::Embedder;
use crate::containers::is_inner_name;
use crate::format::Format;
use crate::input::Output;
use crate::mesh_job::MeshJob;
use crate::options::WriteOptions;
use crate::outputs::{Written, compression_of, file_of, moved, name_of, open, put_in_place, write_with};
use polyhaul_bytes::{Codec, Sink};
use polyhaul_geometry::parts::parts;
use polyhaul_gltf::{GltfFile, GltfImages, GltfJob};
use polyhaul_insight::Moved;
use polyhaul_model::error::{Error, ErrorKind, Result, try_copy, try_push};
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::write::Writing;
use std::path::{Path, PathBuf};

/// Writes the scene. Embedded images are converted to `png` if glTF does not support their format.
pub(crate) fn write(job: MeshJob<'_>, png: Format) -> Result<()> {
    let MeshJob { scene, looks, placement, origin, output, mut links, options, convert_image, report, .. } = job;
    let buffer = buffer_beside(&output, options)?;
    if let Some(name) = buffer.as_deref().and_then(Path::file_name) {
        links.reserve(&name.to_string_lossy());
    }
    let mut materials = try_copy(&looks.materials, "materials")?;
    let embeds = buffer.is_none() && options.gltf.embed_images;
    let images = if embeds {
        let to_png =
            |file: Vec<u8>, name: &str, warnings: &mut Warnings| convert_image(file, name, png, &options.run, warnings);
        let warnings = &mut report.warnings;
        Embedder { links: &mut links, options, to_png: &to_png, warnings }.embed(&mut materials, &scene.folder)?
    } else {
        GltfImages::default()
    };
    // Do not extract images that glTF cannot refer to.
    for material in &mut materials {
        let is_lost: Vec<_> = material
            .maps
            .iter()
            .map(|map| !polyhaul_gltf::shows(material, map.kind) && is_inner_name(&map.file))
            .collect();
        material.maps.iter_mut().zip(is_lost).filter(|(_, is_lost)| *is_lost).for_each(|(map, _)| map.file.clear());
    }
    let materials = links.materials(&materials, &scene.folder)?;
    let copies = links.finish(&mut report.warnings)?;
    let objects = scene.listed_objects()?;
    let evaluated = scene.evaluated_meshes(&objects)?;
    let parts = parts(scene, &objects, &evaluated, placement)?;
    let name = name_of(&output).into_owned();
    let job = GltfJob {
        scene,
        parts: &parts,
        evaluated: &evaluated,
        materials: &materials,
        images: &images,
        origin,
        output: &name,
        options: &options.gltf,
        instances: options.scene.instances,
        harmonics_degree: options.splats.sh_degree,
        run: &options.run,
        strict: options.strictness(),
    };
    let mut file = GltfFile::new(&job, &mut report.warnings)?;
    let Some(buffer) = buffer else {
        return write_with(copies, output, Some("glb"), options, report, |writing, _, _| file.write_glb(writing));
    };
    let mut files = copies;
    let uri = buffer.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let json = file.json(Some(&uri))?;
    if file.binary_bytes() > 0 {
        let (sink, name) = open(Output::Path(buffer), options.file_options().with_part(true), &options.run)?;
        let mut writing = Writing::new(sink, None, &options.run)?;
        file.write_binary(&mut writing)?;
        report.threads = writing.threads();
        let moved = moved(&writing, Some("glb"), None, options);
        let complete = writing.finish()?.complete().map_err(|error| Error::io("write", &name, error))?;
        try_push(&mut files, Written::new(name, complete, moved), "the plan")?;
    }
    try_push(&mut files, write_json(output, &name, &json, options)?, "the plan")?;
    put_in_place(files, report)
}

/// Writes the JSON, to be renamed into place after the buffer.
fn write_json(output: Output, name: &str, json: &[u8], options: &WriteOptions) -> Result<Written> {
    let (mut sink, _): (Sink<'_>, _) = open(output, options.file_options(), &options.run)?;
    let failed = |error| Error::io("write", name, error);
    sink.write_all(json).map_err(failed)?;
    let complete = sink.complete().map_err(failed)?;
    let mut moved = Moved::default().durable(options.durable);
    moved.format = Some("glb");
    moved.plain_bytes = json.len() as u64;
    Ok(Written::new(name.to_owned(), complete, moved))
}

/// Path of the buffer, if the output is a `.gltf` file.
///
/// # Errors
/// [`ErrorKind::Usage`] if the output would be compressed, since readers cannot find the buffer of such a file.
fn buffer_beside(output: &Output, options: &WriteOptions) -> Result<Option<PathBuf>> {
    let Some(path) = file_of(output) else { return Ok(None) };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let plain = Codec::of_name(&name).map_or(&*name, |(_, plain)| plain);
    let is_gltf = Path::new(plain).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gltf"));
    if !is_gltf {
        return Ok(None);
    }
    if plain.len() < name.len() || compression_of(output, options)?.is_some() {
        let error = Error::new(ErrorKind::Usage, ".gltf files cannot be compressed: readers cannot find their buffer");
        return Err(error.with_hint("write a .glb file, which can be compressed"));
    }
    Ok(Some(path.with_extension("bin")))
}
