//! Pages of bytes, formatted in parallel, written in order, and compressed if requested.
//!
//! A format only produces numbered pages; sinks and codecs are handled here. Compressed output is cut into members of a
//! fixed size, independent of the pages, and any worker compresses them. So the bytes depend neither on the threads nor
//! on page boundaries. For readers that stop after the first gzip member, the pieces become parts of a single member
//! instead ([`Writing::one_member`]).

use super::run::{Crew, Job, Phase, run, span};
use crate::options::RunOptions;
use polyhaul_bytes::{Codec, Encoder, GzipMember, GzipParts, MEMBER_BYTES, SeekTable, Sink};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use std::sync::{Mutex, PoisonError};

/// A codec and its level.
#[derive(Clone, Copy, Debug)]
pub struct Compression {
    /// The codec.
    pub codec: Codec,
    /// The level on the codec's scale, or `None` for a fast level.
    pub level: Option<i32>,
}

/// Assumed size of a codec's tables and windows, besides its buffers.
const ENCODER_BYTES: usize = 1 << 20;

/// The output of a format, in numbered pages.
pub trait Pages: Sync {
    /// A pooled slot for a page.
    type Slot: Send;

    /// The result of [`Pages::order`].
    type State: Send;

    /// Returns whether pages are prepared and ordered before they are formatted, because a page depends on earlier
    /// pages.
    fn prepares(&self) -> bool {
        false
    }
    /// Returns whether pages must be taken sequentially.
    fn takes_in_order(&self) -> bool {
        false
    }
    /// Creates a slot. Slots are reused.
    fn slot(&self) -> Result<Self::Slot>;
    /// Plans page `number`. Returns `false` if there is no such page. Must be cheap: the work is in [`Pages::format`].
    fn take(&self, number: u64, slot: &mut Self::Slot) -> Result<bool>;
    /// Collects the data that later pages depend on, in parallel.
    fn prepare(&self, _slot: &mut Self::Slot) -> Result<()> {
        Ok(())
    }
    /// Passes the prepared data on to later pages, in page order.
    fn order(&self, _state: &mut Self::State, _slot: &mut Self::Slot) -> Result<()> {
        Ok(())
    }
    /// Formats values as bytes, in parallel.
    fn format(&self, slot: &mut Self::Slot) -> Result<()>;
    /// Returns the phase under which traces record formatting.
    fn phase(&self) -> Phase {
        Phase::Format
    }
    /// Returns the bytes of the page.
    fn bytes<'a>(&'a self, slot: &'a Self::Slot) -> &'a [u8];
}

/// The destination of pages.
pub struct Writing<'s, 'o> {
    front: OutputFront<'s>,
    options: &'o RunOptions,
    /// The approximate size of all pages in bytes.
    expected: u64,
    /// The maximum number of threads used so far.
    threads: usize,
}

/// Cuts pages into members, or into the parts of a single member.
struct Cutter {
    compression: Compression,
    /// The single member, if all pieces are its parts.
    whole: Option<GzipMember>,
    /// The start of the next member: bytes not yet compressed.
    member: Vec<u8>,
    /// Whether any member was complete.
    has_members: bool,
    /// Sizes of the members written.
    table: SeekTable,
}

/// A page in flight, the members that end in it, and their compressed form.
struct WriteSlot<S> {
    page: S,
    members: Vec<Vec<u8>>,
    /// The number of `members` in use. The other members are kept for their capacity.
    used: usize,
    packed: Vec<u8>,
    /// Sizes of the zstd frames in `packed`.
    table: SeekTable,
    packer: Option<PiecePacker>,
}

/// Compresses pieces of the output.
enum PiecePacker {
    /// Each piece is a member.
    Members(Encoder),
    /// All pieces are parts of one member.
    Parts(Box<GzipParts>),
}

struct WriteJob<'a, 's, P> {
    pages: &'a P,
    compression: Option<Compression>,
    is_one_member: bool,
    options: &'a RunOptions,
    expected: u64,
    /// Locked only by ordered parts, of which one runs at a time.
    front: Mutex<&'a mut OutputFront<'s>>,
}

