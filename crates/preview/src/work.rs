//! The budget of work of a picture.
//!
//! Work is counted, in units of about a nanosecond of one thread, and not timed: a picture has the same bytes on every
//! machine and for any number of threads. Counts depend on the scene alone, or are kept by one thread in a fixed order,
//! as in a tile. What grows with the size of the scene is granted; the budget bounds what repetition and overlap add.

use crate::PreviewOptions;
use crate::parallel::draw_each;
use polyhaul_model::error::Result;
use polyhaul_pipeline::options::RunOptions;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How much work a picture may take before it becomes coarser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkBudget {
    /// About a second of one thread, and more in proportion to the size of the scene: pictures become coarser only if
    /// a scene shows the same elements many times, or many large ones that hide each other.
    #[default]
    Proportional,
    /// A fraction of a second, whatever the size of the scene: pictures of large ones are coarser.
    Fixed,
}

/// A picture, and the work that it took.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedPicture {
    /// The picture.
    pub image: polyhaul_model::Image,
    /// The work that was counted, in units of about a nanosecond.
    pub work: u64,
    /// Whether elements were left out, or drawn as points, since they exceeded the budget.
    pub is_coarse: bool,
}

/// Units for each pixel: enough to cover all samples of the picture about a hundred times.
const PER_PIXEL: u64 = 512;
/// Smaller pictures have the budget of one with so many pixels, the default size.
const MIN_PIXELS: u64 = 800 * 600;
/// The part of it that [`WorkBudget::Fixed`] grants.
const FIXED_SHARE: u64 = 4;

/// The work of a picture in the making.
pub(crate) struct PictureWork<'a> {
    pub(crate) run: &'a RunOptions,
    /// The size of the picture in pixels.
    pub(crate) size: [usize; 2],
    budget: WorkBudget,
    base: u64,
    done: AtomicU64,
    is_coarse: AtomicBool,
}

impl<'a> PictureWork<'a> {
    pub(crate) fn new(options: &'a PreviewOptions) -> PictureWork<'a> {
        let pixels = options.size.iter().map(|&side| side as u64).product::<u64>().max(MIN_PIXELS);
        let share = if options.budget == WorkBudget::Fixed { FIXED_SHARE } else { 1 };
        PictureWork {
            run: &options.run,
            size: options.size,
            budget: options.budget,
            base: PER_PIXEL * pixels / share,
            done: AtomicU64::new(0),
            is_coarse: AtomicBool::new(false),
        }
    }

    /// The units for a task, where a scene of this size needs `linear` units.
    pub(crate) fn limit(&self, linear: u64) -> u64 {
        match self.budget {
            WorkBudget::Proportional => self.base.saturating_add(linear),
            WorkBudget::Fixed => self.base,
        }
    }

    /// Counts units.
    pub(crate) fn add(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }

    /// Notes that something was left out.
    pub(crate) fn note_coarse(&self) {
        self.is_coarse.store(true, Ordering::Relaxed);
    }

    /// The picture that this work made.
    pub(crate) fn picture(&self, image: polyhaul_model::Image) -> CountedPicture {
        CountedPicture {
            image,
            work: self.done.load(Ordering::Relaxed),
            is_coarse: self.is_coarse.load(Ordering::Relaxed),
        }
    }

    /// Calls `work` for items that share `limit` units, each on one thread: first with half of their shares, then, for
    /// those that needed more, with equal shares of what is left. `work` returns the units that it took; if that is
    /// more than it was granted, the item is unfinished.
    ///
    /// Returns whether all items are finished.
    pub(crate) fn share<I: Send, S>(
        &self,
        limit: u64,
        items: impl Iterator<Item = I>,
        scratch: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, &mut I, u64) -> Result<u64> + Sync,
    ) -> Result<bool> {
        let mut open: Vec<(I, u64)> = Vec::new();
        open.try_reserve(items.size_hint().0)?;
        open.extend(items.map(|item| (item, 0)));
        let mut left = limit;
        for divisor in [2, 1] {
            let granted = left / (divisor * open.len().max(1) as u64);
            draw_each(self.run, open.iter_mut(), &scratch, |scratch, (item, taken)| {
                *taken = work(scratch, item, granted)?;
                Ok(())
            })?;
            let taken = open.iter().map(|(_, taken)| *taken).sum();
            self.add(taken);
            left = left.saturating_sub(taken);
            open.retain(|(_, taken)| *taken > granted);
        }
        Ok(open.is_empty())
    }
}
