//! Analyzing recordings of jobs: verdicts, pages, charts.
//!
//! Nothing here reads or writes an asset. `ceilings` has the machine's best rates, `moved` the bytes by format, `model`
//! the time that reading them takes at these rates, `verdict` what limited a job; `sweep` compares ways of
//! loading one asset; `html` is a page about a job, `svg` a picture. A trace is exported to Perfetto (`perfetto`) and
//! to the `tracing` crate (`bridge`); `document` writes the files. `sampler` samples the process meanwhile.

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
pub use html::{Heading, html};
pub use model::load_seconds;
pub use moved::Moved;
pub use perfetto::perfetto;
pub use sampler::Sampler;
pub use svg::svg;
pub use sweep::{Cell, Crossing, Device, Stored, Sweep, Times};
pub use verdict::{Bound, Facts, Pace, Verdict};
pub use words::{count, day};
