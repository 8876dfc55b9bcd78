//! How triangles get into a frame: small ones at once, large ones at the end.
//!
//! The time for small triangles grows with their number. Large ones may each take as long as the whole picture, so they
//! wait until all are known. If they exceed the budget of work, they are sorted from front to back and drawn tile by
//! tile: a triangle behind everything in a tile ends it, and so does the budget. What is left out is then behind what
//! was drawn, or beside it.

use crate::frame::{Frame, PixelCorner, PixelWindow, Triangle};
use crate::parallel::draw_each;
use crate::work::PictureWork;
use polyhaul_model::error::{Error, Result, try_push};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Triangles that a thread draws at a time, and leaves at a time at most.
const TURN: usize = 64;
const MAX_LIST: usize = 64 << 10;
/// The side of a tile in pixels, and how many there are at most along a side of the picture.
const TILE: usize = 64;
const MAX_TILES: usize = 32;
/// The units of work of passing by a triangle, and of testing whether it is beside a tile.
const PASS_WORK: u64 = 2;
const BESIDE_WORK: u64 = 24;
/// The units of work of a sample, and of a sample that may be a hole in a texture.
const SAMPLE_WORK: u64 = 1;
const HOLE_WORK: u64 = 32;

/// A triangle that waits.
#[derive(Clone, Copy)]
pub(crate) struct Waiting {
    corners: [PixelCorner; 3],
    payload: u64,
    has_holes: bool,
}

/// Where all threads leave triangles that wait.
pub(crate) struct WaitingTriangles<'a> {
    lists: Mutex<Vec<Vec<Waiting>>>,
    count: AtomicU64,
    /// The units of work of drawing all of them.
    work: AtomicU64,
    /// The number of elements of the scene, and how many triangles may wait.
    elements: &'a (dyn Fn() -> u64 + Sync),
    is_bounded: bool,
    max_count: OnceLock<u64>,
}

/// What a thread draws with.
pub(crate) struct Brush<'a> {
    pub(crate) frame: &'a Frame,
    window: PixelWindow,
    /// `None` to draw large triangles at once.
    all_waiting: Option<&'a WaitingTriangles<'a>>,
    waiting: Vec<Waiting>,
    is_out_of_memory: bool,
    /// The units of work of large triangles, since the last turn, and how many there may be if they are drawn at once.
    pub(crate) work: u64,
    max_work: u64,
}

/// Whether a sample is solid, given the weights of a triangle's corners.
pub(crate) type SolidTest<'t> = dyn Fn([f32; 3]) -> bool + 't;

/// Tests the holes of triangles that waited: where one is solid, given the weights of its corners.
pub(crate) trait Holes: Sync {
    /// Calls `draw` with a test of the samples of the triangle with a payload.
    fn with_test(&self, payload: u64, draw: &mut dyn FnMut(&SolidTest<'_>));
}

impl<'a> Brush<'a> {
    /// A brush whose large triangles wait.
    pub(crate) fn new(frame: &'a Frame, all_waiting: &'a WaitingTriangles<'a>) -> Brush<'a> {
        Brush { all_waiting: Some(all_waiting), ..Brush::direct(frame, 0) }
    }

    /// A brush that draws everything at once, until large triangles took `max_work` units of work.
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

    /// Draws a triangle, whichever side faces the camera. Calls `payload` only if it may have a sample.
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
        if self.work <= self.max_work {
            self.frame.fill(&triangle, &self.window, payload, |_| true);
        }
    }

    /// Draws the samples of a triangle that `is_solid`.
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
        // A turn may be a line of any length.
        if self.waiting.len() == MAX_LIST {
            self.is_out_of_memory |= self.leave().is_err();
        }
        self.is_out_of_memory |= self.waiting.try_reserve(1).is_err();
        if !self.is_out_of_memory {
            self.waiting.push(waiting);
        }
    }

    /// Leaves what waits, at the end of a turn.
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

/// Triangles with holes that take more units wait.
const MAX_HOLE_WORK: u64 = 1024;

impl<'a> WaitingTriangles<'a> {
    /// None yet, of a scene with so many `elements`; if it `is_bounded`, only as many as the memory allows may wait.
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

    /// Whether there are more than the memory for them allows. Then none are kept.
    pub(crate) fn is_full(&self) -> bool {
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

    /// Draws them. `holes` tests those that have some.
    pub(crate) fn draw(self, frame: &Frame, holes: &dyn Holes, work: &PictureWork<'_>) -> Result<()> {
        let parts = self.lists.into_inner().unwrap_or_else(PoisonError::into_inner);
        let window = frame.window();
        let total = self.work.into_inner();
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

/// So many triangles may wait in any scene, and one more for each of its elements.
const FREE_COUNT: u64 = 1 << 20;
/// The units of work of large triangles that each element of a scene is granted.
const ELEMENT_WORK: u64 = 256;

impl Waiting {
    /// Draws it in a part of the picture, and counts tests of holes.
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

    /// The same for triangles with equal corners; of several, only the one with the lowest payload is seen.
    fn bits(&self) -> ([[u32; 3]; 3], bool) {
        (self.corners.map(|corner| corner.map(f32::to_bits)), self.has_holes)
    }
}

/// A triangle among those of a whole picture.
struct SortedTriangle {
    /// Nothing of it is nearer.
    nearest: u64,
    /// Its bounding box in pixels: left, top, right and bottom.
    bounds: [i16; 4],
    waiting: Waiting,
}

impl SortedTriangle {
    fn new(waiting: Waiting, frame: &Frame) -> SortedTriangle {
        let ends = |axis: usize| {
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

/// Triangles from front to back, each once.
fn sorted(parts: Vec<Vec<Waiting>>, frame: &Frame) -> Result<Vec<SortedTriangle>> {
    let mut triangles = Vec::new();
    triangles.try_reserve_exact(parts.iter().map(Vec::len).sum())?;
    triangles.extend(parts.into_iter().flatten().map(|waiting| SortedTriangle::new(waiting, frame)));
    // Threads leave them in any order.
    triangles.sort_unstable_by(|a, b| {
        let payloads = || a.waiting.payload.cmp(&b.waiting.payload);
        a.nearest.cmp(&b.nearest).then_with(|| a.waiting.bits().cmp(&b.waiting.bits())).then_with(payloads)
    });
    // Textures of equal triangles may have other holes.
    triangles.dedup_by(|a, b| !a.waiting.has_holes && a.waiting.bits() == b.waiting.bits());
    Ok(triangles)
}

/// Draws sorted triangles tile by tile.
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

/// Draws triangles into a tile until nothing more would be seen, or more than the granted units are spent. Returns
/// these.
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
        // Finding the farthest sample takes half as long as drawing them.
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
    spent.min(granted)
}
