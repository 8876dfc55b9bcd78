//! Formats the binary part of a file in pages: vertices, indices and images, as little-endian bytes.
//!
//! [`crate::plan`] determines the values and their order. Pages are independent, so threads format them in parallel.

use crate::color::linear;
use crate::geometry::{GltfGeometry, MeshSection, VertexBlock, is_direction, unit};
use crate::looks::GltfImages;
use crate::quantize::{normal_code, unit_code};
use crate::spans::{BlockKind, InstanceValue, SpanContent, TriangleIndices, ValueSpan};
use crate::splats::SplatAttribute;
use crate::transforms::InstanceTransform;
use polyhaul_geometry::frame::Frame;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::{Bounds, Values, with_values};
use polyhaul_pipeline::arrays::PIECE;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_pipeline::write::Pages;
use polyhaul_spill::paced;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Approximate bytes per page.
pub(crate) const PAGE_BYTES: usize = 512 << 10;

impl MeshSection {
    /// Returns the vertices of a block. The block is empty if the section has no elements of this kind.
    pub(crate) fn block(&self, block: BlockKind) -> &VertexBlock {
        const NOTHING: &VertexBlock = &VertexBlock::Positions(0..0);
        match block {
            BlockKind::Triangles => &self.vertices,
            BlockKind::Lines => self.lines.as_ref().map_or(NOTHING, |(_, vertices)| vertices),
            BlockKind::Points => self.points.as_ref().unwrap_or(NOTHING),
        }
    }
}

impl GltfGeometry<'_> {
    /// Returns the position index of a vertex.
    #[inline]
    fn position_index(&self, block: &VertexBlock, number: usize) -> usize {
        let source = block.source(number) as usize;
        if block.is_welded() { self.welded.vertex_positions[source] as usize } else { source }
    }

    #[inline]
    fn position(&self, block: &VertexBlock, frame: Option<&Frame>, number: usize) -> [f32; 3] {
        let position = self.mesh.positions[self.position_index(block, number)];
        frame.map_or(position, |frame| frame.position(position))
    }

    #[inline]
    fn normal(&self, block: &VertexBlock, frame: Option<&Frame>, number: usize) -> [f32; 3] {
        let source = block.source(number);
        let index = if block.is_welded() { self.welded.vertex_normals[source as usize] } else { source };
        let stored = self.mesh.normals.get(index as usize).copied().filter(|&normal| is_direction(normal));
        let normal = stored.or_else(|| self.repaired.get(&source).copied()).unwrap_or_default();
        unit(frame.map_or(normal, |frame| frame.direction(normal)).map(f64::from))
    }

    /// Returns a UV with v flipped, because the origin is the lower left corner in the model and the upper left corner
    /// in glTF.
    #[inline]
    fn uv(&self, block: &VertexBlock, number: usize) -> [f32; 2] {
        let uv = self.welded.vertex_uvs[block.source(number) as usize];
        self.mesh.uvs.get(uv as usize).map_or([0.0; 2], |&[u, v]| [u, 1.0 - v])
    }

    /// Returns a linear color. Missing components (NaN) become 1.
    #[inline]
    fn color(&self, block: &VertexBlock, number: usize) -> [f32; 4] {
        let [red, green, blue, alpha] = self.mesh.colors[self.position_index(block, number)];
        let part = |value: f32| if value.is_nan() { 1.0 } else { linear(value) };
        [part(red), part(green), part(blue), if alpha.is_nan() { 1.0 } else { alpha.clamp(0.0, 1.0) }]
    }

    /// Computes the bounding box of a block's positions.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for positions that are not finite, which glTF does not allow.
    pub(crate) fn bounds(&self, block: &VertexBlock, frame: Option<&Frame>, run: &RunOptions) -> Result<Bounds> {
        let whole: Mutex<Option<Bounds>> = Mutex::default();
        let count = block.count();
        let pieces = (0..count).step_by(PIECE).map(|start| start..count.min(start + PIECE));
        let work = |(): &mut (), piece: Range<usize>| {
            let mut bounds: Option<Bounds> = None;
            for number in piece {
                let position = self.position(block, frame, number);
                if !position.iter().all(|part| part.is_finite()) {
                    let message = format!(
                        "glTF cannot store position {}: its coordinates are not finite",
                        self.position_index(block, number)
                    );
                    return Err(Error::new(ErrorKind::Unsupported, message));
                }
                let point = Bounds { min: position, max: position };
                bounds = Some(bounds.map_or(point, |bounds| bounds.union(point)));
            }
            // Unions commute, so the result does not depend on the order in which threads finish.
            let mut whole = whole.lock().unwrap_or_else(PoisonError::into_inner);
            *whole = whole.into_iter().chain(bounds).reduce(Bounds::union);
            Ok(())
        };
        try_for_each_item(run.worker_threads(), &run.cancel, pieces, || (), work)?;
        let whole = whole.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(whole.unwrap_or(Bounds { min: [0.0; 3], max: [0.0; 3] }))
    }

    /// Returns whether all UVs of a block are from 0 to 1.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for the first UV that is not finite.
    pub(crate) fn has_unit_uvs(&self, block: &VertexBlock) -> Result<bool> {
        let mut are_units = true;
        for number in 0..block.count() {
            let uv = self.uv(block, number);
            if !uv.iter().all(|part| part.is_finite()) {
                let message = format!("glTF cannot store the UV of vertex {number}: it is not finite");
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            are_units &= uv.iter().all(|part| (0.0..=1.0).contains(part));
        }
        Ok(are_units)
    }
}

