//! Writes tables as elements: columns keep their order and their types, except that 64-bit integers become 32 bits
//! wide.

use super::fields::{Pick, Picked, PlyField, PlyFieldsRows};
use super::text::PlyKind;
use super::{PlyElement, PlyEncoding, PlyPageSlot, PlyPages, PlyProperty, Remarks, encoding, header};
use polyhaul_geometry::losses::note_left_out;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::options::{FormatOptions, PlyWriteOptions};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Array, Column, Scalar, Table, Values};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::write::{Pages, Writing};

/// Writes an element per table.
pub fn write(
    tables: &[Table],
    [comments, infos]: [&[String]; 2],
    options: FormatOptions<'_, PlyWriteOptions>,
    run: &RunOptions,
    writing: &mut Writing<'_, '_>,
) -> Result<()> {
    super::write(&elements(tables.iter())?, &Remarks { comments, infos }, options, run, writing)
}

/// Creates an element per table.
pub(super) fn elements<'t>(tables: impl Iterator<Item = &'t Table>) -> Result<Vec<PlyElement<'t>>> {
    let mut elements = Vec::new();
    for table in tables {
        try_push(&mut elements, element(table, &kinds(table)?)?, "the plan")?;
    }
    Ok(elements)
}

/// Returns the types of a table's columns in a file.
fn kinds(table: &Table) -> Result<Vec<PlyKind>> {
    let mut kinds = Vec::new();
    for column in &table.columns {
        try_push(&mut kinds, PlyNeed::from_column(column)?.kind(), "the plan")?;
    }
    Ok(kinds)
}

/// Creates the element of a table, with properties of these types.
fn element<'a>(table: &'a Table, kinds: &[PlyKind]) -> Result<PlyElement<'a>> {
    let mut properties = Vec::new();
    let mut fields = Vec::new();
    for (column, &kind) in table.columns.iter().zip(kinds) {
        try_push(&mut properties, PlyProperty { name: column.name.as_str().into(), kind }, "the plan")?;
        try_push(&mut fields, field(column, 0..table.row_count, kind.count), "the plan")?;
    }
    let mut pieces = Vec::new();
    try_push(&mut pieces, PlyFieldsRows::new(row_count(table), fields), "the plan")?;
    PlyElement::new(&table.name, properties, pieces)
}

/// Number of rows to write. Rows without properties would take no bytes, and readers reject them.
fn row_count(table: &Table) -> usize {
    if table.columns.is_empty() { 0 } else { table.row_count }
}

/// Warns about everything in tables and comments that a file cannot store.
pub fn note_losses(tables: &[Table], remarks: [&[String]; 2], output: &str, warnings: &mut Warnings) {
    super::note_remarks(remarks, output, warnings);
    let dropped = tables.iter().map(|table| (table.row_count - row_count(table)) as u64).sum();
    let nouns = ["row without properties", "rows without properties"];
    note_left_out("PLY", [("element-left-out", nouns, dropped)], output, warnings);
}

/// Writes tables in parts.
pub struct PlyTableParts<'o> {
    /// Types of each table's properties.
    kinds: Vec<Vec<PlyKind>>,
    options: FormatOptions<'o, PlyWriteOptions>,
}

/// Formatted rows; reused memory.
#[derive(Default)]
pub struct PlyPartText(PlyPageSlot);

