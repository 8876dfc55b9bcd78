//! Deduplication: numbers distinct values by the first item that has them.
//!
//! Items are split into chunks. In each chunk, items equal to recent items are found directly, and the keys of the
//! other items are sorted into parts by hash (`chunk`). Each part is processed by one thread, which finds equal keys in
//! a small hash table (`part`). The remaining items, each the first with its value, are marked in a bit set, and prefix
//! sums of its bits number them. The result therefore does not depend on the number of threads.
//!
//! This module is generic over values (see `Items`). `weld` combines indices without comparing values.

mod chunk;
mod part;
mod rows;
#[cfg(test)]
mod tests;

use chunk::{CHUNK, Chunk, DedupFinder};
use part::DedupPart;
use polyhaul_model::NONE;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_pipeline::arrays::{as_atomics, split, zeroed};
use polyhaul_pipeline::options::Cancel;
use polyhaul_pipeline::parallel::try_for_each_item;
pub use rows::{number_joined, number_rows};

/// Items per word of marks.
const WORD: usize = u32::BITS as usize;
/// Items per call of [`Items::keys`], so that computing keys can be vectorized.
pub const BATCH: usize = 64;
/// Maximum number of items: `DedupPart::merge` rounds a number of keys plus 1 up to a power of two, which must fit in
/// 32 bits.
const MAX_ITEMS: usize = (1 << 31) - 1;
/// Prefetch distance in items, far enough to hide the latency of memory.
const AHEAD: usize = 128;

/// The key of an item.
#[derive(Clone, Copy, Debug)]
pub enum DedupKey {
    /// Not counted as an item. Its number is [`NONE`].
    Skip,
    /// Unequal to everything, including itself (a NaN).
    Alone,
    /// A value: equal keys mean equal values.
    Value(u64),
}

/// Items to deduplicate.
#[expect(clippy::len_without_is_empty, reason = "nobody asks")]
pub trait Items: Sync {
    /// Returns the number of items.
    fn len(&self) -> usize;
    /// Computes the keys of items `start + offsets[i]`, one per offset, at most [`BATCH`].
    fn keys(&self, start: usize, offsets: &[u16], keys: &mut [DedupKey; BATCH]);
    /// Returns a slot below `hint_count` that equal items tend to share, such as the position of a corner.
    fn hint(&self, item: usize) -> usize;
    /// Returns the number of hint slots, or 0 for no hints.
    fn hint_count(&self) -> usize;
    /// Returns whether both items certainly have the same key, other than [`DedupKey::Alone`]. Must be cheap. May
    /// return `false` for equal items.
    fn surely_same(&self, a: usize, b: usize) -> bool;
    /// Prefetches an item that will be used soon, with [`prefetch`]. The item may not exist.
    fn prefetch(&self, _item: usize) {}
}

/// Distinct values, and the value of each item.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unique {
    /// Per distinct value: the first item that has it, ascending.
    pub first: Vec<u32>,
    /// Per item: the number of its value, or [`NONE`] for [`DedupKey::Skip`].
    pub of_item: Vec<u32>,
}

/// Finds equal values. After a run with a single chunk, up to 2.6 MiB of scratch memory are kept for the next run.
///
/// Beyond the result, a run uses a quarter of a byte per item, 10 bytes per key without a recent duplicate, and up to
/// 1.2 MiB per thread. Keys crafted to fall into one part use up to 44 bytes more each. Time is linear, except that
/// keys crafted to collide are sorted.
#[derive(Default)]
pub struct Dedup {
    marks: DedupMarks,
    /// For inputs of a single chunk.
    finder: DedupFinder,
    part: DedupPart,
}

/// Bit set of the items that are the first with their value.
#[derive(Default)]
struct DedupMarks {
    /// One bit per item.
    words: Vec<u32>,
    /// Per word: number of bits set in the words before it.
    before: Vec<u32>,
}

impl Dedup {
    /// Creates a deduplicator without allocating.
    pub fn new() -> Self {
        Dedup::default()
    }

