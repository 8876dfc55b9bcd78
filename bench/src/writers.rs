//! Writers of OBJ files: the model is read first, outside of the measurement, and written to a new
//! file, which is checked and then removed.

use crate::{Failure, measure, readers};
use polyhaul::{Output, WriteOptions};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// Writes what `file` holds to `output` with the writer `name`, and prints what that took.
pub fn main(name: &str, file: &Path, output: &Path, threads: usize) -> Result<(), Failure> {
    let (timing, model_bytes) = match name {
        "polyhaul" => polyhaul(file, output, threads)?,
        "obj" => obj(file, output)?,
        _ => return Err(format!("no writer {name}").into()),
    };
    let identical = u64::from(same_text(file, output)?);
    let bytes = std::fs::metadata(output)?.len();
    std::fs::remove_file(output)?;
    measure::print(timing, &[("bytes", bytes), ("model_bytes", model_bytes), ("identical", identical)]);
    Ok(())
}

fn polyhaul(file: &Path, output: &Path, threads: usize) -> Result<(measure::Timing, u64), Failure> {
    let scene = readers::load(file, threads)?;
    let mut options = WriteOptions::default();
    options.run.threads = Some(threads);
    measure::reset_peak_memory();
    let (result, timing) = measure::timed(|| polyhaul::save(&scene, Output::Path(output.into()), &options));
    result?;
    Ok((timing, readers::model_bytes(&scene)))
}

/// The crate's own `save` writes each number to the file by itself; a buffer is only fair.
fn obj(file: &Path, output: &Path) -> Result<(measure::Timing, u64), Failure> {
    let obj = obj::Obj::load(file)?;
    measure::reset_peak_memory();
    let (result, timing) = measure::timed(|| -> Result<(), Failure> {
        let mut writer = BufWriter::with_capacity(256 << 10, File::create_new(output)?);
        obj.data.write_to_buf(&mut writer)?;
        Ok(writer.flush()?)
    });
    result?;
    std::mem::forget(obj);
    Ok((timing, 0))
}

/// Whether both files have the same bytes after their comments at the top.
fn same_text(left: &Path, right: &Path) -> Result<bool, Failure> {
    let (mut left, mut right) = (body(left)?, body(right)?);
    loop {
        let (a, b) = (left.fill_buf()?, right.fill_buf()?);
        let count = a.len().min(b.len());
        if a[..count] != b[..count] || count == 0 {
            return Ok(a.len() == b.len());
        }
        left.consume(count);
        right.consume(count);
    }
}

/// A reader that stands behind the comments at the top of a file.
fn body(file: &Path) -> Result<BufReader<File>, Failure> {
    let mut reader = BufReader::with_capacity(256 << 10, File::open(file)?);
    while reader.fill_buf()?.first() == Some(&b'#') {
        reader.skip_until(b'\n')?;
    }
    Ok(reader)
}
