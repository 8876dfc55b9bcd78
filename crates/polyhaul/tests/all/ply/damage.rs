//! Cut off anywhere, changed in any one byte: an error, or a sound scene with all rows that are declared.

use crate::ply::reference;
use crate::ply::support::{lenient, memory, options};
use polyhaul::{ErrorKind, ReadOptions, Reader};
use polyhaul_testkit::corpus::{Sample, samples};
use polyhaul_testkit::mutate;
use polyhaul_testkit::scene::broken_rule;

fn check(bytes: &[u8], ways: &[ReadOptions], what: impl Fn() -> String) {
    for way in ways {
        let fault = |kind| matches!(kind, ErrorKind::Internal | ErrorKind::Memory);
        match Reader::new(memory(bytes)).options(way).scene() {
            Ok(loaded) => assert_eq!(broken_rule(&loaded.value), None, "{}", what()),
            Err(error) => assert!(!fault(error.kind()), "{error} {}", what()),
        }
        match Reader::new(memory(bytes)).options(way).tables() {
            Ok(loaded) => {
                let actual = reference::of_tables(&loaded.value.tables);
                if let Some(expected) = reference::read(bytes) {
                    assert_eq!(format!("{actual:?}"), format!("{expected:?}"), "{}", what());
                }
            }
            Err(error) => assert!(!fault(error.kind()), "{error} {}", what()),
        }
    }
}

fn small(folder: &str, largest_bytes: u64) -> Vec<Sample> {
    let mut files = samples(folder, "ply");
    files.retain(|file| file.size <= largest_bytes);
    files
}

#[test]
fn one_byte_of_good_files() {
    for file in small("ply/good", 450) {
        mutate::each_byte(&file.bytes(), |at, byte, bytes| {
            check(bytes, &[options(1, None), lenient()], || format!("{} with {byte:#04x} at {at}", file.name));
        });
    }
}

#[test]
fn one_byte_of_bad_files() {
    for file in small("ply/bad", 250) {
        mutate::each_byte(&file.bytes(), |at, byte, bytes| {
            check(bytes, &[options(1, None), lenient()], || format!("{} with {byte:#04x} at {at}", file.name));
        });
    }
}
