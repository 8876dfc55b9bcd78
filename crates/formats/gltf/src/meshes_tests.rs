//! Tests of meshes: primitives of all modes, alone and together.

use super::*;
use crate::buffers::{Binary, Buffers};
use crate::document::Document;
use polyhaul_model::Domain;
use polyhaul_model::error::ErrorKind;
use polyhaul_model::limits::{FaultPolicy, Limits, OnError};
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::options::RunOptions;
use serde_json::{Value, json};
use std::sync::Arc;

/// Builds a file with one mesh, whose accessors are consecutive in one buffer.
#[derive(Default)]
struct MeshMaker {
    bytes: Vec<u8>,
    accessors: Vec<Value>,
    views: Vec<Value>,
}

impl MeshMaker {
    fn add(&mut self, bytes: &[u8], mut accessor: Value) -> usize {
        self.views.push(json!({"buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len()}));
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        accessor["bufferView"] = json!(self.views.len() - 1);
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    fn floats<const N: usize>(&mut self, rows: &[[f32; N]]) -> usize {
        let bytes: Vec<u8> = rows.as_flattened().iter().flat_map(|value| value.to_le_bytes()).collect();
        let kind = ["SCALAR", "VEC2", "VEC3", "VEC4"][N - 1];
        self.add(&bytes, json!({"componentType": 5126, "count": rows.len(), "type": kind}))
    }

    fn indices(&mut self, indices: &[u8]) -> usize {
        self.add(indices, json!({"componentType": 5121, "count": indices.len(), "type": "SCALAR"}))
    }

    /// Adds positions 0, 1, 2 and so on, along x.
    fn row(&mut self, count: usize) -> usize {
        let rows: Vec<[f32; 3]> = (0..count).map(|number| [number as f32, 0.0, 0.0]).collect();
        self.floats(&rows)
    }

    fn read_with(&self, primitives: Value, faults: FaultPolicy) -> Result<(FoundMesh, Warnings)> {
        let json = json!({"buffers": [{"byteLength": self.bytes.len()}], "bufferViews": self.views,
            "accessors": self.accessors, "materials": [{}, {}], "meshes": [{"primitives": primitives}]});
        let document: Document = serde_json::from_value(json).unwrap();
        let mut none = |_: &str, _: u64| Err(malformed("no file"));
        let buffers = Buffers::new(&document.buffers, Binary::Whole(Arc::new(self.bytes.clone())), &mut none)?;
        let run = RunOptions::default();
        let mut values = AccessorValues::new(&document, buffers, Limits::default().with_included_bytes(1 << 20), &run);
        let mut log = GltfLog::new("", faults);
        let mesh = MeshReader { values: &mut values, log: &mut log }.read(&[0])?.remove(0);
        Ok((mesh, log.finish()?))
    }

    fn read(&self, primitives: Value) -> Result<(FoundMesh, Warnings)> {
        self.read_with(primitives, FaultPolicy::default())
    }

    fn mesh(&self, primitives: Value) -> Mesh {
        self.read(primitives).unwrap().0.mesh
    }
}

#[test]
fn triangles_share_the_vertices_of_a_mesh() {
    let mut maker = MeshMaker::default();
    let a = maker.row(3);
    let b = maker.row(4);
    let indices = maker.indices(&[0, 2, 1, 1, 2, 3]);
    let (result, warnings) = maker
        .read(
            json!([{"attributes": {"POSITION": a}}, {"attributes": {"POSITION": b}, "indices": indices, "material": 1},
            {"attributes": {"POSITION": b}, "indices": indices, "material": 1}, {"attributes": {"POSITION": a}}]),
        )
        .unwrap();
    let mesh = &result.mesh;
    assert_eq!((mesh.positions.len(), warnings.total()), (7, 0));
    assert_eq!(mesh.positions[5], [2.0, 0.0, 0.0]);
    let corners = [0, 1, 2, 3, 5, 4, 4, 5, 6, 3, 5, 4, 4, 5, 6, 0, 1, 2];
    assert_eq!(mesh.faces.corner_positions, corners);
    assert_eq!(mesh.faces.offsets, [0, 3, 6, 9, 12, 15, 18]);
    assert_eq!((mesh.face_materials.as_slice(), result.slots), (&[0, 1, 1, 1, 1, 0][..], vec![None, Some(1)]));
    assert!(mesh.normals.is_empty() && mesh.uvs.is_empty() && mesh.faces.corner_uvs.is_empty());
}

#[test]
fn one_material_needs_no_slots_and_none_has_none() {
    let mut maker = MeshMaker::default();
    let a = maker.row(3);
    let (result, _) = maker.read(json!([{"attributes": {"POSITION": a}, "material": 1}])).unwrap();
    assert!(result.mesh.face_materials.is_empty() && result.slots == [Some(1)]);
    let (result, _) = maker.read(json!([{"attributes": {"POSITION": a}}])).unwrap();
    assert!(result.slots.is_empty());
}

#[test]
fn all_modes() {
    let mut maker = MeshMaker::default();
    let a = maker.row(5);
    let mesh = |mode: u32| maker.mesh(json!([{"attributes": {"POSITION": a}, "mode": mode}]));
    assert_eq!(mesh(0).points, [0, 1, 2, 3, 4]);
    let lines = mesh(1).lines;
    assert_eq!((lines.offsets.as_slice(), lines.corner_positions.as_slice()), (&[0, 2, 4][..], &[0, 1, 2, 3][..]));
    assert_eq!(mesh(2).lines.corner_positions, [0, 1, 2, 3, 4, 0]);
    let lines = mesh(3).lines;
    assert_eq!((lines.offsets.as_slice(), lines.corner_positions.len()), (&[0, 5][..], 5));
    assert_eq!(mesh(4).faces.corner_positions, [0, 1, 2]);
    assert_eq!(mesh(5).faces.corner_positions, [0, 1, 2, 1, 3, 2, 2, 3, 4]);
    assert_eq!(mesh(6).faces.corner_positions, [1, 2, 0, 2, 3, 0, 3, 4, 0]);
    let (_, warnings) = maker.read(json!([{"attributes": {"POSITION": a}, "mode": 4}])).unwrap();
    assert_eq!(warnings.counts()["extra-value"], 1);
    assert!(maker.read(json!([{"attributes": {"POSITION": a}, "mode": 7}])).is_err());
}

#[test]
fn attributes_of_all_primitives_have_the_domain_of_vertices() {
    let mut maker = MeshMaker::default();
    let a = maker.row(3);
    let uvs = maker.floats(&[[0.0, 0.25], [1.0, 0.0], [0.5, 1.0]]);
    let normals = maker.floats(&[[0.0, 0.0, 1.0]; 3]);
    let colors = maker.add(
        &[255, 0, 188, 51, 255, 0, 188, 51, 0, 0, 0, 0],
        json!({"componentType": 5121, "count": 3, "type": "VEC4"}),
    );
    let weights = maker.floats(&[[1.0], [2.0], [3.0]]);
    let mesh = maker.mesh(json!([{"attributes":
        {"POSITION": a, "TEXCOORD_0": uvs, "NORMAL": normals, "COLOR_0": colors, "_WEIGHT": weights,
            "TEXCOORD_1": uvs}}]));
    assert_eq!((mesh.uv_domain, mesh.normal_domain), (Domain::Vertex, Domain::Vertex));
    assert_eq!(mesh.uvs, [[0.0, 0.75], [1.0, 1.0], [0.5, 0.0]]);
    assert_eq!((mesh.normals.len(), mesh.colors.len()), (3, 3));
    let [red, green, blue, alpha] = mesh.colors[1];
    assert!(red == 1.0 && green == 0.0 && (blue - 0.874).abs() < 0.001 && alpha == 0.2, "{blue} {alpha}");
    let names: Vec<_> = mesh.vertex_columns.iter().map(|column| &*column.name).collect();
    assert_eq!(names, ["TEXCOORD_1", "WEIGHT"]);
    assert!(mesh.vertex_columns.iter().all(|column| column.is_whole(3)));
}

#[test]
fn attributes_of_some_primitives_get_indices() {
    let mut maker = MeshMaker::default();
    let a = maker.row(3);
    let b = maker.row(4);
    let uvs = maker.floats(&[[0.0, 0.0], [1.0, 0.0], [0.5, 1.0], [1.0, 1.0]]);
    let colors = maker.floats(&[[0.0, 0.0, 0.0]; 4]);
    let id = maker.floats(&[[1.0], [2.0], [3.0], [4.0]]);
    let indices = maker.indices(&[1, 2, 3]);
    let mesh = maker.mesh(json!([{"attributes": {"POSITION": a}}, {"attributes": {"POSITION": b, "TEXCOORD_0": uvs,
        "COLOR_0": colors, "_ID": id, "_UV": uvs}, "indices": indices}, {"attributes": {"POSITION": a}, "mode": 3}]));
    assert_eq!((mesh.uv_domain, mesh.uvs.len(), mesh.positions.len()), (Domain::Indexed, 4, 7));
    assert_eq!(mesh.faces.corner_uvs, [NONE, NONE, NONE, 1, 2, 3]);
    assert_eq!(mesh.faces.corner_positions, [0, 1, 2, 4, 5, 6]);
    assert!(mesh.lines.corner_uvs.is_empty() && mesh.faces.corner_normals.is_empty());
    assert!(mesh.colors[0][0].is_nan() && mesh.colors[3] == [0.0, 0.0, 0.0, 1.0] && mesh.colors.len() == 7);
    assert!(mesh.vertex_columns.iter().all(|column| column.is_whole(7)));
    assert_eq!(mesh.vertex_columns[1].offsets.as_deref(), Some(&[0, 0, 0, 0, 2, 4, 6, 8][..]));
}

#[test]
fn losses_are_counted() {
    let mut maker = MeshMaker::default();
    let a = maker.row(3);
    let tangents = maker.floats(&[[1.0, 0.0, 0.0, 1.0]; 3]);
    let (_, warnings) = maker
        .read(json!([{"attributes": {"POSITION": a, "TANGENT": tangents, "JOINTS_0": 0, "WEIGHTS_0": 1, "FOO": 1},
            "targets": [{}, {}]}, {"attributes": {"NORMAL": a}},
            {"attributes": {"POSITION": a}, "material": 0, "mode": 0}]))
        .unwrap();
    let counts: Vec<_> = warnings.counts().iter().map(|(code, count)| (*code, *count)).collect();
    let expected = [
        ("left-out-attributes", 1),
        ("left-out-materials", 1),
        ("left-out-morph-targets", 2),
        ("left-out-primitives", 1),
        ("left-out-skin-weights", 3),
        ("left-out-tangents", 3),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn materials_of_lines_and_points_next_to_faces_are_counted() {
    let mut maker = MeshMaker::default();
    let a = maker.row(3);
    let lost = |primitives: Value| {
        let (_, warnings) = maker.read(primitives).unwrap();
        warnings.counts().get("left-out-materials").copied().unwrap_or(0)
    };
    let part = |material: Value, mode: u32| json!({"attributes": {"POSITION": a}, "material": material, "mode": mode});
    assert_eq!(lost(json!([part(json!(0), 3), part(json!(0), 0)])), 0);
    assert_eq!(lost(json!([part(json!(0), 3), part(json!(1), 4)])), 1);
    assert_eq!(lost(json!([part(json!(1), 4), part(json!(1), 0)])), 0);
    assert_eq!(lost(json!([part(json!(1), 4), part(json!(0), 4), part(json!(1), 0)])), 1);
    assert_eq!(lost(json!([part(Value::Null, 3), part(json!(1), 4)])), 0);
}

#[test]
fn broken_primitives_are_errors_or_skipped() {
    let mut maker = MeshMaker::default();
    let a = maker.row(3);
    let b = maker.row(4);
    let indices = maker.indices(&[0, 1, 3]);
    let broken = json!([{"attributes": {"POSITION": a}, "indices": indices}, {"attributes": {"POSITION": b}}]);
    let error = maker.read(broken.clone()).unwrap_err();
    assert_eq!(error.to_string(), "meshes[0].primitives[0].indices: index 3 is out of range (3 vertices)");
    let faults = FaultPolicy { on_error: OnError::Warn, ..FaultPolicy::default() };
    let (result, warnings) = maker.read_with(broken, faults).unwrap();
    assert_eq!(
        (result.mesh.faces.corner_positions.as_slice(), warnings.counts()["broken-primitive"]),
        (&[3, 4, 5][..], 1)
    );
    let cases = [
        json!([{"attributes": {"POSITION": 9}}]),
        json!([{"attributes": {"POSITION": indices}}]),
        json!([{"attributes": {"POSITION": a, "NORMAL": b}}]),
        json!([{"attributes": {"POSITION": a, "NORMAL": 99}}]),
        json!([{"attributes": {"POSITION": a, "TEXCOORD_0": a}}]),
        json!([{"attributes": {"POSITION": a, "_X": b}}]),
        json!([{"attributes": {"POSITION": a, "_X": 99}}]),
        json!([{"attributes": {"POSITION": a}, "indices": a}]),
        json!([{"attributes": {"POSITION": a}, "indices": 99}]),
        json!([{"attributes": {"POSITION": a}, "material": 2}]),
    ];
    for primitives in cases {
        let error = maker.read(primitives.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{primitives}: {error}");
    }
}

#[test]
fn repeated_reads_of_values_are_bounded() {
    let mut maker = MeshMaker::default();
    let rows = vec![[0.0; 3]; 10_000];
    let a = maker.floats(&rows);
    let columns: Vec<usize> = (0..30).map(|_| a).collect();
    let attributes = |number: usize| json!({"POSITION": columns[number], format!("_{number}"): a});
    let primitives: Vec<Value> = (0..30).map(|number| json!({"attributes": attributes(number)})).collect();
    assert_eq!(maker.read(json!(primitives)).unwrap_err().kind(), ErrorKind::Limit);
}
