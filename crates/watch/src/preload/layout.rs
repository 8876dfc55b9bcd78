//! The memory that recorders and the command share, as in `recorder/layout.h`.
//!
//! Recorders write at any time, so every field is read as an atomic. `record` maps it.

use crate::code::sites::Site;
use crate::files::LIMITS;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

pub(super) const MAGIC: u64 = 0x3176_6365_7279_6c70;

pub(super) const MAX_CALLS: usize = 512;
pub(super) const MAX_MODULES: usize = 1024;
pub(super) const MAX_SITES: usize = 65_536;
pub(super) const MAX_PROCESSES: usize = 16_384;
pub(super) const MAX_THREADS: usize = 4096;
pub(super) const MAX_FILES: usize = 32_768;
pub(super) const MAX_NAME_BYTES: usize = 6 << 20;
pub(super) const MAX_COUNTS: usize = 65_536;
pub(super) const MAX_SAMPLES: usize = 512;
pub(super) const MAX_SHARED_FILES: usize = 16_384;
pub(super) const MAX_PATTERN_BYTES: usize = 65_536;
const MAX_FILLED_MAPS: usize = 256;
pub(super) const STACK_BYTES: usize = 16_384;
const OWN_COUNTS: usize = 8;
pub(super) const EXACT_SIZES: usize = 4;

/// States of slots.
pub(super) const FREE: u32 = 0;
pub(super) const TAKEN: u32 = 1;
pub(super) const READY: u32 = 2;
pub(super) const ENDED: u32 = 3;
pub(super) const SERVED: u32 = 4;

/// Whether a process waits for all of a mapping, and whether all of it is there.
pub(super) const WISH_NONE: u32 = 0;
pub(super) const WISH_ALL: u32 = 1;
pub(super) const WISH_FULFILLED: u32 = 2;
pub(super) const WISH_LEFT: u32 = 3;

/// Effects that are counted for each file, and states of threads.
pub(super) mod tally {
    pub(in crate::preload) const OPEN: u32 = 1;
    pub(in crate::preload) const READ: u32 = 2;
    pub(in crate::preload) const WRITE: u32 = 3;
    pub(in crate::preload) const MAP: u32 = 4;
    pub(in crate::preload) const SYNC: u32 = 5;
    pub(in crate::preload) const UNRECORDED: u32 = 6;
    pub(in crate::preload) const WAIT: u32 = 7;
    pub(in crate::preload) const SLEEP: u32 = 8;
    pub(in crate::preload) const SEEK: u32 = 9;
    pub(in crate::preload) const LOOKUP: u32 = 10;
    pub(in crate::preload) const CHANGE: u32 = 11;
    pub(in crate::preload) const LIST: u32 = 12;
    pub(in crate::preload) const JUMP: u32 = 13;
    pub(in crate::preload) const ALLOCATE: u32 = 14;
    pub(in crate::preload) const WAKE: u32 = 15;
    pub(in crate::preload) const ANSWERED: u32 = 16;
    pub(in crate::preload) const ASIDE: u32 = 17;
}

/// Options of a record.
pub(super) const OPTION_ALL: u32 = 1;
pub(super) const OPTION_CLOCK: u32 = 2;
pub(super) const OPTION_CURE: u32 = 4;
pub(super) const OPTION_THROTTLE: u32 = 8;

#[repr(C)]
pub(super) struct ModuleSlot {
    pub(super) state: AtomicU32,
    pub(super) process: AtomicU32,
    pub(super) device: AtomicU64,
    pub(super) inode: AtomicU64,
    pub(super) start: AtomicU64,
    pub(super) first_site: AtomicU32,
    pub(super) sites: AtomicU32,
}

/// The fields of [`Site`].
#[repr(C)]
pub(super) struct SiteSlot {
    call: AtomicU32,
    padding: AtomicU32,
    /// `before`, then `after` in the upper half.
    moved: AtomicU32,
}

impl SiteSlot {
    pub(super) fn set(&self, site: &Site) {
        use std::sync::atomic::Ordering::Relaxed;
        self.call.store(site.call, Relaxed);
        self.padding.store(site.padding, Relaxed);
        self.moved.store(u32::from(site.before) | u32::from(site.after) << 16, Relaxed);
    }
}

#[repr(C)]
pub(super) struct ProcessSlot {
    pub(super) state: AtomicU32,
    pub(super) id: AtomicU32,
    pub(super) start: AtomicU64,
    pub(super) end: AtomicU64,
    pub(super) program: AtomicU32,
    pub(super) generation: AtomicU32,
}

#[repr(C)]
pub(super) struct ExactSize {
    pub(super) bytes: AtomicU64,
    pub(super) calls: AtomicU32,
    pub(super) before: AtomicU32,
}

#[repr(C)]
pub(super) struct CountSlot {
    pub(super) state: AtomicU32,
    pub(super) file: AtomicU32,
    pub(super) tally: AtomicU32,
    is_busy: AtomicU32,
    pub(super) calls: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) ticks: AtomicU64,
    pub(super) waited_ticks: AtomicU64,
    pub(super) classes: [AtomicU64; LIMITS.len() + 1],
    pub(super) sizes: [ExactSize; EXACT_SIZES],
}

#[repr(C)]
pub(super) struct ActivitySlot {
    pub(super) ticks: AtomicU64,
    pub(super) waited_ticks: AtomicU64,
    pub(super) bytes: AtomicU64,
}

