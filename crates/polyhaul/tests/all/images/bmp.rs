//! BMP.

use crate::images::*;
use polyhaul::ErrorKind;

fn read(bytes: Vec<u8>) -> Result<Image> {
    load("x.bmp", bytes, &ReadOptions::default())
}

fn good(name: &str) -> Vec<u8> {
    file("bmp", &format!("good/{name}.bmp"))
}

/// A run-length encoded 8-bit bitmap with four colors.
fn in_runs(width: u32, height: u32, runs: &[u8]) -> Vec<u8> {
    let mut bytes = b"BM".to_vec();
    for word in [0, 0, 70, 40, width, height, 8 << 16 | 1, 1, 0, 0, 0, 4, 0] {
        bytes.extend(u32::to_le_bytes(word));
    }
    bytes.extend([0, 0, 0, 0, 1, 1, 1, 0, 2, 2, 2, 0, 3, 3, 3, 0]);
    bytes.extend_from_slice(runs);
    bytes
}

#[test]
fn files_are_what_other_decoders_make_of_them() {
    for (name, bytes) in files("bmp", "good") {
        // Channels of five and six bits are rounded to the nearest value, unlike in other decoders.
        let tolerance = if matches!(&*name, "rgb555" | "rgb565") { 1 } else { 0 };
        is_as_expected(&read(bytes).unwrap(), "bmp", &name, tolerance);
    }
}

#[test]
fn runs_by_hand() {
    let samples = |runs: &[u8]| match read(in_runs(4, 2, runs)).unwrap().samples {
        Samples::U8(samples) => samples.iter().step_by(3).copied().collect::<Vec<u8>>(),
        other => panic!("{other:?}"),
    };
    // The bottom row is first.
    assert_eq!(samples(&[4, 1, 0, 0, 1, 2, 3, 3, 0, 0, 0, 1]), [2, 3, 3, 3, 1, 1, 1, 1]);
    assert_eq!(samples(&[0, 3, 1, 2, 3, 0, 0, 2, 0, 1, 1, 1, 0, 1]), [0, 0, 0, 1, 1, 2, 3, 0]);
    assert_eq!(samples(&[0, 1]), [0; 8]);
    // The last row needs no end marker.
    assert_eq!(samples(&[4, 1, 0, 0, 4, 2]), [2, 2, 2, 2, 1, 1, 1, 1]);
    same_for_all("x.bmp", &in_runs(4, 2, &[0, 3, 1, 2, 3, 0, 0, 2, 0, 1, 1, 1, 0, 1]));
}

#[test]
fn runs_that_leave_the_image_are_errors() {
    for (runs, at) in [
        (&[0, 2, 5, 0][..], 70),
        (&[0, 2, 0, 2], 70),
        (&[2, 1, 0], 73),
        (&[0, 3, 1, 2], 74),
        (&[1, 4, 0, 0, 0, 1], 74),
        (&[4, 1, 0, 0], 74),
    ] {
        let error = error("x.bmp", &in_runs(4, 2, runs));
        assert_eq!((error.kind(), error.place().offset), (ErrorKind::Malformed, Some(at)), "{runs:?}: {error}");
    }
}

#[test]
fn runs_are_cut_at_the_end_of_their_row() {
    let read = |runs: &[u8]| {
        let (image, counts) = warned("x.bmp", &in_runs(4, 2, runs));
        let Samples::U8(samples) = &image.samples else { panic!("{:?}", image.samples) };
        (samples.iter().step_by(3).copied().collect::<Vec<u8>>(), counts)
    };
    // A run and literal pixels that are too long, and runs that start after the end of the row.
    assert_eq!(read(&[5, 1, 0, 0, 4, 2, 0, 1]), (vec![2, 2, 2, 2, 1, 1, 1, 1], vec![("cut-run", 1)]));
    let plain = [2, 1, 0, 3, 1, 2, 3, 0, 0, 0, 4, 2, 0, 1];
    assert_eq!(read(&plain), (vec![2, 2, 2, 2, 1, 1, 1, 2], vec![("cut-run", 1)]));
    assert_eq!(read(&[4, 1, 1, 2, 9, 3, 0, 0, 200, 2]), (vec![2, 2, 2, 2, 1, 1, 1, 1], vec![("cut-run", 3)]));
    let image = polyhaul::Reader::new(Input::Memory(in_runs(4, 2, &[4, 1, 1, 2, 0, 0, 4, 2]), "x.bmp".into())).image();
    assert_eq!(image.unwrap().report.warnings.kept()[0].diagnostic.place.offset, Some(72));
    // Runs of two 4-bit values; the second one is outside the row.
    let mut four = in_runs(3, 1, &[4, 0x12, 0, 1]);
    four[28] = 4;
    four[30] = 2;
    let (image, counts) = warned("x.bmp", &four);
    assert_eq!((image.samples, counts), (Samples::U8([1, 1, 1, 2, 2, 2, 1, 1, 1].into()), vec![("cut-run", 1)]));
}

/// An OS/2 2 file with a second header of this size, and runs of colors.
fn os2(header_bytes: u32, [width, height]: [u32; 2], bits: u32, compression: u32, rest: &[u8]) -> Vec<u8> {
    let mut bytes = b"BM".to_vec();
    for word in [0, 0, 14 + header_bytes, header_bytes, width, height, bits << 16 | 1, compression] {
        bytes.extend(u32::to_le_bytes(word));
    }
    bytes.resize(14 + header_bytes as usize, 0);
    bytes.extend_from_slice(rest);
    bytes
}

