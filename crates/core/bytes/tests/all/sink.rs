//! Sinks: a failure of every operation, attributes of the replaced file, and targets other than files.

use crate::common::{Folder, Random};
use polyhaul_bytes::{BLOCK_BYTES, Complete, FaultyLayer, FileOptions, Finished, Sink, Source};
use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

fn durable(durable: bool) -> FileOptions {
    FileOptions::default().with_durable(durable)
}

/// Three blocks and a tail.
fn new_content() -> Vec<u8> {
    Random::new(1).bytes(3 * BLOCK_BYTES + 5)
}

fn write(sink: io::Result<Sink>) -> io::Result<Finished> {
    let mut sink = sink?;
    for block in new_content().chunks(BLOCK_BYTES) {
        sink.write_all(block)?;
    }
    sink.finish()
}

fn write_file(path: &Path) -> io::Result<Finished> {
    write(Sink::file(path, FileOptions::default()))
}

/// Returns the system's error number from `error` or its causes.
fn os_error(error: &io::Error) -> Option<i32> {
    let inner = || error.source()?.downcast_ref::<io::Error>();
    error.raw_os_error().or_else(|| os_error(inner()?))
}

#[test]
fn a_new_file_appears_only_when_it_is_finished() {
    let folder = Folder::new();
    let path = folder.join("new");
    let mut sink = Sink::file(&path, durable(true)).unwrap();
    sink.write_all(b"abc").unwrap();
    assert!(!path.exists());
    assert_eq!(sink.name(), path.to_str().unwrap());
    let finished = sink.finish().unwrap();
    assert_eq!((finished.counters.bytes, finished.counters.calls), (3, 1));
    assert!(finished.bytes.is_none());
    assert_eq!(fs::read(&path).unwrap(), b"abc");
    assert_eq!(folder.names(), ["new"]);
}

#[test]
fn dropping_and_unwinding_leave_the_old_file_and_nothing_else() {
    let folder = Folder::new();
    let path = folder.file("old", b"old");
    let mut sink = Sink::file(&path, FileOptions::default()).unwrap();
    sink.write_all(b"new").unwrap();
    assert_eq!(folder.names().len(), 2);
    drop(sink);
    assert_eq!(folder.names(), ["old"]);

    let unwound = std::panic::catch_unwind(|| {
        let mut sink = Sink::file(&path, FileOptions::default()).unwrap();
        sink.write_all(b"new").unwrap();
        panic!("a fault in the caller");
    });
    assert!(unwound.is_err());
    assert_eq!(folder.names(), ["old"]);
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

/// A full disk, a device error, too many open files, and an exceeded quota.
fn errors() -> [i32; 4] {
    match std::env::consts::OS {
        "windows" => [112, 1117, 4, 1295],
        "linux" => [28, 5, 24, 122],
        _ => [28, 5, 24, 69],
    }
}

/// Fails operation 0, 1, 2 and so on until all were tried; returns the failed operations.
fn fail_each_operation(has_old: bool, options: FileOptions, number: i32) -> Vec<&'static str> {
    let mut failed = Vec::new();
    loop {
        let folder = Folder::new();
        let path = folder.join("target");
        if has_old {
            fs::write(&path, b"old").unwrap();
        }
        let layer = Arc::new(FaultyLayer::with_os_error(failed.len(), number));
        let result = write(Sink::file_with(layer.clone(), &path, options));
        let Some(operation) = layer.fired() else {
            result.unwrap();
            assert_eq!(fs::read(&path).unwrap(), new_content());
            return failed;
        };
        let error = result.unwrap_err();
        assert_eq!(os_error(&error), Some(number), "{operation}: {error}");
        assert_eq!(error.kind(), io::Error::from_raw_os_error(number).kind());
        if operation == "sync_folder" {
            // The only failure after the rename: the new file is in place and complete.
            assert!(error.to_string().contains("in place"), "{error}");
            assert_eq!(fs::read(&path).unwrap(), new_content());
        } else {
            assert_eq!(fs::read(&path).ok().as_deref(), has_old.then_some(&b"old"[..]));
        }
        let left = if has_old || path.exists() { vec!["target"] } else { vec![] };
        assert_eq!(folder.names(), left, "{operation}");
        failed.push(operation);
    }
}

