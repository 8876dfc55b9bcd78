//! Typed values in buffers: what an accessor says, checked.
//!
//! Every offset, stride and count is checked against the buffer, and every value charged to the budget, before a byte
//! is read or a value allocated. The values are read in `fills`. What they mean is not known here.

use crate::budget::Budget;
use crate::buffers::{Buffers, Home};
use crate::document::{Accessor, Document, component};
use crate::fills::{Fill, FillJob};
use crate::log::{Log, malformed, over_limit};
use crate::meshopt::MeshoptView;
use polyhaul_model::error::{Result, try_copy, try_push};
use polyhaul_model::limits::Limits;
use polyhaul_pipeline::arrays::zeroed;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

/// The type of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    fn from_number(number: u32) -> Option<Component> {
        Some(match number {
            component::BYTE => Component::I8,
            component::UNSIGNED_BYTE => Component::U8,
            component::SHORT => Component::I16,
            component::UNSIGNED_SHORT => Component::U16,
            component::UNSIGNED_INT => Component::U32,
            component::FLOAT => Component::F32,
            _ => return None,
        })
    }

    pub(crate) fn bytes(self) -> usize {
        match self {
            Component::I8 | Component::U8 => 1,
            Component::I16 | Component::U16 => 2,
            Component::U32 | Component::F32 => 4,
        }
    }

    /// Whether it can be an index.
    pub(crate) fn is_index(self) -> bool {
        matches!(self, Component::U8 | Component::U16 | Component::U32)
    }
}

/// Elements in a buffer, all of which it has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) home: Home,
    pub(crate) start: u64,
    pub(crate) stride: usize,
    pub(crate) count: usize,
}

/// Elements that replace others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SparseSpan {
    pub(crate) indices: Span,
    pub(crate) index: Component,
    pub(crate) values: Span,
}

/// An accessor that was checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) accessor: usize,
    pub(crate) count: usize,
    pub(crate) component: Component,
    /// The number of components of an element: 1 to 4.
    pub(crate) width: usize,
    pub(crate) normalized: bool,
    /// `None` for zeros.
    pub(crate) span: Option<Span>,
    pub(crate) sparse: Option<SparseSpan>,
}

impl Layout {
    pub(crate) fn element_bytes(&self) -> usize {
        self.width * self.component.bytes()
    }

    /// The same, with integers normalized.
    pub(crate) fn as_normalized(self) -> Layout {
        Layout { normalized: true, ..self }
    }

    /// One component of each element, of those that there are.
    pub(crate) fn component(self, number: usize) -> Layout {
        let shift = (number * self.component.bytes()) as u64;
        let shifted = |span: Span| Span { start: span.start + shift, ..span };
        let sparse = self.sparse.map(|sparse| SparseSpan { values: shifted(sparse.values), ..sparse });
        Layout { width: 1, span: self.span.map(shifted), sparse, ..self }
    }

    /// Whether its values are in no buffer.
    pub(crate) fn is_zero(&self) -> bool {
        self.span.is_none()
    }
}

/// The values of a file's accessors.
pub(crate) struct Values<'a, 'f> {
    pub(crate) document: &'a Document,
    pub(crate) budget: Budget,
    pub(crate) limits: Limits,
    buffers: Buffers<'a, 'f>,
    pub(crate) run: &'a RunOptions,
    /// The size of the file, for progress.
    size: Option<u64>,
    /// How many bytes were read.
    done: AtomicU64,
    /// The compressed views that are needed, and are not decoded yet.
    compressed: BTreeMap<usize, MeshoptView>,
    /// The most threads that worked.
    pub(crate) threads: usize,
}

/// Which components are allowed, for [`Values::layout`].
pub(crate) const ANY: &[usize] = &[1, 2, 3, 4];

impl<'a, 'f> Values<'a, 'f> {
    pub(crate) fn new(document: &'a Document, buffers: Buffers<'a, 'f>, limits: Limits, run: &'a RunOptions) -> Self {
        let (budget, done) = (Budget::new(&limits), AtomicU64::new(0));
        Values { document, budget, limits, buffers, run, size: None, done, compressed: BTreeMap::new(), threads: 1 }
    }

