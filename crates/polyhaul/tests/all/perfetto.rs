//! `report::perfetto`: traces follow the format, and no part of a recording is lost or escapes its string.

use polyhaul::report::perfetto;
use polyhaul::trace::{Detail, Lane, Phase, Recording, Sample, Trace, chunk, joint, section, span, within};
use polyhaul_bytes::{Sink, Source};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Names that must be escaped.
const HOSTILE: [&str; 5] =
    ["a\"b\\c.obj", "line\nbreak\u{1}\u{7f}\0.obj", "</script><!--", "\u{2028}\u{fffd}\u{1f980}", ""];

fn written(recording: &Recording, title: &str) -> Value {
    let mut text = Vec::new();
    perfetto(recording, title, &mut text).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn events(page: &Value) -> &[Value] {
    page["traceEvents"].as_array().unwrap()
}

fn of_kind<'a>(page: &'a Value, kind: &str) -> Vec<&'a Value> {
    events(page).iter().filter(|event| event["ph"] == kind).collect()
}

/// A job that reads, parses and writes, on two threads.
fn recorded() -> Recording {
    let trace = Trace::new(Detail::Spans);
    within(Some(&trace), 2, || {
        let _section = section("read");
        for name in HOSTILE {
            let source = Source::named_memory(vec![1; 100], name);
            let _cut = chunk(Some(Lane::Input), Phase::Cut, 7);
            source.read_at(0, &mut [0; 60]).unwrap();
            source.read_at(60, &mut [0; 40]).unwrap();
        }
        let joint = joint().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| joint.join(|| drop((span(Phase::Parse), span(Phase::WaitInput)))));
        });
        let mut sink = Sink::memory();
        sink.write_all(&[0; 33]).unwrap();
        sink.finish().unwrap();
    });
    for i in 0..4 {
        let mut sample = Sample::default();
        sample.at_ns = i * 1000;
        sample.cpu_ns = i * 1500;
        sample.resident_bytes = 5 << 20;
        trace.sample(sample);
    }
    trace.recording()
}

/// Checks that every event has the fields that the format requires.
fn check_schema(page: &Value) {
    assert_eq!(page["displayTimeUnit"], "ms");
    assert!(page["otherData"].is_object());
    for event in events(page) {
        assert!(event["pid"] == 1 && event["tid"].is_u64() && event["name"].is_string(), "{event}");
        let expected: &[&str] = match event["ph"].as_str().unwrap() {
            "M" => &[],
            "X" => &["ts", "dur"],
            "i" | "C" => &["ts"],
            kind => panic!("{kind}"),
        };
        assert!(expected.iter().all(|key| event[key].as_f64().is_some_and(|time| time >= 0.0)), "{event}");
        assert!(event["args"].is_object() || event["ph"] == "X", "{event}");
        if event["ph"] == "C" {
            assert!(event["args"]["value"].is_number(), "{event}");
        }
    }
}

/// Checks that spans on each track are nested, as viewers require.
fn check_nesting(page: &Value) {
    let mut open: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    for event in of_kind(page, "X") {
        let ns = |key: &str| (event[key].as_f64().unwrap() * 1000.0).round() as u64;
        let track = event["tid"].as_u64().unwrap();
        let start = ns("ts");
        let end = ns("ts") + ns("dur");
        assert!(last.insert(track, start).is_none_or(|before| before <= start), "out of order: {event}");
        let open = open.entry(track).or_default();
        while open.last().is_some_and(|&outer| outer <= start) {
            open.pop();
        }
        assert!(open.last().is_none_or(|&outer| end <= outer), "overlaps: {event}");
        open.push(end);
    }
}

#[test]
fn every_event_is_what_the_format_wants() {
    let recording = recorded();
    let page = written(&recording, "a \"title\"\n");
    check_schema(&page);
    check_nesting(&page);
    let names: Vec<_> = of_kind(&page, "M").iter().map(|event| event["args"]["name"].clone()).collect();
    for name in ["a \"title\"\n", "caller", "worker 1", "sections", "files"] {
        assert!(names.contains(&Value::from(name)), "{name}: {names:?}");
    }
}

#[test]
fn spans_carry_what_they_are_about() {
    let recording = recorded();
    let page = written(&recording, "");
    let spans: usize = recording.threads.iter().map(|thread| thread.spans.len()).sum();
    assert_eq!(of_kind(&page, "X").len(), spans + recording.sections.len());
    let reads: Vec<_> = of_kind(&page, "X").into_iter().filter(|event| event["name"] == "read").collect();
    let calls = |event: &&&Value| event["cat"] == "io";
    let files: Vec<_> = reads.iter().filter(calls).step_by(2).map(|read| read["args"]["file"].clone()).collect();
    assert_eq!(files, HOSTILE.map(Value::from));
    assert!(reads.iter().filter(calls).all(|read| read["args"]["bytes"].is_u64() && read["args"]["lane"] == "input"));
    let cut = of_kind(&page, "X").into_iter().find(|event| event["name"] == "cut").unwrap();
    assert_eq!((&cut["args"]["chunk"], &cut["cat"]), (&Value::from(7), &Value::from("work")));
    let wait = of_kind(&page, "X").into_iter().find(|event| event["name"] == "wait for input").unwrap();
    assert!(wait["args"]["chunk"].is_null() && wait["cat"] == "wait" && wait["tid"] == 2);
    assert!(page["otherData"]["phases_ns"]["read"].is_u64());
}

