//! Converts scenes with splats to the axes and scale of a format. Transforms the whole scene before writing, so that
//! writers need not transform the columns of splats.

use crate::splat_motion::{has_splats, moves_splats, settle_splats};
use crate::transform::{is_mirrored, transform_axes};
use polyhaul_model::copy;
use polyhaul_model::error::Result;
use polyhaul_model::options::Placement;
use polyhaul_model::splats::AXES;
use polyhaul_model::{Axes, Object, Scene};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_spill::paced;
use std::borrow::Cow;

/// The axes and scale in which a format stores splats.
pub struct SplatPlacement<'a> {
    /// The requested axes and scale.
    pub placement: &'a Placement,
    /// Whether the format is y-up and stores transforms of splats.
    pub is_upright: bool,
}

impl SplatPlacement<'_> {
    /// Returns whether the splats of a scene must be transformed before writing.
    pub fn changes(&self, scene: &Scene) -> bool {
        let placement = self.placement;
        let is_turned = placement.axes.is_some_and(|axes| axes != scene.axes) || placement.scale != 1.0;
        let is_moved = |object: &Object| moves_splats(scene, object);
        let is_any = self.is_upright || is_turned || paced(&scene.objects).any(is_moved);
        is_any && paced(&scene.meshes).any(has_splats)
    }

    /// Transforms a scene, including the columns of splats. Copies the scene if it is borrowed. Returns the scene and
    /// the placement that remains to be applied.
    ///
    /// # Errors
    /// See [`settle_splats`] and [`transform_axes`].
    pub fn apply<'s>(&self, scene: Cow<'s, Scene>, run: &RunOptions) -> Result<(Cow<'s, Scene>, Placement)> {
        let mut scene = match scene {
            Cow::Owned(scene) => scene,
            Cow::Borrowed(scene) => copy::scene(scene)?,
        };
        let placement = self.placement;
        let axes = placement.axes.unwrap_or(scene.axes);
        // Renderers cannot mirror splats, so mirroring transforms are applied to the splats themselves.
        let settles = |object: &Object| !self.is_upright || object.transform.as_ref().is_some_and(is_mirrored);
        settle_splats(&mut scene, settles, run)?;
        if self.is_upright {
            transform_axes(&mut scene, Axes::default(), 1.0, run)?;
            scene.axes = AXES;
        }
        transform_axes(&mut scene, axes, placement.scale, run)?;
        Ok((Cow::Owned(scene), Placement { axes: Some(axes), scale: 1.0, ..*placement }))
    }
}
