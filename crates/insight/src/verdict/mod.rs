//! Determines the bottleneck of a job, its distance from the machine's best, and what would help.
//!
//! `accounting` attributes thread time to causes; `best` estimates the machine's best time for the same bytes; `advice`
//! computes the effect of changes with the same model. Evaluates a recording, facts and ceilings, and measures nothing
//! itself. The rules are documented for users in docs/guide/verdict.md.

mod accounting;
mod advice;
mod best;

use super::words::{rate, seconds};
use crate::ceilings::Ceilings;
use crate::moved::Moved;
use accounting::Account;
use polyhaul_bytes::Throttle;
use polyhaul_pipeline::machine::{self, Container};
use polyhaul_trace::Recording;
use std::fmt;
use std::time::Duration;

/// Share above which a cause leads regardless of the other causes.
const CLEAR: f64 = 0.40;
/// Share above which a cause leads if it exceeds the next cause by the factor [`LEAD`].
const FAIR: f64 = 0.25;
/// Ratio to the next cause that counts as a lead.
const LEAD: f64 = 1.3;
/// Minimum duration of a job to evaluate, in seconds: starting threads takes as long.
const SHORT: f64 = 0.001;
/// Minimum duration in seconds, and minimum share of attributed time, for a meaningful verdict.
const TELLING_SECONDS: f64 = 0.05;
const TELLING: f64 = 0.25;
/// Other programs are named if they took at least this percentage of the cores' time.
const NAMED_OTHERS: u32 = 5;
/// Number of causes named if none leads.
const NAMED: usize = 3;
/// Ratio to the best time below which a job counts as optimal.
const AT_BEST: f64 = 1.05;

/// The bottleneck of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Bound {
    /// Reading from the disk, the network behind it, or a pipe.
    Read,
    /// Reading from the page cache; no disk is involved.
    CachedRead,
    /// Writing to the disk, or syncing.
    Write,
    /// Decompression.
    Decompress,
    /// Compression.
    Compress,
    /// Parsing text or bytes into values.
    Parse,
    /// Storing values in the arrays of a model.
    Build,
    /// Decoding stored bytes into pixels.
    Decode,
    /// Encoding pixels into stored bytes or blocks.
    Encode,
    /// Formatting values as text or bytes.
    Format,
    /// Transforming a model.
    Transform,
    /// Rendering pictures.
    Draw,
    /// Work of one thread while the other threads had to wait.
    Serial,
    /// The memory limit, which allowed fewer threads than requested.
    Memory,
    /// Lock contention.
    Locks,
    /// Calls of the host.
    Host,
    /// Calls of the host that returned few bytes each.
    SmallReads,
    /// The container's CPU quota, which was exhausted.
    Container,
    /// Other programs that used the cores.
    OtherPrograms,
    /// No single cause, or unattributed time.
    Unknown,
}

/// The verdict on a job.
///
/// ```
/// use polyhaul_trace::{Detail, Phase, Trace, span, within};
/// use polyhaul_insight::{Bound, Facts, Moved, Verdict};
/// use std::time::Duration;
///
/// let trace = Trace::new(Detail::Totals);
/// within(Some(&trace), 1, || {
///     let _span = span(Phase::Parse);
///     std::thread::sleep(Duration::from_millis(20));
/// });
/// let facts = Facts::new(vec![Moved::new("obj", 3_000_000)], Vec::new());
/// let verdict = Verdict::from_recording(&trace.recording(), &facts, None);
/// assert!(verdict.causes.iter().any(|(bound, _)| *bound == Bound::Parse));
/// println!("{verdict}");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Verdict {
    /// The bottleneck.
    pub bound: Bound,
    /// The bottleneck in words: `parsing`, `piped input`, `the read latency of 5 ms`.
    pub limit: String,
    /// The bottleneck's share of the cores' time, 0 to 1; 0 if no cause leads.
    pub share: f64,
    /// Duration of the job in seconds.
    pub seconds: f64,
    /// Uncompressed bytes read or written per second, whichever is more.
    pub bytes_per_second: f64,
    /// Best time of this machine for the same bytes, in seconds, or `None` if its ceilings are unknown, the job is too
    /// small to compare, or more than a tenth of its time was spent transforming or drawing.
    pub best_possible_seconds: Option<f64>,
    /// Ratio of the duration to the best time.
    pub times_off: Option<f64>,
    /// Advice on what would help, by how much, and what would not. Sentences without a period.
    pub advice: Vec<String>,
    /// All causes with shares, largest first. Shares add up to 1, with [`Bound::Unknown`] for unattributed time.
    pub causes: Vec<(Bound, f64)>,
}

