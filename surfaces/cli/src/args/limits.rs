//! The options of `polyhaul limits`. `polyhaul::measure` measures.

use clap::{Args, ValueHint};
use polyhaul::measure::MeasureOptions;
use std::path::PathBuf;
use std::time::Duration;

/// `polyhaul limits`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  polyhaul limits                 measure this machine and the disk of this folder
  polyhaul limits /mnt/assets     measure the disk of another folder
  polyhaul limits --again         measure again, for example on an idle machine

Measure while nothing else is running: all cores are used. If the machine is busy, `limits` says so, and \
saves the figures only with --force.")]
pub struct LimitsArgs {
    /// Folder whose disk to measure; temporary files are removed
    #[arg(value_name = "FOLDER", default_value = ".", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// Measure again and replace the saved figures
    #[arg(long)]
    pub again: bool,
    /// Delete the saved figures of this machine and disk, without measuring
    #[arg(long, conflicts_with = "again")]
    pub forget: bool,
    /// Save the figures even if other programs were using the cores
    #[arg(long, conflicts_with = "forget")]
    pub force: bool,
    /// The largest file to write; less than usual yields meaningless figures, for tests.
    #[arg(long, hide = true, value_name = "BYTES")]
    file_bytes: Option<u64>,
    /// The text that our own pieces work on.
    #[arg(long, hide = true, value_name = "BYTES")]
    data_bytes: Option<u64>,
    /// Time to measure each figure.
    #[arg(long, hide = true, value_name = "MS")]
    figure_ms: Option<u64>,
}

impl LimitsArgs {
    /// The options of the measurement.
    pub fn options(&self) -> MeasureOptions {
        let usual = MeasureOptions::default();
        let data_bytes = self.data_bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usual.data_bytes);
        let figure_time = self.figure_ms.map_or(usual.figure_time, Duration::from_millis);
        let file_bytes = self.file_bytes.unwrap_or(usual.file_bytes);
        usual.with_file_bytes(file_bytes).with_data_bytes(data_bytes).with_figure_time(figure_time)
    }
}
