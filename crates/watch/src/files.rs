//! Resolves descriptors to files and counts the calls on each file.
//!
//! A descriptor is resolved on first use and forgotten when closed, so its origin does not matter: opened, inherited,
//! duplicated or received. Files are identified by name across processes. File contents are never read.

use crate::filter::Call;
use crate::stacks::Stacks;
use libc::pid_t;
use polyhaul_fault::planted;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::rc::Rc;

/// Maximum number of files that are distinguished. Further files are combined by kind.
const MAX_FILES: usize = 100_000;

/// Maximum number of call sizes counted per file.
const MAX_SIZES: usize = 12;

/// Calls that take longer than this, in nanoseconds, count as waiting for a disk or a peer.
pub const WAIT_NS: u64 = 100_000;

/// Calls of one kind on all files together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CallTotal {
    /// Number of calls.
    pub calls: u64,
    /// Number of failed calls.
    pub failed: u64,
    /// Total seconds.
    pub seconds: f64,
}

/// Calls on names and folders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct NameCalls {
    /// Lookups of names and properties: `stat`, `access`, `readlink` and others.
    pub lookups: CallTotal,
    /// Changes of names and properties: `unlink`, `rename`, `mkdir`, `chmod` and others.
    pub changes: CallTotal,
    /// Calls that list folders.
    pub listings: CallTotal,
}

/// Allocations of at least 1 MiB.
#[derive(Debug, Default)]
pub struct Allocations {
    /// Number of allocations.
    pub calls: u64,
    /// Total bytes.
    pub bytes: u64,
    /// Callers by stack, with bytes instead of nanoseconds.
    pub stacks: Stacks,
}

/// Kind of object that a descriptor refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file or block device.
    File,
    /// A directory.
    Folder,
    /// A pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A terminal or another character device.
    Device,
    /// An object without a path, such as a memory file (memfd), or one that cannot be inspected.
    Other,
}

impl Kind {
    /// Name under which all objects of the kind are combined.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::File => "files",
            Kind::Folder => "folders",
            Kind::Pipe => "pipes",
            Kind::Socket => "sockets",
            Kind::Device => "terminals and devices",
            Kind::Other => "others",
        }
    }
}

/// Upper limits of the size classes, exclusive.
pub const LIMITS: [u64; 10] = [1, 16, 64, 256, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20];

/// Reads or writes of one file.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    /// Number of calls, including failed calls.
    pub calls: u64,
    /// Number of failed calls.
    pub failed: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Time in these calls without tracing overhead. Negative if the overhead was overestimated.
    pub time_ns: i64,
    /// Time in calls longer than [`WAIT_NS`].
    pub waited_ns: u64,
    /// Calls per size class: one class below each of [`LIMITS`], and one for larger sizes.
    pub buckets: [u64; LIMITS.len() + 1],
    /// The most frequent sizes above 0. If the list is full, a new size replaces the one with the lowest count, so a
    /// frequent size enters the list and stays, no matter when it first appears.
    /// This is the algorithm Space-Saving (Metwally, Agrawal and El Abbadi, 2005).
    sizes: Vec<Counted>,
}

/// A call size with its count.
#[derive(Clone, Copy, Debug)]
struct Counted {
    bytes: u64,
    /// Number of calls since the size entered the list.
    calls: u64,
    /// Count of the size that it replaced. `calls` is too low by at most this much.
    before: u64,
}

impl Transfers {
    /// Adds a completed call.
    pub fn add(&mut self, result: i64, time_ns: i64) {
        self.calls += 1;
        self.add_time(time_ns);
        let Ok(bytes) = u64::try_from(result) else {
            self.failed += 1;
            return;
        };
        self.bytes += bytes;
        self.buckets[LIMITS.partition_point(|limit| *limit <= bytes)] += 1;
        if bytes == 0 {
            return;
        }
        if let Some(size) = self.sizes.iter_mut().find(|size| size.bytes == bytes) {
            size.calls += 1;
        } else if self.sizes.len() < MAX_SIZES {
            self.sizes.push(Counted { bytes, calls: 1, before: 0 });
        } else if let Some(rarest) = self.sizes.iter_mut().min_by_key(|size| size.calls + size.before) {
            *rarest = Counted { bytes, calls: 1, before: rarest.calls + rarest.before };
        }
    }

