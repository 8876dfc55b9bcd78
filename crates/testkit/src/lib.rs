//! polyhaul testkit.

pub mod scene;
