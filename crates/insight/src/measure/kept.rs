//! Stores ceilings in the user's cache folder, one file per machine and disk.
//!
//! Plain text, one line per figure. Damaged files and files of another version are ignored, as are unknown lines.
//! Loading never measures and never fails.

use super::place;
use crate::ceilings::{Ceilings, Kernel, Unpacking, Written};
use polyhaul_bytes::hash::xxh3_64;
use polyhaul_bytes::{FileOptions, Sink, Source};
use polyhaul_model::error::{Error, Result, planted};
use polyhaul_trace::{FileUse, Recording};
use std::ffi::OsString;
use std::fmt::{Display, Write};
use std::path::{Path, PathBuf};

/// First line. Increment the number if the meaning of a figure changes.
const HEAD: &str = "polyhaul ceilings 1";
/// Last line; proves that the file is complete.
const END: &str = "end";
/// Maximum size of a ceilings file; larger files are ignored.
const MAX_BYTES: usize = 64 << 10;

/// Loads the stored ceilings of this machine and the disk of `folder`, if there are any. They may be old: see
/// [`Ceilings::measured_unix_s`].
pub fn kept(folder: &Path) -> Option<Ceilings> {
    let machine = place::machine();
    let disk = place::disk(folder);
    let stored = read(&file(&cache_folder(variable)?, &machine, &disk))?;
    (stored.machine == machine && stored.disk == disk).then_some(stored)
}

/// Loads the stored ceilings for the disks of a recording: read figures for the disk of the largest input, write
/// figures for the disk of the largest output. If the disks differ, [`Ceilings::disk`] names both, unless only one was
/// measured: then the figures of the other disk are unknown. Without files, uses the disk of the current folder.
pub fn kept_for(seen: &Recording) -> Option<Ceilings> {
    match [false, true].map(|is_output| folder_of(seen, is_output)) {
        [Some(input), Some(output)] => {
            if place::disk(&input) == place::disk(&output) {
                kept(&input)
            } else {
                both(kept(&input), kept(&output))
            }
        }
        [one, other] => kept(&one.or(other).unwrap_or_else(|| ".".into())),
    }
}

/// The folder of the largest input or output, or its nearest existing ancestor.
fn folder_of(seen: &Recording, is_output: bool) -> Option<PathBuf> {
    // Standard input has no path.
    let is_named = |name: &Path| name.is_file() || name.parent().is_some_and(Path::is_dir);
    let is_one = |file: &&FileUse| file.is_file && file.is_output == is_output;
    // Checking accesses the disk, so sort first: then only a few of possibly thousands of files are checked.
    let mut files: Vec<&FileUse> = seen.files.iter().filter(is_one).collect();
    files.sort_by_key(|file| std::cmp::Reverse(file.calls.bytes));
    let largest = files.into_iter().find(|file| is_output || is_named(Path::new(&file.name)))?;
    // A bare file name is in the working directory.
    let here = |folder| if folder == Path::new("") { Path::new(".") } else { folder };
    let mut folders = Path::new(&largest.name).ancestors().skip(1).map(here);
    folders.find(|folder| folder.is_dir()).map(PathBuf::from)
}

/// Combines read figures of one disk with write figures of another disk. Both also include the machine's figures.
fn both(reading: Option<Ceilings>, writing: Option<Ceilings>) -> Option<Ceilings> {
    Some(match (reading, writing) {
        (Some(reading), Some(writing)) => Ceilings {
            disk: format!("{}; writing to {}", reading.disk, writing.disk),
            measured_unix_s: reading.measured_unix_s.min(writing.measured_unix_s),
            write: writing.write,
            write_sync: writing.write_sync,
            writes: writing.writes,
            ..reading
        },
        (Some(reading), None) => Ceilings { write: 0.0, write_sync: 0.0, writes: Vec::new(), ..reading },
        (None, Some(writing)) => {
            Ceilings { cold_read: None, cached_read: 0.0, cached_read_all: 0.0, small_read_ns: 0.0, ..writing }
        }
        (None, None) => return None,
    })
}

/// Stores ceilings, replacing earlier ceilings of the same machine and disk. Returns the path, or `None` if there is no
/// cache folder because neither `XDG_CACHE_HOME` nor `HOME` (macOS: `HOME`, Windows: `LOCALAPPDATA`) is set to an
/// absolute path.
///
/// # Errors
/// [`polyhaul_model::error::ErrorKind::Io`] if the file cannot be written.
pub fn keep(ceilings: &Ceilings) -> Result<Option<PathBuf>> {
    let Some(folder) = cache_folder(variable) else { return Ok(None) };
    let path = file(&folder, &ceilings.machine, &ceilings.disk);
    write(&path, &text(ceilings)).map_err(|error| Error::io("save figures", &path.display().to_string(), error))?;
    Ok(Some(path))
}

