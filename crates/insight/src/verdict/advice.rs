//! Generates advice for a job: changes that would help, with the gain, and changes that would not.
//!
//! Each gain is computed with the model in `best` and a single change; small gains are omitted. Assumptions
//! (compression ratios) are stated. The bottleneck itself is determined elsewhere.

use super::accounting::{Account, has_small_reads, is_piped};
use super::best::{Cost, Model};
use super::{Bound, Facts, Pace};
use crate::ceilings::Ceilings;
use crate::model::unpacking_seconds;
use crate::moved::Moved;
use crate::words::{count, rate, time};
use polyhaul_bytes::{BLOCK_BYTES, Codec};
use polyhaul_trace::{Phase, Recording};

/// Minimum speedup worth mentioning.
const WORTH: f64 = 1.1;
/// Typical compression ratios of text scenes and tables, at the codecs' fast levels.
const PACKED: [(Codec, f64); 3] = [(Codec::Zstd, 0.30), (Codec::Gzip, 0.32), (Codec::Lz4, 0.45)];
/// Size of binary data relative to text.
const BINARY: f64 = 0.5;
/// Minimum share of the time in which threads compute for cores to count as busy.
const AT_WORK: f64 = 0.8;
/// Writing counts as limited by the machine if it reaches at least this share of the machine's rate.
const AT_RATE: f64 = 0.5;

/// Input for advice about a job.
struct AdviceJob<'a> {
    seen: &'a Recording,
    facts: &'a Facts,
    account: &'a Account,
    model: Option<Model<'a>>,
    seconds: f64,
}

/// Direction of I/O.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
}

/// A requested limit that slowed a job.
struct Paced<'a> {
    /// Command-line option that requested it.
    option: &'static str,
    /// Rate limit, if it was the cause.
    bytes_per_second: Option<u64>,
    /// Latency, if it was the cause, with the number of calls delayed.
    latency: Option<(&'a Pace, u64)>,
}

/// The bottleneck of a job in words.
pub(super) fn limit(bound: Bound, seen: &Recording, facts: &Facts, account: &Account) -> String {
    let job = AdviceJob { seen, facts, account, model: None, seconds: seen.elapsed_ns as f64 / 1e9 };
    let way = match bound {
        Bound::Read => Direction::Read,
        Bound::Write => Direction::Write,
        Bound::Container => {
            let limit = facts.container.cores.map_or(String::new(), |cores| format!(" of {}", quota(cores)));
            return bound.words().to_owned() + &limit;
        }
        _ => return bound.words().to_owned(),
    };
    let what = if way == Direction::Read { "read" } else { "write" };
    match job.paced(way) {
        Some(Paced { latency: Some((pace, _)), .. }) => format!("the {what} latency of {}", duration(pace)),
        Some(Paced { bytes_per_second: Some(value), .. }) => format!("the {what} rate of {}", rate(value as f64)),
        _ if way == Direction::Read && is_piped(seen) => "piped input".to_owned(),
        _ => bound.words().to_owned(),
    }
}