    /// The same, for a file of this size.
    pub(crate) fn sized(self, size: Option<u64>) -> Self {
        Values { size, ..self }
    }

    /// Checks an accessor that `user` refers to, whose elements have one of `widths` components, and charges its
    /// values, which can be read once.
    pub(crate) fn layout(&mut self, index: usize, user: &str, widths: &[usize], log: &mut Log) -> Result<Layout> {
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
        let mut layout = Layout {
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
            let at = (&*path, view, accessor.byte_offset);
            layout.span = Some(self.span(at, count, layout.element_bytes(), component, log)?);
            self.budget.charge_each(count, layout.element_bytes())?;
        } else {
            // Nothing else bounds their number, and room may be made for all values of a mesh at once.
            self.budget.charge_each(count, width * size_of::<f32>())?;
        }
        layout.sparse = self.sparse(&layout, accessor, log)?;
        Ok(layout)
    }

    /// The number of elements, within the limit.
    fn count(&self, count: u64, index: usize) -> Result<usize> {
        let limit = self.limits.elements;
        let within = usize::try_from(count).ok().filter(|_| count <= limit);
        within.ok_or_else(|| over_limit(&format!("accessors[{index}]: {count} elements"), limit, "elements"))
    }

    /// Checks the place of `count` elements in a view.
    fn span(
        &mut self,
        (path, index, offset): (&str, usize, u64),
        count: usize,
        element: usize,
        component: Component,
        log: &mut Log,
    ) -> Result<Span> {
        let view = self.document.buffer_views.get(index);
        let view = view.ok_or_else(|| malformed(format!("{path}: bufferViews[{index}] does not exist")))?;
        let stride = view.byte_stride.unwrap_or(element as u64);
        if view.byte_stride.is_some() && !(4..=252).contains(&stride) || stride < element as u64 {
            let message =
                format!("bufferViews[{index}]: byteStride {stride} is invalid for elements of {element} bytes");
            return Err(malformed(message));
        }
        let size = match count.checked_sub(1) {
            Some(last) => u128::from(stride) * last as u128 + element as u128,
            None => 0,
        };
        let end = u128::from(offset) + size;
        if end > u128::from(view.byte_length) {
            let excess = format!("{end} of {} bytes", view.byte_length);
            return Err(malformed(format!("{path}: byteOffset + byteLength exceeds bufferViews[{index}] ({excess})")));
        }
        let (home, begin) = self.open_view(index)?;
        let start = begin + offset;
        let alignment = component.bytes() as u64;
        if !start.is_multiple_of(alignment) || !stride.is_multiple_of(alignment) {
            log.note("misaligned-accessor", format!("{path} is not aligned to {alignment} bytes"))?;
        }
        Ok(Span { home, start, stride: stride as usize, count })
    }

    /// Opens the buffer of a view that lies in it; returns where its content begins.
    fn open_view(&mut self, index: usize) -> Result<(Home, u64)> {
        let view = &self.document.buffer_views[index];
        if let Some(own) = MeshoptView::from_view(view, index)? {
            if !self.compressed.contains_key(&index) {
                self.open_range(index, Some(own.buffer), own.offset, own.len)?;
                self.budget.charge_decoded(own.content_bytes() as u64)?;
                self.compressed.insert(index, own);
            }
            return Ok((Home::View(index), 0));
        }
        let buffer = self.open_range(index, view.buffer, view.byte_offset, view.byte_length)?;
        Ok((Home::Buffer(buffer), view.byte_offset))
    }

    /// The first bytes of a view that exists, at most so many.
    pub(crate) fn head(&mut self, index: usize, most: usize) -> Result<Vec<u8>> {
        let view = &self.document.buffer_views[index];
        let buffer = self.open_range(index, view.buffer, view.byte_offset, view.byte_length)?;
        let count = usize::try_from(view.byte_length).map_or(most, |len| len.min(most));
        let mut scratch = Vec::new();
        let found = self.buffers.opened.read(Home::Buffer(buffer), view.byte_offset, count, &mut scratch)?;
        try_copy(found, "a part of a file")
    }

