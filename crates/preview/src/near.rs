//! The rasterized layer of an instanced scene: definitions with few instances, and the instances that fill most of the
//! picture.
//!
//! Rasterization time grows with the number of triangles, whatever their size. Ray casting is faster for a million
//! instances of one definition, but tests every box on the way: boxes of instances that surround the camera, or of hair
//! as long as the scene. Rasterized instances also occlude many instances, which then need no tree. See
//! [`crate::instanced`].

use crate::camera::Camera;
use crate::draw::draw;
use crate::frame::{Frame, Hit, SAMPLES};
use crate::instanced::SeenInstance;
use crate::scene::{AffineRows, SceneParts};
use crate::texture::Textures;
use crate::work::PictureWork;
use polyhaul_model::error::Result;
use std::ops::Range;

/// Definitions with at most this many visible instances are rasterized: a tree would not pay off.
const FEW: u32 = 8;
/// Maximum number of other instances to rasterize, largest in the picture first. Each additional instance costs as much
/// and hides less.
const LARGEST: usize = 16;
/// Maximum number of corners of the rasterized instances: payloads have 32 bits.
const MAX_CORNERS: usize = u32::MAX as usize - 1;
/// Side of a depth block in pixels.
const BLOCK: usize = 16;

/// The rasterized layer.
pub(crate) struct NearLayer<'a> {
    pub(crate) parts: SceneParts<'a>,
    camera: Camera,
    frame: Frame,
}

/// A partition of the instances: those to rasterize (indices), and those to ray-cast.
pub(crate) struct NearSelection {
    pub(crate) drawn: Vec<u32>,
    pub(crate) left: Vec<SeenInstance>,
}

impl<'a> NearLayer<'a> {
    /// Rasterizes parts with transforms.
    ///
    /// # Errors
    /// If out of memory, or the job was cancelled.
    pub(crate) fn new(
        parts: &SceneParts<'a>,
        placed: impl Iterator<Item = (Range<usize>, AffineRows)>,
        camera: &Camera,
        nearest: f64,
        textures: &Textures,
        work: &PictureWork<'_>,
    ) -> Result<NearLayer<'a>> {
        let parts = parts.placed(placed)?;
        let mut near = NearLayer { parts, camera: camera.reversed(nearest), frame: Frame::reversed(work.size)? };
        draw(&mut near.parts, textures, &near.camera, &near.frame, work)?;
        Ok(near)
    }

    /// Forward distance and payload of the surface at a sample.
    pub(crate) fn hit(&self, index: usize) -> Option<(f32, u64)> {
        self.frame.hit(index).map(|Hit { depth, payload }| (self.camera.distance(depth), payload))
    }

    /// Maximum distance per block of pixels, for occlusion tests.
    pub(crate) fn depth_blocks(&self) -> DepthBlocks {
        let [width, height] = self.frame.size();
        let blocks = [width.div_ceil(BLOCK), height.div_ceil(BLOCK)];
        let mut farthest = vec![0.0f32; blocks[0] * blocks[1]];
        for y in 0..height {
            for x in 0..width {
                let block = &mut farthest[y / BLOCK * blocks[0] + x / BLOCK];
                for sample in 0..SAMPLES {
                    let distance = self.hit(self.frame.index(x, y, sample)).map_or(f32::INFINITY, |hit| hit.0);
                    *block = block.max(distance);
                }
            }
        }
        DepthBlocks { camera: self.camera.clone(), blocks, farthest }
    }
}

/// Distance of the farthest sample of each block; infinite if a sample is empty.
pub(crate) struct DepthBlocks {
    camera: Camera,
    blocks: [usize; 2],
    farthest: Vec<f32>,
}

