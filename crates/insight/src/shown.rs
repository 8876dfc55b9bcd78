//! Reduces a recording to screen resolution: a limited number of bars per thread, and sums over short time steps.
//!
//! Bars too short to be distinguished are merged; sums are exact. Draws nothing and writes no text: see `html` and
//! `svg`.

use polyhaul_trace::{Lane, Phase, Recording, SpanRecord};
use std::cmp::Reverse;

/// Maximum nesting depth of bars; deeper spans are part of the enclosing bar.
pub(super) const MAX_LEVELS: usize = 6;
/// Maximum number of thread rows.
pub(super) const MAX_ROWS: usize = 128;
/// Maximum step length, unless that would exceed [`MAX_STEPS`].
const LONGEST_STEP_NS: u64 = 10_000_000;
const MAX_STEPS: u64 = 4000;

/// Time range of a recording in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
}

/// A span as drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) phase: Phase,
    pub(super) lane: Lane,
    /// Nesting level.
    pub(super) level: usize,
    pub(super) what: What,
}

/// Details of a bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What {
    /// A call: bytes moved, and index of the file.
    Call(u64, Option<u32>),
    /// Chunk number, if known.
    Chunk(Option<u64>),
    /// Merged spans: their number, and the fraction of the bar that they cover. The bar has the phase with the most
    /// time.
    Merged(u64, f64),
}

/// The thread rows of a chart.
#[derive(Debug, Default)]
pub(super) struct ShownRows {
    /// Bars per thread, sorted by level, then time.
    pub(super) rows: Vec<Vec<Bar>>,
    /// Number of spans in merged bars.
    pub(super) merged_spans: u64,
    /// Spans shorter than this were merged with neighbors, in nanoseconds; 0 if none were.
    pub(super) merged_below_ns: u64,
    /// Number of threads without a row.
    pub(super) hidden_threads: usize,
}

/// Sums per time step.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// Step length in nanoseconds, at least 1.
    pub(super) step_ns: u64,
    /// Bytes read per step.
    pub(super) read_bytes: Vec<f64>,
    /// Bytes written per step.
    pub(super) written_bytes: Vec<f64>,
    /// Mean number of computing threads per step.
    pub(super) computing: Vec<f64>,
    /// Mean number of threads in reads, writes and host calls per step.
    pub(super) calling: Vec<f64>,
}

impl Extent {
    /// The range from the start of the first span or section to the end of the last. Without spans and sections, the
    /// range of the samples.
    pub(super) fn from_recording(recording: &Recording) -> Extent {
        let spans = recording.threads.iter().flat_map(|thread| &thread.spans).map(|span| (span.start_ns, span.end_ns));
        let sections = recording.sections.iter().map(|section| (section.start_ns, section.end_ns));
        let recorded = spans.chain(sections).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let sampled = recording.samples.first().zip(recording.samples.last()).map(|(a, b)| (a.at_ns, b.at_ns));
        let (start_ns, end_ns) = recorded.or(sampled).unwrap_or((0, recording.elapsed_ns));
        Extent { start_ns, end_ns: end_ns.max(start_ns) }
    }

    /// Length in nanoseconds, at least 1.
    pub(super) fn length_ns(self) -> u64 {
        (self.end_ns - self.start_ns).max(1)
    }
}

/// Sorts the spans of a thread by start, outer spans first, and returns them with nesting levels. Calls `each_stretch`
/// for every time range with its innermost phase.
fn nested(spans: &[SpanRecord], mut each_stretch: impl FnMut(u64, u64, Phase)) -> Vec<(usize, SpanRecord)> {
    let mut sorted = spans.to_vec();
    sorted.sort_by_key(|span| (span.start_ns, Reverse(span.end_ns), span.depth));
    let mut open: Vec<SpanRecord> = Vec::new();
    let mut at_ns = 0;
    let mut leveled = Vec::with_capacity(sorted.len());
    for mut span in sorted {
        while let Some(outer) = open.pop_if(|outer| outer.end_ns <= span.start_ns) {
            each_stretch(at_ns, outer.end_ns, outer.phase);
            at_ns = at_ns.max(outer.end_ns);
        }
        if let Some(outer) = open.last() {
            each_stretch(at_ns, span.start_ns, outer.phase);
            if span.value == 0 && !moves_bytes(&span) && !moves_bytes(outer) {
                // A span without a number is about the chunk of the span around it.
                span.value = outer.value;
            }
        }
        at_ns = at_ns.max(span.start_ns);
        leveled.push((open.len(), span));
        open.push(span);
    }
    while let Some(outer) = open.pop() {
        each_stretch(at_ns, outer.end_ns, outer.phase);
        at_ns = at_ns.max(outer.end_ns);
    }
    leveled
}

