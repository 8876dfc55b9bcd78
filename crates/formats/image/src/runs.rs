//! Packets of runs and of literals, as in many formats: a byte gives the number of items that follow, or how often the
//! next item is repeated.
//!
//! Packets are a few items long in most images, so the cost per packet decides. Every packet writes a fixed number of
//! bytes at once, also past its own end, where the next one follows: that completes most of them. The format decides
//! the meaning of the first byte, and handles invalid packets and the last one before an end of the memory.

use polyhaul_text::cpu::Level;

/// The meaning of a packet's first byte.
pub(crate) trait RunCode {
    /// The number of items that the packet produces, and whether they repeat one item. No items are an error, which the
    /// caller reports.
    fn decode(head: u8) -> (usize, bool);
}

/// Progress of unpacking: bytes consumed and bytes produced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunsDone {
    pub(crate) used: usize,
    pub(crate) made: usize,
}

/// Bytes after the last one produced that may be overwritten.
pub(crate) const SLACK: usize = 64;

/// How many bytes the portable loop writes at once: whole items of one to four bytes.
const STEP: usize = 24;

/// Unpacks whole packets of items of `SIZE` bytes, one to four, from where `done` is on. Stops before one that does not
/// end [`SLACK`] bytes before the ends of both, and before one of no items. Every level gives the same.
pub(crate) fn unpack<C: RunCode, const SIZE: usize>(level: Level, from: &[u8], to: &mut [u8], done: &mut RunsDone) {
    if done.made + SLACK > to.len() || done.used > from.len() {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if crate::runs_x86::unpack::<C, SIZE>(level, from, to, done) {
        return;
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = level;
    portable::<C, SIZE>(from, to, done);
}

fn portable<C: RunCode, const SIZE: usize>(from: &[u8], to: &mut [u8], done: &mut RunsDone) {
    // A local copy stays in registers.
    let RunsDone { mut used, mut made } = *done;
    while let Some(head) = from.get(used) {
        let (count, is_run) = C::decode(*head);
        let size = count * SIZE;
        let stored = if is_run { SIZE } else { size };
        let Some(source) = from.get(used + 1..used + 1 + stored + SLACK) else { break };
        let Some(target) = to.get_mut(made..made + size + SLACK) else { break };
        if size == 0 {
            break;
        }
        let mut step: [u8; STEP] = [0; STEP];
        if let (true, Some(item)) = (is_run, source.first_chunk::<SIZE>()) {
            step.as_chunks_mut().0.fill(*item);
        }
        // Two steps for every packet, however short: a loop with an unpredictable end costs more.
        for at in (0..size.max(2 * STEP)).step_by(STEP) {
            if let (false, Some(next)) = (is_run, source.get(at..).and_then(<[u8]>::first_chunk)) {
                step = *next;
            }
            if let Some(target) = target.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                *target = step;
            }
        }
        used += 1 + stored;
        made += size;
    }
    *done = RunsDone { used, made };
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Test;

    impl RunCode for Test {
        fn decode(head: u8) -> (usize, bool) {
            (usize::from(head & 0x7F), head & 0x80 != 0)
        }
    }

    /// Packets of all lengths, and their content, byte by byte.
    fn sample(size: usize) -> (Vec<u8>, Vec<u8>) {
        let (mut packed, mut plain, mut seed) = (Vec::new(), Vec::new(), 1_u32);
        let mut items = |count: usize| {
            (0..count * size)
                .map(|_| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (seed >> 24) as u8
                })
                .collect::<Vec<u8>>()
        };
        for count in (1..=127).chain([1, 1, 2, 3, 127, 1, 5]) {
            let item = items(1);
            packed.push(0x80 | count as u8);
            packed.extend(&item);
            (0..count).for_each(|_| plain.extend(&item));
            let others = items(count);
            packed.push(count as u8);
            packed.extend(&others);
            plain.extend(&others);
        }
        (packed, plain)
    }

    fn packets_come_out_whole<const SIZE: usize>() {
        let (packed, plain) = sample(SIZE);
        // The boundaries of packets: only there may it stop.
        let borders = |room: usize, input: usize| {
            let mut end = RunsDone::default();
            while let Some(head) = packed.get(end.used) {
                let (count, is_run) = Test::decode(*head);
                let used = end.used + 1 + if is_run { SIZE } else { count * SIZE };
                if used + SLACK > input || end.made + count * SIZE + SLACK > room {
                    break;
                }
                end = RunsDone { used, made: end.made + count * SIZE };
            }
            end
        };
        let lengths = [0, 1, 63, 64, 65, 66, 70, 200, 1000, 4000, plain.len() + SLACK];
        for level in Level::all() {
            for (room, input) in lengths.iter().flat_map(|room| lengths.map(|input| (*room, input))) {
                let input = input.min(packed.len());
                let (mut to, mut done) = (vec![0xEE; room], RunsDone::default());
                unpack::<Test, SIZE>(level, &packed[..input], &mut to, &mut done);
                let at = format!("{level:?}, items of {SIZE}, {input} into {room}");
                assert_eq!(done, borders(room, input), "{at}");
                assert!(to[..done.made] == plain[..done.made], "{at}");
                assert!(to[room.min(done.made + SLACK)..].iter().all(|byte| *byte == 0xEE), "{at}");
            }
        }
    }

    #[test]
    fn packets_come_out_whole_at_every_level() {
        packets_come_out_whole::<1>();
        packets_come_out_whole::<2>();
        packets_come_out_whole::<3>();
        packets_come_out_whole::<4>();
    }

    #[test]
    fn a_packet_of_nothing_is_left_to_the_caller() {
        let packed = [&[0x81, 5, 0x80][..], &[9; 200]].concat();
        for level in Level::all() {
            let (mut to, mut done) = (vec![0; 300], RunsDone::default());
            unpack::<Test, 1>(level, &packed, &mut to, &mut done);
            assert_eq!((done, to[0]), (RunsDone { used: 2, made: 1 }, 5), "{level:?}");
        }
    }
}
