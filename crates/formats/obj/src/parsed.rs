//! Parsed content of a chunk of OBJ text: arrays, and statements that must be processed in order.
//!
//! Indices, counts and offsets are relative to the chunk; [`super::reader`] makes them absolute in file order. Memory
//! is pooled: clearing keeps the capacity.

use polyhaul_model::Counts;
use polyhaul_model::error::{Error, Excerpt, Result, try_push};
use polyhaul_model::warnings::{Weight, is_kept};
use polyhaul_pipeline::arrays::{Zero, grow};
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_text::parse::positions::DigitLoss;
use std::collections::BTreeMap;
use std::ops::Range;

/// Reusable buffer: all `items` are initialized, and the first `used` of them are values. Kernels can write past the
/// used part without unsafe code.
#[derive(Default)]
pub(super) struct Pool<T> {
    items: Vec<T>,
    used: usize,
}

impl<T: Zero> Pool<T> {
    /// Returns at least `room` slots after the used values. Grows the buffer if needed.
    pub(super) fn spare(&mut self, room: usize) -> Result<&mut [T]> {
        grow(&mut self.items, self.used + room)?;
        Ok(&mut self.items[self.used..])
    }

    /// Marks the first `count` spare slots as used.
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

/// Kinds of elements with corners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementKind {
    Face,
    Line,
    Point,
}

impl ElementKind {
    pub(super) const ALL: [ElementKind; 3] = [ElementKind::Face, ElementKind::Line, ElementKind::Point];
}

/// The array that a corner index refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjStream {
    Position,
    Uv,
    Normal,
}

impl ObjStream {
    pub(super) const ALL: [ObjStream; 3] = [ObjStream::Position, ObjStream::Uv, ObjStream::Normal];

    pub(super) fn noun(self) -> &'static str {
        ["position", "UV", "normal"][self as usize]
    }
}

/// A run of elements whose corners have the same form.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ObjSegment {
    /// Values per corner: 1 (position), 2 (position and uv) or 3 (position, uv and normal).
    pub(super) stride: u8,
    /// Whether the corners have positions, UVs and normals, respectively.
    pub(super) has: [bool; 3],
    pub(super) rows: u32,
    pub(super) values: u32,
    /// Offset of the first row in the chunk's text. The other rows are on the lines after it.
    pub(super) line_offset: u32,
}

/// Elements of one kind.
#[derive(Default)]
pub(super) struct ObjParsedCorners {
    /// 1-based indices as in the text, 0 for a missing index, with `stride` of them per corner.
    pub(super) values: Pool<u32>,
    /// End of each row, as an offset into the values of its segment.
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

/// A single negative index. Its value is relative to the start of the chunk until the chunk is placed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relative {
    pub(super) kind: ElementKind,
    pub(super) stream: ObjStream,
    /// Offset of the index in the values of `kind`.
    pub(super) value: u32,
    /// 1-based, relative to the count before the chunk; can be negative.
    pub(super) local: i64,
    /// Location in the chunk's text: offset and length.
    pub(super) token: (u32, u32),
}

/// A run of faces with only negative indices. Until the chunk is placed, the values are the bits of `i32`s, 1-based and
/// relative to the count before the chunk.
#[derive(Clone, Debug)]
pub(super) struct RelativeRun {
    /// Range in the values of the faces.
    pub(super) values: Range<usize>,
    /// Values per corner.
    pub(super) stride: usize,
    /// The streams for which corners have an index; the values of other streams are 0.
    pub(super) has: [bool; 3],
    /// Minimum value per stream.
    pub(super) lowest: [i32; 3],
    /// Offset of the first face in the chunk's text. The other faces are on the lines after it.
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
    /// Positions after a group statement, which make the group an object.
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
    /// Element counts before the statement, relative to the chunk.
    pub(super) at: Counts,
    /// Range of its text in [`ObjParsed::names`].
    pub(super) name: Range<usize>,
    /// Location in the chunk's text: offset and length.
    pub(super) token: (u32, u32),
}

/// A message about the text, and its location in the chunk.
#[derive(Clone, Debug)]
pub(super) struct ObjComplaint {
    pub(super) weight: Weight,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) expected: Option<&'static str>,
    pub(super) hint: Option<&'static str>,
    /// Location in the chunk's text: offset and length.
    pub(super) token: (u32, u32),
    pub(super) excerpt: Excerpt,
}

