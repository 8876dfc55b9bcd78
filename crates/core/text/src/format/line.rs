//! Writes whole lines of several values, for OBJ, PLY, STL and tables.
//!
//! A description ([`FixedLine`], [`IndexLine`]) is built once and holds everything that the lines have in common. Each
//! line then costs one check of the room, or none inside a batch.

use super::fixed::{Real, Scale, fixed_in_groups};
use super::integer;
use super::pen::{Pen, SLACK};
use super::{MAX_U32, Page};

#[cfg(target_arch = "x86_64")]
use super::x86::LinePlan;

/// Line of values with fixed digits: prefix, values with separators between them, end.
///
/// By default, the separator is a space and the end a line feed.
#[derive(Clone, Debug)]
pub struct FixedLine<'p> {
    prefix: LinePrefix<'p>,
    scale: &'static Scale,
    separator: u8,
    end: u8,
    #[cfg(target_arch = "x86_64")]
    plan: Option<LinePlan>,
}

impl<'p> FixedLine<'p> {
    /// Describes lines of `prefix` (with its trailing space, if any: `b"v "`) and values with `digits` decimals.
    ///
    /// `digits` is capped at [`super::MAX_DIGITS`]. Prefixes of up to 16 bytes are the fastest.
    pub fn new(prefix: &'p [u8], digits: usize) -> Self {
        let scale = Scale::new(digits);
        Self {
            prefix: LinePrefix::new(prefix),
            scale,
            separator: b' ',
            end: b'\n',
            #[cfg(target_arch = "x86_64")]
            plan: LinePlan::if_possible(scale, b' '),
        }
    }

    /// Sets the byte between values.
    pub fn separator(mut self, separator: u8) -> Self {
        self.separator = separator;
        #[cfg(target_arch = "x86_64")]
        {
            self.plan = self.plan.and(LinePlan::if_possible(self.scale, separator));
        }
        self
    }

    /// Sets the byte after the last value, such as a space if other columns follow.
    pub fn end(mut self, end: u8) -> Self {
        self.end = end;
        self
    }

    /// Disables the vector kernels, for tests and comparisons. The text is the same.
    pub fn portable(self) -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            plan: None,
            ..self
        }
    }

    /// Returns the maximum length of a line of `count` values of type `R`, in bytes.
    ///
    /// ```
    /// # use polyhaul_text::format::FixedLine;
    /// assert_eq!(FixedLine::new(b"v ", 6).max_bytes::<f32>(3), 2 + 3 * (1 + 39 + 1 + 12) + 3);
    /// ```
    pub fn max_bytes<R: Real>(&self, count: usize) -> usize {
        count.max(1).saturating_mul(R::MAX_FIXED_BYTES + 1).saturating_add(self.prefix.text.len())
    }

    /// Returns the room required for a line of `count` values.
    fn room_bytes<R: Real>(&self, count: usize) -> usize {
        self.max_bytes::<R>(count).saturating_add(SLACK)
    }

    /// Stores one line with portable instructions.
    ///
    /// # Safety
    /// `room_bytes(N)` bytes from `pen` must be inside its buffer; `G` must be `scale.groups()`.
    #[inline(always)]
    unsafe fn row<const G: usize, const N: usize, R: Real>(&self, pen: Pen, values: &[R; N]) -> Pen {
        // SAFETY: `room_bytes(N)` is the prefix, `MAX_FIXED_BYTES` and one byte for each value, and `SLACK`: the
        // rest of it is enough for each call. `G` is the second condition.
        unsafe {
            let mut pen = self.prefix.put(pen);
            for &value in values {
                pen = fixed_in_groups::<G, R>(pen, value, self.scale).put([self.separator], 1);
            }
            self.finish(pen, N)
        }
    }

    /// Replaces the last separator with the end of the line.
    ///
    /// # Safety
    /// One byte of room; `count` values, each with a separator, must have been stored.
    #[inline(always)]
    pub(super) unsafe fn finish(&self, pen: Pen, count: usize) -> Pen {
        // SAFETY: without values, one byte of room, the first condition. Otherwise the byte before `pen` is the
        // separator of the last value, which the second condition says was stored.
        unsafe {
            if count == 0 {
                return pen.put([self.end], 1);
            }
            pen.replace_last(self.end);
            pen
        }
    }

    /// Prefix of each line.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn prefix(&self) -> &LinePrefix<'p> {
        &self.prefix
    }

    /// Stores lines with portable instructions.
    ///
    /// # Safety
    /// `rows.len() * room_bytes(N)` bytes from `pen` must be inside its buffer.
    #[inline]
    pub(super) unsafe fn portable_rows<const N: usize, R: Real>(&self, mut pen: Pen, rows: &[[R; N]]) -> Pen {
        macro_rules! all_rows {
            ($groups:literal) => {
                for row in rows {
                    // SAFETY: `room_bytes(N)` bytes are left for this row, because each previous row used at most that
                    // many. The arm matches `scale.groups()`; `Scale` has at most 4 groups.
                    pen = unsafe { self.row::<$groups, N, R>(pen, row) };
                }
            };
        }
        match self.scale.groups() {
            0 => all_rows!(0),
            1 => all_rows!(1),
            2 => all_rows!(2),
            3 => all_rows!(3),
            _ => all_rows!(4),
        }
        pen
    }

    /// Stores lines with the fastest kernel for this CPU.
    ///
    /// # Safety
    /// As for [`portable_rows`](Self::portable_rows).
    #[inline]
    unsafe fn rows<const N: usize, R: Real>(&self, pen: Pen, rows: &[[R; N]]) -> Pen {
        // The plan itself would leave a single line of up to 16 values to the portable writer.
        #[cfg(target_arch = "x86_64")]
        if let Some(plan) = &self.plan
            && rows.len() > 1
        {
            // SAFETY: `LinePlan::if_possible` created the plan, so the CPU has its instructions. The room is this
            // function's condition.
            return unsafe { plan.rows(pen, self, rows) };
        }
        // SAFETY: the room is this function's condition.
        unsafe { self.portable_rows(pen, rows) }
    }
}

