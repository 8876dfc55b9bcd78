//! Generates scenes for tests and benchmarks, and validates scenes against the rules of the model.
//!
//! The same arguments yield the same scene on every machine: only sums, products and divisions are used, never the
//! system's math library. For integration tests and benchmarks of `polyhaul`; its unit tests compile their own
//! `polyhaul`, whose types differ.

use polyhaul::model::splats::{HARMONICS, SplatColumns};
use polyhaul::model::{
    Color, Counts, Curve, Elements, MapKind, Material, Mesh, NONE, Object, ObjectKind, Run, Scene, TextureMap,
};

/// Generates one smooth object: a grid of `columns` × `rows` quads with positions, uvs and normals, and two materials.
///
/// ```
/// let scene = polyhaul_testkit::scene::grid(4, 3);
/// assert_eq!(scene.meshes[0].faces.len(), 12);
/// assert_eq!(polyhaul_testkit::scene::broken_rule(&scene), None);
/// ```
pub fn grid(columns: u32, rows: u32) -> Scene {
    let points = || (0..=rows).flat_map(|r| (0..=columns).map(move |c| (c, r)));
    let part = |index: u32, count: u32| index as f32 / count.max(1) as f32;
    let height = |u: f32, v: f32| u * (1.0 - u) * v * (1.0 - v);
    let place = |(c, r)| {
        let u = part(c, columns);
        let v = part(r, rows);
        [u * 10.0 - 5.0, height(u, v), v * 10.0 - 5.0]
    };
    let mut mesh = Mesh {
        positions: points().map(place).collect(),
        uvs: points().map(|(c, r)| [part(c, columns), part(r, rows)]).collect(),
        normals: points().map(|(c, _)| [0.0, 1.0 - part(c, columns) / 8.0, 0.25]).collect(),
        smoothing_runs: vec![run(Counts::default(), 1)],
        ..Mesh::default()
    };
    for (c, r) in (0..rows).flat_map(|r| (0..columns).map(move |c| (c, r))) {
        let corner = r * (columns + 1) + c;
        let face = [corner, corner + columns + 1, corner + columns + 2, corner + 1];
        push_face(&mut mesh.faces, &face, Some(&face), Some(&face));
    }
    let half = Counts { faces: columns * rows / 2, ..mesh.counts() };
    mesh.material_runs = vec![run(Counts { faces: 0, ..half }, 0), run(half, 1)];
    let materials = vec![named("front"), named("back")];
    let objects = vec![whole("grid", &mesh)];
    Scene { meshes: vec![mesh], objects, materials, ..Scene::default() }
}

/// Generates `count` boxes, each a separate object, all in one mesh, like a file with many small objects.
///
/// ```
/// let scene = polyhaul_testkit::scene::boxes(3);
/// assert_eq!(scene.objects[2].start.faces, 12);
/// ```
pub fn boxes(count: u32) -> Scene {
    let mut scene = Scene { meshes: vec![Mesh::default()], ..Scene::default() };
    for index in 0..count {
        let mesh = &mut scene.meshes[0];
        let start = mesh.counts();
        push_box(mesh, [(index % 100) as f32 * 3.0, 0.0, (index / 100) as f32 * 3.0]);
        let name = format!("box_{index}");
        let end = mesh.counts();
        scene.objects.push(Object { name, start, end, ..Object::default() });
    }
    scene
}

/// Generates splats with the value ranges of trained splats.
pub fn splats(count: usize, degree: usize) -> Scene {
    let mut state = 5u32;
    let mut number = |center: f32, radius: f32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        center + radius * ((state >> 8) as f32 / 8_388_608.0 - 1.0)
    };
    let mut column = |center, radius| -> Vec<f32> { (0..count).map(|_| number(center, radius)).collect() };
    let [x, y, z] = [0, 1, 2].map(|_| column(0.0, 20.0));
    let columns = SplatColumns {
        positions: (0..count).map(|row| [x[row], y[row], z[row]]).collect(),
        opacities: column(0.0, 6.0),
        scales: [0, 1, 2].map(|_| column(-4.0, 5.0)),
        rotations: [0, 1, 2, 3].map(|_| column(0.0, 1.0)),
        constants: [0, 1, 2].map(|_| column(0.0, 1.7)),
        rest: (0..3 * HARMONICS[degree]).map(|_| column(0.0, 0.9)).collect(),
    };
    columns.into_scene().unwrap()
}