#[test]
fn runs_of_24_bits_are_those_of_os2() {
    // A run of 3, three literal colors with padding, the end of the row; a move over one pixel, a run of 1.
    let runs = [3, 1, 2, 3, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 0, 0, 2, 1, 0, 1, 20, 21, 22, 0, 1];
    let (image, counts) = warned("x.bmp", &os2(64, [6, 2], 24, 4, &runs));
    let top = [0, 0, 0, 22, 21, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let bottom = [3, 2, 1, 3, 2, 1, 3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10];
    assert_eq!((image.samples, counts), (Samples::U8([top, bottom].concat().into()), vec![]));
    // Truncated at the end of a row, and at the end of the file.
    let (image, counts) = warned("x.bmp", &os2(64, [2, 1], 24, 4, &[9, 1, 2, 3]));
    assert_eq!((image.samples, counts), (Samples::U8([3, 2, 1, 3, 2, 1].into()), vec![("cut-run", 1)]));
    for cut in 0..4 {
        let error = error("x.bmp", &os2(64, [2, 1], 24, 4, &[2, 1, 2, 3][..cut]));
        assert_eq!(error.kind(), ErrorKind::Malformed, "{cut}: {error}");
    }
    // In Windows headers, the same value means JPEG; Huffman codes are not supported.
    assert_eq!(error("x.bmp", &os2(40, [2, 1], 24, 4, &[2, 1, 2, 3])).kind(), ErrorKind::Unsupported);
    assert_eq!(error("x.bmp", &os2(64, [8, 1], 1, 3, &[0; 16])).kind(), ErrorKind::Unsupported);
}

#[test]
fn headers_of_os2_may_be_cut() {
    for header_bytes in [20, 24, 36, 64] {
        let (image, counts) = warned("x.bmp", &os2(header_bytes, [1, 1], 24, 0, &[1, 2, 3, 0]));
        assert_eq!((image.samples, counts), (Samples::U8([3, 2, 1].into()), vec![]), "{header_bytes}");
    }
    let mut short = os2(20, [1, 1], 24, 0, &[1, 2, 3, 0]);
    short[14] = 16;
    let pixels = short.split_off(34);
    short.truncate(30);
    short[10] = 30;
    assert!(read([short, pixels].concat()).is_ok());
}

#[test]
fn runs_that_claim_much_take_no_memory() {
    let error = error("x.bmp", &in_runs(16_000, 16_000, &[0, 1]));
    assert!(error.to_string().contains("skip more pixels"), "{error}");
    // Skipped pixels are accepted if the image is not huge.
    assert!(read(in_runs(2000, 2000, &[0, 1])).is_ok());
}

#[test]
fn what_headers_may_not_say() {
    for (name, at, word, kind) in [
        ("rgb24", 10, 0, ErrorKind::Malformed),
        ("rgb24", 14, 41 << 8, ErrorKind::Unsupported),
        ("rgb24", 18, 0, ErrorKind::Malformed),
        ("rgb24", 18, u32::MAX, ErrorKind::Malformed),
        ("rgb24", 22, 0, ErrorKind::Malformed),
        ("rgb24", 22, 1 << 31, ErrorKind::Limit),
        ("rgb24", 28, 23, ErrorKind::Malformed),
        ("rgb24", 30, 1, ErrorKind::Malformed),
        ("rgb24", 30, 4, ErrorKind::Unsupported),
        ("rgb24", 30, 5, ErrorKind::Unsupported),
        ("rgb565", 54, 0x1_0000, ErrorKind::Malformed),
        ("pal4", 46, 17, ErrorKind::Malformed),
        ("pal4", 46, u32::MAX, ErrorKind::Malformed),
        ("pal4", 46, 2, ErrorKind::Malformed),
    ] {
        let error = error("x.bmp", &with_word(good(name), at, word));
        assert_eq!(error.kind(), kind, "{name} {at} {word}: {error}");
        assert!(error.place().offset.is_some());
    }
}

#[test]
fn channels_of_more_than_eight_bits_have_sixteen() {
    // Masks of 10 bits with 2 bits of alpha, and of 16 bits of green only.
    for (masks, alpha, bits, expected) in [
        ([0x3FF << 20, 0x3FF << 10, 0x3FF], 3 << 30, 3 << 30 | 1023 << 20 | 1 << 10, &[65_535, 64, 0, 65_535][..]),
        ([0, 0xFFFF, 0], 0, 0x1234, &[0, 0x1234, 0]),
    ] {
        let mut bytes = b"BM\0\0\0\0\0\0\0\0\x7A\0\0\0".to_vec();
        bytes.extend([108_u32, 1, 1, 1 | 32 << 16, 3, 4, 0, 0, 0, 0].into_iter().flat_map(u32::to_le_bytes));
        bytes.extend(masks.into_iter().chain([alpha]).flat_map(u32::to_le_bytes));
        bytes.resize(122, 0);
        bytes.extend(u32::to_le_bytes(bits));
        same_for_all("x.bmp", &bytes);
        let Samples::U16(samples) = read(bytes).unwrap().samples else { panic!("8 bits") };
        assert_eq!(&samples[..], expected);
    }
}
