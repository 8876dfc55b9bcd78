//! Random scenes, mostly ones that no program would write.

use super::support::Random;
use polyhaul::WriteOptions;
use polyhaul::model::{Array, Axes, Axis, Counts, Domain, Elements, Material, Mesh, NONE, Object, Scene, VertexGroup};
use polyhaul::options::Smoothing;

const SPECIAL: [f32; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    0.007_812_5,
    -1e-9,
    5e-7,
    f32::MAX,
    f32::MIN_POSITIVE,
    1e-45,
    1e20,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    16_777_216.0,
];

const AXES: [Axis; 6] = [Axis::X, Axis::Y, Axis::Z, Axis::NegativeX, Axis::NegativeY, Axis::NegativeZ];

pub const DOMAINS: [Domain; 4] = [Domain::Indexed, Domain::Corner, Domain::Vertex, Domain::Face];

/// Range of the numbers in a scene.
#[derive(Clone, Copy, PartialEq)]
pub enum Numbers {
    /// Finite, of ordinary size.
    Tame,
    /// Any bits.
    Wild,
}

/// Evaluated objects, sometimes with others between them.
pub fn scene(random: &mut Random, numbers: Numbers) -> Scene {
    let names = ["red", "dark blue", "a\tb", "gr\u{fc}n", "x y  z"];
    let materials: Vec<_> =
        names[..random.below(6)].iter().map(|&name| Material { name: name.into(), ..Material::default() }).collect();
    let mixed = random.once_in(3);
    let mut scene = Scene { materials, axes: axes(random), ..Scene::default() };
    let meshes = 1 + random.below(4);
    for _ in 0..meshes {
        scene.meshes.push(mesh(random, numbers));
    }
    for _ in 0..1 + random.below(6) {
        let mesh = random.below(meshes);
        let object = object(random, &scene, mesh, numbers);
        scene.objects.push(object);
        if mixed && random.once_in(2) {
            scene.meshes.push(as_read(random));
            let mesh = scene.meshes.len() - 1;
            let end = scene.meshes[mesh].counts();
            scene.objects.push(Object { name: "as read".into(), mesh, end, ..Object::default() });
        }
    }
    scene
}

fn axes(random: &mut Random) -> Axes {
    match random.below(4) {
        0 => Axes::OBJ,
        1 => Axes::BLENDER,
        _ => {
            let (forward, up) = two_axes(random);
            Axes { forward, up }
        }
    }
}

fn two_axes(random: &mut Random) -> (Axis, Axis) {
    let forward = random.below(6);
    let up = (0..).map(|_| random.below(6)).find(|up| up % 3 != forward % 3).unwrap();
    (AXES[forward], AXES[up])
}

/// Each option is changed sometimes.
pub fn options(random: &mut Random) -> WriteOptions {
    let mut options = WriteOptions::default();
    for flag in [
        &mut options.scene.uv,
        &mut options.scene.normals,
        &mut options.scene.colors,
        &mut options.obj.materials,
        &mut options.obj.object_groups,
        &mut options.obj.material_groups,
        &mut options.obj.groups,
        &mut options.obj.vertex_groups,
    ] {
        *flag ^= random.once_in(4);
    }
    options.obj.smoothing = *random.pick(&[Smoothing::None, Smoothing::Flags, Smoothing::Groups, Smoothing::BitFlags]);
    if random.once_in(3) {
        let (forward, up) = two_axes(random);
        options.scene = options.scene.with_forward_axis(Some(forward)).with_up_axis(Some(up));
    }
    if random.once_in(3) {
        options.scene.global_scale = *random.pick(&[0.01, 2.5, 1e20, 1e-30]);
    }
    options
}

fn value(random: &mut Random, numbers: Numbers) -> f32 {
    match numbers {
        Numbers::Wild if random.once_in(5) => *random.pick(&SPECIAL),
        _ if random.once_in(3) => random.below(5) as f32 * 0.5 - 1.0,
        _ => random.unit() * *random.pick(&[1.0, 10.0, 1000.0]),
    }
}

