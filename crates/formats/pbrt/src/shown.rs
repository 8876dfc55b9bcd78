//! Scenes for a renderer as a picture shows them: definitions once, where they are shown, and the camera.
//!
//! Nothing is drawn here. Meshes and materials are made as for conversion ([`crate::flatten`]); shapes that are no
//! meshes become some (`drawn`), and shapes that emit light have a material that does.

use crate::drawn::DrawnShapes;
use crate::flatten::{Flat, Flattener};
use crate::looks::NameFile;
use crate::places::{Matrix64, Places64, inverse64};
use polyhaul_model::error::{Error, Result};
use polyhaul_model::render::{Entity, ParameterValues, Render};
use polyhaul_model::{Mesh, Scene};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use std::ops::Range;

/// What a scene shows.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Shown {
    /// Meshes, objects and materials, and what is not among them.
    pub flat: Flat,
    /// The objects of each definition; the first one is what is shown without an instance.
    pub definitions: Vec<Range<usize>>,
    /// All instances, that of the first definition included.
    pub instances: Vec<ShownInstance>,
    /// The camera, if it is one with perspective.
    pub camera: Option<ShownCamera>,
}

/// A definition at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownInstance {
    /// Which one.
    pub definition: u32,
    /// Three rows of a matrix, whose last row is 0 0 0 1.
    pub place: [[f32; 4]; 3],
}

/// A camera with perspective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownCamera {
    /// Right, up and forward in the scene, each of length 1.
    pub axes: [[f64; 3]; 3],
    /// Its place.
    pub eye: [f64; 3],
    /// The tangent of half its angle of view, across the shorter side of the picture.
    pub tangent: f64,
}

/// What a scene shows; `meshes` are those that it loaded, and `name_of` may rename image files, as for
/// [`crate::flatten::flatten_named`].
///
/// # Errors
/// As for [`crate::flatten::flatten`], apart from limits: instances are not multiplied.
pub fn shown(render: &Render, meshes: Vec<Mesh>, name_of: NameFile<'_>, run: &RunOptions) -> Result<Shown> {
    let mut drawn = DrawnShapes::new(render)?;
    drawn.cut_curves(run)?;
    let mut flat = Flattener::new(render, name_of)?;
    flat.show_lights();
    flat.meshes(meshes, |shape| drawn.stand(shape))?;
    let mut definitions = Vec::new();
    definitions.try_reserve_exact(render.objects.len() + 1)?;
    flat.world()?;
    definitions.push(0..flat.flat.scene.objects.len());
    for object in &render.objects {
        let first = flat.flat.scene.objects.len();
        flat.definition(object)?;
        definitions.push(first..flat.flat.scene.objects.len());
    }
    let instances = instances(render, &flat.places, run)?;
    let camera = render
        .camera
        .as_ref()
        .and_then(|camera| self::camera(render, camera, &flat.places.matrix(render, camera.motion.start)));
    Ok(Shown { flat: flat.finish(), definitions, instances, camera })
}

/// All instances: that of the first definition, then those of the scene.
fn instances(render: &Render, places: &Places64, run: &RunOptions) -> Result<Vec<ShownInstance>> {
    let world = ShownInstance { definition: 0, place: narrow(&IDENTITY) };
    let mut all = Vec::new();
    all.try_reserve_exact(render.instances.len() + 1).map_err(|_| Error::memory("instances"))?;
    all.resize(render.instances.len() + 1, world);
    let chunks = all[1..].chunks_mut(TURN).enumerate();
    try_for_each_item(
        run.worker_threads(),
        &run.cancel,
        chunks,
        || (),
        |(), (chunk, own)| {
            let first = chunk * TURN;
            for (to, instance) in own.iter_mut().zip(render.instances_in(first..first + TURN)) {
                let place = narrow(&places.of_instance(render, &instance));
                *to = ShownInstance { definition: 1 + instance.object as u32, place };
            }
            Ok(())
        },
    )?;
    Ok(all)
}

/// Instances that a thread places at a time.
const TURN: usize = 16 << 10;

const IDENTITY: Matrix64 = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

fn narrow(matrix: &Matrix64) -> [[f32; 4]; 3] {
    [matrix[0], matrix[1], matrix[2]].map(|row| row.map(|number| number as f32))
}

/// A perspective camera whose place in the scene is the inverse of a matrix. pbrt's `fov` is the angle across the
/// shorter side, 90 degrees by default.
fn camera(render: &Render, camera: &Entity, world_to_camera: &Matrix64) -> Option<ShownCamera> {
    if render.text(camera.name) != "perspective" {
        return None;
    }
    let rows = inverse64(*world_to_camera);
    let column = |at: usize| [rows[0][at], rows[1][at], rows[2][at]];
    let unit = |vector: [f64; 3]| {
        let length = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
        vector.map(|value| value / length)
    };
    let fov = match render.parameters(camera).get("fov").map(|fov| fov.values) {
        Some(ParameterValues::Floats(&[fov])) => f64::from(fov),
        _ => 90.0,
    };
    let tangent = (0.5 * fov).to_radians().tan();
    let camera = ShownCamera { axes: [0, 1, 2].map(|axis| unit(column(axis))), eye: column(3), tangent };
    let is_finite = camera.axes.iter().flatten().chain(&camera.eye).all(|value| value.is_finite());
    (is_finite && tangent > 0.0 && tangent.is_finite()).then_some(camera)
}

impl Shown {
    /// The scene of meshes.
    pub fn scene(&self) -> &Scene {
        &self.flat.scene
    }
}
