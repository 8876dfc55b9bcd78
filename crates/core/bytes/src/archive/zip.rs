//! The directory of a zip archive (PKWARE's APPNOTE 6.3.10, sections 4.3 and 4.4), including zip64.
//!
//! In local headers, only the signature and the lengths of the name and the extra field are read; everything else comes
//! from the directory. Declared sizes are never trusted beyond the end of the file.
//!
//! The file is read from its end: the end record (22 bytes and a comment, so it is searched for backwards from the
//! end), the 20-byte locator before it if there is a zip64 end record (56 bytes), and then the directory: per member, a
//! 46-byte record followed by its name, extra field and comment.

use crate::compress::entry::{ZipEntry, ZipMethod};
use crate::error::{DecompressError, DecompressErrorKind as Kind, DecompressLimit};
use crate::memory::{grow, reserve};
use crate::place;
use crate::{Buffer, Codec, DecompressLimits, Source};
use std::borrow::Cow;
use std::io;
use std::ops::Range;

const LOCAL_BYTES: usize = 30;
const RECORD_BYTES: usize = 46;
const END_BYTES: usize = 22;
const LOCATOR_BYTES: usize = 20;
const END64_BYTES: usize = 56;
const MAX_COMMENT_BYTES: usize = 0xffff;

const RECORD: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
const END: &[u8] = b"PK\x05\x06";
const END64: &[u8] = b"PK\x06\x06";
const LOCATOR: &[u8] = b"PK\x06\x07";

/// Returns whether an archive can start with these 4 bytes: the signature of a local header or, if the archive is
/// empty, of the end record.
pub(super) fn has_signature(bytes: &[u8; 4]) -> bool {
    bytes == LOCAL || bytes == END
}

/// The directory's record of a member.
#[derive(Debug)]
pub(super) struct ZipRecord {
    /// Byte range of the name in [`Directory::names`].
    pub(super) name: Range<usize>,
    /// The offset of the member's local header.
    pub(super) header: u64,
    /// The offset of the next local header or of the directory: the latest possible end of the member.
    next: u64,
    packed_bytes: u64,
    pub(super) plain_bytes: u64,
    crc: u32,
    method: u16,
    flags: u16,
    pub(super) is_link: bool,
}

#[derive(Debug)]
pub(super) struct Directory {
    pub(super) names: String,
    /// Sorted by name.
    pub(super) records: Vec<ZipRecord>,
    /// The first member name that points outside the archive.
    pub(super) outside: Option<String>,
}

