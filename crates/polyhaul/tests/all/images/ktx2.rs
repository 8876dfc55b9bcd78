//! KTX2.

use crate::images::textures::{encodings, load_texture, texture, written_texture};
use crate::images::*;
use polyhaul::ErrorKind;
use polyhaul::model::{ColorSpace, Encoding, Texel, Texture};

fn plain(texture: &Texture) -> Vec<u8> {
    let style = ImageWriteOptions::default().with_zstd_level(0);
    written_texture("x.ktx2", texture, style, &RunOptions::default()).unwrap()
}

fn packed(texture: &Texture) -> Vec<u8> {
    written_texture("x.ktx2", texture, ImageWriteOptions::default(), &RunOptions::default()).unwrap()
}

fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// A small handmade file, with the layout of the specification: red, green and blue of one pixel.
#[test]
fn a_file_by_hand() {
    let mut bytes = b"\xABKTX 20\xBB\r\n\x1A\n".to_vec();
    // R8G8B8_SRGB of 1 x 1, one face, one level; the descriptor follows the level index.
    let words = [29_u32, 1, 1, 1, 0, 0, 1, 1, 0, 104, 76, 0, 0, 0, 0, 0, 0];
    bytes.extend(words.into_iter().flat_map(u32::to_le_bytes));
    bytes.extend([180_u64, 3, 3].into_iter().flat_map(u64::to_le_bytes));
    bytes.extend([76_u32, 0, 2 | 72 << 16, 0x0002_0101, 0, 3, 0].into_iter().flat_map(u32::to_le_bytes));
    for channel in 0..3_u32 {
        let sample = [(8 * channel) | (7 << 16) | (channel << 24), 0, 0, 255];
        bytes.extend(sample.into_iter().flat_map(u32::to_le_bytes));
    }
    bytes.extend([10, 20, 30]);
    let image = load("x.ktx2", bytes.clone(), &ReadOptions::default()).unwrap();
    assert_eq!((image.samples, image.color_space), (Samples::U8([10, 20, 30, 255].into()), ColorSpace::Srgb));
    same_for_all("x.ktx2", &bytes);
    // Primaries of ITU-R BT.2020.
    let wide = with_word(bytes.clone(), 116, 0x0002_0401);
    let (_, counts) = load_warned("x.ktx2", wide.clone(), &ReadOptions::default()).unwrap();
    assert_eq!(counts, [("changed-color-space", 1)]);
    // Truncated, too: a strict reader reports that first, from any source.
    let cut = wide[..wide.len() - 1].to_vec();
    let stream = Input::Reader(Box::new(std::io::Cursor::new(cut.clone())), "x.ktx2".into());
    for input in [Input::Memory(cut, "x.ktx2".into()), stream] {
        let strict = ReadOptions::default().with_strict(true);
        assert_eq!(polyhaul::Reader::new(input).options(&strict).image().unwrap_err().kind(), ErrorKind::Malformed);
    }
    // Blue first.
    let bgr = load("x.ktx2", with_word(bytes, 12, 36), &ReadOptions::default()).unwrap();
    assert_eq!(bgr.samples, Samples::U8([30, 20, 10, 255].into()));
}

#[test]
fn files_are_what_another_decoder_makes_of_them() {
    for (name, bytes) in files("ktx2", "good") {
        let image = load("x.ktx2", bytes, &ReadOptions::default()).unwrap();
        // Decoders round values between the two endpoints of a BC1 or BC3 block differently.
        let tolerance = if name.contains("bc1") || name.contains("bc3") { 1 } else { 0 };
        is_as_expected(&image, "ktx2", &name, tolerance);
        assert_eq!(image.color_space == ColorSpace::Linear, name == "bc7_zstd");
    }
}

#[test]
fn levels_stand_smallest_first_at_whole_blocks() {
    for encoding in encodings() {
        let texture = texture(encoding, [9, 7, 1], 1, 1, 4);
        let bytes = plain(&texture);
        let offsets: Vec<usize> = (0..4).map(|level| word(&bytes, 80 + 24 * level)).collect();
        assert!(offsets.is_sorted_by(|a, b| a > b), "{offsets:?}");
        assert!(offsets.iter().all(|offset| offset % encoding.bytes().max(4) == 0), "{encoding:?} {offsets:?}");
        assert_eq!(offsets[0] + texture.levels[0].len(), bytes.len());
        for (level, offset) in offsets.into_iter().enumerate() {
            let level = &texture.levels[level];
            assert!(bytes[offset..].starts_with(level));
        }
        // Descriptor and key/value data follow the level index without a gap.
        assert_eq!((word(&bytes, 48), word(&bytes, 48) + word(&bytes, 52)), (80 + 4 * 24, word(&bytes, 56)));
        assert_eq!(word(&bytes, word(&bytes, 48)), word(&bytes, 52));
    }
}

