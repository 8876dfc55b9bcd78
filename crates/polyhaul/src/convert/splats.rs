//! Splats of a large PLY file to a format that packs them, without ever having them all as floats.
//!
//! As for [`super::stream`], the bytes and the warnings are those of the path through the model, which is taken
//! whenever this one meets something unusual: anything but splats, an option that moves them, a warning before the
//! rows, an error. How splats are packed is in `polyhaul_splat::packer`.

use super::stream::{Before, chosen, part_bytes};
use super::{Content, Converted};
use crate::format::Format;
use crate::input::Output;
use crate::inspect::Contents;
use crate::load::chosen::read_parts;
use crate::open::Opened;
use crate::options::{ReadOptions, WriteOptions};
use crate::outputs::{self, write_with};
use crate::report::{Clock, Report};
use crate::table_fit::VERTEX;
use polyhaul_geometry::splats::SplatsJob;
use polyhaul_model::Scene;
use polyhaul_model::error::{Result, try_copy};
use polyhaul_model::options::FormatOptions;
use polyhaul_pipeline::attempt::Attempt;
use polyhaul_pipeline::run::{Phase, span};
use polyhaul_pipeline::table_parts::{TableSource, each_part};
use polyhaul_scan::table::TableChoice;
use polyhaul_splat::packer::{PackedRecords, SplatPacker, SplatPacking};
use std::path::Path;

/// Converts splats part by part; declines if they must be read as a scene.
pub(super) fn pack(
    input: &Opened,
    output: &Output,
    (to, read, write): (Format, &ReadOptions, &WriteOptions),
    before: &mut Before<'_>,
) -> Result<Attempt<Converted>> {
    let (Some(path), Some(packing), Some(part_bytes)) =
        (outputs::file_of(output), to.writers().packing, part_bytes(input, read))
    else {
        return Ok(Attempt::Declined);
    };
    let is_moved = write.scene.moves_positions() || read.rows.transform.is_some();
    let is_table = read.table.element.is_some() || read.table.columns.is_some();
    // Losses are only known once all splats are.
    if is_moved || is_table || write.strict {
        return Ok(Attempt::Declined);
    }
    let alone = read.run.clone().with_threads(Some(1));
    let Attempt::Done(choice) = chosen(input, read, &alone)? else { return Ok(Attempt::Declined) };
    let (mut found, choice) = (None, choice.as_ref());
    let attempt = read_parts(input, None, read, part_bytes, &mut |source, _| {
        let Attempt::Done((splats, threads)) = packed(source, choice, packing, (read, write))? else {
            return Ok(Attempt::Declined);
        };
        let [comments, infos] = source.remarks();
        let (comments, infos) = (try_copy(comments, "comments")?, try_copy(infos, "remarks")?);
        found = Some((splats, Scene { comments, infos, ..Scene::default() }));
        Ok(Attempt::Done(threads))
    })?;
    let (Attempt::Done(reading), Some((splats, remarks))) = (attempt, found) else { return Ok(Attempt::Declined) };
    before(Content::Splats(&contents(&splats)), &reading)?;
    let writing = write_packed(&splats, &remarks, path, (to, write))?;
    Ok(Attempt::Done(Converted { reading, writing }))
}

/// The splats of a source, and how many threads worked; declines if it has anything else.
fn packed(
    source: &dyn TableSource,
    choice: Option<&TableChoice<'_>>,
    packing: SplatPacking,
    (read, write): (&ReadOptions, &WriteOptions),
) -> Result<Attempt<(PackedRecords, usize)>> {
    let [head] = source.tables() else { return Ok(Attempt::Declined) };
    let count = choice.map_or(head.row_count, |choice| choice.count(0) as usize);
    let Some(packer) = SplatPacker::new(head, packing, &write.splats).filter(|_| head.name == VERTEX && count > 0)
    else {
        return Ok(Attempt::Declined);
    };
    let mut splats = PackedRecords::new(packer.clone(), count)?;
    let work = |first, mut part| {
        choice.map_or(Ok(()), |choice| choice.keep(0, first, &mut part))?;
        packer.pack(&part)
    };
    let threads = each_part(source, 0, &read.run, &|name| packer.wants(name), work, |part| splats.push(part))?;
    Ok(if splats.count() == count { Attempt::Done((splats, threads)) } else { Attempt::Declined })
}

fn contents(splats: &PackedRecords) -> Contents {
    let positions = splats.count() as u64;
    Contents { objects: 1, positions, normals: if splats.has_normals() { positions } else { 0 }, ..Contents::default() }
}

fn write_packed(
    splats: &PackedRecords,
    remarks: &Scene,
    path: &Path,
    (to, write): (Format, &WriteOptions),
) -> Result<Report> {
    let (mut report, clock) = (Report::default(), Clock::start("write"));
    // Writing without a more specific phase counts as formatting.
    let _span = span(Phase::Format);
    let output = Output::Path(path.to_owned());
    write_with(Vec::new(), output, Some(to.name()), write, &mut report, |writing, output, warnings| {
        let options = FormatOptions { scene: &write.scene, own: &write.splats };
        let (run, strict) = (&write.run, write.strict);
        let (comments, materials) = (&remarks.comments[..], 0);
        let job = SplatsJob { scene: remarks, parts: &[], comments, materials, output, options, run, strict };
        splats.write(&job, writing, warnings)
    })?;
    clock.stop(&mut report);
    Ok(report)
}
