//! Generates pbrt-v4 scenes of any size, structured like Moana's island: a main file that includes materials and
//! imports parts, each with textures, materials, objects (inline meshes, curves, PLY files) and very many instances of
//! them.
//!
//! The same [`Spec`] yields the same bytes on every machine and for any number of threads: only sums, products,
//! divisions and square roots of floats are used. [`write()`] returns the content as [`Made`], for comparison with a
//! reader's result. Texture files are referenced, but not written. All scenes are valid; [`hostile`] writes invalid
//! scenes. See `part` for the content of a part, `shape` for meshes and curves, `text` for the writer.
//!
//! The grammar follows `src/pbrt/parser.cpp` and `scene.cpp` of <https://github.com/mmp/pbrt-v4>: materials, textures
//! and objects share one namespace over all files, an Import does not change the graphics state of its parent, and
//! paths are relative to the main file's folder, which contains all text files.

pub mod hostile;
#[cfg(test)]
mod naive;
mod part;
mod shape;
#[cfg(test)]
mod tests;
mod text;

use crate::packed::CODECS;
use part::PbrtPart;
use polyhaul::options::Codec;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use text::Text;

/// Default number of parts: with the main file and the materials, 19 files.
const PARTS: usize = 17;
/// Folder of PLY files, relative to the main file.
const GEOMETRY: &str = "geometry";
/// Number of materials that all parts may use.
const SHARED_MATERIALS: usize = 24;

/// Settings of a scene.
///
/// ```
/// use polyhaul_testkit::{corpus::Folder, pbrt::{self, Spec}};
///
/// # fn main() -> std::io::Result<()> {
/// let folder = Folder::new("pbrt")?;
/// let made = pbrt::write(&Spec { parts: 2, ..Spec::new(30_000) }, folder.path())?;
/// assert_eq!(made.main, folder.join("scene.pbrt"));
/// assert!(made.counts.directives["ObjectInstance"] > 30);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Spec {
    /// Approximate size of the text before compression, in bytes; at least 4 KB per part.
    pub text_bytes: u64,
    /// Approximate size of the PLY files before some of them are compressed, in bytes, or 0 for none.
    pub ply_bytes: u64,
    /// Number of parts, at least 1; together with the layout, determines the number of files.
    pub parts: usize,
    /// One file or many, with the same directives.
    pub layout: Layout,
    /// Compression of text, in members of 1 MiB. The main file of [`Layout::Imports`] is never compressed.
    pub codec: Option<Codec>,
    /// Seed; each yields a different scene.
    pub seed: u64,
    /// Number of files to write in parallel, at least 1.
    pub threads: usize,
}

impl Spec {
    /// Settings for an uncompressed scene of 19 files, with a thirty-second of `text_bytes` as PLY.
    pub fn new(text_bytes: u64) -> Spec {
        let ply_bytes = text_bytes / 32;
        Spec { text_bytes, ply_bytes, parts: PARTS, layout: Layout::Imports, codec: None, seed: 1, threads: 1 }
    }

    /// Appends the extension of text files to `stem`.
    fn text_name(&self, stem: &str, codec: Option<Codec>) -> String {
        let packed = CODECS.iter().find(|(candidate, _)| Some(*candidate) == codec);
        let extension = packed.map(|(_, extension)| format!(".{extension}")).unwrap_or_default();
        format!("{stem}.pbrt{extension}")
    }
}

/// Distribution of the text over files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One file: each part is between `AttributeBegin` and `AttributeEnd`.
    OneFile,
    /// A main file that includes a file of materials and imports one file per part.
    Imports,
}

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Directives.
    Text,
    /// A mesh in binary little-endian PLY.
    Ply,
}

/// A written file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeFile {
    /// Path relative to the folder, with forward slashes.
    pub name: String,
    /// Kind.
    pub kind: FileKind,
    /// Uncompressed size in bytes.
    pub bytes: u64,
    /// Size on disk in bytes: smaller if compressed.
    pub disk_bytes: u64,
}

