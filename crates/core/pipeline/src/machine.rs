//! The cores and memory that this process may use: the machine's, within the limits of its container.
//!
//! Nothing else in the workspace decides this. On Linux, `groups` reads the limits of control groups, which containers,
//! Slurm and systemd set; CPU sets are part of the process's affinity mask. Other systems report their cores, but no
//! memory.

#[cfg(target_os = "linux")]
mod groups;

use std::sync::OnceLock;

/// The limits that control groups set for this process, if they are below the machine's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Container {
    /// CPU time per second, in cores: 1.5 means three cores half of the time.
    pub cores: Option<f64>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
}

impl Container {
    /// Returns the limits of this process's container. All are `None` outside of a container.
    pub fn this() -> Container {
        static CONTAINER: OnceLock<Container> = OnceLock::new();
        *CONTAINER.get_or_init(system::container)
    }
}

/// Returns the number of cores that this process may use, at least 1: the cores in its affinity mask, or fewer if its
/// container's CPU quota, rounded up, is smaller.
pub fn cores() -> usize {
    // Cached: on Linux this reads several files, and a scene with thousands of meshes would read them for each mesh.
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(system::cores)
}

/// Returns the memory still available to this process, in bytes: the machine's available memory or the memory left
/// below its container's limits, whichever is less. Cached files count as free. Returns `None` if the system does not
/// report it.
pub fn free_memory_bytes() -> Option<u64> {
    system::free_memory_bytes()
}

/// Returns the standard library's number of cores, for systems that report nothing more exact.
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
