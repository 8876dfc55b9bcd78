//! Writes meshes and curves: the text after `Shape`, and PLY files. [`part`](super::part) chooses among them.

use super::Counts;
use super::text::Text;
use crate::random::Random;
use polyhaul::options::Codec;
use polyhaul_bytes::Encoder;
use polyhaul_text::format::Page;
use std::fs;
use std::io;
use std::path::Path;

/// Approximate bytes of text per vertex of an inline mesh, with two triangles per vertex.
pub(super) const MESH_BYTES_PER_VERTEX: u64 = 115;
/// Bytes per vertex of a PLY file, with two triangles per vertex.
pub(super) const PLY_BYTES_PER_VERTEX: u64 = 32 + 2 * 13;
/// Maximum number of columns; a row of vertices must fit in one write.
pub(super) const MAX_COLUMNS: u32 = 64;

/// Number of digits to print.
#[derive(Clone, Copy)]
enum Digits {
    /// As many as needed to restore the f32: up to 9, with an exponent if that is shorter.
    Shortest,
    /// A fixed number after the decimal point.
    Fixed(usize),
}

impl Digits {
    fn write(self, page: &mut Page<'_>, value: f32) {
        match self {
            Digits::Shortest => page.shortest_f32(value),
            Digits::Fixed(digits) => page.fixed_f32(value, digits),
        }
    }
}

/// A rough grid of quads, each of two triangles.
pub(super) struct Patch {
    seed: u64,
    columns: u32,
    rows: u32,
    size: f32,
}

impl Patch {
    /// Creates a patch of about `vertices` vertices, at least four.
    pub(super) fn new(random: &mut Random, vertices: u64) -> Patch {
        let min_columns = (vertices as f32).sqrt() as u32;
        let columns = (min_columns / 2 + random.below(min_columns as usize + 1) as u32).clamp(1, MAX_COLUMNS);
        let rows = (vertices as u32 / (columns + 1)).clamp(2, 1 << 20) - 1;
        Patch { seed: random.bits(), columns, rows, size: 1.0 + 40.0 * (random.unit() + 1.0) }
    }

    pub(super) fn positions(&self) -> u64 {
        u64::from(self.columns + 1) * u64::from(self.rows + 1)
    }

    pub(super) fn triangles(&self) -> u64 {
        2 * u64::from(self.columns) * u64::from(self.rows)
    }

    /// Returns three reproducible random numbers in [-1, 1) for a vertex.
    fn chance(&self, column: u32, row: u32) -> [f32; 3] {
        let bits = Random::new(self.seed ^ u64::from(row) << 32 ^ u64::from(column)).bits();
        [0, 21, 42].map(|shift| ((bits >> shift) & 0x1f_ffff) as f32 / (1 << 20) as f32 - 1.0)
    }

    fn position(&self, column: u32, row: u32) -> [f32; 3] {
        let [x, y, z] = self.chance(column, row);
        let place =
            |index: u32, count: u32, jitter: f32| ((index as f32 + 0.3 * jitter) / count as f32 - 0.5) * self.size;
        [place(column, self.columns, x), 0.1 * y * self.size, place(row, self.rows, z)]
    }

    fn normal(&self, column: u32, row: u32) -> [f32; 3] {
        let [x, y, z] = self.chance(row, column);
        // One normal in sixteen is nearly upright, so that its numbers have exponents.
        let tilt = if y > 0.875 { 1e-8 } else { 0.6 };
        let x = x * tilt;
        let z = z * tilt;
        let length = (x * x + 1.0 + z * z).sqrt();
        [x / length, 1.0 / length, z / length]
    }

    fn uv(&self, column: u32, row: u32) -> [f32; 2] {
        [column as f32 / self.columns as f32, row as f32 / self.rows as f32]
    }

    fn squares(&self) -> impl Iterator<Item = [[u32; 3]; 2]> + use<> {
        let columns = self.columns;
        let stride = self.columns + 1;
        let corners = (0..self.rows).flat_map(move |row| (0..columns).map(move |column| row * stride + column));
        corners.map(move |a| [[a, a + 1, a + stride + 1], [a, a + stride + 1, a + stride]])
    }

    /// Writes a `trianglemesh`; one in four has no normals, one in eight no uvs.
    pub(super) fn inline(&self, random: &mut Random, text: &mut Text, counts: &mut Counts) -> io::Result<()> {
        text.bytes(b"    Shape \"trianglemesh\"\n")?;
        let digits = *random.pick(&[Digits::Shortest, Digits::Shortest, Digits::Fixed(4), Digits::Fixed(6)]);
        let wrapped = random.once_in(2);
        self.indices(text, wrapped)?;
        self.values(text, b"point3 P", digits, wrapped, |column, row| self.position(column, row))?;
        if !random.once_in(4) {
            self.values(text, b"normal N", Digits::Shortest, wrapped, |column, row| self.normal(column, row))?;
        }
        if !random.once_in(8) {
            self.values(text, b"point2 uv", Digits::Fixed(5), wrapped, |column, row| self.uv(column, row))?;
        }
        counts.shape("trianglemesh");
        Ok(())
    }

