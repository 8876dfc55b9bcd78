//! Reads and writes pbrt-v4 scenes, represented as [`polyhaul_model::render`] scenes.
//!
//! Sources: the pbrt-v4 File Format (<https://pbrt.org/fileformat-v4>), and pbrt-v4 itself where the documentation is
//! silent. Nothing is rendered, and the caller opens the files.
//!
//! A file is split where directives start (`borders`). The pieces are parsed in parallel (`parse`) into events and a
//! segment of values, which becomes part of the model unchanged. The events are then processed in scene order,
//! following Includes and Imports, by the worker that completes the next piece (`resolve`). `reader` is the job;
//! `writer` writes scenes.
//!
//! Undocumented behavior of pbrt-v4, and how it is handled here:
//!
//! - A word that starts with a capital letter starts a directive, except for the operands `All`, `StartTime` and
//!   `EndTime`. An unclosed list is therefore reported at its start, and pieces can be parsed without the preceding
//!   text.
//! - A string must end on its line. Lines end with LF or CR.
//! - The syntax of older versions of pbrt (`point`, `vector`, `normal3`, `color`, textures of type `color`, `WorldEnd`,
//!   quoted booleans) is an error that shows the form of pbrt-v4; with `OnError::Warn`, it is accepted with a warning.
//!   Directives that only older versions have are errors; classes and parameters that only older versions have are
//!   warnings. Both messages explain how to upgrade the scene (`versions`).
//! - A file name is resolved in the folder of the scene, as in pbrt, and then in the folder of the file that contains
//!   it.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod ahead;
mod borders;
pub mod build;
mod directive;
mod drawn;
mod event;
mod files;
pub mod flatten;
pub mod inline;
pub mod instances;
mod intern;
mod known;
mod lexer;
pub mod looks;
mod parameters;
mod parse;
pub mod places;
mod points;
mod reader;
mod resolve;
mod shelf;
pub mod shown;
mod versions;
pub mod writer;

pub use files::{FileOpener, OpenFile};
pub use reader::read;
pub use resolve::{MeshUse, Pbrt};

/// Returns whether text starts like a pbrt scene of any version: with a directive, after any comments.
pub fn looks_like_scene(text: &[u8]) -> bool {
    let mut lines = text.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#")).unwrap_or_default();
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'[');
    let word = first.iter().position(is_end).map_or(first, |end| &first[..end]);
    directive::Directive::named(word).is_some() || versions::of_directive(word).is_some()
}
