//! Pages of all kinds of recordings: complete, small, and without unescaped untrusted text.

use super::*;
use crate::svg;
use crate::verdict::Bound;
use polyhaul_bytes::Source;
use polyhaul_trace::{self as trace, Detail, FileUse, Lane, Sample, Section, SpanRecord, Thread, Trace};
use std::sync::OnceLock;

const MS: u64 = 1_000_000;
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>{{script}}<!--\"'\u{202e}\u{1b}\n";

/// A template of each record type.
fn templates() -> (SpanRecord, FileUse, Section) {
    let trace = Trace::new(Detail::Spans);
    trace::within(Some(&trace), 1, || {
        let _section = trace::section("read");
        Source::named_memory(vec![1; 100], "a").read_at(0, &mut [0; 60]).unwrap();
    });
    let seen = trace.recording();
    (seen.threads[0].spans[0], seen.files[0].clone(), seen.sections[0])
}

fn span(phase: Phase, start_ns: u64, end_ns: u64, value: u64) -> SpanRecord {
    static SPAN: OnceLock<SpanRecord> = OnceLock::new();
    let mut span = *SPAN.get_or_init(|| templates().0);
    span.phase = phase;
    span.start_ns = start_ns;
    span.end_ns = end_ns;
    span.value = value;
    span.file = None;
    span.lane = Lane::Side;
    span.depth = 1;
    span
}

/// Threads with these spans and their totals.
fn recording(threads: Vec<Vec<SpanRecord>>) -> Recording {
    let mut recording = Recording::default();
    recording.wanted_threads = threads.len();
    for spans in threads {
        let mut thread = Thread::default();
        spans.iter().for_each(|span| thread.totals.add(span.lane, span.phase, span.end_ns - span.start_ns));
        recording.elapsed_ns = spans.iter().map(|span| span.end_ns).max().unwrap_or(0).max(recording.elapsed_ns);
        thread.spans = spans;
        recording.threads.push(thread);
    }
    recording
}

fn verdict() -> Verdict {
    let causes = vec![(Bound::Parse, 0.7), (Bound::Write, 0.3)];
    let advice = vec![HOSTILE.to_owned()];
    let best_possible_seconds = Some(1.0);
    let times_off = Some(2.0);
    Verdict {
        bound: Bound::Parse,
        limit: "parsing".into(),
        share: 0.7,
        seconds: 2.0,
        bytes_per_second: 1.5e8,
        best_possible_seconds,
        times_off,
        advice,
        causes,
    }
}

fn ceilings() -> Ceilings {
    let machine = HOSTILE.to_owned();
    Ceilings { machine, cold_read: Some(1e9), cached_read_all: 9e9, write: 2e9, ..Ceilings::default() }
}

fn heading() -> Heading {
    Heading { command: HOSTILE.into(), machine: HOSTILE.into(), began_unix_s: Some(0) }
}

