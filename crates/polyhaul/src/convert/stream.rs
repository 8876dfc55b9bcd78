//! Converts tables from file to file in parts, so large files need no more memory than small ones.
//!
//! The output and its warnings are the same as those of a conversion through the model. This path declines anything
//! unusual: an error in the input, a warning before the rows, a list longer than the first list suggests. The output is
//! not renamed into place before the input is read completely, so a partial output is never visible. Each thread takes
//! rows from the input, converts them to columns and formats the columns for the output, which is written in order.
//! Rows that have the same bytes in both formats are copied.

use super::{Content, Converted};
use crate::format::Format;
use crate::input::Output;
use crate::load::chosen::{choose_parts, read_parts};
use crate::loaded::Tables;
use crate::open::Opened;
use crate::options::{ImageReadOptions, ReadOptions, Strict, WriteOptions};
use crate::outputs::{self, Opening};
use crate::references::Relinker;
use crate::registry::TablesWriter;
use crate::report::{Phase, Report};
use crate::table_fit::{fit, is_of_points};
use crate::table_parts::{PartFormatter, PartsJob, TableParts, TablePartsStart};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Column, Scalar, SourceFolder, Table};
use polyhaul_pipeline::attempt::Attempt;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::table_parts::{RowsSlot, TableSource, unlike};
use polyhaul_pipeline::write::Pages;
use polyhaul_scan::table::TableChoice;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Bytes of rows that a thread processes at a time. Their input, columns and output together fit in the cache of a
/// core.
const PART_BYTES: u64 = 256 << 10;
/// Share of the buffer memory for a part (1/64), and the minimum size of a part.
const PART: u64 = 64;
const MIN_PART_BYTES: u64 = 16 << 10;
/// Minimum number of parts: smaller files are read as a whole.
const MIN_PARTS: u64 = 4;
/// Interval between progress reports, in bytes of input.
const PROGRESS_BYTES: u64 = 4 << 20;
/// Estimated and maximum number of text bytes per byte of rows: for progress, and for the size of slots.
const TEXT_FACTOR: u64 = 3;
const MAX_TEXT_FACTOR: u64 = 6;

/// Called before the output is renamed into place.
pub(super) type Before<'b> = dyn FnMut(Content<'_>, &Report) -> Result<()> + 'b;

/// Converts tables in parts; declines if they must be read as a whole.
pub(super) fn stream(
    input: &Opened,
    output: &Output,
    to: Format,
    read: &ReadOptions,
    write: &WriteOptions,
    before: &mut Before<'_>,
) -> Result<Attempt<Converted>> {
    let Some(path) = outputs::file_of(output) else { return Ok(Attempt::Declined) };
    let Some(writer) = to.writers().tables else { return Ok(Attempt::Declined) };
    let Some(part_bytes) = part_bytes(input, read) else { return Ok(Attempt::Declined) };
    if (writer.wants_mesh)(write) || is_of_points(to) {
        return Ok(Attempt::Declined);
    }
    let alone = read.run.clone().with_threads(Some(1));
    let Attempt::Done(choice) = chosen(input, read, &alone)? else { return Ok(Attempt::Declined) };
    let file_bytes = input.file_bytes().unwrap_or(0);
    let threads = read.run.worker_threads().min(write.run.worker_threads());
    let write = &WriteOptions { run: write.run.clone().with_threads(Some(threads)), ..write.clone() };
    let folder = input.near().source_folder(read);
    let mut streamed = None;
    let attempt = read_parts(input, None, read, part_bytes, &mut |source, from| {
        let losses = Warnings::for_target(to.name());
        let report = Report::of_writing(to.name());
        let job = Streamed { from, to, writer, path, folder: &folder, read, write, losses, report };
        let Attempt::Done(output) = job.open(source, choice.as_ref(), file_bytes)? else {
            return Ok(Attempt::Declined);
        };
        let (output, threads) = output.write_all(source, choice.as_ref())?;
        streamed = Some(output);
        Ok(Attempt::Done(threads))
    })?;
    let Attempt::Done(mut reading) = attempt else { return Ok(Attempt::Declined) };
    let Some(streamed) = streamed else { return Ok(Attempt::Declined) };
    streamed.finish(&mut reading, before).map(|writing| Attempt::Done(Converted { reading, writing }))
}

/// Approximate size of a part, or `None` if the input must be read as a whole, because it is small, because strict
/// reading must find all warnings before anything is written, or because image options are set.
pub(super) fn part_bytes(input: &Opened, read: &ReadOptions) -> Option<usize> {
    let part_bytes = read.run.chunk_bytes.map_or(PART_BYTES, |bytes| bytes as u64);
    let is_large = input.file_bytes().unwrap_or(0) >= MIN_PARTS.saturating_mul(part_bytes);
    let part_bytes = part_bytes.min((read.run.memory_limit / PART).max(MIN_PART_BYTES)) as usize;
    (is_large && read.strict == Strict::Off && read.image == ImageReadOptions::default()).then_some(part_bytes)
}

