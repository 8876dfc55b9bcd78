//! Names and reads images that are embedded in a file, in a buffer view or a `data:` URI.
//!
//! A name consists of the file's name, `#image`, the index and an extension, as in `chair.glb#image0.png`. This module
//! decodes no images, and the caller opens the files. The total size of the images is limited: views that share bytes
//! of a buffer cannot add up to more bytes than the buffer has.

use crate::accessors::AccessorValues;
use crate::buffers::Binary;
use crate::chunks::{Chunks, chunks};
use crate::document::{BufferView, Document, GltfImage, ImageDocument};
use crate::json;
use crate::log::{located, malformed, over_limit};
use crate::uri::{DataUri, UriTarget, target};
use polyhaul_model::error::{Error, ErrorKind, Result, try_copy};
use polyhaul_model::names;
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::ParseOptions;
use std::collections::HashMap;

/// Separator between the file's name and the index of the image.
const MARK: &str = "#image";

/// Signatures, media types and extensions of PNG and JPEG.
const KINDS: [(&[u8], &str, &str); 2] =
    [(b"\x89PNG\r\n\x1a\n", "image/png", "png"), (b"\xff\xd8\xff", "image/jpeg", "jpg")];

/// Detects the media type of an image from its first bytes. Returns `None` unless it is PNG or JPEG, the formats that
/// glTF can embed.
pub fn media_type(bytes: &[u8]) -> Option<&'static str> {
    KINDS.iter().find(|(signature, ..)| bytes.starts_with(signature)).map(|(_, media_type, _)| *media_type)
}

/// Number of bytes needed to detect an image type.
const SIGNATURE_BYTES: usize = 8;

/// Reads a part of a file that a scene refers to. Takes the file's name, the offset and the number of bytes.
pub type OpenRange<'f> = dyn FnMut(&str, u64, usize) -> Result<Vec<u8>> + 'f;

/// Splits the name of an embedded image into the file's name and the image's index. Returns `None` for any other name.
///
/// ```
/// use polyhaul_gltf::split_image_name;
///
/// assert_eq!(split_image_name("chair.glb#image2.png"), Some(("chair.glb", 2)));
/// assert_eq!(split_image_name("wood.png"), None);
/// ```
pub fn split_image_name(name: &str) -> Option<(&str, usize)> {
    let (file, rest) = name.rsplit_once(MARK)?;
    let (digits, extension) = rest.split_once('.')?;
    // `parse` would accept a plus sign and leading zeros, which names of images never have. It rejects an empty string.
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    let is_supported = KINDS.iter().any(|(.., supported)| *supported == extension);
    if file.is_empty() || file.ends_with(['/', '\\']) || !is_number || !is_supported {
        return None;
    }
    Some((file, digits.parse().ok()?))
}

/// Reads image `index` of a `.glb` or `.gltf` file without reading other buffer views. `max_bytes` limits its encoded
/// size; `open_range` reads from buffers in separate files.
///
/// # Errors
/// [`Malformed`](polyhaul_model::error::ErrorKind::Malformed) if the file is invalid or has no such embedded image,
/// [`Limit`](polyhaul_model::error::ErrorKind::Limit) if the image exceeds `max_bytes` or the JSON exceeds the limits
/// in `options`, and errors of the source and of `open_range`.
pub fn read_image(
    bytes: Bytes<'_>,
    index: usize,
    options: &ParseOptions,
    max_bytes: u64,
    open_range: &mut OpenRange<'_>,
) -> Result<Vec<u8>> {
    let name = bytes.name();
    ImageReader { bytes: &bytes, options, max_bytes }.read(index, open_range).map_err(|error| located(error, name))
}

struct ImageReader<'a> {
    bytes: &'a Bytes<'a>,
    options: &'a ParseOptions,
    max_bytes: u64,
}

