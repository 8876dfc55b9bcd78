//! The demo's renderer scene: an island as in film assets, with ground, instanced plants, and grass.
//!
//! Plants are object definitions with a trunk mesh and leaf curves, so meshes, instances and curves all contribute to
//! the size. The scene depends only on the size.

use super::scene::{Torus, fraction};
use polyhaul::Result;
use polyhaul::model::Scene;
use polyhaul::model::render::{Material, MaterialUse, Motion, ParameterType, ShapeState, Step, Transform};
use polyhaul::ops::{Builder, Given, GivenValues};
use polyhaul::options::{PbrtMeshes, PbrtWriteOptions};

/// Number of files that shapes and instances are divided into.
pub const PARTS: usize = 24;
/// Minimum vertex count for writing a mesh to a PLY file.
const PLY_VERTICES: u64 = 1500;
/// Target size of a plant's trunk, unless it yields more than [`MAX_PLANTS`] plants.
const PLANT_BYTES: u64 = 500_000;
const MAX_PLANTS: u64 = 400;
/// Bytes per quad in a PLY file, and per instance and curve as text.
const QUAD_BYTES: u64 = 60;
const INSTANCE_BYTES: u64 = 190;
const CURVE_BYTES: u64 = 560;
/// Control points per curve: five cubic segments.
const CURVE_POINTS: u32 = 16;
/// The shares of the ground, the trunks and the instances in percent. Leaves and grass share the rest equally.
const SHARES: [u64; 3] = [15, 30, 30];
/// Distance from the center of the island to its shore.
const SHORE: f64 = 100.0;

/// The options for writing the scene.
pub fn style() -> PbrtWriteOptions {
    PbrtWriteOptions::default()
        .with_compact(true)
        .with_meshes(PbrtMeshes::Ply { vertices: PLY_VERTICES })
        .with_parts(PARTS)
}

/// Generates a scene of about this many bytes.
pub fn of_size(bytes: u64) -> Result<Scene> {
    let mut builder = Builder::default();
    let [sand, bark, green] = settings(&mut builder)?;
    let [ground, trunks, instances] = SHARES.map(|percent| bytes * percent / 100);
    let curves = (bytes - ground - trunks - instances) / 2 / CURVE_BYTES;
    let plants = (trunks / PLANT_BYTES).clamp(3, MAX_PLANTS);
    for plant in 0..plants {
        let first = builder.render.shape_count();
        // Vary the size by a factor of 0.25 to 1.75, so that only some trunks become separate files.
        let quads = (trunks / plants / QUAD_BYTES) as f64 * (0.25 + 1.5 * fraction(plant, 0));
        mesh(&mut builder, quads as u64, 0.6, bark)?;
        for leaf in 0..curves / plants {
            curve(&mut builder, plant << 32 | leaf, 1.0, green)?;
        }
        builder.object(&format!("plant_{plant:03}"), first)?;
    }
    mesh(&mut builder, ground / QUAD_BYTES, SHORE * 0.75, sand)?;
    for blade in 0..curves {
        curve(&mut builder, 1 << 48 | blade, SHORE, green)?;
    }
    place(&mut builder, plants, instances / INSTANCE_BYTES)?;
    Ok(Scene { render: Some(Box::new(builder.finish())), ..Scene::default() })
}

