//! polyhaul chores.
fn main() {}