/// Deletes the stored ceilings of this machine and the disk of `folder`. Returns `false` if there were none.
///
/// # Errors
/// [`polyhaul_model::error::ErrorKind::Io`] if the file cannot be removed.
pub fn forget(folder: &Path) -> Result<bool> {
    let Some(caches) = cache_folder(variable) else { return Ok(false) };
    let path = file(&caches, &place::machine(), &place::disk(folder));
    match std::fs::remove_file(&path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io("delete saved figures", &path.display().to_string(), error)),
    }
}

/// The cache folder of polyhaul, which may not exist yet. Returns `None` in the same cases as [`keep`].
pub fn caches() -> Option<PathBuf> {
    cache_folder(variable)
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The cache folder of polyhaul. Ignores relative paths, as the XDG Base Directory Specification requires: they depend
/// on the working directory.
fn cache_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("HOME").map(|home| home.join("Library/Caches"))
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
    };
    caches.map(|caches| caches.join("polyhaul"))
}

/// Path of the file for a machine and disk.
fn file(folder: &Path, machine: &str, disk: &str) -> PathBuf {
    folder.join(format!("ceilings-{:016x}.txt", xxh3_64(format!("{machine}\n{disk}").as_bytes())))
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut sink = Sink::file(path, FileOptions::default())?;
    sink.write_all(text.as_bytes())?;
    sink.finish().map(drop)
}

fn read(path: &Path) -> Option<Ceilings> {
    let source = Source::open_regular(path).ok()?;
    let mut bytes = vec![0; usize::try_from(source.len()?).ok().filter(|&bytes| bytes <= MAX_BYTES)?];
    let count = source.read_at(0, &mut bytes).ok()?;
    parse(std::str::from_utf8(bytes.get(..count)?).ok()?)
}

/// Serializes ceilings. Floats are written with the shortest digits that round-trip.
fn text(ceilings: &Ceilings) -> String {
    let Ceilings { machine, disk, measured_unix_s, cores, writes, kernels, notes, cold_read, .. } = ceilings;
    let mut text = format!("{HEAD}\n");
    // Writing to a string cannot fail.
    let mut line = |name: &str, value: &dyn Display| _ = writeln!(text, "{name} {value}");
    line("machine", machine);
    line("disk", disk);
    line("measured_unix_s", measured_unix_s);
    line("cores", cores);
    for (name, value) in figures(&mut ceilings.clone()) {
        line(name, value);
    }
    if ceilings.other_load > 0.0 {
        line("other_load", &ceilings.other_load);
    }
    if let Some(rate) = cold_read {
        line("cold_read", rate);
    }
    for size in writes {
        line("written", &format_args!("{} {} {}", size.bytes, size.write, size.write_sync));
    }
    for kernel in kernels {
        line("kernel", &format_args!("{} {}", kernel.rate, kernel.name));
    }
    for unpacking in &ceilings.unpacking {
        line("unpacking", &format_args!("{} {} {}", unpacking.share, unpacking.rate, unpacking.codec));
    }
    for note in notes {
        line("note", note);
    }
    text.push_str(END);
    text.push('\n');
    text
}

