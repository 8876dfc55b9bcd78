//! Sweeps of an OBJ file and of a pbrt scene: loads at many data rates, stored in several ways, with the predictions of
//! the model.
//!
//! Runs `polyhaul limits` and `polyhaul sweep`, and parses their output.

use super::plan::{Input, Place};
use super::runs::output;
use crate::term;
use serde::Serialize;
use std::path::Path;

/// Command of a sweep, with a time budget for all cells.
const SWEEP: &str =
    "{command} sweep --time-limit 900s --csv {csv} --chart {chart} --cache {data}/copies {main} --no-progress";

/// Loads of one asset.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Sweep {
    /// Part of file names.
    #[serde(skip)]
    pub(super) key: &'static str,
    #[serde(rename = "asset")]
    pub(super) title: String,
    /// Output of the command, and its chart as SVG.
    #[serde(skip)]
    pub(super) text: String,
    #[serde(skip)]
    pub(super) chart: String,
    pub(super) cells: Vec<Cell>,
}

/// Load time in seconds for a storage method, a data rate and a number of threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Cell {
    pub(super) stored: String,
    pub(super) bytes: f64,
    pub(super) threads: u64,
    /// `rate`, `memory` or `disk`.
    pub(super) device: String,
    /// Bytes per second.
    #[serde(rename = "bytes_per_second")]
    pub(super) rate: Option<f64>,
    #[serde(rename = "median_seconds")]
    pub(super) median: Option<f64>,
    #[serde(rename = "predicted_seconds")]
    pub(super) predicted: Option<f64>,
    /// Relative error of the prediction, or `None` for loads from the disk itself, whose data rate is not chosen.
    #[serde(rename = "prediction_error")]
    pub(super) error: Option<f64>,
}

impl Cell {
    /// Parses a line of the command's table.
    fn parse(line: &str) -> Option<Cell> {
        let fields: Vec<&str> = line.splitn(11, ',').collect();
        let [stored, bytes, _, threads, device, rate, _, median, _, predicted, _] = fields[..] else { return None };
        let median: Option<f64> = median.parse().ok();
        let predicted: Option<f64> = predicted.parse().ok();
        let comparable = median.zip(predicted).filter(|(median, _)| *median > 0.0 && device != "disk");
        Some(Cell {
            stored: stored.into(),
            bytes: bytes.parse().ok()?,
            threads: threads.parse().ok()?,
            device: device.into(),
            rate: rate.parse().ok(),
            median,
            predicted,
            error: comparable.map(|(median, predicted)| predicted / median - 1.0),
        })
    }
}

/// Measures the machine, and sweeps both assets.
pub(super) fn run(place: &Place) -> Result<Vec<Sweep>, String> {
    let [mesh, scene] = [place.input("single")?, place.input("pbrt-many")?];
    term::out("sweeps: limits\n");
    said(place, "{command} limits --again {data} --no-progress", &[])?;
    let titled = |kind: &str, input: &Input| format!("{kind}, {:.0} MB", input.bytes as f64 / 1e6);
    let main = scene.path.join("scene.pbrt");
    Ok(vec![
        swept(place, "obj", titled("OBJ", &mesh), &mesh.path)?,
        swept(place, "pbrt", titled("pbrt", &scene), &main)?,
    ])
}

fn swept(place: &Place, key: &'static str, title: String, main: &Path) -> Result<Sweep, String> {
    term::out(format!("sweeps: {title}\n"));
    let [csv, chart] = ["csv", "svg"].map(|ending| place.data.join("out").join(format!("sweep-{key}.{ending}")));
    let text = said(place, SWEEP, &[("csv", &csv), ("chart", &chart), ("main", main)])?;
    // Its last line names a folder of this machine.
    let lines = text.lines().filter(|line| !line.starts_with("copies take")).map(|line| format!("{line}\n"));
    let cells = read(&csv)?.lines().filter_map(Cell::parse).collect();
    Ok(Sweep { key, title, text: lines.collect(), chart: read(&chart)?, cells })
}

/// Returns the output of the command.
fn said(place: &Place, command: &str, more: &[(&str, &Path)]) -> Result<String, String> {
    let words = place.fill(command, more)?.unwrap_or_default();
    output(&[&place.tools.prefix[..], &words].concat()).map_err(|why| format!("{words:?}: {}", why.trim()))
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
        assert!((cell.error.unwrap() + 0.2).abs() < 1e-9);
        let left_out = Cell::parse("zstd,30,300,1,memory,,,,,0.6,\"left out\"").unwrap();
        assert_eq!((left_out.median, left_out.error, left_out.bytes), (None, None, 30.0));
        assert_eq!(Cell::parse("as is,300,300,2,disk,1000,0.5,0.75,3,0.6,").unwrap().error, None);
        assert_eq!(Cell::parse("stored,bytes,plain_bytes,threads,device,x,least,median,rounds,predicted,note"), None);
    }
}
