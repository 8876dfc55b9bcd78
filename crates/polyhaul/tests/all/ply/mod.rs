//! Independent tests of reading PLY.
//!
//! `reference` is a slow reader derived from the format's rules alone; `support` has shared helpers. All files of
//! `testdata/ply` are tested automatically.

mod bad;
mod compressed;
mod convert;
mod damage;
mod good;
mod large;
mod limits;
pub mod reference;
mod scenes;
mod support;
