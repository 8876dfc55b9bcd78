//! Vectors of 16 bytes: what the kernels of `scan` and `parse` need of them, by NEON on aarch64, whose CPUs all have
//! it, by simd128 in WebAssembly, and by SSE on x86-64 without AVX2. Nothing here knows what a line is.
//!
//! All have the same functions:
//!
//! | | |
//! |---|---|
//! | [`constant`], [`load`] | loads; `load` may put the 64 bytes into another order, which [`text_bits`] puts right |
//! | [`equal`], [`found`], [`digits`] | marks: all bits of a byte, or none |
//! | [`text_bits`], [`bits`], [`spread`] | marks to a bit each: of bytes from `load`, of other bytes, and back |
//! | [`either`], [`both`], [`moved_down`] | bit by bit, and each byte to the place before it |
//! | [`counts`], [`sum`] | the bits of each byte; eight places after a base |
//! | [`reversed`], [`reversed_halves`] | loads of one token or two, the last byte first |
//! | [`wholes`], [`numbers`] | digits, the last one first, as numbers of 16 digits or of 8 |
//! | [`doubles`], [`product`], [`quotient`], [`is_any`], [`singles`], [`signed`] | pairs of f64s |

/// Four values by an expression of their place. A closure for `array::map` would not do: on x86-64, compilers may make
/// it a function of its own, which then lacks the instructions of its kernel and calls a function for each of them.
macro_rules! four {
    ($at:ident => $value:expr) => {
        [
            four!(@ $at 0 $value),
            four!(@ $at 1 $value),
            four!(@ $at 2 $value),
            four!(@ $at 3 $value),
        ]
    };
    (@ $at:ident $number:literal $value:expr) => {{
        let $at = $number;
        $value
    }};
}
pub(crate) use four;

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "wasm32")]
mod simd128;
#[cfg(target_arch = "x86_64")]
mod sse;

#[cfg(target_arch = "aarch64")]
pub(crate) use neon::*;
#[cfg(target_arch = "wasm32")]
pub(crate) use simd128::*;
#[cfg(target_arch = "x86_64")]
pub(crate) use sse::*;

/// 64 bytes, or marks for them.
pub(crate) type Vectors = [Bytes; 4];

/// A bit for each byte of eight, twice.
const WEIGHTS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
