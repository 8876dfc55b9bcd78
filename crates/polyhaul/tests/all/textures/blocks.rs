//! Blocks, decoded by a library other than the encoder.
#![cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    any(all(target_os = "linux", target_env = "gnu"), target_os = "macos", all(windows, target_env = "msvc"))
))]

use super::{ALL_CHANNELS, bytes, floats, image, noise, threads, waves, words};
use polyhaul::ErrorKind;
use polyhaul::model::{Channels, ColorSpace, Encoding, Image, Samples, Texel, Texture};
use polyhaul::ops::{BlockQuality, ImageOps, compress};

const BC4: Encoding = Encoding::Bc4 { signed: false };
const BC5: Encoding = Encoding::Bc5 { signed: false };
const BC6H: Encoding = Encoding::Bc6h { signed: false };
const BLOCKS: [Encoding; 6] = [Encoding::Bc1, Encoding::Bc3, BC4, BC5, BC6H, Encoding::Bc7];

fn compressed(image: &Image, encoding: Encoding, quality: BlockQuality) -> Texture {
    compress(&[image], encoding, quality, &threads(2)).unwrap()
}

/// Decoded samples of the largest level, as many per pixel as the encoding has, without padding.
fn decoded(texture: &Texture) -> Vec<f32> {
    let Texture { width, height, encoding, .. } = *texture;
    let across = width.div_ceil(4);
    let down = height.div_ceil(4);
    let samples = match encoding {
        BC4 => 1,
        BC5 => 2,
        BC6H => 3,
        _ => 4,
    };
    let pitch = across * 4 * samples;
    let mut plain = vec![0_u8; pitch * down * 4];
    let mut light = vec![0.0_f32; pitch * down * 4];
    for (number, block) in texture.levels[0].chunks_exact(encoding.bytes()).enumerate() {
        let start = number / across * 4 * pitch + number % across * 4 * samples;
        match encoding {
            Encoding::Bc1 => bcdec_rs::bc1(block, &mut plain[start..], pitch),
            Encoding::Bc3 => bcdec_rs::bc3(block, &mut plain[start..], pitch),
            BC4 => bcdec_rs::bc4(block, &mut plain[start..], pitch, false),
            BC5 => bcdec_rs::bc5(block, &mut plain[start..], pitch, false),
            BC6H => bcdec_rs::bc6h_float(block, &mut light[start..], pitch, false),
            _ => bcdec_rs::bc7(block, &mut plain[start..], pitch),
        }
    }
    let bytes = plain.iter().map(|&byte| f32::from(byte) / 255.0).collect();
    let values: Vec<f32> = if encoding == BC6H { light } else { bytes };
    values.chunks_exact(pitch).take(height).flat_map(|row| &row[..width * samples]).copied().collect()
}

/// Peak signal-to-noise ratio of the first `count` samples of each pixel, in decibels.
fn psnr(expected: &[f32], expected_size: usize, decoded: &[f32], decoded_size: usize, count: usize) -> f64 {
    let pixels = expected.chunks_exact(expected_size).zip(decoded.chunks_exact(decoded_size));
    let square = |(a, b): (&f32, &f32)| f64::from(a - b).powi(2);
    let sum: f64 = pixels.map(|(a, b)| a[..count].iter().zip(&b[..count]).map(square).sum::<f64>()).sum();
    10.0 * ((expected.len() / expected_size * count) as f64 / sum.max(1e-12)).log10()
}

fn values(image: &Image) -> Vec<f32> {
    match &image.samples {
        Samples::U8(samples) => samples.iter().map(|&byte| f32::from(byte) / 255.0).collect(),
        Samples::U16(samples) => samples.iter().map(|&word| f32::from(word) / 65535.0).collect(),
        Samples::F32(samples) => samples.to_vec(),
    }
}

