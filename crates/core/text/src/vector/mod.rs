//! 16-byte vectors for the kernels of `scan` and `parse`: NEON on aarch64 (always present), simd128 in WebAssembly, and
//! SSE on x86-64 without AVX2.
//!
//! The three modules export the same functions:
//!
//! | | |
//! |---|---|
//! | [`constant`], [`load`] | loads; `load` may permute the 64 bytes, and [`text_bits`] restores their order |
//! | [`equal`], [`in_table`], [`digits`] | masks: all bits of a byte set, or none |
//! | [`text_bits`], [`bits`], [`spread`] | masks to bits: of bytes from `load`, of other bytes, and the inverse |
//! | [`either`], [`both`], [`moved_down`] | OR, AND, and a shift of each byte to the position below |
//! | [`counts`], [`sum`] | popcount of each byte; eight positions plus a base |
//! | [`reversed`], [`reversed_halves`] | loads of one or two tokens, last byte first |
//! | [`wholes`], [`numbers`] | digits, last one first, to 16-digit or 8-digit numbers |
//! | [`doubles`], [`product`], [`quotient`], [`is_any`], [`singles`], [`signed`] | pairs of f64s |

/// Evaluates an expression for indices 0 to 3. Not `array::map`: on x86-64, compilers may outline the closure, which
/// then lacks the kernel's target features and calls a function per instruction.
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

/// 64 bytes, or a mask for them.
pub(crate) type Vectors = [ByteVector; 4];

/// Bit weights for eight bytes, twice.
const WEIGHTS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
