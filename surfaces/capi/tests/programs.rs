//! Builds C and C++ programs against the library as `cargo xtask install-c` installs it, with its pkg-config flags,
//! runs them and compares their output. Repeats this under AddressSanitizer with LeakSanitizer, and with CMake and a
//! relocated installation.
//!
//! Without a C compiler and its headers, CMake or a sanitizer, tests print a note and pass, because a fresh machine may
//! have only Rust.

#![allow(clippy::print_stderr, reason = "what is skipped must be seen")]

use polyhaul::Writer;
use polyhaul::model::{Channels, Image, Samples};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The library to link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Library {
    Static,
    Shared,
}

/// How to build a program.
#[derive(Clone, Copy)]
struct Build {
    library: Library,
    sanitized: bool,
}

/// Linking the static library is slower.
const STATIC: Build = Build { library: Library::Static, sanitized: false };
const SHARED: Build = Build { library: Library::Shared, sanitized: false };
const STATIC_SANITIZED: Build = Build { library: Library::Static, sanitized: true };
const SHARED_SANITIZED: Build = Build { library: Library::Shared, sanitized: true };

const OBJ: &str = "\
mtllib house.mtl
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
vt 0.5 0.5
usemtl wall
f 1/1 2/1 3/1 4/1
usemtl roof
f 1 2 oops
f 1 3 4
";

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Creates a folder for the output of a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("there is room for a folder");
    folder
}

/// The prefix of the installed library: installed by `cargo xtask test`, or else by this test.
static INSTALLED: LazyLock<PathBuf> = LazyLock::new(|| {
    if let Some(prefix) = env::var_os("POLYHAUL_C_PREFIX") {
        return prefix.into();
    }
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("installed");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--package", "xtask", "--", "install-c", "--debug", "--prefix"]).arg(&prefix);
    let output = command.current_dir(here()).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    prefix
});

/// Returns the flags from the pkg-config file.
fn package(keys: &[&str]) -> Vec<String> {
    let text = fs::read_to_string(INSTALLED.join("lib/pkgconfig/polyhaul.pc")).expect("it was installed");
    assert!(text.contains("prefix=${pcfiledir}/../..\n"), "{text}");
    let value =
        |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix([':', '='])).map(str::trim);
    let full = |flag: &str| {
        let variables = [("${includedir}", "include"), ("${libdir}", "lib")];
        variables.iter().fold(flag.to_owned(), |flag, (name, folder)| {
            flag.replace(name, &INSTALLED.join(folder).display().to_string())
        })
    };
    keys.iter().filter_map(|key| value(key)).flat_map(str::split_whitespace).map(full).collect()
}

/// Returns the command of the C or C++ compiler.
fn compiler(source: &Path) -> Command {
    let is_c = source.extension().is_some_and(|extension| extension == "c");
    let (variable, usual) = if is_c { ("CC", "cc") } else { ("CXX", "c++") };
    let mut command = Command::new(env::var_os(variable).unwrap_or_else(|| usual.into()));
    command.args(if is_c { ["-std=c99", "-pedantic"] } else { ["-std=c++17", "-pedantic"] });
    command.args(["-Wall", "-Wextra", "-Werror", "-g"]);
    command
}

/// Returns why programs cannot be built here: the compiler or its headers are missing.
fn unable(build: Build, source: &Path, folder: &Path) -> Option<String> {
    if cfg!(windows) {
        return Some("C programs are built on Unix only".into());
    }
    let extension = source.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let probe = folder.join(format!("probe.{extension}"));
    let header = if extension == "c" { "stdio.h" } else { "string" };
    fs::write(&probe, format!("#include <{header}>\nint main(void) {{ return 0; }}\n")).expect("a file can be written");
    let program = folder.join("probe");
    let mut command = compiler(&probe);
    command.arg(&probe).arg("-o").arg(&program);
    if build.sanitized {
        command.arg("-fsanitize=address");
    }
    let built = command.output().is_ok_and(|output| output.status.success());
    let runs = built && Command::new(&program).output().is_ok_and(|output| output.status.success());
    (!runs).then(|| {
        if build.sanitized {
            "the compiler has no AddressSanitizer".into()
        } else {
            format!("there is no compiler that builds a .{extension} program")
        }
    })
}

