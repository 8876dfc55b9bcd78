//! The best that a machine could do with the bytes of a job, by its ceilings.
//!
//! The cost and time of a part of a job are up to `model.rs`. For each resource the files of all formats and codecs are
//! summed. Parts follow each other. If a rate is unknown, so is the result.

use super::Facts;
use super::accounting::Account;
use crate::ceilings::Ceilings;
pub(super) use crate::model::Cost;
use crate::model::{Reading, kernel_seconds, over, speed};
use crate::moved::Moved;
use polyhaul_trace::{Lane, Phase, Recording};

/// Jobs whose best time is less are not compared, in seconds: their time is not due to their bytes.
const SMALL: f64 = 0.001;
/// Work without a kernel may take this share of the time.
const UNKNOWN_WORK: f64 = 0.1;

/// The best rates of a machine applied to bytes.
pub(super) struct Model<'a> {
    pub(super) ceilings: &'a Ceilings,
    /// The share of the input that comes from a disk.
    cold: f64,
    /// The observed share of decompressing that was serial.
    lone: f64,
}

impl<'a> Model<'a> {
    pub(super) fn from_recording(seen: &Recording, account: &Account, ceilings: &'a Ceilings) -> Model<'a> {
        Model { ceilings, cold: account.cold, lone: lone(seen) }
    }

    /// The work of this many threads, in cores.
    pub(super) fn speed(&self, threads: usize) -> f64 {
        speed(self.ceilings, threads)
    }

    /// Reading; `None` if a rate is unknown.
    ///
    /// Streams are decompressed in parallel as far as that was observed: it is unknown which of the others could have
    /// been.
    pub(super) fn read(&self, list: &[Moved]) -> Option<Cost> {
        let reading = Reading::from_moved(list, self.ceilings)?;
        let bytes = list.iter().map(|moved| moved.bytes).sum();
        let disk = self.ceilings.cold_read.map_or(Some(0.0), |rate| over(bytes, rate))? * self.cold;
        Some(reading.cost(reading.streams.min(self.lone * reading.unpack), disk))
    }

    /// Writing; `None` if a rate is unknown.
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

/// The share of decompressing that was serial; all of it if there was none.
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

/// The share of the time spent changing models, or drawing them. Serial work counts as a whole.
fn transform(seen: &Recording, account: &Account) -> f64 {
    let totals = seen.totals();
    let changes = [Phase::Transform, Phase::Draw];
    let side = changes.map(|phase| totals.get(Lane::Side, phase) as f64).iter().sum::<f64>();
    let alone = changes.map(|phase| totals.total(phase) as f64).iter().sum::<f64>() - side;
    (alone + side / account.threads as f64) / seen.elapsed_ns.max(1) as f64
}

/// The best time for everything that was moved, in seconds; `None` if it is unknown or too small to compare. Since the
/// actual time was possible, it is at most that.
pub(super) fn seconds(seen: &Recording, facts: &Facts, account: &Account, ceilings: &Ceilings) -> Option<f64> {
    if transform(seen, account) > UNKNOWN_WORK {
        return None;
    }
    let model = Model::from_recording(seen, account, ceilings);
    let speed = model.speed(usize::MAX);
    let sum = model.read(&facts.reads)?.at(speed) + model.write(&facts.writes)?.at(speed);
    (sum >= SMALL).then_some(sum.min(seen.elapsed_ns as f64 / 1e9))
}
