//! PLY and STL in Blender's dialect: the same bytes as Blender 5.0.1 for the same scene.

use crate::ply_write::support::{elements, text};
use polyhaul::model::{Axes, Domain, Mesh, Object, Scene};
use polyhaul::options::{Dialect, SceneWriteOptions};
use polyhaul::{Format, WriteOptions};

/// A bent quad, a triangle on it with other uvs, an isolated edge and position; mirrored, stretched and moved.
fn mirrored() -> Scene {
    let positions = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [1.0, 1.0, 0.5],
        [0.0, 1.0, 0.0],
        [9.0, 9.0, 9.0],
        [2.0, 2.0, 2.0],
        [3.0, 2.0, 2.0],
    ];
    let uvs = [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.5, 0.25], [0.0, 0.0]];
    let mesh = Mesh {
        positions: positions.into(),
        faces: elements(&[&[3, 2, 1, 0][..], &[1, 2, 0]]),
        lines: elements(&[&[5, 6]]),
        uvs: uvs.into(),
        uv_domain: Domain::Corner,
        colors: vec![[1.0, 0.5, 0.0, 1.0]; 7].into(),
        ..Mesh::default()
    };
    let transform = [[-1.0, 0.0, 0.0, 0.5], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    let object =
        Object { end: mesh.counts(), transform: Some(transform), name: "two words".into(), ..Object::default() };
    Scene { meshes: vec![mesh], objects: vec![object], axes: Axes::BLENDER, ..Scene::default() }
}

fn blenders() -> SceneWriteOptions {
    SceneWriteOptions::default()
        .with_forward_axis(Some(Axes::BLENDER.forward))
        .with_up_axis(Some(Axes::BLENDER.up))
        .with_global_scale(2.0)
        .with_dialect(Dialect::Blender)
        .with_ascii(true)
}

fn ply(scene: SceneWriteOptions) -> WriteOptions {
    WriteOptions::default().with_format(Some(Format::Ply)).with_scene(scene)
}

fn stl(scene: SceneWriteOptions) -> WriteOptions {
    WriteOptions::default().with_format(Some(Format::Stl)).with_scene(scene)
}

const PLY: &str = "ply
format ascii 1.0
element vertex 8
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
property uchar alpha
property float s
property float t
element face 2
property list uchar uint vertex_indices
element edge 1
property int vertex1
property int vertex2
end_header
1 2 0 255 127 0 255 0 1
-1 2 2 255 127 0 255 1 1
-1 0 0 255 127 0 255 1 0
1 0 0 255 127 0 255 0 0
-1 2 2 255 127 0 255 0.5 0.25
-17 18 36 255 127 0 255 0 0
-3 4 8 255 127 0 255 0 0
-5 4 8 255 127 0 255 0 0
4 0 1 2 3
3 2 4 3
6 7
";

const STL: &str = "solid\x20
facet normal -0.57735026 0.57735026 -0.57735026
 outer loop
  vertex -1 0 0
  vertex -1 2 2
  vertex 1 2 0
 endloop
endfacet
facet normal 0 -0 -1
 outer loop
  vertex 1 0 0
  vertex -1 0 0
  vertex 1 2 0
 endloop
endfacet
facet normal 0 -0.70710677 0.70710677
 outer loop
  vertex 1 0 0
  vertex -1 2 2
  vertex -1 0 0
 endloop
endfacet
endsolid\x20
";

#[test]
fn the_bytes_are_blenders() {
    for threads in [1, 2, 5] {
        for chunk_bytes in [1, 100, 1 << 20] {
            let run = |options: WriteOptions| {
                let run = options.run.clone().with_threads(Some(threads)).with_chunk_bytes(Some(chunk_bytes));
                options.with_run(run)
            };
            assert_eq!(text(&mirrored(), &run(ply(blenders()))), PLY);
            assert_eq!(text(&mirrored(), &run(stl(blenders()))), STL);
        }
    }
}

#[test]
fn equal_uvs_are_one_whatever_their_indices() {
    let mut scene = mirrored();
    let mesh = &mut scene.meshes[0];
    mesh.uv_domain = Domain::Indexed;
    mesh.faces.corner_uvs = (0..7).collect::<Vec<u32>>().into();
    assert_eq!(text(&scene, &ply(blenders())), PLY);
}

#[test]
fn quads_are_cut_from_the_first_corner_unless_that_is_outside() {
    let positions = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 2.0, 0.0]];
    for (turn, triangles) in [
        (
            0,
            [
                "vertex 0 0 0\n  vertex 2 0 0\n  vertex 0.5 0.5 0\n",
                "vertex 0 0 0\n  vertex 0.5 0.5 0\n  vertex 0 2 0\n",
            ],
        ),
        (
            1,
            [
                "vertex 2 0 0\n  vertex 0.5 0.5 0\n  vertex 0 0 0\n",
                "vertex 0.5 0.5 0\n  vertex 0 2 0\n  vertex 0 0 0\n",
            ],
        ),
    ] {
        let corners: Vec<u32> = (0..4).map(|corner| (corner + turn) % 4).collect();
        let mesh = Mesh { positions: positions.into(), faces: elements(&[&corners]), ..Mesh::default() };
        let written = text(
            &Scene { meshes: vec![mesh], axes: Axes::BLENDER, ..Scene::default() },
            &stl(blenders().with_global_scale(1.0)),
        );
        let places = triangles.map(|triangle| written.find(triangle));
        assert!(places[0].is_some() && places[0] < places[1], "{written}");
    }
}

#[test]
fn tiny_and_huge_numbers_have_blenders_exponents() {
    let mut scene = mirrored();
    scene.objects[0].transform = None;
    scene.meshes[0].positions = [1e-5, 1.5e-7, 1e13, 1e16, 0.5, 9.0, 8.0].map(|x| [x, 0.0, 0.0]).into();
    let written = |options| text(&scene, &options);
    let rows = written(ply(blenders().with_global_scale(1.0)));
    let first = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit());
    let columns: Vec<&str> = rows.lines().filter(first).filter_map(|line| line.split(' ').next()).collect();
    for number in ["1e-05", "1.5e-07", "10000000000000", "1e+16"] {
        assert!(columns.contains(&number), "{rows}");
    }
    let lines = written(stl(blenders().with_global_scale(1.0)));
    assert!(lines.contains("vertex 1e-05 0 0\n") && lines.contains("vertex 1e+16 0 0\n"), "{lines}");
    let common = written(stl(blenders().with_global_scale(1.0).with_dialect(Dialect::Common)));
    assert!(common.contains("vertex 0.00001 0 0\n"), "{common}");
}

#[test]
fn a_scene_without_faces_is_an_empty_solid() {
    assert_eq!(text(&Scene::default(), &stl(blenders())), "solid \nendsolid \n");
}

#[test]
fn other_programs_get_fronts_that_face_outward() {
    let common = blenders().with_dialect(Dialect::Common);
    let written = text(&mirrored(), &ply(common));
    assert!(
        written.contains("4 3 0 1 2\n") || written.contains("4 0 1 2 3\n") || written.contains("4 2 1 0 3\n"),
        "{written}"
    );
    assert!(written.contains("property list uchar int vertex_indices"), "{written}");
    let written = text(&mirrored(), &stl(common));
    assert!(written.starts_with("solid two words\nfacet normal -0.577"), "{written}");
}
