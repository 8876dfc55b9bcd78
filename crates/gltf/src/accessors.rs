//! Typed values out of buffers: what an accessor says, checked, and its values as floats or indices.
//!
//! Every offset, stride and count is checked against the buffer before a byte is read or a value allocated. Components
//! of all types are read, tight or with a stride, sparse or of zeros only. What the values mean is not known here.

use crate::budget::Budget;
use crate::buffers::{Buffers, PIECE_BYTES};
use crate::document::{Accessor, Document, component};
use crate::log::{Log, malformed, over_limit};
use polyhaul_model::error::{Error, Result};
use polyhaul_model::limits::Limits;
use polyhaul_pipeline::options::Cancel;

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
    fn is_index(self) -> bool {
        matches!(self, Component::U8 | Component::U16 | Component::U32)
    }
}

/// Elements in a buffer, all of which it has.
#[derive(Clone, Copy, Debug)]
struct Span {
    buffer: usize,
    start: u64,
    stride: usize,
    count: usize,
}

/// Elements that replace others.
#[derive(Clone, Copy, Debug)]
struct SparseSpan {
    indices: Span,
    index: Component,
    values: Span,
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
    span: Option<Span>,
    sparse: Option<SparseSpan>,
}

impl Layout {
    fn element_bytes(&self) -> usize {
        self.width * self.component.bytes()
    }

    /// The same, with integers normalized.
    pub(crate) fn as_normalized(self) -> Layout {
        Layout { normalized: true, ..self }
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
    cancel: &'a Cancel,
}

/// Which components are allowed, for [`Values::layout`].
pub(crate) const ANY: &[usize] = &[1, 2, 3, 4];

impl<'a, 'f> Values<'a, 'f> {
    pub(crate) fn new(document: &'a Document, buffers: Buffers<'a, 'f>, limits: Limits, cancel: &'a Cancel) -> Self {
        Values { document, budget: Budget::new(&limits), limits, buffers, cancel }
    }

    /// Checks an accessor that `user` refers to, whose elements have one of `widths` components.
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
        let buffer = self.open_view(index)?;
        let start = view.byte_offset + offset;
        let alignment = component.bytes() as u64;
        if !start.is_multiple_of(alignment) || !stride.is_multiple_of(alignment) {
            log.note("misaligned-accessor", format!("{path} is not aligned to {alignment} bytes"))?;
        }
        Ok(Span { buffer, start, stride: stride as usize, count })
    }

    /// Opens the buffer of a view that lies in it.
    fn open_view(&mut self, index: usize) -> Result<usize> {
        let view = &self.document.buffer_views[index];
        let buffer = view.buffer.unwrap_or(usize::MAX);
        let Some(owner) = self.document.buffers.get(buffer) else {
            return Err(malformed(match view.buffer {
                Some(buffer) => format!("bufferViews[{index}]: buffers[{buffer}] does not exist"),
                None => format!("bufferViews[{index}] has no buffer"),
            }));
        };
        let end = u128::from(view.byte_offset) + u128::from(view.byte_length);
        if end > u128::from(owner.byte_length) {
            let excess = format!("{end} of {} bytes", owner.byte_length);
            let message = format!("bufferViews[{index}]: byteOffset + byteLength exceeds buffers[{buffer}] ({excess})");
            return Err(malformed(message));
        }
        let added = self.buffers.open(buffer)?;
        self.budget.add(added);
        Ok(buffer)
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
        Ok(Some(SparseSpan { indices, index, values }))
    }

    /// Appends the elements as floats, normalized if the accessor says so; `finish` makes a value of each.
    pub(crate) fn floats<const N: usize, T: Clone>(
        &mut self,
        layout: &Layout,
        out: &mut Vec<T>,
        finish: impl Fn([f32; N]) -> T,
    ) -> Result<()> {
        if layout.width != N {
            return Err(malformed(format!("accessors[{}]: expected {N} components", layout.accessor)));
        }
        self.begin(layout, out)?;
        let (first, kind) = (out.len(), (layout.component, layout.normalized));
        match layout.span {
            Some(span) => {
                let element = layout.element_bytes();
                self.each_piece(&span, element, |piece, count| {
                    append_floats(kind, piece, (span.stride, count), out, &finish);
                })?;
            }
            None => out.resize(first + layout.count, finish([0.0; N])),
        }
        let Some(sparse) = layout.sparse else { return Ok(()) };
        let places = self.sparse_places(layout, &sparse)?;
        let mut values = Vec::new();
        values.try_reserve_exact(places.len())?;
        let stride = sparse.values.stride;
        self.each_piece(&sparse.values, layout.element_bytes(), |piece, count| {
            append_floats(kind, piece, (stride, count), &mut values, &finish);
        })?;
        for (place, value) in places.into_iter().zip(values) {
            out[first + place as usize] = value;
        }
        Ok(())
    }

    /// Appends the elements as indices, each `base` more than in the file; returns the largest in the file.
    pub(crate) fn indices(&mut self, layout: &Layout, base: u32, out: &mut Vec<u32>) -> Result<Option<u32>> {
        if layout.width != 1 || !layout.component.is_index() {
            let path = format!("accessors[{}]", layout.accessor);
            return Err(malformed(format!("{path}: indices must be unsigned integers of type `SCALAR`")));
        }
        self.begin(layout, out)?;
        let (first, element) = (out.len(), layout.element_bytes());
        match layout.span {
            Some(span) => self.each_piece(&span, element, |piece, count| {
                append_indices(layout.component, piece, (span.stride, count), out);
            })?,
            None => out.resize(first + layout.count, 0),
        }
        if let Some(sparse) = layout.sparse {
            let places = self.sparse_places(layout, &sparse)?;
            let mut values = Vec::new();
            values.try_reserve_exact(places.len())?;
            self.each_piece(&sparse.values, element, |piece, count| {
                append_indices(layout.component, piece, (sparse.values.stride, count), &mut values);
            })?;
            for (place, value) in places.into_iter().zip(values) {
                out[first + place as usize] = value;
            }
        }
        let most = out[first..].iter().copied().max();
        out[first..].iter_mut().for_each(|index| *index = index.wrapping_add(base));
        Ok(most)
    }

