//! Finds possible starts of deflate blocks without decoding the data before them.
//!
//! Searches only for blocks with dynamic codes that are not the last block (RFC 1951, 3.2.7). They make up nearly all
//! compressed data, and few other bits resemble their headers: one bit offset in nine has the right type and counts,
//! one in 2000 also has a complete code length code, and hardly any of these false headers also has a complete
//! literal/length code. `Codes::read_head`, which is slower, checks the rest.

use super::ORDER;

/// Size of a header's type and first two counts in bits: 3 + 5 + 5.
const HEAD_BITS: u32 = 13;
/// The number of bit offsets to examine together. For the last of these offsets, a header's type and first two counts
/// still fit into the same 64-bit word.
const STEP_BITS: usize = 48;
/// Bit offset of the 3-bit lengths, which follow the 4-bit third count.
const LENGTHS_AT: usize = 17;

/// Maps four 3-bit lengths to the number of 7-bit codes, out of [`ALL_CODES`], that codes of these lengths occupy.
static SHARES: [u16; 1 << 12] = shares();

/// The number of 7-bit codes; 7 bits are the maximum in the code length code.
const ALL_CODES: u16 = 128;

const fn shares() -> [u16; 1 << 12] {
    let mut shares = [0; 1 << 12];
    let mut lengths = 0;
    while lengths < shares.len() {
        let mut at = 0;
        while at < 12 {
            let length = lengths >> at & 7;
            if length > 0 {
                shares[lengths] += ALL_CODES >> length;
            }
            at += 3;
        }
        lengths += 1;
    }
    shares
}

/// Finds the first bit offset in `start..end` at which the bits resemble a header. Also returns `None` if a header
/// would extend past the end of `bytes`.
pub(super) fn candidate(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    let mut base = start - start % 8;
    let mut mask = !0 << (start % 8);
    while base < end {
        let mut starts = header_starts(word(bytes, base)?) & mask;
        while starts > 0 {
            let bit = base + starts.trailing_zeros() as usize;
            starts &= starts - 1;
            let head = word(bytes, bit)?;
            let lengths = word(bytes, bit + LENGTHS_AT)?;
            if lengths_are_complete(head, lengths) && has_whole_code(bytes, bit, HeaderCounts::new(head), lengths)? {
                return Some(bit).filter(|&bit| bit < end);
            }
        }
        base += STEP_BITS;
        mask = !0;
    }
    None
}

/// Returns the bits at bit offset `bit`: at least 57 bits, or 64 if the offset is the start of a byte.
#[inline(always)]
fn word(bytes: &[u8], bit: usize) -> Option<u64> {
    let word = bytes.get(bit / 8..)?.first_chunk()?;
    Some(u64::from_le_bytes(*word) >> (bit % 8))
}

/// Returns a mask of the first [`STEP_BITS`] bit offsets at which a header may start: BFINAL is 0, BTYPE is 2 (2 bits,
/// the lower one first), and the two 5-bit counts are not 30 or 31.
#[inline(always)]
fn header_starts(bits: u64) -> u64 {
    let is_type = !bits & !(bits >> 1) & bits >> 2;
    let pairs = bits & bits >> 1;
    let fours = pairs & pairs >> 2;
    is_type & !(fours >> 4) & !(fours >> 9) & ((1 << STEP_BITS) - 1)
}

/// The counts in a header.
#[derive(Clone, Copy)]
struct HeaderCounts {
    symbols: usize,
    /// The number of lengths in the code length code.
    numbers: usize,
}

impl HeaderCounts {
    #[inline(always)]
    fn new(head: u64) -> HeaderCounts {
        HeaderCounts { symbols: 257 + (head as usize >> 3 & 31), numbers: 4 + (head as usize >> HEAD_BITS & 15) }
    }
}

/// Returns whether the code length code in the header that starts with `head` is complete and not oversubscribed.
#[inline(always)]
fn lengths_are_complete(head: u64, lengths: u64) -> bool {
    let lengths = lengths & ((1 << (3 * HeaderCounts::new(head).numbers)) - 1);
    let share = |at: u32| SHARES[(lengths >> at & 0xfff) as usize];
    share(0) + share(12) + share(24) + share(36) + share(48) == ALL_CODES
}

