//! Tables that are read some rows at a time, in place of a model.
//!
//! A format that finds rows without reading all before them is a [`TableSource`]; memory then does not grow with the
//! file. A writer pulls parts from it ([`crate::write::Pages`]), or [`each_part`] hands them over. Sources and their
//! users know nothing of each other.

use crate::job::ChunkJob;
use crate::options::RunOptions;
use crate::run::{Crew, run as run_job};
use polyhaul_model::Table;
use polyhaul_model::error::{Error, ErrorKind, Result};
use std::marker::PhantomData;

/// Rows of a table as bytes of the file: reused memory.
#[derive(Debug, Default)]
pub struct RowsSlot {
    /// The number of the first row in its table.
    pub first_row: u64,
    /// How many rows there are.
    pub rows: usize,
    /// A buffer: its first `size` bytes are the rows.
    pub bytes: Vec<u8>,
    /// The bytes of all rows.
    pub size: usize,
    /// Where they end in the file.
    pub end: u64,
    /// How many values the lists of each column have, if the source does not know it.
    pub totals: Vec<u64>,
}

impl RowsSlot {
    /// Whether the rows took far more than the bytes of a part: such memory is not kept for the next ones.
    pub fn is_long(&self, part_bytes: usize) -> bool {
        self.size > part_bytes.saturating_mul(4)
    }
}

/// A file whose tables are read some rows at a time, by several threads.
///
/// An error of kind [`ErrorKind::Malformed`] means that the file must be
/// read as a whole, which reports what is wrong with it, if anything is.
pub trait TableSource: Sync {
    /// The tables, with the number of rows and the columns that they have, but without values. A column of lists has
    /// the offsets of the first one alone.
    fn tables(&self) -> &[Table];

    /// The comments and the remarks about the object.
    fn remarks(&self) -> [&[String]; 2];

    /// The size of the file in bytes.
    fn size(&self) -> u64;

    /// About how many bytes of the file are taken at a time.
    fn part_bytes(&self) -> usize;

    /// About how many parts a table has.
    fn part_count(&self, table: usize) -> u64;

    /// Whether the parts of a table must be taken one after another.
    fn takes_in_order(&self, table: usize) -> bool;

    /// Whether the rows of a table are packed: nothing but the numbers of their columns, one after another, the lowest
    /// byte first, and before a list its length as one byte.
    fn is_packed(&self, table: usize) -> bool;

    /// Takes the rows of part `number`; `false` if there is none.
    ///
    /// # Errors
    /// Those of reading; memory runs out.
    fn take(&self, table: usize, number: u64, slot: &mut RowsSlot) -> Result<bool>;

    /// In parallel: sees that rows could be parsed.
    ///
    /// # Errors
    /// The rows are unlike the first one.
    fn check(&self, table: usize, slot: &RowsSlot) -> Result<()>;

    /// In parallel: the wanted columns of rows that were taken, and all lists.
    ///
    /// # Errors
    /// The rows are unlike the first one; memory runs out.
    fn parse(&self, table: usize, slot: &RowsSlot, wants: &dyn Fn(&str) -> bool) -> Result<Table>;
}

/// The error that the file must be read as a whole: see [`TableSource`].
#[cold]
pub fn unlike() -> Error {
    Error::new(ErrorKind::Malformed, "the rows are unlike the first one")
}

/// Reads a table: `work` gets the wanted columns of each part and the number of its first row, in parallel; `take` gets
/// the results in order. Returns how many threads worked.
///
/// # Errors
/// Those of the source, of `work` and of `take`: the first one in the file.
pub fn each_part<T: Send>(
    source: &dyn TableSource,
    table: usize,
    run: &RunOptions,
    wants: &(dyn Fn(&str) -> bool + Sync),
    work: impl Fn(u64, Table) -> Result<T> + Sync,
    take: impl FnMut(T) -> Result<()> + Send,
) -> Result<usize> {
    let threads = run.worker_threads().min(source.part_count(table) as usize).max(1);
    // The rows of a slot are there as bytes and as columns.
    let crew = Crew::new(threads, run.memory_limit, source.part_bytes().saturating_mul(2));
    let threads = crew.threads;
    let job = TablePartsJob { source, table, run, wants, work, _made: PhantomData };
    run_job(&job, &mut TablePartsTaken(take), crew, &run.cancel)?;
    Ok(threads)
}

/// The parts of a table, and what is made of them.
struct TablePartsJob<'a, W, T, F> {
    source: &'a dyn TableSource,
    table: usize,
    run: &'a RunOptions,
    wants: &'a (dyn Fn(&str) -> bool + Sync),
    work: W,
    _made: PhantomData<fn(T, F)>,
}

/// Takes what was made, in order.
struct TablePartsTaken<F>(F);

/// A part in flight.
struct TablePartsSlot<T> {
    rows: RowsSlot,
    made: Option<T>,
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
        Ok(TablePartsSlot { rows: RowsSlot::default(), made: None })
    }

    fn take(&self, number: u64, slot: &mut TablePartsSlot<T>) -> Result<bool> {
        if slot.rows.is_long(self.source.part_bytes()) {
            slot.rows = RowsSlot::default();
        }
        self.source.take(self.table, number, &mut slot.rows)
    }

    fn parse(&self, slot: &mut TablePartsSlot<T>) -> Result<()> {
        let part = self.source.parse(self.table, &slot.rows, self.wants)?;
        slot.made = Some((self.work)(slot.rows.first_row, part)?);
        Ok(())
    }

    fn place(&self, TablePartsTaken(take): &mut TablePartsTaken<F>, slot: &mut TablePartsSlot<T>) -> Result<()> {
        if let Some(progress) = &self.run.progress {
            progress.tell(slot.rows.end, Some(self.source.size()));
        }
        slot.made.take().map_or(Ok(()), take)
    }
}
