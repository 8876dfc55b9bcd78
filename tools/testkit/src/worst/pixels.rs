//! Images that claim more pixels than they store, or store many in few bytes; archives and compressed files that expand
//! a lot.

use super::WorstInput;
use crate::images::{NO_MAP, hdr, tga};
use crate::output::Shared;
use crate::packed::pack;
use crate::zip::{self, Method, crc32};
use polyhaul::model::{Channels, Image, Samples};
use polyhaul::options::Codec;
use polyhaul::{Format, Output, WriteOptions, Writer};

/// File extensions of images.
pub(super) const EXTENSIONS: [&str; 9] = ["tga", "png", "hdr", "exr", "jpg", "bmp", "psd", "dds", "ktx2"];

/// Writes a black image of this size with polyhaul.
pub(super) fn picture(format: Format, width: usize, height: usize) -> Vec<u8> {
    let samples = Samples::U8(vec![0; width * height].into());
    let image = Image { width, height, channels: Channels::Gray, samples, ..Image::default() };
    let bytes = Shared::with_room(1 << 20);
    let output = Output::Writer(Box::new(bytes.clone()), "memory".into());
    Writer::new(output).options(&WriteOptions::default().with_format(Some(format))).image(&image).unwrap();
    bytes.lock().clone()
}

/// Replaces the bytes at an offset.
fn patched(mut bytes: Vec<u8>, offset: usize, new: &[u8]) -> Vec<u8> {
    bytes[offset..offset + new.len()].copy_from_slice(new);
    bytes
}

/// Encodes a 1 × 1 PNG file that claims `side` × `side` pixels, with a valid checksum.
fn png_of(side: u32) -> Vec<u8> {
    let file = patched(picture(Format::Png, 1, 1), 16, &[side.to_be_bytes(), side.to_be_bytes()].concat());
    let crc = crc32(&file[12..29]);
    patched(file, 29, &crc.to_be_bytes())
}

/// Encodes a PSD file with `rows` rows of run-length encoded pixels: 128 pixels per 2 bytes.
fn psd(side: u32, rows: usize) -> Vec<u8> {
    let header =
        [b"8BPS\0\x01", &[0; 6][..], &[0, 1], &side.to_be_bytes(), &side.to_be_bytes(), &[0, 8, 0, 1]].concat();
    let row = [0x81, 0].repeat(side as usize / 128);
    let sizes = (row.len() as u16).to_be_bytes().repeat(rows);
    [&header, &[0; 12][..], &[0, 1], &sizes, &row.repeat(rows)].concat()
}

/// Encodes a run-length encoded BMP file that claims `side` × `side` pixels.
fn bmp(side: i32) -> Vec<u8> {
    let fields = [40, side, side, 1 | 8 << 16, 1, 0, 0, 0, 256, 0];
    let info: Vec<u8> = fields.iter().flat_map(|field: &i32| field.to_le_bytes()).collect();
    [b"BM", &[0; 8][..], &1078u32.to_le_bytes(), &info, &[0; 1024], &[255, 1].repeat(1000)].concat()
}

/// Encodes the headers of a JPEG file of this size, and a scan of zeros.
fn jpeg(side: u16) -> Vec<u8> {
    let [high, low] = side.to_be_bytes();
    let frame = [0xFF, 0xC2, 0, 17, 8, high, low, high, low, 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0];
    [&[0xFF, 0xD8][..], &frame, &[0xFF, 0xDA, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 63, 0], &[0; 100], &[0xFF, 0xD9]].concat()
}

/// Encodes 32-bit numbers after a signature.
fn words(signature: &[u8], numbers: &[u32]) -> Vec<u8> {
    signature.iter().copied().chain(numbers.iter().flat_map(|number| number.to_le_bytes())).collect()
}

/// Encodes a DDS file of BC1 blocks with the largest possible sides.
fn dds() -> Vec<u8> {
    let mut header = [0; 31];
    header[..7].copy_from_slice(&[124, 0x1007, u32::MAX, u32::MAX, 0, 0, u32::MAX]);
    header[18..21].copy_from_slice(&[32, 4, u32::from_le_bytes(*b"DXT1")]);
    header[26] = 0x1000;
    words(b"DDS ", &header)
}

/// Encodes a KTX2 file with the largest possible sides.
fn ktx2() -> Vec<u8> {
    let header = [37, 1, u32::MAX, u32::MAX, 0, u32::MAX, 1, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    words(b"\xABKTX 20\xBB\r\n\x1A\n", &header)
}

pub(super) fn images() -> Vec<WorstInput> {
    vec![
        WorstInput::new(
            "pixels that are not there",
            "a.tga",
            tga(10, NO_MAP, [u16::MAX; 2], [32, 0], &[0xFF, 1, 2, 3, 4]),
        ),
        WorstInput::new("pixels in runs", "b.tga", tga(11, NO_MAP, [8000; 2], [8, 0], &[0xFF, 3].repeat(500_000)))
            .content(8000 * 8000 * 4),
        WorstInput::new("pixels that are not there", "a.png", png_of(0x7fff_ffff)),
        WorstInput::new("black pixels", "b.png", picture(Format::Png, 5000, 5000)).content(5000 * 5000 * 4),
        WorstInput::new("pixels that are not there", "a.hdr", hdr("c", "-Y 1048576 +X 1048576", &[])),
        WorstInput::new("a window that is not there", "a.exr", {
            let file = picture(Format::Exr, 4, 4);
            // The attribute's name is followed by its type, `box2i`, and its size.
            let window = file.windows(10).position(|name| name == b"dataWindow").unwrap() + 11 + 6 + 4;
            patched(file, window, &[0, 0, 1_000_000, 1_000_000].map(i32::to_le_bytes).concat())
        }),
        WorstInput::new("pixels that are not there", "a.jpg", jpeg(65_500)),
        WorstInput::new("pixels that are not there", "a.bmp", bmp(30_000)),
        WorstInput::new("pixels in runs", "a.psd", psd(29_952, 2000)).content(29_952 * 29_952),
        WorstInput::new("sides that are not there", "a.dds", dds()),
        WorstInput::new("sides that are not there", "a.ktx2", ktx2()),
    ]
}

pub(super) fn packed() -> Vec<WorstInput> {
    let comments = b"# nothing\n".repeat(3_000_000);
    let names: Vec<String> = (0..8000).map(|number| format!("{number}.obj")).collect();
    let members: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &b"v 0 0 0\n"[..])).collect();
    vec![
        WorstInput::new("much text in gzip", "a.obj.gz", pack(Codec::Gzip, &comments, usize::MAX)),
        WorstInput::new("much text in zstd", "a.obj.zst", pack(Codec::Zstd, &comments, usize::MAX)),
        WorstInput::new("much text in lz4", "a.obj.lz4", pack(Codec::Lz4, &comments, usize::MAX)),
        WorstInput::new("gzip in gzip", "b.obj.gz", {
            pack(Codec::Gzip, &pack(Codec::Gzip, &comments, usize::MAX), usize::MAX)
        }),
        WorstInput::new("much text in a member", "a.zip", zip::simple(&[("a.obj", &comments)], Method::Deflate)),
        WorstInput::new("members", "b.zip", zip::simple(&members, Method::Stored)).content(8000 * 2000),
    ]
}
