//! Raw write position and digit tables: the only module that stores bytes of a page unchecked.
//!
//! A [`Pen`] has no bounds. Its creator ([`super::Page`], or a function with a scratch buffer) ensures that there is
//! enough room; each function that takes a pen documents the maximum number of bytes that it stores.

/// Maximum number of bytes that a writer stores past the end of its text.
pub(super) const SLACK: usize = 64;

/// Position in a buffer with enough room after it, checked beforehand.
#[derive(Clone, Copy)]
pub(super) struct Pen(*mut u8);

impl Pen {
    #[inline(always)]
    pub(super) fn new(at: *mut u8) -> Self {
        Self(at)
    }

    /// Returns the number of bytes from `start` to here.
    #[inline(always)]
    pub(super) fn since(self, start: Self) -> usize {
        self.0 as usize - start.0 as usize
    }

    /// Stores all `K` bytes but advances only by `advance`: the next store overwrites the rest.
    ///
    /// # Safety
    /// `max(K, advance)` bytes from here must be inside the buffer.
    #[inline(always)]
    pub(super) unsafe fn put<const K: usize>(self, bytes: [u8; K], advance: usize) -> Self {
        // SAFETY: `max(K, advance)` bytes are inside the buffer: `K` for the store, `advance` for the new position. A
        // byte array has an alignment of 1.
        unsafe {
            self.0.cast::<[u8; K]>().write(bytes);
            Self(self.0.add(advance))
        }
    }

    /// Advances over bytes already stored.
    ///
    /// # Safety
    /// `count` bytes from here must be inside the buffer.
    #[inline(always)]
    pub(super) unsafe fn advance(self, count: usize) -> Self {
        // SAFETY: `count` bytes from here are inside the buffer, so that the new position is inside it or at its end.
        Self(unsafe { self.0.add(count) })
    }

    /// Stores a slice.
    ///
    /// # Safety
    /// `bytes.len()` bytes from here must be inside the buffer.
    #[inline(always)]
    pub(super) unsafe fn copy(self, bytes: &[u8]) -> Self {
        // SAFETY: `bytes.len()` bytes from here are inside the buffer. That is borrowed exclusively by the page, so
        // `bytes` cannot overlap it.
        unsafe {
            self.0.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            Self(self.0.add(bytes.len()))
        }
    }

    /// Stores a slice that is rarely longer than 32 bytes. Slices of 4 to 32 bytes are stored without calling memcpy.
    ///
    /// # Safety
    /// `bytes.len()` bytes from here must be inside the buffer.
    #[inline(always)]
    pub(super) unsafe fn copy_short(self, bytes: &[u8]) -> Self {
        // SAFETY: `count` is `bytes.len()`, and that many bytes are inside the buffer. The first store ends at 16, 8 or
        // 4, which is at most `count`; the second starts that many bytes before `count` and ends at `count`.
        unsafe {
            let count = bytes.len();
            if let Some([first, last]) = ends::<16>(bytes) {
                self.put(first, count - 16).put(last, 16)
            } else if let Some([first, last]) = ends::<8>(bytes) {
                self.put(first, count - 8).put(last, 8)
            } else if let Some([first, last]) = ends::<4>(bytes) {
                self.put(first, count - 4).put(last, 4)
            } else {
                self.copy(bytes)
            }
        }
    }

    /// Replaces the byte before this position.
    ///
    /// # Safety
    /// At least one byte must have been stored by this pen.
    #[inline(always)]
    pub(super) unsafe fn replace_last(self, byte: u8) {
        // SAFETY: this pen has stored the byte before here, so it is inside the buffer.
        unsafe { self.0.sub(1).write(byte) }
    }

    /// Stores `group` (< 1000) without leading zeros: one to three digits.
    ///
    /// # Safety
    /// 4 bytes from here must be inside the buffer, and `group` below 1000.
    #[inline(always)]
    pub(super) unsafe fn head(self, group: usize) -> Self {
        // SAFETY: `group < 1000` is an index of `HEADS`, and `put` stores the 4 bytes that are inside the buffer. The
        // top byte, by which it advances, is 1 to 3.
        unsafe {
            let entry = *HEADS.get_unchecked(group);
            self.put(entry.to_le_bytes(), (entry >> 24) as usize)
        }
    }

    /// Stores `group` (< 1000) as three digits, and advances by `advance`.
    ///
    /// # Safety
    /// `max(4, advance)` bytes from here must be inside the buffer, and `group` below 1000.
    #[inline(always)]
    pub(super) unsafe fn group(self, group: usize, advance: usize) -> Self {
        // SAFETY: `group < 1000` is an index of `GROUPS`, and `max(4, advance)` bytes are inside the buffer, as `put`
        // requires.
        unsafe { self.put(GROUPS.get_unchecked(group).to_le_bytes(), advance) }
    }

    /// Stores `group` (< 1000) as its last two digits.
    ///
    /// # Safety
    /// 4 bytes from here must be inside the buffer, and `group` below 1000.
    #[inline(always)]
    pub(super) unsafe fn pair(self, group: usize) -> Self {
        // SAFETY: `group < 1000` is an index of `GROUPS`, and `put` stores the 4 bytes that are inside the buffer.
        unsafe { self.put((GROUPS.get_unchecked(group) >> 8).to_le_bytes(), 2) }
    }

    /// Moves the `count` bytes before this position forward by `gap` and fills the gap.
    ///
    /// # Safety
    /// The `count` bytes must have been stored by this pen, and `gap` bytes from here must be inside the buffer.
    #[inline]
    pub(super) unsafe fn open_gap(self, count: usize, gap: usize, fill: u8) -> Self {
        // SAFETY: this pen stored the `count` bytes before here, so `start` is inside the buffer. Moved by `gap` they
        // end at `gap` bytes from here, which is inside too. `copy_to` allows the overlap.
        unsafe {
            let start = self.0.sub(count);
            start.copy_to(start.add(gap), count);
            start.write_bytes(fill, gap);
            Self(self.0.add(gap))
        }
    }
}

/// Returns the first and last `N` bytes of `N` to `2 * N` bytes, which overlap or meet, or `None` for other lengths.
#[inline(always)]
fn ends<const N: usize>(bytes: &[u8]) -> Option<[[u8; N]; 2]> {
    if bytes.len() > 2 * N {
        return None;
    }
    Some([*bytes.first_chunk()?, *bytes.last_chunk()?])
}

/// Three digits in the low bytes, the first digit in the lowest one. Entries have 4 bytes, because storing 4 bytes
/// takes one instruction, and storing 3 bytes takes two.
static GROUPS: [u32; 1000] = {
    let mut table = [0; 1000];
    let mut n = 0;
    while n < 1000 {
        table[n] = u32::from_le_bytes([digit(n / 100), digit(n / 10), digit(n), 0]);
        n += 1;
    }
    table
};

/// One to three digits without leading zeros; their number is in the top byte.
static HEADS: [u32; 1000] = {
    let mut table = [0; 1000];
    let mut n = 0;
    while n < 1000 {
        let count = 1 + (n >= 10) as u32 + (n >= 100) as u32;
        table[n] = GROUPS[n] >> (8 * (3 - count)) | count << 24;
        n += 1;
    }
    table
};

const fn digit(n: usize) -> u8 {
    b'0' + (n % 10) as u8
}
