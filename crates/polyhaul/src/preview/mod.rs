//! Pictures of files: renders scenes, and scales images down.
//!
//! Reads and prepares the input; the crate `polyhaul-preview`, which is independent of formats, draws it.

mod textures;

pub use polyhaul_preview::{MAX_SIDE, PIXEL_BYTES, PreviewOptions, Sheet, Style, View, WorkBudget};

use crate::containers::Near;
use crate::flat::{self, ShownScene};
use crate::format::Format;
use crate::input::Input;
use crate::load::{Content, ContentShape, Read, load_as, load_pieces};
use crate::loaded::Loaded;
use crate::open::Opened;
use crate::ops::{ImageOps, MipmapOptions};
use crate::options::ReadOptions;
use crate::report::{Clock, Report};
use polyhaul_geometry::triangulate::triangulate_scene_bounded;
use polyhaul_geometry::{exact, splat_motion, splat_shape};
use polyhaul_model::copy;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, try_push};
use polyhaul_model::warnings::{Warnings, grouped};
use polyhaul_model::{Axes, Bounds, Channels, ColorSpace, Image, Mesh, SampleType, Samples, Scene};
use polyhaul_pipeline::attempt::Attempt;
use polyhaul_pipeline::crew::within;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::run::Phase;
use polyhaul_preview::{CountedPicture, Instanced, InstancedDrawing, MeshDrawing, Streamed, Textures};
use std::borrow::Cow;
use std::cell::Cell;
use textures::PixelBudget;

/// Minimum file size for drawing a mesh while it is read: triangles of large meshes are so small that missing vertex
/// normals are hardly visible.
const LARGE_BYTES: u64 = 32_000_000;

/// Reads an input and makes a picture of it: a drawing of a scene or a table of points, or an image scaled to fit
/// [`PreviewOptions::size`].
///
/// The report has the phases `read` and `draw`, whose sum is the time to the first picture in memory. Renderer scenes
/// also have the phases `flatten`, `trees` and `refine`.
///
/// ```no_run
/// use polyhaul::ReadOptions;
/// use polyhaul::preview::{PreviewOptions, View, preview};
///
/// let options = PreviewOptions::default().with_size([256, 256]).with_view(View::Front);
/// let picture = preview("chair.obj", &ReadOptions::default(), &options)?;
/// polyhaul::Writer::new("chair.png").image(&picture.value)?;
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// Any error from reading, and any error from [`polyhaul_preview::preview`].
pub fn preview(input: impl Into<Input>, read: &ReadOptions, options: &PreviewOptions) -> Result<Loaded<Image>> {
    let input = input.into();
    within(&read.run, || {
        let input = Opened::to_read(input, read)?;
        match draw_pieces(&input, read, options)? {
            Attempt::Done(mut picture) => {
                note_if_empty(&picture.value, &mut picture.report.warnings);
                Ok(picture)
            }
            Attempt::Declined => draw_whole(&input, read, options),
        }
    })
}

/// Warns if all pixels of a scene's picture are equal: a scene never fills the picture, so nothing of it is visible.
fn note_if_empty(picture: &Image, warnings: &mut Warnings) {
    fn is_plain<T: PartialEq>(samples: &[T], channels: usize) -> bool {
        let mut pixels = samples.chunks_exact(channels);
        pixels.next().is_some_and(|first| pixels.all(|pixel| pixel == first))
    }
    let channels = picture.channels.count();
    let is_empty = match &picture.samples {
        Samples::U8(samples) => is_plain(&samples[..], channels),
        Samples::U16(samples) => is_plain(&samples[..], channels),
        Samples::F32(samples) => is_plain(&samples[..], channels),
    };
    if is_empty {
        let message = "the picture is empty: no element of the scene is visible";
        warnings.push("empty-picture", Diagnostic::new(message));
    }
}

/// Warns if a picture needed more work than the budget allows.
fn note_if_coarse(is_coarse: bool, warnings: &mut Warnings) {
    if is_coarse {
        let message = "the picture is coarse: the scene has too many elements, or too many large ones overlap";
        warnings.push("coarse-picture", Diagnostic::new(message));
    }
}

