//! Allocates blocks of memory for the values of a scene: threads store arrays in them, each in its own room.
//!
//! Page faults on small pages take much of the time of reading a scene, so blocks are large and aligned to huge pages,
//! which they request from the system. A block lives as long as any array in it.

use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::shared_slice::SharedSlice;
use polyhaul_pipeline::huge::{HUGE_PAGE_BYTES, HugePages};
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// Alignment of arrays in bytes.
const ALIGNMENT: usize = 16;
/// Maximum size of a block, unless a single room needs more.
const MAX_BLOCK_BYTES: usize = 32 << 20;
/// A new block is this fraction of the total size of all blocks, which bounds the fraction of unused memory.
const GROWTH: usize = 8;

/// Memory that is divided into rooms.
struct PbrtBlock {
    start: NonNull<u8>,
    layout: Layout,
    pages: HugePages,
}

/// A part of a block, to be filled array by array.
pub(super) struct ShelfRoom {
    block: Option<Arc<PbrtBlock>>,
    at: usize,
    end: usize,
}

/// Allocates rooms.
#[derive(Default)]
pub(super) struct PbrtShelf {
    last: Mutex<PbrtLast>,
}

/// Latest block.
#[derive(Default)]
struct PbrtLast {
    block: Option<Arc<PbrtBlock>>,
    used: usize,
    /// Total size of all blocks.
    total: usize,
}

// SAFETY: a `PbrtBlock` owns its memory, and its fields never change. Each `ShelfRoom` writes only its own part, before
// the `SharedSlice` that hands out references to that part exists.
unsafe impl Send for PbrtBlock {}
// SAFETY: as for `Send`.
unsafe impl Sync for PbrtBlock {}
/// Returns the number of bytes that an array takes in a room.
pub(super) fn room_of<T>(values: &[T]) -> usize {
    size_of_val(values).next_multiple_of(ALIGNMENT)
}

impl PbrtBlock {
    fn new(bytes: usize) -> Result<Arc<PbrtBlock>> {
        let alignment = if bytes >= HUGE_PAGE_BYTES { HUGE_PAGE_BYTES } else { ALIGNMENT };
        let layout = Layout::from_size_align(bytes.max(1), alignment).map_err(|_| Error::memory("values"))?;
        // SAFETY: `bytes.max(1)` is the size, so it is not zero.
        let start = NonNull::new(unsafe { alloc(layout) }).ok_or_else(|| Error::memory("values"))?;
        let pages = HugePages::default();
        pages.request(start.as_ptr(), bytes);
        Ok(Arc::new(PbrtBlock { start, layout, pages }))
    }
}

impl Drop for PbrtBlock {
    fn drop(&mut self) {
        // SAFETY: `start` came from `alloc` with this layout in `PbrtBlock::new`, and nothing else frees it.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

impl PbrtShelf {
    /// Allocates a room of `bytes` bytes, which must be a sum of [`room_of`].
    ///
    /// # Errors
    /// [`ErrorKind::Memory`].
    pub(super) fn room(&self, bytes: usize) -> Result<ShelfRoom> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let left = last.block.as_ref().map_or(0, |block| block.layout.size() - last.used);
        if left < bytes {
            let size = (last.total / GROWTH).min(MAX_BLOCK_BYTES);
            let size = if size >= HUGE_PAGE_BYTES { size.next_multiple_of(HUGE_PAGE_BYTES) } else { size };
            // The block size is only a preference: if memory is short, the room itself may still fit.
            let block = PbrtBlock::new(size.max(bytes)).or_else(|_| PbrtBlock::new(bytes))?;
            last.total = last.total.saturating_add(block.layout.size());
            last.block = Some(block);
            last.used = 0;
        }
        let at = last.used;
        last.used += bytes;
        Ok(ShelfRoom { block: last.block.clone(), at, end: at + bytes })
    }
}

impl ShelfRoom {
    /// Copies an array into the room.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] if the room is full, which is a bug in polyhaul.
    pub(super) fn keep<T: Copy>(&mut self, values: &[T]) -> Result<SharedSlice<T>> {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        let bytes = room_of(values);
        if values.is_empty() {
            return Ok(SharedSlice::default());
        }
        let block = self.block.as_ref().filter(|_| bytes <= self.end - self.at);
        let Some(block) = block else {
            return Err(Error::new(ErrorKind::Internal, "out of space for parameter values"));
        };
        // SAFETY: `at + bytes <= end` was checked, and `end` is inside the block. `PbrtShelf::room` assigns each part
        // of a block to a single room, so no other thread writes or reads here. Blocks start at multiples of
        // `ALIGNMENT`, and so does `at`, as long as room sizes are sums of `room_of`.
        let place = unsafe {
            block.pages.touch(block.start.as_ptr(), block.layout.size(), self.at..self.at + bytes);
            let place = block.start.add(self.at).cast::<T>();
            place.copy_from_nonoverlapping(NonNull::from(values).cast(), values.len());
            place
        };
        self.at += bytes;
        // SAFETY: the values were just written at `place`. `self.at` has moved past them, so they are not written
        // again, and `block` keeps the memory alive.
        Ok(unsafe { SharedSlice::from_raw_parts(place, values.len(), block.clone()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_of_one_block_keep_their_values_on_all_threads() {
        let shelf = PbrtShelf::default();
        let fill = |thread: u64| {
            let mut arrays = Vec::new();
            for size in 0..200 {
                let wide = vec![thread << 32 | size as u64; size];
                let narrow = vec![size as u8; 3 * size];
                let mut room = shelf.room(room_of(&wide) + room_of(&narrow)).unwrap();
                arrays.push((room.keep(&wide).unwrap(), room.keep(&narrow).unwrap()));
                assert!(room.keep(&[1u8]).is_err());
            }
            arrays
        };
        let by_thread: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || fill(thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        drop(shelf);
        for (thread, arrays) in by_thread.iter().enumerate() {
            for (size, (wide, narrow)) in arrays.iter().enumerate() {
                assert_eq!(wide[..], vec![(thread as u64) << 32 | size as u64; size]);
                assert_eq!(narrow.clone()[..], vec![size as u8; 3 * size]);
            }
        }
    }

    #[test]
    fn new_blocks_are_a_small_fraction_of_the_total() {
        let shelf = PbrtShelf::default();
        for _ in 0..500 {
            shelf.room(1 << 16).unwrap();
        }
        let last = shelf.last.lock().unwrap();
        assert!((500 << 16..600 << 16).contains(&last.total), "{}", last.total);
        assert!(last.block.as_ref().unwrap().layout.size() >= HUGE_PAGE_BYTES);
    }
}
