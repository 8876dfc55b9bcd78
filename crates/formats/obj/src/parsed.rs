//! The parsed contents of a chunk of OBJ text: arrays, and everything that must be processed in order.
//!
//! Indices, counts and offsets are relative to the chunk; [`super::reader`] makes them absolute when it is the chunk's
//! turn. Memory is pooled: clearing keeps it.

use polyhaul_model::Counts;
use polyhaul_model::error::{Error, Excerpt, Result, try_push};
use polyhaul_model::warnings::{Weight, is_kept};
use polyhaul_pipeline::arrays::grow;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_text::parse::positions::DigitLoss;
use std::collections::BTreeMap;
use std::ops::Range;

/// Reused memory: `items` is always initialized, and the first `used` are values. Kernels can therefore write past the
/// values in use without unsafe code.
#[derive(Default)]
pub(super) struct Pool<T> {
    items: Vec<T>,
    used: usize,
}

impl<T: Copy + Default> Pool<T> {
    /// Returns at least `room` places after the values in use. Grows once to the size that a chunk needs.
    pub(super) fn spare(&mut self, room: usize) -> Result<&mut [T]> {
        grow(&mut self.items, self.used + room)?;
        Ok(&mut self.items[self.used..])
    }

    /// Takes the first `count` spare places into use.
    pub(super) fn advance(&mut self, count: usize) {
        self.used = (self.used + count).min(self.items.len());
    }

    pub(super) fn push(&mut self, value: T) -> Result<()> {
        self.spare(1)?[0] = value;
        self.advance(1);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.used
    }

    fn capacity(&self) -> usize {
        self.items.len()
    }

    pub(super) fn as_slice(&self) -> &[T] {
        &self.items[..self.used]
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.items[..self.used]
    }

    pub(super) fn truncate(&mut self, count: usize) {
        self.used = self.used.min(count);
    }

    fn clear(&mut self) {
        self.used = 0;
    }
}

/// The kinds of elements that have corners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementKind {
    Face,
    Line,
    Point,
}

impl ElementKind {
    pub(super) const ALL: [ElementKind; 3] = [ElementKind::Face, ElementKind::Line, ElementKind::Point];
}

/// The array that a corner's index refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjStream {
    Position,
    Uv,
    Normal,
}

impl ObjStream {
    pub(super) const ALL: [ObjStream; 3] = [ObjStream::Position, ObjStream::Uv, ObjStream::Normal];

    pub(super) fn noun(self) -> &'static str {
        ["position", "uv", "normal"][self as usize]
    }
}

/// A run of elements whose corners are written in one form.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ObjSegment {
    /// Values per corner: position; position and uv; or all three.
    pub(super) stride: u8,
    /// Whether there are uvs and normals among the values.
    pub(super) has: [bool; 3],
    pub(super) rows: u32,
    pub(super) values: u32,
    /// The offset of the first row in the chunk's text; the others follow line by line.
    pub(super) line_offset: u32,
}

/// Elements of one kind.
#[derive(Default)]
pub(super) struct ObjParsedCorners {
    /// 1-based indices as in the text, 0 for none; `stride` of them per corner.
    pub(super) values: Pool<u32>,
    /// Per row: how many values of its segment come before its end.
    pub(super) row_ends: Pool<u32>,
    pub(super) segments: Vec<ObjSegment>,
}

impl ObjParsedCorners {
    pub(super) fn rows(&self) -> usize {
        self.row_ends.len()
    }

    pub(super) fn corner_count(&self) -> usize {
        self.segments.iter().map(|s| s.values as usize / usize::from(s.stride)).sum()
    }

    pub(super) fn has(&self, stream: ObjStream) -> bool {
        self.segments.iter().any(|segment| segment.has[stream as usize])
    }

    fn clear(&mut self) {
        self.values.clear();
        self.row_ends.clear();
        self.segments.clear();
    }
}

