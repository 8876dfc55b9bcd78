//! Random scenes with everything that OBJ can store, in the order of a file.

use super::support::Random;
use polyhaul::model::{Array, Counts, Curve, Elements, Material, Mesh, NONE, Object, ObjectKind, Run, Scene};

/// Optional content of a scene beyond faces.
#[derive(Clone, Copy)]
pub struct SceneSpec {
    /// Number of objects of one mesh.
    pub objects: usize,
    /// Maximum number of elements per object, of all kinds together.
    pub things: usize,
    pub lines_and_points: bool,
    pub curves: bool,
    /// Whether corners of an element mix different indices.
    pub mixed: bool,
    /// Whether some objects are started by a `g`.
    pub group_objects: bool,
    /// Whether elements may precede the first change of state: then a line without a material can follow a face with
    /// one.
    pub late_state: bool,
}

pub const ALL: SceneSpec = SceneSpec {
    objects: 6,
    things: 60,
    lines_and_points: true,
    curves: true,
    mixed: true,
    group_objects: true,
    late_state: false,
};

const NAMES: [&str; 7] = ["a", "b c", "x#y", "\u{fc}ber \u{1f600}", "1 2 3", "v", "tab\there"];

/// A scene with one mesh, whose objects are consecutive.
pub fn scene(random: &mut Random, spec: SceneSpec) -> Scene {
    let mut maker = Maker { random: random.clone(), spec, mesh: Mesh::default(), sizes: Default::default() };
    let mut objects = Vec::new();
    maker.mesh.groups = NAMES.iter().map(|name| format!("group {name}")).collect();
    if !spec.late_state {
        maker.state(0);
        maker.state(1);
        maker.state(2);
    }
    for number in 0..maker.random.below(spec.objects + 1) {
        // A group directly after an `o` is a group of that object, not a separate object.
        let after_empty = objects.last().is_some_and(|object: &Object| object.start == object.end);
        let object = maker.object(number, spec.group_objects && !after_empty);
        objects.push(object);
    }
    maker.fill();
    *random = maker.random;
    let materials = NAMES.iter().map(|name| Material { name: (*name).into(), ..Material::default() }).collect();
    Scene { meshes: vec![maker.mesh], objects, materials, ..Scene::default() }
}

struct Maker {
    random: Random,
    spec: SceneSpec,
    mesh: Mesh,
    /// Number of corners of each face and line, whose indices can only be chosen at the end.
    sizes: [Vec<usize>; 2],
}

impl Maker {
    fn counts(&self) -> Counts {
        let faces = self.sizes[0].len() as u32;
        let lines = self.sizes[1].len() as u32;
        Counts { faces, lines, ..self.mesh.counts() }
    }

    fn object(&mut self, number: usize, may_be_group: bool) -> Object {
        let start = self.counts();
        let kind = match self.random.below(3) {
            0 if number == 0 => ObjectKind::Unnamed,
            1 if may_be_group => ObjectKind::Group,
            _ => ObjectKind::Object,
        };
        let mut name = if kind == ObjectKind::Unnamed { String::new() } else { format!("o{number}") };
        if kind == ObjectKind::Group {
            // Directly before its own positions, and before a group of its elements.
            let value = self.random.below(self.mesh.groups.len()) as u32;
            name = self.mesh.groups[value as usize].clone();
            self.mesh.group_runs.push(Run { at: start, value });
            self.position();
        } else if kind == ObjectKind::Unnamed {
            self.position();
        }
        for _ in 0..self.random.below(self.spec.things + 1) {
            self.thing();
        }
        Object { name, kind, start, end: self.counts(), ..Object::default() }
    }

    fn thing(&mut self) {
        let u = self.number();
        let v = self.number();
        let w = self.number();
        match self.random.below(20) {
            _ if self.mesh.positions.is_empty() => self.position(),
            0..5 => self.position(),
            5 => self.mesh.uvs.to_mut().unwrap().push([u, v]),
            6 => self.mesh.normals.to_mut().unwrap().push([u, v, w]),
            7..13 => {
                let size = 3 + self.random.below(4);
                self.sizes[0].push(size);
            }
            13 if self.spec.lines_and_points => {
                let size = 2 + self.random.below(4);
                self.sizes[1].push(size);
            }
            14 if self.spec.lines_and_points => self.mesh.points.to_mut().unwrap().push(0),
            15 if self.spec.curves && self.random.once_in(3) => self.curve(),
            kind => self.state(kind % 3),
        }
    }

