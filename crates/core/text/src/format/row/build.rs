//! Compiles texts and conversions into steps; everything constant is computed only once.

use std::ops::Range;

use super::super::fixed::{MAX_DIGITS, Scale};
use super::RowFormat;
use super::cells::{CELL_BYTES, CellFiller, ShortText};
use super::column::ValueType;
use super::error::TemplateProblem;
use super::number::NumberConversion;
use super::spec::{Conversion, ConversionSpec, PrintfDialect};
use super::text::BytesConversion;

/// One element of a row: a text or a conversion.
#[derive(Clone, Debug)]
pub(super) struct RowStep {
    pub(super) put: StepText,
    pub(super) column: usize,
    /// The byte that follows, if any.
    pub(super) next: Option<u8>,
    /// Index of the cells that hold the text of this step, if any.
    pub(super) cell: Option<u8>,
    /// Maximum length of the text in bytes, including `next`.
    pub(super) max_bytes: usize,
}

/// Text of a step.
#[derive(Clone, Debug)]
pub(super) enum StepText {
    /// A short text.
    Constant(ShortText),
    /// A long text, from `RowFormat::texts`.
    Long(Range<usize>),
    /// One of two short texts.
    Choice([ShortText; 2]),
    /// One of two long texts.
    LongChoice([Range<usize>; 2]),
    /// An integer without flags or width.
    Integer,
    /// An f32 with fixed digits, without flags or width.
    Fixed32(&'static Scale),
    /// An f64 with fixed digits, without flags or width.
    Fixed64(&'static Scale),
    /// Any other number.
    Number(NumberConversion),
    /// Bytes or UTF-8.
    Bytes(BytesConversion),
}

/// Column and texts of a step's cells.
#[derive(Clone, Debug)]
pub(super) struct CellFill {
    pub(super) column: usize,
    pub(super) source: CellText,
}

/// Source of the texts in cells.
#[derive(Clone, Debug)]
pub(super) enum CellText {
    Constant(ShortText),
    Choice([ShortText; 2]),
    F32(CellFiller, NumberFrame),
    Number(CellFiller, NumberFrame),
    /// Numbers truncated to integers.
    Truncated(CellFiller, NumberFrame),
}

/// Padding of numbers in cells, and the byte after each.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberFrame {
    /// 0 if there is no width.
    pub(super) width: u8,
    pub(super) left: bool,
    pub(super) next: Option<u8>,
}

/// Builder of a format, step by step.
pub(super) struct FormatBuilder {
    format: RowFormat,
    dialect: PrintfDialect,
}

impl FormatBuilder {
    pub(super) fn new(dialect: PrintfDialect) -> Self {
        let format = RowFormat {
            steps: Vec::new(),
            fills: Vec::new(),
            kinds: Vec::new(),
            texts: Vec::new(),
            max_bytes: 0,
            keeps_nan_sign: dialect == PrintfDialect::C,
        };
        Self { format, dialect }
    }

    /// Appends a constant text.
    pub(super) fn text(&mut self, mut text: &[u8]) -> Result<(), TemplateProblem> {
        if let Some(last) = self.format.steps.last_mut() {
            text = last.absorb(text);
        }
        match text.len() {
            0 => Ok(()),
            1..=64 => text.chunks(CELL_BYTES).try_for_each(|chunk| {
                let put = StepText::Constant(ShortText::new(chunk).unwrap_or_default());
                self.push(put, 0, chunk.len())
            }),
            _ => {
                let range = self.store(text)?;
                self.push(StepText::Long(range), 0, text.len())
            }
        }
    }

    /// Appends a choice of two texts, for false and true.
    pub(super) fn choice(&mut self, column: usize, texts: [&[u8]; 2]) -> Result<(), TemplateProblem> {
        self.require_kind(column, ValueType::Bool)?;
        let put = match texts.map(ShortText::new) {
            [Some(no), Some(yes)] => StepText::Choice([no, yes]),
            _ => StepText::LongChoice([self.store(texts[0])?, self.store(texts[1])?]),
        };
        self.push(put, column, texts[0].len().max(texts[1].len()))
    }

