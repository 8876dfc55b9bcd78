//! Formats and reads the lines of a log: checksums, torn last lines, and recovery of rows from damaged lines.
//!
//! Line format: 16 hexadecimal digits (64-bit XXH3 of the JSON), a space, a JSON object without whitespace between
//! tokens, a line feed.

use crate::log::{BLOCK_BYTES, io};
use polyhaul::{Result, Source};
use polyhaul_bytes::hash::xxh3_64;
use polyhaul_fault::planted;
use serde::de::IgnoredAny;
use std::path::Path;

/// Hexadecimal digits per checksum.
const DIGITS: usize = 16;
/// Bytes before the JSON: checksum and space.
const HEAD: usize = DIGITS + 1;
/// The start of a JSON object with the space before it. Without whitespace between tokens, it occurs elsewhere in a
/// line only where a string ends with ` {`: other quotes in strings are escaped.
const START: &[u8] = b" {\"";

/// A line of a log.
pub(crate) enum LogLine<'a> {
    /// JSON with a matching checksum.
    Sound(&'a str),
    /// Bytes without a matching checksum. They may contain intact rows: see [`each_row_within`].
    Damaged(&'a [u8]),
}

/// Formats a line with its checksum.
pub(crate) fn checked_line(json: &str) -> Vec<u8> {
    format!("{:016x} {json}\n", xxh3_64(json.as_bytes())).into_bytes()
}

/// Passes the lines of a file to `each`, except for a torn last line left by a killed run. Returns the number of bytes
/// read.
pub(crate) fn each_line(path: &Path, each: &mut dyn FnMut(LogLine<'_>) -> Result<()>) -> Result<u64> {
    let mut rest = Vec::new();
    let mut bytes = 0;
    each_block(path, &mut |block| {
        bytes += block.len() as u64;
        let mut block = block;
        while let Some(end) = memchr::memchr(b'\n', block) {
            let (line, after) = block.split_at(end);
            // Lines within one block, which are most of them, are not copied.
            if rest.is_empty() {
                each(check(line))?;
            } else {
                rest.extend_from_slice(line);
                each(check(&rest))?;
                rest.clear();
            }
            block = &after[1..];
        }
        rest.extend_from_slice(block);
        Ok(())
    })?;
    match check(&rest) {
        LogLine::Damaged(torn) if is_torn(torn) => {}
        line => each(line)?,
    }
    Ok(bytes)
}

/// Verifies the checksum of a line.
fn check(line: &[u8]) -> LogLine<'_> {
    let sound = line.split_at_checked(DIGITS).and_then(|(sum, rest)| {
        let json = rest.strip_prefix(b" ")?;
        // The digits are checked first, because `from_str_radix` also accepts a sign and uppercase digits.
        let sum = std::str::from_utf8(sum).ok().filter(|_| sum.iter().all(is_digit))?;
        let sum = u64::from_str_radix(sum, 16).ok()?;
        std::str::from_utf8(json).ok().filter(|_| xxh3_64(json) == sum || planted("log-checksum"))
    });
    sound.map_or(LogLine::Damaged(line), LogLine::Sound)
}

/// Whether a byte is a lowercase hexadecimal digit.
fn is_digit(byte: &u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// Whether bytes are the start of a line, as left by a run that was killed while writing. Complete JSON, the start of a
/// second line or control characters indicate damage instead: an overwritten line feed, or a power failure.
fn is_torn(line: &[u8]) -> bool {
    let (head, json) = line.split_at(line.len().min(HEAD));
    let is_head = |(at, byte): (usize, &u8)| if at < DIGITS { is_digit(byte) } else { *byte == b' ' };
    let is_start = json.first().is_none_or(|byte| *byte == b'{') && line.iter().all(|byte| *byte >= b' ');
    let is_one = memchr::memmem::find(json, START).is_none() && json_bytes(json).is_none();
    head.iter().enumerate().all(is_head) && is_start && is_one
}

/// Returns the length of the JSON value at the start of `bytes`, or `None` if the value is incomplete or invalid.
fn json_bytes(bytes: &[u8]) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

/// Passes intact rows within a damaged line to `each`. A damaged line feed joins two rows, and a row that was appended
/// after a torn row shares its line.
pub(crate) fn each_row_within(line: &[u8], each: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
    let mut end = 0;
    for start in memchr::memmem::find_iter(line, START) {
        let json = start + 1;
        // A match within the previous row, such as in one of its strings, cannot start a row.
        let Some(head) = json.checked_sub(HEAD).filter(|head| *head >= end) else { continue };
        let Some(bytes) = json_bytes(&line[json..]) else { continue };
        if let LogLine::Sound(row) = check(&line[head..json + bytes]) {
            each(row)?;
            end = json + bytes;
        }
    }
    Ok(())
}

/// Passes a file to `each` in blocks. A run may be appending to it, so growth is not an error.
pub(crate) fn each_block(path: &Path, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let failed = |error| io("read", path, error);
    let source = Source::open(path).map_err(failed)?;
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        let count = source.read_next(&mut block).map_err(failed)?;
        each(&block[..count])?;
        if count < block.len() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_within(line: &[u8]) -> Vec<String> {
        let mut rows = Vec::new();
        each_row_within(line, &mut |row| {
            rows.push(row.to_owned());
            Ok(())
        })
        .unwrap();
        rows
    }

    fn line(json: &str) -> Vec<u8> {
        let mut line = checked_line(json);
        line.pop();
        line
    }

    #[test]
    fn only_the_start_of_a_line_is_torn() {
        let line = line(r#"{"a":"é","b":[1,{}]}"#);
        assert!((0..line.len()).all(|end| is_torn(&line[..end])));
        for more in [&b""[..], b"X", b"\r", b"\0", b"0123"] {
            assert!(!is_torn(&[&line, more].concat()), "{more:?}");
        }
        for other in [&b"\0"[..], b"x", b"0123456789abcdef-", b"0123456789abcdef x", b"0123456789abcdef {\"a\":\"\0"] {
            assert!(!is_torn(other), "{other:?}");
        }
        assert!(!is_torn(&[&line[..25], &line[..]].concat()));
    }

    #[test]
    fn whole_rows_are_found_between_damage() {
        let [a, b] = [r#"{"a":"{\"x\": {\"y\"","b":1}"#, r#"{"a":2}"#];
        let [first, second] = [a, b].map(line);
        for between in [&b""[..], b"\0", b"\x0b", b"\r", b"  ", b"{\"", b"0123456789abcdef {\"a\":", &first[..20]] {
            let joined = [&first[..], between, &second].concat();
            assert_eq!(rows_within(&joined), [a, b], "{between:?}");
            assert_eq!(rows_within(&joined[1..]), [b], "{between:?}");
            assert_eq!(rows_within(&joined[..joined.len() - 1]), [a], "{between:?}");
        }
        let nothing: [&str; 0] = [];
        assert_eq!(rows_within(&first[1..]), nothing);
    }
}
