//! Reads npy files into columns, in chunks of rows: in parallel from a positioned source, or sequentially from a
//! stream.

use super::super::typed::TypedColumn;
use super::header::{MAGIC, MAX_PREFIX, NpyField, NpyHeader, header, prefix};
use polyhaul_bytes::DecodeAhead;
use polyhaul_model as model;
use polyhaul_model::Table;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault, planted, truncated, try_push};
use polyhaul_model::options::{ColumnName, ColumnTypes, TableReadOptions};
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::read::Extent;
use polyhaul_pipeline::run::{Crew, run};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

/// Bytes per chunk.
const CHUNK_BYTES: usize = 512 << 10;

/// Result of reading an npy file.
pub struct Npy {
    pub table: Table,
    pub warnings: Warnings,
    pub threads: usize,
}

/// A chunk in flight: records, and their range in the file.
struct NpySlot {
    bytes: Vec<u8>,
    records: Range<u64>,
}

struct NpyJob<'a> {
    bytes: Bytes<'a>,
    file: Arc<str>,
    header: NpyHeader,
    /// Number of records to read.
    record_count: u64,
    chunk_records: u64,
    columns: Vec<NpyTarget>,
    options: &'a ParseOptions<TableReadOptions>,
}

/// A column to read.
struct NpyTarget {
    /// Index of the field.
    place: usize,
    field: NpyField,
    numbers: TypedColumn,
}

/// Reads an npy file.
pub fn read(bytes: Bytes<'_>, options: &ParseOptions<TableReadOptions>) -> Result<Npy> {
    let file: Arc<str> = bytes.name().into();
    let mut header = read_header(&bytes, &file, options)?;
    let columns = targets(&mut header, options)?;
    let rows = header.row_count.min(options.own.max_rows.unwrap_or(u64::MAX));
    // If columns are stored consecutively, all of them are read, even if only a part of each column is kept.
    let record_count =
        if header.by_columns { header.row_count.checked_mul(header.fields.len() as u64) } else { Some(rows) };
    // Far below the maximum of a u64, so that adding the size of the header cannot overflow.
    let fits = |count: &u64| count.checked_mul(header.record_bytes as u64).is_some_and(|size| size < u64::MAX / 2);
    let Some(record_count) = record_count.filter(fits) else {
        let message = "the array is larger than any file";
        return Err(fault(&file, header.body, message));
    };
    let size = record_count * header.record_bytes as u64;
    if let Some(len) = bytes.len()
        && len < header.body + size
    {
        return Err(cut(&file, len, &header));
    }
    let chunk_bytes = options.run.chunk_bytes.unwrap_or(CHUNK_BYTES).clamp(1, 1 << 30);
    let chunk_records = (chunk_bytes / header.record_bytes.max(1)).max(1) as u64;
    let slot_bytes = chunk_records as usize * header.record_bytes + (16 << 10);
    let chunks = record_count.div_ceil(chunk_records);
    let crew = Crew::for_chunks(chunks, slot_bytes, &options.run);
    let job = NpyJob { bytes, file, header, record_count, chunk_records, columns, options };
    // An uncompressed file certainly has its contents, so all rows are reserved, and columns need not grow.
    if job.bytes.is_backed() {
        job.reserve(rows as usize)?;
    }
    if size > 0 {
        run(&job, &mut 0, crew, &options.run.cancel)?;
    }
    let extent = if rows == job.header.row_count { Extent::Whole } else { Extent::Start };
    job.bytes.check_end(extent, &options.run.cancel)?;
    let mut warnings = Warnings::default();
    if rows == job.header.row_count {
        job.note_rest(size, &mut warnings)?;
    }
    // SAFETY: the run finished without an error, so all `record_count` records were read and published: `rows` rows of
    // each kept column.
    let table = unsafe { job.finish(rows as usize)? };
    Ok(Npy { table, warnings, threads: crew.threads })
}

fn read_header(bytes: &Bytes<'_>, file: &Arc<str>, options: &ParseOptions<TableReadOptions>) -> Result<NpyHeader> {
    let mut head = [0; MAX_PREFIX];
    // Never read a stream further than necessary: the longer form has two more bytes.
    let mut head_len = bytes.read(0, &mut head[..MAGIC.len() + 4])?;
    if head_len == MAGIC.len() + 4 && head[MAGIC.len()] > 1 {
        head_len += bytes.read(head_len as u64, &mut head[head_len..])?;
    }
    let (size, start) = prefix(&head[..head_len], file)?;
    let mut text: Vec<u8> = Vec::new();
    while text.len() < size {
        let at = text.len();
        let part = (size - at).min(64 << 10);
        text.try_reserve_exact(part).map_err(|_| Error::memory("a header"))?;
        text.resize(at + part, 0);
        if bytes.read((start + at) as u64, &mut text[at..])? < part {
            return Err(truncated(file, (start + at) as u64, "the header"));
        }
    }
    header(&text, head[MAGIC.len()], start, file, &options.limits)
}