/// Advice for a job with bottleneck `bound`.
pub(super) fn remedies(
    bound: Bound,
    seen: &Recording,
    facts: &Facts,
    account: &Account,
    ceilings: Option<&Ceilings>,
) -> Vec<String> {
    let model = ceilings.map(|ceilings| Model::from_recording(seen, account, ceilings));
    let job = AdviceJob { seen, facts, account, model, seconds: seen.elapsed_ns as f64 / 1e9 };
    let said = match bound {
        Bound::Read => match (job.held(Direction::Read), is_piped(seen)) {
            (Some(held), _) if job.paced(Direction::Read).is_some_and(|pace| pace.latency.is_some()) => {
                vec![Some(held)]
            }
            (Some(held), _) => vec![Some(held), job.codec("a load at that rate")],
            (None, true) => vec![job.producer()],
            (None, false) => vec![job.codec("this disk-bound load"), job.faster_disk()],
        },
        Bound::Write => vec![job.held(Direction::Write).or_else(|| job.write_rate())],
        Bound::Decompress => vec![job.members(), job.no_codec(), job.threads(bound)],
        Bound::Parse | Bound::Build => vec![job.threads(bound), job.binary()],
        Bound::Compress | Bound::Format | Bound::Decode | Bound::Encode | Bound::Transform | Bound::Draw => {
            vec![job.threads(bound)]
        }
        Bound::Serial => vec![Some("more threads would not help: this work is serial".to_owned())],
        Bound::Memory => vec![job.memory()],
        Bound::Locks => vec![job.locks()],
        Bound::SmallReads => vec![job.small_reads()],
        Bound::Container => vec![job.container()],
        Bound::OtherPrograms => Vec::new(),
        Bound::CachedRead | Bound::Host | Bound::Unknown => Vec::new(),
    };
    let mut said: Vec<_> = said.into_iter().flatten().collect();
    if let Some(folder) = not_measured(facts, ceilings) {
        said.push(format!("run `polyhaul limits`{folder} once to compare with this machine's best"));
    }
    said
}

/// Words for the folder to measure, if a required ceiling is unknown; empty words if there are no ceilings at all.
fn not_measured(facts: &Facts, ceilings: Option<&Ceilings>) -> Option<&'static str> {
    let Some(ceilings) = ceilings else { return Some("") };
    let unknown = |list: &[Moved], rate: f64| !list.is_empty() && rate <= 0.0;
    if unknown(&facts.reads, ceilings.cached_read) {
        return Some(" on the input's folder");
    }
    unknown(&facts.writes, ceilings.write).then_some(" on the output's folder")
}

