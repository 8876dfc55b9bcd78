//! Tests of compressed views: data from meshoptimizer, and corrupt data.

use super::*;

/// Records encoded by meshoptimizer: mode, filter, stride, count, number of compressed bytes, compressed bytes, decoded
/// bytes.
const CASES: &[u8] = include_bytes!("cases.bin");

struct MeshoptCase<'c> {
    view: MeshoptView,
    compressed: &'c [u8],
    decoded: &'c [u8],
}

/// Parses the records.
fn cases(mut bytes: &[u8]) -> Vec<MeshoptCase<'_>> {
    let mut cases = Vec::new();
    while !bytes.is_empty() {
        let head: Vec<usize> = bytes
            .split_off(..20)
            .unwrap()
            .as_chunks()
            .0
            .iter()
            .map(|number| u32::from_le_bytes(*number) as usize)
            .collect();
        let mode = [MeshoptMode::Attributes, MeshoptMode::Triangles, MeshoptMode::Indices][head[0]];
        let filters = [
            MeshoptFilter::None,
            MeshoptFilter::Octahedral,
            MeshoptFilter::Quaternion,
            MeshoptFilter::Exponential,
            MeshoptFilter::Color,
        ];
        let [stride, count, len] = head[2..5] else { panic!() };
        let filter = filters[head[1]];
        let view = MeshoptView { buffer: 0, offset: 0, len: len as u64, stride, count, mode, filter };
        let compressed = bytes.split_off(..len).unwrap();
        let decoded = bytes.split_off(..stride * count).unwrap();
        cases.push(MeshoptCase { view, compressed, decoded });
    }
    cases
}

#[test]
fn encoded_views_are_decoded() {
    for (number, MeshoptCase { view, compressed, decoded }) in cases(CASES).into_iter().enumerate() {
        let result = view.decode(compressed, 0).unwrap_or_else(|error| panic!("{number} {view:?}: {error}"));
        match view.filter {
            // Decoders may round differently by 1.
            MeshoptFilter::Octahedral | MeshoptFilter::Quaternion | MeshoptFilter::Color => {
                let size = if view.stride == 4 { 1 } else { 2 };
                let number_of = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| 256 * sum + i32::from(*byte));
                for (a, b) in result.chunks(size).zip(decoded.chunks(size)) {
                    let difference = (number_of(a) - number_of(b)).abs();
                    assert!(difference <= 1 || difference == 256_i32.pow(size as u32) - 1, "{number}: {a:?} {b:?}");
                }
            }
            _ => assert!(result == decoded, "{number} {view:?}"),
        }
    }
}

#[test]
fn broken_data_is_an_error_or_other_values() {
    for MeshoptCase { view, compressed, .. } in cases(CASES) {
        for len in 0..compressed.len() {
            assert!(view.decode(&compressed[..len], 7).is_err() || view.count == 0, "{len} {view:?}");
        }
        let mut broken = compressed.to_vec();
        for at in 0..broken.len() {
            broken[at] ^= 0x55;
            // Corrupt data only has to terminate without a panic.
            let _ = view.decode(&broken, 7);
            broken[at] ^= 0x55;
        }
        let other = MeshoptView { count: view.count + 300, ..view };
        assert!(other.decode(compressed, 7).is_err(), "{view:?}");
    }
    let view = |mode, stride, count| MeshoptView { mode, stride, count, ..cases(CASES)[0].view };
    let failed = |view: MeshoptView, bytes: &[u8]| view.decode(bytes, 7).unwrap_err().to_string();
    let message = failed(view(MeshoptMode::Attributes, 4, 1), &[0xa2; 64]);
    assert_eq!(message, "bufferViews[7]: invalid meshopt data: unknown attribute codec version");
    // An edge before the first triangle; an integer of six bytes.
    let mut bytes = [0; 18];
    bytes[0] = 0xe1;
    assert!(failed(view(MeshoptMode::Triangles, 2, 3), &bytes).contains("before the first"));
    let bytes = [0xd1, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0];
    assert!(failed(view(MeshoptMode::Indices, 4, 1), &bytes).contains("more than 5 bytes"));
}

#[test]
fn numbers_of_the_extension_are_checked() {
    let checked = |change: serde_json::Value| {
        let mut extension =
            serde_json::json!({"buffer": 0, "byteLength": 9, "byteStride": 4, "count": 6, "mode": "TRIANGLES"});
        let mut length = 24;
        for (name, value) in change.as_object().unwrap() {
            if name == "viewLength" {
                length = value.as_u64().unwrap();
            } else {
                extension[name] = value.clone();
            }
        }
        let json = serde_json::json!({"byteLength": length, "extensions": {"EXT_meshopt_compression": extension}});
        MeshoptView::from_view(&serde_json::from_value(json).unwrap(), 3)
    };
    let view = checked(serde_json::json!({})).unwrap().unwrap();
    assert_eq!((view.content_bytes(), view.mode, view.filter), (24, MeshoptMode::Triangles, MeshoptFilter::None));
    let huge = u64::MAX;
    for change in [
        serde_json::json!({"mode": "OTHER"}),
        serde_json::json!({"filter": "OTHER"}),
        serde_json::json!({"filter": "COLOR"}),
        serde_json::json!({"byteStride": 3}),
        serde_json::json!({"byteStride": 2}),
        serde_json::json!({"count": 4, "viewLength": 16}),
        serde_json::json!({"count": huge}),
        serde_json::json!({"count": huge, "byteStride": huge}),
        serde_json::json!({"buffer": null}),
        serde_json::json!({"mode": "ATTRIBUTES", "filter": "QUATERNION"}),
        serde_json::json!({"mode": "ATTRIBUTES", "byteStride": 0, "count": 0, "viewLength": 0}),
        serde_json::json!({"mode": "ATTRIBUTES", "byteStride": 260, "viewLength": 1560}),
    ] {
        assert!(checked(change.clone()).is_err(), "{change}");
    }
    assert!(MeshoptView::from_view(&BufferView::default(), 3).unwrap().is_none());
}
