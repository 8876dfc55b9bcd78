//! Deviations in archives: reading any good file from an archive gives the same result.

use crate::support::memory;
use polyhaul::ReadOptions;
use polyhaul_testkit::corpus::samples;
use polyhaul_testkit::zip::{Member, Method, archive};

/// Bytes before and after an archive.
const AROUND: [[&[u8]; 2]; 4] = [
    [b"", b""],
    [b"#!/bin/sh\nexec unzip \"$0\"\n", b""],
    [b"", b"\r\n\0\0 more"],
    [b"MZ\x90\0 a program that unpacks itself", b"\x1a"],
];

/// Files often found next to a scene.
const BESIDE: [(&[u8], &[u8]); 5] = [
    (b"textures/wood.png", b"\x89PNG\r\n\x1a\n and so on"),
    (b"license.txt", b"Some rights reserved.\n"),
    (b"source/../../outside.obj", b"v 0 0 0\n"),
    (b"T\x81r.jpg", b"\xff\xd8\xff\xe0 of code page 437"),
    (b"__MACOSX/._scene.obj", b"\0\x05\x16\x07 of a file system"),
];

fn packed(extension: &str, bytes: &[u8], turn: usize) -> Vec<u8> {
    let scene = (format!("models/scene.{extension}").into_bytes(), bytes);
    let beside = BESIDE.iter().skip(turn % 3).map(|(name, data)| (name.to_vec(), *data));
    let mut members: Vec<(Vec<u8>, &[u8])> = beside.collect();
    let at = turn % (members.len() + 1);
    members.insert(at, scene);
    let method = [Method::Stored, Method::Deflate][turn % 2];
    let members: Vec<Member> = members.into_iter().map(|(name, data)| Member::new(name, data, method)).collect();
    let [before, after] = AROUND[turn % AROUND.len()];
    [before, &archive(&members, b""), after].concat()
}

#[test]
fn a_scene_among_other_files_is_that_scene() {
    let mut faults = Vec::new();
    for extension in ["obj", "ply", "stl", "off", "glb"] {
        for (turn, sample) in samples(&format!("{extension}/good"), extension).into_iter().enumerate() {
            let plain = sample.bytes();
            let options = ReadOptions::default();
            let usual = || memory(&plain, &format!("scene.{extension}"));
            if plain.len() > super::MAX_BYTES || polyhaul::diff(usual(), usual(), &options, 0.0).is_err() {
                continue;
            }
            let zip = packed(extension, &plain, turn);
            match polyhaul::diff(memory(zip, "x.zip"), usual(), &options, 0.0) {
                Err(error) => faults.push(format!("{}: {error}", sample.name)),
                Ok(compared) => {
                    // Images inside a file in memory cannot be located.
                    let has_place = |what: &str| extension != "glb" || what != "material definitions";
                    let differences = compared.differences.iter().filter(|difference| has_place(difference.what));
                    faults.extend(differences.map(|difference| format!("{}: {}", sample.name, difference.message)));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
