//! Parses text lines into rows, many numbers at a time, as long as every line is a row.
//!
//! Parses a chunk up to the first line that is not a row of the expected element. Reports the position of this line but
//! not the fault; [`super::words`] continues from there.

use super::header::Element;
use super::layout::PlyLayout;
use super::rows::PlyRowsTarget;
use super::sink::PlySink;
use super::words::{Fed, PlyWordsProgress, push, words};
use polyhaul_model::Scalar;
use polyhaul_model::error::{Error, Result, try_push};
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::number;
use polyhaul_text::parse::rows::Window;
use polyhaul_text::parse::tokens::{self, TokenPrecision};
use polyhaul_text::scan::{Index, MAX_ENDS};
use std::ops::Range;

/// Rows per step until an f64 is found that an f32 cannot represent exactly.
const PROBED_ROWS: usize = 64;

/// The order of rows in a file: element by element.
pub(super) struct PlyLinesOrder {
    /// Number of rows up to the end of each element.
    ends: Vec<u64>,
    forms: Vec<PlyForm>,
}

/// Form of an element's lines.
enum PlyForm {
    /// This many f32s and nothing else.
    Floats(usize),
    /// Numbers of these types. `narrows`: f64s are stored only as f32s.
    Numbers { columns: Vec<Scalar>, narrows: bool },
    /// A single list of integers.
    List { count: Scalar, item: Scalar },
    /// Anything else.
    Any,
}

/// Consecutive rows of an element in a chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct PlySegment {
    pub(super) element: usize,
    /// Index of the first row in its element.
    pub(super) first_row: u64,
    pub(super) rows: usize,
    /// Range in the chunk's rows.
    pub(super) bytes: Range<usize>,
    /// Offset of the first row in the chunk's text.
    pub(super) text_start: usize,
    /// Offset of each row in the text, or `u32::MAX` if it starts in an earlier chunk. Empty if each row has its own
    /// line.
    pub(super) starts: Vec<u32>,
    /// Number of values of each list in the segment, and before it.
    pub(super) totals: Vec<u64>,
    pub(super) bases: Vec<u64>,
    /// Whether a number is already known to be rounded.
    rounded: bool,
}

/// Reusable buffers for the numbers of a window.
#[derive(Default)]
pub(super) struct PlyNumbers {
    floats: Vec<f32>,
    doubles: Vec<f64>,
    marks: Vec<u8>,
    integers: Vec<i32>,
    /// End of the lines of the window that are known to have as many tokens as a row: checked once, however often
    /// kernels stop.
    even_lines: usize,
}

/// Result of parsing lines.
#[derive(Default)]
pub(super) struct PlyLinesParsed {
    pub(super) rows: Vec<u8>,
    pub(super) segments: Vec<PlySegment>,
    /// Start of the first line that is not a row.
    pub(super) stop: Option<usize>,
    /// Start of the text after the last row.
    pub(super) rest: Option<usize>,
    pub(super) decimals: PlyDecimals,
}

/// Integers written as decimals.
#[derive(Clone, Debug, Default)]
pub(super) struct PlyDecimals {
    pub(super) count: u64,
    /// The first of them, in the padded text.
    pub(super) first: Option<Range<usize>>,
}

impl PlyDecimals {
    #[cold]
    pub(super) fn add(&mut self, word: Range<usize>) {
        self.count += 1;
        self.first.get_or_insert(word);
    }
}