/// See [`Page::fixed_lines`].
#[inline]
pub(super) fn fixed_lines<const N: usize, R: Real>(
    page: &mut Page<'_>,
    line: &FixedLine<'_>,
    rows: &[[R; N]],
) -> usize {
    let room_bytes = line.room_bytes::<R>(N);
    let mut left = rows;
    while !left.is_empty() {
        let all_fit = left.len().saturating_mul(room_bytes) <= page.room();
        let count = if all_fit { left.len() } else { page.room() / room_bytes };
        if count == 0 {
            let Some(written) = fixed_line_if_it_fits(page.rest(), line, &left[0]) else {
                break;
            };
            page.accept(Some(written));
            left = &left[1..];
            continue;
        }
        let (batch, rest) = left.split_at(count);
        // SAFETY: `count * room_bytes <= page.room()` in both arms above, which is the condition of `rows`; `end` came
        // from the pen of this page.
        unsafe {
            let end = line.rows(page.pen(), batch);
            page.take(end);
        }
        left = rest;
    }
    rows.len() - left.len()
}

/// Writes one line near the end of the page, value by value.
#[cold]
#[inline(never)]
fn fixed_line_if_it_fits<const N: usize, R: Real>(
    mut page: Page<'_>,
    line: &FixedLine<'_>,
    values: &[R; N],
) -> Option<usize> {
    page.bytes(line.prefix.text);
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            page.byte(line.separator);
        }
        value.append(&mut page, line.scale.digits);
    }
    page.byte(line.end);
    page.fitted()
}

/// Line of groups of indices: prefix, then a space and a group per corner, then a line feed.
///
/// By default, `/` joins the indices of a group.
#[derive(Clone, Debug)]
pub struct IndexLine<'p> {
    prefix: LinePrefix<'p>,
    joint: [u8; 2],
    joint_bytes: usize,
}

impl<'p> IndexLine<'p> {
    /// Describes lines that start with `prefix`: `b"f"` for OBJ faces, the vertex count for PLY faces.
    pub fn new(prefix: &'p [u8]) -> Self {
        Self { prefix: LinePrefix::new(prefix), joint: [b'/'; 2], joint_bytes: 1 }
    }

