//! Decodes PNG files row by row. `overlap` does the same for large valid files, faster.

use super::layout::{PngLayout, PngSample, Unmapped};
use super::overlap;
use super::still::{Animation, OtherChunks, Still};
use crate::raster::Raster;
use crate::{color, orient};
use png::{DecodeOptions, Decoder, DecodingError, Info, Limits, Reader};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault, limit_hint};
use polyhaul_model::pixels::{check_ratio, check_size, min_file_bytes};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{ColorProfile, ColorSpace, Image, Samples};
use polyhaul_pipeline::attempt::Attempt;
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::reader::{BlockReader, Decoding};
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, PoisonError};

/// Offset of the image size.
const SIZE_AT: u64 = 16;
/// Size of the file up to the bit depth and color type.
const KIND_END: usize = 26;
/// The gamma of linear light, times 100,000.
const LINEAR_GAMMA: u32 = 100_000;

/// Adam7 passes: first column, first row, column step, row step.
const PASSES: [[usize; 4]; 7] =
    [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]];

/// The reason for a failure.
pub(super) enum PngStop {
    Decoder(DecodingError),
    Other(Error),
    Malformed(&'static str),
}

impl From<DecodingError> for PngStop {
    fn from(error: DecodingError) -> PngStop {
        PngStop::Decoder(error)
    }
}

impl From<Error> for PngStop {
    fn from(error: Error) -> PngStop {
        PngStop::Other(error)
    }
}

impl From<Unmapped> for PngStop {
    fn from(_: Unmapped) -> PngStop {
        PngStop::Malformed("palette index out of range")
    }
}

/// Reads a file.
pub fn read(bytes: Bytes<'_>, options: &ParseOptions, orient: bool, warnings: &mut Warnings) -> Result<Image> {
    let file: Arc<str> = bytes.name().into();
    let decoding = Decoding::new(&bytes, &options.run);
    let input = PngInput { bytes: &bytes, file: &file, options };
    let mut reader = decoding.reader();
    let mut attempt = Attempt::Declined;
    if options.first_pixels.is_none() && overlap::is_worth_it(&input, &mut reader) {
        attempt = overlap::read(&input, reader);
        reader = decoding.reader();
    }
    let (mut image, animation) = match attempt {
        Attempt::Done(decoded) => decoded,
        Attempt::Declined => {
            let animation = Mutex::default();
            let result = input.decode(reader, &animation);
            if let Some(error) = decoding.failed() {
                return Err(error);
            }
            let image = result.map_err(|stop| input.error(stop, decoding.at()))?;
            (image, animation.into_inner().unwrap_or_else(PoisonError::into_inner))
        }
    };
    if options.first_pixels.is_none() {
        decoding.finish()?;
    }
    animation.note(&file, options, warnings)?;
    animation.others.note(&file, options, warnings)?;
    describe(&mut image, &animation.others, &file, options, warnings)?;
    let orientation = animation.others.orientation();
    orient::settle(&mut image, orientation, orient, &file, options.faults, warnings)?;
    Ok(image)
}

pub(super) struct PngInput<'a> {
    pub(super) bytes: &'a Bytes<'a>,
    pub(super) file: &'a Arc<str>,
    pub(super) options: &'a ParseOptions,
}

