//! Reads compressed PLY into splats.

use super::super::header::{Element, PlyHeader};
use super::super::reader::{PlyOpened, Read};
use super::{CHUNK, FEWEST_RANGES, LARGEST_HARMONIC, LARGEST_OTHER, PACKED, RANGES, TRIPLE};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, try_push};
use polyhaul_model::splats::{HARMONICS, SplatColumns, harmonic_of, logit_of, rest_name};
use polyhaul_model::{Scalar, Scene, Table, Values, names};
use polyhaul_pipeline::arrays::zeroed;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;

/// The elements of compressed splats in a header, in any order. Other elements are ignored here, and so are other
/// properties of `chunk` and `vertex`.
struct PackedElements<'h> {
    chunk: &'h Element,
    vertex: &'h Element,
    harmonics: Option<&'h Element>,
}

impl PackedElements<'_> {
    fn find(header: &PlyHeader) -> Option<PackedElements<'_>> {
        let find = |name: &str| header.elements.iter().find(|element| element.name == name);
        let elements = PackedElements { chunk: find("chunk")?, vertex: find(names::VERTEX)?, harmonics: find("sh") };
        let has_all = |element, names: &[&str], item| names.iter().all(|name| has(element, name, item));
        let is_packed = has_all(elements.chunk, &RANGES[..FEWEST_RANGES], Scalar::F32)
            && has_all(elements.vertex, &PACKED, Scalar::U32);
        is_packed.then_some(elements)
    }

    /// Fails if the elements contradict one another.
    fn check(&self) -> Result<()> {
        let PackedElements { chunk, vertex, harmonics } = *self;
        let chunk_count = vertex.count.div_ceil(CHUNK as u64);
        if chunk.count != chunk_count {
            let message = format!("found {} chunks for {} splats", chunk.count, vertex.count);
            return Err(contradiction(chunk, message, format!("{chunk_count}, one for every {CHUNK} splats")));
        }
        let Some(harmonics) = harmonics else { return Ok(()) };
        if harmonics.count != vertex.count {
            let message = format!("found spherical harmonics for {} of {} splats", harmonics.count, vertex.count);
            return Err(contradiction(harmonics, message, "one row per splat".into()));
        }
        let count = rest_count(harmonics);
        if !HARMONICS.into_iter().any(|others| 3 * others == count) || count < harmonics.properties.len() {
            let message = format!("found {} spherical harmonics properties", harmonics.properties.len());
            return Err(contradiction(
                harmonics,
                message,
                "0, 9, 24, 45 or 72 `f_rest_N` properties of type uchar".into(),
            ));
        }
        Ok(())
    }
}

fn contradiction(element: &Element, message: String, expected: String) -> Error {
    let place = element.place.clone();
    Diagnostic { place, expected: Some(expected), ..Diagnostic::new(message) }.into_error(ErrorKind::Malformed)
}

/// Returns whether an element has a property with this name and type that is not a list.
fn has(element: &Element, name: &str, item: Scalar) -> bool {
    let property = element.property(name).map(|at| &element.properties[at]);
    property.is_some_and(|property| property.item == item && property.count.is_none())
}

/// Number of consecutive u8 properties `f_rest_N`, starting at `f_rest_0`.
fn rest_count(element: &Element) -> usize {
    (0..element.properties.len()).take_while(|number| has(element, &rest_name(*number), Scalar::U8)).count()
}

/// Returns whether a header declares compressed splats, even with wrong counts.
pub(in super::super) fn is_packed(header: &PlyHeader) -> bool {
    PackedElements::find(header).is_some()
}

