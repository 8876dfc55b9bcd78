//! Rejected files, with the location of the error.

use super::*;

#[test]
fn what_unpacks_to_much_is_not_unpacked() {
    for name in ["iccp_bomb_128m", "ztxt_bomb_512m"] {
        assert_eq!(load(file(&format!("bad/generated/{name}.png"))).unwrap().width, 1, "{name}");
    }
    let large = load(file("bad/generated/bomb_10000.png")).unwrap();
    assert_eq!((large.width, large.height), (10_000, 10_000));
}

/// Rows of zeros with this many bytes each, with the best possible compression.
fn empty_rows(width: u32, height: u32, kind: u8, row_bytes: usize) -> Vec<u8> {
    use std::io::Write;
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let row = vec![0; row_bytes + 1];
    (0..height).for_each(|_| packer.write_all(&row).unwrap());
    of_chunks(&[header([width, height], 8, kind), chunk(b"IDAT", &packer.finish().unwrap())])
}

/// More than 512 MiB of pixels from a file of about 600 KB.
#[test]
fn pixels_out_of_nearly_nothing_are_refused() {
    let bytes = empty_rows(13_000, 14_000, 2, 3 * 13_000);
    let image_bytes = 3 * 13_000 * 14_000_usize;
    for result in [load, |bytes| load_stream("x.png", bytes, &ReadOptions::default())].map(|load| load(bytes.clone())) {
        let error = result.unwrap_err();
        let words = format!(
            "x.png: byte 16: {image_bytes} bytes of pixels in a file of {} bytes exceed the limit",
            bytes.len()
        );
        assert!(error.kind() == ErrorKind::Limit && error.to_string().starts_with(&words), "{error}");
        let hint = error.diagnostic().hint.clone().unwrap();
        assert!(hint.contains(&format!("limit `image_ratio` to {}", image_bytes.div_ceil(bytes.len()))), "{hint}");
    }
}

/// The ratio limit at N - 1, N and N + 1, from the declarations in the header: the pixels themselves are missing.
#[test]
fn the_limit_of_the_ratio_is_exact() {
    let image_bytes = 3 * 13_000 * 14_000_usize;
    for (bytes, is_within) in [(image_bytes / 100 - 1, false), (image_bytes / 100, true), (image_bytes / 100 + 1, true)]
    {
        let head = of_chunks(&[header([13_000, 14_000], 8, 2)]);
        let filler = chunk(b"teXt", &vec![0; bytes - head.len() - 12]);
        let file = [&head[..head.len() - 12], &filler, &head[head.len() - 12..]].concat();
        assert_eq!(file.len(), bytes);
        let kind = load(file).unwrap_err().kind();
        assert_eq!(kind, if is_within { ErrorKind::Malformed } else { ErrorKind::Limit }, "{bytes}");
    }
}

#[test]
fn the_default_limit_is_that_of_a_large_texture() {
    let of = |width, height| load(of_chunks(&[header([width, height], 1, 0)])).unwrap_err();
    for (width, height, kind) in [
        (16_384, 16_384, ErrorKind::Malformed),
        (16_385, 16_384, ErrorKind::Limit),
        (1 << 28, 1, ErrorKind::Malformed),
        ((1 << 28) + 1, 1, ErrorKind::Limit),
        ((1 << 28) - 1, 1, ErrorKind::Malformed),
    ] {
        let error = of(width, height);
        assert_eq!(error.kind(), kind, "{width} x {height}: {error}");
    }
    let error = of(16_385, 16_384);
    assert_eq!(error.to_string(), "x.png: byte 16: 16385 x 16384 pixels exceed the limit `pixels` (268435456)");
    assert!(error.diagnostic().hint.as_ref().unwrap().contains("limit `pixels` to 268451840"));
}

#[track_caller]
fn says(name: &str, words: &str) {
    let error = error("x.png", &file(&format!("bad/generated/{name}.png")));
    assert_eq!(error.to_string(), format!("x.png: byte {words}"), "{name}");
}

#[test]
fn errors_say_what_and_where() {
    says("empty", "0: unexpected end of file");
    says("no_iend", "57: unexpected end of file");
    says("palette_idx_oob", "70: palette index out of range");
    says("bad_crc_idat", "53: not a valid PNG: the checksum of a chunk does not match its data");
    says("dim_0", "16: not a valid PNG: invalid image size");
}