/// Bytes moved by a job, and its environment.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Facts {
    /// Bytes read, by format and codec.
    pub reads: Vec<Moved>,
    /// Bytes written, by format and codec.
    pub writes: Vec<Moved>,
    /// Cores available to the process.
    pub cores: usize,
    /// Limits of the process's container.
    pub container: Container,
    /// Requested throttling of reads.
    pub read_pace: Option<Pace>,
    /// Requested throttling of writes.
    pub write_pace: Option<Pace>,
}

/// A requested rate and latency.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// Bytes per second, if limited.
    pub bytes_per_second: Option<u64>,
    /// Delay added to each call.
    pub latency: Duration,
}

impl From<&Throttle> for Pace {
    fn from(throttle: &Throttle) -> Pace {
        Pace { bytes_per_second: throttle.bytes_per_second(), latency: throttle.latency() }
    }
}

impl Facts {
    /// Facts of a job on this machine.
    pub fn new(reads: Vec<Moved>, writes: Vec<Moved>) -> Facts {
        let cores = machine::cores();
        Facts { reads, writes, cores, container: Container::this(), read_pace: None, write_pace: None }
    }

    /// Adds requested throttling.
    #[must_use]
    pub fn throttled(self, read: Option<&Throttle>, write: Option<&Throttle>) -> Facts {
        Facts { read_pace: read.map(Pace::from), write_pace: write.map(Pace::from), ..self }
    }

    fn most_plain_bytes(&self) -> u64 {
        let sum = |list: &[Moved]| list.iter().map(|moved| moved.plain_bytes).sum::<u64>();
        sum(&self.reads).max(sum(&self.writes))
    }
}

impl Verdict {
    /// Evaluates a recording of jobs that moved the bytes in `facts`, relative to the machine's ceilings.
    ///
    /// The recording must cover only these jobs: see [`Recording::since`].
    pub fn from_recording(seen: &Recording, facts: &Facts, ceilings: Option<&Ceilings>) -> Verdict {
        let account = Account::from_recording(seen, facts);
        let seconds = seen.elapsed_ns as f64 / 1e9;
        let causes = account.shares();
        let (bound, share) = leader(&causes).filter(|_| seconds >= SHORT).unwrap_or((Bound::Unknown, 0.0));
        let is_judged = seconds >= SHORT && attributed(&causes) >= TELLING;
        let best = ceilings.and_then(|ceilings| best::seconds(seen, facts, &account, ceilings));
        Verdict {
            bound,
            limit: if bound == Bound::Unknown { String::new() } else { advice::limit(bound, seen, facts, &account) },
            share,
            seconds,
            bytes_per_second: if seconds > 0.0 { facts.most_plain_bytes() as f64 / seconds } else { 0.0 },
            best_possible_seconds: best,
            times_off: best.map(|best| seconds / best),
            advice: if is_judged { advice::remedies(bound, seen, facts, &account, ceilings) } else { Vec::new() },
            causes,
        }
    }

    /// Returns whether the verdict is meaningful: the job was long enough, and enough of its time is attributed.
    pub fn is_telling(&self) -> bool {
        self.seconds >= TELLING_SECONDS && attributed(&self.causes) >= TELLING
    }

    /// Causes as whole percentages that add up to 100, largest first. Causes that round to 0 are omitted.
    pub fn percents(&self) -> Vec<(Bound, u32)> {
        let mut parts: Vec<_> = self.causes.iter().map(|&(bound, share)| (bound, share * 100.0)).collect();
        let whole = |part: f64| part.max(0.0) as u32;
        let missing = 100_u32.saturating_sub(parts.iter().map(|&(_, part)| whole(part)).sum()) as usize;
        // Largest remainder method: round up the largest fractions.
        parts.sort_by(|a, b| b.1.fract().total_cmp(&a.1.fract()).then(a.0.cmp(&b.0)));
        let round = |(index, &(bound, part)): (usize, &(Bound, f64))| (bound, whole(part) + u32::from(index < missing));
        let mut percents: Vec<_> = parts.iter().enumerate().map(round).filter(|(_, percent)| *percent > 0).collect();
        percents.sort_by_key(|&(bound, percent)| (std::cmp::Reverse(percent), bound));
        percents
    }

