//! Files over 4 GiB and counts over 2^32: handled correctly, or rejected clearly. Files are sparse, and streams are
//! generated while they are read.
//!
//! Tests that need gigabytes of memory or a minute are run manually: `cargo test --release -p polyhaul --test all --
//! --ignored`.

use polyhaul::model::{Samples, Values};
use polyhaul::options::{ColumnTypes, Limits, RunOptions, TableReadOptions};
use polyhaul::{Error, ErrorKind, Format, Input, Output, ReadOptions, Reader, WriteOptions, Writer};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::images::{NO_MAP, tga};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

const GIB: u64 = 1 << 30;

/// A file of `size` bytes, all zero except at its start and end.
fn sparse(folder: &Folder, name: &str, start: &[u8], size: u64, end: &[u8]) -> PathBuf {
    let path = folder.file(name, start).unwrap();
    let mut file = File::options().write(true).open(&path).unwrap();
    file.set_len(size).unwrap();
    file.seek(SeekFrom::Start(size - end.len() as u64)).unwrap();
    file.write_all(end).unwrap();
    path
}

fn refused(path: PathBuf) -> Error {
    let error = Reader::new(&path).tables().map(drop).unwrap_err();
    match error.kind() {
        // STL cannot be read as a table.
        ErrorKind::Usage | ErrorKind::Unsupported => Reader::new(path).scene().map(drop).unwrap_err(),
        _ => error,
    }
}

fn ply(form: &str, count: u64, property: &str) -> Vec<u8> {
    format!("ply\nformat {form} 1.0\nelement a {count}\nproperty {property}\nend_header\n").into_bytes()
}

fn npy(descr: &str, shape: &str) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\0".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes
}

fn stl(count: u32) -> Vec<u8> {
    let mut bytes = vec![b' '; 80];
    bytes.extend(count.to_le_bytes());
    bytes
}

/// The counts are correct: all bytes exist, most of them as holes.
#[test]
fn counts_over_2_to_the_32_are_refused_by_their_limit() {
    let folder = Folder::new("huge").unwrap();
    let many = (1 << 32) + 1;
    for form in ["binary_little_endian", "binary_big_endian", "ascii"] {
        let path = sparse(&folder, "a.ply", &ply(form, many, "uchar b"), 5 * GIB, b"\x01");
        let error = refused(path);
        assert_eq!((error.kind(), error.place().line), (ErrorKind::Limit, Some(3)), "{form}: {error}");
        assert!(error.to_string().contains("`elements`"), "{error}");
    }
    let size = 84 + 50 * u64::from(u32::MAX);
    let error = refused(sparse(&folder, "a.stl", &stl(u32::MAX), size, b"\x01"));
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.to_string().contains("`elements`"), "{error}");
    let error = refused(sparse(&folder, "a.npy", &npy("|u1", "(4294967297,)"), 5 * GIB, b"\x01"));
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    let lists = ply("binary_little_endian", 3, "list uint uchar b");
    let error = refused(sparse(&folder, "b.ply", &[&lists[..], &[255; 4]].concat(), 5 * GIB, b"\x01"));
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
}

#[test]
fn what_follows_in_a_huge_file_is_noted() {
    let folder = Folder::new("huge-tail").unwrap();
    let head = [&ply("binary_little_endian", 2, "uchar b")[..], &[7, 8]].concat();
    let path = sparse(&folder, "a.ply", &head, 6 * GIB, b"\x01");
    let loaded = Reader::new(path).tables().unwrap();
    assert_eq!(loaded.value.tables[0].columns[0].values, Values::U8([7, 8].into()));
    assert_eq!(loaded.report.warnings.counts()["extra-data"], 1);
    let path = sparse(&folder, "a.stl", &stl(1), 6 * GIB, b"\x01");
    let loaded = Reader::new(path).scene().unwrap();
    assert_eq!(loaded.value.meshes[0].faces.len(), 1);
    assert_eq!(loaded.report.warnings.counts()["trailing-bytes"], 1);
}

