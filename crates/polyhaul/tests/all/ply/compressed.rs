//! Compressed files are read as plain ones.

use crate::ply::support::{memory, options, scene_text, stream, tables_text};
use polyhaul::{Format, Input, Reader};
use polyhaul_testkit::corpus::{root, samples};
use polyhaul_testkit::packed::{CODECS, pack};

#[test]
fn every_codec_and_any_members() {
    for file in samples("ply/good", "ply").iter().filter(|file| file.size < 8000) {
        let plain = file.bytes();
        let as_tables = tables_text(&Reader::new(memory(&plain)).options(&options(1, None)).tables());
        let as_scene = scene_text(&Reader::new(memory(&plain)).options(&options(1, None)).scene());
        for (codec, extension) in CODECS {
            for member_bytes in [97, 1 << 20] {
                let packed = pack(codec, &plain, member_bytes);
                let name = format!("x.ply.{extension}");
                for chunk_bytes in [Some(50), None] {
                    let way = options(2, chunk_bytes);
                    let input = || Input::Memory(packed.clone(), name.clone());
                    let rename = |text: String| text.replace(&name, "x.ply");
                    assert_eq!(
                        rename(tables_text(&Reader::new(input()).options(&way).tables())),
                        as_tables,
                        "{} {name}",
                        file.name
                    );
                    assert_eq!(
                        rename(scene_text(&Reader::new(input()).options(&way).scene())),
                        as_scene,
                        "{} {name}",
                        file.name
                    );
                    let streamed = tables_text(&Reader::new(stream(&packed, 5)).options(&way).tables());
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
        let expected = Reader::new(plain).options(&options(1, None)).tables().unwrap().value.tables;
        assert!(expected.iter().any(|table| table.row_count > 0));
        let packed = samples(&format!("{codec}/good"), codec);
        for file in packed.iter().filter(|file| file.name.contains("mesh.ply")) {
            // Some have names such as `mesh.ply.bgzf.gz`, which say nothing.
            let options = options(2, 100).with_format(Some(Format::Ply));
            let loaded = Reader::new(&file.path).options(&options).tables().unwrap().value.tables;
            assert_eq!(loaded, expected, "{}", file.name);
        }
    }
}
