//! Renders a mesh while it is read: triangles are drawn as they arrive, without building a model.
//!
//! Surfaces are flat: a sample stores its triangle's normal and mean color. The camera is placed according to all
//! positions if the file starts with them, otherwise according to a sample. If the sample missed part of the mesh, or
//! if there was no sample, the file is read again ([`Streamed::Again`]).

use crate::batch::Batch;
use crate::brush::Brush;
use crate::camera::Camera;
use crate::draw::point_size;
use crate::frame::Frame;
use crate::packed::{PackedSurfaces, packed, packed_point};
use crate::work::PictureWork;
use crate::{PreviewOptions, checked_axes, shade};
use polyhaul_model::error::Result;
use polyhaul_model::{Axes, Bounds, Image};
use polyhaul_pipeline::consumer::{KnownPositions, MeshConsumer, MeshPiece, PieceFaces};
use polyhaul_pipeline::parallel::for_each_item;
use polyhaul_pipeline::run::{Phase, span};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Maximum distance by which a mesh may exceed its sampled bounds on each side, as a fraction of the size of the
/// bounds: less than the picture's margin of 4.3%.
const TOLERANCE: f32 = 0.035;
/// Work units for large triangles granted per byte of the file.
const BYTE_WORK: u64 = 8;
/// Positions per task.
const TURN: usize = 64 << 10;

/// Renders a mesh piece by piece, as a [`MeshConsumer`].
pub struct MeshDrawing<'a> {
    options: &'a PreviewOptions,
    axes: Axes,
    frame: Frame,
    /// Bounds from an earlier reading.
    known_bounds: Option<Bounds>,
    camera: OnceLock<(Camera, Bounds)>,
    /// Number of positions; 0 if unknown.
    position_count: AtomicUsize,
    /// Work units of large triangles, and their limit.
    work: AtomicU64,
    max_work: u64,
    /// Bounds of the pieces so far.
    taken_bounds: Mutex<Option<Bounds>>,
}

/// The outcome of [`MeshDrawing::finish`].
#[derive(Debug)]
pub enum Streamed {
    /// The complete picture.
    Picture(Image),
    /// The mesh must be read again into a drawing with these bounds.
    Again(Bounds),
    /// Too many large triangles: they must be sorted front to back, as for a scene.
    Declined,
}

impl<'a> MeshDrawing<'a> {
    /// Starts a drawing of a mesh from a file of `file_bytes` bytes. For a second reading, `bounds` must be the bounds
    /// from [`Streamed::Again`].
    ///
    /// # Errors
    /// As for [`crate::preview`].
    pub fn new(
        options: &'a PreviewOptions,
        axes: Axes,
        file_bytes: u64,
        bounds: Option<Bounds>,
    ) -> Result<MeshDrawing<'a>> {
        let axes = checked_axes(options, axes)?;
        let frame = Frame::from_options(options)?;
        Ok(MeshDrawing {
            options,
            axes,
            frame,
            known_bounds: bounds,
            camera: OnceLock::new(),
            position_count: AtomicUsize::new(0),
            work: AtomicU64::new(0),
            max_work: PictureWork::new(options).limit(file_bytes.saturating_mul(BYTE_WORK)),
            taken_bounds: Mutex::default(),
        })
    }

    /// Shades the picture, after the last piece.
    ///
    /// # Errors
    /// As for [`crate::preview`].
    pub fn finish(self) -> Result<Streamed> {
        let taken = self.taken_bounds.into_inner().unwrap_or_else(PoisonError::into_inner);
        let is_reread = self.known_bounds.is_some();
        if self.work.into_inner() > self.max_work {
            return Ok(Streamed::Declined);
        }
        match self.camera.into_inner() {
            Some((camera, shown)) if is_reread || taken.is_none_or(|taken| is_inside(taken, shown)) => {
                let surfaces = PackedSurfaces { camera: &camera };
                shade::shade(&surfaces, &camera, None, &self.frame, self.options).map(Streamed::Picture)
            }
            // An empty mesh has no bounds; any bounds will do.
            _ => Ok(Streamed::Again(taken.unwrap_or(Bounds { min: [-1.0; 3], max: [1.0; 3] }))),
        }
    }

    fn show(&self, bounds: Bounds) {
        let camera = Camera::framing(bounds, self.options.view, self.axes, self.options.size);
        // Already set if a damaged file is read again as a stream: the same triangles are redrawn.
        _ = self.camera.set((camera, bounds));
    }

    /// Draws the positions of a piece as points.
    fn points(&self, piece: &MeshPiece<'_>, camera: &Camera, size: f32) {
        for (at, &position) in piece.positions.iter().enumerate() {
            let color = color_of(piece, at);
            self.frame.square(camera.project(position), size, packed_point(color));
        }
    }
}

