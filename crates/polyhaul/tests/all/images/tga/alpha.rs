//! Alpha channels: declared by the file, undeclared, or declared as meaningless.

use super::*;

/// A version 2 file whose extension declares this alpha type.
fn with_type(mut file: Vec<u8>, kind: u8) -> Vec<u8> {
    let place = file.len() as u32;
    file.extend([0; 494]);
    file.push(kind);
    file.extend(place.to_le_bytes());
    file.extend([0; 4]);
    file.extend(b"TRUEVISION-XFILE.\0");
    file
}

/// Two 32-bit pixels with these alpha values.
fn two(attribute_bits: u8, alphas: [u8; 2]) -> Vec<u8> {
    let mut file = header(2, NO_MAP, [2, 1], 32, 0x20 | attribute_bits);
    file.extend([1, 2, 3, alphas[0], 4, 5, 6, alphas[1]]);
    file
}

/// Two 16-bit pixels with these attribute bits.
fn two_short(attribute_bits: u8, bits: [bool; 2]) -> Vec<u8> {
    let mut file = header(2, NO_MAP, [2, 1], 16, 0x20 | attribute_bits);
    file.extend(bits.into_iter().flat_map(|bit| (0x7C00 | u16::from(bit) << 15).to_le_bytes()));
    file
}