/// Draws an input after reading it completely.
fn draw_whole(input: &Opened, read: &ReadOptions, options: &PreviewOptions) -> Result<Loaded<Image>> {
    let [width, height] = options.size;
    // For scenes, this is checked again when they are drawn.
    if width.min(height) == 0 {
        let message = format!("invalid picture size: {width} x {height} pixels; expected 1 to {MAX_SIDE} on each side");
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let is_image = Cell::new(false);
    let shape = |from: Format| {
        is_image.set(from.is_image());
        if from.is_image() { ContentShape::Image } else { ContentShape::Scene }
    };
    let bounded = read.clone().with_limits(PixelBudget::new(options.budget).limits(read, input));
    let (Read { content, .. }, mut report) = match load_as(input, &bounded, &shape) {
        Err(error) if is_image.get() => return draw_average(error, input, read, options),
        loaded => loaded?,
    };
    let picture = match content {
        Content::Scene(scene) => {
            let picture = draw_scene(Cow::Owned(scene), input.near(), read, options, &mut report)?;
            note_if_empty(&picture, &mut report.warnings);
            picture
        }
        Content::Image(image) => report.phase("draw", || fit(image, options))?,
        _ => return Err(Error::new(ErrorKind::Internal, "a scene was read as something else")),
    };
    report.note_first_pixel();
    Ok(Loaded::new(picture, report))
}

/// Color for an image without any readable pixels.
const GRAY: [u8; 4] = [188, 188, 188, 255];

/// Draws the average color of an image that exceeds the pixel budget; returns `error` if reading failed for another
/// reason.
fn draw_average(error: Error, input: &Opened, read: &ReadOptions, options: &PreviewOptions) -> Result<Loaded<Image>> {
    let Some(pixels) = error.needed().filter(|&pixels| pixels <= read.limits.pixels) else { return Err(error) };
    let mut report = Report::default();
    let average = textures::average(input, read)?;
    report.warnings.push("coarse-picture", textures::coarse_message(input.name(), pixels, average.as_ref()));
    // The width is known only if rows were read.
    let width = average.as_ref().map_or((pixels as f64).sqrt(), |average| average.width as f64);
    let height = pixels as f64 / width;
    let scale = (options.size[0] as f64 / width).min(options.size[1] as f64 / height).min(1.0);
    let [width, height] = [width, height].map(|side| ((side * scale) as usize).max(1));
    let color = average.map_or(GRAY, |average| average.color);
    let samples = Samples::U8(color.repeat(width * height).into());
    report.note_first_pixel();
    Ok(Loaded::new(Image { width, height, channels: Channels::Rgba, samples, ..Image::default() }, report))
}

/// Makes a picture of a scene. Textures are searched for in the folder from which the scene was read.
///
/// ```
/// use polyhaul::preview::{PreviewOptions, preview_scene};
/// use polyhaul::{Input, Reader};
///
/// let text = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".to_vec();
/// let scene = Reader::new(Input::Memory(text, "triangle.obj".into())).scene()?.value;
/// let picture = preview_scene(&scene, &PreviewOptions::default().with_size([64, 48]))?.value;
/// assert_eq!((picture.width, picture.height), (64, 48));
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// The same errors as [`polyhaul_preview::preview`].
pub fn preview_scene(scene: &Scene, options: &PreviewOptions) -> Result<Loaded<Image>> {
    let near = scene.folder.path().map_or(Near::Nothing, |folder| Near::File(folder.join("scene")));
    let allow_outside = scene.folder.place().is_some_and(|place| place.allow_outside);
    let read = ReadOptions::default().with_run(options.run.clone()).with_allow_outside(allow_outside);
    check_quick(scene, options)?;
    let mut report = Report::default();
    let picture = within(&options.run, || draw_scene(Cow::Borrowed(scene), &near, &read, options, &mut report))?;
    note_if_empty(&picture, &mut report.warnings);
    report.note_first_pixel();
    Ok(Loaded::new(picture, report))
}

/// Maximum number of elements that can be prepared in a fraction of a second.
const QUICK_ELEMENTS: u64 = 1 << 25;

/// Fails if preparing a scene would take longer than a picture with a fixed budget may take.
fn check_quick(scene: &Scene, options: &PreviewOptions) -> Result<()> {
    let elements = |mesh: &Mesh| {
        let elements = [&mesh.faces.corner_positions, &mesh.lines.corner_positions, &mesh.points];
        (mesh.positions.len() + elements.iter().map(|array| array.len()).sum::<usize>()) as u64
    };
    let render = scene.render.as_ref().map_or(0, |render| render.shapes().count() + render.instances.len());
    let count = scene.meshes.iter().map(elements).sum::<u64>() + (scene.objects.len() + render) as u64;
    if options.budget == WorkBudget::Fixed && count > QUICK_ELEMENTS {
        let message = format!("{} elements exceed the fixed budget for a picture", grouped(count));
        return Err(Error::new(ErrorKind::Limit, message));
    }
    Ok(())
}

fn draw_scene(
    scene: Cow<'_, Scene>,
    near: &Near,
    read: &ReadOptions,
    options: &PreviewOptions,
    report: &mut Report,
) -> Result<Image> {
    if scene.render.is_some() {
        return draw_instanced(scene, near, read, options, report);
    }
    let scene = splat_shape::complete(scene, "preview", &mut report.warnings)?;
    let scene = with_settled_splats(scene, &options.run, &mut report.warnings)?;
    let scene = without_strays(scene)?;
    let scene = centered(scene, &options.run)?;
    let textures = looks(&scene, near, read, options, report)?;
    let (picture, unfinished) = report.phase("draw", || draw(scene, &textures, options))?;
    note_if_coarse(picture.is_coarse, &mut report.warnings);
    let message = "polygons with many corners were only partly triangulated: their triangles overlap";
    report.warnings.push_many("coarse-picture", unfinished, Diagnostic::new(message));
    Ok(picture.image)
}

/// Number of splats that objects may show regardless of the number of stored splats.
const MAX_SETTLED_SPLATS: usize = 1 << 20;

/// Moves splats to where their objects place them. If that fails, as for shearing transforms, or if there are too many
/// instances, the splats are drawn as points.
fn with_settled_splats<'a>(scene: Cow<'a, Scene>, run: &RunOptions, warnings: &mut Warnings) -> Result<Cow<'a, Scene>> {
    if !scene.objects.iter().any(|object| splat_motion::moves_splats(&scene, object)) {
        return Ok(scene);
    }
    // Each additional object of a mesh needs a copy of the mesh.
    let count = |number: usize| scene.meshes.get(number).map_or(0, |mesh| mesh.positions.len());
    let shown: usize = scene.objects.iter().map(|object| count(object.mesh)).sum();
    let stored: usize = (0..scene.meshes.len()).map(count).sum();
    if shown > MAX_SETTLED_SPLATS.max(8 * stored) {
        let message = "splats are drawn as points: they have too many instances";
        warnings.push("coarse-picture", Diagnostic::new(message));
        return Ok(scene);
    }
    let mut settled = Scene { materials: scene.materials.clone(), ..copy::scene(&scene)? };
    let mut is_placed = vec![false; settled.meshes.len()];
    for number in 0..settled.objects.len() {
        let mesh = settled.objects[number].mesh;
        if is_placed.get_mut(mesh).is_some_and(|is_placed| std::mem::replace(is_placed, true)) {
            settled.objects[number].mesh = settled.meshes.len();
            let copied = copy::mesh(&settled.meshes[mesh])?;
            try_push(&mut settled.meshes, copied, "the scene")?;
        }
    }
    match splat_motion::settle_splats(&mut settled, |_| true, run) {
        Ok(()) => Ok(Cow::Owned(settled)),
        Err(error) if matches!(error.kind(), ErrorKind::Usage | ErrorKind::Unsupported) => {
            let message = format!("splats are drawn as points: {error}");
            warnings.push("changed-splats", Diagnostic::new(message));
            Ok(scene)
        }
        Err(error) => Err(error),
    }
}

