//! Images are converted to the form that the output format stores, and losses are reported.

use super::load;
use crate::support::try_written_image;
use polyhaul::model::{Channels, ColorSpace, Image, Samples};
use polyhaul::options::{ImageWriteOptions, RunOptions, Strict};
use polyhaul::severity::Severity;
use polyhaul::{Format, ReadOptions, Report, WriteOptions};

/// Writes an image and reads it back.
fn there_and_back(image: &Image, format: Format) -> (Image, Report) {
    let (bytes, report) = try_written_image(image, &WriteOptions::default().with_format(Some(format))).unwrap();
    (load(&format!("x.{}", format.name()), bytes, &ReadOptions::default()).unwrap(), report)
}

fn messages(report: &Report) -> Vec<&str> {
    report.warnings.kept().iter().map(|warning| &*warning.diagnostic.message).collect()
}

/// Warnings from writing an image, which are the same for any number of threads, and an error with `strict`.
#[track_caller]
fn noted(image: &Image, format: Format, style: ImageWriteOptions) -> Vec<String> {
    let write = |threads, strict| {
        let run = RunOptions::default().with_threads(Some(threads));
        let options =
            WriteOptions::default().with_format(Some(format)).with_image(style).with_strict(strict).with_run(run);
        try_written_image(image, &options).map(|(_, report)| report)
    };
    let first = write(1, Strict::Off).unwrap();
    for threads in [2, 7] {
        assert_eq!(write(threads, Strict::Off).unwrap().warnings, first.warnings);
    }
    assert_eq!(write(2, Strict::All).is_ok(), first.warnings.is_empty());
    assert_eq!(write(2, Strict::Losses).is_ok(), first.warnings.total_of(Severity::Note) == first.warnings.total());
    messages(&first).into_iter().map(str::to_owned).collect()
}

fn image(channels: Channels, samples: Samples, color_space: ColorSpace) -> Image {
    let width = samples.len() / channels.count();
    Image { width, height: 1, channels, samples, color_space, ..Image::default() }
}

#[test]
fn light_becomes_bytes_of_srgb() {
    let samples = Samples::F32([0.0, 0.5, 2.0, -1.0, f32::NAN, 1.0].into());
    let light = Image { width: 2, height: 1, samples, color_space: ColorSpace::Linear, ..Image::default() };
    let (shown, report) = there_and_back(&light, Format::Tga);
    assert_eq!((shown.samples, shown.color_space), (Samples::U8([0, 188, 255, 0, 0, 255].into()), ColorSpace::Srgb));
    assert_eq!((report.warnings.counts()["cut-samples"], report.warnings.counts()["changed-samples"]), (3, 1));
    assert_eq!(
        messages(&report),
        [
            "1 sample above 1 was clamped to 1",
            "1 sample below 0 was clamped to 0",
            "1 NaN sample was replaced by 0",
            "1 sample was rounded to 8 bits"
        ]
    );
}

#[test]
fn bytes_become_light_without_alpha() {
    let samples = Samples::U8([188, 7].into());
    let gray = Image { width: 1, height: 1, channels: Channels::GrayAlpha, samples, ..Image::default() };
    let (light, report) = there_and_back(&gray, Format::Hdr);
    let Samples::F32(samples) = &light.samples else { unreachable!() };
    assert_eq!((light.channels, light.color_space), (Channels::Rgb, ColorSpace::Linear));
    assert!(samples.iter().all(|sample| (sample - 0.503).abs() < 0.002), "{samples:?}");
    assert_eq!(report.warnings.counts()["left-out-alpha"], 1);
}

#[test]
fn what_fits_is_not_changed() {
    let image = Image { width: 1, height: 1, samples: Samples::U8([1, 2, 3].into()), ..Image::default() };
    let (back, report) = there_and_back(&image, Format::Tga);
    assert_eq!(back, image);
    assert!(report.warnings.is_empty());
    let wide = Image { samples: Samples::U16([257, 514, 771].into()), ..image.clone() };
    let (back, report) = there_and_back(&wide, Format::Tga);
    assert_eq!(back, image);
    assert!(report.warnings.is_empty());
}

/// Each 8-bit value survives every format with more bits.
#[test]
fn bytes_survive_more_bits() {
    let bytes = image(Channels::Gray, Samples::U8((0..=255).collect()), ColorSpace::Srgb);
    let (light, report) = there_and_back(&bytes, Format::Exr);
    assert!(report.warnings.is_empty() && matches!(light.samples, Samples::F32(_)));
    assert_eq!(there_and_back(&light, Format::Tga).0.samples, bytes.samples);
    for alpha in [1, 2, 7, 100, 254, 255] {
        let straight = (0..=255).flat_map(|code: u8| [code, alpha]);
        let straight = image(Channels::GrayAlpha, Samples::U8(straight.collect()), ColorSpace::Srgb);
        let (multiplied, report) = there_and_back(&straight, Format::Exr);
        assert!(multiplied.premultiplied && report.warnings.is_empty());
        let Samples::F32(samples) = &multiplied.samples else { unreachable!() };
        let divided = samples.as_chunks().0.iter().flat_map(|&[color, alpha]| [color / alpha, alpha]);
        let divided = image(Channels::GrayAlpha, Samples::F32(divided.collect()), ColorSpace::Linear);
        assert_eq!(there_and_back(&divided, Format::Tga).0.samples, straight.samples, "{alpha}");
    }
}

