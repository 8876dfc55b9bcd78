//! The layout of an element's rows: numbers, and lists, each preceded by its count.
//!
//! A row without lists has a fixed size. A row with lists is walked from count to count, unless all rows are assumed to
//! have the same counts; then it has a fixed size too ([`PlyShape`]). This module only computes offsets:
//! [`super::scatter`] moves the numbers.

use super::header::Element;
use polyhaul_model::Scalar;
use polyhaul_model::error::{Error, Result};

/// A list in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListType {
    pub(super) count: Scalar,
    pub(super) item: Scalar,
}

/// The parts of a row, in order: a gap of plain numbers, a list, a gap, a list, and so on, ending with a gap. Gaps can
/// be empty.
#[derive(Clone, Debug, Default)]
pub(super) struct PlyLayout {
    /// Bytes of each gap; there is one more gap than lists.
    pub(super) gaps: Vec<usize>,
    pub(super) lists: Vec<ListType>,
    /// Whether the file's byte order differs from this machine's.
    pub(super) swap: bool,
}

/// Outcome of walking a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowEnd {
    /// The row ends at this offset.
    Whole(usize),
    /// The row extends at least to this offset, which is beyond the available bytes.
    Cut(u64),
    /// The count of this list, at this offset, is negative.
    Negative(usize, usize),
}

/// A list passed during a walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walked {
    pub(super) list: usize,
    /// Offset of its numbers.
    pub(super) start: usize,
    pub(super) count: u32,
}

/// Rows whose lists all have the same counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PlyShape {
    pub(super) row_bytes: usize,
    /// Offset of each gap in a row.
    pub(super) gap_starts: Vec<usize>,
    /// Offset and value of each count.
    pub(super) counts: Vec<(usize, u32)>,
}

impl PlyShape {
    /// Returns how many rows at the start of `bytes` have these counts. The shape is a guess from the first row of an
    /// element; only this check confirms it for the other rows.
    pub(super) fn agreeing(&self, layout: &PlyLayout, bytes: &[u8], rows: usize) -> usize {
        self.counts.iter().zip(&layout.lists).fold(rows, |rows, (&(at, count), list)| {
            let size = list.count.bytes();
            let mut count_bytes = u64::from(count).to_ne_bytes();
            // The count in the file's byte order. It was read from a field of this size, so it fits.
            if cfg!(target_endian = "big") {
                count_bytes.rotate_right(size);
            }
            let count_bytes = &mut count_bytes[..size];
            if layout.swap {
                count_bytes.reverse();
            }
            let start = |row: usize| row * self.row_bytes + at;
            match *count_bytes {
                [byte] => {
                    let differs = |row: &usize| bytes[start(*row)] != byte;
                    // No branch per row, so that the loop vectorizes.
                    let any = (0..rows).fold(false, |any, row| any | differs(&row));
                    if any { (0..rows).find(differs).unwrap_or(rows) } else { rows }
                }
                _ => (0..rows).find(|&row| bytes[start(row)..start(row) + size] != *count_bytes).unwrap_or(rows),
            }
        })
    }

    /// Returns the number of values of each list in this many rows.
    pub(super) fn totals(&self, rows: u64) -> impl Iterator<Item = u64> {
        self.counts.iter().map(move |&(_, count)| u64::from(count).saturating_mul(rows))
    }
}

impl PlyLayout {
    /// Computes the layout of an element's rows. For `swap`, see [`PlyLayout::swap`].
    pub(super) fn from_element(element: &Element, swap: bool) -> Result<PlyLayout> {
        let mut layout = PlyLayout { gaps: Vec::new(), lists: Vec::new(), swap };
        let room = element.properties.iter().filter(|property| property.count.is_some()).count();
        layout.gaps.try_reserve_exact(room + 1)?;
        layout.lists.try_reserve_exact(room)?;
        let mut gap = 0;
        for property in &element.properties {
            match property.count {
                None => gap += property.item.bytes(),
                Some(count) => {
                    layout.gaps.push(std::mem::take(&mut gap));
                    layout.lists.push(ListType { count, item: property.item });
                }
            }
        }
        layout.gaps.push(gap);
        Ok(layout)
    }

    /// Minimum bytes per row: all lists are empty.
    pub(super) fn least_row_bytes(&self) -> usize {
        self.gaps.iter().sum::<usize>() + self.lists.iter().map(|list| list.count.bytes()).sum::<usize>()
    }

    /// Returns the shape of rows with these list counts; `None` if the size of a row overflows `usize`.
    pub(super) fn shape(&self, counts: &[u32]) -> Result<Option<PlyShape>> {
        let mut shape = PlyShape::default();
        shape.gap_starts.try_reserve_exact(self.gaps.len())?;
        shape.counts.try_reserve_exact(self.lists.len())?;
        let mut at = 0usize;
        for (number, gap) in self.gaps.iter().enumerate() {
            shape.gap_starts.push(at);
            at += gap;
            let Some((list, &count)) = self.lists.get(number).zip(counts.get(number)) else { continue };
            shape.counts.push((at, count));
            let size = (count as usize).checked_mul(list.item.bytes());
            let Some(end) = size.and_then(|size| size.checked_add(at + list.count.bytes())) else { return Ok(None) };
            at = end;
        }
        shape.row_bytes = at;
        Ok(Some(shape))
    }

