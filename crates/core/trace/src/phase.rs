//! The vocabulary of traces: what a thread does, and which part of the job that serves.

/// What a thread does. A phase is a function is a span.
///
/// The time of a phase is exclusive: nested spans with a phase of their own are not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum Phase {
    /// A call that reads a file, a pipe or memory.
    Read,
    /// A call that writes to a file or memory.
    Write,
    /// Making a file durable or final: sync, close, rename.
    Sync,
    /// A call of the host's: its reader, its writer, its resolver.
    Host,
    /// Held back by a rate that was asked for: see [`CallDelay`](crate::CallDelay).
    Throttle,
    /// Plain bytes out of compressed ones.
    Decompress,
    /// Compressed bytes out of plain ones.
    Compress,
    /// Finding where chunks begin and end.
    Cut,
    /// Text to values.
    Parse,
    /// Values to text, or to the bytes of a format.
    Format,
    /// Ordered work: what crosses chunk boundaries.
    Place,
    /// Values to their places in arrays.
    Build,
    /// Stored bytes to pixels.
    Decode,
    /// Pixels to stored bytes, or to blocks.
    Encode,
    /// One model to another.
    Transform,
    /// A model to pixels.
    Draw,
    /// Waiting for the thread that reads for all.
    WaitInput,
    /// Waiting for a thread in an ordered part, or for slots that wait for their turn.
    WaitTurn,
    /// Waiting while others do the last chunks.
    WaitEnd,
    /// Waiting for a lock of ours.
    Lock,
    /// Whatever has no phase.
    Other,
}

/// The number of phases.
pub const PHASE_COUNT: usize = Phase::Other as usize + 1;

impl Phase {
    /// All of them, in their order.
    pub const ALL: [Phase; PHASE_COUNT] = [
        Phase::Read,
        Phase::Write,
        Phase::Sync,
        Phase::Host,
        Phase::Throttle,
        Phase::Decompress,
        Phase::Compress,
        Phase::Cut,
        Phase::Parse,
        Phase::Format,
        Phase::Place,
        Phase::Build,
        Phase::Decode,
        Phase::Encode,
        Phase::Transform,
        Phase::Draw,
        Phase::WaitInput,
        Phase::WaitTurn,
        Phase::WaitEnd,
        Phase::Lock,
        Phase::Other,
    ];

    /// Its name: one or two words in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Read => "read",
            Phase::Write => "write",
            Phase::Sync => "sync",
            Phase::Host => "host",
            Phase::Throttle => "throttle",
            Phase::Decompress => "decompress",
            Phase::Compress => "compress",
            Phase::Cut => "cut",
            Phase::Parse => "parse",
            Phase::Format => "format",
            Phase::Place => "place",
            Phase::Build => "build",
            Phase::Decode => "decode",
            Phase::Encode => "encode",
            Phase::Transform => "transform",
            Phase::Draw => "draw",
            Phase::WaitInput => "wait for input",
            Phase::WaitTurn => "wait for turn",
            Phase::WaitEnd => "wait for the end",
            Phase::Lock => "lock",
            Phase::Other => "other",
        }
    }

    /// Returns whether the thread is idle in this phase.
    pub fn is_wait(self) -> bool {
        matches!(self, Phase::WaitInput | Phase::WaitTurn | Phase::WaitEnd | Phase::Lock)
    }

    /// Whether bytes cross the border of the process in it, or are held back there.
    pub fn is_io(self) -> bool {
        matches!(self, Phase::Read | Phase::Write | Phase::Sync | Phase::Host | Phase::Throttle)
    }
}

/// The part of the job that a thread serves, which determines what the others do meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum Lane {
    /// The caller's thread, while no other works for the job.
    Alone,
    /// Side by side with others.
    Side,
    /// Reading on for all, as one must at a time.
    Input,
    /// An ordered part, as one must at a time.
    Turn,
}

/// The number of lanes.
pub const LANE_COUNT: usize = Lane::Turn as usize + 1;

impl Lane {
    /// All of them, in their order.
    pub const ALL: [Lane; LANE_COUNT] = [Lane::Alone, Lane::Side, Lane::Input, Lane::Turn];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Lane::Alone => "alone",
            Lane::Side => "side by side",
            Lane::Input => "input",
            Lane::Turn => "in turn",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_whole_and_in_order() {
        assert!(Phase::ALL.iter().enumerate().all(|(i, &phase)| phase as usize == i));
        assert!(Lane::ALL.iter().enumerate().all(|(i, &lane)| lane as usize == i));
        let names: std::collections::BTreeSet<_> = Phase::ALL.iter().map(|phase| phase.name()).collect();
        assert_eq!(names.len(), PHASE_COUNT);
    }
}
