//! Compressed PLY to splats.

use super::super::header::{Element, PlyHeader};
use super::super::reader::{PlyOpened, Read};
use super::{CHUNK, FEWEST_RANGES, LARGEST_HARMONIC, LARGEST_OTHER, PACKED, RANGES, TRIPLE};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::splats::{HARMONICS, SplatColumns, harmonic_of, logit_of};
use polyhaul_model::{Scalar, Scene, Table, Values, names};
use polyhaul_pipeline::arrays::zeroed;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;

/// Returns whether a header is that of compressed splats.
pub(in super::super) fn is_packed(header: &PlyHeader) -> bool {
    let (chunk, vertex, harmonics) = match &header.elements[..] {
        [chunk, vertex] => (chunk, vertex, None),
        [chunk, vertex, harmonics] => (chunk, vertex, Some(harmonics)),
        _ => return false,
    };
    let has = |element: &Element, name: &str, item: Scalar| {
        let property = element.property(name).map(|at| &element.properties[at]);
        property.is_some_and(|property| property.item == item && property.count.is_none())
    };
    let has_all = |element: &Element, names: &[&str], item| names.iter().all(|name| has(element, name, item));
    let is_chunk = [FEWEST_RANGES, RANGES.len()]
        .into_iter()
        .any(|count| chunk.properties.len() == count && has_all(chunk, &RANGES[..count], Scalar::F32));
    let are_harmonics = harmonics.is_none_or(|element| {
        let count = element.properties.len();
        let is_degree = HARMONICS.into_iter().any(|more| count > 0 && 3 * more == count);
        let are_bytes = (0..count).all(|number| has(element, &format!("f_rest_{number}"), Scalar::U8));
        element.name == "sh" && element.count == vertex.count && is_degree && are_bytes
    });
    chunk.name == "chunk"
        && vertex.name == names::VERTEX
        && is_chunk
        && vertex.properties.len() == PACKED.len()
        && has_all(vertex, &PACKED, Scalar::U32)
        && chunk.count == vertex.count.div_ceil(CHUNK as u64)
        && are_harmonics
}

/// Reads the splats.
pub(in super::super) fn read(opened: PlyOpened<'_, '_>) -> Result<Read<Scene>> {
    let run = &opened.options.run;
    let Read { content: tables, mut header, warnings, threads } = opened.tables()?;
    let splats =
        PackedSplats::from_tables(&tables).ok_or_else(|| Error::new(ErrorKind::Internal, "columns are missing"))?;
    let mut scene = splats.unpack(run)?.into_scene()?;
    scene.comments = std::mem::take(&mut header.comments);
    scene.infos = std::mem::take(&mut header.infos);
    Ok(Read { content: scene, header, warnings, threads })
}

/// The columns of a file. Damaged files may have fewer rows than their headers say.
struct PackedSplats<'a> {
    count: usize,
    /// In the order of [`RANGES`].
    ranges: Vec<&'a [f32]>,
    packed: [&'a [u32]; 4],
    harmonics: Vec<&'a [u8]>,
}

/// The values of some splats.
struct PackedTarget<'a> {
    first: usize,
    positions: &'a mut [[f32; 3]],
    /// Opacities, scales, rotations, constants.
    columns: Vec<&'a mut [f32]>,
}

