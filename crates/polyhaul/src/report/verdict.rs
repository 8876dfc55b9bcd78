//! What bound a job, how far it was from the best possible, and what would help.

/// What held a job back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// Turning text or bytes into values, and these into a model.
    Parse,
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
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Verdict {
    /// What held it back most.
    pub bound: Bound,
    /// The share of the cores' time that this took, 0 to 1.
    pub share: f64,
    /// How long the job took, in seconds.
    pub seconds: f64,
    /// The best that this machine could do with the same bytes, in seconds; `None` where its ceilings are not known.
    pub best_possible_seconds: Option<f64>,
    /// How many times longer than that it took.
    pub times_off: Option<f64>,
    /// What would help, and by how much; and what would not. Sentences without a full stop.
    pub advice: Vec<String>,
    /// The share of every cause, largest first; they add up to 1.
    pub causes: Vec<(Bound, f64)>,
}

impl Bound {
    /// What people call it: `parsing`.
    pub fn words(self) -> &'static str {
        match self {
            Bound::Read => "reading",
            Bound::CachedRead => "reading what is in memory",
            Bound::Write => "writing",
            Bound::Decompress => "decompressing",
            Bound::Compress => "compressing",
            Bound::Parse => "parsing",
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
}
