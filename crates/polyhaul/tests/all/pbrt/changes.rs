//! Files that change while a scene is read, names that do not refer to regular files, and damaged compressed files.

use crate::pbrt::support::{lenient, options, render, same, shown};
use polyhaul::options::{Codec, Resolve};
use polyhaul::{ErrorKind, Input, Reader};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::packed::pack;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

type Change = fn(&Path);

const CHANGES: [(&str, Change); 3] = [
    ("shrinks", |path| File::options().write(true).open(path).unwrap().set_len(40).unwrap()),
    ("grows", |path| File::options().append(true).open(path).unwrap().write_all(b"# more\n").unwrap()),
    ("is written anew", |path| fs::write(path, fs::read(path).unwrap()).unwrap()),
];

/// Reads a scene in which a file includes one of the host's files, and changes the file when the host is called.
fn changed(changing: &'static str, threads: usize, change: Option<Change>) -> polyhaul::Result<usize> {
    let folder = Folder::new("pbrt-changes").unwrap();
    let shapes = "Shape \"sphere\" \"float radius\" 2\n".repeat(400);
    let naming = |file: &str, other: &str| {
        if file == changing.trim_end_matches(".gz") {
            format!("WorldBegin\nInclude \"host\"\n{shapes}")
        } else {
            format!("WorldBegin\n{other}{shapes}")
        }
    };
    folder.file("main.pbrt", naming("main.pbrt", &format!("Include \"{changing}\"\n"))).unwrap();
    let text = naming("a.pbrt", "").replace("WorldBegin\n", "");
    folder.file("a.pbrt", &text).unwrap();
    folder.file("a.pbrt.gz", pack(Codec::Gzip, text.as_bytes(), 1000)).unwrap();
    // Makes sure that new content has another time, whatever the clock resolution.
    let path = folder.join(changing);
    let past = SystemTime::now() - Duration::from_secs(1000);
    File::options().write(true).open(&path).unwrap().set_modified(past).unwrap();
    let give = move |name: &str| {
        if name != "host" {
            return Ok(None);
        }
        change.inspect(|change| change(&path));
        Ok(Some(Input::Memory(b"Shape \"disk\"\n".to_vec(), name.into())))
    };
    let resolver = Some(Resolve(Arc::new(give)));
    let options = options(threads, Some(200)).with_resolver(resolver);
    Reader::new(folder.join("main.pbrt")).options(&options).scene().map(|loaded| render(&loaded).shape_count())
}

#[test]
fn a_file_that_changes_is_an_error() {
    for changing in ["main.pbrt", "a.pbrt", "a.pbrt.gz"] {
        for threads in [1, 2, 7] {
            let whole = if changing == "main.pbrt" { 401 } else { 801 };
            assert_eq!(changed(changing, threads, None).unwrap(), whole, "{changing}");
            for (what, change) in CHANGES {
                let error = changed(changing, threads, Some(change)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Io, "{changing} {what}: {error}");
                assert!(error.to_string().contains(changing), "{changing} {what}: {error}");
            }
        }
    }
}

