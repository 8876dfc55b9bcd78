//! Shared parts of the OBJ writer: options, counts of written elements, rows of numbers, chunk sizes.

use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::options::{Dialect, Digits, FormatOptions, ObjWriteOptions};
use polyhaul_model::{Material, Mesh, NONE};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::out::Out;
use polyhaul_text::format::{FixedLine, MAX_FIXED_F64, NumberLines, Page, Real};

/// Approximate bytes of text per chunk, and thus per `write` call.
const CHUNK_BYTES: usize = 256 << 10;

/// Slot size as a multiple of the chunk size: text can be longer than estimated.
const SLOT_FACTOR: usize = 4;

/// Formatting context: materials, options and digits.
#[derive(Clone, Copy)]
pub(super) struct ObjText<'a> {
    pub(super) materials: &'a [Material],
    pub(super) options: FormatOptions<'a, ObjWriteOptions>,
    pub(super) digits: ObjDigits,
}

/// The `usemtl` name that ends the current material. It is a convention from programs that printed missing names as C
/// prints a null pointer; some importers reject a bare `usemtl`.
pub const NO_MATERIAL: &str = "(null)";

impl ObjText<'_> {
    /// Returns the name of a material in its `usemtl` line; `None` if no line is needed, because no material has a
    /// name.
    pub(super) fn stated_material<'n>(&self, name: &'n str) -> Option<&'n str> {
        let is_named = !name.is_empty() || self.options.scene.dialect == Dialect::Blender;
        let has_names = || self.materials.iter().any(|material| !material.name.is_empty());
        if is_named { Some(name) } else { has_names().then_some(NO_MATERIAL) }
    }
}

/// Digits per attribute.
#[derive(Clone, Copy)]
pub(super) struct ObjDigits {
    pub(super) positions: Digits,
    /// Whether the caller chose the number of digits of `positions`.
    are_requested: bool,
    pub(super) uvs: Digits,
    pub(super) normals: Digits,
    pub(super) colors: Digits,
}

impl ObjDigits {
    pub(super) fn new(options: FormatOptions<'_, ObjWriteOptions>) -> ObjDigits {
        let [positions, uvs, normals, colors] = options.own.all_digits(options.scene);
        ObjDigits { positions, are_requested: options.own.sets_position_digits(options.scene), uvs, normals, colors }
    }

    /// Returns the digits of a mesh's positions: the shortest form for double precision, unless the caller chose
    /// digits.
    pub(super) fn of_positions(&self, mesh: &Mesh) -> Digits {
        if mesh.is_exact() && !self.are_requested { Digits::Shortest } else { self.positions }
    }
}

/// Element counts written so far, and the state that the lines so far set.
#[derive(Clone, Copy, Default)]
pub(super) struct ObjWritten {
    /// Counts of positions, UVs and normals.
    pub(super) counts: [u64; 3],
    pub(super) held: ObjHeld,
}

impl ObjWritten {
    /// Adds an object's counts. Fails if they exceed 32-bit indices.
    pub(super) fn add(&mut self, counts: [usize; 3]) -> Result<()> {
        for (sum, count) in self.counts.iter_mut().zip(counts) {
            *sum += count as u64;
        }
        if self.counts.iter().any(|&count| count >= u64::from(NONE)) {
            let message = "cannot write OBJ files with more than 2^32 - 2 positions, UVs or normals";
            return Err(Error::new(ErrorKind::Limit, message));
        }
        Ok(())
    }
}

/// Approximate bytes of text per chunk.
pub(super) fn chunk_bytes(options: &RunOptions) -> usize {
    options.chunk_bytes.unwrap_or(CHUNK_BYTES).clamp(1, 1 << 30)
}

/// Memory budget of a slot.
pub(super) fn slot_bytes(chunk_bytes: usize) -> usize {
    SLOT_FACTOR * chunk_bytes.max(CHUNK_BYTES / 4)
}

/// Writes a line per row: the prefix, then the numbers.
pub(super) fn rows<const N: usize, R: ObjCoordinate>(
    out: &mut Out,
    prefix: &[u8],
    digits: Digits,
    rows: &[[R; N]],
) -> Result<()> {
    const { assert!(N * MAX_FIXED_F64 < CHUNK_BYTES) };
    let mut rest = rows;
    match digits {
        Digits::Fixed(digits) => {
            let line = FixedLine::new(prefix, usize::from(digits));
            out.format(|page| {
                rest = &rest[page.fixed_lines(&line, rest)..];
                rest.is_empty()
            })
        }
        Digits::Shortest => shortest(out, prefix, rows),
    }
}

/// Writes rows in batches, with shortest round-trip digits.
fn shortest<const N: usize, R: ObjCoordinate>(out: &mut Out, prefix: &[u8], rows: &[[R; N]]) -> Result<()> {
    // The separator between rows ends one line and starts the next.
    let mut between = [b'\n'; 8];
    let between = &mut between[..1 + prefix.len()];
    between[1..].copy_from_slice(prefix);
    let lines = NumberLines::new(N, b' ', [&*between]);
    let values = rows.as_flattened();
    let mut written = 0;
    out.format(|page| {
        if written == values.len() {
            return true;
        }
        let is_between = |written: usize| written.is_multiple_of(N);
        if is_between(written) && !page.whole(|page| page.bytes(prefix)) {
            return false;
        }
        written += page.shortest_lines(&lines, written, &values[written..]);
        if is_between(written) {
            // Remove the prefix of a row that does not exist.
            page.truncate(page.len() - prefix.len());
        }
        written == values.len()
    })
}

/// Writes each number after a space.
pub(super) fn numbers<R: ObjCoordinate>(page: &mut Page<'_>, values: &[R], digits: Digits) {
    for &value in values {
        page.byte(b' ');
        match digits {
            Digits::Fixed(digits) => value.fixed(page, usize::from(digits)),
            Digits::Shortest => value.shortest(page),
        }
    }
}

/// A 32-bit or 64-bit float.
pub(super) trait ObjCoordinate: Real {
    fn fixed(self, page: &mut Page<'_>, digits: usize);
    fn shortest(self, page: &mut Page<'_>);
}

impl ObjCoordinate for f32 {
    fn fixed(self, page: &mut Page<'_>, digits: usize) {
        page.fixed_f32(self, digits);
    }

    fn shortest(self, page: &mut Page<'_>) {
        page.shortest_f32(self);
    }
}

impl ObjCoordinate for f64 {
    fn fixed(self, page: &mut Page<'_>, digits: usize) {
        page.fixed_f64(self, digits);
    }

    fn shortest(self, page: &mut Page<'_>) {
        page.shortest_f64(self);
    }
}

/// State in effect at a point in the text: smoothing, group, material.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjHeld {
    /// Indices of the mesh's runs that are in effect.
    pub(super) runs: [Option<u32>; 3],
    /// Values that are in effect in the text.
    pub(super) values: [u32; 3],
}

/// Indices into the arrays of [`ObjHeld`].
pub(super) const SMOOTHING: usize = 0;
pub(super) const GROUP: usize = 1;
pub(super) const MATERIAL: usize = 2;

impl Default for ObjHeld {
    /// The state at the start of a file: smoothing off, no group, no material.
    fn default() -> Self {
        ObjHeld { runs: [None; 3], values: [0, NONE, NONE] }
    }
}
