//! Compressed files are read like uncompressed ones.

use crate::ply::support::options;
use polyhaul::{Format, Reader};
use polyhaul_testkit::corpus::{root, samples};

#[test]
fn the_files_of_the_codecs() {
    for codec in ["gz", "zst", "lz4"] {
        let plain = root().join(codec).join("good/mesh.ply");
        let expected = Reader::new(plain).options(&options(1, None)).tables().unwrap().value.tables;
        assert!(expected.iter().any(|table| table.row_count > 0));
        let packed = samples(&format!("{codec}/good"), codec);
        for file in packed.iter().filter(|file| file.name.contains("mesh.ply")) {
            // Some have names such as `mesh.ply.bgzf.gz`, which do not identify the format.
            let options = options(2, 100).with_format(Some(Format::Ply));
            let loaded = Reader::new(&file.path).options(&options).tables().unwrap().value.tables;
            assert_eq!(loaded, expected, "{}", file.name);
        }
    }
}