impl ImageReader<'_> {
    fn read(&self, index: usize, open_range: &mut OpenRange<'_>) -> Result<Vec<u8>> {
        let limits = &self.options.limits;
        let Chunks { json, location, binary, .. } = chunks(self.bytes, limits)?;
        let document: ImageDocument = json::parse_part(&json, self.bytes.name(), location, limits)?;
        drop(json);
        let image = document.images.get(index).ok_or_else(|| malformed(format!("images[{index}] does not exist")))?;
        if let Some(UriTarget::Data(data)) = image.uri.as_deref().map(target).transpose()? {
            // Estimated before allocating. The estimate is at least the decoded size, or, for base64, within 2 bytes of
            // it.
            let max_bytes = if data.is_base64 { data.text.len() / 4 * 3 } else { data.text.len() };
            return self.checked(max_bytes as u64).and_then(|_| data.decode());
        }
        let view = image.buffer_view.and_then(|view| document.buffer_views.get(view));
        let view = view.ok_or_else(|| malformed(format!("images[{index}] is not embedded in the file")))?;
        let buffer = view.buffer.and_then(|buffer| document.buffers.get(buffer));
        let buffer = buffer.filter(|buffer| is_inside(view, buffer.byte_length));
        let buffer = buffer.ok_or_else(|| malformed(format!("images[{index}]: its buffer view is invalid")))?;
        let count = self.checked(view.byte_length)?;
        let content = match buffer.uri.as_deref().map(target).transpose()? {
            None if view.buffer == Some(0) => self.in_chunk(&binary, view.byte_offset, count)?,
            // Only the first buffer can be the chunk; the check below reports the missing content of any other.
            None => Vec::new(),
            Some(UriTarget::Data(data)) => part(&data.decode()?, view.byte_offset, count)?,
            Some(UriTarget::File(name)) => open_range(&name, view.byte_offset, count)?,
        };
        if content.len() < count {
            return Err(malformed(format!("images[{index}]: its buffer is too short")));
        }
        Ok(content)
    }

    /// Checks a byte count against the limit.
    fn checked(&self, count: u64) -> Result<usize> {
        if count > self.max_bytes {
            let message = format!("the {count} bytes of an image");
            return Err(over_limit(&message, self.max_bytes, "referenced_file_bytes"));
        }
        usize::try_from(count).map_err(|_| Error::memory("an image"))
    }

    /// Reads bytes of the binary chunk. Returns fewer bytes or none if the chunk is shorter.
    fn in_chunk(&self, binary: &Binary<'_>, offset: u64, count: usize) -> Result<Vec<u8>> {
        match binary {
            Binary::Whole(bytes) => part(bytes, offset, count),
            Binary::Placed { bytes, offset: chunk_start, len } if count as u64 <= len.saturating_sub(offset) => {
                let mut content = Vec::new();
                bytes.read_as_claimed(chunk_start.saturating_add(offset), count, &mut content)?;
                Ok(content)
            }
            _ => Ok(Vec::new()),
        }
    }
}

/// Copies `count` bytes at `offset`. Returns none if there are fewer.
fn part(bytes: &[u8], offset: u64, count: usize) -> Result<Vec<u8>> {
    let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
    try_copy(rest.and_then(|rest| rest.get(..count)).unwrap_or_default(), "an image")
}

/// Returns whether a view is uncompressed and lies within a buffer of `buffer_bytes` bytes.
fn is_inside(view: &BufferView, buffer_bytes: u64) -> bool {
    let is_compressed = view.extensions.keys().any(|name| name.ends_with("_meshopt_compression"));
    view.byte_offset.checked_add(view.byte_length).is_some_and(|end| end <= buffer_bytes) && !is_compressed
}

/// A name or a part of a name, or the reason why there is none.
type NameOrReason<T> = std::result::Result<T, String>;

/// Names of the embedded images.
pub(crate) struct ImageNames<'a> {
    document: &'a Document,
    /// File name; `None` if the file cannot be opened again.
    file: Option<&'a str>,
    /// Results by index of the image.
    names: HashMap<usize, NameOrReason<String>>,
    /// Index of the first image in each view; other images in the view share its name.
    by_view: HashMap<usize, usize>,
    /// Total bytes of views that hold images, by the URI of their buffer.
    used: HashMap<Option<&'a str>, u64>,
}

