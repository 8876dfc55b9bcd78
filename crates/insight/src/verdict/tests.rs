//! Tests the rules individually, on constructed recordings.

use super::*;
use crate::ceilings::Kernel;
use polyhaul_bytes::{Codec, Source};
use polyhaul_trace::{self as trace, Detail, FileUse, Lane, Phase, Section, Thread, Trace, Usage};

const MS: u64 = 1_000_000;

/// A recording of `ms` milliseconds on `threads` threads.
fn job(threads: usize, ms: u64) -> Recording {
    let mut seen = Recording::default();
    seen.elapsed_ns = ms * MS;
    seen.wanted_threads = threads;
    seen.threads.push(Thread::default());
    seen
}

fn add(seen: &mut Recording, lane: Lane, phase: Phase, ms: u64) {
    seen.threads[0].totals.add(lane, phase, ms * MS);
}

fn with(threads: usize, ms: u64, times: &[(Lane, Phase, u64)]) -> Recording {
    let mut seen = job(threads, ms);
    times.iter().for_each(|&(lane, phase, ms)| add(&mut seen, lane, phase, ms));
    seen
}

/// Templates of a file and a section.
fn samples() -> (FileUse, Section) {
    let trace = Trace::new(Detail::Totals);
    trace::within(Some(&trace), 1, || {
        drop(trace::section("read"));
        Source::memory(vec![0; 10]).read_at(0, &mut [0; 10]).unwrap();
    });
    let seen = trace.recording();
    (seen.files[0].clone(), seen.sections[0])
}

fn file(phase: Phase, is_file: bool, bytes: u64, calls: u64, waiting_ms: u64) -> FileUse {
    let (mut file, _) = samples();
    file.phase = phase;
    file.is_file = is_file;
    file.is_memory = false;
    file.calls.bytes = bytes;
    file.calls.calls = calls;
    file.calls.waiting_ns = waiting_ms * MS;
    file
}

/// A section of `ms` milliseconds.
fn part(name: &'static str, ms: u64) -> Section {
    let (_, mut section) = samples();
    section.name = name;
    section.start_ns = 0;
    section.end_ns = ms * MS;
    section
}

fn used(cpu_ms: u64, disk_read_bytes: Option<u64>) -> Option<Usage> {
    let mut used = Usage::default();
    used.cpu_ns = cpu_ms * MS;
    used.disk_read_bytes = disk_read_bytes;
    Some(used)
}

/// Facts for a machine with four cores.
fn moved(reads: Vec<Moved>, writes: Vec<Moved>) -> Facts {
    Facts { reads, writes, cores: 4, container: Container::default(), read_pace: None, write_pace: None }
}

fn facts(read: Option<Moved>, write: Option<Moved>) -> Facts {
    moved(read.into_iter().collect(), write.into_iter().collect())
}

fn judge(seen: &Recording) -> Verdict {
    Verdict::from_recording(seen, &facts(None, None), None)
}

/// The leading cause, and its share in percent.
fn found(seen: &Recording) -> (Bound, u32) {
    let verdict = judge(seen);
    let sum: f64 = verdict.causes.iter().map(|(_, share)| share).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{verdict:?}");
    (verdict.bound, (verdict.share * 100.0).round() as u32)
}

#[test]
fn work_side_by_side_is_what_it_is() {
    use Lane::{Alone, Side};
    let side = |phase| found(&with(2, 100, &[(Side, phase, 160), (Side, Phase::Read, 20)]));
    for (phase, bound) in [
        (Phase::Parse, Bound::Parse),
        (Phase::Cut, Bound::Parse),
        (Phase::Build, Bound::Build),
        (Phase::Format, Bound::Format),
        (Phase::Decompress, Bound::Decompress),
        (Phase::Compress, Bound::Compress),
        (Phase::Decode, Bound::Decode),
        (Phase::Encode, Bound::Encode),
        (Phase::Transform, Bound::Transform),
        (Phase::Draw, Bound::Draw),
        (Phase::Write, Bound::Write),
        (Phase::Sync, Bound::Write),
        (Phase::Host, Bound::Host),
        (Phase::Lock, Bound::Locks),
    ] {
        assert_eq!(side(phase), (bound, 80), "{phase:?}");
    }
    // A single thread waits for no other, and blocks none.
    assert_eq!(found(&with(1, 100, &[(Alone, Phase::Parse, 90)])), (Bound::Parse, 90));
    assert_eq!(found(&with(1, 100, &[(Alone, Phase::Other, 90)])).0, Bound::Unknown);
}

