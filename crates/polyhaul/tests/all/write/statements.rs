//! Consecutive, repeated or unused state lines are all preserved.

use super::support::*;
use polyhaul::WriteOptions;
use polyhaul::options::{ObjWriteOptions, Smoothing};

const HEAD: &str = "v 0.000000 0.000000 0.000000\nv 1.000000 0.000000 0.000000\nv 0.000000 1.000000 0.000000\n";

#[track_caller]
fn comes_back(statements: &str) {
    let text = format!("{HEAD}{statements}");
    let written = bytes_of(&text, &plain());
    assert!(written == text, "{}", difference(&written, &text));
    let objects = format!("o one\n{HEAD}{statements}");
    let written = bytes_of(&objects, &plain());
    assert!(written == objects, "{}", difference(&written, &objects));
}

fn bytes_of(text: &str, options: &polyhaul::WriteOptions) -> String {
    let scene = read(text);
    let written = super::support::text(&scene, options);
    // In chunks of any size.
    for chunk_bytes in [1, 20] {
        let mut small = options.clone();
        small.run.chunk_bytes = Some(chunk_bytes);
        assert_eq!(super::support::text(&scene, &small), written, "chunks of {chunk_bytes}");
    }
    written
}

#[test]
fn statements_in_a_row_come_back() {
    comes_back("g a\ng b\nf 1 2 3\n");
    comes_back("s 1\ns 0\ns 0\ng a\ng\ng a\nusemtl x\nusemtl y\nusemtl x\nf 1 2 3\nf 1 2 3\n");
    comes_back("f 1 2 3\ng a\ng b\nf 3 2 1\ng b\nf 1 2 3\n");
    comes_back("g a\ng b\nl 1 2\n");
    comes_back("g a\ng b\np 1\np 2\n");
    comes_back("s 1\nf 1 2 3\ng a\ng b\nl 1 2\ng b\ng c\np 3\n");
}

#[test]
fn statements_that_repeat_what_holds_come_back() {
    comes_back("g a\nf 1 2 3\ng a\nf 1 2 3\ns 0\nf 1 2 3\ns 0\ns 0\nf 1 2 3\nusemtl x\nf 1 2 3\nusemtl x\nf 1 2 3\n");
}

#[test]
fn statements_at_the_end_come_back() {
    comes_back("g a\n");
    comes_back("s 1\ng a\ng b\nusemtl x\n");
    comes_back("g a\nf 1 2 3\ng a\ng b\n");
    comes_back("f 1 2 3\nl 1 2\np 1\ns 4\ng a\nusemtl x\nusemtl y\n");
}

#[test]
fn objects_without_elements_come_back() {
    let text = format!("o a\no b\n{HEAD}o a\no a\nf 1 2 3\no\u{20}\no last\n");
    assert_eq!(bytes_of(&text, &plain()), text);
}

#[test]
fn groups_before_a_group_of_positions_come_back() {
    let text = format!("g a\ng b\n{HEAD}f 1 2 3\ng c\ng d\n{HEAD}g e\ng f\nf 4 5 6\n");
    assert_eq!(bytes_of(&text, &plain()), text);
    let text = format!("o x\n{HEAD}g a\ng b\nf 1 2 3\no y\ng c\n{HEAD}g d\nf 4 5 6\ng e\n");
    // A group in a fresh object does not start a section: it is repeated before the first element.
    let moved = text.replace("o y\ng c\n", "o y\n").replace("g d\nf 4", "g c\ng d\nf 4");
    assert_eq!(bytes_of(&text, &plain()), moved);
    assert_eq!(bytes_of(&moved, &plain()), moved);
}

#[test]
fn statements_are_left_to_the_options() {
    let text = format!("{HEAD}s 1\ns 2\ng a\ng b\nusemtl x\nusemtl y\nf 1 2 3\ng c\ns 3\nusemtl z\n");
    let without = |options: WriteOptions| super::support::text(&read(text.as_str()), &with(options));
    let groups = without(WriteOptions::default().with_obj(ObjWriteOptions::default().with_groups(false)));
    assert!(lines(&groups, "g").is_empty() && lines(&groups, "s").len() == 3);
    let smoothing =
        without(WriteOptions::default().with_obj(ObjWriteOptions::default().with_smoothing(Smoothing::None)));
    assert!(lines(&smoothing, "s").is_empty() && lines(&smoothing, "g").len() == 3);
    let materials = without(WriteOptions::default().with_obj(ObjWriteOptions::default().with_materials(false)));
    assert!(lines(&materials, "usemtl").is_empty() && lines(&materials, "g").len() == 3);
}

/// A section written separately includes no statements of others, and takes linear time.
#[test]
fn many_statements_without_elements_are_no_squares() {
    let text = format!("{}{HEAD}f 1 2 3\n", "g a\no b\n".repeat(20_000));
    let written = super::support::text(&read(text.as_str()), &plain());
    assert_eq!(lines(&written, "o").len(), 20_000);
    assert_eq!(lines(&written, "g").len(), 20_000);
    let text = format!("g a\n{HEAD}").repeat(20_000);
    assert_eq!(super::support::text(&read(text.as_str()), &plain()), text);
}
