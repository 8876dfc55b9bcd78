//! The best rates of a machine and of one of its disks, as plain data.
//!
//! They are measured by [`crate::measure`] and used by [`super::verdict`].

/// The best rates of one machine and the disk of one folder. Rates are in bytes per second of one core unless stated
/// otherwise; `None` is a rate that could not be measured there. A rate of 0 is unknown: if the files of a job are on
/// two disks, that is so for the one that was not measured (`crate::measure::kept::kept_for`).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Ceilings {
    /// Which machine: its processor, its cores, its name.
    pub machine: String,
    /// Which disk: the device and the kind of file system of the folder.
    pub disk: String,
    /// When they were measured, in seconds since 1970.
    pub measured_unix_s: u64,
    /// Cores that the process may use.
    pub cores: usize,
    /// The work of as many threads as cores, in cores: 1.9 if two threads do 1.9 times the work of one.
    pub cores_side_by_side: f64,
    /// How many of these cores other programs used during the measurement; 0 if unknown.
    pub other_load: f64,
    /// Reading a file that is not in memory, with all cores; `None` if the system's cache cannot be emptied.
    pub cold_read: Option<f64>,
    /// Reading a file that the system has in memory.
    pub cached_read: f64,
    /// The same with all cores, in bytes per second in total.
    pub cached_read_all: f64,
    /// Writing a new file, into the system's memory.
    pub write: f64,
    /// Writing a new file and waiting until the disk has it.
    pub write_sync: f64,
    /// The cost of a call that reads a few bytes, in nanoseconds.
    pub small_read_ns: f64,
    /// Copying memory that is in use.
    pub copy: f64,
    /// Writing to memory that was not in use before.
    pub fresh_memory: f64,
    /// Rates of our own parsers, writers, decoders and codecs.
    pub kernels: Vec<Kernel>,
    /// Decompression rates of codecs by compression ratio: dense data takes longer.
    pub unpacking: Vec<Unpacking>,
    /// Writing by the size of the file, from small to large; [`Ceilings::write`] and [`Ceilings::write_sync`] are the
    /// best of these, except for the smallest.
    pub writes: Vec<Written>,
    /// What could not be measured properly, and why: one sentence each.
    pub notes: Vec<String>,
}

/// The rate of writing a new file of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Written {
    /// The size of the file.
    pub bytes: u64,
    /// Into the system's memory, in bytes per second.
    pub write: f64,
    /// Until the disk has it, in bytes per second.
    pub write_sync: f64,
}

/// The rate of one of our own components, on one core, from memory to memory.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Kernel {
    /// Its name: `parse obj`, `format obj`, `decompress gzip`, `compress zstd`.
    pub name: String,
    /// Bytes per second: of text for parsers and writers, of plain bytes for codecs, of the file for images.
    pub rate: f64,
}

impl Kernel {
    /// One piece, and its rate in bytes per second.
    pub fn new(name: impl Into<String>, rate: f64) -> Kernel {
        Kernel { name: name.into(), rate }
    }
}

/// The decompression rate of one of our codecs for one kind of data, on one core, from memory to memory.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Unpacking {
    /// The name of the codec: `gzip`.
    pub codec: String,
    /// Bytes that a plain byte compresses to.
    pub share: f64,
    /// Plain bytes per second.
    pub rate: f64,
}

impl Unpacking {
    /// A codec, the bytes that a plain byte compresses to, and the rate in plain bytes per second.
    pub fn new(codec: impl Into<String>, share: f64, rate: f64) -> Unpacking {
        Unpacking { codec: codec.into(), share, rate }
    }
}

/// The share of the cores that other programs may use during a measurement.
const QUIET: f64 = 0.1;

impl Ceilings {
    /// Whether the machine was quiet enough for figures that later jobs are compared with.
    pub fn is_quiet(&self) -> bool {
        self.other_load <= QUIET * self.cores.max(1) as f64
    }

    /// The lines of a chart of reading or of writing: names and known rates, in bytes per second.
    pub(super) fn lines(&self, is_output: bool) -> impl Iterator<Item = (&'static str, f64)> {
        let cold_read = self.cold_read.unwrap_or(0.0);
        let lines = if is_output {
            [("write", self.write), ("", 0.0)]
        } else {
            [("cold read", cold_read), ("cached read", self.cached_read_all)]
        };
        lines.into_iter().filter(|(_, rate)| *rate > 0.0)
    }

    /// The rate of a kernel, if it was measured.
    pub fn kernel(&self, name: &str) -> Option<f64> {
        self.kernels.iter().find(|kernel| kernel.name == name).map(|kernel| kernel.rate)
    }
}
