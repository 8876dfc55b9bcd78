//! Conversions from file to file.

use crate::error::{guard, ph_status};
use crate::options::{self, ph_options};
use crate::report::{ReportOut, ph_report};
use crate::source::{self, ph_input, ph_output};
use std::mem::MaybeUninit;

/// Converts a scene, a table or an image to any format that can store it. Conversions between formats with tables, and
/// from pbrt to pbrt, are lossless.
///
/// `options` and `report` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ph_convert(
    input: *const ph_input,
    output: *const ph_output,
    options: Option<&ph_options>,
    report: Option<&mut MaybeUninit<*mut ph_report>>,
) -> ph_status {
    guard(|| {
        let report = ReportOut::new(report)?;
        // Both are converted before an error of either is returned, so that both are released.
        // SAFETY: `input` is null or valid by the header's rules until this call returns; the job ends before that.
        let input = unsafe { source::input(input) };
        // SAFETY: as for `input`.
        let target = unsafe { source::output(output) };
        let (input, _held_input) = input?;
        let (target, _held_output) = target?;
        // SAFETY: as for `input`.
        let named_format = unsafe { source::format_named(output) }?;
        let (read, mut write) = options::for_converting(options);
        write.format = write.format.or(named_format);
        report
            .give(polyhaul::Reader::new(input).options(&read).convert(polyhaul::Writer::new(target).options(&write))?);
        Ok(())
    })
}