/// The path of finished pages to the sink.
struct OutputFront<'s> {
    sink: Sink<'s>,
    cutter: Option<Cutter>,
    /// Uncompressed bytes to write before the next page.
    head: Vec<u8>,
    /// Compressed bytes to write before the next compressed members.
    packed_head: Vec<u8>,
    /// Uncompressed size of the pages so far, including heads.
    written: u64,
}

impl<'s, 'o> Writing<'s, 'o> {
    /// Creates a destination that writes pages to `sink`.
    pub fn new(sink: Sink<'s>, compression: Option<Compression>, options: &'o RunOptions) -> Result<Self> {
        let cutter = match compression {
            Some(compression) => {
                // Reports an invalid level before anything is written.
                encoder(compression)?;
                Some(Cutter::new(compression, None))
            }
            None => None,
        };
        Ok(Writing {
            front: OutputFront { sink, cutter, head: Vec::new(), packed_head: Vec::new(), written: 0 },
            options,
            expected: 0,
            threads: 1,
        })
    }

    /// Makes the whole output a single gzip member of any size, for readers that stop at its end. Must be called before
    /// the first page. `level` is a gzip level.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for an invalid level, and for output that is compressed already.
    pub fn one_member(&mut self, level: Option<i32>) -> Result<()> {
        self.check_plain()?;
        let compression = Compression { codec: Codec::Gzip, level };
        encoder(compression)?;
        self.front.cutter = Some(Cutter::new(compression, Some(GzipMember::default())));
        self.front.packed_head = GzipMember::head().to_vec();
        Ok(())
    }

    /// Checks that pages are written uncompressed, for formats that compress their own data.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the output is compressed.
    pub fn check_plain(&self) -> Result<()> {
        if self.front.cutter.is_none() {
            return Ok(());
        }
        let error = Error::new(ErrorKind::Usage, "the format is already compressed");
        Err(error.with_hint("turn off compression, and use a name that does not end in .gz, .zst or .lz4"))
    }

    /// Announces the approximate size in bytes of the pages to come, for progress reports.
    pub fn announce(&mut self, bytes: u64) {
        self.expected = self.front.written + bytes;
    }

    /// Returns the maximum number of threads used so far.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Writes about `count` pages after the earlier pages. Each slot is budgeted at `slot_bytes` bytes. `state`
    /// receives the result of the ordered parts.
    pub fn pages<P: Pages>(&mut self, pages: &P, state: &mut P::State, count: u64, slot_bytes: usize) -> Result<()> {
        let options = self.options;
        let expected = self.expected;
        let compression = self.front.cutter.as_ref().map(|cutter| cutter.compression);
        let is_one_member = self.front.cutter.as_ref().is_some_and(|cutter| cutter.whole.is_some());
        let packing_bytes = if compression.is_some() { ENCODER_BYTES + 3 * MEMBER_BYTES } else { 0 };
        let crew = Crew::for_chunks(count, slot_bytes + packing_bytes, options);
        self.threads = self.threads.max(crew.threads);
        let job = WriteJob { pages, compression, is_one_member, options, expected, front: Mutex::new(&mut self.front) };
        run(&job, state, crew, &options.cancel)
    }

    /// Sets bytes to write together with the next page, before it.
    pub fn set_head(&mut self, head: Vec<u8>) {
        self.front.head = head;
    }

    /// Returns the uncompressed size of all pages so far, including heads.
    pub fn written(&self) -> u64 {
        self.front.written
    }

    /// Writes `tail` after the last page.
    pub fn end(&mut self, tail: Vec<u8>) -> Result<()> {
        let size = tail.len();
        self.pages(&SinglePage(tail), &mut (), 1, size)
    }

    /// Writes the rest of the last member, and returns the sink, which the caller must finish.
    pub fn finish(self) -> Result<Sink<'s>> {
        let OutputFront { mut sink, cutter, head, mut packed_head, .. } = self.front;
        let Some(Cutter { compression, whole, mut member, has_members, mut table }) = cutter else {
            write_to(&mut sink, &head)?;
            return Ok(sink);
        };
        // The head is left only if there were no pages; the member is then empty.
        member.extend_from_slice(&head);
        let mut packer = PiecePacker::new(compression, whole.is_some())?;
        if !member.is_empty() || !has_members {
            let _span = span(Phase::Compress);
            packer.pack(&member, &mut packed_head, &mut table)?;
        }
        write_to(&mut sink, &packed_head)?;
        match whole {
            Some(mut whole) => {
                whole.add(&head);
                write_to(&mut sink, &whole.tail())?;
            }
            None => write_to(&mut sink, &table.finish().map_err(|_| Error::memory("compressed data"))?)?,
        }
        Ok(sink)
    }
}

