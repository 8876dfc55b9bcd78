//! Reads scans: the compressed data of some components, one MCU at a time, with restarts (T.81, B.1.1 and F.2).

use super::blocks::{self, Band, Block};
use super::frame::{Frame, MAX_UNIT_BLOCKS, Scan, ScanPart};
use super::huffman::{BitState, JpegBits, JpegCodes, JpegDamage};
use super::segments::{Segments, Tables};
use polyhaul_model::error::{Error, Result, fault};

/// Upper bound of the size of an MCU: 10 blocks of 64 codes of up to 31 bits, including the value, with every byte
/// stuffed.
const MAX_UNIT_BYTES: usize = 8192;

/// The coefficients of all blocks of a component, in row-major order.
pub(super) type Coefficients = Vec<Block>;

type JpegDamageResult = std::result::Result<(), JpegDamage>;

/// A component of a scan with its tables.
struct Decoded<'a> {
    part: ScanPart,
    blocks: [usize; 2],
    means: Option<&'a JpegCodes>,
    details: Option<&'a JpegCodes>,
}

/// State of reading a scan.
pub(super) struct ScanReader<'a, 'r> {
    segments: &'a mut Segments<'r>,
    scan: &'a Scan,
    parts: Vec<Decoded<'a>>,
    interval: usize,
    bits: BitState,
    /// The previous DC coefficient of each component.
    means: [i32; 4],
    /// Remaining blocks without AC coefficients in this band (EOBRUN).
    empty: u32,
    /// Number of MCUs read.
    done: usize,
}

/// A block of an MCU, and the index of its last nonzero coefficient.
#[derive(Clone, Copy)]
pub(super) struct UnitBlock {
    pub(super) block: Block,
    pub(super) last: usize,
}

impl<'a, 'r> ScanReader<'a, 'r> {
    pub(super) fn new(
        segments: &'a mut Segments<'r>,
        frame: &Frame,
        scan: &'a Scan,
        tables: &'a Tables,
    ) -> Result<ScanReader<'a, 'r>> {
        let band = scan.band;
        let mut parts = Vec::new();
        for part in &scan.parts {
            let means = tables.means[part.means].as_ref();
            let details = tables.details[part.details].as_ref();
            let needs_means = band.start == 0 && band.high == 0;
            let needs_details = band.end > 0;
            if needs_means && means.is_none() || needs_details && details.is_none() {
                return Err(segments.fault("the scan uses an undefined Huffman table"));
            }
            parts.push(Decoded {
                part: *part,
                blocks: scan.blocks_of(frame, part),
                means: means.filter(|_| needs_means),
                details,
            });
        }
        Ok(ScanReader {
            segments,
            scan,
            parts,
            interval: tables.interval,
            bits: BitState::default(),
            means: [0; 4],
            empty: 0,
            done: 0,
        })
    }

