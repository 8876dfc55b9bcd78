//! Decides whether a program loads the recorder.
//!
//! Only the first program is looked at here; recorders look at those that it executes (`recorder/execute.c`).

use crate::code::elf::Elf;
use memchr::memmem;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Number of interpreters that start each other, as in the kernel.
const MAX_INTERPRETERS: usize = 4;

/// Mode bits of setuid and setgid programs.
const PRIVILEGES: u32 = 0o6000;

/// Why a program cannot be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// This build has no recorder.
    NoRecorder,
    /// This system has no `/proc`, through which programs load the recorder.
    NoProc,
    /// The program has no dynamic linker, which would load the recorder.
    Static,
    /// The program runs with other privileges, with which the dynamic linker ignores the recorder.
    Privileged,
    /// The program is not one for this machine, or cannot be read.
    Unknown,
}

/// Checks whether a program loads the recorder. Returns `Ok` for a missing program, so that
/// starting it fails as usual.
pub fn check(program: &OsStr) -> Result<(), Obstacle> {
    if !super::is_available() {
        return Err(Obstacle::NoRecorder);
    }
    if !Path::new("/proc/self/fd").exists() {
        return Err(Obstacle::NoProc);
    }
    executable(program)?.map_or(Ok(()), |file| elf(&file))
}

/// The file that the kernel executes for a program, which may be a script; `None` for a missing program.
fn executable(program: &OsStr) -> Result<Option<File>, Obstacle> {
    let Some(mut path) = find(program) else { return Ok(None) };
    for _ in 0..MAX_INTERPRETERS {
        let file = File::open(&path).map_err(|_| Obstacle::Unknown)?;
        if file.metadata().is_ok_and(|data| data.mode() & PRIVILEGES != 0) {
            return Err(Obstacle::Privileged);
        }
        match interpreter(&file) {
            Some(next) => path = next,
            None => return Ok(Some(file)),
        }
    }
    Err(Obstacle::Unknown)
}

/// The build ID of a program, or of the interpreter of a script, in hexadecimal digits; a hash of the file if it has
/// none. `None` for a missing program.
///
/// The ID is in a note near the start of the file: sizes of name and description, type 3, `GNU` and the ID (elf(5)).
pub fn build_id(program: &OsStr) -> Option<String> {
    const SEARCHED: u64 = 64 << 10;
    const TYPE_AND_NAME: &[u8] = b"\x03\0\0\0GNU\0";
    let mut file = executable(program).ok()??;
    file.rewind().ok()?;
    let mut bytes = Vec::new();
    (&mut file).take(SEARCHED).read_to_end(&mut bytes).ok()?;
    let id = || {
        let at = memmem::find(&bytes, TYPE_AND_NAME)?;
        let size = u32::from_le_bytes(*bytes.get(at.checked_sub(4)?..)?.first_chunk()?) as usize;
        let start = at + TYPE_AND_NAME.len();
        bytes.get(start..start.checked_add(size)?)
    };
    if let Some(id) = id() {
        return Some(id.iter().map(|byte| format!("{byte:02x}")).collect());
    }
    file.read_to_end(&mut bytes).ok()?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    Some(format!("content-{:016x}", hasher.finish()))
}

fn elf(file: &File) -> Result<(), Obstacle> {
    match Elf::headers(file) {
        Some(elf) if elf.has_interpreter => Ok(()),
        Some(_) => Err(Obstacle::Static),
        None => Err(Obstacle::Unknown),
    }
}

/// The file that a shell would execute.
fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(|path| path.exists());
    }
    let paths = env::var_os("PATH").unwrap_or_else(|| OsString::from("/bin:/usr/bin"));
    let is_program =
        |path: &PathBuf| path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0);
    env::split_paths(&paths).map(|folder| folder.join(program)).find(is_program)
}

/// The interpreter that the first line of a script names.
fn interpreter(file: &File) -> Option<PathBuf> {
    let mut head = Vec::new();
    file.take(256).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?.trim_ascii_start();
    let name = line.split(|byte| byte.is_ascii_whitespace()).next()?;
    Some(Path::new(OsStr::from_bytes(name)).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_with_a_dynamic_linker_are_recorded() {
        let shell = check("sh".as_ref());
        assert!(matches!(shell, Ok(()) | Err(Obstacle::NoRecorder)), "{shell:?}");
    }

    #[test]
    fn builds_have_identities() {
        let [shell, other] = ["sh", "cat"].map(|name| build_id(name.as_ref()));
        assert!(shell.as_ref().is_none_or(|id| id.len() >= 16 && Some(id) != other.as_ref()), "{shell:?}");
        assert_eq!(build_id("/no/such/program".as_ref()), None);
    }

    #[test]
    fn scripts_lead_to_their_interpreters() {
        let script = env::temp_dir().join(format!("polyhaul-reach-{}", std::process::id()));
        for (line, expected) in
            [("#! /bin/sh -e\n", Ok(())), ("text", Err(Obstacle::Unknown)), ("#!/etc/passwd", Err(Obstacle::Unknown))]
        {
            std::fs::write(&script, line).unwrap();
            let checked = check(script.as_os_str());
            assert!(checked == expected || checked == Err(Obstacle::NoRecorder), "{line}: {checked:?}");
        }
        std::fs::remove_file(&script).unwrap();
    }
}
