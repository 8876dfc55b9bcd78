//! The result of a job, and its warnings.

use crate::error::{PH_UNKNOWN, free, guard, ph_status};
use crate::raw::{self, Out, Record, handle, usage};
use crate::text::{ph_string, view};
use polyhaul::{Report, Result};
use std::mem::MaybeUninit;

/// The result of a job. Functions that take `ph_report **` set it if the job succeeded, and set it to null if it
/// failed; the argument may be null. Free it with ph_report_free.
pub struct ph_report(Report);

/// The numbers of a report.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_report_info {
    /// `sizeof(ph_report_info)`.
    pub struct_size: usize,
    /// Bytes read, including referenced files; for compressed files, the compressed bytes.
    pub bytes_in: u64,
    /// The same after decompression.
    pub plain_bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// The duration in seconds.
    pub seconds: f64,
    /// Threads that worked on it.
    pub threads: u64,
    /// The number of warnings.
    pub warning_count: u64,
    /// How many of them ph_report_warning returns: the first 1000.
    pub kept_warning_count: u64,
}

/// Something that was repaired, dropped or is missing, and did not stop the job. The texts live as long as the report.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_warning {
    /// `sizeof(ph_warning)`.
    pub struct_size: usize,
    /// The kind, as a stable short name (`missing-material`).
    pub code: ph_string,
    /// The message.
    pub message: ph_string,
    /// The file name, as given.
    pub file: ph_string,
    /// The line, from 1, or PH_UNKNOWN.
    pub line: u64,
    /// The column in bytes, from 1, or PH_UNKNOWN.
    pub column: u64,
    /// The offset in bytes, from 0, or PH_UNKNOWN.
    pub offset: u64,
}

// SAFETY: `repr(C)`, `struct_size` first, then numbers: any bytes are values.
unsafe impl Record for ph_report_info {
    const NAME: &'static str = "ph_report_info";
}

// SAFETY: `repr(C)`, `struct_size` first, then numbers and texts (a pointer and a size): any bytes are values.
unsafe impl Record for ph_warning {
    const NAME: &'static str = "ph_warning";
}

/// Tells the numbers of a report.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_report_get(report: Option<&ph_report>, info: *mut ph_report_info) -> ph_status {
    guard(|| {
        let ph_report(report) = handle(report, "the report")?;
        let lent = ph_report_info {
            struct_size: size_of::<ph_report_info>(),
            bytes_in: report.bytes_in,
            plain_bytes_in: report.plain_bytes_in,
            bytes_out: report.bytes_out,
            seconds: report.elapsed().as_secs_f64(),
            threads: report.threads as u64,
            warning_count: report.warnings.total(),
            kept_warning_count: report.warnings.kept().len() as u64,
        };
        // SAFETY: `info` is null or valid by the header's rules: then `struct_size` bytes are there, which is what
        // `put` requires.
        unsafe { raw::put(info, lent) }
    })
}

/// Tells a warning, by an index below `kept_warning_count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_report_warning(
    report: Option<&ph_report>,
    index: usize,
    warning: *mut ph_warning,
) -> ph_status {
    guard(|| {
        let ph_report(report) = handle(report, "the report")?;
        let warnings = report.warnings.kept();
        let kept_warning = warnings
            .get(index)
            .ok_or_else(|| usage(format!("warning {index} is out of range: {} were kept", warnings.len())))?;
        let says = &kept_warning.diagnostic;
        let place = &kept_warning.diagnostic.place;
        let lent = ph_warning {
            struct_size: size_of::<ph_warning>(),
            code: view(kept_warning.code),
            message: view(&says.message),
            file: view(&place.file),
            line: place.line.unwrap_or(PH_UNKNOWN),
            column: place.column.unwrap_or(PH_UNKNOWN),
            offset: place.offset.unwrap_or(PH_UNKNOWN),
        };
        // SAFETY: `warning` is null or valid by the header's rules: then `struct_size` bytes are there, which is what
        // `put` requires.
        unsafe { raw::put(warning, lent) }
    })
}

/// Frees a report; null does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn ph_report_free(report: Option<Box<ph_report>>) {
    free(report);
}

/// The place of a report, if requested.
pub(crate) struct ReportOut<'o>(Option<Out<'o, ph_report>>);

impl<'o> ReportOut<'o> {
    pub(crate) fn new(out: Option<&'o mut MaybeUninit<*mut ph_report>>) -> Result<ReportOut<'o>> {
        Ok(ReportOut(out.map(|out| Out::new(Some(out))).transpose()?))
    }

    pub(crate) fn give(self, report: Report) {
        if let Some(out) = self.0 {
            out.give(ph_report(report));
        }
    }
}