/// An index that counts backwards: its value is relative to the chunk's start until the turn of the chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relative {
    pub(super) kind: ElementKind,
    pub(super) stream: ObjStream,
    /// Which of the values of `kind`.
    pub(super) value: u32,
    /// 1-based and relative to the count before the chunk; can be negative.
    pub(super) local: i64,
    /// Its location in the chunk's text.
    pub(super) token: (u32, u32),
}

/// A run of faces whose indices all count backwards: until the turn of the chunk, the values are the bits of `i32`s
/// that are 1-based and relative to the count before the chunk.
#[derive(Clone, Debug)]
pub(super) struct RelativeRun {
    /// Which of the values of faces.
    pub(super) values: Range<usize>,
    /// Values per corner.
    pub(super) stride: usize,
    /// Which streams the corners have; values of the others are 0.
    pub(super) has: [bool; 3],
    /// The lowest value of each stream.
    pub(super) lowest: [i32; 3],
    /// The offset of the first face in the chunk's text; the others follow line by line.
    pub(super) line_offset: u32,
}

/// A statement whose meaning depends on earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    Object,
    Group,
    Smoothing(u32),
    Material,
    Library,
    /// Positions follow: a group before them opens a section.
    Positions,
    /// `#MRGB`: colors of the positions before it.
    Polypaint,
    CurveType,
    Degree,
    CurveBody,
    Knots,
    CurveEnd,
}

#[derive(Clone, Debug)]
pub(super) struct ObjEvent {
    pub(super) kind: EventKind,
    /// The counts before it, relative to the chunk.
    pub(super) at: Counts,
    /// Its text in [`ObjParsed::names`].
    pub(super) name: Range<usize>,
    /// The location of the statement in the chunk's text.
    pub(super) token: (u32, u32),
}

/// A message about the text, with its location in the chunk.
#[derive(Clone, Debug)]
pub(super) struct ObjComplaint {
    pub(super) weight: Weight,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) expected: Option<&'static str>,
    pub(super) hint: Option<&'static str>,
    /// The location in the chunk's text: start and size.
    pub(super) token: (u32, u32),
    pub(super) excerpt: Excerpt,
}

/// The color of one position.
pub(super) type Tint = (u32, [f32; 4]);

/// All of a chunk.
#[derive(Default)]
pub(super) struct ObjParsed {
    pub(super) positions: Pool<[f32; 3]>,
    /// The positions in double precision, if they are wanted.
    pub(super) exact: Pool<[f64; 3]>,
    /// What positions lose as 32-bit floats.
    pub(super) loss: DigitLoss,
    pub(super) weights: Vec<(u32, f32)>,
    pub(super) colors: Vec<Tint>,
    pub(super) uvs: Pool<[f32; 2]>,
    pub(super) uv_depths: Vec<(u32, f32)>,
    pub(super) normals: Pool<[f32; 3]>,
    /// Faces, lines, points.
    pub(super) elements: [ObjParsedCorners; 3],
    /// The `v`, `vt` and `vn` lines that were skipped, in order: each has a value that is taken out at the end.
    pub(super) skipped: Vec<(ObjStream, u32)>,
    pub(super) relatives: Vec<Relative>,
    pub(super) relative_runs: Vec<RelativeRun>,
    pub(super) events: Vec<ObjEvent>,
    pub(super) names: Vec<u8>,
    /// The first complaints; further ones are only counted.
    pub(super) complaints: Vec<ObjComplaint>,
    pub(super) uncounted: BTreeMap<(Weight, &'static str), u64>,
    /// Whether a complaint ends the reading, so that nothing after it matters.
    pub(super) over: bool,
    /// Whether a line that was parsed alone starts with a keyword of the format.
    pub(super) has_known_keyword: bool,
    /// The number of lines that end in the chunk.
    pub(super) line_count: u64,
    /// Whether no position or element came after the last group statement.
    pub(super) group_pending: bool,
    /// The number of lines whose numbers are converted one by one before the fast kernel is tried again. It only
    /// affects speed, and is kept from chunk to chunk.
    pub(super) long_rows: usize,
}

impl ObjParsed {
    /// Whether the meaning of any index depends on what precedes the chunk, or changes at the end of the file.
    pub(super) fn depends_on_others(&self) -> bool {
        !self.relatives.is_empty() || !self.relative_runs.is_empty() || !self.skipped.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.positions.clear();
        self.exact.clear();
        self.uvs.clear();
        self.normals.clear();
        self.weights.clear();
        self.colors.clear();
        self.uv_depths.clear();
        self.elements.iter_mut().for_each(ObjParsedCorners::clear);
        self.skipped.clear();
        self.relatives.clear();
        self.relative_runs.clear();
        self.events.clear();
        self.names.clear();
        self.complaints.clear();
        self.uncounted.clear();
        self.over = false;
        self.has_known_keyword = false;
        self.line_count = 0;
        // A group statement may directly precede the chunk.
        self.group_pending = true;
    }

