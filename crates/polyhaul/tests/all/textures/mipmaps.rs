//! Mip levels: handmade examples, and invariants.

use super::{ALL_CHANNELS, bytes, floats, image, noise, threads, words};
use polyhaul::ErrorKind;
use polyhaul::model::{Channels, ColorSpace, Image, Samples, Texture};
use polyhaul::ops::{ImageOps, MipmapContent, MipmapEdges, MipmapFilter, MipmapOptions};

const SIZES: [[usize; 2]; 9] = [[1, 1], [1, 7], [8, 1], [3, 5], [17, 1], [16, 16], [31, 18], [2, 2], [64, 33]];

fn options(filter: MipmapFilter) -> MipmapOptions {
    MipmapOptions::default().with_filter(filter)
}

fn levels(image: &Image, options: &MipmapOptions) -> Vec<Image> {
    image.mipmaps_with(options, &threads(2)).unwrap()
}

#[test]
fn levels_have_the_sizes_of_textures() {
    for [width, height] in SIZES {
        let texture = Texture { width, height, depth: 1, ..Texture::default() };
        let mip_levels = levels(&image([width, height], Channels::Rgb, noise, bytes), &MipmapOptions::default());
        assert_eq!(mip_levels.len(), width.max(height).ilog2() as usize);
        for (number, level) in mip_levels.iter().enumerate() {
            assert_eq!([level.width, level.height, 1], texture.level_size(number + 1));
            assert_eq!(level.sample_count(), Some(level.samples.len()));
        }
    }
}

