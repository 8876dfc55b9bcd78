//! Every prefix of a scene, and scenes with one other byte: read or refused, the same in any pieces.

use crate::pbrt::support::{data, lenient, options, same, shown};
use polyhaul::model::Scene;
use polyhaul::{ErrorKind, Input, Loaded, ReadOptions, Reader, Result};

fn read(bytes: &[u8], options: &ReadOptions) -> Result<Loaded<Scene>> {
    let result = Reader::new(Input::Memory(bytes.to_vec(), "x.pbrt".into())).options(options).scene();
    if let Err(error) = &result {
        assert!(!matches!(error.kind(), ErrorKind::Internal | ErrorKind::Memory), "{error}");
        assert!(error.kind() == ErrorKind::Unsupported || error.place().line.is_some(), "{error}");
        assert!(error.kind() == ErrorKind::Unsupported || error.place().column.is_some(), "{error}");
    }
    result
}

#[test]
fn every_prefix() {
    for (name, step) in [
        ("good/01_directives.pbrt", 3),
        ("good/04_types.pbrt", 3),
        ("good/05_tokens_crlf.pbrt", 1),
        ("good/03_shapes.pbrt", 5),
        ("good/06_media.pbrt", 5),
        ("good/07_instances.pbrt", 97),
    ] {
        let bytes = std::fs::read(data(name)).unwrap();
        for size in (0..bytes.len()).step_by(step) {
            let whole = read(&bytes[..size], &options(1, None));
            let pieces = read(&bytes[..size], &options(1, Some(50)));
            assert!(same(&whole, &pieces), "{name} {size}: {} {}", shown(&whole), shown(&pieces));
        }
    }
}

#[test]
fn one_other_byte() {
    change("good/05_tokens_crlf.pbrt", 1);
    change("good/01_directives.pbrt", 13);
    change("good/04_types.pbrt", 13);
}

/// Changes one byte of so many.
fn change(name: &str, step: usize) {
    let bytes = std::fs::read(data(name)).unwrap();
    // Every other one has its turn with other rules.
    for at in (0..bytes.len()).step_by(step) {
        let old = bytes[at];
        for new in [0, 0x7F, 0x80, 0xFF, old.wrapping_add(1), old.wrapping_sub(1), b'\n', b'-', b'9', b'"', b']', b'#']
        {
            let mut other = bytes.clone();
            other[at] = new;
            let base = if at % 2 == 0 { options(1, None) } else { lenient(options(1, None)) };
            let whole = read(&other, &base);
            let way = base.with_run(options(1, Some(40)).run);
            let pieces = read(&other, &way);
            assert!(same(&whole, &pieces), "{at} {new}: {} {}", shown(&whole), shown(&pieces));
        }
    }
}
