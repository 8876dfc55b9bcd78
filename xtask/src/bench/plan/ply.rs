//! Reading and writing PLY: a mesh in bytes and as text, and splats, beside programs in Rust and Python; and splats
//! that are filtered in numpy on their way.
//!
//! The groups stand for the size of the input, 300 MB unless told; `--size 1000` makes a splat file of 1 GB.

use super::{
    Contestant, Group, Input, LIMIT_LINES, LIMIT_MEMORY, LIMIT_ONCE, LIMIT_WRITE, ONE_THREAD, PYTHON_ROUNDS, Peer,
    TRIMESH, TWO_THREADS, command, made, output, reader, ready, script, scripted, writer,
};
use crate::bench::build::Tools;
use std::path::Path;

/// polyhaul's tables, each element as it is.
pub(in crate::bench) const TABLES_ONE: &str = "polyhaul's tables, 1 thread";
pub(in crate::bench) const TABLES_TWO: &str = "polyhaul's tables, 2 threads";
pub(in crate::bench) const SERDE_PLY: &str = "serde-ply";
pub(in crate::bench) const OPEN3D: &str = "open3d";
pub(in crate::bench) const LIMIT_COPY: &str = "limit: copy the file";
const PLYFILE: &str = "plyfile";

/// Peers that read any mesh.
const PYTHON: [Peer; 5] = [
    (OPEN3D, "open3d", PYTHON_ROUNDS),
    ("pymeshlab", "pymeshlab", PYTHON_ROUNDS),
    (TRIMESH, "trimesh", 1),
    ("meshio", "meshio", 1),
    (PLYFILE, "plyfile", 1),
];

pub(super) fn groups(tools: &Tools, data: &Path, megabytes: u64) -> Result<Vec<Group>, String> {
    let input = |name: &str, title, kind| made(tools, &data.join(name), title, kind, megabytes);
    let binary = input("mesh.ply", "a mesh in bytes", "ply-binary")?;
    let ascii = input("mesh-ascii.ply", "a mesh as text", "ply-ascii")?;
    let splat = input("splat.ply", "splats of 62 floats", "ply-splat")?;
    Ok(vec![
        meshes(tools, "read ply binary", &binary, (LIMIT_ONCE, "limit-once")),
        meshes(tools, "read ply ascii", &ascii, (LIMIT_LINES, "limit-lines")),
        splats(tools, &splat),
        filtering(tools, &splat, data),
        writing(tools, &binary, data),
    ])
}

/// Readers of a mesh; `once` is the limit that reads it once.
fn meshes(tools: &Tools, key: &'static str, input: &Input, once: (&'static str, &str)) -> Group {
    let rust = [
        (SERDE_PLY, "serde-ply"),
        ("serde-ply, triangles foretold", "serde-ply-triangles"),
        ("ply-rs-bw", "ply-rs-bw"),
    ];
    let foretold = ("plyfile, triangles foretold", "plyfile-triangles", PYTHON_ROUNDS);
    // It is of no use for text.
    let more = (key == "read ply binary").then_some(foretold);
    reading(tools, key, input, once, &rust, &PYTHON.into_iter().chain(more).collect::<Vec<_>>())
}

fn splats(tools: &Tools, input: &Input) -> Group {
    let rust = [(SERDE_PLY, "serde-ply-splat"), ("ply-rs-bw", "ply-rs-bw-splat")];
    // Without faces all are fast, and open3d has another function.
    let python = PYTHON.map(|(name, reader, _)| match name {
        OPEN3D => (name, "open3d-points", PYTHON_ROUNDS),
        _ => (name, reader, PYTHON_ROUNDS),
    });
    reading(tools, "read ply splats", input, (LIMIT_ONCE, "limit-once"), &rust, &python)
}

fn reading(
    tools: &Tools,
    key: &'static str,
    input: &Input,
    once: (&'static str, &str),
    rust: &[(&'static str, &str)],
    python: &[Peer],
) -> Group {
    let read = |name, kind, threads| reader(tools, name, kind, &input.path, threads);
    let mut contestants = vec![
        read(once.0, once.1, 1),
        read(LIMIT_MEMORY, "limit-memory", 1),
        read(ONE_THREAD, "polyhaul", 1),
        read(TWO_THREADS, "polyhaul", 2),
        read(TABLES_ONE, "polyhaul-tables", 1),
        read(TABLES_TWO, "polyhaul-tables", 2),
    ];
    contestants.extend(rust.iter().map(|&(name, kind)| read(name, kind, 1)));
    contestants.extend(ready(tools, "miniply", "polyhaul", &input.path, &input.path));
    let file = [input.path.as_path()];
    contestants.extend(python.iter().filter_map(|&peer| scripted(tools, "read.py", peer, &file)));
    Group {
        key,
        title: format!("Reading PLY: {}", input.title),
        input: input.clone(),
        baseline: SERDE_PLY,
        limit: LIMIT_MEMORY,
        contestants,
    }
}

fn writing(tools: &Tools, input: &Input, data: &Path) -> Group {
    let written = output(data, "mesh.ply");
    let write = |name, kind, threads| writer(tools, name, kind, &input.path, written.clone(), threads);
    let mut contestants =
        vec![write(LIMIT_WRITE, "limit", 1), write(ONE_THREAD, "polyhaul", 1), write(TWO_THREADS, "polyhaul", 2)];
    let files = [input.path.as_path(), &written];
    let peers = [(TRIMESH, "trimesh", PYTHON_ROUNDS), (PLYFILE, "plyfile", 1)];
    contestants.extend(peers.into_iter().filter_map(|peer| scripted(tools, "write_ply.py", peer, &files)));
    Group {
        key: "write ply binary",
        title: format!("Writing PLY: {}", input.title),
        input: input.clone(),
        baseline: PLYFILE,
        limit: LIMIT_WRITE,
        contestants,
    }
}

/// Reads splats, keeps some in numpy, writes them.
fn filtering(tools: &Tools, input: &Input, data: &Path) -> Group {
    let written = output(data, "splat.ply");
    let contestant = |python: &Path, name, kind: &str, threads: usize, rounds| {
        let args = [script("filter_ply.py"), kind.into(), input.path.clone().into(), written.clone().into()];
        let args = args.into_iter().chain([threads.to_string().into()]);
        Contestant { rounds, ..Contestant::new(name, command(tools, python, args)) }
    };
    let pythons = &tools.pythons;
    let copy = pythons.small.as_deref().map(|python| contestant(python, LIMIT_COPY, "copy", 1, usize::MAX));
    let own = pythons.polyhaul.as_deref().into_iter().flat_map(|python| {
        [(ONE_THREAD, 1), (TWO_THREADS, 2)]
            .map(|(name, threads)| contestant(python, name, "polyhaul", threads, usize::MAX))
    });
    let peer = pythons.peers.as_deref().map(|python| contestant(python, PLYFILE, "plyfile", 1, PYTHON_ROUNDS));
    Group {
        key: "filter ply splats",
        title: format!("Filtering PLY in numpy: {}", input.title),
        input: input.clone(),
        baseline: PLYFILE,
        limit: LIMIT_COPY,
        contestants: copy.into_iter().chain(own).chain(peer).collect(),
    }
}
