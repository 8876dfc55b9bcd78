//! Converts images to GPU textures: reads them, builds mipmaps, compresses blocks, and writes DDS or KTX2.
//!
//! [`import_texture`] converts one file; [`import_textures`] converts many and skips unchanged files. `choose` picks
//! the settings for an image, `manifest` records previous imports, and `many` handles many files. [`crate::ops`] and
//! the formats do the actual work.

mod choose;
mod manifest;
mod many;

pub use crate::many::Source;
pub use many::{Imports, Outcome, find_images, import_textures};

use crate::format::Format;
use crate::images;
use crate::input::{Input, Output};
use crate::options::{KindSet, ReadOptions, Strict, Strictness, WriteOptions};
use crate::report::Report;
use polyhaul_image::blocks::{BlockQuality, compress};
use polyhaul_image::mipmaps::{MipmapContent, MipmapEdges, MipmapFilter, MipmapOptions, mipmaps};
use polyhaul_image::samples::{Cut, convert_samples};
use polyhaul_model::error::{Diagnostic, Result};
use polyhaul_model::limits::{Limits, OnError};
use polyhaul_model::options::ImageWriteOptions;
use polyhaul_model::pixels::is_opaque;
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{Channels, ColorSpace, Encoding, Image, Samples, Texel, Texture};
use polyhaul_pipeline::crew::within;
use polyhaul_pipeline::options::RunOptions;
use std::ops::RangeInclusive;

polyhaul_model::options! {
    /// Options for importing textures.
    #[derive(Clone, Debug)]
    pub struct TextureOptions in "texture" {
        /// Encoding of the pixels. By default BC5 for normal maps, BC4 for grayscale, BC6H for floats (uncompressed
        /// half floats if there is alpha), and BC7 for everything else.
        pub encoding: Option<Encoding> = None, with_encoding => [];
        /// Quality of block compression: how much time to spend on it.
        pub quality: BlockQuality = BlockQuality::default(), with_quality => [];
        /// Filter for mip levels, or `none` for no mip levels.
        pub mips: Option<MipmapFilter> = Some(MipmapFilter::Box), with_mips => [];
        /// How mip filtering treats pixels beyond the edges.
        pub edges: MipmapEdges = MipmapEdges::default(), with_edges => [];
        /// Keep the share of pixels with this alpha (0 to 1) or more in all mip levels: see
        /// [`MipmapOptions::alpha_cutoff`].
        // Not in the option table, whose numbers must be positive: 0 is valid here.
        pub alpha_cutoff: Option<f32> = None, with_alpha_cutoff;
        /// Whether the image is a normal map. By default, if its name ends in `_n`, `_nrm`, `_normal`, `_normals` or
        /// `_normalmap`.
        pub normal_map: Option<bool> = None, with_normal_map => [];
        /// Color space of the samples. By default that of the file. Normal maps, BC4 and BC5 contain data and are not
        /// converted.
        pub color_space: Option<ColorSpace> = None, with_color_space => [];
        /// DDS or KTX2; if absent, it is inferred from the output's name; [`import_textures`] then uses DDS.
        pub format: Option<Format> = None, with_format;
        /// Options for writing the file, such as the zstd compression of KTX2.
        pub image: ImageWriteOptions = ImageWriteOptions::default(), with_image;
        /// Whether to make the write durable; see [`WriteOptions::durable`].
        pub durable: bool = false, with_durable;
        /// Whether to hash the written file; see [`WriteOptions::hash`].
        pub hash: bool = false, with_hash;
        /// The format of the image; detected by name and content if `None`.
        pub from: Option<Format> = None, with_from;
        /// Limits on the images.
        pub limits: Limits = Limits::default(), with_limits;
        /// The handling of malformed data.
        pub on_error: OnError = OnError::default(), with_on_error;
        /// Treat warnings as errors.
        pub strict: Strict = Strict::Off, with_strict into;
        /// Kinds of warnings to accept despite `strict`.
        pub allow: KindSet = KindSet::default(), with_allow;
        /// Threads, memory, cancellation and progress; [`import_textures`] reports progress in files.
        pub run: RunOptions = RunOptions::default(), with_run;
    }
}

/// The result of importing a texture.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Width of the largest level, in pixels.
    pub width: usize,
    /// Height of the largest level, in pixels.
    pub height: usize,
    /// The encoding of the bytes.
    pub encoding: Encoding,
    /// The number of levels.
    pub level_count: usize,
    /// The report of reading and writing, including the warnings.
    pub report: Report,
}

/// Reads an image, makes its mip levels, compresses them, and writes a texture. The file itself is never compressed,
/// even if its name ends in `.gz`.
///
/// ```
/// use polyhaul::model::Encoding;
/// use polyhaul::textures::{TextureOptions, import_texture};
/// use polyhaul::{Format, Input, Output};
///
/// let file = [0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 8, 0, 10, 20];
/// let input = Input::Memory(file.to_vec(), "two.tga".into());
/// let output = Output::Writer(Box::new(Vec::new()), "two.dds".into());
/// let options = TextureOptions::default().with_encoding(Some(Encoding::default())).with_format(Some(Format::Dds));
/// let made = import_texture(input, output, &options)?;
/// assert_eq!((made.width, made.height, made.level_count), (2, 1, 2));
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// The same errors as [`crate::Reader::image`], [`mipmaps`] and [`compress`], and any error from writing.
pub fn import_texture(
    input: impl Into<Input>,
    output: impl Into<Output>,
    options: &TextureOptions,
) -> Result<Imported> {
    within(&options.run, || import(input.into(), output.into(), options))
}

