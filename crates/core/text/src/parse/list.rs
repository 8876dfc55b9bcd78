//! Numbers one after another, up to the bracket that ends their list: text without an index.
//!
//! [`Lists`] finds the ends of up to a hundred numbers, then converts several at once; it stops before the first token
//! that is not a number and returns its place. The caller decides what that token means: the end of the list, a
//! comment, a string, an error.
//!
//! White space here is only blank, tab, LF and CR. A token ends at white space, at `[`, `]` or `"`.

use super::consts::{ALL_ODD, BELOW_SINGLE, HALF_SINGLE, TOGETHER};
#[cfg(target_arch = "x86_64")]
use super::list_x86 as x86;
use super::number::{self, IntegerError};
use super::plain::{Before, Numbers, Run};
use super::swar;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
use super::vector;
use crate::cpu::Level;
use crate::scan::PADDING;
use crate::scan::portable::{class, classes};

/// How many ends are found before they are converted.
const MOST_ENDS: usize = 128;
/// A block may have 64 more, and whole vectors are stored and read.
const SLACK: usize = 80;

/// Where a run of numbers stopped, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The first byte that is neither white space nor part of a number that was taken.
    pub at: usize,
    /// Whether a number begins there that the type does not hold.
    pub overflow: bool,
}

/// The ends of numbers.
pub(super) struct Ends {
    pub(super) ends: [u32; MOST_ENDS + SLACK],
    pub(super) count: usize,
}

/// The bytes of a block that matter, a bit each.
#[derive(Clone, Copy)]
pub(super) struct Masks {
    pub(super) space: u64,
    /// `[`, `]`, `"`, and characters of no number: `#`, `/`, vertical tab, form feed.
    pub(super) stop: u64,
}

/// A text with lists in it, and the buffers for finding numbers.
///
/// `padded` has [`PADDING`] bytes before each list and after `end`, otherwise nothing is taken; the byte at `end` is
/// white space.
pub struct Lists<'a> {
    padded: &'a [u8],
    end: usize,
    level: Level,
    found: Ends,
}

