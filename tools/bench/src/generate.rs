//! Generates the input files, mostly hilly grids in Blender's dialect.
//!
//! Grids are the same on every machine: they only use additions, multiplications, divisions and square roots of floats,
//! which IEEE 754 defines exactly. Only [`surface`] uses sines, which the standard does not define. `single` is one
//! mesh; `plain` has as many uvs as positions, which some readers require; `objects` consists of many meshes with
//! separate materials, smoothing and arrays. [`styles`] writes OBJ files in the style of other programs; [`ply`],
//! [`stl`] and [`table`] (numbers as text) use the same floats. pbrt scenes ([`pbrt`]) are the scenes of the tests, and
//! one in the style of a film's assets. The counts of a file are printed and stored next to it, as `.counts`.

mod pbrt;
mod ply;
mod stl;
mod styles;
mod surface;
mod table;

use crate::Failure;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Approximate bytes of text per vertex of a grid.
const SINGLE_BYTES_PER_VERTEX: f64 = 167.0;
/// Number of objects per megabyte of `objects`: 5,000 at 300 MB.
const OBJECTS_PER_MEGABYTE: f64 = 5000.0 / 300.0;
const MATERIALS: u32 = 16;
/// Approximate size of each file of `files`.
const SMALL_FILE_BYTES: u64 = 2000;

/// Writes a file, its companions, and its counts; for `files`, a folder.
pub fn main(kind: &str, megabytes: u64, path: &Path) -> Result<(), Failure> {
    let line = match kind.strip_prefix("pbrt-") {
        Some(kind) => pbrt::write(kind, megabytes, path)?,
        None if kind == "files" => files(megabytes, path)?,
        None => file(kind, megabytes, path)?,
    };
    std::fs::write(path.with_extension("counts"), &line)?;
    print!("{line}");
    Ok(())
}

/// Writes one file, and returns the line of its counts.
fn file(kind: &str, megabytes: u64, path: &Path) -> Result<String, Failure> {
    let mut text = Text::new(BufWriter::with_capacity(1 << 20, File::create(path)?));
    match kind {
        "single" | "plain" | "objects" => obj(&mut text, kind, megabytes, path)?,
        "ply-binary" => ply::binary(&mut text, megabytes)?,
        "ply-ascii" => ply::ascii(&mut text, megabytes)?,
        "ply-colors" => ply::colors(&mut text, megabytes)?,
        "ply-splat" => ply::splat(&mut text, megabytes)?,
        "stl-binary" => stl::binary(&mut text, megabytes)?,
        "stl-ascii" => stl::ascii(&mut text, megabytes)?,
        "stl-surface" => surface::stl(&mut text, megabytes)?,
        "ply-surface" => surface::ply(&mut text, megabytes)?,
        kind if kind.starts_with("ply-") => ply::styled(&mut text, &kind[4..], megabytes)?,
        kind if kind.starts_with("stl-") => stl::styled(&mut text, &kind[4..], megabytes)?,
        kind if kind.starts_with("obj-") => styles::write(&mut text, &kind[4..], megabytes)?,
        kind if kind.starts_with("table-") => table::write_style(&mut text, &kind[6..], megabytes)?,
        "table" => table::write(&mut text, megabytes, &path.with_extension("npy"))?,
        _ => return Err(format!("no kind {kind} of file").into()),
    }
    let counts = text.finish()?;
    Ok(format!("megabytes={megabytes} bytes={} positions={} faces={}\n", counts[3], counts[0], counts[2]))
}

/// Writes a folder of OBJ files of about 2 kB each, like the small assets of a library.
fn files(megabytes: u64, folder: &Path) -> Result<String, Failure> {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder)?;
    let mut counts = [0; 4];
    for index in 0..megabytes * 1_000_000 / SMALL_FILE_BYTES {
        let path = folder.join(format!("{index:06}.obj"));
        let mut text = Text::new(BufWriter::with_capacity(1 << 16, File::create(path)?));
        let grid = Grid { rows: 5, columns: 4, seed: index as u32, seam: 0, origin: [0.0; 3], size: 1.0 };
        text.bytes(format!("o Part_{index}\n").as_bytes());
        grid.write(&mut text, 0, true)?;
        let part_counts = text.finish()?;
        counts.iter_mut().zip(part_counts).for_each(|(sum, count)| *sum += count);
    }
    Ok(format!("megabytes={megabytes} bytes={} positions={} faces={}\n", counts[3], counts[0], counts[2]))
}

