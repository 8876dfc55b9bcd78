//! Filters the chunks of a PNG file: drops the chunks of an animation and those not needed for pixels, so that the
//! decoder only sees the still image.
//!
//! The animation is validated here, chunk by chunk, so that damage to it causes a warning and does not lose the image.
//! Pixel data is passed through.

use crate::orient;
use flate2::Crc;
use polyhaul_model::error::{Diagnostic, Result};
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::reader::BlockReader;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

// Chunk layout (Third Edition, 5.3): length of the data (4, big-endian), type (4), data, CRC-32 of type and data (4).
/// Size of the signature.
const SIGNATURE_BYTES: u64 = 8;
/// Size of the length and the type of a chunk.
const HEAD_BYTES: usize = 8;
/// Size of the checksum of a chunk.
const SUM_BYTES: usize = 4;

/// Sizes of the animation control chunks: `acTL` has the numbers of frames and plays; `fcTL` a sequence number, size,
/// offset, delay and two operations.
const ACTL_BYTES: usize = 8;
const FCTL_BYTES: usize = 26;

/// Maximum size of EXIF data and of profiles; larger data is skipped, with a warning about a profile.
const MAX_KEPT_BYTES: usize = 4 << 20;

/// Maximum size of chunks about colors passed to the decoder.
const MAX_COLOR_BYTES: usize = 64;

/// Maximum number of damaged chunks to list.
const MAX_DAMAGED: usize = 100;

/// Bytes of a chunk examined at a time.
const STEP_BYTES: usize = 64 << 10;

/// The last chunk, for a file that ends within its animation.
const END: &[u8; 12] = b"\0\0\0\0IEND\xAE\x42\x60\x82";

/// State of validating the animation.
#[derive(Debug, Default)]
pub(super) struct Animation {
    /// Width and height of the image, once the header was read.
    size: Option<[u32; 2]>,
    /// Number of frames declared by `acTL`.
    declared: Option<u32>,
    /// Number of frames found (`fcTL`).
    frames: u64,
    /// Offset of the first frame other than the still image.
    first_dropped: Option<u64>,
    /// Whether the still image is a frame of the animation.
    has_still: bool,
    /// Whether the pixel data of the still image has started.
    has_pixels: bool,
    /// Whether animation chunks follow the pixel data of the still image.
    is_behind_pixels: bool,
    /// The expected sequence number.
    sequence: u32,
    /// The first fault and its offset.
    fault: Option<(u64, String)>,
    /// Other chunks not passed to the decoder.
    pub(super) others: OtherChunks,
}

/// Chunks that the decoder does not need: the contents of used chunks, and a list of damaged chunks.
#[derive(Debug, Default)]
pub(super) struct OtherChunks {
    /// EXIF data.
    exif: Option<Vec<u8>>,
    /// A profile: its name and compressed data.
    profile: Option<Vec<u8>>,
    /// Offset and type of the first chunks with a wrong checksum.
    damaged: Vec<(u64, [u8; 4])>,
    /// Number of further chunks with a wrong checksum.
    unlisted: u64,
}

impl OtherChunks {
    /// Returns the orientation in the EXIF data, or 1 if there is none.
    pub(super) fn orientation(&self) -> u16 {
        self.exif.as_deref().map_or(1, orient::of_exif)
    }

    /// Returns the decompressed profile, or `None` if it is damaged.
    pub(super) fn profile(&self) -> Option<Vec<u8>> {
        const MAX_NAME_BYTES: usize = 80;
        let data = self.profile.as_deref()?;
        let name = data.iter().take(MAX_NAME_BYTES).position(|byte| *byte == 0)?;
        let packed = data.get(name + 1..)?.strip_prefix(&[0])?;
        let mut plain = Vec::new();
        let limit = MAX_KEPT_BYTES as u64;
        flate2::bufread::ZlibDecoder::new(packed).take(limit).read_to_end(&mut plain).ok()?;
        // A profile that reaches the limit may be larger.
        (plain.len() < MAX_KEPT_BYTES).then_some(plain)
    }

    /// Returns whether there is a profile.
    pub(super) fn has_profile(&self) -> bool {
        self.profile.is_some()
    }

