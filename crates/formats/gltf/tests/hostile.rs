//! Corrupt and hostile files: each fails with the right kind of error, without a panic and with little memory.

use polyhaul_bytes::Source;
use polyhaul_gltf::{GltfFound, read, read_image};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::limits::Limits;
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::ParseOptions;
use serde_json::{Value, json};
use std::sync::Arc;

fn read_with(source: Source<'static>, limits: Limits) -> Result<GltfFound> {
    let options = ParseOptions { limits, ..ParseOptions::default() };
    let mut files = |name: &str, _: u64| match name {
        "three.bin" => Ok(Arc::new(vec![1, 2, 3])),
        _ => Err(Error::new(ErrorKind::Io, format!("no file {name}"))),
    };
    read(Bytes::new(&source, None), Some("x.glb"), &options, &mut files)
}

/// Reads bytes from memory and as a stream; the results must agree.
fn read_bytes(bytes: &[u8]) -> Result<GltfFound> {
    let limits = Limits::default().with_included_bytes(1 << 20);
    let placed = read_with(Source::named_memory(bytes.to_vec(), "x.glb"), limits);
    let stream = read_with(Source::reader(Box::new(std::io::Cursor::new(bytes.to_vec())), "x.glb"), limits);
    match (&placed, &stream) {
        (Ok(a), Ok(b)) => assert_eq!((&a.scene, &a.warnings), (&b.scene, &b.warnings)),
        (Err(a), Err(b)) => assert_eq!((a.kind(), a.to_string()), (b.kind(), b.to_string())),
        _ => panic!("{placed:?} {stream:?}"),
    }
    placed
}

fn chunk(kind: &[u8; 4], content: &[u8], padding: u8) -> Vec<u8> {
    let len = content.len().next_multiple_of(4);
    let mut bytes = (len as u32).to_le_bytes().to_vec();
    bytes.extend(kind);
    bytes.extend(content);
    bytes.resize(8 + len, padding);
    bytes
}

fn glb(chunks: &[Vec<u8>]) -> Vec<u8> {
    let content = chunks.concat();
    let mut bytes = b"glTF\x02\0\0\0".to_vec();
    bytes.extend((12 + content.len() as u32).to_le_bytes());
    bytes.extend(content);
    bytes
}

/// A file with a triangle: 36 bytes of positions and 3 of indices.
fn triangle() -> Value {
    json!({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0, "name": "node"}],
        "meshes": [{"name": "mesh", "primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5121, "count": 3, "type": "SCALAR"}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 3}],
        "buffers": [{"byteLength": 39}]})
}

fn binary() -> Vec<u8> {
    let numbers = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    bytes.extend([0, 1, 2]);
    bytes
}

fn with_binary(json: &Value) -> Vec<u8> {
    glb(&[chunk(b"JSON", json.to_string().as_bytes(), b' '), chunk(b"BIN\0", &binary(), 0)])
}