/// Reads the splats.
pub(in super::super) fn read(opened: PlyOpened<'_, '_>) -> Result<Read<Scene>> {
    let run = &opened.options.run;
    let faults = opened.options.faults;
    if let Some(elements) = PackedElements::find(&opened.header) {
        elements.check()?;
    }
    let Read { content: tables, mut header, mut warnings, threads } = opened.tables()?;
    let others: Vec<&Element> = header.elements.iter().filter(|element| !ELEMENTS.contains(&&*element.name)).collect();
    if let Some(first) = others.first() {
        let message = format!("elements other than splats were dropped; the first is `{}`", names::shown(&first.name));
        let diagnostic = Diagnostic { place: first.place.clone(), ..Diagnostic::new(message) };
        warnings.note_dropped(faults, "left-out-tables", others.len() as u64, diagnostic)?;
    }
    let splats =
        PackedSplats::from_tables(&tables).ok_or_else(|| Error::new(ErrorKind::Internal, "columns are missing"))?;
    let mut scene = splats.unpack(run)?.into_scene()?;
    scene.comments = std::mem::take(&mut header.comments);
    scene.infos = std::mem::take(&mut header.infos);
    Ok(Read { content: scene, header, warnings, threads })
}

/// Names of the elements.
const ELEMENTS: [&str; 3] = ["chunk", names::VERTEX, "sh"];

/// Columns of a file. Damaged files may have fewer rows than their headers declare.
struct PackedSplats<'a> {
    count: usize,
    /// In the order of [`RANGES`].
    ranges: Vec<&'a [f32]>,
    packed: [&'a [u32]; 4],
    harmonics: Vec<&'a [u8]>,
}

/// Output arrays for some of the splats.
struct PackedTarget<'a> {
    first: usize,
    positions: &'a mut [[f32; 3]],
    /// Opacities, scales, rotations, constants.
    columns: Vec<&'a mut [f32]>,
}

impl<'a> PackedSplats<'a> {
    fn from_tables(tables: &'a [Table]) -> Option<PackedSplats<'a>> {
        let [chunk, vertex, harmonics] = ELEMENTS.map(|name| tables.iter().find(|table| table.name == name));
        let [chunk, vertex] = [chunk?, vertex?];
        let floats = |name: &&str| match &chunk.column(name)?.values {
            Values::F32(values) => Some(&values[..]),
            _ => None,
        };
        let integers = |name: &str| match &vertex.column(name)?.values {
            Values::U32(values) => Some(&values[..]),
            _ => None,
        };
        let bytes = |number: usize| match &harmonics?.column(&rest_name(number))?.values {
            Values::U8(values) => Some(&values[..]),
            _ => None,
        };
        let ranges = RANGES.iter().map_while(floats).collect::<Vec<_>>();
        // Files that lack any color range are treated as having none.
        let ranges = if ranges.len() < RANGES.len() { ranges[..FEWEST_RANGES].to_vec() } else { ranges };
        let more = harmonics.map_or(0, |table| table.columns.len());
        let rest = (0..more).map(bytes).collect::<Option<Vec<_>>>()?;
        let [position, rotation, scale, color] = PACKED;
        let packed = [integers(position)?, integers(rotation)?, integers(scale)?, integers(color)?];
        let rows = harmonics.map_or(vertex.row_count, |table| table.row_count.min(vertex.row_count));
        let count = rows.min(chunk.row_count.saturating_mul(CHUNK));
        Some(PackedSplats { count, ranges, packed, harmonics: rest })
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

/// Converts the lowest `bits` bits to a fraction of their maximum.
fn part(packed: u32, bits: u32) -> f32 {
    let max_code = (1 << bits) - 1;
    (packed & max_code) as f32 / max_code as f32
}

fn quaternion(packed: u32) -> [f32; 4] {
    let largest = (packed >> 30) as usize;
    let others = [20, 10, 0].map(|shift| (part(packed >> shift, 10) - 0.5) * 2.0 * LARGEST_OTHER);
    let square: f32 = others.iter().map(|part| part * part).sum();
    // In a damaged file, the squares may add up to more than 1. They cannot if the missing component is the largest.
    let mut quaternion = [(1.0 - square).max(0.0).sqrt(); 4];
    let places = (0..4).filter(|place| *place != largest);
    places.zip(others).for_each(|(place, part)| quaternion[place] = part);
    quaternion
}
