//! Copies of models whose lack of memory is an error.
//!
//! `Clone` would end the process. Small strings are cloned all the same.

use crate::error::{Error, Result};
use crate::model::{Curve, Elements, Mesh, Scene};

/// A copy of a scene without its materials and libraries, which only the caller changes.
pub(crate) fn scene(scene: &Scene) -> Result<Scene> {
    Ok(Scene { meshes: each(&scene.meshes, mesh)?, objects: array(&scene.objects)?, ..Scene::default() })
}

fn mesh(mesh: &Mesh) -> Result<Mesh> {
    Ok(Mesh {
        positions: array(&mesh.positions)?,
        position_weights: array(&mesh.position_weights)?,
        colors: array(&mesh.colors)?,
        uvs: array(&mesh.uvs)?,
        uv_depths: array(&mesh.uv_depths)?,
        normals: array(&mesh.normals)?,
        faces: elements(&mesh.faces)?,
        lines: elements(&mesh.lines)?,
        points: array(&mesh.points)?,
        curves: each(&mesh.curves, curve)?,
        material_runs: array(&mesh.material_runs)?,
        group_runs: array(&mesh.group_runs)?,
        smoothing_runs: array(&mesh.smoothing_runs)?,
        groups: array(&mesh.groups)?,
    })
}

fn curve(curve: &Curve) -> Result<Curve> {
    let (control_points, knots) = (array(&curve.control_points)?, array(&curve.knots)?);
    let Curve { degree, rational, range, at, .. } = *curve;
    Ok(Curve { degree, rational, range, at, control_points, knots })
}

fn elements(elements: &Elements) -> Result<Elements> {
    Ok(Elements {
        offsets: array(&elements.offsets)?,
        corner_positions: array(&elements.corner_positions)?,
        corner_uvs: array(&elements.corner_uvs)?,
        corner_normals: array(&elements.corner_normals)?,
    })
}

fn each<T>(items: &[T], copy: impl Fn(&T) -> Result<T>) -> Result<Vec<T>> {
    let mut copies = Vec::new();
    copies.try_reserve_exact(items.len()).map_err(|_| Error::memory("a copy of the scene"))?;
    for item in items {
        copies.push(copy(item)?);
    }
    Ok(copies)
}

fn array<T: Clone>(items: &[T]) -> Result<Vec<T>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(items.len()).map_err(|_| Error::memory("a copy of the scene"))?;
    copy.extend_from_slice(items);
    Ok(copy)
}
