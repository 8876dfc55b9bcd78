//! Decodes a JPEG file into an image.
//!
//! An image with one sequential scan is decoded one row of MCUs at a time. Other files are converted after all scans
//! have been read, which takes memory for all coefficients.

use super::blocks::Block;
use super::frame::{Frame, Scan};
use super::lines::{PixelLines, Strip};
use super::markers::Markers;
use super::scans::{Coefficients, ScanReader};
use super::segments::{Segments, Tables};
use super::transform::write_block;
use crate::{color, orient};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault, planted};
use polyhaul_model::pixels::{check_ratio, min_file_bytes};
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{Channels, ColorProfile, Image, Samples};
use polyhaul_pipeline::arrays::zeroed;
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::reader::{BlockReader, Decoding};
use polyhaul_text::cpu::Level;

/// Offset for errors about the size, when the offset of the frame is no longer known.
const SIZE_AT: u64 = 0;

/// Maximum number of pixels that a byte can encode: one bit per block of 8 x 8 pixels. Files that declare more are
/// truncated.
const MAX_PIXELS_PER_BYTE: usize = 8 * 64;

/// Maximum number of scans in a file. Each scan visits all pixels, however few bytes it has.
const MAX_SCANS: usize = 100;

/// Reads a file.
pub fn read(bytes: Bytes<'_>, options: &ParseOptions, orient: bool, warnings: &mut Warnings) -> Result<Image> {
    let decoding = Decoding::new(&bytes, &options.run);
    let segments = Segments { reader: decoding.reader(), file: bytes.name().into(), stray: None, pixels_end: 0 };
    let mut decoder = JpegDecoder {
        bytes: &bytes,
        segments,
        options,
        orient,
        warnings,
        tables: Tables::default(),
        markers: Markers::default(),
    };
    let result = decoder.decode();
    drop(decoder);
    if let Some(error) = decoding.failed() {
        return Err(error);
    }
    let image = result?;
    decoding.finish()?;
    Ok(image)
}

struct JpegDecoder<'a, 'r> {
    bytes: &'a Bytes<'a>,
    segments: Segments<'r>,
    options: &'a ParseOptions,
    /// Whether to apply the EXIF orientation.
    orient: bool,
    warnings: &'a mut Warnings,
    tables: Tables,
    markers: Markers,
}

/// The pixels decoded so far.
struct JpegPixels {
    samples: Vec<u8>,
    strips: Vec<Strip>,
    lines: PixelLines,
    /// Number of finished rows.
    rows: usize,
}

impl JpegDecoder<'_, '_> {
    fn decode(&mut self) -> Result<Image> {
        self.segments.start()?;
        let mut frame = self.frame()?;
        let mut whole: Option<JpegPixels> = None;
        let mut coefficients: Vec<Coefficients> = Vec::new();
        let mut scans = 0;
        loop {
            let at = self.segments.reader.offset();
            let mark = match self.segments.next() {
                Err(_) if scans > 0 && planted("jpg-end") => 0xD9,
                // All components were read, so only the end marker may be missing.
                Err(error) if scans > 0 && error.kind() == ErrorKind::Malformed && is_whole(&frame) => {
                    self.warnings.broken(self.options.faults, "truncated", error.diagnostic().clone())?;
                    0xD9
                }
                mark => mark?,
            };
            match mark {
                0xD9 => break,
                0xDA if whole.is_some() => {
                    return Err(fault(&self.segments.file, at, "unexpected scan after the last component"));
                }
                0xDA => {
                    let scan = self.scan(&mut frame, at, scans)?;
                    scans += 1;
                    // The header is complete, and no memory for pixels has been allocated yet.
                    if scans == 1 {
                        self.check_backed(&frame)?;
                    }
                    if !frame.is_progressive && scan.parts.len() == frame.components.len() {
                        whole = Some(self.stream(&frame, &scan)?);
                    } else {
                        self.collect(&frame, &scan, &mut coefficients)?;
                    }
                }
                mark => self.segment(mark, at, Some(&frame))?,
            }
        }
        self.note_stray()?;
        let pixels = match whole {
            Some(pixels) => pixels,
            None => self.assemble(&frame, &coefficients)?,
        };
        let channels = if frame.components.len() == 1 { Channels::Gray } else { Channels::Rgb };
        let samples = Samples::U8(pixels.samples.into());
        let mut image = Image { width: frame.width, height: frame.height, channels, samples, ..Image::default() };
        self.describe(&mut image)?;
        Ok(image)
    }

