//! Unpacks the packets of a TGA file: the lower seven bits of the first byte, plus 1, are a number of pixels. If the
//! highest bit is set, one pixel follows and is repeated; otherwise that many pixels follow.
//!
//! Unpacks the available bytes and resumes with the next bytes, wherever the data was split. Does not read files;
//! pixels are produced as stored, independent of rows and colors.

use crate::runs;
use crate::runs::{RunCode, RunsProgress, SLACK};
use polyhaul_text::cpu::Level;

/// Maximum bytes per stored pixel.
const MAX_PIXEL_BYTES: usize = 4;

/// Decodes the first byte of a packet.
struct TgaHeads;

impl RunCode for TgaHeads {
    #[inline(always)]
    fn decode(head: u8) -> (usize, bool) {
        (usize::from(head & 0x7F) + 1, head & 0x80 != 0)
    }
}

/// The rest of a partially unpacked packet.
#[derive(Clone, Debug, Default)]
pub(super) struct Packets {
    /// Number of pixels left in the packet.
    left: usize,
    /// The pixel of a run, or `None` for literal pixels.
    run: Option<[u8; MAX_PIXEL_BYTES]>,
}

impl Packets {
    /// Unpacks pixels of `size` bytes until `from` is exhausted or `to` is full, except for its last [`SLACK`] bytes,
    /// whose content is then unspecified.
    pub(super) fn unpack(&mut self, size: usize, from: &[u8], to: &mut [u8]) -> RunsProgress {
        let mut progress = RunsProgress::default();
        let room = to.len().saturating_sub(SLACK);
        loop {
            if self.left == 0 {
                // The fast path needs space beyond each packet; the last packets are unpacked piece by piece below.
                whole(size, from, to, &mut progress);
                if progress.made == room || !self.start(size, from, &mut progress) {
                    return progress;
                }
            }
            if !self.continue_packet(size, from, &mut to[..room], &mut progress) {
                return progress;
            }
        }
    }

    /// Returns the number of pixels left in the packet.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Starts a packet. Returns `false` unless its first byte and the pixel of a run are available.
    fn start(&mut self, size: usize, from: &[u8], progress: &mut RunsProgress) -> bool {
        let Some((&head, rest)) = from[progress.used..].split_first() else { return false };
        let (count, is_run) = TgaHeads::decode(head);
        self.run = None;
        if is_run {
            // Nothing is consumed yet, so this packet can be started again with more bytes.
            let Some(stored) = rest.get(..size) else { return false };
            let mut pixel = [0; MAX_PIXEL_BYTES];
            pixel[..size].copy_from_slice(stored);
            self.run = Some(pixel);
            progress.used += size;
        }
        progress.used += 1;
        self.left = count;
        true
    }

    /// Unpacks the available part of the packet. Returns `false` if the packet is incomplete or exceeds `to`.
    fn continue_packet(&mut self, size: usize, from: &[u8], to: &mut [u8], progress: &mut RunsProgress) -> bool {
        let from = &from[progress.used..];
        let to = &mut to[progress.made..];
        let mut count = self.left.min(to.len() / size);
        match self.run {
            Some(pixel) => to.chunks_exact_mut(size).take(count).for_each(|to| to.copy_from_slice(&pixel[..size])),
            None => {
                count = count.min(from.len() / size);
                to[..count * size].copy_from_slice(&from[..count * size]);
                progress.used += count * size;
            }
        }
        progress.made += count * size;
        self.left -= count;
        self.left == 0
    }
}

/// Unpacks whole packets, as long as more space than they need is left.
fn whole(size: usize, from: &[u8], to: &mut [u8], progress: &mut RunsProgress) {
    let level = Level::best();
    match size {
        1 => runs::unpack::<TgaHeads, 1>(level, from, to, progress),
        2 => runs::unpack::<TgaHeads, 2>(level, from, to, progress),
        3 => runs::unpack::<TgaHeads, 3>(level, from, to, progress),
        _ => runs::unpack::<TgaHeads, 4>(level, from, to, progress),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unpacks `from`, split at `cut` bytes, into parts of `part` bytes.
    fn unpacked(size: usize, from: &[u8], cut: usize, part: usize, total: usize) -> Vec<u8> {
        let mut packets = Packets::default();
        let mut out = Vec::new();
        let mut at = 0;
        while out.len() < total {
            let room = part.min(total - out.len());
            let mut to = vec![0xEE; room + SLACK];
            let mut made = 0;
            let mut stuck = 0;
            while made < room {
                let end = from.len().min(at + cut + stuck);
                let progress = packets.unpack(size, &from[at..end], &mut to[made..]);
                stuck = if progress == RunsProgress::default() { stuck + 1 } else { 0 };
                assert!(stuck < 9, "unpacking does not progress");
                at += progress.used;
                made += progress.made;
            }
            out.extend_from_slice(&to[..room]);
        }
        assert_eq!((at, packets.left()), (from.len(), 0));
        out
    }

    /// Packets of all lengths, and their content, unpacked byte by byte.
    fn sample(size: usize) -> (Vec<u8>, Vec<u8>) {
        let mut packed = Vec::new();
        let mut plain = Vec::new();
        let mut seed = 1_u32;
        let mut byte = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8
        };
        for count in (1..=128).chain([1, 1, 2, 3, 128, 1, 5]) {
            let pixel: Vec<u8> = (0..size).map(|_| byte()).collect();
            packed.push(0x80 | (count - 1) as u8);
            packed.extend(&pixel);
            (0..count).for_each(|_| plain.extend(&pixel));
            let pixels: Vec<u8> = (0..count * size).map(|_| byte()).collect();
            packed.push((count - 1) as u8);
            packed.extend(&pixels);
            plain.extend(&pixels);
        }
        (packed, plain)
    }

    #[test]
    fn packets_come_out_whole_wherever_they_are_cut() {
        for size in 1..=4 {
            let (packed, plain) = sample(size);
            for cut in [1, 2, 7, 64, 1000, packed.len()] {
                for part in [size, 7 * size, 1000 * size, plain.len()] {
                    let pixels = unpacked(size, &packed, cut, part, plain.len());
                    assert!(pixels == plain, "{size} bytes, cut at {cut}, parts of {part}");
                }
            }
        }
    }
}
