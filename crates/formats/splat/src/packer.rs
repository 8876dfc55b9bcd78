//! Packs splats while they are read, so that large files are never in memory as floats.
//!
//! A [`SplatPacker`] converts table rows to records, on any number of threads; [`PackedRecords`] collects the records
//! in row order and writes the file, with the same bytes and warnings as the writers of scenes. Positions remain floats
//! until all of them have been read, because the number of fractional bits in SPZ depends on the largest coordinate.
//!
//! Tables with anything except splats, and invalid options, are left to those writers. `rows` and `spz` encode the
//! records.

use crate::pages::{FormatRecords, RecordStream, write_streams};
use crate::{rows, spz};
use polyhaul_geometry::splat_shape::are_finite;
use polyhaul_geometry::splats::{SplatsJob, SplatsLeft, note_clamped, note_losses, used_normals};
use polyhaul_model::error::{Error, Result};
use polyhaul_model::options::{SplatWriteOptions, SpzAxes};
use polyhaul_model::splats::{COLUMNS, HARMONICS, Splats, rest_name};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Column, Scalar, Table, Values};
use polyhaul_pipeline::table_parts::unlike;
use polyhaul_pipeline::write::Writing;
use std::collections::HashSet;

/// Columns of positions and of normals.
const POSITION: [&str; 3] = ["x", "y", "z"];
const NORMAL: [&str; 3] = ["nx", "ny", "nz"];

/// A format with one record per splat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplatPacking {
    /// `.splat`.
    Rows,
    /// SPZ.
    Spz,
}

/// Packs the rows of a table.
#[derive(Clone, Debug)]
pub struct SplatPacker {
    packing: SplatPacking,
    version: u8,
    /// Degree of spherical harmonics to write, and degree in the table.
    degree: usize,
    full_degree: usize,
    has_normals: bool,
}

/// The packed records of some rows.
#[derive(Default)]
pub struct PackedPart {
    positions: Vec<[f32; 3]>,
    streams: Vec<Vec<u8>>,
    clamped: u64,
    normals: u64,
}

/// The packed records of all rows.
pub struct PackedRecords {
    packer: SplatPacker,
    /// Only used for SPZ; otherwise empty.
    positions: Vec<[f32; 3]>,
    streams: Vec<PackedStream>,
    count: usize,
    clamped: u64,
    normals: u64,
}

/// The records of one stream.
#[derive(Default)]
struct PackedStream {
    record_bytes: usize,
    bytes: Vec<u8>,
}

impl SplatPacker {
    /// Creates a packer for tables with the columns of `head`, whose values are ignored. Returns `None` unless the
    /// columns are exactly the columns of splats, with or without normals, the options are valid, and SPZ has its
    /// default axes.
    pub fn new(head: &Table, packing: SplatPacking, options: &SplatWriteOptions) -> Option<SplatPacker> {
        let names: HashSet<&str> = head.columns.iter().map(|column| &*column.name).collect();
        let is_float = |column: &Column| column.values.scalar() == Scalar::F32 && column.offsets.is_none();
        let is_plain = names.len() == head.columns.len() && head.columns.iter().all(is_float);
        let has_all = POSITION.iter().chain(&COLUMNS).all(|name| names.contains(name));
        let has_normals = NORMAL.iter().all(|name| names.contains(name));
        let required = POSITION.len() + COLUMNS.len() + if has_normals { NORMAL.len() } else { 0 };
        let rest = names.len().checked_sub(required).filter(|_| is_plain && has_all)?;
        let full_degree = HARMONICS.iter().position(|more| 3 * more == rest)?;
        if !(0..rest).all(|number| names.contains(&*rest_name(number))) {
            return None;
        }
        let requested = usize::from(options.sh_degree);
        // Other axes need a transformed copy of the scene, so the writer of scenes handles them.
        let is_usual = packing == SplatPacking::Rows || options.spz_axes == SpzAxes::Rub;
        let is_allowed = is_usual
            && requested < HARMONICS.len()
            && (packing == SplatPacking::Rows || spz::check_options(options).is_ok());
        let max_degree = match packing {
            SplatPacking::Rows => rows::TARGET.max_degree,
            SplatPacking::Spz => spz::target("").max_degree,
        };
        let degree = full_degree.min(requested).min(max_degree);
        let version = options.spz_version;
        is_allowed.then_some(SplatPacker { packing, version, degree, full_degree, has_normals })
    }

    /// Returns whether a column is needed.
    pub fn wants(&self, column: &str) -> bool {
        let more = HARMONICS[self.degree];
        // Coefficients are stored channel by channel, with lower degrees first.
        // If `more` is positive, so is the divisor.
        let is_rest = |number: usize| more > 0 && number % HARMONICS[self.full_degree] < more;
        match column.strip_prefix("f_rest_") {
            Some(number) => number.parse().is_ok_and(is_rest),
            None => true,
        }
    }

