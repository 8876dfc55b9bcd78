//! Lines: how many, and where one ends.

/// How many lines end in `text`: at each LF, and at each CR that no LF follows.
///
/// A CR at the very end counts. The loop has no branches, so it runs at the speed of the cache.
/// ```
/// assert_eq!(polyhaul_text::lines::count(b"a\nb\r\nc\rd"), 3);
/// ```
pub fn count(text: &[u8]) -> usize {
    let feeds = |text: &[u8]| text.iter().map(|&byte| usize::from(byte == b'\n')).sum::<usize>();
    let total: usize = text.chunks(1 << 12).map(feeds).sum();
    if memchr_cr(text) { total + lone_returns(text) } else { total }
}

fn memchr_cr(text: &[u8]) -> bool {
    text.chunks(1 << 12).any(|part| part.iter().fold(false, |found, &byte| found | (byte == b'\r')))
}

fn lone_returns(text: &[u8]) -> usize {
    let pairs = text.windows(2).filter(|pair| pair[0] == b'\r' && pair[1] != b'\n').count();
    pairs + usize::from(text.last() == Some(&b'\r'))
}
