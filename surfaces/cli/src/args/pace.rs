//! Options that simulate devices slower than the actual devices. The library implements them (`Throttle`).

use crate::values;
use clap::Args;
use polyhaul::options::Throttle;
use std::time::Duration;

/// Rates and latencies of simulated devices.
#[derive(Debug, Args)]
#[command(next_help_heading = "Simulated devices")]
pub struct PaceArgs {
    /// Limit the read rate of all files together (500MB/s, 1.5GB/s), before decompression
    #[arg(long, global = true, value_name = "RATE", value_parser = values::rate)]
    pub read_rate: Option<u64>,
    /// Limit the write rate of all files together, after compression
    #[arg(long, global = true, value_name = "RATE", value_parser = values::rate)]
    pub write_rate: Option<u64>,
    /// Add a delay to each read call (100us, 5ms, 0.1s); calls from several threads wait in parallel
    #[arg(long, global = true, value_name = "TIME", value_parser = values::latency)]
    pub read_latency: Option<Duration>,
    /// Add a delay to each write call
    #[arg(long, global = true, value_name = "TIME", value_parser = values::latency)]
    pub write_latency: Option<Duration>,
}

/// The throttles for reading and writing, for the whole run.
#[derive(Clone, Default)]
pub struct Throttles {
    /// Reading.
    pub read: Option<Throttle>,
    /// Writing.
    pub write: Option<Throttle>,
}

impl PaceArgs {
    /// The requested throttles.
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