fn moves_bytes(span: &SpanRecord) -> bool {
    span.file.is_some() || span.phase.is_io()
}

/// Thread rows with at most about `max_bars` bars; merging stops at a few bars per row.
pub(super) fn rows(recording: &Recording, extent: Extent, max_bars: usize) -> ShownRows {
    let threads = recording.threads.iter().take(MAX_ROWS);
    let rows: Vec<_> = threads.map(|thread| by_level(&thread.spans)).collect();
    let hidden_threads = recording.threads.len() - rows.len();
    let mut below_ns = 0;
    while count(&rows, extent, below_ns) > max_bars && below_ns < extent.length_ns() {
        below_ns = if below_ns == 0 { (extent.length_ns() >> 22).max(1) } else { below_ns.saturating_mul(2) };
    }
    let merged = merged(&rows, extent, below_ns);
    let many = |bar: &Bar| if let What::Merged(spans, _) = bar.what { spans } else { 0 };
    let merged_spans = merged.iter().flatten().map(many).sum();
    let merged_below_ns = if merged_spans > 0 { below_ns } else { 0 };
    ShownRows { rows: merged, merged_spans, merged_below_ns, hidden_threads }
}

/// The spans of a thread by level, then time.
fn by_level(spans: &[SpanRecord]) -> [Vec<SpanRecord>; MAX_LEVELS] {
    let mut levels: [Vec<SpanRecord>; MAX_LEVELS] = Default::default();
    for (level, span) in nested(spans, |_, _, _| ()) {
        if let Some(spans) = levels.get_mut(level) {
            spans.push(span);
        }
    }
    levels
}

fn merged(rows: &[[Vec<SpanRecord>; MAX_LEVELS]], extent: Extent, below_ns: u64) -> Vec<Vec<Bar>> {
    let of_row = |levels: &[Vec<SpanRecord>; MAX_LEVELS]| {
        let mut bars = Vec::new();
        for (level, spans) in levels.iter().enumerate() {
            merge_level(spans, level, extent, below_ns, &mut bars);
        }
        bars
    };
    rows.iter().map(of_row).collect()
}

/// Number of bars if spans shorter than `below_ns` are merged.
fn count(rows: &[[Vec<SpanRecord>; MAX_LEVELS]], extent: Extent, below_ns: u64) -> usize {
    rows.iter().flatten().map(|spans| groups(spans, extent, below_ns).count()).sum()
}

fn merge_level(spans: &[SpanRecord], level: usize, extent: Extent, below_ns: u64, bars: &mut Vec<Bar>) {
    bars.extend(groups(spans, extent, below_ns).filter_map(|group| bar(group, level)));
}

/// Groups spans shorter than `below_ns` by the `below_ns` interval in which they start. Each longer span forms a group
/// of its own.
fn groups(spans: &[SpanRecord], extent: Extent, below_ns: u64) -> impl Iterator<Item = &[SpanRecord]> {
    // With `below_ns` 0, no span is short; `checked_div` then avoids a division by zero.
    let place = move |span: &SpanRecord| (span.start_ns - extent.start_ns).checked_div(below_ns);
    let is_short = move |span: &SpanRecord| span.end_ns - span.start_ns < below_ns;
    spans.chunk_by(move |a, b| is_short(a) && is_short(b) && place(a) == place(b))
}

/// Combines consecutive spans into one bar.
fn bar(group: &[SpanRecord], level: usize) -> Option<Bar> {
    let first = group.first()?;
    let last = group.last()?;
    let start_ns = first.start_ns;
    let end_ns = last.end_ns.max(first.end_ns);
    if group.len() == 1 {
        let what = if moves_bytes(first) {
            What::Call(first.value, first.file)
        } else {
            What::Chunk(Some(first.value).filter(|&number| number > 0))
        };
        return Some(Bar { start_ns, end_ns, phase: first.phase, lane: first.lane, level, what });
    }
    let mut times = [0; polyhaul_trace::PHASE_COUNT];
    group.iter().for_each(|span| times[span.phase as usize] += span.end_ns - span.start_ns);
    let longest = Phase::ALL.into_iter().max_by_key(|&phase| (times[phase as usize], Reverse(phase)))?;
    let lane = group.iter().find(|span| span.phase == longest).map_or(first.lane, |span| span.lane);
    let covered = times.iter().sum::<u64>() as f64 / (end_ns - start_ns).max(1) as f64;
    let what = What::Merged(group.len() as u64, covered.min(1.0));
    Some(Bar { start_ns, end_ns, phase: longest, lane, level, what })
}