#[test]
fn who_waits_for_calls_or_codecs_waits_for_what_they_are() {
    use Lane::{Input, Side, Turn};
    let input = |phase| with(4, 100, &[(Input, phase, 95), (Side, Phase::Parse, 60), (Side, Phase::WaitInput, 240)]);
    assert_eq!(found(&input(Phase::Read)), (Bound::Read, 85));
    assert_eq!(found(&input(Phase::Decompress)), (Bound::Decompress, 85));
    assert_eq!(found(&input(Phase::Cut)), (Bound::Serial, 82));
    let turn = [(Turn, Phase::Write, 90), (Side, Phase::Format, 60), (Side, Phase::WaitTurn, 250)];
    assert_eq!(found(&with(4, 100, &turn)), (Bound::Write, 85));
    let turn = [(Turn, Phase::Place, 90), (Side, Phase::Parse, 60), (Side, Phase::WaitTurn, 250)];
    assert_eq!(found(&with(4, 100, &turn)).0, Bound::Serial);
    // Two phases of one lane share the waiting threads in proportion.
    let both = [(Input, Phase::Read, 75), (Input, Phase::Decompress, 25), (Side, Phase::WaitInput, 200)];
    let causes = judge(&with(3, 100, &both)).causes;
    assert_eq!(causes, [(Bound::Read, 0.75), (Bound::Decompress, 0.25)]);
}

#[test]
fn more_waiting_than_one_can_cause_is_unknown() {
    let turn = [(Lane::Turn, Phase::Place, 1), (Lane::Side, Phase::Parse, 60), (Lane::Side, Phase::WaitTurn, 130)];
    let causes = judge(&with(2, 100, &turn)).causes;
    assert!(causes[0].0 == Bound::Unknown && causes[0].1 > 0.6, "{causes:?}");
    assert_eq!(found(&with(2, 100, &turn)).0, Bound::Parse);
}

#[test]
fn work_of_one_thread_before_others_can_start_is_serial() {
    assert_eq!(found(&with(4, 100, &[(Lane::Alone, Phase::Decode, 95)])), (Bound::Serial, 95));
    assert_eq!(found(&with(4, 100, &[(Lane::Alone, Phase::Other, 95)])).0, Bound::Serial);
    assert_eq!(found(&with(4, 100, &[(Lane::Alone, Phase::Read, 95)])), (Bound::Read, 95));
    assert_eq!(found(&with(4, 100, &[(Lane::Alone, Phase::Decompress, 95)])), (Bound::Decompress, 95));
}

#[test]
fn threads_that_the_memory_limit_forbids_are_its_own() {
    let mut seen = with(8, 100, &[(Lane::Alone, Phase::Parse, 98)]);
    seen.starved_ns = 7 * 98 * MS;
    assert_eq!(found(&seen), (Bound::Memory, 86));
    let advice = &judge(&seen).advice[0];
    assert!(advice.contains("allowed 1.1 of 8 threads; a higher one would make it up to 3.5× faster"), "{advice}");
    // No more threads can be missing than were idle.
    seen.starved_ns = u64::MAX / 2;
    assert_eq!(found(&seen).0, Bound::Memory);
}

#[test]
fn threads_without_a_core_are_not_missed() {
    // The limit allows five of nine threads, and four cores are busy.
    let mut seen = with(9, 100, &[(Lane::Side, Phase::Parse, 490)]);
    seen.starved_ns = 4 * 98 * MS;
    seen.used = used(400, None);
    assert_eq!(found(&seen), (Bound::Parse, 96));
    // The limit allows two of nine threads: two cores are idle, enough for two more threads.
    let mut seen = with(9, 100, &[(Lane::Side, Phase::Parse, 195)]);
    seen.starved_ns = 7 * 100 * MS;
    seen.used = used(195, None);
    assert_eq!(found(&seen), (Bound::Memory, 51));
}

#[test]
fn reading_is_of_the_disk_where_bytes_came_from_it() {
    let mut seen = with(1, 100, &[(Lane::Alone, Phase::Read, 90)]);
    seen.files = vec![file(Phase::Read, true, 50_000_000, 50, 90)];
    for (disk, bound) in [(Some(0), Bound::CachedRead), (Some(45_000_000), Bound::Read), (None, Bound::Read)] {
        seen.used = used(90, disk);
        assert_eq!(found(&seen).0, bound, "{disk:?}");
    }
    // Reads from pipes wait, reads from memory do not.
    seen.used = used(90, Some(0));
    seen.files[0].is_file = false;
    assert_eq!(found(&seen).0, Bound::Read);
    seen.files[0].is_memory = true;
    assert_eq!(found(&seen).0, Bound::CachedRead);
}

