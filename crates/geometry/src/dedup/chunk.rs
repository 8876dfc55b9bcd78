//! One chunk of items: finds items equal to recent ones, and sorts the keys of the others.
//!
//! Nothing here depends on other chunks. `super::part` processes the keys.

use super::{AHEAD, BATCH, DedupKey, Items, prefetch};
use polyhaul_model::NONE;
use polyhaul_model::error::{Error, Result};

/// Items of a chunk: as many as 16 bits can number.
pub(super) const CHUNK: usize = 1 << 16;
/// Recent items that a chunk remembers by their hints: 16 KiB.
const RECENT: usize = 1 << 13;
/// Recent keys that a chunk remembers: 16 KiB, for the few values of a flat or single-colored mesh.
const SEEN: usize = 1 << 10;

/// The keys of a chunk that are not like recent ones, sorted by part, then by item.
#[derive(Default)]
pub(super) struct Chunk {
    pub keys: Vec<u64>,
    /// Per key: its item, from the start of the chunk on.
    pub offsets: Vec<u16>,
    /// Per part: where its keys end.
    pub ends: Vec<u32>,
}

/// A thread's memory for a chunk.
#[derive(Default)]
pub(super) struct DedupFinder {
    /// By hint: the newest item, from the start of the chunk on.
    recent: Vec<u16>,
    /// Items that are not like recent ones.
    new: Vec<u16>,
    /// By hash, a key and the first item that has it.
    seen: Vec<(u64, u32)>,
    pub(super) keys: Vec<u64>,
    pub(super) offsets: Vec<u16>,
}

impl DedupFinder {
    /// Finds keys, marks their items, and notes for the other items of the chunk one like them.
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

    /// Searches the most recent items by hint for each item; `self.new` receives the others.
    ///
    /// No branch depends on the outcome, which cannot be predicted.
    fn find_recent(&mut self, items: &impl Items, start: usize, of_item: &mut [u32]) -> Result<()> {
        resize(&mut self.recent, RECENT)?;
        // Entries that were never set mean the first item of the chunk. That does no harm: every recent item is
        // compared before it is used.
        self.recent.fill(0);
        let Some(recent) = self.recent.first_chunk_mut::<RECENT>() else { return Ok(()) };
        // The first item is new: it alone would be compared with itself.
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
            self.new[new] = offset as u16;
            new += usize::from(!same);
        }
        self.new.truncate(new);
        Ok(())
    }

    /// Collects the keys of new items that are not like keys seen just before.
    fn find_keys(&mut self, items: &impl Items, start: usize, of_item: &mut [u32]) -> Result<()> {
        resize(&mut self.seen, SEEN)?;
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

    /// A counting sort of the keys that keeps the order within a part.
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
            let place = &mut ends[part_of(key, parts)];
            chunk.keys[*place as usize] = key;
            chunk.offsets[*place as usize] = offset;
            *place += 1;
        }
        Ok(())
    }
}

/// A bijection of 64 bits that looks random, so that equal results mean equal keys, and keys need not be kept.
pub(super) fn mix(key: u64) -> u64 {
    let key = (key ^ (key >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let key = (key ^ (key >> 29)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    key ^ (key >> 32)
}

/// The part of a mixed key: its upper bits.
fn part_of(key: u64, parts: usize) -> usize {
    (key >> 32) as usize >> (32 - parts.trailing_zeros())
}

/// Resizes a list; its contents are arbitrary.
fn resize<T: Default>(list: &mut Vec<T>, count: usize) -> Result<()> {
    let more = count.saturating_sub(list.len());
    list.try_reserve_exact(more).map_err(|_| Error::memory("keys of values"))?;
    list.resize_with(count, T::default);
    Ok(())
}
