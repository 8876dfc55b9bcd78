//! Decides whether the coordinates of a text file need double precision.
//!
//! A reader first converts coordinates to 32-bit floats and measures the rounding loss. Once the loss matters, it stops
//! with the error of [`needs_doubles`], and its caller reads the input again with doubles beside the floats. The result
//! depends only on the whole file: stopping early only saves time. For the rules, see [`polyhaul_model::precision`];
//! for the loss of single numbers, see [`polyhaul_text::parse::positions`].

use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result};
use polyhaul_model::limits::FaultPolicy;
use polyhaul_model::precision::MAX_MOVE;
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{Bounds, Precision};
use polyhaul_text::parse::positions::DigitLoss;
use std::fmt;
use std::io;
use std::sync::Arc;

/// Number of bytes of a text after which the first pass checks the bounding box so far.
const EARLY_BYTES: u64 = 1 << 20;

/// The cause of the error that stops the first pass. Callers of the reader never see it.
#[derive(Debug)]
struct NeedsDoubles;

impl fmt::Display for NeedsDoubles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this file must be read in double precision")
    }
}

impl std::error::Error for NeedsDoubles {}

/// One of at most two passes over a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrecisionPass {
    /// The requested precision.
    pub precision: Precision,
    /// Whether this is the second pass, which keeps doubles until it has decided whether they are needed.
    pub is_second: bool,
    /// The first pass may stop while it has read at most this many bytes: the whole input, or the buffered part of a
    /// pipe.
    pub restart_bytes: u64,
}

impl PrecisionPass {
    /// Returns whether coordinates are converted to doubles too.
    pub fn has_doubles(&self) -> bool {
        self.precision == Precision::Double || self.is_second
    }

    /// Creates a loss counter for a chunk.
    pub fn loss(&self) -> DigitLoss {
        DigitLoss { counts_all: self.counts_all(), ..DigitLoss::default() }
    }

    /// Returns whether all losses are counted, because the input may be read in single precision in spite of them.
    fn counts_all(&self) -> bool {
        !self.has_doubles() && (self.precision == Precision::Single || self.restart_bytes < u64::MAX)
    }

    /// Returns whether the first lossy short number ends the pass, so that later numbers do not matter.
    pub fn is_over_at_loss(&self) -> bool {
        self.precision == Precision::Auto && !self.is_second && self.restart_bytes == u64::MAX
    }

    fn may_stop(&self, end: u64) -> bool {
        self.precision == Precision::Auto && !self.is_second && end <= self.restart_bytes
    }
}

/// Creates the error that stops the first pass.
pub fn needs_doubles() -> Error {
    Error::new(ErrorKind::Internal, NeedsDoubles.to_string()).caused_by(io::Error::other(NeedsDoubles))
}

/// Returns whether an error means that the input must be read again, with doubles.
pub fn asks_for_doubles(error: &Error) -> bool {
    error.io_error().and_then(io::Error::get_ref).is_some_and(|cause| cause.is::<NeedsDoubles>())
}

/// Accumulates the losses of a text's coordinates, in order.
#[derive(Debug, Default)]
pub struct PrecisionWatch {
    loss: DigitLoss,
    /// The bounding box of the first positions.
    bounds: Option<Bounds>,
    is_early_over: bool,
    end: u64,
}

impl PrecisionWatch {
    /// Creates a watch with a known loss.
    pub fn of(loss: DigitLoss) -> PrecisionWatch {
        PrecisionWatch { loss, ..PrecisionWatch::default() }
    }

    /// Creates a watch with the loss of converting `positions` to floats.
    pub fn of_doubles(positions: &[[f64; 3]], pass: PrecisionPass) -> PrecisionWatch {
        let mut loss = pass.loss();
        let mut places = 0;
        for &value in positions.as_flattened() {
            loss.add_moved(value, (value - f64::from(value as f32)).abs(), &mut places);
        }
        PrecisionWatch::of(loss)
    }

