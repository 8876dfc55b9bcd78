//! Scenes that break the rules of the model, one number at a time: never a panic, never an unreadable file.

use super::write_support::*;
use polyhaul::model::{Counts, Elements, NONE, Run, Scene};
use polyhaul::options::{ObjWriteOptions, SceneWriteOptions};
use polyhaul::{ErrorKind, WriteOptions};
use polyhaul_testkit::alloc;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// An endless loop fails early.
const MAX_BYTES: u64 = 1 << 30;

const TEXT: &str = "o a\nv 0 0 0 1 1 1\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0 1\nvt 1 1\nvn 0 0 1\nusemtl red\ng left\ns 1
f 1/1/1 2/2/1 3/1/1 4/2/1\nusemtl blue\ng right\ns 0\nf 1 2/2/1 3//1\nl 1/1 2/2\np 3 4\nusemtl red\nf 4 3 2
g b\nv 0 0 2 0.5\nv 1 0 2\nusemtl blue\nf 5 6 1\nl 5 6\nl 6 5 1\np 5
o c\ncstype bspline\ndeg 1\nv 0 0 3\nv 1 0 3\ncurv 0 1 -2 -1\nparm u 0 0 1 1\nend
cstype bspline\ndeg 1\nv 0 0 4\nv 1 0 4\ncurv 0 1 -2 -1\nparm u 0 0 1 1\nend\ng c\nf 7 8 9\n";

type Fields<'a> = Vec<(&'static str, &'a mut u32)>;

/// Every index, offset and count of a scene.
fn fields(scene: &mut Scene) -> Fields<'_> {
    let mut out = Vec::new();
    let mesh = &mut scene.meshes[0];
    for (elements, names) in [
        (&mut mesh.faces, ["face offsets", "face positions", "face uvs", "face normals"]),
        (&mut mesh.lines, ["line offsets", "line positions", "line uvs", "line normals"]),
    ] {
        let Elements { offsets, corner_positions, corner_uvs, corner_normals } = elements;
        for (name, stream) in names.into_iter().zip([offsets, corner_positions, corner_uvs, corner_normals]) {
            out.extend(stream.to_mut().unwrap().iter_mut().map(|index| (name, index)));
        }
    }
    out.extend(mesh.points.to_mut().unwrap().iter_mut().map(|index| ("points", index)));
    for curve in &mut mesh.curves {
        out.extend(curve.control_points.iter_mut().map(|index| ("control points", index)));
        out.push(("degree", &mut curve.degree));
        counts(&mut curve.at, "curve at", &mut out);
    }
    for (runs, names) in [
        (&mut mesh.material_runs, ["material runs", "material values"]),
        (&mut mesh.group_runs, ["group runs", "group values"]),
        (&mut mesh.smoothing_runs, ["smoothing runs", "smoothing values"]),
    ] {
        for Run { at, value } in runs {
            counts(at, names[0], &mut out);
            out.push((names[1], value));
        }
    }
    for object in &mut scene.objects {
        counts(&mut object.start, "object start", &mut out);
        counts(&mut object.end, "object end", &mut out);
    }
    out
}

fn counts<'a>(counts: &'a mut Counts, name: &'static str, out: &mut Fields<'a>) {
    let Counts { positions, uvs, normals, faces, lines, points, curves } = counts;
    out.extend([positions, uvs, normals, faces, lines, points, curves].map(|count| (name, count)));
}

