//! Formats the content of a scene, one line per element: equal for scenes with the same meaning.
//!
//! Runs become the state of each element, sections become lists, and indices are those of a file with consecutive
//! objects. Shares no code with the writer.

use polyhaul::model::{Counts, Elements, Mesh, NONE, Object, ObjectKind, Run, Scene};

type Key = fn(&Counts) -> u32;

/// Formats every object with all of its elements.
pub fn meaning(scene: &Scene) -> String {
    let objects = match scene.objects.as_slice() {
        [] => scene.meshes.iter().enumerate().map(|(number, mesh)| whole(number, mesh)).collect(),
        objects => objects.to_vec(),
    };
    let mut out = Vec::new();
    let mut written = [0u64; 3];
    for object in objects {
        let mesh = &scene.meshes[object.mesh];
        let start = streams(object.start);
        let end = streams(object.end);
        let bases: [i64; 3] = std::array::from_fn(|i| written[i] as i64 - i64::from(start[i]));
        out.push(format!("{:?} `{}`", object.kind, object.name));
        arrays(mesh, &object, &mut out);
        let from = object.start;
        let to = object.end;
        let say = Say { scene, mesh, bases };
        say.elements("face", &mesh.faces, from.faces..to.faces, |at| at.faces, &mut out);
        say.elements("line", &mesh.lines, from.lines..to.lines, |at| at.lines, &mut out);
        for point in from.points..to.points {
            let index = i64::from(mesh.points[point as usize]) + bases[0];
            out.push(format!("point {index} {}", say.state(|at| at.points, point)));
        }
        for curve in &mesh.curves[from.curves as usize..to.curves as usize] {
            let points: Vec<i64> = curve.control_points.iter().map(|&i| i64::from(i) + bases[0]).collect();
            let degree = curve.degree;
            let rational = curve.rational;
            let range = curve.range;
            let knots = &curve.knots;
            out.push(format!("curve {degree} {rational} {range:?} {points:?} {knots:?}"));
        }
        for i in 0..3 {
            written[i] += u64::from(end[i] - start[i]);
        }
    }
    out.join("\n")
}

fn whole(mesh: usize, arrays: &Mesh) -> Object {
    Object { kind: ObjectKind::Unnamed, mesh, end: arrays.counts(), ..Object::default() }
}

fn streams(counts: Counts) -> [u32; 3] {
    [counts.positions, counts.uvs, counts.normals]
}

fn arrays(mesh: &Mesh, object: &Object, out: &mut Vec<String>) {
    let start = object.start;
    let end = object.end;
    for i in start.positions as usize..end.positions as usize {
        let weight = mesh.position_weights.get(i).copied().unwrap_or(1.0);
        let color = mesh.colors.get(i).filter(|color| !color.iter().all(|c| c.is_nan()));
        // A position has a weight or a color, and colors in a file are opaque.
        let color = color.map(|color| &color[..3]);
        let weight = if color.is_some() { 1.0 } else { weight };
        out.push(format!("position {:?} {weight:?} {color:?}", mesh.positions[i]));
    }
    for i in start.uvs as usize..end.uvs as usize {
        let depth = mesh.uv_depths.get(i).copied().unwrap_or(0.0);
        out.push(format!("uv {:?} {depth:?}", mesh.uvs[i]));
    }
    for i in start.normals as usize..end.normals as usize {
        out.push(format!("normal {:?}", mesh.normals[i]));
    }
}

struct Say<'a> {
    scene: &'a Scene,
    mesh: &'a Mesh,
    bases: [i64; 3],
}

impl Say<'_> {
    fn elements(&self, what: &str, elements: &Elements, range: std::ops::Range<u32>, key: Key, out: &mut Vec<String>) {
        for index in range {
            let corner = |corner: usize| {
                let of = |stream: &[u32], base: i64| match stream.get(corner) {
                    None | Some(&NONE) => "-".to_owned(),
                    Some(&index) => (i64::from(index) + base).to_string(),
                };
                let position = i64::from(elements.corner_positions[corner]) + self.bases[0];
                let uv = of(&elements.corner_uvs, self.bases[1]);
                let normal = of(&elements.corner_normals, self.bases[2]);
                format!("{position}/{uv}/{normal}")
            };
            let corners: Vec<_> = elements.corners(index as usize).map(corner).collect();
            out.push(format!("{what} {} {}", corners.join(" "), self.state(key, index)));
        }
    }

    /// Material, group and smoothing group of an element; empty or off if unset.
    fn state(&self, key: Key, index: u32) -> String {
        let held = |runs: &[Run]| runs.iter().rfind(|run| key(&run.at) <= index).map(|run| run.value);
        let material = held(&self.mesh.material_runs).map_or("", |value| &self.scene.materials[value as usize].name);
        let group = held(&self.mesh.group_runs).filter(|&value| value != NONE);
        let group = group.map_or("", |value| &self.mesh.groups[value as usize]);
        let smoothing = held(&self.mesh.smoothing_runs).unwrap_or(0);
        format!("material `{material}` group `{group}` smoothing {smoothing}")
    }
}
