//! Words the verdict of `polyhaul watch`: what limited the program, and what would help.
//!
//! `polyhaul_watch::verdict` judges.

use crate::human;
use polyhaul::report::Ceilings;
use polyhaul_watch::verdict::{KernelWork, KernelWorkKind, WatchVerdict};
use std::fmt::Write;

/// A disk that is used at this part of its rate, or more, limits the run.
const BUSY_SHARE: f64 = 0.7;

/// A rate may exceed the measured maximum of the disk by this factor.
const MAX_EXCESS: f64 = 1.2;

/// The first line of the report. `ceilings` are the rates of the disk, if they were measured.
pub fn sentence(verdict: &WatchVerdict, ceilings: Option<&Ceilings>) -> String {
    match verdict {
        WatchVerdict::SmallCalls { file, is_writing, calls, bytes_per_call, saved_seconds, of_seconds, caller } => {
            let word = if *is_writing { "write" } else { "read" };
            let doing = if *is_writing { "writing" } else { "reading" };
            let mut text = human::plural(*calls, word);
            let file = human::safe(file);
            let _ = write!(text, " of {} of {file}: ", human::plural(bytes_per_call.round() as u64, "byte"));
            let saved = human::seconds(*saved_seconds);
            let _ = write!(text, "{doing} 64 KiB at a time would save {saved} of {}", human::seconds(*of_seconds));
            text + &called_from(caller.as_deref())
        }
        WatchVerdict::Lock { waiting_threads, threads, function, share, holder, holding_threads } => {
            let waiting = human::count(*waiting_threads);
            let of = human::plural(*threads, "thread");
            let function = human::function(function);
            let holder = holder.as_ref().map_or_else(String::new, |holder| {
                format!(
                    "; released most often by {} in {}",
                    human::function(holder),
                    human::plural(*holding_threads, "thread")
                )
            });
            format!("{waiting} of {of} wait for a lock in {function}, {} of the time{holder}", percent(*share))
        }
        WatchVerdict::Disk { is_writing, bytes, seconds, share } => {
            let word = if *is_writing { "writing" } else { "reading" };
            let moved = human::bytes(*bytes);
            let rate = *bytes as f64 / seconds;
            let ceiling = ceilings.and_then(|rates| if *is_writing { Some(rates.write_sync) } else { rates.cold_read });
            // Beyond its maximum, the bytes did not all come from the disk.
            let ceiling = ceiling.filter(|ceiling| *ceiling > 0.0 && rate <= MAX_EXCESS * ceiling);
            let [limit, advice] = ceiling.map(|ceiling| disk_advice(rate, ceiling)).unwrap_or_default();
            format!(
                "{} of the time waiting for files: {word} {moved} takes {} ({}/s{limit}){advice}",
                percent(*share),
                human::seconds(*seconds),
                human::bytes(rate as u64),
            )
        }
        WatchVerdict::Syncs { file, syncs, seconds, share } => format!(
            "{} of the time in {}, most of it for {} ({} in total): sync less often, such as once at the end",
            percent(*share),
            human::plural(*syncs, "sync"),
            human::safe(file),
            human::seconds(*seconds)
        ),
        WatchVerdict::Processes { processes, seconds_each, share } => format!(
            "{} of the time in {} short processes, which take {} of CPU time each; fewer processes would help",
            percent(*share),
            human::count(*processes),
            human::seconds(*seconds_each)
        ),
        WatchVerdict::Kernel { share, work, caller } => {
            let work = work.as_ref().map(|work| kernel_work(work, caller.as_deref())).unwrap_or_default();
            format!("{} of the CPU time in the kernel{work}", percent(*share))
        }
        WatchVerdict::Names { work, share } => {
            let [what, advice] = work_and_advice(work);
            format!("{} of the time in {what}, {} in total{advice}", percent(*share), human::seconds(work.seconds))
        }
        WatchVerdict::Asleep { function, caller, share } => {
            let doing = if function.contains("sleep") { "asleep" } else { "waiting" };
            let function = human::function(function);
            format!("{} of the time {doing} in {function}{}", percent(*share), called_from(caller.as_deref()))
        }
        WatchVerdict::Computing { .. } => computing(verdict),
        WatchVerdict::Crowded { share } => {
            format!("{} of the time waiting for a processor: other programs use the processors", percent(*share))
        }
        WatchVerdict::Unclear => "no single cause stands out".into(),
    }
}

