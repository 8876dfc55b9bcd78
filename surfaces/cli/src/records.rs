//! Writes the files about a run: `--trace`, `--report`, `--chart`.
//!
//! `polyhaul::report` makes their content. This module decides when to write them, and reports unwritable paths before
//! the work starts. Recording never changes the work.

use crate::args::Everywhere;
use crate::args::pace::Throttles;
use crate::file::{io, try_out};
use crate::{judge, picture, words};
use polyhaul::report::{self, Document, Heading, Sampler};
use polyhaul::trace::{Detail, Trace};
use polyhaul::{Report, Result, measure};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The sampling interval.
const EVERY: Duration = Duration::from_millis(5);

/// The files to write at the end, with the running sampler.
pub struct Records(Mutex<Option<RecordsOpen>>);

struct RecordsOpen {
    requested: Vec<(Document, PathBuf)>,
    heading: Heading,
    sampler: Sampler,
}

impl Records {
    /// Starts recording, at the detail that the requested files need.
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

    /// Fails if one of the files cannot be written. In that case, none is written at the end.
    pub fn check(&self) -> Result<()> {
        let result = self.open().iter().flat_map(|open| &open.requested).try_for_each(|(_, path)| try_out(path));
        result.inspect_err(|_| self.forget())
    }

    /// Discards the recording, so that no file is written.
    pub fn forget(&self) {
        *self.open() = None;
    }

    /// The files and their heading, which are then not written here.
    pub fn take(&self) -> Option<(Vec<(Document, PathBuf)>, Heading)> {
        self.open().take().map(|open| (open.requested, open.heading))
    }

    /// Writes the files; later calls do nothing. `report` covers the jobs, and is `None` if they failed.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written, after trying to write the others.
    pub fn write(&self, trace: &Trace, report: Option<&Report>, throttles: &Throttles) -> Result<()> {
        let Some(RecordsOpen { requested, heading, sampler }) = self.open().take() else { return Ok(()) };
        drop(sampler);
        let recording = trace.recording();
        let ceilings = measure::kept_for(&recording);
        let verdict = report.map(|report| judge::judge(&recording, report, throttles));
        let verdict = verdict.as_ref();
        // Without measured rates, pages name the machine and the disk.
        let has_page = requested.iter().any(|(document, _)| *document == Document::Page);
        let ceilings = ceilings.or_else(|| has_page.then(|| measure::quick(Path::new("."))));
        let ceilings = ceilings.as_ref();
        let write = |(document, path): (Document, PathBuf)| match document {
            Document::Picture => picture::write(&report::svg(&recording, &heading, verdict, ceilings), &path),
            _ => {
                let written = document.write(&path, &recording, &heading, verdict, ceilings);
                written.map_err(|error| io("write", &path, error))
            }
        };
        requested.into_iter().map(write).fold(Ok(()), Result::and)
    }

    fn open(&self) -> MutexGuard<'_, Option<RecordsOpen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The command line and the current time.
fn heading() -> Heading {
    let args = words::arguments().map(|arg| format!(" {}", arg.to_string_lossy()));
    let command = std::iter::once("polyhaul".to_owned()).chain(args).collect();
    let began = SystemTime::now().duration_since(UNIX_EPOCH);
    Heading { command, began_unix_s: began.ok().map(|since| since.as_secs()), ..Heading::default() }
}
