//! Parses the header lines of an HDR file.

use polyhaul_model::error::{Diagnostic, ErrorKind, Result, fault, truncated};
use polyhaul_model::limits::Limits;
use polyhaul_model::pixels::check_size;
use polyhaul_model::{ImageAttribute, names};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::window::SourceWindow;
use std::sync::Arc;

/// Maximum size of the header in bytes.
const MAX_BYTES: usize = 64 << 10;

/// Maximum number of bytes of a line that are passed to a message, which shortens them to 200.
const MAX_SHOWN_BYTES: usize = 300;

/// Maximum number of rows, and of columns: memory for a row is allocated before its bytes are read.
pub(super) const MAX_SIDE: usize = 1 << 20;

/// The parsed header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HdrHeader {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Whether the bottom row is first.
    pub(super) is_upward: bool,
    /// Whether rows are stored from right to left.
    pub(super) is_mirrored: bool,
    /// Other lines about the pixels, as attributes.
    pub(super) attributes: Vec<ImageAttribute>,
}

/// Returns whether a file starts like an HDR file.
pub fn looks_like_hdr(head: &[u8]) -> bool {
    head.starts_with(b"#?RADIANCE") || head.starts_with(b"#?RGBE")
}

/// Parses the header, and moves the window past it.
pub fn read(window: &mut SourceWindow, bytes: &Bytes<'_>, file: &Arc<str>, limits: &Limits) -> Result<HdrHeader> {
    let mut lines = HdrLines { window, bytes, file, used: 0 };
    let mut is_known = false;
    let mut declarations = HdrDeclarations::default();
    if !lines.next()?.starts_with(b"#?") {
        let error = Diagnostic { expected: Some("`#?RADIANCE`".into()), ..Diagnostic::at(file, 0, "not an HDR file") };
        return Err(error.into_error(ErrorKind::Malformed));
    }
    loop {
        let at = lines.offset();
        let line = lines.next()?;
        if line.is_empty() {
            break;
        }
        match line.strip_prefix(b"FORMAT=").map(<[u8]>::trim_ascii) {
            Some(b"32-bit_rle_rgbe") => is_known = true,
            Some(format) => {
                let message = format!("the pixel format `{}` is not supported", shown(format));
                return Err(Diagnostic::at(file, at, message).into_error(ErrorKind::Unsupported));
            }
            None => declarations.add(line),
        }
    }
    let at = lines.offset();
    if !is_known {
        return Err(fault(file, at, "missing `FORMAT=32-bit_rle_rgbe` in the header"));
    }
    let line = lines.next()?;
    let mut header = size(line).map_err(|message| fault(file, at, message))?;
    lines.end();
    check_size([header.width, header.height], limits, file, at)?;
    header.attributes = declarations.attributes();
    Ok(header)
}

/// Header lines about the meaning of pixels. Repeated factors are multiplied; the last primaries win.
#[derive(Default)]
struct HdrDeclarations {
    /// Factor already applied to all samples.
    exposure: Option<f32>,
    /// Factors already applied to red, green and blue.
    correction: Option<[f32; 3]>,
    /// Pixel aspect ratio: height divided by width.
    aspect: Option<f32>,
    /// xy chromaticities of red, green, blue and white.
    primaries: Option<[f32; 8]>,
}

impl HdrDeclarations {
    fn add(&mut self, line: &[u8]) {
        let Some((name, value)) = std::str::from_utf8(line).ok().and_then(|line| line.split_once('=')) else { return };
        let numbers: Vec<f32> = value.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
        match (name.trim(), &numbers[..]) {
            ("EXPOSURE", [by]) => self.exposure = Some(self.exposure.unwrap_or(1.0) * by),
            ("PIXASPECT", [by]) => self.aspect = Some(self.aspect.unwrap_or(1.0) * by),
            ("COLORCORR", &[red, green, blue]) => {
                let [old_red, old_green, old_blue] = self.correction.unwrap_or([1.0; 3]);
                self.correction = Some([old_red * red, old_green * green, old_blue * blue]);
            }
            ("PRIMARIES", numbers) => self.primaries = numbers.try_into().ok().or(self.primaries),
            _ => {}
        }
    }