    /// Applies the contents of application segments to the image.
    fn describe(&mut self, image: &mut Image) -> Result<()> {
        let file = &self.segments.file;
        let faults = self.options.faults;
        let profile = ColorProfile { icc: self.markers.profile(), ..ColorProfile::default() };
        if self.markers.has_profile() && profile.icc.is_none() {
            color::note_lost("lacks parts", file, faults, self.warnings)?;
        }
        color::keep(image, profile, file, faults, self.warnings)?;
        orient::settle(image, self.markers.orientation, self.orient, file, faults, self.warnings)?;
        let others = self.markers.pictures.saturating_sub(1);
        let dropped = counted(others, ["image was", "images were"]);
        let message =
            format!("only the first of {} images in the file was read; {dropped} dropped", self.markers.pictures);
        let first = Diagnostic::at(file, self.segments.reader.offset(), message);
        self.warnings.note_dropped(faults, "left-out-frames", others, first)
    }

    /// Reads up to the frame header, inclusive.
    fn frame(&mut self) -> Result<Frame> {
        loop {
            let at = self.segments.reader.offset();
            match self.segments.next()? {
                // Frame headers (SOF), but not DHT, JPG and DAC.
                mark @ 0xC0..=0xCF if !matches!(mark, 0xC4 | 0xC8 | 0xCC) => {
                    return self.segments.frame(mark, at, self.options);
                }
                0xD8 => {
                    let message = "a second image starts before the frame header of the first";
                    return Err(fault(&self.segments.file, at, message));
                }
                0xD9 => return Err(fault(&self.segments.file, at, "the image ends before its frame header")),
                0xDA => {
                    let message = "the first scan precedes the frame header";
                    return Err(fault(&self.segments.file, at, message));
                }
                mark => self.segment(mark, at, None)?,
            }
        }
    }

    /// Reads any segment other than frames and scans.
    fn segment(&mut self, mark: u8, at: u64, frame: Option<&Frame>) -> Result<()> {
        let file = self.segments.file.clone();
        let broken = |message: &'static str| fault(&file, at, message);
        match mark {
            // Markers without a length.
            0x01 | 0xD0..=0xD7 => {}
            0xD8 => return Err(broken("a second image starts before the first ends")),
            0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF if frame.is_some() => {
                return Err(broken("the image has a second frame header"));
            }
            0xC4 => self.tables.add_huffman(&self.segments.content()?).map_err(broken)?,
            0xDB => self.tables.add_quantization(&self.segments.content()?).map_err(broken)?,
            0xDD => self.tables.set_interval(&self.segments.content()?).map_err(broken)?,
            0xCC => {
                let message = "arithmetic-coded JPEG is not supported";
                return Err(Diagnostic::at(&file, at, message).into_error(ErrorKind::Unsupported));
            }
            _ => {
                let content = self.segments.content()?;
                self.markers.add(mark, &content)?;
            }
        }
        Ok(())
    }

    /// Reads a scan header, and stores the current quantization tables of its components.
    fn scan(&mut self, frame: &mut Frame, at: u64, scans: usize) -> Result<Scan> {
        let file = self.segments.file.clone();
        let broken = |message: String| fault(&file, at, message);
        if scans == MAX_SCANS {
            return Err(broken(format!("the image has more than {MAX_SCANS} scans")));
        }
        if scans == 0 {
            // Not in the frame header, because segments that determine the color model may follow it.
            frame.colors = self.markers.colors(frame);
        }
        let scan = self.segments.scan(frame, at)?;
        for part in &scan.parts {
            let component = &mut frame.components[part.component];
            match component.quantization {
                Some(_) if !frame.is_progressive => {
                    return Err(broken("a component has a second scan in a sequential image".into()));
                }
                Some(_) => {}
                None if scan.band.start > 0 || scan.band.high > 0 => {
                    return Err(broken("the first scan of a component has no DC coefficients".into()));
                }
                None => {
                    let table = self.tables.quantization[component.table];
                    let missing = || broken(format!("quantization table {} is missing", component.table));
                    component.quantization = Some(table.ok_or_else(missing)?);
                }
            }
        }
        Ok(scan)
    }

    /// Warns about skipped bytes.
    fn note_stray(&mut self) -> Result<()> {
        let Some((at, count)) = self.segments.stray else { return Ok(()) };
        let bytes = counted(count, ["stray byte", "stray bytes"]);
        let message = format!("skipped {bytes} between segments");
        let first = Diagnostic::at(&self.segments.file, at, message);
        self.warnings.note_many(self.options.faults, "stray-bytes", count, first)
    }

