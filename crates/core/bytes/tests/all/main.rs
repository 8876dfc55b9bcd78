//! Tests of sources, sinks and codecs, with a file for each topic.

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
