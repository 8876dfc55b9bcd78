//! Where the bytes of a file's buffers come from: the second chunk of a `.glb`, `data:` URIs, or other files.
//!
//! A buffer is opened when it is first used. The chunk of a file that can be read at any place is read through windows,
//! so it is never in memory as a whole; other buffers are. Nothing here knows what the bytes mean, and which files may
//! be opened is up to the caller.

use crate::document::Buffer;
use crate::log::{malformed, unsupported};
use crate::uri::{Target, decode_data, target};
use polyhaul_model::error::{Diagnostic, Error, Result};
use polyhaul_pipeline::bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;

/// Reads the first bytes of a file that a scene names: its name, and the maximum number of bytes needed. A file that
/// has two names should be the same memory each time.
pub type OpenFile<'f> = dyn FnMut(&str, u64) -> Result<Arc<Vec<u8>>> + 'f;

/// The most bytes that are requested at once.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// The fewest bytes that a window reads: small values that follow one another are read together.
const WINDOW_BYTES: u64 = 64 << 10;

/// The number of windows. Files keep positions, normals and indices in different places, and a mesh uses all of them.
const WINDOWS: usize = 32;

/// The second chunk of a `.glb`.
pub(crate) enum Binary<'a> {
    /// There is none.
    Missing,
    /// All of it.
    Whole(Arc<Vec<u8>>),
    /// Where it is in the file.
    Placed(Windows<'a>),
}

/// The buffers of a file.
pub(crate) struct Buffers<'a, 'f> {
    list: &'a [Buffer],
    binary: Binary<'a>,
    opened: Vec<Opened>,
    /// The files that were read, by name.
    files: HashMap<String, Arc<Vec<u8>>>,
    open_file: &'f mut OpenFile<'f>,
    /// The size of the largest buffer.
    longest: u64,
}

/// A buffer that may be open.
#[derive(Clone, Default)]
enum Opened {
    #[default]
    Not,
    /// The second chunk.
    Chunk,
    Whole(Arc<Vec<u8>>),
}

impl<'a, 'f> Buffers<'a, 'f> {
    pub(crate) fn new(list: &'a [Buffer], binary: Binary<'a>, open_file: &'f mut OpenFile<'f>) -> Result<Self> {
        let mut opened = Vec::new();
        opened.try_reserve_exact(list.len())?;
        opened.resize(list.len(), Opened::Not);
        let longest = list.iter().map(|buffer| buffer.byte_length).max().unwrap_or(0);
        Ok(Buffers { list, binary, opened, files: HashMap::new(), open_file, longest })
    }

    /// Opens a buffer; returns how many bytes it adds to those that are open.
    pub(crate) fn open(&mut self, index: usize) -> Result<u64> {
        let list = self.list;
        let buffer = list.get(index).ok_or_else(|| malformed(format!("buffers[{index}] does not exist")))?;
        if !matches!(self.opened[index], Opened::Not) {
            return Ok(0);
        }
        let (opened, len, is_new) = match &buffer.uri {
            None => self.chunk(index, buffer)?,
            Some(uri) => self.of_uri(uri).map_err(|error| about(index, error))?,
        };
        if len < buffer.byte_length {
            let message = format!("buffers[{index}]: byteLength is {}, but there are {len} bytes", buffer.byte_length);
            return Err(malformed(message));
        }
        self.opened[index] = opened;
        Ok(if is_new { buffer.byte_length } else { 0 })
    }

    /// The bytes of an open buffer; at most [`PIECE_BYTES`] within its length.
    pub(crate) fn piece(&mut self, index: usize, offset: u64, len: usize) -> Result<&[u8]> {
        let whole = match (self.opened.get(index), &mut self.binary) {
            (Some(Opened::Chunk), Binary::Placed(windows)) => return windows.piece(offset, len),
            (Some(Opened::Chunk), Binary::Whole(bytes)) => bytes,
            (Some(Opened::Whole(bytes)), _) => bytes,
            _ => return Err(malformed(format!("buffers[{index}] is not open"))),
        };
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let piece = whole.get(start..).and_then(|rest| rest.get(..len));
        piece.ok_or_else(|| malformed(format!("buffers[{index}] is too short")))
    }

    /// A buffer without a URI: the second chunk.
    fn chunk(&self, index: usize, buffer: &Buffer) -> Result<(Opened, u64, bool)> {
        let len = match &self.binary {
            Binary::Whole(bytes) if index == 0 => bytes.len() as u64,
            Binary::Placed(windows) if index == 0 => windows.len,
            _ => {
                let fallback = buffer.extensions.keys().find(|name| name.ends_with("_meshopt_compression"));
                return Err(match fallback {
                    Some(name) => unsupported(format!("buffers[{index}] has no data without the extension `{name}`")),
                    None => malformed(format!("buffers[{index}] has no data: neither a URI nor a binary chunk")),
                });
            }
        };
        Ok((Opened::Chunk, len, true))
    }

    fn of_uri(&mut self, uri: &str) -> Result<(Opened, u64, bool)> {
        let name = match target(uri)? {
            Target::Data(data, is_base64) => {
                let bytes = decode_data(data, is_base64)?;
                let len = bytes.len() as u64;
                return Ok((Opened::Whole(Arc::new(bytes)), len, true));
            }
            Target::File(name) => name,
        };
        if let Some(bytes) = self.files.get(&name) {
            return Ok((Opened::Whole(bytes.clone()), bytes.len() as u64, false));
        }
        // Buffers may be beginnings of the same file, which is read once.
        let bytes = (self.open_file)(&name, self.longest)?;
        let is_new = !self.files.values().any(|known| Arc::ptr_eq(known, &bytes));
        let len = bytes.len() as u64;
        self.files.try_reserve(1).map_err(|_| Error::memory("names"))?;
        self.files.insert(name, bytes.clone());
        Ok((Opened::Whole(bytes), len, is_new))
    }
}

