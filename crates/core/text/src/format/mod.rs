//! Formats numbers and lines as text, appended to the caller's buffer.
//!
//! [`Page`] is a cursor that appends single values: bytes, integers, and floats with fixed or shortest digits.
//! [`FixedLine`] and [`IndexLine`] describe whole lines of several values (`v 1.5 0 2`, `f 1/1/1 2/2/1 3/3/1`), which a
//! page writes after one check of its room; [`NumberLines`] describes the text between the numbers of a list.
//!
//! [`RowFormat`] compiles a template (`"{flag:y/n} {value:.2f}\n"`, or a `printf` one) once and runs it over rows of
//! typed columns.
//!
//! Only compiling a template allocates, no value causes a panic, the locale is ignored, and the bytes are the same on
//! every machine. Text that does not fit is dropped as a whole; single values and lines then set [`Page::overflowed`],
//! and batches return the number of values or lines that fit.
//!
//! Where to look next: `fixed` (how `%.6f` takes 3 ns), `exact` and `big` (values that `fixed` cannot handle),
//! `significant` and `scientific` (`%e` and `%g`, with `power` and `digits`), `shortest`, `lanes` (shortest digits of
//! many values at once), `integer`, `line` (whole lines), `lines` (lists), `x86` (whole lines with AVX-512), `row`
//! (compiled templates), `pen` (the unchecked stores).
//!
//! ```
//! use polyhaul_text::format::{FixedLine, IndexLine, Page};
//!
//! let mut buffer = [0; 256];
//! let mut page = Page::new(&mut buffer);
//! page.fixed_line(&FixedLine::new(b"v ", 6), [1.0_f32, -0.5, 1e6]);
//! page.index_line(&IndexLine::new(b"f"), [[1, 4, 2], [2, 5, 2], [3, 6, 2]]);
//! assert_eq!(page.as_bytes(), b"v 1.000000 -0.500000 1000000.000000\nf 1/4/2 2/5/2 3/6/2\n");
//! ```

mod big;
mod digits;
mod exact;
mod fixed;
mod integer;
mod lanes;
mod line;
mod lines;
mod parsed;
mod pen;
mod power;
mod row;
mod scientific;
mod shortest;
mod significant;
#[cfg(target_arch = "x86_64")]
mod x86;

use fixed::Scale;
use pen::{Pen, SLACK};

pub use fixed::{MAX_DIGITS, Real};
pub use line::{FixedLine, IndexLine};
pub use lines::NumberLines;
pub use row::{
    BoundFormat, ColumnsError, MAX_PRECISION, MAX_WIDTH, PrintfDialect, RowFormat, RowValueError, StridedColumn,
    TemplateError, TemplateProblem, ValueType,
};

/// Maximum length of the text of [`Page::u32`] in bytes.
pub const MAX_U32: usize = 10;
/// Maximum length of the text of [`Page::i32`] in bytes.
pub const MAX_I32: usize = 11;
/// Maximum length of the text of [`Page::u64`] in bytes.
pub const MAX_U64: usize = 20;
/// Maximum length of the text of [`Page::i64`] in bytes.
pub const MAX_I64: usize = 20;
/// Maximum length of the text of [`Page::fixed_f32`] in bytes, with [`MAX_DIGITS`]: sign, 39 digits, point, 12 digits.
pub const MAX_FIXED_F32: usize = 1 + 39 + 1 + MAX_DIGITS;
/// Maximum length of the text of [`Page::fixed_f64`] in bytes, with [`MAX_DIGITS`]: sign, 309 digits, point, 12 digits.
pub const MAX_FIXED_F64: usize = 1 + 309 + 1 + MAX_DIGITS;
/// Maximum length of the text of [`Page::shortest_f32`] in bytes: `-0.00000123456789`.
pub const MAX_SHORTEST_F32: usize = 17;
/// Maximum length of the text of [`Page::shortest_f64`] in bytes: `-2.2250738585072014e-308`.
pub const MAX_SHORTEST_F64: usize = 24;

/// Cursor that appends text to a fixed-size buffer.
///
/// Each method that appends one value or line appends all of its text or nothing. If it does not fit, a flag is set
/// that stays until [`clear`](Self::clear) or [`truncate`](Self::truncate), so one check at the end suffices.
///
/// The bytes of the buffer past the text are scratch space.
#[derive(Debug)]
pub struct Page<'a> {
    buffer: &'a mut [u8],
    len: usize,
    overflowed: bool,
}

