//! A slow writer of scenes, derived from the rules alone: the oracle of these tests.

use polyhaul::WriteOptions;
use polyhaul::model::{Axes, Axis, Domain, Elements, Mesh, NONE, Object, ObjectKind, Scene};
use polyhaul::options::{Digits, Smoothing};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

type Matrix = [[f32; 3]; 3];

/// The text of a scene, without comments.
pub fn write(scene: &Scene, options: &WriteOptions, library: Option<&str>) -> String {
    let mut out = String::new();
    if let Some(library) = library {
        writeln!(out, "mtllib {library}").unwrap();
    }
    let mut writer = Reference {
        scene,
        options,
        digits: options.obj.all_digits(&options.scene),
        out,
        before: [0; 3],
        is_unknown: false,
        left: [false; 2],
    };
    for object in &scene.objects {
        if scene.is_evaluated(object) {
            writer.evaluated(object);
            writer.is_unknown = true;
        } else {
            writer.as_read(object);
            // An object without faces ends no state.
            writer.left = [writer.is_unknown; 2];
        }
    }
    writer.out
}

struct Reference<'a> {
    scene: &'a Scene,
    options: &'a WriteOptions,
    /// Digits of positions, uvs, normals and colors.
    digits: [Digits; 4],
    out: String,
    /// The numbers of positions, uvs and normals written before this object.
    before: [usize; 3],
    /// Whether an evaluated object may have left state.
    is_unknown: bool,
    /// Whether smoothing and a material are in effect that an evaluated object may not inherit.
    left: [bool; 2],
}

/// Distinct values of an attribute as text, and the index of each corner.
struct Values {
    lines: Vec<String>,
    corners: Vec<Option<usize>>,
}

