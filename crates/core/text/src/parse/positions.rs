//! Parses coordinates and measures the precision that they lose as f32s.
//!
//! A loss matters if the number has at most [`SHORT_DIGITS`] significant digits and differs from its nearest f32 by
//! more than half a unit of its last digit: programs that print f32s never write such numbers. Longer numbers nearly
//! always differ from their f32s. Whether this difference matters depends on the size of the model, so these numbers
//! are only counted. See [`rows`](super::rows) and [`tokens`] for numbers other than coordinates.

use super::consts::TOGETHER;
use super::decimal::Decimal;
use super::number;
use super::plain::{NumberRun, Preceding, runs};
use super::rows::{LineKeyword, Window};
use super::tokens;
use crate::format::Page;
use std::cell::RefCell;
use std::ops::Range;

/// Maximum number of significant digits of a short number.
pub const SHORT_DIGITS: u32 = 12;
/// Number of rows converted together, so that their numbers stay in the L1 cache.
const ROWS: usize = 64;
/// Error above which a short number counts as a loss, in units of its last digit. Numbers printed from f32s are up to
/// 0.5 off. Kernels compute errors less exactly, and already report errors above [`HALF_UNIT`](super::HALF_UNIT).
const MAX_ERROR: f64 = 0.5 + 1.0 / (1 << 10) as f64;
/// Maximum number of values per row.
const MAX_WIDTH: usize = 12;

/// 10^0 to 10^-15.
const UNITS: [f64; 16] = {
    let mut table = [1.0; 16];
    let mut places = 1;
    let mut power = 1.0;
    while places < 16 {
        power *= 10.0;
        table[places] = 1.0 / power;
        places += 1;
    }
    table
};

/// Precision that numbers lose as f32s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DigitLoss {
    /// Whether to count all short numbers that lose precision; otherwise, runs of numbers are no longer checked after
    /// the first such number.
    pub counts_all: bool,
    /// Number of short numbers that lose precision.
    pub short: u64,
    /// Number of longer numbers that lose precision, as far as they were checked.
    pub long: u64,
    /// Largest difference between a short number and its f32.
    pub largest: f64,
}

impl DigitLoss {
    /// Adds the loss of a number in any notation that [`number::f64`] accepts.
    ///
    /// ```
    /// use polyhaul_text::parse::positions::DigitLoss;
    /// let mut loss = DigitLoss::default();
    /// loss.add(b"5411234.456");
    /// assert_eq!((loss.short, loss.long, loss.largest > 0.04), (1, 0, true));
    /// loss = DigitLoss::default();
    /// loss.add(b"100.12345");
    /// assert_eq!(loss, DigitLoss::default());
    /// ```
    pub fn add(&mut self, token: &[u8]) {
        let decimal = Decimal::from_token(token);
        let near = decimal.and_then(|decimal| Some((decimal.f64()?, decimal.f32()?)));
        let Some((value, single)) = near.or_else(|| Some((number::f64(token)?, number::f32(token)?))) else { return };
        let error = (value - f64::from(single)).abs();
        // Neither NaN nor infinity.
        if !(error > 0.0 && value.is_finite()) {
            return;
        }
        match decimal.and_then(last_unit) {
            // Beyond the range of f32s.
            _ if error.is_infinite() => self.add_short(error),
            Some(unit) if error > MAX_ERROR * unit => self.add_short(error),
            Some(_) => {}
            None => self.long += 1,
        }
    }

    /// Like [`DigitLoss::add`], but faster: counts long numbers without computing their f32s, and skips numbers with
    /// few digits.
    pub(super) fn note(&mut self, token: &[u8]) {
        if length_alone(token) {
            self.long += 1;
        } else if !is_brief(token) {
            self.add(token);
        }
    }

    fn add_short(&mut self, error: f64) {
        self.short += 1;
        self.largest = self.largest.max(error);
    }

