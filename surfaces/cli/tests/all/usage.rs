//! Arguments, help, completions and man pages: everything that reads no scene.

use crate::common::{Folder, SOUND, run};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn without_arguments_there_is_help_and_code_2() {
    let ran = run(&[]).expect(2);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("Usage: polyhaul") && ran.stderr.contains("convert"));
}

#[test]
fn help_and_version_are_results() {
    for args in [&["--help"][..], &["-h"], &["help"], &["help", "convert"]] {
        let ran = run(args).expect(0);
        assert!(ran.stdout.contains("Usage: polyhaul") && ran.stderr.is_empty(), "{ran:?}");
    }
    for command in ["convert", "info", "validate", "check", "demo", "limits", "completions"] {
        let ran = run(&[command, "--help"]).expect(0);
        let takes_options = !matches!(command, "limits" | "completions");
        assert!(ran.stdout.contains("Examples:"), "{ran:?}");
        assert_eq!(ran.stdout.contains("--memory-limit"), takes_options, "{ran:?}");
    }
    assert!(run(&["--version"]).expect(0).stdout.starts_with("polyhaul "));
}

const NONSENSE: [&[&str]; 32] = [
    &["fly"],
    &["convert", "only-one.obj"],
    &["info"],
    &["info", "--colour", "a.obj"],
    &["info", "-j", "0", "a.obj"],
    &["info", "-j", "many", "a.obj"],
    &["info", "--memory-limit", "0", "a.obj"],
    &["info", "--memory-limit", "5 bananas", "a.obj"],
    &["info", "--read-rate", "fast", "a.obj"],
    &["info", "--write-rate", "0", "a.obj"],
    &["info", "--read-rate", "100", "a.obj"],
    &["convert", "a.obj", "b.dds"],
    &["info", "--read-latency", "5", "a.obj"],
    &["info", "--from", "docx", "a.obj"],
    &["info", "--limit", "speed=1", "a.obj"],
    &["info", "--on-error", "ignore", "a.obj"],
    &["info", "--strict", "--on-error", "warn", "a.obj"],
    &["info", "-q", "-v", "a.obj"],
    &["info", "-", "-"],
    &["validate", "-", "-"],
    &["check", "-", "-"],
    &["convert", "a.obj", "b.docx"],
    &["convert", "a.obj", "b.obj", "--up-axis", "W"],
    &["convert", "a.obj", "b.obj", "--up-axis", "Z"],
    &["convert", "a.obj", "b.obj", "--global-scale", "-1"],
    &["convert", "a.obj", "b.obj", "--digits", "13"],
    &["demo", "--size", "5"],
    &["demo", "--size", "900GB"],
    &["watch", "--top", "few", "true"],
    &["limits", "--read-rate", "1MB/s"],
    &["limits", "--again", "--forget"],
    &["completions", "cmd.com"],
];

#[test]
fn nonsense_is_refused_with_code_2() {
    for args in NONSENSE {
        let ran = run(args).expect(2);
        assert!(ran.stdout.is_empty() && ran.stderr.starts_with("error: "), "{args:?} {ran:?}");
    }
}

#[test]
fn nonsense_is_one_object_too() {
    for args in NONSENSE {
        let ran = run(&[&["--json"], args].concat()).expect(2);
        let value = if args[0] == "convert" && ran.stdout.is_empty() {
            continue;
        } else {
            ran.json()
        };
        assert_eq!(value["error"]["kind"], "usage", "{args:?}");
        let command = if args[0] == "fly" { serde_json::Value::Null } else { args[0].into() };
        assert_eq!(value["command"], command, "{args:?}");
        assert!(value["error"]["message"].as_str().unwrap().len() > 10 && ran.stderr.is_empty());
    }
}

#[test]
fn options_about_our_own_work_are_refused_where_there_is_none() {
    let ran = run(&["sweep", "a.obj", "--read-rate", "1MB/s"]).expect(2);
    assert!(ran.stderr.contains("--read-rate applies only to subcommands"), "{ran:?}");
    let folder = Folder::new("usage-own-work");
    let page = folder.path("t.html");
    let ran = run(&["limits", "--report", &page]).expect(2);
    assert!(
        ran.stderr.starts_with("error: --report applies only to subcommands that read or write assets, and to watch"),
        "{ran:?}"
    );
    assert!(!Path::new(&page).exists());
}

