//! Reads the tables of a binary file in parts, some rows at a time.
//!
//! This works only if rows can be located without reading all of them: the file is seekable, and in each element except
//! the last, lists have constant lengths. Other files are read as a whole ([`super::reader`]).

use super::binary::{PlyWalk, ROWS, extra_data, first_counts, first_rows_agree, read_rows};
use super::header::{Element, PlyHeaderEncoding};
use super::layout::{ListType, PlyLayout, PlyShape};
use super::reader::read_header;
use super::rows::{PlyOutcome, PlyRowsTarget};
use super::sink::{PlyScratch, PlySinkBlock};
use super::tables::{sink, table};
use polyhaul_model::error::{Place, Result, try_copy, try_push, try_string};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Column, NONE, Table, Values};
use polyhaul_pipeline::arrays::grow_exact;
use polyhaul_pipeline::attempt::Attempt;
use polyhaul_pipeline::feed::Feed;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::read::Extent;
use polyhaul_pipeline::table_parts::{RowsSlot, TableSource, unlike};

/// Result of reading the tables of a file in parts.
pub struct PlyPartsRead {
    /// Warnings about the file.
    pub warnings: Warnings,
    /// Number of reader threads.
    pub threads: usize,
}

/// Reads the tables of a file in parts of about `part_bytes` by calling `read`, which returns its number of threads or
/// declines. Also declines if the file must be read as a whole.
///
/// # Errors
/// Errors of `read` and of the header.
pub fn parts(
    feed: Feed<'_>,
    options: &ParseOptions,
    part_bytes: usize,
    read: &mut dyn FnMut(&dyn TableSource) -> Result<Attempt<usize>>,
) -> Result<Attempt<PlyPartsRead>> {
    let opened = read_header(feed, options)?;
    let swap = opened.swap();
    let is_ascii = opened.header.encoding == PlyHeaderEncoding::Ascii;
    if is_ascii || !opened.feed.is_positioned() || !opened.warnings.is_empty() || opened.may_be_converted {
        return Ok(Attempt::Declined);
    }
    let mut feed = opened.feed;
    let header = opened.header;
    feed.skip(header.body);
    let elements = &header.elements;
    let Some(places) = places(&feed, elements, swap, options)? else { return Ok(Attempt::Declined) };
    let Some(last) = elements.last() else { return Ok(Attempt::Declined) };
    let size = feed.size().unwrap_or(0);
    let end = places.last().map_or(0, |place| place.end);
    let has_lists = |element: &Element| element.properties.iter().any(|property| property.count.is_some());
    // Data may follow the rows. If an element before the last has lists, their lengths are confirmed only if the rows
    // end exactly with the file.
    let may_be_followed = !elements[..elements.len() - 1].iter().any(has_lists);
    let is_end = |end: u64| end == size || end < size && may_be_followed;
    if !has_lists(last) && !is_end(end) {
        return Ok(Attempt::Declined);
    }
    let mut heads = Vec::new();
    for (element, place) in elements.iter().zip(&places) {
        try_push(&mut heads, without_values(element, place)?, "tables")?;
    }
    let mut walked = feed.again();
    walked.seek(places.last().map_or(0, |place| place.start));
    let (layout, _) = sink(last, swap, |_| false)?;
    let target = PlyRowsTarget { element: last, sink: &layout, pieces: None };
    // Lists of different lengths may add up to the same size. Then some part turns out to differ from the first row.
    let is_even = end == size && first_rows_agree(&walked, walked.at(), last.count, &layout.layout)?;
    let walk = if is_even { None } else { Some(PlyWalk::new(target, &mut walked, options, part_bytes)?) };
    let remarks = [&header.comments[..], &header.infos];
    let is_little = header.encoding == PlyHeaderEncoding::LittleEndian;
    let feed = &feed;
    let places = &places[..];
    let source = PlyTableSource { feed, elements, places, heads, remarks, swap, is_little, part_bytes, walk };
    let Attempt::Done(threads) = read(&source)? else { return Ok(Attempt::Declined) };
    let rows_end = source.walk.map_or(Some(end), |walk| walk.end());
    let Some(rows_end) = rows_end.filter(|&end| is_end(end)) else { return Ok(Attempt::Declined) };
    let mut warnings = Warnings::default();
    if rows_end < size {
        let place = Place { file: feed.name().clone(), offset: Some(rows_end), ..Place::default() };
        warnings.note(options.faults, "extra-data", extra_data(size - rows_end, place))?;
    }
    feed.check_end(Extent::Whole, &options.run.cancel)?;
    Ok(Attempt::Done(PlyPartsRead { warnings, threads }))
}

/// The elements of a file.
struct PlyTableSource<'a, 'f> {
    feed: &'a Feed<'f>,
    elements: &'a [Element],
    places: &'a [PlyPlace],
    heads: Vec<Table>,
    remarks: [&'a [String]; 2],
    swap: bool,
    is_little: bool,
    part_bytes: usize,
    /// Locates the rows of the last element, if they may differ in size.
    walk: Option<PlyWalk<'a, 'f>>,
}

/// Location of an element's rows, if all have the shape of the first row.
struct PlyPlace {
    start: u64,
    end: u64,
    layout: PlyLayout,
    shape: PlyShape,
}

impl<'a, 'f> PlyTableSource<'a, 'f> {
    /// Returns the walk that locates the rows of a table, if their sizes differ.
    fn walk(&self, table: usize) -> Option<&PlyWalk<'a, 'f>> {
        self.walk.as_ref().filter(|_| table + 1 == self.elements.len())
    }
}

impl TableSource for PlyTableSource<'_, '_> {
    fn tables(&self) -> &[Table] {
        &self.heads
    }

