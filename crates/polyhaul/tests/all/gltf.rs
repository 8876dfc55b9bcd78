//! glTF: written files are read with the same triangles, and losses are reported.

use polyhaul::model::{Channels, Color, Domain, Elements, Image, Mesh, Object, Samples, Scene};
use polyhaul::ops::SceneOps;
use polyhaul::options::{Instances, RunOptions, SceneWriteOptions};
use polyhaul::{Format, Input, Loaded, Output, ReadOptions, Reader, WriteOptions, Writer};
use polyhaul_testkit::corpus::{self, Folder, samples};
use polyhaul_testkit::output::{Shared, bytes};
use polyhaul_testkit::zip::{self, Method};
use std::collections::BTreeSet;

fn written(threads: usize) -> WriteOptions {
    let run = RunOptions::default().with_threads(Some(threads));
    WriteOptions::default().with_format(Some(Format::Glb)).with_run(run)
}

fn load(bytes: Vec<u8>) -> Loaded<Scene> {
    Reader::new(Input::Memory(bytes, "x.glb".into())).scene().unwrap()
}

const UNMOVED: [[f32; 4]; 4] = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

/// Positions of all triangles in world space, object by object.
fn triangles(scene: &Scene) -> Vec<[f32; 3]> {
    let mut positions = Vec::new();
    let objects = scene.listed_objects().unwrap();
    for object in objects.iter() {
        let mesh = &scene.meshes[object.mesh];
        let faces = object.start.faces as usize..object.end.faces as usize;
        let corners = &mesh.faces.corner_positions[3 * faces.start..3 * faces.end];
        let transform = object.transform.map(|matrix| matrix.map(|row| row.map(|entry| entry as f32)));
        let [x, y, z, _] = transform.unwrap_or(UNMOVED);
        positions.extend(corners.iter().map(|&corner| {
            let [a, b, c] = mesh.positions[corner as usize];
            [x, y, z].map(|row| row[0] * a + row[1] * b + row[2] * c + row[3])
        }));
    }
    positions
}

/// The bits of all triangles, sorted, since triangles are written by material.
fn sorted(scene: &Scene) -> Vec<[[u32; 3]; 3]> {
    let mut triangle_bits: Vec<_> = triangles(scene)
        .as_chunks::<3>()
        .0
        .iter()
        .map(|t| t.map(|p| p.map(|coordinate| (coordinate + 0.0).to_bits())))
        .collect();
    triangle_bits.sort_unstable();
    triangle_bits
}

#[test]
fn triangles_survive() {
    let mut count = 0;
    let files = samples("obj/good", "obj");
    for file in files.iter().filter(|file| file.size < 1 << 20) {
        let mut scene = Reader::new(Input::Memory(file.bytes(), "x.obj".into())).scene().unwrap().value;
        let Ok(_) = Writer::new(polyhaul_output()).options(&written(1)).scene(&scene) else { continue };
        let file_bytes = bytes(&scene, &written(1));
        assert_eq!(file_bytes, bytes(&scene, &written(7)), "{}", file.name);
        scene.triangulate().unwrap();
        assert_eq!(sorted(&load(file_bytes).value), sorted(&scene), "{}", file.name);
        count += 1;
    }
    assert!(count > 20, "{count}");
}

fn polyhaul_output() -> polyhaul::Output {
    polyhaul::Output::Writer(Box::new(std::io::sink()), "x.glb".into())
}

fn triangle() -> Mesh {
    let faces = Elements { offsets: [0, 3].into(), corner_positions: [0, 1, 2].into(), ..Elements::default() };
    Mesh { positions: [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]].into(), faces, ..Mesh::default() }
}

