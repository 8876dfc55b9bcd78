//! Estimates the shortest time in which a machine could process the bytes of a job, from the machine's ceilings.
//!
//! Cost and time of a stage come from `model.rs`. Costs are summed per resource over all formats and codecs; stages are
//! sequential. An unknown rate makes the result unknown.

use super::Facts;
use super::accounting::Account;
use crate::ceilings::Ceilings;
pub(super) use crate::model::Cost;
use crate::model::{Reading, kernel_seconds, over, speed};
use crate::moved::Moved;
use polyhaul_trace::{Lane, Phase, Recording};

/// Minimum best time in seconds: shorter jobs are not compared, since their duration hardly depends on the number of
/// bytes.
const SMALL: f64 = 0.001;
/// Maximum share of the time for work without a kernel.
const UNKNOWN_WORK: f64 = 0.1;

/// Applies the ceilings of a machine to bytes.
pub(super) struct Model<'a> {
    pub(super) ceilings: &'a Ceilings,
    /// Share of the input that comes from a disk.
    cold: f64,
    /// Observed share of decompression that was serial.
    lone: f64,
}

impl<'a> Model<'a> {
    pub(super) fn from_recording(seen: &Recording, account: &Account, ceilings: &'a Ceilings) -> Model<'a> {
        Model { ceilings, cold: account.cold, lone: lone(seen) }
    }

    /// Combined throughput of `threads` threads, in cores.
    pub(super) fn speed(&self, threads: usize) -> f64 {
        speed(self.ceilings, threads)
    }

    /// Cost of reading, or `None` if a rate is unknown.
    ///
    /// Only decompression that was observed to run in parallel counts as parallel, since it is unknown whether more of
    /// it could have run in parallel.
    pub(super) fn read(&self, list: &[Moved]) -> Option<Cost> {
        let reading = Reading::from_moved(list, self.ceilings)?;
        let bytes = list.iter().map(|moved| moved.bytes).sum();
        let disk = self.ceilings.cold_read.map_or(Some(0.0), |rate| over(bytes, rate))? * self.cold;
        Some(reading.cost(reading.streams.min(self.lone * reading.unpack), disk))
    }

    /// Cost of writing, or `None` if a rate is unknown.
    pub(super) fn write(&self, list: &[Moved]) -> Option<Cost> {
        let mut sum = Cost::default();
        for moved in list {
            let pages = over(moved.bytes, self.ceilings.write)?;
            sum.disk += if moved.durable { over(moved.bytes, self.ceilings.write_sync)? } else { pages };
            sum.cores += kernel_seconds(self.ceilings, moved.plain_bytes, writer(moved.format?)?)? + pages;
            if let Some(codec) = moved.codec {
                sum.cores += kernel_seconds(self.ceilings, moved.plain_bytes, &format!("compress {codec}"))?;
            }
        }
        Some(sum)
    }
}

/// Share of decompression that was serial; 1 without decompression.
fn lone(seen: &Recording) -> f64 {
    let totals = seen.totals();
    match totals.total(Phase::Decompress) {
        0 => 1.0,
        total => 1.0 - totals.get(Lane::Side, Phase::Decompress) as f64 / total as f64,
    }
}

/// The kernel that writes a format.
fn writer(format: &str) -> Option<&'static str> {
    Some(match format {
        "obj" | "mtl" => "format obj",
        "ply" => "format ply",
        "stl" => "format stl",
        "pbrt" => "format pbrt",
        "csv" | "tsv" | "txt" | "xyz" | "pts" => "format table",
        "tga" => "encode tga",
        "png" => "encode png",
        _ => return None,
    })
}

/// Share of the job's time spent transforming or drawing models. Parallel work is divided by the number of threads.
fn transform(seen: &Recording, account: &Account) -> f64 {
    let totals = seen.totals();
    let changes = [Phase::Transform, Phase::Draw];
    let side = changes.map(|phase| totals.get(Lane::Side, phase) as f64).iter().sum::<f64>();
    let alone = changes.map(|phase| totals.total(phase) as f64).iter().sum::<f64>() - side;
    (alone + side / account.threads as f64) / seen.elapsed_ns.max(1) as f64
}

/// Best time for all bytes moved, in seconds, or `None` if it is unknown or too short to compare, or if more than
/// [`UNKNOWN_WORK`] of the time was spent transforming or drawing. Capped at the actual time, which was evidently
/// possible.
pub(super) fn seconds(seen: &Recording, facts: &Facts, account: &Account, ceilings: &Ceilings) -> Option<f64> {
    if transform(seen, account) > UNKNOWN_WORK {
        return None;
    }
    let model = Model::from_recording(seen, account, ceilings);
    let speed = model.speed(usize::MAX);
    let sum = model.read(&facts.reads)?.at(speed) + model.write(&facts.writes)?.at(speed);
    (sum >= SMALL).then_some(sum.min(seen.elapsed_ns as f64 / 1e9))
}
