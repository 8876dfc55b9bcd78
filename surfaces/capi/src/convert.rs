//! From file to file.

use crate::error::{guard, ph_status};
use crate::options::{self, ph_read_options, ph_write_options};
use crate::report::{ReportOut, ph_report};
use crate::source::{self, ph_input, ph_output};
use std::mem::MaybeUninit;

/// Reads something and writes it in any format that holds it: scenes, tables, images. Between formats that have tables,
/// and from pbrt to pbrt, all of it is kept.
///
/// Both options and the report may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_convert(
    input: *const ph_input,
    output: *const ph_output,
    reading: *const ph_read_options,
    writing: *const ph_write_options,
    report: Option<&mut MaybeUninit<*mut ph_report>>,
) -> ph_status {
    guard(|| {
        let report = ReportOut::new(report)?;
        // Both are taken over before one is found wrong: each is released.
        // SAFETY: both are null or valid by the header's rules until this call returns, and the job ends before that.
        let (input, target) = unsafe { (source::input(input), source::output(output)) };
        let (input, _held) = input?;
        let (target, _held_too) = target?;
        // SAFETY: the same `output`: null or valid by the header's rules until this call returns.
        let named = unsafe { source::format_named(output) }?;
        // SAFETY: both are null or valid by the header's rules until this call returns, and the job ends before that.
        let (reading, mut writing) = unsafe { (options::read(reading)?, options::write(writing)?) };
        writing.format = writing.format.or(named);
        report.give(
            polyhaul::Reader::new(input).options(&reading).convert(polyhaul::Writer::new(target).options(&writing))?,
        );
        Ok(())
    })
}
