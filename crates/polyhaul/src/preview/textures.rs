//! Textures of a scene's materials, for a picture of the scene.
//!
//! Textures are read like any image, under the rules for referenced files. Unreadable textures cause warnings.

use crate::containers::Near;
use crate::images;
use crate::open::Opened;
use crate::ops::{ImageOps, MipmapOptions};
use crate::options::ReadOptions;
use crate::report::Report;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, try_push};
use polyhaul_model::limits::Limits;
use polyhaul_model::names;
use polyhaul_model::warnings::{Warnings, grouped};
use polyhaul_model::{Channels, ColorSpace, Image, MapKind, Material, SampleType, Samples, Scene, TextureMap};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_preview::{MapChannel, MapPurpose, MapUse, TextureImage, Textures, WorkBudget};
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Maximum width and height of textures, by the number of textures: pictures of the usual size do not show more detail,
/// and all textures together take at most half a gigabyte.
const MAX_SIDE: [(usize, usize); 4] = [(64, 1024), (256, 512), (1024, 256), (usize::MAX, 64)];

/// A texture that a material refers to.
#[derive(Clone, Copy)]
struct Named<'a> {
    material: &'a Material,
    file: &'a str,
}

/// Reads the textures of a scene.
pub(super) fn textures(
    scene: &Scene,
    near: &Near,
    read: &ReadOptions,
    budget: PixelBudget,
    report: &mut Report,
) -> Result<Textures> {
    let mut textures = Textures::default();
    let mut named = Vec::new();
    let mut numbers = HashMap::new();
    for (number, material) in scene.materials.iter().enumerate() {
        for (kind, purpose) in SHOWN {
            let Some((_, map)) = material.maps_of(kind).next() else { continue };
            let folder = material.folder.place().and_then(|place| place.library.as_deref());
            // The same file can be spelled in several ways.
            let plain: PathBuf =
                Path::new(&map.file).components().filter(|component| *component != Component::CurDir).collect();
            let image = *numbers.entry((folder, plain)).or_insert(named.len());
            if image == named.len() {
                try_push(&mut named, Named { material, file: &map.file }, "textures")?;
            }
            textures.add(number, MapUse { kind: purpose, image, ..map_use(material, map) })?;
        }
    }
    let max_count = usize::try_from(read.limits.files).unwrap_or(usize::MAX);
    if named.len() > max_count {
        let message = format!(
            "{} textures exceed the limit `files` ({max_count}): the rest are not drawn",
            grouped(named.len() as u64)
        );
        report.warnings.push("left-out-textures", Diagnostic::new(message));
        named.truncate(max_count);
    }
    for image in load_all(&named, near, read, budget, report)? {
        textures.push(image)?;
    }
    Ok(textures)
}

/// A loaded texture, with the pixels charged to the shared budget; or the error.
type LoadedTexture = Result<(TextureImage, u64)>;