    /// Converts the lines to attributes that EXR and HDR store, without neutral values.
    fn attributes(self) -> Vec<ImageAttribute> {
        let lists = [
            ("EXPOSURE", "float", self.exposure.filter(|by| *by != 1.0).map(|by| vec![by])),
            ("COLORCORR", "v3f", self.correction.filter(|by| *by != [1.0; 3]).map(|by| by.to_vec())),
            ("PIXASPECT", "float", self.aspect.filter(|by| *by != 1.0).map(|by| vec![by])),
            ("chromaticities", "chromaticities", self.primaries.map(|numbers| numbers.to_vec())),
        ];
        let bytes = |numbers: Vec<f32>| numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let attribute = |(name, kind, numbers): (&str, &str, Option<Vec<f32>>)| {
            Some(ImageAttribute { name: name.into(), kind: kind.into(), value: bytes(numbers?) })
        };
        lists.into_iter().filter_map(attribute).collect()
    }
}

/// Returns the header line for an attribute, or `None` if HDR cannot store it.
pub(super) fn line_of(attribute: &ImageAttribute) -> Option<String> {
    let name = match (attribute.name.as_str(), attribute.kind.as_str()) {
        (name @ ("EXPOSURE" | "PIXASPECT"), "float") => name,
        (name @ "COLORCORR", "v3f") => name,
        ("chromaticities", "chromaticities") => "PRIMARIES",
        _ => return None,
    };
    let numbers = attribute.value.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes).to_string());
    Some(format!("{name}={}\n", numbers.collect::<Vec<_>>().join(" ")))
}

/// Returns whether HDR can store an attribute.
pub fn stores(attribute: &ImageAttribute) -> bool {
    line_of(attribute).is_some()
}

/// The lines of the header, read sequentially.
struct HdrLines<'a> {
    window: &'a mut SourceWindow,
    bytes: &'a Bytes<'a>,
    file: &'a Arc<str>,
    /// Size of the last line.
    used: usize,
}

impl HdrLines<'_> {
    /// Reads the next line, without trailing whitespace.
    fn next(&mut self) -> Result<&[u8]> {
        self.window.consume(std::mem::take(&mut self.used));
        let start = self.window.offset();
        // Bytes before `searched` contain no newline, so refills do not search them again.
        let mut searched = 0;
        let end = loop {
            let end = self.window.rest()[searched..].iter().position(|byte| *byte == b'\n').map(|size| searched + size);
            searched = self.window.rest().len();
            if start + end.map_or(searched, |end| end + 1) as u64 > MAX_BYTES as u64 {
                return Err(fault(self.file, start, format!("the header does not end within {MAX_BYTES} bytes")));
            }
            match end {
                Some(end) => break end,
                None if self.window.refill(self.bytes)? => {}
                None => return Err(truncated(self.file, start + searched as u64, "the header")),
            }
        };
        self.used = end + 1;
        Ok(self.window.rest()[..end].trim_ascii_end())
    }

    /// Returns the offset of the next line.
    fn offset(&self) -> u64 {
        self.window.offset() + self.used as u64
    }

    /// Moves the window past the last line.
    fn end(self) {
        self.window.consume(self.used);
    }
}

/// Returns the start of a line for messages.
fn shown(line: &[u8]) -> String {
    names::shown(&String::from_utf8_lossy(&line[..line.len().min(MAX_SHOWN_BYTES)])).to_string()
}

/// Parses the line with the size: `-Y 480 +X 640`.
fn size(line: &[u8]) -> std::result::Result<HdrHeader, String> {
    let shown = shown(line);
    // A line that is not UTF-8 is not a valid size either.
    let text = std::str::from_utf8(line).unwrap_or_default();
    // One word more than expected, to detect longer lines.
    let words: Vec<&str> = text.split_ascii_whitespace().take(5).collect();
    let number = |word: &str| word.parse().ok().filter(|&count: &usize| count > 0 && count <= MAX_SIDE);
    match words[..] {
        [y @ ("-Y" | "+Y"), height, x @ ("-X" | "+X"), width] => match (number(width), number(height)) {
            (Some(width), Some(height)) => {
                let attributes = Vec::new();
                Ok(HdrHeader { width, height, is_upward: y == "+Y", is_mirrored: x == "-X", attributes })
            }
            _ => Err(format!("invalid size `{shown}`; expected two numbers from 1 to {MAX_SIDE}")),
        },
        ["-X" | "+X", _, "-Y" | "+Y", _] => {
            Err("images stored in columns are not supported; expected rows, as in `-Y 480 +X 640`".into())
        }
        _ => Err(format!("invalid size `{shown}`; expected one such as `-Y 480 +X 640`")),
    }
}
