//! DDS.

use crate::images::textures::load_texture;
use crate::images::*;
use polyhaul::ErrorKind;
use polyhaul::model::{ColorSpace, Encoding, Texel};

const RGB: u32 = 0x40;
const RGBA: u32 = 0x41;
const FOURCC: u32 = 4;
const LUMINANCE: u32 = 0x2_0000;
const LUMINANCE_ALPHA: u32 = 0x2_0001;
const ALPHA: u32 = 2;

/// A file with the legacy header.
fn older([width, height]: [u32; 2], flags: u32, fourcc: u32, bits: u32, masks: [u32; 4], pixels: &[u8]) -> Vec<u8> {
    let mut words = [0_u32; 32];
    words[..5].copy_from_slice(&[u32::from_le_bytes(*b"DDS "), 124, 0x1007, height, width]);
    words[19..23].copy_from_slice(&[32, flags, fourcc, bits]);
    words[23..27].copy_from_slice(&masks);
    words[27] = 0x1000;
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend_from_slice(pixels);
    bytes
}

/// A file with the DX10 header.
fn newer(size: [u32; 2], format: u32, pixels: &[u8]) -> Vec<u8> {
    let mut bytes = older(size, FOURCC, u32::from_le_bytes(*b"DX10"), 0, [0; 4], &[]);
    bytes.extend([format, 3, 0, 1, 0].into_iter().flat_map(u32::to_le_bytes));
    bytes.extend_from_slice(pixels);
    bytes
}

fn read(bytes: Vec<u8>) -> Result<Image> {
    load("x.dds", bytes, &ReadOptions::default())
}

#[test]
fn files_are_what_another_decoder_makes_of_them() {
    for (name, bytes) in files("dds", "good/openimageio-images") {
        // Decoders round values between the two endpoints of a block differently.
        let tolerance = if name.contains("rgba8") || name.contains("bc7") { 0 } else { 1 };
        is_as_expected(&read(bytes).unwrap(), "dds", &name, tolerance);
    }
}

#[test]
fn all_levels_are_there() {
    let bytes = file("dds", "good/openimageio-images/dds_npot_bc3_mips.dds");
    let texture = load_texture("x.dds", &bytes).unwrap();
    let sizes: Vec<usize> = texture.levels.iter().map(|level| level.len()).collect();
    assert_eq!((texture.encoding, texture.color_space), (Encoding::Bc3, ColorSpace::Srgb));
    assert_eq!(sizes.iter().sum::<usize>(), bytes.len() - 128);
    let linear = load_texture("x.dds", &file("dds", "good/openimageio-images/dds_bc7.dds")).unwrap();
    let srgb = load_texture("x.dds", &file("dds", "good/openimageio-images/dds_dxgi_bc7_srgb.dds")).unwrap();
    assert_eq!((linear.color_space, srgb.color_space), (ColorSpace::Linear, ColorSpace::Srgb));
}

#[test]
fn older_pixels_go_by_their_masks() {
    let bgra = [0x00FF_0000, 0xFF00, 0xFF, 0xFF00_0000];
    for (flags, bits, masks, pixel, expected) in [
        (RGBA, 32, bgra, &[1, 2, 3, 4][..], &[3, 2, 1, 4][..]),
        (RGB, 32, bgra, &[1, 2, 3, 4], &[3, 2, 1, 255]),
        (RGBA, 32, [0xFF, 0xFF00, 0x00FF_0000, 0xFF00_0000], &[1, 2, 3, 4], &[1, 2, 3, 4]),
        (RGB, 24, [0x00FF_0000, 0xFF00, 0xFF, 0], &[1, 2, 3], &[3, 2, 1, 255]),
        (RGB, 16, [0xF800, 0x07E0, 0x001F, 0], &[0x1F, 0xF8], &[255, 0, 255, 255]),
        (RGBA, 16, [0x7C00, 0x03E0, 0x001F, 0x8000], &[0, 0x80], &[0, 0, 0, 255]),
        (RGBA, 16, [0x0F00, 0x00F0, 0x000F, 0xF000], &[0x21, 0x43], &[51, 34, 17, 68]),
        (RGB, 8, [0xE0, 0x1C, 3, 0], &[0xE3], &[255, 0, 255, 255]),
        (LUMINANCE, 8, [0xFF, 0, 0, 0], &[7], &[7]),
        (LUMINANCE_ALPHA, 16, [0xFF, 0, 0, 0xFF00], &[7, 9], &[7, 7, 7, 9]),
        (ALPHA, 8, [0, 0, 0, 0xFF], &[7], &[0, 0, 0, 7]),
    ] {
        let image = read(older([1, 1], flags, 0, bits, masks, pixel)).unwrap();
        assert_eq!(byte_samples(&image), expected, "{masks:x?}");
        assert_eq!(image.channels.count(), expected.len());
    }
    let ten = older([1, 1], RGBA, 0, 32, [0x3FF, 0x3FF << 10, 0x3FF << 20, 3 << 30], &[0xFF, 3, 0, 0x40]);
    assert_eq!(read(ten).unwrap().samples, Samples::U16([65_535, 0, 0, 21_845].into()));
}

