//! Limits the memory and time that a file can use: a few bytes of JSON can refer to the same values repeatedly.
//!
//! Every value that is read is charged. Each byte of the buffers may be read once without counting against a limit, and
//! so may each decoded byte of compressed views; all views together may decode to 16 times the size of the buffers or
//! to [`Limits::included_bytes`], whichever is larger. Repeated reads may add twice the size of the buffers or
//! `included_bytes`, whichever is larger. Values without data (zeros, and instances beyond their stored bytes) are
//! charged at their size in memory, up to twice the size of the buffers plus an eighth of `included_bytes`. Apart from
//! these constants, time and memory are therefore proportional to the size of the file.

use crate::log::over_limit;
use polyhaul_model::error::{Result, planted};
use polyhaul_model::limits::Limits;

/// Maximum number of decoded bytes per byte of the buffers. A compressed triangle takes 1 byte instead of 12, and
/// typical attributes take a half to a fifth of their size.
const DECODED_PER_BYTE: u64 = 16;

/// Divisor of [`Limits::included_bytes`] for values without data; the quotient is 32 MiB by default.
const ZERO_SHARE: u64 = 8;

/// Bytes available and bytes charged so far.
pub(crate) struct Budget {
    /// Bytes of distinct buffers.
    owned: u64,
    /// Decoded bytes of compressed views.
    decoded: u64,
    used: u64,
    /// Size in memory of values without data.
    zeros: u64,
    /// Stored bytes of instances.
    instanced: u64,
    extra: u64,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Budget {
        Budget { owned: 0, decoded: 0, used: 0, zeros: 0, instanced: 0, extra: limits.included_bytes }
    }

    /// Adds the size of a newly opened buffer.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.owned = self.owned.saturating_add(bytes);
    }

    /// Charges the decoded size that a compressed view declares. Each of these bytes may also be read once without
    /// counting against a limit.
    pub(crate) fn charge_decoded(&mut self, bytes: u64) -> Result<()> {
        self.decoded = self.decoded.saturating_add(bytes);
        let limit = self.extra.max(self.owned.saturating_mul(DECODED_PER_BYTE));
        if self.decoded <= limit || planted("gltf-decoded") {
            return Ok(());
        }
        Err(over_limit("the decoded bytes of compressed buffer views", limit, "included_bytes"))
    }

    /// Charges `bytes` read from a buffer.
    pub(crate) fn charge(&mut self, bytes: u64) -> Result<()> {
        // Saturating, because a sum of hostile counts that wraps could be within the limit.
        self.used = self.used.saturating_add(bytes);
        let extra = self.extra.max(self.owned.saturating_mul(2));
        if self.used <= self.owned.saturating_add(self.decoded).saturating_add(extra) {
            return Ok(());
        }
        Err(over_limit("the bytes that are read repeatedly or are not in a buffer", extra, "included_bytes"))
    }

    /// Charges `count` instances that take `bytes` bytes each in memory and `stored` bytes each in the file. Instances
    /// with stored bytes are free until their total exceeds the bytes of the buffers and decoded views.
    pub(crate) fn charge_instances(&mut self, count: usize, bytes: usize, stored: usize) -> Result<()> {
        self.instanced = self.instanced.saturating_add((count as u64).saturating_mul(stored as u64));
        // Without stored bytes, nothing in the file limits the count.
        if planted("gltf-instances") || stored > 0 && self.instanced <= self.owned.saturating_add(self.decoded) {
            return Ok(());
        }
        self.charge_zeros(count, bytes)
    }

    /// Charges `count` elements without data, with `bytes` bytes each.
    pub(crate) fn charge_zeros(&mut self, count: usize, bytes: usize) -> Result<()> {
        self.zeros = self.zeros.saturating_add((count as u64).saturating_mul(bytes as u64));
        let limit = (self.extra / ZERO_SHARE).saturating_add(self.owned.saturating_mul(2));
        if self.zeros <= limit {
            return Ok(());
        }
        Err(over_limit("the values that are not in a buffer", limit, "included_bytes"))
    }

    /// Charges `count` elements with `bytes` bytes each.
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
        assert!(budget.charge_instances(1600 / 12, 1 << 20, 12).is_ok());
        assert!(budget.charge_instances(10, 1 << 20, 12).is_err() && budget.charge_instances(1, 1 << 20, 0).is_err());
        assert!(budget.charge(u64::MAX).is_err() && budget.charge_each(usize::MAX, usize::MAX).is_err());
    }
}
