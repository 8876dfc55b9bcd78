//! Analysis of recorded jobs: verdicts, reports, charts.
//!
//! Reads and writes no assets. `ceilings` holds the maximum rates of a machine, which `measure` measures, and `moved`
//! the bytes moved by format; `model` estimates load times from both, and `verdict` determines the bottleneck of a job.
//! `sweep` compares storage variants of an asset. Reports are an HTML page (`html`), an SVG picture (`svg`), a trace
//! for Perfetto (`perfetto`) or events of the `tracing` crate (`bridge`); `document` writes the files. `sampler`
//! samples the process during a job.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

#[cfg(feature = "tracing")]
mod bridge;
mod ceilings;
mod chart;
mod document;
mod html;
pub mod json;
pub mod measure;
mod model;
mod moved;
mod perfetto;
mod sampler;
mod shown;
mod svg;
mod sweep;
mod verdict;
mod words;

#[cfg(feature = "tracing")]
pub use bridge::to_tracing;
pub use ceilings::{Ceilings, Kernel, Unpacking, Written};
pub use document::Document;
pub use html::{Heading, ProgramPage, ProgramTable, html};
pub use model::load_seconds;
pub use moved::Moved;
pub use perfetto::perfetto;
pub use sampler::Sampler;
pub use svg::svg;
pub use sweep::{Cell, Crossing, Device, ProgramModel, Stored, Sweep, SweepKind, Times};
pub use verdict::{Bound, Facts, Pace, Verdict};
pub use words::{count, day};
