//! Compares the registry with the lists of the test kit, so that no format is missing there.

use polyhaul::Format;
use polyhaul_testkit::corpus;
use polyhaul_testkit::fuzz;
use polyhaul_testkit::losses::lost;

#[test]
fn every_format_has_a_fuzz_target() {
    let names: Vec<&str> = Format::ALL.into_iter().map(Format::name).collect();
    for name in &names {
        let target = fuzz::FORMATS.iter().find(|(format, _)| format == name).map(|(_, target)| target);
        let target = target.unwrap_or_else(|| panic!("{name} has no row in the formats of the test kit"));
        assert!(fuzz::TARGETS.iter().any(|(name, _)| name == target), "{target}");
        let dictionary = format!("../tools/fuzz/dictionaries/{target}.dict");
        assert!(corpus::root().join(&dictionary).exists(), "{dictionary}");
    }
    assert!(fuzz::FORMATS.iter().all(|(format, _)| names.contains(format)), "a target of no format");
}

#[test]
fn every_pair_of_formats_has_its_losses() {
    let formats = || Format::ALL.into_iter().filter(|format| !format.is_image());
    for from in formats() {
        for to in formats().filter(|to| to.is_written()) {
            assert!(lost(from.name(), to.name()).is_some(), "{from:?} to {to:?} has no row in the losses");
        }
    }
}

#[test]
fn every_format_has_files() {
    // All tables are in one folder, and some kinds have no files.
    let tables = ["csv", "tsv", "txt", "xyz", "pts", "npy"];
    for format in Format::ALL.into_iter().filter(|format| !tables.contains(&format.name())) {
        let name = format.name();
        // Its files have PLY's extension; the PLY reader distinguishes them.
        let (folder, extension) = if name == "compressed.ply" { ("packed_ply", "ply") } else { (name, name) };
        assert!(!corpus::samples(&format!("{folder}/good"), extension).is_empty(), "{name} has no good file");
    }
}

/// The guide's page has a row for every format: its name, whether it is read, and whether it is written.
#[test]
fn the_page_of_formats_has_every_format() {
    let page = std::fs::read_to_string(corpus::root().join("../docs/guide/formats.md")).unwrap();
    let rows: Vec<Vec<&str>> = page.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    for format in Format::ALL {
        let name = format!("`{}`", format.name());
        let row = rows.iter().find(|row| row.len() > 5 && row[2].split(", ").any(|listed| listed == name));
        let row = row.unwrap_or_else(|| panic!("docs/guide/formats.md has no row for {name}"));
        // Textures are written from images.
        let is_written = format.is_written() || format.is_texture();
        assert_eq!((row[3], row[4]), ("yes", if is_written { "yes" } else { "no" }), "{name}");
    }
}
