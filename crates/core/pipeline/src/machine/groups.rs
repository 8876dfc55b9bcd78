//! Control groups of Linux (cgroups(7)), versions 1 and 2, and both at once.
//!
//! `/proc/self/cgroup` names the group of this process in each hierarchy, `/proc/self/mountinfo` says where hierarchies
//! are mounted. A group is a folder, and every folder above it, up to the mount, limits it too. Inside a container the
//! folders of outer groups are often not visible; their limits then apply unseen, except those of memory in version 1.

use super::Container;
use std::path::{Path, PathBuf};

/// Limits of version 1 above this mean that there is none: it is 2^63 rounded down to pages.
const UNLIMITED_BYTES: u64 = 1 << 62;

/// The groups of this process.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Groups {
    /// The root of the file system; tests use others.
    root: PathBuf,
    /// Folders of groups that can limit CPU time, and those that can limit memory.
    cpu: Vec<PathBuf>,
    memory: Vec<PathBuf>,
}

/// A mounted hierarchy.
struct Mount<'a> {
    /// The group that is mounted, as a path in the hierarchy.
    group: String,
    folder: String,
    /// Names of controllers of version 1; `None` for version 2.
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

    /// The cores in the affinity mask of the calling thread, or as many as the CPU time of the groups keeps busy.
    pub(super) fn cores(&self) -> Option<usize> {
        let allowed = self.allowed_cores()?;
        let quota = self.quota_cores().map_or(usize::MAX, |cores| cores.ceil() as usize);
        Some(allowed.min(quota).max(1))
    }

    /// The limits that are below what the machine, or the affinity mask, has.
    pub(super) fn container(&self) -> Container {
        let allowed = self.allowed_cores().unwrap_or(usize::MAX);
        let machine_bytes = self.meminfo_bytes("MemTotal:").unwrap_or(u64::MAX);
        let limits = self.memory.iter().filter_map(|folder| MemoryUse::read(folder)).map(|memory| memory.limit_bytes);
        Container {
            cores: self.quota_cores().filter(|cores| *cores < allowed as f64),
            memory_bytes: limits.min().filter(|bytes| *bytes < machine_bytes),
        }
    }

    /// The available memory of the machine, or what is left in the group that has the least.
    pub(super) fn free_memory_bytes(&self) -> Option<u64> {
        let available = self.meminfo_bytes("MemAvailable:");
        let left = self.memory.iter().filter_map(|folder| MemoryUse::read(folder)).map(|memory| memory.free_bytes());
        left.chain(available).min()
    }

    /// The number of CPUs in a list such as `0-3,8`.
    fn allowed_cores(&self) -> Option<usize> {
        // Not that of the process: threads have masks of their own.
        let status = std::fs::read_to_string(self.root.join("proc/thread-self/status")).ok()?;
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        list.trim().split(',').try_fold(0, |sum, range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let count = last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)? + 1;
            Some(sum + count)
        })
    }

    /// The least CPU time per second of all groups, in cores.
    fn quota_cores(&self) -> Option<f64> {
        self.cpu.iter().filter_map(|folder| quota(folder)).min_by(f64::total_cmp)
    }

    fn meminfo_bytes(&self, name: &str) -> Option<u64> {
        let text = std::fs::read_to_string(self.root.join("proc/meminfo")).ok()?;
        stat(&text, name)?.checked_mul(1024)
    }
}

impl<'a> Mount<'a> {
    /// Parses a line of proc_pid_mountinfo(5); `None` if it mounts something else.
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

    /// The folders of a group and of those that contain it, as far as they are visible, below `root`.
    fn folders(&self, root: &Path, group: &str) -> Vec<PathBuf> {
        let mount = root.join(self.folder.trim_start_matches('/'));
        // A container may see only its own group, mounted under a name that it has outside.
        let inside = Path::new(group).strip_prefix(&self.group).unwrap_or(Path::new(""));
        let is_plain = !inside.components().any(|part| part == std::path::Component::ParentDir);
        let inside = if is_plain { inside } else { Path::new("") };
        inside.ancestors().map(|inside| mount.join(inside)).collect()
    }
}

/// A path in mountinfo, where blanks and backslashes are octal numbers.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

/// The CPU time that a group gets per second, in cores; `None` if it has no limit.
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
    /// The part of it that is cached files, which the kernel drops before a process runs out of memory.
    cached_bytes: u64,
}

impl MemoryUse {
    /// Reads the files of a group; `None` if it has no limit.
    fn read(folder: &Path) -> Option<MemoryUse> {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        // "max" is not a number.
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        let stats = || read("memory.stat").unwrap_or_default();
        let sum = |stats: &str, names: [&str; 2]| names.iter().filter_map(|name| stat(stats, name)).sum();
        if let Some(used_bytes) = number("memory.current") {
            // A group above `memory.high` is not killed, but slowed down until it is useless.
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

/// The number after a name at the start of a line.
fn stat(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests;
