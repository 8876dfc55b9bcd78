//! Parses lists of points, in double precision if 32-bit floats would lose precision that matters.
//!
//! Each list is decided on its own: its floats are parsed first, then its doubles if the losses or the options require
//! them. Numbers parsed in advance have no doubles; if they lose precision, the text of the piece is parsed again. The
//! rules are in [`polyhaul_model::precision`].

use super::event::PointLoss;
use super::lexer::{PbrtParse, TokenMark};
use super::parse::ParsePiece;
use polyhaul_model::error::try_push;
use polyhaul_model::render::ExactValues;
use polyhaul_model::{Bounds, Precision};
use polyhaul_text::parse::positions::DigitLoss;

impl ParsePiece<'_, '_> {
    /// Parses the points of the list that `bracket` opens. Returns the index of the first float, and the number of
    /// floats.
    pub(super) fn points(&mut self, bracket: TokenMark) -> PbrtParse<(u32, u32)> {
        let precision = self.options.precision.precision;
        let first = self.parsed.floats.len();
        let start = self.lexer.bookmark();
        let mut digits = DigitLoss { counts_all: precision == Precision::Single, ..DigitLoss::default() };
        self.list(bracket, |lexer, parsed| lexer.coordinates(&mut parsed.floats, &mut digits))?;
        let floats = &self.parsed.floats[first..];
        let list_start = first as u32;
        let count = floats.len() as u32;
        let bounds = if digits.long > 0 { Bounds::of(floats.as_chunks().0) } else { None };
        let is_needed = digits.short > 0 || bounds.is_some_and(|bounds| bounds.is_coarse());
        if precision == Precision::Single || precision == Precision::Auto && !is_needed {
            self.parsed.rounding.extend(PointLoss { digits, bounds });
        } else if self.lexer.return_to(start) {
            let doubles = self.parsed.doubles.len() as u32;
            self.list(bracket, |lexer, parsed| lexer.exact(&mut parsed.doubles))?;
            let exact = ExactValues { floats: list_start, doubles };
            try_push(&mut self.parsed.exact, exact, "values")?;
        }
        Ok((list_start, count))
    }
}
