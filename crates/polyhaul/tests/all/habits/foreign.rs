//! Files that are not assets, under the names of all formats: an error, never an empty result. The error names the kind
//! of content, if it is known.

use crate::support::memory;
use polyhaul::{ErrorKind, Format, ReadOptions};

/// Content that replaces a file, with its name in the hint.
const FOREIGN: [(&str, &str, &[u8]); 7] = [
    (
        "a pointer of Git LFS",
        "Git LFS",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0123456789abcdef\nsize 48213\n",
    ),
    ("a page", "web page", b"<!DOCTYPE html>\n<html><head><title>404</title></head>\n<body>Not Found</body></html>\n"),
    ("an answer of a server", "JSON", b"{\"message\":\"Not Found\",\"status\":\"404\"}\n"),
    ("an answer of a store", "XML", b"<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code></Error>\n"),
    ("a note", "", b"This model was removed by its author.\nPlease ask for it.\n"),
    ("an archive", "RAR", b"Rar!\x1a\x07\x01\x00\x33\x92\xb5\xe5\x0a\x01\x05\x06\x00\x05\x01\x01"),
    ("a program", "", b"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00\x01\x00"),
];

#[test]
fn what_is_no_asset_is_an_error_in_all_formats() {
    let is_table = |format: &Format| ["csv", "tsv", "txt"].contains(&format.name());
    let mut faults = Vec::new();
    for format in Format::ALL.into_iter().filter(|format| !is_table(format)) {
        for (what, name, bytes) in FOREIGN {
            let input = || memory(bytes, &format!("x.{}", format.name()));
            match polyhaul::diff(input(), input(), &ReadOptions::default(), 0.0) {
                Err(error) if error.kind() == ErrorKind::Malformed || error.kind() == ErrorKind::Unsupported => {
                    let hint = error.diagnostic().hint.clone().unwrap_or_default();
                    if !hint.contains(name) {
                        faults.push(format!("{what} as {}: the hint is {hint:?}", format.name()));
                    }
                }
                Err(error) => faults.push(format!("{what} as {}: {:?}: {error}", format.name(), error.kind())),
                Ok(_) => faults.push(format!("{what} as {} is read", format.name())),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
