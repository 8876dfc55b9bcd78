//! Packets of a TGA file: a run repeats one pixel up to 128 times, the others hold up to 128 as they are.
//!
//! It takes what bytes there are and goes on with the next ones wherever they were cut. It reads no files and knows no
//! rows.
//!
//! Packets are a few pixels long in most images, so what counts is what each costs. Where whole packets and a little
//! more have room they are written eight bytes and more at a time, beyond their end too, where the next one follows.

use super::header::Pixels;
use crate::formats::pixels::Stored;
use polyhaul_text::cpu::Level;
use std::mem::MaybeUninit;

/// Most bytes of a stored pixel.
const MOST_BYTES: usize = 4;
/// Bytes that are written at once of a run: whole pixels of one to four bytes.
const STEP: usize = 24;
/// Bytes that are written of every packet, however short: a loop whose end nobody can guess costs more.
const EAGER: usize = 2 * STEP;

/// A packet that is not over.
#[derive(Debug, Default)]
pub(super) struct Packets {
    /// Pixels that it still has.
    left: usize,
    /// The pixel of a run as it is stored.
    run: Option<[u8; MOST_BYTES]>,
}

/// How far unpacking came: bytes taken and bytes made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) used: usize,
    pub(super) made: usize,
}

impl Packets {
    /// Unpacks until `to` is full or `from` has no whole pixel left.
    ///
    /// # Errors
    /// The place in `from` of a pixel whose number the colour map does not have.
    pub(super) fn unpack(&mut self, pixels: &Pixels, from: &[u8], to: &mut [MaybeUninit<u8>]) -> Result<Done, usize> {
        let mut done = Done::default();
        loop {
            if self.left == 0 {
                quick(pixels, from, to, &mut done);
                if done.made == to.len() || !self.begin(pixels.bytes(), from, &mut done) {
                    return Ok(done);
                }
            }
            if !self.go_on(pixels, from, to, &mut done)? {
                return Ok(done);
            }
        }
    }

    /// How many pixels the packet still has.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Takes the begin of a packet, if it is there as a whole.
    fn begin(&mut self, size: usize, from: &[u8], done: &mut Done) -> bool {
        let Some((&head, rest)) = from[done.used..].split_first() else { return false };
        self.run = None;
        if head & 0x80 != 0 {
            let Some(stored) = rest.get(..size) else { return false };
            let mut pixel = [0; MOST_BYTES];
            pixel[..size].copy_from_slice(stored);
            self.run = Some(pixel);
            done.used += size;
        }
        done.used += 1;
        self.left = usize::from(head & 0x7F) + 1;
        true
    }

    /// Unpacks what there is of the packet; `false` where there was not all of it, or no room.
    fn go_on(
        &mut self,
        pixels: &Pixels,
        from: &[u8],
        to: &mut [MaybeUninit<u8>],
        done: &mut Done,
    ) -> Result<bool, usize> {
        let (size, made_size) = (pixels.bytes(), pixels.channels().count());
        let mut count = self.left.min((to.len() - done.made) / made_size);
        if self.run.is_none() {
            count = count.min((from.len() - done.used) / size);
        }
        let target = &mut to[done.made..done.made + count * made_size];
        match self.run {
            Some(pixel) => {
                let run = [pixel; 128];
                let mut stored = [0; 128 * MOST_BYTES];
                stored.chunks_exact_mut(size).zip(&run).for_each(|(to, pixel)| to.copy_from_slice(&pixel[..size]));
                pixels.expand(Level::Portable, &stored[..count * size], target).map_err(|_| done.used - size)?;
            }
            None => {
                let stored = &from[done.used..done.used + count * size];
                pixels.expand(Level::Portable, stored, target).map_err(|place| done.used + place * size)?;
                done.used += count * size;
            }
        }
        done.made += count * made_size;
        self.left -= count;
        Ok(self.left == 0)
    }
}

/// Whole packets, as long as there is more room than they need.
fn quick(pixels: &Pixels, from: &[u8], to: &mut [MaybeUninit<u8>], done: &mut Done) {
    let Pixels::Plain(stored) = pixels else { return };
    match stored {
        Stored::Gray8 => quick_of::<1, 8>(from, to, done, |eight| eight),
        Stored::GrayAlpha8 => quick_of::<2, 8>(from, to, done, |eight| eight),
        Stored::Bgr8 => quick_of::<3, 6>(from, to, done, |eight| {
            // The middle bytes stay, the others change places.
            eight & 0xFF_0000_FF00 | eight >> 16 & 0xFF00_00FF | eight << 16 & 0xFF00_00FF_0000
        }),
        Stored::Bgra8 => quick_of::<4, 8>(from, to, done, |eight| {
            let (two, alpha) = (0xFF_0000_00FF, 0xFF00_FF00_FF00_FF00);
            eight & alpha | eight >> 16 & two | (eight & two) << 16
        }),
        Stored::Bgr5 | Stored::Bgr5A1 => {}
    }
}

