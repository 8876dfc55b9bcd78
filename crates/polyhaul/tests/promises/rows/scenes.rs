//! glTF, as one file and with referenced files.

use super::made::scene_file;
use super::{has_all_rows, is_never_read};
use crate::content::Reading;
use crate::samples::{LimitSample, NO_SAMPLES, Sample, Samples, Shape, bad, file_part, good, limited, shape};
use polyhaul::Format;
use polyhaul_testkit::corpus;
use polyhaul_testkit::scene::{boxes, grid};

pub const GLB: Samples = Samples {
    format: Format::Glb,
    file_name: "x.glb",
    readings: &[Reading::Scene],
    folders: &[("glb/good", "glb"), ("glb/bad", "glb"), ("glb/regression", "glb")],
    made: || {
        vec![
            good("a triangle", glb(&triangle(&[]))),
            good("written boxes", scene_file(Format::Glb, &boxes(2))),
            bad("a cycle of nodes", glb(&triangle(&[("\"mesh\":0}", "\"mesh\":0,\"children\":[0]}")]))),
            bad(
                "values behind the view",
                glb(&triangle(&[("\"count\":3,\"type\":\"VEC3\"", "\"count\":4,\"type\":\"VEC3\"")])),
            ),
            bad("an index behind the values", glb_with(&triangle(&[]), &binary([0, 1, 3]))),
        ]
    },
    prefix: is_never_read,
    limits: glb_limits,
    claims: glb_claims,
    shapes: glb_shapes,
    ..NO_SAMPLES
};

/// JSON, a zero byte, and the buffer that the JSON refers to.
pub const GLTF: Samples = Samples {
    part: "gltf",
    file_name: "x.gltf",
    folders: &[("glb/good", "gltf"), ("glb/bad", "gltf")],
    made: || {
        let folder = corpus::root().join("glb/programs");
        let [json, buffer] = ["blender.gltf", "blender.bin"].map(|name| std::fs::read(folder.join(name)).unwrap());
        let external = triangle(&[("\"byteLength\":39}]", "\"byteLength\":39,\"uri\":\"blender.bin\"}]")]);
        vec![
            good("from Blender", [&json[..], b"\0", &buffer].concat()),
            good("a triangle", [external.as_bytes(), b"\0", &binary([0, 1, 2])].concat()),
            bad("a buffer that is too short", [external.as_bytes(), b"\0", &binary([0, 1, 2])[..38]].concat()),
        ]
    },
    split: Some(|bytes| {
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        let buffer = bytes.get(end + 1..).unwrap_or_default();
        vec![file_part("x.gltf", &bytes[..end]), file_part("blender.bin", buffer)]
    }),
    // The final line break may be missing.
    prefix: has_all_rows,
    limits: || vec![limited("line_bytes", triangle(&[]).len() as u64, triangle(&[])).unreadable()],
    shapes: Vec::new,
    claims: Vec::new,
    ..GLB
};

const TRIANGLE: &str = r#"{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"name":"node","mesh":0}],"meshes":[{"name":"mesh","primitives":[{"attributes":{"POSITION":0},"indices":1}]}],"accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3"},{"bufferView":1,"componentType":5121,"count":3,"type":"SCALAR"}],"bufferViews":[{"buffer":0,"byteLength":36},{"buffer":0,"byteOffset":36,"byteLength":3}],"buffers":[{"byteLength":39}]}"#;

/// The JSON of a triangle, with replacements.
fn triangle(changes: &[(&str, &str)]) -> String {
    let mut json = TRIANGLE.to_owned();
    for (old, new) in changes {
        assert!(json.contains(old), "{old}");
        json = json.replace(old, new);
    }
    json
}

/// Three positions, and indices.
fn binary(indices: [u8; 3]) -> Vec<u8> {
    let numbers = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    numbers.into_iter().flat_map(f32::to_le_bytes).chain(indices).collect()
}

fn glb(json: &str) -> Vec<u8> {
    glb_with(json, &binary([0, 1, 2]))
}

fn glb_with(json: &str, buffer: &[u8]) -> Vec<u8> {
    let chunk = |kind: &[u8; 4], content: &[u8], padding: u8| {
        let size = content.len().next_multiple_of(4);
        let padding = vec![padding; size - content.len()];
        [&(size as u32).to_le_bytes()[..], kind, content, &padding].concat()
    };
    let chunks = [chunk(b"JSON", json.as_bytes(), b' '), chunk(b"BIN\0", buffer, 0)].concat();
    [&b"glTF\x02\0\0\0"[..], &(12 + chunks.len() as u32).to_le_bytes(), &chunks].concat()
}

