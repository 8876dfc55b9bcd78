//! `diff` compares referenced files, not their names.

use super::support::*;
use polyhaul::{Input, ReadOptions, WriteOptions, diff};
use std::fs;

fn differences(folder: &Folder, a: &str, b: &str, allow_outside: bool) -> Vec<&'static str> {
    let options = ReadOptions::default().with_allow_outside(allow_outside);
    let [a, b] = [a, b].map(|name| Input::Path(folder.join(name)));
    let comparison = diff(a, b, &options, 0.0).unwrap();
    comparison.differences.into_iter().map(|difference| difference.what).collect()
}

/// Converts a scene with a texture to `t`, with these options.
fn converted(name: &str, texts: &[(&str, &str)], options: &WriteOptions) -> Folder {
    let folder = new_folder();
    for (name, text) in texts {
        folder.file(&format!("s/{name}"), *text).unwrap();
    }
    folder.file("s/x/t.png", "pixels").unwrap();
    let target = folder.join(&format!("t/{name}"));
    try_convert(&folder.join(&format!("s/{name}")), &target, &ReadOptions::default(), options).unwrap();
    folder
}

fn check(name: &str, texts: &[(&str, &str)], what: &str) {
    let folder = converted(name, texts, &WriteOptions::default());
    let [a, b] = [format!("s/{name}"), format!("t/{name}")];
    for allow_outside in [false, true] {
        assert!(differences(&folder, &a, &b, allow_outside).is_empty(), "{name}");
    }
    let folder = converted(name, texts, &COPYING());
    assert!(differences(&folder, &a, &b, false).is_empty(), "{name}");
    // Another texture with the same name and size, and a missing one.
    fs::write(folder.join("t/t.png"), "PIXELS").unwrap();
    assert_eq!(differences(&folder, &a, &b, false), [what]);
    fs::remove_file(folder.join("t/t.png")).unwrap();
    assert_eq!(differences(&folder, &a, &b, false), [what]);
}

#[test]
fn textures_of_materials() {
    let material = "newmtl m\nmap_Kd x/t.png\n";
    check(
        "a.obj",
        &[("a.mtl", material), ("a.obj", &format!("mtllib a.mtl\nusemtl m\n{FACE}"))],
        "material definitions",
    );
}

#[test]
fn textures_of_renderers() {
    let text = "WorldBegin\nTexture \"t\" \"spectrum\" \"imagemap\" \"string filename\" \"x/t.png\"\n\
        Material \"diffuse\" \"texture reflectance\" \"t\"\nShape \"sphere\"\n";
    check("a.pbrt", &[("a.pbrt", text)], "renderer");
}