#[test]
fn every_format_by_number_has_a_size_and_channels() {
    let plain = |channels, texel| Encoding::Plain { channels, texel };
    for (format, bytes, encoding) in [
        (2, 16, plain(4, Texel::F32)),
        (6, 12, plain(4, Texel::F32)),
        (10, 8, plain(4, Texel::F16)),
        (11, 8, plain(4, Texel::U16)),
        (16, 8, plain(2, Texel::F32)),
        (24, 4, plain(4, Texel::U16)),
        (27, 4, plain(4, Texel::U8)),
        (34, 4, plain(2, Texel::F16)),
        (35, 4, plain(2, Texel::U16)),
        (41, 4, plain(1, Texel::F32)),
        (49, 2, plain(2, Texel::U8)),
        (54, 2, plain(1, Texel::F16)),
        (56, 2, plain(1, Texel::U16)),
        (61, 1, plain(1, Texel::U8)),
        (65, 1, plain(4, Texel::U8)),
        (85, 2, plain(4, Texel::U8)),
        (88, 4, plain(4, Texel::U8)),
        (91, 4, plain(4, Texel::U8)),
        (115, 2, plain(4, Texel::U8)),
        (71, 8, Encoding::Bc1),
        (75, 16, Encoding::Bc2),
        (76, 16, Encoding::Bc3),
        (81, 8, Encoding::Bc4 { signed: true }),
        (83, 16, Encoding::Bc5 { signed: false }),
        (96, 16, Encoding::Bc6h { signed: true }),
        (99, 16, Encoding::Bc7),
    ] {
        let texture = load_texture("x.dds", &newer([1, 1], format, &vec![0x3C; bytes])).unwrap();
        assert_eq!(texture.encoding, encoding, "{format}");
        assert!(load_texture("x.dds", &newer([1, 1], format, &vec![0x3C; bytes - 1])).is_err(), "{format}");
    }
}

#[test]
fn letters_and_numbers_name_formats() {
    let with =
        |code: u32, bytes: usize| load_texture("x.dds", &older([1, 1], FOURCC, code, 0, [0; 4], &vec![0; bytes]));
    for (code, bytes, premultiplied) in
        [(b"DXT1", 8, false), (b"DXT2", 16, true), (b"DXT3", 16, false), (b"DXT4", 16, true), (b"DXT5", 16, false)]
    {
        let texture = with(u32::from_le_bytes(*code), bytes).unwrap();
        assert_eq!((texture.premultiplied, texture.color_space), (premultiplied, ColorSpace::Srgb));
    }
    for (code, signed) in [(b"BC4U", false), (b"ATI1", false), (b"BC4S", true)] {
        assert_eq!(with(u32::from_le_bytes(*code), 8).unwrap().encoding, Encoding::Bc4 { signed });
    }
    for (code, bytes) in [(36, 8), (111, 2), (112, 4), (113, 8), (114, 4), (115, 8), (116, 16)] {
        assert!(with(code, bytes).is_ok(), "{code}");
    }
    let error = with(u32::from_le_bytes(*b"UYVY"), 16).unwrap_err();
    assert_eq!((error.kind(), error.place().offset), (ErrorKind::Unsupported, Some(84)), "{error}");
    assert!(error.to_string().contains("UYVY"));
}