/// A single page that needs no formatting.
struct SinglePage(Vec<u8>);

impl Pages for SinglePage {
    type Slot = ();
    type State = ();

    fn slot(&self) -> Result<()> {
        Ok(())
    }

    fn take(&self, number: u64, (): &mut ()) -> Result<bool> {
        Ok(number == 0)
    }

    fn format(&self, (): &mut ()) -> Result<()> {
        Ok(())
    }

    fn bytes<'a>(&'a self, (): &'a ()) -> &'a [u8] {
        &self.0
    }
}

/// Creates a compressor. An invalid level is a usage error.
pub fn encoder(Compression { codec, level }: Compression) -> Result<Encoder> {
    Encoder::new(codec, level).map_err(|error| no_encoder(&error))
}

/// Converts the error of creating a compressor: an invalid level, a build without the codec, or out of memory.
fn no_encoder(error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::InvalidInput => Error::new(ErrorKind::Usage, error.to_string()),
        std::io::ErrorKind::Unsupported => Error::new(ErrorKind::Unsupported, error.to_string()),
        _ => Error::memory("a compressor"),
    }
}

/// Compresses `member` into `packed`, and records its size if the codec has a seek table.
pub fn pack(encoder: &mut Encoder, member: &[u8], packed: &mut Vec<u8>, table: &mut SeekTable) -> Result<()> {
    let start = packed.len();
    let result = encoder.encode(member, packed).and_then(|()| match encoder.codec() {
        Codec::Zstd => table.push(packed.len() - start, member.len()),
        _ => Ok(()),
    });
    result.map_err(|_| Error::memory("compressed data"))
}

impl PiecePacker {
    fn new(compression: Compression, is_one_member: bool) -> Result<PiecePacker> {
        if is_one_member {
            let parts = GzipParts::new(compression.level).map_err(|error| no_encoder(&error))?;
            return Ok(PiecePacker::Parts(Box::new(parts)));
        }
        encoder(compression).map(PiecePacker::Members)
    }

    fn pack(&mut self, plain: &[u8], packed: &mut Vec<u8>, table: &mut SeekTable) -> Result<()> {
        match self {
            PiecePacker::Members(encoder) => pack(encoder, plain, packed, table),
            PiecePacker::Parts(parts) => parts.encode(plain, packed).map_err(|_| Error::memory("compressed data")),
        }
    }
}

fn write_to(sink: &mut Sink<'_>, bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    sink.write_all(bytes).map_err(|e| Error::io("write", sink.name(), e))
}

impl<P: Pages> Job for WriteJob<'_, '_, P> {
    type Slot = WriteSlot<P::Slot>;
    type State = P::State;

    /// The stages are prepare, format and compress. Prepare and compress are optional.
    fn stages(&self) -> usize {
        usize::from(self.pages.prepares()) + 1 + usize::from(self.compression.is_some())
    }

    fn takes_in_order(&self) -> bool {
        self.pages.takes_in_order()
    }

    fn ends_in_order(&self) -> bool {
        true
    }

    fn slot(&self) -> Result<Self::Slot> {
        let packer =
            self.compression.map(|compression| PiecePacker::new(compression, self.is_one_member)).transpose()?;
        Ok(WriteSlot {
            page: self.pages.slot()?,
            members: Vec::new(),
            used: 0,
            packed: Vec::new(),
            table: SeekTable::default(),
            packer,
        })
    }

    fn take(&self, number: u64, slot: &mut Self::Slot) -> Result<bool> {
        self.pages.take(number, &mut slot.page)
    }

    fn work(&self, stage: usize, slot: &mut Self::Slot) -> Result<()> {
        match self.stage(stage) {
            WriteStage::Prepare => self.pages.prepare(&mut slot.page),
            WriteStage::Format => self.pages.format(&mut slot.page),
            WriteStage::Compress => slot.compress(),
        }
    }

