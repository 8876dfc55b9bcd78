//! Formats the report of `polyhaul watch` as text.

use crate::human;
use crate::watch::best::BestTime;
use crate::watch::{slow, verdict};
use polyhaul::report::Ceilings;
use polyhaul_watch::files::NameCalls;
use polyhaul_watch::report::{Allocated, AllocatedStack, Locked, Moved, Row, Size, Stack, Sum, Watched};
use polyhaul_watch::trace::Recorder;
use std::fmt::Write;

/// Maximum number of frames to show per stack.
const MAX_FRAMES: usize = 8;

/// Maximum number of stacks to show per file.
const MAX_STACKS: usize = 3;

/// Minimum share of the time in all files for showing the stacks of a file.
const TOLD_SHARE: f64 = 0.05;

/// Calls on names and folders are shown if they take this part of the run.
const NAMED_SHARE: f64 = 0.02;

/// Maximum number of characters to show of the command.
const MAX_LETTERS: usize = 72;

/// Formats the report.
pub fn text(watched: &Watched, ceilings: Option<&Ceilings>) -> String {
    let mut text = slow::sentence(watched).map_or_else(String::new, |sentence| sentence + "\n");
    text.push_str(&verdict::sentence(&watched.verdict, ceilings));
    text.push('\n');
    text.push_str(&head(watched, ceilings));
    let used: Vec<_> = watched.files.iter().filter(|row| row.is_used()).collect();
    if !used.is_empty() {
        text.push_str("\nfiles, slowest first\n");
    }
    let more = watched.file_count.saturating_sub(used.len() as u64 + watched.system_files);
    for row in used {
        text.push_str(&file(row));
        if row.seconds >= TOLD_SHARE * watched.total.seconds {
            text.push_str(&stacks(&row.stacks));
        }
    }
    if more > 0 {
        let _ = writeln!(text, "  and {}", human::plural(more, "more file"));
    }
    if watched.system_files > 0 {
        let files = human::plural(watched.system_files, "system file");
        let _ = writeln!(text, "  and {files}, {} in total", human::seconds(watched.system_seconds));
    }
    text.push_str(&others(watched));
    if let Some(locks) = watched.locks.as_ref().filter(|locks| locks.waits > 0 || locks.seconds > 0.0) {
        text.push_str(&waits(locks));
    }
    text + &allocations(&watched.allocations)
}

/// Large allocations, and who makes them.
fn allocations(allocated: &Allocated) -> String {
    if allocated.calls == 0 {
        return String::new();
    }
    let calls = human::plural(allocated.calls, "allocation");
    let mut text = format!("\nmemory: {calls} of at least 1 MiB, {} in total\n", human::bytes(allocated.bytes));
    for AllocatedStack { calls, bytes, frames } in allocated.stacks.iter().take(MAX_STACKS) {
        let calls = human::plural(*calls, "allocation");
        let _ = writeln!(text, "    {calls}, {}, from", human::bytes(*bytes));
        text.push_str(&lines(&frames[..frames.len().min(MAX_FRAMES)]));
    }
    text
}

/// Frames, one per line.
fn lines(frames: &[String]) -> String {
    frames.iter().map(|frame| format!("      {}\n", human::safe(frame))).collect()
}

fn head(watched: &Watched, ceilings: Option<&Ceilings>) -> String {
    let program = watched.program.iter().map(|part| human::safe(part)).collect::<Vec<_>>().join(" ");
    let shown: String = program.chars().take(MAX_LETTERS).collect();
    let cut = if shown.len() < program.len() { "..." } else { "" };
    let end = match (watched.exit_code, watched.signal) {
        (_, Some(signal)) => format!("killed by signal {signal}"),
        (code, _) => format!("exit code {}", code.unwrap_or(0)),
    };
    let mut text = format!(
        "watched {shown}{cut}: {}, {end}, {}, {}\n",
        human::seconds(watched.run_seconds),
        many(watched.processes, "process", "processes"),
        human::plural(watched.threads_seen, "thread"),
    );
    let _ = writeln!(text, "  {}", sum(watched));
    if let Some(best) = BestTime::new(watched, ceilings) {
        let _ = writeln!(text, "  {}", best.sentence(watched.run_seconds));
    }
    text.push_str(&recorder(watched));
    text
}

