//! Converts rows of component samples to rows of pixels: upsampling and color conversion.
//!
//! Where a component has half the resolution, a value is three quarters of the nearer sample and one quarter of the
//! farther sample. Nothing is interpolated across image edges, or at half the width if rows have only one or two
//! samples. Other ratios repeat samples. libjpeg does the same, so pixels are equal.

use super::frame::{ColorModel, Frame};
use polyhaul_model::error::Result;
use polyhaul_pipeline::arrays::zeroed;
use polyhaul_text::cpu::Level;

/// The samples of a component for two rows of MCUs, used as a ring buffer.
#[derive(Default)]
pub(super) struct Strip {
    pub(super) samples: Vec<u8>,
    /// Bytes per row.
    pub(super) stride: usize,
    /// Number of sample rows in both MCU rows.
    rows: usize,
}

impl Strip {
    pub(super) fn new(stride: usize, unit_rows: usize) -> Result<Strip> {
        // Two MCU rows, because pixels near the border of two MCU rows are interpolated from both.
        let rows = 2 * unit_rows;
        Ok(Strip { samples: zeroed(stride * rows, "a part of an image")?, stride, rows })
    }

    /// Returns the start of a row, counted from the top of the image.
    pub(super) fn start_of(&self, row: usize) -> usize {
        row % self.rows * self.stride
    }

    fn row(&self, row: usize, width: usize) -> &[u8] {
        &self.samples[self.start_of(row)..][..width]
    }
}

/// The upsampling mode of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sampling {
    /// One sample per pixel.
    Full,
    /// Half the width, interpolated.
    HalfWidth,
    /// Half the height, interpolated.
    HalfHeight,
    /// Half the width and height, interpolated.
    Half,
    /// Any other ratio, or too narrow to interpolate: repeats the sample at or before the pixel.
    Repeated,
}

/// The two rows of samples that a row of pixels is interpolated from.
struct SampleRows<'a> {
    /// The nearest sample row, and the sample row on the other side of the pixels.
    near: &'a [u8],
    far: &'a [u8],
    /// Whether `far` is above `near`.
    is_above: bool,
}

/// Converts rows, with reused memory.
pub(super) struct PixelLines {
    level: Level,
    /// An upsampled row per component.
    wide: Vec<Vec<u8>>,
    /// A row of vertical sums.
    sums: Vec<u16>,
}

impl PixelLines {
    pub(super) fn new(frame: &Frame) -> Result<PixelLines> {
        let mut wide = Vec::new();
        for _ in &frame.components {
            wide.push(zeroed(frame.width.next_multiple_of(2) + 2, "a row of an image")?);
        }
        Ok(PixelLines { level: Level::best(), wide, sums: zeroed(frame.width + 2, "a row of an image")? })
    }

    /// Returns whether a row of pixels may need the row of samples below it.
    pub(super) fn needs_next(frame: &Frame) -> bool {
        (0..frame.components.len())
            .any(|index| matches!(sampling_of(frame, index), Sampling::HalfHeight | Sampling::Half))
    }

    /// Converts row `y` of the image.
    pub(super) fn write(&mut self, frame: &Frame, strips: &[Strip], y: usize, pixels: &mut [u8]) {
        #[cfg(target_arch = "x86_64")]
        if self.level >= Level::Avx2 {
            // SAFETY: `Level::best()` chose the level, so the CPU has AVX2.
            return unsafe { write_avx2(self, frame, strips, y, pixels) };
        }
        write_row(self, frame, strips, y, pixels);
    }
}

/// Same as [`write_row`], compiled for AVX2.
///
/// # Safety
/// The CPU has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn write_avx2(lines: &mut PixelLines, frame: &Frame, strips: &[Strip], y: usize, pixels: &mut [u8]) {
    write_row(lines, frame, strips, y, pixels);
}

