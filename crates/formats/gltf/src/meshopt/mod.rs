//! Decodes buffer views of `EXT_meshopt_compression` and `KHR_meshopt_compression`.
//!
//! A view is compressed as a whole, and the JSON has its decoded size. `attributes` decodes vertex data, `triangles`
//! and `sequence` decode indices; `filters` converts decoded attributes. Nothing is read here: `accessors` reads the
//! buffers and limits sizes. Source:
//! <https://github.com/KhronosGroup/glTF/blob/main/extensions/2.0/Khronos/KHR_meshopt_compression/README.md>.

mod attributes;
mod filters;
mod sequence;
mod triangles;

use crate::document::{BufferView, extension};
use crate::log::{malformed, unsupported};
use filters::MeshoptFilter;
use polyhaul_model::error::Result;
use polyhaul_model::names;
use polyhaul_pipeline::arrays::zeroed;
use serde::Deserialize;

/// Names of the extension. Its content is the same under both names.
pub(crate) const NAMES: [&str; 2] = ["EXT_meshopt_compression", "KHR_meshopt_compression"];

/// Content of the extension.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct MeshoptExtension {
    buffer: Option<usize>,
    byte_offset: u64,
    byte_length: u64,
    byte_stride: u64,
    count: u64,
    mode: String,
    filter: Option<String>,
}

/// Encoding of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MeshoptMode {
    Attributes,
    Triangles,
    Indices,
}

/// A validated compressed view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeshoptView {
    /// Buffer with the compressed bytes. Their offset and size in the buffer follow.
    pub(crate) buffer: usize,
    pub(crate) offset: u64,
    pub(crate) len: u64,
    stride: usize,
    count: usize,
    mode: MeshoptMode,
    filter: MeshoptFilter,
}

impl MeshoptView {
    /// Returns the compressed content of `bufferViews[index]`; `None` if the view is not compressed.
    pub(crate) fn from_view(view: &BufferView, index: usize) -> Result<Option<MeshoptView>> {
        let path = format!("bufferViews[{index}]");
        for name in NAMES {
            if let Some(extension_content) = extension::<MeshoptExtension>(&view.extensions, name, &path)? {
                return extension_content.check(view, &format!("{path}.extensions.{name}")).map(Some);
            }
        }
        Ok(None)
    }

    /// Returns the decoded size in bytes.
    pub(crate) fn content_bytes(&self) -> usize {
        self.stride * self.count
    }

    /// Decodes the compressed bytes of view `index`.
    pub(crate) fn decode(&self, bytes: &[u8], index: usize) -> Result<Vec<u8>> {
        let mut out = zeroed(self.content_bytes(), "a compressed view")?;
        let decoded = match (self.mode, self.stride) {
            (MeshoptMode::Attributes, stride) => attributes::decode(bytes, stride, &mut out),
            // `check` allows only strides of 2 and 4 for indices.
            (MeshoptMode::Triangles, 2) => triangles::decode(bytes, &mut out, |index| (index as u16).to_le_bytes()),
            (MeshoptMode::Triangles, _) => triangles::decode(bytes, &mut out, u32::to_le_bytes),
            (MeshoptMode::Indices, 2) => sequence::decode(bytes, &mut out, |index| (index as u16).to_le_bytes()),
            (MeshoptMode::Indices, _) => sequence::decode(bytes, &mut out, u32::to_le_bytes),
        };
        decoded.map_err(|fault| malformed(format!("bufferViews[{index}]: invalid meshopt data: {fault}")))?;
        self.filter.apply(&mut out, self.stride);
        Ok(out)
    }
}

impl MeshoptExtension {
    /// Returns the view. Fails if its numbers are inconsistent.
    fn check(&self, view: &BufferView, path: &str) -> Result<MeshoptView> {
        let mode = match &*self.mode {
            "ATTRIBUTES" => MeshoptMode::Attributes,
            "TRIANGLES" => MeshoptMode::Triangles,
            "INDICES" => MeshoptMode::Indices,
            other => return Err(unsupported(format!("{path}: unknown mode `{}`", names::shown(other)))),
        };
        let name = self.filter.as_deref().unwrap_or("NONE");
        let filter = MeshoptFilter::from_name(name)
            .ok_or_else(|| unsupported(format!("{path}: unknown filter `{}`", names::shown(name))))?;
        let stride = self.byte_stride;
        let is_valid = match mode {
            MeshoptMode::Attributes => {
                stride.is_multiple_of(4) && (4..=256).contains(&stride) && filter.has_stride(stride)
            }
            _ => matches!(stride, 2 | 4) && filter == MeshoptFilter::None,
        };
        if !is_valid {
            return Err(malformed(format!("{path}: byteStride {stride} is invalid for this mode and filter")));
        }
        if mode == MeshoptMode::Triangles && !self.count.is_multiple_of(3) {
            return Err(malformed(format!("{path}: expected a multiple of 3 indices, found {}", self.count)));
        }
        // In 128 bits, since both numbers are arbitrary.
        if u128::from(stride) * u128::from(self.count) != u128::from(view.byte_length) {
            let sizes = format!("{} bytes for {} elements of {stride} bytes", view.byte_length, self.count);
            return Err(malformed(format!("{path}: byteLength of the view does not match: {sizes}")));
        }
        let too_large = || malformed(format!("{path}: too many elements"));
        usize::try_from(view.byte_length).map_err(|_| too_large())?;
        let count = usize::try_from(self.count).map_err(|_| too_large())?;
        let buffer = self.buffer.ok_or_else(|| malformed(format!("{path} has no buffer")))?;
        Ok(MeshoptView {
            buffer,
            offset: self.byte_offset,
            len: self.byte_length,
            stride: stride as usize,
            count,
            mode,
            filter,
        })
    }
}

/// Error message for compressed data.
type MeshoptFault = &'static str;

/// Result of decoding.
type MeshoptResult<T> = std::result::Result<T, MeshoptFault>;

/// The data ends before the last element.
const CUT: MeshoptFault = "unexpected end";

/// There is data after the last element.
const EXTRA: MeshoptFault = "extra bytes";

/// Takes the first `count` bytes.
fn take<'b>(bytes: &mut &'b [u8], count: usize) -> MeshoptResult<&'b [u8]> {
    bytes.split_off(..count).ok_or(CUT)
}

/// Decodes a variable-length integer of up to 32 bits, with 7 bits per byte, lowest bits first.
fn take_varint(bytes: &mut &[u8]) -> MeshoptResult<u32> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let &byte = bytes.split_off_first().ok_or(CUT)?;
        value |= u32::from(byte & 127) << shift;
        if byte < 128 {
            return Ok(value);
        }
    }
    Err("a number has more than 5 bytes")
}

/// Decodes a zigzag integer, whose lowest bit is the sign.
fn unfolded(value: u32) -> u32 {
    if value & 1 == 0 { value >> 1 } else { !(value >> 1) }
}

#[cfg(test)]
mod tests;
