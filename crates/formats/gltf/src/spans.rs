//! Spans: consecutive values of one kind in the binary part of a file, and the kinds of views that hold them.

use crate::quantize::Lattice;
use crate::splats::SplatAttribute;
use polyhaul_geometry::frame::Frame;

/// The targets of views.
pub(crate) const VERTICES: u32 = 34962;
const INDICES: u32 = 34963;

/// Consecutive values of one kind in the file.
#[derive(Clone, Debug)]
pub(crate) struct ValueSpan {
    /// The number of the geometry, and of its section.
    pub(crate) geometry: usize,
    pub(crate) section: usize,
    pub(crate) content: SpanContent,
    /// The number of values.
    pub(crate) count: usize,
}

/// The values of a span.
#[derive(Clone, Debug)]
pub(crate) enum SpanContent {
    /// Positions, transformed by a frame that a node cannot store; as codes if there is a lattice.
    Positions { block: BlockKind, frame: Option<Frame>, lattice: Option<Lattice> },
    /// Normals; in bytes if they are quantized.
    Normals { block: BlockKind, frame: Option<Frame>, is_quantized: bool },
    /// Uvs; in 16 bits if they are quantized.
    Uvs { is_quantized: bool },
    /// Linear colors, with or without alpha; in 16 bits if they are quantized.
    Colors { block: BlockKind, has_alpha: bool, is_quantized: bool },
    /// A vertex column.
    Column(BlockKind, usize),
    /// An attribute of splats.
    Splat(BlockKind, SplatAttribute),
    /// Values of the instances of a node.
    Instances(usize, InstanceValue),
    /// Pairs of vertices.
    Segments,
    /// The triangles of a material.
    Triangles(TriangleIndices),
    /// Padding between values.
    Zeros,
    /// The bytes of an image.
    Image(usize),
    /// The bytes of a compressed view.
    Compressed(usize),
}

/// An attribute of instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstanceValue {
    Translation,
    Rotation,
    Scale,
}

/// The indices of triangles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TriangleIndices {
    /// The number of the material in the section.
    pub(crate) group: usize,
    /// Whether indices have 32 bits instead of 16.
    pub(crate) is_wide: bool,
    /// Whether the winding is reversed.
    pub(crate) is_mirrored: bool,
}

/// The elements that vertices belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BlockKind {
    Triangles,
    Lines,
    Points,
}

impl SpanContent {
    /// The kind of views with these values. For bytes, which are in no view, the result is not used.
    pub(crate) fn kind(&self) -> ViewKind {
        match self {
            SpanContent::Positions { lattice: None, .. } => ViewKind::Positions,
            SpanContent::Positions { .. } => ViewKind::ShortPositions,
            SpanContent::Normals { is_quantized: false, .. } => ViewKind::Normals,
            SpanContent::Normals { .. } => ViewKind::ByteNormals,
            SpanContent::Uvs { is_quantized: false } => ViewKind::Uvs,
            SpanContent::Uvs { .. } => ViewKind::ShortUvs,
            SpanContent::Colors { is_quantized: true, .. } => ViewKind::ShortColors,
            SpanContent::Colors { has_alpha: true, .. } => ViewKind::Colors,
            SpanContent::Colors { .. } => ViewKind::OpaqueColors,
            SpanContent::Column(..) | SpanContent::Splat(_, SplatAttribute::Opacity) => ViewKind::Columns,
            SpanContent::Splat(_, SplatAttribute::Color) => ViewKind::ShortColors,
            SpanContent::Splat(_, SplatAttribute::Rotation) => ViewKind::SplatRotations,
            SpanContent::Splat(..) => ViewKind::SplatTriples,
            SpanContent::Instances(_, InstanceValue::Translation) => ViewKind::Translations,
            SpanContent::Instances(_, InstanceValue::Rotation) => ViewKind::Rotations,
            SpanContent::Instances(_, InstanceValue::Scale) => ViewKind::Scales,
            SpanContent::Segments => ViewKind::Segments,
            SpanContent::Triangles(indices) if indices.is_wide => ViewKind::Indices,
            SpanContent::Triangles(_) | SpanContent::Zeros | SpanContent::Image(_) | SpanContent::Compressed(_) => {
                ViewKind::ShortIndices
            }
        }
    }

    /// The size of a value: of a vertex, of the corners of a segment or a triangle, or of a byte.
    pub(crate) fn bytes(&self) -> usize {
        let parts = match self {
            SpanContent::Zeros | SpanContent::Image(_) | SpanContent::Compressed(_) => return 1,
            SpanContent::Segments => 2,
            SpanContent::Triangles(_) => 3,
            _ => 1,
        };
        parts * self.kind().stride() as usize
    }
}

/// Kinds of values, in this order in the file: values of two bytes come last, so that the others stay aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ViewKind {
    Positions,
    ShortPositions,
    Normals,
    ByteNormals,
    Uvs,
    ShortUvs,
    Colors,
    OpaqueColors,
    ShortColors,
    Columns,
    SplatRotations,
    SplatTriples,
    Translations,
    Rotations,
    Scales,
    Segments,
    Indices,
    ShortIndices,
}

/// One more than the last kind.
pub(crate) const KINDS: usize = ViewKind::ShortIndices as usize + 1;

/// How a view is compressed: the modes of the extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViewMode {
    Attributes,
    Triangles,
    Indices,
}

impl ViewKind {
    /// The bytes from one value to the next.
    pub(crate) fn stride(self) -> u64 {
        match self {
            ViewKind::Positions | ViewKind::Normals | ViewKind::OpaqueColors => 12,
            ViewKind::Translations | ViewKind::Scales | ViewKind::SplatTriples => 12,
            ViewKind::ShortPositions | ViewKind::Uvs | ViewKind::ShortColors => 8,
            ViewKind::Colors | ViewKind::Rotations | ViewKind::SplatRotations => 16,
            ViewKind::ByteNormals | ViewKind::ShortUvs | ViewKind::Columns => 4,
            ViewKind::Segments | ViewKind::Indices => 4,
            ViewKind::ShortIndices => 2,
        }
    }

    pub(crate) fn mode(self) -> ViewMode {
        match self {
            ViewKind::Indices | ViewKind::ShortIndices => ViewMode::Triangles,
            ViewKind::Segments => ViewMode::Indices,
            _ => ViewMode::Attributes,
        }
    }

    /// The use of the view by the GPU; `None` for values of instances.
    pub(crate) fn target(self) -> Option<u32> {
        match self {
            ViewKind::Translations | ViewKind::Rotations | ViewKind::Scales => None,
            _ if self.mode() == ViewMode::Attributes => Some(VERTICES),
            _ => Some(INDICES),
        }
    }
}
