//! Registry of formats: their readers and writers, from the rows in `formats`.
//!
//! A row consists of the format's names, kind of content and signature, and of its readers and writers. Names, kind and
//! signature are in `format`, which all code that opens files depends on. To add a format, add a folder with its code
//! and a row; nothing else names it. Operations on all inputs and outputs are in `load`, `save`, `images` and `tables`;
//! nothing here opens a file.

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

/// Readers and writers of a format.
pub(crate) struct Handlers {
    read: Readers,
    write: Writers,
    /// Data for measuring its speed, or `None` if its speed is not measured.
    kernel: Option<KernelData>,
}

/// Data for measuring the speed of a format; see `kernels`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum KernelData {
    Mesh,
    /// A renderer scene.
    Render,
    Table,
    /// An 8-bit image.
    Picture,
    /// A floating-point image; only its reader is measured.
    Light,
}

/// Reads a mesh in pieces; declines if the file must be read as a scene.
pub(crate) type PiecesReader = fn(&mut ReadJob<'_>, &dyn MeshConsumer) -> Result<Attempt<()>>;

/// Reads tables in parts of about the given number of bytes. The last argument consumes the parts and returns its
/// number of threads, or declines. Also declines if the file itself must be read as a whole.
pub(crate) type PartsReader =
    fn(&mut ReadJob<'_>, usize, &mut dyn FnMut(&dyn TableSource) -> Result<Attempt<usize>>) -> Result<Attempt<()>>;

/// Readers of a format, one for each kind of content.
pub(crate) struct Readers {
    pub(crate) scene: Option<fn(&mut ReadJob<'_>) -> Result<Scene>>,
    /// Reads a mesh in pieces.
    pub(crate) pieces: Option<PiecesReader>,
    pub(crate) tables: Option<fn(&mut ReadJob<'_>) -> Result<Tables>>,
    /// Reads tables in parts.
    pub(crate) parts: Option<PartsReader>,
    pub(crate) image: Option<fn(&mut ReadJob<'_>) -> Result<Image>>,
    pub(crate) texture: Option<fn(&mut ReadJob<'_>) -> Result<Texture>>,
    /// Whether layers and parts of an image can be selected.
    pub(crate) has_layers: bool,
    /// Whether decoded pixels take several times the memory of the file.
    pub(crate) is_packed: bool,
    /// Whether a text file may be read a second time in double precision, if its digits require that.
    pub(crate) decides_precision: bool,
}

/// Writers of a format, one for each kind of content.
pub(crate) struct Writers {
    pub(crate) scene: Option<SceneWriter>,
    /// Packs splats of a table while they are read.
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
    /// Renderer scenes, written as they are.
    Render(fn(Cow<'_, Scene>, Output, &WriteOptions) -> Result<Report>),
    Meshes(MeshWriter),
}

/// Writes meshes, objects and materials.
#[derive(Clone, Copy)]
pub(crate) struct MeshWriter {
    /// The requested axes, scale and triangulation, adapted to the format.
    pub(crate) placement: fn(&Scene, &WriteOptions) -> Result<Placement>,
    /// Whether it only stores triangles.
    pub(crate) only_triangles: bool,
    /// Whether it stores positions in double precision.
    pub(crate) keeps_doubles: fn(&WriteOptions) -> bool,
    /// Whether it stores an origin.
    pub(crate) has_origin: bool,
    /// Maximum degree of spherical harmonics of Gaussian splats, or `None` if splats are written as points.
    pub(crate) splat_degree: Option<usize>,
    /// Whether it stores transforms of Gaussian splats, with y up.
    pub(crate) has_upright_splats: bool,
    /// Triangulates faces, if requested.
    pub(crate) triangulate: fn(&mut Scene, &Placement, &RunOptions) -> Result<()>,
    pub(crate) write: fn(MeshJob<'_>) -> Result<()>,
}

/// Writes tables.
#[derive(Clone, Copy)]
pub(crate) struct TablesWriter {
    /// Whether the options require a mesh.
    pub(crate) wants_mesh: fn(&WriteOptions) -> bool,
    pub(crate) write: fn(TablesJob<'_>) -> Result<()>,
    /// Prepares a file that is written in parts.
    pub(crate) start_parts: for<'o> fn(PartsJob<'_, 'o>) -> Result<TablePartsStart<'o>>,
}

/// Writes images.
#[derive(Clone, Copy)]
pub(crate) struct ImageWriter {
    /// Sample type and channels that an image is converted to.
    pub(crate) held: fn(&Image) -> Held,
    /// Warns about content of a converted image that it cannot store; the sample type is the one before the conversion.
    pub(crate) note: fn(&mut Log<'_>, &Image, SampleType, &WriteOptions) -> Result<()>,
    /// Whether it stores named channels and attributes.
    pub(crate) has_names: bool,
    /// Whether it stores an attribute, in a format without named attributes.
    pub(crate) stores: fn(&ImageAttribute) -> bool,
    /// Removes the parts of a color profile that it stores.
    pub(crate) store_profile: fn(&mut ColorProfile),
    /// Whether compression is lossy, so all pixels are approximate.
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
/// Defaults of an image writer, without warnings; rows override them.
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
    /// Removes the writers in builds that only read, so that the linker drops their code.
    const fn trimmed(self) -> Handlers {
        if cfg!(feature = "writing") { self } else { Handlers { write: NO_WRITERS, ..self } }
    }
}

impl Format {
    /// Readers of the format.
    pub(crate) fn readers(self) -> &'static Readers {
        &HANDLERS[self.row()].read
    }

    /// Writers of the format.
    pub(crate) fn writers(self) -> &'static Writers {
        &HANDLERS[self.row()].write
    }

    /// Data for measuring its speed, if any.
    pub(crate) fn kernel_data(self) -> Option<KernelData> {
        HANDLERS[self.row()].kernel
    }

    /// Whether scenes, tables or images can be written in this format. Textures are written by [`crate::textures`].
    pub fn is_written(self) -> bool {
        let Writers { scene, tables, image, .. } = self.writers();
        scene.is_some() || tables.is_some() || image.is_some()
    }

    /// Whether its kind of content can be converted to `to`, and `to` can be written.
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
