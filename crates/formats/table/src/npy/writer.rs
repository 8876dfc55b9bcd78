//! Writes rows as an npy file: a two-dimensional array if all columns have one type, otherwise an array of records.

use super::super::writer::{Rows, TableMoved, TableWriterLane, TableWriterNumbers};
use super::header::MAGIC;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::names;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::write::{Pages, Writing};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

/// Approximate bytes per page.
const PAGE_BYTES: usize = 256 << 10;
/// Number of bytes of rows to fill from all columns before the next rows, so that they stay in the L1 cache.
const TILE_BYTES: usize = 16 << 10;
/// Alignment of the data in the file.
const ALIGNMENT: usize = 64;

/// Pages of rows.
pub(in super::super) struct NpyPages<'a> {
    rows: &'a Rows<'a>,
    /// Offset of each column in a row.
    offsets: Vec<usize>,
    row_bytes: usize,
    page_rows: usize,
    /// Index of the first page of each block, followed by the number of pages.
    first_pages: Vec<u64>,
}

/// A page in flight.
#[derive(Default)]
pub(in super::super) struct NpyPageSlot {
    block: usize,
    rows: Range<usize>,
    moved: TableMoved,
    bytes: Vec<u8>,
}

/// Writes rows as a numpy array.
pub fn write(rows: &Rows<'_>, run: &RunOptions, writing: &mut Writing<'_, '_>) -> Result<()> {
    writing.set_head(head(rows, rows.row_count())?);
    let records = records(rows, run.chunk_bytes.unwrap_or(PAGE_BYTES).clamp(1, 1 << 30))?;
    let row_bytes = records.row_bytes;
    let pages = records.first_pages.last().copied().unwrap_or(0);
    writing.announce((row_bytes as u64).saturating_mul(rows.row_count()));
    writing.pages(&records, &mut (), pages, records.page_rows.saturating_mul(row_bytes) + (16 << 10))
}

/// Divides rows into pages of about `page_bytes`.
pub(in super::super) fn records<'a>(rows: &'a Rows<'a>, page_bytes: usize) -> Result<NpyPages<'a>> {
    let mut offsets = Vec::new();
    let mut row_bytes = 0;
    for lane in lanes(rows) {
        try_push(&mut offsets, row_bytes, "columns")?;
        row_bytes += type_of(lane.numbers).1;
    }
    let page_rows = (page_bytes / row_bytes.max(1)).max(1);
    let first_pages = rows.first_pages(page_rows)?;
    Ok(NpyPages { rows, offsets, row_bytes, page_rows, first_pages })
}

/// Returns the columns of the first block. The columns of all other blocks have the same types.
fn lanes<'r>(rows: &'r Rows<'_>) -> &'r [TableWriterLane<'r>] {
    rows.blocks.first().map_or(&[][..], |block| &block.lanes)
}

/// Whether all columns have the same type, so that the file is a plain array without names.
pub fn is_uniform(rows: &Rows<'_>) -> bool {
    let first = lanes(rows).first().map(|lane| type_of(lane.numbers).0);
    lanes(rows).iter().all(|lane| Some(type_of(lane.numbers).0) == first)
}

/// Returns the name of a type in an npy file, and its size in bytes.
fn type_of(numbers: TableWriterNumbers<'_>) -> (&'static str, usize) {
    match numbers {
        TableWriterNumbers::I8(_) => ("|i1", 1),
        TableWriterNumbers::U8(_) | TableWriterNumbers::Unit(_) => ("|u1", 1),
        TableWriterNumbers::I16(_) => ("<i2", 2),
        TableWriterNumbers::U16(_) => ("<u2", 2),
        TableWriterNumbers::I32(_) => ("<i4", 4),
        TableWriterNumbers::U32(_) => ("<u4", 4),
        TableWriterNumbers::I64(_) => ("<i8", 8),
        TableWriterNumbers::U64(_) => ("<u8", 8),
        TableWriterNumbers::F32(_) => ("<f4", 4),
        TableWriterNumbers::F64(_) => ("<f8", 8),
    }
}

/// Formats everything before the data.
pub(in super::super) fn head(rows: &Rows<'_>, row_count: u64) -> Result<Vec<u8>> {
    let lanes = lanes(rows);
    let first = lanes.first().map_or("<f8", |lane| type_of(lane.numbers).0);
    let is_uniform = is_uniform(rows);
    let mut text = NpyText::default();
    text.push("{'descr': ")?;
    if is_uniform {
        ["'", first, "'"].iter().try_for_each(|part| text.push(part))?
    } else {
        fields(rows, lanes, &mut text)?
    }
    let shape = match lanes.len() {
        width if is_uniform && width != 1 => format!("({row_count}, {width})"),
        _ => format!("({row_count},)"),
    };
    [", 'fortran_order': False, 'shape': ", &shape, ", }"].iter().try_for_each(|part| text.push(part))?;
    let NpyText(text) = text;
    // Before version 3, the text is Latin-1. The size includes the padding, and has 16 bits in version 1.
    let (version, size_bytes) = match (text.is_ascii(), text.len() + ALIGNMENT < usize::from(u16::MAX)) {
        (true, true) => (1, 2),
        (true, false) => (2, 4),
        (false, _) => (3, 4),
    };
    let before = MAGIC.len() + 2 + size_bytes;
    // The header ends with a newline, and the data after it is aligned, so that it can be mapped into memory.
    let total = (before + text.len() + 1).next_multiple_of(ALIGNMENT);
    let mut head = Vec::new();
    head.try_reserve_exact(total).map_err(|_| Error::memory("a header"))?;
    head.extend_from_slice(MAGIC);
    head.extend_from_slice(&[version, 0]);
    head.extend_from_slice(&((total - before) as u32).to_le_bytes()[..size_bytes]);
    head.extend_from_slice(text.as_bytes());
    head.resize(total - 1, b' ');
    head.push(b'\n');
    Ok(head)
}

