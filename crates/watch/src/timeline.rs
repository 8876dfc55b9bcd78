//! What the threads of a program did over time, in intervals of about 10 ms.
//!
//! Plain data with a bounded size: when there are too many intervals, neighbors are merged. `preload::sampler` takes
//! the readings; nothing here reads from the system.

/// Time between two readings at the start. It doubles whenever the timeline is full.
pub const INTERVAL_NS: u64 = 10_000_000;

/// Maximum number of intervals, so that at most 40 s have intervals of 10 ms.
pub const MAX_INTERVALS: usize = 4096;

/// Maximum number of threads with a line.
pub const MAX_LINES: usize = 128;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Runs code outside of the recorded calls.
    Running,
    /// In a call that reads or seeks.
    Reading,
    /// In a call that writes.
    Writing,
    /// In a call that syncs.
    Syncing,
    /// Waits for a lock or another thread.
    Locked,
    /// Could run, but has no processor.
    Runnable,
    /// None of these: in a timer, a terminal, a socket, for a child.
    Asleep,
}

impl Activity {
    /// All activities, in order.
    pub const ALL: [Activity; 7] = [
        Activity::Running,
        Activity::Reading,
        Activity::Writing,
        Activity::Syncing,
        Activity::Locked,
        Activity::Runnable,
        Activity::Asleep,
    ];
}

/// A thread during an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Microseconds by [`Activity`].
    pub us: [u32; Activity::ALL.len()],
    /// Bytes read by calls that ended in this interval.
    pub read_bytes: u64,
    /// Bytes written, likewise.
    pub written_bytes: u64,
}

/// The intervals of a thread.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Process ID.
    pub process: i32,
    /// Thread ID.
    pub thread: i32,
    /// Thread name.
    pub name: String,
    /// Index of the first interval.
    pub first: usize,
    /// Consecutive intervals.
    pub intervals: Vec<Interval>,
}

/// All processes at the end of an interval. Counters are totals since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds since the start of the run.
    pub at_ns: u64,
    /// Nanoseconds on processors.
    pub cpu_ns: u64,
    /// Bytes read from disks.
    pub disk_read_bytes: u64,
    /// Bytes written to disks.
    pub disk_written_bytes: u64,
    /// Resident memory in bytes.
    pub resident_bytes: u64,
    /// Number of threads.
    pub threads: u32,
    /// Number of threads that wait for locks.
    pub locked: u32,
}

/// What a program did over time.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Ends of the intervals. Interval `i` starts at the end of interval `i - 1`.
    pub moments: Vec<Moment>,
    /// Threads, in the order of their first readings.
    pub lines: Vec<Line>,
    /// Number of further threads.
    pub hidden_threads: u64,
    /// Largest resident memory of all processes together, in bytes.
    pub peak_bytes: u64,
}

/// What a thread did since the last reading, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadReading {
    /// Length of the interval.
    pub length_ns: u64,
    /// Time in reads, writes and syncs.
    pub call_ns: [u64; 3],
    /// Part of it in calls that waited.
    pub waited_ns: u64,
    /// Time in waits for locks.
    pub locked_ns: u64,
    /// Time on a processor.
    pub cpu_ns: u64,
    /// Time without a processor, although it could run.
    pub delay_ns: u64,
    /// Bytes read and written.
    pub bytes: [u64; 2],
}

impl Timeline {
    /// Ends an interval. Returns whether intervals were merged, so that they are twice as long from now on.
    pub fn end_interval(&mut self, moment: Moment) -> bool {
        self.peak_bytes = self.peak_bytes.max(moment.resident_bytes);
        self.moments.push(moment);
        let is_full = self.moments.len() >= MAX_INTERVALS;
        if is_full {
            self.halve();
        }
        is_full
    }

    /// Start and end of an interval, in nanoseconds.
    pub fn bounds(&self, index: usize) -> [u64; 2] {
        let end = |index: usize| self.moments.get(index).map_or(0, |moment| moment.at_ns);
        [index.checked_sub(1).map_or(0, end), end(index)]
    }

    /// Merges pairs of intervals.
    fn halve(&mut self) {
        let memory = |pair: &[Moment]| pair.iter().map(|moment| moment.resident_bytes).max().unwrap_or_default();
        let last = |pair: &[Moment]| {
            let moment = *pair.last()?;
            Some(Moment { resident_bytes: memory(pair), ..moment })
        };
        self.moments = self.moments.chunks(2).filter_map(last).collect();
        for line in &mut self.lines {
            let old = std::mem::take(&mut line.intervals);
            let (first, rest) = old.split_at((line.first % 2).min(old.len()));
            line.intervals = first.chunks(2).chain(rest.chunks(2)).map(Interval::sum).collect();
            line.first /= 2;
        }
    }
}