    /// Numbers the distinct values of `items`, on up to `threads` threads, and replaces the contents of `out`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Limit`] for 2^31 items or more, [`ErrorKind::Memory`], [`ErrorKind::Cancelled`].
    pub fn run(&mut self, items: &impl Items, threads: usize, cancel: &Cancel, out: &mut Unique) -> Result<()> {
        let count = items.len();
        if count > MAX_ITEMS {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("at most {MAX_ITEMS} values can be compared, not {count}"),
            ));
        }
        room(&mut out.of_item, count, "value indices")?;
        room(&mut self.marks.words, count.div_ceil(WORD), "marks of values")?;
        room(&mut self.marks.before, count.div_ceil(WORD), "marks of values")?;
        let compared =
            if count <= CHUNK { self.find_in_one(items, cancel, out) } else { self.find(items, threads, cancel, out) };
        let result = compared.and_then(|()| self.number(threads, cancel, out));
        if count > CHUNK {
            *self = Dedup::default();
        }
        result
    }

    /// Same as [`Dedup::find`], for a single chunk: runs on the calling thread and reuses memory.
    fn find_in_one(&mut self, items: &impl Items, cancel: &Cancel, out: &mut Unique) -> Result<()> {
        cancel.check()?;
        if out.of_item.is_empty() {
            return Ok(());
        }
        self.finder.find(items, 0, &mut out.of_item)?;
        self.part.take(&mut self.finder)?;
        self.part.merge(1, as_atomics(&mut out.of_item))?;
        mark(&mut self.marks.words, 0, &out.of_item);
        Ok(())
    }

    /// Marks the first item of each value. Every other item is set to an equal item: an earlier item in its chunk, or
    /// the first item with its value.
    fn find(&mut self, items: &impl Items, threads: usize, cancel: &Cancel, out: &mut Unique) -> Result<()> {
        let mut chunks = Vec::new();
        let count = items.len().div_ceil(CHUNK);
        chunks.try_reserve_exact(count).map_err(|_| Error::memory("chunks of values"))?;
        chunks.resize_with(count, Chunk::default);

        let parts = parts(items);
        let places = chunks.iter_mut().zip(out.of_item.chunks_mut(CHUNK)).enumerate();
        try_for_each_item(threads, cancel, places, DedupFinder::default, |finder, (index, (chunk, of_item))| {
            finder.find(items, index * CHUNK, of_item)?;
            finder.sort_into(chunk, parts)
        })?;
        self.settle(chunks, parts, threads, cancel, &mut out.of_item)
    }

    /// Second half of [`Dedup::find`], once the keys of all chunks are sorted by part. Not generic, so that it is
    /// compiled only once.
    fn settle(
        &mut self,
        chunks: Vec<Chunk>,
        parts: usize,
        threads: usize,
        cancel: &Cancel,
        of_item: &mut [u32],
    ) -> Result<()> {
        let shared = as_atomics(of_item);
        try_for_each_item(threads, cancel, 0..parts, DedupPart::default, |part, index| {
            part.gather(&chunks, index)?;
            part.merge(parts, shared)
        })?;
        drop(chunks);
        // `CHUNK` is a multiple of `WORD`, so no two threads share a word.
        let places = self.marks.words.chunks_mut(CHUNK / WORD).zip(of_item.chunks(CHUNK)).enumerate();
        try_for_each_item(
            threads,
            cancel,
            places,
            || (),
            |(), (index, (words, of_item))| {
                mark(words, index * CHUNK, of_item);
                Ok(())
            },
        )
    }

    /// Replaces references to equal items with value numbers.
    fn number(&mut self, threads: usize, cancel: &Cancel, out: &mut Unique) -> Result<()> {
        let count = self.marks.count();
        room(&mut out.first, count as usize, "distinct values")?;
        let marks = &self.marks;
        let at = |chunk: usize| marks.before.get(chunk * (CHUNK / WORD)).map_or(count, |&before| before);
        let lengths = (0..out.of_item.len().div_ceil(CHUNK)).map(|chunk| (at(chunk + 1) - at(chunk)) as usize);
        let places = split(&mut out.first, lengths).zip(out.of_item.chunks_mut(CHUNK)).enumerate();
        try_for_each_item(
            threads,
            cancel,
            places,
            || (),
            |(), (index, (first, of_item))| {
                marks.list(index * CHUNK, first);
                marks.number(index * CHUNK, at(index), of_item);
                Ok(())
            },
        )
    }
}

