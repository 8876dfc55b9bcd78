//! Archives as programs create them, and names in scenes as people write them.

use crate::support::read_options;
use polyhaul::model::Scene;
use polyhaul::{Loaded, ReadOptions, Reader, Result};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::zip::crc32;

const OBJ: &str = "mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl a\nf 1 2 3\n";
const MTL: &str = "newmtl a\nKd 1 0 0\nmap_Kd tex/a.png\n";

/// A zip archive of stored members: names, name flags, and contents.
fn zip(members: &[(&[u8], u16, &[u8])], before: &[u8], after: &[u8], adjusts: bool) -> Vec<u8> {
    let base = if adjusts { before.len() as u32 } else { 0 };
    let mut bytes = before.to_vec();
    let mut directory = Vec::new();
    for (name, flags, content) in members {
        let offset = bytes.len() as u32 - before.len() as u32 + base;
        let crc = crc32(content);
        let size = (content.len() as u32).to_le_bytes();
        let common = [&[20, 0][..], &flags.to_le_bytes(), &[0; 6], &crc.to_le_bytes(), &size, &size].concat();
        let length = (name.len() as u16).to_le_bytes();
        bytes.extend([&b"PK\x03\x04"[..], &common, &length, &[0, 0], name, content].concat());
        let rest = [&length[..], &[0; 12], &offset.to_le_bytes(), name].concat();
        directory.extend([&b"PK\x01\x02\x14\0"[..], &common, &rest].concat());
    }
    let start = bytes.len() as u32 - before.len() as u32 + base;
    let count = (members.len() as u16).to_le_bytes();
    let end = [&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &(directory.len() as u32).to_le_bytes()].concat();
    [bytes, directory, end, start.to_le_bytes().to_vec(), vec![0, 0], after.to_vec()].concat()
}

fn try_read(folder: &Folder, name: &str) -> Result<Loaded<Scene>> {
    Reader::new(folder.join(name)).options(&read_options(1, None)).scene()
}

fn is_red(scene: &Scene) -> bool {
    scene.materials[0].diffuse == Some(polyhaul::model::Color::Rgb([1.0, 0.0, 0.0]))
}

#[test]
fn bytes_before_and_after_an_archive_do_not_matter() {
    let folder = Folder::new("zip-ends").unwrap();
    let members: [(&[u8], u16, &[u8]); 2] = [(b"a/x.obj", 0, OBJ.as_bytes()), (b"a/m.mtl", 0, MTL.as_bytes())];
    let script = b"#!/bin/sh\nunzip \"$0\"\nexit\n".repeat(3);
    for (number, (before, after, adjusts)) in [
        (&script[..], &b""[..], false),
        (&script[..], b"", true),
        (b"", b"\r\n", false),
        (b"", &[0; 3000], false),
        (&script[..], b"PK\x05\x06 and more", false),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{number}.zip");
        folder.file(&name, zip(&members, before, after, adjusts)).unwrap();
        assert!(is_red(&try_read(&folder, &name).unwrap().value), "{number}");
        assert!(is_red(&try_read(&folder, &format!("{name}/a/x.obj")).unwrap().value), "{number}");
    }
    folder.file("none.zip", b"not an archive").unwrap();
    assert!(try_read(&folder, "none.zip").is_err());
}

#[test]
fn an_archive_with_one_scene_is_that_scene() {
    let folder = Folder::new("zip-scene").unwrap();
    let scene: [(&[u8], u16, &[u8]); 2] = [(b"scene.obj", 0, OBJ.as_bytes()), (b"m.mtl", 0, MTL.as_bytes())];
    let others: [(&[u8], u16, &[u8]); 4] = [
        (b"license.txt", 0, b"free"),
        (b"textures/a.png", 0, b"?"),
        (b"tex/b.JPG", 0, b"?"),
        (b"points.csv", 0, b"1,2\n"),
    ];
    folder.file("scene.zip", zip(&[&scene[..], &others].concat(), b"", b"", false)).unwrap();
    assert!(is_red(&try_read(&folder, "scene.zip").unwrap().value));
    let two: [(&[u8], u16, &[u8]); 2] = [(b"a.obj", 0, OBJ.as_bytes()), (b"b.obj", 0, OBJ.as_bytes())];
    folder.file("two.zip", zip(&two, b"", b"", false)).unwrap();
    assert!(try_read(&folder, "two.zip").unwrap_err().to_string().contains("several members"));
}

