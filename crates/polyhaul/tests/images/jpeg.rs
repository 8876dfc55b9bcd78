//! JPEG.

use crate::*;
use polyhaul::ErrorKind;

fn file(name: &str) -> Vec<u8> {
    crate::file("jpg", &format!("good/own/{name}.jpg"))
}

fn load(bytes: Vec<u8>) -> Result<Image> {
    crate::load("x.jpg", bytes, &ReadOptions::default())
}

fn bytes_of(image: &Image) -> &[u8] {
    match &image.samples {
        Samples::U8(samples) => samples,
        _ => panic!("JPEG has samples of 8 bits"),
    }
}

/// Decoders differ in how they round, and in how they make colours that stand at fewer pixels.
#[test]
fn pixels_are_nearly_those_of_another_decoder() {
    for (name, bytes) in files("jpg", "good/own") {
        same_for_all("x.jpg", &bytes);
        let image = load(bytes).unwrap();
        let array = crate::file("jpg", &format!("expected/{name}.npy"));
        let wanted = shaped(&image, &array, "|u1", &name);
        let far = bytes_of(&image).iter().zip(wanted).map(|(found, wanted)| found.abs_diff(*wanted));
        let (most, sum) = far.fold((0, 0), |(most, sum), by| (by.max(most), sum + usize::from(by)));
        assert!(most <= 6 && sum <= wanted.len() / 2, "{name}: {most}, {sum} in {}", wanted.len());
    }
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
fn every_prefix_is_an_error() {
    for name in ["gray", "gray_progressive", "rgb_420", "rgb_420_progressive", "rgb_420_restarts", "cmyk"] {
        prefixes_are_errors("x.jpg", &file(name));
    }
}

#[test]
fn one_changed_byte_breaks_nothing() {
    for name in ["gray", "gray_progressive", "rgb_420", "rgb_422_progressive", "rgb_420_restarts", "cmyk"] {
        changed_bytes_break_nothing("x.jpg", &file(name));
    }
}

#[test]
fn the_limit_of_pixels_is_exact() {
    limit_is_exact("x.jpg", &file("rgb_420"), 29 * 43);
    limit_is_exact("x.jpg", &file("gray_progressive"), 29 * 43);
}

#[test]
fn files_that_claim_much_are_cut() {
    for name in ["gray", "rgb_420_progressive"] {
        let mut bytes = file(name);
        let frame = bytes.windows(2).position(|mark| matches!(mark, [0xFF, 0xC0 | 0xC2])).unwrap();
        bytes[frame + 5..frame + 9].copy_from_slice(&[0x40, 0, 0x40, 0]);
        let error = error("x.jpg", &bytes);
        assert!(
            error.to_string().ends_with("the file ends too early: its header says 16384 x 16384 pixels"),
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
        (1, 0xC3, "without loss"),
        (1, 0xC9, "with arithmetic codes"),
        (1, 0xC5, "in a hierarchy"),
        (4, 12, "samples of 12 bits"),
        (9, 2, "images of 2 components"),
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
    // 40 segments of 64 KiB, which a decoder is to see again after the size was found behind them.
    let plain = file("rgb_420");
    let segment = [&[0xFF, 0xEA, 0xFF, 0xFF][..], &[7; 65_533]].concat();
    let bytes = [&plain[..2], &segment.repeat(40), &plain[2..]].concat();
    assert!(load(bytes.clone()).unwrap() == load(plain).unwrap());
    let stream = load_stream("x.jpg", bytes.clone(), &ReadOptions::default()).unwrap();
    assert!(stream == load(bytes.clone()).unwrap());
    asked_in_blocks("x.jpg", &bytes);
}

#[test]
fn the_content_tells_the_format() {
    assert_eq!(crate::load("picture", file("gray"), &ReadOptions::default()).unwrap().width, 43);
}

#[test]
fn a_header_without_an_end_is_refused() {
    // What stands between marks is kept for the decoder, so it must not go on for ever.
    let endless = (&[0xFF, 0xD8, 0xFF, 0xE0, 0, 2][..]).chain(std::io::repeat(0));
    let input = Input::Reader(Box::new(endless), "endless.jpg".into());
    let error = polyhaul::load_image(input, &ReadOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
}
