//! Places scenes with double-precision positions or transforms before they are written: axes, scale, transforms and
//! origin.
//!
//! Reports the precision lost in single-precision formats. Other scenes are placed only if the options set an origin.

use crate::options::WriteOptions;
use polyhaul_geometry::exact;
use polyhaul_model::copy;
use polyhaul_model::error::{Diagnostic, Place, Result};
use polyhaul_model::limits::FaultPolicy;
use polyhaul_model::options::{Dialect, Origin, Placement};
use polyhaul_model::precision::spacing;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Axes, Bounds, Mesh, Scene};
use polyhaul_pipeline::precision::rounded;
use polyhaul_spill::paced;
use std::borrow::Cow;

/// Minimum ratio between float spacings before and after an automatic origin. Below it, the scene is too close to 0,
/// and no origin is used.
const MIN_GAIN: f64 = 4.0;

/// Precision that the target format supports.
#[derive(Clone, Copy)]
pub(crate) struct PreciseTarget<'a> {
    /// The output, for messages.
    pub(crate) output: &'a str,
    pub(crate) keeps_doubles: bool,
    /// Whether the format stores object transforms and an origin.
    pub(crate) has_origin: bool,
}

/// A placed scene, and the options that write it.
pub(crate) struct PreciseScene<'a> {
    pub(crate) scene: Cow<'a, Scene>,
    pub(crate) options: Cow<'a, WriteOptions>,
    pub(crate) placement: Placement,
    /// Offset subtracted from all positions.
    pub(crate) origin: [f64; 3],
}

/// Places a scene if it needs double precision or another origin. Returns any other scene unchanged.
pub(crate) fn place<'a>(
    scene: Cow<'a, Scene>,
    placement: Placement,
    options: &'a WriteOptions,
    target: PreciseTarget<'_>,
    warnings: &mut Warnings,
) -> Result<PreciseScene<'a>> {
    let is_moved = matches!(options.scene.origin, Origin::At(_));
    let is_single = options.scene.dialect == Dialect::Blender && !paced(&scene.meshes).any(Mesh::is_exact);
    if !is_moved && (is_single || !exact::is_exact(&scene)?) {
        return Ok(PreciseScene { scene, options: Cow::Borrowed(options), placement, origin: [0.0; 3] });
    }
    let axes = placement.axes.unwrap_or(scene.axes);
    if target.keeps_doubles && !is_moved && axes == scene.axes && placement.scale == 1.0 && exact::is_placed(&scene) {
        return Ok(PreciseScene { scene, options: Cow::Borrowed(options), placement, origin: [0.0; 3] });
    }
    let mut scene = match scene {
        Cow::Owned(scene) => scene,
        Cow::Borrowed(scene) => Scene { materials: scene.materials.clone(), ..copy::scene(scene)? },
    };
    if let Cow::Owned(objects) = scene.listed_objects()? {
        scene.objects = objects;
    }
    exact::place(&mut scene, axes, placement.scale, target.has_origin, &options.run)?;
    let bounds = if target.keeps_doubles { None } else { exact::scene_bounds(&scene)? };
    let origin = origin_of(options.scene.origin, bounds.filter(|_| target.has_origin));
    let loss = exact::shift(&mut scene, origin, target.keeps_doubles, &options.run)?;
    if loss.moved > 0 && !target.keeps_doubles {
        let PreciseTarget { output, has_origin, .. } = target;
        let message = rounded(loss.moved, "up to", loss.largest);
        let hint = match options.scene.origin {
            Origin::Auto if has_origin => "write PLY or OBJ, which keep all digits",
            _ if has_origin => "use `--origin auto`, or write PLY or OBJ, which keep all digits",
            _ => "move the coordinates closer to 0 with `--origin`, or write PLY or OBJ, which keep all digits",
        };
        let place = Place { file: output.into(), ..Place::default() };
        let diagnostic = Diagnostic { place, hint: Some(hint.into()), ..Diagnostic::new(message) };
        warnings.rounded(FaultPolicy::default(), loss.is_loss(bounds), loss.moved, diagnostic)?;
    }
    Ok(PreciseScene {
        scene: Cow::Owned(scene),
        options: Cow::Owned(placed_options(options, axes)),
        placement: Placement { axes: Some(axes), scale: 1.0, ..placement },
        origin,
    })
}

/// Options for a scene whose axes, scale and origin are already applied.
fn placed_options(options: &WriteOptions, axes: Axes) -> WriteOptions {
    let Axes { forward, up } = axes;
    let scene = options.scene.with_forward_axis(Some(forward)).with_up_axis(Some(up));
    let scene = scene.with_global_scale(1.0).with_origin(Origin::None);
    options.clone().with_scene(scene)
}

/// Origin to subtract. `Auto` uses the center of a distant bounding box, rounded to whole numbers that floats
/// represent, so that formats store it exactly.
fn origin_of(origin: Origin, bounds: Option<Bounds<f64>>) -> [f64; 3] {
    match (origin, bounds) {
        (Origin::At(point), _) => point,
        (Origin::Auto, Some(bounds)) => {
            let far = bounds.spacing();
            let near = spacing(bounds.longest_side() / 2.0);
            if far < MIN_GAIN * near {
                return [0.0; 3];
            }
            bounds.center().map(|value| f64::from(value.round() as f32))
        }
        _ => [0.0; 3],
    }
}
