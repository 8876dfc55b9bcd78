//! Parses lists of numbers up to a closing bracket, without an index.
//!
//! [`Lists`] finds the ends of up to 128 numbers, then converts several numbers at once. It stops before the first
//! token that is not a number and returns its offset; the caller decides whether it is the end of the list, a comment,
//! a string or an error.
//!
//! Only space, tab, LF and CR are white space here. Tokens end at white space, `[`, `]` or `"`.

use super::consts::{ALL_ODD, BELOW_SINGLE, HALF_SINGLE, TOGETHER};
#[cfg(target_arch = "x86_64")]
use super::list_x86 as x86;
use super::number::{self, IntegerError};
use super::plain::{NumberRun, Preceding, RunProgress};
use super::positions::DigitLoss;
use super::swar;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
use super::vector;
use crate::cpu::Level;
use crate::scan::PADDING;
use crate::scan::portable::{class, classes};
use std::ops::Range;

/// Maximum number of ends found before they are converted.
const MAX_ENDS: usize = 128;
/// Spare elements, because kernels read [`TOGETHER`] ends after the last one.
const SLACK: usize = 80;

/// End of a run of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListStop {
    /// Offset of the first byte that is neither white space nor part of a converted number.
    pub offset: usize,
    /// Whether the number at `offset` does not fit the type.
    pub overflow: bool,
}

/// Ends of the tokens found.
pub(super) struct TokenEnds {
    pub(super) ends: [u32; MAX_ENDS + SLACK],
    pub(super) count: usize,
}

/// Character classes of a block, one bit per byte.
#[derive(Clone, Copy)]
pub(super) struct ListMasks {
    pub(super) space: u64,
    /// `[`, `]`, `"`, and other characters that never occur in numbers: `#`, `/`, vertical tab, form feed.
    pub(super) stop: u64,
}

/// A text with lists, and the buffer for the ends of their numbers.
///
/// `padded` must have [`PADDING`] bytes before each list and after `end`; otherwise, nothing is converted. The byte at
/// `end` must be white space.
pub struct Lists<'a> {
    padded: &'a [u8],
    end: usize,
    level: Level,
    tokens: TokenEnds,
}

