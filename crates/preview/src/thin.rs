//! Scenes that show more elements than the budget of work allows, as a large mesh at thousands of places does.
//!
//! Parts that repeat another at the same place are left out. If that does not suffice, parts with many elements for
//! their size in the picture are drawn as points: every n-th corner, in the color of its face.

use crate::camera::Camera;
use crate::packet::has_width;
use crate::scene::{PartKind, ScenePart, SceneParts};
use crate::work::PictureWork;
use polyhaul_model::error::Result;
use polyhaul_model::{Bounds, Mesh};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The units of work of a part, of a corner, of one of a line with a width, and of one that is drawn as a point.
const PART_WORK: u64 = 256;
const CORNER_WORK: u64 = 8;
const RIBBON_WORK: u64 = 128;
const POINT_WORK: u64 = 64;
/// Points for each pixel that a part covers, at most.
const PER_PIXEL: f64 = 4.0;
/// Their sizes in pixels.
const PIXELS: [f64; 2] = [1.5, 8.0];
/// Shifts the corners that repeated meshes show, so that these complement each other.
const SHIFT: usize = 7919;

/// How much of a part is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Density {
    /// 0 draws nothing, 1 everything, and n every n-th corner as a point.
    pub(crate) step: usize,
    /// The first of these corners.
    skipped: usize,
    /// The size of points in pixels.
    pub(crate) pixels: f32,
}

impl Density {
    pub(crate) const NOTHING: Density = Density { step: 0, skipped: 0, pixels: 0.0 };
    pub(crate) const WHOLE: Density = Density { step: 1, skipped: 0, pixels: 0.0 };

    /// The density of the part with this number, of so many corners, with `per_pixel` points for each of the `area`
    /// pixels that it covers.
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
    /// The units of work of passing all elements by, without large triangles.
    pub(crate) fn drawing_work(&self) -> u64 {
        self.parts.iter().map(ScenePart::work).fold(0, u64::saturating_add)
    }

    /// The number of corners and points of all meshes, each mesh counted once.
    pub(crate) fn distinct_corners(&self) -> u64 {
        self.distinct(|part| part.corners().len() as u64)
    }

    /// The sum of a value over all meshes, where each mesh has that of its largest part.
    fn distinct(&self, value: impl Fn(&ScenePart<'_>) -> u64) -> u64 {
        let mut largest: HashMap<(*const Mesh, u8), u64> = HashMap::new();
        for part in &self.parts {
            let entry = largest.entry((part.mesh, part.kind as u8)).or_default();
            *entry = value(part).max(*entry);
        }
        largest.into_values().sum()
    }

    /// Chooses what is drawn of each part, within the budget of work.
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

    /// Leaves out parts that show the same elements at the same place as an earlier one; returns whether there are any.
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

    /// Draws parts as points, with the greatest density within the limit.
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
            per_pixel = if per_pixel > 1e-9 { 0.5 * per_pixel } else { 0.0 };
        }
    }

    /// The pixels that the box around each part covers.
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

/// The pixels that a box covers, about.
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
    /// The units of work of passing its elements by.
    fn work(&self) -> u64 {
        let corners = self.corners().len();
        match self.density.step {
            0 => 0,
            1 if has_width(self) => PART_WORK + RIBBON_WORK * corners as u64,
            1 => PART_WORK + CORNER_WORK * corners as u64,
            step => PART_WORK + POINT_WORK * corners.div_ceil(step) as u64,
        }
    }

    /// The elements that are drawn one by one, or the corners of which some are drawn as points.
    pub(crate) fn drawn(&self) -> Range<usize> {
        if self.density.step == 1 {
            return self.elements.clone();
        }
        let corners = self.corners();
        corners.start + self.density.skipped..corners.end
    }

    /// The position of a corner or a point.
    pub(crate) fn corner_or_point(&self, index: usize) -> [f32; 3] {
        match self.kind {
            PartKind::Faces | PartKind::Lines => self.corner(index),
            PartKind::Points | PartKind::Positions => self.position(self.point(index)),
        }
    }

    /// The corner whose payload stands for an element with a corner: the second one of a triangle, or the first one of
    /// a segment.
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
