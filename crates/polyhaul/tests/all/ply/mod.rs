//! Independent tests of reading PLY.
//!
//! `reference` is a slow reader from the format's rules alone; `support` has the rest. Files of `testdata/ply` are
//! taken up by themselves.

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
