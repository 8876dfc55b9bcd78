//! Reads fixed-size records into columns of floats, with sequential reads and parallel decoding.
//!
//! Each chunk of records has its own part of every column, so nothing is copied or shared. The caller decodes the
//! records.

use polyhaul_bytes::{DecodeAhead, Source};
use polyhaul_model::error::{Error, Result};
use polyhaul_pipeline::arrays::{Zero, zeroed};
use polyhaul_pipeline::feed::Feed;
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::options::{ProgressSteps, RunOptions};
use polyhaul_pipeline::run::{Crew, run};
use std::sync::{Mutex, PoisonError};

/// Approximate bytes per chunk.
const CHUNK_BYTES: usize = 256 << 10;

/// Decoded value of each byte.
pub(crate) type ByteTable = [f32; 256];

/// Decodes whole records into columns, which may have different numbers of values per record.
pub(crate) type DecodeRecords<'a> = &'a (dyn Fn(&[u8], &mut [&mut [f32]]) + Sync);

/// Records of a stream.
pub(crate) struct RecordReader<'a> {
    pub(crate) count: usize,
    /// Bytes per record.
    pub(crate) bytes: usize,
    pub(crate) decode: DecodeRecords<'a>,
}

/// Result of reading records.
pub(crate) struct RecordsRead {
    /// Number of complete records.
    pub(crate) count: usize,
    pub(crate) threads: usize,
}

impl RecordReader<'_> {
    /// Reads the records, or fewer if the source ends, into columns. Each column has a fixed number of values per
    /// record.
    pub(crate) fn read(
        self,
        feed: &mut Feed<'_>,
        columns: Vec<&mut [f32]>,
        run_options: &RunOptions,
    ) -> Result<RecordsRead> {
        let RecordReader { count, bytes, decode } = self;
        let chunk_bytes = run_options.chunk_bytes.unwrap_or(CHUNK_BYTES);
        let chunk = (chunk_bytes / bytes.max(1)).clamp(1, 1 << 24);
        let crew = Crew::for_chunks(count.div_ceil(chunk) as u64, chunk * bytes, run_options);
        let per_record: Vec<usize> = columns.iter().map(|column| column.len() / count.max(1)).collect();
        let source = feed.source().clone();
        let rest = Mutex::new(RecordsLeft { feed, columns, count });
        let job = RecordsJob { source, rest, per_record, chunk, bytes, decode, options: run_options };
        let mut state = RecordsState::default();
        run(&job, &mut state, crew, &run_options.cancel)?;
        let left = job.rest.into_inner().unwrap_or_else(PoisonError::into_inner);
        match left.feed.failed() {
            Some(error) => Err(error),
            None => Ok(RecordsRead { count: state.count, threads: crew.threads }),
        }
    }
}

/// Resizes a column. New values are zero.
pub(crate) fn resize_column<T: Zero + Default>(column: &mut Vec<T>, count: usize) -> Result<()> {
    // A new column gets fresh zeroed memory, which need not be filled.
    if column.is_empty() {
        *column = zeroed(count, "splats")?;
    }
    column.try_reserve_exact(count.saturating_sub(column.len())).map_err(|_| Error::memory("splats"))?;
    column.resize(count, T::default());
    Ok(())
}

struct RecordsJob<'a, 'f, 'm> {
    source: Source<'f>,
    /// Remaining input and columns, which one worker locks at a time, in the order of chunks.
    rest: Mutex<RecordsLeft<'a, 'f, 'm>>,
    /// Number of values per record in each column.
    per_record: Vec<usize>,
    /// Number of records per chunk.
    chunk: usize,
    bytes: usize,
    decode: DecodeRecords<'a>,
    options: &'a RunOptions,
}

/// Records and columns that no chunk has claimed.
struct RecordsLeft<'a, 'f, 'm> {
    feed: &'a mut Feed<'f>,
    columns: Vec<&'m mut [f32]>,
    count: usize,
}

/// A chunk, and the parts of columns for its values.
#[derive(Default)]
struct RecordsSlot<'m> {
    bytes: Vec<u8>,
    count: usize,
    columns: Vec<&'m mut [f32]>,
}

#[derive(Default)]
struct RecordsState {
    count: usize,
    bytes: u64,
    progress: ProgressSteps,
}

impl<'m> ChunkJob for RecordsJob<'_, '_, 'm> {
    type Slot = RecordsSlot<'m>;
    type State = RecordsState;

    fn ahead(&self) -> Option<&dyn DecodeAhead> {
        self.source.ahead()
    }

    fn slot(&self) -> Result<RecordsSlot<'m>> {
        Ok(RecordsSlot::default())
    }

    fn take(&self, _: u64, slot: &mut RecordsSlot<'m>) -> Result<bool> {
        let mut left = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        let requested = self.chunk.min(left.count);
        if requested == 0 {
            return Ok(false);
        }
        let bytes = requested * self.bytes;
        if slot.bytes.len() < bytes {
            slot.bytes.try_reserve_exact(bytes - slot.bytes.len()).map_err(|_| Error::memory("a block of bytes"))?;
            slot.bytes.resize(bytes, 0);
        }
        slot.count = left.feed.take(&mut slot.bytes[..bytes]) / self.bytes;
        // A short read means that the source has ended.
        left.count = if slot.count < requested { 0 } else { left.count - requested };
        slot.columns.clear();
        slot.columns.try_reserve_exact(self.per_record.len()).map_err(|_| Error::memory("a plan"))?;
        // Split in the order of chunks, so that workers never share a part.
        let parts = left.columns.iter_mut().zip(&self.per_record);
        slot.columns
            .extend(parts.map(|(column, values)| column.split_off_mut(..slot.count * values).unwrap_or_default()));
        Ok(slot.count > 0)
    }

    fn parse(&self, slot: &mut RecordsSlot<'m>) -> Result<()> {
        (self.decode)(&slot.bytes[..slot.count * self.bytes], &mut slot.columns);
        Ok(())
    }

    fn place(&self, state: &mut RecordsState, slot: &mut RecordsSlot<'m>) -> Result<()> {
        state.count += slot.count;
        state.bytes += (slot.count * self.bytes) as u64;
        state.progress.report(self.options, state.bytes, None);
        Ok(())
    }
}
