//! Reads and writes Gaussian splats as SPZ and `.splat`, and reads SOG.
//!
//! The caller opens files. [`polyhaul_model::splats`] documents splats in memory; compressed PLY is in `polyhaul_ply`.
//!
//! `records` decodes bytes into columns in parallel, and `pages` does the reverse. `rows` handles `.splat`, `spz` SPZ,
//! and `sog` SOG. `packer` packs splats while they are read.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

pub mod packer;
mod pages;
mod records;
pub mod rows;
#[cfg(feature = "sog")]
pub mod sog;
pub mod spz;

use polyhaul_model::Scene;
use polyhaul_model::warnings::Warnings;

/// Splats read from a file.
pub struct SplatsFound {
    /// A scene with one mesh.
    pub scene: Scene,
    /// Warnings about repaired and dropped parts of the file.
    pub warnings: Warnings,
    /// Maximum number of threads used.
    pub threads: usize,
}
