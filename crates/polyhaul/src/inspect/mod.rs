//! Summarizes the contents of scenes, tables and images, validates files, and checks surfaces.
//!
//! [`info`] counts the contents of an input; [`validate`] reads an input to the end, collects every problem, and
//! reports whether a normal read would fail; [`check`] finds holes and other faults of surfaces, and measures them.
//! Nothing here repairs, changes or prints anything; the command-line tool renders the results. Counts are in
//! `contents` and, for renderer scenes, in `render`; table columns in `columns`, file headers in `crate::declared`,
//! surfaces in `surfaces`, and checks beyond those of a normal read in `faces`, `textures` and `validate`.

mod columns;
mod contents;
mod extent;
mod faces;
mod image;
mod quoted;
mod render;
mod surfaces;
mod textures;
mod validate;

pub use crate::declared::{Declared, DeclaredElement, DeclaredProperty};
pub use columns::{ColumnSummary, Number};
pub use contents::{Contents, Inventory};
pub use image::{ImageSummary, TextureSummary};
pub use quoted::quoted;
pub use render::{FileSummary, RenderContents, RenderInventory};
pub use surfaces::{CheckedSurface, SurfaceCheck, SurfaceCounts, check};
pub use validate::{Validation, validate};

use crate::containers::members_of;
use crate::format::Format;
use crate::input::Input;
use crate::load::{Content, ContentShape, load_as};
use crate::open::Opened;
use crate::options::ReadOptions;
use crate::report::Report;
use crate::select::select;
use polyhaul_model::error::Result;
use polyhaul_pipeline::crew::within;
use std::path::{Path, PathBuf};

/// Reads an input, and returns an inventory of its contents and the report of the read. For a numeric table, which need
/// not contain points, and for a PLY element selected by [`polyhaul_model::options::TableReadOptions::element`], the
/// inventory lists the columns.
///
/// Reads the whole file, and takes as much time and memory as [`crate::Reader::scene`]. Textures of a pbrt scene, and
/// its mesh files if [`ReadOptions::load_meshes`] is off, are located but not opened. A missing file causes a warning
/// (`missing-texture`, `missing-mesh`), and so does a file outside the scene's folder (`outside-texture`,
/// `outside-mesh`).
///
/// ```
/// use polyhaul::{Input, ReadOptions, inspect};
///
/// let text = b"o paper\nv 0 0 0\nv 2 0 0\nv 2 3 0\nv 0 3 0\nf 1 2 3 4\n".to_vec();
/// let input = Input::Memory(text, "paper.obj".into());
/// let (inventory, report) = inspect::info(input, &ReadOptions::default())?;
/// assert_eq!((inventory.contents.positions, inventory.contents.quads), (4, 1));
/// assert_eq!(inventory.object_names, ["paper"]);
/// assert_eq!(inventory.bounds.unwrap().max, [2.0, 3.0, 0.0]);
/// assert!(report.warnings.is_empty());
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// The same errors as [`crate::Reader::scene`].
pub fn info(input: impl Into<Input>, options: &ReadOptions) -> Result<(Inventory, Report)> {
    within(&options.run, || look(input.into(), options))
}

/// Lists the paths of archive members in known formats, including those in nested archives. The list is empty for
/// folders, for other files, and for archives with a single such member, which [`info`] and [`validate`] read directly.
///
/// # Errors
/// Any error from reading the archive.
pub fn members(path: &Path, options: &ReadOptions) -> Result<Vec<PathBuf>> {
    members_of(path, options)
}

fn look(input: Input, options: &ReadOptions) -> Result<(Inventory, Report)> {
    let is_element = |format: Format| format.has_elements() && options.table.element.is_some();
    let as_asked = |format| if is_element(format) { ContentShape::Tables } else { ContentShape::from_format(format) };
    let input = Opened::to_read(input, options)?;
    let (read, mut report) = load_as(&input, options, &as_asked)?;
    let inventory = match read.content {
        Content::Scene(mut scene) => {
            let mut details = read.details;
            let declared = details.header.take().map(|header| header.with_remarks_of(&mut scene));
            let mut inventory = Inventory { declared, ..Inventory::by_threads(&scene, options.run.worker_threads())? };
            if let Some(render_inventory) = &mut inventory.render
                && let Some(render) = &scene.render
                && let Some(files) = details.files
            {
                render_inventory.look_around(
                    render,
                    files,
                    input.near(),
                    input.name(),
                    options,
                    &mut report.warnings,
                )?;
            }
            inventory
        }
        Content::Image(image) => {
            let summary = ImageSummary { parts: read.details.parts, ..ImageSummary::from_image(&image) };
            Inventory { image: Some(summary), ..Inventory::default() }
        }
        Content::Texture(texture) => {
            Inventory { image: Some(ImageSummary::of_texture(&texture)), ..Inventory::default() }
        }
        Content::Tables(mut tables) => {
            if is_element(read.format) {
                select(&mut tables, &options.table)?;
            }
            columns::inventory(&tables.tables, &options.run)?
        }
    };
    Ok((inventory, report))
}
