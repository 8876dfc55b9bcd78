//! Scenes with instances, repeated references, many objects, and polygons that are hard to triangulate.

use super::WorstInput;
use super::pixels::picture;
use crate::random::Random;
use polyhaul::Format;
use std::fmt::Write;

/// Encodes `count` random positions for glTF.
fn positions(count: usize) -> Vec<u8> {
    let mut random = Random::new(7);
    (0..3 * count).flat_map(|_| (random.below(1000) as f32).to_le_bytes()).collect()
}

/// Encodes a `.glb` file with a JSON and a binary chunk.
fn glb(json: &str, binary: &[u8]) -> Vec<u8> {
    let mut json = json.as_bytes().to_vec();
    json.resize(json.len().next_multiple_of(4), b' ');
    let mut binary = binary.to_vec();
    binary.resize(binary.len().next_multiple_of(4), 0);
    let mut file = b"glTF".to_vec();
    let size = 12 + 8 + json.len() + 8 + binary.len();
    [2, size as u32, json.len() as u32].iter().for_each(|number| file.extend(number.to_le_bytes()));
    file.extend(b"JSON");
    file.extend(json);
    file.extend((binary.len() as u32).to_le_bytes());
    file.extend(b"BIN\0");
    file.extend(binary);
    file
}

/// Formats a document with a buffer of `count` positions, which is accessor 0, and further accessors and properties.
fn document(count: usize, accessors: &str, rest: &str) -> String {
    let bytes = 12 * count;
    format!(
        r#"{{"asset":{{"version":"2.0"}},"scene":0,"buffers":[{{"byteLength":{bytes}}}],
        "bufferViews":[{{"buffer":0,"byteLength":{bytes}}}],
        "accessors":[{{"bufferView":0,"componentType":5126,"count":{count},"type":"VEC3","min":[0,0,0],"max":[1e3,1e3,1e3]}}{accessors}],{rest}}}"#
    )
}