/// Content of the binary part.
pub(crate) struct GltfData<'a> {
    pub(crate) geometries: Vec<GltfGeometry<'a>>,
    /// Instances of each node that has any.
    pub(crate) instances: Vec<Vec<InstanceTransform>>,
    pub(crate) images: &'a GltfImages,
}

/// Pages of the binary part.
pub(crate) struct GltfPages<'a> {
    data: &'a GltfData<'a>,
    /// Content of each compressed view.
    compressed: &'a [Vec<u8>],
    spans: &'a [ValueSpan],
    /// Start of each page: index of a span, and index of an element in it.
    starts: Vec<(usize, usize)>,
}

/// Buffer for one page.
#[derive(Default)]
pub(crate) struct GltfPageSlot {
    number: usize,
    bytes: Vec<u8>,
}

impl<'a> GltfPages<'a> {
    pub(crate) fn new(
        data: &'a GltfData<'a>,
        compressed: &'a [Vec<u8>],
        spans: &'a [ValueSpan],
    ) -> Result<GltfPages<'a>> {
        let mut starts = Vec::new();
        let mut room = 0;
        for (number, span) in paced(spans).enumerate() {
            let size = span.content.bytes();
            let mut next = 0;
            while next < span.count {
                // A page holds whole values: it ends before the first value that does not fit.
                if room < size {
                    try_push(&mut starts, (number, next), "the plan")?;
                    room = PAGE_BYTES;
                }
                let count = (room / size).min(span.count - next);
                next += count;
                room -= count * size;
            }
        }
        Ok(GltfPages { data, compressed, spans, starts })
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }
}

impl GltfData<'_> {
    /// Appends the elements `range` of a span that is not compressed.
    pub(crate) fn emit(&self, span: &ValueSpan, range: Range<usize>, bytes: &mut Vec<u8>) {
        match span.content {
            SpanContent::Zeros => return bytes.resize(bytes.len() + range.len(), 0),
            SpanContent::Image(number) => return bytes.extend_from_slice(&self.images.images[number].bytes[range]),
            SpanContent::Instances(node, value) => return instances(&self.instances[node][range], value, bytes),
            _ => {}
        }
        let geometry = &self.geometries[span.geometry];
        let section = &geometry.sections[span.section];
        match &span.content {
            SpanContent::Positions { block, frame, lattice } => {
                let block = section.block(*block);
                let frame = frame.as_ref();
                let positions = range.map(|number| geometry.position(block, frame, number));
                match lattice {
                    None => positions.for_each(|position| floats(bytes, position)),
                    Some(lattice) => positions.for_each(|position| {
                        // Padded to 8 bytes, because strides of vertex attributes must be multiples of 4.
                        let [x, y, z] = lattice.code(position);
                        bytes.extend_from_slice([x, y, z, 0].map(i16::to_le_bytes).as_flattened());
                    }),
                }
            }
            SpanContent::Normals { block, frame, is_quantized } => {
                let block = section.block(*block);
                let frame = frame.as_ref();
                let normals = range.map(|number| geometry.normal(block, frame, number));
                if *is_quantized {
                    normals.for_each(|normal| bytes.extend_from_slice(&normal_code(normal).map(|code| code as u8)));
                } else {
                    normals.for_each(|normal| floats(bytes, normal));
                }
            }
            SpanContent::Uvs { is_quantized } => {
                let uvs = range.map(|number| geometry.uv(&section.vertices, number));
                if *is_quantized { uvs.for_each(|uv| codes(bytes, uv)) } else { uvs.for_each(|uv| floats(bytes, uv)) }
            }
            SpanContent::Colors { block, has_alpha, is_quantized } => {
                let colors = range.map(|number| geometry.color(section.block(*block), number));
                match (is_quantized, has_alpha) {
                    (true, _) => colors.for_each(|color| codes(bytes, color)),
                    (false, true) => colors.for_each(|color| floats(bytes, color)),
                    (false, false) => colors.for_each(|[red, green, blue, _]| floats(bytes, [red, green, blue])),
                }
            }
            SpanContent::Column(block, column) => {
                let block = section.block(*block);
                let values = &geometry.mesh.vertex_columns[*column].values;
                range.for_each(|number| floats(bytes, [as_float(values, geometry.position_index(block, number))]));
            }
            SpanContent::Splat(block, attribute) => {
                let Some(splats) = &geometry.splats else { return };
                let block = section.block(*block);
                let positions = range.map(|number| geometry.position_index(block, number));
                if *attribute == SplatAttribute::Color {
                    let mut code = |part: &f32| bytes.extend_from_slice(&unit_code(*part).to_le_bytes());
                    splats.emit(&geometry.mesh, *attribute, positions, |color| color.iter().for_each(&mut code));
                } else {
                    let mut float = |part: &f32| bytes.extend_from_slice(&part.to_le_bytes());
                    splats.emit(&geometry.mesh, *attribute, positions, |parts| parts.iter().for_each(&mut float));
                }
            }
            SpanContent::Segments => {
                let segments = section.lines.as_ref().map_or(&[][..], |(segments, _)| segments);
                segments[range].as_flattened().iter().for_each(|corner| bytes.extend_from_slice(&corner.to_le_bytes()));
            }
            SpanContent::Triangles(indices) => triangles(geometry, section, *indices, range, bytes),
            SpanContent::Instances(..) | SpanContent::Zeros | SpanContent::Image(_) | SpanContent::Compressed(_) => {}
        }
    }
}

