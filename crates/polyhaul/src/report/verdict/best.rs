//! The best that a machine could do with the bytes of a job, by its ceilings.
//!
//! Within a part of a job everything goes on at the same time, so a part takes as long as its slowest resource: the
//! disk, the cores together, or the one core that a serial decoder keeps busy. The parts follow each other. Where a
//! rate is not known, nothing is said.

use super::accounting::Account;
use super::{Facts, Moved};
use crate::report::Ceilings;
use polyhaul_bytes::Codec;
use polyhaul_bytes::trace::{Lane, Phase, Recording};

/// Jobs whose best time is less are not compared, in seconds: what they take is not their bytes.
const SMALL: f64 = 0.001;
/// Work that no kernel stands for may take this share of the time.
const UNKNOWN_WORK: f64 = 0.1;

/// What a part of a job takes at least, by resource, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// The disk, or the pages of the system.
    pub(super) disk: f64,
    /// One core, for all work that cores can share.
    pub(super) cores: f64,
    /// One core, for what only one can do.
    pub(super) serial: f64,
}

impl Cost {
    /// The time at a speed, in cores.
    pub(super) fn at(self, speed: f64) -> f64 {
        self.disk.max(self.serial).max((self.cores + self.serial) / speed)
    }
}

/// What a machine makes of bytes.
pub(super) struct Model<'a> {
    pub(super) ceilings: &'a Ceilings,
    /// Which share of what is read comes from a disk.
    pub(super) cold: f64,
    /// Whether one thread decompresses for all.
    pub(super) is_stream: bool,
}

impl<'a> Model<'a> {
    pub(super) fn of(seen: &Recording, account: &Account, ceilings: &'a Ceilings) -> Model<'a> {
        Model { ceilings, cold: account.cold, is_stream: is_stream(seen) }
    }

    /// How much work so many threads get done, in cores.
    pub(super) fn speed(&self, threads: usize) -> f64 {
        let (cores, best) = (self.ceilings.cores.max(1), self.ceilings.cores_side_by_side.max(1.0));
        match cores {
            _ if threads >= cores => best,
            _ => 1.0 + (best - 1.0) * (threads.max(1) - 1) as f64 / (cores - 1) as f64,
        }
    }

    /// Reading; `None` where a rate is not known.
    pub(super) fn read(&self, moved: &Moved) -> Option<Cost> {
        let (kernel, is_serial) = reader(moved.format?)?;
        let parse = self.seconds(moved.plain_bytes, kernel)?;
        let unpack = match moved.codec {
            Some(codec) => self.decompress(codec, moved.plain_bytes)?,
            None => 0.0,
        };
        let is_stream = self.is_stream && moved.codec.is_some();
        let serial = [(parse, is_serial), (unpack, is_stream)].into_iter().filter(|it| it.1).map(|it| it.0).sum();
        let copy = over(moved.bytes, self.ceilings.cached_read);
        let disk = self.ceilings.cold_read.map_or(0.0, |rate| self.cold * over(moved.bytes, rate));
        Some(Cost { disk, cores: parse + unpack + copy - serial, serial })
    }

    /// Writing; `None` where a rate is not known.
    pub(super) fn write(&self, moved: &Moved) -> Option<Cost> {
        let format = self.seconds(moved.plain_bytes, writer(moved.format?)?)?;
        let pack = match moved.codec {
            Some(codec) => self.compress(codec, moved.plain_bytes)?,
            None => 0.0,
        };
        let pages = over(moved.bytes, self.ceilings.write);
        let disk = if moved.durable { over(moved.bytes, self.ceilings.write_sync) } else { pages };
        Some(Cost { disk, cores: format + pack + pages, serial: 0.0 })
    }

    pub(super) fn decompress(&self, codec: Codec, plain_bytes: u64) -> Option<f64> {
        self.seconds(plain_bytes, &format!("decompress {codec}"))
    }

    pub(super) fn compress(&self, codec: Codec, plain_bytes: u64) -> Option<f64> {
        self.seconds(plain_bytes, &format!("compress {codec}"))
    }

    fn seconds(&self, bytes: u64, kernel: &str) -> Option<f64> {
        self.ceilings.kernel(kernel).filter(|rate| *rate > 0.0).map(|rate| over(bytes, rate))
    }
}

/// How long bytes take; no time where the rate is none.
fn over(bytes: u64, rate: f64) -> f64 {
    if rate > 0.0 { bytes as f64 / rate } else { 0.0 }
}

/// Whether one thread decompressed while others did something else.
fn is_stream(seen: &Recording) -> bool {
    let totals = seen.totals();
    totals.get(Lane::Input, Phase::Decompress) > totals.get(Lane::Side, Phase::Decompress)
}

/// The kernel that reads a format, and whether only one thread can.
pub(super) fn reader(format: &str) -> Option<(&'static str, bool)> {
    Some(match format {
        "obj" => ("parse obj", false),
        "ply" => ("parse ply", false),
        "stl" => ("parse stl", false),
        "pbrt" => ("parse pbrt", false),
        "csv" | "tsv" | "txt" | "xyz" | "pts" => ("parse table", false),
        "tga" => ("decode tga", false),
        "hdr" => ("decode hdr", false),
        "png" => ("decode png", true),
        _ => return None,
    })
}

/// The kernel that writes a format.
fn writer(format: &str) -> Option<&'static str> {
    Some(match format {
        "obj" => "format obj",
        "ply" => "format ply",
        "stl" => "format stl",
        "pbrt" => "format pbrt",
        "csv" | "tsv" | "txt" | "xyz" | "pts" => "format table",
        "tga" => "encode tga",
        "png" => "encode png",
        _ => return None,
    })
}

/// The share of the time that models were changed for. What one thread did while no other could has all of it.
fn transform(seen: &Recording, account: &Account) -> f64 {
    let totals = seen.totals();
    let side = totals.get(Lane::Side, Phase::Transform) as f64;
    let alone = totals.of(Phase::Transform) as f64 - side;
    (alone + side / account.threads as f64) / seen.elapsed_ns.max(1) as f64
}

/// The best time for all that was moved, in seconds; `None` where that is not known or too little to compare. What was
/// done is possible, so it is no more than that.
pub(super) fn seconds(seen: &Recording, facts: &Facts, account: &Account, ceilings: &Ceilings) -> Option<f64> {
    if transform(seen, account) > UNKNOWN_WORK {
        return None;
    }
    let model = Model::of(seen, account, ceilings);
    let speed = model.speed(usize::MAX);
    let mut sum = 0.0;
    for cost in [facts.read.as_ref().map(|it| model.read(it)), facts.write.as_ref().map(|it| model.write(it))] {
        sum += cost.map_or(Some(0.0), |cost| Some(cost?.at(speed)))?;
    }
    (sum >= SMALL).then_some(sum.min(seen.elapsed_ns as f64 / 1e9))
}