/// Generates a scene with every feature of OBJ: colors, weights, uv depths, corners without uv or normal, lines,
/// points, a curve, groups, smoothing groups, repeated and missing materials, maps with options, an unnamed object, a
/// group object. All finite numbers are short in base 2 or have few digits, so they survive a fixed number of digits.
///
/// ```
/// let scene = polyhaul_testkit::scene::everything();
/// assert_eq!(scene.objects.len(), 3);
/// assert_eq!(scene.meshes[0].curves[0].degree, 3);
/// ```
pub fn everything() -> Scene {
    let mut mesh = Mesh::default();
    push_box(&mut mesh, [0.0; 3]);
    let first = mesh.counts();
    push_box(&mut mesh, [0.1, -2.5, 1e6]);
    let second = mesh.counts();
    mesh.uvs = vec![[0.0, 0.0], [1.0, 0.25], [0.5, 1.0]].into();
    mesh.uv_depths = vec![0.0, 0.5, 0.0].into();
    mesh.normals = vec![[0.0, 0.0, 1.0], [0.5, -0.25, 0.125]].into();
    mesh.colors = vec![[0.25, 0.5, 1.0, 1.0]; 16].into();
    mesh.colors.to_mut().unwrap()[3] = [f32::NAN; 4];
    mesh.position_weights = vec![1.0; 16].into();
    mesh.position_weights.to_mut().unwrap()[9] = 0.5;
    push_face(&mut mesh.faces, &[8, 9, 10], Some(&[0, NONE, 2]), Some(&[NONE, 1, 0]));
    push_face(&mut mesh.faces, &[8, 9, 10, 12, 11], None, Some(&[0, 0, 1, 1, 0]));
    push_face(&mut mesh.lines, &[0, 1, 3], Some(&[0, 1, 2]), None);
    push_face(&mut mesh.lines, &[4, 5], None, None);
    mesh.points = vec![7, 7, 2].into();
    mesh.curves = vec![Curve {
        degree: 3,
        rational: true,
        range: [0.0, 1.0],
        control_points: vec![8, 9, 10, 11],
        knots: vec![0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0],
        at: mesh.counts(),
    }];
    mesh.groups = vec!["left right".into(), "up".into()];
    mesh.group_runs = vec![run(Counts::default(), 0), run(first, NONE), run(second, 1)];
    mesh.smoothing_runs = vec![run(Counts::default(), 0), run(first, 7), run(second, 7)];
    mesh.material_runs = vec![run(Counts::default(), 0), run(first, 0), run(second, 1)];
    let end = mesh.counts();
    let objects = vec![
        section("", ObjectKind::Unnamed, Counts::default(), first),
        section("second half", ObjectKind::Object, first, second),
        section("rest", ObjectKind::Group, second, end),
    ];
    let materials = vec![painted(), Material { missing: true, ..named("nowhere") }];
    Scene { meshes: vec![mesh], objects, materials, material_libraries: vec!["all.mtl".into()], ..Scene::default() }
}

/// Creates a material with one of each kind of value.
fn painted() -> Material {
    let map = TextureMap {
        kind: MapKind::Diffuse,
        file: "textures/wood.png".into(),
        scale: Some([2.0, 2.0, 1.0]),
        clamp: Some(true),
        ..TextureMap::default()
    };
    Material {
        diffuse: Some(Color::Rgb([0.8, 0.4, 0.2])),
        emission: Some(Color::Xyz([0.1, 0.2, 0.3])),
        shininess: Some(250.0),
        opacity: Some(0.5),
        illumination: Some(2),
        roughness: Some(0.25),
        maps: vec![map],
        ..named("paint with spaces")
    }
}

fn named(name: &str) -> Material {
    Material { name: name.into(), diffuse: Some(Color::Rgb([0.5; 3])), ..Material::default() }
}

fn whole(name: &str, mesh: &Mesh) -> Object {
    section(name, ObjectKind::Object, Counts::default(), mesh.counts())
}