#[test]
fn the_unbroken_file_is_read() {
    let result = read_bytes(&with_binary(&triangle())).unwrap();
    let scene = &result.scene;
    assert_eq!((result.warnings.total(), scene.meshes.len(), scene.objects.len()), (0, 1, 1));
    assert_eq!(scene.meshes[0].positions, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
    assert_eq!(scene.meshes[0].faces.corner_positions, [0, 1, 2]);
    let object = &scene.objects[0];
    assert_eq!((&*object.name, &*object.mesh_name, object.mesh), ("node", "mesh", 0));
    assert!(object.transform.is_some() && object.materials == Some(vec![]) && object.end.faces == 1);
    // Zeros as padding, an unknown chunk, and bytes after the end.
    let mut json = triangle().to_string().into_bytes();
    json.resize(json.len().next_multiple_of(4), 0);
    let mut other = glb(&[chunk(b"JSON", &json, 0), chunk(b"BIN\0", &binary(), 0), chunk(b"ABCD", b"1234", 0)]);
    other.extend(b"and more");
    assert_eq!(read_bytes(&other).unwrap().scene, result.scene);
}

/// Returns the file with the value at a JSON pointer replaced.
fn changed(path: &str, value: Value) -> Vec<u8> {
    let mut json = triangle();
    *json.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = value;
    with_binary(&json)
}

#[test]
fn broken_values_are_malformed() {
    let huge = json!(u64::MAX);
    let cases = [
        ("/scene", json!(1)),
        ("/scene", json!(-1)),
        ("/scenes/0/nodes", json!([1])),
        ("/nodes", json!([{"children": [0], "mesh": 0}])),
        ("/nodes", json!([{"children": [1], "mesh": 0}, {"children": [0]}])),
        ("/nodes", json!([{"children": [1, 2]}, {"children": [2]}, {}])),
        ("/nodes/0/mesh", json!(1)),
        ("/nodes/0/mesh", huge.clone()),
        ("/nodes/0", json!({"matrix": [1, 2, 3]})),
        ("/meshes/0/primitives/0/mode", json!(7)),
        ("/meshes/0/primitives/0/attributes/POSITION", json!(1)),
        ("/meshes/0/primitives/0/attributes/POSITION", huge.clone()),
        ("/meshes/0/primitives/0/indices", json!(0)),
        ("/meshes/0/primitives/0/indices", huge.clone()),
        ("/meshes/0/primitives/0/attributes", json!({"POSITION": 0, "NORMAL": 1})),
        ("/meshes/0/primitives/0/material", json!(0)),
        ("/accessors/0/count", json!(4)),
        ("/accessors/0/byteOffset", json!(4)),
        ("/accessors/0/byteOffset", huge.clone()),
        ("/accessors/0/bufferView", json!(2)),
        ("/accessors/0/componentType", json!(5130)),
        ("/accessors/0/type", json!("VEC9")),
        ("/accessors/0/sparse", json!({"count": 1})),
        ("/bufferViews/0/byteLength", huge.clone()),
        ("/bufferViews/0/byteOffset", huge.clone()),
        ("/bufferViews/0/byteStride", json!(1)),
        ("/bufferViews/0/byteStride", huge.clone()),
        ("/bufferViews/0/buffer", json!(1)),
        ("/buffers/0/byteLength", json!(41)),
        ("/buffers/0/uri", json!("three.bin")),
        ("/buffers/0/uri", json!("data:;base64,!")),
        ("/buffers/0/uri", json!("data:;base64,AAAA")),
        ("/buffers/0/uri", json!("data:")),
    ];
    for (path, value) in cases {
        let mut json = triangle();
        match json.pointer_mut(path) {
            Some(target) => *target = value.clone(),
            None => {
                let (owner, name) = path.rsplit_once('/').unwrap();
                json.pointer_mut(owner).unwrap()[name] = value.clone();
            }
        }
        let error = read_bytes(&with_binary(&json)).expect_err(path);
        assert_eq!(error.kind(), ErrorKind::Malformed, "{path} {value}: {error}");
        assert!(error.to_string().starts_with("x.glb: "), "{error}");
    }
}

#[test]
fn excessive_counts_exceed_a_limit() {
    let count =
        |count: u64| json!([{"componentType": 5126, "count": count, "type": "VEC3"}, triangle()["accessors"][1]]);
    for requested in [100_000, 100_000_000, 4_000_000_000, 1_000_000_000_000, u64::MAX] {
        let error = read_bytes(&changed("/accessors", count(requested))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{requested}: {error}");
    }
    // Many meshes with the same values.
    let primitive = json!({"attributes": {"POSITION": 0}, "indices": 1});
    let meshes: Vec<Value> = (0..40_000).map(|_| json!({"primitives": [primitive]})).collect();
    let mut json = triangle();
    json["nodes"] = (0..40_000).map(|mesh| json!({"mesh": mesh})).collect();
    json["scenes"][0]["nodes"] = (0..40_000).collect();
    json["meshes"] = json!(meshes);
    assert_eq!(read_bytes(&with_binary(&json)).unwrap_err().kind(), ErrorKind::Limit);
    let few = Limits::default().with_objects(3);
    let error = read_with(Source::memory(with_binary(&json)), few).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    let short = Limits::default().with_line_bytes(100);
    for bytes in [with_binary(&triangle()), triangle().to_string().into_bytes()] {
        assert_eq!(read_with(Source::memory(bytes), short).unwrap_err().kind(), ErrorKind::Limit);
    }
    let instancing =
        json!([{"mesh": 0, "extensions": {"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": 0}}}}]);
    let bytes = changed("/nodes", instancing);
    assert_eq!(read_with(Source::memory(bytes.clone()), Limits::default()).unwrap().scene.objects.len(), 3);
    let limits = Limits::default().with_instanced_objects(2);
    assert_eq!(read_with(Source::memory(bytes), limits).unwrap_err().kind(), ErrorKind::Limit);
    let limits = Limits::default().with_name_bytes(3);
    assert_eq!(read_with(Source::memory(with_binary(&triangle())), limits).unwrap_err().kind(), ErrorKind::Limit);
}

