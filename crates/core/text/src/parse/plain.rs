//! Converts runs of plain numbers with known ends, many at once: tokens of lines, fields of tables, and lists.
//!
//! A plain number has up to 14 characters, only digits and at most one point, after an optional minus. Each function
//! stops at the first number that is not plain and returns the count of numbers before it.

use super::consts::{ALL_ODD, TOGETHER};
use super::consts::{BELOW_SINGLE, HALF_SINGLE};
use super::list;
#[cfg(target_arch = "x86_64")]
use super::list_x86;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
use super::long_vector;
#[cfg(target_arch = "x86_64")]
use super::long_x86;
#[cfg(target_arch = "x86_64")]
use super::near_x86;
#[cfg(target_arch = "x86_64")]
use super::plain_x86 as x86;
use super::swar;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
use super::vector;
use crate::cpu::Level;
use crate::scan::{Separator, is_space};

/// Progress within a run.
pub(super) struct RunProgress {
    /// Number of converted numbers.
    pub(super) converted: usize,
    /// A bit for each of the next [`TOGETHER`] numbers that was not converted, usually because it is not plain.
    pub(super) odd: u8,
}

/// Characters that may precede a number.
#[derive(Clone, Copy)]
pub(super) enum Preceding {
    /// White space or a slash.
    Token,
    /// With [`Separator::Blanks`], white space. With a separator byte, that byte, a newline, or one white-space
    /// character after either of them.
    Field(Separator),
    /// White space or an opening bracket; see [`super::list`].
    List,
}

/// A run of numbers in a text. The unsafe functions below require that each end is at least 64 and below
/// `padded.len()`, and that `level` came from [`Level::usable`].
#[derive(Clone, Copy)]
pub(super) struct NumberRun<'a> {
    /// The text, which includes 64 bytes before each of the run's ends, and the byte at the end.
    pub(super) padded: &'a [u8],
    /// The run's ends, then [`TOGETHER`] more, at which no text is read.
    pub(super) ends: &'a [u32],
    pub(super) preceding: Preceding,
    /// A level that [`Level::usable`] returned.
    pub(super) level: Level,
}