#[test]
fn being_throttled_is_reading_or_writing() {
    let mut seen = with(2, 100, &[(Lane::Side, Phase::Throttle, 180), (Lane::Turn, Phase::Write, 5)]);
    let mut written = file(Phase::Write, true, 1_000_000, 10, 185);
    written.is_output = true;
    written.calls.throttled_ns = 180 * MS;
    // Other files take time, too, but are not throttled.
    seen.files = vec![file(Phase::Read, true, 5_000_000, 10, 1000), written];
    assert_eq!(found(&seen), (Bound::Write, 95));
    let mut facts = facts(None, Some(Moved::new("obj", 5_000_000)));
    seen.sections = vec![part("write", 100)];
    let held = "writing was throttled to 50 MB/s on request; a higher rate would make it up to 22.2× faster";
    assert_eq!(beside_machine(&seen, &facts).advice, [held]);
    seen.files.truncate(1);
    seen.files[0].calls.throttled_ns = 180 * MS;
    assert_eq!(found(&seen), (Bound::Read, 90));
    std::mem::swap(&mut facts.reads, &mut facts.writes);
    seen.sections = vec![part("read", 100)];
    let verdict = Verdict::from_recording(&seen, &facts, None);
    assert_eq!(verdict.advice[0], "reading was throttled to 50 MB/s on request");
}

#[test]
fn a_host_that_brings_little_at_a_time_is_told_from_a_slow_one() {
    let mut seen = with(2, 100, &[(Lane::Input, Phase::Host, 95), (Lane::Side, Phase::WaitInput, 95)]);
    seen.files = vec![file(Phase::Host, false, 1_000_000, 10_000, 95)];
    assert_eq!(found(&seen), (Bound::SmallReads, 95));
    let advice = &judge(&seen).advice[0];
    assert!(advice.starts_with("each of 10,000 calls returned 100 bytes"), "{advice}");
    for calls in [1, 16, 30] {
        seen.files = vec![file(Phase::Host, false, 1_000_000, calls, 95)];
        assert_eq!(found(&seen), (Bound::Host, 95), "{calls}");
    }
    // Time outside of calls on files belongs to a resolver.
    seen.files = vec![file(Phase::Host, false, 1_000_000, 10_000, 10)];
    assert_eq!(found(&seen).0, Bound::Host);
}

#[test]
fn calls_of_a_host_that_take_longer_beside_others_wait_for_a_lock() {
    let mut seen = with(4, 100, &[(Lane::Side, Phase::Host, 390)]);
    seen.host_alone.calls = 2;
    seen.host_alone.elapsed_ns = 2 * MS;
    seen.host_alone.idle_ns = 2 * MS;
    seen.host_beside.calls = 97;
    seen.host_beside.elapsed_ns = 388 * MS;
    seen.host_beside.idle_ns = 388 * MS;
    assert_eq!(found(&seen).0, Bound::Locks);
    assert!(judge(&seen).advice[0].contains("take 4.0× as long"), "{:?}", judge(&seen).advice);
    // As slow as alone: the calls do not depend on each other.
    seen.host_alone.idle_ns = 8 * MS;
    assert_eq!(found(&seen), (Bound::Host, 98));
    // Four threads on two cores wait for cores.
    seen.host_alone.idle_ns = 2 * MS;
    assert_eq!(found(&seen).0, Bound::Locks);
    let verdict = Verdict::from_recording(&seen, &Facts { cores: 2, ..facts(None, None) }, None);
    assert_eq!(verdict.bound, Bound::Host);
    // On a core all the time: the calls compute.
    seen.host_alone.idle_ns = 0;
    seen.host_beside.idle_ns = 0;
    assert_eq!(found(&seen).0, Bound::Host);
}