/// The last row is beyond 4 GiB.
#[test]
#[ignore = "takes 6 GB of memory"]
fn rows_past_4_gib_are_read() {
    let folder = Folder::new("huge-rows").unwrap();
    let rows = (4 * GIB + GIB / 8) / 4;
    let last = |values: &Values| match values {
        Values::F32(values) => (values.len() as u64, values[values.len() - 2], values[values.len() - 1]),
        _ => (0, 0.0, 0.0),
    };
    for (form, one_bytes) in [("binary_little_endian", 1f32.to_le_bytes()), ("binary_big_endian", 1f32.to_be_bytes())] {
        let head = ply(form, rows, "float b");
        let size = head.len() as u64 + 4 * rows;
        let path = sparse(&folder, "a.ply", &head, size, &one_bytes);
        let loaded = Reader::new(path).tables().unwrap();
        assert_eq!(last(&loaded.value.tables[0].columns[0].values), (rows, 0.0, 1.0), "{form}");
    }
    let head = npy("<f4", &format!("({rows},)"));
    let size = head.len() as u64 + 4 * rows;
    let path = sparse(&folder, "a.npy", &head, size, &1f32.to_le_bytes());
    let loaded = Reader::new(path).tables().unwrap();
    assert_eq!(last(&loaded.value.tables[0].columns[0].values), (rows, 0.0, 1.0), "npy");
    let count = (4 * GIB / 50 + 1000) as u32;
    let end = [&1f32.to_le_bytes()[..], &[0; 2]].concat();
    let path = sparse(&folder, "a.stl", &stl(count), 84 + 50 * u64::from(count), &end);
    let loaded = Reader::new(path).scene().unwrap();
    let mesh = &loaded.value.meshes[0];
    assert_eq!((mesh.faces.len(), mesh.positions.last()), (count as usize, Some(&[0.0, 0.0, 1.0])));
}

fn any_size() -> ReadOptions {
    ReadOptions::default().with_limits(Limits::default().with_pixels(u64::MAX))
}

/// The pixels exist, as holes, and exceed the default limit.
#[test]
fn images_of_65535_rows_and_columns_are_refused_by_their_limit() {
    let folder = Folder::new("huge-image").unwrap();
    for bits in [8, 16, 24, 32] {
        let kind = if bits < 24 { 3 } else { 2 };
        let head = tga(kind, NO_MAP, [u16::MAX; 2], [bits, 0], &[]);
        let size = 18 + 65_535 * 65_535 * u64::from(bits / 8);
        let path = sparse(&folder, "a.tga", &head, size, b"\x01");
        let error = Reader::new(path).image().map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(error.to_string().contains("65535 x 65535") && error.to_string().contains("`pixels`"), "{error}");
    }
    // One byte is missing: sizes do not wrap, and no memory is allocated.
    let head = tga(2, NO_MAP, [u16::MAX; 2], [32, 0], &[]);
    let end = 18 + 65_535 * 65_535 * 4 - 1;
    let path = sparse(&folder, "a.tga", &head, end, b"\x01");
    let error = Reader::new(path).options(&any_size()).image().map(drop).unwrap_err();
    assert_eq!((error.kind(), error.place().offset), (ErrorKind::Malformed, Some(end)), "{error}");
}