    /// A binary fraction with few bits, which fixed digits preserve.
    fn number(&mut self) -> f32 {
        (self.random.below(4001) as f32 - 2000.0) / 16.0
    }

    fn position(&mut self) {
        let position = [self.number(), self.number(), self.number()];
        self.mesh.positions.to_mut().unwrap().push(position);
    }

    fn state(&mut self, kind: usize) {
        let at = self.counts();
        let value = self.random.below(NAMES.len()) as u32;
        match kind {
            0 => self.mesh.material_runs.push(Run { at, value }),
            1 => self.mesh.smoothing_runs.push(Run { at, value }),
            _ => {
                let value = if self.random.once_in(4) { NONE } else { value };
                self.mesh.group_runs.push(Run { at, value });
            }
        }
    }

    /// A curve over its own positions, and earlier ones.
    fn curve(&mut self) {
        let at = self.counts();
        (0..1 + self.random.below(5)).for_each(|_| self.position());
        let count = self.mesh.positions.len();
        let control_points = (0..1 + self.random.below(6)).map(|_| self.random.below(count) as u32).collect();
        let knots = (0..self.random.below(9)).map(|knot| knot as f32).collect();
        let degree = 1 + self.random.below(5) as u32;
        let rational = self.random.once_in(2);
        self.mesh.curves.push(Curve { degree, rational, range: [0.0, 4.5], control_points, knots, at });
    }

    /// Adds content that depends on the number of positions, uvs and normals.
    fn fill(&mut self) {
        let positions = self.mesh.positions.len();
        let uvs = self.mesh.uvs.len();
        let with_normals = !self.mesh.normals.is_empty() && !self.random.once_in(4);
        self.mesh.faces = self.elements(0, with_normals);
        self.mesh.lines = self.elements(1, false);
        let random = &mut self.random;
        self.mesh.points.to_mut().unwrap().iter_mut().for_each(|point| *point = random.below(positions) as u32);
        if random.once_in(2) {
            let mut color = || {
                let mut channel = || random.below(17) as f32 / 16.0;
                match [channel(), channel(), channel(), channel()] {
                    [0.0..0.2, ..] => [f32::NAN; 4],
                    [0.2..0.6, g, b, a] => [0.5, g, b, a],
                    [r, g, b, _] => [r, g, b, 1.0],
                }
            };
            self.mesh.colors = (0..positions).map(|_| color()).collect();
        }
        if random.once_in(2) {
            self.mesh.position_weights = (0..positions).map(|_| *random.pick(&[1.0, 0.5, 2.25])).collect();
        }
        if random.once_in(2) {
            self.mesh.uv_depths = (0..uvs).map(|_| *random.pick(&[0.0, 0.5, -1.25])).collect();
        }
    }

    fn elements(&mut self, kind: usize, with_normals: bool) -> Elements {
        let positions = self.mesh.positions.len();
        let uvs = self.mesh.uvs.len();
        let normals = self.mesh.normals.len();
        let with_uvs = uvs > 0 && !self.random.once_in(4);
        let mut elements = Elements::default();
        if !self.sizes[kind].is_empty() {
            elements.offsets.to_mut().unwrap().push(0);
        }
        for &size in &self.sizes[kind] {
            let random = &mut self.random;
            let has_uv = !random.once_in(3);
            let has_normal = !random.once_in(3);
            let mixed = self.spec.mixed && random.once_in(3);
            for _ in 0..size {
                let mut pick = |count: usize, has: bool| {
                    if has != (mixed && random.once_in(2)) { random.below(count) as u32 } else { NONE }
                };
                if with_uvs {
                    elements.corner_uvs.to_mut().unwrap().push(pick(uvs, has_uv));
                }
                if with_normals {
                    elements.corner_normals.to_mut().unwrap().push(pick(normals, has_normal));
                }
                elements.corner_positions.to_mut().unwrap().push(random.below(positions) as u32);
            }
            elements.offsets.to_mut().unwrap().push(elements.corner_positions.len() as u32);
        }
        elements
    }
}