#[test]
fn attributes_survive() {
    let mut mesh = triangle();
    mesh.normals = [[0.0, 0.0, 1.0]; 3].into();
    mesh.normal_domain = Domain::Vertex;
    mesh.uvs = [[0.25, 0.75], [0.0, 0.0], [1.0, 0.5]].into();
    mesh.uv_domain = Domain::Vertex;
    mesh.colors = [[1.0, 0.2, 0.0, 0.5]; 3].into();
    let written = load(bytes(&Scene { meshes: vec![mesh.clone()], ..Scene::default() }, &written(1)));
    assert!(written.report.warnings.is_empty(), "{:?}", written.report.warnings);
    let mesh_read = &written.value.meshes[0];
    assert_eq!((&mesh_read.positions, &mesh_read.normals, &mesh_read.uvs), (&mesh.positions, &mesh.normals, &mesh.uvs));
    assert_eq!((&mesh_read.colors, mesh_read.uv_domain), (&mesh.colors, Domain::Vertex));
}

/// A grid of quads with values per corner: uv seams along every `seam`th column, and normals that differ by row.
fn grid(size: usize, seam: usize, domain: Domain) -> Mesh {
    let row = size + 1;
    let place = |position: usize| [(position % row) as f32, (position / row) as f32];
    let quads = (0..size * size).map(|quad| (quad / size) * row + quad % size);
    let corners: Vec<u32> =
        quads.flat_map(|first| [first, first + 1, first + row + 1, first + row]).map(|corner| corner as u32).collect();
    let uvs: Vec<_> = (0..corners.len())
        .map(|corner| {
            let [x, y] = place(corners[corner] as usize);
            [x + (corner / 4 % size / seam) as f32, if y == 0.0 && corner % 2 == 0 { -0.0 } else { y }]
        })
        .collect();
    let normal = |number: usize| if number % (4 * size) < 2 * size { [0.0, 0.0, 1.0] } else { [0.0, 1.0, 1.0] };
    let count = if domain == Domain::Face { size * size } else { corners.len() };
    let offsets: Vec<u32> = (0..=size * size).map(|face| 4 * face as u32).collect();
    Mesh {
        positions: (0..row * row)
            .map(|position| [place(position)[0], place(position)[1], 0.0])
            .collect::<Vec<_>>()
            .into(),
        uvs: uvs.into(),
        uv_domain: Domain::Corner,
        normals: (0..count).map(normal).collect::<Vec<_>>().into(),
        normal_domain: domain,
        faces: Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() },
        ..Mesh::default()
    }
}

/// The number of vertices that a mesh with values per corner needs.
fn distinct_corners(mesh: &Mesh) -> usize {
    let mut vertices = BTreeSet::new();
    for face in 0..mesh.faces.len() {
        for corner in mesh.faces.corners(face) {
            let normal = mesh.normals[if mesh.normal_domain == Domain::Face { face } else { corner }];
            let uv = mesh.uvs[corner];
            let bits = [uv[0], uv[1], normal[0], normal[1], normal[2]].map(|part| (part + 0.0).to_bits());
            vertices.insert((mesh.faces.corner_positions[corner], bits));
        }
    }
    vertices.len()
}

#[test]
fn corners_with_equal_values_become_one_vertex() {
    let two_quads = Mesh { normals: Vec::new().into(), ..grid(2, 2, Domain::Corner) };
    let faces = Elements {
        offsets: [0, 4, 8].into(),
        corner_positions: [0, 1, 4, 3, 1, 2, 5, 4].into(),
        ..Elements::default()
    };
    let two_quads = Mesh { faces, uvs: two_quads.uvs[..8].to_vec().into(), ..two_quads };
    let read = load(bytes(&Scene { meshes: vec![two_quads], ..Scene::default() }, &written(1))).value;
    assert_eq!(read.meshes[0].positions.len(), 6);

    for (size, seam) in [(1, 1), (5, 2), (40, 40), (40, 1), (100, 7)] {
        for domain in [Domain::Corner, Domain::Face] {
            let mesh = grid(size, seam, domain);
            let expected = distinct_corners(&mesh);
            let mut scene = Scene { meshes: vec![mesh], ..Scene::default() };
            for is_cut in [false, true] {
                // The writer does not split faces that are already triangles.
                if is_cut {
                    scene.triangulate().unwrap();
                }
                for format in [Format::Glb, Format::Ply, Format::Off] {
                    let scene_options = SceneWriteOptions::default().with_triangulate(true);
                    let options = |threads| written(threads).with_format(Some(format)).with_scene(scene_options);
                    let file = bytes(&scene, &options(1));
                    assert!(file == bytes(&scene, &options(7)), "{size} {seam} {domain:?} {format:?} {is_cut}");
                    let read = Reader::new(Input::Memory(file, "x".into())).scene().unwrap().value;
                    let count = read.meshes[0].positions.len();
                    assert_eq!(count, expected, "{size} {seam} {domain:?} {format:?} {is_cut}");
                }
            }
        }
    }
}