    /// Adds calls that a recorder counted.
    pub(crate) fn add_counted(&mut self, more: &Transfers) {
        self.calls += more.calls;
        self.failed += more.failed;
        self.bytes += more.bytes;
        self.time_ns += more.time_ns;
        self.waited_ns += more.waited_ns;
        self.buckets.iter_mut().zip(more.buckets).for_each(|(bucket, calls)| *bucket += calls);
        more.sizes.iter().for_each(|size| self.add_size(size.bytes, size.calls, size.before));
    }

    /// Adds a size with its count, and the count of the size that it replaced.
    pub(crate) fn add_size(&mut self, bytes: u64, calls: u64, before: u64) {
        match self.sizes.iter_mut().find(|size| size.bytes == bytes) {
            Some(size) => {
                size.calls += calls;
                size.before += before;
            }
            None => self.sizes.push(Counted { bytes, calls, before }),
        }
    }

    /// Adds the time of a call without counting the call, because the kernel will restart it or it never completes.
    pub fn add_time(&mut self, time_ns: i64) {
        self.time_ns += time_ns;
        let waited = u64::try_from(time_ns).unwrap_or(0);
        self.waited_ns += if waited > WAIT_NS || planted("watch-waits") { waited } else { 0 };
    }

    /// Number of calls that transferred bytes.
    pub fn moving(&self) -> u64 {
        self.calls - self.failed - self.buckets[0]
    }

    /// Size of at least 90% of the calls that transferred bytes, or `None` if no size is that frequent.
    pub fn usual_size(&self) -> Option<u64> {
        // Counts inherited from other sizes are left out, so that a rare size never appears frequent.
        let size = self.sizes.iter().max_by_key(|size| size.calls)?;
        (size.calls * 10 >= self.moving() * 9).then_some(size.bytes)
    }
}

/// Calls on one file, or on all objects of a kind.
#[derive(Debug)]
pub struct File {
    /// Path as reported by the system, or name of the kind.
    pub name: String,
    /// Kind of object.
    pub kind: Kind,
    /// Number of opens.
    pub opens: u64,
    /// Time in opens.
    pub open_ns: i64,
    /// Number, size and time of its reads.
    pub reads: Transfers,
    /// Number, size and time of its writes.
    pub writes: Transfers,
    /// Number of memory mappings.
    pub maps: u64,
    /// Total size of the mappings in bytes.
    pub mapped_bytes: u64,
    /// Number of seeks, if they were recorded.
    pub seeks: u64,
    /// Time in seeks.
    pub seek_ns: i64,
    /// Number of jumps, if they were recorded: reads and writes that start over 64 KiB away from the end of the last
    /// one.
    pub jumps: u64,
    /// Number of syncs.
    pub syncs: u64,
    /// Time in syncs.
    pub sync_ns: i64,
    /// Callers, by stack.
    pub stacks: Stacks,
}

/// All observed files and other objects.
#[derive(Debug, Default)]
pub struct Files {
    list: Vec<File>,
    places: HashMap<(Kind, String), usize>,
    /// Whether pipes, sockets and other objects are distinguished like files and folders.
    all: bool,
}

impl Files {
    /// Creates an empty set. With `has_others`, pipes, sockets and other objects are distinguished; otherwise they are
    /// combined by kind.
    pub fn new(has_others: bool) -> Files {
        Files { all: has_others, ..Files::default() }
    }

    /// All files in order of first use.
    pub fn list(&self) -> &[File] {
        &self.list
    }

    /// A file by index.
    pub fn at(&mut self, place: usize) -> Option<&mut File> {
        self.list.get_mut(place)
    }

    /// Index of the file that a thread's descriptor currently refers to.
    fn find(&mut self, thread: pid_t, descriptor: i32) -> usize {
        let link = format!("/proc/{thread}/fd/{descriptor}");
        let Ok(target) = fs::read_link(&link) else { return self.place(Kind::Other, Kind::Other.plural()) };
        let name = target.to_string_lossy();
        let kind = kind(&link, &name);
        let is_told_apart = self.all || matches!(kind, Kind::File | Kind::Folder);
        self.place(kind, if is_told_apart { &name } else { kind.plural() })
    }

