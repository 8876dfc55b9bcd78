//! Layouts of validated accessors: location and storage format of their elements.

use crate::buffers::Home;
use crate::document::component;

/// Component type of an accessor.
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
    pub(crate) fn from_number(number: u32) -> Option<Component> {
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

    /// Returns whether indices can have this type.
    pub(crate) fn is_index(self) -> bool {
        matches!(self, Component::U8 | Component::U16 | Component::U32)
    }
}

/// Elements that lie within their buffer or decoded view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteSpan {
    pub(crate) home: Home,
    pub(crate) start: u64,
    pub(crate) stride: usize,
    pub(crate) count: usize,
}

/// The replacements in a sparse accessor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SparseSpan {
    pub(crate) indices: ByteSpan,
    pub(crate) index: Component,
    pub(crate) values: ByteSpan,
}

/// A validated accessor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessorLayout {
    pub(crate) accessor: usize,
    pub(crate) count: usize,
    pub(crate) component: Component,
    /// Components per element, 1 to 4.
    pub(crate) width: usize,
    pub(crate) normalized: bool,
    /// Location of the elements; `None` if the values are zeros.
    pub(crate) span: Option<ByteSpan>,
    pub(crate) sparse: Option<SparseSpan>,
}

impl AccessorLayout {
    pub(crate) fn element_bytes(&self) -> usize {
        self.width * self.component.bytes()
    }

    /// Returns this layout, but with integers normalized.
    pub(crate) fn as_normalized(self) -> AccessorLayout {
        AccessorLayout { normalized: true, ..self }
    }

    /// Returns the layout of one component of each element. `number` must be less than `width`.
    pub(crate) fn component(self, number: usize) -> AccessorLayout {
        // Sparse values have the same element layout, so they are shifted as well.
        let shift = (number * self.component.bytes()) as u64;
        let shifted = |span: ByteSpan| ByteSpan { start: span.start + shift, ..span };
        let sparse = self.sparse.map(|sparse| SparseSpan { values: shifted(sparse.values), ..sparse });
        AccessorLayout { width: 1, span: self.span.map(shifted), sparse, ..self }
    }

    /// Returns whether values without a sparse replacement are zeros, because there is no buffer view.
    pub(crate) fn is_zero(&self) -> bool {
        self.span.is_none()
    }
}

/// Storage format of elements.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) component: Component,
    pub(crate) is_normalized: bool,
    /// Components per element.
    pub(crate) width: usize,
}
