//! Reads free-form curves: the B-spline statements `cstype`, `deg`, `curv`, `parm` and `end`.
//!
//! Other kinds of curves and all surfaces are reported and skipped.

use super::ordered::OrderedStatement;
use super::parsed::EventKind;
use polyhaul_model::error::{Diagnostic, ErrorKind, Result, elements_hint, try_push};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Counts, Curve};
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_text::parse::number;

/// The curves so far, and the curve being defined.
#[derive(Default)]
pub(super) struct CurveBuilder {
    curves: Vec<Curve>,
    kind: ObjCurvesKind,
    degree: u32,
    rational: bool,
    /// Counts where the curve's part of the file starts: at its `cstype`, or at the end of the previous curve.
    begun: Counts,
    /// Whether the open body is skipped.
    skipping: bool,
    open: Option<Curve>,
    /// Message to report if the open curve has no `end`.
    never_ended: Option<Diagnostic>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ObjCurvesKind {
    #[default]
    Unset,
    BSpline,
    Other,
}

/// If parsing fails, the error is the expected syntax.
type ObjCurvesParse = std::result::Result<(), &'static str>;

impl CurveBuilder {
    pub(super) fn len(&self) -> u32 {
        self.curves.len() as u32
    }

    pub(super) fn finish(self, options: &ParseOptions, warnings: &mut Warnings) -> Result<Vec<Curve>> {
        if let Some(what) = self.never_ended {
            warnings.broken(options.faults, "malformed", what)?;
        }
        Ok(self.curves)
    }

    pub(super) fn statement(&mut self, statement: &mut OrderedStatement<'_, '_>) -> Result<()> {
        let mut words = statement.name.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty());
        match statement.event.kind {
            EventKind::CurveType => {
                self.begun = statement.at;
                self.rational = words.clone().next() == Some(b"rat");
                self.kind =
                    if words.next_back() == Some(b"bspline") { ObjCurvesKind::BSpline } else { ObjCurvesKind::Other };
                self.skipping = self.kind == ObjCurvesKind::Other;
                if self.skipping {
                    statement.note("unsupported-statement", "only B-spline curves are supported; curve skipped")?;
                }
                return Ok(());
            }
            EventKind::CurveEnd => return self.end(statement),
            _ if self.skipping => return Ok(()),
            _ => {}
        }
        let outcome = match statement.event.kind {
            EventKind::Degree => self.degree(words.next()),
            EventKind::CurveBody => self.body(statement, words)?,
            EventKind::Knots => self.knots(words)?,
            _ => Ok(()),
        };
        match outcome {
            Ok(()) => Ok(()),
            Err(expected) => {
                self.skipping = true;
                statement.broken("invalid curve statement", Some(expected))
            }
        }
    }

    fn degree(&mut self, word: Option<&[u8]>) -> ObjCurvesParse {
        let degree = word.and_then(|word| number::u64(word).ok()).and_then(|n| u32::try_from(n).ok());
        self.degree = degree.filter(|&n| n > 0).ok_or("a degree of 1 or more")?;
        Ok(())
    }

    fn body<'w>(
        &mut self,
        statement: &mut OrderedStatement<'_, '_>,
        mut words: impl Iterator<Item = &'w [u8]>,
    ) -> Result<ObjCurvesParse> {
        if self.kind == ObjCurvesKind::Unset || self.degree == 0 {
            return Ok(Err("`cstype` and `deg` before `curv`"));
        }
        if self.open.is_some() {
            return Ok(Err("`end` before the next `curv`"));
        }
        let mut bound = || words.next().and_then(number::f32);
        let [Some(first), Some(last)] = [bound(), bound()] else {
            return Ok(Err("u0 u1, then the indices of control points"));
        };
        let mut curve = Curve {
            degree: self.degree,
            rational: self.rational,
            range: [first, last],
            at: self.begun,
            ..Curve::default()
        };
        let count = i64::from(statement.at.positions);
        for word in words {
            let index = match number::i64(word) {
                Ok(index @ 1..) if index <= count => index - 1,
                Ok(index) if index < 0 && count + index >= 0 => count + index,
                _ => return Ok(Err("indices of positions defined before it")),
            };
            try_push(&mut curve.control_points, index as u32, "a curve")?;
        }
        self.open = Some(curve);
        self.never_ended = Some(statement.diagnostic("curve without `end`", Some("`end` after it")));
        Ok(Ok(()))
    }

    fn knots<'w>(&mut self, mut words: impl Iterator<Item = &'w [u8]>) -> Result<ObjCurvesParse> {
        let Some(curve) = &mut self.open else { return Ok(Err("`curv` before `parm`")) };
        if words.next() != Some(b"u") {
            return Ok(Err("u, then the knots"));
        }
        for word in words {
            let Some(knot) = number::f32(word) else { return Ok(Err("numbers")) };
            try_push(&mut curve.knots, knot, "a curve")?;
        }
        Ok(Ok(()))
    }

    fn end(&mut self, statement: &mut OrderedStatement<'_, '_>) -> Result<()> {
        self.never_ended = None;
        let begun = std::mem::replace(&mut self.begun, statement.at);
        let was_skipped = std::mem::replace(&mut self.skipping, false);
        match self.open.take() {
            _ if was_skipped => Ok(()),
            Some(_) if u64::from(self.len()) >= statement.limits().elements => {
                let limit = statement.limits().elements;
                let what = statement.diagnostic(format!("more curves than the limit `elements` ({limit})"), None);
                Err(Diagnostic { hint: elements_hint(limit), ..what }.into_error(ErrorKind::Limit))
            }
            Some(curve) => {
                try_push(&mut self.curves, Curve { at: begun, ..curve }, "a curve")?;
                self.begun.curves = self.len();
                Ok(())
            }
            None => statement.broken("`end` without a curve", Some("`cstype`, `deg` and `curv` before it")),
        }
    }
}
