//! polyhaul text.
