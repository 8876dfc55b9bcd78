//! The checksum of zlib data (Adler-32, RFC 1950, 8.2), of parts that are summed in parallel.

/// The largest prime below 2^16.
const BASE: u32 = 65_521;

/// How many bytes can be summed before taking the remainder: with more bytes of 255, the high sum would exceed 32 bits.
const ROOM: usize = 5552;

/// The sums of some bytes, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Adler {
    low: u32,
    high: u32,
    count: u64,
}

/// The sums of no bytes.
impl Default for Adler {
    fn default() -> Self {
        Adler { low: 1, high: 0, count: 0 }
    }
}

impl Adler {
    /// The sum of these bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Adler {
        let mut sum = Adler { count: bytes.len() as u64, ..Adler::default() };
        for part in bytes.chunks(ROOM) {
            // 16 bytes at a time: the high sum counts a byte once, and once more for each byte after it.
            let (groups, rest) = part.as_chunks::<16>();
            for group in groups {
                // The weights do not depend on previous bytes, so that compilers vectorize this.
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

    /// The sums of these bytes followed by the bytes of `next`.
    pub(super) fn then(self, next: Adler) -> Adler {
        // The low sum starts at 1 for each part, which counts once; the first part's low sum is added to the high sum
        // once for each byte of the second.
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
