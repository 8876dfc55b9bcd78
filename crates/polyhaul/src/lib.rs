//! polyhaul polyhaul.