impl<'o> PlyTableParts<'o> {
    /// Starts a file. Only the number of rows, the columns and the first lists of the tables are known.
    pub fn start(
        tables: &[Table],
        [comments, infos]: [&[String]; 2],
        options: FormatOptions<'o, PlyWriteOptions>,
        writing: &mut Writing<'_, '_>,
    ) -> Result<PlyTableParts<'o>> {
        let mut kinds_of_tables = Vec::new();
        for table in tables {
            try_push(&mut kinds_of_tables, kinds(table)?, "the plan")?;
        }
        writing.set_head(header(&elements(tables.iter())?, &Remarks { comments, infos }, encoding(options))?);
        Ok(PlyTableParts { kinds: kinds_of_tables, options })
    }

    /// Returns whether rows of table `number` are written packed: see
    /// [`is_packed`](polyhaul_pipeline::table_parts::TableSource::is_packed).
    pub fn is_packed(&self, number: usize, table: &Table) -> bool {
        let is_kept = |(column, kind): (&Column, &PlyKind)| {
            kind.scalar == column.values.scalar() && kind.count.is_none_or(|count| count == Scalar::U8)
        };
        encoding(self.options) == PlyEncoding::LittleEndian
            && self.kinds.get(number).is_some_and(|kinds| table.columns.iter().zip(kinds).all(is_kept))
    }

    /// Formats rows of table `number`. Returns `false` if the rows do not fit the types in the header, for example
    /// because a list is too long.
    pub fn format(&self, number: usize, part: &Table, PlyPartText(slot): &mut PlyPartText) -> Result<bool> {
        let part_kinds = kinds(part)?;
        let Some(kinds) = self.kinds.get(number) else { return Ok(false) };
        let fits = |(part_kind, kind): (&PlyKind, &PlyKind)| {
            part_kind.scalar == kind.scalar && part_kind.count.map(Scalar::bytes) <= kind.count.map(Scalar::bytes)
        };
        if part_kinds.len() != kinds.len() || !part_kinds.iter().zip(kinds).all(fits) {
            return Ok(false);
        }
        let elements = [element(part, kinds)?];
        let pages = PlyPages::new(&elements, self.options, usize::MAX)?;
        pages.take(0, slot)?;
        pages.format(slot)?;
        Ok(true)
    }

    /// Returns the formatted rows.
    pub fn bytes<'s>(&self, PlyPartText(slot): &'s PlyPartText) -> &'s [u8] {
        slot.bytes(encoding(self.options))
    }
}

/// Creates the field for these rows of a column, unchanged.
pub(super) fn field<'a>(column: &'a Column, rows: std::ops::Range<usize>, count: Option<Scalar>) -> PlyField<'a> {
    match (&column.offsets, count) {
        (Some(offsets), Some(count)) => {
            let picked = Picked { pick: Pick::Own(rows.start), offsets };
            let offsets = offsets.get(rows.start..=rows.end).unwrap_or_default();
            PlyField::Lists { offsets, values: &column.values, picked, count }
        }
        _ => PlyField::Numbers(&column.values, Pick::Own(rows.start)),
    }
}

/// Requirements of columns that become one property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlyNeed {
    scalar: Scalar,
    /// Length of the longest list.
    longest: Option<u32>,
    /// Number of components of an attribute that is written as one property per component.
    pub(super) width: Option<usize>,
}

impl PlyNeed {
    /// Determines the requirements of a column.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for integers of more than 32 bits, which PLY does not have.
    pub(super) fn from_column(column: &Column) -> Result<PlyNeed> {
        let scalar = match &column.values {
            Values::I64(values) => match bounds(values) {
                (low, high) if low >= i32::MIN.into() && high <= i32::MAX.into() => Some(Scalar::I32),
                (low, high) if low >= 0 && high <= u32::MAX.into() => Some(Scalar::U32),
                _ => None,
            },
            Values::U64(values) => values.iter().all(|&value| value <= u32::MAX.into()).then_some(Scalar::U32),
            values => Some(values.scalar()),
        };
        let message =
            || format!("column `{}` has integers that need more than 32 bits, which PLY cannot store", column.name);
        let scalar =
            scalar.ok_or_else(|| Error::new(ErrorKind::Usage, message()).with_hint("convert it to 64-bit floats"))?;
        Ok(PlyNeed { scalar, longest: column.offsets.as_ref().map(Array::as_slice).map(longest), width: None })
    }

    /// Combines requirements; `None` if they are incompatible.
    pub(super) fn join(self, other: PlyNeed) -> Option<PlyNeed> {
        let fits = self.scalar == other.scalar && self.longest.is_some() == other.longest.is_some();
        let width = self.width.filter(|_| self.width == other.width);
        fits.then(|| PlyNeed { longest: self.longest.max(other.longest), width, ..self })
    }

    pub(super) fn kind(self) -> PlyKind {
        PlyKind { scalar: self.scalar, count: self.longest.map(count_type).filter(|_| self.width.is_none()) }
    }
}

fn bounds(values: &[i64]) -> (i64, i64) {
    values.iter().fold((0, 0), |(low, high), &value| (low.min(value), high.max(value)))
}

/// Length of the longest list.
pub(super) fn longest(offsets: &[u32]) -> u32 {
    let ends = offsets.get(1..).unwrap_or_default();
    offsets.iter().zip(ends).fold(0, |longest, (start, end)| longest.max(end.wrapping_sub(*start)))
}

/// Returns the smallest type for counts up to `longest`.
pub(super) fn count_type(longest: u32) -> Scalar {
    match longest {
        0..=0xff => Scalar::U8,
        0x100..=0xffff => Scalar::U16,
        _ => Scalar::U32,
    }
}
