//! Validates accessors, which are typed values in buffers.
//!
//! Checks every offset, stride and count against the buffer, and charges every value to the budget, before reading a
//! byte or allocating memory for a value. `fills` reads the values.

use crate::budget::Budget;
use crate::buffers::{Buffers, Home};
use crate::document::{Accessor, Document};
use crate::fills::{AccessorFill, FillJob};
use crate::layout::{AccessorLayout, ByteSpan, Component, SparseSpan};
use crate::log::{GltfLog, malformed, over_limit};
use crate::meshopt::MeshoptView;
use polyhaul_model::error::{Result, try_copy, try_push};
use polyhaul_model::limits::Limits;
use polyhaul_pipeline::arrays::zeroed;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

/// The accessor values of a file, with the state needed to validate and read them.
pub(crate) struct AccessorValues<'a, 'f> {
    pub(crate) document: &'a Document,
    pub(crate) budget: Budget,
    pub(crate) limits: Limits,
    buffers: Buffers<'a, 'f>,
    pub(crate) run: &'a RunOptions,
    /// File size in bytes, for progress; `None` if unknown.
    size: Option<u64>,
    /// Bytes read so far.
    bytes_read: AtomicU64,
    /// Compressed views that are in use but not decoded yet, by index of the view.
    /// Sorted, so that the first invalid view is the one reported.
    compressed: BTreeMap<usize, MeshoptView>,
    /// Maximum number of threads used.
    pub(crate) threads: usize,
}

/// Elements in a view, not validated yet.
#[derive(Clone, Copy)]
struct ViewElements<'p> {
    /// JSON path, for messages.
    path: &'p str,
    view: usize,
    /// Byte offset in the view.
    offset: u64,
    count: usize,
    element_bytes: usize,
    component: Component,
}

/// Accepts any number of components in [`AccessorValues::layout`].
pub(crate) const ANY: &[usize] = &[1, 2, 3, 4];

impl<'a, 'f> AccessorValues<'a, 'f> {
    pub(crate) fn new(document: &'a Document, buffers: Buffers<'a, 'f>, limits: Limits, run: &'a RunOptions) -> Self {
        AccessorValues {
            document,
            budget: Budget::new(&limits),
            limits,
            buffers,
            run,
            size: None,
            bytes_read: AtomicU64::new(0),
            compressed: BTreeMap::new(),
            threads: 1,
        }
    }

    /// Sets the file size.
    pub(crate) fn sized(self, size: Option<u64>) -> Self {
        AccessorValues { size, ..self }
    }

    /// Validates accessor `index` and charges its values for one read. `user` is the JSON path that refers to the
    /// accessor, for messages; `widths` lists the accepted numbers of components.
    pub(crate) fn layout(
        &mut self,
        index: usize,
        user: &str,
        widths: &[usize],
        log: &mut GltfLog,
    ) -> Result<AccessorLayout> {
        let document = self.document;
        let accessor = document.accessors.get(index);
        let accessor = accessor.ok_or_else(|| malformed(format!("{user}: accessors[{index}] does not exist")))?;
        let component = Component::from_number(accessor.component_type).ok_or_else(|| {
            malformed(format!("accessors[{index}]: unknown componentType {}", accessor.component_type))
        })?;
        let width = width(&accessor.kind).filter(|width| widths.contains(width)).ok_or_else(|| {
            malformed(format!("{user}: accessors[{index}] has the wrong type `{}`", shown_kind(accessor)))
        })?;
        let count = self.count(accessor.count, index)?;
        let mut layout = AccessorLayout {
            accessor: index,
            count,
            component,
            width,
            normalized: accessor.normalized,
            span: None,
            sparse: None,
        };
        if let Some(view) = accessor.buffer_view {
            let path = format!("accessors[{index}]");
            let elements = ViewElements {
                path: &path,
                view,
                offset: accessor.byte_offset,
                count,
                element_bytes: layout.element_bytes(),
                component,
            };
            layout.span = Some(self.span(&elements, log)?);
            self.budget.charge_each(count, layout.element_bytes())?;
        } else {
            // Without a view, the size of the file does not limit the count, and all values of a mesh may be allocated
            // at once.
            self.budget.charge_zeros(count, width * size_of::<f32>())?;
        }
        layout.sparse = self.sparse(&layout, accessor, log)?;
        Ok(layout)
    }

