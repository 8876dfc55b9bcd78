//! Writes images and reads them again.

use super::*;
use polyhaul::model::ColorSpace;
use polyhaul::options::PngLevel;

/// An image with distinct rows.
fn sample(channels: Channels, is_wide: bool, width: usize, height: usize) -> Image {
    let count = width * height * channels.count();
    let value = |at: usize| (at * at / 97 + at / 31) % 65_536;
    let samples = if is_wide {
        Samples::U16((0..count).map(|at| value(at) as u16).collect())
    } else {
        Samples::U8((0..count).map(|at| (value(at) / 256) as u8).collect())
    };
    Image { width, height, channels, samples, ..Image::default() }
}

const LEVELS: [PngLevel; 3] = [PngLevel::Fast, PngLevel::Balanced, PngLevel::Best];

#[test]
fn what_is_written_is_read_again() {
    for channels in [Channels::Gray, Channels::GrayAlpha, Channels::Rgb, Channels::Rgba] {
        for is_wide in [false, true] {
            for color_space in [ColorSpace::Srgb, ColorSpace::Linear] {
                let image = Image { color_space, ..sample(channels, is_wide, 31, 23) };
                for png_level in LEVELS {
                    let style = ImageWriteOptions::default().with_png_level(png_level);
                    let bytes = written_by_all("x.png", &image, style);
                    assert!(load(bytes).unwrap() == image, "{channels:?} {is_wide} {png_level:?}");
                }
            }
        }
    }
}

/// Large enough for several parts.
#[test]
fn parts_make_one_file_for_any_threads() {
    let image = sample(Channels::Rgb, true, 611, 700);
    let sizes = LEVELS.map(|png_level| {
        let style = ImageWriteOptions::default().with_png_level(png_level);
        let expected = written("x.png", &image, style, &read_options(1, None).run).unwrap();
        for count in [2, 3, 64] {
            assert!(written("x.png", &image, style, &read_options(count, Some(700)).run).unwrap() == expected);
        }
        assert!(expected.windows(4).filter(|window| window == b"IDAT").count() > 4);
        assert!(load(expected.clone()).unwrap() == image);
        expected.len()
    });
    assert!(sizes[0] > sizes[2] && sizes[0] < image.samples.len() * 2, "{sizes:?}");
}

#[test]
fn colors_are_divided_by_alpha() {
    let samples = Samples::U8([10, 64, 128, 128, 9, 9, 9, 0].into());
    let image =
        Image { width: 2, height: 1, channels: Channels::Rgba, samples, premultiplied: true, ..Image::default() };
    let written = load(written_by_all("x.png", &image, ImageWriteOptions::default())).unwrap();
    assert_eq!(written.samples, Samples::U8([20, 128, 255, 128, 0, 0, 0, 0].into()));
    assert!(!written.premultiplied);
}

#[test]
fn what_does_not_fit_is_refused() {
    let error = written("x.png", &Image::default(), ImageWriteOptions::default(), &RunOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    let image = sample(Channels::Rgb, false, 1, 1);
    let error = written("x.bmp", &image, ImageWriteOptions::default(), &RunOptions::default()).unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Usage, "bmp is read-only"));
}
