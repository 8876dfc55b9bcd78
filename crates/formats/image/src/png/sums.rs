//! Adler-32 checksums (RFC 1950, 8.2) of parts, which are summed in parallel and combined.

/// The largest prime below 2^16.
const BASE: u32 = 65_521;

/// Bytes that can be summed before the modulo: with more bytes of 255, the high sum would overflow 32 bits.
const ROOM: usize = 5552;

/// The sums of a sequence of bytes, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Adler {
    low: u32,
    high: u32,
    count: u64,
}

/// The sums of an empty sequence.
impl Default for Adler {
    fn default() -> Self {
        Adler { low: 1, high: 0, count: 0 }
    }
}

impl Adler {
    /// Computes the sums of a sequence of bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Adler {
        let mut sum = Adler { count: bytes.len() as u64, ..Adler::default() };
        for part in bytes.chunks(ROOM) {
            // In groups of 16 bytes: the high sum counts each byte once, plus once per byte after it.
            let (groups, rest) = part.as_chunks::<16>();
            for group in groups {
                // The weights do not depend on previous bytes, so the loop is vectorized.
                let weighed: u32 = group.iter().zip((1..=16).rev()).map(|(byte, times)| u32::from(*byte) * times).sum();
                sum.high += 16 * sum.low + weighed;
                sum.low += group.iter().map(|byte| u32::from(*byte)).sum::<u32>();
            }
            for byte in rest {
                sum.low += u32::from(*byte);
                sum.high += sum.low;
            }
            sum.low %= BASE;
            sum.high %= BASE;
        }
        sum
    }

    /// Returns the sums of this sequence followed by `next`.
    pub(super) fn then(self, next: Adler) -> Adler {
        // Each low sum starts at 1, which counts only once. The first low sum is added to the high sum once per byte of
        // the second part.
        let times = (next.count % u64::from(BASE)) as u32;
        let before = (self.low + BASE - 1) % BASE;
        let more = (u64::from(times) * u64::from(before) % u64::from(BASE)) as u32;
        Adler {
            low: (before + next.low) % BASE,
            high: (self.high + next.high + more) % BASE,
            count: self.count + next.count,
        }
    }

    pub(super) fn value(self) -> u32 {
        self.high << 16 | self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn byte_by_byte(bytes: &[u8]) -> u32 {
        let (low, high) = bytes.iter().fold((1, 0), |(low, high), byte| {
            let low = (low + u32::from(*byte)) % BASE;
            (low, (high + low) % BASE)
        });
        high << 16 | low
    }

    #[test]
    fn sums_of_parts_combine_to_the_sum_of_the_whole() {
        assert_eq!(Adler::from_bytes(b"Wikipedia").value(), 0x11E6_0398);
        let bytes: Vec<u8> =
            (0..70_000_u32).map(|at| if at < 20_000 { 255 } else { (at.wrapping_mul(at) >> 7) as u8 }).collect();
        for size in [0, 1, 15, 16, 17, 5552, 5553, 11_104, 65_521, 70_000] {
            assert_eq!(Adler::from_bytes(&bytes[..size]).value(), byte_by_byte(&bytes[..size]), "{size}");
            let (first, second) = bytes.split_at(size);
            let sum = Adler::default().then(Adler::from_bytes(first)).then(Adler::from_bytes(second));
            assert_eq!(sum, Adler::from_bytes(&bytes), "{size}");
        }
    }
}
