//! Warns about differences between the scene and the file. Nothing is converted here: [`crate::plan`] does that.

use crate::color::is_in_range;
use crate::geometry::is_direction;
use crate::job::GltfJob;
use crate::looks;
use crate::plan::{Changes, GltfPlan, columns_left_out, copyright, has_normals};
use crate::serial::collected;
use crate::splats::{MAX_DEGREE, SplatPlaces};
use polyhaul_geometry::losses::{LeftOut, note_changed, note_dropped, note_left_out};
use polyhaul_geometry::parts::{THIRD_COORDINATES, tables, unused_vertices};
use polyhaul_geometry::splats::note_harmonics;
use polyhaul_model::error::{Diagnostic, Place, Result};
use polyhaul_model::severity::Severity;
use polyhaul_model::splats::LINEAR_COLORS;
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{Column, Material, Mesh, NONE, Scalar};
use polyhaul_spill::paced;
use std::collections::HashSet;

const SPLATS_CHANGED: [&str; 2] = [
    "Gaussian splat was converted: logit to opacity (within 6e-8), log scales to scales, rotation normalized",
    "Gaussian splats were converted: logits to opacities (within 6e-8), log scales to scales, rotations normalized",
];

const SMOOTHING: [&str; 2] = ["smoothing setting", "smoothing settings"];

const BARE_UVS: [&str; 2] = ["UV of lines and points", "UVs of lines and points"];

const MIXED_MATERIALS: [&str; 2] = ["material of a line or point", "materials of lines and points"];

const BARE_NORMALS: [&str; 2] = ["normal of lines and points", "normals of lines and points"];

const SPLAT_COLORS: [&str; 2] = ["vertex color of a splat", "vertex colors of splats"];

const INSTANCE_NAMES: [&str; 2] = ["name of an instance", "names of individual instances"];

const ODD_COLUMNS: [&str; 2] =
    ["column of faces, of lists or with a duplicate name", "columns of faces, of lists or with duplicate names"];

const PROPERTIES: [&str; 2] = ["property of a material", "properties of materials"];

/// Message for objects that most programs ignore, because they have no faces, lines or points.
const BARE_NODES: [&str; 2] = [
    "object without faces, lines or points was written as a node without a mesh, which most programs ignore",
    "objects without faces, lines or points were written as nodes without meshes, which most programs ignore",
];