    /// Converts an element count. Fails if it exceeds [`Limits::elements`].
    fn count(&self, count: u64, index: usize) -> Result<usize> {
        let limit = self.limits.elements;
        let within = usize::try_from(count).ok().filter(|_| count <= limit);
        within.ok_or_else(|| over_limit(&format!("accessors[{index}]: {count} elements"), limit, "elements"))
    }

    /// Validates that elements lie within their view. Returns their location.
    fn span(&mut self, elements: &ViewElements<'_>, log: &mut GltfLog) -> Result<ByteSpan> {
        let ViewElements { path, view: index, offset, count, element_bytes, component } = *elements;
        let view = self.document.buffer_views.get(index);
        let view = view.ok_or_else(|| malformed(format!("{path}: bufferViews[{index}] does not exist")))?;
        let stride = view.byte_stride.unwrap_or(element_bytes as u64);
        // The specification limits declared strides to the range 4 to 252 bytes; tightly packed elements may be
        // smaller.
        if view.byte_stride.is_some() && !(4..=252).contains(&stride) || stride < element_bytes as u64 {
            let message =
                format!("bufferViews[{index}]: byteStride {stride} is invalid for elements of {element_bytes} bytes");
            return Err(malformed(message));
        }
        // Nothing follows the last element, so it needs only its own size, not the stride (section 3.6.2.4). Offsets
        // and counts are arbitrary, so sums have 128 bits.
        let size = match count.checked_sub(1) {
            Some(last) => u128::from(stride) * last as u128 + element_bytes as u128,
            None => 0,
        };
        let end = u128::from(offset) + size;
        if end > u128::from(view.byte_length) {
            let excess = format!("expected at least {end} bytes, found {}", view.byte_length);
            return Err(malformed(format!("{path} exceeds bufferViews[{index}]: {excess}")));
        }
        // Opened only after all checks, so that an invalid accessor opens no file.
        let (home, view_start) = self.open_view(index)?;
        // The sum cannot overflow: the view lies within its buffer, and the elements lie within the view.
        let start = view_start + offset;
        let alignment = component.bytes() as u64;
        // A warning suffices, because `convert` assembles values from single bytes.
        if !start.is_multiple_of(alignment) || !stride.is_multiple_of(alignment) {
            log.note("misaligned-accessor", format!("{path} is not aligned to {alignment} bytes"))?;
        }
        // The cast is lossless: a declared stride is at most 252, and the default is the size of an element.
        Ok(ByteSpan { home, start, stride: stride as usize, count })
    }

    /// Opens the buffer of a view after validating that it contains the view. Returns where the view's content is
    /// stored, and the offset of the content there.
    fn open_view(&mut self, index: usize) -> Result<(Home, u64)> {
        let view = &self.document.buffer_views[index];
        if let Some(compressed) = MeshoptView::from_view(view, index)? {
            // Charged once, even if several accessors use the view.
            if !self.compressed.contains_key(&index) {
                self.open_range(index, Some(compressed.buffer), compressed.offset, compressed.len)?;
                self.budget.charge_decoded(compressed.content_bytes() as u64)?;
                self.compressed.insert(index, compressed);
            }
            return Ok((Home::View(index), 0));
        }
        let buffer = self.open_range(index, view.buffer, view.byte_offset, view.byte_length)?;
        Ok((Home::Buffer(buffer), view.byte_offset))
    }

    /// Reads at most `max_bytes` from the start of an existing view.
    pub(crate) fn head(&mut self, index: usize, max_bytes: usize) -> Result<Vec<u8>> {
        let view = &self.document.buffer_views[index];
        let buffer = self.open_range(index, view.buffer, view.byte_offset, view.byte_length)?;
        let count = usize::try_from(view.byte_length).map_or(max_bytes, |len| len.min(max_bytes));
        let mut scratch = Vec::new();
        let head = self.buffers.opened.read(Home::Buffer(buffer), view.byte_offset, count, &mut scratch)?;
        try_copy(head, "a part of a file")
    }

    /// Opens the buffer of view `index` after validating that it contains the view's bytes. Returns the index of the
    /// buffer.
    fn open_range(&mut self, index: usize, buffer: Option<usize>, offset: u64, len: u64) -> Result<usize> {
        // A missing index is handled like an out-of-range index.
        let number = buffer.unwrap_or(usize::MAX);
        let Some(owner) = self.document.buffers.get(number) else {
            return Err(malformed(match buffer {
                Some(buffer) => format!("bufferViews[{index}]: buffers[{buffer}] does not exist"),
                None => format!("bufferViews[{index}] has no buffer"),
            }));
        };
        let end = u128::from(offset) + u128::from(len);
        if end > u128::from(owner.byte_length) {
            let excess = format!("expected at least {end} bytes, found {}", owner.byte_length);
            let message = format!("bufferViews[{index}] exceeds buffers[{number}]: {excess}");
            return Err(malformed(message));
        }
        let added = self.buffers.open(number)?;
        self.budget.add(added);
        Ok(number)
    }

