//! Tests of writing PLY: handwritten bytes, and scenes that the slow reader reads back.

mod by_hand;
mod matrix;
mod scenes;
pub mod support;
mod tables;