impl PlySegment {
    /// Creates an empty segment for rows of an element, starting at row `first_row`. `at` holds its offsets in the
    /// chunk's rows and in its text.
    pub(super) fn new(
        element: usize,
        first_row: u64,
        targets: &[PlyRowsTarget<'_>],
        at: (usize, usize),
    ) -> Result<PlySegment> {
        let mut segment =
            PlySegment { element, first_row, bytes: at.0..at.0, text_start: at.1, ..PlySegment::default() };
        let lists = targets[element].sink.lists.len();
        segment.totals.try_reserve_exact(lists)?;
        segment.totals.resize(lists, 0);
        Ok(segment)
    }

    /// Counts one more row, and the values of its lists.
    pub(super) fn count(&mut self, layout: &PlyLayout, row: &[u8]) {
        self.rows += 1;
        layout.walk(row, 0, |walked| self.totals[walked.list] += u64::from(walked.count));
    }
}

impl PlyLinesOrder {
    pub(super) fn from_targets(targets: &[PlyRowsTarget<'_>]) -> Result<PlyLinesOrder> {
        let mut order = PlyLinesOrder { ends: Vec::new(), forms: Vec::new() };
        let mut end = 0u64;
        for PlyRowsTarget { element, sink, .. } in targets {
            end = end.saturating_add(element.count);
            try_push(&mut order.ends, end, "elements")?;
            try_push(&mut order.forms, PlyForm::from_element(element, sink)?, "elements")?;
        }
        Ok(order)
    }

    /// Total number of rows.
    pub(super) fn total(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Returns the element of a row, the row's index in the element, and the number of remaining rows of the element,
    /// including this one; `None` after the last row.
    pub(super) fn find(&self, row: u64) -> Option<(usize, u64, u64)> {
        let element = self.ends.partition_point(|&end| end <= row);
        let end = *self.ends.get(element)?;
        let start = if element == 0 { 0 } else { self.ends[element - 1] };
        Some((element, row - start, end - row))
    }
}

impl PlyForm {
    fn from_element(element: &Element, sink: &PlySink) -> Result<PlyForm> {
        let properties = &element.properties;
        if let [property] = properties.as_slice()
            && let Some(count) = property.count
            && !matches!(property.item, Scalar::F32 | Scalar::F64)
        {
            return Ok(PlyForm::List { count, item: property.item });
        }
        if properties.iter().any(|property| property.count.is_some()) {
            return Ok(PlyForm::Any);
        }
        let mut columns = Vec::new();
        let mut narrows = true;
        let mut at = 0;
        for property in properties {
            try_push(&mut columns, property.item, "properties")?;
            narrows &= property.item != Scalar::F64 || sink.narrows(at);
            at += property.item.bytes();
        }
        let is_single = !columns.is_empty() && columns.iter().all(|scalar| *scalar == Scalar::F32);
        Ok(if is_single { PlyForm::Floats(columns.len()) } else { PlyForm::Numbers { columns, narrows } })
    }
}

/// The text of a chunk, and the row index of its first line.
#[derive(Clone, Copy)]
pub(super) struct PlyLines<'a> {
    pub(super) order: &'a PlyLinesOrder,
    pub(super) targets: &'a [PlyRowsTarget<'a>],
    pub(super) padded: &'a [u8],
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) first_row: u64,
}

impl PlyLinesParsed {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.segments.clear();
        self.stop = None;
        self.rest = None;
        self.decimals = PlyDecimals::default();
    }
}