/// Accessors without a view have zeros, so a few bytes can claim any amount of memory.
#[test]
fn what_no_data_back_stays_small() {
    for count in [2_000_u64, 1_000_000, 4_000_000_000] {
        let zeros = json!({"componentType": 5126, "count": count, "type": "VEC3"});
        let mut instanced = triangle();
        let accessors = instanced["accessors"].as_array_mut().unwrap();
        accessors.push(zeros.clone());
        let attributes = json!({"TRANSLATION": accessors.len() - 1});
        instanced["nodes"][0]["extensions"] = json!({"EXT_mesh_gpu_instancing": {"attributes": attributes}});
        let mut strip = triangle();
        strip["accessors"][0] = zeros;
        strip["accessors"][0]["count"] = json!(8 * count);
        strip["meshes"][0]["primitives"][0] = json!({"attributes": {"POSITION": 0}, "mode": 5});
        for json in [instanced, strip] {
            let error = read_bytes(&with_binary(&json)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Limit, "{count}: {error}");
        }
    }
}

#[test]
fn a_wrong_list_of_roots_is_a_warning() {
    let loaded = read_bytes(&changed("/scenes/0/nodes", json!([0, 0]))).unwrap();
    assert_eq!((loaded.scene.objects.len(), loaded.warnings.counts()["listed-node"]), (1, 1));
}

#[test]
fn invalid_bounds_do_not_round_transforms() {
    for [min, max] in [[f64::MAX, f64::MIN], [3.4e38, -3.4e38]] {
        let mut json = triangle();
        json["nodes"][0]["translation"] = json!([12_345_678.9, 0, 0]);
        json["accessors"][0]["min"] = json!([min, min, min]);
        json["accessors"][0]["max"] = json!([max, max, max]);
        let loaded = read_bytes(&with_binary(&json)).unwrap();
        assert_eq!(loaded.scene.objects[0].transform.unwrap()[0][3], 12_345_678.9, "{min}");
    }
}

/// The JSON chunk may have any length; the next chunk follows directly or after padding.
#[test]
fn chunks_need_no_padding() {
    for spaces in 0..8 {
        let padded = with_binary(&triangle());
        let number = |at: usize| u32::from_le_bytes(*padded[at..].first_chunk().unwrap());
        let json_bytes = number(12) as usize;
        let json = String::from_utf8(padded[20..20 + json_bytes].to_vec()).unwrap();
        let json = json.trim_end().to_owned() + &" ".repeat(spaces);
        let rest = &padded[20 + json_bytes..];
        let mut bytes = padded[..8].to_vec();
        bytes.extend((20 + json.len() as u32 + rest.len() as u32).to_le_bytes());
        bytes.extend((json.len() as u32).to_le_bytes());
        bytes.extend(b"JSON");
        bytes.extend(json.as_bytes());
        bytes.extend(rest);
        let is_padded = json.len().is_multiple_of(4);
        for source in [Source::memory(bytes.clone()), Source::reader(Box::new(std::io::Cursor::new(bytes)), "x.glb")] {
            let loaded = read_with(source, Limits::default()).unwrap();
            assert_eq!(loaded.scene.meshes[0].positions.len(), 3);
            assert_eq!(loaded.warnings.counts().contains_key("unpadded-chunk"), !is_padded, "{spaces}");
        }
    }
}

