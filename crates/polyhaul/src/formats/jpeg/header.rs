//! The size of a JPEG file, which is looked for before the decoder sees the file: it takes memory for what it reads.

use crate::error::{Diagnostic, Error, ErrorKind, Result, fault};
use crate::formats::raster::check_size;
use crate::options::Limits;
use crate::pipeline::reader::BlockReader;
use std::sync::Arc;

/// The most bytes before the size.
const MOST_BYTES: u64 = 64 << 20;

/// Bytes of a frame before its components, with the length.
const FRAME_BYTES: usize = 8;

/// What a file says about its pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Samples of a stored pixel: 1, 3 or 4.
    pub(super) components: usize,
    pub(super) is_progressive: bool,
}

/// Reads up to the frame, and behind it.
pub(super) fn read(reader: &mut BlockReader<'_>, file: &Arc<str>, limits: &Limits) -> Result<Frame> {
    let mut marks = Marks { reader, file };
    if marks.take()? != 0xFF || marks.take()? != 0xD8 {
        return Err(fault(file, 0, "this is no JPEG file: it does not begin with FF D8"));
    }
    loop {
        let at = marks.reader.offset();
        match marks.next()? {
            kind @ 0xC0..=0xCF if !matches!(kind, 0xC4 | 0xC8 | 0xCC) => return marks.frame(kind, at, limits),
            0xD8 => return Err(fault(file, at, "a second image begins before the first one has a size")),
            0xD9 => return Err(fault(file, at, "the image ends before it has a size")),
            0xDA => return Err(fault(file, at, "the pixels begin before the image has a size")),
            // Marks without a length.
            0x01 | 0xD0..=0xD7 => {}
            _ => marks.skip()?,
        }
    }
}

/// The marks of a file, one after another.
struct Marks<'a, 'r> {
    reader: &'a mut BlockReader<'r>,
    file: &'a Arc<str>,
}

impl Marks<'_, '_> {
    fn bytes(&mut self, count: usize) -> Result<&[u8]> {
        let found = self.reader.ensure(count)?.len();
        if found < count {
            return Err(fault(self.file, self.reader.offset() + found as u64, "the file ends in its header"));
        }
        Ok(&self.reader.ensure(count)?[..count])
    }

    /// The next byte. All that is passed is kept for the decoder, so it must come to an end.
    fn take(&mut self) -> Result<u8> {
        if self.reader.offset() > MOST_BYTES {
            let message = format!("the file does not say its size within {MOST_BYTES} bytes");
            return Err(fault(self.file, self.reader.offset(), message));
        }
        let byte = self.bytes(1)?[0];
        self.reader.pass(1);
        Ok(byte)
    }

    /// The next mark; what stands before it is passed.
    fn next(&mut self) -> Result<u8> {
        while self.take()? != 0xFF {}
        loop {
            match self.take()? {
                0xFF => {}
                0 => while self.take()? != 0xFF {},
                mark => return Ok(mark),
            }
        }
    }

    fn length(&mut self) -> Result<usize> {
        let at = self.reader.offset();
        match self.bytes(2)? {
            &[high, low] if high > 0 || low >= 2 => Ok(usize::from(u16::from_be_bytes([high, low]))),
            _ => Err(fault(self.file, at, "a part of the header has a length below 2")),
        }
    }

    fn skip(&mut self) -> Result<()> {
        let length = self.length()?;
        self.bytes(length)?;
        self.reader.pass(length);
        Ok(())
    }

    fn frame(&mut self, kind: u8, at: u64, limits: &Limits) -> Result<Frame> {
        let unsupported = |what: String| Diagnostic::at(self.file, at, what).into_error(ErrorKind::Unsupported);
        let how = match kind {
            0xC0..=0xC2 => None,
            0xC3 => Some("without loss"),
            0xC9..=0xCB => Some("with arithmetic codes"),
            _ => Some("in a hierarchy"),
        };
        if let Some(how) = how {
            return Err(unsupported(format!("images that are stored {how} are not read")));
        }
        if self.length()? < FRAME_BYTES {
            return Err(fault(self.file, at, "the size of the image is cut"));
        }
        let &[_, _, bits, high, low, left, right, components] = self.bytes(FRAME_BYTES)? else {
            return Err(Error::new(ErrorKind::Internal, "so many bytes were asked for"));
        };
        let height = usize::from(u16::from_be_bytes([high, low]));
        let width = usize::from(u16::from_be_bytes([left, right]));
        let unsupported = |what: String| Diagnostic::at(self.file, at, what).into_error(ErrorKind::Unsupported);
        match (bits, components) {
            (8, 1 | 3 | 4) => {}
            (8, _) => return Err(unsupported(format!("images of {components} components are not read"))),
            _ => return Err(unsupported(format!("samples of {bits} bits are not read, only those of 8"))),
        }
        if height == 0 {
            return Err(unsupported("images whose height stands behind their pixels are not read".into()));
        }
        if width == 0 {
            return Err(fault(self.file, at, "an image of no width has no pixels"));
        }
        check_size([width, height], limits, self.file, at)?;
        Ok(Frame { width, height, components: usize::from(components), is_progressive: kind == 0xC2 })
    }
}
