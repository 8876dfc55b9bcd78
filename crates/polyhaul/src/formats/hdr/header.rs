//! The lines before the pixels of an HDR file.

use crate::error::{Diagnostic, Error, ErrorKind, Result, fault};
use crate::formats::raster::check_size;
use crate::options::Limits;
use crate::pipeline::bytes::Bytes;
use crate::pipeline::window::Window;
use std::sync::Arc;

/// The most bytes of all lines.
const MOST_BYTES: usize = 64 << 10;

/// The most rows, and the most pixels of a row: memory is taken for one before its bytes are seen.
const MOST_SIDE: usize = 1 << 20;

/// What a file says about its pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Whether the first row is the bottom one.
    pub(super) is_upward: bool,
    /// Whether the first pixel of a row is its last one.
    pub(super) is_mirrored: bool,
}

/// Whether a file begins as these do.
pub(crate) fn looks_like_hdr(head: &[u8]) -> bool {
    head.starts_with(b"#?RADIANCE") || head.starts_with(b"#?RGBE")
}

/// Reads the lines, and moves the window behind them.
pub(super) fn read(window: &mut Window, bytes: &Bytes<'_>, file: &Arc<str>, limits: &Limits) -> Result<Header> {
    let (mut lines, mut is_known) = (Lines { window, bytes, file }, false);
    if !lines.next()?.starts_with("#?") {
        let error =
            Diagnostic { expected: Some("`#?RADIANCE`".into()), ..Diagnostic::at(file, 0, "this is no HDR file") };
        return Err(error.into_error(ErrorKind::Malformed));
    }
    loop {
        let at = lines.window.offset();
        let line = lines.next()?;
        if line.is_empty() {
            break;
        }
        match line.strip_prefix("FORMAT=").map(str::trim) {
            Some("32-bit_rle_rgbe") => is_known = true,
            Some(format) => {
                let message = format!("pixels of the format `{}` are not read", crate::formats::names::shown(format));
                return Err(Diagnostic::at(file, at, message).into_error(ErrorKind::Unsupported));
            }
            None => {}
        }
    }
    let at = lines.window.offset();
    if !is_known {
        return Err(fault(file, at, "the header does not say FORMAT=32-bit_rle_rgbe"));
    }
    let line = lines.next()?;
    let header = size(&line).map_err(|message| fault(file, at, message))?;
    check_size([header.width, header.height], limits, file, at)?;
    Ok(header)
}

/// The lines of the header, one after another.
struct Lines<'a> {
    window: &'a mut Window,
    bytes: &'a Bytes<'a>,
    file: &'a Arc<str>,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<String> {
        let mut known = 0;
        loop {
            if let Some(size) = self.window.rest()[known..].iter().position(|byte| *byte == b'\n') {
                let line = String::from_utf8_lossy(&self.window.rest()[..known + size]).trim_end().to_owned();
                self.window.consume(known + size + 1);
                return Ok(line);
            }
            known = self.window.rest().len();
            if self.window.offset() + known as u64 > MOST_BYTES as u64 {
                let message = format!("the header has no end within {MOST_BYTES} bytes");
                return Err(fault(self.file, self.window.offset(), message));
            }
            if !self.window.refill(self.bytes)? {
                return Err(self.cut(known));
            }
        }
    }

    fn cut(&self, known: usize) -> Error {
        fault(self.file, self.window.offset() + known as u64, "the file ends in its header")
    }
}

/// The line of the size: `-Y 480 +X 640`.
fn size(line: &str) -> std::result::Result<Header, String> {
    let shown = crate::formats::names::shown(line);
    let words: Vec<&str> = line.split_ascii_whitespace().take(5).collect();
    let number = |word: &str| word.parse().ok().filter(|&count: &usize| count > 0 && count <= MOST_SIDE);
    match words[..] {
        [y @ ("-Y" | "+Y"), height, x @ ("-X" | "+X"), width] => match (number(width), number(height)) {
            (Some(width), Some(height)) => Ok(Header { width, height, is_upward: y == "+Y", is_mirrored: x == "-X" }),
            _ => Err(format!("`{shown}` is no size that is read: there are two numbers from 1 to {MOST_SIDE}")),
        },
        ["-X" | "+X", _, "-Y" | "+Y", _] => {
            Err("columns one after another are not read; rows (`-Y 1 +X 1`) are".into())
        }
        _ => Err(format!("`{shown}` is no size, as in `-Y 480 +X 640`")),
    }
}
