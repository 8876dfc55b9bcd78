//! Rasterizes the parts of a scene into a frame: triangles, lines and points, on all threads.
//!
//! Stores payloads only; [`crate::shade`] computes the colors.

use crate::batch::Batch;
use crate::brush::{Brush, Holes, SolidTest, WaitingTriangles};
use crate::camera::Camera;
use crate::clip;
use crate::frame::{Frame, PixelCorner};
use crate::packet::has_width;
use crate::parallel::draw_each;
use crate::ribbon::{Ribbon, Rim};
use crate::scene::{PartKind, ScenePart, SceneParts};
use crate::texture::Textures;
use crate::work::PictureWork;
use polyhaul_model::error::Result;
use polyhaul_pipeline::options::Cancel;
use std::ops::Range;

/// Elements per task, usually a few milliseconds of work.
const TURN: usize = 16 << 10;
/// Default line width in pixels.
const LINE_PIXELS: f32 = 1.25;
/// Point size in pixels: minimum (for dense clouds) and maximum (for a few points).
const POINT_PIXELS: [f32; 2] = [1.5, 5.0];

/// The inputs of a drawing pass.
struct Canvas<'a> {
    parts: &'a SceneParts<'a>,
    textures: &'a Textures,
    camera: &'a Camera,
    cancel: &'a Cancel,
    /// Point size in pixels.
    point: f32,
}

/// Per-thread state: batched triangles and the brush that draws them.
struct Stroke<'a> {
    batch: Batch<u64>,
    brush: Brush<'a>,
}

/// Work limit for the fallback to points. Low enough that all remaining large triangles can be deferred.
const POINTS_WORK: u64 = 1 << 22;

/// Draws all parts within the work budget. Falls back to hiding repeated parts, then to points.
pub(crate) fn draw(
    parts: &mut SceneParts<'_>,
    textures: &Textures,
    camera: &Camera,
    frame: &Frame,
    work: &PictureWork<'_>,
) -> Result<()> {
    parts.thin(camera, frame.size(), work)?;
    let paint =
        |parts: &SceneParts<'_>, is_last: bool| Painting { parts, textures, camera, frame, work, is_last }.draw();
    if paint(parts, false)? {
        return Ok(());
    }
    frame.clear();
    if parts.hide_repeats()? && paint(parts, false)? {
        return Ok(());
    }
    work.note_coarse();
    parts.show_points(camera, frame.size(), POINTS_WORK)?;
    frame.clear();
    paint(parts, true).map(drop)
}

/// One attempt at drawing all parts.
struct Painting<'a> {
    parts: &'a SceneParts<'a>,
    textures: &'a Textures,
    camera: &'a Camera,
    frame: &'a Frame,
    work: &'a PictureWork<'a>,
    /// Whether the number of deferred triangles is unlimited.
    is_last: bool,
}

impl Painting<'_> {
    /// Draws all parts. Returns false if too many large triangles were deferred.
    fn draw(&self) -> Result<bool> {
        let Painting { parts, textures, camera, frame, work, is_last } = *self;
        let points = parts.parts.iter().filter(|part| matches!(part.kind, PartKind::Points | PartKind::Positions));
        let point = point_size(points.map(|part| part.elements.len()).sum(), frame);
        let canvas = Canvas { parts, textures, camera, cancel: &work.run.cancel, point };
        let turns = parts.parts.iter().filter(|part| part.density.step > 0).flat_map(|part| {
            let Range { start, end } = part.drawn();
            let turn = TURN * part.density.step;
            (start..end).step_by(turn).map(move |first| (part, first..end.min(first + turn)))
        });
        let elements = || parts.distinct_corners() + parts.parts.len() as u64;
        let all_waiting = WaitingTriangles::new(&elements, !is_last);
        let stroke = || Stroke { batch: Batch::new(), brush: Brush::new(frame, &all_waiting) };
        draw_each(work.run, turns, stroke, |stroke, (part, elements)| {
            match part.kind {
                // This attempt will be discarded.
                _ if all_waiting.is_full() => return Ok(()),
                _ if part.density.step > 1 => canvas.thinned(part, elements, stroke.brush.frame),
                PartKind::Faces => canvas.faces(part, elements, stroke)?,
                PartKind::Lines => canvas.lines(part, elements, &mut stroke.brush)?,
                PartKind::Points | PartKind::Positions => canvas.points(part, elements, stroke.brush.frame),
            }
            stroke.brush.leave()
        })?;
        work.add(parts.drawing_work());
        if all_waiting.is_full() {
            return Ok(false);
        }
        all_waiting.draw(frame, &canvas, work)?;
        Ok(true)
    }
}

