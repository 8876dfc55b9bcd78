//! Packs splats while they are read, with `polyhaul_splat::packer`.

use crate::pack_job::{PackJob, PackedOutput};
use polyhaul_geometry::splats::SplatsJob;
use polyhaul_model::error::Result;
use polyhaul_model::names::VERTEX;
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::attempt::Attempt;
use polyhaul_pipeline::table_parts::each_part;
use polyhaul_pipeline::write::Writing;
use polyhaul_splat::packer::{PackedRecords, SplatPacker, SplatPacking};

/// Packs the splats of a source; declines other content.
pub(crate) fn pack(job: &PackJob<'_>, packing: SplatPacking) -> Result<Attempt<(Box<dyn PackedOutput>, usize)>> {
    let PackJob { source, choice, run, options } = *job;
    let [head] = source.tables() else { return Ok(Attempt::Declined) };
    let count = choice.map_or(head.row_count, |choice| choice.count(0) as usize);
    let Some(packer) = SplatPacker::new(head, packing, &options.splats).filter(|_| head.name == VERTEX && count > 0)
    else {
        return Ok(Attempt::Declined);
    };
    let mut splats = PackedRecords::new(packer.clone(), count)?;
    let work = |first, mut part| {
        choice.map_or(Ok(()), |choice| choice.keep(0, first, &mut part))?;
        packer.pack(&part)
    };
    let threads = each_part(source, 0, run, &|name| packer.wants(name), work, |part| splats.push(part))?;
    Ok(if splats.count() == count { Attempt::Done((Box::new(splats), threads)) } else { Attempt::Declined })
}

impl PackedOutput for PackedRecords {
    fn count(&self) -> usize {
        self.count()
    }

    fn has_normals(&self) -> bool {
        self.has_normals()
    }

    fn write(&self, job: &SplatsJob<'_>, writing: &mut Writing<'_, '_>, warnings: &mut Warnings) -> Result<()> {
        self.write(job, writing, warnings)
    }
}