impl<'a> Lists<'a> {
    /// The lists of a text that ends at `end`.
    pub fn new(padded: &'a [u8], end: usize, level: Level) -> Lists<'a> {
        Lists { padded, end, level: level.usable(), found: Ends { ends: [0; MOST_ENDS + SLACK], count: 0 } }
    }

    /// Appends the nearest f32s of the numbers from `start` on to `out`, up to the first token that is none.
    ///
    /// # Errors
    /// `None` where `out` cannot grow.
    pub fn f32s(&mut self, start: usize, out: &mut Vec<f32>) -> Option<Stop> {
        self.take::<Singles>(start, out)
    }

    /// Like [`Lists::f32s`], for f64s: the nearest of each number, or its neighbor if rounding it to f32 would not
    /// yield the number's nearest f32.
    pub fn f64s(&mut self, start: usize, out: &mut Vec<f64>) -> Option<Stop> {
        self.take::<Doubles>(start, out)
    }

    /// Like [`Lists::f32s`], for decimal integers. It stops at one that does not fit.
    pub fn i32s(&mut self, start: usize, out: &mut Vec<i32>) -> Option<Stop> {
        self.take::<Integers>(start, out)
    }

    /// The numbers from `start` on, as by [`Lists::f64s`], if there are exactly 16, and the end of the last one.
    pub fn matrix(&mut self, start: usize) -> Option<([f64; 16], usize)> {
        const COUNT: usize = 16;
        if !self.has_room(start) {
            return None;
        }
        let at = find(self.padded, start, self.end, self.level, &mut self.found);
        if self.found.count != COUNT {
            return None;
        }
        let mut out = [0.0; COUNT + TOGETHER];
        self.convert::<Doubles>(start, &mut out).ok()?;
        Some((*out.first_chunk()?, at))
    }

    /// The nearest f32 of the token that ends at `end`, if it is plain.
    pub fn f32_until(&self, end: usize) -> Option<f32> {
        let is_before = |at: usize| self.padded.get(at).is_some_and(|&byte| is_before(byte));
        swar::float_after(self.padded, end, is_before)
    }

    /// Whether vectors may be loaded around the bytes between `start` and the end.
    fn has_room(&self, start: usize) -> bool {
        let Lists { padded, end, .. } = *self;
        start >= PADDING && start <= end && padded.len() >= end + PADDING && padded.len() <= u32::MAX as usize
    }

    fn take<K: Kind>(&mut self, start: usize, out: &mut Vec<K::Value>) -> Option<Stop> {
        if !self.has_room(start) {
            return Some(Stop { at: start, overflow: false });
        }
        let mut at = start;
        loop {
            let next = find(self.padded, at, self.end, self.level, &mut self.found);
            let first = out.len();
            let room = self.found.count + TOGETHER;
            out.try_reserve(room).ok()?;
            out.resize(first + room, K::Value::default());
            let converted = self.convert::<K>(at, &mut out[first..]);
            let done = converted.map_or_else(|(done, _)| done, |()| self.found.count);
            out.truncate(first + done);
            if let Err((_, stop)) = converted {
                return Some(stop);
            }
            at = skip_blanks(self.padded, next, self.end);
            if done > 0 && ends_token(self.padded[at]) && at < self.end {
                return Some(Stop { at, overflow: false });
            }
            if done == 0 {
                // The token here is longer than a block, or not a number.
                let token = &self.padded[at..token_end(self.padded, at, self.end)];
                match K::any(token) {
                    Ok(value) => {
                        out.try_reserve(1).ok()?;
                        out.push(value);
                        at += token.len();
                    }
                    Err(error) => return Some(Stop { at, overflow: error == IntegerError::Overflow }),
                }
            }
        }
    }

    /// Converts the numbers that were found, of which the first begins at or after `at`. `out` has room for
    /// [`TOGETHER`] more.
    ///
    /// # Errors
    /// If one is invalid: how many precede it, and its place.
    #[inline]
    fn convert<K: Kind>(&self, at: usize, out: &mut [K::Value]) -> Result<(), (usize, Stop)> {
        let Lists { padded, level, ref found, .. } = *self;
        let (mut done, count) = (0, found.count);
        while done < count {
            let ends = &found.ends[done..count + TOGETHER];
            let Run { done: more, mut odd } =
                K::plain(Numbers { padded, ends, before: Before::List, level }, &mut out[done..]);
            done += more;
            let next = count.min(done + TOGETHER);
            // Two that are not plain are a habit: exponents, or more digits.
            if done < next && odd.count_ones() > 1 {
                let ends = &found.ends[done..next + TOGETHER];
                let more = K::long(Numbers { padded, ends, before: Before::List, level }, &mut out[done..]);
                done += more;
                odd = odd.checked_shr(more as u32).unwrap_or(0);
            }
            while odd != 0 {
                let place = done + odd.trailing_zeros() as usize;
                if place >= next {
                    break;
                }
                odd &= odd - 1;
                let before = if place == 0 { at } else { found.ends[place - 1] as usize };
                let end = found.ends[place] as usize;
                let from = skip_blanks(padded, before, end);
                let overflow = |error| Stop { at: from, overflow: error == IntegerError::Overflow };
                out[place] = K::any(&padded[from..end]).map_err(|error| (place, overflow(error)))?;
            }
            done = next;
        }
        Ok(())
    }
}

/// The nearest f32 of a number in any notation that is the whole of a token.
pub fn f32(token: &[u8]) -> Option<f32> {
    Singles::any(token).ok()
}

/// The f64 of a number, as by [`Lists::f64s`].
pub fn f64(token: &[u8]) -> Option<f64> {
    Doubles::any(token).ok()
}

/// The integer that is the whole of a token.
///
/// # Errors
/// Why it is none.
pub fn i32(token: &[u8]) -> Result<i32, IntegerError> {
    Integers::any(token)
}

/// A type of number.
pub(super) trait Kind {
    type Value: Copy + Default;
    /// Converts numbers until one is not plain. `out` has room for [`TOGETHER`] more.
    fn plain(numbers: Numbers<'_>, out: &mut [Self::Value]) -> Run;
    /// Converts numbers that may be longer, until one is in another notation; returns how many.
    fn long(numbers: Numbers<'_>, out: &mut [Self::Value]) -> usize;
    /// A number in any notation.
    fn any(token: &[u8]) -> Result<Self::Value, IntegerError>;
}

pub(super) struct Singles;
pub(super) struct Doubles;
pub(super) struct Integers;

impl Kind for Singles {
    type Value = f32;

    fn plain(numbers: Numbers<'_>, out: &mut [f32]) -> Run {
        // SAFETY: `level` came from `Lists::new`, which calls `usable()`. `ends` came from `find` over `start..=end`,
        // for which `has_room` checked `start >= PADDING` (64) and `padded.len() >= end + PADDING`.
        unsafe { numbers.list_f32s(out) }
    }

    fn long(numbers: Numbers<'_>, out: &mut [f32]) -> usize {
        // SAFETY: as in `Singles::plain`.
        unsafe { numbers.long_f32s(out) }
    }

    fn any(token: &[u8]) -> Result<f32, IntegerError> {
        is_number(token)
            .then(|| number::f32(token))
            .flatten()
            .or_else(|| hexadecimal(token).map(|v| v as f32))
            .ok_or(IntegerError::Malformed)
    }
}

impl Kind for Doubles {
    type Value = f64;

    fn plain(numbers: Numbers<'_>, out: &mut [f64]) -> Run {
        // SAFETY: as in `Singles::plain`: the same `Numbers` of `Lists::convert`.
        unsafe { numbers.list_f64s::<{ MOST_ENDS + SLACK }>(out) }
    }

    fn long(numbers: Numbers<'_>, out: &mut [f64]) -> usize {
        // SAFETY: as in `Singles::plain`.
        let count = unsafe { numbers.long_f64s(out, &mut [0; TOGETHER]) };
        out[..count].iter().position(|&value| is_middle(value)).unwrap_or(count)
    }

    fn any(token: &[u8]) -> Result<f64, IntegerError> {
        let value = match is_number(token).then(|| number::f64(token)).flatten() {
            Some(value) if is_middle(value) => nudged(value, number::f32(token).unwrap_or_default()),
            Some(value) => value,
            None => hexadecimal(token).ok_or(IntegerError::Malformed)?,
        };
        Ok(value)
    }
}

impl Kind for Integers {
    type Value = i32;

    fn plain(numbers: Numbers<'_>, out: &mut [i32]) -> Run {
        // SAFETY: as in `Singles::plain`: `has_room` put 64 bytes before every end, and `usable()` in `Lists::new`
        // returned this level.
        let done = unsafe { numbers.i32s(out) };
        Run { done, odd: ALL_ODD }
    }

    fn long(_: Numbers<'_>, _: &mut [i32]) -> usize {
        0
    }

    fn any(token: &[u8]) -> Result<i32, IntegerError> {
        let value = number::i64(token)?;
        i32::try_from(value).map_err(|_| IntegerError::Overflow)
    }
}

/// Whether an f64 may be halfway between two f32s: any other rounds like the number it is nearest to. Below the normal
/// f32s the halfway points are elsewhere.
fn is_middle(value: f64) -> bool {
    value.to_bits() & BELOW_SINGLE == HALF_SINGLE || value.abs() < f64::from(f32::MIN_POSITIVE)
}

/// The f64 of a number, or its neighbor that rounds to `single`, the nearest f32 of that number.
fn nudged(value: f64, single: f32) -> f64 {
    let rounded = value as f32;
    if rounded.to_bits() == single.to_bits() || rounded.is_nan() {
        return value;
    }
    if single > rounded { value.next_up() } else { value.next_down() }
}

/// Whether a token may be passed to a parser of decimal numbers, which also accepts `nan` and `inf`.
fn is_number(token: &[u8]) -> bool {
    let digits = token.strip_prefix(b"-").or(token.strip_prefix(b"+")).unwrap_or(token);
    matches!(digits, [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..])
}

/// An integer after `0x`, of up to 16 digits.
fn hexadecimal(token: &[u8]) -> Option<f64> {
    let (negative, rest) = match token {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, token),
    };
    let digits = rest.strip_prefix(b"0x").or(rest.strip_prefix(b"0X"))?;
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let mut value = 0u64;
    for digit in digits {
        value = value << 4 | u64::from(char::from(*digit).to_digit(16)?);
    }
    Some(if negative { -(value as f64) } else { value as f64 })
}

/// Whether a byte is white space.
#[inline(always)]
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

/// Whether a byte ends a token.
#[inline(always)]
pub fn ends_token(byte: u8) -> bool {
    is_blank(byte) || matches!(byte, b'[' | b']' | b'"')
}

/// Whether a plain number may begin after a byte.
#[inline(always)]
pub(super) fn is_before(byte: u8) -> bool {
    is_blank(byte) || byte == b'['
}

/// The end of a token that begins at `start`.
fn token_end(padded: &[u8], start: usize, end: usize) -> usize {
    let rest = padded.get(start..end).unwrap_or_default();
    start + rest.iter().position(|&byte| ends_token(byte)).unwrap_or(rest.len())
}

fn skip_blanks(padded: &[u8], at: usize, end: usize) -> usize {
    let rest = padded.get(at..end).unwrap_or_default();
    at + rest.iter().position(|&byte| !is_blank(byte)).unwrap_or(rest.len())
}

/// Finds the ends of tokens from `at` on, up to the first that is not a number; returns where to continue: after the
/// last one.
fn find(padded: &[u8], at: usize, end: usize, level: Level, found: &mut Ends) -> usize {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `level` is that of `Lists::new`, which calls `usable()`: this CPU has its features.
        Level::Avx512 => unsafe { x86::find_avx512(padded, at, end, found) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as for `Avx512` above.
        Level::Avx2 => unsafe { x86::find_avx2(padded, at, end, found) },
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
        // SAFETY: as for `Avx512` above.
        Level::Vector => unsafe { vector::find(padded, at, end, found) },
        _ => find_blocks(padded, at, end, found, masks, spread),
    }
}

/// The loop over blocks, the same on every level.
#[inline(always)]
pub(super) fn find_blocks(
    padded: &[u8],
    start: usize,
    end: usize,
    found: &mut Ends,
    masks: impl Fn(&[u8; 64]) -> Masks,
    spread: impl Fn(u64, u32, &mut [u32; 64]),
) -> usize {
    found.count = 0;
    // White space or a bracket precedes the first block.
    let (mut base, mut carry) = (start, 1);
    while base < end && found.count <= MOST_ENDS - 64 {
        let Some(block) = padded[base..].first_chunk::<64>() else { break };
        let Masks { space, stop } = masks(block);
        let parts = space | stop;
        let mut ends = parts & !(parts << 1 | carry);
        carry = parts >> 63;
        if stop != 0 {
            // All up to and including it; it terminates a number if it is one of the characters that may.
            let first = stop.trailing_zeros();
            let ends_it = ends_token(block[first as usize]);
            let kept = if ends_it { u64::MAX >> (63 - first) } else { (1 << first) - 1 };
            ends &= kept;
        }
        let Some(target) = found.ends[found.count..].first_chunk_mut::<64>() else { break };
        spread(ends, base as u32, target);
        found.count += ends.count_ones() as usize;
        base += 64;
        if stop != 0 {
            break;
        }
    }
    // Anything found after the text is discarded.
    while found.count > 0 && found.ends[found.count - 1] as usize > end {
        found.count -= 1;
    }
    match found.count {
        0 => start,
        count => found.ends[count - 1] as usize,
    }
}

fn masks(block: &[u8; 64]) -> Masks {
    let is_stop = |byte: u8| matches!(byte, b'[' | b']' | b'"' | b'#' | b'/' | 0x0B | 0x0C);
    let classes = classes(block, |byte| u8::from(is_blank(byte)) | u8::from(is_stop(byte)) << 1);
    Masks { space: class(&classes, 0), stop: class(&classes, 1) }
}

fn spread(mut bits: u64, base: u32, out: &mut [u32; 64]) {
    for end in out {
        if bits == 0 {
            return;
        }
        *end = base + bits.trailing_zeros();
        bits &= bits - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(text: &str) -> (Vec<u8>, usize, usize) {
        let bytes = [&[b'\n'; PADDING][..], text.as_bytes(), &[b'\n'; PADDING + 1][..]].concat();
        (bytes, PADDING, PADDING + text.len())
    }

    #[test]
    fn lists_end_where_they_end_on_every_level() {
        let long: String = (0..300).map(|n| format!("{}.{:03} ", n * 7 - 900, n)).collect();
        let values: Vec<f32> = (0..300).map(|n| format!("{}.{:03}", n * 7 - 900, n).parse().unwrap()).collect();
        for level in Level::all() {
            for (text, count, at) in [("1 2 3]", 3, 5), ("1]2", 1, 1), ("", 0, 0), ("  ]", 0, 2), ("1 # 2", 1, 2)] {
                let (bytes, start, end) = padded(text);
                let mut out = Vec::new();
                let stop = Lists::new(&bytes, end, level).f32s(start, &mut out).unwrap();
                assert_eq!((out.len(), stop.at - start), (count, at), "{text} {level:?}");
            }
            for gap in 0..70 {
                let text = format!("{}{long}\"x\"", " ".repeat(gap));
                let (bytes, start, end) = padded(&text);
                let mut out = Vec::new();
                let stop = Lists::new(&bytes, end, level).f32s(start, &mut out).unwrap();
                assert_eq!(out, values);
                assert_eq!(bytes[stop.at], b'"');
            }
        }
    }

    #[test]
    fn every_notation_and_what_is_none() {
        let good = "+8 -1 .5 5. 1e3 1.E+0 -.5e-1 0x10 00.5000000000000000000000001 1e-38 16777217 7 8 9 10";
        let wanted: Vec<f32> =
            vec![8.0, -1.0, 0.5, 5.0, 1e3, 1.0, -0.05, 16.0, 0.5, 1e-38, 16777216.0, 7.0, 8.0, 9.0, 10.0];
        for level in Level::all() {
            let (bytes, start, end) = padded(good);
            let (mut out, mut wide) = (Vec::new(), Vec::new());
            assert_eq!(Lists::new(&bytes, end, level).f32s(start, &mut out).unwrap().at, end);
            assert_eq!(out, wanted);
            Lists::new(&bytes, end, level).f64s(start, &mut wide).unwrap();
            assert!(wide.iter().map(|&value| value as f32).eq(wanted.iter().copied()));
            for bad in
                ["nan", "inf", "-", "+", ".", "1e", "3#c", "1/2", "1\x0b2", "x", "--1", "0x", "1,5", "-inf", "True"]
            {
                for before in ["", "1 ", "1 2 3 ", "1 2 3 4 5 6 7 8 9 "] {
                    let (bytes, start, end) = padded(&format!("{before}{bad} 1 2 3 4 5"));
                    let (mut out, mut ints) = (Vec::new(), Vec::new());
                    let stop = Lists::new(&bytes, end, level).f32s(start, &mut out).unwrap();
                    assert_eq!(stop.at, start + before.len(), "{before}{bad} {level:?}");
                    assert_eq!(out.len() * 2, before.len());
                    assert_eq!(Lists::new(&bytes, end, level).i32s(start, &mut ints).unwrap().at, stop.at);
                }
            }
        }
    }

    #[test]
    fn integers_keep_to_their_range() {
        for level in Level::all() {
            let (bytes, start, end) =
                padded("0 1 26 -5 +7 2147483647 -2147483648 12345678 123456789 0 0 3 2147483648 1");
            let mut out = Vec::new();
            let stop = Lists::new(&bytes, end, level).i32s(start, &mut out).unwrap();
            assert_eq!(out, [0, 1, 26, -5, 7, i32::MAX, i32::MIN, 12345678, 123456789, 0, 0, 3]);
            assert!(stop.overflow && bytes[stop.at..].starts_with(b"2147483648 1"));
            let (bytes, start, end) = padded("1 2 1.5 3");
            let stop = Lists::new(&bytes, end, level).i32s(start, &mut out).unwrap();
            assert!(!stop.overflow && bytes[stop.at..].starts_with(b"1.5"));
        }
    }

    /// Numbers of every kind, by turns and by chance: plain ones with odd ones among them.
    fn mixed(count: usize, state: &mut u64) -> Vec<String> {
        let mut next = |limit: u64| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*state >> 33) % limit
        };
        let mut number = || match next(12) {
            0 => format!("{}e-{}", next(100_000), next(50)),
            1 => format!("-{}.{}E{}", next(10), next(1_000_000), next(30)),
            2 => format!("{}.{:09}{:09}", next(100), next(1_000_000_000), next(1_000_000_000)),
            // Beside the middle of two f32s, normal ones and others.
            3 => format!("{}.00000000{}", 16_777_217 + 2 * next(1000), next(2)),
            4 => format!("{}", f64::from(f32::from_bits(next(1 << 23) as u32)) + 0.7e-45),
            5 => format!("-{}", next(10)),
            _ => format!("{}{}.{:06}", ["", "-"][next(2) as usize], next(2000), next(1_000_000)),
        };
        (0..count).map(|_| number()).collect()
    }

