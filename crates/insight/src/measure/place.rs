//! Identifies the machine and the disk of a folder in words that are stable between runs.
//!
//! Stored figures are keyed by these words. Only reads system information; never measures and never fails: missing
//! parts are omitted.

use polyhaul_model::printable::printable;
use polyhaul_pipeline::machine::cores;
use std::io::Read;
use std::path::Path;

/// Maximum number of bytes read from `/proc/cpuinfo`.
const HEAD_BYTES: u64 = 4096;

/// Processor, available cores and host name.
pub(super) fn machine() -> String {
    let text = head("/proc/cpuinfo").unwrap_or_default();
    let processor = processor(&text).unwrap_or(std::env::consts::ARCH);
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| ["HOSTNAME", "COMPUTERNAME"].iter().find_map(|name| std::env::var(name).ok()));
    let cores = cores();
    let name = one_line(&name.unwrap_or_default());
    let plural = if cores == 1 { "" } else { "s" };
    let words = format!("{}, {cores} core{plural}, {name}", one_line(processor));
    words.trim_end_matches([',', ' ']).to_owned()
}

/// Reads the start of a file. The first processor suffices, and the list is slow to read on systems with many
/// processors.
fn head(path: &str) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(HEAD_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Processor name in `/proc/cpuinfo`. On Arm, it contains a part number instead.
fn processor(text: &str) -> Option<&str> {
    let of = |key: &str| text.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim() == key);
    let (_, name) = of("model name").or_else(|| of("CPU part"))?;
    Some(name.trim()).filter(|name| !name.is_empty())
}

/// Device and file system type of `folder`.
#[cfg(target_os = "linux")]
pub(super) fn disk(folder: &Path) -> String {
    use std::os::linux::fs::MetadataExt;
    let Ok(device) = std::fs::metadata(folder).map(|metadata| metadata.st_dev()) else { return unknown() };
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    let numbers = device_numbers(device);
    match mount(&mounts, &numbers, &folder) {
        Some((kind, source)) => one_line(&format!("{source}, {kind}, {numbers}")),
        None => numbers,
    }
}

/// Device numbers in the notation of mountinfo.
#[cfg(any(target_os = "linux", test))]
fn device_numbers(device: u64) -> String {
    // The bits of both numbers are split, as in glibc's `makedev`.
    let major = (device >> 8 & 0xfff) | (device >> 32 & 0xffff_f000);
    let minor = (device & 0xff) | (device >> 12 & 0xffff_ff00);
    format!("{major}:{minor}")
}

/// Type and source of the file system with these device numbers or, if there is none, of the nearest mount point above
/// `folder`, since btrfs subvolumes have their own numbers.
#[cfg(any(target_os = "linux", test))]
fn mount<'a>(mounts: &'a str, numbers: &str, folder: &Path) -> Option<(&'a str, &'a str)> {
    let lines = || mounts.lines().filter_map(mounted);
    let by_numbers = lines().find(|mount| mount.numbers == numbers);
    let above = || lines().filter(|mount| folder.starts_with(mount.point)).max_by_key(|mount| mount.point.len());
    by_numbers.or_else(above).map(|mount| (mount.kind, mount.source))
}

/// Fields of a mountinfo line (proc_pid_mountinfo(5)).
#[cfg(any(target_os = "linux", test))]
struct Mounted<'a> {
    numbers: &'a str,
    point: &'a str,
    kind: &'a str,
    source: &'a str,
}

/// Parses a mountinfo line: `27 1 254:0 / / rw shared:1 - ext4 /dev/vda rw`.
#[cfg(any(target_os = "linux", test))]
fn mounted(line: &str) -> Option<Mounted<'_>> {
    let (head, tail) = line.split_once(" - ")?;
    let mut head = head.split(' ');
    let mut tail = tail.split(' ');
    let numbers = head.nth(2)?;
    let point = head.nth(1)?;
    Some(Mounted { numbers, point, kind: tail.next()?, source: tail.next()? })
}

/// Device of `folder`.
#[cfg(all(unix, not(target_os = "linux")))]
pub(super) fn disk(folder: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(folder).map_or_else(|_| unknown(), |metadata| format!("device {}", metadata.dev()))
}

/// Volume or network share of `folder`.
#[cfg(not(unix))]
pub(super) fn disk(folder: &Path) -> String {
    let whole = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    match whole.components().next() {
        Some(first) => one_line(first.as_os_str().to_string_lossy().trim_start_matches(r"\\?\")),
        None => unknown(),
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// Makes text printable on one line and trims it.
fn one_line(text: &str) -> String {
    printable(text.trim(), ' ').into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw
31 27 0:45 /data /data rw - btrfs /dev/nvme0n1p2 rw,subvol=/data
a line that is none
";

    #[test]
    fn a_file_system_is_found_by_its_numbers_or_its_place() {
        assert_eq!(mount(MOUNTS, "254:0", Path::new("/data/a")), Some(("ext4", "/dev/vda")));
        assert_eq!(mount(MOUNTS, "0:99", Path::new("/data/a")), Some(("btrfs", "/dev/nvme0n1p2")));
        assert_eq!(mount(MOUNTS, "0:99", Path::new("/database")), Some(("ext4", "/dev/vda")));
        assert_eq!(mount("", "254:0", Path::new("/")), None);
        assert_eq!(device_numbers(0xfe00), "254:0");
        // glibc's makedev(0x12345, 0x6789a).
        assert_eq!(device_numbers(0x0001_2000_6783_459a), format!("{}:{}", 0x12345, 0x6789a));
    }

    #[test]
    fn a_processor_has_a_name_or_a_number() {
        assert_eq!(processor("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n"), Some("Some CPU @ 2 GHz"));
        assert_eq!(processor("processor : 0\nCPU part\t: 0xd0c\n"), Some("0xd0c"));
        assert_eq!(processor("model name :\n"), None);
        assert_eq!(processor(""), None);
    }

    #[test]
    fn both_are_the_same_each_time() {
        let folder = std::env::temp_dir();
        assert_eq!((machine(), disk(&folder)), (machine(), disk(&folder)));
        assert!(machine().contains("core") && !machine().contains('\n'));
        assert_ne!(disk(&folder), "unknown");
        assert!(!disk(Path::new("/no/such/folder")).is_empty());
    }
}
