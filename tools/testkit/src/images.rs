//! Image files: the test data, and small generated files for variants that it lacks.
//!
//! A format with a folder in the test data is included automatically. The rest takes one entry per case: decoders that
//! are not our own in [`is_own`], generated files in [`made`], headers with false sizes in [`claims`], and files of any
//! size in [`SHAPES`].

use crate::corpus::{root, samples};
use polyhaul::Format;

/// An image file.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Name for messages: path in the test data, or the variant.
    pub name: String,
    /// File format.
    pub format: Format,
    /// File content.
    pub bytes: Vec<u8>,
    /// Whether reading must succeed.
    pub is_good: bool,
}

impl Picture {
    /// Returns a file name with the extension of the format.
    pub fn file_name(&self) -> String {
        format!("x.{}", self.format.name())
    }
}

/// Returns the image formats that have test data.
pub fn formats() -> Vec<Format> {
    let is_here = |format: &Format| format.is_image() && root().join(format.name()).is_dir();
    Format::ALL.into_iter().filter(is_here).collect()
}

/// Returns whether polyhaul implements the decoder. Decoders of other libraries only have to stay within the limits.
pub fn is_own(format: Format) -> bool {
    !matches!(format, Format::Png | Format::Jpeg | Format::Exr)
}

/// Returns all files of the test data, and the generated files.
pub fn pictures() -> Vec<Picture> {
    let mut images = Vec::new();
    for format in formats() {
        let name = format.name();
        for folder in ["good", "bad", "regression"] {
            let files = samples(&format!("{name}/{folder}"), name);
            let picture = |file: crate::corpus::Sample| Picture {
                bytes: file.bytes(),
                name: file.name,
                format,
                is_good: folder == "good",
            };
            images.extend(files.into_iter().map(picture));
        }
    }
    images.extend(made());
    images
}

/// Returns the files that must be readable.
pub fn good() -> Vec<Picture> {
    pictures().into_iter().filter(|picture| picture.is_good).collect()
}

/// Generates small files, one for each variant of a format that the test data lacks.
pub fn made() -> Vec<Picture> {
    let rows = [
        (
            "mapped",
            Format::Tga,
            tga(1, [1, 5, 0, 2, 0, 24], [3, 2], [8, 0x20], b"\x01\x02\x03\x04\x05\x06\x05\x06\x05\x05\x06\x06"),
        ),
        ("mapped runs", Format::Tga, tga(9, [1, 0, 1, 1, 0, 32], [4, 1], [16, 0x20], b"\x01\x02\x03\x04\x83\x00\x01")),
        ("15 bits", Format::Tga, tga(2, NO_MAP, [3, 1], [15, 0], b"\x11\x7C\x22\x7D\x33\x7E")),
        (
            "16 bits with alpha",
            Format::Tga,
            tga(10, NO_MAP, [5, 2], [16, 1], b"\x81\x11\xFC\x02\x22\x7D\x33\xFE\x44\x01\x84\x55\x02"),
        ),
        ("gray and alpha", Format::Tga, tga(3, NO_MAP, [2, 2], [16, 0x28], b"\x09\x08\x07\x06\x05\x04\x03\x02")),
        ("from the right", Format::Tga, tga(2, NO_MAP, [2, 1], [32, 0x38], b"\x01\x02\x03\x04\x05\x06\x07\x08")),
        ("runs over rows", Format::Tga, tga(11, NO_MAP, [2, 3], [8, 0], b"\x84\x07\x00\x09")),
        (
            "a large map",
            Format::Tga,
            tga(1, [1, 0, 0, 0, 1, 32], [2, 1], [8, 0x20], &[&[9; 1024][..], &[7, 255]].concat()),
        ),
        ("multiplied", Format::Tga, multiplied()),
        ("a long comment", Format::Hdr, hdr(&"c".repeat(3000), "-Y 1 +X 2", &[128, 0, 0, 129, 0, 128, 0, 129])),
        (
            "old runs",
            Format::Hdr,
            hdr("c", "+Y 2 -X 3", &[9, 0, 0, 129, 1, 1, 1, 2, 7, 128, 0, 129, 5, 6, 7, 130, 1, 1, 1, 1]),
        ),
        ("planes", Format::Hdr, hdr("c", "-Y 2 +X 8", &PLANES.repeat(2))),
    ];
    let picture =
        |(name, format, bytes): (&str, Format, Vec<u8>)| Picture { name: name.into(), format, bytes, is_good: true };
    rows.into_iter().map(picture).collect()
}

