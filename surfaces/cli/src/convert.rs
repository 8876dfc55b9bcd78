//! `polyhaul convert IN... OUT`: converts one file. [`many`] converts several into a folder.

pub mod many;

use crate::args::style::StyleArgs;
use crate::args::{Command, ConvertArgs};
use crate::contents::{self, Pixels};
use crate::exit::DONE;
use crate::session::{JsonTo, Session};
use crate::{console, format, human, json};
use polyhaul::inspect::{Contents, ImageSummary};
use polyhaul::model::Table;
use polyhaul::model::render::Render;
use polyhaul::place;
use polyhaul::{Content, Format, Report, Result, WriteOptions};
use serde::Serialize;
use std::path::Path;

/// Maximum number of tables to name in the summary line.
const TABLES: usize = 4;

#[derive(Serialize)]
struct ConvertDetails {
    input: String,
    output: String,
    /// The sizes of the two files, without the files they reference.
    input_bytes: Option<u64>,
    output_bytes: Option<u64>,
    codec: Option<String>,
    #[serde(flatten)]
    content: What,
}

/// The content that was read.
#[derive(Serialize)]
#[serde(untagged)]
pub enum What {
    /// A scene or splats.
    Scene {
        /// The counts.
        #[serde(flatten, serialize_with = "contents::counts")]
        contents: Contents,
        /// The shapes and instances of a renderer scene.
        #[serde(skip_serializing_if = "Option::is_none")]
        render: Option<Shown>,
    },
    /// Tables.
    Tables {
        /// An entry per table.
        tables: Vec<ConvertRows>,
    },
    /// An image.
    Image {
        /// The image's properties.
        image: Pixels,
    },
}

/// The counts of a renderer scene.
#[derive(Serialize)]
pub struct Shown {
    shapes: u64,
    instances: u64,
}

impl Shown {
    fn from_render(render: &Render) -> Shown {
        Shown { shapes: render.shape_count() as u64, instances: render.instances.len() as u64 }
    }
}

/// The size of a table that was converted.
#[derive(Serialize)]
pub struct ConvertRows {
    name: String,
    rows: usize,
    columns: usize,
}

impl What {
    /// Summarizes loaded content.
    pub fn from_content(content: Content<'_>) -> What {
        match content {
            Content::Scene(scene) => {
                let render = scene.render.as_ref().map(|render| Shown::from_render(render));
                What::Scene { contents: Contents::from_scene(scene), render }
            }
            Content::Tables(tables) | Content::Rows(tables) => {
                What::Tables { tables: tables.iter().map(ConvertRows::from_table).collect() }
            }
            Content::Splats(contents) => What::Scene { contents: *contents, render: None },
            Content::Image(image) => What::Image { image: Pixels::from_image(&ImageSummary::from_image(image)) },
            _ => What::Tables { tables: Vec::new() },
        }
    }

    /// Describes the content: `2 objects, 7 faces`, or `vertex with 8 rows of 6 columns`.
    pub fn words(&self) -> String {
        match self {
            What::Scene { render: Some(Shown { shapes, instances }), .. } => {
                format!("{}, {}", human::plural(*shapes, "shape"), human::plural(*instances, "instance"))
            }
            What::Scene { contents, .. } => {
                let objects = contents.objects;
                let faces = contents.faces;
                format!("{}, {}", human::plural(objects, "object"), human::plural(faces, "face"))
            }
            What::Image { image } => image.words(),
            What::Tables { tables } => {
                let words: Vec<_> = tables.iter().take(TABLES).map(ConvertRows::words).collect();
                let more = tables.len().saturating_sub(TABLES) as u64;
                let more = if more > 0 { format!(" and {}", human::plural(more, "more table")) } else { String::new() };
                words.join(", ") + &more
            }
        }
    }
}

impl ConvertRows {
    fn from_table(table: &Table) -> ConvertRows {
        ConvertRows { name: table.name.clone(), rows: table.row_count, columns: table.columns.len() }
    }

    fn words(&self) -> String {
        let rows = human::plural(self.rows as u64, "row");
        let columns = human::plural(self.columns as u64, "column");
        match self.name.as_str() {
            "" => format!("{rows} of {columns}"),
            name => format!("{} with {rows} of {columns}", human::safe(name)),
        }
    }
}

/// The stream for the JSON object of a subcommand: standard error if a conversion, a preview or the watched program
/// writes to standard output, otherwise standard output.
pub fn json_to(command: &Command) -> JsonTo {
    match command {
        Command::Convert(args) if format::is_stream(args.output()) => JsonTo::Stderr,
        Command::Preview(args) if format::is_stream(&args.output) => JsonTo::Stderr,
        Command::Watch(_) | Command::Run(_) => JsonTo::Stderr,
        _ => JsonTo::Stdout,
    }
}

/// Converts one file, or several into a folder.
pub fn run(session: &Session, args: &ConvertArgs) -> u8 {
    let to = if format::is_stream(args.output()) { JsonTo::Stderr } else { JsonTo::Stdout };
    if let Err(error) = args.check() {
        return session.fail("convert", &error, JsonTo::Stdout);
    }
    if many::is_many(args) {
        return many::run(session, args, to);
    }
    match convert(session, args) {
        Ok((details, report)) => {
            if session.talks() {
                console::note(&summary(&details, &report));
            }
            session.show_work(&report);
            session.show_verdict(&report);
            session.finish("convert", Some(details), &report, (DONE, None), to)
        }
        Err(error) => session.fail("convert", &error, to),
    }
}

fn convert(session: &Session, args: &ConvertArgs) -> Result<(ConvertDetails, Report)> {
    // Check all options before reading anything.
    let input = args.inputs().first().map_or(Path::new(""), |input| input);
    let to = format::of_output(args.output(), args.style.to)?;
    let read = session.convert_options(&args.style)?;
    let write = write_options(session, &args.style, input, to)?;
    // Look up the size now: the output may replace the input.
    let input_bytes = human::file_bytes(input);
    let mut content = What::Tables { tables: Vec::new() };
    let conversion = session.convert([input, args.output()], &read, &write, |loaded, report| {
        session.show_warnings(report);
        content = What::from_content(loaded);
    })?;
    session.show_warnings(&conversion.writing);
    let report = conversion.report();
    let details = ConvertDetails {
        input: place::shown(input),
        output: place::shown(args.output()),
        input_bytes,
        output_bytes: human::output_bytes(args.output(), &report),
        codec: json::codec(&report),
        content,
    };
    Ok((details, report))
}

/// The options for converting `input` to the format `to`.
pub fn write_options(session: &Session, args: &StyleArgs, input: &Path, to: Format) -> Result<WriteOptions> {
    Ok(args
        .write_options(input, to)?
        .with_format(Some(to))
        .with_run(session.run_options())
        .with_strict(session.everywhere.strict)
        .with_allow(session.everywhere.allowed()))
}

/// Formats the summary line: input, output, content, and time.
fn summary(details: &ConvertDetails, report: &Report) -> String {
    let seconds = report.elapsed().as_secs_f64();
    let copied = match report.copied_files {
        0 => String::new(),
        count => {
            format!(", {} copied ({})", human::plural(count, "referenced file"), human::bytes(report.copied_bytes))
        }
    };
    format!(
        "{} ({}) -> {} ({}): {}{copied} in {}\n",
        human::safe(&details.input),
        human::input(details.input_bytes, report),
        human::safe(&details.output),
        human::output(Path::new(&details.output), report),
        details.content.words(),
        human::seconds(seconds),
    )
}