type Cut = (&'static str, fn(&mut Scene));

/// Arrays with inconsistent lengths.
const CUTS: [Cut; 18] = [
    ("colors", |s| s.meshes[0].colors.to_mut().unwrap().truncate(1)),
    ("more colors", |s| s.meshes[0].colors.to_mut().unwrap().resize(99, [1.0; 4])),
    ("weights", |s| s.meshes[0].position_weights.to_mut().unwrap().truncate(1)),
    ("uv depths", |s| s.meshes[0].uv_depths.to_mut().unwrap().truncate(1)),
    ("positions", |s| s.meshes[0].positions.to_mut().unwrap().truncate(2)),
    ("all positions", |s| s.meshes[0].positions.to_mut().unwrap().clear()),
    ("uvs", |s| s.meshes[0].uvs.to_mut().unwrap().clear()),
    ("normals", |s| s.meshes[0].normals.to_mut().unwrap().clear()),
    ("face offsets", |s| s.meshes[0].faces.offsets.to_mut().unwrap().truncate(2)),
    ("one face offset", |s| s.meshes[0].faces.offsets.to_mut().unwrap().truncate(1)),
    ("more face offsets", |s| s.meshes[0].faces.offsets.to_mut().unwrap().extend([99, 100])),
    ("face positions", |s| s.meshes[0].faces.corner_positions.to_mut().unwrap().truncate(5)),
    ("face uvs", |s| s.meshes[0].faces.corner_uvs.to_mut().unwrap().truncate(5)),
    ("face normals", |s| s.meshes[0].faces.corner_normals.to_mut().unwrap().truncate(5)),
    ("line uvs", |s| s.meshes[0].lines.corner_uvs.to_mut().unwrap().truncate(1)),
    ("materials", |s| s.materials.clear()),
    ("groups", |s| s.meshes[0].groups.clear()),
    ("no control points", |s| s.meshes[0].curves[0].control_points.clear()),
];

/// Broken scenes, with the name of what is broken.
fn broken() -> Vec<(String, Scene)> {
    let mut sound = read(TEXT);
    let mut out = Vec::new();
    let values: Vec<u32> = fields(&mut sound).into_iter().map(|(_, value)| *value).collect();
    for (i, &value) in values.iter().enumerate() {
        for other in [0, 2, 11, value.wrapping_sub(1), value.wrapping_add(1), NONE - 1, NONE] {
            if other != value {
                let mut scene = sound.clone();
                let fields = fields(&mut scene);
                let (name, field) = fields.into_iter().nth(i).unwrap();
                *field = other;
                out.push((format!("{name}: number {i} is {other} and not {value}"), scene));
            }
        }
    }
    for (name, cut) in CUTS {
        let mut scene = sound.clone();
        cut(&mut scene);
        let counts = scene.meshes[0].counts();
        out.push((format!("{name}: cut"), scene.clone()));
        // Without objects, and with objects that end at the end of the mesh.
        scene.objects.iter_mut().for_each(|object| object.end = least(object.end, counts));
        scene.objects.iter_mut().for_each(|object| object.start = least(object.start, counts));
        out.push((format!("{name}: cut, objects too"), scene.clone()));
        scene.objects.clear();
        out.push((format!("{name}: cut, no objects"), scene));
    }
    out
}

fn least(a: Counts, b: Counts) -> Counts {
    let a = a.to_array();
    let b = b.to_array();
    Counts::from_array(std::array::from_fn(|i| a[i].min(b[i])))
}

fn variants() -> Vec<WriteOptions> {
    let groups = WriteOptions::default()
        .with_scene(SceneWriteOptions::default().with_uv(false))
        .with_obj(ObjWriteOptions::default().with_material_groups(true));
    let object_groups =
        WriteOptions::default().with_obj(ObjWriteOptions::default().with_object_groups(true).with_curves(false));
    let triangles = WriteOptions::default().with_scene(SceneWriteOptions::default().with_triangulate(true));
    let cut = WriteOptions::default().with_run(run(2, Some(64)));
    vec![plain(), cut, with(groups), with(object_groups), with(triangles)]
}

/// Faults by what was broken: their number, and the first.
type Faults = BTreeMap<String, (usize, String)>;

/// Faults of all broken scenes: those that panicked or returned a wrong kind of error, and those that were written as
/// unreadable files.
fn faults() -> &'static [Faults; 2] {
    static FAULTS: OnceLock<[Faults; 2]> = OnceLock::new();
    FAULTS.get_or_init(|| {
        alloc::cap(MAX_BYTES);
        let mut faults = [Faults::new(), Faults::new()];
        for (what, scene) in broken() {
            for options in variants() {
                if let Some((kind, fault)) = judge(&scene, &options) {
                    let (name, detail) = what.split_once(": ").unwrap();
                    let first = || (0, format!("{detail}: {fault}"));
                    faults[kind].entry(name.to_owned()).or_insert_with(first).0 += 1;
                }
            }
        }
        faults
    })
}

fn judge(scene: &Scene, options: &WriteOptions) -> Option<(usize, String)> {
    let written = match catch_unwind(AssertUnwindSafe(|| try_bytes(scene, options))) {
        Err(_) => return Some((0, "panics".into())),
        Ok(Err(error)) if matches!(error.kind(), ErrorKind::Usage | ErrorKind::Limit) => return None,
        Ok(Err(error)) => return Some((0, format!("{error:?}"))),
        Ok(Ok(written)) => written,
    };
    let line = |line: u64| written.split(|byte| *byte == b'\n').nth(line as usize - 1).map(String::from_utf8_lossy);
    let error = parse(written.as_slice()).err()?;
    Some((1, format!("{error}: `{}`", error.place().line.and_then(line).unwrap_or_default())))
}

#[test]
fn the_sound_scene_is_sound() {
    let _alone = crate::alone();
    let mut scene = read(TEXT);
    assert!(fields(&mut scene).len() > 200);
    let mesh = &scene.meshes[0];
    assert!(mesh.curves.len() == 2 && !mesh.colors.is_empty());
    assert!(!mesh.position_weights.is_empty() && !mesh.uv_depths.is_empty());
    for options in variants() {
        read(bytes(&scene, &options));
    }
}

/// An index out of range, a decreasing offset, runs out of order: an error or some output, but no panic and no endless
/// loop.
#[test]
fn nothing_panics() {
    let _alone = crate::alone();
    let [panics, _] = faults();
    assert!(panics.is_empty(), "{panics:#?}");
}

/// Scenes that are not rejected are written as readable files.
#[test]
fn what_is_written_can_be_read() {
    let _alone = crate::alone();
    let [_, unreadable] = faults();
    assert!(unreadable.is_empty(), "{unreadable:#?}");
}
