//! Simulated machines: folders with the files that Linux provides.

use super::{Container, Groups};
use std::path::PathBuf;

/// A machine with 8 cores and 16 GiB, of which 12 are available.
struct Machine {
    root: PathBuf,
}

const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const MEMORY_V1: &str = "36 31 0:33 / /sys/fs/cgroup/memory rw shared:16 - cgroup cgroup rw,memory\n";
const CPU_V1: &str = "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:15 - cgroup cgroup rw,cpu,cpuacct\n";
const GIB: u64 = 1 << 30;
const UNLIMITED_V1: &str = "9223372036854771712";

impl Machine {
    fn new(name: &str, cgroup: &str, mountinfo: &str) -> Machine {
        let root = std::env::temp_dir().join(format!("polyhaul-groups-{name}-{}", std::process::id()));
        let machine = Machine { root };
        let other_mounts = "22 1 0:21 / /proc rw - proc proc rw\n23 1 254:0 / / rw - ext4 /dev/vda rw\n";
        machine
            .with("proc/self/cgroup", cgroup)
            .with("proc/self/mountinfo", format!("{other_mounts}{mountinfo}"))
            .with("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:   12582912 kB\n")
            .with("proc/thread-self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-3,8,10-12\n")
    }

    fn with(self, path: &str, text: impl ToString) -> Machine {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.to_string()).unwrap();
        self
    }

    fn groups(&self) -> Groups {
        Groups::below(&self.root)
    }

    /// Returns the cores, the free memory in GiB, and the container's limits (cores, GiB).
    fn facts(&self) -> (Option<usize>, Option<u64>, Option<f64>, Option<u64>) {
        let groups = self.groups();
        let Container { cores, memory_bytes } = groups.container();
        let gib = |bytes: Option<u64>| bytes.map(|bytes| bytes / GIB);
        (groups.cores(), gib(groups.free_memory_bytes()), cores, gib(memory_bytes))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

#[test]
fn without_limits_the_machine_counts() {
    assert_eq!(Machine::new("none", "", "").facts(), (Some(8), Some(12), None, None));
    let root = "sys/fs/cgroup/user.slice";
    let unlimited = Machine::new("unlimited", "0::/user.slice\n", V2)
        .with(&format!("{root}/memory.current"), GIB)
        .with(&format!("{root}/memory.max"), "max\n")
        .with(&format!("{root}/memory.high"), "max\n")
        .with(&format!("{root}/cpu.max"), "max 100000\n");
    assert_eq!(unlimited.facts(), (Some(8), Some(12), None, None));
    let first = Machine::new("unlimited1", "4:memory:/a\n1:cpu,cpuacct:/a\n", &format!("{MEMORY_V1}{CPU_V1}"))
        .with("sys/fs/cgroup/memory/a/memory.limit_in_bytes", UNLIMITED_V1)
        .with("sys/fs/cgroup/memory/a/memory.usage_in_bytes", GIB)
        .with("sys/fs/cgroup/memory/a/memory.stat", format!("hierarchical_memory_limit {UNLIMITED_V1}\n"))
        .with("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n")
        .with("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    assert_eq!(first.facts(), (Some(8), Some(12), None, None));
    // A limit above the machine's memory has no effect.
    let large = Machine::new("large", "0::/\n", V2)
        .with("sys/fs/cgroup/memory.current", GIB)
        .with("sys/fs/cgroup/memory.max", 64 * GIB)
        .with("sys/fs/cgroup/cpu.max", "3200000 100000");
    assert_eq!(large.facts(), (Some(8), Some(12), None, None));
}

#[test]
fn a_group_of_version_2_limits_cores_and_memory() {
    let machine = Machine::new("v2", "0::/job\n", V2)
        .with("sys/fs/cgroup/job/memory.max", 4 * GIB)
        .with("sys/fs/cgroup/job/memory.current", 3 * GIB)
        .with("sys/fs/cgroup/job/memory.stat", format!("anon 9\ninactive_file {GIB}\nactive_file {GIB}\n"))
        .with("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
    // Half a core needs another thread; cached files do not count as used.
    assert_eq!(machine.facts(), (Some(2), Some(3), Some(1.5), Some(4)));
    let machine = machine.with("sys/fs/cgroup/job/memory.high", 2 * GIB).with("sys/fs/cgroup/job/cpu.max", "1 100000");
    assert_eq!(machine.facts(), (Some(1), Some(1), Some(1e-5), Some(2)));
}

#[test]
fn the_groups_above_limit_too() {
    let machine = Machine::new("parents", "0::/slice/job/step\n", V2)
        .with("sys/fs/cgroup/slice/memory.max", 2 * GIB)
        .with("sys/fs/cgroup/slice/memory.current", GIB)
        .with("sys/fs/cgroup/slice/cpu.max", "max 100000")
        .with("sys/fs/cgroup/slice/job/memory.max", 8 * GIB)
        .with("sys/fs/cgroup/slice/job/memory.current", 0)
        .with("sys/fs/cgroup/slice/job/cpu.max", "300000 100000")
        .with("sys/fs/cgroup/slice/job/step/memory.max", "max")
        .with("sys/fs/cgroup/slice/job/step/memory.current", 0)
        .with("sys/fs/cgroup/slice/job/step/cpu.max", "400000 100000");
    assert_eq!(machine.facts(), (Some(3), Some(1), Some(3.0), Some(2)));
}

#[test]
fn groups_of_version_1_limit_cores_and_memory() {
    let machine = Machine::new("v1", "4:memory:/a/b\n2:cpu,cpuacct:/a/c\n", &format!("{CPU_V1}{MEMORY_V1}"))
        .with("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", 4 * GIB)
        .with("sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", 2 * GIB)
        .with("sys/fs/cgroup/memory/a/b/memory.stat", format!("cache 1\ntotal_active_file {GIB}\n"))
        .with("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "500000\n")
        .with("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n")
        .with("sys/fs/cgroup/cpu,cpuacct/a/c/cpu.cfs_quota_us", "-1\n")
        .with("sys/fs/cgroup/cpu,cpuacct/a/c/cpu.cfs_period_us", "100000\n");
    assert_eq!(machine.facts(), (Some(5), Some(3), Some(5.0), Some(4)));
    // The kernel reports limits of outer groups, whose folders a container cannot see.
    let stat = format!("hierarchical_memory_limit {}\n", 3 * GIB);
    let machine = machine.with("sys/fs/cgroup/memory/a/b/memory.stat", stat);
    assert_eq!(machine.facts(), (Some(5), Some(1), Some(5.0), Some(3)));
}

#[test]
fn both_versions_are_read_where_both_are_mounted() {
    let unified = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let machine = Machine::new("hybrid", "4:memory:/m\n1:name=systemd:/\n0::/u\n", &format!("{unified}{MEMORY_V1}"))
        .with("sys/fs/cgroup/memory/m/memory.limit_in_bytes", GIB)
        .with("sys/fs/cgroup/memory/m/memory.usage_in_bytes", 0)
        .with("sys/fs/cgroup/unified/u/cpu.max", "200000 100000");
    assert_eq!(machine.facts(), (Some(2), Some(1), Some(2.0), Some(1)));
}

#[test]
fn a_container_sees_its_group_under_another_name() {
    for (name, cgroup, mounted) in [
        // The host's names, with only the process's own group mounted; and without a common name.
        ("bind", "0::/docker/abc\n", "/docker/abc"),
        ("moved", "0::/kubepods/pod1/abc\n", "/docker/abc"),
        // A namespace, from inside and from a process that entered it.
        ("namespace", "0::/\n", "/"),
        ("outside", "0::/../../other\n", "/"),
    ] {
        let mount = format!("30 23 0:26 {mounted} /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
        let machine = Machine::new(name, cgroup, &mount)
            .with("sys/fs/cgroup/memory.max", GIB)
            .with("sys/fs/cgroup/memory.current", 0)
            .with("sys/fs/cgroup/cpu.max", "50000 100000");
        assert_eq!(machine.facts(), (Some(1), Some(1), Some(0.5), Some(1)), "{name}");
    }
    // A group below the mounted one.
    let mount = "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
    let machine = Machine::new("below", "0::/docker/abc/init\n", mount)
        .with("sys/fs/cgroup/init/cpu.max", "200000 100000")
        .with("sys/fs/cgroup/cpu.max", "400000 100000");
    assert_eq!(machine.groups().cores(), Some(2));
}

#[test]
fn folders_with_blanks_and_odd_files_are_no_trouble() {
    let mount = "30 23 0:26 / /sys/fs/c\\040g\\134x rw - cgroup2 cgroup2 rw\n";
    let machine = Machine::new("blank", "0::/a b\n", mount).with("sys/fs/c g\\x/a b/cpu.max", "200000 100000\n");
    assert_eq!(machine.groups().cores(), Some(2));
    for text in ["", "max", "x y", "100000", "0 100000", "100000 0", "-5 100000"] {
        let machine = Machine::new("odd", "0::/\n", V2).with("sys/fs/cgroup/cpu.max", text);
        assert_eq!((machine.groups().cores(), machine.groups().container().cores), (Some(8), None), "{text}");
    }
    for cgroup in ["", "x", "::", "0:", "0::relative\n", "a:b:c:d\n"] {
        assert_eq!(Machine::new("lines", cgroup, V2).groups().cores(), Some(8), "{cgroup}");
    }
    for list in ["", "x", "3-1", "0-", "99999999999999999999"] {
        let machine =
            Machine::new("list", "", "").with("proc/thread-self/status", format!("Cpus_allowed_list:\t{list}"));
        assert_eq!(machine.groups().cores(), None, "{list}");
    }
    let bare = Machine { root: PathBuf::from("/no/such/folder") };
    assert_eq!((bare.groups().cores(), bare.groups().free_memory_bytes()), (None, None));
}
