//! Small blocks in one unnamed mapped file, for example the names and lists of a million objects.
//!
//! A bump allocator cuts blocks of a few size classes from slabs. A freed block is reused for the next block of its
//! class. Once a spill has ended, slabs without blocks in use are punched out of the file. The parent module decides
//! which blocks are stored here. Nothing here allocates from the heap.

use super::arrays::{close, last_error, open, reserve};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Address space for blocks; memory and disk are used one slab at a time.
const SPACE_BYTES: usize = if cfg!(target_pointer_width = "64") { 1 << 37 } else { 1 << 28 };
/// Unit in which the file grows.
const SLAB_BYTES: usize = 16 << 20;
const SLAB_COUNT: usize = SPACE_BYTES / SLAB_BYTES;
/// Maximum size of a block.
pub const MAX_BYTES: usize = SLAB_BYTES / 4;
/// Alignment of every block.
pub const ALIGNMENT: usize = 16;
/// Size up to which the classes are the multiples of [`ALIGNMENT`]; above it, there are four classes per doubling.
const MAX_FINE_BYTES: usize = 128;
const FINE_CLASS_COUNT: usize = MAX_FINE_BYTES / ALIGNMENT;
const CLASS_COUNT: usize = FINE_CLASS_COUNT + 4 * (MAX_BYTES.ilog2() - MAX_FINE_BYTES.ilog2()) as usize;

/// Start of the address space; 0 before its first use. The space is never unmapped, so the address alone shows whether
/// a block is in it.
static SPACE: AtomicUsize = AtomicUsize::new(0);
/// Bytes mapped to the file, at the start of the address space.
static MAPPED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// State of all blocks.
pub struct SpillBlocks {
    file: i32,
    /// Offset of the end of the last block cut.
    cut_bytes: usize,
    /// First freed block of each class. Each freed block holds the address of the next freed block.
    freed: [usize; CLASS_COUNT],
    /// Number of blocks in use that start in each slab.
    used: [u32; SLAB_COUNT],
    used_count: usize,
}

/// Returns whether a block is on disk.
pub fn contains(start: *mut u8) -> bool {
    let space = SPACE.load(Relaxed);
    space != 0 && start.addr().wrapping_sub(space) < SPACE_BYTES
}

/// Drops the pages of all blocks from this process's memory, as for arrays.
pub fn release() {
    let bytes = MAPPED_BYTES.load(Relaxed);
    if bytes > 0 {
        // SAFETY: the address space is never unmapped, and a shared mapping loses no content.
        unsafe { libc::madvise(SPACE.load(Relaxed) as *mut libc::c_void, bytes, libc::MADV_DONTNEED) };
    }
}

/// Returns the class of a size up to [`MAX_BYTES`], and the size of its blocks.
fn class(bytes: usize) -> (usize, usize) {
    // The last byte decides, so that a size that fills its blocks exactly belongs to their class and not to the next.
    let last = bytes.max(1) - 1;
    if bytes <= MAX_FINE_BYTES {
        return (last / ALIGNMENT, (last / ALIGNMENT + 1) * ALIGNMENT);
    }
    let doubling = last.ilog2();
    let step = 1 << (doubling - 2);
    let quarter = last / step;
    let number = FINE_CLASS_COUNT + 4 * (doubling - MAX_FINE_BYTES.ilog2()) as usize + quarter % 4;
    (number, (quarter + 1) * step)
}

/// Returns whether both sizes have the same class, so that a block can be resized in place.
pub fn is_same_class(bytes: usize, other_bytes: usize) -> bool {
    bytes.max(other_bytes) <= MAX_BYTES && class(bytes) == class(other_bytes)
}

impl SpillBlocks {
    pub const fn new() -> SpillBlocks {
        SpillBlocks { file: -1, cut_bytes: 0, freed: [0; CLASS_COUNT], used: [0; SLAB_COUNT], used_count: 0 }
    }

    /// Returns the size of the file in bytes, including slabs punched out of it.
    pub fn bytes(&self) -> usize {
        MAPPED_BYTES.load(Relaxed)
    }

