//! The directory of a zip archive (PKWARE's APPNOTE 6.3.10, sections 4.3 and 4.4), zip64 included.
//!
//! Only the directory counts: of the header in front of a member only the length is read. No size that the file
//! declares is trusted further than the file reaches.
//!
//! The file is read from its end: the end record (22 bytes and a comment, so it is searched for backwards), a locator
//! of 20 bytes before it if there is a zip64 end record (56 bytes), and then the directory, a record of 46 bytes and
//! three texts for each member.

use crate::compress::entry::{Entry, Method};
use crate::compress::{DecompressError, DecompressErrorKind as Kind, DecompressLimit};
use crate::memory::{grow, reserve};
use crate::{Buffer, Codec, DecompressLimits, Source};
use std::io;
use std::ops::Range;

const LOCAL_BYTES: usize = 30;
const RECORD_BYTES: usize = 46;
const END_BYTES: usize = 22;
const LOCATOR_BYTES: usize = 20;
const END64_BYTES: usize = 56;
const MOST_COMMENT_BYTES: usize = 0xffff;

const RECORD: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
const END: &[u8] = b"PK\x05\x06";
const END64: &[u8] = b"PK\x06\x06";
const LOCATOR: &[u8] = b"PK\x06\x07";

/// Whether an archive begins with these 4 bytes: with a member, or with its end record if it has none.
pub(super) fn begins(bytes: &[u8; 4]) -> bool {
    bytes == LOCAL || bytes == END
}

/// The directory's record of a member.
#[derive(Debug)]
pub(super) struct Record {
    /// Its name among all names.
    pub(super) name: Range<usize>,
    /// The offset of the header before it.
    pub(super) header: u64,
    /// The offset of what follows it: it ends before that.
    next: u64,
    packed_bytes: u64,
    pub(super) plain_bytes: u64,
    crc: u32,
    method: u16,
    flags: u16,
    is_link: bool,
}

#[derive(Debug)]
pub(super) struct Directory {
    pub(super) names: String,
    /// By name.
    pub(super) records: Vec<Record>,
}

/// Why something cannot be read: an error of the source, or damaged data.
#[derive(Debug)]
pub(super) enum Fault {
    Io(io::Error),
    Data(Kind, &'static str),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Fault::Io(error)
    }
}

fn corrupt(message: &'static str) -> Fault {
    Fault::Data(Kind::Corrupt, message)
}

/// The place of the directory, and the number of its records.
struct End {
    begin: u64,
    bytes: u64,
    count: u64,
    /// The offset of what follows the directory.
    limit: u64,
}

/// A little-endian number of 2, 4 or 8 bytes at `at`; 0 past the end, which cannot happen since callers check the
/// length.
fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
    let part = bytes.get(at..at + len).unwrap_or_default();
    part.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Reads the directory of the archive `source`, which has `len` bytes.
pub(super) fn read(source: &Source<'_>, len: u64, limits: &DecompressLimits) -> io::Result<Directory> {
    let mut at = len;
    let place = |at: u64, fault: Fault| match fault {
        Fault::Io(error) => error,
        Fault::Data(kind, message) => {
            let message = message.to_owned();
            DecompressError { codec: Codec::Zip, offset: at, plain_offset: 0, kind, message }.into()
        }
    };
    let end = find_end(source, len).map_err(|fault| place(len, fault))?;
    records(source, &end, limits, &mut at).map_err(|fault| place(at, fault))
}

/// The last bytes, and their offset.
fn tail(source: &Source<'_>, len: u64) -> io::Result<(Vec<u8>, u64)> {
    let most = (MOST_COMMENT_BYTES + END_BYTES + LOCATOR_BYTES) as u64;
    let begin = len.saturating_sub(most);
    let mut bytes = Vec::new();
    grow(&mut bytes, (len - begin) as usize)?;
    let count = source.read_at(begin, &mut bytes)?;
    bytes.truncate(count);
    Ok((bytes, begin))
}

