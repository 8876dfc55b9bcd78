//! What bound a job, how far it was from the best possible, and what would help.
//!
//! `accounting` gives each thread's every moment to one cause; `best` is what the machine could do with the same bytes;
//! `advice` computes by the same model what would change it. Pure: a recording, facts and ceilings go in, words and
//! numbers come out. The rules, for people, are docs/guide/verdict.md.

mod accounting;
mod advice;
mod best;

use super::words::{rate, seconds};
use super::{Ceilings, Moved, Report};
use accounting::Account;
use polyhaul_bytes::trace::Recording;
use std::fmt;

/// A cause with this share of the time is the one, whatever the others have.
const CLEAR: f64 = 0.40;
/// A cause with this share is the one if it leads by [`LEAD`].
const FAIR: f64 = 0.25;
/// How many times the share of the next cause is a lead.
const LEAD: f64 = 1.3;
/// Jobs shorter than this say nothing: starting threads takes as long, in seconds.
const SHORT: f64 = 0.001;
/// How many causes are named where none leads.
const NAMED: usize = 3;

/// What held a job back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Bound {
    /// Reading: the disk, the network behind it, or the pipe.
    Read,
    /// Reading what the system has in memory: no disk was involved.
    CachedRead,
    /// Writing to the disk, or making it durable.
    Write,
    /// Decompressing.
    Decompress,
    /// Compressing.
    Compress,
    /// Turning text or bytes into values.
    Parse,
    /// Putting values into the arrays of a model.
    Build,
    /// Turning stored bytes into pixels.
    Decode,
    /// Turning pixels into stored bytes or blocks.
    Encode,
    /// Turning values into text or bytes.
    Format,
    /// One model into another.
    Transform,
    /// Work that one thread did while the others could not.
    Serial,
    /// The memory limit, which backed fewer threads than there were.
    Memory,
    /// Locks.
    Locks,
    /// The host's own calls.
    Host,
    /// The host's own calls, because each brought few bytes.
    SmallReads,
    /// Other programs, which had the cores.
    OtherPrograms,
    /// It cannot be told.
    Unknown,
}

/// The judgement on a job.
///
/// ```
/// use polyhaul::options::RunOptions;
/// use polyhaul::report::{Bound, Facts, Verdict};
/// use polyhaul::trace::{Detail, Trace};
/// use polyhaul::{Input, ReadOptions, load};
///
/// let trace = Trace::new(Detail::Totals);
/// let run = RunOptions { threads: Some(1), trace: Some(trace.clone()), ..RunOptions::default() };
/// let text = b"v 0.25 0.5 0.75\n".repeat(200_000);
/// let loaded = load(Input::Memory(text, "points.obj".into()), &ReadOptions { run, ..ReadOptions::default() })?;
/// let verdict = Verdict::of(&trace.recording(), &Facts::of(&loaded.report), None);
/// assert!(verdict.causes.iter().any(|(bound, _)| *bound == Bound::Parse));
/// println!("{verdict}");
/// # Ok::<(), polyhaul::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Verdict {
    /// What held it back most.
    pub bound: Bound,
    /// The share of the cores' time that this took, 0 to 1; 0 where it cannot be told.
    pub share: f64,
    /// How long the job took, in seconds.
    pub seconds: f64,
    /// Plain bytes per second: those read or those written, whichever are more.
    pub bytes_per_second: f64,
    /// The best that this machine could do with the same bytes, in seconds; `None` where its ceilings are not known,
    /// and for jobs too small to compare.
    pub best_possible_seconds: Option<f64>,
    /// How many times longer than that it took.
    pub times_off: Option<f64>,
    /// What would help, and by how much; and what would not. Sentences without a full stop.
    pub advice: Vec<String>,
    /// The share of every cause, largest first; they add up to 1.
    pub causes: Vec<(Bound, f64)>,
}

/// What a job moved, and where it ran.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Facts {
    /// What it read, by format and codec.
    pub reads: Vec<Moved>,
    /// What it wrote, by format and codec.
    pub writes: Vec<Moved>,
    /// Cores that the process may use.
    pub cores: usize,
}

impl Facts {
    /// Those of a report, on this machine.
    pub fn of(report: &Report) -> Facts {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Facts { reads: report.reads.clone(), writes: report.writes.clone(), cores }
    }

    fn most_plain_bytes(&self) -> u64 {
        let sum = |list: &[Moved]| list.iter().map(|it| it.plain_bytes).sum::<u64>();
        sum(&self.reads).max(sum(&self.writes))
    }
}