    fn remarks(&self) -> [&[String]; 2] {
        self.remarks
    }

    fn size(&self) -> u64 {
        self.feed.size().unwrap_or(0)
    }

    fn part_bytes(&self) -> usize {
        self.part_bytes
    }

    fn takes_in_order(&self, table: usize) -> bool {
        self.walk(table).is_some()
    }

    fn part_count(&self, table: usize) -> u64 {
        let place = &self.places[table];
        let end = if self.walk(table).is_some() { self.size() } else { place.end };
        end.saturating_sub(place.start).div_ceil(self.part_bytes.max(1) as u64)
    }

    fn is_packed(&self, table: usize) -> bool {
        let is_byte = |list: &ListType| list.count.bytes() == 1;
        self.is_little && self.places[table].layout.lists.iter().all(is_byte)
    }

    fn take(&self, table: usize, number: u64, slot: &mut RowsSlot) -> Result<bool> {
        if let Some(walk) = self.walk(table) {
            return walk.take(slot);
        }
        let place = &self.places[table];
        let count = self.elements[table].count;
        let row_bytes = place.shape.row_bytes;
        let part_rows = (self.part_bytes / row_bytes.max(1)).max(1) as u64;
        slot.first_row = number.saturating_mul(part_rows);
        let rows = part_rows.min(count.saturating_sub(slot.first_row));
        slot.rows = rows as usize;
        slot.size = rows as usize * row_bytes;
        grow_exact(&mut slot.bytes, slot.size, ROWS)?;
        let start = place.start + slot.first_row.min(count) * row_bytes as u64;
        read_rows(self.feed, start, &mut slot.bytes[..slot.size])?;
        slot.end = start + slot.size as u64;
        Ok(rows > 0)
    }

    fn check(&self, table: usize, slot: &RowsSlot) -> Result<()> {
        let PlyPlace { layout, shape, .. } = &self.places[table];
        // Walked rows are complete. Other rows were located as if all had the shape of the first one, which their list
        // counts must confirm.
        let is_like = self.walk(table).is_some() || shape.agreeing(layout, &slot.bytes, slot.rows) == slot.rows;
        if is_like { Ok(()) } else { Err(unlike()) }
    }

    fn parse(&self, number: usize, slot: &RowsSlot, wants: &dyn Fn(&str) -> bool) -> Result<Table> {
        let part = Element { count: slot.rows as u64, ..self.elements[number].clone() };
        let (sink, homes) = sink(&part, self.swap, wants)?;
        let shape = if self.walk(number).is_some() { None } else { Some(&self.places[number].shape) };
        let mut outcome = PlyOutcome::new(&sink)?;
        match shape {
            Some(shape) => shape.totals(part.count).zip(&mut outcome.totals).for_each(|(from, to)| *to = from),
            None => slot.totals.iter().zip(&mut outcome.totals).for_each(|(from, to)| *to = *from),
        }
        sink.reserve_rows(part.count)?;
        sink.reserve_values(&outcome.totals)?;
        let bytes = &slot.bytes[..slot.size];
        let rows = slot.rows;
        let block = PlySinkBlock { bytes, rows, first_row: 0, bases: &[], totals: &outcome.totals, shape };
        // SAFETY: no other thread has the sink.
        let findings = unsafe { sink.publish(&block, &mut PlyScratch::default())? };
        if findings.mismatch.is_some() {
            return Err(unlike());
        }
        // SAFETY: all rows were published without a mismatch, and `outcome` has the numbers of values.
        unsafe { table(&part, sink, &homes, &outcome) }
    }
}

/// Locates the rows of each element, assuming that all have the shape of the first row. Returns `None` if that is
/// impossible.
fn places(feed: &Feed<'_>, elements: &[Element], swap: bool, options: &ParseOptions) -> Result<Option<Vec<PlyPlace>>> {
    let mut start = feed.at();
    let mut places = Vec::new();
    for element in elements {
        let layout = PlyLayout::from_element(element, swap)?;
        let counts = match element.count {
            0 => {
                let mut none = Vec::new();
                none.try_reserve_exact(layout.lists.len())?;
                none.resize(layout.lists.len(), 0);
                Some(none)
            }
            _ => first_counts(feed, start, &layout)?,
        };
        let Some(counts) = counts else { return Ok(None) };
        let Some(shape) = layout.shape(&counts)? else { return Ok(None) };
        let limits = &options.limits;
        let max_values = limits.elements.min(u64::from(NONE) - 1);
        let is_small = shape.totals(element.count).all(|total| total <= max_values);
        let end = element.count.checked_mul(shape.row_bytes as u64).and_then(|bytes| bytes.checked_add(start));
        let Some(end) = end.filter(|_| is_small && shape.row_bytes as u64 <= limits.line_bytes) else {
            return Ok(None);
        };
        if start > feed.size().unwrap_or(0) {
            return Ok(None);
        }
        try_push(&mut places, PlyPlace { start, end, layout, shape }, "elements")?;
        start = end;
    }
    Ok(Some(places))
}

/// Returns a table with an element's columns and row count, without values.
fn without_values(element: &Element, place: &PlyPlace) -> Result<Table> {
    let mut columns = Vec::new();
    let mut counts = place.shape.counts.iter();
    for property in &element.properties {
        let offsets = match property.count {
            Some(_) => Some(try_copy(&[0, counts.next().map_or(0, |&(_, count)| count)], "list offsets")?.into()),
            None => None,
        };
        let column = Column { name: try_string(&property.name)?, values: Values::empty(property.item), offsets };
        try_push(&mut columns, column, "columns")?;
    }
    Ok(Table { name: try_string(&element.name)?, row_count: element.count as usize, columns })
}