#[test]
fn what_is_decoded_is_near_to_what_it_was() {
    let rgba = image([128, 96], Channels::Rgba, waves, bytes);
    let light = Image { color_space: ColorSpace::Linear, ..image([128, 96], Channels::Rgb, waves, floats) };
    let floors = [
        (Encoding::Bc1, &rgba, 3, 36.0),
        (Encoding::Bc3, &rgba, 4, 37.0),
        (BC4, &rgba, 1, 45.0),
        (BC5, &rgba, 2, 45.0),
        (BC6H, &light, 3, 42.0),
        (Encoding::Bc7, &rgba, 4, 40.0),
    ];
    for (encoding, image, count, floor) in floors {
        let mut last = 0.0;
        for quality in [BlockQuality::Fast, BlockQuality::Normal, BlockQuality::Best] {
            let texture = compressed(image, encoding, quality);
            let decoded_pixels = decoded(&texture);
            let size = decoded_pixels.len() / (image.width * image.height);
            let error = psnr(&values(image), image.channels.count(), &decoded_pixels, size, count);
            assert!(error > floor && error >= last - 0.3, "{encoding:?} {quality:?}: {error:.2} dB");
            last = error;
        }
    }
}

#[test]
fn the_library_alone_makes_the_same_blocks() {
    use intel_tex_2::bindings::kernel;
    let image = image([64, 48], Channels::Rgba, waves, bytes);
    let Samples::U8(samples) = &image.samples else { unreachable!() };
    let mut surface = kernel::rgba_surface { ptr: samples.as_ptr().cast_mut(), width: 64, height: 48, stride: 256 };
    let mut expected = vec![0; 64 * 48 / 2];
    // SAFETY: all pixels exist, and the output has space for all blocks.
    unsafe { kernel::CompressBlocksBC1_ispc(&mut surface, expected.as_mut_ptr()) };
    assert_eq!(compressed(&image, Encoding::Bc1, BlockQuality::Normal).levels[0], expected);
    let mut expected = vec![0; 64 * 48];
    // SAFETY: as above.
    unsafe { kernel::CompressBlocksBC3_ispc(&mut surface, expected.as_mut_ptr()) };
    assert_eq!(compressed(&image, Encoding::Bc3, BlockQuality::Normal).levels[0], expected);
}

#[test]
fn the_same_for_any_number_of_threads() {
    let image = image([260, 120], Channels::Rgba, noise, bytes);
    let levels = image.mipmaps_with(&Default::default(), &threads(2)).unwrap();
    let all_levels: Vec<&Image> = [&image].into_iter().chain(&levels).collect();
    for encoding in BLOCKS.into_iter().chain([Encoding::default()]) {
        let made = |count| compress(&all_levels, encoding, BlockQuality::Fast, &threads(count)).unwrap();
        let single_threaded = made(1);
        assert_eq!(single_threaded.levels.len(), 9);
        for (number, level) in single_threaded.levels.iter().enumerate() {
            let [width, height, _] = single_threaded.level_size(number);
            assert_eq!(Some(level.len()), encoding.image_bytes(width, height));
        }
        assert_eq!(single_threaded, made(2));
        assert_eq!(single_threaded, made(7));
    }
}

#[test]
fn sides_are_filled_up_with_the_last_pixels() {
    for size in [[1, 1], [1, 6], [3, 5], [17, 1], [4, 4], [6, 8]] {
        let small = image(size, Channels::Rgb, noise, bytes);
        let sides = size.map(|count| count.next_multiple_of(4));
        let inside = |x: usize, y: usize, number| noise(x.min(size[0] - 1), y.min(size[1] - 1), number);
        let filled = image(sides, Channels::Rgb, inside, bytes);
        for encoding in BLOCKS {
            let [small, filled] = [&small, &filled].map(|image| compressed(image, encoding, BlockQuality::Fast));
            assert_eq!(small.levels, filled.levels, "{size:?} {encoding:?}");
        }
    }
}

#[test]
fn every_kind_of_pixels_is_taken() {
    for encoding in BLOCKS {
        for channels in ALL_CHANNELS {
            let narrow = image([20, 12], channels, waves, bytes);
            let Samples::U8(samples) = &narrow.samples else { unreachable!() };
            let wide = samples.iter().map(|&byte| u16::from(byte) * 257).collect();
            let wide = Image { samples: Samples::U16(wide), ..narrow.clone() };
            let same = [&narrow, &wide].map(|image| compressed(image, encoding, BlockQuality::Fast));
            assert_eq!(same[0], same[1], "{encoding:?} {channels:?}");
        }
    }
}

