//! Defines spans (consecutive values of one kind in the binary part of a file) and the kinds of views that hold them.

use crate::quantize::Lattice;
use crate::splats::SplatAttribute;
use polyhaul_geometry::frame::Frame;

/// View targets: GPU vertex and index buffers.
pub(crate) const VERTICES: u32 = 34962;
const INDICES: u32 = 34963;

/// Consecutive values of one kind.
#[derive(Clone, Debug)]
pub(crate) struct ValueSpan {
    /// Index of the geometry, and index of a section in it.
    pub(crate) geometry: usize,
    pub(crate) section: usize,
    pub(crate) content: SpanContent,
    /// Number of values.
    pub(crate) count: usize,
}

/// Content of a span.
#[derive(Clone, Debug)]
pub(crate) enum SpanContent {
    /// Positions. They are transformed by `frame` if a node cannot store the transform, and quantized if there is a
    /// lattice.
    Positions { block: BlockKind, frame: Option<Frame>, lattice: Option<Lattice> },
    /// Normals, as bytes if quantized.
    Normals { block: BlockKind, frame: Option<Frame>, is_quantized: bool },
    /// UVs, with 16 bits if quantized.
    Uvs { is_quantized: bool },
    /// Linear colors, with or without alpha, and with 16 bits if quantized.
    Colors { block: BlockKind, has_alpha: bool, is_quantized: bool },
    /// A vertex column.
    Column(BlockKind, usize),
    /// A splat attribute.
    Splat(BlockKind, SplatAttribute),
    /// Values of the instances of a node.
    Instances(usize, InstanceValue),
    /// Pairs of vertex indices.
    Segments,
    /// Indices of a material group.
    Triangles(TriangleIndices),
    /// Padding between values.
    Zeros,
    /// Bytes of an image.
    Image(usize),
    /// Bytes of a compressed view.
    Compressed(usize),
}

/// Attribute of instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstanceValue {
    Translation,
    Rotation,
    Scale,
}

/// Triangles of a material group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TriangleIndices {
    /// Index of the group in the section.
    pub(crate) group: usize,
    /// Whether indices have 32 bits instead of 16.
    pub(crate) is_wide: bool,
    /// Whether the winding is reversed.
    pub(crate) is_mirrored: bool,
}

/// Kind of the elements that use the vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BlockKind {
    Triangles,
    Lines,
    Points,
}

impl SpanContent {
    /// Returns the kind of view for these values. Has no meaning for padding, images and compressed views.
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

    /// Returns the number of bytes per vertex, instance, segment or triangle; 1 for padding, images and compressed
    /// views.
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

/// Kinds of views, in file order. The kind with 2-byte elements comes last, so that all other views stay aligned to 4
/// bytes.
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

/// Number of kinds.
pub(crate) const KINDS: usize = ViewKind::ShortIndices as usize + 1;

/// Compression modes of `EXT_meshopt_compression`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViewMode {
    Attributes,
    Triangles,
    Indices,
}

impl ViewKind {
    /// Returns the number of bytes from one element to the next.
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

    /// Returns the GPU target of the view; `None` for the attributes of instances.
    pub(crate) fn target(self) -> Option<u32> {
        match self {
            ViewKind::Translations | ViewKind::Rotations | ViewKind::Scales => None,
            _ if self.mode() == ViewMode::Attributes => Some(VERTICES),
            _ => Some(INDICES),
        }
    }
}
