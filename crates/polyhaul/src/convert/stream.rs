//! Tables from file to file, some rows at a time: large files need no more memory than small ones.
//!
//! The bytes and the warnings are those of the path through the model, which is taken whenever this one meets something
//! unusual: an error in the input, a warning, a list that is longer than the first one promised. The output is not in
//! place before the input was read to its end, so nobody sees that it was begun. Reading is one part ahead of writing:
//! while one waits for a disk, the other goes on.

use super::fit::fit;
use super::{Content, Converted};
use crate::format::Format;
use crate::input::Output;
use crate::load::timed;
use crate::loaded::Tables;
use crate::open::Opened;
use crate::options::{ReadOptions, WriteOptions};
use crate::outputs::{self, Opening};
use crate::references::{Relinker, source_folder};
use crate::registry::TablesWriter;
use crate::report::{Phase, Report};
use crate::scan::{Sieve, choose_parts};
use crate::table_parts::{PartsJob, TableParts};
use polyhaul_mesh::table::TableFormat;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{SourceFolder, Table};
use polyhaul_pipeline::consumer::TableConsumer;
use polyhaul_pipeline::crew::beside;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Bytes of rows that are in memory at a time: fewer take more time to start and stop threads, more take memory.
const MOST_PART_BYTES: u64 = 16 << 20;
const LEAST_PART_BYTES: u64 = 64 << 10;
/// The part of the memory for buffers that a part may take: it is there once as rows and once as columns, and the
/// readers and writers have buffers of their own.
const PART: u64 = 4;
/// Files of fewer parts are read as a whole.
const LEAST_PARTS: u64 = 4;

/// Called before the output is put in place.
pub(super) type Before<'b> = dyn FnMut(Content<'_>, &Report) -> Result<()> + 'b;

/// Converts tables part by part; `None` if they must be read as a whole.
pub(super) fn stream(
    input: &Opened,
    output: &Output,
    (to, read, write): (Format, &ReadOptions, &WriteOptions),
    before: &mut Before<'_>,
) -> Result<Option<Converted>> {
    let part_bytes = (read.run.memory_limit / PART).clamp(LEAST_PART_BYTES, MOST_PART_BYTES);
    let is_large = input.file_bytes().is_some_and(|bytes| bytes >= LEAST_PARTS * part_bytes);
    let (Some(path), Some(writer), true) = (outputs::file_of(output), to.writers().tables, is_large) else {
        return Ok(None);
    };
    // The columns of points depend on their values, and a strict reader counts warnings before anything is written.
    let is_points = matches!(to.table(), Some(TableFormat::Xyz | TableFormat::Pts));
    if (writer.wants_mesh)(write) || is_points || read.strict {
        return Ok(None);
    }
    let is_chosen = !read.rows.is_everything();
    let choice = if is_chosen { choose_parts(input, read, part_bytes as usize)? } else { None };
    if is_chosen && choice.is_none() {
        return Ok(None);
    }
    let folder = source_folder(input.near(), read);
    let done = timed(input, read, |job| {
        let (Some(parts), true) = (job.format.readers().parts, job.plain.source().codec().is_none()) else {
            return Ok(None);
        };
        let streamed = Mutex::new(Streamed::new((job.format, to, writer), path, &folder, (read, write)));
        let is_done = both(&streamed, |ahead| match &choice {
            Some(choice) => {
                let mut sieve = Sieve::new(choice, ahead);
                let is_done = parts(job, part_bytes as usize, &mut sieve)?;
                if is_done { sieve.check().map(|()| true) } else { Ok(false) }
            }
            None => parts(job, part_bytes as usize, ahead),
        });
        let mut streamed = streamed.into_inner().unwrap_or_else(PoisonError::into_inner);
        match (streamed.failed.take(), is_done) {
            (Some(own), _) => Err(own),
            (None, Ok(is_done)) => Ok((is_done && !streamed.is_unfit).then_some(streamed)),
            // The other path finds it again, and the warnings before it.
            (None, Err(error)) if matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Limit) => Ok(None),
            (None, Err(error)) => Err(error),
        }
    })?;
    let (Some(streamed), mut reading) = done else { return Ok(None) };
    if !reading.warnings.is_empty() {
        return Ok(None);
    }
    streamed.finish(&mut reading, before).map(|writing| Some(Converted { reading, writing }))
}

/// Reads on this thread while another writes, one part behind, if there can be another.
fn both(streamed: &Mutex<Streamed<'_>>, read: impl FnOnce(&mut Ahead<'_, '_>) -> Result<bool>) -> Result<bool> {
    let (parts, taken) = mpsc::sync_channel(0);
    let (taken, has_writer) = (Mutex::new(Some(taken)), AtomicBool::new(false));
    let write = || {
        let Some(taken) = taken.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        has_writer.store(true, Ordering::Release);
        // After a part that failed, the channel closes, and reading ends.
        while let Ok((number, part)) = taken.recv() {
            if !lock(streamed).write_part(number, part) {
                break;
            }
        }
    };
    beside(write, || read(&mut Ahead { streamed, parts, has_writer: &has_writer }))
}

