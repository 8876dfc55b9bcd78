//! What holds for every file of `testdata/stl`: cut anywhere, changed in any byte, limited, and read in any way.

use crate::stl::*;
use polyhaul::model::Scene;
use polyhaul::options::{Limits, OnError};
use polyhaul::{Error, ErrorKind};
use polyhaul_testkit::corpus::{Sample, samples};
use polyhaul_testkit::hostile::{Fault, Hostile, Sizes};
use polyhaul_testkit::random::Random;
use polyhaul_testkit::scene::broken_rule;
use polyhaul_testkit::{growth, mutate};

fn all() -> Vec<Sample> {
    let files: Vec<_> = ["stl/good", "stl/bad", "stl/regression"].iter().flat_map(|f| samples(f, "stl")).collect();
    assert!(files.len() > 20);
    files
}

fn options(on_error: OnError, run: RunOptions) -> ReadOptions {
    ReadOptions::default().with_on_error(on_error).with_run(run)
}

fn hostile(bytes: &[u8], fault: Fault, seed: u64) -> Input {
    let sizes = if seed == 0 { Sizes::One } else { Sizes::Random(Random::new(seed)) };
    Input::Reader(Box::new(Hostile::new(bytes, sizes).with(fault)), "x.stl".into())
}

/// Sound, or an error that says that the file is wrong.
fn check(bytes: &[u8], what: impl Fn() -> String) {
    for on_error in [OnError::Raise, OnError::Warn] {
        match load_with(bytes.to_vec(), &options(on_error, threads(1, None))) {
            Ok(loaded) => assert_eq!(broken_rule(&loaded.value), None, "{}", what()),
            Err(error) => {
                let is_fault = matches!(error.kind(), ErrorKind::Internal | ErrorKind::Memory);
                assert!(!is_fault, "{error} {}", what());
            }
        }
    }
}

#[test]
fn a_prefix_is_an_error_or_says_what_is_missing() {
    for file in all() {
        let bytes = file.bytes();
        let is_text = bytes.trim_ascii_start().get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"solid"));
        let Ok(whole) = load(bytes.clone()) else { continue };
        let faces = |loaded: &Loaded<Scene>| loaded.value.meshes.iter().map(|mesh| mesh.faces.len()).sum::<usize>();
        for cut in 0..bytes.len() {
            let Ok(found) = load(bytes[..cut].to_vec()) else { continue };
            // Text does not say how many solids it has: a cut inside of one is noted, and one behind a solid is none.
            let codes = found.report.warnings.counts();
            let last = bytes[..cut].trim_ascii_end().rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
            let is_whole = last.trim_ascii_start().starts_with(b"endsolid");
            let is_told = is_text && (codes.contains_key("missing-endsolid") || is_whole);
            assert!(is_told || faces(&found) == faces(&whole), "{} cut at {cut}: {codes:?}", file.name);
        }
    }
}

#[test]
fn one_changed_byte_breaks_nothing() {
    for file in all().iter().filter(|file| file.size <= 700) {
        mutate::each_byte(&file.bytes(), |at, byte, bytes| {
            check(bytes, || format!("{} with {byte:#04x} at {at}", file.name));
        });
    }
}

/// Scene, warnings or error as text: NaN is not equal to itself.
fn outcome(result: polyhaul::Result<Loaded<Scene>>) -> String {
    match result {
        Ok(Loaded { value: scene, report }) => format!("{scene:?} {:?}", report.warnings),
        Err(error) => format!("{:?} {:?}", error.kind(), error.diagnostic()),
    }
}

#[test]
fn the_same_in_every_way() {
    for file in all() {
        let bytes = file.bytes();
        for on_error in [OnError::Raise, OnError::Warn] {
            let expected = outcome(load_with(bytes.clone(), &options(on_error, threads(1, None))));
            for (seed, count) in [1, 2, 3, 7, 64].into_iter().enumerate() {
                for chunk_bytes in [Some(1), Some(13), Some(200), Some(1000), None] {
                    let way = options(on_error, threads(count, chunk_bytes));
                    let what = format!("{}, {count} threads, chunks of {chunk_bytes:?}", file.name);
                    assert_eq!(outcome(load_with(bytes.clone(), &way)), expected, "{what}");
                    // Nobody knows the size of a stream: only text may begin as text does.
                    if !file.name.contains("solid_binary") {
                        let streamed = polyhaul::Reader::new(hostile(&bytes, Fault::Interrupted, seed as u64))
                            .options(&way)
                            .scene();
                        assert_eq!(outcome(streamed), expected, "a stream, {what}");
                    }
                }
            }
        }
    }
}

#[test]
fn readers_that_fail_say_so() {
    for file in samples("stl/good", "stl").iter().filter(|file| file.size > 500) {
        let bytes = file.bytes();
        for at in [0, 3, 100, bytes.len() / 2] {
            for fault in [Fault::FailsAt(at), Fault::PanicsAt(at), Fault::ClaimsTooMuchAt(at)] {
                let way = options(OnError::Raise, threads(2, Some(64)));
                let error =
                    polyhaul::Reader::new(hostile(&bytes, fault, 9)).options(&way).scene().map(drop).unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::Io | ErrorKind::Host), "{} {fault:?}: {error:?}", file.name);
            }
        }
    }
}