/// The maximum of a disk beside its rate, both in bytes per second, and what follows.
fn disk_advice(rate: f64, ceiling: f64) -> [String; 2] {
    let advice = if rate >= BUSY_SHARE * ceiling {
        "; the disk is the limit: smaller or compressed files would help"
    } else {
        "; larger or concurrent calls would be faster"
    };
    [format!("; the disk's maximum is {}/s", human::bytes(ceiling as u64)), advice.into()]
}

/// What the kernel did most, and what would help: `: 20,000 opens take 0.31 s; fewer, larger files would help`.
fn kernel_work(work: &KernelWork, caller: Option<&str>) -> String {
    let [what, advice] = work_and_advice(work);
    let take = if work.count == 1 { "takes" } else { "take" };
    let caller = caller.map_or_else(String::new, |caller| {
        format!("; most large allocations are made in {}: reusing memory would help", human::function(caller))
    });
    format!(": {what} {take} {}{caller}{advice}", human::seconds(work.seconds))
}

/// Work of the kernel, and what would help against it.
fn work_and_advice(work: &KernelWork) -> [String; 2] {
    const NAMES: &str = "; fewer, larger files would help";
    let count = work.count;
    match work.kind {
        KernelWorkKind::Opens => [human::plural(count, "open"), NAMES.into()],
        KernelWorkKind::Reads => [transfers(work, "read"), String::new()],
        KernelWorkKind::Writes => [transfers(work, "write"), String::new()],
        KernelWorkKind::Seeks => [human::plural(count, "seek"), "; reading in order would help".into()],
        KernelWorkKind::Lookups => [human::plural(count, "lookup") + " (such as stat)", NAMES.into()],
        KernelWorkKind::Changes => [human::plural(count, "metadata change"), NAMES.into()],
        KernelWorkKind::Listings => [human::plural(count, "folder listing"), "; fewer folders would help".into()],
        KernelWorkKind::PageFaults => [human::plural(count, "page fault"), String::new()],
    }
}

fn transfers(work: &KernelWork, word: &str) -> String {
    format!("{} ({})", human::plural(work.count, word), human::bytes(work.bytes))
}

fn computing(verdict: &WatchVerdict) -> String {
    let WatchVerdict::Computing { function, caller, share, processors, threads, transfer_seconds } = verdict else {
        return String::new();
    };
    let place = match function {
        Some(function) => format!("{} of the CPU time in {}", percent(*share), human::function(function)),
        None => "computing".into(),
    };
    let cores = match threads {
        1 => "1 thread".into(),
        _ => format!("{processors:.1} cores, with {}", human::plural(*threads, "thread")),
    };
    let caller = called_from(caller.as_deref());
    let transfers = human::seconds(transfer_seconds.max(0.0));
    let advice = if *threads == 1 || *processors < 1.5 { "; use more threads, or reduce this work" } else { "" };
    format!("{place} on {cores}{caller}; reading and writing take {transfers}{advice}")
}

