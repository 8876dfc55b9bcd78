//! XXH32, the checksum of lz4 frames, from its published description; seed 0.

const P1: u32 = 0x9e37_79b1;
const P2: u32 = 0x85eb_ca77;
const P3: u32 = 0xc2b2_ae3d;
const P4: u32 = 0x27d4_eb2f;
const P5: u32 = 0x1656_67b1;
const STRIPE_BYTES: usize = 16;

/// A checksum in the making.
#[derive(Clone)]
pub(super) struct Xxh32 {
    lanes: [u32; 4],
    /// Bytes that do not fill a stripe yet.
    tail: [u8; STRIPE_BYTES],
    total: u64,
}

impl Xxh32 {
    pub(super) fn new() -> Self {
        let lanes = [P1.wrapping_add(P2), P2, 0, 0u32.wrapping_sub(P1)];
        Xxh32 { lanes, tail: [0; STRIPE_BYTES], total: 0 }
    }

    /// The checksum of all of `bytes`.
    pub(super) fn hash(bytes: &[u8]) -> u32 {
        let mut hash = Xxh32::new();
        hash.update(bytes);
        hash.sum()
    }

    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        let held = (self.total % STRIPE_BYTES as u64) as usize;
        self.total += bytes.len() as u64;
        if held > 0 {
            let (head, rest) = bytes.split_at(bytes.len().min(STRIPE_BYTES - held));
            self.tail[held..held + head.len()].copy_from_slice(head);
            if held + head.len() < STRIPE_BYTES {
                return;
            }
            self.lanes = mix(self.lanes, &self.tail);
            bytes = rest;
        }
        let (stripes, rest) = bytes.as_chunks::<STRIPE_BYTES>();
        self.lanes = stripes.iter().fold(self.lanes, mix);
        self.tail[..rest.len()].copy_from_slice(rest);
    }

    pub(super) fn sum(&self) -> u32 {
        let [a, b, c, d] = self.lanes;
        let mut hash = if self.total >= STRIPE_BYTES as u64 {
            let sum = a.rotate_left(1).wrapping_add(b.rotate_left(7));
            sum.wrapping_add(c.rotate_left(12)).wrapping_add(d.rotate_left(18))
        } else {
            P5
        };
        hash = hash.wrapping_add(self.total as u32);
        let held = (self.total % STRIPE_BYTES as u64) as usize;
        let (words, bytes) = self.tail[..held].as_chunks::<4>();
        for word in words {
            hash = hash.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(P3));
            hash = hash.rotate_left(17).wrapping_mul(P4);
        }
        for &byte in bytes {
            hash = hash.wrapping_add(u32::from(byte).wrapping_mul(P5));
            hash = hash.rotate_left(11).wrapping_mul(P1);
        }
        hash = (hash ^ (hash >> 15)).wrapping_mul(P2);
        hash = (hash ^ (hash >> 13)).wrapping_mul(P3);
        hash ^ (hash >> 16)
    }
}

#[inline]
fn mix(mut lanes: [u32; 4], stripe: &[u8; STRIPE_BYTES]) -> [u32; 4] {
    for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<4>().0) {
        let mixed = lane.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(P2));
        *lane = mixed.rotate_left(13).wrapping_mul(P1);
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_sums() {
        for (text, expected) in [
            ("", 0x02cc_5d05),
            ("a", 0x550d_7456),
            ("abc", 0x32d1_53ff),
            ("Nobody inspects the spammish repetition", 0xe229_3b2f),
        ] {
            assert_eq!(Xxh32::hash(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn any_split_gives_the_same_sum() {
        let bytes: Vec<u8> = (0..100u8).collect();
        for a in 0..=bytes.len() {
            let mut hash = Xxh32::new();
            hash.update(&bytes[..a]);
            hash.update(&bytes[a..]);
            assert_eq!(hash.sum(), Xxh32::hash(&bytes), "{a}");
        }
    }
}
