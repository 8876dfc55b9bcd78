//! Pictures of files, and what must not affect them.

use polyhaul::model::{Channels, Color, Counts, Image, Material, Object, Run, Samples, Scene};
use polyhaul::options::RunOptions;
use polyhaul::preview::{PreviewOptions, View, preview, preview_scene};
use polyhaul::{ErrorKind, Input, ReadOptions, Reader, Writer};
use polyhaul_testkit::corpus::Folder;
use std::fmt::Write;

const IDENTITY: [[f64; 4]; 4] =
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
const CAMERA: &str = "LookAt 2 3 -20  2 2 0  0 1 0\nCamera \"perspective\" \"float fov\" 35\nWorldBegin\n";

fn draw(text: &str, name: &str, threads: usize) -> Image {
    let run = RunOptions::default().with_threads(Some(threads));
    let options = PreviewOptions::default().with_size([120, 90]).with_run(run.clone());
    let input = Input::Memory(text.as_bytes().to_vec(), name.into());
    preview(input, &ReadOptions::default().with_run(run), &options).unwrap().value
}

fn bytes(image: &Image) -> &[u8] {
    let Samples::U8(bytes) = &image.samples else { panic!("not bytes") };
    bytes
}

/// The number of visibly different pixels.
fn differing(a: &Image, b: &Image) -> usize {
    let pixels = bytes(a).chunks(4).zip(bytes(b).chunks(4));
    pixels.filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 16)).count()
}

/// Shapes of all kinds, in their own coordinates.
const SHAPES: &str = "Shape \"sphere\" \"float radius\" 0.8
AttributeBegin Translate 0 1.2 0 Shape \"cylinder\" \"float radius\" 0.3 \"float zmin\" -0.5 \"float zmax\" 0.5 AttributeEnd
AttributeBegin Translate 0 -1 0 Rotate 90 1 0 0 Shape \"disk\" \"float radius\" 1 AttributeEnd
Shape \"curve\" \"point3 P\" [-1 0 0  -1 2 0  1 2 0  1 0 0] \"float width\" 0.2
Shape \"curve\" \"point3 P\" [-1 0 -1  0 1 -1  1 0 -1] \"integer degree\" 2 \"float width0\" 0.1 \"float width1\" 0.3
Shape \"trianglemesh\" \"integer indices\" [0 1 2] \"point3 P\" [-1 -1 1  1 -1 1  0 1 1]\n";

#[test]
fn instances_are_what_their_definition_is_at_each_place() {
    // More than a thread takes at a time; most are far behind the camera.
    let count = 20_000;
    let place = |number: usize| match number {
        0..30 => [number as f32 % 6.0 * 1.7 - 2.5, number as f32 / 6.0 * 1.1 - 1.0, number as f32 * 0.3],
        _ => [number as f32, 0.0, -500.0],
    };
    let mut instanced = format!("{CAMERA}ObjectBegin \"a\"\n{SHAPES}ObjectEnd\n");
    let mut explicit = CAMERA.to_owned();
    for [x, y, z] in (0..count).map(place) {
        writeln!(instanced, "AttributeBegin Translate {x} {y} {z} ObjectInstance \"a\" AttributeEnd").unwrap();
    }
    for [x, y, z] in (0..30).map(place) {
        writeln!(explicit, "AttributeBegin Translate {x} {y} {z}\n{SHAPES}AttributeEnd").unwrap();
    }
    let [instanced_picture, explicit_picture] = [&instanced, &explicit].map(|text| draw(text, "a.pbrt", 2));
    let seen = differing(&explicit_picture, &draw(CAMERA, "a.pbrt", 1));
    assert!(seen > 2000, "{seen}");
    let different = differing(&instanced_picture, &explicit_picture);
    assert!(different < seen / 100, "{different} of {seen}");
    assert!([1, 3, 7].into_iter().all(|threads| draw(&instanced, "a.pbrt", threads) == instanced_picture));
}

#[test]
fn lights_are_bright_and_materials_have_their_colors() {
    let scene =
        |before: &str| format!("{CAMERA}AttributeBegin\n{before}\nShape \"sphere\" \"float radius\" 9\nAttributeEnd\n");
    let middle = |text: &str| -> [u8; 3] {
        let image = draw(text, "a.pbrt", 1);
        bytes(&image)[4 * (45 * 120 + 60)..][..3].try_into().unwrap()
    };
    let [r, g, b] = middle(&scene("Material \"diffuse\" \"rgb reflectance\" [0.9 0.1 0.1]"));
    assert!(r > 150 && g < 120 && b < 120, "{r} {g} {b}");
    assert_eq!(middle(&scene("AreaLightSource \"diffuse\" \"rgb L\" [0 40 0]")), [0, 255, 0]);
}

