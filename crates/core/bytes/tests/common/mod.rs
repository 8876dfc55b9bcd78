//! Helpers for tests: separate folders, hostile readers, and pseudorandom numbers.
#![allow(dead_code, reason = "no test binary uses all of it")]

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

static SERIAL: AtomicU64 = AtomicU64::new(0);

/// A new folder that is removed at the end of the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let name = format!("bytes-{}-{serial}", std::process::id());
        // Makes the drive explicit if the tests were compiled on another system.
        let path = std::path::absolute(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)).unwrap();
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Returns the names in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<_> = entries.map(name).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A small pseudorandom generator with a seed, so that failures are reproducible.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }
}

/// The response of a hostile reader to a call.
pub(crate) enum Answer {
    Give(usize),
    Fail(io::ErrorKind),
    /// Claims to have read this many bytes, however many were requested.
    Claim(usize),
}

/// A reader whose responses are a function of the call's number and the number of requested bytes.
pub(crate) struct Hostile<F> {
    pub(crate) data: Vec<u8>,
    pub(crate) at: usize,
    pub(crate) call: usize,
    pub(crate) answer: F,
}

pub(crate) fn hostile<F: FnMut(usize, usize) -> Answer>(data: &[u8], answer: F) -> Box<Hostile<F>> {
    Box::new(Hostile { data: data.to_vec(), at: 0, call: 0, answer })
}

impl<F: FnMut(usize, usize) -> Answer> Read for Hostile<F> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.call += 1;
        match (self.answer)(self.call - 1, out.len()) {
            Answer::Fail(kind) => Err(kind.into()),
            Answer::Claim(count) => Ok(count),
            Answer::Give(max_count) => {
                let rest = &self.data[self.at..];
                let count = max_count.min(rest.len()).min(out.len());
                out[..count].copy_from_slice(&rest[..count]);
                self.at += count;
                Ok(count)
            }
        }
    }
}
