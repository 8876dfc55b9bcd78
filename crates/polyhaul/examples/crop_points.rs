//! Keeps part of a scan, with all its columns: every Nth of the points that pass a filter.
//!
//!     cargo run --release --example crop_points -- scan.ply part.ply "z > 0.5 and intensity > 100" 8

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use polyhaul::options::RowOptions;
use polyhaul::{Reader, Report, Result, Writer};
use std::path::Path;

/// Copies every `step`-th of the points that pass the filter.
pub fn crop(input: &Path, output: &Path, filter: &str, step: u64) -> Result<Report> {
    let rows = RowOptions::default().with_filter(Some(filter.parse()?)).with_every(step);
    Reader::new(input).rows(rows).convert(Writer::new(output))
}

#[allow(dead_code, reason = "tests call `crop`")]
fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, filter, step] = arguments.as_slice() else {
        eprintln!("usage: crop_points INPUT OUTPUT FILTER STEP");
        std::process::exit(2);
    };
    let step = step.parse().expect("STEP is a number");
    let report = crop(Path::new(input), Path::new(output), filter, step)?;
    println!("{} bytes became {}", report.bytes_in, report.bytes_out);
    Ok(())
}