/// Selects rows, unless all are kept; declines if that requires reading the file as a whole.
pub(super) fn chosen<'o>(
    input: &Opened,
    read: &'o ReadOptions,
    alone: &'o RunOptions,
) -> Result<Attempt<Option<TableChoice<'o>>>> {
    if read.rows.is_everything() {
        return Ok(Attempt::Done(None));
    }
    Ok(choose_parts(input, None, read, alone)?.map(Some))
}

/// Tables being converted.
struct Streamed<'a> {
    from: Format,
    to: Format,
    writer: TablesWriter,
    path: &'a Path,
    folder: &'a SourceFolder,
    read: &'a ReadOptions,
    write: &'a WriteOptions,
    losses: Warnings,
    report: Report,
}

/// An output whose rows are being written.
struct StreamedOutput<'a> {
    streamed: Streamed<'a>,
    /// For each input table, the index of its output table, if any.
    places: Vec<Option<usize>>,
    /// Output tables.
    targets: Vec<Table>,
    parts: Box<dyn TableParts + 'a>,
    opening: Opening<'a>,
}

impl<'a> Streamed<'a> {
    /// Adapts input tables to the output format.
    fn fitted(&self, tables: Tables, losses: &mut Warnings) -> Result<Tables> {
        fit(tables, self.from, self.to, &self.read.table, &self.path.to_string_lossy(), losses)
    }

    /// Opens the output; declines if the file must be read as a whole.
    fn open(
        self,
        source: &dyn TableSource,
        choice: Option<&TableChoice<'_>>,
        file_bytes: u64,
    ) -> Result<Attempt<StreamedOutput<'a>>> {
        let mut tables = source.tables().to_vec();
        if let Some(choice) = choice {
            if tables.iter().enumerate().any(|(number, table)| choice.may_lose_longest_list(number, table)) {
                return Ok(Attempt::Declined);
            }
            tables.iter_mut().enumerate().try_for_each(|(number, table)| choice.keep_head(number, table))?;
        }
        let [comments, infos] = source.remarks().map(<[String]>::to_vec);
        match self.start(Tables { tables, comments, infos }, file_bytes) {
            Ok(output) => Ok(Attempt::Done(output)),
            // Converting through the model reports this error too, after any errors in the input.
            Err(error) if matches!(error.kind(), ErrorKind::Usage | ErrorKind::Unsupported) => Ok(Attempt::Declined),
            Err(error) => Err(error),
        }
    }

    fn start(mut self, tables: Tables, file_bytes: u64) -> Result<StreamedOutput<'a>> {
        let names: Vec<String> = tables.tables.iter().map(|table| table.name.clone()).collect();
        let mut losses = Warnings::for_target(self.to.name());
        let Tables { tables, comments, infos } = self.fitted(tables, &mut losses)?;
        losses.refuse_losses(self.write.strictness())?;
        self.losses = losses;
        let output = Output::Path(self.path.to_owned());
        let name = outputs::name_of(&output).into_owned();
        let links = Relinker::new(&output, self.write)?;
        // Elements keep their names; in a file with a single table, the table is renamed.
        let is_one = names.len() == 1 && tables.len() == 1;
        let place = |name: &String| tables.iter().position(|table| is_one || table.name == *name);
        let places = names.iter().map(place).collect();
        let TablePartsStart { start, copies } = (self.writer.start_parts)(PartsJob {
            tables: &tables,
            comments: &comments,
            infos: &infos,
            folder: self.folder,
            format: self.to,
            name: &name,
            links,
            options: self.write,
            report: &mut self.report,
        })?;
        let mut opening = Opening::new(copies, output, Some(self.to.name()), self.write, &self.report)?;
        let parts = start(&tables, &mut opening.writing)?;
        opening.writing.announce(if parts.is_text() { TEXT_FACTOR * file_bytes } else { file_bytes });
        Ok(StreamedOutput { streamed: self, places, targets: tables, parts, opening })
    }
}

