//! Pages of bytes, made in parallel, written in order, compressed on the way where that is asked for.
//!
//! A format makes numbered pages and knows neither sinks nor codecs. Compressed output is cut into
//! members of a fixed size, whatever the pages are, and each member is compressed by whoever has time:
//! so the bytes depend on neither the threads nor the borders of pages.

use super::run::{Crew, Job, run};
use crate::error::{Error, Result, try_push};
use crate::options::{Compression, RunOptions};
use polyhaul_bytes::compress::{Encoder, MEMBER_BYTES};
use polyhaul_bytes::Sink;

/// What a codec's tables and windows are counted with, beside its buffers.
const ENCODER_BYTES: usize = 4 << 20;

/// What a format writes, in numbered pages.
pub(crate) trait Pages: Sync {
    /// A pooled place for a page.
    type Slot: Send;

    /// A new slot; slots are reused.
    fn slot(&self) -> Result<Self::Slot>;
    /// Plans page `number`; `false` where there is none. Cheap: the work is [`Pages::make`].
    fn take(&self, number: u64, slot: &mut Self::Slot) -> Result<bool>;
    /// Makes the page.
    fn make(&self, slot: &mut Self::Slot) -> Result<()>;
    /// The page that was made.
    fn bytes<'a>(&self, slot: &'a Self::Slot) -> &'a [u8];
}

/// Where pages go.
pub(crate) struct Writing<'s, 'o> {
    sink: Sink<'s>,
    options: &'o RunOptions,
    cutter: Option<Cutter>,
    /// Bytes of pages so far.
    done: u64,
    /// About how many bytes of pages there will be.
    expected: u64,
    /// The most threads that worked.
    threads: usize,
}

/// Cuts pages into members.
struct Cutter {
    compression: Compression,
    /// The begin of the next member.
    member: Vec<u8>,
    /// Whether a member was complete.
    any: bool,
}

/// A page in flight, the members that end in it, and their compressed form.
struct Slot<S> {
    page: S,
    members: Vec<Vec<u8>>,
    /// How many of `members` are in use; the others are kept for later.
    used: usize,
    packed: Vec<u8>,
    encoder: Option<Encoder>,
}

struct WriteJob<'a, P> {
    pages: &'a P,
    compression: Option<Compression>,
    options: &'a RunOptions,
    expected: u64,
}

/// What commits go through: the cutter, or, without compression, the sink itself.
struct Front<'a, 's> {
    cutter: Option<&'a mut Cutter>,
    sink: Option<&'a mut Sink<'s>>,
    done: u64,
}

impl<'s, 'o> Writing<'s, 'o> {
    /// Pages go to `sink`.
    pub(crate) fn new(sink: Sink<'s>, compression: Option<Compression>, options: &'o RunOptions) -> Result<Self> {
        let cutter = match compression {
            Some(compression) => {
                // A level that the codec does not have is found before anything is written.
                encoder(compression)?;
                Some(Cutter { compression, member: Vec::new(), any: false })
            }
            None => None,
        };
        Ok(Writing { sink, options, cutter, done: 0, expected: 0, threads: 1 })
    }

    /// Announces about how many bytes are still to come, for progress.
    pub(crate) fn expect(&mut self, bytes: u64) {
        self.expected = self.done + bytes;
    }

    /// The most threads that worked.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Writes pages after those that were written before. There are about `count` of them, and a slot
    /// takes about `slot_bytes`.
    pub(crate) fn pages<P: Pages>(&mut self, pages: &P, count: u64, slot_bytes: usize) -> Result<()> {
        let threads = self.options.worker_threads().min(usize::try_from(count).unwrap_or(usize::MAX)).max(1);
        let packing = if self.cutter.is_some() { ENCODER_BYTES + 3 * MEMBER_BYTES } else { 0 };
        let crew = Crew::new(threads, self.options.memory_limit, slot_bytes + packing);
        let compression = self.cutter.as_ref().map(|cutter| cutter.compression);
        let job = WriteJob { pages, compression, options: self.options, expected: self.expected };
        self.threads = self.threads.max(crew.threads);
        match &mut self.cutter {
            Some(cutter) => {
                let mut front = Front { cutter: Some(cutter), sink: None, done: self.done };
                run(&job, &mut front, &mut Some(&mut self.sink), crew, &self.options.cancel)?;
                self.done = front.done;
            }
            None => {
                let mut front = Front { cutter: None, sink: Some(&mut self.sink), done: self.done };
                run(&job, &mut front, &mut None, crew, &self.options.cancel)?;
                self.done = front.done;
            }
        }
        Ok(())
    }