#[test]
fn what_is_the_same_everywhere_stays_so() {
    let colour = |_: usize, _: usize, number: usize| [0.1, 0.6, 0.9, 0.3][number];
    for size in SIZES {
        for channels in ALL_CHANNELS {
            for filter in [MipmapFilter::Box, MipmapFilter::Kaiser] {
                for edges in [MipmapEdges::Clamp, MipmapEdges::Wrap] {
                    let options = MipmapOptions::default().with_filter(filter).with_edges(edges);
                    for kind in [bytes, words] {
                        for level in levels(&image(size, channels, colour, kind), &options) {
                            let expected = image([level.width, level.height], channels, colour, kind);
                            assert_eq!(level, expected, "{size:?} {filter:?}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn four_pixels_by_hand() {
    let four = |samples: &[u8], channels| Image {
        width: 2,
        height: 2,
        channels,
        samples: Samples::U8(samples.iter().copied().collect()),
        ..Image::default()
    };
    let base_samples = |image: &Image, options: &MipmapOptions| levels(image, options)[0].samples.clone();
    let plain = MipmapOptions::default();
    let gray = four(&[0, 255, 255, 0], Channels::Gray);
    assert_eq!(base_samples(&gray, &plain), Samples::U8([188].into()));
    assert_eq!(base_samples(&Image { color_space: ColorSpace::Linear, ..gray }, &plain), Samples::U8([128].into()));
    // One red pixel among invisible green ones: half of the result would be green.
    let red = [255, 0, 0, 255, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0];
    let red = four(&red, Channels::Rgba);
    assert_eq!(base_samples(&red, &plain), Samples::U8([255, 0, 0, 64].into()));
    let unweighed = plain.with_weigh_by_alpha(Some(false));
    assert_eq!(base_samples(&red, &unweighed), Samples::U8([137, 225, 0, 64].into()));
    // All are invisible, so their colors are used anyway.
    let hidden = four(&[10, 20, 30, 0].repeat(4), Channels::Rgba);
    assert_eq!(base_samples(&hidden, &plain), Samples::U8([10, 20, 30, 0].into()));
}

#[test]
fn the_two_ways_to_halve_bytes_agree() {
    // The same image with 16 bits uses the general path.
    for channels in ALL_CHANNELS {
        for color_space in [ColorSpace::Srgb, ColorSpace::Linear] {
            let narrow = Image { color_space, ..image([32, 20], channels, noise, bytes) };
            let Samples::U8(samples) = &narrow.samples else { unreachable!() };
            let wide = samples.iter().map(|&byte| u16::from(byte) * 257).collect();
            let wide = Image { samples: Samples::U16(wide), ..narrow.clone() };
            let [narrow, wide] = [narrow, wide].map(|image| levels(&image, &MipmapOptions::default()).swap_remove(0));
            let Samples::U8(narrow) = narrow.samples else { unreachable!() };
            let Samples::U16(wide) = wide.samples else { unreachable!() };
            let misses = narrow.iter().zip(&wide).map(|(&a, &b)| (f32::from(a) - f32::from(b) / 257.0).abs());
            assert!(misses.fold(0.0, f32::max) < 0.503);
        }
    }
}

#[test]
fn light_is_kept() {
    for size in SIZES {
        let light = Image { color_space: ColorSpace::Linear, ..image(size, Channels::Rgb, noise, floats) };
        let sum = |image: &Image| {
            let Samples::F32(samples) = &image.samples else { unreachable!() };
            samples.iter().map(|&sample| f64::from(sample)).sum::<f64>() / samples.len() as f64
        };
        for level in levels(&light, &MipmapOptions::default()) {
            assert!((sum(&level) - sum(&light)).abs() < 1e-5, "{size:?}");
        }
    }
}

#[test]
fn the_same_for_any_number_of_threads() {
    for (size, filter) in
        [([640, 300], MipmapFilter::Box), ([333, 257], MipmapFilter::Box), ([300, 222], MipmapFilter::Kaiser)]
    {
        for kind in [bytes, floats] {
            let image = image(size, Channels::Rgba, noise, kind);
            let made = |count| image.mipmaps_with(&options(filter), &threads(count)).unwrap();
            assert_eq!(made(1), made(2));
            assert_eq!(made(1), made(7));
        }
    }
}

#[test]
fn a_sharper_filter_is_sharper_and_wraps() {
    let stripe = |x: usize, _: usize, _: usize| if x < 8 { 1.0 } else { 0.0 };
    let stripes = Image { color_space: ColorSpace::Linear, ..image([32, 1], Channels::Gray, stripe, floats) };
    let first = |options: &MipmapOptions| {
        let Samples::F32(samples) = levels(&stripes, options).swap_remove(0).samples else { unreachable!() };
        samples.to_vec()
    };
    assert_eq!(first(&options(MipmapFilter::Box))[..5], [1.0, 1.0, 1.0, 1.0, 0.0]);
    let kaiser = first(&options(MipmapFilter::Kaiser));
    assert!(kaiser[2] > 1.01 && kaiser[5] < -0.01, "it overshoots at edges: {kaiser:?}");
    assert!(kaiser[1] < 1.0 && kaiser[14].abs() < 1e-6);
    let wrapped = first(&options(MipmapFilter::Kaiser).with_edges(MipmapEdges::Wrap));
    assert!(wrapped[0] < 0.95 && wrapped[15] > 0.05, "{wrapped:?}");
}

#[test]
fn normals_stay_as_long_as_they_were() {
    let arrow = |x: usize, y: usize, number: usize| {
        let a = noise(x, y, 1) * 2.0 - 1.0;
        let b = noise(x, y, 2) * 2.0 - 1.0;
        let arrow = [a, b, 0.4];
        let length = arrow.iter().map(|v| v * v).sum::<f32>().sqrt();
        0.5 + 0.5 * arrow[number] / length
    };
    let options = MipmapOptions::default().with_content(MipmapContent::Normals);
    for level in levels(&image([33, 16], Channels::Rgb, arrow, bytes), &options) {
        let Samples::U8(samples) = level.samples else { unreachable!() };
        for pixel in samples.as_chunks::<3>().0 {
            let [x, y, z] = pixel.map(|byte| f32::from(byte) / 127.5 - 1.0);
            assert!(((x * x + y * y + z * z).sqrt() - 1.0).abs() < 0.012, "{pixel:?}");
        }
    }
    let gray = image([2, 2], Channels::Gray, noise, bytes);
    assert_eq!(gray.mipmaps_with(&options, &threads(1)).unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn what_is_cut_out_does_not_shrink() {
    let leaf = |x: usize, y: usize, number: usize| match number {
        3 if noise(x, y, 9) < 0.3 => 1.0,
        3 => 0.0,
        _ => 0.5,
    };
    let leaves = image([128, 128], Channels::Rgba, leaf, bytes);
    let share = |image: &Image| {
        let Samples::U8(samples) = &image.samples else { unreachable!() };
        let pixels = samples.as_chunks::<4>().0;
        pixels.iter().filter(|pixel| pixel[3] >= 128).count() as f32 / pixels.len() as f32
    };
    let with_cutoff = MipmapOptions::default().with_alpha_cutoff(Some(0.5));
    let plain = levels(&leaves, &MipmapOptions::default());
    let with_cutoff = levels(&leaves, &with_cutoff);
    assert!((share(&leaves) - share(&plain[3])).abs() > 0.15, "it would shrink: {}", share(&plain[3]));
    for level in &with_cutoff[..4] {
        assert!((share(&leaves) - share(level)).abs() < 0.08, "{} and {}", share(&leaves), share(level));
    }
    // Colors are unchanged.
    let Samples::U8(plain) = &plain[2].samples else { unreachable!() };
    let Samples::U8(with_cutoff) = &with_cutoff[2].samples else { unreachable!() };
    assert!(plain.as_chunks::<4>().0.iter().zip(with_cutoff.as_chunks::<4>().0).all(|(a, b)| a[..3] == b[..3]));
}

#[test]
fn wild_images_are_no_harm() {
    let wild = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -3.0, 1e38, -0.0];
    let sample = |x: usize, y: usize, number: usize| wild[(x * 3 + y + number) % wild.len()];
    for channels in ALL_CHANNELS {
        for (filter, color_space) in [(MipmapFilter::Box, ColorSpace::Srgb), (MipmapFilter::Kaiser, ColorSpace::Linear)]
        {
            let image = Image { color_space, ..image([9, 6], channels, sample, floats) };
            for premultiplied in [true, false] {
                levels(&Image { premultiplied, ..image.clone() }, &options(filter));
            }
            let cut = options(filter).with_alpha_cutoff(Some(0.5));
            levels(&image, &cut);
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let broken = Image { width: 4, height: 4, samples: Samples::U8([0; 5].into()), ..Image::default() };
    let whole = image([2, 2], Channels::Rgba, noise, bytes);
    let cut = MipmapOptions::default().with_alpha_cutoff(Some(f32::NAN));
    let multiplied = Image { premultiplied: true, ..whole.clone() };
    let half = cut.with_alpha_cutoff(Some(0.5));
    for (image, options) in [(&broken, &MipmapOptions::default()), (&whole, &cut), (&multiplied, &half)] {
        assert_eq!(image.mipmaps_with(options, &threads(1)).unwrap_err().kind(), ErrorKind::Usage);
    }
    assert_eq!(levels(&Image::default(), &MipmapOptions::default()), []);
}

#[test]
fn a_cancelled_job_ends() {
    let run = threads(2);
    run.cancel.cancel();
    let image = image([64, 64], Channels::Rgb, noise, bytes);
    let error = image.mipmaps_with(&MipmapOptions::default(), &run).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn infinity_stays_where_it_counts() {
    let row = [0.0, 0.0, 0.0, f32::INFINITY, 0.0];
    let samples = Samples::F32(row.into());
    let color_space = ColorSpace::Linear;
    let image = Image { width: 5, height: 1, channels: Channels::Gray, samples, color_space, ..Image::default() };
    assert_eq!(levels(&image, &options(MipmapFilter::Box))[0].samples, Samples::F32([0.0, f32::INFINITY].into()));
}

#[test]
fn without_pixels_there_are_no_levels() {
    for (width, height) in [(0, 2), (2, 0), (0, 0)] {
        let image = Image { width, height, ..Image::default() };
        assert_eq!(levels(&image, &options(MipmapFilter::Box)), []);
    }
}