fn find_end(source: &Source<'_>, len: u64) -> Result<End, Fault> {
    let (bytes, begin) = tail(source, len)?;
    // The comment after the end record extends to the end of the file, so a signature inside a comment does not match.
    let is_end = |&at: &usize| {
        let end = &bytes[at..];
        end.starts_with(END) && end.len() == END_BYTES + number(end, 20, 2) as usize
    };
    let last = bytes.len().checked_sub(END_BYTES).map(|last| (0..=last).rev());
    let Some(at) = last.into_iter().flatten().find(is_end) else {
        return Err(Fault::Data(Kind::Truncated, "the central directory at the end of the archive is missing"));
    };
    let end = &bytes[at..];
    let limit = begin + at as u64;
    let told = |at, len| number(end, at, len);
    if let Some(locator) = at.checked_sub(LOCATOR_BYTES).map(|at| &bytes[at..]).filter(|it| it.starts_with(LOCATOR)) {
        return find_end64(source, locator, limit - LOCATOR_BYTES as u64);
    }
    if told(4, 2) != 0 || told(6, 2) != 0 || told(8, 2) != told(10, 2) {
        return Err(Fault::Data(Kind::Unsupported, "the archive is split into several parts"));
    }
    checked(End { begin: told(16, 4), bytes: told(12, 4), count: told(10, 2), limit })
}

fn find_end64(source: &Source<'_>, locator: &[u8], limit: u64) -> Result<End, Fault> {
    let at = number(locator, 8, 8);
    let mut end = [0; END64_BYTES];
    let is_inside = at.checked_add(END64_BYTES as u64).is_some_and(|end| end <= limit);
    if !is_inside || source.read_at(at, &mut end)? < END64_BYTES || !end.starts_with(END64) {
        return Err(corrupt("the end-of-directory record is not at its declared offset"));
    }
    let told = |at, len| number(&end, at, len);
    if told(16, 4) != 0 || told(20, 4) != 0 || told(24, 8) != told(32, 8) {
        return Err(Fault::Data(Kind::Unsupported, "the archive is split into several parts"));
    }
    checked(End { begin: told(48, 8), bytes: told(40, 8), count: told(32, 8), limit: at })
}

fn checked(end: End) -> Result<End, Fault> {
    if end.begin.checked_add(end.bytes).is_none_or(|it| it > end.limit) {
        return Err(corrupt("the directory starts after its end record"));
    }
    if end.count > end.bytes / RECORD_BYTES as u64 {
        return Err(corrupt("the directory has fewer members than it declares"));
    }
    Ok(end)
}

/// Reads the records; `at` is the current offset.
fn records(source: &Source<'_>, end: &End, limits: &DecompressLimits, at: &mut u64) -> Result<Directory, Fault> {
    *at = end.begin;
    let record_bytes = size_of::<Record>() + size_of::<(u64, u64)>();
    if end.bytes.saturating_add(end.count.saturating_mul(record_bytes as u64)) > limits.memory_bytes / 2 {
        return Err(Fault::Data(
            Kind::Limit(DecompressLimit::Memory),
            "its directory is larger than half of the limit",
        ));
    }
    let mut input = Buffer::new(source.clone());
    input.restart(end.begin..end.begin + end.bytes);
    let mut directory = Directory { names: String::new(), records: Vec::new() };
    let mut headers = Vec::new();
    for _ in 0..end.count {
        *at = input.offset();
        let (record, name_bytes) = read_record(&mut input, end)?;
        push(&mut headers, record.header)?;
        directory.add(record, &name_bytes)?;
    }
    directory.settle(headers, end.begin)?;
    Ok(directory)
}

fn push<T>(items: &mut Vec<T>, item: T) -> io::Result<()> {
    items.try_reserve(1).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    items.push(item);
    Ok(())
}

/// The next record, and its name as stored.
fn read_record(input: &mut Buffer<'_>, end: &End) -> Result<(Record, Vec<u8>), Fault> {
    let head = input.ensure(RECORD_BYTES)?;
    if head.len() < RECORD_BYTES || !head.starts_with(RECORD) {
        return Err(corrupt("a directory record has an invalid signature"));
    }
    let told = |at, len| number(head, at, len);
    let [name_bytes, extra_bytes, comment_bytes] = [28, 30, 32].map(|at| told(at, 2) as usize);
    let is_unix = told(5, 1) == 3;
    let mut record = Record {
        name: 0..0,
        header: told(42, 4),
        next: end.begin,
        packed_bytes: told(20, 4),
        plain_bytes: told(24, 4),
        crc: told(16, 4) as u32,
        method: told(10, 2) as u16,
        flags: told(8, 2) as u16,
        is_link: is_unix && told(40, 2) & 0xf000 == 0xa000,
    };
    let bytes = RECORD_BYTES + name_bytes + extra_bytes + comment_bytes;
    let Some(rest) = input.ensure(bytes)?.get(RECORD_BYTES..bytes) else {
        return Err(corrupt("unexpected end of the directory inside a record"));
    };
    let (raw, rest) = rest.split_at(name_bytes);
    record.widen(&rest[..extra_bytes])?;
    let mut name = Vec::new();
    reserve(&mut name, raw.len())?;
    name.extend_from_slice(raw);
    input.consume(bytes);
    if record
        .header
        .checked_add((LOCAL_BYTES as u64).saturating_add(record.packed_bytes))
        .is_none_or(|it| it > end.begin)
    {
        return Err(corrupt("a member starts after the start of the directory"));
    }
    Ok((record, name))
}