    /// Allocates a block with undefined content, in a file in `folder`.
    pub fn alloc(&mut self, folder: i32, bytes: usize) -> io::Result<*mut u8> {
        if bytes > MAX_BYTES {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let (class, bytes) = class(bytes);
        let freed = self.freed[class];
        let start = if freed == 0 {
            self.cut(folder, bytes)?
        } else {
            // SAFETY: a freed block is in the mapped part, has room for an address, and holds the address of the next
            // one.
            self.freed[class] = unsafe { *(freed as *const usize) };
            freed
        };
        self.used[slab(start)] += 1;
        self.used_count += 1;
        Ok(start as *mut u8)
    }

    /// Cuts a new block from the current slab or the next slab.
    fn cut(&mut self, folder: i32, bytes: usize) -> io::Result<usize> {
        let mut start = self.cut_bytes;
        // No block extends over two slabs, because a slab is punched out once no block in use starts in it.
        if start / SLAB_BYTES != (start + bytes - 1) / SLAB_BYTES {
            start = start.next_multiple_of(SLAB_BYTES);
        }
        if start + bytes > MAPPED_BYTES.load(Relaxed) {
            self.grow(folder)?;
        }
        self.cut_bytes = start + bytes;
        Ok(SPACE.load(Relaxed) + start)
    }

    /// Maps one more slab.
    fn grow(&mut self, folder: i32) -> io::Result<()> {
        let old_bytes = MAPPED_BYTES.load(Relaxed);
        let bytes = old_bytes + SLAB_BYTES;
        if bytes > SPACE_BYTES {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let space = space()?;
        if self.file < 0 {
            self.file = open(folder)?;
        }
        // Without reserved disk blocks, a write to the mapping could raise `SIGBUS` once the disk is full.
        reserve(self.file, bytes)?;
        map(space + old_bytes, SLAB_BYTES, Some((self.file, old_bytes)))?;
        MAPPED_BYTES.store(bytes, Relaxed);
        Ok(())
    }

    /// Frees a block of this size. If `is_active` is set, a spill exists, and the block may be reused.
    ///
    /// # Safety
    /// The block comes from [`SpillBlocks::alloc`], with the same class, and is no longer used.
    pub unsafe fn free(&mut self, start: *mut u8, bytes: usize, is_active: bool) {
        let slab = slab(start.addr());
        self.used[slab] -= 1;
        self.used_count -= 1;
        if is_active {
            let (class, _) = class(bytes);
            // SAFETY: the block is in the mapped part, aligned, and has at least `ALIGNMENT` bytes.
            unsafe { *start.cast::<usize>() = self.freed[class] };
            self.freed[class] = start.addr();
        } else if self.used_count == 0 {
            self.finish();
        } else if self.used[slab] == 0 {
            self.discard(slab);
        }
    }

    /// Releases the disk space of slabs without blocks in use, or the whole file if no block is in use. Forgets freed
    /// blocks, because their slabs may be punched out from now on. Called once a spill has ended.
    pub fn finish(&mut self) {
        self.freed = [0; CLASS_COUNT];
        let bytes = MAPPED_BYTES.load(Relaxed);
        if self.used_count > 0 {
            // Skip the rest of the last slab, so that it can be discarded once its blocks are freed.
            self.cut_bytes = self.cut_bytes.next_multiple_of(SLAB_BYTES);
            (0..bytes / SLAB_BYTES).filter(|&slab| self.used[slab] == 0).for_each(|slab| self.discard(slab));
        } else if self.file >= 0 && map(SPACE.load(Relaxed), bytes, None).is_ok() {
            MAPPED_BYTES.store(0, Relaxed);
            self.cut_bytes = 0;
            close(self.file);
            self.file = -1;
        }
    }

    /// Releases the disk space of a slab, which is not used again while the file exists.
    fn discard(&self, slab: usize) {
        let start = (slab * SLAB_BYTES) as libc::off_t;
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: the descriptor is open; no block in use starts in this slab, and no block extends over two slabs.
        unsafe { libc::fallocate(self.file, mode, start, SLAB_BYTES as libc::off_t) };
    }
}

/// Returns the index of the slab that contains the block at the address `start`.
fn slab(start: usize) -> usize {
    (start - SPACE.load(Relaxed)) / SLAB_BYTES
}

/// Returns the start of the address space, reserving the space on the first call.
fn space() -> io::Result<usize> {
    let space = SPACE.load(Relaxed);
    if space != 0 {
        return Ok(space);
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping that replaces no other.
    let start = unsafe { libc::mmap(ptr::null_mut(), SPACE_BYTES, libc::PROT_NONE, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(last_error());
    }
    SPACE.store(start.addr(), Relaxed);
    Ok(start.addr())
}

/// Maps a part of the address space to a file at an offset, or, without a file, makes it inaccessible again.
fn map(start: usize, bytes: usize, file: Option<(i32, usize)>) -> io::Result<()> {
    let (protection, flags, (file, offset)) = match file {
        Some(file) => (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, file),
        None => (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, (-1, 0)),
    };
    let start = start as *mut libc::c_void;
    // SAFETY: the range is in the address space, which belongs to this module, and holds no block in use.
    let mapped = unsafe { libc::mmap(start, bytes, protection, flags | libc::MAP_FIXED, file, offset as libc::off_t) };
    if mapped == libc::MAP_FAILED { Err(last_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_room_for_its_sizes_and_little_more() {
        let mut last = class(1);
        for bytes in (1..5000).chain([MAX_BYTES / 2, MAX_BYTES / 2 + 1, MAX_BYTES - 1, MAX_BYTES]) {
            let (class, size) = class(bytes);
            assert!(class < CLASS_COUNT && size >= bytes && size.is_multiple_of(ALIGNMENT), "{bytes}: {class}, {size}");
            assert!(size <= bytes + bytes / 4 + ALIGNMENT, "{bytes}: {size}");
            assert!(class >= last.0 && (class == last.0) == (size == last.1), "{bytes}: {class}, {size}");
            last = (class, size);
        }
    }
}
