//! Meshes read piece by piece, held against the scenes that the same files are read as.

use polyhaul::consumer::{KnownPositions, MeshConsumer, MeshPiece, PieceFaces};
use polyhaul::model::{Mesh, Scene};
use polyhaul::options::RunOptions;
use polyhaul::{Error, ErrorKind, Input, ReadOptions, Reader, Result};
use polyhaul_testkit::corpus;
use std::path::PathBuf;
use std::sync::Mutex;

/// A face, by the bits of its corners' positions.
type Face = Vec<[u32; 3]>;

/// Keeps all pieces.
#[derive(Default)]
struct Keeper {
    begun: Mutex<usize>,
    pieces: Mutex<Vec<(u64, Vec<Face>)>>,
    fails: bool,
}

impl MeshConsumer for Keeper {
    fn start(&self, known: KnownPositions<'_>) -> Result<()> {
        *self.begun.lock().unwrap() += 1;
        if let KnownPositions::Sample(positions) = known {
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
    /// All faces in the file's order.
    fn faces(self) -> Vec<Face> {
        let mut pieces = self.pieces.into_inner().unwrap();
        pieces.sort_by_key(|&(first, _)| first);
        let mut all = Vec::new();
        for (first, faces) in pieces {
            assert!(faces.is_empty() || first == all.len() as u64, "{first} {}", all.len());
            all.extend(faces);
        }
        all
    }
}

fn has_faces(scene: &Scene) -> bool {
    scene.meshes.iter().any(|mesh| !mesh.faces.is_empty())
}

/// The faces or the points of a scene.
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

fn options(threads: usize, chunk_bytes: Option<usize>) -> ReadOptions {
    ReadOptions::default().with_run(RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(chunk_bytes))
}

/// Reads bytes in both ways, however they are cut; returns whether they are read piece by piece.
fn check(bytes: &[u8], name: &str) -> bool {
    let input = || Input::Memory(bytes.to_vec(), name.into());
    let mut is_done = false;
    for (threads, chunk_bytes) in [(1, None), (2, Some(40)), (3, Some(100)), (7, Some(4096))] {
        let options = options(threads, chunk_bytes);
        let keeper = Keeper::default();
        let report = Reader::new(input()).options(&options).pieces(&keeper);
        let scene = Reader::new(input()).options(&options).scene();
        match (report, scene) {
            (Ok(None), _) => assert!(!is_done && keeper.pieces.into_inner().unwrap().is_empty(), "{name}"),
            (Ok(Some(_)), Ok(scene)) => {
                is_done = true;
                assert!(*keeper.begun.lock().unwrap() >= 1, "{name}");
                let mut found = keeper.faces();
                // A scene leaves these out.
                let are_points = found.iter().any(|face| face.len() == 1) && !has_faces(&scene.value);
                found.retain(|face| are_points || face.len() > 2);
                let wanted = faces(&scene.value, are_points);
                assert!(found == wanted, "{name} {threads} {chunk_bytes:?}: {} {}", found.len(), wanted.len());
            }
            (Err(error), Err(wanted)) => {
                assert_eq!(error.to_string(), wanted.to_string(), "{name} {threads} {chunk_bytes:?}");
            }
            (report, scene) => panic!("{name}: {report:?} {:?}", scene.err()),
        }
    }
    is_done
}

/// All files of a folder of the test data and below it.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut folders = vec![corpus::root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { all.push(path) }
        }
    }
    all.sort();
    all
}

#[test]
fn files_have_the_same_faces_and_the_same_errors() {
    for (folder, least) in [("stl", 10), ("ply", 5), ("obj", 10)] {
        let is_done = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            check(&std::fs::read(path).unwrap(), &name)
        };
        let is_small = |path: &&PathBuf| path.metadata().unwrap().len() < 100_000;
        let done = files(folder).iter().filter(is_small).filter(|path| is_done(path)).count();
        assert!(done >= least, "{folder}: {done}");
    }
}

/// A binary PLY file of faces with these numbers of corners.
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
        let all = value.to_le_bytes();
        let own = &all[..width];
        if big { bytes.extend(own.iter().rev()) } else { bytes.extend(own) }
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
            // Often 3, as the counts of later faces are.
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
    let done = |header: &str| {
        let text = format!("ply\nformat binary_little_endian 1.0\n{header}end_header\n");
        let keeper = Keeper::default();
        Reader::new(Input::Memory(text.into_bytes(), "made.ply".into())).pieces(&keeper).unwrap().is_some()
    };
    let xyz = "element vertex 0\nproperty float x\nproperty float y\nproperty float z\n";
    let faces = "element face 0\nproperty list uchar int vertex_indices\n";
    assert!(done(xyz) && done(&format!("{xyz}{faces}")) && done(&format!("{xyz}property float age\n")));
    let rest = ["property float nx\n", "property float f_dc_0\n", "property list uchar int tags\n", "element edge 0\n"];
    assert!(rest.iter().all(|rest| !done(&format!("{xyz}{rest}"))));
    assert!(!done(&format!("{xyz}{faces}property list uchar float texcoord\n")));
    let colors = "property float red\nproperty float green\nproperty float blue\n";
    assert!(!done(&format!("{xyz}{colors}{faces}")));
}

#[test]
fn an_error_of_the_consumer_ends_the_reading() {
    let bytes = ply(&[3; 100], "uchar", "int", false);
    let keeper = Keeper { fails: true, ..Keeper::default() };
    let error = Reader::new(Input::Memory(bytes, "made.ply".into())).pieces(&keeper).unwrap_err();
    assert_eq!((error.kind(), error.diagnostic().message.as_str()), (ErrorKind::Host, "no more"));
}