fn glb_limits() -> Vec<LimitSample> {
    let json = triangle(&[]);
    let padded = json.len().next_multiple_of(4) as u64;
    let instances = triangle(&[(
        "\"mesh\":0}",
        "\"mesh\":0,\"extensions\":{\"EXT_mesh_gpu_instancing\":{\"attributes\":{\"TRANSLATION\":0}}}}",
    )]);
    let nodes = triangle(&[
        ("\"nodes\":[0]", "\"nodes\":[0,1,2]"),
        ("[{\"name\":\"node\",\"mesh\":0}]", "[{\"mesh\":0},{\"mesh\":0},{\"mesh\":0}]"),
    ]);
    vec![
        limited("elements", 3, glb(&json)),
        limited("name_bytes", 4, glb(&json)),
        limited("line_bytes", padded, glb(&json)),
        limited("objects", 3, glb(&nodes)),
        limited("instanced_objects", 3, glb(&instances)),
    ]
}

fn glb_claims() -> Vec<Sample> {
    let accessor = "\"bufferView\":0,\"componentType\":5126,\"count\":3";
    let zeros = |count: &str| glb(&triangle(&[(accessor, &format!("\"componentType\":5126,\"count\":{count}"))]));
    let count =
        |count: &str| glb(&triangle(&[(accessor, &accessor.replace("\"count\":3", &format!("\"count\":{count}")))]));
    let buffer = |size: &str| glb(&triangle(&[("\"byteLength\":39}]", &format!("\"byteLength\":{size}}}]"))]));
    let many = |count: usize| {
        let nodes: Vec<String> = (0..count).map(|node| node.to_string()).collect();
        glb(&triangle(&[
            ("\"nodes\":[0]", &format!("\"nodes\":[{}]", nodes.join(","))),
            ("[{\"name\":\"node\",\"mesh\":0}]", &format!("[{}]", vec!["{\"mesh\":0}"; count].join(","))),
        ]))
    };
    vec![
        bad("100,000 zeros", zeros("100000")),
        bad("4e9 zeros", zeros("4000000000")),
        bad("2^64 - 1 zeros", zeros("18446744073709551615")),
        bad("4e9 values", count("4000000000")),
        bad("a buffer of 4 GB", buffer("4000000000")),
        bad("a buffer of 2^64 - 1 bytes", buffer("18446744073709551615")),
        good("10,000 nodes", many(10_000)),
    ]
}

fn glb_shapes() -> Vec<Shape> {
    let list = |name: &'static str, place: &'static str, unit: &'static str| {
        shape(name, move |size| {
            let units = vec![unit; size / (unit.len() + 1)].join(",");
            glb(&triangle(&[(place, &place.replace("[", &format!("[{units},")))]))
        })
    };
    vec![
        shape("a grid", |size| scene_file(Format::Glb, &grid(10, size as u32 / 400))),
        shape("objects", |size| scene_file(Format::Glb, &boxes(size as u32 / 400))),
        list("unused meshes", "\"meshes\":[", "{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}"),
        list("unused views", "\"bufferViews\":[", "{\"buffer\":0,\"byteLength\":9}"),
        list("unused buffers", "\"buffers\":[", "{\"byteLength\":39}"),
        shape("nodes", |size| {
            let count = size / 20;
            let nodes: Vec<String> = (0..count).map(|node| node.to_string()).collect();
            glb(&triangle(&[
                ("\"nodes\":[0]", &format!("\"nodes\":[{}]", nodes.join(","))),
                ("[{\"name\":\"node\",\"mesh\":0}]", &format!("[{}]", vec!["{\"mesh\":0}"; count].join(","))),
            ]))
        }),
        shape("a chain of nodes", |size| {
            let count = size / 20;
            let node = |node: usize| format!("{{\"children\":[{}]}}", node + 1);
            let nodes: Vec<String> = (0..count).map(node).chain(["{\"mesh\":0}".to_owned()]).collect();
            glb(&triangle(&[("[{\"name\":\"node\",\"mesh\":0}]", &format!("[{}]", nodes.join(",")))]))
        }),
        shape("brackets", |size| {
            glb(&triangle(&[(
                "{\"asset\"",
                &format!("{{\"extras\":{}{},\"asset\"", "[".repeat(size / 2), "]".repeat(size / 2)),
            )]))
        }),
        shape("a long string", |size| {
            glb(&triangle(&[("{\"asset\"", &format!("{{\"extras\":\"{}\",\"asset\"", "\\n".repeat(size / 2)))]))
        }),
    ]
}