/// Removes unused vertices from meshes whose bounds suggest that some of them are far from the faces. Some programs
/// leave such vertices behind, and a view that includes them would shrink the model to a dot.
fn without_strays(scene: Cow<'_, Scene>) -> Result<Cow<'_, Scene>> {
    if !scene.meshes.iter().any(may_have_strays) {
        return Ok(scene);
    }
    let mut scene = match scene {
        Cow::Owned(scene) => scene,
        Cow::Borrowed(scene) => Scene { materials: scene.materials.clone(), ..copy::scene(scene)? },
    };
    for mesh in scene.meshes.iter_mut().filter(|mesh| may_have_strays(mesh)) {
        let mut is_used = Vec::new();
        is_used.try_reserve_exact(mesh.positions.len())?;
        is_used.resize(mesh.positions.len(), false);
        for corners in [&mesh.faces.corner_positions, &mesh.lines.corner_positions, &mesh.points] {
            for &corner in corners.iter() {
                if let Some(is_used) = is_used.get_mut(corner as usize) {
                    *is_used = true;
                }
            }
        }
        // Positions that are not finite are neither drawn nor part of the bounds.
        let strays = |number: usize| !is_used.get(number).copied().unwrap_or(true);
        for (number, position) in mesh.positions.to_mut()?.iter_mut().enumerate().filter(|(number, _)| strays(*number))
        {
            *position = [f32::NAN; 3];
            if !mesh.exact_positions.is_empty() {
                mesh.exact_positions.to_mut()?[number] = [f64::NAN; 3];
            }
        }
    }
    Ok(Cow::Owned(scene))
}

/// Whether the bounds of a mesh are much larger than the bounds of a sample of its face corners.
fn may_have_strays(mesh: &Mesh) -> bool {
    const SAMPLES: usize = 1000;
    const FACTOR: f32 = 4.0;
    let corners = &mesh.faces.corner_positions;
    let step = corners.len() / SAMPLES + 1;
    let sampled = corners.iter().step_by(step).filter_map(|&corner| mesh.positions.get(corner as usize).copied());
    let sampled: Vec<[f32; 3]> = sampled.collect();
    let size = |bounds: Bounds| (0..3).map(|axis| bounds.max[axis] - bounds.min[axis]).fold(0.0, f32::max);
    let [Some(whole), Some(part)] = [mesh.bounds(), Bounds::of(&sampled)] else { return false };
    mesh.curves.is_empty() && size(whole) > FACTOR * size(part)
}

/// Moves a scene that needs double precision so that the center of its bounds is at the origin, where 32-bit floats
/// suffice.
fn centered<'a>(scene: Cow<'a, Scene>, run: &RunOptions) -> Result<Cow<'a, Scene>> {
    if !exact::is_exact(&scene)? {
        return Ok(scene);
    }
    let mut scene = match scene {
        Cow::Owned(scene) => scene,
        Cow::Borrowed(scene) => Scene { materials: scene.materials.clone(), ..copy::scene(scene)? },
    };
    if let Cow::Owned(objects) = scene.listed_objects()? {
        scene.objects = objects;
    }
    let axes = scene.axes;
    exact::place(&mut scene, axes, 1.0, true, run)?;
    let center = exact::scene_bounds(&scene)?.map_or([0.0; 3], |bounds| bounds.center());
    exact::shift(&mut scene, center, false, run)?;
    Ok(Cow::Owned(scene))
}

