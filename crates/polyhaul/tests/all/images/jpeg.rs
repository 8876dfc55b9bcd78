//! JPEG.

use crate::images::*;
use polyhaul::ErrorKind;
use polyhaul::WriteOptions;
use polyhaul_testkit::zip::crc32;

fn file(name: &str) -> Vec<u8> {
    crate::images::file("jpg", &format!("good/own/{name}.jpg"))
}

fn load(bytes: Vec<u8>) -> Result<Image> {
    crate::images::load("x.jpg", bytes, &ReadOptions::default())
}

/// Decoders differ in rounding and in chroma upsampling.
#[test]
fn pixels_are_nearly_those_of_another_decoder() {
    for (name, bytes) in files("jpg", "good/own") {
        same_for_all("x.jpg", &bytes);
        let image = load(bytes).unwrap();
        let array = crate::images::file("jpg", &format!("expected/{name}.npy"));
        let expected = shaped(&image, &array, "|u1", &name);
        let far = byte_samples(&image).iter().zip(expected).map(|(decoded, expected)| decoded.abs_diff(*expected));
        let (max, sum) = far.fold((0, 0), |(max, sum), by| (by.max(max), sum + usize::from(by)));
        assert!(max <= 6 && sum <= expected.len() / 2, "{name}: {max}, {sum} in {}", expected.len());
    }
}

