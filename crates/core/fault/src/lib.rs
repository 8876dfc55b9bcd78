//! Planted faults: spots where a test build of polyhaul can be broken on purpose, to test its tests.
//!
//! Code calls [`planted`] with the name of a fault, next to the condition that the fault breaks. The function is a
//! constant `false`, and the compiler removes the fault, unless the crate is built with `--cfg polyhaul_faults`: then
//! the variable `POLYHAUL_FAULT` selects one fault at run time, so that one build serves all of them.
//!
//! `cargo xtask faults` plants the faults one at a time and fails if the tests miss one. It also lists them, with the
//! guarantees that each one breaks and the tests that detect it.

/// Returns whether this fault is planted: only with `--cfg polyhaul_faults` and its name in `POLYHAUL_FAULT`.
#[cfg(polyhaul_faults)]
pub fn planted(fault: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| std::env::var("POLYHAUL_FAULT").ok()).as_deref() == Some(fault)
}

/// Returns `false`: only builds with `--cfg polyhaul_faults` have planted faults.
#[cfg(not(polyhaul_faults))]
#[inline(always)]
pub const fn planted(_: &str) -> bool {
    false
}
