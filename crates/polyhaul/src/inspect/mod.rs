//! What a scene holds, and whether it is sound.
//!
//! [`info`] counts what is inside of an input; [`validate`] reads it to its end, collects every complaint and tells
//! whether a plain read would stop. Nothing is repaired, changed or printed: the command renders what is found here.
//! Counting is in `contents` and, of scenes for a renderer, in `render`; columns of tables are in `columns`, what a
//! file says of itself is in `declared`, what is looked at beyond reading in `faces` and `textures`.

mod columns;
mod contents;
mod declared;
mod faces;
mod image;
mod quoted;
mod render;
mod textures;
mod validate;

pub use columns::{ColumnSummary, Number};
pub use contents::{Contents, Inventory};
pub use declared::{Declared, DeclaredElement, DeclaredProperty};
pub use image::{ImageSummary, TextureSummary};
pub use quoted::quoted;
pub use render::{FileSummary, RenderContents, RenderInventory};
pub use validate::{Validation, validate};

use crate::format::Format;
use crate::input::Input;
use crate::load::{Content, ContentShape, load_as};
use crate::open::Opened;
use crate::options::ReadOptions;
use crate::report::Report;
use crate::tables;
use polyhaul_model::error::Result;
use polyhaul_pipeline::crew::within;

/// Reads a scene and tells what it holds, and what reading did. A table of numbers need not be one of points: its
/// columns are listed; and so are those of an element of a PLY file that
/// [`polyhaul_mesh::options::TableReadOptions::element`] names.
///
/// The whole file is read, so it takes as long and as much memory as [`crate::Reader::scene`]. Textures of a pbrt
/// scene, and its meshes where [`ReadOptions::load_meshes`] is off, are looked for and not opened: those that are not
/// there are warnings (`missing-texture`, `missing-mesh`, or `outside-` where they lie outside of the scene's folder).
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
/// Those of [`crate::Reader::scene`].
pub fn info(input: impl Into<Input>, options: &ReadOptions) -> Result<(Inventory, Report)> {
    within(&options.run, || look(input.into(), options))
}

fn look(input: Input, options: &ReadOptions) -> Result<(Inventory, Report)> {
    let is_element = |format: Format| format.has_elements() && options.table.element.is_some();
    let as_asked = |format| if is_element(format) { ContentShape::Tables } else { ContentShape::from_format(format) };
    let input = Opened::new(input, options)?;
    let (read, mut report) = load_as(&input, options, as_asked)?;
    let inventory = match read.content {
        Content::Scene(mut scene) => {
            let mut details = read.details;
            let declared = Declared::from_details(&mut details, &mut scene)?;
            let mut inventory = Inventory { declared, ..Inventory::from_scene(&scene)? };
            if let (Some(told), Some(render), Some(files)) = (&mut inventory.render, &scene.render, details.files) {
                told.look_around(render, files, (input.near(), input.name()), options, &mut report.warnings)?;
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
        Content::Tables(mut found) => {
            if is_element(read.format) {
                tables::select(&mut found, &options.table)?;
            }
            columns::inventory(&found.tables, &options.run)?
        }
    };
    Ok((inventory, report))
}
