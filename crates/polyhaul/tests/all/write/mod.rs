//! Independent tests of writing.
//!
//! `support` has shared helpers, `generate` generates scenes, and `meaning` formats their content.

mod blender;
mod by_hand;
mod faults;
mod generate;
mod good;
mod library;
mod meaning;
mod numbers;
mod options;
mod random;
mod statements;
mod support;
