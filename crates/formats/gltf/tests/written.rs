//! Options of the writer: instances, quantized values, compressed views, and the maximum file size.

use polyhaul_bytes::{Sink, Source};
use polyhaul_geometry::parts::parts;
use polyhaul_gltf::{GltfFile, GltfImages, GltfJob, GltfWriteOptions, read};
use polyhaul_model::Axes;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::options::{Instances, Placement};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Domain, Elements, Material, Mesh, Object, Scene};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::{ParseOptions, RunOptions};
use polyhaul_pipeline::write::Writing;
use serde_json::Value;

struct Glb {
    bytes: Vec<u8>,
    warnings: Warnings,
}

fn try_write(
    scene: &Scene,
    options: GltfWriteOptions,
    instances: Instances,
    threads: usize,
    bytes: &mut Vec<u8>,
) -> Result<Warnings> {
    let objects = scene.listed_objects()?;
    let evaluated = scene.evaluated_meshes(&objects)?;
    let parts = parts(scene, &objects, &evaluated, &Placement { axes: Some(Axes::OBJ), ..Placement::default() })?;
    let run = RunOptions::default().with_threads(Some(threads));
    let mut warnings = Warnings::default();
    let job = GltfJob {
        harmonics_degree: 4,
        scene,
        parts: &parts,
        evaluated: &evaluated,
        materials: &scene.materials,
        images: &GltfImages::default(),
        origin: [0.0; 3],
        output: "x.glb",
        options: &options,
        instances,
        run: &run,
        strict: false.into(),
    };
    let mut file = GltfFile::new(&job, &mut warnings)?;
    let mut writing = Writing::new(Sink::writer(Box::new(bytes), "x.glb"), None, &run)?;
    file.write_glb(&mut writing)?;
    writing.finish()?.finish().map_err(|error| Error::io("write", "x.glb", error))?;
    Ok(warnings)
}

fn write(scene: &Scene, options: GltfWriteOptions) -> Glb {
    write_instances(scene, options, Instances::Auto)
}

fn write_instances(scene: &Scene, options: GltfWriteOptions, instances: Instances) -> Glb {
    let [mut bytes, mut others] = [Vec::new(), Vec::new()];
    let warnings = try_write(scene, options, instances, 1, &mut bytes).unwrap();
    try_write(scene, options, instances, 5, &mut others).unwrap();
    assert!(bytes == others, "the bytes depend on the threads");
    Glb { bytes, warnings }
}

impl Glb {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes[20..][..self.json_bytes()]).unwrap()
    }

    fn json_bytes(&self) -> usize {
        u32::from_le_bytes(self.bytes[12..16].try_into().unwrap()) as usize
    }

    fn binary(&self) -> &[u8] {
        &self.bytes[20 + self.json_bytes() + 8..]
    }

    fn scene(&self) -> Scene {
        let source = Source::named_memory(self.bytes.clone(), "x.glb");
        let mut files = |name: &str, _: u64| Err(Error::new(ErrorKind::Io, format!("no file {name}")));
        read(Bytes::new(&source, None), None, &ParseOptions::default(), &mut files).unwrap().scene
    }

    fn codes(&self) -> Vec<(&str, u64)> {
        self.warnings.counts().iter().map(|(&code, &count)| (code, count)).collect()
    }
}

