//! The best that a machine could do with the bytes of a job, by its ceilings.
//!
//! Within a part of a job everything goes on at the same time, so a part takes as long as its slowest resource: the
//! disk, the cores together, or the one core that serial decoders keep busy. Of each resource the files of all formats
//! and codecs are a sum. The parts follow each other. Where a rate is not known, nothing is said.

use super::Facts;
use super::accounting::Account;
use crate::report::{Ceilings, Moved};
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
    cold: f64,
    /// Which share of decompressing one thread did at a time, as far as it was seen.
    lone: f64,
}

/// What reading takes at least, in seconds.
#[derive(Default)]
struct Reading {
    disk: f64,
    /// Copying out of the system's memory.
    copy: f64,
    parse: f64,
    /// Of parsing what only one core can.
    lone_parse: f64,
    unpack: f64,
    /// Of decompressing that of streams.
    streams: f64,
}

impl<'a> Model<'a> {
    pub(super) fn of(seen: &Recording, account: &Account, ceilings: &'a Ceilings) -> Model<'a> {
        Model { ceilings, cold: account.cold, lone: lone(seen) }
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
    ///
    /// Streams are decompressed side by side as far as that was seen: nobody knows which of the others could have been.
    pub(super) fn read(&self, list: &[Moved]) -> Option<Cost> {
        let mut sum = Reading::default();
        list.iter().try_for_each(|moved| self.add(&mut sum, moved))?;
        let serial = sum.lone_parse + sum.streams.min(self.lone * sum.unpack);
        Some(Cost { disk: sum.disk, cores: sum.parse + sum.unpack + sum.copy - serial, serial })
    }

    fn add(&self, sum: &mut Reading, moved: &Moved) -> Option<()> {
        let (kernel, is_lone) = reader(moved.format?)?;
        let parse = self.seconds(moved.plain_bytes, kernel)?;
        sum.parse += parse;
        sum.lone_parse += if is_lone { parse } else { 0.0 };
        if let Some(codec) = moved.codec {
            sum.unpack += self.decompress(codec, moved.plain_bytes)?;
            sum.streams += self.decompress(codec, moved.stream_bytes)?;
        }
        sum.copy += over(moved.bytes, self.ceilings.cached_read)?;
        sum.disk += self.ceilings.cold_read.map_or(Some(0.0), |rate| over(moved.bytes, rate))? * self.cold;
        Some(())
    }

    /// Writing; `None` where a rate is not known.
    pub(super) fn write(&self, list: &[Moved]) -> Option<Cost> {
        let mut sum = Cost::default();
        for moved in list {
            let pages = over(moved.bytes, self.ceilings.write)?;
            sum.disk += if moved.durable { over(moved.bytes, self.ceilings.write_sync)? } else { pages };
            sum.cores += self.seconds(moved.plain_bytes, writer(moved.format?)?)? + pages;
            if let Some(codec) = moved.codec {
                sum.cores += self.seconds(moved.plain_bytes, &format!("compress {codec}"))?;
            }
        }
        Some(sum)
    }

    pub(super) fn decompress(&self, codec: Codec, plain_bytes: u64) -> Option<f64> {
        self.seconds(plain_bytes, &format!("decompress {codec}"))
    }

    fn seconds(&self, bytes: u64, kernel: &str) -> Option<f64> {
        over(bytes, self.ceilings.kernel(kernel)?)
    }
}

/// How long bytes take; `None` where the rate is not known.
fn over(bytes: u64, rate: f64) -> Option<f64> {
    (rate > 0.0).then(|| bytes as f64 / rate)
}

/// Which share of decompressing was not done side by side; all of it where there was none.
fn lone(seen: &Recording) -> f64 {
    let totals = seen.totals();
    match totals.of(Phase::Decompress) {
        0 => 1.0,
        all => 1.0 - totals.get(Lane::Side, Phase::Decompress) as f64 / all as f64,
    }
}

/// The kernel that reads a format, and whether only one thread can.
pub(super) fn reader(format: &str) -> Option<(&'static str, bool)> {
    Some(match format {
        // Material libraries are small, and words and numbers as well.
        "obj" | "mtl" => ("parse obj", false),
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
    let sum = model.read(&facts.reads)?.at(speed) + model.write(&facts.writes)?.at(speed);
    (sum >= SMALL).then_some(sum.min(seen.elapsed_ns as f64 / 1e9))
}