#[test]
fn opaque_blocks_are_opaque() {
    let image = image([64, 64], Channels::Rgb, noise, bytes);
    for quality in [BlockQuality::Fast, BlockQuality::Normal] {
        let decoded_pixels = decoded(&compressed(&image, Encoding::Bc7, quality));
        // If alpha shares its last bit with colors, it may differ by one.
        assert!(decoded_pixels.as_chunks::<4>().0.iter().all(|pixel| pixel[3] >= 254.0 / 255.0), "{quality:?}");
    }
}

#[test]
fn plain_pixels_are_as_they_were() {
    let of = |channels, texel| Encoding::Plain { channels, texel };
    let rgb = image([3, 2], Channels::Rgb, waves, bytes);
    let Samples::U8(samples) = &rgb.samples else { unreachable!() };
    let plain = compressed(&rgb, of(4, Texel::U8), BlockQuality::Fast);
    let expected: Vec<u8> = samples.as_chunks().0.iter().flat_map(|&[r, g, b]| [r, g, b, 255]).collect();
    assert_eq!((plain.levels[0].to_vec(), plain.color_space), (expected, ColorSpace::Srgb));
    let compressed_rgb = compressed(&rgb, of(1, Texel::U8), BlockQuality::Fast);
    assert_eq!(
        compressed_rgb.levels[0].to_vec(),
        samples.as_chunks::<3>().0.iter().map(|pixel| pixel[0]).collect::<Vec<_>>()
    );
    let wide = image([3, 2], Channels::Rgba, waves, words);
    let Samples::U16(samples) = &wide.samples else { unreachable!() };
    let expected: Vec<u8> = samples.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(compressed(&wide, of(4, Texel::U16), BlockQuality::Fast).levels[0], expected);
    let light =
        Image { color_space: ColorSpace::Linear, ..image([2, 1], Channels::Gray, |x, _, _| [0.5, -2.0][x], floats) };
    let half = compressed(&light, of(1, Texel::F16), BlockQuality::Fast);
    assert_eq!((half.levels[0].to_vec(), half.color_space), (vec![0x00, 0x38, 0x00, 0xC0], ColorSpace::Linear));
    let float = compressed(&light, of(2, Texel::F32), BlockQuality::Fast);
    assert_eq!(float.levels[0].to_vec(), [0.5_f32, 1.0, -2.0, 1.0].map(f32::to_le_bytes).concat());
    // sRGB becomes linear if samples are floats.
    let white = image([1, 1], Channels::Gray, |_, _, _| 188.0 / 255.0, bytes);
    let light = compressed(&white, of(1, Texel::F32), BlockQuality::Fast);
    let written = f32::from_le_bytes(light.levels[0][..4].try_into().unwrap());
    assert!((written - 0.5).abs() < 0.004, "{written}");
}

#[test]
fn wild_images_are_no_harm() {
    let wild = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -3.0, 1e38, -0.0, 1e-30];
    let sample = |x: usize, y: usize, number: usize| wild[(x * 3 + y + number) % wild.len()];
    for channels in ALL_CHANNELS {
        for encoding in BLOCKS {
            let light = image([9, 6], channels, sample, floats);
            let decoded_pixels = decoded(&compressed(&light, encoding, BlockQuality::Fast));
            assert!(decoded_pixels.iter().all(|value| value.is_finite()));
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let image = image([8, 8], Channels::Rgb, waves, bytes);
    let refused =
        |levels: &[&Image], encoding| compress(levels, encoding, BlockQuality::Fast, &threads(1)).unwrap_err().kind();
    assert_eq!(refused(&[], Encoding::Bc7), ErrorKind::Usage);
    assert_eq!(refused(&[&image, &image], Encoding::Bc7), ErrorKind::Usage);
    assert_eq!(refused(&[&Image::default()], Encoding::Bc7), ErrorKind::Usage);
    let broken = Image { width: 9, ..image.clone() };
    assert_eq!(refused(&[&broken], Encoding::Bc7), ErrorKind::Usage);
    let odd = Encoding::Plain { channels: 3, texel: Texel::U8 };
    assert_eq!(refused(&[&image], odd), ErrorKind::Usage);
    let missing = [Encoding::Bc2, Encoding::Bc4 { signed: true }, Encoding::Bc6h { signed: true }];
    assert_eq!(missing.map(|encoding| refused(&[&image], encoding)), [ErrorKind::Unsupported; 3]);
}