    /// Warns about damaged chunks.
    pub(super) fn note(&self, file: &Arc<str>, options: &ParseOptions, warnings: &mut Warnings) -> Result<()> {
        for (at, kind) in &self.damaged {
            let name = kind.escape_ascii();
            let message = format!("skipped the {name} chunk: its checksum does not match; the pixels are not affected");
            warnings.note(options.faults, "bad-checksum", Diagnostic::at(file, *at, message))?;
        }
        if self.unlisted > 0 {
            warnings.count("bad-checksum", self.unlisted);
        }
        Ok(())
    }
}

impl Animation {
    fn set_fault(&mut self, at: u64, message: impl Into<String>) {
        self.fault.get_or_insert_with(|| (at, message.into()));
    }

    /// Validates an animation chunk at offset `at` that declares `length` bytes and whose data starts with `data`.
    fn add(&mut self, at: u64, kind: [u8; 4], length: usize, data: &[u8; FCTL_BYTES]) {
        if fixed_bytes(kind).is_some_and(|fixed| fixed != length) || length < 4 {
            self.set_fault(at, format!("the {} chunk has an invalid length of {length} bytes", kind.escape_ascii()));
        }
        let word = |at: usize| u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]);
        if kind == *b"acTL" {
            if self.declared.is_some() || self.frames > 0 || self.has_pixels {
                self.set_fault(at, "the acTL chunk is misplaced");
            }
            self.declared = Some(word(0));
            return;
        }
        if word(0) != self.sequence {
            self.set_fault(at, format!("expected sequence number {}, found {}", self.sequence, word(0)));
        }
        self.sequence = word(0).wrapping_add(1);
        if kind == *b"fcTL" {
            self.add_frame(at, [word(4), word(8)], [word(12), word(16)]);
        } else if !self.has_pixels || self.frames == u64::from(self.has_still) {
            self.set_fault(at, "an fdAT chunk does not belong to a frame");
        }
    }

    fn add_frame(&mut self, at: u64, frame: [u32; 2], place: [u32; 2]) {
        self.frames += 1;
        let is_inside = |size: [u32; 2]| {
            (0..2).all(|side| frame[side] > 0 && u64::from(frame[side]) + u64::from(place[side]) <= size[side].into())
        };
        if !self.size.is_none_or(is_inside) {
            self.set_fault(at, format!("frame {} lies outside the image", self.frames));
        }
        // An `fcTL` before the pixels makes the still image a frame.
        if self.has_pixels || self.has_still {
            self.first_dropped.get_or_insert(at);
        } else {
            self.has_still = true;
        }
    }

    /// Warns about dropped frames and about faults.
    pub(super) fn note(&self, file: &Arc<str>, options: &ParseOptions, warnings: &mut Warnings) -> Result<()> {
        if let Some(at) = self.first_dropped {
            let dropped = self.frames - u64::from(self.has_still);
            let frames = counted(dropped, ["frame was", "frames were"]);
            let message = format!("only the still image of the animation was read; {frames} dropped");
            warnings.note_dropped(options.faults, "left-out-frames", dropped, Diagnostic::at(file, at, message))?;
        }
        let miscounted = match self.declared {
            Some(declared) if u64::from(declared) == self.frames => None,
            Some(declared) => Some(format!("expected a frame count of {declared}, found {}", self.frames)),
            None if self.frames > 0 || self.is_behind_pixels => Some("the acTL chunk is missing".into()),
            None => None,
        };
        if let Some((at, message)) = self.fault.clone().or(miscounted.map(|message| (0, message))) {
            let message = format!("the animation is damaged ({message}); the still image is not affected");
            warnings.note(options.faults, "broken-animation", Diagnostic::at(file, at, message))?;
        }
        Ok(())
    }
}

/// Returns the data size of a chunk type of fixed size.
fn fixed_bytes(kind: [u8; 4]) -> Option<usize> {
    match &kind {
        b"acTL" => Some(ACTL_BYTES),
        b"fcTL" => Some(FCTL_BYTES),
        _ => None,
    }
}

