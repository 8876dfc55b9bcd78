//! Sums of spans, on one thread and on many.

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
    drop(part("read"));
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
    let seen = trace.recording();
    let totals = seen.totals();
    assert!(totals.total(Phase::Read) >= 8 * MS && totals.total(Phase::Parse) >= 2 * MS);
    // All time is accounted for exactly once; the rest is the thread's start and end.
    assert!(totals.sum() <= seen.elapsed_ns && totals.of_lane(Lane::Alone) == totals.sum());
    let spans = &seen.threads[0].spans;
    assert_eq!(
        spans.iter().map(|it| (it.phase, it.depth)).collect::<Vec<_>>(),
        [(Phase::Read, 2), (Phase::Parse, 1), (Phase::Other, 0)]
    );
    let own = |at: usize| spans[at].end_ns - spans[at].begin_ns;
    assert_eq!(totals.total(Phase::Parse), own(1) - own(0));
    assert_eq!(totals.sum(), own(2));
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
    let seen = trace.recording();
    assert_eq!((seen.threads.len(), seen.wanted_threads), (4, 3));
    assert!(seen.totals().get(Lane::Side, Phase::Parse) >= 15 * MS);
    assert!(seen.threads.iter().all(|thread| thread.spans.is_empty()));
}

#[test]
fn a_thread_of_the_job_that_joins_goes_on_as_itself() {
    let trace = Trace::new(Detail::Totals);
    within(Some(&trace), 2, || {
        joint().unwrap().join(|| drop(span(Phase::Format)));
        within(Some(&trace), 3, || drop(span(Phase::Write)));
        within(None, 9, || drop(span(Phase::Read)));
    });
    let seen = trace.recording();
    let totals = seen.totals();
    assert_eq!((seen.threads.len(), seen.wanted_threads), (1, 3));
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
    let seen = trace.recording();
    assert!(seen.totals().sum() <= seen.elapsed_ns && seen.totals().total(Phase::Read) > 0);
}

#[test]
fn a_step_begins_where_the_last_one_ended() {
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
    assert!(spans[1].begin_ns >= spans[0].end_ns + 2 * MS);
    assert!(spans[2].begin_ns == spans[1].end_ns && spans[2].end_ns >= spans[1].end_ns + 2 * MS);
}

#[test]
fn sections_and_jobs_that_follow_each_other_add_up() {
    let trace = Trace::new(Detail::Totals);
    for _ in 0..2 {
        within(Some(&trace), 1, || {
            let _part = part("read");
            sleep(3);
        });
        sleep(20);
    }
    let seen = trace.recording();
    assert_eq!(seen.sections.len(), 2);
    assert!(seen.sections[0].end_ns - seen.sections[0].begin_ns >= 3 * MS);
    assert!(seen.elapsed_ns >= 6 * MS && seen.elapsed_ns + 40 * MS <= trace.now_ns());
}

#[test]
fn samples_that_become_too_many_are_thinned_evenly() {
    let trace = Trace::new(Detail::Totals);
    let count = MOST_SAMPLES as u64 * 5;
    (0..count).for_each(|at_ns| trace.sample(Sample { at_ns, ..Sample::default() }));
    let samples = trace.recording().samples;
    assert!(samples.len() <= MOST_SAMPLES && samples.len() > MOST_SAMPLES / 2, "{}", samples.len());
    assert!(samples.iter().enumerate().all(|(i, sample)| sample.at_ns == i as u64 * 8));
}

#[test]
fn parts_do_not_overlap_and_are_not_too_many() {
    let trace = Trace::new(Detail::Totals);
    within(Some(&trace), 2, || {
        let outer = part("read");
        drop(part("read"));
        let joint = joint().unwrap();
        let late = std::thread::scope(|scope| {
            scope.spawn(|| joint.join(|| drop(part("read")))).join().unwrap();
            part("late")
        });
        drop(outer);
        drop(part("write"));
        drop(late);
    });
    let sections = trace.recording().sections;
    assert_eq!(sections.iter().map(|it| it.name).collect::<Vec<_>>(), ["read", "write"]);
    assert!(sections[0].end_ns <= sections[1].begin_ns);
    within(Some(&trace), 1, || (0..MOST_SECTIONS).for_each(|_| drop(part("read"))));
    assert_eq!(trace.recording().sections.len(), MOST_SECTIONS);
}

#[test]
fn the_spans_of_all_threads_are_limited_together() {
    let trace = Trace::new(Detail::Spans);
    // With the span that each thread is.
    let made = MOST_SPANS * 3 / 4 + 1;
    within(Some(&trace), 3, || {
        let joint = joint().unwrap();
        let gate = std::sync::Barrier::new(2);
        let job = || {
            (1..made).for_each(|_| drop(span(Phase::Parse)));
            gate.wait();
            assert!(trace.0.spans.load(std::sync::atomic::Ordering::Relaxed) <= MOST_SPANS);
        };
        std::thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(|| joint.join(job))));
    });
    let seen = trace.recording();
    let kept: usize = seen.threads.iter().map(|thread| thread.spans.len()).sum();
    assert!(kept <= MOST_SPANS && kept > MOST_SPANS / 2 && seen.dropped_spans > 0, "{kept}");
    // One more is the caller's.
    assert_eq!(kept as u64 + seen.dropped_spans, 2 * made as u64 + 1);
}

#[test]
fn samples_of_a_later_job_are_those_behind_the_earlier() {
    let trace = Trace::new(Detail::Totals);
    let sample = |at_ns| trace.sample(Sample { at_ns, ..Sample::default() });
    (0..MOST_SAMPLES as u64).for_each(sample);
    let earlier = trace.recording();
    let from = MOST_SAMPLES as u64;
    (from..from + 100).for_each(sample);
    let samples = trace.recording().since(&earlier).samples;
    assert_eq!(
        samples.iter().map(|it| it.at_ns).collect::<Vec<_>>(),
        (from..from + 100).step_by(2).collect::<Vec<_>>()
    );
}
