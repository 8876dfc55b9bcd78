//! The files that a run leaves about itself: `--trace`, `--report`, `--chart`.
//!
//! What they say is the library's, `polyhaul::report`; here is when they are written, and that a path that cannot be
//! written to is told before the work begins. They never change what the work does.

use crate::args::Everywhere;
use crate::judge;
use polyhaul::report::{self, Ceilings, Heading, Sampler, Verdict};
use polyhaul::trace::{Detail, Recording, Trace};
use polyhaul::{Error, FileOptions, Report, Result, Sink};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often the process is looked at.
const EVERY: Duration = Duration::from_millis(5);

/// What will be written at the end, and what looks at the process until then.
pub struct Records(Mutex<Option<Open>>);

struct Open {
    wanted: Vec<(Kind, PathBuf)>,
    heading: Heading,
    sampler: Sampler,
}

/// What a recording is made into.
#[derive(Clone, Copy)]
enum Kind {
    /// A trace for Perfetto.
    Trace,
    /// A page for a browser.
    Report,
    /// A picture.
    Chart,
}

impl Records {
    /// A recorder for the run, which notes as much as the files that are asked for need.
    pub fn start(everywhere: &Everywhere) -> (Trace, Records) {
        let Everywhere { trace, report, chart, .. } = everywhere;
        let asked = [(Kind::Trace, trace), (Kind::Report, report), (Kind::Chart, chart)];
        let wanted: Vec<_> = asked.into_iter().filter_map(|(kind, path)| Some((kind, path.clone()?))).collect();
        if wanted.is_empty() {
            return (Trace::new(Detail::Totals), Records(Mutex::new(None)));
        }
        let trace = Trace::new(Detail::Spans);
        let sampler = Sampler::start(&trace, EVERY);
        (trace, Records(Mutex::new(Some(Open { wanted, heading: heading(), sampler }))))
    }

    /// An error where a file cannot be written; then none will be.
    pub fn check(&self) -> Result<()> {
        let result = self.open().iter().flat_map(|open| &open.wanted).try_for_each(|(_, path)| try_out(path));
        result.inspect_err(|_| self.forget())
    }

    /// No file will be written.
    pub fn forget(&self) {
        *self.open() = None;
    }

    /// Writes the files; the second time there are none. `report` is what the jobs did, if they did not fail.
    ///
    /// # Errors
    /// The first one; the other files are written nevertheless.
    pub fn write(&self, trace: &Trace, report: Option<&Report>) -> Result<()> {
        let Some(Open { wanted, heading, sampler }) = self.open().take() else { return Ok(()) };
        drop(sampler);
        let recording = trace.recording();
        let judged = (report.map(|report| judge::of(&recording, report)), judge::ceilings(&recording));
        let write = |(kind, path): &(Kind, PathBuf)| {
            kind.write(&recording, &heading, (judged.0.as_ref(), judged.1.as_ref()), path)
                .map_err(|error| Error::io("writing", &path.display().to_string(), error))
        };
        wanted.iter().map(write).fold(Ok(()), Result::and)
    }

    fn open(&self) -> MutexGuard<'_, Option<Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kind {
    fn write(
        self,
        recording: &Recording,
        heading: &Heading,
        (verdict, ceilings): (Option<&Verdict>, Option<&Ceilings>),
        path: &Path,
    ) -> io::Result<()> {
        let mut sink = Sink::file(path, FileOptions::default())?;
        match self {
            Kind::Trace => report::perfetto(recording, &heading.command, &mut sink)?,
            Kind::Report => sink.write_all(report::html(recording, heading, verdict, ceilings).as_bytes())?,
            Kind::Chart => sink.write_all(report::svg(recording, heading, verdict, ceilings).as_bytes())?,
        }
        sink.finish().map(drop)
    }
}

/// The command as it was given, and when.
fn heading() -> Heading {
    let args = std::env::args_os().skip(1).map(|arg| format!(" {}", arg.to_string_lossy()));
    let command = std::iter::once("polyhaul".to_owned()).chain(args).collect();
    let began = SystemTime::now().duration_since(UNIX_EPOCH);
    Heading { command, began_unix_s: began.ok().map(|since| since.as_secs()), ..Heading::default() }
}

/// Begins to write a file and takes that back. What is no regular file, such as a pipe, is opened only once.
pub fn try_out(path: &Path) -> Result<()> {
    if std::fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir()) {
        return Ok(());
    }
    let sink = Sink::file(path, FileOptions::default());
    sink.map(drop).map_err(|error| Error::io("creating", &path.display().to_string(), error))
}
