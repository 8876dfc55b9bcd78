//! Sources and destinations of assets.

use polyhaul_bytes::{HostRead, HostWrite};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The source of an asset to read.
#[non_exhaustive]
pub enum Input {
    /// A file; `-` is not special here. An image inside a glTF file has a path, too: `chair.glb#image0.png`.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Bytes in memory, and a name to use in messages.
    Memory(Vec<u8>, String),
    /// Shared bytes, used without copying, and a name to use in messages. The bytes must not change while they are
    /// being read.
    Shared(Arc<dyn AsRef<[u8]> + Send + Sync>, String),
    /// Any reader, and a name to use in messages.
    Reader(Box<dyn std::io::Read + Send>, String),
    /// Callbacks provided by a host, and a name to use in messages. If a callback fails, the error is of kind
    /// [`ErrorKind::Host`](crate::ErrorKind::Host).
    Host(Box<dyn HostRead>, String),
    /// A member of a zip archive: the archive, and the member's name in it. A path can also name a member directly:
    /// `assets.zip/textures/wood.tga`.
    Member(Box<Input>, String),
}

/// The destination of an asset to write.
#[non_exhaustive]
pub enum Output {
    /// A file, replaced atomically; the material library is written next to it.
    Path(PathBuf),
    /// Standard output; the material library is referred to but not written.
    Stdout,
    /// Any writer, and a name to use in messages; the material library is referred to but not written.
    Writer(Box<dyn std::io::Write + Send>, String),
    /// Callbacks provided by a host, and a name to use in messages. The format is inferred from the name's extension
    /// unless the options set it. The material library is referred to but not written. If a callback fails, the error
    /// is of kind [`ErrorKind::Host`](crate::ErrorKind::Host).
    Host(Box<dyn HostWrite>, String),
}

/// Implements `From` for path types, using the `Path` variant.
macro_rules! from_paths {
    ($($place:ident: $($path:ty),+;)+) => {
        $($(
            impl From<$path> for $place {
                fn from(path: $path) -> Self {
                    $place::Path(path.into())
                }
            }
        )+)+
    };
}

from_paths! {
    Input: &str, String, &String, &Path, PathBuf, &PathBuf;
    Output: &str, String, &String, &Path, PathBuf, &PathBuf;
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::Path(path) => write!(f, "Path({path:?})"),
            Input::Stdin => f.write_str("Stdin"),
            Input::Memory(_, name) => write!(f, "Memory({name:?})"),
            Input::Shared(_, name) => write!(f, "Shared({name:?})"),
            Input::Reader(_, name) => write!(f, "Reader({name:?})"),
            Input::Host(_, name) => write!(f, "Host({name:?})"),
            Input::Member(archive, name) => write!(f, "Member({archive:?}, {name:?})"),
        }
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Path(path) => write!(f, "Path({path:?})"),
            Output::Stdout => f.write_str("Stdout"),
            Output::Writer(_, name) => write!(f, "Writer({name:?})"),
            Output::Host(_, name) => write!(f, "Host({name:?})"),
        }
    }
}
