//! Writers of OBJ, PLY and STL files: reads the model before the measurement, and writes it to a new file, which is
//! checked and then removed.

use crate::{Failure, measure, readers};
use polyhaul::WriteOptions;
use polyhaul::options::{Digits, SceneWriteOptions};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes the content of `file` to `output` with the writer `name`, and prints the measurement.
pub fn main(name: &str, file: &Path, output: &Path, threads: usize) -> Result<(), Failure> {
    let (timing, model_bytes) = match name {
        "polyhaul" => polyhaul(file, output, threads, WriteOptions::default())?,
        "polyhaul-text" => polyhaul(file, output, threads, as_text())?,
        "stl_io" => stl_io(file, output)?,
        "obj" => obj(file, output)?,
        _ => return Err(format!("no writer {name}").into()),
    };
    let identical = u64::from(same_text(file, output)?);
    let bytes = std::fs::metadata(output)?.len();
    std::fs::remove_file(output)?;
    let mut fields = vec![("bytes", bytes), ("identical", identical)];
    fields.extend(model_bytes.map(|bytes| ("base_bytes", bytes)));
    measure::print(timing, &fields);
    Ok(())
}

/// Returns options for ASCII STL with six digits.
fn as_text() -> WriteOptions {
    WriteOptions::default()
        .with_scene(SceneWriteOptions::default().with_ascii(true).with_digits(Some(Digits::Fixed(6))))
}

fn polyhaul(
    file: &Path,
    output: &Path,
    threads: usize,
    mut options: WriteOptions,
) -> Result<(measure::Timing, Option<u64>), Failure> {
    let scene = readers::load(file, threads)?;
    options.run.threads = Some(threads);
    measure::reset_peak_memory();
    let (result, timing) = measure::timed(|| polyhaul::Writer::new(output).options(&options).scene(&scene));
    result?;
    Ok((timing, Some(readers::model_bytes(&scene))))
}

/// Adds a buffer for a fair comparison: the crate's own `save` writes each number to the file separately.
fn obj(file: &Path, output: &Path) -> Result<(measure::Timing, Option<u64>), Failure> {
    let obj = obj::Obj::load(file)?;
    measure::reset_peak_memory();
    let (result, timing) = measure::timed(|| -> Result<(), Failure> {
        let mut writer = BufWriter::with_capacity(256 << 10, File::create_new(output)?);
        obj.data.write_to_buf(&mut writer)?;
        Ok(writer.flush()?)
    });
    result?;
    std::mem::forget(obj);
    Ok((timing, None))
}

/// Adds no buffer: stl_io's writer is buffered.
fn stl_io(file: &Path, output: &Path) -> Result<(measure::Timing, Option<u64>), Failure> {
    let triangles = readers::stl_io(file)?;
    measure::reset_peak_memory();
    let (result, timing) = measure::timed(|| -> Result<(), Failure> {
        Ok(stl_io::write_stl(&mut File::create_new(output)?, triangles.iter())?)
    });
    result?;
    std::mem::forget(triangles);
    Ok((timing, None))
}

/// Returns whether `output` equals `file` after the leading comments, or after PLY's header. Compressed output is
/// decompressed by gzip, which must accept it.
fn same_text(file: &Path, output: &Path) -> Result<bool, Failure> {
    let file = File::open(file)?;
    if output.extension().is_none_or(|extension| extension != "gz") {
        return same_bodies(file, File::open(output)?);
    }
    let mut gzip = Command::new("gzip").arg("-dc").arg(output).stdout(Stdio::piped()).spawn()?;
    let plain = gzip.stdout.take().ok_or("gzip has no output")?;
    let same = same_bodies(file, plain)?;
    Ok(gzip.wait()?.success() && same)
}

fn same_bodies(left: impl Read, right: impl Read) -> Result<bool, Failure> {
    let mut left = body(left)?;
    let mut right = body(right)?;
    loop {
        let a = left.fill_buf()?;
        let b = right.fill_buf()?;
        let count = a.len().min(b.len());
        if a[..count] != b[..count] || count == 0 {
            return Ok(a.len() == b.len());
        }
        left.consume(count);
        right.consume(count);
    }
}

/// Returns a reader positioned after the leading comments, or after PLY's header.
fn body<R: Read>(text: R) -> Result<BufReader<R>, Failure> {
    let mut reader = BufReader::with_capacity(256 << 10, text);
    if reader.fill_buf()?.starts_with(b"ply\n") {
        let mut line = Vec::new();
        while line != b"end_header\n" {
            line.clear();
            if reader.read_until(b'\n', &mut line)? == 0 {
                return Err("a PLY header without an end".into());
            }
        }
        return Ok(reader);
    }
    while reader.fill_buf()?.first() == Some(&b'#') {
        reader.skip_until(b'\n')?;
    }
    Ok(reader)
}