#[test]
fn an_array_of_no_pictures_has_one() {
    let bytes = with_word(newer([4, 4], 71, &[0x3C; 8]), 140, 0);
    let (image, counts) = warned("x.dds", &bytes);
    assert_eq!((image.width, counts), (4, vec![("array-size", 1)]));
    assert_eq!(load_texture("x.dds", &bytes).unwrap().layers, 1);
}

#[test]
fn brightness_goes_by_masks_or_by_its_bits() {
    let masks = |red, alpha| [red, 0, 0, alpha];
    for (flags, bits, masks, pixel, expected) in [
        (LUMINANCE, 8, masks(0, 0), &[7][..], &[7][..]),
        (LUMINANCE, 8, [0xFF; 4], &[7], &[7]),
        (LUMINANCE | RGB, 8, masks(0xFF, 0), &[7], &[7]),
        (LUMINANCE | RGB, 8, [0xFF, 0xFF, 0xFF, 0], &[7], &[7]),
        (LUMINANCE_ALPHA, 16, masks(0, 0), &[7, 9], &[7, 7, 7, 9]),
        (LUMINANCE, 16, masks(0xFF, 0xFF00), &[7, 9], &[7, 7, 7, 9]),
        // Only the luminance bits are counted.
        (LUMINANCE_ALPHA, 8, masks(0xFF, 0xFF00), &[7, 9], &[7, 7, 7, 9]),
        (LUMINANCE_ALPHA, 8, masks(0x0F, 0xF0), &[0x12], &[34, 34, 34, 17]),
        (ALPHA, 8, [0; 4], &[7], &[0, 0, 0, 7]),
    ] {
        let (image, counts) = warned("x.dds", &older([1, 1], flags, 0, bits, masks, pixel));
        assert_eq!((byte_samples(&image), counts), (expected, vec![]), "{flags:x} {bits} {masks:x?}");
    }
    for masks in [masks(0, 0), masks(0xFFFF, 0), [0xFFFF, 0xFFFF, 0xFFFF, 0]] {
        let image = read(older([1, 1], LUMINANCE, 0, 16, masks, &[1, 2])).unwrap();
        assert_eq!((image.channels, image.samples), (Channels::Gray, Samples::U16([0x201].into())));
    }
    // Colors without masks are invalid.
    let error = error("x.dds", &older([1, 1], RGB, 0, 24, [0; 4], &[1, 2, 3]));
    assert_eq!((error.kind(), error.place().offset), (ErrorKind::Malformed, Some(92)), "{error}");
}

#[test]
fn palettes_stand_before_the_pixels() {
    const MAPPED: u32 = 0x20;
    let file = |flags: u32, alpha: fn(usize) -> u8| {
        let palette = (0..256).flat_map(|number| [number as u8, 2, 3, alpha(number)]);
        let bytes: Vec<u8> = palette.chain([9, 250]).collect();
        older([2, 1], flags, 0, 8, [0; 4], &bytes)
    };
    type Alpha = fn(usize) -> u8;
    let alphas: [(u32, Alpha, [u8; 2]); 3] =
        [(MAPPED, |_| 0, [255, 255]), (MAPPED | 1, |_| 0, [0, 0]), (MAPPED, |number| number as u8, [9, 250])];
    for (flags, alpha, [first, second]) in alphas {
        let (image, counts) = warned("x.dds", &file(flags, alpha));
        assert_eq!((byte_samples(&image), counts), (&[9, 2, 3, first, 250, 2, 3, second][..], vec![]));
    }
    let bytes = file(MAPPED, |_| 0);
    for size in [127, 128, 500, bytes.len() - 1] {
        assert_eq!(error("x.dds", &bytes[..size]).kind(), ErrorKind::Malformed, "{size}");
    }
}