/// Builds a program. If that is impossible here, prints a note and returns `None`.
fn built(source: &Path, build: Build, folder: &Path) -> Option<PathBuf> {
    if let Some(why) = unable(build, source, folder) {
        eprintln!("skipped: {why}");
        return None;
    }
    let program = folder.join(source.file_stem().expect("a source has a name"));
    let mut command = compiler(source);
    command.arg(source).arg("-o").arg(&program).args(package(&["Cflags"]));
    if build.sanitized {
        command.args(["-fsanitize=address", "-fno-omit-frame-pointer"]);
    }
    match build.library {
        Library::Static => command.arg(INSTALLED.join("lib/libpolyhaul.a")).args(package(&["Libs.private"])),
        Library::Shared => command.args(package(&["Libs"])),
    };
    let output = command.output().expect("the compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

/// Runs a program, which must exit with `code`; returns its standard output and standard error.
fn run(program: &Path, arguments: &[&str], folder: &Path, code: i32) -> (String, String) {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    for variable in ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"] {
        command.env(variable, INSTALLED.join("lib"));
    }
    let output = command.output().expect("the program starts");
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    (out, err)
}

/// Returns the path of an example.
fn example(name: &str) -> PathBuf {
    here().join("examples").join(name)
}

/// Writes a file of several assets, with a TGA in an LZ4 frame in the middle; returns the offset and size of the frame.
fn cache(path: &Path) -> (usize, usize) {
    let samples: Vec<u8> = (0..300 * 200 * 3_usize).map(|index| (index * index / 7 % 251) as u8).collect();
    let image = Image {
        width: 300,
        height: 200,
        channels: Channels::Rgb,
        samples: Samples::U8(samples.into()),
        ..Image::default()
    };
    let frame = path.with_extension("tga.lz4");
    Writer::new(&frame).image(&image).expect("an image can be written");
    let frame = fs::read(frame).expect("it was written");
    let before = b"another asset".repeat(999);
    fs::write(path, [&before, &frame, b"and one more".as_slice()].concat()).expect("a file can be written");
    (before.len(), frame.len())
}

fn obj_to_arrays(build: Build, name: &str) {
    let folder = folder(name);
    let Some(program) = built(&example("obj_to_arrays.c"), build, &folder) else { return };
    check_obj_to_arrays(&program, &folder);
}

fn check_obj_to_arrays(program: &Path, folder: &Path) {
    fs::write(folder.join("house.obj"), OBJ).expect("a file can be written");
    fs::write(folder.join("house.mtl"), "newmtl wall\nKd 0.5 0.25 1\n").expect("a file can be written");
    let (out, _) = run(program, &["house.obj"], folder, 0);
    let mut lines: Vec<&str> = out.lines().collect();
    let warnings = lines.split_off(6);
    assert_eq!(
        lines,
        [
            "mesh 0: 4 positions, 1 uvs, 2 faces, 7 corners",
            "first position: 0 0 0",
            "face 0: 0 1 2 3",
            "face 1: 0 2 3",
            "from face 0 on: wall (0.5 0.25 1)",
            "from face 1 on: roof",
        ]
    );
    let tells = |word: &str| warnings.iter().any(|line| line.starts_with("warning: ") && line.contains(word));
    assert!(tells("oops") && tells("roof"), "{warnings:?}");
    let (_, err) = run(program, &["none.obj"], folder, 1);
    assert!(err.starts_with("none.obj: cannot open: "), "{err}");
}

fn tga_from_cache(build: Build, name: &str) {
    let folder = folder(name);
    let Some(program) = built(&example("tga_from_cache.c"), build, &folder) else { return };
    let (start, size) = cache(&folder.join("cache.bin"));
    let (out, _) = run(&program, &["cache.bin", &start.to_string(), &size.to_string()], &folder, 0);
    let sum: usize = (0..300 * 200 * 3_usize).map(|index| index * index / 7 % 251).sum();
    let image = format!("300 x 200 pixels of 3 channels, sum {sum}");
    assert_eq!(
        out.lines().collect::<Vec<_>>(),
        [image.as_str(), "at most ceil(size / 64 KiB) + 4 calls, released 1 time"]
    );
    // The asset extends past the end of the cache, so the callback fails.
    let (_, err) = run(&program, &["cache.bin", &start.to_string(), "99999999"], &folder, 1);
    assert!(err.contains("(host code -5)"), "{err}");
}

fn write_obj(build: Build, name: &str) {
    let folder = folder(name);
    let Some(program) = built(&example("write_obj.c"), build, &folder) else { return };
    assert_eq!(run(&program, &["house.obj"], &folder, 0).0, "wrote some bytes, progress came\n");
    let written = fs::read_to_string(folder.join("house.obj")).expect("it was written");
    let lines: Vec<&str> = written.lines().filter(|line| !line.starts_with(['#', 's'])).collect();
    let expected = "mtllib house.mtl|o house|v 0 0 0|v 1 0 0|v 1 1 0|v 0 1 0|v 0.5 1.5 0|\
                  usemtl wall|f 1 2 3 4|usemtl roof|f 4 3 5";
    assert_eq!(lines.join("|"), expected);
    let library = fs::read_to_string(folder.join("house.mtl")).expect("it was written");
    assert!(library.contains("newmtl wall") && library.contains("newmtl roof"), "{library}");
    let (_, err) = run(&program, &["no/such/folder.obj"], &folder, 1);
    assert!(!err.is_empty());
}

fn cpp(build: Build, name: &str) {
    let folder = folder(name);
    let Some(program) = built(&example("cpp.cpp"), build, &folder) else { return };
    check_cpp(&program, &folder);
}

fn check_cpp(program: &Path, folder: &Path) {
    let (start, size) = cache(&folder.join("cache.bin"));
    fs::write(folder.join("tri.obj"), "v 0 0 1\nv 1 0 2\nv 0 1 3\nf 1 2 3\n").expect("a file can be written");
    let arguments = ["tri.obj", "cache.bin", &start.to_string(), &size.to_string(), "out.obj"];
    let (out, _) = run(program, &arguments, folder, 0);
    assert_eq!(
        out.lines().collect::<Vec<_>>(),
        [
            "1 faces, sum of positions 8",
            "300 x 200 pixels of 3 channels",
            "wrote some bytes",
            "malformed at broken.obj:2:7",
            "obj.smoothing is \"sideways\"; expected none, flags, groups or bitflags",
            "thrown by a callback",
        ]
    );
    let written = fs::read_to_string(folder.join("out.obj")).expect("it was written");
    assert!(written.contains("o triangle\n") && written.contains("f 1 2 3\n"), "{written}");
}

fn misuse(build: Build, name: &str) {
    let folder = folder(name);
    let Some(program) = built(&here().join("tests/misuse.c"), build, &folder) else { return };
    let (out, _) = run(&program, &[], &folder, 0);
    assert_eq!(out, concat!("version ", env!("CARGO_PKG_VERSION"), ": all as it should be\n"));
}

fn wrapper(build: Build, name: &str) {
    let folder = folder(name);
    let Some(program) = built(&here().join("tests/wrapper.cpp"), build, &folder) else { return };
    assert_eq!(run(&program, &[], &folder, 0).0, "all as it should be\n");
}

/// Copies an installation. Symbolic links are kept.
fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("there is room for a folder");
    for entry in fs::read_dir(from).expect("it can be listed") {
        let entry = entry.expect("it can be listed");
        let target = to.join(entry.file_name());
        let kind = entry.file_type().expect("it has a type");
        if kind.is_dir() {
            copy_tree(&entry.path(), &target);
        } else if kind.is_symlink() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(fs::read_link(entry.path()).expect("it is a link"), target)
                .expect("a link can be made");
        } else if fs::hard_link(entry.path(), &target).is_err() {
            fs::copy(entry.path(), target).expect("a file can be copied");
        }
    }
}

