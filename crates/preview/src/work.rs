//! The work budget of a picture.
//!
//! Work is counted in units of about a nanosecond of one thread, not timed, so a picture is identical on every machine
//! and for any number of threads. Counts depend only on the scene, or are kept by one thread in a fixed order, as
//! within a tile. Work that grows with the scene is granted; the budget bounds the excess from repetition and overlap.

use crate::PreviewOptions;
use crate::parallel::draw_each;
use polyhaul_model::error::Result;
use polyhaul_pipeline::options::RunOptions;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The amount of work that a picture may take before it becomes coarser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkBudget {
    /// About a second of one thread, plus time proportional to the scene: pictures become coarser only if a scene
    /// repeats the same elements many times, or has many large elements that hide each other.
    #[default]
    Proportional,
    /// A fraction of a second, regardless of the scene: large scenes become coarser.
    Fixed,
}

/// A picture with its work count.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedPicture {
    /// The picture.
    pub image: polyhaul_model::Image,
    /// Work in units of about a nanosecond.
    pub work: u64,
    /// Whether elements were dropped or drawn as points to stay within the budget.
    pub is_coarse: bool,
}

/// Work units per pixel: enough to cover every sample about a hundred times.
const PER_PIXEL: u64 = 512;
/// Smaller pictures get the budget for this many pixels, the default size.
const MIN_PIXELS: u64 = 800 * 600;
/// Divisor of the budget for [`WorkBudget::Fixed`].
const FIXED_SHARE: u64 = 4;

/// Budget and work counter of a picture.
pub(crate) struct PictureWork<'a> {
    pub(crate) run: &'a RunOptions,
    /// Picture size in pixels.
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

    /// Work limit of a task that takes `linear` units in proportion to the scene.
    pub(crate) fn limit(&self, linear: u64) -> u64 {
        match self.budget {
            WorkBudget::Proportional => self.base.saturating_add(linear),
            WorkBudget::Fixed => self.base,
        }
    }

    /// Counts work units.
    pub(crate) fn add(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }

    /// Marks the picture as coarse.
    pub(crate) fn note_coarse(&self) {
        self.is_coarse.store(true, Ordering::Relaxed);
    }

    /// Combines an image with the counted work.
    pub(crate) fn picture(&self, image: polyhaul_model::Image) -> CountedPicture {
        CountedPicture {
            image,
            work: self.done.load(Ordering::Relaxed),
            is_coarse: self.is_coarse.load(Ordering::Relaxed),
        }
    }

    /// Distributes `limit` units over items, each processed by one thread. A first pass grants every item an equal
    /// share of half the limit; a second pass repeats unfinished items with equal shares of the rest. `work` returns
    /// the units spent, more than granted if the item is unfinished.
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