fn section(name: &str, kind: ObjectKind, start: Counts, end: Counts) -> Object {
    Object { name: name.into(), kind, start, end, ..Object::default() }
}

fn run(at: Counts, value: u32) -> Run {
    Run { at, value }
}

/// Appends eight positions and six quads.
fn push_box(mesh: &mut Mesh, at: [f32; 3]) {
    let base = mesh.positions.len() as u32;
    for corner in 0..8u8 {
        let side = |axis: usize| at[axis] + f32::from(corner >> axis & 1);
        mesh.positions.to_mut().unwrap().push([side(0), side(1), side(2)]);
    }
    const QUADS: [[u32; 4]; 6] = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    for quad in QUADS {
        push_face(&mut mesh.faces, &quad.map(|corner| base + corner), None, None);
    }
}

/// Appends an element; a stream that appears for the first time is padded with [`NONE`].
fn push_face(elements: &mut Elements, positions: &[u32], uvs: Option<&[u32]>, normals: Option<&[u32]>) {
    let before = elements.corner_positions.len();
    if elements.offsets.is_empty() {
        elements.offsets.to_mut().unwrap().push(0);
    }
    elements.corner_positions.to_mut().unwrap().extend_from_slice(positions);
    let after = elements.corner_positions.len();
    elements.offsets.to_mut().unwrap().push(after as u32);
    for (stream, new) in [(&mut elements.corner_uvs, uvs), (&mut elements.corner_normals, normals)] {
        if new.is_none() && stream.is_empty() {
            continue;
        }
        let stream = stream.to_mut().unwrap();
        stream.resize(before, NONE);
        stream.extend_from_slice(new.unwrap_or(&[]));
        stream.resize(after, NONE);
    }
}

/// Describes the first rule of the model that a scene violates. Returns `None` for a valid scene.
///
/// Every scene that a reader returns must pass, for any input.
///
/// ```
/// let mut scene = polyhaul_testkit::scene::boxes(1);
/// scene.meshes[0].faces.corner_positions.to_mut().unwrap()[0] = 8;
/// assert!(polyhaul_testkit::scene::broken_rule(&scene).is_some());
/// ```
pub fn broken_rule(scene: &Scene) -> Option<String> {
    let mesh =
        scene.meshes.iter().enumerate().find_map(|(index, mesh)| {
            broken_mesh(mesh, scene.materials.len()).map(|what| format!("mesh {index}: {what}"))
        });
    let object =
        |(index, object): (usize, &Object)| broken_object(scene, object).map(|what| format!("object {index}: {what}"));
    mesh.or_else(|| scene.objects.iter().enumerate().find_map(object))
}

/// Rules of objects: ranges lie inside their mesh.
fn broken_object(scene: &Scene, object: &Object) -> Option<&'static str> {
    let Some(mesh) = scene.meshes.get(object.mesh) else {
        return Some("there is no such mesh");
    };
    if !before(object.start, object.end) {
        return Some("it ends before it starts");
    }
    (!before(object.end, mesh.counts())).then_some("it ends behind the mesh")
}

/// Rules of meshes: array lengths agree, and indices are in range.
fn broken_mesh(mesh: &Mesh, materials: usize) -> Option<String> {
    let positions = mesh.positions.len();
    let optional = |count: usize| count == 0 || count == positions;
    let broken = |what: &str| Some(what.to_owned());
    if !optional(mesh.colors.len()) || !optional(mesh.position_weights.len()) {
        return broken("colours or weights are not one per position");
    }
    if !mesh.uv_depths.is_empty() && mesh.uv_depths.len() != mesh.uvs.len() {
        return broken("uv depths are not one per uv");
    }
    for (what, elements, min_corners) in [("face", &mesh.faces, 3), ("line", &mesh.lines, 2)] {
        if let Some(problem) = broken_elements(mesh, elements, min_corners) {
            return Some(format!("{what}s: {problem}"));
        }
    }
    if !mesh.lines.corner_normals.is_empty() {
        return broken("lines have normals");
    }
    let controls = mesh.curves.iter().flat_map(|curve| &curve.control_points);
    if mesh.points.iter().chain(controls).any(|&index| index as usize >= positions) {
        return broken("a point or a curve uses a position that does not exist");
    }
    let runs = [
        ("material", &mesh.material_runs, materials),
        ("group", &mesh.group_runs, mesh.groups.len()),
        ("smoothing", &mesh.smoothing_runs, usize::MAX),
    ];
    runs.into_iter().find_map(|(what, runs, values)| {
        broken_runs(mesh, runs, values).map(|problem| format!("{what} runs: {problem}"))
    })
}