    /// Appends a conversion of a column's values.
    pub(super) fn value(
        &mut self,
        column: usize,
        kind: ValueType,
        mut spec: ConversionSpec,
    ) -> Result<(), TemplateProblem> {
        let dialect = self.dialect;
        if spec.unsigned && dialect == PrintfDialect::C {
            // In C, the sign flags apply only to signed conversions (C17, section 7.21.6.1); in Python, `u` is the same
            // as `d`.
            spec.plus = None;
        }
        let max_bytes = spec.max_bytes(kind);
        if spec.conversion == Conversion::Text {
            match kind {
                ValueType::Bool => return self.bool_text(column, spec),
                ValueType::Bytes(_) | ValueType::Text(_) => {
                    self.require_kind(column, kind)?;
                    return self.push(StepText::Bytes(BytesConversion { spec, dialect }), column, max_bytes);
                }
                _ => {
                    // As in Python, the flags of numbers have no effect on `s`.
                    spec.plus = None;
                    spec.alternate = false;
                    spec.zero = false;
                }
            }
        }
        if matches!(kind, ValueType::Bytes(_) | ValueType::Text(_)) {
            return Err(TemplateProblem::NotANumber(kind));
        }
        self.require_kind(column, kind)?;
        let is_float = matches!(kind, ValueType::F32 | ValueType::F64);
        let put = match (spec.conversion, spec.precision) {
            (Conversion::Integer | Conversion::Text, None) if spec.is_plain() && !is_float => StepText::Integer,
            (Conversion::Fixed, _) if spec.is_plain() && spec.digits() <= MAX_DIGITS && is_float => {
                let scale = Scale::new(spec.digits());
                if kind == ValueType::F32 { StepText::Fixed32(scale) } else { StepText::Fixed64(scale) }
            }
            _ => StepText::Number(NumberConversion { spec, dialect }),
        };
        self.push(put, column, max_bytes)
    }

    /// Appends the words for true and false, truncated and padded at compile time.
    fn bool_text(&mut self, column: usize, spec: ConversionSpec) -> Result<(), TemplateProblem> {
        let words: [&[u8]; 2] =
            if self.dialect == PrintfDialect::C { [b"false", b"true"] } else { [b"False", b"True"] };
        let mut buffers = [[b' '; super::spec::MAX_WIDTH]; 2];
        let mut lengths = [0; 2];
        for ((word, buffer), length) in words.iter().zip(&mut buffers).zip(&mut lengths) {
            let word = &word[..word.len().min(spec.precision.unwrap_or(usize::MAX))];
            *length = word.len().max(spec.width);
            let start = if spec.left { 0 } else { *length - word.len() };
            buffer[start..start + word.len()].copy_from_slice(word);
        }
        self.choice(column, [&buffers[0][..lengths[0]], &buffers[1][..lengths[1]]])
    }

    /// Records the required type of a column.
    fn require_kind(&mut self, column: usize, kind: ValueType) -> Result<(), TemplateProblem> {
        let kinds = &mut self.format.kinds;
        kinds.try_reserve(1).map_err(|_| TemplateProblem::OutOfMemory)?;
        kinds.push((column, kind));
        Ok(())
    }

    /// Stores a long text.
    fn store(&mut self, text: &[u8]) -> Result<Range<usize>, TemplateProblem> {
        let texts = &mut self.format.texts;
        texts.try_reserve(text.len()).map_err(|_| TemplateProblem::OutOfMemory)?;
        texts.extend_from_slice(text);
        Ok(texts.len() - text.len()..texts.len())
    }

    fn push(&mut self, put: StepText, column: usize, max_bytes: usize) -> Result<(), TemplateProblem> {
        let steps = &mut self.format.steps;
        steps.try_reserve(1).map_err(|_| TemplateProblem::OutOfMemory)?;
        steps.push(RowStep { put, column, next: None, cell: None, max_bytes });
        Ok(())
    }

