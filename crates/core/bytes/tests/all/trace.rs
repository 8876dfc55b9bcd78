//! What a trace shows of the calls on sources and sinks.

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
    let seen = trace.recording();
    let named: Vec<_> = seen.files.iter().map(|it| (&*it.name, it.phase, it.is_output, it.calls.bytes)).collect();
    assert_eq!(named, [("a", Phase::Read, false, 100), ("memory", Phase::Write, true, 60)]);
    assert_eq!(seen.files[0].callers, [(Phase::Parse, 2)]);
    let moved: Vec<_> = seen.threads[0].spans.iter().map(|it| (it.file, it.value)).collect();
    assert_eq!(moved, [(None, 10), (Some(0), 60), (Some(0), 40), (Some(1), 60), (None, 0), (None, 0)]);
}

#[test]
fn the_calls_on_a_file_are_the_same_when_it_is_closed() {
    let trace = Trace::new(Detail::Spans);
    let (mut seen, mut kept) = (Vec::new(), None);
    within(Some(&trace), 1, || {
        for size in [100, 3000] {
            let source = Source::named_memory(vec![1; size], format!("of {size}"));
            let _parse = span(Phase::Parse);
            source.read_at(0, &mut vec![0; size]).unwrap();
            source.read_at(0, &mut [0; 7]).unwrap();
            seen.push(trace.recording().files.pop().unwrap());
            kept = Some(source.counters().clone());
        }
    });
    let files = trace.recording().files;
    // Of the last one a handle on the counters is left.
    drop(kept);
    for (before, after) in seen.iter().zip(&files).chain(files.iter().zip(&trace.recording().files)) {
        assert_eq!((&before.name, &before.calls, &before.callers), (&after.name, &after.calls, &after.callers));
    }
    assert_eq!((files.len(), files[1].calls.bytes, &*files[1].callers), (2, 3007, &[(Phase::Parse, 2)][..]));
    assert_eq!(files[0].calls.histogram().collect::<Vec<_>>(), [(4, 1), (64, 1)]);
}

#[test]
fn decompressing_is_no_reading() {
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
    let seen = trace.recording();
    let phases: Vec<_> = seen.files.iter().map(|it| (it.phase, it.calls.bytes)).collect();
    assert!(phases.contains(&(Phase::Decompress, plain.len() as u64)), "{phases:?}");
    let totals = seen.totals();
    assert!(totals.total(Phase::Decompress) > totals.total(Phase::Read), "{totals:?}");
}

#[test]
fn what_came_since_is_the_difference() {
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
    let seen = trace.recording();
    assert_eq!((seen.host_alone.calls, seen.host_beside.calls), (2, 1));
    assert!(seen.host_beside.elapsed_ns >= 2 * MS && seen.host_beside.idle_ns > MS);
    assert!(seen.host_alone.elapsed_ns >= seen.host_beside.elapsed_ns);
}

#[test]
fn a_callback_is_the_host_s_time_and_no_call() {
    let trace = Trace::new(Detail::Totals);
    within(Some(&trace), 1, || {
        let _told = callback();
        sleep(1);
    });
    let seen = trace.recording();
    assert!(seen.totals().total(Phase::Host) >= MS);
    assert_eq!((seen.host_alone.calls, seen.host_beside.calls), (0, 0));
}

#[test]
fn waiting_for_a_lock_of_a_host_s_is_no_work() {
    /// A host that can seek, and sleeps.
    struct Slow(u64);
    impl polyhaul_bytes::HostRead for Slow {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            // Long enough that the other thread comes meanwhile, however busy the machine is.
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
