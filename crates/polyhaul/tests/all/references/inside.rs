//! Images inside glTF files: they are found by name, and converted together with the scene.

use super::support::*;
use polyhaul::model::Scene;
use polyhaul::options::Codec;
use polyhaul::preview::{PreviewOptions, preview};
use polyhaul::{ErrorKind, Format, Input, Output, ReadOptions, Reader, WriteOptions, read_referenced_image};
use polyhaul_bytes::Encoder;
use polyhaul_testkit::zip;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Not a valid image: it must not be decoded.
const JPEG: &[u8] = b"\xff\xd8\xff\xe0 as it is";

/// A PNG file with one red pixel.
fn png() -> Vec<u8> {
    let folder = new_folder();
    let tga = [&[0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 24, 0][..], &[0, 0, 255]].concat();
    polyhaul::convert(folder.file("a.tga", tga).unwrap(), folder.join("a.png")).unwrap();
    fs::read(folder.join("a.png")).unwrap()
}

fn chunk(kind: &[u8; 4], content: &[u8], padding: u8) -> Vec<u8> {
    let len = content.len().next_multiple_of(4);
    let mut bytes = [&(len as u32).to_le_bytes()[..], kind, content].concat();
    bytes.resize(8 + len, padding);
    bytes
}

fn glb(json: &Value, binary: &[u8]) -> Vec<u8> {
    let chunks = [chunk(b"JSON", json.to_string().as_bytes(), b' '), chunk(b"BIN\0", binary, 0)].concat();
    [b"glTF\x02\0\0\0", &(12 + chunks.len() as u32).to_le_bytes()[..], &chunks].concat()
}

/// A triangle whose materials use these images; images in buffer views follow the positions and the uvs.
fn scene(images: &Value) -> Value {
    let count = images.as_array().unwrap().len();
    let [textures, materials, primitives] = [
        |index: usize| json!({"source": index}),
        |index: usize| {
            let base = json!({"baseColorTexture": {"index": index}, "metallicFactor": 0});
            json!({"name": format!("m{index}"), "doubleSided": true, "pbrMetallicRoughness": base})
        },
        |index: usize| json!({"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "material": index}),
    ]
    .map(|make| (0..count).map(make).collect::<Vec<_>>());
    let jpeg_start = 60 + png().len();
    json!({"asset": {"version": "2.0"}, "nodes": [{"mesh": 0}], "scenes": [{"nodes": [0]}],
        "meshes": [{"primitives": primitives}], "materials": materials, "textures": textures, "images": images,
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC2"}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 24},
            {"buffer": 0, "byteOffset": 60, "byteLength": png().len()},
            {"buffer": 0, "byteOffset": jpeg_start, "byteLength": JPEG.len()}],
        "buffers": [{"byteLength": binary().len()}]})
}

fn binary() -> Vec<u8> {
    let floats = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0];
    let floats: Vec<u8> = floats.iter().flat_map(|number| number.to_le_bytes()).collect();
    [floats, png(), JPEG.to_vec()].concat()
}

/// A PNG and a JPEG image in buffer views.
fn both() -> Value {
    scene(&json!([{"bufferView": 2, "mimeType": "image/png"}, {"bufferView": 3, "mimeType": "image/jpeg"}]))
}

/// File names of the first map of each material.
fn names(scene: &Scene) -> Vec<&str> {
    scene.materials.iter().filter_map(|material| Some(&*material.maps.first()?.file)).collect()
}

fn holds(path: &Path, part: &[u8]) -> bool {
    fs::read(path).unwrap().windows(part.len()).any(|window| window == part)
}

