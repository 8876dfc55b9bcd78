//! Reads complete inputs: opens the source, detects the format, reads the content, and builds the report.
//!
//! The readers of each format are in the registry.

use crate::detect::Detected;
use crate::format::{Format, FormatKind};
use crate::loaded::Loaded;
use crate::loaded::Tables;
use crate::open::Opened;
use crate::options::ReadOptions;
use crate::plain::Plain;
use crate::read_job::{ReadDetails, ReadJob};
use crate::report::{Clock, Report};
use crate::table_job::no_tables;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Image, Scene, Texture};
use polyhaul_pipeline::attempt::Attempt;
use polyhaul_pipeline::consumer::MeshConsumer;
use polyhaul_pipeline::precision::{PrecisionPass, asks_for_doubles};
use polyhaul_pipeline::prefetch::prefetched;
use polyhaul_pipeline::read::is_damage;
use polyhaul_pipeline::run::{Phase, span};

/// The kind of content to read a file as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentShape {
    Scene,
    /// Tables as stored, if the format has any.
    Tables,
    Image,
    /// A texture with all its levels, undecoded, if the format stores textures.
    Texture,
}

impl ContentShape {
    /// The usual kind of content of a format.
    pub(crate) fn from_format(format: Format) -> ContentShape {
        match format.kind() {
            FormatKind::Scene => ContentShape::Scene,
            FormatKind::Table => ContentShape::Tables,
            FormatKind::Image => ContentShape::Image,
            FormatKind::Texture => ContentShape::Texture,
        }
    }
}

/// The content that was read.
#[derive(Debug)]
pub(crate) enum Content {
    Scene(Scene),
    Tables(Tables),
    Image(Image),
    Texture(Texture),
}

/// The content of a file, its format, and secondary results.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) content: Content,
    pub(crate) format: Format,
    pub(crate) details: ReadDetails,
}

/// Streams a mesh to a consumer; declines if it must be read as a scene.
pub(crate) fn load_pieces(
    input: &Opened,
    options: &ReadOptions,
    consumer: &dyn MeshConsumer,
) -> Result<Attempt<Report>> {
    let (attempt, report) = timed(input, None, options, &|job| {
        check_layers(job.format, options)?;
        // Rows are selected from arrays, so they cannot be streamed.
        let pieces = job.format.readers().pieces.filter(|_| options.rows.is_everything());
        pieces.map_or(Ok(Attempt::Declined), |pieces| pieces(job, consumer))
    })?;
    Ok(attempt.map(|()| report))
}

/// Chooses the kind of content to read from a format.
pub(crate) type ShapeOf<'a> = &'a dyn Fn(Format) -> ContentShape;

/// Reads the content of an opened input, once or twice. Dynamic, so that the code around it exists once for each type.
type ReadPass<'a, T> = &'a dyn Fn(&mut ReadJob<'_>) -> Result<T>;

/// Reads a complete input; detects its format unless `detected` is set.
pub(crate) fn load_whole(
    input: &Opened,
    detected: Option<Detected>,
    options: &ReadOptions,
    shape: ShapeOf<'_>,
) -> Result<(Read, Report)> {
    timed(input, detected, options, &|job| {
        check_layers(job.format, options)?;
        let content = read_content(job, shape(job.format))?;
        Ok(Read { content, format: job.format, details: std::mem::take(&mut job.details) })
    })
}

/// Reads the content as the requested kind.
fn read_content(job: &mut ReadJob<'_>, shape: ContentShape) -> Result<Content> {
    let format = job.format;
    let readers = format.readers();
    match shape {
        ContentShape::Image => {
            let _span = span(Phase::Decode);
            readers.image.ok_or_else(|| format.no_image())?(job).map(Content::Image)
        }
        ContentShape::Texture => {
            let _span = span(Phase::Decode);
            readers.texture.ok_or_else(|| format.no_texture())?(job).map(Content::Texture)
        }
        _ if format.is_image() => Err(format.only_image()),
        ContentShape::Scene => {
            check_elements(format, job.options)?;
            let scene = readers.scene.ok_or_else(|| format.only_image())?(job)?;
            let scene = Scene { folder: job.near.source_folder(job.options), ..scene };
            Ok(Content::Scene(scene))
        }
        ContentShape::Tables => {
            let tables = readers.tables.ok_or_else(|| no_tables("can be read as tables"))?(job)?;
            job.is_rowless = tables.tables.iter().all(|table| table.row_count == 0);
            Ok(Content::Tables(tables))
        }
    }
}

/// Reads a mesh that a scene refers to.
fn read_mesh(input: &Opened, options: &ReadOptions) -> Result<Loaded<Scene>> {
    scene_of(load_whole(input, None, options, &|_| ContentShape::Scene)?)
}

/// Extracts the scene from a result.
pub(super) fn scene_of(loaded: (Read, Report)) -> Result<Loaded<Scene>> {
    match loaded {
        (Read { content: Content::Scene(scene), .. }, report) => Ok(Loaded::new(scene, report)),
        _ => Err(Error::new(ErrorKind::Internal, "a scene was read as tables")),
    }
}

/// Fails if a layer or part is requested from a format without them.
fn check_layers(format: Format, options: &ReadOptions) -> Result<()> {
    if format.readers().has_layers || options.image.layer.is_none() && options.image.part.is_none() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Usage, format!("{} has no layers or parts to choose from", format.name())))
}