impl Reference<'_> {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn evaluated(&mut self, object: &Object) {
        let mesh = &self.scene.meshes[object.mesh];
        let frame = Frame::of(self.scene.axes, object, self.options);
        self.declare(object);
        for (number, &position) in mesh.positions.iter().enumerate() {
            let mut line = format!("v {}", joined(&frame.position(position), self.digits[0]));
            let is_color = |color: &&[f32; 4]| self.options.scene.colors && !color.iter().all(|c| c.is_nan());
            if let Some(color) = mesh.colors.get(number).filter(is_color) {
                write!(line, " {}", joined(&color[..3], self.digits[3])).unwrap();
            }
            self.line(&line);
        }
        let normals = self.normals(mesh, &frame);
        normals.lines.iter().for_each(|line| self.line(line));
        let uvs = self.uvs(mesh);
        uvs.lines.iter().for_each(|line| self.line(line));
        self.faces(object, mesh, &frame, &uvs, &normals);
        if mesh.faces.is_empty() && !mesh.lines.is_empty() {
            self.material_of_lines(object);
        }
        for element in 0..mesh.lines.len() {
            let corners = &mesh.lines.corner_positions[mesh.lines.corners(element)];
            let line: String = corners.iter().map(|&c| format!(" {}", self.before[0] + c as usize + 1)).collect();
            self.line(&format!("l{line}"));
        }
        let counts = [mesh.positions.len(), uvs.lines.len(), normals.lines.len()];
        self.before = [0, 1, 2].map(|i| self.before[i] + counts[i]);
    }

    fn declare(&mut self, object: &Object) {
        let name = if self.options.obj.object_groups {
            format!("{}_{}", object.name, object.mesh_name)
        } else {
            object.name.clone()
        };
        let keyword = if self.options.obj.object_groups || object.kind == ObjectKind::Group { "g" } else { "o" };
        self.line(&format!("{keyword} {}", blanks(&name)));
    }

    fn normals(&self, mesh: &Mesh, frame: &Frame) -> Values {
        let mut values = Values { lines: vec![], corners: vec![None; mesh.faces.corner_positions.len()] };
        if !self.options.scene.normals {
            return values;
        }
        let mut numbers = HashMap::new();
        let mut number = |value: u32| {
            let normal = frame.normal(mesh.normals[value as usize]);
            let text = || format!("vn {}", joined(&normal, self.digits[2]));
            place(&mut values.lines, &mut numbers, &normal, text)
        };
        // Vertices are numbered by their index; vertices without a face are skipped.
        let mut of_vertex = HashMap::new();
        if mesh.normal_domain == Domain::Vertex && !mesh.normals.is_empty() {
            let mut used = mesh.faces.corner_positions.to_vec();
            used.sort_unstable();
            used.dedup();
            of_vertex.extend(used.into_iter().map(|vertex| (vertex, number(vertex))));
        }
        for face in 0..mesh.faces.len() {
            let mut of_face = None;
            for corner in mesh.faces.corners(face) {
                let Some(value) = value_of(mesh, mesh.normal_domain, &mesh.faces.corner_normals, face, corner) else {
                    continue;
                };
                if mesh.normals.is_empty() {
                    continue;
                }
                values.corners[corner] = Some(match mesh.normal_domain {
                    Domain::Vertex => of_vertex[&value],
                    Domain::Face => *of_face.get_or_insert_with(|| number(value)),
                    Domain::Corner | Domain::Indexed => number(value),
                });
            }
        }
        values
    }

    fn uvs(&self, mesh: &Mesh) -> Values {
        let mut values = Values { lines: vec![], corners: vec![None; mesh.faces.corner_positions.len()] };
        if !self.options.scene.uv || mesh.uvs.is_empty() {
            return values;
        }
        let mut numbers = HashMap::new();
        if mesh.uv_domain == Domain::Vertex {
            return self.vertex_uvs(mesh, values);
        }
        for face in 0..mesh.faces.len() {
            let mut of_face = None;
            for corner in mesh.faces.corners(face) {
                let Some(value) = value_of(mesh, mesh.uv_domain, &mesh.faces.corner_uvs, face, corner) else {
                    continue;
                };
                let uv = mesh.uvs[value as usize];
                let text = || format!("vt {}", joined(&uv, self.digits[1]));
                let mut number = || place(&mut values.lines, &mut numbers, &uv, text);
                values.corners[corner] = Some(match mesh.uv_domain {
                    Domain::Face => *of_face.get_or_insert_with(number),
                    _ => number(),
                });
            }
        }
        values
    }

    fn vertex_uvs(&self, mesh: &Mesh, mut values: Values) -> Values {
        let mut numbers = HashMap::new();
        let mut used = mesh.faces.corner_positions.to_vec();
        used.sort_unstable();
        used.dedup();
        let mut number = |vertex: u32| {
            let uv = mesh.uvs[vertex as usize];
            place(&mut values.lines, &mut numbers, &uv, || format!("vt {}", joined(&uv, self.digits[1])))
        };
        let of_vertex: HashMap<u32, usize> = used.into_iter().map(|vertex| (vertex, number(vertex))).collect();
        values.corners = mesh.faces.corner_positions.iter().map(|vertex| Some(of_vertex[vertex])).collect();
        values
    }

    fn faces(&mut self, object: &Object, mesh: &Mesh, frame: &Frame, uvs: &Values, normals: &Values) {
        let slot = |face: usize| mesh.face_materials.get(face).copied().unwrap_or(0);
        let mut order: Vec<usize> = (0..mesh.faces.len()).collect();
        if self.options.obj.materials {
            order.sort_by_key(|&face| slot(face));
        }
        let smooth = smoothing(mesh, self.options);
        if let Some(&last) = order.last() {
            self.end_left(object, smooth.get(last).copied(), slot(last));
        }
        let mut last_smooth = None;
        let mut last_group = None;
        let mut last_slot = None;
        for face in order {
            if let Some(&smooth) = smooth.get(face) {
                if last_smooth != Some(smooth) {
                    self.line(&format!("s {smooth}"));
                }
                last_smooth = Some(smooth);
            }
            if self.options.obj.vertex_groups {
                let group = vertex_group(mesh, face).map_or("off", |group| &mesh.vertex_groups[group].name);
                if last_group.as_deref() != Some(group) {
                    self.line(&format!("g {group}"));
                }
                last_group = Some(group.to_owned());
            }
            if last_slot != Some(slot(face)) {
                self.material(object, slot(face));
            }
            last_slot = Some(slot(face));
            let mut corners: Vec<usize> = mesh.faces.corners(face).collect();
            if frame.is_mirrored() {
                corners[1..].reverse();
            }
            let corner = |&corner: &usize| {
                let position = self.before[0] + mesh.faces.corner_positions[corner] as usize + 1;
                let uv = uvs.corners[corner].map(|uv| self.before[1] + uv + 1);
                let normal = normals.corners[corner].map(|normal| self.before[2] + normal + 1);
                form(position, uv, normal)
            };
            let line: String = corners.iter().map(corner).collect();
            self.line(&format!("f{line}"));
        }
    }

    fn material(&mut self, object: &Object, slot: i32) {
        let Some(slots) = object.materials.as_ref().filter(|slots| !slots.is_empty()) else { return };
        let material = usize::try_from(slot).ok().and_then(|slot| *slots.get(slot)?);
        let name = blanks(material.map_or("", |material| &self.scene.materials[material].name));
        if self.options.obj.material_groups {
            self.line(&format!("g {}_{name}", blanks(&object.name)));
        }
        self.state_material(&name);
    }

    /// Ends what earlier objects left and this one does not set. `smooth` and `slot` are those of its last face.
    fn end_left(&mut self, object: &Object, smooth: Option<u32>, slot: i32) {
        let slots = object.materials.as_deref().unwrap_or_default();
        let [is_smooth, has_material] = self.left;
        if is_smooth && smooth.is_none() && self.options.obj.smoothing != Smoothing::None {
            self.line("s 0");
        }
        if has_material && slots.is_empty() {
            if self.options.obj.material_groups {
                self.line(&format!("g {}_", blanks(&object.name)));
            }
            self.state_material("");
        }
        let material = usize::try_from(slot).ok().and_then(|slot| *slots.get(slot)?);
        self.left = [smooth.is_some_and(|value| value != 0), material.is_some()];
    }

    /// Lines without faces have the material of the first slot; otherwise they end what earlier objects left.
    fn material_of_lines(&mut self, object: &Object) {
        let material = object.materials.as_ref().and_then(|slots| *slots.first()?);
        let has_material = material.is_some_and(|material| !self.scene.materials[material].name.is_empty());
        if has_material {
            self.material(object, 0);
        } else if self.left[1] {
            if self.options.obj.material_groups {
                self.line(&format!("g {}_", blanks(&object.name)));
            }
            self.state_material("");
        }
        self.left[1] = has_material;
    }

    /// A scene without a named material has no `usemtl`; otherwise a face without a material cancels the previous
    /// `usemtl`.
    fn state_material(&mut self, name: &str) {
        let has_names = self.scene.materials.iter().any(|material| !material.name.is_empty());
        if self.options.obj.materials && has_names {
            let stated = if name.is_empty() { "(null)" } else { name };
            self.line(&format!("usemtl {stated}"));
        }
    }

    /// Ends the state of previous objects, which objects read from files must not inherit.
    fn reset(&mut self, object: &Object) {
        if self.options.obj.smoothing != Smoothing::None {
            self.line("s 0");
        }
        if self.options.obj.groups && !self.options.obj.object_groups {
            self.line("g");
        }
        if self.options.obj.material_groups {
            self.line(&format!("g {}_", object.name));
        }
        self.state_material("");
    }

    /// An object read from a file: without runs, a whole mesh, all corners with or without attributes.
    fn as_read(&mut self, object: &Object) {
        let mesh = &self.scene.meshes[object.mesh];
        let keyword = if self.options.obj.object_groups { "g" } else { "o" };
        self.line(&format!("{keyword} {}", object.name));
        let turn = axes_matrix(self.scene.axes, self.options);
        for position in &mesh.positions {
            let position = turned(&turn, *position).map(|c| c * self.options.scene.global_scale as f32);
            self.line(&format!("v {}", joined(&position, self.digits[0])));
        }
        let has_uvs = self.options.scene.uv;
        let has_normals = self.options.scene.normals;
        for normal in mesh.normals.iter().filter(|_| has_normals) {
            self.line(&format!("vn {}", joined(&turned(&turn, *normal), self.digits[2])));
        }
        for uv in mesh.uvs.iter().filter(|_| has_uvs) {
            self.line(&format!("vt {}", joined(uv, self.digits[1])));
        }
        let index = |on: bool, stream: &[u32], corner: usize, before: usize| {
            stream.get(corner).filter(|_| on).map(|&index| before + index as usize + 1)
        };
        if !mesh.faces.is_empty() && std::mem::take(&mut self.is_unknown) {
            self.reset(object);
        }
        for face in 0..mesh.faces.len() {
            let Elements { corner_positions, corner_uvs, corner_normals, .. } = &mesh.faces;
            let corner = |corner: usize| {
                let uv = index(has_uvs, corner_uvs, corner, self.before[1]);
                let normal = index(has_normals, corner_normals, corner, self.before[2]);
                form(self.before[0] + corner_positions[corner] as usize + 1, uv, normal)
            };
            let line: String = mesh.faces.corners(face).map(corner).collect();
            self.line(&format!("f{line}"));
        }
        let counts = [
            mesh.positions.len(),
            if has_uvs { mesh.uvs.len() } else { 0 },
            if has_normals { mesh.normals.len() } else { 0 },
        ];
        self.before = [0, 1, 2].map(|i| self.before[i] + counts[i]);
    }
}