/// Objects with their own elements, out of order, some of them twice, in up to three meshes.
pub fn scattered(random: &mut Random) -> Scene {
    let mut result = Scene::default();
    for mesh in 0..1 + random.below(3) {
        result.meshes.push(Mesh::default());
        for _ in 0..1 + random.below(4) {
            let expected = SceneSpec { objects: 1, things: 20, curves: false, group_objects: false, ..ALL };
            let part = scene(random, expected);
            let start = result.meshes[mesh].counts();
            append(&mut result.meshes[mesh], &part.meshes[0]);
            let name = format!("part {}", result.objects.len());
            let end = result.meshes[mesh].counts();
            result.objects.push(Object { name, kind: ObjectKind::Object, mesh, start, end, ..Object::default() });
            result.materials = part.materials;
        }
    }
    for _ in 0..random.below(3) {
        let again = random.below(result.objects.len());
        result.objects.push(result.objects[again].clone());
    }
    for i in (1..result.objects.len()).rev() {
        result.objects.swap(i, random.below(i + 1));
    }
    result
}

/// Appends the arrays of another mesh, which has the same groups.
fn append(mesh: &mut Mesh, other: &Mesh) {
    let base = mesh.counts();
    let positions = mesh.positions.len();
    let uvs = mesh.uvs.len();
    mesh.positions.to_mut().unwrap().extend(&other.positions);
    mesh.uvs.to_mut().unwrap().extend(&other.uvs);
    mesh.normals.to_mut().unwrap().extend(&other.normals);
    optional(&mut mesh.colors, &other.colors, positions, mesh.positions.len(), [f32::NAN; 4]);
    optional(&mut mesh.position_weights, &other.position_weights, positions, mesh.positions.len(), 1.0);
    optional(&mut mesh.uv_depths, &other.uv_depths, uvs, mesh.uvs.len(), 0.0);
    append_elements(&mut mesh.faces, &other.faces, base);
    append_elements(&mut mesh.lines, &other.lines, base);
    mesh.points.to_mut().unwrap().extend(other.points.iter().map(|index| index + base.positions));
    let moved = |run: &Run| Run { at: run.at.checked_add(base).unwrap(), value: run.value };
    mesh.material_runs.extend(other.material_runs.iter().map(moved));
    mesh.group_runs.extend(other.group_runs.iter().map(moved));
    mesh.smoothing_runs.extend(other.smoothing_runs.iter().map(moved));
    mesh.groups.clone_from(&other.groups);
}

fn append_elements(elements: &mut Elements, other: &Elements, base: Counts) {
    let before = elements.corner_positions.len();
    let after = before + other.corner_positions.len();
    if elements.offsets.is_empty() {
        elements.offsets.to_mut().unwrap().extend(other.offsets.first());
    }
    elements.offsets.to_mut().unwrap().extend(other.offsets.iter().skip(1).map(|offset| offset + before as u32));
    elements
        .corner_positions
        .to_mut()
        .unwrap()
        .extend(other.corner_positions.iter().map(|index| index + base.positions));
    let moved = |stream: &[u32], base: u32| -> Vec<u32> {
        stream.iter().map(|&index| if index == NONE { NONE } else { index + base }).collect()
    };
    optional(&mut elements.corner_uvs, &moved(&other.corner_uvs, base.uvs), before, after, NONE);
    optional(&mut elements.corner_normals, &moved(&other.corner_normals, base.normals), before, after, NONE);
}

/// Appends to an array that is empty or full; `missing` fills gaps.
fn optional<T: Copy>(values: &mut Array<T>, other: &[T], before: usize, after: usize, missing: T) {
    if !values.is_empty() || !other.is_empty() {
        let values = values.to_mut().unwrap();
        values.resize(before, missing);
        values.extend_from_slice(other);
        values.resize(after, missing);
    }
}
