//! Memory and work of reading images: no more than the file backs, whatever it claims and whichever byte is wrong, and
//! in proportion to it. A binary of its own, for its allocator; its counters are the process's, so one test runs at a
//! time.

use crate::alone;
use polyhaul::model::{Image, Samples};
use polyhaul::options::{Limits, RunOptions};
use polyhaul::{ErrorKind, Input, ReadOptions, Reader, Result};
use polyhaul_testkit::alloc::measure;
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::growth;
use polyhaul_testkit::hostile::{Fault, Hostile, Sizes};
use polyhaul_testkit::images::{Picture, SHAPES, claims, is_own, pictures};
use polyhaul_testkit::mutate;
use polyhaul_testkit::packed::{CODECS, pack};
use polyhaul_testkit::random::Random;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const MIB: u64 = 1 << 20;
/// What any file may take, before bytes are there for it.
const MAX_BYTES: u64 = 64 * MIB;
/// What the program has besides: windows, and the end of a file.
const PROGRAM_BYTES: u64 = 3 * MIB;

/// One test at a time, and none that takes all memory.
fn options(threads: usize) -> ReadOptions {
    let run = RunOptions::default().with_threads(Some(threads));
    // No limit helps.
    let limits = Limits::default().with_pixels(u64::MAX);
    ReadOptions::default().with_run(run).with_limits(limits)
}

fn stream(bytes: &[u8], name: &str, sizes: Sizes) -> Input {
    Input::Reader(Box::new(Hostile::new(bytes, sizes).with(Fault::Interrupted)), name.into())
}

fn image(input: Input, options: &ReadOptions) -> Result<Image> {
    Reader::new(input).options(options).image().map(|loaded| loaded.value)
}

/// A way to read a picture: what it is called, how many bytes it has, and its input.
type Way = (String, u64, Box<dyn Fn() -> Input>);

fn ways(picture: &Picture, folder: &Folder) -> Vec<Way> {
    let name = picture.file_name();
    let of_file = |name: &str, bytes: &[u8]| -> Box<dyn Fn() -> Input> {
        let path = folder.file(name, bytes).unwrap();
        Box::new(move || Input::Path(path.clone()))
    };
    let of_stream = |bytes: &[u8]| -> Box<dyn Fn() -> Input> {
        let bytes = bytes.to_vec();
        let name = name.clone();
        Box::new(move || stream(&bytes, &name, Sizes::Random(Random::new(5))))
    };
    let bytes = &picture.bytes;
    let size = picture.bytes.len() as u64;
    let mut ways =
        vec![("a file".to_owned(), size, of_file(&name, bytes)), ("a stream".to_owned(), size, of_stream(bytes))];
    for (codec, extension) in CODECS {
        let packed = pack(codec, bytes, 100_000);
        let size = packed.len() as u64;
        ways.push((format!("{codec} file"), size, of_file(&format!("{name}.{extension}"), &packed)));
        ways.push((format!("{codec} stream"), size, of_stream(&packed)));
    }
    ways
}

/// What an image that was read may take: an array that grows has a second one beside it while it moves. A small file
/// may hold a large image, whose size is a limit.
fn of_image(result: &Result<Image>) -> u64 {
    let bytes = |image: &Image| match &image.samples {
        Samples::U8(samples) => samples.len(),
        Samples::U16(samples) => 2 * samples.len(),
        Samples::F32(samples) => 4 * samples.len(),
    };
    2 * result.as_ref().map_or(0, bytes) as u64
}

