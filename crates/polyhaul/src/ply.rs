//! PLY: its header, and its elements as tables. The crate `polyhaul_ply` reads and writes the format.

use crate::declared::{Declared, DeclaredElement, DeclaredProperty};
use crate::loaded::Tables;
use crate::outputs::{name_of, write_with};
use crate::read_job::ReadJob;
use crate::table_job::{TablesJob, start_remarks};
use crate::table_parts::{PartFormatter, PartsJob, StartParts, TableParts, TablePartsStart};
use polyhaul_model::error::{Result, try_push};
use polyhaul_model::{Scene, Table};
use polyhaul_ply as ply;

/// Reads a PLY or compressed PLY file as a scene.
pub(crate) fn read(job: &mut ReadJob<'_>) -> Result<Scene> {
    let read = ply::scene(job.feed(), &job.parse_options())?;
    job.note(read.threads, read.warnings);
    job.details.header = Some(declared(read.header)?);
    Ok(read.content)
}

/// Reads the elements as tables.
pub(crate) fn read_elements(job: &mut ReadJob<'_>) -> Result<Tables> {
    let read = ply::tables(job.feed(), &job.parse_options())?;
    job.note(read.threads, read.warnings);
    let mut header = read.header;
    let comments = std::mem::take(&mut header.comments);
    let infos = std::mem::take(&mut header.infos);
    job.details.header = Some(declared(header)?);
    Ok(Tables { tables: read.content, comments, infos })
}

/// Writes tables as elements.
pub(crate) fn write_elements(job: TablesJob<'_>) -> Result<()> {
    let TablesJob { tables, folder, comments, infos, format, output, links, options, report } = job;
    ply::note_losses(tables, [comments, infos], &name_of(&output), &mut report.warnings);
    let (comments, copies) = start_remarks(comments, folder, links, report)?;
    write_with(copies, output, Some(format.name()), options, report, |writing, _, _| {
        ply::write_tables(tables, [&comments, infos], options.ply_style(), &options.run, writing)
    })
}

/// Prepares a file of elements that is written in parts.
pub(crate) fn start_parts<'o>(job: PartsJob<'_, 'o>) -> Result<TablePartsStart<'o>> {
    let PartsJob { tables, comments, infos, folder, name, links, options, report, .. } = job;
    ply::note_losses(tables, [comments, infos], name, &mut report.warnings);
    let (comments, copies) = start_remarks(comments, folder, links, report)?;
    let comments = comments.into_owned();
    let infos = infos.to_vec();
    let start: StartParts<'o> = Box::new(move |tables, writing| {
        let parts = ply::PlyTableParts::start(tables, [&comments, &infos], options.ply_style(), writing)?;
        Ok(Box::new(ElementParts { parts, is_text: options.scene.ascii }))
    });
    Ok(TablePartsStart { start, copies })
}

/// Elements whose rows are being written.
struct ElementParts<'o> {
    parts: ply::PlyTableParts<'o>,
    is_text: bool,
}

impl TableParts for ElementParts<'_> {
    fn formatter(&self) -> Box<dyn PartFormatter + '_> {
        Box::new(ElementFormatter { parts: &self.parts, text: ply::PlyPartText::default() })
    }

    fn is_packed(&self, number: usize, table: &Table) -> bool {
        self.parts.is_packed(number, table)
    }

    fn is_text(&self) -> bool {
        self.is_text
    }
}

struct ElementFormatter<'p> {
    parts: &'p ply::PlyTableParts<'p>,
    text: ply::PlyPartText,
}

impl PartFormatter for ElementFormatter<'_> {
    fn format(&mut self, number: usize, part: &Table) -> Result<bool> {
        self.parts.format(number, part, &mut self.text)
    }

    fn bytes(&self) -> &[u8] {
        self.parts.bytes(&self.text)
    }
}

/// The declarations of a header, without comments and remarks.
fn declared(header: ply::PlyHeader) -> Result<Declared> {
    let format = header.encoding.title();
    let mut elements = Vec::new();
    for element in header.elements {
        let mut properties = Vec::new();
        for property in element.properties {
            let ply::Property { name, item, count, .. } = property;
            try_push(&mut properties, DeclaredProperty { name, scalar: item, count }, "names")?;
        }
        try_push(&mut elements, DeclaredElement { name: element.name, count: element.count, properties }, "names")?;
    }
    Ok(Declared { format, elements, ..Declared::default() })
}