/// A text that returns an error if out of memory.
#[derive(Default)]
struct NpyText(String);

impl NpyText {
    fn push(&mut self, part: &str) -> Result<()> {
        self.0.try_reserve(part.len()).map_err(|_| Error::memory("a header"))?;
        self.0.push_str(part);
        Ok(())
    }
}

/// Formats the fields of records. numpy requires their names to be unique.
fn fields(rows: &Rows<'_>, lanes: &[TableWriterLane<'_>], text: &mut NpyText) -> Result<()> {
    let mut seen = HashSet::new();
    for (number, (lane, name)) in lanes.iter().zip(&rows.names).enumerate() {
        let name: Cow<'_, str> = if name.is_empty() { format!("f{number}").into() } else { names::written(name) };
        text.push(if number == 0 { "[('" } else { ", ('" })?;
        for part in name.split_inclusive(['\\', '\'']) {
            let escaped = part.strip_suffix(['\\', '\'']);
            text.push(escaped.unwrap_or(part))?;
            match part.as_bytes().last() {
                Some(b'\\') => text.push("\\\\")?,
                Some(b'\'') => text.push("\\'")?,
                _ => {}
            }
        }
        ["', '", type_of(lane.numbers).0, "')"].iter().try_for_each(|part| text.push(part))?;
        if seen.contains(&name) {
            let message = format!("two columns are named `{}`; numpy requires unique names", names::shown(&name));
            return Err(Error::new(ErrorKind::Usage, message));
        }
        seen.try_reserve(1).map_err(|_| Error::memory("names"))?;
        seen.insert(name);
    }
    text.push("]")
}

impl Pages for NpyPages<'_> {
    type Slot = NpyPageSlot;
    type State = ();

    fn slot(&self) -> Result<NpyPageSlot> {
        Ok(NpyPageSlot::default())
    }

    fn take(&self, number: u64, slot: &mut NpyPageSlot) -> Result<bool> {
        // The last block that starts here: all others with the same first page are empty.
        slot.block = self.first_pages.partition_point(|&first| first <= number).saturating_sub(1);
        let Some(block) = self.rows.blocks.get(slot.block) else { return Ok(false) };
        let first = (number - self.first_pages[slot.block]) as usize * self.page_rows;
        slot.rows = first..block.row_count.min(first + self.page_rows);
        Ok(true)
    }

    fn format(&self, slot: &mut NpyPageSlot) -> Result<()> {
        let size = slot.rows.len() * self.row_bytes;
        slot.bytes.clear();
        slot.bytes.try_reserve_exact(size).map_err(|_| Error::memory("a page of rows"))?;
        slot.bytes.resize(size, 0);
        let lanes = self.rows.blocks[slot.block].lanes(slot.rows.clone(), &mut slot.moved)?;
        let tile_rows = (TILE_BYTES / self.row_bytes.max(1)).max(1);
        let tiles = slot.bytes.chunks_mut((tile_rows * self.row_bytes).max(1));
        for (tile, start) in tiles.zip((0..slot.rows.len()).step_by(tile_rows)) {
            let rows = start..slot.rows.len().min(start + tile_rows);
            for (lane, &offset) in lanes.iter().zip(&self.offsets) {
                lane.store(rows.clone(), &mut tile[offset..], self.row_bytes);
            }
        }
        Ok(())
    }

    fn bytes<'a>(&'a self, slot: &'a NpyPageSlot) -> &'a [u8] {
        slot.bytes()
    }
}

impl NpyPageSlot {
    pub(in super::super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl TableWriterLane<'_> {
    /// Stores rows in `bytes`. Consecutive rows are `row_bytes` bytes apart.
    fn store(&self, rows: Range<usize>, bytes: &mut [u8], row_bytes: usize) {
        /// One arm per type.
        macro_rules! store {
            ($($kind:ident),*) => {
                match self.numbers {
                    $(TableWriterNumbers::$kind(values) => self.put(values, rows, bytes, row_bytes, |value| value.to_le_bytes()),)*
                    TableWriterNumbers::Unit(values) => {
                        let byte = |value| [super::super::writer::byte_of(value) as u8];
                        self.put(values, rows, bytes, row_bytes, byte);
                    }
                }
            };
        }
        store!(I8, U8, I16, U16, I32, U32, I64, U64, F32, F64);
    }

    fn put<T: Copy, const N: usize>(
        &self,
        values: &[T],
        rows: Range<usize>,
        bytes: &mut [u8],
        row_bytes: usize,
        convert: impl Fn(T) -> [u8; N],
    ) {
        let values = values.get(self.first + rows.start * self.step..).unwrap_or_default();
        let values = values.iter().step_by(self.step).take(rows.len());
        for (place, &value) in bytes.chunks_mut(row_bytes.max(1)).zip(values) {
            if let Some(place) = place.first_chunk_mut() {
                *place = convert(value);
            }
        }
    }
}