/// The `ktx2` crate reads the output, and derives the same descriptors from the format numbers.
#[test]
fn another_reader_sees_the_same() {
    for encoding in encodings() {
        for (color_space, premultiplied) in
            [(ColorSpace::Linear, false), (ColorSpace::Srgb, false), (ColorSpace::Srgb, true)]
        {
            let texture = Texture { color_space, premultiplied, ..texture(encoding, [9, 7, 1], 3, 1, 4) };
            for bytes in [plain(&texture), packed(&texture)] {
                let other = ::ktx2::Reader::new(&bytes).unwrap();
                let header = other.header();
                let basic = other.basic_dfd().unwrap();
                let format = header.format.unwrap();
                let (mut expected, type_bytes) = ::ktx2::dfd::Basic::from_format(format).unwrap();
                assert_eq!(header.type_size, type_bytes, "{format:?}");
                if premultiplied {
                    expected.flags = ::ktx2::dfd::DataFormatFlags::ALPHA_PREMULTIPLIED;
                }
                // Formats without an sRGB number use the linear number; only the descriptor declares sRGB.
                if expected.transfer_function == basic.transfer_function {
                    assert_eq!(basic, &expected, "{format:?}")
                } else {
                    assert_eq!(basic.transfer_function, Some(::ktx2::TransferFunction::SRGB), "{format:?}")
                }
                assert_eq!((header.pixel_width, header.pixel_height, header.pixel_depth), (9, 7, 0));
                assert_eq!((header.layer_count, header.face_count, header.level_count), (3, 1, 4));
                assert_eq!(other.writer(), Some("polyhaul\0"));
                for (level, expected) in other.levels().zip(&texture.levels) {
                    assert_eq!(level.uncompressed_byte_length, expected.len() as u64);
                    assert!(header.supercompression_scheme.is_some() || expected == level.data, "{format:?}");
                }
            }
        }
    }
}

#[test]
fn zlib_and_gaps_are_read() {
    let whole = texture(Encoding::default(), [2, 1, 1], 1, 1, 2);
    let bytes = plain(&whole);
    // Each level in a zlib stream of stored blocks, after a gap.
    let mut zlib = with_word(bytes[..word(&bytes, 80 + 24)].to_vec(), 44, 3);
    for level in [1, 0] {
        let raw = &whole.levels[level][..];
        zlib.extend([0xEE; 5]);
        let start = zlib.len() as u32;
        let size = raw.len() as u16;
        zlib.extend([0x78, 1, 1]);
        zlib.extend(size.to_le_bytes().into_iter().chain((!size).to_le_bytes()).chain(raw.iter().copied()));
        let (low, high) = raw.iter().fold((1_u32, 0_u32), |(low, high), byte| {
            let low = (low + u32::from(*byte)) % 65_521;
            (low, (high + low) % 65_521)
        });
        zlib.extend((high << 16 | low).to_be_bytes());
        let count = zlib.len() as u32 - start;
        zlib = with_word(with_word(zlib, 80 + 24 * level, start), 88 + 24 * level, count);
    }
    assert!(load_texture("x.ktx2", &zlib).unwrap() == whole);
    same_for_all("x.ktx2", &zlib);
}

