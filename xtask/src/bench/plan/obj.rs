//! Reading and writing OBJ, beside programs in Rust and C++.

use super::{
    Contestant, Group, Input, LIMIT_LINES, LIMIT_MEMORY, LIMIT_WRITE, ONE_THREAD, TOBJ, TWO_THREADS, command,
    generated, large, output, reader, ready, writer,
};
use crate::bench::build::Tools;
use std::path::Path;

pub(super) fn groups(tools: &Tools, data: &Path, megabytes: u64) -> Result<Vec<Group>, String> {
    let single = large(tools, data, megabytes)?;
    let objects = generated(tools, data, ("objects", "many objects"), "objects", megabytes)?;
    let small = generated(tools, data, ("small", "one small mesh"), "plain", megabytes.div_ceil(10))?;
    Ok(vec![
        reading(tools, "read single", &single, false),
        reading(tools, "read objects", &objects, false),
        reading(tools, "read small", &small, true),
        writing(tools, "write single", &single, data),
        writing(tools, "write objects", &objects, data),
    ])
}

fn reading(tools: &Tools, key: &'static str, input: &Input, slow_peers: bool) -> Group {
    let read = |name, kind, threads| reader(tools, name, kind, &input.path, threads);
    let mut contestants = vec![
        read(LIMIT_LINES, "limit-lines", 1),
        read(LIMIT_MEMORY, "limit-memory", 1),
        read(ONE_THREAD, "polyhaul", 1),
        read(TWO_THREADS, "polyhaul", 2),
        read("ufbx", "ufbx", 1),
        read("obj", "obj", 1),
        read("obj-rs", "obj-rs", 1),
        read(TOBJ, "tobj", 1),
    ];
    for (index, peer) in ["rapidobj", "fast_obj"].into_iter().enumerate() {
        let contestants_of_peer = ready(tools, peer, "polyhaul", &input.path, &input.path);
        // polyhaul stands beside the first.
        contestants.extend(contestants_of_peer.into_iter().take(if index == 0 { 3 } else { 1 }));
    }
    let mut add = |name, program: &Path| {
        let command = command(tools, program, [input.path.clone().into()]);
        contestants.push(Contestant::new(name, command));
    };
    if let Some(program) = &tools.tinyobj {
        add("tinyobjloader", program);
    }
    if let Some(program) = tools.assimp.as_ref().filter(|_| slow_peers) {
        add("assimp", program);
    }
    Group {
        key,
        title: format!("Reading {}", input.title),
        input: input.clone(),
        baseline: TOBJ,
        limit: LIMIT_LINES,
        contestants,
    }
}

fn writing(tools: &Tools, key: &'static str, input: &Input, data: &Path) -> Group {
    let output = output(data, &input.path.file_name().unwrap_or_default().to_string_lossy());
    let write = |name, kind, threads| writer(tools, name, kind, &input.path, output.clone(), threads);
    Group {
        key,
        title: format!("Writing {}", input.title),
        input: input.clone(),
        baseline: "obj",
        limit: LIMIT_WRITE,
        contestants: vec![
            write(LIMIT_WRITE, "limit", 1),
            write(ONE_THREAD, "polyhaul", 1),
            write(TWO_THREADS, "polyhaul", 2),
            write("obj", "obj", 1),
        ],
    }
}