fn import(input: Input, output: Output, options: &TextureOptions) -> Result<Imported> {
    let name = match &input {
        Input::Path(path) => path.to_string_lossy().into_owned(),
        Input::Memory(_, name) | Input::Shared(_, name) | Input::Reader(_, name) => name.clone(),
        Input::Host(_, name) | Input::Member(_, name) => name.clone(),
        Input::Stdin => String::new(),
    };
    let loaded = images::load(input, &options.reading())?;
    let mut report = loaded.report;
    let made = report.phase("compress", || make_noting(loaded.value, &name, options));
    let (texture, warnings) = made?;
    warnings.refuse_losses(options.strictness())?;
    report.warnings.extend(warnings);
    let TextureOptions { format, image, durable, hash, .. } = *options;
    let mut write = WriteOptions { format, image, durable, hash, ..WriteOptions::default() };
    write.run = options.run.clone().with_progress(None);
    // Never compress the file as a whole: KTX2 has its own compression.
    write.compression = crate::options::Compression::None;
    report.extend(images::save_texture(&texture, output, &write)?);
    Ok(Imported {
        width: texture.width,
        height: texture.height,
        encoding: texture.encoding,
        level_count: texture.levels.len(),
        report,
    })
}

/// Makes a texture from an image, with the settings that [`import_texture`] chooses for a file called `name`.
///
/// # Errors
/// The same errors as [`mipmaps`] and [`compress`].
pub fn make_texture(image: Image, name: &str, options: &TextureOptions) -> Result<Texture> {
    Ok(make_noting(image, name, options)?.0)
}

/// Makes a texture, with warnings about everything it cannot store.
fn make_noting(mut image: Image, name: &str, options: &TextureOptions) -> Result<(Texture, Warnings)> {
    let mut warnings = Warnings::for_target(options.format.map_or("", Format::name));
    images::note_unnamed(&image, "a texture", name, &mut warnings);
    let chosen = choose::choose(&image, name, options);
    note_alpha(&image, chosen.encoding, name, &mut warnings);
    image.color_space = chosen.color_space;
    let cut = match (&image.samples, chosen.samples) {
        (_, Some((kind, space))) => {
            let adjusted = convert_samples(&image, kind, space, &options.run)?;
            image = adjusted.image;
            let Cut { above, below, not_numbers, .. } = adjusted.cut;
            above + below + not_numbers
        }
        // Compression clamps these samples after the mip levels are made.
        (Samples::F32(samples), None) => storable(chosen.encoding)
            .map_or(0, |range| samples.iter().filter(|&sample| !range.contains(sample)).count() as u64),
        _ => 0,
    };
    let words = [
        "sample outside the range of the encoding was clamped",
        "samples outside the range of the encoding were clamped",
    ];
    let mut diagnostic = Diagnostic::new(counted(cut, words));
    diagnostic.place.file = name.into();
    warnings.push_many("cut-samples", cut, diagnostic);
    let levels = match options.mips {
        Some(filter) => {
            let content = if chosen.is_normal { MipmapContent::Normals } else { MipmapContent::Colors };
            let alpha_cutoff = options.alpha_cutoff.filter(|_| image.channels.has_alpha());
            let how = MipmapOptions::default()
                .with_filter(filter)
                .with_edges(options.edges)
                .with_content(content)
                .with_weigh_by_alpha(None)
                .with_alpha_cutoff(alpha_cutoff);
            mipmaps(&image, &how, &options.run)?
        }
        None => Vec::new(),
    };
    let mut images = Vec::new();
    images.try_reserve_exact(levels.len() + 1)?;
    images.push(&image);
    images.extend(&levels);
    Ok((compress(&images, chosen.encoding, options.quality, &options.run)?, warnings))
}

/// Warns if an encoding drops the alpha channel.
fn note_alpha(image: &Image, encoding: Encoding, name: &str, warnings: &mut Warnings) {
    let is_kept = match encoding {
        Encoding::Bc2 | Encoding::Bc3 | Encoding::Bc7 | Encoding::Plain { channels: 4, .. } => true,
        // Two channels are gray and alpha, or red and green.
        Encoding::Bc5 { .. } | Encoding::Plain { channels: 2, .. } => image.channels == Channels::GrayAlpha,
        _ => false,
    };
    if !is_kept && !is_opaque(image) {
        let mut diagnostic = Diagnostic::new("dropped the alpha channel, which the encoding does not store");
        diagnostic.place.file = name.into();
        warnings.push("left-out-alpha", diagnostic);
    }
}

/// Returns the samples that an encoding can store, or `None` if it can store all floats.
fn storable(encoding: Encoding) -> Option<RangeInclusive<f32>> {
    const MAX_HALF: f32 = 65504.0;
    match encoding {
        Encoding::Plain { texel: Texel::F32, .. } => None,
        Encoding::Plain { texel: Texel::F16, .. } => Some(-MAX_HALF..=MAX_HALF),
        Encoding::Bc6h { .. } => Some(0.0..=MAX_HALF),
        _ => Some(0.0..=1.0),
    }
}

impl TextureOptions {
    /// The warnings that count as errors.
    fn strictness(&self) -> Strictness {
        Strictness { level: self.strict, allow: self.allow }
    }

    fn reading(&self) -> ReadOptions {
        ReadOptions {
            format: self.from,
            run: self.run.clone().with_progress(None),
            on_error: self.on_error,
            strict: self.strict,
            allow: self.allow,
            limits: self.limits,
            ..ReadOptions::default()
        }
    }
}
