//! Compares the counts of the generator with those of the naive reader.

use super::*;
use crate::corpus::Folder;
use naive::{NaiveContents, read};

fn spec() -> Spec {
    Spec { parts: 4, ply_bytes: 60_000, threads: 3, ..Spec::new(300_000) }
}

/// Generates a scene and reads it.
fn round(spec: &Spec) -> (Folder, Made, NaiveContents) {
    let folder = Folder::new("pbrt").unwrap();
    let made = write(spec, folder.path()).unwrap();
    let main = made.main.file_name().unwrap().to_str().unwrap();
    let scene = read(folder.path(), main);
    (folder, made, scene)
}

fn check(made: &Made, contents: &NaiveContents) {
    let text = |counts: &BTreeMap<&'static str, u64>| format!("{counts:?}");
    assert_eq!(text(&made.counts.directives), format!("{:?}", contents.directives));
    assert_eq!(text(&made.counts.shapes), format!("{:?}", contents.shapes));
    let counts = &made.counts;
    assert_eq!(counts.positions, contents.positions);
    assert_eq!(counts.unique_triangles, contents.unique_triangles);
    assert_eq!(counts.instanced_triangles, contents.instanced_triangles);
    assert_eq!(counts.curve_points, contents.curve_points);
    assert_eq!(counts.texture_files, contents.texture_files.len() as u64);
    let of_kind = |kind| made.files.iter().filter(move |file| file.kind == kind);
    let text: BTreeMap<String, u64> = of_kind(FileKind::Text).map(|file| (file.name.clone(), file.bytes)).collect();
    assert_eq!(text, contents.text_bytes);
    assert!(of_kind(FileKind::Ply).map(|file| &file.name).eq(&contents.ply_files));
}

#[test]
fn counts_are_those_of_a_naive_reader() {
    for layout in [Layout::Imports, Layout::OneFile] {
        for codec in [None, Some(Codec::Gzip), Some(Codec::Zstd), Some(Codec::Lz4)] {
            let (folder, made, contents) = round(&Spec { layout, codec, ..spec() });
            check(&made, &contents);
            for file in &made.files {
                assert_eq!(std::fs::metadata(folder.join(&file.name)).unwrap().len(), file.disk_bytes, "{file:?}");
            }
            let (bytes, disk_bytes) = made.bytes(FileKind::Text);
            assert!(if codec.is_some() { disk_bytes < bytes * 3 / 4 } else { disk_bytes == bytes });
        }
    }
}

#[test]
fn every_kind_of_thing_is_there() {
    let (_folder, made, _) = round(&spec());
    let shapes: Vec<&str> = made.counts.shapes.keys().copied().collect();
    assert_eq!(shapes, ["curve", "disk", "plymesh", "sphere", "trianglemesh"]);
    for name in ["Transform", "ConcatTransform", "Include", "Import", "ObjectInstance", "Texture", "MakeNamedMedium"] {
        assert!(made.counts.directives.contains_key(name), "{name}");
    }
    let packed = |file: &&MadeFile| file.kind == FileKind::Ply && file.name.ends_with(".ply.gz");
    assert!(made.files.iter().filter(packed).count() > 0);
    assert!(made.counts.instanced_triangles > 4 * made.counts.unique_triangles);
}

#[test]
fn numbers_are_of_all_kinds() {
    let (folder, _, _) = round(&Spec { layout: Layout::OneFile, ..spec() });
    let text = folder.text("scene.pbrt");
    let words: Vec<&str> = text.split_ascii_whitespace().filter(|word| word.parse::<f32>().is_ok()).collect();
    let digits = |word: &&str| {
        let mantissa = word.split('e').next().unwrap().replace(['-', '.'], "");
        mantissa.trim_start_matches('0').len()
    };
    for count in 4..=9 {
        assert!(words.iter().filter(|word| digits(word) == count).count() > words.len() / 500, "{count}");
    }
    assert!(words.iter().filter(|word| word.contains('e')).count() > words.len() / 500);
    assert!(words.iter().filter(|word| word.starts_with('-')).count() > words.len() / 10);
}

#[test]
fn the_size_is_about_what_was_asked_for() {
    for (text_bytes, ply_bytes) in [(100_000, 0), (1_000_000, 200_000)] {
        let (_folder, made, _) = round(&Spec { ply_bytes, ..Spec::new(text_bytes) });
        let [(text, _), (ply, _)] = [FileKind::Text, FileKind::Ply].map(|kind| made.bytes(kind));
        // Each part has at least its materials and one group.
        assert!((text_bytes..text_bytes + 17 * 9000).contains(&text), "{text}");
        assert!((ply_bytes / 3..=ply_bytes * 3 / 2 + 1).contains(&ply), "{ply}");
        assert_eq!(made.bytes(FileKind::Text).0, made.bytes(FileKind::Text).1);
    }
}

/// Returns the names and contents of all files.
fn bytes(spec: &Spec) -> Vec<(String, Vec<u8>)> {
    let folder = Folder::new("pbrt").unwrap();
    let made = write(spec, folder.path()).unwrap();
    made.files.iter().map(|file| (file.name.clone(), std::fs::read(folder.join(&file.name)).unwrap())).collect()
}

#[test]
fn a_seed_gives_the_same_bytes_for_any_number_of_threads() {
    let spec = spec();
    let single_threaded = bytes(&Spec { threads: 1, ..spec.clone() });
    assert!(single_threaded == bytes(&spec));
    assert!(single_threaded != bytes(&Spec { seed: 2, ..spec.clone() }));
    assert_eq!(
        bytes(&Spec { codec: Some(Codec::Gzip), ..spec.clone() }),
        bytes(&Spec { codec: Some(Codec::Gzip), ..spec })
    );
}

#[test]
fn one_file_has_the_text_of_all() {
    let parts = bytes(&spec());
    let whole = bytes(&Spec { layout: Layout::OneFile, ..spec() });
    let of = |files: &[(String, Vec<u8>)], name: &str| {
        let file = files.iter().find(|(file_name, _)| file_name == name);
        String::from_utf8(file.unwrap().1.clone()).unwrap()
    };
    let mut text = of(&parts, "scene.pbrt");
    text = text.replace("Include \"materials.pbrt\"\n", &of(&parts, "materials.pbrt"));
    for part in 1..=4 {
        let name = format!("part_{part:02}.pbrt");
        let inside = format!("AttributeBegin\n{}AttributeEnd\n", of(&parts, &name));
        text = text.replace(&format!("Import \"{name}\"\n"), &inside);
    }
    assert!(text == of(&whole, "scene.pbrt"));
    let ply = |files: &[(String, Vec<u8>)]| {
        files.iter().filter(|(name, _)| name.contains(".ply")).cloned().collect::<Vec<_>>()
    };
    assert!(ply(&parts) == ply(&whole) && !ply(&parts).is_empty());
}
