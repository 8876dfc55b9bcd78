//! Writes pbrt scenes and reads them back, for any threads, pages and files.

mod instances;
#[cfg(target_os = "linux")]
mod killed;
mod meshes;
mod scopes;

use crate::support::{data, run, try_written};
use polyhaul::model::Scene;
use polyhaul::options::{PbrtMeshes, PbrtWriteOptions, RunOptions};
use polyhaul::report::Moved;
use polyhaul::{Format, Input, Output, ReadOptions, Reader, WriteOptions, Writer};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::pbrt::{self, Spec};

fn read(input: Input) -> Scene {
    let options = ReadOptions::default().with_format(Some(Format::Pbrt)).with_load_meshes(false);
    Reader::new(input).options(&options).scene().unwrap_or_else(|error| panic!("{error}")).value
}

fn read_text(text: &[u8]) -> Scene {
    read(Input::Memory(text.to_vec(), "scene.pbrt".into()))
}

fn write(scene: &Scene, style: PbrtWriteOptions, run: RunOptions) -> Vec<u8> {
    let options = WriteOptions::default().with_format(Some(Format::Pbrt)).with_pbrt(style).with_run(run);
    try_written(scene, &options).unwrap().0
}

fn compact() -> PbrtWriteOptions {
    PbrtWriteOptions::default().with_compact(true)
}

/// Writes a scene that was read, and checks that a second pass does not change it.
#[track_caller]
fn comes_back(scene: &Scene) -> String {
    let mut texts = Vec::new();
    for style in [PbrtWriteOptions::default(), compact()] {
        let first = write(scene, style, RunOptions::default());
        let text = String::from_utf8_lossy(&first).into_owned();
        let again = read_text(&first);
        let second = write(&again, style, RunOptions::default());
        assert_eq!(text, String::from_utf8_lossy(&second), "written twice");
        assert!(again.render == scene.render, "read again:\n{text}");
        texts.push(text);
    }
    texts.swap_remove(0)
}

#[test]
fn the_corpus_comes_back() {
    let names = [
        "good/01_directives.pbrt",
        "good/02_import.pbrt",
        "good/03_shapes.pbrt",
        "good/04_types.pbrt",
        "good/05_tokens_crlf.pbrt",
        "good/06_media.pbrt",
        "good/07_instances.pbrt",
        "good/09_empty_world.pbrt",
        "good/10_import_multi_plain.pbrt",
    ];
    for name in names {
        let scene = read(Input::Path(data("pbrt").join(name)));
        comes_back(&scene);
    }
}

