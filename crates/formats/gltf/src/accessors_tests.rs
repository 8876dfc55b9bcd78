//! Tests of accessors: all types, strides, sparse values, and invalid ones.

use super::*;
use crate::buffers::Binary;
use crate::convert::Finish;
use polyhaul_model::error::ErrorKind;
use polyhaul_model::limits::FaultPolicy;
use serde_json::{Value, json};
use std::sync::Arc;

/// Calls `test` with the accessors of a document, backed by `bytes`.
fn with<T>(json: &Value, bytes: &[u8], test: impl FnOnce(&mut AccessorValues<'_, '_>, &mut GltfLog) -> T) -> T {
    let document: Document = serde_json::from_value(json.clone()).unwrap();
    let mut none = |_: &str, _: u64| Err(malformed("no file"));
    let binary = Binary::Whole(Arc::new(bytes.to_vec()));
    let buffers = Buffers::new(&document.buffers, binary, &mut none).unwrap();
    let run = RunOptions::default();
    let limits = Limits::default().with_included_bytes(1 << 20);
    let mut values = AccessorValues::new(&document, buffers, limits, &run);
    test(&mut values, &mut GltfLog::new("test", FaultPolicy::default()))
}

/// Creates a document with one accessor over a view of all bytes, with changes to both.
fn document(bytes: &[u8], accessor: Value, view: Value) -> Value {
    let mut full = json!({"buffer": 0, "byteLength": bytes.len()});
    full.as_object_mut().unwrap().extend(view.as_object().unwrap().clone());
    json!({"buffers": [{"byteLength": bytes.len()}], "bufferViews": [full], "accessors": [accessor]})
}

fn floats<const N: usize>(json: &Value, bytes: &[u8]) -> Result<Vec<[f32; N]>> {
    with(json, bytes, |values, log| {
        let layout = values.layout(0, "test", &[N], log)?;
        let mut out = vec![[0.0; N]; layout.count];
        values.fill(&mut [AccessorFill::floats(&layout, out.as_flattened_mut(), N, Finish::Keep, None)])?;
        Ok(out)
    })
}