#[test]
fn objects_share_their_mesh_and_odd_transforms_are_applied() {
    let mesh = triangle();
    let end = mesh.counts();
    let object =
        |name: &str, transform| Object { name: name.into(), end, transform: Some(transform), ..Object::default() };
    let moved = [[2.0, 0.0, 0.0, 5.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, -2.0, 1.0], [0.0, 0.0, 0.0, 1.0]];
    let sheared = [[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    let objects = vec![object("a", moved), object("b", moved), object("c", sheared)];
    let scene = Scene { meshes: vec![mesh], objects, ..Scene::default() };
    let written = load(bytes(&scene, &written(1))).value;
    assert_eq!((written.meshes.len(), written.objects.len()), (2, 3));
    assert_eq!(triangles(&written), triangles(&scene));
    assert_eq!(written.objects[1].name, "b");
}

#[test]
fn what_is_not_finite_is_refused() {
    let mut mesh = triangle();
    mesh.positions = [[0.0; 3], [f32::NAN, 0.0, 0.0], [0.0, 2.0, 0.0]].into();
    let scene = Scene { meshes: vec![mesh], ..Scene::default() };
    let error = Writer::new(polyhaul_output()).options(&written(1)).scene(&scene).unwrap_err();
    assert!(error.to_string().contains("position 1"), "{error}");
}

#[test]
fn files_hold_or_name_their_images() {
    let folder = Folder::new("gltf-images").unwrap();
    // An image with one blue pixel.
    let tga = [&[0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 24, 0][..], &[255, 0, 0]].concat();
    folder.file("a.tga", tga).unwrap();
    folder.file("a.mtl", "newmtl m\nmap_Kd a.tga\n").unwrap();
    let text = "mtllib a.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nf 1/1 2/1 3/1\n";
    let scene = polyhaul::read(folder.file("a.obj", text).unwrap()).unwrap();
    let [glb, gltf] = ["a.glb", "a.gltf"].map(|name| folder.join(name));
    polyhaul::write(&scene, &glb).unwrap();
    let file = std::fs::read(&glb).unwrap();
    assert!(file.windows(8).any(|part| part == b"\x89PNG\r\n\x1a\n") && file.len() % 4 == 0);
    polyhaul::write(&scene, &gltf).unwrap();
    assert!(folder.text("a.gltf").contains("\"uri\":\"a.bin\"") && folder.join("a.bin").exists());
    let read = polyhaul::read(&gltf).unwrap();
    assert_eq!(sorted(&read), sorted(&scene));
    let options = ReadOptions::default();
    assert_eq!(Reader::new(&glb).options(&options).scene().unwrap().value.materials[0].name, "m");
}

#[test]
fn warnings_about_images_that_are_converted_are_reported() {
    let folder = Folder::new("gltf-image-warnings").unwrap();
    // A pixel whose alpha is 0, but not declared.
    let tga = [&[0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 32, 0][..], &[255, 0, 0, 0]].concat();
    folder.file("a.tga", tga).unwrap();
    folder.file("a.mtl", "newmtl m\nmap_Kd a.tga\n").unwrap();
    let text = "mtllib a.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nf 1/1 2/1 3/1\n";
    let scene = polyhaul::read(folder.file("a.obj", text).unwrap()).unwrap();
    let report = Writer::new(folder.join("a.glb")).scene(&scene).unwrap();
    assert_eq!(report.warnings.counts().get("unused-alpha"), Some(&1), "{:?}", report.warnings);
}

#[test]
fn instances_of_pbrt_stay_instances_unless_they_are_flattened() {
    let shape = "Shape \"trianglemesh\" \"point3 P\" [ 0 0 0 1 0 0 0 1 0 ] \"integer indices\" [ 0 1 2 ]";
    let place = |x: u32| format!("AttributeBegin\nTranslate {x} 0 0\nObjectInstance \"tree\"\nAttributeEnd\n");
    let places: String = (0..3).map(place).collect();
    let text = format!("WorldBegin\nObjectBegin \"tree\"\n{shape}\nObjectEnd\n{places}");
    let scene = Reader::new(Input::Memory(text.into_bytes(), "x.pbrt".into())).scene().unwrap().value;
    let is_instanced = |options: &WriteOptions| {
        let written = bytes(&scene, options);
        assert_eq!(load(written.clone()).value.objects.len(), 3);
        written.windows(23).any(|part| part == b"EXT_mesh_gpu_instancing")
    };
    assert!(is_instanced(&written(1)));
    assert!(!is_instanced(&written(1).with_scene(SceneWriteOptions::default().with_instances(Instances::Flatten))));
    let nodes = SceneWriteOptions::default().with_instances(Instances::Nodes);
    assert!(!is_instanced(&written(1).with_scene(nodes)));
}

/// A rounded corner: the color of its material, its position, uv and normal.
type Corner = [i32; 11];

/// Corners of all triangles, however polygons were split, and the number of triangles.
fn corners(scene: &Scene) -> (BTreeSet<Corner>, usize) {
    let mut corners = BTreeSet::new();
    let mut count = 0;
    for object in scene.listed_objects().unwrap().iter() {
        let mesh = &scene.meshes[object.mesh];
        let single = object.transform.map(|matrix| matrix.map(|row| row.map(|entry| entry as f32)));
        let rows = single.unwrap_or(UNMOVED);
        let moved = |of: [f32; 3], w: f32| {
            let [x, y, z, _] = rows;
            [x, y, z].map(|row| row[0] * of[0] + row[1] * of[1] + row[2] * of[2] + row[3] * w)
        };
        for face in object.start.faces..object.end.faces {
            count += 1;
            let slot = mesh.face_materials.get(face as usize).map_or(0, |&slot| slot as usize);
            let run = || mesh.material_runs.iter().rfind(|run| run.at.faces <= face).map(|run| run.value as usize);
            let place = object.materials.as_ref().map_or_else(run, |slots| slots[slot]).unwrap();
            let Some(Color::Rgb(color)) = scene.materials[place].diffuse else { panic!("a material without color") };
            let [start, end] = [face, face + 1].map(|at| mesh.faces.offsets[at as usize] as usize);
            for corner in start..end {
                let position = mesh.faces.corner_positions[corner] as usize;
                let place = |domain: Domain, indices: &[u32]| match domain {
                    Domain::Indexed => indices[corner] as usize,
                    Domain::Corner => corner,
                    Domain::Vertex => position,
                    Domain::Face => face as usize,
                };
                let uv = mesh.uvs[place(mesh.uv_domain, &mesh.faces.corner_uvs)];
                let normal = mesh.normals[place(mesh.normal_domain, &mesh.faces.corner_normals)];
                let numbers = moved(mesh.positions[position], 1.0).into_iter().chain(uv).chain(moved(normal, 0.0));
                // Some programs round colors to bytes.
                let rounded = color.map(|part| part * 100.0).into_iter().chain(numbers.map(|part| part * 1000.0));
                let corner: Vec<i32> = rounded.map(|part| part.round() as i32).collect();
                corners.insert(corner.try_into().unwrap());
            }
        }
    }
    (corners, count)
}

/// The output of obj2gltf, trimesh, three.js and Blender for a model equals the model.
#[test]
fn files_of_other_programs_are_the_model() {
    let folder = corpus::root().join("glb/programs");
    let load = |name: &str| Reader::new(folder.join(name)).scene().unwrap().value;
    let mut model = load("model.obj");
    model.triangulate().unwrap();
    let expected = corners(&model);
    assert_eq!((expected.0.len(), expected.1), (36, 16));
    for name in ["obj2gltf.glb", "trimesh.glb", "three.glb", "three.gltf", "blender.glb", "blender.gltf"] {
        let loaded = corners(&load(name));
        assert_eq!(loaded, expected, "{name}");
    }
}

/// An uncompressed PNG image with one RGBA pixel.
fn png(pixel: [u8; 4]) -> Vec<u8> {
    let samples = Samples::U8(pixel.to_vec().into());
    let image = Image { width: 1, height: 1, channels: Channels::Rgba, samples, ..Image::default() };
    let shared = Shared::default();
    let output = Output::Writer(Box::new(shared.clone()), "a.png".into());
    Writer::new(output).options(&WriteOptions::default().with_format(Some(Format::Png))).image(&image).unwrap();
    shared.take()
}

const QUAD: &str = "mtllib c.mtl\nusemtl m\nv -1 0 -1\nv 1 0 -1\nv 1 0 1\nv -1 0 1\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n\
    f 1/1 4/4 3/3 2/2\n";
const WOOD: &str = "newmtl m\nmap_Kd ../textures/wood.png\n";

/// The number of images in a file, and the codes of the warnings about them.
fn embedded(input: impl Into<Input>, output: &std::path::Path, allow_outside: bool) -> (usize, Vec<&'static str>) {
    let options = ReadOptions::default().with_allow_outside(allow_outside);
    let report = Reader::new(input.into()).options(&options).convert(Writer::new(output)).unwrap();
    let bytes = std::fs::read(output).unwrap();
    let count = bytes.windows(8).filter(|part| *part == b"\x89PNG\r\n\x1a\n").count();
    let codes = report.warnings.counts().keys().copied();
    (count, codes.filter(|code| !["changed-faces", "changed-materials"].contains(code)).collect())
}

#[test]
fn files_hold_images_of_other_folders_that_may_be_read() {
    let folder = Folder::new("gltf-folders").unwrap();
    ["models", "textures", "out"].into_iter().for_each(|name| std::fs::create_dir(folder.join(name)).unwrap());
    folder.file("models/c.mtl", WOOD).unwrap();
    folder.file("textures/wood.png", png([9, 8, 7, 255])).unwrap();
    let scene = folder.file("models/c.obj", QUAD).unwrap();
    // The image is in a folder below the new file.
    assert_eq!(embedded(&*scene, &folder.join("c.glb"), false), (1, vec![]));
    assert_eq!(embedded(&*scene, &folder.join("out/c.glb"), true), (1, vec![]));
    for output in ["out/c.glb", "models/c.glb"] {
        let (count, codes) = embedded(&*scene, &folder.join(output), false);
        assert!(count == 0 && codes.contains(&"uncopied-reference"), "{output} {codes:?}");
    }
    let report = Reader::new(&scene).convert(Writer::new(folder.join("models/c.glb"))).unwrap();
    let hints: Vec<_> =
        report.warnings.kept().iter().filter_map(|warning| warning.diagnostic.hint.as_deref()).collect();
    assert!(hints.contains(&"use `--allow-outside` to embed it"), "{hints:?}");
}

#[test]
fn files_hold_images_of_archives() {
    let folder = Folder::new("gltf-archives").unwrap();
    let image = png([9, 8, 7, 255]);
    let archive = |members: &[(&str, &[u8])]| folder.file("a.zip", zip::simple(members, Method::Deflate)).unwrap();
    let output = folder.join("a.glb");
    let flat = WOOD.replace("../textures/", "");
    let path = archive(&[("c.obj", QUAD.as_bytes()), ("c.mtl", flat.as_bytes()), ("wood.png", &image)]);
    assert_eq!(embedded(path.join("c.obj"), &output, false), (1, vec![]));
    let path =
        archive(&[("models/c.obj", QUAD.as_bytes()), ("models/c.mtl", WOOD.as_bytes()), ("textures/wood.png", &image)]);
    assert_eq!(embedded(path.join("models/c.obj"), &output, false), (1, vec![]));
    // A file in the archive with embedded images.
    let inner = std::fs::read(&output).unwrap();
    let path = archive(&[("in/b.glb", &inner)]);
    assert_eq!(embedded(path, &folder.join("b.glb"), false), (1, vec![]));
    // References cannot lead from an archive to files next to it.
    folder.file("wood.png", &image).unwrap();
    let path = archive(&[("c.obj", QUAD.as_bytes()), ("c.mtl", b"newmtl m\nmap_Kd ../wood.png\n")]);
    assert_eq!(embedded(path.join("c.obj"), &folder.join("c.glb"), false).0, 0);
}

#[test]
fn properties_of_materials_stay_from_file_to_file() {
    let materials = r#"[{"name":"m","alphaMode":"MASK","alphaCutoff":0.25,"extras":{"a":[1,"b"]},
        "extensions":{"KHR_materials_unlit":{}},"occlusionTexture":{"index":0,"strength":0.5},
        "pbrMetallicRoughness":{"baseColorFactor":[0.5,0.5,0.5,1],"baseColorTexture":{"index":0}}}]"#;
    let text = format!(
        r#"{{"asset":{{"version":"2.0","copyright":"CC0 nobody"}},"scenes":[{{"nodes":[0]}}],"nodes":[{{"mesh":0}}],
        "meshes":[{{"primitives":[{{"attributes":{{"POSITION":0,"TEXCOORD_0":1}},"material":0}}]}}],
        "accessors":[{{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3"}},
            {{"bufferView":0,"componentType":5126,"count":3,"type":"VEC2"}}],
        "bufferViews":[{{"buffer":0,"byteLength":36}}],"buffers":[{{"byteLength":36,"uri":"data:;base64,{}"}}],
        "images":[{{"uri":"a.png"}}],"textures":[{{"source":0}}],"extensionsUsed":["KHR_materials_unlit"],
        "materials":{materials}}}"#,
        "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA"
    );
    let folder = Folder::new("gltf-kept").unwrap();
    folder.file("a.png", png([1, 2, 3, 4])).unwrap();
    let path = folder.file("a.gltf", text).unwrap();
    let first = polyhaul::read(&path).unwrap();
    let report = Reader::new(&path).convert(Writer::new(folder.join("b.gltf"))).unwrap();
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    let second = polyhaul::read(folder.join("b.gltf")).unwrap();
    assert_eq!((&second.materials, &second.comments), (&first.materials, &first.comments));
    let report = Reader::new(&path).convert(Writer::new(folder.join("b.obj"))).unwrap();
    let lost = ["culling", "alpha-cutoffs", "unlit", "occlusion-maps", "extras"].map(|what| format!("left-out-{what}"));
    assert!(lost.iter().all(|code| report.warnings.counts().contains_key(&**code)), "{:?}", report.warnings);
    assert!(!folder.text("b.mtl").contains("\n a.png"), "{}", folder.text("b.mtl"));
}

#[test]
fn empty_nodes_and_extras_are_counted_by_name() {
    let nodes = r#"[{"mesh":0,"name":"moved","extras":{"price":42}},{"name":"locator","extras":{}},{"name":"group","extras":null,"children":[3]},
        {"camera":0},{"name":"bone"},{"name":"unreached"}]"#;
    let text = format!(
        r#"{{"asset":{{"version":"2.0"}},"scenes":[{{"nodes":[0,1,2,4]}}],"nodes":{nodes},"cameras":[{{}}],
        "skins":[{{"joints":[4]}}],"meshes":[{{"primitives":[]}}]}}"#
    );
    let report = Reader::new(Input::Memory(text.into(), "a.gltf".into())).scene().unwrap().report;
    let names = |code: &str| {
        let warnings = report.warnings.kept().iter().filter(|warning| warning.code == code);
        warnings.flat_map(|warning| warning.diagnostic.names.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names("left-out-empty-nodes"), names("left-out-extras")),
        (vec!["locator".into()], vec!["moved".into()])
    );
    assert_eq!(report.warnings.counts()["left-out-empty-nodes"], 1);
}
