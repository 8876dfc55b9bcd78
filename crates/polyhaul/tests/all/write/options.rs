//! Every write option has its effect, and no other.

use super::support::*;
use crate::support::{scene_of, square};
use polyhaul::model::{Object, Scene};
use polyhaul::options::{Axis, Digits, ObjWriteOptions, SceneWriteOptions, Smoothing};
use polyhaul::{ErrorKind, WriteOptions};

const TEXT: &str = "mtllib all.mtl
o first
v 0 0.5 -2 1 0.5 0.25
v 1 0 0 1 0.5 0.25 0.5
v 1 1 0.125
v 0 1 0
v 0.1 0.2 0.3
vt 0 0
vt 1 0.1 0.5
vt 1 1
vn 0 0.6 -0.8
usemtl red
g left
s 3
f 1/1/1 2/2/1 3/3/1 4/1/1
usemtl blue
g right
s off
f 1/1 2/2 3/3
f 1//1 2//1 3//1
f 1/1/1 2 3//1
l 1/1 2/2
p 3
o knot
cstype rat bspline
deg 2
v 0 0 1 0.5
v 0 1 1
v 0 1 2
curv 0 1 -3 -2 -1
parm u 0 0 0 1 1 1
end
";

fn scene() -> Scene {
    read(TEXT)
}

/// The text with an option changed, and without.
fn both(change: impl FnOnce(&mut WriteOptions)) -> (String, String) {
    let mut options = WriteOptions::default();
    change(&mut options);
    (text(&scene(), &with(options)), text(&scene(), &plain()))
}

/// The text without lines that start with these keywords.
fn less(text: &str, keywords: &[&str]) -> String {
    let is_kept = |line: &&str| !keywords.contains(&line.split(' ').next().unwrap());
    text.lines().filter(is_kept).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_defaults_are_blenders() {
    let expected = "mtllib all.mtl
o first
v 0.000000 0.500000 -2.000000 1.0000 0.5000 0.2500
v 1.000000 0.000000 0.000000 1.0000 0.5000 0.2500
v 1.000000 1.000000 0.125000
v 0.000000 1.000000 0.000000
v 0.100000 0.200000 0.300000
vn 0.0000 0.6000 -0.8000
vt 0.000000 0.000000
vt 1.000000 0.100000 0.500000
vt 1.000000 1.000000
s 3
g left
usemtl red
f 1/1/1 2/2/1 3/3/1 4/1/1
s 0
g right
usemtl blue
f 1/1 2/2 3/3
f 1//1 2//1 3//1
f 1/1/1 2 3//1
l 1/1 2/2
p 3
o knot
cstype rat bspline
deg 2
v 0.000000 0.000000 1.000000 0.500000
v 0.000000 1.000000 1.000000
v 0.000000 1.000000 2.000000
curv 0.000000 1.000000 -3 -2 -1
parm u 0.000000 0.000000 0.000000 1.000000 1.000000 1.000000
end
";
    let written = text(&scene(), &plain());
    assert!(written == expected, "{}", difference(&written, expected));
}

#[test]
fn uvs_can_be_left_out() {
    let (changed, usual) = both(|options| options.scene.uv = false);
    let corners = usual.replace("1/1/1 2/2/1 3/3/1 4/1/1", "1//1 2//1 3//1 4//1").replace("1/1 2/2 3/3", "1 2 3");
    let expected = less(&corners, &["vt"]).replace("1/1/1 2 3//1", "1//1 2 3//1").replace("1/1 2/2", "1 2");
    assert_eq!(changed, expected);
}

#[test]
fn normals_can_be_left_out() {
    let (changed, usual) = both(|options| options.scene.normals = false);
    let corners = usual.replace("1/1/1 2/2/1 3/3/1 4/1/1", "1/1 2/2 3/3 4/1").replace("1//1 2//1 3//1", "1 2 3");
    assert_eq!(changed, less(&corners, &["vn"]).replace("1/1/1 2 3//1", "1/1 2 3"));
}

#[test]
fn lines_of_one_keyword_can_be_left_out() {
    let (changed, usual) = both(|options| options.obj.materials = false);
    assert_eq!(changed, less(&usual, &["usemtl", "mtllib"]));
    let (changed, usual) = both(|options| options.obj.groups = false);
    assert_eq!(changed, less(&usual, &["g"]));
    let (changed, usual) = both(|options| options.obj.smoothing = Smoothing::None);
    assert_eq!(changed, less(&usual, &["s"]));
}

#[test]
fn colors_can_be_left_out() {
    let (changed, usual) = both(|options| options.scene.colors = false);
    assert_eq!(changed, usual.replace(" 1.0000 0.5000 0.2500 0.5000\n", "\n").replace(" 1.0000 0.5000 0.2500\n", "\n"));
}

/// Positions of curves are kept: other elements may use them.
#[test]
fn curves_can_be_left_out() {
    let (changed, usual) = both(|options| options.obj.curves = false);
    assert_eq!(changed, less(&usual, &["cstype", "deg", "curv", "parm", "end"]));
}

#[test]
fn objects_can_be_groups() {
    let (changed, usual) = both(|options| options.obj.object_groups = true);
    assert_eq!(changed, less(&usual, &["g"]).replace("o first", "g first").replace("o knot", "g knot"));
}

#[test]
fn materials_can_be_groups() {
    let (changed, usual) = both(|options| options.obj.material_groups = true);
    let expected =
        usual.replace("usemtl red", "g first_red\nusemtl red").replace("usemtl blue", "g first_blue\nusemtl blue");
    assert_eq!(changed, expected);
}

#[test]
fn triangles_need_no_other_positions() {
    let (changed, usual) = both(|options| options.scene.triangulate = true);
    assert_eq!(less(&changed, &["f"]), less(&usual, &["f"]));
    let faces = lines(&changed, "f");
    assert_eq!(faces.len(), 5);
    assert!(faces.iter().all(|face| face.split(' ').count() == 4), "{faces:?}");
    assert_eq!(&faces[2..], &lines(&usual, "f")[1..]);
}

#[test]
fn digits_are_those_of_their_kind() {
    let digits = |places: usize| if places == 13 { Digits::Shortest } else { Digits::Fixed(places as u8) };
    let number = |value: f32, places: usize| match places {
        13 => value.to_string(),
        _ => format!("{value:.places$}"),
    };
    for places in 0..=13 {
        let obj = WriteOptions::default().with_obj(
            ObjWriteOptions::default()
                .with_position_digits(Some(digits(places)))
                .with_uv_digits(Some(digits((places + 1) % 14)))
                .with_normal_digits(Some(digits((places + 2) % 14)))
                .with_color_digits(Some(digits((places + 3) % 14))),
        );
        let written = text(&scene(), &with(obj));
        let line = |keyword: &str, parts: &[(f32, usize)]| {
            let numbers: String =
                parts.iter().map(|&(value, shift)| format!(" {}", number(value, (places + shift) % 14))).collect();
            format!("\n{keyword}{numbers}\n")
        };
        for expected in [
            line("v", &[(0.0, 0), (0.5, 0), (-2.0, 0), (1.0, 3), (0.5, 3), (0.25, 3)]),
            line("v", &[(0.1, 0), (0.2, 0), (0.3, 0)]),
            line("v", &[(0.0, 0), (0.0, 0), (1.0, 0), (0.5, 0)]),
            line("vt", &[(1.0, 1), (0.1, 1), (0.5, 1)]),
            line("vn", &[(0.0, 2), (0.6, 2), (-0.8, 2)]),
        ] {
            assert!(written.contains(&expected), "{places} places: {expected}{written}");
        }
    }
}

#[test]
fn more_digits_than_there_are_do_no_harm() {
    for places in [13, 100, 255] {
        let options = with(
            WriteOptions::default()
                .with_obj(ObjWriteOptions::default().with_position_digits(Some(Digits::Fixed(places)))),
        );
        match try_bytes(&scene(), &options) {
            Ok(bytes) => drop(read(bytes)),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Usage),
        }
    }
}

