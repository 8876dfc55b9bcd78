//! File names of the C library on each system, and the libraries that its users link.

use crate::root;
use std::process::Command;

/// Version suffix of the shared library's soname (see `surfaces/capi/build.rs`).
const SHARED_NUMBER: &str = "0";

/// Kind of operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SystemKind {
    Unix,
    MacOs,
    WindowsGnu,
    WindowsMsvc,
}

/// System that the library is built for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct System {
    pub(super) kind: SystemKind,
    pub(super) pointer_bytes: u32,
    /// rustc target, or `None` for the system of this program.
    pub(super) target: Option<String>,
}

/// A library file: Cargo's name, and its installed path below `lib`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LibraryFile {
    pub(super) built: &'static str,
    pub(super) installed: String,
}

impl System {
    /// Returns the system of a rustc target, or `None` if rustc does not know it.
    pub(super) fn of(target: Option<&str>) -> Option<System> {
        let mut command = Command::new("rustc");
        command.args(["--print", "cfg"]).args(target.map(|target| format!("--target={target}")));
        System::parse(&root::output(&mut command)?, target)
    }

    /// Parses the output of `rustc --print cfg`.
    fn parse(settings: &str, target: Option<&str>) -> Option<System> {
        let value = |key: &str| {
            let value = settings.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
            Some(value.trim_matches('"'))
        };
        let kind = match (value("target_os")?, value("target_env")?) {
            ("windows", "msvc") => SystemKind::WindowsMsvc,
            ("windows", _) => SystemKind::WindowsGnu,
            ("macos", _) => SystemKind::MacOs,
            _ => SystemKind::Unix,
        };
        let pointer_bits: u32 = value("target_pointer_width")?.parse().ok()?;
        Some(System { kind, pointer_bytes: pointer_bits / 8, target: target.map(str::to_owned) })
    }

    /// Returns the static library.
    pub(super) fn static_library(&self) -> LibraryFile {
        let (built, installed) = match self.kind {
            // The import library of the shared library uses the plain name.
            SystemKind::WindowsMsvc => ("polyhaul.lib", "polyhaul_static.lib"),
            _ => ("libpolyhaul.a", "libpolyhaul.a"),
        };
        LibraryFile { built, installed: installed.into() }
    }

    /// Returns the shared library.
    pub(super) fn shared_library(&self, version: &str) -> LibraryFile {
        let (built, installed) = match self.kind {
            SystemKind::Unix => ("libpolyhaul.so", format!("libpolyhaul.so.{version}")),
            SystemKind::MacOs => ("libpolyhaul.dylib", format!("libpolyhaul.{version}.dylib")),
            SystemKind::WindowsGnu | SystemKind::WindowsMsvc => ("polyhaul.dll", "../bin/polyhaul.dll".into()),
        };
        LibraryFile { built, installed }
    }

    /// Returns the import library of a DLL, or `None` on other systems.
    pub(super) fn import_library(&self) -> Option<LibraryFile> {
        let (built, installed) = match self.kind {
            SystemKind::WindowsGnu => ("libpolyhaul.dll.a", "libpolyhaul.dll.a"),
            SystemKind::WindowsMsvc => ("polyhaul.dll.lib", "polyhaul.lib"),
            SystemKind::Unix | SystemKind::MacOs => return None,
        };
        Some(LibraryFile { built, installed: installed.into() })
    }

    /// Returns the symbolic links to the shared library: the one that the loader resolves, and the one for the linker.
    pub(super) fn links(&self) -> Vec<String> {
        match self.kind {
            SystemKind::Unix => vec![format!("libpolyhaul.so.{SHARED_NUMBER}"), "libpolyhaul.so".into()],
            SystemKind::MacOs => vec![format!("libpolyhaul.{SHARED_NUMBER}.dylib"), "libpolyhaul.dylib".into()],
            SystemKind::WindowsGnu | SystemKind::WindowsMsvc => Vec::new(),
        }
    }

