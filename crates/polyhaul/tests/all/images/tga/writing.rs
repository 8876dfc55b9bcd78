//! Writes images and reads them again.

use super::*;
use polyhaul::ErrorKind;

/// An image with runs of every length, and pixels without runs.
fn sample(channels: Channels) -> Image {
    let width = 311;
    let height = 23;
    let size = channels.count();
    let mut samples = Vec::new();
    for place in 0..width * height {
        let run = place / (1 + place / width * 7);
        samples.extend((0..size).map(|channel| (run * (channel + 3)) as u8));
    }
    image(width, height, channels, samples)
}

#[test]
fn what_is_written_is_read_again() {
    for channels in [Channels::Gray, Channels::GrayAlpha, Channels::Rgb, Channels::Rgba] {
        for tga_rle in [false, true] {
            for premultiplied in [false, channels.has_alpha()] {
                let image = Image { premultiplied, ..sample(channels) };
                let bytes = written_by_all("x.tga", &image, ImageWriteOptions::default().with_rle(tga_rle));
                assert!(load(bytes.clone()).unwrap() == image, "{channels:?} {tga_rle}");
                let plain = 18 + image.samples.len() + 26 + if premultiplied { 495 } else { 0 };
                assert_eq!(bytes.len() < plain, tga_rle, "{channels:?}");
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let save = |image: &Image| {
        written("x.tga", image, ImageWriteOptions::default(), &RunOptions::default()).unwrap_err().kind()
    };
    let kinds = [
        save(&image(70_000, 1, Channels::Gray, vec![0; 70_000])),
        save(&image(0, 1, Channels::Gray, Vec::new())),
        save(&image(2, 2, Channels::Gray, vec![0; 3])),
    ];
    assert_eq!(kinds, [ErrorKind::Usage; 3]);
}
