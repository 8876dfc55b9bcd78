//! Finds the members of a file without decoding them, so that threads can decode them in parallel.
//!
//! This works only for members that declare their sizes: BGZF and our own gzip members, and zstd and lz4 frames with
//! content sizes. For all other files, including files with damaged headers, there is no index, and the file is read as
//! a stream, which has better error messages. The declared sizes are checked when the members are decoded.
//!
//! The walk makes one small read per member or block, and keeps 16 bytes per group. Groups of highly compressed members
//! are small in the file, but there is at most about one group per [`BYTES_PER_READ`] bytes. A zstd file may end with a
//! table of the same information ([`seek`]).

use super::error::DecodeStop;
use super::limits::DecompressLimits;
use super::{gzip, lz4, seek, zstd};
use crate::Source;
use crate::codec::{Codec, is_lz4, is_zstd, skippable_len};
use crate::error::DecompressError;
use std::cell::Cell;
use std::io;
use std::ops::Range;

/// Maximum size of a group of members, compressed or uncompressed, unless a single member is larger: 512 KiB.
const GROUP_BYTES: u64 = 512 << 10;
/// Maximum size of a member to decode as a whole: 4 MiB.
const MAX_MEMBER_BYTES: u64 = 4 << 20;

/// Number of groups as large as the largest one that must fit into the memory limit. Otherwise, the file is read as a
/// stream, because each reader holds whole groups.
const MIN_GROUPS_IN_MEMORY: u64 = 16;

/// The walk stops after this many reads, plus one for each [`BYTES_PER_READ`] bytes of the file, because the walk does
/// not pay off for a file of many tiny members or blocks.
const FREE_READS: u64 = 1000;
const BYTES_PER_READ: u64 = 1024;

/// The offsets of groups of members, followed by the end of the last group.
pub(crate) struct MemberGroups {
    starts: Vec<MemberOffset>,
    largest_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MemberOffset {
    packed: u64,
    plain: u64,
}

/// A group, as byte ranges in the compressed and uncompressed data.
pub(super) struct MemberGroup {
    pub(super) packed: Range<u64>,
    pub(super) plain: Range<u64>,
}

impl MemberGroups {
    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the total number of uncompressed bytes.
    pub(super) fn plain_bytes(&self) -> u64 {
        self.starts.last().map_or(0, |end| end.plain)
    }

    /// Returns the uncompressed size of the largest group in bytes.
    pub(super) fn largest_bytes(&self) -> usize {
        self.largest_bytes
    }

    pub(super) fn get(&self, i: usize) -> MemberGroup {
        let start = self.starts[i];
        let end = self.starts[i + 1];
        MemberGroup { packed: start.packed..end.packed, plain: start.plain..end.plain }
    }

    /// Returns the indices of the groups that overlap `range`, a range of uncompressed bytes.
    pub(super) fn holding(&self, range: &Range<u64>) -> Range<usize> {
        let first = self.starts.partition_point(|start| start.plain <= range.start);
        let end = self.starts.partition_point(|start| start.plain < range.end);
        first.saturating_sub(1)..end.min(self.count())
    }
}

/// Walks over the members of a positioned source. Returns `None` if the source should be read as a stream.
///
/// # Errors
/// Errors of the source; a [`DecompressError`] if the sizes exceed a limit.
pub(super) fn find(codec: Codec, source: &Source<'_>, limits: &DecompressLimits) -> io::Result<Option<MemberGroups>> {
    let Some(end) = source.len().filter(|_| source.is_positioned()) else {
        return Ok(None);
    };
    let reads_left = Cell::new(FREE_READS + end / BYTES_PER_READ);
    let mut walk = MemberWalk { source, end, at: 0, reads_left, groups: GroupBuilder::default() };
    let is_known = match codec {
        Codec::Gzip => walk.gzip()?,
        Codec::Zstd => walk.table()? || walk.frames(MemberWalk::zstd_frame)?,
        Codec::Lz4 => walk.frames(MemberWalk::lz4_frame)?,
        Codec::Zip => false,
    };
    let Some(groups) = walk.groups.finish().filter(|groups| is_known && groups.count() > 1) else {
        return Ok(None);
    };
    if groups.largest_bytes() as u64 > limits.memory_bytes / MIN_GROUPS_IN_MEMORY {
        return Ok(None);
    }
    match limits.check(end, groups.plain_bytes()) {
        Err(DecodeStop::Io(error)) => Err(error),
        Err(DecodeStop::Data(kind, message)) => {
            Err(DecompressError { codec, offset: 0, plain_offset: 0, kind, message }.into())
        }
        Ok(()) => Ok(Some(groups)),
    }
}

/// Collects members into groups.
#[derive(Default)]
struct GroupBuilder {
    starts: Vec<MemberOffset>,
    end: Option<MemberOffset>,
    largest_bytes: u64,
}

impl GroupBuilder {
    /// Records a member. Returns `false` if it is too large to be decoded as a whole, or if out of memory.
    ///
    /// An empty member joins its neighbors, however large they are: a group of empty members would never be read, and
    /// so never be verified.
    fn push(&mut self, packed: u64, plain: u64) -> bool {
        // Empty members, such as skippable frames, are skipped and need not fit in memory.
        let is_small = plain == 0 || plain <= MAX_MEMBER_BYTES && packed <= MAX_MEMBER_BYTES + GROUP_BYTES;
        let start = self.end.unwrap_or(MemberOffset { packed: 0, plain: 0 });
        let end = MemberOffset { packed: start.packed + packed, plain: start.plain.saturating_add(plain) };
        let is_within = |last: &MemberOffset| {
            let is_small = end.plain - last.plain <= GROUP_BYTES && end.packed - last.packed <= GROUP_BYTES;
            is_small || plain == 0 || start.plain == last.plain
        };
        if !self.starts.last().is_some_and(is_within) {
            if self.starts.try_reserve(1).is_err() {
                return false;
            }
            self.starts.push(start);
        }
        let group = self.starts.last().map_or(0, |last| end.plain - last.plain);
        self.largest_bytes = self.largest_bytes.max(group);
        self.end = Some(end);
        is_small
    }