/// Returns whether the literal/length code is complete and not oversubscribed. The codes of most false headers are
/// oversubscribed after a few dozen lengths.
#[cold]
fn has_whole_code(bytes: &[u8], bit: usize, counts: HeaderCounts, lengths: u64) -> Option<bool> {
    const COMPLETE: usize = 1 << 15;
    let table = number_table(lengths, counts.numbers);
    let mut at = bit + LENGTHS_AT + 3 * counts.numbers;
    let mut left = counts.symbols;
    let mut used = 0;
    let mut last = 0;
    while left > 0 && used <= COMPLETE {
        let bits = word(bytes, at)?;
        let (number, number_bits) = table[bits as usize & 127];
        let rest = (bits >> number_bits) as usize;
        let (length, count, extra_bits) = match number {
            16 => (last, 3 + (rest & 3), 2),
            17 => (0, 3 + (rest & 7), 3),
            18 => (0, 11 + (rest & 127), 7),
            length => (length, 1, 0),
        };
        if length > 0 {
            used += count.min(left) << (15 - length);
        }
        left -= count.min(left);
        last = length;
        at += usize::from(number_bits) + extra_bits;
    }
    Some(used == COMPLETE)
}

/// Maps 7 bits to the code length symbol whose code they start with, and the length of that code.
fn number_table(lengths: u64, count: usize) -> [(u8, u8); 128] {
    let mut by_number = [0; 19];
    for (i, &number) in ORDER[..count].iter().enumerate() {
        by_number[number] = (lengths >> (3 * i) & 7) as u8;
    }
    let mut table = [(0, 0); 128];
    let mut code = 0u8;
    for bits in 1..=7 {
        for number in (0..19).filter(|&number| by_number[usize::from(number)] == bits) {
            let first = usize::from(code.reverse_bits() >> (8 - bits));
            table[first..].iter_mut().step_by(1 << bits).for_each(|entry| *entry = (number, bits));
            code += 1;
        }
        code <<= 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::{BitReader, Codes, HEAD_BYTES, State};
    use super::*;

    /// The definition of a header, as in the specification.
    fn is_header_like(bytes: &[u8], bit: usize) -> bool {
        let take = |at: usize, count: usize| {
            (0..count).map(|i| usize::from(bytes[(bit + at + i) / 8] >> ((bit + at + i) % 8) & 1) << i).sum::<usize>()
        };
        let lengths = (0..4 + take(13, 4)).map(|i| take(17 + 3 * i, 3)).filter(|&length| length > 0);
        take(0, 3) == 4
            && take(3, 5) < 30
            && take(8, 5) < 30
            && lengths.map(|length| 128 >> length).sum::<usize>() == 128
    }

    #[test]
    fn all_header_like_bits_are_found() {
        let mut state = 7u64;
        let mut header_count = 0;
        let mut bytes = Vec::new();
        for _ in 0..40_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            bytes.push((state >> 56) as u8);
        }
        for bit in 0..8 * (bytes.len() - 20) {
            let word = |bit| word(&bytes, bit).unwrap();
            let looks = header_starts(word(bit)) & 1 > 0 && lengths_are_complete(word(bit), word(bit + LENGTHS_AT));
            assert_eq!(looks, is_header_like(&bytes, bit), "{bit}");
            header_count += u32::from(looks);
        }
        assert!(header_count > 20, "{header_count}");
        assert_eq!(candidate(&bytes, 8 * bytes.len() - 50, 8 * bytes.len() + 100), None);
    }

    /// The search finds the headers that the decoder accepts, and few other candidates.
    #[test]
    fn headers_are_found_as_the_decoder_reads_them() {
        let plain: Vec<u8> =
            (0..60_000u32).flat_map(|i| format!("{} ", i.wrapping_mul(i) % 9973).into_bytes()).collect();
        let mut packed = vec![0; plain.len()];
        let mut deflate = zlib_rs::Deflate::new(6, false, 15);
        for part in plain.chunks(5000) {
            let at = deflate.total_out() as usize;
            deflate.compress(part, &mut packed[at..], zlib_rs::DeflateFlush::Block).unwrap();
        }
        packed.truncate(deflate.total_out() as usize);
        let mut codes = Codes::new(true).unwrap();
        let end = 8 * (packed.len() - HEAD_BYTES);
        let mut is_header =
            |bit: usize| matches!(codes.read_head(&mut BitReader::at(&packed, bit)), Ok((false, State::Symbols)));
        let is_dynamic = |bit: usize| word(&packed, bit).unwrap() & 7 == 4;
        let headers: Vec<usize> = (0..end).filter(|&bit| is_dynamic(bit) && is_header(bit)).collect();
        let mut candidates = Vec::new();
        let mut start = 0;
        while let Some(bit) = candidate(&packed, start, end) {
            candidates.push(bit);
            start = bit + 1;
        }
        let counts = [headers.len(), candidates.len()];
        assert!(headers.len() > 30 && headers.iter().all(|bit| candidates.contains(bit)), "{counts:?}");
        assert!(candidates.len() < headers.len() + 10, "{counts:?}");
    }
}
