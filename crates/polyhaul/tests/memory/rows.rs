//! Records as text: the same bytes for any number of threads, into buffers and sinks, with errors that state their
//! location.

use crate::alone;
use polyhaul::options::{Cancel, Codec, RunOptions, RunTasks, ThreadPool};
use polyhaul::rows::{self, PrintfDialect, RowFormat, StridedColumn, ValueType};
use polyhaul::trace::{Detail, Phase, Trace};
use polyhaul::{ErrorKind, Output, WriteOptions};
use polyhaul_testkit::alloc::measure;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Records of 8 bytes: a bool, padding, an f32.
const RECORD_BYTES: usize = 8;
const THREADS: [usize; 4] = [1, 2, 3, 7];

/// Values with texts of all lengths; later ones are longer.
fn records(count: usize) -> Vec<u8> {
    let mut records = Vec::with_capacity(count * RECORD_BYTES);
    for row in 0..count {
        records.extend([u8::from(row % 3 == 0), 0, 0, 0]);
        records.extend(((row * row) as f32 / -3.0).to_ne_bytes());
    }
    records
}

fn columns(records: &[u8]) -> [StridedColumn<'_>; 2] {
    let count = records.len() / RECORD_BYTES;
    [(0, ValueType::Bool), (4, ValueType::F32)]
        .map(|(offset, kind)| StridedColumn::new(records, offset, RECORD_BYTES, count, kind).unwrap())
}

fn format() -> RowFormat {
    rows::fields("{flag:y/n} {value:.2f}\n", |name| match name {
        "flag" => Some((0, ValueType::Bool)),
        "value" => Some((1, ValueType::F32)),
        _ => None,
    })
    .unwrap()
}

fn expected(records: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for record in records.chunks_exact(RECORD_BYTES) {
        let value = f32::from_ne_bytes(record[4..].try_into().unwrap());
        text.extend(format!("{} {value:.2}\n", if record[0] != 0 { "y" } else { "n" }).into_bytes());
    }
    text
}

fn run(threads: usize) -> RunOptions {
    RunOptions::default().with_threads(Some(threads))
}

/// Collects written bytes.
#[derive(Clone, Default)]
struct Written(std::sync::Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let _alone = alone();
    for count in [0, 1, 31, 5000, 5461, 60_000] {
        let records = records(count);
        let columns = columns(&records);
        let expected = expected(&records);
        for threads in THREADS {
            let mut out = vec![0; expected.len()];
            let length = rows::format_rows(&format(), &columns, &mut out, &run(threads)).unwrap();
            assert!(length == expected.len() && out == expected, "{count} records, {threads} threads");
            assert_eq!(rows::format_rows_to_vec(&format(), &columns, &run(threads)).unwrap(), expected);
        }
    }
}

#[test]
fn a_buffer_that_is_too_short_says_what_is_needed() {
    let _alone = alone();
    let records = records(20_000);
    let needed = expected(&records).len();
    for threads in THREADS {
        for room in [0, 1, needed / 2, needed - 1] {
            let mut out = vec![0; room];
            let error = rows::format_rows(&format(), &columns(&records), &mut out, &run(threads)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage);
            assert_eq!(error.to_string(), format!("the rows need {needed} bytes, but the buffer has {room}"));
        }
    }
}

#[test]
fn rows_that_get_longer_than_the_first_ones_fit_into_a_new_vec() {
    let _alone = alone();
    let values: Vec<u8> =
        (0..100_000i64).flat_map(|row| (if row % 12_500 < 32 { 1 } else { i64::MIN }).to_ne_bytes()).collect();
    let columns = [StridedColumn::new(&values, 0, 8, 100_000, ValueType::I64).unwrap()];
    let format = rows::printf("%d\n", &[ValueType::I64], PrintfDialect::C).unwrap();
    for threads in THREADS {
        let text = rows::format_rows_to_vec(&format, &columns, &run(threads)).unwrap();
        assert_eq!(text.len(), 8 * 32 * 2 + (100_000 - 8 * 32) * 21);
    }
}

#[test]
fn nothing_is_allocated_from_row_to_row() {
    let _alone = alone();
    let few = records(20_000);
    let many = records(400_000);
    let mut out = vec![0; 30 * 400_000];
    let format = format();
    for threads in [1, 2, 3] {
        let mut count = |records: &[u8]| {
            let columns = columns(records);
            let run = run(threads);
            let counts = (0..5).map(|_| {
                let (length, used) = measure(|| rows::format_rows(&format, &columns, &mut out, &run));
                length.unwrap();
                used.count
            });
            // The test harness sometimes allocates, too.
            counts.min().unwrap_or_default()
        };
        let counts = (count(&few), count(&many));
        assert!(counts.1 <= 8 * threads as u64, "{threads} threads: {counts:?} allocations");
        assert!(threads > 1 || counts.0 == 0, "{} allocations", counts.0);
    }
}

