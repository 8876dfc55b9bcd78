//! Compares values, corners and names exactly with the naive reader, on random text with all common statements and
//! notations.

use crate::{options, outcome, read_text};
use polyhaul_testkit::corpus::samples;
use polyhaul_testkit::random::Random;
use polyhaul_testkit::{generate, naive, summary};

fn check(text: &[u8], threads: usize, chunk_bytes: Option<usize>, what: &str) {
    let lossy = || String::from_utf8_lossy(text).into_owned();
    let options = options(threads, chunk_bytes);
    let naive = naive::read(text).unwrap_or_else(|| panic!("{what}: not for the naive reader"));
    match read_text(text, &options) {
        Ok(loaded) => {
            let difference = naive::difference(&naive, &loaded.value);
            assert_eq!(difference, None, "{what}, chunks of {chunk_bytes:?}\n{}", lossy());
        }
        Err(error) => panic!("{what}, chunks of {chunk_bytes:?}: {error:?}\n{}", lossy()),
    }
}

#[test]
fn random_text_whole() {
    let mut random = Random::new(31);
    for number in 0..1500 {
        let statements = 1 + random.below(80);
        let text = generate::random(&mut random, statements);
        check(&text, 1, None, &format!("text {number}"));
    }
}

#[test]
fn random_text_in_chunks() {
    let mut random = Random::new(32);
    for number in 0..700 {
        let statements = 1 + random.below(80);
        let text = generate::random(&mut random, statements);
        let scale = 1 << random.below(11);
        let chunk_bytes = 1 + random.below(scale);
        let threads = 1 + random.below(3);
        check(&text, threads, Some(chunk_bytes), &format!("text {number}"));
    }
}

/// Covers the kernels, which parse runs of similar lines that may end anywhere.
#[test]
fn runs_of_lines() {
    let mut random = Random::new(35);
    for number in 0..150 {
        let count = 1 + random.below(30);
        let text = generate::runs(&mut random, count);
        let scale = 1 << random.below(16);
        let chunk_bytes = (number % 3 > 0).then(|| 1 + random.below(scale));
        let threads = 1 + random.below(3);
        check(&text, threads, chunk_bytes, &format!("text {number}"));
    }
}

/// The first of several negative indices before the start of the file is the error, for any chunk size and threads.
#[test]
fn the_first_index_before_the_start() {
    let start = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 1\n".to_owned() + &"f -3//-1 -2//-1 -1//-1\n".repeat(20);
    let cases = [
        ("f -3//-1 -2//-1 -4//-1\nf -9//-1 -1//-1 -1//-1\n", (25, 17)),
        ("f -3//-1 -5//-1 -1//-1\n", (25, 10)),
        ("f -3//-1 -2//-1 1//1 -5//-1\n", (25, 22)),
        ("f -3//-1 -2//-1 1//1\nf -1//-1 -1//-1 -7//-1\n", (26, 17)),
    ];
    for (text, (line, column)) in cases {
        for chunk_bytes in [None, Some(1), Some(40), Some(333)] {
            let error = read_text(format!("{start}{text}").as_bytes(), &options(2, chunk_bytes)).unwrap_err();
            let place = &error.diagnostic().place;
            assert_eq!((place.line, place.column), (Some(line), Some(column)), "{text}, chunks of {chunk_bytes:?}");
            assert!(error.to_string().contains("points before the first"), "{error}");
        }
    }
}

/// Generates enough rows of one kind to fill the windows of the fast paths, and to cross them.
#[test]
fn long_text() {
    let mut random = Random::new(33);
    for (number, chunk_bytes) in [None, Some(5000), Some(100_000)].into_iter().enumerate() {
        let text = generate::random(&mut random, 12_000);
        check(&text, 2, chunk_bytes, &format!("text {number}"));
    }
    let mut grid = Vec::new();
    generate::grid(600_000, &mut grid).unwrap();
    check(&grid, 2, None, "grid");
    let mut objects = Vec::new();
    generate::objects(3000, &mut objects).unwrap();
    check(&objects, 2, Some(1000), "objects");
}

/// Compares all test files that the naive reader understands.
#[test]
fn test_files() {
    let mut understood = 0;
    for file in samples("obj", "obj").into_iter().filter(|file| file.size < 3_000_000) {
        let text = file.bytes();
        if naive::read(&text).is_some() && !file.name.contains("/bad/") {
            check(&text, 1, None, &file.name);
            understood += 1;
        }
    }
    assert!(understood > 30, "{understood}");
}

/// Line ends do not affect the result, except for offsets.
#[test]
fn line_ends() {
    let mut random = Random::new(34);
    for _ in 0..100 {
        let text = generate::random(&mut random, 30);
        let lines = naive::logical_lines(&text);
        let plain: Vec<Vec<u8>> = lines.into_iter().filter(|line| !line.starts_with(b"#")).collect();
        let scenes = ["\n", "\r\n", "\r"].map(|newline| {
            let text = plain.join(newline.as_bytes());
            let result = read_text(&text, &options(1, None));
            result.map(|loaded| summary::scene(&loaded.value)).map_err(|e| e.to_string())
        });
        assert!(scenes[0].is_ok(), "{:?}", scenes[0]);
        assert_eq!(scenes[0], scenes[1]);
        assert_eq!(scenes[0], scenes[2]);
    }
}

/// Compares pairs of equivalent notations of single statements.
#[test]
fn notations_that_are_equal() {
    const SAME: [(&str, &str); 12] = [
        ("v 1 2 3\n", "\u{feff}v 1 2 3"),
        ("v 1 2 3\n", "  v\t1\\\n2 \\\r\n 3 # comment\n"),
        ("v 1 2 3\n", "v +1. 2e0 .3E1\n"),
        ("v 1 2 3\n", "v 1 2 3 \\"),
        ("v 0 0 0\nf 1 1 1\n", "v 0 0 0\nf -1 1 -1\n"),
        ("v 0 0 0\nf 1 1 1\n", "v 0 0 0\nf 001 +1 1 #\n"),
        ("v 0 0 0\nf 1 1 1\n", "v 0 0 0\nfo 1 1 1\n"),
        ("o a\nv 0 0 0\n", "o\\\na\nv 0 0 0\n"),
        ("o a b\nv 0 0 0\n", "o  a\\\nb \t\nv 0 0 0\n"),
        ("o a\nv 0 0 0\n", "o a \\\n\nv 0 0 0\n"),
        ("s 0\nv 0 0 0\np 1\n", "s off\nv 0 0 0\np 1\n"),
        ("usemtl a\nv 0 0 0\np 1\n", "usemtl\ta  \nv 0 0 0\np 1\n"),
    ];
    for (plain, other) in SAME {
        let expected = outcome(plain, &options(1, None));
        assert_eq!(outcome(other, &options(1, None)), expected, "{other:?}");
    }
}
