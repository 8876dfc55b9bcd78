//! Second pass of deduplication: finds equal keys among the keys with the same upper hash bits, in a small hash table.

use super::chunk::{CHUNK, Chunk, DedupFinder};
use super::prefetch;
use polyhaul_model::error::{Error, Result};
use std::sync::atomic::{AtomicU32, Ordering};

/// Target number of keys per part: with its table, a part takes 224 KiB and fits in the L2 cache.
pub(super) const KEYS: usize = 1 << 13;
pub(super) const MAX_PARTS: usize = 1 << 10;
/// Table slots per key.
const SLOTS: usize = 4;

/// The keys of a part, in item order.
#[derive(Default)]
pub(super) struct DedupPart {
    keys: Vec<u64>,
    items: Vec<u32>,
    /// Open addressing with linear probing. 0 is free; other entries are 1 + the index of a key, tagged with key bits
    /// above the index, so that most mismatches are found without reading `keys`.
    table: Vec<u32>,
}

impl DedupPart {
    /// Collects the keys of `part` from all chunks.
    pub(super) fn gather(&mut self, chunks: &[Chunk], part: usize) -> Result<()> {
        let range = |chunk: &Chunk| {
            let start = part.checked_sub(1).map_or(0, |before| chunk.ends[before]);
            start as usize..chunk.ends[part] as usize
        };
        let count = chunks.iter().map(|chunk| range(chunk).len()).sum();
        self.keys.clear();
        self.items.clear();
        self.keys.try_reserve_exact(count).map_err(memory)?;
        self.items.try_reserve_exact(count).map_err(memory)?;
        for (chunk, start) in chunks.iter().zip((0..).step_by(CHUNK)) {
            self.keys.extend_from_slice(&chunk.keys[range(chunk)]);
            self.items.extend(chunk.offsets[range(chunk)].iter().map(|&offset| start + u32::from(offset)));
        }
        Ok(())
    }

    /// Takes all keys of the only chunk.
    pub(super) fn take(&mut self, finder: &mut DedupFinder) -> Result<()> {
        std::mem::swap(&mut self.keys, &mut finder.keys);
        self.items.clear();
        self.items.try_reserve_exact(finder.offsets.len()).map_err(memory)?;
        // The only chunk starts at item 0, so offsets are items.
        self.items.extend(finder.offsets.iter().map(|&offset| u32::from(offset)));
        Ok(())
    }

    /// Sets each item to the first item with the same key. The first items themselves stay unchanged.
    pub(super) fn merge(&mut self, parts: usize, of_item: &[AtomicU32]) -> Result<()> {
        let slots = (SLOTS * self.keys.len()).next_power_of_two();
        self.table.clear();
        self.table.try_reserve_exact(slots).map_err(memory)?;
        self.table.resize(slots, 0);
        // One more than the number of keys, because entries are 1 + the index of a key.
        let index_mask = (self.keys.len() + 1).next_power_of_two() as u32 - 1;
        let used_bits = parts.trailing_zeros();
        let shift = 32 - slots.trailing_zeros().min(32);
        let mut stores = Stores { of_item, waiting: [(0, 0); WAITING], count: 0 };
        // Limits the number of probes, so that no input takes quadratic time. Keys that collide too often are sorted
        // instead. Typical keys take a sixth of a probe each.
        let mut steps = 2 * self.keys.len();
        for (index, &key) in self.keys.iter().enumerate() {
            let tag = key as u32 & !index_mask;
            // Skips the bits that all keys of the part share.
            let mut slot = (key << used_bits >> 32) as usize >> shift;
            loop {
                let entry = self.table[slot];
                if entry == 0 {
                    self.table[slot] = tag | (index as u32 + 1);
                    break;
                }
                let first = (entry & index_mask) as usize - 1;
                if entry & !index_mask == tag && self.keys[first] == key {
                    stores.push(self.items[index], self.items[first]);
                    break;
                }
                if steps == 0 {
                    return self.merge_sorted(of_item);
                }
                steps -= 1;
                slot = (slot + 1) & (slots - 1);
            }
        }
        stores.flush();
        Ok(())
    }

    /// Same as [`DedupPart::merge`], for keys crafted to fall into few slots.
    #[cold]
    fn merge_sorted(&mut self, of_item: &[AtomicU32]) -> Result<()> {
        let keys = &self.keys;
        let order = &mut self.table;
        order.clear();
        // Does not allocate: the table has capacity for `SLOTS` times as many entries.
        order.extend(0..keys.len() as u32);
        // Equal keys are sorted by index, so that the first item represents the other items.
        order.sort_unstable_by_key(|&index| (keys[index as usize], index));
        for same in order.chunk_by(|&a, &b| keys[a as usize] == keys[b as usize]) {
            for &index in &same[1..] {
                let item = self.items[index as usize] as usize;
                of_item[item].store(self.items[same[0] as usize], Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

/// Number of buffered stores.
const WAITING: usize = 32;

/// Buffers scattered stores while their cache lines are prefetched: a mesh in random order misses the cache at each
/// store.
struct Stores<'a> {
    of_item: &'a [AtomicU32],
    waiting: [(u32, u32); WAITING],
    count: usize,
}

impl Stores<'_> {
    fn push(&mut self, item: u32, first: u32) {
        prefetch(self.of_item, item as usize);
        self.waiting[self.count] = (item, first);
        self.count += 1;
        if self.count == WAITING {
            self.flush();
        }
    }

    fn flush(&mut self) {
        for &(item, first) in &self.waiting[..self.count] {
            self.of_item[item as usize].store(first, Ordering::Relaxed);
        }
        self.count = 0;
    }
}

fn memory(_: std::collections::TryReserveError) -> Error {
    Error::memory("value keys")
}
