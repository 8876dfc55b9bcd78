//! `polyhaul demo`: generates, writes, reads back and verifies a scene, and prints the rates.
//!
//! `scene` generates the mesh scene and `island` the renderer scene, `check` and `check_render` compare the results,
//! `rates` measures plain reads and writes on this machine, and `folder` creates the temporary folder.

mod check;
mod check_render;
mod folder;
mod island;
mod rates;
mod scene;

use crate::args::{CodecName, DemoArgs, DemoKind};
use crate::convert::What;
use crate::exit::{DONE, FAILED};
use crate::file::io;
use crate::json::JsonDetails;
use crate::judge::Judged;
use crate::session::{JsonTo, Session};
use crate::{console, human, judge};
use folder::Folder;
use polyhaul::model::Scene;
use polyhaul::report::Verdict;
use polyhaul::trace::Recording;
use polyhaul::{Content, Error, ErrorKind, Format, ReadOptions, Report, Result, WriteOptions};
use rates::Rate;
use serde::{Serialize, Serializer};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The extension that the compression appends to file names.
fn suffix(args: &DemoArgs) -> &'static str {
    match args.compress {
        None => "",
        Some(CodecName::Gzip) => ".gz",
        Some(CodecName::Zstd) => ".zst",
        Some(CodecName::Lz4) => ".lz4",
    }
}

/// A generated scene, and the file it is written to.
struct Subject {
    kind: DemoKind,
    made: Scene,
    file: PathBuf,
    suffix: &'static str,
    write: WriteOptions,
}

impl Subject {
    fn new(session: &Session, args: &DemoArgs, folder: &Path) -> Result<Subject> {
        let kind = args.kind;
        let suffix = suffix(args);
        let (made, format) = match kind {
            DemoKind::Obj => (scene::of_size(args.size), Format::Obj),
            DemoKind::Pbrt => (island::of_size(args.size)?, Format::Pbrt),
        };
        let file = folder.join(format!("demo.{}{suffix}", format.name()));
        let run = session.run_options();
        let pbrt = island::style();
        let write = WriteOptions::default().with_format(Some(format)).with_run(run).with_pbrt(pbrt);
        Ok(Subject { kind, made, file, suffix, write })
    }

    /// Lists all files of the scene, given the scene read back.
    fn files(&self, read: &Scene) -> Vec<PathBuf> {
        let beside = |what: &str, count: usize, extension: &str| -> Vec<PathBuf> {
            let name = |number| format!("demo-{what}-{number}.{extension}{}", self.suffix);
            (1..=count).map(|number| self.file.with_file_name(name(number))).filter(|path| path.exists()).collect()
        };
        let mut files = vec![self.file.clone()];
        if self.kind == DemoKind::Pbrt {
            files.extend(beside("part", island::PARTS, "pbrt"));
            files.extend(beside("mesh", read.meshes.len(), "ply"));
        }
        files
    }
}

#[derive(Serialize)]
struct DemoDetails {
    same: bool,
    kind: &'static str,
    /// The folder in which the files were kept.
    folder: Option<String>,
    bytes: u64,
    rates: Vec<Rate>,
    verdicts: Verdicts,
    #[serde(flatten)]
    contents: What,
}

/// The bottleneck in each direction.
#[derive(Serialize)]
struct Verdicts {
    #[serde(serialize_with = "judged")]
    write: Verdict,
    #[serde(serialize_with = "judged")]
    read: Verdict,
}

fn judged<S: Serializer>(verdict: &Verdict, to: S) -> std::result::Result<S::Ok, S::Error> {
    Judged::from(verdict.clone()).serialize(to)
}

/// Prints the verdicts and a hint.
fn show_verdicts(session: &Session, verdicts: &Verdicts) {
    if !session.talks() {
        return;
    }
    let verbose = session.everywhere.verbose;
    for (name, verdict) in [("write: ", &verdicts.write), ("read: ", &verdicts.read)] {
        console::note(&judge::words(name, verdict, verbose));
    }
    if session.everywhere.report.is_none() {
        console::note("use `polyhaul demo --report demo.html` to see what each thread did\n");
    }
}

/// Generates, writes, reads and verifies a scene, and shows the rates.
pub fn run(session: &Session, args: &DemoArgs) -> u8 {
    match demo(session, args) {
        Ok((details, report)) => {
            session.show_warnings(&report);
            if !session.everywhere.json && !console::result(&table(&details)) {
                return FAILED;
            }
            session.show_work(&report);
            show_verdicts(session, &details.verdicts);
            session.finish_with("demo", &JsonDetails::new(Some(details)), &report, None, (DONE, None), JsonTo::Stdout)
        }
        Err(error) => session.fail("demo", &error, JsonTo::Stdout),
    }
}

