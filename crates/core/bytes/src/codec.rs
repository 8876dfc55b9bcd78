//! Compression formats, with their names and signatures.

use std::fmt;

pub(crate) const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
pub(crate) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
pub(crate) const LZ4_MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
pub(crate) const LZ4_LEGACY_MAGIC: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];
/// The first of 16 signatures of skippable frames, which differ in the lowest four bits of the first byte.
pub(crate) const SKIPPABLE_MAGIC: [u8; 4] = [0x50, 0x2a, 0x4d, 0x18];

/// A compression format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// gzip (RFC 1952) with any number of members, including BGZF.
    Gzip,
    /// zstd (RFC 8878) with any number of frames.
    Zstd,
    /// Any number of lz4 frames, or the legacy lz4 format.
    Lz4,
    /// A member of a zip archive. Read-only, through [`Archive`](crate::Archive).
    Zip,
}

impl Codec {
    /// Returns the format for the extension of a file name (`.gz`, `.bgz`, `.zst` or `.lz4` in any case), and the name
    /// without the extension, or `None` for other extensions.
    ///
    /// ```
    /// use polyhaul_bytes::Codec;
    ///
    /// assert_eq!(Codec::of_name("scan.obj.GZ"), Some((Codec::Gzip, "scan.obj")));
    /// assert_eq!(Codec::of_name("scan.obj"), None);
    /// ```
    pub fn of_name(name: &str) -> Option<(Codec, &str)> {
        let (stem, extension) = name.rsplit_once('.')?;
        let codec = match extension.to_ascii_lowercase().as_str() {
            "gz" | "bgz" => Codec::Gzip,
            "zst" => Codec::Zstd,
            "lz4" => Codec::Lz4,
            _ => return None,
        };
        Some((codec, stem))
    }

    /// Returns the usual file name extension.
    pub fn extension(self) -> &'static str {
        match self {
            Codec::Gzip => "gz",
            Codec::Zstd => "zst",
            Codec::Lz4 => "lz4",
            Codec::Zip => "zip",
        }
    }

    /// Returns the levels that [`Encoder::new`](crate::Encoder::new) accepts, from fastest to smallest output. The
    /// range is empty for zip.
    pub fn levels(self) -> std::ops::RangeInclusive<i32> {
        match self {
            Codec::Gzip => 1..=12,
            Codec::Zstd => 1..=22,
            Codec::Lz4 => 1..=1,
            #[allow(clippy::reversed_empty_ranges, reason = "it has none")]
            Codec::Zip => 1..=0,
        }
    }

    /// Detects the format from the first bytes. Returns `None` if they are not compressed. 4 bytes suffice unless a
    /// skippable frame comes first. Both zstd and lz4 files may contain skippable frames: the format is lz4 if an lz4
    /// frame follows them in `bytes`, and zstd otherwise.
    pub fn of_content(bytes: &[u8]) -> Option<Codec> {
        if is_gzip(bytes) {
            return Some(Codec::Gzip);
        }
        let mut rest = bytes;
        while let Some(len) = skippable_len(rest) {
            let after = usize::try_from(len).ok().and_then(|len| rest.get(len..));
            rest = after.unwrap_or_default();
        }
        if is_lz4(rest) {
            Some(Codec::Lz4)
        } else if is_zstd(rest) || rest.len() < bytes.len() {
            Some(Codec::Zstd)
        } else {
            None
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Codec::Gzip => "gzip",
            Codec::Zstd => "zstd",
            Codec::Lz4 => "lz4",
            Codec::Zip => "zip",
        })
    }
}

pub(crate) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&GZIP_MAGIC)
}

pub(crate) fn is_zstd(bytes: &[u8]) -> bool {
    bytes.starts_with(&ZSTD_MAGIC)
}

pub(crate) fn is_lz4(bytes: &[u8]) -> bool {
    bytes.starts_with(&LZ4_MAGIC) || bytes.starts_with(&LZ4_LEGACY_MAGIC)
}

/// Returns the length of the skippable frame at the start of `bytes`, including its 8-byte header.
pub(crate) fn skippable_len(bytes: &[u8]) -> Option<u64> {
    let (magic, rest) = bytes.split_first_chunk::<4>()?;
    let len = rest.first_chunk::<4>()?;
    let is_skippable = u32::from_le_bytes(*magic) & !0xf == u32::from_le_bytes(SKIPPABLE_MAGIC);
    is_skippable.then_some(8 + u64::from(u32::from_le_bytes(*len)))
}
