//! Compresses test data into members of any size, and decompresses it.

use polyhaul::options::Codec;
use polyhaul_bytes::{DecompressLimits, Encoder, Source, decompressed};

/// Codecs and their file extensions.
pub const CODECS: [(Codec, &str); 3] = [(Codec::Gzip, "gz"), (Codec::Zstd, "zst"), (Codec::Lz4, "lz4")];

/// Compresses `plain` into members that each hold `member_bytes` of it, but the last may hold fewer. Returns nothing
/// for empty input.
pub fn pack(codec: Codec, plain: &[u8], member_bytes: usize) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut encoder = Encoder::new(codec, None).unwrap();
    plain.chunks(member_bytes).for_each(|member| encoder.encode(member, &mut packed).unwrap());
    packed
}

/// Decompresses a source in blocks of `block_bytes`; also returns the error that stopped it, if any.
pub fn unpack(source: Source<'_>, limits: &DecompressLimits, block_bytes: usize) -> (Vec<u8>, Option<String>) {
    let source = match decompressed(source, limits) {
        Ok(source) => source,
        Err(error) => return (Vec::new(), Some(error.to_string())),
    };
    let mut plain = Vec::new();
    let mut block = vec![0; block_bytes];
    loop {
        match source.read_part(&mut block) {
            Ok(0) => return (plain, None),
            Ok(count) => plain.extend_from_slice(&block[..count]),
            Err(error) => return (plain, Some(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_unpacks() {
        for (codec, _) in CODECS {
            let packed = pack(codec, b"v 0 0 0\n", 3);
            let limits = DecompressLimits::default();
            assert_eq!(unpack(Source::memory(&packed[..]), &limits, 2), (b"v 0 0 0\n".to_vec(), None));
            assert!(unpack(Source::memory(&packed[..packed.len() - 1]), &limits, 2).1.is_some());
        }
    }
}
