//! Reads the code of an ELF file, and the extents of its functions.
//!
//! Functions come from the unwind table (`.eh_frame_hdr`), which stripped files keep. Never reads sections or symbols:
//! `symbols` does. Sources: System V ABI, chapter 5 (program headers); Linux Standard Base 5.0, chapter 10 (tables).

use memchr::memmem;
use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Maximum size of a segment to read. Larger programs are not searched.
const MAX_BYTES: u64 = 512 << 20;

/// Of larger segments, only what matters is read: to read all 153 MB of Blender's module delayed its start by 0.2 s
/// (tools/bench/record/2026-11-30-watched.md).
const MAX_WHOLE_BYTES: usize = if cfg!(target_arch = "x86_64") { 16 << 20 } else { usize::MAX };

/// Size of the parts in which larger segments are searched.
const WINDOW_BYTES: usize = 1 << 20;

/// Bytes at the start of each segment that are always read.
const START_BYTES: usize = 8192;

/// Bytes to read on each side of a range.
const MARGIN: usize = 16;

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
    /// Size in bytes.
    pub size: usize,
    /// Whether it contains code.
    pub is_code: bool,
    /// Parts that were read, with their offsets in the segment, in order.
    pieces: Vec<(usize, Vec<u8>)>,
}

impl ElfSegment {
    /// The bytes from the start of a range, as far as they were read.
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        let after = self.pieces.partition_point(|(start, _)| *start <= range.start);
        let piece = after.checked_sub(1).and_then(|index| self.pieces.get(index));
        let bytes = piece.and_then(|(start, bytes)| {
            bytes.get(range.start - start..range.end.saturating_sub(*start).min(bytes.len()))
        });
        bytes.unwrap_or_default()
    }

    /// Whether all of it was read.
    pub fn is_whole(&self) -> bool {
        self.bytes(0..self.size).len() == self.size
    }

    /// Calls a function with the offset and contents of parts that overlap by some bytes.
    fn for_each_window(&self, file: &File, overlap: usize, mut each: impl FnMut(usize, &[u8])) -> Option<()> {
        if self.is_whole() {
            each(0, self.bytes(0..self.size));
            return Some(());
        }
        let mut window = vec![0; WINDOW_BYTES + overlap];
        for start in (0..self.size).step_by(WINDOW_BYTES) {
            let window = &mut window[..(self.size - start).min(WINDOW_BYTES + overlap)];
            file.read_exact_at(window, self.offset + start as u64).ok()?;
            each(start, window);
        }
        Some(())
    }

    /// Reads ranges, which are sorted by their start, of a segment that is not whole, and its start.
    fn load(&mut self, file: &File, ranges: impl Iterator<Item = Range<usize>>) {
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in std::iter::once(0..START_BYTES).chain(ranges) {
            let range = range.start.saturating_sub(MARGIN)..(range.end + MARGIN).min(self.size);
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        let read = |range: Range<usize>| {
            let bytes = bytes(file, MAX_BYTES, self.offset + range.start as u64, range.len() as u64)?;
            Some((range.start, bytes))
        };
        self.pieces = merged.into_iter().filter_map(read).collect();
    }
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
    file: File,
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
        Elf::read_some(file, None)
    }

    /// Reads the headers and the contents of segments that are not writable, unless they are large.
    pub fn read(file: &File) -> Option<Elf> {
        Elf::read_some(file, Some(MAX_WHOLE_BYTES))
    }

    /// Reads segments up to a size, or none, and the start of those that are larger.
    pub(super) fn read_some(file: &File, max_whole_bytes: Option<usize>) -> Option<Elf> {
        let head = bytes(file, MAX_BYTES, 0, 64)?;
        if !head.starts_with(b"\x7FELF\x02\x01") || number::<2>(&head, 18)? != MACHINE {
            return None;
        }
        // ELF header: e_phoff at 32, e_phentsize at 54, e_phnum at 56. Program headers: p_type at 0, p_flags at 4,
        // p_offset at 8, p_vaddr at 16, p_filesz at 32.
        let size = number::<2>(&head, 54)?;
        let table = bytes(file, MAX_BYTES, number::<8>(&head, 32)?, size * number::<2>(&head, 56)?)?;
        let segments = Vec::new();
        let mut elf = Elf { file: file.try_clone().ok()?, segments, unwind_table: None, has_interpreter: false };
        for header in table.chunks_exact(usize::try_from(size).ok().filter(|size| *size >= 56)?) {
            let kind = number::<4>(header, 0)? as u32;
            let flags = number::<4>(header, 4)? as u32;
            let offset = number::<8>(header, 8)?;
            let address = number::<8>(header, 16)?;
            match kind {
                INTERPRETER => elf.has_interpreter = true,
                UNWIND_TABLE => elf.unwind_table = Some(address),
                LOAD if flags & WRITE == 0 => {
                    let Some(max_whole_bytes) = max_whole_bytes else { continue };
                    let size = usize::try_from(number::<8>(header, 32)?).ok()?;
                    let read = if size <= max_whole_bytes { size } else { START_BYTES.min(size) };
                    let pieces = vec![(0, bytes(file, MAX_BYTES, offset, read as u64)?)];
                    let is_code = flags & EXECUTE != 0;
                    elf.segments.push(ElfSegment { address, offset, size, is_code, pieces });
                }
                _ => {}
            }
        }
        let file_bytes = file.metadata().ok()?.len();
        let is_inside = |segment: &ElfSegment| {
            segment.size as u64 <= MAX_BYTES && segment.offset.saturating_add(segment.size as u64) <= file_bytes
        };
        elf.segments.iter().all(is_inside).then_some(elf)
    }

    /// Addresses at which some bytes occur in code, in order. Returns `None` if the file cannot be read.
    pub fn find(&self, needle: &[u8]) -> Option<Vec<u64>> {
        let finder = memmem::Finder::new(needle);
        let mut addresses = Vec::new();
        for segment in self.code() {
            segment.for_each_window(&self.file, needle.len() - 1, |start, bytes| {
                addresses.extend(finder.find_iter(bytes).map(|at| segment.address + (start + at) as u64));
            })?;
        }
        Some(addresses)
    }

    /// Reads the code at ranges of addresses, which are sorted by their start, if it was not read yet.
    pub fn load(&mut self, ranges: &[Range<u64>]) {
        for segment in self.segments.iter_mut().filter(|segment| !segment.is_whole()) {
            let addresses = segment.address..segment.address + segment.size as u64;
            let offset = |address: u64| (address.clamp(addresses.start, addresses.end) - addresses.start) as usize;
            let inside = ranges.iter().filter(|range| addresses.contains(&range.start));
            segment.load(&self.file, inside.map(|range| offset(range.start)..offset(range.end)));
        }
    }

    /// Segments with code.
    pub fn code(&self) -> impl Iterator<Item = &ElfSegment> {
        self.segments.iter().filter(|segment| segment.is_code)
    }

    /// Whether the Go linker wrote the file. Go makes calls on stacks that are too small for detours.
    pub fn is_go(&self) -> bool {
        /// Type 4 and name of the note with the build ID, at the start of a segment.
        const NOTE: [u8; 8] = *b"\x04\0\0\0Go\0\0";
        let mut starts = self.segments.iter().map(|segment| segment.bytes(0..START_BYTES));
        starts.any(|start| memmem::find(start, &NOTE).is_some())
    }

    /// The functions for which `is_wanted` accepts the range up to the next function, sorted by address. Returns `None`
    /// if there is no usable table.
    pub fn functions(&self, is_wanted: impl Fn(&Range<u64>) -> bool) -> Option<Vec<FunctionExtent>> {
        let table = self.unwind_table?;
        // Version 1, with the encodings that all linkers use: pcrel | sdata4, udata4, datarel | sdata4.
        if *self.at(table, 4)? != [1, 0x1B, 0x03, 0x3B] {
            return None;
        }
        let count = number::<4>(&self.at(table + 8, 4)?, 0)?;
        let start_of = |row: &[u8]| signed(row, 0).map(|distance| table.wrapping_add_signed(distance));
        let rows = self.at(table + 12, count.checked_mul(8)?)?;
        let mut rows = rows.chunks_exact(8).peekable();
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
        let is_here = (entry + 8).wrapping_add_signed(signed(&fields, 8)?) == start;
        number::<4>(&fields, 12).filter(|_| is_here)
    }

    fn at(&self, address: u64, count: u64) -> Option<Cow<'_, [u8]>> {
        let count = usize::try_from(count).ok()?;
        let (segment, start) = self.segments.iter().find_map(|segment| {
            let start = usize::try_from(address.checked_sub(segment.address)?).ok()?;
            (start.checked_add(count)? <= segment.size).then_some((segment, start))
        })?;
        let read = segment.bytes(start..start + count);
        if read.len() == count {
            return Some(Cow::Borrowed(read));
        }
        let mut bytes = vec![0; count];
        self.file.read_exact_at(&mut bytes, segment.offset + start as u64).ok()?;
        Some(Cow::Owned(bytes))
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
