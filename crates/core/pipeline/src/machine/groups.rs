//! Linux control groups (cgroups(7)): version 1, version 2, and both at once.
//!
//! `/proc/self/cgroup` names this process's group in each hierarchy; `/proc/self/mountinfo` lists where hierarchies are
//! mounted. A group is a folder, and all its ancestors up to the mount limit it too. A container often cannot see the
//! folders of outer groups; their limits apply but cannot be read, except for memory in version 1.

use super::Container;
use std::path::{Path, PathBuf};

/// Version 1 limits above this mean "no limit": the kernel stores 2^63 rounded down to pages.
const UNLIMITED_BYTES: u64 = 1 << 62;

/// The groups of this process.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Groups {
    /// The root of the file system; tests use their own.
    root: PathBuf,
    /// Folders of the groups that can limit CPU time.
    cpu: Vec<PathBuf>,
    /// Folders of the groups that can limit memory.
    memory: Vec<PathBuf>,
}

/// A mounted hierarchy.
struct Mount<'a> {
    /// Path of the mounted group in the hierarchy.
    group: String,
    folder: String,
    /// Version 1: the names of its controllers. Version 2: `None`.
    controllers: Option<Vec<&'a str>>,
}

impl Groups {
    /// Finds the groups of this process on the file system below `root`.
    pub(super) fn below(root: &Path) -> Groups {
        let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
        let mounts = read("proc/self/mountinfo");
        let mounts: Vec<Mount<'_>> = mounts.lines().filter_map(Mount::parse).collect();
        let mut groups = Groups { root: root.to_owned(), ..Groups::default() };
        for line in read("proc/self/cgroup").lines() {
            let mut fields = line.splitn(3, ':').skip(1);
            let Some(controllers) = fields.next() else { continue };
            let Some(group) = fields.next() else { continue };
            let has = |name: &str| controllers.is_empty() || controllers.split(',').any(|other| other == name);
            for (name, folders) in [("cpu", &mut groups.cpu), ("memory", &mut groups.memory)] {
                let is_home = |mount: &&Mount<'_>| match &mount.controllers {
                    Some(names) => !controllers.is_empty() && names.contains(&name),
                    None => controllers.is_empty(),
                };
                if has(name) {
                    mounts.iter().find(is_home).iter().for_each(|mount| folders.extend(mount.folders(root, group)));
                }
            }
        }
        groups
    }

    /// Returns the number of cores in the calling thread's affinity mask, or the groups' CPU quota rounded up, if
    /// smaller.
    pub(super) fn cores(&self) -> Option<usize> {
        let allowed = self.allowed_cores()?;
        let quota = self.quota_cores().map_or(usize::MAX, |cores| cores.ceil() as usize);
        Some(allowed.min(quota).max(1))
    }

    /// Returns the limits that are below the machine's memory or the affinity mask's cores.
    pub(super) fn container(&self) -> Container {
        let allowed = self.allowed_cores().unwrap_or(usize::MAX);
        let machine_bytes = self.meminfo_bytes("MemTotal:").unwrap_or(u64::MAX);
        let limits = self.memory.iter().filter_map(|folder| MemoryUse::read(folder)).map(|memory| memory.limit_bytes);
        Container {
            cores: self.quota_cores().filter(|cores| *cores < allowed as f64),
            memory_bytes: limits.min().filter(|bytes| *bytes < machine_bytes),
        }
    }

    /// Returns the available memory of the machine or, if less, the memory left in the group that has the least.
    pub(super) fn free_memory_bytes(&self) -> Option<u64> {
        let available = self.meminfo_bytes("MemAvailable:");
        let left = self.memory.iter().filter_map(|folder| MemoryUse::read(folder)).map(|memory| memory.free_bytes());
        left.chain(available).min()
    }

    /// Counts the CPUs in the affinity mask, which is a list such as `0-3,8`.
    fn allowed_cores(&self) -> Option<usize> {
        // Reads the thread's mask, which may differ from the process's.
        let status = std::fs::read_to_string(self.root.join("proc/thread-self/status")).ok()?;
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        list.trim().split(',').try_fold(0, |sum, range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let count = last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)? + 1;
            Some(sum + count)
        })
    }

    /// Returns the lowest CPU quota of all groups, in cores.
    fn quota_cores(&self) -> Option<f64> {
        self.cpu.iter().filter_map(|folder| quota(folder)).min_by(f64::total_cmp)
    }

    fn meminfo_bytes(&self, name: &str) -> Option<u64> {
        let text = std::fs::read_to_string(self.root.join("proc/meminfo")).ok()?;
        stat(&text, name)?.checked_mul(1024)
    }
}

