//! Meshes read in pieces, compared with the scenes read from the same files.

use crate::support::read_options;
use polyhaul::consumer::{KnownPositions, MeshConsumer, MeshPiece, PieceFaces};
use polyhaul::model::{Mesh, Scene};
use polyhaul::{Error, ErrorKind, Input, Reader, Result};
use polyhaul_testkit::corpus;
use std::path::PathBuf;
use std::sync::Mutex;

/// A face, by the bits of its corner positions.
type Face = Vec<[u32; 3]>;

/// Collects all pieces.
#[derive(Default)]
struct Keeper {
    begun: Mutex<usize>,
    pieces: Mutex<Vec<(u64, Vec<Face>)>>,
    fails: bool,
}

impl MeshConsumer for Keeper {
    fn start(&self, positions: KnownPositions<'_>) -> Result<()> {
        *self.begun.lock().unwrap() += 1;
        if let KnownPositions::Sample(positions) = positions {
            assert!(positions.len() % 3 == 0);
        }
        Ok(())
    }

    fn take(&self, piece: &MeshPiece<'_>) -> Result<()> {
        if self.fails {
            return Err(Error::new(ErrorKind::Host, "no more"));
        }
        let corner = |at: usize| piece.positions.get(at).map_or([0; 3], |position| position.map(f32::to_bits));
        let faces: Vec<Face> = match piece.faces {
            PieceFaces::Points => (0..piece.positions.len()).map(|at| vec![corner(at)]).collect(),
            PieceFaces::Triangles => {
                (0..piece.positions.len() / 3).map(|at| (3 * at..3 * at + 3).map(corner).collect()).collect()
            }
            PieceFaces::Lists { offsets, corners } => {
                let face = |ends: &[u32]| corners[ends[0] as usize..ends[1] as usize].iter();
                offsets.windows(2).map(|ends| face(ends).map(|&index| corner(index as usize)).collect()).collect()
            }
        };
        self.pieces.lock().unwrap().push((piece.first_face, faces));
        Ok(())
    }
}

impl Keeper {
    /// All faces in file order.
    fn faces(self) -> Vec<Face> {
        let mut pieces = self.pieces.into_inner().unwrap();
        pieces.sort_by_key(|&(first, _)| first);
        let mut all_faces = Vec::new();
        for (first, faces) in pieces {
            assert!(faces.is_empty() || first == all_faces.len() as u64, "{first} {}", all_faces.len());
            all_faces.extend(faces);
        }
        all_faces
    }
}

fn has_faces(scene: &Scene) -> bool {
    scene.meshes.iter().any(|mesh| !mesh.faces.is_empty())
}

/// The faces or points of a scene.
fn faces(scene: &Scene, are_points: bool) -> Vec<Face> {
    let of_mesh = |mesh: &Mesh| -> Vec<Face> {
        let corner = |index: usize| mesh.positions[index].map(f32::to_bits);
        if are_points {
            return (0..mesh.positions.len()).map(|at| vec![corner(at)]).collect();
        }
        let corners = |face: usize| mesh.faces.corners(face);
        (0..mesh.faces.len())
            .map(|face| corners(face).map(|at| corner(mesh.faces.corner_positions[at] as usize)).collect())
            .collect()
    };
    scene.meshes.iter().flat_map(of_mesh).collect()
}

/// Reads bytes in both ways, in any chunks; returns whether they are read in pieces.
fn check(bytes: &[u8], name: &str) -> bool {
    let input = || Input::Memory(bytes.to_vec(), name.into());
    let mut is_done = false;
    for (threads, chunk_bytes) in [(1, None), (2, Some(40)), (3, Some(100)), (7, Some(4096))] {
        let options = read_options(threads, chunk_bytes);
        let keeper = Keeper::default();
        let report = Reader::new(input()).options(&options).pieces(&keeper);
        let scene = Reader::new(input()).options(&options).scene();
        match (report, scene) {
            (Ok(None), _) => assert!(!is_done && keeper.pieces.into_inner().unwrap().is_empty(), "{name}"),
            (Ok(Some(_)), Ok(scene)) => {
                is_done = true;
                assert!(*keeper.begun.lock().unwrap() >= 1, "{name}");
                let mut piece_faces = keeper.faces();
                // A scene drops faces with one or two corners.
                let are_points = piece_faces.iter().any(|face| face.len() == 1) && !has_faces(&scene.value);
                piece_faces.retain(|face| are_points || face.len() > 2);
                let expected = faces(&scene.value, are_points);
                assert!(
                    piece_faces == expected,
                    "{name} {threads} {chunk_bytes:?}: {} {}",
                    piece_faces.len(),
                    expected.len()
                );
            }
            (Err(error), Err(wanted)) => {
                assert_eq!(error.to_string(), wanted.to_string(), "{name} {threads} {chunk_bytes:?}");
            }
            (report, scene) => panic!("{name}: {report:?} {:?}", scene.err()),
        }
    }
    is_done
}

/// All test data files in a folder and below it.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![corpus::root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

#[test]
fn files_have_the_same_faces_and_the_same_errors() {
    for (folder, min_files) in [("stl", 10), ("ply", 5), ("obj", 10)] {
        let is_done = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            check(&std::fs::read(path).unwrap(), &name)
        };
        let is_small = |path: &&PathBuf| path.metadata().unwrap().len() < 100_000;
        let streamed_count = files(folder).iter().filter(is_small).filter(|path| is_done(path)).count();
        assert!(streamed_count >= min_files, "{folder}: {streamed_count}");
    }
}