    /// Returns the compiled format.
    pub(super) fn finish(mut self) -> Result<RowFormat, TemplateProblem> {
        let format = &mut self.format;
        format.max_bytes = format.steps.iter().fold(0, |sum: usize, step| sum.saturating_add(step.max_bytes));
        let fills = || format.steps.iter().map(|step| CellText::from_step(step, &format.kinds));
        let numbers = fills().flatten().filter(|source| source.is_number()).count();
        let only_cells = fills().all(|source| source.is_some());
        if numbers == 0 {
            return Ok(self.format);
        }
        for step in &mut format.steps {
            let Some(source) = CellText::from_step(step, &format.kinds) else { continue };
            // Constant texts and choices are faster without cells, unless the whole row then consists of cells.
            if format.fills.len() < RowFormat::MAX_CELLS && (only_cells || source.is_number()) {
                format.fills.try_reserve(1).map_err(|_| TemplateProblem::OutOfMemory)?;
                step.cell = Some(format.fills.len() as u8);
                format.fills.push(CellFill { column: step.column, source });
            }
        }
        Ok(self.format)
    }
}

impl RowStep {
    /// Adds as much of the following text as possible to this step. Returns the rest of the text.
    fn absorb<'t>(&mut self, text: &'t [u8]) -> &'t [u8] {
        let Some((&first, rest)) = text.split_first() else { return text };
        match &mut self.put {
            StepText::Choice(texts) => {
                if let [Some(no), Some(yes)] = texts.map(|short| short.joined(text)) {
                    *texts = [no, yes];
                    self.max_bytes += text.len();
                    return &[];
                }
                text
            }
            StepText::Constant(_) | StepText::Long(_) | StepText::LongChoice(_) | StepText::Bytes(_) => text,
            StepText::Integer | StepText::Fixed32(_) | StepText::Fixed64(_) | StepText::Number(_)
                if self.next.is_none() =>
            {
                self.next = Some(first);
                self.max_bytes += 1;
                rest
            }
            _ => text,
        }
    }
}

impl CellText {
    /// Returns the source of a step's cells, or `None` if it cannot use cells.
    fn from_step(step: &RowStep, kinds: &[(usize, ValueType)]) -> Option<Self> {
        match &step.put {
            StepText::Constant(text) => Some(Self::Constant(*text)),
            StepText::Choice(texts) => Some(Self::Choice(*texts)),
            StepText::Integer => Self::number(step, kinds, &ConversionSpec::PLAIN_INTEGER, Scale::new(0)),
            StepText::Fixed32(scale) | StepText::Fixed64(scale) => {
                Self::number(step, kinds, &ConversionSpec::PLAIN_FIXED, scale)
            }
            StepText::Number(NumberConversion { spec, .. }) => match (spec.conversion, spec.precision) {
                (Conversion::Integer | Conversion::Text, None) => Self::number(step, kinds, spec, Scale::new(0)),
                (Conversion::Fixed, _) if spec.digits() <= MAX_DIGITS => {
                    Self::number(step, kinds, spec, Scale::new(spec.digits()))
                }
                _ => None,
            },
            StepText::Long(_) | StepText::LongChoice(_) | StepText::Bytes(_) => None,
        }
    }

    /// Returns the source of cells with numbers, or `None` if cells do not support the flags or the width.
    fn number(step: &RowStep, kinds: &[(usize, ValueType)], spec: &ConversionSpec, scale: &Scale) -> Option<Self> {
        let fits = spec.width + usize::from(step.next.is_some()) <= CELL_BYTES;
        if !fits || spec.plus.is_some() || spec.alternate || spec.zero {
            return None;
        }
        let frame = NumberFrame { width: spec.width as u8, left: spec.left, next: step.next };
        let filler = CellFiller::if_possible(scale, step.next.filter(|_| spec.width == 0))?;
        let is_integer = spec.conversion == Conversion::Integer;
        let is_text = spec.conversion == Conversion::Text;
        match kinds.iter().find(|(column, _)| *column == step.column)?.1 {
            ValueType::F32 | ValueType::F64 if is_text => None,
            ValueType::F32 | ValueType::F64 if is_integer => Some(Self::Truncated(filler, frame)),
            ValueType::F32 => Some(Self::F32(filler, frame)),
            _ => Some(Self::Number(filler, frame)),
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, Self::F32(..) | Self::Number(..) | Self::Truncated(..))
    }
}