/// Creates a grid of `side` by `side` squares with all attributes.
fn grid(side: usize) -> Mesh {
    let points = (0..=side).flat_map(|y| (0..=side).map(move |x| [x as f32 / side as f32, y as f32 / side as f32]));
    let points: Vec<[f32; 2]> = points.collect();
    let corner = |x: usize, y: usize| (y * (side + 1) + x) as u32;
    let squares = (0..side).flat_map(|y| (0..side).map(move |x| (x, y)));
    let corners: Vec<u32> = squares
        .flat_map(|(x, y)| {
            let [a, b, c, d] = [corner(x, y), corner(x + 1, y), corner(x + 1, y + 1), corner(x, y + 1)];
            [a, b, c, c, d, a]
        })
        .collect();
    let offsets: Vec<u32> = (0..=corners.len() as u32 / 3).map(|face| 3 * face).collect();
    let normal = |&[x, y]: &[f32; 2]| {
        let length = (x * x + y * y + 1.0).sqrt();
        [x / length, y / length, 1.0 / length]
    };
    Mesh {
        positions: points
            .iter()
            .map(|&[x, y]| [300.0 + 20.0 * x, -5.0 * y, (7.0 * x).sin()])
            .collect::<Vec<_>>()
            .into(),
        normals: points.iter().map(normal).collect::<Vec<_>>().into(),
        normal_domain: Domain::Vertex,
        uvs: points.clone().into(),
        uv_domain: Domain::Vertex,
        colors: points.iter().map(|&[x, y]| [x, y, 0.5, 1.0]).collect::<Vec<_>>().into(),
        faces: Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() },
        ..Mesh::default()
    }
}

type ObjectMatrix = [[f32; 4]; 4];

fn placed(mesh: &Mesh, objects: &[(&str, ObjectMatrix)]) -> Scene {
    let object = |&(name, transform): &(&str, ObjectMatrix)| Object {
        name: name.into(),
        end: mesh.counts(),
        transform: Some(transform.map(|row| row.map(f64::from))),
        ..Object::default()
    };
    Scene { meshes: vec![mesh.clone()], objects: objects.iter().map(object).collect(), ..Scene::default() }
}

/// Returns a rotation around z with a scale and a translation along x.
fn turned(degrees: f32, scale: f32, x: f32) -> ObjectMatrix {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let [sin, cos] = [scale * sin, scale * cos];
    [[cos, -sin, 0.0, x], [sin, cos, 0.0, 2.0], [0.0, 0.0, scale, 0.0], [0.0, 0.0, 0.0, 1.0]]
}

