//! Parses numbers: correctly rounded floats, range-checked integers, and whole rows.
//!
//! [`number`] parses one token in any notation. [`rows`] uses the index of [`crate::scan`] to parse runs of lines with
//! the same plain layout, many numbers at once, and stops at the first line that is not plain; the caller parses that
//! line with [`number`] and resumes. In the same way, [`tokens`] parses runs of numbers regardless of lines,
//! [`positions`] coordinates, [`facets`] STL, [`fields`] tables, and [`grid`] tables in which all numbers have the same
//! number of decimals. [`list`] parses lists in brackets without an index.

mod consts;
mod decimal;
mod faces;
pub mod facets;
pub mod fields;
pub mod grid;
#[cfg(target_arch = "x86_64")]
mod grid_x86;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
mod lanes;
pub mod list;
#[cfg(target_arch = "x86_64")]
mod list_x86;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
mod long_vector;
#[cfg(target_arch = "x86_64")]
mod long_x86;
#[cfg(target_arch = "x86_64")]
mod near_x86;
pub mod number;
mod plain;
#[cfg(target_arch = "x86_64")]
mod plain_x86;
pub mod positions;
pub mod rows;
mod swar;
pub mod tokens;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

/// Maximum number of characters of a plain float, without its sign.
const FLOAT_SIZE: usize = 14;

/// 10^0 to 10^-14, each rounded once, then ones, also at index [`NO_POINT`]. 32 entries: any five bits are a valid
/// index.
const TENTHS: [f64; 32] = {
    let mut table = [1.0; 32];
    let mut places = 0;
    let mut power = 1.0;
    while places <= FLOAT_SIZE {
        table[places] = 1.0 / power;
        power *= 10.0;
        places += 1;
    }
    table
};

/// Error in units of a number's last digit above which kernels report a possible loss: above 0.5, the maximum error of
/// numbers printed from f32s, and below the errors that [`positions`] counts as losses. The product of 12 digits and a
/// power from [`TENTHS`] is less than 2^-12 units off.
const HALF_UNIT: f64 = 0.5 + 1.0 / (1 << 12) as f64;

/// Position of the point in 16 characters without one.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
const NO_POINT: u32 = 16;

/// Added to the bits of an f64 to detect whether it is close to the midpoint between two f32s.
const MARGIN: u64 = 4;
/// Bits of the sum to compare.
const MIDDLE_MASK: u64 = 0x1FFF_FFFF & !(2 * MARGIN - 1);
/// The value of these bits close to a midpoint.
const MIDDLE: u64 = 0x1000_0000;

/// Computes `digits / 10^places` as an f32. Returns `None` if rounding twice could give the wrong result.
///
/// `digits` < 10^14 is exact as an f64. The factor and the product are rounded once each, so the product is less than
/// two ulps of an f64 off, and rounding it to f32 is correct unless a midpoint between two f32s is that close. (A
/// division would round only once, but would be slower.)
#[inline(always)]
fn quotient(digits: u64, places: usize) -> Option<f32> {
    let value = digits as f64 * TENTHS[places & 31];
    (value.to_bits().wrapping_add(MARGIN) & MIDDLE_MASK != MIDDLE).then_some(value as f32)
}
