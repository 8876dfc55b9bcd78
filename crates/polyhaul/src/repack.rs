//! Recompresses files without interpreting their content, and estimates how small they would become.
//!
//! Independent of file formats. [`repack`] and [`sampled`] split data into members as the rest of this crate does, so
//! the estimated sizes match the output.

use crate::input::{Input, Output};
use crate::open::Opened;
use crate::options::ReadOptions;
use crate::options::WriteOptions;
use crate::outputs::write_to;
use crate::plain::Plain;
use crate::report::{Clock, Report};
use polyhaul_bytes::Codec;
use polyhaul_bytes::{MEMBER_BYTES, SeekTable, Source};
use polyhaul_model::error::{Error, Result};
use polyhaul_pipeline::read::{Extent, ask, buffer, check_end, fill};
use polyhaul_pipeline::run::{Phase, span};
use polyhaul_pipeline::write::{Compression, Pages, encoder, pack};

/// Size of a batch of uncompressed data, in bytes.
const BATCH_BYTES: usize = 16 * MEMBER_BYTES;

/// Decompresses an input and writes it with the compression set in `write`. Of `write`, only `compression`, `level`,
/// `durable`, `hash` and `run` are used; of `read`, only the options for opening the input, `limits`, and `on_error`,
/// which decides about trailing garbage.
///
/// ```
/// use polyhaul::options::{Codec, Compression};
/// use polyhaul::repack::repack;
/// use polyhaul::{Input, Output, ReadOptions, WriteOptions};
///
/// let text = b"v 0 0 0\n".repeat(1000);
/// let write = WriteOptions::default().with_compression(Compression::from(Codec::Zstd));
/// let output = Output::Writer(Box::new(std::io::sink()), "nowhere".into());
/// let report = repack(Input::Memory(text, "points.obj".into()), output, &ReadOptions::default(), &write)?;
/// assert_eq!(report.writes[0].plain_bytes, 8000);
/// assert!(report.bytes_out < 800);
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// Any error from reading or writing. An existing file is replaced atomically.
pub fn repack(
    input: impl Into<Input>,
    output: impl Into<Output>,
    read: &ReadOptions,
    write: &WriteOptions,
) -> Result<Report> {
    crate::within(&write.run, || {
        let clock = Clock::start("repack");
        let opened = Opened::new(input.into(), read)?;
        let plain = opened.plain(read)?;
        let mut report = Report { codec: plain.source().codec(), ..Report::default() };
        write_to(output.into(), None, write, &mut report, |writing, _, _| {
            let mut batch = buffer(BATCH_BYTES)?;
            loop {
                let count = fill(plain.source(), plain.garbage(), &mut batch)?;
                let bytes = batch.get(..count).unwrap_or_default();
                writing.pages(&Batch { bytes }, &mut (), bytes.len().div_ceil(MEMBER_BYTES) as u64, 0)?;
                if count < batch.len() {
                    return check_end(plain.source(), Extent::Whole, &write.run.cancel);
                }
            }
        })?;
        plain.note_garbage(&mut report.warnings);
        let mut moved = plain.moved("");
        moved.format = None;
        report.note_read(moved);
        clock.stop(&mut report);
        Ok(report)
    })
}

/// Bytes in memory, split into members of [`MEMBER_BYTES`].
struct Batch<'a> {
    bytes: &'a [u8],
}

impl Pages for Batch<'_> {
    type Slot = usize;
    type State = ();

    fn slot(&self) -> Result<usize> {
        Ok(0)
    }

    fn take(&self, number: u64, slot: &mut usize) -> Result<bool> {
        *slot = usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(MEMBER_BYTES);
        Ok(*slot < self.bytes.len())
    }

    fn format(&self, _: &mut usize) -> Result<()> {
        Ok(())
    }

    fn bytes<'a>(&'a self, slot: &'a usize) -> &'a [u8] {
        let rest = self.bytes.get(*slot..).unwrap_or_default();
        rest.get(..MEMBER_BYTES).unwrap_or(rest)
    }
}

/// The sizes of a file under different codecs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sizes {
    /// The file's own compression, if any.
    pub codec: Option<Codec>,
    /// Whether decompression is serial: the file has only one member, or its members cannot be located without
    /// decompressing.
    pub is_stream: bool,
    /// The size of the file, in bytes.
    pub bytes: u64,
    /// The uncompressed size, in bytes. For a stream, it is estimated from the sample, or read from the end of a gzip
    /// file if that is close to the estimate.
    pub plain_bytes: u64,
    /// The estimated size of the output of [`repack`] for each codec, in the order requested.
    pub packed_bytes: Vec<u64>,
}

