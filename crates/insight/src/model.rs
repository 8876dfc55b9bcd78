//! Estimates load times from a machine's ceilings: a pure function of sizes.
//!
//! Within a stage of a job everything overlaps, so a stage takes as long as its slowest resource: the disk, all cores,
//! or the single core of a serial decoder. Stages are sequential. The best possible time of a verdict
//! (`verdict/best.rs`) uses these costs.

use crate::ceilings::Ceilings;
use crate::moved::Moved;
use polyhaul_bytes::Codec;
use polyhaul_trace::{Phase, Recording};

/// Minimum cost of a stage by resource, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cost {
    /// Disk or page cache.
    pub(super) disk: f64,
    /// Parallel work, in seconds of one core.
    pub(super) cores: f64,
    /// Serial work, in seconds of one core.
    pub(super) serial: f64,
}

impl Cost {
    /// Duration of the stage with a combined throughput of `speed` cores.
    pub(super) fn at(self, speed: f64) -> f64 {
        self.disk.max(self.serial).max((self.cores + self.serial) / speed)
    }
}

/// Minimum time of reading by kind of work, in seconds of one core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// Copying from the page cache.
    pub(super) copy: f64,
    pub(super) parse: f64,
    /// Parsing that cannot be parallelized.
    pub(super) lone_parse: f64,
    pub(super) unpack: f64,
    /// Decompressing single streams.
    pub(super) streams: f64,
}

impl Reading {
    /// Sum over all inputs, or `None` if a rate is unknown.
    pub(super) fn from_moved<'a>(list: impl IntoIterator<Item = &'a Moved>, ceilings: &Ceilings) -> Option<Reading> {
        let mut sum = Reading::default();
        list.into_iter().try_for_each(|moved| sum.add(moved, ceilings))?;
        Some(sum)
    }

    fn add(&mut self, moved: &Moved, ceilings: &Ceilings) -> Option<()> {
        let (kernel, is_lone) = reader(moved.format?)?;
        let parse = kernel_seconds(ceilings, moved.plain_bytes, kernel)?;
        self.parse += parse;
        self.lone_parse += if is_lone { parse } else { 0.0 };
        if let Some(codec) = moved.codec {
            let unpack = unpacking_seconds(ceilings, codec, [moved.bytes, moved.plain_bytes])?;
            self.unpack += unpack;
            self.streams += unpack * moved.stream_bytes as f64 / moved.plain_bytes.max(1) as f64;
        }
        self.copy += over(moved.bytes, ceilings.cached_read)?;
        Some(())
    }

    /// Cost with `lone_unpack` seconds of serial decompression and `disk` seconds of disk time.
    pub(super) fn cost(self, lone_unpack: f64, disk: f64) -> Cost {
        let serial = self.lone_parse + lone_unpack;
        Cost { disk, cores: self.parse + self.unpack + self.copy - serial, serial }
    }
}

/// Estimates the time to load everything in `list`, in seconds, with `threads` threads, from a device with read-ahead
/// that reads `rate` bytes per second; `None` means the page cache. Files of one format are read concurrently, formats
/// sequentially. Returns `None` if the ceilings lack a format or codec.
///
/// ```
/// use polyhaul_insight::measure::kept;
/// use polyhaul_insight::{Moved, load_seconds};
///
/// let text = [Moved::new("obj", 1 << 30)];
/// // Where `polyhaul limits` was run before.
/// if let Some(ceilings) = kept(std::path::Path::new(".")) {
///     let [slow, fast] = [Some(1e6), None].map(|rate| load_seconds(&text, 2, rate, &ceilings));
///     assert!(slow > fast && fast > Some(0.0));
/// }
/// ```
pub fn load_seconds(list: &[Moved], threads: usize, rate: Option<f64>, ceilings: &Ceilings) -> Option<f64> {
    let mut formats: Vec<_> = list.iter().map(|moved| moved.format).collect();
    formats.sort_unstable();
    formats.dedup();
    let each = formats.into_iter().map(|format| {
        let same = list.iter().filter(|moved| moved.format == format);
        let bytes = same.clone().map(|moved| moved.bytes).sum();
        let reading = Reading::from_moved(same, ceilings)?;
        let disk = rate.map_or(Some(0.0), |rate| over(bytes, rate))?;
        Some(reading.cost(reading.streams, disk).at(speed(ceilings, threads)))
    });
    each.sum()
}

