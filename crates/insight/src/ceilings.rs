//! Maximum rates of a machine and a disk, as plain data.
//!
//! [`crate::measure`] measures them and [`super::verdict`] uses them.

/// Maximum rates of a machine and the disk of one folder. Rates are in bytes per second on one core unless stated
/// otherwise; `None` means that a rate cannot be measured on this system. A rate of 0 is unknown: if a job involves two
/// disks, the rates of a disk that was not measured are 0 (`crate::measure::kept::kept_for`).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Ceilings {
    /// Machine: processor, cores and host name.
    pub machine: String,
    /// Disk: device and file system type of the folder.
    pub disk: String,
    /// Time of the measurement, in seconds since 1970.
    pub measured_unix_s: u64,
    /// Cores available to the process.
    pub cores: usize,
    /// Combined throughput of one thread per core, in cores: 1.9 if two threads do 1.9 times the work of one.
    pub cores_side_by_side: f64,
    /// Cores used by other programs during the measurement; 0 if unknown.
    pub other_load: f64,
    /// Reading an uncached file with all cores, or `None` if this was not or could not be measured.
    pub cold_read: Option<f64>,
    /// Reading a cached file.
    pub cached_read: f64,
    /// Reading a cached file with all cores, in total.
    pub cached_read_all: f64,
    /// Writing a new file to the page cache.
    pub write: f64,
    /// Writing a new file and syncing it to the disk.
    pub write_sync: f64,
    /// Duration of a read of a few bytes, in nanoseconds.
    pub small_read_ns: f64,
    /// Copying memory that is already mapped.
    pub copy: f64,
    /// Writing to fresh memory, with page faults.
    pub fresh_memory: f64,
    /// Rates of parsers, writers, decoders and codecs.
    pub kernels: Vec<Kernel>,
    /// Decompression rates by codec and compression ratio: poorly compressible data is slower.
    pub unpacking: Vec<Unpacking>,
    /// Write rates by file size, ascending. [`Ceilings::write`] and [`Ceilings::write_sync`] are their maxima, which
    /// exclude the smallest size if there are several.
    pub writes: Vec<Written>,
    /// Figures that could not be measured properly, and why: one sentence each.
    pub notes: Vec<String>,
}

/// Write rates for one file size.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Written {
    /// File size in bytes.
    pub bytes: u64,
    /// To the page cache, in bytes per second.
    pub write: f64,
    /// Including sync, in bytes per second.
    pub write_sync: f64,
}

/// Rate of a component on one core, memory to memory.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Kernel {
    /// Name: `parse obj`, `format obj`, `decompress gzip`, `compress zstd`.
    pub name: String,
    /// Bytes per second: text for parsers and writers, uncompressed bytes for codecs, file bytes for images.
    pub rate: f64,
}

impl Kernel {
    /// A kernel with its rate in bytes per second.
    pub fn new(name: impl Into<String>, rate: f64) -> Kernel {
        Kernel { name: name.into(), rate }
    }
}

/// Decompression rate of a codec for one kind of data, on one core, memory to memory.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Unpacking {
    /// Codec name: `gzip`.
    pub codec: String,
    /// Compressed bytes per uncompressed byte.
    pub share: f64,
    /// Uncompressed bytes per second.
    pub rate: f64,
}

impl Unpacking {
    /// A rate of a codec in uncompressed bytes per second; `share` is in compressed bytes per uncompressed byte.
    pub fn new(codec: impl Into<String>, share: f64, rate: f64) -> Unpacking {
        Unpacking { codec: codec.into(), share, rate }
    }
}

/// Maximum share of the cores used by other programs on a quiet machine.
const QUIET: f64 = 0.1;

impl Ceilings {
    /// Returns whether the machine was quiet enough for the figures to serve as a reference.
    pub fn is_quiet(&self) -> bool {
        self.other_load <= QUIET * self.cores.max(1) as f64
    }

    /// Ceilings for a chart of reads or writes: names and known rates in bytes per second.
    pub(super) fn lines(&self, is_output: bool) -> impl Iterator<Item = (&'static str, f64)> {
        let cold_read = self.cold_read.unwrap_or(0.0);
        let lines = if is_output {
            [("write", self.write), ("", 0.0)]
        } else {
            [("cold read", cold_read), ("cached read", self.cached_read_all)]
        };
        lines.into_iter().filter(|(_, rate)| *rate > 0.0)
    }

    /// Rate of a kernel, if measured.
    pub fn kernel(&self, name: &str) -> Option<f64> {
        self.kernels.iter().find(|kernel| kernel.name == name).map(|kernel| kernel.rate)
    }
}