/// Creates the error for a file that has fewer bytes than its header declares.
fn cut(file: &Arc<str>, len: u64, header: &NpyHeader) -> Error {
    let what = format!("{} rows of {} columns", header.row_count, header.fields.len());
    let message = format!("unexpected end of file: the header declares {what}");
    fault(file, len, message)
}

/// Returns the columns to keep. Fails if the options name a missing column or set types.
fn targets(header: &mut NpyHeader, options: &ParseOptions<TableReadOptions>) -> Result<Vec<NpyTarget>> {
    if options.own.types != ColumnTypes::Auto {
        return Err(Error::new(ErrorKind::Usage, "npy files store the types of their columns: leave `types` unset"));
    }
    let mut targets = Vec::new();
    let mut add = |place: usize| {
        let Some(field) = header.fields.get(place) else {
            let message = format!("no column {place}: the number of columns is {}", header.fields.len());
            return Err(Error::new(ErrorKind::Usage, message));
        };
        let target = NpyTarget { place, field: field.clone(), numbers: TypedColumn::new(field.scalar) };
        try_push(&mut targets, target, "columns")
    };
    match &options.own.columns {
        None => (0..header.fields.len()).try_for_each(&mut add)?,
        Some(columns) => {
            for column in columns {
                add(match column {
                    ColumnName::Index(place) => *place,
                    ColumnName::Name(name) => match header.fields.iter().position(|field| field.name == *name) {
                        Some(place) => place,
                        None => return Err(Error::new(ErrorKind::Usage, format!("no column named `{name}`"))),
                    },
                })?;
            }
        }
    }
    Ok(targets)
}

impl ChunkJob for NpyJob<'_> {
    type Slot = NpySlot;
    type State = u64;
    const PUBLISHES: bool = true;

    fn takes_in_order(&self) -> bool {
        self.bytes.in_order()
    }

    fn ahead(&self) -> Option<&dyn DecodeAhead> {
        self.bytes.ahead()
    }

    fn slot(&self) -> Result<NpySlot> {
        Ok(NpySlot { bytes: Vec::new(), records: 0..0 })
    }

    fn take(&self, number: u64, slot: &mut NpySlot) -> Result<bool> {
        let first = number.saturating_mul(self.chunk_records);
        if first >= self.record_count {
            return Ok(false);
        }
        slot.records = first..self.record_count.min(first + self.chunk_records);
        let record_bytes = self.header.record_bytes;
        let size = (slot.records.end - first) as usize * record_bytes;
        let offset = self.header.body + first * record_bytes as u64;
        self.bytes.read_as_claimed(offset, size, &mut slot.bytes)?;
        if slot.bytes.len() < size && !planted("npy-size") {
            return Err(cut(&self.file, offset + slot.bytes.len() as u64, &self.header));
        }
        Ok(true)
    }

    /// There is nothing to parse, because numbers are binary.
    fn parse(&self, _: &mut NpySlot) -> Result<()> {
        Ok(())
    }

    fn publish(&self, slot: &mut NpySlot) -> Result<()> {
        if self.header.by_columns { self.publish_columns(slot) } else { self.publish_rows(slot) }
    }

    /// Reserves slots only for what has been read.
    fn place(&self, bytes: &mut u64, slot: &mut NpySlot) -> Result<()> {
        if !self.header.by_columns {
            self.reserve(slot.records.end as usize)?
        } else {
            self.parts(slot).try_for_each(|(target, rows, _)| target.numbers.reserve(rows.end))?
        }
        *bytes += slot.bytes.len() as u64;
        if let Some(progress) = &self.options.run.progress {
            progress.report(self.header.body + *bytes, self.bytes.len());
        }
        Ok(())
    }
}