fn sampling_of(frame: &Frame, index: usize) -> Sampling {
    let component = &frame.components[index];
    let has_width = |times: usize| component.across * times == frame.max_across;
    let has_height = |times: usize| component.down * times == frame.max_down;
    // At half the width, libjpeg repeats samples if rows have only one or two.
    let is_wide = component.width > 2;
    match (has_width(1), has_width(2), has_height(1), has_height(2)) {
        (true, _, true, _) => Sampling::Full,
        (_, true, true, _) if is_wide => Sampling::HalfWidth,
        (true, _, _, true) => Sampling::HalfHeight,
        (_, true, _, true) if is_wide => Sampling::Half,
        _ => Sampling::Repeated,
    }
}

#[inline(always)]
fn write_row(lines: &mut PixelLines, frame: &Frame, strips: &[Strip], y: usize, pixels: &mut [u8]) {
    for (index, strip) in strips.iter().enumerate() {
        widen(frame, index, strip, y, &mut lines.sums, &mut lines.wide[index]);
    }
    let row = |index: usize| -> &[u8] {
        match sampling_of(frame, index) {
            Sampling::Full => strips[index].row(y, frame.width),
            _ => &lines.wide[index][..frame.width],
        }
    };
    match frame.colors {
        ColorModel::Gray => pixels.copy_from_slice(row(0)),
        ColorModel::Rgb => {
            for (((pixel, red), green), blue) in pixels.as_chunks_mut().0.iter_mut().zip(row(0)).zip(row(1)).zip(row(2))
            {
                *pixel = [*red, *green, *blue];
            }
        }
        ColorModel::Ycc => write_colors(row(0), row(1), row(2), pixels),
        ColorModel::Cmyk => write_inks(row(0), row(1), row(2), row(3), pixels),
        ColorModel::Ycck => {
            write_colors(row(0), row(1), row(2), pixels);
            for (pixel, black) in pixels.as_chunks_mut::<3>().0.iter_mut().zip(row(3)) {
                *pixel = pixel.map(|color| product(255 - color, *black));
            }
        }
    }
}

/// Upsamples a component.
#[inline(always)]
fn widen(frame: &Frame, index: usize, strip: &Strip, y: usize, sums: &mut [u16], wide: &mut [u8]) {
    let component = &frame.components[index];
    let sampling = sampling_of(frame, index);
    let near = y * component.down / frame.max_down;
    let last = component.height - 1;
    // Even rows lie above the center of their sample, so the farther sample is above them.
    let is_above = y.is_multiple_of(2);
    let far = if is_above { near.saturating_sub(1) } else { (near + 1).min(last) };
    let width = component.width;
    let row = SampleRows { near: strip.row(near, width), far: strip.row(far, width), is_above };
    match sampling {
        Sampling::Full => {}
        Sampling::HalfWidth => widen_row(row.near, wide),
        Sampling::HalfHeight => mix_rows(&row, wide),
        Sampling::Half => {
            let sums = &mut sums[..width];
            for ((sum, near), far) in sums.iter_mut().zip(row.near).zip(row.far) {
                *sum = 3 * u16::from(*near) + u16::from(*far);
            }
            widen_sums(sums, wide);
        }
        Sampling::Repeated => {
            for (x, sample) in wide[..frame.width].iter_mut().enumerate() {
                *sample = row.near[x * component.across / frame.max_across];
            }
        }
    }
}

