//! What these tests share: a writer into memory, options, folders, random numbers, comparisons.

use polyhaul::model::Scene;
use polyhaul::options::{ObjOptions, RunOptions};
use polyhaul::{Output, Result, WriteOptions};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

pub const THREADS: [usize; 5] = [1, 2, 3, 7, 64];
pub const CHUNKS: [Option<usize>; 3] = [None, Some(1), Some(100)];
pub const LIMITS: [u64; 2] = [64 << 20, 1];

/// A writer into memory that somebody else can look at.
#[derive(Clone, Default)]
pub struct Shared(pub Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub fn run(threads: usize, chunk_bytes: Option<usize>, memory_limit: u64) -> RunOptions {
    RunOptions { threads: Some(threads), chunk_bytes, memory_limit, ..RunOptions::default() }
}

pub fn with(obj: &ObjOptions) -> WriteOptions {
    with_run(obj, run(1, None, LIMITS[0]))
}

pub fn with_run(obj: &ObjOptions, run: RunOptions) -> WriteOptions {
    WriteOptions { obj: obj.clone(), run, ..WriteOptions::default() }
}

/// The options for one thread.
pub fn plain() -> WriteOptions {
    with(&ObjOptions::default())
}

/// What is written to a stream of this name.
pub fn try_named(scene: &Scene, name: &str, options: &WriteOptions) -> Result<Vec<u8>> {
    let shared = Shared::default();
    polyhaul::save(scene, Output::Writer(Box::new(shared.clone()), name.into()), options)?;
    let bytes = std::mem::take(&mut *shared.0.lock().unwrap());
    Ok(bytes)
}

pub fn try_bytes(scene: &Scene, options: &WriteOptions) -> Result<Vec<u8>> {
    try_named(scene, "memory", options)
}

#[track_caller]
pub fn bytes(scene: &Scene, options: &WriteOptions) -> Vec<u8> {
    try_bytes(scene, options).unwrap()
}

/// The text without the comment at its beginning.
#[track_caller]
pub fn text(scene: &Scene, options: &WriteOptions) -> String {
    without_comments(&String::from_utf8(bytes(scene, options)).unwrap())
}

pub fn without_comments(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect()
}

/// The first line that differs, with what is around it.
pub fn difference(found: &str, expected: &str) -> String {
    let same = found.lines().zip(expected.lines()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let lines: Vec<_> = text.lines().skip(same.saturating_sub(6)).take(12).collect();
        lines.join("\n")
    };
    let (number, found, expected) = (same + 1, around(found), around(expected));
    format!("line {number}\n--- found\n{found}\n--- expected\n{expected}")
}

/// The lines that begin with a keyword.
pub fn lines<'a>(text: &'a str, keyword: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.split_ascii_whitespace().next() == Some(keyword)).collect()
}

/// An empty folder for one test, which goes away at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("evaluated-{}-{serial}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.join(name)).unwrap_or_else(|error| format!("{name}: {error}"))
    }

    /// The names of all that is in it, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Numbers that look random and are the same every time.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.bits()) * limit as u128) >> 64) as usize
    }

    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// From -1 to 1.
    pub fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}
