//! Damages every byte of library logs.

use polyhaul_testkit::fuzz::LogLibrary;
use std::fs;

/// Creates a library with three logs; returns the path of the second one, which is to be damaged.
fn library() -> (LogLibrary, std::path::PathBuf) {
    let mut library = LogLibrary::new();
    let paths = [1, 3, 2].map(|rows| library.run(rows));
    library.check();
    let [_, path, _] = paths;
    (library, path)
}

/// Checks the readers with each of these contents of the file.
fn check_each(contents: impl Fn(&[u8], usize) -> Vec<u8>) {
    let (library, path) = library();
    let sound = fs::read(&path).unwrap();
    for at in 0..sound.len() {
        library.damage_file(&path, &contents(&sound, at));
        library.check();
    }
}

#[test]
fn each_byte_is_damaged() {
    for byte in [0, b'\n', b' ', b'"', 0xff] {
        check_each(|sound, at| [&sound[..at], &[byte], &sound[at + 1..]].concat());
    }
    check_each(|sound, at| [&sound[..at], &[sound[at] ^ 1], &sound[at + 1..]].concat());
}

#[test]
fn each_byte_is_lost_or_repeated() {
    check_each(|sound, at| [&sound[..at], &sound[at + 1..]].concat());
    check_each(|sound, at| [&sound[..=at], &sound[at..]].concat());
}

#[test]
fn logs_end_anywhere_also_with_zeros() {
    check_each(|sound, at| sound[..at].to_vec());
    check_each(|sound, at| [&sound[..at], &vec![0; sound.len() - at]].concat());
    check_each(|sound, at| [&sound[at..], &sound[..at]].concat());
}