    /// Adds the next chunk, which ends at offset `end` and whose positions have the box `bounds`.
    ///
    /// # Errors
    /// The error of [`needs_doubles`].
    pub fn place(
        &mut self,
        pass: PrecisionPass,
        loss: DigitLoss,
        bounds: impl FnOnce() -> Option<Bounds>,
        end: u64,
    ) -> Result<()> {
        self.loss.extend(loss);
        self.end = end;
        if !pass.may_stop(end) {
            return Ok(());
        }
        if self.loss.short > 0 {
            return Err(needs_doubles());
        }
        if !self.is_early_over {
            self.bounds = self.bounds.into_iter().chain(bounds()).reduce(Bounds::union);
            self.is_early_over = end >= EARLY_BYTES;
            if self.is_early_over && self.loss.long > 0 && self.bounds.is_some_and(|bounds| bounds.is_coarse()) {
                return Err(needs_doubles());
            }
        }
        Ok(())
    }

    /// Returns whether to keep the doubles of positions with the box `bounds`. Without doubles, warns about the
    /// rounding.
    ///
    /// # Errors
    /// The error of [`needs_doubles`]; in strict mode, an error for a loss.
    pub fn finish(
        self,
        pass: PrecisionPass,
        bounds: Option<Bounds>,
        faults: FaultPolicy,
        file: &Arc<str>,
        warnings: &mut Warnings,
    ) -> Result<bool> {
        let bounds = bounds.filter(|_| self.loss.long > 0);
        let is_coarse = bounds.is_some_and(|bounds| bounds.is_coarse());
        let is_needed = self.loss.short > 0 || is_coarse;
        if pass.has_doubles() {
            return Ok(is_needed || pass.precision == Precision::Double);
        }
        if is_needed && pass.may_stop(self.end) {
            return Err(needs_doubles());
        }
        self.warn(bounds, pass, faults, file, warnings)?;
        Ok(false)
    }

    /// Returns whether the decision needs the bounding box of all positions.
    pub fn wants_bounds(&self) -> bool {
        self.loss.long > 0
    }

    /// Warns about the rounding of positions with the box `bounds`.
    ///
    /// # Errors
    /// In strict mode, an error for a loss.
    pub fn warn(
        &self,
        bounds: Option<Bounds>,
        pass: PrecisionPass,
        faults: FaultPolicy,
        file: &Arc<str>,
        warnings: &mut Warnings,
    ) -> Result<()> {
        let place = Place { file: file.clone(), ..Place::default() };
        let is_cut = self.loss.short > 0 || bounds.is_some_and(|bounds| bounds.is_coarse());
        let remedy = match pass.precision {
            Precision::Auto if is_cut => "use `--precision double`, or read a file instead of a pipe",
            Precision::Single if is_cut => "use `--precision auto` or `--precision double`",
            _ => "use `--precision double`",
        };
        if self.loss.short > 0 {
            let message = rounded(self.loss.short, "up to", self.loss.largest);
            let hint = Some(remedy.into());
            let diagnostic = Diagnostic { place: place.clone(), hint, ..Diagnostic::new(message) };
            warnings.rounded(faults, true, self.loss.short, diagnostic)?;
        }
        let Some(bounds) = bounds else { return Ok(()) };
        let error = bounds.spacing() / 2.0;
        let message = rounded(self.loss.long, "at most", error);
        let diagnostic = Diagnostic { place, hint: Some(remedy.into()), ..Diagnostic::new(message) };
        let is_loss = error > MAX_MOVE * bounds.longest_side();
        warnings.rounded(faults, is_loss, self.loss.long, diagnostic)
    }
}

/// Returns the message that coordinates were rounded. `bound` is "up to" for the largest error, or "at most".
pub fn rounded(count: u64, bound: &str, error: f64) -> String {
    let what = counted(count, ["coordinate was", "coordinates were"]);
    if error.is_infinite() {
        return format!("{what} rounded to 32-bit floats; the largest became infinite");
    }
    format!("{what} rounded to 32-bit floats, by {bound} {}", shown(error))
}

/// Formats an error with three significant digits.
pub fn shown(error: f64) -> String {
    if error == 0.0 || (1e-4..1e6).contains(&error) {
        let places = (2 - error.max(1e-9).log10().floor() as i32).clamp(0, 7) as usize;
        return format!("{error:.places$}");
    }
    format!("{error:.2e}")
}
