//! Reads and writes extensions of SPZ files. These are records with a type (u32), a size (u32) and as many bytes as the
//! size.

use super::axes::SpzSystem;
use polyhaul_model::error::{Error, Result};
use polyhaul_pipeline::feed::Feed;

/// Type of the record that declares the axes.
const AXES: u32 = 0xADBE_0003;
/// Bytes of type and size.
const RECORD_HEAD: usize = 8;

/// The content of a file's extensions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpzExtensions {
    /// Axes that the file declares.
    pub(super) system: Option<SpzSystem>,
    /// Bytes of unknown and damaged records.
    pub(super) unknown_bytes: u64,
}

impl SpzExtensions {
    /// Reads records up to the given size or, without a size, up to the end of the source.
    ///
    /// # Errors
    /// Errors of the source.
    pub(super) fn read(feed: &mut Feed<'_>, size: Option<u64>) -> Result<SpzExtensions> {
        let mut extensions = SpzExtensions::default();
        let mut left = size.unwrap_or(u64::MAX);
        while left > 0 {
            let mut head = [0; RECORD_HEAD];
            let head_bytes = RECORD_HEAD.min(usize::try_from(left).unwrap_or(RECORD_HEAD));
            let have = feed.take(&mut head[..head_bytes]);
            left -= have as u64;
            if have < RECORD_HEAD {
                extensions.unknown_bytes += have as u64;
                break;
            }
            let [kind, payload] =
                [0, 4].map(|at| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
            // A record may declare more bytes than are left.
            let payload = u64::from(payload).min(left);
            let mut value = [0; 4];
            let value_bytes = if kind == AXES && payload == 4 { feed.take(&mut value) } else { 0 };
            let system = SpzSystem::from_number(u32::from_le_bytes(value)).filter(|_| value_bytes == 4);
            let rest = skipped(feed, payload - value_bytes as u64);
            left -= payload;
            match system {
                Some(system) => extensions.system = Some(system),
                None => extensions.unknown_bytes += (RECORD_HEAD + value_bytes) as u64 + rest,
            }
        }
        feed.failed().map_or(Ok(extensions), |error: Error| Err(error))
    }
}

/// Skips `count` bytes, or fewer if the source ends. Returns the number of skipped bytes.
fn skipped(feed: &mut Feed<'_>, count: u64) -> u64 {
    let mut block = [0; 4096];
    let mut read = 0;
    while read < count {
        let part = usize::try_from(count - read).map_or(block.len(), |left| left.min(block.len()));
        let have = feed.take(&mut block[..part]);
        read += have as u64;
        if have < part {
            break;
        }
    }
    read
}

/// Returns the record that declares the axes.
pub(super) fn declaration(system: SpzSystem) -> [u8; RECORD_HEAD + 4] {
    let mut record = [0; RECORD_HEAD + 4];
    record[..4].copy_from_slice(&AXES.to_le_bytes());
    record[4..8].copy_from_slice(&4u32.to_le_bytes());
    record[8..].copy_from_slice(&system.number().to_le_bytes());
    record
}
