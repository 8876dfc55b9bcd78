//! Writes valid zip archives for tests, and members with arbitrary records for invalid archives. Never reads archives.

use crate::packed::pack;
use polyhaul_bytes::{Codec, Encoder};

/// Compression method of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Uncompressed.
    Stored,
    /// Compressed with deflate.
    Deflate,
    /// Compressed with zstd.
    Zstd,
}

/// All methods.
pub const METHODS: [Method; 3] = [Method::Stored, Method::Deflate, Method::Zstd];

/// A member, with the fields of its records, for tests to modify.
#[derive(Clone, Debug)]
pub struct Member {
    /// Name, as stored.
    pub name: Vec<u8>,
    /// Compressed data.
    pub packed: Vec<u8>,
    /// Compressed size in the directory.
    pub packed_bytes: u64,
    /// Uncompressed size in the directory.
    pub plain_bytes: u64,
    /// Checksum of the uncompressed data.
    pub crc: u32,
    /// Number of the compression method.
    pub method: u16,
    /// Flags: bit 0 for encryption, bit 3 for a data descriptor, which stores the sizes after the data.
    pub flags: u16,
    /// External file attributes; the upper half is the Unix mode.
    pub attributes: u32,
    /// Whether sizes and offset are stored in a zip64 field.
    pub is_wide: bool,
    /// Offset in the directory, or `None` for the actual offset.
    pub told_offset: Option<u64>,
}

impl Member {
    /// Compresses `plain` into a valid member.
    pub fn new(name: impl AsRef<[u8]>, plain: &[u8], method: Method) -> Member {
        const GZIP_HEAD_BYTES: usize = 20;
        const GZIP_TAIL_BYTES: usize = 8;
        let mut gzip = Vec::new();
        Encoder::new(Codec::Gzip, None).unwrap().encode(plain, &mut gzip).unwrap();
        let tail = gzip.len() - GZIP_TAIL_BYTES;
        let (method, packed) = match method {
            Method::Stored => (0, plain.to_vec()),
            Method::Deflate => (8, gzip[GZIP_HEAD_BYTES..tail].to_vec()),
            Method::Zstd => (93, pack(Codec::Zstd, plain, usize::MAX)),
        };
        Member {
            name: name.as_ref().to_vec(),
            packed_bytes: packed.len() as u64,
            plain_bytes: plain.len() as u64,
            packed,
            crc: crc32(plain),
            method,
            flags: 0,
            attributes: 0o100_644 << 16,
            is_wide: false,
            told_offset: None,
        }
    }
}

/// Computes the CRC-32 of zip, gzip and PNG.
pub fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 };
    !bytes.iter().fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

/// Encodes an archive of these members, with a comment.
pub fn archive(members: &[Member], comment: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for member in members {
        let offset = member.told_offset.unwrap_or(bytes.len() as u64);
        local(member, &mut bytes);
        record(member, offset, &mut directory);
    }
    let directory_start = bytes.len() as u64;
    bytes.extend_from_slice(&directory);
    end(
        members.len() as u64,
        directory_start,
        directory.len() as u64,
        members.iter().any(|member| member.is_wide),
        &mut bytes,
    );
    let at = bytes.len() - 2;
    bytes[at..].copy_from_slice(&(comment.len() as u16).to_le_bytes());
    bytes.extend_from_slice(comment);
    bytes
}

/// Encodes an archive of valid members, given as names and data.
pub fn simple(members: &[(&str, &[u8])], method: Method) -> Vec<u8> {
    let members: Vec<_> = members.iter().map(|(name, plain)| Member::new(name, plain, method)).collect();
    archive(&members, b"")
}

fn put(out: &mut Vec<u8>, numbers: &[(u64, usize)]) {
    for (number, len) in numbers {
        out.extend_from_slice(&number.to_le_bytes()[..*len]);
    }
}

/// Appends the fields from version to checksum that local headers and directory entries share.
fn common(member: &Member, crc: u32, out: &mut Vec<u8>) {
    let Member { flags, method, .. } = member;
    // Version 4.5 is the first with zip64; the date is 1980-01-01.
    put(out, &[(45, 2), (u64::from(*flags), 2), (u64::from(*method), 2), (0, 2), (0x21, 2), (u64::from(crc), 4)]);
}

fn local(member: &Member, out: &mut Vec<u8>) {
    let is_behind = member.flags & 8 != 0;
    let field = |number: u64| if is_behind { 0 } else { number.min(0xffff_ffff) };
    out.extend_from_slice(b"PK\x03\x04");
    common(member, field(u64::from(member.crc)) as u32, out);
    put(out, &[(field(member.packed_bytes), 4), (field(member.plain_bytes), 4), (member.name.len() as u64, 2), (4, 2)]);
    out.extend_from_slice(&member.name);
    // An unknown extra field that the directory does not have.
    out.extend_from_slice(&[0xfe, 0xca, 0, 0]);
    out.extend_from_slice(&member.packed);
    if is_behind {
        out.extend_from_slice(b"PK\x07\x08");
        put(out, &[(u64::from(member.crc), 4), (member.packed_bytes, 4), (member.plain_bytes, 4)]);
    }
}

fn record(member: &Member, offset: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"PK\x01\x02\x2d\x03");
    common(member, member.crc, out);
    let wide = if member.is_wide { 28 } else { 0 };
    let field = |number: u64| if member.is_wide { 0xffff_ffff } else { number };
    put(out, &[(field(member.packed_bytes), 4), (field(member.plain_bytes), 4), (member.name.len() as u64, 2)]);
    put(out, &[(wide, 2), (0, 2), (0, 2), (0, 2), (u64::from(member.attributes), 4), (field(offset), 4)]);
    out.extend_from_slice(&member.name);
    if member.is_wide {
        put(out, &[(1, 2), (24, 2), (member.plain_bytes, 8), (member.packed_bytes, 8), (offset, 8)]);
    }
}

fn end(count: u64, directory_start: u64, len: u64, is_wide: bool, out: &mut Vec<u8>) {
    let at = out.len() as u64;
    if is_wide {
        out.extend_from_slice(b"PK\x06\x06");
        put(out, &[(44, 8), (45, 2), (45, 2), (0, 4), (0, 4), (count, 8), (count, 8), (len, 8), (directory_start, 8)]);
        out.extend_from_slice(b"PK\x06\x07");
        put(out, &[(0, 4), (at, 8), (1, 4)]);
    }
    let field = |number: u64, max: u64| if is_wide { max } else { number };
    out.extend_from_slice(b"PK\x05\x06");
    put(out, &[(0, 2), (0, 2), (field(count, 0xffff), 2), (field(count, 0xffff), 2)]);
    put(out, &[(field(len, 0xffff_ffff), 4), (field(directory_start, 0xffff_ffff), 4), (0, 2)]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::unpack;
    use polyhaul_bytes::{Archive, DecompressLimits, Source};

    #[test]
    fn what_is_packed_is_found() {
        for method in METHODS {
            let bytes = simple(&[("b/c.obj", b"v 0 0 0\n"), ("a", b"")], method);
            let limits = DecompressLimits::default();
            let archive = Archive::open(Source::memory(bytes), &limits).unwrap();
            assert_eq!(archive.names().collect::<Vec<_>>(), ["a", "b/c.obj"]);
            let member = archive.member(1, "m", &limits).unwrap();
            assert_eq!(unpack(member, &limits, 3), (b"v 0 0 0\n".to_vec(), None), "{method:?}");
        }
    }
}