#[test]
fn work_without_a_core_is_that_of_other_programs() {
    let mut seen = with(2, 100, &[(Lane::Side, Phase::Parse, 190)]);
    seen.used = used(60, None);
    assert_eq!(found(&seen), (Bound::Parse, 30));
    let verdict = judge(&seen);
    assert_eq!(verdict.cause(), "limited by parsing (30% of the cores' time; other programs took 65%)");
    assert!(
        verdict.causes.contains(&(Bound::OtherPrograms, 0.65))
            && verdict.advice.iter().all(|said| !said.contains("idle"))
    );
    seen.used = used(180, None);
    assert_eq!(found(&seen), (Bound::Parse, 95));
    // A container that used its whole quota was exhausted; one that did not get its quota was not the cause.
    let in_container = |cpu_ms, cores| {
        let mut container = Container::default();
        container.cores = Some(cores);
        let mut seen = seen.clone();
        seen.used = used(cpu_ms, None);
        Verdict::from_recording(&seen, &Facts { container, cores: 2, ..facts(None, None) }, None)
    };
    let verdict = in_container(60, 0.6);
    assert_eq!((verdict.bound, verdict.bound.name()), (Bound::Container, "container"));
    assert_eq!(verdict.cause(), "limited by the container's CPU limit of 0.6 cores (65% of the cores' time)");
    assert!(verdict.advice[0].starts_with("with more CPU time than its 0.6 cores it would be up to 2."), "{verdict:?}");
    assert_eq!(in_container(60, 1.5).bound, Bound::Parse);
    // Its cores are all busy.
    let verdict = in_container(190, 2.0);
    assert_eq!(verdict.bound, Bound::Parse);
    assert_eq!(verdict.advice[0], "more threads would not help: all 2 cores of the container are busy");
    // Sixteen threads on four cores compete with each other.
    let mut seen = with(16, 100, &[(Lane::Side, Phase::Parse, 1590)]);
    seen.used = used(390, None);
    assert_eq!(found(&seen).0, Bound::Parse);
    // Waiting uses no core.
    let mut seen = with(1, 100, &[(Lane::Alone, Phase::Host, 95)]);
    seen.used = used(1, None);
    assert_eq!(found(&seen).0, Bound::Host);
}

#[test]
fn without_a_clear_lead_it_is_not_told() {
    let times = |parse, read| with(1, 100, &[(Lane::Alone, Phase::Parse, parse), (Lane::Alone, Phase::Read, read)]);
    assert_eq!(found(&times(41, 39)).0, Bound::Parse);
    assert_eq!(found(&times(39, 20)).0, Bound::Parse);
    assert_eq!(found(&times(39, 35)).0, Bound::Unknown);
    assert_eq!(found(&times(24, 3)).0, Bound::Unknown);
    let verdict = judge(&times(39, 35));
    assert_eq!(verdict.to_string(), "no single cause: parsing 39%, reading 35%, unattributed 26%");
    assert_eq!(verdict.share, 0.0);
    assert_eq!(judge(&Recording::default()).causes, [(Bound::Unknown, 1.0)]);
    let mut short = with(1, 1, &[(Lane::Alone, Phase::Parse, 1)]);
    short.elapsed_ns = MS / 2;
    assert_eq!(judge(&short).bound, Bound::Unknown);
    assert_eq!(judge(&short).to_string(), "too short to judge (0.50 ms)");
}

/// A machine with four cores that do the work of three.
fn machine() -> Ceilings {
    let rates = [
        ("parse obj", 400e6),
        ("parse ply", 2000e6),
        ("format obj", 1000e6),
        ("decode png", 200e6),
        ("decompress gzip", 500e6),
        ("compress gzip", 250e6),
        ("decompress zstd", 1500e6),
        ("decompress lz4", 2500e6),
    ];
    Ceilings {
        cores: 4,
        cores_side_by_side: 3.0,
        cold_read: Some(100e6),
        cached_read: 8e9,
        write: 2e9,
        write_sync: 200e6,
        kernels: rates.map(|(name, rate)| Kernel { name: name.into(), rate }).into(),
        ..Ceilings::default()
    }
}

fn beside_machine(seen: &Recording, facts: &Facts) -> Verdict {
    Verdict::from_recording(seen, facts, Some(&machine()))
}

#[track_caller]
fn is_near(actual: Option<f64>, expected: f64) {
    let actual = actual.unwrap();
    assert!((actual / expected - 1.0).abs() < 1e-6, "{actual} and not {expected}");
}