/// Generates headers that claim more pixels than the file has, up to the largest sizes.
pub fn claims() -> Vec<Picture> {
    let largest = [u16::MAX; 2];
    let rows = [
        ("plain", Format::Tga, tga(2, NO_MAP, largest, [32, 0], &[])),
        ("plain, with a byte", Format::Tga, tga(2, NO_MAP, largest, [32, 0x20], &[7])),
        ("gray", Format::Tga, tga(3, NO_MAP, largest, [8, 0], &[])),
        ("gray runs", Format::Tga, tga(11, NO_MAP, largest, [8, 0], &[0xFF, 1])),
        ("runs", Format::Tga, tga(10, NO_MAP, largest, [32, 0x30], &[0xFF, 1, 2, 3, 4])),
        ("half", Format::Tga, tga(10, NO_MAP, [u16::MAX, 16_384], [32, 0], &[0xFF, 1, 2, 3, 4])),
        ("a map", Format::Tga, tga(1, [1, 0xFF, 0xFF, 0xFF, 0xFF, 32], largest, [16, 0], &[])),
        ("400 MB", Format::Tga, tga(3, NO_MAP, [20_000; 2], [8, 0], &[7; 9])),
        ("400 MB of runs", Format::Tga, tga(11, NO_MAP, [20_000; 2], [8, 0x20], &[0xFF, 1])),
        ("120 MB", Format::Hdr, hdr("c", "+Y 1000 +X 10000", &[2, 2, 0x27, 0x10, 0xFF, 1])),
        ("2^40", Format::Hdr, hdr("c", "-Y 1048576 +X 1048576", &[])),
        ("2^30", Format::Hdr, hdr("c", "+Y 1024 +X 1048576", &[1, 2, 3, 4])),
        ("2^30 of planes", Format::Hdr, hdr("c", "-Y 32769 +X 32767", &[2, 2, 0x7F, 0xFF, 0xFF, 1])),
    ];
    let picture =
        |(name, format, bytes): (&str, Format, Vec<u8>)| Picture { name: name.into(), format, bytes, is_good: false };
    rows.into_iter().map(picture).collect()
}

/// Generates a file of about this many bytes or pixels.
pub type Shape = fn(usize) -> Vec<u8>;

