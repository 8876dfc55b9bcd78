//! Stores variants of an asset: copies of its files in a cache folder, under the same names, with other codecs.
//!
//! Compression is detected by content, so a scene finds the files it names whatever their codec. A copy is valid as
//! long as the original files keep their sizes and modification times, which a note next to the copy records; the note
//! is written last. Absolute paths and paths through symlinks would lead to the originals, so they are redirected to
//! the copies. Sweeps that share the folder run sequentially. Only copies are ever removed from the folder.

use super::files::{Asset, SweepFile, beside, folder_of};
use crate::args::sweep::Storing;
use crate::file::{self, io};
use polyhaul::options::{Cancel, Codec, Resolve};
use polyhaul::place;
use polyhaul::repack::{repack, sampled};
use polyhaul::report::{Moved, Stored};
use polyhaul::{Error, ErrorKind, Format, Input, Output, ReadOptions, Result, measure};
use std::collections::HashMap;
use std::fmt::Write;
use std::fs::TryLockError;
use std::io::ErrorKind as IoErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The subfolder of the cache for all copies.
const FOLDER: &str = "sweep";
/// The file that marks an asset's folder as created by polyhaul, and names the asset.
const MARK: &str = "asset.txt";
/// The start of the mark's text.
const MARKED: &str = "compressed copies that polyhaul sweep made of ";
/// The interval between attempts to lock.
const EVERY: Duration = Duration::from_millis(50);
/// Bytes of an asset to compress for estimating its compressed size.
const SAMPLE_BYTES: u64 = 16 << 20;

/// A variant of an asset: the original files, or copies with one codec.
pub struct Variant {
    pub storing: Storing,
    /// The file to load.
    pub main: PathBuf,
    pub files: Vec<PathBuf>,
    /// Redirects names that would not lead to the copies.
    pub resolver: Option<Resolve>,
    pub stored: Stored,
    /// The bytes that a load reads, for predictions.
    pub moved: Vec<Moved>,
    /// Whether this run made the copy.
    pub is_new: bool,
}

/// The folder of the copies.
pub struct Cache(PathBuf);

impl Cache {
    /// Opens the cache in the requested folder, or in the user's cache folder.
    pub fn new(requested: Option<&Path>) -> Result<Cache> {
        let folder = requested.map(Path::to_path_buf).or_else(measure::caches).ok_or_else(|| {
            let error = Error::new(ErrorKind::Usage, "no cache folder is set in the environment");
            error.with_hint("use `--cache FOLDER`")
        })?;
        Ok(Cache(folder.join(FOLDER)))
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }

    fn folder_of(&self, main: &Path) -> PathBuf {
        self.0.join(folder_name(&main.to_string_lossy()))
    }

    /// Waits until no other sweep runs, since two would disturb each other's times and copies. Calls `say` before
    /// waiting. Other sweeps wait until the result is dropped. Without file locks, returns immediately.
    pub fn alone(&self, cancel: &Cancel, say: impl FnOnce()) -> Result<Option<std::fs::File>> {
        let Some(lock) = self.lock() else { return Ok(None) };
        let mut say = Some(say);
        while !has_lock(&lock) {
            say.take().into_iter().for_each(|say| say());
            cancel.check()?;
            std::thread::sleep(EVERY);
        }
        Ok(Some(lock))
    }

    /// Opens the lock file. It is outside the folder and never removed, so that all sweeps lock the same file.
    fn lock(&self) -> Option<std::fs::File> {
        let path = self.0.with_extension("lock");
        std::fs::create_dir_all(path.parent()?).ok()?;
        std::fs::File::options().write(true).create(true).truncate(false).open(path).ok()
    }

