//! What would help a job, and by how much; and what would not.
//!
//! Gains are computed by the model of `best` with one thing changed, and said where they are worth it. What has to be
//! guessed (how small data packs) is said with them.

use super::accounting::{Account, has_small_reads};
use super::best::{Cost, Model};
use super::{Bound, Facts, Moved, rate};
use crate::report::Ceilings;
use polyhaul_bytes::trace::{Phase, Recording};
use polyhaul_bytes::{BLOCK_BYTES, Codec};

/// What makes a job less than this much faster is not worth saying.
const WORTH: f64 = 1.1;
/// How small text of scenes and tables packs, as a share, at the codecs' fast levels.
const PACKED: [(Codec, f64); 3] = [(Codec::Zstd, 0.30), (Codec::Gzip, 0.32), (Codec::Lz4, 0.45)];
/// How large binary data is beside the same as text.
const BINARY: f64 = 0.5;
/// From this share of the time on cores are at work.
const AT_WORK: f64 = 0.8;
/// From this share of the machine's rate on one says that writing is at it.
const AT_RATE: f64 = 0.5;

/// What is known of a job.
struct Job<'a> {
    seen: &'a Recording,
    facts: &'a Facts,
    account: &'a Account,
    model: Option<Model<'a>>,
    seconds: f64,
}

/// What to say of a job that was bound by `bound`.
pub(super) fn of(
    bound: Bound,
    seen: &Recording,
    facts: &Facts,
    account: &Account,
    ceilings: Option<&Ceilings>,
) -> Vec<String> {
    let model = ceilings.map(|ceilings| Model::of(seen, account, ceilings));
    let job = Job { seen, facts, account, model, seconds: seen.elapsed_ns as f64 / 1e9 };
    let said = match bound {
        Bound::Read => vec![job.throttled(0, "reading"), job.codec(), job.faster_disk()],
        Bound::Write => vec![job.throttled(1, "writing").or_else(|| job.write_rate())],
        Bound::Decompress => vec![job.members(), job.no_codec(), job.threads(bound)],
        Bound::Parse | Bound::Build => vec![job.threads(bound), job.binary()],
        Bound::Compress | Bound::Format | Bound::Decode | Bound::Encode | Bound::Transform => vec![job.threads(bound)],
        Bound::Serial => vec![Some("more threads would not help: they wait for one".to_owned())],
        Bound::Memory => vec![job.memory()],
        Bound::Locks => vec![job.locks()],
        Bound::SmallReads => vec![job.small_reads()],
        Bound::OtherPrograms => vec![job.other_programs()],
        Bound::CachedRead | Bound::Host | Bound::Unknown => Vec::new(),
    };
    let mut said: Vec<_> = said.into_iter().flatten().collect();
    if ceilings.is_none() {
        said.push("run `polyhaul limits` once to see how far this is from the best".to_owned());
    }
    said
}