#[test]
fn axes_are_turned_and_positions_scaled() {
    let turned = |forward_axis, up_axis| {
        text(
            &scene(),
            &with(WriteOptions::default().with_scene(
                SceneWriteOptions::default().with_forward_axis(Some(forward_axis)).with_up_axis(Some(up_axis)),
            )),
        )
    };
    let written = turned(Axis::Y, Axis::Z);
    assert!(written.contains("\nv 0.000000 2.000000 0.500000 1.0000 0.5000 0.2500\n"), "{written}");
    assert!(written.contains("\nvn 0.0000 0.8000 0.6000\n"), "{written}");
    let (changed, usual) = both(|options| options.scene.global_scale = 10.0);
    assert!(
        changed.contains("\nv 1.000000 2.000000 3.000000\n") && changed.contains("\nvn 0.0000 0.6000 -0.8000\n"),
        "{changed}"
    );
    assert_eq!(less(&changed, &["v"]), less(&usual, &["v"]));
    let before = scene();
    let options = WriteOptions::default().with_scene(
        SceneWriteOptions::default()
            .with_up_axis(Some(Axis::Z))
            .with_forward_axis(Some(Axis::X))
            .with_triangulate(true),
    );
    bytes(&before, &with(options));
    assert_same(&before, &scene(), "the caller's scene is left alone");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = new_folder();
    let old = folder.file("a.obj", "old").unwrap();
    let forward = SceneWriteOptions::default().with_forward_axis(Some(Axis::Y));
    let both = forward.with_up_axis(Some(Axis::NegativeY));
    let mut refused = [forward, both].map(|scene| WriteOptions::default().with_scene(scene)).to_vec();
    for global_scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused.push(WriteOptions::default().with_scene(SceneWriteOptions::default().with_global_scale(global_scale)));
    }
    let object = Object { materials: Some(Vec::new()), end: square().counts(), ..Object::default() };
    let evaluated = Scene { objects: vec![object], ..scene_of(square()) };
    for options in refused {
        for scene in [&scene(), &evaluated] {
            let error = polyhaul::Writer::new(&old).options(&with(options.clone())).scene(scene).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage);
        }
    }
    let error = polyhaul::write(&scene(), folder.join("a.docx")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert_eq!((folder.names(), folder.text("a.obj")), (vec!["a.obj".to_owned()], "old".to_owned()));
}

/// Chunks of odd sizes, and almost no memory.
#[test]
fn odd_sizes_do_no_harm() {
    let expected = bytes(&scene(), &plain());
    for chunk_bytes in [0, 1, 1 << 30, usize::MAX / 4, usize::MAX / 2, usize::MAX] {
        for memory_limit in [0, 1, u64::MAX] {
            for threads in [0, 1, 2, 100_000] {
                let run = run(threads, Some(chunk_bytes)).with_memory_limit(memory_limit);
                let options = WriteOptions::default().with_run(run);
                assert!(bytes(&scene(), &options) == expected, "{chunk_bytes} {memory_limit} {threads}");
            }
        }
    }
}