    fn sparse(
        &mut self,
        layout: &AccessorLayout,
        accessor: &Accessor,
        log: &mut GltfLog,
    ) -> Result<Option<SparseSpan>> {
        let Some(sparse) = &accessor.sparse else { return Ok(None) };
        let path = format!("accessors[{}].sparse", layout.accessor);
        let count = self.count(sparse.count, layout.accessor)?;
        if count > layout.count {
            return Err(malformed(format!("{path}: count {count} exceeds the accessor's {} elements", layout.count)));
        }
        let index = Component::from_number(sparse.indices.component_type).filter(|index| index.is_index());
        let index = index.ok_or_else(|| malformed(format!("{path}.indices: invalid componentType")))?;
        let missing = || malformed(format!("{path} has no bufferView"));
        let elements = ViewElements {
            path: &path,
            view: sparse.indices.buffer_view.ok_or_else(missing)?,
            offset: sparse.indices.byte_offset,
            count,
            element_bytes: index.bytes(),
            component: index,
        };
        let indices = self.span(&elements, log)?;
        let elements = ViewElements {
            view: sparse.values.buffer_view.ok_or_else(missing)?,
            offset: sparse.values.byte_offset,
            element_bytes: layout.element_bytes(),
            component: layout.component,
            ..elements
        };
        let values = self.span(&elements, log)?;
        self.budget.charge_each(count, index.bytes() + layout.element_bytes())?;
        Ok(Some(SparseSpan { indices, index, values }))
    }

    /// Reads the values of many accessors into their destinations, in parallel.
    pub(crate) fn fill(&mut self, fills: &mut [AccessorFill<'_>]) -> Result<()> {
        self.decode()?;
        let job =
            FillJob { buffers: &self.buffers.opened, run: self.run, size: self.size, bytes_read: &self.bytes_read };
        self.threads = self.threads.max(job.fill(fills)?);
        Ok(())
    }

    /// Decodes the compressed views in use, in parallel.
    fn decode(&mut self) -> Result<()> {
        let mut views = Vec::new();
        for (index, view) in std::mem::take(&mut self.compressed) {
            // An earlier call has already decoded it.
            if self.buffers.opened.views.contains_key(&index) {
                continue;
            }
            // The cast is lossless: the range lies in an open buffer, which is in memory or a chunk with a 32-bit
            // length.
            let bytes = zeroed(view.len as usize, "a compressed view")?;
            try_push(&mut views, (index, view, bytes), "views")?;
        }
        let mut fills = Vec::new();
        for (_, view, bytes) in &mut views {
            let span = ByteSpan { home: Home::Buffer(view.buffer), start: view.offset, stride: 1, count: bytes.len() };
            try_push(&mut fills, AccessorFill::bytes(span, bytes), "views")?;
        }
        let job =
            FillJob { buffers: &self.buffers.opened, run: self.run, size: self.size, bytes_read: &self.bytes_read };
        job.fill(&mut fills)?;
        drop(fills);
        let threads = self.run.worker_threads().min(views.len()).max(1);
        try_for_each_item(
            threads,
            &self.run.cancel,
            views.iter_mut(),
            || (),
            |(), (index, view, bytes)| {
                *bytes = view.decode(bytes, *index)?;
                Ok(())
            },
        )?;
        self.threads = self.threads.max(threads);
        self.buffers.opened.views.extend(views.into_iter().map(|(index, _, bytes)| (index, bytes)));
        Ok(())
    }
}

/// Returns the number of components of an accessor type; `None` for matrices.
pub(crate) fn width(kind: &str) -> Option<usize> {
    Some(match kind {
        "SCALAR" => 1,
        "VEC2" => 2,
        "VEC3" => 3,
        "VEC4" => 4,
        _ => return None,
    })
}

/// Returns an accessor's type for messages.
fn shown_kind(accessor: &Accessor) -> String {
    polyhaul_model::names::shown(&accessor.kind).into_owned()
}

#[cfg(test)]
#[path = "accessors_tests.rs"]
mod tests;