#[test]
fn a_length_that_is_too_small_is_a_warning() {
    let bytes = with_binary(&triangle());
    for length in [0, 13, 21, bytes.len() as u32 - 1] {
        let mut changed = bytes.clone();
        changed[8..12].copy_from_slice(&length.to_le_bytes());
        let loaded = read_bytes(&changed).unwrap();
        assert_eq!((loaded.scene.objects.len(), loaded.warnings.counts()["wrong-file-size"]), (1, 1), "{length}");
    }
    // Also if the JSON chunk, which exceeds the length, is the only chunk.
    let mut bytes = glb(&[chunk(b"JSON", br#"{"asset":{"version":"2.0"}}"#, b' ')]);
    bytes[8..12].copy_from_slice(&20_u32.to_le_bytes());
    assert_eq!(read_bytes(&bytes).unwrap().warnings.counts()["wrong-file-size"], 1);
    // Also if the JSON chunk lacks padding, which is a separate fault.
    let json = triangle().to_string();
    let json = json.clone() + &" ".repeat(5 - json.len() % 4);
    let mut bytes = b"glTF\x02\0\0\0\x14\0\0\0".to_vec();
    bytes.extend((json.len() as u32).to_le_bytes());
    bytes.extend(b"JSON");
    bytes.extend(json.as_bytes());
    bytes.extend(chunk(b"BIN\0", &binary(), 0));
    let loaded = read_bytes(&bytes).unwrap();
    let counts = loaded.warnings.counts();
    assert_eq!((counts["unpadded-chunk"], counts["wrong-file-size"]), (1, 1));
}

#[test]
fn attributes_of_instances_that_are_not_read_are_counted() {
    let mut json = triangle();
    json["nodes"][0]["extensions"] =
        json!({"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": 0, "_ID": 0, "_TINT": 0}}});
    let loaded = read_bytes(&with_binary(&json)).unwrap();
    assert_eq!((loaded.scene.objects.len(), loaded.warnings.counts()["left-out-attributes"]), (3, 2));
}

#[test]
fn quantized_rotations_of_instances_do_not_scale() {
    // A quarter turn around x: 90/127 is larger than the square root of 1/2.
    let mut json = triangle();
    json["nodes"][0]["extensions"] = json!({"EXT_mesh_gpu_instancing": {"attributes": {"ROTATION": 2}}});
    let view = json!({"buffer": 0, "byteOffset": 40, "byteLength": 4});
    json["bufferViews"].as_array_mut().unwrap().push(view);
    let accessor = json!({"bufferView": 2, "componentType": 5120, "normalized": true, "count": 1, "type": "VEC4"});
    json["accessors"].as_array_mut().unwrap().push(accessor);
    json["buffers"][0]["byteLength"] = json!(44);
    let content = [binary(), vec![0, 90, 0, 0, 90]].concat();
    let bytes = glb(&[chunk(b"JSON", json.to_string().as_bytes(), b' '), chunk(b"BIN\0", &content, 0)]);
    let transform = read_bytes(&bytes).unwrap().scene.objects[0].transform.unwrap();
    let expected = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]];
    let far = (0..9).map(|entry| (transform[entry / 3][entry % 3] - expected[entry / 3][entry % 3]).abs());
    assert!(far.fold(0.0, f64::max) < 1e-6, "{transform:?}");
}

#[test]
fn unsupported_features_are_named() {
    for name in ["KHR_draco_mesh_compression", "CESIUM_RTC", "MY_own"] {
        let mut json = triangle();
        json["extensionsRequired"] = json!([name]);
        let error = read_bytes(&with_binary(&json)).unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains(name), "{error}");
    }
    let mut bytes = with_binary(&triangle());
    bytes[4] = 1;
    assert_eq!(read_bytes(&bytes).unwrap_err().kind(), ErrorKind::Unsupported);
}

/// Returns a file whose view of positions claims to be compressed from all bytes, with changes.
fn compressed(count: u64, change: Value) -> Value {
    let mut extension = json!({"buffer": 0, "byteLength": 39, "byteStride": 12, "count": count, "mode": "ATTRIBUTES"});
    extension.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    let mut json = triangle();
    json["buffers"] = json!([{"byteLength": 39}, {"byteLength": count.saturating_mul(12)}]);
    json["bufferViews"][0] = json!({"buffer": 1, "byteLength": count.saturating_mul(12), "extensions": {"EXT_meshopt_compression": extension}});
    json["extensionsRequired"] = json!(["EXT_meshopt_compression"]);
    json
}