#[test]
fn refusals_say_what_would_help() {
    let folder = Folder::new("usage-refusals");
    let scene = folder.file("a.obj", SOUND);
    let ran = run(&["convert", &scene, &folder.path("a.docx")]).expect(2);
    assert!(ran.stderr.contains("help: use `--to FORMAT`, or one of the extensions .obj, .ply, .stl, "), "{ran:?}");
    let ran = run(&["convert", &scene, &folder.path("b.obj"), "--up-axis", "-Z"]).expect(2);
    assert!(ran.stderr.contains("help: with up_axis -Z, use for example forward_axis Y"), "{ran:?}");
    assert_eq!(folder.names(), ["a.obj"]);
}

#[test]
fn misspelled_names_get_suggestions() {
    for (typed, meant) in [("convrt", "convert"), ("valdate", "validate"), ("textures", "texture"), ("swep", "sweep")] {
        let ran = run(&[typed, "a.obj"]).expect(2);
        assert!(ran.stderr.contains(&format!("'{meant}'")), "{typed}: {ran:?}");
        let error = &run(&["--json", typed, "a.obj"]).expect(2).json()["error"];
        assert!(error["hint"].as_str().unwrap().contains(meant) && !error["message"].as_str().unwrap().contains('\n'));
    }
    let ran = run(&["info", "--read-rate", "100", "a.obj"]).expect(2);
    assert!(ran.stderr.contains("expected a rate with a unit, such as 100MB/s"), "{ran:?}");
    let ran = run(&["convert", "a.obj", "b.dds"]).expect(2);
    assert!(ran.stderr.contains("help: use `polyhaul texture IMAGE -o FOLDER`"), "{ran:?}");
    let ran = run(&["convert", "a.obj", "b.bin", "--to", "bmp"]).expect(2);
    assert!(ran.stderr.contains("[possible values: obj, ") && !ran.stderr.contains("psd"), "{ran:?}");
}

#[test]
fn colours_are_for_those_who_want_them() {
    let bad = ["info", "-", "-"];
    assert!(!run(&bad).stderr.contains('\u{1b}'));
    assert!(run(&[&["--color", "always"], &bad[..]].concat()).stderr.contains("\u{1b}["));
    assert!(!run(&[&["--color", "never"], &bad[..]].concat()).stderr.contains('\u{1b}'));
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = run(&["completions", shell]).expect(0);
        assert!(ran.stdout.contains("global-scale") && ran.stderr.is_empty(), "{shell}");
    }
}

#[test]
fn every_subcommand_has_a_man_page() {
    let folder = Folder::new("usage-manual");
    run(&["man", &folder.path("man")]).expect(0);
    let help = run(&["help"]).expect(0).stdout;
    let (_, list) = help.split_once("Commands:\n").unwrap();
    // Continued lines of a description are indented further.
    let entries = list.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
    let commands = entries.filter(|entry| !entry.starts_with(' ')).filter_map(|entry| entry.split(' ').next());
    let expected: BTreeSet<String> = commands
        .filter(|&command| command != "help")
        .map(|command| format!("polyhaul-{command}.1"))
        .chain(["polyhaul.1".into()])
        .collect();
    let entries = std::fs::read_dir(folder.path("man")).unwrap();
    let written: BTreeSet<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(expected.contains("polyhaul-convert.1"), "{help}");
    assert_eq!(written, expected);
    for name in written {
        let page = std::fs::read_to_string(Path::new(&folder.path("man")).join(&name)).unwrap();
        let title = format!(".TH {} 1", name.trim_end_matches(".1"));
        let sections = [title.as_str(), ".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS"];
        assert!(sections.iter().all(|section| page.contains(section)), "{name}: {page}");
    }
    assert!(run(&["man"]).expect(0).stdout.contains(".TH polyhaul 1"));
}
