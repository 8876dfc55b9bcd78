//! Reading PLY: the header, then all rows into the sinks that somebody makes for its elements.
//!
//! There are two builders: [`super::tables`] keeps every column as it is, [`super::scene`] makes a mesh. Both use the
//! same core for rows: [`super::binary`] or [`super::text`], and [`super::sink`].

use super::binary;
use super::header::{PlyHeader, PlyHeaderEncoding, PlyHeaderParsed, PlyParser};
use super::rows::{PlyOutcome, PlyRowsTarget};
use super::sink::PlySink;
use super::tables::{sink, table, targets};
use polyhaul_model::Table;
use polyhaul_model::error::{Result, try_push};
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::feed::Feed;
use polyhaul_pipeline::options::{ParseOptions, ProgressSteps};
use polyhaul_pipeline::read::Extent;

/// The result of reading, apart from the rows.
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
}

/// The state of the rows after reading.
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
            return Ok(PlyOpened { feed, header, options, warnings });
        }
    }
}

impl PlyOpened<'_, '_> {
    /// Whether the bytes of a number are the other way round than this machine has them. Text becomes rows as this
    /// machine has them.
    pub(super) fn swap(&self) -> bool {
        match self.header.encoding {
            PlyHeaderEncoding::Ascii => false,
            PlyHeaderEncoding::LittleEndian => cfg!(target_endian = "big"),
            PlyHeaderEncoding::BigEndian => cfg!(target_endian = "little"),
        }
    }

    /// Reads all rows, each element's to its sink.
    pub(super) fn rows(self, sinks: &[PlySink]) -> Result<PlyReaderRows> {
        let PlyOpened { mut feed, header, options, mut warnings } = self;
        let targets = targets(&header.elements, sinks)?;
        let (outcomes, threads) = match header.encoding {
            PlyHeaderEncoding::Ascii => super::text::read(feed, header.body, &targets, options, &mut warnings)?,
            _ => {
                feed.skip(header.body);
                read_binary(feed, &targets, options, &mut warnings)?
            }
        };
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
    read_header(feed, options)?.tables()
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
            // SAFETY: `self.rows` returned no error, so that all rows of all elements were published to their sinks,
            // and `outcome` has their counts.
            let table = unsafe { table(element, sink, homes, outcome)? };
            try_push(&mut content, table, "tables")?;
        }
        Ok(Read { content, header, warnings, threads })
    }
}
