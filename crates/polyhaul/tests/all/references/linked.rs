//! References remain files, with names relative to the new location.

use super::support::*;
use polyhaul::model::{Color, SourceFolder};
use polyhaul::options::SceneWriteOptions;
use polyhaul::{Input, Output, ReadOptions, WriteOptions};
use polyhaul_testkit::zip;
use std::fs;

/// Every kind of reference in MTL.
const LIBRARY: &str = "newmtl paint\nKa spectral ../curves/k a.rfl 0.5\nmap_Ka a.png\nmap_Kd -s 2 2 1 -clamp on b c.png\n\
    map_Ks a.png\nmap_Ke a.png\nmap_Ns a.png\nmap_d a.png\nbump -bm 0.25 a.png\ndisp a.png\ndecal a.png\n\
    refl -type sphere a.png\nmap_Pr a.png\nmap_Pm a.png\nmap_Ps a.png\nmap_Pc a.png\nmap_Pcr a.png\nnorm a.png\n\
    map_RMA -imfchan r a.png\n";

/// A scene with two libraries in separate folders, each with its own `a.png`.
fn scene() -> Folder {
    let folder = new_folder();
    for name in ["s/lib/a.png", "s/lib/b c.png", "s/curves/k a.rfl", "s/more/a.png"] {
        folder.file(name, name).unwrap();
    }
    folder.file("s/lib/one.mtl", LIBRARY).unwrap();
    folder.file("s/more/two.mtl", "newmtl two\nmap_Kd .\\a.png\n").unwrap();
    let text =
        format!("mtllib lib/one.mtl more/two.mtl\n{FACE}usemtl paint\nf 1/1 2/2 3/3\nusemtl two\nf 1/1 2/2 3/3\n");
    folder.file("s/a.obj", text).unwrap();
    folder
}

/// Output folders, and the relative path from each to the scene's folder.
const PLACES: [(&str, &str); 4] = [("s/out", "../"), ("", "s/"), ("beside", "../s/"), ("deep/er", "../../s/")];

#[test]
fn all_statements_of_mtl_lead_to_their_files_from_anywhere() {
    let folder = scene();
    for (place, way) in PLACES {
        let out = folder.join(place).join("b.obj");
        let library = folder.join(place).join("b.mtl");
        let report = convert(&folder.join("s/a.obj"), &out);
        let text = fs::read_to_string(&library).unwrap();
        assert_eq!(text.matches(&format!("{way}lib/a.png\n")).count(), 16, "{text}");
        for line in [
            format!("Ka spectral {way}curves/k a.rfl 0.500000\n"),
            format!("map_Kd -s 2 2 1 -clamp on {way}lib/b c.png\n"),
            format!("bump -bm 0.250000 {way}lib/a.png\n"),
            format!("refl -type sphere {way}lib/a.png\n"),
            format!("map_RMA -imfchan r {way}lib/a.png\n"),
            format!("newmtl two\nmap_Kd {way}more/a.png\n"),
        ] {
            assert!(text.contains(&line), "{line}{text}");
        }
        let outside = way.starts_with("..");
        assert_eq!(
            counts(&report.warnings).get("outside-reference").copied().unwrap_or(0),
            if outside { 4 } else { 0 }
        );
        assert_eq!(counts(&report.warnings).len(), usize::from(outside));
        assert!(unfound(&out, &ALLOWED()).is_empty(), "{place}");
        let expected = if outside { vec![("outside-texture", 3)] } else { vec![] };
        assert_eq!(unfound(&out, &ReadOptions::default()).into_iter().collect::<Vec<_>>(), expected, "{place}");
    }
}

#[test]
fn a_warning_names_the_file_and_both_remedies() {
    let folder = scene();
    let report = convert(&folder.join("s/a.obj"), &folder.join("t/b.obj"));
    let messages = messages(&report.warnings, "outside-reference");
    assert!(messages[0].contains("`../s/lib/a.png` is outside the output's folder"), "{messages:?}");
    assert!(messages[0].contains("--copy-assets") && messages[0].contains("--allow-outside"), "{messages:?}");
}