impl Line {
    /// Adds an interval. What a thread ran is counted with a delay of up to a clock tick of the kernel, so time that
    /// does not fit was spent in the interval before.
    pub fn push(&mut self, reading: ThreadReading) {
        let ThreadReading { length_ns, call_ns, waited_ns, locked_ns, cpu_ns, delay_ns, bytes } = reading;
        let mut free_ns = length_ns;
        let mut share = |ns: u64| {
            let shared_ns = ns.min(free_ns);
            free_ns -= shared_ns;
            shared_ns
        };
        let call_ns = call_ns.map(&mut share);
        let locked_ns = share(locked_ns);
        let calls_ns: u64 = call_ns.iter().sum();
        // Calls that do not wait run on a processor.
        let run_ns = cpu_ns.saturating_sub(calls_ns.saturating_sub(waited_ns));
        let late_us = micros(cpu_ns.saturating_sub(length_ns));
        if let Some(before) = self.intervals.last_mut() {
            let asleep = &mut before.us[Activity::Asleep as usize];
            let moved_us = late_us.min(*asleep);
            *asleep -= moved_us;
            before.us[Activity::Running as usize] += moved_us;
        }
        let run_ns = run_ns.min(free_ns);
        let delay_ns = delay_ns.min(free_ns - run_ns);
        let [read_ns, write_ns, sync_ns] = call_ns;
        let asleep_ns = free_ns - run_ns - delay_ns;
        let us = [run_ns, read_ns, write_ns, sync_ns, locked_ns, delay_ns, asleep_ns].map(micros);
        self.intervals.push(Interval { us, read_bytes: bytes[0], written_bytes: bytes[1] });
    }
}

impl Interval {
    fn sum(intervals: &[Interval]) -> Interval {
        intervals.iter().fold(Interval::default(), |sum, interval| {
            let mut us = sum.us;
            us.iter_mut().zip(interval.us).for_each(|(sum, us)| *sum = sum.saturating_add(us));
            Interval {
                us,
                read_bytes: sum.read_bytes + interval.read_bytes,
                written_bytes: sum.written_bytes + interval.written_bytes,
            }
        })
    }
}

fn micros(ns: u64) -> u32 {
    u32::try_from(ns / 1000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn moment(index: usize) -> Moment {
        Moment { at_ns: (index as u64 + 1) * INTERVAL_NS, resident_bytes: index as u64, ..Moment::default() }
    }

    #[test]
    fn full_timelines_keep_all_time() {
        let lines = vec![Line::default(), Line { first: 3, ..Line::default() }];
        let mut timeline = Timeline { lines, ..Timeline::default() };
        let reading = ThreadReading { length_ns: 10 * MS, cpu_ns: 4 * MS, bytes: [7, 1], ..ThreadReading::default() };
        for index in 0..MAX_INTERVALS {
            let lines = timeline.lines.iter_mut().filter(|line| index >= line.first);
            lines.for_each(|line| line.push(reading));
            assert_eq!(timeline.end_interval(moment(index)), index + 1 == MAX_INTERVALS);
        }
        assert_eq!(timeline.moments.len(), MAX_INTERVALS / 2);
        assert_eq!(timeline.bounds(0), [0, 2 * INTERVAL_NS]);
        assert_eq!(timeline.moments[1].resident_bytes, 3);
        assert_eq!(timeline.peak_bytes, MAX_INTERVALS as u64 - 1);
        for (line, [first, count]) in timeline.lines.iter().zip([[0, MAX_INTERVALS], [1, MAX_INTERVALS - 3]]) {
            assert_eq!((line.first, line.first + line.intervals.len()), (first, MAX_INTERVALS / 2));
            let sum = Interval::sum(&line.intervals);
            assert_eq!(sum.us[Activity::Running as usize] as usize, 4000 * count);
            assert_eq!((sum.read_bytes, sum.written_bytes), (7 * count as u64, count as u64));
        }
    }

    #[test]
    fn each_interval_is_filled_and_late_time_goes_back() {
        let mut line = Line::default();
        let base = ThreadReading { length_ns: 10 * MS, ..ThreadReading::default() };
        line.push(ThreadReading { cpu_ns: 6 * MS, delay_ns: MS, ..base });
        assert_eq!(line.intervals[0].us, [6000, 0, 0, 0, 0, 1000, 3000]);
        line.push(ThreadReading { cpu_ns: 12 * MS, ..base });
        assert_eq!(line.intervals[0].us, [8000, 0, 0, 0, 0, 1000, 1000]);
        assert_eq!(line.intervals[1].us, [10_000, 0, 0, 0, 0, 0, 0]);
        // 3 of 5 ms in calls waited, so 2 of 4 ms on a processor were in calls.
        let call_ns = [4 * MS, MS, 0];
        line.push(ThreadReading { call_ns, waited_ns: 3 * MS, locked_ns: 2 * MS, cpu_ns: 4 * MS, ..base });
        assert_eq!(line.intervals[2].us, [2000, 4000, 1000, 0, 2000, 0, 1000]);
    }
}
