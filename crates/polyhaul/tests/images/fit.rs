//! Images become what the format that is written holds, and what it does not hold is noted.

use super::load;
use polyhaul::model::{Channels, ColorSpace, Image, Samples};
use polyhaul::{Format, Output, ReadOptions, Report, WriteOptions, save_image};
use polyhaul_testkit::output::Shared;

/// Writes an image and reads it back.
fn there_and_back(image: &Image, format: Format) -> (Image, Report) {
    let shared = Shared::with_room(1 << 16);
    let options = WriteOptions { format: Some(format), ..WriteOptions::default() };
    let report = save_image(image, Output::Writer(Box::new(shared.clone()), "out".into()), &options).unwrap();
    let bytes = shared.lock().clone();
    (load(&format!("x.{}", format.name()), bytes, &ReadOptions::default()).unwrap(), report)
}

#[test]
fn light_becomes_bytes_of_srgb() {
    let samples = Samples::F32([0.0, 0.5, 2.0, -1.0, f32::NAN, 1.0].into());
    let light = Image { width: 2, height: 1, samples, color_space: ColorSpace::Linear, ..Image::default() };
    let (shown, report) = there_and_back(&light, Format::Tga);
    assert_eq!((shown.samples, shown.color_space), (Samples::U8([0, 188, 255, 0, 0, 255].into()), ColorSpace::Srgb));
    assert_eq!(report.warnings.counts()["cut-samples"], 3);
    let messages: Vec<_> = report.warnings.kept().iter().map(|warning| &*warning.diagnostic.message).collect();
    assert_eq!(
        messages,
        [
            "1 sample above 1 clamped to 1 in tga",
            "1 sample below 0 clamped to 0 in tga",
            "1 sample with NaN replaced by 0 in tga"
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
    assert_eq!(there_and_back(&wide, Format::Tga).0, image);
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
