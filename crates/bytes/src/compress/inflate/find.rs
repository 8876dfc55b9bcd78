//! Where a deflate block may begin, if nothing before it was decoded.
//!
//! Only blocks with codes of their own that are not the last one are searched for (RFC 1951, 3.2.7): they make up
//! nearly all of what compressors write, and few other bits look like their headers. This module looks at the first 74
//! bits of a header: its type, its counts, and whether the code of the code lengths is complete. One in about 2000 bit
//! offsets of compressed data passes; the rest of the header is up to `Codes::read_head`.

/// Bytes that are loaded from the first byte of a header on.
pub(super) const LOOK_BYTES: usize = 18;

/// The type and the two counts of a header: 3 + 5 + 5 bits.
const HEAD_BITS: u32 = 13;

/// For the next bits of the data, how many of them to pass to get to the first place at which a header may begin.
static SKIPS: [u8; 1 << HEAD_BITS] = skips();

/// For four lengths of 3 bits, the share of all codes of 7 bits that these codes use up.
static SHARES: [u16; 1 << 12] = shares();

/// All codes of 7 bits, the longest that the code of code lengths may have.
const ALL: u16 = 128;

const fn skips() -> [u8; 1 << HEAD_BITS] {
    let mut skips = [0; 1 << HEAD_BITS];
    let mut bits = 0;
    while bits < skips.len() {
        let mut skip = 0;
        while !may_begin(bits >> skip, HEAD_BITS - skip) {
            skip += 1;
        }
        skips[bits] = skip as u8;
        bits += 1;
    }
    skips
}

/// Whether a header may begin with these `count` bits.
const fn may_begin(bits: usize, count: u32) -> bool {
    // BFINAL is 0, BTYPE 2.
    let known = if count < 3 { (1 << count) - 1 } else { 7 };
    let is_type = bits & 7 & known == 4 & known;
    // 30 and 31 are not valid in either count.
    is_type && (count < 8 || bits >> 4 & 15 != 15) && (count < HEAD_BITS || bits >> 9 & 15 != 15)
}

const fn shares() -> [u16; 1 << 12] {
    let mut shares = [0; 1 << 12];
    let mut lengths = 0;
    while lengths < shares.len() {
        let mut at = 0;
        while at < 12 {
            let length = lengths >> at & 7;
            if length > 0 {
                shares[lengths] += ALL >> length;
            }
            at += 3;
        }
        lengths += 1;
    }
    shares
}

/// The first bit offset from `from` up to, but not including, `to` at which the bits look like a header. From the byte
/// of the last one on, [`LOOK_BYTES`] must be there; where they are not, the search ends.
pub(super) fn candidate(bytes: &[u8], from: usize, to: usize) -> Option<usize> {
    let mut bit = from;
    // No branch here depends on the data, except the one that ends it: this loop runs once per byte or so.
    loop {
        bit += usize::from(SKIPS[word(bytes, bit)? as usize & ((1 << HEAD_BITS) - 1)]);
        if bit >= to {
            return None;
        }
        if looks_like_a_header(word(bytes, bit)?, word(bytes, bit + 17)?) {
            return Some(bit);
        }
        bit += 1;
    }
}

/// At least the next 57 bits.
#[inline(always)]
fn word(bytes: &[u8], bit: usize) -> Option<u64> {
    let word = bytes.get(bit / 8..)?.first_chunk()?;
    Some(u64::from_le_bytes(*word) >> (bit % 8))
}

/// Whether a header begins with these bits, and its code of code lengths is neither oversubscribed nor incomplete.
#[inline(always)]
fn looks_like_a_header(head: u64, lengths: u64) -> bool {
    let count = 4 + (head >> HEAD_BITS & 15);
    let lengths = lengths & ((1 << (3 * count)) - 1);
    let share = |at: u32| SHARES[(lengths >> at & 0xfff) as usize];
    let is_complete = share(0) + share(12) + share(24) + share(36) + share(48) == ALL;
    is_complete && SKIPS[head as usize & ((1 << HEAD_BITS) - 1)] == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written as the format's text has it.
    fn is_wanted(bytes: &[u8], bit: usize) -> bool {
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
    fn all_that_look_like_headers_are_found() {
        let (mut state, mut found) = (7u64, 0);
        let mut bytes = Vec::new();
        for _ in 0..40_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            bytes.push((state >> 56) as u8);
        }
        let end = 8 * (bytes.len() - LOOK_BYTES);
        let mut from = 3;
        for bit in (3..end).filter(|&bit| is_wanted(&bytes, bit)) {
            assert_eq!(candidate(&bytes, from, end), Some(bit));
            (from, found) = (bit + 1, found + 1);
        }
        assert_eq!(candidate(&bytes, from, end), None);
        assert!(found > 20, "{found}");
        assert_eq!(candidate(&bytes, end, 8 * bytes.len() + 100), None);
    }
}
