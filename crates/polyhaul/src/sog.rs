//! Reads SOG and the images that it refers to. `polyhaul-splat` decodes the bytes; `resolve` finds files and decides
//! whether they may be opened.

use crate::read_job::ReadJob;
use crate::resolve::{Resolver, unread};
use polyhaul_insight::Moved;
use polyhaul_model::Scene;
use polyhaul_model::error::{Result, try_push};
use polyhaul_model::warnings::Warnings;
use polyhaul_splat::sog::{self, SogFile};

/// Reads the splats, and the images that store them.
pub(crate) fn read(job: &mut ReadJob<'_>) -> Result<Scene> {
    let mut resolver = Resolver::beside(job.near, job.options);
    let mut moved = Vec::<Moved>::new();
    let mut warnings = Warnings::default();
    let mut open = |name: &str| {
        let image = resolver.find(name).and_then(|image| resolver.read(image.origin, "webp", &mut warnings));
        let image = image.map_err(|error| unread("image", name, error))?;
        try_push(&mut moved, image.moved, "files")?;
        Ok(SogFile { name: image.name.into(), bytes: image.bytes })
    };
    let file = sog::read(&job.bytes(), &job.parse_options(), &mut open)?;
    job.note(file.threads, file.warnings);
    job.report.warnings.extend(warnings);
    moved.into_iter().for_each(|moved| job.report.note_read(moved));
    Ok(file.scene)
}
