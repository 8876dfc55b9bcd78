//! The best rates of a machine and of one of its disks, as plain data.
//!
//! Who measures them is [`crate::measure`]; what they are compared with is [`super::verdict`].

/// What one machine, and the disk of one folder, can do at best. Rates are in bytes per second of one core, unless
/// they say otherwise; `None` is what could not be measured there. A rate of 0 is not known: where the files of
/// a job lie on two disks, that is so for the one that was not measured (`crate::measure::kept::kept_for`).
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
    /// How much work as many threads as cores get done, in cores: 1.9 where two threads do 1.9 times what one does.
    pub cores_side_by_side: f64,
    /// How many of these cores other programs used while this was measured; 0 where that is not known.
    pub other_load: f64,
    /// Reading a file that is not in memory, with all cores; `None` where the system's cache cannot be emptied.
    pub cold_read: Option<f64>,
    /// Reading a file that the system has in memory.
    pub cached_read: f64,
    /// The same with all cores, in bytes per second in all.
    pub cached_read_all: f64,
    /// Writing a new file, as far as the system's memory.
    pub write: f64,
    /// Writing a new file and waiting until the disk has it.
    pub write_sync: f64,
    /// What a call costs that reads a few bytes, in nanoseconds.
    pub small_read_ns: f64,
    /// Copying memory that is in use.
    pub copy: f64,
    /// Writing to memory that was not in use before.
    pub fresh_memory: f64,
    /// What our own parsers, writers, decoders and codecs do.
    pub kernels: Vec<Kernel>,
    /// How fast codecs decompress by how small the data packs: dense data takes longer.
    pub unpacking: Vec<Unpacking>,
    /// Writing by the size of the file, from small to large; [`Ceilings::write`] and [`Ceilings::write_sync`] are the
    /// best of these, the smallest apart.
    pub writes: Vec<Written>,
    /// What could not be measured as it should, and why: one sentence each.
    pub notes: Vec<String>,
}

/// How fast a new file of one size is written.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Written {
    /// The size of the file.
    pub bytes: u64,
    /// As far as the system's memory, in bytes per second.
    pub write: f64,
    /// Until the disk has it, in bytes per second.
    pub write_sync: f64,
}

/// How fast one piece of our own is, on one core, from memory to memory.
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

/// How fast a codec of our own decompresses one kind of data, on one core, from memory to memory.
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

/// Other programs may use this share of the cores while they are measured.
const QUIET: f64 = 0.1;

impl Ceilings {
    /// Whether the machine was quiet enough for figures that later jobs are compared with.
    pub fn is_quiet(&self) -> bool {
        self.other_load <= QUIET * self.cores.max(1) as f64
    }

    /// What a chart of reading or of writing draws: names and rates, in bytes per second, as far as they are known.
    pub(super) fn lines(&self, is_output: bool) -> impl Iterator<Item = (&'static str, f64)> {
        let cold_read = self.cold_read.unwrap_or(0.0);
        let all = if is_output {
            [("write", self.write), ("", 0.0)]
        } else {
            [("cold read", cold_read), ("cached read", self.cached_read_all)]
        };
        all.into_iter().filter(|(_, rate)| *rate > 0.0)
    }

    /// The rate of a kernel, if it was measured.
    pub fn kernel(&self, name: &str) -> Option<f64> {
        self.kernels.iter().find(|kernel| kernel.name == name).map(|kernel| kernel.rate)
    }
}
