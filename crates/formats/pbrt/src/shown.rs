//! Prepares a `Render` scene for previews: each definition once, its instances, and the camera.
//!
//! Nothing is drawn here. Meshes and materials are converted as in [`crate::flatten`], except that shapes other than
//! meshes are tessellated (`drawn`) and shapes with area lights get an emissive material.

use crate::drawn::DrawnShapes;
use crate::flatten::{Flat, Flattener};
use crate::looks::NameFile;
use crate::places::{Places64, unit64};
use polyhaul_geometry::linear::{IDENTITY64, Matrix4, inverse};
use polyhaul_model::error::{Error, Result};
use polyhaul_model::render::{Entity, ParameterValues, Render};
use polyhaul_model::{Mesh, Scene};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_spill::paced;
use std::ops::Range;

/// Content of a preview.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct PbrtPreview {
    /// Meshes, objects and materials, and counts of dropped content.
    pub flat: Flat,
    /// Objects of each definition. The first definition is the world.
    pub definitions: Vec<Range<usize>>,
    /// All instances. The first is an instance of the world.
    pub instances: Vec<ShownInstance>,
    /// The perspective camera, if there is one.
    pub camera: Option<ShownCamera>,
}

/// An instance of a definition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownInstance {
    /// Index of the definition.
    pub definition: u32,
    /// First three rows of the matrix; the last row is 0 0 0 1.
    pub place: [[f32; 4]; 3],
}

/// A perspective camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownCamera {
    /// The right, up and forward directions in world space, as unit vectors.
    pub axes: [[f64; 3]; 3],
    /// Position.
    pub eye: [f64; 3],
    /// Tangent of half the field of view, along the shorter side of the image.
    pub tangent: f64,
}

/// Prepares a scene for a preview. `meshes` are the contents of its mesh files; `name_of` may rename image files, as in
/// [`crate::flatten::flatten_named`].
///
/// # Errors
/// As for [`crate::flatten::flatten`], except for limits: instances are not expanded.
pub fn shown(render: &Render, meshes: Vec<Mesh>, name_of: NameFile<'_>, run: &RunOptions) -> Result<PbrtPreview> {
    let mut drawn = DrawnShapes::new(render)?;
    drawn.cut_curves(run)?;
    let mut flat = Flattener::new(render, name_of)?;
    flat.show_lights();
    flat.meshes(meshes, |shape| drawn.substitute(shape))?;
    let mut definitions = Vec::new();
    definitions.try_reserve_exact(render.objects.len() + 1)?;
    flat.world()?;
    definitions.push(0..flat.flat.scene.objects.len());
    for object in paced(&render.objects) {
        let first = flat.flat.scene.objects.len();
        flat.definition(object)?;
        definitions.push(first..flat.flat.scene.objects.len());
    }
    let instances = instances(render, &flat.places, run)?;
    let camera = render
        .camera
        .as_ref()
        .and_then(|camera| self::camera(render, camera, &flat.places.matrix(render, camera.motion.start)));
    Ok(PbrtPreview { flat: flat.finish()?, definitions, instances, camera })
}

/// Returns one instance of the world, then the instances of the scene.
fn instances(render: &Render, places: &Places64, run: &RunOptions) -> Result<Vec<ShownInstance>> {
    let world = ShownInstance { definition: 0, place: narrow(&IDENTITY64) };
    let mut instances = Vec::new();
    instances.try_reserve_exact(render.instances.len() + 1).map_err(|_| Error::memory("instances"))?;
    instances.resize(render.instances.len() + 1, world);
    let chunks = instances[1..].chunks_mut(TURN).enumerate();
    try_for_each_item(
        run.worker_threads(),
        &run.cancel,
        chunks,
        || (),
        |(), (chunk, slots)| {
            let first = chunk * TURN;
            for (to, instance) in slots.iter_mut().zip(render.instances_in(first..first + TURN)) {
                let place = narrow(&places.of_instance(render, &instance));
                *to = ShownInstance { definition: 1 + instance.object as u32, place };
            }
            Ok(())
        },
    )?;
    Ok(instances)
}

/// Instances per work item.
const TURN: usize = 16 << 10;

fn narrow(matrix: &Matrix4) -> [[f32; 4]; 3] {
    [matrix[0], matrix[1], matrix[2]].map(|row| row.map(|number| number as f32))
}

/// Converts a perspective camera, given the matrix from world to camera space. pbrt's `fov` is the angle along the
/// shorter side of the image, 90 degrees by default.
fn camera(render: &Render, camera: &Entity, world_to_camera: &Matrix4) -> Option<ShownCamera> {
    if render.text(camera.name) != "perspective" {
        return None;
    }
    let rows = inverse(*world_to_camera);
    let column = |at: usize| [rows[0][at], rows[1][at], rows[2][at]];
    let fov = match render.parameters(camera).get("fov").map(|fov| fov.values) {
        Some(ParameterValues::Floats(&[fov])) => f64::from(fov),
        _ => 90.0,
    };
    let tangent = (0.5 * fov).to_radians().tan();
    let camera = ShownCamera { axes: [0, 1, 2].map(|axis| unit64(column(axis))), eye: column(3), tangent };
    // Reject singular matrices and invalid angles.
    let is_finite = camera.axes.iter().flatten().chain(&camera.eye).all(|value| value.is_finite());
    (is_finite && tangent > 0.0 && tangent.is_finite()).then_some(camera)
}

impl PbrtPreview {
    /// Returns the scene with the meshes, objects and materials.
    pub fn scene(&self) -> &Scene {
        &self.flat.scene
    }
}