#[test]
fn a_scene_in_memory_has_the_picture_of_its_file() {
    let polygons = "v 0 0 0\nv 2 0 0\nv 2 2 1\nv 1 0.5 0\nv 0 2 0\nf 1 2 3 4 5\nl 1 3 5\np 4\n";
    for (text, name) in [(polygons, "a.obj"), (&format!("{CAMERA}{SHAPES}"), "a.pbrt")] {
        let scene = Reader::new(Input::Memory(text.as_bytes().to_vec(), name.into())).scene().unwrap().value;
        let options = PreviewOptions::default().with_size([120, 90]);
        let drawn = preview_scene(&scene, &options).unwrap();
        assert!(drawn.value == draw(text, name, 3), "{name}");
        assert!(drawn.report.first_pixel.unwrap() <= drawn.report.elapsed());
    }
}

#[test]
fn polygons_of_a_scene_in_memory_have_their_materials() {
    let text = "v -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\nf 1 2 3 4\n";
    let mut scene = Reader::new(Input::Memory(text.into(), "a.obj".into())).scene().unwrap().value;
    scene.meshes[0].material_runs = vec![Run { at: Counts::default(), value: 0 }];
    scene.materials = vec![Material { diffuse: Some(Color::Rgb([1.0, 0.0, 0.0])), ..Material::default() }];
    let options = PreviewOptions::default().with_size([40, 40]).with_view(View::Front);
    let picture = preview_scene(&scene, &options).unwrap().value;
    let middle = &bytes(&picture)[4 * (20 * 40 + 20)..][..3];
    assert!(middle[0] > 150 && middle[1] < 20 && middle[2] < 20, "{middle:?}");
}

#[test]
fn no_picture_of_an_image_is_empty() {
    let folder = Folder::new("preview-size").unwrap();
    let path = folder.join("a.png");
    let samples = Samples::U8(vec![9; 4].into());
    let image = Image { width: 1, height: 1, channels: Channels::Rgba, samples, ..Image::default() };
    Writer::new(&path).image(&image).unwrap();
    for size in [[0, 10], [10, 0]] {
        let options = PreviewOptions::default().with_size(size);
        let error = preview(path.as_path(), &ReadOptions::default(), &options).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    }
}

/// A large mesh is drawn while it is read: more than 32 MB of triangles of a sphere, and its picture as a scene.
#[test]
fn large_meshes_have_the_pictures_of_their_models() {
    let point = |u: f32, v: f32| [v.sin() * u.cos(), v.cos(), v.sin() * u.sin()];
    let side = 600;
    let at = |n: usize, m: usize| {
        point(n as f32 * std::f32::consts::TAU / side as f32, (m as f32 + 0.5) * 3.1 / side as f32)
    };
    let mut stl = vec![0u8; 80];
    stl.extend((2 * side * side as u32 as usize).to_le_bytes()[..4].iter());
    let mut text = String::new();
    for (n, m) in (0..side).flat_map(|n| (0..side).map(move |m| (n, m))) {
        let [a, b, c, d] = [at(n, m), at(n + 1, m), at(n + 1, m + 1), at(n, m + 1)];
        for triangle in [[a, b, c], [a, c, d]] {
            stl.extend([0; 12]);
            triangle.as_flattened().iter().for_each(|value| stl.extend(value.to_le_bytes()));
            stl.extend([0; 2]);
        }
        writeln!(
            text,
            "v {} {} {}\nv {} {} {}\nv {} {} {}\nv {} {} {}\nf -4 -3 -2 -1",
            a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2], d[0], d[1], d[2]
        )
        .unwrap();
    }
    assert!(stl.len() > 32_000_000 && text.len() > 32_000_000, "{} {}", stl.len(), text.len());
    for (bytes, name) in [(stl, "a.stl"), (text.into_bytes(), "a.obj")] {
        let options = PreviewOptions::default().with_size([120, 90]);
        let run = |threads| RunOptions::default().with_threads(Some(threads));
        let pieces = |threads| {
            let read = ReadOptions::default().with_run(run(threads));
            preview(Input::Memory(bytes.clone(), name.into()), &read, &options.clone().with_run(run(threads))).unwrap()
        };
        let drawn = pieces(2);
        assert!(drawn.report.phases.iter().all(|phase| ["read", "draw"].contains(&phase.name)));
        assert!(drawn.value == pieces(1).value, "{name}");
        let scene = Reader::new(Input::Memory(bytes.clone(), name.into())).scene().unwrap().value;
        let whole = preview_scene(&scene, &options).unwrap().value;
        // Normals have fewer bits, and a sample of an STL file has other bounds.
        assert!(differing(&drawn.value, &whole) < 120 * 90 / 50, "{name}: {}", differing(&drawn.value, &whole));
    }
}