/// Scenes that are hard to order.
const ODD: [&str; 11] = [
    // Materials that return after a scope; one is never used.
    "WorldBegin Material \"diffuse\" Shape \"sphere\" AttributeBegin Material \"conductor\" Shape \"disk\"
     AttributeBegin Material \"coateddiffuse\" Shape \"cone\" AttributeEnd Shape \"disk\" AttributeEnd
     Material \"unused\" MakeNamedMaterial \"n\" \"string type\" \"diffuse\" NamedMaterial \"n\" Shape \"sphere\"
     AttributeBegin AreaLightSource \"diffuse\" Shape \"sphere\" Material \"diffuse\" Shape \"disk\" AttributeEnd
     Shape \"sphere\"",
    // A material of an outer scope that is first used in an inner one.
    "WorldBegin Material \"a\" AttributeBegin Material \"b\" Shape \"sphere\" AttributeEnd Shape \"disk\"
     AttributeBegin Material \"c\" ObjectBegin \"o\" Shape \"sphere\" ObjectEnd Shape \"disk\" AttributeEnd Shape \"disk\"",
    // The definition of an object uses the state around it, and later definitions.
    "WorldBegin Shape \"disk\" Material \"late\" ObjectBegin \"o\" Material \"inner\" Shape \"sphere\" ObjectEnd
     Shape \"disk\" ObjectBegin \"empty\" ObjectEnd Shape \"disk\"",
    // Attributes of all kinds, in sequence and in scopes.
    "WorldBegin Attribute \"shape\" \"float alpha\" 0.5 Attribute \"material\" \"float roughness\" 0.25
     Attribute \"light\" \"float scale\" 2 Attribute \"texture\" \"float uscale\" 3 Material \"diffuse\" Shape \"sphere\"
     LightSource \"point\" AreaLightSource \"diffuse\" Shape \"sphere\" AttributeBegin Attribute \"shape\" \"float alpha\" 1
     Texture \"t\" \"float\" \"constant\" Attribute \"texture\" \"float vscale\" 4 Texture \"t\" \"spectrum\" \"constant\"
     Shape \"disk\" Attribute \"light\" \"float power\" 2 AreaLightSource \"diffuse\" Shape \"disk\" AttributeEnd
     Texture \"u\" \"float\" \"constant\" Shape \"sphere\" LightSource \"point\"",
    // Animation, the camera's coordinate system, times.
    "TransformTimes 0.25 0.75 ActiveTransform EndTime Translate 1 2 3 ActiveTransform All LookAt 0 0 5 0 0 0 0 1 0
     Camera \"perspective\" WorldBegin AttributeBegin CoordSysTransform \"camera\" Translate 1 0 0
     LightSource \"point\" Shape \"sphere\" AttributeEnd AttributeBegin ActiveTransform StartTime Rotate 30 0 0 1
     ActiveTransform All Scale 2 2 2 Shape \"sphere\" Shape \"disk\" ObjectInstance \"o\" AttributeEnd
     ObjectBegin \"o\" Shape \"sphere\" ObjectEnd",
    // Instances: before the definition, many in one place, combined with a shared transform, with an unusual last row.
    "WorldBegin AttributeBegin Translate 1 0 0 AttributeBegin ConcatTransform [1 0 0 0 0 1 0 0 0 0 1 0 5 6 7 1]
     ObjectInstance \"b\" ObjectInstance \"a\" AttributeEnd AttributeBegin ConcatTransform [1 0 0 0 0 1 0 0 0 0 1 0 8 9 7 1]
     ObjectInstance \"b\" AttributeEnd AttributeEnd ObjectBegin \"a\" Shape \"sphere\" ObjectEnd
     ObjectBegin \"b\" Shape \"disk\" ObjectEnd AttributeBegin Transform [1 0 0 0.5 0 1 0 0 0 0 1 0 0 0 0 1]
     ObjectInstance \"a\" AttributeEnd ObjectInstance \"a\" ObjectInstance \"b\"
     AttributeBegin ConcatTransform [2 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1] Shape \"cone\" ObjectInstance \"a\" AttributeEnd",
    // Extreme numbers, numbers between two f32s, and infinities.
    "WorldBegin Shape \"curve\" \"float a\" [1e-45 -0 3.4028235e38 1e999 -1e999 0.1 16777217 123456789 1e-7]
     \"integer b\" [-2147483648 2147483647] \"bool c\" [true false] \"blackbody d\" 6500 \"spectrum e\" [300 0.5 700 1]
     AttributeBegin Translate 1.000000059604644775390625 0.1 -0 Shape \"sphere\" AttributeEnd
     AttributeBegin Translate 1.00000005960464478 1e300 5e-324 Shape \"disk\" AttributeEnd",
    // Strings.
    "Option \"seed\" 7 Option \"pixelstats\" true Option \"rendercoordsys\" \"world\" WorldBegin
     Texture \"q\\\"\\\\ \\n\\t\\r\\b\\f\\' \u{e9}#\" \"spectrum\" \"imagemap\" \"string filename\" \"a b.png\"
     \"string list\" [\"x\" \"\" \"z\"]",
    // Media and color spaces.
    "ColorSpace \"rec2020\" Film \"rgb\" ColorSpace \"srgb\" MediumInterface \"\" \"fog\" Camera \"perspective\" WorldBegin
     ColorSpace \"aces2065-1\" MakeNamedMedium \"fog\" \"rgb sigma_s\" [1 2 3] Material \"diffuse\" ColorSpace \"srgb\"
     MediumInterface \"in\" \"out\" Shape \"sphere\" LightSource \"point\" ReverseOrientation Shape \"sphere\"
     AttributeBegin ReverseOrientation MediumInterface \"\" \"\" Shape \"disk\" AttributeEnd Shape \"disk\"",
    // A named coordinate system.
    "Camera \"orthographic\" WorldBegin Scale 2 2 2 CoordinateSystem \"mine\" Identity Shape \"sphere\"
     CoordSysTransform \"mine\" Shape \"disk\"",
    "WorldBegin",
];