/// Draws a large mesh while it is read; declines if it must be read as a scene. Reads the mesh again if the first pass
/// guessed the bounds wrong.
fn draw_pieces(input: &Opened, read: &ReadOptions, options: &PreviewOptions) -> Result<Attempt<Loaded<Image>>> {
    let keeps_enough = matches!(options.style, Style::Shaded | Style::Normals | Style::Depth);
    let Some(file_bytes) = input.file_bytes().filter(|&bytes| bytes >= LARGE_BYTES && keeps_enough && !options.ground)
    else {
        return Ok(Attempt::Declined);
    };
    let mut total = Report::default();
    let mut bounds = None;
    // A drawing that starts with bounds never asks for another reading.
    for _ in 0..2 {
        let drawing = MeshDrawing::new(options, Axes::OBJ, file_bytes, bounds)?;
        let Attempt::Done(report) = load_pieces(input, read, &drawing)? else { return Ok(Attempt::Declined) };
        total.extend(report);
        let clock = Clock::start_in("draw", Phase::Transform);
        let drawn = drawing.finish()?;
        clock.stop(&mut total);
        match drawn {
            Streamed::Picture(picture) => {
                total.note_first_pixel();
                return Ok(Attempt::Done(Loaded::new(picture, total)));
            }
            Streamed::Again(exact) => bounds = Some(exact),
            Streamed::Declined => return Ok(Attempt::Declined),
        }
    }
    Err(Error::new(ErrorKind::Internal, "the bounds of a mesh changed when it was read again"))
}