#[test]
fn the_best_is_the_slowest_resource_of_each_part() {
    let mut seen = with(4, 5000, &[(Lane::Side, Phase::Parse, 7000)]);
    let obj = || Moved::new("obj", 400_000_000);
    let best = |seen: &Recording, read, write| beside_machine(seen, &facts(read, write)).best_possible_seconds;
    // Parsing takes 1 s of a core, copying 0.05 s.
    is_near(best(&seen, Some(obj()), None), 1.05 / 3.0);
    // Formatting takes 0.4 s of a core, writing to the page cache 0.2 s.
    is_near(best(&seen, None, Some(obj())), 0.6 / 3.0);
    is_near(best(&seen, Some(obj()), Some(obj())), 1.65 / 3.0);
    is_near(best(&seen, None, Some(Moved { durable: true, ..obj() })), 2.0);
    let packed = || Moved::new("obj", 100_000_000).compressed(Codec::Gzip, 400_000_000);
    is_near(best(&seen, Some(packed()), None), (1.0 + 0.8 + 0.0125) / 3.0);
    // A stream uses one core, whether or not others were available.
    let stream = || Moved::new("obj", 100_000_000).streamed(Codec::Gzip, 400_000_000);
    is_near(best(&seen, Some(stream()), None), 0.8);
    add(&mut seen, Lane::Input, Phase::Decompress, 900);
    is_near(best(&seen, Some(stream()), None), 0.8);
    is_near(best(&seen, Some(packed()), None), (1.0 + 0.8 + 0.0125) / 3.0);
    is_near(best(&seen, Some(Moved::new("png", 20_000_000)), None), 0.1);
    seen.files = vec![file(Phase::Read, true, 400_000_000, 400, 1)];
    is_near(best(&seen, Some(obj()), None), 4.0);
    // Half of it was cached.
    seen.used = used(100, Some(200_000_000));
    is_near(best(&seen, Some(obj()), None), 2.0);
    // Without a rate, and for small jobs, the best time is unknown.
    assert_eq!(best(&seen, Some(Moved::new("psd", 400_000_000)), None), None);
    assert_eq!(best(&seen, None, Some(Moved::new("obj", 1000))), None);
    let mut alone = seen.clone();
    add(&mut alone, Lane::Alone, Phase::Transform, 1000);
    assert_eq!(best(&alone, Some(obj()), None), None);
    add(&mut seen, Lane::Side, Phase::Transform, 1000);
    is_near(best(&seen, Some(obj()), None), 2.0);
    add(&mut seen, Lane::Side, Phase::Transform, 4000);
    assert_eq!(best(&seen, Some(obj()), None), None);
}

#[test]
fn what_was_done_is_possible() {
    let seen = with(4, 300, &[(Lane::Side, Phase::Parse, 1000)]);
    let verdict = beside_machine(&seen, &facts(Some(Moved::new("obj", 400_000_000)), None));
    assert_eq!((verdict.best_possible_seconds, verdict.times_off), (Some(0.3), Some(1.0)));
}

#[test]
fn cores_that_rest_are_not_said_to_be_at_work() {
    for (ms, said) in [(390, 1), (310, 0)] {
        let seen = with(4, 100, &[(Lane::Side, Phase::Parse, ms)]);
        let advice = beside_machine(&seen, &facts(None, None)).advice;
        assert_eq!(advice.iter().filter(|sentence| sentence.contains("busy")).count(), said, "{advice:?}");
    }
}

#[test]
fn the_line_has_rate_cause_and_distance() {
    let seen = with(4, 420, &[(Lane::Side, Phase::Parse, 1500)]);
    let verdict = beside_machine(&seen, &facts(Some(Moved::new("obj", 400_000_000)), None));
    let line = "952 MB/s, limited by parsing (89% of the cores' time); 1.2× slower than this machine's best (350 ms)";
    assert_eq!(verdict.to_string(), line);
    assert_eq!(verdict.advice, ["more threads would not help: all 4 cores are busy"]);
}