#[test]
fn images_are_found_by_name() {
    let folder = new_folder();
    let path = folder.file("s/a.glb", glb(&both(), &binary())).unwrap();
    let loaded = Reader::new(&path).scene().unwrap();
    assert_eq!(names(&loaded.value), ["a.glb#image0.png", "a.glb#image1.jpg"]);
    assert!(loaded.report.warnings.is_empty(), "{:?}", loaded.report.warnings);
    let options = ReadOptions::default();
    let image = read_referenced_image(Some(&path), "a.glb#image0.png", &options).unwrap().value;
    assert_eq!((image.width, image.height), (1, 1));
    assert_eq!(Reader::new(folder.join("s/a.glb#image0.png")).image().unwrap().value, image);
    polyhaul::convert(folder.join("s/a.glb#image0.png"), folder.join("b.png")).unwrap();
    assert_eq!(Reader::new(folder.join("b.png")).image().unwrap().value.samples, image.samples);
    let info = polyhaul::inspect::info(Input::Path(folder.join("s/a.glb#image0.png")), &options);
    assert!(info.is_ok(), "{info:?}");
    assert!(unfound(&path, &options).is_empty());
    for (name, kind) in [
        ("a.glb#image2.png", ErrorKind::Malformed),
        ("b.glb#image0.png", ErrorKind::Io),
        ("../t/a.glb#image0.png", ErrorKind::Unsupported),
    ] {
        assert_eq!(read_referenced_image(Some(&path), name, &options).unwrap_err().kind(), kind, "{name}");
    }
    let limits = polyhaul::options::Limits::default().with_referenced_file_bytes(10);
    let limited = read_referenced_image(Some(&path), "a.glb#image0.png", &options.clone().with_limits(limits));
    assert_eq!(limited.unwrap_err().kind(), ErrorKind::Limit);
    // An existing file with this name takes precedence.
    folder.file("s/a.glb#image0.png", [&png()[..], b"more"].concat()).unwrap();
    assert_eq!(names(&polyhaul::read(&path).unwrap()).len(), 2);
    convert(&path, &folder.join("t/b.glb"));
    assert!(holds(&folder.join("t/b.glb"), b"IEND\xaeB`\x82more"));
}

#[test]
fn glb_to_glb_keeps_the_bytes() {
    let folder = new_folder();
    let mut json = both();
    // A map that is not written needs no file.
    json["images"].as_array_mut().unwrap().push(json!({"uri": "data:image/png;base64,AAAA"}));
    json["textures"].as_array_mut().unwrap().push(json!({"source": 2}));
    json["materials"][0]["extensions"]["KHR_materials_clearcoat"]["clearcoatTexture"]["index"] = 2.into();
    let path = folder.file("s/a.glb", glb(&json, &binary())).unwrap();
    let report = convert(&path, &folder.join("t/b.glb"));
    assert_eq!((report.copied_files, report.warnings.counts()["left-out-textures"]), (0, 1));
    let scene = polyhaul::read(folder.join("t/b.glb")).unwrap();
    assert_eq!(names(&scene), ["b.glb#image0.png", "b.glb#image1.jpg"]);
    assert!(holds(&folder.join("t/b.glb"), &png()) && holds(&folder.join("t/b.glb"), JPEG));
    convert(&path, &path);
    assert!(holds(&path, &png()) && holds(&path, JPEG));
}

#[test]
fn other_formats_get_files() {
    for (write, is_copying) in [(WriteOptions::default(), false), (COPYING(), true)] {
        let folder = new_folder();
        let path = folder.file("s/my a.glb", glb(&both(), &binary())).unwrap();
        for _ in 0..2 {
            let report = try_convert(&path, &folder.join("t/b.obj"), &ReadOptions::default(), &write).unwrap();
            assert_eq!(counts(&report.warnings).len(), 0, "{is_copying}");
            let tree = tree(&folder.join("t"));
            assert_eq!(tree.keys().collect::<Vec<_>>(), ["b.mtl", "b.obj", "my a_image0.png", "my a_image1.jpg"]);
            assert_eq!((&*tree["my a_image0.png"], &*tree["my a_image1.jpg"]), (&*png(), JPEG));
        }
        assert_eq!(said(&folder.join("t/b.mtl"), "map_Kd "), ["my a_image0.png", "my a_image1.jpg"]);
        assert!(unfound(&folder.join("t/b.obj"), &ReadOptions::default()).is_empty());
        convert(&folder.join("t/b.obj"), &folder.join("u/c.glb"));
        assert!(holds(&folder.join("u/c.glb"), &png()) && holds(&folder.join("u/c.glb"), JPEG));
        // In the same folder, too; a copy whose name is taken gets a number.
        folder.file("s/my a_image0.png", "mine").unwrap();
        convert(&path, &folder.join("s/d.gltf"));
        assert_eq!(names(&polyhaul::read(folder.join("s/d.gltf")).unwrap()), ["my a_image0-2.png", "my a_image1.jpg"]);
        convert(&path, &folder.join("p/e.pbrt"));
        assert!(folder.join("p/my a_image0.png").exists());
    }
}