fn indices(json: &Value, bytes: &[u8], base: u32) -> Result<(Vec<u32>, u64)> {
    with(json, bytes, |values, log| {
        let layout = values.layout(0, "test", ANY, log)?;
        let mut out = vec![0; layout.count];
        let end = AtomicU64::new(0);
        values.fill(&mut [AccessorFill::indices(&layout, &mut out, base, Some(&end))])?;
        Ok((out, end.into_inner()))
    })
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn floats_tight_with_an_offset_and_with_a_stride() {
    let bytes = f32s(&[9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, f32::INFINITY]);
    let accessor = json!({"bufferView": 0, "byteOffset": 4, "componentType": 5126, "count": 2, "type": "VEC3"});
    assert_eq!(
        floats(&document(&bytes, accessor.clone(), json!({})), &bytes).unwrap(),
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    );
    let strided = document(&bytes, accessor, json!({"byteStride": 16}));
    assert_eq!(floats(&strided, &bytes).unwrap(), [[1.0, 2.0, 3.0], [5.0, 6.0, f32::INFINITY]]);
}

#[test]
fn integers_plain_and_normalized() {
    let bytes = [0x80_u8, 0x81, 0x7f, 0xff, 0, 1, 0xff, 0x7f];
    let read = |kind: u32, normalized: bool| {
        let width = if kind < 5122 { 1 } else { 2 };
        let count = bytes.len() / width;
        let accessor =
            json!({"bufferView": 0, "componentType": kind, "normalized": normalized, "count": count, "type": "SCALAR"});
        let values = floats::<1>(&document(&bytes, accessor, json!({})), &bytes).unwrap();
        values.as_flattened()[..3].to_vec()
    };
    assert_eq!(read(5120, false), [-128.0, -127.0, 127.0]);
    assert_eq!(read(5120, true), [-1.0, -1.0, 1.0]);
    assert_eq!(read(5121, false), [128.0, 129.0, 127.0]);
    assert_eq!(read(5121, true)[0], 128.0 / 255.0);
    assert_eq!(read(5122, false)[0], f32::from(i16::from_le_bytes([0x80, 0x81])));
    assert_eq!(read(5123, false)[1], f32::from(0xff7f_u16));
    assert_eq!(read(5123, true)[1], f32::from(0xff7f_u16) / 65535.0);
}

#[test]
fn values_in_many_pieces() {
    let numbers: Vec<f32> = (0..300_000).map(|number| number as f32).collect();
    let bytes = f32s(&numbers);
    let accessor = json!({"bufferView": 0, "componentType": 5126, "count": 100_000, "type": "VEC3"});
    let read = floats::<3>(&document(&bytes, accessor, json!({})), &bytes).unwrap();
    assert_eq!(read.as_flattened(), numbers);
    let accessor = json!({"bufferView": 0, "componentType": 5126, "count": 75_000, "type": "SCALAR"});
    let read = floats::<1>(&document(&bytes, accessor, json!({"byteStride": 16})), &bytes).unwrap();
    assert!(read.len() == 75_000 && read.iter().enumerate().all(|(at, value)| value[0] == 4.0 * at as f32));
}

#[test]
fn indices_get_a_base() {
    let bytes = [1_u8, 0, 2, 0];
    let accessor =
        |kind: u32, count: u32| json!({"bufferView": 0, "componentType": kind, "count": count, "type": "SCALAR"});
    let read = |kind, count| indices(&document(&bytes, accessor(kind, count), json!({})), &bytes, 10);
    assert_eq!(read(5121, 4).unwrap(), (vec![11, 10, 12, 10], 3));
    assert_eq!(read(5123, 2).unwrap(), (vec![11, 12], 3));
    assert_eq!(read(5125, 1).unwrap(), (vec![0x2_000b], 0x2_0002));
    assert_eq!(read(5121, 0).unwrap(), (vec![], 0));
}

#[test]
fn sparse_values_replace_some() {
    let mut bytes = vec![1, 3];
    bytes.extend([0, 0]);
    bytes.extend(f32s(&[5.0, 6.0]));
    let accessor = json!({"componentType": 5126, "count": 4, "type": "SCALAR", "sparse": {"count": 2,
        "indices": {"bufferView": 0, "componentType": 5121}, "values": {"bufferView": 0, "byteOffset": 4}}});
    let read = |accessor: &Value| floats::<1>(&document(&bytes, accessor.clone(), json!({})), &bytes);
    assert_eq!(read(&accessor).unwrap().as_flattened(), [0.0, 5.0, 0.0, 6.0]);
    let mut small = accessor.clone();
    small["count"] = json!(3);
    assert!(read(&small).unwrap_err().to_string().contains("less than 3"));
    let mut twice = accessor.clone();
    twice["sparse"]["indices"]["byteOffset"] = json!(2);
    assert!(read(&twice).unwrap_err().to_string().contains("must be strictly ascending"));
    let mut many = accessor;
    many["sparse"]["count"] = json!(5);
    assert!(read(&many).unwrap_err().to_string().contains("count 5 exceeds the accessor's 4 elements"));
}

#[test]
fn replaced_values_do_not_count_as_clamped() {
    let mut bytes = vec![1, 3, 0, 0];
    bytes.extend(f32s(&[0.25, 2.0]));
    bytes.extend(f32s(&[-1.0, 7.0, 1.0, 9.0]));
    let sparse = json!({"count": 2, "indices": {"bufferView": 0, "componentType": 5121},
        "values": {"bufferView": 0, "byteOffset": 4}});
    let accessor = json!({"bufferView": 0, "byteOffset": 12, "componentType": 5126, "count": 4, "type": "SCALAR",
        "sparse": sparse});
    let cut = AtomicU64::new(0);
    let logits = with(&document(&bytes, accessor, json!({})), &bytes, |values, log| {
        let layout = values.layout(0, "test", &[1], log).unwrap();
        let mut out = [0.0; 4];
        values.fill(&mut [AccessorFill::floats(&layout, &mut out, 1, Finish::Logit, Some(&cut))]).unwrap();
        out
    });
    // -1 and the replacement 2 are clamped; 7 and 9 are replaced.
    assert_eq!((logits[0], logits[2], cut.into_inner()), (logits[0].min(0.0), logits[3], 2));
    assert!((logits[1] + 3_f32.ln()).abs() < 1e-6, "{logits:?}");
}

#[test]
fn broken_accessors_are_errors() {
    let bytes = [0; 64];
    let good = json!({"bufferView": 0, "componentType": 5126, "count": 5, "type": "VEC3"});
    assert!(floats::<3>(&document(&bytes, good.clone(), json!({})), &bytes).is_ok());
    let huge = json!(u64::MAX);
    let accessors = [
        ("count", json!(6), "accessors[0] exceeds bufferViews[0]: expected at least 72 bytes, found 64"),
        ("count", json!(1_000_000_000_000_u64), " elements exceed the limit `elements` (4294967294)"),
        ("byteOffset", json!(8), "expected at least 68 bytes, found 64"),
        ("byteOffset", huge.clone(), "exceeds bufferViews[0]"),
        ("bufferView", json!(1), "accessors[0]: bufferViews[1] does not exist"),
        ("bufferView", huge.clone(), "does not exist"),
        ("componentType", json!(5124), "unknown componentType 5124"),
        ("type", json!("VEC2"), "wrong type `VEC2`"),
        ("type", json!("MAT4"), "wrong type `MAT4`"),
    ];
    for (name, value, message) in accessors {
        let mut accessor = good.clone();
        accessor[name] = value;
        let error = floats::<3>(&document(&bytes, accessor, json!({})), &bytes).unwrap_err().to_string();
        assert!(error.contains(message), "{name}: {error}");
    }
    let views = [
        json!({"buffer": 1}),
        json!({"byteOffset": 1}),
        json!({"byteOffset": huge}),
        json!({"byteLength": 65}),
        json!({"byteLength": huge, "byteOffset": huge}),
        json!({"byteStride": 8}),
        json!({"byteStride": 0}),
        json!({"byteStride": 256}),
        json!({"byteStride": huge}),
    ];
    for view in views {
        let error = floats::<3>(&document(&bytes, good.clone(), view.clone()), &bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{view}: {error}");
    }
}

#[test]
fn zeros_are_bounded() {
    let zeros = |count: u64| json!({"accessors": [{"componentType": 5126, "count": count, "type": "VEC3"}]});
    assert_eq!(floats::<3>(&zeros(2), &[]).unwrap(), [[0.0; 3]; 2]);
    let error = floats::<3>(&zeros(100_000_000), &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn misaligned_values_are_read_with_a_warning() {
    let bytes = [0, 0, 0, 128, 63];
    let json = document(
        &bytes,
        json!({"bufferView": 0, "byteOffset": 1, "componentType": 5126, "count": 1, "type": "SCALAR"}),
        json!({}),
    );
    let warnings = with(&json, &bytes, |values, log| {
        let layout = values.layout(0, "test", &[1], log).unwrap();
        let mut out = [0.0];
        values.fill(&mut [AccessorFill::floats(&layout, &mut out, 1, Finish::Keep, None)]).unwrap();
        assert_eq!(out, [1.0]);
        std::mem::replace(log, GltfLog::new("", FaultPolicy::default())).finish().unwrap()
    });
    assert_eq!(warnings.counts()["misaligned-accessor"], 1);
}
