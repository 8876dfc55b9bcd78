//! Devices that are slower than the real ones: how recorded programs are slowed down, and what came of it.
//!
//! `recorder/throttle.c` holds the calls, and [`crate::preload`] passes it the rates. Traced programs are never slowed
//! down.

use serde::Serialize;
use std::time::Duration;

/// A rate and a latency for all reads, or all writes, of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowDevice {
    /// Bytes per second that all threads and processes share; `None` for no limit.
    pub bytes_per_second: Option<u64>,
    /// Additional time of each call.
    pub latency: Duration,
}

impl SlowDevice {
    /// Whether it slows anything down.
    pub(crate) fn is_slow(&self) -> bool {
        self.bytes_per_second.is_some() || !self.latency.is_zero()
    }
}

/// Reads or writes that were slowed down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SlowedCalls {
    /// Requested bytes per second; `None` for no limit.
    pub bytes_per_second: Option<u64>,
    /// Requested additional seconds of each call.
    pub latency_seconds: f64,
    /// Number of calls; a mapping counts as a read.
    pub calls: u64,
    /// Bytes of these calls.
    pub bytes: u64,
    /// Time from the start of the first call to the end of the last one.
    pub seconds: f64,
}