#[test]
fn limits_hold_to_the_one() {
    let text = b"solid abc\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1 0\nendloop\n\
                 endfacet\nendsolid abc\n";
    let read = |bytes: &[u8], limits| load_with(bytes.to_vec(), &ReadOptions::default().with_limits(limits));
    let check = |bytes: &[u8], name: &str, most: u64, set: fn(&mut Limits, u64)| {
        let with = |limit| {
            let mut limits = Limits::default();
            set(&mut limits, limit);
            read(bytes, limits).map(drop)
        };
        assert!(with(most).is_ok() && with(most + 1).is_ok(), "{name}");
        let error: Error = with(most - 1).unwrap_err();
        assert!(error.kind() == ErrorKind::Limit && error.to_string().contains(name), "{error}");
    };
    check(text, "elements", 3, |limits, limit| limits.elements = limit);
    check(text, "name_bytes", 3, |limits, limit| limits.name_bytes = limit);
    check(text, "line_bytes", 18, |limits, limit| (limits.line_bytes, limits.name_bytes) = (limit, 9));
    check(&file("good/cube_binary.stl"), "elements", 36, |limits, limit| limits.elements = limit);
}

/// What stands first in the file is the error, wherever chunks end.
#[test]
fn a_limit_does_not_hide_what_comes_before() {
    let facet = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1 0\nendloop\nendfacet\n";
    let limits = Limits::default().with_elements(6);
    for (whole, kind) in [(1, ErrorKind::Malformed), (2, ErrorKind::Malformed), (3, ErrorKind::Limit)] {
        let text = format!("solid\n{}facet normal 0 0 x\n{facet}{facet}endsolid\n", facet.repeat(whole));
        for chunk_bytes in [None, Some(1), Some(50), Some(120)] {
            let way = options(OnError::Raise, threads(2, chunk_bytes)).with_limits(limits);
            let error = load_with(text.clone().into_bytes(), &way).unwrap_err();
            assert_eq!(error.kind(), kind, "{whole} {chunk_bytes:?}: {error}");
        }
    }
}

#[test]
fn work_is_linear() {
    let facet = "facet normal 0 0 1 outer loop vertex 0 0 0 vertex 1 0 0 vertex 1 1 0 endloop endfacet ";
    let shapes = ["solid a\n", "\n", "bogus ", "vertex 1 2 3\n", "endsolid\n", facet, "solid b\nfacet normal 0 0 1\n"];
    for shape in shapes {
        let texts = [4_000, 4_000 * growth::RATIO].map(|count| format!("solid\n{}", shape.repeat(count)).into_bytes());
        let way = options(OnError::Warn, threads(1, None));
        let complaint = growth::too_fast(&texts, |text| drop(load_with(text.clone(), &way)));
        assert_eq!(complaint, None, "{shape:?}");
    }
}

/// The triangles as somebody reads them who knows nothing but the two layouts.
fn by_hand(bytes: &[u8]) -> Option<Vec<f32>> {
    let count = u32::from_le_bytes(bytes.get(80..84)?.try_into().ok()?) as usize;
    if bytes.len() == 84 + 50 * count {
        let rows = bytes[84..].chunks(50).flat_map(|row| row[..48].chunks(4));
        return Some(rows.map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect());
    }
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    let mut words = text.split_ascii_whitespace();
    let mut values = Vec::new();
    while let Some(word) = words.next() {
        if matches!(word, "normal" | "vertex") {
            for _ in 0..3 {
                values.push(words.next()?.parse().ok()?);
            }
        }
    }
    Some(values)
}

#[test]
fn every_number_is_that_of_the_slow_reader() {
    let mut compared = 0;
    for file in samples("stl/good", "stl") {
        let (bytes, loaded) = (file.bytes(), load(file.bytes()).unwrap());
        let facets = loaded.value.meshes.iter().flat_map(|mesh| {
            let corners = mesh.faces.corner_positions.chunks(3);
            mesh.normals.iter().zip(corners).map(|(normal, corners)| {
                let corner = |place: usize| mesh.positions[corners[place] as usize];
                [*normal, corner(0), corner(1), corner(2)]
            })
        });
        let found: Vec<f32> = facets.flat_map(|facet| facet.concat()).collect();
        let Some(expected) = by_hand(&bytes) else { continue };
        let bits = |values: &[f32]| values.iter().map(|v| if v.is_nan() { 1 } else { v.to_bits() }).collect::<Vec<_>>();
        if file.name != "stl/good/trailing.stl" {
            assert_eq!(bits(&found), bits(&expected), "{}", file.name);
            compared += 1;
        }
    }
    assert!(compared > 9);
}