/// Loads the textures of a scene, for styles that show them.
fn looks(
    scene: &Scene,
    near: &Near,
    read: &ReadOptions,
    options: &PreviewOptions,
    report: &mut Report,
) -> Result<Textures> {
    let has_maps = scene.materials.iter().any(|material| !material.maps.is_empty());
    if !has_maps || !near.has_files() && read.resolver.is_none() || options.style != Style::Shaded {
        return Ok(Textures::default());
    }
    let clock = Clock::start_in("textures", Phase::Decode);
    let textures = textures::textures(scene, near, read, PixelBudget::new(options.budget), report)?;
    clock.stop(report);
    Ok(textures)
}

/// Draws a scene with instances: first one sample per pixel, then the remaining samples.
fn draw_instanced(
    scene: Cow<'_, Scene>,
    near: &Near,
    read: &ReadOptions,
    options: &PreviewOptions,
    report: &mut Report,
) -> Result<Image> {
    let clock = Clock::start_in("flatten", Phase::Transform);
    let shown = flat::shown(scene.into_owned(), read, &mut report.warnings)?;
    let ShownScene { scene, definitions, instances, camera } = shown;
    clock.stop(report);
    let textures = looks(&scene, near, read, options, report)?;
    let instanced =
        Instanced { scene: &scene, definitions: &definitions, instances: &instances, textures: &textures, camera };
    let drawing = report.phase("trees", || InstancedDrawing::new(instanced, options))?;
    report.phase("draw", || drawing.first())?;
    report.note_first_pixel();
    let picture = report.phase("refine", || drawing.rest())?;
    note_if_coarse(picture.is_coarse, &mut report.warnings);
    Ok(picture.image)
}

/// Draws a scene. Also returns the number of polygons that were only partly triangulated.
fn draw(scene: Cow<'_, Scene>, textures: &Textures, options: &PreviewOptions) -> Result<(CountedPicture, u64)> {
    // Concave polygons cannot be drawn as fans.
    let has_polygons = |mesh: &Mesh| mesh.faces.offsets.windows(2).any(|pair| pair[1] - pair[0] > 3);
    let corners = scene.meshes.iter().map(|mesh| mesh.faces.corner_positions.len()).sum::<usize>();
    let has_time = options.budget == WorkBudget::Proportional || corners <= QUICK_CORNERS;
    // Wireframes show the edges of the mesh, not of its triangles.
    if options.style != Style::Wire && has_time && scene.meshes.iter().any(has_polygons) {
        let mut scene = match scene {
            Cow::Borrowed(scene) => Scene { materials: scene.materials.clone(), ..copy::scene(scene)? },
            Cow::Owned(scene) => scene,
        };
        let unfinished = triangulate_scene_bounded(&mut scene, &options.run)?;
        return Ok((polyhaul_preview::preview_textured(&scene, textures, options)?, unfinished));
    }
    Ok((polyhaul_preview::preview_textured(&scene, textures, options)?, 0))
}

/// Maximum number of corners for triangulating polygons with a fixed budget. In larger scenes, polygons are drawn as
/// fans.
const QUICK_CORNERS: usize = 1 << 20;

/// Returns the largest mip level that fits, as 8-bit sRGB without extra channels.
fn fit(image: Image, options: &PreviewOptions) -> Result<Image> {
    let [width, height] = options.size;
    let fits = |image: &Image| image.width <= width && image.height <= height;
    let plain = Image { extra: Vec::new(), stored: Vec::new(), attributes: Vec::new(), ..image };
    let level = if fits(&plain) {
        plain
    } else {
        let levels = plain.mipmaps_with(&MipmapOptions::default(), &options.run)?;
        let too_large = || Error::new(ErrorKind::Internal, "no mip level of an image is small enough");
        levels.into_iter().find(fits).ok_or_else(too_large)?
    };
    Ok(level.convert_samples_with(SampleType::U8, ColorSpace::Srgb, &options.run)?.image)
}
