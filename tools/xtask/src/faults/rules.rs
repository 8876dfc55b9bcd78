//! The invariants and promises that planted faults break, in few words.
//!
//! ARCHITECTURE.md has the invariants in full.

/// A rule that a fault breaks, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// One of [`INVARIANTS`].
    I(usize),
    /// One of [`PROMISES`].
    P(usize),
}

/// The invariants of ARCHITECTURE.md.
pub(super) const INVARIANTS: [&str; 9] = [
    "bounded memory",
    "the same result for any threads, chunks and reads",
    "no silent data loss",
    "a failed write leaves the old file and no temporary file",
    "large calls of host I/O",
    "no allocation and no shared lock in a parallel inner loop",
    "exact numbers",
    "every performance claim is a benchmark",
    "a converted asset still works",
];

/// The promises about everything that can go wrong.
pub(super) const PROMISES: [&str; 31] = [
    "no panic, abort or hang on any bytes",
    "fuzz targets find faults",
    "every prefix is an error or a documented result",
    "one changed byte never breaks it",
    "memory before data backs a header is bounded",
    "work is linear in the input",
    "limits hold at N - 1, N and N + 1, and messages name them",
    "an allocation that fails is an error",
    "any failed write leaves the old file and no temporary file",
    "SIGKILL leaves a whole file, SIGINT and SIGTERM nothing else",
    "durable: sync the file, rename it, sync the folder",
    "mode and links of a replaced file are kept",
    "the same bytes and the same error for any threads, chunks and reads",
    "referenced files stay below the folder of the scene, and are regular files",
    "a file that changes while it is read is an error",
    "files over 4 GiB and any locale",
    "values agree with independent readers",
    "hosts: results are checked, calls are large",
    "Python: exceptions of callbacks pass through",
    "C: no panic crosses the border, errors have numbers",
    "conversions keep the meaning, or count and name each difference",
    "references are found from the new place",
    "leftovers of killed runs are removed",
    "small inputs cannot demand much",
    "nothing from a file acts on a terminal, a page or a table",
    "no test depends on how busy the machine is",
    "coordinates move by at most half their last digit",
    "a skipped statement shifts no index",
    "pictures of small files are bounded",
    "logs of batches lose no row",
    "watched programs do what they do without",
];

/// Rules without a fault, and how they are checked.
pub(super) const ELSEWHERE: [(Rule, &str); 2] =
    [(Rule::I(8), "`cargo xtask bench`"), (Rule::P(26), "the test suite beside programs that keep all cores busy")];

impl Rule {
    /// Returns the number and the words of the rule.
    pub(super) fn words(self) -> (String, &'static str) {
        match self {
            Rule::I(number) => (format!("I{number}"), INVARIANTS[number - 1]),
            Rule::P(number) => (format!("P{number}"), PROMISES[number - 1]),
        }
    }

    /// Returns all rules, in order.
    pub(super) fn all() -> impl Iterator<Item = Rule> {
        (1..=INVARIANTS.len()).map(Rule::I).chain((1..=PROMISES.len()).map(Rule::P))
    }
}