/// The same error, which also names the buffer.
fn about(index: usize, error: Error) -> Error {
    if error.io_error().is_some() || !error.place().file.is_empty() {
        return error;
    }
    let message = format!("buffers[{index}]: {}", error.diagnostic().message);
    Diagnostic { message, ..error.diagnostic().clone() }.into_error(error.kind())
}

/// Parts of a file that are in memory.
pub(crate) struct Windows<'a> {
    bytes: &'a Bytes<'a>,
    /// Where the chunk begins, and its size.
    offset: u64,
    len: u64,
    windows: Vec<Window>,
    /// Counts uses: the window that was not used for the longest time is replaced.
    now: u64,
}

/// A part of a file.
struct Window {
    start: u64,
    bytes: Vec<u8>,
    used: u64,
}

impl<'a> Windows<'a> {
    /// The `len` bytes at `offset`, which the file has.
    pub(crate) fn new(bytes: &'a Bytes<'a>, offset: u64, len: u64) -> Windows<'a> {
        Windows { bytes, offset, len, windows: Vec::new(), now: 0 }
    }

    fn piece(&mut self, offset: u64, len: usize) -> Result<&[u8]> {
        self.now += 1;
        let end = offset.saturating_add(len as u64);
        let has = |window: &Window| window.start <= offset && end <= window.start + window.bytes.len() as u64;
        let at = match self.windows.iter().position(has) {
            Some(at) => at,
            None => self.fill(offset, len)?,
        };
        let window = &mut self.windows[at];
        window.used = self.now;
        let start = (offset - window.start) as usize;
        Ok(&window.bytes[start..start + len])
    }

    /// Reads a window that begins at `offset` and has `len` bytes or more; returns its place.
    fn fill(&mut self, offset: u64, len: usize) -> Result<usize> {
        let count = (len as u64).max(WINDOW_BYTES.min(self.len.saturating_sub(offset))) as usize;
        let mut bytes = Vec::new();
        let oldest = (0..self.windows.len()).min_by_key(|&at| self.windows[at].used);
        let at = match oldest.filter(|_| self.windows.len() >= WINDOWS) {
            Some(at) => {
                bytes = std::mem::take(&mut self.windows[at].bytes);
                at
            }
            None => {
                self.windows.push(Window { start: 0, bytes: Vec::new(), used: 0 });
                self.windows.len() - 1
            }
        };
        self.bytes.read_as_claimed(self.offset.saturating_add(offset), count, &mut bytes)?;
        if bytes.len() < count {
            return Err(malformed("unexpected end of the file in its binary chunk"));
        }
        self.windows[at].start = offset;
        self.windows[at].bytes = bytes;
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_bytes::Source;

    #[test]
    fn windows_read_each_place_and_stay_few() {
        let all: Vec<u8> = (0..3_000_000_u32).map(|i| (i * 7 + i / 251) as u8).collect();
        let source = Source::memory(all.clone());
        let bytes = Bytes::new(&source, None);
        let mut windows = Windows::new(&bytes, 100, all.len() as u64 - 200);
        for number in 0..2000_u64 {
            let offset = number * 1_234_567 % 2_700_000;
            let len = [0, 1, 12, 70_000, PIECE_BYTES][number as usize % 5].min((2_999_800 - offset) as usize);
            let start = 100 + offset as usize;
            assert!(windows.piece(offset, len).unwrap() == &all[start..start + len], "{offset} {len}");
        }
        assert_eq!(windows.windows.len(), WINDOWS);
    }

    fn opened(json: &str, binary: Binary<'_>) -> Result<(u64, Vec<u8>)> {
        let list: Vec<Buffer> = serde_json::from_str(json).unwrap();
        let mut file = |name: &str, _: u64| match name {
            "a b.bin" => Ok(Arc::new(vec![1, 2, 3])),
            _ => Err(unsupported("no such file")),
        };
        let mut buffers = Buffers::new(&list, binary, &mut file)?;
        let added = buffers.open(0)?;
        assert_eq!(buffers.open(0)?, 0);
        let piece = buffers.piece(0, 1, 2)?.to_vec();
        assert!(buffers.piece(0, 3, 1).is_err() && buffers.piece(0, u64::MAX, 1).is_err());
        Ok((added, piece))
    }

    #[test]
    fn buffers_come_from_files_data_and_the_chunk() {
        let chunk = || Binary::Whole(Arc::new(vec![4, 5, 6]));
        assert_eq!(opened(r#"[{"uri":"a%20b.bin","byteLength":3}]"#, chunk()).unwrap(), (3, vec![2, 3]));
        assert_eq!(opened(r#"[{"uri":"data:;base64,AAEC","byteLength":3}]"#, chunk()).unwrap(), (3, vec![1, 2]));
        assert_eq!(opened(r#"[{"byteLength":3}]"#, chunk()).unwrap(), (3, vec![5, 6]));
        let failed = |json| opened(json, Binary::Missing).unwrap_err().to_string();
        assert!(failed(r#"[{"byteLength":3}]"#).contains("has no data"));
        assert!(failed(r#"[{"uri":"data:;base64,AAEC","byteLength":4}]"#).contains("byteLength is 4"));
        assert!(failed(r#"[{"uri":"b.bin","byteLength":4}]"#).starts_with("buffers[0]: no such file"));
        let fallback = r#"[{"byteLength":3,"extensions":{"EXT_meshopt_compression":{"fallback":true}}}]"#;
        assert!(failed(fallback).contains("`EXT_meshopt_compression`"));
    }
}