#[test]
fn whatever_fails_the_old_file_stays_and_nothing_is_left() {
    for number in errors() {
        let failed = fail_each_operation(true, durable(true), number);
        let mut expected = vec!["metadata", "check_writable", "open_folder", "create_new", "keep_attributes"];
        expected.extend(["write"; 4]);
        expected.extend(["sync", "close", "rename", "sync_folder"]);
        if cfg!(windows) {
            expected.pop();
        }
        assert_eq!(failed, expected);
    }
}

#[test]
fn whatever_fails_no_new_file_appears() {
    for number in errors() {
        let failed = fail_each_operation(false, durable(false), number);
        assert_eq!(failed, ["metadata", "create_new", "write", "write", "write", "write", "close", "rename"]);
    }
}

#[test]
fn a_temporary_file_that_cannot_be_removed_is_reported() {
    /// A layer in which closing and removing fail.
    struct Stuck;
    #[rustfmt::skip]
    impl polyhaul_bytes::Layer for Stuck {
        fn metadata(&self, path: &Path) -> io::Result<fs::Metadata> { polyhaul_bytes::Disk.metadata(path) }
        fn read_link(&self, path: &Path) -> io::Result<std::path::PathBuf> { polyhaul_bytes::Disk.read_link(path) }
        fn check_writable(&self, path: &Path) -> io::Result<()> { polyhaul_bytes::Disk.check_writable(path) }
        fn open(&self, path: &Path) -> io::Result<fs::File> { polyhaul_bytes::Disk.open(path) }
        fn open_folder(&self, path: &Path) -> io::Result<Option<fs::File>> { polyhaul_bytes::Disk.open_folder(path) }
        fn create_new(&self, path: &Path, mode: u32) -> io::Result<fs::File> { polyhaul_bytes::Disk.create_new(path, mode) }
        fn keep_attributes(&self, file: &fs::File, old: &fs::Metadata) -> io::Result<()> { polyhaul_bytes::Disk.keep_attributes(file, old) }
        fn write(&self, file: &fs::File, bytes: &[u8]) -> io::Result<usize> { polyhaul_bytes::Disk.write(file, bytes) }
        fn sync(&self, file: &fs::File) -> io::Result<()> { polyhaul_bytes::Disk.sync(file) }
        fn close(&self, _: fs::File) -> io::Result<()> { Err(ErrorKind::StorageFull.into()) }
        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> { polyhaul_bytes::Disk.rename(from, to) }
        fn sync_folder(&self, folder: &fs::File) -> io::Result<()> { polyhaul_bytes::Disk.sync_folder(folder) }
        fn remove(&self, _: &Path) -> io::Result<()> { Err(ErrorKind::PermissionDenied.into()) }
    }
    let folder = Folder::new();
    let path = folder.file("target", b"old");
    let error = write(Sink::file_with(Arc::new(Stuck), &path, FileOptions::default())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull, "the first error counts");
    assert!(error.to_string().contains(".tmp could not be removed"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn interrupted_and_short_writes_are_continued() {
    let folder = Folder::new();
    let path = folder.join("target");
    for n in 0..6 {
        let layer = Arc::new(FaultyLayer::new(n, ErrorKind::Interrupted).with_short_writes(50_000));
        let result = write(Sink::file_with(layer.clone(), &path, FileOptions::default()));
        if layer.fired() == Some("write") {
            assert_eq!(result.unwrap().counters.max_size, 50_000);
            assert_eq!(fs::read(&path).unwrap(), new_content());
        }
    }
}

#[test]
fn durable_syncs_the_file_before_and_the_folder_after_the_rename() {
    let folder = Folder::new();
    for is_durable in [false, true] {
        let layer = Arc::new(FaultyLayer::harmless());
        write(Sink::file_with(layer.clone(), folder.join("target"), durable(is_durable))).unwrap();
        let operations = layer.operations();
        let last_write = operations.iter().rposition(|&o| o == "write").unwrap();
        let expected: &[&str] = match is_durable {
            true if cfg!(windows) => &["sync", "close", "rename"],
            true => &["sync", "close", "rename", "sync_folder"],
            false => &["close", "rename"],
        };
        assert_eq!(operations[last_write + 1..], *expected);
    }
}

/// Writes three files, of which the last refers to the others; two of the files exist already.
fn write_group(layer: &Arc<FaultyLayer>, folder: &Folder, durable: bool) -> io::Result<()> {
    let mut complete = Vec::new();
    for name in GROUP {
        let options = FileOptions::default().with_durable(durable).with_part(name != "main");
        let mut sink = Sink::file_with(layer.clone(), folder.join(name), options)?;
        sink.write_all(b"new")?;
        complete.push(sink.complete()?);
    }
    Complete::put_all_in_place(complete).map(drop).map_err(|(_, error)| error)
}

const GROUP: [&str; 3] = ["part-1", "part-2", "main"];

#[test]
fn files_that_belong_together_appear_in_order() {
    for durable in [false, true] {
        let mut failed = Vec::new();
        loop {
            let folder = Folder::new();
            folder.file("part-2", b"old");
            folder.file("main", b"old");
            let layer = Arc::new(FaultyLayer::new(failed.len(), ErrorKind::StorageFull));
            let result = write_group(&layer, &folder, durable);
            let read =
                |name| fs::read(folder.join(name)).map_or("none".to_owned(), |bytes| String::from_utf8(bytes).unwrap());
            let contents = GROUP.map(read);
            let Some(operation) = layer.fired() else {
                assert_eq!((result.is_ok(), contents.each_ref().map(String::as_str)), (true, ["new"; 3]));
                break;
            };
            result.unwrap_err();
            let is_over = failed.last() == Some(&"rename") && operation == "sync_folder";
            let renamed = failed.iter().filter(|name| **name == "rename").count();
            let expected = match renamed {
                3 if is_over => ["new"; 3],
                // A file that was already replaced is not restored.
                2 => ["none", "new", "old"],
                _ => ["none", "old", "old"],
            };
            assert_eq!(contents, expected, "{operation}, {} before", failed.len());
            assert!(folder.names().iter().all(|name| GROUP.contains(&name.as_str())), "{:?}", folder.names());
            failed.push(operation);
        }
        // The folder is synced before and after the last file is put in place.
        let ends: &[&str] = if durable && !cfg!(windows) {
            &["rename", "rename", "sync_folder", "rename", "sync_folder"]
        } else {
            &["rename"; 3]
        };
        assert!(failed.ends_with(ends), "{failed:?}");
        assert_eq!(failed.iter().filter(|name| **name == "open_folder").count(), usize::from(durable));
    }
}

#[test]
fn nothing_can_be_finished_after_a_failed_write() {
    let folder = Folder::new();
    let path = folder.file("target", b"old");
    let layer = Arc::new(FaultyLayer::new(5, ErrorKind::StorageFull));
    let mut sink = Sink::file_with(layer.clone(), &path, FileOptions::default()).unwrap();
    sink.write_all(b"one").unwrap();
    assert_eq!(layer.fired(), None);
    assert!(sink.write_all(b"two").is_err());
    assert!(sink.write_all(b"three").is_err());
    assert!(sink.finish().is_err());
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(folder.names(), ["target"]);
}

#[test]
fn folders_and_missing_folders_are_explained() {
    let folder = Folder::new();
    let error = write_file(folder.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IsADirectory);
    let error = write_file(&folder.join("missing/file")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("missing does not exist"), "{error}");
    assert!(write_file(Path::new("")).is_err());
    assert!(write_file(Path::new("/")).is_err());
    assert!(write_file(&folder.join("..")).is_err());
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn long_and_strange_names_work() {
    let folder = Folder::new();
    for name in ["x".repeat(255), "é".repeat(100), ".".to_owned() + &"日".repeat(60), "a b'\"".replace('"', "")] {
        write_file(&folder.join(&name)).unwrap();
        assert_eq!(folder.names(), [name.as_str()]);
        fs::remove_file(folder.join(&name)).unwrap();
    }
}

/// Writes a new file in deeply nested folders, then replaces it.
fn write_deep(name: &OsStr) {
    let folder = Folder::new();
    let deep = folder.join(&["part of a path"; 30].join("/"));
    fs::create_dir_all(&deep).unwrap();
    let path = deep.join(name);
    assert!(path.as_os_str().len() > 300);
    for _ in 0..2 {
        write_file(&path).unwrap();
        assert_eq!(fs::read_dir(&deep).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>(), [name]);
        let mut content = vec![0; new_content().len()];
        Source::open(&path).unwrap().read_at(0, &mut content).unwrap();
        assert_eq!(content, new_content());
    }
}

#[test]
fn long_paths_work() {
    write_deep(OsStr::new("x.obj"));
    write_deep(OsStr::new("日本.obj"));
}

#[test]
fn names_that_are_not_unicode_work() {
    // An unpaired UTF-16 surrogate.
    #[cfg(windows)]
    let name: std::ffi::OsString = std::os::windows::ffi::OsStringExt::from_wide(&[0xD83D, 0x2E, 0x78]);
    #[cfg(unix)]
    let name: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(b"caf\xe9.x".to_vec());
    write_deep(&name);
}

#[test]
fn many_sinks_in_one_folder_do_not_interfere() {
    let folder = Folder::new();
    std::thread::scope(|scope| {
        for i in 0..8 {
            let path = folder.join(&format!("{}", i / 2));
            scope.spawn(move || (0..10).for_each(|_| drop(write_file(&path).unwrap())));
        }
    });
    assert_eq!(folder.names(), ["0", "1", "2", "3"]);
    assert_eq!(fs::read(folder.join("2")).unwrap(), new_content());
}

#[test]
fn memory_returns_its_bytes() {
    let finished = write(Ok(Sink::memory())).unwrap();
    assert_eq!(finished.bytes.unwrap(), new_content());
    assert_eq!(finished.counters.calls, 4);
}

/// A writer that accepts as many bytes as a function returns.
struct Taker<F>(Arc<Mutex<Vec<u8>>>, F);

impl<F: FnMut(usize) -> io::Result<usize>> Write for Taker<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = (self.1)(bytes.len())?;
        let taken = &bytes[..count.min(bytes.len())];
        self.0.lock().unwrap().extend_from_slice(taken);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        (self.1)(0).map(drop)
    }
}

fn write_to(take: impl FnMut(usize) -> io::Result<usize> + Send + 'static) -> (io::Result<Finished>, Vec<u8>) {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let result = write(Ok(Sink::writer(Box::new(Taker(taken.clone(), take)), "host")));
    let taken = taken.lock().unwrap().clone();
    (result, taken)
}

#[test]
fn hostile_writers_are_errors_and_slow_ones_are_not() {
    let mut call = 0;
    let (result, taken) = write_to(move |given| {
        call += 1;
        if call % 2 == 0 { Err(ErrorKind::Interrupted.into()) } else { Ok(given.min(997)) }
    });
    result.unwrap();
    assert_eq!(taken, new_content());

    let error = write_to(|_| Ok(0)).0.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteZero);
    let error = write_to(|given| Ok(given + 1)).0.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
}

#[test]
fn a_flush_that_fails_at_the_very_end_is_reported() {
    let (result, taken) = write_to(|given| match given {
        0 => Err(ErrorKind::StorageFull.into()),
        _ => Ok(given),
    });
    assert_eq!(taken, new_content());
    assert_eq!(result.unwrap_err().kind(), ErrorKind::StorageFull);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use polyhaul_bytes::Stopped;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn is_root() -> bool {
        fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
    }

    #[test]
    fn a_new_file_has_the_mode_that_any_program_would_give_it() {
        let folder = Folder::new();
        fs::File::create(folder.join("usual")).unwrap();
        write_file(&folder.join("ours")).unwrap();
        assert_eq!(mode(&folder.join("ours")), mode(&folder.join("usual")));
    }

    #[test]
    fn the_mode_of_a_replaced_file_is_kept_less_the_bits_that_writing_clears() {
        let folder = Folder::new();
        let path = folder.file("target", b"old");
        for (old, new) in
            [(0o600, 0o600), (0o644, 0o644), (0o777, 0o777), (0o4755, 0o755), (0o2770, 0o770), (0o200, 0o200)]
        {
            set_mode(&path, old);
            write_file(&path).unwrap();
            assert_eq!(mode(&path), new, "{old:o}");
        }
    }

    #[test]
    fn the_temporary_file_of_a_private_file_is_private() {
        let folder = Folder::new();
        let path = folder.file("target", b"old");
        set_mode(&path, 0o600);
        let sink = Sink::file(&path, FileOptions::default()).unwrap();
        let names = folder.names();
        let temporary = names.iter().find(|name| name.ends_with(".tmp")).unwrap();
        assert_eq!(mode(&folder.join(temporary)), 0o600);
        drop(sink);
    }

    #[test]
    fn the_owner_is_kept_where_that_is_allowed() {
        if !is_root() {
            return;
        }
        let folder = Folder::new();
        let path = folder.file("target", b"old");
        set_mode(&path, 0o640);
        chown(&path, Some(12), Some(34)).unwrap();
        write_file(&path).unwrap();
        let new = fs::metadata(&path).unwrap();
        assert_eq!((new.uid(), new.gid(), mode(&path)), (12, 34, 0o640));
    }

    #[test]
    fn symlinks_stay_and_their_targets_are_replaced() {
        let folder = Folder::new();
        fs::create_dir(folder.join("deep")).unwrap();
        let target = folder.file("deep/target", b"old");
        symlink("deep/second", folder.join("first")).unwrap();
        symlink("../deep/target", folder.join("deep/second")).unwrap();
        write_file(&folder.join("first")).unwrap();
        assert!(folder.join("first").is_symlink() && folder.join("deep/second").is_symlink());
        assert!(!target.is_symlink());
        assert_eq!(fs::read(&target).unwrap(), new_content());
        assert_eq!(folder.names(), ["deep", "first"]);
        assert_eq!(fs::read_dir(folder.join("deep")).unwrap().count(), 2);
    }

    #[test]
    fn a_dangling_symlink_gets_its_file_and_a_ring_is_an_error() {
        let folder = Folder::new();
        symlink(folder.join("later"), folder.join("link")).unwrap();
        write_file(&folder.join("link")).unwrap();
        assert!(folder.join("link").is_symlink());
        assert_eq!(fs::read(folder.join("later")).unwrap(), new_content());

        symlink("b", folder.join("a")).unwrap();
        symlink("a", folder.join("b")).unwrap();
        let error = write_file(&folder.join("a")).unwrap_err();
        assert!(error.to_string().contains("symlinks"), "{error}");
    }

    #[test]
    fn devices_are_written_into() {
        write_file(Path::new("/dev/null")).unwrap();
        write(Sink::file("/dev/null", durable(true))).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        if Path::new("/dev/full").exists() {
            let error = write_file(Path::new("/dev/full")).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::StorageFull);
        }
    }

    #[test]
    fn fifos_are_written_into() {
        let folder = Folder::new();
        let fifo = folder.join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let path = fifo.clone();
        let reader = std::thread::spawn(move || fs::read(path).unwrap());
        write(Sink::file(&fifo, durable(true))).unwrap();
        assert_eq!(reader.join().unwrap(), new_content());
        assert_eq!(folder.names(), ["fifo"]);
    }

    /// Returns a flag that is set after a while, for calls that would otherwise wait forever.
    fn stop_soon() -> Arc<AtomicBool> {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(70));
            flag.store(true, Ordering::Relaxed);
        });
        stop
    }

    fn fifo_in(folder: &Folder) -> std::path::PathBuf {
        let fifo = folder.join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        fifo
    }

    #[test]
    fn a_fifo_without_a_reader_is_waited_for_until_a_stop() {
        let folder = Folder::new();
        let error = Sink::file_until(fifo_in(&folder), durable(false), stop_soon()).unwrap_err();
        assert!(Stopped::caused(&error), "{error}");
        assert_eq!(folder.names(), ["fifo"]);
    }

    #[test]
    fn a_fifo_whose_reader_does_not_read_is_written_until_a_stop() {
        let folder = Folder::new();
        let fifo = fifo_in(&folder);
        // Opened for reading and writing, so that the FIFO has a reader.
        let _reader = fs::File::options().read(true).write(true).open(&fifo).unwrap();
        let mut sink = Sink::file_until(&fifo, durable(false), stop_soon()).unwrap();
        let error = sink.write_all(&vec![0; 1 << 21]).unwrap_err();
        assert!(Stopped::caused(&error), "{error}");
    }

    #[test]
    fn a_fifo_whose_reader_comes_late_and_is_slow_gets_all_bytes() {
        let folder = Folder::new();
        let fifo = fifo_in(&folder);
        let path = fifo.clone();
        let reader = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(60));
            let mut file = fs::File::open(path).unwrap();
            let mut bytes = Vec::new();
            let mut block = [0; 5000];
            loop {
                match io::Read::read(&mut file, &mut block).unwrap() {
                    0 => return bytes,
                    count => bytes.extend_from_slice(&block[..count]),
                }
            }
        });
        write(Sink::file_until(&fifo, durable(true), Arc::default())).unwrap();
        assert_eq!(reader.join().unwrap(), new_content());
    }

    #[test]
    fn a_descriptor_is_written_at_its_position() {
        let folder = Folder::new();
        let mut file = fs::File::create(folder.join("data")).unwrap();
        file.write_all(b"head ").unwrap();
        let mut sink = Sink::file(format!("/dev/fd/{}", file.as_raw_fd()), durable(true)).unwrap();
        sink.write_all(b"body ").unwrap();
        sink.finish().unwrap();
        file.write_all(b"tail").unwrap();
        assert_eq!(fs::read(folder.join("data")).unwrap(), b"head body tail");
    }

    #[test]
    fn files_and_folders_that_may_not_be_written_are_explained() {
        if is_root() {
            return; // Root may write everywhere.
        }
        let folder = Folder::new();
        let path = folder.file("target", b"old");
        set_mode(&path, 0o444);
        assert_eq!(write_file(&path).unwrap_err().kind(), ErrorKind::PermissionDenied);
        set_mode(&path, 0o644);
        set_mode(folder.path(), 0o555);
        let error = write_file(&path).unwrap_err();
        set_mode(folder.path(), 0o755);
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("be writable"), "{error}");
    }
}

#[test]
fn files_are_hashed_on_request() {
    let folder = Folder::new();
    let path = folder.join("hashed");
    assert_eq!(write(Sink::file(&path, FileOptions::default())).unwrap().hash, None);
    let finished = write(Sink::file(&path, FileOptions::default().with_hash(true))).unwrap();
    assert_eq!(finished.hash, Some(polyhaul_bytes::hash::xxh3_128(&new_content())));
}
