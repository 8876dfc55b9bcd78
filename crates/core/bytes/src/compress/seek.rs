//! The seek table at the end of a zstd file, with the sizes of its frames: the zstd project's seekable format
//! (contrib/seekable_format/zstd_seekable_compression_format.md). It is a skippable frame, so every decoder skips it.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | magic 5E 2A 4D 18, and the number of bytes that follow |
//! | 8 | 8 or 12 each | compressed and uncompressed size of a frame, and its checksum if the flag is set |
//! | end - 9 | 4 | number of frames |
//! | end - 5 | 1 | flags |
//! | end - 4 | 4 | magic B1 EA 92 8F |
//!
//! Without a seek table, a reader visits the header of each block, at least eight per MiB, which takes a long time on a
//! slow disk. The decoder checks the declared sizes.

use crate::Source;
use crate::memory::grow;
use std::io;

/// The magic numbers at the start of the frame and at the end of the file.
const FRAME_MAGIC: u32 = 0x184d_2a5e;
const FILE_MAGIC: u32 = 0x8f92_eab1;
/// Sizes of the start of the frame, of an entry, and of the footer: the number of entries, the flags, the magic.
const HEAD_BYTES: usize = 8;
const ENTRY_BYTES: usize = 8;
const FOOTER_BYTES: usize = 9;
/// Flag: each entry has a checksum after its sizes.
const HAS_CHECKSUMS: u8 = 0x80;
/// Flags reserved for later versions, whose tables may be laid out differently.
const RESERVED: u8 = 0x7c;
const CHECKSUM_BYTES: usize = 4;
/// Maximum number of frames in a table: 128 TiB in members of 1 MiB.
const MAX_FRAMES: usize = 0x800_0000;
/// Maximum size of a table to read: 8 million frames.
const MAX_TABLE_BYTES: u64 = 64 << 20;
/// Size of the buffer for reading a table: whole entries, with or without checksums.
const BLOCK_BYTES: usize = 2048 * (ENTRY_BYTES + CHECKSUM_BYTES);

/// The sizes of the frames of a zstd file, in file order.
///
/// ```
/// use polyhaul_bytes::{Codec, Encoder, SeekTable};
///
/// # fn main() -> std::io::Result<()> {
/// let mut file = Vec::new();
/// let mut table = SeekTable::default();
/// let mut encoder = Encoder::new(Codec::Zstd, None)?;
/// for member in [b"v 0 0 0\n", b"v 1 0 0\n"] {
///     let start = file.len();
///     encoder.encode(member, &mut file)?;
///     table.push(file.len() - start, member.len())?;
/// }
/// file.extend(table.finish()?); // zstd -d gives both lines
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct SeekTable {
    entries: Vec<u8>,
}

impl SeekTable {
    /// Adds a frame of `packed` bytes that decodes to `plain` bytes.
    ///
    /// # Errors
    /// `OutOfMemory`; `InvalidInput` for sizes that do not fit into the format.
    pub fn push(&mut self, packed: usize, plain: usize) -> io::Result<()> {
        let start = self.entries.len();
        grow(&mut self.entries, start + ENTRY_BYTES)?;
        for (size, field) in [packed, plain].into_iter().zip(self.entries[start..].chunks_exact_mut(4)) {
            let size = u32::try_from(size).map_err(|_| io::ErrorKind::InvalidInput)?;
            field.copy_from_slice(&size.to_le_bytes());
        }
        Ok(())
    }

    /// Moves the entries of `other` to the end of this table.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn append(&mut self, other: &mut SeekTable) -> io::Result<()> {
        self.entries.try_reserve(other.entries.len())?;
        self.entries.append(&mut other.entries);
        Ok(())
    }

    /// Returns the bytes to write after the last frame. Returns no bytes if there is at most one frame, which readers
    /// find without a table, or if there are more frames than the format allows.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        let mut out = self.entries;
        let count = out.len() / ENTRY_BYTES;
        if !(2..=MAX_FRAMES).contains(&count) {
            return Ok(Vec::new());
        }
        let size = out.len() + FOOTER_BYTES;
        out.try_reserve(HEAD_BYTES + FOOTER_BYTES)?;
        out.splice(..0, [FRAME_MAGIC, size as u32].into_iter().flat_map(u32::to_le_bytes));
        out.extend((count as u32).to_le_bytes());
        out.push(0);
        out.extend(FILE_MAGIC.to_le_bytes());
        Ok(out)
    }
}

