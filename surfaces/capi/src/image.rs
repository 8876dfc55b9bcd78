//! Reading and writing images.

use crate::error::{free, guard, ph_status};
use crate::options::{self, ph_options};
use crate::raw::{self, Out, Record, handle, pointer, usage};
use crate::report::{ReportOut, ph_report};
use crate::source::{self, ph_input, ph_output};
use crate::table::{PH_SCALAR_F32, PH_SCALAR_U8, PH_SCALAR_U16, ph_scalar};
use polyhaul::model::{Array, Channels, ColorSpace, Image, Samples};
use polyhaul::{Error, Result};
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// Encoding of color samples: one of the `PH_COLOR_SPACE_` constants. Alpha is always linear.
pub type ph_color_space = u32;

/// sRGB.
pub const PH_COLOR_SPACE_SRGB: ph_color_space = 0;
/// Linear.
pub const PH_COLOR_SPACE_LINEAR: ph_color_space = 1;

/// An image. Free it with ph_image_free.
pub struct ph_image(Image);

/// Pixels, returned by ph_image_get or passed to ph_image_write.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_pixels {
    /// `sizeof(ph_pixels)`.
    pub struct_size: usize,
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// Samples from the top left, with interleaved channels. Aligned for their type.
    pub samples: *const c_void,
    /// Row stride in bytes. In ph_image_write, 0 means contiguous rows.
    pub row_bytes: usize,
    /// 1 for gray, 2 for gray and alpha, 3 for RGB, 4 for RGBA.
    pub channels: u32,
    /// PH_SCALAR_U8 (0 to 255), PH_SCALAR_U16 (0 to 65,535) or PH_SCALAR_F32 (1 is white).
    pub scalar: ph_scalar,
    /// Encoding of the colors.
    pub color_space: ph_color_space,
    /// Whether the colors are premultiplied by alpha.
    pub premultiplied: u32,
}

// SAFETY: `repr(C)`, `struct_size` first, then integers and pointers: any bytes are values.
unsafe impl Record for ph_pixels {
    const NAME: &'static str = "ph_pixels";
}

const CHANNELS: [Channels; 4] = [Channels::Gray, Channels::GrayAlpha, Channels::Rgb, Channels::Rgba];

/// Reads an image.
///
/// `options` and `report` may be null. Free the image with ph_image_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_image_read(
    input: *const ph_input,
    options: Option<&ph_options>,
    image: Option<&mut MaybeUninit<*mut ph_image>>,
    report: Option<&mut MaybeUninit<*mut ph_report>>,
) -> ph_status {
    guard(|| {
        let image = Out::new(image);
        let report = ReportOut::new(report);
        // SAFETY: `input` is null or valid by the header's rules until this call returns; the job ends before that.
        let (input, _held) = unsafe { source::input(input) }?;
        let image = image?;
        let report = report?;
        let options = options::for_reading(options);
        let loaded = polyhaul::Reader::new(input).options(&options).image()?;
        options::unless_cancelled(&options)?;
        image.give(ph_image(loaded.value));
        report.give(loaded.report);
        Ok(())
    })
}

/// Returns the pixels of an image, without copying them. They are contiguous, and valid until the image is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_image_get(image: Option<&ph_image>, pixels: *mut ph_pixels) -> ph_status {
    guard(|| {
        let ph_image(image) = handle(image, "the image")?;
        let (scalar, bytes, samples) = match &image.samples {
            Samples::U8(samples) => (PH_SCALAR_U8, 1, pointer(samples).cast()),
            Samples::U16(samples) => (PH_SCALAR_U16, 2, pointer(samples).cast()),
            Samples::F32(samples) => (PH_SCALAR_F32, 4, pointer(samples).cast()),
        };
        let lent = ph_pixels {
            struct_size: size_of::<ph_pixels>(),
            width: image.width,
            height: image.height,
            samples,
            row_bytes: image.width * image.channels.count() * bytes,
            channels: image.channels.count() as u32,
            scalar,
            color_space: match image.color_space {
                ColorSpace::Srgb => PH_COLOR_SPACE_SRGB,
                ColorSpace::Linear => PH_COLOR_SPACE_LINEAR,
            },
            premultiplied: image.premultiplied.into(),
        };
        // SAFETY: `pixels` is null, or points to `struct_size` writable bytes by the header's rules, as `put` requires.
        unsafe { raw::put(pixels, lent) }
    })
}