/// Rules of faces and lines: offsets increase from 0 to the number of corners, in steps of at least `min_corners`.
fn broken_elements(mesh: &Mesh, elements: &Elements, min_corners: u32) -> Option<&'static str> {
    let corners = elements.corner_positions.len();
    if elements.offsets.is_empty() {
        return (corners > 0).then_some("there are corners without offsets");
    }
    if elements.offsets[0] != 0 || elements.offsets.last() != Some(&(corners as u32)) {
        return Some("offsets do not span the corners");
    }
    if elements.offsets.windows(2).any(|pair| pair[1] < pair[0] || pair[1] - pair[0] < min_corners) {
        return Some("an element has too few corners");
    }
    if elements.corner_positions.iter().any(|&index| index as usize >= mesh.positions.len()) {
        return Some("a corner uses a position that does not exist");
    }
    let streams = [(&elements.corner_uvs, mesh.uvs.len()), (&elements.corner_normals, mesh.normals.len())];
    for (stream, count) in streams {
        if !stream.is_empty() && stream.len() != corners {
            return Some("a stream has not one index per corner");
        }
        if stream.iter().any(|&index| index != NONE && index as usize >= count) {
            return Some("a corner uses a uv or a normal that does not exist");
        }
    }
    None
}

/// Rules of runs: they are sorted, and their values exist.
fn broken_runs(mesh: &Mesh, runs: &[Run], values: usize) -> Option<&'static str> {
    if runs.iter().any(|run| run.value != NONE && run.value as usize >= values) {
        return Some("a value does not exist");
    }
    if runs.windows(2).any(|pair| !before(pair[0].at, pair[1].at)) {
        return Some("they are not in order");
    }
    let last = runs.last()?;
    (!before(last.at, mesh.counts())).then_some("the last begins behind the mesh")
}

/// Returns whether no count of `first` exceeds that of `second`.
fn before(first: Counts, second: Counts) -> bool {
    first.to_array().iter().zip(second.to_array()).all(|(a, b)| *a <= b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_scenes_are_sound() {
        let scenes = [grid(7, 5), grid(1, 1), grid(0, 0), boxes(250), boxes(0), everything()];
        for (index, scene) in scenes.iter().enumerate() {
            assert_eq!(broken_rule(scene), None, "scene {index}");
        }
    }

    #[test]
    fn planted_faults_are_found() {
        let faults: [fn(&mut Scene); 12] = [
            |scene| scene.objects[1].mesh = 1,
            |scene| scene.objects[2].end.faces += 1,
            |scene| scene.objects[1].start.positions = 99,
            |scene| scene.meshes[0].colors.to_mut().unwrap().truncate(3),
            |scene| scene.meshes[0].uv_depths.to_mut().unwrap().truncate(1),
            |scene| scene.meshes[0].faces.corner_positions.to_mut().unwrap()[5] = 16,
            |scene| scene.meshes[0].faces.offsets.to_mut().unwrap()[3] -= 2,
            |scene| scene.meshes[0].faces.corner_normals.to_mut().unwrap().truncate(9),
            |scene| scene.meshes[0].lines.corner_uvs.to_mut().unwrap()[0] = 3,
            |scene| scene.meshes[0].points.to_mut().unwrap()[0] = 16,
            |scene| scene.meshes[0].material_runs[0].value = 2,
            |scene| scene.meshes[0].group_runs.swap(0, 2),
        ];
        for (index, fault) in faults.iter().enumerate() {
            let mut scene = everything();
            fault(&mut scene);
            assert!(broken_rule(&scene).is_some(), "fault {index}");
        }
    }
}
