//! Files on Windows: open in other programs, read-only, or with names that only Windows treats specially.

use crate::common::Folder;
use polyhaul_bytes::{FileOptions, Sink, Source, place};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

const SHARE_READ: u32 = 1;
const SHARE_ALL: u32 = 7;

fn replace(path: &Path) -> io::Result<()> {
    let mut sink = Sink::file(path, FileOptions::default())?;
    sink.write_all(b"new")?;
    sink.finish().map(drop)
}

fn open(path: &Path, share_mode: u32) -> File {
    OpenOptions::new().read(true).share_mode(share_mode).open(path).unwrap()
}

#[test]
fn a_file_that_another_program_reads_is_replaced() {
    let folder = Folder::new();
    let path = folder.file("a.obj", b"old");
    let reader = open(&path, SHARE_ALL);
    replace(&path).unwrap();
    assert_eq!((fs::read(&path).unwrap(), io::read_to_string(reader).unwrap()), (b"new".to_vec(), "old".to_owned()));
    assert_eq!(folder.names(), ["a.obj"]);
}

#[test]
fn a_file_that_another_program_locks_stays_and_the_error_says_why() {
    let folder = Folder::new();
    let path = folder.file("a.obj", b"old");
    let _reader = open(&path, SHARE_READ);
    let start = Instant::now();
    let error = replace(&path).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.to_string().contains("another program may have it open"), "{error}");
    assert_eq!((fs::read(&path).unwrap(), folder.names()), (b"old".to_vec(), vec!["a.obj".to_owned()]));
}

#[test]
fn a_file_that_is_locked_for_a_moment_is_replaced() {
    let folder = Folder::new();
    let path = folder.file("a.obj", b"old");
    let reader = open(&path, SHARE_READ);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            drop(reader);
        });
        replace(&path).unwrap();
    });
    assert_eq!((fs::read(&path).unwrap(), folder.names()), (b"new".to_vec(), vec!["a.obj".to_owned()]));
}

#[test]
fn a_read_only_file_stays() {
    let folder = Folder::new();
    let path = folder.file("a.obj", b"old");
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions.clone()).unwrap();
    let error = replace(&path).unwrap_err();
    assert!(error.kind() == ErrorKind::PermissionDenied && error.to_string().contains("read-only"), "{error}");
    assert_eq!((fs::read(&path).unwrap(), folder.names()), (b"old".to_vec(), vec!["a.obj".to_owned()]));
    assert!(fs::metadata(&path).unwrap().permissions().readonly());
    #[expect(clippy::permissions_set_readonly_false, reason = "Windows only")]
    permissions.set_readonly(false);
    fs::set_permissions(&path, permissions).unwrap();
    replace(&path).unwrap();
}

#[test]
fn devices_are_written_and_files_with_their_names_are_refused() {
    let folder = Folder::new();
    replace(Path::new("NUL")).unwrap();
    replace(&folder.join("nul")).unwrap();
    for name in ["aux.obj", "COM1.ply", "nul.tar.gz", "Con.mtl"] {
        let error = replace(&folder.join(name)).unwrap_err();
        assert!(error.to_string().contains("name of a device"), "{name}: {error}");
    }
    assert!(replace(&folder.join("part:b.obj")).unwrap_err().to_string().contains("colon"));
    for name in ["aux.obj", "CON", "COM1", "nul"] {
        let error = Source::open_regular(folder.join(name)).unwrap_err();
        assert!(error.to_string().contains("device"), "{name}: {error}");
    }
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn dots_and_spaces_at_the_end_are_ignored_as_by_other_programs() {
    let folder = Folder::new();
    for name in ["a.obj.", "a.obj ", "a.obj. ."] {
        replace(&folder.join(name)).unwrap();
        assert_eq!(
            (folder.names(), fs::read(folder.join("a.obj")).unwrap()),
            (vec!["a.obj".to_owned()], b"new".to_vec())
        );
        fs::remove_file(folder.join("a.obj")).unwrap();
    }
}

#[test]
fn real_paths_have_no_verbatim_prefix() {
    let folder = Folder::new();
    let path = folder.file("a.obj", b"old");
    let real = place::real(&path).unwrap();
    let text = real.to_str().unwrap();
    assert!(text.as_bytes()[1] == b':' && text.ends_with(r"\a.obj"), "{text}");
    assert_eq!(fs::read(&real).unwrap(), b"old");
    // The prefix is accepted too.
    let verbatim = path.canonicalize().unwrap();
    assert!(verbatim.to_str().unwrap().starts_with(r"\\?\"));
    replace(&verbatim).unwrap();
    assert_eq!((fs::read(&path).unwrap(), folder.names()), (b"new".to_vec(), vec!["a.obj".to_owned()]));
}
