//! Cut off anywhere, changed in any one byte: an error, or a sound scene with all that the text
//! declares.

use crate::{lenient, options, read_text};
use polyhaul::options::OnError;
use polyhaul::{ErrorKind, Input, Loaded, ReadOptions};
use polyhaul_testkit::corpus::{Folder, Sample, samples};
use polyhaul_testkit::scene::broken_rule;
use polyhaul_testkit::{fuzz, mutate};

/// Up to this size all prefixes are tried, above it some.
const ALL_PREFIXES_BYTES: usize = 4096;

/// What must hold for any text; `what` says where it came from.
fn check(text: &[u8], ways: &[ReadOptions], what: impl Fn() -> String) {
    for way in ways {
        match read_text(text, way) {
            Ok(Loaded { value: scene, .. }) => {
                assert_eq!(broken_rule(&scene), None, "{}", what());
                if way.on_error == OnError::Raise {
                    fuzz::complete(text, &scene);
                }
            }
            Err(error) => {
                // No file here needs much memory: where it runs out, something does not end.
                let fault = matches!(error.kind(), ErrorKind::Internal | ErrorKind::Memory);
                assert!(!fault, "{error} {}", what());
            }
        }
    }
}

fn prefixes(files: Vec<Sample>) {
    let way = [options(1, None)];
    for file in files.into_iter().filter(|file| file.size <= 65_536) {
        let text = file.bytes();
        for cut in mutate::cuts(text.len(), ALL_PREFIXES_BYTES, 100) {
            check(&text[..cut], &way, || format!("{} cut at {cut}", file.name));
        }
    }
}

#[test]
fn prefixes_of_good_files() {
    prefixes(samples("obj/good", "obj"));
}

#[test]
fn prefixes_of_bad_files() {
    prefixes(samples("obj/bad", "obj"));
}

#[test]
fn prefixes_of_files_of_blender() {
    prefixes(samples("obj/blender", "obj"));
}

fn one_byte(files: Vec<Sample>, largest_bytes: u64) {
    let ways = [options(1, None), lenient()];
    for file in files.into_iter().filter(|file| file.size <= largest_bytes) {
        mutate::each_byte(&file.bytes(), |at, byte, text| {
            check(text, &ways, || format!("{} with {byte:#04x} at {at}", file.name));
        });
    }
}

#[test]
fn one_byte_of_good_files() {
    one_byte(samples("obj/good", "obj"), 1000);
}

#[test]
fn one_byte_of_bad_files() {
    one_byte(samples("obj/bad", "obj"), 1000);
}

#[test]
fn one_byte_of_edge_cases() {
    one_byte(samples("obj/blender", "obj"), 2500);
}

/// Libraries: nothing in them is fatal.
#[test]
fn one_byte_of_libraries() {
    let folder = Folder::new("damage").unwrap();
    let scene = folder.file("x.obj", "mtllib x.mtl\n").unwrap();
    let mut files = samples("obj/good/own", "mtl");
    files.extend(samples("obj/bad/generated", "mtl"));
    files.retain(|file| file.size < 300);
    for file in files {
        mutate::each_byte(&file.bytes(), |at, byte, text| {
            folder.file("x.mtl", text).unwrap();
            let result = crate::read(Input::Path(scene.clone()), &options(1, None));
            assert!(result.is_ok(), "{} with {byte:#04x} at {at}: {result:?}", file.name);
        });
    }
}
