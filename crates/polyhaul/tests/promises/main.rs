//! The promises of every format, tested with the samples of its row in [`rows`].
//!
//! There is a file for each promise, with a test for each format: `bytes::obj`. Rows are found by format; a format of
//! the registry without a row, or without samples for one of the promises, fails [`registry`]. Promises of a single
//! format, and the values in its files, are tested in `tests/all`.
//!
//! `POLYHAUL_PROMISES=whole` tries every prefix and every byte of every file up to 64 KB, which takes many minutes;
//! without it, larger files are sampled.

mod bytes;
mod content;
mod growth;
mod hosts;
mod isolated;
mod limits;
mod memory;
mod prefixes;
mod refused;
mod registry;
mod rows;
mod samples;
mod splits;
mod threads;
mod written;

use polyhaul_testkit::alloc::Counting;
use samples::Samples;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Defines a test for each format, which calls a function with the rows of the format and the name of the test.
macro_rules! test_each_format {
    ($check:path) => {
        crate::test_each_format! { $check:
            obj ply stl pbrt csv tsv txt xyz pts npy tga hdr png jpg exr bmp psd dds ktx2 off glb spz splat
            compressed_ply sog
        }
    };
    ($check:path: $($format:ident)+) => {
        $(
            #[test]
            fn $format() {
                crate::check_rows(stringify!($format), concat!(module_path!(), "::", stringify!($format)), $check);
            }
        )+

        /// The formats that have a test here.
        pub const TESTED: &[&str] = &[$(stringify!($format)),+];
    };
}
use test_each_format;

/// Calls `check` with all rows of a format, if it is built, and the name of the test.
fn check_rows(format: &str, test: &str, check: fn(&[&Samples], &str)) {
    let rows = rows::of(format);
    if rows.iter().all(|row| row.format.is_built()) {
        let (_, test) = test.split_once("::").unwrap();
        check(&rows, test);
    }
}

/// Whether to try all test data, however long it takes.
fn is_whole() -> bool {
    std::env::var("POLYHAUL_PROMISES").is_ok_and(|value| value == "whole")
}