#[test]
fn names_are_utf8_or_code_page_437_and_unsafe_ones_spoil_no_others() {
    let folder = Folder::new("zip-names").unwrap();
    for (raw, flags, name) in [
        (&b"caf\x82/\x9fx.obj"[..], 0, "café/ƒx.obj"),
        ("é/x.obj".as_bytes(), 0, "é/x.obj"),
        ("é/x.obj".as_bytes(), 1 << 11, "é/x.obj"),
    ] {
        let members: [(&[u8], u16, &[u8]); 4] = [
            (b"../x.obj", 0, b"v 1\n"),
            (raw, flags, OBJ.as_bytes()),
            (b"/etc/x.obj", 0, b"v 2\n"),
            (b"C:\\x.obj", 0, b""),
        ];
        folder.file("n.zip", zip(&members, b"", b"", false)).unwrap();
        assert_eq!(try_read(&folder, &format!("n.zip/{name}")).unwrap().value.meshes[0].faces.len(), 1);
        assert_eq!(try_read(&folder, "n.zip").unwrap().value.meshes[0].faces.len(), 1);
    }
}

/// A name that leaves a folder and returns is inside; one that does not is not.
#[test]
fn a_name_with_dots_is_where_it_leads() {
    let folder = Folder::new("dots").unwrap();
    folder.file("m.mtl", MTL).unwrap();
    std::fs::create_dir_all(folder.join("scene/sub")).unwrap();
    folder.file("scene/m.mtl", MTL).unwrap();
    let absolute = std::fs::canonicalize(folder.join("scene/m.mtl")).unwrap();
    let absolute = absolute.to_str().unwrap();
    for (name, is_inside) in [
        ("sub/../m.mtl", true),
        ("none/../m.mtl", true),
        ("./sub/.././m.mtl", true),
        ("sub\\..\\m.mtl", true),
        ("../scene/m.mtl", true),
        (absolute, true),
        ("../m.mtl", false),
        ("sub/../../m.mtl", false),
        ("../none.mtl", false),
        ("/etc/passwd", false),
    ] {
        folder.file("scene/x.obj", OBJ.replace("m.mtl", name)).unwrap();
        let loaded = try_read(&folder, "scene/x.obj").unwrap();
        let is_read = loaded.value.materials[0].diffuse.is_some();
        assert_eq!(is_read, is_inside, "{name}");
        if !is_inside {
            let message = &loaded.report.warnings.kept()[0].diagnostic.message;
            assert!(message.contains("outside the scene's folder"), "{message}");
        }
    }
    folder.file("scene/p.pbrt", "WorldBegin\nInclude \"sub/../inc.pbrt\"\n").unwrap();
    folder.file("scene/inc.pbrt", "Shape \"sphere\"\n").unwrap();
    assert!(Reader::new(folder.join("scene/p.pbrt")).scene().is_ok());
}

/// If the exact name is missing, case is ignored, with a warning, for every kind of reference.
#[test]
fn names_in_other_letters_are_found() {
    let folder = Folder::new("letters").unwrap();
    std::fs::create_dir_all(folder.join("Tex")).unwrap();
    folder.file("m.mtl", "newmtl a\nKd 1 0 0\nmap_Kd tex/A.PNG\n").unwrap();
    folder.file("x.obj", OBJ.replace("m.mtl", "M.MTL")).unwrap();
    folder
        .file("s.pbrt", "WorldBegin\nInclude \"INC.pbrt\"\nShape \"plymesh\" \"string filename\" \"A.ply\"\n")
        .unwrap();
    folder.file("inc.pbrt", "Shape \"sphere\"\n").unwrap();
    let ply = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 2 3\n";
    folder.file("a.PLY", ply).unwrap();
    std::fs::write(folder.join("Tex/a.png"), b"not read").unwrap();
    let loaded = try_read(&folder, "x.obj").unwrap();
    assert!(is_red(&loaded.value));
    assert_eq!(loaded.report.warnings.counts()["other-case"], 1);
    let loaded = Reader::new(folder.join("s.pbrt")).scene().unwrap();
    assert_eq!(loaded.report.warnings.counts()["other-case"], 2);
    let validation = polyhaul::inspect::validate(folder.join("x.obj"), &ReadOptions::default()).unwrap();
    assert!(validation.valid, "{:?}", validation.report.warnings);
    assert_eq!(validation.report.warnings.counts()["other-case"], 2);
    // Names that differ only in case are ambiguous. Other systems cannot have both.
    if !cfg!(target_os = "linux") {
        return;
    }
    folder.file("M.mtl", MTL).unwrap();
    let loaded = try_read(&folder, "x.obj").unwrap();
    assert!(loaded.report.warnings.counts().contains_key("missing-library"));
}

