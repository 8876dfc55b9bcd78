//! Words the verdict of `polyhaul watch`: what limited the program, and what would help.
//!
//! `polyhaul_watch::verdict` judges.

use crate::human;
use polyhaul::report::Ceilings;
use polyhaul_watch::verdict::WatchVerdict;
use std::fmt::Write;

/// A disk that is used at this part of its rate, or more, limits the run.
const BUSY_SHARE: f64 = 0.7;

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
        WatchVerdict::Lock { waiting_threads, threads, function, share } => {
            let waiting = human::count(*waiting_threads);
            let of = human::plural(*threads, "thread");
            let function = human::safe(function);
            format!("{waiting} of {of} wait for a lock in {function}, {} of the time", percent(*share))
        }
        WatchVerdict::Disk { is_writing, bytes, seconds, share } => {
            let word = if *is_writing { "writing" } else { "reading" };
            let moved = human::bytes(*bytes);
            let rate = *bytes as f64 / seconds;
            let ceiling = ceilings.and_then(|rates| if *is_writing { Some(rates.write_sync) } else { rates.cold_read });
            let advice = ceiling.filter(|ceiling| *ceiling > 0.0).map(|ceiling| disk_advice(rate, ceiling));
            format!(
                "{} of the time waiting for files: {word} {moved} takes {}, {}/s{}",
                percent(*share),
                human::seconds(*seconds),
                human::bytes(rate as u64),
                advice.unwrap_or_default()
            )
        }
        WatchVerdict::Computing { .. } => computing(verdict),
        WatchVerdict::Crowded { share } => {
            format!("{} of the time waiting for a processor: other programs use the processors", percent(*share))
        }
        WatchVerdict::Unclear => "no single cause stands out".into(),
    }
}

/// What follows from the rate of a disk, in bytes per second, and its maximum.
fn disk_advice(rate: f64, ceiling: f64) -> String {
    let remedy = if rate >= BUSY_SHARE * ceiling {
        "bound by the disk; smaller or compressed files would help"
    } else {
        "larger calls, or several at a time, would be faster"
    };
    format!(" of the disk's {}/s: {remedy}", human::bytes(ceiling as u64))
}

fn computing(verdict: &WatchVerdict) -> String {
    let WatchVerdict::Computing { function, caller, share, processors, threads, transfer_seconds } = verdict else {
        return String::new();
    };
    let place = match function {
        Some(function) => format!("{} of the CPU time in {}", percent(*share), human::safe(function)),
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
    caller.map_or_else(String::new, |caller| format!("; called from {}", human::safe(caller)))
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
        let lock = WatchVerdict::Lock { waiting_threads: 31, threads: 32, function: "free".into(), share: 0.74 };
        assert_eq!(sentence(&lock, None), "31 of 32 threads wait for a lock in free, 74% of the time");
        let disk = WatchVerdict::Disk { is_writing: false, bytes: 2_000_000_000, seconds: 8.0, share: 0.8 };
        let expected = "80% of the time waiting for files: reading 2.0 GB takes 8.00 s, 250.0 MB/s";
        assert_eq!(sentence(&disk, None), expected);
        let mut ceilings = Ceilings::default();
        ceilings.cold_read = Some(3e8);
        let bound = " of the disk's 300.0 MB/s: bound by the disk; smaller or compressed files would help";
        assert_eq!(sentence(&disk, Some(&ceilings)), format!("{expected}{bound}"));
        ceilings.cold_read = Some(2e9);
        let slow = " of the disk's 2.0 GB/s: larger calls, or several at a time, would be faster";
        assert_eq!(sentence(&disk, Some(&ceilings)), format!("{expected}{slow}"));
        assert_eq!(sentence(&WatchVerdict::Unclear, None), "no single cause stands out");
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
