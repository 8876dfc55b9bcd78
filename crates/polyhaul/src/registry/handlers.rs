//! The second half of the rows in `formats`: readers and writers of each format.

use super::{
    Handlers, IMAGE_WRITER, ImageWriter, KernelData, MeshWriter, NO_HANDLERS, NO_READERS, NO_WRITERS, Readers,
    SceneWriter, TablesWriter, Writers,
};
use crate::format::Format;
#[cfg(feature = "gltf")]
use crate::gltf;
use crate::image_job::{self, Held};
use crate::mesh_job::{Comments, MeshJob, has_polygons};
#[cfg(feature = "obj")]
use crate::obj;
use crate::options::WriteOptions;
#[cfg(feature = "pbrt")]
use crate::pbrt;
#[cfg(feature = "ply")]
use crate::ply;
#[cfg(feature = "sog")]
use crate::sog;
#[cfg(feature = "splat")]
use crate::splat;
use crate::{table_job, table_parts};
use polyhaul_geometry::triangulate::{
    triangulate_scene, triangulate_scene_as_blender, triangulate_scene_as_shown, triangulate_scene_positions,
};
use polyhaul_image as image;
use polyhaul_model::Axes;
use polyhaul_model::error::Result;
use polyhaul_model::options::{Dialect, Placement};
use polyhaul_pipeline::attempt::Attempt;
#[cfg(feature = "splat")]
use polyhaul_splat::packer::SplatPacking;

macro_rules! format_handlers {
    ($($(#[$docs:meta])+ $name:ident = $row:expr, $feature:literal {
        $($field:ident: $value:expr,)*
    } => {
        $($handler_field:ident: $handler:expr,)*
    })+) => {
        #[allow(clippy::needless_update, reason = "some rows have readers and writers, some only one of them")]
        pub(super) static HANDLERS: [Handlers; Format::ALL.len()] = [$(
            #[cfg(feature = $feature)]
            Handlers { $($handler_field: $handler,)* ..NO_HANDLERS }.trimmed(),
            #[cfg(not(feature = $feature))]
            NO_HANDLERS,
        )+];
    };
}

format_rows!(format_handlers);

/// Writers of Gaussian splats. Axes and scale come from the caller's options, as in all formats.
#[cfg(any(feature = "splat", feature = "ply"))]
const fn splat_writers(degree: usize, write: fn(MeshJob<'_>) -> Result<()>) -> Writers {
    Writers {
        scene: Some(SceneWriter::Meshes(MeshWriter {
            placement: |_, options| Ok(Placement { triangulate: false, ..options.scene.placement(None)? }),
            only_triangles: false,
            keeps_doubles: |_| false,
            has_origin: false,
            splat_degree: Some(degree),
            has_upright_splats: false,
            triangulate: |_, _, _| Ok(()),
            write,
        })),
        ..NO_WRITERS
    }
}

/// Readers of tables of numbers, as tables or points.
#[cfg(feature = "table")]
const TABLE_READERS: Readers =
    Readers { scene: Some(table_job::read_points), tables: Some(table_job::read), ..NO_READERS };
/// Writers of tables of numbers.
#[cfg(feature = "table")]
const TABLE_WRITERS: Writers = Writers {
    scene: Some(SceneWriter::Meshes(MeshWriter {
        // Tables have no faces.
        placement: |_, options| Ok(Placement { triangulate: false, ..options.scene.placement(None)? }),
        only_triangles: false,
        keeps_doubles: |_| true,
        has_origin: false,
        splat_degree: None,
        has_upright_splats: false,
        triangulate: |scene, _, run| triangulate_scene(scene, run),
        write: table_job::write_points,
    })),
    tables: Some(TablesWriter {
        wants_mesh: moves_points,
        write: table_job::write,
        start_parts: table_parts::start_rows,
    }),
    ..NO_WRITERS
};

/// Whether the options change the axes or scale of points.
fn moves_points(options: &WriteOptions) -> bool {
    options.scene.moves_positions()
}