impl Verdict {
    /// Judges what was recorded of jobs that moved what `facts` say, beside what the machine can do at best.
    ///
    /// The recording is of the jobs alone: see [`Recording::since`].
    pub fn of(seen: &Recording, facts: &Facts, ceilings: Option<&Ceilings>) -> Verdict {
        let account = Account::of(seen, facts.cores);
        let seconds = seen.elapsed_ns as f64 / 1e9;
        let causes = account.shares();
        let (bound, share) = leader(&causes).filter(|_| seconds >= SHORT).unwrap_or((Bound::Unknown, 0.0));
        let best = ceilings.and_then(|ceilings| best::seconds(seen, facts, &account, ceilings));
        Verdict {
            bound,
            share,
            seconds,
            bytes_per_second: if seconds > 0.0 { facts.most_plain_bytes() as f64 / seconds } else { 0.0 },
            best_possible_seconds: best,
            times_off: best.map(|best| seconds / best),
            advice: if seconds < SHORT { Vec::new() } else { advice::of(bound, seen, facts, &account, ceilings) },
            causes,
        }
    }

    /// What bound it, in words: `parsing (82 % of the cores' time)`.
    fn cause(&self) -> String {
        if self.seconds < SHORT {
            return format!("too short to tell what bound it ({:.2} ms)", self.seconds * 1e3);
        }
        if self.bound == Bound::Unknown {
            let known = self.causes.iter().filter(|(bound, share)| *bound != Bound::Unknown && *share >= 0.01);
            let named = known.take(NAMED).map(|(bound, share)| format!("{} {:.0} %", bound.words(), share * 100.0));
            return match named.collect::<Vec<_>>().join(", ") {
                none if none.is_empty() => "bound by nothing that can be told".to_owned(),
                some => format!("bound by no single cause: {some}"),
            };
        }
        format!("bound by {} ({:.0} % of the cores' time)", self.bound.words(), self.share * 100.0)
    }
}

/// The cause that leads clearly.
fn leader(causes: &[(Bound, f64)]) -> Option<(Bound, f64)> {
    let mut known = causes.iter().filter(|(bound, _)| *bound != Bound::Unknown);
    let &(bound, share) = known.next()?;
    let next = known.next().map_or(0.0, |(_, share)| *share);
    (share > CLEAR || share > FAIR && share > LEAD * next).then_some((bound, share))
}

/// One line: `390 MB/s, bound by parsing (82 % of the cores' time); 1.3x of the best possible 210 ms`.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.bytes_per_second > 0.0 && self.seconds >= SHORT {
            write!(f, "{}, ", rate(self.bytes_per_second))?;
        }
        f.write_str(&self.cause())?;
        match (self.times_off, self.best_possible_seconds) {
            (Some(times), Some(best)) => write!(f, "; {times:.1}x of the best possible {}", seconds(best)),
            _ => Ok(()),
        }
    }
}

impl Bound {
    /// Its name, for programs: `small-reads`.
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
            Bound::Serial => "serial",
            Bound::Memory => "memory",
            Bound::Locks => "locks",
            Bound::Host => "host",
            Bound::SmallReads => "small-reads",
            Bound::OtherPrograms => "other-programs",
            Bound::Unknown => "unknown",
        }
    }

    /// What people call it: `parsing`.
    pub fn words(self) -> &'static str {
        match self {
            Bound::Read => "reading",
            Bound::CachedRead => "reading what is in memory",
            Bound::Write => "writing",
            Bound::Decompress => "decompressing",
            Bound::Compress => "compressing",
            Bound::Parse => "parsing",
            Bound::Build => "filling arrays",
            Bound::Decode => "decoding pixels",
            Bound::Encode => "encoding pixels",
            Bound::Format => "formatting",
            Bound::Transform => "changing the model",
            Bound::Serial => "work that one thread does alone",
            Bound::Memory => "the memory limit",
            Bound::Locks => "locks",
            Bound::Host => "the host's calls",
            Bound::SmallReads => "the host's small reads",
            Bound::OtherPrograms => "other programs on the cores",
            Bound::Unknown => "what cannot be told",
        }
    }

    /// Whether it is work of ours on a core.
    fn is_work(self) -> bool {
        use Bound::{Build, Compress, Decode, Decompress, Encode, Format, Parse, Serial, Transform};
        matches!(self, Build | Compress | Decode | Decompress | Encode | Format | Parse | Serial | Transform)
    }
}

#[cfg(test)]
mod tests;