/// Calls `visit` with the compressed and uncompressed size of each frame of a source that ends at `end`, until `visit`
/// returns `false`. Returns the size of the table itself, which is the last frame. Returns `None` if `visit` returned
/// `false`, or if the table is missing, malformed or too large.
pub(super) fn each(source: &Source<'_>, end: u64, mut visit: impl FnMut([u32; 2]) -> bool) -> io::Result<Option<u64>> {
    let Some(TableLocation { start, entry_bytes }) = find(source, end)? else { return Ok(None) };
    let mut block = [0; BLOCK_BYTES];
    let mut at = start + HEAD_BYTES as u64;
    let entries_end = end - FOOTER_BYTES as u64;
    while at < entries_end {
        let block = &mut block[..(entries_end - at).min(BLOCK_BYTES as u64) as usize];
        if source.read_at(at, block)? < block.len() || !block.chunks_exact(entry_bytes).all(|entry| visit(words(entry)))
        {
            return Ok(None);
        }
        at += block.len() as u64;
    }
    Ok(Some(end - start))
}

/// The start of the table, and the size of its entries.
struct TableLocation {
    start: u64,
    entry_bytes: usize,
}

fn find(source: &Source<'_>, end: u64) -> io::Result<Option<TableLocation>> {
    let mut footer = [0; FOOTER_BYTES];
    let mut head = [0; HEAD_BYTES];
    let Some(footer_at) = end.checked_sub(FOOTER_BYTES as u64) else { return Ok(None) };
    if source.read_at(footer_at, &mut footer)? < FOOTER_BYTES {
        return Ok(None);
    }
    let [count @ .., flags, _, _, _, _] = footer;
    let [_, magic] = words(&footer[1..]);
    let entry_bytes = ENTRY_BYTES + if flags & HAS_CHECKSUMS == 0 { 0 } else { CHECKSUM_BYTES };
    let bytes = (HEAD_BYTES + FOOTER_BYTES) as u64 + u64::from(u32::from_le_bytes(count)) * entry_bytes as u64;
    if magic != FILE_MAGIC || flags & RESERVED != 0 || bytes > MAX_TABLE_BYTES || bytes > end {
        return Ok(None);
    }
    let is_whole = source.read_at(end - bytes, &mut head)? == HEAD_BYTES
        && words(&head) == [FRAME_MAGIC, (bytes - HEAD_BYTES as u64) as u32];
    Ok(is_whole.then_some(TableLocation { start: end - bytes, entry_bytes }))
}

