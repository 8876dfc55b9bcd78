//! Helpers for tests of decoding ahead: repeatable noise, and compressed data with blocks of a given size.

use zlib_rs::{Deflate, DeflateFlush};

pub(super) struct Noise(pub(super) u64);

impl Noise {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Compresses data into blocks of `block` uncompressed bytes each, as zlib, or as gzip if 16 is added to `window_bits`.
pub(super) fn deflated(plain: &[u8], level: i32, window_bits: u8, block: usize) -> Vec<u8> {
    let mut packed = vec![0; 2 * plain.len() + 100_000];
    let mut deflate = Deflate::new(level, true, window_bits);
    for part in plain.chunks(block) {
        let at = deflate.total_out() as usize;
        deflate.compress(part, &mut packed[at..], DeflateFlush::Block).unwrap();
    }
    let at = deflate.total_out() as usize;
    deflate.compress(&[], &mut packed[at..], DeflateFlush::Finish).unwrap();
    packed.truncate(deflate.total_out() as usize);
    packed
}