impl PlyLines<'_> {
    /// Parses lines into `out`, which must be empty, until a line is not a row.
    pub(super) fn parse(self, index: &mut Index, numbers: &mut PlyNumbers, out: &mut PlyLinesParsed) -> Result<()> {
        let mut at = self.start;
        let mut row = self.first_row;
        while at < self.end {
            let Some((element, first_row, left)) = self.order.find(row) else {
                out.rest = Some(at);
                return Ok(());
            };
            let mut segment = PlySegment::new(element, first_row, self.targets, (out.rows.len(), at))?;
            at = self.segment(at, left, &mut segment, index, numbers, out)?;
            segment.bytes.end = out.rows.len();
            row += segment.rows as u64;
            let is_whole = segment.rows as u64 == left || at >= self.end;
            if segment.rows > 0 {
                try_push(&mut out.segments, segment, "rows")?;
            }
            if !is_whole {
                out.stop = Some(at);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Parses up to `left` rows of one element; returns the start of the first line after them.
    fn segment(
        self,
        mut at: usize,
        left: u64,
        segment: &mut PlySegment,
        index: &mut Index,
        numbers: &mut PlyNumbers,
        out: &mut PlyLinesParsed,
    ) -> Result<usize> {
        let PlyLinesParsed { rows, decimals, .. } = out;
        let level = Level::best();
        while at < self.end && (segment.rows as u64) < left {
            // A newline after the text terminates an unterminated last line.
            index.scan(self.padded, at, self.end + 1, level);
            if index.lines().is_empty() {
                let size = memchr::memchr2(b'\n', b'\r', &self.padded[at..self.end]);
                let end = size.map_or(self.end, |size| at + size);
                if !self.line(at, end, segment, rows, decimals)? {
                    return Ok(at);
                }
                at = after_newline(self.padded, end, self.end);
                continue;
            }
            let window = Window { padded: self.padded, index, level };
            let mut line = 0;
            numbers.even_lines = 0;
            while line < index.lines().len() && index.line_start(line) < self.end && (segment.rows as u64) < left {
                let rows_left = usize::try_from(left - segment.rows as u64).unwrap_or(usize::MAX);
                let lines = line..index.lines().len().min(line.saturating_add(rows_left));
                let taken = self.plain(window, lines, segment, numbers, rows)?;
                segment.rows += taken;
                line += taken;
                if taken == 0 {
                    let start = index.line_start(line);
                    if !self.line(start, index.lines()[line].newline as usize, segment, rows, decimals)? {
                        return Ok(start);
                    }
                    line += 1;
                }
            }
            at = index.line_start(line);
        }
        Ok(at)
    }

    /// Parses one line in any notation; if it is not a row, returns `false` and adds nothing.
    fn line(
        self,
        start: usize,
        end: usize,
        segment: &mut PlySegment,
        rows: &mut Vec<u8>,
        decimals: &mut PlyDecimals,
    ) -> Result<bool> {
        let PlyRowsTarget { element, sink, .. } = self.targets[segment.element];
        let before = rows.len();
        let mut progress = PlyWordsProgress::default();
        let mut last = Fed::Part;
        // A copy, because a line that turns out not to be a row must not count.
        let mut own_decimals = decimals.clone();
        for word in words(self.padded, start, end.min(self.end)) {
            let fed = match last {
                Fed::Last => None,
                Fed::Part => progress.feed(element, &self.padded[word.clone()], rows)?.ok(),
            };
            match fed {
                Some(fed) => {
                    last = fed;
                    if progress.was_decimal {
                        own_decimals.add(word);
                    }
                }
                None => {
                    rows.truncate(before);
                    return Ok(false);
                }
            }
        }
        if last == Fed::Part {
            rows.truncate(before);
            return Ok(false);
        }
        *decimals = own_decimals;
        segment.count(&sink.layout, &rows[before..]);
        Ok(true)
    }

    /// Parses plain lines, starting at the first of `lines`; returns how many were parsed.
    fn plain(
        self,
        window: Window<'_>,
        lines: Range<usize>,
        segment: &mut PlySegment,
        numbers: &mut PlyNumbers,
        rows: &mut Vec<u8>,
    ) -> Result<usize> {
        let form = &self.order.forms[segment.element];
        let first = window.tokens(lines.start).start;
        let last = window.tokens(lines.end - 1).end;
        if window.has_slash(first..last) {
            return Ok(0);
        }
        match form {
            PlyForm::Floats(count) => {
                let same = numbers.even(window, lines, *count);
                numbers.make_room()?;
                let out = &mut numbers.floats[..(same * count).min(MAX_ENDS)];
                let whole = tokens::floats(window, first, out) / count.max(&1);
                rows.try_reserve(whole * count * 4).map_err(|_| Error::memory("rows"))?;
                rows.extend(numbers.floats[..whole * count].iter().flat_map(|number| number.to_ne_bytes()));
                Ok(whole)
            }
            PlyForm::Numbers { columns, narrows } => {
                numbers.make_room()?;
                let same = numbers.even(window, lines, columns.len());
                // Once a number is known to be rounded, digits that only reveal rounding are irrelevant.
                let is_known = *narrows && segment.rounded || !columns.contains(&Scalar::F64);
                let precision = if is_known { TokenPrecision::Single } else { TokenPrecision::Double };
                let max_rows = if *narrows && !is_known { same.min(PROBED_ROWS) } else { same };
                let taken = numbers.rows(window, first, precision, max_rows, columns, rows)?;
                segment.rounded |= *narrows && !is_known && numbers.are_rounded(columns, taken);
                Ok(taken)
            }
            PlyForm::List { count, item } => {
                numbers.make_room()?;
                let out = &mut numbers.integers[..(last - first).min(MAX_ENDS)];
                let plain = tokens::integers(window, first, out);
                // Reserve once: a count or an item takes at most 8 bytes.
                rows.try_reserve(8 * (last - first)).map_err(|_| Error::memory("rows"))?;
                let mut taken = 0;
                for line in lines {
                    let tokens = window.tokens(line);
                    let Some(words) = numbers.integers[..plain].get(tokens.start - first..tokens.end - first) else {
                        break;
                    };
                    let Some(size) = push_list(*count, *item, words, rows) else { break };
                    segment.totals[0] += size;
                    taken += 1;
                }
                Ok(taken)
            }
            PlyForm::Any => Ok(0),
        }
    }
}

/// Returns the start of the line after the newline at `at`.
fn after_newline(text: &[u8], at: usize, end: usize) -> usize {
    match text.get(at..(at + 2).min(end)) {
        Some(b"\r\n") => at + 2,
        _ => at + 1,
    }
}

/// Appends a list and returns its length. Returns `None` and appends nothing if the words do not form a list.
#[inline]
fn push_list(count: Scalar, item: Scalar, words: &[i32], rows: &mut Vec<u8>) -> Option<u64> {
    let (&size, items) = words.split_first()?;
    if usize::try_from(size) != Ok(items.len()) {
        return None;
    }
    if let [a, b, c] = items
        && count == Scalar::U8
        && item == Scalar::I32
    {
        // Fast path for the usual type of triangle lists: reading such a mesh takes 0.93 of the time
        // (`read ply style blender`).
        let [[a0, a1, a2, a3], [b0, b1, b2, b3], [c0, c1, c2, c3]] = [a, b, c].map(|item| item.to_ne_bytes());
        rows.extend_from_slice(&[3, a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3]);
        return Some(3);
    }
    let before = rows.len();
    let mut fits = push(count, i64::from(size), rows);
    match item {
        Scalar::I32 => items.iter().for_each(|number| rows.extend_from_slice(&number.to_ne_bytes())),
        _ => fits = fits && items.iter().all(|&number| push(item, i64::from(number), rows)),
    }
    if !fits {
        rows.truncate(before);
        return None;
    }
    Some(items.len() as u64)
}

impl PlyNumbers {
    fn make_room(&mut self) -> Result<()> {
        if self.floats.is_empty() {
            self.floats.try_reserve_exact(MAX_ENDS)?;
            self.floats.resize(MAX_ENDS, 0.0);
            self.doubles.try_reserve_exact(MAX_ENDS)?;
            self.doubles.resize(MAX_ENDS, 0.0);
            self.marks.try_reserve_exact(MAX_ENDS)?;
            self.marks.resize(MAX_ENDS, 0);
            self.integers.try_reserve_exact(MAX_ENDS)?;
            self.integers.resize(MAX_ENDS, 0);
        }
        Ok(())
    }

    /// Returns how many lines in a row, starting at the first of `lines`, have `count` tokens.
    fn even(&mut self, window: Window<'_>, lines: Range<usize>, count: usize) -> usize {
        let counted = self.even_lines.clamp(lines.start, lines.end);
        let more = (counted..lines.end).take_while(|&line| window.tokens(line).len() == count).count();
        self.even_lines = counted + more;
        self.even_lines - lines.start
    }

    /// Returns whether any of the first `rows` rows has an f64 that an f32 cannot represent exactly.
    fn are_rounded(&self, columns: &[Scalar], rows: usize) -> bool {
        let is_rounded = |value: f64| f64::from(value as f32) != value && !value.is_nan();
        let in_row = |row: &[f64]| columns.iter().zip(row).any(|(&of, &value)| of == Scalar::F64 && is_rounded(value));
        self.doubles.chunks(columns.len().max(1)).take(rows).any(in_row)
    }

    /// Appends up to `max_rows` rows of numbers of these types, starting at token `first`; returns how many were
    /// appended.
    fn rows(
        &mut self,
        window: Window<'_>,
        first: usize,
        precision: TokenPrecision,
        max_rows: usize,
        columns: &[Scalar],
        rows: &mut Vec<u8>,
    ) -> Result<usize> {
        let width = columns.len();
        if width == 0 {
            return Ok(max_rows);
        }
        let max_rows = max_rows.min(MAX_ENDS / width);
        let stride = columns.iter().map(|scalar| scalar.bytes()).sum::<usize>();
        let values = &mut self.doubles[..max_rows * width];
        let marks = &mut self.marks[..max_rows * width];
        let mut whole = tokens::doubles(window, first, precision, values, marks) / width;
        if whole == 0 {
            return Ok(0);
        }
        let before = rows.len();
        rows.try_reserve(whole * stride).map_err(|_| Error::memory("rows"))?;
        rows.resize(before + whole * stride, 0);
        let mut offset = before;
        for (column, &scalar) in columns.iter().enumerate() {
            let values = self.doubles[column..].iter().step_by(width).zip(self.marks[column..].iter().step_by(width));
            let places = rows[offset..].chunks_mut(stride);
            whole = fill(scalar, values.zip(places).take(whole));
            offset += scalar.bytes();
        }
        rows.truncate(before + whole * stride);
        Ok(whole)
    }
}

/// Writes numbers to the start of their slots until one is invalid for the type; returns how many were written.
fn fill<'a>(scalar: Scalar, numbers: impl Iterator<Item = ((&'a f64, &'a u8), &'a mut [u8])>) -> usize {
    macro_rules! fill {
        ($type:ty, $convert:expr) => {{
            let convert = $convert;
            let place = |((&value, &mark), place): ((&f64, &u8), &mut [u8])| -> Option<()> {
                let number: $type = convert(value, mark)?;
                place.first_chunk_mut().map(|place| *place = number.to_ne_bytes())
            };
            numbers.map_while(place).count()
        }};
    }
    macro_rules! fill_integers {
        ($type:ty) => {
            fill!($type, |value: f64, mark: u8| {
                let number = value as $type;
                (mark == 0 && number as f64 == value).then_some(number)
            })
        };
    }
    match scalar {
        Scalar::I8 => fill_integers!(i8),
        Scalar::U8 => fill_integers!(u8),
        Scalar::I16 => fill_integers!(i16),
        Scalar::U16 => fill_integers!(u16),
        Scalar::I32 => fill_integers!(i32),
        Scalar::U32 => fill_integers!(u32),
        Scalar::I64 => fill_integers!(i64),
        Scalar::U64 => fill_integers!(u64),
        Scalar::F32 => fill!(f32, |value, _| number::narrow(value)),
        Scalar::F64 => fill!(f64, |value, _| Some(value)),
    }
}
