//! What glTF cannot store of a scene, counted.

use crate::looks;
use crate::plan::{GltfPlan, column_attribute, has_normals};
use crate::writer::GltfJob;
use polyhaul_mesh::parts::{homes, note_left_out};
use polyhaul_model::error::{Diagnostic, Place, Result};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Column, Mesh, Scalar};
use polyhaul_pipeline::arrays::zeroed;

/// Warns about everything that the file will lack.
pub(crate) fn note(job: &GltfJob<'_>, plan: &GltfPlan<'_>, warnings: &mut Warnings) -> Result<()> {
    let sum = |count: &dyn Fn(&Mesh) -> usize| homes(job.parts).map(|part| count(part.mesh) as u64).sum::<u64>();
    let mut loose = 0;
    for part in homes(job.parts) {
        loose += loose_positions(part.mesh)?;
    }
    let [properties, maps] = looks::left_out(job.materials, job.images);
    let lists = |mesh: &Mesh| mesh.vertex_columns.iter().filter(|column| column_attribute(column).is_none()).count();
    let others = [
        ("left-out-vertices", "vertices not used by an element", loose),
        ("left-out-material-properties", "properties of materials", properties),
        ("left-out-textures", "texture maps", maps),
        ("left-out-groups", "face groups", sum(&|mesh| mesh.groups.len())),
        ("left-out-smoothing", "smoothing", sum(&|mesh| mesh.smoothing_runs.len().max(mesh.face_smooth.len()))),
        ("left-out-sharp-edges", "sharp edges", sum(&|mesh| mesh.sharp_edges.len())),
        ("left-out-vertex-groups", "vertex groups", sum(&|mesh| mesh.vertex_groups.len())),
        ("left-out-curves", "free-form curves", sum(&|mesh| mesh.curves.len())),
        ("left-out-weights", "position weights", sum(&|mesh| mesh.position_weights.len())),
        ("left-out-uv-depths", "third uv coordinates", sum(&|mesh| mesh.uv_depths.len())),
        (
            "left-out-uvs",
            "uvs of lines and points",
            sum(&|mesh| if mesh.faces.is_empty() { mesh.uvs.len() } else { 0 }),
        ),
        ("left-out-normals", "normals of lines and points", bare_normals(plan)),
        ("left-out-columns", "face columns and lists", sum(&|mesh| mesh.face_columns.len() + lists(mesh))),
        ("left-out-tables", "tables", job.scene.tables.len() as u64),
        ("left-out-remarks", "remarks", (job.scene.infos.len() + job.scene.comments.len()) as u64),
    ];
    note_left_out("glTF", others, job.output, warnings);
    let changed = |code, count: u64, what: &str| {
        let place = Place { file: job.output.into(), ..Place::default() };
        (code, count, Diagnostic { place, ..Diagnostic::new(format!("{count} {what}")) })
    };
    let rounded = sum(&|mesh| mesh.vertex_columns.iter().filter(|column| is_rounded(column)).count());
    for (code, count, diagnostic) in [
        changed("changed-normals", plan.repaired_normals, "normals without a direction were computed from the faces"),
        changed("changed-columns", rounded, "vertex columns were rounded to 32-bit floats, which glTF has"),
    ] {
        warnings.push_many(code, count, diagnostic);
    }
    Ok(())
}

/// How many normals belong to no triangle.
fn bare_normals(plan: &GltfPlan<'_>) -> u64 {
    let has = |geometry: &crate::geometry::GltfGeometry<'_>| {
        let blocks = geometry.sections.iter().filter_map(|section| section.points.as_ref());
        geometry.mesh.faces.is_empty() && !blocks.into_iter().all(|block| has_normals(geometry, block))
    };
    plan.geometries.iter().filter(|geometry| has(geometry)).map(|geometry| geometry.mesh.normals.len() as u64).sum()
}

/// Whether values of a column may be more precise than glTF's.
fn is_rounded(column: &Column) -> bool {
    use polyhaul_model::Values::{F64, I32, I64, U32, U64};
    let exact = |value: f64| f64::from(value as f32) == value;
    match &column.values {
        _ if column.offsets.is_some() => false,
        F64(values) => !values.iter().all(|&value| exact(value)),
        I32(values) => !values.iter().all(|&value| exact(f64::from(value))),
        U32(values) => !values.iter().all(|&value| exact(f64::from(value))),
        I64(values) => !values.iter().all(|&value| exact(value as f64) && (value as f64) as i64 == value),
        U64(values) => !values.iter().all(|&value| exact(value as f64) && (value as f64) as u64 == value),
        other => matches!(other.scalar(), Scalar::I64 | Scalar::U64),
    }
}

/// How many positions no face, line or point uses, unless there are positions alone.
fn loose_positions(mesh: &Mesh) -> Result<u64> {
    if mesh.faces.is_empty() && mesh.lines.is_empty() && mesh.points.is_empty() && mesh.curves.is_empty() {
        return Ok(0);
    }
    let mut used: Vec<u64> = zeroed(mesh.positions.len().div_ceil(64), "the plan")?;
    for &position in
        mesh.faces.corner_positions.iter().chain(mesh.lines.corner_positions.iter()).chain(mesh.points.iter())
    {
        if let Some(word) = used.get_mut(position as usize / 64) {
            *word |= 1 << (position % 64);
        }
    }
    let count: u64 = used.iter().map(|word| u64::from(word.count_ones())).sum();
    Ok((mesh.positions.len() as u64).saturating_sub(count))
}
