//! The index in portable Rust: the twin that the vector paths are held to.

use super::{Index, is_space, newlines};

/// Bit masks of a block of 64 bytes.
struct Masks {
    space: u64,
    slash: u64,
    line_feed: u64,
    carriage_return: u64,
}

fn masks(block: &[u8]) -> Masks {
    let mut result = Masks { space: 0, slash: 0, line_feed: 0, carriage_return: 0 };
    for (bit, &byte) in block.iter().enumerate() {
        result.space |= u64::from(is_space(byte)) << bit;
        result.slash |= u64::from(byte == b'/') << bit;
        result.line_feed |= u64::from(byte == b'\n') << bit;
        result.carriage_return |= u64::from(byte == b'\r') << bit;
    }
    result
}

pub(super) fn scan(index: &mut Index, padded: &[u8], start: usize, end: usize) {
    // The byte before a line is white space, whatever it is.
    let (mut base, mut carry) = (start, 1);
    while base < end && index.has_room() {
        let size = (end - base).min(64);
        let block = masks(&padded[base..base + size]);
        let ends = (block.space & !(block.space << 1 | carry)) | block.slash;
        carry = block.space >> 63;
        let before = index.end_count;
        let (mut rest, mut bits) = (ends, 0);
        while rest != 0 {
            let bit = rest.trailing_zeros();
            bits |= (block.slash >> bit & 1) << (index.end_count - before);
            index.ends[index.end_count] = base as u32 + bit;
            index.end_count += 1;
            rest &= rest - 1;
        }
        index.push_slashes(bits, before);
        let newlines = newlines(block.line_feed, block.carriage_return, padded[base + size]);
        index.push_lines(newlines, ends, base, before);
        base += size;
    }
}
