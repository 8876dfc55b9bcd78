//! The registry of formats: how each is read and written, by the rows in `formats`.
//!
//! A row has the names of a format, its kind of content, its signature, and how it is read and written. The former
//! three are in `format`, on which everything that opens files depends. Adding a format means a folder with its code
//! and a row; it is named nowhere else. Operations on every input and output are in `load`, `save`, `images` and
//! `tables`; nothing here opens a file.

mod handlers;

use crate::format::Format;
use crate::image_job::{Held, Log};
use crate::input::Output;
use crate::loaded::Tables;
use crate::mesh_job::MeshJob;
use crate::options::WriteOptions;
use crate::pack_job::PackSplats;
use crate::read_job::ReadJob;
use crate::report::Report;
use crate::table_job::TablesJob;
use crate::table_parts::{PartsJob, TablePartsStart};
use handlers::HANDLERS;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::options::Placement;
use polyhaul_model::{ColorProfile, Image, ImageAttribute, SampleType, Scene, Texture};
use polyhaul_pipeline::attempt::Attempt;
use polyhaul_pipeline::consumer::MeshConsumer;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::table_parts::TableSource;
use polyhaul_pipeline::write::Writing;
use std::borrow::Cow;

/// How a format is read and written.
pub(crate) struct Handlers {
    read: Readers,
    write: Writers,
    /// The data that its speed is measured with, if any: one format for each kind of work.
    kernel: Option<KernelData>,
}

/// The data that the speed of a format is measured with; see `kernels`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum KernelData {
    Mesh,
    /// A scene for a renderer.
    Render,
    Table,
    /// An image of bytes.
    Picture,
    /// An image of floats, which is only read.
    Light,
}

