//! Hostile names: no output contains characters of a name that would act on a terminal, a page or a program.

use crate::common::{Folder, command};
use std::path::Path;

/// 7-bit and 8-bit escape sequences, a title, a change of text direction, markup, quotes and a formula.
const HOSTILE: &str =
    "=cmd|x\u{1b}]0;t\u{7}\u{1b}[31m\u{9b}31m\u{9d}0;u\u{9c}\u{202e}\u{2066}<script>&\"'</script>\u{85}end";

/// Whether a terminal would act on a character. Newlines and tabs are part of the layout.
fn acts(c: char) -> bool {
    polyhaul::printable::is_active(c) && !matches!(c, '\n' | '\t')
}

#[track_caller]
fn check(what: &str, text: &[u8], is_page: bool) {
    let text = std::str::from_utf8(text).unwrap();
    let at = text.find(acts).map(|at| text[at.saturating_sub(60)..].chars().take(160).collect::<String>());
    assert_eq!(at, None, "{what}");
    assert!(!is_page || !text.contains("<script>&\""), "{what}: markup of a name");
}

/// Files of several formats, with hostile names wherever the format has names.
fn files(folder: &Folder) -> Vec<String> {
    let obj = format!(
        "mtllib {HOSTILE}.mtl\no {HOSTILE}\ng {HOSTILE}\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl {HOSTILE}\nf 1 2 3\n{HOSTILE} 1\nf 1 2 9\n"
    );
    let library = format!("newmtl {HOSTILE}\nmap_Kd {HOSTILE}.png\nKd {HOSTILE}\n{HOSTILE}\n");
    let name = HOSTILE.replace(' ', "");
    let ply = format!(
        "ply\nformat ascii 1.0\ncomment {HOSTILE}\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nproperty float {name}\nelement {name} 1\nproperty int {name}\nend_header\n0 0 0 1\n1\n"
    );
    let pbrt = format!(
        "WorldBegin\nNamedMaterial \"{0}\"\nShape \"plymesh\" \"string filename\" \"{0}.ply\"\nShape \"{0}\"\nInclude \"{0}.pbrt\"\n",
        HOSTILE.replace('"', "")
    );
    let stl = format!(
        "solid {HOSTILE}\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n{HOSTILE}\n"
    );
    let csv = format!("{HOSTILE},b\n1,2\n{HOSTILE},3\n");
    let library_name = format!("{}.mtl", HOSTILE.replace('/', "_"));
    let texts = [
        ("a.obj", &obj),
        (&library_name, &library),
        ("a.ply", &ply),
        ("a.pbrt", &pbrt),
        ("a.stl", &stl),
        ("a.csv", &csv),
    ];
    let made = texts.map(|(name, text)| folder.file(name, text));
    let hostile_path =
        folder.file(&format!("{}.obj", HOSTILE.replace('/', "_")), &obj.replace("</script>", "_script>"));
    made.into_iter().filter(|path| !path.ends_with(".mtl")).chain([hostile_path]).collect()
}

fn run(args: &[&str], folder: &Folder) {
    let output = command().args(args).current_dir(folder.path("")).output().unwrap();
    let what = format!("{args:?}");
    assert!(output.status.code().is_some_and(|code| code < 3), "{what}");
    check(&what, &output.stdout, false);
    check(&what, &output.stderr, false);
}

#[test]
#[cfg(unix)]
fn nothing_from_a_file_acts_on_a_terminal() {
    let folder = Folder::new("names-terminal");
    for file in files(&folder) {
        for args in [
            &["info", &file][..],
            &["info", "--json", &file],
            &["info", "--on-error", "warn", &file],
            &["validate", &file],
            &["validate", "--json", &file],
            &["validate", "--strict", &file],
        ] {
            run(args, &folder);
        }
        for target in ["out.obj", "out.ply", "out.csv", "out.stl"] {
            run(&["convert", "-v", "--on-error", "warn", &file, target], &folder);
            run(&["convert", "--json", "--on-error", "warn", &file, target], &folder);
        }
    }
}

#[test]
#[cfg(unix)]
fn reports_charts_and_traces_show_names_and_obey_none() {
    let folder = Folder::new("names-pages");
    for file in files(&folder) {
        let args = ["--report", "r.html", "--chart", "c.svg", "--trace", "t.json"];
        let mut command = command();
        command.args(["convert", "-q", "--on-error", "warn", &file, "out.obj"]).args(args);
        command.current_dir(folder.path("")).output().unwrap();
        for page in ["r.html", "c.svg", "t.json"] {
            let path = folder.path(page);
            if Path::new(&path).exists() {
                check(&format!("{page} of {file:?}"), &std::fs::read(&path).unwrap(), true);
                std::fs::remove_file(&path).unwrap();
            }
        }
    }
}
