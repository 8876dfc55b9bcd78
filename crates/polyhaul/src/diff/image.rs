//! Compares images sample by sample, and textures byte by byte.

use super::{Differences, Gap};
use crate::ops::ImageOps;
use polyhaul_model::error::{Error, Result};
use polyhaul_model::names;
use polyhaul_model::pixels::is_opaque;
use polyhaul_model::{
    ChannelSamples, Channels, ColorSpace, Image, ImageAttribute, ImageChannel, SampleType, Samples, Texture,
};
use polyhaul_pipeline::options::RunOptions;
use std::borrow::Cow;

/// Compares two images: attributes, color profiles, sizes, alpha, colors and extra channels.
pub(super) fn compare([a, b]: [&Image; 2], differences: &mut Differences, run: &RunOptions) -> Result<()> {
    attributes([a, b], differences);
    profiles([a, b], differences);
    if (a.width, a.height) != (b.width, b.height) {
        let message = format!("size differs: {}x{} and {}x{}", a.width, a.height, b.width, b.height);
        differences.only("size", 1, &message);
        return Ok(());
    }
    let have_alpha = [a, b].map(|image| image.channels.has_alpha());
    if have_alpha[0] != have_alpha[1] && ![a, b].into_iter().all(is_opaque) {
        differences.only("alpha", 1, "of the files has alpha");
    }
    let multiplied = [a, b].map(|image| image.premultiplied && !is_opaque(image));
    let divides = have_alpha == [true; 2] && multiplied[0] != multiplied[1];
    if divides {
        differences.only("premultiplied", 1, "of the files has premultiplied colors");
    }
    pixels([a, b], have_alpha == [true; 2], divides, differences, run)?;
    extras([a, b], differences);
    Ok(())
}

/// Compares colors, and alpha if both images have it. If `divides`, compares unpremultiplied colors.
fn pixels(
    [a, b]: [&Image; 2],
    has_alpha: bool,
    divides: bool,
    differences: &mut Differences,
    run: &RunOptions,
) -> Result<()> {
    let is_alike = !divides
        && (SampleType::from_samples(&a.samples), a.color_space)
            == (SampleType::from_samples(&b.samples), b.color_space)
        && a.channels == b.channels;
    let channels = match has_alpha {
        _ if a.channels == b.channels => a.channels,
        true => Channels::Rgba,
        false => Channels::Rgb,
    };
    let fitted = |image| if is_alike { Ok(Cow::Borrowed(image)) } else { fitted(image, channels, divides, run) };
    let [a_image, b_image] = [fitted(a)?, fitted(b)?];
    let mut gap = Gap::default();
    let count = channels.count().max(1);
    for at in 0..a_image.samples.len().min(b_image.samples.len()) {
        let x = at / count % a.width.max(1);
        let y = at / count / a.width.max(1);
        let place = || format!("pixel {x},{y}, channel {}", at % count);
        gap.compare(sample(&a_image.samples, at), sample(&b_image.samples, at), differences.tolerance, place);
    }
    differences.gap("pixels", "", gap);
    Ok(())
}

/// Converts an image to linear floats and to `channels`.
fn fitted<'a>(image: &'a Image, channels: Channels, divides: bool, run: &RunOptions) -> Result<Cow<'a, Image>> {
    let mut fitted = Cow::Borrowed(image);
    let divides = divides && image.premultiplied;
    if divides || (SampleType::from_samples(&image.samples), image.color_space) != (SampleType::F32, ColorSpace::Linear)
    {
        fitted = Cow::Owned(fitted.convert_samples_with(SampleType::F32, ColorSpace::Linear, run)?.image);
    }
    if image.channels != channels {
        fitted = Cow::Owned(fitted.convert_channels_with(channels, run)?);
    }
    if divides {
        divide(fitted.to_mut())?;
    }
    Ok(fitted)
}

/// Unpremultiplies colors; keeps them where alpha is 0.
fn divide(image: &mut Image) -> Result<()> {
    let size = image.channels.count();
    let Samples::F32(samples) = &mut image.samples else { return Ok(()) };
    for pixel in samples.to_mut().map_err(|_| Error::memory("an image"))?.chunks_exact_mut(size) {
        if let Some((alpha, colors)) = pixel.split_last_mut()
            && *alpha != 0.0
        {
            colors.iter_mut().for_each(|color| *color /= *alpha);
        }
    }
    Ok(())
}

