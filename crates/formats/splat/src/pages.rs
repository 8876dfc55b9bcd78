//! Formats consecutive streams of fixed-size records as pages, in parallel. `records` does the reverse.

use polyhaul_model::error::{Error, Result};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::write::{Pages, Writing};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Approximate bytes per page.
const PAGE_BYTES: usize = 512 << 10;

/// Formats the records of a range of splats into a buffer of exactly their size. Returns the number of clamped values.
pub(crate) type FormatRecords<'a> = Box<dyn Fn(Range<usize>, &mut [u8]) -> u64 + Sync + 'a>;

/// A stream with one record per splat.
pub(crate) struct RecordStream<'a> {
    /// Bytes per record; 0 if the stream is absent.
    pub(crate) bytes: usize,
    pub(crate) format: FormatRecords<'a>,
}

/// Pages of consecutive streams.
pub(crate) struct RecordPages<'a> {
    pub(crate) streams: &'a [RecordStream<'a>],
    /// Number of records per stream.
    pub(crate) count: usize,
    page_bytes: usize,
    /// Number of values that were clamped to the format's range.
    pub(crate) clamped: AtomicU64,
}

#[derive(Default)]
pub(crate) struct RecordSlot {
    /// Index of the stream.
    pub(crate) stream: usize,
    records: Range<usize>,
    bytes: Vec<u8>,
    len: usize,
}

/// Writes streams for `count` splats after `head`. Returns the number of clamped values.
pub(crate) fn write_streams(
    streams: &[RecordStream<'_>],
    count: usize,
    head: Vec<u8>,
    run: &RunOptions,
    writing: &mut Writing<'_, '_>,
) -> Result<u64> {
    let page_bytes = run.chunk_bytes.unwrap_or(PAGE_BYTES).clamp(1, 1 << 30);
    let pages = RecordPages::new(streams, count, page_bytes);
    let record_bytes: usize = streams.iter().map(|stream| stream.bytes).sum();
    let bytes = record_bytes as u64 * count as u64;
    writing.announce(head.len() as u64 + bytes);
    writing.set_head(head);
    writing.pages(&pages, &mut (), bytes / page_bytes as u64 + 1, page_bytes)?;
    Ok(pages.clamped.into_inner())
}

impl<'a> RecordPages<'a> {
    /// Splits streams into pages of about `page_bytes`. Each page has records of only one stream.
    pub(crate) fn new(streams: &'a [RecordStream<'a>], count: usize, page_bytes: usize) -> RecordPages<'a> {
        RecordPages { streams, count, page_bytes, clamped: AtomicU64::new(0) }
    }

    /// Returns the number of pages.
    pub(crate) fn pages(&self) -> usize {
        let streams = self.streams.iter().filter(|stream| stream.bytes > 0);
        streams.map(|stream| self.count.div_ceil(self.page_records(stream))).sum()
    }

    /// Returns the number of records per page of a stream.
    fn page_records(&self, stream: &RecordStream<'_>) -> usize {
        (self.page_bytes / stream.bytes).max(1)
    }
}

impl Pages for RecordPages<'_> {
    type Slot = RecordSlot;
    type State = ();

    fn slot(&self) -> Result<RecordSlot> {
        Ok(RecordSlot::default())
    }

    fn take(&self, number: u64, slot: &mut RecordSlot) -> Result<bool> {
        let mut number = usize::try_from(number).unwrap_or(usize::MAX);
        for (index, stream) in self.streams.iter().enumerate().filter(|(_, stream)| stream.bytes > 0) {
            let records = self.page_records(stream);
            let pages = self.count.div_ceil(records);
            if number < pages {
                slot.stream = index;
                slot.records = number * records..self.count.min((number + 1) * records);
                return Ok(true);
            }
            number -= pages;
        }
        Ok(false)
    }

    fn format(&self, slot: &mut RecordSlot) -> Result<()> {
        let stream = &self.streams[slot.stream];
        slot.len = slot.records.len() * stream.bytes;
        if slot.bytes.len() < slot.len {
            slot.bytes.try_reserve_exact(slot.len - slot.bytes.len()).map_err(|_| Error::memory("a page"))?;
            slot.bytes.resize(slot.len, 0);
        }
        let clamped = (stream.format)(slot.records.clone(), &mut slot.bytes[..slot.len]);
        self.clamped.fetch_add(clamped, Ordering::Relaxed);
        Ok(())
    }

    fn bytes<'a>(&'a self, slot: &'a RecordSlot) -> &'a [u8] {
        &slot.bytes[..slot.len]
    }
}

/// Rounds to the nearest byte. Also returns 1 if the value is more than half a unit out of range, otherwise 0.
pub(crate) fn byte(value: f32) -> (u8, u64) {
    // The cast saturates.
    // The range check is negated, so that NaN counts as clamped, too.
    ((value + 0.5) as u8, u64::from(!(-0.5..=255.5).contains(&value)))
}