/// Required figures by name.
fn figures(ceilings: &mut Ceilings) -> [(&'static str, &mut f64); 8] {
    [
        ("cores_side_by_side", &mut ceilings.cores_side_by_side),
        ("cached_read", &mut ceilings.cached_read),
        ("cached_read_all", &mut ceilings.cached_read_all),
        ("write", &mut ceilings.write),
        ("write_sync", &mut ceilings.write_sync),
        ("small_read_ns", &mut ceilings.small_read_ns),
        ("copy", &mut ceilings.copy),
        ("fresh_memory", &mut ceilings.fresh_memory),
    ]
}

/// Parses a ceilings file. Returns `None` if it is damaged or of another version.
fn parse(text: &str) -> Option<Ceilings> {
    let body = text.strip_prefix(HEAD)?.strip_prefix('\n')?.strip_suffix('\n')?;
    let (body, end) = body.rsplit_once('\n')?;
    let mut ceilings = Ceilings::default();
    for line in body.lines() {
        let (name, value) = line.split_once(' ')?;
        match name {
            "machine" => ceilings.machine = value.to_owned(),
            "disk" => ceilings.disk = value.to_owned(),
            "measured_unix_s" => ceilings.measured_unix_s = value.parse().ok()?,
            "cores" => ceilings.cores = value.parse().ok()?,
            "cold_read" => ceilings.cold_read = Some(figure(value)?),
            "other_load" => ceilings.other_load = figure(value)?,
            "written" => ceilings.writes.push(written(value)?),
            "kernel" => ceilings.kernels.push(kernel(value)?),
            "unpacking" => ceilings.unpacking.push(unpacking(value)?),
            "note" => ceilings.notes.push(value.to_owned()),
            _ => {
                if let Some((_, value_of)) = figures(&mut ceilings).into_iter().find(|(key, _)| *key == name) {
                    *value_of = figure(value)?;
                }
            }
        }
    }
    // A file without its last line was cut short while it was written.
    let is_whole = (end == END || planted("ceilings-cut"))
        && ceilings.cores > 0
        && figures(&mut ceilings).into_iter().all(|(_, value)| *value > 0.0);
    is_whole.then_some(ceilings)
}

/// Parses a positive finite number.
fn figure(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)
}

fn written(value: &str) -> Option<Written> {
    let mut fields = value.split(' ');
    let bytes = fields.next()?.parse().ok()?;
    Some(Written { bytes, write: figure(fields.next()?)?, write_sync: figure(fields.next()?)? })
}

fn kernel(value: &str) -> Option<Kernel> {
    let (rate, name) = value.split_once(' ')?;
    Some(Kernel { name: name.to_owned(), rate: figure(rate)? })
}