#[test]
fn advice_is_computed_by_the_same_model() {
    // 400 MB from a disk in four seconds, with 350 ms of work.
    let mut seen = with(4, 4000, &[(Lane::Input, Phase::Read, 3900), (Lane::Side, Phase::WaitInput, 11_000)]);
    seen.sections = vec![part("read", 4000)];
    seen.files = vec![file(Phase::Read, true, 400_000_000, 400, 3900)];
    let obj = facts(Some(Moved::new("obj", 400_000_000)), None);
    let verdict = beside_machine(&seen, &obj);
    assert_eq!(verdict.bound, Bound::Read);
    assert_eq!(
        verdict.advice,
        [
            "zstd would make this disk-bound load 3.3× faster if its text compresses to 30%",
            "a faster disk would make it up to 11.4× faster",
        ]
    );
    let png = facts(Some(Moved::new("png", 400_000_000)), None);
    assert!(!beside_machine(&seen, &png).advice.iter().any(|sentence| sentence.contains("zstd")));

    // One gzip stream.
    let mut seen = with(4, 1000, &[(Lane::Input, Phase::Decompress, 980), (Lane::Side, Phase::WaitInput, 2500)]);
    seen.sections = vec![part("read", 1000)];
    let packed = facts(Some(Moved::new("obj", 100_000_000).streamed(Codec::Gzip, 400_000_000)), None);
    let verdict = beside_machine(&seen, &packed);
    assert_eq!(verdict.bound, Bound::Decompress);
    assert!(verdict.advice[0].contains("gzip in independent members"), "{:?}", verdict.advice);
    assert!(verdict.advice[1].starts_with("without gzip it would be up to 2.9× faster, at 4.0× the size"));

    // One thread on four cores.
    let mut seen = with(1, 1000, &[(Lane::Alone, Phase::Parse, 950)]);
    seen.sections = vec![part("read", 1000)];
    let verdict = beside_machine(&seen, &obj);
    assert_eq!(verdict.advice[0], "4 threads instead of 1 would make it up to 2.7× faster");

    // Writing at the system's rate.
    let seen = with(4, 250, &[(Lane::Turn, Phase::Write, 220), (Lane::Side, Phase::WaitTurn, 600)]);
    let verdict = beside_machine(&seen, &facts(None, Some(Moved::new("obj", 400_000_000))));
    assert_eq!(verdict.bound, Bound::Write);
    let line = "more threads would not help: writing runs at 91% of the rate at which the system accepts data";
    assert_eq!(verdict.advice, [line]);
}

#[test]
fn without_ceilings_it_says_how_to_get_them() {
    let verdict = judge(&with(4, 100, &[(Lane::Side, Phase::Parse, 380)]));
    assert_eq!(verdict.advice.last().unwrap(), "run `polyhaul limits` once to compare with this machine's best");
    assert_eq!((verdict.best_possible_seconds, verdict.times_off), (None, None));
}

#[test]
fn files_of_several_formats_and_codecs_are_a_sum() {
    let mut seen = with(4, 5000, &[(Lane::Side, Phase::Parse, 7000)]);
    let best = |seen: &Recording, reads: &[Moved], writes: &[Moved]| {
        let facts = moved(reads.into(), writes.into());
        beside_machine(seen, &facts).best_possible_seconds
    };
    let list = [Moved::new("obj", 400_000_000), Moved::new("ply", 800_000_000), Moved::new("mtl", 4_000_000)];
    is_near(best(&seen, &list, &[]), (1.05 + 0.5 + 0.0105) / 3.0);
    // Formatting takes 0.4 s of a core and the page cache 0.2 s; half of it is synced to the disk.
    let list = [Moved::new("obj", 400_000_000), Moved { durable: true, ..Moved::new("obj", 400_000_000) }];
    is_near(best(&seen, &[], &list), 2.2);
    // One unknown rate makes the result unknown.
    assert_eq!(best(&seen, &[Moved::new("obj", 400_000_000), Moved::new("psd", 1)], &[]), None);

    // Streams are sequential unless parallelism was observed.
    let stream = || Moved::new("obj", 100_000_000).streamed(Codec::Gzip, 400_000_000);
    let streams = [stream(), Moved::new("ply", 100_000_000).streamed(Codec::Zstd, 300_000_000)];
    add(&mut seen, Lane::Input, Phase::Decompress, 900);
    is_near(best(&seen, &streams, &[]), 0.8 + 0.2);
    add(&mut seen, Lane::Side, Phase::Decompress, 100);
    is_near(best(&seen, &streams, &[]), 0.9);
    // Parallel members do not make a stream parallel.
    let members = Moved::new("ply", 100_000_000).compressed(Codec::Zstd, 300_000_000);
    is_near(best(&seen, &[stream(), members], &[]), 0.8);
    let mut apart = with(4, 5000, &[(Lane::Side, Phase::Decompress, 900)]);
    is_near(best(&apart, &streams, &[]), (1.0 + 0.15 + 0.8 + 0.2 + 0.025) / 3.0);

    // All of it came from the disk.
    apart.files = vec![file(Phase::Read, true, 200_000_000, 400, 1)];
    is_near(best(&apart, &streams, &[]), 2.0);
}

