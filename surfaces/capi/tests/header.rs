//! The header in the repository is the one that the sources make. `cargo xtask header` writes it.

use cbindgen::{Builder, Config};
use std::fs;
use std::path::Path;

/// The order of the manual.
const SOURCES: [&str; 12] = [
    "error", "text", "source", "options", "report", "mesh", "scene", "compose", "material", "image", "table", "convert",
];

fn made() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml is right");
    let sources = SOURCES.into_iter().map(|name| root.join("src").join(name).with_extension("rs"));
    let builder = sources.fold(Builder::new().with_config(config), Builder::with_src);
    let mut text = Vec::new();
    builder.generate().expect("the sources can be read").write(&mut text);
    String::from_utf8(text).expect("sources are text")
}

#[test]
fn the_header_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/polyhaul.h");
    let made = made();
    if std::env::var_os("POLYHAUL_HEADER").is_some_and(|value| value == "write") {
        fs::write(&path, &made).expect("the header can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let place = committed.lines().zip(made.lines()).position(|(committed, made)| committed != made);
    assert!(
        committed == made,
        "include/polyhaul.h differs at line {:?}: run `cargo xtask header`",
        place.map(|line| line + 1)
    );
}

#[test]
fn every_function_that_the_library_exports_is_in_the_header() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let made = made();
    let mut exported_count = 0;
    for entry in fs::read_dir(folder).expect("there are sources") {
        let text = fs::read_to_string(entry.expect("a source").path()).expect("a source is text");
        for (at, _) in text.match_indices("#[unsafe(no_mangle)]") {
            let name = text[at..].split("fn ").nth(1).and_then(|rest| rest.split('(').next()).expect("a function");
            let call = format!("{name}(");
            let lines = made.lines().filter(|line| !line.starts_with(" *") && line.contains(&call));
            assert_eq!(lines.count(), 1, "{name} is not in the header once");
            exported_count += 1;
        }
    }
    assert!(exported_count > 25, "{exported_count} functions");
}
