//! Opens buffers: the second chunk of a `.glb`, `data:` URIs, or other files.
//!
//! A buffer is opened when it is first used, and any number of threads can read it. The chunk of a seekable,
//! uncompressed file is read on demand; all other buffers are loaded into memory. This module opens no files: the
//! caller decides which files may be opened.

use crate::document::Buffer;
use crate::log::{malformed, unsupported};
use crate::uri::{UriTarget, target};
use polyhaul_model::error::{Diagnostic, Error, Result};
use polyhaul_pipeline::bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;

/// Reads the start of a file that a scene refers to. Takes the file's name and the maximum number of bytes needed.
/// Should return the same allocation if a file is opened under two names, so that its bytes count only once against the
/// limit on included bytes.
pub type OpenBufferFile<'f> = dyn FnMut(&str, u64) -> Result<Arc<Vec<u8>>> + 'f;

/// The second chunk of a `.glb`.
pub(crate) enum Binary<'a> {
    /// Absent.
    Missing,
    /// Loaded into memory.
    Whole(Arc<Vec<u8>>),
    /// Located in a seekable file, from which it is read on demand.
    Placed { bytes: &'a Bytes<'a>, offset: u64, len: u64 },
}

/// The buffers of a file.
pub(crate) struct Buffers<'a, 'f> {
    list: &'a [Buffer],
    pub(crate) opened: OpenBuffers<'a>,
    /// Files already read, by name.
    files: HashMap<String, Arc<Vec<u8>>>,
    open_file: &'f mut OpenBufferFile<'f>,
    /// Largest declared buffer size in bytes.
    longest: u64,
}

/// Open buffers, shared by many threads.
pub(crate) struct OpenBuffers<'a> {
    binary: Binary<'a>,
    /// State of each buffer.
    list: Vec<OpenedBuffer>,
    /// Decoded content of compressed views, by index of the view.
    pub(crate) views: HashMap<usize, Vec<u8>>,
}

/// What a byte offset refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Home {
    /// Nothing: the values are zeros.
    Nowhere,
    Buffer(usize),
    /// Decoded content of a compressed view.
    View(usize),
}

impl OpenBuffers<'_> {
    /// Returns `len` bytes at `offset`. They are borrowed if the storage is in memory, otherwise read into `scratch`.
    /// Returns an empty slice for [`Home::Nowhere`].
    pub(crate) fn read<'s>(
        &'s self,
        home: Home,
        offset: u64,
        len: usize,
        scratch: &'s mut Vec<u8>,
    ) -> Result<&'s [u8]> {
        let too_short = || malformed(format!("{home} is too short"));
        let whole: &[u8] = match home {
            Home::Nowhere => return Ok(&[]),
            Home::View(index) => self.views.get(&index).ok_or_else(too_short)?,
            Home::Buffer(index) => match (self.list.get(index), &self.binary) {
                (Some(OpenedBuffer::Chunk), Binary::Placed { bytes, offset: chunk_start, .. }) => {
                    // The buffer never shrinks, so that workers rarely allocate.
                    if scratch.len() < len {
                        scratch
                            .try_reserve_exact(len - scratch.len())
                            .map_err(|_| Error::memory("a part of a file"))?;
                        scratch.resize(len, 0);
                    }
                    let out = &mut scratch[..len];
                    if bytes.read(chunk_start.saturating_add(offset), out)? < len {
                        return Err(malformed("unexpected end of file in the binary chunk"));
                    }
                    return Ok(out);
                }
                (Some(OpenedBuffer::Chunk), Binary::Whole(bytes)) | (Some(OpenedBuffer::Whole(bytes)), _) => bytes,
                _ => return Err(malformed(format!("{home} is not open"))),
            },
        };
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        whole.get(start..).and_then(|rest| rest.get(..len)).ok_or_else(too_short)
    }
}

impl std::fmt::Display for Home {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Home::Nowhere => f.write_str("nothing"),
            Home::Buffer(index) => write!(f, "buffers[{index}]"),
            Home::View(index) => write!(f, "bufferViews[{index}]"),
        }
    }
}

#[derive(Clone, Default)]
enum OpenedBuffer {
    #[default]
    Not,
    /// Second chunk of the `.glb`.
    Chunk,
    Whole(Arc<Vec<u8>>),
}

impl<'a, 'f> Buffers<'a, 'f> {
    pub(crate) fn new(list: &'a [Buffer], binary: Binary<'a>, open_file: &'f mut OpenBufferFile<'f>) -> Result<Self> {
        let mut opened = OpenBuffers { binary, list: Vec::new(), views: HashMap::new() };
        opened.list.try_reserve_exact(list.len())?;
        opened.list.resize(list.len(), OpenedBuffer::Not);
        let longest = list.iter().map(|buffer| buffer.byte_length).max().unwrap_or(0);
        Ok(Buffers { list, opened, files: HashMap::new(), open_file, longest })
    }

