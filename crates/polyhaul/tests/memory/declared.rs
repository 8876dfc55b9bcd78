//! What a header declares takes no memory before data backs it.

use crate::alone;
use crate::ply_support::{memory, options, stream};
use polyhaul::options::{OnError, RunOptions};
use polyhaul::{Input, ReadOptions, Reader};
use polyhaul_testkit::alloc;
use polyhaul_testkit::corpus::samples;

#[test]
fn what_ply_declares_takes_no_memory() {
    let _alone = alone();
    for file in samples("ply/bad", "ply") {
        let bytes = file.bytes();
        for input in [memory(&bytes), stream(&bytes, 3)] {
            let (result, used) = alloc::measure(|| Reader::new(input).options(&options(2, None)).tables().map(drop));
            let allowed = (64 << 20) + 4 * file.size;
            assert!(used.peak_bytes <= allowed, "{}: {} bytes", file.name, used.peak_bytes);
            drop(result);
        }
    }
}

#[test]
fn what_off_declares_takes_no_memory() {
    let _alone = alone();
    for file in ["off/good", "off/bad"].iter().flat_map(|folder| samples(folder, "off")) {
        let bytes = file.bytes();
        for input in [Input::Memory(bytes.clone(), "x.off".into()), stream(&bytes, 3)] {
            let run = RunOptions::default().with_threads(Some(2));
            let options = ReadOptions::default().with_on_error(OnError::Warn).with_run(run);
            let (result, used) = alloc::measure(|| polyhaul::Reader::new(input).options(&options).scene());
            assert!(used.peak_bytes <= (64 << 20) + 4 * file.size, "{}: {} bytes", file.name, used.peak_bytes);
            drop(result);
        }
    }
}

#[test]
fn what_stl_declares_takes_no_memory() {
    let _alone = alone();
    let run = RunOptions::default().with_threads(Some(2));
    let options = ReadOptions::default().with_on_error(OnError::Warn).with_run(run);
    for file in ["stl/good", "stl/bad", "stl/regression"].iter().flat_map(|folder| samples(folder, "stl")) {
        let bytes = file.bytes();
        for input in [Input::Memory(bytes.clone(), "x.stl".into()), stream(&bytes, 3)] {
            let (result, used) = alloc::measure(|| polyhaul::Reader::new(input).options(&options).scene());
            assert!(used.peak_bytes <= (64 << 20) + 4 * file.size, "{}: {} bytes", file.name, used.peak_bytes);
            drop(result);
        }
    }
}