    /// Returns the CMake property with the import library, or the soname that programs link against.
    pub(super) fn shared_property(&self) -> String {
        match (self.import_library(), self.kind) {
            (Some(import), _) => format!("IMPORTED_IMPLIB \"${{_polyhaul_lib}}/{}\"", import.installed),
            (None, SystemKind::MacOs) => format!("IMPORTED_SONAME \"@rpath/libpolyhaul.{SHARED_NUMBER}.dylib\""),
            (None, _) => format!("IMPORTED_SONAME libpolyhaul.so.{SHARED_NUMBER}"),
        }
    }

    /// Returns the system libraries that the static library requires: rustc's list for `native-static-libs`, without
    /// libraries that compilers link by default. `meshopt` requires the C++ runtime.
    pub(super) fn system_libraries(&self, has_cpp: bool) -> Vec<&'static str> {
        let (cpp, system): (&str, &[&str]) = match self.kind {
            SystemKind::Unix => ("stdc++", &["pthread", "dl", "m"]),
            SystemKind::MacOs => ("c++", &["iconv", "System", "m"]),
            SystemKind::WindowsGnu => ("stdc++", &["kernel32", "ntdll", "userenv", "ws2_32", "dbghelp"]),
            // Object files of MSVC name the C++ runtime themselves.
            SystemKind::WindowsMsvc => ("", &["kernel32", "ntdll", "userenv", "ws2_32", "dbghelp"]),
        };
        [cpp].into_iter().filter(|name| has_cpp && !name.is_empty()).chain(system.iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(os: &str, env: &str) -> System {
        let settings = format!(
            "target_abi=\"\"\ntarget_env=\"{env}\"\ntarget_os=\"{os}\"\ntarget_pointer_width=\"64\"\ntarget_vendor=\"pc\"\n"
        );
        System::parse(&settings, None).unwrap()
    }

    #[test]
    fn libraries_have_the_names_of_their_system() {
        let names = |os: &str, env: &str| {
            let system = system(os, env);
            assert_eq!(system.pointer_bytes, 8);
            let import = system.import_library().map(|file| [file.built.to_owned(), file.installed]);
            let fixed = [system.static_library().installed, system.shared_library("1.2.3").installed];
            (fixed, import, system.links())
        };
        let text = str::to_owned;
        assert_eq!(
            names("linux", "gnu"),
            (
                ["libpolyhaul.a", "libpolyhaul.so.1.2.3"].map(text),
                None,
                ["libpolyhaul.so.0", "libpolyhaul.so"].map(text).into()
            )
        );
        assert_eq!(
            names("macos", ""),
            (
                ["libpolyhaul.a", "libpolyhaul.1.2.3.dylib"].map(text),
                None,
                ["libpolyhaul.0.dylib", "libpolyhaul.dylib"].map(text).into()
            )
        );
        let import = Some(["libpolyhaul.dll.a"; 2].map(text));
        assert_eq!(names("windows", "gnu"), (["libpolyhaul.a", "../bin/polyhaul.dll"].map(text), import, Vec::new()));
        let import = Some(["polyhaul.dll.lib", "polyhaul.lib"].map(text));
        assert_eq!(
            names("windows", "msvc"),
            (["polyhaul_static.lib", "../bin/polyhaul.dll"].map(text), import, Vec::new())
        );
        assert_eq!(System::parse("target_os=\"linux\"\n", None), None);
    }

    #[test]
    fn static_libraries_name_what_they_need() {
        assert_eq!(system("linux", "gnu").system_libraries(true), ["stdc++", "pthread", "dl", "m"]);
        assert_eq!(system("linux", "musl").system_libraries(false), ["pthread", "dl", "m"]);
        assert_eq!(system("macos", "").system_libraries(true)[0], "c++");
        assert_eq!(system("windows", "msvc").system_libraries(true)[0], "kernel32");
    }
}
