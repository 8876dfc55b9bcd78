//! PLY, STL, OFF and conversions as tables: a failed allocation is an error, never an abort.

use polyhaul::options::{RunOptions, StlReadOptions};
use polyhaul::{Format, ReadOptions, WriteOptions};
use polyhaul_testkit::corpus;
use polyhaul_testkit::options::PlyEncoding;
use polyhaul_testkit::starve::{Plan, every_allocation, every_allocation_of_writing};

fn check(test: &str, threads: usize, to_file: bool, format: Format, is_text: bool) {
    let test = &format!("formats::{test}");
    every_allocation_of_writing(Plan::of(test), to_file, || {
        let scene = polyhaul::read(corpus::root().join("obj/blender/splash60.obj")).unwrap();
        let run = RunOptions::default().with_threads(Some(threads));
        let encoding = if is_text { PlyEncoding::Ascii } else { PlyEncoding::LittleEndian };
        (scene, encoding.options().with_format(Some(format)).with_run(run))
    });
}

#[test]
fn ply_as_bytes() {
    check("ply_as_bytes", 1, false, Format::Ply, false);
}

#[test]
fn ply_as_text_on_two_threads() {
    check("ply_as_text_on_two_threads", 2, false, Format::Ply, true);
}

#[test]
fn ply_into_a_file() {
    check("ply_into_a_file", 2, true, Format::Ply, false);
}

#[test]
fn off_on_two_threads() {
    check("off_on_two_threads", 2, false, Format::Off, true);
}

#[test]
fn stl_as_bytes() {
    check("stl_as_bytes", 2, false, Format::Stl, false);
}

#[test]
fn stl_as_text() {
    check("stl_as_text", 1, true, Format::Stl, true);
}

/// Reads welded STL, PLY or OFF of a scene that fills several chunks.
fn check_reading(test: &str, threads: usize, ascii: bool, name: &'static str) {
    let test = &format!("formats::{test}");
    every_allocation(Plan::of(test), |folder| {
        let scene = polyhaul::read(corpus::root().join("obj/blender/splash60.obj")).unwrap();
        let path = folder.join(name);
        let options = if ascii { PlyEncoding::Ascii } else { PlyEncoding::BigEndian }.options();
        polyhaul::Writer::new(&path).options(&options).scene(&scene).unwrap();
        let run = RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(Some(20_000));
        let options = ReadOptions::default().with_run(run).with_stl(StlReadOptions::default().with_weld(true));
        (move || polyhaul::Reader::new(&path).options(&options).scene().map(drop), |_| {})
    });
}

#[test]
fn reading_bytes() {
    check_reading("reading_bytes", 1, false, "a.stl");
}

#[test]
fn reading_text_on_two_threads() {
    check_reading("reading_text_on_two_threads", 2, true, "a.stl");
}

#[test]
fn reading_ply_bytes_on_two_threads() {
    check_reading("reading_ply_bytes_on_two_threads", 2, false, "a.ply");
}

#[test]
fn reading_ply_text() {
    check_reading("reading_ply_text", 1, true, "a.ply");
}

#[test]
fn reading_off_on_two_threads() {
    check_reading("reading_off_on_two_threads", 2, true, "a.off");
}

/// Converts PLY to a table, and back.
#[test]
fn over_tables() {
    every_allocation(Plan::of("formats::over_tables"), |folder| {
        let points = folder.join("a.ply");
        let table = folder.join("b.csv");
        let text: String = (0..500).map(|i| format!("{i},{i}.5,-1,{},0,7,{i}e9\n", i % 256)).collect();
        std::fs::write(&table, format!("# remark\nX,y,z,red,green,blue,my value\n{text}")).unwrap();
        let run = RunOptions::default().with_threads(Some(1));
        let read = ReadOptions::default();
        let write = WriteOptions::default().with_run(run.clone());
        let read = read.with_run(run);
        let there_and_back = move || {
            let output = |path: &std::path::Path| polyhaul::Output::Path(path.into());
            polyhaul::Reader::new(&table)
                .options(&read)
                .convert(polyhaul::Writer::new(output(&points)).options(&write))?;
            polyhaul::Reader::new(&points)
                .options(&read)
                .convert(polyhaul::Writer::new(output(&points.with_extension("xyz"))).options(&write))
                .map(drop)
        };
        (there_and_back, |_| {})
    });
}
