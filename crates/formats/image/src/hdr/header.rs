//! The lines before the pixels of an HDR file.

use polyhaul_model::error::{Diagnostic, ErrorKind, Result, fault};
use polyhaul_model::limits::Limits;
use polyhaul_model::pixels::check_size;
use polyhaul_model::{ImageAttribute, names};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::window::SourceWindow;
use std::sync::Arc;

/// Maximum bytes of all lines.
const MAX_BYTES: usize = 64 << 10;

/// Bytes of a line that are passed to a message, which shortens them to 200 and dots.
const MAX_SHOWN_BYTES: usize = 300;

/// Maximum rows, and pixels of a row: memory for a row is allocated before its bytes are read.
const MAX_SIDE: usize = 1 << 20;

/// A file's declarations about its pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HdrHeader {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Whether the first row is the bottom one.
    pub(super) is_upward: bool,
    /// Whether the first pixel of a row is its last one.
    pub(super) is_mirrored: bool,
    /// Other declarations about the pixels.
    pub(super) attributes: Vec<ImageAttribute>,
}

/// Whether a file starts like an HDR file.
pub fn looks_like_hdr(head: &[u8]) -> bool {
    head.starts_with(b"#?RADIANCE") || head.starts_with(b"#?RGBE")
}

/// Reads the lines, and moves the window past them.
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
        return Err(fault(file, at, "the header does not declare FORMAT=32-bit_rle_rgbe"));
    }
    let line = lines.next()?;
    let mut header = size(line).map_err(|message| fault(file, at, message))?;
    lines.end();
    check_size([header.width, header.height], limits, file, at)?;
    header.attributes = declarations.attributes();
    Ok(header)
}

/// Header lines about the meaning of pixels. Repeated lines of a kind accumulate.
#[derive(Default)]
struct HdrDeclarations {
    /// The factor that light was multiplied by.
    exposure: Option<f32>,
    /// The factors that red, green and blue were multiplied by.
    correction: Option<[f32; 3]>,
    /// The width of a pixel divided by its height.
    aspect: Option<f32>,
    /// x and y of red, green, blue and white.
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

    /// The lines as attributes, which EXR and HDR store, without those that change nothing.
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

/// The lines of an attribute that HDR stores.
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

/// Whether HDR stores an attribute.
pub fn stores(attribute: &ImageAttribute) -> bool {
    line_of(attribute).is_some()
}

/// The lines of the header, in order.
struct HdrLines<'a> {
    window: &'a mut SourceWindow,
    bytes: &'a Bytes<'a>,
    file: &'a Arc<str>,
    /// The bytes of the last line.
    used: usize,
}

impl HdrLines<'_> {
    /// The next line without blanks at its end.
    fn next(&mut self) -> Result<&[u8]> {
        self.window.consume(std::mem::take(&mut self.used));
        let start = self.window.offset();
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
                None => return Err(fault(self.file, start + searched as u64, "unexpected end of file in the header")),
            }
        };
        self.used = end + 1;
        Ok(self.window.rest()[..end].trim_ascii_end())
    }

    /// The offset of the next line.
    fn offset(&self) -> u64 {
        self.window.offset() + self.used as u64
    }

    /// Moves the window past the last line.
    fn end(self) {
        self.window.consume(self.used);
    }
}

/// The start of a line, for messages.
fn shown(line: &[u8]) -> String {
    names::shown(&String::from_utf8_lossy(&line[..line.len().min(MAX_SHOWN_BYTES)])).to_string()
}

/// The line of the size: `-Y 480 +X 640`.
fn size(line: &[u8]) -> std::result::Result<HdrHeader, String> {
    let shown = shown(line);
    // Anything but text is not a size either.
    let text = std::str::from_utf8(line).unwrap_or_default();
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
