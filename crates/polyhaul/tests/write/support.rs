//! What the tests of writing share: a writer into memory, options, folders, comparisons.

use polyhaul::model::Scene;
use polyhaul::options::{ObjOptions, RunOptions};
use polyhaul::{Input, Output, ReadOptions, Result, WriteOptions};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

pub const THREADS: [usize; 5] = [1, 2, 3, 7, 64];

/// A writer into memory that somebody else can look at.
#[derive(Clone, Default)]
pub struct Shared(pub Arc<Mutex<Vec<u8>>>);

impl Shared {
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub fn run(threads: usize, chunk_bytes: Option<usize>) -> RunOptions {
    RunOptions { threads: Some(threads), chunk_bytes, ..RunOptions::default() }
}

pub fn with(obj: ObjOptions) -> WriteOptions {
    WriteOptions { obj, run: run(1, None), ..WriteOptions::default() }
}

/// The options for one thread.
pub fn plain() -> WriteOptions {
    with(ObjOptions::default())
}

/// What is written to a stream.
pub fn try_bytes(scene: &Scene, options: &WriteOptions) -> Result<Vec<u8>> {
    let shared = Shared::default();
    polyhaul::save(scene, Output::Writer(Box::new(shared.clone()), "memory".into()), options)?;
    Ok(shared.take())
}

#[track_caller]
pub fn bytes(scene: &Scene, options: &WriteOptions) -> Vec<u8> {
    try_bytes(scene, options).unwrap()
}

/// The text without comments.
#[track_caller]
pub fn text(scene: &Scene, options: &WriteOptions) -> String {
    without_comments(&String::from_utf8(bytes(scene, options)).unwrap())
}

pub fn without_comments(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect()
}

pub fn parse(text: impl Into<Vec<u8>>) -> Result<Scene> {
    let options = ReadOptions { run: run(1, None), ..ReadOptions::default() };
    Ok(polyhaul::load(Input::Memory(text.into(), "memory.obj".into()), &options)?.scene)
}

#[track_caller]
pub fn read(text: impl Into<Vec<u8>>) -> Scene {
    parse(text).unwrap()
}

/// Scenes as text, since not a number is not equal to itself.
#[track_caller]
pub fn assert_same(found: &Scene, expected: &Scene, what: &str) {
    let (found, expected) = (format!("{found:#?}"), format!("{expected:#?}"));
    assert!(found == expected, "{what}: {}", difference(&found, &expected));
}

/// The first line that differs, with what is around it.
pub fn difference(found: &str, expected: &str) -> String {
    let same = found.lines().zip(expected.lines()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let lines: Vec<_> = text.lines().skip(same.saturating_sub(3)).take(6).collect();
        lines.join("\n")
    };
    let (number, found, expected) = (same + 1, around(found), around(expected));
    format!("line {number}\n--- found\n{found}\n--- expected\n{expected}")
}

/// The lines that begin with a keyword.
pub fn lines<'a>(text: &'a str, keyword: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.split_ascii_whitespace().next() == Some(keyword)).collect()
}

/// A folder of the test data below `testdata/obj`.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/obj").join(name)
}

/// All `.obj` files below a folder of the test data, by name.
pub fn samples(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![data(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "obj") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 9, "{folder}: {found:?}");
    found
}

/// An empty folder for one test, which goes away at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("write-{}-{serial}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
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
#[derive(Clone)]
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
}
