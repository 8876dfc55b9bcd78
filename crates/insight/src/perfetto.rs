//! Exports a recording for Perfetto and chrome://tracing: JSON in the Trace Event Format.
//!
//! Each thread is a track of nested spans, sections have their own track, and each file is an instant event with its
//! statistics on a third kind of track. `counters.rs` exports time series. Output is streamed, so the JSON of a long
//! trace is never in memory as a whole. Nothing is evaluated: see `verdict`. The format is described in "Trace Event
//! Format" (Nat Duca, Dan Sinclair: the document of chrome://tracing).

mod counters;

use super::json::Json;
use polyhaul_trace::{FileUse, Phase, Recording, Section, SpanRecord, Thread};
use std::io::{self, Write};

/// The only process. The caller's thread has the same ID, so that viewers treat it as the main thread.
const PROCESS: u64 = 1;
/// Track IDs of files and sections: above all threads.
const FILES: u64 = 1_000_000;
const SECTIONS: u64 = 2_000_000;
/// Minimum size of output blocks in bytes, except for the last block.
const BLOCK_BYTES: usize = 256 << 10;

/// Writes a recording for Perfetto (<https://ui.perfetto.dev>) and chrome://tracing, titled `title`.
///
/// Output blocks exceed 256 KiB, except for the last block. Without spans ([`Detail::Totals`](polyhaul_trace::Detail)),
/// the trace contains sections, files, samples and totals.
///
/// ```
/// use polyhaul_insight::perfetto;
/// use polyhaul_trace::{Detail, Trace};
///
/// let trace = Trace::new(Detail::Spans);
/// // Jobs with `RunOptions { trace: Some(trace.clone()), .. }` run here.
/// let mut text = Vec::new();
/// perfetto(&trace.recording(), "nothing yet", &mut text)?;
/// assert!(text.starts_with(b"{\"displayTimeUnit\":\"ms\""));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Errors of `out`.
pub fn perfetto(recording: &Recording, title: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut events = Events { json: Json::new(), out };
    let json = &mut events.json;
    json.open('{');
    json.key("displayTimeUnit").string("ms");
    json.key("otherData").object(|json| facts(json, recording));
    json.key("traceEvents").open('[');
    events.name_process(title)?;
    events.sections(&recording.sections)?;
    for (index, thread) in recording.threads.iter().enumerate() {
        events.thread(recording, index, thread)?;
    }
    events.files(recording)?;
    counters::write(&mut events, recording)?;
    events.json.close(']');
    events.json.close('}');
    events.hand_on(0)
}

/// Properties of the recording. Times are in nanoseconds.
fn facts(json: &mut Json, recording: &Recording) {
    json.key("polyhaul").string(env!("CARGO_PKG_VERSION"));
    json.key("elapsed_ns").integer(recording.elapsed_ns);
    json.key("wanted_threads").integer(recording.wanted_threads as u64);
    json.key("starved_ns").integer(recording.starved_ns);
    if let Some(at_ns) = recording.first_pixel_ns {
        json.key("first_pixel_ns").integer(at_ns);
    }
    json.key("dropped_spans").integer(recording.dropped_spans);
    json.key("dropped_files").integer(recording.dropped_files);
    let totals = recording.totals();
    json.key("phases_ns").object(|json| {
        for phase in Phase::ALL {
            if totals.total(phase) > 0 {
                json.key(phase.name()).integer(totals.total(phase));
            }
        }
    });
}

/// Streams events as JSON.
struct Events<'a> {
    json: Json,
    out: &'a mut dyn Write,
}

