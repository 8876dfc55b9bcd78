//! Points: tables as scenes and scenes as tables.

use crate::table::support::table;
use polyhaul::model::{Domain, Mesh, Scene, Values};
use polyhaul::options::RunOptions;
use polyhaul::{ErrorKind, Format, Input, Reader, WriteOptions};
use polyhaul_testkit::output::try_bytes;

fn scene(text: &str, name: &str) -> Scene {
    Reader::new(Input::Memory(text.into(), name.into())).scene().unwrap().value
}

fn written(scene: &Scene, format: Format) -> String {
    let options = WriteOptions::default().with_format(Some(format));
    String::from_utf8(try_bytes(scene, &options).unwrap()).unwrap()
}

#[test]
fn columns_of_points_have_names() {
    let names = |text: &str, name: &str| -> Vec<String> {
        table(text, name).columns.into_iter().map(|column| column.name).collect()
    };
    assert_eq!(names("1 2 3", "x.xyz"), ["x", "y", "z"]);
    assert_eq!(names("1 2 3 4", "x.xyz"), ["x", "y", "z", "intensity"]);
    assert_eq!(names("1 2 3 4 5 6", "x.xyz"), ["x", "y", "z", "red", "green", "blue"]);
    assert_eq!(names("1 2 3 0 1.0 0", "x.xyz"), ["x", "y", "z", "nx", "ny", "nz"]);
    assert_eq!(names("1 2 3 -50 4 5 6", "x.pts"), ["x", "y", "z", "intensity", "red", "green", "blue"]);
    assert_eq!(names("1 2 3 0 1.0 0 4 5 6", "x.xyz"), ["x", "y", "z", "nx", "ny", "nz", "red", "green", "blue"]);
    assert_eq!(names("1 2 3 4 5", "x.xyz"), ["x", "y", "z", "", ""]);
    assert_eq!(names("X Y Z t\n1 2 3 4", "x.xyz"), ["X", "Y", "Z", "t"]);
    assert_eq!(names("1 2 3", "x.txt"), [""; 3]);
}

#[test]
fn counts_of_points_are_held() {
    assert_eq!(table("2\n1 2 3\n4 5 6\n", "x.pts").row_count, 2);
    for (text, message) in [
        ("3\n1 2 3\n4 5 6\n", "x.pts:1:1: the first line declares 3 points, but the file contains 2"),
        ("1\n1 2 3\n4 5 6\n", "x.pts:1:1: the first line declares 1 points, but the file contains 2"),
        ("1 2\n", "x.pts:1:1: this row has 2 numbers; expected at least 3: x, y and z"),
    ] {
        let error = Reader::new(Input::Memory(text.into(), "x.pts".into())).scene().unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Malformed, message));
    }
}

#[test]
fn tables_become_scenes() {
    let loaded = scene("0.1 2 3 255 0 51\n4 5 6 0 0 0\n", "x.xyz");
    let mesh = &loaded.meshes[0];
    assert_eq!(mesh.positions, [[0.1, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    assert_eq!(mesh.colors, [[1.0, 0.0, 0.2, 1.0], [0.0, 0.0, 0.0, 1.0]]);
    let text = "id,Z,y,X,nx,NY,nz,r,g,b,a\n7,3,2,1,0,0,1,0.5,0,1,0.25\n";
    let loaded = scene(text, "x.csv");
    let mesh = &loaded.meshes[0];
    assert_eq!((&mesh.positions[..], &mesh.normals[..]), (&[[1.0, 2.0, 3.0]][..], &[[0.0, 0.0, 1.0]][..]));
    assert_eq!((mesh.normal_domain, &mesh.colors[..]), (Domain::Vertex, &[[0.5, 0.0, 1.0, 0.25]][..]));
    assert_eq!(mesh.vertex_columns.len(), 1);
    assert_eq!(mesh.vertex_columns[0].values, Values::I64([7].into()));
    assert_eq!(scene("1,2,3\n", "x.csv").meshes[0].positions, [[1.0, 2.0, 3.0]]);
    let error = Reader::new(Input::Memory("a,b\n1,2\n".into(), "x.csv".into())).scene().unwrap_err();
    assert_eq!(error.to_string(), "x.csv: cannot read this table as points: it has no columns x, y and z");
}

#[test]
fn scenes_become_tables() {
    let text = "x,y,z,intensity,nx,ny,nz,red,green,blue,t\n1,2.5,3,9,0,0,1,255,1,0,5\n-4,5,6,8,1,0,0,0,128,7,6\n";
    let loaded = scene(text, "x.csv");
    assert_eq!(
        written(&loaded, Format::Csv),
        "x,y,z,intensity,red,green,blue,nx,ny,nz,t\n1,2.5,3,9,255,1,0,0,0,1,5\n-4,5,6,8,0,128,7,1,0,0,6\n"
    );
    assert_eq!(written(&loaded, Format::Xyz), "1 2.5 3 9 255 1 0 0.0 0.0 1.0\n-4 5 6 8 0 128 7 1.0 0.0 0.0\n");
    assert_eq!(written(&loaded, Format::Pts), "2\n1 2.5 3 9 255 1 0\n-4 5 6 8 0 128 7\n");
    for format in [Format::Csv, Format::Npy] {
        let options = WriteOptions::default().with_format(Some(format));
        let bytes = try_bytes(&loaded, &options).unwrap();
        let name = if format == Format::Npy { "x.npy" } else { "x.csv" };
        let back = Reader::new(Input::Memory(bytes, name.into())).scene().unwrap().value;
        assert_eq!(
            (&back.meshes[0].positions, &back.meshes[0].colors),
            (&loaded.meshes[0].positions, &loaded.meshes[0].colors)
        );
    }
}

#[test]
fn meshes_follow_one_another() {
    let mesh = |from: u32, count: u32| Mesh {
        positions: (from..from + count).map(|n| [n as f32, 0.5, -1.0]).collect(),
        ..Mesh::default()
    };
    let scene = Scene { meshes: vec![mesh(0, 3), Mesh::default(), mesh(3, 2000), mesh(2003, 1)], ..Scene::default() };
    let expected: String = (0..2004).map(|n| format!("{n} 0.5 -1\n")).collect();
    for (threads, chunk_bytes) in [(1, None), (2, Some(1)), (7, Some(1000))] {
        let run = RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(chunk_bytes);
        let options = WriteOptions::default().with_format(Some(Format::Xyz)).with_run(run);
        assert_eq!(String::from_utf8(try_bytes(&scene, &options).unwrap()).unwrap(), expected);
    }
    assert_eq!(written(&Scene::default(), Format::Xyz), "");
}
