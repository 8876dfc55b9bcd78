//! Files that are not read, and where that is said to be.

use super::*;

/// Files that are bad for others, but that have all their pixels: with profiles and texts that would unpack to much,
/// with data behind the last row, and a large one.
const READ: &[&str] = &["bomb_10000", "iccp_bomb_128m", "idat_long", "ztxt_bomb_512m"];

#[test]
fn bad_files_are_errors_with_places() {
    for folder in ["bad/generated", "bad/pngsuite-corrupt"] {
        for (name, bytes) in files("png", folder).into_iter().filter(|(name, _)| !READ.contains(&name.as_str())) {
            let error = error("x.png", &bytes);
            assert!(matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Limit), "{name}: {error}");
            assert!(error.place().offset.is_some_and(|offset| offset <= bytes.len() as u64), "{name}: {error}");
        }
    }
}

#[test]
fn what_unpacks_to_much_is_not_unpacked() {
    for name in ["iccp_bomb_128m", "ztxt_bomb_512m"] {
        assert_eq!(load(file(&format!("bad/generated/{name}.png"))).unwrap().width, 1, "{name}");
    }
    let large = load(file("bad/generated/bomb_10000.png")).unwrap();
    assert_eq!((large.width, large.height), (10_000, 10_000));
    limit_is_exact("x.png", &file("good/pngsuite/basn2c08.png"), 1024);
}

#[track_caller]
fn says(name: &str, words: &str) {
    let error = error("x.png", &file(&format!("bad/generated/{name}.png")));
    assert_eq!(error.to_string(), format!("x.png: byte {words}"), "{name}");
}

#[test]
fn errors_say_what_and_where() {
    says("empty", "0: the file ends too early");
    says("no_iend", "57: the file ends too early");
    says("palette_idx_oob", "70: a pixel has a number that the palette does not have");
    says("bad_crc_idat", "53: this is no sound PNG: CRC error: expected 0xf6173854 have 0xf6173855");
    says("dim_0", "16: this is no sound PNG: Invalid image dimensions");
}

#[test]
fn sums_are_checked_everywhere() {
    let mut bytes = of_chunks(&[header([1, 1], 8, 0), chunk(b"tEXt", b"a\0b"), pixels(&[0, 7])]);
    assert!(load(bytes.clone()).is_ok());
    let place = bytes.windows(4).position(|window| window == b"tEXt").unwrap() + 4;
    bytes[place] = b'c';
    assert!(error("x.png", &bytes).to_string().contains("CRC"));
}

#[test]
fn a_row_larger_than_the_memory_limit_is_refused() {
    let bytes = of_chunks(&[header([1 << 29, 1], 16, 6), pixels(&[0])]);
    let error = error("x.png", &bytes);
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("(memory_limit)"), "{error}");
}

#[test]
fn every_prefix_is_an_error() {
    for name in ["good/own/adam7_rgba16", "good/own/p4_trns", "good/own/many_idat", "good/pngsuite/basn2c08"] {
        prefixes_are_errors("x.png", &file(&format!("{name}.png")));
    }
}

#[test]
fn one_changed_byte_breaks_nothing() {
    for name in ["good/own/adam7_rgb8", "good/own/p4_trns", "good/own/g16_trns"] {
        changed_bytes_break_nothing("x.png", &file(&format!("{name}.png")));
    }
    // A changed byte of the pixels with sums that are right.
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
fn sources_are_asked_for_blocks() {
    asked_in_blocks("x.png", &file("good/own/many_idat.png"));
    asked_in_blocks("x.png", &file("bad/generated/bomb_10000.png"));
}

#[test]
fn a_cancelled_job_stops() {
    let options = ReadOptions::default();
    options.run.cancel.cancel();
    let error = crate::load("x.png", file("good/pngsuite/basn2c08.png"), &options).unwrap_err();
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
        ("x.jpg", crate::file("jpg", "good/own/rgb_420.jpg")),
        ("x.exr", crate::file("exr", "good/openexr/zip_half.exr")),
    ] {
        let half = bytes[..bytes.len() / 2].to_vec();
        let input = Input::Reader(Box::new(Broken(std::io::Cursor::new(half))), name.into());
        let error = polyhaul::load_image(input, &ReadOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert_eq!(error.io_error().unwrap().to_string(), "the cable was pulled");
    }
}
