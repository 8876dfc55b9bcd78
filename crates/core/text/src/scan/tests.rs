//! The index on every level against one made byte by byte.

use super::*;

/// The ends of tokens, whether each is at a slash, and the ends of lines, of a whole text.
struct Naive {
    ends: Vec<(u32, bool)>,
    lines: Vec<LineEnd>,
}

fn naive(padded: &[u8], start: usize, end: usize) -> Naive {
    let mut found = Naive { ends: Vec::new(), lines: Vec::new() };
    let mut after_space = true;
    for at in start..end {
        let byte = padded[at];
        if byte == b'/' || is_space(byte) && !after_space {
            found.ends.push((at as u32, byte == b'/'));
        }
        after_space = is_space(byte);
        if byte == b'\n' || byte == b'\r' && (at + 1 == end || padded[at + 1] != b'\n') {
            found.lines.push(LineEnd { newline: at as u32, tokens: found.ends.len() as u32 });
        }
    }
    found
}

fn padded(text: &[u8], filler: u8) -> Vec<u8> {
    let mut padded = vec![filler; PADDING];
    padded.extend_from_slice(text);
    padded.resize(padded.len() + PADDING, filler);
    padded
}

/// Scans the text window by window on every level; all must find what the naive index has.
fn check(text: &[u8]) {
    for filler in [b'\n', b'7', b' ', b'/'] {
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
        let wanted = naive(padded, start, end);
        let slash = |token| index.slash_bits(token) & 1 == 1;
        let ends: Vec<_> = (0..index.end_count).map(|token| (index.ends[token], slash(token))).collect();
        assert_eq!(ends, wanted.ends[..ends.len()], "{level:?}");
        assert_eq!(index.lines(), &wanted.lines[..index.lines().len()], "{level:?}");
        assert!(index.end_count <= MAX_ENDS && index.line_count <= MAX_LINES);
        let all = ends.len() == wanted.ends.len() && index.lines().len() == wanted.lines.len();
        assert!(all || index.end_count > MAX_ENDS - 64 || index.line_count > MAX_LINES - 64, "{level:?}");
        assert!(index.ends[index.end_count..][..16].iter().all(|&end| end as usize == start));
        assert_eq!((index.start(), index.line_start(0)), (start, start));
        if index.next_start() == start {
            break;
        }
        start = index.next_start();
    }
}

/// Numbers that look random.
fn random() -> impl FnMut(usize) -> usize {
    let mut state = 7u64;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    }
}

#[test]
fn every_level_finds_what_is_there() {
    let mut random = random();
    for alphabet in [
        &b"0123456789.-+eE/ \t\r\n#vfn\\\0x"[..],
        b"1 /\r\n",
        b"\r\n",
        b"/ ",
        b"\x0B\x0C\x08\x0E\x89\x8A\x8D\xA0\xAF \n1",
    ] {
        for size in (0..200).chain([1000, 5000]) {
            let text: Vec<u8> = (0..size).map(|_| alphabet[random(alphabet.len())]).collect();
            check(&text);
        }
    }
}

#[test]
fn every_byte_alone() {
    for byte in 0..=255 {
        check(&[b'a', byte, b'a', byte, byte, b'a']);
        check(&[byte; 65]);
    }
}

#[test]
fn lines_end_around_the_borders_of_blocks() {
    for size in 55..75 {
        for ending in [&b"\n"[..], b"\r\n", b"\r", b" \r\n", b"/\n", b"\n\n", b"\r\r", b"\n\r"] {
            let line = [&b"v 1/2 "[..], &vec![b'9'; size - 6], ending].concat();
            check(&line.repeat(5));
            check(&line[..line.len() - 1]);
        }
    }
}

#[test]
fn windows_fill_up() {
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
fn kernels_agree_with_line_ends_one_by_one() {
    let mut random = random();
    let mut out = [LineEnd::default(); 64];
    for _ in 0..1000 {
        let newlines = (random(1 << 31) as u64) << 33 | random(1 << 31) as u64;
        let ends = newlines ^ (random(1 << 31) as u64) << 20;
        line_ends(newlines, ends, LineEnd { newline: 1000, tokens: 50 }, &mut out);
        let bits = (0..64u32).filter(|bit| newlines >> bit & 1 == 1);
        for (found, bit) in out.iter().zip(bits) {
            let tokens = 50 + (ends & (u64::MAX >> (63 - bit))).count_ones();
            assert_eq!(*found, LineEnd { newline: 1000 + bit, tokens });
        }
    }
}
