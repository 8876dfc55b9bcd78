//! Formats of Gaussian splats: SPZ, the rows of `.splat`, and SOG.
//!
//! How splats are in memory is in [`polyhaul_model::splats`]; compressed PLY is PLY, and is in `polyhaul_ply`.
//!
//! `records`: bytes to columns, in parallel. `rows`: `.splat`. `spz`: SPZ. `sog`: SOG. `packer`: splats that are packed
//! while they are read. The caller opens files.

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

/// Splats that were read.
pub struct SplatsFound {
    /// A scene of one mesh.
    pub scene: Scene,
    /// Repaired and dropped parts of the file.
    pub warnings: Warnings,
    /// Maximum number of threads used.
    pub threads: usize,
}