fn values<const N: usize>(random: &mut Random, numbers: Numbers, count: usize) -> Array<[f32; N]> {
    (0..count).map(|_| std::array::from_fn(|_| value(random, numbers))).collect()
}

/// Normals of which many are equal, or round to neighbors.
fn normals(random: &mut Random, numbers: Numbers, count: usize) -> Array<[f32; 3]> {
    let near_border = |random: &mut Random| {
        let border = (random.below(4) as f32 + 0.5) / 1e4;
        let x = f32::from_bits(border.to_bits().wrapping_add(random.below(9) as u32).wrapping_sub(4));
        let normal = [x, 0.0, (1.0 - x * x).sqrt()];
        [0, 1, 2].map(|i| normal[(i + border.to_bits() as usize) % 3])
    };
    let normal_of = |random: &mut Random| match random.below(4) {
        0 => near_border(random),
        1 => [0.0, 0.0, *random.pick(&[1.0, -1.0, -0.0])],
        _ => [value(random, numbers), value(random, numbers), value(random, numbers)],
    };
    (0..count).map(|_| normal_of(random)).collect()
}

fn faces(random: &mut Random, positions: usize) -> Elements {
    let mut faces = Elements::default();
    if positions == 0 || random.once_in(6) {
        return faces;
    }
    let mut offsets = vec![0];
    let mut corners = vec![];
    for _ in 0..1 + random.below(12) {
        let max_extra = *random.pick(&[1, 2, 2, 7]);
        let first = random.below(positions);
        let size = 3 + random.below(max_extra);
        if random.once_in(3) {
            corners.extend((0..size).map(|_| random.below(positions) as u32))
        } else {
            corners.extend((first..first + size).map(|corner| (corner % positions) as u32))
        }
        offsets.push(corners.len() as u32);
    }
    faces.offsets = offsets.into();
    faces.corner_positions = corners.into();
    faces
}

/// A mesh with attributes in any domain.
fn mesh(random: &mut Random, numbers: Numbers) -> Mesh {
    let max_faces = *random.pick(&[1, 5, 20, 20]);
    let positions = random.below(max_faces);
    let faces = faces(random, positions);
    let mut mesh = Mesh { positions: values(random, numbers, positions), faces, ..Mesh::default() };
    mesh.uv_domain = *random.pick(&DOMAINS);
    mesh.normal_domain = *random.pick(&DOMAINS);
    let uvs = count_of(random, &mesh, mesh.uv_domain);
    let normals_of_mesh = count_of(random, &mesh, mesh.normal_domain);
    mesh.uvs = values(random, numbers, uvs);
    mesh.normals = normals(random, numbers, normals_of_mesh);
    if mesh.uv_domain == Domain::Indexed && uvs > 0 {
        mesh.faces.corner_uvs = stream(random, &mesh, uvs);
    }
    if mesh.normal_domain == Domain::Indexed && normals_of_mesh > 0 {
        mesh.faces.corner_normals = stream(random, &mesh, normals_of_mesh);
    }
    if positions > 1 && random.once_in(3) {
        let edges = 1 + random.below(5);
        mesh.lines.offsets = (0..=edges as u32).map(|edge| edge * 2).collect();
        mesh.lines.corner_positions = (0..edges * 2).map(|_| random.below(positions) as u32).collect();
    }
    of_faces(random, &mut mesh);
    if random.once_in(3) {
        mesh.colors = values(random, numbers, positions);
    }
    if random.once_in(3) {
        let group = |number| VertexGroup { name: format!("bone {number}"), weights: weights(random, positions) };
        mesh.vertex_groups = (0..3).map(group).collect();
    }
    mesh
}

fn weights(random: &mut Random, positions: usize) -> Array<f32> {
    let weight = |_| if random.once_in(2) { f32::NAN } else { *random.pick(&[0.25, 0.5, 1.0, 0.1, 0.0]) };
    (0..positions).map(weight).collect()
}

