//! The parts that compile and test the workspace in other configurations: feature sets, no optimization, documentation,
//! other systems, the oldest supported compiler.

use crate::steps::{Outcome, Tally, counted};
use crate::test::{WORKSPACE, status};
use crate::{book, capi, root, term, web};
use std::path::PathBuf;
use std::process::Command;

/// A system to cross-compile for, if its standard library is installed.
pub(super) struct Cross {
    pub(super) target: &'static str,
    /// Compiler of the C libraries (compression).
    pub(super) c: &'static str,
    /// Compiler of the C++ library (meshoptimizer).
    pub(super) cpp: &'static str,
}

pub(super) const WINDOWS: Cross =
    Cross { target: "x86_64-pc-windows-gnu", c: "x86_64-w64-mingw32-gcc", cpp: "x86_64-w64-mingw32-g++" };
const AARCH64: Cross =
    Cross { target: "aarch64-unknown-linux-gnu", c: "aarch64-linux-gnu-gcc", cpp: "aarch64-linux-gnu-g++" };

/// Runs programs for aarch64, with the C library of Debian's cross-compilation package.
const EMULATOR: &str = "qemu-aarch64";
const EMULATED_LIBRARIES: &str = "/usr/aarch64-linux-gnu";

/// Features of the library that must each compile alone; the empty name stands for no feature.
const SINGLE_FEATURES: [&str; 15] = [
    "",
    "obj",
    "ply",
    "stl",
    "off",
    "table",
    "pbrt",
    "gltf",
    "tga",
    "png",
    "exr",
    "dds",
    "cloud",
    "meshopt",
    "rust-zstd",
];

/// Compiles the library with each feature alone, and tests the command and batches with their default features.
pub(super) fn features(tally: &mut Tally) -> Outcome {
    let check = |feature: &&str| {
        let library = ["check", "-p", "polyhaul", "--no-default-features", "--features", feature];
        root::runs(root::cargo().args(library))
    };
    if !SINGLE_FEATURES.iter().all(check) {
        return Outcome::Failed;
    }
    let default = ["test", "-p", "polyhaul-cli", "-p", "polyhaul-batch", "--no-fail-fast", "--tests"];
    counted(root::cargo().args(default), tally)
}

/// Links the command without optimization, and C programs with the installed library.
pub(super) fn unoptimized(tally: &mut Tally) -> Outcome {
    // `Cargo.toml` sets another level for this crate.
    let command = ["--config", "profile.dev.package.intel_tex_2.opt-level=0"];
    if !root::runs(capi::unoptimized("polyhaul-cli").args(command)) {
        return Outcome::Failed;
    }
    let prefix = root::target().join("nightly/installed");
    if !capi::install_unoptimized(prefix.clone(), None) {
        return Outcome::Failed;
    }
    let tests = ["test", "--test", "programs", "--no-fail-fast"];
    counted(root::cargo().args(tests).args(WORKSPACE).env("POLYHAUL_C_PREFIX", prefix), tally)
}

/// Runs doc tests and checks links. Excludes the C library, which has the same name as the Rust library; its reference
/// is its header.
pub(super) fn docs(tally: &mut Tally) -> Outcome {
    let examples = counted(root::cargo().args(["test", "--doc", "--no-fail-fast"]).args(WORKSPACE), tally);
    let mut pages = root::cargo();
    pages.args(["doc", "--no-deps", "--lib", "--exclude", "polyhaul-capi"]).args(WORKSPACE);
    let pages = status(pages.env("RUSTDOCFLAGS", "-D warnings"));
    merged([("examples", examples), ("API documentation", pages), ("the guide's site", book::step())])
}

/// Compiles benchmarks and fuzz targets, which are separate workspaces.
pub(super) fn other_workspaces(_: &mut Tally) -> Outcome {
    let check = |folder: &str| {
        let mut command = root::cargo();
        command.args(["check", "--all-targets", "--manifest-path"]).arg(root::root().join(folder).join("Cargo.toml"));
        root::runs(command.env("CARGO_TARGET_DIR", root::target()))
    };
    let passed = ["tools/bench", "tools/fuzz"].map(check);
    Outcome::of(passed.into_iter().all(|passed| passed))
}

/// Checks that the aarch64 and WebAssembly kernels return the same results as the portable kernels.
pub(super) fn emulation(tally: &mut Tally) -> Outcome {
    merged([("aarch64", aarch64_kernels(tally)), ("WebAssembly", web::kernels(tally))])
}

