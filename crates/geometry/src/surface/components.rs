//! Connected components of positions: a union-find forest that threads join without locks.
//!
//! Roots are only joined to lower roots, so the final root of a component is its lowest position, regardless of the
//! order of faces. Path halving may replace a parent with a stale ancestor, which is still an ancestor.

use polyhaul_pipeline::arrays::as_atomics;
use std::sync::atomic::{AtomicU32, Ordering};

/// A forest of positions.
pub(super) struct Components<'a> {
    /// Per position: its parent plus 1, or 0 if no face uses it.
    parents: &'a [AtomicU32],
}

impl Components<'_> {
    /// Creates a forest of unused positions. All `parents` must be 0.
    pub(super) fn new(parents: &mut [u32]) -> Components<'_> {
        Components { parents: as_atomics(parents) }
    }

    /// Marks a position as used.
    #[inline]
    pub(super) fn mark(&self, position: u32) {
        let parent = &self.parents[position as usize];
        // Most positions are already marked, and a load is cheaper than a shared store.
        if parent.load(Ordering::Relaxed) == 0 {
            // Threads that race store the same value, and positions are joined only after all have been marked.
            parent.store(position + 1, Ordering::Relaxed);
        }
    }

    /// Joins the components of two used positions, and returns a position near the common root.
    #[inline]
    pub(super) fn join(&self, a: u32, b: u32) -> u32 {
        let mut a = self.root(a);
        let mut b = self.root(b);
        while a != b {
            let low = a.min(b);
            let high = a.max(b);
            let parent = &self.parents[high as usize];
            // Fails if another thread has joined `high` in the meantime: then it is no longer a root.
            if parent.compare_exchange(high + 1, low + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return low;
            }
            a = self.root(low);
            b = self.root(high);
        }
        a
    }

    #[inline]
    fn parent(&self, position: u32) -> u32 {
        self.parents[position as usize].load(Ordering::Relaxed) - 1
    }

    #[inline]
    fn root(&self, mut position: u32) -> u32 {
        loop {
            let parent = self.parent(position);
            if parent == position {
                return position;
            }
            let next = self.parent(parent);
            if next == parent {
                return parent;
            }
            // A plain store cannot undo a join: joins change only roots, and `position` is no longer one.
            self.parents[position as usize].store(next + 1, Ordering::Relaxed);
            position = next;
        }
    }

    /// Returns the number of used positions and of components.
    pub(super) fn counts(&self) -> [u64; 2] {
        let mut counts = [0; 2];
        for (parent, position) in self.parents.iter().zip(0..) {
            let parent = parent.load(Ordering::Relaxed);
            counts[0] += u64::from(parent != 0);
            counts[1] += u64::from(parent == position + 1);
        }
        counts
    }
}