    /// Returns the list counts of the row at the start of `bytes`, if it is complete.
    pub(super) fn counts(&self, bytes: &[u8]) -> Result<Option<Vec<u32>>> {
        let mut counts = Vec::new();
        counts.try_reserve_exact(self.lists.len()).map_err(|_| Error::memory("lists"))?;
        let end = self.walk(bytes, 0, |walked| counts.push(walked.count));
        Ok(matches!(end, RowEnd::Whole(_)).then_some(counts))
    }

    /// Walks the row that starts at `at`. Calls `on_list` for each list whose count is available, even if its numbers
    /// are not.
    #[inline]
    pub(super) fn walk(&self, bytes: &[u8], at: usize, mut on_list: impl FnMut(Walked)) -> RowEnd {
        let mut at = at;
        for (number, (gap, list)) in self.gaps.iter().zip(&self.lists).enumerate() {
            at += gap;
            let start = at + list.count.bytes();
            let Some(field) = bytes.get(at..start) else { return RowEnd::Cut(start as u64) };
            let Some(count) = count(list.count, field, self.swap) else { return RowEnd::Negative(number, at) };
            on_list(Walked { list: number, start, count });
            // In 64 bits, in which a 32-bit count times at most 8 bytes cannot overflow.
            let end = u64::from(count) * list.item.bytes() as u64 + start as u64;
            match usize::try_from(end) {
                Ok(end) if end <= bytes.len() => at = end,
                _ => return RowEnd::Cut(end),
            }
        }
        let end = at + self.gaps.last().copied().unwrap_or(0);
        if end <= bytes.len() { RowEnd::Whole(end) } else { RowEnd::Cut(end as u64) }
    }
}

/// Decodes the count of a list; `None` if it is negative. Counts of more than 32 bits become `u32::MAX`: no file has
/// that many numbers, so the row counts as truncated.
#[inline(always)]
fn count(scalar: Scalar, field: &[u8], swap: bool) -> Option<u32> {
    match (scalar, field) {
        (Scalar::U8, &[byte]) => Some(u32::from(byte)),
        (Scalar::I8, &[byte]) => u32::try_from(byte as i8).ok(),
        _ => wide_count(scalar, field, swap),
    }
}

fn wide_count(scalar: Scalar, field: &[u8], swap: bool) -> Option<u32> {
    let mut bytes = [0; 8];
    let size = field.len().min(8);
    bytes[..size].copy_from_slice(&field[..size]);
    if swap {
        bytes[..size].reverse();
    }
    let [a, b, c, d, ..] = bytes;
    let signed = match scalar {
        Scalar::I16 => i64::from(i16::from_ne_bytes([a, b])),
        Scalar::U16 => i64::from(u16::from_ne_bytes([a, b])),
        Scalar::I32 => i64::from(i32::from_ne_bytes([a, b, c, d])),
        Scalar::U32 => i64::from(u32::from_ne_bytes([a, b, c, d])),
        Scalar::I64 => i64::from_ne_bytes(bytes),
        _ => u64::from_ne_bytes(bytes).min(i64::MAX as u64) as i64,
    };
    u64::try_from(signed).ok().map(|count| u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> PlyLayout {
        let list = |count, item| ListType { count, item };
        let lists = vec![list(Scalar::U8, Scalar::I32), list(Scalar::I16, Scalar::U8)];
        PlyLayout { gaps: vec![2, 0, 1], lists, swap: cfg!(target_endian = "little") }
    }

    #[test]
    fn rows_are_walked_from_count_to_count() {
        let layout = layout();
        let mut seen = Vec::new();
        let bytes = [9, 9, 1, 0, 0, 0, 7, 0, 2, 5, 6, 9];
        let end = layout.walk(&bytes, 0, |walked| seen.push((walked.list, walked.start, walked.count)));
        assert_eq!((end, seen), (RowEnd::Whole(12), vec![(0, 3, 1), (1, 9, 2)]));
        for size in 0..12 {
            assert!(matches!(layout.walk(&bytes[..size], 0, |_| ()), RowEnd::Cut(to) if to > size as u64), "{size}");
        }
        assert_eq!(layout.walk(&[9, 9, 0, 255, 255], 0, |_| ()), RowEnd::Negative(1, 3));
        assert_eq!(layout.least_row_bytes(), 6);
    }

    #[test]
    fn presumed_counts_give_a_shape() {
        let shape = layout().shape(&[1, 2]).unwrap().unwrap();
        assert_eq!(shape, PlyShape { row_bytes: 12, gap_starts: vec![0, 7, 11], counts: vec![(2, 1), (7, 2)] });
    }
}