/// Writes one mesh or many, and the material library.
fn obj(text: &mut Text, kind: &str, megabytes: u64, path: &Path) -> Result<(), Failure> {
    let library = path.with_extension("mtl");
    write_materials(&library)?;
    let name = library.file_name().and_then(|name| name.to_str()).ok_or("a file needs a name")?;
    text.bytes(b"# made by polyhaul's benchmark\nmtllib ");
    text.bytes(name.as_bytes());
    text.bytes(b"\n");
    match kind {
        "single" => single(text, megabytes, 1),
        "plain" => single(text, megabytes, 0),
        _ => objects(text, megabytes),
    }
}

fn write_materials(path: &Path) -> Result<(), Failure> {
    let mut file = BufWriter::new(File::create(path)?);
    for index in 0..MATERIALS {
        let red = f64::from(index) / f64::from(MATERIALS);
        writeln!(file, "newmtl material_{index}\nNs 250.000000\nKd {red:.6} 0.800000 0.800000\nd 1.000000\nillum 2\n")?;
    }
    Ok(file.flush()?)
}

fn single(text: &mut Text, megabytes: u64, seam: u32) -> Result<(), Failure> {
    let side = (megabytes as f64 * 1e6 / SINGLE_BYTES_PER_VERTEX).sqrt() as u32;
    let grid = Grid { rows: side, columns: side, seed: 1, seam, origin: [0.0; 3], size: 4.0 };
    text.bytes(b"o Grid\n");
    grid.write(text, 0, true)
}

fn objects(text: &mut Text, megabytes: u64) -> Result<(), Failure> {
    for index in 0..(megabytes as f64 * OBJECTS_PER_MEGABYTE).round() as u32 {
        let chance = hash(index, 0, 2);
        let side = 12 + chance % 14;
        let place = |shift: u32| ((chance >> shift) % 100) as f32 - 50.0;
        let grid = Grid {
            rows: side,
            columns: side,
            seed: index,
            seam: 1,
            origin: [place(8), place(16), 0.25 * place(20)],
            size: 1.0 + (chance % 7) as f32,
        };
        text.bytes(b"o Object_");
        text.integer(u64::from(index));
        text.bytes(b"\n");
        grid.write(text, index % MATERIALS, index % 3 != 0)?;
    }
    Ok(())
}

/// A grid of vertices on a hilly square, closed into a tube by its last column of faces.
struct Grid {
    rows: u32,
    columns: u32,
    seed: u32,
    /// Number of additional columns of uvs: 1 for a seam, 0 to wrap around.
    seam: u32,
    origin: [f32; 3],
    size: f32,
}

impl Grid {
    fn write(&self, text: &mut Text, material: u32, smooth: bool) -> Result<(), Failure> {
        let [positions, uvs, _, _] = text.counts;
        for (row, column) in self.vertices(0) {
            text.row(b"v", &self.position(row, column), 6)?;
        }
        for (row, column) in self.vertices(0) {
            text.row(b"vn", &self.normal(row, column), 4)?;
        }
        for (row, column) in self.vertices(self.seam) {
            text.row(b"vt", &self.uv(row, column), 6)?;
        }
        text.bytes(if smooth { b"s 1\n" } else { b"s 0\n" });
        text.bytes(b"usemtl material_");
        text.integer(u64::from(material));
        text.bytes(b"\n");
        text.counts[0] += u64::from(self.rows * self.columns);
        text.counts[1] += u64::from(self.rows * (self.columns + self.seam));
        self.faces(text, positions, uvs)
    }

    /// Iterates over rows and columns, with this many additional columns.
    fn vertices(&self, more: u32) -> impl Iterator<Item = (u32, u32)> + use<> {
        let columns = self.columns + more;
        (0..self.rows).flat_map(move |row| (0..columns).map(move |column| (row, column)))
    }

    fn faces(&self, text: &mut Text, positions: u64, uvs: u64) -> Result<(), Failure> {
        let columns = u64::from(self.columns);
        let uv_columns = columns + u64::from(self.seam);
        for row in 0..u64::from(self.rows) - 1 {
            for column in 0..columns {
                text.bytes(b"f");
                for (row, column) in [(row, column), (row, column + 1), (row + 1, column + 1), (row + 1, column)] {
                    let position = 1 + positions + row * columns + column % columns;
                    let uv = 1 + uvs + row * uv_columns + column % uv_columns;
                    // Normals correspond to positions, in the same order.
                    text.corner([position, uv, position]);
                }
                text.bytes(b"\n");
                text.spill()?;
            }
        }
        text.counts[2] += u64::from(self.rows - 1) * columns;
        Ok(())
    }

