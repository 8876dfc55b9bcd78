//! Sweeps of an OBJ and of a scene of pbrt: loads at many rates, stored in several ways, beside what the model says.
//!
//! All of it is what `polyhaul limits` and `polyhaul sweep` find; here they are run, and their cells are read. What the
//! curves must look like is in `wanted/sweeps.rs`.

use super::build::Tools;
use super::json::{ToJson, array, object};
use super::plan;
use crate::term;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Enough for all cells.
const TIME_LIMIT: &str = "900s";

/// Loads of one asset.
#[derive(Clone, Debug, Default)]
pub(super) struct Sweep {
    /// A word for the names of files.
    pub(super) key: &'static str,
    pub(super) title: String,
    /// What the command says, and its chart as SVG.
    pub(super) text: String,
    pub(super) chart: String,
    pub(super) cells: Vec<Cell>,
}

/// A way of storing at a rate with so many threads, in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cell {
    pub(super) stored: String,
    pub(super) bytes: f64,
    pub(super) threads: u64,
    /// `rate`, `memory` or `disk`.
    pub(super) device: String,
    /// In bytes per second.
    pub(super) rate: Option<f64>,
    pub(super) median: Option<f64>,
    pub(super) predicted: Option<f64>,
}

impl Cell {
    /// A line of the command's table.
    fn parse(line: &str) -> Option<Cell> {
        let fields: Vec<&str> = line.splitn(11, ',').collect();
        let [stored, bytes, _, threads, device, rate, _, median, _, predicted, _] = fields[..] else { return None };
        Some(Cell {
            stored: stored.into(),
            bytes: bytes.parse().ok()?,
            threads: threads.parse().ok()?,
            device: device.into(),
            rate: rate.parse().ok(),
            median: median.parse().ok(),
            predicted: predicted.parse().ok(),
        })
    }

    /// How far what was predicted is from what was measured, as a share of that; `None` of loads from the disk itself,
    /// whose rate is not chosen.
    pub(super) fn error(&self) -> Option<f64> {
        let known = self.median.zip(self.predicted).filter(|(median, _)| *median > 0.0 && self.device != "disk");
        known.map(|(median, predicted)| predicted / median - 1.0)
    }

    fn json(&self) -> String {
        object(&[
            ("stored", self.stored.json()),
            ("bytes", self.bytes.json()),
            ("threads", self.threads.json()),
            ("device", self.device.json()),
            ("bytes_per_second", self.rate.unwrap_or(f64::NAN).json()),
            ("median_seconds", self.median.unwrap_or(f64::NAN).json()),
            ("predicted_seconds", self.predicted.unwrap_or(f64::NAN).json()),
            ("prediction_error", self.error().unwrap_or(f64::NAN).json()),
        ])
    }
}

impl Sweep {
    /// As a record has it.
    pub(super) fn json(&self) -> String {
        object(&[("asset", self.title.json()), ("cells", array(self.cells.iter().map(Cell::json)))])
    }
}

/// Measures the machine, and sweeps both assets.
pub(super) fn run(tools: &Tools, data: &Path, megabytes: u64) -> Result<Vec<Sweep>, String> {
    let mesh = plan::large(tools, data, megabytes)?;
    let scene = plan::large_scene(tools, data, megabytes)?;
    term::out("sweeps: limits\n");
    said(tools, ["limits".into(), "--again".into(), data.into()])?;
    let titled = |kind: &str, input: &plan::Input| format!("{kind}, {:.0} MB", input.bytes as f64 / 1e6);
    let main = scene.path.join("scene.pbrt");
    Ok(vec![
        swept(tools, data, ("obj", titled("OBJ", &mesh)), &mesh.path)?,
        swept(tools, data, ("pbrt", titled("pbrt", &scene)), &main)?,
    ])
}

fn swept(tools: &Tools, data: &Path, (key, title): (&'static str, String), main: &Path) -> Result<Sweep, String> {
    term::out(format!("sweeps: {title}\n"));
    let [csv, chart] = ["csv", "svg"].map(|ending| data.join("out").join(format!("sweep-{key}.{ending}")));
    let copies = data.join("copies");
    let words = ["sweep", "--time-limit", TIME_LIMIT, "--csv"].map(OsString::from);
    let more = [csv.as_os_str(), "--chart".as_ref(), chart.as_os_str(), "--cache".as_ref(), copies.as_os_str()];
    let text = said(tools, words.into_iter().chain(more.map(OsString::from)).chain([main.into()]))?;
    // Its last line names a folder of this machine.
    let kept = text.lines().filter(|line| !line.starts_with("copies take")).map(|line| format!("{line}\n"));
    let cells = read(&csv)?.lines().filter_map(Cell::parse).collect();
    Ok(Sweep { key, title, text: kept.collect(), chart: read(&chart)?, cells })
}

/// What the command says.
fn said(tools: &Tools, words: impl IntoIterator<Item = OsString>) -> Result<String, String> {
    let mut all = tools.prefix.iter().cloned().chain([tools.command.clone().into()]).chain(words);
    let mut command = Command::new(all.next().unwrap_or_default());
    command.args(all).arg("--no-progress");
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read() {
        let cell = Cell::parse("as is,300,300,2,rate,1000,0.5,0.75,3,0.6,\"a, b\"").unwrap();
        assert_eq!((cell.stored.as_str(), cell.threads, cell.rate), ("as is", 2, Some(1000.0)));
        assert!((cell.error().unwrap() + 0.2).abs() < 1e-9);
        let left_out = Cell::parse("zstd,30,300,1,memory,,,,,0.6,\"left out\"").unwrap();
        assert_eq!((left_out.median, left_out.error(), left_out.bytes), (None, None, 30.0));
        assert_eq!(Cell { device: "disk".into(), ..cell }.error(), None);
        assert_eq!(Cell::parse("stored,bytes,plain_bytes,threads,device,x,least,median,rounds,predicted,note"), None);
    }
}