    /// Fails if the file is too small for the pixels that it declares.
    fn check_backed(&mut self, frame: &Frame) -> Result<()> {
        let Frame { width, height, .. } = *frame;
        let file = &self.segments.file;
        let reader: &mut BlockReader<'_> = &mut self.segments.reader;
        let samples = frame.sample_count() as u64;
        let min_by_ratio = usize::try_from(min_file_bytes(samples, &self.options.limits)).unwrap_or(usize::MAX);
        let min_bytes = (width * height / MAX_PIXELS_PER_BYTE).max(min_by_ratio);
        let size = match self.bytes.len().filter(|_| self.bytes.is_backed()) {
            Some(size) => size,
            None => {
                let before = reader.offset();
                let rest = min_bytes.saturating_sub(usize::try_from(before).unwrap_or(usize::MAX));
                before + reader.ensure(rest)?.len() as u64
            }
        };
        if size < (width * height / MAX_PIXELS_PER_BYTE) as u64 {
            let message = format!("unexpected end of file: the header declares {width} x {height} pixels");
            return Err(fault(file, size, message));
        }
        check_ratio(samples, size, &self.options.limits, file, SIZE_AT)
    }

    /// Decodes an image with one scan.
    fn stream(&mut self, frame: &Frame, scan: &Scan) -> Result<JpegPixels> {
        let mut pixels = JpegPixels::new(frame)?;
        let mut reader = ScanReader::new(&mut self.segments, frame, scan, &self.tables)?;
        let units = scan.units(frame);
        let level = Level::best();
        for row in 0..units.down {
            let strips = &mut pixels.strips;
            reader.sequential(units.across, |component, unit, [x, y], decoded| {
                let strip = &mut strips[component];
                let component = &frame.components[component];
                let start = strip.start_of(8 * (row * component.down + y)) + 8 * (unit * component.across + x);
                if let Some(quantization) = &component.quantization {
                    let samples = &mut strip.samples[start..];
                    write_block(level, &decoded.block, decoded.last, quantization, samples, strip.stride);
                }
            })?;
            pixels.write_rows(frame, row);
        }
        reader.finish()?;
        Ok(pixels)
    }

    /// Reads a scan into the coefficients of all blocks.
    fn collect(&mut self, frame: &Frame, scan: &Scan, coefficients: &mut Vec<Coefficients>) -> Result<()> {
        if coefficients.is_empty() {
            for component in &frame.components {
                let count = component.blocks_across * component.blocks_down;
                let mut blocks: Vec<Block> = Vec::new();
                blocks.try_reserve_exact(count).map_err(|_| Error::memory("the coefficients of an image"))?;
                blocks.resize(count, [0; 64]);
                coefficients.push(blocks);
            }
        }
        let mut reader = ScanReader::new(&mut self.segments, frame, scan, &self.tables)?;
        for row in 0..scan.units(frame).down {
            reader.row(frame, row, coefficients)?;
        }
        reader.finish()
    }

    /// Converts the coefficients of all scans to pixels.
    fn assemble(&self, frame: &Frame, coefficients: &[Coefficients]) -> Result<JpegPixels> {
        if !is_whole(frame) {
            return Err(self.segments.fault("the image ends before its last component: the file is truncated"));
        }
        let mut pixels = JpegPixels::new(frame)?;
        let level = Level::best();
        for row in 0..frame.units_down() {
            for ((component, blocks), strip) in frame.components.iter().zip(coefficients).zip(&mut pixels.strips) {
                let Some(quantization) = &component.quantization else { continue };
                for y in row * component.down..(row + 1) * component.down {
                    let start = strip.start_of(8 * y);
                    let line = &blocks[y * component.blocks_across..][..component.blocks_across];
                    for (x, block) in line.iter().enumerate() {
                        // Any index above 0 selects the full transform.
                        let last = usize::from(block[1..].iter().any(|coefficient| *coefficient != 0));
                        let samples = &mut strip.samples[start + 8 * x..];
                        write_block(level, block, last, quantization, samples, strip.stride);
                    }
                }
            }
            pixels.write_rows(frame, row);
        }
        Ok(pixels)
    }
}

/// Returns whether every component has a scan.
fn is_whole(frame: &Frame) -> bool {
    frame.components.iter().all(|component| component.quantization.is_some())
}

impl JpegPixels {
    fn new(frame: &Frame) -> Result<JpegPixels> {
        let mut strips = Vec::new();
        for component in &frame.components {
            strips.push(Strip::new(8 * component.blocks_across, 8 * component.down)?);
        }
        let samples = zeroed(frame.sample_count(), "an image")?;
        Ok(JpegPixels { samples, strips, lines: PixelLines::new(frame)?, rows: 0 })
    }

    /// Converts the pixel rows that an MCU row completes. Its last pixel row may need the next MCU row for
    /// interpolation.
    fn write_rows(&mut self, frame: &Frame, row: usize) {
        let below = (row + 1) * 8 * frame.max_down;
        let end = if below >= frame.height { frame.height } else { below - usize::from(PixelLines::needs_next(frame)) };
        let row_bytes = frame.width * frame.pixel_bytes();
        for y in self.rows..end {
            self.lines.write(frame, &self.strips, y, &mut self.samples[y * row_bytes..][..row_bytes]);
        }
        self.rows = end;
    }
}