#[test]
fn images_lie_in_data_and_beside_the_file_too() {
    let folder = new_folder();
    let mut json =
        scene(&json!([{"bufferView": 2, "mimeType": "image/png"}, {"uri": "data:;base64,/9j/4CBhcyBpdCBpcw=="}]));
    json["buffers"][0]["uri"] = "a.bin".into();
    folder.file("s/a.bin", binary()).unwrap();
    let path = folder.file("s/a.gltf", json.to_string()).unwrap();
    convert(&path, &folder.join("t/b.glb"));
    assert!(holds(&folder.join("t/b.glb"), &png()) && holds(&folder.join("t/b.glb"), JPEG));
    convert(&path, &folder.join("t/b.obj"));
    assert_eq!(tree(&folder.join("t"))["a_image1.jpg"], JPEG);
    // A compressed file is read in order.
    convert(&folder.join("t/b.glb"), &folder.join("t/c.glb.gz"));
    convert(&folder.join("t/c.glb.gz"), &folder.join("u/d.obj"));
    let tree = tree(&folder.join("u"));
    assert_eq!((&*tree["c_image0.png"], &*tree["c_image1.jpg"]), (&*png(), JPEG));
}

#[test]
fn images_lie_in_files_in_archives() {
    let folder = new_folder();
    let bytes = glb(&both(), &binary());
    for method in zip::METHODS {
        let members: &[(&str, &[u8])] = &[("in/a.glb", &bytes)];
        let archive = folder.file("s/a.zip", zip::simple(members, method)).unwrap();
        convert(&archive, &folder.join("t/b.glb"));
        assert!(holds(&folder.join("t/b.glb"), &png()) && holds(&folder.join("t/b.glb"), JPEG), "{method:?}");
    }
    let write = WriteOptions::default().with_copy_assets(true);
    let output = polyhaul::Writer::new(folder.join("t/b.obj")).options(&write);
    let report = Reader::new(folder.join("s/a.zip")).convert(output).unwrap();
    assert!(!counts(&report.warnings).contains_key("unresolved-reference"), "{:?}", report.warnings);
    assert_eq!((&*tree(&folder.join("t"))["a_image0.png"], &*tree(&folder.join("t"))["a_image1.jpg"]), (&*png(), JPEG));
}

/// A buffer that is read for its vertices is also read for its images.
#[test]
fn images_lie_in_compressed_buffers_in_archives() {
    let folder = new_folder();
    let mut json = both();
    json["buffers"][0]["uri"] = "none/../a.bin".into();
    let mut buffer = Vec::new();
    Encoder::new(Codec::Lz4, None).unwrap().encode(&binary(), &mut buffer).unwrap();
    let text = json.to_string();
    let members: &[(&str, &[u8])] = &[("in/a.gltf", text.as_bytes()), ("in/a.bin", &buffer)];
    let archive = folder.file("s/a.zip", zip::simple(members, zip::METHODS[0])).unwrap();
    convert(&archive, &folder.join("t/b.glb"));
    assert!(holds(&folder.join("t/b.glb"), &png()) && holds(&folder.join("t/b.glb"), JPEG));
}

