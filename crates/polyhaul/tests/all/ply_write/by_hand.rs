//! Files with handwritten bytes.

use crate::ply_write::support::*;
use polyhaul::WriteOptions;
use polyhaul::model::{Domain, Mesh, Scene, Table, Values};
use polyhaul::options::SceneWriteOptions;
use polyhaul_testkit::options::PlyEncoding;

/// A triangle and a quad with colors, and remarks.
fn small() -> Scene {
    let mut mesh = square();
    mesh.faces = elements(&[&[0, 1, 2], &[0, 1, 2, 3]]);
    mesh.colors = [[0.0, 0.5, 1.0, 1.0]; 4].into();
    let comments = vec!["by hand".into(), "two\nlines".into()];
    let infos = vec!["from a test".into()];
    Scene { comments, infos, ..scene(mesh) }
}

const HEADER: &str = "ply\nformat FORMAT 1.0\ncomment by hand\ncomment two\ncomment lines\nobj_info from a test\n\
    element vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
    property uchar red\nproperty uchar green\nproperty uchar blue\n\
    element face 2\nproperty list uchar int vertex_indices\nend_header\n";

#[test]
fn text() {
    let rows = "0 0 0.5 0 128 255\n1 0 0.5 0 128 255\n1 1 0.5 0 128 255\n0 1 0.5 0 128 255\n3 0 1 2\n4 0 1 2 3\n";
    let written = crate::ply_write::support::text(&small(), &encoded(PlyEncoding::Ascii));
    assert_eq!(written, HEADER.replace("FORMAT", "ascii") + rows);
    let fixed = crate::ply_write::support::text(&small(), &fixed(2));
    assert!(fixed.contains("\n1.00 1.00 0.50 0 128 255\n"), "{fixed}");
}

#[test]
fn bytes_of_both_orders() {
    for encoding in [PlyEncoding::LittleEndian, PlyEncoding::BigEndian] {
        let is_big = encoding == PlyEncoding::BigEndian;
        let name = if is_big { "binary_big_endian" } else { "binary_little_endian" };
        let float = |value: f32| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
        let int = |value: i32| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
        let mut expected = HEADER.replace("FORMAT", name).into_bytes();
        for position in square().positions.iter() {
            expected.extend(position.iter().flat_map(|&part| float(part)));
            expected.extend([0, 128, 255]);
        }
        for face in [&[0, 1, 2][..], &[0, 1, 2, 3]] {
            expected.push(face.len() as u8);
            expected.extend(face.iter().flat_map(|&index| int(index)));
        }
        assert_eq!(write(&small(), &encoded(encoding)).unwrap().0, expected);
    }
}

#[test]
fn attributes_stand_in_blenders_order() {
    let mut mesh = square();
    mesh.normals = [[0.0, 0.0, 1.0]; 4].into();
    mesh.normal_domain = Domain::Vertex;
    mesh.uvs = [[0.25, 0.75]; 4].into();
    mesh.uv_domain = Domain::Vertex;
    mesh.colors = [[1.0, 0.0, 0.0, 0.5]; 4].into();
    mesh.vertex_columns = vec![column("quality", Values::F64([1e-300, 0.1, -2.0, 3.0].into()))];
    let options = options(
        WriteOptions::default().with_scene(SceneWriteOptions::default().with_ascii(true).with_float_colors(true)),
    );
    let written = crate::ply_write::support::text(&scene(mesh.clone()), &options);
    let names: Vec<_> = written.lines().filter_map(|line| line.strip_prefix("property ")).collect();
    let expected = [
        "float x",
        "float y",
        "float z",
        "float nx",
        "float ny",
        "float nz",
        "float s",
        "float t",
        "float red",
        "float green",
        "float blue",
        "float alpha",
        "double quality",
    ];
    assert_eq!(names, expected);
    assert!(written.ends_with("0 1 0.5 0 0 1 0.25 0.75 1 0 0 0.5 3\n"), "{written}");
    assert!(written.contains(" 1e-300\n"), "{written}");
    let without = options.scene.with_uv(false).with_normals(false).with_colors(false);
    let written = crate::ply_write::support::text(&scene(mesh), &options.with_scene(without));
    assert_eq!(written.matches("property").count(), 4);
}

#[test]
fn lists_have_the_smallest_count() {
    for (longest, count) in [(0u32, "uchar"), (255, "uchar"), (256, "ushort"), (65_535, "ushort"), (65_536, "uint")] {
        let values = Values::I16((0..longest).map(|i| i as i16).collect());
        let mut list = column("chain", values);
        list.offsets = Some([0, 0, longest].into());
        let table = Table { name: "row".into(), row_count: 2, columns: vec![list] };
        let bytes = write_tables(&[table], &encoded(PlyEncoding::BigEndian)).unwrap();
        let (header, body) = parts(&bytes);
        assert!(header.contains(&format!("property list {count} short chain\n")), "{header}");
        let width = match count {
            "uchar" => 1,
            "ushort" => 2,
            _ => 4,
        };
        assert_eq!(body.len(), 2 * width + 2 * longest as usize);
        assert!(body[..width].iter().all(|&byte| byte == 0));
        let counted = body[width..2 * width].iter().fold(0, |sum, &byte| sum << 8 | u32::from(byte));
        assert_eq!(counted, longest);
    }
}

#[test]
fn nothing_is_a_file_too() {
    let written = crate::ply_write::support::text(&Scene::default(), &encoded(PlyEncoding::Ascii));
    let header = "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nproperty float y\nproperty float z\n";
    assert_eq!(written, format!("{header}end_header\n"));
    let empty = Table { name: String::new(), row_count: 0, columns: vec![column("a b", Values::default())] };
    let rows = Table { name: "bare".into(), row_count: 2, columns: Vec::new() };
    let written = write_tables(&[empty, rows], &encoded(PlyEncoding::Ascii)).unwrap();
    let expected = "ply\nformat ascii 1.0\ncomment a table\nobj_info from a test\n\
        element unnamed 0\nproperty float a_b\nelement bare 0\nend_header\n";
    assert_eq!(String::from_utf8(written).unwrap(), expected);
}

#[test]
fn lines_become_edges() {
    let mut mesh = square();
    mesh.lines = elements(&[&[0, 1], &[3, 2, 1, 0]]);
    let written = crate::ply_write::support::text(&scene(mesh.clone()), &encoded(PlyEncoding::Ascii));
    assert!(written.ends_with("0 1\n3 2\n2 1\n1 0\n"), "{written}");
    assert!(written.contains("element edge 4\nproperty int vertex1\nproperty int vertex2\n"));
    let two = Scene { meshes: vec![Mesh::clone(&mesh), mesh], ..Scene::default() };
    assert!(crate::ply_write::support::text(&two, &encoded(PlyEncoding::Ascii)).ends_with("4 5\n7 6\n6 5\n5 4\n"));
}
