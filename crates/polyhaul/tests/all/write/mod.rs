//! Tests of writing by somebody who does not trust it.
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
