//! Conversions in little memory have the same bytes, and keep to their limit.
#![cfg(target_os = "linux")]

use crate::common::{Folder, run};

/// The limit of the tests, and what a process may have beyond it.
const LIMIT: &str = "24MiB";
const MAX_BYTES: u64 = (24 + 64) << 20;

/// A grid of triangles as OBJ with uvs: about 30 MB, and 50 MB as arrays.
fn grid(side: usize) -> String {
    let mut text = String::new();
    for (keyword, scale) in [("v", 0.25), ("vt", 0.001)] {
        for place in 0..side * side {
            let column = (place % side) as f64 * scale;
            let row = (place / side) as f64 * scale;
            text += &format!("{keyword} {column} {row}{}\n", if keyword == "v" { " 0.5" } else { "" });
        }
    }
    for row in 0..side - 1 {
        for at in (row * side + 1..).take(side - 1) {
            let right = at + 1;
            let below = at + side;
            text += &format!("f {at}/{at} {right}/{right} {below}/{below}\n");
            text += &format!("f {right}/{right} {0}/{0} {below}/{below}\n", below + 1);
        }
    }
    text
}

#[test]
fn what_does_not_fit_moves_to_disk() {
    let folder = Folder::new("memory-limit");
    let mesh = folder.file("in.obj", &grid(700));
    for name in ["ply", "stl", "glb", "obj", "csv", "off", "ply.gz"] {
        let plenty = folder.path(&format!("plenty.{name}"));
        let little = folder.path(&format!("little.{name}"));
        run(&["convert", "-q", &mesh, &plenty, "-j2"]).expect(0);
        let ran = run(&["convert", "--json", &mesh, &little, "-j2", "--memory-limit", LIMIT]).expect(0);
        let json = ran.json();
        assert!(std::fs::read(&plenty).unwrap() == std::fs::read(&little).unwrap(), "{name}: other bytes");
        assert!(json["spilled_bytes"].as_u64().unwrap() > 10_000_000, "{name}: {json}");
        assert!(json["peak_bytes"].as_u64().unwrap() < MAX_BYTES, "{name}: {json}");
    }
    let plenty = folder.path("plenty.ply");
    let little = folder.path("again.ply");
    let ran = run(&["convert", "--json", &plenty, &little, "-j2", "--memory-limit", "1MiB"]).expect(0);
    // Tables go from file to file part by part, and nothing moves.
    assert_eq!(ran.json()["spilled_bytes"], 0);
    assert!(std::fs::read(&plenty).unwrap() == std::fs::read(&little).unwrap());
    assert!(folder.names().iter().all(|name| !name.contains("tmp")), "{:?}", folder.names());
}

#[test]
fn the_work_shows_what_moved() {
    let folder = Folder::new("memory-verbose");
    let mesh = folder.file("in.obj", &grid(700));
    let ran = run(&["convert", "-v", &mesh, &folder.path("out.ply"), "-j2", "--memory-limit", LIMIT]).expect(0);
    assert!(ran.stderr.contains("moved to disk"), "{}", ran.stderr);
    let ran = run(&["convert", "-v", &mesh, &folder.path("out.ply"), "-j2"]).expect(0);
    assert!(!ran.stderr.contains("moved to disk"), "{}", ran.stderr);
}
