//! One job: done as its user would, watched from outside meanwhile, and done once more under `strace`.

use super::super::build::output_of;
use super::cause::Look;
use super::jobs::Task;
use super::threads::Threads;
use super::{Row, percent, samples};
use crate::root;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// How often a core is sampled per second.
const SAMPLES: u32 = 999;
/// The interval of sampling threads.
const LOOK: Duration = Duration::from_millis(4);
/// A job that takes longer is ended.
const LONGEST: Duration = Duration::from_secs(120);
/// Other programs that want the cores of a job, for each core.
const CROWD: usize = 2;
/// How many causes and calls are listed.
const TOLD: usize = 3;
/// The sector size in `/proc/diskstats`.
const SECTOR_BYTES: u64 = 512;

/// The available means of observation.
pub(super) struct Eyes {
    /// Where samples go.
    folder: PathBuf,
    perf: bool,
    strace: bool,
}

impl Eyes {
    pub(super) fn of_this_machine(folder: &Path) -> Eyes {
        let can = |words: &[&str]| root::succeeds(Command::new(words[0]).args(&words[1..]));
        let data = folder.join("perf.data");
        let data = data.to_string_lossy();
        Eyes {
            folder: folder.into(),
            perf: can(&["perf", "record", "-q", "-e", "cpu-clock", "-g", "-o", &data, "--", "true"]),
            strace: can(&["strace", "-f", "-c", "-w", "true"]),
        }
    }
}

/// The output of one run of a job, and its observations.
#[derive(Default)]
struct Run {
    text: String,
    look: Look,
}

/// Does the job and judges it.
pub(super) fn row(task: &Task, eyes: &Eyes, prefix: &[OsString]) -> Result<Row, String> {
    // A program that should wait for others gets no priority.
    let prefix = if task.job.crowded { &[] } else { prefix };
    let run = watched(task, &task.words, eyes, prefix)?;
    let said = text_of(&run.text, "bound").ok_or("no verdict")?;
    let share = text_of(&run.text, "share").and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let mut row = Row { title: task.job.title.clone(), made: task.job.made.clone(), said, share, ..Row::default() };
    if !eyes.perf || !eyes.strace {
        row.evidence = "perf or strace is not here, or not allowed".into();
        return Ok(row);
    }
    let mut look = run.look;
    if let Some(words) = &task.unlimited {
        let other = watched(task, words, eyes, prefix)?;
        look.unlimited = Some((other.look.workers(), look.seconds() / other.look.seconds()));
    }
    row.seen = look.causes();
    row.evidence = format!("{}; {}", evidence(&look), traced(task, eyes, prefix)?);
    Ok(row)
}

/// Runs the job with `perf` and all other observers.
fn watched(task: &Task, words: &[OsString], eyes: &Eyes, prefix: &[OsString]) -> Result<Run, String> {
    prepare(task).map_err(|error| error.to_string())?;
    let data = eyes.folder.join("perf.data");
    let mut all = prefix.to_vec();
    if eyes.perf {
        let rate = SAMPLES.to_string();
        all.extend(["perf", "record", "-q", "-g", "-e", "cpu-clock", "-F", &rate, "-o"].map(OsString::from));
        all.extend([data.clone().into(), "--".into()]);
    }
    all.extend(words.iter().cloned());
    let _crowd = Crowd::of(if task.job.crowded { CROWD * cores() } else { 0 }).map_err(|error| error.to_string())?;
    let disk = disk_bytes();
    let mut calls = Threads::default();
    let text = ended(start(&all, task.to_nowhere)?, |child| {
        let process = if eyes.perf { only_child(child) } else { Some(child) };
        // It may have ended, or not have begun.
        process.into_iter().for_each(|process| _ = calls.look(process));
    })?;
    calls.note_lock(text_of(&text, "lock").and_then(|text| text.parse().ok()).unwrap_or(0));
    let mut script = Command::new("perf");
    script.args(["script", "--no-inline", "-F", "tid,time,ip,sym", "-i"]).arg(&data);
    let look = Look {
        threads: task.job.threads,
        cores: cores(),
        samples: samples::parse(&output_of(&mut script).unwrap_or_default()),
        period: 1.0 / f64::from(SAMPLES),
        calls,
        disk_bytes: disk_bytes().saturating_sub(disk),
        is_slow_write: words.iter().any(|word| word == "--write-rate"),
        unlimited: None,
    };
    Ok(Run { text, look })
}

/// The calls that took most time, as `strace` has them.
fn traced(task: &Task, eyes: &Eyes, prefix: &[OsString]) -> Result<String, String> {
    prepare(task).map_err(|error| error.to_string())?;
    let table = eyes.folder.join("strace.txt");
    let mut all = prefix.to_vec();
    all.extend(["strace", "-f", "-c", "-w", "-o"].map(OsString::from));
    all.push(table.clone().into());
    all.extend(task.words.iter().cloned());
    ended(start(&all, task.to_nowhere)?, |_| ())?;
    let table = fs::read_to_string(table).map_err(|error| error.to_string())?;
    let calls: Vec<String> = calls(&table).take(TOLD).collect();
    Ok(format!("strace: {}", calls.join(", ")))
}

