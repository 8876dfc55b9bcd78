//! Planted faults: places in the code where a test build of polyhaul can be broken on purpose, to verify that the tests
//! notice.
//!
//! Code calls [`planted`] with the name of a fault, next to the condition that the fault breaks. Normally, the function
//! always returns `false`, and the compiler removes the fault. If the crate is built with `--cfg polyhaul_faults`, the
//! environment variable `POLYHAUL_FAULT` selects one fault at run time, so that one build serves all faults.
//!
//! `cargo xtask faults` plants the faults one at a time and fails if the tests miss one. It also lists the faults, each
//! with the guarantees that it breaks and the tests that detect it.

/// Returns whether this fault is planted: whether `POLYHAUL_FAULT` is its name.
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