/// Whether `taken` exceeds the shown bounds by no more than [`TOLERANCE`].
fn is_inside(taken: Bounds, shown: Bounds) -> bool {
    let size = (0..3).map(|axis| shown.max[axis] - shown.min[axis]).fold(0.0, f32::max);
    let margin = TOLERANCE * size;
    (0..3).all(|axis| taken.min[axis] >= shown.min[axis] - margin && taken.max[axis] <= shown.max[axis] + margin)
}

impl MeshConsumer for MeshDrawing<'_> {
    fn start(&self, positions: KnownPositions<'_>) -> Result<()> {
        if let KnownPositions::All(positions) = positions {
            self.position_count.store(positions.len(), Ordering::Relaxed);
        }
        let bounds = match (self.known_bounds, positions) {
            (Some(bounds), _) => Some(bounds),
            (None, KnownPositions::All(positions)) => bounds_of_all(positions, self.options.run.worker_threads()),
            (None, KnownPositions::Sample(positions)) => Bounds::of(positions),
            (None, KnownPositions::Unknown) => None,
        };
        bounds.into_iter().for_each(|bounds| self.show(bounds));
        Ok(())
    }

    fn take(&self, piece: &MeshPiece<'_>) -> Result<()> {
        let _span = span(Phase::Draw);
        // Bounds from an earlier reading are complete.
        if matches!(piece.faces, PieceFaces::Triangles) && self.known_bounds.is_none() {
            let bounds = Bounds::of(piece.positions);
            let mut taken_bounds = self.taken_bounds.lock().unwrap_or_else(PoisonError::into_inner);
            *taken_bounds = bounds.into_iter().chain(*taken_bounds).reduce(Bounds::union);
        }
        let Some((camera, _)) = self.camera.get() else { return Ok(()) };
        // Whether the total exceeds the limit does not depend on the order of the pieces, so the outcome is
        // deterministic.
        let Some(left) = self.max_work.checked_sub(self.work.load(Ordering::Relaxed)) else { return Ok(()) };
        let mut brush = Brush::direct(&self.frame, left);
        let mut batch = Batch::new();
        let flat = |colors: &[[u8; 4]; 3], corners: [[f32; 3]; 3]| packed(corners, colors);
        let mut push = |corners: [usize; 3]| {
            let position = |corner: usize| piece.positions.get(corner).copied().unwrap_or([f32::NAN; 3]);
            let color = |corner: usize| color_of(piece, corner);
            if batch.is_full() {
                batch.draw(camera, &mut brush, flat);
            }
            batch.push(corners.map(position), corners.map(color));
        };
        match piece.faces {
            PieceFaces::Points => {
                self.points(piece, camera, point_size(self.position_count.load(Ordering::Relaxed), &self.frame))
            }
            PieceFaces::Triangles => {
                (0..piece.positions.len() / 3).for_each(|face| push([3 * face, 3 * face + 1, 3 * face + 2]))
            }
            PieceFaces::Lists { offsets, corners } => {
                for ends in offsets.windows(2) {
                    let face = corners.get(ends[0] as usize..ends[1] as usize).unwrap_or_default();
                    for at in 2..face.len() {
                        push([face[0], face[at - 1], face[at]].map(|index| index as usize));
                    }
                }
            }
        }
        batch.draw(camera, &mut brush, flat);
        self.work.fetch_add(brush.work, Ordering::Relaxed);
        Ok(())
    }
}

/// Vertex color with full alpha; all zeros if there is none.
fn color_of(piece: &MeshPiece<'_>, position: usize) -> [u8; 4] {
    piece.colors.get(position).map_or([0; 4], |&[r, g, b, _]| [r, g, b, u8::MAX])
}

/// Bounds of positions, computed in parallel.
fn bounds_of_all(positions: &[[f32; 3]], threads: usize) -> Option<Bounds> {
    let all_bounds = Mutex::new(None);
    for_each_item(
        threads,
        positions.chunks(TURN),
        || (),
        |(), part| {
            let bounds = Bounds::of(part);
            let mut all_bounds = all_bounds.lock().unwrap_or_else(PoisonError::into_inner);
            *all_bounds = bounds.into_iter().chain(*all_bounds).reduce(Bounds::union);
        },
    );
    all_bounds.into_inner().unwrap_or_else(PoisonError::into_inner)
}
