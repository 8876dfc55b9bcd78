//! Blender's output is reproduced byte for byte; its options are the oracle for the library's options.

use super::support::*;
use polyhaul::WriteOptions;
use polyhaul::options::Dialect;
use polyhaul::options::{Axis, ObjWriteOptions, SceneWriteOptions};
use std::fs;

fn golden(name: &str) -> String {
    without_comments(&fs::read_to_string(data("blender").join(name)).unwrap())
}

/// Writes Blender's default scene with these options.
fn base_with(options: WriteOptions) -> String {
    text(&polyhaul::read(data("blender/opt_default.obj")).unwrap(), &with(options))
}

#[test]
fn files_come_back_byte_for_byte() {
    let folder = new_folder();
    let mut options = WriteOptions::default();
    // Blender writes a missing material without a name.
    options.scene.dialect = Dialect::Blender;
    for path in samples("blender") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let scene = polyhaul::read(&path).unwrap();
        let out = folder.join(name);
        polyhaul::Writer::new(&out).options(&options).scene(&scene).unwrap();
        let written = without_comments(&folder.text(name));
        assert!(written == golden(name), "{name}: {}", difference(&written, &golden(name)));
        let library = name.replace(".obj", ".mtl");
        if data("blender").join(&library).exists() {
            let written = without_comments(&folder.text(&library));
            assert!(written == golden(&library), "{library}: {}", difference(&written, &golden(&library)));
        } else {
            assert!(!out.with_file_name(&library).exists(), "{library}");
        }
    }
}

#[test]
fn a_library_is_the_same_for_any_threads() {
    let scene = polyhaul::read(data("blender/splash60.obj")).unwrap();
    let written = THREADS.map(|threads| {
        let folder = new_folder();
        let options = WriteOptions::default().with_run(run(threads, None));
        polyhaul::Writer::new(folder.join("splash60.obj")).options(&options).scene(&scene).unwrap();
        assert_eq!(folder.names(), ["splash60.mtl", "splash60.obj"]);
        (folder.text("splash60.mtl"), folder.text("splash60.obj"))
    });
    assert!(written.iter().all(|files| *files == written[0]));
}

#[test]
fn leaving_out_gives_what_blender_leaves_out() {
    let uv = WriteOptions::default().with_scene(SceneWriteOptions::default().with_uv(false));
    let normals = WriteOptions::default().with_scene(SceneWriteOptions::default().with_normals(false));
    let both = WriteOptions::default().with_scene(SceneWriteOptions::default().with_uv(false).with_normals(false));
    for (options, name) in [(uv, "opt_no_uv"), (normals, "opt_no_normals"), (both, "opt_no_uv_no_normals")] {
        let expected = golden(&format!("{name}.obj")).replace(name, "opt_default");
        let written = base_with(options);
        assert!(written == expected, "{name}: {}", difference(&written, &expected));
    }
}

#[test]
fn without_materials_no_line_names_one() {
    let options = WriteOptions::default().with_obj(ObjWriteOptions::default().with_materials(false));
    let written = base_with(options);
    assert!(lines(&written, "usemtl").is_empty() && lines(&written, "mtllib").is_empty());
    // Blender sorts faces by material only if it writes materials: the same lines in another order.
    let sorted = |text: &str, keyword: &str| {
        let mut sorted: Vec<String> = lines(text, keyword).into_iter().map(String::from).collect();
        sorted.sort();
        sorted
    };
    for keyword in ["o", "v", "vt", "f"] {
        assert_eq!(sorted(&written, keyword), sorted(&golden("opt_no_materials.obj"), keyword), "{keyword}");
    }
}

#[test]
fn material_groups_are_blenders() {
    let options = WriteOptions::default().with_obj(ObjWriteOptions::default().with_material_groups(true));
    let written = base_with(options);
    let expected = golden("opt_material_groups.obj").replace("opt_material_groups", "opt_default");
    assert!(written == expected, "{}", difference(&written, &expected));
}