#[repr(C)]
pub(super) struct ThreadSlot {
    pub(super) state: AtomicU32,
    pub(super) id: AtomicU32,
    pub(super) process: AtomicU32,
    is_spawning: AtomicU32,
    pub(super) start: AtomicU64,
    pub(super) end: AtomicU64,
    pub(super) tally: AtomicU32,
    pub(super) file: AtomicU32,
    pub(super) call_start: AtomicU64,
    pub(super) waits: AtomicU64,
    pub(super) wait_ticks: AtomicU64,
    is_counting: AtomicU32,
    pub(super) generation: AtomicU32,
    pub(super) name: [AtomicU8; 16],
    pub(super) delay_ns: AtomicU64,
    timer: AtomicU32,
    unused: AtomicU32,
    /// Reads, writes, syncs.
    pub(super) activity: [ActivitySlot; 3],
    pub(super) counts: [CountSlot; OWN_COUNTS],
}

#[repr(C)]
pub(super) struct SampleSlot {
    pub(super) state: AtomicU32,
    pub(super) process: AtomicU32,
    pub(super) thread: AtomicU32,
    pub(super) tally: AtomicU32,
    pub(super) file: AtomicU32,
    pub(super) stack_bytes: AtomicU32,
    pub(super) generation: AtomicU32,
    unused: AtomicU32,
    pub(super) weight: AtomicU64,
    pub(super) amount: AtomicU64,
    pub(super) pc: AtomicU64,
    pub(super) sp: AtomicU64,
    pub(super) fp: AtomicU64,
    pub(super) link: AtomicU64,
    pub(super) stack: [AtomicU64; STACK_BYTES / 8],
}

#[repr(C)]
pub(super) struct FileSlot {
    pub(super) state: AtomicU32,
    pub(super) object: AtomicU32,
    hash: AtomicU64,
    pub(super) name: AtomicU32,
    pub(super) name_bytes: AtomicU32,
}

/// A file that is read from a buffer or written to.
#[repr(C)]
pub(super) struct SharedFileSlot {
    state: AtomicU32,
    writers: AtomicU32,
    changes: AtomicU64,
    device: AtomicU64,
    inode: AtomicU64,
}

/// A device that is slower than the real one.
#[repr(C)]
pub(super) struct ThrottleSlot {
    pub(super) byte_ticks: AtomicU64,
    pub(super) latency_ticks: AtomicU64,
    pub(super) free: AtomicU64,
    pub(super) first: AtomicU64,
    pub(super) last: AtomicU64,
    pub(super) calls: AtomicU64,
    pub(super) bytes: AtomicU64,
}

/// A mapped file that the command fills as it is used.
#[repr(C)]
pub(super) struct FilledMapSlot {
    pub(super) state: AtomicU32,
    pub(super) process: AtomicU32,
    pub(super) faults: AtomicU32,
    pub(super) file: AtomicU32,
    pub(super) start: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) offset: AtomicU64,
    pub(super) device: AtomicU64,
    pub(super) inode: AtomicU64,
    pub(super) wish: AtomicU32,
    unused: AtomicU32,
}

#[repr(C)]
pub(super) struct RecordLayout {
    pub(super) magic: AtomicU64,
    pub(super) bell: AtomicU32,
    pub(super) options: AtomicU32,
    pub(super) wait_ticks: AtomicU64,
    pub(super) size_limits: [AtomicU64; LIMITS.len()],
    pub(super) processes: AtomicU64,
    pub(super) threads: AtomicU64,
    pub(super) failed_opens: AtomicU64,
    pub(super) has_queues: AtomicU64,
    pub(super) queued: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) not_patched: AtomicU64,
    pub(super) lost_samples: AtomicU64,
    pub(super) sample_ticks: AtomicU64,
    pub(super) sample_ns: AtomicU64,
    pub(super) tick_ns: AtomicU64,
    pub(super) credit_ticks: AtomicU64,
    /// Of reads and of writes.
    pub(super) throttles: [ThrottleSlot; 2],
    pub(super) filled_bytes: AtomicU64,
    pub(super) held_maps: AtomicU64,
    pub(super) next_thread: AtomicU32,
    pub(super) next_process: AtomicU32,
    pub(super) next_site: AtomicU32,
    next_name: AtomicU32,
    pub(super) next_sample: AtomicU32,
    pub(super) effects: [AtomicU8; MAX_CALLS],
    pub(super) modules: [ModuleSlot; MAX_MODULES],
    pub(super) sites: [SiteSlot; MAX_SITES],
    pub(super) process: [ProcessSlot; MAX_PROCESSES],
    pub(super) file: [FileSlot; MAX_FILES],
    pub(super) names: [AtomicU8; MAX_NAME_BYTES],
    pub(super) counts: [CountSlot; MAX_COUNTS],
    pub(super) thread: [ThreadSlot; MAX_THREADS],
    pub(super) samples: [SampleSlot; MAX_SAMPLES],
    shared_files: [SharedFileSlot; MAX_SHARED_FILES],
    pub(super) filled_maps: [FilledMapSlot; MAX_FILLED_MAPS],
    pub(super) patterns: [AtomicU8; MAX_PATTERN_BYTES],
}

// The sizes that `recorder/layout.h` asserts.
const _: () = assert!(size_of::<CountSlot>() == 208 && size_of::<ThreadSlot>() == 1840);
const _: () = assert!(size_of::<Site>() == size_of::<SiteSlot>() && size_of::<RecordLayout>() == 38_634_336);