    /// Removes the copies of one asset or of all; returns their size in bytes.
    pub fn forget(&self, main: Option<&Path>) -> Result<u64> {
        let folders = match main {
            Some(main) => vec![self.folder_of(&real(main))],
            None => self.all()?,
        };
        let ours: Vec<_> = folders.iter().filter(|folder| is_ours(folder)).collect();
        let lock = if ours.is_empty() { None } else { self.lock() };
        if lock.as_ref().is_some_and(|lock| !has_lock(lock)) {
            let error = Error::new(ErrorKind::Usage, "another sweep is using the copies");
            return Err(error.with_hint("try again when it has finished"));
        }
        let mut bytes = 0;
        for folder in ours {
            bytes += size(folder);
            std::fs::remove_dir_all(folder).map_err(|error| io("remove", folder, error))?;
        }
        // Succeeds only if the folder is empty.
        let _ = std::fs::remove_dir(&self.0);
        Ok(bytes)
    }

    /// Everything in the folder; [`is_ours`] distinguishes the folders of assets.
    fn all(&self) -> Result<Vec<PathBuf>> {
        let entries = match std::fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if error.kind() == IoErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io("read the folder", &self.0, error)),
        };
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    }

    /// Returns a variant of the asset: the original, a valid earlier copy, or a new copy.
    pub fn variant(&self, asset: &Asset, storing: Storing, read: &ReadOptions) -> Result<Variant> {
        if storing == Storing::AsIs {
            let files = asset.files.iter().map(|file| file.path.clone()).collect();
            return described(storing, files, asset, read, false);
        }
        let folder = self.folder_of(asset.main());
        let name = storing.to_string().replace(':', "-");
        let copies = folder.join(&name);
        let note = folder.join(format!("{name}.txt"));
        let files = places(asset, &copies)?;
        let key = key(asset, storing);
        let is_new = !is_whole(&note, &key, &files);
        if is_new {
            take(&folder, asset.main())?;
            make(asset, storing, &files, &copies, &note, read).inspect_err(|_| {
                let _ = std::fs::remove_dir_all(&copies);
            })?;
            write_note(&note, &(key + &sizes(&files)))?;
        }
        described(storing, files, asset, read, is_new)
    }

    /// The total size of an asset's copies on disk.
    pub fn bytes(&self, asset: &Asset) -> u64 {
        size(&self.folder_of(asset.main()))
    }
}

/// Describes the inputs of a copy, which is made again if the description changes.
fn key(asset: &Asset, storing: Storing) -> String {
    // Increase the number if compressed files are written differently.
    let mut key = format!("polyhaul {} copy 2\n{storing}\n", env!("CARGO_PKG_VERSION"));
    for SweepFile { path, bytes, modified_ns, .. } in &asset.files {
        // Writing to a string cannot fail.
        let _ = writeln!(key, "{bytes} {modified_ns} {path:?}");
    }
    key
}

/// The paths of the copies, with the layout of the originals below their common folder.
fn places(asset: &Asset, copies: &Path) -> Result<Vec<PathBuf>> {
    let place = |file: &SweepFile| match file.path.strip_prefix(&asset.root) {
        Ok(below) => Ok(copies.join(below)),
        Err(_) => Err(Error::new(ErrorKind::Usage, "cannot copy files from several drives to one folder")),
    };
    asset.files.iter().map(place).collect()
}

/// Resolves symlinks in a path or, if the file is missing, in the path of its folder.
fn real(path: &Path) -> PathBuf {
    let beside = || Some(place::real(folder_of(path)).ok()?.join(path.file_name()?));
    place::real(path).ok().or_else(beside).unwrap_or_else(|| path.to_path_buf())
}

/// Whether polyhaul created this folder for an asset. Symlinks to such folders do not count.
fn is_ours(folder: &Path) -> bool {
    let is_folder = folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    let text = std::fs::read_to_string(folder.join(MARK)).unwrap_or_default();
    let main = text.strip_prefix(MARKED).map(|rest| rest.trim_end_matches('\n'));
    // Also accept a folder that is being created, whose extension is `new`.
    is_folder && main.is_some_and(|main| folder.file_stem().is_some_and(|name| name == &*folder_name(main)))
}

