//! Detects prose in files whose extension is also used for numbers, such as `license.txt`.

use polyhaul_bytes::place;
use polyhaul_bytes::{Codec, Source};
use std::path::Path;

/// Bytes that are searched for a row of numbers.
const PROSE_BYTES: usize = 4096;

/// Whether a file is text without a row of numbers at its start, such as a license. Objects in object stores,
/// compressed files and unreadable files do not count as prose: reading them reports any problem.
pub(crate) fn is_prose_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_plain = !place::is_url(path) && Codec::of_name(&name).is_none();
    is_plain && Source::open(path).is_ok_and(|source| is_prose(&source))
}

/// Whether a source is text without a row of numbers at its start.
pub(crate) fn is_prose(source: &Source<'_>) -> bool {
    let mut head = [0; PROSE_BYTES];
    let Ok(count) = source.read_next(&mut head) else { return false };
    let text = String::from_utf8_lossy(head.get(..count).unwrap_or_default());
    // The last word may be incomplete.
    let is_cut = count == PROSE_BYTES;
    let text = if is_cut { text.rsplit_once(char::is_whitespace).map_or("", |(text, _)| text) } else { &text };
    let is_row = |line: &str| {
        let fields = line.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';'));
        let mut fields = fields.filter(|field| !field.is_empty()).peekable();
        fields.peek().is_some() && fields.all(|field| field.parse::<f64>().is_ok())
    };
    !text.lines().any(is_row)
}