    #[test]
    fn odd_numbers_among_plain_ones_are_the_nearest_too() {
        let mut state = 1;
        for round in 0..400 {
            let numbers = mixed(if round % 2 == 0 { 16 } else { round % 50 }, &mut state);
            let (bytes, start, end) = padded(&format!(" {} ]", numbers.join(" ")));
            let wanted: Vec<u32> = numbers.iter().map(|number| number.parse::<f32>().unwrap().to_bits()).collect();
            for level in Level::all() {
                let (mut singles, mut doubles, mut lists) = (Vec::new(), Vec::new(), Lists::new(&bytes, end, level));
                assert_eq!(lists.f32s(start, &mut singles).unwrap().at, end - 1);
                assert!(
                    singles.iter().map(|value| value.to_bits()).eq(wanted.iter().copied()),
                    "{level:?} {numbers:?}"
                );
                assert_eq!(lists.f64s(start, &mut doubles).unwrap().at, end - 1);
                for (value, number) in doubles.iter().zip(&numbers) {
                    let nearest: f64 = number.parse().unwrap();
                    let apart = value.to_bits().abs_diff(nearest.to_bits());
                    assert!(
                        apart <= 1 && (*value as f32).to_bits() == number.parse::<f32>().unwrap().to_bits(),
                        "{number}"
                    );
                    assert!(apart == 0 || is_middle(nearest), "{number}");
                }
                let matrix = lists.matrix(start);
                assert_eq!(matrix.is_some(), numbers.len() == 16);
                assert!(matrix.is_none_or(|(matrix, at)| matrix[..] == doubles && at == end - 2));
                assert!(numbers.last().is_none_or(|last| match lists.f32_until(end - 2) {
                    Some(value) => value.to_bits() == last.parse::<f32>().unwrap().to_bits(),
                    None => last.len() > 12 || last.contains(['e', 'E']) || last.starts_with("167"),
                }));
            }
        }
    }
}
