//! Photoshop documents.

use crate::images::*;
use polyhaul::ErrorKind;
use polyhaul::model::ColorSpace;

/// A document of 2 x 1 pixels with this mode, bit depth, palette, layer count and pixel data.
fn document(mode: u16, bits: u16, channels: u16, palette: &[u8], layers: i16, method: u16, pixels: &[u8]) -> Vec<u8> {
    let mut bytes = b"8BPS\0\x01\0\0\0\0\0\0".to_vec();
    bytes.extend(channels.to_be_bytes());
    bytes.extend([0, 0, 0, 1, 0, 0, 0, 2]);
    bytes.extend(bits.to_be_bytes().into_iter().chain(mode.to_be_bytes()));
    bytes.extend((palette.len() as u32).to_be_bytes());
    bytes.extend_from_slice(palette);
    // Resources of three bytes; layer data of two bytes after its count.
    bytes.extend([0, 0, 0, 3, 9, 9, 9, 0, 0, 0, 8, 0, 0, 0, 4]);
    bytes.extend(layers.to_be_bytes().into_iter().chain([7, 7]));
    bytes.extend(method.to_be_bytes());
    bytes.extend_from_slice(pixels);
    bytes
}

fn read(bytes: Vec<u8>) -> Result<Image> {
    load("x.psd", bytes, &ReadOptions::default())
}

#[test]
fn files_are_what_another_decoder_makes_of_them() {
    for (name, bytes) in files("psd", "good") {
        let expected = load("x.tga", file("psd", &format!("expected/{name}.tga")), &ReadOptions::default()).unwrap();
        assert!(read(bytes).unwrap() == expected, "{name}");
    }
}

#[test]
fn modes_and_bits() {
    let palette: Vec<u8> = [[1_u8, 2], [3, 4], [5, 6]]
        .iter()
        .flat_map(|[a, b]| {
            let mut colors = vec![0; 256];
            colors[0] = *a;
            colors[255] = *b;
            colors
        })
        .collect();
    let u8s = |samples: &[u8]| Samples::U8(samples.to_vec().into());
    for (mode, bits, channels, pixels, expected) in [
        // Set bits are black.
        (0, 1, 1, &[0x40][..], (Channels::Gray, u8s(&[255, 0]))),
        (1, 8, 1, &[7, 8], (Channels::Gray, u8s(&[7, 8]))),
        (8, 8, 1, &[7, 8], (Channels::Gray, u8s(&[7, 8]))),
        (2, 8, 1, &[255, 0], (Channels::Rgb, u8s(&[2, 4, 6, 1, 3, 5]))),
        (3, 8, 3, &[1, 2, 3, 4, 5, 6], (Channels::Rgb, u8s(&[1, 3, 5, 2, 4, 6]))),
        (4, 8, 4, &[255, 100, 255, 0, 0, 0, 255, 128], (Channels::Rgb, u8s(&[255, 255, 0, 50, 0, 0]))),
        (1, 16, 1, &[1, 2, 3, 4], (Channels::Gray, Samples::U16([0x102, 0x304].into()))),
        (1, 32, 1, &[0x3F, 0x80, 0, 0, 0xC0, 0, 0, 0], (Channels::Gray, Samples::F32([1.0, -2.0].into()))),
    ] {
        let bytes = document(mode, bits, channels, if mode == 2 { &palette } else { &[] }, 1, 0, pixels);
        same_for_all("x.psd", &bytes);
        let image = read(bytes.clone()).unwrap();
        assert_eq!((image.channels, image.samples), expected, "{mode} {bits}");
        assert_eq!(image.color_space == ColorSpace::Linear, bits == 32);
        for size in 0..bytes.len() {
            let options = ReadOptions::default().with_format(Some(Format::Psd));
            let error = load("x.psd", bytes[..size].to_vec(), &options).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Malformed, "{mode} {bits} {size}: {error}");
        }
    }
}

/// The layers of a document of 16 bits are in a block, after the block that marks its transparency.
#[test]
fn layers_of_16_bits_say_whether_there_is_alpha() {
    let pixels = [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8];
    for (layers, expected) in [
        (-1_i16, (Channels::Rgba, Samples::U16([1, 3, 5, 7, 2, 4, 6, 8].into()))),
        (1, (Channels::Rgb, Samples::U16([1, 3, 5, 2, 4, 6].into()))),
    ] {
        let blocks =
            [&[0_u8; 8][..], b"8BIMMt16\0\0\0\0", b"8BIMLr16\0\0\0\x04", &layers.to_be_bytes(), &[7; 2]].concat();
        let section = [&(blocks.len() as u32).to_be_bytes()[..], &blocks].concat();
        let mut bytes = document(3, 16, 4, &[], 0, 0, &pixels);
        bytes.splice(37..49, section);
        same_for_all("x.psd", &bytes);
        let image = read(bytes).unwrap();
        assert_eq!((image.channels, image.samples), expected, "{layers}");
    }
}

