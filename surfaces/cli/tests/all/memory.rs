//! Conversions with little memory produce the same bytes, and stay within their limit.
#![cfg(target_os = "linux")]

use crate::common::{Folder, run};

/// The memory limit of the tests, and the maximum of a process including overhead.
const LIMIT: &str = "24MiB";
const MAX_BYTES: u64 = (24 + 64) << 20;

/// A triangle grid as OBJ with UVs: about 30 MB as text, and 50 MB as arrays.
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
    // Tables are converted in chunks, so nothing is spilled.
    assert_eq!(ran.json()["spilled_bytes"], 0);
    assert!(std::fs::read(&plenty).unwrap() == std::fs::read(&little).unwrap());
    assert!(folder.names().iter().all(|name| !name.contains("tmp")), "{:?}", folder.names());
}

#[test]
fn the_work_shows_what_moved() {
    let folder = Folder::new("memory-verbose");
    let mesh = folder.file("in.obj", &grid(700));
    let ran = run(&["convert", "-v", &mesh, &folder.path("out.ply"), "-j2", "--memory-limit", LIMIT]).expect(0);
    assert!(ran.stderr.contains("spilled to disk"), "{}", ran.stderr);
    let ran = run(&["convert", "-v", &mesh, &folder.path("out.ply"), "-j2"]).expect(0);
    assert!(!ran.stderr.contains("spilled to disk"), "{}", ran.stderr);
}

#[test]
fn temporary_files_are_where_the_option_says() {
    let folder = Folder::new("memory-spill-folder");
    let mesh = folder.file("in.obj", "v 0 0 0\n");
    let out = folder.path("out.ply");
    let ran = run(&["convert", &mesh, &out, "--spill-folder", &folder.path("missing")]).expect(1);
    assert!(ran.stderr.contains("cannot create temporary files in"), "{}", ran.stderr);
    run(&["convert", "-q", &mesh, &out, "--spill-folder", &folder.path("")]).expect(0);
}

/// Objects consist of many small allocations, which are spilled like arrays.
#[test]
fn many_objects_move_to_disk() {
    let folder = Folder::new("memory-objects");
    let object = |n: usize| format!("o object {n}\nv {n} 0 0\nv {n} 1 0\nv {n} 0 1\nf -3 -2 -1\n");
    let objects = folder.file("objects.obj", &(0..60_000).map(object).collect::<String>());
    let solid = |n: usize| {
        format!(
            "solid {n}\nfacet normal 0 0 1\nouter loop\nvertex {n} 0 0\nvertex {n} 1 0\nvertex {n} 0 1\nendloop\n\
             endfacet\nendsolid {n}\n"
        )
    };
    let solids = folder.file("solids.stl", &(0..60_000).map(solid).collect::<String>());
    let mut most_spilled = 0;
    for (input, target) in [(&objects, "ply"), (&objects, "glb"), (&solids, "obj"), (&solids, "off")] {
        let little = folder.path(&format!("little.{target}"));
        let ran = run(&["convert", "--json", input, &little, "-j2", "--memory-limit", LIMIT]).expect(0);
        let json = ran.json();
        most_spilled = most_spilled.max(json["spilled_bytes"].as_u64().unwrap());
        assert!(json["peak_bytes"].as_u64().unwrap() < MAX_BYTES, "{target}: {json}");
        let plenty = folder.path(&format!("plenty.{target}"));
        run(&["convert", "-q", input, &plenty, "-j2"]).expect(0);
        assert!(std::fs::read(&plenty).unwrap() == std::fs::read(&little).unwrap(), "{target}: other bytes");
    }
    assert!(most_spilled > 60_000_000, "{most_spilled}");
}