impl<'a> StreamedOutput<'a> {
    /// Writes the rows of all tables; returns the number of threads used.
    fn write_all(
        mut self,
        source: &dyn TableSource,
        choice: Option<&TableChoice<'_>>,
    ) -> Result<(StreamedOutput<'a>, usize)> {
        // A slot holds the rows, their columns, and the output.
        let factor = 2 + if self.parts.is_text() { MAX_TEXT_FACTOR } else { 1 };
        let slot_bytes = source.part_bytes().saturating_mul(factor as usize);
        for (number, table) in source.tables().iter().enumerate() {
            let StreamedOutput { streamed, places, targets, parts, opening } = &mut self;
            let target = places[number];
            let is_same = |target: usize| parts.is_packed(target, table) && has_columns(&targets[target], table);
            let is_changed = choice.is_some_and(|choice| choice.changes(number, table));
            let is_copied = source.is_packed(number) && !is_changed && target.is_some_and(is_same);
            let parts = &**parts;
            let kept_rows = AtomicU64::new(0);
            let taken = AtomicU64::new(0);
            let pages = StreamPages { source, number, target, is_copied, choice, streamed, parts, kept_rows, taken };
            opening.writing.pages(&pages, &mut (), source.part_count(number), slot_bytes)?;
            let promised = choice.map_or(table.row_count as u64, |choice| choice.count(number));
            if target.is_some() && pages.kept_rows.into_inner() != promised {
                return Err(Error::new(ErrorKind::Malformed, "the file changed while it was being read"));
            }
        }
        let threads = self.opening.writing.threads();
        Ok((self, threads))
    }

    /// Renames the output into place, unless `before` fails.
    fn finish(self, reading: &mut Report, before: &mut Before<'_>) -> Result<Report> {
        let StreamedOutput { streamed: Streamed { losses, mut report, .. }, targets, opening, .. } = self;
        reading.warnings.extend(losses);
        before(Content::Rows(&targets), reading)?;
        let start = Instant::now();
        opening.finish(&mut report)?;
        // Most of the writing overlapped with reading.
        report.phases.push(Phase { name: "write", elapsed: start.elapsed() });
        Ok(report)
    }
}

/// Whether a table has the same columns as another, in the same order.
fn has_columns(table: &Table, other: &Table) -> bool {
    fn kind(column: &Column) -> (&str, Scalar, bool) {
        (&column.name, column.values.scalar(), column.offsets.is_some())
    }
    table.columns.iter().map(kind).eq(other.columns.iter().map(kind))
}

/// Rows of a table, converted from input to output.
struct StreamPages<'p, 'a> {
    source: &'p dyn TableSource,
    /// Index of the input table, and of its output table.
    number: usize,
    target: Option<usize>,
    /// Whether rows have the same bytes in the output as in the input.
    is_copied: bool,
    choice: Option<&'p TableChoice<'p>>,
    streamed: &'p Streamed<'a>,
    parts: &'p (dyn TableParts + 'a),
    kept_rows: AtomicU64,
    /// Input offset up to which rows were taken.
    taken: AtomicU64,
}

/// Rows in flight.
struct StreamSlot<'p> {
    rows: RowsSlot,
    /// Formats and holds rows of the output.
    formatter: Box<dyn PartFormatter + 'p>,
    has_text: bool,
}

impl<'p> StreamPages<'p, '_> {
    fn empty_slot(&self) -> StreamSlot<'p> {
        StreamSlot { rows: RowsSlot::default(), formatter: self.parts.formatter(), has_text: false }
    }

    /// Keeps the selected rows without converting them.
    fn keep_rows(&self, rows: &mut RowsSlot) -> Result<()> {
        self.source.check(self.number, rows)?;
        if let Some(set) = self.choice.and_then(|choice| choice.chosen(self.number)) {
            let row_bytes = rows.size / rows.rows.max(1);
            rows.size = 0;
            for row in set.among(rows.first_row, std::mem::take(&mut rows.rows)) {
                rows.bytes.copy_within(row * row_bytes..(row + 1) * row_bytes, rows.size);
                rows.size += row_bytes;
                rows.rows += 1;
            }
        }
        self.kept_rows.fetch_add(rows.rows as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Formats rows for the output. Returns `false` if there is nothing to write.
    fn format_part(&self, slot: &mut StreamSlot<'_>) -> Result<bool> {
        let Some(target) = self.target else { return self.source.check(self.number, &slot.rows).map(|()| false) };
        let mut part = self.source.parse(self.number, &slot.rows, &|_| true)?;
        if let Some(choice) = self.choice {
            choice.keep(self.number, slot.rows.first_row, &mut part)?;
        }
        self.kept_rows.fetch_add(part.row_count as u64, Ordering::Relaxed);
        if part.row_count == 0 {
            return Ok(false);
        }
        let mut tables = Vec::new();
        try_push(&mut tables, part, "tables")?;
        let fitted = self.streamed.fitted(Tables { tables, ..Tables::default() }, &mut Warnings::default())?;
        let is_fit = match fitted.tables.first() {
            Some(part) => slot.formatter.format(target, part)?,
            None => false,
        };
        // This error makes `read_parts` decline, so the file is converted as a whole.
        if is_fit { Ok(true) } else { Err(unlike()) }
    }
}

impl<'p> Pages for StreamPages<'p, '_> {
    type Slot = StreamSlot<'p>;
    type State = ();

    fn takes_in_order(&self) -> bool {
        self.source.takes_in_order(self.number)
    }

    fn slot(&self) -> Result<StreamSlot<'p>> {
        Ok(self.empty_slot())
    }

    fn take(&self, number: u64, slot: &mut StreamSlot<'p>) -> Result<bool> {
        let run = &self.streamed.read.run;
        run.cancel.check()?;
        // Frees the memory of an unusually long part.
        if slot.rows.is_long(self.source.part_bytes()) {
            *slot = self.empty_slot();
        }
        let is_taken = self.source.take(self.number, number, &mut slot.rows)?;
        let before = self.taken.fetch_max(slot.rows.end, Ordering::Relaxed);
        if let Some(progress) =
            run.progress.as_ref().filter(|_| before / PROGRESS_BYTES < slot.rows.end / PROGRESS_BYTES)
        {
            progress.report(slot.rows.end, Some(self.source.size()));
        }
        Ok(is_taken)
    }

    fn format(&self, slot: &mut StreamSlot<'p>) -> Result<()> {
        if self.is_copied {
            self.keep_rows(&mut slot.rows)?;
        } else {
            slot.has_text = self.format_part(slot)?;
        }
        Ok(())
    }

    fn bytes<'a>(&'a self, slot: &'a StreamSlot<'p>) -> &'a [u8] {
        match (self.is_copied, slot.has_text) {
            (true, _) => &slot.rows.bytes[..slot.rows.size],
            (false, true) => slot.formatter.bytes(),
            (false, false) => &[],
        }
    }
}

