//! Independent tests of writing.
//!
//! `support` has what all of them use, `generate` makes scenes, `meaning` says what a scene says.

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