/// The folder name of an asset.
fn folder_name(main: &str) -> String {
    format!("{:016x}", hash(main.as_bytes()))
}

/// Takes the lock, which lasts until the file is closed. Returns `false` if another process has it. Always succeeds on
/// file systems without locks.
fn has_lock(file: &std::fs::File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Creates the folder of an asset if missing. A folder with the mark is renamed into place, so that the folder never
/// exists without its mark.
fn take(folder: &Path, main: &Path) -> Result<()> {
    if is_ours(folder) {
        return Ok(());
    }
    let new = folder.with_extension("new");
    std::fs::create_dir_all(&new).map_err(|error| io("create the folder", &new, error))?;
    write_note(&new.join(MARK), &format!("{MARKED}{}\n", main.to_string_lossy()))?;
    let Err(error) = std::fs::rename(&new, folder) else { return Ok(()) };
    let _ = std::fs::remove_dir_all(&new);
    if folder.symlink_metadata().is_err() {
        return Err(io("create the folder", folder, error));
    }
    let message = format!("{} exists but was not created by polyhaul", folder.display());
    Err(Error::new(ErrorKind::Usage, message).with_hint("move it, or use `--cache FOLDER`"))
}

/// The current sizes of copies, one per line; `-` for a missing copy.
fn sizes(files: &[PathBuf]) -> String {
    let size = |path: &PathBuf| path.metadata().map_or("-\n".into(), |metadata| format!("{}\n", metadata.len()));
    files.iter().map(size).collect()
}

fn is_whole(note: &Path, key: &str, files: &[PathBuf]) -> bool {
    let sizes = sizes(files);
    let is_same = |text: String| text.strip_prefix(key).is_some_and(|rest| rest == sizes);
    !sizes.contains('-') && std::fs::read_to_string(note).is_ok_and(is_same)
}

fn make(
    asset: &Asset,
    storing: Storing,
    files: &[PathBuf],
    copies: &Path,
    note: &Path,
    read: &ReadOptions,
) -> Result<()> {
    for old in [std::fs::remove_file(note), std::fs::remove_dir_all(copies)] {
        if let Err(error) = old
            && error.kind() != IoErrorKind::NotFound
        {
            return Err(io("remove", copies, error));
        }
    }
    let write = storing.write_options().unwrap_or_default().with_run(read.run.clone());
    for (from, to) in asset.files.iter().zip(files) {
        read.run.cancel.check()?;
        let folder = to.parent().unwrap_or(copies);
        std::fs::create_dir_all(folder).map_err(|error| io("create the folder", folder, error))?;
        let packed = repack(Input::Path(from.path.clone()), Output::Path(to.clone()), read, &write);
        packed.map_err(|error| explained(error, asset))?;
    }
    Ok(())
}

/// Adds a hint if the disk is full.
fn explained(error: Error, asset: &Asset) -> Error {
    match error.io_error().map(std::io::Error::kind) {
        Some(IoErrorKind::StorageFull | IoErrorKind::QuotaExceeded) => error.with_hint(format!(
            "copies of this asset take up to {} each; use `--cache` for another disk, or `--codecs` for fewer copies",
            crate::human::bytes(asset.bytes())
        )),
        _ => error,
    }
}

fn write_note(note: &Path, text: &str) -> Result<()> {
    file::write(note, text.as_bytes())
}

/// Describes a variant by inspecting its files.
fn described(
    storing: Storing,
    files: Vec<PathBuf>,
    asset: &Asset,
    read: &ReadOptions,
    is_new: bool,
) -> Result<Variant> {
    let mut moved = Vec::new();
    let mut stored = Stored { name: storing.to_string(), bytes: 0, plain_bytes: 0 };
    for (path, original) in files.iter().zip(&asset.files) {
        let sizes = sampled(Input::Path(path.clone()), &[], 0, read)?;
        stored.bytes += sizes.bytes;
        stored.plain_bytes += sizes.plain_bytes;
        let bytes = [sizes.bytes, sizes.plain_bytes];
        add(&mut moved, original.format, read.format, sizes.codec, sizes.is_stream, bytes);
    }
    let files: Vec<_> = files.iter().map(|path| real(path)).collect();
    let main = files.first().cloned().unwrap_or_default();
    let resolver = leading(asset, &files);
    Ok(Variant { storing, main, files, resolver, stored, moved, is_new })
}

/// Creates a resolver for the names that would not lead to the copies. Returns `None` if all do.
fn leading(asset: &Asset, files: &[PathBuf]) -> Option<Resolve> {
    let folder = files.first()?.parent()?;
    let astray = |(name, number): &(String, usize)| {
        let copy = files.get(*number)?;
        let is_there = place::real(&beside(folder, name)).is_ok_and(|path| path == *copy);
        (!is_there).then(|| (name.clone(), copy.clone()))
    };
    let copies: HashMap<String, PathBuf> = asset.names.iter().filter_map(astray).collect();
    let is_needed = !copies.is_empty();
    is_needed.then(|| Resolve(Arc::new(move |name| Ok(copies.get(name).cloned().map(Input::Path)))))
}

/// Adds a file to the reads. `said` overrides the format of the first file, which is the asset's main file.
fn add(
    moved: &mut Vec<Moved>,
    format: Option<Format>,
    said: Option<Format>,
    codec: Option<Codec>,
    is_stream: bool,
    [bytes, plain_bytes]: [u64; 2],
) {
    let format = said.filter(|_| moved.is_empty()).or(format);
    // Files without a format, such as material libraries, are small.
    let Some(format) = format.map(Format::name) else { return };
    let plain = Moved::new(format, bytes);
    let file = match codec {
        Some(codec) if is_stream => plain.streamed(codec, plain_bytes),
        Some(codec) => plain.compressed(codec, plain_bytes),
        None => plain,
    };
    file.add_to(moved);
}

/// The codec of each file of an asset, or `None` for uncompressed files.
pub fn codecs(asset: &Asset, read: &ReadOptions) -> Result<Vec<Option<Codec>>> {
    asset.files.iter().map(|file| Ok(sampled(Input::Path(file.path.clone()), &[], 0, read)?.codec)).collect()
}

/// Predicts the sizes of these variants by compressing a sample of the asset; nothing is written.
pub fn predicted(asset: &Asset, storings: &[Storing], read: &ReadOptions) -> Result<Vec<Variant>> {
    let by = |storing: &Storing| match *storing {
        Storing::By(codec, level) => Some((codec, level)),
        _ => None,
    };
    let codecs: Vec<_> = storings.iter().filter_map(by).collect();
    let total_bytes = asset.bytes().max(1);
    let mut sampled_files = Vec::new();
    for file in &asset.files {
        let share = (u128::from(SAMPLE_BYTES) * u128::from(file.bytes) / u128::from(total_bytes)) as u64;
        sampled_files.push((file, sampled(Input::Path(file.path.clone()), &codecs, share, read)?));
        read.run.cancel.check()?;
    }
    let variant = |&storing: &Storing| {
        let place = codecs.iter().position(|codec| Some(*codec) == by(&storing));
        let mut moved = Vec::new();
        let mut stored = Stored { name: storing.to_string(), bytes: 0, plain_bytes: 0 };
        for (file, sizes) in &sampled_files {
            let packed = place.and_then(|place| sizes.packed_bytes.get(place).copied());
            let (codec, is_stream, bytes) = match (storing, packed) {
                (Storing::By(codec, _), Some(bytes)) => (Some(codec), false, bytes),
                (Storing::AsIs, _) => (sizes.codec, sizes.is_stream, sizes.bytes),
                _ => (None, false, sizes.plain_bytes),
            };
            stored.bytes += bytes;
            stored.plain_bytes += sizes.plain_bytes;
            add(&mut moved, file.format, read.format, codec, is_stream, [bytes, sizes.plain_bytes]);
        }
        let main = asset.main().to_path_buf();
        Variant { storing, main, files: Vec::new(), resolver: None, stored, moved, is_new: false }
    };
    Ok(storings.iter().map(variant).collect())
}

/// The total size of all files below a folder.
fn size(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let of = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size(&entry.path()),
        _ => entry.metadata().map_or(0, |metadata| metadata.len()),
    };
    entries.flatten().map(of).sum()
}