    /// The regular file with this name; added if missing.
    pub fn plain_file(&mut self, name: &str) -> Option<&mut File> {
        self.file_of_kind(Kind::File, name)
    }

    /// The file with this kind and name; added if missing. For constructed reports, as in tests.
    pub fn file_of_kind(&mut self, kind: Kind, name: &str) -> Option<&mut File> {
        let place = self.place(kind, name);
        self.at(place)
    }

    fn place(&mut self, kind: Kind, name: &str) -> usize {
        let mut key = (kind, name.to_owned());
        if self.list.len() >= MAX_FILES && !self.places.contains_key(&key) {
            key.1 = "more files".to_owned();
        }
        let list = &mut self.list;
        let places = &mut self.places;
        *places.entry(key).or_insert_with_key(|(kind, name)| {
            list.push(File::new(*kind, name.clone()));
            list.len() - 1
        })
    }
}

impl File {
    fn new(kind: Kind, name: String) -> File {
        let reads = Transfers::default();
        let writes = Transfers::default();
        let stacks = Stacks::default();
        File {
            name,
            kind,
            opens: 0,
            open_ns: 0,
            reads,
            writes,
            maps: 0,
            mapped_bytes: 0,
            seeks: 0,
            seek_ns: 0,
            jumps: 0,
            syncs: 0,
            sync_ns: 0,
            stacks,
        }
    }

    /// Adds a call. `result` is `None` if the call will be restarted or never completes. `mapped_bytes` is the size of
    /// a mapping.
    pub fn add(&mut self, call: Call, result: Option<i64>, mapped_bytes: u64, time_ns: i64) {
        let transfers = match call {
            Call::Read | Call::Copy { .. } => &mut self.reads,
            Call::Write => &mut self.writes,
            // The kernel's error numbers are at most 4095.
            Call::Map if result.is_none_or(|address| (-4095..0).contains(&address)) => return,
            Call::Map => {
                self.maps += 1;
                self.mapped_bytes += mapped_bytes;
                return;
            }
            Call::Sync => {
                self.syncs += u64::from(result.is_some());
                self.sync_ns += time_ns;
                return;
            }
            _ => {
                self.opens += 1;
                self.open_ns += time_ns;
                return;
            }
        };
        match result {
            Some(result) => transfers.add(result, time_ns),
            None => transfers.add_time(time_ns),
        }
    }
}

/// Kind of a descriptor link in /proc.
fn kind(link: &str, name: &str) -> Kind {
    let Ok(data) = fs::metadata(link) else { return Kind::Other };
    let kind = data.file_type();
    match kind {
        _ if !name.starts_with('/') && kind.is_file() || name.starts_with("/memfd:") => Kind::Other,
        _ if kind.is_file() || kind.is_block_device() => Kind::File,
        _ if kind.is_dir() => Kind::Folder,
        _ if kind.is_fifo() => Kind::Pipe,
        _ if kind.is_socket() => Kind::Socket,
        _ if kind.is_char_device() => Kind::Device,
        _ => Kind::Other,
    }
}

/// Descriptor table of a process, or of several processes that share it.
#[derive(Clone, Debug, Default)]
pub struct Descriptors(Rc<RefCell<HashMap<i32, usize>>>);

impl Descriptors {
    /// Index of the file that a descriptor refers to; resolved on first use.
    pub fn file(&self, files: &mut Files, thread: pid_t, descriptor: i32) -> usize {
        *self.0.borrow_mut().entry(descriptor).or_insert_with(|| files.find(thread, descriptor))
    }

    /// Resolves a new descriptor, which replaces any previous descriptor with the same number.
    pub fn opened(&self, files: &mut Files, thread: pid_t, descriptor: i32) -> usize {
        if !planted("watch-reused") {
            self.closed(descriptor, descriptor);
        }
        self.file(files, thread, descriptor)
    }