/// Phases in which readers work, excluding I/O, waits and decompression.
const READING: [Phase; 8] =
    [Phase::Cut, Phase::Parse, Phase::Place, Phase::Build, Phase::Decode, Phase::Transform, Phase::Draw, Phase::Other];

impl Ceilings {
    /// Returns the ceilings with the rates of readers calibrated to a recorded load of `list`: a byte of text may take
    /// more or less work than in the measured text (instances, long names, short numbers). Disk, memory and codec rates
    /// stay the same; so do all rates if the ceilings lack a format or no reading was recorded.
    pub fn as_loaded(&self, list: &[Moved], seen: &Recording) -> Ceilings {
        let totals = seen.totals();
        let seconds = READING.iter().map(|&phase| totals.total(phase)).sum::<u64>() as f64 / 1e9;
        let faster = Reading::from_moved(list, self).map_or(1.0, |reading| reading.parse / seconds);
        let is_reader =
            |name: &str| list.iter().filter_map(|moved| reader(moved.format?)).any(|(reader, _)| reader == name);
        let mut ceilings = self.clone();
        if faster.is_normal() {
            let readers = ceilings.kernels.iter_mut().filter(|kernel| is_reader(&kernel.name));
            readers.for_each(|kernel| kernel.rate *= faster);
        }
        ceilings
    }
}

/// Combined throughput of `threads` threads, in cores.
pub(super) fn speed(ceilings: &Ceilings, threads: usize) -> f64 {
    let cores = ceilings.cores.max(1);
    let best = ceilings.cores_side_by_side.max(1.0);
    match cores {
        _ if threads >= cores => best,
        _ => 1.0 + (best - 1.0) * (threads.max(1) - 1) as f64 / (cores - 1) as f64,
    }
}

/// Seconds for one core to decompress `bytes` into `plain_bytes`.
///
/// The time per uncompressed byte grows linearly with the compressed size per uncompressed byte: a line through the two
/// kinds of data measured, but at least half the time of the faster kind. With only one kind measured, its rate applies
/// to all data.
pub(super) fn unpacking_seconds(ceilings: &Ceilings, codec: Codec, [bytes, plain_bytes]: [u64; 2]) -> Option<f64> {
    let name = codec.to_string();
    let mut measured = ceilings.unpacking.iter().filter(|unpacking| unpacking.codec == name && unpacking.rate > 0.0);
    let Some((first, second)) = measured.next().zip(measured.next()) else {
        return kernel_seconds(ceilings, plain_bytes, &format!("decompress {codec}"));
    };
    let share = bytes as f64 / plain_bytes.max(1) as f64;
    let slope = (1.0 / second.rate - 1.0 / first.rate) / (second.share - first.share);
    let each = 1.0 / first.rate + if slope.is_finite() { slope * (share - first.share) } else { 0.0 };
    Some(plain_bytes as f64 * each.max(0.5 / first.rate.max(second.rate)))
}

/// Seconds of a kernel on one core.
pub(super) fn kernel_seconds(ceilings: &Ceilings, bytes: u64, kernel: &str) -> Option<f64> {
    over(bytes, ceilings.kernel(kernel)?)
}

/// Seconds to process `bytes` at `rate`, or `None` if the rate is unknown.
pub(super) fn over(bytes: u64, rate: f64) -> Option<f64> {
    (rate > 0.0).then(|| bytes as f64 / rate)
}