#[track_caller]
fn alpha_of(file: &[u8]) -> (Option<Vec<u8>>, Vec<(&'static str, u64)>) {
    let (image, counts) = warned("x.tga", file);
    let size = image.channels.count();
    let alphas = byte_samples(&image).chunks_exact(size).map(|pixel| pixel[size - 1]).collect();
    (image.channels.has_alpha().then_some(alphas), counts)
}

#[test]
fn alpha_of_32_bits_is_kept_unless_it_hides_the_image() {
    for (file, alphas, counts) in [
        // Declared: kept, whatever the values.
        (two(8, [0, 0]), Some([0, 0]), vec![]),
        (two(8, [7, 255]), Some([7, 255]), vec![]),
        // Undeclared: kept with a warning, unless all values are zero.
        (two(0, [7, 255]), Some([7, 255]), vec![("undeclared-alpha", 1)]),
        (two(0, [0, 1]), Some([0, 1]), vec![("undeclared-alpha", 1)]),
        (two(0, [0, 0]), None, vec![("unused-alpha", 1)]),
        (two(0, [255, 255]), Some([255, 255]), vec![]),
    ] {
        assert_eq!(alpha_of(&file), (alphas.map(Vec::from), counts), "{file:?}");
    }
    let (image, _) = warned("x.tga", &two(0, [0, 0]));
    assert_eq!((image.channels, byte_samples(&image)), (Channels::Rgb, &[3, 2, 1, 6, 5, 4][..]));
}

#[test]
fn the_extension_overrides_attribute_bits() {
    let varies = || Some(vec![7, 255]);
    for (kind, unused, varied) in [
        (0, (None, vec![("unused-alpha", 1)]), (varies(), vec![("undeclared-alpha", 1)])),
        (1, (None, vec![("unused-alpha", 1)]), (varies(), vec![("undeclared-alpha", 1)])),
        // Undefined, but to be retained.
        (2, (None, vec![("unused-alpha", 1)]), (varies(), vec![])),
        (3, (Some(vec![0, 0]), vec![]), (varies(), vec![])),
        (4, (Some(vec![0, 0]), vec![]), (varies(), vec![])),
    ] {
        for attribute_bits in [0, 8] {
            assert_eq!(alpha_of(&with_type(two(attribute_bits, [0, 0]), kind)), unused, "{kind} {attribute_bits}");
            assert_eq!(alpha_of(&with_type(two(attribute_bits, [7, 255]), kind)), varied, "{kind} {attribute_bits}");
        }
    }
    // An unknown type declares nothing.
    assert_eq!(alpha_of(&with_type(two(8, [0, 0]), 77)), (Some(vec![0, 0]), vec![]));
    assert_eq!(alpha_of(&with_type(two(0, [0, 0]), 77)), (None, vec![("unused-alpha", 1)]));
}

#[test]
fn sixteen_bits_without_an_attribute_are_opaque() {
    for (file, alphas, counts) in [
        (two_short(1, [false, false]), None, vec![("unused-alpha", 1)]),
        (two_short(1, [false, true]), Some([0, 255]), vec![]),
        (two_short(1, [true, true]), Some([255, 255]), vec![]),
        (with_type(two_short(1, [false, false]), 2), None, vec![("unused-alpha", 1)]),
        (with_type(two_short(1, [false, false]), 3), Some([0, 0]), vec![]),
        // Without attribute bits, the 16th bit has no meaning, and is dropped with a warning if it is set.
        (two_short(0, [false, false]), None, vec![]),
        (two_short(0, [true, true]), None, vec![]),
        (two_short(0, [true, false]), None, vec![("left-out-alpha", 1)]),
    ] {
        assert_eq!(alpha_of(&file), (alphas.map(Vec::from), counts), "{file:?}");
    }
}

#[test]
fn the_sixteenth_bit_of_a_colour_map_follows_the_rule_of_pixels() {
    let mapped = |attribute_bits: u8, depth: u8, bits: [u8; 2]| {
        let mut file = header(1, [1, 0, 0, 2, 0, depth], [2, 1], 8, 0x20 | attribute_bits);
        file.extend([7, bits[0] << 7, 9, bits[1] << 7, 0, 1]);
        warned("x.tga", &file)
    };
    let (image, counts) = mapped(0, 16, [0, 1]);
    assert_eq!((image.channels, counts), (Channels::Rgb, vec![("left-out-alpha", 1)]));
    assert_eq!(mapped(0, 16, [1, 1]).1, []);
    assert_eq!(mapped(0, 16, [0, 0]).1, []);
    // 15 bits only have this layout; an attribute bit is alpha.
    assert_eq!(mapped(0, 15, [0, 1]).1, []);
    assert_eq!((mapped(1, 16, [0, 1]).0.channels, mapped(1, 16, [0, 1]).1), (Channels::Rgba, vec![]));
}

#[test]
fn gray_maps_and_packets_follow_the_same_rule() {
    let mut gray = header(3, NO_MAP, [2, 1], 16, 0x20);
    gray.extend([9, 0, 8, 0]);
    let (image, counts) = warned("x.tga", &gray);
    assert_eq!(
        (image.channels, byte_samples(&image), counts),
        (Channels::Gray, &[9, 8][..], vec![("unused-alpha", 1)])
    );
    let mapped = |alphas: [u8; 2]| {
        let mut file = header(1, [1, 0, 0, 2, 0, 32], [2, 1], 8, 0x20);
        file.extend([1, 2, 3, alphas[0], 4, 5, 6, alphas[1], 0, 1]);
        file
    };
    assert_eq!(alpha_of(&mapped([0, 0])), (None, vec![("unused-alpha", 1)]));
    assert_eq!(alpha_of(&mapped([0, 9])), (Some(vec![0, 9]), vec![("undeclared-alpha", 1)]));
    let packets = |last: u8| {
        let mut file = header(10, NO_MAP, [300, 2], 32, 0);
        [0xFF; 4].into_iter().for_each(|head: u8| file.extend([head, 1, 2, 3, 0]));
        file.extend([87 | 0x80, 1, 2, 3, last]);
        file
    };
    let (image, counts) = warned("x.tga", &packets(0));
    assert_eq!((image.channels, counts), (Channels::Rgb, vec![("unused-alpha", 1)]));
    assert_eq!(byte_samples(&image), [3, 2, 1].repeat(600));
    assert_eq!(warned("x.tga", &packets(1)).1, [("undeclared-alpha", 1)]);
}

/// Written alpha is preserved, even if it makes the image invisible.
#[test]
fn written_alpha_is_declared() {
    for channels in [Channels::GrayAlpha, Channels::Rgba] {
        let transparent = image(4, 2, channels, vec![0; 8 * channels.count()]);
        let bytes = written_by_all("x.tga", &transparent, ImageWriteOptions::default());
        assert_eq!(warned("x.tga", &bytes), (transparent, vec![]));
    }
}