/// A failed read: an error of the source, or damaged data.
#[derive(Debug)]
pub(super) enum ZipFault {
    Io(io::Error),
    Data(Kind, &'static str),
}

impl From<io::Error> for ZipFault {
    fn from(error: io::Error) -> Self {
        ZipFault::Io(error)
    }
}

fn corrupt(message: &'static str) -> ZipFault {
    ZipFault::Data(Kind::Corrupt, message)
}

/// The location of the directory, and the number of its records.
struct EndRecord {
    /// Number of bytes before the archive, which must be added to its offsets.
    base: u64,
    start: u64,
    bytes: u64,
    count: u64,
    /// The offset of the zip64 end record or, without one, of the end record: the latest possible end of the directory.
    limit: u64,
}

/// Reads a little-endian number of `len` bytes at `at`. Callers check the length; past the end, the result is 0.
fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
    let part = bytes.get(at..at + len).unwrap_or_default();
    part.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Reads the directory of the archive `source`, which has `len` bytes.
pub(super) fn read(source: &Source<'_>, len: u64, limits: &DecompressLimits) -> io::Result<Directory> {
    let mut at = len;
    let located = |at: u64, fault: ZipFault| match fault {
        ZipFault::Io(error) => error,
        ZipFault::Data(kind, message) => {
            let message = message.to_owned();
            DecompressError { codec: Codec::Zip, offset: at, plain_offset: 0, kind, message }.into()
        }
    };
    let end = find_end(source, len).map_err(|fault| located(len, fault))?;
    records(source, &end, limits, &mut at).map_err(|fault| located(at, fault))
}

/// Reads the end of the file, enough for an end record with the longest comment and a locator. Returns these bytes and
/// their offset.
fn tail(source: &Source<'_>, len: u64) -> io::Result<(Vec<u8>, u64)> {
    let max_bytes = (MAX_COMMENT_BYTES + END_BYTES + LOCATOR_BYTES) as u64;
    let start = len.saturating_sub(max_bytes);
    let mut bytes = Vec::new();
    grow(&mut bytes, (len - start) as usize)?;
    let count = source.read_at(start, &mut bytes)?;
    bytes.truncate(count);
    Ok((bytes, start))
}

/// Returns whether the file ends with a directory.
pub(super) fn has_end(source: &Source<'_>, len: u64) -> io::Result<bool> {
    match find_end(source, len) {
        Ok(_) => Ok(true),
        Err(ZipFault::Io(error)) => Err(error),
        Err(ZipFault::Data(..)) => Ok(false),
    }
}

/// Returns the index of the end record in `bytes`, the last bytes of a file from offset `start`. Prefers a record whose
/// comment extends to the end of the file, so that a signature inside a comment is not mistaken for the record.
/// Otherwise, accepts a record that is followed by other bytes, if its directory fits before it.
fn end_at(bytes: &[u8], start: u64) -> Option<usize> {
    let last = bytes.len().checked_sub(END_BYTES)?;
    let comment = |at: usize| number(&bytes[at..], 20, 2) as usize;
    let is_end = |at: &usize| bytes[*at..].starts_with(END);
    let is_last = |at: &usize| is_end(at) && bytes.len() == at + END_BYTES + comment(*at);
    let is_before_others = |at: &usize| {
        let directory = number(&bytes[*at..], 12, 4);
        is_end(at) && bytes.len() > at + END_BYTES + comment(*at) && directory <= start + *at as u64
    };
    (0..=last).rev().find(is_last).or_else(|| (0..=last).rev().find(is_before_others))
}

fn find_end(source: &Source<'_>, len: u64) -> Result<EndRecord, ZipFault> {
    let (bytes, start) = tail(source, len)?;
    let Some(at) = end_at(&bytes, start) else {
        return Err(ZipFault::Data(Kind::Truncated, "missing end of central directory record"));
    };
    let end = &bytes[at..];
    let limit = start + at as u64;
    let field = |at, len| number(end, at, len);
    let before = at.checked_sub(LOCATOR_BYTES).map(|at| &bytes[at..]);
    if let Some(locator) = before.filter(|bytes| bytes.starts_with(LOCATOR)) {
        return find_end64(source, locator, limit - LOCATOR_BYTES as u64);
    }
    if field(4, 2) != 0 || field(6, 2) != 0 || field(8, 2) != field(10, 2) {
        return Err(ZipFault::Data(Kind::Unsupported, "the archive is split into several parts"));
    }
    let end = EndRecord { base: 0, start: field(16, 4), bytes: field(12, 4), count: field(10, 2), limit };
    checked(based(source, end)?)
}

/// Determines how many bytes precede an archive. If there is no record at the declared start of the directory, but one
/// at the declared size before the end record, all declared offsets are too small by the same amount.
fn based(source: &Source<'_>, end: EndRecord) -> Result<EndRecord, ZipFault> {
    let has_record = |at: u64| -> io::Result<bool> {
        let mut first = [0; 4];
        Ok(source.read_at(at, &mut first)? == first.len() && first == *RECORD)
    };
    let Some(start) = end.limit.checked_sub(end.bytes).filter(|&start| start > end.start && end.count > 0) else {
        return Ok(end);
    };
    if has_record(end.start)? || !has_record(start)? {
        return Ok(end);
    }
    Ok(EndRecord { base: start - end.start, start, ..end })
}

fn find_end64(source: &Source<'_>, locator: &[u8], limit: u64) -> Result<EndRecord, ZipFault> {
    let mut at = number(locator, 8, 8);
    let mut end = [0; END64_BYTES];
    let is_inside = |at: u64| at.checked_add(END64_BYTES as u64).is_some_and(|end| end <= limit);
    let has_end = |at: u64, end: &mut [u8; END64_BYTES]| -> io::Result<bool> {
        Ok(is_inside(at) && source.read_at(at, end)? == END64_BYTES && end.starts_with(END64))
    };
    if !has_end(at, &mut end)? {
        // Other bytes precede the archive, so its offsets are too small: the record is directly before the locator.
        at = limit.saturating_sub(END64_BYTES as u64);
    }
    if !has_end(at, &mut end)? {
        return Err(corrupt("the zip64 end of central directory record is not at its declared offset"));
    }
    let field = |at, len| number(&end, at, len);
    if field(16, 4) != 0 || field(20, 4) != 0 || field(24, 8) != field(32, 8) {
        return Err(ZipFault::Data(Kind::Unsupported, "the archive is split into several parts"));
    }
    let end = EndRecord { base: 0, start: field(48, 8), bytes: field(40, 8), count: field(32, 8), limit: at };
    checked(based(source, end)?)
}

fn checked(end: EndRecord) -> Result<EndRecord, ZipFault> {
    if end.start.checked_add(end.bytes).is_none_or(|directory_end| directory_end > end.limit) {
        return Err(corrupt("the central directory extends past its end record"));
    }
    if end.count > end.bytes / RECORD_BYTES as u64 {
        return Err(corrupt("the central directory is too small for its declared number of members"));
    }
    Ok(end)
}

/// Reads the records. `at` is set to the offset of the current record, for errors.
fn records(
    source: &Source<'_>,
    end: &EndRecord,
    limits: &DecompressLimits,
    at: &mut u64,
) -> Result<Directory, ZipFault> {
    *at = end.start;
    let record_bytes = size_of::<ZipRecord>() + size_of::<(u64, u64)>();
    if end.bytes.saturating_add(end.count.saturating_mul(record_bytes as u64)) > limits.memory_bytes / 2 {
        return Err(ZipFault::Data(
            Kind::Limit(DecompressLimit::Memory),
            "its central directory needs more than half of the limit",
        ));
    }
    let mut input = Buffer::new(source.clone());
    input.restart(end.start..end.start + end.bytes);
    let mut directory = Directory { names: String::new(), records: Vec::new(), outside: None };
    let mut headers = Vec::new();
    for _ in 0..end.count {
        *at = input.offset();
        let (record, name_bytes) = read_record(&mut input, end)?;
        push(&mut headers, record.header)?;
        directory.add(record, &name_bytes)?;
    }
    directory.settle(headers, end.start)?;
    Ok(directory)
}

fn push<T>(items: &mut Vec<T>, item: T) -> io::Result<()> {
    items.try_reserve(1).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    items.push(item);
    Ok(())
}

/// Reads the next record, and its raw name.
fn read_record(input: &mut Buffer<'_>, end: &EndRecord) -> Result<(ZipRecord, Vec<u8>), ZipFault> {
    let head = input.ensure(RECORD_BYTES)?;
    if head.len() < RECORD_BYTES || !head.starts_with(RECORD) {
        return Err(corrupt("a central directory record has an invalid signature"));
    }
    let field = |at, len| number(head, at, len);
    let [name_bytes, extra_bytes, comment_bytes] = [28, 30, 32].map(|at| field(at, 2) as usize);
    let is_unix = field(5, 1) == 3;
    let mut record = ZipRecord {
        name: 0..0,
        header: field(42, 4),
        next: end.start,
        packed_bytes: field(20, 4),
        plain_bytes: field(24, 4),
        crc: field(16, 4) as u32,
        method: field(10, 2) as u16,
        flags: field(8, 2) as u16,
        is_link: is_unix && field(40, 2) & 0xf000 == 0xa000,
    };
    let bytes = RECORD_BYTES + name_bytes + extra_bytes + comment_bytes;
    let Some(rest) = input.ensure(bytes)?.get(RECORD_BYTES..bytes) else {
        return Err(corrupt("unexpected end of the central directory inside a record"));
    };
    let (raw, rest) = rest.split_at(name_bytes);
    record.widen(&rest[..extra_bytes])?;
    record.header = record.header.saturating_add(end.base);
    let mut name = Vec::new();
    reserve(&mut name, raw.len())?;
    name.extend_from_slice(raw);
    input.consume(bytes);
    if record
        .header
        .checked_add((LOCAL_BYTES as u64).saturating_add(record.packed_bytes))
        .is_none_or(|member_end| member_end > end.start)
    {
        return Err(corrupt("a member extends past the start of the central directory"));
    }
    Ok((record, name))
}

impl ZipRecord {
    /// Reads the numbers that do not fit into 32 bits from the zip64 extra field.
    fn widen(&mut self, mut extra: &[u8]) -> Result<(), ZipFault> {
        const FULL: u64 = 0xffff_ffff;
        let wide = [&mut self.plain_bytes, &mut self.packed_bytes, &mut self.header].into_iter();
        let wide = wide.filter(|number| **number == FULL);
        while extra.len() >= 4 {
            let id = number(extra, 0, 2);
            let len = number(extra, 2, 2) as usize;
            let Some(field) = extra.get(4..4 + len) else { break };
            if id == 1 {
                let mut at = 0;
                for value in wide {
                    if field.len() < at + 8 {
                        return Err(corrupt("a zip64 extra field is too short"));
                    }
                    *value = number(field, at, 8);
                    at += 8;
                }
                return Ok(());
            }
            extra = &extra[4 + len..];
        }
        Ok(())
    }
}

/// Characters 128 to 255 of code page 437, the encoding of names that are not UTF-8 (APPNOTE 6.3.10, D.1).
const CODE_PAGE_437: [char; 128] = [
    'Ç', 'ü', 'é', 'â', 'ä', 'à', 'å', 'ç', 'ê', 'ë', 'è', 'ï', 'î', 'ì', 'Ä', 'Å', 'É', 'æ', 'Æ', 'ô', 'ö', 'ò', 'û',
    'ù', 'ÿ', 'Ö', 'Ü', '¢', '£', '¥', '₧', 'ƒ', 'á', 'í', 'ó', 'ú', 'ñ', 'Ñ', 'ª', 'º', '¿', '⌐', '¬', '½', '¼', '¡',
    '«', '»', '░', '▒', '▓', '│', '┤', '╡', '╢', '╖', '╕', '╣', '║', '╗', '╝', '╜', '╛', '┐', '└', '┴', '┬', '├', '─',
    '┼', '╞', '╟', '╚', '╔', '╩', '╦', '╠', '═', '╬', '╧', '╨', '╤', '╥', '╙', '╘', '╒', '╓', '╫', '╪', '┘', '┌', '█',
    '▄', '▌', '▐', '▀', 'α', 'ß', 'Γ', 'π', 'Σ', 'σ', 'µ', 'τ', 'Φ', 'Θ', 'Ω', 'δ', '∞', 'φ', 'ε', '∩', '≡', '±', '≥',
    '≤', '⌠', '⌡', '÷', '≈', '°', '∙', '·', '√', 'ⁿ', '²', '■', '\u{a0}',
];

/// Decodes a name. Valid UTF-8 is decoded as such even without the UTF-8 flag. Invalid UTF-8 is decoded lossily with
/// the flag, and as code page 437 without it.
fn name_text(raw: &[u8], flags: u16) -> Cow<'_, str> {
    const UTF8: u16 = 1 << 11;
    match std::str::from_utf8(raw) {
        Ok(text) => text.into(),
        Err(_) if flags & UTF8 != 0 => String::from_utf8_lossy(raw),
        Err(_) => {
            let character = |&byte: &u8| match byte.checked_sub(128) {
                Some(high) => CODE_PAGE_437[usize::from(high)],
                None => char::from(byte),
            };
            raw.iter().map(character).collect::<String>().into()
        }
    }
}