    /// Forgets closed descriptors from `first` to `last`, inclusive.
    pub fn closed(&self, first: i32, last: i32) {
        let mut table = self.0.borrow_mut();
        if first == last {
            table.remove(&first);
        } else {
            table.retain(|descriptor, _| !(first..=last).contains(descriptor));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_into_buckets() {
        let mut reads = Transfers::default();
        [0, 1, 15, 16, 65_535, 65_536, 1 << 20, 1 << 30].iter().for_each(|size| reads.add(*size, 1));
        assert_eq!(reads.buckets, [1, 2, 1, 0, 0, 0, 0, 1, 1, 0, 2]);
        reads.add(-9, 5);
        assert_eq!((reads.calls, reads.failed, reads.time_ns, reads.moving()), (9, 1, 13, 7));
    }

    #[test]
    fn the_usual_size_is_that_of_nine_in_ten() {
        let mut reads = Transfers::default();
        assert_eq!(reads.usual_size(), None);
        (0..9).for_each(|_| reads.add(3, 0));
        [0, -5, 0].iter().for_each(|result| reads.add(*result, 0));
        reads.add(7, 0);
        assert_eq!(reads.usual_size(), Some(3));
        reads.add(8, 0);
        assert_eq!(reads.usual_size(), None);
    }

    #[test]
    fn a_usual_size_may_come_late() {
        let mut reads = Transfers::default();
        (1..=2 * MAX_SIZES as i64).for_each(|size| reads.add(1000 + size, 0));
        assert_eq!((reads.usual_size(), reads.sizes.len()), (None, MAX_SIZES));
        (0..1000).for_each(|_| reads.add(3, 0));
        assert_eq!(reads.usual_size(), Some(3));
        // The count that the last size inherited does not count for it.
        let mut reads = Transfers::default();
        (0..1000).for_each(|size| reads.add(1000 + size, 0));
        assert_eq!(reads.usual_size(), None);
    }

    #[test]
    fn known_files_are_told_apart_when_there_is_no_room_for_further_ones() {
        let mut files = Files::new(false);
        let first = files.place(Kind::File, "first");
        (1..MAX_FILES).for_each(|number| assert_eq!(files.place(Kind::File, &number.to_string()), number));
        let further = files.place(Kind::File, "one more");
        assert_eq!(files.list()[further].name, "more files");
        assert_eq!([files.place(Kind::File, "first"), files.place(Kind::File, "another")], [first, further]);
    }

    #[test]
    fn long_calls_are_waits() {
        let mut reads = Transfers::default();
        reads.add(3, 2_000);
        reads.add_time(3_000_000);
        reads.add(3, -50);
        assert_eq!((reads.calls, reads.time_ns, reads.waited_ns), (2, 3_001_950, 3_000_000));
    }

    #[test]
    fn descriptors_are_looked_up_until_they_are_closed() {
        use std::os::fd::AsRawFd;
        let mut files = Files::new(false);
        let table = Descriptors::default();
        let me = std::process::id() as pid_t;
        let path = std::env::current_exe().unwrap();
        let file = fs::File::open(&path).unwrap();
        let place = table.file(&mut files, me, file.as_raw_fd());
        assert_eq!((files.list()[place].name.as_str(), files.list()[place].kind), (path.to_str().unwrap(), Kind::File));
        let (reader, writer) = std::io::pipe().unwrap();
        let ends = [reader.as_raw_fd(), writer.as_raw_fd()].map(|end| table.file(&mut files, me, end));
        assert!(ends[0] == ends[1] && files.list()[ends[0]].kind == Kind::Pipe);
        assert_eq!(table.clone().0.borrow().len(), 3);
        table.closed(writer.as_raw_fd(), writer.as_raw_fd());
        table.closed(0, i32::MAX);
        assert!(table.0.borrow().is_empty());
        assert_eq!(files.find(me, -1), table.file(&mut files, me, -1));
    }

    #[test]
    fn a_descriptor_that_is_used_again_is_another_file() {
        use std::os::fd::AsRawFd;
        let mut files = Files::new(false);
        let table = Descriptors::default();
        let me = std::process::id() as pid_t;
        let file = fs::File::open(std::env::current_exe().unwrap()).unwrap();
        let folder = fs::File::open("/").unwrap();
        let before = table.file(&mut files, me, file.as_raw_fd());
        // SAFETY: both descriptors are open, and stay open.
        assert_eq!(unsafe { libc::dup2(folder.as_raw_fd(), file.as_raw_fd()) }, file.as_raw_fd());
        assert_eq!(table.file(&mut files, me, file.as_raw_fd()), before);
        let after = table.opened(&mut files, me, file.as_raw_fd());
        assert!(after != before && files.list()[after].name == "/");
    }
}
