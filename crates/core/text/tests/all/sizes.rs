//! How much the tests try: much less inside Miri, which takes a thousand times as long.

/// Returns the first size, and the second one inside Miri.
pub fn sized<T>(natively: T, in_miri: T) -> T {
    if cfg!(miri) { in_miri } else { natively }
}