/// How the program was watched, and what was not.
fn recorder(watched: &Watched) -> String {
    notes(watched).iter().map(|note| format!("  {note}\n")).collect()
}

/// What is not included, and what watching took.
pub(super) fn notes(watched: &Watched) -> Vec<String> {
    let mut notes = Vec::new();
    if watched.recorder == Recorder::Trace {
        let cost = human::seconds(watched.watch_seconds);
        let stops = human::plural(watched.stops, "stop");
        notes.push(format!("watching took about {cost} of the run ({stops}); call times do not include it"));
    }
    let escaped = escaped(watched).into_iter();
    notes.extend(escaped.map(|escaped| format!("not included: {escaped}")));
    if watched.lost > 0 {
        let lost = human::count(watched.lost);
        notes.push(format!("not included: {lost} calls, files or processes, because the recorder's tables were full"));
    }
    if watched.lost_samples > 0 {
        notes.push(format!(
            "not included: {}, because there were too many",
            human::plural(watched.lost_samples, "sample")
        ));
    }
    if watched.held_maps > 0 {
        let maps = human::plural(watched.held_maps, "mapping");
        notes.push(format!("throttled when mapped, not page by page: {maps}"));
    }
    notes
}

/// Programs and calls that the recorder does not see.
pub(super) fn escaped(watched: &Watched) -> Vec<String> {
    let times = |starts| if starts > 1 { format!(" ({} times)", human::count(starts)) } else { String::new() };
    let programs = watched.unrecorded.iter();
    let mut escaped: Vec<_> = programs
        .map(|program| format!("{}{}, which cannot be recorded", human::safe(&program.program), times(program.starts)))
        .collect();
    if watched.missed_sites > 0 {
        let instructions = human::plural(watched.missed_sites, "system call instruction");
        escaped.push(format!("calls from {instructions} that cannot be replaced"));
    }
    if watched.has_queues {
        escaped.push(match watched.queued {
            0 => "I/O through io_uring or aio".to_owned(),
            queued => human::plural(queued, "operation") + " through io_uring",
        });
    }
    escaped
}

fn sum(watched: &Watched) -> String {
    let Sum { reads, bytes_read, writes, bytes_written, syncs, seconds, .. } = &watched.total;
    let mut parts = vec![human::plural(watched.file_count, "file")];
    let moved = |calls, word, bytes| format!("{} ({})", human::plural(calls, word), human::bytes(bytes));
    parts.extend((*reads > 0).then(|| moved(*reads, "read", *bytes_read)));
    parts.extend((*writes > 0).then(|| moved(*writes, "write", *bytes_written)));
    parts.extend((*syncs > 0).then(|| human::plural(*syncs, "sync")));
    parts.extend(
        (watched.disk_faults > 0).then(|| many(watched.disk_faults, "page fault from disk", "page faults from disk")),
    );
    parts.extend(name_calls(watched));
    parts.extend((watched.failed_opens > 0).then(|| human::plural(watched.failed_opens, "failed open")));
    format!("{}; {} in calls", parts.join(", "), human::seconds(*seconds))
}

/// Calls on names and folders, if they take long enough to be of interest.
fn name_calls(watched: &Watched) -> Vec<String> {
    let NameCalls { lookups, changes, listings } = &watched.name_calls;
    let kinds = [(lookups, "lookup"), (changes, "metadata change"), (listings, "folder listing")];
    let long = kinds.into_iter().filter(|(total, _)| total.seconds >= NAMED_SHARE * watched.run_seconds);
    long.map(|(total, word)| format!("{} ({})", human::plural(total.calls, word), human::seconds(total.seconds)))
        .collect()
}

