//! Reads every kind of content.
//!
//! `whole` reads complete inputs; `chosen` keeps the rows that the options select. Reading never seeks backward in its
//! source. To read twice, open the input, make it readable more than once ([`Opened::kept`]) and load it twice, as
//! `inspect` does.

pub(crate) mod chosen;
mod whole;

use crate::format::only_reads;
use crate::loaded::Loaded;
use crate::open::Opened;
use crate::options::ReadOptions;
use crate::report::Report;
use chosen::load_chosen;
use polyhaul_model::Scene;
use polyhaul_model::error::Result;
use whole::{load_whole, scene_of};

pub(crate) use whole::{Content, ContentShape, Read, ShapeOf, load_pieces, timed};

/// Reads an input as a scene.
pub(crate) fn load(input: &Opened, options: &ReadOptions) -> Result<Loaded<Scene>> {
    scene_of(load_as(input, options, &|_| ContentShape::Scene)?)
}

/// Reads an input as the kind of content that `shape` returns for its format, and keeps the rows that the options
/// select. To select rows, the input must be readable more than once.
pub(crate) fn load_as(input: &Opened, options: &ReadOptions, shape: ShapeOf<'_>) -> Result<(Read, Report)> {
    if options.rows.is_everything() {
        load_whole(input, None, options, shape)
    } else if cfg!(not(feature = "writing")) {
        Err(only_reads())
    } else {
        load_chosen(input, options, shape)
    }
}
