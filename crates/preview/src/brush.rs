//! Schedules triangles: small triangles are rasterized immediately, and large triangles are deferred.
//!
//! Small triangles cost time in proportion to their number. A large triangle may cost as much as the whole picture, so
//! large triangles are deferred until all are collected. If together they exceed the work budget, they are sorted front
//! to back and drawn tile by tile. A tile is complete when the next triangle lies behind all samples of the tile, or
//! when the tile's budget is spent. Triangles dropped by the budget follow the drawn triangles in this order, or lie
//! outside the tile.

use crate::frame::{Frame, PixelCorner, PixelWindow, Triangle};
use crate::parallel::draw_each;
use crate::work::PictureWork;
use polyhaul_model::error::{Error, Result, try_push};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Triangles per task, and the maximum length of a thread's local list.
const TURN: usize = 64;
const MAX_LIST: usize = 64 << 10;
/// Tile side in pixels, and the maximum number of tiles along a side of the picture.
const TILE: usize = 64;
const MAX_TILES: usize = 32;
/// Work units for skipping a triangle, and for testing it against a tile.
const PASS_WORK: u64 = 2;
const BESIDE_WORK: u64 = 24;
/// Work units per sample, without and with a texture test for holes.
const SAMPLE_WORK: u64 = 1;
const HOLE_WORK: u64 = 32;

/// A deferred triangle.
#[derive(Clone, Copy)]
pub(crate) struct Waiting {
    corners: [PixelCorner; 3],
    payload: u64,
    has_holes: bool,
}

/// Deferred triangles of all threads.
pub(crate) struct WaitingTriangles<'a> {
    lists: Mutex<Vec<Vec<Waiting>>>,
    count: AtomicU64,
    /// Work units for drawing all of them.
    work: AtomicU64,
    /// Returns the number of elements of the scene, which bounds the number of triangles that may be deferred.
    elements: &'a (dyn Fn() -> u64 + Sync),
    is_bounded: bool,
    max_count: OnceLock<u64>,
}

/// Per-thread drawing state.
pub(crate) struct Brush<'a> {
    pub(crate) frame: &'a Frame,
    window: PixelWindow,
    /// `None` to draw large triangles immediately.
    all_waiting: Option<&'a WaitingTriangles<'a>>,
    waiting: Vec<Waiting>,
    is_out_of_memory: bool,
    /// Work units of large triangles since the last [`Brush::leave`], and their limit for immediate drawing.
    pub(crate) work: u64,
    max_work: u64,
}

/// Returns whether a sample is solid, given its barycentric weights in the triangle.
pub(crate) type SolidTest<'t> = dyn Fn([f32; 3]) -> bool + 't;