/// Generates a page and runs the checks that apply to all pages; also returns its data.
fn page(recording: &Recording) -> (String, String) {
    let page = html(recording, &heading(), Some(&verdict()), Some(&ceilings()));
    let bare = html(recording, &Heading::default(), None, None);
    let picture = svg(recording, &heading(), Some(&verdict()), Some(&ceilings()));
    for text in [&page, &bare, &picture, &svg(recording, &Heading::default(), None, None)] {
        balanced(text);
        assert!(!text.contains("NaN") && !text.contains("inf\"") && !text.contains("<img"), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']));
    }
    let data = data_of(&page);
    (page, data)
}

/// Extracts the data of a page and checks its size.
fn data_of(page: &str) -> String {
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let data = data.split_once("</script>").unwrap().0.to_owned();
    assert!(!data.contains(['<', '>', '&']));
    valid_json(&data);
    data
}

/// Checks that every element is closed, in the right order.
fn balanced(text: &str) {
    const VOID: [&str; 3] = ["meta", "link", "!doctype"];
    /// Elements with an optional end tag.
    const LOOSE: [&str; 2] = ["th", "td"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some((_, tag)) = rest.split_once('<') {
        let end = tag.find('>').unwrap_or_else(|| panic!("a tag without an end: {tag}"));
        let name = tag[..end].split_ascii_whitespace().next().unwrap();
        rest = &tag[end + 1..];
        if let Some(name) = name.strip_prefix('/') {
            while LOOSE.contains(open.last().unwrap()) && *open.last().unwrap() != name {
                open.pop();
            }
            assert_eq!(open.pop(), Some(name));
        } else if !VOID.contains(&name) && !tag[..end].ends_with('/') {
            open.push(name);
        }
        if matches!(name, "script" | "style") && !tag.starts_with('/') {
            rest = &rest[rest.find(&format!("</{name}>")).unwrap()..];
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

/// Checks that brackets and quotes are balanced, without trailing commas.
fn valid_json(text: &str) {
    let mut open = Vec::new();
    let mut chars = text.chars();
    let mut last = ' ';
    while let Some(c) = chars.next() {
        match c {
            '[' => open.push(']'),
            '{' => open.push('}'),
            ']' | '}' => assert!(open.pop() == Some(c) && last != ','),
            ',' => assert!(!matches!(last, ',' | '[' | '{' | ':')),
            '"' => loop {
                match chars.next().unwrap() {
                    '"' => break,
                    '\\' => assert!("\"\\ntu".contains(chars.next().unwrap())),
                    _ => {}
                }
            },
            '0'..='9' | ':' | '.' | 'e' | '-' => {}
            _ => panic!("{c} in {text}"),
        }
        last = c;
    }
    assert!(open.is_empty());
}

/// Numbers of the list after a key.
fn numbers(data: &str, key: &str) -> Vec<f64> {
    let (_, list) = data.split_once(&format!("\"{key}\":[")).unwrap();
    let list = list.split_once(']').unwrap().0;
    list.split(',').filter(|number| !number.is_empty()).map(|number| number.parse().unwrap()).collect()
}

#[test]
fn what_comes_from_outside_stays_text() {
    let mut job = recording(vec![vec![span(Phase::Read, 0, MS, 60)]]);
    job.threads[0].spans[0].file = Some(0);
    let mut file = templates().1;
    file.name = HOSTILE.to_owned();
    job.files = vec![file; 3];
    let (page, data) = page(&job);
    let text = "&#60;/script&#62;&#60;img src=x onerror=alert(1)&#62;{{script}}&#60;!--&#34;&#39;";
    assert!(page.matches(text).count() >= 7, "title, heading, advice, machine, files");
    assert!(data.contains("\\u003c/script\\u003e\\u003cimg src=x onerror=alert(1)\\u003e{{script}}\\u003c!--\\\""));
    assert_eq!(page.matches("</script>").count(), 2);
}

#[test]
fn nothing_from_elsewhere_is_asked_for() {
    let page = html(&recording(vec![vec![span(Phase::Parse, 0, MS, 1)]]), &Heading::default(), None, None);
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("@import"));
    assert!(!page.contains("url(") && !page.contains("{{"));
}

#[test]
fn many_spans_make_a_small_page() {
    let row = |thread: u64| {
        let short = |index: u64| span(Phase::ALL[(index % 7) as usize], 20 * index, 20 * index + 10 + thread, index);
        // Some long enough to be visible.
        let long = |index: u64| span(Phase::Build, 3_000_000 + 2 * index * MS, 3_000_000 + (2 * index + 1) * MS, index);
        (0..125_000).map(short).chain((0..500).map(long)).collect::<Vec<_>>()
    };
    let mut job = recording((0..4).map(row).collect());
    job.dropped_spans = 77;
    let file = templates().1;
    job.files = vec![file; 20_000];
    job.files.iter_mut().enumerate().for_each(|(index, file)| file.name = format!("{index:0>200}"));
    for spans in job.threads.iter_mut().map(|thread| &mut thread.spans) {
        spans.iter_mut().enumerate().for_each(|(index, span)| span.file = Some(index as u32 % 20_000));
    }
    let page = html(&job, &heading(), None, None);
    balanced(&page);
    let data = data_of(&page);
    let rows = data.split_once("\"rows\":").unwrap().1.split_once("\"files\"").unwrap().0;
    let bars = rows.matches(',').count() / 5;
    assert!((MAX_BARS / 4..=MAX_BARS).contains(&bars), "{bars}");
    assert!(page.contains("spans shorter than") && page.contains("77 spans were not recorded"));
    assert!(page.contains("192 more files</summary>") && page.contains("19,800 more files are not shown"));
    assert!(data.len() < 900_000, "{}", data.len());
}

#[test]
fn many_threads_make_a_small_page() {
    let row =
        |thread: u64| (0..50).map(|at| span(Phase::Parse, 100 * at + thread, 100 * at + thread + 60, at)).collect();
    let job = recording((0..1000).map(row).collect());
    let (page, _) = page(&job);
    assert!(page.contains("872 more threads have no row"));
}

#[test]
fn nothing_at_all_is_a_page_too() {
    let (page, data) = page(&Recording::default());
    assert!(page.contains("No phases were recorded") && page.contains("No charts: no spans were recorded"));
    assert!(data.contains("\"rows\":[]") && !page.contains("<canvas"));
}

#[test]
fn a_job_of_no_length_and_one_sample_are_pages() {
    let mut job = recording(vec![vec![span(Phase::Read, 5, 5, 100)], vec![]]);
    let mut section = templates().2;
    section.start_ns = 5;
    section.end_ns = 5;
    job.sections = vec![section];
    let mut sample = Sample::default();
    sample.at_ns = 7;
    sample.resident_bytes = 1000;
    job.samples.push(sample);
    let (text, data) = page(&job);
    assert!(!text.contains("id=threads") && !text.contains("id=memory"));
    assert_eq!(numbers(&data, "read")[0], 100.0);
    job.threads.clear();
    job.sections.clear();
    page(&job);
}

#[test]
fn long_times_are_exact_enough() {
    let day_ns = 86_400_000 * MS;
    let mut job = recording(vec![vec![
        span(Phase::Parse, day_ns, day_ns + 5 * MS, 3),
        span(Phase::Write, 30 * day_ns, 31 * day_ns, u64::MAX),
    ]]);
    let (text, data) = page(&job);
    assert!(text.contains("86,400 s") && data.contains(",18446744073709551615]"));
    assert!(data.contains("\"unit\":100000000,\"length\":25920000"));
    job.threads[0].spans[1].end_ns = u64::MAX;
    page(&job);
}

#[test]
fn bytes_are_spread_over_the_time_that_calls_took() {
    let job = recording(vec![
        vec![span(Phase::Read, 0, 40 * MS, 400), span(Phase::Write, 40 * MS, 1000 * MS, 960_000)],
        vec![span(Phase::Read, 10 * MS, 20 * MS, 50), span(Phase::Parse, 20 * MS, 1000 * MS, 1)],
    ]);
    let steps = shown::steps(&job, Extent::from_recording(&job));
    assert_eq!(steps.step_ns, 2 * MS);
    let near = |actual: f64, expected: f64| assert!((actual - expected).abs() < 1e-6, "{actual} {expected}");
    for (at, expected) in [(0, 20.0), (5, 30.0), (9, 30.0), (10, 20.0), (20, 0.0)] {
        near(steps.read_bytes[at], expected);
    }
    near(steps.read_bytes.iter().sum(), 450.0);
    near(steps.written_bytes.iter().sum(), 960_000.0);
    for (at, computing, calling) in [(0, 0.0, 1.0), (7, 0.0, 2.0), (100, 1.0, 1.0)] {
        near(steps.computing[at], computing);
        near(steps.calling[at], calling);
    }
}

#[test]
fn time_is_that_of_the_inner_span() {
    let mut read = span(Phase::Read, 20 * MS, 60 * MS, 1);
    read.depth = 2;
    let job = recording(vec![vec![read, span(Phase::Parse, 0, 100 * MS, 7)]]);
    let rows = shown::rows(&job, Extent::from_recording(&job), 10).rows;
    assert_eq!(
        rows[0].iter().map(|bar| (bar.level, bar.phase)).collect::<Vec<_>>(),
        [(0, Phase::Parse), (1, Phase::Read)]
    );
    let steps = shown::steps(&job, Extent::from_recording(&job));
    let sum = |steps: &[f64], step_ns: u64| (steps.iter().sum::<f64>() * step_ns as f64).round() as u64;
    assert_eq!([sum(&steps.computing, steps.step_ns), sum(&steps.calling, steps.step_ns)], [60 * MS, 40 * MS]);
}

#[test]
fn the_innermost_span_gives_a_thread_its_colour() {
    let nested = |depth: u8, phase, start_ms: u64, end_ms: u64| {
        let mut span = span(phase, start_ms * MS, end_ms * MS, 1);
        span.depth = depth;
        span
    };
    let spans = vec![nested(0, Phase::Other, 0, 90), nested(2, Phase::Write, 20, 60), nested(1, Phase::Format, 10, 80)];
    let job = recording(vec![spans]);
    let (page, _) = page(&job);
    // Later bars cover earlier ones of the same height.
    assert!(page.contains("return [box.top + row * height + gap / 2, height - gap];"));
    let picture = svg(&job, &Heading::default(), None, None);
    let at = |phase: Phase| {
        let fill = format!("height=\"34\" fill=\"{}\"", crate::chart::color(phase)[0]);
        picture.rfind(&fill).unwrap_or_else(|| panic!("{fill}: {picture}"))
    };
    assert!(at(Phase::Other) < at(Phase::Format) && at(Phase::Format) < at(Phase::Write));
}

#[test]
fn charts_without_anything_in_them_are_not_there() {
    // A job that only reads, while other programs write a little to the disk.
    let mut job = recording(vec![vec![span(Phase::Read, 0, 100 * MS, 1_000_000)]]);
    for index in 0..20 {
        let mut sample = Sample::default();
        sample.at_ns = index * 5 * MS;
        sample.disk_write_bytes = 4096 * (index / 19);
        job.samples.push(sample);
    }
    let (text, _) = page(&job);
    let ids = ["threads", "cpu", "read", "write", "memory"].map(|id| text.contains(&format!("<canvas id={id} ")));
    assert_eq!(ids, [true, true, true, false, false]);
    // Samples without values, and spans of length 0.
    let mut job = recording(vec![vec![span(Phase::Parse, 5, 5, 1)]]);
    job.samples = vec![Sample::default(); 3];
    assert!(!page(&job).0.contains("<canvas"));
}

#[test]
fn one_is_singular() {
    let mut job = recording(vec![vec![span(Phase::Parse, 0, 2000 * MS, 1)]]);
    let mut file = templates().1;
    file.calls.calls = 1;
    job.files = vec![file; 9];
    job.dropped_files = 1;
    let (page, _) = page(&job);
    let threads = ["\"Threads. 1 thread over ", " of 1 thread was computing "];
    let files = ["1 more file</summary>", "1 more file is not shown", ": 1 call</title>"];
    for words in threads.iter().chain(&files) {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn the_headline_says_what_limited_the_job_and_how_far_it_is_from_the_best() {
    let job = recording(vec![vec![span(Phase::Parse, 0, 2000 * MS, 1)]]);
    let headline = |verdict: &Verdict| {
        let page = html(&job, &heading(), Some(verdict), None);
        page.split_once("id=verdict>").unwrap().1.split_once("</p>").unwrap().0.to_owned()
    };
    assert_eq!(headline(&verdict()), "Limited by parsing, 2.0× slower than this machine&#39;s best");
    let at_best = Verdict { times_off: Some(1.01), ..verdict() };
    assert_eq!(headline(&at_best), "Limited by parsing, as fast as this machine&#39;s best");
    let unknown = Verdict { bound: Bound::Unknown, times_off: None, ..verdict() };
    assert_eq!(headline(&unknown), "No single cause");
    assert_eq!(headline(&Verdict { seconds: 0.0001, ..verdict() }), "Too short to judge");
}

#[test]
fn steps_are_ten_milliseconds_or_less_until_there_are_too_many() {
    let steps_of = |ns: u64| {
        let steps = shown::steps(&Recording::default(), Extent { start_ns: 0, end_ns: ns });
        (steps.step_ns, steps.read_bytes.len())
    };
    assert_eq!(steps_of(10_000 * MS), (10 * MS, 1000));
    assert_eq!(steps_of(40_000 * MS), (10 * MS, 4000));
    assert_eq!(steps_of(400_000 * MS), (100 * MS, 4000));
    assert_eq!([steps_of(1), steps_of(0)], [(1, 1); 2]);
    assert!(steps_of(u64::MAX).1 <= 4000);
}

#[test]
fn files_are_worst_first_and_small_calls_are_told() {
    let mut small = templates().1;
    small.name = "small.tga".into();
    small.calls.waiting_ns = 9;
    small.calls.bytes = 300;
    small.calls.calls = 100;
    small.calls.calls_by_size[2] = 100;
    let mut large = small.clone();
    large.name = "large.tga".into();
    large.calls.waiting_ns = 99;
    large.calls.bytes = 100 << 20;
    large.callers = vec![(Phase::Build, 1), (Phase::Parse, 5)];
    let mut job = Recording::default();
    job.files = vec![small, large];
    let (page, _) = page(&job);
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(at("large.tga") < at("parsing, building the model") && at("parsing, building the model") < at("small.tga"));
    assert!(at("small.tga") < at("class=flag>") && page.matches("class=flag>").count() == 1);
    assert!(page.contains("2 B to 4 B: 100 calls"));
}

#[test]
fn samples_and_ceilings_are_lines() {
    let mut job = recording(vec![vec![span(Phase::Parse, 0, 100 * MS, 1)]]);
    for index in 0..5000 {
        let mut sample = Sample::default();
        sample.at_ns = index * MS;
        sample.cpu_ns = 500 + 2 * index * MS;
        sample.disk_read_bytes = 7 + 100 * index;
        sample.resident_bytes = if index == 1501 { 1 << 40 } else { 1000 };
        job.samples.push(sample);
    }
    let (page, data) = page(&job);
    assert!(["id=cpu", "id=memory", "id=read"].iter().all(|id| page.contains(id)) && !page.contains("id=write"));
    assert!(numbers(&data, "at").len() <= 1500 && numbers(&data, "memory").contains(&((1_u64 << 40) as f64)));
    assert_eq!(numbers(&data, "cpu").last(), Some(&(999.8 * MS as f64)), "in steps of 10 ns");
    assert!(data.contains(r#"["read","cold read",1000000000],["read","cached read",9000000000],["write","write","#));
}

#[test]
fn pages_of_programs_keep_all_text_as_text() {
    let mut recording = Recording::default();
    recording.elapsed_ns = 30 * MS;
    recording.wanted_threads = 2;
    for index in 0..2 {
        let mut thread = Thread::default();
        thread.name = format!("{HOSTILE} {index}");
        thread.push(Phase::Run, 0, 10 * MS, 0);
        thread.push(Phase::Run, 10 * MS, 20 * MS, 0);
        thread.push(Phase::Read, 20 * MS, 30 * MS, 5_000_000);
        assert_eq!(thread.spans.len(), 2);
        recording.threads.push(thread);
    }
    for ms in [0, 30] {
        let mut sample = Sample::default();
        sample.at_ns = ms * MS;
        sample.cpu_ns = ms * MS;
        sample.resident_bytes = 7;
        recording.samples.push(sample);
    }
    let columns = vec!["File", "Time"];
    let rows = vec![vec![HOSTILE.to_owned(), HOSTILE.to_owned()]];
    let table = ProgramTable { title: HOSTILE.into(), columns, rows, note: HOSTILE.into() };
    let program = ProgramPage {
        recording,
        heading: heading(),
        verdict: HOSTILE.into(),
        figures: vec![(HOSTILE.into(), HOSTILE.into())],
        notes: vec![HOSTILE.into()],
        stacks: vec![(vec!["main".into(), HOSTILE.into()], 5)],
        tables: vec![table, ProgramTable::default()],
        ceilings: Some(ceilings()),
    };
    let page = program.html();
    balanced(&page);
    let data = data_of(&page);
    assert!(!page.contains("<img") && !page.contains(['\u{1b}', '\u{202e}']));
    assert_eq!((page.matches("</script>").count(), page.matches("<h3>").count()), (2, 5));
    // Programs are read every 10 ms, and their threads have no lanes.
    assert!(page.contains("in steps of 10 ms") && data.contains("\"lanes\":[]"), "{data}");
    assert_eq!(numbers(&data, "read").iter().sum::<f64>(), 1e7);
    balanced(&ProgramPage::default().html());
}