#[test]
fn a_scene_that_is_read_and_then_written_does_the_same() {
    let folder = scene();
    let scene = polyhaul::read(folder.join("s/a.obj")).unwrap();
    fs::create_dir(folder.join("t")).unwrap();
    polyhaul::write(&scene, folder.join("t/b.obj")).unwrap();
    assert_eq!(said(&folder.join("t/b.mtl"), "norm "), ["../s/lib/a.png"]);
    // The folder of a scene in memory is unknown.
    let mut scene = scene;
    scene.folder = SourceFolder::default();
    scene.materials.iter_mut().for_each(|material| material.folder = SourceFolder::default());
    polyhaul::write(&scene, folder.join("t/c.obj")).unwrap();
    assert_eq!(said(&folder.join("t/c.mtl"), "norm "), ["a.png"]);
}

#[test]
fn in_its_own_folder_nothing_changes() {
    let folder = new_folder();
    let library = "# polyhaul MTL File\n\nnewmtl m\nmap_Kd .\\tex\\A.png\nmap_Ks none.png\nmap_Ns ../up.png\n";
    folder.file("s/a.mtl", library).unwrap();
    folder.file("s/tex/A.png", "").unwrap();
    folder.file("s/a.obj", format!("mtllib a.mtl\nusemtl m\n{FACE}")).unwrap();
    let report = convert(&folder.join("s/a.obj"), &folder.join("s/b.obj"));
    assert_eq!((report.warnings.total(), said(&folder.join("s/b.obj"), "mtllib ")), (0, vec!["a.mtl".to_owned()]));
    assert_eq!(folder.text("s/a.mtl"), library);
}

#[test]
fn names_that_are_hard_to_read() {
    let folder = new_folder();
    for name in ["s/Tex/Wood.PNG", "s/d/-o 1.png", "s/two words.png", "s/x.png", "up.png"] {
        folder.file(name, name).unwrap();
    }
    let absolute = folder.join("s/x.png").display().to_string();
    let names = ["tex\\wood.png", "d/./-o 1.png", "two words.png", "d/../x.png", "../up.png", &absolute, "C:\\x.png"];
    let maps: String = names.iter().map(|name| format!("map_Kd {name}\n")).collect();
    folder.file("s/a.mtl", format!("newmtl m\n{maps}")).unwrap();
    folder.file("s/a.obj", format!("mtllib a.mtl\nusemtl m\n{FACE}")).unwrap();
    let report = convert(&folder.join("s/a.obj"), &folder.join("s/d/b.obj"));
    let expected =
        ["../Tex/Wood.PNG", "./-o 1.png", "../two words.png", "../x.png", "../../up.png", &absolute, "C:\\x.png"];
    assert_eq!(said(&folder.join("s/d/a.mtl"), "map_Kd "), expected);
    let counts = counts(&report.warnings).into_iter().collect::<Vec<_>>();
    assert_eq!(counts, [("changed-reference", 1), ("missing-reference", 1), ("outside-reference", 5)]);
    // An absolute name becomes relative if the file is below the output.
    convert(&folder.join("s/a.obj"), &folder.join("c.obj"));
    assert_eq!(said(&folder.join("a.mtl"), "map_Kd ")[5], "s/x.png");
}

#[cfg(unix)]
#[test]
fn names_that_are_not_utf8_and_steps_up_from_links() {
    use std::os::unix::ffi::OsStrExt;
    let folder = new_folder();
    folder.file("far/in/x.png", "far").unwrap();
    folder.file("far/y.png", "y").unwrap();
    fs::create_dir(folder.join("s")).unwrap();
    fs::write(folder.join("s").join(std::ffi::OsStr::from_bytes(b"\xe9.png")), "e").unwrap();
    std::os::unix::fs::symlink(folder.join("far/in"), folder.join("s/link")).unwrap();
    folder.file("s/a.mtl", b"newmtl m\nmap_Kd \xe9.png\nmap_Ks link/../y.png\n").unwrap();
    folder.file("s/a.obj", format!("mtllib a.mtl\nusemtl m\n{FACE}")).unwrap();
    let report = convert(&folder.join("s/a.obj"), &folder.join("t/b.obj"));
    assert_eq!(said(&folder.join("t/a.mtl"), "map_Ks "), ["../far/y.png"]);
    let messages = messages(&report.warnings, "unresolved-reference");
    assert!(messages.len() == 1 && messages[0].contains("--copy-assets"), "{messages:?}");
    let report = try_convert(&folder.join("s/a.obj"), &folder.join("u/b.obj"), &ALLOWED(), &COPYING()).unwrap();
    assert_eq!((report.copied_files, counts(&report.warnings).len()), (2, 0));
    assert!(unfound(&folder.join("u/b.obj"), &ReadOptions::default()).is_empty());
}