/// Warns about everything that the file will not contain, or will contain in changed form.
pub(crate) fn note(job: &GltfJob<'_>, plan: &GltfPlan<'_>, warnings: &mut Warnings) -> Result<()> {
    let meshes = meshes_of(job)?;
    let each_mesh = || paced(&meshes).copied();
    let sum = |count: &dyn Fn(&Mesh) -> usize| each_mesh().map(|mesh| count(mesh) as u64).sum::<u64>();
    let places = collected(each_mesh().map(|mesh| SplatPlaces::of(mesh, job.harmonics_degree.into())))?;
    let splats = || each_mesh().zip(&places).filter_map(|(mesh, splats)| Some((mesh, splats.as_ref()?)));
    let of_splats = |count: &dyn Fn(&Mesh, &SplatPlaces) -> usize| {
        splats().map(|(mesh, splats)| count(mesh, splats) as u64).sum::<u64>()
    };
    let columns = each_mesh().zip(&places).flat_map(|(mesh, splats)| columns_left_out(mesh, splats.as_ref()));
    let has_splats = splats().next().is_some();
    let linear = job.scene.infos.iter().filter(|info| has_splats && *info == LINEAR_COLORS).count();
    let mut loose = 0;
    for mesh in each_mesh() {
        loose += loose_positions(mesh, job.run.worker_threads())?;
    }
    let comments = job.scene.comments.len() - usize::from(copyright(job.scene).is_some());
    let [properties, maps] = looks::left_out(job.materials, job.images);
    let others = [
        ("left-out-vertices", ["unused vertex", "unused vertices"], loose),
        ("left-out-smoothing", SMOOTHING, sum(&|mesh| mesh.smoothing_runs.len().max(mesh.face_smooth.len()))),
        ("left-out-sharp-edges", ["sharp edge", "sharp edges"], sum(&|mesh| mesh.sharp_edges.len())),
        ("left-out-curves", ["free-form curve", "free-form curves"], sum(&|mesh| mesh.curves.len())),
        ("left-out-weights", ["position weight", "position weights"], sum(&|mesh| mesh.position_weights.len())),
        ("left-out-uv-depths", THIRD_COORDINATES, sum(&|mesh| mesh.uv_depths.len())),
        ("left-out-normals", BARE_NORMALS, bare_normals(plan)),
        ("left-out-colors", SPLAT_COLORS, of_splats(&|mesh, _| mesh.colors.len())),
        ("left-out-remarks", ["comment", "comments"], (job.scene.infos.len() - linear + comments) as u64),
    ];
    let harmonics = of_splats(&|_, splats| splats.left_out_columns());
    note_harmonics(MAX_DEGREE.min(job.harmonics_degree.into()), harmonics, job.output, warnings);
    let groups = each_mesh().flat_map(|mesh| mesh.groups.iter().map(String::as_str));
    let vertex_groups = each_mesh().flat_map(|mesh| mesh.vertex_groups.iter().map(|group| group.name.as_str()));
    let named = [
        LeftOut { code: "left-out-names", nouns: INSTANCE_NAMES, ..plan.changes.names.clone() },
        LeftOut::named("left-out-columns", ODD_COLUMNS, columns),
        LeftOut::named("left-out-material-properties", PROPERTIES, properties.iter().map(String::as_str)),
        LeftOut::named("left-out-textures", ["texture map", "texture maps"], maps.iter().map(String::as_str)),
        LeftOut::named("left-out-groups", ["face group", "face groups"], groups),
        LeftOut::named("left-out-vertex-groups", ["vertex group", "vertex groups"], vertex_groups),
        tables(job.scene),
    ];
    note_bare(plan, job.output, warnings);
    // glTF could store these.
    let kinds = [("left-out-uvs", BARE_UVS, sum(&bare_uvs))];
    note_dropped(", because polyhaul writes none for lines and points", kinds, job.output, warnings);
    let kinds = [("left-out-materials", MIXED_MATERIALS, mixed_materials(plan))];
    note_dropped(", because polyhaul writes one material for those of an object", kinds, job.output, warnings);
    note_left_out("glTF", others.map(LeftOut::from).into_iter().chain(named), job.output, warnings);
    let odd_colors = |mesh: &Mesh| mesh.colors.iter().filter(|color| !is_in_range(color)).count();
    // Colors of splats are dropped, and counted above.
    let colors = sum(&odd_colors) - of_splats(&|mesh, _| odd_colors(mesh));
    let rounded = sum(&|mesh| mesh.vertex_columns.iter().filter(|column| is_rounded(column)).count());
    let is_other = |material: &&Material| material.alpha_blended.is_none() && material.alpha_cutoff.is_none();
    let materials = job.materials.iter().filter(is_other).count() as u64;
    let names = odd_names(job.materials)?;
    let changed = [sum(&scaled_normals), colors, materials, names, of_splats(&|mesh, _| mesh.positions.len()), rounded];
    note_converted(changed, job.output, warnings);
    note_changes(job, &plan.changes, warnings);
    Ok(())
}

/// Warns about objects without elements, which are written as nodes without meshes.
fn note_bare(plan: &GltfPlan<'_>, output: &str, warnings: &mut Warnings) {
    // A root node for the origin has no mesh either, but has children.
    let bare = paced(&plan.document.nodes).filter(|node| node.mesh.is_none() && node.children.is_empty());
    let bare = bare.map(|node| node.name.as_deref().unwrap_or_default());
    let objects = LeftOut::named("left-out-objects", BARE_NODES, bare);
    let message = counted(objects.count, objects.nouns) + &objects.listed();
    objects.note(message, output, warnings);
}