    /// Opens a buffer. Returns its declared size, or 0 if its bytes were already counted.
    pub(crate) fn open(&mut self, index: usize) -> Result<u64> {
        let list = self.list;
        let buffer = list.get(index).ok_or_else(|| malformed(format!("buffers[{index}] does not exist")))?;
        if !matches!(self.opened.list[index], OpenedBuffer::Not) {
            return Ok(0);
        }
        let (opened, len, is_new) = match &buffer.uri {
            None => self.chunk(index, buffer)?,
            Some(uri) => self.of_uri(uri).map_err(|error| about(index, error))?,
        };
        // More bytes are allowed: the chunk of a `.glb` may be padded by up to 3 bytes (section 3.6.1.2), and several
        // buffers may be prefixes of the same file.
        if len < buffer.byte_length {
            let message = format!("buffers[{index}]: byteLength is {}, but there are {len} bytes", buffer.byte_length);
            return Err(malformed(message));
        }
        self.opened.list[index] = opened;
        Ok(if is_new { buffer.byte_length } else { 0 })
    }

    /// Opens a buffer without a URI, which is the second chunk.
    fn chunk(&self, index: usize, buffer: &Buffer) -> Result<(OpenedBuffer, u64, bool)> {
        let len = match &self.opened.binary {
            Binary::Whole(bytes) if index == 0 => bytes.len() as u64,
            Binary::Placed { len, .. } if index == 0 => *len,
            _ => {
                // Fallback buffers of these extensions have no data.
                let fallback = buffer.extensions.keys().find(|name| name.ends_with("_meshopt_compression"));
                return Err(match fallback {
                    Some(name) => unsupported(format!("buffers[{index}] is a fallback without data for `{name}`")),
                    None => malformed(format!("buffers[{index}] has no data: expected a URI or a binary chunk")),
                });
            }
        };
        Ok((OpenedBuffer::Chunk, len, true))
    }

    fn of_uri(&mut self, uri: &str) -> Result<(OpenedBuffer, u64, bool)> {
        let name = match target(uri)? {
            UriTarget::Data(data) => {
                let bytes = data.decode()?;
                let len = bytes.len() as u64;
                return Ok((OpenedBuffer::Whole(Arc::new(bytes)), len, true));
            }
            UriTarget::File(name) => name,
        };
        if let Some(bytes) = self.files.get(&name) {
            return Ok((OpenedBuffer::Whole(bytes.clone()), bytes.len() as u64, false));
        }
        // Several buffers may be prefixes of the same file; reading up to the largest declared size reads it only once.
        let bytes = (self.open_file)(&name, self.longest)?;
        // Two names may refer to the same file, whose bytes are added to the budget only once.
        let is_new = !self.files.values().any(|other| Arc::ptr_eq(other, &bytes));
        let len = bytes.len() as u64;
        self.files.try_reserve(1).map_err(|_| Error::memory("names"))?;
        self.files.insert(name, bytes.clone());
        Ok((OpenedBuffer::Whole(bytes), len, is_new))
    }
}

/// Prefixes the message with the buffer's path, unless the error is an I/O error or already names a file.
fn about(index: usize, error: Error) -> Error {
    if error.io_error().is_some() || !error.place().file.is_empty() {
        return error;
    }
    let message = format!("buffers[{index}]: {}", error.diagnostic().message);
    Diagnostic { message, ..error.diagnostic().clone() }.into_error(error.kind())
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_bytes::Source;

    #[test]
    fn a_chunk_is_read_on_demand() {
        let source = Source::memory(Vec::from_iter(0..100));
        let bytes = Bytes::new(&source, None);
        let list: Vec<Buffer> = serde_json::from_str(r#"[{"byteLength":80}]"#).unwrap();
        let mut none = |_: &str, _: u64| Err(unsupported("no such file"));
        let mut buffers =
            Buffers::new(&list, Binary::Placed { bytes: &bytes, offset: 10, len: 80 }, &mut none).unwrap();
        assert!(buffers.opened.read(Home::Buffer(0), 0, 1, &mut Vec::new()).is_err());
        assert_eq!(buffers.open(0).unwrap(), 80);
        assert_eq!(buffers.opened.read(Home::Buffer(0), 5, 3, &mut Vec::new()).unwrap(), [15, 16, 17]);
        assert!(buffers.opened.read(Home::Buffer(0), 88, 8, &mut Vec::new()).is_err());
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
        let read = |offset, len| buffers.opened.read(Home::Buffer(0), offset, len, &mut Vec::new()).map(<[u8]>::to_vec);
        let piece = read(1, 2)?;
        assert!(read(3, 1).is_err() && read(u64::MAX, 1).is_err());
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
