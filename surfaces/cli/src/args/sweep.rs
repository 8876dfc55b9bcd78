//! The options of `polyhaul sweep`. Nothing is loaded here.

use super::style::ReadArgs;
use crate::values;
use clap::{Args, ValueHint};
use polyhaul::WriteOptions;
use polyhaul::options::{Codec, Compression};
use polyhaul::report::Device;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The minimum and maximum of the default rates, in bytes per second.
const USUAL: [f64; 2] = [50e6, 4e9];

/// Number of rates of a range.
const RATES: usize = 8;

/// `polyhaul sweep`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  polyhaul sweep island.pbrt                            find the best way to store it
  polyhaul sweep scan.obj --rates 100MB/s,1GB/s,unlimited --codecs as-is,zstd,zstd:9
  polyhaul sweep scan.obj --chart curves.svg --csv curves.csv
  polyhaul sweep island.pbrt --until first-pixel --chart curves.svg
  polyhaul sweep scan.obj --model                       predict the times without loading
  polyhaul sweep scan.obj --forget                      delete the compressed copies
  polyhaul sweep --program --variant plain='viewer a.pbrt' --variant gz='viewer a-gz.pbrt'

With --program, each variant is a command, run at each rate with the throttles of `polyhaul watch` (Linux only). \
`{threads}` in a command is replaced by the thread count; without it, the command gets that many processors.

Rates apply to stored bytes, before decompression. Compressed copies are made once and kept in the cache \
folder. Run `polyhaul limits` first to get predictions next to measured times. Ctrl-C stops the sweep and \
shows what was measured; a second Ctrl-C exits at once.")]
pub struct SweepArgs {
    /// Asset to load: a file, with the files that it refers to
    #[arg(value_name = "IN", required_unless_present_any = ["forget", "program"], value_hint = ValueHint::FilePath)]
    pub input: Option<PathBuf>,
    /// Sweep commands instead of an asset
    #[arg(long, requires = "variants", conflicts_with_all = ["input", "codecs", "model", "cache", "forget", "warm"])]
    pub program: bool,
    /// Command to sweep, with a name for tables and charts; repeat the option to compare commands
    #[arg(long = "variant", value_name = "NAME=COMMAND", requires = "program", value_parser = variant)]
    pub variants: Vec<ProgramVariant>,
    /// When a load counts as finished: `model`, `first-pixel`, or with --program, the text of an output line
    /// [default: model, or when the program exits]
    #[arg(long, value_name = "END", conflicts_with = "model", hide_possible_values = true,
          value_parser = values::Choices::with(&["model", "first-pixel"], |text| Ok(Until::parse(text))))]
    pub until: Option<Until>,
    /// Also run each command with its input files evicted from the page cache before each run
    #[arg(long, requires = "program")]
    pub cold: bool,
    /// Comma-separated rates to load at, ranges of rates such as 50MB/s..2GB/s, or `unlimited` [default: 8 rates from
    /// 50 MB/s to 4 GB/s, and unlimited]
    #[arg(long, value_name = "RATE,...", value_delimiter = ',', value_parser = rates)]
    pub rates: Vec<RateRange>,
    /// Comma-separated codecs to try: as-is, none, gzip, zstd or lz4, with an optional level such as zstd:9
    /// [default: as-is and all others, at fast levels]
    #[arg(long, value_name = "CODEC,...", value_delimiter = ',', hide_possible_values = true,
          value_parser = values::Choices::with(&["as-is", "none", "gzip", "zstd", "lz4"], storing))]
    pub codecs: Vec<Storing>,
    /// Comma-separated thread counts [default: 1 and all]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub sweep_threads: Vec<u16>,
    /// Loads per table cell; the cell shows their median. Cells limited only by the rate are loaded once
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u16).range(1..=100))]
    pub rounds: u16,
    /// Start no loads after this time, and skip loads that would exceed it (90s)
    #[arg(long, value_name = "TIME", default_value = "300s", value_parser = values::latency)]
    pub time_limit: Duration,
    /// Load only from the page cache; otherwise files are evicted from it before each load from the disk
    #[arg(long)]
    pub warm: bool,
    /// Predict the times from the figures of `polyhaul limits` and a sample of the files, without loading
    #[arg(long)]
    pub model: bool,
    /// Write the table to a CSV file, one line per cell
    #[arg(long, value_name = "OUT.csv", value_hint = ValueHint::FilePath, value_parser = values::file_named(&["csv"]))]
    pub csv: Option<PathBuf>,
    /// Folder for compressed copies [default: the user's cache folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub cache: Option<PathBuf>,
    /// Delete the copies of the asset, or of all assets if none is given, and exit
    #[arg(long)]
    pub forget: bool,
    /// Read options.
    #[command(flatten)]
    pub read: ReadArgs,
}

