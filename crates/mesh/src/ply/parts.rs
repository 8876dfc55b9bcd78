//! Tables of a binary file that are used while they are read: some rows at a time.
//!
//! For files whose rows can be found without reading all of them: those with any place in reach, and lists that are all
//! like the first in each element but the last. Others are read as a whole ([`super::reader`]).

use super::binary::{PlyReader, first_counts};
use super::header::{Element, PlyHeaderEncoding};
use super::layout::PlyLayout;
use super::pieces::PlyPiecesRead;
use super::reader::begin;
use super::rows::{PlyRowsProgress, PlyRowsTarget};
use super::tables::{sink, table};
use polyhaul_model::error::{Result, try_copy, try_push, try_string};
use polyhaul_model::{Column, Table, Values};
use polyhaul_pipeline::consumer::TableConsumer;
use polyhaul_pipeline::feed::Feed;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::read::Extent;

/// The first row of an element.
struct PlyFirstRow {
    bytes: u64,
    /// The length of each list.
    counts: Vec<u32>,
}

/// Reads tables to a consumer, about `part_bytes` at a time; `None` if the file must be read as a whole.
pub fn parts(
    feed: Feed<'_>,
    options: &ParseOptions,
    part_bytes: usize,
    consumer: &mut dyn TableConsumer,
) -> Result<Option<PlyPiecesRead>> {
    let begun = begin(feed, options)?;
    let swap = begun.swap();
    if begun.header.encoding == PlyHeaderEncoding::Ascii || !begun.feed.is_positioned() {
        return Ok(None);
    }
    let (mut feed, mut warnings, mut header) = (begun.feed, begun.warnings, begun.header);
    feed.skip(header.body);
    let Some(first_rows) = first_rows(&feed, &header.elements, swap)? else { return Ok(None) };
    let mut tables = Vec::new();
    for (element, first) in header.elements.iter().zip(&first_rows) {
        try_push(&mut tables, without_values(element, first)?, "tables")?;
    }
    if !consumer.begin(tables, [std::mem::take(&mut header.comments), std::mem::take(&mut header.infos)])? {
        return Ok(None);
    }
    let progress = PlyRowsProgress::default();
    let mut reader = PlyReader { feed, options, warnings: &mut warnings, threads: 1, progress };
    for (number, (element, first)) in header.elements.iter().zip(&first_rows).enumerate() {
        let most = (part_bytes as u64 / first.bytes.max(1)).max(1);
        let mut row = 0;
        while row < element.count {
            let part = Element { count: most.min(element.count - row), ..element.clone() };
            row += part.count;
            let part = read_part(&mut reader, &part, swap, |name| consumer.wants(number, name))?;
            consumer.take(number, part)?;
        }
    }
    reader.finish()?;
    reader.feed.check_end(Extent::Whole, &options.run.cancel)?;
    let threads = reader.threads;
    Ok(Some(PlyPiecesRead { warnings, threads }))
}

/// The next rows, as many as `part` counts.
fn read_part(
    reader: &mut PlyReader<'_, '_>,
    part: &Element,
    swap: bool,
    wants: impl Fn(&str) -> bool,
) -> Result<Table> {
    let (sink, homes) = sink(part, swap, wants)?;
    let outcome = reader.element(PlyRowsTarget { element: part, sink: &sink, pieces: None })?;
    // SAFETY: `element` returned no error, so that all rows were published to the sink, and `outcome` has their counts.
    unsafe { table(part, sink, &homes, &outcome) }
}

/// The first row of each element, at the place where it is if the rows before it are like theirs; `None` if that cannot
/// be.
fn first_rows(feed: &Feed<'_>, elements: &[Element], swap: bool) -> Result<Option<Vec<PlyFirstRow>>> {
    let (mut at, mut rows) = (feed.at(), Vec::new());
    for element in elements {
        let layout = PlyLayout::from_element(element, swap)?;
        let counts = match element.count {
            0 => Some(vec![0; layout.lists.len()]),
            _ => first_counts(feed, at, &layout)?,
        };
        let Some(counts) = counts else { return Ok(None) };
        let Some(shape) = layout.shape(&counts)? else { return Ok(None) };
        let first = PlyFirstRow { bytes: shape.row_bytes as u64, counts };
        at = at.saturating_add(element.count.saturating_mul(first.bytes));
        try_push(&mut rows, first, "elements")?;
    }
    Ok(Some(rows))
}

/// A table of an element's columns and number of rows.
fn without_values(element: &Element, first: &PlyFirstRow) -> Result<Table> {
    let (mut columns, mut lists) = (Vec::new(), first.counts.iter());
    for property in &element.properties {
        let offsets = match property.count {
            Some(_) => Some(try_copy(&[0, lists.next().copied().unwrap_or(0)], "list offsets")?.into()),
            None => None,
        };
        let column = Column { name: try_string(&property.name)?, values: Values::empty(property.item), offsets };
        try_push(&mut columns, column, "columns")?;
    }
    Ok(Table { name: try_string(&element.name)?, row_count: element.count as usize, columns })
}
