//! Writes elements with their properties as PLY: the header, then pages of rows.
//!
//! `scene` or `tables` describes the output as columns. `fields` turns them into binary rows, and `text` formats those
//! as lines. A binary page is exactly as large as planned; pages are formatted in parallel and written in order.

mod fields;
mod scene;
mod split;
mod tables;
mod text;
mod textures;

use fields::{BLOCK, Little, PlyBig, PlyFieldsRows};
use polyhaul_geometry::losses::{CHANGED_REMARKS, note_changed};
use polyhaul_model::Scalar;
use polyhaul_model::error::{Error, ErrorKind, Result, planted, try_push};
use polyhaul_model::names;
use polyhaul_model::names::word;
use polyhaul_model::options::{FormatOptions, PlyWriteOptions};
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::arrays::{grow_exact, partition_point};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::out::Out;
use polyhaul_pipeline::write::{Pages, Writing};
use polyhaul_spill::paced;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use text::{PlyKind, PlyTextForm};

pub use scene::write as write_scene;
pub use tables::{PlyPartText, PlyTableParts, note_losses, write as write_tables};

/// Approximate bytes per page, and thus per `write` call.
const PAGE_BYTES: usize = 512 << 10;
/// Estimated bytes of text per byte of a binary row, for the sizes of pages and slots.
const TEXT_FACTOR: u64 = 3;

/// An element to write.
struct PlyElement<'a> {
    name: Cow<'a, str>,
    properties: Vec<PlyProperty<'a>>,
    /// Types of the properties.
    kinds: Vec<PlyKind>,
    /// The rows, in order.
    pieces: Vec<PlyFieldsRows<'a>>,
}

/// A property of an element.
#[derive(Clone)]
struct PlyProperty<'a> {
    name: Cow<'a, str>,
    kind: PlyKind,
}

/// Comments to write in the header before the elements.
struct Remarks<'a> {
    comments: &'a [String],
    infos: &'a [String],
}

impl<'a> PlyElement<'a> {
    /// Creates an element; generates names for properties without one.
    fn new(name: &'a str, mut properties: Vec<PlyProperty<'a>>, pieces: Vec<PlyFieldsRows<'a>>) -> Result<Self> {
        let mut taken = HashSet::new();
        taken.try_reserve(properties.len())?;
        taken.extend(properties.iter().map(|property| word(&property.name).into_owned()));
        for (property, number) in properties.iter_mut().zip(1..).filter(|(property, _)| property.name.is_empty()) {
            property.name = names::distinct("", number, &mut taken)?.into();
        }
        let mut kinds = Vec::new();
        kinds.try_reserve_exact(properties.len())?;
        kinds.extend(properties.iter().map(|property| property.kind));
        Ok(PlyElement { name: name.into(), properties, kinds, pieces })
    }
}

impl<'a> PlyProperty<'a> {
    fn number(name: &'a str, scalar: Scalar) -> Self {
        PlyProperty { name: name.into(), kind: PlyKind { scalar, count: None } }
    }
}

/// Warns about comments that a header cannot store unchanged. Each line of a comment becomes a separate comment.
pub fn note_remarks(remarks: [&[String]; 2], output: &str, warnings: &mut Warnings) {
    let lines = remarks.into_iter().flatten().flat_map(|remark| remark.split(['\n', '\r']));
    let count = lines.filter(|line| names::remark(line).as_ref() != *line).count() as u64;
    note_changed([("changed-remarks", CHANGED_REMARKS, count, None)], output, warnings);
}

/// Writes the header, then the rows of all elements in pages.
fn write(
    elements: &[PlyElement<'_>],
    remarks: &Remarks<'_>,
    options: FormatOptions<'_, PlyWriteOptions>,
    run: &RunOptions,
    writing: &mut Writing<'_, '_>,
) -> Result<()> {
    writing.set_head(header(elements, remarks, encoding(options))?);
    let page_bytes = run.chunk_bytes.unwrap_or(PAGE_BYTES).min(1 << 30);
    let pages = PlyPages::new(elements, options, page_bytes)?;
    writing.announce(pages.about_bytes());
    writing.pages(&pages, &mut (), pages.cost / pages.page_cost + 1, pages.slot_bytes())
}

/// Returns PLY's name of a type. 64-bit integers are written as 32-bit integers, which can represent their values.
fn type_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::I8 => "char",
        Scalar::U8 => "uchar",
        Scalar::I16 => "short",
        Scalar::U16 => "ushort",
        Scalar::I32 | Scalar::I64 => "int",
        Scalar::U32 | Scalar::U64 => "uint",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
    }
}

