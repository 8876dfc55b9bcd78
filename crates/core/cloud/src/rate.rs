//! The minimum rate of a download: a server that sends a byte now and then must not hold up a job forever.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Checks the rate of a response. Counts only the time spent waiting for the server, not the time that the reader
/// takes.
#[derive(Debug)]
pub(crate) struct DownloadRate {
    host: String,
    min_rate: u64,
    window: Duration,
    waited: Duration,
    bytes: u64,
}

impl DownloadRate {
    /// Starts measuring a response from `host`. The rate is averaged over intervals in which the waiting time adds up
    /// to `window`.
    pub(crate) fn new(host: &str, min_rate: u64, window: Duration) -> DownloadRate {
        DownloadRate { host: host.to_owned(), min_rate, window, waited: Duration::ZERO, bytes: 0 }
    }

    /// Counts bytes that arrived after a wait. Fails if they complete an interval in which the rate was too low.
    pub(crate) fn add(&mut self, waited: Duration, bytes: usize) -> Result<(), SlowServer> {
        self.waited += waited;
        self.bytes += bytes as u64;
        // Judged only after a whole interval, so that a slow start does not count if the rest is fast enough.
        if self.waited < self.window {
            return Ok(());
        }
        let rate = self.bytes as f64 / self.waited.as_secs_f64();
        if rate < self.min_rate as f64 {
            let host = self.host.clone();
            return Err(SlowServer {
                host,
                rate: rate as u64,
                min_rate: self.min_rate,
                seconds: self.waited.as_secs(),
            });
        }
        self.waited = Duration::ZERO;
        self.bytes = 0;
        Ok(())
    }
}

/// The error for a server that sends data below the minimum rate.
#[derive(Debug)]
pub(crate) struct SlowServer {
    host: String,
    rate: u64,
    min_rate: u64,
    seconds: u64,
}

impl fmt::Display for SlowServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SlowServer { host, rate, min_rate, seconds } = self;
        write!(
            f,
            "{host} sent {rate} bytes per second over {seconds} s, below the minimum of {min_rate}; set \
             POLYHAUL_NETWORK_MIN_RATE to change it (0: no minimum)"
        )
    }
}

impl Error for SlowServer {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_windows_count() {
        let window = Duration::from_secs(10);
        let mut rate = DownloadRate::new("h", 1000, window);
        let second = Duration::from_secs(1);
        // A slow start in a window that is fast enough overall.
        for bytes in [0, 0, 0, 0, 0, 0, 0, 0, 0, 10_000] {
            rate.add(second, bytes).unwrap();
        }
        for _ in 0..9 {
            rate.add(second, 900).unwrap();
        }
        let error = rate.add(second, 900).unwrap_err().to_string();
        assert!(error.contains("h sent 900 bytes per second over 10 s") && error.contains("MIN_RATE"), "{error}");
        let mut unlimited = DownloadRate::new("h", 0, window);
        assert!((0..100).all(|_| unlimited.add(second, 0).is_ok()));
    }
}
