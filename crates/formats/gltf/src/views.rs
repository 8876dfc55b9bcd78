//! Collects spans in buffer views, with one kind of value per view, and assigns the offsets of the views in the file.
//!
//! A compressed view is encoded and decoded as a whole by one thread, so its size is limited; without compression, a
//! view holds all values of its kind. [`crate::pages`] formats the values.

use crate::document::{Buffer, BufferView, Document};
use crate::looks::GltfImages;
use crate::serial::collected;
use crate::spans::{KINDS, SpanContent, VERTICES, ValueSpan, ViewKind, ViewMode};
use polyhaul_model::error::{Result, try_push};
use polyhaul_spill::paced;
use serde_json::json;

/// Name of the extension for compressed views. Source:
/// <https://github.com/KhronosGroup/glTF/tree/main/extensions/2.0/Vendor/EXT_meshopt_compression>.
pub(crate) const MESHOPT: &str = "EXT_meshopt_compression";

/// Size in bytes at which a compressed view is full.
const SPLIT_BYTES: u64 = 1 << 20;
/// A planned view.
#[derive(Debug)]
pub(crate) struct GltfView {
    pub(crate) kind: ViewKind,
    pub(crate) spans: Vec<ValueSpan>,
    /// Size of the spans in bytes.
    pub(crate) bytes: u64,
}

/// Views of a file being planned.
#[derive(Debug)]
pub(crate) struct Views {
    views: Vec<GltfView>,
    /// Latest view of each kind.
    open: [Option<usize>; KINDS],
    /// Size in bytes at which a view is full.
    full: u64,
}

/// Layout of the binary part.
pub(crate) struct FileLayout {
    /// Spans in file order.
    pub(crate) spans: Vec<ValueSpan>,
    /// Total size in bytes.
    pub(crate) bytes: u64,
}

impl Views {
    pub(crate) fn new(are_compressed: bool) -> Views {
        Views { views: Vec::new(), open: [None; KINDS], full: if are_compressed { SPLIT_BYTES } else { u64::MAX } }
    }

    /// Appends a span to the view of its kind. Returns the provisional index of the view and the offset of the span in
    /// the view.
    pub(crate) fn add(&mut self, span: ValueSpan) -> Result<(usize, u64)> {
        let kind = span.content.kind();
        // A span is never split, because an accessor refers to a single view, so a view may exceed the size at which it
        // is full.
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

    /// Adds the views to the document in file order, without offsets, and updates the accessors.
    pub(crate) fn finish(mut self, document: &mut Document) -> Result<Vec<GltfView>> {
        let mut order = collected(0..self.views.len())?;
        order.sort_by_key(|&number| self.views[number].kind);
        let mut numbers = collected(0..order.len())?;
        for (number, &provisional) in order.iter().enumerate() {
            numbers[provisional] = number;
            let GltfView { kind, bytes, .. } = self.views[provisional];
            // The specification allows strides only for vertex attributes.
            let byte_stride = (kind.target() == Some(VERTICES)).then(|| kind.stride());
            let view = BufferView { byte_length: bytes, byte_stride, target: kind.target(), ..BufferView::default() };
            try_push(&mut document.buffer_views, view, "the plan")?;
        }
        for accessor in paced(&mut document.accessors) {
            accessor.buffer_view = accessor.buffer_view.map(|provisional| numbers[provisional]);
        }
        // A stable sort, like the sort of `order`, so the views get the indices that were just assigned.
        self.views.sort_by_key(|view| view.kind);
        Ok(self.views)
    }
}

/// Assigns offsets to the views of a document, and appends its images. If views are compressed, `compressed` has the
/// bytes of each view.
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
                // Accessors must be aligned in this buffer, although it has no bytes.
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
        // This buffer has no bytes, so readers must support the extension.
        let extensions = [(MESHOPT.to_owned(), json!({ "fallback": true }))].into();
        document.buffers.push(Buffer { byte_length: decoded, extensions, ..Buffer::default() });
    }
    Ok(layout)
}

/// Returns the content of the extension for a view whose compressed bytes start at `offset`.
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

/// Appends the embedded images of the document, each in its own view.
fn add_images(document: &mut Document, images: &GltfImages, layout: &mut FileLayout) -> Result<()> {
    for image in &mut document.images {
        let Some(number) = image.buffer_view else { continue };
        // The bytes before it may be 16-bit indices.
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
    /// Appends a span of `count` bytes, then zeros up to a multiple of 4.
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