    /// Adds the loss of a double that changes by `error`. Its digits are the shortest that read back as the same
    /// double. `places` caches the number of decimals of the last number and affects only the speed.
    ///
    /// ```
    /// use polyhaul_text::parse::positions::DigitLoss;
    /// let mut loss = DigitLoss::default();
    /// let mut places = 0;
    /// loss.add_moved(5411234.456, 0.044, &mut places);
    /// loss.add_moved(0.125, 1e-9, &mut places);
    /// assert_eq!((loss.short, loss.long), (1, 0));
    /// ```
    #[inline]
    pub fn add_moved(&mut self, value: f64, error: f64, places: &mut usize) {
        // Most numbers have as many decimals as the last one. If a number has fewer, its unit is larger, and an even
        // larger error would be allowed.
        let unit = UNITS[*places & 15];
        let scaled = value / unit;
        let is_as_before = error <= 0.5 * unit && scaled.abs() < 1e12 && (scaled - scaled.round()).abs() < 1e-4;
        if error > 0.0 && value.is_finite() && !is_as_before {
            self.add_digits(value, error, places);
        }
    }

    #[cold]
    fn add_digits(&mut self, value: f64, error: f64, places: &mut usize) {
        let mut buffer = [0; 32];
        let mut page = Page::new(&mut buffer);
        page.shortest_f64(value);
        match Decimal::from_token(page.as_bytes()).and_then(last_unit) {
            _ if error.is_infinite() => self.add_short(error),
            Some(unit) => {
                if let Some(at) = UNITS.iter().position(|other| *other <= unit) {
                    *places = at;
                }
                if error > MAX_ERROR * unit {
                    self.add_short(error);
                }
            }
            None => self.long += 1,
        }
    }

    /// Adds another loss to this one.
    pub fn extend(&mut self, other: DigitLoss) {
        self.short += other.short;
        self.long += other.long;
        self.largest = self.largest.max(other.largest);
    }

    /// Returns whether further numbers cannot change a reader's decision.
    pub(super) fn is_known(&self) -> bool {
        self.short > 0 && !self.counts_all
    }
}

/// Returns the unit of the last significant digit of a short number, or `None` for a longer one.
fn last_unit(decimal: Decimal) -> Option<f64> {
    let Decimal { mut digits, mut exponent, .. } = decimal;
    while digits != 0 && digits.is_multiple_of(10) {
        digits /= 10;
        exponent += 1;
    }
    (digits < 10u64.pow(SHORT_DIGITS)).then(|| 10f64.powi(exponent))
}

/// Numbers in rows of equal width, some of which are coordinates.
#[derive(Clone, Copy)]
pub(super) struct CoordinateRun<'a> {
    /// All numbers, in complete rows. The safety conditions of [`NumberRun`] hold.
    pub(super) numbers: NumberRun<'a>,
    pub(super) shape: RowShape,
}

