//! Generates a part of a scene: textures and materials, then groups of a few objects, with instances of these and of
//! earlier objects. See [`shape`](super::shape) for the content of shapes.

use super::shape::{self, MESH_BYTES_PER_VERTEX, PLY_BYTES_PER_VERTEX, Patch};
use super::text::Text;
use super::{Counts, FileKind, GEOMETRY, MadeFile, SHARED_MATERIALS, Spec, Written};
use crate::random::Random;
use polyhaul_text::format::Page;
use std::io;
use std::path::Path;

/// Largest ratio between the sizes of parts.
const SIZES: usize = 6;
/// Approximate number of groups per part.
const GROUPS: u64 = 24;
/// Minimum and maximum size of a group's shapes, in bytes of text.
const GROUP_BYTES: [u64; 2] = [1 << 10, 1 << 20];
/// Number of materials per part, each with a texture.
const MATERIALS: usize = 6;
/// Number of most recent objects that instances refer to.
const RECENT: usize = 48;
/// Size of a group's instances, in percent of its shapes.
const INSTANCES_PERCENT: u64 = 125;

/// Settings of a part.
pub(super) struct PbrtPart {
    name: String,
    seed: u64,
    text_bytes: u64,
    ply_bytes: u64,
    /// Whether the matrices of instances multiply the part's transform instead of replacing it.
    concat: bool,
}

/// Divides the bytes of a scene among its parts.
pub(super) fn parts(spec: &Spec) -> Vec<PbrtPart> {
    let mut random = Random::new(spec.seed);
    let shares: Vec<u64> = (0..spec.parts.max(1)).map(|_| 1 + random.below(SIZES) as u64).collect();
    let sum: u64 = shares.iter().sum();
    let of = |bytes: u64, share: u64| (u128::from(bytes) * u128::from(share) / u128::from(sum)) as u64;
    let part = |(index, share): (usize, u64)| PbrtPart {
        name: format!("part_{:02}", index + 1),
        seed: random.bits(),
        text_bytes: of(spec.text_bytes, share),
        ply_bytes: of(spec.ply_bytes, share),
        concat: index % 3 == 2,
    };
    shares.into_iter().enumerate().map(part).collect()
}

/// Writes a texture that refers to a file: Ptex, or an image.
pub(super) fn texture(text: &mut Text, owner: &str, index: usize) -> io::Result<()> {
    let line = match index % 3 {
        2 => format!(
            "Texture \"{owner}/texture_{index}\" \"spectrum\" \"imagemap\" \
             \"string filename\" [ \"textures/{owner}/{index}.png\" ] \"string encoding\" \"sRGB\"\n"
        ),
        _ => format!(
            "Texture \"{owner}/texture_{index}\" \"spectrum\" \"ptex\" \
             \"string filename\" [ \"textures/{owner}/{index}.ptx\" ] \"float scale\" [ 1 ]\n"
        ),
    };
    text.bytes(line.as_bytes())
}

/// Writes a material that uses the texture of the same index.
pub(super) fn material(text: &mut Text, owner: &str, index: usize) -> io::Result<()> {
    let kind = match index % 4 {
        0 => "\"coateddiffuse\" ] \"float roughness\" [ 0.25 ] \"texture reflectance\"",
        3 => "\"diffusetransmission\" ] \"rgb transmittance\" [ 0.25 0.31 0.12 ] \"texture reflectance\"",
        _ => "\"diffuse\" ] \"texture reflectance\"",
    };
    let name = format!("{owner}/material_{index}");
    let line = format!("MakeNamedMaterial \"{name}\" \"string type\" [ {kind} [ \"{owner}/texture_{index}\" ]\n");
    text.bytes(line.as_bytes())
}

/// Counts this many materials with their textures.
pub(super) fn count_materials(counts: &mut Counts, count: usize) {
    counts.directive("Texture", count as u64);
    counts.directive("MakeNamedMaterial", count as u64);
    counts.texture_files += count as u64;
}

