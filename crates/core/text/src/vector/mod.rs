//! Vectors of 16 bytes for the kernels of `scan` and `parse`: with NEON on aarch64, whose CPUs all have it, with
//! simd128 in WebAssembly, and with SSE on x86-64 without AVX2.
//!
//! All three modules have the same functions:
//!
//! | | |
//! |---|---|
//! | [`constant`], [`load`] | loads; `load` may reorder the 64 bytes, and [`text_bits`] restores the order |
//! | [`equal`], [`in_table`], [`digits`] | marks: all bits of a byte are set, or none |
//! | [`text_bits`], [`bits`], [`spread`] | marks to a bit each: of bytes from `load`, of other bytes, and back |
//! | [`either`], [`both`], [`moved_down`] | bitwise operations, and moving each byte down by one |
//! | [`counts`], [`sum`] | the number of bits in each byte; eight positions plus a base |
//! | [`reversed`], [`reversed_halves`] | loads of one or two tokens, the last byte first |
//! | [`wholes`], [`numbers`] | digits, the last one first, as numbers of 16 digits or of 8 |
//! | [`doubles`], [`product`], [`quotient`], [`is_any`], [`singles`], [`signed`] | pairs of f64s |

/// Four values of an expression that contains their index. Not `array::map`: on x86-64, compilers may outline the
/// closure, which then lacks the target features of its kernel and calls a function for each instruction.
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
pub(crate) type Vectors = [ByteVector; 4];

/// The weight of each byte's bit, for eight bytes, twice.
const WEIGHTS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
