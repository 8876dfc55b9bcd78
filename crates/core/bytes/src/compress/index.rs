//! Finds the members of a file without decoding them, so that threads can decode different ones at the same time.
//!
//! Members count only if their headers declare their sizes, packed and plain: BGZF and our own gzip members, zstd and
//! lz4 frames with content sizes. Anything else, damage included, means no index: then the file is read as a stream,
//! which has the better messages. The declared sizes are checked when the members are decoded.
//!
//! The walk makes one small read per member or block, and keeps 16 bytes per [`GROUP_BYTES`] of data; of small members
//! at most 16 per [`BYTES_PER_LOOK`]. A zstd file may end in a table with the same information ([`seek`]).

use super::error::Stop;
use super::{Codec, DecompressError, DecompressLimits, gzip, lz4, seek, skippable_len, zstd};
use crate::Source;
use std::cell::Cell;
use std::io;
use std::ops::Range;

/// Members are gathered into groups of at most this many bytes, plain or packed, unless one member is larger: 512 KiB.
const GROUP_BYTES: u64 = 512 << 10;
/// The largest member that is decoded as a whole: 4 MiB.
const MEMBER_LIMIT_BYTES: u64 = 4 << 20;

/// If the memory limit does not hold this many groups, the file is read as a stream: each reader holds whole groups.
const GROUPS_IN_MEMORY: u64 = 16;

/// A file of many tiny members or blocks is not worth the walk, which stops after this many reads, and one more for
/// each [`BYTES_PER_LOOK`] of the file.
const FREE_LOOKS: u64 = 1000;
const BYTES_PER_LOOK: u64 = 1024;

/// The offsets of groups of members, with one more entry for the end of the last.
pub(crate) struct Groups {
    begins: Vec<Place>,
    largest_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    packed: u64,
    plain: u64,
}

/// A group: its place in bytes of the packed and of the plain data.
pub(super) struct Group {
    pub(super) packed: Range<u64>,
    pub(super) plain: Range<u64>,
}

impl Groups {
    pub(super) fn count(&self) -> usize {
        self.begins.len() - 1
    }

    /// Plain bytes in all.
    pub(super) fn plain_bytes(&self) -> u64 {
        self.begins.last().map_or(0, |end| end.plain)
    }

    /// Plain bytes of the largest group.
    pub(super) fn largest_bytes(&self) -> usize {
        self.largest_bytes
    }

    pub(super) fn get(&self, i: usize) -> Group {
        let (begin, end) = (self.begins[i], self.begins[i + 1]);
        Group { packed: begin.packed..end.packed, plain: begin.plain..end.plain }
    }

    /// The groups that hold any of the plain bytes in `range`.
    pub(super) fn holding(&self, range: &Range<u64>) -> Range<usize> {
        let first = self.begins.partition_point(|begin| begin.plain <= range.start);
        let end = self.begins.partition_point(|begin| begin.plain < range.end);
        first.saturating_sub(1)..end.min(self.count())
    }
}

/// Walks over the members of a positioned source. `None` if it is one to be read as a stream.
///
/// # Errors
/// Errors of the source; a [`DecompressError`] if the sizes exceed a limit.
pub(super) fn find(codec: Codec, source: &Source<'_>, limits: &DecompressLimits) -> io::Result<Option<Groups>> {
    let Some(end) = source.len().filter(|_| source.is_positioned()) else {
        return Ok(None);
    };
    let looks_left = Cell::new(FREE_LOOKS + end / BYTES_PER_LOOK);
    let mut walk = Walk { source, end, at: 0, looks_left, groups: Builder::default() };
    let is_known = match codec {
        Codec::Gzip => walk.gzip()?,
        Codec::Zstd => walk.table()? || walk.frames(Walk::zstd_frame)?,
        Codec::Lz4 => walk.frames(Walk::lz4_frame)?,
        Codec::Zip => false,
    };
    let Some(groups) = walk.groups.finish().filter(|groups| is_known && groups.count() > 1) else {
        return Ok(None);
    };
    if groups.largest_bytes() as u64 > limits.memory_bytes / GROUPS_IN_MEMORY {
        return Ok(None);
    }
    match limits.check(end, groups.plain_bytes()) {
        Err(Stop::Io(error)) => Err(error),
        Err(Stop::Data(kind, message)) => {
            Err(DecompressError { codec, offset: 0, plain_offset: 0, kind, message }.into())
        }
        Ok(()) => Ok(Some(groups)),
    }
}

/// Gathers members into groups.
#[derive(Default)]
struct Builder {
    begins: Vec<Place>,
    end: Option<Place>,
    largest_bytes: u64,
}

impl Builder {
    /// Records a member; returns whether it may be decoded as a whole.
    ///
    /// A member without plain bytes joins its neighbors, however large they are: nothing would ever be read from a
    /// group without plain bytes, so nothing would verify it.
    fn push(&mut self, packed: u64, plain: u64) -> bool {
        // Members that hold nothing are skipped, and need not fit in memory.
        let is_small = plain == 0 || plain <= MEMBER_LIMIT_BYTES && packed <= MEMBER_LIMIT_BYTES + GROUP_BYTES;
        let begin = self.end.unwrap_or(Place { packed: 0, plain: 0 });
        let end = Place { packed: begin.packed + packed, plain: begin.plain.saturating_add(plain) };
        let is_within = |last: &Place| {
            let is_small = end.plain - last.plain <= GROUP_BYTES && end.packed - last.packed <= GROUP_BYTES;
            is_small || plain == 0 || begin.plain == last.plain
        };
        if !self.begins.last().is_some_and(is_within) {
            if self.begins.try_reserve(1).is_err() {
                return false;
            }
            self.begins.push(begin);
        }
        let group = self.begins.last().map_or(0, |last| end.plain - last.plain);
        self.largest_bytes = self.largest_bytes.max(group);
        self.end = Some(end);
        is_small
    }

