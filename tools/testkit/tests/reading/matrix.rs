//! The same scene, the same warnings and the same error for any number of threads, any size of
//! chunks, and any way in which the bytes come.

use crate::{lenient, options, outcome, read};
use polyhaul::{Input, ReadOptions};
use polyhaul_testkit::corpus::{Sample, samples};
use polyhaul_testkit::hostile::{Fault, Hostile, Sizes};
use polyhaul_testkit::random::Random;
use polyhaul_testkit::summary;

const THREADS: [usize; 5] = [1, 2, 3, 7, 64];
const CHUNKS: [usize; 6] = [1, 2, 3, 7, 64, 1000];

/// The ways in which bytes come.
const SOURCES: [&str; 5] = ["path", "memory", "stream", "stream byte by byte", "stream in bits"];

fn input(source: &str, file: &Sample, bytes: &[u8]) -> Input {
    let name = file.path.display().to_string();
    let hostile = |sizes| Box::new(Hostile::new(bytes, sizes).with(Fault::Interrupted));
    match source {
        "path" => Input::Path(file.path.clone()),
        "memory" => Input::Memory(bytes.to_vec(), name),
        "stream" => Input::Reader(Box::new(Hostile::new(bytes, Sizes::All)), name),
        "stream byte by byte" => Input::Reader(hostile(Sizes::One), name),
        _ => Input::Reader(hostile(Sizes::Random(Random::new(bytes.len() as u64))), name),
    }
}

/// Reads a file with `base` but for threads and chunks, in all combinations that the size allows.
fn check(file: &Sample, base: &ReadOptions) -> Vec<String> {
    let bytes = file.bytes();
    let mut base = base.clone();
    // Libraries are found beside files only; they have tests of their own.
    base.load_materials = false;
    let expected = summary::outcome(&read(input("memory", file, &bytes), &base));
    let mut wrong = Vec::new();
    for (threads, chunk_bytes, source) in combinations(bytes.len()) {
        base.run.threads = Some(threads);
        base.run.chunk_bytes = chunk_bytes;
        let actual = summary::outcome(&read(input(source, file, &bytes), &base));
        if actual != expected && wrong.len() < 3 {
            let place = expected.lines().zip(actual.lines()).find(|(a, b)| a != b);
            wrong.push(format!("{}, {threads} threads, chunks of {chunk_bytes:?}, {source}: {place:?}", file.name));
        }
    }
    wrong
}

/// All combinations for small files; for larger ones those that make no millions of chunks.
fn combinations(size: usize) -> Vec<(usize, Option<usize>, &'static str)> {
    let mut ways = Vec::new();
    for (t, threads) in THREADS.into_iter().enumerate() {
        for (c, chunk_bytes) in CHUNKS.into_iter().map(Some).chain([None]).enumerate() {
            for (s, source) in SOURCES.into_iter().enumerate() {
                let chunks = chunk_bytes.map_or(1, |bytes| size / bytes);
                // Of large files every source and every number of threads, but not all of them together.
                let chosen = size < 700 || (t + c + s).is_multiple_of(5);
                let crowded = threads == 64 && chunks > 300;
                if chosen && chunks <= 4000 && !crowded {
                    ways.push((threads, chunk_bytes, source));
                }
            }
        }
    }
    ways
}

