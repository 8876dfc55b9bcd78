//! Resolves function names from the symbol tables of ELF files.
//!
//! Only symbol tables are read, and only when the report is written: those of the file, else those of its separate
//! debug file, else its dynamic symbols. JIT-compiled code has names if the JIT compiler writes a map for perf.
//! Functions without a symbol are shown as addresses.

use crate::code::elf::{bytes, number};
use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Maximum size of a table to read, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// Maximum number of lines to read of a map for perf.
const MAX_LINES: usize = 1 << 20;

/// ELF section types.
const SYMBOLS: u32 = 2;
const DYNAMIC_SYMBOLS: u32 = 11;

const SECTION_BYTES: u64 = 64;
const SYMBOL_BYTES: usize = 24;

/// Functions of a file.
#[derive(Debug, Default)]
pub struct Symbols {
    /// Address, size and name offset, sorted.
    functions: Vec<(u64, u64, usize)>,
    names: Vec<u8>,
}

impl Symbols {
    /// Reads the functions of a file. Returns an empty list if the file cannot be read.
    pub fn from_file(path: &str) -> Symbols {
        Symbols::read(path).unwrap_or_default()
    }

    /// Name of the function at an address, and the offset of the address in the function.
    pub fn name(&self, address: u64) -> Option<(String, u64)> {
        let after = self.functions.partition_point(|(start, _, _)| *start <= address);
        let (start, size, _) = self.functions.get(after.checked_sub(1)?)?;
        let into = address - start;
        // Symbols of handwritten assembly often have no size.
        if *size > 0 && into >= *size || *size == 0 && into >= 1 << 16 {
            return None;
        }
        // Of several names for a function, the public one has no underscores and is short: `read` rather than
        // `__read`, `free` rather than `cfree`.
        let aliases = self.functions[..after].iter().rev().take_while(|(other, _, _)| other == start);
        let names = aliases.filter_map(|(_, _, name)| self.text(*name));
        let name = names.min_by_key(|name| (name.bytes().take_while(|byte| *byte == b'_').count(), name.len()))?;
        Some((name.into_owned(), into))
    }

    /// The name at an offset.
    fn text(&self, offset: usize) -> Option<Cow<'_, str>> {
        let bytes = self.names.get(offset..)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(bytes.get(..end)?))
    }

    fn read(path: &str) -> Option<Symbols> {
        if is_perf_map(path) {
            let file = regular(path).filter(is_own)?;
            let text = bytes(&file, MAX_BYTES, 0, file.metadata().ok()?.len())?;
            return Some(Symbols::from_perf_map(&String::from_utf8_lossy(&text)));
        }
        let elf = ElfSections::open(path)?;
        let is_stripped = elf.of_type(SYMBOLS).is_none();
        let split = is_stripped.then(|| debug_files(path, &elf)).into_iter().flatten();
        let build = elf.build();
        let is_match = |other: &ElfSections| {
            let is_same = build.is_none() || other.build().is_none_or(|other| Some(other) == build);
            is_same && other.of_type(SYMBOLS).is_some()
        };
        let split = split.filter_map(|path| ElfSections::open(path.to_str()?)).find(is_match);
        // Stripped files keep only the dynamic symbols, which are a subset.
        split.unwrap_or(elf).symbols()
    }

    /// Parses the map that a JIT compiler writes (perf's `jit-interface.txt`): lines of address, size and name.
    fn from_perf_map(text: &str) -> Symbols {
        let mut symbols = Symbols::default();
        for line in text.lines().take(MAX_LINES) {
            let mut parts = line.splitn(3, ' ');
            let mut number = || u64::from_str_radix(parts.next()?.trim_start_matches("0x"), 16).ok();
            let Some(start) = number() else { continue };
            let Some(size) = number() else { continue };
            symbols.functions.push((start, size, symbols.names.len()));
            symbols.names.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
            symbols.names.push(0);
        }
        symbols.functions.sort_unstable();
        symbols
    }
}

/// Whether a file belongs to the user or to root: anyone can write to /tmp.
fn is_own(file: &File) -> bool {
    let user = std::fs::metadata("/proc/self").map(|data| data.uid());
    file.metadata().is_ok_and(|data| data.uid() == 0 || user.is_ok_and(|user| user == data.uid()))
}

