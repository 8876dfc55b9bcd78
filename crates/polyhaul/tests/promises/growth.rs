//! Work is linear in the input: sixteen times the bytes take about sixteen times the time and allocations.

use crate::isolated::isolated;
use crate::samples::{Samples, Shape, Source, Way};
use polyhaul_testkit::growth;
use polyhaul_testkit::hostile::Sizes;

crate::test_each_format!(check);

/// Sizes of inputs, and larger sizes for inputs that look too slow.
const SIZES: [[usize; 2]; 2] = [[12_000, 12_000 * growth::RATIO], [48_000, 48_000 * growth::RATIO]];

/// Number of retries for inputs that look too slow.
const RETRIES: usize = 4;

fn check(rows: &[&Samples], test: &str) {
    isolated(test, || {
        let mut complaints = Vec::new();
        for row in rows {
            for shape in (row.shapes)() {
                complaints.extend(complaints_about(row, &shape));
            }
        }
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    });
}

fn complaints_about(row: &Samples, shape: &Shape) -> Vec<String> {
    let [sizes, larger_sizes] = SIZES;
    let inputs = sizes.map(|size| (shape.make)(size));
    let mut complaints = Vec::new();
    for (name, way) in ways() {
        for &reading in row.readings {
            let read = |bytes: &Vec<u8>| {
                // A chunk size of 0 stands for a third of the file.
                let chunk_bytes = way.chunk_bytes.map(|size| if size == 0 { bytes.len() / 3 } else { size });
                drop(row.read(bytes, reading, &way.with_run(1, chunk_bytes)));
            };
            let mut complaint = growth::too_fast(&inputs, read);
            if complaint.is_some() {
                let larger_inputs = larger_sizes.map(|size| (shape.make)(size));
                // Disturbances by other programs pass; nonlinear work stays.
                for _ in 0..RETRIES {
                    complaint = complaint.and_then(|_| growth::too_fast(&larger_inputs, read));
                }
            }
            complaints
                .extend(complaint.map(|text| format!("{} {}, {name}, as {reading:?}: {text}", row.name(), shape.name)));
        }
    }
    complaints
}

/// Ways of reading with different costs.
fn ways() -> [(&'static str, Way); 5] {
    [
        ("as it is", Way::default()),
        ("with warnings for errors", Way::lenient()),
        ("in three chunks", Way::default().with_run(1, Some(0))),
        ("in many chunks", Way::lenient().with_run(1, Some(200))),
        ("a stream", Way::default().with_source(Source::Stream(Sizes::All))),
    ]
}
