//! Runs of plain numbers whose ends are known, many at once: shared by tokens of lines, fields of tables, and lists.
//!
//! A plain number has up to 14 characters, digits with at most one point, and a minus before them. Each function
//! continues while the numbers are plain and returns how many it converted.

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

/// How far a run of numbers went.
pub(super) struct Run {
    /// So many are converted.
    pub(super) done: usize,
    /// A bit for each of the [`TOGETHER`] after them that was not converted, usually because it is not plain.
    pub(super) odd: u8,
}

/// What may precede a number.
#[derive(Clone, Copy)]
pub(super) enum Before {
    /// White space or a slash.
    Token,
    /// A separator of fields, or a newline, or one blank after either.
    Field(Separator),
    /// White space or an opening bracket; see [`super::list`].
    List,
}

/// Numbers in a text, and the condition of the unsafe functions below: every wanted end is at least 64 and below
/// `padded.len()`, and `level` came from [`Level::usable`].
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a> {
    /// The text. It has 64 bytes before each wanted end, and the byte at the end.
    pub(super) padded: &'a [u8],
    /// The ends of the wanted numbers, and [`TOGETHER`] more ends, which are counted but not read from.
    pub(super) ends: &'a [u32],
    pub(super) before: Before,
    /// A level that [`Level::usable`] returned.
    pub(super) level: Level,
}

impl Numbers<'_> {
    /// The number of wanted numbers.
    fn count(&self) -> usize {
        self.ends.len() - TOGETHER
    }

    /// The ends of the wanted numbers.
    #[inline(always)]
    pub(super) fn wanted(&self) -> &[u32] {
        &self.ends[..self.count()]
    }

    /// `count` of the wanted numbers from `first` on. The ends after them may be wanted ones.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn part(self, first: usize, count: usize) -> Self {
        Numbers { ends: &self.ends[first..first + count + TOGETHER], ..self }
    }

    /// The start of the number after one that ends at `end`; white space may be between them.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn start_after(&self, end: u32) -> u32 {
        let mut start = end + 1;
        while is_space(self.padded[start as usize]) {
            start += 1;
        }
        start
    }

    /// Converts numbers that may be longer. Converts none if this CPU has no fast kernel.
    ///
    /// # Safety
    /// As for [`Numbers::f32s`].
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

    /// The same as f64s with their marks.
    ///
    /// # Safety
    /// As for [`Numbers::f32s`].
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

    /// The same, where only the nearest f32s and integers matter; see [`super::tokens::Precision`].
    ///
    /// # Safety
    /// As for [`Numbers::f32s`].
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
    /// - Every wanted end is at least 64 and below `padded.len()`.
    /// - `level` came from [`Level::usable`].
    pub(super) unsafe fn f32s(self, out: &mut [f32]) -> usize {
        debug_assert!(self.count() == 0 || out.len() >= self.ends.len() - 1);
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the kernel needs the ends, this function's first condition, and AVX-512, by its second.
            Level::Avx512 => unsafe { x86::f32s_avx512(self, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the kernel needs the ends, this function's first condition, and AVX2, by its second.
            Level::Avx2 => unsafe { x86::f32s_avx2(self, out) },
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: the kernel needs the ends, this function's first condition, and the level, by its second.
            Level::Vector => unsafe { vector::f32s(self, out) },
            _ => {
                let ends = self.ends[..self.count()].iter();
                let values =
                    ends.map_while(|&end| swar::float_after(self.padded, end as usize, |at| self.is_before(at)));
                values.zip(out).map(|(value, out)| *out = value).count()
            }
        }
    }

    /// Converts plain numbers to the nearest f64s, with a mark for each; see [`super::fields`].
    ///
    /// # Safety
    /// As for [`Numbers::f32s`].
    pub(super) unsafe fn f64s(self, out: &mut [f64], marks: &mut [u8]) -> usize {
        debug_assert!(self.count() == 0 || out.len().min(marks.len()) >= self.ends.len() - 1);
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the kernel needs the ends, this function's first condition, and AVX-512, by its second.
            Level::Avx512 => unsafe { x86::f64s_avx512(self, out, marks) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the kernel needs the ends, this function's first condition, and AVX2, by its second.
            Level::Avx2 => unsafe { x86::f64s_avx2(self, out, marks) },
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: the kernel needs the ends, this function's first condition, and the level, by its second.
            Level::Vector => unsafe { vector::f64s(self, out, marks) },
            _ => {
                let ends = self.ends[..self.count()].iter();
                let values =
                    ends.map_while(|&end| swar::double_after(self.padded, end as usize, |at| self.is_before(at)));
                let places = out.iter_mut().zip(marks);
                values.zip(places).map(|(value, (out, mark))| (*out, *mark) = value).count()
            }
        }
    }

    /// Converts integers of one to eight digits, with or without a minus.
    ///
    /// # Safety
    /// As for [`Numbers::f32s`].
    pub(super) unsafe fn i32s(self, out: &mut [i32]) -> usize {
        let ends = self.wanted();
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the kernel needs the ends, this function's first condition, and AVX-512, by its second.
            Level::Avx512 => unsafe { list_x86::i32s_avx512(self.padded, ends, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the kernel needs the ends, this function's first condition, and AVX2, by its second.
            Level::Avx2 => unsafe { list_x86::i32s_avx2(self.padded, ends, out) },
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: the kernel needs the ends, this function's first condition, and the level, by its second.
            Level::Vector => unsafe { vector::i32s(self.padded, ends, out) },
            _ => {
                let values = ends.iter().map_while(|&end| swar::integer(self.padded, end as usize));
                values.zip(out).map(|(value, out)| *out = value).count()
            }
        }
    }

    /// Like [`Numbers::f32s`], for a list; also returns where it stopped.
    ///
    /// # Safety
    /// As for [`Numbers::f32s`].
    pub(super) unsafe fn list_f32s(self, out: &mut [f32]) -> Run {
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the kernel needs the ends, this function's first condition, and AVX-512, by its second.
            Level::Avx512 => unsafe { x86::list_f32s_avx512(self, out) },
            // SAFETY: both conditions of `f32s` are this function's.
            _ => Run { done: unsafe { self.f32s(out) }, odd: ALL_ODD },
        }
    }

    /// Like [`Numbers::list_f32s`], for f64s, none of which is halfway between two f32s. `out` has at most `MOST`
    /// places.
    ///
    /// # Safety
    /// As for [`Numbers::f32s`].
    pub(super) unsafe fn list_f64s<const MOST: usize>(self, out: &mut [f64]) -> Run {
        #[cfg(target_arch = "x86_64")]
        if self.level == Level::Avx512 {
            // SAFETY: `level` is usable and AVX-512; the ends are as this function requires.
            return unsafe { x86::list_f64s_avx512(self, out) };
        }
        // SAFETY: both conditions of `f64s` are this function's.
        let count = unsafe { self.f64s(out, &mut [0; MOST]) };
        let is_middle = |value: &f64| value.to_bits() & BELOW_SINGLE == HALF_SINGLE;
        Run { done: out[..count].iter().position(is_middle).unwrap_or(count), odd: ALL_ODD }
    }

    /// Whether a number may begin after the byte at a place.
    #[inline(always)]
    pub(super) fn is_before(&self, at: usize) -> bool {
        let byte = self.padded[at];
        match self.before {
            Before::Token => swar::separates(byte),
            Before::List => list::is_before(byte),
            Before::Field(Separator::Blanks) => is_space(byte),
            Before::Field(Separator::Byte(separator)) => {
                let ends = |byte: u8| byte == separator || byte == b'\n' || byte == b'\r';
                ends(byte) || is_space(byte) && at > 0 && ends(self.padded[at - 1])
            }
        }
    }

    /// Calls `convert` with `N` ends each time, until it refuses; if there are fewer, the last end is repeated. Returns
    /// how many numbers were converted.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
    #[inline(always)]
    pub(super) fn batches<const N: usize>(self, mut convert: impl FnMut(usize, &[u32; N]) -> bool) -> usize {
        let (count, mut done) = (self.count(), 0);
        let mut last = [0; N];
        while done < count {
            let Some(mut ends) = self.ends[done..].first_chunk::<N>() else { break };
            if count - done < N {
                last = std::array::from_fn(|at| self.ends[(done + at).min(count - 1)]);
                ends = &last;
            }
            // Called in one place, so that compilers put it there.
            if !convert(done, ends) {
                return done;
            }
            done += N;
        }
        let _ = last;
        done.min(count)
    }
}