impl PbrtPart {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Appends the part to `text`, and writes its PLY files.
    pub(super) fn write(&self, text: &mut Text, folder: &Path) -> io::Result<Written> {
        let mut writer = Writer {
            part: self,
            end: text.len() + self.text_bytes,
            text,
            folder,
            random: Random::new(self.seed),
            written: Written::default(),
            objects: Vec::new(),
            ply_bytes: 0,
        };
        writer.head()?;
        writer.group()?;
        while writer.text.len() < writer.end {
            writer.group()?;
        }
        Ok(writer.written)
    }
}

struct Writer<'w> {
    part: &'w PbrtPart,
    text: &'w mut Text,
    /// Target length of the text at the end of the part.
    end: u64,
    folder: &'w Path,
    random: Random,
    written: Written,
    /// Number of triangles of each object.
    objects: Vec<u64>,
    /// Size of the PLY files so far.
    ply_bytes: u64,
}

impl Writer<'_> {
    fn head(&mut self) -> io::Result<()> {
        self.text.bytes(format!("# {}\n", self.part.name).as_bytes())?;
        for index in 0..MATERIALS {
            texture(self.text, &self.part.name, index)?;
            material(self.text, &self.part.name, index)?;
        }
        count_materials(&mut self.written.counts, MATERIALS);
        if self.part.concat {
            self.text.bytes(b"Translate -12.5 0.75 31.0625\nScale 0.5 0.5 0.5\n")?;
            self.written.counts.directive("Translate", 1);
            self.written.counts.directive("Scale", 1);
        }
        Ok(())
    }

    /// Writes some objects, rarely a shape of the world, and instances.
    fn group(&mut self) -> io::Result<()> {
        let start = self.text.len();
        let [min, max] = GROUP_BYTES;
        let bytes = (self.part.text_bytes / GROUPS / 2).clamp(min, max);
        let count = 1 + self.random.below(4) as u64;
        for _ in 0..count {
            self.object(bytes / count)?;
        }
        if self.random.once_in(8) {
            let triangles = self.shapes(bytes / 8)?;
            self.written.counts.instanced_triangles += triangles;
        }
        let shapes_bytes = self.text.len() - start;
        self.instances(shapes_bytes * INSTANCES_PERCENT / 100)
    }

    fn object(&mut self, bytes: u64) -> io::Result<()> {
        let name = &self.part.name;
        let index = self.objects.len();
        self.text.bytes(format!("ObjectBegin \"{name}/object_{index}\"\n").as_bytes())?;
        let end = self.text.len() + bytes;
        let mut triangles = self.shapes(bytes)?;
        while self.text.len() < end {
            triangles += self.shapes(end - self.text.len())?;
        }
        self.text.bytes(b"ObjectEnd\n")?;
        self.objects.push(triangles);
        self.written.counts.directive("ObjectBegin", 1);
        self.written.counts.directive("ObjectEnd", 1);
        Ok(())
    }

    /// Writes a mesh or curves of at most about `bytes` bytes, with their material. Returns the number of triangles.
    fn shapes(&mut self, bytes: u64) -> io::Result<u64> {
        let (owner, materials) =
            if self.random.once_in(4) { ("shared", SHARED_MATERIALS) } else { (self.part.name.as_str(), MATERIALS) };
        let material = self.random.below(materials);
        let line = format!("AttributeBegin\n    NamedMaterial \"{owner}/material_{material}\"\n");
        self.text.bytes(line.as_bytes())?;
        let triangles = match self.random.below(8) {
            0 | 1 => self.curves(bytes)?,
            2 | 3 if self.ply_bytes < self.part.ply_bytes => self.ply()?,
            _ => self.mesh(bytes)?,
        };
        self.text.bytes(b"AttributeEnd\n")?;
        let counts = &mut self.written.counts;
        ["AttributeBegin", "NamedMaterial", "AttributeEnd"].into_iter().for_each(|name| counts.directive(name, 1));
        counts.unique_triangles += triangles;
        Ok(triangles)
    }

    fn curves(&mut self, bytes: u64) -> io::Result<u64> {
        let end = self.text.len() + bytes.min(48 << 10);
        shape::curve(&mut self.random, self.text, &mut self.written.counts)?;
        while self.text.len() < end {
            shape::curve(&mut self.random, self.text, &mut self.written.counts)?;
        }
        Ok(0)
    }

    fn mesh(&mut self, bytes: u64) -> io::Result<u64> {
        let max_vertices = (bytes / MESH_BYTES_PER_VERTEX) as usize;
        let vertices = 4 + self.random_size(max_vertices);
        let patch = Patch::new(&mut self.random, vertices);
        patch.inline(&mut self.random, self.text, &mut self.written.counts)?;
        self.written.counts.positions += patch.positions();
        Ok(patch.triangles())
    }

    /// Returns a random size whose scale is random too, so that small sizes are frequent.
    fn random_size(&mut self, max_size: usize) -> u64 {
        let scale = self.random.below(4);
        self.random.below((max_size >> scale) + 1) as u64
    }

    /// Writes a mesh to a separate file; one in three is compressed.
    fn ply(&mut self) -> io::Result<u64> {
        let max_vertices = (self.part.ply_bytes - self.ply_bytes).min(1 << 20) / PLY_BYTES_PER_VERTEX;
        let vertices = 4 + self.random_size(max_vertices as usize);
        let patch = Patch::new(&mut self.random, vertices);
        let packed = self.random.once_in(3);
        let name = format!(
            "{GEOMETRY}/{}_{}.ply{}",
            self.part.name,
            self.written.files.len(),
            if packed { ".gz" } else { "" }
        );
        let (bytes, disk_bytes) = patch.ply(&self.folder.join(&name), packed)?;
        self.text.bytes(format!("    Shape \"plymesh\" \"string filename\" [ \"{name}\" ]\n").as_bytes())?;
        self.ply_bytes += bytes;
        self.written.files.push(MadeFile { name, kind: FileKind::Ply, bytes, disk_bytes });
        self.written.counts.shape("plymesh");
        self.written.counts.positions += patch.positions();
        Ok(patch.triangles())
    }

    /// Writes about `bytes` bytes of instances, at least one.
    fn instances(&mut self, bytes: u64) -> io::Result<()> {
        let end = (self.text.len() + bytes).min(self.end);
        let first = self.objects.len().saturating_sub(RECENT);
        let mut count = 0;
        while count == 0 || self.text.len() < end {
            let index = first + self.random.below(self.objects.len() - first);
            let matrix = matrix(&mut self.random);
            let part = self.part;
            self.text.put(|page| instance(page, part, index, &matrix))?;
            self.written.counts.instanced_triangles += self.objects[index];
            count += 1;
        }
        let transform = if self.part.concat { "ConcatTransform" } else { "Transform" };
        for name in ["AttributeBegin", transform, "ObjectInstance", "AttributeEnd"] {
            self.written.counts.directive(name, count);
        }
        Ok(())
    }
}