#[test]
fn odd_scenes_come_back() {
    for text in ODD {
        comes_back(&read_text(text.as_bytes()));
    }
}

#[test]
fn the_inverse_of_a_camera_that_was_replaced_is_a_matrix() {
    let text =
        b"Translate 1 2 3 Camera \"perspective\" CoordSysTransform \"camera\" Camera \"orthographic\" WorldBegin";
    let first = write(&read_text(text), compact(), RunOptions::default());
    let expected = "Transform [1 0 0 0 0 1 0 0 0 0 1 0 -1 -2 -3 1]\nCamera \"orthographic\"\nWorldBegin\n";
    assert_eq!(String::from_utf8_lossy(&first), expected);
    assert_eq!(write(&read_text(&first), compact(), RunOptions::default()), first);
}

/// Nested scopes, with a transform and a shape in each.
fn nested(depth: usize) -> String {
    let mut text = "WorldBegin\n".to_owned();
    for number in 0..depth {
        text += &format!("AttributeBegin Translate {number} 0 0.5\nShape \"sphere\" \"float radius\" {number}\n");
    }
    text += &"AttributeEnd\n".repeat(depth);
    text
}

#[test]
fn text_grows_with_the_tree_of_transforms() {
    comes_back(&read_text(nested(100).as_bytes()));
    let bytes = |depth: usize| write(&read_text(nested(depth).as_bytes()), compact(), RunOptions::default()).len();
    let single_threaded = bytes(1_000);
    let ten = bytes(10_000);
    assert!(ten < 12 * single_threaded, "{single_threaded} bytes for 1,000 scopes, {ten} for 10,000");
}

#[test]
fn scopes_may_be_very_deep() {
    let scene = read_text(nested(200_000).as_bytes());
    let again = read_text(&write(&scene, compact(), RunOptions::default()));
    assert_eq!(again.render.unwrap().shape_count(), 200_000);
}

/// A generated scene, and its folder.
fn generated(bytes: u64) -> (Folder, Scene) {
    let folder = Folder::new("pbrt_write").unwrap();
    let made = pbrt::write(&Spec { parts: 3, ..Spec::new(bytes) }, folder.path()).unwrap();
    let scene = read(Input::Path(made.main));
    (folder, scene)
}

#[test]
fn a_generated_scene_comes_back() {
    comes_back(&generated(300_000).1);
}

#[test]
fn neither_threads_nor_pages_change_a_byte() {
    let scene = generated(60_000).1;
    let odd = ODD.map(|text| read_text(text.as_bytes()));
    for (scene, sizes) in [(&scene, vec![333, 10_000])].into_iter().chain(odd.iter().map(|scene| (scene, vec![1, 50])))
    {
        for style in [PbrtWriteOptions::default(), compact()] {
            let single_threaded = write(scene, style, run(1, None));
            for threads in [1, 2, 7, 64] {
                for &size in &sizes {
                    let other = write(scene, style, run(threads, Some(size)));
                    assert!(single_threaded == other, "{threads} threads, {size} bytes a page");
                }
            }
        }
    }
}

#[test]
fn a_long_list_may_hold_what_has_no_end() {
    let word = |i: u32| if i == 77 { "-1e999".into() } else { ((i as f32 - 40.0) * 0.37).to_string() };
    for count in [3, 8, 24, 25, 100] {
        let words: Vec<String> = (0..count).map(word).collect();
        let text = format!("WorldBegin Shape \"curve\" \"float a\" [{}]", words.join(" "));
        let written = comes_back(&read_text(text.as_bytes()));
        let list = written.split(['[', ']']).nth(1).unwrap();
        assert_eq!(list.split_whitespace().collect::<Vec<_>>(), words);
    }
}