/// Tests deferred triangles for texture holes.
pub(crate) trait Holes: Sync {
    /// Calls `draw` with the sample test for the triangle of a payload.
    fn with_test(&self, payload: u64, draw: &mut dyn FnMut(&SolidTest<'_>));
}

impl<'a> Brush<'a> {
    /// A brush that defers large triangles.
    pub(crate) fn new(frame: &'a Frame, all_waiting: &'a WaitingTriangles<'a>) -> Brush<'a> {
        Brush { all_waiting: Some(all_waiting), ..Brush::direct(frame, 0) }
    }

    /// A brush that draws immediately; large triangles are dropped after `max_work` units.
    pub(crate) fn direct(frame: &'a Frame, max_work: u64) -> Brush<'a> {
        Brush {
            frame,
            window: frame.window(),
            all_waiting: None,
            waiting: Vec::new(),
            is_out_of_memory: false,
            work: 0,
            max_work,
        }
    }

    /// Draws or defers a triangle, front- or back-facing. Calls `payload` only if the triangle may cover a sample.
    #[inline]
    pub(crate) fn triangle(&mut self, corners: [PixelCorner; 3], payload: impl Fn() -> u64) {
        let Some(triangle) = Triangle::from_corners(corners) else { return };
        if !triangle.is_large() {
            return self.frame.fill(&triangle, &self.window, payload, |_| true);
        }
        let work = triangle.work(&self.window, SAMPLE_WORK);
        if self.all_waiting.is_some() {
            return self.wait(Waiting { corners, payload: payload(), has_holes: false }, work);
        }
        self.work += work;
        // Past the limit, nothing need be drawn: `MeshDrawing::finish` declines, and the frame is dropped.
        if self.work <= self.max_work {
            self.frame.fill(&triangle, &self.window, payload, |_| true);
        }
    }

    /// Draws the samples of a triangle for which `is_solid` returns true. Defers the triangle if this would take more
    /// than [`MAX_HOLE_WORK`] units.
    pub(crate) fn triangle_where(
        &mut self,
        corners: [PixelCorner; 3],
        payload: u64,
        is_solid: impl Fn([f32; 3]) -> bool,
    ) {
        let Some(triangle) = Triangle::from_corners(corners) else { return };
        let work = triangle.work(&self.window, HOLE_WORK);
        if work > MAX_HOLE_WORK {
            self.wait(Waiting { corners, payload, has_holes: true }, work);
        } else {
            self.frame.fill(&triangle, &self.window, || payload, is_solid);
        }
    }

    fn wait(&mut self, waiting: Waiting, work: u64) {
        self.work = self.work.saturating_add(work);
        // A task may be a single line of any length.
        if self.waiting.len() == MAX_LIST {
            self.is_out_of_memory |= self.leave().is_err();
        }
        self.is_out_of_memory |= self.waiting.try_reserve(1).is_err();
        if !self.is_out_of_memory {
            self.waiting.push(waiting);
        }
    }

    /// Moves the deferred triangles to the shared list, at the end of a task or if the local list is full.
    ///
    /// # Errors
    /// If out of memory.
    pub(crate) fn leave(&mut self) -> Result<()> {
        if self.is_out_of_memory {
            return Err(Error::memory("a picture"));
        }
        match self.all_waiting {
            Some(all_waiting) if !self.waiting.is_empty() => {
                all_waiting.add(std::mem::take(&mut self.waiting), std::mem::take(&mut self.work))
            }
            _ => Ok(()),
        }
    }
}

/// Triangles with holes are deferred above this many work units.
const MAX_HOLE_WORK: u64 = 1024;

impl<'a> WaitingTriangles<'a> {
    /// An empty list for a scene with `elements()` elements; `is_bounded` limits the number of triangles that it keeps.
    pub(crate) fn new(elements: &'a (dyn Fn() -> u64 + Sync), is_bounded: bool) -> WaitingTriangles<'a> {
        WaitingTriangles {
            lists: Mutex::default(),
            count: AtomicU64::new(0),
            work: AtomicU64::new(0),
            elements,
            is_bounded,
            max_count: OnceLock::new(),
        }
    }

    /// Whether the limit was exceeded. Further triangles are then discarded.
    pub(crate) fn is_full(&self) -> bool {
        // The count never decreases, so whether the limit is exceeded in the end does not depend on the order of
        // threads.
        let count = self.count.load(Ordering::Relaxed);
        self.is_bounded && count > FREE_COUNT && count > *self.max_count.get_or_init(|| FREE_COUNT + (self.elements)())
    }

    fn add(&self, waiting: Vec<Waiting>, work: u64) -> Result<()> {
        self.count.fetch_add(waiting.len() as u64, Ordering::Relaxed);
        self.work.fetch_add(work, Ordering::Relaxed);
        if self.is_full() {
            return Ok(());
        }
        try_push(&mut self.lists.lock().unwrap_or_else(PoisonError::into_inner), waiting, "a picture")
    }

    /// Draws all triangles. `holes` tests the samples of triangles with texture holes.
    pub(crate) fn draw(self, frame: &Frame, holes: &dyn Holes, work: &PictureWork<'_>) -> Result<()> {
        let parts = self.lists.into_inner().unwrap_or_else(PoisonError::into_inner);
        let window = frame.window();
        let total = self.work.into_inner();
        // Counting the elements visits all parts, so they are not counted if the total is within the base budget.
        if total > work.limit(0) {
            let limit = work.limit((self.elements)().saturating_mul(ELEMENT_WORK));
            if total > limit {
                return draw_tiles(sorted(parts, frame)?, frame, limit, holes, work);
            }
        }
        work.add(total);
        let turns = parts.iter().flat_map(|part| part.chunks(TURN));
        draw_each(
            work.run,
            turns,
            || (),
            |(), triangles| {
                triangles.iter().for_each(|waiting| waiting.draw(frame, &window, holes, &Cell::new(0)));
                Ok(())
            },
        )
    }
}

/// Number of triangles that any scene may defer, in addition to one per element.
const FREE_COUNT: u64 = 1 << 20;
/// Work units for large triangles granted per element of the scene.
const ELEMENT_WORK: u64 = 256;

impl Waiting {
    /// Draws the triangle within a window and counts hole tests.
    fn draw(&self, frame: &Frame, window: &PixelWindow, holes: &dyn Holes, tests: &Cell<u64>) {
        let Some(triangle) = Triangle::from_corners(self.corners) else { return };
        if !self.has_holes {
            return frame.fill(&triangle, window, || self.payload, |_| true);
        }
        holes.with_test(self.payload, &mut |is_solid| {
            let is_solid = |weights: [f32; 3]| {
                tests.set(tests.get() + 1);
                is_solid(weights)
            };
            frame.fill(&triangle, window, || self.payload, is_solid);
        });
    }

    /// Returns a key that is equal for triangles with equal corners. Without holes, only the one with the lowest
    /// payload is visible.
    fn bits(&self) -> ([[u32; 3]; 3], bool) {
        (self.corners.map(|corner| corner.map(f32::to_bits)), self.has_holes)
    }
}

/// A deferred triangle with its sort key and bounds.
struct SortedTriangle {
    /// Lower bound of the triangle's sample values.
    nearest: u64,
    /// Its bounding box in pixels: left, top, right and bottom.
    bounds: [i16; 4],
    waiting: Waiting,
}

impl SortedTriangle {
    fn new(waiting: Waiting, frame: &Frame) -> SortedTriangle {
        let ends = |axis: usize| {
            // A picture has at most `MAX_SIDE` pixels on a side, so clamped coordinates are still outside of it.
            let pixels = waiting.corners.map(|corner| corner[axis].clamp(i16::MIN.into(), i16::MAX.into()));
            let [a, b, c] = pixels;
            [a.min(b).min(c).floor() as i16, a.max(b).max(c).floor() as i16]
        };
        let [left, right] = ends(0);
        let [top, bottom] = ends(1);
        SortedTriangle { nearest: frame.nearest(&waiting.corners), bounds: [left, top, right, bottom], waiting }
    }

    fn is_beside(&self, window: &PixelWindow) -> bool {
        let [left, top, right, bottom] = self.bounds.map(i64::from);
        right < window.min[0] || left > window.max[0] || bottom < window.min[1] || top > window.max[1]
    }
}

/// Sorts triangles front to back and removes duplicates.
fn sorted(parts: Vec<Vec<Waiting>>, frame: &Frame) -> Result<Vec<SortedTriangle>> {
    let mut triangles = Vec::new();
    triangles.try_reserve_exact(parts.iter().map(Vec::len).sum())?;
    triangles.extend(parts.into_iter().flatten().map(|waiting| SortedTriangle::new(waiting, frame)));
    // Threads append in any order; ties are broken by corners and payload, so the result is deterministic.
    triangles.sort_unstable_by(|a, b| {
        let payloads = || a.waiting.payload.cmp(&b.waiting.payload);
        a.nearest.cmp(&b.nearest).then_with(|| a.waiting.bits().cmp(&b.waiting.bits())).then_with(payloads)
    });
    // Equal triangles with holes are kept: their textures may differ.
    triangles.dedup_by(|a, b| !a.waiting.has_holes && a.waiting.bits() == b.waiting.bits());
    Ok(triangles)
}

/// Draws sorted triangles by tiles.
fn draw_tiles(
    triangles: Vec<SortedTriangle>,
    frame: &Frame,
    limit: u64,
    holes: &dyn Holes,
    work: &PictureWork<'_>,
) -> Result<()> {
    let size = frame.size();
    let side = TILE.max(size[0].max(size[1]).div_ceil(MAX_TILES));
    let tile = |x: usize, y: usize| PixelWindow {
        min: [x as i64, y as i64],
        max: [size[0].min(x + side) as i64, size[1].min(y + side) as i64],
    };
    let rows = (0..size[1]).step_by(side);
    let tiles = rows.flat_map(|y| (0..size[0]).step_by(side).map(move |x| tile(x, y)));
    let is_done = work.share(
        limit,
        tiles,
        || (),
        |(), window, granted| {
            work.run.cancel.check()?;
            Ok(draw_tile(&triangles, frame, window, granted, holes))
        },
    )?;
    if !is_done {
        work.note_coarse();
    }
    Ok(())
}

/// Draws triangles into a tile until the remaining triangles are hidden or more than `granted` units are spent. Returns
/// the units spent.
fn draw_tile(
    triangles: &[SortedTriangle],
    frame: &Frame,
    window: &PixelWindow,
    granted: u64,
    holes: &dyn Holes,
) -> u64 {
    let mut spent = 0;
    let mut checked = 0;
    for sorted in triangles {
        if spent > granted {
            return spent;
        }
        // Finding the farthest sample takes half as long as drawing all samples.
        if spent - checked > 2 * window.samples() {
            spent += window.samples() / 2;
            checked = spent;
            if sorted.nearest > frame.farthest(window) {
                break;
            }
        }
        spent += PASS_WORK;
        if sorted.is_beside(window) {
            continue;
        }
        spent += BESIDE_WORK;
        let triangle = Triangle::from_corners(sorted.waiting.corners);
        if let Some(triangle) = triangle.filter(|triangle| !triangle.is_beside(window)) {
            let tests = Cell::new(0);
            sorted.waiting.draw(frame, window, holes, &tests);
            spent += triangle.work(window, SAMPLE_WORK) + HOLE_WORK * tests.get();
        }
    }
    // The last triangle may have exceeded the grant, but more than `granted` would mean that the tile is unfinished.
    spent.min(granted)
}