#[test]
fn object_groups_are_blenders_but_for_the_name_of_the_mesh() {
    let options = WriteOptions::default().with_obj(ObjWriteOptions::default().with_object_groups(true));
    let written = base_with(options);
    let expected = golden("opt_object_groups.obj").replace("opt_object_groups", "opt_default");
    let rest = |text: &str| text.lines().filter(|line| !line.starts_with("g ")).collect::<Vec<_>>().join("\n");
    assert!(rest(&written) == rest(&expected), "{}", difference(&rest(&written), &rest(&expected)));
    for (written, expected) in lines(&written, "g").iter().zip(lines(&expected, "g")) {
        assert!(expected.starts_with(&format!("{written}_")), "{written}, {expected}");
    }
    assert_eq!(lines(&written, "g").len(), lines(&expected, "g").len());
}

#[test]
fn groups_and_colors_can_be_left_out_again() {
    let expected = golden("opt_default.obj");
    for (name, options) in [
        ("opt_vertex_groups", WriteOptions::default().with_obj(ObjWriteOptions::default().with_groups(false))),
        ("opt_colors", WriteOptions::default().with_scene(SceneWriteOptions::default().with_colors(false))),
    ] {
        let scene = polyhaul::read(data("blender").join(format!("{name}.obj"))).unwrap();
        let written = text(&scene, &with(options)).replace(name, "opt_default");
        assert!(written == expected, "{name}: {}", difference(&written, &expected));
    }
}

/// Blender rounds after transforming; the library transforms values that Blender rounded.
#[test]
fn axes_and_scale_are_blenders() {
    let axes = |forward_axis, up_axis| {
        WriteOptions::default()
            .with_scene(SceneWriteOptions::default().with_forward_axis(Some(forward_axis)).with_up_axis(Some(up_axis)))
    };
    let scale = WriteOptions::default().with_scene(SceneWriteOptions::default().with_global_scale(0.01));
    let cases = [
        ("opt_axis_y_up_z", axes(Axis::Y, Axis::Z)),
        ("opt_axis_negx_up_y", axes(Axis::NegativeX, Axis::Y)),
        ("opt_scale_0p01", scale),
    ];
    for (name, options) in cases {
        let written = base_with(options);
        let expected = golden(&format!("{name}.obj")).replace(name, "opt_default");
        assert_eq!(written.lines().count(), expected.lines().count());
        for (written, expected) in written.lines().zip(expected.lines()) {
            let number = |word: &str| word.parse::<f64>().ok();
            let near = |(a, b): (&str, &str)| match (number(a), number(b)) {
                (Some(a), Some(b)) if !expected.starts_with('f') => (a - b).abs() < 1.5e-4,
                _ => a == b,
            };
            let words = || written.split(' ').zip(expected.split(' '));
            assert!(words().all(near) && words().count() > 0, "{name}: {written}, {expected}");
        }
    }
}

#[test]
fn triangles_are_as_many_as_blenders() {
    let options = WriteOptions::default().with_scene(SceneWriteOptions::default().with_triangulate(true));
    let written = base_with(options);
    let expected = golden("opt_triangulated.obj");
    let faces = lines(&written, "f");
    assert!(faces.iter().all(|face| face.split(' ').count() == 4));
    assert_eq!(faces.len(), lines(&expected, "f").len());
    // Blender orders triangles differently, and everything that depends on them.
    for keyword in ["o", "v"] {
        assert_eq!(lines(&written, keyword), lines(&expected, keyword));
    }
}

#[test]
fn without_pbr_extensions_their_statements_are_gone() {
    let scene = polyhaul::read(data("blender/opt_pbr_extensions.obj")).unwrap();
    let written = |export_pbr_extensions| {
        let folder = new_folder();
        let options = with(
            WriteOptions::default().with_obj(ObjWriteOptions::default().with_pbr_extensions(export_pbr_extensions)),
        );
        polyhaul::Writer::new(folder.join("a.obj")).options(&options).scene(&scene).unwrap();
        folder.text(&folder.names().into_iter().find(|name| name.ends_with(".mtl")).unwrap())
    };
    let is_pbr =
        |line: &&str| ["Pr", "Pm", "Ps", "Pc", "Pcr", "aniso", "anisor"].contains(&line.split(' ').next().unwrap());
    let with_everything = written(true);
    let without = written(false);
    assert!(with_everything.lines().any(|line| is_pbr(&line)));
    let rest: Vec<_> = with_everything.lines().filter(|line| !is_pbr(line)).collect();
    assert_eq!(rest, without.lines().collect::<Vec<_>>());
}
