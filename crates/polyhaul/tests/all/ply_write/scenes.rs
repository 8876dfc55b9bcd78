//! Scenes: vertices that are merged or split, transforms, and losses.

use crate::ply_write::support::*;
use crate::support::{memory, try_converted};
use polyhaul::model::{Axes, Counts, Domain, Material, Mesh, Object, Scene, Table, Values};
use polyhaul::{ErrorKind, Format};
use polyhaul_testkit::options::{PlyEncoding, scene_options};

fn ascii(scene: &Scene) -> String {
    text(scene, &encoded(PlyEncoding::Ascii))
}

/// The lines after the header.
fn body(text: &str) -> Vec<&str> {
    text.lines().skip_while(|line| *line != "end_header").skip(1).collect()
}

#[test]
fn positions_are_split_where_corners_differ_and_keep_their_places() {
    let mut mesh = square();
    mesh.faces = elements(&[&[0, 1, 2], &[0, 2, 3]]);
    mesh.uvs = [[0.0, 0.0], [0.5, 0.0], [0.5, 1.0]].into();
    mesh.faces.corner_uvs = [0, 1, 2, 1, 2, u32::MAX].into();
    mesh.vertex_columns = vec![column("id", Values::U8([10, 11, 12, 13].into()))];
    let written = ascii(&scene(mesh.clone()));
    let expected = [
        "0 0 0.5 0 0 10",
        "1 0 0.5 0.5 0 11",
        "1 1 0.5 0.5 1 12",
        "0 1 0.5 0 0 13",
        "0 0 0.5 0.5 0 10",
        "3 0 1 2",
        "3 4 2 3",
    ];
    assert_eq!(body(&written), expected);
    // The same, with a value per corner: equal ones are merged.
    mesh.uvs = [[0.0, 0.0], [0.5, 0.0], [0.5, 1.0], [0.5, 0.0], [0.5, 1.0], [-0.0, 0.0]].into();
    mesh.uv_domain = Domain::Corner;
    mesh.faces.corner_uvs = Vec::new().into();
    assert_eq!(body(&ascii(&scene(mesh.clone())))[..3], expected[..3]);
    assert_eq!(body(&ascii(&scene(mesh)))[4..], expected[4..]);
}

#[test]
fn normals_of_faces_stay_with_faces() {
    let mut mesh = square();
    mesh.faces = elements(&[&[0, 1, 2], &[0, 2, 3]]);
    mesh.normals = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]].into();
    mesh.normal_domain = Domain::Face;
    mesh.face_columns = vec![column("attribute", Values::U16([7, 8].into()))];
    let written = ascii(&scene(mesh));
    assert_eq!(body(&written)[4..], ["3 0 1 2 0 0 1 7", "3 0 2 3 0 1 0 8"]);
    assert!(written.contains("property list uchar int vertex_indices\nproperty float nx\n"), "{written}");
}