fn aarch64_kernels(tally: &mut Tally) -> Outcome {
    if cfg!(target_arch = "aarch64") {
        return Outcome::Ok;
    }
    if let Some(missing) = AARCH64.missing(&[AARCH64.c, EMULATOR]) {
        return Outcome::Skipped(missing);
    }
    let mut command = root::cargo();
    command.args(["test", "-p", "polyhaul-text", "--no-fail-fast", "--tests", "--target", AARCH64.target]);
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", AARCH64.c);
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", format!("{EMULATOR} -L {EMULATED_LIBRARIES}"));
    counted(&mut command, tally)
}

/// Compiles the workspace for other systems, and links C programs with the C library for Windows; runs nothing.
pub(super) fn cross(_: &mut Tally) -> Outcome {
    let [windows, aarch64] = [WINDOWS, AARCH64].map(|system| (system.target, system.check()));
    merged([windows, aarch64, ("the C library for Windows", WINDOWS.link_examples())])
}

/// Merges outcomes: failed if any failed, else skipped if any was skipped.
pub(super) fn merged<const N: usize>(outcomes: [(&str, Outcome); N]) -> Outcome {
    let mut skipped = Vec::new();
    for (name, outcome) in outcomes {
        match outcome {
            Outcome::Ok => {}
            Outcome::Failed => return Outcome::Failed,
            Outcome::Skipped(reason) => skipped.push(format!("{name}: {reason}")),
        }
    }
    if skipped.is_empty() { Outcome::Ok } else { Outcome::Skipped(skipped.join("; ")) }
}

impl Cross {
    fn check(&self) -> Outcome {
        match self.missing(&[self.c, self.cpp]) {
            Some(missing) => Outcome::Skipped(missing),
            // The Python package needs a Python of the target system.
            None => {
                let check = ["check", "--target", self.target, "--exclude", "polyhaul-python"];
                status(root::cargo().args(check).args(WORKSPACE))
            }
        }
    }

    /// Builds the C and C++ examples with CMake and the installed library, shared and static.
    fn link_examples(&self) -> Outcome {
        if let Some(missing) = self.missing(&[self.c, self.cpp, "cmake"]) {
            return Outcome::Skipped(missing);
        }
        let folder = root::target().join("nightly").join(self.target);
        let prefix = folder.join("installed");
        let build = |shared: &str| {
            let build = folder.join(shared);
            let mut configure = Command::new("cmake");
            configure.arg("-S").arg(root::root().join("surfaces/capi/examples")).arg("-B").arg(&build);
            configure.args(["-DCMAKE_SYSTEM_NAME=Windows", &format!("-DBUILD_SHARED_LIBS={shared}")]);
            configure.arg(format!("-DCMAKE_C_COMPILER={}", self.c));
            configure.arg(format!("-DCMAKE_CXX_COMPILER={}", self.cpp));
            configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
            root::runs(&mut configure) && root::runs(Command::new("cmake").arg("--build").arg(&build))
        };
        let is_installed = capi::install_unoptimized(prefix.clone(), Some(self.target));
        Outcome::of(is_installed && ["ON", "OFF"].into_iter().all(build))
    }

    /// Returns the first of the standard library and `programs` that is not installed.
    pub(super) fn missing(&self, programs: &[&str]) -> Option<String> {
        if let Some(missing) = missing_target(self.target) {
            return Some(missing);
        }
        let is_missing = |program: &&&str| !root::succeeds(Command::new(program).arg("--version"));
        programs.iter().find(is_missing).map(|program| format!("{program} is not installed"))
    }
}

/// Describes a missing standard library of a target. Works without rustup.
pub(crate) fn missing_target(target: &str) -> Option<String> {
    let sysroot = root::output(Command::new("rustc").args(["--print", "sysroot"])).unwrap_or_default();
    let is_installed = PathBuf::from(sysroot.trim()).join("lib/rustlib").join(target).join("lib").is_dir();
    (!is_installed).then(|| format!("not installed (rustup target add {target})"))
}

/// Compiles the workspace with the minimum Rust version in `Cargo.toml`.
pub(super) fn minimum_version() -> Outcome {
    let version = env!("CARGO_PKG_RUST_VERSION");
    let is_installed = || root::succeeds(Command::new("rustup").args(["run", version, "rustc", "--version"]));
    if !is_installed() {
        term::out(format!("installing Rust {version}\n"));
        let install = ["toolchain", "install", version, "--profile", "minimal", "--no-self-update"];
        if !root::runs(Command::new("rustup").args(install)) || !is_installed() {
            return Outcome::Skipped(format!("not installed (rustup toolchain install {version})"));
        }
    }
    let mut command = Command::new("rustup");
    // The variables name the toolchain that runs this program.
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").current_dir(root::root());
    status(command.args(["run", version, "cargo", "check", "--workspace", "--lib", "--bins"]))
}