#[test]
fn what_headers_may_not_say() {
    let whole = texture(Encoding::Bc1, [8, 8, 1], 1, 1, 2);
    for (name, bytes) in [("plain", plain(&whole)), ("packed", packed(&whole))] {
        for (at, word, kind) in [
            (12, 0, ErrorKind::Unsupported),
            (12, 157, ErrorKind::Unsupported),
            (20, 0, ErrorKind::Malformed),
            (20, u32::MAX, ErrorKind::Malformed),
            (24, u32::MAX, ErrorKind::Limit),
            (36, 2, ErrorKind::Malformed),
            (36, 6, ErrorKind::Malformed),
            (40, 5, ErrorKind::Malformed),
            (40, 33, ErrorKind::Malformed),
            (40, u32::MAX, ErrorKind::Malformed),
            (44, 1, ErrorKind::Unsupported),
            (44, 4, ErrorKind::Unsupported),
            (48, 12, ErrorKind::Malformed),
            (52, 8, ErrorKind::Malformed),
            (52, u32::MAX, ErrorKind::Malformed),
            // Level offsets: before the end of the header, in the other level, after the end, and out of range.
            (80, 20, ErrorKind::Malformed),
            (80, u32::from_le_bytes(bytes[104..108].try_into().unwrap()), ErrorKind::Malformed),
            (80, bytes.len() as u32, ErrorKind::Malformed),
            (84, u32::MAX, ErrorKind::Malformed),
            (96, 1, ErrorKind::Malformed),
            (100, 1, ErrorKind::Malformed),
        ] {
            let error = error("x.ktx2", &with_word(bytes.clone(), at, word));
            // An exceeded pixel limit is reported before other faults.
            let is_limit = word == u32::MAX && error.kind() == ErrorKind::Limit;
            assert!(error.kind() == kind || is_limit, "{name} {at} {word}: {error}");
            assert!(error.place().offset.is_some(), "{name} {at}: {error}");
        }
    }
}

#[test]
fn others_of_the_family_are_refused_by_name() {
    let first = error("x.ktx2", b"\xABKTX 11\xBB\r\n\x1A\n and more");
    assert!(first.kind() == ErrorKind::Unsupported && first.to_string().contains("version 1"), "{first}");
    let bytes = plain(&texture(Encoding::Bc7, [4, 4, 1], 1, 1, 1));
    let basis = error("x.ktx2", &with_word(bytes.clone(), 44, 1));
    assert!(basis.to_string().contains("Basis"), "{basis}");
    // The color model is the ninth byte after the size of the descriptor.
    let mut uastc = with_word(bytes, 12, 0);
    uastc[104 + 12] = 166;
    assert!(error("x.ktx2", &uastc).to_string().contains("UASTC"));
}

#[test]
fn levels_that_claim_much_take_no_memory() {
    let small = texture(Encoding::Plain { channels: 4, texel: Texel::F32 }, [1, 1, 1], 1, 1, 1);
    let claim = |side: u32| {
        let bytes = with_word(with_word(packed(&small), 20, side), 24, side);
        let size = 16 * u64::from(side) * u64::from(side);
        with_word(with_word(bytes, 96, size as u32), 100, (size >> 32) as u32)
    };
    // 256 MiB in a frame of a few bytes, and 4 GiB.
    let of_frame = error("x.ktx2", &claim(1 << 12));
    assert!(of_frame.to_string().contains("expected the declared 268435456 bytes of decompressed data"), "{of_frame}");
    let of_ratio = error("x.ktx2", &claim(1 << 14));
    assert_eq!(of_ratio.kind(), ErrorKind::Limit, "{of_ratio}");
    assert!(of_ratio.to_string().contains("`image_ratio`"), "{of_ratio}");
}

/// A file of `width` x 2 pixels with this format and these key/value pairs.
fn with_keys(number: u32, width: u32, keys: &[(&str, &str)], pixels: &[u8]) -> Vec<u8> {
    let mut entries = Vec::new();
    for (key, value) in keys {
        let entry = [key.as_bytes(), b"\0", value.as_bytes(), b"\0"].concat();
        entries.extend((entry.len() as u32).to_le_bytes());
        entries.extend_from_slice(&entry);
        entries.resize(entries.len().next_multiple_of(4), 0);
    }
    let mut bytes = b"\xABKTX 20\xBB\r\n\x1A\n".to_vec();
    let keys_at = if entries.is_empty() { 0 } else { 132 };
    let words = [number, 1, width, 2, 0, 0, 1, 1, 0, 104, 28, keys_at, entries.len() as u32, 0, 0, 0, 0];
    bytes.extend(words.into_iter().flat_map(u32::to_le_bytes));
    let size = pixels.len() as u64;
    bytes.extend([132 + entries.len() as u64, size, size].into_iter().flat_map(u64::to_le_bytes));
    bytes.extend([28_u32, 0, 2 | 24 << 16, 0x0001_0101, 0, 4, 0].into_iter().flat_map(u32::to_le_bytes));
    bytes.extend_from_slice(&entries);
    bytes.extend_from_slice(pixels);
    bytes
}

