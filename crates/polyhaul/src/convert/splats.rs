//! Splats of a large PLY file to a format that packs them, without ever having them all as floats.
//!
//! As for [`super::stream`], the bytes and the warnings are those of the path through the model, which is taken
//! whenever this one meets something unusual: anything but splats, an option that moves them, a warning, an error. How
//! splats are packed is in `polyhaul_splat::packer`.

use super::fit::VERTEX;
use super::stream::{Before, chosen, part_bytes};
use super::{Content, Converted};
use crate::format::Format;
use crate::input::Output;
use crate::inspect::Contents;
use crate::open::Opened;
use crate::options::{ReadOptions, WriteOptions};
use crate::outputs::{self, write_with};
use crate::report::{Clock, Report};
use crate::scan::read_parts;
use polyhaul_geometry::splats::SplatsJob;
use polyhaul_model::Scene;
use polyhaul_model::error::{Result, try_copy};
use polyhaul_model::options::FormatOptions;
use polyhaul_pipeline::run::{Phase, span};
use polyhaul_pipeline::table_parts::{TableSource, each_part};
use polyhaul_scan::table::TableChoice;
use polyhaul_splat::packer::{PackedRecords, SplatPacker, SplatPacking};
use std::path::Path;

/// Converts splats part by part; `None` if they must be read as a scene.
pub(super) fn pack(
    input: &Opened,
    output: &Output,
    (to, read, write): (Format, &ReadOptions, &WriteOptions),
    before: &mut Before<'_>,
) -> Result<Option<Converted>> {
    let (Some(path), Some(packing), Some(part_bytes)) =
        (outputs::file_of(output), to.writers().packing, part_bytes(input, read))
    else {
        return Ok(None);
    };
    let is_moved = write.scene.moves_positions() || read.rows.transform.is_some();
    let is_table = read.table.element.is_some() || read.table.columns.is_some();
    // Losses are only known once all splats are.
    if is_moved || is_table || write.strict {
        return Ok(None);
    }
    let alone = read.run.clone().with_threads(Some(1));
    let Some(choice) = chosen(input, read, &alone)? else { return Ok(None) };
    let (mut found, choice) = (None, choice.as_ref());
    let (is_done, reading) = read_parts(input, read, part_bytes, &mut |source, _| {
        let Some((splats, threads)) = packed(source, choice, packing, (read, write))? else { return Ok(None) };
        let [comments, infos] = source.remarks();
        let (comments, infos) = (try_copy(comments, "comments")?, try_copy(infos, "remarks")?);
        found = Some((splats, Scene { comments, infos, ..Scene::default() }));
        Ok(Some(threads))
    })?;
    let Some((splats, remarks)) = found.filter(|_| is_done && reading.warnings.is_empty()) else { return Ok(None) };
    before(Content::Splats(&contents(&splats)), &reading)?;
    let writing = write_packed(&splats, &remarks, path, (to, write))?;
    Ok(Some(Converted { reading, writing }))
}

/// The splats of a source, and how many threads worked; `None` if it has anything else.
fn packed(
    source: &dyn TableSource,
    choice: Option<&TableChoice<'_>>,
    packing: SplatPacking,
    (read, write): (&ReadOptions, &WriteOptions),
) -> Result<Option<(PackedRecords, usize)>> {
    let [head] = source.tables() else { return Ok(None) };
    let count = choice.map_or(head.row_count, |choice| choice.count(0) as usize);
    let Some(packer) = SplatPacker::new(head, packing, &write.splats).filter(|_| head.name == VERTEX && count > 0)
    else {
        return Ok(None);
    };
    let mut splats = PackedRecords::new(packer.clone(), count)?;
    let work = |first, mut part| {
        choice.map_or(Ok(()), |choice| choice.keep(0, first, &mut part))?;
        packer.pack(&part)
    };
    let threads = each_part(source, 0, &read.run, &|name| packer.wants(name), work, |part| splats.push(part))?;
    Ok((splats.count() == count).then_some((splats, threads)))
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