    fn finish(mut self) -> Option<Groups> {
        self.begins.try_reserve(1).ok()?;
        self.begins.push(self.end?);
        Some(Groups { begins: self.begins, largest_bytes: self.largest_bytes as usize })
    }
}

/// Packed and plain bytes of a frame.
type Sizes = (u64, u64);

struct Walk<'s, 'a> {
    source: &'s Source<'a>,
    /// The end of the source.
    end: u64,
    at: u64,
    looks_left: Cell<u64>,
    groups: Builder,
}

impl Walk<'_, '_> {
    /// The bytes from `at` on, fewer at the end, none when it looked too often.
    fn look<'b>(&self, at: u64, bytes: &'b mut [u8]) -> io::Result<&'b [u8]> {
        let Some(left) = self.looks_left.get().checked_sub(1) else {
            return Ok(&[]);
        };
        self.looks_left.set(left);
        let count = self.source.read_at(at, bytes)?;
        Ok(&bytes[..count])
    }

    /// Records a member of `packed` bytes that begins here, and moves to its end.
    fn pass(&mut self, packed: u64, plain: u64) -> bool {
        self.at = self.at.saturating_add(packed);
        packed > 0 && self.at <= self.end && self.groups.push(packed, plain)
    }

    fn gzip(&mut self) -> io::Result<bool> {
        /// Enough for the fields in front of the sizes that are known.
        const LOOK_BYTES: usize = 48;
        /// No deflate stream expands by more: a match of 258 bytes takes at least two bits, one of length and one of
        /// distance.
        const EXPANSION: u64 = 1032;
        let mut bytes = [0; gzip::TAIL_BYTES + LOOK_BYTES];
        let mut told = gzip::member_bytes(self.look(0, &mut bytes)?);
        while self.at < self.end {
            let Some(packed) = told.filter(|&told| told > gzip::TAIL_BYTES as u64) else {
                return Ok(false);
            };
            // The end of this member and the head of the next one in one read.
            let tail = self.at.saturating_add(packed - gzip::TAIL_BYTES as u64);
            let Some((tail, head)) = self.look(tail, &mut bytes)?.split_first_chunk::<{ gzip::TAIL_BYTES }>() else {
                return Ok(false);
            };
            told = gzip::member_bytes(head);
            let plain = u64::from_le_bytes(*tail) >> 32;
            if plain > packed * EXPANSION || !self.pass(packed, plain) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes the members from the table at the end; if there is none that fits, nothing is recorded.
    fn table(&mut self) -> io::Result<bool> {
        let (source, end) = (self.source, self.end);
        let most = self.looks_left.get();
        let pass = |[packed, plain]: [u32; 2]| {
            self.groups.begins.len() as u64 <= most && self.pass(packed.into(), plain.into())
        };
        let table = seek::each(source, end, pass)?;
        if table.is_some_and(|bytes| self.pass(bytes, 0)) && self.at == end {
            return Ok(true);
        }
        (self.at, self.groups) = (0, Builder::default());
        Ok(false)
    }

    /// `frame` measures the frame that begins here.
    fn frames(&mut self, frame: fn(&Self, &[u8]) -> io::Result<Option<Sizes>>) -> io::Result<bool> {
        while self.at < self.end {
            let mut bytes = [0; 32];
            let head = self.look(self.at, &mut bytes)?;
            let sizes = match skippable_len(head) {
                Some(packed) => Some((packed, 0)),
                None => frame(self, head)?,
            };
            if !sizes.is_some_and(|(packed, plain)| self.pass(packed, plain)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn zstd_frame(&self, head: &[u8]) -> io::Result<Option<Sizes>> {
        let Some(head) = zstd::Head::parse(head).filter(|_| zstd::is_magic(head)) else {
            return Ok(None);
        };
        let tail = 4 * u64::from(head.has_checksum);
        self.blocks(head.bytes, head.content_bytes, tail, zstd::block_bytes)
    }

    fn lz4_frame(&self, head: &[u8]) -> io::Result<Option<Sizes>> {
        let Some(Ok(head)) = lz4::is_magic(head).then(|| lz4::Head::parse(head)) else {
            return Ok(None);
        };
        let tail = 4 * u64::from(head.has_checksum);
        self.blocks(head.bytes, head.content_bytes, tail, |word| match lz4::block_size(word) {
            _ if word == [0; 4] => (true, 0),
            (len, _) => (false, len as u64 + 4 * u64::from(head.has_block_checksum)),
        })
    }

    /// Skips the blocks of a frame: for the `N` bytes at the start of a block, `block` returns whether it is the last,
    /// and the size of the rest.
    fn blocks<const N: usize>(
        &self,
        head_bytes: usize,
        content_bytes: Option<u64>,
        tail_bytes: u64,
        block: impl Fn([u8; N]) -> (bool, u64),
    ) -> io::Result<Option<Sizes>> {
        let Some(plain) = content_bytes.filter(|&plain| plain <= MEMBER_LIMIT_BYTES) else {
            return Ok(None);
        };
        let mut packed = head_bytes as u64;
        loop {
            let mut word = [0; N];
            if self.look(self.at + packed, &mut word)?.len() < N {
                return Ok(None);
            }
            let (is_last, len) = block(word);
            packed += N as u64 + len;
            if is_last {
                return Ok(Some((packed + tail_bytes, plain)));
            }
        }
    }
}
