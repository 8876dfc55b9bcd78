//! The same bytes for any number of threads and any page size.

use crate::ply_write::support::*;
use polyhaul::model::{Domain, Mesh, Scene, Values};
use polyhaul::options::RunOptions;
use polyhaul_testkit::random::Random;

/// A mesh with all attributes, whose corners split many vertices.
fn busy(faces: usize) -> Mesh {
    let mut random = Random::new(faces as u64);
    let positions = faces / 2 + 3;
    let mut mesh =
        Mesh { positions: (0..positions).map(|_| [0; 3].map(|_| random.unit())).collect(), ..Mesh::default() };
    let sizes: Vec<usize> = (0..faces).map(|_| 3 + random.below(20).saturating_sub(15)).collect();
    let lists: Vec<Vec<u32>> =
        sizes.iter().map(|&size| (0..size).map(|_| random.below(positions) as u32).collect()).collect();
    mesh.faces = elements(&lists.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let corners = mesh.faces.corner_positions.len();
    mesh.uvs = (0..corners).map(|_| [random.below(3) as f32, 0.5]).collect();
    mesh.uv_domain = Domain::Corner;
    mesh.normals = (0..40).map(|_| [0; 3].map(|_| random.unit())).collect();
    mesh.faces.corner_normals = (0..corners).map(|_| random.below(3) as u32).collect();
    mesh.colors = (0..positions).map(|_| [random.unit(), random.unit(), 0.0, 1.0]).collect();
    let mut near = column("near", Values::U16((0..2 * positions as u32).map(|i| i as u16).collect()));
    near.offsets = Some((0..=positions as u32).map(|i| 2 * i - i % 2).collect());
    near.values = Values::U16((0..near.offsets.as_ref().unwrap()[positions]).map(|i| i as u16).collect());
    mesh.vertex_columns = vec![near, column("time", Values::F64((0..positions).map(|i| i as f64 / 3.0).collect()))];
    mesh.face_columns = vec![column("tag", Values::I8((0..faces).map(|i| i as i8).collect()))];
    mesh.lines = elements(&[&[0, 1, 2], &[2, 0]]);
    mesh
}

#[test]
fn threads_and_pages_make_no_difference() {
    let scene = Scene { meshes: vec![busy(900), busy(1), busy(300)], ..Scene::default() };
    let mut meanings = Vec::new();
    for encoding in ENCODINGS {
        let expected = write(&scene, &encoded(encoding)).unwrap().0;
        meanings.push(read_tables(&expected));
        for threads in [1, 2, 3, 7, 64] {
            for chunk_bytes in [None, Some(1), Some(100), Some(5000)] {
                let run = RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(chunk_bytes);
                let options = encoded(encoding).with_run(run);
                assert!(write(&scene, &options).unwrap().0 == expected, "{encoding:?} {threads} {chunk_bytes:?}");
            }
        }
    }
    // All encodings have the same content.
    assert!(meanings.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn splitting_keeps_what_corners_have() {
    let mesh = busy(500);
    let tables = read_tables(&write(&scene(mesh.clone()), &encoded(ENCODINGS[1])).unwrap().0);
    let vertex = &tables[0];
    let face = &tables[1];
    let numbers = |name: &str| match &vertex.column(name).unwrap().values {
        Values::F32(values) => values.to_vec(),
        other => panic!("{other:?}"),
    };
    let [x, nx, s] = ["x", "nx", "s"].map(numbers);
    let Values::I32(indices) = &face.columns[0].values else { panic!("{face:?}") };
    assert_eq!(face.columns[0].offsets.as_ref().unwrap(), &mesh.faces.offsets);
    for (corner, &vertex) in indices.iter().enumerate() {
        let position = mesh.faces.corner_positions[corner] as usize;
        assert_eq!(x[vertex as usize], mesh.positions[position][0]);
        assert_eq!(nx[vertex as usize], mesh.normals[mesh.faces.corner_normals[corner] as usize][0]);
        assert_eq!(s[vertex as usize], mesh.uvs[corner][0]);
    }
    assert!((0..mesh.positions.len()).all(|position| x[position] == mesh.positions[position][0]));
    assert!(vertex.row_count > mesh.positions.len());
    // At most two pairs of rows are equal: vertices are not duplicated.
    let mut rows: Vec<_> = (0..vertex.row_count).map(|row| [x[row], nx[row], s[row]].map(f32::to_bits)).collect();
    rows.sort_unstable();
    assert!(rows.windows(2).filter(|pair| pair[0] == pair[1]).count() <= 2);
}
