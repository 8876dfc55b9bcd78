//! Imports many images to a texture folder: new, unchanged and failed ones.

use polyhaul::model::Encoding;
use polyhaul::options::{Progress, RunOptions};
use polyhaul::textures::{Imports, Outcome, Source, TextureOptions, find_images, import_textures};
use polyhaul::{ErrorKind, Result};
use polyhaul_testkit::corpus::Folder;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const MANIFEST: &str = ".polyhaul-textures";

/// A TGA with two gray pixels.
fn tga(first: u8, second: u8) -> Vec<u8> {
    vec![0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 8, 0, first, second]
}

/// A folder of images, and a folder for textures.
fn folder(test: &str, count: u8) -> (Folder, PathBuf, PathBuf) {
    let folder = Folder::new(test).unwrap();
    let from = folder.path().join("in");
    let to = folder.path().join("out");
    std::fs::create_dir_all(from.join("deep/er")).unwrap();
    for number in 0..count {
        let place = ["", "deep", "deep/er"][usize::from(number) % 3];
        std::fs::write(from.join(place).join(format!("{number:03}.tga")), tga(number, 7)).unwrap();
    }
    (folder, from, to)
}

fn plain() -> TextureOptions {
    TextureOptions::default().with_encoding(Some(Encoding::default()))
}

fn import(from: &Path, to: &Path, options: &TextureOptions, force: bool) -> Result<Imports> {
    import_textures(&find_images(&[from.into()])?, to, options, force, &|_, _| ())
}

fn counts(from: &Path, to: &Path) -> [usize; 3] {
    import(from, to, &plain(), false).unwrap().counts()
}

#[test]
fn folders_keep_their_places() {
    let (_folder, from, to) = folder("textures-tree", 6);
    std::fs::write(from.join("notes.txt"), "no image").unwrap();
    std::fs::write(from.join("old.dds"), "a texture").unwrap();
    let names: Vec<_> =
        find_images(std::slice::from_ref(&from)).unwrap().into_iter().map(|source| source.name).collect();
    let expected = ["000.tga", "003.tga", "deep/001.tga", "deep/004.tga", "deep/er/002.tga", "deep/er/005.tga"];
    assert_eq!(names, expected.map(PathBuf::from));
    assert_eq!(counts(&from, &to), [6, 0, 0]);
    assert!(expected.iter().all(|name| to.join(name).with_extension("dds").is_file()));
    // A file that is given directly is written to the folder itself.
    let single = find_images(&[from.join("deep/er/002.tga")]).unwrap();
    assert_eq!(single, [Source { path: from.join("deep/er/002.tga"), name: "002.tga".into(), found: None }]);
}

#[test]
fn what_did_not_change_is_left_out() {
    let (_folder, from, to) = folder("textures-unchanged", 4);
    assert_eq!(counts(&from, &to), [4, 0, 0]);
    let manifest = std::fs::read(to.join(MANIFEST)).unwrap();
    assert_eq!(counts(&from, &to), [0, 4, 0]);
    assert_eq!(std::fs::read(to.join(MANIFEST)).unwrap(), manifest);
    std::fs::write(from.join("000.tga"), tga(99, 99)).unwrap();
    std::fs::remove_file(to.join("003.dds")).unwrap();
    assert_eq!(counts(&from, &to), [2, 2, 0]);
    std::fs::write(to.join("000.dds"), "of another size").unwrap();
    assert_eq!(counts(&from, &to), [1, 3, 0]);
    assert_eq!(import(&from, &to, &plain(), true).unwrap().counts(), [4, 0, 0]);
    let other = plain().with_mips(None);
    assert_eq!(import(&from, &to, &other, false).unwrap().counts(), [4, 0, 0]);
    // The number of threads does not matter.
    let run = RunOptions::default().with_threads(Some(3));
    assert_eq!(import(&from, &to, &other.with_run(run), false).unwrap().counts(), [0, 4, 0]);
}

