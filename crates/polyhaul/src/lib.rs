//! polyhaul moves 3D assets between disk and memory as fast as the machine allows, in bounded
//! memory, with the same bytes for any number of threads.
//!
//! [`read()`] and [`write()`] do it with the defaults; [`load`], [`save`] and [`convert`] take
//! [`ReadOptions`] and [`WriteOptions`] and return a [`Report`]. A scene is plain data ([`model`]);
//! what changes it is in [`ops`], what tells about it in [`inspect`].
//!
//! ```
//! use polyhaul::{Input, Output, ReadOptions, WriteOptions, load, save};
//!
//! let text = b"o triangle\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".to_vec();
//! let loaded = load(Input::Memory(text, "triangle.obj".into()), &ReadOptions::default())?;
//! let mesh = &loaded.scene.meshes[0];
//! assert_eq!(mesh.positions.len(), 3);
//! assert_eq!(mesh.faces.corner_positions, [0, 1, 2]);
//!
//! let folder = std::env::temp_dir();
//! # let folder = folder.join(format!("polyhaul-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! save(&loaded.scene, Output::Path(folder.join("out.obj")), &WriteOptions::default())?;
//! # std::fs::remove_dir_all(&folder).unwrap();
//!
//! let broken = b"v 0 0 0\nf 1 2 x\n".to_vec();
//! let error = load(Input::Memory(broken, "broken.obj".into()), &ReadOptions::default()).unwrap_err();
//! assert_eq!(error.to_string().split(';').next(), Some("broken.obj:2:7: invalid index `x`"));
//! # Ok::<(), polyhaul::Error>(())
//! ```
//!
//! It prints nothing, installs no handlers and never ends the process.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod archives;
mod convert;
mod detect;
pub mod diff;
mod flat;
mod format;
mod image_job;
mod images;
mod input;
pub mod inspect;
mod kernels;
mod load;
mod loaded;
pub mod measure;
mod mesh_job;
mod obj;
mod open;
pub mod ops;
pub mod options;
mod outputs;
mod pbrt;
mod read_job;
mod references;
mod registry;
pub mod repack;
pub mod report;
mod resolve;
pub mod rows;
mod save;
mod table_job;
mod tables;
pub mod textures;

pub use convert::{Content, Converted};
pub use diff::diff;
pub use format::Format;
pub use input::{Input, Output};
pub use loaded::{Loaded, LoadedArray, LoadedImage, LoadedTables, LoadedTexture};
pub use options::{ReadOptions, WriteOptions};
pub use polyhaul_bytes::{FileOptions, HostRead, HostWrite, Sink};
pub use polyhaul_model as model;
pub use polyhaul_model::error::{Error, ErrorKind, Result};
pub use polyhaul_model::{error, printable, warnings};
pub use polyhaul_trace as trace;
pub use report::Report;

use model::{Image, Scene, Table, Texture};
use open::Opened;
use polyhaul_pipeline::crew::within;
use std::borrow::Cow;
use std::path::Path;

/// Reads a scene from a file with the default options.
pub fn read(path: impl AsRef<Path>) -> Result<Scene> {
    Ok(load(Input::Path(path.as_ref().into()), &ReadOptions::default())?.scene)
}

/// Writes a scene to a file with the default options.
pub fn write(scene: &Scene, path: impl AsRef<Path>) -> Result<()> {
    save(scene, Output::Path(path.as_ref().into()), &WriteOptions::default()).map(drop)
}

/// Reads a scene.
pub fn load(input: Input, options: &ReadOptions) -> Result<Loaded> {
    within(&options.run, || load::load(&Opened::new(input, options)?, options))
}

/// The same as meshes, objects and materials where a scene for a renderer was read (pbrt), see [`ops::flatten`]; any
/// other scene stays as it is. Shapes that are no meshes are left out, with a warning in the report.
///
/// ```
/// use polyhaul::{Input, ReadOptions, flattened, load};
///
/// let text = b"WorldBegin Shape \"bilinearmesh\" \"point3 P\" [ 0 0 0  1 0 0  0 1 0  1 1 0 ] Shape \"disk\"";
/// let options = ReadOptions::default();
/// let loaded = flattened(load(Input::Memory(text.to_vec(), "a.pbrt".into()), &options)?, &options.limits)?;
/// assert_eq!((loaded.scene.objects.len(), loaded.scene.totals()[0]), (1, 4));
/// assert_eq!(loaded.report.warnings.counts()["left-out-shapes"], 1);
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// Those of [`ops::flatten`].
pub fn flattened(loaded: Loaded, limits: &options::Limits) -> Result<Loaded> {
    let Loaded { scene, mut report } = loaded;
    let scene = match scene.render {
        Some(_) => flat::flat(Cow::Owned(scene), (options::Instances::AsFormat, limits), &mut report.warnings)?,
        None => scene,
    };
    Ok(Loaded { scene, report })
}