/// Reads all images within the pixel budget. Images that exceed it are replaced by their average color.
fn load_all(
    named: &[Named<'_>],
    near: &Near,
    read: &ReadOptions,
    budget: PixelBudget,
    report: &mut Report,
) -> Result<Vec<Option<TextureImage>>> {
    let side = MAX_SIDE.into_iter().find(|&(count, _)| named.len() <= count).map_or(64, |(_, side)| side);
    let share = (budget.shared / named.len().max(1) as u64).min(MAX_SHARE);
    let shares = vec![PixelBudget { shared: share, ..budget }; named.len()];
    let mut loaded = load_each(named, &shares, side, near, read)?;
    // Small images leave part of their shares; large images get it, in order.
    let taken: u64 = loaded.iter().flatten().map(|(_, pixels)| pixels).sum();
    let mut left = budget.shared.saturating_sub(taken);
    let mut granted = vec![None; named.len()];
    for (granted, loaded) in granted.iter_mut().zip(&loaded) {
        let needed = loaded.as_ref().err().and_then(Error::needed).filter(|&needed| needed <= read.limits.pixels);
        *granted = needed.filter(|&needed| needed <= left);
        left -= granted.unwrap_or(0);
    }
    let again: Vec<usize> = (0..named.len()).filter(|&number| granted[number].is_some()).collect();
    let large: Vec<_> = again.iter().map(|&number| named[number]).collect();
    let grants = again.iter().filter_map(|&number| granted[number]);
    let shares: Vec<_> = grants.map(|shared| PixelBudget { shared, ..budget }).collect();
    for (number, image) in again.into_iter().zip(load_each(&large, &shares, side, near, read)?) {
        loaded[number] = image;
    }
    let mut images = Vec::new();
    for (named, loaded) in named.iter().zip(loaded) {
        try_push(&mut images, named.shown(loaded, near, read, report)?, "textures")?;
    }
    Ok(images)
}

/// Reads images, each with its own pixel budget.
fn load_each(
    named: &[Named<'_>],
    shares: &[PixelBudget],
    side: usize,
    near: &Near,
    read: &ReadOptions,
) -> Result<Vec<LoadedTexture>> {
    let mut loaded: Vec<LoadedTexture> = Vec::new();
    loaded.try_reserve_exact(named.len())?;
    loaded.resize_with(named.len(), || Err(Error::cancelled()));
    // Images are read in parallel and share the threads: a single image uses all of them.
    let threads = read.run.worker_threads();
    let options = read.clone().with_run(read.run.clone().with_threads(Some(threads.div_ceil(named.len().max(1)))));
    try_for_each_item(
        threads,
        &read.run.cancel,
        named.iter().zip(shares).zip(&mut loaded),
        || (),
        |(), ((named, &share), loaded)| {
            *loaded = named.load(near, &options, share, side);
            Ok(())
        },
    )?;
    Ok(loaded)
}

/// Maximum initial share of an image, in pixels.
const MAX_SHARE: u64 = 4 << 20;
/// Number of pixels that are averaged.
const AVERAGED_PIXELS: u64 = 1 << 18;

/// Pixel budget for images.
#[derive(Clone, Copy)]
pub(super) struct PixelBudget {
    /// For all images together.
    shared: u64,
    /// Additional pixels for each byte of a file.
    per_byte: u64,
}

impl PixelBudget {
    /// Pixels that may be read within a work budget. Typical files have fewer pixels per byte than the proportional
    /// budget allows.
    pub(super) fn new(budget: WorkBudget) -> PixelBudget {
        match budget {
            WorkBudget::Proportional => PixelBudget { shared: 8 * MAX_SHARE, per_byte: 32 },
            WorkBudget::Fixed => PixelBudget { shared: MAX_SHARE, per_byte: 0 },
        }
    }

    /// Limits for reading an image.
    pub(super) fn limits(self, read: &ReadOptions, input: &Opened) -> Limits {
        let granted = self.shared.saturating_add(self.paid(input));
        read.limits.with_pixels(read.limits.pixels.min(granted))
    }

    fn paid(self, input: &Opened) -> u64 {
        input.claimed_bytes().saturating_mul(self.per_byte)
    }
}

/// Average color of the first rows of an image.
pub(super) struct AverageColor {
    /// Red, green, blue (sRGB) and alpha.
    pub(super) color: [u8; 4],
    /// Width of the image.
    pub(super) width: usize,
}

/// Averages the first rows of an image that exceeds the pixel limit. Returns `None` if its format does not support
/// partial reads.
pub(super) fn average(input: &Opened, read: &ReadOptions) -> Result<Option<AverageColor>> {
    let options = read.clone().with_first_pixels(Some(AVERAGED_PIXELS));
    // A single row may exceed AVERAGED_PIXELS. Formats that must be read completely fail.
    let options = options.with_limits(read.limits.with_pixels(MAX_SHARE));
    let image = match images::load_opened(input, &options) {
        Ok(image) => image.value,
        Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
        Err(_) => return Ok(None),
    };
    let width = image.width;
    let smallest = levels(image, 1, &read.run)?.levels.pop();
    Ok(smallest.and_then(|(_, pixels)| pixels.first_chunk().copied()).map(|color| AverageColor { color, width }))
}

/// Warning about an image that exceeds the pixel limit.
pub(super) fn coarse_message(name: &str, pixels: u64, average: Option<&AverageColor>) -> Diagnostic {
    let color = if average.is_some() { "the average color of its first rows" } else { "one color" };
    let name = names::shown(name);
    let pixels = grouped(pixels);
    Diagnostic::new(format!("`{name}` has {pixels} pixels, too many for a preview: drawn in {color}"))
}

/// The kinds of maps that pictures show, and their purposes.
const SHOWN: [(MapKind, MapPurpose); 2] =
    [(MapKind::Diffuse, MapPurpose::Color), (MapKind::Opacity, MapPurpose::Opacity)];

/// Placement of a map's image, and the opacity below which it is cut out.
fn map_use(material: &Material, map: &TextureMap) -> MapUse {
    let two = |values: Option<[f32; 3]>, default: f32| values.map_or([default; 2], |[u, v, _]| [u, v]);
    let opacity = material.opacity.filter(|opacity| *opacity > 0.0).unwrap_or(1.0);
    MapUse {
        scale: two(map.scale, 1.0),
        offset: two(map.offset, 0.0),
        clamps: map.clamp == Some(true),
        channel: channel(material, map),
        cutoff: material.alpha_cutoff.map_or(0.5, |cutoff| cutoff / opacity),
        ..MapUse::default()
    }
}

/// The channel of an image that stores opacity; alpha if the image also stores color.
fn channel(material: &Material, map: &TextureMap) -> MapChannel {
    let colors = || material.maps.iter().filter(|map| map.kind == MapKind::Diffuse);
    match map.channel {
        // glTF's alpha mode OPAQUE.
        _ if material.alpha_blended == Some(false) => MapChannel::Nothing,
        _ if map.kind == MapKind::Diffuse => MapChannel::Alpha,
        Some('m') => MapChannel::Alpha,
        Some('r') => MapChannel::Color(0),
        Some('g') => MapChannel::Color(1),
        Some('b') => MapChannel::Color(2),
        Some('l') => MapChannel::Brightness,
        _ if colors().any(|color| color.file == map.file) => MapChannel::Alpha,
        _ => MapChannel::Auto,
    }
}

impl Named<'_> {
    /// Reads the image within its pixel budget.
    fn load(&self, near: &Near, read: &ReadOptions, share: PixelBudget, side: usize) -> LoadedTexture {
        let (input, _) = self.open(near, read)?;
        let options = read.clone().with_limits(share.limits(read, &input));
        let image = images::load_opened(&input, &options)?.value;
        let pixels = (image.width as u64 * image.height as u64).saturating_sub(share.paid(&input));
        Ok((levels(image, side, &read.run)?, pixels))
    }

    /// Opens the image from the folder of its material library, or else from the scene's folder.
    fn open(&self, near: &Near, read: &ReadOptions) -> Result<(Opened, Warnings)> {
        let place = self.material.folder.place();
        // Relative to the scene, so that the rules for files of the scene apply.
        let below = place.and_then(|place| place.library.as_deref()?.strip_prefix(&place.scene).ok());
        let beside = below.filter(|folder| *folder != Path::new("")).map(|folder| folder.join(self.file));
        let beside = beside.and_then(|name| images::open_near(near, name.to_str()?, read).ok());
        beside.map_or_else(|| images::open_near(near, self.file, read), Ok)
    }

    /// Returns the image to draw, if any; warns about a substituted or missing image.
    fn shown(
        &self,
        loaded: LoadedTexture,
        near: &Near,
        read: &ReadOptions,
        report: &mut Report,
    ) -> Result<Option<TextureImage>> {
        let error = match loaded {
            Ok((image, _)) => return Ok(Some(image)),
            Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
            Err(error) => error,
        };
        if let Some(pixels) = error.needed().filter(|&pixels| pixels <= read.limits.pixels)
            && let Ok((input, _)) = self.open(near, read)
        {
            let average = average(&input, read)?;
            report.warnings.push("coarse-texture", coarse_message(self.file, pixels, average.as_ref()));
            let image = |average: AverageColor| TextureImage { levels: vec![([1, 1], average.color.to_vec().into())] };
            return Ok(average.map(image));
        }
        report.warnings.push("missing-texture", Diagnostic::new(format!("texture not drawn: {error}")));
        Ok(None)
    }
}

/// Mip levels with at most `side` pixels in width and height, as 8-bit RGBA.
fn levels(image: Image, side: usize, run: &RunOptions) -> Result<TextureImage> {
    let plain = Image { extra: Vec::new(), stored: Vec::new(), attributes: Vec::new(), ..image };
    let image = plain.convert_channels_with(Channels::Rgba, run)?;
    let image = image.convert_samples_with(SampleType::U8, ColorSpace::Srgb, run)?.image;
    let halves = image.mipmaps_with(&MipmapOptions::default(), run)?;
    let mut levels = Vec::new();
    let is_seen = |image: &Image| image.width.max(image.height) <= side;
    for level in std::iter::once(image).chain(halves).skip_while(|image| !is_seen(image)) {
        let Samples::U8(bytes) = level.samples else {
            return Err(Error::new(ErrorKind::Internal, "a texture has no bytes"));
        };
        try_push(&mut levels, ([level.width, level.height], bytes), "a texture")?;
    }
    Ok(TextureImage { levels })
}