impl Directory {
    /// Adds a record. Folders and names that point outside the archive are skipped: only their offsets matter. `..`
    /// removes the preceding folder of the name.
    fn add(&mut self, mut record: ZipRecord, raw: &[u8]) -> io::Result<()> {
        let name_start = self.names.len();
        // Each byte that is not ASCII becomes at most three bytes.
        self.names.try_reserve(3 * raw.len()).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let text = name_text(raw, record.flags);
        // Names created on Windows may have backslashes.
        let is_folder = text.ends_with(['/', '\\']);
        let mut is_inside = !text.starts_with(['/', '\\']) && !text.contains('\0');
        for part in text.split(['/', '\\']).filter(|part| !matches!(*part, "" | ".")) {
            if part == ".." {
                let folder = self.names.get(name_start..).unwrap_or_default();
                is_inside &= !folder.is_empty();
                self.names.truncate(name_start + folder.rfind('/').unwrap_or(0));
                continue;
            }
            if self.names.len() > name_start {
                self.names.push('/');
            }
            self.names.push_str(part);
        }
        let name = self.names.get(name_start..).unwrap_or_default();
        if is_folder || !is_inside || place::has_drive(name) || name.is_empty() {
            self.names.truncate(name_start);
            if !is_folder && self.outside.is_none() {
                self.outside = Some(text.into_owned());
            }
            return Ok(());
        }
        record.name = name_start..self.names.len();
        push(&mut self.records, record)
    }

