//! The same scene, warnings and error for any number of threads and any size of pieces, from a file or a stream.

use crate::pbrt::support::{data, lenient, options, render, same, scenes, shown, text};
use polyhaul::{Input, ReadOptions, Reader};

const THREADS: [usize; 4] = [1, 2, 7, 64];
const CHUNKS: [usize; 5] = [1, 7, 64, 300, 5000];

fn check(name: &str, input: &dyn Fn() -> Input, base: &ReadOptions) {
    let wanted = Reader::new(input()).options(base).scene();
    for (t, threads) in THREADS.into_iter().enumerate() {
        for (c, chunk_bytes) in CHUNKS.into_iter().enumerate() {
            // Threads take long to start; one size of pieces for many of them will do.
            if (t + c) % 2 == 1 || threads == 64 && chunk_bytes != 64 {
                continue;
            }
            let mut way = base.clone();
            (way.run.threads, way.run.chunk_bytes) = (Some(threads), Some(chunk_bytes));
            let found = Reader::new(input()).options(&way).scene();
            let what = || format!("{name}, {threads} threads, {chunk_bytes}:\n{}\n{}", shown(&found), shown(&wanted));
            assert!(same(&found, &wanted), "{}", what());
        }
    }
}

#[test]
fn files() {
    for scene in scenes("good").into_iter().chain(scenes("bad/generated")) {
        if scene.contains("nesting_30k") {
            continue;
        }
        let input = || Input::Path(data(&scene));
        check(&scene, &input, &options(1, None));
        check(&scene, &input, &lenient(options(1, None)));
    }
}

/// A scene in which much is right and some is not.
const MIXED: &str = "Film \"rgb\"\nLookAt 0 0 1\n 2 3 4 0\n1 0\nWorldBegin\nAttributeBegin\n Transform [1 0 0 0 0 1 0 0\n\
    0 0 1 0 2 3 4 1]\nShape \"sphere\" \"float radius\"\n[ 1\n # two\n]\nShape \"curve\" \"point3 P\" [ 1 2 3\n4 5 x ]\n\
    Shape \"disk\"\nActiveTransform\nEndTime\nTranslate 1 2 3\nShape \"sphere\"\nAttributeEnd\nFoo 1 2\n\"string\"\n\
    ObjectBegin \"a\"\nShape \"sphere\n\"float radius\" 2\nShape \"disk\" \"float radius\" [ 1 2\nObjectEnd\n\
    ObjectInstance \"a\"\n  ConcatTransform [ 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1 ]\nObjectInstance \"a\"\nObjectInstance\n\
    \"b\"\nShape \"x\" \"integer i\" [ 1 2 3\n 4 5 99999999999 ]\nAttribute \"shape\" \"float alpha\" .5\n\
    Shape \"sphere\" \"bool b\" [ true\nfalse ]\n";

#[test]
fn pieces_of_every_size() {
    for base in [options(1, None), lenient(options(1, None))] {
        let wanted = text(MIXED, &base);
        assert_eq!(wanted.is_ok(), !matches!(base.on_error, polyhaul::options::OnError::Raise));
        for chunk_bytes in 1..MIXED.len() {
            let way = base.clone().with_run(options(1 + chunk_bytes % 2, Some(chunk_bytes)).run);
            let found = text(MIXED, &way);
            assert!(same(&found, &wanted), "{chunk_bytes}:\n{}\n{}", shown(&found), shown(&wanted));
            let bytes = MIXED.as_bytes().to_vec();
            let stream = Reader::new(Input::Reader(Box::new(std::io::Cursor::new(bytes)), "x.pbrt".into()))
                .options(&way)
                .scene();
            assert!(same(&stream, &wanted), "a stream, {chunk_bytes}: {}", shown(&stream));
        }
    }
}

#[test]
fn a_comment_in_a_matrix_takes_nothing_behind_it() {
    for (behind, place) in [("]#c\nFoo\n", "x.pbrt:3:1"), ("]\nFoo\n", "x.pbrt:3:1"), ("]Foo\n", "x.pbrt:2:18")] {
        let scene = format!("Transform [1 0 0 0 0 1 0 0 # rows\n0 0 1 0 0 0 0 1 {behind}");
        let error = text(&scene, &options(1, None)).unwrap_err();
        assert_eq!(error.place().to_string(), place, "{error}");
    }
}

