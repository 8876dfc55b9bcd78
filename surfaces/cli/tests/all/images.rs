//! Images through the command.

use crate::common::{Folder, run};

/// Two pixels with 24 bits, in blue, green, red order.
const TGA: [u8; 24] = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 24, 0, 1, 2, 3, 4, 5, 6];

#[test]
fn info_says_what_an_image_is() {
    let folder = Folder::new("image-info");
    let path = folder.path("two.tga");
    std::fs::write(&path, TGA).unwrap();
    let ran = run(&["info", &path]).expect(0);
    assert!(ran.stdout.contains("2 x 1 pixels, rgb, 8 bits, srgb"), "{ran:?}");
    let value = run(&["info", "--json", &path]).expect(0).json_file();
    assert_eq!((value["image"]["width"].as_u64(), value["image"]["channels"].as_str()), (Some(2), Some("rgb")));
}

#[test]
fn channels_layers_and_parts_are_listed_and_chosen() {
    let folder = Folder::new("image-layers");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/exr/good/own/layers_and_parts.exr").to_owned();
    let ran = run(&["info", &path]).expect(0);
    for words in [
        "4 x 3 pixels, rgb, 32 bits, linear, 4 more channels",
        "more channels: Z (float32), diffuse.B (float16), diffuse.G (float16), diffuse.R (float16)",
        "attributes: name, owner",
        "part 0, beauty: 4 x 3 pixels, layers diffuse; channels B (float16), ",
        "part 1, other: 2 x 2 pixels; channels B (float16), G (float16), R (float16)",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {ran:?}");
    }
    assert!(ran.stderr.contains("left-out-parts") && ran.stderr.contains("`other`"), "{ran:?}");
    let image = run(&["info", "--json", &path]).expect(0).json_file()["image"].clone();
    assert_eq!((&image["extra"][0]["name"], &image["extra"][0]["type"]), (&"Z".into(), &"float32".into()));
    assert_eq!((&image["parts"][1]["name"], &image["parts"][1]["read"]), (&"other".into(), &false.into()));
    assert_eq!(image["parts"][0]["layers"][0], "diffuse");

    let png = folder.path("out.png");
    run(&["convert", &path, &png, "--layer", "diffuse", "--strict"]).expect(1);
    run(&["convert", &path, &png, "--part", "other", "--layer", "diffuse"]).expect(2);
    run(&["convert", &path, &folder.path("diffuse.exr"), "--layer", "diffuse", "--strict"]).expect(0);
    let info = run(&["info", &folder.path("diffuse.exr")]).expect(0);
    assert!(info.stdout.contains("channels diffuse.B (float16), diffuse.G (float16), diffuse.R (float16)"), "{info:?}");
    let ran = run(&["convert", &path, &png, "--layer", "specular"]).expect(2);
    assert!(ran.stderr.contains("no layer `specular`; it has `diffuse`"), "{ran:?}");
    run(&["convert", &path, &png, "--strict"]).expect(1);
    let ran = run(&["convert", &path, &png]).expect(0);
    assert!(ran.stderr.contains("left-out-channels") && ran.stderr.contains("left-out-attributes"), "{ran:?}");
    // Parts that were not read cannot make the file invalid.
    run(&["validate", &path, "--strict"]).expect(0);
    let ran = run(&["validate", &path, "--part", "1", "--strict"]).expect(0);
    assert!(!ran.stdout.contains("left-out"), "{ran:?}");
}

#[test]
fn info_says_what_a_texture_is() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/");
    let words = [
        ("dds/good/openimageio-images/dds_npot_bc3_mips.dds", "13 x 7 pixels, rgba, 8 bits, srgb, bc3, 4 levels"),
        ("ktx2/good/bc7_zstd.ktx2", "16 x 8 pixels, rgba, 8 bits, linear, bc7\n"),
        ("ktx2/good/rgba8.ktx2", "16 x 8 pixels, rgba, 8 bits, srgb, rgba8\n"),
    ];
    for (name, words) in words {
        let ran = run(&["info", &format!("{root}{name}")]).expect(0);
        assert!(ran.stdout.contains(words), "{ran:?}");
    }
    let value = run(&["info", "--json", &format!("{root}{}", words[0].0)]).expect(0).json_file();
    let texture = &value["image"]["texture"];
    assert_eq!((texture["encoding"].as_str(), texture["levels"].as_u64()), (Some("bc3"), Some(4)));
    assert_eq!(
        (texture["faces"].as_u64(), texture["layers"].as_u64(), texture["depth"].as_u64()),
        (Some(1), Some(1), Some(1))
    );
}