    /// Writes what is left of the last member; gives the sink back, not yet finished.
    pub(crate) fn finish(mut self) -> Result<Sink<'s>> {
        if let Some(Cutter { compression, member, any }) = self.cutter
            && (!member.is_empty() || !any)
        {
            let mut packed = Vec::new();
            pack(&mut encoder(compression)?, &member, &mut packed)?;
            write_to(&mut self.sink, &packed)?;
        }
        Ok(self.sink)
    }
}

fn encoder(Compression { codec, level }: Compression) -> Result<Encoder> {
    Encoder::new(codec, level).map_err(|e| match e.kind() {
        std::io::ErrorKind::InvalidInput => Error::new(crate::error::ErrorKind::Usage, e.to_string()),
        _ => Error::memory("a compressor"),
    })
}

fn pack(encoder: &mut Encoder, member: &[u8], packed: &mut Vec<u8>) -> Result<()> {
    encoder.encode(member, packed).map_err(|_| Error::memory("compressed data"))
}

fn write_to(sink: &mut Sink<'_>, bytes: &[u8]) -> Result<()> {
    sink.write_all(bytes).map_err(|e| Error::io("writing", sink.name(), e))
}

impl<'s, P: Pages> Job for WriteJob<'_, P> {
    type Slot = Slot<P::Slot>;
    type State = Front<'s, 's>;
    type End = Option<&'s mut Sink<'s>>;

    fn takes_in_order(&self) -> bool {
        false
    }

    fn slot(&self) -> Result<Self::Slot> {
        let encoder = self.compression.map(encoder).transpose()?;
        Ok(Slot { page: self.pages.slot()?, members: Vec::new(), used: 0, packed: Vec::new(), encoder })
    }

    fn take(&self, number: u64, slot: &mut Self::Slot) -> Result<bool> {
        self.pages.take(number, &mut slot.page)
    }

    fn work(&self, slot: &mut Self::Slot) -> Result<()> {
        self.pages.make(&mut slot.page)
    }

    fn commit(&self, front: &mut Self::State, slot: &mut Self::Slot) -> Result<()> {
        let bytes = self.pages.bytes(&slot.page);
        front.done += bytes.len() as u64;
        slot.used = 0;
        match (&mut front.cutter, &mut front.sink) {
            (Some(cutter), _) => cutter.cut(bytes, &mut slot.members, &mut slot.used)?,
            (None, Some(sink)) => write_to(sink, bytes)?,
            (None, None) => {}
        }
        if let Some(progress) = &self.options.progress {
            (progress.0)(front.done, Some(self.expected.max(front.done)));
        }
        Ok(())
    }

    fn publish(&self, slot: &mut Self::Slot) -> Result<()> {
        slot.packed.clear();
        if let Some(encoder) = &mut slot.encoder {
            slot.members[..slot.used].iter().try_for_each(|member| pack(encoder, member, &mut slot.packed))?;
        }
        Ok(())
    }

    fn finish(&self, sink: &mut Self::End, slot: &mut Self::Slot) -> Result<()> {
        match sink {
            Some(sink) if !slot.packed.is_empty() => write_to(sink, &slot.packed),
            _ => Ok(()),
        }
    }
}

impl Cutter {
    /// Appends `bytes`; members that are complete go to `members`, from `used` on.
    fn cut(&mut self, mut bytes: &[u8], members: &mut Vec<Vec<u8>>, used: &mut usize) -> Result<()> {
        while !bytes.is_empty() {
            if self.member.capacity() < MEMBER_BYTES {
                let more = MEMBER_BYTES - self.member.len();
                self.member.try_reserve_exact(more)?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(MEMBER_BYTES - self.member.len()));
            self.member.extend_from_slice(now);
            bytes = later;
            if self.member.len() == MEMBER_BYTES {
                if members.len() == *used {
                    try_push(members, Vec::new(), "compressed data")?;
                }
                members[*used].clear();
                std::mem::swap(&mut members[*used], &mut self.member);
                *used += 1;
                self.any = true;
            }
        }
        Ok(())
    }
}