impl<'a> Lists<'a> {
    /// Creates a parser of lists in a text that ends at `end`.
    pub fn new(padded: &'a [u8], end: usize, level: Level) -> Lists<'a> {
        Lists { padded, end, level: level.usable(), tokens: TokenEnds { ends: [0; MAX_ENDS + SLACK], count: 0 } }
    }

    /// Appends the nearest f32s of the numbers from `start` on to `out`, up to the first token that is not a number.
    ///
    /// # Errors
    /// Returns `None` if `out` cannot grow.
    pub fn f32s(&mut self, start: usize, out: &mut Vec<f32>) -> Option<ListStop> {
        self.take::<Singles>(start, out, &mut DigitLoss::default())
    }

    /// Like [`Lists::f32s`], for coordinates: adds the precision that they lose as f32s to `loss`.
    pub fn coordinates(&mut self, start: usize, out: &mut Vec<f32>, loss: &mut DigitLoss) -> Option<ListStop> {
        self.take::<Coordinates>(start, out, loss)
    }

    /// Like [`Lists::f32s`], for the nearest f64s.
    pub fn exact(&mut self, start: usize, out: &mut Vec<f64>) -> Option<ListStop> {
        self.take::<Exact>(start, out, &mut DigitLoss::default())
    }

    /// Like [`Lists::f32s`], for f64s: each number's nearest f64, or its neighbor if only that rounds to the number's
    /// nearest f32.
    pub fn f64s(&mut self, start: usize, out: &mut Vec<f64>) -> Option<ListStop> {
        self.take::<Doubles>(start, out, &mut DigitLoss::default())
    }

    /// Like [`Lists::f32s`], for decimal integers. Stops at the first integer that does not fit.
    pub fn i32s(&mut self, start: usize, out: &mut Vec<i32>) -> Option<ListStop> {
        self.take::<Integers>(start, out, &mut DigitLoss::default())
    }

    /// Parses exactly 16 numbers from `start` on, as with [`Lists::f64s`]. Returns the numbers and the end of the last
    /// one. Returns `None` if there are more or fewer numbers, or if one is invalid.
    pub fn matrix(&mut self, start: usize) -> Option<([f64; 16], usize)> {
        const COUNT: usize = 16;
        if !self.has_room(start) {
            return None;
        }
        let list_end = find(self.padded, start, self.end, self.level, &mut self.tokens);
        if self.tokens.count != COUNT {
            return None;
        }
        let mut out = [0.0; COUNT + TOGETHER];
        self.convert::<Doubles>(start, &mut out, &mut DigitLoss::default()).ok()?;
        Some((*out.first_chunk()?, list_end))
    }

    /// Returns the nearest f32 of the token that ends at `end`, if the token is plain.
    pub fn f32_until(&self, end: usize) -> Option<f32> {
        let is_before = |at: usize| self.padded.get(at).is_some_and(|&byte| is_before(byte));
        swar::float_after(self.padded, end, is_before)
    }

    /// Returns whether vectors may be loaded around the bytes from `start` to the end.
    fn has_room(&self, start: usize) -> bool {
        let Lists { padded, end, .. } = *self;
        start >= PADDING && start <= end && padded.len() >= end + PADDING && padded.len() <= u32::MAX as usize
    }

    fn take<K: ListNumber>(&mut self, start: usize, out: &mut Vec<K::Value>, loss: &mut DigitLoss) -> Option<ListStop> {
        if !self.has_room(start) {
            return Some(ListStop { offset: start, overflow: false });
        }
        let mut offset = start;
        loop {
            let next = find(self.padded, offset, self.end, self.level, &mut self.tokens);
            let first = out.len();
            let room = self.tokens.count + TOGETHER;
            out.try_reserve(room).ok()?;
            out.resize(first + room, K::Value::default());
            let converted = self.convert::<K>(offset, &mut out[first..], loss);
            let count = converted.map_or_else(|(count, _)| count, |()| self.tokens.count);
            out.truncate(first + count);
            if let Err((_, stop)) = converted {
                return Some(stop);
            }
            offset = skip_blanks(self.padded, next, self.end);
            if count > 0 && ends_token(self.padded[offset]) && offset < self.end {
                return Some(ListStop { offset, overflow: false });
            }
            if count == 0 {
                // The next token is longer than a block, or not a number.
                let token = &self.padded[offset..token_end(self.padded, offset, self.end)];
                match K::any(token) {
                    Ok(value) => {
                        out.try_reserve(1).ok()?;
                        out.push(value);
                        offset += token.len();
                        if K::IS_CHECKED {
                            loss.note(token);
                        }
                    }
                    Err(error) => return Some(ListStop { offset, overflow: error == IntegerError::Overflow }),
                }
            }
        }
    }

    /// Converts the numbers found, the first of which starts at or after `start`. `out` has [`TOGETHER`] spare
    /// elements.
    ///
    /// # Errors
    /// If a number is invalid: the count of numbers before it, and its offset.
    #[inline]
    fn convert<K: ListNumber>(
        &self,
        start: usize,
        out: &mut [K::Value],
        loss: &mut DigitLoss,
    ) -> Result<(), (usize, ListStop)> {
        let Lists { padded, level, ref tokens, .. } = *self;
        let count = tokens.count;
        let numbers = NumberRun { padded, ends: &tokens.ends[..count + TOGETHER], preceding: Preceding::List, level };
        let mut converted = 0;
        while converted < count {
            let first = converted;
            let mut may_lose = false;
            let RunProgress { converted: more, mut odd } =
                K::plain(numbers.part(first, count - first), &mut out[first..], &mut may_lose);
            converted += more;
            let next = count.min(converted + TOGETHER);
            if K::IS_CHECKED && !loss.is_known() {
                let unchecked = Unchecked { from: if may_lose { first } else { next }, after: converted, odd };
                self.note(start, first..next, unchecked, loss);
            }
            // Two numbers that are not plain suggest that the file has many of them, with exponents or more digits.
            if converted < next && odd.count_ones() > 1 {
                let more = K::long(numbers.part(converted, next - converted), &mut out[converted..]);
                converted += more;
                odd = odd.checked_shr(more as u32).unwrap_or(0);
            }
            while odd != 0 {
                let index = converted + odd.trailing_zeros() as usize;
                if index >= next {
                    break;
                }
                odd &= odd - 1;
                let (number_start, token) = self.token(start, index);
                let overflow = |error| ListStop { offset: number_start, overflow: error == IntegerError::Overflow };
                out[index] = K::any(token).map_err(|error| (index, overflow(error)))?;
            }
            converted = next;
        }
        Ok(())
    }

    /// Returns the offset and text of number `index` among the numbers found, the first of which starts at or after
    /// `start`.
    fn token(&self, start: usize, index: usize) -> (usize, &'a [u8]) {
        let ends = &self.tokens.ends;
        let before = if index == 0 { start } else { ends[index - 1] as usize };
        let end = ends[index] as usize;
        let number_start = skip_blanks(self.padded, before, end);
        (number_start, &self.padded[number_start..end])
    }

    /// Adds the losses of the unchecked numbers in a range.
    #[inline]
    fn note(&self, start: usize, range: Range<usize>, unchecked: Unchecked, loss: &mut DigitLoss) {
        let is_checked = |&at: &usize| {
            at < unchecked.from && !(at >= unchecked.after && unchecked.odd >> (at - unchecked.after) & 1 != 0)
        };
        if unchecked.from < range.end || unchecked.after < range.end {
            for at in range.filter(|at| !is_checked(at)) {
                loss.note(self.token(start, at).1);
                if loss.is_known() {
                    return;
                }
            }
        }
    }
}

/// Numbers whose loss of precision was not checked: all numbers from index `from` on, and the numbers from index
/// `after` on that have a bit in `odd`.
struct Unchecked {
    from: usize,
    after: usize,
    odd: u8,
}

/// Parses all of a token as a number in any notation. Returns the nearest f32, or `None` if the token is not a number.
pub fn f32(token: &[u8]) -> Option<f32> {
    Singles::any(token).ok()
}

/// Parses all of a token as a number. Returns the same f64 as [`Lists::f64s`], or `None` if the token is not a number.
pub fn f64(token: &[u8]) -> Option<f64> {
    Doubles::any(token).ok()
}

/// Parses all of a token as an integer.
///
/// # Errors
/// If the token is not an integer or does not fit.
pub fn i32(token: &[u8]) -> Result<i32, IntegerError> {
    Integers::any(token)
}

/// Number type of a list.
trait ListNumber {
    type Value: Copy + Default;
    /// Whether `plain` checks the loss of precision.
    const IS_CHECKED: bool = false;
    /// Converts numbers until one is not plain. `out` has [`TOGETHER`] spare elements. Sets `may_lose` if any number
    /// differs from its f32 by more than half a unit of its last digit, and possibly if the difference is close to
    /// that.
    fn plain(numbers: NumberRun<'_>, out: &mut [Self::Value], may_lose: &mut bool) -> RunProgress;
    /// Converts numbers that may be longer, until one has another notation. Returns the number of converted numbers.
    fn long(numbers: NumberRun<'_>, out: &mut [Self::Value]) -> usize;
    /// Parses a number in any notation.
    fn any(token: &[u8]) -> Result<Self::Value, IntegerError>;
}

struct Singles;
struct Coordinates;
struct Doubles;
struct Exact;
struct Integers;

impl ListNumber for Singles {
    type Value = f32;

    fn plain(numbers: NumberRun<'_>, out: &mut [f32], _: &mut bool) -> RunProgress {
        // SAFETY: `level` came from `Lists::new`, which calls `usable()`. `ends` came from `find` over `start..=end`,
        // for which `has_room` checked `start >= PADDING` (64) and `padded.len() >= end + PADDING`.
        unsafe { numbers.list_f32s(out) }
    }

    fn long(numbers: NumberRun<'_>, out: &mut [f32]) -> usize {
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

impl ListNumber for Coordinates {
    type Value = f32;
    const IS_CHECKED: bool = true;

    fn plain(numbers: NumberRun<'_>, out: &mut [f32], may_lose: &mut bool) -> RunProgress {
        // SAFETY: as in `Singles::plain`: the same `NumberRun` of `Lists::convert`.
        unsafe { numbers.checked_list_f32s(out, may_lose) }
    }

    fn long(numbers: NumberRun<'_>, out: &mut [f32]) -> usize {
        Singles::long(numbers, out)
    }

    fn any(token: &[u8]) -> Result<f32, IntegerError> {
        Singles::any(token)
    }
}

impl ListNumber for Exact {
    type Value = f64;

    fn plain(numbers: NumberRun<'_>, out: &mut [f64], _: &mut bool) -> RunProgress {
        // SAFETY: as in `Singles::plain`: the same `NumberRun` of `Lists::convert`.
        let converted = unsafe { numbers.f64s(out, &mut [0; MAX_ENDS + SLACK]) };
        RunProgress { converted, odd: ALL_ODD }
    }

    fn long(numbers: NumberRun<'_>, out: &mut [f64]) -> usize {
        // SAFETY: as in `Singles::plain`.
        unsafe { numbers.long_f64s(out, &mut [0; TOGETHER]) }
    }

    fn any(token: &[u8]) -> Result<f64, IntegerError> {
        let decimal = is_number(token).then(|| number::f64(token)).flatten();
        decimal.or_else(|| hexadecimal(token)).ok_or(IntegerError::Malformed)
    }
}

impl ListNumber for Doubles {
    type Value = f64;

    fn plain(numbers: NumberRun<'_>, out: &mut [f64], _: &mut bool) -> RunProgress {
        // SAFETY: as in `Singles::plain`: the same `NumberRun` of `Lists::convert`.
        unsafe { numbers.list_f64s::<{ MAX_ENDS + SLACK }>(out) }
    }

    fn long(numbers: NumberRun<'_>, out: &mut [f64]) -> usize {
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

impl ListNumber for Integers {
    type Value = i32;

    fn plain(numbers: NumberRun<'_>, out: &mut [i32], _: &mut bool) -> RunProgress {
        // SAFETY: as in `Singles::plain`: `has_room` put 64 bytes before every end, and `usable()` in `Lists::new`
        // returned this level.
        let converted = unsafe { numbers.i32s(out) };
        RunProgress { converted, odd: ALL_ODD }
    }

    fn long(_: NumberRun<'_>, _: &mut [i32]) -> usize {
        0
    }

    fn any(token: &[u8]) -> Result<i32, IntegerError> {
        let value = number::i64(token)?;
        i32::try_from(value).map_err(|_| IntegerError::Overflow)
    }
}

/// Returns whether an f64 may be halfway between two f32s; any other f64 rounds to the same f32 as the exact number.
/// Between subnormal f32s, the midpoints have other bits, so all such values are included.
fn is_middle(value: f64) -> bool {
    value.to_bits() & BELOW_SINGLE == HALF_SINGLE || value.abs() < f64::from(f32::MIN_POSITIVE)
}

/// Returns `value`, or its neighbor if only that rounds to `single`, the nearest f32 of the exact number.
fn nudged(value: f64, single: f32) -> f64 {
    let rounded = value as f32;
    if rounded.to_bits() == single.to_bits() || rounded.is_nan() {
        return value;
    }
    if single > rounded { value.next_up() } else { value.next_down() }
}

/// Returns whether a token may be passed to the decimal parser, which would also accept `nan` and `inf`.
fn is_number(token: &[u8]) -> bool {
    let digits = token.strip_prefix(b"-").or(token.strip_prefix(b"+")).unwrap_or(token);
    matches!(digits, [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..])
}

/// Parses an optional sign, `0x` and up to 16 hexadecimal digits.
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

/// Returns whether a byte is white space.
#[inline(always)]
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

/// Returns whether a byte ends a token.
#[inline(always)]
pub fn ends_token(byte: u8) -> bool {
    is_blank(byte) || matches!(byte, b'[' | b']' | b'"')
}

/// Returns whether a plain number may start after a byte.
#[inline(always)]
pub(super) fn is_before(byte: u8) -> bool {
    is_blank(byte) || byte == b'['
}

/// Returns the end of the token that starts at `start`.
fn token_end(padded: &[u8], start: usize, end: usize) -> usize {
    let rest = padded.get(start..end).unwrap_or_default();
    start + rest.iter().position(|&byte| ends_token(byte)).unwrap_or(rest.len())
}

fn skip_blanks(padded: &[u8], at: usize, end: usize) -> usize {
    let rest = padded.get(at..end).unwrap_or_default();
    at + rest.iter().position(|&byte| !is_blank(byte)).unwrap_or(rest.len())
}

/// Finds the token ends from `start` on, up to the first token that is not a number. Returns the end of the last token,
/// at which the caller continues.
fn find(padded: &[u8], start: usize, end: usize, level: Level, tokens: &mut TokenEnds) -> usize {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `level` is from `Lists::new`, which calls `usable()`: this CPU has its features.
        Level::Avx512 => unsafe { x86::find_avx512(padded, start, end, tokens) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as for `Avx512` above.
        Level::Avx2 => unsafe { x86::find_avx2(padded, start, end, tokens) },
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
        // SAFETY: as for `Avx512` above.
        Level::Vector => unsafe { vector::find(padded, start, end, tokens) },
        _ => find_blocks(padded, start, end, tokens, masks, spread),
    }
}

/// The loop over blocks, shared by all levels.
#[inline(always)]
pub(super) fn find_blocks(
    padded: &[u8],
    start: usize,
    end: usize,
    tokens: &mut TokenEnds,
    masks: impl Fn(&[u8; 64]) -> ListMasks,
    spread: impl Fn(u64, u32, &mut [u32; 64]),
) -> usize {
    tokens.count = 0;
    // White space or a bracket precedes the first block.
    let mut base = start;
    let mut carry = 1;
    while base < end && tokens.count <= MAX_ENDS - 64 {
        let Some(block) = padded[base..].first_chunk::<64>() else { break };
        let ListMasks { space, stop } = masks(block);
        let parts = space | stop;
        let mut ends = parts & !(parts << 1 | carry);
        carry = parts >> 63;
        if stop != 0 {
            // Keep only the ends before the stop, and the stop itself if it can end a number.
            let first = stop.trailing_zeros();
            let is_end = ends_token(block[first as usize]);
            let before = if is_end { u64::MAX >> (63 - first) } else { (1 << first) - 1 };
            ends &= before;
        }
        let Some(target) = tokens.ends[tokens.count..].first_chunk_mut::<64>() else { break };
        spread(ends, base as u32, target);
        tokens.count += ends.count_ones() as usize;
        base += 64;
        if stop != 0 {
            break;
        }
    }
    // Discard ends after the text.
    while tokens.count > 0 && tokens.ends[tokens.count - 1] as usize > end {
        tokens.count -= 1;
    }
    match tokens.count {
        0 => start,
        count => tokens.ends[count - 1] as usize,
    }
}

fn masks(block: &[u8; 64]) -> ListMasks {
    let is_stop = |byte: u8| matches!(byte, b'[' | b']' | b'"' | b'#' | b'/' | 0x0B | 0x0C);
    let classes = classes(block, |byte| u8::from(is_blank(byte)) | u8::from(is_stop(byte)) << 1);
    ListMasks { space: class(&classes, 0), stop: class(&classes, 1) }
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
    fn lists_end_at_the_same_offset_on_every_level() {
        // Miri takes a thousand times as long.
        let count = if cfg!(miri) { 70 } else { 300 };
        let long: String = (0..count).map(|n| format!("{}.{:03} ", n * 7 - 900, n)).collect();
        let values: Vec<f32> = (0..count).map(|n| format!("{}.{:03}", n * 7 - 900, n).parse().unwrap()).collect();
        for level in Level::all() {
            for (text, count, at) in [("1 2 3]", 3, 5), ("1]2", 1, 1), ("", 0, 0), ("  ]", 0, 2), ("1 # 2", 1, 2)] {
                let (bytes, start, end) = padded(text);
                let mut out = Vec::new();
                let stop = Lists::new(&bytes, end, level).f32s(start, &mut out).unwrap();
                assert_eq!((out.len(), stop.offset - start), (count, at), "{text} {level:?}");
            }
            for gap in (0..70).step_by(if cfg!(miri) { 63 } else { 1 }) {
                let text = format!("{}{long}\"x\"", " ".repeat(gap));
                let (bytes, start, end) = padded(&text);
                let mut out = Vec::new();
                let stop = Lists::new(&bytes, end, level).f32s(start, &mut out).unwrap();
                assert_eq!(out, values);
                assert_eq!(bytes[stop.offset], b'"');
            }
        }
    }

    #[test]
    fn coordinates_are_floats_whose_losses_are_the_sum_of_those_of_the_numbers() {
        // Miri takes a thousand times as long.
        let count = if cfg!(miri) { 40 } else { 300 };
        let distance = count as usize / 10;
        let mut numbers: Vec<String> = (0..count).map(|n| format!("{}.{:03}", n * 7 - 900, n)).collect();
        let odd =
            ["5411234.456", "1e-3", "0.1234567890123456", "16777217", "1E5", "3.4028236e38", "0x11", "-8.0000001"];
        for (at, number) in odd.into_iter().enumerate() {
            numbers.insert(at * distance + at % 3, number.to_owned());
            numbers.insert(at * (distance - 1), "2.5".to_owned());
        }
        // Six numbers in a row that are not plain.
        numbers.extend(odd[..6].iter().map(|&number| number.to_owned()));
        let text = numbers.join(" ");
        let mut expected = DigitLoss::default();
        numbers.iter().for_each(|number| expected.add(number.as_bytes()));
        assert!(expected.short > 6 && expected.long == 2);
        let floats: Vec<f32> = numbers.iter().map(|number| super::f32(number.as_bytes()).unwrap()).collect();
        let doubles: Vec<f64> =
            numbers.iter().map(|number| if number == "0x11" { 17.0 } else { number.parse().unwrap() }).collect();
        for level in Level::all() {
            let (bytes, start, end) = padded(&text);
            let mut out = Vec::new();
            let mut loss = DigitLoss { counts_all: true, ..DigitLoss::default() };
            assert_eq!(Lists::new(&bytes, end, level).coordinates(start, &mut out, &mut loss).unwrap().offset, end);
            assert_eq!(DigitLoss { counts_all: false, ..loss }, expected, "{level:?}");
            assert_eq!(out, floats);
            let mut exact = Vec::new();
            assert_eq!(Lists::new(&bytes, end, level).exact(start, &mut exact).unwrap().offset, end);
            assert_eq!(exact, doubles);
            for number in numbers.iter().step_by(if cfg!(miri) { 13 } else { 1 }) {
                let (bytes, start, end) = padded(&format!("[1 2 {number} 4]"));
                let [mut loss, mut alone] = [DigitLoss::default(); 2];
                Lists::new(&bytes, end, level).coordinates(start + 1, &mut Vec::new(), &mut loss).unwrap();
                alone.add(number.as_bytes());
                assert_eq!(loss, alone, "{number} {level:?}");
            }
        }
    }

    #[test]
    fn numbers_have_any_notation_and_other_words_stop_a_list() {
        let good = "+8 -1 .5 5. 1e3 1.E+0 -.5e-1 0x10 00.5000000000000000000000001 1e-38 16777217 7 8 9 10";
        let expected: Vec<f32> =
            vec![8.0, -1.0, 0.5, 5.0, 1e3, 1.0, -0.05, 16.0, 0.5, 1e-38, 16777216.0, 7.0, 8.0, 9.0, 10.0];
        for level in Level::all() {
            let (bytes, start, end) = padded(good);
            let mut out = Vec::new();
            let mut wide = Vec::new();
            assert_eq!(Lists::new(&bytes, end, level).f32s(start, &mut out).unwrap().offset, end);
            assert_eq!(out, expected);
            Lists::new(&bytes, end, level).f64s(start, &mut wide).unwrap();
            assert!(wide.iter().map(|&value| value as f32).eq(expected.iter().copied()));
            for bad in
                ["nan", "inf", "-", "+", ".", "1e", "3#c", "1/2", "1\x0b2", "x", "--1", "0x", "1,5", "-inf", "True"]
            {
                for before in ["", "1 ", "1 2 3 ", "1 2 3 4 5 6 7 8 9 "] {
                    let (bytes, start, end) = padded(&format!("{before}{bad} 1 2 3 4 5"));
                    let mut out = Vec::new();
                    let mut ints = Vec::new();
                    let stop = Lists::new(&bytes, end, level).f32s(start, &mut out).unwrap();
                    assert_eq!(stop.offset, start + before.len(), "{before}{bad} {level:?}");
                    assert_eq!(out.len() * 2, before.len());
                    assert_eq!(Lists::new(&bytes, end, level).i32s(start, &mut ints).unwrap().offset, stop.offset);
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
            assert!(stop.overflow && bytes[stop.offset..].starts_with(b"2147483648 1"));
            let (bytes, start, end) = padded("1 2 1.5 3");
            let stop = Lists::new(&bytes, end, level).i32s(start, &mut out).unwrap();
            assert!(!stop.overflow && bytes[stop.offset..].starts_with(b"1.5"));
        }
    }

    /// Random numbers: plain ones, and some with exponents, many digits or ties.
    fn mixed(count: usize, state: &mut u64) -> Vec<String> {
        let mut next = |limit: u64| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*state >> 33) % limit
        };
        let mut number = || match next(12) {
            0 => format!("{}e-{}", next(100_000), next(50)),
            1 => format!("-{}.{}E{}", next(10), next(1_000_000), next(30)),
            2 => format!("{}.{:09}{:09}", next(100), next(1_000_000_000), next(1_000_000_000)),
            // Next to the midpoint between two f32s, normal and subnormal ones.
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
        let rounds = if cfg!(miri) { 4 } else { 400 };
        for round in 0..rounds {
            let numbers = mixed(if round % 2 == 0 { 16 } else { round % 50 }, &mut state);
            let (bytes, start, end) = padded(&format!(" {} ]", numbers.join(" ")));
            let expected: Vec<u32> = numbers.iter().map(|number| number.parse::<f32>().unwrap().to_bits()).collect();
            for level in Level::all() {
                let mut singles = Vec::new();
                let mut doubles = Vec::new();
                let mut lists = Lists::new(&bytes, end, level);
                assert_eq!(lists.f32s(start, &mut singles).unwrap().offset, end - 1);
                assert!(
                    singles.iter().map(|value| value.to_bits()).eq(expected.iter().copied()),
                    "{level:?} {numbers:?}"
                );
                assert_eq!(lists.f64s(start, &mut doubles).unwrap().offset, end - 1);
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