#[test]
fn a_trace_and_the_callers_threads_are_used() {
    let _alone = alone();
    let records = records(200_000);
    for threads in THREADS {
        let request_count = Arc::new(AtomicUsize::new(0));
        let counts = request_count.clone();
        let tasks: Arc<RunTasks> = Arc::new(move |count, task| {
            counts.fetch_add(1, Ordering::Relaxed);
            (0..count).for_each(task);
        });
        let trace = Trace::new(Detail::Totals);
        let run = run(threads).with_trace(Some(trace.clone())).with_pool(Some(ThreadPool(tasks)));
        assert_eq!(rows::format_rows_to_vec(&format(), &columns(&records), &run).unwrap(), expected(&records));
        let seen = trace.recording();
        assert_eq!(seen.sections.iter().map(|part| part.name).collect::<Vec<_>>(), ["format"]);
        assert!(seen.totals().total(Phase::Format) > 0 && seen.wanted_threads == threads);
        assert_eq!(request_count.load(Ordering::Relaxed), usize::from(threads > 1));
    }
}

#[test]
fn a_value_without_a_text_is_placed() {
    let _alone = alone();
    let mut values = [1.0f32; 100_000];
    values[77_777] = f32::NAN;
    values[99_000] = f32::INFINITY;
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let columns = [StridedColumn::new(&bytes, 0, 4, values.len(), ValueType::F32).unwrap()];
    let format = rows::printf("%d\n", &[ValueType::F32], PrintfDialect::Python).unwrap();
    let says = "row 77777, column 0: NaN and infinity cannot be written as integers";
    for threads in THREADS {
        let mut out = vec![0; 1 << 20];
        let error = rows::format_rows(&format, &columns, &mut out, &run(threads)).unwrap_err();
        assert_eq!(error.to_string(), says);
        let options = WriteOptions::default().with_run(run(threads));
        let output = Output::Writer(Box::new(Written::default()), "out".into());
        let error = rows::write_rows(&format, &columns, b"", b"", output, &options).unwrap_err();
        assert_eq!(error.to_string(), format!("out: {says}"));
    }
}

#[test]
fn what_is_wrong_with_a_template_is_shown() {
    let _alone = alone();
    let error = rows::printf("%f %q\n", &[ValueType::F32, ValueType::F32], PrintfDialect::C).unwrap_err();
    let diagnostic = error.diagnostic();
    let excerpt = diagnostic.excerpt.as_ref().unwrap();
    assert_eq!((error.kind(), diagnostic.place.offset), (ErrorKind::Usage, Some(4)));
    assert_eq!(&excerpt.text[excerpt.marked.clone()], "q");
    let error = rows::fields("{no}", |_| None).unwrap_err();
    assert_eq!(error.to_string(), "template, byte 1: unknown field name");
    let endless = rows::printf("text\n", &[], PrintfDialect::C).unwrap();
    assert_eq!(rows::format_rows(&endless, &[], &mut [0; 9], &run(1)).unwrap_err().kind(), ErrorKind::Usage);
    let other = [StridedColumn::new(&[0; 8], 0, 8, 1, ValueType::F64).unwrap(); 2];
    let error = rows::format_rows(&format(), &other, &mut [], &run(1)).unwrap_err();
    assert_eq!(error.to_string(), "column 0 has type f64; the template expects bool");
}

#[test]
fn text_is_as_it_is_and_counted_in_characters() {
    let _alone = alone();
    let names = "hé\0\0\0日本".as_bytes();
    let columns = [StridedColumn::new(names, 0, 6, 2, ValueType::Text(6)).unwrap()];
    for dialect in [PrintfDialect::C, PrintfDialect::Python] {
        let text = |template| {
            let format = rows::printf(template, &[ValueType::Text(6)], dialect).unwrap();
            String::from_utf8(rows::format_rows_to_vec(&format, &columns, &run(1)).unwrap()).unwrap()
        };
        assert_eq!(text("%s\n"), "hé\n日本\n");
        assert_eq!(text("%4s;"), "  hé;  日本;");
        assert_eq!(text("%-4.1s;"), "h   ;日   ;");
    }
}