/// More than 2^32 samples, uncompressed and run-length encoded, with a different last pixel; also written.
#[test]
#[ignore = "takes 5 GB of memory"]
fn images_of_more_samples_than_2_to_the_32() {
    const SIZE: [u16; 2] = [65_535, 21_850];
    let folder = Folder::new("huge-samples").unwrap();
    let pixels = u64::from(SIZE[0]) * u64::from(SIZE[1]);
    let plain = tga(2, NO_MAP, SIZE, [24, 0x20], &[]);
    let plain = sparse(&folder, "plain.tga", &plain, 18 + 3 * pixels, &[1, 2, 3]);
    let whole = (pixels - 1) / 128;
    let rest = (pixels - 1) % 128;
    let runs = [&[0xFF, 0, 0, 0].repeat(whole as usize)[..], &[127 + rest as u8, 0, 0, 0], &[0, 1, 2, 3]].concat();
    let runs = folder.file("runs.tga", tga(10, NO_MAP, SIZE, [24, 0x20], &runs)).unwrap();
    for path in [plain, runs] {
        let image = Reader::new(path).options(&any_size()).image().unwrap().value;
        let Samples::U8(samples) = &image.samples else { panic!("TGA has bytes") };
        assert!(samples.len() as u64 == 3 * pixels && samples.len() > 1 << 32);
        assert!(
            samples.ends_with(&[0, 0, 0, 3, 2, 1]) && samples[..samples.len() - 3].iter().all(|&sample| sample == 0)
        );
        let output = Output::Writer(Box::new(std::io::sink()), "a.tga".into());
        let options = WriteOptions::default().with_format(Some(Format::Tga));
        assert_eq!(Writer::new(output).options(&options).image(&image).unwrap().bytes_out, 18 + 3 * pixels + 26);
    }
}

/// Blank lines between two parts.
struct Blanks {
    parts: [Vec<u8>; 2],
    left: u64,
}

impl Read for Blanks {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let part = if self.left > 0 && self.parts[0].is_empty() { None } else { Some(&mut self.parts) };
        if let Some([first, last]) = part {
            let part = if first.is_empty() { last } else { first };
            let count = out.len().min(part.len());
            out[..count].copy_from_slice(&part[..count]);
            part.drain(..count);
            return Ok(count);
        }
        let count = out.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        out[..count].fill(b'\n');
        self.left -= count as u64;
        Ok(count)
    }
}

/// Lines and offsets past 2^32 are reported correctly.
#[test]
#[ignore = "takes a minute"]
fn text_past_4_gib_has_true_places() {
    let head = ply("ascii", 2, "float b");
    let blanks = (1 << 32) + 5;
    let read = |name: &str, start: &[u8], end: &[u8]| {
        let reader = Blanks { parts: [start.to_vec(), end.to_vec()], left: blanks };
        let run = RunOptions::default().with_threads(Some(2));
        let table = TableReadOptions::default().with_types(ColumnTypes::All(polyhaul::model::Scalar::F32));
        let options = ReadOptions::default().with_run(run).with_table(table).with_limits(Limits::default());
        let input = Input::Reader(Box::new(reader), name.into());
        if name.ends_with("stl") {
            Reader::new(input).options(&options).scene().map(|loaded| loaded.value.meshes[0].faces.len())
        } else {
            Reader::new(input).options(&options).tables().map(|loaded| loaded.value.tables[0].row_count)
        }
    };
    let start = [&head[..], b"1\n"].concat();
    assert_eq!(read("a.ply", &start, b"2\n").unwrap(), 2);
    let facet = b"facet normal 0 0 1 outer loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1 0\nendloop endfacet endsolid";
    assert_eq!(read("a.stl", b"solid a\n", facet).unwrap(), 1);
    assert_eq!(read("a.csv", b"1,2\n", b"3,4\n").unwrap(), 2);
    for (name, start, end, lines) in [
        ("a.ply", &start[..], &b"x\n"[..], 6),
        ("a.stl", b"solid a\n", b"bogus\n", 1),
        ("a.csv", b"1,2\n", b"3,x\n", 1),
    ] {
        let error = read(name, start, end).unwrap_err();
        let place = error.place();
        assert_eq!(place.line, Some(lines + blanks + 1), "{error}");
        let column = if name == "a.csv" { 2 } else { 0 };
        assert_eq!(place.offset, Some(start.len() as u64 + blanks + column), "{error}");
    }
}
