//! OpenEXR.

use crate::images::*;
use polyhaul::ErrorKind;
use polyhaul::model::ColorSpace;

fn file(name: &str) -> Vec<u8> {
    crate::images::file("exr", &format!("good/{name}.exr"))
}

fn load(bytes: Vec<u8>) -> Result<Image> {
    crate::images::load("x.exr", bytes, &ReadOptions::default())
}

#[test]
fn pixels_are_those_of_another_decoder() {
    for folder in ["openexr", "openimageio"] {
        for (name, bytes) in files("exr", &format!("good/{folder}")) {
            let image = load(bytes).unwrap();
            assert_eq!((image.color_space, image.premultiplied), (ColorSpace::Linear, image.channels.has_alpha()));
            // The depth channel of one file is not part of its colors.
            let (kept_columns, stored) = if name == "with_depth" { (4, 5) } else { (1, 1) };
            let array = crate::images::file("exr", &format!("expected/{name}.npy"));
            let (_, bytes) = npy(&array);
            if stored == 1 {
                shaped(&image, &array, "<f4", &name);
            }
            let stored_floats = bytes.chunks_exact(4).map(|sample| f32::from_le_bytes(sample.try_into().unwrap()));
            let expected =
                stored_floats.enumerate().filter(|(at, _)| at % stored < kept_columns).map(|(_, sample)| sample);
            // This compression is lossy, and decoders differ.
            let far = if name.starts_with("dwa") { 2e-3 } else { 0.0 };
            let mut count = 0;
            for (decoded, expected) in float_samples(&image).iter().zip(expected) {
                assert!(
                    (decoded - expected).abs() <= far * expected.abs().max(1.0),
                    "{name}: {decoded} and {expected}"
                );
                count += 1;
            }
            assert_eq!(count, image.samples.len(), "{name}");
        }
    }
}

#[test]
fn what_is_not_read_is_said() {
    let error = error("x.exr", &crate::images::file("exr", "bad/own/htj2k.exr"));
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(
        error.to_string().contains("HTJ2K compression is not supported") && error.place().offset.is_some(),
        "{error}"
    );
}

#[test]
fn a_block_larger_than_the_memory_limit_is_refused() {
    let run = RunOptions::default().with_memory_limit(2015);
    let bytes = file("openexr/zip_half");
    let error = crate::images::load("x.exr", bytes.clone(), &ReadOptions::default().with_run(run)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("`memory_limit`"), "{error}");
    // 16 rows of 21 pixels with three 16-bit floats.
    let run = RunOptions::default().with_memory_limit(2016);
    assert!(crate::images::load("x.exr", bytes, &ReadOptions::default().with_run(run)).is_ok());
}

#[test]
fn blocks_that_are_missing_or_there_twice_are_errors() {
    // Uncompressed blocks of one row: 8 bytes and a row of three 16-bit floats.
    let bytes = file("openexr/none_half");
    let size = 8 + 21 * 3 * 2;
    let mut twice = bytes.clone();
    let first = bytes.len() - 2 * size;
    let last = bytes.len() - size;
    twice.copy_within(first..last, last);
    assert!(error("x.exr", &twice).to_string().ends_with("a block of the image is stored twice"));
    let mut outside = bytes;
    outside[last..last + 4].copy_from_slice(&4000_i32.to_le_bytes());
    assert_eq!(error("x.exr", &outside).kind(), ErrorKind::Malformed);
}

/// Writes 32-bit floats.
fn with_floats() -> ImageWriteOptions {
    ImageWriteOptions::default().with_exr_float(true)
}

/// Removes the names and types of the channels in the file.
fn unnamed(image: Image) -> Image {
    Image { stored: Vec::new(), ..image }
}

/// An image of values that half floats can represent.
fn sample(channels: Channels, width: usize, height: usize) -> Image {
    let count = width * height * channels.count();
    let samples: Vec<f32> = (0..count).map(|at| (at * 7 % 2048) as f32 / 64.0 - 3.0).collect();
    let premultiplied = channels.has_alpha();
    Image {
        width,
        height,
        channels,
        samples: Samples::F32(samples.into()),
        color_space: ColorSpace::Linear,
        premultiplied,
        ..Image::default()
    }
}

#[test]
fn what_is_written_is_read_again() {
    for channels in [Channels::Gray, Channels::GrayAlpha, Channels::Rgb, Channels::Rgba] {
        for (width, height) in [(31, 77), (1, 1), (300, 16)] {
            for style in [ImageWriteOptions::default(), with_floats()] {
                let image = sample(channels, width, height);
                let bytes = written_by_all("x.exr", &image, style);
                assert!(unnamed(load(bytes).unwrap()) == image, "{channels:?} {width} x {height}");
            }
        }
    }
}

#[test]
fn floats_stay_or_are_rounded() {
    let gray = |samples: Vec<f32>| Image { samples: Samples::F32(samples.into()), ..sample(Channels::Gray, 4, 1) };
    let image = gray(vec![1.0 / 3.0, 1e9, -1e-9, 65504.0]);
    assert!(unnamed(load(written_by_all("x.exr", &image, with_floats())).unwrap()) == image);
    let rounded = load(written_by_all("x.exr", &image, ImageWriteOptions::default())).unwrap();
    assert_eq!(float_samples(&rounded), [1365.0 / 4096.0, f32::INFINITY, -0.0, 65504.0]);
}

#[test]
fn colors_are_multiplied_with_alpha() {
    let samples = Samples::F32([1.0, 0.5, 2.0, 0.5].into());
    let image = Image { samples, premultiplied: false, ..sample(Channels::Rgba, 1, 1) };
    let written = load(written_by_all("x.exr", &image, ImageWriteOptions::default())).unwrap();
    assert_eq!((float_samples(&written), written.premultiplied), (&[0.5, 0.25, 1.0, 0.5][..], true));
}

#[test]
fn what_does_not_fit_is_refused() {
    let error = written("x.exr", &sample(Channels::Rgb, 0, 0), ImageWriteOptions::default(), &RunOptions::default())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
}