#[test]
fn rounding_is_counted() {
    let style = ImageWriteOptions::default();
    let wide = image(Channels::Rgb, Samples::U16([257, 258, 0].into()), ColorSpace::Srgb);
    assert_eq!(noted(&wide, Format::Tga, style), ["1 sample was rounded to 8 bits"]);
    assert!(noted(&wide, Format::Png, style).is_empty());
    let half = "1 sample was rounded to 16-bit floats; use `--exr-float` to store 32-bit floats";
    let light = |samples: [f32; 3]| image(Channels::Rgb, Samples::F32(samples.into()), ColorSpace::Linear);
    assert_eq!(noted(&light([0.5, 0.1, 1.0]), Format::Exr, style), [half]);
    assert!(noted(&light([0.5, 0.1, 1.0]), Format::Exr, style.with_exr_float(true)).is_empty());
    assert_eq!(noted(&light([0.5, 0.0, 1.0]), Format::Png, style), ["1 sample was rounded to 16 bits"]);
    let hdr = "1 pixel was rounded: HDR stores 8 bits per channel and a shared exponent";
    assert_eq!(noted(&light([0.5, 0.001, 1.0]), Format::Hdr, style), [hdr]);
    assert!(noted(&light([0.5, 0.25, 7.0]), Format::Hdr, style).is_empty());
    let wild = noted(&light([-0.5, f32::NAN, f32::INFINITY]), Format::Hdr, style);
    assert_eq!(wild.len(), 3, "{wild:?}");
    // A linear byte is not an sRGB byte.
    let linear = image(Channels::Gray, Samples::U8([0, 1, 255].into()), ColorSpace::Linear);
    assert_eq!(noted(&linear, Format::Tga, style), ["1 sample was rounded to 8 bits"]);
    assert_eq!(noted(&linear, Format::Jpeg, style), ["JPEG is lossy: 3 pixels are approximate"]);
    // Many pieces, on many threads.
    let samples = (0..3 * 40_000).map(|at| (at % 7919) as f32 / 7919.0).collect();
    let many = image(Channels::Rgb, Samples::F32(samples), ColorSpace::Linear);
    for format in [Format::Tga, Format::Png, Format::Hdr, Format::Exr] {
        assert_eq!(noted(&many, format, style).len(), 1, "{format:?}");
    }
}

#[test]
fn alpha_that_hides_nothing_is_no_loss() {
    for samples in [Samples::U8([9, 255].into()), Samples::U16([9, 65535].into()), Samples::F32([0.0, 1.0].into())] {
        let opaque = image(Channels::GrayAlpha, samples, ColorSpace::Linear);
        let noted = noted(&opaque, Format::Hdr, ImageWriteOptions::default());
        assert!(!noted.iter().any(|message| message.contains("alpha")), "{noted:?}");
    }
}

#[test]
fn colours_that_alpha_hides_are_counted() {
    let style = ImageWriteOptions::default();
    let straight = image(Channels::Rgba, Samples::U8([1, 2, 3, 0, 0, 0, 0, 0, 9, 9, 9, 9].into()), ColorSpace::Srgb);
    let expected = "the color of 1 fully transparent pixel became black: EXR stores premultiplied colors";
    assert_eq!(noted(&straight, Format::Exr, style), [expected]);
    assert!(noted(&straight, Format::Tga, style).is_empty());
    let multiplied = Image { premultiplied: true, ..straight.clone() };
    let expected = "the color of 1 fully transparent pixel became black: PNG stores straight colors";
    assert_eq!(noted(&multiplied, Format::Png, style), [expected]);
    assert!(noted(&multiplied, Format::Exr, style).is_empty());
    let samples = Samples::U8([200, 50, 25, 100].into());
    let multiplied = Image { premultiplied: true, ..image(Channels::Rgba, samples, ColorSpace::Srgb) };
    let expected = ["1 sample above alpha was clamped to alpha", "2 samples were rounded when divided by alpha"];
    assert_eq!(noted(&multiplied, Format::Png, style), expected);
}

#[test]
fn halves_that_become_infinite_are_noted() {
    let samples = Samples::F32([65519.0, 65520.0, -1e9, f32::INFINITY, f32::NAN, 0.5].into());
    let light = Image { width: 2, height: 1, samples, color_space: ColorSpace::Linear, ..Image::default() };
    let (back, report) = there_and_back(&light, Format::Exr);
    let Samples::F32(samples) = &back.samples else { unreachable!() };
    assert_eq!(samples[..4], [65504.0, f32::INFINITY, f32::NEG_INFINITY, f32::INFINITY]);
    assert_eq!(report.warnings.counts()["cut-samples"], 2);
}
