//! Sizes of the tests: much smaller inside Miri, which takes a thousand times as long.

/// Returns `in_miri` inside Miri, otherwise `natively`.
pub fn sized<T>(natively: T, in_miri: T) -> T {
    if cfg!(miri) { in_miri } else { natively }
}
