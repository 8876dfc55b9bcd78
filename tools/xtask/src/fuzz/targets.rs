//! The fuzz targets: seeds, maximum input sizes, and goals.

/// A fuzz target. Its dictionary is in `tools/fuzz/dictionaries`.
pub(super) struct Target {
    pub(super) name: &'static str,
    /// Folder of test data with its seeds.
    pub(super) seeds: &'static str,
    /// Maximum input size of most turns: small inputs run fast, and most bugs need few bytes.
    pub(super) max_bytes: usize,
    /// Number of executions that long runs aim for.
    pub(super) goal: u64,
    /// Folder of the code that it tests.
    pub(super) parser: &'static str,
}

/// Goal of the most important and the newest parsers.
const MANY: u64 = 2_000_000;

const SOME: u64 = 500_000;

/// Goal of targets with thousands of instructions per byte.
const FEW: u64 = 50_000;

const fn target(name: &'static str, seeds: &'static str, max_bytes: usize, goal: u64, parser: &'static str) -> Target {
    Target { name, seeds, max_bytes, goal, parser }
}

pub(super) const TARGETS: &[Target] = &[
    target("obj", "testdata/obj", 512, MANY, "crates/formats/obj"),
    target("mtl", "testdata/obj", 512, SOME, "crates/formats/obj"),
    target("numbers", "testdata/obj", 1024, SOME, "crates/core/text"),
    target("filter", "testdata/filter", 256, SOME, "crates/core/model"),
    target("logs", "testdata/logs", 512, SOME, "crates/batch"),
    target("packed", "testdata", 2048, SOME, "crates/core/bytes"),
    target("zip", "testdata/zip", 2048, MANY, "crates/core/bytes"),
    target("ply", "testdata/ply", 512, MANY, "crates/formats/ply"),
    target("stl", "testdata/stl", 512, MANY, "crates/formats/stl"),
    target("off", "testdata/off", 512, MANY, "crates/formats/off"),
    target("gltf", "testdata/glb", 2048, SOME, "crates/formats/gltf"),
    target("gltf-built", "testdata/glb", 1024, SOME, "crates/formats/gltf"),
    target("spz", "testdata/spz", 4096, SOME, "crates/formats/splat"),
    target("splat", "testdata/splat", 4096, SOME, "crates/formats/splat"),
    target("sog", "testdata/sog/joined", 8192, SOME, "crates/formats/splat"),
    target("pbrt", "testdata/pbrt", 512, SOME, "crates/formats/pbrt"),
    target("pbrt-built", "testdata/pbrt", 1024, SOME, "crates/formats/pbrt"),
    target("table", "testdata/table", 512, SOME, "crates/formats/table"),
    target("convert", "testdata/table", 2048, FEW, "crates/polyhaul"),
    target("tga", "testdata/tga", 2048, SOME, "crates/formats/image"),
    target("hdr", "testdata/hdr", 2048, SOME, "crates/formats/image"),
    target("bmp", "testdata/bmp", 2048, SOME, "crates/formats/image"),
    target("psd", "testdata/psd", 2048, SOME, "crates/formats/image"),
    target("dds", "testdata/dds", 2048, SOME, "crates/formats/image"),
    target("ktx2", "testdata/ktx2", 2048, SOME, "crates/formats/image"),
    target("png", "testdata/png", 2048, MANY, "crates/formats/image"),
    target("jpeg", "testdata/jpg", 2048, MANY, "crates/formats/image"),
    target("exr", "testdata/exr", 4096, MANY, "crates/formats/image"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    #[test]
    fn every_target_has_its_body_its_words_its_seeds_and_its_parser() {
        let bodies = std::fs::read_to_string(root::root().join("tools/testkit/src/fuzz.rs")).unwrap();
        let bodies = bodies.split_once("pub const TARGETS").unwrap().1.split_once("];").unwrap().0;
        for Target { name, seeds, parser, .. } in TARGETS {
            assert!(bodies.contains(&format!("(\"{name}\", ")), "{name}");
            for path in [&format!("tools/fuzz/dictionaries/{name}.dict"), *seeds, *parser] {
                assert!(root::root().join(path).exists(), "{path}");
            }
        }
        assert_eq!(bodies.matches("    (\"").count(), TARGETS.len());
    }
}
