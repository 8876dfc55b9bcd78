//! The jobs, each made to be bound by one cause, and their files. They are listed in `tools/bench/plan.toml`.

use super::super::build::Tools;
use super::super::plan::{Job, PLAN, Place};
use crate::root;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A job on this machine.
pub(super) struct Task {
    pub(super) job: &'static Job,
    pub(super) words: Vec<OsString>,
    /// The same without the memory limit.
    pub(super) unlimited: Option<Vec<OsString>>,
    /// The files that it reads, and writes.
    pub(super) inputs: Vec<PathBuf>,
    pub(super) output: Option<PathBuf>,
    /// Whether its output is discarded; it then prints its verdict to standard error.
    pub(super) to_nowhere: bool,
}

/// Makes the files that are not there.
pub(super) fn make(tools: &Tools, folder: &Path, megabytes: u64) -> Result<(), String> {
    let (done, text) = (folder.join("megabytes"), megabytes.to_string());
    if std::fs::read_to_string(&done).is_ok_and(|it| it == text) {
        return Ok(());
    }
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut make = Command::new(&tools.programs["jobs"]);
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
pub(super) fn all(tools: &Tools, folder: &Path) -> Result<Vec<Task>, String> {
    let place = Place { tools, data: folder, megabytes: 0, before: None };
    let task = |job: &'static Job| {
        let mut words = place.fill(&job.command, &[])?.ok_or("a program is not here")?;
        let unlimited = job.limit.as_ref().map(|_| words.clone());
        words.extend(job.limit.iter().flat_map(|limit| limit.split(' ')).map(OsString::from));
        Ok(Task {
            unlimited,
            inputs: job.inputs.iter().flat_map(|input| files(folder.join(input))).collect(),
            output: job.output.as_ref().map(|output| folder.join(output)),
            to_nowhere: words.iter().any(|word| word == "-"),
            job,
            words,
        })
    };
    PLAN.job.iter().map(task).collect()
}

/// The files of a folder, or the one file.
fn files(path: PathBuf) -> Vec<PathBuf> {
    match std::fs::read_dir(&path) {
        Ok(files) => files.filter_map(|file| Some(file.ok()?.path())).collect(),
        Err(_) => vec![path],
    }
}
