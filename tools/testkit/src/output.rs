//! Writes scenes to memory, and compares text.

use polyhaul::model::Scene;
use polyhaul::{Output, Result, WriteOptions, Writer};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Writer into a shared buffer; clones write to the same buffer.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    /// Creates a buffer that does not reallocate for the first `bytes` bytes.
    pub fn with_room(bytes: usize) -> Shared {
        Shared(Arc::new(Mutex::new(Vec::with_capacity(bytes))))
    }

    /// Locks the bytes written so far; blocks writers while held.
    pub fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes and returns the bytes written so far.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.lock())
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a scene to a stream called `name`.
pub fn try_named(scene: &Scene, name: &str, options: &WriteOptions) -> Result<Vec<u8>> {
    let shared = Shared::default();
    Writer::new(Output::Writer(Box::new(shared.clone()), name.into())).options(options).scene(scene)?;
    Ok(shared.take())
}

/// Writes a scene to a stream.
pub fn try_bytes(scene: &Scene, options: &WriteOptions) -> Result<Vec<u8>> {
    try_named(scene, "memory", options)
}

/// Writes a scene to a stream; panics on errors.
#[track_caller]
pub fn bytes(scene: &Scene, options: &WriteOptions) -> Vec<u8> {
    try_bytes(scene, options).unwrap()
}

/// Writes a scene to a stream and returns the text without comments; panics on errors.
#[track_caller]
pub fn text(scene: &Scene, options: &WriteOptions) -> String {
    without_comments(&String::from_utf8(bytes(scene, options)).unwrap())
}

/// Removes lines that start with `#`.
pub fn without_comments(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect()
}

/// Returns the lines whose first word is `keyword`.
pub fn lines<'a>(text: &'a str, keyword: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.split_ascii_whitespace().next() == Some(keyword)).collect()
}

/// Describes the first line that differs, with its context.
pub fn difference(actual: &str, expected: &str) -> String {
    let same = actual.lines().zip(expected.lines()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let lines: Vec<_> = text.lines().skip(same.saturating_sub(6)).take(12).collect();
        lines.join("\n")
    };
    let number = same + 1;
    let actual = around(actual);
    let expected = around(expected);
    format!("line {number}\n--- found\n{actual}\n--- expected\n{expected}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_taken_apart() {
        let text = "# one\nv 1\nvn 2\n v 3\n";
        assert_eq!(without_comments(text), "v 1\nvn 2\n v 3\n");
        assert_eq!(lines(text, "v"), ["v 1", " v 3"]);
        assert!(difference("a\nb\n", "a\nc\n").starts_with("line 2\n--- found\na\nb\n---"));
    }

    #[test]
    fn clones_share_their_bytes() {
        let shared = Shared::default();
        shared.clone().write_all(b"abc").unwrap();
        assert_eq!((shared.take(), shared.lock().len()), (b"abc".to_vec(), 0));
    }
}
