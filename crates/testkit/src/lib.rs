//! polyhaul testkit.