/// The event at which a load counts as finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// The model is in memory.
    Model,
    /// A picture of it is in memory, as `polyhaul preview` draws it.
    FirstPixel,
    /// A program prints a line that contains this text.
    Line(String),
}

impl Until {
    fn parse(text: &str) -> Until {
        match text {
            "model" => Until::Model,
            "first-pixel" => Until::FirstPixel,
            line => Until::Line(line.into()),
        }
    }
}

/// A command with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramVariant {
    /// Name for tables and charts.
    pub name: String,
    /// Command for the shell, in which `{threads}` stands for the thread count.
    pub command: String,
}

/// One rate, or several that are evenly spaced on a logarithmic axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateRange(Vec<Device>);

/// The compression of a variant of an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storing {
    /// The original files, unchanged.
    AsIs,
    /// Uncompressed.
    Plain,
    /// Compressed with a codec, at a level; `None` is the default level.
    By(Codec, Option<i32>),
}

impl Storing {
    /// The options for writing a copy; `None` for the original files.
    pub fn write_options(self) -> Option<WriteOptions> {
        match self {
            Storing::AsIs => None,
            Storing::Plain => Some(WriteOptions::default().with_compression(Compression::None)),
            Storing::By(codec, level) => Some(WriteOptions::default().with_compression(codec.into()).with_level(level)),
        }
    }
}

impl fmt::Display for Storing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Storing::AsIs => f.write_str("as is"),
            Storing::Plain => f.write_str("none"),
            Storing::By(codec, None) => write!(f, "{codec}"),
            Storing::By(codec, Some(level)) => write!(f, "{codec}:{level}"),
        }
    }
}

fn rates(text: &str) -> Result<RateRange, String> {
    let text = text.trim();
    if let Some((slow, fast)) = text.split_once("..") {
        let [slow, fast] = [values::rate(slow)?, values::rate(fast)?];
        if slow >= fast {
            return Err("expected a slow rate before a fast one, such as 50MB/s..2GB/s".into());
        }
        return Ok(RateRange(spread(slow as f64, fast as f64)));
    }
    let device = if text == "unlimited" { Device::Memory } else { Device::Rate(values::rate(text)?) };
    Ok(RateRange(vec![device]))
}

fn variant(text: &str) -> Result<ProgramVariant, String> {
    let (name, command) = text.split_once('=').ok_or("expected a name and a command, such as plain='viewer a.pbrt'")?;
    let [name, command] = [name.trim(), command.trim()];
    let is_plain = |letter: char| letter.is_alphanumeric() || " .:+_-".contains(letter);
    if name.is_empty() || command.is_empty() || !name.chars().all(is_plain) {
        return Err("expected a name of letters, digits and .:+_- before the `=`, and a command after it".into());
    }
    Ok(ProgramVariant { name: name.into(), command: command.into() })
}

fn storing(text: &str) -> Result<Storing, String> {
    let (name, level) = text.trim().split_once(':').map_or((text.trim(), None), |(name, level)| (name, Some(level)));
    let codec = match (name, level) {
        ("as-is", None) => return Ok(Storing::AsIs),
        ("none", None) => return Ok(Storing::Plain),
        ("gzip" | "gz", _) => Codec::Gzip,
        ("zstd" | "zst", _) => Codec::Zstd,
        ("lz4", _) => Codec::Lz4,
        _ => {
            return Err("expected as-is, none, gzip, zstd or lz4, optionally with a level such as zstd:9".into());
        }
    };
    let Some(level) = level else { return Ok(Storing::By(codec, None)) };
    match level.parse() {
        Ok(level) if codec.levels().contains(&level) => Ok(Storing::By(codec, Some(level))),
        _ => Err(format!("expected a {codec} level from {} to {}", codec.levels().start(), codec.levels().end())),
    }
}