/// Runs all steps. Each plain rate is measured right after the rate it is compared with, so that both find the system's
/// caches in the same state.
fn demo(session: &Session, args: &DemoArgs) -> Result<(DemoDetails, Report)> {
    // Signals wait for the running step, so that the folder is removed.
    let _hold = session.signals().hold()?;
    let folder = Folder::new(args.keep.as_deref())?;
    let subject = Subject::new(session, args, folder.path())?;
    let Subject { made, file, write, .. } = &subject;
    let read = ReadOptions::default().with_run(session.run_options());

    let mut total_report = Report::default();
    let write_again = || {
        // The plain write also creates a new file each time.
        let _ = std::fs::remove_file(file);
        session.save(made, file, write)
    };
    let (write_time, writing, mut report) = timed(session, write_again, |report| total_report.extend(report.clone()))?;
    let bytes = match subject.kind {
        // The material library is small and not counted.
        DemoKind::Obj => std::fs::metadata(file).map_err(|error| io("read the size", file, error))?.len(),
        DemoKind::Pbrt => report.bytes_out,
    };
    let plain_write = rates::plain_write(file, bytes, &folder.path().join("plain.tmp"))?;
    let load_again = || session.load(file, &read);
    let (read_time, reading, loaded) = timed(session, load_again, |loaded| total_report.extend(loaded.report.clone()))?;
    let plain_read = rates::plain_read(&subject.files(&loaded.value))?;
    // Reading and writing process the decompressed text, so their rates count it.
    let text_bytes = if args.compress.is_some() { loaded.report.plain_bytes_in } else { bytes };
    let verdicts = Verdicts { write: session.judge(&writing, &report), read: session.judge(&reading, &loaded.report) };
    report.extend(loaded.report);
    verify(session, &subject, &loaded.value, &folder, &mut total_report)?;
    session.leave(&total_report)?;

    let rates = vec![
        Rate::new("write", text_bytes, write_time),
        Rate::new("plain write", bytes, plain_write),
        Rate::new("read", text_bytes, read_time),
        Rate::new("plain read", bytes, plain_read),
    ];
    let contents = What::from_content(Content::Scene(made));
    let kept_folder = args.keep.as_ref().map(|folder| folder.display().to_string());
    Ok((
        DemoDetails { same: true, kind: subject.kind.name(), folder: kept_folder, bytes, rates, verdicts, contents },
        report,
    ))
}

/// Checks that the scene read back equals the original, and that writing an OBJ file again yields the same bytes.
fn verify(
    session: &Session,
    subject: &Subject,
    read: &Scene,
    folder: &Folder,
    total_report: &mut Report,
) -> Result<()> {
    let wrong = |what: String| Error::new(ErrorKind::Internal, format!("verification failed: {what}"));
    let Subject { made, file, write, .. } = subject;
    if subject.kind == DemoKind::Pbrt {
        return check_render::compare(made, read)?.map_err(wrong);
    }
    check::compare(made, read, &WriteOptions::default()).map_err(wrong)?;
    let again = folder.inner("again")?;
    let second = again.path().join(file.file_name().unwrap_or_default());
    total_report.extend(session.save(read, &second, write)?);
    match check::first_difference(file, &second)? {
        None => Ok(()),
        Some(offset) => Err(wrong(format!("the second write differs from the first at byte {offset}"))),
    }
}

/// Runs a step three times, like the plain rates, and returns the seconds and the recording of the fastest run, and the
/// last result. The first run is slower, because it also allocates memory and disk blocks. Calls `each` with the result
/// of every run.
fn timed<T>(session: &Session, work: impl Fn() -> Result<T>, mut each: impl FnMut(&T)) -> Result<(f64, Recording, T)> {
    let mut once = || {
        let before = session.recording();
        let start = Instant::now();
        let result = work()?;
        let seconds = start.elapsed().as_secs_f64();
        each(&result);
        Ok::<_, polyhaul::Error>((seconds, session.recording().since(&before), result))
    };
    let mut best = once()?;
    for _ in 0..2 {
        // Drop the previous result first: two scenes at once would need twice the memory.
        let (seconds, seen, result) = best;
        drop(result);
        best = once()?;
        if seconds < best.0 {
            best.0 = seconds;
            best.1 = seen;
        }
    }
    Ok(best)
}

/// Formats the table for people, with each rate relative to the plain rate.
fn table(details: &DemoDetails) -> String {
    let mut text = format!(
        "{}: {}; verified by reading back{}\n\n",
        human::bytes(details.bytes),
        details.contents.words(),
        if details.kind == DemoKind::Obj.name() { " and writing again" } else { "" },
    );
    for pair in details.rates.chunks(2) {
        for (rate, plain) in pair.iter().zip([pair.last(), None]) {
            text.push_str(&rate.row(plain));
        }
    }
    if let Some(folder) = &details.folder {
        text.push_str(&format!("\nfiles kept in {}\n", human::safe(folder)));
    }
    text
}