impl NumberRun<'_> {
    /// Returns the number of numbers in the run.
    fn count(&self) -> usize {
        self.ends.len() - TOGETHER
    }

    /// Returns the ends of the numbers in the run.
    #[inline(always)]
    pub(super) fn own_ends(&self) -> &[u32] {
        &self.ends[..self.count()]
    }

    /// Returns the part of the run with `count` numbers from `first` on.
    pub(super) fn part(self, first: usize, count: usize) -> Self {
        NumberRun { ends: &self.ends[first..first + count + TOGETHER], ..self }
    }

    /// Returns the start of the number after one that ends at `end`, skipping white space.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn start_after(&self, end: u32) -> u32 {
        let mut start = end + 1;
        while is_space(self.padded[start as usize]) {
            start += 1;
        }
        start
    }

    /// Converts numbers that may be longer to the nearest f32s, or none if there is no fast kernel for the level.
    ///
    /// # Safety
    /// As for [`NumberRun::f32s`].
    pub(super) unsafe fn long_f32s(self, out: &mut [f32]) -> usize {
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `level` is usable, so the CPU has AVX2; the ends are as this function requires.
            Level::Avx2 | Level::Avx512 => unsafe { long_x86::f32s(self, out) },
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: `level` is usable; the ends are as this function requires.
            Level::Vector => unsafe { long_vector::f32s(self, out) },
            _ => 0,
        }
    }

    /// Converts numbers that may be longer to the nearest f64s, with marks.
    ///
    /// # Safety
    /// As for [`NumberRun::f32s`].
    pub(super) unsafe fn long_f64s(self, out: &mut [f64], marks: &mut [u8]) -> usize {
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `level` is usable, so the CPU has AVX2; the ends are as this function requires.
            Level::Avx2 | Level::Avx512 => unsafe { long_x86::f64s(self, out, marks) },
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: `level` is usable; the ends are as this function requires.
            Level::Vector => unsafe { long_vector::f64s(self, out, marks) },
            _ => 0,
        }
    }

    /// Like [`long_f64s`](Self::long_f64s), if only the nearest f32s and integers matter; see
    /// [`super::tokens::TokenPrecision`].
    ///
    /// # Safety
    /// As for [`NumberRun::f32s`].
    pub(super) unsafe fn near_f64s(self, out: &mut [f64], marks: &mut [u8]) -> usize {
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `level` is usable, so the CPU has AVX2; the ends are as this function requires.
            Level::Avx2 | Level::Avx512 => unsafe { near_x86::f64s(self, out, marks) },
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: `level` is usable; the ends are as this function requires.
            Level::Vector => unsafe { long_vector::near_f64s(self, out, marks) },
            _ => 0,
        }
    }

    /// Converts plain numbers to the nearest f32s.
    ///
    /// # Safety
    /// - Each of the run's ends is at least 64 and below `padded.len()`.
    /// - `level` came from [`Level::usable`].
    pub(super) unsafe fn f32s(self, out: &mut [f32]) -> usize {
        debug_assert!(self.count() == 0 || out.len() >= self.ends.len() - 1);
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this function's first condition covers the ends, and its second AVX-512.
            Level::Avx512 => unsafe { x86::f32s_avx512(self, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this function's first condition covers the ends, and its second AVX2.
            Level::Avx2 => unsafe { x86::f32s_avx2(self, out) },
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: this function's first condition covers the ends, and its second the level.
            Level::Vector => unsafe { vector::f32s(self, out) },
            _ => {
                let ends = self.ends[..self.count()].iter();
                let values =
                    ends.map_while(|&end| swar::float_after(self.padded, end as usize, |at| self.is_before(at)));
                values.zip(out).map(|(value, out)| *out = value).count()
            }
        }
    }

    /// Like [`NumberRun::f32s`], but also sets `loses` if any number differs from its f32 by more than half a unit of
    /// its last digit, and possibly if the difference is close to that.
    ///
    /// # Safety
    /// As for [`NumberRun::f32s`].
    pub(super) unsafe fn checked_f32s(self, out: &mut [f32], loses: &mut bool) -> usize {
        debug_assert!(self.count() == 0 || out.len() >= self.ends.len() - 1);
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this function's first condition covers the ends, and its second AVX-512.
            Level::Avx512 => unsafe { x86::checked_f32s_avx512(self, out, loses) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this function's first condition covers the ends, and its second AVX2.
            Level::Avx2 => unsafe { x86::checked_f32s_avx2(self, out, loses) },
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: this function's first condition covers the ends, and its second the level.
            Level::Vector => unsafe { vector::checked_f32s(self, out, loses) },
            _ => {
                let ends = self.own_ends().iter();
                let values = ends
                    .map_while(|&end| swar::checked_float_after(self.padded, end as usize, |at| self.is_before(at)));
                values.zip(out).map(|((value, may_lose), out)| (*out, *loses) = (value, *loses | may_lose)).count()
            }
        }
    }

    /// Converts plain numbers to the nearest f64s, with a mark for each; see [`super::fields`].
    ///
    /// # Safety
    /// As for [`NumberRun::f32s`].
    pub(super) unsafe fn f64s(self, out: &mut [f64], marks: &mut [u8]) -> usize {
        debug_assert!(self.count() == 0 || out.len().min(marks.len()) >= self.ends.len() - 1);
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this function's first condition covers the ends, and its second AVX-512.
            Level::Avx512 => unsafe { x86::f64s_avx512(self, out, marks) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this function's first condition covers the ends, and its second AVX2.
            Level::Avx2 => unsafe { x86::f64s_avx2(self, out, marks) },
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: this function's first condition covers the ends, and its second the level.
            Level::Vector => unsafe { vector::f64s(self, out, marks) },
            _ => {
                let ends = self.ends[..self.count()].iter();
                let values =
                    ends.map_while(|&end| swar::double_after(self.padded, end as usize, |at| self.is_before(at)));
                let slots = out.iter_mut().zip(marks);
                values.zip(slots).map(|(value, (out, mark))| (*out, *mark) = value).count()
            }
        }
    }

    /// Converts integers of one to eight digits with an optional minus.
    ///
    /// # Safety
    /// As for [`NumberRun::f32s`].
    pub(super) unsafe fn i32s(self, out: &mut [i32]) -> usize {
        let ends = self.own_ends();
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this function's first condition covers the ends, and its second AVX-512.
            Level::Avx512 => unsafe { list_x86::i32s_avx512(self.padded, ends, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this function's first condition covers the ends, and its second AVX2.
            Level::Avx2 => unsafe { list_x86::i32s_avx2(self.padded, ends, out) },
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: this function's first condition covers the ends, and its second the level.
            Level::Vector => unsafe { vector::i32s(self.padded, ends, out) },
            _ => {
                let values = ends.iter().map_while(|&end| swar::integer(self.padded, end as usize));
                values.zip(out).map(|(value, out)| *out = value).count()
            }
        }
    }

    /// Like [`NumberRun::f32s`], for a list. Also returns which of the numbers after the converted ones are odd.
    ///
    /// # Safety
    /// As for [`NumberRun::f32s`].
    pub(super) unsafe fn list_f32s(self, out: &mut [f32]) -> RunProgress {
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this function's first condition covers the ends, and its second AVX-512.
            Level::Avx512 => unsafe { x86::list_f32s_avx512(self, out) },
            // SAFETY: the conditions of `f32s` are the same.
            _ => RunProgress { converted: unsafe { self.f32s(out) }, odd: ALL_ODD },
        }
    }

    /// Like [`NumberRun::list_f32s`], but also sets `loses` as [`NumberRun::checked_f32s`] does, for all numbers that
    /// are not odd.
    ///
    /// # Safety
    /// As for [`NumberRun::f32s`].
    pub(super) unsafe fn checked_list_f32s(self, out: &mut [f32], loses: &mut bool) -> RunProgress {
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this function's first condition covers the ends, and its second AVX-512.
            Level::Avx512 => unsafe { x86::checked_list_f32s_avx512(self, out, loses) },
            // SAFETY: the conditions of `checked_f32s` are the same.
            _ => RunProgress { converted: unsafe { self.checked_f32s(out, loses) }, odd: ALL_ODD },
        }
    }

    /// Like [`NumberRun::list_f32s`], for f64s. Stops at values halfway between two f32s. `out` must have at most
    /// `MAX_COUNT` elements.
    ///
    /// # Safety
    /// As for [`NumberRun::f32s`].
    pub(super) unsafe fn list_f64s<const MAX_COUNT: usize>(self, out: &mut [f64]) -> RunProgress {
        #[cfg(target_arch = "x86_64")]
        if self.level == Level::Avx512 {
            // SAFETY: `level` is usable and AVX-512; the ends are as this function requires.
            return unsafe { x86::list_f64s_avx512(self, out) };
        }
        // SAFETY: the conditions of `f64s` are the same.
        let count = unsafe { self.f64s(out, &mut [0; MAX_COUNT]) };
        let is_middle = |value: &f64| value.to_bits() & BELOW_SINGLE == HALF_SINGLE;
        RunProgress { converted: out[..count].iter().position(is_middle).unwrap_or(count), odd: ALL_ODD }
    }

    /// Returns whether a number may start after the byte at `offset`.
    #[inline(always)]
    pub(super) fn is_before(&self, offset: usize) -> bool {
        let byte = self.padded[offset];
        match self.preceding {
            Preceding::Token => swar::separates(byte),
            Preceding::List => list::is_before(byte),
            Preceding::Field(Separator::Blanks) => is_space(byte),
            Preceding::Field(Separator::Byte(separator)) => {
                let ends = |byte: u8| byte == separator || byte == b'\n' || byte == b'\r';
                ends(byte) || is_space(byte) && offset > 0 && ends(self.padded[offset - 1])
            }
        }
    }

    /// Calls `convert` with `N` ends at a time until it returns `false`; the last call may repeat the last end. Returns
    /// the number of converted numbers.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
    #[inline(always)]
    pub(super) fn batches<const N: usize>(self, mut convert: impl FnMut(usize, &[u32; N]) -> bool) -> usize {
        let count = self.count();
        let mut converted = 0;
        let mut last = [0; N];
        while converted < count {
            let Some(mut ends) = self.ends[converted..].first_chunk::<N>() else { break };
            if count - converted < N {
                last = std::array::from_fn(|at| self.ends[(converted + at).min(count - 1)]);
                ends = &last;
            }
            // The only call, so that compilers inline it.
            if !convert(converted, ends) {
                return converted;
            }
            converted += N;
        }
        let _ = last;
        converted.min(count)
    }
}