/// Doubles the width of a row. The rounding biases alternate, as in libjpeg.
#[inline(always)]
fn widen_row(narrow: &[u8], wide: &mut [u8]) {
    let wide = wide.as_chunks_mut::<2>().0;
    let last = narrow.len() - 1;
    // A row has at least three samples here: `sampling_of` selects interpolation only for wider components.
    let inner = wide[1..last].iter_mut();
    let neighbors = narrow.iter().zip(&narrow[1..]).zip(&narrow[2..]);
    for (pair, ((left, middle), right)) in inner.zip(neighbors) {
        let middle = 3 * u16::from(*middle);
        *pair = [((middle + u16::from(*left) + 1) >> 2) as u8, ((middle + u16::from(*right) + 2) >> 2) as u8];
    }
    let first_right = (3 * u16::from(narrow[0]) + u16::from(narrow[1]) + 2) >> 2;
    wide[0] = [narrow[0], first_right as u8];
    let last_left = (3 * u16::from(narrow[last]) + u16::from(narrow[last - 1]) + 1) >> 2;
    wide[last] = [last_left as u8, narrow[last]];
}

/// Doubles the width of a row of values multiplied by 4. The rounding biases alternate, as in libjpeg.
#[inline(always)]
fn widen_sums(narrow: &[u16], wide: &mut [u8]) {
    let wide = wide.as_chunks_mut::<2>().0;
    let last = narrow.len() - 1;
    let inner = wide[1..last].iter_mut();
    let neighbors = narrow.iter().zip(&narrow[1..]).zip(&narrow[2..]);
    for (pair, ((left, middle), right)) in inner.zip(neighbors) {
        let middle = 3 * middle;
        *pair = [((middle + left + 8) >> 4) as u8, ((middle + right + 7) >> 4) as u8];
    }
    let first_right = (3 * narrow[0] + narrow[1] + 7) >> 4;
    wide[0] = [((4 * narrow[0] + 8) >> 4) as u8, first_right as u8];
    let last_left = (3 * narrow[last] + narrow[last - 1] + 8) >> 4;
    wide[last] = [last_left as u8, ((4 * narrow[last] + 7) >> 4) as u8];
}

/// Interpolates vertically. Ties are rounded down if the farther row is above, and up if it is below.
#[inline(always)]
fn mix_rows(row: &SampleRows<'_>, wide: &mut [u8]) {
    let half = if row.is_above { 1 } else { 2 };
    for ((sample, near), far) in wide.iter_mut().zip(row.near).zip(row.far) {
        *sample = ((3 * u16::from(*near) + u16::from(*far) + half) >> 2) as u8;
    }
}

/// Converts YCbCr to RGB (JFIF). Factors have 16 fractional bits.
#[inline(always)]
fn write_colors(luma: &[u8], blues: &[u8], reds: &[u8], pixels: &mut [u8]) {
    let pixels = pixels.as_chunks_mut::<3>().0;
    for (((pixel, luma), blue), red) in pixels.iter_mut().zip(luma).zip(blues).zip(reds) {
        let luma = (i32::from(*luma) << 16) + (1 << 15);
        let blue = i32::from(*blue) - 128;
        let red = i32::from(*red) - 128;
        // The factors are 1.402, 0.344136, 0.714136 and 1.772.
        let sums = [luma + 91_881 * red, luma - 22_554 * blue - 46_802 * red, luma + 116_130 * blue];
        *pixel = sums.map(|sum| (sum >> 16).clamp(0, 255) as u8);
    }
}

/// Returns the rounded product of two values from 0 to 255 that represent 0 to 1.
#[inline(always)]
fn product(first: u8, second: u8) -> u8 {
    // Divides by 255 with a shift: x / 255 is (x + x / 256) / 256, exact for these products.
    let product = u16::from(first) * u16::from(second) + 128;
    ((product + (product >> 8)) >> 8) as u8
}

/// Converts CMYK, which is stored inverted, to RGB.
#[inline(always)]
fn write_inks(cyan: &[u8], magenta: &[u8], yellow: &[u8], black: &[u8], pixels: &mut [u8]) {
    let pixels = pixels.as_chunks_mut::<3>().0;
    for ((((pixel, cyan), magenta), yellow), black) in pixels.iter_mut().zip(cyan).zip(magenta).zip(yellow).zip(black) {
        *pixel = [product(*cyan, *black), product(*magenta, *black), product(*yellow, *black)];
    }
}
