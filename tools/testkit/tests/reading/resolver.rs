//! The caller's resolver for files that a scene refers to.

use crate::{options, read};
use polyhaul::model::Scene;
use polyhaul::options::Resolve;
use polyhaul::{ErrorKind, Input, Loaded, ReadOptions, inspect};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::hostile::{Fault, Hostile, Sizes};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

const TEXT: &[u8] = b"mtllib mine.mtl file.mtl\nusemtl mine\nusemtl file\n";

/// Returns options with a resolver, and the names that are requested from it.
fn resolving(
    answer: impl Fn(&str) -> io::Result<Option<Input>> + Send + Sync + 'static,
) -> (ReadOptions, Arc<Mutex<Vec<String>>>) {
    let requested_names = Arc::new(Mutex::new(Vec::new()));
    let log = requested_names.clone();
    let resolve = move |name: &str| {
        log.lock().unwrap().push(name.to_owned());
        answer(name)
    };
    (options(1, None).with_resolver(Some(Resolve(Arc::new(resolve)))), requested_names)
}

fn memory(text: &[u8]) -> Input {
    Input::Memory(text.to_vec(), "x.obj".into())
}

fn given(name: &str) -> Option<Input> {
    (name == "mine.mtl").then(|| Input::Memory(b"newmtl mine\nKd 1 0 0\n".to_vec(), name.into()))
}

fn defined(loaded: &Loaded<Scene>) -> Vec<&str> {
    loaded.value.materials.iter().filter(|m| !m.missing).map(|m| m.name.as_str()).collect()
}

#[test]
fn it_is_asked_before_the_file_system() {
    let folder = Folder::new("resolver").unwrap();
    let scene = folder.file("x.obj", TEXT).unwrap();
    folder.file("mine.mtl", "newmtl wrong\n").unwrap();
    folder.file("file.mtl", "newmtl file\n").unwrap();
    let (options, requested_names) = resolving(|name| Ok(given(name)));
    let loaded = read(Input::Path(scene), &options).unwrap();
    assert_eq!(defined(&loaded), ["mine", "file"]);
    assert!(loaded.report.warnings.is_empty(), "{:?}", loaded.report.warnings);
    assert_eq!(*requested_names.lock().unwrap(), ["mine.mtl file.mtl", "mine.mtl", "file.mtl"]);
}

#[test]
fn scenes_without_a_folder_have_it_alone() {
    for stream in [false, true] {
        let (options, _) = resolving(|name| Ok(given(name)));
        let reader = || Input::Reader(Box::new(TEXT), "x.obj".into());
        let loaded = read(if stream { reader() } else { memory(TEXT) }, &options).unwrap();
        assert_eq!(defined(&loaded), ["mine"]);
        let counts = loaded.report.warnings.counts();
        assert_eq!((counts.get("missing-library"), counts.get("missing-material")), (Some(&1), Some(&1)));
    }
}

#[test]
fn a_name_with_blanks_is_asked_for_once() {
    let (options, requested_names) = resolving(|name| Ok((name == "my paint").then(|| memory(b"newmtl a\n"))));
    let loaded = read(memory(b"mtllib my paint\nmtllib my paint\n"), &options).unwrap();
    assert_eq!(defined(&loaded), ["a"]);
    assert_eq!(*requested_names.lock().unwrap(), ["my paint"]);
}

#[derive(Debug)]
struct Mine(u32);

impl std::fmt::Display for Mine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "mine {}", self.0)
    }
}

impl std::error::Error for Mine {}

#[test]
fn its_errors_end_the_reading_and_come_out_as_they_are() {
    let (options, _) = resolving(|_| Err(io::Error::other(Mine(7))));
    let error = read(memory(TEXT), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Host, "{error}");
    let inner = error.io_error().and_then(|error| error.get_ref()).and_then(|inner| inner.downcast_ref::<Mine>());
    assert!(inner.is_some_and(|mine| mine.0 == 7) && error.to_string().contains("mine 7"), "{error}");
    let (options, _) = resolving(|_| std::panic::resume_unwind(Box::new("the host panics")));
    assert_eq!(read(memory(TEXT), &options).unwrap_err().kind(), ErrorKind::Host);
}

#[test]
fn so_do_those_of_its_readers() {
    for fault in [Fault::FailsAt(3), Fault::ClaimsTooMuchAt(0), Fault::PanicsAt(5)] {
        let library = move || Hostile::new(*b"newmtl mine\nKd 1 1 1\n", Sizes::One).with(fault);
        let (options, _) = resolving(move |name| Ok(Some(Input::Reader(Box::new(library()), name.into()))));
        assert_eq!(read(memory(TEXT), &options).unwrap_err().kind(), ErrorKind::Host, "{fault:?}");
    }
}

/// A path from the resolver may lead anywhere, but is only opened if it is a regular file.
#[test]
#[cfg(unix)]
fn paths_that_it_gives() {
    let folder = Folder::new("resolver").unwrap();
    let path = folder.file("else/where.mtl", "newmtl mine\n").unwrap();
    let at = |path: PathBuf| resolving(move |_| Ok(Some(Input::Path(path.clone())))).0;
    let loaded = read(memory(b"mtllib mine.mtl\n"), &at(path)).unwrap();
    assert_eq!(defined(&loaded), ["mine"]);
    for path in ["/dev/zero", "/", "/nowhere"] {
        let loaded = read(memory(b"mtllib mine.mtl\n"), &at(path.into())).unwrap();
        assert_eq!(loaded.report.warnings.counts().get("missing-library"), Some(&1), "{path}");
    }
}

#[test]
fn what_it_gives_is_limited() {
    let endless = |_: &str| Ok(Some(Input::Reader(Box::new(io::repeat(b'#')), "endless".into())));
    let (mut options, _) = resolving(endless);
    options.limits.referenced_file_bytes = 1 << 20;
    let error = read(memory(TEXT), &options).unwrap_err();
    assert!(error.kind() == ErrorKind::Limit && error.to_string().contains("referenced_file_bytes"), "{error}");
    let names: String = (0..9).map(|i| format!("mtllib {i}.mtl\n")).collect();
    let (mut options, requested_names) = resolving(|_| Ok(None));
    options.limits.files = 5;
    assert_eq!(read(memory(names.as_bytes()), &options).unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(requested_names.lock().unwrap().len(), 5);
}

#[test]
fn validating_asks_it_for_textures() {
    let library = b"newmtl mine\nmap_Kd here.png\nmap_Ks there.png\n";
    let (options, _) = resolving(move |name| {
        let text: &[u8] = if name.ends_with(".mtl") { library } else { b"" };
        Ok((name != "there.png").then(|| Input::Memory(text.to_vec(), name.into())))
    });
    let validation = inspect::validate(memory(b"mtllib a.mtl\nusemtl mine\n"), &options).unwrap();
    assert_eq!(validation.report.warnings.counts().get("missing-texture"), Some(&1));
}
