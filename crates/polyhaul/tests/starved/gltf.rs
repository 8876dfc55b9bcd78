//! glTF: a failed allocation is an error, never an abort.

use crate::there_and_back;
use polyhaul_testkit::starve::{Plan, every_allocation};
use std::fmt::Write;
use std::path::Path;

/// Objects with materials, uvs, lines and points; their lists are longer than the allocations that always succeed.
fn scene(folder: &Path) {
    let mut text = String::from("mtllib in.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvn 0 0 1\n");
    let mut library = String::new();
    for number in 0..60 {
        let _ = write!(text, "o object {number}\nusemtl m{number}\nv {number} 0 0 1 0 1\nf 1/1/1 2/2/1 -1/1/1\n");
        let _ = write!(library, "newmtl m{number}\nKd 0.{number} 0 0\nPr 0.5\n");
    }
    let _ = write!(text, "l 1 2 3\np 1 2\no last\nf 1 2 3\n");
    std::fs::write(folder.join("in.obj"), text).unwrap();
    std::fs::write(folder.join("in.mtl"), library).unwrap();
}

/// All allocations up to this number are tested, and some of those after it.
const ALL_BELOW: u64 = 100;

/// Converts a scene to a file and back.
fn check(test: &str, name: &'static str) {
    let next = |number| number + if number < ALL_BELOW { 1 } else { 5 + number / 20 };
    let test = format!("gltf::{test}");
    // A node of the map of additional material values takes 1,376 bytes.
    let plan = Plan { next, min_bytes: 2048, ..Plan::of(&test) };
    every_allocation(plan, |folder| {
        scene(folder);
        let job = there_and_back(folder.join("in.obj"), folder.join(name), folder.join("back.obj"));
        (job, |_| {})
    });
}

#[test]
fn one_file() {
    check("one_file", "a.glb");
}

#[test]
fn document_and_buffer() {
    check("document_and_buffer", "a.gltf");
}
