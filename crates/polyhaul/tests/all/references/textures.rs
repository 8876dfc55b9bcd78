//! Image textures between pbrt and OBJ: common features are converted, and the rest is counted.

use super::support::*;
use polyhaul::model::Scene;
use polyhaul::model::{Color, MapKind, Material, TextureMap};
use std::collections::BTreeMap;

const SCENE: &str = r#"WorldBegin
Texture "plain" "spectrum" "imagemap" "string filename" "a.png"
Texture "turned" "spectrum" "imagemap" "string filename" "b.png" "float uscale" 2 "float vdelta" 0.5 "string wrap" "clamp"
    "float scale" 0.5 "string encoding" "linear"
Texture "half" "spectrum" "scale" "texture tex" "turned" "float scale" 0.5
Texture "inverse" "float" "imagemap" "string filename" "c.png" "bool invert" true
Texture "rough" "float" "imagemap" "string filename" "c.png"
Texture "grey" "spectrum" "constant" "rgb value" [ 0.25 0.5 0.75 ]
Texture "checks" "spectrum" "checkerboard"
Texture "round" "spectrum" "imagemap" "string filename" "a.png" "string mapping" "spherical"
MakeNamedMaterial "named" "string type" "coateddiffuse" "texture reflectance" "half" "texture roughness" "rough"
    "texture displacement" "rough" "string normalmap" "n.png"
NamedMaterial "named"
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 2]
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 2] "texture alpha" "inverse"
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 2] "float alpha" 0.5
Material "conductor" "texture reflectance" "plain"
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 2]
Material "diffuse" "texture reflectance" "grey"
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 2]
Material "diffuse" "texture reflectance" "checks"
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 2]
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 2]
Material "diffusetransmission" "texture reflectance" "round" "texture transmittance" "plain"
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 2]
Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 2] "texture alpha" "checks"
"#;

fn scene() -> Folder {
    let folder = new_folder();
    for name in ["a.png", "b.png", "c.png", "n.png"] {
        folder.file(&format!("s/{name}"), name).unwrap();
    }
    folder.file("s/a.pbrt", SCENE).unwrap();
    folder
}

fn by_name(scene: &Scene) -> BTreeMap<&str, &Material> {
    scene.materials.iter().map(|material| (&*material.name, material)).collect()
}

fn map(kind: MapKind, keyword: &str, file: &str) -> TextureMap {
    TextureMap { kind, keyword: keyword.into(), file: file.into(), ..TextureMap::default() }
}

#[test]
fn images_of_pbrt_become_maps_of_mtl() {
    let folder = scene();
    let report = convert(&folder.join("s/a.pbrt"), &folder.join("s/b.obj"));
    let loaded = polyhaul::read(folder.join("s/b.obj")).unwrap();
    let materials = by_name(&loaded);
    let turned = TextureMap {
        scale: Some([2.0, 1.0, 1.0]),
        offset: Some([0.0, 0.5, 0.0]),
        clamp: Some(true),
        base_gain: Some([0.0, 0.25]),
        color_space: Some("linear".into()),
        ..map(MapKind::Diffuse, "map_Kd", "b.png")
    };
    let named = [
        turned.clone(),
        map(MapKind::Roughness, "map_Pr", "c.png"),
        map(MapKind::Displacement, "disp", "c.png"),
        map(MapKind::Normal, "norm", "n.png"),
    ];
    assert_eq!(materials["named"].maps, named);
    let inverse = TextureMap { base_gain: Some([1.0, -1.0]), ..map(MapKind::Opacity, "map_d", "c.png") };
    assert_eq!(materials["named-alpha-inverse"].maps[4..], [inverse]);
    assert_eq!(materials["named-alpha-0.5"].opacity, Some(0.5));
    let conductor = materials["conductor-2"];
    assert_eq!((conductor.metallic, &conductor.maps[..]), (Some(1.0), &[map(MapKind::Diffuse, "map_Kd", "a.png")][..]));
    assert_eq!(materials["diffuse-3"].diffuse, Some(Color::Rgb([0.25, 0.5, 0.75])));
    let dropped: Vec<_> = messages(&report.warnings, "left-out-textures");
    for what in [
        "1 texture (`checkerboard` as `reflectance`)",
        "1 texture (`imagemap without uv mapping` as `reflectance`)",
        "1 texture (`checkerboard` as `alpha`)",
    ] {
        assert!(dropped.iter().any(|message| message.contains(what)), "{what} {dropped:?}");
    }
    assert_eq!(report.warnings.counts()["left-out-textures"], 4, "{dropped:?}");
}

