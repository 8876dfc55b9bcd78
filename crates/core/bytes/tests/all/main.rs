//! Sources, sinks and codecs: a file for each part.

#[path = "../common/mod.rs"]
mod common;

mod buffer;
mod decompress;
mod host;
mod members;
mod sink;
mod source;
mod throttle;
mod trace;
#[cfg(windows)]
mod windows;
