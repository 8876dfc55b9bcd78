//! Tables of numbers, read and written as a whole, and as the points of a scene.

use crate::error::{Error, ErrorKind, Result};
use crate::formats::Format;
use crate::formats::table::{self, Layout, Rows};
use crate::load::{load_ply_tables, note_reading, timed};
use crate::model::{Scene, Table};
use crate::open::{Opened, Plain};
use crate::options::{ReadOptions, WriteOptions};
use crate::pipeline::bytes::Bytes;
use crate::pipeline::chunk::TextChunks;
use crate::report::{Phase, Report};
use crate::save::{format_of, save_ply_tables, write_to};
use crate::{Input, LoadedArray, LoadedTables, Output, check};
use std::time::Instant;

/// Reads the tables of an input.
pub(crate) fn load(input: &Opened, options: &ReadOptions) -> Result<LoadedTables> {
    let format = options.format.map_or_else(|| Format::of_source(input.path(), input.name()), Ok)?;
    if format == Format::Ply {
        return load_ply_tables(input, options);
    }
    let ((table, comments), report) =
        timed(input, options, |plain, report| read_table(plain, format, Layout::Columns, options, report))?;
    Ok(LoadedTables { tables: vec![table], comments, infos: Vec::new(), report })
}

/// Reads the text of a table into one array.
pub(crate) fn load_array(input: Input, options: &ReadOptions) -> Result<LoadedArray> {
    let input = Opened::new(input)?;
    let format = options.format.map_or_else(|| Format::of_source(input.path(), input.name()), Ok)?;
    if !format.is_table() || format == Format::Npy {
        return Err(Error::new(ErrorKind::Usage, "only the text of tables is read into one array"));
    }
    let (read, report) = timed(&input, options, |plain, report| {
        let text = TextChunks::new(plain.source().clone()).tolerant(plain.garbage().cloned());
        let mut read = table::read(text, format, Layout::Rows, &plain.options(options))?;
        note_reading(plain, report, read.threads, std::mem::take(&mut read.warnings));
        Ok(read)
    })?;
    let (names, row_count, comments) = (read.names, read.row_count, read.comments);
    let values = read.values.into_iter().next().unwrap_or_default();
    Ok(LoadedArray { values, row_count, column_count: names.len(), names, comments, report })
}

/// Reads a table as the points of a scene.
pub(crate) fn read_scene(plain: &Plain, format: Format, options: &ReadOptions, report: &mut Report) -> Result<Scene> {
    let (table, comments) = read_table(plain, format, Layout::Points, options, report)?;
    let scene = table::scene_of_table(table, &plain.source().name().into(), &options.run)?;
    Ok(Scene { comments, ..scene })
}

fn read_table(
    plain: &Plain,
    format: Format,
    layout: Layout,
    options: &ReadOptions,
    report: &mut Report,
) -> Result<(Table, Vec<String>)> {
    let own = plain.options(options);
    match format {
        Format::Csv | Format::Tsv | Format::Txt | Format::Xyz | Format::Pts => {
            let text = TextChunks::new(plain.source().clone()).tolerant(plain.garbage().cloned());
            let mut read = table::read(text, format, layout, &own)?;
            note_reading(plain, report, read.threads, std::mem::take(&mut read.warnings));
            read.into_table(format)
        }
        Format::Npy => {
            let read = table::npy::read(Bytes::new(plain.source(), plain.garbage()), &own)?;
            note_reading(plain, report, read.threads, read.warnings);
            Ok((read.table, Vec::new()))
        }
        _ => {
            let error = Error::new(ErrorKind::Usage, "this format has no tables");
            Err(error.with_hint("ply, csv, tsv, txt, xyz, pts and npy are read as tables"))
        }
    }
}

/// Writes tables.
pub(crate) fn save(
    tables: &[Table],
    [comments, infos]: [&[String]; 2],
    output: Output,
    options: &WriteOptions,
) -> Result<Report> {
    check::tables(tables)?;
    let format = format_of(&output, options)?;
    if format == Format::Ply {
        return save_ply_tables(tables, [comments, infos], output, options);
    }
    if !format.is_table() {
        let error = Error::new(ErrorKind::Usage, "this format has no tables");
        return Err(error.with_hint("end the name in .ply, .csv, .tsv, .txt, .xyz, .pts or .npy, or say the format"));
    }
    let [table] = tables else {
        let message = format!("this format has one table, but there are {}", tables.len());
        return Err(Error::new(ErrorKind::Usage, message).with_hint("PLY holds several tables"));
    };
    write_rows(&Rows::of_table(table)?, comments, format, output, options)
}

/// Writes the positions of a scene, and what is known of them.
pub(crate) fn save_scene(scene: &Scene, format: Format, output: Output, options: &WriteOptions) -> Result<Report> {
    let rows = table::rows_of_scene(scene, format)?;
    write_rows(&rows, &scene.comments, format, output, options)
}

fn write_rows(
    rows: &Rows<'_>,
    comments: &[String],
    format: Format,
    output: Output,
    options: &WriteOptions,
) -> Result<Report> {
    let (mut report, start) = (Report::default(), Instant::now());
    write_to(output, options, &mut report, |writing, _, _| match format {
        Format::Npy => table::npy::write(rows, &options.run, writing),
        _ => table::write(rows, comments, format, &options.table, &options.run, writing),
    })?;
    report.phases.push(Phase { name: "write", elapsed: start.elapsed() });
    Ok(report)
}
