//! Detects whether an STL file is binary or text, and reads it.

use super::payload::{BareFacets, StlPayload};
use super::{FACET_BYTES, HEADER_BYTES, ascii, binary, is_filler};
use polyhaul_model::Scene;
use polyhaul_model::error::{Diagnostic, Result, try_copy, try_push};
use polyhaul_model::names;
use polyhaul_model::options::StlReadOptions;
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::blocks::Source;
use polyhaul_pipeline::chunk::TextChunks;
use polyhaul_pipeline::consumer::MeshConsumer;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::read::{Garbage, ask, kept};
use std::sync::Arc;

/// Bytes examined to detect whether a file is binary or text.
const HEAD_BYTES: usize = 1024;

/// A scene read from STL, with the warnings and the number of threads used.
pub struct StlFound {
    pub scene: Scene,
    pub warnings: Warnings,
    pub threads: usize,
}

/// Reads binary or text STL into a model, or sends it to a consumer. If there is a consumer, the scene has no meshes.
/// `garbage` records data after compressed data.
pub fn read(
    source: Source<'_>,
    garbage: Option<Garbage>,
    options: &ParseOptions<StlReadOptions>,
    consumer: Option<&dyn MeshConsumer>,
) -> Result<StlFound> {
    let source = kept(source, garbage.as_ref())?;
    let mut head = [0; HEAD_BYTES];
    let count = ask(&source, || source.peek(&mut head))?;
    let head = &head[..count];
    // The text reader reports UTF-16 as an error.
    let is_utf16 = (head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF")) && !fits(head, source.len());
    if is_utf16 || is_text(head, source.len()) || has_facets(head, source.len()) {
        return ascii::read(TextChunks::new(source).tolerant(garbage), options, consumer);
    }
    let name: Arc<str> = source.name().into();
    if head.len() >= HEADER_BYTES && is_plain(head) && !fits(head, source.len()) {
        return Err(binary::short(0, &name));
    }
    let Some((title, count)) = head.split_at_checked(80) else { return Err(binary::short(count as u64, &name)) };
    let Some(count) = count.first_chunk() else { return Err(binary::short(head.len() as u64, &name)) };
    let header = title;
    let title = title_of(header)?;
    let count = u32::from_le_bytes(*count);
    let mut result = match StlPayload::find(&source, count)? {
        Some(payload) => read_bare(source, head, payload, options, consumer)?,
        None => binary::read(source, garbage, count, options, consumer, Warnings::default())?,
    };
    if !title.is_empty() {
        try_push(&mut result.scene.comments, title, "comments")?;
    }
    result.scene.header = try_copy(header, "the header")?;
    Ok(result)
}

/// Reads a binary file, dropping the attribute bytes after its triangles.
fn read_bare(
    source: Source<'_>,
    head: &[u8],
    payload: StlPayload,
    options: &ParseOptions<StlReadOptions>,
    consumer: Option<&dyn MeshConsumer>,
) -> Result<StlFound> {
    let StlPayload { facets, bytes, end, rest } = payload;
    let message = format!("{bytes} attribute bytes after {facets} of the triangles were dropped");
    let mut warnings = Warnings::default();
    let first = Diagnostic::at(&source.name().into(), HEADER_BYTES as u64, message);
    warnings.note_dropped(options.faults, "left-out-attributes", facets, first)?;
    let header = head.get(..HEADER_BYTES).unwrap_or_default();
    let count = header.last_chunk().map_or(0, |count| u32::from_le_bytes(*count));
    let name = source.name().to_owned();
    let file: Arc<str> = name.as_str().into();
    let facets = BareFacets::new(source, try_copy(header, "the header")?);
    let mut read_file = binary::read(Source::reader(Box::new(facets), name), None, count, options, consumer, warnings)?;
    if rest > 0 {
        read_file.warnings.note(options.faults, "trailing-bytes", binary::trailing(&file, end, count.into()))?;
    }
    Ok(read_file)
}

/// Returns the text of a header: the bytes before the first NUL, trimmed.
pub(super) fn title_of(header: &[u8]) -> Result<String> {
    names::latin1_or_utf8(header.split(|&byte| byte == 0).next().unwrap_or_default().trim_ascii())
}

/// Whether the size of a file matches the number of triangles in its header.
pub fn fits(head: &[u8], size: Option<u64>) -> bool {
    let count = head.get(80..HEADER_BYTES).and_then(|count| count.first_chunk());
    let facets = count.map(|count| u64::from(u32::from_le_bytes(*count)));
    size.is_some() && size == facets.map(|facets| HEADER_BYTES as u64 + facets * FACET_BYTES as u64)
}

/// Whether a file with these first bytes is text that starts with `solid`. `size` is the file's size, if known. A
/// binary file can also start with `solid`, so the size is decisive.
pub fn is_text(head: &[u8], size: Option<u64>) -> bool {
    if fits(head, size) {
        return false;
    }
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    let starts_as_text = text.get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"solid"));
    starts_as_text && is_plain(head)
}

/// Whether bytes can be text, ignoring fillers at the end. Bytes other than ASCII are allowed, because names can have
/// any encoding.
fn is_plain(head: &[u8]) -> bool {
    let end = head.iter().rposition(|&byte| !is_filler(byte) && !byte.is_ascii_whitespace()).map_or(0, |last| last + 1);
    head[..end].iter().all(|&byte| byte >= b' ' || matches!(byte, b'\n' | b'\r' | b'\t' | 0x0b | 0x0c))
}

/// Whether a file is text that contains the word `facet`, even if it does not start with `solid`.
fn has_facets(head: &[u8], size: Option<u64>) -> bool {
    let mut words = head.split(u8::is_ascii_whitespace);
    let is_facet = |word: &[u8]| word.eq_ignore_ascii_case(b"facet") || word.eq_ignore_ascii_case(b"facetnormal");
    is_plain(head) && words.any(is_facet) && !fits(head, size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_decides_and_then_the_content() {
        let mut binary = [b' '; 134];
        binary[..5].copy_from_slice(b"solid");
        binary[80..84].copy_from_slice(&1u32.to_le_bytes());
        assert!(!is_text(&binary, Some(134)) && !is_text(&binary, None) && !is_text(&binary, Some(133)));
        let text = b"  SoLiD caf\xe9\r\n facet normal 0 0 1\n";
        assert!(is_text(text, None) && is_text(text, Some(35)));
        assert!(!is_text(b"facet normal 0 0 1", None) && !is_text(b"", None));
        // Printable bytes can form a count that matches the size.
        let mut odd = [b'a'; 100];
        odd[..5].copy_from_slice(b"solid");
        let size = 84 + 50 * u64::from(u32::from_le_bytes(*b"aaaa"));
        assert!(is_text(&odd, Some(100)) && !is_text(&odd, Some(size)));
    }
}
