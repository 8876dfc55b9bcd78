//! Reads and writes 3D assets as fast as the machine allows, using bounded memory and producing identical output for
//! any number of threads.
//!
//! [`read()`], [`write()`] and [`convert()`] use the default options; [`Reader`] and [`Writer`] take options and return
//! a [`Report`]. A scene is plain data ([`model`]); use [`ops`] to modify it and [`inspect`] to describe it.
//!
//! ```
//! use polyhaul::{Input, Reader};
//!
//! let folder = std::env::temp_dir();
//! # let folder = folder.join(format!("polyhaul-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! std::fs::write(folder.join("in.obj"), "o triangle\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").unwrap();
//! let scene = polyhaul::read(folder.join("in.obj"))?;
//! let mesh = &scene.meshes[0];
//! assert_eq!(mesh.positions.len(), 3);
//! assert_eq!(mesh.faces.corner_positions, [0, 1, 2]);
//! polyhaul::write(&scene, folder.join("out.ply"))?;
//!
//! let loaded = Reader::new(folder.join("out.ply")).threads(1).scene()?;
//! assert_eq!((loaded.value.totals()[0], loaded.report.warnings.total()), (3, 0));
//! # std::fs::remove_dir_all(&folder).unwrap();
//!
//! let broken = b"v 0 0 0\nf 1 2 x\n".to_vec();
//! let error = Reader::new(Input::Memory(broken, "broken.obj".into())).scene().unwrap_err();
//! assert_eq!(error.to_string().split(';').next(), Some("broken.obj:2:7: invalid index `x`"));
//! # Ok::<(), polyhaul::Error>(())
//! ```
//!
//! The library never prints anything, installs handlers, or exits the process.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]
#![cfg_attr(
    not(all(feature = "mesh", feature = "image", feature = "pbrt", feature = "splat", feature = "preview")),
    allow(dead_code, unused_imports, reason = "formats use it that are not built")
)]

#[macro_use]
mod formats;
mod foreign;
mod letter_case;

mod containers;
mod convert;
mod declared;
mod detect;
pub mod diff;
#[cfg(feature = "pbrt")]
mod flat;
#[cfg(not(feature = "pbrt"))]
#[path = "no_pbrt.rs"]
mod flat;
mod format;
#[cfg(feature = "gltf")]
mod gltf;
mod image_job;
mod image_ops;
mod images;
mod input;
pub mod inspect;
#[cfg(all(feature = "mesh", feature = "image", feature = "pbrt"))]
mod kernels;
mod load;
mod loaded;
pub mod many;
#[cfg(all(feature = "mesh", feature = "image", feature = "pbrt"))]
pub mod measure;
mod mesh_job;
#[cfg(feature = "obj")]
mod obj;
mod open;
pub mod ops;
pub mod options;
mod outputs;
mod pack_job;
mod paths;
#[cfg(feature = "pbrt")]
mod pbrt;
#[cfg(feature = "pbrt")]
mod pbrt_ops;
mod plain;
#[cfg(feature = "ply")]
mod ply;
mod precise;
#[cfg(feature = "preview")]
pub mod preview;
mod prose;
mod read_job;
mod reader;
mod references;
mod registry;
pub mod repack;
pub mod report;
mod resolve;
pub mod rows;
mod save;
mod select;
#[cfg(feature = "sog")]
mod sog;
#[cfg(feature = "splat")]
mod splat;
mod surface;
mod table_fit;
mod table_job;
mod table_parts;
mod tables;
#[cfg(feature = "textures")]
pub mod textures;
mod writer;

pub use convert::{Content, Converted};
pub use diff::diff;
pub use format::Format;
pub use input::{Input, Output};
pub use loaded::{Loaded, TableArray, Tables};
pub use options::{ReadOptions, WriteOptions};
pub use polyhaul_bytes::place;
pub use polyhaul_bytes::{FileOptions, HostRead, HostWrite, Sink, Source, remove_temporaries};
pub use polyhaul_model::error::{Error, ErrorKind, Result};
pub use polyhaul_model::{error, precision, printable, severity, warnings};
pub use polyhaul_pipeline::consumer;
pub use polyhaul_trace as trace;
pub use reader::Reader;
pub use report::Report;
pub use writer::Writer;

/// The data that polyhaul moves: plain arrays and small structs.
///
/// A [`model::Scene`] owns meshes (arrays), objects (sections of a mesh), materials and tables (columns of numbers that
/// do not belong to a mesh). Renderer scenes are in [`model::render`]. [`model::Image`] and [`model::Texture`] are
/// independent of scenes.
pub mod model {
    pub use polyhaul_model::{
        Array, Axes, Axis, Bounds, ChannelSamples, ChannelType, Channels, Color, ColorChannel, ColorProfile,
        ColorSpace, Column, Counts, Curve, Domain, Elements, Encoding, FolderPlace, Illumination, Image,
        ImageAttribute, ImageChannel, ImagePart, MapKind, Material, Mesh, NONE, Object, ObjectKind, PartChannel, Run,
        Samples, Scalar, Scene, SourceFolder, Table, Texel, Texture, TextureMap, Values, VertexGroup, render, splats,
    };
}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/rust.md")]
mod guide {}

use model::{Image, Scene};
use polyhaul_pipeline::crew::within;
use std::path::Path;

/// Reads a scene with the default options. To set options, get the warnings, or read tables and images, use a
/// [`Reader`].
///
/// # Errors
/// The same errors as [`Reader::scene`].
pub fn read(input: impl Into<Input>) -> Result<Scene> {
    Ok(Reader::new(input).scene()?.value)
}

/// Writes a scene with the default options. To set options, or to write tables and images, use a [`Writer`].
///
/// # Errors
/// The same errors as [`Writer::scene`].
pub fn write(scene: &Scene, output: impl Into<Output>) -> Result<()> {
    Writer::new(output).scene(scene).map(drop)
}

/// Reads a file and writes it in another format; see [`Reader::convert`].
///
/// # Errors
/// The same errors as [`Reader::convert`].
pub fn convert(input: impl Into<Input>, output: impl Into<Output>) -> Result<Report> {
    Reader::new(input).convert(Writer::new(output))
}

/// Reads an image that a scene refers to. The resolver ([`options::Resolve`]) is tried first; then `name` is looked up
/// relative to `scene`, in the file system or in the archive that contains `scene`. The file must be a regular file in
/// the scene's folder or below it, unless [`ReadOptions::allow_outside`] is set. Images inside glTF files have names,
/// too: `chair.glb#image0.png`.
///
/// `scene` is the path that the scene was read from, or `None` if it was not read from a path.
///
/// ```
/// use polyhaul::options::Resolve;
/// use polyhaul::{Input, ReadOptions, read_referenced_image};
/// use std::sync::Arc;
///
/// let dot = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 24, 0, 3, 2, 1];
/// let resolve = move |name: &str| Ok((name == "dot.tga").then(|| Input::Memory(dot.to_vec(), name.into())));
/// let options = ReadOptions::default().with_resolver(Some(Resolve(Arc::new(resolve))));
/// assert_eq!(read_referenced_image(None, "dot.tga", &options)?.value.width, 1);
/// assert!(read_referenced_image(None, "other.tga", &options).is_err());
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Io`] if the file does not exist, [`ErrorKind::Unsupported`] if it may not be opened; also any error
/// from [`Reader::image`].
pub fn read_referenced_image(scene: Option<&Path>, name: &str, options: &ReadOptions) -> Result<Loaded<Image>> {
    within(&options.run, || images::load_referenced(scene, name, options))
}
