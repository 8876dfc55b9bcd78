//! Makes every large allocation while reading fail once: the result must be an error.

use polyhaul::{Input, ReadOptions, Reader};
use polyhaul_testkit::alloc::Failing;
use polyhaul_testkit::generate;
use polyhaul_testkit::random::Random;
use polyhaul_testkit::starve::{Plan, every_allocation, is_child};
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[global_allocator]
static ALLOCATOR: Failing = Failing;

/// Tries all allocations up to this number, and a sample of later ones.
const ALL_BELOW: u64 = 300;

/// Writes a scene with all kinds of statements, a library, short and long names, and warnings.
fn scene(folder: &Path) -> PathBuf {
    let mut random = Random::new(51);
    let mut text = generate::random(&mut random, 1500);
    generate::grid(200_000, &mut text).unwrap();
    generate::objects(600, &mut text).unwrap();
    let mut more = String::new();
    for index in 0..400 {
        let _ = write!(more, "g group {index}\nusemtl material {index}\nf -1 -2 -3\nnothing\nv nan 0 0 1 1 1\n");
    }
    let long = "n".repeat(3000);
    let _ = write!(more, "o {long}\ng {long}\nusemtl {long}\nmtllib {long}\nf 1 2 3{}\n", " 4".repeat(3000));
    text.extend_from_slice(more.as_bytes());
    text.extend_from_slice(b"\nmtllib x.mtl\n");
    let mut library = String::new();
    for index in 0..400 {
        let _ = write!(library, "newmtl material {index}\nKd 1 1 1\nmap_Kd x.png\nodd {index}\n");
    }
    let _ = write!(library, "newmtl {long}\nmap_Kd {long}\nodd {long}\nKd 1 1 \\\n 1{}\n", " ".repeat(2000));
    std::fs::write(folder.join("x.mtl"), library).unwrap();
    let path = folder.join("x.obj");
    std::fs::write(&path, text).unwrap();
    path
}

fn check(test: &str, threads: usize) {
    let next = |number| number + if number < ALL_BELOW { 1 } else { 7 + number / 20 };
    every_allocation(Plan { next, ..Plan::of(test) }, |folder| {
        let path = scene(folder);
        let mut options = ReadOptions::default();
        options.run.threads = Some(threads);
        options.run.chunk_bytes = Some(16 << 10);
        let read = move || Reader::new(&path).options(&options).scene().map(drop);
        read().unwrap();
        (read, drop)
    });
}

#[test]
fn with_one_thread() {
    check("with_one_thread", 1);
}

#[test]
fn with_three_threads() {
    check("with_three_threads", 3);
}

/// Self-test: an unchecked allocation aborts the process, and must be reported.
#[test]
fn a_process_that_ends_is_found() {
    let plan = Plan { least_errors: 0, ..Plan::of("a_process_that_ends_is_found") };
    let work = || {
        std::hint::black_box(Vec::<u8>::with_capacity(5000));
        Ok(())
    };
    let result = std::panic::catch_unwind(|| every_allocation(plan, |_| (work, drop)));
    assert_eq!(result.is_err(), !is_child());
}

/// Generates a PLY file with all kinds of columns and lists, short and long comments, and errors.
fn ply(form: &str) -> Vec<u8> {
    let rows = 3000u32;
    let long = "n".repeat(3000);
    let mut header = format!("ply\nformat {form} 1.0\ncomment {long}\nobj_info {long}\n");
    let _ = write!(header, "element vertex {rows}\nproperty float x\nproperty float y\nproperty float z\n");
    (0..200).for_each(|n| _ = writeln!(header, "comment {n}\nproperty uchar u{n}"));
    let _ = write!(header, "element face {rows}\nproperty list uchar int vertex_indices\nproperty short s\n");
    let _ = write!(header, "element {long} 300\nproperty list int uchar a\nproperty list uchar double b\nend_header\n");
    let mut file = header.into_bytes();
    let number = |file: &mut Vec<u8>, bytes: &[u8], text: String| match form {
        "ascii" => file.extend(format!("{text} ").bytes()),
        _ => file.extend_from_slice(bytes),
    };
    let end = |file: &mut Vec<u8>| {
        if form == "ascii" {
            file.push(b'\n')
        }
    };
    for row in 0..rows {
        (0..3).for_each(|_| number(&mut file, &(row as f32).to_le_bytes(), row.to_string()));
        (0..200).for_each(|n| number(&mut file, &[n], n.to_string()));
        end(&mut file);
    }
    for row in 0..rows {
        let corners = 3 + u32::from(row > 2000);
        number(&mut file, &[corners as u8], corners.to_string());
        let bad = if row % 500 == 0 { rows } else { 0 };
        (0..corners).for_each(|n| number(&mut file, &(n + bad).to_le_bytes(), (n + bad).to_string()));
        number(&mut file, &[1, 0], "1".into());
        end(&mut file);
    }
    for _ in 0..300 {
        number(&mut file, &[2, 0, 0, 0], "2".into());
        (0..2).for_each(|_| number(&mut file, &[7], "7".into()));
        number(&mut file, &[1], "1".into());
        number(&mut file, &1.5f64.to_le_bytes(), "1.5".into());
        // Omits most line ends, so that lines do not match rows.
        if file.len() % 3 == 0 {
            end(&mut file);
        }
    }
    file
}

fn check_ply(test: &str, form: &'static str) {
    let next = |number| number + if number < ALL_BELOW { 1 } else { 7 + number / 20 };
    every_allocation(Plan { next, ..Plan::of(test) }, |folder| {
        let path = folder.join("x.ply");
        std::fs::write(&path, ply(form)).unwrap();
        let mut options = ReadOptions::default().with_on_error(polyhaul::options::OnError::Warn);
        options.run.threads = Some(2);
        options.run.chunk_bytes = Some(64 << 10);
        let read = move || {
            Reader::new(&path).options(&options).scene()?;
            let stream = std::fs::File::open(&path).unwrap();
            polyhaul::Reader::new(Input::Reader(Box::new(stream), "x.ply".into())).options(&options).tables().map(drop)
        };
        read().unwrap();
        (read, drop)
    });
}

#[test]
fn ply_of_text() {
    check_ply("ply_of_text", "ascii");
}

#[test]
fn ply_of_bytes() {
    check_ply("ply_of_bytes", "binary_little_endian");
}
