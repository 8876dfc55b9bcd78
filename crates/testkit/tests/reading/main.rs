//! Reading, tested by somebody who does not trust it: each module is a promise.
//!
//! The files of `testdata` are taken up by themselves. Whatever is random comes from a fixed seed.

mod damage;
mod differential;
mod expected;
mod files;
mod fuzzing;
mod hosts;
mod libraries;
mod limits;
mod matrix;
mod repair;
