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
//! assert_eq!(error.to_string().split(';').next(), Some("broken.obj:2:7: `x` is not an index"));
//! # Ok::<(), polyhaul::Error>(())
//! ```
//!
//! It prints nothing, installs no handlers and never ends the process.

mod check;
mod copy;
pub mod error;
mod formats;
pub mod inspect;
mod load;
pub mod model;
mod open;
pub mod ops;
pub mod options;
mod pipeline;
pub mod report;
mod resolve;
pub mod rows;
mod save;
pub mod warnings;

pub use error::{Error, ErrorKind, Result};
pub use formats::Format;
pub use options::{ReadOptions, WriteOptions};
pub use report::Report;

use model::Scene;
use open::Opened;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a scene is read from.
#[non_exhaustive]
pub enum Input {
    /// A file; `-` is not special here.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Bytes in memory, and the name that messages use.
    Memory(Vec<u8>, String),
    /// Bytes in the memory of somebody else, which are not copied, and the name that messages use. They must not change
    /// meanwhile.
    Shared(Arc<dyn AsRef<[u8]> + Send + Sync>, String),
    /// Any reader, and the name that messages use.
    Reader(Box<dyn std::io::Read + Send>, String),
}

/// Where a scene is written to.
#[non_exhaustive]
pub enum Output {
    /// A file, replaced as a whole or not at all; the material library goes beside it.
    Path(PathBuf),
    /// Standard output; the material library is named but not written.
    Stdout,
    /// Any writer, and the name that messages use; the material library is named but not written.
    Writer(Box<dyn std::io::Write + Send>, String),
}

/// A scene that was read, and what reading did.
#[derive(Debug)]
pub struct Loaded {
    /// The scene.
    pub scene: Scene,
    /// What reading did; the warnings are here.
    pub report: Report,
}

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
    load::load(&Opened::new(input)?, options)
}

/// Writes a scene.
pub fn save(scene: &Scene, output: Output, options: &WriteOptions) -> Result<Report> {
    save::save(Cow::Borrowed(scene), output, options)
}

/// Reads a scene and writes it.
pub fn convert(input: Input, output: Output, read: &ReadOptions, write: &WriteOptions) -> Result<Report> {
    let Loaded { scene, mut report } = load(input, read)?;
    report.extend(save::save(Cow::Owned(scene), output, write)?);
    Ok(report)
}
