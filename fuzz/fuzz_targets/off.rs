//! Fuzzes the OFF reader with any bytes. What has to hold is written in the test kit, where it also runs as a normal
//! test.

#![no_main]

use polyhaul_testkit::fuzz::{self, Effort};

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::off(data, Effort::Spread));