/// Estimates the size of a file under each of `codecs` and levels (`None` for the default level), by compressing a
/// sample of about `sample_bytes` in memory. The sample is spread over the file; for a stream, it is the start. A file
/// no larger than the sample is compressed completely.
///
/// # Errors
/// [`crate::ErrorKind::Io`] if the input cannot be opened or read; [`crate::ErrorKind::Malformed`] if the sample
/// contains damaged data.
pub fn sampled(
    input: impl Into<Input>,
    codecs: &[(Codec, Option<i32>)],
    sample_bytes: u64,
    options: &ReadOptions,
) -> Result<Sizes> {
    crate::within(&options.run, || {
        let opened = Opened::new(input.into(), options)?;
        let plain = opened.plain(options)?;
        let source = plain.source();
        let outside = source.compressed().unwrap_or(source);
        let members = pieces(&plain, sample_bytes)?;
        let sampled: u64 = members.iter().map(|member| member.len() as u64).sum();
        let bytes = outside.len().unwrap_or(sampled);
        let is_whole = members.last().is_none_or(|member| member.len() < MEMBER_BYTES);
        let plain_bytes = match source.len() {
            Some(len) => len,
            None if is_whole => sampled,
            None => {
                // Only the start of the stream was read, so its ratio stands for the whole file.
                let read = outside.counters().snapshot().bytes.clamp(1, bytes.max(1));
                let guess = (u128::from(sampled) * u128::from(bytes) / u128::from(read)) as u64;
                let is_gzip = source.codec() == Some(Codec::Gzip);
                is_gzip.then(|| told_bytes(outside, guess)).flatten().unwrap_or(guess)
            }
        };
        let packed = |&(codec, level): &(Codec, Option<i32>)| {
            let packed = packed(Compression { codec, level }, &members)?;
            Ok((u128::from(packed) * u128::from(plain_bytes) / u128::from(sampled.max(1))) as u64)
        };
        let packed_bytes = codecs.iter().map(packed).collect::<Result<_>>()?;
        let is_stream = source.codec().is_some() && source.len().is_none();
        Ok(Sizes { codec: source.codec(), is_stream, bytes, plain_bytes, packed_bytes })
    })
}

/// Uncompressed size of a gzip file with a single member, which ends with its size modulo 2^32 (RFC 1952, ISIZE).
/// `None` if that size is far from the estimate, as in files with several members.
fn told_bytes(outside: &Source<'_>, guess: u64) -> Option<u64> {
    let mut last = [0; 4];
    let offset = outside.len()?.checked_sub(last.len() as u64)?;
    if outside.read_at(offset, &mut last).ok()? < last.len() {
        return None;
    }
    nearest(guess, u32::from_le_bytes(last))
}

/// The number nearest to `guess` that equals `rest` modulo 2^32, or `None` if it differs from `guess` by more than a
/// factor of 1.5.
fn nearest(guess: u64, rest: u32) -> Option<u64> {
    // Adding half of 2^32 before the shift rounds to the nearest multiple.
    let times = guess.saturating_sub(u64::from(rest)).saturating_add(1 << 31) >> 32;
    let candidate = (times << 32) | u64::from(rest);
    let [few, many] = [guess.min(candidate), guess.max(candidate)].map(u128::from);
    (2 * many <= 3 * few).then_some(candidate)
}

/// Reads pieces the size of a member: spread over the file, or from its start if the source cannot seek.
fn pieces(plain: &Plain, sample_bytes: u64) -> Result<Vec<Vec<u8>>> {
    let source = plain.source();
    let count = sample_bytes.div_ceil(MEMBER_BYTES as u64).max(1);
    let member_count = source.len().map_or(count, |len| len.div_ceil(MEMBER_BYTES as u64));
    let mut pieces = Vec::new();
    for index in 0..count.min(member_count) {
        let mut piece = buffer(MEMBER_BYTES)?;
        let size = match source.len() {
            Some(_) => {
                let offset = index * member_count / count.min(member_count) * MEMBER_BYTES as u64;
                ask(source, || source.read_at(offset, &mut piece))?
            }
            None => fill(source, plain.garbage(), &mut piece)?,
        };
        piece.truncate(size);
        pieces.push(piece);
        if size < MEMBER_BYTES {
            break;
        }
    }
    Ok(pieces)
}

fn packed(compression: Compression, members: &[Vec<u8>]) -> Result<u64> {
    let _span = span(Phase::Compress);
    let mut encoder = encoder(compression)?;
    let mut sum = 0;
    let mut out = Vec::new();
    let mut table = SeekTable::default();
    for member in members {
        out.clear();
        pack(&mut encoder, member, &mut out, &mut table)?;
        sum += out.len() as u64;
    }
    Ok(sum + table.finish().map_err(|_| Error::memory("compressed data"))?.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_guess_tells_multiples_of_4_gib() {
        const WRAP: u64 = 1 << 32;
        for (guess, rest, expected) in [
            (1000, 1200, Some(1200)),
            (1000, 700, Some(700)),
            // Another member or trailing data follows.
            (1000, 100, None),
            (1000, 4_000_000_000, None),
            (WRAP + 1000, 0, Some(WRAP)),
            (WRAP - 1000, 5, Some(WRAP + 5)),
            (3 * WRAP + WRAP / 4, 7, Some(3 * WRAP + 7)),
            (u64::MAX, 7, Some(u64::MAX - u64::from(u32::MAX) + 7)),
            (0, 0, Some(0)),
        ] {
            assert_eq!(nearest(guess, rest), expected, "{guess} {rest}");
        }
    }
}