impl PngInput<'_> {
    /// Fails if the file is implausibly small for the image that its header declares.
    pub(super) fn check_backed(&self, reader: &mut BlockReader<'_>) -> Result<()> {
        let Some(&[.., a, b, c, d, e, f, g, h, bits, kind]) = reader.ensure(KIND_END)?.first_chunk::<KIND_END>() else {
            return Ok(());
        };
        let [width, height] = [[a, b, c, d], [e, f, g, h]].map(|side| u64::from(u32::from_be_bytes(side)));
        let channels = match kind {
            0 => 1,
            4 => 2,
            6 => 4,
            _ => 3,
        };
        let limits = &self.options.limits;
        // The first product cannot overflow, because both sides have 32 bits.
        let bytes = (width * height).saturating_mul(channels * if bits == 16 { 2 } else { 1 });
        let min_bytes = usize::try_from(min_file_bytes(bytes, limits)).unwrap_or(usize::MAX);
        // An image that exceeds the limit is rejected later, by its header.
        if width * height > limits.pixels || min_bytes == 0 {
            return Ok(());
        }
        let available = reader.ensure(min_bytes)?.len() as u64;
        check_ratio(bytes, available, limits, self.file, SIZE_AT)
    }

    pub(super) fn decode<'a>(
        &'a self,
        mut reader: BlockReader<'a>,
        animation: &'a Mutex<Animation>,
    ) -> std::result::Result<Image, PngStop> {
        self.check_backed(&mut reader)?;
        let mut decoder = Decoder::new_with_options(Still::new(reader, animation), decode_options());
        let bytes = usize::try_from(self.options.run.memory_limit).unwrap_or(usize::MAX);
        decoder.set_limits(Limits { bytes });
        let header = decoder.read_header_info()?;
        let (width, height) = header.size();
        let width = width as usize;
        // The first rows suffice for a preview, but an interlaced image does not store them together.
        let max_rows = self.options.first_pixels.filter(|_| !header.interlaced);
        let max_rows = max_rows.map_or(usize::MAX, |pixels| (pixels as usize / width.max(1)).max(1));
        let height = max_rows.min(height as usize);
        check_size([width, height], &self.options.limits, self.file, SIZE_AT)?;
        let reader = decoder.read_info()?;
        let info = reader.info();
        let layout = PngLayout::new(info)?;
        let color_space = color_space(info);
        let profile = profile(info);
        let channels = layout.channels;
        let rows = PngRowReader { input: self, reader, layout, width, height, row: Vec::new() };
        let samples =
            if rows.layout.is_wide() { Samples::U16(rows.read()?.into()) } else { Samples::U8(rows.read()?.into()) };
        Ok(Image { width, height, channels, samples, color_space, profile, ..Image::default() })
    }

    /// Converts a failure after `at` bytes into an error.
    fn error(&self, stop: PngStop, at: u64) -> Error {
        match stop {
            PngStop::Other(error) => error,
            PngStop::Malformed(message) => fault(self.file, at, message),
            PngStop::Decoder(DecodingError::IoError(_)) => fault(self.file, at, "unexpected end of file"),
            PngStop::Decoder(DecodingError::LimitsExceeded) => {
                let message = "a row or chunk needs more memory than the limit `memory_limit`";
                let error = Diagnostic::at(self.file, at, message).into_error(ErrorKind::Limit);
                error.with_hint(limit_hint("memory_limit"))
            }
            PngStop::Decoder(error) => {
                fault(self.file, at, format!("not a valid PNG: {}", described(&error.to_string())))
            }
        }
    }
}

/// Returns the message to show for an error message of the `png` crate.
fn described(words: &str) -> &'static str {
    let words = words.to_ascii_lowercase();
    let faults = [
        (&["crc error"][..], "the checksum of a chunk does not match its data"),
        (&["corrupt deflate"], "the compressed pixels are damaged"),
        (&["enough data for image"], "the pixels end before the last row"),
        (&["chunk is missing"], "the pixel data (IDAT) is missing"),
        (&["before ihdr"], "a chunk precedes the header (IHDR)"),
        (&["palette"], "the palette is missing or too short"),
        (&["transparency", "trns"], "the list of transparent colors (tRNS) is invalid"),
        (&["dimensions"], "invalid image size"),
        (&["color/depth", "bit depth", "color type"], "invalid color type or bit depth"),
        (&["compression method"], "unknown compression method"),
        (&["filter method"], "unknown filter type"),
        (&["interlace method"], "unknown interlace method"),
        (&["signature"], "invalid signature"),
        (&["length wrong"], "a chunk has an invalid length"),
        (&["critical chunk"], "unknown critical chunk"),
    ];
    let described = faults.iter().find(|(parts, _)| parts.iter().any(|part| words.contains(part)));
    described.map_or("a chunk is invalid, misplaced or repeated", |(_, message)| message)
}