/// Converts a column value to a 32-bit float, the widest attribute type in glTF.
#[inline]
#[allow(clippy::unnecessary_cast, reason = "one of the types is f32")]
pub(crate) fn as_float(values: &Values, index: usize) -> f32 {
    with_values!(values, values => values[index] as f32)
}

#[inline]
fn floats<const N: usize>(bytes: &mut Vec<u8>, values: [f32; N]) {
    bytes.extend_from_slice(values.map(f32::to_le_bytes).as_flattened());
}

/// Appends values from 0 to 1 as 16-bit integers.
#[inline]
fn codes<const N: usize>(bytes: &mut Vec<u8>, values: [f32; N]) {
    bytes.extend_from_slice(values.map(|value| unit_code(value).to_le_bytes()).as_flattened());
}

fn instances(transforms: &[InstanceTransform], value: InstanceValue, bytes: &mut Vec<u8>) {
    match value {
        InstanceValue::Translation => {
            transforms.iter().for_each(|transform| floats(bytes, transform.translation));
        }
        InstanceValue::Rotation => transforms.iter().for_each(|transform| floats(bytes, transform.rotation)),
        InstanceValue::Scale => transforms.iter().for_each(|transform| floats(bytes, transform.scale)),
    }
}

/// Appends the triangles `range` of a material group.
fn triangles(
    geometry: &GltfGeometry<'_>,
    section: &MeshSection,
    indices: TriangleIndices,
    range: Range<usize>,
    bytes: &mut Vec<u8>,
) {
    let mut before = 0;
    for faces in &section.triangles[indices.group].faces {
        let overlap = range.start.max(before)..range.end.min(before + faces.len());
        // The index of a triangle plus `shift` is the index of its face. `shift` may be negative, so the sum wraps.
        let shift = faces.start.wrapping_sub(before);
        before += faces.len();
        if overlap.is_empty() {
            continue;
        }
        let corners = 3 * overlap.start.wrapping_add(shift)..3 * overlap.end.wrapping_add(shift);
        for triangle in geometry.welded.corner_vertices[corners].as_chunks::<3>().0 {
            let [a, mut b, mut c] = triangle.map(|vertex| section.vertices.number(vertex));
            // A mirrored mesh needs the opposite winding.
            if indices.is_mirrored {
                std::mem::swap(&mut b, &mut c);
            }
            if indices.is_wide {
                bytes.extend_from_slice([a, b, c].map(u32::to_le_bytes).as_flattened());
            } else {
                bytes.extend_from_slice([a, b, c].map(|index| (index as u16).to_le_bytes()).as_flattened());
            }
        }
    }
}

impl Pages for GltfPages<'_> {
    type Slot = GltfPageSlot;
    type State = ();

    fn slot(&self) -> Result<GltfPageSlot> {
        Ok(GltfPageSlot::default())
    }

    fn take(&self, number: u64, slot: &mut GltfPageSlot) -> Result<bool> {
        slot.number = usize::try_from(number).unwrap_or(usize::MAX);
        Ok(slot.number < self.starts.len())
    }

    fn format(&self, slot: &mut GltfPageSlot) -> Result<()> {
        slot.bytes.clear();
        slot.bytes.try_reserve_exact(PAGE_BYTES)?;
        let start = self.starts[slot.number];
        let end = self.starts.get(slot.number + 1).copied().unwrap_or((self.spans.len(), 0));
        // `end` of the last page refers to a span that does not exist.
        for number in paced(start.0..=end.0.min(self.spans.len().saturating_sub(1))) {
            let span = &self.spans[number];
            let from = if number == start.0 { start.1 } else { 0 };
            let to = if number == end.0 { end.1 } else { span.count };
            match span.content {
                SpanContent::Compressed(number) => slot.bytes.extend_from_slice(&self.compressed[number][from..to]),
                _ => self.data.emit(span, from..to, &mut slot.bytes),
            }
        }
        Ok(())
    }

    fn bytes<'a>(&'a self, slot: &'a GltfPageSlot) -> &'a [u8] {
        &slot.bytes
    }
}