#[test]
fn files_are_moments_with_their_statistics() {
    let page = written(&recorded(), "");
    let files = of_kind(&page, "i");
    let names: Vec<_> = files.iter().map(|file| file["name"].clone()).collect();
    assert_eq!(names, [HOSTILE.as_slice(), &["memory"]].concat());
    let of_first = &files[0]["args"];
    assert_eq!(of_first["calls_by_size"], serde_json::json!({"32": 2}));
    assert_eq!(of_first["callers"], serde_json::json!({"cut": 2}));
    assert_eq!((&of_first["bytes"], &of_first["mean_bytes"]), (&Value::from(100), &Value::from(50)));
    assert_eq!((&files[0]["args"]["is_output"], &files[5]["args"]["is_output"]), (&false.into(), &true.into()));
    assert!(files[1]["ts"].as_f64() >= files[0]["ts"].as_f64());
}

fn values(page: &Value, name: &str) -> Vec<f64> {
    let counters = of_kind(page, "C").into_iter().filter(|event| event["name"] == name);
    counters.map(|event| event["args"]["value"].as_f64().unwrap()).collect()
}

#[test]
fn counters_are_sums_over_time() {
    let page = written(&recorded(), "");
    let read = values(&page, "bytes in");
    assert!(read.is_sorted() && read.last() == Some(&500.0), "{read:?}");
    assert_eq!(values(&page, "bytes out"), [33.0]);
    assert_eq!(values(&page, "read </script><!--").last(), Some(&100.0));
    assert_eq!(values(&page, "cores busy"), [1.5, 0.0]);
    assert_eq!(values(&page, "resident memory"), [(5 << 20) as f64]);
    assert_eq!(values(&page, "chunk cut"), [7.0]);
    assert!(values(&page, "lock waiters").is_empty() && values(&page, "bytes decompressed").is_empty());
}

#[test]
fn sections_follow_each_other_on_one_track() {
    let trace = Trace::new(Detail::Spans);
    within(Some(&trace), 1, || {
        drop((section("one"), section("inside of it")));
        drop(section("two"));
    });
    let page = written(&trace.recording(), "");
    check_nesting(&page);
    let sections = of_kind(&page, "X").into_iter().filter(|event| event["cat"] == "section");
    let sections: Vec<_> =
        sections.map(|event| (event["name"].as_str().unwrap(), event["tid"].as_u64().unwrap())).collect();
    assert_eq!(sections.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(sections[0].1, sections[1].1);
}

#[test]
fn nothing_recorded_is_a_page_too() {
    let page = written(&Recording::default(), "");
    check_schema(&page);
    assert_eq!(of_kind(&page, "X").len() + of_kind(&page, "C").len() + of_kind(&page, "i").len(), 0);
}

#[test]
fn times_keep_their_nanoseconds() {
    let mut recording = recorded();
    let far_ns = 3_600_000_000_000_001;
    for span in recording.threads.iter_mut().flat_map(|thread| &mut thread.spans) {
        span.start_ns += far_ns;
        span.end_ns += far_ns;
    }
    let page = written(&recording, "");
    check_nesting(&page);
    let ns = |event: &Value| (event["ts"].as_f64().unwrap() * 1000.0).round() as u64;
    let spans = recording.threads.iter().flat_map(|thread| &thread.spans);
    let first = spans.map(|span| span.start_ns).min().unwrap();
    assert!(first > far_ns && of_kind(&page, "X").into_iter().any(|event| ns(event) == first));
}

#[test]
fn many_calls_are_few_values_of_counters() {
    let trace = Trace::new(Detail::Spans);
    within(Some(&trace), 1, || {
        let source = Source::named_memory(vec![1; 100_000], "a");
        assert!((0..50_000).all(|at| source.read_at(at, &mut [0; 1]).unwrap() == 1));
    });
    let page = written(&trace.recording(), "");
    let read = values(&page, "bytes in");
    assert!(read.len() < 20_000 && read.last() == Some(&50_000.0), "{} {:?}", read.len(), read.last());
}

#[test]
fn what_cannot_be_written_is_an_error_and_blocks_are_large() {
    struct Blocks(Vec<usize>, bool);
    impl Write for Blocks {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.len());
            if self.1 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(bytes.len()) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut recording = recorded();
    let more: Vec<_> = recording.threads[0].spans.iter().cycle().take(20_000).copied().collect();
    recording.threads[0].spans.extend(more);
    let mut blocks = Blocks(Vec::new(), false);
    perfetto(&recording, "", &mut blocks).unwrap();
    let (_, large) = blocks.0.split_last().unwrap();
    assert!(large.len() > 4 && large.iter().all(|&bytes| bytes >= 64 << 10), "{:?}", blocks.0);
    let error = perfetto(&recording, "", &mut Blocks(Vec::new(), true)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}