/// Many instances and curves, so that every array crosses borders.
#[test]
fn instances_and_curves_are_the_same_in_any_pieces() {
    let mut scene = String::from("WorldBegin\nObjectBegin \"o\"\nShape \"sphere\"\nObjectEnd\n");
    for n in 0..400 {
        let (a, b) = (n as f32 * 0.37 - 40.0, n % 7);
        scene += &format!(
            "AttributeBegin\n{} [ 1 0 0 0 0 {a} 0 0 0 0 1 0 {b} {a} 3.25 {} ]\nObjectInstance \"o\"\nAttributeEnd\n\
             Shape \"curve\" \"point3 P\" [ {a} 0 1 {b} 2 3 ] \"float width\" {a}\n",
            if n % 5 == 0 { "Transform" } else { "ConcatTransform" },
            if n % 50 == 49 { 2 } else { 1 },
        );
    }
    let wanted = text(&scene, &options(1, None));
    let loaded = wanted.as_ref().unwrap();
    assert_eq!((render(loaded).instances.len(), render(loaded).shape_count()), (400, 401));
    assert_eq!(render(loaded).instances().count(), 400);
    for chunk_bytes in [1, 100, 500, 1000, 3000, 20_000] {
        for threads in THREADS {
            let found = text(&scene, &options(threads, Some(chunk_bytes)));
            assert!(same(&found, &wanted), "{chunk_bytes} {threads}");
        }
    }
    let other = text(&scene.replace("3.25", "3.5"), &options(1, None)).unwrap();
    assert!(other.value != loaded.value);
}

/// A directive with lists of thousands of numbers, and something special in the middle of one.
fn long_lists(special: &str) -> String {
    let mut scene = String::from("WorldBegin\nShape \"trianglemesh\" \"integer indices\" [");
    for n in 0..1200 {
        scene += &format!("{}{}", if n % 50 == 49 { "\n  " } else { " " }, (n * 7919) % 400);
    }
    scene += " ]\n\"point3 P\" [ ";
    for n in 0..1200 {
        let value = f64::from(n * n % 977) * 0.013_7 - 5.0;
        match (n, n % 5) {
            (700, _) => scene += special,
            (_, 0) => scene += &format!("{value:.17e} "),
            (_, 1) => scene += &format!("{n}\t"),
            (_, 2) => scene += &format!("{value:.4}\r\n"),
            _ => scene += &format!("{value:.6} "),
        }
    }
    scene += "] \"float width\" [ 1 ]\nShape \"curve\" \"point3 P\" [";
    (0..1500).for_each(|n| scene += &format!(" {n}"));
    scene += " ]\nShape \"sphere\"\nBroken\n";
    scene
}

#[test]
fn lists_that_are_longer_than_pieces() {
    let comment = format!("# {}\n 1 ", "1 2 3 ".repeat(300));
    let text_of_numbers = format!("] \"string s\" [ \"{}\" ] \"float f\" [ 1 ", "4 5 6 ".repeat(300));
    let specials = [
        "1.5 ",
        "0x10 ",
        "1e999 ",
        "-0 ",
        "-nan ",
        "99999999999 ",
        "x ",
        "] ",
        "[ ",
        "\"s\" ",
        "1.2.3 ",
        "] Shape \"disk\" ",
    ];
    for special in specials.into_iter().chain([&comment[..], &text_of_numbers]) {
        let scene = long_lists(special);
        for base in [options(1, None), lenient(options(1, None))] {
            let wanted = text(&scene, &base);
            for chunk_bytes in [500, 701, 1000, 1999, 4096, 7000] {
                for threads in [1, 2, 3] {
                    let way = base.clone().with_run(options(threads, Some(chunk_bytes)).run);
                    let found = text(&scene, &way);
                    let what = || format!("{special:.20}, {chunk_bytes}:\n{}\n{}", shown(&found), shown(&wanted));
                    assert!(same(&found, &wanted), "{}", what());
                }
            }
        }
    }
}