impl Job<'_> {
    /// How much faster the job is where something that took `now` seconds takes `then`, if that is worth saying.
    fn gain(&self, now: f64, then: f64) -> Option<f64> {
        let left = (self.seconds - now).max(0.0) + then;
        let gain = if left > 0.0 { self.seconds / left } else { 0.0 };
        (gain >= WORTH).then_some(gain)
    }

    /// The same where a share of the cores' time becomes `then` of what it was.
    fn gain_of_share(&self, share: f64, then: f64) -> Option<f64> {
        self.gain(share * self.seconds, share * then * self.seconds)
    }

    /// How long the parts of this name took, in seconds.
    fn part_seconds(&self, name: &str) -> f64 {
        let parts = self.seen.sections.iter().filter(|part| part.name == name);
        let ns: u64 = parts.map(|part| part.end_ns.saturating_sub(part.begin_ns)).sum();
        (ns as f64 / 1e9).min(self.seconds)
    }

    /// What was read, its cost, and the seconds that it took.
    fn reading(&self) -> Option<(&Model<'_>, &Moved, Cost, f64)> {
        let (model, moved, seconds) = (self.model.as_ref()?, self.facts.read.as_ref()?, self.part_seconds("read"));
        Some((model, moved, model.read(moved)?, seconds)).filter(|_| seconds > 0.0)
    }

    /// That it was held back as was asked.
    fn throttled(&self, way: usize, doing: &str) -> Option<String> {
        let moved = [&self.facts.read, &self.facts.write][way].as_ref()?;
        let seconds = self.part_seconds(["read", "write"][way]);
        let calls = self.seen.totals().of(Phase::Throttle) as f64;
        if calls <= 0.0 || self.account.throttled[way] < 0.5 * calls || seconds <= 0.0 {
            return None;
        }
        Some(format!("{doing} was held back to {}, as was asked", rate(moved.bytes as f64 / seconds)))
    }

    /// Whether text that is read as it is would come faster compressed, at the rate at which it came.
    fn codec(&self) -> Option<String> {
        let (model, moved, cost, seconds) = self.reading()?;
        if moved.codec.is_some() || !moved.format.is_some_and(is_text) {
            return None;
        }
        let gain = |(codec, packed): (Codec, f64)| {
            let unpack = model.decompress(codec, moved.plain_bytes)?;
            let disk = packed * seconds;
            let cores = cost.cores + unpack;
            let gain = self.gain(seconds, Cost { disk, cores, ..cost }.at(model.speed(self.account.threads)))?;
            Some((codec, packed, gain))
        };
        let (codec, packed, gain) = PACKED.into_iter().filter_map(gain).max_by(|a, b| a.2.total_cmp(&b.2))?;
        let packed = packed * 100.0;
        Some(format!("{codec} would make this disk-bound load {gain:.1}x faster, if it packs to {packed:.0} %"))
    }

    fn faster_disk(&self) -> Option<String> {
        let (model, _, cost, seconds) = self.reading()?;
        let work = Cost { disk: 0.0, ..cost }.at(model.speed(self.account.threads));
        let gain = self.gain(seconds, work)?;
        Some(format!("a faster disk would make it up to {gain:.1}x faster"))
    }

    /// How near writing is to what the machine takes.
    fn write_rate(&self) -> Option<String> {
        let (model, moved) = (self.model.as_ref()?, self.facts.write.as_ref()?);
        let totals = self.seen.totals();
        let seconds = (totals.of(Phase::Write) + totals.of(Phase::Sync)) as f64 / 1e9;
        let (ceiling, whose) = match moved.durable {
            true => (model.ceilings.write_sync, "the disk's rate"),
            false => (model.ceilings.write, "the rate at which the system takes bytes"),
        };
        let share = moved.bytes as f64 / seconds.max(1e-9) / ceiling.max(1.0);
        let percent = (share * 100.0).min(100.0);
        (share >= AT_RATE).then(|| format!("more threads would not help: writing is at {percent:.0} % of {whose}"))
    }

    /// Whether members that are decompressed side by side would help.
    fn members(&self) -> Option<String> {
        let (model, moved, cost, seconds) = self.reading()?;
        let codec = moved.codec.filter(|_| model.is_stream)?;
        let shared = Cost { cores: cost.cores + cost.serial, serial: 0.0, ..cost };
        let gain = self.gain(seconds, shared.at(model.speed(self.account.threads)))?;
        Some(format!("{codec} in members, as polyhaul writes it, is decompressed side by side: {gain:.1}x faster"))
    }

    /// Whether the plain bytes would come faster.
    fn no_codec(&self) -> Option<String> {
        let (model, moved, ..) = self.reading()?;
        let codec = moved.codec?;
        let plain = Moved { codec: None, bytes: moved.plain_bytes, ..moved.clone() };
        let gain = self.gain(self.part_seconds("read"), model.read(&plain)?.at(model.speed(self.account.threads)))?;
        let more = moved.plain_bytes as f64 / moved.bytes.max(1) as f64;
        Some(format!("without {codec} it would be up to {gain:.1}x faster, of {more:.1} times the bytes"))
    }

    /// Whether more threads would help work that is done side by side.
    fn threads(&self, bound: Bound) -> Option<String> {
        let (threads, cores) = (self.account.threads, self.facts.cores.max(1));
        if threads >= cores {
            let whose = if cores == 1 { "the one core is".to_owned() } else { format!("all {cores} cores are") };
            return (self.account.at_work >= AT_WORK).then(|| format!("more threads would not help: {whose} at work"));
        }
        let speed = |threads: usize| self.model.as_ref().map_or(threads as f64, |model| model.speed(threads));
        let gain = self.gain_of_share(self.account.share(bound), speed(threads) / speed(cores))?;
        Some(format!("{cores} threads rather than {threads} would make it up to {gain:.1}x faster"))
    }

    /// Whether the same mesh would be read faster as bytes.
    fn binary(&self) -> Option<String> {
        let (model, moved, _, seconds) = self.reading()?;
        if moved.format != Some("obj") {
            return None;
        }
        let bytes = (moved.plain_bytes as f64 * BINARY) as u64;
        let ply = Moved { codec: None, ..Moved::new("ply", bytes) };
        let gain = self.gain(seconds, model.read(&ply)?.at(model.speed(self.account.threads)))?;
        Some(format!("as binary PLY, of about half the bytes, it would be read up to {gain:.1}x faster"))
    }

    /// How much a limit that backs all threads would help.
    fn memory(&self) -> Option<String> {
        let wanted = self.account.threads.min(self.facts.cores.max(1)) as f64;
        let missing = self.seen.starved_ns as f64 / self.seen.elapsed_ns.max(1) as f64;
        let had = (self.account.threads as f64 - missing).clamp(1.0, wanted);
        let gain = wanted / had;
        let text = format!("the memory limit backed {had:.1} of {} threads", self.account.threads);
        match gain >= WORTH {
            true => Some(format!("{text}: a larger one would make it up to {gain:.1}x faster")),
            false => Some(format!("{text}; there are {} cores, so a larger one would not help", self.facts.cores)),
        }
    }

    fn locks(&self) -> Option<String> {
        let (alone, beside) = (self.seen.host_alone, self.seen.host_beside);
        let mean = |ns: u64, calls: u64| ns as f64 / calls.max(1) as f64;
        let times = mean(beside.elapsed_ns, beside.calls) / mean(alone.elapsed_ns, alone.calls).max(1.0);
        (beside.calls > 0 && times >= WORTH).then(|| {
            format!("the host's calls take {times:.1}x as long beside each other as alone: they wait for each other")
        })
    }

    /// What a buffer around the host's calls would help, if each call takes what it takes.
    fn small_reads(&self) -> Option<String> {
        let small = self.seen.files.iter().filter(|file| has_small_reads(file));
        let (calls, bytes) = small.fold((0, 0), |(calls, bytes), it| (calls + it.calls.calls, bytes + it.calls.bytes));
        let needed = bytes / BLOCK_BYTES as u64 + 1;
        let gain = self.gain_of_share(self.account.share(Bound::SmallReads), needed as f64 / calls.max(1) as f64)?;
        let mean = bytes / calls.max(1);
        Some(format!(
            "each of {calls} calls brought {mean} bytes and was asked for {BLOCK_BYTES} or more; \
             buffered it would be up to {gain:.1}x faster"
        ))
    }

    fn other_programs(&self) -> Option<String> {
        let share = self.account.share(Bound::OtherPrograms);
        let gain = self.gain_of_share(share, 0.0)?;
        Some(format!("alone on the machine it would be up to {gain:.1}x faster"))
    }
}

/// Whether a format is text.
fn is_text(format: &str) -> bool {
    matches!(format, "obj" | "pbrt" | "csv" | "tsv" | "txt" | "xyz" | "pts")
}