/// Maximum count of numbers converted individually before retrying `many`.
const MAX_SINGLES: usize = 64;

/// Converts `count` numbers. `many` converts numbers while they are plain. Then `long` converts numbers up to a given
/// index, and `single` converts each number that `long` rejects, until `single` fails. While `many` converts no
/// numbers, it is called less and less often.
#[inline(always)]
pub(super) fn runs<O: ?Sized>(
    count: usize,
    out: &mut O,
    mut many: impl FnMut(&mut O, usize) -> usize,
    mut long: impl FnMut(&mut O, usize, usize) -> usize,
    mut single: impl FnMut(&mut O, usize) -> bool,
) -> usize {
    let mut converted = 0;
    let mut singles = TOGETHER;
    while converted < count {
        let plain = many(out, converted);
        converted += plain;
        singles = if plain > 0 { TOGETHER } else { MAX_SINGLES.min(2 * singles) };
        let end = count.min(converted + singles);
        while converted < end {
            converted += long(out, converted, end);
            if converted < end {
                if !single(out, converted) {
                    return converted;
                }
                converted += 1;
            }
        }
    }
    converted
}

/// Converts plain integers. Calls `convert` with eight ends at a time, and converts the integers that it rejects (zeros
/// and negative integers) individually.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
#[inline(always)]
pub(super) fn integers(
    padded: &[u8],
    ends: &[u32],
    out: &mut [i32],
    convert: impl Fn(&[u32; 8], &mut [u32; 8]) -> u64,
) -> usize {
    let mut converted = 0;
    for eight in ends.as_chunks::<8>().0 {
        let mut values = [0; 8];
        let mut odd = convert(eight, &mut values);
        let Some(slots) = out.get_mut(converted..).and_then(|out| out.first_chunk_mut::<8>()) else { return converted };
        *slots = values.map(|value| value as i32);
        while odd != 0 {
            let lane = odd.trailing_zeros() as usize & 7;
            let Some(value) = swar::integer(padded, eight[lane] as usize) else { return converted + lane };
            slots[lane] = value;
            odd &= odd - 1;
        }
        converted += 8;
    }
    while let Some(&end) = ends.get(converted) {
        let Some(value) = swar::integer(padded, end as usize) else { return converted };
        let Some(slot) = out.get_mut(converted) else { return converted };
        *slot = value;
        converted += 1;
    }
    converted
}