impl<'a> PackedSplats<'a> {
    fn from_tables(tables: &'a [Table]) -> Option<PackedSplats<'a>> {
        let [chunk, vertex, others @ ..] = tables else { return None };
        let floats = |name: &&str| match &chunk.column(name)?.values {
            Values::F32(values) => Some(&values[..]),
            _ => None,
        };
        let integers = |name: &str| match &vertex.column(name)?.values {
            Values::U32(values) => Some(&values[..]),
            _ => None,
        };
        let bytes = |number: usize| match &others.first()?.column(&format!("f_rest_{number}"))?.values {
            Values::U8(values) => Some(&values[..]),
            _ => None,
        };
        let ranges = RANGES[..chunk.columns.len().min(RANGES.len())].iter().map(floats).collect::<Option<Vec<_>>>()?;
        let more = others.first().map_or(0, |table| table.columns.len());
        let harmonics = (0..more).map(bytes).collect::<Option<Vec<_>>>()?;
        let [position, rotation, scale, color] = PACKED;
        let packed = [integers(position)?, integers(rotation)?, integers(scale)?, integers(color)?];
        let rows = others.first().map_or(vertex.row_count, |table| table.row_count.min(vertex.row_count));
        let count = rows.min(chunk.row_count.saturating_mul(CHUNK));
        Some(PackedSplats { count, ranges, packed, harmonics })
    }

    fn unpack(&self, run: &RunOptions) -> Result<SplatColumns> {
        const COLUMNS: usize = 11;
        let mut positions = zeroed(self.count, "splats")?;
        let mut columns = Vec::new();
        for _ in 0..COLUMNS {
            try_push(&mut columns, zeroed::<f32>(self.count, "splats")?, "splats")?;
        }
        const TURN: usize = 64 * CHUNK;
        let threads = run.worker_threads();
        let mut parts: Vec<_> = columns.iter_mut().map(|column| column.chunks_mut(TURN)).collect();
        let targets = positions.chunks_mut(TURN).enumerate().map(|(number, positions)| {
            let columns = parts.iter_mut().filter_map(Iterator::next).collect();
            PackedTarget { first: number * TURN, positions, columns }
        });
        try_for_each_item(
            threads,
            &run.cancel,
            targets,
            || (),
            |(), target| {
                self.unpack_some(target);
                Ok(())
            },
        )?;
        let rest = self.unpack_harmonics(run)?;
        let mut columns = columns.into_iter();
        let mut next = || columns.next().unwrap_or_default();
        Ok(SplatColumns {
            positions,
            opacities: next(),
            scales: std::array::from_fn(|_| next()),
            rotations: std::array::from_fn(|_| next()),
            constants: std::array::from_fn(|_| next()),
            rest,
        })
    }

    fn unpack_some(&self, target: PackedTarget<'_>) {
        let PackedTarget { first, positions, mut columns } = target;
        for (at, position) in positions.iter_mut().enumerate() {
            let splat = first + at;
            let [packed_position, rotation, scale, color] = self.packed.map(|column| column[splat]);
            let range = |of: usize, axis: usize, part: f32| {
                let Some(minimum) = self.ranges.get(6 * of + axis) else { return part };
                let minimum = minimum[splat / CHUNK];
                let maximum = self.ranges[6 * of + 3 + axis][splat / CHUNK];
                minimum * (1.0 - part) + maximum * part
            };
            let triple = |packed: u32| TRIPLE.map(|(bits, shift)| part(packed >> shift, bits));
            let places = triple(packed_position);
            let scales = triple(scale);
            *position = [0, 1, 2].map(|axis| range(0, axis, places[axis]));
            let [red, green, blue, opacity] = [24, 16, 8, 0].map(|shift| part(color >> shift, 8));
            let scales = [0, 1, 2].map(|axis| range(1, axis, scales[axis]));
            let colors = [range(2, 0, red), range(2, 1, green), range(2, 2, blue)].map(harmonic_of);
            let values = [logit_of(opacity)].into_iter().chain(scales).chain(quaternion(rotation)).chain(colors);
            columns.iter_mut().zip(values).for_each(|(column, value)| column[at] = value);
        }
    }

    fn unpack_harmonics(&self, run: &RunOptions) -> Result<Vec<Vec<f32>>> {
        let table: [f32; 256] = std::array::from_fn(|byte| {
            let part = match byte {
                0 => 0.0,
                255 => 1.0,
                byte => (byte as f32 + 0.5) / 256.0,
            };
            (part - 0.5) * 2.0 * LARGEST_HARMONIC
        });
        let mut channels = Vec::new();
        for _ in &self.harmonics {
            try_push(&mut channels, zeroed(self.count, "splats")?, "splats")?;
        }
        let items = channels.iter_mut().zip(&self.harmonics);
        try_for_each_item(
            run.worker_threads(),
            &run.cancel,
            items,
            || (),
            |(), (values, bytes): (&mut Vec<f32>, _)| {
                values.iter_mut().zip(bytes.iter()).for_each(|(value, byte)| *value = table[usize::from(*byte)]);
                Ok(())
            },
        )?;
        Ok(channels)
    }
}

/// The lowest bits as a part of their largest value.
fn part(packed: u32, bits: u32) -> f32 {
    let max_code = (1 << bits) - 1;
    (packed & max_code) as f32 / max_code as f32
}

fn quaternion(packed: u32) -> [f32; 4] {
    let largest = (packed >> 30) as usize;
    let others = [20, 10, 0].map(|shift| (part(packed >> shift, 10) - 0.5) * 2.0 * LARGEST_OTHER);
    let square: f32 = others.iter().map(|part| part * part).sum();
    let mut quaternion = [(1.0 - square).max(0.0).sqrt(); 4];
    let places = (0..4).filter(|place| *place != largest);
    places.zip(others).for_each(|(place, part)| quaternion[place] = part);
    quaternion
}
