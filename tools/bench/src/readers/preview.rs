//! Renders previews of files, and measures their phases.

use super::pbrt;
use crate::Failure;
use crate::measure::{self, Timing};
use polyhaul::preview::{PreviewOptions, preview};
use polyhaul::{ReadOptions, Report};
use std::path::Path;

/// Renders `file`, and prints the total time, the time before the first pixel, or the time of a phase.
pub fn main(name: &str, file: &Path, threads: usize) -> Result<(), Failure> {
    let file = if file.is_dir() { pbrt::main_file(file)? } else { file.into() };
    let run = polyhaul::options::RunOptions::default().with_threads(Some(threads));
    let read = ReadOptions::default().with_run(run.clone());
    let options = PreviewOptions::default().with_run(run);
    let (picture, timing) = measure::timed(|| preview(&*file, &read, &options));
    let report = picture?.report;
    let seconds = match name {
        "first-pixel" => report.first_pixel.map(|time| time.as_secs_f64()),
        _ => name.strip_prefix("preview-").map_or(Some(timing.seconds), |phase| phase_seconds(&report, phase)),
    };
    let seconds = seconds.ok_or_else(|| format!("{}: no {name}", file.display()))?;
    measure::print(Timing { seconds, ..timing }, &[]);
    Ok(())
}

fn phase_seconds(report: &Report, name: &str) -> Option<f64> {
    // Flattening a scene's definitions is part of building trees.
    let is_part = |phase: &str| phase == name || name == "trees" && phase == "flatten";
    let seconds = report.phases.iter().filter(|phase| is_part(phase.name)).map(|phase| phase.elapsed.as_secs_f64());
    seconds.reduce(|sum, seconds| sum + seconds)
}
