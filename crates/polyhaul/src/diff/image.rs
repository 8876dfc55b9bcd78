//! Images sample by sample, and textures byte by byte.

use super::{Differences, Gap};
use crate::error::Result;
use crate::model::{ChannelSamples, Channels, ColorSpace, Image, ImageChannel, Samples, Texture};
use crate::ops::{SampleType, convert_samples, with_channels};
use crate::options::RunOptions;
use std::borrow::Cow;

/// Compares two images: colours, alpha, and each extra channel.
pub(super) fn compare([a, b]: [&Image; 2], found: &mut Differences, run: &RunOptions) -> Result<()> {
    if (a.width, a.height) != (b.width, b.height) {
        let message = format!("size differs: {}x{} and {}x{}", a.width, a.height, b.width, b.height);
        found.only("size", 1, &message);
        return Ok(());
    }
    if a.channels.has_alpha() != b.channels.has_alpha() {
        let clear =
            [a, b].into_iter().find(|image| image.channels.has_alpha()).map_or(Ok(false), |it| is_clear(it, run))?;
        if clear {
            found.only("alpha", 1, "of the files has alpha");
        }
    } else if a.channels.has_alpha() && a.premultiplied != b.premultiplied {
        found.only("alpha", 1, "of the files has premultiplied colors");
    }
    let is_alike = (SampleType::of(&a.samples), a.color_space) == (SampleType::of(&b.samples), b.color_space);
    let channels = if a.channels == b.channels { a.channels } else { Channels::Rgb };
    let [a_samples, b_samples] = [fitted(a, channels, is_alike, run)?, fitted(b, channels, is_alike, run)?];
    let mut gap = Gap::default();
    let count = channels.count().max(1);
    for at in 0..a_samples.samples.len().min(b_samples.samples.len()) {
        let (x, y) = (at / count % a.width.max(1), at / count / a.width.max(1));
        let place = || format!("pixel {x},{y}, channel {}", at % count);
        gap.compare(sample(&a_samples.samples, at), sample(&b_samples.samples, at), found.tolerance, place);
    }
    found.gap("pixels", "", gap);
    extras([a, b], found);
    Ok(())
}

/// An image in samples and channels that can be compared with the other's.
fn fitted<'a>(image: &'a Image, channels: Channels, is_alike: bool, run: &RunOptions) -> Result<Cow<'a, Image>> {
    let mut fitted = Cow::Borrowed(image);
    if image.channels != channels {
        fitted = Cow::Owned(with_channels(&fitted, channels, run)?);
    }
    if !is_alike {
        fitted = Cow::Owned(convert_samples(&fitted, SampleType::F32, ColorSpace::Linear, run)?.image);
    }
    Ok(fitted)
}

/// Whether alpha is not the highest everywhere.
fn is_clear(image: &Image, run: &RunOptions) -> Result<bool> {
    let floats = convert_samples(image, SampleType::F32, ColorSpace::Linear, run)?.image;
    let count = image.channels.count().max(1);
    Ok((count - 1..floats.samples.len()).step_by(count).any(|at| sample(&floats.samples, at) != 1.0))
}

/// A sample from 0 to 1.
fn sample(samples: &Samples, at: usize) -> f64 {
    match samples {
        Samples::U8(samples) => f64::from(samples[at]) / 255.0,
        Samples::U16(samples) => f64::from(samples[at]) / 65535.0,
        Samples::F32(samples) => f64::from(samples[at]),
    }
}

/// Compares the channels beside the colours, by name.
fn extras([a, b]: [&Image; 2], found: &mut Differences) {
    let has = |image: &Image, name: &str| image.extra.iter().any(|channel| channel.name == name);
    let lost = a.extra.iter().filter(|channel| !has(b, &channel.name)).count();
    let new = b.extra.iter().filter(|channel| !has(a, &channel.name)).count();
    for (count, side) in [(lost, "only in the first file"), (new, "only in the second file")] {
        if count > 0 {
            found.only("channels", count as u64, side);
        }
    }
    for channel in &a.extra {
        let Some(other) = b.extra.iter().find(|it| it.name == channel.name) else { continue };
        let mut gap = Gap::default();
        for at in 0..channel.samples.len().min(other.samples.len()) {
            let (x, y) = (at % a.width.max(1), at / a.width.max(1));
            gap.compare(value(channel, at), value(other, at), found.tolerance, || format!("pixel {x},{y}"));
        }
        found.gap("channels", &channel.name, gap);
    }
}

fn value(channel: &ImageChannel, at: usize) -> f64 {
    match &channel.samples {
        ChannelSamples::U8(samples) => f64::from(samples[at]) / 255.0,
        ChannelSamples::U16(samples) => f64::from(samples[at]) / 65535.0,
        ChannelSamples::U32(samples) => f64::from(samples[at]),
        ChannelSamples::F16(samples) => half(samples[at]),
        ChannelSamples::F32(samples) => f64::from(samples[at]),
    }
}

/// The value of a float of 16 bits.
fn half(bits: u16) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let value = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if sign == 1 { -value } else { value }
}

/// Compares two textures: their sizes, and the bytes of every level.
pub(super) fn compare_textures([a, b]: [&Texture; 2], found: &mut Differences) {
    let sizes = |it: &Texture| [it.width, it.height, it.depth, it.layers, it.faces].map(|count| count as u64);
    for (what, (a, b)) in
        ["width", "height", "depth", "layers", "faces"].into_iter().zip(sizes(a).into_iter().zip(sizes(b)))
    {
        found.counts(what, [a, b]);
    }
    let encoding = |it: &Texture| format!("{:?}", Texture { levels: Vec::new(), ..it.clone() });
    if sizes(a) == sizes(b) && encoding(a) != encoding(b) {
        found.only("encoding", 1, "difference in pixel encoding or color space");
    }
    if found.counts("mip levels", [a.levels.len() as u64, b.levels.len() as u64]) {
        let differ = a.levels.iter().zip(&b.levels).filter(|(a, b)| a != b).count() as u64;
        if differ > 0 {
            found.only("pixels", differ, "mip levels have different bytes");
        }
    }
}
