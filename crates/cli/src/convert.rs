//! `polyhaul convert IN OUT`.

use crate::args::ConvertArgs;
use crate::contents;
use crate::session::{JsonTo, Session};
use crate::{DONE, console, format, human, json};
use polyhaul::inspect::Contents;
use polyhaul::{Report, Result, WriteOptions};
use serde::Serialize;

#[derive(Serialize)]
struct Details {
    input: String,
    output: String,
    codec: Option<String>,
    #[serde(flatten, serialize_with = "contents::counts")]
    contents: Contents,
}

/// Reads a scene and writes it.
pub fn run(session: &Session, args: &ConvertArgs) -> u8 {
    let to = if format::is_stream(&args.output) { JsonTo::Stderr } else { JsonTo::Stdout };
    match convert(session, args) {
        Ok((details, report)) => {
            if session.talks() {
                console::note(&summary(&details, &report));
            }
            session.show_work(&report);
            session.finish("convert", Some(details), &report, (DONE, None), to)
        }
        Err(error) => session.fail("convert", &error, to),
    }
}

fn convert(session: &Session, args: &ConvertArgs) -> Result<(Details, Report)> {
    // All options are checked before anything is read.
    let write = write_options(session, args)?;
    let loaded = session.load(&args.input, &session.read_options(&args.read)?)?;
    session.show_warnings(&loaded.report);
    let contents = Contents::of(&loaded.scene);
    let mut report = loaded.report;
    let codec = json::codec(&report);
    let written = session.save(&loaded.scene, &args.output, &write)?;
    session.show_warnings(&written);
    report.extend(written);
    let (input, output) = (args.input.display().to_string(), args.output.display().to_string());
    Ok((Details { input, output, codec, contents }, report))
}

fn write_options(session: &Session, args: &ConvertArgs) -> Result<WriteOptions> {
    let (compression, compression_level) = args.compression()?;
    Ok(WriteOptions {
        format: Some(format::of_output(&args.output, args.to)?),
        run: session.run_options(),
        compression,
        compression_level,
        durable: args.durable,
        obj: args.obj.options(&args.scene)?,
        ply: args.bytes.ply(&args.scene)?,
        stl: args.bytes.stl(&args.scene)?,
        ..WriteOptions::default()
    })
}

/// The line for people: what came from where, what went to where, and how long it took.
fn summary(details: &Details, report: &Report) -> String {
    let seconds = report.elapsed().as_secs_f64();
    format!(
        "{} ({}) -> {} ({}): {}, {} in {}\n",
        human::safe(&details.input),
        human::input(report),
        human::safe(&details.output),
        human::bytes(report.bytes_out),
        human::plural(details.contents.objects, "object"),
        human::plural(details.contents.faces, "face"),
        human::seconds(seconds),
    )
}