fn lock<'m, 'a>(streamed: &'m Mutex<Streamed<'a>>) -> MutexGuard<'m, Streamed<'a>> {
    streamed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reader's side: hands parts to the thread that writes, or writes them if there is none.
struct Ahead<'s, 'a> {
    streamed: &'s Mutex<Streamed<'a>>,
    parts: SyncSender<(usize, Table)>,
    has_writer: &'s AtomicBool,
}

impl TableConsumer for Ahead<'_, '_> {
    fn begin(&mut self, tables: Vec<Table>, remarks: [Vec<String>; 2]) -> Result<bool> {
        let mut streamed = lock(self.streamed);
        // An error is found by the other path too, after those of the input.
        streamed.is_unfit = streamed.open(tables, remarks).is_err();
        Ok(!streamed.is_unfit)
    }

    fn take(&mut self, number: usize, part: Table) -> Result<()> {
        let is_taken = if self.has_writer.load(Ordering::Acquire) {
            self.parts.send((number, part)).is_ok()
        } else {
            lock(self.streamed).write_part(number, part)
        };
        if is_taken { Ok(()) } else { Err(Error::new(ErrorKind::Malformed, "the rows could not be written")) }
    }
}

/// Tables on their way from a reader to a writer.
struct Streamed<'a> {
    from: Format,
    to: Format,
    writer: TablesWriter,
    path: &'a Path,
    folder: &'a SourceFolder,
    read: &'a ReadOptions,
    write: &'a WriteOptions,
    /// Which table of the output each table of the input is, if any.
    places: Vec<Option<usize>>,
    /// Those of the output.
    targets: Vec<Table>,
    parts: Option<TableParts<'a>>,
    opening: Option<Opening<'a>>,
    losses: Warnings,
    report: Report,
    /// The rows are not what the first ones promised.
    is_unfit: bool,
    /// An error that is not about the input.
    failed: Option<Error>,
}

impl<'a> Streamed<'a> {
    fn new(
        (from, to, writer): (Format, Format, TablesWriter),
        path: &'a Path,
        folder: &'a SourceFolder,
        (read, write): (&'a ReadOptions, &'a WriteOptions),
    ) -> Streamed<'a> {
        Streamed {
            from,
            to,
            writer,
            path,
            folder,
            read,
            write,
            places: Vec::new(),
            targets: Vec::new(),
            parts: None,
            opening: None,
            losses: Warnings::default(),
            report: Report::default(),
            is_unfit: false,
            failed: None,
        }
    }

    /// The tables of the output for those of the input.
    fn fitted(&self, found: Tables, losses: &mut Warnings) -> Result<Tables> {
        fit(found, (self.from, self.to), &self.read.table, &self.path.to_string_lossy(), losses)
    }

    fn open(&mut self, tables: Vec<Table>, [comments, infos]: [Vec<String>; 2]) -> Result<()> {
        let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
        let mut losses = Warnings::default();
        let found = self.fitted(Tables { tables, comments, infos }, &mut losses)?;
        losses.refuse_losses(self.write.strict)?;
        self.losses = losses;
        let output = Output::Path(self.path.to_owned());
        let (name, links) = (outputs::name_of(&output).into_owned(), Relinker::new(&output, self.write)?);
        // Elements keep their names; a file of one table becomes one.
        let is_one = names.len() == 1 && found.tables.len() == 1;
        let place = |name: &String| found.tables.iter().position(|table| is_one || table.name == *name);
        self.places = names.iter().map(place).collect();
        let mut parts = (self.writer.begin_parts)(PartsJob {
            tables: &found.tables,
            comments: &found.comments,
            infos: &found.infos,
            folder: self.folder,
            format: self.to,
            name: &name,
            links,
            options: self.write,
            report: &mut self.report,
        })?;
        let copies = std::mem::take(&mut parts.copies);
        let mut opening = Opening::new(copies, output, Some(self.to.name()), self.write, &self.report)?;
        parts.begin(&found.tables, &mut opening.writing)?;
        (self.parts, self.opening, self.targets) = (Some(parts), Some(opening), found.tables);
        Ok(())
    }

    /// Writes rows of table `number` of the input; `false` if that failed or they are not like the first.
    fn write_part(&mut self, number: usize, part: Table) -> bool {
        match self.try_write_part(number, part) {
            Ok(is_fit) => self.is_unfit |= !is_fit,
            Err(error) => self.failed = Some(error),
        }
        self.failed.is_none() && !self.is_unfit
    }

    /// Writes rows, if they are in the output; `false` if they are not like the first.
    fn try_write_part(&mut self, number: usize, part: Table) -> Result<bool> {
        let Some(Some(target)) = self.places.get(number).copied() else { return Ok(true) };
        let mut tables = Vec::new();
        try_push(&mut tables, part, "tables")?;
        let fitted = self.fitted(Tables { tables, ..Tables::default() }, &mut Warnings::default())?;
        let (Some(part), Some(parts), Some(opening)) = (fitted.tables.first(), &mut self.parts, &mut self.opening)
        else {
            return Ok(false);
        };
        parts.write(target, part, &mut opening.writing)
    }

    /// Puts the output in place, unless `before` fails.
    fn finish(self, reading: &mut Report, before: &mut Before<'_>) -> Result<Report> {
        let Streamed { targets, opening, losses, mut report, .. } = self;
        reading.warnings.extend(losses);
        before(Content::Rows(&targets), reading)?;
        let opening = opening.ok_or_else(|| Error::new(ErrorKind::Internal, "nothing was written"))?;
        let start = Instant::now();
        opening.finish(&mut report)?;
        // The rest of it was in the time of reading.
        report.phases.push(Phase { name: "write", elapsed: start.elapsed() });
        Ok(report)
    }
}