/// The rows of pipes and other streams.
fn others(watched: &Watched) -> String {
    let mut text: String = watched.others.iter().filter(|row| row.is_used()).map(file).collect();
    if watched.further_others > 0 {
        let _ = writeln!(text, "  and {} more", human::count(watched.further_others));
    }
    if text.is_empty() { text } else { format!("\nother descriptors\n{text}") }
}

/// The row of a file: `texture.tga: 393,216 reads of 3 bytes, 9.10 s; 0.01 s if buffered`, with details below.
fn file(row: &Row) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(moved(&row.reads, "read"));
    parts.extend(moved(&row.writes, "write"));
    parts.extend((row.maps > 0).then(|| format!("{} mapped", human::bytes(row.mapped_bytes))));
    parts.extend((row.seeks > 0).then(|| human::plural(row.seeks, "seek")));
    parts.extend((row.syncs > 0).then(|| {
        let syncs = human::plural(row.syncs, "sync");
        format!("{syncs} ({})", human::seconds(row.sync_seconds))
    }));
    parts.extend(row.is_opened_only().then(|| match row.opens {
        1 => "opened".to_owned(),
        opens => format!("opened {} times", human::count(opens)),
    }));
    parts.push(human::seconds(row.seconds));
    let mut text = format!("  {}: {}", human::safe(&row.file), parts.join(", "));
    if row.is_slow() {
        let _ = write!(text, "; {} if buffered", human::seconds(row.buffered_seconds));
    }
    text.push('\n');
    let mut notes = Vec::new();
    notes.extend((row.reads.calls > 0).then(|| format!("{} read", human::bytes(row.reads.bytes))));
    notes.extend((row.writes.calls > 0).then(|| format!("{} written", human::bytes(row.writes.bytes))));
    notes.extend((row.opens > 1 && !row.is_opened_only()).then(|| format!("opened {} times", human::count(row.opens))));
    notes.extend(sizes("reads", &row.reads));
    notes.extend(sizes("writes", &row.writes));
    if !notes.is_empty() {
        let _ = writeln!(text, "    {}", notes.join("; "));
    }
    text
}

/// The calls and their size: `393,216 reads of 3 bytes`, or `None` without calls.
fn moved(moved: &Moved, word: &str) -> Option<String> {
    if moved.calls == 0 {
        return None;
    }
    let calls = human::plural(moved.calls, word);
    let mean = moved.bytes.checked_div(moved.calls - moved.failed).unwrap_or(0);
    Some(match moved.usual_bytes {
        Some(bytes) => format!("{calls} of {}", size(bytes)),
        None if mean > 0 => format!("{calls} of {} on average", size(mean)),
        None => calls,
    })
}

/// The size of a call: `3 bytes`, `4 KiB`, `104.2 kB`.
fn size(bytes: u64) -> String {
    match bytes {
        0..4096 => human::plural(bytes, "byte"),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", human::count(bytes >> 20)),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", human::count(bytes >> 10)),
        _ => human::bytes(bytes),
    }
}

/// The distribution of call sizes, unless all are in one class: `reads by size: 1-15 B: 12, 64-255 B: 3`.
pub(super) fn sizes(word: &str, moved: &Moved) -> Option<String> {
    if moved.sizes.len() < 2 {
        return None;
    }
    let sizes = moved.sizes.iter().map(|size| format!("{}: {}", bucket(size), human::count(size.calls)));
    Some(format!("{word} by size: {}", sizes.collect::<Vec<_>>().join(", ")))
}

fn bucket(size: &Size) -> String {
    let short = |bytes: u64| match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    };
    match size.below {
        Some(1) => "0 B".into(),
        Some(below) if below <= 1024 => format!("{}-{} B", size.from, below - 1),
        Some(below) => format!("{} to {}", short(size.from), short(below)),
        None => format!("{} or more", short(size.from)),
    }
}

