//! Compares the index on every level with an index that is built byte by byte.

use super::*;

/// Step between the cases to test: Miri takes a thousand times as long.
const fn stride(in_miri: usize) -> usize {
    if cfg!(miri) { in_miri } else { 1 }
}

/// Reference: the token ends of a whole text, whether each is at a slash, and the line ends.
struct NaiveIndex {
    ends: Vec<(u32, bool)>,
    lines: Vec<LineEnd>,
}

fn naive(padded: &[u8], start: usize, end: usize) -> NaiveIndex {
    let mut index = NaiveIndex { ends: Vec::new(), lines: Vec::new() };
    let mut after_space = true;
    for offset in start..end {
        let byte = padded[offset];
        if byte == b'/' || is_space(byte) && !after_space {
            index.ends.push((offset as u32, byte == b'/'));
        }
        after_space = is_space(byte);
        if byte == b'\n' || byte == b'\r' && (offset + 1 == end || padded[offset + 1] != b'\n') {
            index.lines.push(LineEnd { newline: offset as u32, tokens: index.ends.len() as u32 });
        }
    }
    index
}

fn padded(text: &[u8], filler: u8) -> Vec<u8> {
    let mut padded = vec![filler; PADDING];
    padded.extend_from_slice(text);
    padded.resize(padded.len() + PADDING, filler);
    padded
}

/// Scans the text window by window on every level and compares with the naive index.
fn check(text: &[u8]) {
    for filler in [b'\n', b'7', b' ', b'/'].into_iter().step_by(stride(3)) {
        let padded = padded(text, filler);
        let mut index = Box::new(Index::new());
        for level in Level::all() {
            check_windows(&mut index, &padded, level);
        }
    }
}

fn check_windows(index: &mut Index, padded: &[u8], level: Level) {
    let end = padded.len() - PADDING;
    let mut start = PADDING;
    while start < end {
        index.scan(padded, start, end, level);
        let expected = naive(padded, start, end);
        let slash = |token| index.slash_bits(token) & 1 == 1;
        let ends: Vec<_> = (0..index.end_count).map(|token| (index.ends[token], slash(token))).collect();
        assert_eq!(ends, expected.ends[..ends.len()], "{level:?}");
        assert_eq!(index.lines(), &expected.lines[..index.lines().len()], "{level:?}");
        assert!(index.end_count <= MAX_ENDS && index.line_count <= MAX_LINES);
        let is_complete = ends.len() == expected.ends.len() && index.lines().len() == expected.lines.len();
        assert!(is_complete || index.end_count > MAX_ENDS - 64 || index.line_count > MAX_LINES - 64, "{level:?}");
        assert!(index.ends[index.end_count..][..16].iter().all(|&end| end as usize == start));
        assert_eq!((index.start(), index.line_start(0)), (start, start));
        if index.next_start() == start {
            break;
        }
        start = index.next_start();
    }
}

/// Pseudorandom number generator.
fn random() -> impl FnMut(usize) -> usize {
    let mut state = 7u64;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    }
}

#[test]
fn every_level_finds_the_same_ends() {
    let mut random = random();
    for alphabet in [
        &b"0123456789.-+eE/ \t\r\n#vfn\\\0x"[..],
        b"1 /\r\n",
        b"\r\n",
        b"/ ",
        b"\x0B\x0C\x08\x0E\x89\x8A\x8D\xA0\xAF \n1",
    ] {
        for size in (0..200).chain([1000, 5000]).step_by(stride(67)) {
            let text: Vec<u8> = (0..size).map(|_| alphabet[random(alphabet.len())]).collect();
            check(&text);
        }
    }
}

#[test]
fn every_byte_alone() {
    for byte in (0..=255).step_by(stride(31)) {
        check(&[b'a', byte, b'a', byte, byte, b'a']);
        check(&[byte; 65]);
    }
}

#[test]
fn lines_end_around_the_borders_of_blocks() {
    for size in (55..75).step_by(stride(19)) {
        for ending in [&b"\n"[..], b"\r\n", b"\r", b" \r\n", b"/\n", b"\n\n", b"\r\r", b"\n\r"] {
            let line = [&b"v 1/2 "[..], &vec![b'9'; size - 6], ending].concat();
            check(&line.repeat(5));
            check(&line[..line.len() - 1]);
        }
    }
}

#[test]
fn full_windows_stop_at_the_caps() {
    check(&b"1 ".repeat(MAX_ENDS));
    check(&b"\n".repeat(2 * MAX_LINES + 7));
    check(&b"/".repeat(MAX_ENDS + 70));
    check(&b"v 1 2 3\n".repeat(MAX_LINES));
    check(&[&b"1 ".repeat(MAX_ENDS - 70)[..], &b"\r\n".repeat(90)].concat());
    check(&vec![b'x'; 10_000]);
}

#[test]
fn a_text_that_does_not_fit_has_an_empty_index() {
    let padded = padded(b"v 1 2 3\n", b'\n');
    let mut index = Box::new(Index::new());
    for level in Level::all() {
        for (start, end) in [(63, 70), (70, 64), (64, 73), (64, usize::MAX), (usize::MAX, usize::MAX), (0, 0)] {
            index.scan(&padded, PADDING, PADDING + 8, level);
            assert_eq!(index.lines().len(), 1);
            index.scan(&padded, start, end, level);
            assert_eq!((index.lines().len(), index.end_count), (0, 0), "{start}..{end}");
        }
        index.scan(&[], 0, 0, level);
        assert!(index.lines().is_empty());
    }
}

#[test]
fn line_ends_equal_those_counted_bit_by_bit() {
    let mut random = random();
    let mut out = [LineEnd::default(); 64];
    for _ in 0..1000 / stride(100) {
        let newlines = (random(1 << 31) as u64) << 33 | random(1 << 31) as u64;
        let ends = newlines ^ (random(1 << 31) as u64) << 20;
        line_ends(newlines, ends, LineEnd { newline: 1000, tokens: 50 }, &mut out);
        let bits = (0..64u32).filter(|bit| newlines >> bit & 1 == 1);
        for (line_end, bit) in out.iter().zip(bits) {
            let tokens = 50 + (ends & (u64::MAX >> (63 - bit))).count_ones();
            assert_eq!(*line_end, LineEnd { newline: 1000 + bit, tokens });
        }
    }
}
