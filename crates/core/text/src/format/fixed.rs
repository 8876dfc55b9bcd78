//! Writes floats with fixed digits, identical to C's `printf("%.Nf")` in the "C" locale.
//!
//! The value times 10^digits is rounded to an integer, ties to even. The digits of this integer are looked up three at
//! a time. For an f32 the product is exact: 24 bits of the value and the 28 bits of 5^12 fit the 53 of an f64. For an
//! f64, the product is rounded once, which only matters next to a tie: products that end in exactly one half go to
//! [`super::exact`], as do products of 2^52 or more.

use super::exact;
use super::integer;
use super::pen::Pen;
use polyhaul_fault::planted;

/// Maximum number of digits after the point.
pub const MAX_DIGITS: usize = 12;

/// Float types that lines accept: f32 and f64. Sealed.
pub trait Real: Copy + sealed::Sealed {}

impl Real for f32 {}
impl Real for f64 {}

pub(super) mod sealed {
    use super::super::{MAX_FIXED_F32, MAX_FIXED_F64, Page};

    /// Float properties that the writers need.
    pub trait Sealed: super::super::lanes::Float {
        /// Maximum length in bytes: sign, digits of the largest value, point, `MAX_DIGITS`.
        const MAX_FIXED_BYTES: usize;
        /// Whether the product with a power of ten is rounded.
        const PRODUCT_IS_ROUNDED: bool;
        fn is_negative(self) -> bool;
        fn magnitude(self) -> f64;
        fn append(self, page: &mut Page<'_>, digits: usize);
        fn append_shortest(self, page: &mut Page<'_>);
        fn append_python(self, page: &mut Page<'_>);
    }

    impl Sealed for f32 {
        const MAX_FIXED_BYTES: usize = MAX_FIXED_F32;
        const PRODUCT_IS_ROUNDED: bool = false;
        #[inline(always)]
        fn is_negative(self) -> bool {
            self.is_sign_negative()
        }
        #[inline(always)]
        fn magnitude(self) -> f64 {
            f64::from(self.abs())
        }
        fn append(self, page: &mut Page<'_>, digits: usize) {
            page.fixed_f32(self, digits);
        }
        fn append_shortest(self, page: &mut Page<'_>) {
            page.shortest_f32(self);
        }
        fn append_python(self, page: &mut Page<'_>) {
            page.python_f32(self);
        }
    }

    impl Sealed for f64 {
        const MAX_FIXED_BYTES: usize = MAX_FIXED_F64;
        const PRODUCT_IS_ROUNDED: bool = true;
        #[inline(always)]
        fn is_negative(self) -> bool {
            self.is_sign_negative()
        }
        #[inline(always)]
        fn magnitude(self) -> f64 {
            self.abs()
        }
        fn append(self, page: &mut Page<'_>, digits: usize) {
            page.fixed_f64(self, digits);
        }
        fn append_shortest(self, page: &mut Page<'_>) {
            page.shortest_f64(self);
        }
        fn append_python(self, page: &mut Page<'_>) {
            page.python_f64(self);
        }
    }
}

/// 10^0 to 10^19.
pub(super) const POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut n = 1;
    while n < powers.len() {
        powers[n] = powers[n - 1] * 10;
        n += 1;
    }
    powers
};

/// Number of decimals and the factors derived from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) digits: usize,
    /// 10^digits.
    pub(super) power: f64,
    /// Factor that makes 10^digits a power of 1000: 1, 10 or 100.
    lift: u64,
    /// Number of three-digit groups that hold the fraction.
    groups: u8,
}

impl Scale {
    /// Looks up a scale; `digits` is capped at [`MAX_DIGITS`].
    #[inline(always)]
    pub(super) const fn new(digits: usize) -> &'static Self {
        &SCALES[if digits < MAX_DIGITS { digits } else { MAX_DIGITS }]
    }

    #[inline(always)]
    pub(super) const fn groups(&self) -> u8 {
        self.groups
    }
}

static SCALES: [Scale; MAX_DIGITS + 1] = {
    let mut scales = [Scale { digits: 0, power: 1.0, lift: 1, groups: 0 }; MAX_DIGITS + 1];
    let mut digits = 0;
    while digits <= MAX_DIGITS {
        let groups = digits.div_ceil(3);
        let lift = POWERS[3 * groups - digits];
        scales[digits] = Scale { digits, power: POWERS[digits] as f64, lift, groups: groups as u8 };
        digits += 1;
    }
    scales
};

