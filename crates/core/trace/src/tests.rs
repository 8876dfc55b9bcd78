//! Checks the sums of spans, on one thread and on many.

use super::*;
use std::time::Duration;

fn sleep(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

const MS: u64 = 1_000_000;

#[test]
fn without_a_trace_nothing_is_recorded_and_nothing_breaks() {
    let outer = span(Phase::Parse);
    drop(span(Phase::Read));
    drop(outer);
    drop(section("read"));
    assert!(joint().is_none());
}

#[test]
fn the_time_of_a_span_is_its_own_alone() {
    let trace = Trace::new(Detail::Spans);
    within(Some(&trace), 1, || {
        let _parse = span(Phase::Parse);
        sleep(2);
        let _read = span(Phase::Read);
        sleep(8);
    });
    let recording = trace.recording();
    let totals = recording.totals();
    assert!(totals.total(Phase::Read) >= 8 * MS && totals.total(Phase::Parse) >= 2 * MS);
    // All time is accounted for exactly once; the rest is the thread's start and end.
    assert!(totals.sum() <= recording.elapsed_ns && totals.of_lane(Lane::Alone) == totals.sum());
    let spans = &recording.threads[0].spans;
    assert_eq!(
        spans.iter().map(|span| (span.phase, span.depth)).collect::<Vec<_>>(),
        [(Phase::Read, 2), (Phase::Parse, 1), (Phase::Other, 0)]
    );
    let elapsed_ns = |i: usize| spans[i].end_ns - spans[i].start_ns;
    assert_eq!(totals.total(Phase::Parse), elapsed_ns(1) - elapsed_ns(0));
    assert_eq!(totals.sum(), elapsed_ns(2));
}

#[test]
fn threads_that_join_are_theirs_and_keep_their_tracks() {
    let trace = Trace::new(Detail::Totals);
    within(Some(&trace), 3, || {
        for _ in 0..5 {
            let joint = joint().unwrap();
            let gate = std::sync::Barrier::new(3);
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        joint.join(|| {
                            gate.wait();
                            let _parse = span(Phase::Parse);
                            sleep(1);
                        })
                    });
                }
            });
        }
    });
    let recording = trace.recording();
    assert_eq!((recording.threads.len(), recording.wanted_threads), (4, 3));
    assert!(recording.totals().get(Lane::Side, Phase::Parse) >= 15 * MS);
    assert!(recording.threads.iter().all(|thread| thread.spans.is_empty()));
}

#[test]
fn a_thread_of_the_job_that_joins_goes_on_as_itself() {
    let trace = Trace::new(Detail::Totals);
    within(Some(&trace), 2, || {
        joint().unwrap().join(|| drop(span(Phase::Format)));
        within(Some(&trace), 3, || drop(span(Phase::Write)));
        within(None, 9, || drop(span(Phase::Read)));
    });
    let recording = trace.recording();
    let totals = recording.totals();
    assert_eq!((recording.threads.len(), recording.wanted_threads), (1, 3));
    assert!(totals.get(Lane::Side, Phase::Format) > 0 && totals.get(Lane::Alone, Phase::Write) > 0);
    assert_eq!(totals.total(Phase::Read), 0);
}

#[test]
fn a_loop_in_a_phase_is_part_of_it() {
    let trace = Trace::new(Detail::Totals);
    within(Some(&trace), 1, || {
        drop(otherwise(Phase::Transform));
        let _format = span(Phase::Format);
        let _loop = otherwise(Phase::Build);
        sleep(1);
    });
    let totals = trace.recording().totals();
    assert!(totals.total(Phase::Transform) > 0 && totals.total(Phase::Format) >= MS);
    assert_eq!(totals.total(Phase::Build), 0);
}

#[test]
fn a_panic_and_a_forgotten_span_leave_the_times_right() {
    let trace = Trace::new(Detail::Totals);
    let job = || {
        within(Some(&trace), 1, || {
            std::mem::forget(span(Phase::Parse));
            let _read = span(Phase::Read);
            panic!("a planted panic");
        })
    };
    assert!(std::panic::catch_unwind(job).is_err());
    assert!(joint().is_none());
    let recording = trace.recording();
    assert!(recording.totals().sum() <= recording.elapsed_ns && recording.totals().total(Phase::Read) > 0);
}

