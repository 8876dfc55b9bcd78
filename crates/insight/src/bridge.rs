//! Replays a recording as events of the `tracing` crate (`tracing` feature).
//!
//! Events are emitted after the job; during the job only the recorder runs, so this adds no overhead. No other module
//! uses the `tracing` crate.

use polyhaul_trace::{FileUse, Recording, SpanRecord};
use tracing::{debug, trace};

/// Emits a recording to the current subscriber with the target `polyhaul`: at level DEBUG, a `section` event per
/// section and a `file` event per source and sink; at level TRACE, a `span` event per span.
///
/// `start_ns` is the time since the trace was created, `elapsed_ns` a duration, both in nanoseconds. A span has its
/// `thread` number, `phase` and `lane`; calls also have `file` and `bytes`, other spans a `chunk` number (see
/// [`SpanRecord::value`]).
pub fn to_tracing(recording: &Recording) {
    for section in &recording.sections {
        let elapsed_ns = section.end_ns.saturating_sub(section.start_ns);
        debug!(target: "polyhaul", name = section.name, start_ns = section.start_ns, elapsed_ns, "section");
    }
    recording.files.iter().for_each(file);
    for (thread, spans) in recording.threads.iter().map(|thread| &thread.spans).enumerate() {
        spans.iter().for_each(|record| span(thread, record, &recording.files));
    }
}

fn file(file: &FileUse) {
    let calls = &file.calls;
    debug!(
        target: "polyhaul",
        name = &*file.name,
        phase = file.phase.name(),
        is_output = file.is_output,
        bytes = calls.bytes,
        calls = calls.calls,
        waiting_ns = calls.waiting_ns,
        "file"
    );
}

fn span(thread: usize, span: &SpanRecord, files: &[FileUse]) {
    let elapsed_ns = span.end_ns.saturating_sub(span.start_ns);
    let phase = span.phase.name();
    let lane = span.lane.name();
    let file = span.file.and_then(|index| files.get(index as usize)).map(|file| &*file.name);
    let moves = span.file.is_some() || span.phase.is_io();
    let bytes = moves.then_some(span.value);
    let chunk = (!moves).then_some(span.value);
    trace!(target: "polyhaul", thread, phase, lane, start_ns = span.start_ns, elapsed_ns, file, bytes, chunk, "span");
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_bytes::Source;
    use polyhaul_trace::{Detail, Phase, Trace, span, within};
    use std::fmt::{Debug, Write};
    use std::sync::{Arc, Mutex};
    use tracing::field::{Field, Visit};
    use tracing::{Event, Metadata, Subscriber};

    /// Stores every event as a line.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<String>>>);

    struct Line(String);

    impl Visit for Line {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            let _ = write!(self.0, " {field}={value:?}");
        }
    }

    impl Subscriber for Lines {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }

        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

        fn event(&self, event: &Event<'_>) {
            let mut line = Line(format!("{} {}", event.metadata().target(), event.metadata().level()));
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }

        fn enter(&self, _: &tracing::span::Id) {}

        fn exit(&self, _: &tracing::span::Id) {}
    }

    #[test]
    fn every_section_file_and_span_is_an_event() {
        let trace = Trace::new(Detail::Spans);
        within(Some(&trace), 1, || {
            let _section = polyhaul_trace::section("read");
            let source = Source::named_memory(vec![1; 100], "a b");
            let _parse = span(Phase::Parse);
            source.read_at(0, &mut [0; 60]).unwrap();
        });
        let lines = Lines::default();
        tracing::subscriber::with_default(lines.clone(), || to_tracing(&trace.recording()));
        let lines = lines.0.lock().unwrap();
        let has = |parts: &[&str]| lines.iter().filter(|line| parts.iter().all(|part| line.contains(part))).count();
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert_eq!(has(&["polyhaul DEBUG", "message=section", "name=\"read\"", "elapsed_ns="]), 1);
        assert_eq!(has(&["polyhaul DEBUG", "message=file", "name=\"a b\"", "bytes=60", "calls=1"]), 1);
        assert_eq!(has(&["polyhaul TRACE", "phase=\"read\"", "file=\"a b\"", "bytes=60", "thread=0"]), 1);
        assert_eq!(has(&["polyhaul TRACE", "phase=\"parse\"", "lane=\"alone\"", "chunk=0"]), 1);
        assert_eq!(has(&["polyhaul TRACE", "phase=\"other\""]), 1);
    }
}