/// Fails if two written names are equal, since such a file could not be read.
fn unique<'a>(what: &str, names: impl ExactSizeIterator<Item = &'a str>) -> Result<()> {
    let mut seen = HashSet::new();
    seen.try_reserve(names.len())?;
    for name in names {
        let written = word(name);
        if seen.contains(&written) {
            let message = format!("two {what} would be named `{}` in the file", names::shown(&written));
            return Err(
                Error::new(ErrorKind::Usage, message).with_hint("give them names that differ after spaces become `_`")
            );
        }
        seen.insert(written);
    }
    Ok(())
}

/// A header under construction.
#[derive(Default)]
struct PlyWriterHeader(Vec<u8>);

impl PlyWriterHeader {
    /// Appends a line with these words.
    fn line(&mut self, words: &[&str]) -> Result<()> {
        self.0.try_reserve(words.iter().map(|word| word.len() + 1).sum()).map_err(|_| Error::memory("the header"))?;
        for (place, word) in words.iter().enumerate() {
            if place > 0 {
                self.0.push(b' ');
            }
            self.0.extend_from_slice(word.as_bytes());
        }
        self.0.push(b'\n');
        Ok(())
    }

    fn property(&mut self, PlyProperty { name, kind: PlyKind { scalar, count } }: &PlyProperty<'_>) -> Result<()> {
        let name = word(name);
        let scalar = type_name(*scalar);
        match count {
            Some(count) => self.line(&["property", "list", type_name(*count), scalar, &name]),
            None => self.line(&["property", scalar, &name]),
        }
    }

    /// Appends remarks with a keyword, one line per line of a remark.
    fn remarks(&mut self, keyword: &str, remarks: &[String]) -> Result<()> {
        for remark in remarks {
            // Drops the empty line that splitting CR LF leaves, but keeps a remark that is empty as a whole.
            for line in remark.split(['\n', '\r']).filter(|line| !line.is_empty() || remark.is_empty()) {
                let line = names::remark(line);
                let words: &[&str] = if line.is_empty() { &[keyword] } else { &[keyword, &line] };
                self.line(words)?;
            }
        }
        Ok(())
    }
}

/// Encoding of numbers in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlyEncoding {
    Ascii,
    LittleEndian,
    BigEndian,
}

fn encoding(options: FormatOptions<'_, PlyWriteOptions>) -> PlyEncoding {
    match (options.scene.ascii, options.own.big_endian) {
        (true, _) => PlyEncoding::Ascii,
        (false, true) => PlyEncoding::BigEndian,
        (false, false) => PlyEncoding::LittleEndian,
    }
}

fn header(elements: &[PlyElement<'_>], remarks: &Remarks<'_>, encoding: PlyEncoding) -> Result<Vec<u8>> {
    let mut header = PlyWriterHeader::default();
    let encoding = match encoding {
        PlyEncoding::Ascii => "ascii",
        PlyEncoding::LittleEndian => "binary_little_endian",
        PlyEncoding::BigEndian => "binary_big_endian",
    };
    header.line(&["ply"])?;
    header.line(&["format", encoding, "1.0"])?;
    header.remarks("comment", remarks.comments)?;
    header.remarks("obj_info", remarks.infos)?;
    unique("elements", elements.iter().map(|element| &*element.name))?;
    for element in elements {
        let count: u64 = element.pieces.iter().map(|piece| piece.count as u64).sum();
        let name = if element.name.is_empty() { "unnamed".into() } else { word(&element.name) };
        header.line(&["element", &name, &count.to_string()])?;
        unique("properties", element.properties.iter().map(|property| &*property.name))?;
        element.properties.iter().try_for_each(|property| header.property(property))?;
    }
    header.line(&["end_header"])?;
    Ok(header.0)
}

/// Pages with the rows of all elements.
struct PlyPages<'a> {
    pieces: Vec<PlyPiece<'a>>,
    cost: u64,
    page_cost: u64,
    encoding: PlyEncoding,
    form: PlyTextForm,
}

/// Rows, and the total cost of all rows before them.
struct PlyPiece<'a> {
    rows: &'a PlyFieldsRows<'a>,
    /// Types of the properties of a row, in order.
    kinds: &'a [PlyKind],
    start: u64,
}

/// A page in flight.
#[derive(Default)]
struct PlyPageSlot {
    number: u64,
    rows: Vec<u8>,
    len: usize,
    text: Out,
}

