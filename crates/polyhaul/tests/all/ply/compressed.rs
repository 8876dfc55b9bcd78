//! Compressed files are read as plain ones.

use crate::ply::support::{memory, options, scene_text, stream, tables_text};
use polyhaul::{Format, Input, ReadOptions, load, load_tables};
use polyhaul_testkit::corpus::{root, samples};
use polyhaul_testkit::packed::{CODECS, pack};

#[test]
fn every_codec_and_any_members() {
    for file in samples("ply/good", "ply").iter().filter(|file| file.size < 8000) {
        let plain = file.bytes();
        let as_tables = tables_text(&load_tables(memory(&plain), &options(1, None)));
        let as_scene = scene_text(&load(memory(&plain), &options(1, None)));
        for (codec, extension) in CODECS {
            for member_bytes in [97, 1 << 20] {
                let packed = pack(codec, &plain, member_bytes);
                let name = format!("x.ply.{extension}");
                for chunk_bytes in [Some(50), None] {
                    let way = options(2, chunk_bytes);
                    let input = || Input::Memory(packed.clone(), name.clone());
                    let rename = |text: String| text.replace(&name, "x.ply");
                    assert_eq!(rename(tables_text(&load_tables(input(), &way))), as_tables, "{} {name}", file.name);
                    assert_eq!(rename(scene_text(&load(input(), &way))), as_scene, "{} {name}", file.name);
                    let streamed = tables_text(&load_tables(stream(&packed, 5), &way));
                    assert_eq!(streamed, as_tables, "{} {name}, a stream", file.name);
                }
            }
        }
    }
}

#[test]
fn the_files_of_the_codecs() {
    for codec in ["gz", "zst", "lz4"] {
        let plain = root().join(codec).join("good/mesh.ply");
        let expected = load_tables(Input::Path(plain), &options(1, None)).unwrap().tables;
        assert!(expected.iter().any(|table| table.row_count > 0));
        let packed = samples(&format!("{codec}/good"), codec);
        for file in packed.iter().filter(|file| file.name.contains("mesh.ply")) {
            // Some have names such as `mesh.ply.bgzf.gz`, which say nothing.
            let options = ReadOptions { format: Some(Format::Ply), ..options(2, 100) };
            let found = load_tables(Input::Path(file.path.clone()), &options).unwrap().tables;
            assert_eq!(found, expected, "{}", file.name);
        }
    }
}
