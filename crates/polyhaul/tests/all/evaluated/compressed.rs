//! Compressed output: the same text, and the same bytes for any threads and chunks.

use super::scenes::{self, Numbers};
use super::support::*;
use polyhaul::model::Scene;
use polyhaul::options::{Codec, Compression, RunOptions};
use polyhaul::{ErrorKind, WriteOptions};
use polyhaul_bytes::{DecompressLimits, MEMBER_BYTES, Source};
use polyhaul_testkit::packed::unpack;
use std::fs;

fn plain_of(bytes: Vec<u8>) -> Vec<u8> {
    assert!(Codec::of_content(&bytes).is_some());
    let (plain, damage) = unpack(Source::memory(bytes), &DecompressLimits::default(), 1 << 16);
    assert_eq!(damage, None);
    plain
}

/// Several members' worth of objects.
fn scene() -> Scene {
    let mut scene = scenes::scene(&mut Random::new(11), Numbers::Wild);
    let objects = scene.objects.clone();
    (0..300).for_each(|_| scene.objects.extend_from_slice(&objects));
    scene
}

fn options(codec: Option<Codec>, run: RunOptions) -> WriteOptions {
    with_run(&WriteOptions::default(), run).with_compression(codec.map_or_else(Compression::default, Compression::from))
}

#[test]
fn by_name_and_by_option_it_is_the_same_text() {
    let scene = scene();
    let text = bytes(&scene, &plain());
    assert!(text.len() > MEMBER_BYTES, "{}", text.len());
    for (codec, extension) in CODECS {
        let by_option = try_named(&scene, "memory", &options(Some(codec), run(1, None, LIMITS[0]))).unwrap();
        assert_eq!(Codec::of_content(&by_option), Some(codec));
        let by_name = try_named(&scene, &format!("a.obj.{extension}"), &plain()).unwrap();
        assert!(by_name == by_option, "{extension}");
        assert!(plain_of(by_option) == text, "{extension}");
        let folder = new_folder();
        let path = folder.join(&format!("a.obj.{extension}"));
        polyhaul::Writer::new(&path).options(&plain()).scene(&scene).unwrap();
        let with_library = plain_of(fs::read(path).unwrap());
        let with_library = without_comments(std::str::from_utf8(&with_library).unwrap());
        let rest: String = with_library.split_inclusive('\n').filter(|line| !line.starts_with("mtllib")).collect();
        assert!(rest == without_comments(std::str::from_utf8(&text).unwrap()), "{extension}");
    }
}

#[test]
fn levels_change_the_size_alone() {
    let scene = scene();
    let text = bytes(&scene, &plain());
    for (codec, levels) in [(Codec::Gzip, [1, 9]), (Codec::Zstd, [1, 10])] {
        let written = levels.map(|level| {
            let options = options(None, run(2, None, LIMITS[0])).with_compression(codec.into()).with_level(Some(level));
            try_bytes(&scene, &options).unwrap()
        });
        assert!(written[0].len() > written[1].len(), "{codec:?}");
        written.into_iter().for_each(|bytes| assert!(plain_of(bytes) == text, "{codec:?}"));
    }
    for (codec, level) in [(Codec::Gzip, 99), (Codec::Zstd, 99), (Codec::Gzip, -99)] {
        let options = options(None, RunOptions::default()).with_compression(codec.into()).with_level(Some(level));
        let error = try_bytes(&scene, &options).err().unwrap_or_else(|| panic!("{codec:?} {level}: no error"));
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    }
}
