//! The files that a run leaves about itself: `--trace`, `--report`, `--chart`.
//!
//! Their content is the library's, `polyhaul::report`; this decides when they are written, and reports a path that
//! cannot be written before the work starts. They never change the work.

use crate::args::Everywhere;
use crate::args::pace::Throttles;
use crate::file::{io, try_out};
use crate::{judge, picture, words};
use polyhaul::report::{self, Document, Heading, Sampler};
use polyhaul::trace::{Detail, Trace};
use polyhaul::{Report, Result, measure};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The interval of sampling the process.
const EVERY: Duration = Duration::from_millis(5);

/// The files to write at the end, and the sampler until then.
pub struct Records(Mutex<Option<RecordsOpen>>);

struct RecordsOpen {
    requested: Vec<(Document, PathBuf)>,
    heading: Heading,
    sampler: Sampler,
}

impl Records {
    /// A recorder for the run, with the detail that the requested files need.
    pub fn start(everywhere: &Everywhere) -> (Trace, Records) {
        let Everywhere { trace, report, chart, .. } = everywhere;
        let paths = [(Document::Trace, trace), (Document::Page, report), (Document::Picture, chart)];
        let requested: Vec<_> = paths.into_iter().filter_map(|(kind, path)| Some((kind, path.clone()?))).collect();
        if requested.is_empty() {
            return (Trace::new(Detail::Totals), Records(Mutex::new(None)));
        }
        let trace = Trace::new(Detail::Spans);
        let sampler = Sampler::start(&trace, EVERY);
        (trace, Records(Mutex::new(Some(RecordsOpen { requested, heading: heading(), sampler }))))
    }

    /// An error if a file cannot be written; then none will be.
    pub fn check(&self) -> Result<()> {
        let result = self.open().iter().flat_map(|open| &open.requested).try_for_each(|(_, path)| try_out(path));
        result.inspect_err(|_| self.forget())
    }

    /// No file will be written.
    pub fn forget(&self) {
        *self.open() = None;
    }

    /// Writes the files; a second call writes none. `report` is about the jobs, unless they failed.
    ///
    /// # Errors
    /// The first error; the other files are written nevertheless.
    pub fn write(&self, trace: &Trace, report: Option<&Report>, throttles: &Throttles) -> Result<()> {
        let Some(RecordsOpen { requested, heading, sampler }) = self.open().take() else { return Ok(()) };
        drop(sampler);
        let recording = trace.recording();
        let ceilings = measure::kept_for(&recording);
        let verdict = report.map(|report| judge::judge(&recording, report, throttles));
        let verdict = verdict.as_ref();
        let ceilings = ceilings.as_ref();
        let write = |(document, path): (Document, PathBuf)| match document {
            Document::Picture => picture::write(&report::svg(&recording, &heading, verdict, ceilings), &path),
            _ => {
                let written = document.write(&path, &recording, &heading, verdict, ceilings);
                written.map_err(|error| io("writing", &path, error))
            }
        };
        requested.into_iter().map(write).fold(Ok(()), Result::and)
    }

    fn open(&self) -> MutexGuard<'_, Option<RecordsOpen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The command as it was given, and when.
fn heading() -> Heading {
    let args = words::arguments().map(|arg| format!(" {}", arg.to_string_lossy()));
    let command = std::iter::once("polyhaul".to_owned()).chain(args).collect();
    let began = SystemTime::now().duration_since(UNIX_EPOCH);
    Heading { command, began_unix_s: began.ok().map(|since| since.as_secs()), ..Heading::default() }
}