#[test]
fn cancelled_work_ends() {
    let _alone = alone();
    let records = records(100_000);
    for threads in THREADS {
        let run = run(threads).with_cancel(Cancel::default());
        run.cancel.cancel();
        let error = rows::format_rows_to_vec(&format(), &columns(&records), &run).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
}

#[test]
fn pages_have_the_same_bytes_whatever_their_size() {
    let _alone = alone();
    for count in [0, 1, 5000] {
        let records = records(count);
        let whole = [b"head\n".as_slice(), &expected(&records), b"foot\n"].concat();
        for threads in THREADS {
            for (chunk_bytes, memory_limit) in [(None, 64 << 20), (Some(1), 1), (Some(1000), 1 << 16)] {
                let run = run(threads).with_chunk_bytes(chunk_bytes).with_memory_limit(memory_limit);
                let options = WriteOptions::default().with_run(run);
                let written = Written::default();
                let output = Output::Writer(Box::new(written.clone()), "out".into());
                let report = rows::write_rows(&format(), &columns(&records), b"head\n", b"foot\n", output, &options);
                assert!(*written.0.lock().unwrap() == whole, "{count} records, {threads} threads, {chunk_bytes:?}");
                assert_eq!(report.unwrap().bytes_out, whole.len() as u64);
            }
        }
    }
}

#[test]
fn files_are_compressed_and_replaced_as_a_whole() {
    let _alone = alone();
    let folder = std::env::temp_dir().join(format!("polyhaul-rows-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("rows.txt.gz");
    let records = records(30_000);
    let written = [1, 2].map(|threads| {
        let options = WriteOptions::default().with_run(run(threads));
        rows::write_rows(&format(), &columns(&records), b"", b"", Output::Path(path.clone()), &options).unwrap();
        std::fs::read(&path).unwrap()
    });
    assert!(written[0] == written[1] && written[0].starts_with(&[0x1F, 0x8B]));
    let options = WriteOptions::default().with_compression(Codec::Zstd.into());
    let mut broken = records.clone();
    broken.truncate(records.len() - RECORD_BYTES);
    broken.extend([0, 0, 0, 0, 0, 0, 0xC0, 0x7F]);
    let whole = rows::printf("%d %d\n", &[ValueType::Bool, ValueType::F32], PrintfDialect::C).unwrap();
    let failed = rows::write_rows(&whole, &columns(&broken), b"", b"", Output::Path(path.clone()), &options);
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(std::fs::read(&path).unwrap(), written[0]);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The number of records that a child process formats; used by a single test.
#[cfg(target_os = "linux")]
const CHILD: &str = "POLYHAUL_TEST_ROWS";

/// The process that strace watches; does nothing unless requested.
#[test]
#[cfg(target_os = "linux")]
fn a_child_formats_rows() {
    let Some(count) = std::env::var(CHILD).ok().and_then(|count| count.parse().ok()) else { return };
    let records = records(count);
    let mut out = vec![0; 30 * count];
    rows::format_rows(&format(), &columns(&records), &mut out, &run(3)).unwrap();
}

/// A contended lock calls futex: more rows do not need more such calls. Starting and joining threads takes some.
#[test]
#[cfg(target_os = "linux")]
fn no_lock_is_taken_from_row_to_row() {
    let _alone = alone();
    let folder = std::env::temp_dir().join(format!("polyhaul-futex-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let log = folder.join("log");
    let traced = |count: usize| {
        let mut strace = std::process::Command::new("strace");
        strace.args(["-f", "-e", "trace=futex,clone,clone3", "-o"]).arg(&log).arg(std::env::current_exe().ok()?);
        strace.args(["--exact", "rows::a_child_formats_rows", "--test-threads=1"]).env(CHILD, count.to_string());
        let trial = strace.output().ok().filter(|output| output.status.success());
        let text = trial.and_then(|_| std::fs::read_to_string(&log).ok())?;
        let calls = |name: &str| text.lines().filter(|line| line.contains(name)).count();
        Some((calls("futex("), calls("clone")))
    };
    // Hundreds of blocks of rows.
    let counts = traced(1_500_000);
    std::fs::remove_dir_all(&folder).unwrap();
    let Some((futexes, clones)) = counts else {
        let _ = writeln!(std::io::stderr(), "no_lock_is_taken_from_row_to_row: there is no strace that works here");
        return;
    };
    assert!(clones > 1 && futexes < 60, "{futexes} futex calls, {clones} threads started");
}
