//! Writes the reports of a job to files, atomically.
//!
//! The content is produced by [`perfetto`], [`html`] and [`svg`]. Nothing here records or evaluates.

use super::{html, perfetto, svg};
use crate::ceilings::Ceilings;
use crate::html::Heading;
use crate::verdict::Verdict;
use polyhaul_bytes::{FileOptions, Sink};
use polyhaul_trace::Recording;
use std::io;
use std::path::Path;

/// Type of report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Document {
    /// A trace for Perfetto: [`perfetto`].
    Trace,
    /// An HTML page: [`html`].
    Page,
    /// An SVG picture: [`svg`].
    Picture,
}

impl Document {
    /// Writes a report to a file, which is replaced atomically or left unchanged.
    ///
    /// # Errors
    /// I/O errors from creating or writing the file.
    pub fn write(
        self,
        path: &Path,
        recording: &Recording,
        heading: &Heading,
        verdict: Option<&Verdict>,
        ceilings: Option<&Ceilings>,
    ) -> io::Result<()> {
        let mut sink = Sink::file(path, FileOptions::default())?;
        match self {
            Document::Trace => perfetto(recording, &heading.command, &mut sink)?,
            Document::Page => sink.write_all(html(recording, heading, verdict, ceilings).as_bytes())?,
            Document::Picture => sink.write_all(svg(recording, heading, verdict, ceilings).as_bytes())?,
        }
        sink.finish().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_trace::{Detail, Trace};

    const ALL: [(Document, &str); 3] =
        [(Document::Trace, "{"), (Document::Page, "<!doctype html>"), (Document::Picture, "<svg")];

    fn write(document: Document, path: &Path) -> io::Result<()> {
        document.write(path, &Trace::new(Detail::Spans).recording(), &Heading::default(), None, None)
    }

    #[test]
    fn each_is_what_it_says() {
        let path = std::env::temp_dir().join(format!("polyhaul-document-{}", std::process::id()));
        for (document, start) in ALL {
            write(document, &path).unwrap();
            assert!(std::fs::read_to_string(&path).unwrap().starts_with(start), "{document:?}");
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        let path = std::env::temp_dir().join(format!("polyhaul-document-{}-none/file", std::process::id()));
        for (document, _) in ALL {
            assert_eq!(write(document, &path).unwrap_err().kind(), io::ErrorKind::NotFound);
            #[cfg(target_os = "linux")]
            assert_eq!(write(document, Path::new("/dev/full")).unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
    }
}
