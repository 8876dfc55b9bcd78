//! First pass of deduplication, over one chunk of items: finds items equal to recent items, and sorts the keys of the
//! other items.
//!
//! Chunks are independent of each other. `super::part` processes the keys.

use super::{AHEAD, BATCH, DedupKey, Items, prefetch};
use polyhaul_model::NONE;
use polyhaul_model::error::{Error, Result};

/// Items per chunk: as many as 16-bit offsets can address.
pub(super) const CHUNK: usize = 1 << 16;
/// Number of slots for recent items, indexed by hint: 16 KiB.
const RECENT: usize = 1 << 13;
/// Number of slots for recent keys: 16 KiB, enough for the few values of a flat or single-colored mesh.
const SEEN: usize = 1 << 10;

/// The keys of a chunk without recent duplicates, sorted by part, then by item.
#[derive(Default)]
pub(super) struct Chunk {
    pub keys: Vec<u64>,
    /// Per key: its item, relative to the start of the chunk.
    pub offsets: Vec<u16>,
    /// Per part: the end of its keys.
    pub ends: Vec<u32>,
}

/// Scratch memory for one chunk, reused by a thread.
#[derive(Default)]
pub(super) struct DedupFinder {
    /// Per hint slot: the latest item, relative to the start of the chunk.
    recent: Vec<u16>,
    /// Items without a recent duplicate.
    new: Vec<u16>,
    /// Per hash slot: a key and the first item with this key.
    seen: Vec<(u64, u32)>,
    pub(super) keys: Vec<u64>,
    pub(super) offsets: Vec<u16>,
}

impl DedupFinder {
    /// Sets each item of the chunk to an equal earlier item, to itself, or to [`NONE`] if it is skipped. Collects the
    /// keys of the items that are set to themselves.
    pub(super) fn find(&mut self, items: &impl Items, start: usize, of_item: &mut [u32]) -> Result<()> {
        resize(&mut self.new, of_item.len())?;
        if items.hint_count() == 0 {
            self.new.iter_mut().enumerate().for_each(|(offset, new)| *new = offset as u16);
            of_item.iter_mut().zip(start as u32..).for_each(|(like, item)| *like = item);
        } else {
            self.find_recent(items, start, of_item)?;
        }
        self.find_keys(items, start, of_item)
    }

    /// Compares each item with the latest item in the same hint slot. Items that differ are added to `self.new`.
    ///
    /// The loop is branch-free: whether items are equal cannot be predicted.
    fn find_recent(&mut self, items: &impl Items, start: usize, of_item: &mut [u32]) -> Result<()> {
        resize(&mut self.recent, RECENT)?;
        // Unset slots refer to the first item of the chunk, which is harmless: candidates are compared before use.
        self.recent.fill(0);
        // As an array of a constant length, indexing with `% RECENT` needs no bounds check.
        let Some(recent) = self.recent.first_chunk_mut::<RECENT>() else { return Ok(()) };
        // The first item is always new: the loop would compare it with itself.
        of_item[0] = start as u32;
        self.new[0] = 0;
        let mut new = 1;
        for offset in 1..of_item.len() {
            let item = start + offset;
            if offset % 8 == 0 {
                items.prefetch(item + AHEAD);
                prefetch(of_item, offset + AHEAD);
            }
            let place = &mut recent[items.hint(item) % RECENT];
            let like = start + usize::from(*place);
            *place = offset as u16;
            let same = items.surely_same(like, item);
            of_item[offset] = if same { like } else { item } as u32;
            // Stored in any case, to avoid a branch: the next item overwrites the entry unless this item is new.
            self.new[new] = offset as u16;
            new += usize::from(!same);
        }
        self.new.truncate(new);
        Ok(())
    }

    /// Collects the keys of new items, except keys that are still in `seen`.
    fn find_keys(&mut self, items: &impl Items, start: usize, of_item: &mut [u32]) -> Result<()> {
        resize(&mut self.seen, SEEN)?;
        // The item marks free slots, because 0 is a valid key: `mix(0)` is 0.
        self.seen.fill((0, NONE));
        resize(&mut self.keys, self.new.len())?;
        resize(&mut self.offsets, self.new.len())?;
        let mut count = 0;
        let mut batch = [DedupKey::Skip; BATCH];
        for offsets in self.new.chunks(BATCH) {
            items.keys(start, offsets, &mut batch);
            for (&offset, &key) in offsets.iter().zip(&batch) {
                let place = usize::from(offset);
                let item = (start + place) as u32;
                match key {
                    DedupKey::Skip => of_item[place] = NONE,
                    DedupKey::Alone => {}
                    DedupKey::Value(key) => {
                        // Slots use the lowest bits of a key and parts the uppermost bits, so all bits must be mixed.
                        let key = mix(key);
                        let seen = &mut self.seen[key as usize % SEEN];
                        if seen.0 == key && seen.1 != NONE {
                            of_item[place] = seen.1;
                        } else {
                            *seen = (key, item);
                            self.keys[count] = key;
                            self.offsets[count] = offset;
                            count += 1;
                        }
                    }
                }
            }
        }
        self.keys.truncate(count);
        self.offsets.truncate(count);
        Ok(())
    }

    /// Sorts the keys by part with a stable counting sort.
    pub(super) fn sort_into(&self, chunk: &mut Chunk, parts: usize) -> Result<()> {
        resize(&mut chunk.keys, self.keys.len())?;
        resize(&mut chunk.offsets, self.keys.len())?;
        resize(&mut chunk.ends, parts)?;
        let ends = &mut chunk.ends[..];
        ends.fill(0);
        for &key in &self.keys {
            ends[part_of(key, parts)] += 1;
        }
        let mut start = 0;
        for end in &mut *ends {
            start += std::mem::replace(end, start);
        }
        for (&key, &offset) in self.keys.iter().zip(&self.offsets) {
            // Each entry advances from the start of its part to its end, the value that `ends` must have afterward.
            let place = &mut ends[part_of(key, parts)];
            chunk.keys[*place as usize] = key;
            chunk.offsets[*place as usize] = offset;
            *place += 1;
        }
        Ok(())
    }
}

/// Mixes a key. This is a bijection, so equal results mean equal keys, and the original keys can be discarded.
pub(super) fn mix(key: u64) -> u64 {
    // Multiplying by an odd number and XOR with a shifted copy can both be undone.
    let key = (key ^ (key >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let key = (key ^ (key >> 29)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    key ^ (key >> 32)
}

/// Returns the part of a mixed key: its uppermost bits.
fn part_of(key: u64, parts: usize) -> usize {
    // Shifts 64-bit integers: `usize` may have only 32 bits, and with a single part, all of them would be shifted out.
    ((key >> 32) >> (32 - parts.trailing_zeros())) as usize
}

/// Resizes a list, leaving arbitrary contents.
fn resize<T: Default>(list: &mut Vec<T>, count: usize) -> Result<()> {
    let more = count.saturating_sub(list.len());
    list.try_reserve_exact(more).map_err(|_| Error::memory("value keys"))?;
    list.resize_with(count, T::default);
    Ok(())
}