/// Marks the items that refer to themselves, in the chunk that starts at `start`.
fn mark(words: &mut [u32], start: usize, of_item: &[u32]) {
    for ((word, of_items), offset) in words.iter_mut().zip(of_item.chunks(WORD)).zip((0..).step_by(WORD)) {
        // The items of a word take 128 bytes, which are two cache lines.
        prefetch(of_item, offset + AHEAD);
        prefetch(of_item, offset + AHEAD + WORD / 2);
        let mut same = [0; WORD];
        for ((same, &of_item), item) in same.iter_mut().zip(of_items).zip((start + offset) as u32..) {
            *same = u8::from(of_item == item);
        }
        // Eight bytes of 0 or 1 become eight bits: the factor moves byte i to bit 56 + i, and no two terms of the
        // product overlap in these bits.
        let (bytes, _) = same.as_chunks::<8>();
        let bits = |bytes: &[u8; 8]| (u64::from_le_bytes(*bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32;
        // In reverse, so that the first item becomes the lowest bit.
        *word = bytes.iter().rev().fold(0, |word, bytes| word << 8 | bits(bytes));
    }
}

impl DedupMarks {
    /// Computes the prefix sums and returns the number of bits set.
    fn count(&mut self) -> u32 {
        let mut count = 0;
        for (before, word) in self.before.iter_mut().zip(&self.words) {
            *before = count;
            count += word.count_ones();
        }
        count
    }

    /// Lists the marked items, starting at `start`.
    fn list(&self, start: usize, marked: &mut [u32]) {
        let mut places = marked.iter_mut();
        for (word, item) in self.words[start / WORD..].iter().zip((start as u32..).step_by(WORD)) {
            let mut rest = *word;
            while rest != 0 {
                let Some(place) = places.next() else { return };
                *place = item + rest.trailing_zeros();
                rest &= rest - 1;
            }
        }
    }

    /// Numbers the items of the chunk that starts at `start`. The first marked item of the chunk gets `number`.
    fn number(&self, start: usize, mut number: u32, of_item: &mut [u32]) {
        let words = &self.words[start / WORD..];
        for (index, &word) in words.iter().enumerate().take(of_item.len().div_ceil(WORD)) {
            let from = index * WORD;
            prefetch(of_item, from + AHEAD);
            prefetch(of_item, from + AHEAD + WORD / 2);
            let mut rest = word;
            for offset in from..of_item.len().min(from + WORD) {
                let like = of_item[offset];
                // The difference wraps for items before the chunk, and is too large for `NONE`: neither is in the
                // chunk. An earlier item of the chunk already has its number.
                let of_like = match of_item.get(like.wrapping_sub(start as u32) as usize) {
                    Some(&number) => number,
                    None if like == NONE => NONE,
                    None => self.number_of(like as usize),
                };
                // Selects without a branch: which items are first cannot be predicted.
                let is_first = rest & 1;
                of_item[offset] = of_like ^ (of_like ^ number) & is_first.wrapping_neg();
                number += is_first;
                rest >>= 1;
            }
        }
    }

    /// Returns the number of a marked item outside the chunk.
    fn number_of(&self, item: usize) -> u32 {
        let below = (1 << (item % WORD)) - 1;
        self.before[item / WORD] + (self.words[item / WORD] & below).count_ones()
    }
}

/// Returns the number of parts: a power of two, so that each part has about [`part::KEYS`] keys if there is one key per
/// hint slot.
fn parts(items: &impl Items) -> usize {
    let places = match items.hint_count() {
        0 => items.len(),
        places => places.min(items.len()),
    };
    (places / part::KEYS).clamp(1, part::MAX_PARTS).next_power_of_two()
}

/// Resizes an array, leaving arbitrary contents.
fn room(array: &mut Vec<u32>, count: usize, what: &str) -> Result<()> {
    if array.capacity() < count {
        // Freed first, so that the old and the new memory are not needed at the same time.
        *array = Vec::new();
        *array = zeroed(count, what)?;
    }
    array.resize(count, 0);
    Ok(())
}

/// Prefetches `values[index]`. Does nothing if the index is out of range, or on processors other than x86-64.
#[inline]
pub fn prefetch<T>(values: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(value) = values.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults and only affects caches; `value` is a reference into the slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, index);
}
