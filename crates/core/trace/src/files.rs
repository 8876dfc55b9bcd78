//! Calls on the sources and sinks opened during a trace.
//!
//! While a file is open, its [`Counters`] count. When the counters are dropped, a few words per file remain here,
//! because a job may read a single small file, and the next job reuses the memory. This module only counts the callers.

use super::phase::{PHASE_COUNT, Phase};
use super::{FileUse, MAX_FILES, TraceShared};
use crate::counters::Counters;
use crate::snapshot::{BUCKET_COUNT, Snapshot, Sums};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

/// Kind of a source or sink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileKind {
    /// Whether it is a sink.
    pub is_output: bool,
    /// Whether it is a file in the file system rather than a stream or a callback.
    pub is_file: bool,
    /// Whether it is memory.
    pub is_memory: bool,
}

/// Sources and sinks in the order of opening.
#[derive(Default)]
pub(super) struct FileTable {
    files: Vec<FileEntry>,
    /// Names of all files, concatenated.
    names: String,
    /// For closed files: calls by size class, and by caller.
    sizes: Vec<(usize, u64)>,
    callers: Vec<(Phase, u64)>,
}

struct FileEntry {
    name: Range<usize>,
    phase: Phase,
    kind: FileKind,
    calls: Calls,
}

enum Calls {
    Open(Weak<Counters>),
    /// The sums, and the file's ranges in `sizes` and `callers`.
    Closed(Sums, Range<usize>, Range<usize>),
}

impl FileTable {
    /// Records an opened file. Returns its index, or `None` if there are too many files or memory runs out.
    pub(super) fn add(&mut self, name: &str, kind: FileKind, counters: &Arc<Counters>) -> Option<u32> {
        let index = self.files.len();
        let has_room = self.files.try_reserve(1).is_ok() && self.names.try_reserve(name.len()).is_ok();
        if index == MAX_FILES || !has_room {
            return None;
        }
        let name_start = self.names.len();
        self.names.push_str(name);
        let calls = Calls::Open(Arc::downgrade(counters));
        self.files.push(FileEntry { name: name_start..self.names.len(), phase: counters.phase(), kind, calls });
        Some(index as u32)
    }

    /// Stores the calls of a file whose counters are dropped. Returns `false` if memory runs out.
    fn close(&mut self, index: u32, counters: &Counters, noted: &FileEntryRef) -> bool {
        let Some(file) = self.files.get_mut(index as usize) else { return true };
        let has_room = self.sizes.try_reserve(BUCKET_COUNT).is_ok() && self.callers.try_reserve(PHASE_COUNT).is_ok();
        if !has_room {
            return false;
        }
        let sizes_start = self.sizes.len();
        self.sizes.extend(counters.calls_by_class());
        let callers_start = self.callers.len();
        self.callers.extend(noted.callers());
        let sizes = sizes_start..self.sizes.len();
        let callers = callers_start..self.callers.len();
        file.calls = Calls::Closed(counters.sums(), sizes, callers);
        true
    }

    /// Returns all opened files. Also adds the counters of open files to `open`, to be dropped after the trace is
    /// unlocked: they may be the last handles, and dropping a last handle locks the trace.
    pub(super) fn used(&self, open: &mut Vec<Arc<Counters>>) -> Vec<FileUse> {
        let used = |file: &FileEntry| {
            let (calls, callers) = match &file.calls {
                Calls::Open(counters) => counters.upgrade().map(|counters| {
                    let callers = counters.noted().get().map(|noted| noted.callers().collect());
                    let calls = counters.snapshot();
                    open.push(counters);
                    (calls, callers.unwrap_or_default())
                }),
                Calls::Closed(sums, sizes, callers) => {
                    let sizes = self.sizes.get(sizes.clone()).unwrap_or_default().iter().copied();
                    let callers = self.callers.get(callers.clone()).unwrap_or_default().to_vec();
                    Some((Snapshot::new(*sums, sizes), callers))
                }
            }
            .unwrap_or_else(|| (Counters::new().snapshot(), Vec::new()));
            let name = self.names.get(file.name.clone()).unwrap_or_default().to_owned();
            let FileKind { is_output, is_file, is_memory } = file.kind;
            FileUse { name, phase: file.phase, is_output, is_file, is_memory, calls, callers }
        };
        self.files.iter().map(used).collect()
    }
}

/// The trace that records the calls of some [`Counters`], and their file's index in it.
#[derive(Debug)]
pub(crate) struct FileEntryRef {
    trace: Weak<TraceShared>,
    index: u32,
    /// Calls by the phase they served, if spans are recorded.
    by: [AtomicU64; PHASE_COUNT],
}

impl FileEntryRef {
    /// Counts a call on behalf of `phase`.
    pub(super) fn called_by(&self, phase: Phase) {
        self.by[phase as usize].fetch_add(1, Relaxed);
    }

    fn callers(&self) -> impl Iterator<Item = (Phase, u64)> {
        let calls = self.by.iter().map(|calls| calls.load(Relaxed));
        Phase::ALL.into_iter().zip(calls).filter(|&(_, calls)| calls > 0)
    }

    /// Stores the calls in the trace. Called when the last handle to `counters` is dropped.
    pub(crate) fn close(&self, counters: &Counters) {
        if let Some(trace) = self.trace.upgrade() {
            let mut state = trace.lock();
            let is_stored = state.files.close(self.index, counters, self);
            state.recording.dropped_files += u64::from(!is_stored);
        }
    }
}

impl Counters {
    pub(super) fn noted_in(&self, trace: &Arc<TraceShared>, index: u32) {
        // If several traces open the same source, the first trace records it.
        let by = [const { AtomicU64::new(0) }; PHASE_COUNT];
        let _ = self.noted().set(FileEntryRef { trace: Arc::downgrade(trace), index, by });
    }

    /// Returns the index of these calls' file in `trace`.
    pub(super) fn file_in(&self, trace: &Arc<TraceShared>) -> Option<(u32, &FileEntryRef)> {
        let noted = self.noted().get()?;
        std::ptr::eq(noted.trace.as_ptr(), Arc::as_ptr(trace)).then_some((noted.index, noted))
    }
}