impl Record {
    /// Reads the numbers that do not fit into 4 bytes from zip64's extra field.
    fn widen(&mut self, mut extra: &[u8]) -> Result<(), Fault> {
        const FULL: u64 = 0xffff_ffff;
        let wide = [&mut self.plain_bytes, &mut self.packed_bytes, &mut self.header].into_iter();
        let wide = wide.filter(|number| **number == FULL);
        while extra.len() >= 4 {
            let (id, len) = (number(extra, 0, 2), number(extra, 2, 2) as usize);
            let Some(field) = extra.get(4..4 + len) else { break };
            if id == 1 {
                let mut at = 0;
                for value in wide {
                    if field.len() < at + 8 {
                        return Err(corrupt("a directory record has no 64-bit size"));
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

impl Directory {
    /// Adds a record, unless it is a folder's or its name leads out of the archive: of those only the place counts.
    fn add(&mut self, mut record: Record, raw: &[u8]) -> io::Result<()> {
        let begin = self.names.len();
        // Each byte that is no UTF-8 becomes three at most.
        self.names.try_reserve(3 * raw.len()).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let text = String::from_utf8_lossy(raw);
        // Names created on Windows may have its separators.
        let mut is_inside = !text.ends_with(['/', '\\']) && !text.starts_with(['/', '\\']) && !text.contains('\0');
        for part in text.split(['/', '\\']).filter(|part| !matches!(*part, "" | ".")) {
            is_inside &= part != "..";
            if self.names.len() > begin {
                self.names.push('/');
            }
            self.names.push_str(part);
        }
        let name = self.names.get(begin..).unwrap_or_default();
        let has_drive = matches!(name.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
        if !is_inside || has_drive || name.is_empty() {
            self.names.truncate(begin);
            return Ok(());
        }
        record.name = begin..self.names.len();
        push(&mut self.records, record)
    }

    /// Finds out where members end at the latest, by all `headers` in front of members, and sorts by name.
    fn settle(&mut self, mut headers: Vec<u64>, end: u64) -> io::Result<()> {
        headers.sort_unstable();
        for record in &mut self.records {
            let behind = headers.partition_point(|&header| header <= record.header);
            record.next = headers.get(behind).copied().unwrap_or(end);
            // Two members in one place would each be fine.
            if behind.checked_sub(2).and_then(|other| headers.get(other)) == Some(&record.header) {
                record.next = record.header;
            }
        }
        let Directory { names, records } = self;
        let name = |record: &Record| names.get(record.name.clone()).unwrap_or_default();
        records.sort_unstable_by(|a, b| name(a).cmp(name(b)).then(a.header.cmp(&b.header)));
        Ok(())
    }
}

/// The place of a member's data, and its compression.
pub(super) fn entry(source: &Source<'_>, record: &Record) -> Result<Entry, Fault> {
    const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
    let unsupported = |message| Err(Fault::Data(Kind::Unsupported, message));
    if record.flags & ENCRYPTED != 0 || record.method == 99 {
        return unsupported("the member is encrypted");
    }
    if record.is_link {
        return unsupported("the member is a link to another file");
    }
    let method = match record.method {
        0 => Method::Stored,
        8 => Method::Deflate,
        93 => Method::Zstd,
        _ => return unsupported("unsupported compression method; only stored, deflate and zstd are supported"),
    };
    let mut head = [0; LOCAL_BYTES];
    if source.read_at(record.header, &mut head)? < LOCAL_BYTES || !head.starts_with(LOCAL) {
        return Err(corrupt("no member at the offset in the directory"));
    }
    let begin = record.header + LOCAL_BYTES as u64 + number(&head, 26, 2) + number(&head, 28, 2);
    let packed = begin..begin.saturating_add(record.packed_bytes);
    if packed.end > record.next {
        return Err(corrupt("the member overlaps the data that follows it"));
    }
    if method == Method::Stored && record.packed_bytes != record.plain_bytes {
        return Err(corrupt("the member is stored uncompressed, but its two sizes differ"));
    }
    Ok(Entry { method, packed, plain_bytes: record.plain_bytes, crc: record.crc })
}
