//! A host that reads files through callbacks, counts its calls, and may be slow.

use polyhaul::HostRead;
use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A file of the host.
pub struct Host {
    file: File,
    calls: Arc<AtomicU64>,
    delay: Duration,
}

impl Host {
    /// Opens a file and adds `delay` to each call; also returns the number of calls.
    pub fn open(path: &Path, delay: Duration) -> Result<(Host, Arc<AtomicU64>)> {
        let calls = Arc::new(AtomicU64::new(0));
        Ok((Host { file: File::open(path)?, calls: calls.clone(), delay }, calls))
    }

    fn count(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now();
        // Spins: sleeping would take about 50 microseconds longer.
        while start.elapsed() < self.delay {
            std::hint::spin_loop();
        }
    }
}

impl Read for Host {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        self.count();
        self.file.read(out)
    }
}

impl HostRead for Host {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        Read::read(self, out)
    }

    fn seek(&mut self, offset: u64) -> Result<bool> {
        Seek::seek(self, SeekFrom::Start(offset)).map(|_| true)
    }

    fn size(&mut self) -> Option<u64> {
        Some(self.file.metadata().ok()?.len())
    }
}

impl Seek for Host {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.count();
        self.file.seek(to)
    }
}
