//! A bound on what a file makes of its bytes: a few bytes of JSON can ask for the same values again and again.
//!
//! Every value that is read is charged. Each byte of the buffers is free once; beyond this, twice the buffers or
//! [`Limits::included_bytes`] may be read again, or be made of nothing. Compressed views may become 16 times the
//! buffers, or that limit. So time and memory grow with the file alone.

use crate::log::over_limit;
use polyhaul_model::error::Result;
use polyhaul_model::limits::Limits;

/// Compressed triangles take a byte in place of 12, typical attributes a half to a fifth of their size.
const DECODED_PER_BYTE: u64 = 16;

/// How much may still be read.
pub(crate) struct Budget {
    /// The bytes of distinct buffers.
    owned: u64,
    /// The bytes that compressed views become.
    decoded: u64,
    used: u64,
    extra: u64,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Budget {
        Budget { owned: 0, decoded: 0, used: 0, extra: limits.included_bytes }
    }

    /// Adds the size of a buffer that was not there before.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.owned = self.owned.saturating_add(bytes);
    }

    /// Takes so many bytes that compressed data claims to become. Each is free once, too.
    pub(crate) fn charge_decoded(&mut self, bytes: u64) -> Result<()> {
        self.decoded = self.decoded.saturating_add(bytes);
        let limit = self.extra.max(self.owned.saturating_mul(DECODED_PER_BYTE));
        if self.decoded <= limit {
            return Ok(());
        }
        Err(over_limit("compressed views become too many bytes", limit, "included_bytes"))
    }

    /// Takes so many bytes.
    pub(crate) fn charge(&mut self, bytes: u64) -> Result<()> {
        self.used = self.used.saturating_add(bytes);
        let extra = self.extra.max(self.owned.saturating_mul(2));
        if self.used <= self.owned.saturating_add(self.decoded).saturating_add(extra) {
            return Ok(());
        }
        Err(over_limit("too many bytes are repeated or not in a buffer", extra, "included_bytes"))
    }

    /// Takes `count` times so many bytes.
    pub(crate) fn charge_each(&mut self, count: usize, bytes: usize) -> Result<()> {
        self.charge((count as u64).saturating_mul(bytes as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_free_once() {
        let mut budget = Budget::new(&Limits::default().with_included_bytes(10));
        assert!(budget.charge(10).is_ok() && budget.charge(1).is_err());
        let mut budget = Budget::new(&Limits::default().with_included_bytes(10));
        budget.add(100);
        assert!(budget.charge_each(3, 100).is_ok() && budget.charge(1).is_err());
        assert!(budget.charge_decoded(1600).is_ok() && budget.charge_decoded(1).is_err());
        assert!(budget.charge(u64::MAX).is_err() && budget.charge_each(usize::MAX, usize::MAX).is_err());
    }
}
