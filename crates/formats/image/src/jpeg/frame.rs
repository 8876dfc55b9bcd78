//! The frame of a JPEG file: size, components and block order (T.81, A.1 and A.2).

use super::blocks::Band;

/// Maximum number of components.
pub(super) const MAX_COMPONENTS: usize = 4;

/// Maximum number of blocks in an MCU (T.81, B.2.3).
pub(super) const MAX_UNIT_BLOCKS: usize = 10;

/// The color model of the components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColorModel {
    Gray,
    Rgb,
    /// Luma and chroma (YCbCr).
    Ycc,
    /// Cyan, magenta, yellow and black inks.
    Cmyk,
    /// CMYK, with cyan, magenta and yellow converted like `Ycc`.
    Ycck,
}

/// A frame header.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) is_progressive: bool,
    pub(super) components: Vec<JpegComponent>,
    /// Maximum sampling factors over all components.
    pub(super) max_across: usize,
    pub(super) max_down: usize,
    pub(super) colors: ColorModel,
}

/// A component, which may be subsampled.
#[derive(Clone, Debug)]
pub(super) struct JpegComponent {
    pub(super) id: u8,
    /// Sampling factors: blocks per MCU in each direction.
    pub(super) across: usize,
    pub(super) down: usize,
    /// Number of the quantization table.
    pub(super) table: usize,
    /// The quantization table as of the component's first scan, in row-major order.
    pub(super) quantization: Option<[u16; 64]>,
    /// Samples per row and per column.
    pub(super) width: usize,
    pub(super) height: usize,
    /// Blocks per row and per column, including padding to whole MCUs.
    pub(super) blocks_across: usize,
    pub(super) blocks_down: usize,
}

impl Frame {
    /// Computes the sizes of the components from their sampling factors.
    pub(super) fn new(size: [usize; 2], is_progressive: bool, mut components: Vec<JpegComponent>) -> Frame {
        let [width, height] = size;
        if let [only] = &mut components[..] {
            // A single component is not interleaved: its blocks are in raster order (T.81, A.2.2).
            only.across = 1;
            only.down = 1;
        }
        let max_across = components.iter().map(|component| component.across).max().unwrap_or(1);
        let max_down = components.iter().map(|component| component.down).max().unwrap_or(1);
        let units_across = width.div_ceil(8 * max_across);
        let units_down = height.div_ceil(8 * max_down);
        for component in &mut components {
            component.width = (width * component.across).div_ceil(max_across);
            component.height = (height * component.down).div_ceil(max_down);
            component.blocks_across = units_across * component.across;
            component.blocks_down = units_down * component.down;
        }
        Frame { width, height, is_progressive, components, max_across, max_down, colors: ColorModel::Gray }
    }

    /// MCUs per row.
    pub(super) fn units_across(&self) -> usize {
        self.width.div_ceil(8 * self.max_across)
    }

    /// MCUs per column.
    pub(super) fn units_down(&self) -> usize {
        self.height.div_ceil(8 * self.max_down)
    }

    /// Bytes per pixel of the image.
    pub(super) fn pixel_bytes(&self) -> usize {
        // All color models except gray are converted to RGB.
        if self.components.len() == 1 { 1 } else { 3 }
    }

    pub(super) fn sample_count(&self) -> usize {
        self.width * self.height * self.pixel_bytes()
    }
}

/// A scan header: its components with their Huffman table numbers, and the range of coefficients.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    pub(super) parts: Vec<ScanPart>,
    pub(super) band: Band,
}

/// A component of a scan.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScanPart {
    /// Index of the component in the frame.
    pub(super) component: usize,
    /// Numbers of the Huffman tables for DC and AC coefficients.
    pub(super) means: usize,
    pub(super) details: usize,
}

/// The number of MCUs in a scan, per row and per column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    pub(super) across: usize,
    pub(super) down: usize,
}

impl Scan {
    /// Returns the number of MCUs of a scan, per row and per column. If the scan has one component, an MCU is a single
    /// block; otherwise, it has the blocks of all components that cover the same pixels.
    pub(super) fn units(&self, frame: &Frame) -> Units {
        match &self.parts[..] {
            [part] => {
                let component = &frame.components[part.component];
                Units { across: component.width.div_ceil(8), down: component.height.div_ceil(8) }
            }
            _ => Units { across: frame.units_across(), down: frame.units_down() },
        }
    }

    /// Returns the number of blocks of a component in an MCU, per row and per column.
    pub(super) fn blocks_of(&self, frame: &Frame, part: &ScanPart) -> [usize; 2] {
        let component = &frame.components[part.component];
        if self.parts.len() == 1 { [1, 1] } else { [component.across, component.down] }
    }
}