    /// Charges the elements and makes room for them.
    fn begin<T>(&mut self, layout: &Layout, out: &mut Vec<T>) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::cancelled());
        }
        if !layout.is_zero() {
            self.budget.charge_each(layout.count, layout.element_bytes())?;
        }
        out.try_reserve(layout.count).map_err(|_| Error::memory("values of an accessor"))
    }

    /// The elements that are replaced, in ascending order.
    fn sparse_places(&mut self, layout: &Layout, sparse: &SparseSpan) -> Result<Vec<u32>> {
        let SparseSpan { indices, index, values } = sparse;
        self.budget.charge_each(indices.count, index.bytes())?;
        self.budget.charge_each(values.count, layout.element_bytes())?;
        let mut places = Vec::new();
        places.try_reserve_exact(indices.count).map_err(|_| Error::memory("indices of an accessor"))?;
        self.each_piece(indices, index.bytes(), |piece, count| {
            append_indices(*index, piece, (indices.stride, count), &mut places);
        })?;
        let is_ascending = places.is_sorted_by(|a, b| a < b);
        if is_ascending && places.last().is_none_or(|&last| (last as usize) < layout.count) {
            return Ok(places);
        }
        let path = format!("accessors[{}].sparse.indices", layout.accessor);
        Err(malformed(format!("{path} are not ascending, or not below {}", layout.count)))
    }

    /// Calls `take` with the bytes of a few elements at a time, and how many they are.
    fn each_piece(&mut self, span: &Span, element: usize, mut take: impl FnMut(&[u8], usize)) -> Result<()> {
        let most = ((PIECE_BYTES - element) / span.stride + 1).max(1);
        let mut done = 0;
        while done < span.count {
            if self.cancel.is_cancelled() {
                return Err(Error::cancelled());
            }
            let count = most.min(span.count - done);
            let start = span.start + done as u64 * span.stride as u64;
            take(self.buffers.piece(span.buffer, start, (count - 1) * span.stride + element)?, count);
            done += count;
        }
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

/// Appends values made of `B` bytes for each component of elements of `N` components.
#[inline(always)]
fn append<const B: usize, const N: usize, V, T>(
    piece: &[u8],
    (stride, count): (usize, usize),
    out: &mut Vec<T>,
    number: impl Fn([u8; B]) -> V,
    finish: impl Fn([V; N]) -> T,
) {
    let element = |bytes: &[u8]| {
        let (components, _) = bytes.as_chunks::<B>();
        finish(std::array::from_fn(|at| number(components[at])))
    };
    if stride == N * B {
        out.extend(piece.chunks_exact(N * B).map(element));
    } else {
        out.extend((0..count).map(|at| element(&piece[at * stride..][..N * B])));
    }
}

/// Appends elements as floats. Source: the table of normalized integers in section 3.6.2.2.
fn append_floats<const N: usize, T>(
    kind: (Component, bool),
    piece: &[u8],
    size: (usize, usize),
    out: &mut Vec<T>,
    finish: impl Fn([f32; N]) -> T,
) {
    let i8 = |[byte]: [u8; 1]| f32::from(byte as i8);
    let u8 = |[byte]: [u8; 1]| f32::from(byte);
    let i16 = |bytes| f32::from(i16::from_le_bytes(bytes));
    let u16 = |bytes| f32::from(u16::from_le_bytes(bytes));
    match kind {
        (Component::F32, _) => append(piece, size, out, f32::from_le_bytes, finish),
        (Component::U32, _) => append(piece, size, out, |bytes| u32::from_le_bytes(bytes) as f32, finish),
        (Component::I8, false) => append(piece, size, out, i8, finish),
        (Component::U8, false) => append(piece, size, out, u8, finish),
        (Component::I16, false) => append(piece, size, out, i16, finish),
        (Component::U16, false) => append(piece, size, out, u16, finish),
        (Component::I8, true) => append(piece, size, out, |bytes| (i8(bytes) / 127.0).max(-1.0), finish),
        (Component::U8, true) => append(piece, size, out, |bytes| u8(bytes) / 255.0, finish),
        (Component::I16, true) => append(piece, size, out, |bytes| (i16(bytes) / 32767.0).max(-1.0), finish),
        (Component::U16, true) => append(piece, size, out, |bytes| u16(bytes) / 65535.0, finish),
    }
}

/// Appends indices, which are of unsigned types.
fn append_indices(component: Component, piece: &[u8], size: (usize, usize), out: &mut Vec<u32>) {
    let first = |[index]: [u32; 1]| index;
    match component.bytes() {
        1 => append(piece, size, out, |[byte]: [u8; 1]| u32::from(byte), first),
        2 => append(piece, size, out, |bytes| u32::from(u16::from_le_bytes(bytes)), first),
        _ => append(piece, size, out, u32::from_le_bytes, first),
    }
}

#[cfg(test)]
#[path = "accessors_tests.rs"]
mod tests;