/// Writes an image. Contiguous rows are not copied.
///
/// `options` and `report` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_image_write(
    pixels: *const ph_pixels,
    output: *const ph_output,
    options: Option<&ph_options>,
    report: Option<&mut MaybeUninit<*mut ph_report>>,
) -> ph_status {
    guard(|| {
        let report = ReportOut::new(report)?;
        // SAFETY: `output` is null or valid by the header's rules until this call returns; the job ends before that.
        let (target, _held) = unsafe { source::output(output) }?;
        // SAFETY: as above.
        let named_format = unsafe { source::format_named(output) }?;
        let mut options = options::for_writing(options);
        options.format = options.format.or(named_format);
        // SAFETY: `pixels` is null or valid by the header's rules until this call returns, and so are its samples; the
        // image that borrows them is dropped before that.
        let image = unsafe { image(&raw::need(pixels)?) }?;
        report.give(polyhaul::Writer::new(target).options(&options).image(&image)?);
        Ok(())
    })
}

/// Frees an image and its pixels. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn ph_image_free(image: Option<Box<ph_image>>) {
    free(image);
}

/// Converts the caller's pixels.
///
/// # Safety
/// `given.samples` is valid for the rows that the other fields describe, for as long as the image exists.
unsafe fn image(given: &ph_pixels) -> Result<Image> {
    let channels = given.channels.checked_sub(1).and_then(|index| CHANNELS.get(index as usize).copied());
    let channels = channels.ok_or_else(|| usage(format!("cannot store pixels with {} channels", given.channels)))?;
    // SAFETY: `rows` has the same contract.
    let samples = unsafe {
        match given.scalar {
            PH_SCALAR_U8 => Samples::U8(rows(given, channels)?),
            PH_SCALAR_U16 => Samples::U16(rows(given, channels)?),
            PH_SCALAR_F32 => Samples::F32(rows(given, channels)?),
            other => return Err(usage(format!("{other} is not a sample type (PH_SCALAR_U8, U16 or F32)"))),
        }
    };
    let color_space = match given.color_space {
        PH_COLOR_SPACE_SRGB => ColorSpace::Srgb,
        PH_COLOR_SPACE_LINEAR => ColorSpace::Linear,
        other => return Err(usage(format!("{other} is not a color space (PH_COLOR_SPACE_)"))),
    };
    let premultiplied = given.premultiplied != 0;
    let width = given.width;
    let height = given.height;
    Ok(Image { width, height, channels, samples, color_space, premultiplied, ..Image::default() })
}

/// Borrows the samples of contiguous rows; copies other rows without their padding.
///
/// # Safety
/// As for [`image`].
unsafe fn rows<T: Copy + Send + Sync + 'static>(given: &ph_pixels, channels: Channels) -> Result<Array<T>> {
    let too_large = || usage("an image of this size does not fit into memory");
    let row = given.width.checked_mul(channels.count()).ok_or_else(too_large)?;
    let tight = row.checked_mul(size_of::<T>()).ok_or_else(too_large)?;
    let step = if given.row_bytes == 0 { tight } else { given.row_bytes };
    let count = row.checked_mul(given.height).ok_or_else(too_large)?;
    let samples = given.samples.cast::<T>();
    if step == tight || count == 0 {
        // SAFETY: without padding, the rows are `count` contiguous samples, valid as long as the image by this
        // function's contract.
        return unsafe { raw::array(samples, count, "samples", true) };
    }
    if step < tight || !step.is_multiple_of(align_of::<T>()) {
        let whole = align_of::<T>();
        return Err(usage(format!("row_bytes is {step}; expected at least {tight} and a multiple of {whole}")));
    }
    let step = step / size_of::<T>();
    let sample_count =
        step.checked_mul(given.height - 1).and_then(|rows| rows.checked_add(row)).ok_or_else(too_large)?;
    // SAFETY: the rows span `sample_count` samples, without padding after the last, valid by this function's contract.
    let samples_with_gaps = unsafe { raw::slice(samples, sample_count, "samples") }?;
    let mut copy = Vec::new();
    copy.try_reserve_exact(count).map_err(|_| Error::memory("the samples"))?;
    samples_with_gaps.chunks(step).for_each(|from| copy.extend_from_slice(&from[..row]));
    Ok(copy.into())
}