/// Downloads contain the model as an archive, next to its textures.
#[test]
fn an_archive_in_an_archive_is_its_scene() {
    let folder = Folder::new("zip-nested").unwrap();
    let model: [(&[u8], u16, &[u8]); 2] = [(b"x.obj", 0, OBJ.as_bytes()), (b"m.mtl", 0, MTL.as_bytes())];
    let model = zip(&model, b"", b"", false);
    let png = b"\x89PNG\r\n\x1a\n";
    for (number, others) in [&[][..], &[(&b"textures/a.png"[..], 0, &png[..])]].into_iter().enumerate() {
        let members: Vec<_> = [(&b"source/model.zip"[..], 0, &model[..])].into_iter().chain(others.to_vec()).collect();
        let name = format!("{number}.zip");
        std::fs::write(folder.join(&name), zip(&members, b"", b"", false)).unwrap();
        assert!(is_red(&try_read(&folder, &name).unwrap().value), "{number}");
    }
    let twice = [(&b"a.zip"[..], 0, &model[..]), (b"b.zip", 0, &model)];
    std::fs::write(folder.join("two.zip"), zip(&twice, b"", b"", false)).unwrap();
    let error = try_read(&folder, "two.zip").unwrap_err().to_string();
    assert!(error.contains("a.zip, b.zip"), "{error}");
}

#[test]
fn names_that_stay_inside_are_members_and_others_are_named() {
    let folder = Folder::new("zip-dots").unwrap();
    for (name, is_inside) in [
        ("x/../m.obj", true),
        ("x/y/../../m.obj", true),
        ("./x/..\\m.obj", true),
        ("/m.obj", false),
        ("C:/m.obj", false),
        ("../m.obj", false),
        ("x/../../m.obj", false),
    ] {
        let text = OBJ.replace("mtllib m.mtl\n", "");
        std::fs::write(folder.join("a.zip"), zip(&[(name.as_bytes(), 0, text.as_bytes())], b"", b"", false)).unwrap();
        let read = Reader::new(folder.join("a.zip/m.obj")).options(&read_options(1, None)).scene();
        assert_eq!(read.is_ok(), is_inside, "{name}");
        match try_read(&folder, "a.zip") {
            Ok(_) => assert!(is_inside, "{name}"),
            Err(error) => {
                assert!(error.to_string().contains(&format!("point outside it, such as `{name}`")), "{error}")
            }
        }
    }
}

/// A link is stored as its target's name.
#[test]
fn links_are_no_scenes() {
    let folder = Folder::new("zip-links").unwrap();
    let text = OBJ.replace("mtllib m.mtl\n", "");
    let mut bytes = zip(&[(b"a.obj", 0, b"b.obj"), (b"b.obj", 0, text.as_bytes())], b"", b"", false);
    let record = bytes.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    bytes[record + 5] = 3;
    bytes[record + 41] = 0xa0;
    std::fs::write(folder.join("a.zip"), bytes).unwrap();
    assert_eq!(try_read(&folder, "a.zip").unwrap().value.meshes[0].positions.len(), 3);
    let error = Reader::new(folder.join("a.zip/a.obj")).options(&read_options(1, None)).scene().unwrap_err();
    assert!(error.to_string().contains("symbolic link"), "{error}");
}

#[test]
fn content_that_is_not_read_is_named() {
    let folder = Folder::new("foreign").unwrap();
    let tar = [&b"a.obj"[..], &[0; 252], b"ustar\x0000", &[0; 250]].concat();
    for (name, content, words) in [
        ("a.tar", &tar[..], "a tar archive: extract it first"),
        ("a.obj.bz2", b"BZh91AY&SY", "bzip2: decompress it first"),
        ("a.obj.xz", b"\xfd7zXZ\0\0\x04", "xz: decompress it first"),
        ("a.7z", b"7z\xbc\xaf'\x1c\0\x04", "a 7z archive: extract it first"),
        ("a.zip", b"<!doctype html><html>404</html>", "a web page"),
        ("b.zip", b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
    ] {
        std::fs::write(folder.join(name), content).unwrap();
        let error = try_read(&folder, name).unwrap_err();
        let hint = error.diagnostic().hint.clone().unwrap_or_default();
        assert!(hint.contains(words), "{name}: {hint}");
    }
}