fn sheared() -> ObjectMatrix {
    [[1.0, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
}

fn moved(matrix: Option<[[f64; 4]; 4]>, [x, y, z]: [f32; 3]) -> [f64; 3] {
    let rows = matrix.unwrap_or(turned(0.0, 1.0, 0.0).map(|row| row.map(f64::from)));
    [0, 1, 2].map(|row| {
        let [a, b, c, d] = rows[row];
        a * f64::from(x) + b * f64::from(y) + c * f64::from(z) + d
    })
}

/// Returns the maximum difference between corner coordinates of two scenes, in world space.
fn distance(a: &Scene, b: &Scene) -> f64 {
    let corners = |scene: &Scene| {
        let mut points = Vec::new();
        for object in &scene.objects {
            let mesh = &scene.meshes[object.mesh];
            let corners = &mesh.faces.corner_positions;
            points.extend(corners.iter().map(|&corner| moved(object.transform, mesh.positions[corner as usize])));
        }
        points
    };
    let [a, b] = [corners(a), corners(b)];
    assert_eq!(a.len(), b.len());
    let coordinates = a.as_flattened().iter().zip(b.as_flattened());
    coordinates.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn instances_share_a_node() {
    let mesh = grid(1);
    let mirror = [[1.0, 0.0, 0.0, 4.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, -2.0, 0.0], [0.0; 4]];
    let transforms = [turned(0.0, 1.0, 1.0), turned(30.0, 2.0, 2.0), turned(77.0, 0.5, 3.0), mirror];
    let scene = placed(&mesh, &transforms.map(|transform| ("tree", transform)));
    let glb = write(&scene, GltfWriteOptions::default());
    let json = glb.json();
    assert_eq!((json["nodes"].as_array().unwrap().len(), &json["nodes"][0]["name"]), (1, &"tree".into()));
    assert_eq!(json["extensionsRequired"], serde_json::json!(["EXT_mesh_gpu_instancing"]));
    // One of the rotations is rounded.
    assert_eq!(glb.codes(), [("changed-transforms", 1)]);
    let read_scene = glb.scene();
    assert!(distance(&read_scene, &scene) < 1e-4);
    assert_eq!(read_scene.objects[3].name, "tree_3");
    let again = write(&read_scene, GltfWriteOptions::default());
    assert_eq!(again.json()["nodes"].as_array().unwrap().len(), 1);
    assert_eq!(again.scene().objects[3].name, "tree_3");
    let nodes = write_instances(&scene, GltfWriteOptions::default(), Instances::Nodes);
    assert_eq!(nodes.json()["nodes"].as_array().unwrap().len(), 4);
    assert_eq!(nodes.json().get("extensionsRequired"), None);
}

#[test]
fn lines_and_points_without_faces_keep_their_material() {
    let lines = Elements { offsets: vec![0, 2].into(), corner_positions: vec![0, 1].into(), ..Elements::default() };
    let positions = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let mesh = Mesh { positions: positions.into(), lines, points: vec![2].into(), ..Mesh::default() };
    let mut scene = placed(&mesh, &[("wire", turned(0.0, 1.0, 1.0))]);
    scene.materials.push(Material { name: "red".into(), ..Material::default() });
    scene.objects[0].materials = Some(vec![Some(0)]);
    let glb = write(&scene, GltfWriteOptions::default());
    let primitives = &glb.json()["meshes"][0]["primitives"];
    assert_eq!([0_usize, 1].map(|at| primitives[at]["material"].as_u64()), [Some(0); 2]);
    assert_eq!(glb.scene().objects[0].materials, Some(vec![Some(0)]));
}

#[test]
fn lines_and_points_beside_faces_keep_the_only_material() {
    let lines = Elements { offsets: vec![0, 2].into(), corner_positions: vec![0, 1].into(), ..Elements::default() };
    let mesh = Mesh { lines, points: vec![2].into(), ..grid(1) };
    let mut scene = placed(&mesh, &[("wire", turned(0.0, 1.0, 1.0))]);
    scene.materials = ["red", "blue"].map(|name| Material { name: name.into(), ..Material::default() }).to_vec();
    let mut materials = |slots: &[Option<usize>]| {
        scene.objects[0].materials = Some(slots.to_vec());
        let glb = write(&scene, GltfWriteOptions::default());
        let primitives = &glb.json()["meshes"][0]["primitives"];
        [0_usize, 1, 2].map(|at| primitives[at]["material"].as_u64())
    };
    assert_eq!(materials(&[Some(1)]), [Some(1); 3]);
    assert_eq!(materials(&[Some(1), Some(0)]), [Some(1), None, None]);
    scene.objects[0].materials = Some(vec![Some(1)]);
    assert_eq!(write(&scene, GltfWriteOptions::default()).scene().objects[0].materials, Some(vec![Some(1)]));
}

#[test]
fn different_names_prevent_instances_unless_requested() {
    let at = |x| turned(0.0, 1.0, x);
    let scene = placed(&grid(1), &[("a", at(0.0)), ("b", at(1.0)), ("odd", sheared()), ("", at(3.0))]);
    let glb = write(&scene, GltfWriteOptions::default());
    assert_eq!((glb.json()["nodes"].as_array().unwrap().len(), glb.codes()), (4, vec![]));
    let glb = write_instances(&scene, GltfWriteOptions::default(), Instances::Gpu);
    assert_eq!((glb.json()["nodes"].as_array().unwrap().len(), glb.codes()), (2, vec![("left-out-names", 2)]));
    assert_eq!(glb.scene().objects.len(), 4);
    let attributes = &glb.json()["nodes"][0]["extensions"]["EXT_mesh_gpu_instancing"]["attributes"];
    assert_eq!(attributes.as_object().unwrap().len(), 1, "translations alone");
}

#[test]
fn slightly_odd_transforms_are_counted() {
    let mut odd = turned(30.0, 1.0, 0.0);
    odd[0][0] += 9e-6;
    let scene = placed(&grid(1), &[("tree", turned(30.0, 1.0, 1.0)), ("tree", odd)]);
    let glb = write(&scene, GltfWriteOptions::default());
    assert_eq!(glb.codes(), [("changed-transforms", 1)]);
}

/// Returns vertex values at the corners of faces, since the order of vertices is not preserved.
fn at_corners<const N: usize>(mesh: &Mesh, values: &[[f32; N]]) -> Vec<f32> {
    mesh.faces.corner_positions.iter().flat_map(|&corner| values[corner as usize]).collect()
}

fn is_near(a: &[f32], b: &[f32], limit: f32) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= limit)
}

#[test]
fn quantized_values_are_near() {
    let mesh = grid(9);
    let scene = placed(&mesh, &[("a", turned(30.0, 1.0, 0.0)), ("b", sheared()), ("c", turned(0.0, 2.0, 5.0))]);
    let glb = write(&scene, GltfWriteOptions::default().with_quantize(true));
    let count = 2 * mesh.positions.len() as u64;
    let changes = ["changed-colors", "changed-normals", "changed-positions", "changed-uvs"];
    assert_eq!(glb.codes(), changes.map(|code| (code, count)));
    let reread = glb.scene();
    // Half a step (20 units in 65,534 steps), doubled by the scale of the third object.
    let error = distance(&reread, &scene);
    assert!(error > 1e-5 && error < 1.1 * 2.0 * 10.0 / 65534.0, "{error}");
    let quantized = &reread.meshes[0];
    let [uvs, expected] = [quantized, &mesh].map(|mesh| at_corners(mesh, &mesh.uvs));
    assert!(is_near(&uvs, &expected, 1e-5) && uvs != expected);
    let [normals, expected] = [quantized, &mesh].map(|mesh| at_corners(mesh, &mesh.normals));
    assert!(is_near(&normals, &expected, 1.0 / 127.0) && normals != expected);
    let [colors, expected] = [quantized, &mesh].map(|mesh| at_corners(mesh, &mesh.colors));
    assert!(is_near(&colors, &expected, 1e-2) && colors != expected);
    let json = glb.json();
    assert_eq!(json["extensionsRequired"], serde_json::json!(["KHR_mesh_quantization"]));
    let views = json["bufferViews"].as_array().unwrap();
    assert_eq!(views.iter().filter_map(|view| view["byteStride"].as_u64()).collect::<Vec<_>>(), [8, 4, 4, 8]);
}

#[test]
fn bounds_of_quantized_positions_are_exact() {
    let glb = write(&placed(&grid(3), &[("a", sheared())]), GltfWriteOptions::default().with_quantize(true));
    let json = glb.json();
    let codes: Vec<[i16; 4]> = glb.binary()[..16 * 8]
        .as_chunks::<2>()
        .0
        .iter()
        .map(|&bytes| i16::from_le_bytes(bytes))
        .collect::<Vec<_>>()
        .as_chunks::<4>()
        .0
        .to_vec();
    for (name, edge) in [("min", Iterator::min as fn(_) -> _), ("max", Iterator::max)] {
        let axis = |axis: usize| edge(codes.iter().map(move |code| code[axis]).collect::<Vec<_>>().into_iter());
        let expected = [0, 1, 2].map(|number| f64::from(axis(number).unwrap()));
        assert_eq!(json["accessors"][0][name], serde_json::json!(expected));
    }
}

#[test]
fn transforms_that_overflow_are_refused() {
    let mut mesh = grid(1);
    mesh.positions = mesh.positions.iter().map(|&[x, y, z]| [1e30 * x, 1e30 * y, 1e30 * z]).collect::<Vec<_>>().into();
    let scene = placed(&mesh, &[("huge", turned(0.0, 1e15, 0.0))]);
    let options = GltfWriteOptions::default().with_quantize(true);
    let error = try_write(&scene, options, Instances::Auto, 1, &mut Vec::new()).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("object `huge`"), "{error}");
}

