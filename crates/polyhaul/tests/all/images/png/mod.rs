//! PNG.

mod animated;
mod bad;
mod good;
mod writing;

use crate::images::*;
use polyhaul::ErrorKind;

/// The bytes of a file of the test data.
fn file(name: &str) -> Vec<u8> {
    crate::images::file("png", name)
}

fn load(bytes: Vec<u8>) -> Result<Image> {
    crate::images::load("x.png", bytes, &ReadOptions::default())
}

/// A chunk with its checksum.
fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let sum = !kind.iter().chain(data).fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| sum >> 1 ^ (0xEDB8_8320 & (sum & 1).wrapping_neg()))
    });
    [&(data.len() as u32).to_be_bytes()[..], kind, data, &sum.to_be_bytes()].concat()
}

/// A file with these chunks between the signature and the end.
fn of_chunks(chunks: &[Vec<u8>]) -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunks.concat(), chunk(b"IEND", &[])].concat()
}

/// The chunk with size and pixel type.
fn header([width, height]: [u32; 2], bits: u8, kind: u8) -> Vec<u8> {
    chunk(b"IHDR", &[&width.to_be_bytes()[..], &height.to_be_bytes(), &[bits, kind, 0, 0, 0]].concat())
}

/// Uncompressed pixels in a chunk: at most 65,535 bytes.
fn pixels(rows: &[u8]) -> Vec<u8> {
    let size = rows.len() as u16;
    let (low, high) = rows.iter().fold((1_u32, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65521;
        (low, (high + low) % 65521)
    });
    let sum = (high << 16 | low).to_be_bytes();
    let data = [&[0x78, 1, 1][..], &size.to_le_bytes(), &(!size).to_le_bytes(), rows, &sum].concat();
    chunk(b"IDAT", &data)
}