    /// The bottleneck in words: `limited by parsing (82% of the cores' time)`.
    pub fn cause(&self) -> String {
        if self.seconds < SHORT {
            return format!("too short to judge ({:.2} ms)", self.seconds * 1e3);
        }
        let percents = self.percents();
        if self.bound != Bound::Unknown {
            let percent = percents.iter().find(|(bound, _)| *bound == self.bound).map_or(0, |(_, percent)| *percent);
            let others =
                percents.iter().find(|(bound, percent)| *bound == Bound::OtherPrograms && *percent >= NAMED_OTHERS);
            let others = others.map_or(String::new(), |(_, percent)| format!("; other programs took {percent}%"));
            return format!("limited by {} ({percent}% of the cores' time{others})", self.limit);
        }
        let is_known = |&&(bound, _): &&(Bound, u32)| bound != Bound::Unknown;
        let mut parts: Vec<_> =
            percents.iter().filter(is_known).map(|&(bound, percent)| (bound.words(), percent)).collect();
        let others = parts.split_off(parts.len().min(NAMED)).iter().map(|(_, percent)| percent).sum::<u32>();
        let unknown = percents.iter().filter(|cause| !is_known(cause)).map(|(_, percent)| percent).sum::<u32>();
        parts.extend([("other causes", others), (Bound::Unknown.words(), unknown)]);
        let parts =
            parts.iter().filter(|(_, percent)| *percent > 0).map(|(words, percent)| format!("{words} {percent}%"));
        format!("no single cause: {}", parts.collect::<Vec<_>>().join(", "))
    }

    /// Distance from the machine's best, if known: `1.3× slower than this machine's best (210 ms)`.
    pub fn distance(&self) -> Option<String> {
        let times = self.times_off?;
        let best = seconds(self.best_possible_seconds?);
        Some(if times < AT_BEST {
            format!("as fast as this machine's best ({best})")
        } else {
            format!("{times:.1}× slower than this machine's best ({best})")
        })
    }
}

/// Total share of attributed causes.
fn attributed(causes: &[(Bound, f64)]) -> f64 {
    causes.iter().filter(|(bound, _)| *bound != Bound::Unknown).map(|(_, share)| share).sum()
}

/// The cause that clearly leads, if any. Other programs slow all work down, so they are not a cause: shares are
/// compared as they would be without them.
fn leader(causes: &[(Bound, f64)]) -> Option<(Bound, f64)> {
    let own_share = 1.0 - share_of_others(causes);
    let mut causes = causes.iter().filter(|(bound, _)| !matches!(bound, Bound::Unknown | Bound::OtherPrograms));
    let &(bound, share) = causes.next()?;
    let next = causes.next().map_or(0.0, |(_, share)| *share);
    (share > CLEAR * own_share || share > FAIR * own_share && share > LEAD * next).then_some((bound, share))
}

fn share_of_others(causes: &[(Bound, f64)]) -> f64 {
    causes.iter().find(|(bound, _)| *bound == Bound::OtherPrograms).map_or(0.0, |(_, share)| *share)
}

/// Formats the verdict on one line:
/// `390 MB/s, limited by parsing (82% of the cores' time); 1.3× slower than this machine's best (210 ms)`.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.bytes_per_second > 0.0 && self.seconds >= SHORT {
            write!(f, "{}, ", rate(self.bytes_per_second))?;
        }
        f.write_str(&self.cause())?;
        self.distance().map_or(Ok(()), |distance| write!(f, "; {distance}"))
    }
}

impl Bound {
    /// Machine-readable name: `small-reads`.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Read => "read",
            Bound::CachedRead => "cached-read",
            Bound::Write => "write",
            Bound::Decompress => "decompress",
            Bound::Compress => "compress",
            Bound::Parse => "parse",
            Bound::Build => "build",
            Bound::Decode => "decode",
            Bound::Encode => "encode",
            Bound::Format => "format",
            Bound::Transform => "transform",
            Bound::Draw => "draw",
            Bound::Serial => "serial",
            Bound::Memory => "memory",
            Bound::Locks => "locks",
            Bound::Host => "host",
            Bound::SmallReads => "small-reads",
            Bound::Container => "container",
            Bound::OtherPrograms => "other-programs",
            Bound::Unknown => "unknown",
        }
    }

    /// Name in words: `parsing`.
    pub fn words(self) -> &'static str {
        match self {
            Bound::Read => "reading",
            Bound::CachedRead => "reading from the page cache",
            Bound::Write => "writing",
            Bound::Decompress => "decompressing",
            Bound::Compress => "compressing",
            Bound::Parse => "parsing",
            Bound::Build => "building the model",
            Bound::Decode => "decoding pixels",
            Bound::Encode => "encoding pixels",
            Bound::Format => "formatting",
            Bound::Transform => "transforming the model",
            Bound::Draw => "drawing",
            Bound::Serial => "serial work",
            Bound::Memory => "the memory limit",
            Bound::Locks => "locks",
            Bound::Host => "host callbacks",
            Bound::SmallReads => "small reads by the host",
            Bound::Container => "the container's CPU limit",
            Bound::OtherPrograms => "other programs",
            Bound::Unknown => "unattributed",
        }
    }

    /// Returns whether the cause is CPU work of the library.
    fn is_work(self) -> bool {
        use Bound::{Build, Compress, Decode, Decompress, Draw, Encode, Format, Parse, Serial, Transform};
        matches!(self, Build | Compress | Decode | Decompress | Draw | Encode | Format | Parse | Serial | Transform)
    }
}

#[cfg(test)]
mod tests;
