//! The same tables, scenes, warnings and errors for any number of threads, any size of chunks, and any way in which
//! the bytes come.

use crate::ply::support::{header, lenient, memory, options, scene_text, stream, tables_text};
use polyhaul::{ReadOptions, Reader};
use polyhaul_testkit::corpus::samples;

const THREADS: [usize; 5] = [1, 2, 3, 7, 64];
const CHUNKS: [usize; 6] = [1, 2, 13, 64, 500, 4000];

fn check(name: &str, bytes: &[u8], base: &ReadOptions) {
    let as_tables = tables_text(&Reader::new(memory(bytes)).options(base).tables());
    let as_scene = scene_text(&Reader::new(memory(bytes)).options(base).scene());
    for (t, threads) in THREADS.into_iter().enumerate() {
        for (c, chunk_bytes) in CHUNKS.into_iter().map(Some).chain([None]).enumerate() {
            let chunks = chunk_bytes.map_or(1, |chunk_bytes| bytes.len() / chunk_bytes);
            let chosen = bytes.len() < 500 || (t + c) % 3 == 0;
            if !chosen || chunks > 2000 || threads == 64 && chunks > 200 {
                continue;
            }
            let mut way = base.clone();
            way.run.threads = Some(threads);
            way.run.chunk_bytes = chunk_bytes;
            let what = || format!("{name}, {threads} threads, chunks of {chunk_bytes:?}");
            assert_eq!(tables_text(&Reader::new(memory(bytes)).options(&way).tables()), as_tables, "{}", what());
            assert_eq!(scene_text(&Reader::new(memory(bytes)).options(&way).scene()), as_scene, "{}", what());
            let seed = (t + c) as u64;
            assert_eq!(
                tables_text(&Reader::new(stream(bytes, seed)).options(&way).tables()),
                as_tables,
                "a stream, {}",
                what()
            );
            assert_eq!(
                scene_text(&Reader::new(stream(bytes, seed)).options(&way).scene()),
                as_scene,
                "a stream, {}",
                what()
            );
        }
    }
}

#[test]
fn good_files() {
    for file in samples("ply/good", "ply").iter().filter(|file| file.size < 30_000) {
        check(&file.name, &file.bytes(), &options(1, None));
    }
}

#[test]
fn bad_files() {
    for file in samples("ply/bad", "ply").iter().filter(|file| file.size < 30_000) {
        check(&file.name, &file.bytes(), &options(1, None));
        check(&file.name, &file.bytes(), &lenient());
    }
}

/// Rows of a mesh in which more than one thing is wrong, or lines are no rows.
const ROWS: [&str; 12] = [
    "0 0 0\n1 1 1\n2 2 2\n3 0 1 9\n3 0 x 2\n",
    "0 0 0\n1 1 1\n2 2 2\n3 0 1 2\n3 0 1 9 3 0 0 0\n",
    "0 0 0 1 1\n1 2 2 2 3 0 1 2\n3\n2\n1\n9\nmore",
    "0 0 0\r\n1 1 1\r\n\r\n2 2 2\r\n3 0 1 2\r\n3 0 1 9\r\n",
    "0 0 0\r1 1 1\r2 2 2\r\r3 0 1 2\r2 0 1\r",
    "0 0 0\n1 1 1\n2 2 2\n3 0 1 2\n",
    "0 0 0\n1 1 1\n2 2 2\n3 0 1 9\n3 0 1\n",
    "\n\n0 0 0\n1 1 1\n2 2 2\n2 0 1\n1 0\n",
    "0 0 0\n1 1 1\n2 2 2\n3 0 1 2\n0\n\n\n x\n\n y",
    "0 0 0\n1 1 1\n2 2 2\n3 0 9 2\n4\n0 0\n 0 9 \n",
    "0 0 0\n1 1 1\n2 2 2\n3 0\\\n 9 2\n3 0 1 2\n",
    "1e5 nan inf\n.5 -5. +1\n1e999 1e-999 00000000000000000000001\n3 0 01 +2\n3 0 0 0\n",
];

#[test]
fn what_is_said_comes_in_the_order_of_the_rows() {
    let mesh = "element vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 2\n\
                property list uchar int vertex_indices\n";
    for rows in ROWS {
        let file = header("ascii", mesh) + rows;
        check(rows, file.as_bytes(), &options(1, None));
        check(rows, file.as_bytes(), &lenient());
        check(rows, file.as_bytes(), &options(1, None).with_strict(true));
        let chunks = file.len() - rows.len()..file.len();
        for chunk_bytes in chunks {
            let way = options(2, chunk_bytes);
            let (whole, cut) = (
                Reader::new(memory(file.as_bytes())).options(&options(1, None)).scene(),
                Reader::new(memory(file.as_bytes())).options(&way).scene(),
            );
            assert_eq!(scene_text(&whole), scene_text(&cut), "{rows:?} in chunks of {chunk_bytes}");
        }
    }
}

/// Faces of which most are like the first, with flaws before and behind the first that is not.
#[test]
fn rows_that_differ_from_the_first() {
    let mesh = "element vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 60\n\
                property list uchar int vertex_indices\nproperty short id\nproperty list ushort double more\n\
                element last 2\nproperty uchar a\n";
    for odd in [0, 1, 30, 59, 60] {
        for flaw in [None, Some(0), Some(29), Some(31), Some(59)] {
            let mut file = header("binary_big_endian", mesh).into_bytes();
            file.extend([0; 36]);
            for row in 0..60u16 {
                let corners = if usize::from(row) == odd { 4 } else { 3 };
                file.push(corners as u8);
                for corner in 0..corners {
                    let index: i32 = if Some(row) == flaw && corner == 1 { 77 } else { corner % 3 };
                    file.extend(index.to_be_bytes());
                }
                file.extend(row.to_be_bytes());
                file.extend([0, 1]);
                file.extend(f64::from(row).to_be_bytes());
            }
            file.extend([5, 6, 7]);
            check(&format!("row {odd} differs, flaw in {flaw:?}"), &file, &options(1, None));
            check(&format!("row {odd} differs, flaw in {flaw:?}"), &file, &lenient());
        }
    }
}