fn called_from(caller: Option<&str>) -> String {
    caller.map_or_else(String::new, |caller| format!("; called from {}", human::function(caller)))
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_name_cause_and_remedy() {
        let small = WatchVerdict::SmallCalls {
            file: "part.tga".into(),
            is_writing: false,
            calls: 400_000,
            bytes_per_call: 3.0,
            saved_seconds: 9.4,
            of_seconds: 9.8,
            caller: Some("load_tga".into()),
        };
        let expected = "400,000 reads of 3 bytes of part.tga: reading 64 KiB at a time would save 9.40 s of 9.80 s; \
                        called from load_tga";
        assert_eq!(sentence(&small, None), expected);
        let lock = |holder: Option<&str>| {
            let lock = WatchVerdict::Lock {
                waiting_threads: 31,
                threads: 32,
                function: "free".into(),
                share: 0.74,
                holder: holder.map(String::from),
                holding_threads: 1,
            };
            sentence(&lock, None)
        };
        let expected = "31 of 32 threads wait for a lock in free, 74% of the time";
        assert_eq!(lock(None), expected);
        assert_eq!(lock(Some("load")), format!("{expected}; released most often by load in 1 thread"));
        let disk = WatchVerdict::Disk { is_writing: false, bytes: 2_000_000_000, seconds: 8.0, share: 0.8 };
        let words = "80% of the time waiting for files: reading 2.0 GB takes 8.00 s (250.0 MB/s";
        let line = |cold_read: f64| {
            let mut ceilings = Ceilings::default();
            ceilings.cold_read = Some(cold_read);
            sentence(&disk, Some(&ceilings))
        };
        let bound = "the disk is the limit: smaller or compressed files would help";
        assert_eq!(line(3e8), format!("{words}; the disk's maximum is 300.0 MB/s); {bound}"));
        let slow = "larger or concurrent calls would be faster";
        assert_eq!(line(2e9), format!("{words}; the disk's maximum is 2.0 GB/s); {slow}"));
        assert_eq!([line(1e8), sentence(&disk, None)], [format!("{words})"), format!("{words})")]);
        assert_eq!(sentence(&WatchVerdict::Unclear, None), "no single cause stands out");
    }

    #[test]
    fn waits_and_work_of_the_kernel_are_named() {
        let syncs = WatchVerdict::Syncs { file: "log".into(), syncs: 300, seconds: 0.08, share: 0.31 };
        let expected = "31% of the time in 300 syncs, most of it for log (80.0 ms in total): sync less often, such as once at \
                        the end";
        assert_eq!(sentence(&syncs, None), expected);
        let asleep = |function: &str| {
            let [function, caller] = [function, "poll_device"].map(String::from);
            sentence(&WatchVerdict::Asleep { function, caller: Some(caller), share: 0.86 }, None)
        };
        assert_eq!(asleep("usleep"), "86% of the time asleep in usleep; called from poll_device");
        assert_eq!(asleep("poll"), "86% of the time waiting in poll; called from poll_device");
        let processes = WatchVerdict::Processes { processes: 1000, seconds_each: 0.002, share: 0.9 };
        let expected = "90% of the time in 1,000 short processes, which take 2.0 ms of CPU time each; fewer processes \
                        would help";
        assert_eq!(sentence(&processes, None), expected);
        let kernel = |work| sentence(&WatchVerdict::Kernel { share: 0.9, work, caller: None }, None);
        assert_eq!(kernel(None), "90% of the CPU time in the kernel");
        let opens = KernelWork { kind: KernelWorkKind::Opens, count: 20_000, bytes: 0, seconds: 0.3 };
        let expected = "90% of the CPU time in the kernel: 20,000 opens take 0.30 s; fewer, larger files would help";
        assert_eq!(kernel(Some(opens)), expected);
        let names = sentence(&WatchVerdict::Names { work: opens, share: 0.4 }, None);
        assert_eq!(names, "40% of the time in 20,000 opens, 0.30 s in total; fewer, larger files would help");
        let reads = KernelWork { kind: KernelWorkKind::Reads, count: 1, bytes: 1_000_000, seconds: 0.3 };
        assert_eq!(kernel(Some(reads)), "90% of the CPU time in the kernel: 1 read (1.0 MB) takes 0.30 s");
    }

    #[test]
    fn computing_names_the_function() {
        let computing = WatchVerdict::Computing {
            function: Some("fprintf".into()),
            caller: Some("export".into()),
            share: 0.83,
            processors: 1.0,
            threads: 32,
            transfer_seconds: 1.5,
        };
        let expected = "83% of the CPU time in fprintf on 1.0 cores, with 32 threads; called from export; \
                        reading and writing take 1.50 s; use more threads, or reduce this work";
        assert_eq!(sentence(&computing, None), expected);
    }
}