impl<'a> Page<'a> {
    /// Creates an empty page over all of `buffer`.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, len: 0, overflowed: false }
    }

    /// Returns the length of the text in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the page has no text.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of bytes that still fit.
    #[inline]
    pub fn room(&self) -> usize {
        self.buffer.len() - self.len
    }

    /// Returns whether any text did not fit.
    #[inline]
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Returns the text so far.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    /// Returns the length of the text, unless the page overflowed.
    fn fitted(&self) -> Option<usize> {
        (!self.overflowed).then_some(self.len)
    }

    /// Drops all text and clears the overflow flag.
    #[inline]
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Drops the text past `len`, if any, and clears the overflow flag.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        self.overflowed = false;
    }

    /// Runs `write`, and removes its text again unless all of it fits. Returns whether it fits.
    ///
    /// ```
    /// # use polyhaul_text::format::Page;
    /// let mut buffer = [0; 8];
    /// let mut page = Page::new(&mut buffer);
    /// assert!(page.whole(|page| { page.bytes(b"o "); page.u32(12) }));
    /// assert!(!page.whole(|page| { page.bytes(b"o "); page.u32(12345) }));
    /// assert_eq!(page.as_bytes(), b"o 12");
    /// assert!(page.overflowed());
    /// ```
    #[inline]
    pub fn whole(&mut self, write: impl FnOnce(&mut Self)) -> bool {
        let start = self.len;
        let before = std::mem::replace(&mut self.overflowed, false);
        write(self);
        let fitted = !self.overflowed;
        if !fitted {
            self.len = start;
        }
        self.overflowed |= before;
        fitted
    }

    /// Appends one byte.
    #[inline]
    pub fn byte(&mut self, byte: u8) {
        match self.buffer.get_mut(self.len) {
            Some(slot) => {
                *slot = byte;
                self.len += 1;
            }
            None => self.overflowed = true,
        }
    }

    /// Appends bytes unchanged.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        match self.buffer[self.len..].get_mut(..bytes.len()) {
            Some(slots) => {
                slots.copy_from_slice(bytes);
                self.len += bytes.len();
            }
            None => self.overflowed = true,
        }
    }

    /// Appends an integer in decimal.
    #[inline]
    pub fn u32(&mut self, value: u32) {
        // SAFETY: `integer::u32` needs 11 bytes of room, `MAX_U32 + 1`, and stores no further.
        unsafe { self.append::<{ MAX_U32 + 1 }>(|pen| integer::u32(pen, value)) }
    }

    /// Appends an integer in decimal.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        // SAFETY: `integer::u64` needs 21 bytes of room, `MAX_U64 + 1`, and stores no further.
        unsafe { self.append::<{ MAX_U64 + 1 }>(|pen| integer::u64(pen, value)) }
    }

    /// Appends an integer in decimal, after a `-` if it is negative.
    #[inline]
    pub fn i32(&mut self, value: i32) {
        // SAFETY: `integer::i32` needs 12 bytes of room, `MAX_I32 + 1`, and stores no further.
        unsafe { self.append::<{ MAX_I32 + 1 }>(|pen| integer::i32(pen, value)) }
    }

    /// Appends an integer in decimal, after a `-` if it is negative.
    #[inline]
    pub fn i64(&mut self, value: i64) {
        // SAFETY: `integer::i64` needs 21 bytes of room, `MAX_I64 + 1`, and stores no further.
        unsafe { self.append::<{ MAX_I64 + 1 }>(|pen| integer::i64(pen, value)) }
    }

    /// Appends `value` with `digits` decimals, exactly as C's `printf("%.*f")`.
    ///
    /// Rounds the exact binary value to nearest, ties to even; keeps the sign of zero and NaN; writes `nan`, `-nan`,
    /// `inf`, `-inf`. Omits the point if `digits` is 0. `digits` is capped at [`MAX_DIGITS`].
    ///
    /// ```
    /// # use polyhaul_text::format::Page;
    /// # let mut buffer = [0; 64];
    /// # let mut page = Page::new(&mut buffer);
    /// page.fixed_f32(0.1, 12);
    /// assert_eq!(page.as_bytes(), b"0.100000001490");
    /// ```
    #[inline]
    pub fn fixed_f32(&mut self, value: f32, digits: usize) {
        let scale = Scale::new(digits);
        // SAFETY: `fixed` needs `MAX_FIXED_BYTES + SLACK` bytes for an f32, and stores no further.
        unsafe { self.append::<{ MAX_FIXED_F32 + SLACK }>(|pen| fixed::fixed(pen, value, scale)) }
    }

    /// Appends `value` with `digits` decimals, like [`fixed_f32`](Self::fixed_f32).
    ///
    /// ```
    /// # use polyhaul_text::format::Page;
    /// # let mut buffer = [0; 64];
    /// # let mut page = Page::new(&mut buffer);
    /// page.fixed_f64(-0.125, 2);
    /// assert_eq!(page.as_bytes(), b"-0.12");
    /// ```
    #[inline]
    pub fn fixed_f64(&mut self, value: f64, digits: usize) {
        let scale = Scale::new(digits);
        // SAFETY: `fixed` needs `MAX_FIXED_BYTES + SLACK` bytes for an f64, and stores no further.
        unsafe { self.append::<{ MAX_FIXED_F64 + SLACK }>(|pen| fixed::fixed(pen, value, scale)) }
    }

    /// Appends the shortest digits that a correctly rounding parser reads back as the same f32.
    ///
    /// Zero and values from 1e-6 to below 1e13 in magnitude are written as plain decimals (`100`, `0.5`, `-0`). Other
    /// values have one digit before the point and an exponent without `+` or leading zeros (`1e-7`, `1.5e20`). Integers
    /// have no point. Writes `nan`, `-nan`, `inf` and `-inf` like [`fixed_f32`](Self::fixed_f32).
    ///
    /// ```
    /// # use polyhaul_text::format::Page;
    /// # let mut buffer = [0; 64];
    /// # let mut page = Page::new(&mut buffer);
    /// page.shortest_f32(0.1);
    /// assert_eq!(page.as_bytes(), b"0.1");
    /// ```
    #[inline]
    pub fn shortest_f32(&mut self, value: f32) {
        shortest::shortest_f32(self, value);
    }

    /// Appends the shortest digits that a correctly rounding parser reads back as the same f64.
    ///
    /// Like [`shortest_f32`](Self::shortest_f32), but plain decimals extend from 1e-5 to below 1e16 in magnitude.
    #[inline]
    pub fn shortest_f64(&mut self, value: f64) {
        shortest::shortest_f64(self, value);
    }

    /// Appends an f32 in the notation of [`NumberLines::python`].
    fn python_f32(&mut self, value: f32) {
        shortest::python_f32(self, value);
    }

    /// Appends an f64 in the notation of [`NumberLines::python`].
    fn python_f64(&mut self, value: f64) {
        shortest::python_f64(self, value);
    }

    /// Appends `values` with shortest digits, each followed by the text that `lines` describes. `first` is the index of
    /// the first value in the list. Returns the number of values that fit. The digits are the same as with
    /// [`shortest_f32`](Self::shortest_f32) and [`shortest_f64`](Self::shortest_f64), but are computed for many values
    /// at a time.
    ///
    /// ```
    /// # use polyhaul_text::format::{NumberLines, Page};
    /// let mut buffer = [0; 64];
    /// let mut page = Page::new(&mut buffer);
    /// let rows = NumberLines::new(2, b',', [b"\n"]);
    /// assert_eq!(page.shortest_lines(&rows, 0, &[1.0_f32, 0.1, -2.5, 1e-9]), 4);
    /// assert_eq!(page.as_bytes(), b"1,0.1\n-2.5,1e-9\n");
    /// ```
    pub fn shortest_lines<R: Real, const E: usize>(
        &mut self,
        lines: &NumberLines<'_, E>,
        first: usize,
        values: &[R],
    ) -> usize {
        lanes::shortest(self, lines, first, values)
    }

    /// Appends `values`, each followed by the text that `lines` describes. `first` is the index of the first value in
    /// the list. Returns the number of values that fit.
    pub fn integer_lines<const E: usize>(&mut self, lines: &NumberLines<'_, E>, first: usize, values: &[i32]) -> usize {
        lines::integers(self, lines, first, values)
    }

    /// Appends a line of `N` values with fixed digits.
    #[inline]
    pub fn fixed_line<const N: usize, R: Real>(&mut self, line: &FixedLine<'_>, values: [R; N]) {
        if self.fixed_lines(line, &[values]) == 0 {
            self.overflowed = true;
        }
    }

    /// Appends a line per row while they fit. Returns the number of rows written.
    ///
    /// Rows that do not fit leave the overflow flag unset: flush the page and continue with them. If there are rows,
    /// returns 0 only if the first line is longer than the room. This is the fastest way to write numbers, especially
    /// with AVX-512.
    ///
    /// ```
    /// # use polyhaul_text::format::{FixedLine, Page};
    /// let mut buffer = [0; 20];
    /// let mut page = Page::new(&mut buffer);
    /// let rows = [[1.0_f32, 2.0], [3.0, 4.0], [5.0, 6.0]];
    /// assert_eq!(page.fixed_lines(&FixedLine::new(b"", 1), &rows), 2);
    /// assert_eq!(page.as_bytes(), b"1.0 2.0\n3.0 4.0\n");
    /// assert!(!page.overflowed());
    /// ```
    #[inline]
    pub fn fixed_lines<const N: usize, R: Real>(&mut self, line: &FixedLine<'_>, rows: &[[R; N]]) -> usize {
        line::fixed_lines(self, line, rows)
    }

    /// Appends a line of groups of `K` indices each.
    ///
    /// ```
    /// # use polyhaul_text::format::{IndexLine, Page};
    /// # let mut buffer = [0; 64];
    /// # let mut page = Page::new(&mut buffer);
    /// page.index_line(&IndexLine::new(b"3"), [[0], [1], [2]]);
    /// page.index_line(&IndexLine::new(b"f").double_joint(b'/'), [[1, 9], [2, 9], [3, 9]]);
    /// assert_eq!(page.as_bytes(), b"3 0 1 2\nf 1//9 2//9 3//9\n");
    /// ```
    #[inline]
    pub fn index_line<const K: usize, I>(&mut self, line: &IndexLine<'_>, corners: I)
    where
        I: IntoIterator<Item = [u32; K], IntoIter: ExactSizeIterator>,
    {
        line::index_line(self, line, corners.into_iter());
    }

    /// Appends the text stored by `write`.
    ///
    /// # Safety
    /// `write` must store at most `MAX` bytes from its pen and return a pen at most `MAX` bytes further.
    #[inline(always)]
    unsafe fn append<const MAX: usize>(&mut self, write: impl FnOnce(Pen) -> Pen) {
        if self.room() < MAX {
            // SAFETY: the condition on `write` is the same.
            let written = unsafe { append_if_it_fits::<MAX>(self.rest(), write) };
            return self.accept(written);
        }
        let start = self.pen();
        self.len += write(start).since(start);
    }

    /// Returns a page over the free room of this one. If rare paths receive it instead of the page itself, the compiler
    /// can keep the page in registers (measure with `tools/bench/benches/format.rs`).
    #[inline(always)]
    fn rest(&mut self) -> Page<'_> {
        Page::new(&mut self.buffer[self.len..])
    }

    /// Adds the text written to [`rest`](Self::rest), or records that it did not fit.
    #[inline(always)]
    fn accept(&mut self, written: Option<usize>) {
        match written {
            Some(count) => self.len += count,
            None => self.overflowed = true,
        }
    }

    /// Returns a pen at the end of the text; `room()` bytes from there are inside the buffer.
    #[inline(always)]
    fn pen(&mut self) -> Pen {
        Pen::new(self.buffer[self.len..].as_mut_ptr())
    }

    /// Adds the text stored by a pen from [`pen`](Self::pen).
    ///
    /// # Safety
    /// `end` must come from this page's [`pen`](Self::pen) and lie inside the buffer.
    #[inline(always)]
    unsafe fn take(&mut self, end: Pen) {
        self.len = end.since(Pen::new(self.buffer.as_mut_ptr()));
    }
}

/// [`Page::append`] near the end of the buffer, through a scratch buffer. Returns the number of bytes appended, or
/// `None` if the text does not fit.
///
/// # Safety
/// As for [`Page::append`].
#[cold]
#[inline(never)]
unsafe fn append_if_it_fits<const MAX: usize>(mut page: Page<'_>, write: impl FnOnce(Pen) -> Pen) -> Option<usize> {
    let mut scratch = [0u8; MAX];
    let start = Pen::new(scratch.as_mut_ptr());
    let len = write(start).since(start);
    page.bytes(&scratch[..len]);
    page.fitted()
}