/// Reads a file without its animation.
pub(super) struct Still<'a> {
    reader: BlockReader<'a>,
    animation: &'a Mutex<Animation>,
    /// Bytes to pass on before the next chunk.
    left: u64,
    /// Bytes that replace the rest of the file.
    end: Option<&'static [u8]>,
}

impl<'a> Still<'a> {
    /// Filters the file that `reader` reads from its start.
    pub(super) fn new(reader: BlockReader<'a>, animation: &'a Mutex<Animation>) -> Still<'a> {
        Still { reader, animation, left: SIGNATURE_BYTES, end: None }
    }

    fn animation(&self) -> MutexGuard<'a, Animation> {
        self.animation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Skips chunks until the next one that the decoder needs.
    fn advance(&mut self) -> io::Result<()> {
        while self.left == 0 && self.end.is_none() {
            let at = self.reader.offset();
            let head = self.reader.peek(HEAD_BYTES)?;
            let available = head.len() as u64;
            let Some(&[a, b, c, d, kind @ ..]) = head.first_chunk::<HEAD_BYTES>() else {
                // At least 1, because this loop continues as long as there is nothing to pass on.
                self.stop(at, "unexpected end of file", available.max(1));
                return Ok(());
            };
            let length = u32::from_be_bytes([a, b, c, d]);
            if matches!(&kind, b"acTL" | b"fcTL" | b"fdAT") {
                self.skip(at, length as usize, kind)?;
            } else if length > i32::MAX as u32 || !kind.iter().all(u8::is_ascii_alphabetic) {
                self.stop(at, "a chunk has an invalid type or length", u64::MAX);
            } else if kind == *b"IEND" && self.reader.peek(HEAD_BYTES + SUM_BYTES)?.len() < HEAD_BYTES + SUM_BYTES {
                self.stop(at, "unexpected end of file", u64::MAX);
            } else if kind[0].is_ascii_lowercase() && kind != *b"tRNS" {
                // The first letter of an ancillary chunk is lowercase (5.4). The decoder needs `tRNS` for the pixels.
                self.describe(at, length as usize, kind)?;
            } else {
                self.pass_on(length, kind)?;
            }
        }
        Ok(())
    }

    /// Passes on an intact color chunk; skips any other ancillary chunk.
    fn describe(&mut self, at: u64, length: usize, kind: [u8; 4]) -> io::Result<()> {
        let is_color = matches!(&kind, b"gAMA" | b"cHRM" | b"sRGB" | b"cICP");
        if is_color && length <= MAX_COLOR_BYTES {
            let size = HEAD_BYTES + length + SUM_BYTES;
            let chunk = self.reader.peek(size)?;
            let mut sum = Crc::new();
            let end = HEAD_BYTES + length;
            sum.update(chunk.get(4..end).unwrap_or_default());
            let stored = chunk.get(end..).and_then(|rest| rest.first_chunk());
            if stored.is_none_or(|stored| u32::from_be_bytes(*stored) == sum.sum()) {
                return self.pass_on(length as u32, kind);
            }
        }
        let mut content = Vec::new();
        let is_kept = matches!(&kind, b"eXIf" | b"iCCP") && length <= MAX_KEPT_BYTES;
        let Some(is_sound) = self.skip_summed(length, kind, |bytes| {
            if is_kept && content.try_reserve(bytes.len()).is_ok() {
                content.extend_from_slice(bytes);
            }
        })?
        else {
            self.stop(at, "unexpected end of file", 1);
            return Ok(());
        };
        let others = &mut self.animation().others;
        match &kind {
            _ if !is_sound && others.damaged.len() < MAX_DAMAGED => others.damaged.push((at, kind)),
            _ if !is_sound => others.unlisted += 1,
            b"eXIf" if is_kept => others.exif = Some(content),
            // Empty, and thus not a profile, if it is too large.
            b"iCCP" => others.profile = Some(content),
            _ => {}
        }
        Ok(())
    }

    /// Skips a chunk, passing its data to `with`. Returns whether its checksum matches, or `None` if the file ends
    /// within the chunk.
    fn skip_summed(&mut self, length: usize, kind: [u8; 4], mut with: impl FnMut(&[u8])) -> io::Result<Option<bool>> {
        let mut sum = Crc::new();
        let mut checked = 0;
        sum.update(&kind);
        self.reader.pass(HEAD_BYTES);
        while checked < length {
            let bytes = self.reader.peek(STEP_BYTES.min(length - checked))?;
            if bytes.is_empty() {
                return Ok(None);
            }
            with(bytes);
            sum.update(bytes);
            let count = bytes.len();
            checked += count;
            self.reader.pass(count);
        }
        let stored = self.reader.peek(SUM_BYTES)?.first_chunk().map(|sum| u32::from_be_bytes(*sum));
        self.reader.pass(SUM_BYTES);
        Ok(stored.map(|stored| stored == sum.sum()))
    }

    fn pass_on(&mut self, length: u32, kind: [u8; 4]) -> io::Result<()> {
        self.left = u64::from(length) + (HEAD_BYTES + SUM_BYTES) as u64;
        let mut animation = self.animation();
        animation.has_pixels |= kind == *b"IDAT";
        if kind == *b"IHDR"
            && let Some(&[_, _, _, _, _, _, _, _, a, b, c, d, e, f, g, h]) =
                self.reader.peek(HEAD_BYTES + 8)?.first_chunk()
        {
            animation.size = Some([[a, b, c, d], [e, f, g, h]].map(u32::from_be_bytes));
        }
        Ok(())
    }

    /// On an error within an animation after the pixels, records it and ends the file for the decoder. Otherwise passes
    /// on `left` bytes, which the decoder will reject.
    fn stop(&mut self, at: u64, message: &str, left: u64) {
        let mut animation = self.animation();
        if animation.is_behind_pixels {
            animation.set_fault(at, message);
            self.end = Some(END);
        } else {
            self.left = left;
        }
    }

    /// Skips and validates a chunk of an animation.
    fn skip(&mut self, at: u64, declared: usize, kind: [u8; 4]) -> io::Result<()> {
        {
            let mut animation = self.animation();
            animation.is_behind_pixels |= animation.has_pixels;
        }
        let length = self.believed_length(declared, kind)?;
        let mut first = [0; FCTL_BYTES];
        let mut checked = 0;
        let is_sound = self.skip_summed(length, kind, |bytes| {
            first.iter_mut().skip(checked).zip(bytes).for_each(|(to, byte)| *to = *byte);
            checked += bytes.len();
        })?;
        let Some(is_sound) = is_sound else {
            self.stop(at, "unexpected end of file in a frame", 1);
            return Ok(());
        };
        let mut animation = self.animation();
        if !is_sound {
            animation
                .set_fault(at, format!("the checksum of the {} chunk does not match its data", kind.escape_ascii()));
        }
        animation.add(at, kind, declared, &first);
        Ok(())
    }

    /// Returns the length of a chunk's data: the declared length or, if the next chunk starts after the fixed length of
    /// the chunk type, that length.
    fn believed_length(&mut self, declared: usize, kind: [u8; 4]) -> io::Result<usize> {
        let Some(fixed) = fixed_bytes(kind).filter(|fixed| *fixed != declared) else { return Ok(declared) };
        let next = HEAD_BYTES + fixed + SUM_BYTES;
        let follows = self.reader.peek(next + HEAD_BYTES)?.get(next + 4..next + HEAD_BYTES);
        let is_chunk = follows.is_some_and(|kind| kind.iter().all(u8::is_ascii_alphabetic));
        Ok(if is_chunk { fixed } else { declared })
    }
}

impl BufRead for Still<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.advance()?;
        if let Some(end) = self.end {
            return Ok(end);
        }
        let bytes = self.reader.fill_buf()?;
        let count = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        Ok(&bytes[..count])
    }

    fn consume(&mut self, count: usize) {
        if let Some(end) = &mut self.end {
            *end = &end[count.min(end.len())..];
        } else {
            self.left -= self.left.min(count as u64);
            self.reader.consume(count);
        }
    }
}

impl Read for Still<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(out.len());
        out[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

/// Required by the decoder, which never seeks.
impl Seek for Still<'_> {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