/// Packets of pixels of `SIZE` bytes, of which `turn` does those in `WHOLE` bytes at once.
#[inline(always)]
fn quick_of<const SIZE: usize, const WHOLE: usize>(
    from: &[u8],
    to: &mut [MaybeUninit<u8>],
    done: &mut Done,
    turn: impl Fn(u64) -> u64,
) {
    // A local copy stays in registers.
    let Done { mut used, mut made } = *done;
    while let Some(head) = from.get(used) {
        let size = (usize::from(head & 0x7F) + 1) * SIZE;
        let Some(target) = to.get_mut(made..made + size + EAGER + 8) else { break };
        if head & 0x80 != 0 {
            let Some(pixel) = from.get(used + 1..).and_then(<[u8]>::first_chunk) else { break };
            fill::<SIZE>(turn(u64::from_le_bytes(*pixel)), size, target);
            used += 1 + SIZE;
        } else {
            let Some(source) = from.get(used + 1..used + 1 + size + EAGER + 8) else { break };
            copy::<WHOLE>(source, size, target, &turn);
            used += 1 + size;
        }
        made += size;
    }
    *done = Done { used, made };
}

/// Writes the pixels of the first `size` bytes of `from`, and some behind them.
#[inline(always)]
fn copy<const WHOLE: usize>(from: &[u8], size: usize, to: &mut [MaybeUninit<u8>], turn: impl Fn(u64) -> u64) {
    let step = |from: &[u8], to: &mut [MaybeUninit<u8>]| {
        if let (Some(eight), Some(to)) = (from.first_chunk(), to.first_chunk_mut()) {
            *to = turn(u64::from_le_bytes(*eight)).to_le_bytes().map(MaybeUninit::new);
        }
    };
    if let (Some(from), Some(to)) = (from.first_chunk::<{ EAGER + 8 }>(), to.first_chunk_mut::<{ EAGER + 8 }>()) {
        for at in (0..EAGER).step_by(WHOLE) {
            step(&from[at..], &mut to[at..]);
        }
    }
    for at in (EAGER..size).step_by(WHOLE) {
        step(&from[at..], &mut to[at..]);
    }
}

/// Writes the first pixel of `pixel` to the first `size` bytes of `to`, and to some behind them.
#[inline(always)]
fn fill<const SIZE: usize>(pixel: u64, size: usize, to: &mut [MaybeUninit<u8>]) {
    let one = pixel & (u64::MAX >> (64 - 8 * SIZE));
    // Those of three bytes begin anew in the middle of a word.
    let words = match SIZE {
        1 => [one.wrapping_mul(0x0101_0101_0101_0101); 3],
        2 => [one.wrapping_mul(0x0001_0001_0001_0001); 3],
        3 => [
            one | one << 24 | one << 48,
            one >> 16 | one << 8 | one << 32 | one << 56,
            one >> 8 | one << 16 | one << 40,
        ],
        _ => [one | one << 32; 3],
    };
    let step = words.map(|word| word.to_le_bytes().map(MaybeUninit::new));
    let put = |to: &mut [MaybeUninit<u8>]| {
        if let Some(to) = to.first_chunk_mut::<STEP>() {
            to.copy_from_slice(step.as_flattened());
        }
    };
    put(to);
    put(&mut to[STEP..]);
    for at in (2 * STEP..size).step_by(STEP) {
        put(&mut to[at..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unpacks `from` in parts that are cut at `cut` bytes, into rows of `row` bytes.
    fn unpacked(pixels: &Pixels, from: &[u8], cut: usize, row: usize, total: usize) -> Vec<u8> {
        let mut packets = Packets::default();
        let (mut out, mut at) = (vec![MaybeUninit::new(0xEE); total], 0);
        for to in out.chunks_mut(row) {
            let (mut made, mut stuck) = (0, 0);
            while made < to.len() {
                let end = from.len().min(at + cut + stuck);
                let done = packets.unpack(pixels, &from[at..end], &mut to[made..]).unwrap();
                stuck = if done == Done::default() { stuck + 1 } else { 0 };
                assert!(stuck < 9, "nothing goes on");
                (at, made) = (at + done.used, made + done.made);
            }
        }
        assert_eq!(at, from.len());
        // SAFETY: all were initialised when the vector was made.
        out.iter().map(|byte| unsafe { byte.assume_init() }).collect()
    }

    /// Packets of all lengths, and what they hold, byte by byte.
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
        for stored in [Stored::Gray8, Stored::GrayAlpha8, Stored::Bgr8, Stored::Bgra8, Stored::Bgr5, Stored::Bgr5A1] {
            let (packed, plain) = sample(stored.bytes());
            let mut wanted = vec![MaybeUninit::new(0); plain.len() / stored.bytes() * stored.channels().count()];
            stored.expand(Level::Portable, &plain, &mut wanted);
            // SAFETY: all were initialised when the vector was made.
            let wanted: Vec<u8> = wanted.iter().map(|byte| unsafe { byte.assume_init() }).collect();
            let made_size = stored.channels().count();
            for cut in [1, 2, 7, 64, 1000, packed.len()] {
                for row in [made_size, 7 * made_size, 1000 * made_size, wanted.len()] {
                    let found = unpacked(&Pixels::Plain(stored), &packed, cut, row, wanted.len());
                    assert!(found == wanted, "{stored:?}, cut at {cut}, rows of {row}");
                }
            }
        }
    }
}
