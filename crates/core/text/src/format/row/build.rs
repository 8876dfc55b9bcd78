//! From texts and conversions to the steps that are run: everything constant is computed here, once.

use std::ops::Range;

use super::super::fixed::{MAX_DIGITS, Scale};
use super::RowFormat;
use super::cells::{CELL_BYTES, Filler, Short};
use super::column::Kind;
use super::error::Problem;
use super::number::Number;
use super::spec::{Conversion, Dialect, Spec};
use super::text::Text;

/// One part of a row.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) put: Put,
    pub(super) column: usize,
    /// A byte that follows, or none.
    pub(super) next: Option<u8>,
    /// Which cells hold its text, if any do.
    pub(super) cell: Option<u8>,
    /// The longest text, `next` included.
    pub(super) max_bytes: usize,
}

/// What a step writes.
#[derive(Clone, Debug)]
pub(super) enum Put {
    /// A short text.
    Short(Short),
    /// A long text, from `RowFormat::texts`.
    Long(Range<usize>),
    /// One of two short texts.
    Choice([Short; 2]),
    /// One of two long texts.
    LongChoice([Range<usize>; 2]),
    /// An integer without flags and width.
    Integer,
    /// An f32 with fixed digits, without flags and width.
    Fixed32(&'static Scale),
    /// The same of an f64.
    Fixed64(&'static Scale),
    /// All other numbers.
    Number(Number),
    /// Bytes.
    Text(Text),
}

/// How a step's cells are filled.
#[derive(Clone, Debug)]
pub(super) struct Fill {
    pub(super) column: usize,
    pub(super) source: Source,
}

/// Where the texts of cells come from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    Short(Short),
    Choice([Short; 2]),
    F32(Filler, Frame),
    Number(Filler, Frame),
    /// Numbers without their fraction.
    Truncated(Filler, Frame),
}

/// Sign and padding of numbers in cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// 0 for no width.
    pub(super) width: u8,
    pub(super) left: bool,
    pub(super) next: Option<u8>,
}

/// Collects steps.
pub(super) struct Builder {
    format: RowFormat,
    dialect: Dialect,
}

impl Builder {
    pub(super) fn new(dialect: Dialect) -> Self {
        let format = RowFormat {
            steps: Vec::new(),
            fills: Vec::new(),
            kinds: Vec::new(),
            texts: Vec::new(),
            max_bytes: 0,
            keeps_nan_sign: dialect == Dialect::C,
        };
        Self { format, dialect }
    }

    /// Appends a text.
    pub(super) fn text(&mut self, mut text: &[u8]) -> Result<(), Problem> {
        if let Some(last) = self.format.steps.last_mut() {
            text = last.take_over(text);
        }
        match text.len() {
            0 => Ok(()),
            1..=64 => text.chunks(CELL_BYTES).try_for_each(|chunk| {
                let put = Put::Short(Short::new(chunk).unwrap_or_default());
                self.push(put, 0, chunk.len())
            }),
            _ => {
                let range = self.keep(text)?;
                self.push(Put::Long(range), 0, text.len())
            }
        }
    }

    /// Appends one of two texts, for false and true.
    pub(super) fn choice(&mut self, column: usize, texts: [&[u8]; 2]) -> Result<(), Problem> {
        self.note_kind(column, Kind::Bool)?;
        let put = match texts.map(Short::new) {
            [Some(no), Some(yes)] => Put::Choice([no, yes]),
            _ => Put::LongChoice([self.keep(texts[0])?, self.keep(texts[1])?]),
        };
        self.push(put, column, texts[0].len().max(texts[1].len()))
    }

    /// Appends a conversion of a column's values.
    pub(super) fn value(&mut self, column: usize, kind: Kind, mut spec: Spec) -> Result<(), Problem> {
        let dialect = self.dialect;
        if spec.unsigned && dialect == Dialect::C {
            spec.plus = None;
        }
        let max_bytes = spec.max_bytes(kind);
        if spec.conversion == Conversion::Text {
            match kind {
                Kind::Bool => return self.bool_text(column, spec),
                Kind::Bytes(_) | Kind::Text(_) => {
                    self.note_kind(column, kind)?;
                    return self.push(Put::Text(Text { spec, dialect }), column, max_bytes);
                }
                _ => (spec.plus, spec.alternate, spec.zero) = (None, false, false),
            }
        }
        if matches!(kind, Kind::Bytes(_) | Kind::Text(_)) {
            return Err(Problem::NotANumber(kind));
        }
        self.note_kind(column, kind)?;
        let is_float = matches!(kind, Kind::F32 | Kind::F64);
        let put = match (spec.conversion, spec.precision) {
            (Conversion::Integer | Conversion::Text, None) if spec.is_plain() && !is_float => Put::Integer,
            (Conversion::Fixed, _) if spec.is_plain() && spec.digits() <= MAX_DIGITS && is_float => {
                let scale = Scale::new(spec.digits());
                if kind == Kind::F32 { Put::Fixed32(scale) } else { Put::Fixed64(scale) }
            }
            _ => Put::Number(Number { spec, dialect }),
        };
        self.push(put, column, max_bytes)
    }