impl CoordinateRun<'_> {
    /// Converts numbers until one is not decimal with up to 19 digits. Returns the number of complete rows. `singles`
    /// and, unless empty, `doubles` must have [`TOGETHER`] elements after the last number.
    ///
    /// # Safety
    /// As for [`NumberRun::f32s`].
    pub(super) unsafe fn convert(self, singles: &mut [f32], doubles: &mut [f64], loss: &mut DigitLoss) -> usize {
        let numbers = self.numbers;
        let count = numbers.own_ends().len();
        let mut is_suspicious = false;
        let unchecked = RefCell::new(Unchecked::default());
        let mut converted = runs(
            count,
            singles,
            // SAFETY: this function's conditions are the same.
            |out, at| unsafe { numbers.part(at, count - at).checked_f32s(&mut out[at..], &mut is_suspicious) },
            |out, at, end| {
                unchecked.borrow_mut().add(at..end);
                // SAFETY: as above.
                unsafe { numbers.part(at, end - at).long_f32s(&mut out[at..]) }
            },
            |out, at| {
                unchecked.borrow_mut().add(at..at + 1);
                numbers.decimal(at).and_then(Decimal::f32).map(|value| out[at] = value).is_some()
            },
        );
        if !doubles.is_empty() {
            // SAFETY: as above.
            converted = unsafe { self.convert_doubles(converted, doubles) };
        }
        let rows = converted / self.shape.width;
        let unchecked = unchecked.into_inner();
        if (is_suspicious || unchecked.is_any) && !loss.is_known() {
            self.note(rows, is_suspicious, &unchecked, loss);
        }
        rows
    }

    /// Converts the first `count` numbers to doubles. Returns the count of converted numbers.
    ///
    /// # Safety
    /// As for [`NumberRun::f32s`].
    unsafe fn convert_doubles(self, count: usize, doubles: &mut [f64]) -> usize {
        let numbers = self.numbers.part(0, count);
        let mut marks = [0; MAX_WIDTH * ROWS + TOGETHER];
        runs(
            count,
            &mut (doubles, &mut marks[..]),
            // SAFETY: this function's conditions are the same.
            |(out, marks), at| unsafe { numbers.part(at, count - at).f64s(&mut out[at..], &mut marks[at..]) },
            // SAFETY: as above.
            |(out, marks), at, end| unsafe { numbers.part(at, end - at).long_f64s(&mut out[at..], &mut marks[at..]) },
            |(out, _), at| numbers.decimal(at).and_then(Decimal::f64).map(|value| out[at] = value).is_some(),
        )
    }

    /// Adds the losses of the coordinates in the first `rows` rows. Unless `is_suspicious`, only unchecked numbers can
    /// lose precision.
    #[cold]
    fn note(self, rows: usize, is_suspicious: bool, unchecked: &Unchecked, loss: &mut DigitLoss) {
        let RowShape { width, coordinates: (first, end), .. } = self.shape;
        for row in 0..rows {
            for at in row * width + first..row * width + end {
                if !is_suspicious && !unchecked.has(at) {
                    continue;
                }
                let Some(token) = self.numbers.token(self.numbers.own_ends()[at] as usize) else { continue };
                loss.note(token);
                if loss.is_known() {
                    return;
                }
            }
        }
    }
}

/// Numbers of a run that were converted without checking their loss.
#[derive(Default)]
struct Unchecked {
    is_any: bool,
    marks: [u64; (MAX_WIDTH * ROWS).div_ceil(64)],
}

impl Unchecked {
    fn add(&mut self, range: Range<usize>) {
        self.is_any = true;
        range.for_each(|at| self.marks[at / 64] |= 1 << (at % 64));
    }

    fn has(&self, at: usize) -> bool {
        self.marks[at / 64] >> (at % 64) & 1 != 0
    }
}

/// Returns whether a token certainly has few enough digits for an f32: at most six, and no exponent, an exponent of one
/// digit, or an exponent below 30. Many such numbers are noise around 0, and checking them with [`DigitLoss::add`]
/// would take longer than converting all other numbers.
fn is_brief(token: &[u8]) -> bool {
    let is_mark = |byte: &u8| byte | 0x20 == b'e';
    let at = token.iter().position(is_mark).unwrap_or(token.len());
    let digits = token[..at].iter().filter(|byte| byte.is_ascii_digit()).count();
    let exponent = token.get(at + 1..).unwrap_or_default();
    let exponent = exponent.strip_prefix(b"-").or(exponent.strip_prefix(b"+")).unwrap_or(exponent);
    digits <= 6 && matches!(exponent, [] | [_] | [b'0'..=b'2', _])
}

