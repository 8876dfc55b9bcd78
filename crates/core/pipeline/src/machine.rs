//! The cores and the memory that this process may use: those of the machine, and the limits of its container.
//!
//! Nothing else in the workspace decides this. On Linux, `groups` reads the limits of control groups, which containers,
//! Slurm and systemd set; CPU sets are part of the process's affinity. Other systems report their cores, and no memory.

#[cfg(target_os = "linux")]
mod groups;

use std::sync::OnceLock;

/// The limits that control groups set for this process, where they are below what the machine has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Container {
    /// CPU time per second, in cores: 1.5 for three cores half of the time.
    pub cores: Option<f64>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
}

impl Container {
    /// Returns the limits of the container of this process; without a container, all are `None`.
    pub fn this() -> Container {
        static CONTAINER: OnceLock<Container> = OnceLock::new();
        *CONTAINER.get_or_init(system::container)
    }
}

/// Returns the number of cores that this process may use, at least 1: those in its affinity mask, or as many as its
/// container's CPU time keeps busy, rounded up.
pub fn cores() -> usize {
    // Read once: on Linux this takes several files, and scenes with thousands of meshes would read them for each mesh.
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(system::cores)
}

/// Returns the memory that the system can still give to this process, in bytes: the machine's available memory, or what
/// is left below the limits of its container, where cached files count as free. `None` if the system does not report
/// it.
pub fn free_memory_bytes() -> Option<u64> {
    system::free_memory_bytes()
}

/// The number of cores according to the standard library, where the system reports nothing more exact.
fn standard_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(target_os = "linux")]
mod system {
    use super::groups::Groups;
    use super::{Container, standard_cores};
    use std::path::Path;
    use std::sync::OnceLock;

    fn groups() -> &'static Groups {
        static GROUPS: OnceLock<Groups> = OnceLock::new();
        GROUPS.get_or_init(|| Groups::below(Path::new("/")))
    }

    pub(super) fn cores() -> usize {
        groups().cores().unwrap_or_else(standard_cores)
    }

    pub(super) fn container() -> Container {
        groups().container()
    }

    pub(super) fn free_memory_bytes() -> Option<u64> {
        groups().free_memory_bytes()
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::Container;
    pub(super) use super::standard_cores as cores;

    pub(super) fn container() -> Container {
        Container::default()
    }

    pub(super) fn free_memory_bytes() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_cores_and_memory() {
        assert!(cores() >= standard_cores());
        if cfg!(target_os = "linux") {
            assert!(free_memory_bytes().is_some_and(|bytes| bytes > 1 << 20));
        }
        let Container { cores, memory_bytes } = Container::this();
        assert!(cores.is_none_or(|cores| cores > 0.0) && memory_bytes.is_none_or(|bytes| bytes > 0));
    }
}
