//! The calls of threads without a core, as reported by the system, sampled repeatedly.

use std::path::Path;
use std::{fs, io};

/// The call of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Read,
    Write,
    Sleep,
    /// The lock of the host's.
    Lock,
}

/// The numbers of calls on x86-64 and on AArch64.
const NUMBERS: [(Call, [&[u64]; 2]); 3] = [
    (Call::Read, [&[0, 17, 19], &[63, 67, 65]]),
    (Call::Write, [&[1, 18, 20, 74, 75, 277], &[64, 68, 66, 82, 83, 84]]),
    (Call::Sleep, [&[35, 230], &[101, 115]]),
];
const FUTEX: [u64; 2] = [202, 98];
/// Which of the two numbers is this machine's.
const HERE: usize = cfg!(target_arch = "aarch64") as usize;
/// The possible size of a lock: its word is somewhere in it.
const LOCK_BYTES: u64 = 64;

/// How often threads were seen in each call, and what the system counted of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Threads {
    looks: u64,
    calls: [u64; 4],
    /// The words that threads waited for, and how often.
    words: Vec<(u64, u64)>,
    /// Bytes and calls of reading.
    pub(super) read: [u64; 2],
    /// How long threads were ready without a core, in seconds, by thread.
    ready: Vec<(u32, f64)>,
}

impl Threads {
    /// Samples all threads of a process. Those that have ended are missing.
    pub(super) fn look(&mut self, process: u32) -> io::Result<()> {
        let folder = Path::new("/proc").join(process.to_string());
        let tasks = fs::read_dir(folder.join("task"))?;
        self.looks += 1;
        for task in tasks.filter_map(|entry| Some(entry.ok()?.path())) {
            if let Ok(text) = fs::read_to_string(task.join("syscall")) {
                self.add(&text);
            }
            let id = task.file_name().and_then(|name| name.to_str()?.parse().ok()).unwrap_or(0);
            if let Some(seconds) = fs::read_to_string(task.join("schedstat")).ok().and_then(|text| ready(&text)) {
                self.ready.retain(|(thread, _)| *thread != id);
                self.ready.push((id, seconds));
            }
        }
        if let Ok(text) = fs::read_to_string(folder.join("io")) {
            self.read = ["rchar: ", "syscr: "].map(|key| value(&text, key));
        }
        Ok(())
    }

    /// Records the content of `/proc/ID/task/ID/syscall`: a number and arguments, or `running`.
    fn add(&mut self, text: &str) {
        let mut words = text.split_whitespace();
        let Some(number) = words.next().and_then(|word| word.parse::<u64>().ok()) else { return };
        if let Some((call, _)) = NUMBERS.iter().find(|(_, numbers)| numbers[HERE].contains(&number)) {
            self.calls[*call as usize] += 1;
        } else if number == FUTEX[HERE] {
            let word = words.next().and_then(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
            let word = word.unwrap_or(0);
            match self.words.iter_mut().find(|(it, _)| *it == word) {
                Some((_, count)) => *count += 1,
                None => self.words.push((word, 1)),
            }
        }
    }

    /// The mean number of threads in the call.
    pub(super) fn mean(&self, call: Call) -> f64 {
        self.calls[call as usize] as f64 / self.looks.max(1) as f64
    }

    /// Counts waiting for the lock at this address as [`Call::Lock`].
    pub(super) fn note_lock(&mut self, address: u64) {
        let is_it = |word: &u64| (address..address + LOCK_BYTES).contains(word);
        let found = self.words.iter().filter(|(word, _)| is_it(word)).map(|(_, count)| count).sum();
        self.calls[Call::Lock as usize] = if address == 0 { 0 } else { found };
    }

    /// How long threads were ready without a core, in seconds of all threads.
    pub(super) fn ready_seconds(&self) -> f64 {
        self.ready.iter().map(|(_, seconds)| seconds).sum()
    }
}

/// The second number of `/proc/ID/task/ID/schedstat`: nanoseconds in the queue for a core.
fn ready(text: &str) -> Option<f64> {
    Some(text.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1e9)
}

fn value(text: &str, key: &str) -> u64 {
    text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
impl Threads {
    /// So many looks, in how many of them a thread was in each call, and bytes and calls of reading.
    pub(super) fn seen(looks: u64, calls: &[(Call, u64)], read: [u64; 2]) -> Threads {
        let mut threads = Threads { looks, read, ..Threads::default() };
        calls.iter().for_each(|(call, count)| threads.calls[*call as usize] = *count);
        threads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_by_their_numbers() {
        let mut threads = Threads { looks: 4, ..Threads::default() };
        let number = |wanted: Call| NUMBERS.iter().find(|(call, _)| *call == wanted).unwrap().1[HERE][0];
        for call in [Call::Read, Call::Read, Call::Sleep] {
            threads.add(&format!("{} 0x3 0x7ff54e7a0338 0x1", number(call)));
        }
        ["running", "", "-1 0x0", "9999 0x1"].into_iter().for_each(|text| threads.add(text));
        assert_eq!([Call::Read, Call::Write, Call::Sleep].map(|call| threads.mean(call)), [0.5, 0.0, 0.25]);
    }

    #[test]
    fn a_lock_is_told_by_its_address() {
        let mut threads = Threads { looks: 4, ..Threads::default() };
        for address in ["0x7f08", "0x7f08", "0x9000"] {
            threads.add(&format!("{} {address} 0x89", FUTEX[HERE]));
        }
        assert_eq!(threads.mean(Call::Lock), 0.0);
        threads.note_lock(0x7f00);
        assert_eq!(threads.mean(Call::Lock), 0.5);
        threads.note_lock(0);
        assert_eq!(threads.mean(Call::Lock), 0.0);
    }

    #[test]
    fn waiting_for_cores_is_read() {
        assert_eq!(ready("13935820 37863841 16\n"), Some(0.037863841));
        assert_eq!(value("rchar: 12\nsyscr: 3\n", "syscr: "), 3);
    }
}