impl NpyJob<'_> {
    fn reserve(&self, rows: usize) -> Result<()> {
        self.columns.iter().try_for_each(|target| target.numbers.reserve(rows))
    }

    fn publish_rows(&self, slot: &NpySlot) -> Result<()> {
        let rows = slot.records.start as usize..slot.records.end as usize;
        for target in &self.columns {
            let bytes = slot.bytes.get(target.field.offset..).unwrap_or_default();
            // SAFETY: `take` assigned each chunk its own range of records, which are rows here, so no other thread uses
            // these slots.
            unsafe { target.write(rows.clone(), bytes, self.header.record_bytes)? };
        }
        Ok(())
    }

    fn publish_columns(&self, slot: &NpySlot) -> Result<()> {
        for (target, rows, bytes) in self.parts(slot) {
            // SAFETY: `take` assigned each chunk its own range of records, and different records of a column are
            // different rows, so no other thread uses these slots.
            unsafe { target.write(rows, bytes, self.header.record_bytes)? };
        }
        Ok(())
    }

    /// Returns the parts of kept columns in a chunk, if columns are stored consecutively: their rows, and the chunk's
    /// bytes starting at the first of these rows.
    fn parts<'a>(&'a self, slot: &'a NpySlot) -> impl Iterator<Item = (&'a NpyTarget, Range<usize>, &'a [u8])> {
        let rows = self.header.row_count;
        let size = self.header.record_bytes as u64;
        let max_rows = self.options.own.max_rows.unwrap_or(u64::MAX).min(rows);
        self.columns.iter().filter_map(move |target| {
            let column = target.place as u64 * rows;
            let from = slot.records.start.max(column);
            let to = slot.records.end.min(column + max_rows);
            // `get` returns `None` for a column that starts after this chunk.
            let bytes = slot.bytes.get(((from - slot.records.start) * size) as usize..)?;
            (from < to).then(|| (target, (from - column) as usize..(to - column) as usize, bytes))
        })
    }

    /// Reports data after the array.
    fn note_rest(&self, size: u64, warnings: &mut Warnings) -> Result<()> {
        let end = self.header.body + size;
        let follows = match self.bytes.len() {
            Some(len) => len > end,
            None => {
                self.bytes.read(end, &mut [0])? > 0 && self.bytes.finish(&self.options.run.cancel).map(|()| true)?
            }
        };
        if follows {
            let what = Diagnostic::at(&self.file, end, "extra data after the array was ignored");
            warnings.note(self.options.faults, "trailing-data", what)
        } else {
            Ok(())
        }
    }

    /// Returns the table.
    ///
    /// # Safety
    /// The first `row_count` rows of each column were written.
    unsafe fn finish(self, row_count: usize) -> Result<Table> {
        let mut columns = Vec::new();
        for NpyTarget { field, numbers, .. } in self.columns {
            // SAFETY: the first `row_count` numbers were written, by this function's contract.
            let values = unsafe { numbers.finish(row_count) };
            try_push(&mut columns, model::Column { name: field.name, values, offsets: None }, "columns")?;
        }
        Ok(Table { name: String::new(), row_count, columns })
    }
}

impl NpyTarget {
    /// Fills rows with numbers that are `step` bytes apart.
    ///
    /// # Safety
    /// No other thread uses the slots of `rows`.
    unsafe fn write(&self, rows: Range<usize>, bytes: &[u8], step: usize) -> Result<()> {
        let big = self.field.is_big_endian;
        /// One arm per type.
        macro_rules! write {
            ($($kind:ident $type:ident),*) => {
                match &self.numbers {
                    $(TypedColumn::$kind(column) => {
                        // SAFETY: only this chunk uses the slots of `rows`, by this function's contract.
                        unsafe {
                            column.write(rows, |slots| match big {
                                false => fill(slots, bytes, step, $type::from_le_bytes),
                                true => fill(slots, bytes, step, $type::from_be_bytes),
                            })
                        }
                    })*
                }
            };
        }
        write!(I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F32 f32, F64 f64)
    }
}

/// Fills slots with numbers that are `step` bytes apart.
fn fill<const N: usize, T: Copy>(slots: &mut [MaybeUninit<T>], bytes: &[u8], step: usize, read: impl Fn([u8; N]) -> T) {
    if step == N {
        let (numbers, _) = bytes.as_chunks::<N>();
        debug_assert!(numbers.len() >= slots.len());
        for (slot, number) in slots.iter_mut().zip(numbers) {
            slot.write(read(*number));
        }
        return;
    }
    for (row, slot) in slots.iter_mut().enumerate() {
        let number = bytes.get(row * step..).and_then(|bytes| bytes.first_chunk());
        slot.write(read(number.copied().unwrap_or([0; N])));
    }
}
