//! Counts lines.

use polyhaul_fault::planted;

/// Counts the line endings in `text`: every LF, and every CR not followed by an LF.
///
/// A CR that is the last byte of `text` counts. The loop is branch-free, so it runs at cache bandwidth.
/// ```
/// assert_eq!(polyhaul_text::lines::count(b"a\nb\r\nc\rd"), 3);
/// ```
pub fn count(text: &[u8]) -> usize {
    let Some((last, before_last)) = text.split_last() else { return 0 };
    // The count per piece fits into a byte: wider counters would at least halve the throughput. 192 bytes fill whole
    // vectors.
    const PIECE: usize = 192;
    let pieces = before_last.chunks(PIECE).zip(text[1..].chunks(PIECE));
    let inner: usize = pieces.map(|(bytes, next)| usize::from(count_ends(bytes, next))).sum();
    inner + usize::from(matches!(last, b'\n' | b'\r') && !planted("line-last"))
}

/// Counts the line endings in up to 192 bytes. `next` holds the byte after each.
fn count_ends(bytes: &[u8], next: &[u8]) -> u8 {
    let ends = |(&byte, &next): (&u8, &u8)| u8::from((byte == b'\n') | (byte == b'\r') & (next != b'\n'));
    bytes.iter().zip(next).map(ends).sum()
}
