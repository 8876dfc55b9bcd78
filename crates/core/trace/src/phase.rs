//! Vocabulary of traces: the activity of a thread and its role in the job.

/// Activity of a thread: the phase of a span.
///
/// The time of a phase is exclusive: it excludes nested spans with their own phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum Phase {
    /// Calling a function that reads a file, a pipe or memory.
    Read,
    /// Calling a function that writes to a file or memory.
    Write,
    /// Making a file durable or final: sync, close, rename.
    Sync,
    /// Calling the host: its reader, writer or resolver.
    Host,
    /// Waiting because of a requested rate; see [`CallDelay`](crate::CallDelay).
    Throttle,
    /// Decompressing bytes.
    Decompress,
    /// Compressing bytes.
    Compress,
    /// Finding the boundaries of chunks.
    Cut,
    /// Converting text to values.
    Parse,
    /// Converting values to text, or to the bytes of a format.
    Format,
    /// Ordered work across chunk boundaries.
    Place,
    /// Storing values in arrays.
    Build,
    /// Converting stored bytes to pixels.
    Decode,
    /// Converting pixels to stored bytes, or to blocks.
    Encode,
    /// Converting one model to another.
    Transform,
    /// Rendering a model to pixels.
    Draw,
    /// Waiting for the thread that reads the input.
    WaitInput,
    /// Waiting for a thread in an ordered part, or for a slot held by a chunk whose turn has not come.
    WaitTurn,
    /// Waiting while other threads finish the last chunks.
    WaitEnd,
    /// Waiting for one of polyhaul's locks.
    Lock,
    /// Waiting for a lock or another thread, in a watched program.
    Await,
    /// Running the code of a watched program.
    Run,
    /// Waiting for a core, in a watched program.
    Ready,
    /// Waiting for something else, in a watched program: a timer, a child, a connection.
    Sleep,
    /// Everything else.
    Other,
}

/// Number of phases.
pub const PHASE_COUNT: usize = Phase::Other as usize + 1;

impl Phase {
    /// All phases, in order.
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
        Phase::Await,
        Phase::Run,
        Phase::Ready,
        Phase::Sleep,
        Phase::Other,
    ];

    /// Returns the name: a few lowercase words.
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
            Phase::Await => "await",
            Phase::Run => "run",
            Phase::Ready => "ready",
            Phase::Sleep => "sleep",
            Phase::Other => "other",
        }
    }

    /// Returns whether the thread is idle in this phase.
    pub fn is_wait(self) -> bool {
        matches!(
            self,
            Phase::WaitInput
                | Phase::WaitTurn
                | Phase::WaitEnd
                | Phase::Lock
                | Phase::Await
                | Phase::Ready
                | Phase::Sleep
        )
    }

    /// Returns whether the phase moves bytes into or out of the process, or delays that.
    pub fn is_io(self) -> bool {
        matches!(self, Phase::Read | Phase::Write | Phase::Sync | Phase::Host | Phase::Throttle)
    }
}

/// Role of a thread in the job, which determines what other threads can do meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum Lane {
    /// The caller's thread, while it works alone.
    Alone,
    /// Work in parallel with other threads.
    Side,
    /// Reading the input: one thread at a time.
    Input,
    /// An ordered part: one thread at a time.
    Turn,
}

/// Number of lanes.
pub const LANE_COUNT: usize = Lane::Turn as usize + 1;

impl Lane {
    /// All lanes, in order.
    pub const ALL: [Lane; LANE_COUNT] = [Lane::Alone, Lane::Side, Lane::Input, Lane::Turn];

    /// Returns the name.
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
