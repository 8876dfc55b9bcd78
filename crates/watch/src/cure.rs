//! What became of the cure for small reads: the recorder answers them from memory.
//!
//! `recorder/cure.c` answers, and steps aside where it could not be sure that programs see the same bytes and positions
//! as without it. [`crate::report`] finds the files that need the cure.

use serde::Serialize;

/// A file whose small reads were answered, or should have been.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CuredFile {
    /// Path.
    pub file: String,
    /// Number of reads and seeks that needed no system call.
    pub answered: u64,
    /// Bytes of these reads.
    pub bytes: u64,
    /// Why and how often the recorder stepped aside.
    pub asides: Vec<Aside>,
}

/// A reason to step aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Aside {
    /// The reason.
    pub reason: AsideReason,
    /// Number of descriptors.
    pub times: u64,
}

/// Why small reads of a file were not answered any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AsideReason {
    /// Another process could use the position.
    Shared,
    /// A recorded program could write to it.
    Written,
    /// Another program changed it.
    Changed,
    /// A call needed the position in the kernel while other threads could read.
    Controlled,
    /// Files of this file system may change without a call.
    FileSystem,
    /// Too many files were read at a time.
    Crowded,
    /// The program could make calls that are not seen.
    Unseen,
}

impl AsideReason {
    /// All reasons, in the order of `enum aside` in `recorder/layout.h`.
    pub(crate) const ALL: [AsideReason; 7] = [
        AsideReason::Shared,
        AsideReason::Written,
        AsideReason::Changed,
        AsideReason::Controlled,
        AsideReason::FileSystem,
        AsideReason::Crowded,
        AsideReason::Unseen,
    ];
}
