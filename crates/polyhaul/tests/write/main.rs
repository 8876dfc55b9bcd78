//! Tests of writing by somebody who does not trust it.

mod blender;
mod generate;
mod good;
mod meaning;
mod numbers;
mod options;
mod random;
mod support;
