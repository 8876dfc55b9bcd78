//! The polyhaul command.
fn main() {}