#[test]
fn matrices_of_instances_have_the_digits_of_each_number() {
    // Between two f32s: all digits are needed.
    let odd = "1.000000059604644775390625";
    for odd_at in [None, Some(0), Some(37)] {
        let number = |instance: u32, at: u32| match (at, instance) {
            (7, _) if odd_at == Some(instance) => odd.to_string(),
            (3, _) => "-0".into(),
            (5, _) => format!("{:e}", f64::from(instance + 2) * 1e-9),
            _ => (f64::from(instance * 12 + at) * 0.37 - 50.0).to_string(),
        };
        let matrix = |instance: u32| {
            let column = |at: u32| (at..at + 3).map(|at| number(instance, at) + " ").collect::<String>();
            format!("Transform [ {}0 {}0 {}0 {}1 ]", column(0), column(3), column(6), column(9))
        };
        let mut text = "WorldBegin ObjectBegin \"o\" Shape \"sphere\" ObjectEnd\n".to_string();
        for instance in 0..50 {
            text += &format!("AttributeBegin {} ObjectInstance \"o\" AttributeEnd\n", matrix(instance));
        }
        let written = comes_back(&read_text(text.as_bytes()));
        let lines: Vec<&str> = written.lines().map(str::trim).filter(|line| line.starts_with("Transform")).collect();
        assert_eq!(lines.len(), 50);
        (0..50).map(matrix).zip(lines).for_each(|(expected, line)| assert_eq!(line, expected));
    }
}

/// A connected mesh of `count` triangles.
fn strip(count: usize) -> String {
    let indices: String = (0..count).map(|i| format!("{i} {} {} ", i + 1, i + 2)).collect();
    let points: String = (0..count + 2).map(|i| format!("{} {} 0.5 ", i / 2, i % 2)).collect();
    format!("Shape \"trianglemesh\" \"integer indices\" [{indices}] \"point3 P\" [{points}] \"float alpha\" 0.5\n")
}

#[test]
fn a_list_is_cut_anywhere() {
    let scene = read_text(format!("WorldBegin {}", strip(1000)).as_bytes());
    let run = |chunk_bytes| RunOptions::default().with_chunk_bytes(chunk_bytes);
    for style in [PbrtWriteOptions::default(), compact()] {
        let whole = write(&scene, style, run(None));
        for bytes in [1, 7, 99, 5000] {
            assert!(write(&scene, style, run(Some(bytes))) == whole, "{bytes} bytes a page");
        }
    }
}

#[test]
fn many_short_lists_are_the_same_in_any_room() {
    // Text buffers end anywhere in these, at different positions for one and several threads.
    let shape = |n: usize| {
        let values = (0..25 + n % 40).map(|at| (at + n) % 10).map(|digit| format!("{digit} ")).collect::<String>();
        format!("Shape \"{}\" \"integer i\" [ {values}]\n", "a".repeat(1 + n % 7))
    };
    let text: String = (0..40_000).map(shape).collect();
    let scene = read_text(format!("WorldBegin\n{text}").as_bytes());
    let expected = write(&scene, PbrtWriteOptions::default(), run(1, None));
    for (threads, chunk_bytes) in [(2, None), (7, None), (1, Some(100_000)), (1, Some(10_000_000)), (3, Some(777_777))]
    {
        assert!(
            write(&scene, PbrtWriteOptions::default(), run(threads, chunk_bytes)) == expected,
            "{threads} {chunk_bytes:?}"
        );
    }
}

fn names(folder: &Folder) -> Vec<String> {
    folder.names().into_iter().filter(|name| name != "geometry").collect()
}

