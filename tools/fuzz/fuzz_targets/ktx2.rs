//! Fuzzes the KTX 2 reader with arbitrary bytes. The properties to check are in the test kit, where they also run as a
//! normal test.

#![no_main]

use polyhaul_testkit::fuzz::{self, Effort};

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::ktx2(data, Effort::Spread));