    fn position(&self, row: u32, column: u32) -> [f32; 3] {
        let chance = hash(row, column, self.seed);
        let jitter = |bits: u32| (bits & 0xff) as f32 / 1024.0;
        let x = (column as f32 + jitter(chance)) / self.columns as f32 - 0.5;
        let y = (row as f32 + jitter(chance >> 8)) / self.rows as f32 - 0.5;
        let [a, b, c] = self.origin;
        [a + x * self.size, b + self.height(row, column), c + y * self.size]
    }

    fn normal(&self, row: u32, column: u32) -> [f32; 3] {
        let here = self.height(row, column);
        let scale = self.columns as f32 / self.size;
        let x = (here - self.height(row, column + 1)) * scale;
        let z = (here - self.height(row + 1, column)) * scale;
        let length = (x * x + 1.0 + z * z).sqrt();
        [x / length, 1.0 / length, z / length]
    }

    fn uv(&self, row: u32, column: u32) -> [f32; 2] {
        [column as f32 / self.columns as f32, row as f32 / self.rows as f32]
    }

    /// Returns smooth noise in three octaves.
    fn height(&self, row: u32, column: u32) -> f32 {
        [64, 16, 4].iter().map(|&cell| self.noise(row, column, cell) * cell as f32 / 64.0).sum::<f32>() * 0.3
    }

    fn noise(&self, row: u32, column: u32, cell: u32) -> f32 {
        let corner = |r: u32, c: u32| hash(row / cell + r, column / cell + c, self.seed ^ cell) as i32 as f32 / 2e9;
        let ease = |index: u32| {
            let part = (index % cell) as f32 / cell as f32;
            part * part * (3.0 - 2.0 * part)
        };
        let mix = |a: f32, b: f32, part: f32| a + (b - a) * part;
        let u = ease(column);
        let v = ease(row);
        mix(mix(corner(0, 0), corner(0, 1), u), mix(corner(1, 0), corner(1, 1), u), v)
    }
}

/// Hashes three numbers.
fn hash(a: u32, b: u32, seed: u32) -> u32 {
    let mut bits = u64::from(a) << 32 | u64::from(b);
    bits ^= u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits >> 32) as u32
}

/// Formats text with simple integer code, so that the inputs do not depend on the code being benchmarked.
struct Text {
    file: BufWriter<File>,
    line: Vec<u8>,
    /// Numbers of positions, uvs, faces and bytes so far.
    counts: [u64; 4],
}

impl Text {
    fn new(file: BufWriter<File>) -> Self {
        Text { file, line: Vec::new(), counts: [0; 4] }
    }

    fn finish(mut self) -> Result<[u64; 4], Failure> {
        self.spill()?;
        self.file.flush()?;
        Ok(self.counts)
    }

    /// Writes the buffer to the file.
    fn spill(&mut self) -> Result<(), Failure> {
        self.file.write_all(&self.line)?;
        self.counts[3] += self.line.len() as u64;
        self.line.clear();
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.line.extend_from_slice(bytes);
    }

    fn integer(&mut self, value: u64) {
        self.digits(value, 1);
    }

    fn corner(&mut self, indices: [u64; 3]) {
        for (separator, index) in [b" ", b"/", b"/"].into_iter().zip(indices) {
            self.bytes(separator);
            self.integer(index);
        }
    }

    /// Writes a line of numbers with this many decimals, rounded like printf.
    fn row(&mut self, keyword: &[u8], values: &[f32], digits: u32) -> Result<(), Failure> {
        self.bytes(keyword);
        for &value in values {
            self.bytes(b" ");
            self.number(value, digits);
        }
        self.bytes(b"\n");
        self.spill()
    }

    /// Writes a line of numbers without a keyword, with six decimals.
    fn numbers(&mut self, values: &[f32]) -> Result<(), Failure> {
        if let Some((&first, rest)) = values.split_first() {
            self.number(first, 6);
            self.row(b"", rest, 6)?;
        }
        Ok(())
    }

    fn number(&mut self, value: f32, digits: u32) {
        let scale = 10u64.pow(digits);
        // An f32 times 10^6 is exact in an f64, so this is the only rounding, with ties to even.
        let scaled = (f64::from(value.abs()) * scale as f64).round_ties_even() as u64;
        if value.is_sign_negative() {
            self.bytes(b"-");
        }
        self.integer(scaled / scale);
        self.bytes(b".");
        self.digits(scaled % scale, digits as usize);
    }

    /// Appends at least `min_digits` digits.
    fn digits(&mut self, mut value: u64, min_digits: usize) {
        let mut buffer = [b'0'; 20];
        let mut start = buffer.len();
        while value > 0 || buffer.len() - start < min_digits {
            start -= 1;
            buffer[start] = b'0' + (value % 10) as u8;
            value /= 10;
        }
        self.line.extend_from_slice(&buffer[start..]);
    }
}
