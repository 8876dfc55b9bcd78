//! Written bytes in memory, and a comparison of texts.

use polyhaul::model::Scene;
use polyhaul::{Output, Result, WriteOptions, Writer};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A writer into shared memory: its clones share the bytes.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    /// A writer that does not allocate for the first `bytes` bytes.
    pub fn with_room(bytes: usize) -> Shared {
        Shared(Arc::new(Mutex::new(Vec::with_capacity(bytes))))
    }

    /// The bytes written so far. Holding the lock blocks writing.
    pub fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the bytes written so far.
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

/// The bytes written to a stream of this name.
pub fn try_named(scene: &Scene, name: &str, options: &WriteOptions) -> Result<Vec<u8>> {
    let shared = Shared::default();
    Writer::new(Output::Writer(Box::new(shared.clone()), name.into())).options(options).scene(scene)?;
    Ok(shared.take())
}

/// The bytes written to a stream.
pub fn try_bytes(scene: &Scene, options: &WriteOptions) -> Result<Vec<u8>> {
    try_named(scene, "memory", options)
}

/// The bytes written to a stream; panics on an error.
#[track_caller]
pub fn bytes(scene: &Scene, options: &WriteOptions) -> Vec<u8> {
    try_bytes(scene, options).unwrap()
}

/// The text that is written to a stream, without comments.
#[track_caller]
pub fn text(scene: &Scene, options: &WriteOptions) -> String {
    without_comments(&String::from_utf8(bytes(scene, options)).unwrap())
}

/// The lines except comments.
pub fn without_comments(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect()
}

/// The lines that start with a keyword.
pub fn lines<'a>(text: &'a str, keyword: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.split_ascii_whitespace().next() == Some(keyword)).collect()
}

/// The first line that differs, with its surroundings.
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