/// Adds slots, smooth flags and sharp edges.
fn of_faces(random: &mut Random, mesh: &mut Mesh) {
    let faces = mesh.faces.len();
    if random.once_in(2) {
        mesh.face_materials = (0..faces).map(|_| random.below(4) as i32 + *random.pick(&[0, 0, 0, -2, 9])).collect();
    }
    if random.once_in(2) {
        mesh.face_smooth = (0..faces).map(|_| *random.pick(&[0, 1, 1, 255])).collect();
    }
    let corners = &mesh.faces.corner_positions;
    if random.once_in(2) && !corners.is_empty() {
        mesh.sharp_edges = (0..3).map(|_| [0, 1].map(|_| corners[random.below(corners.len())])).collect();
    }
}

fn count_of(random: &mut Random, mesh: &Mesh, domain: Domain) -> usize {
    let count = match domain {
        Domain::Indexed => random.below(10),
        Domain::Corner => mesh.faces.corner_positions.len(),
        Domain::Vertex => mesh.positions.len(),
        Domain::Face => mesh.faces.len(),
    };
    if random.once_in(6) { 0 } else { count }
}

/// An index per corner; some corners have none.
fn stream(random: &mut Random, mesh: &Mesh, count: usize) -> Array<u32> {
    let missing = *random.pick(&[usize::MAX, 4]);
    let index = |_: &u32| if random.once_in(missing) { NONE } else { random.below(count) as u32 };
    mesh.faces.corner_positions.iter().map(index).collect()
}

fn object(random: &mut Random, scene: &Scene, mesh: usize, numbers: Numbers) -> Object {
    let name = *random.pick(&["a", "two words", " around ", "tab\tbed", "gr\u{f6}\u{df}er \u{6f22}", "_", "a"]);
    let mesh_name = *random.pick(&["", "Mesh", "my mesh"]);
    let transform = (!random.once_in(4)).then(|| transform(random, numbers));
    let slot = |random: &mut Random| (!random.once_in(4)).then(|| random.below(scene.materials.len()));
    let materials = match random.below(4) {
        0 => None,
        1 => Some(vec![]),
        _ if scene.materials.is_empty() => Some(vec![None; random.below(3)]),
        _ => Some((0..1 + random.below(4)).map(|_| slot(random)).collect()),
    };
    let mut object = Object {
        name: name.into(),
        mesh_name: mesh_name.into(),
        mesh,
        start: Counts::default(),
        end: scene.meshes[mesh].counts(),
        transform,
        materials,
        ..Object::default()
    };
    if !scene.is_evaluated(&object) {
        object.materials = Some(vec![]);
    }
    object
}

pub const IDENTITY: [[f64; 4]; 4] =
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

fn transform(random: &mut Random, numbers: Numbers) -> [[f64; 4]; 4] {
    let mut matrix = IDENTITY;
    match random.below(5) {
        0 => {}
        1 => (0..3).for_each(|i| matrix[i][i] = *random.pick(&[-1.0, 1.0, 2.0])),
        2 if numbers == Numbers::Wild => matrix[random.below(3)][random.below(3)] = f64::from(*random.pick(&SPECIAL)),
        2 => matrix[random.below(3)] = [0.0; 4],
        _ => (0..3).for_each(|i| (0..4).for_each(|j| matrix[i][j] = value(random, numbers).into())),
    }
    matrix
}

/// A mesh as read from a file.
fn as_read(random: &mut Random) -> Mesh {
    let positions = 4 + random.below(4);
    let mut mesh = Mesh { positions: values(random, Numbers::Tame, positions), ..Mesh::default() };
    mesh.faces = faces(random, positions);
    if random.once_in(2) && !mesh.faces.is_empty() {
        mesh.uvs = values(random, Numbers::Tame, 3);
        mesh.faces.corner_uvs = mesh.faces.corner_positions.iter().map(|_| random.below(3) as u32).collect();
    }
    if random.once_in(2) && !mesh.faces.is_empty() {
        mesh.normals = values(random, Numbers::Tame, 3);
        mesh.faces.corner_normals = mesh.faces.corner_positions.iter().map(|_| random.below(3) as u32).collect();
    }
    mesh
}
