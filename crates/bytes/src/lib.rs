//! polyhaul bytes.