/// `pread64 0.31 s (1145)` for each line of a table, whose columns are the share, the seconds, the microseconds of each
/// call, the calls, the errors (if any), and the name.
fn calls(table: &str) -> impl Iterator<Item = String> {
    table.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (&seconds, &count, &name) = (words.get(1)?, words.get(3)?, words.last()?);
        let seconds = seconds.parse::<f64>().ok().filter(|_| name != "total")?;
        Some(format!("{name} {seconds:.2} s ({count})"))
    })
}

/// The evidence in words.
fn evidence(look: &Look) -> String {
    let causes = look.causes();
    let named = causes.iter().take(TOLD).map(|(name, share)| format!("{name} {}", percent(*share)));
    let [at_work, faults] = [look.share_of(|_| true), look.share_of(|sample| sample.is_fault)].map(percent);
    let mut text = format!(
        "{}; cores at work {at_work}, for fresh memory {faults}; {} threads at work; {} reads of {:.0} bytes; disk {:.0} MB",
        named.collect::<Vec<_>>().join(", "),
        look.workers(),
        look.calls.read[1],
        look.mean_read(),
        look.disk_bytes as f64 / 1e6
    );
    if let Some((workers, faster)) = look.unlimited {
        text.push_str(&format!("; without the limit {workers} threads at work, and {faster:.2} times as fast"));
    }
    text
}

/// Puts the files in place.
fn prepare(task: &Task) -> io::Result<()> {
    for input in &task.inputs {
        if task.job.on_disk {
            forget(input)?;
        } else {
            io::copy(&mut fs::File::open(input)?, &mut io::sink())?;
        }
    }
    match task.output.as_ref().map(fs::remove_file) {
        Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Drops a file from the page cache: `dd` asks the system to.
fn forget(path: &Path) -> io::Result<()> {
    let mut input = OsString::from("if=");
    input.push(path);
    let dropped = root::succeeds(Command::new("dd").arg(input).args(["iflag=nocache", "count=0", "status=none"]));
    if dropped { Ok(()) } else { Err(io::Error::other("dd could not drop a file from the page cache")) }
}

/// Starts a program; its output is discarded, or otherwise its errors.
fn start(words: &[OsString], to_nowhere: bool) -> Result<Child, String> {
    let mut command = Command::new(&words[0]);
    match command.args(&words[1..]) {
        command if to_nowhere => command.stdout(Stdio::null()).stderr(Stdio::piped()),
        command => command.stdout(Stdio::piped()).stderr(Stdio::null()),
    };
    command.spawn().map_err(|error| format!("{}: {error}", words[0].display()))
}

/// The output of a process that succeeded; `look` is called with its id until it ends. The output is read afterwards:
/// it is a line, which fits into the pipe.
fn ended(mut child: Child, mut look: impl FnMut(u32)) -> Result<String, String> {
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        if start.elapsed() > LONGEST {
            let _ = child.kill().and_then(|()| child.wait());
            return Err("took too long".into());
        }
        look(child.id());
        thread::sleep(LOOK);
    };
    let mut text = String::new();
    let said = (child.stdout.take(), child.stderr.take());
    let read = match said {
        (Some(mut output), _) => output.read_to_string(&mut text),
        (None, Some(mut errors)) => errors.read_to_string(&mut text),
        (None, None) => Ok(0),
    };
    if status.success() && read.is_ok() { Ok(text) } else { Err(format!("ended with {status}")) }
}

/// The one child of a process, if it has one.
fn only_child(process: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

/// Bytes that all disks were read so far.
fn disk_bytes() -> u64 {
    let text = fs::read_to_string("/proc/diskstats").unwrap_or_default();
    // Partitions and layered devices would count the bytes twice.
    let is_disk = |name: &str| Path::new("/sys/block").join(name).join("device").exists();
    let sectors = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.get(5)?.parse::<u64>().ok().filter(|_| is_disk(words[2]))
    });
    sectors.sum::<u64>() * SECTOR_BYTES
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The value of a key in JSON; the first one with that name.
fn text_of(json: &str, key: &str) -> Option<String> {
    let (_, rest) = json.split_once(&format!("\"{key}\":"))?;
    let end = rest.find([',', '}']).unwrap_or(rest.len());
    Some(rest[..end].trim().trim_matches('"').to_owned())
}

/// Other programs, which want cores until this is dropped.
struct Crowd(Vec<Child>);

impl Crowd {
    fn of(count: usize) -> io::Result<Crowd> {
        let mut crowd = Crowd(Vec::new());
        for _ in 0..count {
            crowd.0.push(Command::new("sh").args(["-c", "while :; do :; done"]).spawn()?);
        }
        Ok(crowd)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|child| _ = child.kill().and_then(|()| child.wait()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_in_json() {
        let json = "{\"verdict\": {\"bound\":\"small-reads\",\"share\": 0.5}, \"lock\": 12}";
        assert_eq!(["bound", "share", "lock"].map(|key| text_of(json, key).unwrap()), ["small-reads", "0.5", "12"]);
        assert_eq!(text_of(json, "seen"), None);
    }

    #[test]
    fn tables_of_calls_are_read() {
        let table = "% time     seconds  usecs/call     calls    errors syscall\n\
                     ------ ----------- ----------- --------- --------- ----------------\n \
                     72.61    0.316587         586      1145           pread64\n \
                     1.61    0.000587         586         1        12 openat\n\
                     ------ ----------- ----------- --------- --------- ----------------\n\
                     100.00    0.400000                  1146         12 total\n";
        assert_eq!(calls(table).collect::<Vec<_>>(), ["pread64 0.32 s (1145)", "openat 0.00 s (1)"]);
    }
}