fn unpacking(value: &str) -> Option<Unpacking> {
    let mut fields = value.splitn(3, ' ');
    let share = figure(fields.next()?)?;
    let rate = figure(fields.next()?)?;
    Some(Unpacking { codec: fields.next()?.to_owned(), share, rate })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::Folder;
    use polyhaul_trace::{self as trace, Detail, Trace};

    fn sample() -> Ceilings {
        let mut ceilings = Ceilings {
            machine: "Some CPU, 2 cores, here".into(),
            disk: "/dev/vda, ext4, 254:0".into(),
            measured_unix_s: 1_795_334_400,
            cores: 2,
            cold_read: Some(1.7e9),
            other_load: 0.05,
            kernels: vec![Kernel { name: "parse obj".into(), rate: 0.1 + 0.2 }],
            unpacking: vec![Unpacking { codec: "gzip".into(), share: 0.25, rate: 1.2e9 }],
            writes: vec![Written { bytes: 1 << 20, write: 3.5e9, write_sync: 1e9 / 3.0 }],
            notes: vec!["a note with words".into()],
            ..Ceilings::default()
        };
        figures(&mut ceilings)
            .into_iter()
            .enumerate()
            .for_each(|(index, (_, value))| *value = index as f64 + 1.0 / 3.0);
        ceilings
    }

    #[test]
    fn what_is_kept_comes_back() {
        assert_eq!(parse(&text(&sample())), Some(sample()));
        let less =
            Ceilings { cold_read: None, other_load: 0.0, kernels: vec![], writes: vec![], notes: vec![], ..sample() };
        assert_eq!(parse(&text(&less)), Some(less));
    }

    #[test]
    fn lines_of_later_versions_are_passed_over() {
        let later = text(&sample()).replace("cores 2", "cores 2\nlatency_ns 17\nlist 1 2 3");
        assert_eq!(parse(&later), Some(sample()));
    }

    #[test]
    fn damage_and_other_versions_are_no_ceilings() {
        let sound = text(&sample());
        for (from, to) in [
            ("ceilings 1\n", "ceilings 2\n"),
            ("cores 2", "cores 0"),
            ("cores 2", "cores two"),
            ("cores 2", ""),
            ("cold_read 1700000000", "cold_read inf"),
            ("cold_read 1700000000", "cold_read NaN"),
            ("cold_read 1700000000", "cold_read -1"),
            ("kernel 0.30000000000000004 ", "kernel "),
            ("written 1048576 ", "written 1048576.5 "),
            ("unpacking 0.25 ", "unpacking 0 "),
            ("unpacking 0.25 1200000000 gzip", "unpacking 0.25 1200000000"),
            ("\nend\n", "\n"),
            ("\nend\n", "\nend"),
        ] {
            assert!(sound.contains(from), "{from}");
            assert_eq!(parse(&sound.replace(from, to)), None, "{from} {to}");
        }
        // Every truncated file is rejected, and every figure is required.
        assert!((0..sound.len()).all(|end| parse(&sound[..end]).is_none()));
        for (name, _) in figures(&mut sample()) {
            assert_eq!(parse(&sound.replace(&format!("\n{name} "), "\nother ")), None, "{name}");
        }
    }

    #[test]
    fn files_are_read_and_written_whole() {
        let folder = Folder::new("kept");
        let path = file(&folder.0.join("not/there/yet"), "a machine", "a disk");
        assert_eq!(read(&path), None);
        write(&path, &text(&sample())).unwrap();
        assert_eq!(read(&path), Some(sample()));
        std::fs::write(&path, text(&sample()).repeat(MAX_BYTES)).unwrap();
        assert_eq!(read(&path), None);
        std::fs::write(&path, b"polyhaul ceilings 1\n\xff\nend\n").unwrap();
        assert_eq!(read(&path), None);
        assert_eq!(read(&folder.0), None);
        assert_ne!(path, file(&folder.0.join("not/there/yet"), "a machine", "another disk"));
    }

    #[test]
    fn reading_and_writing_have_the_figures_of_their_disks() {
        let other = Ceilings { disk: "another".into(), measured_unix_s: 7, write: 5.0, write_sync: 6.0, ..sample() };
        let merged = both(Some(sample()), Some(other.clone())).unwrap();
        assert_eq!((merged.cold_read, merged.cached_read), (sample().cold_read, sample().cached_read));
        assert_eq!((merged.write, merged.write_sync, merged.measured_unix_s), (5.0, 6.0, 7));
        assert!(merged.disk.contains(&sample().disk) && merged.disk.contains("another"));
        // Figures of one disk do not apply to the other.
        let reading = both(Some(sample()), None).unwrap();
        assert_eq!((reading.cached_read, reading.write, reading.write_sync), (sample().cached_read, 0.0, 0.0));
        let writing = both(None, Some(other)).unwrap();
        assert_eq!((writing.cold_read, writing.cached_read, writing.write), (None, 0.0, 5.0));
        assert_eq!([&reading.kernels, &writing.kernels], [&sample().kernels; 2]);
        assert_eq!(both(None, None), None);
    }

    #[test]
    fn the_largest_files_say_which_disks_those_are() {
        let folder = Folder::new("disks");
        let trace = Trace::new(Detail::Totals);
        let write = |name: &str, size: usize| {
            let path = folder.0.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut sink = Sink::file(&path, FileOptions::default()).unwrap();
            sink.write_all(&vec![7; size]).unwrap();
            sink.finish().unwrap();
            path
        };
        trace::within(Some(&trace), 1, || {
            let paths = [write("large/gone/out", 3000), write("other/out", 20), write("small/in", 10)];
            for path in &paths[1..] {
                Source::open(path).unwrap().read_at(0, &mut [0; 20]).unwrap();
            }
            Source::memory(vec![0; 5000]).read_at(0, &mut [0; 5000]).unwrap();
            // A device is not on a disk.
            #[cfg(unix)]
            Sink::file(Path::new("/dev/null"), FileOptions::default()).unwrap().write_all(&[0; 9000]).unwrap();
        });
        let seen = trace.recording();
        std::fs::remove_dir_all(folder.0.join("large/gone")).unwrap();
        assert_eq!(folder_of(&seen, true), Some(folder.0.join("large")));
        assert_eq!(folder_of(&seen, false), Some(folder.0.join("other")));
        assert_eq!(folder_of(&Recording::default(), false), None);
    }

    #[test]
    fn the_folder_is_the_users() {
        let of = |set: &'static [(&str, &str)]| {
            cache_folder(move |name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
        };
        assert_eq!(of(&[]), None);
        if cfg!(windows) {
            assert_eq!(of(&[("LOCALAPPDATA", "C:\\caches")]), Some("C:\\caches\\polyhaul".into()));
        } else if cfg!(target_os = "macos") {
            assert_eq!(of(&[("HOME", "/data/a")]), Some("/data/a/Library/Caches/polyhaul".into()));
        } else {
            let both = of(&[("XDG_CACHE_HOME", "/caches"), ("HOME", "/data/a")]);
            assert_eq!(both, Some("/caches/polyhaul".into()));
            assert_eq!(of(&[("XDG_CACHE_HOME", "here"), ("HOME", "/data/a")]), Some("/data/a/.cache/polyhaul".into()));
            assert_eq!(of(&[("XDG_CACHE_HOME", ""), ("HOME", "")]), None);
        }
    }
}