    /// Packs the rows of `part`, which has the columns selected by [`SplatPacker::wants`].
    ///
    /// # Errors
    /// [`unlike`] if the columns differ from the first table or a value is not finite; out of memory.
    pub fn pack(&self, part: &Table) -> Result<PackedPart> {
        let positions = triples(part, POSITION)?;
        let normals = if self.has_normals { used_normals(&triples(part, NORMAL)?) } else { 0 };
        let degrees = [self.full_degree, self.degree];
        let splats = Splats::from_columns(&positions, &part.columns, degrees).ok_or_else(unlike)?;
        if !are_finite(&splats) {
            // The writer of scenes reports or drops values that cannot be stored.
            return Err(unlike());
        }
        let streams: Vec<RecordStream<'_>> = match self.packing {
            SplatPacking::Rows => vec![rows::rows(&splats)],
            SplatPacking::Spz => spz::streams_after_positions(self.version, &splats).collect(),
        };
        let mut packed = PackedPart { normals, ..PackedPart::default() };
        packed.streams.try_reserve_exact(streams.len())?;
        for stream in &streams {
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(splats.len() * stream.bytes).map_err(|_| Error::memory("packed splats"))?;
            bytes.resize(splats.len() * stream.bytes, 0);
            if stream.bytes > 0 {
                packed.clamped += (stream.format)(0..splats.len(), &mut bytes);
            }
            packed.streams.push(bytes);
        }
        // The streams borrow `positions`, which is moved below.
        drop(streams);
        packed.positions = positions;
        Ok(packed)
    }
}

impl PackedRecords {
    /// Reserves memory for `count` splats.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(packer: SplatPacker, count: usize) -> Result<PackedRecords> {
        let sizes = match packer.packing {
            SplatPacking::Rows => vec![rows::ROW_BYTES],
            SplatPacking::Spz => spz::bytes_after_positions(packer.version, packer.degree).collect(),
        };
        let mut packed =
            PackedRecords { packer, positions: Vec::new(), streams: Vec::new(), count: 0, clamped: 0, normals: 0 };
        let no_room = |_| Error::memory("packed splats");
        // The records of `.splat` already contain the positions.
        if packed.packer.packing == SplatPacking::Spz {
            packed.positions.try_reserve_exact(count).map_err(no_room)?;
        }
        for record_bytes in sizes {
            let mut stream = PackedStream { record_bytes, bytes: Vec::new() };
            stream.bytes.try_reserve_exact(count.saturating_mul(record_bytes)).map_err(no_room)?;
            packed.streams.push(stream);
        }
        Ok(packed)
    }

    /// Returns whether the splats have normals, even if all normals are zero.
    pub fn has_normals(&self) -> bool {
        self.packer.has_normals
    }

    /// Returns the number of splats.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Appends the records of the next rows.
    ///
    /// # Errors
    /// Out of memory.
    pub fn push(&mut self, part: PackedPart) -> Result<()> {
        let no_room = |_| Error::memory("packed splats");
        for (stream, bytes) in self.streams.iter_mut().zip(&part.streams) {
            stream.bytes.try_reserve(bytes.len()).map_err(no_room)?;
            stream.bytes.extend_from_slice(bytes);
        }
        if self.packer.packing == SplatPacking::Spz {
            self.positions.try_reserve(part.positions.len()).map_err(no_room)?;
            self.positions.extend_from_slice(&part.positions);
        }
        self.count += part.positions.len();
        self.clamped += part.clamped;
        self.normals += part.normals;
        Ok(())
    }

    /// Writes the file. The scene of the job must have only remarks and no objects.
    ///
    /// # Errors
    /// An unsupported compression level; out of memory; errors of the output.
    pub fn write(&self, job: &SplatsJob<'_>, writing: &mut Writing<'_, '_>, warnings: &mut Warnings) -> Result<()> {
        let SplatPacker { packing, degree, full_degree, .. } = self.packer;
        let harmonics = 3 * (HARMONICS[full_degree] - HARMONICS[degree]) as u64;
        let left = SplatsLeft { count: self.count as u64, normals: self.normals, harmonics, columns: 0 };
        let streams = self.streams.iter().map(PackedStream::records).collect::<Vec<_>>();
        let target;
        let clamped;
        let precision;
        match packing {
            SplatPacking::Rows => {
                clamped = write_streams(&streams, self.count, Vec::new(), job.run, writing)?;
                target = rows::TARGET;
            }
            SplatPacking::Spz => {
                (precision, clamped) = spz::write_packed(&self.positions, streams, degree, job, writing)?;
                target = spz::target(&precision);
            }
        }
        note_losses(job, &target, left, warnings);
        note_clamped(job, &target, self.clamped + clamped, warnings);
        Ok(())
    }
}

impl PackedStream {
    fn records(&self) -> RecordStream<'_> {
        let size = self.record_bytes;
        let format: FormatRecords<'_> = Box::new(move |range, out| {
            out.copy_from_slice(&self.bytes[range.start * size..range.end * size]);
            0
        });
        RecordStream { bytes: size, format }
    }
}

/// Combines three columns into vectors.
fn triples(part: &Table, names: [&str; 3]) -> Result<Vec<[f32; 3]>> {
    let column = |name: &str| match &part.columns.iter().find(|column| column.name == name)?.values {
        Values::F32(values) if values.len() == part.row_count => Some(&values[..]),
        _ => None,
    };
    let [Some(x), Some(y), Some(z)] = names.map(column) else { return Err(unlike()) };
    let mut vectors = Vec::new();
    vectors.try_reserve_exact(part.row_count).map_err(|_| Error::memory("positions"))?;
    vectors.extend(x.iter().zip(y).zip(z).map(|((x, y), z)| [*x, *y, *z]));
    Ok(vectors)
}
