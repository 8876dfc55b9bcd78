//! Stores the content of a piece of text: directives, errors, and values that the model uses unchanged. `parse` fills
//! it.

use super::directive::{COUNT, Directive};
use super::intern::PbrtNames;
use super::shelf::{PbrtShelf, ShelfRoom, room_of};
use polyhaul_model::Bounds;
use polyhaul_model::error::{Diagnostic, Excerpt, Place, Result, limit_hint, try_copy, try_string};
use polyhaul_model::names;
use polyhaul_model::render::{Declaration, ExactValues, Name, Segment, StoredParameter};
use polyhaul_model::shared_slice::SharedSlice;
use polyhaul_model::warnings::{Weight, is_kept};
use polyhaul_text::parse::positions::DigitLoss;
use std::sync::Arc;

/// Position in a piece of text: zero-based line and column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) line: u32,
    pub(super) column: u32,
}

/// A directive, an error or a warning in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct PbrtEvent {
    pub(super) what: PbrtEventKind,
    /// Number of parameters, for directives that have them.
    pub(super) count: u16,
    /// A string, an offset into the numbers, or the index of a complaint.
    pub(super) a: u32,
    /// Index of the first parameter, or the index of a second string.
    pub(super) b: u32,
    pub(super) spot: Spot,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PbrtEventKind {
    Directive(Directive),
    /// `Transform` or `ConcatTransform` with an explicit last row.
    FullMatrix(Directive),
    Complaint,
}

/// An error or warning about the text.
#[derive(Clone, Debug)]
pub(super) struct PbrtComplaint {
    pub(super) weight: Weight,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) expected: Option<&'static str>,
    pub(super) hint: Option<String>,
    pub(super) spot: Spot,
    /// The text around the error.
    pub(super) excerpt: Option<Excerpt>,
}

/// Precision that lists of points lost because they were stored as 32-bit floats.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PointLoss {
    pub(super) digits: DigitLoss,
    /// Bounding box of the lists that contain long numbers.
    pub(super) bounds: Option<Bounds>,
}

impl PointLoss {
    pub(super) fn extend(&mut self, other: PointLoss) {
        self.digits.extend(other.digits);
        self.bounds = self.bounds.into_iter().chain(other.bounds).reduce(Bounds::union);
    }
}

/// A parsed piece of text. The vectors are reused; values for the model are copied once, or moved if there are many.
#[derive(Default)]
pub(super) struct PbrtParsed {
    pub(super) events: Vec<PbrtEvent>,
    pub(super) complaints: Vec<PbrtComplaint>,
    /// Number of complaints that were not kept, by code.
    pub(super) uncounted: Vec<(&'static str, u64)>,
    pub(super) names: PbrtNames,
    /// Indices of names that are not UTF-8, in ascending order.
    pub(super) odd_names: Vec<u32>,
    pub(super) declaration_texts: PbrtNames,
    /// For each declaration text: the index of its declaration, and the index of the same declaration with names
    /// instead of numbers, both plus one.
    pub(super) known: Vec<[u32; 2]>,
    pub(super) declarations: Vec<Declaration>,
    pub(super) parameters: Vec<StoredParameter>,
    pub(super) floats: Vec<f32>,
    pub(super) integers: Vec<i32>,
    pub(super) bools: Vec<bool>,
    pub(super) strings: Vec<u32>,
    pub(super) doubles: Vec<f64>,
    pub(super) exact: Vec<ExactValues>,
    /// Precision lost by points that were stored as floats.
    pub(super) rounding: PointLoss,
    /// Strings of directives that have more than two.
    pub(super) operands: Vec<u32>,
    /// Number of line endings, and length of the text after the last one.
    pub(super) end: Spot,
}

/// Content of a piece for the scene: its events, and its segment of values, which is moved into the model.
pub(super) struct PieceContent {
    pub(super) events: Box<[PbrtEvent]>,
    /// Number of uses of each directive.
    pub(super) directives: [u32; COUNT],
    pub(super) complaints: Vec<PbrtComplaint>,
    pub(super) uncounted: Vec<(&'static str, u64)>,
    pub(super) operands: Box<[u32]>,
    /// Strings in the piece.
    pub(super) names: Box<[Box<str>]>,
    pub(super) segment: Segment,
    pub(super) end: Spot,
    /// Files that the piece references: event index and file index.
    pub(super) files: Vec<(u32, usize)>,
    /// Size of the text in bytes.
    pub(super) bytes: u64,
    pub(super) rounding: PointLoss,
}

impl PbrtParsed {
    /// Removes all content.
    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.complaints.clear();
        self.uncounted.clear();
        self.names.clear();
        self.odd_names.clear();
        self.declaration_texts.clear();
        self.known.clear();
        self.declarations.clear();
        self.parameters.clear();
        self.floats.clear();
        self.integers.clear();
        self.bools.clear();
        self.strings.clear();
        self.doubles.clear();
        self.exact.clear();
        self.rounding = PointLoss::default();
        self.operands.clear();
    }

    /// Frees the memory of an unusually long piece.
    pub(super) fn shrink(&mut self, slot_bytes: usize) {
        let held = 4 * (self.floats.capacity() + self.integers.capacity() + self.strings.capacity())
            + 8 * self.doubles.capacity()
            + size_of::<PbrtEvent>() * self.events.capacity()
            + size_of::<StoredParameter>() * self.parameters.capacity();
        if held > 2 * slot_bytes {
            *self = PbrtParsed::default();
        }
    }

