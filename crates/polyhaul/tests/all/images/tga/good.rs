//! Valid files and their content.

use super::*;

#[test]
fn files_of_one_image_are_equal_however_they_are_stored() {
    for (kind, channels) in [("l", Channels::Gray), ("rgb", Channels::Rgb), ("rgba", Channels::Rgba)] {
        let load = |how: &str| load(file(&format!("good/pillow/200x32_{kind}_{how}.tga"))).unwrap();
        let first = load("tl_raw");
        assert_eq!((first.width, first.height, first.channels), (200, 32, channels));
        for other in ["tl_rle", "bl_raw", "bl_rle"] {
            assert!(load(other) == first, "{kind} {other}");
        }
    }
}

#[test]
fn pixels_by_hand() {
    let with = |mut header: Vec<u8>, pixels: &[u8]| {
        header.extend(pixels);
        load(header).unwrap()
    };
    // Two rows, the bottom one first.
    let pixels = with(header(2, NO_MAP, [1, 2], 24, 0), &[1, 2, 3, 4, 5, 6]);
    assert_eq!(pixels, image(1, 2, Channels::Rgb, vec![6, 5, 4, 3, 2, 1]));
    // From the top right.
    let pixels = with(header(2, NO_MAP, [2, 1], 32, 0x38), &[1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(pixels, image(2, 1, Channels::Rgba, vec![7, 6, 5, 8, 3, 2, 1, 4]));
    let pixels = with(header(3, NO_MAP, [2, 1], 16, 0x28), &[9, 8, 7, 6]);
    assert_eq!(pixels, image(2, 1, Channels::GrayAlpha, vec![9, 8, 7, 6]));
    // 15 bits, and 16 bits with and without an alpha bit.
    for (bits, descriptor, expected) in [(15, 0, vec![255, 0, 0]), (16, 0, vec![255, 0, 0]), (16, 1, vec![255, 0, 0])] {
        let pixels = with(header(2, NO_MAP, [1, 1], bits, descriptor), &[0, 0x7C]);
        assert_eq!(byte_samples(&pixels), expected, "{bits} {descriptor}");
    }
}

#[test]
fn maps_start_where_they_say() {
    // Colors 5 and 6 have 24 bits; a two-byte ID field precedes them.
    let mut file = header(1, [1, 5, 0, 2, 0, 24], [3, 1], 8, 0x20);
    file[0] = 2;
    file.extend([0xEE, 0xEE, 1, 2, 3, 4, 5, 6]);
    file.extend([6, 5, 6]);
    assert_eq!(load(file).unwrap(), image(3, 1, Channels::Rgb, vec![6, 5, 4, 3, 2, 1, 6, 5, 4]));
    // In packets, with 16-bit indices.
    let mut file = header(9, [1, 0, 1, 1, 0, 32], [4, 1], 16, 0x20);
    file.extend([1, 2, 3, 4]);
    file.extend([0x83, 0, 1]);
    assert_eq!(byte_samples(&load(file).unwrap()), [3, 2, 1, 4].repeat(4));
}

#[test]
fn a_map_that_nobody_uses_is_passed() {
    let mut file = header(2, [1, 0, 0, 2, 0, 24], [1, 1], 24, 0);
    file.extend([0xEE; 6]);
    file.extend([1, 2, 3]);
    assert_eq!(byte_samples(&load(file).unwrap()), [3, 2, 1]);
}

#[test]
fn packets_may_go_on_in_the_next_row() {
    for descriptor in [0, 0x20] {
        let mut file = header(11, NO_MAP, [2, 3], 8, descriptor);
        file.extend([0x84, 7, 0, 9]);
        let rows = if descriptor == 0 { vec![7, 9, 7, 7, 7, 7] } else { vec![7, 7, 7, 7, 7, 9] };
        assert_eq!(byte_samples(&load(file).unwrap()), rows);
    }
}

#[test]
fn the_extension_says_whether_colors_are_multiplied() {
    for (alpha, has_alpha) in [(3, false), (4, true)] {
        let mut file = header(2, NO_MAP, [1, 1], 32, 8);
        file.extend([1, 2, 3, 4]);
        let place = file.len() as u32;
        file.extend([0; 494]);
        file.push(alpha);
        file.extend(place.to_le_bytes());
        file.extend([0; 4]);
        file.extend(b"TRUEVISION-XFILE.\0");
        assert_eq!(load(file.clone()).unwrap().premultiplied, has_alpha);
        let streamed = load_stream("x.tga", file.clone(), &ReadOptions::default()).unwrap();
        assert_eq!(streamed.premultiplied, has_alpha);
        let image = load(file.clone()).unwrap();
        for tga_rle in [false, true] {
            let bytes =
                written("x.tga", &image, ImageWriteOptions::default().with_rle(tga_rle), &RunOptions::default())
                    .unwrap();
            assert_eq!(load_stream("x.tga", bytes, &ReadOptions::default()).unwrap().premultiplied, has_alpha);
        }
        // Invalid offsets.
        for place in [1, 519, 100_000, u32::MAX] {
            let at = file.len() - 26;
            file[at..at + 4].copy_from_slice(&place.to_le_bytes());
            assert!(!load(file.clone()).unwrap().premultiplied);
        }
    }
}

#[test]
fn the_content_tells_the_format() {
    let bytes = file("good/pillow/200x32_rgb_tl_rle.tga");
    assert_eq!(crate::images::load("picture", bytes, &ReadOptions::default()).unwrap().width, 200);
}

/// The length of a stream is unknown: rows are appended without reserving memory, and reversed at the end.
#[test]
fn an_image_that_claims_much_is_read_as_it_comes() {
    let side = 5000_u16;
    let mut file = header(10, NO_MAP, [side, side], 24, 0);
    for row in 0..side {
        for _ in 0..side / 125 {
            file.extend([0x80 | 124, row as u8, (row >> 8) as u8, 9]);
        }
    }
    let image = load_stream("x.tga", file, &ReadOptions::default()).unwrap();
    let Samples::U8(samples) = &image.samples else { panic!("TGA has samples of 8 bits") };
    for (row, pixels) in samples.chunks_exact(3 * usize::from(side)).enumerate() {
        let stored = usize::from(side) - 1 - row;
        assert!(pixels.chunks_exact(3).all(|pixel| pixel == [9, (stored >> 8) as u8, stored as u8]), "{row}");
    }
}