/// Fails if an element or columns are requested from a file read as a scene.
pub(crate) fn check_elements(format: Format, options: &ReadOptions) -> Result<()> {
    if format.is_table() || options.table.element.is_none() && options.table.columns.is_none() {
        return Ok(());
    }
    let message = format!("an element or columns were requested, but {} is read as a scene", format.name());
    Err(Error::new(ErrorKind::Usage, message).with_hint(if format.has_elements() {
        "only tables have elements and columns: convert to a table format, or use them with `polyhaul info`"
    } else {
        "only PLY and tables of numbers have elements and columns"
    }))
}

/// Opens the decompressed bytes, calls `read`, and builds the report. Repeats this if numbers turn out to need double
/// precision, or to return the original error of a host's reader. Detects the format unless `detected` is set.
pub(crate) fn timed<T>(
    input: &Opened,
    detected: Option<Detected>,
    options: &ReadOptions,
    read: ReadPass<'_, T>,
) -> Result<(T, Report)> {
    // Work outside a more specific span counts as parsing.
    let clock = Clock::start_in("read", Phase::Parse);
    let first = ReadOptions { precision_pass: input.first_pass(options)?, ..options.clone() };
    let result = match read_once(input, detected, &first, read) {
        // The second pass returns the original error of a host's reader.
        Err(error) if asks_for_doubles(&error) || is_of_reader(&error) && input.holds_error() => {
            input.rewind()?;
            let second = PrecisionPass { is_second: true, ..first.precision_pass };
            read_once(input, detected, &ReadOptions { precision_pass: second, ..first }, read)
        }
        result => result,
    };
    input.stop_recording();
    let (content, mut report) = result?;
    clock.stop(&mut report);
    Ok((content, report))
}

/// Whether the source, rather than its content, caused the error.
fn is_of_reader(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io | ErrorKind::Host)
}

/// One pass over an input.
fn read_once<T>(
    input: &Opened,
    detected: Option<Detected>,
    options: &ReadOptions,
    read: ReadPass<'_, T>,
) -> Result<(T, Report)> {
    let read = |plain: Plain, detected: Option<Detected>| {
        prefetched(plain.source(), &options.run, || read_plain(&plain, detected, input, options, read))
    };
    match read_in_place(input, options, |plain| read(plain, detected))? {
        Attempt::Done(result) => Ok(result),
        Attempt::Declined => read(input.streamed().plain(options)?, None),
    }
}

/// Reads an input in place, and compressed members in parallel. Declines damaged data if it can also be read as a
/// stream: members that are decompressed in parallel are either complete or missing, and their sizes are only declared.
/// Reading the stream finds the content before the damage, and any error in that content, as when reading from a pipe.
fn read_in_place<T>(
    input: &Opened,
    options: &ReadOptions,
    read: impl FnOnce(Plain) -> Result<(T, Report)>,
) -> Result<Attempt<(T, Report)>> {
    let plain = input.plain(options);
    let is_by_members = plain.as_ref().map_or(true, |plain| plain.source().is_positioned());
    let is_compressed = plain.as_ref().is_ok_and(|plain| plain.source().codec().is_some());
    let is_doubtful = |error: &Error| is_damage(error) || is_compressed && is_of_content(error, input);
    match plain.and_then(read) {
        Err(error) if is_by_members && input.is_positioned() && is_doubtful(&error) => Ok(Attempt::Declined),
        result => result.map(Attempt::Done),
    }
}

/// Whether missing or misplaced bytes of this input may have caused an error.
fn is_of_content(error: &Error, input: &Opened) -> bool {
    let file = &*error.diagnostic().place.file;
    matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Limit) && (file.is_empty() || file == input.name())
}

fn read_plain<T>(
    plain: &Plain,
    detected: Option<Detected>,
    input: &Opened,
    options: &ReadOptions,
    read: ReadPass<'_, T>,
) -> Result<(T, Report)> {
    let mut report = Report { codec: plain.source().codec(), ..Report::default() };
    plain.note_name(options, &mut report.warnings)?;
    let detected = match detected {
        Some(detected) => detected,
        None => Detected::detect(plain, input.near().path(), input.name(), options)?,
    };
    let near = input.near();
    let format = detected.format.built()?;
    if !format.readers().decides_precision {
        input.stop_recording();
    }
    let details = ReadDetails::default();
    let mut job = ReadJob { plain, near, format, options, read_mesh, report: &mut report, details, is_rowless: false };
    match read(&mut job) {
        Ok(content) => {
            let is_rowless = job.is_rowless;
            detected.note(plain, is_rowless, &mut report.warnings)?;
            Ok((content, report))
        }
        Err(error) => match error.kind() {
            // Data that is written while it is read may appear malformed.
            ErrorKind::Malformed => Err(plain.changed().unwrap_or_else(|| detected.hint(plain, error))),
            ErrorKind::Limit | ErrorKind::Unsupported => Err(detected.hint(plain, error)),
            _ => Err(error),
        },
    }
}