/// Stores `value`: at most `MAX_FIXED_BYTES` of text, and at most `SLACK` bytes past it.
///
/// # Safety
/// Room for the text of `value`, which is at most `MAX_FIXED_BYTES`, and `SLACK` bytes more.
#[inline]
pub(super) unsafe fn fixed<R: Real>(pen: Pen, value: R, scale: &Scale) -> Pen {
    // SAFETY: each arm has `G == scale.groups()` (4 is the maximum), and the room is this function's condition.
    unsafe {
        match scale.groups() {
            0 => fixed_in_groups::<0, R>(pen, value, scale),
            1 => fixed_in_groups::<1, R>(pen, value, scale),
            2 => fixed_in_groups::<2, R>(pen, value, scale),
            3 => fixed_in_groups::<3, R>(pen, value, scale),
            _ => fixed_in_groups::<4, R>(pen, value, scale),
        }
    }
}

/// [`fixed`] with the number of groups as a constant: divisions become multiplications.
///
/// # Safety
/// As for [`fixed`]; `G` must be `scale.groups()`.
#[inline(always)]
pub(super) unsafe fn fixed_in_groups<const G: usize, R: Real>(pen: Pen, value: R, scale: &Scale) -> Pen {
    // Adding 2^52 leaves no fraction bits, so the addition itself rounds, ties to even.
    const SHIFTER: f64 = (1u64 << 52) as f64;
    let scaled = value.magnitude() * scale.power;
    let shifted = scaled + SHIFTER;
    // For infinities, NaN and products of 2^52 or more, this is at least 2^52.
    let rounded = shifted.to_bits() - SHIFTER.to_bits();
    let tie = R::PRODUCT_IS_ROUNDED && ((shifted - SHIFTER) - scaled).abs() == 0.5;
    // SAFETY: the room is the same as for `fixed`. `exact::fixed` stores a sign, a whole part, a point and at most 12
    // digits there, which leaves it 32 bytes of `SLACK`. `rounded < 2^52` and `lift <= 100` bound the argument of
    // `scaled_integer`.
    unsafe {
        if rounded >= 1 << 52 || tie {
            return exact::fixed(pen, value.is_negative(), value.magnitude(), scale.digits);
        }
        let pen = pen.put([b'-'], usize::from(value.is_negative()));
        let rounded = if planted("fixed-rounding") { scaled as u64 } else { rounded };
        scaled_integer::<G>(pen, rounded * scale.lift, scale.digits)
    }
}

/// Stores `lifted / 1000^G` with `digits` digits.
///
/// # Safety
/// `lifted` is below 100 · 2^52 and `digits` in `3G-2..=3G` (0 where `G` is 0). Room for 16 digits, a point and 16
/// bytes.
#[inline(always)]
unsafe fn scaled_integer<const G: usize>(pen: Pen, lifted: u64, digits: usize) -> Pen {
    let unit = const { 1000u64.pow(G as u32) };
    // SAFETY: groups are quotients below 1000 (checked, or of `lifted < 10^9`) or remainders. `lifted` bounds the whole
    // part to 16 digits, for which `integer::u64` has its 21 bytes; then come a point, `3G` digits and one byte past
    // them: 14 at most.
    unsafe {
        if G == 2 && lifted < 1_000_000_000 {
            let [whole, first, second] = integer::thousands(lifted as u32);
            let pen = pen.head(whole).put([b'.'], 1);
            pen.group(first, 3).group(second, 3);
            return pen.advance(digits);
        }
        let whole = lifted / unit;
        let fraction = lifted - whole * unit;
        let pen = if whole < 1000 { pen.head(whole as usize) } else { integer::u64(pen, whole) };
        if G == 0 {
            return pen;
        }
        let pen = pen.put([b'.'], 1);
        groups::<G>(pen, fraction);
        pen.advance(digits)
    }
}

/// Stores `fraction` (below 1000^G) as `3 * G` digits.
///
/// # Safety
/// `3 * G + 1` bytes of room, and `fraction` below 1000^G.
#[inline(always)]
unsafe fn groups<const G: usize>(pen: Pen, fraction: u64) {
    // SAFETY: `fraction < 1000^G`, so that each quotient and remainder is a group below 1000. `G` advances of 3 bytes
    // and a store of 4 are `3 * G + 1` bytes.
    unsafe {
        match G {
            0 => pen,
            1 => pen.group(fraction as usize, 3),
            2 => {
                let fraction = fraction as u32;
                pen.group((fraction / 1000) as usize, 3).group((fraction % 1000) as usize, 3)
            }
            3 => integer::groups3(pen, fraction as u32),
            _ => {
                let pen = pen.group((fraction / 1_000_000_000) as usize, 3);
                integer::groups3(pen, (fraction % 1_000_000_000) as u32)
            }
        };
    }
}
