//! Stores the options of runs under their hash: rows contain only the hash, but users want to know what changed.
//!
//! Each set of options is a small file in the folder `options` of the state folder, named by its hash, with one option
//! per line.

use crate::log::io;
use crate::state_folder;
use polyhaul::place::is_url;
use polyhaul::{FileOptions, Result, Sink, Source};
use std::path::{Path, PathBuf};

/// Maximum number of bytes to read; the options of a run are much smaller.
const MAX_BYTES: usize = 1 << 20;

fn options_path(outputs: &Path, hash: &str) -> PathBuf {
    state_folder(outputs).join("options").join(hash)
}

/// Stores the options of a run, one per line, under their hash, unless they are already stored.
///
/// # Errors
/// [`polyhaul::ErrorKind::Io`] if the file cannot be written.
pub fn keep_options(outputs: &Path, hash: &str, options: &str) -> Result<()> {
    if kept_options(outputs, hash).as_deref() == Some(options) {
        return Ok(());
    }
    let path = options_path(outputs, hash);
    let failed = |error| io("write", &path, error);
    if let Some(folder) = path.parent().filter(|folder| !is_url(folder)) {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut sink = Sink::file(&path, FileOptions::default()).map_err(failed)?;
    sink.write_all(options.as_bytes()).and_then(|()| sink.finish()).map(drop).map_err(failed)
}

/// Loads the options stored under a hash. Returns `None` if there are none, or if the hash is not hexadecimal.
pub fn kept_options(outputs: &Path, hash: &str) -> Option<String> {
    // Logs are untrusted: a hash must not name another file.
    if hash.is_empty() || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let source = Source::open(options_path(outputs, hash)).ok()?;
    let mut bytes = vec![0; MAX_BYTES];
    let count = source.read_next(&mut bytes).ok()?;
    bytes.truncate(count);
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hashes_name_options() {
        let folder = std::env::temp_dir().join(format!("polyhaul-batch-options-{}", std::process::id()));
        keep_options(&folder, "00ff", "digits=3").unwrap();
        let secret = folder.join("secret");
        std::fs::write(&secret, "key=1").unwrap();
        let options = ["00ff", "", "../../secret", secret.to_str().unwrap()].map(|hash| kept_options(&folder, hash));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(options, [Some("digits=3".to_owned()), None, None, None]);
    }
}
