//! Parses and writes the headers of SPZ files.

use super::quantize::MAX_FRACTIONAL_BITS;
use polyhaul_model::error::{Diagnostic, ErrorKind, Result, elements_hint, fault};
use polyhaul_model::limits::Limits;
use polyhaul_model::splats::HARMONICS;
use polyhaul_pipeline::feed::Feed;

const MAGIC: &[u8; 4] = b"NGSP";
/// Bytes of the header common to all versions.
pub(super) const HEADER_BYTES: usize = 16;
/// Bytes of the header of version 4.
pub(super) const LONG_HEADER_BYTES: usize = 32;
/// Bytes per stream in the table of sizes.
pub(super) const TABLE_ROW_BYTES: usize = 16;
/// First version in which rotations have 4 bytes.
pub(super) const LONG_ROTATIONS: u32 = 3;
/// First version in which streams are compressed separately.
pub(super) const STREAMS: u32 = 4;
/// Flags of the header.
pub(super) const HAS_ANTIALIASING: u8 = 1;
pub(super) const HAS_EXTENSIONS: u8 = 2;

/// Returns whether uncompressed bytes start like an SPZ file.
pub fn looks_like_spz(head: &[u8]) -> bool {
    let version = head.get(4..8).map_or([0; 4], |bytes| [bytes[0], bytes[1], bytes[2], bytes[3]]);
    head.starts_with(MAGIC) && (1..256).contains(&u32::from_le_bytes(version))
}

/// Header of a file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpzHeader {
    pub(super) version: u32,
    pub(super) count: usize,
    /// Degree of spherical harmonics, 0 to 4.
    pub(super) degree: usize,
    pub(super) fractional_bits: u8,
    pub(super) flags: u8,
    /// Number of streams; 0 before version 4.
    pub(super) streams: u8,
}

impl SpzHeader {
    pub(super) fn read(feed: &mut Feed<'_>, limits: &Limits) -> Result<SpzHeader> {
        let mut bytes = [0; HEADER_BYTES];
        let have = feed.take(&mut bytes);
        if let Some(error) = feed.failed() {
            return Err(error);
        }
        let name = feed.name().clone();
        if have < HEADER_BYTES || !bytes.starts_with(MAGIC) {
            return Err(fault(&name, 0, "not an SPZ file: it does not start with a 16-byte `NGSP` header"));
        }
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let [version, count] = [number(4), number(8)];
        let [degree, fractional_bits, flags, streams] = [bytes[12], bytes[13], bytes[14], bytes[15]];
        let unsupported =
            |at, message: String| Err(Diagnostic::at(&name, at, message).into_error(ErrorKind::Unsupported));
        if !(1..=STREAMS).contains(&version) {
            return unsupported(4, format!("unsupported SPZ version {version}; expected 1 to 4"));
        }
        if usize::from(degree) >= HARMONICS.len() {
            return unsupported(12, format!("unsupported spherical harmonics degree {degree}; expected 0 to 4"));
        }
        // Version 1 stores halves, which have no fractional bits.
        if fractional_bits > MAX_FRACTIONAL_BITS && version > 1 {
            return Err(fault(
                &name,
                13,
                format!(
                    "invalid number of fractional bits in 24-bit positions: {fractional_bits}; expected at most 24"
                ),
            ));
        }
        let limit = limits.elements.min(u64::from(u32::MAX) - 1);
        if u64::from(count) > limit {
            let message = format!("more splats than the limit `elements` ({limit})");
            let diagnostic = Diagnostic { hint: elements_hint(limit), ..Diagnostic::at(&name, 8, message) };
            return Err(diagnostic.into_error(ErrorKind::Limit));
        }
        Ok(SpzHeader { version, count: count as usize, degree: usize::from(degree), fractional_bits, flags, streams })
    }

    /// Returns the header common to all versions.
    pub(super) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[4..8].copy_from_slice(&self.version.to_le_bytes());
        bytes[8..12].copy_from_slice(&(self.count as u32).to_le_bytes());
        bytes[12..].copy_from_slice(&[self.degree as u8, self.fractional_bits, self.flags, self.streams]);
        bytes
    }

    /// Returns everything before the streams of version 4: the header, the extensions, and a table with the compressed
    /// and uncompressed sizes of each stream.
    pub(super) fn with_table(mut self, extensions: &[u8], sizes: impl Iterator<Item = [u64; 2]>) -> Vec<u8> {
        let table: Vec<u8> = sizes.flatten().flat_map(u64::to_le_bytes).collect();
        self.streams = (table.len() / TABLE_ROW_BYTES) as u8;
        let mut bytes = self.to_bytes().to_vec();
        bytes.extend(((LONG_HEADER_BYTES + extensions.len()) as u32).to_le_bytes());
        bytes.resize(LONG_HEADER_BYTES, 0);
        bytes.extend(extensions);
        bytes.extend(table);
        bytes
    }
}