/// Returns the meshes of all objects, each of them once, even if several objects share it.
fn meshes_of<'a>(job: &GltfJob<'a>) -> Result<Vec<&'a Mesh>> {
    let mut seen = HashSet::new();
    seen.try_reserve(job.scene.meshes.len())?;
    let mut meshes = Vec::new();
    meshes.try_reserve_exact(job.scene.meshes.len())?;
    meshes.extend(paced(job.parts).filter(|part| seen.insert(part.object.mesh)).map(|part| part.mesh));
    Ok(meshes)
}

/// Warns about converted values, by count: normals, colors, materials, names, splats and columns.
fn note_converted(counts: [u64; 6], output: &str, warnings: &mut Warnings) {
    let [normals, colors, materials, names, splats, columns] = counts;
    let kinds = [
        ("changed-normals", ["normal was scaled to unit length", "normals were scaled to unit length"], normals),
        (
            "changed-colors",
            [
                "vertex color was missing or outside 0 to 1: set to white or clamped",
                "vertex colors were missing or outside 0 to 1: set to white or clamped",
            ],
            colors,
        ),
        (
            "changed-materials",
            [
                "material was converted to a metallic-roughness material",
                "materials were converted to metallic-roughness materials",
            ],
            materials,
        ),
        (
            "changed-names",
            [
                "material name is empty or duplicated: other programs may rename the material",
                "material names are empty or duplicated: other programs may rename the materials",
            ],
            names,
        ),
        ("changed-numbers", SPLATS_CHANGED, splats),
        (
            "changed-columns",
            [
                "vertex column was rounded to 32-bit floats, the widest type in glTF",
                "vertex columns were rounded to 32-bit floats, the widest type in glTF",
            ],
            columns,
        ),
    ];
    note_changed(kinds.map(|(code, words, count)| (code, words, count, None)), output, warnings);
}

/// Largest relative change of a transform that is a note: a few units in the last place of 32-bit floats, which
/// decomposing nearly any rotation costs.
const ROUNDED_TRANSFORM: f64 = 1e-6;

/// Warns about decomposed transforms.
fn note_transforms(job: &GltfJob<'_>, changes: &Changes, warnings: &mut Warnings) {
    let what = ["instance transform was decomposed", "instance transforms were decomposed"];
    let message = format!(
        "{} into translation, rotation and scale: rounding changed entries by at most {:.1e} of the length of their \
         axis",
        counted(changes.transforms, what),
        changes.transform_error
    );
    let severity = if changes.transform_error > ROUNDED_TRANSFORM { Severity::Loss } else { Severity::Note };
    let place = Place { file: job.output.into(), ..Place::default() };
    let diagnostic = Diagnostic { place, ..Diagnostic::new(message) };
    warnings.push_many_as("changed-transforms", severity, changes.transforms, diagnostic);
}

/// Warns about values changed by the plan.
fn note_changes(job: &GltfJob<'_>, changes: &Changes, warnings: &mut Warnings) {
    note_transforms(job, changes, warnings);
    let positions = format!("positions were quantized: coordinates changed by at most {:.1e}", changes.position_error);
    let kinds = [
        (
            "changed-normals",
            [
                "zero or non-finite normal was replaced by a normal computed from the faces",
                "zero or non-finite normals were replaced by normals computed from the faces",
            ],
            changes.repaired_normals,
        ),
        ("changed-positions", [&*positions; 2], changes.positions),
        (
            "changed-normals",
            [
                "normal was quantized: it turned by at most 0.4 degrees",
                "normals were quantized: they turned by at most 0.4 degrees",
            ],
            changes.normals,
        ),
        (
            "changed-uvs",
            ["UV was quantized: it changed by at most 8e-6", "UVs were quantized: they changed by at most 8e-6"],
            changes.uvs,
        ),
        (
            "changed-colors",
            [
                "vertex color was quantized: linear values changed by at most 8e-6",
                "vertex colors were quantized: linear values changed by at most 8e-6",
            ],
            changes.colors,
        ),
    ];
    note_changed(kinds.map(|(code, words, count)| (code, words, count, None)), job.output, warnings);
}