    /// Returns the number of elements of each kind in the chunk so far. Curves are counted in order, not here.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            positions: self.positions.len() as u32,
            uvs: self.uvs.len() as u32,
            normals: self.normals.len() as u32,
            faces: self.elements[0].rows() as u32,
            lines: self.elements[1].rows() as u32,
            points: self.elements[2].rows() as u32,
            curves: 0,
        }
    }

    /// Whether there is any statement of the format, even one that is not supported or malformed.
    pub(super) fn has_statement(&self) -> bool {
        self.has_known_keyword || self.counts() != Counts::default() || !self.events.is_empty()
    }

    /// Whether there is more that a picture shows than positions and faces.
    pub(super) fn has_more(&self) -> bool {
        let is_more = |event: &ObjEvent| {
            !matches!(event.kind, EventKind::Object | EventKind::Group | EventKind::Smoothing(_) | EventKind::Positions)
        };
        !self.colors.is_empty()
            || !self.skipped.is_empty()
            || self.elements[1].rows() + self.elements[2].rows() > 0
            || self.events.iter().any(is_more)
    }

    /// Notes that positions come after a group statement and before any element.
    pub(super) fn positions_follow(&mut self, at: Counts, offset: usize) -> Result<()> {
        self.group_pending = false;
        self.event(EventKind::Positions, b"", (offset as u32, 1))?;
        if let Some(event) = self.events.last_mut() {
            event.at = at;
        }
        Ok(())
    }

    /// Notes a statement with its text.
    pub(super) fn event(&mut self, kind: EventKind, text: &[u8], token: (u32, u32)) -> Result<()> {
        let start = self.names.len();
        self.names.try_reserve(text.len()).map_err(|_| Error::memory("names"))?;
        self.names.extend_from_slice(text);
        let event = ObjEvent { kind, at: self.counts(), name: start..self.names.len(), token };
        try_push(&mut self.events, event, "statements")
    }

    /// Keeps a complaint, or only counts it if there are many already.
    pub(super) fn complain(&mut self, complaint: ObjComplaint, options: &ParseOptions) -> Result<()> {
        self.over |= match complaint.weight {
            Weight::Note => options.faults.refuses(complaint.code),
            Weight::Broken => options.raises(),
            Weight::Limit => true,
        };
        let kinds = self.complaints.iter().map(|complaint| complaint.code);
        if !self.over && !is_kept(kinds, complaint.code) {
            *self.uncounted.entry((complaint.weight, complaint.code)).or_default() += 1;
            return Ok(());
        }
        try_push(&mut self.complaints, complaint, "complaints")
    }

    /// Frees the memory of an unusually long line, because each slot is budgeted at `slot_bytes`.
    pub(super) fn shrink(&mut self, slot_bytes: usize) {
        let [faces, lines, points] = &self.elements;
        let values = [faces, lines, points].map(|corners| corners.values.capacity());
        let held =
            4 * values.iter().sum::<usize>() + self.names.capacity() + self.events.capacity() * size_of::<ObjEvent>();
        if held > 4 * slot_bytes {
            *self = ObjParsed::default();
        }
    }
}
