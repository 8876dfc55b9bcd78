//! Tests of writing PLY: bytes by hand, and scenes read back by a small reader of the tests' own.

mod by_hand;
mod matrix;
mod read;
mod scenes;
pub mod support;
mod tables;