/// Content of a scene, summed over all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of occurrences of each directive.
    pub directives: BTreeMap<&'static str, u64>,
    /// Number of shapes of each type; shapes of objects count once.
    pub shapes: BTreeMap<&'static str, u64>,
    /// Number of positions of all meshes, inline and in PLY files.
    pub positions: u64,
    /// Number of triangles of all meshes, each counted once.
    pub unique_triangles: u64,
    /// Number of visible triangles: triangles of an object count once per instance, other triangles once.
    pub instanced_triangles: u64,
    /// Number of control points of all curves.
    pub curve_points: u64,
    /// Number of references to texture files, none of which exists.
    pub texture_files: u64,
}

impl Counts {
    fn directive(&mut self, name: &'static str, count: u64) {
        *self.directives.entry(name).or_default() += count;
    }

    fn shape(&mut self, kind: &'static str) {
        self.directive("Shape", 1);
        *self.shapes.entry(kind).or_default() += 1;
    }

    fn add(&mut self, other: &Counts) {
        other.directives.iter().for_each(|(name, count)| self.directive(name, *count));
        other.shapes.iter().for_each(|(kind, count)| *self.shapes.entry(kind).or_default() += count);
        self.positions += other.positions;
        self.unique_triangles += other.unique_triangles;
        self.instanced_triangles += other.instanced_triangles;
        self.curve_points += other.curve_points;
        self.texture_files += other.texture_files;
    }
}

/// Paths and content of a written scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Path of the main file.
    pub main: PathBuf,
    /// All files including the main file, sorted by name.
    pub files: Vec<MadeFile>,
    /// Content of the files.
    pub counts: Counts,
}

impl Made {
    /// Returns the total size of the files of a kind, uncompressed and on disk.
    pub fn bytes(&self, kind: FileKind) -> (u64, u64) {
        let files = self.files.iter().filter(|file| file.kind == kind);
        files.fold((0, 0), |(bytes, disk_bytes), file| (bytes + file.bytes, disk_bytes + file.disk_bytes))
    }
}

/// Files and counts of one job.
#[derive(Default)]
struct Written {
    files: Vec<MadeFile>,
    counts: Counts,
}

impl Written {
    fn add(&mut self, other: Written) {
        self.files.extend(other.files);
        self.counts.add(&other.counts);
    }

    /// Finishes a text file and records it.
    fn close(&mut self, name: &str, text: Text) -> io::Result<()> {
        let (bytes, disk_bytes) = text.finish()?;
        self.files.push(MadeFile { name: name.into(), kind: FileKind::Text, bytes, disk_bytes });
        Ok(())
    }
}

/// Writes a scene to `folder`, which is created if missing; overwrites existing files.
///
/// # Errors
/// I/O errors.
pub fn write(spec: &Spec, folder: &Path) -> io::Result<Made> {
    fs::create_dir_all(folder.join(GEOMETRY))?;
    let parts = part::parts(spec);
    let (main, mut written) = match spec.layout {
        Layout::OneFile => one_file(spec, folder, &parts)?,
        Layout::Imports => imports(spec, folder, &parts)?,
    };
    written.files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Made { main: folder.join(main), files: written.files, counts: written.counts })
}

fn one_file(spec: &Spec, folder: &Path, parts: &[PbrtPart]) -> io::Result<(String, Written)> {
    let name = spec.text_name("scene", spec.codec);
    let mut text = Text::create(&folder.join(&name), spec.codec)?;
    let mut written = Written::default();
    head(&mut text, &mut written.counts)?;
    materials(&mut text, &mut written.counts)?;
    ground(&mut text, &mut written.counts)?;
    for part in parts {
        text.bytes(b"AttributeBegin\n")?;
        written.add(part.write(&mut text, folder)?);
        text.bytes(b"AttributeEnd\n")?;
        written.counts.directive("AttributeBegin", 1);
        written.counts.directive("AttributeEnd", 1);
    }
    written.close(&name, text)?;
    Ok((name, written))
}

fn imports(spec: &Spec, folder: &Path, parts: &[PbrtPart]) -> io::Result<(String, Written)> {
    let [main, shared] = [spec.text_name("scene", None), spec.text_name("materials", spec.codec)];
    let mut written = Written::default();
    let mut text = Text::create(&folder.join(&main), None)?;
    head(&mut text, &mut written.counts)?;
    text.bytes(format!("Include \"{shared}\"\n").as_bytes())?;
    written.counts.directive("Include", 1);
    ground(&mut text, &mut written.counts)?;
    for part in parts {
        let name = spec.text_name(part.name(), spec.codec);
        text.bytes(format!("Import \"{name}\"\n").as_bytes())?;
        written.counts.directive("Import", 1);
    }
    written.close(&main, text)?;
    let mut text = Text::create(&folder.join(&shared), spec.codec)?;
    materials(&mut text, &mut written.counts)?;
    written.close(&shared, text)?;
    written.add(side_by_side(spec, folder, parts)?);
    Ok((main, written))
}