/// Whether this is a recording of a watched program, whose threads have names, rather than of a job.
pub(super) fn is_program(recording: &Recording) -> bool {
    recording.threads.iter().any(|thread| !thread.name.is_empty())
}

/// Sums over at least about 500 steps of at most 10 ms; the steps are longer if there would be more than [`MAX_STEPS`].
/// Watched programs are sampled every 10 ms, so their steps are not shorter.
pub(super) fn steps(recording: &Recording, extent: Extent) -> Steps {
    let step_ns = step(extent.length_ns()).max(if is_program(recording) { LONGEST_STEP_NS } else { 1 });
    let count = (extent.length_ns().div_ceil(step_ns)) as usize;
    let [mut read_bytes, mut written_bytes, mut computing, mut calling] = std::array::from_fn(|_| vec![0.0; count]);
    let spread = |steps: &mut [f64], start_ns: u64, end_ns: u64, amount: f64| {
        let start = start_ns.saturating_sub(extent.start_ns);
        spread(steps, step_ns, [start, end_ns.saturating_sub(extent.start_ns).max(start)], amount);
    };
    for thread in &recording.threads {
        for span in thread.spans.iter().filter(|span| span.value > 0) {
            match direction(recording, span) {
                Some(false) => spread(&mut read_bytes, span.start_ns, span.end_ns, span.value as f64),
                Some(true) => spread(&mut written_bytes, span.start_ns, span.end_ns, span.value as f64),
                None => {}
            }
        }
        nested(&thread.spans, |start_ns, end_ns, phase| {
            let share = end_ns.saturating_sub(start_ns) as f64 / step_ns as f64;
            match phase {
                _ if start_ns >= end_ns => {}
                Phase::Throttle | Phase::Other => {}
                _ if phase.is_io() => spread(&mut calling, start_ns, end_ns, share),
                _ if !phase.is_wait() => spread(&mut computing, start_ns, end_ns, share),
                _ => {}
            }
        });
    }
    Steps { step_ns, read_bytes, written_bytes, computing, calling }
}

/// Returns whether a call is output, or `None` if its bytes do not cross the process boundary.
fn direction(recording: &Recording, span: &SpanRecord) -> Option<bool> {
    match span.phase {
        Phase::Read => Some(false),
        Phase::Write => Some(true),
        Phase::Host => recording.files.get(span.file? as usize).map(|file| file.is_output),
        _ => None,
    }
}

/// Step length: 1, 2 or 5 times a power of ten.
fn step(length_ns: u64) -> u64 {
    let nice = (0..19).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    let target_ns = (length_ns / 500).clamp(1, LONGEST_STEP_NS).max(length_ns / MAX_STEPS);
    let is_few = |step: &u64| length_ns / step <= MAX_STEPS;
    let fits = nice.clone().rev().find(|step| *step <= target_ns && is_few(step));
    fits.or_else(|| nice.clone().find(is_few)).unwrap_or(1)
}

/// Distributes an amount over the steps between `start_ns` and `end_ns`, in proportion to the overlap.
fn spread(steps: &mut [f64], step_ns: u64, [start_ns, end_ns]: [u64; 2], amount: f64) {
    let first = (start_ns / step_ns) as usize;
    let last = (end_ns / step_ns) as usize;
    let last_step = steps.len().saturating_sub(1);
    if first >= last {
        steps.get_mut(first.min(last_step)).into_iter().for_each(|step| *step += amount);
        return;
    }
    let per_ns = amount / (end_ns - start_ns) as f64;
    for index in first..=last {
        let from = (index as u64 * step_ns).max(start_ns);
        let to = ((index as u64 + 1).saturating_mul(step_ns)).min(end_ns);
        steps.get_mut(index.min(last_step)).into_iter().for_each(|step| *step += per_ns * (to - from) as f64);
    }
}