#[test]
fn parts_and_meshes_are_files_of_their_own() {
    let small = strip(2);
    let text = format!(
        "WorldBegin\n{}{small}{}",
        strip(300),
        "AttributeBegin Translate 1 2 3 Shape \"sphere\" AttributeEnd\n".repeat(200)
    );
    let scene = read_text(text.as_bytes());
    let folder = Folder::new("pbrt_write").unwrap();
    let save_as = |name: &str, pbrt| {
        let options = WriteOptions::default().with_pbrt(pbrt);
        let written = Writer::new(folder.join(name)).options(&options).scene(&scene).unwrap();
        let loaded = Reader::new(folder.join(name)).scene().unwrap();
        // Each format and codec once, and equal for both directions.
        let kinds = |list: &[Moved]| {
            let mut kinds: Vec<_> =
                list.iter().map(|moved| (moved.format, moved.codec, moved.bytes, moved.plain_bytes)).collect();
            kinds.sort_unstable_by_key(|row| row.2);
            kinds
        };
        assert_eq!(kinds(&written.writes), kinds(&loaded.report.reads), "{name}");
        assert_eq!(written.writes.iter().map(|moved| moved.bytes).sum::<u64>(), written.bytes_out);
        loaded.value
    };
    let parts = save_as("a.pbrt.gz", PbrtWriteOptions::default().with_parts(4));
    assert!(parts.render == scene.render);
    let of_parts = names(&folder);
    assert!((4..=7).contains(&of_parts.len()), "{of_parts:?}");
    assert!(of_parts.contains(&"a-part-1.pbrt.gz".to_owned()), "{of_parts:?}");

    let meshes = PbrtMeshes::Ply { vertices: 100 };
    let moved = save_as("b.pbrt", PbrtWriteOptions::default().with_meshes(meshes).with_compact(true));
    assert!(names(&folder).contains(&"b-mesh-1.ply".to_owned()));
    let render = moved.render.as_deref().unwrap();
    let classes: Vec<&str> = render.shapes().take(3).map(|shape| shape.class()).collect();
    assert_eq!(classes, ["plymesh", "trianglemesh", "sphere"]);
    assert_eq!(render.shape(0).unwrap().mesh(), Some(0));
    assert!(render.shape(0).unwrap().parameters().get("alpha").is_some());
    assert!(render.shape(0).unwrap().parameters().get("P").is_none());
    let before = scene.render.as_deref().unwrap().shape(0).unwrap().parameters().get("P").unwrap();
    assert_eq!(moved.meshes[0].positions, *before.values.rows::<3>().unwrap());
    assert_eq!(moved.meshes[0].faces.len(), 300);
}

#[test]
fn a_failed_write_leaves_the_folder_as_it_was() {
    let scene = read_text(format!("WorldBegin\n{}", strip(100).repeat(8)).as_bytes());
    let folder = Folder::new("pbrt_write").unwrap();
    std::fs::write(folder.join("a.pbrt"), "old").unwrap();
    std::fs::write(folder.join("a-part-1.pbrt"), "old part").unwrap();
    // A folder, which cannot be replaced, in place of a part or a mesh.
    for blocked in ["a-part-4.pbrt", "a-mesh-3.ply"] {
        std::fs::create_dir(folder.join(blocked)).unwrap();
        let before = names(&folder);
        let style =
            PbrtWriteOptions::default().with_parts(4).with_meshes(PbrtMeshes::Ply { vertices: 10 }).with_compact(false);
        for threads in [1, 4] {
            let run = RunOptions::default().with_threads(Some(threads));
            let options = WriteOptions::default().with_pbrt(style).with_run(run);
            let error = Writer::new(folder.join("a.pbrt")).options(&options).scene(&scene).unwrap_err();
            assert!(error.to_string().contains(blocked), "{error}");
            assert_eq!(names(&folder), before);
            assert_eq!(std::fs::read(folder.join("a.pbrt")).unwrap(), b"old");
            assert_eq!(std::fs::read(folder.join("a-part-1.pbrt")).unwrap(), b"old part");
        }
        std::fs::remove_dir(folder.join(blocked)).unwrap();
    }
    let options =
        WriteOptions::default().with_format(Some(Format::Pbrt)).with_pbrt(PbrtWriteOptions::default().with_parts(2));
    let error =
        Writer::new(Output::Writer(Box::new(Vec::new()), "x".into())).options(&options).scene(&scene).unwrap_err();
    assert_eq!(error.kind(), polyhaul::ErrorKind::Usage);
}