#[test]
fn uvs_outside_of_the_unit_square_stay_floats() {
    let mut mesh = grid(2);
    mesh.uvs = mesh.uvs.iter().map(|&[u, v]| [u + 0.01, v]).collect::<Vec<_>>().into();
    let glb = write(&placed(&mesh, &[("a", turned(0.0, 1.0, 0.0))]), GltfWriteOptions::default().with_quantize(true));
    let reread = &glb.scene().meshes[0];
    assert_eq!(at_corners(reread, &reread.uvs), at_corners(&mesh, &mesh.uvs));
    assert!(glb.codes().iter().all(|(code, _)| *code != "changed-uvs"));
}

#[test]
fn files_beyond_4_gib_are_refused_before_the_first_byte() {
    // The same triangle many times, in objects that cannot share it: 6 bytes of indices each.
    let triangles = 500_000;
    let objects = 1440;
    let corners: Vec<u32> = [0, 1, 2].repeat(triangles);
    let offsets: Vec<u32> = (0..=triangles as u32).map(|face| 3 * face).collect();
    let faces = Elements { offsets: offsets.into(), corner_positions: corners.into(), ..Elements::default() };
    let mesh = Mesh { positions: grid(1).positions[..3].to_vec().into(), faces, ..Mesh::default() };
    let scene = placed(&mesh, &vec![("", sheared()); objects]);
    let mut bytes = Vec::new();
    let error = try_write(&scene, GltfWriteOptions::default(), Instances::Auto, 2, &mut bytes).unwrap_err();
    assert_eq!((error.kind(), bytes.len()), (ErrorKind::Limit, 0));
    let hint = error.diagnostic().hint.as_deref();
    assert!(hint.is_some_and(|hint| hint.contains("write a .gltf file")), "{error:?}");
}