/// Returns the options of the decoder: checksums are verified, unused chunks ignored.
pub(super) fn decode_options() -> DecodeOptions {
    let mut options = DecodeOptions::default();
    options.set_ignore_adler32(false);
    options.set_skip_ancillary_crc_failures(false);
    options.set_ignore_text_chunk(true);
    options.set_ignore_iccp_chunk(true);
    options
}

/// Adds the ICC profile (`iCCP`) to the color description. Code points take precedence over the profile, and the
/// profile over gamma and chromaticities.
fn describe(
    image: &mut Image,
    others: &OtherChunks,
    file: &Arc<str>,
    options: &ParseOptions,
    warnings: &mut Warnings,
) -> Result<()> {
    let mut profile = std::mem::take(&mut image.profile);
    let is_linear = profile.gamma.take_if(|gamma| *gamma == LINEAR_GAMMA).is_some();
    if let Some(icc) = others.profile() {
        profile.gamma = None;
        profile.chromaticities = None;
        if is_linear && color::is_srgb(&icc) {
            image.color_space = ColorSpace::Srgb;
        }
        profile.icc = Some(icc);
    } else if others.has_profile() {
        // Gamma and chromaticities, if there are any, describe the colors instead.
        color::note_lost("(iCCP) is damaged or too large", file, options.faults, warnings)?;
    }
    color::keep(image, profile, file, options.faults, warnings)
}

/// Returns the color description, if it is not sRGB. It includes a gamma of linear light, which [`describe`] removes.
pub(super) fn profile(info: &Info<'_>) -> ColorProfile {
    const SRGB_GAMMA: u32 = 45_455;
    const SRGB_COLORS: [u32; 8] = [31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000];
    const MAX_DIFFERENCE: u32 = 100;
    let mut profile = ColorProfile::default();
    if let Some(points) = &info.coding_independent_code_points {
        let numbers = [points.color_primaries, points.transfer_function, points.matrix_coefficients];
        // Primaries 1 are BT.709's, shared by sRGB; transfer 13 is sRGB, 8 linear (ITU-T H.273).
        if !matches!(numbers, [1, 8 | 13, 0]) || !points.is_video_full_range_image {
            let [primaries, transfer, matrix] = numbers;
            profile.code_points = Some([primaries, transfer, matrix, points.is_video_full_range_image.into()]);
        }
        return profile;
    }
    if info.srgb.is_some() {
        return profile;
    }
    let is_near = |value: u32, expected: u32| value.abs_diff(expected) <= MAX_DIFFERENCE;
    let gamma = info.gama_chunk.map(|gamma| gamma.into_scaled());
    profile.gamma = gamma.filter(|gamma| !is_near(*gamma, SRGB_GAMMA));
    profile.chromaticities = info.chrm_chunk.map(|colors| {
        let points = [colors.white, colors.red, colors.green, colors.blue];
        let numbers = points.map(|(x, y)| [x.into_scaled(), y.into_scaled()]);
        numbers.as_flattened().try_into().unwrap_or(SRGB_COLORS)
    });
    profile
        .chromaticities
        .take_if(|numbers| numbers.iter().zip(SRGB_COLORS).all(|(number, expected)| is_near(*number, expected)));
    profile
}

/// Returns the declared color space.
pub(super) fn color_space(info: &Info<'_>) -> ColorSpace {
    const LINEAR_TRANSFER: u8 = 8;
    let is_linear = match (&info.coding_independent_code_points, info.srgb, info.gama_chunk) {
        (Some(points), _, _) => points.transfer_function == LINEAR_TRANSFER,
        (None, None, Some(gamma)) => gamma.into_scaled() == LINEAR_GAMMA,
        _ => false,
    };
    if is_linear { ColorSpace::Linear } else { ColorSpace::Srgb }
}

