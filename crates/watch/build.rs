//! Builds the recorder, a shared library without a C library, from `recorder/`.
//!
//! Without a C compiler, or on other systems than Linux on x86-64 and aarch64, the file is empty, and `polyhaul watch`
//! traces.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

const OPTIONS: [&str; 20] = [
    "-Os",
    "-std=c11",
    "-fPIC",
    "-shared",
    "-nostdlib",
    "-ffreestanding",
    "-mgeneral-regs-only",
    "-fvisibility=hidden",
    "-fno-stack-protector",
    "-fno-builtin",
    "-fno-omit-frame-pointer",
    "-fasynchronous-unwind-tables",
    "-Wall",
    "-Wextra",
    "-Wl,-z,now",
    "-Wl,-z,noexecstack",
    "-Wl,--no-undefined",
    "-Wl,--build-id=none",
    "-Wl,-s",
    "-Wl,-soname,polyhaul-recorder.so",
];

/// The entry `DT_FLAGS_1` of a dynamic section, with the flag that `-z now` sets, and the flag that makes the dynamic
/// linker initialize the library before all others (elf.h). Not all linkers have the option `-z initfirst`.
const FLAGS: u64 = 0x6FFF_FFFB;
const NOW: u64 = 1;
const FIRST: u8 = 0x20;

fn main() {
    println!("cargo::rerun-if-changed=recorder");
    let target = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("recorder.so");
    let machine = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let is_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    let options: Option<&[&str]> = match machine.as_str() {
        "x86_64" if is_linux => Some(&[]),
        // Atomic instructions without helpers of a library; the register for platforms stays as it is.
        "aarch64" if is_linux => Some(&["-mno-outline-atomics", "-ffixed-x18"]),
        _ => None,
    };
    let library = options.and_then(|options| library(&target, options));
    // The file is read at compile time, so it exists in any case.
    let _ = fs::write(&target, library.unwrap_or_default());
}

/// Compiles the library. Returns its bytes, or `None` if that fails.
fn library(target: &Path, options: &[&str]) -> Option<Vec<u8>> {
    let compiler = cc::Build::new().cargo_metadata(false).try_get_compiler().ok()?;
    let sources = fs::read_dir("recorder").ok()?.flatten().map(|entry| entry.path());
    let is_source = |path: &PathBuf| path.extension().is_some_and(|end| end == "c" || end == "S");
    let mut sources: Vec<PathBuf> = sources.filter(is_source).collect();
    sources.sort();
    let mut command = compiler.to_command();
    command.args(OPTIONS).args(options).arg("-o").arg(target).args(sources);
    if !command.status().ok()?.success() {
        return None;
    }
    let mut bytes = fs::read(target).ok()?;
    let word = |at: usize| bytes.get(at..at + 8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
    let mut entries = (0..bytes.len()).step_by(8);
    let flags = 8 + entries.find(|at| word(*at) == Some(FLAGS) && word(at + 8) == Some(NOW))?;
    *bytes.get_mut(flags)? |= FIRST;
    Some(bytes)
}