#[test]
fn objects_are_joined_in_order_and_stand_where_they_are() {
    let mut mesh = square();
    mesh.faces = elements(&[&[0, 1, 2, 3]]);
    mesh.normals = [[0.0, 0.0, 1.0]; 4].into();
    mesh.normal_domain = Domain::Vertex;
    let moved = [[-1.0, 0.0, 0.0, 5.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    let object = |transform| Object { name: "o".into(), end: mesh.counts(), transform, ..Object::default() };
    let objects = vec![object(None), object(Some(moved))];
    let scene = Scene { objects, meshes: vec![mesh.clone()], ..Scene::default() };
    let written = ascii(&scene);
    let rows = body(&written);
    assert_eq!(rows[1], "1 0 0.5 0 0 1");
    assert_eq!(rows[5], "4 0 0.5 -0 0 1");
    // The second one is mirrored: its corners are reversed.
    assert_eq!(rows[8..], ["4 0 1 2 3", "4 4 7 6 5"]);
    let (_, report) = write(&scene, &encoded(PlyEncoding::Ascii)).unwrap();
    assert_eq!(count(&report, "left-out-names"), 2);
}

#[test]
fn sections_of_a_mesh_share_its_positions() {
    let mut mesh = square();
    mesh.faces = elements(&[&[0, 1, 2], &[1, 2, 3], &[0, 2, 3]]);
    let section = |start: [u32; 2], end: [u32; 2]| {
        let at = |[positions, faces]: [u32; 2]| Counts { positions, faces, ..Counts::default() };
        Object { start: at(start), end: at(end), ..Object::default() }
    };
    let objects = vec![section([0, 0], [2, 1]), section([2, 1], [4, 2])];
    let written = ascii(&Scene { objects, meshes: vec![mesh], ..Scene::default() });
    assert_eq!(body(&written)[4..], ["3 0 1 2", "3 1 2 3"]);
}

#[test]
fn columns_of_all_meshes_are_joined_by_name() {
    let mesh = |columns| Mesh { vertex_columns: columns, positions: [[1.0; 3]].into(), ..Mesh::default() };
    let mut list = column("near", Values::I8([1, 2].into()));
    list.offsets = Some([0, 2].into());
    let a = mesh(vec![column("time", Values::F64([0.5].into())), list]);
    let b = mesh(vec![column("kind", Values::U8([3].into())), column("time", Values::F64([1.5].into()))]);
    let both = |a: Mesh, b| Scene { meshes: vec![a, b], ..Scene::default() };
    let written = ascii(&both(a.clone(), b));
    assert_eq!(body(&written), ["1 1 1 0.5 2 1 2 0", "1 1 1 1.5 0 3"]);
    let other = mesh(vec![column("time", Values::F32([1.5].into()))]);
    let error = write(&both(a.clone(), other), &encoded(PlyEncoding::Ascii)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    let taken = mesh(vec![column("x", Values::F64([9.5].into()))]);
    let (bytes, report) = write(&scene(taken), &encoded(PlyEncoding::Ascii)).unwrap();
    assert_eq!((parts(&bytes).1, count(&report, "left-out-columns")), (&b"1 1 1\n"[..], 1));
}

#[test]
fn axes_scale_and_triangles_are_asked_for() {
    let mut mesh = square();
    mesh.faces = elements(&[&[0, 1, 2, 3]]);
    mesh.face_columns = vec![column("tag", Values::U8([9].into()))];
    let placed = options(scene_options(|scene| {
        *scene = scene
            .with_forward_axis(Some(Axes::BLENDER.forward))
            .with_up_axis(Some(Axes::BLENDER.up))
            .with_global_scale(2.0)
            .with_triangulate(true)
            .with_ascii(true);
    }));
    let plain = scene(mesh);
    let written = text(&plain, &placed);
    assert_eq!(body(&written), ["0 -1 0", "2 -1 0", "2 -1 2", "0 -1 2", "3 0 1 2 9", "3 0 2 3 9"]);
    assert_eq!(body(&ascii(&plain))[1], "1 0 0.5");
    // Scenes from Blender keep Blender's axes.
    let blender = Scene { axes: Axes::BLENDER, ..plain };
    assert_eq!(body(&ascii(&blender))[1], "1 0 0.5");
}

#[test]
fn what_ply_has_no_place_for_is_counted() {
    let mut mesh = square();
    mesh.points = [0, 1, 2].into();
    mesh.colors = [[f32::NAN; 4], [2.0, 0.0, 0.0, 1.0], [0.0; 4], [-1.0, 0.0, 0.0, 1.0]].into();
    mesh.groups = vec!["g".into()];
    mesh.position_weights = [1.0; 4].into();
    let mut scene = scene(mesh);
    scene.materials = vec![Material::default(); 2];
    let (bytes, report) = write(&scene, &encoded(PlyEncoding::Ascii)).unwrap();
    let codes = ["left-out-points", "left-out-groups", "left-out-weights", "left-out-materials", "missing-color"];
    assert_eq!(codes.map(|code| count(&report, code)), [3, 1, 4, 2, 1]);
    assert_eq!(count(&report, "clamped-color"), 2);
    let rows = String::from_utf8(parts(&bytes).1.into()).unwrap();
    assert!(rows.starts_with("0 0 0.5 255 255 255 255\n1 0 0.5 255 0 0 255\n1 1 0.5 0 0 0 0\n"), "{rows}");
}

#[test]
fn tables_of_a_scene_follow_its_meshes() {
    let table =
        |name: &str| Table { name: name.into(), row_count: 1, columns: vec![column("v", Values::U8([5].into()))] };
    let mut both = scene(square());
    both.tables = vec![table("camera")];
    let tables = read_tables(&write(&both, &encoded(PlyEncoding::BigEndian)).unwrap().0);
    assert_eq!(tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>(), ["vertex", "camera"]);
    assert_eq!(tables[1], both.tables[0]);
    let alone = Scene { tables: vec![table("camera"), table("lens")], ..Scene::default() };
    assert_eq!(read_tables(&write(&alone, &encoded(PlyEncoding::Ascii)).unwrap().0), alone.tables);
    both.tables = vec![table("vertex")];
    assert_eq!(write(&both, &encoded(PlyEncoding::Ascii)).unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn an_obj_becomes_a_ply() {
    let text = "o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nf 1/1 2/2 3/1\nf 3/2 2/2 1/1\nl 1 3\n";
    let folder = polyhaul_testkit::corpus::Folder::new("ply").unwrap();
    let path = folder.join("a.ply.gz");
    polyhaul::Reader::new(memory(text, "a.obj")).convert(polyhaul::Writer::new(path.clone())).unwrap();
    assert_eq!(folder.names(), ["a.ply.gz"]);
    let written = std::fs::read(&path).unwrap();
    assert_eq!(written[..2], [0x1f, 0x8b]);
    let options = polyhaul::WriteOptions::default().with_format(Some(Format::Ply));
    let (bytes, _) = try_converted(memory(text, "a.obj"), &Default::default(), &options).unwrap();
    let tables = read_tables(&bytes);
    assert_eq!(tables.iter().map(|table| table.row_count).collect::<Vec<_>>(), [4, 2, 1]);
    assert_eq!(tables[1].columns[0].values, Values::I32([0, 1, 2, 3, 1, 0].into()));
}
