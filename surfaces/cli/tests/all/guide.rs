//! Runs the commands in the README and in the guide, each page in a folder with stand-ins for the files that it names.
//!
//! A stand-in is small and has the content that the command needs, such as a column `heat`. Python's examples are run
//! by `surfaces/python/tests/test_docs.py`, Rust's by the tests of documentation.

use crate::common::{Folder, command};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A closed surface with uvs, a material with an image, and a group.
const SOLID: &str = "mtllib scene.mtl\no thing\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvt 1 0\nvt 0 1\ng side\n\
    usemtl red\nf 1/1 3/3 2/2\nf 1/1 2/2 4/3\nf 2/1 3/2 4/3\nf 1/1 4/2 3/3\n";
const MATERIAL: &str = "newmtl red\nKd 1 0 0\nmap_Kd wood.png\n";
const SCAN: &str = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
    property float heat\nproperty float intensity\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n\
    0 0 0 1 50\n1 0 0 2 150\n0 1 1 3 250\n3 0 1 2\n";
const SCENE: &str = "Camera \"perspective\"\nWorldBegin\nShape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0]\n";
const SURVEY: &str = "v 454000.125 5411000.25 1\nv 454001 5411000 1\nv 454000 5411001 1\nf 1 2 3\n";

/// Text files: names, and the content.
const TEXTS: &[(&str, &str)] = &[
    (
        "scene.obj scan.obj a.obj before.obj chair.obj city.obj room.obj library/sub/a.obj assets/a.obj \
         assets/sub/b.obj",
        SOLID,
    ),
    ("scene.mtl assets/scene.mtl assets/sub/scene.mtl library/sub/scene.mtl", MATERIAL),
    ("scan.ply", SCAN),
    ("island.pbrt scene.pbrt", SCENE),
    ("survey.obj after.obj", SURVEY),
    ("readings.txt", "% time;value\n1;2.5\n2;nan\n"),
];

/// Files that are copied from the test data: names, and the source.
const COPIES: &[(&str, &str)] = &[
    ("wood.png assets/wood.png assets/sub/wood.png library/sub/wood.png", "png/good/pngsuite/basn2c08.png"),
    ("light.hdr", "hdr/good/own/exposure.hdr"),
    ("picture.tga leaf.tga", "tga/good/pillow/200x32_rgb_tl_raw.tga"),
    ("render.exr", "exr/good/own/layers_and_parts.exr"),
    ("passes.exr", "exr/good/openexr/two_parts.exr"),
    ("splats.ply", "ply/good/generated/splat_62f_2000.ply"),
    ("scene.sog", "sog/good/v2.sog"),
];

/// Files that the command makes from others.
const CONVERTED: &[(&str, &str)] = &[
    ("scene.obj", "b.stl"),
    ("scene.obj", "part.stl"),
    ("scene.obj", "terrain.ply"),
    ("scene.obj", "scene.ply"),
    ("scene.obj", "scene.glb"),
    ("chair.obj", "chair.glb"),
    ("scene.obj", "scene.obj.gz"),
];

/// Parts of commands that are not run here, and why.
const SKIPPED: &[(&str, &str)] = &[
    ("://", "needs a network"),
    ("$SLURM", "needs a cluster"),
    ("polyhaul limits", "measures the machine; `limits.rs` tests it"),
    ("polyhaul watch", "needs programs; `watch.rs` tests it"),
    ("polyhaul run", "needs programs; `slow.rs` tests it"),
    ("polyhaul sweep", "measures the machine; `sweep.rs` tests it"),
    ("model.zip", "needs an archive; `compressed.rs` tests them"),
    ("job.toml", "needs a job file; `batch.rs` tests them"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn pages() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("docs/guide")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    pages.sort();
    pages.push(root().join("README.md"));
    pages
}

/// The commands of a page, without comments and without pipes to `jq`.
fn commands(page: &str) -> Vec<&str> {
    let lines = page.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| line.starts_with("polyhaul "));
    let bare = lines.map(|line| line.split("  #").next().unwrap().split(" | jq").next().unwrap().trim_end());
    bare.collect()
}

/// Writes all stand-ins; on the page of splats, `scene.ply` contains splats.
fn fill(folder: &Folder, page: &Path) {
    for name in ["assets/sub", "library/sub", "web", "shop", "editor", "split"] {
        std::fs::create_dir_all(folder.path(name)).unwrap();
    }
    for (names, text) in TEXTS {
        names.split_whitespace().for_each(|name| std::fs::write(folder.path(name), text).unwrap());
    }
    for (names, source) in COPIES {
        let source = root().join("testdata").join(source);
        names.split_whitespace().for_each(|name| _ = std::fs::copy(&source, folder.path(name)).unwrap());
    }
    for (source, target) in CONVERTED {
        let ran = command().args(["convert", source, target]).current_dir(folder.path("")).output().unwrap();
        assert!(ran.status.success(), "{source} to {target}");
    }
    if page.ends_with("splats.md") {
        std::fs::copy(folder.path("splats.ply"), folder.path("scene.ply")).unwrap();
    }
}

/// Runs a line in a shell, and returns its exit code and its errors.
fn shell(line: &str, folder: &Folder) -> (i32, String) {
    let script = format!("polyhaul() {{ \"$POLYHAUL\" \"$@\"; }}\n{line}\n");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).env("POLYHAUL", env!("CARGO_BIN_EXE_polyhaul")).current_dir(folder.path(""));
    let output = shell.stdin(Stdio::null()).output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The exit code that a command should have: the losses of `--strict`, and the differences that `diff` finds, are 1.
fn expected(line: &str) -> i32 {
    let is_refused = line.contains("--strict") && !line.contains("--allow");
    i32::from(is_refused || line.starts_with("polyhaul diff"))
}

#[test]
fn commands_of_the_guide_do_what_it_says() {
    let mut unused: BTreeSet<&str> = SKIPPED.iter().map(|(part, _)| *part).collect();
    let mut ran = 0;
    let mut failures = Vec::new();
    for page in pages() {
        let folder = Folder::new("guide");
        fill(&folder, &page);
        let text = std::fs::read_to_string(&page).unwrap();
        for line in commands(&text) {
            if let Some((part, _)) = SKIPPED.iter().find(|(part, _)| line.contains(part)) {
                unused.remove(part);
                continue;
            }
            let (code, errors) = shell(line, &folder);
            if code != expected(line) {
                failures.push(format!("{}: {line}: exit code {code}\n{errors}", page.display()));
            }
            ran += 1;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(ran > 80, "{ran}");
    assert!(unused.is_empty(), "no command contains {unused:?}");
}