fn form(position: usize, uv: Option<usize>, normal: Option<usize>) -> String {
    match (uv, normal) {
        (Some(uv), Some(normal)) => format!(" {position}/{uv}/{normal}"),
        (Some(uv), None) => format!(" {position}/{uv}"),
        (None, Some(normal)) => format!(" {position}//{normal}"),
        (None, None) => format!(" {position}"),
    }
}

/// Index of a corner's value among an attribute's values.
fn value_of(mesh: &Mesh, domain: Domain, stream: &[u32], face: usize, corner: usize) -> Option<u32> {
    match domain {
        Domain::Indexed => stream.get(corner).copied().filter(|&index| index != NONE),
        Domain::Corner => Some(corner as u32),
        Domain::Vertex => Some(mesh.faces.corner_positions[corner]),
        Domain::Face => Some(face as u32),
    }
}

/// Line of a value: the first equal one, so that -0 equals 0, and NaN equals nothing else.
fn place(
    lines: &mut Vec<String>,
    numbers: &mut HashMap<Vec<u32>, usize>,
    value: &[f32],
    text: impl Fn() -> String,
) -> usize {
    let key: Vec<u32> = value.iter().map(|c| (c + 0.0).to_bits()).collect();
    let is_number = value.iter().all(|c| !c.is_nan());
    if let Some(&line) = numbers.get(&key).filter(|_| is_number) {
        return line;
    }
    lines.push(text());
    numbers.insert(key, lines.len() - 1);
    lines.len() - 1
}

