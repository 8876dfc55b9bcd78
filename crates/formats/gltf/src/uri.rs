//! Parses URIs in glTF files: percent-encoded file names and `data:` URIs.
//!
//! No file is opened here: the caller decides which files may be opened.

use crate::log::malformed;
use polyhaul_model::error::{Error, Result, try_string};

/// Target of a URI.
pub(crate) enum UriTarget<'a> {
    /// Inline data.
    Data(DataUri<'a>),
    /// A file name, decoded.
    File(String),
}

/// Parts of a `data:` URI.
#[derive(Clone, Copy)]
pub(crate) struct DataUri<'a> {
    /// Media type such as `image/png`; may be empty.
    pub(crate) media_type: &'a str,
    /// Text after the comma.
    pub(crate) text: &'a str,
    pub(crate) is_base64: bool,
}

impl DataUri<'_> {
    /// Decodes the data.
    pub(crate) fn decode(&self) -> Result<Vec<u8>> {
        let text = self.text.as_bytes();
        if self.is_base64 { decode_base64(text) } else { decode_percent(text) }
    }
}

/// Parses a URI.
pub(crate) fn target(uri: &str) -> Result<UriTarget<'_>> {
    // Schemes are case-insensitive (RFC 3986, section 3.1).
    let is_data = uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
    if !is_data {
        return decode_name(uri).map(UriTarget::File);
    }
    let (kind, text) = uri[5..].split_once(',').ok_or_else(|| malformed("invalid data URI: expected a comma"))?;
    let is_base64 = kind.rsplit(';').next().is_some_and(|last| last.eq_ignore_ascii_case("base64"));
    let media_type = kind.split(';').next().unwrap_or_default();
    Ok(UriTarget::Data(DataUri { media_type, text, is_base64 }))
}

/// Decodes percent-encoding in a name. Returns the name unchanged if the result would not be UTF-8.
fn decode_name(uri: &str) -> Result<String> {
    if !uri.contains('%') {
        return try_string(uri);
    }
    String::from_utf8(decode_percent(uri.as_bytes())?).or_else(|_| try_string(uri))
}

/// Encodes a file name as a URI. Source: RFC 3986, sections 2.1 and 3.3.
pub(crate) fn encode_name(file: &str) -> String {
    let mut uri = String::new();
    // URIs separate folders with `/` only.
    for byte in file.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(byte as char),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// Decodes percent-encoding. Keeps a `%` that two hex digits do not follow.
fn decode_percent(text: &[u8]) -> Result<Vec<u8>> {
    let digit = |byte: Option<&u8>| byte.and_then(|&byte| char::from(byte).to_digit(16));
    let mut out = Vec::new();
    // Decoding never lengthens the text.
    out.try_reserve_exact(text.len())?;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match (byte, digit(text.get(at + 1)), digit(text.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push((16 * high + low) as u8);
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    Ok(out)
}

/// Value of a byte that is not a digit.
const INVALID: u8 = 255;

/// Value of each base64 digit.
const DIGITS: [u8; 256] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut digits = [INVALID; 256];
    let mut value = 0;
    while value < 64 {
        digits[alphabet[value] as usize] = value as u8;
        value += 1;
    }
    digits
};

/// Decodes base64 in the standard alphabet. The padding may be missing.
pub(crate) fn decode_base64(text: &[u8]) -> Result<Vec<u8>> {
    let body = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    let padding = text.len() - body.len();
    // The padding is optional, but if present, it must complete the last group.
    if body.len() % 4 == 1 || (padding > 0 && !text.len().is_multiple_of(4)) {
        return Err(malformed(format!("invalid base64: {} digits, truncated or with wrong padding", text.len())));
    }
    let mut out = Vec::new();
    // An incomplete last group adds 1 or 2 bytes.
    out.try_reserve_exact(body.len() / 4 * 3 + 2)?;
    let (groups, rest) = body.as_chunks::<4>();
    for (number, group) in groups.iter().enumerate() {
        let digits = group.map(|byte| DIGITS[usize::from(byte)]);
        if digits.contains(&INVALID) {
            return Err(bad_digit(&body[4 * number..], 4 * number));
        }
        out.extend_from_slice(&bytes_of(digits));
    }
    if rest.is_empty() {
        return Ok(out);
    }
    let mut digits = [0; 4];
    for (digit, &byte) in digits.iter_mut().zip(rest) {
        *digit = DIGITS[usize::from(byte)];
        if *digit == INVALID {
            return Err(bad_digit(rest, body.len() - rest.len()));
        }
    }
    out.extend_from_slice(&bytes_of(digits)[..rest.len() - 1]);
    Ok(out)
}

/// Converts four base64 digits to three bytes.
fn bytes_of([a, b, c, d]: [u8; 4]) -> [u8; 3] {
    [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d]
}

/// Creates the error for the first invalid digit of `text`, which starts at position `start`.
fn bad_digit(text: &[u8], start: usize) -> Error {
    let at = text.iter().position(|&byte| DIGITS[usize::from(byte)] == INVALID).unwrap_or(0);
    malformed(format!("invalid base64 digit at position {}", start + at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_strict_except_for_padding() {
        let decoded = |text: &str| decode_base64(text.as_bytes()).map_err(|error| error.to_string());
        for (text, bytes) in [("", ""), ("Zg==", "f"), ("Zg", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg", "foob")]
        {
            assert_eq!(decoded(text).unwrap(), bytes.as_bytes(), "{text}");
        }
        assert_eq!(decoded("/+8A").unwrap(), [255, 239, 0]);
        for text in ["Z", "Zm9vY", "Zg=", "=", "==", "Zm 9", "Zm9v\n", "Zm-_", "Z===", "Zg==Zg=="] {
            assert!(decoded(text).is_err(), "{text}");
        }
        assert_eq!(decoded("Zm9vZm!v").unwrap_err(), "invalid base64 digit at position 6");
    }

    #[test]
    fn names_and_data() {
        let name = |uri: &str| match target(uri).unwrap() {
            UriTarget::File(name) => name,
            UriTarget::Data(DataUri { media_type, text, is_base64 }) => format!("{media_type} {text} {is_base64}"),
        };
        assert_eq!(name("a%20b.bin"), "a b.bin");
        assert_eq!(name("100%.bin"), "100%.bin");
        assert_eq!(name("%ff.bin"), "%ff.bin");
        assert_eq!(name("data:application/octet-stream;base64,AAAA"), "application/octet-stream AAAA true");
        assert_eq!(name("DATA:,a%00"), " a%00 false");
        assert_eq!(name("data"), "data");
        assert!(target("data:base64").is_err());
        assert_eq!(decode_percent(b"a%00b%").unwrap(), b"a\0b%");
    }
}