/// A color and the index of its position.
pub(super) type Tint = (u32, [f32; 4]);

/// Everything parsed from one chunk.
#[derive(Default)]
pub(super) struct ObjParsed {
    pub(super) positions: Pool<[f32; 3]>,
    /// Positions in double precision; empty unless requested.
    pub(super) exact: Pool<[f64; 3]>,
    /// Precision that positions lose as 32-bit floats.
    pub(super) loss: DigitLoss,
    pub(super) weights: Vec<(u32, f32)>,
    pub(super) colors: Vec<Tint>,
    pub(super) uvs: Pool<[f32; 2]>,
    pub(super) uv_depths: Vec<(u32, f32)>,
    pub(super) normals: Pool<[f32; 3]>,
    /// Indexed by [`ElementKind`].
    pub(super) elements: [ObjParsedCorners; 3],
    /// Skipped `v`, `vt` and `vn` lines, in order: their placeholder values are removed at the end.
    pub(super) skipped: Vec<(ObjStream, u32)>,
    pub(super) relatives: Vec<Relative>,
    pub(super) relative_runs: Vec<RelativeRun>,
    pub(super) events: Vec<ObjEvent>,
    pub(super) names: Vec<u8>,
    /// The first complaints of each kind. Later complaints are only counted, in `uncounted`.
    pub(super) complaints: Vec<ObjComplaint>,
    pub(super) uncounted: BTreeMap<(Weight, &'static str), u64>,
    /// Whether a complaint stops reading. The rest of the chunk is then irrelevant.
    pub(super) over: bool,
    /// Whether any line parsed by `Statement` starts with an OBJ keyword.
    pub(super) has_known_keyword: bool,
    /// Number of line endings in the chunk.
    pub(super) line_count: u64,
    /// Whether no position or element has followed the last group statement yet.
    pub(super) group_pending: bool,
    /// Number of lines to convert one number at a time before the fast kernel is tried again. It only affects speed,
    /// and is kept from chunk to chunk.
    pub(super) long_rows: usize,
}

impl ObjParsed {
    /// Returns whether any index depends on earlier chunks, or changes at the end of the file.
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
        // The last statement before the chunk may be a group statement.
        self.group_pending = true;
    }

    /// Returns the element counts of the chunk so far. Curves are not included, because they are counted in order.
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

    /// Returns whether the chunk has any OBJ statement, even an unsupported or malformed one.
    pub(super) fn has_statement(&self) -> bool {
        self.has_known_keyword || self.counts() != Counts::default() || !self.events.is_empty()
    }

    /// Returns whether the chunk has visible content other than positions and faces.
    pub(super) fn has_more(&self) -> bool {
        let is_more = |event: &ObjEvent| {
            !matches!(event.kind, EventKind::Object | EventKind::Group | EventKind::Smoothing(_) | EventKind::Positions)
        };
        !self.colors.is_empty()
            || !self.skipped.is_empty()
            || self.elements[1].rows() + self.elements[2].rows() > 0
            || self.events.iter().any(is_more)
    }

    /// Records that positions directly follow a group statement.
    pub(super) fn positions_follow(&mut self, at: Counts, offset: usize) -> Result<()> {
        self.group_pending = false;
        self.event(EventKind::Positions, b"", (offset as u32, 1))?;
        if let Some(event) = self.events.last_mut() {
            event.at = at;
        }
        Ok(())
    }

    /// Records a statement and its text.
    pub(super) fn event(&mut self, kind: EventKind, text: &[u8], token: (u32, u32)) -> Result<()> {
        let start = self.names.len();
        self.names.try_reserve(text.len()).map_err(|_| Error::memory("names"))?;
        self.names.extend_from_slice(text);
        let event = ObjEvent { kind, at: self.counts(), name: start..self.names.len(), token };
        try_push(&mut self.events, event, "statements")
    }

    /// Stores a complaint, or only counts it if enough complaints of its kind are stored.
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
        try_push(&mut self.complaints, complaint, "warnings")
    }

    /// Frees the memory of an unusually long line, because the budget of a slot is `slot_bytes`.
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