#[test]
fn no_file_takes_more_than_it_backs() {
    let _alone = alone();
    let folder = Folder::new("images-memory").unwrap();
    let mut wrong = Vec::new();
    for picture in pictures().into_iter().chain(claims()) {
        for (way, size, input) in ways(&picture, &folder) {
            for threads in [1, 4] {
                let input = input();
                let (result, used) = measure(|| image(input, &options(threads)));
                let what = format!("{} as {way}, {threads} threads: {} KiB", picture.name, used.peak_bytes >> 10);
                if used.peak_bytes > MAX_BYTES + PROGRAM_BYTES + 4 * size + of_image(&result) {
                    wrong.push(what);
                } else if result.is_err_and(|error| error.kind() == ErrorKind::Memory) {
                    wrong.push(format!("{what}: no memory"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each of the first and the last bytes is changed, all of a small file, and some in the middle of a large one.
#[test]
fn one_changed_byte_breaks_nothing() {
    const ENDS: usize = 600;
    const INSIDE: usize = 100;
    let _alone = alone();
    for picture in pictures().iter().filter(|picture| is_own(picture.format) && picture.bytes.len() < CUT_BYTES) {
        let name = picture.file_name();
        let size = picture.bytes.len();
        let step = (size / INSIDE).max(1);
        let places = (0..size).filter(|&at| size <= 2 * ENDS || at < ENDS / 2 || at + ENDS > size || at % step == 0);
        let max_bytes = MAX_BYTES + PROGRAM_BYTES + 4 * size as u64;
        mutate::bytes_at(&picture.bytes, places, |at, byte, bytes| {
            let what = || format!("{} with {byte:#04x} at {at}", picture.name);
            let memory = Input::Memory(bytes.to_vec(), name.clone());
            let (decoded, used) = measure(|| image(memory, &options(1)));
            assert!(used.peak_bytes <= max_bytes, "{}: {} KiB", what(), used.peak_bytes >> 10);
            match decoded {
                Ok(image) => assert_eq!(image.sample_count(), Some(image.samples.len()), "{}", what()),
                Err(error) => {
                    let is_fault = matches!(error.kind(), ErrorKind::Internal | ErrorKind::Memory);
                    assert!(!is_fault, "{}: {error}", what());
                }
            }
        });
    }
}

/// Larger files are covered by limits.
const CUT_BYTES: usize = 64 << 10;

#[test]
fn work_is_linear() {
    let _alone = alone();
    let mut wrong = Vec::new();
    for (shape, format, file) in SHAPES {
        let files = [12_000, 48_000].map(|size| Arc::new(file(size)));
        let name = format!("x.{}", format.name());
        let memory = |file: &Arc<Vec<u8>>| drop(image(Input::Shared(file.clone(), name.clone()), &options(1)));
        let streamed = |file: &Arc<Vec<u8>>| drop(image(stream(file, &name, Sizes::All), &options(1)));
        let [memory, streamed] = [growth::too_fast(&files, memory), growth::too_fast(&files, streamed)];
        wrong.extend(memory.map(|complaint| format!("{shape} of {name}: {complaint}")));
        wrong.extend(streamed.map(|complaint| format!("{shape} of {name}, a stream: {complaint}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Four times the file takes few more allocations, and calls in proportion: nothing comes with a row or a packet.
#[test]
fn nothing_is_allocated_or_asked_for_each_row() {
    let _alone = alone();
    for (shape, format, file) in SHAPES {
        let [small, large] = [12_000, 48_000].map(|size| {
            let bytes = file(size);
            let given = Hostile::new(&bytes[..], Sizes::All);
            let log = given.log();
            let name = format!("x.{}", format.name());
            let (_, used) = measure(|| image(Input::Reader(Box::new(given), name), &options(1)));
            (used.count, log.calls.load(Relaxed), bytes.len())
        });
        assert!(large.0 <= small.0 + 60, "{shape}: {small:?} and {large:?} allocations");
        assert!(large.1 <= large.2.div_ceil(64 << 10) + 4, "{shape}: {small:?} and {large:?} calls");
    }
}

/// The kernel's figure for peak memory since the last reset, in bytes; `None` if unavailable.
fn peak_resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

const CHILD: &str = "POLYHAUL_TEST_IMAGES_CHILD";

/// As the kernel counts it, in a process that does nothing else; what libraries take by themselves counts too.
#[test]
fn bad_files_take_little_of_a_process() {
    if std::env::var_os(CHILD).is_some() {
        return in_child();
    }
    let _alone = alone();
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["images::bad_files_take_little_of_a_process", "--exact", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
}

fn in_child() {
    let folder = Folder::new("images-resident").unwrap();
    for picture in pictures().into_iter().filter(|picture| !picture.is_good).chain(claims()) {
        for (way, size, input) in ways(&picture, &folder) {
            // 5 sets the figure back to what is used now.
            let _ = std::fs::write(Path::new("/proc/self/clear_refs"), "5");
            let before = peak_resident_bytes().unwrap_or(0);
            let result = image(input(), &options(2));
            let used = peak_resident_bytes().unwrap_or(0).saturating_sub(before);
            let max_bytes = MAX_BYTES + PROGRAM_BYTES + 4 * size + of_image(&result);
            assert!(used <= max_bytes, "{} as {way}: {} KiB", picture.name, used >> 10);
        }
    }
}
