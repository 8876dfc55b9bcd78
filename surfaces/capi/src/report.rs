//! The report of a job, and its warnings.

use crate::error::{PH_UNKNOWN, free, guard, ph_status};
use crate::raw::{self, Out, Record, handle, usage};
use crate::text::{ph_string, view};
use polyhaul::severity::Severity;
use polyhaul::{Report, Result};
use std::mem::MaybeUninit;

/// The report of a job: sizes, time, warnings. Functions with a `ph_report **` argument accept null; otherwise they
/// store a report if the job succeeds, and null if it fails. Free it with ph_report_free.
pub struct ph_report(Report);

/// Sizes, time and counts of a job.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_report_info {
    /// `sizeof(ph_report_info)`.
    pub struct_size: usize,
    /// Bytes read, including referenced files, before decompression.
    pub bytes_in: u64,
    /// Bytes read, after decompression.
    pub plain_bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Elapsed time in seconds.
    pub seconds: f64,
    /// Number of threads used.
    pub threads: u64,
    /// Number of warnings.
    pub warning_count: u64,
    /// Number of warnings available from ph_report_warning: the first 1000, and the first 3 of each kind.
    pub kept_warning_count: u64,
    /// Number of notes: data that users do not expect the format to store, such as materials in STL.
    pub note_count: u64,
    /// Number of losses: data that was changed or dropped and that users expect to keep.
    pub loss_count: u64,
    /// Number of faults: violations of the file format.
    pub fault_count: u64,
}

/// A warning about data that was repaired, changed, dropped or missing. Its strings are valid until the report is
/// freed.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_warning {
    /// `sizeof(ph_warning)`.
    pub struct_size: usize,
    /// The kind: a short name that never changes, such as `missing-material`.
    pub code: ph_string,
    /// The message.
    pub message: ph_string,
    /// The name of the file or input.
    pub file: ph_string,
    /// Line, starting at 1, or PH_UNKNOWN.
    pub line: u64,
    /// Column in bytes, starting at 1, or PH_UNKNOWN.
    pub column: u64,
    /// Offset in bytes, starting at 0, or PH_UNKNOWN.
    pub offset: u64,
    /// `note`, `loss` or `fault`; see ph_report_info.
    pub severity: ph_string,
}

// SAFETY: `repr(C)`, `struct_size` first, then numbers: any bytes are values.
unsafe impl Record for ph_report_info {
    const NAME: &'static str = "ph_report_info";
    const FIRST_BYTES: usize = std::mem::offset_of!(ph_report_info, note_count);
}

// SAFETY: `repr(C)`, `struct_size` first, then numbers and strings (a pointer and a size): any bytes are values.
unsafe impl Record for ph_warning {
    const NAME: &'static str = "ph_warning";
    const FIRST_BYTES: usize = std::mem::offset_of!(ph_warning, severity);
}

/// Returns the sizes, time and counts of a job.
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
            note_count: report.warnings.total_of(Severity::Note),
            loss_count: report.warnings.total_of(Severity::Loss),
            fault_count: report.warnings.total_of(Severity::Fault),
        };
        // SAFETY: `info` is null, or points to `struct_size` writable bytes by the header's rules, as `put` requires.
        unsafe { raw::put(info, lent) }
    })
}

/// Returns a warning. `index` must be less than `kept_warning_count`.
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
            .ok_or_else(|| usage(format!("warning {index} is out of range: the count is {}", warnings.len())))?;
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
            severity: view(kept_warning.severity.name()),
        };
        // SAFETY: `warning` is null, or points to `struct_size` writable bytes by the header's rules, as `put`
        // requires.
        unsafe { raw::put(warning, lent) }
    })
}

/// Frees a report. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn ph_report_free(report: Option<Box<ph_report>>) {
    free(report);
}

/// Stores a report in the caller's variable, if there is one.
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