/// Point size in pixels at which `count` points in a grid would cover half of the picture.
pub(crate) fn point_size(count: usize, frame: &Frame) -> f32 {
    let [width, height] = frame.size();
    let [min, max] = POINT_PIXELS;
    (0.5 * (width * height) as f32 / count.max(1) as f32).sqrt().clamp(min, max)
}

impl Canvas<'_> {
    /// Draws faces as triangle fans around their first corner. The payload identifies each triangle's second corner.
    fn faces(&self, part: &ScenePart<'_>, elements: Range<usize>, stroke: &mut Stroke<'_>) -> Result<()> {
        for face in elements {
            let corners = part.mesh.faces.corners(face);
            if corners.len() < 3 {
                continue;
            }
            if self.textures.has_any() && self.textures.has_holes(part.material(face)) {
                self.face_with_holes(part, face, &mut stroke.brush)?;
                continue;
            }
            let first = part.corner(corners.start);
            let mut last = part.corner(corners.start + 1);
            for corner in corners.start + 2..corners.end {
                let next = part.corner(corner);
                if stroke.batch.is_full() {
                    self.triangles(stroke)?;
                }
                stroke.batch.push([first, last, next], part.payload(corner - 1));
                last = next;
            }
        }
        self.triangles(stroke)
    }

    /// Draws a face with an opacity texture.
    fn face_with_holes(&self, part: &ScenePart<'_>, face: usize, brush: &mut Brush<'_>) -> Result<()> {
        let corners = part.mesh.faces.corners(face);
        for corner in corners.start + 2..corners.end {
            self.check(corner)?;
            let triangle = [corners.start, corner - 1, corner];
            let pixels = triangle.map(|corner| self.camera.project(part.corner(corner)));
            brush.triangle_where(pixels, part.payload(corner - 1), self.solid(part, face, triangle));
        }
        Ok(())
    }

    /// Returns a predicate that tests whether a sample of a face's triangle is solid, given the sample's screen-space
    /// weights.
    fn solid(&self, part: &ScenePart<'_>, face: usize, corners: [usize; 3]) -> impl Fn([f32; 3]) -> bool {
        let material = part.material(face);
        let uvs = part.corner_uvs(corners);
        let distances = corners.map(|corner| self.camera.distance(self.camera.project(part.corner(corner))[2]));
        move |weights: [f32; 3]| {
            let Some(uvs) = uvs else { return true };
            // Perspective correction: attributes divided by distance are linear in the picture.
            let parts: [f32; 3] = std::array::from_fn(|at| weights[at] / distances[at]);
            let sum: f32 = parts.iter().sum();
            let uv = std::array::from_fn(|axis| (0..3).map(|at| parts[at] * uvs[at][axis]).sum::<f32>() / sum);
            self.textures.is_solid(material, uv)
        }
    }

    /// Draws a batch, then checks for cancellation.
    fn triangles(&self, Stroke { batch, brush }: &mut Stroke<'_>) -> Result<()> {
        batch.draw(self.camera, brush, |&payload, _| payload);
        self.cancel.check()
    }

    /// Draws polylines. The payload identifies each segment's first corner.
    fn lines(&self, part: &ScenePart<'_>, elements: Range<usize>, brush: &mut Brush<'_>) -> Result<()> {
        for line in elements {
            let corners = part.mesh.lines.corners(line);
            let mut before = None;
            for corner in corners.start..corners.end.saturating_sub(1) {
                self.check(corner)?;
                before = self.segment(part, corner, before, brush);
            }
            before.into_iter().for_each(|last| last.draw_end(brush));
        }
        Ok(())
    }

    /// Draws a segment after the previous one, at the default pixel width or its own scene-space width. Returns the
    /// segment if a joint may follow.
    fn segment(
        &self,
        part: &ScenePart<'_>,
        corner: usize,
        before: Option<Ribbon>,
        brush: &mut Brush<'_>,
    ) -> Option<Ribbon> {
        let ends = [corner, corner + 1].map(|corner| part.corner(corner));
        let left = clip::segment(self.camera, ends)?;
        let [a, b] = left.map(|part| self.camera.project(along(ends, part)));
        let dx = b[0] - a[0];
        let dy = b[1] - a[1];
        let length = dx.hypot(dy);
        // Without a direction in the picture, the segment is skipped, and the next one is joined to the previous one.
        if length == 0.0 {
            return before;
        }
        let direction = [dx / length, dy / length];
        let payload = part.payload(corner);
        if has_width(part) {
            let radii = [corner, corner + 1].map(|corner| part.radius(corner));
            let radius = |part: f32| radii[0] + part * (radii[1] - radii[0]);
            let [start, end] = [0, 1].map(|at| Rim::new(self.camera, [a, b][at], radius(left[at])));
            // An end clipped by the camera gets no cap.
            let has_end = [left[0] == 0.0, left[1] == 1.0];
            let ribbon = Ribbon { start, end, has_end, direction, length, payload };
            ribbon.draw(before.as_ref(), brush);
            return has_end[1].then_some(ribbon);
        }
        let [x, y] = direction.map(|part| 0.5 * LINE_PIXELS * part);
        let side = |end: PixelCorner, sign: f32| [end[0] - sign * y, end[1] + sign * x, end[2]];
        brush.triangle([side(a, 1.0), side(a, -1.0), side(b, 1.0)], || payload);
        brush.triangle([side(b, 1.0), side(a, -1.0), side(b, -1.0)], || payload);
        None
    }

    fn points(&self, part: &ScenePart<'_>, elements: Range<usize>, frame: &Frame) {
        for index in elements {
            let corner = self.camera.project(part.position(part.point(index)));
            frame.square(corner, self.point, part.payload(index));
        }
    }

    /// Draws every n-th corner as a point.
    fn thinned(&self, part: &ScenePart<'_>, corners: Range<usize>, frame: &Frame) {
        for corner in corners.step_by(part.density.step) {
            let position = self.camera.project(part.corner_or_point(corner));
            frame.square(position, part.density.pixels, part.payload(part.standing_for(corner)));
        }
    }

    /// Checks for cancellation every 256 corners, because one element may have any number of corners.
    #[inline]
    fn check(&self, corner: usize) -> Result<()> {
        const EVERY: usize = 256;
        if corner.is_multiple_of(EVERY) { self.cancel.check() } else { Ok(()) }
    }
}

impl Holes for Canvas<'_> {
    fn with_test(&self, payload: u64, draw: &mut dyn FnMut(&SolidTest<'_>)) {
        if let Some((part, corner)) = self.parts.find(payload) {
            let (face, first) = part.face_of(corner);
            draw(&self.solid(part, face, [first, corner, corner + 1]));
        }
    }
}

/// Interpolates between two positions.
fn along([a, b]: [[f32; 3]; 2], part: f32) -> [f32; 3] {
    std::array::from_fn(|axis| (1.0 - part) * a[axis] + part * b[axis])
}