#[test]
fn a_rate_that_is_not_known_leaves_the_best_unknown() {
    let seen = with(4, 5000, &[(Lane::Side, Phase::Parse, 7000)]);
    let obj = || Some(Moved::new("obj", 400_000_000));
    let best = |ceilings: &Ceilings, facts: &Facts| {
        Verdict::from_recording(&seen, facts, Some(ceilings)).best_possible_seconds
    };
    let no_writing = Ceilings { write: 0.0, write_sync: 0.0, ..machine() };
    assert_eq!(best(&no_writing, &facts(None, obj())), None);
    assert_eq!(best(&no_writing, &facts(obj(), obj())), None);
    is_near(best(&no_writing, &facts(obj(), None)), 0.35);
    let advice = Verdict::from_recording(&seen, &facts(obj(), obj()), Some(&no_writing)).advice;
    let line = "run `polyhaul limits` on the output's folder once to compare with this machine's best";
    assert_eq!(advice.last().unwrap(), line);
    let no_reading = Ceilings { cold_read: None, cached_read: 0.0, ..machine() };
    assert_eq!(best(&no_reading, &facts(obj(), None)), None);
    is_near(best(&no_reading, &facts(None, obj())), 0.2);
}

#[test]
fn advice_to_compress_is_about_text() {
    // 400 MB each of text and meshes from a disk in eight seconds.
    let mut seen = with(4, 8000, &[(Lane::Input, Phase::Read, 7900), (Lane::Side, Phase::WaitInput, 23_000)]);
    seen.sections = vec![part("read", 8000)];
    seen.files = vec![file(Phase::Read, true, 800_000_000, 400, 7900)];
    let reads = vec![Moved::new("obj", 400_000_000), Moved::new("ply", 400_000_000)];
    let facts = moved(reads, Vec::new());
    let advice = beside_machine(&seen, &facts).advice;
    assert_eq!(advice[0], "zstd would make this disk-bound load 1.5× faster if its text compresses to 30%");
}

#[test]
fn advice_for_a_rate_that_was_asked_for_is_not_about_the_disk() {
    // As slow as the disk, but from memory.
    let mut seen = with(4, 4000, &[(Lane::Input, Phase::Throttle, 3900), (Lane::Side, Phase::WaitInput, 11_000)]);
    seen.sections = vec![part("read", 4000)];
    seen.files = vec![file(Phase::Read, true, 400_000_000, 400, 3900)];
    seen.files[0].calls.throttled_ns = 3900 * MS;
    seen.used = used(1000, Some(0));
    let obj = facts(Some(Moved::new("obj", 400_000_000)), None);
    let verdict = beside_machine(&seen, &obj);
    assert_eq!(verdict.bound, Bound::Read);
    assert_eq!(
        verdict.advice,
        [
            "reading was throttled to 100 MB/s on request; a higher rate would make it up to 11.4× faster",
            "zstd would make a load at that rate 3.3× faster if its text compresses to 30%",
        ]
    );
    // A disk no faster than the requested rate does not help either.
    seen.used = used(1000, None);
    assert_eq!(beside_machine(&seen, &obj).advice[0], "reading was throttled to 100 MB/s on request");
}

#[test]
fn facts_are_those_of_a_report() {
    let reads = vec![Moved::new("obj", 100).compressed(Codec::Gzip, 400)];
    let writes = vec![Moved::new("ply", 70)];
    let facts = Facts::new(reads.clone(), writes.clone());
    assert_eq!((facts.most_plain_bytes(), &facts.reads, &facts.writes), (400, &reads, &writes));
    assert_eq!(Facts::new(Vec::new(), Vec::new()).most_plain_bytes(), 0);
}

#[test]
fn a_job_whose_causes_are_a_few_percent_has_nothing_to_say() {
    let verdict = judge(&with(2, 100, &[(Lane::Alone, Phase::Other, 3), (Lane::Side, Phase::Parse, 4)]));
    assert!(!verdict.is_telling() && verdict.advice.is_empty(), "{verdict:?}");
    assert_eq!(verdict.to_string(), "no single cause: serial work 3%, parsing 2%, unattributed 95%");
    assert!(judge(&with(2, 100, &[(Lane::Side, Phase::Parse, 60)])).is_telling());
    let mut short = with(1, 1, &[(Lane::Alone, Phase::Parse, 1)]);
    short.elapsed_ns = MS / 2;
    assert!(!judge(&short).is_telling() && !judge(&Recording::default()).is_telling());
}

