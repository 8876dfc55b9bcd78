//! Tests of reading many accessors at once: few requests, and the same values for any number of threads.

use super::*;
use crate::accessors::AccessorValues;
use crate::buffers::{Binary, Buffers};
use crate::document::Document;
use crate::log::GltfLog;
use polyhaul_bytes::{HostRead, Source};
use polyhaul_model::limits::{FaultPolicy, Limits};
use polyhaul_pipeline::bytes::Bytes;
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;

/// A host that counts its reads.
struct CountingHost {
    bytes: Vec<u8>,
    at: usize,
    reads: Arc<AtomicU64>,
}

impl HostRead for CountingHost {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.reads.fetch_add(1, Relaxed);
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }

    fn seek(&mut self, offset: u64) -> io::Result<bool> {
        self.at = offset as usize;
        Ok(true)
    }

    fn size(&mut self) -> Option<u64> {
        Some(self.bytes.len() as u64)
    }
}

/// Reads accessors `(offset, stride, count)` of three floats each; returns the values and the host's read count.
fn read(bytes: &[u8], accessors: &[(usize, usize, usize)], threads: usize) -> (Vec<Vec<f32>>, u64) {
    let reads = Arc::new(AtomicU64::new(0));
    let host = CountingHost { bytes: bytes.to_vec(), at: 0, reads: reads.clone() };
    let source = Source::host(Box::new(host), "test").positioned().unwrap().unwrap();
    let placed = Bytes::new(&source, None);
    let views: Vec<Value> = accessors
        .iter()
        .map(|&(offset, stride, count)| {
            let len = stride * (count - 1) + 12;
            json!({"buffer": 0, "byteOffset": offset, "byteLength": len, "byteStride": stride})
        })
        .collect();
    let list: Vec<Value> = (0..accessors.len())
        .map(|at| json!({"bufferView": at, "componentType": 5126, "count": accessors[at].2, "type": "VEC3"}))
        .collect();
    let json = json!({"buffers": [{"byteLength": bytes.len()}], "bufferViews": views, "accessors": list});
    let document: Document = serde_json::from_value(json).unwrap();
    let mut none = |_: &str, _: u64| Err(malformed("no file"));
    let binary = Binary::Placed { bytes: &placed, offset: 0, len: bytes.len() as u64 };
    let buffers = Buffers::new(&document.buffers, binary, &mut none).unwrap();
    let run = RunOptions::default().with_threads(Some(threads));
    let mut values = AccessorValues::new(&document, buffers, Limits::default(), &run);
    let mut log = GltfLog::new("", FaultPolicy::default());
    let layouts: Vec<AccessorLayout> =
        (0..accessors.len()).map(|at| values.layout(at, "test", &[3], &mut log).unwrap()).collect();
    let mut columns: Vec<Vec<f32>> = accessors.iter().map(|accessor| vec![0.0; 3 * accessor.2]).collect();
    let pairs = layouts.iter().zip(&mut columns);
    let mut fills: Vec<AccessorFill<'_>> =
        pairs.map(|(layout, values)| AccessorFill::floats(layout, values, 3, Finish::Keep, None)).collect();
    values.fill(&mut fills).unwrap();
    (columns, reads.load(Relaxed))
}

#[test]
fn neighbors_are_read_together() {
    let numbers: Vec<f32> = (0..400_000).map(|number| number as f32).collect();
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    // 3000 small accessors out of order, two interleaved ones, a large one, and a distant small one.
    let mut accessors: Vec<_> = (0..3000).map(|number| (12 * (number * 7 % 3000), 12, 1)).collect();
    accessors.extend([(36_000, 24, 20_000), (36_012, 24, 20_000), (516_000, 12, 60_000), (1_599_988, 12, 1)]);
    for threads in [1, 3] {
        let (columns, reads) = read(&bytes, &accessors, threads);
        for (&(offset, stride, count), column) in accessors.iter().zip(columns) {
            let expected = (0..count).flat_map(|row| &numbers[(offset + row * stride) / 4..][..3]);
            assert!(column.iter().eq(expected), "{offset}");
        }
        assert!(reads <= bytes.len() as u64 / (64 << 10) + 4, "{reads} reads");
    }
}

#[test]
fn steps_and_zeros_need_no_bytes() {
    let buffers = Buffers::new(&[], Binary::Missing, &mut |_: &str, _: u64| Err(malformed("no file"))).unwrap().opened;
    let run = RunOptions::default().with_threads(Some(2));
    let job = FillJob { buffers: &buffers, run: &run, size: None, bytes_read: &AtomicU64::new(0) };
    let mut steps = vec![0; 100_000];
    job.fill(&mut [AccessorFill::steps(&mut steps, 5, 3)]).unwrap();
    assert!(steps.iter().zip((5..).step_by(3)).all(|(&value, expected)| value == expected));
    let layout = AccessorLayout {
        accessor: 0,
        count: 2,
        component: Component::U8,
        width: 3,
        normalized: true,
        span: None,
        sparse: None,
    };
    let mut colors = [9.0; 8];
    let mut uvs = [9.0; 4];
    let end = AtomicU64::new(0);
    let uv = AccessorLayout { width: 2, ..layout };
    let mut indices = [9; 2];
    job.fill(&mut [
        AccessorFill::floats(&layout, &mut colors, 4, Finish::Screen, None),
        AccessorFill::floats(&uv, &mut uvs, 2, Finish::FlipV, None),
        AccessorFill::indices(&AccessorLayout { width: 1, ..layout }, &mut indices, 7, Some(&end)),
    ])
    .unwrap();
    assert_eq!(colors, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!((uvs, indices, end.into_inner()), ([0.0, 1.0, 0.0, 1.0], [7, 7], 1));
}
