//! Tables that are read in parts, each with some of the rows, without building a model.
//!
//! A format that can locate rows without parsing all rows before them implements [`TableSource`]. Memory use then does
//! not grow with the file. A writer pulls parts from it ([`crate::write::Pages`]), or [`each_part`] passes them to a
//! function.

use crate::job::ChunkJob;
use crate::options::RunOptions;
use crate::run::{Crew, run as run_job};
use polyhaul_model::Table;
use polyhaul_model::error::{Error, ErrorKind, Result};
use std::marker::PhantomData;

/// Some rows of a table, as bytes of the file. The memory is reused.
#[derive(Debug, Default)]
pub struct RowsSlot {
    /// The index of the first row in its table.
    pub first_row: u64,
    /// The number of rows.
    pub rows: usize,
    /// A buffer that holds the rows in its first `size` bytes.
    pub bytes: Vec<u8>,
    /// The size of the rows in bytes.
    pub size: usize,
    /// The offset in the file at which the rows end.
    pub end: u64,
    /// The total length of the lists in each column, if the source does not know it.
    pub totals: Vec<u64>,
}

impl RowsSlot {
    /// Returns whether the rows are more than four times the size of a part. Such a slot is not reused.
    pub fn is_long(&self, part_bytes: usize) -> bool {
        self.size > part_bytes.saturating_mul(4)
    }
}

/// A file with tables that several threads read in parts.
///
/// [`ErrorKind::Malformed`] means that the caller must read the file as a whole, which reports its problems, if any.
pub trait TableSource: Sync {
    /// Returns the tables with columns and row counts, but without values. A list column has only the offsets of its
    /// first list.
    fn tables(&self) -> &[Table];

    /// Returns the comments, then the remarks about the object.
    fn remarks(&self) -> [&[String]; 2];

    /// Returns the size of the file in bytes.
    fn size(&self) -> u64;

    /// Returns the approximate size of a part, in bytes of the file.
    fn part_bytes(&self) -> usize;

    /// Returns the approximate number of parts of a table.
    fn part_count(&self, table: usize) -> u64;

    /// Returns whether the parts of a table must be taken sequentially.
    fn takes_in_order(&self, table: usize) -> bool;

    /// Returns whether the rows of a table are packed: the numbers of their columns are little-endian and without gaps,
    /// with a one-byte length before each list.
    fn is_packed(&self, table: usize) -> bool;

    /// Fills `slot` with the rows of part `number`. Returns `false` if there is no such part.
    ///
    /// # Errors
    /// Read errors; [`ErrorKind::Memory`].
    fn take(&self, table: usize, number: u64, slot: &mut RowsSlot) -> Result<bool>;

    /// Checks that the rows in `slot` can be parsed. Called in parallel.
    ///
    /// # Errors
    /// Fails if the rows differ from the first row; see [`unlike`].
    fn check(&self, table: usize, slot: &RowsSlot) -> Result<()>;

    /// Parses the wanted columns and all lists of the rows in `slot`. Called in parallel.
    ///
    /// # Errors
    /// Fails if the rows differ from the first row (see [`unlike`]), or if memory runs out ([`ErrorKind::Memory`]).
    fn parse(&self, table: usize, slot: &RowsSlot, wants: &dyn Fn(&str) -> bool) -> Result<Table>;
}

/// Creates the error that makes the caller read the file as a whole; see [`TableSource`].
#[cold]
pub fn unlike() -> Error {
    Error::new(ErrorKind::Malformed, "the rows are unlike the first one")
}

/// Reads a table. Calls `work` in parallel with the index of each part's first row and its wanted columns, and `take`
/// with the results in order. Returns the number of threads.
///
/// # Errors
/// The first error in the order of the file, whether from the source, `work` or `take`.
pub fn each_part<T: Send>(
    source: &dyn TableSource,
    table: usize,
    run: &RunOptions,
    wants: &(dyn Fn(&str) -> bool + Sync),
    work: impl Fn(u64, Table) -> Result<T> + Sync,
    take: impl FnMut(T) -> Result<()> + Send,
) -> Result<usize> {
    // A slot holds its rows twice, as bytes and as columns.
    let crew = Crew::for_chunks(source.part_count(table), source.part_bytes().saturating_mul(2), run);
    let threads = crew.threads;
    let job = TablePartsJob { source, table, run, wants, work, _result: PhantomData };
    run_job(&job, &mut TablePartsTaken(take), crew, &run.cancel)?;
    Ok(threads)
}

/// A job that reads the parts of a table.
struct TablePartsJob<'a, W, T, F> {
    source: &'a dyn TableSource,
    table: usize,
    run: &'a RunOptions,
    wants: &'a (dyn Fn(&str) -> bool + Sync),
    work: W,
    _result: PhantomData<fn(T, F)>,
}

/// The function that receives the results in order.
struct TablePartsTaken<F>(F);

/// A part in flight.
struct TablePartsSlot<T> {
    rows: RowsSlot,
    result: Option<T>,
}

impl<W, T, F> ChunkJob for TablePartsJob<'_, W, T, F>
where
    W: Fn(u64, Table) -> Result<T> + Sync,
    T: Send,
    F: FnMut(T) -> Result<()> + Send,
{
    type Slot = TablePartsSlot<T>;
    type State = TablePartsTaken<F>;

    fn takes_in_order(&self) -> bool {
        self.source.takes_in_order(self.table)
    }

    fn slot(&self) -> Result<TablePartsSlot<T>> {
        Ok(TablePartsSlot { rows: RowsSlot::default(), result: None })
    }

    fn take(&self, number: u64, slot: &mut TablePartsSlot<T>) -> Result<bool> {
        if slot.rows.is_long(self.source.part_bytes()) {
            slot.rows = RowsSlot::default();
        }
        self.source.take(self.table, number, &mut slot.rows)
    }

    fn parse(&self, slot: &mut TablePartsSlot<T>) -> Result<()> {
        let part = self.source.parse(self.table, &slot.rows, self.wants)?;
        slot.result = Some((self.work)(slot.rows.first_row, part)?);
        Ok(())
    }

    fn place(&self, TablePartsTaken(take): &mut TablePartsTaken<F>, slot: &mut TablePartsSlot<T>) -> Result<()> {
        if let Some(progress) = &self.run.progress {
            progress.report(slot.rows.end, Some(self.source.size()));
        }
        slot.result.take().map_or(Ok(()), take)
    }
}
