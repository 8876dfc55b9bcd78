//! Packing of splats while they are read: the job that a format's packer receives, and the packed splats that it
//! returns.
//!
//! The packers are in the registry; `convert::packed` decides when to use them.

use crate::options::WriteOptions;
use polyhaul_geometry::splats::SplatsJob;
use polyhaul_model::error::Result;
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::attempt::Attempt;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::table_parts::TableSource;
use polyhaul_pipeline::write::Writing;
use polyhaul_scan::table::TableChoice;

/// The tables to pack.
pub(crate) struct PackJob<'a> {
    pub(crate) source: &'a dyn TableSource,
    /// The selected rows, or `None` for all.
    pub(crate) choice: Option<&'a TableChoice<'a>>,
    /// Options for reading the source.
    pub(crate) run: &'a RunOptions,
    pub(crate) options: &'a WriteOptions,
}

/// Packs the splats of a source, and returns the number of threads used; declines other content.
pub(crate) type PackSplats = fn(&PackJob<'_>) -> Result<Attempt<(Box<dyn PackedOutput>, usize)>>;

/// Splats packed by a format.
pub(crate) trait PackedOutput {
    fn count(&self) -> usize;

    fn has_normals(&self) -> bool;

    fn write(&self, job: &SplatsJob<'_>, writing: &mut Writing<'_, '_>, warnings: &mut Warnings) -> Result<()>;
}