    fn finish(mut self) -> Option<MemberGroups> {
        self.starts.try_reserve(1).ok()?;
        self.starts.push(self.end?);
        Some(MemberGroups { starts: self.starts, largest_bytes: self.largest_bytes as usize })
    }
}

/// Compressed and uncompressed size of a frame in bytes.
type FrameSizes = (u64, u64);

struct MemberWalk<'s, 'a> {
    source: &'s Source<'a>,
    /// The end of the source.
    end: u64,
    at: u64,
    reads_left: Cell<u64>,
    groups: GroupBuilder,
}

impl MemberWalk<'_, '_> {
    /// Reads the bytes at offset `at`. Returns fewer bytes at the end, and none after too many reads.
    fn read<'b>(&self, at: u64, bytes: &'b mut [u8]) -> io::Result<&'b [u8]> {
        let Some(left) = self.reads_left.get().checked_sub(1) else {
            return Ok(&[]);
        };
        self.reads_left.set(left);
        let count = self.source.read_at(at, bytes)?;
        Ok(&bytes[..count])
    }

    /// Records a member of `packed` bytes at the current position, and moves to its end. Returns `false` if the source
    /// must be read as a stream.
    fn pass(&mut self, packed: u64, plain: u64) -> bool {
        self.at = self.at.saturating_add(packed);
        packed > 0 && self.at <= self.end && self.groups.push(packed, plain)
    }

    fn gzip(&mut self) -> io::Result<bool> {
        /// Enough for the header and the subfields that known writers put before the size.
        const HEAD_READ_BYTES: usize = 48;
        /// Maximum expansion of deflate data: a match of 258 bytes takes at least two bits, one for the length and one
        /// for the distance.
        const MAX_EXPANSION: u64 = 1032;
        let mut bytes = [0; gzip::TAIL_BYTES + HEAD_READ_BYTES];
        let mut declared = gzip::member_bytes(self.read(0, &mut bytes)?);
        while self.at < self.end {
            let Some(packed) = declared.filter(|&bytes| bytes > gzip::TAIL_BYTES as u64) else {
                return Ok(false);
            };
            // One read covers the end of this member and the header of the next one.
            let tail = self.at.saturating_add(packed - gzip::TAIL_BYTES as u64);
            let Some((tail, head)) = self.read(tail, &mut bytes)?.split_first_chunk::<{ gzip::TAIL_BYTES }>() else {
                return Ok(false);
            };
            declared = gzip::member_bytes(head);
            let plain = u64::from_le_bytes(*tail) >> 32;
            if plain > packed * MAX_EXPANSION || !self.pass(packed, plain) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Records the members that are listed in the seek table at the end of the file. If there is no valid table,
    /// records nothing and returns `false`.
    fn table(&mut self) -> io::Result<bool> {
        let source = self.source;
        let end = self.end;
        let max_groups = self.reads_left.get();
        let pass = |[packed, plain]: [u32; 2]| {
            self.groups.starts.len() as u64 <= max_groups && self.pass(packed.into(), plain.into())
        };
        let table = seek::each(source, end, pass)?;
        if table.is_some_and(|bytes| self.pass(bytes, 0)) && self.at == end {
            return Ok(true);
        }
        self.at = 0;
        self.groups = GroupBuilder::default();
        Ok(false)
    }

    /// Walks over frames. `frame` returns the sizes of the frame at the current position. Returns `false` if the source
    /// must be read as a stream.
    fn frames(&mut self, frame: fn(&Self, &[u8]) -> io::Result<Option<FrameSizes>>) -> io::Result<bool> {
        while self.at < self.end {
            let mut bytes = [0; 32];
            let head = self.read(self.at, &mut bytes)?;
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

    fn zstd_frame(&self, head: &[u8]) -> io::Result<Option<FrameSizes>> {
        let Some(head) = zstd::ZstdHead::parse(head).filter(|_| is_zstd(head)) else {
            return Ok(None);
        };
        let tail = 4 * u64::from(head.has_checksum);
        self.blocks(head.bytes, head.content_bytes, tail, zstd::block_bytes)
    }

    fn lz4_frame(&self, head: &[u8]) -> io::Result<Option<FrameSizes>> {
        let Some(Ok(head)) = is_lz4(head).then(|| lz4::Lz4Head::parse(head)) else {
            return Ok(None);
        };
        let tail = 4 * u64::from(head.has_checksum);
        self.blocks(head.bytes, head.content_bytes, tail, |word| match lz4::block_size(word) {
            _ if word == [0; 4] => (true, 0),
            (len, _) => (false, len as u64 + 4 * u64::from(head.has_block_checksum)),
        })
    }

    /// Walks over the blocks of a frame and returns its sizes, or `None` if the source must be read as a stream.
    /// `block` receives the first `N` bytes of a block, and returns whether it is the last one, and the size of the
    /// rest.
    fn blocks<const N: usize>(
        &self,
        head_bytes: usize,
        content_bytes: Option<u64>,
        tail_bytes: u64,
        block: impl Fn([u8; N]) -> (bool, u64),
    ) -> io::Result<Option<FrameSizes>> {
        let Some(plain) = content_bytes.filter(|&plain| plain <= MAX_MEMBER_BYTES) else {
            return Ok(None);
        };
        let mut packed = head_bytes as u64;
        loop {
            let mut word = [0; N];
            if self.read(self.at + packed, &mut word)?.len() < N {
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
