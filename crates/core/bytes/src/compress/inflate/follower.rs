//! Takes parts that other threads decoded ahead, for the sequential decoder.

use super::part::{InflatedPart, SymbolBytes};
use super::queue::AheadParts;
use super::{Bits, WINDOW_BYTES};
use crate::compress::format::OutputBuffer;
use std::io;
use std::sync::Arc;

/// Copies parts that were decoded ahead into the sequential decoder's output.
pub(super) struct Follower {
    parts: Arc<AheadParts>,
    symbol_bytes: SymbolBytes,
    /// The part being copied. `at` is the number of its bytes copied so far.
    part: Option<InflatedPart>,
    at: usize,
}

impl Follower {
    pub(super) fn new(parts: Arc<AheadParts>) -> io::Result<Self> {
        Ok(Follower { parts, symbol_bytes: SymbolBytes::new()?, part: None, at: 0 })
    }

    /// Takes the part that starts at `bit`, after the bytes in `history` and `fresh`. Returns `false` if there is no
    /// such part, or if its matches could reach before the start of the data.
    pub(super) fn start(&mut self, bit: u64, history: &[u8], fresh: &[u8]) -> io::Result<bool> {
        let Some(part) = self.parts.take(bit) else { return Ok(false) };
        if !part.is_resolved() {
            let fresh = &fresh[fresh.len().saturating_sub(WINDOW_BYTES)..];
            let missing = WINDOW_BYTES - fresh.len();
            // Matches that reach before the start of the data are an error, which the sequential decoder must report.
            let Some(old) = history.len().checked_sub(missing).and_then(|start| history.get(start..)) else {
                self.parts.give_back(part);
                return Ok(false);
            };
            let (to_old, to_fresh) = self.symbol_bytes.window().split_at_mut(missing);
            to_old.copy_from_slice(old);
            to_fresh.copy_from_slice(fresh);
            self.parts.set_window(part.end_bit(), self.symbol_bytes.after(&part)?);
        }
        self.part = Some(part);
        self.at = 0;
        Ok(true)
    }

    /// Copies as much of the part as fits. Returns the end of the part once it is reached.
    pub(super) fn copy(&mut self, out: &mut OutputBuffer<'_>) -> Option<(u64, Bits)> {
        let part = self.part.as_ref()?;
        while self.at < part.len() && !out.is_full() {
            self.at += part.copy(self.at, &self.symbol_bytes, out);
        }
        let part = self.part.take_if(|part| self.at == part.len())?;
        let end = part.end;
        self.parts.give_back(part);
        Some(end)
    }
}