#[test]
fn a_step_starts_where_the_last_one_ended() {
    let trace = Trace::new(Detail::Spans);
    within(Some(&trace), 1, || {
        drop(span(Phase::Cut));
        pause();
        sleep(2);
        drop(step(None, Phase::Parse, 7));
        sleep(2);
        drop(step(None, Phase::Place, 8));
    });
    let spans = &trace.recording().threads[0].spans;
    assert!(spans[1].start_ns >= spans[0].end_ns + 2 * MS);
    assert!(spans[2].start_ns == spans[1].end_ns && spans[2].end_ns >= spans[1].end_ns + 2 * MS);
}

#[test]
fn sections_and_jobs_that_follow_each_other_add_up() {
    let trace = Trace::new(Detail::Totals);
    for _ in 0..2 {
        within(Some(&trace), 1, || {
            let _section = section("read");
            sleep(3);
        });
        sleep(20);
    }
    let recording = trace.recording();
    assert_eq!(recording.sections.len(), 2);
    assert!(recording.sections[0].end_ns - recording.sections[0].start_ns >= 3 * MS);
    assert!(recording.elapsed_ns >= 6 * MS && recording.elapsed_ns + 40 * MS <= trace.now_ns());
}

#[test]
fn samples_that_become_too_many_are_thinned_evenly() {
    let trace = Trace::new(Detail::Totals);
    let count = MAX_SAMPLES as u64 * 5;
    (0..count).for_each(|at_ns| trace.sample(Sample { at_ns, ..Sample::default() }));
    let samples = trace.recording().samples;
    assert!(samples.len() <= MAX_SAMPLES && samples.len() > MAX_SAMPLES / 2, "{}", samples.len());
    assert!(samples.iter().enumerate().all(|(i, sample)| sample.at_ns == i as u64 * 8));
}

#[test]
fn sections_do_not_overlap_and_are_limited() {
    let trace = Trace::new(Detail::Totals);
    within(Some(&trace), 2, || {
        let outer = section("read");
        drop(section("read"));
        let joint = joint().unwrap();
        let late = std::thread::scope(|scope| {
            scope.spawn(|| joint.join(|| drop(section("read")))).join().unwrap();
            section("late")
        });
        drop(outer);
        drop(section("write"));
        drop(late);
    });
    let sections = trace.recording().sections;
    assert_eq!(sections.iter().map(|section| section.name).collect::<Vec<_>>(), ["read", "write"]);
    assert!(sections[0].end_ns <= sections[1].start_ns);
    within(Some(&trace), 1, || (0..MAX_SECTIONS).for_each(|_| drop(section("read"))));
    assert_eq!(trace.recording().sections.len(), MAX_SECTIONS);
}

#[test]
fn the_spans_of_all_threads_are_limited_together() {
    let trace = Trace::new(Detail::Spans);
    // Including the span of the thread itself.
    let spans_per_thread = MAX_SPANS * 3 / 4 + 1;
    within(Some(&trace), 3, || {
        let joint = joint().unwrap();
        let gate = std::sync::Barrier::new(2);
        let job = || {
            (1..spans_per_thread).for_each(|_| drop(span(Phase::Parse)));
            gate.wait();
            assert!(trace.0.spans.load(std::sync::atomic::Ordering::Relaxed) <= MAX_SPANS);
        };
        std::thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(|| joint.join(job))));
    });
    let recording = trace.recording();
    let span_count: usize = recording.threads.iter().map(|thread| thread.spans.len()).sum();
    assert!(span_count <= MAX_SPANS && span_count > MAX_SPANS / 2 && recording.dropped_spans > 0, "{span_count}");
    // The caller's thread has one more.
    assert_eq!(span_count as u64 + recording.dropped_spans, 2 * spans_per_thread as u64 + 1);
}

#[test]
fn samples_of_a_later_job_follow_those_of_the_earlier() {
    let trace = Trace::new(Detail::Totals);
    let sample = |at_ns| trace.sample(Sample { at_ns, ..Sample::default() });
    (0..MAX_SAMPLES as u64).for_each(sample);
    let earlier = trace.recording();
    let start = MAX_SAMPLES as u64;
    (start..start + 100).for_each(sample);
    let samples = trace.recording().since(&earlier).samples;
    assert_eq!(
        samples.iter().map(|sample| sample.at_ns).collect::<Vec<_>>(),
        (start..start + 100).step_by(2).collect::<Vec<_>>()
    );
}
