//! The jobs, each made to be bound by one cause, and their files.

use super::super::build::Tools;
use crate::root;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Threads of a job, unless its cause is another number.
const THREADS: usize = 2;
/// Threads of the job that has too little memory for them.
const MANY_THREADS: usize = 8;

/// How the files of a job are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// In the page cache.
    InMemory,
    /// On the disk alone.
    OnDisk,
}

/// A job: a program and its words.
pub(super) struct Job {
    /// What it does.
    pub(super) title: &'static str,
    /// What it is made to be bound by.
    pub(super) made: &'static str,
    pub(super) threads: usize,
    pub(super) words: Vec<OsString>,
    /// The same without the memory limit.
    pub(super) unlimited: Option<Vec<OsString>>,
    /// What it reads, and where that is.
    pub(super) inputs: Vec<PathBuf>,
    pub(super) found: Found,
    /// What it writes.
    pub(super) output: Option<PathBuf>,
    /// Whether what it writes goes nowhere; then it says its verdict where errors go.
    pub(super) to_nowhere: bool,
    /// Whether other programs want the cores meanwhile.
    pub(super) is_crowded: bool,
}

/// Makes the files that are not there.
pub(super) fn make(tools: &Tools, folder: &Path, megabytes: u64) -> Result<(), String> {
    let (done, text) = (folder.join("megabytes"), megabytes.to_string());
    if std::fs::read_to_string(&done).is_ok_and(|it| it == text) {
        return Ok(());
    }
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut make = Command::new(&tools.jobs);
    make.arg("make").arg(folder).arg(&text);
    // One stream, as most programs write it.
    let mut gzip = Command::new("gzip");
    gzip.args(["-1", "--keep", "--force"]).arg(folder.join("mesh.obj"));
    let is_made = root::runs(&mut make) && root::runs(&mut gzip) && root::runs(&mut Command::new("sync"));
    if is_made && std::fs::write(&done, text).is_ok() {
        Ok(())
    } else {
        Err("the files of the jobs could not be made".into())
    }
}

/// All jobs.
pub(super) fn all(tools: &Tools, folder: &Path) -> Vec<Job> {
    let maker = Maker { tools, folder };
    let mut jobs = maker.of_the_command();
    jobs.extend(maker.of_a_host());
    jobs
}

struct Maker<'a> {
    tools: &'a Tools,
    folder: &'a Path,
}

impl Maker<'_> {
    /// A job of the command: `words`, then options; names that begin with `@` are files.
    fn job(&self, title: &'static str, made: &'static str, threads: usize, words: &str) -> Job {
        let file = |word: &str| word.strip_prefix('@').map(|name| self.folder.join(name));
        let word = |word: &str| file(word).map_or_else(|| word.into(), OsString::from);
        let mut all: Vec<OsString> = vec![self.tools.command.clone().into()];
        all.extend(words.split_whitespace().map(word));
        let threads_word = threads.to_string();
        all.extend(["--threads", &threads_word, "--json", "--no-progress"].map(OsString::from));
        let mut files: Vec<PathBuf> = words.split_whitespace().filter_map(file).collect();
        let output = (files.len() > 1).then(|| files.remove(1));
        let to_nowhere = words.split_whitespace().any(|word| word == "-");
        let (unlimited, found, is_crowded) = (None, Found::InMemory, false);
        Job { title, made, threads, words: all, unlimited, inputs: files, found, output, to_nowhere, is_crowded }
    }

    fn of_the_command(&self) -> Vec<Job> {
        let two = |title, made, words: &str| self.job(title, made, THREADS, words);
        let read = "info @mesh.obj";
        let limited = self.job("an OBJ, read by 8 threads in 1 byte of memory", "memory", MANY_THREADS, read);
        let mut words = limited.words.clone();
        words.extend(["--memory-limit", "1"].map(OsString::from));
        vec![
            Job {
                found: Found::OnDisk,
                inputs: self.scene(),
                ..two("a scene of many files, read from the disk", "read", "info @scene/scene.pbrt")
            },
            two("a binary PLY, read at 100 MB/s", "read", "info @mesh.ply --read-rate 100MB/s"),
            two("a binary PLY, read from the page cache", "build", "info @mesh.ply"),
            two("an array, read from the page cache", "build", "validate @table.npy"),
            two("an OBJ, read from the page cache", "parse", read),
            Job { is_crowded: true, ..two("the same beside other programs", "other-programs", read) },
            Job { words, unlimited: Some(limited.words.clone()), ..limited },
            two("an OBJ in one stream of gzip, read", "decompress", "info @mesh.obj.gz"),
            two("a PNG, read", "serial", "validate @picture.png"),
            two("an array to text that goes nowhere", "format", "convert @table.npy - --to csv"),
            two("a PLY to OBJ, written to the page cache", "write", "convert @mesh.ply @out.obj"),
            two("a PLY to gzip, level 12", "compress", "convert @mesh.ply @out.ply.gz --level 12"),
            two("a PLY, written to the disk", "write", "convert @mesh.ply @out.ply --durable"),
        ]
    }

    /// Jobs of hosts, which are in a program of their own.
    fn of_a_host(&self) -> Vec<Job> {
        let host = |title, made: &'static str, inputs: Vec<PathBuf>| {
            let threads = THREADS.to_string();
            let words = vec![(&self.tools.jobs).into(), made.into(), self.folder.into(), threads.into()];
            let job = self.job(title, made, THREADS, "info");
            Job { words, inputs, ..job }
        };
        vec![
            host(
                "a PLY, of which a host reads 512 bytes at a time",
                "small-reads",
                vec![self.folder.join("small.ply")],
            ),
            host("a scene, whose files a host hands out under a lock", "locks", self.scene()),
        ]
    }

    /// All files of the scene.
    fn scene(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.folder.join("scene"));
        files.into_iter().flatten().filter_map(|file| Some(file.ok()?.path())).collect()
    }
}
