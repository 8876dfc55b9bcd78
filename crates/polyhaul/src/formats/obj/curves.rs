//! Free-form curves: the B-spline statements `cstype`, `deg`, `curv`, `parm` and `end`.
//!
//! Other kinds of curves and all surfaces are reported and left out.

use super::assemble::Statement;
use super::parsed::EventKind;
use crate::error::{Error, Result};
use crate::model::{Counts, Curve};
use crate::options::ReadOptions;
use crate::warnings::Warnings;
use polyhaul_text::parse::number;

/// Curves so far, and the one that is being defined.
#[derive(Default)]
pub(super) struct CurveBuilder {
    curves: Vec<Curve>,
    kind: Kind,
    degree: u32,
    rational: bool,
    begun: Option<Counts>,
    /// Whether the body that is open is left out.
    skipping: bool,
    open: Option<Curve>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Unset,
    BSpline,
    Other,
}

impl CurveBuilder {
    pub(super) fn len(&self) -> u32 {
        self.curves.len() as u32
    }

    pub(super) fn finish(self) -> Vec<Curve> {
        self.curves
    }

    pub(super) fn statement(
        &mut self,
        statement: &Statement<'_>,
        options: &ReadOptions,
        warnings: &mut Warnings,
    ) -> Result<()> {
        let mut words = statement.name.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty());
        match statement.event.kind {
            EventKind::CurveType => {
                self.begun = Some(statement.at);
                self.rational = statement.name.starts_with(b"rat ");
                self.kind = match words.next_back() {
                    Some(b"bspline") => Kind::BSpline,
                    _ => Kind::Other,
                };
                self.skipping = self.kind == Kind::Other;
                if self.skipping {
                    let what = statement.diagnostic("only B-spline curves are read; this form is left out", None);
                    warnings.note(options, "unsupported-statement", what)?;
                }
                return Ok(());
            }
            EventKind::CurveEnd => return self.end(statement, options, warnings),
            _ if self.skipping => return Ok(()),
            _ => {}
        }
        let done = match statement.event.kind {
            EventKind::Degree => self.degree(words.next()),
            EventKind::CurveBody => self.body(statement.at, words)?,
            EventKind::Knots => self.knots(words)?,
            _ => Ok(()),
        };
        match done {
            Ok(()) => Ok(()),
            Err(expected) => {
                self.skipping = true;
                let what = statement.diagnostic("this statement of a curve is malformed", Some(expected));
                warnings.broken(options, "malformed", what)
            }
        }
    }

    fn degree(&mut self, word: Option<&[u8]>) -> Parse {
        let degree = word.and_then(|word| number::u64(word).ok()).and_then(|n| u32::try_from(n).ok());
        self.degree = degree.filter(|&n| n > 0).ok_or("a degree of 1 or more")?;
        Ok(())
    }

    fn body<'a>(&mut self, at: Counts, mut words: impl Iterator<Item = &'a [u8]>) -> Result<Parse> {
        let mut bound = || words.next().and_then(number::f32);
        let (Some(first), Some(last)) = (bound(), bound()) else {
            return Ok(Err("u0 u1, then the indices of control points"));
        };
        let mut curve = Curve {
            degree: self.degree,
            rational: self.rational,
            range: [first, last],
            at: self.begun.unwrap_or(at),
            ..Curve::default()
        };
        let count = i64::from(at.positions);
        for word in words {
            let index = match number::i64(word) {
                Ok(index @ 1..) if index <= count => index - 1,
                Ok(index) if index < 0 && -index <= count => count + index,
                _ => return Ok(Err("indices of positions that were defined before")),
            };
            push(&mut curve.control_points, index as u32)?;
        }
        self.open = Some(curve);
        Ok(Ok(()))
    }

    fn knots<'a>(&mut self, mut words: impl Iterator<Item = &'a [u8]>) -> Result<Parse> {
        let Some(curve) = &mut self.open else { return Ok(Err("`curv` before `parm`")) };
        if words.next() != Some(b"u") {
            return Ok(Err("u, then the knots"));
        }
        for word in words {
            let Some(knot) = number::f32(word) else { return Ok(Err("numbers")) };
            push(&mut curve.knots, knot)?;
        }
        Ok(Ok(()))
    }

    fn end(&mut self, statement: &Statement<'_>, options: &ReadOptions, warnings: &mut Warnings) -> Result<()> {
        let curve = self.open.take();
        let was_skipped = std::mem::replace(&mut self.skipping, false);
        match curve {
            Some(curve) if !was_skipped => push(&mut self.curves, curve),
            _ if was_skipped => Ok(()),
            _ => {
                let what = statement.diagnostic("there is no curve to end", Some("`cstype`, `deg`, `curv` and `parm` before"));
                warnings.broken(options, "malformed", what)
            }
        }
    }
}

/// Done, or what was expected.
type Parse = std::result::Result<(), &'static str>;

fn push<T>(items: &mut Vec<T>, item: T) -> Result<()> {
    items.try_reserve(1).map_err(|_| Error::memory("a curve"))?;
    items.push(item);
    Ok(())
}
