//! Packets of a TGA file: the lower seven bits of the first byte, plus 1, are a number of pixels. If the highest bit is
//! set, one pixel follows, which is repeated; otherwise that many pixels follow.
//!
//! This module takes the bytes that there are and continues with the next ones wherever they were cut. It reads no
//! files, and knows neither rows nor colors: pixels come out as they are stored.

use crate::runs;
use crate::runs::{RunCode, RunsDone, SLACK};
use polyhaul_text::cpu::Level;

/// Most bytes of a stored pixel.
const MOST_BYTES: usize = 4;

/// The meaning of a packet's first byte.
struct TgaHeads;

impl RunCode for TgaHeads {
    #[inline(always)]
    fn decode(head: u8) -> (usize, bool) {
        (usize::from(head & 0x7F) + 1, head & 0x80 != 0)
    }
}

/// A packet that is not over.
#[derive(Clone, Debug, Default)]
pub(super) struct Packets {
    /// Pixels that are left in it.
    left: usize,
    /// The pixel of a run.
    run: Option<[u8; MOST_BYTES]>,
}

impl Packets {
    /// Unpacks pixels of `size` bytes until `from` has no whole one left or `to` is full: but for its last [`SLACK`]
    /// bytes, which hold anything then.
    pub(super) fn unpack(&mut self, size: usize, from: &[u8], to: &mut [u8]) -> RunsDone {
        let (mut done, room) = (RunsDone::default(), to.len().saturating_sub(SLACK));
        loop {
            if self.left == 0 {
                whole(size, from, to, &mut done);
                if done.made == room || !self.begin(size, from, &mut done) {
                    return done;
                }
            }
            if !self.go_on(size, from, &mut to[..room], &mut done) {
                return done;
            }
        }
    }

    /// How many pixels are left in the packet.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Starts a packet, if its beginning is complete.
    fn begin(&mut self, size: usize, from: &[u8], done: &mut RunsDone) -> bool {
        let Some((&head, rest)) = from[done.used..].split_first() else { return false };
        let (count, is_run) = TgaHeads::decode(head);
        self.run = None;
        if is_run {
            let Some(stored) = rest.get(..size) else { return false };
            let mut pixel = [0; MOST_BYTES];
            pixel[..size].copy_from_slice(stored);
            self.run = Some(pixel);
            done.used += size;
        }
        done.used += 1;
        self.left = count;
        true
    }

    /// Unpacks the available part of the packet; `false` if that is not all of it, or there is no room.
    fn go_on(&mut self, size: usize, from: &[u8], to: &mut [u8], done: &mut RunsDone) -> bool {
        let (from, to) = (&from[done.used..], &mut to[done.made..]);
        let mut count = self.left.min(to.len() / size);
        match self.run {
            Some(pixel) => to.chunks_exact_mut(size).take(count).for_each(|to| to.copy_from_slice(&pixel[..size])),
            None => {
                count = count.min(from.len() / size);
                to[..count * size].copy_from_slice(&from[..count * size]);
                done.used += count * size;
            }
        }
        done.made += count * size;
        self.left -= count;
        self.left == 0
    }
}

/// Whole packets, as long as there is more room than they need.
fn whole(size: usize, from: &[u8], to: &mut [u8], done: &mut RunsDone) {
    let level = Level::best();
    match size {
        1 => runs::unpack::<TgaHeads, 1>(level, from, to, done),
        2 => runs::unpack::<TgaHeads, 2>(level, from, to, done),
        3 => runs::unpack::<TgaHeads, 3>(level, from, to, done),
        _ => runs::unpack::<TgaHeads, 4>(level, from, to, done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unpacks `from` in parts that are cut at `cut` bytes, into parts of `part` bytes.
    fn unpacked(size: usize, from: &[u8], cut: usize, part: usize, total: usize) -> Vec<u8> {
        let mut packets = Packets::default();
        let (mut out, mut at) = (Vec::new(), 0);
        while out.len() < total {
            let room = part.min(total - out.len());
            let (mut to, mut made, mut stuck) = (vec![0xEE; room + SLACK], 0, 0);
            while made < room {
                let end = from.len().min(at + cut + stuck);
                let done = packets.unpack(size, &from[at..end], &mut to[made..]);
                stuck = if done == RunsDone::default() { stuck + 1 } else { 0 };
                assert!(stuck < 9, "nothing goes on");
                (at, made) = (at + done.used, made + done.made);
            }
            out.extend_from_slice(&to[..room]);
        }
        assert_eq!((at, packets.left()), (from.len(), 0));
        out
    }

    /// Packets of all lengths, and their content, byte by byte.
    fn sample(size: usize) -> (Vec<u8>, Vec<u8>) {
        let (mut packed, mut plain, mut seed) = (Vec::new(), Vec::new(), 1_u32);
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
                    let found = unpacked(size, &packed, cut, part, plain.len());
                    assert!(found == plain, "{size} bytes, cut at {cut}, parts of {part}");
                }
            }
        }
    }
}
