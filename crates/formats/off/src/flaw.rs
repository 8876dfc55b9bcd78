//! Faults in OFF lines, and dropped values. They are found in parallel and reported in order.
//!
//! A flaw stores little more than its location in the chunk, because there may be many flaws. Only reported flaws are
//! formatted. `rows` finds flaws.

use super::header::OffHeader;
use polyhaul_model::error::{Diagnostic, ErrorKind, Result, elements_hint, try_push};
use polyhaul_model::limits::FaultPolicy;
use polyhaul_model::warnings::{KEPT, Warnings, counted};

/// A fault in a line, or a dropped value.
#[derive(Clone, Debug)]
pub(super) struct OffFlaw {
    pub(super) what: OffFault,
    /// Location of the word in the chunk's text: offset and length.
    pub(super) token: (u32, u32),
    /// Index of the vertex or face on the line.
    pub(super) row: u64,
}

/// Kind of flaw.
#[derive(Clone, Debug)]
pub(super) enum OffFault {
    /// A malformed row that stops reading, with the message and what was expected.
    Wrong(Box<(String, String)>),
    /// A malformed row that is skipped because reading continues past errors, with the message and what was expected.
    Skipped(Box<(String, String)>),
    /// The total number of corners, including the corners of this face, exceeds this limit.
    Corners(u64),
    /// An out-of-range vertex index, as written in the file.
    Index(i64),
    /// A face without vertices.
    Short,
    /// An integer written as a decimal, with its value.
    Decimal(i64),
    /// Extra values at the end of a row, with their number and whether the row is a vertex.
    Extra { count: u64, is_vertex: bool },
    /// The first face color in a chunk, which is dropped.
    Color,
    /// A line after the last row.
    Data,
}

/// Codes of flaws that are counted even if they are not kept.
const COUNTED: [&str; 5] = ["index-out-of-range", "short-face", "extra-value", "decimal-integer", "malformed"];

/// Flaws of a chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct OffFlaws {
    /// The flaws that are kept, in text order.
    pub(super) kept: Vec<OffFlaw>,
    /// Number of flaws per code in [`COUNTED`].
    counts: [u64; COUNTED.len()],
}

impl OffFault {
    /// Returns the index of the fault's code in [`COUNTED`]; `None` if faults with this code are not counted.
    fn counted(&self) -> Option<usize> {
        match self {
            OffFault::Index(_) => Some(0),
            OffFault::Short => Some(1),
            OffFault::Extra { .. } => Some(2),
            OffFault::Decimal(_) => Some(3),
            OffFault::Skipped(_) => Some(4),
            OffFault::Wrong(_) | OffFault::Corners(_) | OffFault::Color | OffFault::Data => None,
        }
    }

    /// Returns the warning code.
    pub(super) fn code(&self) -> &'static str {
        match self {
            OffFault::Wrong(_) | OffFault::Skipped(_) | OffFault::Corners(_) => "malformed",
            OffFault::Index(_) => "index-out-of-range",
            OffFault::Short => "short-face",
            OffFault::Extra { .. } => "extra-value",
            OffFault::Decimal(_) => "decimal-integer",
            OffFault::Color => "left-out-face-colors",
            OffFault::Data => "extra-data",
        }
    }

    /// Whether the fault stops reading.
    pub(super) fn is_final(&self, faults: FaultPolicy) -> bool {
        match self {
            OffFault::Wrong(_) | OffFault::Corners(_) => true,
            OffFault::Index(_) | OffFault::Skipped(_) => faults.raises(),
            OffFault::Short | OffFault::Decimal(_) | OffFault::Extra { .. } | OffFault::Color | OffFault::Data => {
                faults.refuses(self.code())
            }
        }
    }
}

impl OffFlaws {
    pub(super) fn clear(&mut self) {
        self.kept.clear();
        self.counts = [0; COUNTED.len()];
    }

    /// Keeps a flaw, unless [`KEPT`] flaws with its code have already been kept. The warning log has the same limit.
    pub(super) fn push(&mut self, flaw: OffFlaw) -> Result<()> {
        if let Some(kind) = flaw.what.counted() {
            self.counts[kind] += 1;
            if self.counts[kind] > KEPT as u64 {
                return Ok(());
            }
        }
        try_push(&mut self.kept, flaw, "warnings")
    }

    /// Counts the flaws that were not kept.
    pub(super) fn count_others(&self, warnings: &mut Warnings) {
        for (code, count) in COUNTED.into_iter().zip(self.counts) {
            let others = count.saturating_sub(KEPT as u64);
            if others > 0 {
                warnings.count(code, others);
            }
        }
    }
}

impl OffFlaw {
    /// Creates the message, without the location.
    pub(super) fn describe(&self, header: &OffHeader) -> Diagnostic {
        let row = self.row;
        let with = |message: String, expected: Option<String>| Diagnostic { expected, ..Diagnostic::new(message) };
        let expected = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        match &self.what {
            OffFault::Wrong(said) => with(said.0.clone(), expected(&said.1)),
            OffFault::Skipped(said) => with(format!("skipped a row: {}", said.0), expected(&said.1)),
            OffFault::Corners(limit) => {
                let message =
                    format!("up to face {row}, the faces have more corners than the limit `elements` ({limit})");
                Diagnostic { hint: elements_hint(*limit), ..Diagnostic::new(message) }
            }
            OffFault::Index(index) => {
                let message = format!("face {row}: vertex {index} does not exist");
                match header.vertices {
                    0 => Diagnostic::new(message + ": the file has no vertices"),
                    1 => with(message, expected("index 0")),
                    count => with(message, Some(format!("an index from 0 to {}", count - 1))),
                }
            }
            OffFault::Short => with(format!("skipped face {row}: it has no corners"), expected("at least 1")),
            OffFault::Extra { count, is_vertex: true } => {
                let values = counted(*count, ["extra value", "extra values"]);
                let keyword = header.form.keyword();
                let expected = format!("{}, because the file starts with `{keyword}`", header.form.described());
                with(format!("dropped {values} of vertex {row}"), Some(expected))
            }
            OffFault::Extra { count, is_vertex: false } => {
                let values = counted(*count, ["value", "values"]);
                let message = format!("dropped {values} after the indices of face {row}");
                with(message, expected("a color of up to 4 values"))
            }
            OffFault::Decimal(value) => {
                Diagnostic::new(format!("face {row}: an integer is written as a decimal; read as {value}"))
            }
            OffFault::Color => Diagnostic::new("the colors of faces were dropped"),
            OffFault::Data => Diagnostic::new("extra data after the last row was ignored"),
        }
    }

    /// Reports the flaw as an error or a warning.
    pub(super) fn file(&self, said: Diagnostic, faults: FaultPolicy, warnings: &mut Warnings) -> Result<()> {
        match self.what {
            OffFault::Wrong(_) => Err(said.into_error(ErrorKind::Malformed)),
            OffFault::Corners(_) => Err(said.into_error(ErrorKind::Limit)),
            OffFault::Index(_) | OffFault::Skipped(_) => warnings.broken(faults, self.what.code(), said),
            OffFault::Color => warnings.note_dropped(faults, self.what.code(), 1, said),
            OffFault::Short | OffFault::Decimal(_) | OffFault::Extra { .. } | OffFault::Data => {
                warnings.note(faults, self.what.code(), said)
            }
        }
    }
}