/// Returns whether a token certainly has more than [`SHORT_DIGITS`] significant digits, judging by its length: it has
/// no exponent, and neither its first nor its last digit is 0. Such numbers so rarely equal their f32s that they count
/// as losses. This check is much faster than [`DigitLoss::add`].
fn length_alone(token: &[u8]) -> bool {
    let token = token.strip_prefix(b"-").unwrap_or(token);
    let is_plain_end = token.last().is_some_and(|byte| matches!(byte, b'1'..=b'9'));
    // Exponents end in digits, too: at most a letter, a sign and three digits.
    let has_exponent = token.iter().rev().take(5).any(|byte| byte | 0x20 == b'e');
    let digits = token.strip_prefix(b"0.").unwrap_or(token);
    let is_plain_start = digits.first().is_some_and(|byte| matches!(byte, b'1'..=b'9'));
    is_plain_end && is_plain_start && !has_exponent && digits.len() > SHORT_DIGITS as usize + 1
}

/// Parses rows of a keyword and `N` numbers (3 to 7), starting with three coordinates, into f32s and, unless `doubles`
/// is empty, into f64s. Returns the number of lines parsed from `line` on. Adds the precision that the coordinates lose
/// as f32s to `loss`.
///
/// Accepts any decimal notation with up to 19 digits. Stops at values that are infinite or subnormal as an f32, and may
/// stop at values halfway between two f32s. Leaves the outputs after the parsed rows unchanged.
pub fn position_rows<const N: usize>(
    window: Window<'_>,
    line: usize,
    keyword: &[u8],
    singles: &mut [[f32; N]],
    doubles: &mut [[f64; N]],
    loss: &mut DigitLoss,
) -> usize {
    const { assert!(N >= 3 && N <= 7) };
    let Some(keyword) = LineKeyword::new(keyword).filter(|_| window.fits()) else { return 0 };
    let has_doubles = !doubles.is_empty();
    let room = if has_doubles { singles.len().min(doubles.len()) } else { singles.len() };
    let count = window.index.lines().len().saturating_sub(line).min(room);
    let mut batch = Batch::new();
    let mut parsed = 0;
    while parsed < count {
        let batch_rows = (count - parsed).min(ROWS);
        let alike = window.row_ends::<N>(line + parsed, keyword, &mut batch.ends[..batch_rows * N]);
        let shape = RowShape { width: N, coordinates: (0, 3), has_doubles };
        // SAFETY: the ends are of whole lines of the index: at least 64 (PADDING) bytes into the text, and inside it
        // because of `fits()`.
        let rows = unsafe { batch.convert(window, 0..alike, shape, loss) };
        singles[parsed..parsed + rows].as_flattened_mut().copy_from_slice(&batch.singles[..rows * N]);
        if has_doubles {
            doubles[parsed..parsed + rows].as_flattened_mut().copy_from_slice(&batch.doubles[..rows * N]);
        }
        parsed += rows;
        if rows < batch_rows {
            break;
        }
    }
    parsed
}

/// Parses the tokens from `first` on as rows of `width` numbers (3 to 12), starting with three coordinates. Returns the
/// number of rows parsed. Otherwise like [`position_rows`], but ignores line ends.
pub fn position_tokens(
    window: Window<'_>,
    first: usize,
    width: usize,
    singles: &mut [f32],
    doubles: &mut [f64],
    loss: &mut DigitLoss,
) -> usize {
    if !window.fits() || !(3..=MAX_WIDTH).contains(&width) {
        return 0;
    }
    let has_doubles = !doubles.is_empty();
    let room = if has_doubles { singles.len().min(doubles.len()) } else { singles.len() };
    let ends = window.ends(first, room / width * width);
    let mut batch = Batch::new();
    let mut parsed = 0;
    for ends in ends.chunks(ROWS * width) {
        let rows = ends.len() / width;
        batch.ends[..ends.len()].copy_from_slice(ends);
        let shape = RowShape { width, coordinates: (0, 3), has_doubles };
        // SAFETY: as in `position_rows`.
        let converted = unsafe { batch.convert(window, 0..rows, shape, loss) };
        let numbers = parsed * width..(parsed + converted) * width;
        let count = numbers.len();
        singles[numbers.clone()].copy_from_slice(&batch.singles[..count]);
        if has_doubles {
            doubles[numbers].copy_from_slice(&batch.doubles[..count]);
        }
        parsed += converted;
        if converted < rows {
            break;
        }
    }
    parsed
}