    /// Joins the indices of a group with this byte.
    pub fn joint(mut self, joint: u8) -> Self {
        self.joint = [joint; 2];
        self.joint_bytes = 1;
        self
    }

    /// Joins the indices of a group with this byte twice, as in `1//3`.
    pub fn double_joint(mut self, joint: u8) -> Self {
        self.joint = [joint; 2];
        self.joint_bytes = 2;
        self
    }

    /// Returns the maximum length of a line of `corners` groups of `indices` each, in bytes.
    pub fn max_bytes(&self, corners: usize, indices: usize) -> usize {
        let group_bytes = indices.saturating_mul(MAX_U32 + self.joint_bytes).saturating_add(1);
        corners.saturating_mul(group_bytes).saturating_add(self.prefix.text.len() + 1)
    }

    /// Stores one group.
    ///
    /// # Safety
    /// Room for the group, and `SLACK` more.
    #[inline(always)]
    unsafe fn group<const K: usize>(&self, pen: Pen, indices: [u32; K]) -> Pen {
        // SAFETY: a group is a space, `K` indices of up to `MAX_U32` bytes and the joints between them. The room for
        // these is this function's condition, and the bytes past the text (1 of an integer, 1 of a joint) are within
        // `SLACK`.
        unsafe {
            let mut pen = pen.put([b' '], 1);
            for (position, index) in indices.into_iter().enumerate() {
                if position > 0 {
                    pen = pen.put(self.joint, self.joint_bytes);
                }
                pen = integer::u32(pen, index);
            }
            pen
        }
    }
}

/// See [`Page::index_line`].
#[inline(always)]
pub(super) fn index_line<const K: usize>(
    page: &mut Page<'_>,
    line: &IndexLine<'_>,
    corners: impl ExactSizeIterator<Item = [u32; K]>,
) {
    let count = corners.len();
    if line.max_bytes(count, K).saturating_add(SLACK) > page.room() {
        let written = index_line_if_it_fits(page.rest(), line, &mut corners.take(count));
        return page.accept(written);
    }
    // SAFETY: `max_bytes(count, K) + SLACK` bytes are left, checked above: the prefix, `count` groups and the line
    // feed. `take` stops an iterator that is longer than its `len()` said.
    unsafe {
        let mut pen = line.prefix.put(page.pen());
        for indices in corners.take(count) {
            pen = line.group(pen, indices);
        }
        page.take(pen.put([b'\n'], 1));
    }
}

/// Writes one line near the end of the page, index by index. The iterator is `dyn` so that `next` is inlined into the
/// only other caller.
#[cold]
#[inline(never)]
fn index_line_if_it_fits<const K: usize>(
    mut page: Page<'_>,
    line: &IndexLine<'_>,
    corners: &mut dyn Iterator<Item = [u32; K]>,
) -> Option<usize> {
    page.bytes(line.prefix.text);
    for indices in corners {
        page.byte(b' ');
        for (position, index) in indices.into_iter().enumerate() {
            if position > 0 {
                page.bytes(&line.joint[..line.joint_bytes]);
            }
            page.u32(index);
        }
    }
    page.byte(b'\n');
    page.fitted()
}

/// Text at the start of each line, or an ending of [`NumberLines`](super::NumberLines); up to 16 bytes are stored with
/// one instruction.
#[derive(Clone, Debug)]
pub(super) struct LinePrefix<'p> {
    text: &'p [u8],
    head: [u8; 16],
}

impl<'p> LinePrefix<'p> {
    pub(super) fn new(text: &'p [u8]) -> Self {
        let mut head = [0; 16];
        for (slot, &byte) in head.iter_mut().zip(text) {
            *slot = byte;
        }
        Self { text, head }
    }

    /// Text of the prefix.
    pub(super) fn text(&self) -> &'p [u8] {
        self.text
    }

    /// # Safety
    /// Room for the text, and `SLACK` more.
    #[inline(always)]
    pub(super) unsafe fn put(&self, pen: Pen) -> Pen {
        // SAFETY: `put` stores 16 bytes and advances by at most 16, within text and `SLACK`; a longer text is copied
        // exactly.
        unsafe {
            if self.text.len() <= self.head.len() {
                return pen.put(self.head, self.text.len());
            }
            pen.copy(self.text)
        }
    }
}