/// Reads a mesh piece by piece; declines if this file must be read as a scene.
pub(crate) type PiecesReader = fn(&mut ReadJob<'_>, &dyn MeshConsumer) -> Result<Attempt<()>>;

/// Reads tables part by part, of about so many bytes, with a function that returns how many threads it had, or declines
/// to have the file read as a whole. Declines, too, if this file must be.
pub(crate) type PartsReader =
    fn(&mut ReadJob<'_>, usize, &mut dyn FnMut(&dyn TableSource) -> Result<Attempt<usize>>) -> Result<Attempt<()>>;

/// How a format is read, for each kind of content that it has.
pub(crate) struct Readers {
    pub(crate) scene: Option<fn(&mut ReadJob<'_>) -> Result<Scene>>,
    /// Reads a mesh piece by piece.
    pub(crate) pieces: Option<PiecesReader>,
    pub(crate) tables: Option<fn(&mut ReadJob<'_>) -> Result<Tables>>,
    /// Reads tables part by part.
    pub(crate) parts: Option<PartsReader>,
    pub(crate) image: Option<fn(&mut ReadJob<'_>) -> Result<Image>>,
    pub(crate) texture: Option<fn(&mut ReadJob<'_>) -> Result<Texture>>,
    /// Whether layers and parts of an image can be chosen.
    pub(crate) has_layers: bool,
    /// Whether pixels take several times as much memory as in the file.
    pub(crate) is_packed: bool,
    /// Whether a file may be read twice, since its text shows whether coordinates need double precision.
    pub(crate) decides_precision: bool,
}

/// How a format is written, for each kind of content that it holds.
pub(crate) struct Writers {
    pub(crate) scene: Option<SceneWriter>,
    /// How splats are packed while they are read from a table.
    pub(crate) pack: Option<PackSplats>,
    pub(crate) tables: Option<TablesWriter>,
    pub(crate) image: Option<ImageWriter>,
    pub(crate) texture: Option<TextureWriter>,
}

/// Writes a texture.
pub(crate) type TextureWriter = fn(&Texture, &WriteOptions, &mut Writing<'_, '_>) -> Result<()>;

/// Writes scenes.
#[derive(Clone, Copy)]
pub(crate) enum SceneWriter {
    /// Scenes for a renderer as they are.
    Render(fn(Cow<'_, Scene>, Output, &WriteOptions) -> Result<Report>),
    Meshes(MeshWriter),
}

/// Writes meshes, objects and materials.
#[derive(Clone, Copy)]
pub(crate) struct MeshWriter {
    /// Changes to a scene before that: axes, scale, triangles.
    pub(crate) placement: fn(&Scene, &WriteOptions) -> Result<Placement>,
    /// Whether it stores triangles alone.
    pub(crate) only_triangles: bool,
    /// Whether it stores positions in double precision.
    pub(crate) keeps_doubles: fn(&WriteOptions) -> bool,
    /// Whether it stores an origin of coordinates.
    pub(crate) has_origin: bool,
    /// The highest degree of harmonics that it stores of Gaussian splats; `None` if splats are only points there.
    pub(crate) splat_degree: Option<usize>,
    /// Whether it stores transforms of Gaussian splats, which have y up there.
    pub(crate) has_upright_splats: bool,
    /// How faces are triangulated if requested.
    pub(crate) triangulate: fn(&mut Scene, &Placement, &RunOptions) -> Result<()>,
    pub(crate) write: fn(MeshJob<'_>) -> Result<()>,
}

/// Writes tables.
#[derive(Clone, Copy)]
pub(crate) struct TablesWriter {
    /// Whether the options request something that only a mesh has.
    pub(crate) wants_mesh: fn(&WriteOptions) -> bool,
    pub(crate) write: fn(TablesJob<'_>) -> Result<()>,
    /// Prepares a file that is written part by part.
    pub(crate) start_parts: for<'o> fn(PartsJob<'_, 'o>) -> Result<TablePartsStart<'o>>,
}

/// Writes images.
#[derive(Clone, Copy)]
pub(crate) struct ImageWriter {
    /// The samples and channels that an image is converted to.
    pub(crate) held: fn(&Image) -> Held,
    /// Warns about what it cannot store of a converted image, which had samples of this type.
    pub(crate) note: fn(&mut Log<'_>, &Image, SampleType, &WriteOptions) -> Result<()>,
    /// Whether it stores channels and attributes by name.
    pub(crate) has_names: bool,
    /// Whether it stores an attribute, without names for everything.
    pub(crate) stores: fn(&ImageAttribute) -> bool,
    /// Removes what it stores of a description of colors.
    pub(crate) store_profile: fn(&mut ColorProfile),
    /// Whether all pixels are approximate anyway.
    pub(crate) is_lossy: bool,
    pub(crate) write: fn(&Image, &WriteOptions, &mut Writing<'_, '_>) -> Result<()>,
}

const NO_READERS: Readers = Readers {
    scene: None,
    pieces: None,
    tables: None,
    parts: None,
    image: None,
    texture: None,
    has_layers: false,
    is_packed: false,
    decides_precision: false,
};
/// A writer without warnings of its own; rows override what the format holds and how it is written.
const IMAGE_WRITER: ImageWriter = ImageWriter {
    held: Held::integers,
    note: |_, _, _, _| Ok(()),
    has_names: false,
    stores: |_| false,
    store_profile: |_| {},
    is_lossy: false,
    write: |_, _, _| Err(Error::new(ErrorKind::Internal, "a row has no writer")),
};
const NO_WRITERS: Writers = Writers { scene: None, pack: None, tables: None, image: None, texture: None };

const NO_HANDLERS: Handlers = Handlers { read: NO_READERS, write: NO_WRITERS, kernel: None };

impl Handlers {
    /// The same; without writers in a build that only reads, which then has none of their code.
    const fn trimmed(self) -> Handlers {
        if cfg!(feature = "writing") { self } else { Handlers { write: NO_WRITERS, ..self } }
    }
}

impl Format {
    /// How it is read.
    pub(crate) fn readers(self) -> &'static Readers {
        &HANDLERS[self.row()].read
    }

    /// How it is written.
    pub(crate) fn writers(self) -> &'static Writers {
        &HANDLERS[self.row()].write
    }

    /// The data that its speed is measured with, if any.
    pub(crate) fn kernel_data(self) -> Option<KernelData> {
        HANDLERS[self.row()].kernel
    }

    /// Whether scenes, tables or images can be written in this format. Textures are written by [`crate::textures`].
    pub fn is_written(self) -> bool {
        let Writers { scene, tables, image, .. } = self.writers();
        scene.is_some() || tables.is_some() || image.is_some()
    }

    /// Whether its kind of content can be converted to another format, which is written.
    pub fn converts_to(self, to: Format) -> bool {
        self.is_image() == to.is_image() && to.is_written()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_with_tables_have_readers_of_tables() {
        for format in Format::ALL {
            assert_eq!(format.has_tables(), format.readers().tables.is_some(), "{format:?}");
        }
    }
}
