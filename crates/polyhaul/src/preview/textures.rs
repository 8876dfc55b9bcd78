//! The images that a scene's materials name, for a picture of it.
//!
//! They are read as any image, under the rules for files that a scene refers to. One that cannot be read is a warning.

use crate::containers::Near;
use crate::images::load_near;
use crate::ops::{ImageOps, MipmapOptions};
use crate::options::ReadOptions;
use crate::report::Report;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, try_push};
use polyhaul_model::{Channels, ColorSpace, Image, MapKind, Material, SampleType, Samples, Scene, TextureMap};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_preview::{MapChannel, MapPurpose, MapUse, TextureImage, Textures};
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Pixels on a side that textures need at most, by how many there are: more are seen in no picture of usual size, and
/// all of them take half a gigabyte at most.
const MAX_SIDE: [(usize, usize); 4] = [(64, 1024), (256, 512), (1024, 256), (usize::MAX, 64)];

/// An image that materials name.
struct Named<'a> {
    material: &'a Material,
    file: &'a str,
}

/// Reads the textures of a scene.
pub(super) fn textures(scene: &Scene, near: &Near, read: &ReadOptions, report: &mut Report) -> Result<Textures> {
    let mut textures = Textures::default();
    let mut named = Vec::new();
    let mut numbers = HashMap::new();
    for (number, material) in scene.materials.iter().enumerate() {
        for map in &material.maps {
            let Some(kind) = kind_of(map) else { continue };
            let folder = material.folder.place().and_then(|place| place.library.as_deref());
            // A name may be written in many ways.
            let plain: PathBuf =
                Path::new(&map.file).components().filter(|component| *component != Component::CurDir).collect();
            let image = *numbers.entry((folder, plain)).or_insert(named.len());
            if image == named.len() {
                try_push(&mut named, Named { material, file: &map.file }, "textures")?;
            }
            textures.add(number, MapUse { kind, image, ..map_use(material, map) })?;
        }
    }
    let max_count = usize::try_from(read.limits.files).unwrap_or(usize::MAX);
    if named.len() > max_count {
        let message = format!(
            "{} textures are more than the limit of {max_count} (files): the others are not drawn",
            named.len()
        );
        report.warnings.push("left-out-textures", Diagnostic::new(message));
        named.truncate(max_count);
    }
    let side = MAX_SIDE.into_iter().find(|&(count, _)| named.len() <= count).map_or(64, |(_, side)| side);
    let mut loaded: Vec<Option<Result<TextureImage>>> = Vec::new();
    loaded.try_reserve_exact(named.len())?;
    loaded.resize_with(named.len(), || None);
    // Many images side by side, each on one thread; a single one on all.
    let threads = read.run.worker_threads();
    let image_options =
        read.clone().with_run(read.run.clone().with_threads(Some(threads.div_ceil(named.len().max(1)))));
    try_for_each_item(
        threads,
        &read.run.cancel,
        named.iter().zip(&mut loaded),
        || (),
        |(), (named, loaded)| {
            *loaded = Some(named.load(near, &image_options, side));
            Ok(())
        },
    )?;
    for loaded in loaded {
        let image = match loaded {
            Some(Ok(image)) => Some(image),
            Some(Err(error)) if error.kind() == ErrorKind::Cancelled => return Err(error),
            Some(Err(error)) => {
                let message = format!("texture not drawn: {error}");
                report.warnings.push("missing-texture", Diagnostic::new(message));
                None
            }
            None => None,
        };
        textures.push(image)?;
    }
    Ok(textures)
}

/// What a map is for, if a picture shows it.
fn kind_of(map: &TextureMap) -> Option<MapPurpose> {
    match map.kind {
        MapKind::Diffuse => Some(MapPurpose::Color),
        MapKind::Opacity => Some(MapPurpose::Opacity),
        _ => None,
    }
}

/// How a map places its image, and which part of it makes holes.
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

/// The channel of an image that defines opacity. A color image has it in alpha.
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
    /// Reads the image, from the folder of its material library or else from that of the scene.
    fn load(&self, near: &Near, read: &ReadOptions, side: usize) -> Result<TextureImage> {
        let place = self.material.folder.place();
        let below = place.and_then(|place| place.library.as_deref()?.strip_prefix(&place.scene).ok());
        let beside = below.filter(|folder| *folder != Path::new("")).map(|folder| folder.join(self.file));
        let beside = beside.and_then(|name| load_near(near, name.to_str()?, read).ok());
        let image = match beside {
            Some(image) => image.value,
            None => load_near(near, self.file, read)?.value,
        };
        levels(image, side, &read.run)
    }
}

/// The mip levels of an image with at most so many pixels on a side, in bytes.
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