#[test]
fn libraries_that_were_not_read_are_linked() {
    let folder = new_folder();
    folder.file("up.mtl", "newmtl m\nmap_Kd a.png\n").unwrap();
    folder.file("s/in.mtl", "newmtl n\n").unwrap();
    folder.file("s/a.obj", format!("mtllib ../up.mtl\nusemtl m\n{FACE}")).unwrap();
    let report = convert(&folder.join("s/a.obj"), &folder.join("s/out/b.obj"));
    assert_eq!(said(&folder.join("s/out/b.obj"), "mtllib "), ["../../up.mtl"]);
    let messages = messages(&report.warnings, "missing-library");
    assert!(messages[0].contains("is outside the scene's folder (use `--allow-outside` to read it)"), "{messages:?}");
    let read = ReadOptions::default().with_load_materials(false);
    folder.file("s/a.obj", format!("mtllib in.mtl\nusemtl n\n{FACE}")).unwrap();
    try_convert(&folder.join("s/a.obj"), &folder.join("s/out/c.obj"), &read, &WriteOptions::default()).unwrap();
    assert_eq!(said(&folder.join("s/out/c.obj"), "mtllib "), ["../in.mtl"]);
}

#[test]
fn comments_of_ply_lead_to_their_textures() {
    let folder = new_folder();
    folder.file("s/tex/a b.png", "").unwrap();
    folder.file("s/a.ply", MESH).unwrap();
    let texture = |name: &str| said(&folder.join(name), "TextureFile ");
    for write in [
        WriteOptions::default(),
        WriteOptions::default()
            .with_scene(SceneWriteOptions::default().with_digits(Some(polyhaul::options::Digits::Fixed(2)))),
    ] {
        let mut meshes = write.clone();
        meshes.scene.normals = false;
        for write in [write, meshes] {
            let report = try_convert(&folder.join("s/a.ply"), &folder.join("t/b.ply"), &ReadOptions::default(), &write);
            assert_eq!(counts(&report.unwrap().warnings).into_iter().collect::<Vec<_>>(), [("outside-reference", 1)]);
            let bytes = fs::read(folder.join("t/b.ply")).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            assert!(text.contains("comment TextureFile ../s/tex/a b.png\ncomment by hand\n"), "{text}");
        }
    }
    convert(&folder.join("s/a.ply"), &folder.join("s/tex/c.csv"));
    assert_eq!(texture("s/tex/c.csv"), ["a b.png"]);
    let report =
        try_convert(&folder.join("s/a.ply"), &folder.join("u/b.ply"), &ReadOptions::default(), &COPYING()).unwrap();
    assert_eq!((report.copied_files, tree(&folder.join("u")).len()), (1, 2));
}

const SCENE: &str = r#"Camera "realistic" "string lensfile" "lens.dat" "string aperture" "gaussian"
WorldBegin
LightSource "infinite" "string filename" "sky.exr"
Texture "t" "spectrum" "imagemap" "string filename" "tex.png"
Material "diffuse" "texture reflectance" "t" "string normalmap" "n.png"
Material "conductor" "spectrum eta" "metal-Cu-eta" "spectrum k" "k.spd"
AreaLightSource "diffuse" "string filename" "glow.png"
Shape "plymesh" "string filename" "m.ply"
Include "sub/b.pbrt"
"#;

fn render_scene() -> Folder {
    let folder = new_folder();
    for name in ["lens.dat", "sky.exr", "tex.png", "n.png", "k.spd", "glow.png", "sub/tex2.png"] {
        folder.file(&format!("s/{name}"), name).unwrap();
    }
    folder.file("s/m.ply", MESH).unwrap();
    folder.file("s/sub/b.pbrt", "Texture \"u\" \"spectrum\" \"imagemap\" \"string filename\" \"tex2.png\"\n").unwrap();
    folder.file("s/a.pbrt", SCENE).unwrap();
    folder
}