#[test]
fn alpha_is_what_the_layers_say() {
    for (mode, layers, expected) in [
        (1, -1, (Channels::GrayAlpha, vec![1, 3, 2, 4])),
        (1, 1, (Channels::Gray, vec![1, 2])),
        (3, -2, (Channels::Rgba, vec![1, 3, 5, 7, 2, 4, 6, 8])),
        (3, 2, (Channels::Rgb, vec![1, 3, 5, 2, 4, 6])),
        (4, -1, (Channels::Rgba, vec![0, 0, 0, 9, 0, 0, 0, 10])),
    ] {
        // One more channel than colors, and an additional one.
        let channels = match mode {
            1 => 3,
            3 => 5,
            _ => 6,
        };
        let pixels: Vec<u8> = (1..=2 * channels as u8).collect();
        let image = read(document(mode, 8, channels, &[], layers, 0, &pixels)).unwrap();
        assert_eq!((image.channels, image.samples), (expected.0, Samples::U8(expected.1.into())), "{mode} {layers}");
    }
}

#[test]
fn packets_are_checked() {
    let packed = |sizes: [u16; 1], packets: &[u8]| {
        let bytes = [&sizes[0].to_be_bytes()[..], packets].concat();
        document(1, 8, 1, &[], 0, 1, &bytes)
    };
    for (packets, expected) in [(&[0xFF, 7][..], [7, 7]), (&[1, 3, 4], [3, 4]), (&[0, 3, 0x80, 0, 4], [3, 4])] {
        let image = read(packed([packets.len() as u16], packets)).unwrap();
        assert_eq!(image.samples, Samples::U8(expected.into()));
    }
    for packets in [&[0xFE, 7][..], &[2, 3, 4, 5], &[0, 3], &[1, 3], &[0xFF], &[]] {
        let error = error("x.psd", &packed([packets.len() as u16], packets));
        assert_eq!(error.kind(), ErrorKind::Malformed, "{packets:?}");
        assert!(error.place().offset.is_some_and(|offset| offset >= 52), "{packets:?}: {error}");
    }
    assert_eq!(error("x.psd", &packed([9], &[1, 3, 4])).kind(), ErrorKind::Malformed);
}

#[test]
fn large_documents_have_longer_sizes() {
    let mut bytes = b"8BPS\0\x02\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\x02\0\x08\0\x01".to_vec();
    bytes.extend([0; 8]);
    // Layer data of 10 bytes: its size, and a negative count.
    bytes.extend([0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 2, 0xFF, 0xFF]);
    bytes.extend([0, 1, 0, 0, 0, 2, 0xFF, 5]);
    assert_eq!(read(bytes.clone()).unwrap().samples, Samples::U8([5, 5].into()));
    same_for_all("x.psd", &bytes);
}

#[test]
fn what_headers_may_not_say() {
    let good = document(3, 8, 3, &[], 0, 0, &[1; 6]);
    for (at, byte, kind) in [
        (5, 3, ErrorKind::Malformed),
        (13, 2, ErrorKind::Malformed),
        (12, 1, ErrorKind::Malformed),
        (17, 0, ErrorKind::Malformed),
        (14, 255, ErrorKind::Limit),
        (18, 127, ErrorKind::Malformed),
        (23, 7, ErrorKind::Malformed),
        (25, 9, ErrorKind::Unsupported),
        (25, 7, ErrorKind::Unsupported),
        (25, 5, ErrorKind::Malformed),
        (26, 255, ErrorKind::Malformed),
        (30, 255, ErrorKind::Malformed),
        (37, 255, ErrorKind::Malformed),
        (50, 2, ErrorKind::Unsupported),
    ] {
        let mut bytes = good.clone();
        bytes[at] = byte;
        let error = error("x.psd", &bytes);
        let is_limit = error.kind() == ErrorKind::Limit && at == 18;
        assert!(error.kind() == kind || is_limit, "{at}: {error}");
        assert!(error.place().offset.is_some(), "{at}: {error}");
    }
}

#[test]
fn documents_without_a_merged_image_are_told() {
    let plain = document(3, 8, 3, &[], 0, 0, &[1, 4, 2, 5, 3, 6]);
    let with_resources = |resources: &[u8]| {
        let start = 30;
        let size = (resources.len() as u32).to_be_bytes();
        [&plain[..start], &size, resources, &plain[start + 7..]].concat()
    };
    let version = |has_merged: u8| {
        let data = [0, 0, 0, 1, has_merged, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        [&b"8BIM\x04\x04\x03abc\0\0\0\x01\x07\0"[..], b"8BIM\x04\x21\0\0\0\0\0\x11", &data, &[0]].concat()
    };
    for (has_merged, expected) in [(0, vec![("missing-merged-image", 1)]), (1, vec![])] {
        let (image, counts) = warned("x.psd", &with_resources(&version(has_merged)));
        assert_eq!((byte_samples(&image), counts), (&[1, 2, 3, 4, 5, 6][..], expected));
    }
    // Truncated or damaged resources are ignored.
    for end in 0..version(0).len() {
        assert_eq!(read(with_resources(&version(0)[..end])).unwrap(), read(plain.clone()).unwrap());
    }
}