/// Decodes the rows of a file.
struct PngRowReader<'a> {
    input: &'a PngInput<'a>,
    reader: Reader<Still<'a>>,
    layout: PngLayout,
    width: usize,
    height: usize,
    /// A stored row.
    row: Vec<u8>,
}

impl PngRowReader<'_> {
    /// Reads all samples, and the chunks after them.
    fn read<T: PngSample>(mut self) -> std::result::Result<Vec<T>, PngStop> {
        let row = self.width * self.layout.channels.count();
        let backed = self.input.bytes.len().filter(|_| self.input.bytes.is_backed());
        let raster: Raster<T> = Raster::new(row, self.height, false, backed.unwrap_or(0))?;
        let row_bytes = self.layout.row_bytes(self.width);
        // Rows in the model's layout are decoded directly into `pixels`.
        if !self.layout.is_plain() {
            self.row.try_reserve_exact(row_bytes).map_err(|_| Error::memory("a row"))?;
            self.row.resize(row_bytes, 0);
        }
        let mut pixels = Vec::new();
        pixels.try_reserve_exact(row).map_err(|_| Error::memory("a row"))?;
        if self.reader.info().interlaced {
            self.passes(&raster, &mut pixels)?
        } else {
            for number in 0..self.height {
                self.next(self.width, &mut pixels)?;
                raster.reserve(number + 1)?;
                // SAFETY: rows are decoded by this thread only.
                unsafe { raster.row(number, |to| copy(&pixels, to))? };
            }
        }
        if self.input.options.first_pixels.is_none() {
            self.reader.finish()?;
        }
        // SAFETY: every row was filled above: by `width` pixels each, or by the seven passes of Adam7, which together
        // cover each pixel once.
        Ok(unsafe { raster.finish(None) })
    }

    /// Decodes the next row of `width` pixels.
    fn next<T: PngSample>(&mut self, width: usize, pixels: &mut Vec<T>) -> std::result::Result<(), PngStop> {
        self.input.options.run.cancel.check()?;
        let row_bytes = self.layout.row_bytes(width);
        let cut = PngStop::Malformed("the file has fewer rows than its header declares");
        if self.layout.is_plain() {
            // `read_row` overwrites all bytes, so the previous row is not cleared.
            pixels.resize(row_bytes, T::default());
            let row = T::as_bytes(pixels).unwrap_or_default();
            return self.reader.read_row(row)?.map(drop).ok_or(cut);
        }
        let row = &mut self.row[..row_bytes];
        self.reader.read_row(row)?.ok_or(cut)?;
        pixels.clear();
        Ok(T::expand(&self.layout, row, width, pixels)?)
    }

    /// Decodes the passes of an interlaced image.
    fn passes<T: PngSample>(&mut self, raster: &Raster<T>, pixels: &mut Vec<T>) -> std::result::Result<(), PngStop> {
        let size = self.layout.channels.count();
        for [left, top, columns, rows] in PASSES {
            let width = self.width.saturating_sub(left).div_ceil(columns);
            // A pass without columns is not stored at all.
            let numbers = if width == 0 { 0..0 } else { top..self.height };
            for number in numbers.step_by(rows) {
                self.next(width, pixels)?;
                raster.reserve(number + 1)?;
                let scatter = |to: &mut [MaybeUninit<T>]| {
                    let places = to.chunks_exact_mut(size).skip(left).step_by(columns);
                    places.zip(pixels.chunks_exact(size)).for_each(|(to, pixel)| copy(pixel, to));
                };
                // SAFETY: rows are decoded by this thread only; the passes of a row are sequential.
                unsafe { raster.row(number, scatter)? };
            }
        }
        Ok(())
    }
}

pub(super) fn copy<T: Copy>(from: &[T], to: &mut [MaybeUninit<T>]) {
    to.iter_mut().zip(from).for_each(|(to, sample)| *to = MaybeUninit::new(*sample));
}
