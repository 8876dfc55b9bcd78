//! Unpacks packets of runs and literals, as in many formats: a byte holds the number of literal items that follow, or
//! the repeat count of the next item.
//!
//! Packets are a few items long in most images, so the cost per packet dominates. Each packet is written in steps of a
//! fixed size, even past its end, where the next packet overwrites the excess: the same number of steps completes most
//! packets. The format defines the first byte, and handles invalid packets and packets near the ends of the slices.

use polyhaul_text::cpu::Level;

/// Decodes the first byte of a packet.
pub(crate) trait RunCode {
    /// Returns the number of items that the packet produces, and whether it repeats one item. 0 items are an error,
    /// which the caller reports.
    fn decode(head: u8) -> (usize, bool);
}

/// Progress of unpacking: bytes consumed and produced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunsProgress {
    pub(crate) used: usize,
    pub(crate) made: usize,
}

/// Number of bytes after the output that may be overwritten.
pub(crate) const SLACK: usize = 64;

/// Bytes per write of the portable loop: a multiple of all item sizes from one to four.
const STEP: usize = 24;

/// Unpacks whole packets with items of `SIZE` bytes, one to four, starting at `progress`. Stops before a packet that
/// ends less than [`SLACK`] bytes before the end of either slice, and before a packet of 0 items. The result is the
/// same for every level.
pub(crate) fn unpack<C: RunCode, const SIZE: usize>(
    level: Level,
    from: &[u8],
    to: &mut [u8],
    progress: &mut RunsProgress,
) {
    if progress.made + SLACK > to.len() || progress.used > from.len() {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if crate::runs_x86::unpack::<C, SIZE>(level, from, to, progress) {
        return;
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = level;
    portable::<C, SIZE>(from, to, progress);
}

fn portable<C: RunCode, const SIZE: usize>(from: &[u8], to: &mut [u8], progress: &mut RunsProgress) {
    // A local copy stays in registers.
    let RunsProgress { mut used, mut made } = *progress;
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
        let item = source.first_chunk::<SIZE>();
        if is_run && let Some(item) = item {
            step.as_chunks_mut().0.fill(*item);
        }
        // At least two writes for every packet: a loop with an unpredictable end costs more.
        for at in (0..size.max(2 * STEP)).step_by(STEP) {
            let next = source.get(at..).and_then(<[u8]>::first_chunk);
            if !is_run && let Some(next) = next {
                step = *next;
            }
            if let Some(target) = target.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                *target = step;
            }
        }
        used += 1 + stored;
        made += size;
    }
    *progress = RunsProgress { used, made };
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

    /// Packets of all lengths, and their content, unpacked byte by byte.
    fn sample(size: usize) -> (Vec<u8>, Vec<u8>) {
        let mut packed = Vec::new();
        let mut plain = Vec::new();
        let mut seed = 1_u32;
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
        // The last packet boundary with enough space: unpacking must stop there.
        let borders = |room: usize, input: usize| {
            let mut end = RunsProgress::default();
            while let Some(head) = packed.get(end.used) {
                let (count, is_run) = Test::decode(*head);
                let used = end.used + 1 + if is_run { SIZE } else { count * SIZE };
                if used + SLACK > input || end.made + count * SIZE + SLACK > room {
                    break;
                }
                end = RunsProgress { used, made: end.made + count * SIZE };
            }
            end
        };
        let lengths = [0, 1, 63, 64, 65, 66, 70, 200, 1000, 4000, plain.len() + SLACK];
        for level in Level::all() {
            for (room, input) in lengths.iter().flat_map(|room| lengths.map(|input| (*room, input))) {
                let input = input.min(packed.len());
                let mut to = vec![0xEE; room];
                let mut progress = RunsProgress::default();
                unpack::<Test, SIZE>(level, &packed[..input], &mut to, &mut progress);
                let at = format!("{level:?}, items of {SIZE}, {input} into {room}");
                assert_eq!(progress, borders(room, input), "{at}");
                assert!(to[..progress.made] == plain[..progress.made], "{at}");
                assert!(to[room.min(progress.made + SLACK)..].iter().all(|byte| *byte == 0xEE), "{at}");
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
            let mut to = vec![0; 300];
            let mut progress = RunsProgress::default();
            unpack::<Test, 1>(level, &packed, &mut to, &mut progress);
            assert_eq!((progress, to[0]), (RunsProgress { used: 2, made: 1 }, 5), "{level:?}");
        }
    }
}