impl DepthBlocks {
    /// Whether a camera-space box lies entirely behind the rasterized layer.
    pub(crate) fn hides(&self, &[right, up, [nearest, farthest]]: &[[f64; 2]; 3]) -> bool {
        if nearest <= 0.0 {
            return false;
        }
        // Divides by the distance that maximizes the box's extent in the picture.
        let place = |[min, max]: [f64; 2]| {
            let by = |side: f64, is_min: bool| side / if (side < 0.0) == is_min { nearest } else { farthest };
            [by(min, true), by(max, false)]
        };
        let [left, right] = place(right);
        let [below, above] = place(up);
        let from = self.camera.pixel([left, above]);
        let to = self.camera.pixel([right, below]);
        let block = |axis: usize, pixel: f32| (pixel.max(0.0) as usize / BLOCK).min(self.blocks[axis] - 1);
        let columns = block(0, from[0])..block(0, to[0]) + 1;
        let mut rows = block(1, from[1])..block(1, to[1]) + 1;
        rows.all(|row| {
            let farthest = &self.farthest[row * self.blocks[0]..][columns.clone()];
            farthest.iter().all(|&farthest| f64::from(farthest) < nearest)
        })
    }
}

/// Chooses the instances to rasterize: all instances of definitions with few instances, and at most [`LARGEST`] of the
/// other instances, as long as these have no more corners than the definitions whose trees they may save.
/// [`MAX_CORNERS`] limits both.
pub(crate) fn choose(
    seen: Vec<SeenInstance>,
    definition_of: impl Fn(&SeenInstance) -> u32,
    sizes: &[usize],
    camera: &Camera,
) -> NearSelection {
    let mut uses = vec![0u32; sizes.len()];
    for instance in &seen {
        if let Some(uses) = uses.get_mut(definition_of(instance) as usize) {
            *uses += 1;
        }
    }
    let has_few = |definition: usize| uses.get(definition).is_some_and(|&uses| uses <= FEW);
    let size_of = |instance: &SeenInstance| sizes.get(definition_of(instance) as usize).copied().unwrap_or(0);
    let (mut few, mut left): (Vec<_>, Vec<_>) =
        seen.into_iter().partition(|instance| has_few(definition_of(instance) as usize));
    let mut drawn = take_within(&mut few, size_of, MAX_CORNERS);
    let corners: usize = drawn.iter().map(size_of).sum();
    left.append(&mut few);

    let mut large = take_largest(&mut left, camera);
    let spared: usize = (0..sizes.len()).filter(|&at| uses[at] > 0 && !has_few(at)).map(|at| sizes[at]).sum();
    drawn.extend(take_within(&mut large, size_of, spared.min(MAX_CORNERS - corners)));
    left.append(&mut large);
    NearSelection { drawn: drawn.iter().map(|instance| instance.number).collect(), left }
}

/// Takes leading instances while their corners sum to at most `corners`.
fn take_within(
    instances: &mut Vec<SeenInstance>,
    size_of: impl Fn(&SeenInstance) -> usize,
    mut corners: usize,
) -> Vec<SeenInstance> {
    let mut fits = |instance: &SeenInstance| {
        let left = corners.checked_sub(size_of(instance));
        corners = left.unwrap_or(corners);
        left.is_some()
    };
    let count = instances.iter().map_while(|instance| fits(instance).then_some(())).count();
    instances.drain(..count).collect()
}

/// Takes up to [`LARGEST`] instances that span more than half of the picture's width, largest first.
fn take_largest(instances: &mut Vec<SeenInstance>, camera: &Camera) -> Vec<SeenInstance> {
    let parts = instances.iter().map(|instance| part_of_picture(&instance.seen_box(camera), camera)).enumerate();
    let mut large: Vec<(usize, f64)> = parts.filter(|(_, part)| *part > 0.5).collect();
    large.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    large.truncate(LARGEST);
    let largest = large.iter().map(|&(at, _)| instances[at]).collect();
    let mut at = 0;
    instances.retain(|_| {
        at += 1;
        large.iter().all(|&(largest, _)| largest != at - 1)
    });
    largest
}

/// Size of a box as a fraction of the picture's width; infinite if it extends behind the camera.
fn part_of_picture([right, up, [nearest, _]]: &[[f64; 2]; 3], camera: &Camera) -> f64 {
    let side = (right[1] - right[0]).max(up[1] - up[0]);
    if *nearest > 0.0 { side / nearest / (2.0 * camera.reach()[0]) } else { f64::INFINITY }
}