#[test]
fn red_comes_from_alpha() {
    // Alpha is 200 in all pixels; colors have 5 bits of red, 6 of green, 5 of blue.
    let block = [200, 200, 0, 0, 0, 0, 0, 0, 0xFF, 0x07, 0xFF, 0x07, 0, 0, 0, 0];
    let code = u32::from_le_bytes(*b"RXGB");
    let mut bytes = older([8, 4], FOURCC, code, 0, [0; 4], &block.repeat(4));
    bytes = with_word(bytes, 28, 3);
    let (image, counts) = warned("x.dds", &bytes);
    assert_eq!((byte_samples(&image), counts), (&[200, 255, 255, 255].repeat(32)[..], vec![("left-out-levels", 2)]));
    let texture = load_texture("x.dds", &bytes).unwrap();
    assert_eq!((texture.encoding, texture.color_space), (Encoding::default(), ColorSpace::Linear));
    assert_eq!(texture.levels.iter().map(|level| level.len()).collect::<Vec<_>>(), [128, 32, 8]);
}

#[test]
fn signed_channels_become_floats() {
    const SIGNED: u32 = 0x8_0000;
    let floats = |bytes: Vec<u8>| match read(bytes).unwrap().samples {
        Samples::F32(samples) => samples.to_vec(),
        other => panic!("{other:?}"),
    };
    let masks = [0xFF, 0xFF00, 0, 0];
    assert_eq!(floats(older([1, 1], SIGNED, 0, 16, masks, &[127, 0x80])), [1.0, -1.0, 0.0]);
    let masks = [0xFF, 0xFF00, 0x00FF_0000, 0xFF00_0000];
    assert_eq!(floats(older([1, 1], SIGNED, 0, 32, masks, &[0, 127, 0x81, 0])), [0.0, 1.0, -1.0, 0.0]);
    assert_eq!(
        floats(older([1, 1], FOURCC, 110, 0, [0; 4], &[0xFF, 0x7F, 0, 0x80, 0, 0, 1, 0x80])),
        [1.0, -1.0, 0.0, -1.0]
    );
    assert_eq!(floats(newer([1, 1], 51, &[127, 0])), [1.0, 0.0, 0.0]);
    assert_eq!(floats(newer([1, 1], 58, &[0xFF, 0x7F])), [1.0]);
    assert_eq!(
        error("x.dds", &older([1, 1], SIGNED, 0, 16, [0xF, 0xF0, 0, 0], &[0; 2])).kind(),
        ErrorKind::Unsupported
    );
}

#[test]
fn signed_blocks_become_floats() {
    // Both endpoints are -1, or 1.
    let block = |end: u8| [end, end, 0, 0, 0, 0, 0, 0];
    let image = read(newer([1, 1], 81, &block(0x81))).unwrap();
    assert_eq!((image.channels, &image.samples), (Channels::Gray, &Samples::F32([-1.0].into())));
    let image = read(newer([1, 1], 84, &[block(0x7F), block(0x81)].concat())).unwrap();
    assert_eq!((image.channels, &image.samples), (Channels::Rgb, &Samples::F32([1.0, -1.0, 0.0].into())));
}

#[test]
fn what_headers_may_not_say() {
    let good = older([4, 4], FOURCC, u32::from_le_bytes(*b"DXT1"), 0, [0; 4], &[0; 8]);
    assert!(read(good.clone()).is_ok());
    for (at, word, kind) in [
        (0, 0, ErrorKind::Malformed),
        (4, 125, ErrorKind::Malformed),
        (76, 31, ErrorKind::Malformed),
        (12, 0, ErrorKind::Malformed),
        (16, u32::MAX, ErrorKind::Limit),
        (28, 4, ErrorKind::Malformed),
        (80, 0, ErrorKind::Unsupported),
        (112, 0x600, ErrorKind::Unsupported),
        // A cube map with a single face.
        (112, 0xFE00, ErrorKind::Malformed),
    ] {
        let bytes = with_word(good.clone(), at, word);
        let options = ReadOptions::default().with_format(Some(Format::Dds));
        let error = load("x.dds", bytes, &options).unwrap_err();
        assert_eq!(error.kind(), kind, "{at}: {error}");
    }
    let good = newer([4, 4], 71, &[0; 8]);
    for (at, word, kind) in [
        (128, 999, ErrorKind::Unsupported),
        (132, 7, ErrorKind::Malformed),
        (140, 2, ErrorKind::Malformed),
        (140, u32::MAX, ErrorKind::Limit),
    ] {
        assert_eq!(error("x.dds", &with_word(good.clone(), at, word)).kind(), kind, "{at}");
    }
    // Mask bits outside the pixel.
    let error = error("x.dds", &older([1, 1], RGB, 0, 16, [0x1_0000, 0, 0, 0], &[0; 2]));
    assert_eq!((error.kind(), error.place().offset), (ErrorKind::Malformed, Some(88)));
}

