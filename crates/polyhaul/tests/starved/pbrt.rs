//! pbrt: a failed allocation is an error, never an abort, and a failed write leaves the folder unchanged.

use polyhaul::options::{OnError, PbrtMeshes, PbrtWriteOptions, RunOptions};
use polyhaul::{Input, ReadOptions, Reader, WriteOptions, Writer};
use polyhaul_testkit::pbrt::{self, Layout, Spec};
use polyhaul_testkit::starve::{Plan, every_allocation};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

fn run(threads: usize) -> RunOptions {
    RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(Some(20_000))
}

/// Reads a generated scene with its meshes.
fn reading(test: &str, threads: usize, layout: Layout) {
    let test = &format!("pbrt::{test}");
    every_allocation(Plan::of(test), |folder| {
        let main = pbrt::write(&Spec { layout, parts: 3, ..Spec::new(100_000) }, folder).unwrap().main;
        let options = ReadOptions::default().with_run(run(threads));
        (move || Reader::new(&main).options(&options).scene().map(drop), |_| ())
    });
}

#[test]
fn reading_one_file() {
    reading("reading_one_file", 1, Layout::OneFile);
}

#[test]
fn reading_imports_on_two_threads() {
    reading("reading_imports_on_two_threads", 2, Layout::Imports);
}

/// Many elements of every kind, and many faults.
fn mixed() -> String {
    let mut text = "WorldBegin\n".to_owned();
    for n in 0..400 {
        let name = format!("{n}{}", "x".repeat(if n % 50 == 0 { 2000 } else { 0 }));
        write!(
            text,
            "Texture \"{name}\" \"float\" \"constant\" \"float value\" {n}\nMakeNamedMaterial \"{name}\"\n\
             NamedMaterial \"{n}-\"\nMakeNamedMedium \"{name}\"\nCoordinateSystem \"{name}\"\nAttributeBegin\n\
             Attribute \"shape\" \"bool b\" true\nAreaLightSource \"diffuse\"\nActiveTransform EndTime Translate 1 2 {n}\n\
             Shape \"sphere\" \"integer i\" [ {n} 2 ] \"string \u{e9}\" \"a\\n{name}\"\nAttributeEnd\nFoo{n}\n\
             MakeNamedMaterial \"m{n}\" MakeNamedMaterial \"o{n}\" MakeNamedMaterial \"p{n}\" MakeNamedMaterial \"q{n}\"\n\
             ObjectBegin \"{name}\" Shape \"disk\" ObjectEnd ObjectInstance \"{n}-\"\nLightSource \"point\"\nMaterial \"a\"\n\
             Shape \"plymesh\" \"string filename\" \"{n}.ply\"\nTransform [ 1 2 ]\nShape \"curve\" \"float a\" [ {n} {n}\n"
        )
        .unwrap();
    }
    text + &"AttributeBegin\n".repeat(200)
}

#[test]
fn reading_what_is_broken() {
    every_allocation(Plan::of("pbrt::reading_what_is_broken"), |folder| {
        let path = folder.join("mixed.pbrt");
        fs::write(&path, mixed()).unwrap();
        let options = ReadOptions::default().with_run(run(2)).with_on_error(OnError::Warn);
        (move || Reader::new(&path).options(&options).scene().map(drop), |_| ())
    });
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    files.map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

/// Writes to a folder in which some of the files already exist.
fn writing(test: &str, threads: usize, style: PbrtWriteOptions, name: &'static str, text: fn(&Path) -> Input) {
    let test = &format!("pbrt::{test}");
    // Files make each round slow, so some of hundreds of allocations are skipped.
    let plan = Plan { next: |number| number + 1 + number / 40, ..Plan::of(test) };
    every_allocation(plan, |folder| {
        let options = ReadOptions::default().with_load_meshes(false).with_on_error(OnError::Warn);
        let scene = Reader::new(text(folder)).options(&options).scene().unwrap().value;
        let out = folder.join("out");
        let _ = fs::remove_dir_all(&out);
        fs::create_dir(&out).unwrap();
        let options = WriteOptions::default().with_run(run(threads)).with_pbrt(style);
        let target = out.join(name);
        let write = move || Writer::new(&target).options(&options).scene(&scene).map(drop);
        write().unwrap();
        let new = contents(&out);
        assert!(new.len() > 1 || style.parts == 0);
        // Every other file already exists, with other content.
        let old: BTreeMap<_, _> = new.keys().step_by(2).map(|name| (name.clone(), b"old".to_vec())).collect();
        let reset = move |out: &Path| {
            contents(out).keys().for_each(|name| fs::remove_file(out.join(name)).unwrap());
            old.iter().for_each(|(name, bytes)| fs::write(out.join(name), bytes).unwrap());
            old.clone()
        };
        reset(&out);
        let check = move |is_well: bool| {
            let actual = contents(&out);
            let expected = if is_well { new.clone() } else { reset(&out) };
            assert!(actual == expected, "{:?}, not {:?}", actual.keys(), expected.keys());
            reset(&out);
        };
        (write, check)
    });
}

fn mixed_input(_: &Path) -> Input {
    Input::Memory(mixed().into_bytes(), "x.pbrt".into())
}

#[test]
fn writing_one_file() {
    writing("writing_one_file", 1, PbrtWriteOptions::default(), "a.pbrt", mixed_input);
}

#[test]
fn writing_parts_compressed() {
    let style = PbrtWriteOptions::default().with_parts(3).with_compact(true);
    writing("writing_parts_compressed", 2, style, "a.pbrt.gz", mixed_input);
}

#[test]
fn writing_parts_and_meshes() {
    let style = PbrtWriteOptions::default().with_parts(3).with_meshes(PbrtMeshes::Ply { vertices: 30 });
    writing("writing_parts_and_meshes", 2, style, "a.pbrt", |_| {
        let points: String = (0..400).map(|n| format!("{n} 0 {} ", n % 3)).collect();
        let mesh = format!("Shape \"trianglemesh\" \"point3 P\" [ {points} ] \"integer indices\" [ 0 1 2 ]\n");
        Input::Memory((mixed() + &mesh.repeat(4)).into_bytes(), "x.pbrt".into())
    });
}

#[test]
fn writing_meshes_of_programs() {
    let style = PbrtWriteOptions::default().with_parts(2).with_meshes(PbrtMeshes::Ply { vertices: 30 });
    writing("writing_meshes_of_programs", 1, style, "a.pbrt", |_| {
        Input::Path(polyhaul_testkit::corpus::root().join("obj/blender/splash60.obj"))
    });
}