/// Files of any size: variant, format and generator.
pub const SHAPES: &[(&str, Format, Shape)] = &[
    ("rows", Format::Tga, |size| {
        let rows = size / 300;
        tga(2, NO_MAP, [100, rows as u16], [24, 0], &vec![5; 300 * rows])
    }),
    ("rows of one pixel", Format::Tga, |size| tga(3, NO_MAP, [1, size as u16], [8, 0], &vec![5; size])),
    ("packets of one pixel", Format::Tga, |size| {
        tga(10, NO_MAP, [size as u16 / 4, 1], [24, 0], &[0, 1, 2, 3].repeat(size / 4))
    }),
    ("runs of one pixel", Format::Tga, |size| {
        tga(
            9,
            [1, 0, 0, 1, 0, 24],
            [1, size as u16 / 2],
            [8, 0x20],
            &[&[1; 3][..], &[0x80, 0].repeat(size / 2)].concat(),
        )
    }),
    ("long runs", Format::Tga, |size| tga(11, NO_MAP, [128, size as u16 / 2], [8, 0], &[0xFF, 3].repeat(size / 2))),
    ("cut runs", Format::Tga, |size| tga(11, NO_MAP, [u16::MAX; 2], [8, 0], &[0xFF, 3].repeat(size / 2))),
    ("a colour map", Format::Tga, |size| {
        let [low, high] = (size as u16).to_le_bytes();
        tga(1, [1, 0, 0, low, high, 32], [1, 1], [16, 0], &vec![1; 4 * size + 2])
    }),
    ("much behind", Format::Tga, |size| tga(2, NO_MAP, [1, 1], [32, 0], &vec![1; 40 * size])),
    ("plain pixels", Format::Hdr, |size| hdr("c", &format!("-Y {} +X 4", size / 16), &vec![9; size / 16 * 16])),
    ("one row of plain pixels", Format::Hdr, |size| hdr("c", &format!("-Y 1 +X {}", size / 4), &vec![9; size / 4 * 4])),
    ("runs of no pixel", Format::Hdr, |size| {
        hdr("c", &format!("-Y 1 +X {}", size / 8), &[9, 9, 9, 9, 1, 1, 1, 0].repeat(size / 8))
    }),
    ("planes", Format::Hdr, |size| hdr("c", &format!("-Y {} +X 8", size / 12), &PLANES.repeat(size / 12))),
    ("wide planes", Format::Hdr, |size| {
        let row = [&[2, 2, 0x7F, 0xFF][..], &[[0xFF, 1].repeat(258), vec![0x81, 1]].concat().repeat(4)].concat();
        hdr("c", &format!("-Y {} +X 32767", size / 1000), &row.repeat(size / 1000))
    }),
    ("lines", Format::Hdr, |size| hdr(&"c\n#".repeat(size / 3), "-Y 1 +X 1", &[9; 4])),
    ("a long line", Format::Hdr, |size| hdr(&"c".repeat(size), "-Y 1 +X 1", &[9; 4])),
    ("much behind", Format::Hdr, |size| hdr("c", "-Y 1 +X 1", &vec![9; 40 * size])),
];

/// TGA header fields of a missing color map.
pub const NO_MAP: [u8; 6] = [0; 6];

/// Encodes a TGA file: image type, color map fields, size, pixel depth and descriptor, and the data after the header.
pub fn tga(kind: u8, map: [u8; 6], [width, height]: [u16; 2], end: [u8; 2], rest: &[u8]) -> Vec<u8> {
    let [[w0, w1], [h0, h1]] = [width.to_le_bytes(), height.to_le_bytes()];
    [&[0, map[0], kind], &map[1..], &[0, 0, 0, 0, w0, w1, h0, h1], &end, rest].concat()
}

/// Encodes a TGA file with premultiplied alpha.
fn multiplied() -> Vec<u8> {
    let mut extension = vec![0; 495];
    extension[494] = 4;
    let pixels = tga(2, NO_MAP, [1, 1], [32, 8], &[1, 2, 3, 4]);
    let place = (pixels.len() as u32).to_le_bytes();
    [&pixels, &extension, &place[..], &[0; 4], b"TRUEVISION-XFILE.\0"].concat()
}

/// Encodes an HDR file: a comment, the resolution string, and pixel data.
pub fn hdr(comment: &str, size: &str, pixels: &[u8]) -> Vec<u8> {
    let header = format!("#?RADIANCE\n# {comment}\nFORMAT=32-bit_rle_rgbe\n\n{size}\n");
    [header.as_bytes(), pixels].concat()
}

/// A row of 8 pixels, run-length encoded by channel.
const PLANES: [u8; 21] = [2, 2, 0, 8, 0x88, 9, 3, 1, 2, 3, 0x85, 4, 0x88, 7, 0x84, 129, 4, 130, 131, 132, 133];

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul::{ErrorKind, Input, Reader};

    fn kind(format: Format, bytes: Vec<u8>) -> Option<ErrorKind> {
        let input = Input::Memory(bytes, format!("x.{}", format.name()));
        Reader::new(input).image().err().map(|error| error.kind())
    }

    #[test]
    fn what_is_made_is_as_it_should_be() {
        for picture in made() {
            assert_eq!(kind(picture.format, picture.bytes), None, "{}", picture.name);
        }
        for picture in claims() {
            assert!(kind(picture.format, picture.bytes).is_some(), "{}", picture.name);
        }
        for (name, format, shape) in SHAPES {
            assert_eq!(kind(*format, shape(12_000)).is_some(), *name == "cut runs", "{name}");
        }
    }
}
