//! Parses the markers and segments of a JPEG file (T.81, Annex B).
//!
//! A segment consists of FF and a marker and, for most markers, a big-endian 2-byte length, which includes itself, and
//! the content.

use super::blocks::{Band, ZIGZAG};
use super::frame::{Frame, JpegComponent, MAX_COMPONENTS, MAX_UNIT_BLOCKS, Scan, ScanPart};
use super::huffman::JpegCodes;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault, truncated};
use polyhaul_model::pixels::check_size;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::reader::BlockReader;
use std::sync::Arc;

/// Maximum number of bytes before the first scan or between scans, since a stream may be endless.
const MAX_BYTES: u64 = 64 << 20;

/// The markers of a file, read sequentially.
pub(super) struct Segments<'r> {
    pub(super) reader: BlockReader<'r>,
    pub(super) file: Arc<str>,
    /// Offset of the first stray byte, and the number of stray bytes.
    pub(super) stray: Option<(u64, u64)>,
    /// Offset of the end of the last compressed pixels.
    pub(super) pixels_end: u64,
}

impl Segments<'_> {
    /// Creates an error at the current offset.
    pub(super) fn fault(&self, message: impl Into<String>) -> Error {
        fault(&self.file, self.reader.offset(), message)
    }

    fn unsupported(&self, at: u64, message: impl Into<String>) -> Error {
        Diagnostic::at(&self.file, at, message).into_error(ErrorKind::Unsupported)
    }

    fn bytes(&mut self, count: usize) -> Result<&[u8]> {
        let available = self.reader.ensure(count)?.len();
        if available < count {
            let end = self.reader.offset() + available as u64;
            return Err(match self.pixels_end {
                0 => truncated(&self.file, end, "the header"),
                _ => fault(&self.file, end, "the image does not end with FF D9: the file is truncated or damaged"),
            });
        }
        Ok(&self.reader.ensure(count)?[..count])
    }

    fn take(&mut self) -> Result<u8> {
        if self.reader.offset() > self.pixels_end + MAX_BYTES {
            return Err(self.fault(format!("found no pixels within {MAX_BYTES} bytes")));
        }
        let byte = self.bytes(1)?[0];
        self.reader.pass(1);
        Ok(byte)
    }

    /// Reads the start marker of an image.
    pub(super) fn start(&mut self) -> Result<()> {
        if self.take()? != 0xFF || self.take()? != 0xD8 {
            return Err(fault(&self.file, 0, "not a JPEG file: it does not start with FF D8"));
        }
        Ok(())
    }

    /// Skips to the next marker and returns it. Any number of FF fill bytes may precede a marker; all other bytes are
    /// stray.
    pub(super) fn next(&mut self) -> Result<u8> {
        let start = self.reader.offset();
        let mut stray = 0;
        let mut fill = 0;
        loop {
            match self.take()? {
                0xFF => fill += 1,
                // FF 00 is a stuffed byte, not a marker.
                mark if fill > 0 && mark != 0 => {
                    self.add_stray(start, stray);
                    return Ok(mark);
                }
                _ => {
                    stray += fill + 1;
                    fill = 0;
                }
            }
        }
    }

    pub(super) fn add_stray(&mut self, start: u64, count: u64) {
        if count > 0 {
            let (first, before) = self.stray.unwrap_or((start, 0));
            self.stray = Some((first, before + count));
        }
    }

    /// Reads the content of the segment after a marker.
    pub(super) fn content(&mut self) -> Result<Vec<u8>> {
        let at = self.reader.offset();
        let length = match self.bytes(2)? {
            &[high, low] if high > 0 || low >= 2 => usize::from(u16::from_be_bytes([high, low])),
            _ => return Err(fault(&self.file, at, "invalid segment length; expected at least 2")),
        };
        let content = self.bytes(length)?[2..].to_vec();
        self.reader.pass(length);
        Ok(content)
    }

    /// Parses a frame header whose marker is at `at`.
    pub(super) fn frame(&mut self, mark: u8, at: u64, options: &ParseOptions) -> Result<Frame> {
        // SOF0 to SOF2 are baseline, extended sequential and progressive.
        let how = match mark {
            0xC0..=0xC2 => None,
            0xC3 => Some("lossless"),
            0xC9..=0xCB => Some("arithmetic-coded"),
            _ => Some("hierarchical"),
        };
        if let Some(how) = how {
            return Err(self.unsupported(at, format!("{how} JPEG is not supported")));
        }
        let content = self.content()?;
        let Some((&[bits, high, low, left, right, count], rest)) = content.split_first_chunk() else {
            return Err(fault(&self.file, at, "the frame header is too short"));
        };
        let height = usize::from(u16::from_be_bytes([high, low]));
        let width = usize::from(u16::from_be_bytes([left, right]));
        match (bits, count) {
            (8, 1 | 3 | 4) => {}
            (8, _) => return Err(self.unsupported(at, format!("images with {count} components are not supported"))),
            _ => return Err(self.unsupported(at, format!("{bits}-bit samples are not supported; expected 8 bits"))),
        }
        if height == 0 {
            let what = "images that declare their height after the pixels (DNL) are not supported";
            return Err(self.unsupported(at, what));
        }
        if width == 0 {
            return Err(fault(&self.file, at, "the image is empty (its width is 0)"));
        }
        check_size([width, height], &options.limits, &self.file, at)?;
        let components = self.components(rest, usize::from(count), at)?;
        Ok(Frame::new([width, height], mark == 0xC2, components))
    }

    fn components(&self, content: &[u8], count: usize, at: u64) -> Result<Vec<JpegComponent>> {
        let rows = content.as_chunks::<3>().0;
        if rows.len() < count {
            return Err(fault(&self.file, at, "the frame header is too short"));
        }
        let mut components: Vec<JpegComponent> = Vec::with_capacity(MAX_COMPONENTS);
        for &[id, factors, table] in &rows[..count] {
            let across = usize::from(factors >> 4);
            let down = usize::from(factors & 15);
            if !(1..=4).contains(&across) || !(1..=4).contains(&down) {
                let message = format!("invalid sampling factors {across} x {down}; expected 1 to 4");
                return Err(fault(&self.file, at, message));
            }
            if components.iter().any(|component| component.id == id) {
                return Err(fault(&self.file, at, format!("duplicate component number {id}")));
            }
            let table = usize::from(table);
            if table > 3 {
                return Err(fault(&self.file, at, format!("invalid quantization table {table}; expected 0 to 3")));
            }
            components.push(JpegComponent {
                id,
                across,
                down,
                table,
                quantization: None,
                width: 0,
                height: 0,
                blocks_across: 0,
                blocks_down: 0,
            });
        }
        Ok(components)
    }

    /// Parses a scan header whose marker is at `at`.
    pub(super) fn scan(&mut self, frame: &Frame, at: u64) -> Result<Scan> {
        let content = self.content()?;
        let broken = |message: &str| fault(&self.file, at, message);
        let too_short = || broken("the scan header is too short");
        let (count, rest) = content.split_first().ok_or_else(too_short)?;
        let count = usize::from(*count);
        if !(1..=frame.components.len()).contains(&count) {
            return Err(broken("the scan has no components, or more than the image"));
        }
        let (rows, rest) = rest.split_at_checked(2 * count).ok_or_else(too_short)?;
        let mut parts: Vec<ScanPart> = Vec::with_capacity(MAX_COMPONENTS);
        for &[id, tables] in rows.as_chunks().0 {
            let component = frame.components.iter().position(|component| component.id == id);
            let component = component.ok_or_else(|| broken("the scan refers to a component that does not exist"))?;
            if parts.iter().any(|part| part.component == component) {
                return Err(broken("the scan lists a component twice"));
            }
            let means = usize::from(tables >> 4);
            let details = usize::from(tables & 15);
            if means > 3 || details > 3 {
                return Err(broken("invalid Huffman table number in a scan; expected 0 to 3"));
            }
            parts.push(ScanPart { component, means, details });
        }
        let &[start, end, bits] = rest.first_chunk().ok_or_else(too_short)?;
        let band = if frame.is_progressive {
            let band =
                Band { start: start.into(), end: end.into(), high: u32::from(bits >> 4), low: u32::from(bits & 15) };
            // Al is at most 13 (T.81, table B.3).
            let is_whole = band.start <= band.end && band.end < 64 && band.low <= 13;
            // A scan has either DC coefficients, or AC coefficients of one component (T.81, G.1).
            let is_mean = band.start == 0 && band.end == 0 || band.start > 0 && count == 1;
            if !is_whole || !is_mean || band.high > 0 && band.high != band.low + 1 {
                return Err(broken("invalid spectral selection or successive approximation in a progressive scan"));
            }
            band
        } else {
            Band { start: 0, end: 63, high: 0, low: 0 }
        };
        let scan = Scan { parts, band };
        let blocks: usize = scan.parts.iter().map(|part| scan.blocks_of(frame, part).iter().product::<usize>()).sum();
        if blocks > MAX_UNIT_BLOCKS {
            return Err(broken("the scan has more than 10 blocks per MCU"));
        }
        Ok(scan)
    }
}

