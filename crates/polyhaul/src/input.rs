//! Where assets are read from and written to.

use polyhaul_bytes::{HostRead, HostWrite};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a scene is read from.
#[non_exhaustive]
pub enum Input {
    /// A file; `-` is not special here.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Bytes in memory, and the name that messages use.
    Memory(Vec<u8>, String),
    /// Bytes in the memory of somebody else, which are not copied, and the name that messages use. They must not change
    /// meanwhile.
    Shared(Arc<dyn AsRef<[u8]> + Send + Sync>, String),
    /// Any reader, and the name that messages use.
    Reader(Box<dyn std::io::Read + Send>, String),
    /// Callbacks of a host, and the name that messages use. What they fail with is an error of
    /// [`ErrorKind::Host`](crate::ErrorKind::Host).
    Host(Box<dyn HostRead>, String),
    /// A member of the archive (zip) that an input is, by its name there. A path may name one by itself:
    /// `assets.zip/textures/wood.tga`.
    Member(Box<Input>, String),
}

/// Where a scene is written to.
#[non_exhaustive]
pub enum Output {
    /// A file, replaced as a whole or not at all; the material library goes beside it.
    Path(PathBuf),
    /// Standard output; the material library is named but not written.
    Stdout,
    /// Any writer, and the name that messages use; the material library is named but not written.
    Writer(Box<dyn std::io::Write + Send>, String),
    /// Callbacks of a host, and the name that messages use, whose end says the format where the options do not; the
    /// material library is named but not written. What they fail with is an error of
    /// [`ErrorKind::Host`](crate::ErrorKind::Host).
    Host(Box<dyn HostWrite>, String),
}

/// Implements `From` of paths, by the variant for files.
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
