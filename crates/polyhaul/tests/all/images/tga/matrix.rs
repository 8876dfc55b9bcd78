//! The same pixels for any number of threads, any chunks, and however the bytes come.

use super::*;

#[test]
fn nothing_depends_on_how_the_bytes_come() {
    for (_, bytes) in files("tga", "good/pillow") {
        same_for_all("x.tga", &bytes);
    }
}

#[test]
fn an_image_that_claims_much_is_read_as_it_comes() {
    // 5000 x 5000 of which a stream cannot say that it has them: rows are turned round in the end.
    let (width, height) = (5000_u16, 5000_u16);
    let mut file = header(10, NO_MAP, [width, height], 24, 0);
    for row in 0..height {
        for _ in 0..width / 125 {
            file.extend([0x80 | 124, row as u8, (row >> 8) as u8, 9]);
        }
    }
    let image = load_stream("x.tga", file, &ReadOptions::default()).unwrap();
    for (row, pixels) in bytes_of(&image).chunks_exact(3 * usize::from(width)).enumerate() {
        let stored = usize::from(height) - 1 - row;
        assert!(pixels.chunks_exact(3).all(|pixel| pixel == [9, (stored >> 8) as u8, stored as u8]), "{row}");
    }
}