/// Reads tables as they are, with the columns in the file's order and types: the elements of a PLY file, which [`load`]
/// reads as a scene, or the one table of a csv, tsv, txt, xyz, pts or npy file ([`ReadOptions::table`] says how).
///
/// ```
/// use polyhaul::model::Values;
/// use polyhaul::{Input, ReadOptions, load_tables};
///
/// let text = b"ply\nformat ascii 1.0\nelement reading 2\nproperty ushort level\nend_header\n7\n300\n".to_vec();
/// let loaded = load_tables(Input::Memory(text, "levels.ply".into()), &ReadOptions::default())?;
/// assert_eq!(loaded.tables[0].column("level").unwrap().values, Values::U16([7, 300].into()));
///
/// let text = b"level,height\n7,0.5\n300,-2\n".to_vec();
/// let loaded = load_tables(Input::Memory(text, "levels.csv".into()), &ReadOptions::default())?;
/// assert_eq!(loaded.tables[0].column("level").unwrap().values, Values::I64([7, 300].into()));
/// assert_eq!(loaded.tables[0].column("height").unwrap().values, Values::F64([0.5, -2.0].into()));
/// # Ok::<(), polyhaul::Error>(())
/// ```
pub fn load_tables(input: Input, options: &ReadOptions) -> Result<LoadedTables> {
    within(&options.run, || tables::load(&Opened::new(input, options)?, options))
}

/// Reads the text of a table (csv, tsv, txt, xyz, pts) into one array of one type, row by row.
///
/// # Errors
/// [`ErrorKind::Usage`] where the columns are asked to have several types; those of [`load_tables`].
pub fn load_array(input: Input, options: &ReadOptions) -> Result<LoadedArray> {
    within(&options.run, || tables::load_array(input, options))
}

/// Writes a scene.
pub fn save(scene: &Scene, output: Output, options: &WriteOptions) -> Result<Report> {
    within(&options.run, || save::save(Cow::Borrowed(scene), output, options))
}

/// Reads an image: tga, hdr, png, jpg, exr, bmp, psd (the picture of all layers), dds and ktx2 (the largest level of
/// the first picture).
///
/// Samples have the type of the file: bytes, 16 bits, or floats where it holds light (hdr, exr).
///
/// ```
/// use polyhaul::model::{Channels, Samples};
/// use polyhaul::{Input, ReadOptions, load_image};
///
/// // One pixel of 24 bits, which has the blue first.
/// let file = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 24, 0, 3, 2, 1];
/// let loaded = load_image(Input::Memory(file.to_vec(), "dot.tga".into()), &ReadOptions::default())?;
/// assert_eq!((loaded.image.width, loaded.image.height, loaded.image.channels), (1, 1, Channels::Rgb));
/// assert_eq!(loaded.image.samples, Samples::U8([1, 2, 3].into()));
/// # Ok::<(), polyhaul::Error>(())
/// ```
pub fn load_image(input: Input, options: &ReadOptions) -> Result<LoadedImage> {
    within(&options.run, || images::load(input, options))
}

/// Reads the image that a scene names, from where its other files come: [`options::Resolve`] is asked first; else it is
/// the file beside `scene`, or the member of the archive that `scene` lies in. It must lie in the scene's folder or
/// below, unless [`ReadOptions::allow_outside`] says otherwise, and be a regular file.
///
/// `scene` is the path that the scene was read from; `None` where it was none.
///
/// ```
/// use polyhaul::options::Resolve;
/// use polyhaul::{Input, ReadOptions, load_referenced_image};
/// use std::sync::Arc;
///
/// let dot = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 24, 0, 3, 2, 1];
/// let resolve = move |name: &str| Ok((name == "dot.tga").then(|| Input::Memory(dot.to_vec(), name.into())));
/// let options = ReadOptions { resolver: Some(Resolve(Arc::new(resolve))), ..ReadOptions::default() };
/// assert_eq!(load_referenced_image(None, "dot.tga", &options)?.image.width, 1);
/// assert!(load_referenced_image(None, "other.tga", &options).is_err());
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Io`] where there is no such file, [`ErrorKind::Unsupported`] where it may not be opened; those of
/// [`load_image`].
pub fn load_referenced_image(scene: Option<&Path>, name: &str, options: &ReadOptions) -> Result<LoadedImage> {
    within(&options.run, || images::load_referenced(scene, name, options))
}

/// Writes an image: tga, hdr, png, exr ([`WriteOptions::image`] says how).
///
/// The format gets what it holds: TGA bytes of sRGB; PNG bytes or 16 bits of sRGB; HDR floats of red, green and blue in
/// proportion to the light, EXR such floats with any channels. What that leaves out (alpha in HDR) or cuts off (light
/// above 1 in TGA) is noted in the report. [`ops::convert_samples`] does the same without a file.
///
/// # Errors
/// [`ErrorKind::Usage`] where the samples are not as many as the size says, and where the format does not hold images
/// of that size; those of [`save`].
pub fn save_image(image: &Image, output: Output, options: &WriteOptions) -> Result<Report> {
    within(&options.run, || images::save(image, output, options))
}

/// Reads a texture as it is, with all its mip levels, layers and faces: dds, ktx2. [`load_image`] decodes the largest
/// level of the first of them.
///
/// # Errors
/// [`ErrorKind::Usage`] for formats that hold no textures.
pub fn load_texture(input: Input, options: &ReadOptions) -> Result<LoadedTexture> {
    within(&options.run, || images::load_texture(input, options))
}

/// Writes a texture: dds, ktx2 ([`WriteOptions::image`] says how).
///
/// ```
/// use polyhaul::model::Texture;
/// use polyhaul::{Format, Input, Output, ReadOptions, WriteOptions, load_texture, save_texture};
///
/// // Two pixels and the level of one: red, green, blue and alpha of 8 bits.
/// let levels = vec![[200, 0, 0, 255, 100, 0, 0, 255].into(), [150, 0, 0, 255].into()];
/// let texture = Texture { width: 2, height: 1, depth: 1, layers: 1, faces: 1, levels, ..Texture::default() };
/// # let path = std::env::temp_dir().join(format!("polyhaul-doc-{}.ktx2", std::process::id()));
/// save_texture(&texture, Output::Path(path.clone()), &WriteOptions::default())?;
/// assert_eq!(load_texture(Input::Path(path.clone()), &ReadOptions::default())?.texture, texture);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Usage`] where the levels do not have the bytes that the size says, where there is no such texture
/// (volumes in arrays, cubes that are not square), and where the format has no such pixels: in DDS only BC1 to BC3, BC7
/// and four channels of 8 bits can be sRGB. Those of [`save`].
pub fn save_texture(texture: &Texture, output: Output, options: &WriteOptions) -> Result<Report> {
    within(&options.run, || images::save_texture(texture, output, options))
}