#[test]
fn a_damaged_manifest_is_none() {
    let (_folder, from, to) = folder("textures-damaged", 3);
    assert_eq!(counts(&from, &to), [3, 0, 0]);
    let manifest = std::fs::read_to_string(to.join(MANIFEST)).unwrap();
    assert_eq!(manifest.lines().count(), 3);
    // The last line is truncated, as after a crash.
    std::fs::write(to.join(MANIFEST), &manifest[..manifest.len() - 3]).unwrap();
    assert_eq!(counts(&from, &to), [1, 2, 0]);
    assert_eq!(std::fs::read_to_string(to.join(MANIFEST)).unwrap(), manifest);
    std::fs::write(to.join(MANIFEST), b"\xff\xfe\0 1 2 3\n\n\n 9").unwrap();
    assert_eq!(counts(&from, &to), [3, 0, 0]);
    std::fs::remove_file(to.join(MANIFEST)).unwrap();
    assert_eq!(counts(&from, &to), [3, 0, 0]);
    assert_eq!(std::fs::read_to_string(to.join(MANIFEST)).unwrap(), manifest);
}

#[test]
fn a_bad_file_does_not_stop_the_others() {
    let (_folder, from, to) = folder("textures-bad", 5);
    std::fs::write(from.join("000.tga"), "no image").unwrap();
    let seen = Mutex::new(Vec::new());
    let sources = find_images(std::slice::from_ref(&from)).unwrap();
    let observe = |source: &Source, outcome: &Outcome| {
        if let Outcome::Failed(error) = outcome {
            seen.lock().unwrap().push((source.name.clone(), error.kind()));
        }
    };
    let imports = import_textures(&sources, &to, &plain(), false, &observe).unwrap();
    assert_eq!(imports.counts(), [4, 0, 1]);
    assert!(matches!(&imports.outcomes[0], Outcome::Failed(_)));
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen, [(PathBuf::from("000.tga"), ErrorKind::Malformed)]);
    assert!(!to.join("000.dds").exists());
    // Failed imports are tried again; the others are unchanged.
    assert_eq!(counts(&from, &to), [0, 4, 1]);
}

