//! Cleanup by a program that a signal ends. A separate test binary, because no sinks can be opened afterwards.

mod common;

use common::Folder;
use polyhaul_bytes::{FileOptions, Sink, remove_temporaries};
use std::fs;

#[test]
fn a_program_that_ends_leaves_no_temporary_files() {
    let folder = Folder::new();
    let path = folder.file("old", b"old");
    let open = || Sink::file(&path, FileOptions::default());
    open().unwrap().finish().unwrap();
    drop(open().unwrap());
    fs::write(&path, b"old").unwrap();
    let mut sinks = [open().unwrap(), open().unwrap()];
    sinks[0].write_all(b"new").unwrap();
    assert_eq!(folder.names().len(), 3);

    assert_eq!(remove_temporaries(), 2);
    // On Windows, the names of removed files may remain while the files are open, until the program ends.
    if cfg!(unix) {
        assert_eq!(folder.names(), ["old"]);
    }
    assert_eq!(remove_temporaries(), 0);

    assert!(open().is_err());
    for sink in sinks {
        assert!(sink.finish().is_err());
    }
    assert_eq!(folder.names(), ["old"]);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    Sink::memory().finish().unwrap();
}
