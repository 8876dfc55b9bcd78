//! Damages text: cuts it off, changes single bytes, or makes random changes.

use crate::random::Random;

/// Replacements for a byte, in addition to its successor and predecessor: control characters, the ends of byte ranges,
/// and characters with a meaning in text.
const PLANTED: [u8; 7] = [0x00, 0x7F, 0x80, 0xFF, b'\n', b'-', b'9'];

/// Calls `visit` with `text` with one byte changed, for every byte and every replacement.
///
/// `visit` receives the offset of the byte and its new value.
pub fn each_byte(text: &[u8], visit: impl FnMut(usize, u8, &[u8])) {
    bytes_at(text, 0..text.len(), visit);
}

/// Like [`each_byte`], for the bytes at these offsets only.
pub fn bytes_at(text: &[u8], places: impl IntoIterator<Item = usize>, mut visit: impl FnMut(usize, u8, &[u8])) {
    let mut damaged = text.to_vec();
    for at in places {
        let original = text[at];
        let neighbours = [original.wrapping_add(1), original.wrapping_sub(1)];
        for byte in PLANTED.into_iter().chain(neighbours) {
            if byte != original {
                damaged[at] = byte;
                visit(at, byte, &damaged);
            }
        }
        damaged[at] = original;
    }
}

/// Returns offsets at which to cut a text of `size` bytes: all offsets if `size` is below `all_below`, otherwise
/// `count` random offsets and 16 at either end.
pub fn cuts(size: usize, all_below: usize, count: usize) -> Vec<usize> {
    if size < all_below {
        return (0..size).collect();
    }
    let mut random = Random::new(size as u64);
    let ends = (0..16).flat_map(|n| [n, size - 1 - n]);
    let inside: Vec<usize> = (0..count).map(|_| random.below(size)).collect();
    ends.chain(inside).collect()
}

/// Tokens that the text parsers recognize.
const WORDS: [&[u8]; 38] = [
    b"v 0 0 0\n",
    b"vt 0 0\n",
    b"vn 0 0 1\n",
    b"f 1 2 3\n",
    b"f 1//1 2//1 3//1",
    b"f -1 -1 -1\n",
    b"l 1 2",
    b"p 1",
    b"o ",
    b"g ",
    b"usemtl ",
    b"mtllib ",
    b"s 1\n",
    b"\\\n",
    b"\\\r\n",
    b"\r",
    b"\n",
    b"/",
    b"-1",
    b"4294967295",
    b"1e39",
    b"nan",
    b"#MRGB ffffffff\n",
    b"cstype bspline\n",
    b"curv 0 1 1 1\n",
    b"end\n",
    b"\0",
    b"\xef\xbb\xbf",
    b"element vertex 1\n",
    b"property float x\n",
    b"property list uchar int vertex_indices\n",
    b"facet normal 0 0 1\n",
    b"outer loop\n",
    b"vertex 0 0 0\n",
    b"endloop\n",
    b"endfacet\n",
    b"COFF\n",
    b"3 0 1 2\n",
];

/// Makes one to four changes to `text`: replaces a byte, inserts a word, removes or duplicates a part.
pub fn shake(text: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(text.len() + 1);
        let end = at + random.below((text.len() - at).min(64) + 1);
        match random.below(5) {
            0 if at < text.len() => text[at] = random.bits() as u8,
            1 => drop(text.drain(at..end)),
            2 => {
                let part = text[at..end].to_vec();
                text.splice(at..at, part);
            }
            _ => {
                let word = *random.pick(&WORDS);
                text.splice(at..at, word.iter().copied());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_changed_in_every_way_and_one_at_a_time() {
        let mut seen = 0;
        each_byte(b"v 9\n", |at, byte, damaged| {
            seen += 1;
            assert_eq!(damaged[at], byte);
            let same = damaged.iter().zip(b"v 9\n").filter(|(a, b)| a == b);
            assert_eq!(same.count(), 3);
        });
        assert_eq!(seen, 9 + 9 + 8 + 8);
    }

    #[test]
    fn cuts_lie_inside() {
        assert_eq!(cuts(3, 10, 5), [0, 1, 2]);
        let many = cuts(1000, 10, 50);
        assert_eq!(many.len(), 82);
        assert!(many.iter().all(|&cut| cut < 1000));
    }
}