/// Adds camera, film, light and materials; returns the shape states for sand, bark and green.
fn settings(builder: &mut Builder) -> Result<[ShapeState; 3]> {
    let eye = Step::LookAt([0.0, 60.0, -180.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let place = builder.transform(Transform::IDENTITY, eye)?;
    let mut camera = builder.entity("perspective", vec![floats(ParameterType::Float, "fov", [50.0])])?;
    camera.motion = Motion { start: place, end: place };
    builder.render.camera = Some(camera);
    let name = vec![(ParameterType::String, "filename", GivenValues::Strings(vec!["island.exr".into()]))];
    builder.render.film = Some(builder.entity("rgb", name)?);
    let sky = builder.entity("infinite", vec![floats(ParameterType::Rgb, "L", [0.4, 0.6, 1.0])])?;
    builder.render.lights.push(sky);
    let materials = [("sand", [0.8, 0.7, 0.5]), ("bark", [0.4, 0.3, 0.2]), ("green", [0.2, 0.5, 0.1])];
    let mut looks = [ShapeState::default(); 3];
    for (look, (name, color)) in looks.iter_mut().zip(materials) {
        let class = (ParameterType::String, "type", GivenValues::Strings(vec!["diffuse".into()]));
        let entity = builder.entity(name, vec![class, floats(ParameterType::Rgb, "reflectance", color)])?;
        builder.render.materials.push(Material { entity, is_named: true });
        look.material = MaterialUse::Named(entity.name);
    }
    Ok(looks)
}

fn floats<const N: usize>(kind: ParameterType, name: &'static str, values: [f32; N]) -> Given<'static> {
    (kind, name, GivenValues::Floats(values.to_vec()))
}

/// Adds a torus of about this many quads, split into triangles.
fn mesh(builder: &mut Builder, quads: u64, radius: f64, state: ShapeState) -> Result<()> {
    let rows = (quads / 2).isqrt().max(3) as u32;
    let made = Torus { rows, columns: rows * 2, center: [0.0; 3], radius, ripple: 0.05 }.mesh();
    let quads = made.faces.corner_positions.as_chunks().0;
    let indices = quads.iter().flat_map(|&[a, b, c, d]| [a, b, c, a, c, d]).map(|index| index as i32).collect();
    let parameters = vec![
        (ParameterType::Integer, "indices", GivenValues::Integers(indices)),
        (ParameterType::Point3, "P", GivenValues::Floats(made.positions.as_flattened().to_vec())),
        (ParameterType::Normal, "N", GivenValues::Floats(made.normals.as_flattened().to_vec())),
    ];
    builder.shape("trianglemesh", parameters, state, Transform::IDENTITY)
}

/// Adds a leaf or a blade of grass at a pseudorandom position in the square from `-side` to `side`.
fn curve(builder: &mut Builder, index: u64, side: f64, state: ShapeState) -> Result<()> {
    let [x, z, bend, turn] = [0, 1, 2, 3].map(|stream| 2.0 * fraction(index, stream) - 1.0);
    let height = 0.2 + 0.3 * fraction(index, 4);
    let point = |part: f64| [side * x + bend * part * part, height * part, side * z + turn * part * part];
    let parts = (0..CURVE_POINTS).map(|at| f64::from(at) / f64::from(CURVE_POINTS - 1));
    let points: Vec<f32> = parts.flat_map(point).map(|value| value as f32).collect();
    let parameters = vec![
        (ParameterType::Point3, "P", GivenValues::Floats(points)),
        floats(ParameterType::Float, "width0", [0.01]),
        floats(ParameterType::Float, "width1", [0.001]),
    ];
    builder.shape("curve", parameters, state, Transform::IDENTITY)
}

/// Adds `count` rotated and scaled instances all over the island.
fn place(builder: &mut Builder, plants: u64, count: u64) -> Result<()> {
    let matrix = |index: u64| {
        let [x, z] = [0, 1].map(|stream| SHORE * (2.0 * fraction(index, stream) - 1.0));
        let angle = std::f64::consts::TAU * fraction(index, 2);
        let (sin, cos) = angle.sin_cos();
        let size = 0.5 + fraction(index, 3);
        let matrix = [size * cos, 0.0, -size * sin, 0.0, size, 0.0, size * sin, 0.0, size * cos, x, 0.0, z];
        // Round to the precision of the written file.
        matrix.map(|value| f64::from(value as f32))
    };
    let shown = |index: u64| (plants as f64 * fraction(index, 4)) as u32;
    let objects: Vec<u32> = (0..count).map(shown).collect();
    builder.instances(&objects, (0..count).map(matrix).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_island_has_everything_and_is_always_the_same() {
        let scene = of_size(2_000_000).unwrap();
        assert_eq!(scene, of_size(2_000_000).unwrap());
        let render = scene.render.unwrap();
        assert_eq!((render.objects.len(), render.instances.len()), (3, 3157));
        let count = |class| render.shapes().filter(|shape| shape.class() == class).count();
        assert_eq!((count("trianglemesh"), count("curve")), (4, 890));
        assert!(render.instances.objects().iter().all(|&object| (object as usize) < 3));
    }
}