/// Whether a file has the names of JIT-compiled code.
fn is_perf_map(path: &str) -> bool {
    path.starts_with("/tmp/perf-") && path.ends_with(".map")
}

/// Opens a file, unless it is a pipe or another special file, or too large a map for perf.
fn regular(path: &str) -> Option<File> {
    // A pipe would block otherwise.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    let is_small = |bytes: u64| bytes <= MAX_BYTES || !is_perf_map(path);
    file.metadata().is_ok_and(|data| data.is_file() && is_small(data.len())).then_some(file)
}

/// Where the symbols of a stripped file may be (gdb's manual, "Separate Debug Files"): by build ID, then by the name in
/// its debug link.
fn debug_files(path: &str, elf: &ElfSections) -> Vec<PathBuf> {
    let root = Path::new("/usr/lib/debug");
    let folder = Path::new(path).parent().unwrap_or(Path::new("/"));
    let mut files = Vec::new();
    if let Some((first, rest)) =
        elf.build().and_then(|build| Some((build.get(..2)?.to_owned(), build.get(2..)?.to_owned())))
    {
        files.push(root.join(".build-id").join(first).join(rest + ".debug"));
    }
    if let Some(name) = elf.debug_link() {
        let below_root = root.join(folder.strip_prefix("/").unwrap_or(folder));
        files.extend([folder.to_owned(), folder.join(".debug"), below_root].map(|folder| folder.join(&name)));
    }
    // A file may link to itself.
    files.retain(|file| file != Path::new(path));
    files
}

/// An ELF file with its section headers: `sh_name` at 0, `sh_type` at 4, `sh_offset` at 24, `sh_size` at 32 and
/// `sh_link` at 40 of each.
struct ElfSections {
    file: File,
    headers: Vec<u8>,
    /// Index of the section with the names of sections.
    names: u64,
}

impl ElfSections {
    fn open(path: &str) -> Option<ElfSections> {
        let file = regular(path)?;
        let head = bytes(&file, MAX_BYTES, 0, 64)?;
        if !head.starts_with(b"\x7FELF\x02\x01") {
            return None;
        }
        // ELF header: e_shoff at 40, e_shnum at 60, e_shstrndx at 62.
        let count = number::<2>(&head, 60)?;
        let headers = bytes(&file, MAX_BYTES, number::<8>(&head, 40)?, count.checked_mul(SECTION_BYTES)?)?;
        Some(ElfSections { file, headers, names: number::<2>(&head, 62)? })
    }

    fn all(&self) -> impl Iterator<Item = &[u8]> {
        self.headers.chunks_exact(SECTION_BYTES as usize)
    }

    fn of_type(&self, kind: u32) -> Option<&[u8]> {
        self.all().find(|section| number::<4>(section, 4) == Some(u64::from(kind)))
    }

    fn at(&self, index: u64) -> Option<&[u8]> {
        self.all().nth(usize::try_from(index).ok()?)
    }

    fn content(&self, section: &[u8]) -> Option<Vec<u8>> {
        bytes(&self.file, MAX_BYTES, number::<8>(section, 24)?, number::<8>(section, 32)?)
    }

    fn symbols(&self) -> Option<Symbols> {
        let table = self.of_type(SYMBOLS).or_else(|| self.of_type(DYNAMIC_SYMBOLS))?;
        let names = self.content(self.at(number::<4>(table, 40)?)?)?;
        Some(Symbols { functions: functions(&self.content(table)?)?, names })
    }