#[test]
fn causes_add_up_to_a_hundred_percent_with_what_is_unattributed() {
    use Lane::Side;
    let three = |ms| with(1, 100, &[(Side, Phase::Parse, ms), (Side, Phase::Build, ms), (Side, Phase::Format, ms)]);
    let many: Vec<_> = Phase::ALL.into_iter().filter(|phase| !phase.is_wait()).map(|phase| (Side, phase, 7)).collect();
    // More than the total, as can result from clocks of several threads.
    for seen in [three(33), three(29), three(60), with(3, 100, &many), with(7, 11, &many), Recording::default()] {
        let verdict = judge(&seen);
        let sum: f64 = verdict.causes.iter().map(|(_, share)| share).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{verdict:?}");
        assert_eq!(verdict.percents().iter().map(|(_, percent)| percent).sum::<u32>(), 100, "{verdict:?}");
    }
    let verdict = judge(&three(33));
    let words = verdict.to_string();
    let parts = words.strip_prefix("no single cause: ").unwrap().split(", ");
    let percents = parts.map(|part| part.rsplit(' ').next().unwrap().strip_suffix('%').unwrap());
    assert_eq!(percents.map(|percent| percent.parse::<u32>().unwrap()).sum::<u32>(), 100, "{words}");
    assert!(words.ends_with("unattributed 1%"), "{words}");
    // Unnamed causes are combined.
    let words = judge(&with(3, 100, &many)).to_string();
    assert!(words.contains(", other causes ") && words.contains(", unattributed "), "{words}");
}

#[test]
fn a_pipe_is_not_a_disk() {
    let mut seen = with(4, 4000, &[(Lane::Input, Phase::Read, 3900), (Lane::Side, Phase::WaitInput, 11_000)]);
    seen.sections = vec![part("read", 4000)];
    seen.files = vec![file(Phase::Read, false, 400_000_000, 400, 3900)];
    let obj = facts(Some(Moved::new("obj", 400_000_000)), None);
    let verdict = beside_machine(&seen, &obj);
    assert_eq!((verdict.bound, verdict.limit.as_str()), (Bound::Read, "piped input"));
    assert!(verdict.to_string().starts_with("100 MB/s, limited by piped input ("), "{verdict}");
    let producer = "the program that writes to the pipe delivered 100 MB/s; reading could be up to 11.4× faster";
    assert_eq!(verdict.advice, [producer]);
    // A small cached file changes nothing.
    seen.used = used(1000, Some(0));
    seen.files.push(file(Phase::Read, true, 1_000_000, 1, 50));
    assert_eq!(beside_machine(&seen, &obj).advice, [producer]);
}

#[test]
fn a_latency_is_named_and_not_a_rate() {
    let mut seen = with(2, 2000, &[(Lane::Input, Phase::Throttle, 1900), (Lane::Side, Phase::WaitInput, 1800)]);
    seen.sections = vec![part("read", 2000)];
    seen.files = vec![file(Phase::Read, true, 20_000_000, 380, 1900)];
    seen.files[0].calls.throttled_ns = 1900 * MS;
    let of = |rate, latency_ms| {
        let throttle = Throttle::new(rate, Duration::from_millis(latency_ms));
        let facts = facts(Some(Moved::new("obj", 20_000_000)), None).throttled(Some(&throttle), None);
        Verdict::from_recording(&seen, &facts, None)
    };
    let latency = of(None, 5);
    assert_eq!(latency.limit, "the read latency of 5 ms");
    assert_eq!(latency.advice[0], "each of 380 calls waited 5 ms because of `--read-latency 5ms`");
    assert!(!latency.to_string().replace("10 MB/s, ", "").contains("MB/s"), "{latency}");
    let rate = of(Some(10_000_000), 0);
    assert_eq!(rate.limit, "the read rate of 10 MB/s");
    assert_eq!(rate.advice[0], "reading was throttled to 10 MB/s because of `--read-rate 10MB/s`");
    // The longer of the two counts.
    assert_eq!(of(Some(1_000_000_000), 5).limit, latency.limit);
    assert_eq!(of(Some(11_000_000), 1).limit, "the read rate of 11 MB/s");
}