/// The `s` value of each face; flat if unknown.
fn smoothing(mesh: &Mesh, options: &WriteOptions) -> Vec<u32> {
    if options.obj.smoothing == Smoothing::None {
        return vec![];
    }
    let is_smooth = |face: usize| mesh.face_smooth.get(face).is_some_and(|&flag| flag != 0);
    let smooth: Vec<bool> = (0..mesh.faces.len()).map(is_smooth).collect();
    if options.obj.smoothing == Smoothing::Flags {
        let smooth = if mesh.face_smooth.is_empty() { vec![] } else { smooth };
        return smooth.into_iter().map(u32::from).collect();
    }
    let joins = joins(mesh, &smooth);
    let groups = smoothing_groups(&joins, &smooth);
    let values = match options.obj.smoothing {
        Smoothing::BitFlags => bits(mesh, &joins, &groups),
        _ => groups,
    };
    values.into_iter().zip(smooth).map(|(value, smooth)| if smooth { value } else { 0 }).collect()
}

fn key(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

/// Edges that join two smooth faces, with their faces.
fn joins(mesh: &Mesh, smooth: &[bool]) -> HashMap<(u32, u32), Vec<usize>> {
    let sharp: HashSet<_> = mesh.sharp_edges.iter().map(|&[a, b]| key(a, b)).collect();
    let mut users: HashMap<(u32, u32), Vec<usize>> = HashMap::new();
    for face in 0..smooth.len() {
        let corners = &mesh.faces.corner_positions[mesh.faces.corners(face)];
        for (i, &a) in corners.iter().enumerate() {
            users.entry(key(a, corners[(i + 1) % corners.len()])).or_default().push(face);
        }
    }
    users.retain(|edge, faces| faces.len() == 2 && !sharp.contains(edge) && faces.iter().all(|&face| smooth[face]));
    users
}

/// Connected components of faces, numbered from 1 in the order of their first face; each flat face is a component.
fn smoothing_groups(joins: &HashMap<(u32, u32), Vec<usize>>, smooth: &[bool]) -> Vec<u32> {
    let mut groups = vec![0; smooth.len()];
    let mut count = 0;
    for first in 0..smooth.len() {
        if groups[first] != 0 {
            continue;
        }
        count += 1;
        groups[first] = count;
        if !smooth[first] {
            continue;
        }
        let mut grows = true;
        while std::mem::take(&mut grows) {
            for faces in joins.values() {
                if faces.iter().any(|&face| groups[face] == count) {
                    for &face in faces.iter() {
                        grows |= groups[face] == 0;
                        groups[face] = count;
                    }
                }
            }
        }
    }
    groups
}

/// For each face, the lowest bit that no earlier group has at a position of an edge where the face's group ends.
fn bits(mesh: &Mesh, joins: &HashMap<(u32, u32), Vec<usize>>, groups: &[u32]) -> Vec<u32> {
    let count = groups.iter().max().copied().unwrap_or(0);
    let positions = |group: u32| {
        let faces = (0..groups.len()).filter(move |&face| groups[face] == group);
        faces.flat_map(|face| mesh.faces.corner_positions[mesh.faces.corners(face)].to_vec())
    };
    let borders = |group: u32| {
        let faces = (0..groups.len()).filter(move |&face| groups[face] == group);
        let edges = faces.flat_map(|face| {
            let corners = &mesh.faces.corner_positions[mesh.faces.corners(face)];
            (0..corners.len()).map(|i| [corners[i], corners[(i + 1) % corners.len()]])
        });
        edges.filter(|&[a, b]| !joins.contains_key(&key(a, b))).flatten()
    };
    let mut taken: HashMap<u32, u32> = HashMap::new();
    let mut bit_of = vec![0; count as usize + 1];
    for group in 1..=count {
        let mask = borders(group).fold(0, |mask, position| mask | taken.get(&position).copied().unwrap_or(0));
        let bit = (0..32).map(|bit| 1 << bit).find(|bit| mask & bit == 0).unwrap_or(0);
        bit_of[group as usize] = bit;
        positions(group).for_each(|position| *taken.entry(position).or_default() |= bit);
    }
    groups.iter().map(|&group| bit_of[group as usize]).collect()
}

/// The group with the largest weight on the corners of a face.
fn vertex_group(mesh: &Mesh, face: usize) -> Option<usize> {
    let mut best: Option<(usize, f32)> = None;
    for (number, group) in mesh.vertex_groups.iter().enumerate() {
        let mut sum = 0.0;
        let mut is_member = false;
        for corner in mesh.faces.corners(face) {
            let weight = group.weights[mesh.faces.corner_positions[corner] as usize];
            if !weight.is_nan() {
                sum += weight;
                is_member = true;
            }
        }
        if is_member && best.is_none_or(|(_, max)| sum > max) {
            best = Some((if sum > 0.0 { number } else { 0 }, sum));
        }
    }
    best.map(|(number, _)| number)
}

/// Transform of an object in the file.
struct Frame {
    rows: Matrix,
    at: [f32; 3],
    normals: Matrix,
    determinant: f32,
}

impl Frame {
    fn of(axes: Axes, object: &Object, options: &WriteOptions) -> Frame {
        let turn = axes_matrix(axes, options);
        let identity = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
        let m = object.transform.unwrap_or(identity).map(|row| row.map(|entry| entry as f32));
        let entry = |a: [f32; 3], j: usize| a[0] * m[0][j] + a[1] * m[1][j] + a[2] * m[2][j];
        let r = turn.map(|a| [entry(a, 0), entry(a, 1), entry(a, 2)]);
        let at = turn.map(|a| entry(a, 3));
        let cofactor = |i: usize, j: usize| {
            let i1 = (i + 1) % 3;
            let i2 = (i + 2) % 3;
            let j1 = (j + 1) % 3;
            let j2 = (j + 2) % 3;
            r[i1][j1] * r[i2][j2] - r[i1][j2] * r[i2][j1]
        };
        let determinant = cofactor(0, 0) * r[0][0] + (cofactor(1, 0) * r[1][0] + cofactor(2, 0) * r[2][0]);
        let inverse = 1.0 / determinant;
        let normals = [0, 1, 2].map(|i| [0, 1, 2].map(|j| cofactor(i, j) * inverse));
        let scaled = |part: f32| part * options.scene.global_scale as f32;
        Frame { rows: r.map(|row| row.map(scaled)), at: at.map(|entry| scaled(entry) + 0.0), normals, determinant }
    }

    fn is_mirrored(&self) -> bool {
        self.determinant < 0.0
    }

    fn position(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        [0, 1, 2].map(|i| x * self.rows[i][0] + y * self.rows[i][1] + z * self.rows[i][2] + self.at[i])
    }

    /// Rotated, normalized and rounded.
    fn normal(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let turned = self.normals.map(|row| x * row[0] + y * row[1] + z * row[2]);
        let square = turned[0] * turned[0] + turned[1] * turned[1] + turned[2] * turned[2];
        let unit = if square > 1e-35 { turned.map(|c| c / square.sqrt()) } else { [0.0; 3] };
        unit.map(|c| (1e4 * c - 0.5).ceil() / 1e4)
    }
}

fn vector(axis: Axis) -> [f32; 3] {
    match axis {
        Axis::X => [1.0, 0.0, 0.0],
        Axis::Y => [0.0, 1.0, 0.0],
        Axis::Z => [0.0, 0.0, 1.0],
        Axis::NegativeX => [-1.0, 0.0, 0.0],
        Axis::NegativeY => [0.0, -1.0, 0.0],
        Axis::NegativeZ => [0.0, 0.0, -1.0],
    }
}

/// Columns: forward, up, and forward x up.
fn basis(forward: Axis, up: Axis) -> Matrix {
    let f = vector(forward);
    let u = vector(up);
    [f, u, [f[1] * u[2] - f[2] * u[1], f[2] * u[0] - f[0] * u[2], f[0] * u[1] - f[1] * u[0]]]
}

/// Rotation from the basis of the scene to that of the file.
fn axes_matrix(axes: Axes, options: &WriteOptions) -> Matrix {
    let file = options.scene.axes().unwrap().unwrap_or(Axes::OBJ);
    let from = basis(axes.forward, axes.up);
    let to = basis(file.forward, file.up);
    let entry = |i: usize, j: usize| (0..3).map(|k| to[k][i] * from[k][j]).sum::<f32>() + 0.0;
    [0, 1, 2].map(|i| [0, 1, 2].map(|j| entry(i, j)))
}

/// A rotation that permutes components and flips signs.
fn turned(turn: &Matrix, vector: [f32; 3]) -> [f32; 3] {
    turn.map(|row| {
        let from = row.iter().position(|&entry| entry != 0.0).unwrap();
        if row[from] < 0.0 { -vector[from] } else { vector[from] }
    })
}

fn blanks(name: &str) -> String {
    name.replace(' ', "_")
}

fn joined(values: &[f32], digits: Digits) -> String {
    let texts: Vec<_> = values.iter().map(|&value| number(value, digits)).collect();
    texts.join(" ")
}

/// C's `%.Nf`.
pub fn number(value: f32, digits: Digits) -> String {
    let Digits::Fixed(digits) = digits else { panic!("not in these tests") };
    if value.is_nan() {
        return "nan".into();
    }
    let scaled = f64::from(value) * 10f64.powi(i32::from(digits));
    // Far from a tie, every rounding rule has the same result.
    if value.is_infinite() || (scaled.fract().abs() - 0.5).abs() > 1e-3 {
        return format!("{value:.*}", usize::from(digits));
    }
    ties_to_even(value, usize::from(digits))
}

/// Rounds from all digits of the exact value; a float has at most 149 after the point.
fn ties_to_even(value: f32, digits: usize) -> String {
    let digits_of_value = format!("{:.160}", value.abs());
    let (kept_digits, rest) = digits_of_value.split_at(digits_of_value.find('.').unwrap() + 1 + digits);
    let mut kept_digits: Vec<u8> = kept_digits.bytes().collect();
    let half = format!("5{}", "0".repeat(rest.len() - 1));
    let is_odd = kept_digits.iter().rfind(|c| **c != b'.').is_some_and(|c| c % 2 == 1);
    if rest > half.as_str() || rest == half && is_odd {
        let mut place = kept_digits.len();
        loop {
            if place == 0 {
                kept_digits.insert(0, b'1');
                break;
            }
            place -= 1;
            match kept_digits[place] {
                b'.' => {}
                b'9' => kept_digits[place] = b'0',
                _ => {
                    kept_digits[place] += 1;
                    break;
                }
            }
        }
    }
    let text = String::from_utf8(kept_digits).unwrap();
    let sign = if value.is_sign_negative() { "-" } else { "" };
    format!("{sign}{}", text.trim_end_matches('.'))
}