impl Events<'_> {
    /// Writes an event of type `kind` (`ph`) on a track; `fill` adds fields.
    fn event(&mut self, kind: &str, track: u64, name: &str, fill: impl FnOnce(&mut Json)) -> io::Result<()> {
        self.json.object(|json| {
            json.key("ph").string(kind);
            json.key("pid").integer(PROCESS);
            json.key("tid").integer(track);
            json.key("name").string(name);
            fill(json);
        });
        self.hand_on(BLOCK_BYTES)
    }

    /// Flushes the text if it exceeds `max_bytes`.
    fn hand_on(&mut self, max_bytes: usize) -> io::Result<()> {
        if self.json.size() > max_bytes { self.out.write_all(self.json.take().as_bytes()) } else { Ok(()) }
    }

    fn name_process(&mut self, title: &str) -> io::Result<()> {
        self.metadata("process_name", PROCESS, title)
    }

    fn name_track(&mut self, track: u64, name: &str) -> io::Result<()> {
        self.metadata("thread_name", track, name)?;
        // Sections are sorted above the threads, files below.
        let place = if track == SECTIONS { 0 } else { track };
        self.event("M", track, "thread_sort_index", |json| {
            json.key("args").object(|json| json.key("sort_index").integer(place));
        })
    }

    fn metadata(&mut self, what: &str, track: u64, name: &str) -> io::Result<()> {
        self.event("M", track, what, |json| json.key("args").object(|json| json.key("name").string(name)))
    }

    /// Writes the sections of the jobs.
    fn sections(&mut self, sections: &[Section]) -> io::Result<()> {
        if !sections.is_empty() {
            self.name_track(SECTIONS, "sections")?;
        }
        for section in sections {
            let times = [section.start_ns, section.end_ns];
            self.event("X", SECTIONS, section.name, |json| during(json, times, "section"))?;
        }
        Ok(())
    }

    /// Writes the spans of one thread. Viewers require enclosing spans first.
    fn thread(&mut self, recording: &Recording, index: usize, thread: &Thread) -> io::Result<()> {
        let track = PROCESS + index as u64;
        self.name_track(track, &recording.thread_name(index))?;
        let mut order: Vec<&SpanRecord> = thread.spans.iter().collect();
        order.sort_by_key(|span| (span.start_ns, span.depth, span.end_ns));
        for span in order {
            self.span(track, span, &recording.files, !thread.name.is_empty())?;
        }
        Ok(())
    }

    fn span(&mut self, track: u64, span: &SpanRecord, files: &[FileUse], is_program: bool) -> io::Result<()> {
        let file = span.file.and_then(|index| files.get(index as usize));
        self.event("X", track, span.phase.name(), |json| {
            during(json, [span.start_ns, span.end_ns], category(span.phase));
            json.key("args").object(|json| {
                if !is_program {
                    json.key("lane").string(span.lane.name());
                }
                if let Some(file) = file {
                    json.key("file").string(&file.name);
                }
                if file.is_some() || span.phase.is_io() {
                    json.key("bytes").integer(span.value);
                } else if has_chunk(span.phase) {
                    json.key("chunk").integer(span.value);
                }
            });
        })
    }

    /// Writes file statistics as instant events at the first call of each file.
    fn files(&mut self, recording: &Recording) -> io::Result<()> {
        if recording.files.is_empty() {
            return Ok(());
        }
        self.name_track(FILES, "files")?;
        let mut first_ns = vec![u64::MAX; recording.files.len()];
        for span in recording.threads.iter().flat_map(|thread| &thread.spans) {
            if let Some(first) = span.file.and_then(|index| first_ns.get_mut(index as usize)) {
                *first = span.start_ns.min(*first);
            }
        }
        for (file, first_ns) in recording.files.iter().zip(first_ns) {
            self.event("i", FILES, &file.name, |json| {
                json.key("ts").number(micros(if first_ns == u64::MAX { 0 } else { first_ns }));
                json.key("s").string("t");
                json.key("args").object(|json| statistics(json, file));
            })?;
        }
        Ok(())
    }

    /// Writes the values of a counter in order, dropping unchanged values, and values less than `apart_ns` after the
    /// previously written value, except for the last value.
    fn counter(&mut self, name: &str, apart_ns: u64, points: impl Iterator<Item = (u64, f64)>) -> io::Result<()> {
        let mut shown: Option<(u64, f64)> = None;
        let mut waiting = None;
        for (at_ns, value) in points {
            let is_near = shown.is_some_and(|(before_ns, _)| at_ns < before_ns.saturating_add(apart_ns));
            if is_near {
                waiting = Some((at_ns, value));
                continue;
            }
            waiting = None;
            if shown.is_none_or(|(_, before)| before != value) {
                self.value(name, at_ns, value)?;
                shown = Some((at_ns, value));
            }
        }
        waiting.map_or(Ok(()), |(at_ns, value)| self.value(name, at_ns, value))
    }

    fn value(&mut self, name: &str, at_ns: u64, value: f64) -> io::Result<()> {
        self.event("C", PROCESS, name, |json| {
            json.key("ts").number(micros(at_ns));
            json.key("args").object(|json| json.key("value").number(value));
        })
    }
}

/// Converts to microseconds, the unit of the format.
fn micros(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

fn during(json: &mut Json, [start_ns, end_ns]: [u64; 2], category: &str) {
    json.key("ts").number(micros(start_ns));
    json.key("dur").number(micros(end_ns.saturating_sub(start_ns)));
    json.key("cat").string(category);
}

/// Category of a phase, for filters in viewers.
fn category(phase: Phase) -> &'static str {
    match phase {
        Phase::Other => "other",
        _ if phase.is_wait() => "wait",
        _ if phase.is_io() => "io",
        _ => "work",
    }
}

/// Returns whether spans of the phase have a chunk number, as the scheduler's spans do.
fn has_chunk(phase: Phase) -> bool {
    !phase.is_wait() && !matches!(phase, Phase::Transform | Phase::Run | Phase::Other)
}

fn statistics(json: &mut Json, file: &FileUse) {
    let calls = &file.calls;
    json.key("calls are").string(file.phase.name());
    json.key("is_output").boolean(file.is_output);
    json.key("bytes").integer(calls.bytes);
    json.key("calls").integer(calls.calls);
    json.key("mean_bytes").integer(calls.bytes.checked_div(calls.calls).unwrap_or(0));
    json.key("min_bytes").integer(calls.min_size);
    json.key("max_bytes").integer(calls.max_size);
    json.key("waiting_ns").integer(calls.waiting_ns);
    json.key("calls_by_size").object(|json| {
        for (bytes, count) in calls.histogram() {
            json.key(&bytes.to_string()).integer(count);
        }
    });
    json.key("callers").object(|json| {
        for (phase, count) in &file.callers {
            json.key(phase.name()).integer(*count);
        }
    });
}