#[test]
fn images_are_converted_to_images() {
    let folder = Folder::new("image-convert");
    let path = folder.path("two.tga");
    let out = folder.path("out.tga");
    std::fs::write(&path, TGA).unwrap();
    let ran = run(&["convert", &path, &out, "--rle"]).expect(0);
    assert!(ran.stderr.contains("2 x 1 pixels"), "{ran:?}");
    let bytes = std::fs::read(&out).unwrap();
    assert_eq!((bytes[2], &bytes[18..25]), (10, &[1, 1, 2, 3, 4, 5, 6][..]));
    let obj = folder.file("a.obj", crate::common::SOUND);
    for (from, to) in [(&path, "b.obj"), (&obj, "a.tga")] {
        let ran = run(&["convert", from, &folder.path(to)]).expect(2);
        assert!(ran.stderr.contains("obj is not an image format"), "{ran:?}");
    }
    assert_eq!(folder.names(), ["a.obj", "out.tga", "two.tga"]);
}

#[test]
fn png_is_packed_as_hard_as_asked() {
    let folder = Folder::new("image-png");
    let tga = folder.path("large.tga");
    let png = folder.path("large.png");
    // 256 x 256 pixels.
    let header = TGA[..12].iter().copied().chain([0, 1, 0, 1, 24, 0]);
    let pixels = (0..3 * 65_536_u64).map(|at| (at * at / 7_777_777) as u8);
    std::fs::write(&tga, header.chain(pixels).collect::<Vec<u8>>()).unwrap();
    let sizes = ["fast", "balanced", "best"].map(|level| {
        run(&["convert", &tga, &png, "--png-level", level]).expect(0);
        std::fs::read(&png).unwrap().len()
    });
    assert!(sizes[2] < sizes[0], "{sizes:?}");
    let ran = run(&["info", &png]).expect(0);
    assert!(ran.stdout.contains("256 x 256 pixels, rgb, 8 bits, srgb"), "{ran:?}");
    run(&["convert", &tga, &png, "--png-level", "most"]).expect(2);
    let ran = run(&["convert", &tga, &folder.path("large.bmp")]).expect(2);
    assert!(ran.stderr.contains("BMP is read-only"), "{ran:?}");
}

#[test]
fn jpeg_is_as_large_as_its_quality() {
    let folder = Folder::new("image-jpeg");
    let tga = folder.path("large.tga");
    let jpg = folder.path("large.jpg");
    let header = TGA[..12].iter().copied().chain([0, 1, 0, 1, 24, 0]);
    let pixels = (0..3 * 65_536_u64).map(|at| (at * at / 7_777_777) as u8);
    std::fs::write(&tga, header.chain(pixels).collect::<Vec<u8>>()).unwrap();
    let size = |options: &[&str]| {
        run(&[&["convert", &tga, &jpg], options].concat()).expect(0);
        std::fs::read(&jpg).unwrap().len()
    };
    let sizes = [size(&["--quality", "20"]), size(&[]), size(&["--quality", "100"])];
    assert!(sizes[0] < sizes[1] && sizes[1] < sizes[2], "{sizes:?}");
    assert_eq!(size(&["--quality", "90"]), sizes[1]);
    assert!(run(&["info", &jpg]).expect(0).stdout.contains("256 x 256 pixels, rgb, 8 bits, srgb"));
    for quality in ["0", "101", "high"] {
        run(&["convert", &tga, &jpg, "--quality", quality]).expect(2);
    }
    let named = folder.path("named");
    run(&["convert", &tga, &named, "--to", "jpg"]).expect(0);
    assert_eq!(std::fs::read(&named).unwrap().len(), sizes[1]);
}

#[test]
fn light_becomes_bytes_and_bytes_light() {
    let folder = Folder::new("image-light");
    let path = folder.path("two.tga");
    let light = folder.path("two.hdr");
    let back = folder.path("back.tga");
    std::fs::write(&path, TGA).unwrap();
    run(&["convert", &path, &light]).expect(0);
    assert!(run(&["info", &light]).expect(0).stdout.contains("2 x 1 pixels, rgb"));
    run(&["convert", &light, &back]).expect(0);
    assert_eq!(std::fs::read(&back).unwrap()[18..24], TGA[18..]);
}

#[test]
fn a_broken_image_says_where() {
    let folder = Folder::new("image-broken");
    let path = folder.path("cut.tga");
    std::fs::write(&path, &TGA[..23]).unwrap();
    let ran = run(&["info", &path]).expect(1);
    assert!(ran.stderr.contains("unexpected end of file: the header declares 2 x 1 pixels"), "{ran:?}");
    std::fs::write(&path, TGA).unwrap();
    let ran = run(&["info", &path, "--limit", "pixels=1"]).expect(1);
    assert!(ran.stderr.contains("`--limit pixels=2`"), "{ran:?}");
}