/// Reads the two numbers at the start of `bytes`.
fn words(bytes: &[u8]) -> [u32; 2] {
    [0, 4].map(|at| bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_le_bytes(*word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Codec, DecompressLimits, Encoder, decompressed};

    /// Returns uncompressed bytes, their compressed members of 600 kB each, and the table.
    fn packed() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let plain: Vec<u8> =
            (0..150_000).flat_map(|i: u32| format!("v {} {}\n", i * 7919 % 9973, i).into_bytes()).collect();
        let mut file = Vec::new();
        let mut table = SeekTable::default();
        let mut encoder = Encoder::new(Codec::Zstd, None).unwrap();
        for member in plain.chunks(600_000) {
            let start = file.len();
            encoder.encode(member, &mut file).unwrap();
            table.push(file.len() - start, member.len()).unwrap();
        }
        (plain, file, table.finish().unwrap())
    }

    fn unpacked(file: Vec<u8>) -> (io::Result<Vec<u8>>, bool, u64) {
        let source = decompressed(Source::memory(file), &DecompressLimits::default()).unwrap();
        let calls = source.compressed_counters().unwrap().snapshot().calls;
        let mut out = vec![0; 10_000_000];
        let count = if source.is_positioned() { source.read_at(0, &mut out) } else { source.read_next(&mut out) };
        (count.map(|count| out[..count].to_vec()), source.is_positioned(), calls)
    }

    #[test]
    fn frames_are_found_in_few_reads() {
        let (plain, file, table) = packed();
        let (result, is_positioned, calls) = unpacked([&file[..], &table].concat());
        let (without_table, _, more_calls) = unpacked(file.clone());
        assert!(is_positioned && result.unwrap() == plain && without_table.unwrap() == plain);
        assert!(calls <= 4 && more_calls > 15, "{calls} {more_calls}");
        // The format's specification: magic, size, pairs of sizes, count, flags, magic.
        let count = plain.len().div_ceil(600_000);
        assert_eq!(
            (table.len(), &table[..4], &table[table.len() - 4..]),
            (17 + 8 * count, &[0x5e, 0x2a, 0x4d, 0x18][..], &[0xb1, 0xea, 0x92, 0x8f][..])
        );
        assert_eq!(table[4..8], (9 + 8 * count as u32).to_le_bytes());
        assert_eq!(table[table.len() - 9..table.len() - 4], [count as u8, 0, 0, 0, 0]);
    }

    #[test]
    fn one_frame_needs_no_table() {
        let mut table = SeekTable::default();
        assert!(SeekTable::default().finish().unwrap().is_empty());
        table.push(10, 20).unwrap();
        let mut more = SeekTable::default();
        more.append(&mut table).unwrap();
        assert!(table.finish().unwrap().is_empty() && more.finish().unwrap().is_empty());
        assert!(SeekTable::default().push(1 << 40, 1).is_err());
    }

    #[test]
    fn an_invalid_table_is_ignored() {
        let (plain, file, table) = packed();
        let changes: [(usize, u8); 7] =
            [(0, 1), (4, 1), (8, 1), (9, 9), (12, 1), (table.len() - 9, 1), (table.len() - 5, 4)];
        for (at, by) in changes {
            let mut table = table.clone();
            table[at] ^= by;
            let (result, is_positioned, _) = unpacked([&file[..], &table].concat());
            // With invalid sizes, either the walk finds the members, or a frame that differs from its declared size is
            // an error. Byte 4 is the size of the table's frame; without it, the file is read as a stream.
            assert!(result.map_or(is_positioned || at == 4, |bytes| bytes == plain), "{at}");
        }
        // A table that declares a frame as empty, and one that hides zeros.
        let hidden = table.len() - FOOTER_BYTES - 4;
        let emptied = [&table[..hidden], &[0; 4], &table[hidden + 4..]].concat();
        let result = unpacked([&file[..], &emptied].concat()).0;
        assert!(result.is_err(), "{:?}", result.map(|bytes| bytes.len()));
        let first = u32::from_le_bytes(*table[8..].first_chunk().unwrap());
        let padded = [&file[..first as usize], &[0; 16], &file[first as usize..]].concat();
        let hiding = [&table[..8], &(first + 16).to_le_bytes(), &table[12..]].concat();
        let result = unpacked([padded, hiding].concat()).0;
        assert!(result.is_err(), "{:?}", result.map(|bytes| bytes.len()));
        let checked: Vec<u8> = {
            let entries = table[8..table.len() - 9].chunks(8).flat_map(|entry| [entry, &[1, 2, 3, 4]].concat());
            let entries: Vec<u8> = entries.collect();
            let count = (entries.len() / 12) as u32;
            let head = [0x184d_2a5e, entries.len() as u32 + 9].map(u32::to_le_bytes).concat();
            [&head[..], &entries, &count.to_le_bytes(), &[0x80], &FILE_MAGIC.to_le_bytes()].concat()
        };
        let (result, _, calls) = unpacked([&file[..], &checked].concat());
        assert!(result.unwrap() == plain && calls <= 4, "{calls}");
    }
}