    fn named(&self, name: &[u8]) -> Option<&[u8]> {
        let names = self.content(self.at(self.names)?)?;
        let is_named = |section: &&[u8]| {
            let start = number::<4>(section, 0).and_then(|start| usize::try_from(start).ok());
            let text = start.and_then(|start| names.get(start..));
            text.is_some_and(|text| text.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&0)))
        };
        self.all().find(is_named)
    }

    /// The build ID in hexadecimal digits: a note with a header of 12 bytes and the name `GNU`.
    fn build(&self) -> Option<String> {
        let note = self.content(self.named(b".note.gnu.build-id")?)?;
        let count = usize::try_from(number::<4>(&note, 4)?).ok()?;
        let digits = note.get(16..16_usize.checked_add(count)?)?;
        Some(digits.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The name of the file with the symbols. It is only a name, so that it refers to no other folder.
    fn debug_link(&self) -> Option<String> {
        let link = self.content(self.named(b".gnu_debuglink")?)?;
        let name = link.split(|byte| *byte == 0).next()?;
        let name = String::from_utf8(name.to_vec()).ok()?;
        (!name.is_empty() && !name.contains('/') && name != "..").then_some(name)
    }
}

/// Functions of a symbol table, sorted by address.
fn functions(table: &[u8]) -> Option<Vec<(u64, u64, usize)>> {
    let mut functions = Vec::new();
    functions.try_reserve_exact(table.len() / SYMBOL_BYTES).ok()?;
    for symbol in table.chunks_exact(SYMBOL_BYTES) {
        let kind = number::<1>(symbol, 4)? & 0xF;
        let address = number::<8>(symbol, 8)?;
        // Functions and indirect functions (STT_FUNC, STT_GNU_IFUNC).
        if matches!(kind, 2 | 10) && address > 0 {
            functions.push((address, number::<8>(symbol, 16)?, usize::try_from(number::<4>(symbol, 0)?).ok()?));
        }
    }
    functions.sort_unstable();
    Some(functions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_by_any_address_in_it() {
        let names = b"\0one\0two\0".to_vec();
        let symbols = Symbols { functions: vec![(16, 8, 1), (32, 0, 5)], names };
        let name = |address| symbols.name(address);
        assert_eq!((name(15), name(24), name(1 << 20)), (None, None, None));
        assert_eq!((name(16), name(23)), (Some(("one".into(), 0)), Some(("one".into(), 7))));
        assert_eq!(name(40), Some(("two".into(), 8)));
        let names = b"\0__free\0cfree\0free\0".to_vec();
        let symbols = Symbols { functions: vec![(16, 8, 1), (16, 8, 8), (16, 8, 14)], names };
        assert_eq!(symbols.name(17), Some(("free".into(), 1)));
    }

    #[test]
    fn maps_of_compilers_are_read() {
        let symbols = Symbols::from_perf_map("7f00 20 py::load:/x/load.py\n0x7e00 10 a b\nbad line\n7f20 zz none\n");
        assert_eq!(symbols.name(0x7f1f), Some(("py::load:/x/load.py".into(), 0x1f)));
        assert_eq!((symbols.name(0x7e00), symbols.name(0x7f20)), (Some(("a b".into(), 0)), None));
        assert!(is_perf_map("/tmp/perf-7.map") && !is_perf_map("/usr/lib/perf-7.map"));
    }

    #[test]
    fn symbols_of_stripped_files_are_elsewhere() {
        let folder = std::env::temp_dir().join(format!("polyhaul-symbols-{}", std::process::id()));
        std::fs::create_dir_all(folder.join(".debug")).unwrap();
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let run = |command: &str| {
            let made = std::process::Command::new("sh").args(["-ec", command]).current_dir(&folder).status();
            made.is_ok_and(|status| status.success())
        };
        let make =
            "echo 'static int hidden(int a) { return a * 7; } int main(int c, char **v) { return hidden(c); }' > a.c
                    cc -O0 -Wl,--build-id=none -o a a.c; cp a whole
                    objcopy --only-keep-debug a .debug/a.debug; strip a
                    objcopy --add-gnu-debuglink=.debug/a.debug a";
        if run(make) {
            let names = |symbols: &Symbols| String::from_utf8_lossy(&symbols.names).into_owned();
            assert!(names(&Symbols::from_file(&path("whole"))).contains("hidden"));
            assert!(names(&Symbols::from_file(&path("a"))).contains("hidden"));
            std::fs::remove_file(path(".debug/a.debug")).unwrap();
            assert!(!names(&Symbols::from_file(&path("a"))).contains("hidden"));
        } else {
            let _ = std::io::Write::write_all(&mut std::io::stderr(), b"SKIPPED: there are no compiler and binutils\n");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn our_own_file_has_functions_and_text_has_none() {
        let program = Symbols::from_file(std::env::current_exe().unwrap().to_str().unwrap());
        assert!(program.functions.len() > 100 && program.functions.is_sorted());
        let (address, _, _) = program.functions[program.functions.len() / 2];
        assert!(program.name(address).is_some_and(|(name, into)| !name.is_empty() && into == 0));
        assert!(
            Symbols::from_file(file!()).functions.is_empty() && Symbols::from_file("/dev/null").functions.is_empty()
        );
    }
}
