//! Transforms the rows and vertices that were kept.

use crate::expression::BLOCK;
use crate::fields::Field;
use crate::mesh::objects_by_mesh;
use polyhaul_geometry::affine::{self, Affine};
use polyhaul_geometry::exact::settle_transforms;
use polyhaul_geometry::linear::{Matrix4, multiply};
use polyhaul_geometry::splat_motion::SplatMotion;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Scene, Table, Values};
use polyhaul_pipeline::arrays::zeroed;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_spill::paced;

/// Transforms the positions and normals of a table, and all attributes of Gaussian splats, by a row-major matrix that
/// multiplies column vectors from the left.
///
/// # Errors
/// [`ErrorKind::Usage`] if there are no positions, the matrix is not a valid transform, or the matrix would shear
/// splats or scale them nonuniformly; any error from [`SplatMotion::apply`]; cancellation.
pub fn move_table(table: &mut Table, matrix: &Matrix4, run: &RunOptions) -> Result<()> {
    let affine = Affine::new(matrix)?;
    let triple = |names: [&str; 3]| match names.map(|name| find(table, name)) {
        [Some(x), Some(y), Some(z)] => Some([x, y, z]),
        _ => None,
    };
    let positions = triple(["x", "y", "z"]);
    let normals = triple(["nx", "ny", "nz"]);
    let positions =
        positions.ok_or_else(|| Error::new(ErrorKind::Usage, "a transform requires the columns `x`, `y` and `z`"))?;
    if let Some(motion) = SplatMotion::of(&table.columns, affine.linear())? {
        motion.apply(&mut table.columns, run)?;
    }
    move_columns(table, positions, |position| affine.position(position), run)?;
    match normals {
        Some(normals) => move_columns(table, normals, |normal| affine.normal(normal), run),
        None => Ok(()),
    }
}

/// Transforms the vectors stored in three columns. Integer columns become `f64`.
fn move_columns(
    table: &mut Table,
    places: [usize; 3],
    change: impl Fn([f64; 3]) -> [f64; 3],
    run: &RunOptions,
) -> Result<()> {
    for place in places {
        let column = &mut table.columns[place];
        if !matches!(column.values, Values::F32(_) | Values::F64(_)) {
            let mut floats = zeroed::<f64>(table.row_count, "columns")?;
            Field::Values(&column.values).fill(0, &mut floats);
            column.values = Values::F64(floats.into());
        }
    }
    let mut block = [[0.0; BLOCK]; 3];
    for start in (0..table.row_count).step_by(BLOCK) {
        run.cancel.check()?;
        let rows = BLOCK.min(table.row_count - start);
        for (out, place) in block.iter_mut().zip(places) {
            Field::Values(&table.columns[place].values).fill(start, &mut out[..rows]);
        }
        let [xs, ys, zs] = &mut block;
        for ((x, y), z) in xs.iter_mut().zip(ys).zip(zs).take(rows) {
            [*x, *y, *z] = change([*x, *y, *z]);
        }
        for (values, place) in block.iter().zip(places) {
            match &mut table.columns[place].values {
                Values::F32(old) => {
                    let old = &mut old.to_mut()?[start..start + rows];
                    old.iter_mut().zip(values).for_each(|(old, &value)| *old = value as f32);
                }
                Values::F64(old) => old.to_mut()?[start..start + rows].copy_from_slice(&values[..rows]),
                _ => {}
            }
        }
        polyhaul_spill::relieve();
    }
    Ok(())
}

fn find(table: &Table, name: &str) -> Option<usize> {
    table.columns.iter().position(|column| column.name == name && column.offsets.is_none())
}

/// Transforms a scene: the objects that have a transform, and the meshes of all other objects.
pub(crate) fn move_scene(scene: &mut Scene, matrix: &Matrix4, run: &RunOptions) -> Result<()> {
    // `affine::transform` checks the matrix, too, but is not called for objects with a transform.
    Affine::new(matrix)?;
    let objects_by_mesh = objects_by_mesh(scene)?;
    for (mesh, objects) in paced(&mut scene.meshes).zip(objects_by_mesh) {
        let moved = objects.iter().filter(|&&object| scene.objects[object].transform.is_some()).count();
        if moved > 0 && moved < objects.len() {
            let message = "a mesh is shared by objects with and without a transform";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        if moved == 0 {
            affine::transform(mesh, matrix, run)?;
        }
    }
    for transform in paced(&mut scene.objects).filter_map(|object| object.transform.as_mut()) {
        *transform = multiply(matrix, transform);
    }
    settle_transforms(scene)
}