#[test]
fn sums_are_checked_everywhere() {
    let mut bytes = of_chunks(&[header([1, 1], 8, 0), chunk(b"tEXt", b"a\0b"), pixels(&[0, 7])]);
    let sound = load(bytes.clone()).unwrap();
    let place = bytes.windows(4).position(|window| window == b"tEXt").unwrap() + 4;
    bytes[place] = b'c';
    // A chunk that the pixels do not need is skipped.
    let (image, counts) = crate::images::warned("x.png", &bytes);
    assert_eq!((image, counts), (sound, vec![("bad-checksum", 1)]));
}

#[test]
fn every_damaged_chunk_is_counted() {
    let mut text = chunk(b"tEXt", b"a\0b");
    text[8] = b'c';
    let mut chunks = vec![header([1, 1], 8, 0)];
    chunks.extend(vec![text; 150]);
    chunks.push(pixels(&[0, 7]));
    assert_eq!(crate::images::warned("x.png", &of_chunks(&chunks)).1, [("bad-checksum", 150)]);
}

#[test]
fn a_profile_that_is_too_large_is_dropped_with_a_warning() {
    let profile = chunk(b"iCCP", &[&b"a\0\0"[..], &vec![0_u8; 4 << 20]].concat());
    let bytes = of_chunks(&[header([1, 1], 8, 0), profile, pixels(&[0, 7])]);
    let options = ReadOptions::default();
    let (image, counts) = crate::images::load_warned("x.png", bytes, &options).unwrap();
    assert_eq!((image.profile.icc, counts), (None, vec![("changed-color-space", 1)]));
    // Then the gamma applies.
    let gamma = |value: u32| chunk(b"gAMA", &value.to_be_bytes());
    let profile = chunk(b"iCCP", b"a\0\0damaged");
    let of_gamma = |value: u32| {
        let bytes = of_chunks(&[header([1, 1], 8, 0), gamma(value), profile.clone(), pixels(&[0, 7])]);
        crate::images::load_warned("x.png", bytes, &options).unwrap()
    };
    let (image, counts) = of_gamma(55_556);
    assert_eq!((image.profile.gamma, counts), (Some(55_556), vec![("changed-color-space", 2)]));
    let (image, counts) = of_gamma(100_000);
    assert_eq!((image.color_space, counts), (polyhaul::model::ColorSpace::Linear, vec![("changed-color-space", 1)]));
}

#[test]
fn a_row_larger_than_the_memory_limit_is_refused() {
    let bytes = of_chunks(&[header([1 << 25, 1], 16, 6), pixels(&[0])]);
    let error = error("x.png", &bytes);
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("`memory_limit`"), "{error}");
}

#[test]
fn one_changed_byte_breaks_nothing() {
    // The checksums are correct.
    let rows: Vec<u8> = (0..5).flat_map(|row| [&[row][..], &[row; 12]].concat()).collect();
    for place in 0..rows.len() {
        for byte in [0, 5, 255] {
            let mut rows = rows.clone();
            rows[place] = byte;
            let result = load(of_chunks(&[header([4, 5], 8, 2), pixels(&rows)]));
            assert_eq!(result.is_ok(), place % 13 != 0 || byte < 5, "{place} {byte}");
        }
    }
}

#[test]
fn a_cancelled_job_stops() {
    let options = ReadOptions::default();
    options.run.cancel.cancel();
    let error = crate::images::load("x.png", file("good/pngsuite/basn2c08.png"), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn errors_of_a_reader_come_out_as_they_are() {
    struct Broken(std::io::Cursor<Vec<u8>>);
    impl Read for Broken {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(out) {
                Ok(0) => Err(std::io::Error::other("the cable was pulled")),
                result => result,
            }
        }
    }
    for (name, bytes) in [
        ("x.png", file("good/pngsuite/basn2c08.png")),
        ("x.jpg", crate::images::file("jpg", "good/own/rgb_420.jpg")),
        ("x.exr", crate::images::file("exr", "good/openexr/zip_half.exr")),
    ] {
        let half = bytes[..bytes.len() / 2].to_vec();
        let input = Input::Reader(Box::new(Broken(std::io::Cursor::new(half))), name.into());
        let error = polyhaul::Reader::new(input).image().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert_eq!(error.io_error().unwrap().to_string(), "the cable was pulled");
    }
}