#[test]
fn what_is_interrupted_goes_on() {
    let (_folder, from, to) = folder("textures-interrupted", 9);
    let run = RunOptions::default().with_threads(Some(1));
    let cancel = run.cancel.clone();
    let progress = Progress(Arc::new(move |finished, total| {
        assert_eq!(total, Some(9));
        if finished == 4 {
            cancel.cancel();
        }
    }));
    let options = plain().with_run(run.with_progress(Some(progress)));
    assert_eq!(import(&from, &to, &options, false).unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(counts(&from, &to), [5, 4, 0]);
}

#[test]
fn two_images_for_one_texture_are_an_error() {
    let (_folder, from, to) = folder("textures-twins", 1);
    std::fs::write(from.join("000.hdr"), "never read").unwrap();
    let error = import(&from, &to, &plain(), false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    let message = &error.diagnostic().message;
    assert!(message.contains("000.tga") && message.contains("000.hdr"), "{message}");
    assert!(!to.exists());
}

#[test]
fn a_texture_does_not_replace_another_input() {
    let (_folder, from, to) = folder("textures-replaced", 2);
    assert_eq!(counts(&from, &to), [2, 0, 0]);
    // Its own texture is `001.dds`, but `deep/001.tga` would overwrite it.
    let sources = find_images(&[from, to.join("deep/001.dds")]).unwrap();
    let error = import_textures(&sources, &to, &plain(), false, &|_, _| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.diagnostic().message.contains("is an input"), "{error}");
}

#[test]
fn large_and_small_files_make_the_same() {
    let (_folder, from, to) = folder("textures-memory", 6);
    let made = |memory_limit, threads| {
        let run = RunOptions::default().with_threads(Some(threads)).with_memory_limit(memory_limit);
        let _ = std::fs::remove_dir_all(&to);
        assert_eq!(import(&from, &to, &plain().with_run(run), false).unwrap().counts(), [6, 0, 0]);
        let manifest = std::fs::read(to.join(MANIFEST)).unwrap();
        (std::fs::read(to.join("deep/001.dds")).unwrap(), manifest)
    };
    assert_eq!(made(1, 2), made(64 << 20, 2));
    assert_eq!(made(1, 1), made(64 << 20, 7));
}

#[test]
fn channels_and_attributes_of_an_image_are_noted() {
    use polyhaul::model::{ChannelSamples, Image, ImageAttribute, ImageChannel, Samples};
    let folder = Folder::new("textures-channels").unwrap();
    let path = folder.path().join("light.exr");
    let samples = Samples::F32([0.0, 0.5, 1.0].into());
    let extra = vec![ImageChannel { name: "Z".into(), samples: ChannelSamples::F32([7.0].into()) }];
    let attributes = vec![ImageAttribute { name: "owner".into(), kind: "string".into(), value: b"me".to_vec() }];
    let color_space = polyhaul::model::ColorSpace::Linear;
    let image = Image { width: 1, height: 1, samples, color_space, extra, attributes, ..Image::default() };
    polyhaul::Writer::new(&path).image(&image).unwrap();
    let texel = polyhaul::model::Texel::F16;
    let plain = TextureOptions::default().with_encoding(Some(Encoding::Plain { channels: 4, texel }));
    let import = |options: &TextureOptions| {
        let output = polyhaul::Output::Path(folder.path().join("light.dds"));
        polyhaul::textures::import_texture(polyhaul::Input::Path(path.clone()), output, options)
    };
    let error = import(&plain.clone().with_strict(true)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(!folder.path().join("light.dds").exists());
    let report = import(&plain).unwrap().report;
    let messages: Vec<&str> = report.warnings.kept().iter().map(|warning| &*warning.diagnostic.message).collect();
    assert_eq!(
        messages,
        [
            "dropped 1 channel, which a texture cannot store: `Z`",
            "dropped 1 attribute, which a texture cannot store: `owner`",
        ]
    );
}

#[test]
fn alpha_that_the_encoding_drops_is_noted() {
    use polyhaul::model::{Channels, Image, Samples, Texel};
    let folder = Folder::new("textures-alpha").unwrap();
    let path = folder.path().join("leaf.png");
    let dropped = |alpha: u8, channels: u8| {
        let samples = Samples::U8([10, 20, 30, alpha].into());
        let image = Image { width: 1, height: 1, channels: Channels::Rgba, samples, ..Image::default() };
        polyhaul::Writer::new(&path).image(&image).unwrap();
        let options = TextureOptions::default().with_encoding(Some(Encoding::Plain { channels, texel: Texel::U8 }));
        let output = polyhaul::Output::Path(folder.path().join("leaf.ktx2"));
        let made = polyhaul::textures::import_texture(polyhaul::Input::Path(path.clone()), output, &options).unwrap();
        made.report.warnings.counts().get("left-out-alpha").copied()
    };
    assert_eq!([dropped(128, 2), dropped(128, 4), dropped(255, 2)], [Some(1), None, None]);
}

#[test]
fn light_that_halves_do_not_hold_is_noted() {
    // A Radiance file of one pixel with brightness 65,536.
    let hdr = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 1\n\x80\x80\x80\x91".to_vec();
    let halves = Encoding::Plain { channels: 4, texel: polyhaul::model::Texel::F16 };
    let floats = Encoding::Plain { channels: 4, texel: polyhaul::model::Texel::F32 };
    for (encoding, expected) in [(halves, Some(&3)), (floats, None)] {
        let folder = Folder::new("textures-light").unwrap();
        let output = polyhaul::Output::Path(folder.path().join("light.dds"));
        let options = TextureOptions::default().with_encoding(Some(encoding));
        let input = polyhaul::Input::Memory(hdr.clone(), "light.hdr".into());
        let report = polyhaul::textures::import_texture(input, output, &options).unwrap().report;
        assert_eq!(report.warnings.counts().get("cut-samples"), expected, "{encoding:?}");
    }
}

#[test]
fn data_that_bytes_do_not_hold_is_noted() {
    // A Radiance file of one pixel with brightness 4, which is clamped: single-channel blocks store bytes.
    let folder = Folder::new("textures-data").unwrap();
    let path = folder.path().join("light.hdr");
    std::fs::write(&path, b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 1\n\x80\x80\x80\x83").unwrap();
    let output = polyhaul::Output::Path(folder.path().join("light.dds"));
    let options = TextureOptions::default().with_encoding(Some(Encoding::Bc4 { signed: false }));
    match polyhaul::textures::import_texture(polyhaul::Input::Path(path), output, &options) {
        Ok(made) => assert_eq!(made.report.warnings.counts()["cut-samples"], 3),
        // Some systems have no block encoder.
        Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported),
    }
}