impl<'a> PlyPages<'a> {
    fn new(
        elements: &'a [PlyElement<'a>],
        options: FormatOptions<'_, PlyWriteOptions>,
        page_bytes: usize,
    ) -> Result<Self> {
        let encoding = encoding(options);
        let form = PlyTextForm { digits: options.scene.digits_or_shortest(), dialect: options.scene.dialect };
        let page_bytes = page_bytes.max(1) as u64;
        let page_cost = if encoding == PlyEncoding::Ascii { page_bytes.div_ceil(TEXT_FACTOR) } else { page_bytes };
        let mut pages = PlyPages { pieces: Vec::new(), cost: 0, page_cost, encoding, form };
        for element in elements {
            for rows in paced(&element.pieces).filter(|rows| rows.count > 0) {
                let piece = PlyPiece { rows, kinds: &element.kinds, start: pages.cost };
                pages.cost += piece.cost_before(rows.count);
                try_push(&mut pages.pieces, piece, "the plan")?;
            }
        }
        Ok(pages)
    }

    /// Estimated bytes of the file, for progress.
    fn about_bytes(&self) -> u64 {
        match self.encoding {
            PlyEncoding::Ascii => self.cost.saturating_mul(TEXT_FACTOR),
            _ => self.pieces.iter().map(|piece| piece.rows.bytes_before(piece.rows.count)).sum(),
        }
    }

    /// Memory budget of a slot: its rows and, in ASCII, their lines, which can be longer than estimated.
    fn slot_bytes(&self) -> usize {
        let factor = if self.encoding == PlyEncoding::Ascii { 2 * TEXT_FACTOR + 1 } else { 1 };
        usize::try_from(factor * self.page_cost.max(PAGE_BYTES as u64 / 8)).unwrap_or(usize::MAX)
    }

    /// Returns the rows that start in page `number`, piece by piece.
    fn shares(&self, number: u64) -> impl Iterator<Item = (&PlyPiece<'a>, Range<usize>)> {
        let share = number.saturating_mul(self.page_cost)..(number + 1).saturating_mul(self.page_cost);
        let first = self.pieces.partition_point(|piece| piece.end() <= share.start);
        let pieces = self.pieces[first..].iter().take_while(move |piece| piece.start < share.end);
        pieces.map(move |piece| {
            let start = piece.first_at(share.start);
            let end = piece.first_at(share.end);
            // A planted fault: a row that is in no page.
            let lost = usize::from(planted("ply-pages") && start > 0 && start < end);
            (piece, start + lost..end)
        })
    }
}

impl PlyPiece<'_> {
    /// Cost of the rows before a row: their bytes, plus one per row, since rows can be empty.
    fn cost_before(&self, row: usize) -> u64 {
        self.rows.bytes_before(row) + row as u64
    }

    fn end(&self) -> u64 {
        self.start + self.cost_before(self.rows.count)
    }

    /// Returns the first row that starts at or after `cost`.
    fn first_at(&self, cost: u64) -> usize {
        partition_point(0..self.rows.count, |row| self.start + self.cost_before(row) < cost)
    }
}

impl PlyPageSlot {
    fn bytes(&self, encoding: PlyEncoding) -> &[u8] {
        match encoding {
            PlyEncoding::Ascii => self.text.text(),
            _ => &self.rows[..self.len],
        }
    }

    /// Appends binary rows.
    fn rows(&mut self, rows: &PlyFieldsRows<'_>, range: Range<usize>, is_big: bool) -> Result<()> {
        let bytes = rows.bytes_before(range.end) - rows.bytes_before(range.start);
        let end = usize::try_from(bytes).ok().and_then(|bytes| self.len.checked_add(bytes));
        let end = end.ok_or_else(|| Error::memory("a page"))?;
        grow_exact(&mut self.rows, end, "a page")?;
        let page = &mut self.rows[self.len..end];
        if is_big {
            rows.put::<PlyBig>(range, page)
        } else {
            rows.put::<Little>(range, page)
        }
        self.len = end;
        Ok(())
    }

    /// Formats rows as lines.
    fn lines(&mut self, piece: &PlyPiece<'_>, range: Range<usize>, form: PlyTextForm) -> Result<()> {
        for start in range.clone().step_by(BLOCK) {
            let block = start..range.end.min(start + BLOCK);
            self.len = 0;
            self.rows(piece.rows, block.clone(), false)?;
            text::lines(&mut self.text, piece.kinds, form, block.len(), &self.rows[..self.len])?;
        }
        Ok(())
    }
}

impl Pages for PlyPages<'_> {
    type Slot = PlyPageSlot;
    type State = ();

    fn slot(&self) -> Result<PlyPageSlot> {
        Ok(PlyPageSlot::default())
    }

    fn take(&self, number: u64, slot: &mut PlyPageSlot) -> Result<bool> {
        slot.number = number;
        slot.len = 0;
        slot.text.clear();
        Ok(number.saturating_mul(self.page_cost) < self.cost)
    }

    fn format(&self, slot: &mut PlyPageSlot) -> Result<()> {
        self.shares(slot.number).try_for_each(|(piece, range)| match self.encoding {
            PlyEncoding::Ascii => slot.lines(piece, range, self.form),
            encoding => slot.rows(piece.rows, range, encoding == PlyEncoding::BigEndian),
        })
    }

    fn bytes<'a>(&'a self, slot: &'a PlyPageSlot) -> &'a [u8] {
        slot.bytes(self.encoding)
    }
}