#[cfg(feature = "meshopt")]
mod compressed {
    use super::*;

    /// Decodes a compressed view.
    fn decoded(view: &Value, binary: &[u8]) -> Vec<u8> {
        let extension = &view["extensions"]["EXT_meshopt_compression"];
        let number = |name: &str| extension[name].as_u64().unwrap_or(0) as usize;
        let offset = number("byteOffset");
        let count = number("count");
        assert_eq!((offset % 4, number("buffer")), (0, 0));
        let bytes = &binary[offset..offset + number("byteLength")];
        match (extension["mode"].as_str().unwrap(), number("byteStride")) {
            ("ATTRIBUTES", 4) => vertices::<4>(bytes, count),
            ("ATTRIBUTES", 8) => vertices::<8>(bytes, count),
            ("ATTRIBUTES", 12) => vertices::<12>(bytes, count),
            ("ATTRIBUTES", 16) => vertices::<16>(bytes, count),
            ("TRIANGLES", 2) => shorts(&meshopt::decode_index_buffer(bytes, count).unwrap()),
            ("TRIANGLES", 4) => words(&meshopt::decode_index_buffer(bytes, count).unwrap()),
            ("INDICES", 4) => words(&meshopt::decode_index_sequence(bytes, count).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    fn vertices<const STRIDE: usize>(bytes: &[u8], count: usize) -> Vec<u8>
    where
        [u8; STRIDE]: Default,
    {
        assert_eq!(meshopt::decode_vertex_version(bytes), Some(0), "the extension has no other version");
        meshopt::decode_vertex_buffer::<[u8; STRIDE]>(bytes, count).unwrap().as_flattened().to_vec()
    }

    fn shorts(indices: &[u16]) -> Vec<u8> {
        indices.iter().flat_map(|index| index.to_le_bytes()).collect()
    }

    fn words(indices: &[u32]) -> Vec<u8> {
        indices.iter().flat_map(|index| index.to_le_bytes()).collect()
    }

    /// Rotates triangles to start with their smallest index, because the codec may rotate them.
    fn turned_triangles(bytes: &[u8], width: usize) -> Vec<Vec<&[u8]>> {
        let indices: Vec<&[u8]> = bytes.chunks(width).collect();
        let mut triangles: Vec<Vec<&[u8]>> = indices.chunks(3).map(<[&[u8]]>::to_vec).collect();
        for triangle in &mut triangles {
            let smallest = (0..3).min_by_key(|&corner| triangle[corner].iter().rev().collect::<Vec<_>>()).unwrap();
            triangle.rotate_left(smallest);
        }
        triangles
    }

    fn check(scene: &Scene, options: GltfWriteOptions) {
        let [plain, packed] = [false, true].map(|meshopt| write(scene, options.with_meshopt(meshopt)));
        let plain_json = plain.json();
        let json = packed.json();
        let plain_views = plain_json["bufferViews"].as_array().unwrap();
        let packed_views = json["bufferViews"].as_array().unwrap();
        assert_eq!((plain_views.len(), &plain_json["accessors"]), (packed_views.len(), &json["accessors"]));
        let mut fallback = 0;
        for (view, packed_view) in plain_views.iter().zip(packed_views) {
            let number = |view: &Value, name: &str| view[name].as_u64().unwrap_or(0) as usize;
            let bytes = &plain.binary()[number(view, "byteOffset")..][..number(view, "byteLength")];
            let decoded = decoded(packed_view, packed.binary());
            let extension = &packed_view["extensions"]["EXT_meshopt_compression"];
            if extension["mode"] == "TRIANGLES" {
                let width = number(extension, "byteStride");
                assert_eq!(turned_triangles(&decoded, width), turned_triangles(bytes, width));
            } else {
                assert_eq!(decoded, bytes);
            }
            assert_eq!((packed_view["buffer"].as_u64(), number(packed_view, "byteOffset")), (Some(1), fallback));
            assert_eq!([&packed_view["byteLength"], &packed_view["target"]], [&view["byteLength"], &view["target"]]);
            fallback += bytes.len().next_multiple_of(4);
        }
        assert_eq!(json["buffers"][1]["byteLength"], fallback);
        assert_eq!(json["buffers"][1]["extensions"]["EXT_meshopt_compression"]["fallback"], true);
        let required = json["extensionsRequired"].as_array().unwrap();
        assert!(required.contains(&"EXT_meshopt_compression".into()));
        assert!(packed.bytes.len() < plain.bytes.len());
    }

    #[test]
    fn views_match_the_plain_file() {
        let mut mesh = grid(40);
        mesh.lines = Elements {
            offsets: [0, 4, 7].into(),
            corner_positions: [5, 1600, 7, 3, 2, 9, 8].into(),
            ..Elements::default()
        };
        mesh.points = [1, 4, 9].into();
        let objects: Vec<_> = (0..40).map(|number| ("tree", turned(7.0 * number as f32, 2.0, number as f32))).collect();
        for quantize in [false, true] {
            check(&placed(&mesh, &objects), GltfWriteOptions::default().with_quantize(quantize));
        }
        // 32-bit indices.
        check(&placed(&grid(256), &[("a", turned(0.0, 1.0, 0.0))]), GltfWriteOptions::default());
    }

    #[test]
    fn long_views_are_split() {
        let meshes = vec![grid(250); 3];
        let scene = Scene { meshes, ..Scene::default() };
        let glb = write(&scene, GltfWriteOptions::default().with_meshopt(true));
        let json = glb.json();
        let views = json["bufferViews"].as_array().unwrap();
        let sizes: Vec<_> = views.iter().map(|view| decoded(view, glb.binary()).len() as u64).collect();
        assert!(views.iter().zip(&sizes).all(|(view, size)| view["byteLength"] == *size));
        let accessors = json["accessors"].as_array().unwrap();
        let positions: Vec<_> = accessors.iter().filter(|accessor| accessor.get("min").is_some()).collect();
        assert_eq!(
            positions.iter().map(|accessor| accessor["bufferView"].as_u64().unwrap()).collect::<Vec<_>>(),
            [0, 0, 1]
        );
    }
}
