//! All fuzz targets in one program, so that the library is instrumented and linked once. Run with `cargo xtask fuzz`.
//!
//! `POLYHAUL_FUZZ_TARGET` selects the target. The bodies of the targets are in the test kit, where they also run as
//! normal tests.

#![no_main]

use polyhaul_testkit::fuzz::{self, Body, Effort};
use std::sync::LazyLock;

static BODY: LazyLock<Body> = LazyLock::new(|| {
    let name = std::env::var("POLYHAUL_FUZZ_TARGET").expect("POLYHAUL_FUZZ_TARGET names a target");
    let target = fuzz::TARGETS.iter().find(|(target, _)| *target == name);
    target.unwrap_or_else(|| panic!("there is no target `{name}`")).1
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| BODY(data, Effort::Spread));
