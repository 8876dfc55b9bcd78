//! Converts renderer scenes to meshes, objects and materials, and warns about the losses.

#[cfg(feature = "preview")]
use crate::options::ReadOptions;
use crate::options::WriteOptions;
use crate::references;
use polyhaul_geometry::losses::{self, LeftOut};
use polyhaul_model::Scene;
use polyhaul_model::copy;
use polyhaul_model::error::{Diagnostic, Result};
use polyhaul_model::limits::Limits;
use polyhaul_model::options::Instances;
use polyhaul_model::render::{Entity, Render};
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_pbrt::flatten::{Flat, check_elements, flatten_named};
#[cfg(feature = "preview")]
use polyhaul_pbrt::shown::{ShownCamera, ShownInstance};
#[cfg(feature = "preview")]
use polyhaul_preview::{PlacedInstance, SceneCamera};
use std::borrow::Cow;
#[cfg(feature = "preview")]
use std::ops::Range;

/// Converts a renderer scene to meshes for writing, and checks the limits with all instances expanded.
pub(crate) fn to_write(scene: Cow<'_, Scene>, options: &WriteOptions, warnings: &mut Warnings) -> Result<Scene> {
    let flat = flat(scene, options.scene.instances, &options.limits, warnings)?;
    check_elements(&flat, &options.limits)?;
    Ok(flat)
}

/// Converts a renderer scene to meshes, keeping its instances.
pub(crate) fn with_instances(scene: Scene, limits: &Limits, warnings: &mut Warnings) -> Result<Scene> {
    flat(Cow::Owned(scene), Instances::Auto, limits, warnings)
}

#[cfg(feature = "preview")]
/// A renderer scene, prepared for a preview.
pub(crate) struct ShownScene {
    pub(crate) scene: Scene,
    pub(crate) definitions: Vec<Range<usize>>,
    pub(crate) instances: Vec<PlacedInstance>,
    pub(crate) camera: Option<SceneCamera>,
}

#[cfg(feature = "preview")]
/// Prepares a renderer scene for a preview. Warns about shapes that cannot be drawn.
pub(crate) fn shown(scene: Scene, read: &ReadOptions, warnings: &mut Warnings) -> Result<ShownScene> {
    let folder = scene.folder.clone();
    let Scene { render, meshes, .. } = scene;
    let render = render.unwrap_or_default();
    let mut name_of = |included: &str, name: &str| references::from_scene_folder(&folder, included, name);
    let mut shown = polyhaul_pbrt::shown::shown(&render, meshes, &mut name_of, &read.run)?;
    check_elements(&shown.flat.scene, &read.limits)?;
    shown.flat.scene.folder = folder;
    for (kind, count) in &shown.flat.left_out {
        let verb = if *count == 1 { "was" } else { "were" };
        let message = format!("{} of type `{kind}` {verb} not drawn", counted(*count, ["shape", "shapes"]));
        warnings.push_many("left-out-shapes", *count, Diagnostic::new(message));
    }
    let instance = |ShownInstance { definition, place }| PlacedInstance { definition, place };
    let camera = |ShownCamera { axes, eye, tangent }| SceneCamera { axes, eye, tangent };
    Ok(ShownScene {
        scene: shown.flat.scene,
        definitions: shown.definitions,
        instances: shown.instances.into_iter().map(instance).collect(),
        camera: shown.camera.map(camera),
    })
}

/// Converts a renderer scene to meshes; warns about other content, and about properties that MTL cannot express.
fn flat(scene: Cow<'_, Scene>, instances: Instances, limits: &Limits, warnings: &mut Warnings) -> Result<Scene> {
    let folder = scene.folder.clone();
    let (render, meshes) = match &scene {
        Cow::Owned(_) => {
            let mut scene = scene.into_owned();
            (Cow::Owned(scene.render.take().unwrap_or_default()), scene.meshes)
        }
        Cow::Borrowed(scene) => {
            let Some(render) = &scene.render else { return copy::scene(scene) };
            (Cow::Borrowed(render), copy::scene(scene)?.meshes)
        }
    };
    note_left_out_of_render(&render, warnings);
    let mut name_of = |included: &str, name: &str| references::from_scene_folder(&folder, included, name);
    let mut flat = flatten_named(&render, meshes, instances, limits, &mut name_of)?;
    flat.scene.folder = folder;
    note_left_out_of_flat(&flat, warnings);
    Ok(flat.scene)
}

