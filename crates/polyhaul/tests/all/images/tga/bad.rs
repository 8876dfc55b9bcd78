//! Rejected files, with the location of the error.

use super::*;
use polyhaul::ErrorKind;

/// Checks the error for all readers and chunks.
#[track_caller]
fn error(bytes: &[u8]) -> Error {
    crate::images::error("x.tga", bytes)
}

#[track_caller]
fn says(name: &str, words: &str) {
    let error = error(&file(&format!("bad/generated/{name}.tga")));
    assert_eq!(error.to_string(), format!("x.tga: byte {words}"), "{name}");
}

#[test]
fn errors_say_what_and_where() {
    says("empty", "0: the file is empty");
    says("trunc_header", "10: unexpected end of file in the 18-byte header");
    says("zero_by_zero", "12: the image is empty (0 x 0 pixels)");
    says("type_99", "2: invalid image type 99; expected 1, 2, 3, 9, 10 or 11");
    says("bpp0", "16: invalid color depth of 0 bits; expected 15, 16, 24 or 32");
    says("bpp255", "16: invalid color depth of 255 bits; expected 15, 16, 24 or 32");
    says("cmap_bits_7", "7: invalid color map entry size of 7 bits; expected 15, 16, 24 or 32");
    says("cmap_missing", "1: invalid color map type 0 for image type 1");
}

/// A file may end early after an invalid pixel.
#[test]
fn the_first_error_is_found_however_a_file_is_read() {
    let error = error(&file("regression/short_and_unmapped.tga"));
    assert_eq!(error.to_string(), "x.tga: byte 29: color map index out of range");
}

#[test]
fn colors_that_the_map_does_not_have_are_found() {
    let mut file = header(1, [1, 5, 0, 2, 0, 24], [3, 2], 8, 0x20);
    file.extend([1, 2, 3, 4, 5, 6]);
    for (index, place) in [(4, 2), (7, 0), (255, 5)] {
        let mut file = file.clone();
        let mut numbers = [5; 6];
        numbers[place] = index;
        file.extend(numbers);
        let message = format!("x.tga: byte {}: color map index out of range", 24 + place);
        assert_eq!(error(&file).to_string(), message);
    }
}

#[test]
fn colors_that_the_map_does_not_have_are_found_in_packets() {
    let mut file = header(9, [1, 5, 0, 2, 0, 24], [300, 2], 8, 0x20);
    file.extend([1, 2, 3, 4, 5, 6]);
    let start = file.len();
    // A raw packet, runs across the end of the first row, and another raw packet.
    let packets = [&[3, 5, 6, 5, 6][..], &[0xFF, 5], &[0xFF, 6], &[0xFF, 5], &[0xFF, 6], &[83, 6], &[5; 83]].concat();
    file.extend(&packets);
    assert!(load(file.clone()).is_ok());
    for place in [1, 4, 6, 8, 10, 12, 14, packets.len() - 1] {
        let mut file = file.clone();
        file[start + place] = 7;
        // The rest of the file does not cause an earlier error.
        for size in [start + place + 1, file.len()] {
            let at = start + place;
            let message = format!("x.tga: byte {at}: color map index out of range");
            assert_eq!(error(&file[..size]).to_string(), message);
        }
    }
}

#[test]
fn an_image_is_no_scene() {
    let bytes = file("good/pillow/200x32_rgb_tl_raw.tga");
    let error = polyhaul::Reader::new(Input::Memory(bytes, "x.tga".into())).scene().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    let scene = Input::Memory(b"v 0 0 0\n".to_vec(), "x.obj".into());
    assert_eq!(polyhaul::Reader::new(scene).image().unwrap_err().kind(), ErrorKind::Usage);
}
