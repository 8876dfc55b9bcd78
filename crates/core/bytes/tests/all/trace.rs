//! Calls on sources and sinks in a trace.

use polyhaul_bytes::{Sink, Source};
use polyhaul_trace::*;
use std::time::Duration;

fn sleep(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

const MS: u64 = 1_000_000;

#[test]
fn the_calls_on_files_are_those_of_the_trace_that_saw_them_open() {
    let other = Source::memory(vec![1; 10]);
    let trace = Trace::new(Detail::Spans);
    within(Some(&trace), 1, || {
        let source = Source::named_memory(vec![1; 100], "a");
        let mut out = [0; 60];
        other.read_at(0, &mut out).unwrap();
        let _parse = span(Phase::Parse);
        source.read_at(0, &mut out).unwrap();
        source.read_at(60, &mut out).unwrap();
        let mut sink = Sink::memory();
        sink.write_all(&out).unwrap();
        sink.finish().unwrap();
    });
    let recording = trace.recording();
    let files = recording.files.iter().map(|file| (&*file.name, file.phase, file.is_output, file.calls.bytes));
    let files: Vec<_> = files.collect();
    assert_eq!(files, [("a", Phase::Read, false, 100), ("memory", Phase::Write, true, 60)]);
    assert_eq!(recording.files[0].callers, [(Phase::Parse, 2)]);
    let moved: Vec<_> = recording.threads[0].spans.iter().map(|span| (span.file, span.value)).collect();
    assert_eq!(moved, [(None, 10), (Some(0), 60), (Some(0), 40), (Some(1), 60), (None, 0), (None, 0)]);
}

#[test]
fn the_calls_on_a_file_are_the_same_when_it_is_closed() {
    let trace = Trace::new(Detail::Spans);
    let mut open_files = Vec::new();
    let mut last_counters = None;
    within(Some(&trace), 1, || {
        for size in [100, 3000] {
            let source = Source::named_memory(vec![1; size], format!("of {size}"));
            let _parse = span(Phase::Parse);
            source.read_at(0, &mut vec![0; size]).unwrap();
            source.read_at(0, &mut [0; 7]).unwrap();
            open_files.push(trace.recording().files.pop().unwrap());
            last_counters = Some(source.counters().clone());
        }
    });
    let files = trace.recording().files;
    // The last file's counters have one more handle.
    drop(last_counters);
    for (before, after) in open_files.iter().zip(&files).chain(files.iter().zip(&trace.recording().files)) {
        assert_eq!((&before.name, &before.calls, &before.callers), (&after.name, &after.calls, &after.callers));
    }
    assert_eq!((files.len(), files[1].calls.bytes, &*files[1].callers), (2, 3007, &[(Phase::Parse, 2)][..]));
    assert_eq!(files[0].calls.histogram().collect::<Vec<_>>(), [(4, 1), (64, 1)]);
}

#[test]
fn decompressing_is_not_reading() {
    let plain = b"v 1.25 2.5 3.75\n".repeat(60_000);
    let mut packed = Vec::new();
    polyhaul_bytes::Encoder::new(polyhaul_bytes::Codec::Gzip, None).unwrap().encode(&plain, &mut packed).unwrap();
    let trace = Trace::new(Detail::Totals);
    within(Some(&trace), 1, || {
        let source = Source::named_memory(packed.clone(), "a.gz");
        let source = polyhaul_bytes::decompressed(source, &polyhaul_bytes::DecompressLimits::default()).unwrap();
        let mut out = vec![0; plain.len()];
        assert_eq!(source.read_next(&mut out).unwrap(), plain.len());
    });
    let recording = trace.recording();
    let phases: Vec<_> = recording.files.iter().map(|file| (file.phase, file.calls.bytes)).collect();
    assert!(phases.contains(&(Phase::Decompress, plain.len() as u64)), "{phases:?}");
    let totals = recording.totals();
    assert!(totals.total(Phase::Decompress) > totals.total(Phase::Read), "{totals:?}");
}

#[test]
fn a_later_recording_has_the_difference() {
    let trace = Trace::new(Detail::Totals);
    let job = |name: &str, ms| {
        within(Some(&trace), 2, || {
            let _section = section("read");
            let source = Source::named_memory(vec![1; 100], name);
            source.read_at(0, &mut [0; 60]).unwrap();
            let _host = span(Phase::Host);
            sleep(ms);
        })
    };
    job("a", 1);
    let first = trace.recording();
    job("b", 20);
    let second = trace.recording().since(&first);
    assert_eq!((second.sections.len(), second.files.len(), &*second.files[0].name), (1, 1, "b"));
    assert!(second.files[0].is_memory && second.elapsed_ns >= 20 * MS);
    assert_eq!(second.totals().sum() + first.totals().sum(), trace.recording().totals().sum());
    assert_eq!((first.host_alone.calls, second.host_alone.calls, second.host_beside.calls), (1, 1, 0));
    assert_eq!(second.used.is_some(), cfg!(unix));
    assert_eq!(trace.recording().since(&trace.recording()).totals().sum(), 0);
}

#[test]
fn calls_of_a_host_are_alone_or_beside_others() {
    let trace = Trace::new(Detail::Totals);
    within(Some(&trace), 2, || {
        let joint = joint().unwrap();
        let inside = span(Phase::Host);
        let other = || {
            let _host = span(Phase::Host);
            sleep(2);
        };
        std::thread::scope(|scope| _ = scope.spawn(|| joint.join(other)));
        drop(inside);
        drop(span(Phase::Host));
    });
    let recording = trace.recording();
    assert_eq!((recording.host_alone.calls, recording.host_beside.calls), (2, 1));
    assert!(recording.host_beside.elapsed_ns >= 2 * MS);
    // Idle time needs the CPU time of threads.
    assert_eq!(recording.host_beside.idle_ns > MS, cfg!(unix));
    assert!(recording.host_alone.elapsed_ns >= recording.host_beside.elapsed_ns);
}

#[test]
fn a_callback_counts_as_host_time_but_not_as_a_call() {
    let trace = Trace::new(Detail::Totals);
    within(Some(&trace), 1, || {
        let _callback = callback();
        sleep(1);
    });
    let recording = trace.recording();
    assert!(recording.totals().total(Phase::Host) >= MS);
    assert_eq!((recording.host_alone.calls, recording.host_beside.calls), (0, 0));
}

#[test]
fn waiting_for_the_lock_of_a_host_is_not_work() {
    /// A host that can seek, and sleeps.
    struct Slow(u64);
    impl polyhaul_bytes::HostRead for Slow {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            // Long enough for the other thread to get here even on a busy machine.
            sleep(100);
            let count = out.len().min((SIZE - self.0) as usize);
            self.0 += count as u64;
            Ok(count)
        }

        fn seek(&mut self, offset: u64) -> std::io::Result<bool> {
            self.0 = offset;
            Ok(true)
        }

        fn size(&mut self) -> Option<u64> {
            Some(SIZE)
        }
    }
    const SIZE: u64 = 4 << 20;
    let trace = Trace::new(Detail::Totals);
    within(Some(&trace), 2, || {
        let source = Source::host(Box::new(Slow(0)), "slow").positioned().unwrap().unwrap();
        let joint = joint().unwrap();
        let gate = std::sync::Barrier::new(2);
        let read = || {
            let _parse = span(Phase::Parse);
            gate.wait();
            source.read_at(0, &mut vec![0; 1 << 20]).unwrap();
        };
        std::thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(|| joint.join(read))));
    });
    let totals = trace.recording().totals();
    assert!(totals.total(Phase::Lock) >= MS && totals.total(Phase::Host) >= 10 * MS, "{totals:?}");
}