/// Writes each part to a separate file, in parallel.
fn side_by_side(spec: &Spec, folder: &Path, parts: &[PbrtPart]) -> io::Result<Written> {
    let next = AtomicUsize::new(0);
    let total = Mutex::new(Written::default());
    let work = || -> io::Result<()> {
        while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let name = spec.text_name(part.name(), spec.codec);
            let mut text = Text::create(&folder.join(&name), spec.codec)?;
            let mut written = part.write(&mut text, folder)?;
            written.close(&name, text)?;
            total.lock().map_err(|_| io::ErrorKind::Other)?.add(written);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (1..spec.threads).map(|_| scope.spawn(work)).collect();
        work()?;
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Err(io::ErrorKind::Other.into())))
    })?;
    total.into_inner().map_err(|_| io::ErrorKind::Other.into())
}

/// Writes everything before the world, and the lights.
fn head(text: &mut Text, counts: &mut Counts) -> io::Result<()> {
    text.bytes(HEAD.as_bytes())?;
    let directives = HEAD.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    directives.filter_map(|line| line.split(' ').next()).for_each(|name| counts.directive(name, 1));
    Ok(())
}

const HEAD: &str = r#"# an island that polyhaul's testkit made
Option "seed" 7
Scale -1 1 1
LookAt -1139.0159 23.286734 1479.7947
       244.81433 238.80714 560.38013
       -0.107149 0.991691 0.07119
MakeNamedMedium "haze" "string type" "homogeneous" "rgb sigma_a" [ 1e-05 1.5e-05 2e-05 ]
    "rgb sigma_s" [ 0.0002 0.00021 0.00024 ] "float g" 0.35
MediumInterface "" "haze"
Camera "perspective" "float fov" [ 69.50461 ] "float shutteropen" 0 "float shutterclose" [ 1 ]
Sampler "zsobol" "integer pixelsamples" [ 64 ]
Integrator "volpath" "integer maxdepth" 15 "bool regularize" true
PixelFilter "gaussian" "float xradius" [ 2 ] "float yradius" [ 2 ]
Film "rgb" "string filename" [ "island.exr" ]
    "integer xresolution" [ 1900 ] "integer yresolution" [ 794 ]
WorldBegin

LightSource "infinite" "rgb L" [ 0.41 0.45 0.53 ] "float scale" 0.9
LightSource "distant" "point3 from" [ 6.45 17.3 -8.2 ] "point3 to" [ 0 0 0 ] "blackbody L" 5500
"#;

/// Writes the textures and materials that all parts may use.
fn materials(text: &mut Text, counts: &mut Counts) -> io::Result<()> {
    for index in 0..SHARED_MATERIALS {
        part::texture(text, "shared", index)?;
        part::material(text, "shared", index)?;
    }
    part::count_materials(counts, SHARED_MATERIALS);
    Ok(())
}

/// Writes the shapes of the main file: the sea, and a ball of mist.
fn ground(text: &mut Text, counts: &mut Counts) -> io::Result<()> {
    text.bytes(
        b"AttributeBegin\n    Rotate -90 1 0 0\n    NamedMaterial \"shared/material_0\"\n    \
          Shape \"disk\" \"float radius\" 20000\nAttributeEnd\n\
          AttributeBegin\n    Translate 244.8 190.5 560.4\n    Material \"interface\"\n    \
          MediumInterface \"haze\" \"\"\n    Shape \"sphere\" \"float radius\" [ 72.25 ]\nAttributeEnd\n",
    )?;
    for (name, count) in [("AttributeBegin", 2), ("AttributeEnd", 2), ("Rotate", 1), ("NamedMaterial", 1)] {
        counts.directive(name, count);
    }
    for name in ["Translate", "Material", "MediumInterface"] {
        counts.directive(name, 1);
    }
    counts.shape("disk");
    counts.shape("sphere");
    Ok(())
}
