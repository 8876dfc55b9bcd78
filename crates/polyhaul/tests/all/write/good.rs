//! Files of other programs: read, written and read again, they are the same model.

use super::meaning::meaning;
use super::support::*;
use polyhaul::WriteOptions;
use polyhaul::model::{Material, Scene};
use std::collections::BTreeMap;

/// Writes to a folder, and reads again.
fn pass(scene: &Scene, folder: &Folder, name: &str, options: &WriteOptions) -> Scene {
    let path = folder.join(name);
    polyhaul::Writer::new(&path).options(options).scene(scene).unwrap();
    polyhaul::read(path).unwrap_or_else(|error| panic!("{error}\n{}", folder.text(name)))
}

/// The materials by name. In another folder, names of existing texture files change.
fn materials(scene: &Scene) -> BTreeMap<String, String> {
    let used = scene.materials.iter().filter(|material| !material.missing || !material.name.is_empty());
    let shown = |material: &Material| {
        let mut material = material.clone();
        for map in &mut material.maps {
            // On Windows, a path to another drive is absolute.
            map.file = map.file.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        }
        format!("{material:?}")
    };
    used.map(|material| (material.name.clone(), shown(material))).collect()
}

fn bits(scene: &Scene) -> Vec<u32> {
    let positions = scene.meshes.iter().flat_map(|mesh| mesh.positions.as_flattened());
    positions.map(|value| value.to_bits()).collect()
}

#[test]
fn a_pass_through_a_file_keeps_the_model() {
    for path in samples("good") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let scene = polyhaul::read(&path).unwrap();
        let folder = new_folder();
        let again = pass(&scene, &folder, name, &shortest());
        let reread = meaning(&again);
        let expected = meaning(&scene);
        assert!(reread == expected, "{name}: {}\n{}", difference(&reread, &expected), folder.text(name));
        assert_eq!(bits(&again), bits(&scene), "{name}");
        assert_eq!(materials(&again), materials(&scene), "{name}");
    }
}

#[test]
fn a_second_pass_changes_nothing() {
    for options in [plain(), shortest()] {
        for path in samples("good").into_iter().chain(samples("blender")) {
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.metadata().unwrap().len() > 100_000 {
                continue;
            }
            let folder = new_folder();
            let once = pass(&polyhaul::read(&path).unwrap(), &folder, name, &options);
            let files = folder.names();
            let first = folder.names().map_text(&folder);
            let twice = pass(&once, &folder, name, &options);
            assert_eq!(folder.names(), files, "{name}");
            assert!(folder.names().map_text(&folder) == first, "{name}");
            assert_same(&twice, &once, name);
        }
    }
}

trait MapText {
    fn map_text(&self, folder: &Folder) -> Vec<String>;
}

impl MapText for Vec<String> {
    fn map_text(&self, folder: &Folder) -> Vec<String> {
        self.iter().map(|name| folder.text(name)).collect()
    }
}

/// Content dropped from hostile files stays dropped; the rest can be written and read.
#[test]
fn what_was_read_of_bad_files_can_be_written() {
    let options = polyhaul::ReadOptions::default().with_on_error(polyhaul::options::OnError::Warn);
    let mut count = 0;
    for path in samples("bad") {
        let Ok(loaded) = polyhaul::Reader::new(&path).options(&options).scene() else {
            continue;
        };
        count += 1;
        let folder = new_folder();
        let name = path.file_name().unwrap().to_str().unwrap();
        let again = pass(&loaded.value, &folder, name, &shortest());
        let reread = meaning(&again);
        let expected = meaning(&loaded.value);
        assert!(reread == expected, "{name}: {}", difference(&reread, &expected));
    }
    assert!(count > 20, "{count}");
}

/// Texts that are hard to write.
#[test]
fn hard_texts_come_back() {
    let curve = "curv 0 1 -2 -1\nparm u 0 0 1 1\nend\n";
    let texts = [
        "f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0\n".to_owned(),
        "f 1 2 3\no late\nv 0 0 0\nv 1 0 0\nv 0 1 0\n".to_owned(),
        "v 0 0 0\nv 1 0 0\nv 0 1 0\ng a\nf 1 2 3\nv 1 1 1\nv 2 1 1\ng\nf 1 2 3\ng off\nf 1 2 3\n".to_owned(),
        "o\nv 0 0 0\nv 1 0 0\nv 0 1 0\no \nusemtl\nf 1 2 3\no x\no x\n".to_owned(),
        "o  a  b # c \nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl  x  y\ng  p  q \nf 1 2 3\n".to_owned(),
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nv 1 1 1\no b\nf 4 1 2\nv 2 2 2\nf 1 2 5\n".to_owned(),
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\ncstype bspline\ndeg 1\ncurv 0 1 1 2\nparm u 0 0 1 1\nend\nv 5 5 5\n"
            .to_owned(),
        "o a\nv 0 0 0\nv 1 0 0\ncstype bspline\ndeg 1\no b\nv 5 5 5\ncurv 0 1 1 3\nparm u 0 0 1 1\nend\n".to_owned(),
        format!("v 0 0 0\nv 1 0 0\ncstype bspline\ndeg 1\n{curve}cstype rat bspline\ndeg 1\n{curve}"),
        "v 0 0 0 1 2 3\n#MRGB ff102030\nv 1 0 0\n#MRGB ff405060\nv 2 0 0\n".to_owned(),
    ];
    for text in texts {
        check_text(&text);
    }
}

/// The second `curv` is a curve of the same `cstype`.
#[test]
fn two_curves_of_one_type_come_back() {
    let curve = "curv 0 1 -2 -1\nparm u 0 0 1 1\nend\n";
    check_text(&format!("cstype bspline\ndeg 1\nv 0 0 0\nv 1 0 0\n{curve}v 2 0 0\nv 3 0 0\n{curve}"));
}

/// A space after the backslash makes the backslash part of the name; without the space, the line would continue.
#[test]
fn names_that_end_in_a_backslash_come_back() {
    check_text("o tail\\ \nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    check_text("v 0 0 0\nv 1 0 0\nv 0 1 0\ng tail\\ \nf 1 2 3\nusemtl tail\\ \nf 1 2 3\n");
    check_text("mtllib tail\\ \nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
}

/// Faces are written before points: the point needs its own `g` line.
#[test]
fn a_point_before_the_faces_stays_in_its_group() {
    check_text("g a\nv 0 0 0\nv 1 0 0\nv 0 1 0\np 1\ng b\nf 1 2 3\n");
}

/// Lines are written after faces: they need a line that resets the material.
#[test]
fn a_line_before_the_first_material_gets_none() {
    check_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nl 1 2\nusemtl red\nf 1 2 3\n");
}

#[test]
fn a_line_before_the_first_group_gets_none() {
    check_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nl 1 2\ng a\ns 5\nf 1 2 3\n");
}

#[track_caller]
fn check_text(source: &str) {
    let scene = read(source);
    let written = text(&scene, &shortest());
    let again = parse(written.as_str()).unwrap_or_else(|error| panic!("{error}\n{source}\n{written}"));
    let reread = meaning(&again);
    let expected = meaning(&scene);
    assert!(reread == expected, "{}\nof {source}\nwritten {written}", difference(&reread, &expected));
    assert_eq!(text(&again, &shortest()), written);
}