/// The most numbers in a row that are converted one by one before `many` is tried again.
const MOST_SINGLES: usize = 64;

/// Converts `count` numbers with `many` while they are plain, otherwise with `long` up to a given place, and the
/// numbers that `long` does not take with `one`, until that fails. `many` is tried less often while it takes few.
#[inline(always)]
pub(super) fn runs<O: ?Sized>(
    count: usize,
    out: &mut O,
    mut many: impl FnMut(&mut O, usize) -> usize,
    mut long: impl FnMut(&mut O, usize, usize) -> usize,
    mut one: impl FnMut(&mut O, usize) -> bool,
) -> usize {
    let (mut done, mut singles) = (0, TOGETHER);
    while done < count {
        let plain = many(out, done);
        done += plain;
        singles = if plain > 0 { TOGETHER } else { MOST_SINGLES.min(2 * singles) };
        let stop = count.min(done + singles);
        while done < stop {
            done += long(out, done, stop);
            if done < stop {
                if !one(out, done) {
                    return done;
                }
                done += 1;
            }
        }
    }
    done
}

/// Converts plain integers: calls `convert` with eight ends each time; numbers it cannot convert (a zero, a minus) are
/// taken one by one.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
#[inline(always)]
pub(super) fn integers(
    padded: &[u8],
    ends: &[u32],
    out: &mut [i32],
    convert: impl Fn(&[u32; 8], &mut [u32; 8]) -> u64,
) -> usize {
    let mut done = 0;
    for eight in ends.as_chunks::<8>().0 {
        let mut values = [0; 8];
        let mut odd = convert(eight, &mut values);
        let Some(place) = out.get_mut(done..).and_then(|out| out.first_chunk_mut::<8>()) else { return done };
        *place = values.map(|value| value as i32);
        while odd != 0 {
            let lane = odd.trailing_zeros() as usize & 7;
            let Some(value) = swar::integer(padded, eight[lane] as usize) else { return done + lane };
            place[lane] = value;
            odd &= odd - 1;
        }
        done += 8;
    }
    while let Some(&end) = ends.get(done) {
        let (Some(value), Some(place)) = (swar::integer(padded, end as usize), out.get_mut(done)) else { return done };
        *place = value;
        done += 1;
    }
    done
}