impl<'a> Mount<'a> {
    /// Parses a line of proc_pid_mountinfo(5). Returns `None` if it does not mount control groups.
    fn parse(line: &'a str) -> Option<Mount<'a>> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3).map(unescaped);
        let group = before.next()?;
        let folder = before.next()?;
        let mut after = after.split(' ');
        let controllers = match after.next()? {
            "cgroup" => Some(after.nth(1)?.split(',').collect()),
            "cgroup2" => None,
            _ => return None,
        };
        Some(Mount { group, folder, controllers })
    }

    /// Returns the visible folders of a group and its ancestors, below `root`.
    fn folders(&self, root: &Path, group: &str) -> Vec<PathBuf> {
        let mount = root.join(self.folder.trim_start_matches('/'));
        // A container may see only its own group, mounted under the name that it has outside.
        let inside = Path::new(group).strip_prefix(&self.group).unwrap_or(Path::new(""));
        let is_plain = !inside.components().any(|part| part == std::path::Component::ParentDir);
        let inside = if is_plain { inside } else { Path::new("") };
        inside.ancestors().map(|inside| mount.join(inside)).collect()
    }
}

/// Unescapes a path of mountinfo, where whitespace and backslashes are octal escapes.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

/// Returns the CPU quota of a group in cores, or `None` if it is unlimited.
fn quota(folder: &Path) -> Option<f64> {
    let number = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse::<f64>().ok();
    let times = match std::fs::read_to_string(folder.join("cpu.max")) {
        // A quota of "max" is not a number.
        Ok(text) => text.split_whitespace().map_while(|field| field.parse::<f64>().ok()).collect(),
        Err(_) => vec![number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?],
    };
    match times[..] {
        [quota, period] if quota > 0.0 && period > 0.0 => Some(quota / period),
        _ => None,
    }
}

/// The memory of a group.
#[derive(Debug, PartialEq)]
struct MemoryUse {
    limit_bytes: u64,
    used_bytes: u64,
    /// Cached files, part of `used_bytes`. The kernel drops them before a process runs out of memory.
    cached_bytes: u64,
}

impl MemoryUse {
    /// Reads the memory files of a group. Returns `None` if its memory is unlimited.
    fn read(folder: &Path) -> Option<MemoryUse> {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        // "max" is not a number.
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        let stats = || read("memory.stat").unwrap_or_default();
        let sum = |stats: &str, names: [&str; 2]| names.iter().filter_map(|name| stat(stats, name)).sum();
        if let Some(used_bytes) = number("memory.current") {
            // The kernel does not kill a group above `memory.high`, but slows it down until it is useless.
            let limit_bytes = number("memory.max").into_iter().chain(number("memory.high")).min()?;
            let cached_bytes = sum(&stats(), ["inactive_file ", "active_file "]);
            return Some(MemoryUse { limit_bytes, used_bytes, cached_bytes });
        }
        let used_bytes = number("memory.usage_in_bytes")?;
        let stats = stats();
        let limits = [number("memory.limit_in_bytes"), stat(&stats, "hierarchical_memory_limit ")];
        let limit_bytes = limits.into_iter().flatten().min().filter(|bytes| *bytes < UNLIMITED_BYTES)?;
        let cached_bytes = sum(&stats, ["total_inactive_file ", "total_active_file "]);
        Some(MemoryUse { limit_bytes, used_bytes, cached_bytes })
    }

    fn free_bytes(&self) -> u64 {
        self.limit_bytes.saturating_sub(self.used_bytes.saturating_sub(self.cached_bytes))
    }
}

/// Returns the number after `name` at the start of a line.
fn stat(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests;
