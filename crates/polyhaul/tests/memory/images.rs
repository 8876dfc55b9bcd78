//! Allocations and calls of reading images are proportional to the file.

use crate::alone;
use polyhaul::model::Image;
use polyhaul::options::{Limits, RunOptions};
use polyhaul::{Input, ReadOptions, Reader, Result};
use polyhaul_testkit::alloc::measure;
use polyhaul_testkit::hostile::{Hostile, Sizes};
use polyhaul_testkit::images::SHAPES;
use std::sync::atomic::Ordering::Relaxed;

/// Options for a number of threads, without a limit on pixels.
fn options(threads: usize) -> ReadOptions {
    let run = RunOptions::default().with_threads(Some(threads));
    let limits = Limits::default().with_pixels(u64::MAX);
    ReadOptions::default().with_run(run).with_limits(limits)
}

fn image(input: Input, options: &ReadOptions) -> Result<Image> {
    Reader::new(input).options(options).image().map(|loaded| loaded.value)
}

/// Four times the file takes few more allocations, and proportionally more calls: none for each row or packet.
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