/// All widths and heights up to 40, cycling through samplings and scan orders: the pixels equal libjpeg's.
/// `tools/testkit/make_jpegs.py` generates the files, and documents the record layout.
#[test]
fn every_size_sampling_and_order_of_scans_has_the_pixels_of_libjpeg() {
    let records = crate::images::file("jpg", "matrix/matrix.bin");
    let mut rest = &records[..];
    let mut count = 0;
    while let Some((&[a, b, c, d, e, f, g, h, name_bytes], after)) = rest.split_first_chunk() {
        let (name, after) = after.split_at(usize::from(name_bytes));
        let (jpeg, after) = after.split_at(u32::from_le_bytes([a, b, c, d]) as usize);
        rest = after;
        let name = String::from_utf8_lossy(name);
        let image = load(jpeg.to_vec()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(name.starts_with(&format!("{}x{}_", image.width, image.height)), "{name}");
        assert_eq!(crc32(byte_samples(&image)), u32::from_le_bytes([e, f, g, h]), "{name}");
        count += 1;
    }
    assert_eq!(count, 400);
}

/// Changes bytes of small files of all kinds: no panic, and all error messages are the library's own.
#[test]
fn one_changed_byte_breaks_nothing() {
    for name in ["rgb_420_4x4", "rgb_420_apart", "gray_progressive", "rgb_444_progressive"] {
        let bytes = file(name);
        for at in (0..bytes.len()).step_by(if bytes.len() > 1500 { 7 } else { 1 }) {
            for byte in [0, 0xFF, bytes[at] ^ 0x10] {
                let mut bytes = bytes.clone();
                bytes[at] = byte;
                if let Err(error) = load(bytes) {
                    assert!(!error.to_string().contains('"') && error.place().offset.is_some(), "{name} {at}: {error}");
                }
            }
        }
    }
}

#[test]
fn a_file_that_ends_early_says_so() {
    for name in ["rgb_420", "rgb_420_apart", "rgb_420_restarts", "rgb_444_progressive"] {
        let bytes = file(name);
        for end in (bytes.len() / 2..bytes.len()).step_by(11).chain([bytes.len() - 2, bytes.len() - 1]) {
            let error = load(bytes[..end].to_vec()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Malformed, "{name} {end}: {error}");
        }
    }
}

#[test]
fn a_missing_end_is_a_warning_on_request() {
    for name in ["gray", "rgb_420_apart", "rgb_444_progressive"] {
        let bytes = file(name);
        let options = ReadOptions::default().with_on_error(polyhaul::options::OnError::Warn);
        let cut = bytes[..bytes.len() - 2].to_vec();
        let (image, counts) = load_warned("x.jpg", cut, &options).unwrap();
        assert_eq!((image, counts), (load(bytes).unwrap(), vec![("truncated", 1)]), "{name}");
    }
}

#[test]
fn damage_is_described_with_its_place() {
    let mut bytes = file("gray");
    let scan = bytes.windows(2).position(|mark| mark == [0xFF, 0xDA]).unwrap();
    for byte in &mut bytes[scan + 40..scan + 60] {
        *byte = 0xFE;
    }
    let error = error("x.jpg", &bytes);
    let place = error.place().offset.unwrap() as usize;
    assert!(place > scan && error.to_string().contains("the compressed pixels are damaged"), "{error}");
}

#[test]
fn further_pictures_are_counted() {
    let (image, counts) = warned("x.jpg", &file("pictures"));
    assert_eq!((image.width, counts), (30, vec![("left-out-frames", 1)]));
}

#[test]
fn progressive_files_have_the_same_pixels() {
    for name in ["rgb_444", "rgb_422", "rgb_420", "gray"] {
        assert!(load(file(name)).unwrap() == load(file(&format!("{name}_progressive"))).unwrap(), "{name}");
    }
    assert!(load(file("rgb_420")).unwrap() == load(file("rgb_420_restarts")).unwrap());
    assert!(load(file("rgb_444")).unwrap() == load(file("rgb_orientation")).unwrap());
}

#[test]
fn files_that_claim_much_are_cut() {
    for name in ["gray", "rgb_420_progressive"] {
        let mut bytes = file(name);
        let frame = bytes.windows(2).position(|mark| matches!(mark, [0xFF, 0xC0 | 0xC2])).unwrap();
        bytes[frame + 5..frame + 9].copy_from_slice(&[0x40, 0, 0x40, 0]);
        let error = error("x.jpg", &bytes);
        assert!(
            error.to_string().ends_with("unexpected end of file: the header declares 16384 x 16384 pixels"),
            "{error}"
        );
    }
}

#[test]
fn other_kinds_are_not_read() {
    let with = |place: usize, byte: u8| {
        let mut bytes = file("rgb_444");
        let frame = bytes.windows(2).position(|mark| mark == [0xFF, 0xC0]).unwrap();
        bytes[frame + place] = byte;
        error("x.jpg", &bytes)
    };
    for (place, byte, words) in [
        (1, 0xC3, "lossless"),
        (1, 0xC9, "arithmetic-coded"),
        (1, 0xC5, "hierarchical"),
        (4, 12, "12-bit samples"),
        (9, 2, "images with 2 components"),
    ] {
        let error = with(place, byte);
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn what_follows_the_image_is_not_looked_at() {
    let mut bytes = file("rgb_420");
    let image = load(bytes.clone()).unwrap();
    bytes.extend([0x55; 100]);
    assert!(load(bytes.clone()).unwrap() == image);
    same_for_all("x.jpg", &bytes);
}

#[test]
fn a_long_header_is_kept_together() {
    // 40 segments of 64 KiB, which the decoder reads again after the size is found behind them.
    let plain = file("rgb_420");
    let segment = [&[0xFF, 0xEA, 0xFF, 0xFF][..], &[7; 65_533]].concat();
    let bytes = [&plain[..2], &segment.repeat(40), &plain[2..]].concat();
    assert!(load(bytes.clone()).unwrap() == load(plain).unwrap());
    let stream = load_stream("x.jpg", bytes.clone(), &ReadOptions::default()).unwrap();
    assert!(stream == load(bytes.clone()).unwrap());
}

#[test]
fn the_content_tells_the_format() {
    assert_eq!(crate::images::load("picture", file("gray"), &ReadOptions::default()).unwrap().width, 43);
}

#[test]
fn a_header_without_an_end_is_refused() {
    // Data between markers is buffered for the decoder, so it must not be endless.
    let endless = (&[0xFF, 0xD8, 0xFF, 0xE0, 0, 2][..]).chain(std::io::repeat(0));
    let input = Input::Reader(Box::new(endless), "endless.jpg".into());
    let error = polyhaul::Reader::new(input).image().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
}

/// Offset of each segment, up to the first scan.
fn segments(bytes: &[u8]) -> Vec<usize> {
    let mut at = 2;
    let mut segments = Vec::new();
    while bytes[at + 1] != 0xDA {
        segments.push(at);
        at += 2 + usize::from(u16::from_be_bytes([bytes[at + 2], bytes[at + 3]]));
    }
    segments.push(at);
    segments
}

#[test]
fn stray_bytes_between_segments_are_skipped() {
    for name in ["gray", "rgb_420", "rgb_444_progressive", "cmyk"] {
        let plain = file(name);
        let whole = load(plain.clone()).unwrap();
        for at in segments(&plain) {
            for stray in [&[0][..], &[0x12, 0x34], &[7; 5], &[0xFF, 0, 9], &[0; 3000]] {
                let bytes = [&plain[..at], stray, &plain[at..]].concat();
                let (image, counts) = load_warned("x.jpg", bytes, &read_options(1, None)).unwrap();
                assert!(image == whole, "{name} {stray:?} at {at}");
                assert_eq!(counts, [("stray-bytes", stray.len() as u64)], "{name} at {at}");
            }
            // Fill bytes before a marker are valid.
            let filled = [&plain[..at], &[0xFF; 9], &plain[at..]].concat();
            assert_eq!(load_warned("x.jpg", filled, &read_options(1, None)).unwrap(), (whole.clone(), vec![]));
        }
    }
    let plain = file("rgb_420");
    let plain_segments = segments(&plain);
    let mut bytes = plain.clone();
    plain_segments.iter().rev().for_each(|at| drop(bytes.splice(*at..*at, [1, 2, 3, 4, 5, 6])));
    let (image, counts) = warned("x.jpg", &bytes);
    assert!(image == load(plain).unwrap());
    assert_eq!(counts, [("stray-bytes", 6 * plain_segments.len() as u64)]);
    let loaded = polyhaul::Reader::new(Input::Memory(bytes, "x.jpg".into())).image().unwrap();
    let warning = &loaded.report.warnings.kept()[0].diagnostic;
    let words = format!("x.jpg: byte 2: skipped {} stray bytes between segments", 6 * plain_segments.len());
    assert_eq!(warning.to_string(), words);
}

/// An image without sharp edges, which JPEG preserves well.
fn smooth(channels: Channels, width: usize, height: usize) -> Image {
    let colors = channels.colors();
    let value = |at: usize| {
        let x = at / colors % width;
        let y = at / colors / width;
        let color = at % colors;
        match color {
            0 => 40 + 170 * x / width,
            1 => 40 + 170 * y / height,
            _ => 200 - 80 * (x + y) / (width + height),
        }
    };
    let samples = Samples::U8((0..width * height * colors).map(|at| value(at) as u8).collect());
    Image { width, height, channels, samples, ..Image::default() }
}

fn with_quality(jpeg_quality: u8) -> ImageWriteOptions {
    ImageWriteOptions::default().with_quality(jpeg_quality)
}

/// The largest difference between two images of the same size.
#[track_caller]
fn difference(first: &Image, second: &Image) -> u8 {
    assert_eq!((first.width, first.height, first.channels), (second.width, second.height, second.channels));
    byte_samples(first).iter().zip(byte_samples(second)).map(|(first, second)| first.abs_diff(*second)).max().unwrap()
}

#[test]
fn what_is_written_is_nearly_read_again() {
    for channels in [Channels::Gray, Channels::Rgb] {
        // Widths and heights of whole blocks, of partial blocks, and of one pixel.
        for (width, height) in [(64, 48), (61, 47), (1, 1), (1, 300), (300, 1)] {
            let image = smooth(channels, width, height);
            for (quality, max_difference) in [(100, 4), (95, 6), (90, 8), (75, 24)] {
                let bytes = written_by_all("x.jpg", &image, with_quality(quality));
                let (decoded, counts) = load_warned("x.jpg", bytes, &read_options(1, None)).unwrap();
                let far = difference(&image, &decoded);
                assert!(far <= max_difference, "{channels:?} {width} x {height} at {quality}: {far}");
                assert_eq!((counts, decoded.color_space), (vec![], image.color_space));
            }
        }
    }
}

#[test]
fn quality_decides_size_and_sampling() {
    let image = smooth(Channels::Rgb, 200, 160);
    let sizes = [10, 50, 89, 90, 100]
        .map(|quality| written("x.jpg", &image, with_quality(quality), &RunOptions::default()).unwrap());
    assert!(sizes.is_sorted_by(|small, large| small.len() < large.len()), "{:?}", sizes.each_ref().map(Vec::len));
    for (bytes, factors) in [(&sizes[2], 0x22), (&sizes[3], 0x11)] {
        let frame = bytes.windows(2).position(|mark| mark == [0xFF, 0xC0]).unwrap();
        assert_eq!(bytes[frame + 11], factors);
    }
    assert!(written("x.jpg", &image, ImageWriteOptions::default(), &RunOptions::default()).unwrap() == sizes[3]);
    for quality in [0, 101, 255] {
        let error = written("x.jpg", &image, with_quality(quality), &RunOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert_eq!(error.to_string(), format!("invalid JPEG quality {quality}; expected 1 to 100"));
    }
}

/// Restart markers are where the header declares them, with cyclic numbers.
#[test]
fn bands_are_one_scan() {
    let image = smooth(Channels::Rgb, 1000, 1900);
    let bytes = written("x.jpg", &image, with_quality(50), &read_options(1, None).run).unwrap();
    for options in [read_options(2, Some(1)), read_options(7, None)] {
        assert!(written("x.jpg", &image, with_quality(50), &options.run).unwrap() == bytes);
    }
    let count_of = |mark: u8| bytes.windows(2).filter(|pair| *pair == [0xFF, mark]).count();
    assert_eq!((count_of(0xD8), count_of(0xDA), count_of(0xD9)), (1, 1, 1));
    let restarts: Vec<u8> = bytes
        .windows(2)
        .filter(|pair| pair[0] == 0xFF && (0xD0..=0xD7).contains(&pair[1]))
        .map(|pair| pair[1])
        .collect();
    assert!(restarts.len() > 8, "{restarts:x?}");
    assert!(restarts.iter().zip((0xD0..=0xD7).cycle()).all(|(marker, expected)| *marker == expected), "{restarts:x?}");
    assert!(difference(&image, &load(bytes).unwrap()) < 40);
}

#[test]
fn what_jpeg_does_not_hold_is_made_to_fit_and_told() {
    let saved = |image: &Image| {
        let options = WriteOptions::default().with_format(Some(Format::Jpeg));
        let (bytes, report) = try_written_image(image, &options).unwrap();
        (load(bytes).unwrap(), codes(&report))
    };
    let alpha = Samples::U8([200, 100, 50, 0].repeat(64).into());
    let image = Image { width: 8, height: 8, channels: Channels::Rgba, samples: alpha, ..Image::default() };
    let (decoded, counts) = saved(&image);
    assert_eq!((decoded.channels, counts), (Channels::Rgb, vec![("changed-samples", 64), ("left-out-alpha", 1)]));
    assert!(
        byte_samples(&decoded)
            .chunks_exact(3)
            .all(|pixel| pixel.iter().zip([200, 100, 50]).all(|(decoded, expected)| decoded.abs_diff(expected) < 4))
    );
    let gray = Samples::U8([90, 255].repeat(64).into());
    let image = Image { width: 8, height: 8, channels: Channels::GrayAlpha, samples: gray, ..Image::default() };
    assert_eq!((saved(&image).0.channels, saved(&image).1), (Channels::Gray, vec![("changed-samples", 64)]));
    // Linear light becomes sRGB, and values above 1 are clamped.
    let light = Samples::F32([0.2140, 4.0, 0.0].repeat(64).into());
    let image = Image { width: 8, height: 8, samples: light, color_space: ColorSpace::Linear, ..Image::default() };
    let (decoded, counts) = saved(&image);
    assert!(
        byte_samples(&decoded)
            .chunks_exact(3)
            .all(|pixel| pixel.iter().zip([127, 255, 0]).all(|(decoded, expected)| decoded.abs_diff(expected) < 6))
    );
    assert_eq!(counts, [("changed-samples", 64), ("cut-samples", 64)]);
    let wide = Samples::U16([0x8000].repeat(64).into());
    let image = Image { width: 8, height: 8, channels: Channels::Gray, samples: wide, ..Image::default() };
    let (decoded, counts) = saved(&image);
    assert_eq!(byte_samples(&decoded), [128; 64]);
    // One warning covers all losses of JPEG.
    assert_eq!(counts, [("changed-samples", 64)]);
}

#[test]
fn sizes_that_jpeg_does_not_hold_are_refused() {
    for (width, height) in [(65_536, 1), (1, 65_536), (0, 1)] {
        let samples = Samples::U8(vec![0; width * height].into());
        let image = Image { width, height, channels: Channels::Gray, samples, ..Image::default() };
        let error = written("x.jpg", &image, ImageWriteOptions::default(), &RunOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{width} x {height}: {error}");
    }
    let wide = Image {
        width: 65_535,
        height: 1,
        channels: Channels::Gray,
        samples: Samples::U8(vec![7; 65_535].into()),
        ..Image::default()
    };
    assert_eq!(load(written_by_all("x.jpg", &wide, ImageWriteOptions::default())).unwrap().width, 65_535);
}

/// More than 512 MiB of pixels, in files with less than one byte for each 100 bytes of pixels.
#[test]
fn pixels_out_of_nearly_nothing_are_refused() {
    let width = 15_000_u16;
    let height = 12_500_u16;
    let min_bytes = 3 * usize::from(width) * usize::from(height) / 100;
    let mut bytes = file("rgb_444");
    let frame = bytes.windows(2).position(|mark| mark == [0xFF, 0xC0]).unwrap();
    bytes[frame + 5..frame + 7].copy_from_slice(&height.to_be_bytes());
    bytes[frame + 7..frame + 9].copy_from_slice(&width.to_be_bytes());
    for size in [400_000, min_bytes - 1] {
        bytes.resize(size, 0);
        for load in [crate::images::load, load_stream] {
            let error = load("x.jpg", bytes.clone(), &ReadOptions::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Limit, "{error} of {size}");
            assert!(error.to_string().contains("`image_ratio`"), "{error}");
        }
    }
}