    /// Sets the latest possible end of each member from the offsets in `headers`, and sorts the records by name.
    fn settle(&mut self, mut headers: Vec<u64>, end: u64) -> io::Result<()> {
        headers.sort_unstable();
        for record in &mut self.records {
            let next_header = headers.partition_point(|&header| header <= record.header);
            record.next = headers.get(next_header).copied().unwrap_or(end);
            // Two members at the same offset are invalid, although each would be valid on its own.
            if next_header.checked_sub(2).and_then(|other| headers.get(other)) == Some(&record.header) {
                record.next = record.header;
            }
        }
        let Directory { names, records, .. } = self;
        let name = |record: &ZipRecord| names.get(record.name.clone()).unwrap_or_default();
        records.sort_unstable_by(|a, b| name(a).cmp(name(b)).then(a.header.cmp(&b.header)));
        Ok(())
    }
}

/// Returns the location and compression of a member's data.
pub(super) fn entry(source: &Source<'_>, record: &ZipRecord) -> Result<ZipEntry, ZipFault> {
    const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
    let unsupported = |message| Err(ZipFault::Data(Kind::Unsupported, message));
    if record.flags & ENCRYPTED != 0 || record.method == 99 {
        return unsupported("the member is encrypted");
    }
    if record.is_link {
        return unsupported("the member is a symbolic link");
    }
    let method = match record.method {
        0 => ZipMethod::Stored,
        8 => ZipMethod::Deflate,
        93 => ZipMethod::Zstd,
        _ => return unsupported("unsupported compression method (expected stored, deflate or zstd)"),
    };
    let mut head = [0; LOCAL_BYTES];
    if source.read_at(record.header, &mut head)? < LOCAL_BYTES || !head.starts_with(LOCAL) {
        return Err(corrupt("no local file header at the member's declared offset"));
    }
    let start = record.header + LOCAL_BYTES as u64 + number(&head, 26, 2) + number(&head, 28, 2);
    let packed = start..start.saturating_add(record.packed_bytes);
    if packed.end > record.next {
        return Err(corrupt("the member overlaps the data that follows it"));
    }
    if method == ZipMethod::Stored && record.packed_bytes != record.plain_bytes {
        return Err(corrupt("the member is stored, but its compressed and uncompressed sizes differ"));
    }
    Ok(ZipEntry { method, packed, plain_bytes: record.plain_bytes, crc: record.crc })
}
