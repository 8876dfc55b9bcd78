//! Reads the code of an ELF file, and the extents of its functions.
//!
//! Functions come from the unwind table (`.eh_frame_hdr`), which stripped files keep. Never reads sections or symbols:
//! `symbols` does. Sources: System V ABI, chapter 5 (program headers); Linux Standard Base 5.0, chapter 10 (tables).

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

/// Maximum size of a segment to read. Larger programs are not searched.
const MAX_BYTES: u64 = 512 << 20;

/// Types of program headers.
const LOAD: u32 = 1;
const INTERPRETER: u32 = 3;
const UNWIND_TABLE: u32 = 0x6474_E550;

/// Permission to execute, in program headers.
const EXECUTE: u32 = 1;
/// Permission to write.
const WRITE: u32 = 2;

/// A range of a file that is mapped into memory.
#[derive(Debug)]
pub struct ElfSegment {
    /// Address relative to the start of the module in memory.
    pub address: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Contents.
    pub bytes: Vec<u8>,
    /// Whether it contains code.
    pub is_code: bool,
}

/// A function.
#[derive(Debug)]
pub struct FunctionExtent {
    /// Addresses of its code.
    pub code: Range<u64>,
    /// Start of the next function.
    pub next: u64,
}

/// The read-only segments of an ELF file for this machine.
#[derive(Debug)]
pub struct Elf {
    segments: Vec<ElfSegment>,
    unwind_table: Option<u64>,
    /// Whether the file names a dynamic linker.
    pub has_interpreter: bool,
}

/// Machine of this program in ELF headers.
const MACHINE: u64 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };

impl Elf {
    /// Reads the headers alone. Returns `None` if the file is not a 64-bit ELF file for this machine.
    pub fn headers(file: &File) -> Option<Elf> {
        Elf::read_some(file, false)
    }

    /// Reads the headers and the contents of all segments that are not writable.
    pub fn read(file: &File) -> Option<Elf> {
        Elf::read_some(file, true)
    }

    fn read_some(file: &File, has_contents: bool) -> Option<Elf> {
        let head = bytes(file, MAX_BYTES, 0, 64)?;
        if !head.starts_with(b"\x7FELF\x02\x01") || number::<2>(&head, 18)? != MACHINE {
            return None;
        }
        // ELF header: e_phoff at 32, e_phentsize at 54, e_phnum at 56. Program headers: p_type at 0, p_flags at 4,
        // p_offset at 8, p_vaddr at 16, p_filesz at 32.
        let size = number::<2>(&head, 54)?;
        let table = bytes(file, MAX_BYTES, number::<8>(&head, 32)?, size * number::<2>(&head, 56)?)?;
        let mut elf = Elf { segments: Vec::new(), unwind_table: None, has_interpreter: false };
        for header in table.chunks_exact(usize::try_from(size).ok().filter(|size| *size >= 56)?) {
            let kind = number::<4>(header, 0)? as u32;
            let flags = number::<4>(header, 4)? as u32;
            let offset = number::<8>(header, 8)?;
            let address = number::<8>(header, 16)?;
            match kind {
                INTERPRETER => elf.has_interpreter = true,
                UNWIND_TABLE => elf.unwind_table = Some(address),
                LOAD if has_contents && flags & WRITE == 0 => {
                    let bytes = bytes(file, MAX_BYTES, offset, number::<8>(header, 32)?)?;
                    elf.segments.push(ElfSegment { address, offset, bytes, is_code: flags & EXECUTE != 0 });
                }
                _ => {}
            }
        }
        Some(elf)
    }

    /// Segments with code.
    pub fn code(&self) -> impl Iterator<Item = &ElfSegment> {
        self.segments.iter().filter(|segment| segment.is_code)
    }

    /// Whether the Go linker wrote the file. Go makes calls on stacks that are too small for detours.
    pub fn is_go(&self) -> bool {
        /// Type 4 and name of the note with the build ID, at the start of a segment.
        const NOTE: [u8; 8] = *b"\x04\0\0\0Go\0\0";
        let starts = self.segments.iter().map(|segment| segment.bytes.get(..8192).unwrap_or(&segment.bytes));
        starts.into_iter().any(|start| memchr::memmem::find(start, &NOTE).is_some())
    }

    /// The functions for which `is_wanted` accepts the range up to the next function, sorted by address. Returns `None`
    /// if there is no usable table.
    pub fn functions(&self, is_wanted: impl Fn(&Range<u64>) -> bool) -> Option<Vec<FunctionExtent>> {
        let table = self.unwind_table?;
        // Version 1, with the encodings that all linkers use: pcrel | sdata4, udata4, datarel | sdata4.
        if self.at(table, 4)? != [1, 0x1B, 0x03, 0x3B] {
            return None;
        }
        let count = number::<4>(self.at(table + 8, 4)?, 0)?;
        let start_of = |row: &[u8]| signed(row, 0).map(|distance| table.wrapping_add_signed(distance));
        let mut rows = self.at(table + 12, count.checked_mul(8)?)?.chunks_exact(8).peekable();
        let mut functions = Vec::new();
        while let Some(row) = rows.next() {
            let start = start_of(row)?;
            let next = rows.peek().map_or(Some(u64::MAX), |row| start_of(row)).filter(|next| *next >= start)?;
            if is_wanted(&(start..next)) {
                let code = start..start + self.function_bytes(start, table.wrapping_add_signed(signed(row, 4)?))?;
                functions.push(FunctionExtent { code, next });
            }
        }
        Some(functions)
    }

    /// Size of a function according to its entry: size of the entry, distance to the shared part, start of the function
    /// relative to here, its size.
    fn function_bytes(&self, start: u64, entry: u64) -> Option<u64> {
        let fields = self.at(entry, 16)?;
        let is_here = (entry + 8).wrapping_add_signed(signed(fields, 8)?) == start;
        number::<4>(fields, 12).filter(|_| is_here)
    }

    fn at(&self, address: u64, count: u64) -> Option<&[u8]> {
        self.segments.iter().find_map(|segment| {
            let start = usize::try_from(address.checked_sub(segment.address)?).ok()?;
            segment.bytes.get(start..start.checked_add(usize::try_from(count).ok()?)?)
        })
    }
}

fn signed(bytes: &[u8], at: usize) -> Option<i64> {
    number::<4>(bytes, at).map(|value| i64::from((value as u32).cast_signed()))
}

/// A little-endian number of N bytes.
pub(crate) fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let part = bytes.get(at..at.checked_add(N)?)?;
    let mut padded = [0; 8];
    padded.get_mut(..N)?.copy_from_slice(part);
    Some(u64::from_le_bytes(padded))
}

/// Reads part of a file, up to `max_bytes`.
pub(crate) fn bytes(file: &File, max_bytes: u64, at: u64, count: u64) -> Option<Vec<u8>> {
    let size = file.metadata().ok()?.len();
    // A damaged header must not cause a large allocation.
    let count = usize::try_from(count).ok().filter(|_| count <= max_bytes && count <= size)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(count).ok()?;
    let mut reader = file;
    reader.seek(SeekFrom::Start(at)).ok()?;
    // Unlike `read_exact_at`, this needs no initialized buffer.
    reader.take(count as u64).read_to_end(&mut bytes).ok()?;
    (bytes.len() == count).then_some(bytes)
}