impl SweepArgs {
    /// The event at which loads of an asset count as finished, or `None` if only programs have that one.
    pub fn end_of_load(&self) -> Option<Until> {
        match self.until.clone().unwrap_or(Until::Model) {
            Until::Line(_) => None,
            until => Some(until),
        }
    }

    /// The distinct rates in ascending order. Advice depends on the slow rates, so they run first.
    pub fn devices(&self) -> Vec<Device> {
        let given = self.rates.iter().flat_map(|range| range.0.iter().copied());
        let mut devices = if self.rates.is_empty() { usual() } else { given.collect() };
        devices.sort_unstable();
        devices.dedup();
        devices
    }

    /// The distinct thread counts, in ascending order.
    pub fn threads(&self, core_count: usize) -> Vec<usize> {
        let given = self.sweep_threads.iter().map(|&threads| usize::from(threads));
        let mut threads: Vec<_> = if self.sweep_threads.is_empty() { vec![1, core_count] } else { given.collect() };
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// The compressions of the variants, starting with the original. `codecs` has the codec of each original file.
    pub fn storings(&self, codecs: &[Option<Codec>]) -> Vec<Storing> {
        let mut storings = vec![Storing::AsIs];
        let is_plain = codecs.iter().all(Option::is_none);
        let is_all = |codec: Codec| !codecs.is_empty() && codecs.iter().all(|stored| *stored == Some(codec));
        let usual = [Codec::Gzip, Codec::Zstd, Codec::Lz4].into_iter().filter(|&codec| !is_all(codec));
        if self.codecs.is_empty() {
            storings.extend((!is_plain).then_some(Storing::Plain));
            storings.extend(usual.map(|codec| Storing::By(codec, None)));
        } else {
            // Files that are uncompressed anyway need no copy.
            let is_as_is = |storing: &Storing| *storing == Storing::AsIs || (*storing == Storing::Plain && is_plain);
            storings.extend(self.codecs.iter().copied().filter(|storing| !is_as_is(storing)));
        }
        let mut seen = Vec::new();
        storings.retain(|storing| {
            !seen.contains(storing) && {
                seen.push(*storing);
                true
            }
        });
        storings
    }
}

/// The default rates, and unlimited.
fn usual() -> Vec<Device> {
    let [slow, fast] = USUAL;
    spread(slow, fast).into_iter().chain([Device::Memory]).collect()
}

/// Rates that are evenly spaced on a logarithmic axis and rounded to two digits.
fn spread(slow: f64, fast: f64) -> Vec<Device> {
    let at = |index: usize| slow * (fast / slow).powf(index as f64 / (RATES - 1) as f64);
    let short = |value: f64| {
        let unit = 10_f64.powf(value.log10().floor() - 1.0);
        Device::Rate(((value / unit).round() * unit) as u64)
    };
    (0..RATES).map(|index| short(at(index))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_rates_are_even() {
        let rates = [50, 94, 170, 330, 610, 1100, 2100, 4000].map(|rate| Device::Rate(rate * 1_000_000));
        assert_eq!(usual()[..8], rates);
    }

    #[test]
    fn ranges_are_several_rates() {
        let range = rates("50MB/s..2GB/s").unwrap().0;
        assert_eq!([range[0], range[7]], [50_000_000, 2_000_000_000].map(Device::Rate));
        assert_eq!((range.len(), rates("unlimited").unwrap().0), (8, vec![Device::Memory]));
        for text in ["2GB/s..50MB/s", "..", "1MB/s..", "..1MB/s", "1..2"] {
            assert!(rates(text).is_err(), "{text}");
        }
    }

    #[test]
    fn variants_have_a_name_and_a_command() {
        let parsed = variant("plain = viewer --option=1 a.pbrt").unwrap();
        assert_eq!((&*parsed.name, &*parsed.command), ("plain", "viewer --option=1 a.pbrt"));
        for text in ["viewer a.pbrt", "=viewer", "name=", "a,b=viewer", "\"=viewer"] {
            assert!(variant(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ways_of_storing_have_names() {
        for text in ["none", "gzip", "zstd:9", "lz4"] {
            assert_eq!(storing(text).unwrap().to_string(), text);
        }
        assert_eq!(storing("as-is"), Ok(Storing::AsIs));
        for text in ["", "zip", "as-is:1", "zstd:99", "zstd:", "zstd:x", "lz4:2"] {
            assert!(storing(text).is_err(), "{text}");
        }
    }
}