    fn phase(&self, stage: usize) -> Phase {
        if self.stage(stage) == WriteStage::Compress { Phase::Compress } else { self.pages.phase() }
    }

    /// A page in which no member ends is done once it is cut. It must not wait for the compression of other pages.
    fn is_done(&self, stage: usize, slot: &Self::Slot) -> bool {
        self.compression.is_some() && self.stage(stage) == WriteStage::Format && slot.used == 0
    }

    fn commit(&self, stage: usize, state: &mut Self::State, slot: &mut Self::Slot) -> Result<()> {
        match self.stage(stage) {
            WriteStage::Prepare => self.pages.order(state, &mut slot.page),
            WriteStage::Format => self.cut_or_write(slot),
            WriteStage::Compress => self.write_members(slot),
        }
    }
}

/// A stage of writing, named after its parallel part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteStage {
    Prepare,
    Format,
    Compress,
}

impl<S> WriteSlot<S> {
    fn compress(&mut self) -> Result<()> {
        let Some(packer) = &mut self.packer else { return Ok(()) };
        self.packed.clear();
        let mut members = self.members[..self.used].iter();
        members.try_for_each(|member| packer.pack(member, &mut self.packed, &mut self.table))
    }
}

impl<P: Pages> WriteJob<'_, '_, P> {
    fn stage(&self, number: usize) -> WriteStage {
        match number.checked_sub(usize::from(self.pages.prepares())) {
            None => WriteStage::Prepare,
            Some(0) => WriteStage::Format,
            Some(_) => WriteStage::Compress,
        }
    }

    /// Writes the compressed members of a page.
    fn write_members(&self, slot: &mut WriteSlot<P::Slot>) -> Result<()> {
        let mut front = self.front.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cutter) = &mut front.cutter {
            cutter.table.append(&mut slot.table).map_err(|_| Error::memory("compressed data"))?;
        }
        let head = std::mem::take(&mut front.packed_head);
        write_to(&mut front.sink, &head)?;
        write_to(&mut front.sink, &slot.packed)
    }

    /// Cuts a page into members if the output is compressed, and writes the page otherwise.
    fn cut_or_write(&self, slot: &mut WriteSlot<P::Slot>) -> Result<()> {
        let mut front = self.front.lock().unwrap_or_else(PoisonError::into_inner);
        let mut head = std::mem::take(&mut front.head);
        let plain = self.pages.bytes(&slot.page);
        front.written += (head.len() + plain.len()) as u64;
        match &mut front.cutter {
            Some(cutter) => {
                slot.used = 0;
                cutter.cut(&head, &mut slot.members, &mut slot.used)?;
                cutter.cut(plain, &mut slot.members, &mut slot.used)?;
            }
            None if head.is_empty() => write_to(&mut front.sink, plain)?,
            None => {
                head.try_reserve_exact(plain.len())?;
                head.extend_from_slice(plain);
                write_to(&mut front.sink, &head)?;
            }
        }
        if let Some(progress) = &self.options.progress {
            progress.report(front.written, Some(self.expected.max(front.written)));
        }
        Ok(())
    }
}

impl Cutter {
    fn new(compression: Compression, whole: Option<GzipMember>) -> Cutter {
        Cutter { compression, whole, member: Vec::new(), has_members: false, table: SeekTable::default() }
    }

    /// Appends `bytes`, and moves complete members to `members`, starting at index `used`.
    fn cut(&mut self, mut bytes: &[u8], members: &mut Vec<Vec<u8>>, used: &mut usize) -> Result<()> {
        if let Some(whole) = &mut self.whole {
            whole.add(bytes);
        }
        while !bytes.is_empty() {
            if self.member.capacity() < MEMBER_BYTES {
                let more = MEMBER_BYTES - self.member.len();
                self.member.try_reserve_exact(more)?;
            }
            let (head, rest) = bytes.split_at(bytes.len().min(MEMBER_BYTES - self.member.len()));
            self.member.extend_from_slice(head);
            bytes = rest;
            if self.member.len() == MEMBER_BYTES {
                if members.len() == *used {
                    try_push(members, Vec::new(), "compressed data")?;
                }
                members[*used].clear();
                std::mem::swap(&mut members[*used], &mut self.member);
                *used += 1;
                self.has_members = true;
            }
        }
        Ok(())
    }
}