/// Counts normals that have a direction but whose length differs from 1 by more than rounding to four digits explains.
fn scaled_normals(mesh: &Mesh) -> usize {
    let square = |normal: &[f32; 3]| normal.iter().map(|part| part * part).sum::<f32>();
    let is_scaled = |normal: &&[f32; 3]| is_direction(**normal) && (square(normal) - 1.0).abs() > 1e-3;
    mesh.normals.iter().filter(is_scaled).count()
}

/// Counts materials that have no name or the name of an earlier material.
fn odd_names(materials: &[Material]) -> Result<u64> {
    // The empty name counts as taken, so that nameless materials are counted as well.
    let mut seen = HashSet::from([""]);
    seen.try_reserve(materials.len())?;
    Ok(materials.iter().filter(|material| !seen.insert(&material.name)).count() as u64)
}

/// Counts UVs that are not written, because only triangles have UVs.
fn bare_uvs(mesh: &Mesh) -> usize {
    let of_lines = || mesh.lines.corner_uvs.iter().filter(|uv| **uv != NONE).count();
    if mesh.faces.is_empty() { mesh.uvs.len() } else { of_lines() }
}

/// Counts normals of meshes without faces that are not written with points.
fn bare_normals(plan: &GltfPlan<'_>) -> u64 {
    let is_lost = |geometry: &crate::geometry::GltfGeometry<'_>| {
        let blocks = geometry.sections.iter().filter_map(|section| section.points.as_ref());
        geometry.mesh.faces.is_empty() && !blocks.into_iter().all(|block| has_normals(geometry, block))
    };
    // Programs that train splats write zero normals.
    let count = |geometry: &crate::geometry::GltfGeometry<'_>| match geometry.splats {
        Some(_) => geometry.mesh.normals.iter().filter(|normal| **normal != [0.0; 3]).count(),
        None => geometry.mesh.normals.len(),
    };
    paced(&plan.data.geometries).filter(|geometry| is_lost(geometry)).map(|geometry| count(geometry) as u64).sum()
}

/// Counts lines and points whose material is left out.
fn mixed_materials(plan: &GltfPlan<'_>) -> u64 {
    let sections = paced(&plan.data.geometries).filter(|geometry| !geometry.has_slots);
    sections.flat_map(|geometry| &geometry.sections).map(|section| section.others.left_out as u64).sum()
}

/// Returns whether a column has values that 32-bit floats cannot represent.
fn is_rounded(column: &Column) -> bool {
    use polyhaul_model::Values::{F64, I32, I64, U32, U64};
    let exact = |value: f64| f64::from(value as f32) == value;
    match &column.values {
        _ if column.offsets.is_some() => false,
        F64(values) => !values.iter().all(|&value| exact(value)),
        I32(values) => !values.iter().all(|&value| exact(f64::from(value))),
        U32(values) => !values.iter().all(|&value| exact(f64::from(value))),
        // The conversion to `f64` may round, so the value must also be equal when converted back. That conversion is to
        // 128 bits, because one to 64 bits would return the maximum, which was rounded up, unchanged.
        I64(values) => !values.iter().all(|&value| exact(value as f64) && (value as f64) as i128 == i128::from(value)),
        U64(values) => !values.iter().all(|&value| exact(value as f64) && (value as f64) as i128 == i128::from(value)),
        other => matches!(other.scalar(), Scalar::I64 | Scalar::U64),
    }
}

/// Counts positions that no face, line or point uses; 0 for meshes without elements.
fn loose_positions(mesh: &Mesh, threads: usize) -> Result<u64> {
    if mesh.faces.is_empty() && mesh.lines.is_empty() && mesh.points.is_empty() && mesh.curves.is_empty() {
        return Ok(0);
    }
    let lists: [&[u32]; 3] = [&mesh.faces.corner_positions, &mesh.lines.corner_positions, &mesh.points];
    unused_vertices(mesh, &lists, threads)
}