#[test]
fn sources_without_a_file_drop_them() {
    let folder = new_folder();
    let bytes = glb(&both(), &binary());
    let loaded = Reader::new(Input::Memory(bytes.clone(), "a.glb".into())).scene().unwrap();
    assert!(names(&loaded.value).is_empty());
    assert_eq!(loaded.report.warnings.counts()["left-out-images"], 2);
    // The inner files of a stream cannot be referenced.
    let path = folder.file("a.glb", bytes).unwrap();
    let output = Output::Writer(Box::new(std::io::sink()), "x.pbrt".into());
    let write = WriteOptions::default().with_format(Some(Format::Pbrt));
    let report = Reader::new(&path).convert(polyhaul::Writer::new(output).options(&write)).unwrap();
    assert_eq!(counts(&report.warnings).get("unresolved-reference"), Some(&2), "{:?}", report.warnings);
}

#[test]
fn kinds_that_are_not_read_are_named() {
    let folder = new_folder();
    let path =
        folder.file("a.glb", glb(&scene(&json!([{"bufferView": 2, "mimeType": "image/ktx2"}])), &binary())).unwrap();
    let loaded = Reader::new(path).scene().unwrap();
    let said = messages(&loaded.report.warnings, "left-out-images");
    assert!(said.len() == 1 && said[0].contains("`image/ktx2`, neither PNG nor JPEG"), "{said:?}");
}

#[test]
fn a_broken_image_does_not_stop_a_conversion() {
    let folder = new_folder();
    let images = json!([{"uri": "data:image/png;base64,???"}, {"bufferView": 3, "mimeType": "image/jpeg"}]);
    let path = folder.file("s/a.glb", glb(&scene(&images), &binary())).unwrap();
    let report = convert(&path, &folder.join("t/b.obj"));
    assert_eq!(counts(&report.warnings)["missing-reference"], 1);
    assert!(folder.join("t/a_image1.jpg").exists());
    assert_eq!(convert(&path, &folder.join("t/b.glb")).warnings.counts()["left-out-textures"], 1);
}

#[test]
fn files_outside_stay_outside_and_cycles_end() {
    let folder = new_folder();
    folder.file("a.glb", glb(&both(), &binary())).unwrap();
    folder.file("s/a.mtl", "newmtl m\nmap_Kd ../a.glb#image0.png\n").unwrap();
    let path = folder.file("s/a.obj", format!("mtllib a.mtl\nusemtl m\n{FACE}")).unwrap();
    let report = convert(&path, &folder.join("t/b.obj"));
    assert_eq!(counts(&report.warnings)["uncopied-reference"], 1);
    try_convert(&path, &folder.join("u/b.obj"), &ALLOWED(), &WriteOptions::default()).unwrap();
    assert_eq!(tree(&folder.join("u"))["a_image0.png"], png());
    // The image's buffer refers to the image itself.
    let json = json!({"asset": {"version": "2.0"}, "images": [{"bufferView": 0}],
        "bufferViews": [{"buffer": 0, "byteLength": 4}], "buffers": [{"byteLength": 4, "uri": "c.gltf%23image0.png"}]});
    let path = folder.file("c.gltf", json.to_string()).unwrap();
    let error = read_referenced_image(Some(&path), "c.gltf#image0.png", &ReadOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn pictures_and_comparisons_have_them() {
    let folder = new_folder();
    let images = json!([{"bufferView": 2, "mimeType": "image/png"}]);
    let path = folder.file("a.glb", glb(&scene(&images), &binary())).unwrap();
    convert(&path, &folder.join("t/b.glb"));
    let reading = ReadOptions::default();
    let options = PreviewOptions::default().with_size([32, 32]);
    let drawn = |input| preview(input, &reading, &options).unwrap();
    let picture = drawn(Input::Path(path.clone()));
    assert!(picture.report.warnings.is_empty(), "{:?}", picture.report.warnings);
    let plain = drawn(Input::Memory(fs::read(&path).unwrap(), "a.glb".into()));
    assert!(picture.value != plain.value);
    let same = polyhaul::diff(&path, folder.join("t/b.glb"), &reading, 0.0).unwrap();
    assert!(same.is_equal(), "{:?}", same.differences);
    let mut json = scene(&images);
    json["bufferViews"][2]["byteLength"] = 20.into();
    let other = folder.file("t/c.glb", glb(&json, &binary())).unwrap();
    assert!(!polyhaul::diff(&path, other, &reading, 0.0).unwrap().is_equal());
}
