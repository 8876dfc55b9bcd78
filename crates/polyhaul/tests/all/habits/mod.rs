//! Deviations of other programs and damage, applied to every good file: an oracle that is independent of the readers.
//!
//! A row changes the bytes of a file without changing its meaning, or creates a second file with the same meaning in
//! the usual notation. Both must be equal for `polyhaul::diff`, read in one or many pieces, and the deviation must
//! cause a warning. Unreadable damage must be an error. Each new test file is tested with every deviation, and each new
//! deviation with every file.

mod archives;
mod bounds;
mod foreign;
mod gltf;
mod images;
mod meshes;
mod pictures;
mod references;
mod scenes;
mod splats;
mod tables;
mod texels;
#[cfg(windows)]
mod windows;
mod words;

use crate::support::{memory, read_options};
use polyhaul::ReadOptions;
use polyhaul::options::OnError;
use polyhaul_testkit::corpus::samples;
use polyhaul_testkit::random::Random;
use std::collections::BTreeSet;

/// Larger files take longer and reveal no more.
const MAX_BYTES: usize = 20_000;
/// Number of locations in each file at which a change is tried.
const SEEDS: u64 = 3;

/// The expected result for a changed file.
#[derive(Clone, Debug)]
enum Outcome {
    /// Read without a new kind of warning.
    Silent,
    /// Read with a warning of this kind.
    Warned(&'static str),
    /// Read with [`OnError::Warn`] and a warning of this kind.
    Skipped(&'static str),
    /// An error whose message contains these words.
    Refused(&'static str),
}

/// A changed file.
#[derive(Clone, Debug)]
struct Changed {
    bytes: Vec<u8>,
    /// A file with the same meaning in the usual notation; the original if `None`.
    usual: Option<Vec<u8>>,
    outcome: Outcome,
    /// The expected difference.
    but: &'static str,
}

impl Changed {
    fn new(bytes: impl Into<Vec<u8>>, outcome: Outcome) -> Option<Changed> {
        Some(Changed { bytes: bytes.into(), usual: None, outcome, but: "" })
    }

    fn silent(bytes: impl Into<Vec<u8>>) -> Option<Changed> {
        Changed::new(bytes, Outcome::Silent)
    }

    fn warned(bytes: impl Into<Vec<u8>>, code: &'static str) -> Option<Changed> {
        Changed::new(bytes, Outcome::Warned(code))
    }

    fn refused(bytes: impl Into<Vec<u8>>, words: &'static str) -> Option<Changed> {
        Changed::new(bytes, Outcome::Refused(words))
    }

    /// The same meaning, except for this difference.
    fn but(mut self, what: &'static str) -> Changed {
        self.but = what;
        self
    }

    /// The same meaning as another file.
    fn meaning(mut self, usual: impl Into<Vec<u8>>) -> Changed {
        self.usual = Some(usual.into());
        self
    }
}

/// A change to files of one format; `None` if it does not apply to a file.
type Change = fn(&[u8], &mut Random) -> Option<Changed>;

/// Kinds of warnings from reading.
fn codes(bytes: &[u8], name: &str, options: &ReadOptions) -> BTreeSet<&'static str> {
    let compared = polyhaul::diff(memory(bytes, name), memory(bytes, name), options, 0.0);
    compared.map(|compared| compared.report.warnings.counts().keys().copied().collect()).unwrap_or_default()
}

/// Describes the problem with a changed file when it is read in these pieces, if any.
fn fault(original: &[u8], changed: &Changed, name: &str, chunk_bytes: Option<usize>) -> Option<String> {
    let usual = changed.usual.as_deref().unwrap_or(original);
    let mut options = read_options(if chunk_bytes.is_some() { 3 } else { 1 }, chunk_bytes);
    options.on_error = if matches!(changed.outcome, Outcome::Skipped(_)) { OnError::Warn } else { OnError::Raise };
    let compared = polyhaul::diff(memory(&changed.bytes, name), memory(usual, name), &options, 0.0);
    match (compared, &changed.outcome) {
        (Err(error), Outcome::Refused(words)) => {
            let message = error.to_string();
            (!message.contains(words)).then(|| format!("the error does not say {words:?}: {message}"))
        }
        (Ok(_), Outcome::Refused(_)) => Some("it is read".into()),
        (Err(error), _) => Some(format!("it is not read: {error}")),
        (Ok(compared), outcome) => {
            if let Some(difference) = compared.differences.iter().find(|difference| difference.what != changed.but) {
                return Some(difference.message.clone());
            }
            let [new, old] = [&changed.bytes[..], usual].map(|bytes| codes(bytes, name, &options));
            match outcome {
                Outcome::Warned(code) | Outcome::Skipped(code) if !new.contains(code) => {
                    Some(format!("it is read without the warning {code}: {new:?}"))
                }
                Outcome::Silent if !new.is_subset(&old) => Some(format!("it is read with new warnings: {new:?}")),
                _ => None,
            }
        }
    }
}

/// Tries all changes with all good files in a test data folder.
#[track_caller]
fn hold(folder: &str, extension: &str, changes: &[(&str, Change)]) {
    let mut faults = Vec::new();
    let good: Vec<(String, Vec<u8>)> = samples(&format!("{folder}/good"), extension)
        .into_iter()
        .map(|sample| (sample.name.clone(), sample.bytes()))
        .filter(|(_, bytes)| bytes.len() <= MAX_BYTES)
        .collect();
    let name = format!("x.{extension}");
    let is_read =
        |bytes: &[u8]| polyhaul::diff(memory(bytes, &name), memory(bytes, &name), &ReadOptions::default(), 0.0).is_ok();
    let good: Vec<_> = good.into_iter().filter(|(_, bytes)| is_read(bytes)).collect();
    for (habit, change) in changes {
        let mut tried = 0;
        for (number, (file, bytes)) in good.iter().enumerate() {
            // Different choices in each file.
            let first_seed = SEEDS * number as u64;
            for seed in first_seed..first_seed + SEEDS {
                let Some(changed) = change(bytes, &mut Random::new(seed)) else { continue };
                tried += 1;
                let first = [None, Some(64)].into_iter().find_map(|chunk| fault(bytes, &changed, &name, chunk));
                faults.extend(first.map(|fault| format!("{habit}: {file}, seed {seed}: {fault}")));
            }
        }
        assert!(tried > 0, "{habit}: no file has a place for it");
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults[..faults.len().min(60)].join("\n"));
}
