//! Reading hostile pbrt needs at most 64 MiB and four times the input; writing needs at most the limit and
//! [`EXTRA_BYTES`].

use crate::alone;
use polyhaul::model::Scene;
use polyhaul::options::{OnError, PbrtMeshes, PbrtWriteOptions, RunOptions};
use polyhaul::{Format, Input, Output, ReadOptions, Reader, WriteOptions, Writer};
use polyhaul_testkit::alloc;
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::pbrt::hostile::{IncludeKind, Trap, fan};
use std::sync::Arc;

const MIB: u64 = 1 << 20;
/// Allowed memory beyond the limit.
const EXTRA_BYTES: u64 = 8 * MIB;

/// The number of repetitions for which a trap's text has about this size.
fn count_of(trap: Trap, bytes: u64) -> u64 {
    let [few, more] = [1000, 2000].map(|count| trap.text(count).len() as u64);
    bytes * 1000 / (more - few).max(1)
}

/// Distinct names take eleven times their text, more than anything else.
#[test]
fn what_hurts_takes_as_much_as_its_text_backs() {
    let _turn = alone();
    let mut wrong = Vec::new();
    for trap in Trap::ALL {
        let text = Arc::new(trap.text(count_of(trap, 6 * MIB)));
        let size = text.len() as u64;
        for (on_error, threads) in [(OnError::Raise, 1), (OnError::Warn, 2)] {
            let run = RunOptions::default().with_threads(Some(threads));
            let options = ReadOptions::default().with_run(run).with_on_error(on_error);
            let (_, used) =
                alloc::measure(|| Reader::new(Input::Shared(text.clone(), "x.pbrt".into())).options(&options).scene());
            if used.peak_bytes > 64 * MIB + 4 * size {
                wrong.push(format!("{trap:?} {on_error:?}: {} MiB for {} MiB", used.peak_bytes / MIB, size / MIB));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A few bytes that request ten billion files.
#[test]
fn a_fan_of_files_takes_little() {
    let _turn = alone();
    let folder = Folder::new("pbrt-fan").unwrap();
    let path = fan(folder.path(), IncludeKind::Import, 10, 10).unwrap();
    let (result, used) = alloc::measure(|| Reader::new(path).scene());
    assert!(result.is_err() && used.peak_bytes <= 64 * MIB, "{} MiB", used.peak_bytes / MIB);
}

fn scene(text: &str) -> Scene {
    Reader::new(Input::Memory(text.as_bytes().to_vec(), "x.pbrt".into())).scene().unwrap().value
}

#[test]
fn writing_takes_the_limit() {
    let _turn = alone();
    let points: String = (0..600_000).map(|n| format!("{n} 0.5 {} ", n % 7)).collect();
    let mesh = format!("Shape \"trianglemesh\" \"point3 P\" [ {points} ]\n");
    let instances =
        "AttributeBegin\nConcatTransform [ 1 0 0 0 0 1 0 0 0 0 1 0 1.5 2 3 1 ]\nObjectInstance \"o\"\nAttributeEnd\n";
    let scene = scene(&format!(
        "WorldBegin\nObjectBegin \"o\"\nShape \"sphere\"\nObjectEnd\n{mesh}{}{mesh}",
        instances.repeat(100_000)
    ));
    let folder = Folder::new("pbrt-memory").unwrap();
    for (threads, memory_limit) in [(1, MIB), (2, 8 * MIB), (7, 64 * MIB)] {
        let run = RunOptions::default().with_threads(Some(threads)).with_memory_limit(memory_limit);
        for (parts, meshes) in
            [(0, PbrtMeshes::Inline), (5, PbrtMeshes::Inline), (0, PbrtMeshes::Ply { vertices: 100 })]
        {
            let pbrt = PbrtWriteOptions::default().with_parts(parts).with_meshes(meshes);
            let options = WriteOptions::default().with_format(Some(Format::Pbrt)).with_pbrt(pbrt).with_run(run.clone());
            let output = Output::Path(folder.join("a.pbrt"));
            let (result, used) = alloc::measure(|| Writer::new(output).options(&options).scene(&scene));
            assert!(result.unwrap().bytes_out > 10_000_000);
            let max_bytes = memory_limit + EXTRA_BYTES;
            assert!(
                used.peak_bytes <= max_bytes,
                "{pbrt:?} {threads}: {} MiB of {}",
                used.peak_bytes / MIB,
                max_bytes / MIB
            );
        }
    }
}
