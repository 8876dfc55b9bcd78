//! File names with Windows features: drives, shares, devices, streams.

use super::references::{SCENES, folder};
use polyhaul::ReadOptions;
use polyhaul_testkit::corpus::Folder;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A copy of a scene with renamed files.
fn renamed(folder: &Folder, scene: (&str, &str), start: &str) -> PathBuf {
    let (name, text) = scene;
    // Backslashes are escaped in quotes.
    let start = if name.ends_with("obj") { start.to_owned() } else { start.replace('\\', "\\\\") };
    folder.file(&format!("other-{name}"), text.replace("part/", &start)).unwrap()
}

#[test]
fn absolute_names_of_files_in_the_folder_are_read() {
    let folder = folder();
    let real = folder.join("part").canonicalize().unwrap().to_str().unwrap().to_owned();
    let plain = real.strip_prefix(r"\\?\").unwrap();
    let starts =
        [format!(r"{real}\"), format!(r"{plain}\"), plain.replace('\\', "/") + "/", plain[2..].to_owned() + r"\"];
    for scene in SCENES {
        for start in &starts {
            let path = renamed(&folder, scene, start);
            let compared = polyhaul::diff(path, folder.join(scene.0), &ReadOptions::default(), 0.0);
            let compared = compared.unwrap_or_else(|error| panic!("{start} {}: {error}", scene.0));
            assert_eq!(compared.report.warnings.total(), 0, "{start} {}", scene.0);
        }
    }
}

/// Names that lead elsewhere are rejected before any lookup: a share would receive the user's credentials, and a device
/// might block.
#[test]
fn names_of_other_places_are_refused() {
    let folder = folder();
    let starts = [
        r"C:\windows\",
        "C:part/",
        r"\\server\share\",
        "//server/share/",
        r"\\?\UNC\server\share\",
        r"\\.\pipe\",
        "part/C:x/",
    ];
    let start_time = Instant::now();
    for (name, _) in SCENES {
        let scene = SCENES.into_iter().find(|scene| scene.0 == name).unwrap();
        for start in starts {
            let path = renamed(&folder, scene, start);
            let why = match polyhaul::Reader::new(path).scene() {
                Err(error) => error.to_string(),
                Ok(loaded) => {
                    loaded.report.warnings.kept().iter().map(|warning| warning.diagnostic.message.clone()).collect()
                }
            };
            assert!(why.contains("outside the scene's folder"), "{start} {name}: {why}");
        }
    }
    assert!(start_time.elapsed() < Duration::from_secs(60));
}

#[test]
fn devices_are_no_files_of_a_scene() {
    let folder = folder();
    for device in ["NUL", "CON", "aux.mtl", "COM1", r"part\PRN", "lpt1.tar.gz"] {
        let text = format!("mtllib {device}\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
        let loaded = polyhaul::Reader::new(folder.file("d.obj", text).unwrap()).scene().unwrap();
        let messages: String =
            loaded.report.warnings.kept().iter().map(|warning| warning.diagnostic.message.clone()).collect();
        assert!(messages.contains("device"), "{device}: {messages}");
    }
}
