//! Reduces scenes with more elements than the work budget allows, such as a large mesh with thousands of objects.
//!
//! Drops parts that repeat another part with the same transform. If that does not suffice, parts with many elements
//! relative to their size in the picture are drawn as points: every n-th corner, in the color of its face.

use crate::camera::Camera;
use crate::packet::has_width;
use crate::scene::{PartKind, ScenePart, SceneParts};
use crate::work::PictureWork;
use polyhaul_model::error::Result;
use polyhaul_model::{Bounds, Mesh};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Work units per part, corner, corner of a line with a width, and corner drawn as a point.
const PART_WORK: u64 = 256;
const CORNER_WORK: u64 = 8;
const RIBBON_WORK: u64 = 128;
const POINT_WORK: u64 = 64;
/// Maximum number of points per pixel that a part covers.
const PER_PIXEL: f64 = 4.0;
/// Minimum and maximum point size in pixels.
const PIXELS: [f64; 2] = [1.5, 8.0];
/// Shifts the sampled corners by a different offset in each part, so that repeated meshes show different corners.
const SHIFT: usize = 7919;

/// Level of detail of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Density {
    /// 0 draws nothing, 1 everything, n every n-th corner as a point.
    pub(crate) step: usize,
    /// Offset of the first sampled corner.
    skipped: usize,
    /// Point size in pixels.
    pub(crate) pixels: f32,
}

impl Density {
    pub(crate) const NOTHING: Density = Density { step: 0, skipped: 0, pixels: 0.0 };
    pub(crate) const WHOLE: Density = Density { step: 1, skipped: 0, pixels: 0.0 };

    /// The density of a part with an index and a corner count, for `per_pixel` points on each of the `area` pixels that
    /// it covers.
    fn new(number: usize, corners: usize, area: f64, per_pixel: f64) -> Density {
        let count = (area * per_pixel) as usize + 1;
        let step = corners / count;
        if step <= 1 {
            return Density::WHOLE;
        }
        let pixels = (0.5 * area / corners.div_ceil(step) as f64).sqrt().clamp(PIXELS[0], PIXELS[1]);
        Density { step, skipped: number.wrapping_mul(SHIFT) % step, pixels: pixels as f32 }
    }
}

impl SceneParts<'_> {
    /// Work units for processing all elements, excluding large triangles.
    pub(crate) fn drawing_work(&self) -> u64 {
        self.parts.iter().map(ScenePart::work).fold(0, u64::saturating_add)
    }

    /// Number of corners and points, counting each mesh once.
    pub(crate) fn distinct_corners(&self) -> u64 {
        self.distinct(|part| part.corners().len() as u64)
    }

    /// Sums a value over meshes and kinds of elements, using the part with the largest value for each.
    fn distinct(&self, value: impl Fn(&ScenePart<'_>) -> u64) -> u64 {
        let mut largest: HashMap<(*const Mesh, u8), u64> = HashMap::new();
        for part in &self.parts {
            let entry = largest.entry((part.mesh, part.kind as u8)).or_default();
            *entry = value(part).max(*entry);
        }
        largest.into_values().sum()
    }

    /// Reduces the density of parts if drawing everything would exceed the work budget.
    ///
    /// # Errors
    /// If out of memory.
    pub(crate) fn thin(&mut self, camera: &Camera, size: [usize; 2], work: &PictureWork<'_>) -> Result<()> {
        let needed = self.drawing_work();
        if needed <= work.limit(0) {
            return Ok(());
        }
        let parts = self.parts.len() as u64;
        let limit = work.limit(2 * (self.distinct(|part| part.work()) + PART_WORK * parts));
        if needed > limit {
            self.hide_repeats()?;
        }
        if self.drawing_work() > limit {
            work.note_coarse();
            self.show_points(camera, size, limit)?;
        }
        Ok(())
    }

    /// Hides parts that duplicate an earlier part (same elements, same transform). Returns whether any part was hidden.
    pub(crate) fn hide_repeats(&mut self) -> Result<bool> {
        let mut has_hidden = false;
        let mut shown = HashSet::new();
        shown.try_reserve(self.parts.len())?;
        for part in &mut self.parts {
            let place = part.place.map(|rows| rows.map(|row| row.map(f32::to_bits)));
            let Range { start, end } = part.elements;
            if !shown.insert((std::ptr::from_ref(part.mesh), part.kind as u8, start, end, place)) {
                has_hidden |= part.density.step > 0;
                part.density = Density::NOTHING;
            }
        }
        Ok(has_hidden)
    }

    /// Shows parts as points, halving the density until the work is within the limit.
    pub(crate) fn show_points(&mut self, camera: &Camera, size: [usize; 2], limit: u64) -> Result<()> {
        let areas = self.areas(camera, size)?;
        let mut per_pixel = PER_PIXEL;
        loop {
            let drawn = self.parts.iter_mut().zip(&areas).enumerate();
            for (number, (part, &area)) in drawn.filter(|(_, (part, _))| part.density.step > 0) {
                part.density = Density::new(number, part.corners().len(), area, per_pixel);
            }
            if self.drawing_work() <= limit || per_pixel == 0.0 {
                return Ok(());
            }
            // Ends at 0, which leaves one point per part.
            per_pixel = if per_pixel > 1e-9 { 0.5 * per_pixel } else { 0.0 };
        }
    }

    /// Pixels covered by the bounding box of each part.
    fn areas(&self, camera: &Camera, size: [usize; 2]) -> Result<Vec<f64>> {
        let mut bounds_of_meshes: HashMap<*const Mesh, Option<Bounds>> = HashMap::new();
        let mut areas = Vec::new();
        areas.try_reserve_exact(self.parts.len())?;
        areas.extend(self.parts.iter().map(|part| {
            let bounds = *bounds_of_meshes.entry(part.mesh).or_insert_with(|| part.mesh.bounds());
            bounds.map_or(0.0, |bounds| area(camera, size, &part.moved_bounds(bounds)))
        }));
        Ok(areas)
    }
}

