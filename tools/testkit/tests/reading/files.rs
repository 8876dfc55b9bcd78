//! Files that change while being read, files larger than 4 GiB, and the locale.

use crate::{options, outcome, read};
use polyhaul::options::{Codec, Progress};
use polyhaul::{ErrorKind, Input};
use polyhaul_testkit::corpus::{Folder, samples};
use polyhaul_testkit::generate;
use polyhaul_testkit::packed::pack;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads a file of several megabytes while `change` modifies it.
fn changed(threads: usize, change: impl Fn(&Path) + Send + Sync + 'static) -> Result<(), ErrorKind> {
    let folder = Folder::new("files").unwrap();
    let path: PathBuf = folder.path().join("x.obj");
    generate::grid(12_000_000, &mut File::create(&path).unwrap()).unwrap();
    let mut options = options(threads, None);
    let same = path.clone();
    options.run.progress = Some(Progress(Arc::new(move |_, _| change(&same))));
    let result = read(Input::Path(path), &options);
    result.map(drop).map_err(|error| error.kind())
}

fn open(path: &Path) -> File {
    OpenOptions::new().append(true).open(path).unwrap()
}

#[test]
fn a_file_that_shrinks() {
    for threads in [1, 3] {
        let shrink = |path: &Path| open(path).set_len(1000).unwrap();
        assert_eq!(changed(threads, shrink), Err(ErrorKind::Io));
    }
}

#[test]
fn a_file_that_grows() {
    assert_eq!(changed(2, |path| open(path).write_all(b"v 0 0 0\n").unwrap()), Err(ErrorKind::Io));
}

#[test]
fn a_file_that_is_written_anew() {
    let rewrite = |path: &Path| {
        let bytes = fs::read(path).unwrap();
        fs::write(path, bytes).unwrap();
    };
    assert_eq!(changed(2, rewrite), Err(ErrorKind::Io));
}

/// The same with compression, where a changed file could be mistaken for a damaged one.
#[test]
fn a_compressed_file_that_changes() {
    let folder = Folder::new("files").unwrap();
    for (member_bytes, is_cut) in [(1 << 20, true), (1 << 20, false), (usize::MAX, true), (usize::MAX, false)] {
        let mut text = Vec::new();
        generate::grid(12_000_000, &mut text).unwrap();
        let packed = pack(Codec::Gzip, &text, member_bytes);
        let path = folder.file("x.obj.gz", &packed).unwrap();
        let mut options = options(2, None);
        let same = path.clone();
        options.run.progress = Some(Progress(Arc::new(move |_, _| {
            if is_cut { open(&same).set_len(1000).unwrap() } else { fs::write(&same, vec![7; packed.len()]).unwrap() }
        })));
        let error = read(Input::Path(path), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{member_bytes} {is_cut}: {error}");
    }
}

#[test]
fn a_file_that_stays() {
    assert_eq!(changed(2, |path| drop(fs::read(path))), Ok(()));
}

#[test]
fn files_that_cannot_be_read() {
    let folder = Folder::new("files").unwrap();
    for path in [folder.path().to_path_buf(), folder.path().join("nothing.obj")] {
        let error = read(Input::Path(path.clone()), &options(1, None)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Io | ErrorKind::Usage), "{error:?}");
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
    let other = folder.file("scene.fbx", "v 0 0 0\n").unwrap();
    let error = read(Input::Path(other), &options(1, None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}

/// 5 GiB that start as OBJ and continue with zeros.
#[test]
#[cfg(unix)]
fn a_hole_of_five_gibibytes() {
    let folder = Folder::new("files").unwrap();
    let path = folder.file("x.obj", "v 0 0 0\nf 1 1 1\n").unwrap();
    open(&path).set_len(5 << 30).unwrap();
    for threads in [1, 3] {
        let mut options = options(threads, None);
        options.limits.line_bytes = 1 << 20;
        let error = read(Input::Path(path.clone()), &options).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit | ErrorKind::Malformed), "{error:?}");
        assert!(error.place().offset == Some(16) || error.place().line == Some(3), "{error:?}");
    }
}

/// More than 4 GiB of comments, each of [`LINE_BYTES`], followed by `text`.
struct Comments {
    at: u64,
    text: &'static [u8],
}

const LINE_BYTES: u64 = 4 << 20;
const LINES: u64 = 1030;

impl Read for Comments {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.at == LINES * LINE_BYTES {
            return self.text.read(out);
        }
        let rest = (LINE_BYTES - self.at % LINE_BYTES) as usize;
        let count = rest.min(out.len());
        out[..count].fill(b'#');
        if count == rest {
            out[count - 1] = b'\n';
        }
        self.at += count as u64;
        Ok(count)
    }
}

/// An error after 4 GiB has the right offset.
#[test]
fn a_fault_behind_four_gibibytes() {
    let text = b"v 0 0 0\nf 1 1 2\n";
    let input = Input::Reader(Box::new(Comments { at: 0, text }), "x.obj".into());
    let error = read(input, &options(2, LINE_BYTES as usize)).unwrap_err();
    let place = error.place();
    assert_eq!((place.line, place.column), (Some(LINES + 2), Some(7)), "{error:?}");
    assert_eq!(place.offset, Some(LINES * LINE_BYTES + 14), "{error:?}");
}

/// The decimal point of C libraries depends on the locale; polyhaul's must not. Without a German locale on the system,
/// only the variables are set, which is a weaker test.
#[test]
#[cfg(unix)]
fn the_locale_has_no_effect() {
    use std::ffi::{CStr, c_char, c_int};
    unsafe extern "C" {
        fn setlocale(category: c_int, locale: *const c_char) -> *const c_char;
    }
    const LC_ALL: c_int = if cfg!(target_os = "linux") { 6 } else { 0 };
    let files = || samples("obj/good", "obj").into_iter().chain(samples("obj/bad", "obj"));
    let outcomes = || -> Vec<String> {
        files().filter(|f| f.size < 1000).map(|f| outcome(f.bytes(), &options(1, None))).collect()
    };
    let before = outcomes();
    let set = |name: &CStr| {
        // SAFETY: the string ends with a zero byte, and no other thread of this process uses the locale.
        let set = unsafe { setlocale(LC_ALL, name.as_ptr()) };
        !set.is_null()
    };
    let names = [c"de_DE.UTF-8", c"de_DE.utf8", c"de_DE", c"fr_FR.UTF-8"];
    let _found = names.into_iter().any(set);
    let after = outcomes();
    assert!(set(c"C"));
    assert_eq!(before, after);
}
