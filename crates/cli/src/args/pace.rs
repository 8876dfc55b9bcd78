//! How fast bytes may come and go: a device that is slower than this machine's.

use crate::values;
use clap::Args;
use polyhaul::options::Throttle;
use std::time::Duration;

/// How fast bytes may come and go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Slower devices")]
pub struct PaceArgs {
    /// Read no faster than this (500MB/s, 1.5GB/s, 64MiB/s): all files together, compressed ones as they are
    #[arg(long, global = true, value_name = "RATE", value_parser = values::rate)]
    pub read_rate: Option<u64>,
    /// Write no faster than this
    #[arg(long, global = true, value_name = "RATE", value_parser = values::rate)]
    pub write_rate: Option<u64>,
    /// Wait for so long in each call that reads (100us, 5ms, 0.1s); calls of several threads wait side by side
    #[arg(long, global = true, value_name = "TIME", value_parser = values::latency)]
    pub read_latency: Option<Duration>,
    /// Wait for so long in each call that writes
    #[arg(long, global = true, value_name = "TIME", value_parser = values::latency)]
    pub write_latency: Option<Duration>,
}

/// What holds reading and writing back, for the whole run.
#[derive(Clone, Default)]
pub struct Throttles {
    /// Reading.
    pub read: Option<Throttle>,
    /// Writing.
    pub write: Option<Throttle>,
}

impl PaceArgs {
    /// What was asked for.
    pub fn throttles(&self) -> Throttles {
        let throttle = |rate: Option<u64>, latency: Option<Duration>| {
            (rate.is_some() || latency.is_some()).then(|| Throttle::new(rate, latency.unwrap_or_default()))
        };
        Throttles {
            read: throttle(self.read_rate, self.read_latency),
            write: throttle(self.write_rate, self.write_latency),
        }
    }
}
