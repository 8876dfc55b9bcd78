//! Resolves function names from the symbol tables of ELF files.
//!
//! Only symbol tables are read, and only when the report is written. Functions in files without symbol tables are shown
//! as addresses.

use crate::code::elf::{bytes, number};
use std::borrow::Cow;
use std::fs::File;

/// Maximum size of a table to read, in bytes.
const MAX_BYTES: u64 = 256 << 20;

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
        let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|data| data.is_file()))?;
        let head = bytes(&file, MAX_BYTES, 0, 64)?;
        if !head.starts_with(b"\x7FELF\x02\x01") {
            return None;
        }
        // ELF header: e_shoff at 40, e_shnum at 60. Section headers: sh_type at 4, sh_offset at 24, sh_size at 32,
        // sh_link at 40.
        let at = number::<8>(&head, 40)?;
        let count = number::<2>(&head, 60)?;
        let sections = bytes(&file, MAX_BYTES, at, count.checked_mul(SECTION_BYTES)?)?;
        let section = |index: u64| {
            let start = usize::try_from(index.checked_mul(SECTION_BYTES)?).ok()?;
            sections.get(start..start.checked_add(SECTION_BYTES as usize)?)
        };
        let kind =
            |kind| (0..count).filter_map(section).find(|section| number::<4>(section, 4) == Some(u64::from(kind)));
        // Stripped files keep only the dynamic symbols, which are a subset.
        let table = kind(SYMBOLS).or_else(|| kind(DYNAMIC_SYMBOLS))?;
        let content = |section| bytes(&file, MAX_BYTES, number::<8>(section, 24)?, number::<8>(section, 32)?);
        let names = content(section(number::<4>(table, 40)?)?)?;
        Some(Symbols { functions: functions(&content(table)?)?, names })
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