fn instance(page: &mut Page<'_>, part: &PbrtPart, index: usize, matrix: &[f32; 16]) {
    page.bytes(if part.concat {
        b"AttributeBegin\n    ConcatTransform [ "
    } else {
        b"AttributeBegin\n    Transform [ "
    });
    for &number in matrix {
        page.shortest_f32(number);
        page.byte(b' ');
    }
    page.bytes(b"]\n    ObjectInstance \"");
    page.bytes(part.name.as_bytes());
    page.bytes(b"/object_");
    page.u64(index as u64);
    page.bytes(b"\"\nAttributeEnd\n");
}

/// Returns a random rotation, scale and translation, column by column. One in eight is upright, with zeros or typical
/// rounding errors of sines.
fn matrix(random: &mut Random) -> [f32; 16] {
    let mut turn: [f32; 4] = std::array::from_fn(|_| random.unit());
    if random.once_in(8) {
        let rest = *random.pick(&[0.0, 0.0, 4e-8]);
        turn[1] *= rest;
        turn[3] *= rest;
    }
    let square = turn.iter().map(|part| part * part).sum::<f32>() + 1e-6;
    let [w, x, y, z] = turn.map(|part| part / square.sqrt());
    let size = 1.25 + random.unit();
    let rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)],
        [2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)],
        [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)],
    ];
    let [a, b, c] = rows.map(|row| row.map(|number| number * size));
    let place = [random.unit() * 2000.0, (random.unit() + 0.8) * 90.0, random.unit() * 2000.0];
    let [x, y, z] = place;
    [a[0], a[1], a[2], 0.0, b[0], b[1], b[2], 0.0, c[0], c[1], c[2], 0.0, x, y, z, 1.0]
}
