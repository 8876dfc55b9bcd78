//! Formats of meshes and of tables of numbers, and operations on meshes.
//!
//! A folder per format: `obj`, `mtl`, `ply`, `stl`, `off`, `table`. None of them names another, opens a file or starts
//! a thread.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]
#![cfg_attr(
    not(all(feature = "obj", feature = "ply", feature = "stl", feature = "off")),
    allow(dead_code, unused_imports, reason = "formats use it that are not built")
)]

pub mod affine;
pub mod check;
pub mod clean;
pub mod corners;
pub mod dedup;
pub mod domains;
pub mod edges;
pub mod flat;
pub mod frame;
#[cfg(feature = "obj")]
pub mod mtl;
#[cfg(feature = "obj")]
pub mod obj;
#[cfg(feature = "off")]
pub mod off;
pub mod options;
pub mod parts;
pub mod place;
#[cfg(feature = "ply")]
pub mod ply;
pub mod section;
pub mod splat_motion;
pub mod splats;
#[cfg(feature = "stl")]
pub mod stl;
pub mod table;
pub mod transform;
pub mod triangulate;
pub mod vertices;
pub mod weld;
pub mod welded;
