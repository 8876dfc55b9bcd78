//! Formats of meshes and tables of numbers, and what is done to meshes.
//!
//! A folder per format: `obj`, `mtl`, `ply`, `stl`, `table`. None of them names another, opens a file or starts a
//! thread.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

pub mod check;
pub mod dedup;
pub mod domains;
pub mod frame;
pub mod mtl;
pub mod obj;
pub mod options;
pub mod parts;
pub mod place;
pub mod ply;
pub mod stl;
pub mod table;
pub mod transform;
pub mod triangulate;
pub mod vertices;
pub mod weld;