    /// Opens a buffer that has these bytes of a view.
    fn open_range(&mut self, index: usize, buffer: Option<usize>, offset: u64, len: u64) -> Result<usize> {
        let number = buffer.unwrap_or(usize::MAX);
        let Some(owner) = self.document.buffers.get(number) else {
            return Err(malformed(match buffer {
                Some(buffer) => format!("bufferViews[{index}]: buffers[{buffer}] does not exist"),
                None => format!("bufferViews[{index}] has no buffer"),
            }));
        };
        let end = u128::from(offset) + u128::from(len);
        if end > u128::from(owner.byte_length) {
            let excess = format!("{end} of {} bytes", owner.byte_length);
            let message = format!("bufferViews[{index}]: byteOffset + byteLength exceeds buffers[{number}] ({excess})");
            return Err(malformed(message));
        }
        let added = self.buffers.open(number)?;
        self.budget.add(added);
        Ok(number)
    }

    fn sparse(&mut self, layout: &Layout, accessor: &Accessor, log: &mut Log) -> Result<Option<SparseSpan>> {
        let Some(sparse) = &accessor.sparse else { return Ok(None) };
        let path = format!("accessors[{}].sparse", layout.accessor);
        let count = self.count(sparse.count, layout.accessor)?;
        if count > layout.count {
            return Err(malformed(format!("{path}: {count} of {} elements", layout.count)));
        }
        let (indices, values) = (&sparse.indices, &sparse.values);
        let index = Component::from_number(indices.component_type).filter(|index| index.is_index());
        let index = index.ok_or_else(|| malformed(format!("{path}.indices: invalid componentType")))?;
        let missing = || malformed(format!("{path} has no bufferView"));
        let view = indices.buffer_view.ok_or_else(missing)?;
        let at = (&*path, view, indices.byte_offset);
        let indices = self.span(at, count, index.bytes(), index, log)?;
        let view = values.buffer_view.ok_or_else(missing)?;
        let at = (&*path, view, values.byte_offset);
        let values = self.span(at, count, layout.element_bytes(), layout.component, log)?;
        self.budget.charge_each(count, index.bytes() + layout.element_bytes())?;
        Ok(Some(SparseSpan { indices, index, values }))
    }

    /// Reads the values of many accessors into their places, with the threads of the job.
    pub(crate) fn fill(&mut self, fills: &mut [Fill<'_>]) -> Result<()> {
        self.decode()?;
        let job = FillJob { buffers: &self.buffers.opened, run: self.run, size: self.size, done: &self.done };
        self.threads = self.threads.max(job.fill(fills)?);
        Ok(())
    }

    /// Decodes the compressed views that are needed.
    fn decode(&mut self) -> Result<()> {
        let mut views = Vec::new();
        for (index, view) in std::mem::take(&mut self.compressed) {
            if self.buffers.opened.views.contains_key(&index) {
                continue;
            }
            let bytes = zeroed(view.len as usize, "a compressed view")?;
            try_push(&mut views, (index, view, bytes), "views")?;
        }
        let mut fills = Vec::new();
        for (_, view, bytes) in &mut views {
            let span = Span { home: Home::Buffer(view.buffer), start: view.offset, stride: 1, count: bytes.len() };
            try_push(&mut fills, Fill::bytes(span, bytes), "views")?;
        }
        let job = FillJob { buffers: &self.buffers.opened, run: self.run, size: self.size, done: &self.done };
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

/// The number of components of a type that is no matrix.
pub(crate) fn width(kind: &str) -> Option<usize> {
    Some(match kind {
        "SCALAR" => 1,
        "VEC2" => 2,
        "VEC3" => 3,
        "VEC4" => 4,
        _ => return None,
    })
}

/// The type as messages show it.
fn shown_kind(accessor: &Accessor) -> String {
    polyhaul_model::names::shown(&accessor.kind).into_owned()
}

#[cfg(test)]
#[path = "accessors_tests.rs"]
mod tests;
