//! What a scene holds, and whether it is sound.
//!
//! [`info`] counts what is inside of an input; [`validate`] reads it to its end, collects every complaint and tells
//! whether a plain read would stop. Nothing is repaired, changed or printed: the command renders what is found here.
//! Counting is in `contents`, what a file says of itself in `declared`, what validating looks at beyond reading in
//! `faces` and `textures`.

mod contents;
mod declared;
mod faces;
mod textures;
mod validate;

pub use contents::{Contents, Inventory};
pub use declared::{Declared, DeclaredElement, DeclaredProperty};
pub use validate::{Validation, validate};

use crate::load::load_described;
use crate::open::Opened;
use crate::{Input, Loaded, ReadOptions, Report, Result};

/// Reads a scene and tells what it holds, and what reading did.
///
/// The whole scene is read, so it takes as long and as much memory as [`crate::load`].
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
/// Those of [`crate::load`].
pub fn info(input: Input, options: &ReadOptions) -> Result<(Inventory, Report)> {
    let (Loaded { mut scene, report }, header) = load_described(&Opened::new(input)?, options)?;
    let declared = header.map(|header| Declared::of(header, &mut scene)).transpose()?;
    Ok((Inventory { declared, ..Inventory::of(&scene)? }, report))
}
