//! The segments before the first scan of a JPEG file (ITU-T T.81, Annex B). The size is read before the decoder sees
//! the file, since the decoder allocates by it; and stray bytes are removed, which the decoder does not skip.
//!
//! A segment is FF, a mark, and for most marks a length of 2 bytes, big-endian, which counts itself. The frame (C0 to
//! CF, but C4, C8 and CC) has the bits of a sample (1), height and width (2 each), and the number of components (1).

use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault};
use polyhaul_model::pixels::check_size;
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::reader::BlockReader;
use std::sync::Arc;

/// Maximum bytes before the first scan.
const MAX_BYTES: u64 = 64 << 20;

/// Bytes of a frame before its components, its length included.
const FRAME_BYTES: usize = 8;

/// A file's declarations about its pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JpegFrame {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Samples of a stored pixel: 1, 3 or 4.
    pub(super) components: usize,
    pub(super) is_progressive: bool,
}

/// Reads up to the first scan, reports stray bytes, and removes them from the reader.
pub fn read(
    reader: &mut BlockReader<'_>,
    file: &Arc<str>,
    options: &ParseOptions,
    warnings: &mut Warnings,
) -> Result<JpegFrame> {
    let mut marks = JpegMarks { reader, file, stray: None };
    if marks.take()? != 0xFF || marks.take()? != 0xD8 {
        return Err(fault(file, 0, "not a JPEG file: it does not start with FF D8"));
    }
    marks.reader.squeeze(2);
    let mut frame = None;
    loop {
        let at = marks.reader.offset();
        let mark = marks.next()?;
        let mut segment_bytes = 2;
        match (mark, frame) {
            (kind @ 0xC0..=0xCF, None) if !matches!(kind, 0xC4 | 0xC8 | 0xCC) => {
                let (declared, bytes) = marks.frame(kind, at, options)?;
                frame = Some(declared);
                segment_bytes += bytes;
            }
            (0xD8, None) => {
                return Err(fault(file, at, "a second image starts before the first declares its size"));
            }
            (0xD9, None) => return Err(fault(file, at, "the image ends before it declares its size")),
            (0xDA, None) => return Err(fault(file, at, "the pixels start before the image declares its size")),
            // The decoder reports errors of these.
            (0xD8..=0xDA, Some(frame)) => {
                marks.reader.squeeze(segment_bytes);
                marks.note(options, warnings)?;
                return Ok(frame);
            }
            // Marks without a length.
            (0x01 | 0xD0..=0xD7, _) => {}
            _ => segment_bytes += marks.skip()?,
        }
        marks.reader.squeeze(segment_bytes);
    }
}

/// The marks of a file, in order.
struct JpegMarks<'a, 'r> {
    reader: &'a mut BlockReader<'r>,
    file: &'a Arc<str>,
    /// The offset of the first byte outside of segments, and the number of such bytes.
    stray: Option<(u64, u64)>,
}

impl JpegMarks<'_, '_> {
    fn bytes(&mut self, count: usize) -> Result<&[u8]> {
        let available = self.reader.ensure(count)?.len();
        if available < count {
            return Err(fault(
                self.file,
                self.reader.offset() + available as u64,
                "unexpected end of file in the header",
            ));
        }
        Ok(&self.reader.ensure(count)?[..count])
    }

    /// The next byte. Bytes before the pixels stay in memory for the decoder, so their number is limited.
    fn take(&mut self) -> Result<u8> {
        if self.reader.offset() > MAX_BYTES {
            let message = format!("found no pixels within the first {MAX_BYTES} bytes");
            return Err(fault(self.file, self.reader.offset(), message));
        }
        let byte = self.bytes(1)?[0];
        self.reader.pass(1);
        Ok(byte)
    }

    /// The next marker; everything before it is skipped. Bytes of FF may pad the space before a marker, all others are
    /// stray.
    fn next(&mut self) -> Result<u8> {
        let start = self.reader.offset();
        let mut stray = 0;
        let mut fill = 0;
        loop {
            match self.take()? {
                0xFF => fill += 1,
                mark if fill > 0 && mark != 0 => break self.add_stray(start, stray).map(|()| mark),
                _ => {
                    stray += fill + 1;
                    fill = 0;
                }
            }
        }
    }

    fn add_stray(&mut self, start: u64, count: u64) -> Result<()> {
        if count > 0 {
            let (first, before) = self.stray.unwrap_or((start, 0));
            self.stray = Some((first, before + count));
        }
        Ok(())
    }

    /// Notes the stray bytes.
    fn note(&self, options: &ParseOptions, warnings: &mut Warnings) -> Result<()> {
        let Some((at, count)) = self.stray else { return Ok(()) };
        let bytes = if count == 1 { "byte" } else { "bytes" };
        let message = format!("skipped {count} stray {bytes} between segments");
        warnings.note_many(options.faults, "stray-bytes", count, Diagnostic::at(self.file, at, message))
    }

    fn length(&mut self) -> Result<usize> {
        let at = self.reader.offset();
        match self.bytes(2)? {
            &[high, low] if high > 0 || low >= 2 => Ok(usize::from(u16::from_be_bytes([high, low]))),
            _ => Err(fault(self.file, at, "invalid segment length; expected at least 2")),
        }
    }

    /// Skips a segment; returns its size in bytes without its marker.
    fn skip(&mut self) -> Result<usize> {
        let length = self.length()?;
        self.bytes(length)?;
        self.reader.pass(length);
        Ok(length)
    }

    /// Reads a frame and skips it; returns its size in bytes without its marker.
    fn frame(&mut self, kind: u8, at: u64, options: &ParseOptions) -> Result<(JpegFrame, usize)> {
        let unsupported = |what: String| Diagnostic::at(self.file, at, what).into_error(ErrorKind::Unsupported);
        let how = match kind {
            0xC0..=0xC2 => None,
            0xC3 => Some("lossless"),
            0xC9..=0xCB => Some("arithmetic-coded"),
            _ => Some("hierarchical"),
        };
        if let Some(how) = how {
            return Err(unsupported(format!("{how} JPEG is not supported")));
        }
        if self.length()? < FRAME_BYTES {
            return Err(fault(self.file, at, "the frame header is too short"));
        }
        let &[_, _, bits, high, low, left, right, components] = self.bytes(FRAME_BYTES)? else {
            return Err(Error::new(ErrorKind::Internal, "fewer bytes than requested"));
        };
        let height = usize::from(u16::from_be_bytes([high, low]));
        let width = usize::from(u16::from_be_bytes([left, right]));
        let unsupported = |what: String| Diagnostic::at(self.file, at, what).into_error(ErrorKind::Unsupported);
        match (bits, components) {
            (8, 1 | 3 | 4) => {}
            (8, _) => return Err(unsupported(format!("images with {components} components are not supported"))),
            _ => return Err(unsupported(format!("{bits}-bit samples are not supported; expected 8 bits"))),
        }
        if height == 0 {
            return Err(unsupported(
                "images that declare their height after the pixels (DNL) are not supported".into(),
            ));
        }
        if width == 0 {
            return Err(fault(self.file, at, "the image is empty (its width is 0)"));
        }
        check_size([width, height], &options.limits, self.file, at)?;
        let frame = JpegFrame { width, height, components: usize::from(components), is_progressive: kind == 0xC2 };
        Ok((frame, self.skip()?))
    }
}