#[cfg(unix)]
fn fifo(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_fifo_that_the_user_names_is_a_stream() {
    let folder = Folder::new("pbrt-fifo").unwrap();
    let text = format!("WorldBegin\nInclude \"a.pbrt\"\n{}", "Shape \"sphere\"\n".repeat(10_000));
    folder.file("a.pbrt", "Shape \"disk\"\n").unwrap();
    let expected = Reader::new(folder.file("file.pbrt", &text).unwrap()).options(&options(2, None)).scene().unwrap();
    for threads in [1, 2] {
        for packed in [false, true] {
            let path = folder.join(&format!("fifo-{threads}-{packed}.pbrt"));
            fifo(&path);
            let bytes = if packed { pack(Codec::Gzip, text.as_bytes(), 4000) } else { text.clone().into_bytes() };
            let to = path.clone();
            let writer = std::thread::spawn(move || fs::write(to, bytes));
            let loaded = Reader::new(path).options(&options(threads, Some(1000))).scene().unwrap();
            writer.join().unwrap().unwrap();
            assert!(loaded.value == expected.value);
        }
    }
}

/// Whether a referenced file may be opened is decided before it is opened.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_opened() {
    let folder = Folder::new("pbrt-no-file").unwrap();
    let inner = folder.join("in");
    fs::create_dir(&inner).unwrap();
    fifo(&inner.join("pipe"));
    folder.file("mesh.ply", "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nend_header\n").unwrap();
    std::os::unix::fs::symlink("/dev/zero", inner.join("zero")).unwrap();
    std::os::unix::fs::symlink(folder.join("mesh.ply"), inner.join("link.ply")).unwrap();
    let absolute = folder.join("mesh.ply").display().to_string();
    for name in ["pipe", "zero", "link.ply", "../mesh.ply", "..\\\\mesh.ply", &absolute, ".", "", "/dev/zero", "C:/x"] {
        let main = inner.join("main.pbrt");
        for way in [options(1, None), options(2, None)] {
            for allow_outside in [false, true] {
                if allow_outside && (name.contains("mesh.ply") || name == "link.ply") {
                    continue;
                }
                let way = way.clone().with_allow_outside(allow_outside);
                fs::write(&main, format!("WorldBegin\nShape \"plymesh\" \"string filename\" \"{name}\"\n")).unwrap();
                let loaded = Reader::new(&main).options(&way).scene().unwrap();
                assert_eq!(loaded.report.warnings.counts()["missing-mesh"], 1, "{name}");
                for directive in ["Include", "Import"] {
                    fs::write(&main, format!("WorldBegin\n{directive} \"{name}\"\n")).unwrap();
                    let error = Reader::new(&main).options(&way).scene().unwrap_err();
                    assert!(error.to_string().contains("main.pbrt:2:1: cannot read the file `"), "{name}: {error}");
                }
            }
        }
    }
}

/// Content before the damage is read, and an error in it comes first.
#[test]
fn damage_of_compressed_files_comes_in_its_turn() {
    let folder = Folder::new("pbrt-damage").unwrap();
    let text = |broken: bool| {
        let shape = |n| format!("Shape \"sphere\" \"float radius\" {n}\n");
        let shapes: String = (0..4000).map(shape).collect();
        if broken { shapes.replace("radius\" 17\n", "radius\" x\n") } else { shapes }
    };
    for member_bytes in [5000, 1 << 20] {
        for broken in [false, true] {
            let packed = pack(Codec::Gzip, text(broken).as_bytes(), member_bytes);
            let mut flipped = packed.clone();
            flipped[packed.len() / 2] ^= 0x10;
            for damaged in [&packed[..packed.len() - 5], &packed[..packed.len() / 2], &flipped] {
                folder.file("a.pbrt.gz", damaged).unwrap();
                folder.file("main.pbrt", "WorldBegin\nImport \"a.pbrt.gz\"\nFoo\n").unwrap();
                let main = || Input::Path(folder.join("main.pbrt"));
                let expected = Reader::new(main()).options(&options(1, None)).scene();
                let error = expected.as_ref().unwrap_err();
                let line = error.place().line;
                assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
                assert!(error.to_string().contains("a.pbrt.gz"), "{error}");
                assert!(!broken || line == Some(18), "{error}");
                for (threads, chunk_bytes) in [(2, None), (7, Some(300)), (1, Some(1000))] {
                    let loaded = Reader::new(main()).options(&options(threads, chunk_bytes)).scene();
                    assert!(same(&loaded, &expected), "{}\n{}", shown(&loaded), shown(&expected));
                }
                let expected = Reader::new(main()).options(&lenient(options(1, None))).scene();
                for (threads, chunk_bytes) in [(2, None), (7, Some(300))] {
                    let loaded = Reader::new(main()).options(&lenient(options(threads, chunk_bytes))).scene();
                    assert!(same(&loaded, &expected), "{}\n{}", shown(&loaded), shown(&expected));
                }
            }
        }
    }
}