/// The first stacks. Stacks that differ only beyond [`MAX_FRAMES`] are merged.
fn stacks(stacks: &[Stack]) -> String {
    let mut merged: Vec<(u64, f64, &[String], bool)> = Vec::new();
    for Stack { calls, seconds, frames } in stacks {
        let shown = &frames[..frames.len().min(MAX_FRAMES)];
        match merged.iter_mut().find(|(_, _, other, _)| *other == shown) {
            Some((all_calls, all_seconds, _, _)) => {
                *all_calls += calls;
                *all_seconds += seconds;
            }
            None => merged.push((*calls, *seconds, shown, frames.len() > shown.len())),
        }
    }
    let mut text = String::new();
    for (calls, seconds, frames, has_more) in merged.into_iter().take(MAX_STACKS) {
        let _ = writeln!(text, "    {}, {}, from", human::plural(calls, "call"), human::seconds(seconds));
        text.push_str(&lines(frames));
        if has_more {
            text.push_str("      and outer frames\n");
        }
        if frames.is_empty() {
            text.push_str("      unknown frames\n");
        }
    }
    text
}

fn waits(locks: &Locked) -> String {
    let count = human::plural(locks.waits, "wait");
    let mut text = format!("\nlocks and other threads: waited {} in {count}\n", human::seconds(locks.seconds));
    for waiting in &locks.threads {
        let _ = writeln!(
            text,
            "  {} ({}): {}, {:.0}% of the run, {}",
            human::safe(&waiting.name),
            waiting.thread,
            human::seconds(waiting.seconds),
            100.0 * waiting.share,
            human::plural(waiting.waits, "wait"),
        );
    }
    text.push_str(&stacks(&locks.stacks));
    text
}