/// Formats a scene of `count` identical nodes.
fn same_nodes(count: usize, node: &str) -> String {
    let numbers: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    let nodes = vec![node; count].join(",");
    format!(r#""scenes":[{{"nodes":[{}]}}],"nodes":[{nodes}]"#, numbers.join(","))
}

const MESH: &str = r#""meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}]"#;

/// Encodes `count` instances of a triangle; the accessor of their translations has no data.
fn instances(count: u64) -> Vec<u8> {
    let accessor = format!(r#",{{"componentType":5126,"count":{count},"type":"VEC3"}}"#);
    let node = r#"{"mesh":0,"extensions":{"EXT_mesh_gpu_instancing":{"attributes":{"TRANSLATION":1}}}}"#;
    let rest = format!(r#""extensionsUsed":["EXT_mesh_gpu_instancing"],{MESH},{}"#, same_nodes(1, node));
    glb(&document(3, &accessor, &rest), &positions(3))
}

/// Encodes a mesh with `count` positions that have no data, except optionally one sparse value.
fn without_data(count: u64, is_sparse: bool) -> Vec<u8> {
    let sparse = if is_sparse {
        r#","sparse":{"count":1,"indices":{"bufferView":0,"componentType":5125},"values":{"bufferView":0}}"#
    } else {
        ""
    };
    let accessor =
        format!(r#",{{"componentType":5126,"count":{count},"type":"VEC3","min":[0,0,0],"max":[0,0,0]{sparse}}}"#);
    let mesh = MESH.replace(":0}", ":1}");
    glb(&document(3, &accessor, &format!("{mesh},{}", same_nodes(1, r#"{"mesh":0}"#))), &[0; 36])
}

pub(super) fn gltf() -> Vec<WorstInput> {
    let shared_primitives = vec![r#"{"attributes":{"POSITION":0}}"#; 2000].join(",");
    let chain: Vec<String> = (1..20_000).map(|child| format!(r#"{{"children":[{child}]}}"#)).collect();
    let chain = format!(r#""scenes":[{{"nodes":[0]}}],{MESH},"nodes":[{},{{"mesh":0}}]"#, chain.join(","));
    let deep = format!(r#"{{"asset":{{"version":"2.0"}},"extras":{}{}}}"#, "[".repeat(400_000), "]".repeat(400_000));
    let empty = format!(r#"{{"asset":{{"version":"2.0"}},"nodes":[{}]}}"#, vec!["{}"; 300_000].join(","));
    let materials: Vec<String> =
        (0..20_000).map(|number| format!(r#"{{"name":"m{number}","alphaCutoff":0.{number}}}"#)).collect();
    let materials = format!(r#"{MESH},{},"materials":[{}]"#, same_nodes(1, r#"{"mesh":0}"#), materials.join(","));
    vec![
        WorstInput::new("instances without data", "a.glb", instances(10_000_000)),
        WorstInput::new("as many instances without data as pass", "b.glb", instances(60_000)).content(60_000 * 600),
        WorstInput::new("positions without data", "c.glb", without_data(1_000_000_000, false)),
        WorstInput::new("as many positions without data as pass", "d.glb", without_data(2_700_000, false))
            .content(2_700_000 * 24),
        WorstInput::new("sparse positions", "e.glb", without_data(2_700_000, true)).content(2_700_000 * 24),
        WorstInput::new(
            "nodes that share a mesh",
            "f.glb",
            glb(&document(3000, "", &format!("{MESH},{}", same_nodes(2000, r#"{"mesh":0}"#))), &positions(3000)),
        )
        .content(2000 * 3000 * 24),
        WorstInput::new(
            "primitives that share their positions",
            "g.glb",
            glb(
                &document(
                    3000,
                    "",
                    &format!(r#""meshes":[{{"primitives":[{shared_primitives}]}}],{}"#, same_nodes(1, r#"{"mesh":0}"#)),
                ),
                &positions(3000),
            ),
        )
        .content(2000 * 3000 * 12),
        WorstInput::new("nodes in nodes", "h.glb", glb(&document(3, "", &chain), &positions(3))),
        WorstInput::new("arrays in arrays", "i.gltf", deep),
        WorstInput::new("empty nodes", "j.gltf", empty).content(300_000 * 400),
        WorstInput::new("many materials", "k.glb", glb(&document(3, "", &materials), &positions(3)))
            .content(20_000 * 2000),
    ]
}

/// Formats a pbrt mesh of `count` triangles with random corners.
fn pbrt_mesh(count: usize) -> String {
    let mut random = Random::new(11);
    let mut text = String::from("Shape \"trianglemesh\" \"point3 P\" [");
    (0..9 * count).for_each(|_| _ = write!(text, "{} ", random.below(100)));
    text += "] \"integer indices\" [";
    (0..3 * count).for_each(|index| _ = write!(text, "{index} "));
    text + "]\n"
}

pub(super) fn pbrt() -> Vec<WorstInput> {
    let definition = format!("WorldBegin\nObjectBegin \"a\"\n{}ObjectEnd\n", pbrt_mesh(400));
    let instances = "ObjectInstance \"a\"\n".repeat(3000);
    let nested: String = (0..20_000).map(|level| format!("ObjectBegin \"o{level}\"\nObjectInstance \"o\"\n")).collect();
    let materials: String = (0..12_000)
        .map(|number| format!("MakeNamedMaterial \"m{number}\" \"string type\" \"diffuse\"\nNamedMaterial \"m{number}\"\nShape \"sphere\"\n"))
        .collect();
    vec![
        WorstInput::new("instances that multiply", "a.pbrt", definition + &instances).content(3000 * 400 * 48),
        WorstInput::new("objects in objects", "b.pbrt", format!("WorldBegin\n{nested}")),
        WorstInput::new("a file included often", "c.pbrt", "Include \"c.inc\"\n".repeat(30_000))
            // Includes may add 256 MiB of text; `content` is the memory that its directives take.
            .with("c.inc", "Translate 1 0 0\n".repeat(30_000))
            .content(2 * (256 << 20)),
        WorstInput::new("a file that includes itself", "d.pbrt", "Include \"d.pbrt\"\n"),
        WorstInput::new("attributes in attributes", "e.pbrt", "AttributeBegin\n".repeat(65_000)),
        WorstInput::new("spheres", "f.pbrt", format!("WorldBegin\n{}", "Shape \"sphere\"\n".repeat(60_000)))
            .content(60_000 * 800),
        WorstInput::new("named materials", "g.pbrt", format!("WorldBegin\n{materials}")).content(12_000 * 4000),
        WorstInput::new(
            "one mesh file often",
            "h.pbrt",
            format!("WorldBegin\n{}", "Shape \"plymesh\" \"string filename\" \"h.ply\"\n".repeat(2000)),
        )
        .with("h.ply", ply_grid(3000))
        .content(2000 * 3000 * 24),
    ]
}

/// Encodes a binary PLY file with `count` vertices and as many triangles.
fn ply_grid(count: u32) -> Vec<u8> {
    let mut file = format!(
        "ply\nformat binary_little_endian 1.0\nelement vertex {count}\nproperty float x\nproperty float y\nproperty \
         float z\nelement face {count}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    .into_bytes();
    (0..3 * count).for_each(|number| file.extend((number as f32).to_le_bytes()));
    for face in 0..count {
        file.push(3);
        [face, (face + 1) % count, (face + 2) % count].iter().for_each(|index| file.extend(index.to_le_bytes()));
    }
    file
}

/// Formats `count` random positions and one polygon over all of them.
fn polygon(count: u64) -> String {
    let mut random = Random::new(13);
    let mut text = String::new();
    (0..count).for_each(|_| _ = writeln!(text, "v {} {} 0", random.below(1000), random.below(1000)));
    text += "f";
    (1..=count).for_each(|index| _ = write!(text, " {index}"));
    text + "\n"
}

/// Formats a triangle's positions and `count` numbered lines.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    let mut text = String::from("v 0 0 0\nv 1 0 0\nv 0 1 0\n");
    (0..count).for_each(|number| text += &line(number));
    text
}

/// Formats overlapping triangles that cover the whole image.
fn large_triangles(count: usize) -> String {
    let mut random = Random::new(9);
    let mut text = String::new();
    (0..900).for_each(|_| _ = writeln!(text, "v {0} {1} {2}", random.below(100), random.below(100), random.below(100)));
    let mut corner = || 1 + random.below(900);
    (0..count).for_each(|_| _ = writeln!(text, "f {} {} {}", corner(), corner(), corner()));
    text
}

/// Creates `count` triangles, each with its own texture of 25 megapixels.
fn textures(count: usize) -> WorstInput {
    let picture = picture(Format::Png, 5000, 5000);
    let mut text = String::from("mtllib k.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\n");
    (0..count).for_each(|number| text += &format!("usemtl {number}\nf 1/1 2/2 3/3\n"));
    let materials: String = (0..count).map(|number| format!("newmtl {number}\nmap_Kd {number}.png\n")).collect();
    let input = WorstInput::new("textures of many pixels", "k.obj", text).with("k.mtl", materials);
    (0..count).fold(input, |input, number| input.with(&format!("{number}.png"), picture.clone()))
}

pub(super) fn obj() -> Vec<WorstInput> {
    let curve = |number| format!("cstype bspline\ndeg {}\ncurv 0 1 1 2 3\nparm u 0 1\nend\n", number % 9);
    let fan = format!("{}f{}\n", lines(0, |_| String::new()), " 1 2 3".repeat(160_000));
    vec![
        WorstInput::new("a polygon of random corners", "a.obj", polygon(50_000)).content(50_000 * 100),
        WorstInput::new("one triangle often", "b.obj", lines(100_000, |_| "f 1 2 3\n".into())).content(100_000 * 60),
        WorstInput::new("objects", "c.obj", lines(60_000, |n| format!("o {n}\nf 1 2 3\n"))).content(60_000 * 700),
        WorstInput::new("empty objects", "d.obj", lines(100_000, |n| format!("o {n}\n"))).content(100_000 * 700),
        WorstInput::new("groups", "e.obj", lines(60_000, |n| format!("g {n}\nf 1 2 3\n"))).content(60_000 * 300),
        WorstInput::new("materials", "f.obj", lines(50_000, |n| format!("usemtl {n}\nf 1 2 3\n")))
            .content(50_000 * 3000),
        WorstInput::new("smoothing groups", "g.obj", lines(60_000, |n| format!("s {n}\nf 1 2 3\n")))
            .content(60_000 * 200),
        WorstInput::new("curves", "h.obj", lines(18_000, curve)).content(18_000 * 500),
        WorstInput::new("a polygon of the same corners", "i.obj", fan).content(480_000 * 100),
        WorstInput::new("libraries", "j.obj", lines(40_000, |n| format!("mtllib {n}.mtl\n"))).content(40_000 * 500),
        textures(30),
        WorstInput::new("triangles across the picture", "l.obj", large_triangles(70_000)).content(70_000 * 60),
    ]
}
