//! Reads PLY: the header, then all rows into the sinks of its elements.
//!
//! [`super::tables`] builds sinks that keep every column unchanged, [`super::scene`] builds sinks for a mesh. Both
//! share the code for rows: [`super::binary`] or [`super::text`], and [`super::sink`].

use super::binary;
use super::header::{PlyHeader, PlyHeaderEncoding, PlyHeaderParsed, PlyParser};
use super::rows::{PlyOutcome, PlyRowsTarget};
use super::sink::PlySink;
use super::tables::{sink, table, targets};
use polyhaul_model::Table;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, try_push};
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::feed::Feed;
use polyhaul_pipeline::options::{ParseOptions, ProgressSteps};
use polyhaul_pipeline::read::Extent;

/// Result of reading a file.
pub struct Read<T> {
    pub content: T,
    pub header: PlyHeader,
    pub warnings: Warnings,
    pub threads: usize,
}

/// A file whose header was read.
pub(super) struct PlyOpened<'a, 'o> {
    pub(super) feed: Feed<'a>,
    pub(super) header: PlyHeader,
    pub(super) options: &'o ParseOptions,
    pub(super) warnings: Warnings,
    /// Whether a text-mode transfer may have replaced each LF in binary rows with CR LF.
    pub(super) may_be_converted: bool,
}

/// State after reading all rows.
pub(super) struct PlyReaderRows {
    pub(super) header: PlyHeader,
    pub(super) outcomes: Vec<PlyOutcome>,
    pub(super) warnings: Warnings,
    pub(super) threads: usize,
}

/// Reads the header.
pub(super) fn read_header<'a, 'o>(mut feed: Feed<'a>, options: &'o ParseOptions) -> Result<PlyOpened<'a, 'o>> {
    let mut warnings = Warnings::default();
    let mut parser = PlyParser::new(feed.name().clone(), options);
    loop {
        let (bytes, is_all) = feed.look_further()?;
        if let PlyHeaderParsed::Header(header) = parser.parse(bytes, is_all, &mut warnings)? {
            let pairs = converted_pairs(bytes, &header);
            if pairs >= MIN_PAIRS {
                return Err(converted(&feed, header.body));
            }
            return Ok(PlyOpened { feed, header, options, warnings, may_be_converted: pairs > 0 });
        }
    }
}

/// Minimum number of CR LF in the first rows, without any other LF, that proves that a program converted the file as
/// text. By chance, one LF in 256 follows a CR.
const MIN_PAIRS: usize = 4;

/// Counts CR LF in the first bytes of binary rows; 0 if the header has other line endings or any LF has no CR before
/// it.
fn converted_pairs(bytes: &[u8], header: &PlyHeader) -> usize {
    let is_binary = header.encoding != PlyHeaderEncoding::Ascii;
    let rows = usize::try_from(header.body).ok().and_then(|body| bytes.get(body..)).unwrap_or_default();
    let mut line_feeds = memchr::memchr_iter(b'\n', rows);
    if !is_binary || !bytes.starts_with(b"ply\r\n") || rows.starts_with(b"\n") {
        return 0;
    }
    let follows_return = |&at: &usize| at > 0 && rows[at - 1] == b'\r';
    let pairs = line_feeds.by_ref().take_while(follows_return).count();
    if pairs == memchr::memchr_iter(b'\n', rows).count() { pairs } else { 0 }
}

/// Creates the error for rows in which each LF was replaced with CR LF.
fn converted(feed: &Feed<'_>, body: u64) -> Error {
    let message = "the binary data does not match the header: every LF was replaced by CR LF";
    let hint = "a text-mode transfer damaged the file: transfer the original again in binary mode";
    Diagnostic::at(feed.name(), body, message).into_error(ErrorKind::Malformed).with_hint(hint)
}

impl PlyOpened<'_, '_> {
    /// Returns whether the file's byte order differs from this machine's. Text is parsed into rows in this machine's
    /// byte order.
    pub(super) fn swap(&self) -> bool {
        match self.header.encoding {
            PlyHeaderEncoding::Ascii => false,
            PlyHeaderEncoding::LittleEndian => cfg!(target_endian = "big"),
            PlyHeaderEncoding::BigEndian => cfg!(target_endian = "little"),
        }
    }

    /// Reads all rows, each element's into its sink.
    pub(super) fn rows(self, sinks: &[PlySink]) -> Result<PlyReaderRows> {
        let PlyOpened { mut feed, mut header, options, mut warnings, may_be_converted } = self;
        let targets = targets(&header.elements, sinks)?;
        let (outcomes, threads) = match header.encoding {
            PlyHeaderEncoding::Ascii => super::text::read(feed, header.body, &targets, options, &mut warnings)?,
            _ => {
                let converted = may_be_converted.then(|| converted(&feed, header.body));
                feed.skip(header.body);
                let result = read_binary(feed, &targets, options, &mut warnings);
                let is_misfit = |error: &Error| error.kind() == ErrorKind::Malformed;
                match (result, converted) {
                    (Err(error), Some(converted)) if is_misfit(&error) => return Err(converted),
                    // The additional CRs make the rows longer, so that data is left over.
                    (Ok(_), Some(converted)) if warnings.counts().contains_key("extra-data") => return Err(converted),
                    (result, _) => result?,
                }
            }
        };
        for (element, outcome) in header.elements.iter_mut().zip(&outcomes) {
            element.count = outcome.row_count.unwrap_or(element.count);
        }
        Ok(PlyReaderRows { header, outcomes, warnings, threads })
    }
}

fn read_binary(
    feed: Feed<'_>,
    targets: &[PlyRowsTarget<'_>],
    options: &ParseOptions,
    warnings: &mut Warnings,
) -> Result<(Vec<PlyOutcome>, usize)> {
    let mut reader = binary::PlyReader { feed, options, warnings, threads: 1, progress: ProgressSteps::default() };
    let mut outcomes = Vec::new();
    for &target in targets {
        let outcome = reader.element(target)?;
        try_push(&mut outcomes, outcome, "elements")?;
    }
    reader.finish()?;
    reader.feed.check_end(Extent::Whole, &options.run.cancel)?;
    Ok((outcomes, reader.threads))
}

/// Reads all elements as tables.
pub fn tables(feed: Feed<'_>, options: &ParseOptions) -> Result<Read<Vec<Table>>> {
    read_header(feed.kept()?, options)?.tables()
}

impl PlyOpened<'_, '_> {
    /// Reads all elements as tables.
    pub(super) fn tables(self) -> Result<Read<Vec<Table>>> {
        let mut sinks = Vec::new();
        let mut homes = Vec::new();
        for element in &self.header.elements {
            let (sink, home) = sink(element, self.swap(), |_| true)?;
            try_push(&mut sinks, sink, "elements")?;
            try_push(&mut homes, home, "elements")?;
        }
        let PlyReaderRows { header, outcomes, warnings, threads } = self.rows(&sinks)?;
        let mut content = Vec::new();
        for (((element, sink), homes), outcome) in header.elements.iter().zip(sinks).zip(&homes).zip(&outcomes) {
            // SAFETY: `self.rows` returned no error, so all rows of all elements were published to their sinks, and
            // `outcome` has their counts.
            let table = unsafe { table(element, sink, homes, outcome)? };
            try_push(&mut content, table, "tables")?;
        }
        Ok(Read { content, header, warnings, threads })
    }
}