/// Writes tables. In PLY each becomes an element, whose columns keep their names, types and order; csv, tsv, txt, xyz,
/// pts and npy hold one table ([`WriteOptions::table`] says how).
///
/// `comments` and `infos` (remarks about the object) stand before them, where the format has such.
///
/// ```
/// use polyhaul::model::{Column, Table, Values};
/// use polyhaul::{Format, Output, WriteOptions, save_tables};
///
/// let column = Column { name: "energy".into(), values: Values::F32(vec![0.5, 2.0].into()), offsets: None };
/// let table = Table { name: "hit".into(), row_count: 2, columns: vec![column] };
/// let options = WriteOptions { format: Some(Format::Ply), ..WriteOptions::default() };
/// let report = save_tables(&[table], &[], &[], Output::Writer(Box::new(Vec::new()), "hits".into()), &options)?;
/// assert_eq!(report.bytes_out, 83 + 2 * 4);
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Usage`] where a column does not have a row for each of its table's, where the format does not hold such
/// tables (PLY has no integers of 64 bits, the others no lists), or where it holds none; those of [`save`].
pub fn save_tables(
    tables: &[Table],
    comments: &[String],
    infos: &[String],
    output: Output,
    options: &WriteOptions,
) -> Result<Report> {
    within(&options.run, || tables::save(tables, [comments, infos], output, options))
}

/// Reads a file and writes it in any format.
///
/// Between formats that have tables (PLY, csv, tsv, txt, xyz, pts, npy) everything is kept: all columns with their
/// types, elements that are no part of a mesh, lists, comments and their order. Of PLY the vertices become the table,
/// or the element that [`options::TableOptions::element`] names; a table becomes the vertices of a PLY file. OBJ and
/// STL are read and written as scenes, and so are the others where the options for writing ask for axes, scale,
/// triangles or parts to leave out. What the target has no place for is noted in the report.
///
/// ```
/// use polyhaul::{Input, Output, ReadOptions, WriteOptions, convert};
///
/// let folder = std::env::temp_dir();
/// # let folder = folder.join(format!("polyhaul-doc-convert-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// let (read, write) = (ReadOptions::default(), WriteOptions::default());
/// let text = b"x,y,z,age\n0,0.5,1,7\n2,3,4,8\n".to_vec();
/// convert(Input::Memory(text, "a.csv".into()), Output::Path(folder.join("a.ply")), &read, &write)?;
/// convert(Input::Path(folder.join("a.ply")), Output::Path(folder.join("b.csv")), &read, &write)?;
/// assert_eq!(std::fs::read_to_string(folder.join("b.csv")).unwrap(), "x,y,z,age\n0,0.5,1,7\n2,3,4,8\n");
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// Those of [`load`], [`load_tables`], [`save`] and [`save_tables`].
pub fn convert(input: Input, output: Output, read: &ReadOptions, write: &WriteOptions) -> Result<Report> {
    convert_with(input, output, read, write, |_, _| Ok(())).map(Converted::report)
}

/// As [`convert`], and shows `before` what was read and what reading did, before anything is written. Its error ends
/// the job, and the target stays as it was. The pool is that of the options for reading.
pub fn convert_with(
    input: Input,
    output: Output,
    read: &ReadOptions,
    write: &WriteOptions,
    before: impl FnOnce(Content<'_>, &Report) -> Result<()>,
) -> Result<Converted> {
    within(&read.run, || convert::convert(input, output, read, write, before))
}