    /// Reads `count` MCUs by calling `read` for each.
    #[inline(always)]
    fn units(
        &mut self,
        count: usize,
        mut read: impl FnMut(&mut JpegBits<'_>, &[Decoded<'_>], &mut [i32; 4], &mut u32, usize) -> JpegDamageResult,
    ) -> Result<()> {
        let mut next = 0;
        while next < count {
            if self.interval > 0 && self.done > 0 && self.done.is_multiple_of(self.interval) {
                self.restart()?;
            }
            // MCUs up to the next restart.
            let rest = if self.interval == 0 { count } else { self.interval - self.done % self.interval };
            let end = count.min(next + rest);
            let data = self.segments.reader.ensure(MAX_UNIT_BYTES)?;
            let mut bits = JpegBits::new(data, self.bits);
            let start = next;
            let mut result = Ok(());
            // At least one MCU per pass, and more while a whole MCU is certainly buffered.
            while result.is_ok() && next < end && (next == start || bits.at() + MAX_UNIT_BYTES <= data.len()) {
                result = read(&mut bits, &self.parts, &mut self.means, &mut self.empty, next);
                // Bits past the end of the data are 0, so it suffices to check once per MCU.
                if bits.state().left() < 0 {
                    result = Err(JpegDamage::End);
                }
                next += 1;
            }
            self.bits = bits.state();
            let at = bits.at();
            self.segments.reader.pass(at);
            result.map_err(|damage| self.damaged(damage))?;
            self.done += next - start;
        }
        Ok(())
    }

    /// Reads MCUs of a sequential scan. Calls `write` with the component, the MCU, the column and row of the block in
    /// the MCU, and the block.
    pub(super) fn sequential(
        &mut self,
        count: usize,
        mut write: impl FnMut(usize, usize, [usize; 2], &UnitBlock),
    ) -> Result<()> {
        self.units(count, |bits, parts, last_means, _, unit| {
            for (part, mean) in parts.iter().zip(last_means) {
                let (means, details) = part.means.zip(part.details).ok_or(JpegDamage::Code)?;
                let [across, down] = part.blocks;
                for row in 0..down {
                    for column in 0..across {
                        let mut unit_block = UnitBlock { block: [0; 64], last: 0 };
                        unit_block.last = blocks::sequential(bits, means, details, mean, &mut unit_block.block)?;
                        write(part.part.component, unit, [column, row], &unit_block);
                    }
                }
            }
            Ok(())
        })
    }

    /// Reads an MCU row into the coefficients of all blocks.
    pub(super) fn row(&mut self, frame: &Frame, row: usize, coefficients: &mut [Coefficients]) -> Result<()> {
        let band = self.scan.band;
        let across = self.scan.units(frame).across;
        let is_sequential = !frame.is_progressive;
        self.units(across, |bits, parts, last_means, empty, unit| {
            for (part, mean) in parts.iter().zip(last_means) {
                let component = &frame.components[part.part.component];
                let coefficients = &mut coefficients[part.part.component];
                let [across, down] = part.blocks;
                for index in 0..across * down {
                    let place_x = unit * across + index % across;
                    let place_y = row * down + index / across;
                    let block = &mut coefficients[place_y * component.blocks_across + place_x];
                    read_block(bits, part, is_sequential, band, mean, empty, block)?;
                }
            }
            Ok(())
        })
    }

    /// Ends a restart interval: reads the restart marker and resets the predictions.
    fn restart(&mut self) -> Result<()> {
        // Restart markers count from 0 to 7, cyclically.
        let number = (self.done / self.interval - 1) % 8;
        let expected = 0xD0 + number as u8;
        let at = self.segments.reader.offset();
        let left_over = self.end_interval();
        let stray_before = self.segments.stray;
        let mark = self.segments.next()?;
        let found_stray = left_over || self.segments.stray != stray_before;
        if mark != expected {
            let message = match mark {
                0xD9 => "the image ends before its last pixels: the file is truncated or damaged".into(),
                _ => format!("expected restart marker {number}, found marker FF {mark:02X}: the pixels are damaged"),
            };
            return Err(fault(&self.segments.file, at, message));
        }
        if found_stray {
            return Err(fault(&self.segments.file, at, "unused data before a restart marker"));
        }
        self.means = [0; 4];
        self.empty = 0;
        Ok(())
    }

    /// Drops the unused bits. Returns whether they include whole bytes, not only the padding of the last byte.
    fn end_interval(&mut self) -> bool {
        let left = self.bits.left();
        self.bits = BitState::default();
        self.segments.pixels_end = self.segments.reader.offset();
        left >= 8
    }

    /// Ends the scan. Counts unused bytes as stray bytes.
    pub(super) fn finish(mut self) -> Result<()> {
        let at = self.segments.reader.offset();
        let left = (self.bits.left() / 8).max(0) as u64;
        self.end_interval();
        self.segments.add_stray(at - left.min(at), left);
        Ok(())
    }

    fn damaged(&self, damage: JpegDamage) -> Error {
        let at = self.segments.reader.offset();
        let unit = self.done;
        let message = match damage {
            JpegDamage::Code => format!("the compressed pixels are damaged: invalid code near block {unit}"),
            JpegDamage::Block => format!("the compressed pixels are damaged: invalid coefficients near block {unit}"),
            JpegDamage::End => "unexpected end of the compressed pixels: the file is truncated or damaged".into(),
        };
        fault(&self.segments.file, at, message)
    }
}

/// Reads the coefficients of a block that a scan contains.
#[inline(always)]
fn read_block(
    bits: &mut JpegBits<'_>,
    part: &Decoded<'_>,
    is_sequential: bool,
    band: Band,
    mean: &mut i32,
    empty: &mut u32,
    block: &mut Block,
) -> JpegDamageResult {
    match (part.means, part.details) {
        (Some(means), Some(details)) if is_sequential => {
            *block = [0; 64];
            blocks::sequential(bits, means, details, mean, block).map(|_| ())
        }
        (means, _) if band.start == 0 => blocks::progressive_mean(bits, means, band, mean, block),
        (_, Some(details)) if band.high == 0 => blocks::progressive_first(bits, details, band, empty, block),
        (_, Some(details)) => blocks::progressive_next(bits, details, band, empty, block),
        _ => Err(JpegDamage::Code),
    }
}

const _: () = assert!(MAX_UNIT_BLOCKS * 64 * 31 / 8 * 2 < MAX_UNIT_BYTES);