/// A binary PLY file whose faces have these numbers of corners.
fn ply(sizes: &[u8], count: &str, index: &str, big: bool) -> Vec<u8> {
    let encoding = if big { "binary_big_endian" } else { "binary_little_endian" };
    let vertices = 200u32;
    let mut bytes = format!(
        "ply\nformat {encoding} 1.0\nelement vertex {vertices}\nproperty uchar red\nproperty float x\nproperty uchar green\n\
         property double y\nproperty float z\nproperty uchar blue\nproperty int other\nelement face {}\n\
         property short flags\nproperty list {count} {index} vertex_indices\nproperty float area\nend_header\n",
        sizes.len()
    )
    .into_bytes();
    let number = |bytes: &mut Vec<u8>, value: u64, width: usize| {
        let value_bytes = value.to_le_bytes();
        let used_bytes = &value_bytes[..width];
        if big { bytes.extend(used_bytes.iter().rev()) } else { bytes.extend(used_bytes) }
    };
    let width = |name: &str| match name {
        "uchar" => 1,
        "ushort" => 2,
        _ => 4,
    };
    for vertex in 0..vertices {
        let value = |axis: u32| f64::from((vertex * 7 + axis * 31) % 101);
        bytes.push(vertex as u8);
        number(&mut bytes, u64::from((value(0) as f32).to_bits()), 4);
        bytes.push(1);
        number(&mut bytes, value(1).to_bits(), 8);
        number(&mut bytes, u64::from((value(2) as f32).to_bits()), 4);
        bytes.push(2);
        number(&mut bytes, 77, 4);
    }
    for (face, &size) in sizes.iter().enumerate() {
        number(&mut bytes, face as u64 & 0xFFF, 2);
        number(&mut bytes, u64::from(size), width(count));
        for corner in 0..u64::from(size) {
            // Half of the indices are 3, so that they look like the corner counts of later faces.
            number(
                &mut bytes,
                if corner % 2 == 0 { 3 } else { (face as u64 * 13 + corner) % u64::from(vertices) },
                width(index),
            );
        }
        number(&mut bytes, 0, 4);
    }
    bytes
}

#[test]
fn faces_of_other_sizes_than_the_first_are_the_same_faces() {
    let alike = vec![3; 3000];
    let quads = [vec![3; 1000], vec![4; 1000], vec![3; 1000]].concat();
    let any: Vec<u8> = (0..3000u32).map(|face| (face.wrapping_mul(2_654_435_761) >> 29) as u8).collect();
    let last = [vec![4; 2999], vec![3]].concat();
    for sizes in [alike, quads, any, last, vec![], vec![0], vec![5]] {
        for (count, index, big) in [("uchar", "int", false), ("uint", "uchar", true), ("ushort", "ushort", false)] {
            assert!(check(&ply(&sizes, count, index, big), "made.ply"));
        }
    }
}

#[test]
fn what_a_consumer_would_miss_is_read_as_a_scene() {
    let is_streamed = |header: &str| {
        let text = format!("ply\nformat binary_little_endian 1.0\n{header}end_header\n");
        let keeper = Keeper::default();
        Reader::new(Input::Memory(text.into_bytes(), "made.ply".into())).pieces(&keeper).unwrap().is_some()
    };
    let xyz = "element vertex 0\nproperty float x\nproperty float y\nproperty float z\n";
    let faces = "element face 0\nproperty list uchar int vertex_indices\n";
    assert!(
        is_streamed(xyz) && is_streamed(&format!("{xyz}{faces}")) && is_streamed(&format!("{xyz}property float age\n"))
    );
    let rest = ["property float nx\n", "property float f_dc_0\n", "property list uchar int tags\n", "element edge 0\n"];
    assert!(rest.iter().all(|rest| !is_streamed(&format!("{xyz}{rest}"))));
    assert!(!is_streamed(&format!("{xyz}{faces}property list uchar float texcoord\n")));
    let colors = "property float red\nproperty float green\nproperty float blue\n";
    assert!(!is_streamed(&format!("{xyz}{colors}{faces}")));
}

#[test]
fn an_error_of_the_consumer_ends_the_reading() {
    let bytes = ply(&[3; 100], "uchar", "int", false);
    let keeper = Keeper { fails: true, ..Keeper::default() };
    let error = Reader::new(Input::Memory(bytes, "made.ply".into())).pieces(&keeper).unwrap_err();
    assert_eq!((error.kind(), error.diagnostic().message.as_str()), (ErrorKind::Host, "no more"));
}

/// The same error as reading the scene.
#[test]
fn a_file_without_statements_is_an_error() {
    let input = || Input::Memory(b"foo\nbar\n".to_vec(), "made.obj".into());
    let keeper = Keeper::default();
    let error = Reader::new(input()).pieces(&keeper).unwrap_err();
    let expected = Reader::new(input()).scene().unwrap_err();
    assert_eq!((error.kind(), error.diagnostic()), (ErrorKind::Malformed, expected.diagnostic()));
}

/// Points in which a text-mode transfer replaced LF by CR LF: only the whole file shows whether they are damaged.
#[test]
fn damaged_points_are_read_as_a_scene() {
    let header = "ply\r\nformat binary_little_endian 1.0\r\nelement vertex 3\r\nproperty float x\r\n\
                  property float y\r\nproperty float z\r\nend_header\r\n";
    let rows = (0..9u32).flat_map(|at| (0x3f80_0000 + at * 10).to_le_bytes());
    let damaged = rows.flat_map(|byte| if byte == b'\n' { vec![b'\r', b'\n'] } else { vec![byte] });
    let bytes: Vec<u8> = header.bytes().chain(damaged).collect();
    let input = || Input::Memory(bytes.clone(), "made.ply".into());
    assert!(Reader::new(input()).pieces(&Keeper::default()).unwrap().is_none());
    let error = Reader::new(input()).scene().unwrap_err();
    assert!(error.to_string().contains("every LF was replaced by CR LF"), "{error}");
}