    /// Writes an array of numbers, on one line or with a line per row of vertices.
    fn values<const N: usize>(
        &self,
        text: &mut Text,
        name: &[u8],
        digits: Digits,
        wrapped: bool,
        value: impl Fn(u32, u32) -> [f32; N],
    ) -> io::Result<()> {
        open(text, name)?;
        for row in 0..=self.rows {
            text.put(|page| {
                for number in (0..=self.columns).flat_map(|column| value(column, row)) {
                    digits.write(page, number);
                    page.byte(b' ');
                }
                page.bytes(if wrapped { b"\n        " } else { b"" });
            })?;
        }
        text.bytes(b"]\n")
    }

    fn indices(&self, text: &mut Text, wrapped: bool) -> io::Result<()> {
        open(text, b"integer indices")?;
        for (index, triangles) in self.squares().enumerate() {
            text.put(|page| {
                for corner in triangles.into_iter().flatten() {
                    page.u32(corner);
                    page.byte(b' ');
                }
                page.bytes(if wrapped && index % 8 == 7 { b"\n        " } else { b"" });
            })?;
        }
        text.bytes(b"]\n")
    }

    /// Writes a PLY file, optionally compressed. Returns its uncompressed size and its size on disk.
    pub(super) fn ply(&self, path: &Path, packed: bool) -> io::Result<(u64, u64)> {
        let mut bytes = self.ply_header().into_bytes();
        for (column, row) in (0..=self.rows).flat_map(|row| (0..=self.columns).map(move |column| (column, row))) {
            let [position, normal] = [self.position(column, row), self.normal(column, row)];
            let numbers = position.into_iter().chain(normal).chain(self.uv(column, row));
            numbers.for_each(|number| bytes.extend(number.to_le_bytes()));
        }
        for triangle in self.squares().flatten() {
            bytes.push(3);
            triangle.iter().for_each(|corner| bytes.extend(corner.to_le_bytes()));
        }
        let plain_bytes = bytes.len() as u64;
        if packed {
            let plain = std::mem::take(&mut bytes);
            Encoder::new(Codec::Gzip, None)?.encode(&plain, &mut bytes)?;
        }
        fs::write(path, &bytes)?;
        Ok((plain_bytes, bytes.len() as u64))
    }

    fn ply_header(&self) -> String {
        let mut header = format!("ply\nformat binary_little_endian 1.0\nelement vertex {}\n", self.positions());
        for name in ["x", "y", "z", "nx", "ny", "nz", "u", "v"] {
            header += &format!("property float {name}\n");
        }
        header + &format!("element face {}\nproperty list uchar int vertex_indices\nend_header\n", self.triangles())
    }
}

fn open(text: &mut Text, name: &[u8]) -> io::Result<()> {
    text.put(|page| {
        page.bytes(b"        \"");
        page.bytes(name);
        page.bytes(b"\" [ ");
    })
}

/// Writes a curve: a Bézier segment, or a B-spline of several segments.
pub(super) fn curve(random: &mut Random, text: &mut Text, counts: &mut Counts) -> io::Result<()> {
    let spline = random.once_in(8);
    let count = if spline { 5 + random.below(12) } else { 4 };
    let mut at = [random.unit() * 10.0, random.unit(), random.unit() * 10.0];
    let width = 0.001 + 0.01 * (random.unit() + 1.0);
    text.put(|page| {
        page.bytes(b"    Shape \"curve\" \"string type\" [ \"");
        page.bytes(if spline { b"cylinder\" ] \"string basis\" [ \"bspline" } else { b"flat" });
        page.bytes(b"\" ] \"point3 P\" [");
        for _ in 0..count {
            at.iter().for_each(|&number| {
                page.byte(b' ');
                page.shortest_f32(number);
            });
            at = [at[0] + 0.2 * random.unit(), at[1] + 0.5 + 0.4 * random.unit(), at[2] + 0.2 * random.unit()];
        }
        page.bytes(b" ] \"float width0\" [ ");
        page.fixed_f32(width, 6);
        page.bytes(b" ] \"float width1\" ");
        page.fixed_f32(0.25 * width, 6);
        page.byte(b'\n');
    })?;
    counts.shape("curve");
    counts.curve_points += count as u64;
    Ok(())
}