    /// Stores a complaint, or only counts it if there are already too many with its code.
    pub(super) fn complain(&mut self, complaint: PbrtComplaint) -> Result<()> {
        let kinds = self.complaints.iter().map(|complaint| complaint.code);
        // A complaint about an exceeded limit ends the scene, so it is always kept.
        if complaint.weight != Weight::Limit && !is_kept(kinds, complaint.code) {
            match self.uncounted.iter_mut().find(|(code, _)| *code == complaint.code) {
                Some((_, count)) => *count += 1,
                None => polyhaul_model::error::try_push(&mut self.uncounted, (complaint.code, 1), "warnings")?,
            }
            return Ok(());
        }
        let number = self.complaints.len() as u32;
        let event = PbrtEvent { what: PbrtEventKind::Complaint, count: 0, a: number, b: 0, spot: complaint.spot };
        polyhaul_model::error::try_push(&mut self.complaints, complaint, "warnings")?;
        polyhaul_model::error::try_push(&mut self.events, event, "directives")
    }

    /// Reports that a directive is longer than the limit.
    pub(super) fn too_long(&mut self, limit: u64) -> Result<()> {
        let message = format!("the directive that starts here is longer than the limit `line_bytes` ({limit} bytes)");
        let mut complaint = PbrtComplaint::at(self.end, Weight::Limit, "limit", message);
        complaint.hint = Some(limit_hint("line_bytes") + " (at most 1 GiB)");
        self.complain(complaint)
    }

    /// Moves the parsed content into arrays of exact size. Arrays of the model are stored in a room of `shelf`.
    pub(super) fn take(&mut self, shelf: &PbrtShelf) -> Result<PieceContent> {
        let mut names = Vec::new();
        names.try_reserve_exact(self.names.len())?;
        for number in 0..self.names.len() {
            names.push(text(self.names.get(number as u32))?);
        }
        // One room for all arrays, so that the shelf is locked once per piece.
        let numbers = room_for(&self.floats) + room_for(&self.integers) + room_of(&self.doubles);
        let mut room = shelf.room(numbers + room_of(&self.parameters) + room_of(&self.strings))?;
        let segment = Segment {
            names: Box::default(),
            declarations: exactly(&self.declarations)?,
            parameters: room.keep(&self.parameters)?,
            floats: keep(&mut self.floats, &mut room)?,
            integers: keep(&mut self.integers, &mut room)?,
            bools: exactly(&self.bools)?,
            strings: room.keep(&self.strings)?,
            doubles: room.keep(&self.doubles)?,
            exact: exactly(&self.exact)?,
            ..Segment::default()
        };
        Ok(PieceContent {
            events: exactly(&self.events)?,
            directives: counts(&self.events),
            complaints: std::mem::take(&mut self.complaints),
            uncounted: std::mem::take(&mut self.uncounted),
            operands: exactly(&self.operands)?,
            names: names.into_boxed_slice(),
            segment,
            end: self.end,
            files: Vec::new(),
            bytes: 0,
            rounding: self.rounding,
        })
    }
}

/// Minimum size of arrays that are moved to the model instead of copied into a room.
const LARGE_BYTES: usize = 1 << 20;

/// Returns the number of bytes that an array takes in a room: 0 if the array is moved instead.
fn room_for<T>(values: &[T]) -> usize {
    if size_of_val(values) < LARGE_BYTES { room_of(values) } else { 0 }
}

/// Stores an array of the model by copying it into a room or, if it is large, by moving the vector.
fn keep<T: Copy + Send + Sync + 'static>(values: &mut Vec<T>, room: &mut ShelfRoom) -> Result<SharedSlice<T>> {
    if room_for(values) > 0 || values.is_empty() {
        return room.keep(values);
    }
    polyhaul_spill::shrink(values);
    Ok(std::mem::take(values).into())
}

/// Counts each directive.
fn counts(events: &[PbrtEvent]) -> [u32; COUNT] {
    let mut counts = [0; COUNT];
    for event in events {
        if let PbrtEventKind::Directive(directive) | PbrtEventKind::FullMatrix(directive) = event.what {
            counts[directive as usize] += 1;
        }
    }
    counts
}

/// Decodes a string as UTF-8 or, if that fails, as Latin-1, without spare capacity.
fn text(bytes: &[u8]) -> Result<Box<str>> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => try_string(text)?,
        Err(_) => names::latin1(bytes)?,
    };
    Ok(text.into_boxed_str())
}

/// Copies values without spare capacity.
pub(super) fn exactly<T: Copy>(values: &[T]) -> Result<Box<[T]>> {
    try_copy(values, "values").map(Vec::into_boxed_slice)
}

impl PieceContent {
    /// Returns the scene's name for the string of the piece with this index.
    pub(super) fn name(&self, number: u32) -> Name {
        self.segment.names.get(number as usize).copied().unwrap_or(Name(0))
    }

    /// Returns the string of the piece with this index.
    pub(super) fn text(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", |name| name)
    }
}

impl PbrtComplaint {
    /// Creates the diagnostic, given the number of lines before the piece.
    pub(super) fn diagnostic(&self, file: &Arc<str>, lines: u64) -> Diagnostic {
        Diagnostic {
            message: self.message.clone(),
            expected: self.expected.map(str::to_owned),
            hint: self.hint.clone(),
            place: place(file, lines, self.spot),
            excerpt: self.excerpt.clone(),
            ..Diagnostic::default()
        }
    }
}

/// Converts a position in a piece to a position in the file.
pub(super) fn place(file: &Arc<str>, lines: u64, spot: Spot) -> Place {
    Place {
        file: file.clone(),
        line: Some(lines + u64::from(spot.line) + 1),
        column: Some(u64::from(spot.column) + 1),
        offset: None,
    }
}
