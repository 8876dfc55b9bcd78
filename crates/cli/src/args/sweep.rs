//! What `polyhaul sweep` can ask for.

use super::ReadArgs;
use crate::values;
use clap::{Args, ValueHint};
use polyhaul::options::{Codec, Compression};
use polyhaul::report::Device;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The slowest and the fastest rate of the usual ones, in bytes per second, and how many there are.
const USUAL: ([f64; 2], usize) = ([50e6, 4e9], 8);

/// `polyhaul sweep`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  polyhaul sweep island.pbrt                            how to store it, for which disks
  polyhaul sweep scan.obj --rates 100MB/s,1GB/s,unlimited --codecs as-is,zstd,zstd:9
  polyhaul sweep scan.obj --chart curves.svg --csv curves.csv
  polyhaul sweep scan.obj --model                       predict it, and load nothing
  polyhaul sweep scan.obj --forget                      remove the compressed copies

Rates are those of stored bytes: of compressed files that of what is compressed. Copies are made once and
kept in the folder for caches; run `polyhaul limits` first to have predictions beside what is measured.
Ctrl-C ends it and shows what was measured; a second one ends it at once, without that.")]
pub struct SweepArgs {
    /// The asset: a file, and the files that it names
    #[arg(value_name = "IN", required_unless_present = "forget", value_hint = ValueHint::FilePath)]
    pub input: Option<PathBuf>,
    /// Rates to load at, and `unlimited` [default: 8 from 50 MB/s to 4 GB/s, and unlimited]
    #[arg(long, value_name = "RATE,…", value_delimiter = ',', value_parser = device)]
    pub rates: Vec<Device>,
    /// How to store it: as-is, none, gzip, zstd, lz4, with a level behind a colon (zstd:9) [default: as-is and those
    /// that it is not, at their fast levels]
    #[arg(long, value_name = "CODEC,…", value_delimiter = ',', value_parser = storing)]
    pub codecs: Vec<Storing>,
    /// Thread counts to load with [default: 1 and all]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub sweep_threads: Vec<u16>,
    /// Loads of each cell, of which the middle one counts; one where the rate alone decides
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u16).range(1..=100))]
    pub rounds: u16,
    /// After so long no load is begun; cells that would take longer are left out (90s)
    #[arg(long, value_name = "TIME", default_value = "300s", value_parser = values::latency)]
    pub time_limit: Duration,
    /// Leave out the loads from the disk, which push the files out of memory
    #[arg(long)]
    pub warm: bool,
    /// Predict by what `polyhaul limits` measured and by a sample of the files; load nothing
    #[arg(long)]
    pub model: bool,
    /// Write a line for each cell to a file
    #[arg(long, value_name = "OUT.csv", value_hint = ValueHint::FilePath, value_parser = values::file_named(&["csv"]))]
    pub csv: Option<PathBuf>,
    /// Where compressed copies are kept [default: the user's folder for caches]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub cache: Option<PathBuf>,
    /// Remove the copies of the asset, or of all assets where none is given, and do nothing else
    #[arg(long)]
    pub forget: bool,
    /// How to read.
    #[command(flatten)]
    pub read: ReadArgs,
}

/// A way of storing an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storing {
    /// The files that there are.
    AsIs,
    /// Not compressed.
    Plain,
    /// Compressed, at a level.
    By(Codec, Option<i32>),
}

impl Storing {
    /// As the library has it; `None` where nothing is written.
    pub fn compression(self) -> Option<Compression> {
        match self {
            Storing::AsIs => None,
            Storing::Plain => Some(Compression::None),
            Storing::By(codec, level) => Some(Compression::By(codec, level)),
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

fn device(text: &str) -> Result<Device, String> {
    match text.trim() {
        "unlimited" => Ok(Device::Memory),
        rate => values::rate(rate).map(Device::Rate),
    }
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
            return Err("expected as-is, none, gzip, zstd or lz4, the last three with a level if wanted: zstd:9".into());
        }
    };
    let Some(level) = level else { return Ok(Storing::By(codec, None)) };
    match level.parse() {
        Ok(level) if codec.levels().contains(&level) => Ok(Storing::By(codec, Some(level))),
        _ => Err(format!("{codec} has levels {} to {}", codec.levels().start(), codec.levels().end())),
    }
}

impl SweepArgs {
    /// The rates, from fast to slow, each once.
    pub fn devices(&self) -> Vec<Device> {
        let mut devices = if self.rates.is_empty() { usual() } else { self.rates.clone() };
        devices.sort_unstable();
        devices.dedup();
        devices.reverse();
        devices
    }

    /// The thread counts, from few to many, each once; `all` is what there is.
    pub fn threads(&self, all: usize) -> Vec<usize> {
        let given = self.sweep_threads.iter().map(|&threads| usize::from(threads));
        let mut threads: Vec<_> = if self.sweep_threads.is_empty() { vec![1, all] } else { given.collect() };
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// The ways of storing, first as it is; `found` is how its files are compressed.
    pub fn storings(&self, found: &[Option<Codec>]) -> Vec<Storing> {
        let mut storings = vec![Storing::AsIs];
        let is_plain = found.iter().all(Option::is_none);
        let is_all = |codec: Codec| !found.is_empty() && found.iter().all(|it| *it == Some(codec));
        let usual = [Codec::Gzip, Codec::Zstd, Codec::Lz4].into_iter().filter(|&codec| !is_all(codec));
        match self.codecs.is_empty() {
            true => {
                storings.extend((!is_plain).then_some(Storing::Plain));
                storings.extend(usual.map(|codec| Storing::By(codec, None)));
            }
            false => {
                // What is not compressed anyway need not be copied.
                let as_is = |it: &Storing| *it == Storing::AsIs || (*it == Storing::Plain && is_plain);
                storings.extend(self.codecs.iter().copied().filter(|it| !as_is(it)));
            }
        }
        let mut seen = Vec::new();
        storings.retain(|it| {
            !seen.contains(it) && {
                seen.push(*it);
                true
            }
        });
        storings
    }
}

/// Rates at even distances on a logarithmic axis, with two digits, and none.
fn usual() -> Vec<Device> {
    let ([slow, fast], count) = USUAL;
    let at = |index: usize| slow * (fast / slow).powf(index as f64 / (count - 1) as f64);
    let short = |value: f64| {
        let unit = 10_f64.powf(value.log10().floor() - 1.0);
        Device::Rate(((value / unit).round() * unit) as u64)
    };
    (0..count).map(|index| short(at(index))).chain([Device::Memory]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_rates_are_even() {
        let wanted = [50, 94, 170, 330, 610, 1100, 2100, 4000].map(|rate| Device::Rate(rate * 1_000_000));
        assert_eq!(usual()[..8], wanted);
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