#[test]
fn all_files_of_pbrt_scenes_are_found_from_anywhere() {
    let folder = render_scene();
    for (place, way) in PLACES {
        let out = folder.join(place).join("b.pbrt");
        let report = convert(&folder.join("s/a.pbrt"), &out);
        let text = fs::read_to_string(&out).unwrap();
        for name in ["lens.dat", "sky.exr", "tex.png", "n.png", "k.spd", "glow.png", "m.ply", "sub/tex2.png"] {
            assert!(text.contains(&format!("\"{way}{name}\"")), "{way}{name} {text}");
        }
        assert!(text.contains("\"gaussian\"") && text.contains("\"metal-Cu-eta\""), "{text}");
        let expected = if way.starts_with("..") { vec![("outside-reference", 8)] } else { vec![] };
        assert_eq!(counts(&report.warnings).into_iter().collect::<Vec<_>>(), expected);
        let again = polyhaul::inspect::info(Input::Path(out), &ALLOWED()).unwrap();
        assert_eq!(again.1.warnings.total(), 0, "{:?}", again.1.warnings.kept());
    }
    let read =
        |scene: &str| polyhaul::inspect::info(Input::Path(folder.join(scene)), &ReadOptions::default()).unwrap().0;
    let render = read("beside/b.pbrt").render.unwrap();
    assert_eq!((render.missing_textures.len(), render.outside_textures.len()), (0, 5));
}

#[test]
fn streams_keep_names_that_are_relative_to_the_scene() {
    let folder = render_scene();
    let write = |input: &str, format| {
        let write = WriteOptions::default().with_format(Some(format));
        let output = Output::Writer(Box::new(fs::File::create(folder.join("stream")).unwrap()), "stream".into());
        let input = Input::Path(folder.join(input));
        let report = polyhaul::Reader::new(input).convert(polyhaul::Writer::new(output).options(&write)).unwrap();
        (fs::read_to_string(folder.join("stream")).unwrap(), counts(&report.warnings).len())
    };
    let (text, warned) = write("s/a.pbrt", polyhaul::Format::Pbrt);
    assert!(text.contains("\"sub/tex2.png\"") && text.contains("\"tex.png\""), "{text}");
    assert_eq!(warned, 0);
    let copying = COPYING().with_format(Some(polyhaul::Format::Pbrt));
    let output = Output::Writer(Box::new(Vec::new()), "stream".into());
    let error = polyhaul::Reader::new(folder.join("s/a.pbrt")).convert(polyhaul::Writer::new(output).options(&copying));
    assert_eq!(error.unwrap_err().kind(), polyhaul::ErrorKind::Usage);
}

#[test]
fn what_is_in_an_archive_is_not_found_from_outside() {
    let archive = zip::simple(
        &[
            ("s/a.obj", format!("mtllib a.mtl\nusemtl m\n{FACE}").as_bytes()),
            ("s/a.mtl", b"newmtl m\nmap_Kd tex/t.png\nmap_Ks ../../../up.png\n"),
            ("s/tex/t.png", b"pixels"),
        ],
        zip::Method::Deflate,
    );
    let folder = new_folder();
    let packed = folder.file("a.zip", archive).unwrap().join("s/a.obj");
    folder.file("up.png", "secret").unwrap();
    let report = convert(&packed, &folder.join("t/b.obj"));
    assert_eq!(said(&folder.join("t/a.mtl"), "map_Kd "), ["tex/t.png"]);
    assert!(messages(&report.warnings, "unresolved-reference")[0].contains("--copy-assets"));
    let report = try_convert(&packed, &folder.join("u/b.obj"), &ReadOptions::default(), &COPYING()).unwrap();
    assert_eq!((said(&folder.join("u/a.mtl"), "map_Kd "), report.copied_bytes), (vec!["t.png".to_owned()], 6));
    assert_eq!(tree(&folder.join("u")).len(), 3);
}

#[test]
fn equal_scenes_may_lie_in_different_folders() {
    let first = scene();
    let other = scene();
    let read = |folder: &Folder| polyhaul::read(folder.join("s/a.obj")).unwrap();
    assert_eq!(read(&first), read(&other));
    assert!(
        matches!(&read(&first).materials[0].ambient, Some(Color::Spectral { file, .. }) if file == "../curves/k a.rfl")
    );
}
