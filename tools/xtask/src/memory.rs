//! Cache of the results of passed parts in `target/nightly`, each with a hash of the part's inputs.
//!
//! Inputs are tool versions, and the contents of the files that git tracks or does not ignore. Failed and skipped parts
//! are not cached.

use crate::steps::Totals;
use crate::{root, term};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A passed part.
#[derive(Serialize, Deserialize)]
pub(crate) struct Memory {
    pub(crate) hash: String,
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: Option<f64>,
    pub(crate) totals: Totals,
}

impl Memory {
    /// Loads the results of a part, if its inputs have this hash.
    pub(crate) fn load(part: &str, hash: &str) -> Option<Memory> {
        let text = std::fs::read_to_string(path(part)).ok()?;
        let memory: Memory = serde_json::from_str(&text).ok()?;
        (memory.hash == hash).then_some(memory)
    }

    /// Stores the results.
    pub(crate) fn store(&self, part: &str) {
        let path = path(part);
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let text = serde_json::to_string(self).map_err(std::io::Error::other);
        if let Err(error) = folder.and(text).and_then(|text| std::fs::write(&path, text)) {
            term::err(format!("{}: {error}; the part will run again\n", path.display()));
        }
    }
}

fn path(part: &str) -> PathBuf {
    root::target().join("nightly").join(format!("{part}.json"))
}

/// Hashes the files under `inputs` (without those under an input that starts with `:!`), the version of rustc, and the
/// output of `tools`. Returns `None` without git.
pub(crate) fn hash(inputs: &[&str], tools: &[&[&str]]) -> Option<String> {
    let listing = ["-c", "core.quotePath=off", "ls-files", "--cached", "--others", "--exclude-standard", "--"];
    let files = root::output(Command::new("git").current_dir(root::root()).args(listing).args(inputs))?;
    // A file in the index may be deleted.
    let mut files: Vec<&str> = files.lines().filter(|file| root::root().join(file).is_file()).collect();
    files.sort_unstable();
    files.dedup();
    let hashes = git_hash(&["--stdin-paths"], &(files.join("\n") + "\n"))?;
    let mut text = root::output(Command::new("rustc").arg("-vV")).unwrap_or_default();
    for tool in tools {
        text.push_str(&root::output(Command::new(tool[0]).args(&tool[1..])).unwrap_or_default());
    }
    for (file, hash) in files.iter().zip(hashes.lines()) {
        text.push_str(&format!("{hash} {file}\n"));
    }
    git_hash(&["--stdin"], &text).map(|hash| hash.trim_end().to_owned())
}

/// Returns the output of `git hash-object` for `input`.
fn git_hash(args: &[&str], input: &str) -> Option<String> {
    let mut command = Command::new("git");
    command.current_dir(root::root()).arg("hash-object").args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().ok().filter(|output| output.status.success())?;
    writer.join().ok()?.ok()?;
    String::from_utf8(output.stdout).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_depends_on_the_inputs() {
        let whole = hash(&["tools/xtask"], &[]).unwrap();
        assert_eq!(hash(&["tools/xtask"], &[]).unwrap(), whole);
        assert_ne!(hash(&["tools/xtask/src"], &[]).unwrap(), whole);
        assert_ne!(hash(&["tools/xtask"], &[&["git", "--version"]]).unwrap(), whole);
        assert_ne!(hash(&["tools/xtask", ":!tools/xtask/src"], &[]).unwrap(), whole);
    }
}