/// The current tables of a file; later segments may replace them.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) quantization: [Option<[u16; 64]>; 4],
    pub(super) means: [Option<JpegCodes>; 4],
    pub(super) details: [Option<JpegCodes>; 4],
    /// MCUs between restarts; 0 for no restarts.
    pub(super) interval: usize,
}

impl Tables {
    /// Parses a segment of quantization tables: per table, a byte with its precision and number, and 64 values.
    pub(super) fn add_quantization(&mut self, mut content: &[u8]) -> std::result::Result<(), &'static str> {
        const SHORT: &str = "a quantization table is too short";
        while let Some((&first, rest)) = content.split_first() {
            let values = match first >> 4 {
                0 => {
                    let (values, rest) = rest.split_first_chunk::<64>().ok_or(SHORT)?;
                    content = rest;
                    values.map(u16::from)
                }
                1 => {
                    let (values, rest) = rest.split_at_checked(128).ok_or(SHORT)?;
                    content = rest;
                    let mut wide = [0; 64];
                    for (wide, bytes) in wide.iter_mut().zip(values.as_chunks().0) {
                        *wide = u16::from_be_bytes(*bytes);
                    }
                    wide
                }
                _ => return Err("invalid quantization table precision; expected 0 or 1"),
            };
            let number = usize::from(first & 15);
            let table =
                self.quantization.get_mut(number).ok_or("invalid quantization table number; expected 0 to 3")?;
            let mut sorted = [0; 64];
            for (place, value) in ZIGZAG.iter().zip(values) {
                sorted[usize::from(*place)] = value;
            }
            *table = Some(sorted);
        }
        Ok(())
    }

    /// Parses a segment of Huffman tables: per table, a byte with its class and number, 16 counts, and the symbols.
    pub(super) fn add_huffman(&mut self, mut content: &[u8]) -> std::result::Result<(), &'static str> {
        const SHORT: &str = "a Huffman table is too short";
        while let Some((&first, rest)) = content.split_first() {
            let (counts, rest) = rest.split_first_chunk().ok_or(SHORT)?;
            let count: usize = counts.iter().map(|count| usize::from(*count)).sum();
            let (symbols, rest) = rest.split_at_checked(count).ok_or(SHORT)?;
            content = rest;
            // Class 0 is DC, class 1 AC.
            let tables = match first >> 4 {
                0 => &mut self.means,
                1 => &mut self.details,
                _ => return Err("invalid Huffman table class; expected 0 or 1"),
            };
            let table =
                tables.get_mut(usize::from(first & 15)).ok_or("invalid Huffman table number; expected 0 to 3")?;
            *table = Some(JpegCodes::new(counts, symbols).ok_or("a Huffman table has too many codes")?);
        }
        Ok(())
    }

    /// Parses the restart interval.
    pub(super) fn set_interval(&mut self, content: &[u8]) -> std::result::Result<(), &'static str> {
        let bytes = content.first_chunk().ok_or("the restart interval segment is too short")?;
        self.interval = usize::from(u16::from_be_bytes(*bytes));
        Ok(())
    }
}
