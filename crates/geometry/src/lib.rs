//! Operations on meshes and scenes: welding, triangulation, transforms, sections, edges, and per-corner values.
//!
//! This crate neither reads nor writes formats and opens no files. The formats (`crates/formats`) and the facade call
//! it.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

pub mod affine;
pub mod check;
pub mod clean;
pub mod corners;
pub mod dedup;
pub mod domains;
pub mod edges;
pub mod exact;
pub mod flat;
pub mod frame;
pub mod linear;
pub mod lines;
pub mod losses;
pub mod normals;
pub mod parts;
pub mod section;
pub mod splat_motion;
pub mod splat_placement;
pub mod splat_shape;
pub mod splats;
pub mod surface;
pub mod transform;
pub mod triangulate;
pub mod vertices;
pub mod weld;
pub mod welded;