/// Six faces of one pixel each, as declared by several programs.
#[test]
fn cubes_are_found_by_either_header() {
    let pixels: Vec<u8> = (0..6 * 4).collect();
    let cube = |misc: u32, layers: u32, caps: u32, pictures: usize| {
        let bytes = newer([1, 1], 28, &pixels.repeat(pictures / 6 + 1)[..4 * pictures]);
        with_word(with_word(with_word(bytes, 136, misc), 140, layers), 112, caps)
    };
    for (misc, layers, caps, pictures, expected) in [
        (4, 1, 0xFE00, 6, (1, 6, 0)),
        (4, 6, 0xFE00, 6, (1, 6, 1)),
        (4, 6, 0, 6, (1, 6, 1)),
        (4, 12, 0, 12, (2, 6, 1)),
        (4, 6, 0, 36, (6, 6, 0)),
        (0, 6, 0xFE00, 6, (1, 6, 0)),
        (0, 1, 0xFE00, 6, (1, 6, 0)),
        (0, 1, 0xFE00, 1, (1, 1, 1)),
        (0, 6, 0, 6, (6, 1, 0)),
    ] {
        let bytes = cube(misc, layers, caps, pictures);
        for is_stream in [false, true] {
            let source = || {
                if is_stream {
                    Input::Reader(Box::new(std::io::Cursor::new(bytes.clone())), "x.dds".into())
                } else {
                    Input::Memory(bytes.clone(), "x.dds".into())
                }
            };
            let loaded = polyhaul::Reader::new(source()).texture().unwrap();
            let texture = loaded.value;
            let counts: u64 = codes(&loaded.report).iter().map(|(_, count)| count).sum();
            assert_eq!((texture.layers, texture.faces, counts), expected, "{misc} {layers} {caps:x} {pictures}");
            assert_eq!(texture.levels[0].len(), 4 * pictures);
        }
    }
    let error = error("x.dds", &cube(4, 6, 0xFE00, 7));
    assert!(error.to_string().contains("unexpected end of file"), "{error}");
}

#[test]
fn sizes_of_headers_may_be_those_of_some_programs() {
    let good = older([1, 1], RGBA, 0, 32, [0xFF, 0xFF00, 0xFF_0000, 0xFF00_0000], &[1, 2, 3, 4]);
    for (at, word) in [(76, 24), (76, 0), (4, 24)] {
        let (image, counts) = warned("x.dds", &with_word(good.clone(), at, word));
        assert_eq!((byte_samples(&image), counts), (&[1, 2, 3, 4][..], vec![("bad-declaration", 1)]));
    }
}

/// As Pillow writes them: masks for 32 bits.
#[test]
fn brightness_with_masks_beyond_its_bits() {
    let high = 0xFF00_0000;
    let gray = older([1, 1], LUMINANCE, 0, 8, [high, high, high, 0], &[7]);
    let image = read(gray).unwrap();
    assert_eq!((byte_samples(&image), image.channels), (&[7][..], Channels::Gray));
    let with_alpha = older([1, 1], LUMINANCE_ALPHA, 0, 16, [0xFF, 0xFF, 0xFF, high], &[7, 9]);
    assert_eq!(byte_samples(&read(with_alpha).unwrap()), [7, 7, 7, 9]);
}

#[test]
fn packed_floats_are_read() {
    // 1, 0.5 and 2: exponents with a bias of 15, and mantissas of 0.
    let eleven = (15_u32 << 6 | 14 << 17 | 16 << 27).to_le_bytes();
    // 256, 128 and 1 times 2^(16 - 24).
    let shared = (256_u32 | 128 << 9 | 1 << 18 | 16 << 27).to_le_bytes();
    for (number, bytes, expected) in [(26, eleven, [1.0, 0.5, 2.0, 1.0]), (67, shared, [1.0, 0.5, 1.0 / 256.0, 1.0])] {
        let image = read(newer([1, 1], number, &bytes)).unwrap();
        assert_eq!((float_samples(&image), image.color_space), (&expected[..], ColorSpace::Linear));
    }
}