    /// The words for true and false, cut and padded here and now.
    fn bool_text(&mut self, column: usize, spec: Spec) -> Result<(), Problem> {
        let words: [&[u8]; 2] = if self.dialect == Dialect::C { [b"false", b"true"] } else { [b"False", b"True"] };
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

    /// Notes the type of a column.
    fn note_kind(&mut self, column: usize, kind: Kind) -> Result<(), Problem> {
        let kinds = &mut self.format.kinds;
        kinds.try_reserve(1).map_err(|_| Problem::OutOfMemory)?;
        kinds.push((column, kind));
        Ok(())
    }

    /// Keeps a long text.
    fn keep(&mut self, text: &[u8]) -> Result<Range<usize>, Problem> {
        let texts = &mut self.format.texts;
        texts.try_reserve(text.len()).map_err(|_| Problem::OutOfMemory)?;
        texts.extend_from_slice(text);
        Ok(texts.len() - text.len()..texts.len())
    }

    fn push(&mut self, put: Put, column: usize, max_bytes: usize) -> Result<(), Problem> {
        let steps = &mut self.format.steps;
        steps.try_reserve(1).map_err(|_| Problem::OutOfMemory)?;
        steps.push(Step { put, column, next: None, cell: None, max_bytes });
        Ok(())
    }

    /// The compiled format.
    pub(super) fn finish(mut self) -> Result<RowFormat, Problem> {
        let format = &mut self.format;
        format.max_bytes = format.steps.iter().fold(0, |sum: usize, step| sum.saturating_add(step.max_bytes));
        let fills = || format.steps.iter().map(|step| Source::from_step(step, &format.kinds));
        let numbers = fills().flatten().filter(|source| source.is_number()).count();
        let only_cells = fills().all(|source| source.is_some());
        if numbers == 0 {
            return Ok(self.format);
        }
        for step in &mut format.steps {
            let Some(source) = Source::from_step(step, &format.kinds) else { continue };
            // Texts are faster as they are, unless they complete a row of cells.
            if format.fills.len() < RowFormat::MOST_CELLS && (only_cells || source.is_number()) {
                format.fills.try_reserve(1).map_err(|_| Problem::OutOfMemory)?;
                step.cell = Some(format.fills.len() as u8);
                format.fills.push(Fill { column: step.column, source });
            }
        }
        Ok(self.format)
    }
}

impl Step {
    /// Takes as much as possible of the text that follows; returns the rest.
    fn take_over<'t>(&mut self, text: &'t [u8]) -> &'t [u8] {
        let Some((&first, rest)) = text.split_first() else { return text };
        match &mut self.put {
            Put::Choice(texts) => {
                if let [Some(no), Some(yes)] = texts.map(|short| short.joined(text)) {
                    *texts = [no, yes];
                    self.max_bytes += text.len();
                    return &[];
                }
                text
            }
            Put::Short(_) | Put::Long(_) | Put::LongChoice(_) | Put::Text(_) => text,
            Put::Integer | Put::Fixed32(_) | Put::Fixed64(_) | Put::Number(_) if self.next.is_none() => {
                self.next = Some(first);
                self.max_bytes += 1;
                rest
            }
            _ => text,
        }
    }
}

impl Source {
    /// How the cells of a step can be filled; `None` if they cannot.
    fn from_step(step: &Step, kinds: &[(usize, Kind)]) -> Option<Self> {
        match &step.put {
            Put::Short(text) => Some(Self::Short(*text)),
            Put::Choice(texts) => Some(Self::Choice(*texts)),
            Put::Integer => Self::number(step, kinds, &Spec::PLAIN_INTEGER, Scale::new(0)),
            Put::Fixed32(scale) | Put::Fixed64(scale) => Self::number(step, kinds, &Spec::PLAIN_FIXED, scale),
            Put::Number(Number { spec, .. }) => match (spec.conversion, spec.precision) {
                (Conversion::Integer | Conversion::Text, None) => Self::number(step, kinds, spec, Scale::new(0)),
                (Conversion::Fixed, _) if spec.digits() <= MAX_DIGITS => {
                    Self::number(step, kinds, spec, Scale::new(spec.digits()))
                }
                _ => None,
            },
            Put::Long(_) | Put::LongChoice(_) | Put::Text(_) => None,
        }
    }

    /// Numbers with a width at most.
    fn number(step: &Step, kinds: &[(usize, Kind)], spec: &Spec, scale: &Scale) -> Option<Self> {
        let fits = spec.width + usize::from(step.next.is_some()) <= CELL_BYTES;
        if !fits || spec.plus.is_some() || spec.alternate || spec.zero {
            return None;
        }
        let frame = Frame { width: spec.width as u8, left: spec.left, next: step.next };
        let filler = Filler::if_possible(scale, step.next.filter(|_| spec.width == 0))?;
        let is_integer = spec.conversion == Conversion::Integer;
        let is_text = spec.conversion == Conversion::Text;
        match kinds.iter().find(|(column, _)| *column == step.column)?.1 {
            Kind::F32 | Kind::F64 if is_text => None,
            Kind::F32 | Kind::F64 if is_integer => Some(Self::Truncated(filler, frame)),
            Kind::F32 => Some(Self::F32(filler, frame)),
            _ => Some(Self::Number(filler, frame)),
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, Self::F32(..) | Self::Number(..) | Self::Truncated(..))
    }
}
