//! Reserve of small blocks, so that a job can fail with an error when the system is out of memory.
//!
//! Code that needs much memory checks its allocations. But handling a failed allocation, for example building the error
//! message, needs a bit more memory, and the standard library and other crates abort if they do not get it. Once the
//! system refuses such small blocks, they come from this reserve.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire},
};

/// Size of the reserve. Its pages use no memory until they are touched.
const ROOM_BYTES: usize = 2 << 20;
/// Size of the last part of the reserve, which is used only after a block was refused, so that an error can still be
/// built.
const LAST_BYTES: usize = ROOM_BYTES / 4;
/// Maximum size of a block from the reserve.
const MAX_BLOCK_BYTES: usize = 64 << 10;

#[repr(C, align(16))]
struct ReserveRoom(UnsafeCell<[u8; ROOM_BYTES]>);

// SAFETY: the room is only accessed through pointers to disjoint blocks, which `RoomUse` hands out.
unsafe impl Sync for ReserveRoom {}

static ROOM: ReserveRoom = ReserveRoom(UnsafeCell::new([0; ROOM_BYTES]));
/// A [`RoomUse`] as bits. Not a mutex, because on some systems locking might itself allocate.
static USE: AtomicU64 = AtomicU64::new(0);

/// Blocks in use. Freed space is reused once no block is in use.
#[derive(Clone, Copy)]
struct RoomUse {
    end: usize,
    count: u64,
    has_refused: bool,
}

impl RoomUse {
    fn from_bits(bits: u64) -> RoomUse {
        RoomUse { end: (bits & 0x7fff_ffff) as usize, count: bits >> 32, has_refused: bits & (1 << 31) != 0 }
    }

    fn to_bits(self) -> u64 {
        self.count << 32 | u64::from(self.has_refused) << 31 | self.end as u64
    }

    /// Takes a block. Returns its offset, or `None` if the block is refused.
    fn take(&mut self, layout: Layout) -> Option<usize> {
        let start = self.end.next_multiple_of(layout.align());
        let room_bytes = if self.has_refused { ROOM_BYTES } else { ROOM_BYTES - LAST_BYTES };
        if start + layout.size() > room_bytes {
            self.has_refused = true;
            return None;
        }
        self.end = start + layout.size();
        self.count += 1;
        Some(start)
    }

    fn give_back(&mut self) {
        self.count -= 1;
        // Blocks are freed in any order, so space can be reused safely only when none is in use.
        if self.count == 0 {
            self.end = 0;
            self.has_refused = false;
        }
    }
}

/// Updates the blocks in use atomically. Returns the result of `change`, which may be called more than once.
fn update<T>(change: impl Fn(&mut RoomUse) -> T) -> T {
    let mut bits = USE.load(Acquire);
    loop {
        let mut room = RoomUse::from_bits(bits);
        let result = change(&mut room);
        match USE.compare_exchange_weak(bits, room.to_bits(), AcqRel, Acquire) {
            Ok(_) => return result,
            Err(newer) => bits = newer,
        }
    }
}

/// Returns whether a block is in the reserve.
pub fn contains(start: *mut u8) -> bool {
    start.addr().wrapping_sub(ROOM.0.get().addr()) < ROOM_BYTES
}

/// Returns `block` or, if that is null, a block from the reserve. Returns null if the layout is too large or the
/// reserve is exhausted.
pub fn or_reserved(block: *mut u8, layout: Layout, zeroed: bool) -> *mut u8 {
    if block.is_null() { alloc(layout, zeroed) } else { block }
}

#[cold]
fn alloc(layout: Layout, zeroed: bool) -> *mut u8 {
    if layout.size() > MAX_BLOCK_BYTES || layout.align() > align_of::<ReserveRoom>() {
        return ptr::null_mut();
    }
    let Some(start) = update(|room| room.take(layout)) else { return ptr::null_mut() };
    // SAFETY: the block is in the room, and no other block overlaps it.
    unsafe {
        let start = ROOM.0.get().cast::<u8>().add(start);
        if zeroed {
            start.write_bytes(0, layout.size());
        }
        start
    }
}

/// Frees a block of the reserve. Only the number of blocks in use matters, not their addresses.
pub fn dealloc() {
    update(RoomUse::give_back);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_refusal_there_is_room_for_an_error() {
        let mut room = RoomUse { end: 0, count: 0, has_refused: false };
        let layout = Layout::from_size_align(1000, 16).unwrap();
        let mut last = None;
        while let Some(start) = room.take(layout) {
            assert!(start.is_multiple_of(16) && last.is_none_or(|last| start >= last + 1000));
            last = Some(start);
        }
        let more = (0..LAST_BYTES / 1008 - 1).map(|_| room.take(layout).unwrap()).last();
        assert!(more > last && more.is_some_and(|start| start + 1000 <= ROOM_BYTES));
        (0..room.count).for_each(|_| room.give_back());
        assert_eq!(room.to_bits(), RoomUse::from_bits(room.to_bits()).to_bits());
        assert_eq!(room.take(layout), Some(0));
        assert!(!room.has_refused);
    }

    #[test]
    fn blocks_are_zeroed_on_request_and_large_ones_refused() {
        let layout = Layout::from_size_align(64, 8).unwrap();
        let block = or_reserved(ptr::null_mut(), layout, true);
        assert!(contains(block) && !contains(ptr::null_mut()));
        // SAFETY: the block has 64 bytes.
        assert!(unsafe { (0..64).all(|at| *block.add(at) == 0) });
        assert!(alloc(Layout::from_size_align(MAX_BLOCK_BYTES + 1, 8).unwrap(), false).is_null());
        dealloc();
    }
}
