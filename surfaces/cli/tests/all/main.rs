//! Tests of the command as users run it, with a module per topic.

mod batch;
mod batch_logs;
mod check;
mod common;
mod compressed;
#[cfg(unix)]
mod guide;
mod images;
mod limits;
mod many;
mod memory;
mod names;
mod pbrt;
mod ply;
mod preview;
mod promises;
mod scenes;
mod signals;
mod slow;
mod streams;
mod sweep;
mod sweep_program;
mod tables;
mod textures;
mod trace;
mod usage;
mod validate;
mod watch;
mod watch_schema;
#[cfg(windows)]
mod windows;