/// Returns a sample as a float, with integers scaled to 0 to 1.
fn sample(samples: &Samples, at: usize) -> f64 {
    match samples {
        Samples::U8(samples) => f64::from(samples[at]) / 255.0,
        Samples::U16(samples) => f64::from(samples[at]) / 65535.0,
        Samples::F32(samples) => f64::from(samples[at]),
    }
}

/// Compares attributes by name.
fn attributes([a, b]: [&Image; 2], differences: &mut Differences) {
    let names_of =
        |image: &'_ Image| image.attributes.iter().map(|attribute| attribute.name.clone()).collect::<Vec<String>>();
    one_sided("attributes", [names_of(a), names_of(b)], differences);
    let differs = |attribute: &&ImageAttribute| {
        b.attributes.iter().any(|other| other.name == attribute.name && other != *attribute)
    };
    let differing: Vec<&str> = a.attributes.iter().filter(differs).map(|attribute| attribute.name.as_str()).collect();
    if !differing.is_empty() {
        differences.only(
            "attributes",
            differing.len() as u64,
            &format!("with different values: {}", names::listed(&differing)),
        );
    }
}

/// Compares color profiles.
fn profiles([a, b]: [&Image; 2], differences: &mut Differences) {
    let names_of = |image: &Image| image.profile.names().into_iter().map(String::from).collect::<Vec<String>>();
    let names = [names_of(a), names_of(b)];
    if names[0] == names[1] && a.profile != b.profile {
        differences.only("color-space", 1, "color description differs");
    }
    one_sided("color-space", names, differences);
}

/// Records names that occur in only one of the files.
fn one_sided(what: &'static str, [a, b]: [Vec<String>; 2], differences: &mut Differences) {
    for (these, others, side) in [(&a, &b, "first"), (&b, &a, "second")] {
        let names: Vec<&String> = these.iter().filter(|name| !others.contains(name)).collect();
        if !names.is_empty() {
            differences.only(what, names.len() as u64, &format!("only in the {side} file: {}", names::listed(&names)));
        }
    }
}

/// Compares extra channels, by name.
fn extras([a, b]: [&Image; 2], differences: &mut Differences) {
    let names_of = |image: &'_ Image| image.extra.iter().map(|channel| channel.name.clone()).collect::<Vec<String>>();
    one_sided("channels", [names_of(a), names_of(b)], differences);
    for channel in &a.extra {
        let Some(other) = b.extra.iter().find(|other| other.name == channel.name) else { continue };
        let mut gap = Gap::default();
        for at in 0..channel.samples.len().min(other.samples.len()) {
            let x = at % a.width.max(1);
            let y = at / a.width.max(1);
            gap.compare(value(channel, at), value(other, at), differences.tolerance, || format!("pixel {x},{y}"));
        }
        differences.gap("channels", &channel.name, gap);
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

/// Decodes a 16-bit float.
fn half(bits: u16) -> f64 {
    let sign = bits >> 15;
    let exponent = i32::from(bits >> 10 & 31);
    let fraction = f64::from(bits & 1023);
    let value = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if sign == 1 { -value } else { value }
}

/// Compares two textures: their sizes, their encodings, and the bytes of every mip level.
pub(super) fn compare_textures([a, b]: [&Texture; 2], differences: &mut Differences) {
    let sizes = |texture: &Texture| {
        [texture.width, texture.height, texture.depth, texture.layers, texture.faces].map(|count| count as u64)
    };
    for (what, (a, b)) in
        ["width", "height", "depth", "layers", "faces"].into_iter().zip(sizes(a).into_iter().zip(sizes(b)))
    {
        differences.counts(what, [a, b]);
    }
    let encoding = |texture: &Texture| format!("{:?}", Texture { levels: Vec::new(), ..texture.clone() });
    if sizes(a) == sizes(b) && encoding(a) != encoding(b) {
        differences.only("encoding", 1, "difference in pixel encoding or color space");
    }
    if differences.counts("mip levels", [a.levels.len() as u64, b.levels.len() as u64]) {
        let differ = a.levels.iter().zip(&b.levels).filter(|(a, b)| a != b).count() as u64;
        if differ > 0 {
            differences.only("pixels", differ, "(mip levels with different bytes)");
        }
    }
}