/// The kernel that reads a format, and whether it is single-threaded.
pub(super) fn reader(format: &str) -> Option<(&'static str, bool)> {
    Some(match format {
        // Material libraries are small, and consist of words and numbers like OBJ.
        "obj" | "mtl" => ("parse obj", false),
        "ply" => ("parse ply", false),
        "stl" => ("parse stl", false),
        "pbrt" => ("parse pbrt", false),
        "csv" | "tsv" | "txt" | "xyz" | "pts" => ("parse table", false),
        "tga" => ("decode tga", false),
        "hdr" => ("decode hdr", false),
        "png" => ("decode png", true),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceilings::{Kernel, Unpacking};

    /// Two cores; parsing runs at 1 GB/s; gzip takes 1 ns per byte at ratio 0.2, and 2 ns at 0.6.
    fn ceilings() -> Ceilings {
        let kernel = |name: &str, rate| Kernel { name: name.into(), rate };
        let unpacking = |share, rate| Unpacking { codec: "gzip".into(), share, rate };
        Ceilings {
            cores: 2,
            cores_side_by_side: 2.0,
            cached_read: 1e12,
            kernels: vec![kernel("parse obj", 1e9), kernel("parse ply", 2e9), kernel("decompress zstd", 5e8)],
            unpacking: vec![unpacking(0.2, 1e9), unpacking(0.6, 0.5e9)],
            ..Ceilings::default()
        }
    }

    const SIZE: u64 = 1_000_000_000;

    fn seconds(list: &[Moved], threads: usize, rate: Option<f64>) -> f64 {
        load_seconds(list, threads, rate, &ceilings()).unwrap()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 0.01
    }

    #[test]
    fn the_slowest_resource_decides() {
        let plain = [Moved::new("obj", SIZE)];
        assert!(close(seconds(&plain, 1, None), 1.0) && close(seconds(&plain, 2, None), 0.5));
        assert!(close(seconds(&plain, 2, Some(1e9)), 1.0) && close(seconds(&plain, 1, Some(1e8)), 10.0));
        let packed = [Moved::new("obj", SIZE / 5).compressed(Codec::Gzip, SIZE)];
        assert!(close(seconds(&packed, 1, None), 2.0) && close(seconds(&packed, 2, None), 1.0));
        assert!(close(seconds(&packed, 2, Some(5e7)), 4.0));
        // One thread decompresses while the other parses, which takes the same time.
        let stream = [Moved::new("obj", SIZE * 3 / 5).streamed(Codec::Gzip, SIZE)];
        assert!(close(seconds(&stream, 2, None), 2.0) && close(seconds(&stream, 1, None), 3.0));
    }

    #[test]
    fn formats_follow_each_other_and_codecs_of_one_go_together() {
        let text = Moved::new("obj", SIZE);
        // 1 s of disk time each, which overlaps with 0.5 s of parsing.
        assert!(close(seconds(&[text.clone(), Moved::new("ply", SIZE)], 2, Some(1e9)), 2.0));
        let packed = Moved::new("obj", SIZE / 5).compressed(Codec::Gzip, SIZE);
        assert!(close(seconds(&[text, packed], 2, Some(1e9)), 1.5));
    }

    #[test]
    fn dense_data_takes_longer() {
        let at = |bytes| unpacking_seconds(&ceilings(), Codec::Gzip, [bytes, 1_000_000_000]).unwrap();
        assert!(close(at(200_000_000), 1.0) && close(at(600_000_000), 2.0) && close(at(400_000_000), 1.5));
        // Extrapolates beyond the measurements, but never to zero.
        assert!(close(at(800_000_000), 2.5) && close(at(1000), 0.5));
        // Older measurements have a single rate.
        assert!(close(unpacking_seconds(&ceilings(), Codec::Zstd, [1, 1_000_000_000]).unwrap(), 2.0));
        assert_eq!(unpacking_seconds(&ceilings(), Codec::Lz4, [1, 1]), None);
    }

    #[test]
    fn a_load_tells_what_its_text_takes() {
        use polyhaul_trace::{self as trace, Detail, Trace};
        let parsed = |ms| {
            let trace = Trace::new(Detail::Totals);
            trace::within(Some(&trace), 1, || {
                let _span = trace::span(Phase::Parse);
                std::thread::sleep(std::time::Duration::from_millis(ms));
            });
            trace.recording()
        };
        // 10 MB at 1 GB/s take 10 ms; it took 40 ms or slightly more.
        let text = [Moved::new("obj", SIZE / 100)];
        let slower = ceilings().as_loaded(&text, &parsed(40));
        let rate = slower.kernel("parse obj").unwrap();
        assert!(rate > 0.0 && rate < 0.26e9, "{rate}");
        let seconds = load_seconds(&text, 1, None, &slower).unwrap();
        assert!(seconds > 0.039 && seconds < 100.0, "{seconds}");
        // Readers of other formats and codecs are unchanged; so is everything if nothing was read or the format is
        // unknown.
        assert_eq!((slower.kernel("parse ply"), &slower.unpacking), (Some(2e9), &ceilings().unpacking));
        let other = [Moved::new("exr", SIZE)];
        for (list, seen) in [(&text[..0], parsed(1)), (&other, parsed(1)), (&text, Recording::default())] {
            assert_eq!(ceilings().as_loaded(list, &seen).kernels, ceilings().kernels, "{list:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_predicted() {
        assert_eq!(load_seconds(&[Moved::new("exr", 1)], 1, None, &ceilings()), None);
        assert_eq!(load_seconds(&[Moved::new("obj", 1)], 1, None, &Ceilings::default()), None);
        assert_eq!(load_seconds(&[], 1, None, &ceilings()), Some(0.0));
    }
}
