//! Reading and writing STL: triangles of 50 bytes and as text, beside programs in Rust and Python.

use super::{
    Group, Input, LIMIT_LINES, LIMIT_MEMORY, LIMIT_ONCE, LIMIT_WRITE, ONE_THREAD, OPEN3D, PYTHON_ROUNDS, Peer, TRIMESH,
    TWO_THREADS, made, output, reader, scripted, writer,
};
use crate::bench::build::Tools;
use std::path::Path;

pub(in crate::bench) const STL_IO: &str = "stl_io";
pub(in crate::bench) const NUMPY_STL: &str = "numpy-stl";

/// How its reader is called, and whether text takes it many seconds.
const PYTHON: [(&str, &str, bool); 5] = [
    (NUMPY_STL, "numpy-stl", false),
    (TRIMESH, "trimesh", true),
    ("meshio", "meshio", true),
    (OPEN3D, "open3d", true),
    ("pymeshlab", "pymeshlab", true),
];

pub(super) fn groups(tools: &Tools, data: &Path, megabytes: u64) -> Result<Vec<Group>, String> {
    let input = |name: &str, title, kind| made(tools, &data.join(name), title, kind, megabytes);
    let binary = input("triangles.stl", "triangles in bytes", "stl-binary")?;
    let ascii = input("triangles-ascii.stl", "triangles as text", "stl-ascii")?;
    Ok(vec![
        reading(tools, "read stl binary", &binary, (LIMIT_ONCE, "limit-once")),
        reading(tools, "read stl ascii", &ascii, (LIMIT_LINES, "limit-lines")),
        writing(tools, ["write stl binary", "polyhaul", STL_IO], &binary, data),
        writing(tools, ["write stl ascii", "polyhaul-text", "numpy-stl-text"], &ascii, data),
    ])
}

/// Readers; `once` is the limit that reads the file once.
fn reading(tools: &Tools, key: &'static str, input: &Input, once: (&'static str, &str)) -> Group {
    let read = |name, kind, threads| reader(tools, name, kind, &input.path, threads);
    let mut contestants = vec![
        read(once.0, once.1, 1),
        read(LIMIT_MEMORY, "limit-memory", 1),
        read(ONE_THREAD, "polyhaul", 1),
        read(TWO_THREADS, "polyhaul", 2),
        read(STL_IO, STL_IO, 1),
    ];
    let is_text = key == "read stl ascii";
    let rounds = |is_slow| if is_text && is_slow { 1 } else { PYTHON_ROUNDS };
    let peers = PYTHON.map(|(name, kind, is_slow)| (name, kind, rounds(is_slow)));
    contestants.extend(peers.into_iter().filter_map(|peer| scripted(tools, "read.py", peer, &[&input.path])));
    Group {
        key,
        title: format!("Reading STL: {}", input.title),
        input: input.clone(),
        baseline: STL_IO,
        limit: LIMIT_MEMORY,
        contestants,
    }
}

/// Writers: the key, how polyhaul's writer is called, and the peer that others are compared with.
fn writing(tools: &Tools, [key, own, baseline]: [&'static str; 3], input: &Input, data: &Path) -> Group {
    let written = output(data, "triangles.stl");
    let write = |name, kind, threads| writer(tools, name, kind, &input.path, written.clone(), threads);
    let mut contestants = vec![write(LIMIT_WRITE, "limit", 1), write(ONE_THREAD, own, 1), write(TWO_THREADS, own, 2)];
    let is_text = own != "polyhaul";
    let python: &[Peer] = if is_text {
        &[("numpy-stl-text", "numpy-stl-text", 1), (TRIMESH, "trimesh-text", 1)]
    } else {
        &[(NUMPY_STL, "numpy-stl", PYTHON_ROUNDS), (TRIMESH, "trimesh-stl", PYTHON_ROUNDS)]
    };
    contestants.extend((!is_text).then(|| write(STL_IO, STL_IO, 1)));
    let files = [input.path.as_path(), &written];
    contestants.extend(python.iter().filter_map(|&peer| scripted(tools, "write_ply.py", peer, &files)));
    Group {
        key,
        title: format!("Writing STL: {}", input.title),
        input: input.clone(),
        baseline,
        limit: LIMIT_WRITE,
        contestants,
    }
}
