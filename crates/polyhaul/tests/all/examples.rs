//! Runs the example programs.

#[path = "../../examples/crop_points.rs"]
mod crop_points;
#[path = "../../examples/merge_scenes.rs"]
mod merge_scenes;
#[path = "../../examples/vertex_buffers.rs"]
mod vertex_buffers;

use polyhaul_testkit::corpus::Folder;

const QUAD: &str = "mtllib a.mtl\no quad\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 1\nusemtl red\nf 1/1 2/2 3/2\nusemtl blue\nf 1/1 3/2 4/2\n";

#[test]
fn vertex_buffers_have_a_draw_call_for_each_material() {
    let folder = Folder::new("vertex_buffers").unwrap();
    folder.file("a.mtl", "newmtl red\nnewmtl blue\n").unwrap();
    let buffers = vertex_buffers::load(&folder.file("a.obj", QUAD).unwrap()).unwrap();
    assert_eq!(buffers.draws, [(Some(0), 3), (Some(1), 3)]);
    assert_eq!(buffers.indices, [0, 1, 2, 0, 2, 3]);
    assert_eq!((buffers.vertices[1].position, buffers.vertices[1].uv), ([1.0, 0.0, 0.0], [1.0, 1.0]));
    assert_eq!(buffers.vertices[0].normal, [0.0; 3]);
}

#[test]
fn points_that_pass_a_filter_are_kept() {
    let folder = Folder::new("crop_points").unwrap();
    let input = folder.file("a.csv", "x,y,z,n\n0.5,0,0,1\n3,0,0,2\n0,1.5,1,3\n1,0,0,4\n").unwrap();
    let output = folder.path().join("b.csv");
    crop_points::crop(&input, &output, "x < 2", 2).unwrap();
    assert_eq!(std::fs::read_to_string(output).unwrap(), "x,y,z,n\n0.5,0,0,1\n1,0,0,4\n");
}

#[test]
fn merged_scenes_are_side_by_side() {
    let folder = Folder::new("merge_scenes").unwrap();
    folder.file("a.mtl", "newmtl red\nnewmtl blue\n").unwrap();
    let quad = folder.file("a.obj", QUAD).unwrap();
    let output = folder.path().join("both.glb");
    assert_eq!(merge_scenes::merge(&[&quad, &quad], &output).unwrap(), 2);
    let scene = polyhaul::read(&output).unwrap();
    let moved = scene.objects[1].transform.map(|matrix| matrix[0][3]);
    assert_eq!((scene.materials.len(), moved), (4, Some(1.25)));
}
