//! The best possible time of a watched program: its work on all cores, or its transfers at the disk's full rate,
//! whichever takes longer.

use crate::human;
use polyhaul::report::Ceilings;
use polyhaul_watch::report::Watched;
use std::thread::available_parallelism;

/// Shorter runs mostly start the program, so they have no best time.
const MIN_SECONDS: f64 = 0.05;

/// A run that takes less than this times the best time is not told how far it is from it.
const WORTH_FACTOR: f64 = 1.05;

/// The best possible time, with what it consists of.
#[derive(Debug, PartialEq)]
pub struct BestTime {
    pub seconds: f64,
    reason: String,
}

impl BestTime {
    /// `None` for short runs. Rates of disks are in `ceilings`, if they were measured.
    pub fn new(watched: &Watched, ceilings: Option<&Ceilings>) -> Option<BestTime> {
        let cores = available_parallelism().map_or(1, |cores| cores.get());
        let work = BestTime {
            seconds: watched.cpu_seconds / cores as f64,
            reason: format!(
                "{} of CPU time on {}",
                human::seconds(watched.cpu_seconds),
                human::plural(cores as u64, "core")
            ),
        };
        let disk = ceilings.and_then(|ceilings| BestTime::of_disk(watched, ceilings));
        let best = [Some(work), disk].into_iter().flatten().max_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let best = best.filter(|best| watched.run_seconds >= MIN_SECONDS && best.seconds > 0.0)?;
        // The disk may be faster than when it was measured, and a quota may be a fraction of a core.
        Some(BestTime { seconds: best.seconds.min(watched.run_seconds), ..best })
    }

    fn of_disk(watched: &Watched, ceilings: &Ceilings) -> Option<BestTime> {
        let moment = watched.timeline.moments.last()?;
        let read = (moment.disk_read_bytes, ceilings.cold_read.unwrap_or(0.0), "read from");
        let written = (moment.disk_written_bytes, ceilings.write_sync, "written to");
        let time = |(bytes, rate, words): (u64, f64, &str)| BestTime {
            seconds: bytes as f64 / rate,
            reason: format!("{} {words} the disk at {}/s", human::bytes(bytes), human::bytes(rate as u64)),
        };
        let times = [read, written].into_iter().filter(|(_, rate, _)| *rate > 0.0).map(time);
        times.max_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }

    /// How far the run is from it: `best possible: 0.38 s (0.76 s of CPU time on 2 cores), 2.8× faster`.
    pub fn sentence(&self, run_seconds: f64) -> String {
        let factor = run_seconds / self.seconds;
        let faster = if factor >= WORTH_FACTOR { format!(", {factor:.1}× faster") } else { String::new() };
        format!("best possible: {} ({}){faster}", human::seconds(self.seconds), self.reason)
    }
}