/// Approximate number of pixels that a box covers.
fn area(camera: &Camera, size: [usize; 2], bounds: &Bounds) -> f64 {
    let [right, up, [nearest, farthest]] = camera.seen_box(bounds);
    if farthest.is_nan() || farthest <= 0.0 {
        return 0.0;
    }
    let side = |[from, to]: [f64; 2], pixels: usize| {
        let side = if nearest > 0.0 { (to - from) / nearest * camera.focal() } else { f64::INFINITY };
        side.clamp(0.0, pixels as f64)
    };
    side(right, size[0]) * side(up, size[1])
}

impl ScenePart<'_> {
    /// Work units for processing its elements.
    fn work(&self) -> u64 {
        let corners = self.corners().len();
        match self.density.step {
            0 => 0,
            1 if has_width(self) => PART_WORK + RIBBON_WORK * corners as u64,
            1 => PART_WORK + CORNER_WORK * corners as u64,
            step => PART_WORK + POINT_WORK * corners.div_ceil(step) as u64,
        }
    }

    /// Range of elements to draw; for a thinned part, range of corners to sample.
    pub(crate) fn drawn(&self) -> Range<usize> {
        if self.density.step == 1 {
            return self.elements.clone();
        }
        let corners = self.corners();
        corners.start + self.density.skipped..corners.end
    }

    /// Scene-space position of a corner or point.
    pub(crate) fn corner_or_point(&self, index: usize) -> [f32; 3] {
        match self.kind {
            PartKind::Faces | PartKind::Lines => self.corner(index),
            PartKind::Points | PartKind::Positions => self.position(self.point(index)),
        }
    }

    /// The corner whose payload identifies the element at a corner: the second corner of a triangle, or the first
    /// corner of a segment.
    pub(crate) fn standing_for(&self, corner: usize) -> usize {
        let elements = match self.kind {
            PartKind::Faces => &self.mesh.faces,
            PartKind::Lines => &self.mesh.lines,
            PartKind::Points | PartKind::Positions => return corner,
        };
        let element = elements.offsets.partition_point(|&first| first as usize <= corner).saturating_sub(1);
        let corners = elements.corners(element);
        let first = corners.start + usize::from(self.kind == PartKind::Faces);
        corner.min(corners.end.saturating_sub(2)).max(first)
    }
}
