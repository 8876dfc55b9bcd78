//! The exit codes of the command.

/// Success.
pub const DONE: u8 = 0;
/// The work failed.
pub const FAILED: u8 = 1;
/// The arguments are invalid.
pub const USAGE: u8 = 2;
/// Some of several files failed, and some succeeded.
pub const PARTLY: u8 = 3;
