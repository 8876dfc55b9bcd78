//! Converts splats of a large PLY file to a packed format, without holding all of them as floats.
//!
//! As in [`super::stream`], the output and its warnings are the same as those of a conversion through the model. This
//! path declines anything unusual: content other than splats, options that transform them, a warning before the rows,
//! an error. The format's row in the registry determines how splats are packed.

use super::stream::{Before, chosen, part_bytes};
use super::{Content, Converted};
use crate::format::Format;
use crate::input::Output;
use crate::inspect::Contents;
use crate::load::chosen::read_parts;
use crate::open::Opened;
use crate::options::{ReadOptions, Strict, WriteOptions};
use crate::outputs::{self, write_with};
use crate::pack_job::{PackJob, PackedOutput};
use crate::report::{Clock, Report};
use polyhaul_geometry::splats::SplatsJob;
use polyhaul_model::Scene;
use polyhaul_model::error::{Result, try_copy};
use polyhaul_model::options::FormatOptions;
use polyhaul_pipeline::attempt::Attempt;
use polyhaul_pipeline::run::{Phase, span};
use std::path::Path;

/// Converts splats in parts; declines if they must be read as a scene.
pub(super) fn pack(
    input: &Opened,
    output: &Output,
    to: Format,
    read: &ReadOptions,
    write: &WriteOptions,
    before: &mut Before<'_>,
) -> Result<Attempt<Converted>> {
    let Some(path) = outputs::file_of(output) else { return Ok(Attempt::Declined) };
    let Some(pack) = to.writers().pack else { return Ok(Attempt::Declined) };
    let Some(part_bytes) = part_bytes(input, read) else { return Ok(Attempt::Declined) };
    let is_moved = write.scene.moves_positions() || read.rows.transform.is_some();
    let is_table = read.table.element.is_some() || read.table.columns.is_some();
    // With `strict`, losses must be known before writing, but this path knows them only after the last splat.
    if is_moved || is_table || write.strict != Strict::Off {
        return Ok(Attempt::Declined);
    }
    let alone = read.run.clone().with_threads(Some(1));
    let Attempt::Done(choice) = chosen(input, read, &alone)? else { return Ok(Attempt::Declined) };
    let mut packed = None;
    let attempt = read_parts(input, None, read, part_bytes, &mut |source, _| {
        let job = PackJob { source, choice: choice.as_ref(), run: &read.run, options: write };
        let Attempt::Done((splats, threads)) = pack(&job)? else { return Ok(Attempt::Declined) };
        let [comments, infos] = source.remarks();
        let comments = try_copy(comments, "comments")?;
        let infos = try_copy(infos, "remarks")?;
        packed = Some((splats, Scene { comments, infos, ..Scene::default() }));
        Ok(Attempt::Done(threads))
    })?;
    let Attempt::Done(reading) = attempt else { return Ok(Attempt::Declined) };
    let Some((splats, remarks)) = packed else { return Ok(Attempt::Declined) };
    before(Content::Splats(&contents(&*splats)), &reading)?;
    let writing = write_packed(&*splats, &remarks, path, to, write)?;
    Ok(Attempt::Done(Converted { reading, writing }))
}

fn contents(splats: &dyn PackedOutput) -> Contents {
    let positions = splats.count() as u64;
    Contents { objects: 1, positions, normals: if splats.has_normals() { positions } else { 0 }, ..Contents::default() }
}

fn write_packed(
    splats: &dyn PackedOutput,
    remarks: &Scene,
    path: &Path,
    to: Format,
    write: &WriteOptions,
) -> Result<Report> {
    let mut report = Report::of_writing(to.name());
    let clock = Clock::start("write");
    // Work outside a more specific span counts as formatting.
    let _span = span(Phase::Format);
    let output = Output::Path(path.to_owned());
    write_with(Vec::new(), output, Some(to.name()), write, &mut report, |writing, output, warnings| {
        let options = FormatOptions { scene: &write.scene, own: &write.splats };
        let job = SplatsJob {
            scene: remarks,
            parts: &[],
            comments: &remarks.comments,
            materials: &[],
            output,
            options,
            run: &write.run,
            strict: write.strictness(),
        };
        splats.write(&job, writing, warnings)
    })?;
    clock.stop(&mut report);
    Ok(report)
}
