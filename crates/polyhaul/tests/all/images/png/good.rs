//! Valid files and their content.

use super::*;
use polyhaul::model::ColorSpace;

#[test]
fn pixels_are_those_of_another_decoder() {
    for folder in ["good/pngsuite", "good/own"] {
        for (name, bytes) in files("png", folder) {
            let image = load(bytes).unwrap();
            equal_to(&image, &file(&format!("expected/{name}.npy")), &name);
        }
    }
}

/// Asserts that an image equals a numpy array.
#[track_caller]
fn equal_to(image: &Image, array: &[u8], name: &str) {
    match &image.samples {
        Samples::U8(samples) => assert_eq!(samples[..], *shaped(image, array, "|u1", name), "{name}"),
        Samples::U16(samples) => {
            let expected = shaped(image, array, "<u2", name).chunks_exact(2);
            assert!(samples.iter().copied().eq(expected.map(|pair| u16::from_le_bytes([pair[0], pair[1]]))), "{name}");
        }
        Samples::F32(_) => panic!("PNG has no floats"),
    }
}

#[test]
fn pixels_by_hand() {
    let colors = chunk(b"PLTE", &[1, 2, 3, 4, 5, 6]);
    let loaded = load(of_chunks(&[header([3, 1], 1, 3), colors.clone(), pixels(&[0, 0b0100_0000])])).unwrap();
    assert_eq!(loaded.samples, Samples::U8([1, 2, 3, 4, 5, 6, 1, 2, 3].into()));
    let alpha = chunk(b"tRNS", &[9]);
    let loaded = load(of_chunks(&[header([2, 1], 8, 3), colors, alpha, pixels(&[0, 1, 0])])).unwrap();
    assert_eq!((loaded.channels, loaded.samples), (Channels::Rgba, Samples::U8([4, 5, 6, 255, 1, 2, 3, 9].into())));
    // The transparent 2-bit gray is 1, not 85.
    let key = chunk(b"tRNS", &[0, 1]);
    let loaded = load(of_chunks(&[header([3, 1], 2, 0), key, pixels(&[0, 0b0001_1000])])).unwrap();
    assert_eq!(loaded.channels, Channels::GrayAlpha);
    assert_eq!(loaded.samples, Samples::U8([0, 255, 85, 0, 170, 255].into()));
}

#[test]
fn the_file_says_whether_samples_are_linear() {
    for (name, expected) in [
        ("gamma_1", ColorSpace::Linear),
        ("gamma_45455", ColorSpace::Srgb),
        ("gamma_1_srgb", ColorSpace::Srgb),
        ("many_idat", ColorSpace::Srgb),
    ] {
        assert_eq!(load(file(&format!("good/own/{name}.png"))).unwrap().color_space, expected, "{name}");
    }
    // A profile takes precedence over the gamma, which is inserted after the header.
    let mut bytes = file("good/own/srgb_profile.png");
    bytes.splice(33..33, chunk(b"gAMA", &100_000_u32.to_be_bytes()));
    same_for_all("x.png", &bytes);
    assert_eq!(load(bytes).unwrap().color_space, ColorSpace::Srgb);
}

#[test]
fn what_follows_the_last_chunk_is_not_looked_at() {
    let mut bytes = file("good/pngsuite/basn2c08.png");
    let image = load(bytes.clone()).unwrap();
    bytes.extend([0x55; 100]);
    assert!(load(bytes.clone()).unwrap() == image);
    same_for_all("x.png", &bytes);
}

#[test]
fn the_content_tells_the_format() {
    let bytes = file("good/pngsuite/basn2c08.png");
    assert_eq!(crate::images::load("picture", bytes, &ReadOptions::default()).unwrap().width, 32);
}