impl<'a> ImageNames<'a> {
    pub(crate) fn new(document: &'a Document, file: Option<&'a str>) -> ImageNames<'a> {
        ImageNames { document, file, names: HashMap::new(), by_view: HashMap::new(), used: HashMap::new() }
    }

    /// Returns the name of an embedded image.
    pub(crate) fn name(
        &mut self,
        index: usize,
        image: &'a GltfImage,
        values: &mut AccessorValues<'_, '_>,
    ) -> Result<NameOrReason<String>> {
        let Some(file) = self.file else {
            return Ok(Err("an embedded image was dropped, because the file cannot be opened again".into()));
        };
        let shared = image.buffer_view.and_then(|view| self.by_view.get(&view)).copied();
        let index = shared.unwrap_or(index);
        if let Some(name) = self.names.get(&index) {
            return Ok(name.clone());
        }
        let name = match self.extension(image, values)? {
            Ok(extension) => Ok(format!("{file}{MARK}{index}.{extension}")),
            Err(why) => Err(format!("an embedded image was dropped: {why}")),
        };
        self.names.try_reserve(1).map_err(|_| Error::memory("names"))?;
        self.names.insert(index, name.clone());
        if let Some(view) = image.buffer_view {
            self.by_view.try_reserve(1).map_err(|_| Error::memory("names"))?;
            self.by_view.insert(view, index);
        }
        Ok(name)
    }

    /// Returns the file extension of an image, if the image can be read.
    fn extension(
        &mut self,
        image: &'a GltfImage,
        values: &mut AccessorValues<'_, '_>,
    ) -> Result<NameOrReason<&'static str>> {
        let data = match image.uri.as_deref().map(target).transpose()? {
            Some(UriTarget::Data(data)) => Some(data),
            _ => None,
        };
        let view = image.buffer_view.and_then(|index| Some((index, self.document.buffer_views.get(index)?)));
        if data.is_none() && !view.is_some_and(|(_, view)| self.take(view)) {
            return Ok(Err("its buffer view is invalid or overlaps others".into()));
        }
        let claimed = image.mime_type.as_deref().or(data.as_ref().map(|data| data.media_type));
        // Generic media types carry no information, so the content decides.
        let claimed = claimed.filter(|kind| !["", "application/octet-stream"].contains(kind)).unwrap_or_default();
        let head = match (claimed, &data, view) {
            ("", Some(data), _) => data.head(),
            ("", _, Some((index, _))) => values.head(index, SIGNATURE_BYTES),
            _ => Ok(Vec::new()),
        };
        // Unreadable images are dropped; out of memory and cancellation are still errors.
        let head = match head {
            Err(error) if matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Io | ErrorKind::Unsupported) => {
                return Ok(Err(error.diagnostic().message.clone()));
            }
            head => head?,
        };
        // At most one of the comparisons can succeed: `head` is empty if a media type is known.
        let kind = KINDS
            .iter()
            .find(|(signature, media_type, _)| claimed.eq_ignore_ascii_case(media_type) || head.starts_with(signature));
        Ok(kind.map(|(.., extension)| *extension).ok_or_else(|| match claimed {
            "" => "it is neither PNG nor JPEG".into(),
            _ => format!("it is `{}`, neither PNG nor JPEG", names::shown(claimed)),
        }))
    }

    /// Counts the bytes of a view. Returns `false` if the view is invalid, or if all views together would exceed the
    /// buffer.
    fn take(&mut self, view: &BufferView) -> bool {
        let buffer = view.buffer.and_then(|buffer| self.document.buffers.get(buffer));
        let Some(buffer) = buffer.filter(|buffer| is_inside(view, buffer.byte_length)) else { return false };
        let Ok(()) = self.used.try_reserve(1) else { return false };
        // By URI, because several buffers may be the same file.
        let used = self.used.entry(buffer.uri.as_deref()).or_default();
        let sum = used.saturating_add(view.byte_length);
        if sum <= buffer.byte_length {
            *used = sum;
        }
        sum <= buffer.byte_length
    }
}

impl DataUri<'_> {
    /// Decodes enough bytes to detect the image type.
    fn head(&self) -> Result<Vec<u8>> {
        // Base64 takes 4 characters per 3 bytes, percent-encoding up to 3 characters per byte.
        let prefix = self.text.get(..if self.is_base64 { 12 } else { 3 * SIGNATURE_BYTES });
        DataUri { text: prefix.unwrap_or(self.text), ..*self }.decode()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split() {
        assert_eq!(split_image_name("a#image1.glb#image10.jpg"), Some(("a#image1.glb", 10)));
        for name in [
            "#image0.png",
            "a/#image0.png",
            "a.glb#image.png",
            "a.glb#image01.png",
            "a.glb#image+1.png",
            "a.glb#image0",
        ] {
            assert_eq!(split_image_name(name), None, "{name}");
        }
        assert_eq!(split_image_name(&format!("a.glb#image{}.png", "9".repeat(30))), None);
        assert_eq!(split_image_name("a.glb#image0.exe"), None);
    }
}
