//! Buffer views: values of one kind are stored together, so that a view has one stride.
//!
//! A compressed view is encoded and decoded as a whole, by one thread. So its size is limited; other views hold all
//! values of their kind. [`crate::pages`] formats the values.

use crate::document::{Buffer, BufferView, Document};
use crate::looks::GltfImages;
use crate::serial::collected;
use crate::spans::{KINDS, SpanContent, VERTICES, ValueSpan, ViewKind, ViewMode};
use polyhaul_model::error::{Result, try_push};
use serde_json::json;

/// `EXT_meshopt_compression`: views whose bytes are compressed. Source:
/// <https://github.com/KhronosGroup/glTF/tree/main/extensions/2.0/Vendor/EXT_meshopt_compression>.
pub(crate) const MESHOPT: &str = "EXT_meshopt_compression";

/// The size from which a view to compress is full.
const SPLIT_BYTES: u64 = 1 << 20;
/// The values of a view.
#[derive(Debug)]
pub(crate) struct GltfView {
    pub(crate) kind: ViewKind,
    pub(crate) spans: Vec<ValueSpan>,
    /// Their size.
    pub(crate) bytes: u64,
}

/// The views of a file that is being planned.
#[derive(Debug)]
pub(crate) struct Views {
    views: Vec<GltfView>,
    /// The view of each kind that is not full.
    open: [Option<usize>; KINDS],
    /// The size from which a view is full.
    full: u64,
}

/// The layout of the binary part.
pub(crate) struct FileLayout {
    /// In the order of the file.
    pub(crate) spans: Vec<ValueSpan>,
    /// Their size.
    pub(crate) bytes: u64,
}

impl Views {
    pub(crate) fn new(are_compressed: bool) -> Views {
        Views { views: Vec::new(), open: [None; KINDS], full: if are_compressed { SPLIT_BYTES } else { u64::MAX } }
    }

    /// Appends a span; returns the provisional number of its view, and its offset in the view.
    pub(crate) fn add(&mut self, span: ValueSpan) -> Result<(usize, u64)> {
        let kind = span.content.kind();
        let number = match self.open[kind as usize].filter(|&number| self.views[number].bytes < self.full) {
            Some(number) => number,
            None => {
                try_push(&mut self.views, GltfView { kind, spans: Vec::new(), bytes: 0 }, "the plan")?;
                self.views.len() - 1
            }
        };
        self.open[kind as usize] = Some(number);
        let view = &mut self.views[number];
        let offset = view.bytes;
        view.bytes += span.content.bytes() as u64 * span.count as u64;
        try_push(&mut view.spans, span, "the plan")?;
        Ok((number, offset))
    }

    /// Adds the views to the document, in their order, without offsets.
    pub(crate) fn finish(mut self, document: &mut Document) -> Result<Vec<GltfView>> {
        let mut order = collected(0..self.views.len())?;
        order.sort_by_key(|&number| self.views[number].kind);
        let mut numbers = collected(0..order.len())?;
        for (number, &provisional) in order.iter().enumerate() {
            numbers[provisional] = number;
            let GltfView { kind, bytes, .. } = self.views[provisional];
            let byte_stride = (kind.target() == Some(VERTICES)).then(|| kind.stride());
            let view = BufferView { byte_length: bytes, byte_stride, target: kind.target(), ..BufferView::default() };
            try_push(&mut document.buffer_views, view, "the plan")?;
        }
        for accessor in &mut document.accessors {
            accessor.buffer_view = accessor.buffer_view.map(|provisional| numbers[provisional]);
        }
        self.views.sort_by_key(|view| view.kind);
        Ok(self.views)
    }
}

/// Assigns offsets to the views of a document, and appends its images. `compressed` has the bytes of each view, if
/// views are compressed.
pub(crate) fn lay_out(
    document: &mut Document,
    views: &mut [GltfView],
    compressed: Option<&[Vec<u8>]>,
    images: &GltfImages,
) -> Result<FileLayout> {
    let mut layout = FileLayout { spans: Vec::new(), bytes: 0 };
    let mut decoded = 0;
    for (number, view) in views.iter_mut().enumerate() {
        let buffer_view = &mut document.buffer_views[number];
        match compressed.and_then(|compressed| compressed.get(number)) {
            Some(bytes) => {
                buffer_view.buffer = Some(1);
                buffer_view.byte_offset = decoded;
                decoded += view.bytes.next_multiple_of(4);
                buffer_view.extensions.insert(MESHOPT.into(), compressed_view(view, layout.bytes, bytes.len()));
                layout.add(SpanContent::Compressed(number), bytes.len())?;
            }
            None => {
                buffer_view.buffer = Some(0);
                buffer_view.byte_offset = layout.bytes;
                layout.bytes += view.bytes;
                layout.spans.try_reserve(view.spans.len())?;
                layout.spans.append(&mut view.spans);
            }
        }
    }
    add_images(document, images, &mut layout)?;
    if layout.bytes > 0 {
        document.buffers = vec![Buffer { byte_length: layout.bytes, ..Buffer::default() }];
    }
    if decoded > 0 {
        // The buffer has no bytes: readers must support the extension.
        let extensions = [(MESHOPT.to_owned(), json!({ "fallback": true }))].into();
        document.buffers.push(Buffer { byte_length: decoded, extensions, ..Buffer::default() });
    }
    Ok(layout)
}

/// The extension of a view whose compressed bytes are at `offset`.
fn compressed_view(view: &GltfView, offset: u64, bytes: usize) -> serde_json::Value {
    let mode = match view.kind.mode() {
        ViewMode::Attributes => "ATTRIBUTES",
        ViewMode::Triangles => "TRIANGLES",
        ViewMode::Indices => "INDICES",
    };
    let stride = view.kind.stride();
    json!({
        "buffer": 0,
        "byteOffset": offset,
        "byteLength": bytes,
        "byteStride": stride,
        "count": view.bytes / stride,
        "mode": mode,
    })
}

/// Appends the embedded images of the document, each with a view.
fn add_images(document: &mut Document, images: &GltfImages, layout: &mut FileLayout) -> Result<()> {
    for image in &mut document.images {
        let Some(number) = image.buffer_view else { continue };
        // The preceding bytes may be indices of 16 bits.
        layout.pad()?;
        let byte_length = images.images[number].bytes.len() as u64;
        image.buffer_view = Some(document.buffer_views.len());
        let view = BufferView { buffer: Some(0), byte_offset: layout.bytes, byte_length, ..BufferView::default() };
        try_push(&mut document.buffer_views, view, "the plan")?;
        layout.add(SpanContent::Image(number), byte_length as usize)?;
    }
    Ok(())
}

impl FileLayout {
    /// Appends bytes, and zeros up to a multiple of four.
    fn add(&mut self, content: SpanContent, count: usize) -> Result<()> {
        self.bytes += count as u64;
        try_push(&mut self.spans, ValueSpan { geometry: 0, section: 0, content, count }, "the plan")?;
        self.pad()
    }

    fn pad(&mut self) -> Result<()> {
        let count = (self.bytes.next_multiple_of(4) - self.bytes) as usize;
        if count > 0 {
            self.bytes += count as u64;
            try_push(
                &mut self.spans,
                ValueSpan { geometry: 0, section: 0, content: SpanContent::Zeros, count },
                "the plan",
            )?;
        }
        Ok(())
    }
}
