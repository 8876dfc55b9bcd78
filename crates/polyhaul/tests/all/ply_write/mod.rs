//! Tests of writing PLY: bytes by hand, and scenes that the slow reader reads back.

mod by_hand;
mod matrix;
mod scenes;
pub mod support;
mod tables;