#[test]
fn they_come_back() {
    let folder = scene();
    convert(&folder.join("s/a.pbrt"), &folder.join("s/b.obj"));
    let report = convert(&folder.join("s/b.obj"), &folder.join("t/c.pbrt"));
    assert!(!report.warnings.counts().contains_key("left-out-textures"), "{:?}", report.warnings.kept());
    convert(&folder.join("t/c.pbrt"), &folder.join("s/d.obj"));
    let [first, second] = ["s/b.obj", "s/d.obj"].map(|name| polyhaul::read(folder.join(name)).unwrap());
    let maps = |scene: &Scene| -> Vec<_> {
        let files = scene
            .materials
            .iter()
            .flat_map(|material| material.maps.iter().map(|map| (material.name.clone(), map.file.clone())));
        files.filter(|(name, _)| name.starts_with("named")).collect()
    };
    assert!(!maps(&first).is_empty());
    for (name, file) in maps(&first) {
        assert!(maps(&second).iter().any(|(_, other_file)| *other_file == file), "{name} {file}: {:?}", maps(&second));
    }
}

#[test]
fn maps_of_mtl_that_pbrt_has_not_are_counted() {
    let folder = new_folder();
    folder.file("a.png", "").unwrap();
    let maps = "map_Kd a.png\nmap_Ks a.png\nmap_Ke a.png\nbump a.png\ndisp a.png\nmap_Pr a.png\nmap_Kd a.png\n";
    folder.file("a.mtl", format!("newmtl m\n{maps}")).unwrap();
    folder.file("a.obj", format!("mtllib a.mtl\nusemtl m\n{FACE}")).unwrap();
    let report = convert(&folder.join("a.obj"), &folder.join("t/a.pbrt"));
    assert_eq!(report.warnings.counts()["left-out-textures"], 5);
    assert_eq!(said(&folder.join("t/a.pbrt"), "\"string filename\" "), ["image.exr", "../a.png", "../a.png"]);
}

#[test]
fn of_repeated_maps_the_last_applies() {
    let folder = new_folder();
    for name in ["a.png", "b.png"] {
        folder.file(name, "").unwrap();
    }
    folder.file("a.mtl", "newmtl m\nmap_Kd a.png\nmap_Kd b.png\n").unwrap();
    folder.file("a.obj", format!("mtllib a.mtl\nusemtl m\n{FACE}")).unwrap();
    for name in ["a.gltf", "a.ply", "a.pbrt"] {
        let report = convert(&folder.join("a.obj"), &folder.join(name));
        let written = String::from_utf8_lossy(&std::fs::read(folder.join(name)).unwrap()).into_owned();
        assert!(written.contains("b.png") && !written.contains("a.png"), "{name}: {written}");
        let code = if name == "a.ply" { "left-out-maps" } else { "left-out-textures" };
        assert_eq!(report.warnings.counts().get(code), Some(&1), "{name}: {:?}", report.warnings.kept());
    }
}

#[test]
fn names_of_included_files_are_relative_to_the_scene() {
    let folder = new_folder();
    folder.file("s/sub/t.png", "").unwrap();
    let text = "Texture \"t\" \"spectrum\" \"imagemap\" \"string filename\" \"t.png\"\nMaterial \"diffuse\" \"texture reflectance\" \"t\"\n\
        Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"integer indices\" [0 1 2]\n";
    folder.file("s/sub/b.pbrt", text).unwrap();
    folder.file("s/a.pbrt", "WorldBegin\nInclude \"sub/b.pbrt\"\n").unwrap();
    convert(&folder.join("s/a.pbrt"), &folder.join("t/b.obj"));
    assert_eq!(said(&folder.join("t/b.mtl"), "map_Kd "), ["../s/sub/t.png"]);
    let loaded = polyhaul::Reader::new(folder.join("s/a.pbrt")).scene().unwrap();
    let flat = loaded.flattened(&Default::default()).unwrap().value;
    assert_eq!(flat.materials[0].maps[0].file, "sub/t.png");
}