#[cfg(all(test, feature = "ply"))]
mod tests {
    use super::*;
    use crate::convert::convert;
    use crate::input::Input;

    /// Faces with three corners; if `is_mixed`, the last faces have four.
    fn faces(is_mixed: bool) -> Vec<u8> {
        let mut faces = Vec::new();
        for number in 0..100 {
            let corners: u8 = if is_mixed && number > 60 { 4 } else { 3 };
            faces.push(corners);
            faces.extend(0..corners);
        }
        faces
    }

    /// A PLY file of points and faces, in either order.
    fn file(faces: &[u8], has_faces_first: bool) -> Vec<u8> {
        let points: Vec<u8> = (0..300u16).flat_map(|value| f32::from(value).to_le_bytes()).collect();
        let of_points = "element vertex 100\nproperty float x\nproperty float y\nproperty float z\n";
        let of_faces = "element face 100\nproperty list uchar uchar vertex_indices\n";
        let [first, second] = if has_faces_first { [of_faces, of_points] } else { [of_points, of_faces] };
        let header = format!("ply\nformat binary_little_endian 1.0\n{first}{second}end_header\n");
        let body = if has_faces_first { [faces, &points] } else { [&points, faces] };
        [header.as_bytes(), &body.concat()].concat()
    }

    /// Converts a file, in parts if `chunk_bytes` is small enough; returns the output, the warnings, and whether it was
    /// streamed.
    fn converted(file: &Path, chunk_bytes: Option<usize>) -> (Vec<u8>, Warnings, bool) {
        let output = file.with_extension("csv");
        let mut read = ReadOptions::default();
        read.run = read.run.with_chunk_bytes(chunk_bytes).with_threads(Some(2));
        let mut is_streamed = false;
        let before = |content: Content<'_>, _: &Report| {
            is_streamed = matches!(content, Content::Rows(_));
            Ok(())
        };
        let result =
            convert(Input::from(file), Output::from(output.as_path()), &read, &WriteOptions::default(), before);
        (std::fs::read(output).unwrap(), result.unwrap().reading.warnings, is_streamed)
    }

    #[test]
    fn data_after_the_last_row_is_no_reason_to_decline() {
        let folder = std::env::temp_dir().join(format!("polyhaul-extra-data-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.ply");
        // If faces of different sizes come first, the end of the rows is only known at the end of the file.
        for (is_mixed, has_faces_first, is_streamed) in [(false, false, true), (true, false, true), (true, true, false)]
        {
            for extra in [0, 1, 1000] {
                let mut bytes = file(&faces(is_mixed), has_faces_first);
                bytes.extend(std::iter::repeat_n(7, extra));
                std::fs::write(&path, &bytes).unwrap();
                let (whole, warnings, _) = converted(&path, None);
                let (parts, warnings_of_parts, was_streamed) = converted(&path, Some(64));
                let case = format!("{is_mixed} {has_faces_first} {extra}");
                assert_eq!(whole, parts, "{case}");
                assert_eq!(format!("{warnings:?}"), format!("{warnings_of_parts:?}"), "{case}");
                assert_eq!(warnings.counts().get("extra-data").copied(), (extra > 0).then_some(1), "{case}");
                assert_eq!(was_streamed, is_streamed, "{case}");
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
