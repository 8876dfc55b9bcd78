//! Converts one file to another: images as images, and other content as tables if possible, or else as a scene.
//!
//! PLY files and numeric tables are both tables, with any columns of any type. Converting one to the other as tables
//! (`table_fit`) rounds, renames or drops only content that the target cannot store. A conversion uses a scene if the
//! source or the target has no tables, or if options require a mesh: see [`shape`]. Reading and writing are in `load`,
//! `save` and `tables`.

mod memory;
mod packed;
mod stream;

use crate::format::Format;
use crate::input::{Input, Output};
use crate::inspect::Contents;
use crate::load::{Content as Loaded, ContentShape, Read, load_as};
use crate::loaded::Tables;
use crate::open::Opened;
use crate::options::{ReadOptions, WriteOptions};
use crate::outputs::{self, format_of};
use crate::report::Report;
use crate::save;
use crate::table_fit::fit;
use crate::{images, tables};
use memory::Memory;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Image, Scene, Table};
use polyhaul_pipeline::attempt::Attempt;
use std::borrow::Cow;

/// The content read by a conversion.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Content<'a> {
    /// A scene.
    Scene(&'a Scene),
    /// Tables, as they will be written, in output order.
    Tables(&'a [Table]),
    /// Tables that were written while they were read: their row counts and columns, without values. Used for large PLY
    /// files converted to tables.
    Rows(&'a [Table]),
    /// Gaussian splats that were packed while they were read: the counts of their scene. Used for large PLY files
    /// converted to SPZ or `.splat`.
    Splats(&'a Contents),
    /// An image.
    Image(&'a Image),
}

/// The reports of a conversion.
#[derive(Clone, Debug, Default)]
pub struct Converted {
    /// The report of the read.
    pub reading: Report,
    /// The report of the write.
    pub writing: Report,
}

impl Converted {
    /// Combines both reports.
    pub fn report(self) -> Report {
        let mut report = self.reading;
        report.extend(self.writing);
        report
    }
}

/// Reads an input and writes it. Calls `before` with the content before the output is replaced; an error from `before`
/// stops the job.
pub(crate) fn convert(
    input: Input,
    output: Output,
    read: &ReadOptions,
    write: &WriteOptions,
    before: impl FnOnce(Content<'_>, &Report) -> Result<()>,
) -> Result<Converted> {
    let memory = Memory::start(&read.run, &output)?;
    let mut read = read.clone();
    read.run.memory_limit = memory.buffer_bytes();
    let mut write = write.clone();
    write.run.memory_limit = write.run.memory_limit.min(memory.buffer_bytes());
    // Several paths can call `before`, each only once it can no longer decline.
    let mut before = Some(before);
    let mut tell =
        |content: Content<'_>, report: &Report| before.take().map_or(Ok(()), |before| before(content, report));
    let mut converted = convert_by(input, output, &read, &write, &mut tell).map_err(|error| memory.explain(error))?;
    memory.note(&mut converted.reading);
    Ok(converted)
}

fn convert_by(
    input: Input,
    output: Output,
    read: &ReadOptions,
    write: &WriteOptions,
    before: &mut stream::Before<'_>,
) -> Result<Converted> {
    let to = format_of(&output, write)?;
    let read = &read.clone().with_target(to.name());
    // Check this before reading, so that an unsupported compression or level fails at once.
    outputs::check_compression(&output, write)?;
    let input = Opened::to_read(input, read)?;
    if let Attempt::Done(converted) = stream::stream(&input, &output, to, read, write, before)? {
        return Ok(converted);
    }
    if let Attempt::Done(converted) = packed::pack(&input, &output, to, read, write, before)? {
        return Ok(converted);
    }
    let (Read { content, format: from, .. }, mut reading) = load_as(&input, read, &|from| shape(from, to, write))?;
    let folder = input.near().source_folder(read);
    // The output may replace the input, and some Windows file systems cannot replace an open file.
    drop(input);
    let writing = match content {
        Loaded::Scene(scene) => {
            before(Content::Scene(&scene), &reading)?;
            // The limits on the input apply to the whole job.
            let write = WriteOptions { limits: read.limits, on_error: read.on_error, ..write.clone() };
            save::save(Cow::Owned(scene), output, &write)?
        }
        Loaded::Image(image) => {
            before(Content::Image(&image), &reading)?;
            images::save(&image, output, write)?
        }
        Loaded::Texture(_) => return Err(Error::new(ErrorKind::Internal, "an image was read as a texture")),
        Loaded::Tables(tables) => {
            let name = outputs::name_of(&output).into_owned();
            let mut losses = Warnings::for_target(to.name());
            let Tables { tables, comments, infos } = fit(tables, from, to, &read.table, &name, &mut losses)?;
            losses.refuse_losses(write.strictness())?;
            reading.warnings.extend(losses);
            before(Content::Tables(&tables), &reading)?;
            tables::save_checked(&tables, &folder, [&comments, &infos], to, output, write)?
        }
    };
    Ok(Converted { reading, writing })
}

/// The kind of content to read for a conversion between two formats.
fn shape(from: Format, to: Format, write: &WriteOptions) -> ContentShape {
    if from.is_image() || to.is_image() {
        return ContentShape::Image;
    }
    let over_tables = to.writers().tables.is_some_and(|writer| from.has_tables() && !(writer.wants_mesh)(write));
    if over_tables { ContentShape::Tables } else { ContentShape::Scene }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_model::Axis;
    use polyhaul_model::options::{Dialect, Digits, SceneWriteOptions};

    #[test]
    fn only_what_has_tables_goes_over_tables() {
        let write = WriteOptions::default();
        for from in Format::ALL {
            for to in Format::ALL {
                if from.is_image() || to.is_image() {
                    assert_eq!(shape(from, to, &write), ContentShape::Image);
                    continue;
                }
                let meshes = [Format::Obj, Format::Stl, Format::Pbrt, Format::Off, Format::Glb];
                let splats = [Format::Spz, Format::Splat, Format::CompressedPly, Format::Sog];
                let [is_mesh, to_mesh] = [from, to].map(|format| meshes.contains(&format) || splats.contains(&format));
                assert_eq!(shape(from, to, &write) == ContentShape::Scene, is_mesh || to_mesh, "{from:?} {to:?}");
            }
        }
    }

    #[test]
    fn options_of_meshes_take_a_scene() {
        let changes: [fn(&mut SceneWriteOptions); 7] = [
            |scene| scene.up_axis = Some(Axis::Z),
            |scene| scene.global_scale = 2.0,
            |scene| scene.triangulate = true,
            |scene| scene.normals = false,
            |scene| scene.uv = false,
            |scene| scene.float_colors = true,
            |scene| scene.dialect = Dialect::Blender,
        ];
        for change in changes {
            let mut write = WriteOptions::default();
            change(&mut write.scene);
            assert_eq!(shape(Format::Ply, Format::Ply, &write), ContentShape::Scene);
            let moves = write.scene.moves_positions();
            assert_eq!(shape(Format::Ply, Format::Csv, &write) == ContentShape::Scene, moves);
        }
        let mut write = WriteOptions::default();
        write.scene = write.scene.with_digits(Some(Digits::Fixed(2))).with_ascii(true);
        assert_eq!(shape(Format::Ply, Format::Ply, &write), ContentShape::Tables);
    }
}
