//! Cut off anywhere, changed in any one byte: an error, or a sound scene with all rows that are declared.

use crate::ply::reference;
use crate::ply::support::{lenient, memory, options, stream};
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
                let found = reference::of_tables(&loaded.value.tables);
                if let Some(expected) = reference::read(bytes) {
                    assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{}", what());
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
fn prefixes() {
    for file in small("ply/good", 65_536).into_iter().chain(small("ply/bad", 4000)) {
        let bytes = file.bytes();
        for cut in mutate::cuts(bytes.len(), 1500, 60) {
            check(&bytes[..cut], &[options(1, None)], || format!("{} cut at {cut}", file.name));
        }
    }
}

#[test]
fn a_prefix_is_an_error_unless_it_has_all_rows() {
    for file in small("ply/good", 3000) {
        let bytes = file.bytes();
        let whole = Reader::new(memory(&bytes)).options(&options(1, None)).tables().unwrap();
        let rows: usize = whole.value.tables.iter().map(|table| table.row_count).sum();
        for cut in 0..bytes.len() {
            let Ok(found) = Reader::new(memory(&bytes[..cut])).options(&options(1, None)).tables() else { continue };
            // All rows are there; what is cut off is a part of the last number, or white space.
            assert_eq!(
                found.value.tables.iter().map(|table| table.row_count).sum::<usize>(),
                rows,
                "{} {cut}",
                file.name
            );
        }
    }
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

/// A reader that fails says so, unless something before that place is wrong.
#[test]
fn readers_that_fail() {
    use polyhaul_testkit::hostile::{Fault, Hostile, Sizes};
    for file in small("ply/good", 1500) {
        let bytes = file.bytes();
        for at in [0, 3, bytes.len() / 2, bytes.len() - 1] {
            for fault in [Fault::FailsAt(at), Fault::PanicsAt(at), Fault::ClaimsTooMuchAt(at)] {
                let reader = Hostile::new(bytes.as_slice(), Sizes::All).with(fault);
                let input = polyhaul::Input::Reader(Box::new(reader), "x.ply".into());
                let error = Reader::new(input).options(&options(2, 64)).tables().map(|_| ()).unwrap_err();
                let known = matches!(error.kind(), ErrorKind::Io | ErrorKind::Host);
                assert!(known, "{} {fault:?}: {error:?}", file.name);
            }
        }
    }
    assert!(Reader::new(stream(b"", 1)).options(&options(1, None)).tables().is_err());
}
