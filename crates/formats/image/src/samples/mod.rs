//! Converts the samples of images to other types, color spaces and channels.
//!
//! All conversions go through floats, a batch of pixels at a time: `load` reads samples unchanged or as linear light,
//! and `SampleStore` converts them back. Mipmaps and blocks use both. `srgb` contains the transfer functions.

pub(crate) mod half;
mod srgb;

use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Array, Channels, ColorProfile, ColorSpace, Image, ImageChannel, SampleType, Samples};
use polyhaul_pipeline::arrays::{Zero, zeroed};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
pub(super) use srgb::{BYTES, SrgbBytes};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::PoisonError;

/// Pixels per batch: small enough to stay in cache.
const PIECE_PIXELS: usize = 4096;

/// A converted image, and the losses of the conversion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Adjusted {
    /// The image.
    pub image: Image,
    /// Numbers of clamped and rounded samples.
    pub cut: Cut,
}

/// Numbers of samples that integers cannot represent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Above 1, clamped to 1.
    pub above: u64,
    /// Below 0, clamped to 0.
    pub below: u64,
    /// NaN, replaced with 0.
    pub not_numbers: u64,
    /// Other samples that were rounded, except by floating-point noise.
    pub rounded: u64,
}

impl Cut {
    /// Counts the samples below 0, above 1 and NaN; `rounded` stays 0.
    pub fn from_samples(samples: &[f32]) -> Cut {
        let count = |is_out: fn(&f32) -> bool| samples.iter().filter(|sample| is_out(sample)).count() as u64;
        Cut {
            above: count(|sample| *sample > 1.0),
            below: count(|sample| *sample < 0.0),
            not_numbers: count(|sample| sample.is_nan()),
            rounded: 0,
        }
    }

    /// Adds the losses of other samples.
    pub(crate) fn add(&mut self, other: Cut) {
        self.above += other.above;
        self.below += other.below;
        self.not_numbers += other.not_numbers;
        self.rounded += other.rounded;
    }
}