/// All files of a folder whose sizes lie in a range.
fn check_all(folder: &str, sizes: std::ops::Range<u64>, base: &ReadOptions) {
    let files = samples(folder, "obj");
    let files = files.iter().filter(|file| sizes.contains(&file.size));
    let wrong: Vec<String> = files.flat_map(|file| check(file, base)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn good_files() {
    check_all("obj/good", 0..u64::MAX, &options(1, None));
}

#[test]
fn bad_files() {
    check_all("obj/bad", 0..u64::MAX, &options(1, None));
}

#[test]
fn bad_files_with_warnings_for_errors() {
    check_all("obj/bad", 0..u64::MAX, &lenient());
}

#[test]
fn small_files_of_blender() {
    check_all("obj/blender", 0..20_000, &options(1, None));
}

#[test]
fn large_files_of_blender() {
    check_all("obj/blender", 20_000..u64::MAX, &options(1, None));
}

#[test]
fn strict_reading() {
    let strict = options(1, None).with_strict(true);
    check_all("obj/bad", 0..1000, &strict);
    check_all("obj/good", 0..1000, &strict);
}

/// Texts in which the order of what is said depends on more than one part of the reader.
const MIXED: [&[u8]; 14] = [
    b"#MRGB zz\nv 1\n",
    b"curv 1\nv 1\n",
    b"o \xff\nfoo\n",
    b"usemtl \xff\nfoo\no \xfe\nbar\n",
    b"v 1 2 3\nv 4 5 6\nf 1 2 9\nv 1\n",
    b"f -1 -1 -1\nv 1\n",
    b"v nan 0 0\nf -4 1 1\n#MRGB 1\n",
    b"v 0 0 0\rv 0 0 0\rv 1\r",
    b"v 0 0 0\r\n\rfoo\r\n\n\rbar\r",
    b"v 1 2 3\\\r\nv\\\rv 1\n",
    b"\xef\xbb\xbffoo\nv 1 \\\n2\n",
    b"\xef\xbb\xbf\rfoo",
    b"g a\nv 0 0 0\ng b\nvt 0 0\nv 0 0 0\np 1\ng c\n\n\n\n\n\n\n\n\nv 0 0 0\n",
    b"#MRGB ffffffff\nv 0 0 0\n#MRGB ff112233ff112233\nv 1 1 1\n#MRGB ff445566\n",
];

#[test]
fn what_is_said_comes_in_the_order_of_the_text() {
    let strict = options(1, None).with_strict(true);
    let mut wrong = Vec::new();
    for text in MIXED {
        for mut way in [options(1, None), lenient(), strict.clone()] {
            let expected = outcome(text, &way);
            for chunk_bytes in 1..text.len() {
                way.run.chunk_bytes = Some(chunk_bytes);
                let actual = outcome(text, &way);
                if actual != expected {
                    let text = String::from_utf8_lossy(text);
                    wrong.push(format!("{text:?}, whole:\n{expected}in chunks of {chunk_bytes}:\n{actual}"));
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Limits and faults in one text: the first by position is the error.
#[test]
fn limits_are_the_same_for_any_chunk() {
    let texts: [&[u8]; 8] = [
        b"\xef\xbb\xbfv 0.0000000000000000000000000000000000 1 2\nv 1\n",
        b"\xef\xbb\xbfv 1 2 000000000000000000000003\nv 1\n",
        b"\xef\xbb\xbfv 1 2 0000000000000000000000003\nv 1\n",
        b"v 1\nv 0.0000000000000000000000000000000000 1 2\n",
        b"v 0.0000000000000000000000000000000000 1 2\nv 1\n",
        b"v 1 1 1\nv 1 1 1\nv 1 1 1\nv 1\n",
        b"v 1 1 1\nv 1\nv 1 1 1\nv 1 1 1\n",
        b"o a name that is too long\nv 1\n",
    ];
    let mut wrong = Vec::new();
    for text in texts {
        let mut way = options(1, None);
        way.limits.line_bytes = 30;
        way.limits.name_bytes = 10;
        way.limits.elements = 2;
        let expected = outcome(text, &way);
        for chunk_bytes in 1..text.len() {
            way.run.chunk_bytes = Some(chunk_bytes);
            let reader = Hostile::new(text, Sizes::All);
            let streamed = summary::outcome(&read(Input::Reader(Box::new(reader), "x.obj".into()), &way));
            let actual = outcome(text, &way);
            let actual = if actual == expected { streamed } else { actual };
            if actual != expected {
                let text = String::from_utf8_lossy(text);
                wrong.push(format!("{text:?}, whole:\n{expected}in chunks of {chunk_bytes}:\n{actual}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Texts with far more to say about them than is kept, by the name that says their format.
fn complained_about() -> Vec<(&'static str, String)> {
    let numbered = |line: &dyn Fn(usize) -> String, count: usize| (0..count).map(line).collect::<String>();
    let obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\n".to_owned();
    let wide = |line: usize| format!("f{} 1 2 {}\n", " 3".repeat(line % 300), 10 + line);
    let mixed = |line: usize| match line % 4 {
        0 => format!("f 1 2 {}\n", 10 + line),
        1 => format!("v {line}\n"),
        2 => format!("word{line} \u{e9}\n"),
        _ => format!("l 1 {0}\np {0} \\\n  {0}\n", 7 + line),
    };
    let ply = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n\
               element face 3000\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n";
    vec![
        ("forward.obj", numbered(&|line| format!("f {0} {0} {0}\n", 1 + line), 2000) + &"v 0 0 0\n".repeat(1000)),
        ("range.obj", obj.clone() + &numbered(&|line| format!("f 1 2 {}\n", 10 + line), 3000)),
        ("wide.obj", obj.clone() + &numbered(&wide, 1500)),
        ("mixed.obj", obj + &numbered(&mixed, 3000)),
        ("colors.obj", "v 0 0 0\n".to_owned() + &"#MRGB ff\nfoo\n".repeat(1500)),
        ("faces.ply", ply.to_owned() + &numbered(&|line| format!("3 0 0 {}\n", 1 + line), 3000)),
        ("text.stl", format!("solid a\n{}endsolid\n", numbered(&|line| format!("what {line}\n"), 3000))),
        ("table.csv", format!("x,y,z\n{}", numbered(&|line| format!("{line},1\n"), 3000))),
        ("scene.pbrt", format!("WorldBegin\n{}", numbered(&|line| format!("Thing{line} 1\n"), 3000))),
    ]
}

/// Every warning as a whole (message, place, line, mark), and which of them are kept.
#[test]
fn more_warnings_than_are_kept_are_the_same_for_any_chunk() {
    let mut wrong = Vec::new();
    for (name, text) in complained_about() {
        for base in [lenient(), options(1, None)] {
            let outcome = |threads, chunk_bytes| {
                let mut way = base.clone();
                way.run.threads = Some(threads);
                way.run.chunk_bytes = chunk_bytes;
                summary::outcome(&read(Input::Memory(text.clone().into(), name.into()), &way))
            };
            let expected = outcome(1, None);
            let is_kept = expected.contains("warning") || expected.contains("error");
            assert!(is_kept, "{name}: {expected}");
            for (threads, chunk_bytes) in [(1, 97), (3, 500), (2, 4_000), (1, 20_000), (7, 100_000)] {
                let actual = outcome(threads, Some(chunk_bytes));
                if actual != expected {
                    let place = expected.lines().zip(actual.lines()).find(|(a, b)| a != b);
                    wrong.push(format!("{name}, {threads} threads, chunks of {chunk_bytes}: {place:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The files of other formats, with errors as warnings.
#[test]
fn warnings_of_all_formats_are_the_same_for_any_chunk() {
    let mut wrong = Vec::new();
    let texts = [
        ("ply", "ply"),
        ("stl", "stl"),
        ("off", "off"),
        ("glb", "glb"),
        ("glb", "gltf"),
        ("spz", "spz"),
        ("splat", "splat"),
        ("sog", "sog"),
        ("packed_ply", "ply"),
        ("pbrt", "pbrt"),
        ("table", "csv"),
        ("table", "xyz"),
    ];
    for (folder, extension) in texts {
        for kind in ["good", "bad"] {
            for file in samples(&format!("{folder}/{kind}"), extension).iter().filter(|file| file.size < 20_000) {
                let outcome = |threads, chunk_bytes| {
                    let mut way = lenient();
                    way.run.threads = Some(threads);
                    way.run.chunk_bytes = chunk_bytes;
                    way.load_meshes = false;
                    summary::outcome(&read(input("memory", file, &file.bytes()), &way))
                };
                let expected = outcome(1, None);
                for (threads, chunk_bytes) in [(1, 7), (3, 64), (2, 1000)] {
                    if file.size / chunk_bytes > 1000 {
                        continue;
                    }
                    let actual = outcome(threads, Some(chunk_bytes as usize));
                    if actual != expected && wrong.len() < 9 {
                        let place = expected.lines().zip(actual.lines()).find(|(a, b)| a != b);
                        wrong.push(format!("{}, chunks of {chunk_bytes}: {place:?}", file.name));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
