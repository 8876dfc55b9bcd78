//! Jobs with a known cause: the files that they need, and those with a host, which the command does not have.
//!
//! Built without the libraries that polyhaul is compared with, so that `cargo xtask bench verdicts` needs little. Each
//! job is done once and prints a line of JSON like the command: its verdict, and the address of the host's lock, which
//! makes waiting for it observable from outside.

mod generate;
mod program;

use polyhaul::model::{Channels, Image, Samples};
use polyhaul::options::{Resolve, RunOptions};
use polyhaul::report::Verdict;
use polyhaul::trace::{Detail, Trace};
use polyhaul::{HostRead, Input, ReadOptions, Reader, Writer};
use program::Failure;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

const USAGE: &str = "\
usage: bench-jobs make FOLDER MEGABYTES
       bench-jobs small-reads|locks FOLDER THREADS
       bench-jobs level";

/// How many times smaller the file is that arrives in small pieces, and larger the array, whose values take less.
const SMALLER: u64 = 20;
const LARGER: u64 = 3;
/// How much a host's file returns each time: the minimum that a C library reads.
const SMALL_BYTES: usize = 512;
/// Meshes of the scene whose resolver has a lock, and the size of each.
const MESHES: usize = 600;
const MESH_VERTICES: usize = 2_000;
/// The number of pixels for each megabyte of the other files.
const PIXELS_PER_MEGABYTE: f64 = 256e3;

fn main() -> ExitCode {
    program::main("bench-jobs", run)
}

fn run(args: &[&str]) -> Result<(), Failure> {
    match args {
        ["make", folder, megabytes] => make(Path::new(folder), megabytes.parse()?),
        ["small-reads", folder, threads] => small_reads(Path::new(folder), threads.parse()?),
        ["locks", folder, threads] => locks(Path::new(folder), threads.parse()?),
        ["level"] => program::level(),
        _ => Err(USAGE.into()),
    }
}

/// Makes all files anew: a mesh as PLY and as OBJ, an array, a picture, a scene whose meshes are in files.
fn make(folder: &Path, megabytes: u64) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    let small = megabytes.div_ceil(SMALLER);
    for (kind, name, megabytes) in [
        ("ply-binary", "mesh.ply", megabytes),
        ("ply-binary", "small.ply", small),
        ("single", "mesh.obj", megabytes),
        ("table", "table.txt", megabytes * LARGER),
    ] {
        generate::main(kind, megabytes, &folder.join(name))?;
    }
    // The array next to it is what is read.
    std::fs::remove_file(folder.join("table.txt"))?;
    pictures(folder, (megabytes as f64 * PIXELS_PER_MEGABYTE).sqrt() as usize)?;
    scene(&folder.join("scene"))
}

/// Smooth colors with some grain, `side` pixels square.
fn pictures(folder: &Path, side: usize) -> Result<(), Failure> {
    let mut grain = 1_u32;
    let sample = |index: usize| {
        grain = grain.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((index / 3 % side / 8 + index / side / 24) % 200) as u8 + (grain >> 28) as u8
    };
    let samples = Samples::U8((0..side * side * 3).map(sample).collect::<Vec<u8>>().into());
    let image = Image { width: side, height: side, channels: Channels::Rgb, samples, ..Image::default() };
    for name in ["picture.png", "picture.tga"] {
        Writer::new(folder.join(name)).image(&image)?;
    }
    Ok(())
}

/// A pbrt scene of many meshes, each in a PLY file of text.
fn scene(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    let mut mesh = format!(
        "ply\nformat ascii 1.0\nelement vertex {MESH_VERTICES}\nproperty float x\nproperty float y\nproperty float z\n\
         element face 1\nproperty list uchar int vertex_indices\nend_header\n"
    );
    (0..MESH_VERTICES).for_each(|i| mesh.push_str(&format!("{}.25 {}.5 0.125\n", i % 97, i % 89)));
    mesh.push_str("3 0 1 2\n");
    let mut text = String::from("WorldBegin\n");
    for i in 0..MESHES {
        std::fs::write(folder.join(format!("{i}.ply")), &mesh)?;
        text.push_str(&format!("Shape \"plymesh\" \"string filename\" [ \"{i}.ply\" ]\n"));
    }
    Ok(std::fs::write(folder.join("scene.pbrt"), text)?)
}

/// A host that keeps no file open, and reads a piece of [`SMALL_BYTES`] each time.
struct Small {
    path: PathBuf,
    at: u64,
}

impl HostRead for Small {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let length = out.len().min(SMALL_BYTES);
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.at))?;
        let count = file.read(&mut out[..length])?;
        self.at += count as u64;
        Ok(count)
    }
}

fn small_reads(folder: &Path, threads: usize) -> Result<(), Failure> {
    let host = Small { path: folder.join("small.ply"), at: 0 };
    judge(Input::Host(Box::new(host), "small.ply".into()), None, threads, 0)
}

/// A host that looks at every file under one lock.
struct Library {
    folder: PathBuf,
    /// Sums of the files that were handed out.
    sums: Mutex<Vec<u64>>,
}

impl Library {
    /// The file's bytes, whose checksum is recorded: like a cache that verifies its content.
    fn file(&self, name: &str) -> std::io::Result<Option<Input>> {
        let mut sums = self.sums.lock().unwrap_or_else(|poison| poison.into_inner());
        let bytes = std::fs::read(self.folder.join(name))?;
        let mix = |sum: u64, &byte: &u8| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3).rotate_left(5);
        sums.push((0..SUMS).fold(0, |sum, _| bytes.iter().fold(sum, mix)));
        Ok(Some(Input::Memory(bytes, name.into())))
    }
}

/// How often a file is summed up: more work than reading it.
const SUMS: usize = 40;

fn locks(folder: &Path, threads: usize) -> Result<(), Failure> {
    let library = Arc::new(Library { folder: folder.join("scene"), sums: Mutex::default() });
    let lock = &raw const library.sums as usize;
    let main = Input::Path(library.folder.join("scene.pbrt"));
    let resolver = Resolve(Arc::new(move |name: &str| library.file(name)));
    judge(main, Some(resolver), threads, lock)
}

/// Reads, and prints what limited it.
fn judge(input: Input, resolver: Option<Resolve>, threads: usize, lock: usize) -> Result<(), Failure> {
    let trace = Trace::new(Detail::Totals);
    let run = RunOptions::default().with_threads(Some(threads)).with_trace(Some(trace.clone()));
    let loaded = Reader::new(input).options(&ReadOptions::default().with_run(run).with_resolver(resolver)).scene()?;
    let verdict = Verdict::from_recording(&trace.recording(), &loaded.report.facts(), None);
    let Verdict { bound, share, seconds, .. } = &verdict;
    let bound = bound.name();
    println!(
        "{{\"verdict\": {{\"bound\": \"{bound}\", \"share\": {share}, \"seconds\": {seconds}}}, \"lock\": {lock}}}"
    );
    Ok(())
}