/// FNV-1a. Collisions are improbable, and the mark in a folder shows its asset.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    /// A folder with an asset of two files; removed on drop.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("polyhaul-variants-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(path.join("in")).unwrap();
            let scratch = Scratch(path);
            scratch.write("in/a.obj", &"v 0 0.25 1\n".repeat(500));
            scratch.write("in/b.mtl", "newmtl red\n");
            scratch
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.0.join(name), text).unwrap();
        }

        fn asset(&self) -> Asset {
            let file = |name: &str| {
                let path = place::real(&self.0.join(name)).unwrap();
                let metadata = path.metadata().unwrap();
                let modified_ns = metadata.modified().unwrap().duration_since(UNIX_EPOCH).unwrap().as_nanos();
                SweepFile { format: Format::of_path(&path), path, bytes: metadata.len(), modified_ns }
            };
            let files = vec![file("in/a.obj"), file("in/b.mtl")];
            let root = files[0].path.parent().unwrap().to_path_buf();
            Asset { files, root, names: Vec::new() }
        }

        fn variant(&self, storing: Storing) -> Variant {
            let cache = Cache::new(Some(&self.0.join("cache"))).unwrap();
            cache.variant(&self.asset(), storing, &ReadOptions::default()).unwrap()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const ZSTD: Storing = Storing::By(Codec::Zstd, None);

    #[test]
    fn copies_are_made_once_for_each_codec_and_level() {
        let scratch = Scratch::new("once");
        let first = scratch.variant(ZSTD);
        assert!(first.is_new && !scratch.variant(ZSTD).is_new);
        let other = scratch.variant(Storing::By(Codec::Zstd, Some(9)));
        assert!(other.is_new && other.main != first.main && !scratch.variant(ZSTD).is_new);
        assert_eq!(first.main.file_name().unwrap(), "a.obj");
        assert_eq!(Codec::of_content(&std::fs::read(&first.main).unwrap()), Some(Codec::Zstd));
        assert_eq!((first.stored.plain_bytes, first.files.len()), (5511, 2));
        assert!(first.stored.bytes < 500 && first.moved[0].bytes < first.stored.bytes);
        let as_is = scratch.variant(Storing::AsIs);
        assert_eq!(
            (as_is.stored.bytes, as_is.is_new, as_is.main),
            (5511, false, scratch.asset().files[0].path.clone())
        );
    }

    #[test]
    fn sweeps_that_share_a_folder_wait_for_each_other() {
        let scratch = Scratch::new("lock");
        let cache = Cache::new(Some(&scratch.0.join("cache"))).unwrap();
        let read = ReadOptions::default();
        assert!(scratch.variant(ZSTD).is_new);
        let cancel = &read.run.cancel;
        let mut is_said = false;
        let lock = cache.alone(cancel, || is_said = true).unwrap().unwrap();
        // While the lock is held, copies cannot be removed. Waiting for it can be cancelled.
        assert_eq!(cache.forget(None).unwrap_err().kind(), ErrorKind::Usage);
        let waited = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let mut is_said = false;
                cache.alone(cancel, || is_said = true).map(|lock| (lock.is_some(), is_said))
            });
            std::thread::sleep(2 * EVERY);
            drop(lock);
            other.join().unwrap().unwrap()
        });
        assert_eq!((is_said, waited), (false, (true, true)));
        let _lock = cache.alone(cancel, || {}).unwrap();
        cancel.cancel();
        assert_eq!(cache.alone(cancel, || {}).map(drop).unwrap_err().kind(), ErrorKind::Cancelled);
        drop(_lock);
        assert!(cache.forget(None).unwrap() > 0 && !scratch.0.join("cache/sweep").exists());
    }

    #[test]
    fn a_folder_of_others_is_left_alone() {
        let scratch = Scratch::new("others");
        let cache = Cache::new(Some(&scratch.0.join("cache"))).unwrap();
        let folder = cache.folder_of(scratch.asset().main());
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("mine"), "mine").unwrap();
        let refused = cache.variant(&scratch.asset(), ZSTD, &ReadOptions::default()).map(drop).unwrap_err();
        assert!(
            refused.kind() == ErrorKind::Usage && refused.to_string().contains("was not created by polyhaul"),
            "{refused}"
        );
        assert_eq!((cache.all().unwrap(), folder.read_dir().unwrap().count()), (vec![folder], 1));
    }

    #[test]
    fn what_changed_is_made_anew() {
        let scratch = Scratch::new("anew");
        let made = scratch.variant(ZSTD);
        scratch.write("in/b.mtl", "newmtl blue\n");
        assert!(scratch.variant(ZSTD).is_new, "another size");
        let file = std::fs::File::options().write(true).open(scratch.0.join("in/a.obj")).unwrap();
        file.set_modified(UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000)).unwrap();
        assert!(scratch.variant(ZSTD).is_new, "another time");
        assert!(!scratch.variant(ZSTD).is_new);
        // A truncated copy is made again.
        std::fs::write(&made.main, b"").unwrap();
        assert!(scratch.variant(ZSTD).is_new, "a copy of another size");
        std::fs::remove_file(&made.files[1]).unwrap();
        assert!(scratch.variant(ZSTD).is_new, "a copy that is gone");
    }

    #[test]
    fn only_copies_are_forgotten() {
        let scratch = Scratch::new("forget");
        scratch.variant(ZSTD);
        scratch.write("cache/mine.txt", "mine");
        scratch.write("cache/sweep/mine.txt", "mine");
        let cache = Cache::new(Some(&scratch.0.join("cache"))).unwrap();
        assert!(cache.bytes(&scratch.asset()) > 0);
        assert_eq!(cache.forget(Some(&scratch.0.join("in/b.mtl"))).unwrap(), 0);
        assert!(cache.forget(Some(&scratch.0.join("in/a.obj"))).unwrap() > 0);
        scratch.variant(ZSTD);
        assert!(cache.forget(None).unwrap() > 0);
        assert_eq!(cache.forget(None).unwrap(), 0);
        assert!(scratch.0.join("cache/mine.txt").exists() && scratch.0.join("cache/sweep/mine.txt").exists());
    }

    #[test]
    fn predictions_write_nothing_and_tell_sizes() {
        let scratch = Scratch::new("predict");
        let asset = scratch.asset();
        let storings = [Storing::AsIs, ZSTD, Storing::Plain];
        let variants = predicted(&asset, &storings, &ReadOptions::default()).unwrap();
        assert_eq!(variants.iter().map(|variant| variant.stored.plain_bytes).collect::<Vec<_>>(), [5511; 3]);
        assert_eq!((variants[0].stored.bytes, variants[2].stored.bytes), (5511, 5511));
        assert_eq!(variants[1].stored.bytes, scratch.variant(ZSTD).stored.bytes);
        let sizes = |variant: &Variant| {
            variant.moved.iter().map(|moved| (moved.format, moved.bytes, moved.plain_bytes)).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&variants[1]), sizes(&scratch.variant(ZSTD)));
        assert_eq!(codecs(&asset, &ReadOptions::default()).unwrap(), [None; 2]);
    }
}
