//! What `polyhaul limits` can ask for.

use clap::{Args, ValueHint};
use polyhaul::measure::MeasureOptions;
use std::path::PathBuf;
use std::time::Duration;

/// `polyhaul limits`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  polyhaul limits                 what this machine and this folder's disk can do
  polyhaul limits /mnt/assets     the same for the disk of another folder
  polyhaul limits --again         measure anew, for instance on a quieter machine

All cores are used, whatever --threads says. Measure when nothing else runs.")]
pub struct LimitsArgs {
    /// The folder whose disk is measured; no file is left there
    #[arg(value_name = "FOLDER", default_value = ".", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// Measure anew, and replace what was kept
    #[arg(long)]
    pub again: bool,
    /// Remove what was kept for this machine and the folder's disk, and measure nothing
    #[arg(long, conflicts_with = "again")]
    pub forget: bool,
    /// The largest file that is written; less than usual makes figures that mean little, for tests.
    #[arg(long, hide = true, value_name = "BYTES")]
    file_bytes: Option<u64>,
    /// The text that our own pieces work on.
    #[arg(long, hide = true, value_name = "BYTES")]
    data_bytes: Option<u64>,
    /// How long a figure is measured.
    #[arg(long, hide = true, value_name = "MS")]
    figure_ms: Option<u64>,
}

impl LimitsArgs {
    /// How to measure.
    pub fn options(&self) -> MeasureOptions {
        let usual = MeasureOptions::default();
        let data_bytes = self.data_bytes.and_then(|bytes| usize::try_from(bytes).ok());
        MeasureOptions {
            file_bytes: self.file_bytes.unwrap_or(usual.file_bytes),
            data_bytes: data_bytes.unwrap_or(usual.data_bytes),
            figure_time: self.figure_ms.map_or(usual.figure_time, Duration::from_millis),
            ..usual
        }
    }
}