/// Converts an image to another sample type and color space.
///
/// sRGB follows IEC 61966-2-1, and samples are rounded to nearest. Alpha is always linear. Premultiplied colors are
/// unpremultiplied for the conversion and premultiplied again; if alpha is 0, they are converted as stored. Integers
/// cannot represent NaN, or values below 0, above 1 or between two steps; [`Cut`] counts these. Negative floats are
/// converted symmetrically to positive floats.
///
/// ```
/// use polyhaul_image::samples::convert_samples;
/// use polyhaul_model::{Channels, ColorSpace, Image, SampleType, Samples};
///
/// let light = Image {
///     width: 3,
///     height: 1,
///     channels: Channels::Gray,
///     samples: Samples::F32([0.0, 0.5, 7.0].into()),
///     color_space: ColorSpace::Linear,
///     ..Image::default()
/// };
/// let shown = convert_samples(&light, SampleType::U8, ColorSpace::Srgb, &Default::default())?;
/// assert_eq!(shown.image.samples, Samples::U8([0, 188, 255].into()));
/// assert_eq!(shown.cut.above, 1);
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Usage`] if the image is inconsistent (see [`check_image`]), [`ErrorKind::Cancelled`] if the job was
/// cancelled, and [`ErrorKind::Memory`] if there is not enough memory.
pub fn convert_samples(image: &Image, to: SampleType, space: ColorSpace, run: &RunOptions) -> Result<Adjusted> {
    rebuilt(image, SampleShape { kind: to, space, channels: image.channels }, run)
}

/// Converts an image to other channels, with the same sample type.
///
/// Gray is copied to red, green and blue; colors become their luminance (0.2126 of red, 0.7152 of green, 0.0722 of
/// blue, as in ITU-R BT.709). New alpha is opaque. Dropping alpha leaves colors unchanged.
///
/// # Errors
/// See [`convert_samples`].
pub fn with_channels(image: &Image, channels: Channels, run: &RunOptions) -> Result<Image> {
    let kind = SampleType::from_samples(&image.samples);
    Ok(rebuilt(image, SampleShape { kind, space: image.color_space, channels }, run)?.image)
}

/// Fails unless colors and extra channels have as many samples as the size requires, and the stored names of color
/// channels, if any, match their number.
pub fn check_image(image: &Image) -> Result<()> {
    let Image { width, height, channels, samples, .. } = image;
    let fault = |message: String| Err(Error::new(ErrorKind::Usage, message));
    if image.sample_count() != Some(samples.len()) {
        let size = format!("{width} x {height} x {}", channels.count());
        return fault(format!("the image has {} samples; expected {size}", samples.len()));
    }
    // Cannot overflow: the colors have at least as many samples.
    let pixels = width * height;
    if let Some(channel) = image.extra.iter().find(|channel| channel.samples.len() != pixels) {
        let name = channel.name.escape_debug();
        let count = channel.samples.len();
        return fault(format!("the channel `{name}` has {count} samples; expected {width} x {height}"));
    }
    if !image.stored.is_empty() && image.stored.len() != channels.count() {
        return fault(format!(
            "the image names {} color channels, but its pixels have {}",
            image.stored.len(),
            channels.count()
        ));
    }
    Ok(())
}

/// The target sample type, color space and channels.
#[derive(Clone, Copy)]
struct SampleShape {
    kind: SampleType,
    space: ColorSpace,
    channels: Channels,
}

fn rebuilt(image: &Image, to: SampleShape, run: &RunOptions) -> Result<Adjusted> {
    check_image(image)?;
    let (samples, cut) = match to.kind {
        SampleType::U8 => converted(image, to, run, Samples::U8)?,
        SampleType::U16 => converted(image, to, run, Samples::U16)?,
        SampleType::F32 => converted(image, to, run, Samples::F32)?,
    };
    let premultiplied = image.premultiplied && to.channels.has_alpha();
    let Image { width, height, .. } = *image;
    let is_kept =
        to.channels == image.channels && matches!((to.kind, &image.samples), (SampleType::F32, Samples::F32(_)));
    let image = Image {
        width,
        height,
        channels: to.channels,
        samples,
        color_space: to.space,
        premultiplied,
        extra: copied(&image.extra)?,
        // Valid only while the samples that they describe are unchanged.
        stored: if is_kept { image.stored.clone() } else { Vec::new() },
        attributes: image.attributes.clone(),
        // Valid only for the original color space and number of colors.
        profile: if to.space == image.color_space && to.channels.colors() == image.channels.colors() {
            image.profile.clone()
        } else {
            ColorProfile::default()
        },
    };
    Ok(Adjusted { image, cut })
}

/// Copies extra channels.
fn copied(channels: &[ImageChannel]) -> Result<Vec<ImageChannel>> {
    let copy = |channel: &ImageChannel| {
        let samples = channel.samples.try_clone().map_err(|_| Error::memory("a channel"))?;
        Ok(ImageChannel { name: channel.name.clone(), samples })
    };
    channels.iter().map(copy).collect()
}

/// Converts all samples in parallel.
fn converted<T: SampleStore + Zero + Send>(
    image: &Image,
    to: SampleShape,
    run: &RunOptions,
    wrap: fn(Array<T>) -> Samples,
) -> Result<(Samples, Cut)> {
    let pixels = image.width.saturating_mul(image.height);
    let count = pixels.checked_mul(to.channels.count()).ok_or_else(|| Error::memory("an image"))?;
    let mut samples = zeroed::<T>(count, "an image")?;
    let cut = Mutex::new(Cut::default());
    let pieces = samples.chunks_mut(PIECE_PIXELS * to.channels.count()).enumerate();
    let threads = run.worker_threads().min(pixels.div_ceil(PIECE_PIXELS));
    try_for_each_item(threads, &run.cancel, pieces, SampleScratch::default, |scratch, (number, piece)| {
        let first = number * PIECE_PIXELS;
        let piece_cut = scratch.piece(image, to, first..first + piece.len() / to.channels.count(), piece)?;
        // Most batches lose nothing and skip the lock.
        if piece_cut != Cut::default() {
            cut.lock().unwrap_or_else(PoisonError::into_inner).add(piece_cut);
        }
        Ok(())
    })?;
    Ok((wrap(samples.into()), cut.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

/// Floats of a batch, before and after changing channels.
#[derive(Default)]
struct SampleScratch {
    loaded: Vec<f32>,
    changed: Vec<f32>,
}

impl SampleScratch {
    /// Converts a range of pixels.
    fn piece<T: SampleStore>(
        &mut self,
        image: &Image,
        to: SampleShape,
        pixels: Range<usize>,
        out: &mut [T],
    ) -> Result<Cut> {
        let from = image.channels;
        let size = from.count();
        // Luminance is computed from linear light.
        let mixes = from.colors() > to.channels.colors();
        let bends = image.color_space != to.space || mixes;
        let decodes = bends && image.color_space == ColorSpace::Srgb;
        let encodes = bends && to.space == ColorSpace::Srgb;
        let loaded = sized(&mut self.loaded, pixels.len() * size)?;
        load(image, pixels.start * size, decodes, loaded)?;
        let mut values = &mut *loaded;
        if from != to.channels {
            let changed = sized(&mut self.changed, out.len())?;
            remap(from, values, to.channels, changed);
            values = changed;
        }
        let premultiplied = image.premultiplied && to.channels.has_alpha();
        if premultiplied && encodes {
            encode_premultiplied(values, to.channels.count());
        }
        let mut cut = if SampleType::from_samples(&image.samples) == SampleType::F32 && to.kind != SampleType::F32 {
            Cut::from_samples(values)
        } else {
            Cut::default()
        };
        let encodes = encodes && !premultiplied;
        T::store(values, to.channels, encodes, out)?;
        if bends || !fits(&image.samples, to.kind) {
            cut.rounded = T::count_rounded(values, to.channels, encodes, out)?;
        }
        Ok(cut)
    }
}

/// Returns whether samples of type `to` represent all of these samples exactly.
fn fits(samples: &Samples, to: SampleType) -> bool {
    match (samples, to) {
        (Samples::U8(_), _) | (_, SampleType::F32) => true,
        (Samples::U16(_), to) => to == SampleType::U16,
        (Samples::F32(_), _) => false,
    }
}

/// Returns the first `count` floats of scratch memory.
pub(super) fn sized(scratch: &mut Vec<f32>, count: usize) -> Result<&mut [f32]> {
    if scratch.len() < count {
        scratch.try_reserve_exact(count - scratch.len()).map_err(|_| Error::memory("a piece of an image"))?;
        scratch.resize(count, 0.0);
    }
    Ok(&mut scratch[..count])
}

/// Loads whole pixels as floats, starting at sample `start`. Integers are scaled to the range 0 to 1 and, with
/// `decodes`, colors are converted to linear light.
pub(super) fn load(image: &Image, start: usize, decodes: bool, out: &mut [f32]) -> Result<()> {
    let straight = decodes && !image.premultiplied;
    let end = start + out.len();
    match &image.samples {
        Samples::U8(samples) if straight => {
            let SrgbBytes { light, plain, .. } = &*BYTES;
            each(&samples[start..end], image.channels, out, |v| light[usize::from(v)], |v| plain[usize::from(v)]);
        }
        Samples::U8(samples) => {
            samples[start..end].iter().zip(&mut *out).for_each(|(&v, out)| *out = f32::from(v) / 255.0);
        }
        Samples::U16(samples) if straight => {
            let light = &srgb::words()?.light;
            each(&samples[start..end], image.channels, out, |v| light[usize::from(v)], |v| f32::from(v) / 65535.0);
        }
        Samples::U16(samples) => {
            samples[start..end].iter().zip(&mut *out).for_each(|(&v, out)| *out = f32::from(v) / 65535.0);
        }
        Samples::F32(samples) if straight => {
            each(&samples[start..end], image.channels, out, |v| srgb::light(f64::from(v)) as f32, |v| v);
        }
        Samples::F32(samples) => out.copy_from_slice(&samples[start..end]),
    }
    if decodes && image.premultiplied {
        bend_premultiplied(out, image.channels.count(), srgb::light);
    }
    Ok(())
}

/// Maps colors and alpha with different functions.
#[inline(always)]
fn each<T: Copy, U>(
    from: &[T],
    channels: Channels,
    to: &mut [U],
    color: impl Fn(T) -> U + Copy,
    alpha: impl Fn(T) -> U + Copy,
) {
    match channels {
        Channels::Gray | Channels::Rgb => from.iter().zip(to).for_each(|(&from, to)| *to = color(from)),
        Channels::GrayAlpha => {
            for (&[v, a], to) in from.as_chunks().0.iter().zip(to.as_chunks_mut().0) {
                *to = [color(v), alpha(a)];
            }
        }
        Channels::Rgba => {
            for (&[r, g, b, a], to) in from.as_chunks().0.iter().zip(to.as_chunks_mut().0) {
                *to = [color(r), color(g), color(b), alpha(a)];
            }
        }
    }
}

/// Applies a transfer function to premultiplied colors; alpha is the last of `size` samples.
fn bend_premultiplied(values: &mut [f32], size: usize, bend: fn(f64) -> f64) {
    for pixel in values.chunks_exact_mut(size) {
        let Some((alpha, colors)) = pixel.split_last_mut() else { continue };
        // Colors with an alpha of 0 are converted as stored.
        let by = if *alpha > 0.0 { f64::from(*alpha) } else { 1.0 };
        colors.iter_mut().for_each(|color| *color = (bend(f64::from(*color) / by) * by) as f32);
    }
}

/// Converts premultiplied linear colors to premultiplied sRGB.
pub(super) fn encode_premultiplied(values: &mut [f32], size: usize) {
    bend_premultiplied(values, size, srgb::code);
}

/// Converts pixels to other channels: colors become luminance, gray is copied to all colors, and new alpha is 1.
pub(super) fn remap(from: Channels, pixels: &[f32], to: Channels, out: &mut [f32]) {
    let gray = |[r, g, b]: [f32; 3]| {
        // Keeps equal colors exact.
        if r == g && g == b { r } else { 0.2126 * r + 0.7152 * g + 0.0722 * b }
    };
    for (pixel, out) in pixels.chunks_exact(from.count()).zip(out.chunks_exact_mut(to.count())) {
        let (color, alpha) = match *pixel {
            [v] => ([v; 3], 1.0),
            [v, a] => ([v; 3], a),
            [r, g, b] => ([r, g, b], 1.0),
            [r, g, b, a] => ([r, g, b], a),
            _ => continue,
        };
        match out {
            [v] => *v = gray(color),
            [v, a] => {
                *v = gray(color);
                *a = alpha;
            }
            [r, g, b] => [*r, *g, *b] = color,
            [r, g, b, a] => {
                [*r, *g, *b] = color;
                *a = alpha;
            }
            _ => {}
        }
    }
}

/// A sample type that floats are converted to.
pub(super) trait SampleStore: Copy {
    /// Converts whole pixels from floats; with `encodes`, colors from linear light to sRGB.
    fn store(values: &[f32], channels: Channels, encodes: bool, out: &mut [Self]) -> Result<()>;

    /// Counts the floats from 0 to 1 that [`SampleStore::store`] did not store exactly.
    fn count_rounded(values: &[f32], channels: Channels, encodes: bool, stored: &[Self]) -> Result<u64>;
}

/// Scales a float from 0 to 1 by `highest`, 255 or 65,535, and rounds to the nearest integer. Values out of range are
/// clamped; NaN becomes 0.
///
/// Products are exact in f64, and adding 2^52 leaves no fraction bits, so the sum is rounded, with ties to even. The
/// only tie is 0.5 times `highest`, where the even integer is the larger one.
#[inline(always)]
fn nearest(value: f32, highest: f64) -> u64 {
    const NO_FRACTIONS: f64 = (1_u64 << 52) as f64;
    // Compiles to the maximum and minimum instructions, which return the second operand for NaN.
    let value = if value > 0.0 { value } else { 0.0 };
    let value = if value < 1.0 { value } else { 1.0 };
    (f64::from(value) * highest + NO_FRACTIONS).to_bits()
}

/// Relative tolerance for floats of the same sample: conversion to linear light and division by alpha change a few of
/// their last bits. Adjacent 16-bit samples are 16 times as far apart.
const NOISE: f32 = 1.0 / (1 << 20) as f32;

/// Counts the floats from 0 to 1 that differ from the stored samples, which `color` and `alpha` convert back.
#[inline(always)]
fn count_rounded<T: Copy>(
    values: &[f32],
    stored: &[T],
    channels: Channels,
    color: impl Fn(T) -> f32,
    alpha: impl Fn(T) -> f32,
) -> u64 {
    let is_rounded = |value: f32, back: f32| (0.0..=1.0).contains(&value) && (value - back).abs() > back * NOISE;
    let size = channels.count();
    let colors = channels.colors();
    let pixels = values.chunks_exact(size).zip(stored.chunks_exact(size));
    let count = |(values, stored): (&[f32], &[T])| {
        let samples = values.iter().zip(stored).enumerate();
        let is_rounded = |(place, (value, stored)): &(usize, (&f32, &T))| {
            is_rounded(**value, if *place < colors { color(**stored) } else { alpha(**stored) })
        };
        samples.filter(is_rounded).count() as u64
    };
    pixels.map(count).sum()
}

impl SampleStore for u8 {
    fn store(values: &[f32], channels: Channels, encodes: bool, out: &mut [u8]) -> Result<()> {
        match channels {
            _ if !encodes => values.iter().zip(out).for_each(|(&v, out)| *out = nearest(v, 255.0) as u8),
            Channels::Gray => store_codes::<1, 1>(values, out),
            Channels::GrayAlpha => store_codes::<2, 1>(values, out),
            Channels::Rgb => store_codes::<3, 3>(values, out),
            Channels::Rgba => store_codes::<4, 3>(values, out),
        }
        Ok(())
    }

    fn count_rounded(values: &[f32], channels: Channels, encodes: bool, stored: &[u8]) -> Result<u64> {
        let light = &BYTES.light;
        let plain = |code: u8| f32::from(code) / 255.0;
        Ok(if encodes {
            count_rounded(values, stored, channels, |code| light[usize::from(code)], plain)
        } else {
            count_rounded(values, stored, channels, plain, plain)
        })
    }
}

/// Stores linear light as sRGB, and alpha unchanged.
fn store_codes<const SIZE: usize, const COLORS: usize>(values: &[f32], out: &mut [u8]) {
    // Batched, so that the table positions are computed with vector instructions: see `SrgbBytes::place`.
    const TOGETHER: usize = 32;
    let tables = &*BYTES;
    let values = values.as_chunks::<SIZE>().0;
    let out = out.as_chunks_mut::<SIZE>().0;
    for (values, out) in values.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER)) {
        let mut places = [[0; SIZE]; TOGETHER];
        places.iter_mut().zip(values).for_each(|(places, pixel)| *places = pixel.map(SrgbBytes::place));
        for ((places, pixel), out) in places.iter().zip(values).zip(out) {
            let sample = |at| if at < COLORS { tables.code_at(places[at]) } else { nearest(pixel[at], 255.0) as u8 };
            *out = std::array::from_fn(sample);
        }
    }
}

impl SampleStore for u16 {
    fn store(values: &[f32], channels: Channels, encodes: bool, out: &mut [u16]) -> Result<()> {
        let plain = |v: f32| nearest(v, 65535.0) as u16;
        if encodes {
            let tables = srgb::words()?;
            each(values, channels, out, |v| tables.code(v), plain);
        } else {
            values.iter().zip(out).for_each(|(&v, out)| *out = plain(v))
        }
        Ok(())
    }

    fn count_rounded(values: &[f32], channels: Channels, encodes: bool, stored: &[u16]) -> Result<u64> {
        let plain = |code: u16| f32::from(code) / 65535.0;
        Ok(if encodes {
            let light = &srgb::words()?.light;
            count_rounded(values, stored, channels, |code| light[usize::from(code)], plain)
        } else {
            count_rounded(values, stored, channels, plain, plain)
        })
    }
}

impl SampleStore for f32 {
    fn store(values: &[f32], channels: Channels, encodes: bool, out: &mut [f32]) -> Result<()> {
        if encodes {
            each(values, channels, out, |v| srgb::code(f64::from(v)) as f32, |v| v)
        } else {
            out.copy_from_slice(values)
        }
        Ok(())
    }

    fn count_rounded(_: &[f32], _: Channels, _: bool, _: &[f32]) -> Result<u64> {
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(channels: Channels, samples: Samples, color_space: ColorSpace) -> Image {
        let width = samples.len() / channels.count();
        Image { width, height: 1, channels, samples, color_space, ..Image::default() }
    }

    fn converted(image: &Image, kind: SampleType, space: ColorSpace) -> Samples {
        convert_samples(image, kind, space, &RunOptions::default()).unwrap().image.samples
    }

    #[test]
    fn every_code_survives_conversion_to_light() {
        use ColorSpace::{Linear, Srgb};
        let bytes = image(Channels::Gray, Samples::U8((0..=255).collect()), Srgb);
        let words = image(Channels::Gray, Samples::U16((0..=65535).collect()), Srgb);
        for codes in [bytes, words] {
            let kind = SampleType::from_samples(&codes.samples);
            let light = image(Channels::Gray, converted(&codes, SampleType::F32, Linear), Linear);
            assert_eq!(converted(&light, kind, Srgb), codes.samples);
            let floats = image(Channels::Gray, converted(&codes, SampleType::F32, Srgb), Srgb);
            assert_eq!(converted(&floats, kind, Srgb), codes.samples);
            let wide = image(Channels::Gray, converted(&codes, SampleType::U16, Srgb), Srgb);
            assert_eq!(converted(&wide, kind, Srgb), codes.samples);
        }
    }

    #[test]
    fn integers_are_the_nearest() {
        for highest in [255, 65535_u32] {
            let expected = |value: f32| ((f64::from(value) * f64::from(highest) + 0.5) as u64).min(highest.into());
            for at in 0..=highest {
                let border = ((f64::from(at) + 0.5) / f64::from(highest)) as f32;
                for value in [border.next_down(), border, border.next_up(), at as f32 / highest as f32] {
                    assert_eq!(nearest(value, highest.into()) & 0xFFFF, expected(value), "{value}");
                }
            }
        }
        let wild = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1e-30, -0.0, 1.000_000_1, 1e-30];
        assert_eq!(wild.map(|value| nearest(value, 255.0) as u8), [0, 255, 0, 0, 0, 255, 0]);
    }

    #[test]
    fn bytes_become_words_and_words_the_nearest_bytes() {
        let bytes = image(Channels::Gray, Samples::U8((0..=255).collect()), ColorSpace::Linear);
        let words: Vec<u16> = (0..=255_u16).map(|byte| byte * 257).collect();
        assert_eq!(converted(&bytes, SampleType::U16, ColorSpace::Linear), Samples::U16(words.into()));
        let words = image(Channels::Gray, Samples::U16((0..=65535).collect()), ColorSpace::Linear);
        let bytes: Vec<u8> = (0..=65535_u32).map(|word| ((word * 255 + 32767) / 65535) as u8).collect();
        assert_eq!(converted(&words, SampleType::U8, ColorSpace::Linear), Samples::U8(bytes.into()));
    }

    #[test]
    fn alpha_is_never_bent() {
        let pixels = image(Channels::Rgba, Samples::U8([128, 0, 255, 128].into()), ColorSpace::Srgb);
        let Samples::F32(light) = converted(&pixels, SampleType::F32, ColorSpace::Linear) else { unreachable!() };
        assert_eq!(*light, [0.215_860_5, 0.0, 1.0, 128.0 / 255.0]);
        let pixels = image(Channels::GrayAlpha, Samples::F32([0.5, 0.5].into()), ColorSpace::Linear);
        assert_eq!(converted(&pixels, SampleType::U8, ColorSpace::Srgb), Samples::U8([188, 128].into()));
    }

    #[test]
    fn premultiplied_colors_stay_premultiplied() {
        let mut pixels =
            image(Channels::Rgba, Samples::F32([0.25, 0.5, 0.1, 0.5, 0.3, 0.3, 0.3, 0.0].into()), ColorSpace::Linear);
        pixels.premultiplied = true;
        let shown = convert_samples(&pixels, SampleType::F32, ColorSpace::Srgb, &RunOptions::default()).unwrap().image;
        let Samples::F32(codes) = &shown.samples else { unreachable!() };
        let code = |light: f64| srgb::code(light) as f32;
        assert!(shown.premultiplied);
        assert!((codes[0] - 0.5 * code(0.5)).abs() < 1e-6 && (codes[1] - 0.5).abs() < 1e-6);
        assert_eq!((codes[3], codes[4], codes[7]), (0.5, code(f64::from(0.3_f32)), 0.0));
        let back = convert_samples(&shown, SampleType::F32, ColorSpace::Linear, &RunOptions::default()).unwrap().image;
        let Samples::F32(back) = &back.samples else { unreachable!() };
        let Samples::F32(pixels) = &pixels.samples else { unreachable!() };
        assert!(back.iter().zip(pixels.iter()).all(|(a, b)| (a - b).abs() < 1e-6));
    }

    #[test]
    fn losses_of_integers_are_counted() {
        let wild = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, 1.5, 1.0, 0.0];
        let pixels = image(Channels::Gray, Samples::F32(wild.into()), ColorSpace::Linear);
        for (kind, space) in [(SampleType::U8, ColorSpace::Linear), (SampleType::U16, ColorSpace::Srgb)] {
            let adjusted = convert_samples(&pixels, kind, space, &RunOptions::default()).unwrap();
            assert_eq!(adjusted.cut, Cut { above: 2, below: 2, not_numbers: 1, rounded: 0 });
            let high = if kind == SampleType::U8 {
                Samples::U8([0, 255, 0, 0, 255, 255, 0].into())
            } else {
                Samples::U16([0, 65535, 0, 0, 65535, 65535, 0].into())
            };
            assert_eq!(adjusted.image.samples, high);
        }
        let adjusted = convert_samples(&pixels, SampleType::F32, ColorSpace::Srgb, &RunOptions::default()).unwrap();
        assert_eq!(adjusted.cut, Cut::default());
    }

    #[test]
    fn channels_are_added_and_dropped() {
        let run = RunOptions::default();
        let gray = image(Channels::Gray, Samples::U8([7, 200].into()), ColorSpace::Srgb);
        let colors = with_channels(&gray, Channels::Rgba, &run).unwrap();
        assert_eq!(colors.samples, Samples::U8([7, 7, 7, 255, 200, 200, 200, 255].into()));
        for channels in [Channels::Gray, Channels::GrayAlpha, Channels::Rgb] {
            let less = with_channels(&colors, channels, &run).unwrap();
            assert_eq!(with_channels(&less, Channels::Rgba, &run).unwrap(), colors);
        }
        let green = image(Channels::Rgb, Samples::U8([0, 255, 0].into()), ColorSpace::Srgb);
        // Green has 0.7152 of the light.
        assert_eq!(with_channels(&green, Channels::Gray, &run).unwrap().samples, Samples::U8([220].into()));
        let green = Image { color_space: ColorSpace::Linear, ..green };
        assert_eq!(with_channels(&green, Channels::Gray, &run).unwrap().samples, Samples::U8([182].into()));
    }

    #[test]
    fn the_same_for_any_number_of_threads() {
        let samples: Vec<f32> = (0..3 * 10_007).map(|i| (i * 7919 % 10_007) as f32 / 9000.0 - 0.05).collect();
        let pixels = image(Channels::Rgb, Samples::F32(samples.into()), ColorSpace::Linear);
        let made = |threads| {
            let run = RunOptions::default().with_threads(Some(threads));
            convert_samples(&pixels, SampleType::U8, ColorSpace::Srgb, &run).unwrap()
        };
        assert_eq!(made(1), made(2));
        assert_eq!(made(1), made(7));
    }

    #[test]
    fn an_image_with_missing_samples_is_refused() {
        let broken = Image { width: 2, height: 2, samples: Samples::U8([1, 2].into()), ..Image::default() };
        let error = convert_samples(&broken, SampleType::U8, ColorSpace::Srgb, &RunOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}