/// A square with one material and its image, as a glTF file.
fn square(material: &str, image: &[u8]) -> Vec<u8> {
    let positions: [[f32; 3]; 4] = [[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]];
    let uvs: [[f32; 2]; 4] = [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]];
    let mut binary: Vec<u8> =
        positions.iter().flatten().chain(uvs.iter().flatten()).flat_map(|v| v.to_le_bytes()).collect();
    binary.extend([0, 1, 2, 0, 2, 3]);
    binary.extend([0; 2]);
    binary.extend(image);
    binary.resize(binary.len().next_multiple_of(4), 0);
    let json = format!(
        r#"{{"asset":{{"version":"2.0"}},"scenes":[{{"nodes":[0]}}],"nodes":[{{"mesh":0}}],
        "meshes":[{{"primitives":[{{"attributes":{{"POSITION":0,"TEXCOORD_0":1}},"indices":2,"material":0}}]}}],
        "accessors":[{{"bufferView":0,"componentType":5126,"count":4,"type":"VEC3"}},
            {{"bufferView":1,"componentType":5126,"count":4,"type":"VEC2"}},
            {{"bufferView":2,"componentType":5121,"count":6,"type":"SCALAR"}}],
        "bufferViews":[{{"buffer":0,"byteLength":48}},{{"buffer":0,"byteOffset":48,"byteLength":32}},
            {{"buffer":0,"byteOffset":80,"byteLength":6}},{{"buffer":0,"byteOffset":88,"byteLength":{}}}],
        "buffers":[{{"byteLength":{}}}],"images":[{{"bufferView":3,"mimeType":"image/png"}}],"textures":[{{"source":0}}],
        "materials":[{{"pbrMetallicRoughness":{{"baseColorTexture":{{"index":0}}}}{material}}}]}}"#,
        image.len(),
        binary.len()
    );
    let json = format!("{json:width$}", width = json.len().next_multiple_of(4));
    let mut file = b"glTF\x02\0\0\0".to_vec();
    file.extend((28 + json.len() as u32 + binary.len() as u32).to_le_bytes());
    for (kind, content) in [(b"JSON", json.as_bytes()), (b"BIN\0", &*binary)] {
        file.extend((content.len() as u32).to_le_bytes());
        file.extend(kind);
        file.extend(content);
    }
    file
}

/// The number of pixels other than background in a picture from the front.
fn seen(path: &std::path::Path) -> usize {
    let options = PreviewOptions::default().with_size([60, 60]).with_view(View::Front);
    let picture = preview(path, &ReadOptions::default(), &options).unwrap().value;
    bytes(&picture).chunks(4).filter(|pixel| **pixel != [236, 238, 241, 255]).count()
}

#[test]
fn holes_are_where_alpha_is_and_its_mode_asks_for_them() {
    let folder = Folder::new("preview-alpha").unwrap();
    // Dark, with a transparent left half.
    let pixels = [[10, 10, 10, 0], [10, 10, 10, 255]].concat();
    let samples = Samples::U8(pixels.into());
    let image = Image { width: 2, height: 1, channels: Channels::Rgba, samples, ..Image::default() };
    let path = folder.join("a.png");
    Writer::new(&path).image(&image).unwrap();
    let png = std::fs::read(&path).unwrap();
    let count = |material: &str| seen(&folder.file("a.glb", square(material, &png)).unwrap());
    let whole = count("");
    assert!(whole > 1000, "{whole}");
    for mode in ["MASK", "BLEND"] {
        let half = count(&format!(r#","alphaMode":"{mode}""#));
        assert!(half.abs_diff(whole / 2) < whole / 8, "{mode}: {half} of {whole}");
    }
    assert_eq!(count(r#","alphaMode":"MASK","alphaCutoff":0"#), whole);
    let obj = "mtllib q.mtl\nv -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nusemtl m\n\
        f 1/1 2/2 3/3 4/4\n";
    folder.file("q.mtl", "newmtl m\nmap_Kd a.png\nmap_d a.png\n").unwrap();
    let half = seen(&folder.file("q.obj", obj).unwrap());
    assert!(half.abs_diff(whole / 2) < whole / 8, "{half} of {whole}");
}

#[test]
fn moved_splats_are_drawn_as_splats() {
    let header = "ply\nformat ascii 1.0\nelement vertex 2\n";
    let names = "x y z f_dc_0 f_dc_1 f_dc_2 opacity scale_0 scale_1 scale_2 rot_0 rot_1 rot_2 rot_3";
    let properties: String = names.split(' ').map(|name| format!("property float {name}\n")).collect();
    let row = "1 -1 -1 4 -1 -1 -1 1 0 0 0";
    let text = format!("{header}{properties}end_header\n0 0 0 {row}\n1 0 0 {row}\n");
    let mut scene = Reader::new(Input::Memory(text.into(), "a.ply".into())).scene().unwrap().value;
    let options = PreviewOptions::default().with_size([80, 60]);
    let picture = |scene: &Scene| preview_scene(scene, &options).unwrap().value;
    let still = picture(&scene);
    let end = scene.meshes[0].counts();
    let mut object = Object { end, transform: Some(IDENTITY), ..Object::default() };
    scene.objects = vec![object.clone()];
    assert_eq!(differing(&picture(&scene), &still), 0);
    // The camera follows; a second object shows the same splats elsewhere.
    object.transform.as_mut().unwrap()[0][3] = 8.0;
    scene.objects = vec![object.clone()];
    assert!(differing(&picture(&scene), &still) < 100);
    scene.objects.insert(0, Object { transform: Some(IDENTITY), ..object });
    let both = picture(&scene);
    assert!(bytes(&both).chunks(4).filter(|pixel| pixel[0] > 200 && pixel[1] < 150).count() > 20);
}