fn many(count: u64, singular: &str, plural: &str) -> String {
    format!("{} {}", human::count(count), if count == 1 { singular } else { plural })
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_watch::cached::Cached;
    use polyhaul_watch::files::{Files, Kind};
    use polyhaul_watch::filter::Call;
    use polyhaul_watch::locks::{Locks, Waits};
    use polyhaul_watch::trace::{End, Seen};

    fn seen() -> Seen {
        let mut files = Files::new(false);
        let texture = files.plain_file("/x/texture.tga").unwrap();
        texture.add(Call::Open, Some(3), 0, 1_000);
        (0..393_216).for_each(|_| texture.add(Call::Read, Some(3), 0, 23_000));
        let scene = files.plain_file("/x/scene\u{1b}.obj").unwrap();
        (0..20).for_each(|_| scene.add(Call::Read, Some(1 << 16), 0, 20_000));
        scene.add(Call::Read, Some(0), 0, 500);
        scene.add(Call::Write, Some(-9), 0, 500);
        scene.add(Call::Map, Some(1 << 40), 8192, 500);
        scene.add(Call::Sync, Some(0), 0, 2_000_000);
        files.plain_file("/x/unused").unwrap().add(Call::Open, Some(4), 0, 10);
        let mut locks = Locks::default();
        locks.keep(7, Waits { name: "worker".into(), thread: 7, count: 40, time_ns: 5_000_000_000 });
        Seen {
            recorder: Recorder::Trace,
            end: End::Signal(9),
            run_ns: 10_000_000_000,
            files,
            locks,
            has_stacks: true,
            processes: 1,
            threads: 2,
            failed_opens: 3,
            has_queues: true,
            stops: 786_500,
            cost_ns: 1_200_000_000,
            ..Seen::default()
        }
    }

    const CACHED: Cached = Cached { bytes_per_second: 1e9, call_ns: 100.0 };

    #[test]
    fn the_report_says_what_is_slow() {
        let watched = Watched::new(vec!["game".into(), "-x".into()], seen(), CACHED, true).limited(2);
        let expected = "\
393,216 reads of 3 bytes of /x/texture.tga: reading 64 KiB at a time would save 9.04 s of 10.00 s
watched game -x: 10.00 s, killed by signal 9, 1 process, 2 threads
  3 files, 393,237 reads (2.5 MB), 1 write (0 B), 1 sync, 3 failed opens; 9.05 s in calls
  watching took about 1.20 s of the run (786,500 stops); call times do not include it
  not included: I/O through io_uring or aio

files, slowest first
  /x/texture.tga: 393,216 reads of 3 bytes, 9.04 s; 1.2 ms if buffered
    1.2 MB read
  /x/scene\u{fffd}.obj: 21 reads of 64 KiB, 1 write, 8.2 kB mapped, 1 sync (2.0 ms), 2.4 ms
    1.3 MB read; 0 B written; reads by size: 0 B: 1, 64 KiB to 256 KiB: 20
  and 1 more file

locks and other threads: waited 5.00 s in 40 waits
  worker (7): 5.00 s, 50% of the run, 40 waits
";
        assert_eq!(text(&watched, None), expected.replace('\u{fffd}', &human::safe("\u{1b}")));
    }

    #[test]
    fn slow_opens_are_told_and_none_is_left_out_without_a_word() {
        let mut seen = seen();
        (0..2).for_each(|_| seen.files.plain_file("/x/far").unwrap().add(Call::Open, Some(5), 0, 40_000_000));
        let watched = Watched::new(Vec::new(), seen, CACHED, false).limited(10);
        let text = text(&watched, None);
        assert!(text.contains("\n  /x/far: opened 2 times, 80.0 ms\n  /x/scene"), "{text}");
        assert!(text.ends_with("\n  and 1 more file\n") && !text.contains("unused"), "{text}");
        assert_eq!(watched.files.last().map(|row| row.file.as_str()), Some("/x/unused"));
    }

    #[test]
    fn further_others_are_counted() {
        let mut seen = seen();
        seen.files = Files::new(true);
        for (name, reads) in [("pipe:[1]", 3), ("pipe:[2]", 2), ("pipe:[3]", 1), ("pipe:[4]", 0)] {
            let pipe = seen.files.file_of_kind(Kind::Pipe, name).unwrap();
            (0..reads).for_each(|_| pipe.add(Call::Read, Some(9), 0, 1_000_000));
        }
        let watched = Watched::new(Vec::new(), seen, CACHED, false).limited(1);
        let text = text(&watched, None);
        assert!(
            text.ends_with(
                "\nother descriptors\n  pipe:[1]: 3 reads of 9 bytes, 3.0 ms\n    27 B read\n  and 2 more\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn programs_that_were_not_recorded_are_named() {
        let unrecorded = vec![("/bin/static".into(), 1), ("./old".into(), 3)];
        let seen = Seen { recorder: Recorder::Preload, unrecorded, lost: 2, ..seen() };
        let text = text(&Watched::new(Vec::new(), seen, CACHED, false).limited(0), None);
        let expected = "  not included: /bin/static, which cannot be recorded\n  \
                        not included: ./old (3 times), which cannot be recorded\n  \
                        not included: I/O through io_uring or aio\n  \
                        not included: 2 calls, files or processes, because the recorder's tables were full\n";
        assert!(text.contains(expected) && !text.contains("watching took"), "{text}");
    }

    #[test]
    fn without_locks_there_is_no_word_of_them() {
        let watched = Watched::new(Vec::new(), seen(), CACHED, false).limited(0);
        assert!(watched.locks.is_none() && watched.files.is_empty() && !text(&watched, None).contains("lock"));
        assert!(text(&watched, None).contains("and 3 more files"));
    }

    #[test]
    fn sizes_read_well() {
        let names = [0, 1, 4095, 4096, 65_536, 3 << 20, 70_001].map(size);
        assert_eq!(names, ["0 bytes", "1 byte", "4,095 bytes", "4 KiB", "64 KiB", "3 MiB", "70.0 kB"]);
        let name = |from, below| bucket(&Size { from, below, calls: 1 });
        assert_eq!([name(0, Some(1)), name(1, Some(16)), name(256, Some(1024))], ["0 B", "1-15 B", "256-1023 B"]);
        assert_eq!([name(1024, Some(4096)), name(1 << 20, None)], ["1 KiB to 4 KiB", "1 MiB or more"]);
    }
}
