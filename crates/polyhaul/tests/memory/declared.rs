//! What a header declares takes no memory before data backs it.

use crate::alone;
use crate::ply_support::{memory, options, stream};
use polyhaul::options::{OnError, RunOptions};
use polyhaul::{Input, ReadOptions, load_tables};
use polyhaul_testkit::alloc;
use polyhaul_testkit::corpus::samples;

#[test]
fn what_ply_declares_takes_no_memory() {
    let _alone = alone();
    for file in samples("ply/bad", "ply") {
        let bytes = file.bytes();
        for input in [memory(&bytes), stream(&bytes, 3)] {
            let (result, used) = alloc::measure(|| load_tables(input, &options(2, None)).map(drop));
            let allowed = (64 << 20) + 4 * file.size;
            assert!(used.peak_bytes <= allowed, "{}: {} bytes", file.name, used.peak_bytes);
            drop(result);
        }
    }
}

#[test]
fn what_stl_declares_takes_no_memory() {
    let _alone = alone();
    let run = RunOptions { threads: Some(2), ..RunOptions::default() };
    let options = ReadOptions { on_error: OnError::Warn, run, ..ReadOptions::default() };
    for file in ["stl/good", "stl/bad", "stl/regression"].iter().flat_map(|folder| samples(folder, "stl")) {
        let bytes = file.bytes();
        for input in [Input::Memory(bytes.clone(), "x.stl".into()), stream(&bytes, 3)] {
            let (result, used) = alloc::measure(|| polyhaul::load(input, &options));
            assert!(used.peak_bytes <= (64 << 20) + 4 * file.size, "{}: {} bytes", file.name, used.peak_bytes);
            drop(result);
        }
    }
}
