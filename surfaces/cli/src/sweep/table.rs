//! Formats a sweep as tables for people: one row per rate, one column per variant.

use crate::human;
use polyhaul::report::{Cell, Device, Sweep};
use std::fmt::Write;

/// Maximum relative error of a close prediction.
pub const CLOSE: f64 = 0.2;

const RATE_WIDTH: usize = 12;
const CELL_WIDTH: usize = 18;

/// Formats the sweep, except the size of the copies.
pub fn table(sweep: &Sweep) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let sizes = sweep.stored.iter().map(|stored| format!("{} {}", stored.name, human::bytes(stored.bytes)));
    let _ = writeln!(text, "{}: {}", human::safe(&sweep.asset), sizes.collect::<Vec<_>>().join(", "));
    if let Some(interruption) = sweep.interruption() {
        let _ = writeln!(text, "{interruption}");
    }
    for threads in sweep.threads() {
        let _ = writeln!(text, "\n{}, {}", human::plural(threads as u64, "thread"), units(sweep));
        let names: String = sweep.stored.iter().map(|stored| format!("{:>CELL_WIDTH$}", stored.name)).collect();
        let _ = writeln!(text, "{:RATE_WIDTH$}{names}", "");
        for device in sweep.devices() {
            let cells = (0..sweep.stored.len()).map(|stored| sweep.cell(stored, threads, device));
            let cells: Vec<_> = cells.collect();
            if cells.iter().any(Option::is_some) {
                let columns: String = cells.iter().map(|cell| format!("{:>CELL_WIDTH$}", words(*cell))).collect();
                let _ = writeln!(text, "{:<RATE_WIDTH$}{columns}", device.words());
            }
        }
        for advice in sweep.advice(threads) {
            let _ = writeln!(text, "{advice}");
        }
    }
    text.push_str(&notes(sweep));
    text
}

fn units(sweep: &Sweep) -> &'static str {
    let is_predicted = sweep.cells.iter().any(|cell| cell.predicted_seconds.is_some());
    match (sweep.is_measured(), is_predicted) {
        (true, true) => "seconds (predicted)",
        (true, false) => "seconds",
        (false, _) => "seconds, predicted",
    }
}

fn words(cell: Option<&Cell>) -> String {
    let Some(cell) = cell else { return String::new() };
    let seconds = |value: f64| match value {
        _ if value < 0.01 => format!("{value:.5}"),
        _ if value < 9.9995 => format!("{value:.3}"),
        _ => format!("{value:.1}"),
    };
    let measured = cell.measured.map(|times| seconds(times.median));
    match (measured, cell.predicted_seconds.map(seconds)) {
        (Some(measured), Some(predicted)) => format!("{measured} ({predicted})"),
        (Some(one), None) => one,
        (None, Some(one)) if cell.note.is_none() => one,
        (None, Some(one)) => format!("- ({one})"),
        (None, None) => "-".into(),
    }
}

/// The distinct notes of the cells, and a summary of the prediction errors.
fn notes(sweep: &Sweep) -> String {
    let mut text = String::new();
    let mut said: Vec<&str> = Vec::new();
    for cell in &sweep.cells {
        let Some(note) = cell.note.as_deref().filter(|note| !said.contains(note)) else { continue };
        said.push(note);
        let name = sweep.stored.get(cell.stored).map_or("", |stored| stored.name.as_str());
        let _ = writeln!(text, "note: {name} at {}: {note}", cell.device.words());
    }
    let errors: Vec<_> =
        sweep.cells.iter().filter(|cell| cell.device != Device::Disk).filter_map(Cell::error).collect();
    if !errors.is_empty() {
        let close = errors.iter().filter(|error| error.abs() <= CLOSE).count();
        let largest = errors.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0);
        let _ = writeln!(
            text,
            "\n{close} of {} predictions are within {:.0}%; the largest error is {:+.0}%",
            errors.len(),
            100.0 * CLOSE,
            100.0 * largest
        );
    }
    text
}