impl AdviceJob<'_> {
    /// Speedup of the job if a part that took `now` seconds takes `then`, or `None` if it is too small.
    fn gain(&self, now: f64, then: f64) -> Option<f64> {
        let left = (self.seconds - now).max(0.0) + then;
        let gain = if left > 0.0 { self.seconds / left } else { 0.0 };
        (gain >= WORTH).then_some(gain)
    }

    /// Speedup if the part of the job with this share of the cores' time takes `then` times as long.
    fn gain_of_share(&self, share: f64, then: f64) -> Option<f64> {
        self.gain(share * self.seconds, share * then * self.seconds)
    }

    /// Total duration of sections with this name, in seconds.
    fn part_seconds(&self, name: &str) -> f64 {
        let parts = self.seen.sections.iter().filter(|part| part.name == name);
        let ns: u64 = parts.map(|part| part.end_ns.saturating_sub(part.start_ns)).sum();
        (ns as f64 / 1e9).min(self.seconds)
    }

    /// Model, estimated cost and actual duration of reading.
    fn reading(&self) -> Option<(&Model<'_>, Cost, f64)> {
        let model = self.model.as_ref()?;
        let seconds = self.part_seconds("read");
        Some((model, model.read(&self.facts.reads)?, seconds)).filter(|_| seconds > 0.0)
    }

    /// Speedup of the job if reading had this cost.
    fn gain_of_cost(&self, cost: Cost) -> Option<f64> {
        let (model, _, seconds) = self.reading()?;
        self.gain(seconds, cost.at(model.speed(self.account.threads)))
    }

    /// Returns whether most of the throttling was in this direction.
    fn is_throttled(&self, way: Direction) -> bool {
        let calls = self.seen.totals().total(Phase::Throttle) as f64;
        calls > 0.0 && self.account.throttled[way as usize] >= 0.5 * calls
    }

    /// The requested limit that throttled a direction, if known.
    fn paced(&self, way: Direction) -> Option<Paced<'_>> {
        let is_read = way == Direction::Read;
        let pace = if is_read { &self.facts.read_pace } else { &self.facts.write_pace };
        let pace = pace.as_ref().filter(|_| self.is_throttled(way))?;
        let files = self.seen.files.iter().filter(|file| file.is_output != is_read && file.calls.throttled_ns > 0);
        let (calls, bytes) =
            files.fold((0, 0), |(calls, bytes), file| (calls + file.calls.calls, bytes + file.calls.bytes));
        let waited = calls as f64 * pace.latency.as_secs_f64();
        let passed = pace.bytes_per_second.map_or(0.0, |rate| bytes as f64 / rate.max(1) as f64);
        // The limit that caused the longer delay is named.
        let option = |latency, rate| if waited > passed { latency } else { rate };
        Some(Paced {
            option: if is_read {
                option("--read-latency", "--read-rate")
            } else {
                option("--write-latency", "--write-rate")
            },
            bytes_per_second: pace.bytes_per_second.filter(|_| waited <= passed),
            latency: (waited > passed).then_some((pace, calls)),
        })
    }

    /// Note on requested throttling, with the speedup without it.
    fn held(&self, way: Direction) -> Option<String> {
        let is_read = way == Direction::Read;
        let (doing, part) = if is_read { ("reading", "read") } else { ("writing", "write") };
        let list = if is_read { &self.facts.reads } else { &self.facts.writes };
        let seconds = self.part_seconds(part);
        if !self.is_throttled(way) || seconds <= 0.0 || list.is_empty() {
            return None;
        }
        let cost = self.model.as_ref().and_then(|model| {
            let cost = if is_read { model.read(list) } else { model.write(list) };
            Some(cost?.at(model.speed(self.account.threads)))
        });
        let gain = cost.and_then(|cost| self.gain(seconds, cost));
        let faster =
            |by: &str| gain.map_or(String::new(), |gain| format!("; {by} would make it up to {gain:.1}× faster"));
        Some(match self.paced(way) {
            Some(Paced { option, latency: Some((pace, calls)), .. }) => {
                let latency = duration(pace);
                let calls = count(calls);
                let option = format!("`{option} {}`", latency.replace(' ', ""));
                format!("each of {calls} calls waited {latency} because of {option}") + &faster("a lower latency")
            }
            Some(Paced { option, bytes_per_second: Some(asked), .. }) => {
                let requested = rate(asked as f64).replace(' ', "");
                let held = format!(
                    "{doing} was throttled to {} because of `{option} {requested}`",
                    self.rate_of(list, seconds)
                );
                held + &faster("a higher rate")
            }
            _ => {
                format!("{doing} was throttled to {} on request", self.rate_of(list, seconds))
                    + &faster("a higher rate")
            }
        })
    }

    fn rate_of(&self, list: &[Moved], seconds: f64) -> String {
        rate(sum_of_bytes(list) / seconds)
    }

    /// Note that the program writing to the pipe is the bottleneck.
    fn producer(&self) -> Option<String> {
        let list = &self.facts.reads;
        let seconds = self.part_seconds("read");
        if list.is_empty() || seconds <= 0.0 {
            return None;
        }
        let gain = self.reading().and_then(|(_, cost, _)| self.gain_of_cost(cost));
        let faster = gain.map_or(String::new(), |gain| format!("; reading could be up to {gain:.1}× faster"));
        Some(format!("the program that writes to the pipe delivered {}{faster}", self.rate_of(list, seconds)))
    }

    /// Advice to compress text, at the observed device rate.
    fn codec(&self, load: &str) -> Option<String> {
        let (model, cost, seconds) = self.reading()?;
        let is_text = |moved: &&Moved| moved.codec.is_none() && moved.format.is_some_and(is_text);
        let text: u64 = self.facts.reads.iter().filter(is_text).map(|moved| moved.plain_bytes).sum();
        let share = text as f64 / sum_of_bytes(&self.facts.reads).max(1.0);
        let gain = |(codec, packed): (Codec, f64)| {
            // Compression shrinks only the text among the bytes.
            let disk = seconds * (1.0 - share + packed * share);
            let cores = cost.cores + unpacking_seconds(model.ceilings, codec, [(packed * text as f64) as u64, text])?;
            Some((codec, packed, self.gain_of_cost(Cost { disk, cores, ..cost })?))
        };
        let (codec, packed, gain) = PACKED.into_iter().filter_map(gain).max_by(|a, b| a.2.total_cmp(&b.2))?;
        let packed = packed * 100.0;
        Some(format!("{codec} would make {load} {gain:.1}× faster if its text compresses to {packed:.0}%"))
    }

    fn faster_disk(&self) -> Option<String> {
        let (_, cost, _) = self.reading()?;
        let gain = self.gain_of_cost(Cost { disk: 0.0, ..cost })?;
        Some(format!("a faster disk would make it up to {gain:.1}× faster"))
    }

    /// Note on how close writing is to the machine's rate.
    fn write_rate(&self) -> Option<String> {
        let model = self.model.as_ref()?;
        let list = &self.facts.writes;
        let totals = self.seen.totals();
        let seconds = (totals.total(Phase::Write) + totals.total(Phase::Sync)) as f64 / 1e9;
        let (ceiling, whose) = if list.iter().all(|moved| moved.durable) {
            (model.ceilings.write_sync, "the disk's rate")
        } else {
            (model.ceilings.write, "the rate at which the system accepts data")
        };
        let share = sum_of_bytes(list) / seconds.max(1e-9) / ceiling;
        let percent = (share * 100.0).min(100.0);
        (ceiling > 0.0 && share >= AT_RATE)
            .then(|| format!("more threads would not help: writing runs at {percent:.0}% of {whose}"))
    }

    /// The reads, with `change` applied to reads compressed with `codec`.
    fn without(&self, codec: Codec, change: impl Fn(&Moved) -> Moved) -> Vec<Moved> {
        let list = self.facts.reads.iter();
        list.map(|moved| if moved.codec == Some(codec) { change(moved) } else { moved.clone() }).collect()
    }

    /// Advice to store members that decompress in parallel.
    fn members(&self) -> Option<String> {
        let (model, cost, _) = self.reading()?;
        let codec = self.facts.reads.iter().max_by_key(|moved| moved.stream_bytes)?.codec?;
        let shared = model.read(&self.without(codec, |moved| Moved { stream_bytes: 0, ..moved.clone() }))?;
        let gain = self.gain_of_cost(shared).filter(|_| shared.serial < cost.serial)?;
        Some(format!(
            "{codec} in independent members, as polyhaul writes it, decompresses in parallel: {gain:.1}× faster"
        ))
    }

    /// Advice to store uncompressed data.
    fn no_codec(&self) -> Option<String> {
        let (model, ..) = self.reading()?;
        let packed = self.facts.reads.iter().filter(|moved| moved.codec.is_some());
        let codec = packed.max_by_key(|moved| moved.plain_bytes)?.codec?;
        let unpacked =
            |moved: &Moved| Moved { codec: None, bytes: moved.plain_bytes, stream_bytes: 0, ..moved.clone() };
        let plain = self.without(codec, unpacked);
        let gain = self.gain_of_cost(model.read(&plain)?)?;
        let more = sum_of_bytes(&plain) / sum_of_bytes(&self.facts.reads).max(1.0);
        Some(format!("without {codec} it would be up to {gain:.1}× faster, at {more:.1}× the size"))
    }

    /// Advice on the number of threads, for parallel work.
    fn threads(&self, bound: Bound) -> Option<String> {
        let threads = self.account.threads;
        let cores = self.facts.cores.max(1);
        if threads >= cores {
            let whose = if cores == 1 { "the one core".to_owned() } else { format!("all {cores} cores") };
            let whose = if self.facts.container.cores.is_some() { whose + " of the container" } else { whose };
            let whose = format!("{whose} {}", if cores == 1 { "is" } else { "are" });
            return (self.account.at_work >= AT_WORK).then(|| format!("more threads would not help: {whose} busy"));
        }
        let speed = |threads: usize| self.model.as_ref().map_or(threads as f64, |model| model.speed(threads));
        let gain = self.gain_of_share(self.account.share(bound), speed(threads) / speed(cores))?;
        Some(format!("{cores} threads instead of {threads} would make it up to {gain:.1}× faster"))
    }

    /// Advice to store meshes as binary.
    fn binary(&self) -> Option<String> {
        let (model, ..) = self.reading()?;
        let half = |moved: &Moved| Moved::new("ply", (moved.plain_bytes as f64 * BINARY) as u64);
        let is_obj = |moved: &&Moved| moved.format == Some("obj");
        self.facts.reads.iter().find(is_obj)?;
        let list = self.facts.reads.iter();
        let binary: Vec<_> = list.map(|moved| if is_obj(&moved) { half(moved) } else { moved.clone() }).collect();
        let gain = self.gain_of_cost(model.read(&binary)?)?;
        Some(format!("as binary PLY, at about half the size, it would be read up to {gain:.1}× faster"))
    }

    /// Advice on the memory limit.
    fn memory(&self) -> Option<String> {
        let wanted_threads = self.account.threads.min(self.facts.cores.max(1)) as f64;
        let missing = self.seen.starved_ns as f64 / self.seen.elapsed_ns.max(1) as f64;
        let had = (self.account.threads as f64 - missing).clamp(1.0, wanted_threads);
        let gain = wanted_threads / had;
        let text = format!("the memory limit allowed {had:.1} of {} threads", self.account.threads);
        if gain >= WORTH {
            Some(format!("{text}; a higher one would make it up to {gain:.1}× faster"))
        } else {
            Some(format!("{text}; a higher one would not help on {} cores", self.facts.cores))
        }
    }

    fn locks(&self) -> Option<String> {
        let alone = self.seen.host_alone;
        let beside = self.seen.host_beside;
        let mean = |ns: u64, calls: u64| ns as f64 / calls.max(1) as f64;
        let times = mean(beside.elapsed_ns, beside.calls) / mean(alone.elapsed_ns, alone.calls).max(1.0);
        (beside.calls > 0 && times >= WORTH).then(|| {
            format!("the host's calls take {times:.1}× as long in parallel as alone: they wait for each other")
        })
    }

    /// Advice to buffer host calls, assuming constant time per call.
    fn small_reads(&self) -> Option<String> {
        let small = self.seen.files.iter().filter(|file| has_small_reads(file));
        let (calls, bytes) =
            small.fold((0, 0), |(calls, bytes), file| (calls + file.calls.calls, bytes + file.calls.bytes));
        let needed = bytes / BLOCK_BYTES as u64 + 1;
        let gain = self.gain_of_share(self.account.share(Bound::SmallReads), needed as f64 / calls.max(1) as f64)?;
        let mean = bytes / calls.max(1);
        Some(format!(
            "each of {} calls returned {} bytes on average instead of {} or more; buffered, it would be up to {gain:.1}× faster",
            count(calls),
            count(mean),
            count(BLOCK_BYTES as u64),
        ))
    }

    fn container(&self) -> Option<String> {
        let gain = self.gain_of_share(self.account.share(Bound::Container), 0.0)?;
        let cores = self.facts.container.cores?;
        Some(format!("with more CPU time than its {} it would be up to {gain:.1}× faster", quota(cores)))
    }
}

fn sum_of_bytes(list: &[Moved]) -> f64 {
    list.iter().map(|moved| moved.bytes).sum::<u64>() as f64
}

/// CPU quota in words: `1.5 cores`.
fn quota(cores: f64) -> String {
    let shown = (cores * 100.0).round() / 100.0;
    format!("{shown} core{}", if shown == 1.0 { "" } else { "s" })
}

/// Latency in words.
fn duration(pace: &Pace) -> String {
    time(u64::try_from(pace.latency.as_nanos()).unwrap_or(u64::MAX))
}

/// Returns whether a format is text.
fn is_text(format: &str) -> bool {
    matches!(format, "obj" | "mtl" | "pbrt" | "csv" | "tsv" | "txt" | "xyz" | "pts")
}
