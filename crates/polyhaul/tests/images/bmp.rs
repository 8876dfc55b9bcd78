//! BMP.

use crate::*;
use polyhaul::ErrorKind;

fn read(bytes: Vec<u8>) -> Result<Image> {
    load("x.bmp", bytes, &ReadOptions::default())
}

fn good(name: &str) -> Vec<u8> {
    file("bmp", &format!("good/{name}.bmp"))
}

fn set(mut bytes: Vec<u8>, at: usize, word: u32) -> Vec<u8> {
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    bytes
}

/// 8 bits, in runs, with four colours.
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
        same_for_all("x.bmp", &bytes);
        let image = read(bytes).unwrap();
        let wanted = load("x.tga", file("bmp", &format!("expected/{name}.tga")), &ReadOptions::default()).unwrap();
        assert_eq!(
            (image.width, image.height, image.channels),
            (wanted.width, wanted.height, wanted.channels),
            "{name}"
        );
        let (Samples::U8(found), Samples::U8(wanted)) = (&image.samples, &wanted.samples) else { panic!("{name}") };
        // Five and six bits are rounded to the nearest, which others do not do.
        let most = if matches!(&*name, "rgb555" | "rgb565") { 1 } else { 0 };
        assert!(found.iter().zip(wanted).all(|(found, wanted)| found.abs_diff(*wanted) <= most), "{name}");
    }
}

#[test]
fn runs_by_hand() {
    let samples = |runs: &[u8]| match read(in_runs(4, 2, runs)).unwrap().samples {
        Samples::U8(samples) => samples.iter().step_by(3).copied().collect::<Vec<u8>>(),
        other => panic!("{other:?}"),
    };
    // The bottom row first.
    assert_eq!(samples(&[4, 1, 0, 0, 1, 2, 3, 3, 0, 0, 0, 1]), [2, 3, 3, 3, 1, 1, 1, 1]);
    assert_eq!(samples(&[0, 3, 1, 2, 3, 0, 0, 2, 0, 1, 1, 1, 0, 1]), [0, 0, 0, 1, 1, 2, 3, 0]);
    assert_eq!(samples(&[0, 1]), [0; 8]);
    // The last row needs no end.
    assert_eq!(samples(&[4, 1, 0, 0, 4, 2]), [2, 2, 2, 2, 1, 1, 1, 1]);
    same_for_all("x.bmp", &in_runs(4, 2, &[0, 3, 1, 2, 3, 0, 0, 2, 0, 1, 1, 1, 0, 1]));
}

#[test]
fn runs_that_leave_the_image_are_errors() {
    for (runs, at) in [
        (&[5, 1][..], 70),
        (&[2, 1, 0, 3, 1, 2, 3, 0], 72),
        (&[0, 2, 5, 0], 70),
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
fn runs_that_claim_much_take_no_memory() {
    let error = error("x.bmp", &in_runs(32_000, 32_000, &[0, 1]));
    assert!(error.to_string().contains("pass over more pixels"), "{error}");
    // What is passed over in a picture that is not huge is believed.
    assert!(read(in_runs(2000, 2000, &[0, 1])).is_ok());
}

#[test]
fn every_prefix_is_an_error() {
    for (name, bytes) in files("bmp", "good") {
        let whole = read(bytes.clone()).unwrap();
        for size in 0..bytes.len() {
            let options = ReadOptions { format: Some(Format::Bmp), ..ReadOptions::default() };
            match load("x.bmp", bytes[..size].to_vec(), &options) {
                // Padding and the end of runs are all that may be missing.
                Ok(image) => assert!(image == whole && bytes.len() - size <= 4, "{name}: {size} of {}", bytes.len()),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Malformed, "{name} {size}: {error}");
                    assert!(error.place().offset.is_some_and(|offset| offset <= size as u64), "{name} {size}: {error}");
                }
            }
        }
    }
}

#[test]
fn bad_files_are_errors_with_places() {
    for (name, bytes) in files("bmp", "bad/image-rs") {
        let error = error("x.bmp", &bytes);
        let kind = error.kind();
        assert!(matches!(kind, ErrorKind::Malformed | ErrorKind::Limit | ErrorKind::Unsupported), "{name}: {error}");
        assert!(error.place().offset.is_some(), "{name}: {error}");
    }
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
        let error = error("x.bmp", &set(good(name), at, word));
        assert_eq!(error.kind(), kind, "{name} {at} {word}: {error}");
        assert!(error.place().offset.is_some());
    }
}

#[test]
fn limits_hold_to_the_pixel() {
    for (pixels, is_ok) in [(90, false), (91, true), (92, true)] {
        let mut options = ReadOptions::default();
        options.limits.pixels = pixels;
        let result = load("x.bmp", good("rgb24"), &options);
        assert_eq!(result.as_ref().err().map(|error| error.kind()), (!is_ok).then_some(ErrorKind::Limit), "{pixels}");
    }
}