/// Copies the installation elsewhere. If CMake cannot build programs, prints a note and returns `None`.
fn moved(folder: &Path) -> Option<PathBuf> {
    let has_cmake = Command::new("cmake").arg("--version").output().is_ok_and(|output| output.status.success());
    let why = if has_cmake { unable(STATIC, &example("cpp.cpp"), folder) } else { Some("there is no CMake".into()) };
    if let Some(why) = why {
        eprintln!("skipped: {why}");
        return None;
    }
    let prefix = folder.join("moved here");
    copy_tree(&INSTALLED, &prefix);
    Some(prefix)
}

/// Configures a project; returns whether that succeeded, and the output of CMake.
fn configured(source: &Path, build: &Path, prefix: &Path, options: &[&str]) -> (bool, String) {
    let mut command = Command::new("cmake");
    command.arg("-S").arg(source).arg("-B").arg(build).args(options);
    let output = command.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())).output().expect("CMake starts");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

fn cmake_examples(options: &[&str], name: &str) {
    let folder = folder(name);
    let Some(prefix) = moved(&folder) else { return };
    let flags = "-Wall -Wextra -Werror -pedantic";
    let flags = [format!("-DCMAKE_C_FLAGS={flags}"), format!("-DCMAKE_CXX_FLAGS={flags}")];
    let options: Vec<&str> = options.iter().copied().chain(flags.iter().map(String::as_str)).collect();
    let build = folder.join("build");
    let (is_configured, text) = configured(&here().join("examples"), &build, &prefix, &options);
    assert!(is_configured, "{text}");
    let output = Command::new("cmake").arg("--build").arg(&build).output().expect("CMake starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
    check_obj_to_arrays(&build.join("obj_to_arrays"), &folder);
    check_cpp(&build.join("cpp"), &folder);
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn cmake_builds_the_examples() {
    cmake_examples(&[], "cmake_builds_the_examples");
}

#[test]
fn cmake_builds_the_examples_with_the_static_library() {
    cmake_examples(&["-DBUILD_SHARED_LIBS=OFF"], "cmake_builds_the_examples_with_the_static_library");
}

/// A project that checks which `find_package` calls find the library.
const REQUESTS: &str = r#"
cmake_minimum_required(VERSION 3.13)
project(requests NONE)
function(expect wanted)
  find_package(polyhaul ${ARGN} QUIET)
  if((wanted AND NOT polyhaul_FOUND) OR (NOT wanted AND polyhaul_FOUND))
    message(SEND_ERROR "find_package(polyhaul ${ARGN}): ${polyhaul_FOUND} ${polyhaul_NOT_FOUND_MESSAGE}")
  endif()
endfunction()
"#;

#[test]
fn cmake_understands_versions_and_components() {
    let folder = folder("cmake_understands_versions_and_components");
    let Some(prefix) = moved(&folder) else { return };
    let [major, minor] = [env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR")];
    let version = env!("CARGO_PKG_VERSION");
    let next = format!("{major}.{}", minor.parse::<u32>().expect("it is a number") + 1);
    let requests = [
        (
            true,
            vec![String::new(), version.into(), format!("{version} EXACT"), format!("{major}.{minor}"), major.into()],
        ),
        (true, ["shared", "static", "static shared"].map(|names| format!("COMPONENTS {names}")).into()),
        (true, vec![format!("{version} OPTIONAL_COMPONENTS dynamic")]),
        (false, vec![next.clone(), "99".into(), format!("{version}.1"), format!("{next} EXACT")]),
        (false, vec!["COMPONENTS dynamic".into(), "COMPONENTS static dynamic".into()]),
    ];
    let expect = |(is_found, requests): &(bool, Vec<String>)| -> String {
        requests.iter().map(|request| format!("expect({} {request})\n", u8::from(*is_found))).collect()
    };
    let project = folder.join("project");
    fs::create_dir_all(&project).expect("there is room for a folder");
    let write = |text: String| fs::write(project.join("CMakeLists.txt"), text).expect("a file can be written");
    write(format!("{REQUESTS}{}", requests.iter().map(expect).collect::<String>()));
    let (is_configured, text) = configured(&project, &folder.join("requests"), &prefix, &[]);
    assert!(is_configured, "{text}");

    // Errors name the cause.
    fs::remove_file(prefix.join("lib/libpolyhaul.a")).expect("it was installed");
    let no_file = "lib/libpolyhaul.a does not exist";
    let refused = [
        ("COMPONENTS dynamic", "there is no component \"dynamic\"; the components are shared and static"),
        ("COMPONENTS static", no_file),
        (next.as_str(), version),
    ];
    for (number, (arguments, message)) in refused.into_iter().enumerate() {
        write(format!("{REQUESTS}find_package(polyhaul {arguments} REQUIRED)\n"));
        let (is_configured, text) = configured(&project, &folder.join(format!("refused{number}")), &prefix, &[]);
        // CMake wraps its messages.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!is_configured && text.contains(message), "{arguments}: {text}");
    }
    write(format!("{REQUESTS}expect(1)\nset(polyhaul_SHARED_LIBS OFF)\nexpect(0)\n"));
    let (is_configured, text) = configured(&project, &folder.join("rest"), &prefix, &[]);
    assert!(is_configured, "{text}");
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn licenses_are_installed() {
    for (name, words) in [
        ("LICENSE-APACHE", "Apache License"),
        ("LICENSE-MIT", "Permission is hereby granted"),
        ("THIRD-PARTY.txt", "zstd-sys v"),
    ] {
        let text = fs::read_to_string(INSTALLED.join("share/licenses/polyhaul").join(name)).expect("it was installed");
        assert!(text.contains(words), "{name}");
    }
}

macro_rules! programs {
    ($($name:ident: $program:ident, $build:expr;)*) => {
        $(
            #[test]
            fn $name() {
                $program($build, stringify!($name));
                let _ = fs::remove_dir_all(folder(stringify!($name)));
            }
        )*
    };
}

programs! {
    an_obj_becomes_arrays: obj_to_arrays, SHARED;
    an_obj_becomes_arrays_with_the_static_library: obj_to_arrays, STATIC;
    an_obj_becomes_arrays_sanitized: obj_to_arrays, SHARED_SANITIZED;
    a_tga_comes_out_of_an_lz4_cache: tga_from_cache, SHARED;
    a_tga_comes_out_of_an_lz4_cache_sanitized: tga_from_cache, SHARED_SANITIZED;
    an_obj_is_written: write_obj, SHARED;
    an_obj_is_written_sanitized: write_obj, SHARED_SANITIZED;
    the_same_in_cpp: cpp, SHARED;
    the_same_in_cpp_sanitized: cpp, SHARED_SANITIZED;
    all_of_the_cpp_header: wrapper, SHARED;
    all_of_the_cpp_header_sanitized: wrapper, SHARED_SANITIZED;
    misuse_is_an_error: misuse, SHARED;
    misuse_is_an_error_and_nothing_leaks: misuse, STATIC_SANITIZED;
}