#[test]
fn rows_columns_and_channels_are_put_in_order() {
    let pixels: Vec<u8> = (0..16).collect();
    for (key, value, expected) in [
        ("KTXorientation", "rd", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
        ("KTXorientation", "ru", [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7]),
        ("KTXorientation", "ld", [4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11]),
        ("KTXorientation", "lu", [12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3]),
        ("KTXswizzle", "bgra", [2, 1, 0, 3, 6, 5, 4, 7, 10, 9, 8, 11, 14, 13, 12, 15]),
        ("KTXswizzle", "r0ga", [0, 0, 1, 3, 4, 0, 5, 7, 8, 0, 9, 11, 12, 0, 13, 15]),
    ] {
        let bytes = with_keys(37, 2, &[("KTXwriter", "by hand"), (key, value)], &pixels);
        let (image, counts) = warned("x.ktx2", &bytes);
        assert_eq!((byte_samples(&image), counts), (&expected[..], vec![]), "{key} {value}");
        assert_eq!(&load_texture("x.ktx2", &bytes).unwrap().levels[0][..], expected, "{key} {value}");
    }
    // Gray from one channel, with alpha from another.
    let (image, _) = warned("x.ktx2", &with_keys(16, 1, &[("KTXswizzle", "rrrg")], &[1, 2, 3, 4]));
    assert_eq!((image.channels, byte_samples(&image)), (Channels::GrayAlpha, &[1, 2, 3, 4][..]));
    let (image, _) = warned("x.ktx2", &with_keys(9, 1, &[("KTXswizzle", "rrr1")], &[1, 2]));
    assert_eq!((image.channels, byte_samples(&image)), (Channels::Gray, &[1, 2][..]));
    let (image, _) = warned("x.ktx2", &with_keys(9, 1, &[("KTXswizzle", "000r")], &[1, 2]));
    assert_eq!((image.channels, byte_samples(&image)), (Channels::GrayAlpha, &[0, 1, 0, 2][..]));
}

#[test]
fn blocks_keep_their_order_with_a_warning() {
    let keys = [("KTXorientation", "ru"), ("KTXswizzle", "rrr1")];
    let bytes = with_keys(139, 2, &keys, &[200, 100, 0, 0, 0, 0, 0, 0]);
    let input = Input::Memory(bytes.clone(), "x.ktx2".into());
    let loaded = polyhaul::Reader::new(input).texture().unwrap();
    assert_eq!(codes(&loaded.report), [("unapplied-orientation", 1), ("unapplied-swizzle", 1)]);
    // The orientation is applied to a decoded image.
    assert_eq!(warned("x.ktx2", &bytes).1, []);
}

#[test]
fn packed_pixels_are_read() {
    let pixel = |number: u32, bytes: &[u8]| {
        load("x.ktx2", with_keys(number, 1, &[], &bytes.repeat(2)), &ReadOptions::default()).unwrap()
    };
    for (number, bits, expected) in [
        (2, 0xF840, [255, 136, 68, 0]),
        (3, 0xF84F, [68, 136, 255, 255]),
        (4, 0xF81F, [255, 0, 255, 255]),
        (5, 0xF800, [0, 0, 255, 255]),
        (6, 0xF800, [255, 0, 0, 0]),
        (7, 0xF801, [0, 0, 255, 255]),
        (8, 0xFC00, [255, 0, 0, 255]),
        (1_000_340_000, 0xF84F, [136, 68, 255, 255]),
        (1_000_340_001, 0xF84F, [255, 68, 136, 255]),
    ] {
        let image = pixel(number, &u16::to_le_bytes(bits));
        assert_eq!(&byte_samples(&image)[..4], expected, "{number}");
    }
    for (number, bits) in [(58, 3 << 30 | 1023 << 20), (64, 3 << 30 | 1023)] {
        let image = pixel(number, &u32::to_le_bytes(bits));
        let Samples::U16(samples) = &image.samples else { panic!("{number}") };
        assert_eq!(samples[..4], [65_535, 0, 0, 65_535], "{number}");
    }
    let floats = pixel(122, &(15_u32 << 6 | 14 << 17 | 16 << 27).to_le_bytes());
    assert_eq!(float_samples(&floats)[..4], [1.0, 0.5, 2.0, 1.0]);
    let shared = pixel(123, &(256_u32 | 128 << 9 | 16 << 27).to_le_bytes());
    assert_eq!(float_samples(&shared)[..4], [1.0, 0.5, 0.0, 1.0]);
    assert_eq!(float_samples(&pixel(10, &[0x81]))[0], -1.0);
    assert_eq!(&byte_samples(&pixel(1_000_470_001, &[9]))[..4], [0, 0, 0, 9]);
    assert_eq!(&byte_samples(&pixel(51, &[1, 2, 3, 4]))[..4], [1, 2, 3, 4]);
}