/// Layout of a row of numbers.
#[derive(Clone, Copy)]
pub(super) struct RowShape {
    pub(super) width: usize,
    /// Index of the first coordinate in a row, and the index after the last.
    pub(super) coordinates: (usize, usize),
    /// Whether to compute doubles.
    pub(super) has_doubles: bool,
}

/// Buffers for a batch of rows.
pub(super) struct Batch {
    pub(super) ends: [u32; MAX_WIDTH * ROWS + TOGETHER],
    pub(super) singles: [f32; MAX_WIDTH * ROWS + TOGETHER],
    pub(super) doubles: [f64; MAX_WIDTH * ROWS + TOGETHER],
}

impl Batch {
    pub(super) fn new() -> Batch {
        const SIZE: usize = MAX_WIDTH * ROWS + TOGETHER;
        Batch { ends: [0; SIZE], singles: [0.0; SIZE], doubles: [0.0; SIZE] }
    }

    /// Converts rows with known ends until a number is not decimal. Returns the number of complete rows.
    ///
    /// # Safety
    /// `window.fits()`, and the ends are from its index.
    pub(super) unsafe fn convert(
        &mut self,
        window: Window<'_>,
        rows: Range<usize>,
        shape: RowShape,
        loss: &mut DigitLoss,
    ) -> usize {
        let start = rows.start * shape.width;
        let end = rows.end * shape.width;
        if start >= end {
            return 0;
        }
        // Kernels read a few ends after the last one, which must be valid, and write as many numbers.
        let after: [u32; TOGETHER] = std::array::from_fn(|at| self.ends[end + at]);
        let last = self.ends[end - 1];
        self.ends[end..][..TOGETHER].fill(last);
        let ends = &self.ends[start..end + TOGETHER];
        let level = window.level.usable();
        let numbers = NumberRun { padded: window.padded, ends, preceding: Preceding::Token, level };
        let doubles = if shape.has_doubles { &mut self.doubles[start..] } else { &mut [] };
        // SAFETY: the caller's promise; `usable()` returned the level.
        let whole = unsafe { CoordinateRun { numbers, shape }.convert(&mut self.singles[start..], doubles, loss) };
        self.ends[end..][..TOGETHER].copy_from_slice(&after);
        whole
    }
}

impl Window<'_> {
    /// Stores the ends of the numbers in rows of a keyword and `N` numbers from `line` on. Returns the number of rows
    /// with this layout.
    #[inline]
    fn row_ends<const N: usize>(&self, line: usize, keyword: LineKeyword, out: &mut [u32]) -> usize {
        let (rows, _) = out.as_chunks_mut::<N>();
        let count = rows.len();
        let mut alike = 0;
        if N == 3 {
            // Four rows fill the ends that one check covers.
            for four in rows.as_chunks_mut::<4>().0 {
                let Some(ends) = self.rows::<N, 4>(line + alike, keyword) else { break };
                for (row, ends) in four.iter_mut().zip(ends.as_chunks::<4>().0) {
                    row.copy_from_slice(&ends[1..=N]);
                }
                alike += 4;
            }
        }
        for row in &mut rows[alike..] {
            let Some(ends) = self.rows::<N, 1>(line + alike, keyword) else { break };
            row.copy_from_slice(&ends[1..=N]);
            alike += 1;
        }
        alike.min(count)
    }
}

impl<'a> NumberRun<'a> {
    /// Returns the text of the number that ends at `end`, unless it is too long.
    fn token(&self, end: usize) -> Option<&'a [u8]> {
        tokens::token_before(self.padded, end)
    }

    fn decimal(&self, index: usize) -> Option<Decimal> {
        tokens::long(self.padded, self.ends[index] as usize)
    }
}
