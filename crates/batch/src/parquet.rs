//! Writes the manifest as Parquet. Outputs and warnings are text columns that contain JSON, which any tool can read.
//!
//! File format: <https://parquet.apache.org/docs/file-format/>.

use crate::log::{BLOCK_BYTES, io};
use crate::manifest::{ManifestCounts, Rows, each_group, file_options};
use crate::row::Row;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use polyhaul::{Error, ErrorKind, Result, Sink};
use polyhaul_bytes::Finished;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

type ParquetResult = std::result::Result<(), ParquetError>;

const SCHEMA: &str = "message manifest {
    required binary asset (UTF8);
    required int64 attempt;
    required binary status (UTF8);
    required binary source (UTF8);
    required binary source_version (UTF8);
    required int64 source_bytes;
    required binary options (UTF8);
    required binary outputs (JSON);
    required int64 output_bytes;
    required double started;
    required double seconds;
    optional double read_seconds;
    optional double transform_seconds;
    optional double write_seconds;
    optional binary verdict (UTF8);
    optional int64 peak_bytes;
    required binary warnings (JSON);
    optional binary error_kind (UTF8);
    optional binary error_message (UTF8);
    optional binary error_file (UTF8);
    optional int64 error_line;
    optional int64 error_column;
    optional int64 error_offset;
    required binary worker (UTF8);
}";

/// Writes the manifest of a library.
///
/// # Errors
/// [`ErrorKind::Io`] if the log cannot be read or the manifest cannot be written; the old manifest is then kept.
pub(crate) fn write(outputs: &Path, path: &Path) -> Result<(ManifestCounts, Finished)> {
    let mut sink = Sink::file(path, file_options()).map_err(|error| io("create", path, error))?;
    let failed = |error: ParquetError| Error::new(ErrorKind::Io, format!("{}: {error}", path.display()));
    let schema = Arc::new(parse_message_type(SCHEMA).map_err(failed)?);
    let zstd = Compression::ZSTD(ZstdLevel::try_new(1).map_err(failed)?);
    let properties = Arc::new(WriterProperties::builder().set_compression(zstd).build());
    let mut writer = SerializedFileWriter::new(BufWriter::with_capacity(BLOCK_BYTES, &mut sink), schema, properties)
        .map_err(failed)?;
    let counts = each_group(outputs, &mut |group| write_group(&mut writer, group).map_err(failed))?;
    writer.finish().map_err(failed)?;
    // Flushed explicitly: dropping a `BufWriter` ignores errors.
    writer.inner_mut().flush().map_err(|error| io("write", path, error))?;
    drop(writer);
    let finished = sink.finish().map_err(|error| io("write", path, error))?;
    Ok((counts, finished))
}

type Group<'a, W> = SerializedRowGroupWriter<'a, W>;

fn write_group<W: Write + Send>(writer: &mut SerializedFileWriter<W>, rows: Rows<'_>) -> ParquetResult {
    if rows.is_empty() {
        return Ok(());
    }
    let mut group = writer.next_row_group()?;
    let phase = |name: &'static str| move |row: &Row| row.phases.get(name).copied();
    // Parquet stores the columns of a row group one after another, so they are written in the order of `SCHEMA`.
    texts(&mut group, rows, |_, row| Some(row.asset.clone()))?;
    integers(&mut group, rows, |row| Some(row.attempt.into()))?;
    texts(&mut group, rows, |status, _| Some(status.to_owned()))?;
    texts(&mut group, rows, |_, row| Some(row.source.clone()))?;
    texts(&mut group, rows, |_, row| Some(row.source_version.clone()))?;
    integers(&mut group, rows, |row| Some(row.source_bytes))?;
    texts(&mut group, rows, |_, row| Some(row.options.clone()))?;
    texts(&mut group, rows, |_, row| serde_json::to_string(&row.outputs).ok())?;
    integers(&mut group, rows, |row| Some(row.outputs.iter().map(|output| output.bytes).sum()))?;
    doubles(&mut group, rows, |row| Some(row.started))?;
    doubles(&mut group, rows, |row| Some(row.seconds))?;
    doubles(&mut group, rows, phase("read"))?;
    doubles(&mut group, rows, phase("transform"))?;
    doubles(&mut group, rows, phase("write"))?;
    texts(&mut group, rows, |_, row| row.verdict.clone())?;
    integers(&mut group, rows, |row| row.peak_bytes)?;
    texts(&mut group, rows, |_, row| serde_json::to_string(&row.warnings).ok())?;
    texts(&mut group, rows, |_, row| Some(row.error.as_ref()?.kind.clone()))?;
    texts(&mut group, rows, |_, row| Some(row.error.as_ref()?.message.clone()))?;
    texts(&mut group, rows, |_, row| row.error.as_ref()?.file.clone())?;
    integers(&mut group, rows, |row| row.error.as_ref()?.line)?;
    integers(&mut group, rows, |row| row.error.as_ref()?.column)?;
    integers(&mut group, rows, |row| row.error.as_ref()?.offset)?;
    texts(&mut group, rows, |_, row| Some(row.worker.clone()))?;
    group.close().map(drop)
}

fn texts<W: Write + Send>(
    group: &mut Group<'_, W>,
    rows: Rows<'_>,
    value: impl Fn(&'static str, &Row) -> Option<String>,
) -> ParquetResult {
    let values = rows.iter().map(|(status, row)| value(status, row).map(|text| ByteArray::from(text.into_bytes())));
    column::<ByteArrayType, W>(group, values)
}

fn integers<W: Write + Send>(
    group: &mut Group<'_, W>,
    rows: Rows<'_>,
    value: impl Fn(&Row) -> Option<u64>,
) -> ParquetResult {
    column::<Int64Type, W>(group, rows.iter().map(|(_, row)| value(row).map(|value| value as i64)))
}

fn doubles<W: Write + Send>(
    group: &mut Group<'_, W>,
    rows: Rows<'_>,
    value: impl Fn(&Row) -> Option<f64>,
) -> ParquetResult {
    column::<DoubleType, W>(group, rows.iter().map(|(_, row)| value(row)))
}

/// Writes the next column: the values that are present, and definition levels that mark the missing values.
fn column<T: parquet::data_type::DataType, W: Write + Send>(
    group: &mut Group<'_, W>,
    values: impl Iterator<Item = Option<T::T>>,
) -> ParquetResult {
    let values: Vec<Option<T::T>> = values.collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("the schema has fewer columns".into()));
    };
    column.typed::<T>().write_batch(&values, Some(&levels), None)?;
    column.close()
}