#[test]
fn compressed_views_are_bounded_by_the_file() {
    let failed = |json: &Value| read_bytes(&with_binary(json)).unwrap_err();
    // These tests limit decoded bytes to 2^20.
    let error = failed(&compressed(87_382, json!({})));
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.to_string().contains(" exceed the limit `included_bytes` (1048576)"), "{error}");
    let error = failed(&compressed(87_381, json!({})));
    assert_eq!(error.to_string(), "x.glb: bufferViews[0]: invalid meshopt data: unknown attribute codec version");
    for change in [json!({"byteLength": 40}), json!({"byteOffset": 1}), json!({"byteOffset": u64::MAX})] {
        assert!(failed(&compressed(3, change)).to_string().contains("exceeds buffers[0]"));
    }
    for change in [json!({"buffer": 1, "byteLength": 36}), json!({"buffer": 2}), json!({"count": 4})] {
        assert_eq!(failed(&compressed(3, change)).kind(), ErrorKind::Malformed);
    }
}

#[test]
fn broken_containers() {
    let json = triangle().to_string();
    let cases = [
        glb(&[]),
        glb(&[chunk(b"BIN\0", &binary(), 0)]),
        glb(&[chunk(b"JSON", b"", b' ')]),
        glb(&[chunk(b"JSON", b"{}", b' ')]),
        glb(&[chunk(b"JSON", json.as_bytes(), b' ')]),
        glb(&[chunk(b"JSON", json.as_bytes(), b' '), chunk(b"BIN\0", b"", 0)]),
        glb(&[chunk(b"JSON", json.as_bytes(), b' '), chunk(b"ABCD", b"", 0), chunk(b"BIN\0", &binary(), 0)]),
        b"glTF".to_vec(),
        b"{\"asset\":".to_vec(),
        b"".to_vec(),
        vec![0xff; 100],
        "[".repeat(200_000).into_bytes(),
        format!("{{\"asset\":{{\"version\":\"2.0\"}},\"extras\":{}", "[".repeat(200_000)).into_bytes(),
    ];
    for (number, bytes) in cases.iter().enumerate() {
        let error = read_bytes(bytes).expect_err("broken");
        assert_eq!(error.kind(), ErrorKind::Malformed, "{number}: {error}");
    }
    let mut long = with_binary(&triangle());
    long[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    let _either = read_bytes(&long);
    long[12..16].copy_from_slice(&1000_u32.to_le_bytes());
    assert_eq!(read_bytes(&long).unwrap_err().kind(), ErrorKind::Malformed);
    long[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(read_bytes(&long).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn a_gltf_file_has_its_data_inside_or_in_other_files() {
    let mut json = triangle();
    json["buffers"] = json!([{"byteLength": 39,
        "uri": "data:application/octet-stream;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAAAAEC"}]);
    let result = read_bytes(json.to_string().as_bytes()).unwrap();
    assert_eq!(result.scene, read_bytes(&with_binary(&triangle())).unwrap().scene);
    json["buffers"][0]["uri"] = json!("missing%20file.bin");
    let error = read_bytes(json.to_string().as_bytes()).unwrap_err();
    assert!(error.kind() == ErrorKind::Io && error.to_string().contains("missing file.bin"), "{error}");
}

#[test]
fn a_long_chain_of_nodes_does_not_overflow_the_stack() {
    let count = 200_000;
    let mut json = triangle();
    let mut nodes: Vec<Value> = (1..count).map(|child| json!({"children": [child]})).collect();
    nodes.push(json!({"mesh": 0, "translation": [1, 2, 3]}));
    json["nodes"] = json!(nodes);
    let result = read_bytes(&with_binary(&json)).unwrap();
    assert_eq!(result.scene.objects[0].transform.unwrap()[1][3], 2.0);
}

/// Reads image 0 of a `.glb` from memory and as a stream; the results must agree.
fn image(json: &Value, binary: &[u8], max_bytes: u64) -> Result<Vec<u8>> {
    let bytes = glb(&[chunk(b"JSON", json.to_string().as_bytes(), b' '), chunk(b"BIN\0", binary, 0)]);
    let read = |source: Source<'static>| {
        let mut beside = |name: &str, offset: u64, count: usize| match name {
            "three.bin" => Ok([1, 2, 3].into_iter().skip(offset as usize).take(count).collect()),
            _ => Err(Error::new(ErrorKind::Io, format!("no file {name}"))),
        };
        read_image(Bytes::new(&source, None), 0, &ParseOptions::default(), max_bytes, &mut beside)
    };
    let placed = read(Source::named_memory(bytes.clone(), "x.glb"));
    let stream = read(Source::reader(Box::new(std::io::Cursor::new(bytes)), "x.glb"));
    match (&placed, &stream) {
        (Ok(a), Ok(b)) => assert_eq!(a, b),
        (Err(a), Err(b)) => assert_eq!((a.kind(), a.to_string()), (b.kind(), b.to_string())),
        _ => panic!("{placed:?} {stream:?}"),
    }
    placed
}

/// Returns a file whose image is in a view.
fn with_view(view: Value, buffer: Value) -> Value {
    json!({"images": [{"bufferView": 0}], "bufferViews": [view], "buffers": [buffer]})
}

#[test]
fn images_are_the_bytes_of_their_view_or_uri() {
    let view = json!({"buffer": 0, "byteOffset": 1, "byteLength": 2});
    for (json, expected) in [
        (with_view(view.clone(), json!({"byteLength": 4})), b"bc".to_vec()),
        (with_view(view.clone(), json!({"byteLength": 3, "uri": "three.bin"})), vec![2, 3]),
        (with_view(view, json!({"byteLength": 3, "uri": "data:;base64,BAUG"})), vec![5, 6]),
        (json!({"images": [{"uri": "data:image/png;base64,BAUG"}]}), vec![4, 5, 6]),
    ] {
        assert_eq!(image(&json, b"abcd", 3).unwrap(), expected, "{json}");
        assert_eq!(image(&json, b"abcd", 1).unwrap_err().kind(), ErrorKind::Limit, "{json}");
    }
}

#[test]
fn images_out_of_range_are_errors() {
    let view = |offset: u64, len: u64| json!({"buffer": 0, "byteOffset": offset, "byteLength": len});
    let compressed = json!({"buffer": 0, "byteLength": 1, "extensions": {"EXT_meshopt_compression": {}}});
    for json in [
        json!({}),
        json!({"images": [{}]}),
        json!({"images": [{"uri": "a.png"}]}),
        json!({"images": [{"uri": "data:;base64,?"}]}),
        json!({"images": [{"bufferView": 1}]}),
        with_view(json!({"byteLength": 1}), json!({"byteLength": 4})),
        with_view(json!({"buffer": 1, "byteLength": 1}), json!({"byteLength": 4})),
        with_view(view(u64::MAX, 2), json!({"byteLength": 4})),
        with_view(view(2, u64::MAX), json!({"byteLength": u64::MAX})),
        with_view(view(0, 1 << 40), json!({"byteLength": 1_u64 << 40})),
        with_view(view(1 << 40, 1), json!({"byteLength": 1_u64 << 41})),
        with_view(view(2, 2), json!({"byteLength": 4, "uri": "three.bin"})),
        with_view(view(2, 2), json!({"byteLength": 4, "uri": "data:;base64,BAUG"})),
        with_view(compressed, json!({"byteLength": 4})),
    ] {
        assert_eq!(image(&json, b"abcd", u64::MAX).unwrap_err().kind(), ErrorKind::Malformed, "{json}");
    }
    let deep = format!("{{\"images\":{}", "[".repeat(100_000));
    let bytes = glb(&[chunk(b"JSON", deep.as_bytes(), b' ')]);
    let source = Source::named_memory(bytes, "x.glb");
    let mut none = |_: &str, _: u64, _: usize| Ok(Vec::new());
    let read = read_image(Bytes::new(&source, None), 0, &ParseOptions::default(), 9, &mut none);
    assert_eq!(read.unwrap_err().kind(), ErrorKind::Malformed);
}

#[test]
fn broken_files_with_images_are_errors_or_small() {
    let json = with_view(json!({"buffer": 0, "byteOffset": 1, "byteLength": 2}), json!({"byteLength": 4})).to_string();
    let whole = glb(&[chunk(b"JSON", json.as_bytes(), b' '), chunk(b"BIN\0", b"abcd", 0)]);
    let mut none = |_: &str, _: u64, _: usize| Ok(Vec::new());
    let mut read = |bytes: &[u8]| {
        let source = Source::named_memory(bytes.to_vec(), "x.glb");
        read_image(Bytes::new(&source, None), 0, &ParseOptions::default(), u64::MAX, &mut none)
    };
    assert_eq!(read(&whole).unwrap(), b"bc");
    for at in 0..whole.len() {
        assert!(read(&whole[..at]).is_err(), "{at}");
        for value in [0, b'"', b'9', b'-', b'}', 255] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            assert!(read(&bytes).is_ok_and(|image| image.len() <= 4) || read(&bytes).is_err(), "{at} {value}");
        }
    }
}