/// Warns about shapes, arrays, textures and materials that were changed or dropped by the conversion to meshes.
fn note_left_out_of_flat(flat: &Flat, warnings: &mut Warnings) {
    for (kind, count) in &flat.left_out {
        let shapes = counted(*count, ["shape", "shapes"]);
        let message = match (&**kind, *count) {
            ("plymesh", 1) => "dropped 1 shape, whose mesh was not read".to_owned(),
            ("plymesh", _) => format!("dropped {shapes}, whose meshes were not read"),
            (_, 1) => format!("dropped 1 shape of type `{kind}`, which is not a mesh"),
            (_, _) => format!("dropped {shapes} of type `{kind}`, which are not meshes"),
        };
        warnings.push_many("left-out-shapes", *count, Diagnostic::new(message));
    }
    let words = [
        "subdivision surface was replaced by its control mesh",
        "subdivision surfaces were replaced by their control meshes",
    ];
    let message = counted(flat.subdivided, words);
    warnings.push_many("changed-shapes", flat.subdivided, Diagnostic::new(message));
    for (name, count) in &flat.left_out_arrays {
        let shapes = counted(*count, ["shape", "shapes"]);
        let message = format!("dropped the `{name}` values of {shapes}, which a mesh cannot store");
        warnings.push_many("left-out-columns", *count, Diagnostic::new(message));
    }
    for (what, count) in &flat.left_out_textures {
        let textures = counted(*count, ["texture", "textures"]);
        let message = format!("dropped {textures} ({what}), which MTL cannot express");
        warnings.push_many("left-out-textures", *count, Diagnostic::new(message));
    }
    for (what, count) in &flat.left_out_properties {
        let properties = counted(*count, ["property of a material", "properties of materials"]);
        let message = format!("dropped {properties} ({what}), which MTL cannot express");
        warnings.push_many("left-out-material-properties", *count, Diagnostic::new(message));
    }
}

/// Warns about other content that is written only to pbrt: lights, cameras, settings, media and motion.
fn note_left_out_of_render(render: &Render, warnings: &mut Warnings) {
    let settings = [&render.film, &render.filter, &render.sampler, &render.integrator, &render.accelerator];
    let moving = render.shapes().filter(|shape| shape.motion().is_animated()).count()
        + render.instances().filter(|instance| instance.motion.is_animated()).count();
    let class = |entity: &Entity| render.text(entity.name);
    let lights = render.lights.iter().chain(&render.area_lights).map(class);
    let settings = settings.into_iter().flatten().map(class);
    let options = render.options.iter().map(|setting| render.text(setting.name));
    let kinds = [
        LeftOut::named("left-out-lights", ["light", "lights"], lights),
        LeftOut::named("left-out-cameras", ["camera", "cameras"], render.camera.iter().map(class)),
        LeftOut::named("left-out-settings", ["renderer setting", "renderer settings"], settings.chain(options)),
        LeftOut::named("left-out-media", ["medium", "media"], render.media.iter().map(class)),
    ];
    losses::note_dropped(", which polyhaul writes only to pbrt", kinds, "", warnings);
    let open_transforms = if moving == 1 { "transform at shutter open was" } else { "transforms at shutter open were" };
    let reason = format!(", which polyhaul writes only to pbrt; the {open_transforms} kept");
    let motion = LeftOut::new("left-out-motion", ["animated transform", "animated transforms"], moving as u64);
    losses::note_dropped(&reason, [motion], "", warnings);
}
